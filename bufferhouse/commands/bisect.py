"""`bufferhouse bisect`: the first release, or the first flag, with which a program takes other bytes."""

import io
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bufferhouse.commands.options import KEPT, WaitOption, WarehouseOption, check_format, guarded, say, warehouse_path
from bufferhouse.commands.report import BytesOption, ReportFormatOption
from bufferhouse.errors import UsageError, check_known
from bufferhouse.redaction import give, printable

if TYPE_CHECKING:
    from bufferhouse.bisect.points import Asked, Points
    from bufferhouse.bisect.search import Step

# The variables from which a compiler takes flags.
_FLAGS_VARIABLES = ("XLA_FLAGS", "LIBTPU_INIT_ARGS", "TF_XLA_FLAGS")


@partial(guarded, kept=KEPT)
def bisect(
    program: Annotated[str, typer.Argument(help="The program: the name of its function, or its program_id.")],
    command: Annotated[
        list[str],
        typer.Argument(
            help="After --: the command that compiles it, run in an environment with the release. If a word contains "
            "{release}, no environment is made. {dump} is the folder that XLA dumps into; XLA_FLAGS names it, too."
        ),
    ],
    good: Annotated[str | None, typer.Option("--good", help="A release with the old bytes.")] = None,
    bad: Annotated[str | None, typer.Option("--bad", help="A later release, with other bytes.")] = None,
    package: Annotated[str, typer.Option("--of", help="The package: jaxlib, libtpu or another.")] = "jaxlib",
    releases: Annotated[
        list[str] | None,
        typer.Option("--release", help="A release instead of those that pip finds; repeat for more, oldest first."),
    ] = None,
    flags: Annotated[
        list[str] | None,
        typer.Option(
            "--flag", help="Bisect flags instead of releases: each is added to those before it; repeat for more."
        ),
    ] = None,
    flags_in: Annotated[
        str, typer.Option("--flags-in", help="The variable of --flag: XLA_FLAGS, LIBTPU_INIT_ARGS or TF_XLA_FLAGS.")
    ] = "XLA_FLAGS",
    extra: Annotated[
        list[str] | None,
        typer.Option("--with", help="A requirement to install beside the release, such as numpy<2; repeat for more."),
    ] = None,
    python: Annotated[
        str | None, typer.Option("--python", help="The Python of the environments, such as 3.11.")
    ] = None,
    metric: Annotated[str, typer.Option("--metric", help="reserved, occupied, temp or footprint.")] = "reserved",
    memory_space: Annotated[int, typer.Option("--memory-space", min=0, help="The memory space.")] = 0,
    fail_is_bad: Annotated[
        bool, typer.Option("--fail-is-bad", help="Count a failed compilation as bad, and explain it; else skip it.")
    ] = False,
    anew: Annotated[bool, typer.Option("--anew", help="Compile again what the warehouse already has.")] = False,
    timeout: Annotated[float | None, typer.Option("--timeout", min=1, help="Seconds for one compilation.")] = None,
    warehouse: WarehouseOption = None,
    output_format: ReportFormatOption = "table",
    exact: BytesOption = False,
    wait: WaitOption = 0.0,
) -> None:
    """Find the first release with which a program takes other bytes, and why: log2(n) + 1 compilations for n releases.

    Each compilation becomes a run of the warehouse, which the next bisection uses again. Releases that cannot be
    installed, or whose compilation fails, are skipped and listed. Exit 1 if nothing moved.

    Example: bufferhouse bisect jit_f --good 0.7.1 --bad 0.8.3 -- python3 job.py
    """
    from bufferhouse.bisect.environments import Environments
    from bufferhouse.bisect.points import Asked, Points
    from bufferhouse.bisect.search import search
    from bufferhouse.config.threshold import METRICS
    from bufferhouse.report.bisect.text import bisect_text

    check_format(output_format, "table", "markdown", "json")
    check_known("--metric", metric, METRICS)
    # A variable that nothing reads would have every flag say that nothing moved.
    check_known("--flags-in", flags_in, _FLAGS_VARIABLES)
    names = _names(package, good, bad, releases, flags)
    asked = Asked(
        program, "flags" if flags else package, names, command, metric, memory_space, flags or (), flags_in,
        fail_is_bad, not anew, timeout, (python or "", *(extra or ())),
    )  # fmt: skip
    has_own = flags or any("{release}" in word for word in command)
    path = warehouse_path(warehouse)
    path.check_writable()  # behind a compilation, its minutes would be lost
    with _ended_by_sigterm(), tempfile.TemporaryDirectory(prefix="bufferhouse-releases-") as folder:
        environments = None if has_own else Environments(Path(folder), package, extra or (), python)
        points = Points(asked, partial(_load, path, wait), partial(_asked, path, wait), environments, say)
        points.first()
        step = search(len(names), points.verdict, points.is_known)
        if step.first_bad is None:
            points.check_space()
    bisected = _explained(asked, points, step, path, wait)
    give(bisect_text(bisected, output_format, exact=exact))
    if step.first_bad is None:
        raise typer.Exit(1)


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """Let SIGTERM, as of a job in CI that is canceled, end the compilation and remove the environments, too."""
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _names(
    package: str, good: str | None, bad: str | None, releases: list[str] | None, flags: list[str] | None
) -> list[str]:
    """Return the points, the good one first."""
    from bufferhouse.bisect.environments import releases_between
    from bufferhouse.bisect.search import between

    if flags:
        if good or bad or releases:
            raise UsageError("--flag: expected no --good, --bad or --release beside it")
        return ["(no flag)", *flags]
    if releases:
        ends = [one for one in (good, bad) if one is not None]
        if missing := [one for one in ends if one not in releases]:
            raise UsageError(f"expected --good and --bad among the releases, found {missing[0]!r}")
        found = between(releases, good or releases[0], bad or releases[-1])
    elif good and bad:
        found = releases_between(package, good, bad)
    else:
        raise UsageError("expected --good and --bad, a --release for each point, or --flag")
    if len(found) < 2:
        raise UsageError(f"expected two releases or more, found {', '.join(found)}")
    return found


