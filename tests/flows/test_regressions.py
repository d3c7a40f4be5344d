"""The flow `regressions` on a real Prefect server: the newest runs compared, and growth told as an event."""

import flows

# isort: split

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import duckdb
import pytest

import flows.callers
import flows.events
import flows.regressions
from bufferhouse.commands.ingest_run import run_ingest
from bufferhouse.compare.donations import NOT_REQUESTED
from bufferhouse.config.load import load
from bufferhouse.errors import UsageError
from bufferhouse.report.compare.data import read_comparison
from tests.command_line import CHECKOUT, kill_group, start
from tests.flows.clock import artifacts, figures
from tests.flows.deployment import run_deployed
from tests.ingests import ingest, write_dumps
from tests.synthetic import Slot, dump_text, small_dump

pytest_plugins = ["tests.flows.prefect_server"]
WRITER = """
import sys
from pathlib import Path
from bufferhouse.warehouse.open import writing
with writing(Path(sys.argv[1])):
    print("writing", flush=True)
    sys.stdin.readline()
"""
BEFORE, AFTER = "jaxlib-0.4.38", "jaxlib-0.6.0"


@pytest.fixture
def upgraded(own_warehouse):
    """The example fleet as it was when jaxlib 0.6.0 was new."""
    with duckdb.connect(str(own_warehouse)) as con:
        # Runs that no observation has are left out of all comparisons.
        con.execute(
            "DELETE FROM raw.observations WHERE run_id IN (SELECT run_id FROM raw.runs"
            f" WHERE started_at > (SELECT started_at FROM raw.runs WHERE run_name = '{AFTER}'))"
        )
    return own_warehouse


@pytest.fixture
def told(monkeypatch):
    """What the flow emits."""
    found = []
    monkeypatch.setattr(flows.regressions, "emit_regression", lambda *event: found.append(event))
    return found


@pytest.fixture
def lost(monkeypatch):
    """The donations that the flow tells of."""
    found = []
    monkeypatch.setattr(flows.regressions, "emit_lost_donations", lambda *event: found.append(event))
    return found


def night(folder: Path, day: int, **facts: str) -> str:
    """Make a folder of dumps the run of a day, with other facts about it in its run.json; return its path."""
    (folder / "run.json").write_text(json.dumps({**facts, "started_at": f"2026-11-0{day}T00:00:00Z"}))
    return str(folder)


def test_a_run_that_went_meanwhile_is_said_to_have_gone(own_warehouse):
    """Retention may remove one of the runs behind the choice: the flow run ends with that, and not with a traceback."""
    with duckdb.connect(str(own_warehouse), read_only=True) as con:
        (run_id,) = con.execute("SELECT run_id FROM raw.runs WHERE run_name = ?", [BEFORE]).fetchone()
    with pytest.raises(UsageError, match=f"run {BEFORE} or {AFTER} was removed before it was compared"):
        flows.regressions.compare.fn(str(own_warehouse), BEFORE, AFTER, (run_id, 1_000_000), "reserved", 0.0)


def test_growth_over_the_limit_is_told(prefect_server, upgraded, told):
    """An event for the pair of runs names what grew with its bytes; artifacts show comparison and counts."""
    state = flows.regressions.regressions(warehouse=str(upgraded), limit="5%,1MiB", return_state=True)
    assert "COMPLETED" == state.type.value, state.message
    [(run, before, message, offenders)] = [event for event in told if event[0] == AFTER]
    assert (AFTER, BEFORE) == (run, before)
    assert (
        f"run {AFTER}: 1 program grew by at least 5 % and 1 MiB since {BEFORE}, most of all jit_cnn_train_step by "
        "1.3 MiB, main cause now alive at the peak +1.3 MiB"
    ) == message
    expected = next(
        row for row in read_comparison(upgraded, BEFORE, AFTER).programs if row["program_label"] == "jit_cnn_train_step"
    )
    assert [{name: expected[name] for name in flows.regressions._TOLD}] == offenders
    left = artifacts(state)
    assert "Why jit\\_cnn\\_train\\_step changed in memory space 0" in left["regressions"]
    said = figures(left["regressions-summary"])
    assert (str(len(told)), "0") == (said["regressions"], said["accepted"])


