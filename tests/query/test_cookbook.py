"""The cookbook: what the questions of sql/queries answer over the example fleet, and what is asked of their files."""

import json
import re
import shutil
from collections import Counter
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from bufferhouse.errors import UsageError
from bufferhouse.query import cookbook
from bufferhouse.query.cookbook import PAGE, Parameter, question, questions
from bufferhouse.query.door import door
from bufferhouse.query.format import formatted
from bufferhouse.query.output import answer
from bufferhouse.tabulate.shape import parse_shape
from bufferhouse.warehouse.open import open_reader
from tests.command_line import CHECKOUT, call
from tests.ingests import ingest, write_dumps
from tests.synthetic import Slot, colored, dump_text, small_dump
from tests.warehouses import rows

QUESTIONS = questions()
EVERYTHING = {"rows": "1000000"}
# Questions whose defaults say little of this fleet, and what is asked of it besides.
ALSO = {
    "biggest_at_peak": {"program": "jit_transformer%", "run": "jaxlib-0.4.13", "rows": "5"},
    "fits_a_chip": {"device_bytes": "1M", "used_percent": "20"},
    "in_memory_space": {"memory_space": "2"},
    "oom_allocation": {"size_bytes": "512.0KiB", "off_percent": "1"},
    "find_dump": {"path": "%jit_fft%"},
    "new_programs": {"rows": "3"},
    "official_figures": {"program": "jit_while_simple"},
    "padded_values": {"times": "100.5", "rows": "5"},
}


def asking(path):
    """Yield a function that asks a question of a warehouse, each once, and returns columns and rows."""
    con = open_reader(path).con
    with con, door(con) as opened:
        asked = cache(lambda name, *given: opened.ask(question(name).sql, question(name).values(dict(given))))
        yield lambda name, given=None: asked(name, *(given or {}).items())


@pytest.fixture(scope="module")
def ask(example_warehouse, tmp_path_factory):
    """A function that asks a question of the example fleet and returns columns and rows."""
    yield from asking(Path(shutil.copy(example_warehouse, tmp_path_factory.mktemp("asked") / "copy.duckdb")))


@pytest.fixture(scope="module")
def ask_of_blank(blank_warehouse, tmp_path_factory):
    """The same of a warehouse without a dump."""
    yield from asking(Path(shutil.copy(blank_warehouse, tmp_path_factory.mktemp("blank") / "blank.duckdb")))


@pytest.fixture(scope="module")
def ask_of_refused(blank_warehouse, tmp_path_factory):
    """The same of a warehouse where three dumps were refused: for a word, a number and a sum."""
    directory = tmp_path_factory.mktemp("refused")
    run, path = directory / "nightly", Path(shutil.copy(blank_warehouse, directory / "refused.duckdb"))
    damages = (
        (b"Used values:", b"Used valves:"),
        (b"size=64", b"size=-64"),
        (b"Total bytes used: ", b"Total bytes used: 9"),
    )
    [good, *broken] = write_dumps(run, range(1 + len(damages)))
    for place, (was, instead) in zip(broken, damages, strict=True):
        place.write_bytes(good.read_bytes().replace(was, instead, 1))
    assert 1 == ingest(path, run)[0]
    yield from asking(path)


@pytest.fixture(scope="module")
def records(ask):
    """The same, the rows as mappings."""

    def found(name: str, given: dict[str, str] | None = None) -> list[dict]:
        answer = ask(name, given)
        return [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]

    return found


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_answer(ask, ask_of_refused, golden, name):
    """Over the example fleet, with the defaults and with what ALSO says; of what was refused over another warehouse."""
    ask = ask_of_refused if name == "refused_dumps" else ask
    texts = []
    for given in [{}, ALSO[name]] if name in ALSO else [{}]:
        answer = ask(name, given)
        asked = " ".join(f"{key}={value}" for key, value in given.items()) or "as it is"
        texts.append(f"{asked}\n\n{formatted(answer.columns, answer.rows, 'table')}\n")
    golden(f"cookbook/{name}.txt", "\n".join(texts))


