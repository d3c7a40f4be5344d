"""A rollback journal: it keeps, beside the file, the blocks that a checkpoint of DuckDB overwrites in place.

A checkpoint puts pieces of metadata into blocks that have room, and so rewrites blocks with other pieces that the
previous checkpoint needs, which is valid until the header is written. The kernel ends the write of a killed process
between two pages, a power cut ends it anywhere: then DuckDB 1.5.5 refuses the file because of the checksum of such a
block. Nothing else that the valid checkpoint needs is overwritten.

So a writer's connection makes no checkpoint by itself (`guard`), and `checkpoint` first keeps these blocks in
`<file>.journal`. The next process that opens the file puts them back, byte for byte, if the header is still that of the
journal (`roll_back`). No checksum is computed, so damage of any other kind stays visible (docs/decisions/0020).

To put blocks back, this file is run as a script with the standard library alone: if a process opens and closes a file
once more, it loses the lock that DuckDB holds on it in that process.
"""

import fcntl
import hashlib
import os
import stat
import struct
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

HEADER_BYTES = 12288  # three headers of a page each; a checkpoint writes one of them, last of all
_DIGEST_BYTES = 32
_ENTRY = struct.Struct("<2Q")  # place and length of the bytes that follow
_NEVER = "1TB"  # a log this long
_LONGEST = 16 << 20  # bytes of a log from which a commit makes a checkpoint: DuckDB's default
_BUSY = 3
_PAUSE_SECONDS = 0.05


def guard(con) -> None:
    """Let only `commit` and `checkpoint` make checkpoints from now on, also of databases that are attached later."""
    con.execute(f"SET checkpoint_threshold = '{_NEVER}'")
    con.execute("PRAGMA disable_checkpoint_on_shutdown")


def unguard(con) -> None:
    """Let DuckDB make checkpoints by itself again."""
    con.execute("RESET checkpoint_threshold")
    con.execute("PRAGMA enable_checkpoint_on_shutdown")


def make_logs(con) -> None:
    """Make empty logs for the files of a connection that have none: DuckDB would make them readable for everybody."""
    for _, file in _files(con):
        make_log(file)


def make_log(file: Path) -> None:
    """Make the log of a file that has none, with the owner and the permissions of the file."""
    with suppress(OSError):  # there is one; or there is no space, which DuckDB reports itself
        os.close(_opened_beside(file, log_path(file), os.O_EXCL))


def remove_empty_logs(con) -> None:
    """Remove the logs into which a connection has written nothing."""
    for _, file in _files(con):
        with suppress(FileNotFoundError):
            log = log_path(file)
            if not log.stat().st_size:
                log.unlink()


def _opened_beside(file: Path, other: Path, flags: int) -> int:
    """Open a file beside another one to write it, with the owner and the permissions of the other."""
    descriptor = os.open(other, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | flags, 0o600)
    found = file.stat()
    with suppress(PermissionError):  # another user owns it, and has set its permissions
        os.fchmod(descriptor, stat.S_IMODE(found.st_mode))
    with suppress(PermissionError):  # only root gives files away
        os.fchown(descriptor, found.st_uid, found.st_gid)
    return descriptor


def commit(con) -> None:
    """Commit a transaction; if the log has become long, DuckDB also writes it into the file.

    A log is long at 16 MiB, or at the length of the file: then rows are written once, to the file and not to the log.

    Raises:
        duckdb.Error: as COMMIT.
    """
    import duckdb

    journals = []
    try:
        with suppress(OSError):  # no space for a journal: the log grows
            files = _files(con)
            for _, file in files:
                make_log(file)
            journals = [_keep(con, name, file) for name, file in files]
            most = min([_LONGEST, *(file.stat().st_size for _, file in files)])
            con.execute(f"SET checkpoint_threshold = '{most} bytes'")
        con.execute("COMMIT")
    finally:
        with suppress(duckdb.Error):  # the first error is the one to hear
            con.execute(f"SET checkpoint_threshold = '{_NEVER}'")
    for journal in journals:
        journal.unlink(missing_ok=True)


def checkpoint(con) -> None:
    """Write the logs of a connection's files into the files; a file without a log is complete.

    Raises:
        duckdb.Error: as CHECKPOINT.
        OSError: the journal cannot be written; the log stays.
    """
    for name, file in _files(con):
        log = log_path(file)
        if log.exists() and log.stat().st_size:
            journal = _keep(con, name, file)
            named = name.replace('"', '""')  # by hand, as this file is a script, too
            con.execute(f'CHECKPOINT "{named}"')
            journal.unlink()


