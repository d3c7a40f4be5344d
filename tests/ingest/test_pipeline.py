"""Ingesting again, ingesting what is broken or has changed: what is in the warehouse then, and what is said."""

import gzip
import json
import lzma
import os
import re
import signal
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import zstandard

from bufferhouse.dump.identity import content_of
from bufferhouse.dump.native import reader
from bufferhouse.errors import UsageError
from bufferhouse.ingest.pipeline import ingest
from bufferhouse.ingest.read import Limits
from bufferhouse.ingest.source import Source
from bufferhouse.ingest.summary import Summary
from bufferhouse.sources.compression import limit_bytes
from bufferhouse.sources.s3 import tries
from bufferhouse.warehouse.open import writing
from bufferhouse.warehouse.retention import MESSAGES
from tests import ingests
from tests.command_line import call, kill_group, run, start
from tests.ingests import SUFFIX, write_dumps
from tests.synthetic import Slot, dump_text, small_dump
from tests.warehouses import contents, counts, load_texts, rows


def ingested(warehouse: Path, *words: object) -> tuple[int, dict]:
    """Ingest as `ingests.ingest`, where all that is unreadable is a dump."""
    code, summary = ingests.ingest(warehouse, *words)
    parts = summary["new"] + summary["known"] + summary["rejected"] + summary["known_rejected"]
    assert summary["seen"] == parts + len(summary["unreadable"])
    return code, summary


def states(warehouse: Path) -> list[tuple]:
    return rows(warehouse, "SELECT relative_path, state FROM raw.rejects ORDER BY reject_id")


def truncated(number: int) -> bytes:
    """A dump whose text breaks off in the middle of a line of its used values."""
    text = small_dump(number)
    return text[: text.index(b" positions:") + 4]


def test_ingesting_twice_changes_nothing(own_warehouse, fleet):
    """The second run of one command reads no file, loads nothing and leaves every table as it was.

    --rehash trusts no time stamp and reads every file again: equal contents are known, and the tables stay, too.
    """
    before = contents(own_warehouse)
    code, summary = ingested(own_warehouse, fleet)
    assert (0, 126, 0, 126, {}, 0) == (
        code, summary["seen"], summary["new"], summary["known"], summary["rows"], summary["bytes"],
    )  # fmt: skip
    assert before == contents(own_warehouse)
    code, summary = ingested(own_warehouse, fleet, "--rehash")
    assert (0, 0, 126) == (code, summary["new"], summary["known"])
    assert before == contents(own_warehouse)


def test_summary_counts_the_rows_that_are_in_the_tables(warehouse, fleet):
    """`rows` of the JSON summary are the rows of the tables, and its keys are those of the documentation."""
    code, summary = ingested(warehouse, fleet)
    keys = {"seen", "new", "known", "ignored", "rejected", "known_rejected", "unreadable", "rows", "bytes", "seconds"}
    assert keys | {"runs", "warnings", "undescribed", "other_names"} == summary.keys()
    assert ["seeds"] == summary["undescribed"]
    assert (0, 126, 126, 1) == (code, summary["seen"], summary["new"], summary["ignored"])
    tables = counts(warehouse)
    assert summary["rows"] == {table: tables[table] for table in summary["rows"]}
    assert tables.keys() - summary["rows"].keys() == {"runs", "loads", "packings", "pruned_runs", *MESSAGES}
    assert 11 == tables["runs"] == len(summary["runs"])


def test_progress_counts_what_is_read(warehouse, tmp_path):
    """Of a directory that was ingested before the new files alone: new contents, and known ones by other names."""
    first = write_dumps(tmp_path / "run", [1, 2, 3])
    assert "3/3 dumps: 3 new, 0 known\n" == call("ingest", tmp_path / "run", "--warehouse", warehouse).err
    write_dumps(tmp_path / "run", [4])
    first[0].with_name(f"module_0009.jit_f.cpu_after_optimizations{SUFFIX}").write_bytes(first[0].read_bytes())
    outcome = call("ingest", tmp_path / "run", "--warehouse", warehouse)
    assert "2/2 dumps: 1 new, 1 known\n" == outcome.err
    assert "5 dumps of 1 run seen: 1 new, 4 known" in outcome.out


