"""raw.oom_ranks: one rank that said a message."""

from schemas.contract import TEXT, Column, Contract, natural
from schemas.oom_logs import LOG_PATH, LOG_RUN, MESSAGE_NUMBER, MESSAGES_LOAD

OOM_RANKS = Contract(
    "oom_ranks",
    "Who said a message, where a launcher writes that before its lines.",
    grain="one rank of a message",
    key=["run_id", "relative_path", "load_id", "message_number", "ordinal"],
    columns={
        "run_id": LOG_RUN,
        "relative_path": LOG_PATH,
        "load_id": MESSAGES_LOAD,
        "message_number": MESSAGE_NUMBER,
        "ordinal": natural("Place among the ranks that said it, from 0."),
        "rank_name": Column(TEXT, "The rank as the launcher writes it, such as [rank3]:."),
    },
)
