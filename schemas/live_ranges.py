"""raw.live_ranges: one live range of a dump."""

from schemas.contract import DUMP_ID, INSTRUCTION_ID, Contract, natural, shape_index

LIVE_RANGES = Contract(
    "live_ranges",
    "When a value is alive (BufferLiveRange).",
    grain="one live range of a dump",
    key=["dump_id", "ordinal"],
    columns={
        "dump_id": DUMP_ID,
        "ordinal": natural("Line of the list, from 0."),
        "instruction_id": INSTRUCTION_ID,
        "shape_index": shape_index("Which part of the instruction's result; always printed."),
        "start_position": natural("First position at which it is alive."),
        "end_position": natural("Last position at which it is alive: ranges are closed."),
    },
)
