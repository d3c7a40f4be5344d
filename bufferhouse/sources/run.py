"""The facts of a compiler run: from the call, from `run.json` beside the dumps, from names and times."""

import json
import os
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from bufferhouse.errors import LARGEST_NUMBER, UsageError, whole_number
from bufferhouse.sources.directory import Entry, Tree, archive_ending, split_at_archive
from bufferhouse.sources.found import FoundRun

RUN_FILE = "run.json"
MOST_RUN_FILE_BYTES = 256 << 10
# Directory names that say nothing about the run in them: such a run is called like the nearest parent that does.
GENERIC_NAMES = frozenset(
    {"xla_dump", "xla_dumps", "xla-dump", "xla-dumps", "xladump", "xla", "dump", "dumps", "hlo", "hlo_dump", "hlo-dump"}
    | {"tmp", "temp", "out", "output", "data", "profile"}
)
# Where started_at may come from, the most trusted first.
SOURCES = ("given", "run.json", "file name", "file time", "ingest time")
# A start further in the future is a mistake, or a clock's; less is a time zone that somebody left out.
AHEAD = timedelta(days=1)
# XLA is of 2017. Archives, stores of packages and images that are to be the same each time give their files an older
# time, such as 1970 or 1980: by that a run would be the first to be pruned.
_FIRST_DUMPS = datetime(2017, 1, 1, tzinfo=UTC)
TEXTS = ("compiler", "compiler_version", "compiler_revision", "platform", "track", "device_kind", "xla_flags",
         "git_revision", "host")  # fmt: skip
NUMBERS = ("device_memory_bytes", "device_count")
KEYS = ("run_name", *TEXTS, *NUMBERS, "started_at", "labels")
PLATFORMS = ("cpu", "gpu", "tpu")
_MOST_UNREAD_KEYS = 8  # that are named; a file has room for thousands


class RunFault(UsageError):
    """The facts of a run cannot be read: its dumps are left out."""


@dataclass(slots=True)
class Run:
    """A run before it has a number: `facts` are columns of raw.runs.

    `is_named_by_place`: its name comes from its directory, not from the call or a run.json. `unread_keys` are the first
    keys of its run.json that are none of KEYS.
    """

    run_name: str
    root: str
    started_at: datetime
    started_at_source: str
    facts: dict[str, Any] = field(default_factory=dict)
    labels: dict[str, Any] = field(default_factory=dict)
    is_named_by_place: bool = False
    is_named_by_call: bool = False
    unread_keys: list[str] = field(default_factory=list)

    def row(self, run_id: int) -> dict[str, Any]:
        """Return the run as a row of raw.runs, in the order of its columns."""
        return {
            "run_id": run_id,
            "run_name": self.run_name,
            "root": self.root,
            **{name: self.facts.get(name) for name in (*TEXTS[:6], *NUMBERS, *TEXTS[6:])},
            "started_at": self.started_at,
            "started_at_source": self.started_at_source,
            "labels": json.dumps(self.labels, sort_keys=True),
        }


def read_run_file(path: str, data: bytes | None) -> dict[str, Any]:
    """Return the facts of a `run.json` with these bytes, {} if there is no file.

    Keys that are not read have the value None.

    Raises:
        RunFault: the file is no JSON object, is too large, or a field has the wrong type.
    """
    if data is None:
        return {}
    if len(data) > MOST_RUN_FILE_BYTES:
        raise RunFault(f"{path}: expected at most {MOST_RUN_FILE_BYTES} bytes, found more")
    content = _json(path, data)
    if not isinstance(content, dict):
        raise RunFault(f"{path}:1:1: expected a JSON object, found {type(content).__name__}")
    for name, value in content.items():
        wanted = int if name in NUMBERS else dict if name == "labels" else str
        if value is not None and name in KEYS and (not isinstance(value, wanted) or isinstance(value, bool)):
            raise RunFault(f"{path}: expected {name} to be {wanted.__name__}, found {value!r:.80}")
        if value is not None and name in NUMBERS and not 0 <= value <= LARGEST_NUMBER:
            raise RunFault(f"{path}: expected {name} to be from 0 to 2^63 - 1, found {value}")
    if content.get("started_at"):
        try:
            moment_of(content["started_at"], path)
        except UsageError as error:
            raise RunFault(str(error)) from None
    for name in NUMBERS:
        if content.get(name) == 0:
            content[name] = None  # what launchers write if they do not know it: no device has no memory
    if not (content.get("run_name") or "").strip():
        content.pop("run_name", None)
    unread = [name for name in content if name not in KEYS]
    return {name: content[name] for name in content if name in KEYS} | dict.fromkeys(unread[:_MOST_UNREAD_KEYS])


