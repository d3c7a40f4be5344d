"""New files only, and only whole ones: what is read now, what waits, and for what."""

import os
import sys
import tarfile
import time

import pytest

from bufferhouse.errors import UsageError
from bufferhouse.ingest.arrivals import Rules
from bufferhouse.ingest.pipeline import ingest
from bufferhouse.ingest.read import read_batches
from bufferhouse.ingest.source import Source, choose, look
from bufferhouse.ingest.summary import Summary
from bufferhouse.report.summary import lines
from bufferhouse.sources.naming import check_pattern
from bufferhouse.warehouse.open import writing
from bufferhouse.warehouse.runs import complete
from tests.command_line import CHECKOUT, call
from tests.ingests import name_of, write_dumps


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "dumps" / "run"


def age(*paths, seconds=86400.0):
    """Let files be as old as this."""
    for path in paths:
        os.utime(path, (time.time() - seconds,) * 2)


def one_pass(warehouse, folder, rules, **options):
    """Carry out one pass over a source and load what is ready; return what it did."""
    source = Source("test", [str(folder)], rules, look_inside=False, is_configured=True, **options)
    (summary,) = ingest([source], writing(warehouse)).values()
    if summary.error is not None:
        raise summary.error
    return summary


def query(warehouse, sql):
    with writing(warehouse) as writer:
        return writer.con.execute(sql).fetchall()


def split_dump(folder):
    """Copy a dump in three files; return them by what their names end in."""
    folder.mkdir(parents=True, exist_ok=True)
    (main, *_) = sorted((CHECKOUT / "examples" / "fleet" / "jaxlib-0.10.0").glob("*-buffer-assignment.txt"))
    stem = main.name.removesuffix("-buffer-assignment.txt")
    parts = {}
    for suffix in ("-buffer-assignment.txt", "-buffer-assignment-values.txt", "-live-range.txt"):
        parts[suffix] = folder / f"{stem}{suffix}"
        parts[suffix].write_bytes((main.parent / f"{stem}{suffix}").read_bytes())
    age(*parts.values())
    return parts


def test_a_file_is_read_when_it_has_settled(warehouse, folder):
    """One that changed a moment ago waits, by name and reason; when it is old enough it is read, and then known."""
    old, young, ahead = write_dumps(folder, [1, 2, 3])
    age(old)
    age(ahead, seconds=-2)  # the clock of a file server may be ahead of ours
    rules = Rules(settle=60)
    first = one_pass(warehouse, folder, rules)
    assert (3, 1, 0) == (first.seen, first.new, first.known)
    assert [f"{path}: it changed less than 60 s ago" for path in (young, ahead)] == sorted(first.waiting)
    age(young, ahead, seconds=100)
    second = one_pass(warehouse, folder, rules)
    assert (2, 1, []) == (second.new, second.known, second.waiting)


def test_a_file_that_changes_while_it_is_read_waits(warehouse, folder):
    """What was listed is not what was read: neither a dump nor a reject, and the next pass reads it."""
    (path,) = write_dumps(folder, [1])
    age(path)
    source = Source("test", [str(folder)], Rules(settle=1), look_inside=False, is_configured=True)
    with writing(warehouse) as writer:
        arrivals = choose(writer, source, look(source), Summary())
        with path.open("ab") as file:
            file.write(b"\n")
        assert [] == list(read_batches(writer, arrivals.ready, hold=arrivals.hold))
    assert [f"{path}: it changed while it was read"] == arrivals.waiting
    age(path)
    assert 1 == one_pass(warehouse, folder, Rules(settle=1)).new


def test_a_half_written_file_that_settled_is_mended_by_what_follows(warehouse, folder):
    """A writer that pauses for too long makes a reject; when it goes on, the dump is loaded and the reject resolved."""
    (path,) = write_dumps(folder, [1])
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    age(path)
    assert (0, 1) == ((first := one_pass(warehouse, folder, Rules(settle=60))).new, first.rejected)
    path.write_bytes(whole)
    age(path, seconds=80000)
    assert (1, 0) == ((second := one_pass(warehouse, folder, Rules(settle=60))).new, second.rejected)
    assert [("resolved",)] == query(warehouse, "SELECT state FROM raw.rejects")


def test_with_a_marker_nothing_is_read_before_it_is_there(warehouse, folder):
    """The marker counts for its directory and all below, at once; what is written after it must settle."""
    write_dumps(folder / "host", [1])
    rules = Rules(settle=60, grace=60, marker="DONE")
    before = one_pass(warehouse, folder.parent, rules)
    assert (0, 1) == (before.new, len(before.waiting))
    assert before.waiting[0].endswith("no DONE beside or above it yet")
    time.sleep(0.02)
    (folder / "DONE").touch()
    write_dumps(folder / "host", [2])
    os.utime(folder / "host" / name_of(2), (time.time() + 1,) * 2)
    after = one_pass(warehouse, folder.parent, rules)
    assert (1, [f"{folder / 'host' / name_of(2)}: it changed less than 60 s ago"]) == (after.new, after.waiting)


