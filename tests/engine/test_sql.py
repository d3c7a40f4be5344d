"""Tables in memory that statements name, also where a lake goes away in between."""

import duckdb
import pyarrow as pa
import pytest

from bufferhouse.engine.sql import registered, streamed
from tests.warehouse.lake.lakes import needs_lake

pytest_plugins = ["tests.servers.lake_servers"]
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


@needs_lake
@pytest.mark.slow
def test_a_name_is_free_when_the_catalog_of_a_lake_was_away(postgres, tmp_path):
    """DuckDB itself cannot look up a bare name then; a worker that tries again needs it."""
    pytest.importorskip("psycopg")
    from bufferhouse.warehouse.address import address_of
    from bufferhouse.warehouse.lake.attach import make_lake, open_lake

    address = address_of(f"ducklake:postgres:{postgres.make_database()}").with_data_path(str(tmp_path / "files"))
    make_lake(address)
    with open_lake(address, read_only=False) as con:
        con.execute("CREATE TABLE stored AS SELECT 2 AS number")

        def ask(meanwhile=lambda: None) -> list[tuple]:
            with registered(con, "numbers", NUMBERS):
                meanwhile()
                return con.execute("FROM stored SEMI JOIN numbers USING (number)").fetchall()

        for meanwhile in (postgres.kill, lambda: None):
            with pytest.raises(duckdb.Error):
                ask(meanwhile)
        postgres.start()
        assert [(2,)] == ask()