def _json(path: str, data: bytes) -> Any:
    """Return the value of a JSON text, if it can be written as JSON again."""
    try:
        content = json.loads(data.decode("utf-8"))
        json.dumps(content, ensure_ascii=False, allow_nan=False).encode("utf-8")
    except json.JSONDecodeError as error:
        raise RunFault(f"{path}:{error.lineno}:{error.colno}: {_json_fault(error)}") from None
    except UnicodeDecodeError as error:
        raise RunFault(f"{path}: expected UTF-8, found byte {error.object[error.start]:#04x}") from None
    except UnicodeEncodeError:
        raise RunFault(f"{path}: expected text, found half of a surrogate pair") from None
    except (ValueError, RecursionError) as error:  # numbers of thousands of digits or none at all, brackets as many
        # Python goes on with advice for programmers.
        found = str(error).partition("; use sys.")[0]
        raise RunFault(f"{path}: expected JSON of a few levels and numbers, found: {found}") from None
    return content


def _json_fault(error: json.JSONDecodeError) -> str:
    """Return what was expected where a text is no JSON, and what is there."""
    expected = error.msg.removeprefix("Expecting ")
    if expected == error.msg:
        return f"expected JSON, found: {error.msg}"
    found = error.doc[error.pos :].partition("\n")[0][:20]
    return f"expected JSON: a {expected}, found {repr(found) if found else 'the end of the line'}"


def own_names(runs: Iterable[tuple[str | None, str]]) -> dict[str, str]:
    """Return the name of each directory whose run has no given name, from the given names and directories of runs."""
    given: set[str] = set()
    roots: dict[str, str] = {}
    for name, directory in runs:
        if name is not None:
            given.add(name)
        elif directory not in roots:
            roots[directory] = root_of(directory)
    names = names_by_place(roots.values(), given)
    return {directory: names[root] for directory, root in roots.items()}


def names_by_place(roots: Iterable[str], taken: Collection[str] = ()) -> dict[str, str]:
    """Return a name for each run that only its directory names; all names differ, also from those that are taken.

    A run is called like its directory, without last parts that say nothing (GENERIC_NAMES); a run at the top of an
    archive is called like the archive. As many parents come before the name as are needed to tell the runs apart; if
    all of them are not enough, the whole path is the name.
    """
    parts = {root: _telling_parts(root) for root in dict.fromkeys(roots)}
    alike = Counter(map(tuple, parts.values()))  # such as r.tar beside r.tar.gz, and x beside x/dump
    parts = {root: _telling_parts(root, is_whole=alike[tuple(found)] > 1) for root, found in parts.items()}
    depths = dict.fromkeys(parts, 1)
    while True:
        names = {root: "/".join(parts[root][-depth:]) for root, depth in depths.items()}
        owners: dict[str, list[str]] = {name: [""] for name in taken}
        for root, name in names.items():
            owners.setdefault(name, []).append(root)
        longer = [
            root
            for same in owners.values()
            if len(same) > 1
            for root in same
            if root and depths[root] < len(parts[root])
        ]
        if not longer:
            return {root: name if len(owners[name]) == 1 else root for root, name in names.items()}
        for root in longer:
            depths[root] += 1


