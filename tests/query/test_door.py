"""The read-only door: what it answers, and that nothing gets through it but answers."""

import csv
import hashlib
import io
import json
import shutil
from pathlib import Path

import pytest

import bufferhouse
from bufferhouse.errors import UsageError
from bufferhouse.ingest.in_memory import in_memory
from bufferhouse.query.door import door
from bufferhouse.warehouse.open import open_reader
from tests.command_line import call, run

# The two tables at the end of the corpus's README, which an independent reader computed. By seed: allocations, values,
# positions, uses, schedule, live ranges, peak lines; total bytes; max position; the printed peak's position and bytes;
# the most listed bytes alive and their position.
SEED_ROWS = {
    "000": (8, 9, 11, 10, 8, 9, 7, 18_980, 8, 7, 4_132, 4_140, 5),
    "001": (20, 19, 27, 17, 7, 7, 6, 52_288, 7, 6, 96, 96, 1),
    "002": (16, 25, 31, 31, 14, 16, 9, 172_580, 14, 13, 43_200, 49_232, 5),
    "003": (6, 11, 17, 16, 13, 11, 7, 40_448, 13, 9, 60, 60, 9),
    "004": (6, 6, 10, 8, 6, 6, 6, 524_320, 6, 5, 524_320, 524_320, 5),
}
# By seed and memory space of the allocation: reserved, thread-local, sum of slots, logical bytes, occupied, at.
SEED_SPACES = {
    ("000", 0): (9_760, 0, 9_760, 2_100, 9_728, 7),
    ("000", 1): (8_192, 0, 8_192, 2_048, 8_192, 1),
    ("000", 2): (4, 0, 4, 4, 4, 1),
    ("000", 6): (1_024, 0, 1_024, 8, 1_024, 5),
    ("001", 0): (3_136, 49_152, 52_288, 176, 3_104, 1),
    ("001", 1): (0, 0, 0, 0, 0, None),
    ("002", 0): (98_336, 4_608, 70_240, 30_820, 65_536, 13),
    ("002", 1): (69_632, 0, 59_392, 28_928, 41_472, 5),
    ("002", 2): (4, 0, 8, 8, 4, 1),
    ("003", 0): (35_328, 0, 3_136, 76, 2_080, 2),
    ("003", 1): (4_608, 0, 1_024, 24, 1_024, 9),
    ("003", 6): (512, 0, 1_024, 8, 512, 7),
    ("004", 0): (524_320, 0, 524_320, 524_320, 524_320, 5),
}
OF_THE_SEEDS = """
    (SELECT o.dump_id, left(o.relative_path, 3) AS seed FROM raw.observations AS o JOIN raw.runs AS r USING (run_id)
    WHERE r.run_name = 'seeds')
"""
TABLES = ("allocations", "hlo_values", "positions", "uses", "schedule", "live_ranges", "peak_buffers")
ROWS_SQL = f"""
    SELECT s.seed,
        {", ".join(f"(SELECT COUNT(*) FROM raw.{table} WHERE dump_id = s.dump_id) AS {table}" for table in TABLES)},
        d.total_bytes, d.max_position, d.reported_peak_position,
        ANY_VALUE(m.dump_reported_peak_bytes) AS reported_bytes, ANY_VALUE(m.dump_listed_peak_bytes) AS listed_bytes,
        ANY_VALUE(m.dump_listed_peak_position) AS listed_position
    FROM {OF_THE_SEEDS} AS s JOIN raw.dumps AS d USING (dump_id) JOIN marts.peak_memory_v1 AS m USING (dump_id)
    GROUP BY ALL ORDER BY s.seed
"""
SPACES_SQL = f"""
    SELECT s.seed, p.memory_space, p.reserved_bytes, p.thread_local_bytes, COALESCE(v.slots, 0) AS slots,
        COALESCE(v.logical, 0) AS logical, p.occupied_peak_bytes, p.occupied_peak_position
    FROM {OF_THE_SEEDS} AS s JOIN marts.peak_memory_v1 AS p USING (dump_id)
    LEFT JOIN (
        SELECT dump_id, a.memory_space, CAST(SUM(v.size_bytes) AS BIGINT) AS slots,
            CAST(SUM(v.logical_bytes) AS BIGINT) AS logical
        FROM raw.hlo_values AS v JOIN raw.allocations AS a USING (dump_id, allocation_index) GROUP BY ALL
    ) AS v USING (dump_id, memory_space)
    ORDER BY s.seed, p.memory_space
"""