def _files(con) -> list[tuple[str, Path]]:
    """Return name and path of the databases that a connection writes: the catalog of a lake may be one."""
    rows = con.execute(
        "SELECT CASE type WHEN 'ducklake' THEN '__ducklake_metadata_' ELSE '' END || database_name, path"
        " FROM duckdb_databases() WHERE type IN ('duckdb', 'ducklake') AND NOT internal AND NOT readonly"
    ).fetchall()
    return [(name, Path(path)) for name, path in rows if path and os.path.isfile(path)]


def _keep(con, name: str, file: Path) -> Path:
    """Write the journal of a file, wait until it is on the disk, and return where it is."""
    named = "'" + name.replace("'", "''") + "'"  # by hand, as this file is a script, too
    blocks = con.execute(f"SELECT block_id FROM pragma_metadata_info({named}) WHERE free_blocks > 0")
    numbers = [number for (number,) in blocks.fetchall()]
    sizes = con.execute(f"SELECT block_size FROM pragma_database_size() WHERE database_name = {named}")
    [(size,)] = sizes.fetchall()
    own = _descriptor(file)
    parts = [os.pread(own, HEADER_BYTES, 0)]
    for place in (HEADER_BYTES + number * size for number in numbers):
        block = os.pread(own, size, place)  # nothing, where the file does not have it yet
        parts += _ENTRY.pack(place, len(block)), block
    text = b"".join(parts)
    journal = journal_path(file)
    descriptor = _opened_beside(file, journal, os.O_TRUNC)
    try:
        with open(descriptor, "wb") as writing:
            writing.write(hashlib.sha256(text).digest() + text)
            writing.flush()
            os.fsync(descriptor)
    except BaseException:
        journal.unlink()
        raise
    folder = os.open(journal.parent, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
    return journal


def _descriptor(file: Path) -> int:
    """Return DuckDB's own descriptor of a file: opening and closing the file again would lose its lock."""
    wanted = file.stat()
    for number in map(int, os.listdir("/dev/fd")):
        with suppress(OSError):
            if os.path.samestat(os.fstat(number), wanted):
                return number
    raise FileNotFoundError(f"{file} is not open in this process")


def roll_back(file: Path, wait: float = 0.0) -> bool:
    """Put back the blocks of a killed checkpoint; return False if another process has the file open.

    It waits up to `wait` seconds for the other process.

    Raises:
        OSError: the file or its folder cannot be written to.
    """
    journal = journal_path(file)
    if not journal.is_file():
        return True
    words = [sys.executable, "-I", "-S", __file__, str(file), str(journal), str(wait)]
    done = subprocess.run(words, capture_output=True, text=True, errors="replace")
    if done.returncode not in (0, _BUSY):
        raise OSError(f"{journal} cannot be rolled back: {done.stderr.strip().rpartition(chr(10))[2]}")
    return done.returncode == 0


def put_back(file: Path, journal: Path, wait: float = 0.0) -> int:
    """Put back the blocks of a journal and remove it, in a process without the file open; return an exit code."""
    descriptor = os.open(file, os.O_RDWR | os.O_CLOEXEC)
    deadline = time.monotonic() + wait
    while True:
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # the lock that DuckDB takes
            break
        except (BlockingIOError, PermissionError):
            if time.monotonic() >= deadline:
                return _BUSY
            time.sleep(_PAUSE_SECONDS)
    if not journal.is_file():
        return 0  # another process came first
    written = journal.read_bytes()
    digest, text = written[:_DIGEST_BYTES], written[_DIGEST_BYTES:]
    # If the journal is not whole, its checkpoint never began; if the header differs, the checkpoint is done.
    if digest == hashlib.sha256(text).digest() and text[:HEADER_BYTES] == os.pread(descriptor, HEADER_BYTES, 0):
        place = HEADER_BYTES
        while place < len(text):
            target, size = _ENTRY.unpack_from(text, place)
            place += _ENTRY.size
            os.pwrite(descriptor, text[place : place + size], target)
            place += size
        os.fsync(descriptor)
    journal.unlink()
    return 0


def journal_path(file: Path) -> Path:
    """Return where the journal of a file lies."""
    return file.with_name(f"{file.name}.journal")


def log_path(file: Path) -> Path:
    """Return where DuckDB logs what is not in the file yet."""
    return file.with_name(f"{file.name}.wal")


if __name__ == "__main__":
    sys.exit(put_back(Path(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3])))
