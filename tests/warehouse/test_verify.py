"""The proof that nothing was lost: what it takes as proved, and that not one cell can change unnoticed."""

import random
import re
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest

from bufferhouse.dump.identity import FACTS_OF_NAME
from bufferhouse.tabulate.batch import COLUMNS
from bufferhouse.warehouse.restore import ORDER
from bufferhouse.warehouse.verify import chosen_dumps, verify
from tests.command_line import call
from tests.ingests import SUFFIX, ingest, write_dumps
from tests.synthetic import small_dump
from tests.warehouses import rows, taken_back


@pytest.fixture(scope="module")
def connection(dialects):
    with duckdb.connect(str(dialects), config={"threads": 1}) as con:
        con.execute("SET TimeZone = 'UTC'")
        yield con


@pytest.fixture
def con(connection):
    """A connection whose changes are rolled back."""
    with taken_back(connection):
        yield connection


@pytest.fixture
def own(dialects, tmp_path) -> Path:
    """A copy of that warehouse that the test may change."""
    return Path(shutil.copy(dialects, tmp_path / "own.duckdb"))


def changed(kind: str, value: object) -> list[object]:
    """Other values of a column's type."""
    if kind == "BIGINT":
        return [0 if value is None else value + 1]
    if kind == "BOOLEAN":
        return [not value]
    if kind == "BIGINT[]":
        return [[7] if value is None else [*value, 7]]
    if kind.startswith("TIMESTAMP"):
        return ["2001-01-01 00:00:00+00"]
    if kind == "BLOB":
        return [value + b"x"]
    return ["x" if value is None else f"{value}x", "latin-1" if value == "utf-8" else "present"]


@dataclass(frozen=True)
class Cell:
    """A cell to change, with another value, and the dumps its row belongs to."""

    table: str
    column: str
    row: int
    value: object
    owners: frozenset[int]


def cells(con, table: str, column: str, owners: dict[int, frozenset[int]]) -> Iterator[list[Cell]]:
    """Yield the cells to choose one from: another value in place of a value, of a null, and a null in its place."""
    [(kind, is_nullable)] = con.execute(
        "SELECT data_type, is_nullable FROM duckdb_columns()"
        " WHERE schema_name = 'raw' AND table_name = ? AND column_name = ?",
        [table, column],
    ).fetchall()
    found = con.execute(f"SELECT rowid, {column} FROM raw.{table} ORDER BY rowid").fetchall()
    empty, full = [row for row in found if row[1] is None], [row for row in found if row[1] is not None]
    assert bool(is_nullable) >= bool(empty), f"{table}.{column} is null where it may not be"
    assert full, f"{table}.{column} has no value in these dumps"
    for sort in filter(None, (full, empty)):
        for others in zip(*(changed(kind, value) for _, value in sort), strict=True):
            yield [
                Cell(table, column, row, other, owners[row])
                for (row, value), other in zip(sort, others, strict=True)
                if other != value and row in owners
            ]
    if is_nullable:
        yield [Cell(table, column, row, None, owners[row]) for row, _ in full if row in owners]


def rounds(wanted: Iterable[list[Cell]], chance: random.Random) -> Iterator[list[Cell]]:
    """Choose a cell of each list, at random; those that are changed at the same time belong to different dumps."""
    waiting = [choice for choice in wanted if choice]
    while waiting:
        taken: list[Cell] = []
        left = []
        for choice in sorted(waiting, key=lambda choice: len({cell.owners for cell in choice})):
            used = frozenset().union(*(cell.owners for cell in taken))
            free = [cell for cell in choice if not cell.owners & used]
            if free:
                owners = chance.choice(sorted({cell.owners for cell in free}, key=sorted))
                taken.append(chance.choice([cell for cell in free if cell.owners == owners]))
            else:
                left.append(choice)
        yield taken
        waiting = left


