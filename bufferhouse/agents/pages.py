"""Pages of an answer: a limited number of rows of each list, and never more text than an agent can read."""

from typing import Any, NamedTuple

from bufferhouse.errors import UsageError
from bufferhouse.query.format import plain_json

MOST_ROWS = 200
MOST_CHARACTERS = 60_000  # of an answer
LONG_TEXT = 2_000  # characters that stay of a longer text, if one row alone is too long


class Page(NamedTuple):
    """Rows from `offset` on, `limit` at most."""

    offset: int = 0
    limit: int = 20


def paged(found: dict[str, Any], page: Page) -> str:
    """Return an object as JSON with one page of each of its lists.

    `pages` says for each incomplete list how many rows it has and where the next page begins. Lists within rows are cut
    to as many items as rows were asked for. If a list has a single row, the lists within it have pages, too, and the
    row is on each page. If a page with so many rows is too long, it has fewer rows. If one row alone is too long, as
    with the signature of a program with thousands of parameters, long texts lose their middle.

    Raises:
        UsageError: one row is too long even with shortened texts, or the page begins behind the end of every list.
    """
    if page.offset < 0 or not 1 <= page.limit <= MOST_ROWS:
        raise UsageError(f"expected offset >= 0 and limit from 1 to {MOST_ROWS}, found {page.offset}, {page.limit}")
    is_cut, count = False, page.limit
    while True:
        left: dict[str, dict[str, Any]] = {}
        shown = _object(found, page, count, left, "")
        if page.offset and left and all(page.offset >= one["rows"] for one in left.values()):
            longest = max(one["rows"] for one in left.values())
            raise UsageError(f"offset: expected less than {longest}, the rows of the longest list; found {page.offset}")
        if is_cut:
            shown = _without_long_texts(shown, left, "")
        text = plain_json({**shown, "pages": left})
        if len(text) <= MOST_CHARACTERS:
            return text
        if count > 1:
            count //= 2
        elif not is_cut:
            is_cut, count = True, page.limit
        else:
            raise UsageError(
                f"one row has {len(text):,} characters, more than the {MOST_CHARACTERS:,} of an answer; ask for fewer "
                "columns, one program or one part, or with a lower limit"
            )


def _object(
    found: dict[str, Any], page: Page, count: int, left: dict[str, dict[str, Any]], path: str
) -> dict[str, Any]:
    """Return an object with a limited number of rows of each list; note the rows left out in `left`."""
    shown: dict[str, Any] = {}
    for name, value in found.items():
        place = f"{path}{name}"
        if isinstance(value, dict):
            shown[name] = _object(value, page, count, left, f"{place}.")
        elif isinstance(value, list) and len(value) == 1 and "[]" not in path and (most := _longest_within(value[0])):
            row = _object(value[0], page, count, left, f"{place}[].")
            shown[name] = [row] if page.offset < most else []
        elif isinstance(value, list) and name != "reads":
            rows = value[page.offset : page.offset + count]
            end = page.offset + len(rows)
            if len(rows) < len(value):
                left[place] = {"rows": len(value), "next_offset": end if end < len(value) and rows else None}
            shown[name] = [
                _row(row, page.limit, left, f"{place}[]" if isinstance(row, list) else place) for row in rows
            ]
        else:
            shown[name] = value
    return shown


def _longest_within(row: Any) -> int:
    """Return the length of the longest list that a row holds; 0 if it holds none, or is not a row."""
    return max((len(one) for one in row.values() if isinstance(one, list)), default=0) if isinstance(row, dict) else 0


def _row(row: Any, limit: int, left: dict[str, dict[str, Any]], path: str) -> Any:
    """Return a row whose lists have at most `limit` items."""
    if isinstance(row, dict):
        return {
            name: _row(value, limit, left, f"{path}[].{name}") if isinstance(value, list) else value
            for name, value in row.items()
        }
    if not isinstance(row, list):
        return row
    if len(row) > limit:
        about = left.setdefault(path, {"rows": 0, "next_offset": None, "is_cut_to": limit})
        about["rows"] = max(about["rows"], len(row))
    return [_row(one, limit, left, f"{path}[]" if isinstance(one, list) else path) for one in row[:limit]]


def _without_long_texts(value: Any, left: dict[str, dict[str, Any]], path: str) -> Any:
    """Return an answer with only the ends of its long texts; note in `left` which texts were shortened."""
    if isinstance(value, dict):
        return {name: _without_long_texts(one, left, f"{path}.{name}" if path else name) for name, one in value.items()}
    if isinstance(value, list):
        return [_without_long_texts(one, left, f"{path}[]") for one in value]
    if not isinstance(value, str) or len(value) <= LONG_TEXT:
        return value
    about = left.setdefault(path, {"characters": 0, "next_offset": None, "is_cut_to": LONG_TEXT})
    about["characters"] = max(about["characters"], len(value))
    half = LONG_TEXT // 2
    return f"{value[: half - 1]}…{value[-half:]}"
