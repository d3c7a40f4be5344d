"""Building models: what is built and when, what is back-filled, and what a plan says of it."""

import json
import os
import re
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import duckdb
import pytest

from bufferhouse.models import build, freeze, project
from bufferhouse.warehouse.open import writing
from tests.command_line import call, kill_group, start
from tests.models.small_models import ALL, MART, OBSERVATIONS, SIZES, STAGING, add_dump, outdate
from tests.synthetic import small_dump
from tests.warehouses import load_texts, published_path, rows


def test_only_what_changed_is_built_again_with_what_reads_it(directory, con):
    """Nothing when nothing changed; a changed model and all above it; all of them by force."""
    assert {name.replace("/", ".") for name in ALL} == set(build.build(con, directory()))
    assert [] == build.build(con, directory())
    assert ["marts.sizes_v1"] == build.build(con, directory(marts__sizes_v1=MART + "-- More.\n"))
    changed = build.build(
        con, directory(staging__contents=STAGING.replace("text_bytes  --", "text_bytes + 1 AS text_bytes  --"))
    )
    assert {"staging.contents", "intermediate.sizes", "marts.sizes_v1", "checks.not_empty"} == set(changed)
    assert 4 == len(build.build(con, directory(), force=True))


def test_a_changed_incremental_model_is_computed_over_all_dumps(directory, con):
    """A new text, or one of a model beneath it, recomputes the table; until then it keeps what loads gave it."""
    build.build(con, directory())
    add_dump(con, 1, 100)
    con.execute("INSERT INTO intermediate.sizes VALUES (1, -1)")
    assert [] == build.build(con, directory())
    assert [(1, -1)] == con.execute("FROM marts.sizes_v1").fetchall()
    build.build(con, directory(intermediate__sizes=SIZES.replace("* 2", "* 3")))
    assert [(1, 300)] == con.execute("FROM marts.sizes_v1").fetchall()
    add_dump(con, 2, 10)
    beneath = STAGING.replace("text_bytes  --", "text_bytes + 1 AS text_bytes  --")
    build.build(con, directory(staging__contents=beneath))
    assert [(1, 202), (2, 22)] == con.execute("FROM marts.sizes_v1 ORDER BY ALL").fetchall()


def test_a_model_that_is_gone_is_dropped_with_the_name_that_showed_it(directory, con):
    """Neither a view nor a table nor a pointer stays behind."""
    build.build(con, directory())
    con.execute('CREATE VIEW marts."whose ""name"" is no word" AS SELECT 1 AS one')
    build.build(con, directory(marts__sizes_v1=None, intermediate__sizes=None))
    found = con.execute(
        "SELECT table_schema || '.' || table_name FROM information_schema.tables"
        " WHERE table_schema IN ('staging', 'intermediate', 'marts', 'checks')"
    ).fetchall()
    assert {"staging.contents", "checks.not_empty"} == {name for (name,) in found}


def test_a_model_may_become_a_table_and_a_view_again(directory, con):
    """Kinds change without anybody dropping anything by hand."""
    view = SIZES.replace("-- materialized: incremental by dump_id\n", "")
    for sql, kind in ((SIZES, "BASE TABLE"), (view, "VIEW"), (SIZES, "BASE TABLE")):
        build.build(con, directory(intermediate__sizes=sql))
        assert [(kind,)] == con.execute(
            "SELECT table_type FROM information_schema.tables"
            " WHERE table_name = 'sizes' AND table_schema = 'intermediate'"
        ).fetchall()


def test_a_build_that_fails_changes_nothing(directory, con):
    """What DuckDB alone can see, such as a function that does not exist, takes the whole build back."""
    build.build(con, directory())
    before = con.execute("SELECT model_name, fingerprint, built_at FROM meta.models ORDER BY ALL").fetchall()
    broken = SIZES.replace("d.text_bytes * 2", "no_such_function(d.text_bytes)")
    with pytest.raises(duckdb.Error, match="no_such_function"):
        build.build(con, directory(intermediate__sizes=broken, staging__contents=STAGING + "-- More.\n"))
    assert before == con.execute("SELECT model_name, fingerprint, built_at FROM meta.models ORDER BY ALL").fetchall()
    assert [] == con.execute("FROM marts.sizes").fetchall()


def test_the_name_without_a_version_shows_the_newest(directory, con):
    """marts.sizes is marts.sizes_v10, not _v2 or _v9, with its comments; every version stays readable."""
    add_dump(con, 1)
    build.build(con, directory())
    for number in (2, 9, 10):
        newer = MART.replace("    twice_bytes  -- Twice its bytes.", f"    {number} AS version  -- Version {number}.")
        build.build(con, directory(**{f"marts__sizes_v{number}": newer}))
        assert [(1, number)] == con.execute("FROM marts.sizes").fetchall()
    assert [("Version 10.",)] == con.execute(
        "SELECT comment FROM duckdb_columns() WHERE table_name = 'sizes' AND column_name = 'version'"
    ).fetchall()
    assert [("dump_id",), ("twice_bytes",)] == [row[:1] for row in con.execute("DESCRIBE marts.sizes_v1").fetchall()]


