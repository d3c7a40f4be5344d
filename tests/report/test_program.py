"""The report of one program: which dump is meant, and its figures on a terminal, in Markdown and as JSON."""

import json
import re
import shutil
from pathlib import Path

import duckdb
import pytest

from bufferhouse.errors import UsageError
from bufferhouse.paths import CHECKOUT
from bufferhouse.report.program import data as reading
from bufferhouse.report.program.data import PARTS, Program, find_dump, read_program
from bufferhouse.report.program.kept import kept_records
from bufferhouse.report.program.page import program_page
from bufferhouse.report.program.text import capacity_note, notes, program_text, subtitle
from tests.command_line import call
from tests.synthetic import Slot, colored, dump_text, small_dump
from tests.warehouses import rows

TPU = "tpu-v5e-jaxlib-0.8.3-libtpu-0.0.33"
TRANSFORMER = 2800098501227488001
ROUNDED = int(float(TRANSFORMER))  # as jq 1.6 hands it on


@pytest.mark.parametrize("word", ["jit_transformer2_fwd", "jit_tr", str(TRANSFORMER), "#28000985", "2800098501"])
def test_a_program_is_found_by_name_by_id_and_by_the_beginning_of_either(example, word: str):
    """Any word that fits one program only means it."""
    program_id, _, dump = find_dump(example, word, None)
    of_dump = f"SELECT DISTINCT program_id FROM raw.observations WHERE dump_id = {dump['dump_id']}"
    assert [(TRANSFORMER,)] == [(program_id,)] == example.execute(of_dump).fetchall()


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("jit_d", r"'jit_d' fits \d+ programs; give the id of one of them:\n +\d+  jit_\w+  \(\d+ runs?\)"),
        ("(unnamed)", r"'\(unnamed\)' fits 5 programs; .*:(\n +\d+  \(unnamed\)  \(\d+ runs?\)  \(.*){5}$"),
        ("FFT", r"there is no program 'FFT'; similar names:\n +\d+  jit_fft  \(8 runs\)$"),
        (
            str(ROUNDED),
            rf"there is no program '{ROUNDED}'; .* round ids; did you mean:\n +{TRANSFORMER}  \w+  \(\d+ runs\)$",
        ),
        (
            "no such\x1b",
            r"there is no program 'no such\\\\x1b'; there are:\n( +\d+  .+\n)+  … and \d+ more: bufferhouse programs$",
        ),
    ],
)
def test_another_word_is_answered_with_candidates(example_warehouse: Path, word: str, message: str):
    """What means no program, or several, is refused with those that may be meant and their ids."""
    with pytest.raises(UsageError, match=message):
        read_program(example_warehouse, word)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("m.cpu_after_optimizations-buffer-assignment.txt.gz", "2.0 KiB of text"),
        ("m.cpu_after_optimizations.hlo.pb.gz", "2.0 KiB of proto"),
    ],
)
def test_the_size_of_a_dump_is_that_of_its_content(transformer: Program, name: str, said: str):
    """A dump without a text is its proto."""
    assert f"{name}, {said}" == subtitle({**transformer.dump, "relative_path": name, "text_bytes": 2048})[1]


def test_candidates_of_dumps_in_no_warehouse_are_listed_there():
    """Where --from names the dumps, the programs of a warehouse are others."""
    with pytest.raises(UsageError, match=r"… and \d+ more: bufferhouse query --from SOURCE --ask find_dump$"):
        read_program([str(CHECKOUT / "examples" / "fleet" / "jaxlib-0.9.0")], "no such")


def test_a_name_is_meant_before_the_beginnings_of_others(example):
    """jit_donate is no beginning of jit_donate_swap where a program is called so."""
    for word, name in (("jit_donate1", "jit_donate1"), ("jit_w", "jit_while_simple")):
        assert name == find_dump(example, word, None)[2]["program_name"]


def test_the_newest_run_is_shown_unless_another_is_named(example, transformer: Program):
    """Without --run the newest run with the program is meant; another run's dump is another."""
    newest = example.execute(
        "SELECT run_name, dump_id FROM marts.program_history_v1 JOIN marts.runs_v1 USING (run_id, run_name)"
        f" WHERE program_id = {TRANSFORMER} ORDER BY run_order DESC LIMIT 1"
    ).fetchall()
    _, _, found = find_dump(example, str(TRANSFORMER), None)
    assert newest == [(found["run_name"], found["dump_id"])]
    _, _, other = find_dump(example, str(TRANSFORMER), "jaxlib-0.4.13")
    assert "jaxlib-0.4.13" == other["run_name"]
    assert found["dump_id"] != other["dump_id"]
    assert TPU == transformer.dump["run_name"]


