"""A warehouse as a lake: the same rows, the same answers, the same verbs."""

import json
import os
import random
import re
import shlex
from contextlib import nullcontext
from pathlib import Path

import duckdb
import polars as pl
import pytest

import bufferhouse
from bufferhouse.engine.journal import guard, journal_path
from bufferhouse.errors import UsageError, WarehouseError
from bufferhouse.paths import CHECKOUT
from bufferhouse.query.door import door
from bufferhouse.warehouse import copy, retention, runs
from bufferhouse.warehouse.address import LakeAddress
from bufferhouse.warehouse.lake import compact
from bufferhouse.warehouse.lake.attach import LAKE, snapshot_of
from bufferhouse.warehouse.lake.lake import moment_number, shape_id_of
from bufferhouse.warehouse.observations import insert
from bufferhouse.warehouse.open import reading, writing
from bufferhouse.warehouse.verify import chosen_dumps, verify
from schemas import DERIVED
from tests.command_line import call, call_without_capabilities, run
from tests.engine.test_journal import Left, broken_off
from tests.synthetic import small_dump
from tests.warehouse.lake.lakes import answer, asked, file_count, moved, needs_lake, snapshot_count, stored_models
from tests.warehouse.lake.writers import files_of
from tests.warehouses import contents, load_parsed, parsed, rows, run_called

pytestmark = needs_lake


@pytest.fixture(scope="module")
def lake(blank_lake, fleet, tmp_path_factory) -> LakeAddress:
    """A lake with the example fleet. To be read, never written."""
    address = moved(blank_lake, tmp_path_factory.mktemp("lake") / "fleet")
    assert 0 == call("ingest", fleet, "--warehouse", address).code
    return address


@pytest.fixture
def own(blank_lake, tmp_path) -> LakeAddress:
    """A lake without rows that the test may change."""
    return moved(blank_lake, tmp_path / "own")


@pytest.fixture(scope="module")
def folder_of_one(blank_lake, tmp_path_factory) -> Path:
    """The folder of a lake with one dump, `small_dump(1)`. To be copied, never written."""
    folder = tmp_path_factory.mktemp("lake") / "one"
    with writing(moved(blank_lake, folder)) as warehouse:
        load_parsed(warehouse, parsed([small_dump(1)]))
    return folder


@pytest.fixture
def one(folder_of_one, tmp_path) -> LakeAddress:
    """A lake with one dump that the test may change."""
    return moved(folder_of_one, tmp_path / "one")


# The same rows


def test_a_lake_holds_what_a_file_holds(lake, example_warehouse, tmp_path):
    """Table by table, shapes by their text; copied into a file, which proves the copy and every dump of it."""
    outcome = call("copy", lake, tmp_path / "copy.duckdb")
    assert (0, "126 of 126 dumps proved") == (outcome.code, outcome.out.splitlines()[-1])
    assert contents(example_warehouse) == contents(tmp_path / "copy.duckdb")
    with duckdb.connect(str(example_warehouse), read_only=True) as con, asked(lake) as lake_con:
        con.execute("SET TimeZone = 'UTC'")
        assert stored_models(con) == stored_models(lake_con)


@pytest.mark.soak
def test_a_file_that_was_a_lake_goes_on(own, blank_lake, tmp_path):
    """Its numbers are those of the lake, and the next ones are free; it can become a lake again, with equal rows."""
    path, again = tmp_path / "copy.duckdb", moved(blank_lake, tmp_path / "again")
    with writing(own) as warehouse:
        load_parsed(warehouse, parsed([small_dump(0), b"no dump at all"]))
    assert 0 == call("copy", own, path).code
    with writing(path) as warehouse:
        loaded = load_parsed(warehouse, parsed([small_dump(1), b"no dump"], "more"), "more")
    assert (1, 1) == (loaded.new_count, len(loaded.rejects))
    assert [(2, 2, 2)] == rows(
        path,
        "SELECT COUNT(*), COUNT(DISTINCT reject_id), (SELECT COUNT(DISTINCT run_id) FROM raw.runs) FROM raw.rejects",
    )
    assert 0 == call("copy", path, again).code
    outcome = call("copy", path, again)
    assert (2, "") == (outcome.code, outcome.out)
    assert "has rows; expected a warehouse without any" in outcome.err
    way_out = outcome.err.strip().rpartition("bufferhouse ")[2]  # for one that was interrupted in its proof
    assert 0 == call(*shlex.split(way_out)).code
    assert 0 == call("copy", again, tmp_path / "third.duckdb").code
    assert contents(path) == contents(tmp_path / "third.duckdb")


