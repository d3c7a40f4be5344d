"""`bufferhouse whatif`, `savings` and `fits`."""

from pathlib import Path
from typing import Annotated

import typer

from bufferhouse.commands import completion
from bufferhouse.commands.options import WaitOption, WarehouseOption, guarded
from bufferhouse.commands.progress import progress_of
from bufferhouse.commands.query import FromOption
from bufferhouse.commands.report import (
    BytesOption,
    HtmlOption,
    ProgramArgument,
    ProgramRunOption,
    ReportFormatOption,
    checked,
    deliver,
    page_at_least,
    tell,
)
from bufferhouse.errors import UsageError, check_known

SpaceOption = Annotated[int, typer.Option("--memory-space", min=0, help="The memory space.")]


@guarded
def whatif(
    program: ProgramArgument,
    edits: Annotated[
        list[str] | None,
        typer.Option(
            "--edit",
            help="free:VALUE, remove:VALUE, donate:VALUE, unpad:VALUE, remat:VALUE, shrink:VALUE:TYPE, "
            "offload:VALUE[:window=POSITIONS], shard:VALUE:PARTS@DIMENSION (or @size=N), or reschedule; repeat for "
            "more. VALUE is an instruction, #ID, parameter=N, op_name=NAME, line=FILE:LINE, opcode=NAME, type=f32, "
            "or * for all.",
        ),
    ] = None,
    edits_file: Annotated[
        Path | None, typer.Option("--edits", help="A TOML file with a table [[edit]] for each edit.")
    ] = None,
    fit: Annotated[
        str | None, typer.Option("--fit", help="Find the fewest values whose edits make it fit, such as 15.75GiB.")
    ] = None,
    means: Annotated[
        list[str] | None,
        typer.Option("--means", help="A kind of edit that --fit may use; repeat for more. Else donate, free, remove."),
    ] = None,
    memory_space: SpaceOption = 0,
    run: ProgramRunOption = None,
    warehouse: WarehouseOption = None,
    source: FromOption = None,
    html: HtmlOption = None,
    output_format: ReportFormatOption = "table",
    exact: BytesOption = False,
    wait: WaitOption = 0.0,
) -> None:
    """Show what edits of values would do to the peak and the arena, with schedule, fusions and layouts kept.

    Each edit is labeled exact, bound or estimate, and says why. The page has the map before and after. Exit 1 if
    --fit finds no set of edits that fits, or needs none for a program that did not fit where it was compiled.

    Example: bufferhouse whatif jit_cnn_train_step --edit shrink:wrapped_iota:s8
    """
    from bufferhouse.report.whatif.data import read_change
    from bufferhouse.report.whatif.text import change_text
    from bufferhouse.whatif.edits import read_edit, read_edits_file
    from bufferhouse.whatif.fitting import read_size

    origin = checked(warehouse, source, html, output_format)
    read = [read_edit(text) for text in edits or []]
    read += read_edits_file(edits_file) if edits_file is not None else []
    if means and fit is None:
        raise UsageError("--means: expected --fit beside it")
    with page_at_least(html), progress_of("search") as step:
        change = read_change(
            origin,
            program,
            read,
            capacity_bytes=None if fit is None else read_size(fit),
            means=_kinds("--means", means),
            memory_space=memory_space,
            run=run,
            wait=wait,
            is_mapped=html is not None,
            progress=step,
        )

    def page() -> str:
        from bufferhouse.report.whatif.page import change_page  # only pages need the templates

        return change_page(change)

    deliver(change_text(change, output_format, exact=exact), change.subject.note, page, html, output_format)
    if change.fit is not None and not change.fits:
        raise typer.Exit(1)


@guarded
def savings(
    program: ProgramArgument,
    kinds: Annotated[
        list[str] | None,
        typer.Option("--kind", help="Rank edits of this kind only, such as remat; repeat for more."),
    ] = None,
    memory_space: SpaceOption = 0,
    run: ProgramRunOption = None,
    warehouse: WarehouseOption = None,
    source: FromOption = None,
    output_format: ReportFormatOption = "table",
    exact: BytesOption = False,
    wait: WaitOption = 0.0,
) -> None:
    """Rank single edits of a program by how far each lowers its peak, and all values of one op_name or source line.

    Example: bufferhouse savings jit_cnn_train_step --kind remat
    """
    from bufferhouse.report.whatif.data import read_savings
    from bufferhouse.report.whatif.text import savings_text

    found = read_savings(
        checked(warehouse, source, None, output_format),
        program,
        kinds=_kinds("--kind", kinds),
        memory_space=memory_space,
        run=run,
        wait=wait,
    )
    tell(savings_text(found, output_format, exact=exact), found.subject.note)


@guarded
def fits(
    program: Annotated[
        str,
        typer.Argument(
            help="The programs: a name, or the beginning of it; else all.", autocompletion=completion.programs
        ),
    ] = "",
    chip: Annotated[str | None, typer.Option("--chip", help="The chip, such as v5e or h100.")] = None,
    capacity: Annotated[
        str | None, typer.Option("--capacity", help="The memory instead of a chip, such as 15.75GiB.")
    ] = None,
    at: Annotated[
        list[int] | None, typer.Option("--at", min=1, help="Interpolate this number, too; repeat for more.")
    ] = None,
    memory_space: SpaceOption = 0,
    run: Annotated[
        str | None, typer.Option("--run", help="Take the dumps of this run only.", autocompletion=completion.runs)
    ] = None,
    warehouse: WarehouseOption = None,
    source: FromOption = None,
    output_format: ReportFormatOption = "table",
    exact: BytesOption = False,
    wait: WaitOption = 0.0,
) -> None:
    """Show up to which batch, sequence length or number of layers a program fits a chip, from dumps of several sizes.

    Example: bufferhouse fits jit_train_step --chip v5e
    """
    from bufferhouse.report.whatif.fits import fits_text, read_fits
    from bufferhouse.whatif.chips import chip_of
    from bufferhouse.whatif.fitting import read_size

    origin = checked(warehouse, source, None, output_format)
    if (chip is None) == (capacity is None):
        raise UsageError("expected one of --chip and --capacity")
    if chip and memory_space:
        raise UsageError(
            f"--chip says the memory of space 0; give the size of memory space {memory_space} with --capacity"
        )
    asked = read_fits(
        origin,
        program,
        capacity_bytes=chip_of(chip).capacity_bytes if chip else read_size(capacity, "--capacity"),
        chip=chip,
        at=at or [],
        memory_space=memory_space,
        run=run,
        wait=wait,
    )
    tell(fits_text(asked, output_format, exact=exact), asked.note)


def _kinds(option: str, given: list[str] | None) -> list[str]:
    """Return kinds of edit that need nothing but a value.

    Raises:
        UsageError: one is unknown, or needs more.
    """
    from bufferhouse.whatif.edits import KINDS

    known = [kind for kind in KINDS if kind not in ("shard", "reschedule")]
    for one in given or []:
        check_known(option, one, known)
    return given or []
