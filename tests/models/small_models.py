"""Four small models for tests: one of each layer, and an incremental one; and how to write them to a directory."""

from pathlib import Path

import duckdb

from bufferhouse.paths import MODELS

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
OBSERVATIONS = (MODELS / "staging" / "observations.sql").read_text()  # what loads ask
ALL = {
    "staging/contents": STAGING, "intermediate/sizes": SIZES, "marts/sizes_v1": MART, "checks/not_empty": CHECK,
}  # fmt: skip


def write_models(directory: Path, **changed: str | None) -> Path:
    """Write the models with some changed, given as layer__name; None removes one. Return their directory."""
    for name, sql in {**ALL, **{name.replace("__", "/"): sql for name, sql in changed.items()}}.items():
        path = directory / f"{name}.sql"
        path.parent.mkdir(parents=True, exist_ok=True)
        if sql is None:
            path.unlink(missing_ok=True)
        else:
            path.write_text(sql)
    return directory


def outdate(con: duckdb.DuckDBPyConnection, which: str = "is_incremental") -> int:
    """Let the models of a warehouse that a condition names be of an older version; return how many there are."""
    [(count,)] = con.execute(f"UPDATE meta.models SET fingerprint = 'older' WHERE {which}").fetchall()
    con.execute("UPDATE meta.settings SET value = 'older' WHERE name = 'models'")
    return count


def add_dump(con, dump_id: int, text_bytes: int = 100) -> None:
    columns = {row[0]: row[1] for row in con.execute("DESCRIBE raw.dumps").fetchall()}
    values = {"BIGINT": "0", "VARCHAR": "''", "BOOLEAN": "FALSE"}
    cells = {**{name: values[kind] for name, kind in columns.items()}, "dump_id": dump_id, "text_bytes": text_bytes}
    con.execute(f"INSERT INTO raw.dumps SELECT {', '.join(map(str, cells.values()))}")
