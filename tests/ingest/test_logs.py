"""Logs beside dumps: which are read, what is kept of them, and that nothing is kept twice or lost."""

import gzip
import json
import os
import shutil
from pathlib import Path

import pytest

from bufferhouse.dump.identity import is_log
from bufferhouse.ingest.in_memory import in_memory
from bufferhouse.messages.rows import faults, stored
from bufferhouse.sources.compression import plain_name
from bufferhouse.warehouse.open import writing
from bufferhouse.warehouse.retention import MESSAGES
from tests.command_line import call
from tests.oom.specimens import FITS, FOLDER, failures, log
from tests.warehouse.lake.lakes import lake_in, needs_lake
from tests.warehouses import rows, unproved

KV, XENT = "libtpu-0.0.33/kv", "libtpu-0.0.33/xent"
REFUSED = "E0000 00:00:1795368595.069269     901 file.cc:530] RESOURCE_EXHAUSTED: something else altogether\n"
COUNTS = ", ".join(f"(SELECT COUNT(*) FROM raw.{table}) AS {table}" for table in MESSAGES)


def run_of(folder: Path, name: str, *, is_beside: bool = False) -> Path:
    """A run with one dump of a failure and its log, in its directory or beside it; the whole source."""
    run = folder / "night.dump"
    shutil.copytree(FOLDER / name, run)
    if is_beside:
        (run / "stderr.txt").rename(folder / "night.stderr.log")
    return folder


def load(source: Path, warehouse, *words: object) -> dict:
    said = call("ingest", source, "--warehouse", warehouse, "--format", "json", *words)
    return {"code": said.code, "err": said.err, **json.loads(said.out)}


def messages(warehouse) -> list[tuple]:
    sql = "SELECT relative_path, dialect, line_number FROM staging.oom_messages ORDER BY ALL"
    return rows(warehouse, sql)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("train.log", True), ("train.log.gz", True), ("train.log.3.zst", True), ("a/stderr.txt", True),
        ("rank0-stdout.txt.xz", True), ("xent.message.txt", True), ("job.err", True), ("x.zip!stderr.txt", True),
        ("blog.txt", False), ("train.log.txt.py", False), ("catalog", False), ("stderr.txt.bak", False),
        ("module_0001.jit_f.after_optimizations-memory-usage-report.txt", False), ("module.debug_options", False),
    ],
)  # fmt: skip
def test_a_log_is_known_by_its_name(name: str, expected: bool):
    """What a logger or a shell writes, also compressed; nothing that XLA writes itself."""
    assert expected == is_log(plain_name(name))


@pytest.mark.parametrize("is_beside", [False, True], ids=["in the run", "beside it"])
def test_a_log_is_of_the_run_that_it_lies_in_or_beside(tmp_path, is_beside, warehouse):
    """Its messages are those that the reader finds; a second ingest reads nothing, and a touched log stores nothing."""
    source = run_of(tmp_path / "source", KV, is_beside=is_beside)
    first = load(source, warehouse)
    assert (0, 1, 2) == (first["code"], first["logs"], first["messages"])
    path = "../night.stderr.log" if is_beside else "stderr.txt"
    [failure] = failures(log(KV))
    assert (path, "T1", failure.line_number) in messages(warehouse)
    with writing(warehouse) as opened:
        [kept] = [one for one in stored(opened.con) if one.is_failure]
    assert (failure.key, failure.lines) == (kept.key, kept.lines)
    before, told = rows(warehouse, f"SELECT {COUNTS}"), messages(warehouse)
    assert "logs" not in load(source, warehouse)
    os.utime(next(source.rglob("*stderr*")), ns=(1, 1))
    again = load(source, warehouse)
    [(logs, *others)], [(logs_before, *others_before)] = rows(warehouse, f"SELECT {COUNTS}"), before
    assert (1, 0, logs_before + 1) == (again["logs"], again["messages"], logs)
    assert others_before == others
    assert told == messages(warehouse)


