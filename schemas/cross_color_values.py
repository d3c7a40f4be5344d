"""raw.cross_color_values: one line of such a block."""

from schemas.contract import ALLOCATION_INDEX, DUMP_ID, MEMORY_SPACE, VALUE_ID, Contract, natural

CROSS_COLOR_VALUES = Contract(
    "cross_color_values",
    "Values of another memory space that reuse an allocation (GPU, since 2026-06). They are rows of hlo_values too.",
    grain="one line of such a block",
    key=["dump_id", "allocation_index", "ordinal"],
    columns={
        "dump_id": DUMP_ID,
        "allocation_index": ALLOCATION_INDEX,
        "ordinal": natural("Line of the block, from 0."),
        "value_id": VALUE_ID,
        "memory_space": MEMORY_SPACE,
    },
)