def test_a_run_that_is_not_there_is_answered_with_names(example_warehouse: Path):
    """The message names runs of similar names."""
    with pytest.raises(UsageError, match=r"^there is no run 'jaxlib-9'; did you mean 'jaxlib-0\."):
        read_program(example_warehouse, "jit_fft", run="jaxlib-9")


@pytest.mark.parametrize(("run", "message"), [("seeds", "run 'seeds' has no dump of it")])
def test_a_run_without_the_program_is_answered_with_those_that_have_it(example_warehouse: Path, run: str, message: str):
    """The message names the runs in which the program is, the newest first."""
    with pytest.raises(UsageError, match=f"^{message}; runs that have jit_fft: jaxlib-0.10.0, jaxlib-0.9.0, "):
        read_program(example_warehouse, "jit_fft", run=run)


def test_balances_close(example_warehouse: Path, transformer: Program):
    """In every memory space the parts sum to the reserved bytes that the peak's mart has."""
    dump_id = transformer.dump["dump_id"]
    sql = "SELECT memory_space, reserved_bytes FROM marts.peak_memory_v1 WHERE dump_id = $1 ORDER BY ALL"
    actual = [(space.memory_space, sum(map(space.balance_total, PARTS))) for space in transformer.spaces]
    assert rows(example_warehouse, sql, [dump_id]) == actual
    assert 4 == len(actual)


def test_the_terminal_shows_the_figures_of_the_marts(transformer: Program):
    """Peaks, balance and owners stand there to the byte with --bytes, and fit a line of 120 characters."""
    text = program_text(transformer, "table", exact=True)
    assert re.search(r"^reserved +1,205,248 B$", text, re.MULTILINE)
    assert re.search(r"^occupied peak +748,544 B +74$", text, re.MULTILINE)
    assert re.search(r"^XLA's \(peak\), all memory spaces +912,260 B +150$", text, re.MULTILINE)
    assert re.search(r"^stride +0 B +444,416 B +0 B +0 B +444,416 B +0 B$", text, re.MULTILINE)
    assert re.search(
        r"^p__emb__\.1 +f32\[500,64\]\{0,1:T\(8,128\)\} +131,072 B +17\.5%  p\['emb'\]$", text, re.MULTILINE
    )
    assert 120 >= max(map(len, text.splitlines()))


def test_markdown_shows_names_and_does_nothing_with_them(transformer: Program):
    """Markdown has the same figures, and marks of Markdown in names are escaped."""
    text = program_text(transformer, "markdown", exact=True)
    assert text.startswith("# jit\\_transformer2\\_fwd\n")
    assert "| occupied peak | 748,544 B | 74 |" in text
    assert "f32\\[500,64\\]" in text


def test_json_has_the_answers_of_all_statements(transformer: Program):
    """JSON is one object with every record of every statement, bytes as numbers, ids whole."""
    found = json.loads(program_text(transformer, "json"))
    assert transformer.dump["dump_id"] == found["dump"]["dump_id"]
    assert transformer.answers.keys() == found["answers"].keys()
    for name, answer in transformer.answers.items():
        assert len(answer.rows) == len(found["answers"][name])
    assert transformer.answers["program_map"].records == found["answers"]["program_map"]


def test_the_command_prints_and_writes(example_warehouse: Path, tmp_path: Path):
    """`report program` prints the path of the page that holds the report; JSON on standard output stays JSON."""
    page = tmp_path / "page.html"
    said = call("report", "program", "jit_fft", "--warehouse", example_warehouse, "--html", page)
    assert (0, f"report: {page}\n") == (said.code, said.out)
    assert page.read_text().startswith("<!DOCTYPE html>")
    said = call("report", "program", "jit_fft", "--warehouse", example_warehouse, "--html", page, "--format", "json")
    assert "jit_fft" == json.loads(said.out)["dump"]["program_name"]
    assert f"report: {page}\n" == said.err


