"""A year in small: hundreds of flow runs of the scheduler over a folder that files come into while it runs."""

import json
import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean

import pytest

from tests.flows.clock import until
from tests.ingests import name_of, write_dumps
from tests.synthetic import small_dump
from tests.system.stack import Stack, descendants

pytest_plugins = ["tests.system.stack_server"]
pytestmark = pytest.mark.soak

RUNS = int(os.environ.get("BUFFERHOUSE_SOAK_RUNS", "200"))
CONFIG = """
[schedule]
ingest = "off"
site = "off"
maintain = "off"

[[sources]]
name = "drop"
paths = ["{dumps}/drop"]
runs = "{{run}}/module_*"
settle = "2s"
"""


@dataclass
class Writers:
    """Jobs that write dumps into runs of ten files each: whole, in two halves, damaged, or late into an old run."""

    folder: Path
    number: int = 0
    whole: set[tuple[str, str]] = field(default_factory=set)
    damaged: set[tuple[str, str]] = field(default_factory=set)
    halves: list[tuple[Path, bytes]] = field(default_factory=list)

    def write(self) -> None:
        """Finish the halves of before, and write the next four files: one of each kind."""
        while self.halves:
            path, rest = self.halves.pop()
            with path.open("ab") as file:
                file.write(rest)
        run = f"r{self.number // 10:04}"
        self.number += 4
        whole, half, damaged, late = range(self.number - 4, self.number)
        write_dumps(self.folder / run, [whole])
        text = small_dump(half)
        path = self.folder / run / name_of(half)
        path.write_bytes(text[: len(text) // 2])
        self.halves.append((path, text[len(text) // 2 :]))
        (self.folder / run / name_of(damaged)).write_bytes(small_dump(damaged)[:-30])
        (old,) = write_dumps(self.folder / "r0000", [late])
        os.utime(old, (time.time() - 86400,) * 2)
        self.whole |= {(run, name_of(whole)), (run, name_of(half)), ("r0000", name_of(late))}
        self.damaged.add((run, name_of(damaged)))


def resident_bytes(stack: Stack) -> int:
    """Return the memory of the scheduler and of the process that flow runs are forked from, not of flow runs."""
    pid = stack.processes["scheduler"].pid
    forked_from = [one for one in descendants(pid) if b"flows.preloaded" in Path(f"/proc/{one}/cmdline").read_bytes()]
    pids = [pid, *forked_from[-1:]]  # a fork has the same words; the youngest come first
    found = 0
    for one in pids:
        lines = Path(f"/proc/{one}/smaps_rollup").read_text().splitlines()
        found += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
    return found


def test_nothing_is_lost_and_nothing_doubled_over_hundreds_of_flow_runs(stack, record_property):
    """Every whole dump is seen once, every damaged one is an open reject; memory is flat, growth of records is said."""
    writers = Writers(stack.root / "dumps/drop")
    writers.folder.mkdir()
    (stack.root / "config/bufferhouse.toml").write_text(CONFIG.format(dumps=stack.root / "dumps"))
    stack.begin("scheduler", "--poll", "1")
    until(lambda: stack.ask("deployments/count", {}), "the deployments")
    memory, records = [], []
    for _ in range(RUNS):
        number = stack.order("ingest/bufferhouse")
        writers.write()  # while it begins
        assert "COMPLETED" == stack.ended(number)["state_type"]
        memory.append(resident_bytes(stack))
        records.append(stack.postgres.size())
    writers.write()
    while writers.halves:
        path, rest = writers.halves.pop()
        with path.open("ab") as file:
            file.write(rest)
    seen = "SELECT run_name, relative_path FROM raw.observations JOIN raw.runs USING (run_id)"
    refused = "SELECT run_name, relative_path FROM raw.rejects JOIN raw.runs USING (run_id) WHERE state = 'open'"
    time.sleep(3)  # until the last file has settled
    for _ in range(2):
        stack.ended(stack.order("ingest/bufferhouse"))
    assert sorted(writers.whole) == sorted(stack.published(seen))
    assert sorted(writers.damaged) == sorted(stack.published(refused))
    stack.kill("scheduler")
    proved = stack.run("scheduler", "bufferhouse", "verify", "--warehouse", str(stack.warehouse))
    assert f"{len(writers.whole):,} of {len(writers.whole):,} dumps proved" in proved
    quarter = RUNS // 4
    early, late = mean(memory[quarter : 2 * quarter]), mean(memory[-quarter:])
    said = {
        "flow runs": RUNS,
        "dumps": len(writers.whole),
        "rejects": len(writers.damaged),
        "memory early": early,
        "memory late": late,
        "records per flow run": (records[-1] - records[quarter]) / (RUNS - 1 - quarter),
        "records": records[-1],
    }
    print(json.dumps(said))
    for name, figure in said.items():
        record_property(name, figure)
    assert late < 1.1 * early
