"""Faults that DuckDB reports only in the text of a message: it has no class and no number for them.

The words are those of DuckDB 1.5.5, DuckLake and libpq; no other module of bufferhouse reads a message of DuckDB to
decide something (docs/decisions/0025). `tests/engine/test_faults.py` makes DuckDB raise each fault.
"""

import re

import duckdb

from bufferhouse.errors import SourceUnavailable, UsageError, WarehouseBusy, WarehouseError, WarehouseFull, first_line

_NO_SPACE = ("No space left on device", "Disk quota exceeded", "File too large", "File size limit exceeded")
_DAMAGED = ("Corrupt database file", "Could not read enough bytes")
_OF_ROWS = "Cannot launch in-memory database"  # a file of rows, opened read-only
_LOCKED = ("Could not set lock", "Conflicting lock")
_NO_LAKE = "creating a new DuckLake is explicitly disabled"  # the catalog's database exists and holds no lake
_EXPIRED = "No snapshot found at version"  # the lake was compacted since the reader opened it
_FAILED = "Failed to commit DuckLake transaction.\n"
# A whole statement that DuckLake itself sent to its catalog.
_STATEMENT = re.compile(r'(Failed to (?:prepare COPY|prepare query|execute query)) ".*": ', re.DOTALL)
# DuckLake puts this before the error of its catalog, with the path of a catalog file, which our message names anyway.
_UNATTACHED = re.compile(r'Failed to attach DuckLake MetaData "[^"]*" at path \+ "[^"]*"(?=.)')
_UNFETCHED = "Attempting to fetch from an unsuccessful query result\nError: "  # before the error that says why
_OF_BUCKETS = "httpfs"  # the extension that is loaded only for a lake in a bucket
# A connection that ended, or a server that starts, may be reported as any kind of error.
_AWAY = re.compile(
    r"closed the connection|onnection refused|terminating connection|no connection to the server|Unable to connect"
    r"|starting up|shutting down|in recovery mode|could not (?:receive|send) data|connection not open|timeout"
    r"|could not translate|Current transaction is aborted"
)
# Refusals that will be the same the next time.
_REFUSED = re.compile(
    r"HTTP (?:code )?(?:3|4(?!08|29))\d\d|AccessDenied|NoSuchBucket|InvalidAccessKeyId|authentication|Cannot open file"
    r"|Failed to create directory"
)
# The answers of PostgreSQL, or libpq, to a wrong role, password or database: SQLSTATE 28 and 3D, which neither DuckDB
# nor psycopg passes on at the beginning of a session.
_KEPT_OUT = re.compile(
    r"authentication failed|no password supplied|no pg_hba\.conf entry|is not permitted to log in"
    r'|(?:role|database) "[^"]*" does not exist|permission denied for database'
)
_MISSING = re.compile(r"error reading '([^']+)'.* 404 |Cannot open file \"([^\"]+)\": No such file")
# What DuckDB says of a Parquet file whose bytes have changed. Mostly it names the file, which readers have below the
# `ROOT` of bufferhouse.warehouse.address; for damage in the head or foot of a file it names only the fault.
_DATA_PATH = "lakefiles://data/"
_SPOILED = re.compile(
    r"(?:Failed to read file|No magic bytes found at end of file|Footer length error in file|File"
    r"|Could not read enough bytes from file|Invalid string encoding found in Parquet file)"
    r" [\"'][^\"']+\.parquet[\"']"
)
_SPOILED_SOMEWHERE = re.compile(
    r"TProtocolException|Out of buffer|[Cc]orrupted|don't know what type|invalid TType"
    r"|registered for bytes outside file"
)
# The answers of a bucket's server to keys without the right to do that, or if the bucket is gone.
_DENIED = re.compile(r"HTTP (?:code )?403|AccessDenied|InvalidAccessKeyId|SignatureDoesNotMatch")
# The same answer for expired keys and for keys of another region, if it has no text.
_TOO_OLD = re.compile(r"HTTP (?:code )?400|Expired")
_ELSEWHERE = re.compile(r"HTTP (?:code )?3\d\d|PermanentRedirect")  # a redirect without an address is not followed
_NO_BUCKET = re.compile(r"Unable to connect to URL .*HTTP code 404|NoSuchBucket")  # a missing object has other words
# The system's answer if this user may not write a file in a folder, or make the folder.
_FORBIDDEN = re.compile(r'(?:Cannot open file|Failed to create directory) "')
# DuckDB reports an error of a file system in Python by the name of its class and its message.
_RAISED = re.compile(r"(\w+): ([^\n]*)")
_OURS = {kind.__name__: kind for kind in (SourceUnavailable, UsageError, WarehouseError)}
_MAY_PASS = (duckdb.IOException, duckdb.HTTPException, duckdb.TransactionException, duckdb.ConnectionException)


def reason(error: object) -> str:
    """Return the line of an error that gives the reason: DuckLake puts lines before it that say only that it failed."""
    text = _UNATTACHED.sub("", _STATEMENT.sub(r"\1: ", str(error).strip()))
    why = first_line(text.partition(_FAILED)[2] or text.partition(_UNFETCHED)[2] or text)
    return why.removeprefix("Failed to commit: ").rpartition("Original error: ")[2]


def lacks_space(error: object) -> bool:
    """Return whether an error means a full disk, a full quota or a limit on the size of files."""
    return any(reason in str(error) for reason in _NO_SPACE)


def no_space(path: object, error: Exception) -> WarehouseFull | None:
    """Return the error to raise if DuckDB's error means a full disk; None for any other."""
    if not lacks_space(error):
        return None
    return WarehouseFull(
        f"no space left for {path}: {reason(error)}; what was committed is kept, make space and run the same "
        "command again"
    )


