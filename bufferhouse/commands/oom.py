"""`bufferhouse oom`."""

import io
import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
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
from bufferhouse.errors import UsageError, counted


@guarded
def oom(
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            help="Logs, also compressed, and directories, archives or s3:// URLs of dumps; the logs in them are read "
            "if no log is named. - reads standard input. Or a run of the warehouse."
        ),
    ] = None,
    run: Annotated[str | None, typer.Option(help="Look for the dumps in this run of the warehouse.")] = None,
    warehouse: WarehouseOption = None,
    html: HtmlOption = None,
    output_format: Annotated[str, typer.Option("--format", help="table, markdown, json or github.")] = "table",
    wait: WaitOption = 0.0,
) -> None:
    """Explain why a program did not fit: from the message in a log to the bytes of the dump and the line of code.

    A failed compilation writes its dump all the same: name the directory of the dumps after the log. If only a run is
    named, the messages that were ingested with it are explained. Exit 1 if a message, or files beside a dump, say that
    something did not fit, or if a log or a dump could not be read or understood; 0 if there was nothing to explain.

    Example: bufferhouse oom train.log /tmp/dumps/2026-11-23
    """
    from bufferhouse.messages import join, rows
    from bufferhouse.oom.finding import explain, without_message
    from bufferhouse.report.oom.text import Explanation, oom_text
    from bufferhouse.report.writing import check_page_path

    check_format(output_format, "table", "markdown", "json", "github")
    if html is not None:
        check_page_path(html)
    asked = run
    logs, beside, held, run = _parted(sources or [], run, warehouse)
    if asked is not None and held:
        raise UsageError("expected directories of dumps or a run of the warehouse, not both")
    if run is not None and held:
        raise UsageError(
            f"{run}: no such file or directory; a run is not taken either where directories of dumps are named"
        )
    if not logs and run is None:
        say(
            "bufferhouse: no log was named, and no file there has the name of a log: *.log, *.out, *.err, stderr.txt "
            "and so on"
        )
    if beside:
        say(f"bufferhouse: {counted(len(beside), 'other log')} there not read, as a log is named")
    messages, refused = _read(logs, is_alone=len(logs) == 1 and not held and run is None)
    findings, candidates, silent = [], [], []
    unread: list[str] = []
    if messages or held or run is not None:
        with _connection(held, run, warehouse, wait, unread, may_be_path=asked is None) as (con, named):
            if run is not None and not logs:
                messages, refused = rows.stored(con, named.run_id), rows.refused(con, named.run_id)
                if not rows.has_logs(con, named.run_id):
                    say(
                        f"bufferhouse: no log was ingested with the run {named.run_name}; to name one: "
                        f"bufferhouse oom LOG --run {shlex.quote(named.run_name)}"
                    )
            if con is not None:
                candidates = join.dumps(con, named and named.run_name)
                unread += join.unread(con, named and named.run_name)
            findings = explain(con, messages, candidates, has_unread=bool(unread), is_told=con is None)
            silent = without_message(findings, candidates)
            if silent and logs and (run is not None or beside):  # other programs failed, as their own logs tell
                others = _read(beside, is_alone=False)[0] if run is None else rows.stored(con, named.run_id)
                silent = without_message([*findings, *explain(con, others, candidates)], candidates)
    found = Explanation(findings, refused, silent, unread)

    def page() -> str:
        from bufferhouse.report.oom.page import oom_page  # half a second to import

        return oom_page(found, warehouse=run or ", ".join(held) or "no dumps")

    deliver(oom_text(found, output_format), None, page, html, output_format)
    if refused or unread or silent or any(one.message.is_failure for one in findings):
        raise typer.Exit(1)


Logs = list[Any]
"""Names of logs, and entries of trees that are logs."""


def _parted(sources: list[str], run: str | None, warehouse: Any) -> tuple[Logs, Logs, list[str], str | None]:
    """Return the logs to read, those that are not named beside them, the places of dumps and the run.

    The logs that lie in a place of dumps are read where no log is named: else the failures of all its other programs
    would be told with the one that is asked about.
    """
    from bufferhouse.sources.directory import archive_ending
    from bufferhouse.sources.discover import logs_in

    if not sources and run is None:
        raise UsageError("expected logs, directories of dumps, or a run of the warehouse")
    named: Logs = []
    found: Logs = []
    held: list[str] = []
    for source in sources:
        if source == "-":
            named.append(source)
        elif os.path.isdir(source) or "://" in source or (archive_ending(source) and os.path.exists(source)):
            inside, may_hold_dumps = logs_in(source)
            (found if may_hold_dumps else named).extend(inside)
            held += [source] * may_hold_dumps
        elif os.path.isfile(source):
            (held if "buffer-assignment" in os.path.basename(source) else named).append(source)
        elif run is None:
            _check_warehouse(warehouse, source)
            run = source
        else:
            raise UsageError(f"{source}: no such file or directory")
    logs, others = _by_path(named), _by_path(found)
    if not logs:
        return [*others.values()], [], held, run
    return [*logs.values()], [log for path, log in others.items() if path not in logs], held, run