def ids_by_row(con, table: str) -> dict[int, frozenset[int]]:
    """The dumps that each row of a table belongs to; a shape belongs to all that have it."""
    if table != "shapes":
        found = con.execute(f"SELECT rowid, dump_id FROM raw.{table}").fetchall()
        return {row: frozenset([dump_id]) for row, dump_id in found}
    found = con.execute(
        "SELECT s.rowid, LIST(DISTINCT dump_id) FROM ("
        " SELECT shape_id, dump_id FROM raw.hlo_values UNION"
        " SELECT result_shape_id, dump_id FROM raw.instruction_texts UNION"
        " SELECT UNNEST([parameter_shape_id, output_shape_id]), dump_id FROM raw.allocations"
        ") JOIN raw.shapes AS s USING (shape_id) GROUP BY ALL"
    ).fetchall()
    return {row: frozenset(dump_ids) for row, dump_ids in found}


PROVED = {table: COLUMNS[table] for table in [*ORDER, "shapes"]}
PROVED["observations"] = [*FACTS_OF_NAME, "dump_id", "source_uri"]


@pytest.mark.slow
def test_one_changed_cell_is_found(con):
    """Whatever column of whatever row: the dump it belongs to is reported, no other is, and no other table hides it.

    Each dump is proved by itself: so cells of several are changed at a time, at most one of each dump.
    """
    wanted: list[list[Cell]] = []
    for table, columns in PROVED.items():
        owners = ids_by_row(con, table)
        wanted += [choice for column in columns for choice in cells(con, table, column, owners)]
    found = set()
    for taken in rounds(wanted, random.Random(3)):
        for cell in taken:
            con.execute(f"UPDATE raw.{cell.table} SET {cell.column} = ? WHERE rowid = ?", [cell.value, cell.row])
        reported = {fault.dump_id for fault in verify(con, chosen_dumps(con))}
        for cell in taken:
            changed_cell = f"{cell.column} of row {cell.row} of raw.{cell.table}"
            assert cell.owners & reported, f"{changed_cell} was changed to {cell.value!r}"
        moved_to = {cell.value for cell in taken if cell.column == "dump_id"}
        assert reported <= moved_to.union(*(cell.owners for cell in taken))
        found |= {(cell.table, cell.column) for cell in taken}
        con.execute("ROLLBACK")
        con.execute("BEGIN")
    assert {(table, column) for table, columns in PROVED.items() for column in columns} == found


@pytest.mark.parametrize("table", [*ORDER, "shapes", "observations", "runs", "loads"])
def test_one_missing_row_is_found(con, table):
    """So is a row that is gone, or there twice: both at once, where they can belong to different dumps."""
    row = con.execute(f"SELECT rowid FROM raw.{table} ORDER BY hash(rowid) LIMIT 1").fetchone()[0]
    expected = set()
    if table in ORDER:
        owners = ids_by_row(con, table)
        twice = next((one for one in sorted(owners) if owners[one] != owners[row]), row)
        con.execute(f"INSERT INTO raw.{table} SELECT * FROM raw.{table} WHERE rowid = ?", [twice])
        if twice == row:
            assert owners[row] == {fault.dump_id for fault in verify(con, chosen_dumps(con))}
            con.execute("ROLLBACK")
            con.execute("BEGIN")
        expected = {*owners[twice], *(owners[row] if table != "dumps" else ())}
    con.execute(f"DELETE FROM raw.{table} WHERE rowid = ?", [row])
    reported = {fault.dump_id for fault in verify(con, chosen_dumps(con))}
    assert reported
    assert expected <= reported


def test_rows_of_a_file_that_do_not_replace_one_another_are_found(con):
    """All but the first say which load's row they replaced: staging tells the newest by that."""
    [(row, dump_id)] = con.execute("SELECT rowid, dump_id FROM raw.observations ORDER BY rowid LIMIT 1").fetchall()
    for replaced, expected in (("load_id", set()), ("NULL", {dump_id}), ("load_id + 1000", {dump_id})):
        con.execute("INSERT INTO raw.loads SELECT * REPLACE (load_id + 1000 AS load_id) FROM raw.loads")
        con.execute(
            "INSERT INTO raw.observations BY NAME SELECT * REPLACE (load_id + 1000 AS load_id,"
            f" {replaced} AS replaced_load_id) FROM raw.observations WHERE rowid = ?",
            [row],
        )
        assert expected == {fault.dump_id for fault in verify(con, chosen_dumps(con))}, replaced
        con.execute("ROLLBACK")
        con.execute("BEGIN")


