"""raw.positions: one position of a value."""

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

POSITIONS = table(
    "positions",
    "Where a value appears; the first position is its definition (HloPosition).",
    grain="one position of a value",
    key=["dump_id", "value_id", "ordinal"],
    columns={
        "dump_id": DUMP_ID,
        "value_id": VALUE_ID,
        "ordinal": column(INTEGER, "Line of the list, from 0.", minimum=0),
        "instruction_id": INSTRUCTION_ID,
        "shape_index": column(
            TEXT,
            "Which part of the instruction's result; null = not printed.",
            nullable=True,
            matches=SHAPE_INDEX_PATTERN,
        ),
    },
)
