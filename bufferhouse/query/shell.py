"""The interactive shell: statements that end in `;`, and a few commands that begin with a dot."""

import os
import shlex
import sys
from collections.abc import Callable, Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from bufferhouse.engine.sql import words
from bufferhouse.errors import SourceUnavailable, UsageError, WarehouseBusy, WarehouseError
from bufferhouse.query.cookbook import question, questions, shown, with_run
from bufferhouse.query.door import Door
from bufferhouse.query.format import FORMATS, formatted
from bufferhouse.query.listings import Table, described
from bufferhouse.query.output import answer, pairs

PROMPT, MORE = "bufferhouse> ", "        ...> "
# Versions of a mart one after another, the newest last.
_TABLES = r"""
    SELECT regexp_replace(full_name, '^(marts\..*)_v[0-9]+$', '\1') AS name, full_name, purpose
    FROM (
        SELECT schema_name || '.' || view_name AS full_name, split_part(COALESCE(comment, ''), '. ', 1) AS purpose
        FROM duckdb_views() WHERE NOT internal AND schema_name IN ('marts', 'staging')
        UNION ALL
        SELECT schema_name || '.' || table_name, split_part(COALESCE(comment, ''), '. ', 1)
        FROM duckdb_tables() WHERE NOT internal AND schema_name IN ('marts', 'staging', 'raw')
    )
    ORDER BY name, length(full_name), full_name
"""


def history_path() -> Path:
    """Return the file of the shell's history: below $XDG_STATE_HOME, else ~/.local/state."""
    state = os.environ.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local" / "state") / "bufferhouse" / "history"


class Shell:
    """An interactive shell over a door; `say` prints messages, `show` prints answers in their form."""

    def __init__(
        self, door: Door, show: Callable[[str, str], None], say: Callable[[str], None], form: str = "table"
    ) -> None:
        self.door = door
        self._show = show
        self.say = say
        self.form = form
        self._commands: dict[str, tuple[Callable[[list[str]], None], str]] = {
            ".tables": (self._tables, ".tables [PART]           the tables and views with their purpose"),
            ".describe": (self._describe, ".describe TABLE          the columns of a table with their types"),
            ".docs": (self._docs, ".docs MART               the purpose, grain and columns of a mart"),
            ".questions": (self._questions, ".questions [PART]        the questions of the cookbook"),
            ".ask": (self._ask, ".ask QUESTION [K=V]...   ask a question of the cookbook"),
            ".format": (self._format, f".format FORMAT           {', '.join(FORMATS)}"),
            ".help": (self._help, ".help                    this list"),
            ".quit": (self._help, ".quit                    end the shell, as Ctrl-D does"),
        }

    def obey(self, text: str) -> bool:
        """Run whole statements or a command; return whether the shell goes on.

        Raises:
            UsageError: it cannot be carried out as it was given.
        """
        if not text.startswith("."):
            for statement in apart(text):
                self.show(answer(self.door, statement, {}, self.form, None, self.say) or "")
            return True
        try:
            command, *words = shlex.split(text.rstrip("; \n"))
        except ValueError as error:
            raise UsageError(f"{text.strip()}: {error}") from None
        if command in (".quit", ".exit"):
            return False
        if command == ".run":
            self.say("bufferhouse: .run is now .ask; the next release does not know .run")
            command = ".ask"
        if command not in self._commands:
            raise UsageError(f"there is no command {command}; .help lists them")
        self._commands[command][0](words)
        return True

    def show(self, text: str) -> None:
        """Print what is answered."""
        self._show(text, self.form)

    def _help(self, words: list[str]) -> None:
        self.show("\n".join([text for _, text in self._commands.values()] + ["A statement ends in ;"]))

    def _tables(self, words: list[str]) -> None:
        found = self.door.con.execute(_TABLES).fetchall()
        rows = []
        for name, versions in groupby(found, key=itemgetter(0)):
            full_names, purposes = zip(*[row[1:] for row in versions], strict=True)
            if all(any(word in full_name for full_name in full_names) for word in words):
                rows.append((name, " ".join(one.removeprefix(name)[1:] for one in full_names).strip(), purposes[-1]))
        self.show(formatted(("name", "versions", "purpose"), rows, self.form))

    def _describe(self, words: list[str]) -> None:
        columns = self._named(words, ".describe TABLE").columns
        self.show(formatted(("column", "type"), [row[:2] for row in columns], self.form))

    def _docs(self, words: list[str]) -> None:
        found = self._named(words, ".docs MART")
        lines = [f"{found.schema}.{found.name}", "", found.purpose]
        if found.model:
            lines += [f"grain: {found.grain}", f"reads: {found.reads}"]
        self.show("\n".join([*lines, "", formatted(("column", "type", "meaning"), found.columns, "table")]))

    def _named(self, words: list[str], usage: str) -> Table:
        if len(words) != 1:
            raise UsageError(f"expected {usage}")
        return described(self.door.con, words[0])

    def _questions(self, words: list[str]) -> None:
        rows = [(one.name, one.sentence) for one in questions().values() if all(word in one.name for word in words)]
        self.show(formatted(("question", "what it asks"), rows, self.form))

    def _ask(self, words: list[str]) -> None:
        if not words:
            raise UsageError("expected .ask QUESTION [K=V]...; .questions lists them")
        asked = question(words[0])
        parameters = with_run(self.door.con, asked.values(pairs(words[1:])))
        if parameters:
            self.say("  ".join(f"{name}={shown(value)}" for name, value in parameters.items()))
        needs = asked.needs_live_ranges
        self.show(answer(self.door, asked.sql, parameters, self.form, None, self.say, needs_live_ranges=needs) or "")

    def _format(self, words: list[str]) -> None:
        if len(words) != 1 or words[0] not in FORMATS:
            raise UsageError(f"expected .format {' or '.join(FORMATS)}")
        self.form = words[0]


