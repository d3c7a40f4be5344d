"""The models: how they must be written, and that they hold over the example fleet."""

import re
import shutil

import pytest

from bufferhouse.errors import ModelError
from bufferhouse.models import build, project
from bufferhouse.paths import MODELS
from bufferhouse.warehouse.open import writing
from tests.command_line import CHECKOUT, run
from tests.models.small_models import ALL, MART, SIZES, STAGING
from tests.models.test_marts import LARGE
from tests.synthetic import small_dump
from tests.warehouses import load_texts

# How models must be written


def test_models_are_read_in_the_order_in_which_they_can_be_built(directory):
    """A model comes after all that it reads; purpose, grain, severity and comments are read from its text."""
    found = {model.name: model for model in project.read(directory())}
    names = list(found)
    assert names.index("staging.contents") < names.index("intermediate.sizes") < names.index("marts.sizes_v1")
    sizes = found["intermediate.sizes"]
    assert ("Sizes of contents. They come from staging.", ("dump_id",), True) == (
        sizes.purpose, sizes.grain, sizes.is_incremental,
    )  # fmt: skip
    assert {"dump_id": "The dump.", "twice_bytes": "Twice its bytes; 'quoted'."} == sizes.columns
    assert ("staging.contents",) == sizes.reads
    assert ("error", False) == (found["checks.not_empty"].severity, found["checks.not_empty"].is_incremental)


# What is replaced in which model, and the error that follows.
WRONG = {
    "a layer above": (
        "staging/contents", "raw.dumps", "marts.sizes_v1", "6:6: a model of staging cannot read marts.sizes_v1",
    ),
    "raw from above staging": (
        "intermediate/sizes", "staging.contents", "raw.dumps", "8:6: a model of intermediate cannot read raw.dumps",
    ),
    "raw from a mart": (
        "marts/sizes_v1", "intermediate.sizes", "raw.dumps", "6:6: a model of marts cannot read raw.dumps",
    ),
    "a check from a mart": (
        "marts/sizes_v1", "intermediate.sizes", "checks.not_empty", "a model of marts cannot read checks.not_empty",
    ),
    "no such model": (
        "marts/sizes_v1", "intermediate.sizes", "intermediate.size", "6:6: reads intermediate.size, which is neither",
    ),
    "no schema": ("marts/sizes_v1", "intermediate.sizes", "sizes", "6:6: reads .sizes, which is neither"),
    "no purpose": ("staging/contents", "-- Contents.\n", "", "1:1: expected a header with a purpose"),
    "no grain": ("staging/contents", "-- grain: dump_id\n", "", "a purpose and a line '-- grain: …'"),
    "no severity": ("checks/not_empty", "-- severity: error\n", "", "a purpose and a line '-- severity: …'"),
    "another severity": ("checks/not_empty", "error", "fatal", "expected severity error or warn, found 'fatal'"),
    "another grain": (
        "staging/contents", "grain: dump_id", "grain: run_id", "the grain names run_id, which is no output column",
    ),
    "another materialization": (
        "intermediate/sizes", "incremental by dump_id", "table", "expected materialized: incremental by dump_id",
    ),
    "no comment": (
        "staging/contents", "  -- Bytes of text.", "", "expected a comment behind the output column text_bytes",
    ),
    "a star": (
        "staging/contents", "text_bytes  -- Bytes of text.", "*", "expected a comment behind the output column *",
    ),
    "two statements": ("staging/contents", "raw.dumps", "raw.dumps;\nSELECT 1", "expected one SELECT, found 2"),
    "no SELECT": ("staging/contents", STAGING.split("\n", 2)[2], "DELETE FROM raw.dumps", "expected one SELECT"),
    "no SQL": ("staging/contents", "FROM raw.dumps", "FROM FROM", "contents.sql:6:"),
}  # fmt: skip
UNKNOWN = [
    ("marts/sizes_v1", "    twice_bytes", "    thrice_bytes", "5:5: "),
    ("intermediate/sizes", "d.text_bytes", "d.text_byte", "7:7: "),
    ("intermediate/sizes", "d.text_bytes", "e.text_bytes", "7:7: "),
    ("staging/contents", "raw.dumps", "raw.dump", "6:6: unknown table raw.dump"),
]


@pytest.mark.parametrize("name", WRONG)
def test_a_model_that_is_not_written_as_models_are_is_refused(directory, name):
    """The error names file, line and column, and what was expected there."""
    model, old, new, message = WRONG[name]
    path = directory(**{model: ALL[model].replace(old, new)})
    with pytest.raises(ModelError) as error:
        project.read(path)
    assert f"{path}/{model}.sql:" in str(error.value)
    assert message in str(error.value)


def test_a_file_in_the_wrong_place_is_refused(directory):
    """A folder that is no layer, and a mart whose name does not say its version."""
    with pytest.raises(ModelError, match="expected a mart's name to end in _vN"):
        project.read(directory(marts__sizes=MART))
    with pytest.raises(ModelError, match="expected a folder of staging, intermediate, marts, checks, found 'gold'"):
        project.read(directory(marts__sizes=None, gold__sizes=MART))


@pytest.mark.parametrize(("model", "old", "new", "message"), UNKNOWN)
def test_unknown_columns_and_tables_are_found_before_anything_is_built(directory, con, model, old, new, message):
    """File, line and column of the name that nothing has; the warehouse stays without models."""
    path = directory(**{model: ALL[model].replace(old, new)})
    with pytest.raises(ModelError) as error:
        build.build(con, path)
    assert f"{path}/{model}.sql:{message}" in str(error.value)
    assert [(0,)] == con.execute("SELECT COUNT(*) FROM meta.models").fetchall()