def test_opening_a_warehouse_brings_its_models_up_to_date(own_warehouse):
    """A warehouse that an older checkout built gets the models of this one, computed over what it holds."""
    with duckdb.connect(str(own_warehouse)) as con:
        outdate(con, "model_name = 'intermediate.peaks'")
        before = con.execute("FROM intermediate.peaks ORDER BY ALL").fetchall()
        con.execute("DELETE FROM intermediate.peaks")
    with writing(own_warehouse):
        pass
    assert before == rows(own_warehouse, "FROM intermediate.peaks ORDER BY ALL")


def test_a_plan_says_what_a_build_does_and_does_nothing(directory, con):
    """Every model with its reason and the dumps to back-fill; afterwards all is as it was."""
    add_dump(con, 1)
    add_dump(con, 2)
    first = build.plan(con, directory())
    assert {("new", 2 if name == "intermediate/sizes" else 0) for name in ALL} == {
        (step.reason, step.dump_count) for step in first
    }
    assert [(0,)] == con.execute("SELECT COUNT(*) FROM meta.models").fetchall()
    assert [step.name for step in first] == build.build(con, directory())
    assert [] == build.plan(con, directory())
    changed = directory(
        staging__contents=STAGING.replace("text_bytes  --", "text_bytes + 1 AS text_bytes  --"),
        checks__not_empty=None,
        marts__more_v1=MART,
    )
    assert [
        ("checks.not_empty", "check", "gone", 0),
        ("staging.contents", "view", "changed", 0),
        ("intermediate.sizes", "table", "a model beneath it", 2),
        ("marts.more_v1", "view", "new", 0),
        ("marts.sizes_v1", "view", "a model beneath it", 0),
    ] == [(step.name, step.kind, step.reason, step.dump_count) for step in build.plan(con, changed)]
    assert [(1, 200), (2, 200)] == con.execute("FROM marts.sizes_v1 ORDER BY ALL").fetchall()