def test_a_program_of_several_memory_spaces_is_counted_once(prefect_server, tmp_path, told):
    """It has a figure in each of them; the event has all of these."""
    path = tmp_path / "warehouse.duckdb"
    headers = [", preallocated-temp", ", color 1, preallocated-temp"]
    for number, grown_bytes in enumerate((0, 2**25), 1):

        def text(number: int, more: int = grown_bytes) -> bytes:
            size = 2**20 + number + (more if number == 1 else 0)
            return dump_text([Slot(0, 2, 0, size, space) for space in (0, 1)], headers)

        _, other = write_dumps(tmp_path / f"r{number}", [1, 2], text)
        other.rename(other.with_name(other.name.replace("jit_f", "jit_g")))
    assert 0 == run_ingest([str(tmp_path / "r1"), str(tmp_path / "r2")], path).exit_code
    state = flows.regressions.regressions(warehouse=str(path), return_state=True)
    assert "1 regression in 1 comparison" == state.message
    said = figures(artifacts(state)["regressions-summary"])
    assert ("2", "1") == (said["programs compared"], said["regressions"])
    [(_, _, message, offenders)] = told
    assert message.startswith(
        "run r2: 1 program grew by at least 5 % and 16 MiB since r1, most of all jit_f by 32.0 MiB"
    )
    assert [0, 1] == [one["memory_space"] for one in offenders]


def test_a_run_that_its_folder_calls_latest_is_compared_itself(prefect_server, tmp_path, told):
    """As a word `latest` means the newest run of all, which here is one of another track."""
    path = tmp_path / "warehouse.duckdb"
    programs = CHECKOUT / "tests" / "data" / "reshaped"
    nights = []
    for day, (track, name, model) in enumerate(
        [("nightly", "first", "layers-4"), ("nightly", "latest", "layers-6"),
         ("release", "r1", "layers-4"), ("release", "r2", "layers-4")], 1,
    ):  # fmt: skip
        nights.append(night(shutil.copytree(programs / model, tmp_path / track / name), day, track=track))
    assert 0 == run_ingest(nights, path).exit_code
    state = flows.regressions.regressions(warehouse=str(path), return_state=True)
    assert "1 regression in 2 comparisons" == state.message
    assert [("latest", "first")] == [event[:2] for event in told]


def test_an_accept_file_that_is_not_there_is_named_with_its_key(prefect_server, own_warehouse):
    """The log of a flow run shows no configuration."""
    settings = ["regressions.accept=no.toml"]
    state = flows.regressions.regressions(warehouse=str(own_warehouse), settings=settings, return_state=True)
    expected = "--set regressions.accept: regressions.accept: no.toml: No such file or directory"
    assert ("FAILED", expected) == (state.type.value, state.message)


def test_the_accept_file_that_a_deployment_may_choose_is_the_configured_one(
    prefect_server, own_warehouse, tmp_path, monkeypatch
):
    """It lies beside the configuration, wherever `serve` was started."""
    conf = tmp_path / "bufferhouse.toml"
    conf.write_text(f"warehouse.path = '{own_warehouse}'\nregressions.accept = 'accept.toml'\n")
    (tmp_path / "accept.toml").touch()
    monkeypatch.setenv(flows.callers.SERVED, flows.callers.served(load(conf), []))
    state = run_deployed(flows.regressions.regressions, accept="accept.toml")
    assert "COMPLETED" == state.type.value, state.message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (lambda number: b"damaged", "of 2 runs 0 have dumps; 2 open rejects: bufferhouse rejects ls"),
        (lambda number: small_dump(number) if number == 1 else b"damaged",
         "of 2 runs 1 has dumps; 1 open reject: bufferhouse rejects ls"),
    ],
)  # fmt: skip
def test_where_nothing_is_compared_it_says_so_and_why(prefect_server, warehouse, tmp_path, text, expected):
    """No regression is found, as where all is well."""
    ingest(warehouse, *(write_dumps(tmp_path / f"run{number}", [number], text)[0].parent for number in (1, 2)))
    state = flows.regressions.regressions(warehouse=str(warehouse), return_state=True)
    said = f"othing was compared: no platform, track and device has two runs with dumps; {expected}"
    assert ("COMPLETED", f"0 regressions in 0 comparisons; n{said}") == (state.type.value, state.message)
    left = artifacts(state)
    assert f"N{said}." == left["regressions"]
    assert f"N{said}." in left["regressions-summary"]


