"""How fast the marts answer that people wait for, on a connection that is open, all rows fetched.

One dump's peak is asked of twenty dumps, a history of the program that was seen most often. The reference is what
DuckDB takes to plan the statement (`EXPLAIN`), whatever is in the warehouse. `compare` is asked of two runs with more
than 500 programs each (`benchmarks/compare.py`); its reference is to read the values of those that changed.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path

import duckdb

from benchmarks.compare import RUNS, write_copies
from benchmarks.corpus import CORPUS
from benchmarks.targets import Row, times
from benchmarks.turns import Spent, in_turns, middle
from bufferhouse.commands.ingest_run import run_ingest
from bufferhouse.compare.compare import compare_runs
from bufferhouse.query.statements import ask
from bufferhouse.warehouse.open import open_reader

DUMPS = 20
MOST_SECONDS = {"peak_memory_v1 for one dump": 0.020, "a program's history": 0.050, "fleet_summary_v1": 0.300}
COMPARE_SECONDS = 1.0
Works = dict[str, Callable[[], object]]


def statements(con: duckdb.DuckDBPyConnection) -> dict[str, list[str]]:
    """Return what is asked of a warehouse, in the order of `MOST_SECONDS`."""
    dumps = con.execute("SELECT dump_id FROM raw.dumps ORDER BY hash(dump_id) LIMIT ?", [DUMPS]).fetchall()
    [program] = con.execute(
        "SELECT program_id FROM raw.observations GROUP BY program_id ORDER BY COUNT(*) DESC, program_id LIMIT 1"
    ).fetchone()
    asked = (
        [f"SELECT * FROM marts.peak_memory_v1 WHERE dump_id = {dump_id}" for (dump_id,) in dumps],
        [f"SELECT * FROM marts.program_history_v1 WHERE program_id = {program}"],
        ["SELECT * FROM marts.fleet_summary_v1"],
    )
    return dict(zip(MOST_SECONDS, asked, strict=True))


def rows(warehouse: Path, turns: int, *, where: str, slower: float = 1) -> list[Row]:
    """Return the rows of the table; on a larger fleet `slower` says how many times as long an answer may take."""
    found = []
    con = open_reader(warehouse).con
    with con:
        for name, sql in statements(con).items():
            asked = _each(con, sql, turns)
            planned = _each(con, [f"EXPLAIN {one}" for one in sql], turns)
            found.append(_row(f"{name}, {where}", asked, f"planning: {times(planned)}", MOST_SECONDS[name] * slower))
    return found


def _each(con: duckdb.DuckDBPyConnection, sql: list[str], turns: int) -> Spent:
    works: Works = {one: lambda one=one: con.execute(one).fetchall() for one in sql}
    in_turns(works, 1)
    return middle([turn for found in in_turns(works, turns).values() for turn in found])


def _row(work: str, took: Spent, reference: str, most: float) -> Row:
    wanted = f"≤ {most * 1000:.0f} ms" if most < 1 else f"≤ {most:g} s"
    return Row(work, times(took), reference, f"{took.seconds / most:.0%} of the target", wanted, took.seconds <= most)


def compared(warehouse: Path, before: str, after: str, turns: int, *, where: str, slower: float = 1) -> Row:
    """Return the row of a comparison of two runs of a warehouse."""
    con = open_reader(warehouse).con
    with con:
        ids = dict(con.execute("SELECT run_name, run_id FROM raw.runs").fetchall())
        found = compare_runs(con, ids[before], ids[after])
        changed = sorted({dump_id for row in found if row.at_peaks for dump_id in row.key[:2]})
        works: Works = {
            "compare": lambda: compare_runs(con, ids[before], ids[after]),
            "values": lambda: ask(con, "compare_values", dump_ids=changed),
        }
        in_turns(works, 1)
        turned = in_turns(works, turns)
        took, reference = middle(turned["compare"]), f"reading their values: {times(middle(turned['values']))}"
        programs = len({row.pair.any.program_id for row in found})
    return _row(f"`compare` of two runs of {programs} programs, {where}", took, reference, COMPARE_SECONDS * slower)


def compare_row(scratch: Path, turns: int) -> list[Row]:
    """Return the row of a comparison of two releases of jaxlib, copied; none without the corpus."""
    if not CORPUS.is_dir():
        return []
    with tempfile.TemporaryDirectory(dir=scratch) as directory:
        folder, warehouse = Path(directory), Path(directory) / "runs.duckdb"
        write_copies(folder)
        run_ingest([str(folder / run) for run in RUNS], warehouse)
        return [compared(warehouse, *RUNS, turns, where="half of them changed")]