def statements(lines: Iterator[str], is_whole: Callable[[str], bool]) -> Iterator[str]:
    """Yield commands of one line, and statements of all lines until `is_whole`; the last one may be incomplete."""
    pending: list[str] = []
    for line in lines:
        if not pending and not line.strip():
            continue
        if not pending and line.lstrip().startswith("."):
            yield line.strip()
            continue
        pending.append(line.rstrip("\n"))
        if is_whole("\n".join(pending)):
            yield "\n".join(pending)
            pending.clear()
    if any(line.strip() for line in pending):
        yield "\n".join(pending)


def ends_a_statement(text: str) -> bool:
    """Return whether a text ends in a semicolon that is neither in a comment nor in quotes, as DuckDB reads it.

    Raises:
        UsageError: it holds bytes that are no UTF-8.
    """
    if not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text):
        raise UsageError("expected a statement in UTF-8, found bytes that are none")
    return words(text)[-1].split(b"--")[0].split(b"/*")[0].strip() == b";"


def apart(text: str) -> list[str]:
    """Return the statements of a text, which semicolons end as DuckDB reads them; comments alone are none."""
    if "\0" in text:
        return [text]  # DuckDB reads no further, and the door refuses it
    found: list[list[bytes]] = [[]]
    for word in words(text):
        found[-1].append(word)
        if word.startswith(b";"):
            found.append([])
    texts = [b"".join(one).decode() for one in found]
    return [one for one in texts if any(not word.startswith(b";") for word in words(one)[1:])]


def converse(shell: Shell) -> None:
    """Run the shell at a terminal, with a history, until Ctrl-D; Ctrl-C stops a statement only."""
    import readline

    history = history_path()
    try:
        history.parent.mkdir(parents=True, exist_ok=True)
        readline.read_history_file(history)
    except OSError:
        pass  # no history yet, or no place for one
    readline.set_history_length(2000)
    shell.say("Statements end in ;  .help lists the commands, .questions the cookbook. Ctrl-D ends.")
    try:
        while _turn(shell):
            pass
    finally:
        try:
            readline.write_history_file(history)
        except OSError as error:
            shell.say(f"bufferhouse: the history cannot be saved: {error.strerror}")


def _turn(shell: Shell) -> bool:
    try:
        text = next(statements(_typed(), ends_a_statement), None)
        return text is not None and shell.obey(text)
    except (UsageError, WarehouseError, WarehouseBusy, SourceUnavailable) as error:
        shell.say(f"bufferhouse: {error}")
    except (KeyboardInterrupt, RuntimeError) as error:
        # DuckDB wraps a Ctrl-C that meets it in a statement.
        if not isinstance(error, KeyboardInterrupt) and not isinstance(error.__cause__, KeyboardInterrupt):
            raise
        shell.say("interrupted")
    return True


def _typed() -> Iterator[str]:
    prompt = PROMPT
    while True:
        try:
            yield input(prompt)
        except EOFError:
            print(file=sys.stderr)
            return
        prompt = MORE
