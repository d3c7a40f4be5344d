"""Ctrl-C that is not lost.

DuckDB loses it in three ways. It looks for signals between the tasks that Python's main thread works on
(`CompletePendingQuery` of its client for Python): while that thread waits for DuckDB's own threads, or for one task
that never ends, it looks for none. Where it finds one it gives up waiting, but the statement goes on in its threads,
and whoever closes the connection waits for it. And it tries imports (pandas at every parameter, pyarrow.dataset at the
first Arrow table), and where Ctrl-C meets one of them it takes the KeyboardInterrupt for a failed import and goes on.

So the signal itself wakes a thread here, which interrupts what runs on the connections in use; and it is remembered, as
long work asks, too.
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

_ends: list[socket.socket] = []  # of `stop_statements`; a forked process has none of its thread, and makes its own
_came = False
_heard = threading.Event()  # by somebody who does not forgive it
_in_use: WeakSet = WeakSet()
_looking = threading.RLock()  # the handler of signals may meet its own thread here


@contextmanager
def remembered() -> Iterator[None]:
    """Let Ctrl-C stop the statements inside, and remember it for `check`; what comes of it is a KeyboardInterrupt.

    It is raised at once, as ever, or where a statement was stopped. Installs nothing where somebody else handles
    Ctrl-C, or outside the main thread.
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
    """Let Ctrl-C and SIGTERM stop the statements of this process from now on, whoever handles the signal.

    For notebooks and flows, which handle signals themselves: what comes of it stays theirs to say. A statement is
    stopped as long as the main thread stands in it. Does nothing outside the main thread, nor where somebody else wants
    to be woken by signals.
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
    """Let a forked process be woken by nothing: its signals would be written into whatever it opens in that place."""
    if _ends:
        before = signal.set_wakeup_fd(-1)
        if before not in (-1, _ends[1].fileno()):  # somebody else's
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
            _interrupt()  # again and again: the statement may have been about to begin
            time.sleep(AGAIN_SECONDS)


def _place_of(thread: int) -> tuple[int, int] | None:
    frame = sys._current_frames().get(thread)
    return None if frame is None else (id(frame), frame.f_lasti)


def check() -> None:
    """Raise a KeyboardInterrupt that got lost on its way."""
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

    It has to return where it reads END. The thread closes the socket, so Ctrl-C may meet its very beginning. Only the
    main thread can arrange to be woken: in others END is all that comes.
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
            with suppress(BrokenPipeError):  # it had nothing more to wait for
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
        except OSError:  # closed by now, where Ctrl-C met the beginning of this and nobody ended it
            signal.set_wakeup_fd(-1)


def _remember(number: int, frame: FrameType | None) -> None:
    global _came
    _came = True
    if not _is_in_an_import(frame):
        _heard.set()
    _interrupt()
    # Where a statement was stopped, that is on its way already: what cleans up behind it must not be cut short.
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
    """Raise a KeyboardInterrupt for whatever came of one: an error of DuckDB, or one that was made of it."""
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
    # Imported by now, if it raised this; and Ctrl-C may meet the import itself, when nothing is in the module yet.
    kind = getattr(sys.modules.get("duckdb"), "InterruptException", None)
    return kind is not None and isinstance(error, kind)


def _stop_until_heard(woken: socket.socket) -> None:
    has_come = False
    while True:
        # Again and again until it was heard: the statement may have been about to begin.
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
            with suppress(Exception):  # somebody has closed it
                con.interrupt()
