"""raw.rejects: one refused dump."""

from schemas.contract import BYTES, INTEGER, MOMENT, TEXT, Column, Contract, natural

REJECTS = Contract(
    "rejects",
    "Input that was refused, with its bytes, so that a later parser can try again.",
    grain="one refused dump",
    key=["reject_id"],
    columns={
        "reject_id": natural("Number of the reject in this warehouse."),
        "run_id": natural("The run it was found in."),
        "load_id": natural("The load that refused it."),
        "source_uri": Column(TEXT, "Where it was read from."),
        "relative_path": Column(TEXT, "Path below the run's root."),
        "sha256": Column(TEXT, "Identity of its content, as in raw.dumps.", matches=r"^[0-9a-f]{64}$"),
        "role": Column(TEXT, "Which file of the dump is at fault."),
        "rule": Column(TEXT, "grammar, contract:<table.column> or check:<name>; assertions of the reader by name."),
        "line_number": Column(INTEGER, "Line of the fault, from 1.", nullable=True, minimum=1),
        "column_number": Column(INTEGER, "Column of the fault, from 1.", nullable=True, minimum=1),
        "expected": Column(TEXT, "What was expected there."),
        "found": Column(TEXT, "What was found."),
        "source_size_bytes": natural("Size of the file or files as they lie there."),
        "source_mtime_ns": Column(
            INTEGER, "Modification time of the newest of them, in nanoseconds since 1970.", nullable=True
        ),
        "content": Column(BYTES, "The bytes, compressed by zstd; of a split dump, a tar of its files."),
        "parser_version": Column(TEXT, "Version of bufferhouse that refused it."),
        "state": Column(
            TEXT,
            "open, replayed (a later parser took it) or resolved (the file was repaired).",
            one_of=["open", "replayed", "resolved"],
        ),
        "rejected_at": Column(MOMENT, "When it was refused (UTC)."),
    },
)
