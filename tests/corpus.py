"""Every real dump there is, read, written back and compared: `python -m tests.corpus`.

One line per fleet, build and large archive: how many dumps were accepted, refused, written back byte for byte, and
found equal to what the slow reader in `tests.oracle` and the compiler's own `BufferAssignmentProto` say. Only the
dumps of TensorFlow 1.15 may be refused, and those by name.
"""

import json
import sys
import tarfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from bufferhouse.dump import Dump, DumpError, parse, render
from bufferhouse.dump.parse import decode
from tests import oracle

FLEET = Path(__file__).parents[1] / "examples" / "fleet"
CORPUS = Path(__file__).parents[1] / ".." / "shared" / "corpus"
SUFFIX = "-buffer-assignment.txt"
SIBLINGS = {"values": "-buffer-assignment-values.txt", "live_range": "-live-range.txt"}
TOO_OLD = "pre-2019-09 dialect"


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


def of_fleet() -> list[Sample]:
    """Return the dumps of the committed examples, each named `run/file`."""
    runs = sorted(path for path in FLEET.iterdir() if path.is_dir())
    return [sample._replace(name=f"{run.name}/{sample.name}") for run in runs for sample in of_directory(run)]


def facts(dump: Dump) -> dict:
    """Return what a parsed dump says in the form of `oracle.read_dump`."""
    a, cross = dump.allocations, dump.cross_color_values
    allocations = [
        {
            "index": i,
            "pointer": a.pointer[i],
            "size": a.size_bytes[i],
            "memory_space": a.memory_space[i],
            "page": a.page[i],
            "parameter_number": a.parameter_number[i],
            "parameter_shape_index": index_of(a.parameter_shape_index[i]),
            "parameter_shape": a.parameter_shape[i],
            "output_shape": a.output_shape[i],
            "is_constant": a.is_constant[i],
            "is_thread_local": a.is_thread_local[i],
            "is_maybe_live_out": a.is_maybe_live_out[i],
            "is_preallocated_temp": is_preallocated_temp(dump, i),
            "values": [],
            "cross_color_values": [],
        }
        for i in range(len(a.size_bytes))
    ]
    values = values_of(dump)
    for value in values.values():
        allocations[value["allocation"]]["values"].append(value["id"])
    for owner, row, space in zip(cross.allocation_index, cross.value_row, cross.memory_space, strict=True):
        allocations[owner]["cross_color_values"].append((dump.values.value_id[row], space))
    has_live_range = dump.live_range_state in ("present", "unbounded")
    return {
        "allocations": allocations,
        "values": values,
        "schedule": dump.schedule if has_live_range else None,
        "live_ranges": ranges_of(dump) if has_live_range else None,
        "max_position": dump.max_position,
        "peak_position": dump.reported_peak_position,
        "peak_lines": peak_lines_of(dump) if dump.live_range_state == "present" else None,
        "total_bytes": dump.total_bytes,
    }


def is_preallocated_temp(dump: Dump, row: int) -> bool:
    a = dump.allocations
    return a.parameter_number[row] is None and not (
        a.is_constant[row] or a.is_thread_local[row] or a.is_maybe_live_out[row]
    )


def values_of(dump: Dump) -> dict[int, dict]:
    v, p, u = dump.values, dump.positions, dump.uses
    positions = iter([(name, index_of(at)) for name, at in zip(p.instruction, p.shape_index, strict=True)])
    use_rows = zip(u.instruction, u.operand_number, u.operand_shape_index, strict=True)
    uses = iter([(name, operand, index_of(at)) for name, operand, at in use_rows])
    ranges = {(name, index): (start, end) for name, index, start, end in ranges_of(dump)}
    found = {}
    for row, value_id in enumerate(v.value_id):
        index = index_of(v.shape_index[row])
        listed = [next(uses) for _ in range(u.count[row])] if dump.has_used_values else []
        is_known = dump.has_used_values and v.uses_state[row] != "uninitialized"
        found[value_id] = {
            "id": value_id,
            "name": v.instruction[row],
            "index": index,
            "is_phi": v.is_phi[row],
            "memory_space": v.memory_space[row],
            "allocation": v.allocation_index[row],
            "offset": v.offset_bytes[row],
            "size": v.size_bytes[row],
            "shape": v.shape[row],
            "positions": [next(positions) for _ in range(p.count[row])] if dump.has_used_values else [],
            "uses": listed if is_known else None,
            "instruction_text": v.instruction_text[row] if dump.has_instruction_texts else None,
            "live_range": ranges.get((v.instruction[row], index or ())),
        }
    return found


def ranges_of(dump: Dump) -> list[tuple]:
    r = dump.live_ranges
    columns = zip(r.instruction, r.shape_index, r.start_position, r.end_position, strict=True)
    return [(name, index_of(index), start, end) for name, index, start, end in columns]


