"""A poisoned file stops itself alone, at whatever step it shows: it is named, the others are loaded, and nothing ends.

A fault is put where a step looks at one file: `ValueError` stands for what nobody has thought of.
"""

import gzip
import os
import pkgutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from bufferhouse.dump.instruction_text import unescaped
from bufferhouse.ingest import beside
from bufferhouse.warehouse import load
from tests.command_line import call
from tests.ingests import ingest, name_of, write_dumps
from tests.synthetic import Slot, dump_text, small_dump
from tests.warehouses import asked, rows


def poisoned(function: Callable, is_odd: Callable[..., bool]) -> Callable:
    """Return a function that fails on what is odd."""

    def fails(*arguments: object, **options: object) -> object:
        if is_odd(*arguments):
            raise ValueError("poison \udcff")
        return function(*arguments, **options)

    return fails


# Whether the arguments of a step are about the dump of a number.


def of_path(number: int, *arguments: object) -> bool:
    return any(name_of(number) in str(getattr(one, "path", one)) for one in arguments)


def of_place(number: int, _: object, entry: object, *__: object) -> bool:
    return of_path(number, entry)


def of_bytes(number: int, files: object, *_: object) -> bool:
    return b"v1 = u8[%d]" % (8 + number) in (files if isinstance(files, bytes) else b"".join(files.values()))


def of_scanned(number: int, _: object, __: object, files: object) -> bool:
    return of_bytes(number, files)


def of_texts(number: int, texts: list[str], *_: object) -> bool:
    return any(f"v1 = u8[{8 + number}]" in text for text in texts)


def of_columns(number: int, _: object, dump: object, *__: object) -> bool:
    return f"u8[{8 + number}]{{0}}" in dump.values.shape


def of_batch(number: int, batch: object, *_: object) -> bool:
    return f"u8[{8 + number}]{{0}}" in batch.frames["shapes"]["shape_text"]


def of_sightings(number: int, _: object, sightings: list, *__: object) -> bool:
    return any(name_of(number) in sighting.relative_path for sighting in sightings)


# Where, of which arguments, and what comes of it: the rule of a reject, or None for a file that is unreadable.
COMPRESSED = {
    "bufferhouse.sources.discover._Finding._is_candidate": (of_place, None),
    "bufferhouse.sources.compression.opened": (of_path, None),
}
STEPS = {
    **COMPRESSED,
    "bufferhouse.sources.run.Places.of": (of_place, None),
    "bufferhouse.sources.directory._content": (of_path, None),
    "bufferhouse.ingest.read.content_of": (of_bytes, None),
    "bufferhouse.tabulate.scanned.Scanned.take": (of_scanned, "read in Python"),
    "bufferhouse.warehouse.load.observe": (of_sightings, None),
}
# Steps of the reader in Python, which the native one leaves out, and one behind both.
STEPS_IN_PYTHON = {
    "bufferhouse.tabulate.contents.parse": (of_bytes, "reader"),
    "bufferhouse.tabulate.tabulator.Tabulator.add": (of_columns, "internal:tabulate"),
    "bufferhouse.tabulate.tabulator.read": (of_texts, "internal:tabulate"),
    "bufferhouse.warehouse.load.breaches": (of_batch, "internal:model"),
}


@pytest.mark.parametrize(("native", "steps"), [("1", STEPS), ("0", STEPS_IN_PYTHON)], ids=["native", "in Python"])
def test_a_fault_at_any_step_stops_one_file(warehouse, tmp_path, monkeypatch, native, steps):
    """It is a reject that keeps the bytes, or unreadable; the rest is loaded, and later the file too, if it can be.

    Each step has a dump of its own that it fails on; one dump is whole.
    """
    paths = write_dumps(tmp_path / "run", range(len(steps) + 1))
    unreadable, rejects = [], []
    with monkeypatch.context() as patch:
        patch.setenv("BUFFERHOUSE_NATIVE", native)
        for number, (where, (is_odd, rule)) in enumerate(steps.items()):
            if where in COMPRESSED:
                paths[number] = paths[number].rename(f"{paths[number]}.gz")
                paths[number].write_bytes(gzip.compress(small_dump(number)))
            patch.setattr(where, poisoned(pkgutil.resolve_name(where), partial(is_odd, number)))
            if rule is None:
                unreadable.append(f"{paths[number]}: ValueError: poison \\udcff")
            elif rule != "read in Python":
                rejects.append((paths[number].name, rule, "ValueError: poison \\udcff"))
        code, summary = ingest(warehouse, tmp_path / "run")
    loaded = len(paths) - len(unreadable) - len(rejects)
    assert (1, loaded, len(rejects)) == (code, summary["new"], summary["rejected"])
    assert unreadable == sorted(summary["unreadable"])
    assert rejects == rows(warehouse, "SELECT relative_path, rule, found FROM raw.rejects ORDER BY relative_path")
    assert 0 == call("rejects", "replay", "--all", "--warehouse", warehouse).code
    assert 0 == ingest(warehouse, tmp_path / "run")[0]
    with asked(warehouse) as con:
        for table in ("raw.dumps", "intermediate.peaks"):
            assert (len(paths),) == con.execute(f"SELECT COUNT(DISTINCT dump_id) FROM {table}").fetchone()


