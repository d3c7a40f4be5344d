"""`bufferhouse ingest`."""

import json
import os
import sys
from typing import Annotated

import typer

from bufferhouse.commands.shared import FormatOption, WaitOption, WarehouseOption, check_format, guarded, warehouse_path
from bufferhouse.errors import UsageError


@guarded
def ingest(
    sources: Annotated[
        list[str] | None,
        typer.Argument(help="Files, globs, directories, tar or zip archives, s3:// URLs; - reads paths from stdin."),
    ] = None,
    warehouse: WarehouseOption = None,
    run: Annotated[str | None, typer.Option(help="Name of the run all dumps belong to.")] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(help="K=V: a fact about the runs, such as track=nightly; repeat for more."),
    ] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes that parse.")] = None,
    include: Annotated[list[str] | None, typer.Option(help="Only files that match this glob.")] = None,
    exclude: Annotated[list[str] | None, typer.Option(help="No files that match this glob.")] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Say what would be done, and write nothing.")] = False,
    rehash: Annotated[bool, typer.Option("--rehash", help="Read files again that seem unchanged.")] = False,
    reparse: Annotated[
        bool,
        typer.Option("--reparse", help="Parse again what an older version parsed, all with --rehash; from the tables."),
    ] = False,
    publish: Annotated[bool, typer.Option("--publish", help="Publish a copy for readers at the end.")] = False,
    wait: WaitOption = 0.0,
    output_format: FormatOption = "table",
) -> None:
    """Load dumps into the warehouse.

    Files that are known by path, size and time are not read again; a dump that cannot be read becomes a reject and
    the others are loaded. Exit 1 when something was refused.
    """
    from bufferhouse.ingesting import run_ingest

    check_format(output_format, "table", "json")
    if not sources and not reparse:
        raise UsageError("expected sources to ingest, or --reparse")
    if plan and reparse:
        raise UsageError("expected --plan or --reparse, not both")
    summary = run_ingest(
        [path for source in sources or [] for path in _expanded(source)],
        warehouse_path(warehouse, must_exist=not sources),
        run_name=run,
        labels=dict(_pair(item) for item in label or []),
        workers=workers,
        include=include or [],
        exclude=exclude or [],
        plan=plan,
        rehash=rehash,
        reparse=reparse,
        publish=publish,
        wait=wait,
    )
    if output_format == "json":
        print(json.dumps(summary.as_dict()))
    else:
        from bufferhouse.report.summary import lines

        print("\n".join(lines(summary, plan=plan)))
    raise typer.Exit(summary.exit_code)


def _pair(text: str) -> tuple[str, str]:
    key, sign, value = text.partition("=")
    if not sign or not key:
        raise UsageError(f"--label: expected K=V, found {text!r}")
    return key, value


def _expanded(source: str) -> list[str]:
    if source != "-":
        return [source]
    # Names of files are bytes, whatever the terminal's encoding is.
    paths = [os.fsdecode(line.rstrip(b"\n")) for line in sys.stdin.buffer]
    return [path for path in paths if path]
