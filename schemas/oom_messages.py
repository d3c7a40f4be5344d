"""raw.oom_messages: one message about a program that did not fit."""

from schemas.contract import BOOLEAN, INTEGER, TEXT, Column, Contract, natural
from schemas.oom_logs import MESSAGE

OOM_MESSAGES = Contract(
    "oom_messages",
    "What XLA says in a log of a program that does not fit, and JAX of a donation; what ranks say alike is one row.",
    grain="one message of a log, per load that stored it",
    key=[*MESSAGE],
    columns={
        **MESSAGE,
        "message_id": natural("What it says: first 63 bits of a SHA-256; equal in all logs and ranks that say it."),
        "dialect": Column(
            TEXT,
            "Form of the message: T1 to T8 of TPU, G1 and G2 of GPU, R a warning of rematerialization, D of donation.",
            one_of=["T1", "T2", "T3", "T3b", "T3r", "T4", "T5", "T6", "T7", "T8", "G1", "G2", "G3", "R", "D"],
        ),
        "line_number": Column(INTEGER, "Line of the log in which it first begins, from 1.", minimum=1),
        "memory_space_name": Column(TEXT, "Memory that does not suffice: hbm, vmem, smem.", nullable=True),
        "module_name": Column(TEXT, "Module that it names, verbatim; most name none.", nullable=True),
        "instruction_name": Column(TEXT, "Instruction that it names.", nullable=True),
        "shape_text": Column(TEXT, "Shape that it names.", nullable=True),
        "tag": Column(TEXT, "What the allocation that did not fit is for.", nullable=True),
        "is_failure": Column(BOOLEAN, "Says that something did not fit; a warning of rematerialization does not."),
        "capacity_bytes": natural(
            "Bytes that it did not fit into, as far as the printed figure tells them.", nullable=True
        ),
        "fault_text": Column(
            TEXT, "Why its figures are not relied on: it is cut, say; null where they are.", nullable=True
        ),
        "message_text": Column(TEXT, "Its lines, verbatim, without what loggers and launchers write before them."),
    },
)
