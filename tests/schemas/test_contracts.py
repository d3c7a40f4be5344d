"""The contracts: how they are written, what they refuse, and that the migrated catalog is what they declare."""

import re
from datetime import UTC, datetime

import duckdb
import pandera.errors
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bufferhouse.paths import CHECKOUT
from bufferhouse.sources.run import Run
from schemas import TABLES
from schemas.contract import Contract

COLUMNS = [(table, name, column) for table, contract in TABLES.items() for name, column in contract.columns.items()]
# Words that need quotes somewhere in SQL. `rejects.content` is the one exception, which the design itself makes.
FORBIDDEN = {"index", "text", "position", "source", "target", "name", "content", "column", "offset", "values"}
# How the name of a whole number ends, so that it says what is counted.
QUANTITIES = (
    *("_id", "_index", "_bytes", "_position", "_count", "_number", "_line", "_bits", "_arity", "_space", "_ns"),
    *("ordinal", "page", "trailing_newlines", "_column"),
)


@pytest.mark.parametrize("table", TABLES)
def test_every_table_says_what_it_is(table):
    """A table has a description, a grain, a key of its own columns, none of which is null, and a file of its own."""
    contract = TABLES[table]
    assert table == contract.name
    assert contract.description.endswith(".")
    assert contract.grain
    assert contract.key
    assert all(not contract.columns[name].nullable for name in contract.key)
    assert (CHECKOUT / "schemas" / f"{table}.py").is_file()


def test_every_column_has_a_description():
    """A sentence for each column, ended by a full stop."""
    assert [] == [(table, name) for table, name, column in COLUMNS if not (column.description or "").endswith(".")]


def test_names_tell_what_a_column_holds():
    """Booleans begin with is_, has_ or did_, byte counts end in _bytes, keys in _id; no name needs quotes."""
    for table, name, column in COLUMNS:
        kind = column.sql_type
        assert re.fullmatch(r"[a-z][a-z0-9_]*", name)
        assert (kind == "BOOLEAN") == name.startswith(("is_", "has_", "did_")), (table, name)
        assert (kind == "TIMESTAMP WITH TIME ZONE") == name.endswith("_at"), (table, name)
        assert kind != "BIGINT" or name.endswith(QUANTITIES), (table, name)
        assert not name.endswith(("_id", "_bytes", "_position", "_count")) or kind == "BIGINT", (table, name)
    found = {(table, name) for table, name, _ in COLUMNS if name in FORBIDDEN}
    assert {("rejects", "content")} == found
    assert "values" not in TABLES


def test_the_same_quantity_has_the_same_type_everywhere():
    """A column name means one thing: one type wherever it stands."""
    kinds: dict[str, set[str]] = {}
    for _, name, column in COLUMNS:
        kinds.setdefault(name, set()).add(column.sql_type)
    assert {} == {name: found for name, found in kinds.items() if len(found) > 1}


@pytest.fixture(scope="module")
def migrated(blank_warehouse):
    with duckdb.connect(str(blank_warehouse), read_only=True) as con:
        yield con


def test_the_migrated_tables_are_those_of_the_contracts(migrated):
    """Tables, views and their comments, in both directions: nothing is missing, nothing is there besides."""
    found = migrated.execute(
        "SELECT table_name, comment, NULL FROM duckdb_tables() WHERE schema_name = 'raw'"
        " UNION ALL SELECT view_name, comment, sql FROM duckdb_views() WHERE schema_name = 'raw'"
    ).fetchall()
    expected = {(table, contract.description, view_sql(contract)) for table, contract in TABLES.items()}
    assert expected == set(found)
    assert len(TABLES) == len(found)


def view_sql(contract: Contract) -> str | None:
    """The statement of the view of a contract as DuckDB keeps it; None of a table."""
    if contract.query is None:
        return None
    with duckdb.connect() as con:
        con.execute("CREATE SCHEMA raw")
        for table in sorted(TABLES.values(), key=lambda table: table.query is not None):
            columns = ", ".join(f"{name} {column.sql_type}" for name, column in table.columns.items())
            con.execute(
                f"CREATE VIEW raw.{table.name} AS\n{table.query};"
                if table.query
                else f"CREATE TABLE raw.{table.name} ({columns})"
            )
        return con.execute(f"SELECT sql FROM duckdb_views() WHERE view_name = '{contract.name}'").fetchone()[0]


@pytest.mark.parametrize("table", TABLES)
def test_the_migrated_columns_are_those_of_the_contract(migrated, table):
    """Names, order, types, nullability and comments of the catalog equal the declaration; a view's may be null."""
    is_view = TABLES[table].query is not None
    expected = [
        (name, column.sql_type, is_view or column.nullable, column.description)
        for name, column in TABLES[table].columns.items()
    ]
    found = migrated.execute(
        "SELECT column_name, data_type, is_nullable, comment FROM duckdb_columns()"
        " WHERE schema_name = 'raw' AND table_name = ? ORDER BY column_index",
        [table],
    ).fetchall()
    assert expected == found


