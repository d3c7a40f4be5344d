"""Soft rules: a dump that breaks one is loaded, counted, and remembered as a row of `marts.warnings`."""

import json
import shutil
from pathlib import Path

import duckdb
import pytest
from sqlglot import exp

from bufferhouse.models import build, project
from tests.command_line import call
from tests.ingests import ingest
from tests.models.small_models import outdate
from tests.models.soft_rules import BREACHES, LEGAL, files_of
from tests.warehouses import rows

WARN = {model.path.stem for model in project.read() if model.severity == "warn"}
# They are about numbers that the tests of the checks change in a warehouse.
OTHERS = {"listed_lines_match_values", "peak_within_reserved", "printed_peak_is_reproduced", "slots_inside_allocations"}
WARNINGS = """
    SELECT o.module_name, w.rule, w.occurrence_count, w.expected, w.found
    FROM marts.warnings AS w JOIN raw.observations AS o USING (dump_id) ORDER BY ALL
"""
EXPECTED = [(rule, rule, breach.count, breach.expected, breach.found) for rule, breach in sorted(BREACHES.items())]


def write(directory: Path, number: int, name: str, text: str, *, is_split: bool) -> None:
    stem = directory / f"module_{number:04}.{name.replace(' ', '_')}.cpu_after_optimizations"
    for suffix, part in (files_of(text) if is_split else {"-buffer-assignment.txt": text}).items():
        Path(f"{stem}{suffix}").write_text(part)


@pytest.fixture(scope="module")
def legal(tmp_path_factory) -> Path:
    """A directory of dumps that keep every rule, each in one file and in three."""
    directory = tmp_path_factory.mktemp("legal")
    for number, (name, text) in enumerate(LEGAL.items()):
        write(directory, 2 * number, name, text, is_split=False)
        if "HloLiveRange" in text:
            write(directory, 2 * number + 1, name, text, is_split=True)
    return directory


@pytest.fixture(scope="module")
def broken(tmp_path_factory) -> Path:
    """A directory of dumps that break one rule each."""
    directory = tmp_path_factory.mktemp("broken")
    for number, (name, breach) in enumerate(BREACHES.items()):
        write(directory, number, name, breach.text, is_split=breach.is_split)
    return directory


@pytest.fixture(scope="module")
def loaded(blank_warehouse, broken, tmp_path_factory) -> tuple[Path, tuple[int, dict]]:
    """A warehouse of these, to be copied, never written; and what their ingest said."""
    path = Path(shutil.copy(blank_warehouse, tmp_path_factory.mktemp("loaded") / "warehouse.duckdb"))
    return path, ingest(path, broken, "--run", broken.name)


@pytest.fixture
def own(loaded, tmp_path) -> Path:
    """A copy of it that the test may change."""
    return Path(shutil.copy(loaded[0], tmp_path / "own.duckdb"))


def test_the_mart_keeps_the_offenders_of_every_check_that_warns():
    """Each under its own name, and of no other check: what fails an error is not in the warehouse."""
    [mart] = [model for model in project.read() if model.name == "marts.warnings_v1"]
    found = {}
    for select in mart.expression.find_all(exp.Select):
        [table] = [table for table in [select.args["from_"].this] if isinstance(table, exp.Table)]
        if table.db == "checks":
            found[table.name] = [literal.this for literal in select.find_all(exp.Literal)]
    assert {name: [name] for name in WARN} == found


def test_every_rule_has_a_dump_that_breaks_it():
    """A new check of severity warn needs one."""
    assert WARN - OTHERS == BREACHES.keys()


def test_a_dump_that_breaks_a_rule_is_loaded_and_gives_this_warning_alone(loaded, own):
    """Exit 0, the offenses counted by rule, and a row with the first of them, also where it is computed again later.

    `bufferhouse check` counts the same offenses, and warnings alone do not make it fail.
    """
    code, summary = loaded[1]
    assert (0, len(BREACHES), 0) == (code, summary["new"], summary["rejected"])
    assert {rule: breach.count for rule, breach in BREACHES.items()} == summary["warnings"]
    assert EXPECTED == rows(own, WARNINGS)
    outcome = call("check", "--warehouse", own, "--format", "json")
    found = {row["check"]: row["offenders"] for row in json.loads(outcome.out) if row["offenders"]}
    assert (0, summary["warnings"]) == (outcome.code, found)
    with duckdb.connect(str(own)) as con:
        con.execute("DELETE FROM marts.warnings_v1")
        outdate(con, "model_name = 'marts.warnings_v1'")
        build.build(con)
        assert EXPECTED == con.execute(WARNINGS).fetchall()


def test_what_is_legal_gives_no_warning(warehouse, legal):
    """What only looks like a breach, in one file and in three."""
    code, summary = ingest(warehouse, legal)
    assert (0, 2 * len(LEGAL) - 1, 0) == (code, summary["new"], summary["rejected"])
    assert {} == summary["warnings"]
    assert [] == rows(warehouse, WARNINGS)


def test_warnings_go_with_their_dumps(own, broken, legal):
    """Of a run that is removed nothing stays."""
    ingest(own, legal, "--run", legal.name)
    assert len(BREACHES) == len(rows(own, "FROM marts.warnings"))
    outcome = call("runs", "rm", "--yes", broken.name, "--warehouse", own)
    assert 0 == outcome.code, outcome.err
    assert [] == rows(own, "FROM marts.warnings")
