"""What a lake costs beside a file: loading with 1, 2 and 4 workers, its files, and queries.

PostgreSQL and an S3 server (moto, one Python process) run on the same machine. Each worker is a process that ingests
its share of the runs, 250 contents at a time; the runs repeat each other's contents, so workers find the same contents.
Seconds of workers, PostgreSQL and S3 server are those of the processor, from the moment when all workers have opened
the lake. *Its turn* is how long a worker holds the commit lock, by the clock: this is the serial part; everything else
runs in parallel. *Waited* is how long all workers together waited for the lock. *Met another* counts the commits that
DuckLake had to try again because another commit came first. *Without the lock* is the same ingest without turns to
commit.

Queries read one snapshot on an open connection; the time to open it is a row of its own. A figure is the least
processor time of the turns. The time of the S3 server, which is many times slower than a real one, is not in it.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from time import monotonic, process_time

import duckdb

from benchmarks import naive
from benchmarks.places import Places, unpacked
from benchmarks.targets import Row, factor, times
from benchmarks.turns import Spent, middle, ratio, spent
from bufferhouse.commands.ingest_run import run_ingest
from bufferhouse.ingest.pipeline import ingest
from bufferhouse.ingest.source import Source
from bufferhouse.paths import CHECKOUT
from bufferhouse.warehouse.address import LakeAddress, address_of
from bufferhouse.warehouse.open import open_reader, writing
from tests.servers.lake_servers import Bucket, catalog_server
from tests.servers.postgres import Postgres
from tests.warehouse.lake.lakes import file_count

WORKERS = (1, 2, 4)
EVERY = 8  # of the runs of the fleet one in so many is loaded
BATCH = 250
TURNS = 3
_TICKS = os.sysconf("SC_CLK_TCK")
_WORKER = """
import contextlib, json, sys, time
from bufferhouse.ingest.pipeline import ingest
from bufferhouse.ingest.source import Source
from bufferhouse.warehouse.address import address_of
from bufferhouse.warehouse.lake.claims import Claims
from bufferhouse.warehouse.open import writing
if sys.argv[2] == "no turns":
    Claims.commit_turn = lambda claims: contextlib.nullcontext()
with writing(address_of(sys.argv[1])) as warehouse:
    print("ready", flush=True)
    sys.stdin.readline()
    start = time.process_time()
    (summary,) = ingest([Source.named(sys.argv[3:])], contextlib.nullcontext(warehouse)).values()
    claims = warehouse.claims
    print(json.dumps({"seconds": time.process_time() - start, "new": summary.new,
                      "turn": claims.turn_seconds, "waited": claims.waited_seconds}))
"""
QUERIES = {
    "dumps of each run": "SELECT run_name, dump_count FROM marts.runs_v1 ORDER BY ALL",
    "peaks of a run": "FROM marts.peak_memory_v1 WHERE dump_id IN (SELECT dump_id FROM marts.observations_v1"
    " WHERE run_name = $run) ORDER BY ALL",
    "history of a program": "FROM marts.program_history_v1 WHERE program_id = $program ORDER BY ALL",
    "summary of the fleet": "FROM marts.fleet_summary_v1 ORDER BY ALL",
    "values of a dump": "FROM staging.hlo_values WHERE dump_id = $dump ORDER BY ALL",
    "opcodes of all instructions": "SELECT opcode, COUNT(*) FROM raw.instruction_texts GROUP BY ALL ORDER BY ALL",
}


@contextmanager
def servers() -> Iterator[tuple[Postgres, Bucket]]:
    """Yield a PostgreSQL and an S3 server, which the environment names."""
    with ExitStack() as stack:
        bucket = Bucket()
        postgres = stack.enter_context(catalog_server())
        bucket.start()
        stack.callback(bucket.stop)
        for name, value in {**bucket.environment, "PGPASSWORD": postgres.password}.items():
            os.environ[name] = value
        yield postgres, bucket


def seconds_of(process: subprocess.Popen) -> float:
    """Return the seconds of the processor that a process and those of its children that have ended took."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / _TICKS


