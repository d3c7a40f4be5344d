"""raw.peak_buffers: one peak line of a dump."""

from schemas.contract import DUMP_ID, INSTRUCTION_ID, INTEGER, SHAPE_INDEX_PATTERN, TEXT, Column, Contract

PEAK_BUFFERS = Contract(
    "peak_buffers",
    "The values XLA lists at its printed peak.",
    grain="one peak line of a dump",
    key=["dump_id", "ordinal"],
    columns={
        "dump_id": DUMP_ID,
        "ordinal": Column(INTEGER, "Line of the list, from 0.", minimum=0),
        "instruction_id": INSTRUCTION_ID,
        "shape_index": Column(
            TEXT,
            "Which part of the instruction's result; recovered where it is not printed (before jaxlib 0.6.0).",
            matches=SHAPE_INDEX_PATTERN,
        ),
        "listed_bytes": Column(
            INTEGER,
            "Bytes as printed: the value's logical bytes, or before jaxlib 0.6.0 those of its whole instruction.",
            minimum=0,
        ),
        "cumulative_bytes": Column(INTEGER, "Sum of the lines so far, where printed.", nullable=True, minimum=0),
    },
)
