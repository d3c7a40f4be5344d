"""raw.peak_buffers: one peak line of a dump."""

from schemas.contract import DUMP_ID, INSTRUCTION_ID, Contract, natural, shape_index

PEAK_BUFFERS = Contract(
    "peak_buffers",
    "The values XLA lists at its printed peak.",
    grain="one peak line of a dump",
    key=["dump_id", "ordinal"],
    columns={
        "dump_id": DUMP_ID,
        "ordinal": natural("Line of the list, from 0."),
        "instruction_id": INSTRUCTION_ID,
        "shape_index": shape_index(
            "Which part of the instruction's result; recovered where it is not printed (before jaxlib 0.6.0)."
        ),
        "listed_bytes": natural(
            "Bytes as printed: the value's logical bytes, or before jaxlib 0.6.0 those of its whole instruction."
        ),
        "cumulative_bytes": natural("Sum of the lines so far, where printed.", nullable=True),
    },
)