def test_accepted_growth_is_not_told(prefect_server, upgraded, told, tmp_path):
    """An accepted program is counted and silent; an entry that no comparison needs is called stale."""
    accept = tmp_path / "accept.toml"
    entry = '[[accept]]\nprogram = "{}"\nmemory_space = 0\nup_to_bytes = 6_700_000\nwhy = "agreed"\n'
    accept.write_text(entry.format("jit_cnn_train_step") + entry.format("jit_fft"))
    state = flows.regressions.regressions(
        warehouse=str(upgraded), accept=str(accept), settings=["regressions.limit=5%,1MiB"], return_state=True
    )
    assert [] == told
    summary = artifacts(state)["regressions-summary"]
    said = figures(summary)
    assert ("0", "1", "1") == tuple(said[name] for name in ("regressions", "accepted", "stale in the accept file"))
    assert "Nothing grew over the limit for jit_fft in memory space 0; remove the entry (agreed)" in summary


@pytest.mark.parametrize("names", [["old"], ["old", "new"]])
def test_where_nothing_is_compared_no_accepted_growth_is_stale(prefect_server, tmp_path, names):
    """Whether an entry is needed nobody knows where there is one run, or none of its programs is in the other."""
    path = tmp_path / "warehouse.duckdb"
    for number, name in enumerate(names):
        [file] = write_dumps(tmp_path / name, [number])
        file.rename(file.with_name(file.name.replace("jit_f", f"jit_{'fg'[number]}")))
    run_ingest([str(tmp_path / name) for name in names], path)
    accept = tmp_path / "accept.toml"
    accept.write_text('[[accept]]\nprogram = "jit_f"\nmemory_space = 0\nup_to_bytes = 99\nwhy = "agreed"\n')
    state = flows.regressions.regressions(warehouse=str(path), accept=str(accept), return_state=True)
    summary = artifacts(state)["regressions-summary"]
    assert ("0", False) == (figures(summary)["stale in the accept file"], "remove the entry" in summary)


def test_a_metric_that_is_none_fails_with_a_message(prefect_server, own_warehouse):
    """It names those that there are."""
    state = flows.regressions.regressions(warehouse=str(own_warehouse), metric="total", return_state=True)
    expected = "metric: expected reserved, occupied, temp or footprint, found 'total'"
    assert ("FAILED", expected) == (state.type.value, state.message)


def test_one_run_is_compared_with_nothing(prefect_server, warehouse, told):
    """In an empty warehouse there is nothing to compare, and nothing to tell."""
    state = flows.regressions.regressions(warehouse=str(warehouse), return_state=True)
    message = "0 regressions in 0 comparisons; nothing was compared: the warehouse has no runs"
    assert ("COMPLETED", message) == (state.type.value, state.message)
    assert [] == told


def test_a_retention_that_keeps_nothing_to_compare_with_is_named(prefect_server, tmp_path):
    """Who keeps one run of each kind gets no comparison, night by night: the message says which key to change."""
    path = tmp_path / "warehouse.duckdb"
    write_dumps(tmp_path / "only", [1])
    run_ingest([str(tmp_path / "only")], path)
    settings = ["retention.keep_runs=1"]
    state = flows.regressions.regressions(warehouse=str(path), settings=settings, return_state=True)
    expected = "of 1 run 1 has dumps; retention.keep_runs = 1 removes the run to compare with, 2 keeps it"
    assert state.message.endswith(expected)


def test_what_cannot_be_judged_is_told(prefect_server, tmp_path, told):
    """Two runs without a program in common: no regression is found, and the message says that nothing was compared."""
    [old] = write_dumps(tmp_path / "old", [1])
    old.rename(old.with_name(old.name.replace("jit_f", "jit_g")))
    write_dumps(tmp_path / "new", [2])
    path = tmp_path / "warehouse.duckdb"
    assert 0 == run_ingest([str(tmp_path / "old"), str(tmp_path / "new")], path).exit_code
    state = flows.regressions.regressions(warehouse=str(path), return_state=True)
    message = (
        "0 regressions in 1 comparison; nothing could be compared: old → new; "
        "1 program gone since the run before: jit_g"
    )
    assert ("COMPLETED", message) == (state.type.value, state.message)
    assert [] == told


