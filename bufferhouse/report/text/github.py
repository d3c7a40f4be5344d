"""Workflow commands of GitHub's checks: a line each, which becomes an annotation."""

from bufferhouse.report.text.figures import printable


def annotation(level: str, message: str, *, title: str = "bufferhouse", source: str | None = None) -> str:
    """Return a workflow command: `level` is error, warning or notice, `source` a `file:line` that it belongs to."""
    # What GitHub would take for the end of a command is not printable, or a sign of its own.
    place = ""
    if source:
        file, _, line = printable(source).replace("%", "%25").replace(",", "%2C").rpartition(":")
        place = f"file={file.replace(':', '%3A')},line={line},"
    return f"::{level} {place}title={title}::{printable(message).replace('%', '%25')}"