def test_a_dump_that_is_there_twice_is_found(con):
    """A content that two writers have loaded is a fault, by itself, and hides nothing else."""
    (dump_id,) = con.execute("SELECT MIN(dump_id) FROM raw.dumps").fetchone()
    for table in COLUMNS:
        if table != "shapes":
            con.execute(f"INSERT INTO raw.{table} SELECT * FROM raw.{table} WHERE dump_id = ?", [dump_id])
    ids = chosen_dumps(con)
    assert [(dump_id, "raw.dumps: expected one row, found 2")] == [(f.dump_id, f.what) for f in verify(con, ids)]


def test_rows_of_a_dump_that_is_gone_are_found(con):
    """Where all dumps are proved, rows of no dump are reported, too."""
    [gone] = con.execute("DELETE FROM raw.dumps WHERE rowid = 0 RETURNING dump_id").fetchone()
    assert {gone} == {fault.dump_id for fault in verify(con, chosen_dumps(con))}


def test_what_is_in_order_is_proved(own):
    """The command says how many, exit 0."""
    outcome = call("verify", "--warehouse", own)
    assert (0, "9 of 9 dumps proved\n") == (outcome.code, outcome.out)
    assert "dumps: 9/9" in outcome.err


def test_a_fault_is_named_with_dump_table_and_column(own):
    """Exit 1; the message says what is there and what the text of the dump says."""
    [(dump_id, opcode)] = rows(own, "SELECT dump_id, opcode FROM raw.instruction_texts WHERE rowid = 100")
    with duckdb.connect(str(own)) as con:
        con.execute("UPDATE raw.instruction_texts SET opcode = 'add-dependency' WHERE rowid = 100")
    outcome = call("verify", "--warehouse", own)
    assert (1, "8 of 9 dumps proved\n") == (outcome.code, outcome.out)
    assert f"dump {dump_id}: raw.instruction_texts: opcode in row " in outcome.err
    assert f"is 'add-dependency', where its text says {opcode!r}" in outcome.err


def test_a_view_that_somebody_changed_is_named(own):
    """Its rows are stored nowhere, so that nothing else would tell; what is proposed mends it."""
    with duckdb.connect(str(own)) as con:
        [(sql,)] = con.execute("SELECT model_sql FROM meta.models WHERE model_name = 'marts.footprint_v1'").fetchall()
        con.execute(f"CREATE OR REPLACE VIEW marts.footprint_v1 AS SELECT * FROM ({sql}) WHERE footprint_bytes > 9")
        con.execute("CREATE OR REPLACE VIEW marts.runs AS SELECT * FROM marts.runs_v1")
        con.execute("DROP VIEW marts.warnings_v2")
    outcome = call("verify", "--sample", "1", "--warehouse", own)
    other, way_out = "not the one that was built", "build it again with: bufferhouse build --force"
    found = {"footprint_v1": other, "runs": other, "warnings_v2": "gone"}
    expected = [f"marts.{name}: the view is {what}; {way_out}" for name, what in found.items()]
    told = sorted(line for line in outcome.err.splitlines() if line.startswith("marts."))
    assert (1, expected) == (outcome.code, told)
    assert 0 == call("build", "--force", "--warehouse", own).code
    assert 0 == call("verify", "--sample", "1", "--warehouse", own).code


def test_samples_and_runs(own):
    """--sample N proves N dumps, --run those a run sees; a run that is not there is a wrong call."""
    assert "7 of 7 dumps proved\n" == call("verify", "--sample", 7, "--warehouse", own).out
    assert "2 of 2 dumps proved\n" == call("verify", "--run", "seeds", "--warehouse", own).out
    assert 2 == call("verify", "--run", "none", "--warehouse", own).code


def test_the_rejects_of_a_run_are_proved_with_it(warehouse, tmp_path):
    """With --run only those: a fault of another run is found where that one is verified, and with --sample."""
    for name in ("good", "bad"):
        _, other = write_dumps(tmp_path / name, [1, 2])
        other.write_text(f"damaged in {name}")
    ingest(warehouse, tmp_path)
    with duckdb.connect(str(warehouse)) as con:
        con.execute(
            "UPDATE raw.rejects SET sha256 = REPEAT('0', 64)"
            " WHERE run_id = (SELECT run_id FROM raw.runs WHERE run_name = 'bad')"
        )
    for words, code in ((["--run", "good"], 0), (["--run", "bad"], 1), (["--sample", 1], 1)):
        outcome = call("verify", *words, "--warehouse", warehouse)
        assert (code, code) == (outcome.code, outcome.err.count("reject ")), outcome.err


