"""What is in a warehouse, in the text of OpenMetrics, for Prometheus: the figures of `metrics`, and no other."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

CONTENT_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"
_Sample = tuple[dict[str, str], float]


def open_metrics(found: Mapping[str, Any]) -> str:
    """Return the text of what `bufferhouse.ingest.metrics.metrics` returns; what it does not know has no sample.

    All are gauges: a warehouse that is pruned has less than before.
    """
    lines = [
        line for name, unit, about, samples in _families(found) for line in _family(name, unit, about, list(samples))
    ]
    return "\n".join([*lines, "# EOF\n"])


def _families(found: Mapping[str, Any]) -> Iterator[tuple[str, str, str, Any]]:
    load, sources, checks = found["last_load"] or {}, found["sources"], found["failing_checks"]
    yield "dumps", "", "Contents of dumps, each once.", _one(found["dumps"])
    yield "observations", "", "Sightings of dumps.", _one(found["observations"])
    yield "runs", "", "Runs.", _one(len(found["runs"]))
    yield "repeat_ratio", "ratio", "Share of sightings whose content was seen before.", _one(found["repeat_share"])
    yield "text_bytes", "bytes", "Text of all contents.", _one(found["text_bytes"])
    yield "file_bytes", "bytes", "Size of the warehouse.", _one(found["file_bytes"])
    yield "published_bytes", "bytes", "Size of the published copy.", _one(found["published_bytes"])
    yield "published_timestamp_seconds", "seconds", "When it was published.", _one(_moment(found["published_at"]))
    tables = found["tables"].items()
    yield "table_rows", "", "Rows of a table.", (({"table": name}, row["rows"]) for name, row in tables)
    yield "table_bytes", "bytes", "Size of a table.", (({"table": name}, row["bytes"]) for name, row in tables)
    yield "open_rejects", "", "Refused dumps and messages that nobody has repaired.", _one(found["open_rejects"])
    yield "rejects", "", "Refused dumps and messages of logs.", (
        ({"rule": row["rule"], "state": row["state"]}, row["count"]) for row in found["rejects"]
    )  # fmt: skip
    came_last = _moment(load.get("finished_at"))
    yield "last_load_timestamp_seconds", "seconds", "When dumps came last, loaded or refused.", _one(came_last)
    yield "last_load_dumps", "", "Dumps of the last load.", (
        ({"outcome": outcome}, load[outcome]) for outcome in ("new", "known", "rejected") if load
    )  # fmt: skip
    yield "is_being_written", "", "1 while a process has the warehouse to write.", _one(int(bool(found["writer"])))
    # Without this a copy of last night reads as a warehouse into which nothing has come since.
    yield "may_be_old", "", "1 if these figures are not the newest state, such as those of the published copy.", (
        _one(int(bool(found["note"])))
    )  # fmt: skip
    yield "source_observations", "", "Sightings from a configured source.", (
        ({"source": name}, row["observations"]) for name, row in sources.items()
    )  # fmt: skip
    yield "source_quiet_seconds", "seconds", "How long a source has brought nothing new.", (
        ({"source": name}, row["quiet_seconds"]) for name, row in sources.items() if row["quiet_seconds"] is not None
    )  # fmt: skip
    yield "source_is_stale", "", "1 if that is longer than configured.", (
        ({"source": name}, int(row["is_stale"])) for name, row in sources.items()
    )  # fmt: skip
    yield "check_offenders", "", "Offenders of a check that fails; no sample where all hold, or none were run.", (
        ({"check": name, "severity": row["severity"]}, row["offenders"]) for name, row in (checks or {}).items()
    )  # fmt: skip


def _one(value: float | None) -> list[_Sample]:
    return [] if value is None else [({}, value)]


def _moment(text: str | None) -> float | None:
    return None if text is None else datetime.fromisoformat(text).timestamp()


def _family(name: str, unit: str, about: str, samples: list[_Sample]) -> Iterator[str]:
    if not samples:
        return
    full = f"bufferhouse_{name}"
    yield f"# TYPE {full} gauge"
    if unit:
        yield f"# UNIT {full} {unit}"
    yield f"# HELP {full} {about}"
    for labels, value in samples:
        told = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
        yield f"{full}{{{told}}} {value}" if told else f"{full} {value}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
