"""What a pass that finds nothing new costs, and what Prefect adds to it.

*Known files*: a pass over a folder of 100,000 known files, beside a bare walk that reads the size and time of each
file; and how many files were opened, counted by an audit hook of the interpreter.

*Prefect*: `bufferhouse serve` with its own server on loopback. CPU seconds of the server, of the serving process and of
the flow runs, without those of an idle time of the same length. The fixed cost is their sum without the CPU seconds of
the same pass in a new process without Prefect. Tasks are those of the flows without any work; a batch has two, to parse
and to load. The server stores the states of task runs in batches: one by one, as by default, a task costs 2.5 times as
much. Other work on the machine adds CPU seconds, up to twice as many if it runs on the same cores.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from bufferhouse.ingest.arrivals import Rules
from bufferhouse.ingest.pipeline import ingest
from bufferhouse.ingest.source import Source, look
from bufferhouse.ingest.summary import Summary
from bufferhouse.warehouse.open import writing
from tests.flows.clock import DEPLOYMENTS, Clock, free_port, until
from tests.ingests import write_dumps

FOLDERS, FILES_IN_EACH = 100, 1000
EMPTY_RUNS = 8
TASKS = 200
IDLE_SECONDS = 30
_TICKS = os.sysconf("SC_CLK_TCK")
_CORE = """
import sys, time
from benchmarks.clock import one_pass
from pathlib import Path
one_pass(Path(sys.argv[1]), sys.argv[2])
print(time.process_time())
"""
_TASKS = """
import flows, json, sys, time
from prefect import flow
from benchmarks.clock import TASKS, cpu_seconds
from flows.steps import Held, step

@step(name="parse", task_run_name="parse batch {number}")
def nothing(number, batch):
    return Held(number)

@flow(name="tasks")
def tasks(count):
    for number in range(count):
        nothing(number, Held(number))

def spent():
    return time.process_time() + cpu_seconds(int(sys.argv[1]))

tasks(5)
costs = []
for count in (1, TASKS, 1, TASKS):
    time.sleep(8)  # the server stores task runs a while after they have ended
    before = spent()
    tasks(count)
    time.sleep(8)
    costs.append(spent() - before)
print(json.dumps((costs[1] + costs[3] - costs[0] - costs[2]) / (2 * (TASKS - 1))))
"""
_CONFIG = """
[schedule]
ingest = "off"
site = "off"
maintain = "off"
[[sources]]
name = "drop"
paths = ["drop"]
settle = "0s"
"""


def one_pass(warehouse: Path, folder: str) -> Summary:
    """Carry out one pass over a folder without Prefect, publishing included where something was loaded."""
    source = Source("benchmark", [folder], Rules(settle=0.001), look_inside=False)
    (summary,) = ingest([source], writing(warehouse), publish=True).values()
    return summary


def known_files(root: Path) -> tuple[float, float, float, int]:
    """Return seconds of a bare walk, of a pass and of its listing, and how many files of the folder the pass opened."""
    folder = root / "known"
    (first,) = write_dumps(folder / "0000", [1])
    text = first.read_bytes()
    for number in range(FOLDERS):
        below = folder / f"{number:04}"
        below.mkdir(exist_ok=True)
        for file in range(FILES_IN_EACH):
            (below / f"{file:04}-buffer-assignment.txt").write_bytes(text)
    first.unlink()
    warehouse = root / "known.duckdb"
    one_pass(warehouse, str(folder))
    opened: list[str] = []
    is_hearing = [True]

    def hear(event: str, arguments: tuple) -> None:
        if is_hearing and event == "open" and str(arguments[0]).endswith("-buffer-assignment.txt"):
            opened.append(str(arguments[0]))

    sys.addaudithook(hear)
    walks, passes, looks = [], [], []
    for _ in range(3):
        started = time.perf_counter()
        _walk(folder)
        walked = time.perf_counter()
        look(Source("benchmark", [str(folder)], Rules(settle=1), look_inside=False))
        looked = time.perf_counter()
        result = one_pass(warehouse, str(folder))
        walks.append(walked - started)
        looks.append(looked - walked)
        passes.append(time.perf_counter() - looked)
        assert (result.known, result.new) == (FOLDERS * FILES_IN_EACH, 0), result
    is_hearing.clear()
    return median(walks), median(passes), median(looks), len(opened)


def _walk(folder: Path) -> int:
    count = 0
    with os.scandir(folder) as found:
        for item in found:
            count += _walk(Path(item.path)) if item.is_dir() else bool(item.stat().st_mtime_ns)
    return count


def cpu_seconds(pid: int, *, children: bool = False) -> float:
    """Return user and system time of a process, and of those of its children that it has waited for."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return sum(map(int, fields[11 : 15 if children else 13])) / _TICKS


