"""What all reports share on a terminal: width, color, exact bytes, and the same content in Markdown and JSON."""

import json
import re
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from bufferhouse.report.compare.data import read_comparison
from bufferhouse.report.compare.text import compare_text
from bufferhouse.report.fleet.data import Fleet
from bufferhouse.report.fleet.text import fleet_text
from bufferhouse.report.program.data import Program, read_program
from bufferhouse.report.program.text import program_text
from bufferhouse.report.run.data import read_run
from bufferhouse.report.run.text import run_text
from bufferhouse.report.text.columns import Column
from bufferhouse.report.text.figures import exact_bytes
from bufferhouse.report.text.screen import distinct, fitted, lines_of, shortened, terminal_text
from bufferhouse.report.text.sections import Section, markdown_text, marked
from tests.command_line import call

REPORTS = {
    "fleet": ["fleet"],
    "program": ["program", "jit_sort_pairs", "--run", "jaxlib-0.6.0"],
    "run": ["run", "jaxlib-0.6.0"],
    "compare": ["compare", "jaxlib-0.4.38", "jaxlib-0.6.0"],
}
COLUMNS = [
    Column("name", "program"),
    Column("most", "reserved", "bytes"),
    Column("change", "change", "change", rank=1),
    Column("word", "op_name", rank=2),
]


@pytest.fixture
def printed(example_warehouse: Path):
    """A function that returns what a report prints."""

    def report(name: str, *words: str) -> str:
        said = call("report", *REPORTS[name], "--warehouse", example_warehouse, *words)
        assert 0 == said.code
        return said.out

    return report


@pytest.fixture(scope="module")
def told(example_warehouse: Path, example_fleet: Fleet) -> dict[str, Callable[..., str]]:
    """By report, a function that returns its text in a form, `exact` or not; each is read from the warehouse once."""
    path = example_warehouse
    return {
        "fleet": partial(fleet_text, example_fleet),
        "program": partial(program_text, read_program(path, "jit_sort_pairs", run="jaxlib-0.6.0")),
        "run": partial(run_text, read_run(path, "jaxlib-0.6.0")),
        "compare": partial(compare_text, read_comparison(path, "jaxlib-0.4.38", "jaxlib-0.6.0")),
    }


@pytest.mark.parametrize("name", REPORTS)
def test_color_only_on_a_terminal_that_wants_it(printed, told, name: str, monkeypatch: pytest.MonkeyPatch):
    """A file gets no escape sequences; a terminal gets them, unless NO_COLOR is set; the text is the same."""
    for variable in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "90")
    plain = printed(name, "--bytes")
    monkeypatch.setenv("FORCE_COLOR", "1")  # what stands for a terminal here
    colored = told[name]("table", exact=True)
    monkeypatch.setenv("NO_COLOR", "1")
    asked_not_to = told[name]("table", exact=True) + "\n"
    assert "\x1b[" not in plain
    assert {"31", "32"} & set(re.findall(r"\x1b\[([0-9]+)m", colored))
    stripped = re.sub(r"\x1b\[[0-9;]*m", "", colored)
    assert [line.rstrip() for line in plain.splitlines()] == [line.rstrip() for line in stripped.splitlines()]
    assert plain == asked_not_to
    assert 90 >= max(map(cell_len, plain.splitlines()))


@pytest.mark.parametrize("name", REPORTS)
def test_bytes_are_exact_on_demand(printed, told, name: str):
    """With --bytes no figure is rounded, and each that was is one of the exact ones, rounded.

    The test above calls every command with it; here one is called for Markdown, too.
    """
    rounded = re.compile(r"[\d.]+ [KMGT]iB")
    for form in ("table", "markdown"):
        shown, exact = told[name](form), told[name](form, exact=True)
        assert rounded.search(shown)
        of_text = r"[^\n]* of text"  # how long a dump is: no figure of memory
        assert [] == rounded.findall(re.sub(of_text, "", exact))
        assert re.search(r"\d,\d{3} B", exact)
    if name == "fleet":
        assert f"{exact}\n" == printed(name, "--format", form, "--bytes")


