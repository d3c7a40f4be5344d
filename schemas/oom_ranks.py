"""raw.oom_ranks: one rank that said a message."""

from schemas.contract import TEXT, Column, Contract, natural
from schemas.oom_logs import MESSAGE

OOM_RANKS = Contract(
    "oom_ranks",
    "Who said a message, where a launcher writes that before its lines.",
    grain="one rank of a message",
    key=[*MESSAGE, "ordinal"],
    columns={
        **MESSAGE,
        "ordinal": natural("Place among the ranks that said it, from 0."),
        "rank_name": Column(TEXT, "The rank as the launcher writes it, such as [rank3]:."),
    },
)
