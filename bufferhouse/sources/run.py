"""The facts of a compiler run: from the call, from `run.json` beside the dumps, from names and times."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from bufferhouse.errors import UsageError
from bufferhouse.sources.directory import split_at_archive

RUN_FILE = "run.json"
MOST_RUN_FILE_BYTES = 256 << 10
# Directory names that say nothing about the run in them: such a run is called parent/name.
GENERIC_NAMES = frozenset(
    {"xla_dump", "xla_dumps", "xla-dump", "xla-dumps", "xladump", "xla", "dump", "dumps", "hlo", "hlo_dump", "hlo-dump"}
    | {"tmp", "temp", "out", "output", "data"}
)
# Where started_at may come from, the most trusted first.
SOURCES = ("given", "run.json", "file name", "file time", "ingest time")
TEXTS = ("compiler", "compiler_version", "compiler_revision", "platform", "track", "device_kind", "xla_flags",
         "git_revision", "host")  # fmt: skip
NUMBERS = ("device_memory_bytes", "device_count")
LARGEST_NUMBER = 2**63 - 1
_READ = {*TEXTS, *NUMBERS, "labels", "run_name", "started_at"}


class RunFault(UsageError):
    """What is said of a run cannot be read: its dumps are left out."""


@dataclass(slots=True)
class Run:
    """A run before it has a number: `facts` are columns of raw.runs.

    `is_named_by_place`: its name comes from its directory, not from the call or a run.json.
    """

    run_name: str
    root: str
    started_at: datetime
    started_at_source: str
    facts: dict[str, Any] = field(default_factory=dict)
    labels: dict[str, Any] = field(default_factory=dict)
    is_named_by_place: bool = False

    def row(self, run_id: int) -> dict[str, Any]:
        """Return the run as a row of raw.runs, in the order of its columns."""
        return {
            "run_id": run_id,
            "run_name": self.run_name,
            "root": self.root,
            **{name: self.facts.get(name) for name in (*TEXTS[:5], *TEXTS[5:6], *NUMBERS, *TEXTS[6:])},
            "started_at": self.started_at,
            "started_at_source": self.started_at_source,
            "labels": json.dumps(self.labels, sort_keys=True),
        }


def read_run_file(path: str, data: bytes | None) -> dict[str, Any]:
    """Return what a `run.json` with these bytes says of its run, {} where there is none.

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
        if value is not None and name in _READ and (not isinstance(value, wanted) or isinstance(value, bool)):
            raise RunFault(f"{path}: expected {name} to be {wanted.__name__}, found {value!r:.80}")
        if value is not None and name in NUMBERS and not 0 <= value <= LARGEST_NUMBER:
            raise RunFault(f"{path}: expected {name} to be from 0 to 2^63 - 1, found {value}")
    if content.get("started_at"):
        try:
            moment_of(content["started_at"], path)
        except UsageError as error:
            raise RunFault(str(error)) from None
    # Of what is not read a name is enough to say that the file is there.
    return {name: value for name, value in content.items() if name in _READ} or dict.fromkeys(list(content)[:1])


def _json(path: str, data: bytes) -> Any:
    """Return what JSON says that can be written as JSON again."""
    try:
        content = json.loads(data.decode("utf-8"))
        json.dumps(content, ensure_ascii=False, allow_nan=False).encode("utf-8")
    except json.JSONDecodeError as error:
        raise RunFault(f"{path}:{error.lineno}:{error.colno}: expected JSON, found {error.msg}") from None
    except UnicodeDecodeError as error:
        raise RunFault(f"{path}: expected UTF-8, found byte {error.object[error.start]:#04x}") from None
    except UnicodeEncodeError:
        raise RunFault(f"{path}: expected text, found half of a surrogate pair") from None
    except (ValueError, RecursionError) as error:  # numbers of thousands of digits or none at all, brackets as many
        raise RunFault(f"{path}: expected JSON of a few levels and numbers, found: {error}") from None
    return content


def name_of(directory: str, content: Mapping[str, Any], given: str | None) -> str:
    """Return the name of a run: the one given, that of run.json, or the directory's; parent/name for a generic one.

    A run at the top of an archive is called like the archive.
    """
    if given or content.get("run_name"):
        return given or content["run_name"]
    place, inside = split_at_archive(directory)
    parts = [part for part in (place if inside is None else f"{place[:-1]}/{inside}").split("/") if part]
    name = parts[-1] if parts else "run"
    if inside == "":
        name = name.split(".tar")[0].removesuffix(".tgz").removesuffix(".zip")
    if name.lower() in GENERIC_NAMES and len(parts) > 1:
        return f"{parts[-2]}/{name}"
    return name


def make_run(
    name: str,
    root: str,
    content: Mapping[str, Any],
    *,
    labels: Mapping[str, str] | None = None,
    oldest_dumped_at: datetime | None = None,
    oldest_mtime_ns: int | None = None,
) -> Run:
    """Return a run from all that is known about it; `started_at` takes the best source there is."""
    labels = dict(labels or {})
    facts = {key: value for key, value in content.items() if key in (*TEXTS, *NUMBERS) and value is not None}
    # `--label track=nightly` names columns as well as free labels.
    facts.update({key: labels.pop(key) for key in list(labels) if key in TEXTS})
    for key in [key for key in labels if key in NUMBERS]:
        facts[key] = whole_number(labels.pop(key), f"--label {key}")
    given = labels.pop("started_at", None)
    moments = [
        (given and moment_of(given, "--label started_at"), "given"),
        (content.get("started_at") and moment_of(content["started_at"], f"{root}/{RUN_FILE}"), "run.json"),
        (oldest_dumped_at, "file name"),
        (oldest_mtime_ns and datetime.fromtimestamp(oldest_mtime_ns / 1e9, UTC), "file time"),
        (datetime.now(UTC), "ingest time"),
    ]
    started_at, source = next((moment, source) for moment, source in moments if moment)
    return Run(name, root, started_at, source, facts, {**(content.get("labels") or {}), **labels})


def whole_number(text: str, where: str) -> int:
    """Return the number a text stands for.

    Raises:
        UsageError: it is none from 0 to 2^63 - 1; `where` says whose it is.
    """
    if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) <= LARGEST_NUMBER):
        raise UsageError(f"{where}: expected a number, found {text!r}")
    return int(text)


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