def test_a_copy_that_is_not_the_same_is_not_committed(one, warehouse, monkeypatch):
    """The table is named, and the target has no rows: the same call may be made again."""
    told = copy._fingerprint

    def damaged(con: duckdb.DuckDBPyConnection, name: str, columns: list[str]) -> tuple[int, str]:
        if name == "raw.hlo_values" and LAKE not in con.execute("SELECT current_database()").fetchone():
            con.execute("DELETE FROM raw.hlo_values")
        return told(con, name, columns)

    with monkeypatch.context() as patch:
        patch.setattr(copy, "_fingerprint", damaged)
        with pytest.raises(WarehouseError, match=r"raw\.hlo_values: expected 2 rows"):
            copy.copy_warehouse(one, warehouse)
    assert [(0, 0)] == rows(warehouse, "SELECT (SELECT COUNT(*) FROM raw.dumps), (SELECT COUNT(*) FROM raw.loads)")
    assert 1 == copy.copy_warehouse(one, warehouse)["raw.dumps"]


# The same verbs


@pytest.mark.parametrize(
    "words",
    [
        ("query", "SELECT dump_id, memory_space, occupied_peak_bytes FROM marts.peak_memory ORDER BY ALL"),
        ("query", "--ask", "biggest_programs"),
        ("runs", "ls"),
        pytest.param(("programs",), marks=pytest.mark.soak),
        # A report is made below, and the marts of a comparison are asked as those of the other verbs are.
        pytest.param(("compare", "jaxlib-0.8.0", "jaxlib-0.9.0"), marks=pytest.mark.soak),
        pytest.param(("report", "run", "jaxlib-0.9.0"), marks=pytest.mark.soak),
        ("check",),
    ],
    ids=" ".join,
)
def test_a_lake_answers_as_a_file_does(lake, example_warehouse, words):
    """The same text on standard output, and the same exit code."""
    of_file, of_lake = (call(*words, "--warehouse", place) for place in (example_warehouse, lake))
    assert (of_file.code, of_file.out) == (of_lake.code, of_lake.out)


def test_a_report_says_which_snapshot_it_was_made_from(lake):
    """So that the same one can be made again while the snapshot is kept."""
    with asked(lake) as con:
        snapshot = snapshot_of(con)
    outcome = call("report", "run", "seeds", "--format", "json", "--warehouse", lake)
    assert (0, f"lake.ducklake, snapshot {snapshot}") == (outcome.code, json.loads(outcome.out)["warehouse"])


def test_export_writes_what_was_ingested(lake, fleet, tmp_path):
    """Byte for byte; and all tables of raw as Parquet, those that are views of histories, too."""
    assert 0 == call("export", "--run", "seeds", "-o", tmp_path, "--warehouse", lake).code
    written = {path.name: path.read_bytes() for path in (tmp_path / "seeds").rglob("*.txt")}
    assert {name: (fleet / "seeds" / name).read_bytes() for name in written} == written
    assert 5 == len(written)
    with bufferhouse.connect(str(lake)) as con:
        assert (126,) == con.execute("SELECT COUNT(*) FROM raw.dumps").fetchone()


def test_a_cursor_finds_marts_as_the_page_on_notebooks_says(lake):
    """It knows neither the search path nor the database of the connection, which a lake is not by itself."""
    page = (CHECKOUT / "docs" / "notebooks.md").read_text(encoding="utf-8")
    _, of_lake = re.findall(r'pl\.read_database\("(.*?)", con\)', page)
    assert of_lake.removeprefix("FROM ") in " ".join(bufferhouse.connect.__doc__.split())
    with bufferhouse.connect(str(lake)) as con:
        expected, found = con.sql("FROM peak_memory").pl(), pl.read_database(of_lake, con)
    assert expected.sort("dump_id", "memory_space").equals(found.sort("dump_id", "memory_space"))


