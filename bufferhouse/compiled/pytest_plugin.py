"""The pytest plugin: the fixture `memory_lock` holds what a test compiles against the file `memory.lock`.

Nothing but pytest is imported here: everybody who has bufferhouse installed loads this with every run of pytest.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from bufferhouse.compiled.explain import Explained
    from bufferhouse.lock.entry import Entry, Key

_WRITTEN = pytest.StashKey["dict[Key, Entry]"]()  # by the tests of this process


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the fixture."""
    parser.getgroup("bufferhouse", "memory of compiled programs (bufferhouse)").addoption(
        "--memory-lock-update", action="store_true", help="write what tests compile into memory.lock, where it moved"
    )
    parser.addini("memory_lock", "the file of the fixture memory_lock", default="memory.lock")
    parser.addini("memory_lock_fail_over", "growth below this passes: 5%%, 16MiB, or both as in 5%%,16MiB", default="")


class MemoryLock:
    """The fixture: called with a jitted function and its arguments, it compiles and compares them.

    `written` are the entries that other tests wrote before, by their keys.
    """

    def __init__(
        self,
        path: Path,
        *,
        is_updating: bool,
        fail_over: str,
        written: "dict[Key, Entry] | None" = None,
    ) -> None:
        self.path, self._is_updating, self._fail_over = path, is_updating, fail_over
        self._written = {} if written is None else written

    def __call__(self, jitted: Any, *args: Any, chip: str | None = None, **kwargs: Any) -> "Explained":
        """Compile, compare, and return what `bufferhouse.explain` returns; the test fails where the program grew."""
        __tracebackhide__ = True
        from bufferhouse.compiled.explain import explain

        explained = explain(jitted, args, kwargs, chip=chip, root=self.path.parent)
        self.hold(explained)
        return explained

    def hold(self, explained: "Explained") -> None:
        """Compare a program with the file, or write it there with --memory-lock-update; else the test fails."""
        __tracebackhide__ = True
        from bufferhouse.compiled.held import held_text, write
        from bufferhouse.errors import UsageError

        try:
            if self._is_updating:
                text = write(self.path, explained, self._written)
            else:
                text = held_text(self.path, explained, self._fail_over)
        except UsageError as error:
            text = str(error)
        if text is not None:
            pytest.fail(text, pytrace=False)


@pytest.fixture
def memory_lock(pytestconfig: pytest.Config) -> MemoryLock:
    """Hold what a test compiles against memory.lock: memory_lock(jitted, *args)."""
    return MemoryLock(
        pytestconfig.rootpath / pytestconfig.getini("memory_lock"),
        is_updating=pytestconfig.getoption("--memory-lock-update"),
        fail_over=pytestconfig.getini("memory_lock_fail_over"),
        written=pytestconfig.stash.setdefault(_WRITTEN, {}),
    )