def test_a_log_that_grows_is_read_again(tmp_path, warehouse):
    """Its newest reading stands; the older one is kept, as older observations are. What it said before is not new.

    It is no load of dumps: else a job that dumps nothing any more looks alive to whoever watches when they came last.
    """
    source = run_of(tmp_path / "source", KV)
    before = load(source, warehouse)["messages"]

    def last_load() -> dict:
        return json.loads(call("stats", "--format", "json", "--warehouse", warehouse).out)["last_load"]

    of_dumps = last_load()
    assert (1, 1) == (of_dumps["seen"], of_dumps["new"])
    with (source / "night.dump" / "stderr.txt").open("ab") as file:
        file.write(log(XENT).read_bytes())
    assert len(messages(warehouse)) == before
    said = load(source, warehouse)
    new, found = said["messages"], messages(warehouse)
    assert (1, before + new) == (said["logs"], len(found))
    assert new > 0
    assert ["T1", "T1"] == [dialect for _, dialect, _ in found if dialect == "T1"]
    assert [(2, 1)] == rows(warehouse, "SELECT COUNT(*), COUNT(replaced_load_id) FROM raw.oom_logs")
    assert of_dumps == last_load()
    assert [] == unproved(warehouse)


def test_a_log_without_a_message_is_counted_and_not_read_again(tmp_path, warehouse):
    """One row says that it was read; what begins like no text is a log without a message, too."""
    source = run_of(tmp_path / "source", KV)
    (source / "night.dump" / "stderr.txt").write_text("step 1\n" * 1000)
    (source / "night.dump" / "a.out").write_bytes(b"\x7fELF\0\0" + log(KV).read_bytes())
    first = load(source, warehouse)
    assert (0, 2, 0) == (first["code"], first["logs"], first["messages"])
    assert [(2, 0, 0, 0, 0)] == rows(warehouse, f"SELECT {COUNTS}")
    assert "logs" not in load(source, warehouse)


def test_a_damaged_message_is_a_reject_and_stops_nothing(tmp_path, warehouse):
    """A refused line, and a message that is cut, which is kept and marked; repaired, both are resolved."""
    source = run_of(tmp_path / "source", KV)
    path = source / "night.dump" / "stderr.txt"
    whole = path.read_text()
    cut = whole[: whole.rindex("Shape:")]
    path.write_text(REFUSED + cut)
    first = load(source, warehouse)
    assert (1, 1, 0, 2) == (first["code"], first["new"], first["rejected"], first["refused_messages"])
    rejects = "SELECT role, rule, line_number, state FROM raw.rejects ORDER BY line_number"
    assert [("log", "message", 1, "open"), ("log", "message", 134, "open")] == rows(warehouse, rejects)
    assert [(None, False)] == rows(warehouse, "SELECT needed_bytes, is_reproduced FROM marts.oom_v1 WHERE is_failure")
    again = load(source, warehouse, "--rehash")
    assert (0, 0) == (again["code"], again["refused_messages"])
    shown = call("rejects", "show", "1", "--warehouse", warehouse)
    assert "something else altogether" in shown.out
    replayed = call("rejects", "replay", "1", "--warehouse", warehouse)
    assert "a newer bufferhouse reads it again" in replayed.out + replayed.err
    left = "0 loaded, 0 still refused; 2 lines of logs left, which an ingest by a newer bufferhouse reads again\n"
    assert left == call("rejects", "replay", "--all", "--warehouse", warehouse).out
    path.write_text(whole)
    assert 0 == load(source, warehouse)["code"]
    assert {"resolved"} == {state for *_, state in rows(warehouse, rejects)}
    assert [(True,)] == rows(warehouse, "SELECT is_reproduced FROM marts.oom_v1 WHERE is_failure")
    assert [] == unproved(warehouse)


def test_what_a_cut_log_says_before_its_end_is_loaded(tmp_path, warehouse):
    """A process that was killed leaves compressed data without its end: the message is loaded, the cut is a reject."""
    source = run_of(tmp_path / "source", KV)
    plain = source / "night.dump" / "stderr.txt"
    steps = "".join(f"step {number}\n" for number in range(5000))
    whole, path = gzip.compress(plain.read_bytes() + steps.encode()), plain.with_name("stderr.log.gz")
    plain.unlink()
    path.write_bytes(whole[:-60])
    first = load(source, warehouse)
    assert (1, 1, [], 1) == (first["code"], first["logs"], first["unreadable"], first["refused_messages"])
    rejects = "SELECT source_uri, expected, state FROM raw.rejects"
    assert [(str(path), "compressed data that is whole", "open")] == rows(warehouse, rejects)
    assert [(1,)] == rows(warehouse, "SELECT COUNT(*) FROM marts.oom_v1 WHERE is_failure")
    again = load(source, warehouse, "--rehash")
    assert (0, 0) == (again["code"], again["refused_messages"])
    path.write_bytes(whole)
    assert 0 == load(source, warehouse)["code"]
    assert [("resolved",)] == rows(warehouse, "SELECT state FROM raw.rejects")
    assert [(1,)] == rows(warehouse, "SELECT COUNT(*) FROM marts.oom_v1 WHERE is_failure")


