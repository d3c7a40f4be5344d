"""What leaves: pages, terminals, messages and the API of `serve`, with hostile names in and secrets about.

Pages of hostile names must have the elements of pages of harmless ones; nothing that is printed may hold a character
that a terminal obeys; no secret may be in what is said; and no request of a stranger may be answered.
"""

import io
import json
import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr
from pathlib import Path

import duckdb

from bufferhouse.commands.ingest_run import run_ingest
from bufferhouse.redaction import redacted
from bufferhouse.report.compare.data import read_comparison
from bufferhouse.report.compare.page import compare_page
from bufferhouse.report.fleet.data import read_fleet
from bufferhouse.report.fleet.page import fleet_page
from bufferhouse.report.program.data import read_program
from bufferhouse.report.program.page import program_page
from bufferhouse.report.run.data import read_run
from bufferhouse.report.run.page import run_page
from bufferhouse.report.text.figures import printable
from bufferhouse.sources.run import NUMBERS, TEXTS
from tests.attack.counts import Count
from tests.command_line import CHECKOUT
from tests.flows.clock import Clock, free_port
from tests.flows.strangers import answers, artifacts_of_secrets, forbidden_choices
from tests.report.pages import HOSTILE, Parts
from tests.synthetic import Slot, dump_text
from tests.system.secrets_told import FORMS, HARMLESS, SECRET, told

# What a terminal obeys: colors and hidden text, titles and clipboards (OSC), C1 forms of both, turned text.
CONTROLS = (
    "\x1b[31;8mred\x1b]0;title\x07\x1b]52;c;cm0=\x1b\\\x1bP+q\x1b\\\x9b2J\x9d0;t\x9c\x07\x08\r\x7f\x85"
    "\u202eevil\u202c\u2066a\u2069\u200b\u2028\u2029\ufeff\U000e0041"
)
_OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)
# Columns of raw tables that hold text of a file as it stands there. Those of the others are words of the grammar,
# hashes or words of our own, which no file sets; `test_every_column_that_a_file_sets_is_driven` holds this list.
DRIVEN = {
    "instruction_texts": {"custom_call_target", "instruction_text", "op_name", "source_file"},
    "observations": {"module_name", "program_name", "relative_path", "source_uri"},
    "rejects": {"found", "relative_path", "source_uri"},
    "runs": {*TEXTS, "labels", "root", "run_name"},
    "stack_frames": {"function_name", "source_file"},
}


def attack(is_short: bool) -> Iterator[Count]:
    """Yield the counts."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        yield _pages(folder, is_short)
        yield _printed(folder, is_short)
        yield _redacted()
        if not is_short:  # each takes half a minute of a processor
            yield _told(folder)
            yield from _served(folder)


def hostile_warehouse(folder: Path, word: str) -> Path:
    """Return a warehouse of two runs of two programs, with a word wherever a file can put one."""
    inside, in_path = word.replace("\\", "\\\\").replace('"', '\\"'), in_a_path(word)
    for name in ("a", "b"):
        root = folder / f"{name}{in_path}"
        root.mkdir(parents=True)
        facts = {fact: word for fact in TEXTS} | dict.fromkeys(NUMBERS, 1)
        about = {"run_name": f"{name} {word}", "started_at": f"2026-01-0{1 + (name == 'b')}", **facts}
        (root / "run.json").write_text(json.dumps({**about, "labels": {word: word, "nested": {word: [word]}}}))
        for number in range(2):
            size = 640 + 64 * number + (4096 if name == "b" else 0)
            text = dump_text([Slot(0, 5, 0, size), Slot(1, 3, size, 128), Slot(3, 5, 0, 320, 1)]).decode()
            metadata = f'metadata={{op_name="{inside}" source_file="{inside}.py" source_line=3}}'
            text = text.replace("custom-call()", f'custom-call(), custom_call_target="{inside}", {metadata}')
            stem = f"module_000{number}.jit_{number}{in_path}.cpu_after_optimizations"
            (root / f"{stem}-buffer-assignment.txt").write_text(text)
            (root / f"{stem}.txt").write_text(
                f'HloModule jit_{number}\n\nFileNames\n1 "{inside}"\n\nFunctionNames\n1 "{inside}"\n\nFileLocations\n'
                "1 {file_name_id=1 function_name_id=1 line=7}\n\nStackFrames\n"
                "1 {file_location_id=1 parent_frame_id=1}\n\n"
            )
        (root / f"module_0009.{in_path}-buffer-assignment.txt").write_text(f"BufferAssignment:\n{word}\n")
    path = folder / f"w{in_path}.duckdb"
    with redirect_stderr(io.StringIO()):
        run_ingest([str(folder)], path)
    return path


def in_a_path(word: str) -> str:
    """Return as much of a word, from both its ends, as fits between the other parts of a file's name."""
    short = word.replace("/", "∕")
    return short[:40] + short[-24:]


