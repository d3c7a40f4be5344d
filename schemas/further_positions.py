"""raw.further_positions: one position of a value behind its first, which is the value itself."""

from schemas.contract import DUMP_ID, INSTRUCTION_ID, INTEGER, VALUE_ID, Column, Contract, shape_index

FURTHER_POSITIONS = Contract(
    "further_positions",
    "Where a value appears besides its definition (HloPosition).",
    grain="one position of a value behind its first",
    key=["dump_id", "value_id", "ordinal"],
    columns={
        "dump_id": DUMP_ID,
        "value_id": VALUE_ID,
        "ordinal": Column(INTEGER, "Line of the list, from 1.", minimum=1),
        "instruction_id": INSTRUCTION_ID,
        "shape_index": shape_index("Which part of the instruction's result; null = not printed.", nullable=True),
    },
)
