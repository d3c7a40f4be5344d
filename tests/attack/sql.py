"""Statements that do more than read, at every door: none is answered; without the first wall, none writes.

The first wall judges a statement before it runs (`query.guard`). The second is what the connection cannot do.
"""

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from bufferhouse.commands.ingest_run import run_ingest
from bufferhouse.engine.limits import MIB, Limits
from bufferhouse.errors import UsageError
from bufferhouse.ingest.in_memory import in_memory
from bufferhouse.query.cookbook import question
from bufferhouse.query.door import Door, door
from bufferhouse.query.guard import judged, known_functions, other_databases
from bufferhouse.query.output import answer
from bufferhouse.query.shell import Shell, apart
from bufferhouse.warehouse.address import ROOT, address_of
from bufferhouse.warehouse.lake.attach import LAKE
from bufferhouse.warehouse.lake.build import build_lake
from bufferhouse.warehouse.lake.reader import bound_password
from bufferhouse.warehouse.open import reading, writing
from tests.attack.counts import Count
from tests.command_line import CHECKOUT
from tests.models.small_models import OBSERVATIONS, write_models
from tests.servers.lake_servers import Bucket
from tests.servers.postgres import Postgres, postgres_folder
from tests.warehouses import load_texts

SEED = next((CHECKOUT / "examples" / "fleet" / "seeds").glob("000*"))
METADATA = "__ducklake_metadata_bufferhouse_lake"
_LIMITS = Limits(seconds=20, memory_bytes=256 * MIB, threads=2, rows=1000)