@pytest.mark.parametrize(("before", "after"), [("", ".gz"), (".Gz", ""), (".gZ", ".GZ")])
def test_files_that_were_compressed_since_they_were_seen_are_told(warehouse, tmp_path, before, after):
    """A file is known by its path: `x.txt.gz` in the place of `x.txt` is one more dump, and the user hears it once."""

    def written(path: Path, ending: str) -> Path:
        return path.with_name(f"{path.name}{ending}")

    paths = write_dumps(tmp_path / "run", [1, 2, 3])
    texts = [path.read_bytes() for path in paths]
    for path, text in zip(paths, texts, strict=True):
        path.unlink()
        written(path, before).write_bytes(gzip.compress(text) if before else text)
    assert 0 == ingested(warehouse, tmp_path / "run")[0]
    for path, text in zip(paths[:2], texts, strict=False):
        written(path, after).write_bytes(gzip.compress(text) if after else text)
    written(paths[0], before).unlink()  # of the second one both are there
    code, summary = ingested(warehouse, tmp_path / "run", "--plan")
    assert (0, {"run": 1}) == (code, summary["other_endings"])
    outcome = call("ingest", tmp_path / "run", "--warehouse", warehouse)
    assert "warning: run run: 1 file under another name than before, compressed in another way" in outcome.out
    assert "bufferhouse runs rm run, and ingest it again" in outcome.out
    assert [(5, 3)] == rows(warehouse, "SELECT COUNT(*), COUNT(DISTINCT dump_id) FROM staging.observations")
    assert "other_endings" not in ingested(warehouse, tmp_path / "run")[1]


def test_a_run_that_starts_in_the_future_is_told(warehouse, tmp_path):
    """It counts as the newest, whatever comes after it; a start less than a day ahead is another time zone's."""
    ahead = (datetime.now(UTC) + timedelta(hours=14)).isoformat()
    for name, moment in {"wrong": "2100-01-01T00:00:00Z", "east": ahead, "now": None}.items():
        write_dumps(tmp_path / name, [1])
        (tmp_path / name / "run.json").write_text(json.dumps({"compiler": "jaxlib", "started_at": moment}))
    expected = {"wrong": "2100-01-01 00:00 UTC (run.json)"}
    assert expected == ingested(warehouse, tmp_path, "--plan")[1]["ahead"]
    out = call("ingest", tmp_path, "--warehouse", warehouse).out
    [line] = [line for line in out.splitlines() if "future" in line]
    assert line == (
        "warning: run wrong: it starts in the future, 2100-01-01 00:00 UTC (run.json), and counts as the newest until "
        "then; if that is wrong: bufferhouse runs set wrong started_at=…"
    )
    assert "ahead" not in ingested(warehouse, tmp_path)[1]


@pytest.mark.parametrize(
    ("endings", "has_equal_bytes"), [((".GZ", ".gz"), True), (("", ".gz"), True), ((".gz", ".Gz"), False)]
)
def test_files_of_one_dump_that_lie_side_by_side_are_told(warehouse, tmp_path, endings, has_equal_bytes):
    """Each is loaded, be their contents the same or not; the user hears it once, also where one came later."""
    here, other = write_dumps(tmp_path / "run", [1, 2])
    texts = here.read_bytes(), (here if has_equal_bytes else other).read_bytes()
    here.unlink()
    for ending, text in zip(endings, texts, strict=True):
        here.with_name(f"{here.name}{ending}").write_bytes(gzip.compress(text) if ending else text)
    outcome = call("ingest", tmp_path / "run", "--warehouse", warehouse)
    told = "warning: run run: several files of 1 dump, plain or compressed in different ways; each file counts"
    assert (0, 1) == (outcome.code, outcome.out.count(told))
    assert [(3, 2)] == rows(warehouse, "SELECT COUNT(*), COUNT(DISTINCT dump_id) FROM staging.observations")
    assert "twins" not in ingested(warehouse, tmp_path / "run")[1]
    other.with_name(f"{other.name}.gz").write_bytes(gzip.compress(texts[1]))
    assert {"run": 1} == ingested(warehouse, tmp_path / "run")[1]["twins"]


def test_what_is_said_of_runs_stands_in_the_order_of_the_runs(warehouse, tmp_path):
    """The same ingest says the same in the same order: lines are compared, and kept as logs."""
    names = [f"run{number}" for number in range(8)]
    paths = [path for name in names for path in write_dumps(tmp_path / "fleet" / name, [int(name[3:])])]
    assert 0 == ingested(warehouse, tmp_path / "fleet")[0]
    for name in names:
        (tmp_path / "fleet" / name / "run.json").write_text(json.dumps({"run_name": f"job-{name}"}))
    assert names == list(ingested(warehouse, tmp_path / "fleet", "--plan")[1]["other_names"])
    for name, path in zip(names, paths, strict=True):
        (tmp_path / "fleet" / name / "run.json").unlink()
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    assert names == list(ingested(warehouse, tmp_path / "fleet", "--plan")[1]["other_endings"])