def _load(path: Any, wait: float, folder: Path, run_name: str) -> None:
    """Load a folder of dumps as a run."""
    from bufferhouse.commands.progress import writing
    from bufferhouse.ingest.pipeline import ingest
    from bufferhouse.ingest.source import Source

    (summary,) = ingest([Source.named([str(folder)], run_name=run_name)], writing(path, wait=wait)).values()
    if summary.error is not None:
        raise summary.error
    for line in [*summary.reject_lines, *summary.unreadable, *summary.unplaced]:
        say(f"bufferhouse: {printable(line)}")


@contextmanager
def _asked(path: Any, wait: float) -> Iterator[Any]:
    """Yield a connection to the warehouse; None where there is none yet."""
    from bufferhouse.warehouse.open import reading

    try:
        path.check_file()
    except UsageError:
        yield None
        return
    with reading(path, wait=wait) as warehouse:
        yield warehouse.con


def _explained(asked: "Asked", points: "Points", step: "Step", path: Any, wait: float) -> Any:
    """Return the bisection with what explains its step."""
    from bufferhouse.compare.parts import Part
    from bufferhouse.messages.join import dumps
    from bufferhouse.messages.message import Refused, read_messages
    from bufferhouse.oom.finding import explain
    from bufferhouse.report.bisect.text import Bisected
    from bufferhouse.report.compare.data import comparison_of
    from bufferhouse.report.oom.text import refused_line

    comparison, findings, notes = None, [], [*points.notes]
    if step.first_bad is not None:
        before, after = points.found[step.last_good], points.found[step.first_bad]
        with _asked(path, wait) as con:
            ids = dict(con.execute("SELECT run_name, run_id FROM raw.runs").fetchall())
            if after.log is not None:
                read = list(read_messages(io.BytesIO(after.log), f"the log of {after.name}"))
                messages = [one for one in read if not isinstance(one, Refused)]
                notes += [f"not understood: {refused_line(one)}" for one in read if isinstance(one, Refused)]
                # The folder that it dumped into is gone; the run has its dumps.
                candidates = [
                    {**one, "source_uri": f"{one['relative_path']} of run {after.run_name}"}
                    for one in (dumps(con, after.run_name) if after.run_name else [])
                ]
                findings = explain(con, messages, candidates)
            elif before.program_id is not None:
                program_ids = list({before.program_id, after.program_id})
                comparison = comparison_of(
                    con, Part(ids[before.run_name]), Part(ids[after.run_name]), metric=asked.metric,
                    program_ids=program_ids, memory_space=asked.memory_space,
                )  # fmt: skip
    return Bisected(asked, step, points.found, notes, comparison, findings)
