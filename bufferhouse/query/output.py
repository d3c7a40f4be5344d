"""Parameters of a statement as typed, and its answer as text or in a file, whole or not at all."""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from bufferhouse.errors import UsageError
from bufferhouse.query.door import Door
from bufferhouse.query.format import FORMATS, formatted

_PIECE = 1 << 16  # characters
ALL_FORMATS = (*FORMATS, "parquet")
_WORDS = {"null": None, "true": True, "false": False}


def pairs(words: Sequence[str]) -> dict[str, str]:
    """Return the names and texts of `NAME=VALUE` words.

    Raises:
        UsageError: a word is none, or a name is given twice.
    """
    found: dict[str, str] = {}
    for word in words:
        name, sign, text = word.partition("=")
        if not sign or not name.isidentifier():
            raise UsageError(f"--param: expected NAME=VALUE, found {word!r}")
        if name in found:
            raise UsageError(f"--param {name} is given twice")
        found[name] = text
    return found


def values(given: Mapping[str, str]) -> dict[str, int | float | str | bool | None]:
    """Return the values of parameters: numbers, null, true and false, else text; '7' in quotes is text."""
    return {name: _value(text) for name, text in given.items()}


def _value(text: str) -> int | float | str | bool | None:
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    if re.fullmatch(r"-?\d+\.\d+(e-?\d+)?", text):
        return float(text)
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == "'" else text


def answer(door: Door, sql: str, parameters: Mapping[str, object], form: str, output: Path | None) -> str | None:
    """Run a statement and return its answer in one of ALL_FORMATS; or write it to `output`, whole at the end.

    Raises:
        UsageError: the statement is refused, or cannot be answered; nothing was written.
    """
    if output is None:
        return door.told(sql, parameters, lambda found: formatted(found.columns, found.rows, form))
    # Of what was there nothing is lost when this fails, and nothing new is left behind.
    temporary = output.with_name(f".{output.name}.{os.getpid()}.new")
    try:
        if form == "parquet":
            door.batches(sql, parameters, lambda batches: _write_parquet(batches, temporary))
        else:
            door.told(sql, parameters, lambda found: _write(formatted(found.columns, found.rows, form), temporary))
        os.replace(temporary, output)
    finally:
        temporary.unlink(missing_ok=True)
    return None


def _write(text: str, path: Path) -> None:
    with path.open("w") as file:
        write(text, file)


def write(text: str, file: TextIO) -> None:
    """Write a text and a line feed behind it, piece by piece: as bytes, the whole would be in memory once more."""
    for start in range(0, len(text), _PIECE):
        file.write(text[start : start + _PIECE])
    file.write("\n")


def _write_parquet(batches: Any, path: Path) -> None:
    import pyarrow.parquet as pq

    with pq.ParquetWriter(path, batches.schema, compression="zstd") as writer:
        for batch in batches:
            writer.write_batch(batch)