def test_refused_dumps_are_told(prefect_server, tmp_path, told):
    """A program may have grown in one of them: no regression among the others is not all that there is to say."""
    path = tmp_path / "warehouse.duckdb"
    for place, (name, damaged) in enumerate({"old": [], "new": [2], "newer": [1, 2]}.items(), 1):
        for number, file in enumerate(write_dumps(tmp_path / name, [1, 2]), 1):
            if number in damaged:
                file.write_text(f"{file.read_text()}\n{name}\n")
            os.utime(file, (1_700_000_000 + place,) * 2)
    run_ingest([str(tmp_path / name) for name in ("old", "new", "newer")], path)
    state = flows.regressions.regressions(warehouse=str(path), return_state=True)
    message = (
        "0 regressions in 1 comparison; not compared, as they were refused: 1 dump of new; "
        "not compared, as all dumps were refused: newer"
    )
    assert ("COMPLETED", message, []) == (state.type.value, state.message, told)
    said = figures(artifacts(state)["regressions-summary"])
    assert ("1", "1") == (said["dumps refused in these runs"], said["newer runs, all dumps refused"])


def test_growth_across_a_night_without_the_program_is_told(prefect_server, tmp_path, told):
    """Its dump was refused in that night, or the night did not compile it: it is compared with the night before."""
    path, nights = tmp_path / "warehouse.duckdb", []
    for day, grown in enumerate([0, 0, 2**26], 1):
        folder = tmp_path / f"n{day}"
        _, g, h = write_dumps(folder, [1, 2, 3], lambda number, grown=grown: small_dump(number + (number == 2) * grown))
        g = g.rename(g.with_name(g.name.replace("jit_f", "jit_g")))
        h = h.rename(h.with_name(h.name.replace("jit_f", "jit_h")))
        if day == 2:
            g.write_text(f"{g.read_text()}\ndamaged\n")
            h.unlink()
        nights.append(night(folder, day))
    run_ingest(nights, path)
    state = flows.regressions.regressions(warehouse=str(path), return_state=True)
    assert "1 regression in 2 comparisons; not compared, as they were refused: 1 dump of n2" == state.message
    [(run, before, _, offenders)] = told
    assert ("n3", "n1", [2**26]) == (run, before, [one["delta_bytes"] for one in offenders])
    left = artifacts(state)
    assert ["n2 → n3", "n1 → n3"] == re.findall(r"^# (.*)$", left["regressions"], re.M)
    assert "3" == figures(left["regressions-summary"])["programs compared"]


def test_programs_that_are_gone_are_told(prefect_server, tmp_path, told):
    """A night without the program that grew in it would read as a night in which nothing grew."""
    path = tmp_path / "warehouse.duckdb"
    for name in ("old", "new"):
        _, g, further = write_dumps(tmp_path / name, [1, 2, 3])
        g.rename(g.with_name(g.name.replace("jit_f", "jit_g")))
        if name == "new":
            next((tmp_path / name).glob("*jit_g*")).unlink()
            further.unlink()
    assert 0 == run_ingest([str(tmp_path / "old"), str(tmp_path / "new")], path).exit_code
    state = flows.regressions.regressions(warehouse=str(path), return_state=True)
    message = "0 regressions in 1 comparison; 1 program gone since the run before: jit_g"
    assert ("COMPLETED", message, []) == (state.type.value, state.message, told)
    assert "1" == figures(artifacts(state)["regressions-summary"])["gone since the run before"]


def test_a_larger_model_across_a_night_without_it_is_told(prefect_server, tmp_path, told):
    """It has another signature than the newest run that has its function: no run has the program itself."""
    path, nights = tmp_path / "warehouse.duckdb", []
    models = CHECKOUT / "tests" / "data" / "reshaped"
    for day, model in enumerate(["layers-4", None, "layers-6"], 1):
        folder = tmp_path / f"n{day}"
        write_dumps(folder, [1])
        if model:
            shutil.copytree(models / model, folder, dirs_exist_ok=True)
        nights.append(night(folder, day))
    run_ingest(nights, path)
    state = flows.regressions.regressions(warehouse=str(path), return_state=True)
    assert "1 regression in 2 comparisons" == state.message
    [(run, before, _, [offender])] = told
    assert ("n3", "n1", "jit_train_step", "reshaped") == (run, before, offender["program_label"], offender["status"])


