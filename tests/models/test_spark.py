"""Every portable mart on Spark, over the Parquet of `examples/fleet`: the rows and types that DuckDB gives.

Needs the extra spark and Java, else it is skipped. One session and one set of tables serve the whole file.
"""

import re
import shutil
from collections import Counter
from contextlib import chdir
from pathlib import Path

import pyarrow as pa
import pytest

from bufferhouse.models import project
from bufferhouse.models.dialects import statements, write
from bufferhouse.paths import CHECKOUT
from bufferhouse.query.notebooks import export_parquet

pytestmark = [pytest.mark.spark, pytest.mark.soak]

KNOWN = project.read()
PORTABLE = sorted(model.name for model in KNOWN if model.portable == "yes")
# On small data most of Spark's time goes into making code, and tasks.
QUICK = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xss8m",
}


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    """A Spark session of one thread in this process's own Java; nothing of it is reached from outside."""
    if not shutil.which("java"):
        pytest.skip("there is no Java, which Spark needs")
    sql = pytest.importorskip("pyspark.sql", reason="the extra spark is not installed: pyspark is missing")
    place = tmp_path_factory.mktemp("spark")
    builder = sql.SparkSession.builder.master("local[1]").appName("bufferhouse tests")
    here = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    places = {"spark.sql.warehouse.dir": str(place / "warehouse"), "spark.local.dir": str(place / "local")}
    for name, value in {**QUICK, **here, **places, "spark.sql.session.timeZone": "UTC"}.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="module")
def folder(example, tmp_path_factory):
    """A folder as the commands of docs/engines.md leave it."""
    folder = tmp_path_factory.mktemp("engines")
    write(statements(KNOWN, "spark"), folder / "build" / "spark")
    export_parquet(example, folder / "build")
    return folder


@pytest.fixture(scope="module")
def spark(session, folder):
    """The session after the script of docs/engines.md."""
    run_script(folder)  # its session is this one
    return session


def run_script(folder: Path) -> None:
    """Run the script of docs/engines.md in a folder."""
    [script] = re.findall(r"```python\n(.*?)```", (CHECKOUT / "docs" / "engines.md").read_text(encoding="utf-8"), re.S)
    with chdir(folder):
        exec(script, {})


def kinds(table: pa.Table) -> dict[str, str]:
    """Return the type of each column; how long a text may be is not told apart."""
    return {field.name: str(field.type).replace("large_", "") for field in table.schema}


def rows_of(table: pa.Table) -> Counter:
    """Return how often each row is there."""
    return Counter(map(repr, zip(*(column.to_pylist() for column in table.columns), strict=True)))


@pytest.mark.parametrize("mart", PORTABLE)
def test_a_portable_mart_has_the_same_rows_on_spark(spark, example, mart):
    """Row by row, nulls, times in UTC and every type included."""
    expected = example.sql(f"SELECT * FROM {mart}").to_arrow_table()
    actual = spark.table(mart).toArrow()
    assert kinds(expected) == kinds(actual)
    assert rows_of(expected) == rows_of(actual)


def test_the_names_without_a_version_show_the_newest(spark, example):
    """As in a warehouse: `marts.warnings` is `marts.warnings_v3`."""
    assert spark.table("marts.warnings").columns == spark.table("marts.warnings_v3").columns
    assert spark.table("marts.runs").count() == example.sql("SELECT COUNT(*) FROM marts.runs").fetchone()[0]


def test_what_a_mart_is_for_is_said_in_sparks_catalog(spark):
    """Purpose and columns are comments there, as they are in DuckDB."""
    model = next(model for model in KNOWN if model.name == "marts.peak_memory_v1")
    described = {row[0]: row[2] for row in spark.sql(f"DESCRIBE EXTENDED {model.name}").collect()}
    assert model.columns == {column: described[column] for column in model.columns}


def test_the_script_runs_again_over_new_rows(spark, folder, example):
    """In the same session, and so where a catalog keeps the tables: the new rows take the place of the old.

    Last of this file, whose other tests expect the old ones.
    """
    seeds = "SELECT * FROM raw.runs WHERE run_name = 'seeds'"
    example.execute(f"COPY ({seeds}) TO '{folder / 'build' / 'raw' / 'runs.parquet'}' (FORMAT parquet)")
    run_script(folder)
    assert 1 == spark.table("marts.runs").count()