def test_models_that_read_each_other_are_refused(directory):
    """The message shows the circle."""
    other = SIZES.replace("staging.contents", "intermediate.sizes").replace("d.text_bytes * 2", "d.twice_bytes")
    back = SIZES.replace("staging.contents", "intermediate.other").replace("d.text_bytes * 2", "d.twice_bytes")
    with pytest.raises(ModelError, match=r"in a circle: intermediate\.\w+ -> intermediate\.\w+ -> "):
        project.read(directory(intermediate__sizes=back, intermediate__other=other))


def test_an_error_of_a_model_ends_a_command_with_2(warehouse, tmp_path):
    """A broken checkout is told as such, without a traceback."""
    for part in ("bufferhouse", "schemas", "dbt_like_models", "sql"):
        shutil.copytree(CHECKOUT / part, tmp_path / part)
    broken = tmp_path / "dbt_like_models" / "marts" / "peak_memory_v1.sql"
    broken.write_text(broken.read_text().replace("r.reserved_bytes", "r.reserve_bytes"))
    outcome = run("build", "--warehouse", warehouse, cwd=tmp_path)
    assert (2, "") == (outcome.code, outcome.out)
    assert outcome.err.startswith(f"bufferhouse: {broken}:")
    assert "Traceback" not in outcome.err


# The models of this checkout over the example fleet

# Models that are written out in a file, and what reads nothing else: they have rows before anything was ingested.
WRITTEN_OUT = {
    *("intermediate.memory_space_names", "intermediate.official_rules", "marts.memory_spaces_v1"),
    *("intermediate.oom_rules", "intermediate.device_memories", "intermediate.oom_dialects"),
    *("intermediate.report_rules", "intermediate.rule_texts", "intermediate.number_names"),
    "intermediate.element_types",
    "intermediate.libtpu_releases",
}
NAMES = sorted(f"{path.parent.name}.{path.stem}" for path in MODELS.glob("*/*.sql"))


@pytest.mark.parametrize("path", sorted(MODELS.glob("*/*.sql")), ids=lambda path: path.stem)
def test_a_model_is_short(path):
    """One idea a model: what needs more than sixty lines is two."""
    assert len(path.read_text().splitlines()) <= 60


def test_no_window_is_over_all_rows():
    """None of our SQL has a bare OVER (): DuckDB 1.5.5 fails on it now and then, where a thread's share has no row.

    duckdb/duckdb#25713; a database is of no use after it. A scalar subquery says the same.
    """
    ours = [*MODELS.rglob("*.sql"), *(CHECKOUT / "sql").rglob("*.sql"), *(CHECKOUT / "bufferhouse").rglob("*.py")]
    assert len(ours) > len(NAMES)
    bare = re.compile(r"\bover\s*\(\s*\)", re.IGNORECASE)
    assert [] == [str(path.relative_to(CHECKOUT)) for path in ours if bare.search(path.read_text(encoding="utf-8"))]


def test_comments_of_models_are_in_the_database(example):
    """Purpose and column descriptions are where DuckDB's catalog shows them, for every model and every pointer."""
    expected, purposes = set(), {}
    known = project.read()
    newest = {model.name.rpartition("_v")[0]: model for model in sorted(known, key=lambda m: m.version or 0)}
    for model in known:
        pointer = model.name.rpartition("_v")[0]
        is_shown = model.layer == "marts" and newest[pointer] is model
        for name in [model.name, pointer] if is_shown else [model.name]:
            purposes[name] = model.purpose
            expected |= {(name, column, comment) for column, comment in model.columns.items()}
    layers = "('staging', 'intermediate', 'marts', 'checks')"
    found = example.execute(
        "SELECT schema_name || '.' || table_name, column_name, comment FROM duckdb_columns()"
        f" WHERE schema_name IN {layers}"
    ).fetchall()
    assert expected == set(found)
    found = example.execute(
        f"SELECT schema_name || '.' || view_name, comment FROM duckdb_views() WHERE schema_name IN {layers}"
        " UNION ALL SELECT schema_name || '.' || table_name, comment FROM duckdb_tables()"
        f" WHERE schema_name IN {layers}"
    ).fetchall()
    assert purposes == dict(found)


# Of other marts tests/models/test_marts.py looks at all rows.
GRAINS = [model for model in project.read() if model.grain and (model.layer != "marts" or model.name[6:] in LARGE)]


@pytest.mark.parametrize("model", GRAINS, ids=lambda model: model.name)
def test_rows_of_a_model_are_told_apart_by_its_grain(example, model):
    """Over the example fleet no two rows have the same grain."""
    columns = ", ".join(model.grain)
    assert (
        [] == example.execute(f"SELECT {columns} FROM {model.name} GROUP BY {columns} HAVING COUNT(*) > 1").fetchall()
    )


def test_models_of_an_empty_warehouse_answer_nothing(warehouse):
    """Every view can be asked before anything was ingested, and has no rows that nobody wrote out."""
    with writing(warehouse) as writer:
        found = {name: writer.con.execute(f"FROM {name}").fetchall() for name in NAMES}
        assert WRITTEN_OUT == {name for name, rows in found.items() if rows}
        load_texts(writer, [small_dump(1)])
        assert 1 == len(writer.con.execute("FROM marts.peak_memory").fetchall())
