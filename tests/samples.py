"""Real dumps with their files, as tests read them: from the committed examples and from archives of the corpus."""

import json
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from bufferhouse.paths import CHECKOUT

FLEET = CHECKOUT / "examples" / "fleet"
BUILDS = (  # of the corpus, without those that readers refuse by name
    "gpu-sm90-jaxlib-0.10.2-userbuffers",
    "jaxlib-0.10.0",
    "jaxlib-0.4.13",
    "jaxlib-0.4.25",
    "jaxlib-0.4.38",
    "jaxlib-0.6.0",
    "jaxlib-0.7.0",
    "jaxlib-0.8.0",
    "jaxlib-0.9.0",
    "tensorflow-2.1.4",
    "tensorflow-2.10.1",
    "tensorflow-2.21.0",
    "tensorflow-2.5.3",
    "tpu-v5e-jaxlib-0.4.38-libtpu-0.0.8",
    "tpu-v5e-jaxlib-0.8.3-libtpu-0.0.33",
)
SUFFIX = "-buffer-assignment.txt"
SIBLINGS = {"values": "-buffer-assignment-values.txt", "live_range": "-live-range.txt"}


class Sample(NamedTuple):
    """One logical dump: its name, its files by role, and the decoded proto of the same compile, if there is one."""

    name: str
    files: dict[str, bytes]
    truth: dict | None


def samples(files: Mapping[str, bytes]) -> Iterator[Sample]:
    """Join files by name into dumps, in the order of their names."""
    for name in sorted(files):
        if not name.endswith(SUFFIX):
            continue
        stem = name.removesuffix(SUFFIX)
        siblings = {role: files[stem + suffix] for role, suffix in SIBLINGS.items() if stem + suffix in files}
        own = {"allocations": files[name], **siblings} if siblings else {"combined": files[name]}
        truth = files.get(f"{name}.truth.json")
        yield Sample(name, own, None if truth is None else json.loads(truth))


def of_directory(directory: Path) -> list[Sample]:
    """Return the dumps of one run directory; the seeds have names of their own."""
    paths = sorted(directory.glob("*.txt"))
    if directory.name == "seeds":
        return [Sample(path.name, {"combined": path.read_bytes()}, None) for path in paths]
    return list(samples({path.name: path.read_bytes() for path in paths}))


def of_archive(path: Path) -> list[Sample]:
    """Return the dumps of one archive."""
    with tarfile.open(path) as archive:
        return list(samples({member.name: archive.extractfile(member).read() for member in archive if member.isfile()}))


def unpack(archive: Path, folder: Path) -> None:
    """Unpack an archive of the corpus. Python before 3.11.4 knows no filter, and later ones warn without."""
    with tarfile.open(archive) as opened:
        opened.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))


def of_fleet() -> list[Sample]:
    """Return the dumps of the committed examples, each named `run/file`."""
    runs = sorted(path for path in FLEET.iterdir() if path.is_dir())
    return [sample._replace(name=f"{run.name}/{sample.name}") for run in runs for sample in of_directory(run)]