def test_dumps_in_no_warehouse(fleet: Path):
    """--from reads dumps and reports at once: one dump, one run, no history."""
    (source,) = (fleet / "jaxlib-0.8.0").glob("*jit_fft*-buffer-assignment.txt")
    said = call("report", "program", "jit_fft", "--from", source)
    assert 0 == said.code
    assert "values at the peak" in said.out
    assert "history" not in said.out


def test_an_older_warehouse_says_how_to_renew_it(own_warehouse: Path):
    """A warehouse whose models an older bufferhouse built lacks marts: a message with the way out, no traceback."""
    with duckdb.connect(str(own_warehouse)) as con:
        con.execute("DROP VIEW marts.allocation_map; DROP VIEW marts.allocation_map_v1")
    said = call("report", "program", "jit_fft", "--warehouse", own_warehouse)
    assert (2, "") == (said.code, said.out)
    assert "allocation_map_v1 does not exist" in said.err
    assert "renew it with: bufferhouse build" in said.err


@pytest.fixture(scope="module")
def unscheduled(fleet: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse of a run on a device of 1 MB, with a dump without live ranges. To be read, never written."""
    run = tmp_path_factory.mktemp("unscheduled") / "run"
    run.mkdir()
    (run / "run.json").write_text('{"device_memory_bytes": 1000000}')
    for file in (fleet / "jaxlib-0.10.0").glob("*jit_fft*-buffer-assignment*.txt"):
        shutil.copy(file, run)
    assert 0 == call("ingest", run, "--warehouse", run.with_suffix(".duckdb")).code
    return run.with_suffix(".duckdb")


@pytest.fixture(scope="module")
def fft(unscheduled: Path) -> Program:
    """Its program."""
    return read_program(unscheduled, "jit_fft")


def test_a_dump_without_live_ranges_has_a_capacity(fft: Program):
    """How much of it is reserved is known all the same: on the terminal and on the page; in a site: test_site.py."""
    [note] = [capacity_note(fft, space) for space in fft.spaces]
    assert note.startswith("Capacity: 1,000,000 B (the run); ")
    assert note in program_text(fft, "table")
    assert note in program_page(fft)


def test_a_dump_without_live_ranges(fft: Program):
    """Nothing is said of any moment, and that it is not known; reserved bytes are."""
    assert [False] == [space.has_live_ranges for space in fft.spaces]
    said = program_text(fft, "table", exact=True)
    assert "has no live ranges" in said
    assert re.search(r"^reserved +[0-9,]+ B$", said, re.MULTILINE)
    assert "occupied" not in said
    page = program_page(fft)
    assert "has no live ranges" in page
    assert "<canvas" not in page


FOUR_SPACES = colored([60, 30, 20, 100], [0, 2, 7, 5])
LIBTPU = "cl_853872983.after"
DONATED = ", parameter 0, shape |u8[64]| at ShapeIndex {}, output shape is |u8[64]|, maybe-live-out"


@pytest.fixture(scope="module")
def small(blank_warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse of small runs, each of one program that is called as it is. To be read, never written."""
    folder = tmp_path_factory.mktemp("small")

    def write(run: str, *texts: bytes, target: str = "cpu_after", program: str = "", **facts: object) -> None:
        (folder / run).mkdir()
        (folder / run / "run.json").write_text(json.dumps(facts))
        for number, text in enumerate(texts):
            name = f"module_000{number}.jit_{program or run}.{target}_optimizations-buffer-assignment.txt"
            (folder / run / name).write_bytes(text)

    write("gpu", FOUR_SPACES, target="sm_9.0_gpu_after", device_memory_bytes=100)
    write("tpu", FOUR_SPACES, target=LIBTPU, device_memory_bytes=100)
    for run in ("fits", "refused"):
        write(run, dump_text([Slot(0, 2, 0, 60)], [", preallocated-temp"]), target=LIBTPU)
    (folder / "refused" / "module_0000.jit_refused.cl_853872983.oom_intermediate_module.txt").write_text("HloModule f")
    headers = [DONATED, ", parameter 1, shape |u8[32]| at ShapeIndex {}"]
    write("donated", dump_text([Slot(0, 3, 0, 32, 1), Slot(2, 3, 0, 64)], headers))
    # The same entry signature, so the same program.
    write("variants", dump_text([Slot(0, 2, 0, 64)]), dump_text([Slot(0, 2, 0, 64), Slot(1, 2, 64, 8)]))
    write("map", dump_text([Slot(0, 3, 0, 64), Slot(0, 0, 64, 100), Slot(0, 3, 164, 32), Slot(1, 1, 64, 8)]))
    write("owners", dump_text([Slot(0, 3, 0, 64), Slot(0, 3, 64, 100)]))
    for number, device in enumerate(("v5e", "v4", "v5e", "v4")):
        facts = {"device_kind": device, "started_at": f"2026-01-0{number + 1}T00:00:00Z"}
        write(f"night{number}", small_dump(number), program="nightly", **facts)
    warehouse = Path(shutil.copy(blank_warehouse, folder / "small.duckdb"))
    assert 0 == call("ingest", folder, "--warehouse", warehouse).code
    return warehouse


@pytest.mark.parametrize(
    ("run", "said"),
    [("gpu", "60.0% of it is reserved here, 110.0% in all memory spaces of the device."),
     ("tpu", "60.0% of it is reserved.")],
)  # fmt: skip
def test_the_capacity_is_that_of_all_memory_spaces_of_the_device(small: Path, run: str, said: str):
    """Of a GPU these are all but the host's, of a TPU space 0 alone."""
    program = read_program(small, f"jit_{run}")
    said_of_spaces = [capacity_note(program, space) for space in program.spaces]
    assert [f"Capacity: 100 B (the run); {said}", "", "", ""] == said_of_spaces


def test_a_program_that_did_not_fit_says_so(small: Path):
    """Ahead of time a compiler gives less of a v4 than there is: what seems to fit was refused."""
    said = "The program did not fit, as files beside its dump or a message of its run say."
    for run, is_said in (("fits", False), ("refused", True)):
        assert is_said == (said in notes(read_program(small, f"jit_{run}")))


def test_a_result_in_the_place_of_a_donated_argument_is_no_argument(small: Path):
    """The caller keeps both: the argument, which is there from the start, and the result, which is born later."""
    [space] = read_program(small, "jit_donated").spaces
    kept = {row["value_name"]: row["kept"] for row in kept_records(space)}
    assert {"v0": "the caller, an argument", "v1": "the caller, a result in the place of an argument"} == kept


def test_of_several_dumps_of_a_run_the_largest_is_shown(small: Path):
    """The report says that there are others."""
    program = read_program(small, "jit_variants")
    assert 72 == program.spaces[0].facts["reserved_bytes"]
    assert "This run has 2 different dumps of the program; this is the largest." in program_text(program, "table")


def test_the_history_is_that_of_one_device(small: Path):
    """Runs of another kind of device are another series, on a terminal and on the page."""
    program = read_program(small, "jit_nightly")
    assert ["night1", "night3"] == [run["run_name"] for run in program.series(0)]
    assert [None, 2] == [run["reserved_change_bytes"] for run in program.series(0)]
    assert "over 2 runs" in program_text(program, "table")


def test_the_map_says_what_it_leaves_out(small: Path, monkeypatch: pytest.MonkeyPatch):
    """Beyond the limit the smallest areas are left out, and counted with the largest slot among them."""
    monkeypatch.setattr(reading, "MAP_VALUES", 2)
    program = read_program(small, "jit_map")
    assert [0, 2] == [row["value_id"] for row in program.answers["program_map"].records]
    assert (4, 2, 100) == tuple(program.answers["program_map_spaces"].rows[0][1:])
    assert "2 of 4 values are not drawn" in program_text(program, "table")


def test_rows_beyond_the_limit_are_summed(small: Path, monkeypatch: pytest.MonkeyPatch):
    """What the table of owners leaves out is said to the byte."""
    monkeypatch.setattr(reading, "PEAK_OWNERS", 1)
    program = read_program(small, "jit_owners")
    assert "2 values at position 0: 164 B. Left out: 1 smaller owner with 64 B." in program_text(program, "table")


def test_names_do_nothing_on_a_terminal(hostile_names):
    """Control characters and turned text in names are written as escapes."""
    path, prefix = hostile_names
    program = read_program(path, str(TRANSFORMER), run=prefix + TPU)
    for form in ("table", "markdown"):
        text = program_text(program, form)
        assert "" == "".join(char for char in text if not char.isprintable() and char != "\n")