@pytest.mark.parametrize("name", QUESTIONS)
def test_an_empty_warehouse_has_no_answer(ask_of_blank, name):
    """Every question can be asked before the first dump is there."""
    assert [] == ask_of_blank(name).rows


def test_there_are_questions_of_every_kind():
    """At least 25, each one sentence that ends in a question mark, each of whose parameters its statement reads."""
    assert len(QUESTIONS) >= 25
    for one in QUESTIONS.values():
        assert re.fullmatch(r"[A-Z][^?]+\?", one.sentence), one.name
        body = "\n".join(line for line in one.sql.split("\n") if not line.startswith("--"))
        assert set(one.parameters) == set(re.findall(r"\$(\w+)", body)), one.name


def test_the_page_is_made_from_the_files():
    """`bufferhouse catalog` writes sql/queries/README.md; every question stands on it."""
    assert cookbook.page() == PAGE.read_text()
    for name in QUESTIONS:
        assert f"]({name}.sql)" in PAGE.read_text()


def test_the_owners_at_the_peaks_own_all_of_it(records, example):
    """biggest_at_peak without a limit sums to the occupied peaks of all dumps."""
    owned = sum(row["owned_bytes"] for row in records("biggest_at_peak", EVERYTHING))
    sql = "SELECT SUM(occupied_peak_bytes) FROM marts.peak_memory_v1 WHERE memory_space = 0"
    assert example.execute(sql).fetchone()[0] == owned


def test_source_lines_at_the_peaks_sum_to_them(records, example):
    """peak_by_source leaves out no byte: values of which a dump says neither line nor operation have a row."""
    found = Counter()
    for row in records("peak_by_source", EVERYTHING):
        found[row["dump_id"]] += row["owned_bytes"]
    sql = "SELECT dump_id, occupied_peak_bytes FROM marts.peak_memory_v1 WHERE memory_space = 0"
    assert dict(example.execute(f"{sql} AND occupied_peak_bytes > 0").fetchall()) == found


def test_another_reported_peak_is_lower_by_listed_bytes(records, example):
    """other_reported_peak compares listed bytes alone: what old dialects print are those of whole instructions."""
    found = {
        row["dump_id"]: (row["listed_at_reported_peak_bytes"], row["difference_bytes"])
        for row in records("other_reported_peak", EVERYTHING)
    }
    sql = """
        SELECT
            p.dump_id,
            MAX(p.dump_reported_peak_bytes),
            MAX(p.dump_listed_peak_bytes),
            CAST(SUM(t.listed_bytes) AS BIGINT)
        FROM marts.peak_memory_v1 AS p
        INNER JOIN marts.memory_timeline_v1 AS t
            ON p.dump_id = t.dump_id AND p.memory_space = t.memory_space
            AND p.dump_reported_peak_position = t.schedule_position
        GROUP BY p.dump_id
    """
    dumps = example.execute(sql).fetchall()
    assert {dump: (there, most - there) for dump, _, most, there in dumps if most > there} == found
    assert any(most > there != printed for _, printed, most, there in dumps)


def test_the_reasons_of_a_gap_sum_to_it(records):
    """fragmented_arenas says where each byte of the gap is: between strides, unused, or used at other moments only."""
    found = records("fragmented_arenas", EVERYTHING)
    parts = ("stride_bytes", "unused_bytes", "other_moments_bytes", "without_live_range_bytes")
    assert [row["gap_bytes"] for row in found] == [sum(row[part] for part in parts) for row in found] != []


