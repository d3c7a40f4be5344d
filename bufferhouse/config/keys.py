"""The configuration keys: every section and key of `bufferhouse.toml` with kind, default and purpose."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit
from zoneinfo import available_timezones

from bufferhouse.config.cron import is_cron
from bufferhouse.config.threshold import LIMIT, METRICS, RESHAPED_MODES, parse_threshold
from bufferhouse.errors import UsageError
from bufferhouse.redaction import remember
from bufferhouse.sources.naming import check_pattern, check_regex
from bufferhouse.sources.run import NUMBERS, TEXTS, moment_of

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_LONGEST = 36_500 * 86400  # seconds: a hundred years; what is longer no clock adds up
_NO_PLACES = {"localtime", "Factory"}  # of zoneinfo, which Prefect's clock does not know


@dataclass(frozen=True, slots=True)
class Key:
    """One key: `kind` turns a value of TOML into one of Python, or raises ValueError saying what was expected.

    The value of a secret is shown nowhere, not even where it is wrong.
    """

    kind: Callable[[Any], Any]
    default: Any
    description: str
    is_secret: bool = False


def text(value: Any) -> str:
    """Take a text that is not empty."""
    if not isinstance(value, str) or not value or "\0" in value:  # no path has a NUL in it
        raise ValueError("a text that is not empty")
    return value


def file_name(value: Any) -> str:
    """Take the name of a file without a folder before it."""
    found = text(value)
    if "/" in found or found in (".", ".."):
        raise ValueError("the name of a file, without a folder")
    return found


def texts(value: Any) -> list[str]:
    """Take a list of texts; a single text is a list of one."""
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list) or not value or not all(isinstance(item, str) and item for item in value):
        raise ValueError("a text, or a list of texts that are not empty")
    return value


def flag(value: Any) -> bool:
    """Take true or false."""
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


def duration(value: Any) -> float:
    """Return seconds: a number of them, or a number with s, m, h or d behind it."""
    seconds = value if type(value) in (int, float) else -1  # of no subclass: true is none
    if isinstance(value, str) and (match := re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([smhd])", value)):
        seconds = float(match[1]) * _UNITS[match[2]]
    if not 0 <= seconds <= _LONGEST:
        raise ValueError("seconds, or a duration like 90s, 5m, 1h or 30d")
    return float(seconds)


def duration_text(seconds: float) -> str:
    """Return a duration as a configuration may write it, in its largest whole unit; infinity is `off`."""
    if seconds == float("inf"):
        return "off"
    unit = next((unit for unit, size in reversed(_UNITS.items()) if seconds and seconds % size == 0), "s")
    return f"{seconds / _UNITS[unit]:.15g}{unit}"


def age(value: Any) -> float:
    """Return seconds, more than none: what is older is removed. A number without a unit is easily meant as days."""
    try:
        seconds = duration(value)
    except ValueError:
        seconds = 0.0  # its message expects seconds, which 90 of somebody who means days would become
    if seconds == 0 or (not isinstance(value, str) and seconds < _UNITS["d"]):
        raise ValueError("an age like 90d or 12h")
    return seconds


def schedule(value: Any) -> float | str | None:
    """Return seconds between two runs, five fields of cron, or None for `off`."""
    if value == "off":
        return None
    if isinstance(value, str) and is_cron(value):
        return value
    try:
        seconds = duration(value)
    except ValueError:
        seconds = 0
    if seconds < 1:
        raise ValueError("a duration of a second or more like 90s or 1h, five fields of cron like 0 6 * * *, or off")
    return seconds


def own_schedule(value: Any) -> float | str:
    """Return a schedule as `schedule` does, or `off`; None in a source means the value of the section."""
    return "off" if value == "off" else schedule(value)


def timezone(value: Any) -> str:
    """Take the name of a time zone."""
    if not isinstance(value, str) or value not in available_timezones() - _NO_PLACES:
        raise ValueError("the name of a time zone, like UTC or Europe/Berlin")
    return value


def count(value: Any) -> int:
    """Take a whole number from 1 on."""
    if type(value) is not int or value < 1:
        raise ValueError("a whole number from 1 on")
    return value


def limit(value: Any) -> int | None:
    """Take a whole number from 0 on, or None for `off`."""
    if value == "off":
        return None
    if type(value) is not int or value < 0:
        raise ValueError("a whole number from 0 on, or off")
    return value


def quiet(value: Any) -> float:
    """Return seconds, infinity for `off`; None in a source means the value of the section."""
    try:
        return float("inf") if value == "off" else duration(value)
    except ValueError as error:
        raise ValueError(f"{error}, or off") from None


def severity(value: Any) -> str | None:
    """Take a severity of checks, or None for `off`."""
    if value not in ("error", "warn", "off"):
        raise ValueError("error, warn or off")
    return None if value == "off" else value


def share(value: Any) -> float:
    """Take a number from 0 to 1."""
    if type(value) not in (int, float) or not 0 <= value <= 1:
        raise ValueError("a number from 0 to 1")
    return float(value)


def labels(value: Any) -> dict[str, str]:
    """Take a table of texts; numbers and truths become their text."""
    if not isinstance(value, dict) or not all(isinstance(item, str | int | float) for item in value.values()):
        raise ValueError('a table of texts, like { team = "serving" }')
    for key, item in value.items():
        if key in NUMBERS and (not re.fullmatch(r"[0-9]{1,18}", str(item)) or int(item) == 0):
            raise ValueError(f"a number above 0 for {key}")
        if key == "started_at":
            _moment(item)
    return {key: str(item).lower() if isinstance(item, bool) else str(item) for key, item in value.items()}


def _moment(value: Any) -> None:
    try:
        moment_of(str(value), "")
    except UsageError:
        raise ValueError("started_at as ISO 8601, like 2026-01-31T12:00:00Z") from None


def run_pattern(value: Any) -> str:
    """Take a pattern over paths, as it is written."""
    check_pattern(value)
    return value


def run_regex(value: Any) -> str:
    """Take a regular expression over paths, as it is written."""
    check_regex(value)
    return value


def source_name(value: Any) -> str:
    """Take a name that can stand in variables, tags and URLs."""
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", value):
        raise ValueError("a name of letters, digits, - and _")
    return value


def threshold(value: Any) -> str:
    """Take a limit of growth: a share, bytes, or both."""
    try:
        parse_threshold(text(value))
    except UsageError:
        raise ValueError(LIMIT) from None
    return value


def one_of(*words: str) -> Callable[[Any], str]:
    """Return what takes one of some words."""

    def word(value: Any) -> str:
        if value not in words:
            raise ValueError(f"{', '.join(words[:-1])} or {words[-1]}")
        return value

    return word


metric, reshaped, task_runner = one_of(*METRICS), one_of(*RESHAPED_MODES), one_of("processes", "dask")


def source_url(value: Any) -> str:
    """Take the pattern of the addresses of source lines."""
    found = text(value)
    if (
        not re.fullmatch(r"https?://[^\s<>\"'\\{}]+(\{(git_revision|file|line)\}[^\s<>\"'\\{}]*)*", found)
        or "{file}" not in found
    ):
        raise ValueError(
            "an address with {file}, and {line} and {git_revision}: https://host/blob/{git_revision}/{file}#L{line}"
        )
    return found


def web_hook(value: Any) -> str:
    """Take the address of a web hook, which is a secret."""
    found = _secret_address(value)
    if not re.fullmatch(r"https?://[^\s/?#{}]+/[^\s{}]+", found):
        raise ValueError("the address of a web hook, like https://hooks.slack.com/services/T…/B…/…")
    return found


def mailbox(value: Any) -> str:
    """Take the address of mail as Apprise writes it, which has the password in it."""
    found = _secret_address(value)
    if not re.fullmatch(r"mailtos?://[^\s/?#]+[^\s]*", found):
        raise ValueError(
            "an address like mailtos://user:password@example.org?smtp=smtp.example.org&to=team@example.org"
        )
    return found


def silence(value: Any) -> float:
    """Return seconds, ten or more as Prefect asks; infinity for `off`."""
    seconds = quiet(value)
    if seconds < 10:
        raise ValueError("a duration of 10 seconds or more, or off")
    return seconds


def _secret_address(value: Any) -> str:
    """Hide an address, and what in it is secret by itself, from now on."""
    found = value if isinstance(value, str) else ""
    remember(found)
    try:
        parts = urlsplit(found)
        remember(parts.path.rsplit("/", 1)[-1])
        remember(parts.password)
        remember(unquote(parts.password or ""))
    except ValueError:  # no address: whoever asked says so
        pass
    return found


SECTIONS: dict[str, dict[str, Key]] = {
    "warehouse": {
        "path": Key(text, None, "The warehouse, a file or a lake; else warehouse.duckdb beside the configuration."),
        "data_path": Key(text, None, "Where the files of a lake go when it is made: a folder or an s3:// URL."),
        "wait": Key(duration, 300.0, "How long to wait for another writer."),
        "publish": Key(flag, True, "Publish a copy for readers after each change."),
        "workers": Key(count, None, "Processes of a local Dask cluster; else one for each core."),
    },
    "schedule": {
        "ingest": Key(schedule, 3600.0, "When to look for new dumps."),
        "site": Key(schedule, "0 6 * * *", "When to bring the site up to date."),
        "fleet_report": Key(schedule, "0 6 * * *", "The former name of schedule.site, for one release."),
        "regressions": Key(schedule, "30 6 * * *", "When to compare the newest runs."),
        "maintain": Key(schedule, "0 3 * * 0", "When to prune, compact, verify and publish."),
        "timezone": Key(timezone, "UTC", "The time zone of cron fields."),
    },
    "flows": {
        "task_runner": Key(task_runner, "processes", "What parses: processes, that of the flow run, or dask."),
        "dask_address": Key(text, None, "The Dask scheduler, tcp://host:8786; else warehouse.workers processes here."),
    },
    "report": {
        "target": Key(text, None, "A folder or an s3:// URL that reports are written to."),
        "source_url": Key(source_url, None, "Where source lines are: https://host/blob/{git_revision}/{file}#L{line}."),
        "url": Key(text, None, "Where people see the target, for links: https://reports.example/fleet."),
        "history": Key(flag, True, "Keep each report under its date, beside the newest."),
    },
    "thresholds": {
        "failing_share": Key(share, 0.5, "An ingest fails when more than this share of its new dumps is refused."),
        "rejects": Key(limit, 10, "More new rejects of a source in one pass than this are an event, or off."),
        "stale": Key(quiet, 7 * 86400.0, "A source that brings nothing new for longer than this is an event, or off."),
        "failed_check": Key(severity, "error", "Checks of this severity that find offenders are an event, or off."),
    },
    "notify": {
        "slack": Key(web_hook, None, "A web hook of Slack, or of what takes the same messages.", is_secret=True),
        "mail": Key(mailbox, None, "Mail: mailtos://user:password@host?smtp=…&to=….", is_secret=True),
        "quiet": Key(duration, 6 * 3600.0, "What was told is not told again for this long."),
        "silence": Key(silence, 3 * 3600.0, "No ingest that ended well for this long is told, or off."),
    },
    "regressions": {
        "limit": Key(threshold, "5%,16MiB", "A program that grew by this share, by these bytes, or both, is an event."),
        "metric": Key(metric, "reserved", "What is compared: reserved, occupied, temp or footprint."),
        "accept": Key(text, None, "A TOML file of growth that was accepted."),
        "reshaped": Key(reshaped, "fail", "What growth of a program with another signature is: fail, warn or ignore."),
    },
    "retention": {
        "keep_runs": Key(count, None, "Keep this many of the newest runs of each platform, track and device."),
        "older_than": Key(age, None, "Remove runs older than this."),
        "compact": Key(flag, True, "Give free space back."),
        "snapshots": Key(duration, 86400.0, "How long old snapshots of a lake can be read."),
        "verify_sample": Key(count, 100, "Prove this many dumps, chosen at random."),
    },
}
SOURCE: dict[str, Key] = {
    "name": Key(source_name, None, "What the source is called, in tags and messages."),
    "paths": Key(texts, None, "Directories, globs, archives or s3:// URLs."),
    "runs": Key(run_pattern, None, "The path of a dump, with the run in it: {run}/{host}/module_*."),
    "runs_regex": Key(run_regex, None, "The same as a regular expression with named groups."),
    "track": Key(text, None, "The track of all its runs."),
    "labels": Key(labels, {}, f"Facts about all its runs: {', '.join(TEXTS[:4])}, …, or labels of your own."),
    "include": Key(texts, [], "Only files that match one of these globs."),
    "exclude": Key(texts, [], "No files that match one of these globs."),
    "look_inside": Key(flag, False, "Take files that begin like a dump too, whatever they are called."),
    "settle": Key(duration, 10.0, "A file is read when it has not changed for this long."),
    "marker": Key(file_name, None, "The name of a file that marks its folder and all below as complete."),
    "grace": Key(duration, 600.0, "How long a dump in several files waits for those that are missing."),
    "schedule": Key(own_schedule, None, "When to look into this source; else as all."),
    "stale": Key(quiet, None, "Nothing new for longer than this is an event, or off; else as all."),
}
