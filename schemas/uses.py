"""raw.uses: one use of a value."""

from schemas.contract import DUMP_ID, INSTRUCTION_ID, INTEGER, SHAPE_INDEX_PATTERN, TEXT, VALUE_ID, Column, Contract

USES = Contract(
    "uses",
    "Who reads a value (HloUse).",
    grain="one use of a value",
    key=["dump_id", "value_id", "ordinal"],
    columns={
        "dump_id": DUMP_ID,
        "value_id": VALUE_ID,
        "ordinal": Column(INTEGER, "Line of the list, from 0.", minimum=0),
        "instruction_id": INSTRUCTION_ID,
        "operand_number": Column(INTEGER, "Operand of the user.", minimum=0),
        "operand_shape_index": Column(
            TEXT, "Which part of the operand; null = not printed.", nullable=True, matches=SHAPE_INDEX_PATTERN
        ),
    },
)
