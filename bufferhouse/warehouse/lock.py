"""One writer at a time: the kernel's `flock` beside the warehouse file.

The lock is the kernel's, so it is gone when its holder is, however that ended; what stands in the file is only for
the message. DuckDB's own lock is not enough to wait on: it is a POSIX lock, which a process loses when it opens and
closes the file a second time.
"""

import errno
import fcntl
import os
import socket
import stat
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from bufferhouse.errors import UsageError, WarehouseBusy
from bufferhouse.warehouse.files import lock_path

_PAUSE_SECONDS = 0.05


class WriterLock:
    """Context manager that holds the writer's lock of a warehouse; waits up to `wait` seconds for it.

    Raises:
        WarehouseBusy: another process held it all that time; the message names the holder.
        UsageError: a link lies where the lock should be, which would be written through.
    """

    def __init__(self, warehouse: Path, wait: float = 0.0) -> None:
        self.path = lock_path(warehouse)
        self.wait = wait
        self._descriptor: int | None = None

    def __enter__(self) -> "WriterLock":
        # Not inheritable: a worker process that outlives its parent must not go on holding the lock.
        descriptor = _opened(self.path, os.O_RDWR | os.O_CREAT)
        deadline = time.monotonic() + self.wait
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    holder = os.pread(descriptor, 200, 0).decode("utf-8", "replace").strip() or "another process"
                    os.close(descriptor)
                    raise WarehouseBusy(
                        f"{self.path.with_suffix('')} is being written by {holder}; "
                        "try again later, or wait for it with --wait SECONDS"
                    ) from None
                time.sleep(_PAUSE_SECONDS)
        self._descriptor = descriptor
        with suppress(OSError):  # a full disk: the lock holds without a name in it
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"process {os.getpid()} on {socket.gethostname()}\n".encode(), 0)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._descriptor is not None:
            os.ftruncate(self._descriptor, 0)
            os.close(self._descriptor)
            self._descriptor = None


def _opened(path: Path, flags: int) -> int:
    """Open a lock, which is a file of its own: whoever may write to the folder does not choose what is written to."""
    try:
        # Not blocking: a pipe in its place would be waited for.
        descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.ENXIO, errno.EISDIR):
            raise
    else:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            return descriptor
        os.close(descriptor)
    raise UsageError(f"{path}: expected the lock of a warehouse, a plain file, found something else; remove it")


def writer(warehouse: Path) -> str | None:
    """Say who writes a warehouse at this moment, None for nobody.

    The lock is tried only where its file names a holder: else a writer that comes at the same moment would be refused.
    """
    try:
        descriptor = _opened(lock_path(warehouse), os.O_RDONLY)
    except (OSError, UsageError):
        return None
    try:
        if not (holder := os.pread(descriptor, 200, 0).decode("utf-8", "replace").strip()):
            return None
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return None  # it was killed: its name is still there
    except BlockingIOError:
        return holder
    finally:
        os.close(descriptor)