def _by_path(logs: Logs) -> dict[str, Any]:
    paths = ((one if isinstance(one, str) else one.path, one) for one in logs)
    return {path if path == "-" or "://" in path else os.path.abspath(path): one for path, one in paths}


def _check_warehouse(warehouse: Any, word: str) -> None:
    """Refuse a word that is no path if there is no warehouse either, of which it could be a run."""
    try:
        warehouse_path(warehouse, must_exist=True)
    except UsageError as error:
        from bufferhouse.warehouse.run_names import is_like_path

        why = "" if is_like_path(word) else f", and no run of a warehouse: {error}"
        raise UsageError(f"{word}: no such file or directory{why}") from None


def _read(logs: Logs, *, is_alone: bool) -> tuple[list, list]:
    """Return the messages of all logs, and what is refused: lines, and logs that cannot be read.

    Raises:
        UsageError: the log that is all there is to read cannot be read.
    """
    from bufferhouse.messages.message import Refused
    from bufferhouse.report.oom.text import refused_line
    from bufferhouse.sources.compression import DAMAGE
    from bufferhouse.sources.logs import TEXT, WHOLE, NoText, opened

    messages: list = []
    refused: list[Refused] = []

    def take(name: str, log: AbstractContextManager[BinaryIO]) -> None:
        try:
            with log as file:
                found = _messages(name, file)
        except NoText as error:
            found = [Refused(None, None, TEXT, error.found, name)]
        except DAMAGE as error:
            found = [Refused(None, None, WHOLE, str(error), name)]
        except OSError as error:
            found = [Refused(None, None, "a log that can be read", error.strerror or str(error), name)]
        for one in found:
            refused.append(one) if isinstance(one, Refused) else messages.append(one)

    for name in (one for one in logs if isinstance(one, str)):
        take(name, _opened(name))
    for entry, file in opened([one for one in logs if not isinstance(one, str)]):
        take(entry.path, _held(file))
    if is_alone and refused and refused[0].line_number is None:
        raise UsageError(refused_line(refused[0]))
    return messages, refused


def _messages(name: str, file: BinaryIO) -> list:
    from bufferhouse.messages.message import Refused, read_messages
    from bufferhouse.sources.logs import WHOLE, NoText, UntilDamage

    stream = UntilDamage(file)
    found = list(read_messages(stream, name))
    if stream.damage is not None:
        if not found:
            raise stream.damage
        # A process that was killed leaves its log cut: what it said before counts.
        found.append(Refused(stream.line_number, 1, WHOLE, str(stream.damage), name))
    if not (found or stream.is_text):
        raise NoText("bytes that no text has")
    return found


@contextmanager
def _held(file: BinaryIO | Exception) -> Iterator[BinaryIO]:
    if isinstance(file, Exception):
        raise file
    yield file


@contextmanager
def _opened(name: str) -> Iterator[BinaryIO]:
    from bufferhouse.sources import compression
    from bufferhouse.sources.logs import check_name, check_plain

    if name == "-":
        plain = io.BufferedReader(sys.stdin.buffer)
        try:
            check_plain(plain.peek(8), "decompress it first")
            yield plain
        finally:
            plain.detach()  # else standard input would be closed with it
        return
    with open(name, "rb") as file:
        check_name(name, file)
        with compression.opened(name, file) as plain:
            if plain is file:
                check_plain(file.peek(8))
            yield plain


@contextmanager
def _connection(
    held: list[str], run: str | None, warehouse: Any, wait: float, unread: list[str], *, may_be_path: bool
) -> Iterator[tuple[Any, Any]]:
    """Yield a connection to the dumps, and the run that they are of; no connection where none is named.

    `unread` gets a line for each place of dumps that could not be read.
    """
    if run is not None:
        from bufferhouse.warehouse.run_names import find, find_where_no_file

        with reading(warehouse_path(warehouse, must_exist=True), wait, is_long=True) as con:
            yield con, find_where_no_file(con, run) if may_be_path else find(con, run)
    elif held:
        from bufferhouse.ingest.in_memory import in_memory

        with in_memory(held, with_logs=False, unread=unread) as con:
            yield con, None
    else:
        say(
            "bufferhouse: no dumps are named: this is what the message alone says. Name their directory after the log; "
            "XLA writes dumps, also of a program that does not fit, with "
            "XLA_FLAGS='--xla_dump_to=DIR --xla_dump_hlo_as_text'"
        )
        yield None, None
