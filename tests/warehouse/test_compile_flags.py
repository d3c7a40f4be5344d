"""The options of compilations in the warehouse: stored once, back-filled, proved, pruned; a damaged file stops none."""

import gzip
import os
import shutil
from pathlib import Path

import pytest

from bufferhouse.sources.flags import is_effective
from tests.command_line import CHECKOUT, call
from tests.ingests import ingest
from tests.warehouses import rows, unproved

DATA = CHECKOUT / "tests" / "data" / "flags"
NAME = "module_0001.jit_conv_step.debug_options"
OPTIONS = """
    SELECT r.run_name, f.flag_name, f.flag_value, f.origin
    FROM staging.effective_flags AS f JOIN raw.runs AS r USING (run_id) ORDER BY ALL
"""
FAST = "xla_cpu_enable_fast_min_max"
BOTH = [
    ("a", FAST, "false", "debug_options"),
    ("b", FAST, "false", "debug_options"),
    ("b", "xla_disable_hlo_passes", "fusion", "debug_options"),
]


@pytest.fixture
def folder(tmp_path) -> Path:
    """Two runs of one program, compiled with other options."""
    return Path(shutil.copytree(DATA, tmp_path / "dumps"))


def later(path: Path, text: str, seconds: int) -> None:
    path.write_text(text)
    os.utime(path, ns=(path.stat().st_mtime_ns + seconds * 10**9,) * 2)


def test_the_options_of_a_dump_are_those_of_the_files_beside_it(warehouse, folder):
    """Both runs have theirs, an equal file is stored once, nothing is read twice, and `verify` proves the rows."""
    shutil.copytree(folder / "b", folder / "c")
    code, summary = ingest(warehouse, folder)
    assert (0, 3, 0) == (code, summary["seen"], summary["ignored"])
    both = [*BOTH, *(("c", *rest) for run, *rest in BOTH if run == "b")]
    assert both == rows(warehouse, OPTIONS)
    assert [(2,)] == rows(warehouse, "SELECT COUNT(DISTINCT compile_flags_id) FROM raw.compile_flags")
    code, summary = ingest(warehouse, folder)
    assert (0, 3, {}) == (code, summary["known"], {name: n for name, n in summary["rows"].items() if n})
    assert [] == unproved(warehouse)
    rows_of = "SELECT flag_name, flag_value FROM raw.compile_flags WHERE flag_name LIKE 'xla_dump_to'"
    assert {"/srv/dump/cpu_nofusion.a", "/srv/dump/cpu_nofusion.b"} == {value for _, value in rows(warehouse, rows_of)}


def test_files_that_come_later_are_read_for_dumps_that_are_known(warehouse, folder):
    """As after an upgrade: the dump is not loaded again, and its newest row has the options; so with changed ones."""
    kept = (folder / "b" / NAME).read_text()
    (folder / "b" / NAME).unlink()
    assert (0, 2) == (ingest(warehouse, folder)[0], rows(warehouse, "SELECT COUNT(*) FROM raw.dumps")[0][0])
    assert BOTH[:1] == rows(warehouse, OPTIONS)
    (folder / "b" / NAME).write_text(kept)
    code, summary = ingest(warehouse, folder)
    assert (0, 0, 2) == (code, summary["new"], summary["known"])
    assert BOTH == rows(warehouse, OPTIONS)
    later(folder / "b" / NAME, kept.replace("fusion", "cse"), 5)
    assert 0 == ingest(warehouse, folder)[0]
    assert [*BOTH[:2], ("b", "xla_disable_hlo_passes", "cse", "debug_options")] == rows(warehouse, OPTIONS)
    assert [] == unproved(warehouse)


