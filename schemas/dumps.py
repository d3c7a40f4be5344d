"""raw.dumps: one content."""

from schemas.contract import BOOLEAN, DUMP_ID, TEXT, Column, Contract, natural

DUMPS = Contract(
    "dumps",
    "One content: a buffer-assignment dump, stored once however often it was seen.",
    grain="one content",
    key=["dump_id"],
    columns={
        "dump_id": DUMP_ID,
        "sha256": Column(
            TEXT,
            "SHA-256 of the file, or of `suffix LF hex LF` over the files of a split dump.",
            matches=r"^[0-9a-f]{64}$",
        ),
        "text_bytes": natural("Bytes of all its files."),
        "load_id": natural("The load that brought the content."),
        "signature_id": natural("First 63 bits of the SHA-256 of entry_signature."),
        "entry_signature": Column(
            TEXT, "Element types and dimensions of every parameter leaf and of the output, without layout."
        ),
        "file_layout": Column(
            TEXT,
            "One file, split files (since jaxlib 0.10), or a proto without a text.",
            one_of=["combined", "split", "proto"],
        ),
        "text_encoding": Column(
            TEXT, "utf-8, or latin-1 where the bytes are not valid UTF-8.", one_of=["utf-8", "latin-1"]
        ),
        "used_values_state": Column(TEXT, "Whether the section `Used values:` is there.", one_of=["present", "absent"]),
        "live_range_state": Column(
            TEXT,
            "State of the section HloLiveRange; unbounded: XLA could not name a peak.",
            one_of=["present", "absent", "not available", "unbounded"],
        ),
        "total_bytes": natural(
            "`Total bytes used`: the sum of all allocation sizes over all memory spaces, in a proto, too. Not a peak.",
            nullable=True,
        ),
        "total_human": Column(TEXT, "The same as printed for people, such as 18.5KiB.", nullable=True),
        "max_position": natural(
            "Number of schedule lines; position max_position is the end of the program.", nullable=True
        ),
        "reported_peak_position": natural("Position XLA prints as `(peak)`; often not the peak.", nullable=True),
        "has_pointer": Column(BOOLEAN, "Headers show process addresses (before 2022-09)."),
        "has_page": Column(BOOLEAN, "Headers show a page (since 2026-08)."),
        "is_glued": Column(BOOLEAN, "The line feed behind instructions is missing (jaxlib 0.4.24 to 0.4.35)."),
        "has_instruction_texts": Column(BOOLEAN, "Blocks end in the text of the defining instruction (since 2021-09)."),
        "has_instruction_space": Column(
            BOOLEAN, "A space stands behind `from instruction:` (since jaxlib 0.4.24).", nullable=True
        ),
        "peak_form": Column(
            TEXT,
            "What a peak line shows: name, name and index, or also the cumulative sum.",
            nullable=True,
            one_of=["name", "indexed", "cumulative"],
        ),
        "none_form": Column(
            TEXT,
            "How an empty use list is printed: as nothing, or as (none) (since jaxlib 0.10.2).",
            nullable=True,
            one_of=["empty", "none"],
        ),
        "stack_trace": Column(
            TEXT, "The stack trace breakdown of the peak, verbatim (since jaxlib 0.7.1).", nullable=True
        ),
    },
)