def asked(warehouse, sql: str) -> list[dict]:
    outcome = call("query", sql, "--warehouse", warehouse, "--format", "json")
    assert (0, "") == (outcome.code, outcome.err)
    return json.loads(outcome.out)


def test_seeds_have_the_rows_totals_and_peaks_of_the_corpus(example_warehouse):
    """The first table of the corpus, through the command line."""
    found = asked(example_warehouse, ROWS_SQL)
    assert SEED_ROWS == {row["seed"]: tuple(row.values())[1:] for row in found}


def test_seeds_have_the_memory_spaces_of_the_corpus(example_warehouse):
    """The second table: reserved, thread-local, slots, logical and occupied bytes of every memory space."""
    found = asked(example_warehouse, SPACES_SQL)
    assert SEED_SPACES == {(row["seed"], row["memory_space"]): tuple(row.values())[2:] for row in found}


def test_parts_of_the_seeds_are_those_of_padding_waste(example_warehouse):
    """The same sums through marts.padding_waste_v1: all slots, and the occupied peak from its kinds."""
    sql = f"""
        SELECT seed, memory_space, CAST(SUM(reserved_bytes) AS BIGINT), CAST(SUM(slot_bytes_all_values) AS BIGINT),
            CAST(SUM(occupied_bytes) AS BIGINT)
        FROM {OF_THE_SEEDS} JOIN marts.padding_waste_v1 USING (dump_id) GROUP BY ALL
    """
    expected = {
        key: (reserved + local, slots, occupied)
        for key, (reserved, local, slots, _, occupied, _) in SEED_SPACES.items()
    }
    found = asked(example_warehouse, sql)
    assert expected == {(row["seed"], row["memory_space"]): tuple(row.values())[2:] for row in found}


@pytest.fixture(scope="module")
def own(example_warehouse, tmp_path_factory) -> tuple[Path, bytes]:
    """A copy of the example warehouse in a folder of its own, and a hash of its bytes."""
    path = Path(shutil.copy(example_warehouse, tmp_path_factory.mktemp("door") / "own.duckdb"))
    return path, hashlib.sha256(path.read_bytes()).digest()


@pytest.fixture
def unchanged(own, tmp_path_factory, monkeypatch):
    """A warehouse of which not one byte may differ afterwards, and beside which no temporary file may be left."""
    temporary = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    path, before = own
    yield path
    assert before == hashlib.sha256(path.read_bytes()).digest()
    assert [] == list(temporary.iterdir())


