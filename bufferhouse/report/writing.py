"""Write a report: its page to a file, and the link to where it is."""

from pathlib import Path
from urllib.parse import quote

from bufferhouse.errors import UsageError, unwritable
from bufferhouse.paths import replacing
from bufferhouse.warehouse.target import check_target


def check_page_path(path: Path, option: str = "--html", thing: str = "page") -> None:
    """Check where a page, or another thing that an option asks for, is to be written, before any work is done.

    Raises:
        UsageError: its folder does not exist, or a folder, a warehouse or a lake is there.
    """
    check_target(option, path)
    if not path.absolute().parent.is_dir():
        raise UsageError(f"the folder of the {thing} does not exist: {path.absolute().parent}")


def write_page(path: Path, page: str, thing: str = "page") -> None:
    """Write a page, or another thing, whole or not at all.

    Raises:
        UsageError: it cannot be written there.
        WarehouseFull: there is no space left.
    """
    try:
        with replacing(path, is_output=True) as new:
            new.write_text(page, encoding="utf-8")
    except OSError as error:
        raise unwritable(f"the {thing} cannot be written to {path}", error) from None


def link_to(place: str, name: str, seen_at: str | None) -> str:
    """Return the link to a report: below `seen_at`, the URL of the target for readers, else the place as a URL."""
    if seen_at:
        return f"{seen_at.rstrip('/')}/{quote(name)}"
    return place if "://" in place else Path(place).as_uri()