def test_a_log_that_is_damaged_or_of_no_run_is_named(tmp_path, warehouse):
    """Neither stops the dumps, nor the other logs."""
    source = run_of(tmp_path / "source", KV)
    (source / "night.dump" / "cut.log.gz").write_bytes(gzip.compress(log(XENT).read_bytes())[:2000])
    (source / "night.dump" / "hidden.log").write_bytes(gzip.compress(log(XENT).read_bytes()))
    (source / "night.dump" / "plain.log.gz").write_bytes(log(XENT).read_bytes())
    shutil.copytree(FOLDER / XENT, source / "day.dump")
    (source / "day.dump" / "stderr.txt").unlink()
    (source / "other.log").write_bytes(log("libtpu-0.0.8/abort_rnn_t1").read_bytes())
    (source / "both.log").write_bytes(log(XENT).read_bytes())
    first = load(source, warehouse)
    damaged, hidden, plain = sorted(first["unreadable"], key=lambda line: line.partition(": ")[0].rpartition("/")[2])
    assert "cut.log.gz: expected compressed data that is whole, found Compressed file ended before" in damaged
    assert hidden.endswith("hidden.log: expected a log as text, found: gzip data; name it ….gz")
    assert plain.endswith("plain.log.gz: text that is not compressed; name it without .gz")
    [stray] = first["unplaced"]
    assert "other.log: 2 messages, but none of 2 runs near it fits; ingest it with the dumps of its program" in stray
    assert (1, 2, 2) == (first["code"], first["new"], first["logs"])
    told = call("ingest", source, "--warehouse", warehouse).out
    assert "1 log of no known run" in told
    assert f"\nlog of no known run: {stray}\n" in told
    sql = "SELECT run_name FROM marts.oom_v1 WHERE log_path = '../both.log' AND is_failure"
    assert [("day.dump",)] == rows(warehouse, sql)  # the only dump with such bytes


def test_a_log_is_named_beside_dumps_or_with_its_run(tmp_path, warehouse):
    """`ingest some.log DIR`, and a log alone with --run; a log alone without is no dump."""
    source = run_of(tmp_path / "source", KV)
    far = tmp_path / "far" / "some.log"
    far.parent.mkdir()
    (source / "night.dump" / "stderr.txt").rename(far)
    said = call("ingest", far, source, "--warehouse", warehouse)
    assert (0, True) == (said.code, "1 log read: 2 new messages" in said.out)
    assert {"../../far/some.log"} == {path for path, *_ in messages(warehouse)}
    other = far.with_name("other.log")
    other.write_bytes(log(XENT).read_bytes())
    assert 1 == call("ingest", other, "--warehouse", warehouse).code
    assert 0 == call("ingest", other, "--run", "night.dump", "--warehouse", warehouse).code
    assert 2 == len({path for path, *_ in messages(warehouse)})


def two_nights(folder: Path, more: str = "") -> Path:
    """A source with two runs and their logs, called like none of them; the configuration of it, with a retention."""
    for number, name in enumerate((XENT, KV), 1):
        shutil.copytree(FOLDER / name, folder / "dumps" / f"night_{number}")
        (folder / "dumps" / f"night_{number}" / "stderr.txt").rename(folder / "dumps" / f"slurm-{number}.out")
    for file in (folder / "dumps" / "night_1").iterdir():
        os.utime(file, (1_700_000_000, 1_700_000_000))
    config = folder / "bufferhouse.toml"
    source = f'[[sources]]\nname = "a"\npaths = ["dumps"]\nsettle = "0s"\n{more}'
    config.write_text(f"[warehouse]\npublish = false\n{source}")
    return config


def places(warehouse) -> set[tuple]:
    sql = "SELECT r.run_name, m.relative_path FROM raw.oom_messages AS m JOIN raw.runs AS r USING (run_id)"
    return set(rows(warehouse, sql))


FIRST, SECOND = ("night_1", "../slurm-1.out"), ("night_2", "../slurm-2.out")


