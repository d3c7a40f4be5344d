"""The statements of a batch: what each has made, and what hangs on that."""

import duckdb
import polars as pl
import pytest

from bufferhouse.warehouse.batch_catalog import Statement, run_statements


@pytest.fixture
def con():
    with duckdb.connect() as opened:
        yield opened


@pytest.mark.parametrize(("count", "found"), [(0, "few"), (2, "few"), (3, "many")])
def test_what_is_carried_out_hangs_on_rows(con, count, found):
    """Of tables that other statements have made: so many rows together, else the other statement, or none."""
    filled = Statement("filled", f"CREATE TABLE filled AS SELECT * FROM range({count - count // 2})")
    given = Statement("given", "CREATE TABLE more AS FROM given", given=pl.DataFrame({"x": range(count // 2)}))
    of = {"of": ["filled", "given"], "least": 3}
    told = Statement(
        "told", sql="CREATE TABLE told AS SELECT 'many' AS n", otherwise="CREATE TABLE told AS SELECT 'few' AS n", **of
    )
    gone = Statement("gone", sql="DROP TABLE filled", **of)
    rows = run_statements(con, [filled, given, told, gone])
    assert {"filled": count - count // 2, "given": count // 2, "told": 1} == rows
    assert [(found,)] == con.execute("FROM told").fetchall()
    left = con.execute("SELECT 1 FROM duckdb_tables() WHERE table_name = 'filled'").fetchall()
    assert (found == "few") == bool(left)


def test_after_what_fails_nothing_is_carried_out(con):
    """The error comes out as it is."""
    fails = Statement("fails", "SELECT CAST('x' AS INTEGER)")
    later = Statement("later", "CREATE TABLE later (n INTEGER)")
    with pytest.raises(duckdb.ConversionException):
        run_statements(con, [fails, later])
    assert [] == con.execute("SELECT 1 FROM duckdb_tables() WHERE table_name = 'later'").fetchall()