def test_stats_count_what_is_in_a_lake(lake, example_warehouse):
    """Rows and shares as for a file, bytes of the Parquet files, nobody who holds it, and the snapshot."""
    of_file, of_lake = (
        json.loads(call("stats", "--format", "json", "--warehouse", place).out) for place in (example_warehouse, lake)
    )
    for name in ("observations", "dumps", "repeat_share", "text_bytes", "runs", "open_rejects"):
        assert of_file[name] == of_lake[name], name
    assert of_file["tables"]["raw.uses"]["rows"] == of_lake["tables"]["raw.uses"]["rows"]
    assert (None, None) == (of_lake["writer"], of_lake["published_at"])
    assert 0 < of_lake["tables"]["raw.uses"]["bytes"] < of_lake["file_bytes"]
    assert 0 < of_lake["snapshot"]


def test_nothing_is_published(lake):
    """Publishing says that it is not needed, and is no failure: a script may do it for either kind."""
    told = f"{lake} needs no published copy: readers of a lake read its snapshots\n"
    outcome = call("publish", "--warehouse", lake)
    assert (0, told) == (outcome.code, outcome.out)


def test_readers_of_a_catalog_file_wait_for_its_writer(own):
    """DuckDB lets one process write a file, or several read it: exit 3 with who it is."""
    with writing(own):
        reader = run("query", "SELECT 1", "--warehouse", own)
    assert (3, "") == (reader.code, reader.out)
    assert f"is open in another process (PID {os.getpid()}); try again later" in reader.err


OF_THE_CATALOG = (
    "SELECT * FROM ducklake_expire_snapshots('bufferhouse_lake', older_than => now())",
    "SELECT * FROM \"DuckLake_Snapshots\" ('bufferhouse_lake')",
    "SELECT * FROM postgres_query('__ducklake_metadata_bufferhouse_lake', 'COMMIT')",
    "SELECT * FROM read_text('/etc/hostname')",
)


def test_the_door_of_a_lake_only_reads(lake):
    """Neither the catalog nor another file is in reach, and nothing is changed."""
    outcome = call("query", "DELETE FROM raw.dumps", "--warehouse", lake)
    assert (2, "") == (outcome.code, outcome.out)
    with reading(lake) as reader, door(reader.con) as opened:
        for sql in OF_THE_CATALOG:
            with pytest.raises(UsageError):
                opened.ask(sql)
    assert [(126,)] == answer(lake, "SELECT COUNT(*) FROM raw.dumps")


# Changes are rows


def test_runs_change_and_keep_their_number(one):
    """A fact that is set, or taken back, and a new name; the history keeps all of it."""
    with writing(one) as warehouse:
        con = warehouse.con
        runs.set_facts(warehouse, "run", {"platform": "tpu", "label.color": "red"})
        runs.set_facts(warehouse, "run", {"platform": "", "host": "h"})
        runs.rename(warehouse, "run", "other")
        told = con.execute("SELECT run_name, platform, host, labels FROM raw.runs").fetchall()
        assert [("other", None, "h", '{"color": "red"}')] == told
        assert (4, 1) == con.execute("SELECT COUNT(*), COUNT(DISTINCT run_id) FROM appended.runs").fetchone()
        load_parsed(warehouse, parsed([small_dump(2)]))  # a new run of the old name
    assert [("other", 1), ("run", 1)] == answer(
        one, "SELECT run_name, COUNT(*) FROM staging.observations JOIN raw.runs USING (run_id) GROUP BY 1 ORDER BY 1"
    )


def test_what_two_writers_say_of_a_new_run_at_once_is_joined(own):
    """A fact that one of them knows stays; the start of the better source counts, else the earlier one."""
    start = "SELECT {id}, 'run', '/root', {fact}, TIMESTAMPTZ '{at} 00:00:00+00', '{source}', '{{}}', {change}, FALSE"
    into = "(run_id, run_name, root, {}, started_at, started_at_source, labels, changed_id, is_whole)"
    with writing(own) as warehouse:
        for number, (fact, cell, at, source, change) in enumerate(
            [
                ("platform", "'cpu'", "2026-01-02", "file time", 10),
                ("host", "'a'", "2026-01-01", "file time", 20),
                ("track", "'t'", "2026-01-05", "file name", 5),
            ]
        ):
            row = start.format(id=7, fact=cell, at=at, source=source, change=change + number)
            warehouse.con.execute(f"INSERT INTO appended.runs {into.format(fact)} {row}")
        found = warehouse.con.execute(
            "SELECT run_id, platform, host, track, started_at::DATE::VARCHAR, started_at_source FROM raw.runs"
        ).fetchall()
    assert [(7, "cpu", "a", "t", "2026-01-05", "file name")] == found


