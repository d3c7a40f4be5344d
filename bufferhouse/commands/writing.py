"""A warehouse open for writing, as the command line opens it: with a message about models that are back-filled."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bufferhouse.errors import counted
from bufferhouse.models.build import Progress
from bufferhouse.redaction import terminal
from bufferhouse.warehouse.lake.address import LakeAddress
from bufferhouse.warehouse.warehouse import Warehouse


@contextmanager
def writing(path: Path | LakeAddress, *, wait: float = 0.0) -> Iterator[Warehouse]:
    """Yield a warehouse open for writing. A warehouse of an older version is back-filled first, which may take long.

    Raises:
        UsageError, WarehouseBusy, WarehouseError: as `Warehouse`.
    """
    totals: dict[str, int] = {}

    def note(model: str, _done: int, total: int) -> None:
        totals[model] = max(total, totals.get(model, 0))

    with ExitStack() as stack:
        with back_filling(note) as step:
            writer = stack.enter_context(Warehouse(path, wait=wait, progress=step))
        if totals:
            models, dumps = counted(len(totals), "stored model"), counted(max(totals.values()), "dump")
            print(f"bufferhouse: {models} back-filled for {dumps}", file=sys.stderr)
        yield writer


@contextmanager
def back_filling(elsewhere: Progress) -> Iterator[Progress]:
    """Yield a function that takes a model, dumps done and dumps to do: a bar on a terminal, else `elsewhere`."""
    if not sys.stderr.isatty():
        yield elsewhere
        return
    with ExitStack() as stack:
        bar = None

        def step(model: str, done: int, total: int) -> None:
            nonlocal bar
            if bar is None:  # most often there is nothing to do
                bar = stack.enter_context(_bar())
                bar.add_task(model, total=total)
            bar.update(bar.task_ids[0], description=model, completed=done, total=total)

        yield step


def _bar():
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("dumps back-filled"))
    return Progress(*columns, console=Console(file=terminal(sys.stderr)), transient=True)
