"""kill -9 of whatever writes a warehouse, wherever it is: in a commit, a checkpoint, a copy, a compaction.

Held is a warehouse that opens each time, in which every load is whole or absent, of which `verify` proves all dumps,
and beside which the next writer leaves nothing behind.
"""

import os
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb

from bufferhouse.errors import UsageError, WarehouseBusy, WarehouseError
from bufferhouse.paths import CHECKOUT
from bufferhouse.warehouse.files import log_path, published_path
from bufferhouse.warehouse.read import reading
from bufferhouse.warehouse.verify import chosen_dumps, verify
from bufferhouse.warehouse.warehouse import Warehouse
from tests.attack.counts import Count
from tests.command_line import start
from tests.dump.damage import renamed, sources
from tests.ingests import name_of

_RUNS = 12
_DUMPS = 10  # of a run
_POLL_SECONDS = 0.0005


def attack(is_short: bool) -> Iterator[Count]:
    """Yield one count: kills, each with what was running."""
    os.environ["BUFFERHOUSE_BATCH_DUMPS"] = "4"  # for the processes that are killed: many commits
    with tempfile.TemporaryDirectory() as name:
        yield _kills(Path(name), 2 if is_short else 100)
    del os.environ["BUFFERHOUSE_BATCH_DUMPS"]


def _kills(folder: Path, wanted: int) -> Count:
    count = Count("kills")
    chance = random.Random(20261122)
    texts = sorted(sources(CHECKOUT / "examples" / "fleet"), key=len)[:20]
    path, number = folder / "0" / "w.duckdb", 0
    while count.tried < wanted:
        if number % _RUNS == 0:
            path = folder / str(number // _RUNS) / "w.duckdb"
            path.parent.mkdir(exist_ok=True)
            with Warehouse(path):
                pass
        verb = chance.choice(["ingest"] * 6 + ["compact", "publish"])
        words = [verb, *([_run(folder / "dumps", number % _RUNS, texts)] if verb == "ingest" else [])]
        moment, where, more = chance.choice(_moments(path, chance, verb))
        words += [*more, "--warehouse", path]
        if _killed(words, moment):
            fault = _fault(path)
            count.attempt(f"{verb}, {where}: {fault}", not fault)
        number += verb == "ingest"
    return count


def _run(folder: Path, number: int, texts: list[bytes]) -> Path:
    """Write a run of real dumps that no other run has; return its folder."""
    run = folder / f"run_{number}"
    run.mkdir(parents=True, exist_ok=True)
    for dump in range(number * _DUMPS, (number + 1) * _DUMPS):
        (run / name_of(dump)).write_bytes(renamed(texts[dump % len(texts)], dump))
    return run


def _moments(path: Path, chance: random.Random, verb: str) -> list[tuple[Callable[[], bool], str, list[str]]]:
    """Return functions that say when the moment has come, what moment it is, and what the command needs for it."""
    until = time.monotonic() + chance.uniform(0.5, 2.5)
    copy = (lambda: any(path.parent.glob(".w.*")), "in a copy", ["--publish"] if verb == "ingest" else [])
    if verb != "ingest":
        return [copy, copy, (lambda: time.monotonic() > until, "anywhere", [])]
    return [
        (lambda: time.monotonic() > until, "anywhere", []),
        (_changes(log_path(path), chance.randint(1, 4)), "in a commit", []),
        (_changes(path, 1), "in a checkpoint", []),
        (_changes(path, chance.randint(2, 9)), "later in a checkpoint", []),
        (_changes(Path(f"{path}.journal"), chance.randint(1, 2)), "at the journal", []),
        (_changes(published_path(path), 1), "when it was published", ["--publish"]),
        copy,
    ]


def _changes(path: Path, times: int) -> Callable[[], bool]:
    seen: list[object] = []

    def moment() -> bool:
        try:
            stat = path.stat()
            now = (stat.st_size, stat.st_mtime_ns)
        except FileNotFoundError:
            now = None
        if not seen or now != seen[-1]:
            seen.append(now)
        return len(seen) > times

    return moment


def _killed(words: list, moment: Callable[[], bool]) -> bool:
    """Run a command and kill it when the moment has come; return False where it came to its end before."""
    process = start(*words)
    while process.poll() is None and not moment():
        time.sleep(_POLL_SECONDS)
    process.kill()
    process.communicate()
    return process.returncode < 0


def _fault(path: Path) -> str:
    """Return what is wrong with the warehouse that a kill left, or nothing."""
    try:
        for _ in range(2):  # as a reader finds it, and behind the next writer
            with reading(path) as (con, _):
                if fault := _fault_of(con):
                    return fault
            with Warehouse(path):
                pass
    except (WarehouseError, WarehouseBusy, UsageError, duckdb.Error) as error:
        return str(error)
    # DuckDB keeps a log that was cut short in its first entry until the next commit.
    known = {path.name, log_path(path).name, f"{path.name}.lock", published_path(path).name}
    left = {file.name for file in path.parent.iterdir()} - known
    return f"left behind: {sorted(left)}" if left else ""


def _fault_of(con: duckdb.DuckDBPyConnection) -> str:
    torn = con.execute(
        "SELECT load_id FROM raw.loads AS l"
        " WHERE new_count <> (SELECT COUNT(*) FROM raw.dumps AS d WHERE d.load_id = l.load_id)"
        " OR new_count + known_count <> (SELECT COUNT(*) FROM raw.observations AS o WHERE o.load_id = l.load_id)"
    ).fetchall()
    faults = [fault.what for fault in verify(con, chosen_dumps(con))]
    return f"loads in part: {torn}, faults: {faults}" if torn or faults else ""
