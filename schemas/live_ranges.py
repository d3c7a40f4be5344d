"""raw.live_ranges: one live range of a dump."""

from schemas.contract import DUMP_ID, INSTRUCTION_ID, INTEGER, SHAPE_INDEX_PATTERN, TEXT, column, table

LIVE_RANGES = table(
    "live_ranges",
    "When a value is alive (BufferLiveRange).",
    grain="one live range of a dump",
    key=["dump_id", "ordinal"],
    columns={
        "dump_id": DUMP_ID,
        "ordinal": column(INTEGER, "Line of the list, from 0.", minimum=0),
        "instruction_id": INSTRUCTION_ID,
        "shape_index": column(
            TEXT, "Which part of the instruction's result; always printed.", matches=SHAPE_INDEX_PATTERN
        ),
        "start_position": column(INTEGER, "First position at which it is alive.", minimum=0),
        "end_position": column(INTEGER, "Last position at which it is alive: ranges are closed.", minimum=0),
    },
)