def test_rejects_are_closed_by_rows(own):
    """A file that is repaired resolves its reject, and a reject that is replayed keeps its number."""
    bad = b"BufferAssignment:\nnonsense"
    with writing(own) as warehouse:
        loaded = load_parsed(warehouse, parsed([bad, small_dump(1)]))
        assert 1 == len(loaded.rejects)
    assert 1 == call("rejects", "replay", "--all", "--warehouse", own).code
    with writing(own) as warehouse:
        load_parsed(warehouse, parsed([small_dump(3)]))
    assert [("resolved", "open")] == answer(
        own, "SELECT r.state, a.state FROM raw.rejects AS r JOIN appended.rejects AS a USING (reject_id)"
    )


def test_a_shape_that_two_writers_met_is_there_once(one):
    """Its number follows from its text; equal rows of both are one."""
    with writing(one) as warehouse:
        con = warehouse.con
        before = con.execute("SELECT COUNT(*) FROM raw.shapes").fetchone()
        con.execute("INSERT INTO appended.shapes FROM appended.shapes")
        assert before == con.execute("SELECT COUNT(*) FROM raw.shapes").fetchone()
        ((shape_id, text),) = con.execute("SELECT shape_id, shape_text FROM raw.shapes LIMIT 1").fetchall()
    assert shape_id_of(text) == shape_id < 1 << 62


def test_numbers_grow_though_a_clock_is_behind():
    """What a writer sees has a smaller number than what it adds, and numbers stay below 2^62."""
    now = moment_number()
    ahead = now + (1 << 40)
    assert now < ahead < moment_number(ahead) < 1 << 62


# Keeping it


@pytest.fixture(scope="module")
def folder_of_many_files(small_lake, tmp_path_factory) -> Path:
    """The folder of a lake with small models, two runs and what a third one has left. To be copied, never written."""
    folder = tmp_path_factory.mktemp("lake") / "many"
    with writing(moved(small_lake, folder), build_models=False) as warehouse:
        for number in range(3):
            load_parsed(warehouse, parsed([small_dump(number)], f"run-{number}"), f"run-{number}")
            # Rows of small loads stand in the catalog until then.
            warehouse.con.execute(f"CALL ducklake_flush_inlined_data('{LAKE}')")
        [run] = warehouse.con.execute("SELECT run_id, run_name FROM raw.runs WHERE run_name = 'run-0'").fetchall()
        assert 1 == retention.remove_runs(warehouse, [run]).dump_count
        warehouse.con.execute(f"CALL ducklake_flush_inlined_data('{LAKE}')")
    return folder


def test_compacting_leaves_few_files_and_the_same_rows(folder_of_many_files, tmp_path):
    """Small files are merged, rows of a run that was removed go, old snapshots and files with them."""
    own = moved(folder_of_many_files, tmp_path / "own")
    files = Path(f"{own.catalog}.files")
    stray = files / "raw" / "uses" / "ducklake-stray.parquet"
    stray.write_bytes(b"of a writer that was killed")
    held = set(files.rglob("*.parquet"))
    with writing(own, build_models=False) as warehouse:
        con = warehouse.con
        before = con.execute("SELECT * FROM raw.hlo_values ORDER BY ALL").fetchall()
        count = file_count(con)
        compact.compact(con, nullcontext(True), keep_seconds=0)
        assert file_count(con) < count
        deleted = con.execute(f"SELECT SUM(delete_file_count) FROM ducklake_table_info('{LAKE}')").fetchone()
        assert (0,) == deleted  # no row of the run is left
        assert 2 >= snapshot_count(con)
        needed = files_of(con)
    left = set(files.rglob("*.parquet"))
    assert {stray} < held - left  # and files that no snapshot has any more
    assert needed <= {path.name for path in left}
    with asked(own) as con:
        assert before == con.execute("SELECT * FROM raw.hlo_values ORDER BY ALL").fetchall()
        assert [] == verify(con, chosen_dumps(con))


