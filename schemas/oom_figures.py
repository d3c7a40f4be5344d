"""raw.oom_figures: one figure of a message."""

from schemas.contract import BOOLEAN, INTEGER, TEXT, Column, Contract, natural
from schemas.oom_logs import MESSAGE

OOM_FIGURES = Contract(
    "oom_figures",
    "The figures of messages, as printed, and what the message alone proves of each.",
    grain="one figure of a message",
    key=[*MESSAGE, "ordinal"],
    columns={
        **MESSAGE,
        "ordinal": natural("Place of the figure in the message, from 0."),
        "figure_name": Column(TEXT, "What it is a figure of, such as used, capacity, hlo_temp."),
        "printed_text": Column(TEXT, "The figure as printed, such as 19.07G."),
        "size_bytes": natural("Its bytes where they are printed; null where it is rounded.", nullable=True),
        "nominal_bytes": natural("Bytes that it names, one size of many that are printed so."),
        "least_bytes": natural("Fewest bytes that are printed so; null where none are.", nullable=True),
        "most_bytes": natural("Most bytes that are printed so.", nullable=True),
        "told_bytes": Column(INTEGER, "Its bytes as the message alone proves them.", nullable=True),
        "told_rule": Column(TEXT, "How the message alone proves them, such as as printed.", nullable=True),
        "is_told": Column(BOOLEAN, "The message alone proves its bytes; else it takes a dump."),
    },
)
