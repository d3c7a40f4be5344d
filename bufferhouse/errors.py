"""Errors that end a command, each with its exit code and the way out in its message, which tells no secret."""

from bufferhouse.outgoing import redacted


class _Told(Exception):
    def __init__(self, *words: object) -> None:
        super().__init__(*(redacted(word) if isinstance(word, str) else word for word in words))


class UsageError(_Told):
    """The call cannot be carried out as it was given: exit 2."""


class WarehouseError(_Told):
    """The warehouse is not what this version can work with: exit 2."""


class WarehouseBusy(_Told):
    """Another process holds the warehouse: exit 3. Trying again later can help."""


class WarehouseFull(WarehouseBusy):
    """There is no space left where the warehouse lies: exit 3, like one that is busy. What was committed is kept."""


class ModelError(_Told):
    """A model does not read what it names, or is not written as models are: file, line and column are in the text."""


class SourceUnavailable(_Told):
    """A source does not answer, also after several tries: exit 3. Trying again later can help."""


class ClusterUnavailable(SourceUnavailable):
    """The cluster that should parse does not answer, or gave up: exit 3. What was committed is kept."""