# By the kind DuckDB calls it; {file} is a file that may be read, {data} a file of the data path, {new} one to be made.
# A kind that no text makes stands here with none.
KINDS: dict[str, list[str]] = {
    "INVALID": ["how much memory?", "SELECT", "", ";", "/* SELECT 1 */", "\0", "SELECT 1\0; DELETE FROM raw.dumps"],
    "SELECT": [
        *("SELECT * FROM '{file}'", "FROM '{data}'", 'FROM "{file}"', "SELECT getenv('PGPASSWORD')"),
        *("FROM duckdb_settings", "FROM pg_settings", "FROM duckdb_databases", "FROM pragma_database_list"),
        *("FROM duckdb_logs", "FROM system.main.duckdb_logs", "FROM pg_catalog.pg_settings", "FROM pg_tablespace"),
        *("FROM memory.main.x", f"SHOW TABLES FROM {METADATA}"),
        *(f"FROM {METADATA}.ducklake_metadata", f"DESCRIBE {METADATA}.ducklake_snapshot"),
        *(f'SUMMARIZE "{METADATA.upper()}".ducklake_table', f"SELECT (FROM {METADATA}.main.ducklake_metadata)"),
        *("FROM (DESCRIBE FROM glob('*'))", "PIVOT (FROM glob('*')) ON file", "UNPIVOT (FROM glob('*')) ON file"),
        *("PIVOT raw.dumps ON query('x')", "PIVOT raw.dumps ON file_layout USING write_log('x')"),
        *("PIVOT raw.dumps ON file_layout USING count(*) GROUP BY \"write_log\"('x')",),
        *("PIVOT raw.dumps ON file_layout USING count(*) GROUP BY write_log /* x */ ('x')",),
        *("PIVOT raw.dumps ON file_layout USING count(*) GROUP BY write_log\u200b('x')",),
        *(f"PIVOT {METADATA}.ducklake_metadata ON key USING count(*)", "PIVOT duckdb_settings ON name USING count(*)"),
        *("SELECT 1; SELECT 2", "SELECT 1;;SELECT 2", "FROM query_table('duckdb_settings')"),
        *("WITH x AS (FROM glob('*')) FROM x", "SELECT (FROM glob('*'))", "SELECT 1 ORDER BY (FROM glob('*'))"),
        *("SELECT 1 LIMIT (SELECT count(*) FROM glob('*'))", "VALUES ((FROM glob('*')))"),
        *("SELECT list_transform([1], lambda x: write_log('x'))", "SELECT [write_log('x') for x in [1]]"),
        *("SELECT 1 WHERE EXISTS (FROM glob('*'))", "SELECT sum(1) FILTER (write_log('x'))"),
        *("SELECT sum(1) OVER (ORDER BY write_log('x'))", "FROM raw.dumps POSITIONAL JOIN glob('*')"),
        *(
            "FROM raw.dumps AS d, LATERAL (FROM glob(d.dump_id))",
            "SELECT 'x'.write_log()",
            "SELECT COLUMNS(query('x'))",
        ),
        *("WITH RECURSIVE t AS (SELECT 1 UNION ALL FROM query('x')) FROM t", "SELECT DISTINCT ON (write_log('x')) 1"),
        *(
            "FROM raw.dumps AT (TIMESTAMP => nextval('x'))",
            "SELECT try(write_log('x'))",
            "SELECT {{'a': write_log('x')}}",
        ),
    ],
    "INSERT": ["INSERT INTO raw.dumps SELECT * FROM raw.dumps", "INSERT INTO duckdb_tables VALUES (1)"],
    "UPDATE": ["UPDATE raw.dumps SET text_bytes = 0", f"UPDATE {METADATA}.ducklake_metadata SET value = 'x'"],
    "CREATE": [
        *("CREATE TABLE raw.x AS SELECT 1", "CREATE TEMP TABLE x AS SELECT 1", "CREATE VIEW x AS SELECT 1"),
        *(
            "CREATE SCHEMA x",
            "CREATE SEQUENCE x",
            "CREATE TYPE x AS ENUM ('a')",
            "CREATE INDEX x ON raw.dumps (dump_id)",
        ),
        *("CREATE TEMP VIEW x AS FROM raw.dumps", "CREATE OR REPLACE TEMP TABLE dumps AS SELECT 1"),
        *("CREATE SECRET (TYPE s3, KEY_ID 'x', SECRET 'y')", "CREATE PERSISTENT SECRET x (TYPE s3)"),
        "CREATE TABLE x AS PIVOT raw.dumps ON file_layout USING COUNT(*)",
    ],
    "DELETE": ["DELETE FROM raw.dumps", "TRUNCATE raw.dumps", f"DELETE FROM {METADATA}.ducklake_data_file"],
    "PREPARE": ["PREPARE p AS DELETE FROM raw.dumps", "PREPARE p AS SELECT 1"],
    "EXECUTE": ["EXECUTE p", "EXECUTE p(1)"],
    "ALTER": ["ALTER TABLE raw.dumps ADD COLUMN x INTEGER", "ALTER TABLE raw.dumps RENAME TO x"],
    "TRANSACTION": ["BEGIN", "COMMIT", "ROLLBACK", "START TRANSACTION", "END"],
    "COPY": [
        *("COPY (SELECT 1) TO '{data}'", "COPY (SELECT 1) TO '{new}'", "COPY raw.dumps TO '{data}' (FORMAT parquet)"),
        *("COPY raw.dumps FROM '{file}'", "COPY (PIVOT raw.dumps ON file_layout) TO '{new}'"),
        f"COPY (SELECT 1) TO '{ROOT}x.csv'",
    ],
    "ANALYZE": ["ANALYZE", "ANALYZE raw.dumps"],
    "VARIABLE_SET": [],
    "CREATE_FUNC": ["CREATE MACRO x() AS 1", "CREATE TEMP MACRO count(x) AS 1", "CREATE MACRO x() AS TABLE SELECT 1"],
    "EXPLAIN": ["EXPLAIN EXPLAIN SELECT 1", "EXPLAIN", "EXPLAIN (FORMAT json) DELETE FROM raw.dumps"],
    "DROP": ["DROP TABLE raw.dumps", "DROP VIEW marts.runs", "DROP SCHEMA raw CASCADE", "DEALLOCATE p"],
    "EXPORT": ["EXPORT DATABASE '{new}'", "EXPORT DATABASE '{data}'"],
    "PRAGMA": [
        *(
            "PRAGMA enable_profiling",
            "PRAGMA database_list",
            "PRAGMA storage_info('raw.dumps')",
            "PRAGMA database_size",
        ),
        *("PRAGMA memory_limit = '100GB'", "PRAGMA import_database('{file}')", "PRAGMA disable_verification"),
        "PRAGMA json_execute_serialized_sql(json_serialize_sql('FROM glob(''x'')'))",
    ],
    "VACUUM": ["VACUUM", "VACUUM raw.dumps"],
    "CALL": [
        *("CALL pragma_version()", "CALL bufferhouse_lake.merge_adjacent_files()", "CALL force_checkpoint()"),
        *("CALL ducklake_expire_snapshots('bufferhouse_lake', older_than => now())", "CALL enable_logging()"),
        f"CALL postgres_execute('{METADATA}', 'DROP TABLE ducklake_table')",
    ],
    "SET": [
        *("SET enable_external_access = true", "SET lock_configuration = false", "RESET lock_configuration"),
        *("SET VARIABLE x = 1", "SET temp_directory = '{new}'", "SET search_path = 'memory'", "USE memory"),
        *("SET GLOBAL threads = 100", "RESET memory_limit", "SET allowed_paths = ['{file}']", "RESET VARIABLE x"),
    ],
    "LOAD": ["LOAD httpfs", "INSTALL httpfs", "FORCE INSTALL httpfs", "LOAD '{file}'", "UPDATE EXTENSIONS"],
    "RELATION": [],
    "EXTENSION": [],
    "LOGICAL_PLAN": [],
    "ATTACH": ["ATTACH '{new}' AS x", "ATTACH ':memory:' AS x", "ATTACH 'https://localhost:1/x' AS x"],
    "DETACH": ["DETACH bufferhouse_lake", "DETACH memory"],
    "MULTI": ["PIVOT raw.dumps ON file_layout; DELETE FROM raw.dumps", "DELETE FROM raw.dumps; SELECT 1"],
    "COPY_DATABASE": ["COPY FROM DATABASE bufferhouse_lake TO memory", "COPY FROM DATABASE memory TO x"],
    "MERGE_INTO": ["MERGE INTO raw.dumps USING raw.runs ON false WHEN NOT MATCHED THEN INSERT VALUES (1)"],
}
# What stands around a statement; a pivot's parts or a SELECT in brackets may not hide it either.
_AROUND = (
    "{}", "EXPLAIN {}", "EXPLAIN ANALYZE {}", "EXPLAIN (ANALYZE, FORMAT json) {}", "explain\u00a0analyze\u3000{}",
    "/* x */ {}", "-- x\n{}", "SELECT 1; {}", "{}; SELECT 1", "PREPARE q AS {}", "({})", "FROM ({})",
    "WITH x AS ({}) FROM x",
)  # fmt: skip
# Functions of extensions, which a clean connection does not list.
_OF_EXTENSIONS = (
    *(
        "postgres_scan",
        "postgres_query",
        "postgres_execute",
        "postgres_attach",
        "postgres_scan_pushdown",
        "pg_clear_cache",
    ),
    *("ducklake_snapshots", "ducklake_table_info", "ducklake_options", "ducklake_settings", "ducklake_list_files"),
    *("ducklake_merge_adjacent_files", "ducklake_expire_snapshots", "ducklake_cleanup_old_files", "table_changes"),
    *("ducklake_delete_orphaned_files", "ducklake_rewrite_data_files", "ducklake_flush_inlined_data", "snapshots"),
    *("ducklake_add_data_files", "ducklake_set_option", "ducklake_set_commit_message", "merge_adjacent_files"),
    *("sqlite_scan", "sql_auto_complete", "load_aws_credentials", "shell_add_schema", "getenv", "postgres_hstore_get"),
)
_CALLS = (
    "FROM {}('x')", "SELECT {}('x')", "SELECT * FROM system.main.\"{}\" ('x')", "FROM {} /* ( */ ('x')",
    "EXPLAIN ANALYZE FROM {}('x')", "CALL {}('x')", "PRAGMA {}('x')", "DESCRIBE FROM {}('x')",
    "PIVOT (FROM {}('x')) ON x", "PIVOT (FROM {}('x')) ON x IN (1)", "SELECT 1 WHERE 1 IN (FROM {}('x'))",
    "SELECT 'x'.{}()", "SELECT {}('x') OVER ()", "SUMMARIZE FROM {}('x')", "FROM bufferhouse_lake.{}('x')",
)  # fmt: skip
_SPACED = ("FROM{0}read_blob{0}('x')", "SELECT write_log{0}('x')", "EXPLAIN{0}ANALYZE{0}FROM query('x')")
_READ_APART = ("SELECT 1; SELECT 2", "SELECT 1;;SELECT 2")  # the shell asks statements one by one, and nothing else
_SAMPLE = 40
_PASSWORD, _KEY = "a-password-of-postgres", "a-key-of-the-bucket"