def test_a_donation_is_not_judged_without_a_schedule(warehouse, tmp_path):
    """Without live ranges, or uses, a dump does not say whether an argument is free in time: no false, no `no`."""
    headers = [", parameter 0, shape |u8[64]| at ShapeIndex {}", ", maybe-live-out"]
    text = dump_text([Slot(0, 3, 0, 64), Slot(0, 3, 0, 64, allocation=1)], headers)
    write_dumps(tmp_path / "whole", [1], lambda _: text)
    write_dumps(tmp_path / "part", [1], lambda _: text.split(b"\n\n")[0] + b"\n")
    [without_uses] = write_dumps(tmp_path / "unused", [1], lambda _: text.split(b"\n\n")[0] + b"\n")
    ranges = without_uses.name.replace("-buffer-assignment.txt", "-live-range.txt")
    without_uses.with_name(ranges).write_bytes(text[text.index(b"HloLiveRange") :])
    assert 0 == ingest(warehouse, *(tmp_path / run for run in ("whole", "part", "unused")))[0]
    words = ("--warehouse", warehouse, "--format", "json")
    told = json.loads(call("query", "--ask", "donation_candidates", *words).out)
    assert [(0, None), (0, True), (None, None)] == sorted(
        ((row["birth_position"], row["is_in_this_schedule"]) for row in told), key=str
    )
    for run, word in (("whole", "yes"), ("part", None), ("unused", None)):
        [row] = json.loads(call("report", "run", run, *words).out)["answers"]["run_donations"]
        assert word == row["in_this_schedule"]


def test_donated_bytes_are_of_one_memory_space(warehouse, tmp_path):
    """donated_arguments adds up no bytes of HBM and of the host."""
    shape, donated = "shape |u8[64]| at ShapeIndex {}", "maybe-live-out"
    headers = [f", parameter 0, {shape}, {donated}", f", color 5, parameter 1, {shape}, {donated}"]
    headers += [f", parameter 2, {shape}"]
    slots = [Slot(0, 3, 0, size, allocation=number) for number, size in enumerate((64, 32, 16))]
    write_dumps(tmp_path / "job", [1], lambda _: dump_text(slots, headers))
    assert 0 == ingest(warehouse, tmp_path / "job")[0]
    found = json.loads(call("query", "--ask", "donated_arguments", "--warehouse", warehouse, "--format", "json").out)
    columns = ("memory_space", "donated_count", "argument_count", "donated_bytes", "argument_bytes")
    assert [(0, 1, 2, 64, 80), (5, 1, 1, 32, 32)] == [tuple(row[column] for column in columns) for row in found]


def test_messages_of_logs_are_no_refused_dumps(warehouse, tmp_path):
    """refused_dumps has as many rows as the run counts refused dumps: a refused message of a log is none."""
    [_, broken] = write_dumps(tmp_path / "job", [1, 2])
    broken.write_bytes(broken.read_bytes().replace(b"Used values:", b"Used valves:"))
    (tmp_path / "job" / "train.log").write_text("Out of memory while trying to allocate 1.50GiB\n")
    assert 1 == ingest(warehouse, tmp_path / "job")[0]
    assert [(2, 1)] == rows(warehouse, "SELECT reject_count, refused_dump_count FROM marts.runs")
    found = json.loads(call("query", "--ask", "refused_dumps", "--warehouse", warehouse, "--format", "json").out)
    assert [(broken.name, "grammar")] == [(row["relative_path"], row["rule"]) for row in found]


def test_questions_say_which_dumps_they_leave_out(warehouse, records, fleet, tmp_path):
    """A question that is answered of whole dumps, and not without their live ranges, counts them; no other does."""
    for path in fleet.glob("tpu-*/*-buffer-assignment.txt"):
        allocations, rest = path.read_bytes().split(b"\n\n", 1)
        run = tmp_path / "fleet" / path.parent.name
        run.mkdir(parents=True, exist_ok=True)
        values = path.name.replace("-buffer-assignment.txt", "-buffer-assignment-values.txt")
        (run / path.name).write_bytes(allocations + b"\n")
        (run / values).write_bytes(b"\n" + rest[: rest.index(b"\n\nHloLiveRange")])
        shutil.copy(path.with_name("run.json"), run)
    assert 0 == ingest(warehouse, tmp_path / "fleet")[0]
    dumps = rows(warehouse, "SELECT dump_id FROM staging.dumps WHERE live_range_state = 'absent'")
    assert 17 == len(dumps)
    whole = {name for name in QUESTIONS if records(name)}
    con, said = open_reader(warehouse).con, {}
    with con, door(con) as opened:
        for name, one in QUESTIONS.items():
            told: list[str] = []
            words = (opened, one.sql, one.values({}), "json", None, told.append)
            about = {"needs_live_ranges": one.needs_live_ranges, "most_rows": one.most_rows({})}
            found = json.loads(answer(*words, **about))
            assert one.needs_live_ranges == (name in whole and not found), name
            assert one.needs_live_ranges == ("17 of 17 dumps left out: no live ranges" in "\n".join(told)), name
            said[one.needs_live_ranges] = name, found, "".join(f"{line}\n" for line in told)
    assert {True, False} == said.keys()
    for name, found, told in said.values():  # the command asks in the same way: of each kind one shows it
        outcome = call("query", "--ask", name, "--warehouse", warehouse, "--format", "json")
        assert (found, told) == (json.loads(outcome.out), outcome.err)