def test_a_refused_run_is_told_until_a_newer_one_of_its_track_is_there(prefect_server, tmp_path, told):
    """Another track that brings nothing any more does not make it newer than what is compared."""
    path, folders = tmp_path / "warehouse.duckdb", []
    nights = [
        ("ended", "o1", False), ("ended", "o2", False), ("nightly", "n1", False), ("nightly", "n2", False),
        ("other", "x1", True), ("nightly", "n3", True), ("nightly", "n4", False), ("nightly", "n5", True),
        ("other", "x2", True),
    ]  # fmt: skip
    for day, (track, name, is_damaged) in enumerate(nights, 1):
        folder = tmp_path / name
        (file,) = write_dumps(folder, [1])
        if is_damaged:
            file.write_text(f"{file.read_text()}\n{name}\n")
        folders.append(night(folder, day, track=track))
    run_ingest(folders, path)
    state = flows.regressions.regressions(warehouse=str(path), return_state=True)
    assert "0 regressions in 2 comparisons; not compared, as all dumps were refused: n5, x2" == state.message


def test_a_newer_run_without_one_before_it_is_told(prefect_server, tmp_path, told):
    """The job moved to another device, or its run.json says less: the runs that are compared are those of before."""
    path, folders = tmp_path / "warehouse.duckdb", []
    nights = [("other", "o1", "v4"), ("nightly", "n1", "v5e"), ("nightly", "n2", "v5e"), ("nightly", "n3", "v6e")]
    for day, (track, name, device) in enumerate(nights, 1):
        folder = tmp_path / name
        write_dumps(folder, [1])
        folders.append(night(folder, day, track=track, device_kind=device))
    run_ingest(folders, path)
    state = flows.regressions.regressions(warehouse=str(path), return_state=True)
    message = "0 regressions in 1 comparison; not compared, as no run before has their platform, track and device: n3"
    assert ("COMPLETED", message, []) == (state.type.value, state.message, told)
    assert "1" == figures(artifacts(state)["regressions-summary"])["newer runs, none before them"]


def test_a_published_copy_that_is_read_while_somebody_writes_is_told(prefect_server, tmp_path, told):
    """The night that is just being loaded is not in it: nothing grew until then is not nothing grew."""
    path, nights = tmp_path / "warehouse.duckdb", []
    for day, grown in enumerate([0, 0, 2**26], 1):
        folder = tmp_path / f"n{day}"
        write_dumps(folder, [1], lambda number, grown=grown: small_dump(number + grown))
        nights.append(night(folder, day))
    run_ingest(nights[:2], path, publish=True)
    run_ingest(nights[2:], path)
    process = start(path, code=WRITER, stdin=subprocess.PIPE)
    try:
        assert process.stdout.readline(), process.stderr.read()
        state = flows.regressions.regressions(warehouse=str(path), return_state=True)
    finally:
        kill_group(process)
    message, _, note = state.message.partition("; ")
    assert ("0 regressions in 1 comparison", []) == (message, told)
    assert note.startswith(f"{path} is being written; this is the published copy, as of ")
    assert note in artifacts(state)["regressions-summary"]


def test_dumps_without_live_ranges_are_counted(prefect_server, fleet, tmp_path):
    """Their occupied peaks are not known, so they are not compared by them."""
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        for dump in (fleet / "jaxlib-0.10.0").glob("*jit_fft*-buffer-assignment*.txt"):
            shutil.copy(dump, tmp_path / name)
    path = tmp_path / "warehouse.duckdb"
    run_ingest([str(tmp_path / "old"), str(tmp_path / "new")], path)
    state = flows.regressions.regressions(warehouse=str(path), metric="occupied", return_state=True)
    assert "1" == figures(artifacts(state)["regressions-summary"])["not compared, without known bytes"]


def test_a_dump_that_may_be_cut_short_is_told(prefect_server, tmp_path, told):
    """It seems to have shrunk: whether its program grew nobody knows."""
    path, nights = tmp_path / "warehouse.duckdb", []
    for day in (1, 2):
        _, other = write_dumps(tmp_path / f"n{day}", [1, 2], lambda number, day=day: small_dump(number * day))
        text = other.read_text()
        other.with_name(other.name.replace("jit_f", "jit_g")).write_text(
            text if day == 1 else text.partition("\n\nTotal bytes used")[0] + "\n"
        )
        other.unlink()
        nights.append(night(tmp_path / f"n{day}", day))
    assert 0 == run_ingest(nights, path).exit_code
    state = flows.regressions.regressions(warehouse=str(path), limit="16MiB", return_state=True)
    why = "not judged, as their dumps have allocations alone and may be cut short: 1 program"
    assert ("COMPLETED", f"0 regressions in 1 comparison; {why}", []) == (state.type.value, state.message, told)
    said = figures(artifacts(state)["regressions-summary"])
    assert ("1", "1") == (said["programs compared"], said["not judged, maybe cut short"])


