"""raw.packings: how tightly the temporaries of one allocation can be placed."""

from schemas.contract import BOOLEAN, INTEGER, TEXT, Column, Contract, natural

PACKINGS = Contract(
    "packings",
    "How tightly the values of an allocation of temporaries can be placed, as `bufferhouse pack` found; one per arena.",
    grain="one allocation of temporaries that was packed",
    key=["dump_id", "allocation_index"],
    columns={
        "dump_id": natural("The dump."),
        "allocation_index": natural("The allocation."),
        "alignment_bytes": Column(INTEGER, "What offsets in it are multiples of.", minimum=1),
        "lower_bound_bytes": natural(
            "Most bytes alive at once, aligned, slots in place once: no placement takes fewer."
        ),
        "packed_bytes": natural("Bytes of the smallest placement that was found, and verified."),
        "packer": Column(TEXT, "Who found it: xla, best fit or omnimalloc."),
        "is_cut_short": Column(BOOLEAN, "The search ended for want of time while it was above the bound."),
    },
)