def test_markdown_of_the_fleet_has_the_figures_of_the_marts(example_fleet: Fleet):
    """Each series that is shown has its bytes run by run and its net change; padding and runs are there, too."""
    text = fleet_text(example_fleet, "markdown", exact=True)
    for space in example_fleet.spaces:
        for series in space.series:
            cells = [marked(series.label)]
            figures = [series.by_run.get(run["run_id"], {}).get("reserved_bytes") for run in space.runs[-8:]]
            cells += map(exact_bytes, figures)
            assert f"| {' | '.join(cells)} |" in text
            assert not series.has_moved or f"{exact_bytes(series.net_change_bytes, signed=True)} |" in text
    assert len(example_fleet.runs) == len(
        re.findall(r"^\| .* \| run\\\.json|^\| .* \| run.json \|", text, re.MULTILINE)
    )
    padded = sum(len(space.padding) for space in example_fleet.spaces)
    assert padded == sum(section.count("\n| ") - 2 for section in text.split("## ") if section.startswith("Padding: "))


def test_json_of_the_fleet_has_the_answers(example_warehouse: Path, example_fleet: Fleet, tmp_path: Path):
    """JSON is one object with every record of every statement; the path of a page goes to standard error."""
    page = tmp_path / "page.html"
    said = call("report", "fleet", "--warehouse", example_warehouse, "--format", "json", "--html", page)
    found = json.loads(said.out)["answers"]
    assert example_fleet.answers.keys() == found.keys()
    assert example_fleet.answers["fleet_trend"].records == found["fleet_trend"]
    assert f"report: {page}\n" == said.err


def test_what_has_no_room_is_left_out_and_said(monkeypatch: pytest.MonkeyPatch):
    """Columns give way in the order of their ranks, and the figures that stay are whole."""
    record = {"name": "jit_" + "x" * 60, "most": 5 << 30, "change": -3 << 20, "word": "jit(f)/jit(main)/dot"}
    section = Section("title", ["line"], COLUMNS, [record])
    expected = {200: None, 60: "op_name", 32: "op_name"}
    for width, left_out in expected.items():
        monkeypatch.setenv("COLUMNS", str(width))
        text = terminal_text("report", [section])
        assert width >= max(map(len, text.splitlines()))
        assert "5.0 GiB" in text
        assert (left_out is None) == ("columns left out" not in text)
        assert left_out is None or left_out in text.splitlines()[-1]
    assert "change, op_name" in text


NAMES = [f"team/{'x' * 40}/{day}/profile/xla_dump" for day in ("2026-01-01", "2026-01-02")]


def table_of(names: list[str]) -> str:
    """A table whose rows have long words beside a name."""
    records = [{"name": name, "most": 5 << 30, "change": 1 << 20, "word": "jit(f)/" * 12} for name in names]
    return terminal_text("report", [Section("title", [], COLUMNS, records)])


def test_runs_of_one_beginning_and_end_are_not_cut_to_one_name(monkeypatch: pytest.MonkeyPatch):
    """Names that differ in their middle stay apart however narrow the terminal is, and the column stays."""
    for width in (40, 60, 80):
        monkeypatch.setenv("COLUMNS", str(width))
        rows = [line.split()[0] for line in table_of(NAMES).splitlines() if "5.0 GiB" in line]
        assert 2 == len(set(rows)), width


def test_nothing_is_cut_or_left_out_in_a_pipe(monkeypatch: pytest.MonkeyPatch):
    """Where there is no terminal, and nobody asked for a width, names and columns are whole, each row on one line."""
    monkeypatch.delenv("COLUMNS", raising=False)
    text = table_of(NAMES)
    assert 6 == len(text.splitlines())
    assert "…" not in text
    assert "columns left out" not in text
    assert all(re.search(rf"^{name} +5\.0 GiB .* {re.escape('jit(f)/' * 12)}$", text, re.M) for name in NAMES)