REFUSED = {
    "delete": "DELETE FROM raw.dumps",
    "truncate": "TRUNCATE raw.dumps",
    "insert": "INSERT INTO raw.dumps SELECT * FROM raw.dumps",
    "update": "UPDATE raw.dumps SET text_bytes = 0",
    "delete behind a CTE": "WITH d AS (SELECT 1) DELETE FROM raw.dumps",
    "drop": "DROP TABLE raw.dumps",
    "create": "CREATE TABLE raw.more AS SELECT 1",
    "temporary": "CREATE TEMP TABLE more AS SELECT 1",
    "alter": "ALTER TABLE raw.dumps ADD COLUMN more INTEGER",
    "comment": "COMMENT ON TABLE raw.dumps IS 'mine'",
    "copy out": "COPY raw.dumps TO '{0}/out.csv'",
    "copy in": "COPY raw.dumps FROM '{0}/in.csv'",
    "export": "EXPORT DATABASE '{0}/out'",
    "import": "IMPORT DATABASE '{0}'",
    "attach": "ATTACH '{0}/other.duckdb' AS other",
    "detach": "DETACH own",
    "use": "USE memory",
    "set": "SET enable_external_access = true",
    "reset": "RESET lock_configuration",
    "pragma": "PRAGMA enable_profiling",
    "install": "INSTALL httpfs",
    "load": "LOAD httpfs",
    "call": "CALL pragma_version()",
    "checkpoint": "CHECKPOINT",
    "vacuum": "VACUUM",
    "transaction": "BEGIN",
    "prepare": "PREPARE p AS DELETE FROM raw.dumps",
    "execute": "EXECUTE p",
    "two": "SELECT 1; SELECT 2",
    "second deletes": "SELECT 1; DELETE FROM raw.dumps",
    "deletes behind a comment": "SELECT 1 /* ; */; -- x\nDELETE FROM raw.dumps",
    "create from a pivot": "CREATE TABLE more AS PIVOT raw.dumps ON file_layout USING COUNT(*)",
    "delete behind a pivot": "PIVOT raw.dumps ON file_layout USING COUNT(*); DELETE FROM raw.dumps",
    "explained delete": "EXPLAIN ANALYZE DELETE FROM raw.dumps",
    "explained insert": "EXPLAIN ANALYZE INSERT INTO raw.dumps SELECT * FROM raw.dumps",
    "explained copy": "EXPLAIN ANALYZE COPY raw.dumps TO '{0}/out.csv'",
    "explained set": "EXPLAIN ANALYZE SET lock_configuration = false",
    "read_csv": "SELECT * FROM read_csv('{0}/in.csv')",
    "read_text": "SELECT * FROM read_text('{0}/in.csv')",
    "read_blob": "SELECT * FROM read_blob('/etc/passwd')",
    "a path for a table": "FROM '{0}/in.csv'",
    "read_parquet": "FROM read_parquet('{0}/in.parquet')",
    "glob": "FROM glob('{0}/*')",
    "network": "FROM read_csv('http://localhost:1/x.csv')",
    "secrets": "FROM duckdb_secrets()",
    "extension": "FROM sqlite_scan('{0}/x', 'y')",
    "delete in a string": "FROM query('DELETE FROM raw.dumps')",
    "select in a string": "FROM query('SELECT ' || '1')",
    "serialized": "FROM json_execute_serialized_sql(json_serialize_sql('SELECT 1'))",
    "merge": "MERGE INTO raw.dumps USING raw.runs ON false WHEN NOT MATCHED THEN INSERT VALUES (1)",
    "delete in a CTE": "WITH d AS (DELETE FROM raw.dumps RETURNING *) SELECT * FROM d",
    "variable": "SET VARIABLE x = 1",
    "macro": "CREATE MACRO one() AS 1",
    "secret": "CREATE SECRET (TYPE s3, KEY_ID 'x', SECRET 'y')",
    "attached network": "ATTACH 'https://localhost:1/x.duckdb' AS other",
    "copied database": "COPY FROM DATABASE own TO memory",
    "profile to a file": "FROM enable_profiling(format = 'json', save_location = '{0}/profile.json')",
    "profile, disguised": "FROM system.main.\"enable_Profiling\" /* ( */ (save_location = '{0}/profile.json')",
    "profile, explained": "EXPLAIN ANALYZE FROM enable_profiling(save_location = '{0}/profile.json')",
    "log to a file": "FROM enable_logging(storage = 'file', storage_path = '{0}/log')",
    "log": "SELECT write_log('x')",
    "checkpoint in a select": "FROM checkpoint()",
    "pointer": "FROM arrow_scan(1, 2, 3)",
    "name of Python": "FROM limits",
    "parquet metadata": "FROM parquet_metadata('{0}/in.csv')",
    "sniff": "FROM sniff_csv('{0}/in.csv')",
    "other database": "FROM read_duckdb('{0}/own.duckdb')",
    "json": "FROM read_json('{0}/in.csv')",
    "file in a subquery": "SELECT (SELECT content FROM read_text('{0}/in.csv'))",
    "environment": "SELECT getenv('HOME')",
    "settings": "PRAGMA memory_limit = '100GB'",
    "temporary directory": "SET temp_directory = '{0}'",
    "nothing": "",
    "only a comment": "/* SELECT 1 */",
    "no SQL": "how much memory?",
}


