"""raw.loads: one committed batch."""

from schemas.contract import INTEGER, MOMENT, TEXT, column, table

LOADS = table(
    "loads",
    "One committed batch: its rows and this row are one transaction.",
    grain="one committed batch",
    key=["load_id"],
    columns={
        "load_id": column(INTEGER, "Number of the load in this warehouse.", minimum=0),
        "started_at": column(MOMENT, "When the batch was begun (UTC)."),
        "finished_at": column(MOMENT, "When the batch was committed (UTC)."),
        "parser_version": column(TEXT, "Version of bufferhouse that parsed the batch."),
        "seen_count": column(INTEGER, "Dumps looked at.", minimum=0),
        "new_count": column(INTEGER, "Contents that were not in the warehouse.", minimum=0),
        "known_count": column(INTEGER, "Dumps whose content was in the warehouse already.", minimum=0),
        "rejected_count": column(INTEGER, "Dumps refused.", minimum=0),
        "text_bytes": column(INTEGER, "Bytes of text read.", minimum=0),
    },
)