def test_a_run_whose_dumps_all_wait_is_not_to_be_described_yet(warehouse, folder):
    """It is not in the warehouse; the first line counts what waits. When the dumps are read, the advice comes."""
    write_dumps(folder, [1, 2])
    rules = Rules(marker="DONE")
    waits = one_pass(warehouse, folder.parent, rules)
    assert (2, {}) == (waits.waiting_dumps, waits.undescribed)
    assert "2 dumps of 1 run seen: 0 new, 0 known, 0 rejected, 2 waiting" == lines(waits)[0]
    (folder / "DONE").touch()
    read = one_pass(warehouse, folder.parent, rules)
    assert (2, 0, ["run"]) == (read.new, read.waiting_dumps, list(read.undescribed))


def test_a_marker_above_the_source_is_none(warehouse, folder):
    """Nobody looks for markers outside of what was configured."""
    write_dumps(folder, [1])
    (folder.parent / "DONE").touch()
    assert 0 == one_pass(warehouse, folder, Rules(settle=1, marker="DONE")).new


@pytest.mark.parametrize("last", ["-buffer-assignment.txt", "-buffer-assignment-values.txt", "-live-range.txt"])
def test_three_files_are_joined_when_the_last_has_come(warehouse, folder, last):
    """In whatever order they come: until then nothing is loaded, then one dump of three files."""
    parts = split_dump(folder)
    kept = parts[last].read_bytes()
    parts[last].unlink()
    age(*(path for suffix, path in parts.items() if suffix != last), seconds=10)
    rules = Rules(settle=1, grace=3600)
    before = one_pass(warehouse, folder, rules)
    assert (0, 0) == (before.new, before.rejected)
    assert before.waiting
    parts[last].write_bytes(kept)
    age(parts[last], seconds=5)
    after = one_pass(warehouse, folder, rules)
    assert (1, []) == (after.new, after.waiting)
    assert [("split", 3)] == query(
        warehouse, "SELECT file_layout, (SELECT COUNT(*) FROM raw.dump_files) FROM raw.dumps"
    )


def test_the_first_file_alone_waits_too(warehouse, folder):
    """Only its content tells that others belong to it; a dump in one file is not held back by that."""
    parts = split_dump(folder)
    for suffix in ("-buffer-assignment-values.txt", "-live-range.txt"):
        parts[suffix].unlink()
    age(parts["-buffer-assignment.txt"], seconds=10)
    age(*write_dumps(folder, [1]), seconds=10)
    result = one_pass(warehouse, folder, Rules(settle=1, grace=3600))
    assert 1 == result.new
    expected = "…-buffer-assignment-values.txt, …-live-range.txt may still come"
    assert [f"{parts['-buffer-assignment.txt']}: {expected}"] == result.waiting


def test_after_the_grace_period_what_is_there_is_loaded_and_completed_later(warehouse, folder):
    """Two of three are a dump; the third makes another, and the newest observation of the path is that of all three."""
    parts = split_dump(folder)
    kept = parts["-live-range.txt"].read_bytes()
    parts["-live-range.txt"].unlink()
    rules = Rules(settle=1, grace=3600)
    assert 1 == one_pass(warehouse, folder, rules).new
    assert (0, 1) == ((known := one_pass(warehouse, folder, rules)).new, known.known)
    parts["-live-range.txt"].write_bytes(kept)
    age(parts["-live-range.txt"], seconds=5)
    assert 1 == one_pass(warehouse, folder, rules).new
    rows = "SELECT COUNT(*), COUNT(DISTINCT relative_path) FROM raw.observations"
    assert [(2, 1)] == query(warehouse, rows)
    newest = "SELECT live_range_state FROM staging.observations JOIN raw.dumps USING (dump_id)"
    assert [("present",)] == query(warehouse, newest)


