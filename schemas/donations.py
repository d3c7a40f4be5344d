"""raw.donations: one leaf of a parameter that a program offers, so that XLA can place an output on it."""

from schemas.contract import INTEGER, SHAPE_INDEX_PATTERN, TEXT, Column, Contract

DONATIONS = Contract(
    "donations",
    "Leaves of parameters that module texts offer (HloInputOutputAliasConfig, HloBufferDonorConfig); equal ones once.",
    grain="one leaf of a parameter that a module text offers",
    key=["donations_id", "parameter_number", "parameter_shape_index"],
    columns={
        "donations_id": Column(
            INTEGER, "What a module text offers: first 63 bits of the SHA-256 of all that is stored of it.", minimum=0
        ),
        "parameter_number": Column(INTEGER, "Entry parameter.", minimum=0),
        "parameter_shape_index": Column(TEXT, "Which leaf of it.", matches=SHAPE_INDEX_PATTERN),
        "output_shape_index": Column(
            TEXT, "Leaf of the output that is placed on it; null for none.", nullable=True, matches=SHAPE_INDEX_PATTERN
        ),
        "kind": Column(TEXT, "may-alias, must-alias, or buffer-donor where no output is placed on it."),
    },
)
