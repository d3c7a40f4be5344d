"""raw.shapes: one shape text."""

from schemas.contract import INTEGER, NUMBERS, TEXT, Column, Contract

SHAPES = Contract(
    "shapes",
    "Shapes, interned over all dumps, and what they mean in bytes.",
    grain="one shape text",
    key=["shape_id"],
    columns={
        "shape_id": Column(INTEGER, "Number of the shape in this warehouse.", minimum=0),
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
        "layout_memory_space": Column(INTEGER, "Memory space in the layout, S(n).", minimum=0),
        "element_bits": Column(INTEGER, "Bits of one element as stored.", nullable=True, minimum=0),
        "logical_bytes": Column(
            INTEGER,
            "Bytes of its elements without padding (ShapeUtil::ByteSizeOf).",
            nullable=True,
            minimum=0,
        ),
        "physical_bytes": Column(INTEGER, "Bytes of its elements laid out in tiles.", nullable=True, minimum=0),
        "tuple_arity": Column(INTEGER, "Number of elements of a tuple.", nullable=True, minimum=0),
    },
)
