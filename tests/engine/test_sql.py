"""Tables in memory that statements name; where a lake goes away in between, see tests/warehouse/lake/test_commit.py."""

import duckdb
import pyarrow as pa
import pytest

from bufferhouse.engine.sql import registered, streamed

NUMBERS = pa.table({"number": [1, 2, 3]})


@pytest.mark.parametrize("named", [registered, streamed])
def test_a_name_is_free_when_a_statement_failed(named):
    """Whatever the fault, also in a transaction, the same name can be given again."""
    with duckdb.connect() as con:
        with pytest.raises(duckdb.BinderException), named(con, "numbers", NUMBERS):
            con.execute("SELECT nothing FROM numbers")
        con.execute("BEGIN")
        with pytest.raises(duckdb.ConversionException), named(con, "numbers", NUMBERS):
            con.execute("SELECT CAST('a' || number AS BIGINT) FROM numbers")
        con.execute("ROLLBACK")
        with named(con, "numbers", NUMBERS):
            assert [(6,)] == con.execute("SELECT SUM(number) FROM numbers").fetchall()
        with pytest.raises(duckdb.CatalogException):
            con.execute("FROM numbers")


def test_how_often_rows_can_be_read():
    """As often as one likes where they are a table; a second time is an error, never no rows, where they stream."""
    with duckdb.connect() as con:
        with registered(con, "numbers", NUMBERS):
            assert [(9,)] == con.execute("SELECT COUNT(*) FROM numbers, numbers AS others").fetchall()
            assert [(3,)] == con.execute("SELECT COUNT(*) FROM numbers").fetchall()
        with streamed(con, "numbers", NUMBERS):
            assert [(3,)] == con.execute("SELECT COUNT(*) FROM numbers").fetchall()
            with pytest.raises(duckdb.InvalidInputException, match="already been consumed"):
                con.execute("SELECT COUNT(*) FROM numbers")
