"""Workflow commands of GitHub's checks: a line each, which becomes an annotation."""

from bufferhouse.report.text.figures import printable


def annotation(level: str, message: str, *, title: str = "bufferhouse", source: str | None = None) -> str:
    """Return a workflow command: `level` is error, warning or notice, `source` the place that it belongs to."""
    file, line = place_of(source)
    place = f"file={_property(file)}," if file else ""
    place += f"line={line}," if line is not None else ""
    return f"::{level} {place}title={_property(title)}::{_data(message)}"


def place_of(source: str | None) -> tuple[str | None, int | None]:
    """Return file and line of a `file:line`; a source without a line is a file."""
    file, _, line = (source or "").rpartition(":")
    return (file, int(line)) if file and line.isdecimal() else (source or None, None)


def _data(text: str) -> str:
    # What GitHub would take for the end of a command is not printable, or a sign of its own.
    return printable(text).replace("%", "%25")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