def peak_lines_of(dump: Dump) -> list[tuple]:
    """Return the peak lines as printed: without an index where the dialect prints none."""
    b, is_name_alone = dump.peak_buffers, dump.peak_form == "name"
    columns = zip(b.instruction, b.shape_index, b.listed_bytes, b.cumulative_bytes, strict=True)
    return [(name, None if is_name_alone else index_of(index), size, total) for name, index, size, total in columns]


def index_of(text: str | None) -> tuple[int, ...] | None:
    return None if text is None else tuple(int(number) for number in text[1:-1].split(",") if number)


def oracle_facts(files: Mapping[str, bytes]) -> dict:
    """Return what the slow reader says of the same files; facts of it alone are left out."""
    texts, _ = decode(files)
    if "combined" in texts:
        return oracle.read_dump(texts["combined"])
    return oracle.read_split(texts["allocations"], texts.get("values"), texts.get("live_range"))


def facts_of_proto(truth: dict) -> dict:
    """Return allocations with flags and slots, and values, as the compiler's own proto says."""
    return {
        "allocations": [
            {
                "size": row["size"],
                "memory_space": row["color"],
                "flags": (row["is_constant"], row["is_thread_local"], row["maybe_live_out"]),
                "parameter": (row["parameter_number"], tuple(row["parameter_shape_index"]))
                if row["is_entry_computation_parameter"]
                else None,
                "slots": sorted((slot["logical_buffer_id"], slot["offset"], slot["size"]) for slot in row["assigned"]),
            }
            for row in truth["allocations"]
        ],
        "values": {
            row["id"]: (row["instruction"], tuple(row["shape_index"]), row["color"]) for row in truth["logical_buffers"]
        },
    }


def facts_for_proto(dump: Dump) -> dict:
    """Return what a parsed dump says in the form of `facts_of_proto`."""
    found = facts(dump)
    return {
        "allocations": [
            {
                "size": row["size"],
                "memory_space": row["memory_space"],
                "flags": (row["is_constant"], row["is_thread_local"], row["is_maybe_live_out"]),
                "parameter": None
                if row["parameter_number"] is None
                else (row["parameter_number"], row["parameter_shape_index"]),
                "slots": [(v, found["values"][v]["offset"], found["values"][v]["size"]) for v in row["values"]],
            }
            for row in found["allocations"]
        ],
        "values": {
            value["id"]: (value["name"], value["index"] or (), value["memory_space"])
            for value in found["values"].values()
        },
    }


class Count:
    """What became of the dumps of one archive."""

    def __init__(self) -> None:
        self.dumps = self.accepted = self.refused = self.exact = self.by_oracle = self.truths = self.by_truth = 0
        self.bytes = 0
        self.problems: list[str] = []
        self.known: set[tuple] = set()

    def add(self, sample: Sample) -> None:
        """Read one dump; what equals a dump before it, byte for byte, is read and rendered but not compared again."""
        self.dumps += 1
        self.bytes += sum(map(len, sample.files.values()))
        try:
            dump = parse(sample.files)
        except DumpError as error:
            self.refused += TOO_OLD in str(error)
            self.problems += [] if TOO_OLD in str(error) else [f"{sample.name}: {error}"]
            return
        self.accepted += 1
        self.tally("exact", sample, render(dump) == sample.files)
        content = tuple(sorted(sample.files.items()))
        is_known, _ = content in self.known, self.known.add(content)
        self.tally("by_oracle", sample, is_known or oracle_facts(sample.files) == facts(dump))
        if sample.truth is not None:
            self.truths += 1
            self.tally("by_truth", sample, facts_of_proto(sample.truth) == facts_for_proto(dump))

    def tally(self, name: str, sample: Sample, holds: bool) -> None:
        setattr(self, name, getattr(self, name) + holds)
        self.problems += [] if holds else [f"{sample.name}: not {name}"]

    def line(self, name: str, seconds: float) -> str:
        return (
            f"{name:45} {self.dumps:6} dumps, {self.accepted:6} accepted, {self.refused:3} too old, "
            f"{self.exact:6} byte-exact, {self.by_oracle:6} equal to oracle, "
            f"{self.by_truth:3} of {self.truths:3} equal to truth, {self.bytes / 1e6:6.1f} MB, {seconds:5.1f} s"
        )


def main() -> int:
    """Print a line per fleet and archive; return 1 if anything is not as it should be."""
    archives = [path for folder in ("builds", "fleet", "large") for path in sorted((CORPUS / folder).glob("*.tar.gz"))]
    sources = {"examples/fleet": of_fleet}
    sources |= {path.name.removesuffix(".tar.gz"): lambda path=path: of_archive(path) for path in archives}
    problems = [] if archives else [f"{CORPUS}: the corpus is not here"]
    for name, read in sources.items():
        if name.endswith("-hlo"):
            continue  # sibling modules, no dumps
        started, count = time.monotonic(), Count()
        for sample in read():
            count.add(sample)
        print(count.line(name, time.monotonic() - started), flush=True)
        is_too_old = name.startswith("tensorflow-1.")
        problems += count.problems
        problems += [f"{name}: refused"] if count.refused != (count.dumps if is_too_old else 0) else []
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