def test_recompiles_are_counted_in_a_folder(warehouse, tmp_path):
    """Two hosts that compile a function once each recompile nothing; of folders that do the one with the most shows.

    A module without a name is no function, so several of them are no recompilations. Nor are dumps for two targets.
    """
    job = tmp_path / "job"
    for host, numbers in (("host0", [1, 2]), ("host1", [1, 2, 3]), ("host2", [1])):
        write_dumps(job / host, numbers, lambda number: small_dump(number % 2))
        for alone in ("module_0007.jit_g.cpu_after_optimizations", "module_0008..cpu_after_optimizations"):
            (job / host / f"{alone}-buffer-assignment.txt").write_bytes(small_dump(9))
        (job / host / "module_0009..cpu_after_optimizations-buffer-assignment.txt").write_bytes(small_dump(10))
    of_tpu = "module_0001.jit_f.cl_853872983.after_optimizations-buffer-assignment.txt"
    (job / "host2" / of_tpu).write_bytes(small_dump(1))
    assert 0 == ingest(warehouse, job, "--run", "job")[0]
    dumps = Counter(name for (name,) in rows(warehouse, "SELECT program_name FROM marts.observations"))
    assert {"jit_f": 7, "jit_g": 3, "(unnamed)": 6} == dumps
    found = json.loads(call("query", "--ask", "recompiles", "--warehouse", warehouse, "--format", "json").out)
    expected = {"run_name": "job", "program_name": "jit_f", "dump_count": 3, "signature_count": 1}
    expected |= {"content_count": 2, "identical_count": 1, "folder": "host1", "folder_count": 2}
    expected |= {"compile_target": "cpu"}
    assert [expected] == found


def test_questions_read_what_people_read():
    """Marts, and staging where no mart has the answer."""
    read = {one.name: set(re.findall(r"\b(?<!DISTINCT )(?:FROM|JOIN) (\w+)\.", one.sql)) for one in QUESTIONS.values()}
    assert {"marts", "staging"} == set().union(*read.values())
    assert [] == [name for name, layers in read.items() if not layers]


def test_an_exchanged_layout_is_what_its_shape_says(records):
    """other_layout against the sizes of the same shape text with its two minor dimensions exchanged."""
    found = records("other_layout", EVERYTHING)
    assert found
    for row in found:
        text = re.sub(r"\{(\d+),(\d+)", r"{\2,\1", row["shape_text"])
        assert parse_shape(text).physical_bytes == row["exchanged_bytes"], row


def test_changes_of_official_figures_stay_within_a_rule(records):
    """Every change that is named has the rule of the run before, and where a rule changed there is none."""
    found = records("official_figures_over_time", {"program": "%", **EVERYTHING})
    assert any(row["temp_change_bytes"] for row in found)
    for before, row in pairwise(found):
        is_same = before["program_name"] == row["program_name"] and before["compile_target"] == row["compile_target"]
        for figure in ("temp", "peak"):
            change, is_changed = row[f"{figure}_change_bytes"], f"{figure}: was" in (row["changed_meaning"] or "")
            assert not (is_changed and change is not None), row
            if change is not None:
                assert is_same
                assert row[f"{figure}_bytes"] - before[f"{figure}_bytes"] == change
                assert before[f"{figure}_rule"] == row[f"{figure}_rule"]


