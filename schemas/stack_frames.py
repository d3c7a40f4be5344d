"""raw.stack_frames: one stack frame of the tables at the head of a module text."""

from schemas.contract import INTEGER, NUMBERS, TEXT, Column, Contract, natural

STACK_FRAMES = Contract(
    "stack_frames",
    "Stack frames of the tables at the head of a module text (HloModule::PrintStackFrameIndex); equal tables once.",
    grain="one stack frame of the tables of a module text",
    key=["stack_frames_id", "stack_frame_id"],
    columns={
        "stack_frames_id": natural("The tables: first 63 bits of the SHA-256 of all that is stored of them."),
        "stack_frame_id": Column(INTEGER, "Number of the frame, from 1, as instruction texts name it.", minimum=1),
        "call_stack_ids": Column(NUMBERS, "The frame itself and its callers, innermost first."),
        "function_name": Column(TEXT, "Function of the user's program, unescaped."),
        "source_file": Column(TEXT, "Source file of the user's program, unescaped."),
        "source_line": natural("Line in it.", nullable=True),
        "source_end_line": natural("Line in which the expression ends.", nullable=True),
        "source_column": natural("Column in which it begins.", nullable=True),
        "source_end_column": natural("Column in which it ends.", nullable=True),
    },
)