def test_keys_of_a_run_file_that_are_not_read_are_told(warehouse, tmp_path):
    """Once, when the run is new: a misspelled key would lose what it says, and the rest of the file is read."""
    for name, keys in {"run": {"complier": "jaxlib", "job": 7}, "other": {"owner": [1]}, "plain": {}}.items():
        write_dumps(tmp_path / name, [1])
        (tmp_path / name / "run.json").write_text(json.dumps({"platform": "cpu", "labels": {"a": "b"}, **keys}))
    assert {"run": ["complier", "job"], "other": ["owner"]} == (
        ingested(warehouse, tmp_path, "--plan")[1]["unread_keys"]
    )
    found = call("ingest", tmp_path, "--warehouse", warehouse).out
    [line] = [line for line in found.splitlines() if "not read" in line]
    assert line.startswith(
        "warning: run other and 1 other run: keys of run.json that are not read: owner, complier, job; "
        "did you mean 'compiler'? The keys are run_name, compiler, "
    )
    assert [("cpu", None, '{"a": "b"}')] == rows(warehouse, "SELECT DISTINCT platform, compiler, labels FROM raw.runs")
    assert "unread_keys" not in ingested(warehouse, tmp_path)[1]


def test_one_truncated_dump_among_fifty_stops_only_itself(warehouse, tmp_path):
    """Forty-nine dumps load; the fiftieth is named with file, line, column, what was expected and found; exit 1."""
    paths = write_dumps(tmp_path / "run", range(50))
    bad = paths[23]
    bad.write_bytes(truncated(23))
    outcome = call("ingest", tmp_path / "run", "--warehouse", warehouse)
    assert 1 == outcome.code
    assert "50 dumps of 1 run seen: 49 new, 0 known, 1 rejected" in outcome.out
    line = truncated(23).count(b"\n") + 1
    assert f"rejected: {bad}:{line}:1: expected ' positions:', found ' pos'" in outcome.out
    assert (49, 49, 1) == tuple(counts(warehouse)[table] for table in ("dumps", "observations", "rejects"))
    [(path, rule, line_number, expected, found, content)] = rows(
        warehouse, "SELECT relative_path, rule, line_number, expected, found, content FROM raw.rejects"
    )
    assert (bad.name, "grammar", line, "' positions:'", "' pos'") == (path, rule, line_number, expected, found)
    assert truncated(23) == zstandard.decompress(content)


def test_repeated_contents_are_stored_once_and_seen_each_time(warehouse, tmp_path):
    """A content that comes again, in the same batch or in another run, adds an observation and nothing else."""
    write_dumps(tmp_path / "one", range(4), lambda number: small_dump(number % 2))
    code, summary = ingested(warehouse, tmp_path / "one")
    assert (0, 4, 2, 2) == (code, summary["seen"], summary["new"], summary["known"])
    before = counts(warehouse)
    write_dumps(tmp_path / "two", range(3), lambda number: small_dump(0))
    code, summary = ingested(warehouse, tmp_path / "two")
    assert (0, 3, 0, 3) == (code, summary["seen"], summary["new"], summary["known"])
    added = {table: count - before[table] for table, count in counts(warehouse).items() if count != before[table]}
    assert {"observations": 3, "runs": 1, "loads": 1} == added


def test_a_file_modified_in_place_is_observed_again(warehouse, tmp_path):
    """Observations are append-only; staging.observations shows the newest content of each path."""
    [path, _] = write_dumps(tmp_path / "run", [1, 2])
    ingested(warehouse, tmp_path / "run")
    path.write_bytes(small_dump(7))
    code, summary = ingested(warehouse, tmp_path / "run")
    assert (0, 1, 1) == (code, summary["new"], summary["known"])
    assert [(3,)] == rows(warehouse, "SELECT COUNT(*) FROM raw.observations")
    newest = rows(warehouse, "SELECT relative_path, dump_id FROM staging.observations ORDER BY ALL")
    expected = [content_of({"combined": small_dump(number)}).dump_id for number in (7, 2)]
    assert expected == [dump_id for _, dump_id in newest]
    path.write_bytes(small_dump(1))  # as it was at first
    ingested(warehouse, tmp_path / "run")
    expected = [content_of({"combined": small_dump(number)}).dump_id for number in (1, 2)]
    newest = rows(warehouse, "SELECT relative_path, dump_id FROM staging.observations ORDER BY ALL")
    assert expected == [dump_id for _, dump_id in newest]
    chain = "SELECT load_id, replaced_load_id FROM raw.observations WHERE relative_path = ? ORDER BY load_id"
    assert [(1, None), (2, 1), (3, 2)] == rows(warehouse, chain.replace("?", f"'{path.name}'"))


def test_a_file_touched_without_a_change_is_read_again_and_then_known(warehouse, tmp_path):
    """A new time stamp makes the file read again; its content is known, and after that so is its time."""
    [path] = write_dumps(tmp_path / "run", [1])
    ingested(warehouse, tmp_path / "run")
    os.utime(path, ns=(0, path.stat().st_mtime_ns + 10**9))
    for _ in range(2):
        code, summary = ingested(warehouse, tmp_path / "run")
        assert (0, 0, 1) == (code, summary["new"], summary["known"])
    assert (2, 1) == (counts(warehouse)["observations"], counts(warehouse)["dumps"])


