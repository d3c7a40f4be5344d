"""The models: how they must be written, what is built and when, and that they hold over the example fleet."""

import shutil
from pathlib import Path

import duckdb
import pytest

from bufferhouse import building, migrate, models
from bufferhouse.errors import ModelError
from bufferhouse.layout import MODELS
from bufferhouse.warehouse import Warehouse
from tests.commands import CHECKOUT, run
from tests.synthetic import small_dump
from tests.warehouses import load_texts, rows

STAGING = """\
-- Contents.
-- grain: dump_id
SELECT
    dump_id,  -- The dump.
    text_bytes  -- Bytes of text.
FROM raw.dumps
"""
SIZES = """\
-- Sizes of contents.
-- They come from staging.
-- grain: dump_id
-- materialized: incremental by dump_id
SELECT
    d.dump_id,  -- The dump.
    d.text_bytes * 2 AS twice_bytes  -- Twice its bytes; 'quoted'.
FROM staging.contents AS d
"""
MART = """\
-- What people read.
-- grain: dump_id
SELECT
    dump_id,  -- The dump.
    twice_bytes  -- Twice its bytes.
FROM intermediate.sizes
"""
CHECK = """\
-- No content is empty.
-- severity: error
SELECT
    dump_id,  -- The dump.
    'text' AS expected,  -- What there should be.
    'nothing' AS found  -- What there is.
FROM staging.contents
WHERE text_bytes = 0
"""
ALL = {
    "staging/contents": STAGING, "intermediate/sizes": SIZES, "marts/sizes_v1": MART, "checks/not_empty": CHECK,
}  # fmt: skip


@pytest.fixture
def directory(tmp_path: Path):
    """A function that writes models and returns their directory; None removes one."""

    def write(**changed: str | None) -> Path:
        for name, sql in {**ALL, **{name.replace("__", "/"): sql for name, sql in changed.items()}}.items():
            path = tmp_path / "models" / f"{name}.sql"
            path.parent.mkdir(parents=True, exist_ok=True)
            if sql is None:
                path.unlink(missing_ok=True)
            else:
                path.write_text(sql)
        return tmp_path / "models"

    return write


@pytest.fixture
def con():
    """An empty warehouse in memory, without any model."""
    with duckdb.connect() as con:
        migrate.migrate(con)
        yield con


def add_dump(con, dump_id: int, text_bytes: int = 100) -> None:
    columns = {row[0]: row[1] for row in con.execute("DESCRIBE raw.dumps").fetchall()}
    values = {"BIGINT": "0", "VARCHAR": "''", "BOOLEAN": "FALSE"}
    cells = {**{name: values[kind] for name, kind in columns.items()}, "dump_id": dump_id, "text_bytes": text_bytes}
    con.execute(f"INSERT INTO raw.dumps SELECT {', '.join(map(str, cells.values()))}")


# How models must be written


def test_models_are_read_in_the_order_in_which_they_can_be_built(directory):
    """A model comes after all that it reads; purpose, grain, severity and comments are read from its text."""
    found = {model.name: model for model in models.read(directory())}
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
        models.read(path)
    assert f"{path}/{model}.sql:" in str(error.value)
    assert message in str(error.value)


def test_a_file_in_the_wrong_place_is_refused(directory):
    """A folder that is no layer, and a mart whose name does not say its version."""
    with pytest.raises(ModelError, match="expected a mart's name to end in _vN"):
        models.read(directory(marts__sizes=MART))
    with pytest.raises(ModelError, match="expected a folder of staging, intermediate, marts, checks, found 'gold'"):
        models.read(directory(marts__sizes=None, gold__sizes=MART))


@pytest.mark.parametrize(("model", "old", "new", "message"), UNKNOWN)
def test_unknown_columns_and_tables_are_found_before_anything_is_built(directory, con, model, old, new, message):
    """File, line and column of the name that nothing has; the warehouse stays without models."""
    path = directory(**{model: ALL[model].replace(old, new)})
    with pytest.raises(ModelError) as error:
        building.build(con, path)
    assert f"{path}/{model}.sql:{message}" in str(error.value)
    assert [(0,)] == con.execute("SELECT COUNT(*) FROM meta.models").fetchall()


def test_models_that_read_each_other_are_refused(directory):
    """The message shows the circle."""
    other = SIZES.replace("staging.contents", "intermediate.sizes").replace("d.text_bytes * 2", "d.twice_bytes")
    back = SIZES.replace("staging.contents", "intermediate.other").replace("d.text_bytes * 2", "d.twice_bytes")
    with pytest.raises(ModelError, match=r"in a circle: intermediate\.\w+ -> intermediate\.\w+ -> "):
        models.read(directory(intermediate__sizes=back, intermediate__other=other))


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


# What is built, and when


def test_only_what_changed_is_built_again_with_what_reads_it(directory, con):
    """Nothing when nothing changed; a changed model and all above it; all of them by force."""
    assert {name.replace("/", ".") for name in ALL} == set(building.build(con, directory()))
    assert [] == building.build(con, directory())
    assert ["marts.sizes_v1"] == building.build(con, directory(marts__sizes_v1=MART + "-- More.\n"))
    changed = building.build(
        con, directory(staging__contents=STAGING.replace("text_bytes  --", "text_bytes + 1 AS text_bytes  --"))
    )
    assert {"staging.contents", "intermediate.sizes", "marts.sizes_v1", "checks.not_empty"} == set(changed)
    assert 4 == len(building.build(con, directory(), force=True))