def test_a_log_of_a_removed_run_is_not_that_of_the_one_that_stays(tmp_path, warehouse):
    """It waits for its run to come back, and is no fault of the passes until then; a log that is newer is of those
    that stay."""
    config = two_nights(tmp_path)
    one_pass = ("ingest", "--config", config, "--warehouse", warehouse)
    assert 0 == call(*one_pass).code
    assert {FIRST, SECOND} == places(warehouse)
    assert 0 == call("prune", "--keep-runs", 1, "--yes", "--warehouse", warehouse).code
    said = call(*one_pass)
    assert (0, False, {SECOND}) == (said.code, "log read" in said.out, places(warehouse))
    newer = tmp_path / "dumps" / "slurm-3.out"
    newer.write_bytes(log("libtpu-0.0.8/abort_rnn_t1").read_bytes())
    assert 0 == call(*one_pass).code
    assert {SECOND, ("night_2", "../slurm-3.out")} == places(warehouse)
    for file in (tmp_path / "dumps" / "night_1").iterdir():
        os.utime(file)
    assert 0 == call(*one_pass).code
    assert {FIRST, SECOND, ("night_2", "../slurm-3.out")} == places(warehouse)


def test_a_log_waits_for_a_run_that_waits(tmp_path, warehouse):
    """It is not taken for that of the only run that is there, and not for one of no run."""
    config = two_nights(tmp_path, 'marker = "DONE"\n')
    one_pass = ("ingest", "--config", config, "--warehouse", warehouse)
    said = call(*one_pass)
    told = "it may be about run night_1 or 1 other run, of which no dump is loaded yet\n"
    assert (0, 2, {}) == (said.code, said.out.count(told), dict(places(warehouse)))
    (tmp_path / "dumps" / "night_1" / "DONE").touch()
    said = call(*one_pass)
    told = "slurm-2.out: it may be about run night_2, of which no dump is loaded yet\n"
    assert (0, 1, {FIRST}) == (said.code, said.out.count(told), places(warehouse))
    (tmp_path / "dumps" / "night_2" / "DONE").touch()
    assert 0 == call(*one_pass).code
    assert {FIRST, SECOND} == places(warehouse)


def test_a_prune_takes_the_messages_of_a_run_along(warehouse):
    """Those of other runs stay; what goes is counted, before and after."""
    for name in (KV, XENT):
        load(FOLDER / name, warehouse, "--run", name)
    [(count,)] = rows(
        warehouse, f"SELECT COUNT(*) FROM raw.oom_messages JOIN raw.runs USING (run_id) WHERE run_name = '{KV}'"
    )
    plan = call("runs", "rm", KV, "--plan", "--warehouse", warehouse)
    done = call("runs", "rm", KV, "--yes", "--warehouse", warehouse)
    assert (0, True) == (done.code, done.out.endswith(f" and {count} messages of logs removed\n"))
    assert done.out.replace("removed", "would be removed") == plan.out.splitlines(keepends=True)[-1]
    runs = " UNION ".join(f"SELECT run_id FROM raw.{table}" for table in MESSAGES[:4])
    assert [(XENT,)] == rows(warehouse, f"SELECT run_name FROM raw.runs WHERE run_id IN ({runs})")
    assert [(1,)] == rows(warehouse, "SELECT COUNT(*) FROM raw.runs")
    assert [] == unproved(warehouse)


def test_verify_proves_the_messages():
    """From the text of each: a cell that is not what it says, and rows that are gone, are named."""
    with in_memory([str(FOLDER / KV)]) as con:
        assert [] == faults(con)
        for damage in (
            "UPDATE raw.oom_messages SET message_text = replace(message_text, '16.00G', '17.00G') WHERE dialect = 'T1'",
            "UPDATE raw.oom_figures SET printed_text = '1.00G' WHERE figure_name = 'used'",
            "UPDATE raw.oom_messages SET capacity_bytes = 5 WHERE dialect = 'T1'",
            "DELETE FROM raw.oom_allocations WHERE ordinal = 0",
            "DELETE FROM raw.oom_messages WHERE dialect = 'T1'",
            "DELETE FROM raw.oom_logs",
        ):
            con.begin()
            con.execute(damage)
            assert faults(con), damage
            con.rollback()
        assert [] == faults(con)


