"""raw.allocations: one allocation of a dump."""

from schemas.contract import (
    ALLOCATION_INDEX,
    BOOLEAN,
    DUMP_ID,
    INTEGER,
    MEMORY_SPACE,
    TEXT,
    Column,
    Contract,
    natural,
    shape_index,
)

ALLOCATIONS = Contract(
    "allocations",
    "One contiguous reservation of memory (BufferAllocation).",
    grain="one allocation of a dump",
    key=["dump_id", "allocation_index"],
    columns={
        "dump_id": DUMP_ID,
        "allocation_index": ALLOCATION_INDEX,
        "size_bytes": natural("Bytes reserved, rounded up by the backend."),
        "memory_space": MEMORY_SPACE,
        "page": Column(INTEGER, "Page of the heap, null where none is printed.", nullable=True),
        "pointer": Column(TEXT, "Process address, null where none is printed.", nullable=True),
        "is_constant": Column(BOOLEAN, "Holds a constant."),
        "is_thread_local": Column(
            BOOLEAN, "Belongs to each thread of a called computation; never part of a device's total."
        ),
        "is_maybe_live_out": Column(BOOLEAN, "May hold an output."),
        "parameter_number": natural("Entry parameter it holds.", nullable=True),
        "parameter_shape_index": shape_index("Which leaf of the parameter.", nullable=True),
        "parameter_shape_id": natural(
            "Shape printed for the parameter: the whole one before jaxlib 0.7.2, the leaf's since.", nullable=True
        ),
        "output_shape_id": natural(
            "Shape of the program's output, on the one allocation that holds its root.", nullable=True
        ),
        "has_strict_overlap": Column(
            BOOLEAN,
            "Values share bytes otherwise than in pairs that touch; occupied bytes are then swept per address segment.",
        ),
    },
)
