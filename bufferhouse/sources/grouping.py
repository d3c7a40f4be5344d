"""Which files belong together: the up to three of one dump, and the module text beside it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from bufferhouse.dump.identity import SUFFIXES
from bufferhouse.errors import SourceUnavailable, told
from bufferhouse.sources import compression
from bufferhouse.sources.directory import Entry, Found
from bufferhouse.sources.module_text import dump_beside, is_module_text, names_beside
from bufferhouse.sources.run import RUN_FILE
from bufferhouse.sources.run_of import relative_to

_SIBLINGS = (SUFFIXES["values"], SUFFIXES["live_range"])


@dataclass(slots=True)
class Files:
    """The files beside dumps, by path: parts of split dumps and module texts; and the number of other files."""

    siblings: dict[str, Entry] = field(default_factory=dict)
    module_texts: dict[str, Entry] = field(default_factory=dict)
    ignored_count: int = 0
    refused: list[str] = field(default_factory=list)

    def joined(self, other: "Files") -> "Files":
        """Return both together."""
        return Files(
            self.siblings | other.siblings,
            self.module_texts | other.module_texts,
            self.ignored_count + other.ignored_count,
            self.refused + other.refused,
        )


def main_of(path: str) -> str:
    """Return the path of the file that the dump of a values, live range or module text file is known by."""
    if is_module_text(path):
        return dump_beside(path)
    plain = compression.plain_name(path)
    for suffix in _SIBLINGS:
        if plain.endswith(suffix):
            return plain.removesuffix(suffix) + SUFFIXES["allocations"]
    return path


def has_main(path: str, files: Mapping[str, Entry]) -> bool:
    """Return whether the dump exists that a file belongs to."""
    main = main_of(path)
    return any(main + suffix in files for suffix in ("", *compression.SUFFIXES))


def parted(files: Mapping[str, Entry], look_inside: bool) -> tuple[list[Entry], Files]:
    """Part files into those that may be dumps and those that lie beside some."""
    candidates: list[Entry] = []
    beside = Files()
    for path, entry in files.items():
        if path.endswith("buffer-assignment.txt"):
            candidates.append(entry)  # asked first, as most files are such
            continue
        try:
            if _is_candidate(entry, files, beside, look_inside):
                candidates.append(entry)
        except SourceUnavailable:
            raise
        except Exception as error:
            beside.refused.append(f"{path}: {told(error)}")
    return candidates, beside


def _is_candidate(entry: Entry, files: Mapping[str, Entry], beside: Files, look_inside: bool) -> bool:
    path = entry.path
    if is_module_text(path) and has_main(path, files):
        beside.module_texts[path] = entry
        return False
    name = compression.plain_name(path)
    if name.endswith(_SIBLINGS) and (not entry.is_explicit or has_main(path, files)):
        beside.siblings[path] = entry
        return False
    if path.endswith(RUN_FILE) and path[-len(RUN_FILE) - 1 : -len(RUN_FILE)] in ("", "/", "!"):
        return False
    is_like_a_dump = entry.is_explicit or name.endswith("buffer-assignment.txt")
    if is_like_a_dump or (look_inside and entry.tree.begins_like_a_dump(entry)):
        return True
    beside.ignored_count += 1
    return False


def grouped(entry: Entry, beside: Files, run_name: str, directory: str) -> Found:
    """Join a dump with its values and live range files, which share its name up to the suffix, and its module text."""
    relative_path = relative_to(entry.path, directory)
    is_alone = not (beside.siblings or beside.module_texts or entry.is_explicit)
    plain = "" if is_alone else compression.plain_name(entry.path)
    if is_alone or not plain.endswith(SUFFIXES["allocations"]):
        return Found(run_name, relative_path, {"combined": entry}, entry.size_bytes, entry.mtime_ns)
    parts = {"allocations": entry}
    stem = plain.removesuffix(SUFFIXES["allocations"])
    own_kind = entry.path.removeprefix(plain)
    for role in ("values", "live_range"):
        paths = [stem + SUFFIXES[role] + suffix for suffix in (own_kind, "", *compression.SUFFIXES)]
        sibling = _first(entry, paths, beside.siblings)
        if sibling is not None:
            parts[role] = sibling
    module_text = _first(entry, list(names_beside(entry.path)), beside.module_texts)
    if module_text is not None:
        module_text.is_head_only = True
    return Found(
        run_name,
        relative_path,
        parts if len(parts) > 1 else {"combined": entry},
        sum(part.size_bytes for part in parts.values()),
        max(part.mtime_ns for part in parts.values()),
        module_text,
    )


def _first(entry: Entry, paths: list[str], known: Mapping[str, Entry]) -> Entry | None:
    """Return the first existing one of some files; the folder of an explicitly named file is not listed yet."""
    for path in paths:
        found = known.get(path) or (entry.tree.beside(path) if entry.is_explicit else None)
        if found is not None:
            return found
    return None
