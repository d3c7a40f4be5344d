"""raw.further_positions: one position of a value behind its first, which is the value itself."""

from schemas.contract import (
    DUMP_ID,
    INSTRUCTION_ID,
    INTEGER,
    SHAPE_INDEX_PATTERN,
    TEXT,
    VALUE_ID,
    column,
    table,
)

FURTHER_POSITIONS = table(
    "further_positions",
    "Where a value appears besides its definition (HloPosition).",
    grain="one position of a value behind its first",
    key=["dump_id", "value_id", "ordinal"],
    columns={
        "dump_id": DUMP_ID,
        "value_id": VALUE_ID,
        "ordinal": column(INTEGER, "Line of the list, from 1.", minimum=1),
        "instruction_id": INSTRUCTION_ID,
        "shape_index": column(
            TEXT,
            "Which part of the instruction's result; null = not printed.",
            nullable=True,
            matches=SHAPE_INDEX_PATTERN,
        ),
    },
)