class Served(Clock):
    """`bufferhouse serve`, and the CPU time of all its processes."""

    def server(self) -> int:
        """Return the number of the process of Prefect's server."""
        pid = self.process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        (server,) = (int(one) for one in children if b"flows.gate" in Path(f"/proc/{one}/cmdline").read_bytes())
        return server

    def spent(self) -> dict[str, float]:
        """Return CPU seconds so far: of the server, of serve itself, and of the flow runs that have ended."""
        pid = self.process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        words = {one: Path(f"/proc/{one}/cmdline").read_bytes() for one in children}
        server = self.server()
        (forks,) = (int(one) for one, line in words.items() if b"flows.preloaded" in line)
        runs = cpu_seconds(forks, children=True)
        return {"server": cpu_seconds(server), "serve": cpu_seconds(pid), "flow runs": runs}

    def carry_out(self, count: int) -> tuple[dict[str, float], float]:
        """Run the flow some times, one after the other; return CPU seconds spent meanwhile, and seconds."""
        deployment = self.ask("deployments/name/ingest/bufferhouse")["id"]
        before, started = self.spent(), time.monotonic()
        for _ in range(count):
            run = self.ask(f"deployments/{deployment}/create_flow_run", {"state": {"type": "SCHEDULED"}})
            until(lambda run=run: self.ask(f"flow_runs/{run['id']}")["state_type"] == "COMPLETED", "a flow run")
            time.sleep(1.0)  # its process ends, and the server stores its task runs
        after = self.spent()
        return {name: after[name] - before[name] for name in after}, time.monotonic() - started


def core_seconds(warehouse: Path, folder: Path) -> float:
    """Return CPU seconds of one pass without Prefect in a new process."""
    words = [sys.executable, "-c", _CORE, str(warehouse), str(folder)]
    return float(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


def task_seconds(clock: Served) -> float:
    """Return CPU seconds of one task that does nothing, client and server together."""
    words = [sys.executable, "-c", _TASKS, str(clock.server())]
    environment = {
        **clock.environment,
        "PREFECT_API_URL": clock.url,
        "PREFECT_API_AUTH_STRING": clock.authentication,
    }
    return json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout)


def prefect_costs(root: Path) -> dict[str, float]:
    """Return CPU seconds: of an empty flow run by process, what of it is Prefect's, and Prefect's part of a task."""
    clock = Served(root / "served", free_port())
    clock.drop.mkdir(parents=True)
    clock.config.write_text(_CONFIG)
    write_dumps(clock.drop / "run", [0])
    clock.start()
    try:
        until(lambda: clock.ask("deployments/count", {}) == DEPLOYMENTS, "all deployments")
        clock.carry_out(2)  # the first ones load and fill caches
        before = clock.spent()
        time.sleep(IDLE_SECONDS)
        idle = {name: (value - before[name]) / IDLE_SECONDS for name, value in clock.spent().items()}
        empty, seconds = clock.carry_out(EMPTY_RUNS)
        empty = {name: (value - idle[name] * seconds) / EMPTY_RUNS for name, value in empty.items()}
        other = root / "core.duckdb"
        core_seconds(other, clock.drop)
        core = median(core_seconds(other, clock.drop) for _ in range(3))
        task = task_seconds(clock)
    finally:
        clock.stop()
    return {**empty, "core": core, "fixed": sum(empty.values()) - core, "task": task}


def table() -> str:
    """Return the figures as tables."""
    with tempfile.TemporaryDirectory() as name:
        walk, whole, listing, opened = known_files(Path(name))
        costs = prefect_costs(Path(name))
    print(json.dumps({"walk": walk, "pass": whole, **costs}), file=sys.stderr)
    return (
        f"| {FOLDERS * FILES_IN_EACH:,} known files | |\n| --- | ---: |\n"
        f"| a bare walk | {walk:.2f} s |\n"
        f"| listing them as dumps of runs | {listing:.2f} s |\n"
        f"| the whole pass, warehouse opened and asked | {whole:.2f} s |\n"
        f"| files opened | {opened} |\n\n"
        "| a flow run of `ingest` with nothing new | CPU seconds |\n| --- | ---: |\n"
        f"| Prefect's server | {costs['server']:.2f} |\n"
        f"| `bufferhouse serve` | {costs['serve']:.2f} |\n"
        f"| the flow run's process | {costs['flow runs']:.2f} |\n"
        f"| of these, the pass itself, without Prefect | {costs['core']:.2f} |\n"
        f"| **fixed cost of Prefect** (at most 2) | **{costs['fixed']:.2f}** |\n"
        f"| **per task of a batch** (at most 0.030) | **{costs['task']:.3f}** |"
    )


if __name__ == "__main__":
    print(table())
