"""How fast marts answer over a fleet, and what models and checks cost while it is ingested.

Every mart is asked for all its rows of one run, the one with the most dumps, and of one program, the one with the most
runs. A figure is the median of the turns by the clock, with all rows fetched. A mart without a column for the run or
the program is asked for the dumps that were seen of it. The line below the table says how much of an ingest of the same
fleet models and checks take, in seconds of the processor.
"""

import contextlib
import io
import re
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter, process_time, thread_time

import duckdb

from benchmarks.corpus import CORPUS
from bufferhouse.errors import counted
from bufferhouse.ingest.pipeline import ingest
from bufferhouse.ingest.source import Source
from bufferhouse.models import project
from bufferhouse.paths import CHECKOUT
from bufferhouse.warehouse.open import writing

TURNS = 5
OF_MODELS = re.compile(
    r"CREATE (TABLE|VIEW) (staging|intermediate|checks)\.|INSERT INTO intermediate\.|SELECT .* FROM \w+\.checks\."
)
LARGEST = {
    "run_id": "SELECT run_id FROM marts.runs_v1 ORDER BY dump_count DESC, run_id LIMIT 1",
    "program_id": "SELECT program_id FROM marts.program_history_v1 GROUP BY program_id"
    " ORDER BY COUNT(*) DESC, program_id LIMIT 1",
}


class Clocked:
    """A connection that counts the seconds its statements of models and checks take, and those of a second one beside.

    A batch of a fleet of small dumps is worked on by the threads that call DuckDB, so it is their time that counts.
    """

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self.con = con
        self.own_seconds = 0.0
        self.others: list[Clocked] = []

    @property
    def seconds(self) -> float:
        """Seconds of the processor so far."""
        return self.own_seconds + sum(other.seconds for other in self.others)

    def cursor(self) -> "Clocked":
        """Open another connection, whose seconds count here."""
        self.others.append(Clocked(self.con.cursor()))
        return self.others[-1]

    def execute(self, sql: str, *parameters: object) -> duckdb.DuckDBPyConnection:
        """Run a statement, by the clock if it is one of a model or a check."""
        if not OF_MODELS.match(sql):
            return self.con.execute(sql, *parameters)
        start = thread_time()
        done = self.con.execute(sql, *parameters)
        self.own_seconds += thread_time() - start
        return done

    def __getattr__(self, name: str) -> object:
        return getattr(self.con, name)


def source() -> Path:
    """Return the fleet that is here."""
    archives = sorted((CORPUS / "fleet").glob("*.tar.gz")) if CORPUS.is_dir() else []
    return archives[0] if archives else CHECKOUT / "examples" / "fleet"


def ingested(path: Path) -> tuple[float, float]:
    """Ingest the fleet; return the seconds that models and checks took, and those of all the rest."""
    start = process_time()
    with writing(path) as warehouse, contextlib.redirect_stderr(io.StringIO()):
        clocked = warehouse.con = Clocked(warehouse.con)
        try:
            ingest([Source.named([str(source())])], contextlib.nullcontext(warehouse))
        finally:
            warehouse.con = clocked.con
    return clocked.seconds, process_time() - start - clocked.seconds


def question(con: duckdb.DuckDBPyConnection, mart: project.Model, key: str) -> str:
    """Return the statement that asks a mart for the rows of the largest run or of the longest history."""
    value = con.execute(LARGEST[key]).fetchone()[0]
    if key in mart.columns:
        return f"SELECT * FROM {mart.name} WHERE {key} = {value}"
    if "dump_id" in mart.columns:
        return (
            f"SELECT * FROM {mart.name}"
            f" WHERE dump_id IN (SELECT dump_id FROM marts.observations_v1 WHERE {key} = {value})"
        )
    return f"SELECT * FROM {mart.name}"  # of runs, which have no program


def asked(con: duckdb.DuckDBPyConnection, sql: str) -> tuple[float, int]:
    """Return the median seconds that a question takes, and its rows."""
    seconds, rows = [], 0
    for _ in range(TURNS):
        start = perf_counter()
        rows = len(con.execute(sql).fetchall())
        seconds.append(perf_counter() - start)
    return median(seconds), rows


def table() -> str:
    """Return the figures as Markdown."""
    lines = ["| mart | one run | one program's history |", "|---|---|---|"]
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "fleet.duckdb"
        of_models, rest = ingested(path)
        with duckdb.connect(str(path), read_only=True) as con:
            for mart in project.read():
                if mart.layer == "marts":
                    cells = [asked(con, question(con, mart, key)) for key in LARGEST]
                    lines.append(
                        f"| `{mart.name}` | "
                        + " | ".join(f"{seconds:.3f} s, {counted(rows, 'row')}" for seconds, rows in cells)
                        + " |"
                    )
    lines += ["", f"Models and checks took {of_models:.1f} s of the ingest, all the rest {rest:.1f} s."]
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