def test_the_size_of_a_lake_is_what_its_files_take(folder_of_many_files, tmp_path):
    """Files that only an older snapshot needs take space until nobody may read it any more: compact says so."""
    own = moved(folder_of_many_files, tmp_path / "own")
    files = Path(f"{own.catalog}.files")

    def taken() -> int:
        return sum(path.stat().st_size for path in files.rglob("*.parquet"))

    def merged() -> int:
        """What was merged just now is in no snapshot, and only waits to be removed."""
        rows = warehouse.con.execute(
            f"SELECT path FROM __ducklake_metadata_{LAKE}.ducklake_files_scheduled_for_deletion"
        ).fetchall()
        names = {Path(path).name for (path,) in rows}
        return sum(path.stat().st_size for path in files.rglob("*.parquet") if path.name in names)

    with writing(own, build_models=False) as warehouse:
        assert taken() == warehouse.size()
        kept = warehouse.compact(keep_seconds=3600)
        assert taken() == kept.after + merged()
        freed = warehouse.compact(keep_seconds=0)
        assert (kept.after, taken()) == (freed.before, freed.after)
        assert freed.after < freed.before


def test_how_long_snapshots_are_kept_is_said_with_a_unit(one):
    """Nothing needs none; 7 may be meant as days, and is refused with what is expected."""
    refused = call("compact", "--keep-snapshots", "7", "--warehouse", one)
    expected = "bufferhouse: --keep-snapshots: expected 0, or a duration like 90s, 1h or 7d, found '7'\n"
    assert (2, "", expected) == (refused.code, refused.out, refused.err)
    assert 0 == call("compact", "--keep-snapshots", "0", "--warehouse", one).code
    with writing(one) as warehouse:
        assert 2 >= snapshot_count(warehouse.con)


def test_labels_that_two_loads_give_a_new_run_at_once_are_joined(own):
    """Neither knows those of the other; of one that both give the first stays, and what is taken back goes."""
    with writing(own) as warehouse:
        for labels in ({"team": "vision", "shift": "night"}, {"team": "audio", "rack": "7"}):
            run = run_called("night")
            run.labels = labels
            insert(warehouse, "runs", [tuple(run.row(1).values())])
    labels = "SELECT labels FROM raw.runs"
    assert {"team": "vision", "shift": "night", "rack": "7"} == json.loads(answer(own, labels)[0][0])
    assert 0 == call("runs", "set", "night", "label.shift=", "--warehouse", own).code
    assert {"team": "vision", "rack": "7"} == json.loads(answer(own, labels)[0][0])


# Versions


def _derived(con: duckdb.DuckDBPyConnection) -> dict[str, list[tuple]]:
    return {name: con.execute(f"SELECT * FROM raw.{name} ORDER BY ALL").fetchall() for name in DERIVED}


def test_an_older_lake_is_brought_along(one):
    """Readers refuse it with the way out; whoever writes adds what is missing, null in old rows, and moves rows."""
    with writing(one) as warehouse:
        derived = _derived(warehouse.con)
        warehouse.con.execute("DELETE FROM meta.migrations WHERE version > 1")
        warehouse.con.execute("ALTER TABLE raw.observations DROP COLUMN stack_frames_fault")
        for name in DERIVED:
            warehouse.con.execute(f"CREATE TABLE raw.stored_{name} AS FROM raw.{name}")
            warehouse.con.execute(f"DROP VIEW raw.{name}")
            warehouse.con.execute(f"ALTER TABLE raw.stored_{name} RENAME TO {name}")
        warehouse.con.execute("DROP TABLE raw.further_positions")
    outcome = call("runs", "ls", "--warehouse", one)
    assert (2, "") == (outcome.code, outcome.out)
    assert "has schema version 1" in outcome.err
    assert "migrate it with: bufferhouse build" in outcome.err
    with writing(one) as warehouse:
        assert [(None,)] == warehouse.con.execute("SELECT stack_frames_fault FROM staging.observations").fetchall()
        assert derived == _derived(warehouse.con)
        assert [] == verify(warehouse.con, chosen_dumps(warehouse.con))


def test_a_newer_lake_is_refused(own):
    """By readers and writers, and nothing is changed."""
    with writing(own) as warehouse:
        warehouse.con.execute("INSERT INTO meta.migrations VALUES (9999, 'of the future', now())")
    for words in (("runs", "ls"), ("build",)):
        outcome = call(*words, "--warehouse", own)
        assert (2, "") == (outcome.code, outcome.out)
        assert "has schema version 9999" in outcome.err
        assert "install the newer bufferhouse that wrote it" in outcome.err


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("ducklake:", "found no catalog"),
        ("ducklake:postgres:", "found no catalog"),
        ("ducklake:mysql:db=x", "found mysql"),
        ("ducklake:postgres:dbname=x password=secret", "$PGPASSWORD"),
        ("ducklake:postgres:dbname=x sslpassword=secret", "$PGPASSWORD"),
        ("ducklake:postgres:postgresql://h/x?pass%77ord=secret", "$PGPASSWORD"),
        ("ducklake:postgres:postgresql://me:secret@host/x", "$PGPASSWORD"),
        ("ducklake:/nowhere/lake.ducklake", "there is no lake at ducklake:/nowhere/lake.ducklake"),
    ],
)
def test_a_lake_that_is_not_there_is_a_wrong_call(address, message):
    """Exit 2 with what is expected, and no password in it."""
    outcome = call("runs", "ls", "--warehouse", address)
    assert (2, "") == (outcome.code, outcome.out)
    assert message in outcome.err
    assert "secret" not in outcome.err


