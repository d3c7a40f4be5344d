"""Parameters of a statement as typed, and its answer as text or in a file, whole or not at all."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from bufferhouse.errors import UsageError, assignments
from bufferhouse.paths import replacing
from bufferhouse.query.door import Door, types_outside_quotes
from bufferhouse.query.format import FORMATS, answer_text, unique
from bufferhouse.query.hints import cut_off, why_empty, without_live_ranges
from bufferhouse.query.statements import Answer

_PIECE = 1 << 16  # characters
ALL_FORMATS = (*FORMATS, "parquet")
# Types of DuckDB that Parquet has not. Of the last four DuckDB makes others without a word: of a large UHUGEINT -1, of
# BIT and BIGNUM the bytes that it keeps them in, of a time in a zone the time alone.
_NOT_IN_PARQUET = types_outside_quotes("INTERVAL", "UNION", "UHUGEINT", "BIT", "BIGNUM", "TIME WITH TIME ZONE")
ENDINGS = {".csv": "csv", ".json": "json", ".md": "markdown", ".parquet": "parquet"}  # of files, and their formats
_WORDS = {"null": None, "true": True, "false": False}


def pairs(words: Sequence[str], option: str = "") -> dict[str, str]:
    """Return the names and texts of `NAME=VALUE` words, which may be those of an option.

    Raises:
        UsageError: a word is none, or a name is given twice.
    """
    # The parameter ? is $1.
    return assignments(words, "NAME=VALUE", option, lambda name: name.isidentifier() or name.isdecimal())


def values(given: Mapping[str, str]) -> dict[str, int | float | str | bool | None]:
    """Return the values of parameters: numbers, null, true and false, else text; '7' in quotes is text."""
    return {name: _value(text) for name, text in given.items()}


def _value(text: str) -> int | float | str | bool | None:
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if re.fullmatch(r"-?\d{1,300}", text):  # Python makes a number of at most 4,300 digits, DuckDB of far fewer
        return int(text)
    if re.fullmatch(r"-?\d+\.\d+([eE][+-]?\d+)?", text):
        return float(text)
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == "'" else text


def answer(
    door: Door,
    sql: str,
    parameters: Mapping[str, object],
    form: str,
    output: Path | None,
    say: Callable[[str], None] = lambda _: None,
    *,
    needs_live_ranges: bool = False,
    most_rows: int | None = None,
) -> str | None:
    """Run a statement and return its answer in one of ALL_FORMATS; or write it to `output`, whole at the end.

    `say` is told of an answer without a row, and why it has none where that is known; how many dumps are left out of
    one that needs live ranges; and where it ends at `most_rows`, for which nobody asked.

    Raises:
        UsageError: the statement is refused, or cannot be answered; nothing was written.
    """
    if output is None:
        text, count = door.told(
            sql, parameters, lambda found: (answer_text(found.columns, found.rows, form), len(found.rows))
        )
    else:
        text = None
        try:
            # Of what was there nothing is lost when this fails, and nothing new is left behind.
            with replacing(output, is_output=True) as new:
                if form == "parquet":
                    count = door.batches(sql, parameters, lambda types, batches: _write_parquet(types, batches, new))
                else:
                    count = door.told(sql, parameters, lambda found: _write(found, form, new))
        except OSError as error:
            if error.errno is not None:  # nobody named the new file; PyArrow has it in a sentence of its own
                error.filename, error.strerror = str(output), os.strerror(error.errno)
            raise
    why = why_empty(door.con, parameters) if not count else ""
    # What has no rows for want of a program or a run has no dumps to count.
    left_out = without_live_ranges(door.con, parameters) if needs_live_ranges and not why else ""
    told = [*([] if count else ["no rows"]), *filter(None, (why, left_out, cut_off(count, most_rows)))]
    if told:
        say(f"bufferhouse: {': '.join(told)}")
    return text


def _write(found: Answer, form: str, path: Path) -> int:
    with path.open("w", encoding="utf-8") as file:
        write(answer_text(found.columns, found.rows, form), file)
    return len(found.rows)


def write(text: str, file: TextIO) -> None:
    """Write a text and a line feed behind it, piece by piece: as bytes, the whole would be in memory once more."""
    for start in range(0, len(text), _PIECE):
        file.write(text[start : start + _PIECE])
    file.write("\n")


def _write_parquet(types: Sequence[str], batches: Any, path: Path) -> int:
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = unique(batches.schema.names)
    for name, kind in zip(batches.schema.names, types, strict=True):
        if any(found[1] is None for found in _NOT_IN_PARQUET.finditer(kind)):
            raise UsageError(f"Parquet has no type for {name}; write it as text: CAST({name} AS VARCHAR)")
    schema = pa.schema([field.with_name(name) for field, name in zip(batches.schema, names, strict=True)])
    count = 0
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for batch in batches:
            try:
                writer.write_batch(batch.rename_columns(names))
            except pa.ArrowInvalid as error:  # an infinite moment in seconds, of which Parquet makes milliseconds
                raise UsageError(f"Parquet cannot hold a value of the answer: {error}; write it as text") from None
            count += batch.num_rows
    return count