def loaded(lake: LakeAddress, shares: list[list[Path]], postgres: Postgres, bucket: Bucket, turns: str) -> dict:
    """Load shares of a fleet with a worker for each; return the figures."""
    with writing(lake):
        pass
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", _WORKER, str(lake), turns, *map(str, share)], cwd=CHECKOUT, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "BUFFERHOUSE_BATCH_DUMPS": str(BATCH)},
        )
        for share in shares
    ]  # fmt: skip
    for worker in workers:
        assert (line := worker.stdout.readline()) == "ready\n", line
    attempts = attempts_of(lake)
    before, start = (seconds_of(postgres.process), seconds_of(bucket.process)), monotonic()
    for worker in workers:
        worker.stdin.write("go\n")
        worker.stdin.flush()
    told = [json.loads(worker.communicate()[0]) for worker in workers]
    # The servers of PostgreSQL's connections are counted when they have ended, as they do with the workers.
    after = (seconds_of(postgres.process), seconds_of(bucket.process))
    wall = monotonic() - start
    loads = asked(lake, "SELECT COUNT(*) FROM raw.loads")
    return {
        **{name: sum(one[name] for one in told) for name in told[0]},
        "wall": wall,
        "postgres": after[0] - before[0],
        "bucket": after[1] - before[1],
        "loads": loads,
        "conflicts": attempts_of(lake) - attempts - loads,
    }


def attempts_of(lake: LakeAddress) -> int:
    """Return how many attempts to write a snapshot a lake has seen since its first writer came."""
    import psycopg

    with psycopg.connect(lake.connection_string) as con:
        row = con.execute("SELECT last_value FROM bufferhouse.commit_attempts WHERE is_called").fetchone()
    return row[0] if row else 0


def asked(warehouse: Path | LakeAddress, sql: str) -> int:
    """Return the one number that a query gives."""
    con = open_reader(warehouse).con
    with con:
        return con.execute(sql).fetchone()[0]


def query_seconds(warehouse: Path | LakeAddress, parameters: dict[str, object]) -> dict[str, float]:
    """Return what opening a warehouse and each query took of the processor, the least of the turns."""
    found: dict[str, float] = {}
    for _ in range(TURNS):
        start = process_time()
        con = open_reader(warehouse).con
        with con:
            found["opening"] = min(found.get("opening", 1e9), process_time() - start)
            for name, sql in QUERIES.items():
                start = process_time()
                con.execute(sql, {key: value for key, value in parameters.items() if f"${key}" in sql}).fetchall()
                found[name] = min(found.get(name, 1e9), process_time() - start)
    return found


def asked_for(path: Path) -> dict[str, object]:
    """Return the largest run, the program of most runs and a dump of it, which the queries ask for."""
    with duckdb.connect(str(path), read_only=True) as con:
        run, program, dump = con.execute(
            "SELECT (SELECT run_name FROM marts.runs_v1 ORDER BY dump_count DESC, run_name LIMIT 1),"
            " (SELECT program_id FROM raw.observations GROUP BY ALL ORDER BY COUNT(DISTINCT run_id) DESC, 1 LIMIT 1),"
            " (SELECT dump_id FROM raw.dumps ORDER BY text_bytes DESC, 1 LIMIT 1)"
        ).fetchone()
    return {"run": run, "program": program, "dump": dump}