def test_official_figures_say_which_are_guesses(records, example):
    """A temp that the compiler may give otherwise does not pass for its own, in both questions about the figures."""
    sql = "SELECT run_name, program_name, is_temp_guessed FROM marts.official_figures_v2"
    guessed = {(run, program) for run, program, is_guessed in example.execute(sql).fetchall() if is_guessed}
    assert guessed
    for name in ("official_figures", "official_figures_over_time"):
        found = records(name, {"program": "%", **EVERYTHING})
        assert guessed == {(row["run_name"], row["program_name"]) for row in found if row["is_temp_guessed"]}


def test_official_figures_of_two_devices_are_two_series(warehouse, tmp_path):
    """A change is that since the run before on the same kind of device."""
    for number, device in enumerate(("a", "b", "a", "b")):
        write_dumps(tmp_path / f"run{number}", [1], lambda _, size=number: small_dump(size))
        facts = {"compiler": "jaxlib", "compiler_version": "0.6.0", "platform": "cpu", "device_kind": device}
        facts |= {"started_at": f"2026-01-0{number + 1}T00:00:00Z"}
        (tmp_path / f"run{number}" / "run.json").write_text(json.dumps(facts))
    assert 0 == ingest(warehouse, *sorted(tmp_path.glob("run?")))[0]
    words = ("--ask", "official_figures_over_time", "--param", "program=jit_f", "--format", "json")
    told = json.loads(call("query", *words, "--warehouse", warehouse).out)
    assert [("run0", None), ("run2", 2), ("run1", None), ("run3", 2)] == [
        (row["run_name"], row["temp_change_bytes"]) for row in told
    ]


OF_A_TPU, OF_A_GPU = "cl_853872983.after_optimizations", "sm_9.0a_gpu_after_optimizations"
IN_TWO_SPACES = colored([64, 8], [0, 1])
# Runs of one program: its dump, for which target, and what the run says of itself.
FITTED = {
    "small": (small_dump(1), "cpu_after_optimizations", {"device_memory_bytes": 10}),
    "xlarge": (small_dump(1), "cpu_after_optimizations", {"device_memory_bytes": 1 << 40}),
    "refused-known": (colored([64], [0]), OF_A_TPU, {"device_kind": "TPU v4"}),
    "refused-unknown": (colored([64], [0]), OF_A_TPU, {}),
    "gpu": (colored([60, 30, 20, 100], [0, 2, 7, 5]), OF_A_GPU, {"device_memory_bytes": 100}),
    "known": (IN_TWO_SPACES, "cpu_after_optimizations", {"device_kind": "TPU v5p"}),
    "said": (IN_TWO_SPACES, "cpu_after_optimizations", {"device_memory_bytes": 100}),
    "unknown": (IN_TWO_SPACES, "cpu_after_optimizations", {}),
}


@pytest.fixture(scope="module")
def fitting(blank_warehouse, tmp_path_factory):
    """A function that returns what fits_a_chip answers of some of these runs, in order."""
    folder = tmp_path_factory.mktemp("fitting")
    for run, (text, target, facts) in FITTED.items():
        (folder / run).mkdir()
        (folder / run / f"module_0001.jit_f.{target}-buffer-assignment.txt").write_bytes(text)
        (folder / run / "run.json").write_text(json.dumps(facts))
        if run.startswith("refused-"):
            (folder / run / f"module_0001.jit_f.{OF_A_TPU[:12]}.oom_intermediate_module.txt").write_text("HloModule f")
    path = Path(shutil.copy(blank_warehouse, tmp_path_factory.mktemp("fitted") / "fitted.duckdb"))
    assert 0 == ingest(path, *(folder / run for run in FITTED))[0]

    def asked(*runs: str, **parameters: object) -> list[dict]:
        words = [word for given in parameters.items() for word in ("--param", "{}={}".format(*given))]
        told = call("query", "--ask", "fits_a_chip", *words, "--warehouse", path, "--format", "json").out
        return [row for row in json.loads(told) if row["run_name"] in runs]

    return asked