@pytest.fixture(scope="module")
def own_door(example_warehouse, tmp_path_factory):
    """A copy of the example warehouse in a folder of its own, and a door to it."""
    path = Path(shutil.copy(example_warehouse, tmp_path_factory.mktemp("own-door") / "own.duckdb"))
    con = open_reader(path).con
    with con, door(con) as opened:
        yield path, opened


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_only_read_is_refused(own_door, name):
    """With a message; no file is read or written beside the warehouse, and the warehouse is as it was."""
    path, opened = own_door
    (path.parent / "in.csv").write_text("unheard-of\n1\n")
    before = {one.name: one.read_bytes() for one in path.parent.iterdir()}
    with pytest.raises(UsageError) as error:
        opened.ask(REFUSED[name].format(path.parent))
    assert "unheard-of" not in str(error.value)
    assert before == {one.name: one.read_bytes() for one in path.parent.iterdir()}


@pytest.mark.parametrize("name", ["delete", "two", "read_csv", "attach", "nothing", "no SQL"])
def test_a_refused_statement_ends_with_2(unchanged, name):
    """A message on standard error, nothing on standard output."""
    outcome = call("query", REFUSED[name].format(unchanged.parent), "--warehouse", unchanged)
    assert (2, "") == (outcome.code, outcome.out)
    assert outcome.err.startswith("bufferhouse: ")


def test_a_refused_delete_says_what_query_takes(unchanged):
    """The message names what was found and what would be taken, in a process of its own too."""
    outcome = run("query", "delete from raw.dumps", "--warehouse", unchanged)
    message = "bufferhouse: query only reads: expected SELECT, EXPLAIN, DESCRIBE, SUMMARIZE or PIVOT, found DELETE\n"
    assert (2, "", message) == (outcome.code, outcome.out, outcome.err)


@pytest.mark.parametrize(
    ("sql", "row_count"),
    [
        ("SELECT 1 AS one", 1),
        ("select 1 as one;", 1),
        ("FROM raw.runs", 11),
        ("TABLE raw.runs", 11),
        ("VALUES (1), (2)", 2),
        ("WITH r AS (FROM raw.runs) SELECT * FROM r", 11),
        ("DESCRIBE marts.peak_memory", 14),
        ("SUMMARIZE raw.runs", 17),
        ("SHOW TABLES", None),
        ("SHOW ALL TABLES", None),
        ("EXPLAIN SELECT * FROM raw.runs", 1),
        ("EXPLAIN ANALYZE SELECT * FROM raw.runs", 1),
        ("PIVOT raw.dumps ON file_layout IN ('combined', 'split') USING COUNT(*) GROUP BY text_encoding", 1),
        ("PIVOT raw.dumps ON file_layout USING COUNT(*) GROUP BY text_encoding", 1),
        ("PRAGMA table_info('raw.runs')", 17),
        ("SELECT * FROM duckdb_columns() WHERE schema_name = 'raw' AND table_name = 'runs'", 17),
    ],
)
def test_what_only_reads_is_answered(unchanged, sql, row_count):
    """SELECT in all its forms, DESCRIBE, SUMMARIZE, SHOW, EXPLAIN and both forms of PIVOT."""
    found = asked(unchanged, sql)
    assert row_count in (None, len(found))


