"""Names of runs and files that an export has to write: hostile, too long, or the same to a file system.

Held is an export that writes every dump below its folder, each under a name that no other has, whatever the file system
tells apart, and that says which names are not the ones that were read.
"""

import os
import random
import tempfile
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import duckdb
import polars as pl

from bufferhouse.engine.sql import registered
from bufferhouse.warehouse.export import Exported, choose, export
from bufferhouse.warehouse.open import writing
from tests.attack.counts import Count
from tests.synthetic import small_dump
from tests.warehouses import load_texts

_PARTS = [
    *("good", "Good", "GOOD", "good.2", "straße", "STRASSE", "é", "e\u0301", "É", "ﬁ", "fi", "İ", "i̇", "ſ", "s"),
    *(
        "",
        ".",
        "..",
        "...",
        "~",
        "-rf",
        "$(id)",
        "`id`",
        "a\0b",
        "a_b",
        "a\nb",
        "a\x1b[2Jb",
        "\u202e",
        "con",
        "nul",
        "a\\b",
    ),
    *("n" * 255, "n" * 256, "n" * 300, "N" * 300, "é" * 128, "x" * 300 + "-buffer-assignment.txt", "\ufffe", "😀" * 70),
    *("x-buffer-assignment.txt", "x-buffer-assignment.txt.gz", "X-buffer-assignment.txt", "x-buffer-assignment.txt.2"),
]
_PATHS = ["x/../good", "/etc/passwd", "../../x.txt", "/", "//", "a/" * 400 + "b", "d" * 200 + ("/" + "d" * 200) * 30]


def attack(is_short: bool) -> Iterator[Count]:
    """Yield one count: a name for each dump."""
    with tempfile.TemporaryDirectory() as folder:
        yield from _exports(Path(folder), 60 if is_short else 1500, rounds=2 if is_short else 6)


def _exports(folder: Path, dumps: int, rounds: int) -> Iterator[Count]:
    chance = random.Random(20261122)
    count = Count("names of an export")
    with writing(folder / "w.duckdb") as writer:
        load_texts(writer, [small_dump(number) for number in range(dumps)])
        for number in range(rounds):
            ids = _rename(writer.con, chance)
            root = folder / f"{number}" / "out"
            done = export(writer.con, choose(writer.con), root)
            _judge(count, root, ids, done)
    yield count


def _rename(con: duckdb.DuckDBPyConnection, chance: random.Random) -> dict[int, str]:
    """Give every dump another path, no two of them the same; return them by dump."""
    ids = [number for (number,) in con.execute("SELECT dump_id FROM raw.dumps ORDER BY ALL").fetchall()]
    paths: dict[str, None] = dict.fromkeys(_PATHS)
    while len(paths) < len(ids):
        paths["/".join(chance.choice(_PARTS) for _ in range(chance.choice((1, 1, 2, 2, 3, 6))))] = None
    given = dict(zip(ids, chance.sample(list(paths), len(ids)), strict=True))
    table = pl.DataFrame({"dump_id": list(given), "path": list(given.values())})
    with registered(con, "given", table):
        con.execute(
            "UPDATE raw.observations AS o SET relative_path = g.path FROM given AS g WHERE o.dump_id = g.dump_id"
        )
    run = chance.choice(["run", "..", "/", "a/../b", "r" * 300, "r\0n"])
    con.execute("UPDATE raw.runs SET run_name = $run", {"run": run})
    return {dump_id: f"{run}/{path}" for dump_id, path in given.items()}


def _judge(count: Count, root: Path, wanted: dict[int, str], done: Exported) -> None:
    found = [Path(folder, name) for folder, _, names in os.walk(root.parent) for name in names]
    written = {path.relative_to(root).as_posix() for path in found if path.is_relative_to(root)}
    folded = {_folded(name) for name in written}
    count.attempt("a file outside the folder", len(written) == len(found))
    count.attempt(f"{len(wanted)} dumps, {len(folded)} names", len(wanted) == len(folded))
    count.attempt("the same bytes twice, or lost", len(wanted) == len({path.read_bytes() for path in found}))
    said = dict(done.renamed)
    for path in wanted.values():
        plain = path.removesuffix(".gz")
        count.attempt(path, (said.get(plain) or plain) in written)


def _folded(name: str) -> str:
    """Return a name as the most careless file system sees it."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