def test_a_program_of_two_devices_is_judged_on_each(fitting):
    """Compiled alike for a small chip and a large one it does not fit the first, and nothing is said of the second."""
    columns = ("run_name", "device_memory_bytes", "is_too_large")
    expected = [("small", 10, True), ("xlarge", 1 << 40, False)]
    for percent, count in ((80, 1), (0, 2)):
        found = fitting("small", "xlarge", used_percent=percent)
        assert expected[:count] == [tuple(row[name] for name in columns) for row in found]


def test_what_a_compiler_refused_is_too_large_for_its_device(fitting):
    """Ahead of time it gives less of a v4 than the chip has: a file beside the dump says that it did not fit."""
    runs = ("refused-known", "refused-unknown")
    [found] = fitting(*runs)
    assert (runs[0], 32 << 30, True) == (found["run_name"], found["device_memory_bytes"], found["is_too_large"])
    found = fitting(*runs, used_percent=0)
    assert dict(zip(runs, (True, False), strict=True)) == {row["run_name"]: row["is_too_large"] for row in found}


def test_what_a_message_says_did_not_fit_is_too_large_for_its_device():
    """Its bytes fit and its code does not: no file beside the dump says so, the log of its run does."""
    words = ("fits_a_chip", "--from", CHECKOUT / "examples" / "oom" / "libtpu-0.0.52" / "code", "--format", "json")
    [found] = json.loads(call("query", "--ask", *words).out)
    assert ("a message", True) == (found["capacity_source"], found["is_too_large"])
    assert found["footprint_bytes"] < found["device_memory_bytes"]


def test_all_that_lies_in_the_memory_of_a_gpu_must_fit(fitting):
    """Its memory spaces are labels on one memory, but for the host's."""
    [found] = fitting("gpu")
    assert (110, 110.0, True) == (found["footprint_bytes"], found["used_percent_of_device"], found["is_too_large"])
    [found] = fitting("gpu", memory_space=2, device_bytes=30)
    assert (30, False) == (found["footprint_bytes"], found["is_too_large"])


def test_a_program_is_judged_on_the_memory_of_its_device(fitting):
    """What the device of a run has comes before $device_bytes, in memory space 0 alone; and the answer says which."""
    columns = ("run_name", "device_memory_bytes", "is_too_large", "capacity_source")
    libtpu = "libtpu 0.0.52, out-of-memory messages: what fits and what is reserved"
    parameter = "the parameter device_bytes"
    for space, expected in (
        (0, [("unknown", 50, True, parameter), ("said", 100, False, "the run"), ("known", 96 << 30, False, libtpu)]),
        (1, [("unknown", 50, False, parameter)]),
    ):
        found = fitting("unknown", "said", "known", device_bytes=50, used_percent=0, memory_space=space)
        assert expected == [tuple(row[name] for name in columns) for row in found]


def test_library_calls_are_of_programs(warehouse, tmp_path):
    """Two entry signatures of one function are two programs; a dump that two runs hold counts once, with its calls."""

    def text(size: int) -> bytes:
        slots = [Slot(0, 2, 0, size), Slot(0, 2, 0, 8, allocation=1)]
        headers = [f", parameter 0, shape |u8[{size}]| at ShapeIndex {{}}", ", preallocated-temp"]
        return dump_text(slots, headers).replace(b"custom-call()", b'custom-call(), custom_call_target="Sharding"')

    for run in ("one", "two"):
        write_dumps(tmp_path / run, [1, 2], text)
    assert 0 == ingest(warehouse, tmp_path / "one", tmp_path / "two")[0]
    assert [(1, 2)] == rows(
        warehouse, "SELECT COUNT(DISTINCT program_name), COUNT(DISTINCT program_id) FROM marts.observations"
    )
    found = json.loads(call("query", "--ask", "custom_calls", "--warehouse", warehouse, "--format", "json").out)
    columns = ("custom_call_target", "program_count", "dump_count", "call_count")
    assert [("Sharding", 2, 2, 4)] == [tuple(row[name] for name in columns) for row in found]


