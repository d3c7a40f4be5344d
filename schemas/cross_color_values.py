"""raw.cross_color_values: one line of such a block."""

from schemas.contract import ALLOCATION_INDEX, DUMP_ID, INTEGER, MEMORY_SPACE, VALUE_ID, Column, Contract

CROSS_COLOR_VALUES = Contract(
    "cross_color_values",
    "Values of another memory space that reuse an allocation (GPU, since 2026-06). They are rows of hlo_values too.",
    grain="one line of such a block",
    key=["dump_id", "allocation_index", "ordinal"],
    columns={
        "dump_id": DUMP_ID,
        "allocation_index": ALLOCATION_INDEX,
        "ordinal": Column(INTEGER, "Line of the block, from 0.", minimum=0),
        "value_id": VALUE_ID,
        "memory_space": MEMORY_SPACE,
    },
)
