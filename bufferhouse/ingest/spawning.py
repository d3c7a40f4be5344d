"""Processes that do not import their parent's main module again.

Python makes each spawned process import what its parent was started with, in case a function to be called lives there.
Ours do not, and the main module of a flow run is Prefect's, which takes seconds to import.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.context import BaseContext, SpawnContext, SpawnProcess
from threading import Lock
from types import ModuleType
from typing import Any

_lock = Lock()


@contextmanager
def main_module_hidden() -> Iterator[None]:
    """Let a process that is started meanwhile find a main module without a name, which it need not import."""
    with _lock:
        own = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = own


class _LeanProcess(SpawnProcess):
    @staticmethod
    def _Popen(process: Any) -> Any:
        with main_module_hidden():
            return SpawnProcess._Popen(process)


class _LeanContext(SpawnContext):
    Process = _LeanProcess


def lean_context() -> BaseContext:
    """Return a context of multiprocessing whose processes are spawned and import only what they are asked to run."""
    return _LeanContext()
