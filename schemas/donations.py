"""raw.donations: one leaf of a parameter that a program offers, so that XLA can place an output on it."""

from schemas.contract import TEXT, Column, Contract, natural, shape_index

DONATIONS = Contract(
    "donations",
    "Leaves of parameters that module texts offer (HloInputOutputAliasConfig, HloBufferDonorConfig); equal ones once.",
    grain="one leaf of a parameter that a module text offers",
    key=["donations_id", "parameter_number", "parameter_shape_index"],
    columns={
        "donations_id": natural("What a module text offers: first 63 bits of the SHA-256 of all that is stored of it."),
        "parameter_number": natural("Entry parameter."),
        "parameter_shape_index": shape_index("Which leaf of it."),
        "output_shape_index": shape_index("Leaf of the output that is placed on it; null for none.", nullable=True),
        "kind": Column(TEXT, "may-alias, must-alias, or buffer-donor where no output is placed on it."),
    },
)
