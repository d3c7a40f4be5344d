"""A poisoned file stops itself alone, at whatever step it shows: it is named, the others are loaded, and nothing ends.

A fault is put where a step looks at one file: `ValueError` stands for what nobody has thought of.
"""

import gzip
import os
import pkgutil
from collections.abc import Callable
from pathlib import Path

import pytest

from bufferhouse.dump.instruction_text import unescaped
from bufferhouse.ingest import beside
from bufferhouse.warehouse import load
from tests.command_line import call
from tests.ingests import ingest, name_of, write_dumps
from tests.synthetic import Slot, dump_text, small_dump
from tests.warehouses import rows

ODD = 3  # the number of the poisoned dump
POISON = b"v1 = u8[%d]" % (8 + ODD)


def poisoned(function: Callable, is_odd: Callable[..., bool]) -> Callable:
    """Return a function that fails on what is odd."""

    def fails(*arguments: object, **options: object) -> object:
        if is_odd(*arguments):
            raise ValueError("poison \udcff")
        return function(*arguments, **options)

    return fails


def of_path(*arguments: object) -> bool:
    return any(name_of(ODD) in str(getattr(one, "path", one)) for one in arguments)


def of_bytes(files: object, *_: object) -> bool:
    return POISON in (files if isinstance(files, bytes) else b"".join(files.values()))


def of_texts(texts: list[str], *_: object) -> bool:
    return any(POISON.decode() in text for text in texts)


def of_columns(dump: object, *_: object) -> bool:
    return f"u8[{8 + ODD}]{{0}}" in dump.values.shape


def of_batch(batch: object, *_: object) -> bool:
    return f"u8[{8 + ODD}]{{0}}" in batch.frames["shapes"]["shape_text"]


def of_sightings(_: object, sightings: list, *__: object) -> bool:
    return any(name_of(ODD) in sighting.relative_path for sighting in sightings)


# Where, what, of which arguments, and what comes of it: the rule of a reject, or None for a file that is unreadable.
STEPS = {
    "looked at": ("bufferhouse.sources.discover._is_candidate", of_path, None),
    "given to a run": ("bufferhouse.sources.run.Places.of", lambda _, entry: of_path(entry), None),
    "read": ("bufferhouse.sources.directory._content", of_path, None),
    "decompressed": ("bufferhouse.sources.compression.opened", of_path, None),
    "hashed": ("bufferhouse.ingest.read.content_of", of_bytes, None),
    "scanned": ("bufferhouse.tabulate.scanned.Scanned.take", lambda _, __, files: of_bytes(files), "read in Python"),
    "parsed": ("bufferhouse.tabulate.contents.parse", of_bytes, "reader"),
    "taken into a batch": (
        "bufferhouse.tabulate.tabulator.Tabulator.add",
        lambda _, dump, *__: of_columns(dump),
        "internal:tabulate",
    ),
    "tabulated": ("bufferhouse.tabulate.tabulator.read", of_texts, "internal:tabulate"),
    "held to its contracts": ("bufferhouse.warehouse.load.breaches", of_batch, "internal:model"),
    "noted": ("bufferhouse.warehouse.load.observe", of_sightings, None),
}
IN_PYTHON = ("parsed", "taken into a batch", "tabulated")  # steps that the native reader leaves out
# Steps beside them, in the same part, stay: `given to a run`, `read`, `tabulated`.
SOAK = ("looked at", "decompressed", "taken into a batch")


@pytest.mark.parametrize("step", [pytest.param(one, marks=[pytest.mark.soak] if one in SOAK else []) for one in STEPS])
def test_a_fault_at_any_step_stops_one_file(warehouse, tmp_path, monkeypatch, step):
    """It is a reject that keeps the bytes, or unreadable; the rest is loaded, and later the file too, if it can be."""
    paths = write_dumps(tmp_path / "run", range(4))
    if step in ("looked at", "decompressed"):
        paths[ODD] = paths[ODD].rename(f"{paths[ODD]}.gz")
        paths[ODD].write_bytes(gzip.compress(small_dump(ODD)))
    where, is_odd, rule = STEPS[step]
    with monkeypatch.context() as patch:
        if step in IN_PYTHON:
            patch.setenv("BUFFERHOUSE_NATIVE", "0")
        patch.setattr(where, poisoned(pkgutil.resolve_name(where), is_odd))
        code, summary = ingest(warehouse, tmp_path / "run")
    if rule == "read in Python":
        assert (0, 4) == (code, summary["new"])
        return
    assert (1, 3) == (code, summary["new"])
    if rule is None:
        [line] = summary["unreadable"]
        assert f"{paths[ODD]}: ValueError: poison \\udcff" == line
        again = ingest(warehouse, tmp_path / "run")
    else:
        assert (1, []) == (summary["rejected"], summary["unreadable"])
        [found] = rows(warehouse, "SELECT relative_path, rule, found FROM raw.rejects")
        assert (paths[ODD].name, rule, "ValueError: poison \\udcff") == found
        assert 0 == call("rejects", "replay", "--all", "--warehouse", warehouse).code
        again = ingest(warehouse, tmp_path / "run")
    assert 0 == again[0]
    assert [(4,)] == rows(warehouse, "SELECT COUNT(*) FROM raw.dumps")
    assert [(4,)] == rows(warehouse, "SELECT COUNT(DISTINCT dump_id) FROM intermediate.peaks")


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
