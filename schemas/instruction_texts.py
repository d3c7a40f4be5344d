"""raw.instruction_texts: one distinct instruction text of a dump."""

from schemas.contract import DUMP_ID, INSTRUCTION_ID, INTEGER, NUMBERS, TEXT, Column, Contract

INSTRUCTION_TEXTS = Contract(
    "instruction_texts",
    "The text of an instruction, stored once per dump (HloInstruction::ToString), and what can be read in it.",
    grain="one distinct instruction text of a dump",
    key=["dump_id", "instruction_text_id"],
    columns={
        "dump_id": DUMP_ID,
        "instruction_text_id": Column(INTEGER, "Number of the text in its dump, from 0.", minimum=0),
        "instruction_id": INSTRUCTION_ID,
        "opcode": Column(TEXT, "Operation, such as fusion or copy-start.", nullable=True),
        "op_name": Column(TEXT, "Name of the framework operation, unescaped.", nullable=True),
        "source_file": Column(TEXT, "Source file of the user's program.", nullable=True),
        "source_line": Column(INTEGER, "Line in it.", nullable=True, minimum=0),
        "stack_frame_id": Column(
            INTEGER, "Stack frame that replaces file and line since jaxlib 0.8.2.", nullable=True, minimum=0
        ),
        "custom_call_target": Column(TEXT, "Target of a custom call.", nullable=True),
        "result_shape_id": Column(
            INTEGER, "Shape of its result, in raw.shapes: of a tuple the whole tuple.", nullable=True, minimum=0
        ),
        "operand_instruction_ids": Column(NUMBERS, "Its operands, in order: instructions of the same dump."),
        "instruction_text": Column(TEXT, "The text as printed."),
    },
)
