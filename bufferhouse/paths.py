"""The folders of a checkout or a wheel, the folder of the cache, and how a file is replaced whole."""

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
# A wheel has the folders of the checkout inside the package (docs/decisions/0030).
IS_WHEEL = (PACKAGE / "dbt_like_models").is_dir()
CHECKOUT = PACKAGE if IS_WHEEL else PACKAGE.parent
FLOWS = "bufferhouse.flows" if IS_WHEEL else "flows"  # behind `python -m`, in what users are told
MODELS = CHECKOUT / "dbt_like_models"
MIGRATIONS = CHECKOUT / "sql" / "migrations"
QUERIES = CHECKOUT / "sql" / "queries"
REPORTS = CHECKOUT / "sql" / "reports"
DOCS = CHECKOUT / "docs"

_LONGEST_NAME = 40  # characters of a file's name in that of its successor: a name may be as long as names can be
_numbers = count(1)


def cache_folder() -> Path:
    """Return the folder of the user's cache.

    Raises:
        RuntimeError: the user has no home directory.
    """
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "bufferhouse"


@contextmanager
def replacing(target: Path, *, is_flushed: bool = False, is_output: bool = False) -> Iterator[Path]:
    """Yield the name of a file to write, which takes the place of `target` in one step when all went well.

    Until then nothing of `target` is changed; what was written is removed where it failed. `is_flushed` waits until the
    new file is on the disk. `is_output`: somebody named it to have something written there, so a link stays one, to a
    file that is replaced, and a device or a pipe, whose place no file can take, is written to itself. Elsewhere a link
    is replaced: who may write to a folder does not choose what is written to. What killed processes left beside an
    output is removed, as it may be as large.
    """
    if is_output and target.exists() and not (target.is_file() or target.is_dir()):
        yield target
        return
    if is_output and target.is_symlink():
        target = Path(os.path.realpath(target))
    if is_output:
        with suppress(OSError):  # what cannot be listed or removed keeps nothing from being written
            remove_leftovers(target, of_ended=True)
    if not target.name:  # `.` or a root
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
    temporary = target.with_name(f".{target.name[:_LONGEST_NAME]}.{os.getpid()}-{next(_numbers)}.new")
    try:
        yield temporary
        if is_flushed:
            with temporary.open("rb") as file:
                os.fsync(file.fileno())
        os.replace(temporary, target)
    finally:
        with suppress(OSError):  # the first error is the one to hear
            temporary.unlink()


def remove_leftovers(*targets: Path, of_ended: bool = False) -> None:
    """Remove what was left where `replacing` was killed; the caller makes sure that nobody else replaces them.

    With `of_ended` somebody may: what processes write that still run here stays.
    """
    names = "|".join(re.escape(target.name[:_LONGEST_NAME]) for target in targets)
    leftover = re.compile(rf"\.({names})\.(\d+)-\d+\.new(\..+)?")
    for name in os.listdir(targets[0].parent):
        if (found := leftover.fullmatch(name)) and not (of_ended and _is_other(int(found[2]))):
            targets[0].with_name(name).unlink(missing_ok=True)


def _is_other(process_id: int) -> bool:
    """Return whether a process of that number runs here, and is not this one."""
    try:
        os.kill(process_id, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return process_id != os.getpid()