@pytest.mark.parametrize(
    ("sql", "hint"),
    [
        ("SELECT dump FROM raw.dumps", 'Referenced column "dump" not found'),
        ("SELECT * FROM raw.dump", "Did you mean"),
        ("SELECT * FRO raw.dumps", 'syntax error at or near "raw"'),
        ("SELECT 1/", "syntax error at end of input"),
        ("SELECT CAST('x' AS BIGINT)", "Could not convert string 'x' to INT64"),
        ("SELECT error('No snapshot found at version 3')", "No snapshot found at version 3"),
    ],
)
def test_a_mistake_in_the_sql_is_shown_as_duckdb_shows_it(unchanged, sql, hint):
    """Exit 2 with the message that says what is wrong and often what was meant, no traceback."""
    outcome = call("query", sql, "--warehouse", unchanged)
    assert (2, "") == (outcome.code, outcome.out)
    assert hint in outcome.err
    assert "Traceback" not in outcome.err


EVERY_KIND = """
    SELECT 1 AS one, NULL AS nothing, 1.5 AS fraction, true AS yes, 'a|b,"c"' AS words,
        TIMESTAMPTZ '2026-01-31 12:00:00+02' AS moment, [1, NULL] AS list, 'x'::BLOB AS bytes
"""


def test_formats(example_warehouse):
    """One statement as a table, CSV, JSON and Markdown; moments are UTC."""
    words = ["query", EVERY_KIND, "--warehouse", example_warehouse, "--format"]
    out = {form: call(*words, form).out for form in ("table", "csv", "json", "markdown")}
    assert [
        {
            "one": 1, "nothing": None, "fraction": "1.5", "yes": True, "words": 'a|b,"c"',
            "moment": "2026-01-31T10:00:00+00:00", "list": [1, None], "bytes": "78",
        }
    ] == json.loads(out["json"])  # fmt: skip
    header, row = csv.reader(io.StringIO(out["csv"]))
    assert ["1", "", "1.5", "true", 'a|b,"c"', "2026-01-31 10:00:00"] == row[:6]
    assert header == list(json.loads(out["json"])[0])
    assert out["markdown"].startswith("| one | nothing | fraction | yes | words | moment | list | bytes |\n| --- |")
    assert 'a\\|b,"c"' in out["markdown"]
    assert 3 == len(out["table"].splitlines())


_BESIDE = {"d": "1 month", "e": "0001-01-01"}


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT age(DATE '2020-03-01', DATE '2020-01-31') AS a, 1 AS a", [{"a": "1 month 1 day", "a_1": 1}]),
        ("SELECT [INTERVAL '-1 hour', NULL] AS a, 'x'::ENUM ('x') AS b; -- ;", [{"a": ["-01:00:00", None], "b": "x"}]),
        ("SELECT {'x': INTERVAL 1 MONTH} AS a -- c", [{"a": {"x": "1 month"}}]),
        (
            "FROM range(3) SELECT INTERVAL (range) YEAR AS a ORDER BY a DESC LIMIT 2",
            [{"a": "2 years"}, {"a": "1 year"}],
        ),
        (
            "PIVOT (SELECT 1 AS id, 'k' AS key, INTERVAL 1 MONTH AS one) ON key USING max(one);",
            [{"id": 1, "k": "1 month"}],
        ),
        ("SELECT 'INTERVAL' AS a, NULL::INTERVAL AS b", [{"a": "INTERVAL", "b": None}]),
        (
            "SELECT make_timestamp_ns(1700000000123456789) AS a, [TIME_NS '10:00:00.123456789'] AS b",
            [{"a": "2023-11-14 22:13:20.123456789", "b": ["10:00:00.123456789"]}],
        ),
        (
            "SELECT 'INTERVAL'::ENUM('INTERVAL') AS a, {'TIME_NS': 1} AS b, INTERVAL 1 MONTH AS c",
            [{"a": "INTERVAL", "b": {"TIME_NS": 1}, "c": "1 month"}],
        ),
        (
            "FROM (VALUES ('2026-01-02 03:04:05'), ('infinity'), ('-infinity')) AS v(t) SELECT t::TIMESTAMPTZ AS a, "
            "[t::DATE] AS b, {'x': t::TIMESTAMP_S} AS c, INTERVAL 1 MONTH AS d, '0001-01-01'::DATE AS e",
            [
                {"a": "2026-01-02 03:04:05+00", "b": ["2026-01-02"], "c": {"x": "2026-01-02 03:04:05"}, **_BESIDE},
                {"a": "infinity", "b": ["infinity"], "c": {"x": "infinity"}, **_BESIDE},
                {"a": "-infinity", "b": ["-infinity"], "c": {"x": "-infinity"}, **_BESIDE},
            ],
        ),
        ("SELECT TIMESTAMP '9999-12-31' AS a", [{"a": "9999-12-31T00:00:00"}]),
    ],
)
def test_what_python_cannot_hold_is_as_duckdb_writes_it(example_warehouse, sql, expected):
    """A month is no 30 days, an hour less is no day less and 23 hours, no digit is cut, what is infinite is in no year.

    Rows keep their order.
    """
    outcome = call("query", sql, "--warehouse", example_warehouse, "--format", "json")
    assert (expected, "") == (json.loads(outcome.out), outcome.err)