def damage(path: object, error: Exception) -> WarehouseError | None:
    """Return the error to raise if DuckDB's error means a damaged file; None for any other."""
    if not any(reason in str(error) for reason in _DAMAGED):
        return None
    return WarehouseError(f"{path} is damaged: {reason(error)}; restore a copy (docs/operations.md)")


def is_of_rows(error: Exception) -> bool:
    """Return whether a file that is opened to read is not a database, but holds rows: CSV, JSON or Parquet."""
    return _OF_ROWS in str(error)


def is_locked(error: Exception) -> bool:
    """Return whether another process has the database open."""
    return any(reason in str(error) for reason in _LOCKED)


def holder(error: Exception) -> str:
    """Return which process has the database open."""
    found = re.search(r"PID \d+", str(error))
    return found[0] if found else "its number is not known"


def is_no_lake(error: Exception) -> bool:
    """Return whether a catalog holds no lake."""
    return _NO_LAKE in str(error)


def is_expired(error: object) -> bool:
    """Return whether the snapshot that a reader uses was removed from the lake."""
    return _EXPIRED in str(error)


def wants_buckets(error: Exception) -> bool:
    """Return whether a lake keeps its files in a bucket, and the extension for buckets is not loaded."""
    return _OF_BUCKETS in str(error)


def keeps_out(error: Exception) -> bool:
    """Return whether PostgreSQL answers, and refuses the role, password or database."""
    return _KEPT_OUT.search(str(error)) is not None


def missing_file(place: str) -> str:
    """Return the message about a missing file that the catalog of a lake names."""
    return f"a file of the lake is missing: {place}; put it back from a copy of the data path"


def raised_inside(error: Exception) -> Exception | None:
    """Return our own error that the files of a lake raised inside a statement of DuckDB; None for other errors.

    Errors of DuckDB's own file systems about missing or damaged files are translated, too.
    """
    if type(error) is duckdb.Error and (found := _RAISED.match(str(error))) and found[1] in _OURS:
        return _OURS[found[1]](found[2])
    if isinstance(error, duckdb.IOException) and (lost := _MISSING.search(str(error))):
        return WarehouseError(missing_file(lost[1] or lost[2]))
    return _spoiled(error)


def _spoiled(error: Exception) -> WarehouseError | None:
    """Return the error to raise if DuckDB's error means a damaged file of a lake; None for any other."""
    is_named = isinstance(error, duckdb.InvalidInputException | duckdb.IOException)
    if is_named and _SPOILED.search(str(error)):
        said = reason(error).replace(_DATA_PATH, "")
        return WarehouseError(f"a file of the lake is damaged: {said}; put it back from a copy of the data path")
    if type(error) is duckdb.Error and _SPOILED_SOMEWHERE.search(str(error)):
        return WarehouseError(
            f"a file of the lake is damaged, DuckDB does not say which: {reason(error)}; put back those that differ "
            "from a copy of the data path"
        )
    return None


def refused(error: Exception) -> WarehouseError | None:
    """Return the error to raise if the bucket or the folder of a lake refuses; None for any other error.

    `raised_inside` handles missing objects.
    """
    said = reason(error)
    if isinstance(error, duckdb.IOException) and _FORBIDDEN.search(said):
        return WarehouseError(
            f"the folder of the lake refuses: {said}; let this user read and write there; what was committed is kept"
        )
    if not isinstance(error, _MAY_PASS) or "s3://" not in said:
        return None
    if _NO_BUCKET.search(said):
        way_out = "there is no such bucket, or not any more"
    elif _ELSEWHERE.search(said):
        way_out = "name the region of the bucket in AWS_REGION, and the server of that region"
    elif _DENIED.search(said):
        way_out = "give keys that may read and write there, or let these"
    elif _TOO_OLD.search(said):
        way_out = "renew the keys, which may have expired, or name the region of the bucket in AWS_REGION"
    else:
        return None
    return WarehouseError(f"the bucket of the lake refuses: {said}; {way_out}; what was committed is kept")


def is_away(error: Exception) -> bool:
    """Return whether a server does not answer, or no longer answers."""
    return _AWAY.search(str(error)) is not None


def away(error: Exception) -> WarehouseBusy:
    """Return the error to raise if a lake does not answer, even after several tries."""
    return WarehouseBusy(f"the lake does not answer: {reason(error)}; what was committed is kept, try again later")


def lost_catalog(error: Exception) -> WarehouseBusy | None:
    """Return the error to raise if a catalog went away during a statement of DuckLake itself; None for any other.

    A user's own SQL never gives this error.
    """
    return away(error) if is_away(error) and _STATEMENT.search(str(error)) else None


def passes(error: Exception) -> bool:
    """Return whether an error of DuckDB is temporary: trying again can help."""
    is_fault = isinstance(error, _MAY_PASS) or (isinstance(error, duckdb.Error) and is_away(error))
    return is_fault and not (_REFUSED.search(str(error)) or keeps_out(error) or lacks_space(error) or _spoiled(error))


def fills_temporary_files(error: Exception) -> bool:
    """Return whether a statement needs more temporary files than it may have."""
    return "max_temp_directory_size" in str(error)


def lacks_memory(error: Exception) -> bool:
    """Return whether there was no memory for an answer, which DuckDB raises as a plain RuntimeError."""
    return "allocate" in str(error)


def is_closed(error: object) -> bool:
    """Return whether a statement needs an operation that the read-only door does not allow."""
    return any(words in str(error) for words in ("operations are disabled by config", "disabled through config"))
