"""raw.uses: one use of a value."""

from schemas.contract import DUMP_ID, INSTRUCTION_ID, VALUE_ID, Contract, natural, shape_index

USES = Contract(
    "uses",
    "Who reads a value (HloUse).",
    grain="one use of a value",
    key=["dump_id", "value_id", "ordinal"],
    columns={
        "dump_id": DUMP_ID,
        "value_id": VALUE_ID,
        "ordinal": natural("Line of the list, from 0."),
        "instruction_id": INSTRUCTION_ID,
        "operand_number": natural("Operand of the user."),
        "operand_shape_index": shape_index("Which part of the operand; null = not printed.", nullable=True),
    },
)