def table() -> str:
    """Return the figures as Markdown."""
    with unpacked() as places, servers() as (postgres, bucket):
        path, files = places.scratch / "warehouse.duckdb", places.fleet
        os.environ["BUFFERHOUSE_BATCH_DUMPS"] = str(BATCH)
        runs = sorted(
            folder for folder in [*files.iterdir(), *files.glob("*/*")] if folder.is_dir() and _is_run(folder)
        )[:: EVERY if places.name == "fleet" else 1]
        start = process_time()
        run_ingest([str(run) for run in runs], path)
        alone = process_time() - start

        def lake_of() -> LakeAddress:
            catalog = postgres.make_database()
            data = f"s3://lake/{catalog.rpartition('=')[2]}"
            return address_of(f"ducklake:postgres:{catalog}").with_data_path(data)

        lines = [
            f"{places.name}, {len(runs)} runs: {asked(path, 'SELECT COUNT(*) FROM raw.observations'):,} files, "
            f"{asked(path, 'SELECT COUNT(*) FROM raw.dumps'):,} contents. One process takes {alone:.1f} s to load them "
            "into a file, opening it included.\n",
            "| workers | loads | seconds of workers | ms a content | PostgreSQL | S3 server | its turn | waited | met "
            "another | wall |",
            "|---|---|---|---|---|---|---|---|---|---|",
        ]
        for count, turns in (*((count, "turns") for count in WORKERS), (WORKERS[-1], "no turns")):
            lake = lake_of()
            f = loaded(lake, [runs[number::count] for number in range(count)], postgres, bucket, turns)
            lines.append(
                f"| {count}{'' if turns == 'turns' else ', without the lock'} | {f['loads']} | {f['seconds']:.1f} | "
                f"{f['seconds'] / f['new'] * 1000:.1f} | {f['postgres']:.1f} | {f['bucket']:.1f} | "
                f"{f['turn'] / f['loads'] * 1000:.0f} ms a load | {f['waited']:.1f} s | {f['conflicts']} | "
                f"{f['wall']:.0f} s |"
            )
            print(lines[-1], file=sys.stderr)
        parameters = asked_for(path)
        before = query_seconds(lake, parameters)
        with writing(lake) as opened:
            count, held = file_count(opened.con), opened.size()
            opened.compact(keep_seconds=0)
            left, left_bytes = file_count(opened.con), opened.size()
        after, own = query_seconds(lake, parameters), query_seconds(path, parameters)
        lines += [
            f"\nCompacted, the lake of the last line has {left} files of "
            f"{left_bytes / 1e6:.1f} MB instead of {count} of "
            f"{held / 1e6:.1f} MB; the file has {path.stat().st_size / 1e6:.1f} MB.\n",
            "| query | file | lake | lake, compacted |",
            "|---|---|---|---|",
            *(f"| {query} | {own[query]:.3f} s | {before[query]:.3f} s | {after[query]:.3f} s |" for query in own),
        ]
        return "\n".join(lines)


def load_row(places: Places, turns: int) -> Row:
    """Return the row of a load of new contents into a lake on the disk, beside a file; both are open before."""
    found: dict[str, list[Spent]] = {"file": [], "lake": []}
    contents = sum(1 for _ in places.distinct.rglob(f"*{naive.SUFFIX}"))
    with catalog_server() as postgres:
        os.environ["PGPASSWORD"] = postgres.password
        for turn in range(turns + 1):  # a first one for the caches
            folder = places.scratch / f"lake {turn}"
            lake = address_of(f"ducklake:postgres:{postgres.make_database()}").with_data_path(str(folder))
            for name, place in (("file", places.scratch / f"beside {turn}.duckdb"), ("lake", lake)):
                with writing(place) as warehouse:
                    work = partial(ingest, [Source.named([str(places.distinct)])], nullcontext(warehouse))
                    found[name].append(spent(work))
    (file, lake), times_a_file = ([found[name][1:] for name in found], ratio(found["lake"][1:], found["file"][1:]))
    return Row(
        f"a load of {contents:,} new contents into a lake with PostgreSQL",
        f"{middle(lake).processor / contents * 1000:.1f} ms a content: {times(middle(lake))}",
        f"a file: {times(middle(file))}", factor(times_a_file), "≤ 2× a file", times_a_file.seconds <= 2,
    )  # fmt: skip


def _is_run(folder: Path) -> bool:
    return any(folder.glob("*buffer-assignment*"))


if __name__ == "__main__":
    print(table())
