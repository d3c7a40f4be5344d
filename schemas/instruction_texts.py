"""raw.instruction_texts: one distinct instruction text of a dump."""

from schemas.contract import DUMP_ID, INSTRUCTION_ID, NUMBERS, TEXT, Column, Contract, natural

INSTRUCTION_TEXTS = Contract(
    "instruction_texts",
    "The text of an instruction, stored once per dump (HloInstruction::ToString), and what can be read in it.",
    grain="one distinct instruction text of a dump",
    key=["dump_id", "instruction_text_id"],
    columns={
        "dump_id": DUMP_ID,
        "instruction_text_id": natural("Number of the text in its dump, from 0."),
        "instruction_id": INSTRUCTION_ID,
        "opcode": Column(TEXT, "Operation, such as fusion or copy-start.", nullable=True),
        "op_name": Column(TEXT, "Name of the framework operation, unescaped.", nullable=True),
        "source_file": Column(TEXT, "Source file of the user's program.", nullable=True),
        "source_line": natural("Line in it.", nullable=True),
        "stack_frame_id": natural("Stack frame that replaces file and line since jaxlib 0.8.2.", nullable=True),
        "custom_call_target": Column(TEXT, "Target of a custom call.", nullable=True),
        "result_shape_id": natural("Shape of its result, in raw.shapes: of a tuple the whole tuple.", nullable=True),
        "operand_instruction_ids": Column(NUMBERS, "Its operands, in order: instructions of the same dump."),
        "instruction_text": Column(TEXT, "The text as printed."),
    },
)
