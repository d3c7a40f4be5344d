"""The pages of a run and of a comparison: alone in the world, true to the marts, unmoved by hostile names."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
import vl_convert

from bufferhouse.query.statements import ask, ask_each, keep
from bufferhouse.report.compare.data import read_comparison
from bufferhouse.report.compare.page import compare_page
from bufferhouse.report.html.page import FIRST_ROWS
from bufferhouse.report.run.data import BLOCKS, CONSTANTS, DONATIONS, REJECTS, read_run
from bufferhouse.report.run.page import run_page
from bufferhouse.report.text.figures import human_bytes, printable
from tests.command_line import call
from tests.report.pages import Parts, as_embedded, assert_alone, assert_only_text_differs
from tests.warehouses import rows

TPU = ("tpu-v5e-jaxlib-0.4.38-libtpu-0.0.8", "tpu-v5e-jaxlib-0.8.3-libtpu-0.0.33")
PAGES: dict[str, Callable[[Path, str], str]] = {
    "run": lambda path, prefix="": run_page(read_run(path, prefix + TPU[1])),
    "compare": lambda path, prefix="": compare_page(read_comparison(path, prefix + TPU[0], prefix + TPU[1])),
}
LIMITS = {
    "run_constants": {"constants": CONSTANTS},
    "run_donations": {"donations": DONATIONS},
    "run_blocks": {"blocks": BLOCKS},
    "run_rejects": {"rejects": REJECTS},
}

# No statement answers them: two runs are compared in Python.
MADE = {
    "run_reshaped",
    "compare_programs",
    "compare_causes",
    "compare_waterfall",
    "compare_matches",
    "compare_unmatched",
}


@pytest.fixture(scope="module")
def pages(example_warehouse: Path) -> dict[str, tuple[str, Parts]]:
    """Each page and its parts."""
    written = {name: page(example_warehouse) for name, page in PAGES.items()}
    return {name: (text, Parts(text)) for name, text in written.items()}


@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_asked_of_anybody(pages: dict[str, tuple[str, Parts]], name: str):
    """No element loads anything, the policy lets the page ask for nothing, and only its own scripts run."""
    assert_alone(pages[name][0])


@pytest.mark.parametrize("name", PAGES)
def test_embedded_figures_are_those_of_the_statements(
    example_warehouse: Path, pages: dict[str, tuple[str, Parts]], name: str
):
    """The page's JSON holds what its statements answer, columns and rows, times in ISO form, long ids as text."""
    ids = [
        run_id
        for run in TPU
        for (run_id,) in rows(example_warehouse, "SELECT run_id FROM raw.runs WHERE run_name = $1", [run])
    ]
    about = {"run_id": ids[1]} if name == "run" else {"before_run_id": ids[0], "after_run_id": ids[1]}
    parts = pages[name][1]
    with duckdb.connect(str(example_warehouse), read_only=True) as con:
        con.execute("SET TimeZone = 'UTC'")
        keep(con, "recompiled_folders")
        statements = parts.embedded("answers").keys()
        assert {"run": 10, "compare": 6}[name] == len(statements)
        for statement in statements - MADE:
            if name == "run" and statement not in ("run_facts", "run_before"):
                answer = ask_each(con, statement, [ids[1]], **LIMITS.get(statement, {}))[ids[1]]
            else:
                given = {"run_ids": [ids[1]]} if statement == "run_facts" else about
                answer = ask(con, statement, **given, **LIMITS.get(statement, {}))
            assert as_embedded(answer) == parts.answer(statement)


OF_RUN = f"run_name = '{TPU[1]}'"


@pytest.mark.parametrize(
    ("name", "statement", "columns", "source"),
    [
        ("run", "run_programs", "program_id, memory_space, dump_id, dump_count, variant_count, reserved_bytes,"
         " reserved_change_bytes, occupied_peak_bytes, layout_padding_bytes, slack_bytes",
         f"marts.memory_space_trend_v1 WHERE {OF_RUN}"),
        ("run", "run_spaces", "memory_space, program_count, largest_reserved_bytes, median_reserved_bytes,"
         " largest_layout_padding_bytes", f"marts.fleet_summary_v1 WHERE {OF_RUN}"),
        ("run", "run_constants", "instruction_name, value_id, allocation_bytes", "marts.constants_v1 JOIN"
         f" (SELECT dump_id FROM marts.observations_v1 WHERE {OF_RUN}) USING (dump_id) WHERE NOT is_thread_local"),
        ("run", "run_donations", "memory_space, size_bytes, parameter_name, output_shape",
         f"marts.donation_candidates_v2 JOIN (SELECT dump_id FROM marts.observations_v1 WHERE {OF_RUN})"
         " USING (dump_id)"),
        ("compare", "compare_programs", "program_id, memory_space, after_dump_id, after_reserved_bytes,"
         " after_occupied_peak_bytes, after_layout_padding_bytes", "(SELECT COLUMNS('(.*(bytes|dump_id))') AS"
         f" 'after_\\1', * FROM marts.memory_space_trend_v1) WHERE {OF_RUN}"),
        ("compare", "compare_programs", "program_id, memory_space, before_dump_id, before_reserved_bytes,"
         " before_occupied_peak_bytes, before_layout_padding_bytes", "(SELECT COLUMNS('(.*(bytes|dump_id))') AS"
         f" 'before_\\1', * FROM marts.memory_space_trend_v1) WHERE run_name = '{TPU[0]}'"),
    ],
)  # fmt: skip
def test_embedded_figures_are_those_of_the_marts(
    example_warehouse: Path,
    pages: dict[str, tuple[str, Parts]],
    tmp_path: Path,
    name: str,
    statement: str,
    columns: str,
    source: str,
):
    """What `bufferhouse query` says of a mart stands in the page, every row and every figure."""
    answer = tmp_path / "answer.json"
    asked = ("query", f"SELECT {columns} FROM {source}", "--warehouse", example_warehouse, "--format", "json")
    assert 0 == call(*asked, "-o", answer).code
    wanted = columns.split(", ")
    found = [
        [row[column] for column in wanted]
        for row in Parts(f'<script id="found">{answer.read_text()}</script>').embedded("found")
    ]
    names, embedded = pages[name][1].answer(statement)
    places = [names.index(column) for column in wanted]
    # Of a comparison those that are there on this side; ids that JavaScript would round stand as text.
    shown = [[row[place] for place in places] for row in embedded if name == "run" or row[places[2]] is not None]
    assert len(found) > 3
    assert sorted([list(map(str, row)) for row in found]) == sorted([list(map(str, row)) for row in shown])