def test_a_fault_that_every_dump_shows_is_the_fault_of_no_dump(warehouse, tmp_path, monkeypatch):
    """The error ends the ingest, nothing is refused, and the repaired program loads all of them."""
    write_dumps(tmp_path / "run", range(4))
    with monkeypatch.context() as patch:
        patch.setattr(load, "breaches", poisoned(load.breaches, lambda _: True))
        with pytest.raises(ValueError, match="poison"):
            ingest(warehouse, tmp_path / "run")
    assert [(0, 0)] == rows(warehouse, "SELECT (SELECT COUNT(*) FROM raw.dumps), (SELECT COUNT(*) FROM raw.rejects)")
    code, summary = ingest(warehouse, tmp_path / "run")
    assert (0, 4) == (code, summary["new"])


def test_a_head_of_a_module_text_stops_its_own_lines(warehouse, tmp_path, monkeypatch):
    """The dump is loaded without source lines, with a warning."""
    paths = write_dumps(tmp_path / "run", range(3))
    text = paths[1].with_name(paths[1].name.replace("-buffer-assignment", ""))
    text.write_text("HloModule f\n\nENTRY main {\n")
    monkeypatch.setattr(beside, "read_stack_frames", poisoned(beside.read_stack_frames, lambda _: True))
    code, summary = ingest(warehouse, tmp_path / "run")
    assert (0, 3, 1) == (code, summary["new"], summary["warnings"]["stack_frames_readable"])


def test_a_time_beyond_the_calendar_is_the_last_one(warehouse, tmp_path):
    """A file of the year 2300 is loaded, known from then on, and read again when its size changes."""
    paths = write_dumps(tmp_path / "run", range(3))
    os.utime(paths[1], (10_413_792_000, 10_413_792_000))
    for expected in ((0, 3, 0), (0, 0, 3)):
        code, summary = ingest(warehouse, tmp_path / "run")
        assert expected == (code, summary["new"], summary["known"])
    assert [(2**63 - 1,)] == rows(warehouse, "SELECT MAX(source_mtime_ns) FROM raw.observations")


def test_an_op_name_with_any_escape_is_loaded(warehouse, tmp_path):
    """What CEscape does not write stands for itself."""
    escapes = ["\\9", "\\8", "\\777", "\\", "\\000"]
    for path, escape in zip(write_dumps(tmp_path / "run", range(len(escapes))), escapes, strict=True):
        odd = f'custom-call(), metadata={{op_name="a{escape}b"}}\n'.encode()
        path.write_bytes(path.read_bytes().replace(b"custom-call()\n", odd, 1))
    assert 0 == ingest(warehouse, tmp_path / "run")[0]
    asked = (
        "SELECT op_name FROM raw.instruction_texts JOIN raw.observations USING (dump_id)"
        " WHERE op_name IS NOT NULL ORDER BY relative_path"
    )
    assert [(unescaped(f"a{escape}b"),) for escape in escapes] == rows(warehouse, asked)


def test_values_that_share_too_much_are_a_reject(warehouse, tmp_path):
    """With the line of their allocation: the models could not compare them."""

    def shared(count: int) -> bytes:
        return dump_text([Slot(0, count, number, 2 * (count - number)) for number in range(count)])

    (tmp_path / "run").mkdir()
    for number, count in enumerate((40, 600)):
        Path(tmp_path / "run" / name_of(number)).write_bytes(shared(count))
    code, summary = ingest(warehouse, tmp_path / "run")
    assert (1, 1, 1) == (code, summary["new"], summary["rejected"])
    [found] = rows(warehouse, "SELECT rule, line_number, found FROM raw.rejects")
    assert ("overlap", 2) == found[:2]
    assert found[2].endswith(", by 600 values")
