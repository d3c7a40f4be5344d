"""`bufferhouse oom`."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import typer

from bufferhouse.commands.options import (
    WaitOption,
    WarehouseOption,
    check_format,
    guarded,
    reading,
    say,
    warehouse_path,
)
from bufferhouse.commands.report import HtmlOption, deliver
from bufferhouse.errors import UsageError


@guarded
def oom(
    sources: Annotated[
        list[str],
        typer.Argument(help="Logs, also compressed, and directories or archives of dumps; - reads standard input."),
    ],
    run: Annotated[str | None, typer.Option(help="Look for the dumps in this run of the warehouse.")] = None,
    warehouse: WarehouseOption = None,
    html: HtmlOption = None,
    output_format: Annotated[str, typer.Option("--format", help="table, markdown, json or github.")] = "table",
    wait: WaitOption = 0.0,
) -> None:
    """Explain why a program did not fit: from the message in a log to the bytes of the dump and the line of code.

    Exit 1 if something did not fit, 0 if there was nothing to explain. A failed compilation writes its dump all the
    same: name its directory beside the log.

    Example: bufferhouse oom train.log /tmp/dumps/2026-11-23
    """
    from bufferhouse.oom.finding import explain
    from bufferhouse.oom.join import dumps
    from bufferhouse.oom.message import Message, Refused, once, read_messages
    from bufferhouse.report.oom.text import oom_text
    from bufferhouse.report.writing import check_page_path

    check_format(output_format, "table", "markdown", "json", "github")
    if html is not None:
        check_page_path(html)
    logs, held = _parted(sources)
    if run is not None and held:
        raise UsageError("expected directories of dumps or --run, not both")
    refused: list[Refused] = []
    messages: list[Message] = []
    for name in logs:
        with _opened(name) as file:
            for one in read_messages(file, name):
                refused.append(one) if isinstance(one, Refused) else messages.append(one)
    findings = []
    if messages:
        with _connection(held, run, warehouse, wait) as (con, run_name):
            findings = explain(con, once(messages), dumps(con, run_name) if con is not None else [])
    deliver(
        oom_text(findings, refused, output_format),
        None,
        lambda: _page(findings, refused, run or ", ".join(held) or "no dumps"),
        html,
        output_format,
    )
    if any(one.message.is_failure for one in findings):
        raise typer.Exit(1)


def _page(findings: list, refused: list, place: str) -> str:
    from bufferhouse.report.oom.page import oom_page  # half a second to import

    return oom_page(findings, refused, warehouse=place)


def _parted(sources: list[str]) -> tuple[list[str], list[str]]:
    """Return the logs and the places of dumps among what was named; logs beside dumps are taken along."""
    from bufferhouse.sources.directory import ARCHIVE_SUFFIXES

    logs: list[str] = []
    held: list[str] = []
    for source in sources:
        if source == "-":
            logs.append(source)
        elif os.path.isdir(source):
            held.append(source)
            logs += _logs_in(source)
        elif source.endswith(ARCHIVE_SUFFIXES) or "://" in source or "buffer-assignment" in os.path.basename(source):
            held.append(source)
        elif os.path.isfile(source):
            logs.append(source)
        else:
            raise UsageError(f"{source}: no such file or directory")
    return list(dict.fromkeys(logs)), held


_LOGS = (".log", ".err", ".out", ".stderr", ".stdout", "stderr.txt", "stdout.txt", "message.txt", "log.txt")


def _logs_in(directory: str) -> Iterator[str]:
    from bufferhouse.sources import compression

    for folder, _, names in sorted(os.walk(directory)):
        yield from (os.path.join(folder, n) for n in sorted(names) if compression.plain_name(n).endswith(_LOGS))


@contextmanager
def _opened(name: str) -> Iterator[BinaryIO]:
    from bufferhouse.sources import compression

    if name == "-":
        yield sys.stdin.buffer
        return
    try:
        with open(name, "rb") as file, compression.opened(name, file) as plain:
            yield plain
    except compression.DAMAGE as error:
        raise UsageError(f"{name}: expected compressed data that is whole, found: {error}") from None
    except OSError as error:
        raise UsageError(f"{name}: {error.strerror or error}") from None


@contextmanager
def _connection(
    held: list[str], run: str | None, warehouse: Path | None, wait: float
) -> Iterator[tuple[Any, str | None]]:
    """Yield a connection to the dumps, and the name of the run that they are of; no connection where none is named."""
    if run is not None:
        from bufferhouse.warehouse.run_names import find

        with reading(warehouse_path(warehouse, must_exist=True), wait, is_long=True) as con:
            yield con, find(con, run).run_name
    elif held:
        from bufferhouse.ingest.in_memory import in_memory

        with in_memory(held) as con:
            yield con, None
    else:
        say(
            "bufferhouse: no dumps are named: this is what the message alone says. XLA writes dumps with "
            "XLA_FLAGS='--xla_dump_to=DIR --xla_dump_hlo_as_text'"
        )
        yield None, None
