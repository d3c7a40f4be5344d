"""The line and column of each value in a TOML text: the standard library reads TOML, but keeps no places.

Only for a text that `tomllib` has accepted: this reads no more of it than keys, headings, strings and brackets.
"""

import re

_KEY_PART = re.compile(r"""\s*("(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z0-9_-]+)\s*""")
_SKIPPED = re.compile(r'"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|#[^\n]*', re.DOTALL)

Path = tuple[str | int, ...]
Place = tuple[int, int]


def places(text: str) -> dict[Path, Place]:
    """Return line and column of each key and heading, by its path: names, and numbers from 0 in arrays of tables.

    Keys of inline tables are found too, and elements of arrays by their numbers from 0.
    """
    found: dict[Path, Place] = {}
    counts: dict[Path, int] = {}
    heading: Path = ()
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


def place_of(found: dict[Path, Place], path: Path) -> Place:
    """Return the place of a path, else of its nearest ancestor, else the beginning."""
    while path and path not in found:
        path = path[:-1]
    return found.get(path, (1, 1))


def _heading(text: str, start: int, counts: dict[Path, int]) -> Path:
    is_array = text.startswith("[[", start)
    names, _ = _key(text, start + 1 + is_array)
    path: Path = ()
    for number, name in enumerate(names, 1):
        path = (*path, name)
        if is_array and number == len(names):
            counts[path] = counts.get(path, -1) + 1
        if path in counts:
            path = (*path, counts[path])  # what stands below an array of tables belongs to its last one
    return path


def _pair(text: str, start: int, parent: Path, found: dict[Path, Place]) -> int:
    """Note the key at `start` and those inside its value; return where the value ends."""
    names, at = _key(text, start)
    path = (*parent, *names)
    found.setdefault(path, _place(text, start))
    return _value(text, at + 1, path, found)  # behind the equals sign


def _value(text: str, at: int, path: Path, found: dict[Path, Place]) -> int:
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


def _elements(text: str, at: int, path: Path, found: dict[Path, Place]) -> int:
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


def _key(text: str, at: int) -> tuple[Path, int]:
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
