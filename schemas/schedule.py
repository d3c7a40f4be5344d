"""raw.schedule: one line of the schedule; a view, since instructions know their line."""

from schemas.contract import DUMP_ID, INSTRUCTION_ID, Contract, natural

SCHEDULE = Contract(
    "schedule",
    "The order in which instructions run (InstructionSequence).",
    grain="one line of the schedule",
    key=["dump_id", "schedule_position"],
    columns={
        "dump_id": DUMP_ID,
        "schedule_position": natural("Line of the schedule, from 0."),
        "instruction_id": INSTRUCTION_ID,
    },
    query="""
SELECT dump_id, schedule_position, instruction_id
FROM raw.instructions
WHERE schedule_position IS NOT NULL
""".strip(),
)
