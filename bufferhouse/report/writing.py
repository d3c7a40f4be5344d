"""Write the page of a report to a file."""

from pathlib import Path

from bufferhouse.errors import UsageError
from bufferhouse.warehouse.target import check_target


def check_page_path(path: Path) -> None:
    """Raise a UsageError for a page whose folder does not exist, before any work is done.

    Raises:
        UsageError: its folder does not exist, or a warehouse or a lake is there.
    """
    check_target("--html", path)
    if not path.absolute().parent.is_dir():
        raise UsageError(f"the folder of the page does not exist: {path.absolute().parent}")


def write_page(path: Path, page: str) -> None:
    """Write a page.

    Raises:
        UsageError: it cannot be written there.
    """
    try:
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"the page cannot be written to {path}: {error.strerror}") from None