def test_a_known_reject_is_counted_apart_and_good(warehouse, tmp_path):
    """What this parser refused before is not refused again: exit 0, no new row; also where it must be read again."""
    _, bad = write_dumps(tmp_path / "run", [1, 2])
    bad.write_bytes(truncated(2))
    assert 1 == ingested(warehouse, tmp_path / "run")[0]
    for words in ([], ["--rehash"]):
        code, summary = ingested(warehouse, tmp_path / "run", *words)
        assert (0, 0, 1, 0, 1) == (code, *(summary[key] for key in ("new", "known", "rejected", "known_rejected")))
    os.utime(bad, ns=(0, bad.stat().st_mtime_ns + 10**9))
    code, summary = ingested(warehouse, tmp_path / "run")
    assert (0, 1) == (code, summary["known_rejected"])
    assert [(bad.name, "open")] == states(warehouse)


def test_what_was_refused_before_is_named_with_the_verb_that_tells_why(warehouse, tmp_path):
    """A few files, and how many more: unchanged ones, those that are read again, and those of a plan."""
    write_dumps(tmp_path / "run", [1, 2, 3, 4, 5], truncated)
    ingested(warehouse, tmp_path / "run")
    for words in ([], ["--rehash"], ["--rehash", "--plan"]):
        told = call("ingest", tmp_path / "run", *words, "--warehouse", warehouse)
        [line] = [line for line in told.out.splitlines() if line.startswith("rejected before: ")]
        assert (0, 3) == (told.code, line.count("run/module_"))
        assert line.startswith(f"rejected before: {tmp_path / 'run' / 'module_0001'}")
        assert line.endswith(" and 2 more; for the reasons: bufferhouse rejects")


def test_a_refused_content_that_comes_under_another_name_is_refused_there_too(warehouse, tmp_path):
    """Each file that holds it gets a reject of its own, with the bytes, also beside one that is known."""
    write_dumps(tmp_path / "run", [1], truncated)
    ingested(warehouse, tmp_path / "run")
    write_dumps(tmp_path / "run", [2, 3], lambda _: truncated(1))
    code, summary = ingested(warehouse, tmp_path / "run", "--rehash")
    assert (1, 2, 1) == (code, summary["rejected"], summary["known_rejected"])
    kept = rows(warehouse, "SELECT content FROM raw.rejects")
    assert [truncated(1)] * 3 == [zstandard.decompress(content) for (content,) in kept]


def test_a_repaired_file_resolves_its_reject(warehouse, tmp_path):
    """The reject of a file that loads now is resolved; when the file breaks again, it is refused anew."""
    [bad] = write_dumps(tmp_path / "run", [1], truncated)
    ingested(warehouse, tmp_path / "run")
    assert [(bad.name, "open")] == states(warehouse)
    bad.write_bytes(small_dump(1))
    code, summary = ingested(warehouse, tmp_path / "run")
    assert (0, 1) == (code, summary["new"])
    assert [(bad.name, "resolved")] == states(warehouse)
    bad.write_bytes(truncated(1))
    code, summary = ingested(warehouse, tmp_path / "run")
    assert (1, 1) == (code, summary["rejected"])
    assert [(bad.name, "resolved"), (bad.name, "open")] == states(warehouse)


def test_files_that_cannot_be_read_are_named_and_stop_only_themselves(warehouse, tmp_path):
    """A dangling link named like a dump is reported with its reason; the others load; exit 1."""
    write_dumps(tmp_path / "run", [1, 2])
    lost = tmp_path / "run" / f"lost{SUFFIX}"
    lost.symlink_to(tmp_path / "run" / "gone.txt")
    outcome = call("ingest", tmp_path / "run", "--warehouse", warehouse)
    assert 1 == outcome.code
    assert f"unreadable: {lost}: No such file or directory" in outcome.out
    assert "3 dumps of 1 run seen: 2 new, 0 known, 0 rejected, 1 unreadable\n" in outcome.out
    assert 2 == counts(warehouse)["dumps"]
    assert 1 == ingested(warehouse, tmp_path / "run")[0]


def test_every_line_about_what_is_unreadable_is_counted(warehouse, tmp_path):
    """Dumps that were seen are, and what is none, such as a link that leads out, is counted beside them."""
    (lost,) = write_dumps(tmp_path / "run", [1])
    lost.unlink()
    lost.symlink_to(tmp_path / "run" / "gone")
    for number in (2, 3):
        lost.with_name(f"out{number}{SUFFIX}").symlink_to("/etc/hostname")
    first, *others = call("ingest", tmp_path / "run", "--warehouse", warehouse).out.split("\n")
    count = sum(line.startswith("unreadable: ") for line in others)
    assert (3, ", 0 rejected, 1 unreadable; 2 other paths unreadable") == (count, first[first.index(", 0 rej") :])


