"""Errors that end a command, each with its exit code and the way out in its message, which holds no secret.

And what raises them: checks of words and numbers as people give them, and the pieces that messages share.
"""

import errno
import os
import signal
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from difflib import get_close_matches

from bufferhouse.redaction import redacted

MAKE_SPACE = "; make space and run the same command again"
LOADING = "load dumps with: bufferhouse ingest SOURCE"
_SHOWN = 80  # characters of a name in a message
LARGEST_NUMBER = 2**63 - 1


class _Told(Exception):
    def __init__(self, *words: object) -> None:
        super().__init__(*(redacted(word) if isinstance(word, str) else word for word in words))


class UsageError(_Told):
    """The call cannot be carried out as it was given: exit 2."""


def told(error: BaseException) -> str:
    """Return an error in one short line of text: what a file made some library say may be long, and odd."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    line = first_line(error)[:_LONGEST_TOLD].encode("utf-8", "backslashreplace").decode()
    return line if line and isinstance(error, UsageError | OSError) else f"{type(error).__name__}: {line}"


_LONGEST_TOLD = 500


class WarehouseError(_Told):
    """The warehouse is not what this version can work with: exit 2."""


class WarehouseBusy(_Told):
    """Another process holds the warehouse: exit 3. Trying again later can help."""


class WarehouseInUse(WarehouseBusy):
    """Somebody has the warehouse open: exit 3. Waiting can help, and whoever calls says what waits: `or_wait`."""


class WarehouseFull(WarehouseBusy):
    """There is no space left for the warehouse, or for what is written of it: exit 3, like one that is busy.

    What was committed is kept, and a file that should be replaced.
    """


class ModelError(_Told):
    """A model does not read what it names, or is not written as models are: file, line and column are in the text."""


class SourceUnavailable(_Told):
    """A source does not answer, also after several tries: exit 3. Trying again later can help."""


class ClusterUnavailable(SourceUnavailable):
    """The cluster that should parse does not answer, or gave up: exit 3. What was committed is kept."""


# What ends a call, with a message that says all there is.
EXPECTED = (UsageError, WarehouseError, ModelError, WarehouseBusy, SourceUnavailable)


def unwritable(what: str, error: OSError) -> UsageError | WarehouseFull:
    """Return the error to raise where something cannot be written; on a full disk it is one that may pass."""
    message = f"{what}: {error.strerror}"
    return WarehouseFull(message + MAKE_SPACE) if is_full(error) else UsageError(message)


def is_full(error: OSError) -> bool:
    """Return whether making space helps, so that the call itself was not wrong."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def whole_number(text: str, where: str) -> int:
    """Return the number a text stands for.

    Raises:
        UsageError: it is none from 0 to 2^63 - 1; `where` says whose it is.
    """
    if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) <= LARGEST_NUMBER):
        raise UsageError(f"{where}: expected a whole number from 0 to 2^63 - 1, found {text!r}")
    return int(text)


def given_number(variable: str, usual: int) -> int:
    """Return the number in a variable of the environment; where it is not set, or empty, the usual one.

    Raises:
        UsageError: what it holds is no number of at least 1.
    """
    text = os.environ.get(variable)
    if not text:
        return usual
    with suppress(UsageError):
        if number := whole_number(text, variable):
            return number
    raise UsageError(f"${variable}: expected a number of at least 1, found {text!r}")


def assignments(
    words: Iterable[str], form: str, option: str = "", is_name: Callable[[str], bool] = bool
) -> dict[str, str]:
    """Return the names and texts of words such as `NAME=VALUE`, which is their `form`.

    Raises:
        UsageError: a word is none, or a name is given twice; it names the `option` of the words.
    """
    place = f"{option}: " if option else ""
    found: dict[str, str] = {}
    for word in words:
        name, sign, text = word.partition("=")
        if not sign or not is_name(name):
            raise UsageError(f"{place}expected {form}, found {word!r}")
        if name in found:
            raise UsageError(f"{place}{name} is given twice")
        found[name] = text
    return found


def or_wait(error: Exception, option: str) -> str:
    """Return the text of an error; where waiting can help, with the option of the caller that waits."""
    return f"{error}, or wait with {option}" if isinstance(error, WarehouseInUse) else str(error)


def check_known(name: str, given: str, known: Sequence[str]) -> None:
    """Raise a UsageError for a word that is none of those that an option or a parameter takes."""
    if given not in known:
        raise UsageError(f"{name}: expected {', '.join(known[:-1])} or {known[-1]}, found {given[:_SHOWN]!r}")


def counted(count: int, noun: str) -> str:
    """Return a count and its noun in the number that agrees: 1 run, 1,200 dumps, 2 entries, 3 batches."""
    if count == 1:
        return f"1 {noun}"
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return f"{count:,} {noun[:-1]}ies"
    return f"{count:,} {noun}{'es' if noun.endswith(('s', 'x', 'ch', 'sh')) else 's'}"


def signal_name(number: int) -> str:
    """Return what a signal is called, such as SIGKILL; `signal 40` where it has no name."""
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal: only the first and the last of them have names
        return f"signal {number}"


def first_line(error: object) -> str:
    """Return what stands in the first line of an error: behind it DuckDB shows the statement."""
    return str(error).strip().split("\n", 1)[0]


def outdated(error: Exception) -> WarehouseError:
    """Return the error to raise for a model that a warehouse lacks, as a database tells it: with the way out."""
    return WarehouseError(f"{first_line(error)} An older bufferhouse built it; renew it with: bufferhouse build")


def did_you_mean(word: str, known: Iterable[str], most: int = 1) -> str:
    """Return `; did you mean 'NAME'?` for the known names that are near a word or hold it; nothing where none is."""
    names = list(known)
    near = get_close_matches(word, names, most)
    if not near and len(word) > 1:  # nearly every name holds any one letter
        near = [name for name in names if word.lower() in name.lower()]
    return f"; did you mean {' or '.join(repr(name[:_SHOWN]) for name in near[:most])}?" if near else ""
