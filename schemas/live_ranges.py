"""raw.live_ranges: one live range of a dump."""

from schemas.contract import DUMP_ID, INSTRUCTION_ID, INTEGER, SHAPE_INDEX_PATTERN, TEXT, Column, Contract

LIVE_RANGES = Contract(
    "live_ranges",
    "When a value is alive (BufferLiveRange).",
    grain="one live range of a dump",
    key=["dump_id", "ordinal"],
    columns={
        "dump_id": DUMP_ID,
        "ordinal": Column(INTEGER, "Line of the list, from 0.", minimum=0),
        "instruction_id": INSTRUCTION_ID,
        "shape_index": Column(
            TEXT, "Which part of the instruction's result; always printed.", matches=SHAPE_INDEX_PATTERN
        ),
        "start_position": Column(INTEGER, "First position at which it is alive.", minimum=0),
        "end_position": Column(INTEGER, "Last position at which it is alive: ranges are closed.", minimum=0),
    },
)