def test_back_filling_goes_range_by_range(directory, con, monkeypatch):
    """Each dump once, however many are computed at a time; the last step says that all are done."""
    monkeypatch.setattr(build, "BACKFILL_DUMPS", 3)
    ids = [number * (1 << 63) // 10 for number in range(10)] + [(1 << 63) - 1]
    for dump_id in ids:
        add_dump(con, dump_id, 7)
    steps = []
    build.build(con, directory(), progress=lambda *step: steps.append(step))
    assert [(dump_id, 14) for dump_id in ids] == con.execute("FROM intermediate.sizes ORDER BY ALL").fetchall()
    assert [("intermediate.sizes", done, 11) for done in (2, 5, 8, 11)] == steps


def test_what_was_back_filled_is_what_the_loads_gave(own_warehouse, monkeypatch):
    """Every stored model of this checkout, computed anew in small ranges, has the rows that its loads stored."""
    monkeypatch.setattr(build, "BACKFILL_DUMPS", 70)
    with duckdb.connect(str(own_warehouse)) as con:
        names = [
            name
            for (name,) in con.execute(
                "SELECT model_name FROM meta.models WHERE is_incremental ORDER BY ordinal"
            ).fetchall()
        ]
        before = {name: con.execute(f"FROM {name} ORDER BY ALL").fetchall() for name in names}
        assert len(names) == outdate(con)
        assert names == build.build(con)
        assert before == {name: con.execute(f"FROM {name} ORDER BY ALL").fetchall() for name in names}
    # No dump of the fleet breaks a soft rule: tests/models/test_warnings.py back-fills those that do.
    assert ["marts.warnings_v1"] == [name for name, found in before.items() if not found]


def test_the_command_plans_and_then_back_fills_with_a_line_a_batch(own_warehouse):
    """A plan leaves the file as it is; the build says on standard error how far it is, and names what it built."""
    with duckdb.connect(str(own_warehouse)) as con:
        outdate(con, "model_name = 'intermediate.balances'")
        [(dumps,)] = con.execute("SELECT COUNT(*) FROM raw.dumps").fetchall()
    before = own_warehouse.read_bytes()
    outcome = call("build", "--plan", "--warehouse", own_warehouse, "--format", "json")
    assert [
        {
            "model": "intermediate.balances",
            "kind": "table",
            "reason": "a model beneath it",
            "dumps_to_back_fill": dumps,
        }
    ] == json.loads(outcome.out)
    assert before == own_warehouse.read_bytes()
    outcome = call("build", "--warehouse", own_warehouse)
    assert (0, "intermediate.balances\n") == (outcome.code, outcome.out)
    assert f"intermediate.balances: {dumps}/{dumps} dumps back-filled\n" == outcome.err
    assert "" == call("build", "--warehouse", own_warehouse).out


def test_models_are_listed_with_version_kind_and_freshness(directory, tmp_path):
    """Each with grain and rows, in the order in which they are built.

    A view is as fresh as the newest load, a table as the newest load whose dumps it has rows of.
    """
    path = tmp_path / "warehouse.duckdb"
    few = f"{SIZES}WHERE d.text_bytes > 400\n"  # of the dump that is whole
    mart = MART.replace("grain: dump_id", "grain: dump_id, twice_bytes")
    models = directory(intermediate__sizes=few, staging__observations=OBSERVATIONS, marts__peak_memory_v1=mart)
    with writing(path, build_models=False) as writer:
        build.build(writer.con, models)
        load_texts(writer, [small_dump(1)])
        [(first,)] = writer.con.execute("SELECT MAX(finished_at) FROM raw.loads").fetchall()
        load_texts(writer, [small_dump(2).split(b"\n\n")[0] + b"\n"])
        [(second,)] = writer.con.execute("SELECT MAX(finished_at) FROM raw.loads").fetchall()
    listed = json.loads(call("models", "--warehouse", path, "--format", "json").out)
    assert [model.name for model in project.read(models)] == [row["model"] for row in listed]
    found = {row["model"]: row for row in listed}
    peaks, stored, check = (found[name] for name in ("marts.peak_memory_v1", "intermediate.sizes", "checks.not_empty"))
    assert first < second
    assert (second, first, second) == tuple(datetime.fromisoformat(row["freshness"]) for row in (peaks, stored, check))
    assert ("v1 frozen", "v1", "") == (peaks["version"], found["marts.sizes_v1"]["version"], stored["version"])
    assert ("view", "table", "check") == (peaks["kind"], stored["kind"], check["kind"])
    assert ("dump_id, twice_bytes", "error") == (peaks["grain"], check["grain"])
    assert (2, 1, 0) == (found["staging.contents"]["rows"], stored["rows"], check["rows"])
    uncounted = call("models", "--warehouse", path, "--format", "json", "--no-rows")
    assert [{**row, "rows": None} for row in listed] == json.loads(uncounted.out)


@pytest.mark.soak
def test_every_model_is_listed(example_warehouse):
    """Those of this checkout in their order, with what releases froze."""
    listed = json.loads(call("models", "--warehouse", example_warehouse, "--format", "json").out)
    assert [model.name for model in project.read()] == [row["model"] for row in listed]
    assert freeze.locked().keys() == {row["model"] for row in listed if row["version"].endswith(" frozen")}


@pytest.fixture
def outdated(warehouse) -> tuple[Path, int, int]:
    """A warehouse, how many of its stored models are outdated, which no other stored one reads, and how many dumps."""
    with writing(warehouse) as writer:
        load_texts(writer, [small_dump(number) for number in range(3)])
    with duckdb.connect(str(warehouse)) as con:
        return warehouse, outdate(con, "model_name IN ('intermediate.listed_peaks', 'intermediate.space_totals')"), 3


# Publishing stays in the suite for every verb that opens a warehouse to write.
@pytest.mark.parametrize("verb", ["publish", pytest.param("ingest", marks=pytest.mark.soak)])
def test_opening_an_older_warehouse_says_what_was_back_filled(outdated, fleet, verb):
    """One line on standard error: how many models for how many dumps; nothing where none is outdated."""
    path, models, dumps = outdated
    words = [verb, *([fleet] if verb == "ingest" else []), "--warehouse", path]
    first, again = call(*words), call(*words)
    assert (0, 0) == (first.code, again.code)
    said = f"bufferhouse: {models} stored models back-filled for {dumps} dumps"
    told = [[line for line in one.err.splitlines() if "dumps:" not in line] for one in (first, again)]
    assert [[said], []] == told  # beside how far an ingest is


def test_on_a_terminal_a_bar_says_how_far_it_is(outdated, monkeypatch):
    """With the model and the dumps, on standard error; standard output has the data alone."""
    monkeypatch.setenv("TERM", "xterm")
    path, _, dumps = outdated
    ours, theirs = os.openpty()
    process = start("publish", "--warehouse", path, stderr=theirs)
    try:
        os.close(theirs)
        shown = b""
        with suppress(OSError):  # the other end is closed
            while data := os.read(ours, 1 << 16):
                shown += data
        out, _ = process.communicate(timeout=60)
    finally:
        kill_group(process)
        os.close(ours)
    assert (0, f"{published_path(path)}\n") == (process.returncode, out)
    assert f"{dumps}/{dumps} dumps back-filled" in re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown.decode())
