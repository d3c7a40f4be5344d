"""`bufferhouse query`."""

import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from bufferhouse.commands import completion
from bufferhouse.commands.options import (
    WaitOption,
    WarehouseOption,
    check_format,
    file_option,
    guarded,
    reading,
    say,
    show,
    warehouse_path,
)
from bufferhouse.errors import UsageError
from bufferhouse.redaction import shell_word
from bufferhouse.warehouse import Address

_OPTION = re.compile(r"--[a-z-]+=")
_ASSIGNMENT = re.compile(r"\$?\w+=.*", re.DOTALL)
FromOption = Annotated[
    list[str] | None, typer.Option("--from", help="Read these dumps instead of a warehouse; repeat for more.")
]


class SqlFirst(TyperCommand):
    """A verb whose argument is SQL, which may begin with a comment: `-- x` and a line feed are not an option."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:
        """Move the SQL behind all options, where a dash has no meaning."""
        if "--" in args:
            return super().parse_args(ctx, args)
        is_sql = [word.startswith("--") and "\n" in word and not _OPTION.match(word) for word in args]
        if not any(is_sql):  # else the mark would be the value of a last option that lacks its own
            return super().parse_args(ctx, args)
        options = [word for word, sql in zip(args, is_sql, strict=True) if not sql]
        return super().parse_args(ctx, [*options, "--", *(word for word, sql in zip(args, is_sql, strict=True) if sql)])


@guarded
def query(
    sql: Annotated[
        str | None,
        typer.Argument(
            help="One statement that reads. Without it, statements are read from standard input; on a terminal an "
            "interactive shell starts."
        ),
    ] = None,
    file: Annotated[
        Path | None, typer.Option("-f", "--file", help="Read the statement from a file; - is standard input.")
    ] = None,
    ask: Annotated[
        str | None,
        typer.Option("--ask", help="Ask a question of the cookbook, by its name.", autocompletion=completion.questions),
    ] = None,
    # For one release: elsewhere --run names a run.
    run: Annotated[str | None, typer.Option("--run", hidden=True, help="The former spelling of --ask.")] = None,
    questions: Annotated[bool, typer.Option("--list", help="List the questions of the cookbook.")] = False,
    param: Annotated[
        list[str] | None,
        typer.Option(
            "--param",
            help="NAME=VALUE for the parameter $NAME; repeat for more. A number, null, true and false are taken as "
            "such; all else is text, as is a value in single quotes: \"v='0.10'\".",
        ),
    ] = None,
    warehouse: WarehouseOption = None,
    source: FromOption = None,
    output_format: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="table, csv, json, markdown or, with -o, parquet; else what the ending of -o says, else table.",
        ),
    ] = None,
    output: Annotated[Path | None, file_option("-o", "--output", help="Write the answer to this file.")] = None,
    timeout: Annotated[
        float, typer.Option("--timeout", min=0.001, help="The seconds that a statement may take.")
    ] = 300.0,
    memory: Annotated[
        int | None,
        typer.Option(
            "--memory", min=64, help="The MiB that a statement may take; else half of the memory, at most 4096."
        ),
    ] = None,
    max_rows: Annotated[
        int, typer.Option("--max-rows", min=1, help="The rows that an answer may have; in Parquet any number.")
    ] = 1_000_000,
    wait: WaitOption = 0.0,
) -> None:
    """Query the warehouse in SQL, read-only.

    Start with the marts: SHOW ALL TABLES lists them, DESCRIBE marts.peak_memory shows one. --list lists the questions
    of the cookbook, --ask asks one. Without a statement an interactive shell starts; .help lists its commands.

    Example: bufferhouse query --ask biggest_at_peak
    """
    from bufferhouse.engine.limits import MIB, Limits
    from bufferhouse.query.cookbook import question, with_run
    from bufferhouse.query.door import door
    from bufferhouse.query.output import ALL_FORMATS, ENDINGS, answer, pairs, values

    if output_format is None:
        output_format = ENDINGS.get(output.suffix.lower() if output else "", "table")
    check_format(output_format, *ALL_FORMATS)
    if output_format == "parquet" and output is None:
        raise UsageError("--format parquet: expected -o FILE")
    if questions:
        if any(given is not None for given in (sql, file, ask, run, output)) or param or source:
            raise UsageError("--list lists the questions: expected nothing beside it but --format")
        _list(output_format)
        return
    if ask is not None:
        _check_asked(ask, sql)
    if sum(given is not None for given in (sql, file, ask, run)) > 1:
        raise UsageError("expected one statement: as an argument, with -f FILE or with --ask QUESTION")
    if run is not None:
        say(f"bufferhouse: query --run {run} is now query --ask {run}; the next release takes no questions in --run")
        ask = run
    given = pairs(param or [], "--param")
    told = {}
    if ask is not None:
        asked = question(ask)
        sql, parameters = asked.sql, asked.values(given)
        told = {"needs_live_ranges": asked.needs_live_ranges, "most_rows": asked.most_rows(given)}
    else:
        sql, parameters = _text_of(file) if file is not None else sql, values(given)
    limits = replace(Limits(), seconds=timeout, rows=max_rows)
    if memory is not None:
        limits = replace(limits, memory_bytes=memory * MIB)
    if output is not None:
        _check_output(output, warehouse)
    with (
        _connection(warehouse, source, wait, is_long=sql is None) as con,
        door(con, limits, give_up=_give_up(timeout)) as opened,
    ):
        if sql is None:
            _converse(opened, output_format, given, output)
            return
        if ask is not None:
            parameters = with_run(opened.con, parameters)
        text = answer(opened, sql, parameters, output_format, output, say, **told)
    if text is not None:
        show(text, output_format)


def _check_asked(ask: str, beside: str | None) -> None:
    """Raise a UsageError where --ask took the next option for its question, or lacks --param before a parameter."""
    if ask.startswith("-"):
        raise UsageError(f"--ask: expected the name of a question, found {ask!r}; bufferhouse query --list shows them")
    if beside is not None and _ASSIGNMENT.fullmatch(beside):
        raise UsageError(f"expected the parameter of a question behind --param: --param {shell_word(beside)}")


def _list(output_format: str) -> None:
    from bufferhouse.query.cookbook import questions, shown
    from bufferhouse.query.format import formatted

    check_format(output_format, "table", "csv", "json", "markdown")
    rows = [
        (one.name, one.sentence, " ".join(f"{p.name}={shown(p.default)}" for p in one.parameters.values()))
        for one in questions().values()
    ]
    show(formatted(("question", "what it asks", "parameters"), rows, output_format), output_format)


def _text_of(file: Path) -> str:
    try:
        return sys.stdin.buffer.read().decode("utf-8") if str(file) == "-" else file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise UsageError(f"{file}: expected SQL in UTF-8") from None
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from None


def _check_output(output: Path, warehouse: Address | None) -> None:
    """Raise a UsageError for an output in place of a warehouse or a lake, or in a missing folder."""
    from bufferhouse.warehouse.target import check_target

    if output.resolve() in [path.resolve() for path in warehouse_path(warehouse).files]:
        raise UsageError(f"-o {output}: expected another file, found the warehouse")
    check_target("-o", output)
    if not output.absolute().parent.is_dir():
        raise UsageError(f"-o {output}: there is no folder {output.absolute().parent}")


def _give_up(seconds: float) -> Callable[[], None]:
    def end() -> None:
        # DuckDB notices an interrupt only between two steps, and one step may take long.
        say(f"bufferhouse: the statement was ended after {seconds:g} s; --timeout SECONDS gives it more time")
        os._exit(2)

    return end


def _converse(opened, output_format: str, given: dict[str, str], output: Path | None) -> None:
    from bufferhouse.query.shell import Shell, converse, ends_a_statement, statements

    if given or output is not None:
        raise UsageError("expected one statement, as an argument, with -f FILE or with --ask QUESTION")
    shell = Shell(opened, show, say, output_format)
    if sys.stdin.isatty():
        converse(shell)
        return
    sys.stdin.reconfigure(encoding="utf-8", errors="surrogateescape")  # the shell refuses what is none, in a line
    count = 0
    for count, text in enumerate(statements(iter(sys.stdin), ends_a_statement), 1):  # noqa: B007 - counted
        if not shell.obey(text):
            break
    if not count:
        raise UsageError(
            "expected one statement, as an argument, with -f FILE, with --ask QUESTION or on standard input"
        )


def asked_origin(warehouse: Address | None, source: list[str] | None) -> Address | list[str]:
    """Return the warehouse to query, or the sources; refuse both together."""
    if source and warehouse is not None:
        raise UsageError("expected --warehouse or --from, not both")
    return source or warehouse_path(warehouse, must_exist=True)


@contextmanager
def _connection(warehouse: Address | None, source: list[str] | None, wait: float, *, is_long: bool) -> Iterator[Any]:
    origin = asked_origin(warehouse, source)
    if isinstance(origin, list):
        from bufferhouse.ingest.in_memory import in_memory

        with in_memory(origin) as con:
            yield con
        return
    from bufferhouse.warehouse.lake.reader import bound_password

    with bound_password(origin), reading(origin, wait, is_long=is_long) as con:
        yield con
