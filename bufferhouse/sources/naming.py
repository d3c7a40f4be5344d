"""Which run a file belongs to by a pattern over its path, such as `{run}/{host}/module_*`."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from bufferhouse.errors import UsageError
from bufferhouse.sources.directory import Entry
from bufferhouse.sources.found import FoundRun
from bufferhouse.sources.run import (
    NUMBERS,
    SOURCES,
    TEXTS,
    Places,
    Run,
    RunFault,
    moment_of,
    number_of,
    relative_to,
    text_of,
)

_TOKEN = re.compile(r"\{(\w+)\}|\*\*/|\*\*|\*|\?|[^*?{}]+|[{}]")
WILD = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def check_pattern(pattern: Any) -> re.Pattern[str]:
    """Return the regular expression of a pattern: `{name}` is part of a path segment, `*`, `?` and `**` as in globs.

    Raises:
        ValueError: it is none, or names no run; the text says what was expected.
    """
    if not isinstance(pattern, str):
        raise ValueError("a pattern like {run}/{host}/module_*")
    parts = []
    for match in _TOKEN.finditer(pattern):
        if match[0] in ("{", "}"):
            raise ValueError("a pattern in which each { has a name and a }, like {run}/{host}/module_*")
        parts.append(f"(?P<{match[1]}>[^/]+?)" if match[1] else WILD.get(match[0]) or re.escape(match[0]))
    return check_regex("".join(parts))


def check_regex(regex: Any) -> re.Pattern[str]:
    """Return a compiled regular expression that has a group called run.

    Raises:
        ValueError: it does not compile or has no such group; the text says what was expected.
    """
    try:
        compiled = re.compile(regex)
    except (re.error, TypeError) as error:
        raise ValueError(f"a regular expression, and this one is none: {error}") from None
    if "run" not in compiled.groupindex:
        raise ValueError("a part that is called run, like {run}/module_* or (?P<run>[^/]+)/module_.*")
    return compiled


class Named(Places):
    """Runs by a pattern over the path below the source; a file that does not match belongs to no run.

    The other groups are facts about the run, or labels; a group in which the files of one run differ is ignored.
    """

    has_pattern = True

    def __init__(self, pattern: re.Pattern[str], labels: Mapping[str, str] | None) -> None:
        super().__init__(None, labels)
        self.pattern = pattern
        self.groups: dict[str, dict[str, str | None]] = {}

    def of(self, entry: Entry) -> tuple[str, str] | None:
        """Return name and directory of the run of a file, None for one that the pattern does not match.

        The directory is the path down to the segment in which the name ends; if that is the name of the file, it is the
        directory of the file.
        """
        path = relative_to(entry.path, entry.base)
        match = self.pattern.fullmatch(path)
        if match is None or not match["run"]:
            return None
        name = match["run"]
        end = path.find("/", match.end("run"))
        inside = path[:end] if end >= 0 else path.rpartition("/")[0]
        base = entry.base.rstrip("/")
        joint = "" if not inside or base.endswith("!") else "/"
        self._note(name, {key: value for key, value in match.groupdict().items() if key != "run" and value})
        return name, f"{base}{joint}{inside}" or "/"

    def _note(self, name: str, groups: dict[str, str]) -> None:
        known = self.groups.setdefault(name, dict(groups))
        for key, value in groups.items():
            if known.setdefault(key, value) != value:
                known[key] = None

    def describe(self, found: Mapping[str, Sequence[FoundRun]]) -> dict[str, Run | RunFault]:
        """Return what is known about each run, the groups of its paths included."""
        runs = super().describe(found)
        for name, run in runs.items():
            if isinstance(run, RunFault):
                continue
            run.is_named_by_place = False
            try:
                for key, value in self.groups[name].items():
                    if value is not None:
                        _tell(run, key, value)
            except UsageError as error:
                runs[name] = RunFault(str(error))
        return runs


def _tell(run: Run, key: str, value: str) -> None:
    """Add what a path says, where nothing better says it."""
    where = f"the path of run {run.run_name}, {key}"
    if key == "started_at":
        if run.started_at_source not in SOURCES[:2]:
            run.started_at, run.started_at_source = moment_of(value, where), "file name"
    elif key in NUMBERS:
        run.facts.setdefault(key, number_of(value, where))
    elif key in TEXTS:
        run.facts.setdefault(key, text_of(key, value))
    else:
        run.labels.setdefault(key, value)