def test_files_beside_a_dump_say_that_it_did_not_fit(tmp_path, warehouse):
    """Also those that come later, without another file; nothing is said of a program that fits."""
    source = run_of(tmp_path / "source", FITS)
    run = source / "night.dump"
    (run / "stderr.txt").unlink()
    load(source, warehouse)
    said = "SELECT did_not_fit FROM marts.observations_v2"
    assert [(None,)] == rows(warehouse, said)
    assert 0 == call("oom", run).code
    (dump,) = run.glob("*buffer-assignment.txt")
    module = dump.name.partition(".after_optimizations")[0]
    (run / f"{module}.oom_intermediate_module.txt").write_text("HloModule jit_f\n")
    again = load(source, warehouse)
    assert (0, 0, [(True,)]) == (again["code"], again["new"], rows(warehouse, said))
    told = call("oom", run, "--format", "json")
    [silent] = json.loads(told.out)["without_message"]
    assert (1, str(dump)) == (told.code, silent["dump"])
    assert call("oom", run).out.startswith("1 program did not fit\n")
    [(name,)] = rows(warehouse, "SELECT run_name FROM raw.runs")
    (tmp_path / "other.log").write_text("step 1\n")
    # No log of the run tells of it: one that is named beside the run and says nothing does not hide it.
    for words in ([name], [tmp_path / "other.log", "--run", name]):
        assert 1 == call("oom", *words, "--warehouse", warehouse).code
    assert 1 == load(source, warehouse)["known"]
    assert [(2,)] == rows(warehouse, "SELECT COUNT(*) FROM raw.observations")
    assert [] == unproved(warehouse)


def test_a_dump_of_another_program_is_not_called_a_failure(tmp_path):
    """The only dump of a run is shown beside a message that it does not explain, and is not said not to fit."""
    source = run_of(tmp_path / "source", FITS)
    (source / "night.dump" / "stderr.txt").write_bytes(log(XENT).read_bytes())
    with in_memory([str(source)]) as con:
        sql = "SELECT join_state, is_reproduced, is_explained FROM marts.oom_v1 WHERE is_failure"
        assert [("joined", False, False)] == con.execute(sql).fetchall()
        assert [(False,)] == con.execute("SELECT DISTINCT is_explained FROM marts.oom_values_v1").fetchall()
        assert [(None,)] == con.execute("SELECT did_not_fit FROM marts.observations_v2").fetchall()


@pytest.mark.soak
@needs_lake
def test_a_lake_keeps_messages_as_a_file_does(tmp_path):
    """The same rows and marts, once; verify, prune and a copy know them."""
    source, lake = run_of(tmp_path / "source", KV), lake_in(tmp_path)
    for place in (lake, tmp_path / "w.duckdb"):
        assert (0, 2) == (lambda said: (said["code"], said["messages"]))(load(source, place))
        assert "logs" not in load(source, place)
        assert 0 == call("verify", "--warehouse", place).code
    assert 0 == call("copy", lake, tmp_path / "copy.duckdb").code
    mart = "SELECT * EXCLUDE (run_id) FROM marts.oom_v1 ORDER BY message_id"
    assert rows(tmp_path / "w.duckdb", mart) == rows(tmp_path / "copy.duckdb", mart)
    assert 0 == call("runs", "rm", "night.dump", "--yes", "--warehouse", lake).code
    assert 0 == call("verify", "--warehouse", lake).code
    said = call("query", "SELECT COUNT(*) AS n FROM raw.oom_messages", "--format", "json", "--warehouse", lake)
    assert [{"n": 0}] == json.loads(said.out)


def test_the_number_of_refused_lines_that_is_kept_is_bounded(tmp_path, warehouse):
    """A hundred by themselves, the others as one with their number."""
    source = run_of(tmp_path / "source", KV)
    lines = "".join(REFUSED.replace("else", str(number)) for number in range(500))
    (source / "night.dump" / "stderr.txt").write_text(lines)
    assert 101 == load(source, warehouse)["refused_messages"]
    assert [("400 more such lines",)] == rows(warehouse, "SELECT found[:19] FROM raw.rejects WHERE found LIKE '%more%'")


def test_a_log_that_fits_dumps_of_several_runs_is_read_well(tmp_path, warehouse):
    """What is missing is its run, not a reader: it is no unreadable path, and the way out is the folder of its run."""
    source = tmp_path / "source"
    for name in ("night", "day"):
        folder = run_of(source / name, KV) / "night.dump"
        (folder / "stderr.txt").unlink()
        folder.rename(source / name / f"{name}.dump")
    for file in (source / "day").rglob("*-buffer-assignment.txt"):
        file.write_text(file.read_text() + "\n")  # another content
    (source / "far.log").write_bytes(log(KV).read_bytes())
    found = load(source, warehouse)
    [line] = found["unplaced"]
    assert (1, []) == (found["code"], found["unreadable"])
    assert (
        "far.log: 2 messages, and 2 dumps of 2 runs near it fit equally well; put it into the folder of its run" in line
    )
    (source / "far.log").rename(source / "night" / "night.dump" / "far.log")
    for messages_count in (2, 0):
        found = load(source, warehouse)
        assert (0, None, messages_count) == (found["code"], found.get("unplaced"), found.get("messages", 0))
