"""The file `memory.lock`: TOML, sorted, one value a line, so that a review shows what moved and nothing else.

Faults name line and column. Besides the form, sums are checked, because a figure that was edited by hand is of no
compiled program.
"""

import fcntl
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from bufferhouse.compare.groups import gathered
from bufferhouse.config.toml import NoToml, decoded, parsed, place_of, places
from bufferhouse.errors import UsageError, counted, did_you_mean
from bufferhouse.lock.check import hold
from bufferhouse.lock.entry import FIGURES, PADDING_SITES, PEAK_SITES, Entry, Key, Lock, Site, Space
from bufferhouse.paths import replacing
from bufferhouse.redaction import shell_word

VERSION = 1
_HEAD = """\
# What compiled programs take of memory, in bytes. `bufferhouse lock --check DUMPS` compares, `bufferhouse lock --update
# DUMPS` writes what moved and ends a merge conflict. It is no file to be changed by hand.
"""
_MARKS = (_HEAD.partition("\n")[0], "[[chip]]", "[[program]]")  # even a broken lock has one of them
_KINDS = ("parameter", "output", "constant", "temp")
_GROUP = re.compile(r"(?:([1-9][0-9]*) × )?([a-z][a-z0-9]*\[[^\]]*\])")
_CONFLICT = re.compile(r"^(<{7}|={7}|>{7}|\|{7})(?: |$)")
_MOST_SHOWN = 20
_MOST_BYTES = 64 << 20

_SITE = {"bytes": int, "kind": str, "values": int, "shape": str, "padding_bytes": int, "op_name": str, "source": str}
_PADDING = {"padding_bytes": int, "kind": str, "shape": str, "op_name": str, "source": str}
# The fields of a site that the file calls by other names.
_FIELDS = {"bytes": "owned_bytes", "values": "value_count", "padding_bytes": "layout_padding_bytes"}
_SPACE = {"memory_space": int, **dict.fromkeys(FIGURES, int), "peak": list, "padding": list}
_PROGRAM = {
    "function": str, "chip": str, "program_id": int, "parameters": list, "outputs": list, "compiler": str, "flags": str,
    "accepted": dict, "space": list,
}  # fmt: skip
_CHIP = {"name": str, "compiler": str, "flags": str}
_FILE = {"version": int, "chip": list, "program": list}
_ACCEPTED = {"growth_bytes": int, "why": str}
_MAY_LACK = {
    "padding_bytes", "op_name", "source", "occupied_peak_bytes", "layout_padding_bytes", "peak", "padding", "compiler",
    "flags", "accepted", "parameters", "outputs", "space",
}  # fmt: skip
_NAMES = {int: "a whole number from 0 on", str: "a text", list: "a list", dict: "a table"}


def same_options(name: str, chip: str | None) -> str:
    """Return the options that a command for copying needs to use this file, and the chip of a call if it has one."""
    file = "" if name == "memory.lock" else f" --file {shell_word(name)}"
    return file + ("" if chip is None else f" --chip {shell_word(chip)}")


def _way_out(options: str) -> str:
    return f"take what the dumps say with: bufferhouse lock --update{options} DUMPS"


def _anew(options: str) -> str:
    return f"write the file anew with: bufferhouse lock{options} DUMPS"


class Fault(NamedTuple):
    """What is wrong with a program of a file, or with a part of it that names none, and the way out if there is one."""

    key: Key | None
    said: str
    way_out: str = ""

    def __str__(self) -> str:
        return f"{self.said}; {self.way_out}" if self.way_out else self.said


class LockFault(UsageError):
    """The file cannot be compared with: the message has a line for each fault, with file, line and column."""