def test_a_damaged_file_is_named_and_its_dump_loads(warehouse, folder):
    """With what the other files say; once it is repaired it is read."""
    kept = (folder / "b" / NAME).read_text()
    later(folder / "b" / NAME, kept.replace(": true", " true", 1), 1)
    (folder / "b" / "module_0001.jit_conv_step.flagfile").write_text("--xla_a=1\n")
    outcome = call("ingest", folder, "--warehouse", warehouse)
    place = f"{folder}/b/{NAME}:4:1: expected a line such as: name: value, name {{ or }}, found"
    assert "the dump is loaded without the options in that file" in outcome.out + outcome.err
    assert (True, 2) == (place in outcome.out + outcome.err, rows(warehouse, "SELECT COUNT(*) FROM raw.dumps")[0][0])
    [(fault,)] = rows(
        warehouse, "SELECT compile_flags_fault FROM staging.observations WHERE compile_flags_fault IS NOT NULL"
    )
    assert fault.startswith(place)
    assert [*BOTH[:1], ("b", "xla_a", "1", "flagfile")] == rows(warehouse, OPTIONS)
    later(folder / "b" / NAME, kept, 9)
    assert 0 == ingest(warehouse, folder)[0]
    assert sorted([*BOTH, ("b", "xla_a", "1", "flagfile")]) == rows(warehouse, OPTIONS)


def test_a_file_whose_compression_is_damaged_takes_no_other_options_along(warehouse, folder):
    """What the other files say counts, it is said once and in words what is wrong, and no pass reads it again."""
    path = folder / "b" / NAME
    packed = gzip.compress(path.read_bytes())
    path.unlink()
    path = path.with_name(f"{NAME}.gz")
    path.write_bytes(packed[:-9])
    (folder / "b" / "module_0001.jit_conv_step.flagfile").write_text("--xla_a=1\n")
    told = f"warning: {path}: gz data that is damaged: Compressed file ended before"
    assert [True, False] == [told in call("ingest", folder, "--warehouse", warehouse).out for _ in range(2)]
    expected = [*BOTH[:1], ("b", "xla_a", "1", "flagfile")]
    assert (expected, [(2,)]) == (rows(warehouse, OPTIONS), rows(warehouse, "SELECT COUNT(*) FROM raw.observations"))
    path.write_bytes(packed)
    assert 0 == ingest(warehouse, folder)[0]
    assert sorted([*BOTH, ("b", "xla_a", "1", "flagfile")]) == rows(warehouse, OPTIONS)


def test_a_pruned_run_takes_its_options_along(warehouse, folder):
    """Those that another run has, too, stay."""
    shutil.copytree(folder / "b", folder / "c")
    ingest(warehouse, folder)
    for keep, left in ((2, 2), (1, 1)):
        assert 0 == call("prune", "--keep-runs", keep, "--warehouse", warehouse, "--yes").code
        assert [(keep,)] == rows(warehouse, "SELECT COUNT(*) FROM raw.runs")
        used = "SELECT COUNT(DISTINCT compile_flags_ids) FROM raw.observations"
        assert rows(warehouse, used) == rows(
            warehouse, "SELECT COUNT(DISTINCT compile_flags_id) FROM raw.compile_flags"
        )
        assert left >= rows(warehouse, used)[0][0]


def test_the_view_tells_options_that_matter_as_the_command_line_does(warehouse, folder):
    """About dumping, logging and places: one rule in SQL, one in Python, the same answer for every name."""
    names = ["xla_dump_to", "xla_a_dump", "v", "vmodule", "xla_cache_dir", "xla_gpu_dir", "xla_dumper", "minloglevel",
             "xla_gpu_per_fusion_autotune_cache_dir", "xla_enable_scoped_logging_timers", "xla_memory_scheduler",
             "xla_hlo_profile", "directory", "xla_verbosity_level", "xla_direct"]  # fmt: skip
    (folder / "b" / NAME).write_text("".join(f"{name}: 1\n" for name in names))
    ingest(warehouse, folder)
    told = dict(rows(warehouse, "SELECT flag_name, is_effective FROM marts.compile_flags WHERE flag_value = '1'"))
    assert {name: is_effective(name) for name in names} == told
