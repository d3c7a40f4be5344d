"""How a table is declared: one place for name, type, nullability, range, description and key.

A declaration is a pandera schema of the polars backend: strict (no other column, this order), without coercion.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import pandera.polars as pa
import polars as pl

INTEGER = pl.Int64
TEXT = pl.String
BOOLEAN = pl.Boolean
MOMENT = pl.Datetime("us", "UTC")
BYTES = pl.Binary
NUMBERS = pl.List(pl.Int64)
LABELS = TEXT  # a JSON object


def column(
    dtype: Any,
    description: str,
    *,
    nullable: bool = False,
    minimum: int | datetime | None = None,
    one_of: Sequence[str] | None = None,
    matches: str | None = None,
) -> pa.Column:
    """Declare a column; `minimum` is inclusive, `one_of` lists the only values there are."""
    checks = []
    if minimum is not None:
        checks.append(pa.Check.ge(minimum))
    if one_of is not None:
        checks.append(pa.Check.isin(list(one_of)))
    if matches is not None:
        checks.append(pa.Check.str_matches(matches))
    return pa.Column(dtype, checks, nullable=nullable, description=description)


def table(
    name: str, description: str, *, grain: str, key: Sequence[str], columns: Mapping[str, pa.Column]
) -> pa.DataFrameSchema:
    """Declare the table `raw.<name>`: `grain` says what a row is, `key` which columns tell rows apart."""
    return pa.DataFrameSchema(
        dict(columns),
        name=name,
        description=description,
        unique=list(key),
        strict=True,
        ordered=True,
        coerce=False,
        metadata={"grain": grain, "key": list(key)},
    )


DUMP_ID = column(INTEGER, "The dump: the first 63 bits of its SHA-256.", minimum=0)
ALLOCATION_INDEX = column(INTEGER, "Index of the allocation in its dump, from 0.", minimum=0)
VALUE_ID = column(INTEGER, "Id of the HLO value in its dump (HloValue::id).", minimum=0)
INSTRUCTION_ID = column(INTEGER, "The instruction, interned per dump in raw.instructions.", minimum=0)
MEMORY_SPACE = column(INTEGER, "Memory space (XLA prints it as color); 0, the default, is not printed.", minimum=0)
SHAPE_INDEX_PATTERN = r"^\{[0-9,]*\}$"
