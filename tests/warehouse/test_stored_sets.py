"""Keys of sets of rows: equal ones are stored once, others never under one key, and what is damaged is found."""

import shutil
from array import array
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from bufferhouse.warehouse.stored_sets import SETS, key_of_columns
from bufferhouse.warehouse.verify import chosen_dumps, verify
from tests.command_line import call
from tests.ingests import ingest
from tests.sources.beside import written
from tests.warehouses import taken_back


def test_other_columns_have_another_key():
    """A number in another row or column, a missing one, a text cut elsewhere, no row at all."""
    numbers = array("q", [1, 2])
    columns = [
        (), ([],), ([], []), (numbers, [None, 0]), (numbers, [0, None]), (numbers, [0, 0]), (numbers, [None, None]),
        (array("q", [2, 1]), [0, 0]), (numbers, ["ab", "c"]), (numbers, ["a", "bc"]), (numbers, ["ab", "\udc80"]),
        (numbers,), (numbers, numbers), (array("q", [1, 2, 1, 2]),), (numbers, ["", "abc"]), (numbers, [-1, 0]),
    ]  # fmt: skip
    some = [one for one in columns if one == () or len(one[0])]
    assert len(some) == len({key_of_columns(one) for one in some})


def test_a_key_is_that_of_its_stored_rows():
    """Whether the columns are arrays, as they were read, or come out of the table as rows."""
    rows = [(0, 0, 3, "alloc", 5, None, 8, 0, 8, "main", "a"), (1, 0, 3, "share", 6, 5, 0, 1, 8, "main", "")]
    told = [
        array("q", one) if isinstance(one[0], int) and None not in one else list(one) for one in zip(*rows, strict=True)
    ]
    assert key_of_columns(told) == SETS["heap_events"].key(rows)


@pytest.fixture(scope="module")
def connection(blank_warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to a warehouse of dumps with protos, options and module texts, all of it proved."""
    folder = tmp_path_factory.mktemp("proved")
    path = Path(shutil.copy(blank_warehouse, folder / "w.duckdb"))
    ingest(path, written(folder / "night"))
    assert 0 == call("verify", "--warehouse", path).code
    with duckdb.connect(str(path), config={"threads": 1}) as con:
        con.execute("SET TimeZone = 'UTC'")
        yield con


@pytest.fixture
def con(connection: duckdb.DuckDBPyConnection) -> Iterator[duckdb.DuckDBPyConnection]:
    """It, with changes that are taken back."""
    with taken_back(connection):
        yield connection


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE raw.heap_events SET alive_bytes = alive_bytes + 1 WHERE ordinal = 3",
        # Cells of other kinds; that each has its part in the key is seen above.
        pytest.param(
            "UPDATE raw.heap_events SET instruction_name = instruction_name || 'x' WHERE ordinal = 0",
            marks=pytest.mark.soak,
        ),
        pytest.param("UPDATE raw.heap_events SET shared_value_id = 0 WHERE ordinal = 0", marks=pytest.mark.soak),
        "DELETE FROM raw.heap_events WHERE ordinal = 5",
        "UPDATE raw.alias_sets SET value_id = value_id + 1 WHERE rowid = 2",
        "UPDATE raw.stack_frames SET source_line = 27 WHERE source_line = 26",
        "DELETE FROM raw.stack_frames",
        "UPDATE raw.compile_flags SET flag_value = 'cse' WHERE flag_value = 'fusion'",
    ],
)
def test_what_is_damaged_in_the_table_is_found(con, damage):
    """By the proof of dumps, with the table."""
    assert con.execute(damage).fetchone()[0] > 0
    found = verify(con, chosen_dumps(con))
    table = damage.split()[2 if "FROM" in damage else 1]
    assert (True, [True] * len(found)) == (bool(found), [table in fault.what for fault in found])
