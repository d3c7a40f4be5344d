"""How far a command is: one bar on a terminal, lines elsewhere, both on standard error."""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from bufferhouse.errors import counted
from bufferhouse.redaction import said, terminal

if TYPE_CHECKING:  # they import DuckDB
    from bufferhouse.models.build import Progress
    from bufferhouse.warehouse.open import Place
    from bufferhouse.warehouse.verify_observations import Fault
    from bufferhouse.warehouse.warehouse import Warehouse

_LINES = 10  # of one piece of work: enough for a log, however many steps there are


class Bar:
    """A bar that appears with the first step and goes when its block ends; elsewhere than on a terminal it is none."""

    def __init__(self) -> None:
        self.is_shown = sys.stderr.isatty()
        self._bar: Any = None

    def __enter__(self) -> "Bar":
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def reach(self, what: str, done: int, total: int, note: str = "") -> None:
        """Show steps done and steps to do, with their name before the bar and a note behind it."""
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as RichBar

            self._bar = RichBar(
                TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
                TextColumn("{task.fields[note]}"), TimeRemainingColumn(),
                console=Console(file=terminal(sys.stderr)), transient=True,
            )  # fmt: skip
            self._bar.add_task(what, total=total, note=note)
            self._bar.start()
        self._bar.update(self._bar.task_ids[0], description=what, completed=done, total=total, note=note)


@contextmanager
def progress_of(what: str) -> Iterator[Callable[[int, int], None]]:
    """Yield a function that takes steps done and steps to do, and shows a bar on a terminal, elsewhere some lines."""
    shown = 0

    def line(done: int, total: int) -> None:
        nonlocal shown
        if done == total or (done - shown) * _LINES >= total:
            shown = done
            print(f"{what}: {done:,}/{total:,}", file=sys.stderr)

    with Bar() as bar:
        yield (lambda done, total: bar.reach(what, done, total)) if bar.is_shown else line


@contextmanager
def back_filling(elsewhere: "Progress") -> Iterator["Progress"]:
    """Yield a function that takes a model, dumps done and dumps to do: a bar on a terminal, else `elsewhere`."""
    with Bar() as bar:
        shown = lambda model, done, total: bar.reach(model, done, total, "dumps back-filled")  # noqa: E731
        yield shown if bar.is_shown else elsewhere


def proved(warehouse: "Warehouse", dump_ids: list[int]) -> "list[Fault]":
    """Prove some dumps and what stored models have of them, with a bar for each; return what does not hold."""
    from bufferhouse.warehouse.verify import verify
    from bufferhouse.warehouse.verify_models import model_faults

    with progress_of("dumps") as step:
        faults = verify(warehouse.con, dump_ids, progress=step)
    with progress_of("dumps, stored models") as step:
        return faults + model_faults(warehouse, dump_ids, faults, progress=step)


def verdict(dump_ids: list[int], faults: "list[Fault]") -> str:
    """Return how many of some dumps are proved; a fault may be of a dump that has no row any more."""
    return f"{len({*dump_ids} - {fault.dump_id for fault in faults}):,} of {counted(len(dump_ids), 'dump')} proved"


@contextmanager
def writing(place: "Place | None", *, wait: float = 0.0) -> Iterator["Warehouse"]:
    """Yield a warehouse open for writing, in memory for None.

    One of an older version is back-filled first, which may take long.

    Raises:
        UsageError, WarehouseBusy, WarehouseError: as `Warehouse`.
    """
    from bufferhouse.warehouse.open import writing as opened

    totals: dict[str, int] = {}

    def note(model: str, _done: int, total: int) -> None:
        totals[model] = max(total, totals.get(model, 0))

    with ExitStack() as stack:
        with back_filling(note) as step:
            writer = stack.enter_context(opened(place, wait=wait, progress=step))
        if totals:
            models, dumps = counted(len(totals), "stored model"), counted(max(totals.values()), "dump")
            print(f"bufferhouse: {models} back-filled for {dumps}", file=sys.stderr)
        yield writer
    if writer.note:
        print(said(f"bufferhouse: {writer.note}"), file=sys.stderr)