def test_programs_without_known_bytes_are_told_beside_others(prefect_server, tmp_path, told):
    """Of one of two programs nobody knows whether it grew: no regression is not all that there is to say."""
    path, nights = tmp_path / "warehouse.duckdb", []
    for day in (1, 2):
        _, other = write_dumps(tmp_path / f"n{day}", [1, 2], lambda number, day=day: small_dump(number * day))
        text, _, _ = other.read_text().partition("\n\nHloLiveRange")
        other.with_name(other.name.replace("jit_f", "jit_g")).write_text(re.sub(r"\n from instruction.*", "", text))
        other.unlink()
        nights.append(night(tmp_path / f"n{day}", day))
    assert 0 == run_ingest(nights, path).exit_code
    settings = ["regressions.metric=occupied", "regressions.limit=16MiB"]
    state = flows.regressions.regressions(warehouse=str(path), settings=settings, return_state=True)
    message = "0 regressions in 1 comparison; not compared, without known bytes: 1 program"
    assert ("COMPLETED", message, []) == (state.type.value, state.message, told)


def test_a_run_that_was_loaded_under_two_names_is_told(prefect_server, tmp_path, told):
    """It is its own run before: what grew since the night before is in neither, and nothing grew between the names."""
    path, nights = tmp_path / "warehouse.duckdb", []
    for day, (name, grown) in {1: ("n1", 0), 2: ("n2", 2**26)}.items():
        write_dumps(tmp_path / name, [1], lambda number, grown=grown: small_dump(number + grown))
        nights.append(night(tmp_path / name, day))
    nights.append(str(shutil.copytree(tmp_path / "n2", tmp_path / "n2-copied")))
    run_ingest(nights, path)
    state = flows.regressions.regressions(warehouse=str(path), return_state=True)
    message = "0 regressions in 1 comparison; one run under two names, and not compared with one before: n2 → n2-copied"
    assert ("COMPLETED", message, []) == (state.type.value, state.message, told)
    assert "1" == figures(artifacts(state)["regressions-summary"])["one run under two names"]


def test_a_newest_run_that_starts_in_the_future_is_told(prefect_server, tmp_path, told):
    """A clock was wrong: no night after it is compared, however much grows in it."""
    path, nights = tmp_path / "warehouse.duckdb", []
    for day, (name, grown) in enumerate([("n1", 0), ("n2", 0), ("n3", 2**26)], 1):
        folder = tmp_path / name
        write_dumps(folder, [1], lambda number, grown=grown: small_dump(number + grown))
        nights.append(night(folder, day))
    start_of_n2 = {"started_at": "2100-01-01T00:00:00Z"}
    (tmp_path / "n2" / "run.json").write_text(json.dumps(start_of_n2))
    run_ingest(nights, path)
    state = flows.regressions.regressions(warehouse=str(path), return_state=True)
    message = "0 regressions in 1 comparison; the newest until they start, in the future: n2"
    assert ("COMPLETED", message, []) == (state.type.value, state.message, told)
    assert "1" == figures(artifacts(state)["regressions-summary"])["newest by a start in the future"]


def test_a_wrong_limit_fails_with_a_message(prefect_server, warehouse):
    """A limit that is none ends the flow run, and says what is expected."""
    state = flows.regressions.regressions(warehouse=str(warehouse), limit="much", return_state=True)
    assert "FAILED" == state.type.value
    assert "expected a limit such as 5%, 16MiB or 5%,16MiB, found 'much'" in state.message