class NewerLock(LockFault):
    """The file was written by a newer bufferhouse."""


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Keep other processes that call this from changing the file meanwhile: tests run in several processes at once.

    Raises:
        UsageError: there is no folder that it could be in.
    """
    place = path.resolve().parent
    try:
        folder = os.open(place, os.O_RDONLY)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {place}: {error.strerror or error}; make this folder") from None
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def write_lock(path: Path, lock: Lock) -> None:
    """Write a file, whole or not at all.

    Raises:
        UsageError: it cannot be written there.
    """
    path = path.resolve()  # a link stays a link
    try:
        with replacing(path, is_flushed=True) as new:
            new.write_text(lock_text(lock), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror or error}") from None


def lock_text(lock: Lock) -> str:
    """Return the text of a file: equal locks have equal texts."""
    parts = [f"{_HEAD}version = {VERSION}\n"]
    common = {chip: _common(lock, chip) for chip in lock.chips}
    for chip, (compiler, flags) in common.items():
        parts.append("\n[[chip]]\n" + _pairs({"name": chip, "compiler": compiler, "flags": flags}))
    parts += [_program_text(entry, common[entry.chip]) for entry in lock.entries.values()]
    return "".join(parts)


def _common(lock: Lock, chip: str) -> tuple[str, str]:
    """Return the compiler and the flags of most programs of a chip, which the file has only once."""
    seen = Counter((entry.compiler, entry.flags) for entry in lock.entries.values() if entry.chip == chip)
    return min(seen, key=lambda one: (-seen[one], one))


def _program_text(entry: Entry, common: tuple[str, str]) -> str:
    own = {} if (entry.compiler, entry.flags) == common else {"compiler": entry.compiler, "flags": entry.flags}
    about = {"function": entry.function, "chip": entry.chip, "program_id": entry.program_id}
    lines = [_pairs(about), _groups("parameters", entry.parameters), _groups("outputs", entry.outputs)]
    lines.append(_pairs(own, keep_empty=True))
    if entry.why:
        lines.append(f"accepted = {_inline({'growth_bytes': entry.growth_bytes, 'why': entry.why})}\n")
    return "\n[[program]]\n" + "".join(lines) + "".join(map(_space_text, entry.spaces))


def _space_text(space: Space) -> str:
    figures = {name: size for name, size in zip(FIGURES, space.figures, strict=True) if size is not None}
    lines = [_pairs({"memory_space": space.memory_space, **figures}, keep_empty=True)]
    peak = [_site_text(site, _SITE, "padding_bytes") for site in space.sites[:PEAK_SITES]]
    padding = [_site_text(site, _PADDING) for site in space.padding[:PADDING_SITES]]
    for name, rows in (("peak", peak), ("padding", padding)):
        if rows:
            lines.append(f"{name} = [\n" + "".join(f"    {row},\n" for row in rows) + "]\n")
    return "\n[[program.space]]\n" + "".join(lines)


def _site_text(site: Site, keys: Iterable[str], *may_lack: str) -> str:
    """Return a site as the file stores it, without the optional texts and sizes that it does not have."""
    said = {key: getattr(site, _FIELDS.get(key, key)) for key in keys}
    return _inline({key: one for key, one in said.items() if one or key not in ("op_name", "source", *may_lack)})


def _pairs(values: Mapping[str, Any], *, keep_empty: bool = False) -> str:
    return "".join(f"{name} = {_written(value)}\n" for name, value in values.items() if keep_empty or value != "")


def _groups(name: str, groups: Sequence[tuple[int, str]]) -> str:
    if not groups:
        return ""
    rows = [_written(leaf if count == 1 else f"{count} × {leaf}") for count, leaf in groups]
    return f"{name} = [{', '.join(rows)}]\n"


def _inline(values: Mapping[str, Any]) -> str:
    return f"{{ {', '.join(f'{name} = {_written(value)}' for name, value in values.items())} }}"


def _written(value: int | str) -> str:
    if isinstance(value, int):
        return str(value)
    # JSON escapes what TOML requires, except DEL. Lone surrogates, which TOML does not allow, are escaped first.
    text = value.encode("utf-8", "backslashreplace").decode()
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def read_lock(path: Path, chip: str | None = None) -> Lock:
    """Read a file; `chip` is the one that the call named, for the commands that messages propose.

    Raises:
        LockFault: it is of a newer version, holds a merge conflict, or has faults, each named with line and column.
        UsageError: it cannot be read at all.
    """
    options = same_options(str(path), chip)
    text = _text(path, options)
    for number, line in enumerate(text.split("\n"), 1):
        if _CONFLICT.match(line) and line[0] == "<":
            raise LockFault(f"{path}:{number}:1: expected no merge conflict, found {line[:40]!r}; {_way_out(options)}")
    reading = _Reading(str(path), text, options)
    entries = reading.entries(is_whole=True)
    if faults := reading.faults:
        more = len(faults) - _MOST_SHOWN
        ways_out = {fault.way_out for fault in faults}
        is_one = len(faults) > 1 and len(ways_out) == 1  # which is said once
        shown = [fault.said if is_one else str(fault) for fault in faults[:_MOST_SHOWN]]
        shown += [f"… and {counted(more, 'more fault')}"] * (more > 0) + [*ways_out] * is_one
        raise LockFault("\n".join(shown))
    return Lock.of(entries)


@dataclass(slots=True)
class Mendable:
    """What an update can use of a file: the entries of each side of a merge, and the faults of what cannot be read.

    `options` are those of a command that updates the file again.
    """

    sides: list[dict[Key, Entry]] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    options: str = ""


def read_mendable(path: Path, chip: str | None = None) -> Mendable:
    """Read a file for an update: both sides of a merge conflict, and each program by itself if the whole is not TOML.

    Raises:
        LockFault: it is of a newer version.
        UsageError: it cannot be read at all, or is not a lock, whose content an update would overwrite.
    """
    options = same_options(str(path), chip)
    text = _text(path, options)
    if text.strip() and not any(mark in text for mark in _MARKS):
        raise UsageError(f"{path}: expected a lock or no file, found another file; remove it, or name one with --file")
    found = Mendable(options=options)
    for side in dict.fromkeys(_sides(text)):
        entries: dict[Key, Entry] = {}
        for first_line, block in _blocks(side):
            reading = _Reading(str(path), block, options, first_line)
            for entry in reading.entries(is_whole=block == side):
                entries[entry.key] = entry
            found.faults += reading.faults
        found.sides.append(entries)
    return found


def _text(path: Path, options: str = "") -> str:
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except FileNotFoundError:
        raise UsageError(f"{path}: there is no such file; write it with: bufferhouse lock{options} DUMPS") from None
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None
    if len(data) > _MOST_BYTES:
        raise LockFault(f"{path}:1:1: expected at most {_MOST_BYTES >> 20} MiB, found more")
    try:
        # Byte order marks and line ends that editors and git on Windows add are not faults.
        return decoded(path, data).removeprefix("\ufeff").replace("\r\n", "\n")
    except UsageError as error:
        raise LockFault(str(error)) from None


def _sides(text: str) -> list[str]:
    """Return the text of each side of a merge, without the base between them. Lines keep their numbers."""
    sides: list[list[str]] = [[], []]
    inside = None  # the side that a line belongs to, None for both
    for line in text.split("\n"):
        if _CONFLICT.match(line) and (inside is not None or line[0] == "<"):
            inside = {"<": 0, "|": 2, "=": 1, ">": None}[line[0]]
            line = ""
        for number, side in enumerate(sides):
            side.append(line if inside in (None, number) else "")
    return ["\n".join(side) for side in sides]


def _blocks(text: str) -> Iterator[tuple[int, str]]:
    """Yield the whole text if it is TOML, else pieces that can be read alone; each with its first line number."""
    try:
        parsed(text)
    except NoToml:
        lines = text.split("\n")
        starts = [0, *(at for at, line in enumerate(lines) if line.strip() in ("[[program]]", "[[chip]]"))]
        for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
            yield start + 1, "\n".join(lines[start:end])
    else:
        yield 1, text


class _Reading:
    """A text while it is read, with the faults found so far."""

    def __init__(self, name: str, text: str, options: str, first_line: int = 1) -> None:
        self.name, self.text, self.first_line = name, text, first_line
        self.way_out, self.anew = _way_out(options), _anew(options)
        self.faults: list[Fault] = []
        self._key: Key | None = None  # of the program that is being read
        self._places: dict | None = None

    def entries(self, *, is_whole: bool) -> list[Entry]:
        """Return the entries that have no fault; a piece of a file has no version and no chips."""
        try:
            document = parsed(self.text)
        except NoToml as error:
            place = f"{self.name}:{error.line + self.first_line - 1}:{error.column}"
            self.faults.append(Fault(_key_in(self.text), f"{place}: expected TOML, found: {error}", self.way_out))
            return []
        if is_whole or "version" in document:
            self._version(document)
        if self.faults:
            return []
        self._unknown(document, _FILE, ())
        chips = {}
        for number, chip in enumerate(self._tables(document, "chip", ())):
            if self._table(chip, _CHIP, ("chip", number)):
                chips[chip["name"]] = chip.get("compiler", ""), chip.get("flags", "")
        found: dict[Key, Entry] = {}
        for number, table in enumerate(self._tables(document, "program", ())):
            before, self._key = len(self.faults), _key_of(table)
            entry = self._entry(table, ("program", number), chips, is_whole)
            if entry and entry.key in found:
                again = f"{entry.function} on {entry.chip} again"
                self.fault(("program", number), "each program of a chip once", again)
            if entry and len(self.faults) == before:
                found[entry.key] = entry
        return list(found.values())

    def fault(self, path: tuple[str | int, ...], expected: str, found: object, way_out: str = "") -> None:
        """Note what is wrong at a place of the file."""
        if self._places is None:
            self._places = places(self.text)
        line, column = place_of(self._places, path)
        shown = found if isinstance(found, str) else repr(found)
        cut = shown if len(shown) <= 80 else f"{shown[:79]}…"
        said = f"{self.name}:{line + self.first_line - 1}:{column}: expected {expected}, found {cut}"
        # An update mends programs alone.
        self.faults.append(Fault(self._key, said, way_out or (self.anew if self._key is None else self.way_out)))

    def _version(self, document: Mapping[str, Any]) -> None:
        version = document.get("version")
        if type(version) is not int or version < 1:
            self.fault(
                ("version",), f"version = {VERSION} at the top", repr(version) if "version" in document else "none"
            )
        elif version > VERSION:
            found = f"version {version}, of a newer bufferhouse"
            self.fault(("version",), f"version {VERSION}", found, "use that one")
            raise NewerLock(str(self.faults[-1]))

    def _unknown(self, table: Mapping[str, Any], keys: Mapping[str, type], path: tuple) -> None:
        for key in table:
            if key not in keys:
                self.fault((*path, key), f"one of {', '.join(keys)}", f"{key!r}{did_you_mean(key, keys)}")

    def _tables(self, table: Mapping[str, Any], name: str, path: tuple) -> list[Mapping[str, Any]]:
        found = table.get(name, [])
        if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
            self.fault((*path, name), f"tables under [[{name}]]", found)
            return []
        return found

    def _table(self, table: Any, keys: Mapping[str, type], path: tuple) -> bool:
        """Return whether a table has the keys it must have, and all of them the right kind of value."""
        before = len(self.faults)
        if not isinstance(table, dict):
            self.fault(path, "a table", table)
            return False
        self._unknown(table, keys, path)
        for key, kind in keys.items():
            if key not in table:
                if key not in _MAY_LACK:
                    self.fault((*path, key), key, "none")
            elif type(table[key]) is not kind or (kind is int and table[key] < 0):
                self.fault((*path, key), f"{key} to be {_NAMES[kind]}", repr(table[key]))  # a text is no number
        return len(self.faults) == before

    def _entry(
        self, table: Mapping[str, Any], path: tuple, chips: Mapping[str, tuple[str, str]], is_whole: bool
    ) -> Entry | None:
        if not self._table(table, _PROGRAM, path):
            return None
        if is_whole and table["chip"] not in chips:
            self.fault((*path, "chip"), f"a chip of the file, {' or '.join(map(repr, chips)) or 'none'}", table["chip"])
        compiler, flags = chips.get(table["chip"], ("", ""))
        accepted = table.get("accepted", {})
        if "accepted" in table and not self._table(accepted, _ACCEPTED, (*path, "accepted")):
            return None
        spaces = [self._space(one, (*path, "space", at)) for at, one in enumerate(self._tables(table, "space", path))]
        seen = [space.memory_space for space in spaces if space]
        for at, number in enumerate(seen):
            if number in seen[:at]:
                self.fault((*path, "space", at), "each memory space once", f"memory space {number} again")
        if None in spaces:
            return None
        return Entry(
            table["function"],
            table["chip"],
            table["program_id"],
            self._leaves(table, "parameters", path),
            self._leaves(table, "outputs", path),
            spaces,
            table.get("compiler", compiler),
            table.get("flags", flags),
            why=accepted.get("why", ""),
            growth_bytes=accepted.get("growth_bytes", 0),
        )

    def _leaves(self, table: Mapping[str, Any], name: str, path: tuple) -> list[tuple[int, str]]:
        found = []
        for at, one in enumerate(table.get(name, [])):
            match = _GROUP.fullmatch(one) if isinstance(one, str) else None
            if match is None or len(match[1] or "") > 9:
                self.fault((*path, name, at), "a shape such as f32[8] or 4 × f32[8]", one)
            else:
                found.append((int(match[1] or 1), match[2]))
        return found

    def _space(self, table: Mapping[str, Any], path: tuple) -> Space | None:
        if not self._table(table, _SPACE, path):
            return None
        sites = self._sites(table, "peak", _SITE, path)
        padding = self._sites(table, "padding", _PADDING, path)
        if sites is None or padding is None:
            return None
        space = Space(table["memory_space"], *(table.get(name) for name in FIGURES), sites, padding)
        parts = space.parameter_bytes + space.output_bytes + space.constant_bytes + space.temp_bytes
        if parts != space.reserved_bytes:
            self.fault((*path, "reserved_bytes"), f"the sum of its parts, {parts}", space.reserved_bytes)
        if space.donated_bytes > space.parameter_bytes:
            most = f"at most the parameters, {space.parameter_bytes}"
            self.fault((*path, "donated_bytes"), most, space.donated_bytes)
        if (space.occupied_peak_bytes is None) != (space.layout_padding_bytes is None):
            self.fault(path, "occupied_peak_bytes and layout_padding_bytes, or neither", "one of them")
        elif sum(site.owned_bytes for site in sites) > (space.occupied_peak_bytes or 0):
            most = f"sites of at most {space.occupied_peak_bytes or 0} bytes, the occupied peak"
            self.fault((*path, "peak"), most, str(sum(site.owned_bytes for site in sites)))
        return space

    def _sites(self, table: Mapping[str, Any], name: str, keys: Mapping[str, type], path: tuple) -> list[Site] | None:
        found = []
        for at, one in enumerate(table.get(name, [])):
            place = (*path, name, at)
            if not self._table(one, keys, place):
                return None
            if one["kind"] not in _KINDS:
                self.fault((*place, "kind"), f"one of {', '.join(_KINDS)}", one["kind"])
            fields = {_FIELDS.get(key, key): value for key, value in one.items()}
            found.append(Site(**{"owned_bytes": 0, "value_count": 0, **fields}))
        return found


def _key_of(table: Mapping[str, Any]) -> Key | None:
    found = tuple(table.get(name) for name in ("function", "chip", "program_id"))
    return found if tuple(map(type, found)) == (str, str, int) else None


def _key_in(text: str) -> Key | None:
    """Return the key of the program in a piece of text that is no TOML, where its lines are whole."""
    found: dict[str, Any] = {}
    for line in text.split("\n"):
        if line.partition(" = ")[0] in ("function", "chip", "program_id"):
            try:
                found.update(parsed(line))
            except NoToml:
                return None
    return _key_of(found)


def updated(kept: Mendable, fresh: Lock, programs: Iterable[Key] | None = None, why: str = "") -> Lock:
    """Return the lock after an update: entries of the dumps if they moved, all others unchanged.

    A dump that says less, as its live ranges or its values are missing, does not move an entry of the same bytes.

    With `programs`, keys of entries, only these are updated; `why` is stored with them as the reason. A reason belongs
    to the bytes that it explains: if they move without a new reason, it is removed. Programs without a dump stay.

    Raises:
        LockFault: the sides of a merge differ in a program that has no dump, or an entry cannot be read and has none.
    """
    wanted = fresh.entries if programs is None else set(programs)
    moving = {key: entry for key, entry in fresh.entries.items() if key in wanted}
    known = gathered((entry.key, entry) for side in kept.sides for entry in side.values())
    faults = [fault for fault in kept.faults if fault.key not in moving]
    entries: dict[Key, Entry] = {}
    for key, sides in known.items():
        if key in moving:
            continue
        if any(one.told != sides[0].told for one in sides[1:]):
            said = f"{key[0]} on {key[1]}: the sides of the merge differ in it"
            faults.append(Fault(key, said, _way_out(kept.options)))
        entries[key] = _same_build(sides[0], fresh)
    if faults:
        raise LockFault("\n".join(str(_left(fault, kept.options, fresh)) for fault in faults[:_MOST_SHOWN]))
    for key, entry in moving.items():
        sides = known.get(key, [])
        same = next((one for one in sides if one.told == entry.told or _says_less(entry, one)), None)
        if why:
            before = sides[0] if sides else _former(entry, kept, fresh)
            entries[key] = replace(entry, why=why, growth_bytes=_growth(before, entry))
        elif same is not None:
            # Source lines move with every edit above them, so an entry with the same bytes stays as it was reviewed.
            entries[key] = replace(same, compiler=entry.compiler, flags=entry.flags)
        else:
            entries[key] = entry
    return Lock.of(entries.values())


def _says_less(entry: Entry, before: Entry) -> bool:
    """Return whether a dump has the bytes of an entry of the file, but not its peaks, or the operations at them.

    A file of it is missing. One with allocations alone may be cut: whoever takes it into the file means it.
    """
    numbers = [[space.memory_space for space in one.spaces] for one in (entry, before)]
    is_comparable = numbers[0] == numbers[1] and not entry.has_allocations_alone
    return is_comparable and all(map(_is_part, entry.spaces, before.spaces))


def _is_part(space: Space, before: Space) -> bool:
    if space.figures == before.figures:
        names, known = (any(site.op_name for site in one.sites) for one in (space, before))
        return space.told == before.told or (known and not names)
    bare = replace(before, occupied_peak_bytes=None, layout_padding_bytes=None)
    return space.figures == bare.figures


def _left(fault: Fault, options: str, fresh: Lock) -> Fault:
    """Return a fault that an update leaves, with a way out: whoever sees it has just updated the file from dumps."""
    if fault.key in fresh.entries:
        return fault  # its dump is there, but only other programs were to be written
    # A part of the file without a name may be of any program.
    dump = f"there is no dump of {fault.key[0]} on {fault.key[1]}; if it is gone, " if fault.key else ""
    return fault._replace(way_out=f"{dump}{_anew(options)}")


def _same_build(entry: Entry, fresh: Lock) -> Entry:
    """Return an unchanged entry with the compiler of its dump, which gave the same bytes."""
    now = fresh.entries.get(entry.key)
    return replace(entry, compiler=now.compiler, flags=now.flags) if now and now.told == entry.told else entry


def _former(entry: Entry, kept: Mendable, fresh: Lock) -> Entry | None:
    """Return the entry of a program under its former name or signature, with which a check compares it."""
    held = hold(Lock.of(kept.sides[0].values()), fresh)
    for row in held.rows:
        before, after = row.pair[:2]
        if before and after and held.entries[after.dump_id].key == entry.key:
            return held.entries[before.dump_id]
    return None


def _growth(before: Entry | None, entry: Entry) -> int:
    """Return the growth of the memory space that grew most, because bytes of memory spaces are never added up."""
    if before is not None and entry.told == before.told:
        return before.growth_bytes
    olds = {space.memory_space: space.reserved_bytes for space in before.spaces} if before else {}
    return max([0, *(space.reserved_bytes - olds.get(space.memory_space, 0) for space in entry.spaces)])


def other_chip(path: Path, lock: Lock, fresh: Lock, chip: str | None = None) -> LockFault:
    """Return the error for a file that has none of the chips of the dumps; `chip` is the chip that the call named."""
    line, column = place_of(places(_text(path)), ("chip", 0, "name"))
    again = same_options(str(path), chip)
    return LockFault(
        f"{path}:{line}:{column}: expected a chip of the dumps, {' or '.join(map(repr, fresh.chips))}, found "
        f"{' and '.join(map(repr, lock.chips)) or 'none'}; --chip says what they are compiled for, and "
        f"bufferhouse lock --update{again} DUMPS adds a chip"
    )
