"""Flow runs as forks of a process that has imported Prefect, for which Prefect has no setting (decision 0022).

Prefect spawns a new Python for each flow run, which imports Prefect and the main module of its parent again: seconds of
work for a pass of milliseconds. Here `multiprocessing` is replaced in the one module of Prefect that starts flow runs.
"""

import multiprocessing
import multiprocessing.forkserver
import multiprocessing.util
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.context import ForkServerContext, ForkServerProcess
from threading import Lock
from types import ModuleType, SimpleNamespace
from typing import Any

import prefect.flow_engine

_lock = Lock()
_LONGEST_END_SECONDS = 30.0
# The path of a socket has at most 103 bytes on macOS, 107 on Linux, of which its folder and its own name take 32.
_MOST_BYTES = 103 - 32


@contextmanager
def flow_runs_forked() -> Iterator[None]:
    """Start flow runs as forks of a process that has imported Prefect, and no library that starts threads.

    Each is still a process of its own that can be canceled or die alone.
    """
    _make_folder_of_sockets()
    context = _Context()
    context.set_forkserver_preload([f"{__package__}.preloaded"])
    # Ctrl-C of a terminal goes to this process, too, and would end its imports with a traceback (`flows.preloaded`).
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with _main_module_hidden():
            multiprocessing.forkserver.ensure_running()
    finally:
        signal.signal(signal.SIGINT, before)
    own = prefect.flow_engine.multiprocessing
    prefect.flow_engine.multiprocessing = SimpleNamespace(
        get_context=lambda method: context, context=multiprocessing.context
    )
    try:
        yield
    finally:
        prefect.flow_engine.multiprocessing = own
        _end_flow_runs()


def _end_flow_runs() -> None:
    """End the flow runs that still run, as Prefect ends a canceled one.

    Otherwise Python would wait for them at its end. By then the server that they report to is gone, and each would
    continue without it for minutes. Prefect's runner does not end them if it is ended itself.
    """
    running = [one for one in multiprocessing.active_children() if isinstance(one, _Process)]
    for process in running:
        process.terminate()
    for process in running:
        process.join(_LONGEST_END_SECONDS)
        process.kill()


def _make_folder_of_sockets() -> None:
    """Make the folder of sockets, in /tmp if the path of the folder for temporary files is too long for a socket."""
    before = tempfile.tempdir
    if len(os.fsencode(tempfile.gettempdir())) > _MOST_BYTES:
        tempfile.tempdir = "/tmp"
    try:
        multiprocessing.util.get_temp_dir()  # made once
    finally:
        tempfile.tempdir = before


class _Process(ForkServerProcess):
    @staticmethod
    def _Popen(process: Any) -> Any:
        with _main_module_hidden():
            return ForkServerProcess._Popen(process)


class _Context(ForkServerContext):
    Process = _Process


@contextmanager
def _main_module_hidden() -> Iterator[None]:
    """Show processes that are started inside an empty main module, which they need not import."""
    with _lock:
        own = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = own
