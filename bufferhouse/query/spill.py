"""Where statements put what does not fit into memory: a folder of each query, below one of each user.

A query holds a lock on its folder as long as it lives. A folder without one is of a query that is dead, and goes when
the next begins. What all living queries of a user may spill is bounded together.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bufferhouse.errors import UsageError

ALL_BYTES = 16 << 30  # of all queries of a user; each may take at most half of what the others have left
_SHARE = "share-"  # the name of the file that says how much of it is a query's


@contextmanager
def spill_folder(wanted_bytes: int, all_bytes: int = ALL_BYTES) -> Iterator[tuple[Path, int]]:
    """Yield a folder for temporary files, gone afterwards, and how many bytes may be in it, at most those wanted.

    Raises:
        UsageError: the folder of the user belongs to somebody else.
    """
    with _of_the_user() as folder:
        _sweep(folder)
        others = sum(int(path.name.removeprefix(_SHARE)) for path in folder.glob(f"*/{_SHARE}*"))
        share = max(0, min(wanted_bytes, (all_bytes - others) // 2))
        own = Path(tempfile.mkdtemp(prefix="query-", dir=folder))
        (own / f"{_SHARE}{share}").touch()
        lock = _locked(own)
    (own / "spill").mkdir()
    try:
        yield own / "spill", share
    finally:
        with _of_the_user():  # whoever counts or sweeps meanwhile would meet half a folder
            shutil.rmtree(own, ignore_errors=True)
            os.close(lock)


def sweep() -> None:
    """Remove the temporary files of dead queries of this user."""
    with _of_the_user() as folder:
        _sweep(folder)


def user_folder() -> Path:
    """Return the folder of all queries of this user."""
    return Path(tempfile.gettempdir()) / f"bufferhouse-{os.getuid()}"


@contextmanager
def _of_the_user() -> Iterator[Path]:
    """Yield the folder of this user, which nobody else looks at meanwhile; an empty one is gone afterwards."""
    path = user_folder()
    while True:
        with suppress(FileExistsError):
            path.mkdir(mode=0o700)
        with suppress(FileNotFoundError):
            lock = _locked(path)
            if _is_at(lock, path):
                break
            os.close(lock)  # it was removed while we waited
    try:
        about = os.fstat(lock)
        if about.st_uid != os.getuid() or about.st_mode & 0o077:
            raise UsageError(f"{path}: expected a folder that is yours alone; set $TMPDIR to another place")
        yield path
    finally:
        with suppress(OSError):  # other queries have theirs in it
            path.rmdir()
        os.close(lock)


def _sweep(folder: Path) -> None:
    for path in folder.glob("query-*"):
        with suppress(OSError):
            lock = _locked(path, fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)
            os.close(lock)


def _locked(path: Path, how: int = 0) -> int:
    """Return a descriptor of a folder that holds its lock.

    Raises:
        OSError: it is no folder, or somebody else holds it and `how` says not to wait.
    """
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | how)
    except OSError:
        os.close(folder)
        raise
    return folder


def _is_at(folder: int, path: Path) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(folder), os.lstat(path))
    return False