def test_a_program_of_two_targets_is_told_apart_on_a_narrow_terminal(example_warehouse, told, monkeypatch):
    """What identifies a row of a list of programs, to be typed again, is there at 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    said = call("blame", "jit_fft", "--warehouse", example_warehouse).out
    assert "program_id" in said or "first run" in said
    monkeypatch.setenv("COLUMNS", "60")
    fleet = told["fleet"]("table")
    left_out = [line for line in fleet.splitlines() if line.startswith("columns left out")]
    assert left_out
    assert not re.search("target|platform|track|memory space|program_id", " ".join(left_out))


@pytest.fixture(scope="module")
def trained(example_warehouse: Path) -> Program:
    """What the report says of a program, read once for all widths."""
    return read_program(example_warehouse, "jit_cnn_train_step")


@pytest.mark.parametrize("width", [60, 70, 80, 100])
def test_a_narrow_terminal_keeps_labels_and_names_what_it_leaves_out(told, trained, monkeypatch, width):
    """Whichever columns fit, each row says what it is of, and no column goes in silence."""
    monkeypatch.setenv("COLUMNS", str(width))
    program = program_text(trained, "table")
    balance = program.partition("where the bytes go\n")[2].partition("\n\n")[0]
    assert {"allocations", "number", "size", "elements"} <= {row.partition("  ")[0] for row in balance.splitlines()}
    kinds = {"temp", "parameter", "output", "constant", "thread-local", "reserved"}
    assert kinds == {kind for kind in kinds if kind in balance}
    fleet = told["fleet"]("table")
    moved = next(table for table in fleet.split("\n\n") if "net change" in table)
    assert "main cause" in moved


@given(st.lists(st.text(alphabet="ab/-", max_size=30), max_size=5), st.integers(1, 12))
@settings(deadline=None)
def test_different_names_stay_different_when_they_are_cut(names: list[str], width: int):
    """As many names as before, each as narrow as it is to be, or whole where no cut keeps them apart."""
    shorter = distinct(names, width)
    assert len(set(names)) == len(set(shorter))
    assert shorter == names or all(cell_len(short) <= width for short in shorter)


@given(st.lists(st.text(alphabet="ab/-", max_size=30), max_size=5), st.integers(1, 12))
@settings(deadline=None)
def test_shortened_names_are_never_wider(names: list[str], width: int):
    """What another column identifies takes the cells it is given, and stays different where it can."""
    shorter = shortened(names, width)
    assert all(cell_len(short) <= width for short in shorter)
    kept_apart = distinct(names, width)
    assert shorter == kept_apart or kept_apart == names


def test_programs_show_a_part_of_long_signatures_on_a_terminal(example_warehouse, monkeypatch):
    """As much as fits beside the rest, however many no cut keeps apart; where nothing is fitted they are whole."""
    monkeypatch.delenv("COLUMNS", raising=False)
    programs = json.loads(call("programs", "--format", "json", "--warehouse", example_warehouse).out)
    whole = {program["entry_signature"] for program in programs}
    assert max(map(len, whole)) > 200
    heading, _, *rows = call("programs", "--warehouse", example_warehouse).out.splitlines()
    start = heading.index("entry_signature")
    assert whole == {row[start:] for row in rows}
    for width, shown in ((40, 20), (start + 33, 33), (400, 60)):
        monkeypatch.setenv("COLUMNS", str(width))
        heading, _, *rows = call("programs", "--warehouse", example_warehouse).out.splitlines()
        assert shown == max(len(row) - start for row in rows)


def test_names_that_no_cut_keeps_apart_run_over_several_lines(monkeypatch: pytest.MonkeyPatch):
    """They differ in their middle, in places that are too far from each other for one cut."""
    monkeypatch.setenv("COLUMNS", "40")
    names = ["".join("ab"[number >> bit & 1] + "." * 15 for bit in range(4)) for number in range(16)]
    records = [{"name": name, "most": 1, "change": 0, "word": None} for name in names]
    _, _, *rows = terminal_text("report", [Section("", [], COLUMNS[:2], records)]).splitlines()
    assert "".join(names) == "".join(row.partition(" ")[0] for row in rows[1:])


def test_prose_runs_over_several_lines(monkeypatch: pytest.MonkeyPatch):
    """Its words are all there, from the line of its row downwards."""
    monkeypatch.setenv("COLUMNS", "40")
    words = "an output of its shape takes its place, born after its last use"
    columns = [Column("name", "edit"), Column("why", "why", is_prose=True)]
    section = Section("", [], columns, [{"name": "donate", "why": words}, {"name": "remove", "why": "gone"}])
    _, _, _, first, *others = terminal_text("report", [section]).splitlines()
    assert first.startswith("donate  an output")
    assert words.split() == " ".join([first, *others[:-1]]).split()[1:]
    assert "remove  gone" == others[-1]


def test_a_path_that_is_wider_than_the_screen_stays_whole(monkeypatch: pytest.MonkeyPatch):
    """It can be copied; a sentence runs over several lines, as ever."""
    monkeypatch.setenv("COLUMNS", "40")
    path = f"dump: /dumps/{'x' * 60}.txt"
    text = terminal_text("report", [Section("", [path, " ".join(["words"] * 10)])])
    assert [path, " ".join(["words"] * 6), " ".join(["words"] * 4)] == text.splitlines()[2:]


def test_rows_that_are_not_printed_are_counted():
    """Beyond the limit rows are counted, on the terminal and in Markdown."""
    records = [{"name": f"p{i}", "most": i, "change": 0, "word": None} for i in range(12)]
    section = Section("title", [], COLUMNS, records, shown=5)
    for text in (terminal_text("report", [section]), markdown_text("report", [section])):
        assert "p4" in text
        assert "p5" not in text
        assert text.endswith("7 more rows: --format json has them")


def test_changes_are_colored_by_their_way(monkeypatch: pytest.MonkeyPatch):
    """More is red, less is green, nothing has no color."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("FORCE_COLOR", "1")
    records = [{"name": "p", "most": 1, "change": change, "word": "w"} for change in (1, -1, 0)]
    text = terminal_text("report", [Section("title", [], COLUMNS, records)])
    assert Counter({"31": 1, "32": 1}) == Counter(re.findall(r"\x1b\[(3[0-9])m", text))
    assert "\x1b[31m  +1 B\x1b[0m" in text


@given(st.text(max_size=40), st.integers(1, 50))
@settings(deadline=None)
def test_fitted_text_is_never_wider(text: str, width: int):
    """A text takes the cells it is given, whatever letters it is of, and stays whole where there is room."""
    clean = "".join(filter(str.isprintable, text))
    assert width >= cell_len(fitted(clean, width))
    assert cell_len(clean) > width or clean == fitted(clean, width)


@given(st.text(alphabet="ab`*_[]<>#&~|\\", max_size=20))
def test_markdown_shows_marks_and_does_nothing_with_them(text: str):
    """Every mark of Markdown in a name is escaped."""
    assert text == re.sub(r"\\([\\`*_\[\]<>#&~])", r"\1", marked(text))
    assert not re.search(r"(?<!\\)(?:\\\\)*[`*_\[\]<>#&~]", marked(text))


def test_blanks_within_a_line_are_no_trailing_ones():
    """However many a wide shape beside a short one makes: to look at each run again from each blank takes minutes."""
    wide = "f32[2]" + " " * 300_000 + "\x1b[2mof a loop\x1b[0m"
    assert f"{wide}\nx\x1b[0m" == lines_of(f"{wide}  \nx \x1b[0m   \n\n")
