"""`bufferhouse ingest`."""

import json
import os
import sys
import time
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from bufferhouse.commands.config import SetOption
from bufferhouse.commands.options import (
    DataPathOption,
    FormatOption,
    WarehouseOption,
    check_format,
    facts_of,
    guarded,
    say,
    warehouse_path,
)
from bufferhouse.errors import UsageError
from bufferhouse.paths import FLOWS
from bufferhouse.redaction import printable


@guarded
def ingest(
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            help="Files, globs, directories, tar or zip archives, s3:// URLs; - reads paths from standard input."
        ),
    ] = None,
    warehouse: WarehouseOption = None,
    run: Annotated[str | None, typer.Option(help="The name of the run that all dumps belong to.")] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(help="K=V: a fact about the runs, such as track=nightly; repeat for more."),
    ] = None,
    workers: Annotated[int | None, typer.Option(min=1, hidden=True, help="A former option.")] = None,
    include: Annotated[
        list[str] | None, typer.Option(help="Ingest only the files that match this glob; repeat for more.")
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option(help="Leave out the files that match this glob; repeat for more.")
    ] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Print what an ingest would do, and write nothing.")] = False,
    rehash: Annotated[bool, typer.Option("--rehash", help="Read unchanged files again, too.")] = False,
    reparse: Annotated[
        bool,
        typer.Option(
            "--reparse",
            help="Parse dumps again that an older bufferhouse parsed, from the tables; with --rehash all dumps.",
        ),
    ] = False,
    allow_empty: Annotated[bool, typer.Option("--allow-empty", help="Exit 0 also if a source has no dump.")] = False,
    data_path: DataPathOption = None,
    publish: Annotated[bool, typer.Option("--publish", help="Publish a copy for readers afterwards.")] = False,
    wait: Annotated[
        float | None,
        typer.Option("--wait", min=0, help="Seconds to wait for a warehouse in use; else as configured, else 0."),
    ] = None,
    config_file: Annotated[
        Path | None,
        typer.Option("--config", help="Instead of SOURCES: ingest the sources of this bufferhouse.toml once."),
    ] = None,
    settings: SetOption = None,
    output_format: FormatOption = "table",
) -> None:
    """Load dumps into the warehouse.

    Files whose path, size and time are known are not read again. A dump that cannot be read becomes a reject, and
    the others are loaded. Exit 1 if a dump was refused, or if there was none: then no warehouse is made.

    With --config the command makes one pass over the configured sources, as the scheduled flow does: it takes only
    whole files, loads them into the configured warehouse, and publishes where the configuration says so. A missing
    source does not stop the others.

    Example: bufferhouse ingest /tmp/dumps --label track=nightly
    """
    from bufferhouse.commands.ingest_run import run_ingest

    check_format(output_format, "table", "json")
    if run is not None:
        from bufferhouse.warehouse.run_names import check_new_name  # with DuckDB, which takes a tenth of a second

        check_new_name(run)
    if workers is not None:
        say("bufferhouse: --workers has no effect any more, because one process parses; leave it out")
    if config_file is not None:
        others = {"--include": include, "--exclude": exclude, "--plan": plan, "--rehash": rehash, "--reparse": reparse}
        others["--data-path"] = data_path
        _refuse_beside_config(sources, [name for name, value in others.items() if value])
        facts = facts_of(label, "--label")
        _ingest_configured(config_file, settings, warehouse, run, facts, publish, wait, output_format)
    if settings:
        raise UsageError("--set: expected --config FILE beside it")
    if not sources and not reparse:
        raise UsageError("expected sources to ingest, --config FILE, or --reparse")
    if plan and reparse:
        raise UsageError("expected --plan or --reparse, not both")
    if plan and publish:
        raise UsageError("expected --plan or --publish, not both: a plan writes nothing")
    summary = run_ingest(
        [path for source in sources or [] for path in _expanded(source)],
        warehouse_path(warehouse, must_exist=not sources, data_path=data_path),
        run_name=run,
        labels=facts_of(label, "--label"),
        include=include or [],
        exclude=exclude or [],
        plan=plan,
        rehash=rehash,
        reparse=reparse,
        publish=publish,
        allow_empty=allow_empty,
        wait=wait or 0.0,
    )
    if output_format == "json":
        print(json.dumps(summary.as_dict()))
    else:
        from bufferhouse.report.summary import lines

        is_empty = summary.found_nothing and not summary.named_logs
        way_out = ["If a source may have no dump, say --allow-empty"] if is_empty else []
        print("\n".join([*lines(summary, plan=plan), *way_out]))
    raise typer.Exit(summary.exit_code)


def _refuse_beside_config(sources: list[str] | None, others: list[str]) -> None:
    if sources:
        raise UsageError(
            "expected SOURCES or --config FILE, not both; for some of the configured sources: "
            f"python -m {FLOWS}.ingest NAME --config FILE"
        )
    if others:
        way_out = "; the file has include and exclude" if {"--include", "--exclude"} & set(others) else ""
        raise UsageError(f"expected --config or {', '.join(others)}, not both{way_out}")


def _ingest_configured(
    config_file: Path,
    settings: list[str] | None,
    warehouse: Path | None,
    run: str | None,
    labels: dict[str, str],
    publish: bool,
    wait: float | None,
    output_format: str,
) -> NoReturn:
    """Make one pass; exit 3 if a source did not answer, 2 if a source is wrong, 1 if a dump was refused."""
    from bufferhouse.commands.ingest_run import run_configured
    from bufferhouse.config.load import find, load
    from bufferhouse.ingest.summary import total_of
    from bufferhouse.report.summary import lines

    started = time.monotonic()
    conf = load(find(config_file), flags=settings or ())
    by_source = run_configured(
        conf,
        warehouse or conf.warehouse,
        run_name=run,
        labels=labels,
        publish=publish or conf["warehouse"]["publish"],
        wait=conf["warehouse"]["wait"] if wait is None else wait,
    )
    total = total_of(by_source)
    total.seconds = round(time.monotonic() - started, 3)
    faults = {name: one.fault for name, one in by_source.items() if one.fault}
    if output_format == "json":
        print(json.dumps({**total.told(), "faults": faults}))
    else:
        print("\n".join([*lines(total), *(f"waiting: {printable(line)}" for line in total.waiting)]))
    for name, one in by_source.items():
        for line in [*one.archive_lines(), *([one.fault] if one.fault else [])]:
            say(f"bufferhouse: source {name}: {line}")
    is_wrong = any(isinstance(one.error, UsageError) for one in by_source.values())
    raise typer.Exit((2 if is_wrong else 3) if faults else total.exit_code)


def _expanded(source: str) -> list[str]:
    if source != "-":
        return [source]
    # Names of files are bytes, whatever the terminal's encoding is.
    return [os.fsdecode(path) for line in sys.stdin.buffer if (path := line.rstrip(b"\n"))]