def code_points() -> list[int]:
    """Return some 12,400 code points, all that Unicode calls white space among them, and what hides as well as they."""
    return [*range(0x80, 0x3100), 0xFE00, 0xFEFF, 0xFFA0, 0xFFFD, *range(0xE0001, 0xE0080, 16), 0x1D173, 0x10FFFF]


def refused_functions() -> list[str]:
    """Return every function of DuckDB that a reader may not call, and those of the extensions of a lake."""
    with duckdb.connect() as con:
        names = con.execute("SELECT DISTINCT function_name FROM duckdb_functions() ORDER BY 1").fetchall()
    known = frozenset.union(*known_functions())
    plain = [name for (name,) in names if name.isidentifier() and not name.startswith("icu_collate")]
    return [name for name in [*plain, *_OF_EXTENSIONS] if name not in known and f"pragma_{name}" not in known]


@dataclass
class Place:
    """A warehouse with one dump, what must stay as it is, and how it is opened."""

    name: str
    opened: Callable[[], object]
    state: Callable[[], object] = lambda: None
    data: str = "/nowhere"
    folder: Path = field(default_factory=Path.cwd)
    has_marts: bool = True

    def statements(self, texts: list[str]) -> list[str]:
        """Return texts with the names of files filled in."""
        names = {"file": SEED, "data": self.data, "new": self.folder / "made"}
        return [text.format(**names) for text in texts]