def pages(path: Path) -> dict[str, Callable[[], str]]:
    """Return what makes each page of a hostile warehouse."""
    return {
        "fleet": lambda: fleet_page(read_fleet(path)),
        "program": lambda: program_page(read_program(path, "jit_1")),
        "run": lambda: run_page(read_run(path, "b")),
        "compare": lambda: compare_page(read_comparison(path, "a", "b")),
    }


def skeleton(page: str) -> tuple[list, list[str]]:
    """Return what a browser makes of a page: its elements with the names of their attributes, and what it runs."""
    parts = Parts(page)
    runs = [text for about, text in parts.scripts if about.get("type") != "application/json"]
    return [(tag, list(names)) for tag, names in parts.elements], runs


def obeyed(text: str) -> str:
    """Return the characters of a text that a terminal or a browser would obey."""
    return "".join(_OBEYED.findall(text))


def _pages(folder: Path, is_short: bool) -> Count:
    """Each page with every text that a file can set hostile, beside the same page with harmless texts."""
    count = Count("hostile names on pages")
    word = HOSTILE + CONTROLS
    harmless = {
        name: skeleton(make())
        for name, make in pages(hostile_warehouse(folder / "harmless", "x" * len(printable(word)))).items()
    }
    hostile = hostile_warehouse(folder / "hostile", word)
    for name, make in pages(hostile).items():
        page = make()
        count.attempt(f"{name}: another element, attribute or script", harmless[name] == skeleton(page))
        shown = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
        count.attempt(f"{name}: {obeyed(shown)!r}", not obeyed(shown))
    if not is_short:
        _columns(folder, hostile, count)
    return count


def _columns(folder: Path, warehouse: Path, count: Count) -> None:
    """Each column of text of each stored table by itself, those that the grammar closes too."""
    path = folder / "columns.duckdb"
    with duckdb.connect(str(warehouse), read_only=True) as con:
        columns = con.execute(
            "SELECT schema_name, table_name, column_name FROM duckdb_columns() JOIN duckdb_tables()"
            " USING (schema_name, table_name) WHERE data_type = 'VARCHAR' AND schema_name <> 'meta'"
        ).fetchall()
    for schema, table, column in columns:
        made = []
        for word in ("x" * len(printable(HOSTILE)), HOSTILE):
            shutil.copy(warehouse, path)
            with duckdb.connect(str(path)) as con:
                con.execute(f"UPDATE {schema}.{table} SET {column} = {column} || $1 WHERE {column} <> ''", [word])
            made.append({name: _skeleton_or_error(make) for name, make in pages(path).items()})
        for name, expected in made[0].items():
            count.attempt(f"{schema}.{table}.{column} on page {name}", expected == made[1][name])


def _skeleton_or_error(make: Callable[[], str]) -> object:
    """Return the skeleton of a page, or of what kind the error is that a report makes of impossible data."""
    try:
        return skeleton(make())
    except Exception as error:
        return type(error)


# A process of its own for each command, which is spared the imports only.
_SEVERAL = """
import json, os, sys
from bufferhouse import cli
for words in json.load(sys.stdin):
    if not os.fork():
        sys.argv = ["bufferhouse", *words]
        cli.main()
        sys.exit(0)
    os.wait()
    print("\\n%% end", flush=True), print("\\n%% end", file=sys.stderr, flush=True)
"""


