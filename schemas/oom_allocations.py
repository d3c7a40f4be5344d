"""raw.oom_allocations: one numbered block of the listing of a message."""

from schemas.contract import TEXT, Column, Contract, natural
from schemas.oom_logs import MESSAGE

OOM_ALLOCATIONS = Contract(
    "oom_allocations",
    "The largest allocations that a message lists, with sizes as printed.",
    grain="one numbered block of the listing of a message",
    key=[*MESSAGE, "ordinal"],
    columns={
        **MESSAGE,
        "ordinal": natural("Place of the block in the message, from 0."),
        "listed_number": natural("Its number as printed."),
        "printed_text": Column(TEXT, "Its size as printed, such as 7.31G."),
        "nominal_bytes": natural(
            "Bytes that the printed size names, one size of many that are printed so.", nullable=True
        ),
        "instruction_name": Column(TEXT, "Instruction that its label begins with.", nullable=True),
        "op_name": Column(TEXT, "Name of the framework operation.", nullable=True),
        "source_file": Column(TEXT, "Source file of the user's program.", nullable=True),
        "source_line": natural("Line in it.", nullable=True),
        "shape_text": Column(TEXT, "Its shape.", nullable=True),
        "unpadded_text": Column(TEXT, "Its size without padding, as printed.", nullable=True),
        "padding_text": Column(TEXT, "What padding adds, as printed.", nullable=True),
        "tag": Column(TEXT, "What it is for.", nullable=True),
        "label": Column(TEXT, "Its label: the instruction as XLA prints it, which may end in dots.", nullable=True),
        "allocation_type": Column(TEXT, "Its kind as printed: HLO temp or scoped, say.", nullable=True),
    },
)
