"""The report of one run: which run is meant, and its figures on a terminal, in Markdown and as JSON."""

import json
import re
import shutil
from collections import Counter
from pathlib import Path

import duckdb
import pytest
from rich.cells import cell_len

from bufferhouse.report.fleet.data import read_fleet
from bufferhouse.report.opening import find_run
from bufferhouse.report.run.data import Run, read_run
from bufferhouse.report.run.page import run_page
from bufferhouse.report.run.text import run_text
from tests.command_line import call
from tests.ingests import write_dumps
from tests.synthetic import small_dump
from tests.warehouses import rows

TPU = "tpu-v5e-jaxlib-0.8.3-libtpu-0.0.33"


@pytest.fixture(scope="module")
def tpu(example_warehouse: Path) -> Run:
    """A run with four memory spaces, padding, constants and donation candidates."""
    return read_run(example_warehouse, TPU)


@pytest.fixture(scope="module")
def repeated(example_warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example fleet, where files of one run hold the dumps of another once more, as the same programs."""
    path = Path(shutil.copy(example_warehouse, tmp_path_factory.mktemp("repeated") / "repeated.duckdb"))
    with duckdb.connect(str(path)) as con:
        con.execute(
            "INSERT INTO raw.observations SELECT o.* REPLACE (b.run_id AS run_id, 'again-' || o.relative_path AS"
            " relative_path) FROM raw.observations AS o JOIN raw.runs AS a USING (run_id), raw.runs AS b"
            " WHERE a.run_name IN ('jaxlib-0.4.13', 'jaxlib-0.8.0') AND b.run_name = 'jaxlib-0.8.0'"
        )
    return path


@pytest.fixture(scope="module")
def two_targets(example_warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example fleet, where one program of a run is compiled for a second target, too."""
    path = Path(shutil.copy(example_warehouse, tmp_path_factory.mktemp("targets") / "targets.duckdb"))
    with duckdb.connect(str(path)) as con:
        con.execute(
            "INSERT INTO raw.observations SELECT o.* REPLACE ('avx512' AS compile_target, 'x.txt' AS relative_path)"
            " FROM raw.observations AS o JOIN raw.runs USING (run_id)"
            " WHERE run_name = 'jaxlib-0.8.0' AND program_name = 'jit_fft'"
        )
    return path


@pytest.mark.parametrize("word", [TPU, "tpu-v5e-jaxlib-0.8"])
def test_a_run_is_found_by_its_name_or_the_beginning(example, word: str):
    """Any beginning that fits one run only means it."""
    names = dict(example.execute("SELECT run_id, run_name FROM raw.runs").fetchall())
    assert TPU == names[find_run(example, word)]


def test_without_a_word_the_newest_run_is_meant(example_warehouse: Path):
    """`report run` alone shows the run that started last."""
    newest = rows(example_warehouse, "SELECT run_name FROM raw.runs ORDER BY started_at DESC LIMIT 1")
    assert newest == [(read_run(example_warehouse, None).facts["run_name"],)]


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("jaxlib-0.4", r"'jaxlib-0.4' fits 3 runs; give one of them:\n  jaxlib-0.4.38  \(2024-12-17 00:00 UTC, 13 d"),
        ("jaxlib-0.80", r"there is no run 'jaxlib-0.80'; did you mean 'jaxlib-0.8.0'( or '[^']+')*\?\n$"),
        ("V5E", r"there is no run 'V5E'; did you mean 'tpu-v5e-[^']+' or 'tpu-v5e-[^']+'\?\n$"),
        ("no\x1b", r"there is no run 'no\\\\x1b'; there are:\n  jaxlib-0.10.0  (.+\n){11}$"),
    ],
)
def test_another_word_is_answered_with_candidates(example_warehouse: Path, word: str, message: str):
    """What means no run, or several, ends with exit code 2 and the runs that may be meant."""
    said = call("report", "run", word, "--warehouse", example_warehouse)
    assert (2, "") == (said.code, said.out)
    assert re.match(f"bufferhouse: {message}", said.err)


