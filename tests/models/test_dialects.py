"""Models as statements for other engines: what is written, in which order, and what is refused. No engine is needed."""

import pytest
import sqlglot

from bufferhouse.errors import ModelError, UsageError
from bufferhouse.models import project
from bufferhouse.models.dialects import portable, statements, to_spark, write
from tests.command_line import call
from tests.models.small_models import MART, STAGING

PORTABLE = MART.replace("-- grain: dump_id\n", "-- grain: dump_id\n-- portable: yes\n")


def spark(sql: str) -> str:
    """The SELECT of DuckDB in Spark's words, on one line."""
    return " ".join(to_spark(sqlglot.parse_one(sql, dialect="duckdb")).split())


def test_every_mart_says_whether_it_is_portable():
    """Who writes a mart decides it, and gives the reason where it is not."""
    assert [] == [model.name for model in project.read() if model.layer == "marts" and not model.portable]


def test_what_a_portable_mart_reads_is_written_before_it(directory):
    """Schemas first, then models in the order in which they can be made, then the names without a version."""
    made = statements(project.read(directory(marts__sizes_v1=PORTABLE)), "spark")
    assert [
        "raw", "staging", "intermediate", "marts", "checks", "staging.contents", "intermediate.sizes",
        "marts.sizes_v1", "marts.sizes",
    ] == list(made)  # fmt: skip
    assert made["marts.sizes_v1"] == (
        "CREATE OR REPLACE VIEW marts.sizes_v1 (\n  dump_id COMMENT 'The dump.',\n  twice_bytes COMMENT 'Twice its "
        "bytes.'\n)\nCOMMENT 'What people read.'\nAS\nSELECT\n  dump_id,\n  twice_bytes\nFROM intermediate.sizes"
    )


def test_a_mart_that_is_not_portable_is_left_out(directory):
    """And so is what nobody else reads."""
    unportable = PORTABLE.replace("yes", "no, because the moon is full")
    assert [] == portable(project.read(directory(marts__sizes_v1=unportable)))


def test_a_name_never_shows_an_older_version_than_in_duckdb(directory):
    """Where the newest is not portable the name is left out: an older version has other rows."""
    unportable = PORTABLE.replace("yes", "no, because the moon is full")
    made = statements(project.read(directory(marts__sizes_v1=PORTABLE, marts__sizes_v2=unportable)), "spark")
    assert ["marts.sizes_v1"] == [name for name in made if name.startswith("marts.")]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("portable: perhaps", "expected portable: yes, or no, because …; found 'perhaps'"),
        ("portable: no", "expected portable: yes, or no, because …; found 'no'"),
    ],
)
def test_a_header_that_gives_no_reason_is_refused(directory, line, expected):
    """Yes, or no with the reason: nothing else says anything."""
    with pytest.raises(ModelError, match=expected):
        project.read(directory(marts__sizes_v1=PORTABLE.replace("portable: yes", line)))


def test_a_portable_mart_over_one_that_is_not_is_refused(directory):
    """It could not be made."""
    lower = PORTABLE.replace("yes", "no, because the moon is full")
    upper = PORTABLE.replace("intermediate.sizes", "marts.sizes_v1")
    with pytest.raises(ModelError, match=r"a portable mart reads marts\.sizes_v1, which is not portable"):
        portable(project.read(directory(marts__sizes_v1=lower, marts__more_v1=upper)))


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT l[2] FROM t", "SELECT GET(l, CAST(1 AS INT)) FROM t"),
        ("SELECT LIST_COUNT(l) FROM t", "SELECT SIZE(ARRAY_COMPACT(l)) FROM t"),
        ("SELECT x // 4 FROM t", "SELECT x DIV 4 FROM t"),
        ("SELECT SUM(x) OVER w - y FROM t WINDOW w AS (PARTITION BY z)",
         "SELECT ( SUM(x) OVER w ) - y FROM t WINDOW w AS (PARTITION BY z)"),
        ("SELECT CAST(PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x) AS BIGINT) FROM t",
         "SELECT CAST(RINT(PERCENTILE(x, 0.5)) AS BIGINT) FROM t"),
        ("SELECT TRY_CAST(x AS BIGINT[]) FROM t", "SELECT FROM_JSON(x, 'ARRAY<BIGINT>') FROM t"),
        (r"SELECT REGEXP_REPLACE(x, '([0-9])', '0\1', 'g') FROM t",
         "SELECT REGEXP_REPLACE(x, '([0-9])', '0$1') FROM t"),
        (r"SELECT REGEXP_REPLACE(REGEXP_REPLACE(x, '(a)', '0\1', 'g'), '(b)', '\1', 'g') FROM t",
         "SELECT REGEXP_REPLACE(REGEXP_REPLACE(x, '(a)', '0$1'), '(b)', '$1') FROM t"),
        ("SELECT l[2][1] FROM t", "SELECT GET(GET(l, CAST(1 AS INT)), CAST(0 AS INT)) FROM t"),
        ("SELECT REGEXP_REPLACE(x, '[^][,]+', 'n', 'g') FROM t",
         r"SELECT REGEXP_REPLACE(x, '[^\\]\\[,]+', 'n') FROM t"),
        ("SELECT a, UNNEST(l) AS x, UNNEST(m) AS y FROM t",
         "SELECT a, unnested_0 AS x, unnested_1 AS y FROM t LATERAL VIEW INLINE(ARRAYS_ZIP(l, m)) lists AS unnested_0, "
         "unnested_1"),
    ],
)  # fmt: skip
def test_what_is_said_otherwise_in_spark(sql, expected):
    """Where the same words mean something else in Spark, or nothing, others are found."""
    assert expected == spark(sql)


