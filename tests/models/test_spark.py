"""Every portable mart on Spark, over the Parquet of `examples/fleet`: the rows and types that DuckDB gives.

Needs the extra spark and Java, else it is skipped. One session and one set of tables serve the whole file.
"""

import shutil
from collections import Counter
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from bufferhouse.models import project
from bufferhouse.models.dialects import statements, write
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


def raw_as_parquet(con: duckdb.DuckDBPyConnection, directory: Path) -> dict[str, Path]:
    """Write the tables of raw as `bufferhouse export --parquet` does, views among them, too; return files by table."""
    return {path.stem: path for path in export_parquet(con, directory) if path.parent.name == "raw"}


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
def spark(session, example, tmp_path_factory):
    """The session with the tables of raw and all that `bufferhouse models --dialect spark` writes."""
    made = statements(KNOWN, "spark")
    for path in write(made, tmp_path_factory.mktemp("models") / "sql"):
        name = path.stem[4:]
        session.sql(path.read_text().rstrip(";\n"))
        if name == "raw":
            for table, file in raw_as_parquet(example, tmp_path_factory.mktemp("raw")).items():
                session.sql(f"CREATE TABLE raw.{table} USING parquet LOCATION '{file}'")
        if name.startswith("intermediate."):
            # Many read these: as views they would be planned and computed again for each.
            rows = session.table(name)
            session.sql(f"DROP VIEW {name}")
            rows.write.format("parquet").saveAsTable(name)
    return session


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
