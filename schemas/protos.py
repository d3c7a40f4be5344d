"""raw.protos: the file of a dump that has no text."""

from schemas.contract import BYTES, DUMP_ID, Column, Contract

PROTOS = Contract(
    "protos",
    "The file of a dump without a text: an HloProto, as it was read. Of a text all bytes are in the other tables.",
    grain="one dump without a text",
    key=["dump_id"],
    columns={
        "dump_id": DUMP_ID,
        "proto": Column(BYTES, "Its bytes, decompressed."),
    },
)
