"""`bufferhouse compare`, `blame` and `determinism`: why the memory of programs changed."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bufferhouse.commands import completion
from bufferhouse.commands.options import WaitOption, WarehouseOption, check_format, guarded
from bufferhouse.commands.query import FromOption, asked_origin
from bufferhouse.commands.report import (
    BytesOption,
    HtmlOption,
    ProgramArgument,
    ReportFormatOption,
    checked,
    deliver,
    page_at_least,
    tell,
)
from bufferhouse.errors import UsageError, check_known
from bufferhouse.redaction import give, printable, shell_word

if TYPE_CHECKING:
    from bufferhouse.compare.gate import Headroom

MetricOption = Annotated[str, typer.Option("--metric", help="reserved, occupied, temp or footprint.")]
SpaceOption = Annotated[int | None, typer.Option("--memory-space", min=0, help="Only this memory space.")]


@guarded
def compare(
    before: Annotated[
        str,
        typer.Argument(
            help="The run before: its name, the beginning of it, latest, previous or latest:track=nightly; "
            "RUN@FLAG=VALUE for its dumps compiled with that flag, RUN@folder=PATH for those in a folder of it.",
            autocompletion=completion.runs,
        ),
    ],
    after: Annotated[
        str | None, typer.Argument(help="The run after, likewise.", show_default=False, autocompletion=completion.runs)
    ] = None,
    flags: Annotated[
        bool, typer.Option("--flags", help="Compare the two sets of flags within one run, as in: compare RUN --flags.")
    ] = False,
    program: Annotated[
        str | None,
        typer.Option(
            "--program",
            help="Only this program: its name or program_id, or the beginning of either.",
            autocompletion=completion.programs,
        ),
    ] = None,
    memory_space: SpaceOption = None,
    metric: MetricOption = "reserved",
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by",
            help="Add up the changes by cause, op_name, source, opcode, element_type, tile or parameter; "
            "repeat for more.",
        ),
    ] = None,
    relevant: Annotated[
        str,
        typer.Option(
            "--relevant", help="Which changes are shown first: those of at least 1%, 16MiB, or both as in 1%,1MiB."
        ),
    ] = "1%,1MiB",
    fail_over: Annotated[
        str | None,
        typer.Option("--fail-over", help="Exit 1 if a program grew by at least 5%, 16MiB, or both as in 5%,16MiB."),
    ] = None,
    accept: Annotated[
        Path | None, typer.Option("--accept", help="With --fail-over: a TOML file of accepted growth.")
    ] = None,
    reshaped: Annotated[
        str | None,
        typer.Option(
            "--reshaped", help="With --fail-over: fail, warn or ignore, where a program with another signature grew."
        ),
    ] = None,
    headroom: Annotated[
        str | None,
        typer.Option(
            "--headroom", help="With --fail-over: exit 1 also if a program leaves less of its device free, such as 5%."
        ),
    ] = None,
    warehouse: WarehouseOption = None,
    source: FromOption = None,
    html: HtmlOption = None,
    output_format: Annotated[
        str, typer.Option("--format", help="table, markdown, json or, with --fail-over, github.")
    ] = "table",
    exact: BytesOption = False,
    wait: WaitOption = 0.0,
) -> None:
    """Compare the memory of two runs, program by program, and split each change into causes that sum to it.

    One run may hold compilations of the same programs with different flags, such as a sweep. To compare these, write
    compare RUN --flags, or compare RUN@FLAG=VALUE RUN@FLAG=OTHER. FLAG=default means that no file names the flag.

    With --fail-over the command is a gate for CI: it exits with 1 if a program grew over the limit, and shows the
    offenders first.

    Example: bufferhouse compare previous latest --html compare.html
    """
    from bufferhouse.compare.gate import judge, read_accepted
    from bufferhouse.compare.rollup import GROUPINGS
    from bufferhouse.config.threshold import METRICS, RESHAPED_MODES, parse_share, parse_threshold
    from bufferhouse.report.compare.data import read_comparison
    from bufferhouse.report.compare.text import compare_text
    from bufferhouse.report.writing import check_page_path

    if output_format == "github" and fail_over is None:
        raise UsageError("--format github: expected --fail-over beside it")
    check_format(output_format, "table", "markdown", "json", "github")
    if flags and after is not None:
        raise UsageError("--flags: expected one run, as in: bufferhouse compare RUN --flags")
    if not flags and after is None:
        raise UsageError(
            "expected two runs; two sets of flags within one are compared with: bufferhouse compare RUN --flags"
        )
    check_known("--metric", metric, METRICS)
    for group in by or []:
        check_known("--by", group, GROUPINGS)
    for option, value in {"--accept": accept, "--reshaped": reshaped, "--headroom": headroom}.items():
        if value is not None and fail_over is None:
            raise UsageError(f"{option}: expected --fail-over beside it")
    if reshaped is not None:
        check_known("--reshaped", reshaped, RESHAPED_MODES)
    if headroom is not None and metric not in ("reserved", "footprint"):
        raise UsageError(f"--headroom: expected --metric reserved or footprint, found {metric!r}")
    if headroom is not None and memory_space:
        raise UsageError(f"--headroom: expected --memory-space 0 or none, as it is judged there; found {memory_space}")
    share = parse_share(headroom, "--headroom") if headroom is not None else None
    if html is not None:
        check_page_path(html)
    limit = parse_threshold(fail_over, "--fail-over") if fail_over is not None else None
    accepted = read_accepted(accept) if accept is not None else []
    words = [before, after or before]
    with page_at_least(html), _paths_told(words, source):
        comparison = read_comparison(
            _origin(warehouse, source, words),
            before,
            after,
            metric=metric,
            program=program,
            memory_space=memory_space,
            relevant=parse_threshold(relevant, "--relevant"),
            wait=wait,
        )
    if limit and comparison.is_of_itself:
        name = printable(comparison.after["run_name"])
        raise UsageError(f"--fail-over: expected two runs, found {name} on both sides: nothing could have grown")
    if program is not None or memory_space is not None:
        # An entry for a program that this call leaves out is not stale.
        accepted = [entry for entry in accepted if any(entry.covers(row) for row in comparison.rows)]
    room = _headroom(share, comparison.after, is_in_memory=comparison.is_in_memory) if share is not None else None
    gate = None
    if limit:
        mode = reshaped or "fail"
        gate = judge(comparison.rows, limit, accepted, mode, room, is_partial=comparison.is_partial), limit

    def page() -> str:
        from bufferhouse.report.compare.page import compare_page  # Altair takes half a second to import

        return compare_page(comparison, by=by or [])

    text = compare_text(comparison, output_format, by=by or [], exact=exact, gate=gate)
    if gate and html is not None and output_format == "table":
        give(text)  # why the command fails belongs into the log of CI
    deliver(text, comparison.note, page, html, output_format)
    if gate and not gate[0].is_passed:
        raise typer.Exit(1)


@guarded
def blame(
    program: ProgramArgument,
    memory_space: SpaceOption = None,
    metric: MetricOption = "reserved",
    warehouse: WarehouseOption = None,
    source: FromOption = None,
    output_format: ReportFormatOption = "table",
    exact: BytesOption = False,
    wait: WaitOption = 0.0,
) -> None:
    """Show a program from run to run: the first run of every change, and the causes of the change.

    Example: bufferhouse blame jit_scan_rnn --memory-space 1
    """
    from bufferhouse.config.threshold import METRICS
    from bufferhouse.report.compare.history import blame_text, read_blame

    check_known("--metric", metric, METRICS)
    origin = checked(warehouse, source, None, output_format)
    blamed = read_blame(origin, program, metric=metric, memory_space=memory_space, wait=wait)
    tell(blame_text(blamed, output_format, exact=exact), blamed.note)


@guarded
def determinism(
    warehouse: WarehouseOption = None,
    source: FromOption = None,
    output_format: ReportFormatOption = "table",
    exact: BytesOption = False,
    wait: WaitOption = 0.0,
) -> None:
    """Show the programs that took different bytes with the same compiler and the same flags.

    Flags about dumping, logging and directories do not count. A run without recorded flags is unknown: it is not
    judged. The answer says how many programs and runs could be judged.

    Example: bufferhouse determinism --format json
    """
    from bufferhouse.report.compare.determinism import determinism_text, read_determinism

    found = read_determinism(checked(warehouse, source, None, output_format), wait=wait)
    tell(determinism_text(found, output_format, exact=exact), found.note)


def _origin(warehouse: Any, source: list[str] | None, words: Sequence[str]) -> Any:
    try:
        return asked_origin(warehouse, source)
    except UsageError as error:
        from bufferhouse.warehouse.run_names import is_like_path

        missing = [word for word in words if not os.path.exists(word)]
        if source or not all(map(is_like_path, missing)):
            raise
        said = f"{printable(missing[0])!r}: no such file or directory, and as a run: " if missing else ""
        raise UsageError(f"{said}{error}; {_without_warehouse(words)}") from None


@contextmanager
def _paths_told(words: Sequence[str], source: list[str] | None) -> Iterator[None]:
    """Say of a path in the place of a run whether it is there, and what is expected."""
    from bufferhouse.warehouse.run_names import NoRun, is_like_path

    try:
        yield
    except NoRun as error:
        is_there = os.path.exists(error.word)
        if source or not (is_there or is_like_path(error.word)):
            raise
        said = f"{printable(error.word)!r} is a path, and no run of the warehouse is called so"
        expected = f"expected two of its runs, which bufferhouse runs ls lists; {_without_warehouse(words)}"
        raise UsageError(f"{said if is_there else error.neither}{error.hint}; {expected}") from None


def _without_warehouse(words: Sequence[str]) -> str:
    """Return how the dumps of two folders are compared: their runs are called like the folders."""
    names = [os.path.basename(os.path.abspath(word)) for word in words]
    if not (all(map(os.path.isdir, words)) and len(set(names)) == 2):
        return "dumps are compared with: bufferhouse compare A B --from A --from B, where A and B are folders"
    sources = " ".join(f"--from {shell_word(word)}" for word in words)
    return f"dumps are compared with: bufferhouse compare {' '.join(map(shell_word, names))} {sources}"


def _headroom(share: float, after: dict[str, Any], *, is_in_memory: bool) -> "Headroom":
    from bufferhouse.compare.gate import Headroom

    if after["device_memory_bytes"] is None:
        name = after["run_name"]
        said = f"--headroom: run {printable(name)} does not say the memory of its device; "
        if is_in_memory:
            raise UsageError(f'{said}say it in a run.json beside its dumps, as in {{"device_memory_bytes": …}}')
        raise UsageError(f"{said}set it with: bufferhouse runs set {shell_word(name)} device_memory_bytes=…")
    return Headroom(share, after["device_memory_bytes"])
