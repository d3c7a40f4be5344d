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


@pytest.mark.parametrize(
    ("lost", "what", "known"),
    [
        (RANGES, "live ranges, so it has no peak", (0, 3)),
        (VALUES, "values, so nothing says which operations they are of", (1, 0)),
    ],
)
def test_a_file_left_behind_is_a_warning(lost: str, what: str, known: tuple[int, int], warehouse, tmp_path):
    """As `cp *buffer-assignment*` leaves the live ranges behind. Told once; the file makes it a whole dump."""
    folder = tmp_path / "run"
    whole = part_of(folder, lost)
    outcome = call("ingest", folder, "--warehouse", warehouse)
    told = f"{folder}/{STEM}-buffer-assignment.txt: expected …{lost} beside it, found none"
    assert (0, 1) == (outcome.code, outcome.out.count(told))
    assert f"the dump is loaded without {what}; put that file there, and run the command again" in outcome.out
    peaks, operations = "marts.peak_memory_v1", "raw.instruction_texts"
    [found] = rows(warehouse, f"SELECT (SELECT COUNT(occupied_peak_bytes) FROM {peaks}), COUNT(*) FROM {operations}")
    assert known == found
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


def test_a_dump_without_analysis_breaks_no_rule(warehouse, tmp_path):
    """`--xla_dump_buffer_assignment_analysis=false` writes neither values nor live ranges; it is told once."""
    folder = tmp_path / "run"
    part_of(folder, VALUES)
    (folder / f"{STEM}{RANGES}").unlink()
    assert [f"{folder}/{STEM}-buffer-assignment.txt"] == ingest(warehouse, folder)[1]["allocations_alone"]
    code, summary = ingest(warehouse, folder)
    assert (0, {}, None) == (code, summary["warnings"], summary.get("allocations_alone"))
    assert [] == rows(warehouse, "FROM marts.warnings")


def test_a_dump_cut_within_its_allocations_is_told(warehouse, tmp_path):
    """It looks like a dump without analysis, and its sizes add up to less than the program takes."""
    for number, whole in enumerate(sorted((EXAMPLES / "jaxlib-0.7.0").glob("*-buffer-assignment.txt"))[:3]):
        head, _, _ = whole.read_bytes().partition(b"\n\nTotal bytes used")
        (tmp_path / whole.name).write_bytes(whole.read_bytes() if number == 2 else head[: head.rindex(b"\n") + 1])
    outcome = call("ingest", tmp_path, "--warehouse", warehouse)
    told = [line for line in outcome.out.splitlines() if "no values and no live ranges, so no peak, in 2 dumps" in line]
    assert (0, 1) == (outcome.code, len(told))
    assert "-buffer-assignment.txt and 1 other. XLA writes both unless" in told[0]
    assert "if the file itself was cut short, its sizes are too small, too" in told[0]


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
    """Not the one that the dump is known by, which is there."""
    folder = tmp_path / "run"
    part_of(folder, RANGES)
    (folder / f"{STEM}{RANGES}").symlink_to("gone")
    code, summary = ingest(warehouse, folder)
    assert (1, [f"{folder}/{STEM}{RANGES}: No such file or directory"]) == (code, summary["unreadable"])


def test_files_whose_first_file_is_missing_are_told(warehouse, tmp_path):
    """They are no dump: a copy that lost the first file of a program has one program less, and two other files."""
    part_of(tmp_path / "whole", "none")
    part_of(tmp_path / "cut", "-buffer-assignment.txt")
    values, ranges = (str(tmp_path / "cut" / f"{STEM}{part}") for part in (VALUES, RANGES))
    said = f"{values} and 1 other file: not loaded, as …-buffer-assignment.txt of the same name is missing\n"
    outcome = call("ingest", tmp_path / "cut", "--warehouse", warehouse)
    assert (1, True) == (outcome.code, f"warning: {said}" in outcome.out)
    assert "seen: 2 .txt. XLA" in outcome.out
    for words in (["--plan"], []):
        outcome = call("ingest", tmp_path, "--warehouse", warehouse, *words)
        assert (0, True) == (outcome.code, f"warning: {said}" in outcome.out)
    assert [values, ranges] == ingest(warehouse, tmp_path)[1]["orphans"]
    assert f"bufferhouse: {said}" in call("query", "SELECT 1", "--from", tmp_path).err
    assert "orphans" not in ingest(warehouse, tmp_path / "whole")[1]
