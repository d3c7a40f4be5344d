"""raw.shapes: one shape text."""

from schemas.contract import NUMBERS, TEXT, Column, Contract, natural

SHAPES = Contract(
    "shapes",
    "Shapes, interned over all dumps, and what they mean in bytes.",
    grain="one shape text",
    key=["shape_id"],
    columns={
        "shape_id": natural("Number of the shape in this warehouse."),
        "shape_text": Column(TEXT, "The shape as printed."),
        "element_type": Column(TEXT, "Element type; null for a tuple.", nullable=True),
        "dims": Column(
            NUMBERS,
            "Dimensions; a bound counts as its dimension, null stands for an unbounded one.",
            nullable=True,
        ),
        "layout": Column(
            TEXT, "Minor-to-major order of the dimensions; null where no layout is printed.", nullable=True
        ),
        "tiles": Column(TEXT, "Tiles, such as (8,128)(2,1).", nullable=True),
        "layout_memory_space": natural("Memory space in the layout, S(n)."),
        "element_bits": natural("Bits of one element as stored.", nullable=True),
        "logical_bytes": natural("Bytes of its elements without padding (ShapeUtil::ByteSizeOf).", nullable=True),
        "physical_bytes": natural("Bytes of its elements laid out in tiles.", nullable=True),
        "tuple_arity": natural("Number of elements of a tuple.", nullable=True),
    },
)