def test_a_catalog_behind_a_link_is_the_file_itself(one, tmp_path):
    """Its log, and the journal of a checkpoint, lie beside the file: the folder of the link is not written to."""
    (tmp_path / "links").mkdir()
    link = tmp_path / "links" / "link.ducklake"
    link.symlink_to(one.catalog)
    link.parent.chmod(0o555)
    words = ("runs", "complete", "run", "--warehouse", f"ducklake:{link}")
    outcome = call_without_capabilities(*words)
    link.parent.chmod(0o755)
    assert (0, "run is complete\n") == (outcome.code, outcome.out), outcome.err
    cut_short = Path(f"{one.catalog}.journal")
    cut_short.touch()  # as of a checkpoint that was killed before it began
    assert 0 == call(*words).code
    assert not cut_short.exists()
    assert [link] == list(link.parent.iterdir())


@pytest.mark.parametrize(
    "words", [("compact",), ("build",), ("pack",), ("prune", "--keep-runs", "1", "--yes"), ("ingest", "--reparse")]
)
def test_who_keeps_a_lake_makes_none(words, tmp_path):
    """A lake that is called by a wrong name is told, as a file is; an empty one in its place would hide that."""
    address = LakeAddress(str(tmp_path / "none.ducklake"))
    outcome = call(*words, "--warehouse", address)
    assert (2, f"bufferhouse: there is no lake at {address}; make one") == (
        outcome.code,
        outcome.err[: outcome.err.find(" with:")],
    )
    assert [] == list(tmp_path.iterdir())


def test_a_catalog_that_may_not_be_written_is_told(one):
    """The file, or the folder that its log goes to: exit 2 before anything is tried, and readers read on."""
    place = Path(one.catalog)
    words, query = (("runs", "complete", "run", "--warehouse", one), ("query", "SELECT 1 AS n", "--warehouse", one))
    for path, told in (
        (place, f"{one}: this user may not write the catalog {place}; let it read and write there"),
        (place.parent, f"the folder of the lake's catalog cannot be written, where its log goes: {place.parent}"),
    ):
        mode = path.stat().st_mode
        path.chmod(mode & 0o555)
        outcome = call_without_capabilities(*words)
        asked_then = call_without_capabilities(*query, "--format", "csv")
        path.chmod(mode)
        assert (2, "", f"bufferhouse: {told}\n") == (outcome.code, outcome.out, outcome.err)
        assert (0, "n\n1\n") == (asked_then.code, asked_then.out), asked_then.err
    place.chmod(0)
    outcome = call_without_capabilities(*query)
    place.chmod(0o644)
    told = f'{one} cannot be opened: IO Error: Cannot open file "{place}": Permission denied'
    assert (2, f"bufferhouse: {told}\n") == (outcome.code, outcome.err)
    assert 0 == call(*words).code


def test_a_checkpoint_of_a_catalog_that_was_cut_short_is_rolled_back(one):
    """A catalog that is a file is restored as any other file, and the lake answers as before."""
    expected = answer(one, "FROM raw.dumps")
    catalog = Path(one.catalog)
    assert not Path(f"{catalog}.wal").exists()
    with duckdb.connect(str(catalog)) as con:
        guard(con)
        con.execute("CREATE TABLE left_behind AS FROM range(10)")
        before, log = catalog.read_bytes(), Path(f"{catalog}.wal").read_bytes()
        broken_off(con)
    after, journal = catalog.read_bytes(), journal_path(catalog).read_bytes()
    whole = Left(before, after, log, journal, {})
    chance = random.Random(20261124)
    for _ in range(2):
        whole.lay(catalog, whole.torn(chance))
        assert expected == answer(one, "FROM raw.dumps")