def test_a_run_that_is_complete_waits_for_nothing(warehouse, folder):
    """Declared so, by command, run.json or marker: no grace for its dumps, and what comes now is counted as late."""
    age(*write_dumps(folder, [1]))
    rules = Rules(settle=1, grace=3600)
    assert (1, 0) == ((first := one_pass(warehouse, folder, rules)).new, first.late)
    outcome = call("runs", "complete", "run", "--warehouse", warehouse)
    assert (0, "run is complete\n") == (outcome.code, outcome.out), outcome.err
    parts = split_dump(folder)
    parts["-live-range.txt"].unlink()
    age(parts["-buffer-assignment.txt"], parts["-buffer-assignment-values.txt"], seconds=10)
    second = one_pass(warehouse, folder, rules)
    assert (1, 1, []) == (second.new, second.late, second.waiting)
    unknown = call("runs", "complete", "rum", "--warehouse", warehouse)
    assert (2, "bufferhouse: there is no run 'rum'; did you mean 'run'?\n") == (unknown.code, unknown.err)


def test_a_marker_at_the_root_of_a_run_declares_it_complete(warehouse, folder):
    """The label completed_at is the marker's time; one in a folder below says nothing about the run."""
    for name, place in (("run", "."), ("other", "host")):
        write_dumps(folder.parent / name, [1])
        write_dumps(folder.parent / name / "host", [2])
        (folder.parent / name / place / "DONE").touch()
    rules = Rules(settle=0.5, marker="DONE")
    one_pass(warehouse, folder.parent, rules, pattern=check_pattern("{run}/**/module_*"))
    labels = dict(query(warehouse, "SELECT run_name, labels LIKE '%completed_at%' FROM raw.runs"))
    assert {"run": True, "other": False} == labels


def test_a_declaration_names_runs_that_exist(warehouse, folder):
    """All or none: one unknown name, and no run is declared complete."""
    age(*write_dumps(folder, [1]))
    one_pass(warehouse, folder, Rules(settle=1))
    with writing(warehouse) as writer, pytest.raises(UsageError, match="there is no run 'none'"):
        complete(writer, ["run", "none"])
    assert [("{}",)] == query(warehouse, "SELECT labels FROM raw.runs")


def test_an_archive_that_is_still_written_waits(warehouse, folder):
    """An archive is read when it has settled; until then it is not even listed."""
    (path,) = write_dumps(folder, [1])
    archive = folder.parent / "run2.tar"
    with tarfile.open(archive, "w") as tar:
        tar.add(path, path.name)
    rules = Rules(settle=60)
    source = folder.parent / "*.tar"
    path.unlink()
    for place in (archive, source, folder.parent):
        assert [f"{archive}: it changed less than 60 s ago"] == one_pass(warehouse, place, rules).waiting
    age(archive)
    assert (1, []) == ((result := one_pass(warehouse, source, rules)).new, result.waiting)


def test_a_run_json_that_cannot_be_read_stops_its_own_run_only(warehouse, folder):
    """Half-written as it may be: it is named with the number of its dumps, the others are loaded."""
    age(*write_dumps(folder, [1]), *write_dumps(folder.parent / "other", [2]))
    (folder / "run.json").write_text('{"track": ')
    result = one_pass(warehouse, folder.parent, Rules(settle=1))
    assert (1, ["other"]) == (result.new, result.runs)
    assert [
        f"{folder / 'run.json'}:1:11: expected JSON: a value, found the end of the line; 1 dump left out"
    ] == result.unreadable


def test_a_late_file_of_an_old_run_is_found(warehouse, folder):
    """Runs are never closed: a file that comes a year later, with an old time, is new all the same."""
    age(*write_dumps(folder, [1]))
    rules = Rules(settle=60)
    one_pass(warehouse, folder, rules)
    age(*write_dumps(folder, [2]), seconds=400 * 86400)
    assert (1, 1) == ((result := one_pass(warehouse, folder, rules)).new, result.known)


def test_what_is_known_is_listed_and_not_opened(warehouse, folder):
    """A pass over known files is a walk: none of them, nor any other file beside them, is opened."""
    paths = write_dumps(folder, range(1, 40))
    beside = folder / "module_0001.jit_f.cpu_after_optimizations.txt"
    beside.write_text("HloModule jit_f\n\nENTRY %main () -> f32[] {\n")
    age(*paths, beside)
    rules = Rules(settle=60, grace=600)
    assert 39 == one_pass(warehouse, folder, rules).new
    opened = []

    def hear(event, arguments):
        if event == "open" and hearing and str(arguments[0]).startswith(str(folder)):
            opened.append(arguments[0])

    hearing = [True]
    sys.addaudithook(hear)  # hears every open of this process, whoever does it
    try:
        result = one_pass(warehouse, folder, rules)
        assert (39, 0, 0) == (result.known, result.new, result.ignored)
        assert {str(folder / "run.json")} >= set(opened)
        age(paths[0], seconds=500)
        one_pass(warehouse, folder, rules)
        assert str(paths[0]) in opened
    finally:
        hearing.clear()
