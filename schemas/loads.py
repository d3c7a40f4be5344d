"""raw.loads: one committed batch."""

from schemas.contract import MOMENT, TEXT, Column, Contract, natural

LOADS = Contract(
    "loads",
    "One committed batch: its rows and this row are one transaction.",
    grain="one committed batch",
    key=["load_id"],
    columns={
        "load_id": natural("Number of the load in this warehouse."),
        "started_at": Column(MOMENT, "When the batch was begun (UTC)."),
        "finished_at": Column(MOMENT, "When the batch was committed (UTC)."),
        "parser_version": Column(TEXT, "Version of bufferhouse that parsed the batch."),
        "seen_count": natural("Dumps looked at."),
        "new_count": natural("Contents that were not in the warehouse."),
        "known_count": natural("Dumps whose content was in the warehouse already."),
        "rejected_count": natural("Dumps refused."),
        "text_bytes": natural("Bytes of text read."),
    },
)