def test_what_cannot_be_said_in_spark_is_refused_with_its_file(directory):
    """Spark's regexp_replace replaces every match: there is none for the first."""
    staging = STAGING.replace("text_bytes  --", "regexp_replace(sha256, 'a', 'b') AS text_bytes  --")
    known = project.read(directory(staging__contents=staging, marts__sizes_v1=PORTABLE))
    with pytest.raises(ModelError, match=r"staging/contents\.sql:1:1: expected regexp_replace of all matches"):
        statements(known, "spark")


def test_the_files_come_in_the_order_in_which_they_are_run(tmp_path):
    """A file a statement, numbered; a second call writes them anew, and leaves none that is gone."""
    for made in ({"raw": "A", "marts.x_v1": "B", "marts.x": "C"}, {"raw": "A", "marts.x": "C"}):
        paths = write(made, tmp_path / "sql")
    assert ["000_raw.sql", "001_marts.x.sql"] == [path.name for path in paths]
    assert paths == sorted((tmp_path / "sql").iterdir())
    assert "C;\n" == paths[1].read_text()


def test_other_peoples_files_are_left_alone(tmp_path):
    """A folder that holds something else is refused, not emptied."""
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(UsageError, match=r"expected a new or empty folder, found notes\.txt"):
        write({"raw": "A"}, tmp_path)
    assert ["notes.txt"] == [path.name for path in tmp_path.iterdir()]


def test_the_command_writes_all_portable_marts(tmp_path):
    """Without a warehouse: to a folder, or to standard output, one statement after the other."""
    outcome = call("models", "--dialect", "spark", "-o", tmp_path / "sql")
    written = sorted((tmp_path / "sql").iterdir())
    marts = [model.name for model in project.read() if model.portable == "yes"]
    assert 0 == outcome.code
    assert set(marts) <= {path.stem[4:] for path in written}
    assert f"{len(written)} statements" in outcome.err
    assert "not portable: marts.capacities_v1, marts.donation_warnings_v1" in outcome.err
    printed = call("models", "--dialect", "spark")
    assert "".join(path.read_text() for path in written) == printed.out


def test_an_unknown_dialect_is_refused_with_those_that_are_known():
    """Usage, and the way out."""
    outcome = call("models", "--dialect", "sparc")
    assert 2 == outcome.code
    assert "--dialect: expected one of spark, found 'sparc'; did you mean 'spark'?" in outcome.err


def test_a_dialect_has_no_other_format():
    """What it writes is SQL."""
    outcome = call("models", "--dialect", "spark", "--format", "json")
    assert (2, "") == (outcome.code, outcome.out)
    assert "--format: expected no --dialect beside it, which writes SQL" in outcome.err


def test_an_output_folder_needs_a_dialect(tmp_path):
    """A list of models is printed, never written to files."""
    outcome = call("models", "-o", tmp_path / "sql")
    assert 2 == outcome.code
    assert "-o: expected --dialect beside it" in outcome.err
