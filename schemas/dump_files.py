"""raw.dump_files: one file of a dump."""

from schemas.contract import DUMP_ID, TEXT, Column, Contract, natural

DUMP_FILES = Contract(
    "dump_files",
    "The files of a dump.",
    grain="one file of a dump",
    key=["dump_id", "role"],
    columns={
        "dump_id": DUMP_ID,
        "role": Column(
            TEXT,
            "Which file: combined, or allocations, values, live_range of a split dump, or a proto.",
            one_of=["combined", "allocations", "values", "live_range", "proto"],
        ),
        "sha256": Column(TEXT, "SHA-256 of the file.", matches=r"^[0-9a-f]{64}$"),
        "text_bytes": natural("Bytes of the file."),
        "trailing_newlines": natural("Line feeds behind the last section, beyond what the grammar asks for."),
    },
)
