"""A dump in several files of which one was left behind: it is loaded, and somebody is told."""

import shutil
from pathlib import Path

import pytest

from bufferhouse.paths import CHECKOUT
from tests.command_line import call
from tests.ingests import ingest
from tests.warehouses import rows

EXAMPLES = CHECKOUT / "examples" / "fleet"
STEM = "module_0001.jit_scalar_add.cpu_after_optimizations"
VALUES, RANGES = "-buffer-assignment-values.txt", "-live-range.txt"


def part_of(folder: Path, lost: str) -> Path:
    """Copy a dump into a folder but for one of its files, which is returned."""
    folder.mkdir()
    for path in (EXAMPLES / "jaxlib-0.10.0").glob(f"{STEM}*.txt"):
        if not path.name.endswith(lost):
            shutil.copy2(path, folder)
    return EXAMPLES / "jaxlib-0.10.0" / f"{STEM}{lost}"


@pytest.mark.parametrize(("lost", "what"), [(RANGES, "live ranges"), (VALUES, "values")])
def test_a_file_left_behind_is_a_warning(lost: str, what: str, warehouse, tmp_path):
    """As `cp *buffer-assignment*` leaves the live ranges behind. Told once; the file makes it a whole dump."""
    folder = tmp_path / "run"
    whole = part_of(folder, lost)
    outcome = call("ingest", folder, "--warehouse", warehouse)
    told = f"{folder}/{STEM}-buffer-assignment.txt: expected …{lost} beside it, found none"
    assert (0, 1) == (outcome.code, outcome.out.count(told))
    assert f"the dump is loaded without {what}, so it has no peak" in outcome.out
    found = "SELECT rule, occurrence_count, expected, found FROM marts.warnings"
    expected = ("split_files_complete", 1, "files of values and of live ranges, or neither", f"no file {lost}")
    assert [expected] == rows(warehouse, found)
    assert {} == ingest(warehouse, folder)[1]["warnings"]
    assert {"split_files_complete": 1} == ingest(warehouse, folder, "--rehash")[1]["warnings"]
    shutil.copy2(whole, folder)
    code, summary = ingest(warehouse, folder)
    assert (0, 1, {}) == (code, summary["new"], summary["warnings"])
    assert [expected] == rows(warehouse, found)  # of the part, which stays until its run is removed
    assert [] == rows(warehouse, f"{found} JOIN staging.observations USING (dump_id)")


def test_a_dump_without_analysis_is_none(warehouse, tmp_path):
    """`--xla_dump_buffer_assignment_analysis=false` writes neither values nor live ranges."""
    folder = tmp_path / "run"
    part_of(folder, VALUES)
    (folder / f"{STEM}{RANGES}").unlink()
    assert (0, {}) == (ingest(warehouse, folder)[0], ingest(warehouse, folder)[1]["warnings"])
    assert [] == rows(warehouse, "FROM marts.warnings")


def test_a_reject_names_the_file_of_the_dump_that_it_is_about(warehouse, tmp_path):
    """Line and column are of that file; the dump is known by another one."""
    folder = tmp_path / "run"
    part_of(folder, VALUES)
    (folder / f"{STEM}{VALUES}").write_bytes(b"")
    outcome = call("ingest", folder, "--warehouse", warehouse)
    place = f"{folder}/{STEM}-buffer-assignment.txt, in its …{VALUES}:1:1: expected an empty line, found an empty file"
    assert (1, True) == (outcome.code, f"rejected: {place}\n" in outcome.out)
    assert f"{place}\n" in call("rejects", "show", "1", "--warehouse", warehouse).out


def test_a_file_of_a_dump_that_cannot_be_read_is_named(warehouse, tmp_path):
    """Not the one that the dump is known by, which is there: of a dangling link it was said that it is not."""
    folder = tmp_path / "run"
    part_of(folder, RANGES)
    (folder / f"{STEM}{RANGES}").symlink_to("gone")
    code, summary = ingest(warehouse, folder)
    assert (1, [f"{folder}/{STEM}{RANGES}: No such file or directory"]) == (code, summary["unreadable"])