def test_results_of_library_calls_are_their_elements(records, example):
    """custom_calls says of a call that gives a tuple how large its arrays are, not the pointers to them."""
    sql = "SELECT custom_call_target, result_shape FROM staging.instruction_texts WHERE custom_call_target IS NOT NULL"
    expected: dict[str, int] = {}
    for target, text in example.execute(sql).fetchall():
        arrays = re.findall(r"[a-z]+[0-9]*\[[0-9,]*\]", text)
        size = sum(parse_shape(array).logical_bytes for array in arrays)
        expected[target] = max(size, expected.get(target, 0))
    found = {row["custom_call_target"]: row["largest_result_bytes"] for row in records("custom_calls", EVERYTHING)}
    assert expected == found


def test_a_memory_space_without_a_platform_is_met(records, example):
    """names_of_memory_spaces counts the dumps that say no platform, too; not where a platform is asked for."""
    expected = example.execute(
        "SELECT p.memory_space, COUNT(DISTINCT p.dump_id) FROM marts.peak_memory_v1 AS p"
        " JOIN marts.observations_v1 AS o USING (dump_id) WHERE o.platform IS NULL GROUP BY ALL ORDER BY ALL"
    ).fetchall()
    assert expected
    unsaid = [row for row in records("names_of_memory_spaces", EVERYTHING) if row["platform"] is None]
    assert expected == [(row["memory_space"], row["dump_count"]) for row in unsaid]
    asked = records("names_of_memory_spaces", {"platform": "_pu", **EVERYTHING})
    assert {"cpu", "tpu"} == {row["platform"] for row in asked}


def test_equal_changes_stand_by_program(warehouse, tmp_path):
    """Programs of one name that change by as much stand in the order of their ids, in every call."""
    for number, run in enumerate(("before", "after")):
        for size in range(1, 40):
            text = dump_text(
                [Slot(0, 2, 0, size), Slot(0, 2, 0, 8 << number, allocation=1)],
                [f", parameter 0, shape |u8[{size}]| at ShapeIndex {{}}", ", preallocated-temp"],
            )
            write_dumps(tmp_path / run, [size], lambda _, text=text: text)
    assert 0 == call("ingest", tmp_path / "before", tmp_path / "after", "--warehouse", warehouse).code
    words = ("--ask", "biggest_movers", "--param", "rows=100", "--format", "json")
    told = [row["reserved_bytes"] for row in json.loads(call("query", *words, "--warehouse", warehouse).out)]
    expected = rows(
        warehouse,
        "SELECT reserved_bytes FROM marts.memory_space_trend WHERE run_name = 'after' ORDER BY program_id",
    )
    assert [size for (size,) in expected] == told


def test_idle_values_are_those_of_the_uses(records, example):
    """idle_after_last_use against the uses of each value, read one by one."""
    found = records("idle_after_last_use", EVERYTHING)
    assert found
    for row in found[:20]:
        uses = example.execute(
            "SELECT u.schedule_position FROM staging.uses AS u JOIN staging.hlo_values AS v USING (dump_id, value_id)"
            " WHERE dump_id = ? AND v.instruction_name = ? AND v.end_position = ? AND v.shape_text = ?",
            [row["dump_id"], row["instruction_name"], row["end_position"], row["shape_text"]],
        ).fetchall()
        assert row["last_use_position"] in {use for (use,) in uses}
        assert row["end_position"] - row["last_use_position"] == row["idle_position_count"]


def test_a_question_is_run_by_its_name(example_warehouse):
    """`query --ask NAME --param K=V`, in every format."""
    words = ["query", "--ask", "biggest_at_peak", "--warehouse", example_warehouse, "--format", "csv"]
    outcome = call(*words, "--param", "rows=2", "--param", "program=jit_fft")
    assert (0, 3) == (outcome.code, len(outcome.out.splitlines()))
    assert all(line.startswith("jit_fft,") for line in outcome.out.splitlines()[1:])


def test_an_answer_that_ends_at_its_default_says_so(example_warehouse):
    """Who asks what does not fit, or what is new, takes 20 rows for all; who asks for two knows that there are more."""
    words = ["query", "--ask", "biggest_at_peak", "--warehouse", example_warehouse, "--format", "csv"]
    outcome = call(*words)
    assert (0, 21) == (outcome.code, len(outcome.out.splitlines()))
    assert "bufferhouse: 20 rows, as many as rows=20 allows: there may be more\n" == outcome.err
    for given in (["rows=20"], ["program=jit_scalar_add", "run=jaxlib-0.10.0"]):
        assert "" == call(*words, *(word for one in given for word in ("--param", one))).err


