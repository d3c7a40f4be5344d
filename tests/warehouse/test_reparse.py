"""Dumps of an older version, parsed again from the tables themselves."""

import json
import shutil
from pathlib import Path

import duckdb
import pytest

from bufferhouse.version import __version__
from bufferhouse.warehouse.open import writing
from bufferhouse.warehouse.reparse import dumps_of, reparse
from tests.command_line import call
from tests.ingests import SUFFIX, ingest, write_dumps
from tests.warehouses import counts, derived, rows, unproved


@pytest.fixture(scope="module")
def of_seeds(blank_warehouse: Path, fleet: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse with the five seeds. To be copied, never written."""
    path = Path(shutil.copy(blank_warehouse, tmp_path_factory.mktemp("seeds") / "seeds.duckdb"))
    assert 0 == ingest(path, fleet / "seeds")[0]
    return path


@pytest.fixture
def few(of_seeds: Path, tmp_path: Path) -> Path:
    """A copy of it that the test may change."""
    return Path(shutil.copy(of_seeds, tmp_path / "few.duckdb"))


def as_if_older(path, *changes: str) -> None:
    """Make a warehouse one that an older version wrote, which saw some things in another way."""
    with duckdb.connect(str(path)) as con:
        con.execute("UPDATE raw.loads SET parser_version = '0.0.1'")
        for change in changes:
            con.execute(change)


def test_rows_of_an_older_version_become_those_of_this_one(dialects, tmp_path):
    """What it saw wrongly is right after it, in tables, models, shapes and observations, and `verify` proves all."""
    own = Path(shutil.copy(dialects, tmp_path / "own.duckdb"))
    expected = derived(own)
    as_if_older(
        own,
        "UPDATE raw.instruction_texts SET opcode = 'unknown', op_name = NULL",
        "UPDATE raw.hlo_values SET physical_bytes = 0 WHERE shape_id % 2 = 0",
        "UPDATE raw.shapes SET physical_bytes = 0",
        "UPDATE raw.observations SET program_id = 1, program_name = 'old', compile_target = NULL",
        "UPDATE raw.dumps SET signature_id = 1, entry_signature = '()->()' WHERE rowid % 3 = 0",
        "UPDATE intermediate.padding_all_values SET slack_bytes = 1",
    )
    assert 1 == call("verify", "--warehouse", own).code
    outcome = call("ingest", "--reparse", "--warehouse", own)
    assert 0 == outcome.code, outcome.out
    assert "9/9 dumps parsed again" in outcome.err
    assert "9 dumps parsed again\n" == outcome.out
    assert expected == derived(own)
    assert "9 of 9 dumps proved\n" == call("verify", "--warehouse", own).out
    assert 0 == call("check", "--warehouse", own).code


def test_each_batch_is_a_load_that_saw_no_file(few):
    """It counts the dumps it wrote anew, and they point at it; then nothing is outdated."""
    as_if_older(few)
    with writing(few) as warehouse:
        ids = dumps_of(warehouse.con, outdated_only=True)
        assert (5, []) == (reparse(warehouse, ids, dump_count=2).count, dumps_of(warehouse.con, outdated_only=True))
    assert [(0, 2, 0, 0), (0, 2, 0, 0), (0, 1, 0, 0)] == rows(
        few,
        "SELECT seen_count, new_count, known_count, rejected_count FROM raw.loads WHERE parser_version = ?"
        " ORDER BY load_id",
        [__version__],
    )
    assert [(2,), (2,), (1,)] == rows(few, "SELECT COUNT(*) FROM raw.dumps GROUP BY load_id ORDER BY load_id")
    assert [] == unproved(few)


def test_what_this_version_wrote_is_left_alone_unless_asked(few):
    """Nothing to do, and not one row of raw.loads; with --rehash all is parsed again."""
    before = counts(few)
    outcome = call("ingest", "--reparse", "--warehouse", few)
    assert (0, "0 dumps parsed again\n") == (outcome.code, outcome.out)
    assert before == counts(few)
    expected = derived(few)
    assert 0 == call("ingest", "--reparse", "--rehash", "--warehouse", few).code
    assert expected == derived(few)
    assert {**before, "loads": before["loads"] + 1} == counts(few)


def test_sources_may_be_ingested_along(few, tmp_path):
    """First what is there is parsed again, then what is new is loaded."""
    as_if_older(few)
    write_dumps(tmp_path / "more", [1, 2])
    code, summary = ingest(few, tmp_path / "more", "--reparse")
    assert (0, 2, 2, 5) == (code, summary["seen"], summary["new"], summary["reparsed"])
    assert [(1,), (5,), (2,)] == rows(
        few, "SELECT CASE load_id WHEN 1 THEN 1 ELSE new_count END FROM raw.loads ORDER BY load_id"
    )


def test_packings_are_kept_for_the_same_slots_alone(few):
    """How tightly an arena could be packed goes where its slots were read in another way; `pack` looks again."""
    assert 0 == call("pack", "--warehouse", few).code
    stored = "SELECT * FROM raw.packings ORDER BY ALL"
    expected = rows(few, stored)
    as_if_older(few, "UPDATE raw.instruction_texts SET opcode = 'unknown'")
    assert 0 == call("ingest", "--reparse", "--warehouse", few).code
    assert expected == rows(few, stored)
    other = expected[0][0]
    as_if_older(
        few,
        f"UPDATE raw.hlo_values SET physical_bytes = physical_bytes + 1 WHERE dump_id = {other}",
        f"UPDATE raw.packings SET packed_bytes = packed_bytes + 8 WHERE dump_id = {other}",
    )
    assert 0 == call("ingest", "--reparse", "--warehouse", few).code
    assert [row for row in expected if row[0] != other] == rows(few, stored)
    assert 0 == call("pack", "--warehouse", few).code
    assert expected == rows(few, stored)


def test_a_dump_that_does_not_prove_itself_keeps_its_rows(few):
    """It is named with its fault, exit 1; the others are parsed again."""
    as_if_older(few, "UPDATE raw.hlo_values SET offset_bytes = offset_bytes + 1 WHERE rowid = 5")
    [(dump_id,)] = rows(few, "SELECT dump_id FROM raw.hlo_values WHERE rowid = 5")
    outcome = call("ingest", "--reparse", "--format", "json", "--warehouse", few)
    summary = json.loads(outcome.out)
    assert (1, 1) == (outcome.code, len(summary["unreadable"]))
    assert summary["unreadable"][0].startswith(f"dump {dump_id}: renders to ")
    assert [(1, 1), (2, 4)] == rows(few, "SELECT load_id, COUNT(*) FROM raw.dumps GROUP BY load_id ORDER BY load_id")
    with writing(few) as warehouse:
        assert [dump_id] == dumps_of(warehouse.con, outdated_only=True)


def test_a_dump_that_this_version_refuses_keeps_its_rows(few):
    """A check of severity error that an older version did not have stops only those that offend it."""
    before = derived(few)
    as_if_older(few)
    with writing(few) as warehouse:
        ids = dumps_of(warehouse.con, outdated_only=True)
        check = "SELECT dump_id, 'nothing' AS expected, 'it' AS found FROM raw.dumps WHERE dump_id IN ({}, {})"
        warehouse.con.execute(
            "UPDATE meta.models SET model_sql = ? WHERE model_name = 'checks.padding_closes'", [check.format(*ids[:2])]
        )
        result = reparse(warehouse, ids)
    assert 3 == result.count
    assert [f"dump {dump_id}: expected nothing, found it" for dump_id in sorted(ids[:2])] == sorted(result.refused)
    assert before == derived(few)


@pytest.mark.parametrize("words", [["--reparse", "--plan"], []], ids=["plan", "nothing"])
def test_wrong_calls(few, words):
    """A plan writes nothing, and something must be asked for."""
    outcome = call("ingest", *words, "--warehouse", few)
    assert (2, "") == (outcome.code, outcome.out)
    assert 2 == call("ingest", "--reparse", "--warehouse", few.with_name(f"none{SUFFIX}")).code
