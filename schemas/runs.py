"""raw.runs: one run."""

from schemas.contract import LABELS, MOMENT, TEXT, Column, Contract, natural

RUNS = Contract(
    "runs",
    "One compiler run: the set of dumps that one compile job left.",
    grain="one run",
    key=["run_id"],
    columns={
        "run_id": natural("Number of the run in this warehouse."),
        "run_name": Column(TEXT, "Name of the run: given, from run.json, or its directory."),
        "root": Column(TEXT, "Directory, archive or URL the dumps of the run were found in."),
        "compiler": Column(TEXT, "What embeds XLA: jaxlib, libtpu, tensorflow, torch_xla.", nullable=True),
        "compiler_version": Column(TEXT, "Version of the compiler.", nullable=True),
        "compiler_revision": Column(TEXT, "Source revision of the compiler: the CL number on TPU.", nullable=True),
        "platform": Column(TEXT, "cpu, gpu or tpu.", nullable=True),
        "track": Column(TEXT, "Label that tells series apart: say, nightly, or a set of flags.", nullable=True),
        "device_kind": Column(TEXT, "Device the run compiled for, such as TPU v5e.", nullable=True),
        "device_memory_bytes": natural("Memory of one device, in bytes.", nullable=True),
        "device_count": natural("Number of devices.", nullable=True),
        "xla_flags": Column(TEXT, "XLA_FLAGS of the compile job.", nullable=True),
        "git_revision": Column(TEXT, "Revision of the compiled program's source.", nullable=True),
        "host": Column(TEXT, "Host that compiled.", nullable=True),
        "started_at": Column(MOMENT, "When the run started (UTC); orders the runs of a series."),
        "started_at_source": Column(
            TEXT,
            "Where started_at comes from.",
            one_of=["given", "run.json", "file name", "file time", "ingest time"],
        ),
        "labels": Column(LABELS, "Further labels, as a JSON object."),
    },
)