def test_a_question_takes_a_run_by_its_place(example_warehouse):
    """latest and previous are what they are elsewhere; any other word is a name, and said where no run has it."""
    words = ["query", "--ask", "biggest_at_peak", "--warehouse", example_warehouse, "--format", "csv"]
    for place, name in (("latest", "jaxlib-0.10.0"), ("previous:platform=cpu", "jaxlib-0.9.0")):
        expected, outcome = (call(*words, "--param", f"run={run}") for run in (name, place))
        assert (0, expected.out, expected.err) == (outcome.code, outcome.out, outcome.err)
        assert f",{name}," in outcome.out
    assert "there is no run 'latest:platform=x'" in call(*words, "--param", "run=latest:platform=x").err
    assert "no rows: there is no run 'jaxlib-0.1'" in call(*words, "--param", "run=jaxlib-0.1").err


def test_the_questions_are_listed():
    """`query --list` needs no warehouse."""
    outcome = call("query", "--list", "--format", "csv")
    assert 0 == outcome.code
    assert ["question", *QUESTIONS] == [line.split(",")[0] for line in outcome.out.splitlines()]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--ask", "bigest_at_peak"],
            "no question 'bigest_at_peak' in the cookbook; did you mean 'biggest_at",
        ),
        (["--ask", "../reports/fleet_runs"], "there is no question '../reports/fleet_runs' in the cookbook"),
        (["--ask", "biggest_at_peak", "--param", "row=1"], "biggest_at_peak has no parameter 'row'; it has program"),
        (["--ask", "biggest_at_peak", "--param", "rows=many"], "--param rows: expected a whole number of at least 0"),
        (["--ask", "biggest_at_peak", "SELECT 1"], "expected one statement"),
        (
            ["--ask", "biggest_at_peak", "row=a b"],
            "expected the parameter of a question behind --param: --param 'row=a b'",
        ),
        (["--ask"], "--ask: expected the name of a question, found '--warehouse'; bufferhouse query --list shows them"),
    ],
)
def test_wrong_calls(example_warehouse, words, message):
    """The message says what there is."""
    outcome = call("query", *words, "--warehouse", example_warehouse)
    assert (2, "") == (outcome.code, outcome.out)
    assert message in outcome.err


def test_a_question_without_its_name_is_told():
    """`query --ask`, with nothing behind it: the name is what lacks, not a question that is called like a mark."""
    outcome = call("query", "--ask")
    assert (2, True) == (outcome.code, "Option '--ask' requires an argument" in outcome.err), outcome.err


def test_sizes_as_xla_prints_them():
    """Parameters ending in _bytes take units of 1024; others are plain numbers; null is text that may be left out."""
    size = Parameter("size_bytes", 0, "")
    assert [1_256_277_934, 71_303_168, 1024, 7] == [size.value(text) for text in ("1.17G", "68.00MiB", "1 KB", "7")]
    assert 2.5 == Parameter("times", 1.0, "").value("2.5")
    assert "7" == Parameter("run", None, "").value("7")
    assert ("null", None) == (Parameter("program", "%", "").value("null"), Parameter("run", None, "").value("null"))
    with pytest.raises(UsageError):
        Parameter("rows", 1, "").value("1K")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT 1\n", "x.sql:1:1: expected the question as a comment"),
        ("-- Why?\nSELECT 1\n", "x.sql:1:1: expected the question as a comment"),
        ("-- Why?\n-- topic: T\n-- param: rows 20\nSELECT 1\n", "x.sql:3:1: expected '-- param: name = default"),
    ],
)
def test_a_file_that_is_no_question_is_refused(tmp_path, text, message):
    """With the file and the line."""
    (tmp_path / "x.sql").write_text(text)
    with pytest.raises(UsageError) as error:
        questions(tmp_path)
    assert message in str(error.value)
