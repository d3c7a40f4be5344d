"""The addresses of source lines, by the pattern `report.source_url` of the configuration."""

from collections.abc import Callable
from urllib.parse import quote


def source_links(pattern: str | None, git_revision: str | None) -> Callable[[str | None, int | None], str | None]:
    """Return a function from file and line to an address, or to None if a value that the pattern needs is not known.

    Values are quoted in the address, so that no file name can lead to another host.
    """
    if not pattern or ("{git_revision}" in pattern and not git_revision):
        return lambda file, line: None
    begun = pattern.replace("{git_revision}", quote(git_revision or "", safe=""))

    def link(file: str | None, line: int | None) -> str | None:
        if not file or (line is None and "{line}" in begun):
            return None
        said = quote(file.lstrip("/"), safe="/", errors="replace")
        parts = (part.replace("{line}", str(line)) for part in begun.split("{file}"))
        return said.join(parts)

    return link