def _telling_parts(root: str, *, is_whole: bool = False) -> list[str]:
    """Return the parts of a name from the first to the last.

    `is_whole` keeps the ending of an archive, and last parts that say nothing; these are also kept if no part says
    more.
    """
    place, inside = split_at_archive(root)
    if inside is None:
        parts = place.split("/")
    else:
        archive = place[:-1]
        if not is_whole:
            archive = archive.removesuffix(archive_ending(archive))
        parts = [*archive.split("/"), *inside.split("/")]
    parts = [part for part in parts if part]
    end = len(parts)
    while not is_whole and end and parts[end - 1].lower() in GENERIC_NAMES:
        end -= 1
    return parts[:end] or parts or ["run"]


def make_run(
    name: str,
    root: str,
    content: Mapping[str, Any],
    *,
    labels: Mapping[str, str] | None = None,
    oldest_dumped_at: datetime | None = None,
    oldest_mtime_ns: int | None = None,
) -> Run:
    """Return a run from all that is known about it; `started_at` comes from the best source."""
    labels = dict(labels or {})
    facts = {key: value for key, value in content.items() if key in NUMBERS and value is not None}
    # `--label track=nightly` names columns as well as free labels.
    said = {**content, **{key: labels.pop(key) for key in list(labels) if key in TEXTS}}
    facts |= {key: text_of(key, value) for key, value in said.items() if key in TEXTS and value is not None}
    for key in [key for key in labels if key in NUMBERS]:
        facts[key] = number_of(labels.pop(key), f"--label {key}")
    given = labels.pop("started_at", None)
    moments = [
        (given and moment_of(given, "--label started_at"), "given"),
        (content.get("started_at") and moment_of(content["started_at"], f"{root}/{RUN_FILE}"), "run.json"),
        (oldest_dumped_at, "file name"),
        (oldest_mtime_ns and _moment_of_file(oldest_mtime_ns), "file time"),
        (datetime.now(UTC), "ingest time"),
    ]
    started_at, source = next((moment, source) for moment, source in moments if moment)
    all_labels = {**(content.get("labels") or {}), **labels}
    unread = [key for key in content if key not in KEYS]
    return Run(name, root, started_at, source, facts, all_labels, unread_keys=unread)


def _moment_of_file(mtime_ns: int) -> datetime | None:
    """Return the time of a dump's file; None where no dump can be of that time."""
    moment = datetime.fromtimestamp(mtime_ns / 1e9, UTC)
    return moment if _FIRST_DUMPS <= moment <= datetime.now(UTC) + AHEAD else None


def text_of(key: str, value: str) -> str:
    """Return the value of a fact of TEXTS; some frameworks write the platforms that dumps name in capitals."""
    return value.lower() if key == "platform" and value.lower() in PLATFORMS else value


def number_of(text: str, where: str) -> int:
    """Return the value of a fact of NUMBERS.

    Raises:
        UsageError: it is no whole number above 0; `where` says whose it is.
    """
    if number := whole_number(text, where):
        return number
    raise UsageError(f"{where}: expected a number above 0, found 0; leave it out if it is not known")


def moment_of(text: str, where: str) -> datetime:
    """Return the moment a text in ISO 8601 stands for; without a time zone it is UTC.

    Raises:
        UsageError: it is none; `where` says whose it is.
    """
    try:
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise UsageError(
            f"{where}: expected started_at as ISO 8601, like 2026-01-31T12:00:00Z, found {text!r}"
        ) from None


