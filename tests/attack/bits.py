"""Bits of a warehouse that turn: in its headers, its metadata, its rows, and beside what a killed writer left.

Held is a warehouse that opens as it was, view by view, comment by comment and row by row; one that is refused; and one
of which `verify` names a dump. Never is another view or another row shown as if nothing had been.
"""

import random
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import duckdb

from bufferhouse.engine.journal import HEADER_BYTES, checkpoint, journal_path
from bufferhouse.errors import UsageError, WarehouseBusy, WarehouseError
from bufferhouse.warehouse.file import BLOCK_SIZE
from bufferhouse.warehouse.open import reading, writing
from bufferhouse.warehouse.verify import chosen_dumps, verify
from schemas import TABLES
from tests.attack.counts import Count
from tests.synthetic import small_dump
from tests.warehouses import load_texts

_REFUSALS = (WarehouseError, WarehouseBusy, UsageError, duckdb.Error)
_CATALOG = (
    "SELECT schema_name, view_name, sql, comment FROM duckdb_views() WHERE NOT internal ORDER BY ALL",
    "SELECT schema_name, table_name, sql, comment FROM duckdb_tables() ORDER BY ALL",
    "SELECT schema_name, table_name, column_name, data_type, comment FROM duckdb_columns() WHERE NOT internal"
    " ORDER BY ALL",
)


def attack(is_short: bool) -> Iterator[Count]:
    """Yield a count of turned bits in a warehouse that was closed, and one in what a killed writer left."""
    chance = random.Random(20261122)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        closed, killed = _warehouses(folder)
        bits = 4 if is_short else 160
        yield _turn("bits of a warehouse", folder, closed, bits, chance)
        yield _turn("bits of a warehouse whose writer was killed in a checkpoint", folder, killed, bits, chance)


def _warehouses(folder: Path) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """Return the files of a warehouse that was closed, and of one whose checkpoint was cut short, by their suffix."""
    path = folder / "w.duckdb"
    with writing(path) as writer:
        load_texts(writer, [small_dump(number) for number in range(30)])
    closed = {"": path.read_bytes()}
    with writing(path) as writer:
        load_texts(writer, [small_dump(number) for number in range(30, 40)])
        log = Path(f"{path}.wal").read_bytes()
        writer.con.execute("SET debug_checkpoint_abort = 'after_free_list_write'")
        with suppress(duckdb.FatalException):
            checkpoint(writer.con)
    killed = {"": path.read_bytes(), ".wal": log, ".journal": journal_path(path).read_bytes()}
    killed[""] = _torn(closed[""], killed[""])
    return closed, killed


def _torn(before: bytes, after: bytes) -> bytes:
    """Return a file of whose blocks that were overwritten the second half did not come."""
    torn = bytearray(after)
    for place in range(HEADER_BYTES, len(before) - BLOCK_SIZE, BLOCK_SIZE):
        torn[place + BLOCK_SIZE // 2 : place + BLOCK_SIZE] = before[place + BLOCK_SIZE // 2 : place + BLOCK_SIZE]
    return bytes(torn)


def _turn(name: str, folder: Path, files: dict[str, bytes], bits: int, chance: random.Random) -> Count:
    count = Count(name)
    path = folder / "w.duckdb"
    _lay(path, files)
    whole = _seen(path)
    assert whole is not None, "the warehouse is refused before a bit was turned"
    for number in range(bits):
        # The headers are a hundredth of the file, and decide most.
        end = HEADER_BYTES if number % 4 == 0 else len(files[""])
        place, bit = chance.randrange(end), chance.randrange(8)
        turned = bytearray(files[""])
        turned[place] ^= 1 << bit
        _lay(path, {**files, "": bytes(turned)})
        count.attempt(f"bit {bit} of byte {place}", _is_held(path, whole))
    return count


def _lay(path: Path, files: dict[str, bytes]) -> None:
    for file in path.parent.glob(f"{path.name}*"):
        file.unlink()
    for suffix, content in files.items():
        Path(f"{path}{suffix}").write_bytes(content)


def _is_held(path: Path, whole: list) -> bool:
    try:
        if (seen := _seen(path)) == whole:
            return True
        if seen[: len(_CATALOG)] != whole[: len(_CATALOG)]:
            return False
        with reading(path) as opened:
            con = opened.con
            return bool(verify(con, chosen_dumps(con)))
    except _REFUSALS:
        return True


def _seen(path: Path) -> list:
    """Return all that a reader is shown: what the catalog says, and a hash of the rows of each table."""
    with reading(path) as opened:
        con = opened.con
        told = [con.execute(sql).fetchall() for sql in _CATALOG]
        for table in TABLES:
            told.append(con.execute(f"SELECT COUNT(*), bit_xor(hash(t)) FROM raw.{table} AS t").fetchall())
        models = con.execute("SELECT model_name FROM meta.models WHERE is_incremental ORDER BY ALL").fetchall()
        for (model,) in models:
            told.append(con.execute(f"SELECT COUNT(*), bit_xor(hash(t)) FROM {model} AS t").fetchall())
        return told
