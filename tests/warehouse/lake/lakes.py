"""Lakes for tests: in a folder, with a catalog that is a file; and copies of those in PostgreSQL."""

import shutil
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest

from bufferhouse.warehouse.address import LakeAddress, address_of
from bufferhouse.warehouse.lake.attach import LAKE
from bufferhouse.warehouse.open import reading
from tests.servers.postgres import Postgres

if TYPE_CHECKING:
    from tests.servers.lake_servers import Bucket

EXTENSIONS = ("ducklake", "postgres_scanner", "httpfs")
_IS_INSTALLED = all(find_spec(f"duckdb_extension_{name}") for name in EXTENSIONS)
needs_lake = pytest.mark.skipif(not _IS_INSTALLED, reason="the extra lake is not installed")


def lake_in(folder: Path) -> LakeAddress:
    """The address of a lake whose catalog and files are in a folder."""
    return address_of(f"ducklake:{folder / 'lake.ducklake'}")


def moved(folder: Path, target: Path) -> LakeAddress:
    """A copy of the lake in a folder: to make a new one takes seconds."""
    shutil.copytree(folder, target)
    address = lake_in(target)
    with duckdb.connect(address.catalog) as con:
        con.execute(
            "UPDATE ducklake_metadata SET value = ? WHERE key = 'data_path'", [f"{Path(address.catalog)}.files/"]
        )
    return address


def copied(server: Postgres, lake: LakeAddress, files: Path) -> LakeAddress:
    """A copy of a lake in PostgreSQL that nobody has open, with its files in a folder of its own."""
    shutil.copytree(lake.data_path, files)
    return catalog_copied(server, lake, str(files))


def catalog_copied(server: Postgres, lake: LakeAddress, data_path: str) -> LakeAddress:
    """A copy of the catalog alone, which looks for its files elsewhere."""
    import psycopg

    address = address_of(f"ducklake:postgres:{server.make_database(lake.connection_string)}").with_data_path(data_path)
    with psycopg.connect(address.connection_string) as con:
        con.execute("UPDATE ducklake_metadata SET value = %s WHERE key = 'data_path'", [address.data_path])
    return address


def copied_to_bucket(server: Postgres, bucket: "Bucket", lake: LakeAddress, prefix: str) -> LakeAddress:
    """A copy of a lake in PostgreSQL that nobody has open, with its files below a prefix in a bucket."""
    files = Path(lake.data_path)
    for path in filter(Path.is_file, files.rglob("*")):
        bucket.put(f"{prefix}/{path.relative_to(files)}", path.read_bytes())
    return catalog_copied(server, lake, f"s3://lake/{prefix}")


@contextmanager
def asked(address: LakeAddress):
    """A connection that reads the newest snapshot."""
    with reading(address) as opened:
        yield opened.con


def answer(address: LakeAddress, sql: str) -> list[tuple]:
    """What a lake answers."""
    with asked(address) as con:
        return con.execute(sql).fetchall()


def file_count(con: duckdb.DuckDBPyConnection) -> int:
    """How many files the tables of a lake have."""
    counts = f"FROM ducklake_table_info('{LAKE}') SELECT CAST(SUM(file_count + delete_file_count) AS BIGINT)"
    return con.execute(counts).fetchone()[0]


def snapshot_count(con: duckdb.DuckDBPyConnection) -> int:
    """How many snapshots of a lake can be read."""
    return con.execute(f"SELECT COUNT(*) FROM ducklake_snapshots('{LAKE}')").fetchone()[0]


def stored_models(con: duckdb.DuckDBPyConnection) -> dict[str, list[tuple]]:
    """The rows of the models that are stored, without the numbers of shapes, which each warehouse gives anew."""
    found = {}
    for (name,) in con.execute("SELECT model_name FROM meta.models WHERE is_incremental ORDER BY 1").fetchall():
        columns = [column[0] for column in con.execute(f"SELECT * FROM {name} LIMIT 0").description]
        told = ", ".join(column for column in columns if not column.endswith("shape_id"))
        found[name] = con.execute(f"SELECT {told} FROM {name} ORDER BY ALL").fetchall()
    return found