def test_programs_are_ranked_and_folded(repeated: Path):
    """Files of one program are one row with the figures of the largest dump, the largest program first."""
    run = read_run(repeated, "jaxlib-0.8.0")
    found = {(row["program_id"], row["memory_space"]): row for row in run.records("run_programs")}
    expected: dict[tuple[int, int], list[tuple]] = {}
    for program_id, space, *figures in rows(
        repeated,
        "SELECT program_id, memory_space, reserved_bytes, occupied_peak_bytes, -dump_id, dump_id"
        " FROM marts.observations_v1 JOIN marts.peak_memory_v1 USING (dump_id) WHERE run_name = 'jaxlib-0.8.0'",
    ):
        expected.setdefault((program_id, space), []).append(tuple(figures))
    assert expected.keys() == found.keys()
    for key, dumps in expected.items():
        largest = max(dumps)
        shown = found[key]
        assert (largest[0], largest[1], largest[3]) == tuple(
            shown[name] for name in ("reserved_bytes", "occupied_peak_bytes", "dump_id")
        )
        assert (len(dumps), len(set(dumps))) == (shown["dump_count"], shown["variant_count"])
    sizes = [row["reserved_bytes"] for row in run.records("run_programs")]
    assert sorted(sizes, reverse=True) == sizes
    assert "13 programs, the largest first; each row shows the largest dump of its program, of 39 dumps" in run_text(
        run, "table"
    )


def test_parts_of_a_program_are_its_reserved_bytes(tpu: Run):
    """Parameters, outputs, constants and temporaries sum to what is reserved, in every memory space."""
    parts = ("parameter_bytes", "output_bytes", "constant_bytes", "temp_bytes")
    programs = tpu.records("run_programs")
    assert [row["reserved_bytes"] for row in programs] == [sum(row[part] for part in parts) for row in programs]
    assert 32 == len(programs)


def test_what_was_compiled_again_is_counted(repeated: Path):
    """A function with several dumps stands there with its files, its contents and those that were there already."""
    files = rows(repeated, "SELECT program_name, dump_id FROM marts.observations_v1 WHERE run_name = 'jaxlib-0.8.0'")
    dumps, contents = Counter(name for name, _ in files), Counter(name for name, _ in set(files))
    expected = {name: (count, contents[name], count - contents[name]) for name, count in dumps.items() if count > 1}
    again = read_run(repeated, "jaxlib-0.8.0").records("run_recompiled")
    columns = ("dump_count", "content_count", "identical_count")
    assert expected == {row["program_name"]: tuple(row[column] for column in columns) for row in again}


def test_what_varies_is_what_the_mart_says(repeated: Path, tmp_path: Path):
    """Where all dumps of a run lie in one folder, what was compiled again is that of marts.retraced_programs."""
    path = Path(shutil.copy(repeated, tmp_path / "varied.duckdb"))
    with duckdb.connect(str(path)) as con:  # one function of the run gets the signatures of all others
        con.execute(
            "UPDATE raw.observations AS o SET program_name = 'jit_fft' FROM raw.runs AS r WHERE r.run_id = o.run_id"
            " AND run_name = 'jaxlib-0.4.13'"
        )
    marks = {"other_arity": "number of leaves", "other_element_types": "element types"}
    marks |= {"other_rank": "number of dimensions", "other_dims": "dimensions"}
    said = ", ".join(f"CASE WHEN has_{name} THEN '{words}' END" for name, words in marks.items())
    columns = ("program_name", "compile_target", "dump_count", "identical_count", "content_count", "signature_count")
    expected = rows(
        path,
        f"SELECT {', '.join(columns)}, NULLIF(CONCAT_WS(', ', {said}), ''), largest_reserved_bytes"
        " FROM marts.retraced_programs_v1 WHERE run_name = 'jaxlib-0.4.13'",
    )
    again = read_run(path, "jaxlib-0.4.13").records("run_recompiled")
    columns += ("what_varies", "largest_reserved_bytes")
    assert expected == [tuple(row[name] for name in columns) for row in again]
    assert {*marks.values()} - {"dimensions"} == {*again[0]["what_varies"].split(", ")}
    assert [("jit_fft", ".", 1)] == [(row["program_name"], row["folder"], row["folder_count"]) for row in again]


def test_several_hosts_recompile_nothing(warehouse: Path, tmp_path: Path):
    """A job whose hosts have a folder each compiled a function more than once only where one of them did."""
    folder = "Of several folders, such as those of several hosts, a row shows the one with the most dumps."
    for round_number, expected in enumerate(([], [("jit_f", 2, 1, "host0", 2)])):
        for host in ("host0", "host1"):
            write_dumps(tmp_path / "job" / host, range(1 + round_number), lambda _: small_dump(1))
        assert 0 == call("ingest", tmp_path / "job", "--run", "job", "--warehouse", warehouse).code
        run = read_run(warehouse, "job")
        again = run.records("run_recompiled")
        columns = ("program_name", "dump_count", "identical_count", "folder", "folder_count")
        assert expected == [tuple(row[name] for name in columns) for row in again]
        assert bool(expected) == (folder in run_text(run, "markdown"))
        fleet = read_fleet(warehouse).answers["fleet_recompiled"].records
        columns = ("program_name", "dump_count", "identical_count")
        assert [row[:3] for row in expected] == [tuple(row[name] for name in columns) for row in fleet]