def _printed(folder: Path, is_short: bool) -> Count:
    """What verbs print on both streams of a hostile warehouse, of hostile files and of hostile words."""
    count = Count("control characters in what is printed")
    word, inside = HOSTILE + CONTROLS, in_a_path(HOSTILE + CONTROLS)
    path = str(next((folder / "hostile").glob("w*.duckdb")))
    (folder / "bad.toml").write_text(
        f'[warehouse]\npath = {json.dumps(word)}\n[[sources]]\nname="a"\npaths=[{json.dumps(word)}]\n'
    )
    (folder / "worse.toml").write_text(f"{json.dumps(word)} = {json.dumps(word)}\n")
    quoted = word.replace("'", "''")
    calls = [
        ["ingest", str(folder / "hostile"), "--warehouse", str(folder / "again.duckdb")],
        ["ingest", str(folder / "hostile"), "--plan", "--warehouse", str(folder / "again.duckdb")],
        ["ingest", str(folder / inside), "--warehouse", str(folder / "again.duckdb")],
        ["ingest", "--config", str(folder / "bad.toml")],
        ["config", "check", "--config", str(folder / "bad.toml")],
        ["config", "check", "--config", str(folder / "worse.toml")],
        ["stats", "--warehouse", inside],
        ["query", f"SELECT '{quoted}' AS \"{word.replace(chr(34), '')}\"", "--warehouse", path],
        ["query", f"SELECT '{quoted}", "--warehouse", path],
        ["query", f'SELECT "{word.replace(chr(34), "")}" FROM marts.runs', "--warehouse", path],
        ["query", "SELECT 1", "--ask", word, "--warehouse", path],
        ["query", "--format", word, "SELECT 1", "--warehouse", path],
        ["query", f"--{word}", "--warehouse", path],
        [word],
        ["report", "run", word, "--warehouse", path],
        ["report", "program", word, "--warehouse", path],
        ["compare", word, word, "--warehouse", path],
        ["lineage", word, "--warehouse", path],
        ["rejects", "show", "1", "--warehouse", path],
        ["runs", "set", word, "track=x", "--warehouse", str(folder / "again.duckdb")],
        ["export", "--all", "-o", str(folder / f"out{inside}"), "--warehouse", path],
        ["verify", "--warehouse", path],
        ["prune", "--keep-runs", "1", "--plan", "--warehouse", path],
    ]
    for form in ["table"] if is_short else ["table", "markdown", "json"]:
        shape = ["--format", form, "--warehouse", path]
        calls += [["report", "fleet", *shape], ["report", "run", "b", *shape], ["report", "program", "jit_1", *shape]]
        calls += [["compare", "a", "b", *shape], ["blame", "jit_1", *shape], ["determinism", "a", "b", *shape]]
        calls += [["query", "SELECT * FROM raw.runs, raw.observations", *shape]]
    for verb in (["runs", "ls"], ["programs"], ["rejects", "ls"], ["stats"], ["check"]):
        calls += [
            [*verb, "--format", form, "--warehouse", path] for form in (["table"] if is_short else ["table", "json"])
        ]
    calls += [["compare", "a", "b", "--fail-over", "1%,1B", "--format", "github", "--warehouse", path]]
    calls += [["query", "--warehouse", path], [*["compare", "a", "b", "--fail-over", "1%,1B"], "--warehouse", path]]
    calls = [*calls[:3], *calls[3::3]] if is_short else calls
    done = subprocess.run(
        [sys.executable, "-c", _SEVERAL],
        input=json.dumps(calls), capture_output=True, text=True, cwd=CHECKOUT, timeout=600,
        env={**os.environ, "COLUMNS": "300"},
    )  # fmt: skip
    for stream in (done.stdout, done.stderr):
        said = stream.split("\n%% end")
        assert len(calls) + 1 == len(said), done.stderr[-2000:]
        for words, text in zip(calls, said, strict=False):
            about = f"{[word[:12] for word in words[:5]]}: {obeyed(text)!r}"
            count.attempt(about, not obeyed(text) and "Traceback" not in text)
    if not is_short:
        for words in calls[:1] + calls[-12:]:
            text = _on_a_terminal(words)
            count.attempt(f"on a terminal, {words[:2]}: {obeyed(text)!r}", not obeyed(text))
    return count


def _on_a_terminal(words: list[str]) -> str:
    """Return what a command prints on a terminal, without what bars and colors are made of and a line's return."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "bufferhouse.cli", *words], stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs,
        cwd=CHECKOUT, env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "200"},
    )  # fmt: skip
    os.close(theirs)
    found = b""
    while True:
        try:
            found += os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
    os.close(ours)
    process.wait()
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", found.decode("utf-8", "replace"))


def _redacted() -> Count:
    """Each form in which a secret is written, as it is and inside a sentence; and what must be told as it is."""
    count = Count("secrets in messages")
    for form in FORMS:
        for text in (form, f"batch 3: expected this, found {form}", f"[{form}]\n{form}"):
            count.attempt(f"{text} became {redacted(text)}", SECRET not in redacted(text))
    for text in HARMLESS:
        count.attempt(f"{text} became {redacted(text)}", text == redacted(text))
    return count


def _told(folder: Path) -> Count:
    """What verbs say of addresses with passwords, and of servers that tell the keys they were asked with."""
    count = Count("secrets in what verbs say")
    for what, text in told(folder):
        count.attempt(f"{what}: {text}", SECRET not in text and "Traceback" not in text and "panicked" not in text)
    return count


def _served(folder: Path) -> Iterator[Count]:
    """A server as `serve` starts it: requests of strangers, choices that are no caller's, secrets in its records."""
    clock = Clock(folder / "served", free_port())
    clock.drop.mkdir(parents=True)
    clock.config.write_text('[schedule]\ningest = "off"\n[[sources]]\nname = "drop"\npaths = ["drop"]\n')
    clock.start()
    try:
        for name, tried in (
            ("requests of strangers", answers(clock.port, clock.authentication)),
            ("choices of callers", forbidden_choices(clock)),
            ("secrets in Prefect's records", artifacts_of_secrets(clock)),
        ):
            count = Count(name)
            for what, is_held in tried:
                count.attempt(what, is_held)
            yield count
    finally:
        clock.stop()