def test_a_warehouse_without_dumps_is_proved(warehouse):
    """Nothing to prove, nothing wrong; why there is nothing is said."""
    outcome = call("verify", "--warehouse", warehouse)
    assert (0, "0 of 0 dumps proved\n") == (outcome.code, outcome.out)
    assert "bufferhouse: the warehouse has no runs yet; load dumps with: bufferhouse ingest SOURCE\n" == outcome.err


def test_a_run_of_which_every_dump_was_refused_is_not_proved(warehouse, tmp_path):
    """None of none is no proof: exit 2, with what lists the rejects."""
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / f"x{SUFFIX}").write_bytes(small_dump(1)[:-30])
    ingest(warehouse, tmp_path / "bad")
    outcome = call("verify", "--run", "bad", "--warehouse", warehouse)
    assert (2, "") == (outcome.code, outcome.out)
    way_out = "list them with: bufferhouse rejects ls"
    assert f"bufferhouse: the run 'bad' has no dumps, 1 reject; {way_out}\n" == outcome.err
    whole = call("verify", "--warehouse", warehouse)
    assert (0, "0 of 0 dumps proved\n") == (whole.code, whole.out)
    assert f"bufferhouse: no dump could be read, 1 reject; {way_out}\n" == whole.err


def test_loads_stay_proved_when_runs_are_removed(warehouse, tmp_path):
    """A content that an older run brought stays with its load, also when only younger runs are left."""
    for run in ("one", "two"):
        (tmp_path / run).mkdir()
        (tmp_path / run / f"x{SUFFIX}").write_bytes(small_dump(1))
        (tmp_path / run / f"{run}{SUFFIX}").write_bytes(small_dump(len(run) + ord(run[0])))
        ingest(warehouse, tmp_path / run)
    assert 0 == call("runs", "rm", "--yes", "one", "--warehouse", warehouse).code
    assert "2 of 2 dumps proved\n" == call("verify", "--warehouse", warehouse).out


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("DELETE FROM {0} WHERE rowid = (SELECT MIN(rowid) FROM {0} WHERE dump_id = {1})", "1 row missing and 0 rows"),
        ("INSERT INTO {0} SELECT * FROM {0} WHERE dump_id = {1} LIMIT 1", "0 rows missing and 1 row too many"),
        ("INSERT INTO {0} BY NAME SELECT * REPLACE (77 AS dump_id) FROM {0} LIMIT 1", "a dump that is not there"),
    ],
)
def test_no_row_of_a_stored_model_is_lost_unnoticed(own, change, told):
    """What each model has too little, twice, or of no dump is told with its name."""
    with duckdb.connect(str(own)) as con:
        names = con.execute("SELECT model_name FROM meta.models WHERE is_incremental ORDER BY 1").fetchall()
        filled = [name for (name,) in names if con.execute(f"SELECT COUNT(*) FROM {name}").fetchone()[0]]
        expected = {}
        for name in filled:
            taken = ", ".join(map(str, expected)) or "NULL"
            free = con.execute(f"SELECT dump_id FROM {name} WHERE (dump_id IN ({taken})) IS NOT TRUE").fetchone()
            if free is None:
                continue  # each dump has lost something by now
            dump_id = 77 if "77" in change else free[0]
            con.execute(change.format(name, dump_id))
            expected[dump_id] = name
    assert 3 < len(filled)
    outcome = call("verify", "--warehouse", own)
    found = {int(dump_id): what for dump_id, what in re.findall(r"dump (-?\d+): (.*)", outcome.err)}
    assert (1, expected.keys()) == (outcome.code, found.keys())
    way_out = "; build it again with: bufferhouse build --force"
    assert all(told in what and what.endswith(way_out) for what in found.values()), found  # and nothing of raw is
    assert len(found) == outcome.err.count(told)
