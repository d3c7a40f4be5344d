"""raw.instructions: one instruction of a dump."""

from schemas.contract import DUMP_ID, INSTRUCTION_ID, TEXT, Column, Contract, natural

INSTRUCTIONS = Contract(
    "instructions",
    "Every instruction name a dump mentions.",
    grain="one instruction of a dump",
    key=["dump_id", "instruction_id"],
    columns={
        "dump_id": DUMP_ID,
        "instruction_id": INSTRUCTION_ID,
        "instruction_name": Column(TEXT, "Name of the instruction, unique in its module."),
        "schedule_position": natural("Its line in the schedule; null for instructions outside it.", nullable=True),
    },
)