@pytest.mark.parametrize("name", PAGES)
def test_tables_begin_with_the_first_rows_of_their_answers(pages: dict[str, tuple[str, Parts]], name: str):
    """Every table of a page whose rows are in an answer has the first of them in the page itself."""
    parts = pages[name][1]
    tables = parts.embedded("tables")
    assert len(tables) > 3
    for spec in tables.values():
        columns, records = parts.answer(spec["source"])
        records = [dict(zip(columns, row, strict=True)) for row in records]
        records = [row for row in records if all(row[key] == value for key, value in spec["where"].items())]
        assert records
        for record in records[:FIRST_ROWS]:
            cells = [
                "–" if record[c["column"]] is None
                else human_bytes(record[c["column"]], signed=c["kind"] == "change") if c["kind"] in ("bytes", "change")
                else printable(str(record[c["column"]]), c["limit"]) if c["kind"] == "text"
                else f"{record[c['column']]:.1%}" if c["kind"] == "share"
                else f"{record[c['column']]:,}"
                for c in spec["columns"]
            ]  # fmt: skip
            assert cells in [[said for said, _ in row] for row in parts.rows]


@pytest.mark.parametrize("name", PAGES)
def test_charts_are_valid_and_tell_bars_apart(pages: dict[str, tuple[str, Parts]], name: str):
    """Vega-Lite compiles each specification, a bar for each of the first programs, and each has a description."""
    charts = pages[name][1].embedded("charts")
    assert charts
    for chart in charts:
        vl_convert.vegalite_to_vega(chart["spec"])
        (bars,) = [texts for column, (_, texts) in chart["texts"].items() if column in ("program", "label")]
        assert 2 <= len(set(bars.values())) == len(bars) <= 15
    labels = [a["aria-label"] for _, a in pages[name][1].elements if a.get("class") == "chart"]
    assert len(charts) == len(labels)
    bar_chart = r"Bar chart of \d+ programs, .+: jit_\w+ (reserves|changed by) [+-]?[\d.]+ \w+"
    waterfall = r"Waterfall, Why jit_\w+ changed in .+: [\d.]+ \w+ before, [\d.]+ \w+ after, \d+ causes?\. The biggest"
    assert all(re.match(f"{bar_chart}|{waterfall}", label) for label in labels)


@pytest.fixture(scope="module")
def with_shapes(harmless_names, hostile_names, tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Path, str]]:
    """Harmless names and hostile ones; these pages show shapes as they are, too."""
    found = []
    for path, prefix in (harmless_names, hostile_names):
        found.append((Path(shutil.copy(path, tmp_path_factory.mktemp("shapes"))), prefix))
        with duckdb.connect(str(found[-1][0])) as con:
            con.execute("UPDATE raw.shapes SET shape_text = $1 || shape_text", [prefix])
    return found


@pytest.mark.parametrize("name", PAGES)
def test_hostile_names_change_nothing_but_text(with_shapes: list[tuple[Path, str]], name: str):
    """Names with markup, quotes, control characters and turned text give the same elements as harmless names."""
    harmless, hostile = (PAGES[name](*place) for place in with_shapes)
    assert_only_text_differs(harmless, hostile)


def test_the_page_has_every_program_and_every_cause(example_warehouse: Path, pages: dict[str, tuple[str, Parts]]):
    """What the page embeds of a comparison is what the terminal and JSON show, long ids as text."""
    comparison = read_comparison(example_warehouse, *TPU)
    for name, records in (("compare_programs", comparison.programs), ("compare_causes", comparison.causes)):
        columns, found = pages["compare"][1].answer(name)
        assert len(records) == len(found) > 3
        for record, row in zip(records, found, strict=True):
            assert list(record) == columns
            assert [str(value) for value in record.values()] == [str(value) for value in row]


def test_the_page_explains_the_biggest_changes(pages: dict[str, tuple[str, Parts]]):
    """Each explained program has a table of its causes, which finds all of them in the embedded answer."""
    parts = pages["compare"][1]
    explained = {name: spec for name, spec in parts.embedded("tables").items() if name.startswith("causes-")}
    assert 3 <= len(explained) <= 5
    columns, rows = parts.answer("compare_causes")
    for spec in explained.values():
        assert spec["where"].keys() | {column["column"] for column in spec["columns"]} <= set(columns)
        assert any(all(dict(zip(columns, row, strict=True))[key] == value for key, value in spec["where"].items())
                   for row in rows)  # fmt: skip
