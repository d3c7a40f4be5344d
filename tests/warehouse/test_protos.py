"""Protos in the warehouse: beside a text and in its place, compared, stored once, exported, proved, refused."""

import gzip
import os
import shutil
from pathlib import Path

import pytest

from tests.command_line import CHECKOUT, call
from tests.ingests import ingest
from tests.warehouses import asked, rows, unproved

DATA = CHECKOUT / "tests" / "data" / "protos"
TPU = "tpu-v5e-libtpu-0.0.33"
ROWS = """
    SELECT r.run_name, {columns} FROM raw.{table} AS t JOIN staging.observations AS o USING (dump_id)
    JOIN raw.runs AS r USING (run_id) WHERE r.run_name LIKE '{run}' ORDER BY ALL
"""
SLOTS = "t.value_id, t.allocation_index, t.offset_bytes, t.size_bytes, t.shape_id, t.memory_space, t.is_phi"


@pytest.fixture
def folder(tmp_path) -> Path:
    """Three runs with texts and protos."""
    return Path(shutil.copytree(DATA, tmp_path / "dumps"))


def proto_in(folder: Path) -> Path:
    return next(folder.glob("*.hlo.pb"))


def without_texts(folder: Path) -> None:
    for path in folder.rglob("*.txt"):
        path.unlink()