def test_a_changed_incremental_model_is_computed_over_all_dumps(directory, con):
    """A new text, or one of a model beneath it, recomputes the table; until then it keeps what loads gave it."""
    building.build(con, directory())
    add_dump(con, 1, 100)
    con.execute("INSERT INTO intermediate.sizes VALUES (1, -1)")
    assert [] == building.build(con, directory())
    assert [(1, -1)] == con.execute("FROM marts.sizes_v1").fetchall()
    building.build(con, directory(intermediate__sizes=SIZES.replace("* 2", "* 3")))
    assert [(1, 300)] == con.execute("FROM marts.sizes_v1").fetchall()
    add_dump(con, 2, 10)
    beneath = STAGING.replace("text_bytes  --", "text_bytes + 1 AS text_bytes  --")
    building.build(con, directory(staging__contents=beneath))
    assert [(1, 202), (2, 22)] == con.execute("FROM marts.sizes_v1 ORDER BY ALL").fetchall()


def test_a_model_that_is_gone_is_dropped_with_the_name_that_showed_it(directory, con):
    """Neither a view nor a table nor a pointer stays behind."""
    building.build(con, directory())
    building.build(con, directory(marts__sizes_v1=None, intermediate__sizes=None))
    found = con.execute(
        "SELECT table_schema || '.' || table_name FROM information_schema.tables"
        " WHERE table_schema IN ('staging', 'intermediate', 'marts', 'checks')"
    ).fetchall()
    assert {"staging.contents", "checks.not_empty"} == {name for (name,) in found}


def test_a_model_may_become_a_table_and_a_view_again(directory, con):
    """Kinds change without anybody dropping anything by hand."""
    view = SIZES.replace("-- materialized: incremental by dump_id\n", "")
    for sql, kind in ((SIZES, "BASE TABLE"), (view, "VIEW"), (SIZES, "BASE TABLE")):
        building.build(con, directory(intermediate__sizes=sql))
        assert [(kind,)] == con.execute(
            "SELECT table_type FROM information_schema.tables"
            " WHERE table_name = 'sizes' AND table_schema = 'intermediate'"
        ).fetchall()


def test_a_build_that_fails_changes_nothing(directory, con):
    """What DuckDB alone can see, such as a function that does not exist, takes the whole build back."""
    building.build(con, directory())
    before = con.execute("SELECT model_name, fingerprint, built_at FROM meta.models ORDER BY ALL").fetchall()
    broken = SIZES.replace("d.text_bytes * 2", "no_such_function(d.text_bytes)")
    with pytest.raises(duckdb.Error, match="no_such_function"):
        building.build(con, directory(intermediate__sizes=broken, staging__contents=STAGING + "-- More.\n"))
    assert before == con.execute("SELECT model_name, fingerprint, built_at FROM meta.models ORDER BY ALL").fetchall()
    assert [] == con.execute("FROM marts.sizes").fetchall()


def test_the_name_without_a_version_shows_the_newest(directory, con):
    """marts.sizes is marts.sizes_v10, not _v2 or _v9, with its comments; every version stays readable."""
    add_dump(con, 1)
    building.build(con, directory())
    for number in (2, 9, 10):
        newer = MART.replace("    twice_bytes  -- Twice its bytes.", f"    {number} AS version  -- Version {number}.")
        building.build(con, directory(**{f"marts__sizes_v{number}": newer}))
        assert [(1, number)] == con.execute("FROM marts.sizes").fetchall()
    assert [("Version 10.",)] == con.execute(
        "SELECT comment FROM duckdb_columns() WHERE table_name = 'sizes' AND column_name = 'version'"
    ).fetchall()
    assert [("dump_id",), ("twice_bytes",)] == [row[:1] for row in con.execute("DESCRIBE marts.sizes_v1").fetchall()]


def test_opening_a_warehouse_brings_its_models_up_to_date(own_warehouse):
    """A warehouse that an older checkout built gets the models of this one, computed over what it holds."""
    with duckdb.connect(str(own_warehouse)) as con:
        con.execute("UPDATE meta.models SET fingerprint = 'older' WHERE model_name = 'intermediate.peaks'")
        con.execute("UPDATE meta.settings SET value = 'older' WHERE name = 'models'")
        before = con.execute("FROM intermediate.peaks ORDER BY ALL").fetchall()
        con.execute("DELETE FROM intermediate.peaks")
    with Warehouse(own_warehouse):
        pass
    assert before == rows(own_warehouse, "FROM intermediate.peaks ORDER BY ALL")


# The models of this checkout over the example fleet

NAMES = sorted(f"{path.parent.name}.{path.stem}" for path in MODELS.glob("*/*.sql"))


def test_comments_of_models_are_in_the_database(example):
    """Purpose and column descriptions are where DuckDB's catalog shows them, for every model and every pointer."""
    expected, purposes = set(), {}
    for model in models.read():
        names = [model.name] + ([model.name.rpartition("_v")[0]] if model.layer == "marts" else [])
        for name in names:
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


@pytest.mark.parametrize("model", [model for model in models.read() if model.grain], ids=lambda model: model.name)
def test_rows_of_a_model_are_told_apart_by_its_grain(example, model):
    """Over the example fleet no two rows have the same grain."""
    columns = ", ".join(model.grain)
    assert (
        [] == example.execute(f"SELECT {columns} FROM {model.name} GROUP BY {columns} HAVING COUNT(*) > 1").fetchall()
    )


def test_models_of_an_empty_warehouse_answer_nothing(warehouse):
    """Every view can be asked before anything was ingested."""
    with Warehouse(warehouse) as writer:
        assert {name: [] for name in NAMES} == {name: writer.con.execute(f"FROM {name}").fetchall() for name in NAMES}
        load_texts(writer, [small_dump(1)])
        assert 1 == len(writer.con.execute("FROM marts.peak_memory").fetchall())
