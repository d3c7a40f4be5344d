"""Errors that end a command, each with its exit code and the way out in its message."""


class UsageError(Exception):
    """The call cannot be carried out as it was given: exit 2."""


def told(error: BaseException) -> str:
    """Return an error in one short line of text: what a file made some library say may be long, and odd."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    line = str(error).strip().split("\n", 1)[0][:_LONGEST_TOLD].encode("utf-8", "backslashreplace").decode()
    return line if line and isinstance(error, UsageError | OSError) else f"{type(error).__name__}: {line}"


_LONGEST_TOLD = 300


class WarehouseError(Exception):
    """The warehouse is not what this version can work with: exit 2."""


class WarehouseBusy(Exception):
    """Another process holds the warehouse: exit 3. Trying again later can help."""


class WarehouseFull(WarehouseBusy):
    """There is no space left where the warehouse lies: exit 3, like one that is busy. What was committed is kept."""


class ModelError(Exception):
    """A model does not read what it names, or is not written as models are: file, line and column are in the text."""


class SourceUnavailable(Exception):
    """A source does not answer, also after several tries: exit 3. Trying again later can help."""


class ClusterUnavailable(SourceUnavailable):
    """The cluster that should parse does not answer, or gave up: exit 3. What was committed is kept."""