def test_a_file_that_vanishes_while_others_are_read_is_named(warehouse, tmp_path):
    """Between looking and reading a file may go: the others load, and the summary says which one went."""
    _, gone = write_dumps(tmp_path / "run", [1, 2])

    def then_gone(title, function, *arguments):
        outcome = function(*arguments)
        if title.startswith("discover "):
            gone.unlink()
        return outcome

    source = Source.named([str(tmp_path / "run")])
    (summary,) = ingest([source], writing(warehouse), run=then_gone).values()
    assert (1, 1, [f"{gone}: No such file or directory"]) == (summary.exit_code, summary.new, summary.unreadable)
    assert summary.seen == summary.new + summary.left_out


@pytest.mark.parametrize("data", [b"\x1f\x8b\x08 no gzip", gzip.compress(small_dump(3))[:-9]], ids=["bad", "cut"])
def test_damaged_compressed_data_becomes_a_reject_with_its_bytes(warehouse, tmp_path, data):
    """A .gz that does not decompress is kept as it lies there, under the rule `compression`."""
    write_dumps(tmp_path / "run", [1])
    (tmp_path / "run" / f"module_0009.jit_g.cpu_after_optimizations{SUFFIX}.gz").write_bytes(data)
    code, summary = ingested(warehouse, tmp_path / "run")
    assert (1, 1, 1) == (code, summary["new"], summary["rejected"])
    [(rule, expected, content)] = rows(warehouse, "SELECT rule, expected, content FROM raw.rejects")
    assert ("compression", "readable compressed data", data) == (rule, expected, zstandard.decompress(content))


def test_a_dump_is_loaded_beside_its_bytes_under_the_name_of_compressed_data(warehouse, tmp_path):
    """A plain text called .gz, as some browsers save one, is refused alone: whatever else holds these bytes is a dump.

    Of the same bytes under two endings each reject says what its own lacks.
    """
    run = tmp_path / "run"
    write_dumps(run, [1, 2])
    for suffix in (".gz", ".xz"):
        (run / f"{ingests.name_of(1)}{suffix}").write_bytes(small_dump(1))
    code, summary = ingested(warehouse, run)
    assert (1, 2, 2) == (code, summary["new"], summary["rejected"])
    found = rows(warehouse, "SELECT substr(relative_path, -3), substr(found, -3) FROM raw.rejects ORDER BY ALL")
    assert [(".gz", ".gz"), (".xz", ".xz")] == found
    code, summary = ingested(warehouse, run, "--rehash")
    assert (0, 2, 2) == (code, summary["known"], summary["known_rejected"])


