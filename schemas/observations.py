"""raw.observations: one file of a run, per load that saw it changed."""

from schemas.contract import BOOLEAN, INTEGER, MOMENT, NUMBERS, TEXT, Column, Contract, natural

OBSERVATIONS = Contract(
    "observations",
    "One sighting of a dump: a file of a run. Append-only; staging.observations keeps the newest row of a path.",
    grain="one file of a run, per load that saw it changed",
    key=["run_id", "relative_path", "load_id"],
    columns={
        "run_id": natural("The run the file belongs to."),
        "relative_path": Column(
            TEXT, "Path below the run's root; of a split dump, that of its buffer-assignment file."
        ),
        "dump_id": natural("The content that was seen."),
        "load_id": natural("The load that saw it."),
        "program_id": natural("The program: first 63 bits of the SHA-256 of program name and entry signature."),
        "source_uri": Column(TEXT, "Where the file was read from, archive members as archive!member."),
        "module_id": natural("Module id in the file name; identifies nothing beyond its process.", nullable=True),
        "module_name": Column(
            TEXT, "Module name in the file name, verbatim; null where the name has none.", nullable=True
        ),
        "program_name": Column(
            TEXT,
            "Module name without the suffixes that count recompiles; (unnamed) where there is none. A weak key.",
        ),
        "stage": Column(TEXT, "Stage in the file name, such as cpu_after_optimizations.", nullable=True),
        "compile_target": Column(
            TEXT,
            "cpu, tpu, or a GPU architecture such as sm_8.0; null where the name does not say.",
            nullable=True,
        ),
        "compiler_revision": Column(TEXT, "CL number in the file name (.cl_N).", nullable=True),
        "dumped_at": Column(MOMENT, "Time stamp in the file name (--xla_dump_include_timestamp).", nullable=True),
        "source_size_bytes": natural("Size of the file or files as they lie there, compressed ones as such."),
        "source_mtime_ns": Column(
            INTEGER, "Modification time of the newest of them, in nanoseconds since 1970.", nullable=True
        ),
        "module_text_size_bytes": natural(
            "Size of the module text beside the dump as it lies there; null without one.", nullable=True
        ),
        "module_text_mtime_ns": Column(INTEGER, "Its modification time, in nanoseconds since 1970.", nullable=True),
        "stack_frames_id": natural(
            "The stack frames at its head, in raw.stack_frames; null without any.", nullable=True
        ),
        "stack_frames_fault": Column(
            TEXT, "Why its head cannot be read: line, column, what was expected and found there.", nullable=True
        ),
        "replaced_load_id": natural(
            "The load of the row of this file that was the newest until then; null for its first row.", nullable=True
        ),
        "did_not_fit": Column(
            BOOLEAN,
            "True where files beside the dump say that its compilation ran out of memory; null where none says so.",
            nullable=True,
        ),
        "compile_flags_ids": Column(
            NUMBERS,
            "The options of its compilation in raw.compile_flags, a set of each file beside it; null without any.",
            nullable=True,
        ),
        "compile_flags_size_bytes": natural(
            "Size of those files together, as they lie there; null without any.", nullable=True
        ),
        "compile_flags_mtime_ns": Column(
            INTEGER, "Modification time of the newest of them, in nanoseconds since 1970.", nullable=True
        ),
        "compile_flags_fault": Column(
            TEXT, "Which of them cannot be read, where, and what was expected and found there.", nullable=True
        ),
        "donations_id": natural(
            "What its module text offers, in raw.donations (no row where that is nothing); null without the text.",
            nullable=True,
        ),
        "proto_size_bytes": natural(
            "Size of the proto beside the dump as it lies there; null without one.", nullable=True
        ),
        "proto_mtime_ns": Column(INTEGER, "Its modification time, in nanoseconds since 1970.", nullable=True),
        "heap_events_id": natural(
            "The traces of its proto, in raw.heap_events (no row where it has none); null without a proto that agrees.",
            nullable=True,
        ),
        "alias_sets_id": natural(
            "Its alias sets, in raw.alias_sets (no row where it has none); null without a proto that agrees.",
            nullable=True,
        ),
        "proto_fault": Column(TEXT, "Why the proto cannot be read: what was expected and found there.", nullable=True),
        "proto_difference": Column(
            TEXT, "Where the proto says otherwise than the dump: it is then left aside.", nullable=True
        ),
        "stand_in_path": Column(
            TEXT,
            "Path of the proto that was taken for the dump before this text of it came; null for all others.",
            nullable=True,
        ),
        "stand_in_load_id": natural(
            "The load of the row of that proto, or of the reject, that was the newest until then.", nullable=True
        ),
    },
)