def test_of_runs_that_compiled_as_often_the_newest_is_named(warehouse: Path, tmp_path: Path):
    """In the fleet, whatever their order of loading, or the numbers that they have in a lake."""
    for name, day in (("newer", 2), ("older", 1)):
        write_dumps(tmp_path / name, range(2), lambda _: small_dump(1))
        (tmp_path / name / "run.json").write_text(json.dumps({"started_at": f"2026-11-0{day}T00:00:00Z"}))
        assert 0 == call("ingest", tmp_path / name, "--run", name, "--warehouse", warehouse).code
    [again] = read_fleet(warehouse).answers["fleet_recompiled"].records
    assert (2, 2, "newer") == (again["run_count"], again["dump_count"], again["run_name"])


def test_a_program_of_two_targets_counts_for_each(two_targets: Path):
    """Where its figures count a program once for each compile target, the report says so; and only there."""
    single = run_text(read_run(two_targets, TPU), "markdown")
    run = read_run(two_targets, "jaxlib-0.8.0")
    [space] = run.records("run_spaces")
    rows = run.records("run_programs")
    assert 1 == len(rows) - space["program_count"]
    said = "A program counts once for each compile target"
    for text in (run_text(run, "markdown"), run_page(run)):
        assert f"{said}, in percentiles and in padded programs too; under programs it counts once." in text
        assert f"{len(rows)} programs, the largest first. {said}." in " ".join(re.sub("<[^>]+>", " ", text).split())
    assert said not in single


def test_blocks_are_the_allocations_of_the_ranked_programs(example_warehouse: Path, tpu: Run):
    """In each memory space every allocation but thread-local and empty ones is in one row, the largest first."""
    sql = (
        "SELECT memory_space, size_bytes FROM raw.allocations WHERE NOT is_thread_local AND size_bytes > 0"
        " AND dump_id IN (SELECT dump_id FROM marts.observations_v1 WHERE run_name = $1) ORDER BY 1, 2 DESC"
    )
    blocks = [
        (row["memory_space"], row["size_bytes"])
        for row in tpu.records("run_blocks")
        for _ in range(row["allocation_count"])
    ]
    assert rows(example_warehouse, sql, [TPU]) == blocks


def test_constants_and_donations_are_those_of_the_marts(example_warehouse: Path, tpu: Run):
    """All of the run are there, the largest constant first; the sum of a program is that of its candidates."""
    of_run = "dump_id IN (SELECT dump_id FROM marts.observations_v1 WHERE run_name = $1)"
    sql = f"SELECT allocation_bytes FROM marts.constants_v1 WHERE NOT is_thread_local AND {of_run} ORDER BY 1 DESC"
    constants = tpu.records("run_constants")
    assert rows(example_warehouse, sql, [TPU]) == [(row["allocation_bytes"],) for row in constants]
    assert {len(constants)} == {row["constant_count"] for row in constants}
    sql = f"SELECT COUNT(*), SUM(size_bytes) FROM marts.donation_candidates_v2 WHERE {of_run}"
    donations = tpu.records("run_donations")
    assert rows(example_warehouse, sql, [TPU]) == [(len(donations), sum(row["size_bytes"] for row in donations))]
    sums: Counter[tuple] = Counter()
    for row in donations:
        sums[row["program_id"], row["memory_space"]] += row["size_bytes"]
    assert [sums[row["program_id"], row["memory_space"]] for row in donations] == [
        row["program_bytes"] for row in donations
    ]
    assert 14 == len(donations)


def test_what_live_ranges_tell_is_blank_without_them(fleet: Path, tmp_path: Path):
    """No program is called unpadded and no donation impossible in a schedule that is not known."""
    for file in (fleet / "jaxlib-0.10.0").glob("*-buffer-assignment.txt"):
        shutil.copy(file, tmp_path)
    assert 0 == call("ingest", tmp_path, "--run", "alone", "--warehouse", tmp_path / "w.duckdb").code
    run = read_run(tmp_path / "w.duckdb", "alone")
    assert {None} == {row["padded_program_count"] for row in run.records("run_spaces")}
    assert {(None, None)} == {(row["in_place"], row["in_this_schedule"]) for row in run.records("run_donations")}


@pytest.mark.parametrize("width", [50, 80, 120, 200])
def test_the_report_fits_the_terminal(tpu: Run, width: int, monkeypatch: pytest.MonkeyPatch):
    """No line is wider than the terminal, and the figures that rank programs are whole."""
    monkeypatch.setenv("COLUMNS", str(width))
    text = run_text(tpu, "table", exact=True)
    assert [] == [line for line in text.splitlines() if cell_len(line) > width]
    for row in tpu.records("run_programs", memory_space=0):
        assert f"{row['reserved_bytes']:,} B" in text
    assert ("columns left out (terminal too narrow): " in text) == (width < 200)


