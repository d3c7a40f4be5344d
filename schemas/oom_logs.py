"""raw.oom_logs: one log of a run, per load that read it."""

from schemas.contract import INTEGER, TEXT, Column, Contract, natural

# The columns that name a log, and those that name a message of one: all tables of messages begin with these.
_LOG = {
    "run_id": natural("The run that the log is of."),
    "relative_path": Column(
        TEXT, "The log: its path below the run's root, from there with .. where it lies beside, else whole."
    ),
}
MESSAGE = {
    **_LOG,
    "load_id": natural("The load that stored the message."),
    "message_number": natural("Number of the message in its log, from 0."),
}

OOM_LOGS = Contract(
    "oom_logs",
    "One reading of a log that lies beside dumps. Append-only; staging.oom_logs keeps the newest row of a path.",
    grain="one log of a run, per load that read it changed",
    key=[*_LOG, "load_id"],
    columns={
        **_LOG,
        "load_id": natural("The load that read it."),
        "source_uri": Column(TEXT, "Where it was read from, archive members as archive!member."),
        "source_size_bytes": natural("Size of the file as it lies there."),
        "source_mtime_ns": Column(INTEGER, "Its modification time, in nanoseconds since 1970.", nullable=True),
        "message_count": natural("Messages about memory that does not suffice, alike ones once."),
        "refused_count": natural("Lines that begin like a message and are none that is known."),
        "messages_load_id": natural("The load that stored its messages: an older one where they are the same since."),
        "replaced_load_id": natural(
            "The load of the row of this log that was the newest until then; null for its first row.", nullable=True
        ),
    },
)
