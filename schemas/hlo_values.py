"""raw.hlo_values: one value of a dump."""

from schemas.contract import (
    ALLOCATION_INDEX,
    BOOLEAN,
    DUMP_ID,
    INSTRUCTION_ID,
    INTEGER,
    SHAPE_INDEX_PATTERN,
    TEXT,
    VALUE_ID,
    Column,
    Contract,
)

HLO_VALUES = Contract(
    "hlo_values",
    "One value placed in an allocation (HloValue).",
    grain="one value of a dump",
    key=["dump_id", "value_id"],
    columns={
        "dump_id": DUMP_ID,
        "value_id": VALUE_ID,
        "instruction_id": INSTRUCTION_ID,
        "shape_index": Column(
            TEXT,
            "Which part of the instruction's result; null = not printed, the result is no tuple.",
            nullable=True,
            matches=SHAPE_INDEX_PATTERN,
        ),
        "is_phi": Column(BOOLEAN, "Merges values of a loop or a conditional."),
        "memory_space": Column(
            INTEGER, "Memory space of the value; null where none is printed.", nullable=True, minimum=0
        ),
        "shape_id": Column(INTEGER, "Its shape, in raw.shapes.", minimum=0),
        "allocation_index": ALLOCATION_INDEX,
        "offset_bytes": Column(INTEGER, "Where its slot begins in the allocation.", minimum=0),
        "size_bytes": Column(INTEGER, "Its slot: bytes the backend gives it, padding included.", minimum=0),
        "logical_bytes": Column(
            INTEGER,
            "Bytes of its elements without any padding; 8 per element for a tuple's pointer table.",
            nullable=True,
            minimum=0,
        ),
        "physical_bytes": Column(INTEGER, "Bytes of its elements laid out in tiles.", nullable=True, minimum=0),
        "uses_state": Column(
            TEXT,
            "Whether uses are listed, none (empty), or not computed; null without the section.",
            nullable=True,
            one_of=["listed", "empty", "uninitialized"],
        ),
        "instruction_text_id": Column(
            INTEGER, "Text of its instruction, in raw.instruction_texts.", nullable=True, minimum=0
        ),
    },
)
