"""`bufferhouse query` and `bufferhouse report`."""

from pathlib import Path
from typing import Annotated

import typer

from bufferhouse.commands.shared import WaitOption, WarehouseOption, check_format, guarded, say, warehouse_path
from bufferhouse.errors import UsageError

FromOption = Annotated[
    list[str] | None, typer.Option("--from", help="Ask these dumps instead; no warehouse is needed. Repeat for more.")
]


@guarded
def query(
    sql: Annotated[str | None, typer.Argument(help="One statement that reads.")] = None,
    file: Annotated[Path | None, typer.Option("-f", "--file", help="Read the statement from a file.")] = None,
    warehouse: WarehouseOption = None,
    source: FromOption = None,
    output_format: Annotated[str, typer.Option("--format", help="table, csv, json or markdown.")] = "table",
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write to a file.")] = None,
    wait: WaitOption = 0.0,
) -> None:
    """Ask the warehouse in SQL, read-only.

    Start with the marts: SHOW ALL TABLES lists them, DESCRIBE marts.peak_memory shows one.
    """
    from bufferhouse.query import ask
    from bufferhouse.tables import FORMATS, formatted

    check_format(output_format, *FORMATS)
    if (sql is None) == (file is None):
        raise UsageError("expected one statement, as an argument or with -f FILE")
    if file is not None:
        try:
            sql = file.read_text()
        except OSError as error:
            raise UsageError(f"{file}: {error.strerror}") from None
    with _connection(warehouse, source, wait) as con:
        columns, rows = ask(con, sql or "")
    text = formatted(columns, rows, output_format)
    if output is None:
        print(text)
    else:
        output.write_text(text + "\n")


def _connection(warehouse: Path | None, source: list[str] | None, wait: float):
    from bufferhouse.commands.shared import reading

    if source:
        if warehouse is not None:
            raise UsageError("expected --warehouse or --from, not both")
        from bufferhouse.memory import in_memory

        return in_memory(source)
    return reading(warehouse_path(warehouse, must_exist=True), wait)


report = typer.Typer(no_args_is_help=True, help="Show what the warehouse knows.")


@report.command("fleet")
@guarded
def report_fleet(
    warehouse: WarehouseOption = None,
    source: FromOption = None,
    html: Annotated[Path | None, typer.Option(help="Write one self-contained page.")] = None,
    wait: WaitOption = 0.0,
) -> None:
    """Show how the memory of all programs moves over the runs, the biggest movers first."""
    from bufferhouse.report.fleet import fleet_report

    if source and warehouse is not None:
        raise UsageError("expected --warehouse or --from, not both")
    path = None if source else warehouse_path(warehouse, must_exist=True)
    note = fleet_report(path, sources=source or [], html=html, wait=wait)
    if note:
        say(f"bufferhouse: {note}")
