"""Tables in memory that statements name, also where a lake goes away in between."""

import duckdb
import pyarrow as pa
import pytest

from bufferhouse.engine.sql import registered
from tests.warehouse.lake.lakes import needs_lake

pytest_plugins = ["tests.servers.lake_servers"]
NUMBERS = pa.table({"number": [1, 2, 3]})


def test_a_name_is_free_when_a_statement_failed():
    """Whatever the fault, the same name can be given again."""
    with duckdb.connect() as con:
        with pytest.raises(duckdb.BinderException), registered(con, "numbers", NUMBERS):
            con.execute("SELECT nothing FROM numbers")
        with registered(con, "numbers", NUMBERS):
            assert [(6,)] == con.execute("SELECT SUM(number) FROM numbers").fetchall()
        with pytest.raises(duckdb.CatalogException):
            con.execute("FROM numbers")


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