# tests/commands/test_reshaped.py compares both.
@pytest.mark.parametrize("change", ["layers-6", pytest.param("batch-64", marks=pytest.mark.soak)])
def test_a_larger_model_is_a_regression(prefect_server, tmp_path, told, change):
    """Two more layers, or twice the batch, are told first, with what changed in words; a warning is not told."""
    dumps = CHECKOUT / "tests" / "data" / "reshaped"
    path = str(tmp_path / "warehouse.duckdb")
    assert 0 == run_ingest([str(dumps / "layers-4"), str(dumps / change)], Path(path)).exit_code
    state = flows.regressions.regressions(warehouse=path, return_state=True)
    assert "1 regression in 1 comparison" == state.message
    [(run, before, _, [offender])] = told
    assert ("layers-4", change, "jit_train_step", "reshaped") == (
        before, run, offender["program_label"], offender["status"]
    )  # fmt: skip
    assert "→" in offender["change_said"]
    assert "Why jit\\_train\\_step changed in memory space 0" in artifacts(state)["regressions"]
    told.clear()
    state = flows.regressions.regressions(warehouse=path, settings=["regressions.reshaped=warn"], return_state=True)
    assert ("0 regressions in 1 comparison", []) == (state.message, told)


def test_lost_donations_are_told(prefect_server, tmp_path, told, lost):
    """An event for the pair of runs: each parameter with its bytes, the largest first, and why if it is known."""
    path = tmp_path / "warehouse.duckdb"
    folder = shutil.copytree(CHECKOUT / "tests" / "data" / "sgd", tmp_path / "sgd")
    layout = "entry_computation_layout={()->()}"
    offer = f"HloModule jit_step, is_scheduled=true, buffer_donor={{ (0, {{}}) }}, {layout}\n\nENTRY m {{\n"
    (folder / "plain" / "module_0010.jit_step.cpu_after_optimizations.txt").write_text(offer)
    assert 0 == run_ingest([str(folder)], path).exit_code
    with duckdb.connect(str(path)) as con:
        con.execute(
            "UPDATE raw.runs SET started_at = CASE run_name WHEN 'donated' THEN '2026-01-01' ELSE '2026-02-01' END"
        )
    state = flows.regressions.regressions(warehouse=str(path), limit="1000%", return_state=True)
    assert "COMPLETED" == state.type.value, state.message
    [(run, before, message, donations)] = lost
    expected = read_comparison(path, "donated", "plain").lost_donations
    assert ("plain", "donated", 18, expected) == (run, before, len(donations), donations)
    first = donations[0]
    assert re.fullmatch(
        r"run plain: 18 donations of [\d.]+ [KM]iB that donated took are lost, first parameter "
        rf"{first['parameter']} of {first['program']}, [\d.]+ [KM]iB: .+", message,
    ), message  # fmt: skip
    # The module text offers the first parameter alone.
    assert {"0"} == {one["parameter"] for one in donations if one["reason"] != NOT_REQUESTED}
    assert "18" == figures(artifacts(state)["regressions-summary"])["donations lost"]
    assert [] == told


def test_the_event_of_lost_donations(monkeypatch):
    """Its resource is the run, its payload has run, run before, number, bytes and the first of them."""
    sent = []
    monkeypatch.setattr(flows.events, "emit_event", lambda *event, **more: sent.append((event, more)))
    one = {
        "program": "p",
        "program_id": 1,
        "parameter": "0",
        "shape": "f32[2]",
        "bytes": 8,
        "memory_space": 0,
        "reason": None,
    }
    flows.events.emit_lost_donations("r2", "r1", "lost", [one] * 25)
    [((event, resource), more)] = sent
    assert ("bufferhouse.lost-donation", "bufferhouse.lost-donation.r2") == (event, resource["prefect.resource.id"])
    payload = more["payload"]
    assert ("lost", "r2", "r1", 25, 200, [one] * 20) == tuple(
        payload[name] for name in ("message", "run", "before", "count", "lost_bytes", "donations")
    )


def test_other_growth_of_a_run_is_another_matter(monkeypatch):
    """A run is compared with two runs before it, or more of its dumps come: each is told, and what was told is not."""
    sent = []
    monkeypatch.setattr(flows.events, "emit_event", lambda _, labels, **more: sent.append(labels[flows.events.MATTER]))
    f, g = ({"program_id": number, "memory_space": 0, "parameter": "0", "bytes": 8} for number in (1, 2))
    told = [("n3", "n2", [f]), ("n3", "n1", [f]), ("n3", "n2", [f, g]), ("n4", "n2", [f])]
    for emit in (flows.events.emit_regression, flows.events.emit_lost_donations):
        for run, before, growth in (*told, ("n3", "n2", [g, f])):
            emit(run, before, "a message", growth)
        *others, again = sent
        assert (4, others[2]) == (len(set(others)), again)
        sent.clear()
