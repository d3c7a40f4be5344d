"""Who parses new contents: this process, or a pool such as a Dask cluster, once there is enough to do."""

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from typing import Protocol, Self

from bufferhouse.tabulate.contents import ParsedContents, Work, parse_contents

# Of new text. Below it processes are not worth their start and the memory they hold.
WORTH_BYTES = 64 << 20


class Pending(Protocol):
    """Contents that are being parsed, or will be when somebody asks for them."""

    def result(self) -> Sequence[ParsedContents]:
        """Wait for them."""


class Pool(Protocol):
    """Those beside this process who parse. `ahead`: how many batches they parse while the one before them is loaded."""

    ahead: int

    def begin(self, number: int, work: Work) -> Pending:
        """Begin to parse the batch with a number."""


class Workers(AbstractContextManager):
    """Who parses the batches: this process, and from when they have `worth_bytes` of new text those of a pool.

    How much text is new is known only after reading, since most files of a fleet repeat a content.
    """

    def __init__(
        self, open_pool: Callable[[], AbstractContextManager[Pool]] | None = None, worth_bytes: int = 0
    ) -> None:
        self.open_pool = open_pool
        self.worth_bytes = worth_bytes
        self.pool: Pool | None = None
        self._new_bytes = self._largest = 0
        self._stack = ExitStack()

    @classmethod
    def counted(cls, count: int | None, open_pool: "Callable[[int], AbstractContextManager[Pool]]") -> Self:
        """Return a pool of `count` workers, this process alone for 1; for None one for each core, once worth it."""
        number = count or os.cpu_count() or 1
        if number == 1:
            return cls()
        return cls(partial(open_pool, number), 0 if count else WORTH_BYTES)

    def __exit__(self, *error: object) -> None:
        self._stack.__exit__(*error)

    @property
    def ahead(self) -> int:
        """How many batches may have been begun and not waited for when the next one is read."""
        return self.pool.ahead if self.pool else 0

    def begin(self, number: int, work: Work) -> Pending:
        """Begin to parse the batch with a number."""
        if self.pool is None and self.open_pool is not None and self._is_worth_it(work):
            self.pool = self._stack.enter_context(self.open_pool())
        return self.pool.begin(number, work) if self.pool else Here(work)

    def _is_worth_it(self, work: Work) -> bool:
        sizes = [sum(map(len, files.values())) for _, files in work]
        self._new_bytes += sum(sizes)
        self._largest = max([self._largest, *sizes])
        # One dump is one worker's work: what counts is what the others have to do meanwhile.
        return self._new_bytes - self._largest >= self.worth_bytes


class Here:
    """Contents that this process parses when somebody asks for them."""

    def __init__(self, work: Work) -> None:
        self.work = work

    def result(self) -> list[ParsedContents]:
        """Parse them."""
        return [parse_contents(self.work)]