def attack(is_short: bool) -> Iterator[Count]:
    """Ask at a file, lakes, dumps in memory, the shell and through parameters; yield what each door let through."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name).resolve()
        for place in _places(folder, stack, is_short):
            if not is_short or place.name.startswith("lake"):
                with bound_password(place.opened()), _reading(place) as con:
                    yield _unlocked(place, con)  # before it is locked
            with bound_password(place.opened()), _reading(place) as con, door(con, _LIMITS) as opened:
                before = place.state()
                yield from _judged(place, opened, is_short)
                yield from _asked(place, opened, is_short)
                if not is_short or place.name == "file":
                    yield from _spaced(place, opened, is_short)
                if place.has_marts:
                    yield _parameters(place, opened)
                if place.name != "memory":  # what is in memory belongs to the process, and goes with it
                    yield _second_wall(place, opened, is_short)
                unhurt = Count(f"{place.name}: the warehouse as it was")
                unhurt.attempt("all of it", before == place.state() and not (folder / "made").exists())
                yield unhurt


def hostile() -> list[str]:
    """Return every hostile statement in everything that may stand around it; names of files are not filled in."""
    plain = [text for kind, texts in KINDS.items() if kind != "INVALID" for text in texts]
    return KINDS["INVALID"] + [around.replace("{}", text) for text in plain for around in _AROUND]


def _judged(place: Place, opened: Door, is_short: bool) -> Iterator[Count]:
    others = other_databases(opened.con)
    count = Count(f"{place.name}: statements in everything that may stand around them")
    for sql in place.statements(hostile())[:: 11 if is_short else 1]:
        count.attempt(sql, _is_refused(lambda sql=sql: opened.ask(sql)))
    yield count
    count = Count(f"{place.name}: functions judged")
    calls = [call.format(name) for name in refused_functions() for call in _CALLS]
    for sql in calls[:: 41 if is_short else 1]:
        count.attempt(sql, _is_refused(lambda sql=sql: judged(opened.con, sql, others)))
    yield count


def _asked(place: Place, opened: Door, is_short: bool) -> Iterator[Count]:
    """Ask the statements as they are, at the door and in the shell, and look whether the next one is answered."""
    shell = Shell(opened, lambda text, form: None, lambda text: None)
    plain = place.statements([text for texts in KINDS.values() for text in texts])[:: 5 if is_short else 1]
    count = Count(f"{place.name}: statements asked")
    for sql in plain:
        count.attempt(sql, _is_refused(lambda sql=sql: opened.ask(sql)))
        if not sql.lstrip().startswith(".") and apart(sql) and sql not in _READ_APART:
            count.attempt(f"shell: {sql}", _is_refused(lambda sql=sql: shell.obey(sql)))
    count.attempt("SELECT 1 afterwards", opened.ask("SELECT 1").rows == [(1,)])
    yield count


def _spaced(place: Place, opened: Door, is_short: bool) -> Iterator[Count]:
    others = other_databases(opened.con)
    count = Count(f"{place.name}: code points as white space")
    points = code_points()
    for number in [*points[:: len(points) // _SAMPLE], 0xA0, 0x2003, 0x200B, 0x3000, 0xFEFF] if is_short else points:
        for text in _SPACED:
            sql = text.format(chr(number))
            count.attempt(sql, _is_refused(lambda sql=sql: judged(opened.con, sql, others)))
    yield count


def _parameters(place: Place, opened: Door) -> Count:
    """Give hostile texts as parameters of the cookbook: they are values, whatever stands in them."""
    count = Count(f"{place.name}: parameters of the cookbook")
    asked = question("biggest_at_peak")
    before = answer(opened, asked.sql, asked.values({"program": "no such program"}), "csv", None)
    for text in (
        "x'; DELETE FROM raw.dumps; --",
        "x' OR 1 = 1 --",
        "' || write_log('x') || '",
        "$program",
        "\u200b'",
        "\\'",
    ):
        found = answer(opened, asked.sql, asked.values({"program": text}), "csv", None)
        count.attempt(text, found == before)
    return count


def _second_wall(place: Place, opened: Door, is_short: bool) -> Count:
    """Run what writes without judging it first: nothing changes, as the connection has no way to write."""
    count = Count(f"{place.name}: writes without the first wall")
    texts = [*KINDS["COPY"], *KINDS["EXPORT"], *KINDS["INSERT"], *KINDS["UPDATE"], *KINDS["DELETE"], *KINDS["ATTACH"]]
    texts += [*KINDS["DROP"], *KINDS["ALTER"], *KINDS["MERGE_INTO"], *KINDS["LOAD"], *KINDS["CALL"], *KINDS["SET"]]
    for sql in place.statements([f"{around}{text}" for text in texts for around in ("", "EXPLAIN ANALYZE ")])[
        :: 7 if is_short else 1
    ]:
        before = place.state()
        with suppress(duckdb.Error):
            opened.con.execute(sql)
        with suppress(duckdb.Error):
            opened.con.execute("ROLLBACK")
        count.attempt(sql, before == place.state())
    return count


def _unlocked(place: Place, con: duckdb.DuckDBPyConnection) -> Count:
    """Look for secrets with all the rights of a connection that is not locked yet: there are none in reach."""
    count = Count(f"{place.name}: secrets in reach of SQL")
    asked = ["FROM duckdb_secrets(redact = false)", "FROM duckdb_secrets()", "SELECT getenv('PGPASSWORD')"]
    asked += ["FROM duckdb_databases()", "FROM duckdb_settings()"]
    if place.name.startswith("lake"):
        asked += [f"FROM {METADATA}.ducklake_metadata", "FROM ducklake_options('bufferhouse_lake')"]
    with suppress(duckdb.Error):
        con.execute("SET allow_unredacted_secrets = true")
    for sql in asked:
        try:
            found = repr(con.execute(sql).fetchall())
        except duckdb.Error as error:
            found = str(error)
        count.attempt(sql, not any(secret in found for secret in (_KEY, _PASSWORD)))
    count.attempt("$PGPASSWORD", "PGPASSWORD" not in os.environ or place.name != "lake in PostgreSQL and S3")
    return count


def _is_refused(attempt: Callable[[], object]) -> bool:
    """Return whether an attempt ends in the one error that is a refusal: any other is one that nobody thought of."""
    try:
        attempt()
    except UsageError:
        return True
    except Exception:
        return False
    return False


def _places(folder: Path, stack: ExitStack, is_short: bool) -> Iterator[Place]:
    file = folder / "warehouse.duckdb"
    run_ingest([str(SEED)], file)
    yield Place("file", lambda: file, lambda: _hashed(file), str(file), folder)
    yield Place("memory", lambda: None, folder=folder)
    lake = address_of(f"ducklake:{folder / 'lake.ducklake'}")
    if is_short:  # to make all models of a lake takes seconds; the questions of the cookbook are asked of the others
        with writing(lake, build_models=False) as warehouse:
            build_lake(warehouse, write_models(folder / "models", staging__observations=OBSERVATIONS))
            load_texts(warehouse, [SEED.read_bytes()])
            warehouse.con.execute(f"CALL ducklake_flush_inlined_data('{LAKE}')")  # few rows lie in the catalog
    else:
        run_ingest([str(SEED)], lake)
    data = folder / "lake.ducklake.files"
    of_lake = lambda: (_hashed(folder / "lake.ducklake"), _hashed(*sorted(p for p in data.rglob("*") if p.is_file())))  # noqa: E731
    yield Place("lake in a folder", lambda: lake, of_lake, str(next(data.rglob("*.parquet"))), folder, not is_short)
    if not is_short:
        yield _place_with_servers(folder, stack)


def _place_with_servers(folder: Path, stack: ExitStack) -> Place:
    server = Postgres(stack.enter_context(postgres_folder()) / "postgres", _PASSWORD)
    server.make()
    stack.callback(server.kill)
    bucket = Bucket()
    bucket.start()
    stack.callback(bucket.stop)
    keys = {"AWS_SECRET_ACCESS_KEY": _KEY, "PGPASSWORD": _PASSWORD}
    stack.enter_context(_environment({**bucket.environment, **keys}))
    where = server.make_database()
    lake = address_of(f"ducklake:postgres:{where}").with_data_path("s3://lake/files")
    run_ingest([str(SEED)], lake)
    name = sorted(bucket.names("files/"))[0]
    return Place(
        "lake in PostgreSQL and S3",
        lambda: lake,
        lambda: (bucket.names(""), _rows_of(where)),
        f"s3://lake/files/{name}",
        folder,
    )


def _rows_of(where: str) -> list[tuple]:
    """Return a hash of the rows of each table of a database of PostgreSQL."""
    import psycopg

    with psycopg.connect(where, autocommit=True) as con:
        tables = con.execute("SELECT schemaname, tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 2")
        return [
            (table, *con.execute(f"SELECT md5(string_agg(t::text, ' ' ORDER BY t::text)) FROM {schema}.{table} AS t"))
            for schema, table in tables.fetchall()
        ]


@contextmanager
def _reading(place: Place) -> Iterator[duckdb.DuckDBPyConnection]:
    where = place.opened()
    if where is None:
        with in_memory([str(SEED)]) as con:
            yield con
        return
    with reading(where) as opened:
        con = opened.con
        yield con


@contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(values)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _hashed(*files: Path) -> str:
    return hashlib.sha256(b"".join(path.name.encode() + path.read_bytes() for path in files)).hexdigest()
