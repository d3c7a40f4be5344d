"""raw.hlo_values: one value of a dump."""

from schemas.contract import (
    ALLOCATION_INDEX,
    BOOLEAN,
    DUMP_ID,
    INSTRUCTION_ID,
    TEXT,
    VALUE_ID,
    Column,
    Contract,
    natural,
    shape_index,
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
        "shape_index": shape_index(
            "Which part of the instruction's result; null = not printed, the result is no tuple.", nullable=True
        ),
        "is_phi": Column(BOOLEAN, "Merges values of a loop or a conditional."),
        "memory_space": natural("Memory space of the value; null where none is printed.", nullable=True),
        "shape_id": natural("Its shape, in raw.shapes."),
        "allocation_index": ALLOCATION_INDEX,
        "offset_bytes": natural("Where its slot begins in the allocation."),
        "size_bytes": natural("Its slot: bytes the backend gives it, padding included."),
        "logical_bytes": natural(
            "Bytes of its elements without any padding; 8 per element for a tuple's pointer table.", nullable=True
        ),
        "physical_bytes": natural("Bytes of its elements laid out in tiles.", nullable=True),
        "uses_state": Column(
            TEXT,
            "Whether uses are listed, none (empty), or not computed; null without the section.",
            nullable=True,
            one_of=["listed", "empty", "uninitialized"],
        ),
        "instruction_text_id": natural("Text of its instruction, in raw.instruction_texts.", nullable=True),
    },
)
