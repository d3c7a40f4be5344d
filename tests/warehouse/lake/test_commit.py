"""The commit of a load where several workers load the same, in a real PostgreSQL."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace

import duckdb
import pyarrow as pa
import pytest

from bufferhouse.engine.sql import registered
from bufferhouse.errors import UsageError
from bufferhouse.tabulate.batch import without
from bufferhouse.warehouse.address import address_of
from bufferhouse.warehouse.lake.attach import make_lake, open_lake
from bufferhouse.warehouse.lake.commit import load_claimed
from bufferhouse.warehouse.open import writing
from bufferhouse.warehouse.retention import remove_runs
from tests.flows.clock import until
from tests.synthetic import small_dump
from tests.warehouse.lake.lakes import answer, needs_lake
from tests.warehouses import load_parsed, parsed

psycopg = pytest.importorskip("psycopg", reason="the extra `lake` is not installed")

pytest_plugins = ["tests.servers.lake_servers"]
pytestmark = [needs_lake, pytest.mark.slow]


def test_what_others_took_over_unseen_is_not_loaded_twice(shared_lake):
    """A worker whose session ends between its claims and its load waits for whoever has them by then."""
    slows, quicks = parsed([small_dump(1)]), parsed([small_dump(1)])
    with writing(shared_lake, build_models=False) as slow, writing(shared_lake, build_models=False) as quick:
        needed = load_claimed(slow, slows, lambda _: set(slow.claims.held))
        assert needed == slow.claims.take(needed)
        with psycopg.connect(shared_lake.connection_string) as con:
            con.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE classid = %s AND objid = %s AND granted",
                [0x62756668, slow.claims.worker_id],  # locks of other classes may have the same number
            )
        until(lambda: needed == quick.claims.take(needed), "the claims of a dead worker")
        with ThreadPoolExecutor(1) as pool:
            later = pool.submit(load_parsed, slow, slows)
            until(lambda: slow.claims.retries == 1 or later.done(), "a load that finds its claims gone")
            assert 1 == load_parsed(quick, quicks).new_count
            assert (0, 1) == (later.result().new_count, later.result().known_count)
    assert [(1,)] == answer(shared_lake, "SELECT COUNT(*) FROM raw.dumps")


def test_a_load_that_is_done_anew_asks_again_what_is_known(shared_lake, monkeypatch):
    """It is refused where another worker removed contents meanwhile, whose session that kept it alone was cut."""
    batch, once_more = (parsed([small_dump(3)], name) for name in ("one", "two"))
    with writing(shared_lake, build_models=False) as lake, writing(shared_lake, build_models=False) as other:
        load_parsed(lake, batch, "one")
        monkeypatch.setattr(other, "alone", nullcontext)
        once_more = replace(once_more, tables=without(once_more.tables, {s.content.dump_id for s in batch.sightings}))

        def attempt(ours) -> None:
            tries.append(ours)
            if len(tries) == 1:
                remove_runs(other, answer(shared_lake, "SELECT run_id, run_name FROM raw.runs WHERE run_name = 'one'"))
                raise duckdb.TransactionException("another transaction has removed what this one reads")

        tries = []
        with pytest.raises(UsageError, match="another process removed contents that this load took for known"):
            lake.load_persistently(once_more, attempt)
        assert 1 == len(tries)


def test_a_lake_is_opened_anew_where_duckdb_answers_nothing_more(shared_lake):
    """As after a fatal error, or the end of its connection: what was begun is done on another."""
    batch, used = parsed([small_dump(2)]), []

    def attempt(_) -> tuple:
        used.append(lake.con)
        if len(used) == 1:
            lake.con.close()
        return lake.con.execute("SELECT COUNT(*) FROM raw.runs").fetchone()

    with writing(shared_lake, build_models=False) as lake:
        lake.load_persistently(batch, attempt)
        assert (2, False) == (len(used), used[0] is used[1])
        lake.con.close()
        assert 1 == load_parsed(lake, batch).new_count


def test_a_name_is_free_when_the_catalog_of_a_lake_was_away(postgres, tmp_path):
    """DuckDB itself cannot look up a bare name then; a worker that tries again needs it."""
    numbers = pa.table({"number": [1, 2, 3]})
    address = address_of(f"ducklake:postgres:{postgres.make_database()}").with_data_path(str(tmp_path / "files"))
    make_lake(address)
    with open_lake(address, read_only=False) as con:
        con.execute("CREATE TABLE stored AS SELECT 2 AS number")

        def ask(meanwhile=lambda: None) -> list[tuple]:
            with registered(con, "numbers", numbers):
                meanwhile()
                return con.execute("FROM stored SEMI JOIN numbers USING (number)").fetchall()

        for meanwhile in (postgres.kill, lambda: None):
            with pytest.raises(duckdb.Error):
                ask(meanwhile)
        postgres.start()
        assert [(2,)] == ask()