def test_markdown_has_the_figures_of_the_terminal(tpu: Run, monkeypatch: pytest.MonkeyPatch):
    """Every row that a wide terminal shows stands in Markdown, cell by cell, and so does every line of words."""
    monkeypatch.setenv("COLUMNS", "400")
    shown, marked = run_text(tpu, "table").splitlines(), run_text(tpu, "markdown").replace("\\", "")
    cells = Counter(" ".join(line.split()) for line in shown)
    lines = [re.sub(r"^#+ ", "", line).strip("| ").replace(" | ", " ") for line in marked.splitlines()]
    table_rows = {line for line in lines if line and not line.startswith("---")}
    wanted = {line for line in cells if re.search(r"\d (B|[KM]iB)", line)}
    assert len(wanted) > 50
    assert set() == wanted - {" ".join(line.split()) for line in table_rows}


def test_json_has_the_answers_of_all_statements(tpu: Run):
    """JSON is one object with every record of every statement, bytes as numbers, ids whole."""
    found = json.loads(run_text(tpu, "json"))
    assert TPU == found["run"]["run_name"]
    assert tpu.answers.keys() == found["answers"].keys()
    for name in set(tpu.answers) - {"run_facts", "run_rejects"}:  # in which are moments
        assert tpu.answers[name].records == found["answers"][name]


@pytest.fixture
def rejects(warehouse: Path, tmp_path: Path) -> Path:
    """A warehouse of one run, all of whose twelve dumps were refused."""
    (tmp_path / "broken").mkdir()
    for number in range(12):
        path = tmp_path / "broken" / f"module_{number}-buffer-assignment.txt"
        path.write_text(f"BufferAssignment:\n<b>nonsense {number}\n")
    assert 1 == call("ingest", tmp_path / "broken", "--warehouse", warehouse).code
    return warehouse


def test_a_run_of_rejects_shows_why(rejects: Path, tmp_path: Path):
    """Where every dump was refused, report and page say so, where the faults are, and how to see all of them."""
    page = tmp_path / "broken.html"
    said = call("report", "run", "broken", "--warehouse", rejects, "--html", page)
    assert (0, f"report: {page}\n") == (said.code, said.out)
    said = call("report", "run", "broken", "--warehouse", rejects)
    assert "0 dumps, 0 contents, 0 programs, 12 rejects" in said.out
    assert "No dump of this run could be read" in said.out
    assert 10 == len(re.findall(r"broken/module_\d+-buffer-assignment.txt:\d", said.out))
    assert "… and 2 more\nall rejects: bufferhouse rejects ls\n" in said.out
    assert "&lt;b&gt;nonsense" in page.read_text()
    assert "No dump of this run could be read" in page.read_text()


def test_dumps_in_no_warehouse(fleet: Path, tmp_path: Path):
    """--from reads dumps and reports at once; JSON on standard output stays JSON beside a page."""
    (source,) = (fleet / "jaxlib-0.8.0").glob("*jit_fft*-buffer-assignment.txt")
    page = tmp_path / "page.html"
    said = call("report", "run", "--from", source, "--html", page, "--format", "json")
    assert (0, f"report: {page}\n") == (said.code, said.err)
    assert ["jit_fft"] == [row["program_label"] for row in json.loads(said.out)["answers"]["run_programs"]]
    assert "jit_fft" in page.read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--format", "csv"], "--format: expected table, markdown"),
        (["--html", "no/such/folder.html"], "the folder of the page does not exist"),
        (["--from", "x"], "expected --warehouse or --from, not both"),
    ],
)
@pytest.mark.parametrize("verb", [["fleet"], ["program", "jit_fft"], ["run", "x"], ["compare", "x", "y"]])
def test_wrong_calls(example_warehouse: Path, verb: list[str], words: list[str], message: str):
    """A wrong call of any report ends with exit code 2 before anything is read."""
    said = call("report", *verb, "--warehouse", example_warehouse, *words)
    assert (2, "") == (said.code, said.out)
    assert message in said.err


def test_names_do_nothing_on_a_terminal(hostile_names):
    """Control characters and turned text in names are written as escapes, however narrow their column."""
    run = read_run(hostile_names.path, hostile_names.prefix + TPU)
    for form in ("table", "markdown"):
        text = run_text(run, form)
        assert "" == "".join(char for char in text if not char.isprintable() and char != "\n")
        assert form == "markdown" or 120 >= max(map(cell_len, text.splitlines()))