def test_output_goes_to_a_file(example_warehouse, tmp_path):
    """-o writes what would be printed, and prints nothing."""
    words = ["query", "SELECT 1 AS one", "--warehouse", example_warehouse, "--format", "csv"]
    outcome = call(*words, "-o", tmp_path / "one.csv")
    assert (0, "", call(*words).out) == (outcome.code, outcome.out, (tmp_path / "one.csv").read_text())


def test_a_statement_from_a_file(example_warehouse, tmp_path):
    """-f reads the statement; a file that is not there, both and neither are a wrong call."""
    (tmp_path / "one.sql").write_text("-- One.\nSELECT 1 AS one;\n")
    words = ["query", "--warehouse", example_warehouse]
    assert "one\n---\n  1\n" == call(*words, "-f", tmp_path / "one.sql").out
    assert "one\n---\n  2\n" == call(*words, "-f", "-", stdin="SELECT 2 AS one").out
    assert 2 == call(*words, "-f", tmp_path / "none.sql").code
    assert 2 == call(*words, "SELECT 1", "-f", tmp_path / "one.sql").code
    assert 2 == call(*words).code


def test_formats_that_do_not_exist_are_a_wrong_call(example_warehouse):
    """The message lists those that do."""
    outcome = call("query", "SELECT 1", "--warehouse", example_warehouse, "--format", "xml")
    assert 2 == outcome.code
    assert "--format: expected" in outcome.err
    assert "markdown" in outcome.err


# What could change dumps in memory; all other statements are refused above, before they come to a warehouse.
@pytest.mark.parametrize("name", ["delete", "create", "temporary", "copy in", "transaction", "two", "explained delete"])
def test_what_does_not_only_read_is_refused_in_memory_too(small_door, tmp_path, name):
    """Dumps in memory could be written to: the transaction cannot. Nothing wedges the door for the next statement."""
    (tmp_path / "in.csv").write_text("unheard-of\n1\n")
    before = small_door.ask("SELECT COUNT(*) FROM raw.dumps").rows
    with pytest.raises(UsageError):
        small_door.ask(REFUSED[name].format(tmp_path))
    assert before == small_door.ask("SELECT COUNT(*) FROM raw.dumps").rows
    assert ["in.csv"] == [path.name for path in tmp_path.iterdir()]


@pytest.fixture(scope="module")
def small_door(fleet):
    """A door to the seeds, read into memory."""
    with in_memory([str(fleet / "seeds")]) as con, door(con) as opened:
        yield opened


def test_an_answer_that_nobody_fetches_yet_has_room(small_door, example_warehouse):
    """DuckDB 1.5.5 waits for ever where 1 MB of a UNION ALL of joins is there before its last branch begins."""
    asked = "SELECT current_setting('streaming_buffer_size')"
    assert [("256.0 MiB",)] == small_door.con.execute(asked).fetchall()
    with bufferhouse.connect(example_warehouse) as con:
        assert [("61.0 MiB",)] == con.sql(asked).fetchall()
