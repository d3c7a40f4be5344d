"""`bufferhouse report`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from bufferhouse.commands import completion
from bufferhouse.commands.options import Verbs, WaitOption, WarehouseOption, check_format, file_option, guarded, say
from bufferhouse.commands.query import FromOption, asked_origin
from bufferhouse.redaction import give
from bufferhouse.warehouse import Address

HtmlOption = Annotated[Path | None, file_option("--html", help="Write the report as one self-contained HTML page.")]
ReportFormatOption = Annotated[str, typer.Option("--format", help="table, markdown or json.")]
BytesOption = Annotated[bool, typer.Option("--bytes", help="Print exact bytes.")]
ProgramArgument = Annotated[
    str,
    typer.Argument(
        help="The program: its name or program_id, or the beginning of either.", autocompletion=completion.programs
    ),
]
ProgramRunOption = Annotated[
    str | None,
    typer.Option("--run", help="The run; else the newest run of the program.", autocompletion=completion.runs),
]

report = typer.Typer(
    cls=Verbs,
    no_args_is_help=True,
    help="Show reports on the fleet, a run, a program, or two runs.\n\nExample: bufferhouse report fleet",
)


@report.command("fleet")
@guarded
def report_fleet(
    warehouse: WarehouseOption = None,
    source: FromOption = None,
    html: HtmlOption = None,
    output_format: ReportFormatOption = "table",
    exact: BytesOption = False,
    wait: WaitOption = 0.0,
) -> None:
    """Show how the memory of all programs changed from run to run, the biggest net changes first.

    Example: bufferhouse report fleet --html fleet.html
    """
    from bufferhouse.report.fleet.data import read_fleet
    from bufferhouse.report.fleet.text import fleet_text

    origin = checked(warehouse, source, html, output_format)
    with page_at_least(html):
        asked = read_fleet(origin, wait=wait)

    def page() -> str:
        from bufferhouse.report.fleet.page import fleet_page  # Altair takes half a second to import

        return fleet_page(asked)

    deliver(fleet_text(asked, output_format, exact=exact), asked.note, page, html, output_format)


@report.command("program")
@guarded
def report_program(
    program: ProgramArgument,
    run: ProgramRunOption = None,
    warehouse: WarehouseOption = None,
    source: FromOption = None,
    truth: Annotated[
        bool, typer.Option("--truth", help="Show the official numbers instead: which bytes each is, and by which rule.")
    ] = False,
    html: HtmlOption = None,
    output_format: ReportFormatOption = "table",
    exact: BytesOption = False,
    wait: WaitOption = 0.0,
) -> None:
    """Show one program of one run: its memory over the schedule, the values at its peak, and its bytes by kind.

    Example: bufferhouse report program jit_cnn_train_step --html program.html
    """
    origin = checked(warehouse, source, html, output_format)
    if truth:
        from bufferhouse.report.program.truth import read_truth, truth_page, truth_text

        with page_at_least(html):
            numbers = read_truth(origin, program, run=run, wait=wait)
        text = truth_text(numbers, output_format, exact=exact)
        deliver(text, numbers.note, lambda: truth_page(numbers), html, output_format)
        return
    from bufferhouse.report.program.data import read_program
    from bufferhouse.report.program.savings import MAPPED
    from bufferhouse.report.program.text import program_text

    with page_at_least(html):
        asked = read_program(origin, program, run=run, wait=wait, mapped=MAPPED if html else 0)

    def page() -> str:
        from bufferhouse.report.program.page import program_page  # as above

        return program_page(asked)

    deliver(program_text(asked, output_format, exact=exact), asked.note, page, html, output_format)


@report.command("run")
@guarded
def report_run(
    run: Annotated[
        str | None,
        typer.Argument(
            help="The run: its name, the beginning of it, previous or latest:track=nightly; else the newest run.",
            autocompletion=completion.runs,
        ),
    ] = None,
    warehouse: WarehouseOption = None,
    source: FromOption = None,
    html: HtmlOption = None,
    output_format: ReportFormatOption = "table",
    exact: BytesOption = False,
    wait: WaitOption = 0.0,
) -> None:
    """Show one run: its programs by size, its largest blocks, its donation candidates and its constants.

    Example: bufferhouse report run latest:track=release --html run.html
    """
    from bufferhouse.report.run.data import read_run
    from bufferhouse.report.run.text import run_text

    origin = checked(warehouse, source, html, output_format)
    with page_at_least(html):
        asked = read_run(origin, run, wait=wait)

    def page() -> str:
        from bufferhouse.report.run.page import run_page  # as above

        return run_page(asked)

    deliver(run_text(asked, output_format, exact=exact), asked.note, page, html, output_format)


def checked(
    warehouse: Address | None, source: list[str] | None, html: Path | None, output_format: str
) -> Address | list[str]:
    """Return the warehouse to query, or the sources; refuse a wrong call before any work is done."""
    from bufferhouse.report.text.sections import FORMATS
    from bufferhouse.report.writing import check_page_path

    check_format(output_format, *FORMATS)
    if html is not None:
        check_page_path(html)
    return asked_origin(warehouse, source)


@contextmanager
def page_at_least(html: Path | None) -> Iterator[None]:
    """If there is nothing to show, write a page that says so, and let the command end with the message."""
    from bufferhouse.report.nothing import NothingToShow, nothing_page
    from bufferhouse.report.writing import write_page

    try:
        yield
    except NothingToShow as nothing:
        if html is not None:
            write_page(html, nothing_page(nothing))
            say(f"report: {html}")
        raise


def tell(text: str, note: str | None) -> None:
    """Print a report, after what there is to note."""
    if note:
        say(f"bufferhouse: {note}")
    give(text)


def deliver(text: str, note: str | None, page: Callable[[], str], html: Path | None, output_format: str) -> None:
    """Print a report, or write its page and print where it is; in a form for programs print both."""
    from bufferhouse.report.writing import write_page

    if note:
        say(f"bufferhouse: {note}")
    if html is not None:
        write_page(html, page())  # first: whoever reads the report may stop reading
        # Standard output holds the report alone where a program may read it.
        (print if output_format == "table" else say)(f"report: {html}")
    if html is None or output_format != "table":
        give(text)
