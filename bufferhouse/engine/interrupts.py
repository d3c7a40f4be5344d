"""Ctrl-C that is not lost.

DuckDB loses it in three ways. It looks for signals only between the tasks of Python's main thread
(`CompletePendingQuery` of its client for Python), and not while that thread waits for DuckDB's own threads, or for one
task that never ends. If it finds a signal, it stops waiting, but the statement continues in DuckDB's threads, and
closing the connection waits for it. And it tries imports (pandas at every parameter, pyarrow.dataset at the first Arrow
table): if Ctrl-C comes during an import, it takes the KeyboardInterrupt for a failed import and continues.

So here the signal itself wakes a thread, which interrupts the statements on the connections in use. The signal is also
remembered, so that long work can ask for it.
"""

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any
from weakref import WeakSet

AGAIN_SECONDS = 0.1  # between two interrupts
END = b"\0"  # no signal has this number
_STOPPING = (bytes([signal.SIGINT]), bytes([signal.SIGTERM]))

_ends: list[socket.socket] = []  # of `stop_statements`; a forked process lacks its thread, and makes new ones
_came = False
_heard = threading.Event()  # the KeyboardInterrupt was raised where nothing swallows it
_in_use: WeakSet = WeakSet()
_looking = threading.RLock()  # reentrant, because the handler of signals may interrupt its own thread here


@contextmanager
def remembered() -> Iterator[None]:
    """Let Ctrl-C stop the statements inside, and remember it for `check`; the result is a KeyboardInterrupt.

    It is raised at once, as usual, or by the statement that was stopped. If other code handles Ctrl-C, and outside the
    main thread, no handler is installed.
    """
    global _came
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        with _as_interrupt():
            yield
        return
    signal.signal(signal.SIGINT, _remember)
    try:
        with woken_by_signals(_stop_until_heard), _as_interrupt():
            yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _came = False
        _heard.clear()


def stop_statements() -> None:
    """Let Ctrl-C and SIGTERM stop the statements of this process from now on, whatever code handles the signal.

    For notebooks and flows, which have handlers of their own that decide what happens next. A statement is interrupted
    as long as the main thread waits for it. Does nothing outside the main thread, or if other code has set a file
    descriptor for wake-ups by signals.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    before = signal.set_wakeup_fd(-1)
    if before != -1:
        signal.set_wakeup_fd(before, warn_on_full_buffer=False)
        return
    if not _ends:
        _ends[:] = socket.socketpair()
        _ends[1].setblocking(False)
        threading.Thread(target=_stop_where_main_stands, args=(_ends[0],), daemon=True, name="Ctrl-C").start()
    signal.set_wakeup_fd(_ends[1].fileno(), warn_on_full_buffer=False)


def _forget_ends() -> None:
    """Stop wake-ups in a forked process: its signals would be written into any file with the same descriptor."""
    if _ends:
        before = signal.set_wakeup_fd(-1)
        if before not in (-1, _ends[1].fileno()):  # it belongs to other code
            signal.set_wakeup_fd(before, warn_on_full_buffer=False)
    _ends.clear()


os.register_at_fork(after_in_child=_forget_ends)


def _stop_where_main_stands(woken: socket.socket) -> None:
    main = threading.main_thread().ident
    while True:
        if woken.recv(1) not in _STOPPING:
            continue
        place = _place_of(main)
        while place is not None and _place_of(main) == place:
            _interrupt()  # repeated, because the statement may not have begun yet
            time.sleep(AGAIN_SECONDS)


def _place_of(thread: int) -> tuple[int, int] | None:
    frame = sys._current_frames().get(thread)
    return None if frame is None else (id(frame), frame.f_lasti)


def check() -> None:
    """Raise a KeyboardInterrupt that got lost."""
    if _came:
        _heard.set()
        raise KeyboardInterrupt


def listen(con: Any) -> None:
    """Let Ctrl-C stop what runs on a connection of DuckDB, until `forget`."""
    with _looking:
        _in_use.add(con)


def forget(con: Any) -> None:
    """Leave a connection alone from now on: it is about to be closed."""
    with _looking:
        _in_use.discard(con)


@contextmanager
def woken_by_signals(watch: Callable[[socket.socket], None]) -> Iterator[None]:
    """Call a function in a thread of its own, with a socket from which it reads the numbers of signals as they come.

    The function must return when it reads END. The thread closes the socket, so Ctrl-C may come even before it begins.
    Only the main thread can receive signals: in other threads the function reads only END.
    """
    woken, end = socket.socketpair()
    end.setblocking(False)  # as signal.set_wakeup_fd wants it

    def work() -> None:
        with woken:
            watch(woken)

    thread = threading.Thread(target=work, daemon=True)
    with end, _waking(end):
        try:
            thread.start()
            yield
        finally:
            with suppress(BrokenPipeError):  # the function has returned already
                end.send(END)
            if thread.is_alive():
                thread.join()


@contextmanager
def _waking(end: socket.socket) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.set_wakeup_fd(end.fileno(), warn_on_full_buffer=False)
    try:
        yield
    finally:
        try:
            signal.set_wakeup_fd(before)
        except OSError:  # it was closed: Ctrl-C came at the beginning of this context, which was not ended
            signal.set_wakeup_fd(-1)


def _remember(number: int, frame: FrameType | None) -> None:
    global _came
    _came = True
    if not _is_in_an_import(frame):
        _heard.set()
    _interrupt()
    # If a statement was stopped, its error is raised already, and the cleanup behind it must not be interrupted.
    if not _is_stopped_statement(sys.exc_info()[1]):
        raise KeyboardInterrupt


def _is_in_an_import(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


@contextmanager
def _as_interrupt() -> Iterator[None]:
    """Raise a KeyboardInterrupt for an error that one has caused: an error of DuckDB, or one made from it."""
    try:
        yield
    except Exception as error:
        link: BaseException | None = error
        while link is not None:
            if isinstance(link, KeyboardInterrupt) or (_came and _is_stopped_statement(link)):
                raise KeyboardInterrupt from error
            link = link.__cause__ or link.__context__
        raise


def _is_stopped_statement(error: BaseException | None) -> bool:
    # If duckdb raised this, it is imported. Ctrl-C may also come during its import, while the module is still empty.
    kind = getattr(sys.modules.get("duckdb"), "InterruptException", None)
    return kind is not None and isinstance(error, kind)


def _stop_until_heard(woken: socket.socket) -> None:
    has_come = False
    while True:
        # Repeated until it was heard, because the statement may not have begun yet.
        woken.settimeout(AGAIN_SECONDS if has_come and not _heard.is_set() else None)
        with suppress(TimeoutError):
            byte = woken.recv(1)
            if byte == END:
                return
            has_come = has_come or byte == bytes([signal.SIGINT])
        if has_come:
            _interrupt()


def _interrupt() -> None:
    with _looking:
        for con in list(_in_use):
            with suppress(Exception):  # it was closed
                con.interrupt()
