"""TOML with the line and column of each value and of each fault: the standard library reads TOML, but keeps no places.

`places` is for a text that `parsed` has accepted: it reads no more of it than keys, headings, strings and brackets.
"""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bufferhouse.errors import UsageError

_AT = re.compile(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", re.DOTALL)
_KEY_PART = re.compile(r"""\s*("(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z0-9_-]+)\s*""")
_SKIPPED = re.compile(r'"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|#[^\n]*', re.DOTALL)

KeyPath = tuple[str | int, ...]
Place = tuple[int, int]


class NoToml(ValueError):
    """What is wrong in a text that is no TOML, with its `line` and `column`; the end where none is known."""

    def __init__(self, text: str, error: Exception) -> None:
        said = str(error) if isinstance(error, tomllib.TOMLDecodeError) else "brackets or numbers beyond all measure"
        match = _AT.fullmatch(said)
        super().__init__(match[1] if match else said)
        self.line = int(match[2]) if match and match[2] else text.count("\n") + 1
        self.column = int(match[3]) if match and match[3] else len(text) - text.rfind("\n")


def parsed(text: str) -> dict[str, Any]:
    """Return what a TOML text says.

    Raises:
        NoToml: it is none.
    """
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise NoToml(text, error) from None


@dataclass(frozen=True)
class TomlFile:
    """What a TOML file says, and where."""

    path: Path
    document: dict[str, Any]
    places: dict[KeyPath, Place]

    def at(self, *path: str | int) -> str:
        """Return the place of a key as `file:line:column`."""
        line, column = place_of(self.places, path)
        return f"{self.path}:{line}:{column}"


def read_toml(path: Path) -> TomlFile:
    """Read a TOML file.

    Raises:
        UsageError: it cannot be read, or is no TOML; the message has the line and the column.
    """
    try:
        text = decoded(path, path.read_bytes())
        return TomlFile(path, parsed(text), places(text))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    except NoToml as error:
        raise UsageError(f"{path}:{error.line}:{error.column}: expected TOML, found: {error}") from None


def decoded(path: Path, data: bytes) -> str:
    """Return the text of a file.

    Raises:
        UsageError: it is not UTF-8; the message has the line and the column, in bytes.
    """
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        raise UsageError(f"{path}:{line}:{column}: expected UTF-8, found byte {data[error.start]:#04x}") from None


def places(text: str) -> dict[KeyPath, Place]:
    """Return line and column of each key and heading, by its path: names, and numbers from 0 in arrays of tables.

    Keys of inline tables are found too, and elements of arrays by their numbers from 0.
    """
    found: dict[KeyPath, Place] = {}
    counts: dict[KeyPath, int] = {}
    heading: KeyPath = ()
    at = 0
    while at < len(text):
        line_end = _end_of_line(text, at)
        start = at + len(text[at:line_end]) - len(text[at:line_end].lstrip(" \t"))
        if start == line_end or text[start] in "#\r\n":
            at = line_end + 1
        elif text[start] == "[":
            heading = _heading(text, start, counts)
            found.setdefault(heading, _place(text, start))
            at = line_end + 1
        else:
            at = _pair(text, start, heading, found)
            at = _end_of_line(text, at) + 1
    return found


def place_of(found: dict[KeyPath, Place], path: KeyPath) -> Place:
    """Return the place of a path, else of its nearest ancestor, else the beginning."""
    while path and path not in found:
        path = path[:-1]
    return found.get(path, (1, 1))


def _heading(text: str, start: int, counts: dict[KeyPath, int]) -> KeyPath:
    is_array = text.startswith("[[", start)
    names, _ = _key(text, start + 1 + is_array)
    path: KeyPath = ()
    for number, name in enumerate(names, 1):
        path = (*path, name)
        if is_array and number == len(names):
            counts[path] = counts.get(path, -1) + 1
        if path in counts:
            path = (*path, counts[path])  # what stands below an array of tables belongs to its last one
    return path


def _pair(text: str, start: int, parent: KeyPath, found: dict[KeyPath, Place]) -> int:
    """Note the key at `start` and those inside its value; return where the value ends."""
    names, at = _key(text, start)
    path = (*parent, *names)
    found.setdefault(path, _place(text, start))
    return _value(text, at + 1, path, found)  # behind the equals sign


def _value(text: str, at: int, path: KeyPath, found: dict[KeyPath, Place]) -> int:
    while text[at] in " \t":
        at += 1
    if text[at] == "[":
        return _elements(text, at + 1, path, found)
    if text[at] != "{":
        return _behind(text, at)
    at += 1
    while True:
        while text[at] in " \t\r\n,":
            at += 1
        if text[at] == "}":
            return at + 1
        at = _pair(text, at, path, found)


def _elements(text: str, at: int, path: KeyPath, found: dict[KeyPath, Place]) -> int:
    """Note the elements of an array and what is inside them; return where the array ends."""
    number = 0
    while True:
        while text[at] in " \t\r\n,#":
            at = _end_of_line(text, at) if text[at] == "#" else at + 1
        if text[at] == "]":
            return at + 1
        found.setdefault((*path, number), _place(text, at))
        at = _value(text, at, (*path, number), found)
        number += 1


def _behind(text: str, at: int) -> int:
    """Return the end of a value that is no array or inline table: a comma, bracket or end of line beside it."""
    depth = 0
    while at < len(text):
        if match := _SKIPPED.match(text, at):
            at = match.end()
            continue
        if text[at] in "[{":
            depth += 1
        elif text[at] in "]}":
            if not depth:
                return at
            depth -= 1
        elif not depth and text[at] in ",\n":
            return at
        at += 1
    return at


def _key(text: str, at: int) -> tuple[KeyPath, int]:
    """Return the parts of a dotted key, and where it ends."""
    names: list[str | int] = []
    while match := _KEY_PART.match(text, at):
        part = match[1]
        names.append(part[1:-1] if part[0] in "\"'" else part)
        at = match.end()
        if text[at] != ".":
            break
        at += 1
    return tuple(names), at


def _end_of_line(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _place(text: str, at: int) -> Place:
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