def later(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    os.utime(path, ns=(path.stat().st_mtime_ns + 5 * 10**9,) * 2)


def test_a_proto_beside_a_text_gives_traces_alias_sets_and_the_peak(warehouse, folder):
    """Nothing is ignored, equal ones are stored once, nothing is read twice; the peak is that of memory_analysis()."""
    shutil.copytree(folder / TPU, folder / "again")
    code, summary = ingest(warehouse, folder)
    assert (0, 4, 3, 0) == (code, summary["seen"], summary["new"], summary["ignored"])
    found = "SELECT COUNT(heap_events_id), COUNT(DISTINCT heap_events_id), COUNT(DISTINCT alias_sets_id)"
    assert [(4, 3, 3)] == rows(warehouse, f"{found} FROM staging.observations")
    code, summary = ingest(warehouse, folder)
    assert (0, 4, {}) == (code, summary["known"], {name: n for name, n in summary["rows"].items() if n})
    call("runs", "set", TPU, "compiler=libtpu", "compiler_version=0.0.33", "platform=tpu", "--warehouse", warehouse)
    peak = f"SELECT peak_bytes, peak_rule FROM marts.official_figures_v2 WHERE run_name = '{TPU}'"
    assert [(135680, "static_and_replay")] == rows(warehouse, peak)
    assert [] == rows(warehouse, "SELECT * FROM marts.warnings_v3")
    assert [] == unproved(warehouse)


def test_a_proto_alone_is_a_dump(warehouse, folder):
    """With the allocations, slots, peak and source lines of the text, live ranges null; exported byte for byte."""
    bare = Path(shutil.copytree(folder, folder.parent / "bare" / "alone"))
    without_texts(bare)
    later(bare / TPU / "x", b"")
    (bare / TPU / "x").unlink()
    packed = proto_in(bare / TPU)
    original = packed.read_bytes()
    packed.with_name(packed.name + ".gz").write_bytes(gzip.compress(original))
    packed.unlink()
    ingest(warehouse, folder / TPU, "--run", "text")
    code, summary = ingest(warehouse, bare / TPU, "--run", "proto")
    assert (0, 1, 0) == (code, summary["new"], summary["ignored"])
    same = "SELECT COUNT(DISTINCT program_id), COUNT(DISTINCT heap_events_id), COUNT(*) FROM staging.observations"
    states = "SELECT file_layout, live_range_state FROM raw.dumps WHERE file_layout = 'proto'"
    reserved = "SELECT COUNT(DISTINCT reserved_bytes) FROM marts.peak_memory WHERE memory_space = 0"
    with asked(warehouse) as con:
        for table, columns in (("hlo_values", SLOTS), ("allocations", "t.* EXCLUDE (dump_id)")):
            one, other = (
                con.execute(ROWS.format(table=table, columns=columns, run=run)).fetchall() for run in ("text", "proto")
            )
            assert [row[1:] for row in one] == [row[1:] for row in other] != []
        assert (1, 1, 2) == con.execute(same).fetchone()
        assert [("proto", "absent")] == con.execute(states).fetchall()
        assert (1,) == con.execute(reserved).fetchone()
    out = folder.parent / "out"
    assert 0 == call("export", "--run", "proto", "-o", out, "--warehouse", warehouse).code
    assert original == (out / "proto" / packed.name).read_bytes()
    assert 0 == call("report", "program", "jit_ma_scan", "--run", "proto", "--warehouse", warehouse).code
    assert 0 == call("ingest", "--reparse", "--rehash", "--warehouse", warehouse).code
    assert 0 == call("verify", "--warehouse", warehouse).code


def test_options_beside_a_proto_are_those_of_its_dump(warehouse, folder):
    """And files that say that it did not fit, too."""
    without_texts(folder)
    prefix = proto_in(folder / TPU).name.removesuffix(".after_optimizations.hlo.pb")
    (folder / TPU / f"{prefix}.flagfile").write_text("--xla_a=1\n")
    (folder / TPU / f"{prefix}.oom_intermediate_module.txt").write_text("HloModule f\n")
    code, summary = ingest(warehouse, folder)
    assert (0, 3, 1) == (code, summary["new"], summary["ignored"])
    assert [("xla_a", "1")] == rows(warehouse, "SELECT flag_name, flag_value FROM staging.effective_flags")
    told = "SELECT r.run_name FROM staging.observations JOIN raw.runs AS r USING (run_id) WHERE did_not_fit"
    assert [(TPU,)] == rows(warehouse, told)


FAR = "SELECT COUNT(heap_events_id) FROM staging.observations"


def test_a_proto_of_another_compilation_is_left_aside(warehouse, folder):
    """What differs is named; the dump is loaded, the warning stays, and the right proto is read when it comes."""
    proto = proto_in(folder / TPU)
    own = proto.read_bytes()
    proto.write_bytes(proto_in(folder / "cpu-jaxlib-0.10.0").read_bytes())
    outcome = call("ingest", folder / TPU, "--warehouse", warehouse)
    assert (0, True) == (outcome.code, "the proto is not used" in outcome.out + outcome.err)
    found = rows(warehouse, "SELECT heap_events_id, proto_fault, proto_difference FROM staging.observations")
    assert [(None, None)] == [row[:2] for row in found]
    assert "as in the text, found" in found[0][2]
    assert [("proto_agrees",)] == rows(warehouse, "SELECT rule FROM marts.warnings_v3")
    assert [(0,)] == rows(warehouse, "SELECT COUNT(*) FROM raw.heap_events")
    later(proto, own)
    code, summary = ingest(warehouse, folder / TPU)
    assert (0, 0, 1) == (code, summary["new"], summary["known"])
    assert [(1,)] == rows(warehouse, FAR)
    assert [] == rows(warehouse, "SELECT rule FROM marts.warnings_v3")


def test_a_damaged_proto_stops_nothing(warehouse, folder):
    """Beside a text it is a warning; alone it is a reject that keeps its bytes and can be replayed."""
    proto = proto_in(folder / TPU)
    proto.write_bytes(proto.read_bytes()[:-100])
    without_texts(folder / "cpu-jaxlib-0.6.0")
    alone = proto_in(folder / "cpu-jaxlib-0.6.0")
    alone.write_bytes(alone.read_bytes()[:500])
    code, summary = ingest(warehouse, folder)
    assert (1, 2, 1) == (code, summary["new"], summary["rejected"])
    assert [("proto_readable",)] == rows(warehouse, "SELECT rule FROM marts.warnings_v3")
    assert [("proto", "proto")] == rows(warehouse, "SELECT rule, role FROM raw.rejects")
    assert (0, 1) == (ingest(warehouse, folder)[0], ingest(warehouse, folder)[1]["known_rejected"])
    assert "0 loaded, 1 still refused" in call("rejects", "replay", "--all", "--warehouse", warehouse).out
    assert [("proto",)] == rows(warehouse, "SELECT rule FROM raw.rejects WHERE state = 'open'")
    assert "file proto, open" in call("rejects", "show", "1", "--warehouse", warehouse).out
    assert [] == unproved(warehouse)


def test_a_proto_whose_compression_is_damaged_is_told_once(warehouse, folder):
    """As one that is damaged itself; a whole one that comes later is read."""
    proto = proto_in(folder / TPU)
    packed = proto.with_name(f"{proto.name}.gz")
    whole = gzip.compress(proto.read_bytes())
    proto.unlink()
    packed.write_bytes(whole[:-100])
    told = f"{packed}: expected a file that can be read, found: gz data that is damaged"
    assert [True, False] == [told in call("ingest", folder, "--warehouse", warehouse).out for _ in range(2)]
    later(packed, whole)
    assert 0 == ingest(warehouse, folder)[0]
    assert [] == rows(warehouse, "SELECT * FROM marts.warnings_v3")


STANDS = "SELECT relative_path, COUNT(*) OVER () FROM staging.observations AS o JOIN raw.dumps USING (dump_id)"


def test_a_text_that_comes_takes_the_place_of_its_proto(warehouse, folder, tmp_path):
    """A directory that is ingested while it is written: one observation, whichever was there first; nothing is lost."""
    arriving = tmp_path / "arriving" / TPU
    arriving.mkdir(parents=True)
    proto = Path(shutil.copy2(proto_in(folder / TPU), arriving))
    assert (0, 1) == (ingest(warehouse, arriving)[0], rows(warehouse, "SELECT COUNT(*) FROM raw.protos")[0][0])
    assert [(proto.name, 1)] == rows(warehouse, STANDS)
    for text in (folder / TPU).glob("*.txt"):
        shutil.copy2(text, arriving)
    code, summary = ingest(warehouse, arriving)
    assert (0, 1, 1) == (code, summary["seen"], summary["new"])
    [(path, count)] = rows(warehouse, STANDS)
    assert (True, 1) == (path.endswith("-buffer-assignment.txt"), count)
    runs = "SELECT dump_count, content_count, program_count FROM marts.runs"
    assert [(1, 1, 1)] == rows(warehouse, runs)
    assert [(2,)] == rows(warehouse, "SELECT COUNT(*) FROM raw.observations")
    _, summary = ingest(warehouse, arriving)
    assert (0, 1, 0) == (summary["new"], summary["known"], sum(summary["rows"].values()))
    later(proto, proto.read_bytes())
    ingest(warehouse, arriving)
    assert [(path, 1)] == rows(warehouse, STANDS)
    assert 0 == call("ingest", "--reparse", "--rehash", "--warehouse", warehouse).code
    assert [(path, 1)] == rows(warehouse, STANDS)
    assert 0 == call("verify", "--warehouse", warehouse).code


def test_a_text_that_comes_closes_the_reject_of_its_half_proto(warehouse, folder, tmp_path):
    """The proto was read while it was written; both are whole in the end, and no reject is left open."""
    arriving = tmp_path / "arriving" / TPU
    arriving.mkdir(parents=True)
    proto = Path(shutil.copy2(proto_in(folder / TPU), arriving))
    whole = proto.read_bytes()
    proto.write_bytes(whole[: len(whole) // 2])
    assert (1, 1) == (ingest(warehouse, arriving)[0], rows(warehouse, "SELECT COUNT(*) FROM raw.rejects")[0][0])
    shutil.copytree(folder / TPU, arriving, dirs_exist_ok=True)
    code, summary = ingest(warehouse, arriving)
    assert (0, 1, 0) == (code, summary["new"], summary["known_rejected"])
    assert [("resolved",)] == rows(warehouse, "SELECT state FROM raw.rejects")
    assert [(1, 1)] == rows(warehouse, "SELECT COUNT(*), COUNT(heap_events_id) FROM staging.observations")
    assert [(0,)] == rows(warehouse, "SELECT reject_count FROM marts.runs")
    assert [] == unproved(warehouse)


def test_two_programs_of_one_run_keep_their_own_protos(warehouse, folder, tmp_path):
    """The text of one takes the place of its own proto, not of another's, nor of that of another run."""
    for name in ("one", "two"):
        shutil.copytree(folder / TPU, tmp_path / name)
        for path in list((tmp_path / name).iterdir()):
            shutil.copy(path, path.with_name(path.name.replace("jit_ma_scan", "jit_other")))
    texts = {path: path.read_bytes() for path in (tmp_path / "one").glob("*.txt")}
    for path in [*texts, *(tmp_path / "two").glob("*.txt")]:
        path.unlink()
    for name in ("one", "two"):
        ingest(warehouse, tmp_path / name)
    assert [(4,)] == rows(warehouse, "SELECT COUNT(*) FROM staging.observations")
    for path, data in texts.items():
        if "jit_other" in path.name:
            path.write_bytes(data)
    ingest(warehouse, tmp_path / "one")
    kinds = "SELECT module_name, run_name, file_layout <> 'proto' FROM staging.observations"
    found = rows(warehouse, f"{kinds} JOIN raw.runs USING (run_id) JOIN raw.dumps USING (dump_id) ORDER BY ALL")
    assert [
        ("jit_ma_scan", "one", False), ("jit_ma_scan", "two", False), ("jit_other", "one", True),
        ("jit_other", "two", False),
    ] == found  # fmt: skip
    assert [] == unproved(warehouse)