def test_a_run_is_a_row_of_its_contract():
    """A run is written without a frame: its row has the columns of the contract, in their order."""
    run = Run("run", "/run", datetime(2026, 1, 1, tzinfo=UTC), "given")
    assert list(TABLES["runs"].columns) == list(run.row(1))


# What a contract refuses, shown on one table that has every kind of rule.

GOOD = {
    "dump_id": [1, 1],
    "ordinal": [0, 1],
    "instruction_id": [3, 4],
    "shape_index": ["{}", "{0,1}"],
    "start_position": [0, 5],
    "end_position": [8, 8],
}


def refused(**changes) -> list[tuple]:
    """The column and the rule of every breach of live_ranges with some cells changed."""
    return breaches_of("live_ranges", pl.DataFrame({**GOOD, **changes}))


def breaches_of(table: str, frame: pl.DataFrame) -> list[tuple]:
    """The column and the rule of every breach of a frame; that there is none is what the quick pass says, too."""
    try:
        TABLES[table].validate(frame)
        found = []
    except pandera.errors.SchemaErrors as error:
        found = [(case["column"], case["check"]) for case in error.failure_cases.to_dicts()]
    assert (not found) == TABLES[table].is_kept_by(frame)
    return found


def test_good_rows_are_taken():
    """The rows the other cases start from break nothing."""
    assert [] == refused()


@pytest.mark.parametrize(
    ("changes", "breach"),
    [
        ({"ordinal": ["0", "1"]}, ("ordinal", "dtype('Int64')")),
        ({"ordinal": pl.Series([0, 1], dtype=pl.Int32)}, ("ordinal", "dtype('Int64')")),
        ({"end_position": [8, None]}, ("end_position", "not_nullable")),
        ({"start_position": [-1, 5]}, ("start_position", "greater_than_or_equal_to(0)")),
        ({"shape_index": ["{}", "0,1"]}, ("shape_index", r"str_matches('^\{[0-9,]*\}$')")),
    ],
)
def test_a_cell_that_breaks_its_rule_is_refused(changes, breach):
    """A wrong type (nothing is coerced), a null, a negative number, a text of another form."""
    assert breach in refused(**changes)


def test_columns_are_neither_more_nor_fewer_nor_elsewhere():
    """A column too many, one missing, and another order are refused."""
    for frame in (
        pl.DataFrame({**GOOD, "more": [1, 2]}),
        pl.DataFrame(GOOD).drop("end_position"),
        pl.DataFrame(GOOD).select(*reversed(GOOD)),
    ):
        assert breaches_of("live_ranges", frame)


def test_a_key_that_comes_twice_is_refused():
    """Rows are told apart by the key."""
    assert {("live_ranges", "multiple_fields_uniqueness")} == set(refused(ordinal=[0, 0]))


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(1, 3)), max_size=6), st.booleans())
@settings(max_examples=200, deadline=None)
def test_keys_are_unique_in_any_order(keys, are_sorted):
    """Rows in the order of their keys are looked at as neighbors, others among all: the answer is the same."""
    keys = sorted(keys) if are_sorted else keys
    cells = dict(zip(("dump_id", "value_id", "ordinal"), zip(*keys, strict=True) if keys else ([],) * 3, strict=True))
    cells |= {"instruction_id": [0] * len(keys), "shape_index": [None] * len(keys)}
    frame = pl.DataFrame(cells, schema=TABLES["further_positions"].types)
    assert (len(set(keys)) == len(keys)) == TABLES["further_positions"].is_kept_by(frame)


def test_only_listed_words_are_taken():
    """A column with a fixed set of words refuses any other."""
    good = {"dump_id": [1], "role": ["combined"], "sha256": ["0" * 64], "text_bytes": [1], "trailing_newlines": [0]}
    assert [] == breaches_of("dump_files", pl.DataFrame(good))
    found = breaches_of("dump_files", pl.DataFrame({**good, "role": ["main"]}))
    assert ["role"] == [column for column, check in found if check.startswith("isin")]


def test_nulls_are_taken_where_they_are_declared():
    """A null breaks no rule of a column that may be null; neither does a table without rows."""
    row = {name: [None] for name in TABLES["shapes"].columns}
    row |= {"shape_id": [0], "shape_text": ["f32[2]"], "layout_memory_space": [0]}
    frame = pl.DataFrame(row, schema=TABLES["shapes"].types)
    assert [] == breaches_of("shapes", frame)
    assert [] == breaches_of("shapes", frame.clear())


@pytest.mark.parametrize("table", TABLES)
def test_patterns_hold_from_the_first_character_on(table):
    """Pandera looks for a pattern at the start of a text, Polars anywhere: each begins with ^, so that both agree."""
    patterns = [column.matches for column in TABLES[table].columns.values() if column.matches]
    assert [] == [pattern for pattern in patterns if not pattern.startswith("^")]
