"""A verb in a process of its own: what crashes there ends in a message, and what it left behind is removed.

DuckDB 1.5.5 can be made to crash by a statement (a VARIANT, a list of a thousand million numbers), which no bound
inside its own process stops. So `bufferhouse query` is two processes. The first has imported next to nothing when it
forks, and only waits; the second does all the work, at the same terminal.
"""

import os
import signal
import sys

_FORWARDED = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
_SI_KERNEL = 0x80  # the terminal has sent it, and to both
_PR_SET_PDEATHSIG = 1


def supervised() -> None:
    """Return in a new process, which does the work; the one that called waits, and ends as that one ends.

    Where the system cannot wait for signals (macOS), there is one process only, as ever.
    """
    if not hasattr(signal, "sigwaitinfo"):
        return
    own = os.getpid()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {*_FORWARDED, signal.SIGCHLD})
    child = os.fork()
    if child == 0:
        die_with(own)
        _hide_last_words()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return
    status = _wait(child)
    if status != 0:
        from bufferhouse.query.spill import sweep

        sweep()
    if not os.WIFSIGNALED(status):
        os._exit(os.WEXITSTATUS(status))
    ended_by = os.WTERMSIG(status)
    if ended_by in _FORWARDED:
        signal.signal(ended_by, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        os.kill(own, ended_by)
    from bufferhouse.errors import signal_name

    print(
        f"bufferhouse: the statement crashed its process ({signal_name(ended_by)}); the warehouse was not changed; "
        "ask in another way, or for less at once",
        file=sys.stderr,
        flush=True,
    )
    os._exit(2)


def _wait(child: int) -> int:
    """Return how the child ended; meanwhile it gets the signals that this process alone was sent."""
    while True:
        heard = signal.sigwaitinfo({*_FORWARDED, signal.SIGCHLD})
        if heard.si_signo != signal.SIGCHLD:
            if heard.si_code != _SI_KERNEL:
                os.kill(child, heard.si_signo)
            continue
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status


def die_with(parent: int) -> None:
    """Let the system end this process when its parent is gone."""
    import ctypes

    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    if prctl is not None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(2)


def _hide_last_words() -> None:
    """Keep what libraries print when they crash, and the memory they would leave in a file, from whoever asked."""
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.stderr = os.fdopen(os.dup(2), "w", buffering=1, errors="backslashreplace")
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 2)
    os.close(nothing)