def test_a_plan_takes_no_dump_for_the_refused_data_with_its_bytes(warehouse, tmp_path):
    """A plain text called .gz was refused; the same text under its own name is to be loaded, and is."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / f"{ingests.name_of(1)}.gz").write_bytes(small_dump(1))
    ingested(warehouse, tmp_path / "run")
    write_dumps(tmp_path / "run", [1])
    for words in (["--plan"], []):
        code, summary = ingested(warehouse, tmp_path / "run", *words)
        assert (0, 1, 0, 1) == (code, summary["new"], summary["rejected"], summary["known_rejected"])


def test_a_compressed_proto_that_is_damaged_is_refused_alone(warehouse, tmp_path):
    """A proto without a text, damaged in its compression, is a reject that can be tried again; the others load."""
    write_dumps(tmp_path / "run", [1])
    data = b"\x1f\x8b\x08 no gzip"
    (tmp_path / "run" / "module_0009.jit_g.cpu_after_optimizations.hlo.pb.gz").write_bytes(data)
    code, summary = ingested(warehouse, tmp_path / "run")
    assert (1, 1, 1) == (code, summary["new"], summary["rejected"])
    [(role, rule, content)] = rows(warehouse, "SELECT role, rule, content FROM raw.rejects")
    assert ("proto", "compression", data) == (role, rule, zstandard.decompress(content))
    assert "0 loaded, 1 still refused" in call("rejects", "replay", "--all", "--warehouse", warehouse).out


def test_a_compressed_dump_is_the_same_content(warehouse, tmp_path):
    """gzip, Zstandard and xz hold what the plain file holds: stored once, seen four times."""
    [path] = write_dumps(tmp_path / "run", [1])
    for suffix, data in {
        ".gz": gzip.compress(small_dump(1)),
        ".zst": zstandard.compress(small_dump(1)),
        ".xz": lzma.compress(small_dump(1)),
    }.items():
        path.with_name(path.name + suffix).write_bytes(data)
    code, summary = ingested(warehouse, tmp_path / "run")
    assert (0, 1, 3) == (code, summary["new"], summary["known"])
    assert [("cpu", 4)] == rows(warehouse, "SELECT compile_target, COUNT(*) FROM raw.observations GROUP BY ALL")


def test_a_late_sibling_makes_another_dump(warehouse, tmp_path, fleet):
    """Allocations alone are a dump; when the other two files come, the file is seen again with a new content."""
    [main] = (fleet / "jaxlib-0.10.0").glob(f"*scalar_add*{SUFFIX}")
    run = tmp_path / "run"
    run.mkdir()
    (run / main.name).write_bytes(main.read_bytes())
    assert (0, 1) == ((outcome := ingested(warehouse, run))[0], outcome[1]["new"])
    for suffix in ("-buffer-assignment-values.txt", "-live-range.txt"):
        name = main.name.removesuffix(SUFFIX) + suffix
        (run / name).write_bytes((main.parent / name).read_bytes())
    assert (0, 1) == ((outcome := ingested(warehouse, run))[0], outcome[1]["new"])
    assert [("combined", "absent"), ("split", "present")] == rows(
        warehouse, "SELECT file_layout, live_range_state FROM raw.dumps ORDER BY ALL"
    )
    assert [("split",)] == rows(
        warehouse, "SELECT file_layout FROM staging.observations JOIN raw.dumps USING (dump_id)"
    )


def test_a_file_that_was_named_and_is_no_dump_is_refused(warehouse, tmp_path):
    """What somebody names is looked at, and the message says what a dump begins with."""
    (tmp_path / "notes.md").write_text("# Notes\n")
    outcome = call("ingest", tmp_path / "notes.md", "--warehouse", warehouse)
    assert 1 == outcome.code
    assert f"rejected: {tmp_path}/notes.md:1:1: expected 'BufferAssignment:'" in outcome.out
    assert "found '# Notes'" in outcome.out


def test_a_run_of_the_same_directory_name_from_elsewhere_is_another_run(warehouse, tmp_path):
    """Two runs that only share a name are not mixed: the second takes its parent along, and keeps that name."""
    for root, numbers in (("a", [1, 2]), ("b", [3, 4])):
        write_dumps(tmp_path / root / "nightly", numbers)
    ingested(warehouse, tmp_path / "a")
    assert ["b/nightly"] == ingested(warehouse, tmp_path / "b")[1]["runs"]
    for path in (tmp_path / "b" / "nightly").iterdir():
        path.unlink()
    write_dumps(tmp_path / "b" / "nightly", [5])
    assert ["b/nightly"] == ingested(warehouse, tmp_path / "b")[1]["runs"]
    assert 2 == counts(warehouse)["runs"]


@pytest.mark.parametrize("number", [1, 7])
def test_a_program_that_both_have_makes_no_one_run_of_two_directories(warehouse, tmp_path, number):
    """Small programs are equal in most runs, whatever their files are called: no file of the first run is replaced."""
    write_dumps(tmp_path / "a" / "nightly", [1, 2, 3])
    for path in write_dumps(tmp_path / "b" / "nightly", [2, 3], lambda other: small_dump(other + 10)):
        os.utime(path, ns=(0, 0))
    write_dumps(tmp_path / "b" / "nightly", [number], lambda _: small_dump(1))
    assert ["nightly"] == ingested(warehouse, tmp_path / "a")[1]["runs"]
    before = "SELECT relative_path, dump_id FROM staging.observations WHERE run_id = 1 ORDER BY ALL"
    expected = rows(warehouse, before)
    for _ in range(2):
        code, summary = ingested(warehouse, tmp_path / "b")
        assert (0, ["b/nightly"]) == (code, summary["runs"])
    assert expected == rows(warehouse, before)
    assert [(1, 3), (2, 3)] == rows(
        warehouse, "SELECT run_id, COUNT(*) FROM staging.observations GROUP BY run_id ORDER BY run_id"
    )


def test_a_run_of_the_same_given_name_from_elsewhere_is_refused(warehouse, tmp_path):
    """Exit 2, both roots named, nothing changed."""
    for root, numbers in (("a", [1, 2]), ("b", [3, 4])):
        write_dumps(tmp_path / root, numbers)
    ingested(warehouse, tmp_path / "a", "--run", "nightly")
    before = counts(warehouse)
    outcome = call("ingest", tmp_path / "b", "--run", "nightly", "--warehouse", warehouse)
    assert (2, "") == (outcome.code, outcome.out)
    for text in (str(tmp_path / "a"), str(tmp_path / "b"), "'nightly'", "--run"):
        assert text in outcome.err
    assert before == counts(warehouse)


def test_a_run_that_moved_is_the_same_run(warehouse, tmp_path):
    """A known name from another root with contents in common goes on: nothing new, no second run."""
    write_dumps(tmp_path / "a" / "nightly", [1, 2])
    ingested(warehouse, tmp_path / "a")
    (tmp_path / "a").rename(tmp_path / "b")
    write_dumps(tmp_path / "b" / "nightly", [3])
    code, summary = ingested(warehouse, tmp_path / "b")
    assert (0, 1, 2) == (code, summary["new"], summary["known"])
    assert 1 == counts(warehouse)["runs"]


def files_of(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir() if path.is_file()}


def test_plan_counts_what_the_ingest_then_does(tmp_path, fleet):
    """Seen, new, known and unreadable by content, as the ingest counts them; known ones are not read; nothing is
    written, not even a file for a warehouse that is not there yet."""
    run = tmp_path / "run"
    write_dumps(run, range(4), lambda number: small_dump(number % 3))
    path = tmp_path / "w" / "w.duckdb"
    path.parent.mkdir()
    sources = [fleet / "seeds", run]
    for step in range(3):
        before = files_of(path.parent)
        planned = ingested(path, *sources, "--plan")
        assert before == files_of(path.parent)
        done = ingested(path, *sources)
        names = ("seen", "new", "known", "rejected", "known_rejected", "ignored", "unreadable", "runs")
        assert [done[1][name] for name in names] == [planned[1][name] for name in names], step
        assert done[0] == planned[0]
        assert ({}, 0) == (planned[1]["rows"], planned[1]["bytes"])
        if step == 0:
            write_dumps(run, [7, 8], lambda number: small_dump(1))
            write_dumps(run, [9], truncated)
            ingested(path, *sources)  # a plan parses nothing, so it knows a refusal only by what was refused before
            write_dumps(run, [9, 10], lambda _: truncated(9))
            (run / f"bad{SUFFIX}.gz").write_bytes(b"\x1f\x8b\x08 no gzip")
            (run / f"lost{SUFFIX}").symlink_to(run / "gone.txt")
            write_dumps(run, [11, 12], lambda _: small_dump(50))
    assert (2, 3, 3) == tuple(counts(path)[table] for table in ("runs", "loads", "rejects"))


def test_plan_says_so_where_somebody_writes(warehouse, tmp_path):
    """It is then by the published copy, as of its time; nobody waits."""
    write_dumps(tmp_path / "run", [1, 2])
    with writing(warehouse) as writer:
        writer.publish()
        writer.con.execute("INSERT INTO meta.settings VALUES ('later', 'yes')")
        planning = run("ingest", tmp_path / "run", "--warehouse", warehouse, "--plan")
    assert 0 == planning.code
    assert "2 dumps of 1 run seen: 2 to load, 0 known, 0 rejected" in planning.out
    assert f"{warehouse} is being written; this is the published copy, as of " in planning.err


def test_two_contents_with_one_dump_id_are_never_mixed(warehouse, tmp_path):
    """Equal first 63 bits of two hashes: the second content is refused by the rule `identity`, the first stays."""
    write_dumps(tmp_path / "run", [1])
    ingested(warehouse, tmp_path / "run")
    with writing(warehouse) as writer:
        writer.con.execute("UPDATE raw.dumps SET sha256 = ?", ["0" * 64])
    before = counts(warehouse)
    code, summary = ingested(warehouse, tmp_path / "run", "--rehash")
    assert (1, 0, 1) == (code, summary["new"], summary["rejected"])
    assert [("identity", f"that of the content {'0' * 64}", content_of({"combined": small_dump(1)}).sha256)] == rows(
        warehouse, "SELECT rule, found, sha256 FROM raw.rejects"
    )
    assert {**before, "rejects": 1, "loads": 2} == counts(warehouse)


def test_a_dump_that_no_model_can_compute_stops_only_itself(warehouse, tmp_path):
    """Slots far beyond their allocation are legal, and their sum may be more than a BIGINT: a reject, by `model`."""
    paths = write_dumps(tmp_path / "run", range(4))
    huge = dump_text([Slot(0, 1, 0, 8) for _ in range(1100)]).replace(b"(size=8,", b"(size=%d," % 2**53)
    paths[1].write_bytes(huge)
    paths[3].write_bytes(huge.replace(b"v0", b"w0"))
    code, summary = ingested(warehouse, tmp_path / "run")
    assert (1, 2, 2) == (code, summary["new"], summary["rejected"])
    found = rows(warehouse, "SELECT relative_path, rule, found, content FROM raw.rejects ORDER BY relative_path")
    assert [(paths[1].name, "model"), (paths[3].name, "model")] == [row[:2] for row in found]
    assert huge == zstandard.decompress(found[0][3])
    assert "out of range" in found[0][2]
    assert 2 == rows(warehouse, "SELECT COUNT(DISTINCT dump_id) FROM intermediate.peaks")[0][0]
    code, summary = ingested(warehouse, tmp_path / "run")
    assert (0, 2, 2) == (code, summary["known"], summary["known_rejected"])


@pytest.mark.slow
def test_the_reader_in_python_gives_the_same_rows(example_warehouse, fleet, tmp_path, monkeypatch):
    """Without the native reader, every table of the example fleet has the rows it has with it."""
    monkeypatch.setenv("BUFFERHOUSE_NATIVE", "0")
    assert "Python (BUFFERHOUSE_NATIVE=0)" == reader()
    assert 0 == ingested(tmp_path / "two.duckdb", fleet)[0]
    assert contents(example_warehouse) == contents(tmp_path / "two.duckdb")


def test_processes_that_parse_are_a_former_option(tmp_path):
    """It is taken, does nothing and says so."""
    write_dumps(tmp_path / "run", range(2))
    outcome = call("ingest", tmp_path / "run", "--workers", 2, "--warehouse", tmp_path / "w.duckdb")
    assert 0 == outcome.code
    assert "--workers has no effect any more" in outcome.err
    assert "--workers" not in call("ingest", "--help").out


def test_large_inputs_are_committed_batch_by_batch(warehouse, tmp_path, monkeypatch):
    """A batch of new contents is one transaction with one row of raw.loads."""
    monkeypatch.setenv("BUFFERHOUSE_BATCH_DUMPS", "20")
    count = Limits.of_environment().dumps + 5
    write_dumps(tmp_path / "run", range(count))
    code, summary = ingested(warehouse, tmp_path / "run")
    assert (0, count) == (code, summary["new"])
    loads = rows(warehouse, "SELECT seen_count, new_count FROM raw.loads ORDER BY load_id")
    assert 2 == len(loads)
    assert count == sum(new for _, new in loads)
    by_load = rows(warehouse, "SELECT COUNT(*) FROM raw.dumps GROUP BY load_id ORDER BY load_id")
    assert [new for _, new in loads] == [count for (count,) in by_load]


def interrupted(words: list, number: signal.Signals) -> tuple[int, str]:
    """Run a command, send it a signal when it has committed something; return its exit code and what it said."""
    process = start(*words)
    try:
        first = process.stderr.readline()
        assert " dumps: " in first
        if number == signal.SIGINT:
            os.killpg(process.pid, number)  # as a terminal does
        else:
            os.kill(process.pid, number)
        _, errors = process.communicate(timeout=60)
    finally:
        kill_group(process)
    return process.returncode, errors


@pytest.mark.slow
# What kill -9 leaves, tests/system/test_crash.py says every day.
@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGKILL, marks=pytest.mark.soak)])
def test_an_interrupted_ingest_is_finished_by_the_same_command(warehouse, tmp_path, monkeypatch, number):
    """Ctrl-C ends with a line that says what is committed and exit 130; after it and after kill -9 the warehouse is
    whole, and the same command loads what is missing."""
    total = 100
    monkeypatch.setenv("BUFFERHOUSE_BATCH_DUMPS", str(total // 5))
    write_dumps(tmp_path / "run", range(total))
    words = ["ingest", tmp_path / "run", "--warehouse", warehouse]
    code, errors = interrupted(words, number)
    loaded = counts(warehouse)["dumps"]
    assert 0 < loaded < total
    if number == signal.SIGINT:
        assert (130, False) == (code, "Traceback" in errors)
        assert loaded == int(re.search(r"committed before: (\d+) new", errors)[1])
    else:
        assert -number == code
    assert [(loaded, loaded)] == rows(
        warehouse, "SELECT SUM(new_count), (SELECT COUNT(*) FROM raw.observations) FROM raw.loads"
    )
    monkeypatch.delenv("BUFFERHOUSE_BATCH_DUMPS")
    outcome = call(*words)
    assert 0 == outcome.code, outcome.err
    assert f"{total:,} dumps of 1 run seen: {total - loaded} new, {loaded} known" in outcome.out
    assert (total, total) == (counts(warehouse)["dumps"], counts(warehouse)["observations"])


def test_an_interrupt_behind_a_commit_counts_the_load_it_met_and_no_other(warehouse, tmp_path):
    """Others may have loaded into a lake since the ingest began."""
    write_dumps(tmp_path / "run", range(3))
    summaries: dict[str, Summary] = {}

    def stopped(title, function, *arguments):
        if not title.startswith("load batch"):
            return function(*arguments)
        load_texts(arguments[0], [small_dump(99)])
        function(*arguments)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ingest([Source.named([str(tmp_path / "run")])], writing(warehouse), run=stopped, by_source=summaries)
    (summary,) = summaries.values()
    assert (3, 4) == (summary.new, counts(warehouse)["dumps"])


@pytest.mark.parametrize(
    ("variable", "read"),
    [
        ("BUFFERHOUSE_BATCH_DUMPS", Limits.of_environment),
        ("BUFFERHOUSE_BATCH_BYTES", Limits.of_environment),
        ("BUFFERHOUSE_DUMP_LIMIT", limit_bytes),
        ("AWS_MAX_ATTEMPTS", tries),
    ],
)
@pytest.mark.parametrize("text", ["many", "1G", "0", "-5", "1.5", "9" * 5000])
def test_a_variable_that_is_no_number_is_named(monkeypatch, variable, read, text):
    """With what it holds; an empty one is none."""
    usual = read()
    monkeypatch.setenv(variable, text)
    said = f"${variable}: expected a number of at least 1, found '{text}'"
    with pytest.raises(UsageError, match=f"^{re.escape(said)}$"):
        read()
    monkeypatch.setenv(variable, "")
    assert usual == read()
    monkeypatch.setenv(variable, "7")
    assert usual != read()
