"""The proof that no character was skipped, and the captured cells."""

from collections.abc import Sequence

LARGEST_SIZE = 2**53  # beyond it a reader that keeps numbers as doubles (JSON, spreadsheets) would change them


def tiles(columns: Sequence[Sequence[str]], literal: int, length: int) -> bool:
    """Say whether captured columns and `literal` characters of fixed text add up to a section of `length` characters.

    Matches of one `findall` never overlap, so equal sums mean that they tile the section: nothing was skipped.
    """
    return sum(len("".join(column)) for column in columns) + literal == length


def content_end(text: str) -> int:
    """Return the character behind the last line and its line feed; a missing line feed is allowed."""
    if text.endswith("\n") and not text.endswith("\n\n"):
        return len(text)  # nearly always, and without a copy of the text
    return len(text.rstrip("\n")) + 1


def optional_ints(cells: Sequence[str]) -> list[int | None]:
    """Return numbers, None where nothing is printed."""
    if not any(cells):
        return [None] * len(cells)
    return [int(cell) if cell else None for cell in cells]


def optional(cells: Sequence[str]) -> list[str | None]:
    """Return texts, None where nothing is printed."""
    if not any(cells):
        return [None] * len(cells)
    return [cell or None for cell in cells]
