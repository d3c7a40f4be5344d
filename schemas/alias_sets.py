"""raw.alias_sets: one value that must have the same bytes as others."""

from schemas.contract import VALUE_ID, Contract, natural

ALIAS_SETS = Contract(
    "alias_sets",
    "Values that must have the same bytes (HloBuffer), from the proto of a dump (BufferAssignmentProto.buffer_aliases);"
    " sets of one value are left out, equal ones stored once.",
    grain="one value of an alias set",
    key=["alias_sets_id", "value_id"],
    columns={
        "alias_sets_id": natural("The sets of a proto: first 63 bits of the SHA-256 of all that is stored of them."),
        "first_value_id": natural("The set, called by its value with the smallest id."),
        "value_id": VALUE_ID,
    },
)
