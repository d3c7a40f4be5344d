"""raw.loads: one committed batch."""

from schemas.contract import INTEGER, MOMENT, TEXT, Column, Contract

LOADS = Contract(
    "loads",
    "One committed batch: its rows and this row are one transaction.",
    grain="one committed batch",
    key=["load_id"],
    columns={
        "load_id": Column(INTEGER, "Number of the load in this warehouse.", minimum=0),
        "started_at": Column(MOMENT, "When the batch was begun (UTC)."),
        "finished_at": Column(MOMENT, "When the batch was committed (UTC)."),
        "parser_version": Column(TEXT, "Version of bufferhouse that parsed the batch."),
        "seen_count": Column(INTEGER, "Dumps looked at.", minimum=0),
        "new_count": Column(INTEGER, "Contents that were not in the warehouse.", minimum=0),
        "known_count": Column(INTEGER, "Dumps whose content was in the warehouse already.", minimum=0),
        "rejected_count": Column(INTEGER, "Dumps refused.", minimum=0),
        "text_bytes": Column(INTEGER, "Bytes of text read.", minimum=0),
    },
)
