"""Where source lines are to be seen: the pattern `report.source_url` of the configuration."""

from collections.abc import Callable
from urllib.parse import quote


def source_links(pattern: str | None, git_revision: str | None) -> Callable[[str | None, int | None], str | None]:
    """Return a function from file and line to an address; to None where something that the pattern needs is not known.

    What stands in the address is quoted: a file name can lead nowhere else.
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