class Places:
    """The run of each directory, looked up once per directory."""

    has_pattern = False  # whether paths alone say of which run a file is

    def __init__(self, run_name: str | None, labels: Mapping[str, str] | None) -> None:
        self.run_name = run_name
        self.labels = labels
        self.only_base: str | None = None  # with a given name, everything below it is one run
        self.contents: dict[str, dict[str, Any] | str] = {}  # what each run.json says, or why it cannot be read
        self.places: dict[tuple[str, str], tuple[str | None, str]] = {}

    def of(self, entry: Entry) -> tuple[str | None, str]:
        """Return the name and the directory of the run a file belongs to; the name is None where nothing gives one.

        Raises:
            RunFault: the run.json of the run cannot be read.
        """
        key = entry.path.rpartition("/")[0], entry.base
        place = self.places.get(key)
        if place is None:
            directory = self.only_base or self._directory(entry.tree, parent_of(entry.path), entry.base)
            name = self.run_name or self._content(entry.tree, directory).get("run_name")
            place = self.places[key] = name, directory
        return place

    def _content(self, tree: Tree, directory: str) -> dict[str, Any]:
        if directory not in self.contents:
            path = f"{directory}{'' if split_at_archive(directory)[1] == '' else '/'}{RUN_FILE}"
            try:
                self.contents[directory] = read_run_file(path, tree.text(path, MOST_RUN_FILE_BYTES + 1))
            except OSError as error:
                self.contents[directory] = f"{path}: {error.strerror or error}"
            except RunFault as error:
                self.contents[directory] = str(error)
        content = self.contents[directory]
        if isinstance(content, str):
            raise RunFault(content)
        return content

    def _directory(self, tree: Tree, own: str, base: str) -> str:
        """Return the nearest directory with a run.json, not above the source, else the dump's own."""
        directory = own
        while not self._content(tree, directory):
            if directory.rstrip("/") == base.rstrip("/"):
                return own
            above = parent_of(directory)
            if above == directory:  # a name that ends as an archive does, and is none, is its own top
                return own
            directory = above
        return directory

    def describe(self, found: Mapping[str, Sequence[FoundRun]]) -> dict[str, Run | RunFault]:
        """Return the facts of each run, by its name; the oldest dump dates a run without a date.

        A run whose run.json or path holds impossible facts is a RunFault instead.

        Raises:
            UsageError: a fact given on the call is wrong.
        """
        runs: dict[str, Run | RunFault] = {}
        for name, same in found.items():
            directory = same[0].directory
            try:
                content = self._content(same[0].tree, directory)
            except RunFault as fault:
                runs[name] = fault
                continue
            runs[name] = make_run(
                name,
                root_of(directory),
                content,
                labels=self.labels,
                oldest_dumped_at=min((one.oldest_dumped_at for one in same if one.oldest_dumped_at), default=None),
                oldest_mtime_ns=min(one.oldest_mtime_ns for one in same),
            )
            runs[name].is_named_by_place = not (self.run_name or content.get("run_name"))
            runs[name].is_named_by_call = bool(self.run_name)
        return runs


def parent_of(path: str) -> str:
    """Return the directory of a path; the top directory of an archive is `archive!`."""
    archive, inside = split_at_archive(path)
    if inside is not None:
        return archive + inside.rpartition("/")[0]
    return path.rpartition("/")[0] or ("/" if path.startswith("/") else ".")


def root_of(directory: str) -> str:
    """Return a directory as a run remembers it: absolute, links resolved."""
    if "://" in directory:
        return directory
    return _resolved(directory if directory.startswith("/") else os.path.join(os.getcwd(), directory))


@lru_cache(1024)
def _resolved(directory: str) -> str:
    path, inside = split_at_archive(directory)
    return os.path.realpath(path) if inside is None else f"{os.path.realpath(path[:-1])}!{inside}"


def relative_to(path: str, directory: str) -> str:
    """Return the path of a file below a directory."""
    if directory.endswith("/"):
        directory = directory.rstrip("/")
    if directory and path.startswith(directory):
        rest = path[len(directory) :]
        if not rest or rest[0] == "/" or directory[-1] == "!":  # the file .x in the directory . begins so, too
            return rest.lstrip("/")
    return os.path.relpath(path, directory or "/")
