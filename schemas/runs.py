"""raw.runs: one run."""

from schemas.contract import INTEGER, LABELS, MOMENT, TEXT, column, table

RUNS = table(
    "runs",
    "One compiler run: the set of dumps that one compile job left.",
    grain="one run",
    key=["run_id"],
    columns={
        "run_id": column(INTEGER, "Number of the run in this warehouse.", minimum=0),
        "run_name": column(TEXT, "Name of the run: given, from run.json, or its directory."),
        "root": column(TEXT, "Directory, archive or URL the dumps of the run were found in."),
        "compiler": column(TEXT, "What embeds XLA: jaxlib, libtpu, tensorflow, torch_xla.", nullable=True),
        "compiler_version": column(TEXT, "Version of the compiler.", nullable=True),
        "compiler_revision": column(TEXT, "Source revision of the compiler: the CL number on TPU.", nullable=True),
        "platform": column(TEXT, "cpu, gpu or tpu.", nullable=True),
        "track": column(TEXT, "Label that tells series apart: say, nightly, or a set of flags.", nullable=True),
        "device_kind": column(TEXT, "Device the run compiled for, such as TPU v5e.", nullable=True),
        "device_memory_bytes": column(INTEGER, "Memory of one device, in bytes.", nullable=True, minimum=0),
        "device_count": column(INTEGER, "Number of devices.", nullable=True, minimum=0),
        "xla_flags": column(TEXT, "XLA_FLAGS of the compile job.", nullable=True),
        "git_revision": column(TEXT, "Revision of the compiled program's source.", nullable=True),
        "host": column(TEXT, "Host that compiled.", nullable=True),
        "started_at": column(MOMENT, "When the run started (UTC); orders the runs of a series."),
        "started_at_source": column(
            TEXT,
            "Where started_at comes from.",
            one_of=["given", "run.json", "file name", "file time", "ingest time"],
        ),
        "labels": column(LABELS, "Further labels, as a JSON object."),
    },
)
