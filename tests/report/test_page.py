"""The fleet report as a page: alone in the world, true to the marts, unmoved by hostile names."""

import re
from datetime import UTC, datetime
from operator import itemgetter
from pathlib import Path

import duckdb
import pytest
import vl_convert
from hypothesis import given, settings
from hypothesis import strategies as st

from bufferhouse.compare.causes import short
from bufferhouse.query.statements import Answer, ask, keep
from bufferhouse.report.fleet.data import KEPT, Fleet, read_fleet
from bufferhouse.report.fleet.page import RUNS_BESIDE_CAUSES, fleet_page, trend_chart
from bufferhouse.report.fleet.text import title
from bufferhouse.report.html.charts import bytes_axis
from bufferhouse.report.html.page import page
from bufferhouse.report.text.figures import human_bytes
from tests.report.pages import HOSTILE, Parts, as_embedded, assert_alone, assert_only_text_differs


@pytest.fixture(scope="module")
def example_parts(example_page: str) -> Parts:
    """Its parts."""
    return Parts(example_page)


@pytest.fixture(scope="module")
def hostile(hostile_names) -> str:
    """The page of a fleet whose names would do harm."""
    return fleet_page(read_fleet(hostile_names.path))


def test_nothing_is_asked_of_anybody(example_page: str):
    """No element loads anything, the policy lets the page ask for nothing, and only its own scripts run."""
    assert_alone(example_page)


def test_embedded_figures_are_those_of_the_statements(example_warehouse: Path, example_parts: Parts):
    """The page's JSON holds what its statements answer, columns and rows, times in ISO form, long ids as text."""
    parameters = {"fleet_trend": {"shown": 15, "runs": 100}, "fleet_padding": {"padded": 10}}
    parameters |= {"fleet_rejects": {"rejects": 10}, "fleet_programs": {"programs": 2000}}
    parameters |= {f"fleet_{name}": {name: 20} for name in ("tiles", "sources", "recompiled")}
    embedded = example_parts.embedded("answers")
    with duckdb.connect(str(example_warehouse), read_only=True) as con:
        con.execute("SET TimeZone = 'UTC'")
        for name in KEPT:
            keep(con, name)
        # These have what no statement answers: see test_fleet_causes.py and test_reshaped.py.
        for name in embedded.keys() - {"fleet_movers", "fleet_reshaped"}:
            answer = ask(con, name, **parameters.get(name, {}))
            assert as_embedded(answer) == example_parts.answer(name)
    assert 111 == len(embedded["fleet_trend"]["rows"])


def test_embedded_trend_is_that_of_the_mart(example_warehouse: Path, example_parts: Parts):
    """Each row of the trend stands in the mart with the same bytes, and the mart holds no further run of its series."""
    columns, trend = example_parts.answer("fleet_trend")
    wanted = ("program_id", "compile_target", "memory_space", "run_name", "reserved_bytes", "reserved_change_bytes",
              "occupied_peak_bytes", "layout_padding_bytes")  # fmt: skip
    places = [columns.index(name) for name in wanted]
    actual = sorted(str([str(row[place]) for place in places]) for row in trend)
    with duckdb.connect(str(example_warehouse), read_only=True) as con:
        rows = con.execute(f"SELECT {', '.join(wanted)} FROM marts.memory_space_trend_v1").fetchall()
    runs_of: dict[tuple, list[tuple]] = {}
    for row in rows:
        runs_of.setdefault(row[:3], []).append(row)
    series = [runs for runs in runs_of.values() if len(runs) == 1 or any(row[5] for row in runs)]
    assert sorted(str([str(value) for value in row]) for runs in series for row in runs) == actual


def test_cells_are_exact_to_the_byte(example_fleet: Fleet, example_parts: Parts):
    """A cell shows bytes as people read them and holds the exact figure and change, equal to the mart's."""
    space = example_fleet.spaces[0]
    runs = space.runs[-RUNS_BESIDE_CAUSES:]
    headings = ["program", *(run["run_name"] for run in runs), "trend", "net change", "main cause"]
    start = [[said for said, _ in row] for row in example_parts.rows].index(headings)
    for series, row in zip(space.series, example_parts.rows[start + 1 :], strict=False):
        assert series.label == row[0][0]
        for run, (said, exact) in zip(runs, row[1:], strict=False):
            record = series.by_run[run["run_id"]]
            figures = [int(figure.replace(",", "")) for figure in re.findall(r"[+-]?[\d,]+(?= B)", exact)]
            assert [record["reserved_bytes"], record["reserved_change_bytes"] or 0][: len(figures)] == figures
            assert (2 if record["reserved_change_bytes"] else 1) == len(figures)
            assert said.startswith(human_bytes(record["reserved_bytes"]))
        assert f"{series.net_change_bytes:+,} B" == row[-2][1]
        said, exact = row[-1]
        if series.main_cause:
            assert f"{series.main_cause[1]:+,} B" == exact
            assert said == f"{short(series.main_cause[0])} {human_bytes(series.main_cause[1], signed=True)}"


def test_padding_parts_sum_to_the_occupied_bytes(example_fleet: Fleet):
    """The parts of a program's occupied peak close, and are those of its newest run."""
    records = [record for space in example_fleet.spaces for record in space.padding]
    assert records
    for record in records:
        parts = ("element_bytes", "layout_padding_bytes", "slack_bytes", "tuple_table_bytes")
        assert record["occupied_bytes"] == sum(record[part] for part in parts)
    series_key = itemgetter("platform", "track", "memory_space")
    newest = {series_key(space.facts): space.runs[-1]["run_id"] for space in example_fleet.spaces}
    assert {newest["tpu", "release", 0], newest[None, "seeds", 0]} == {record["run_id"] for record in records}


def test_hostile_names_change_nothing_but_text(harmless_names, hostile: str):
    """Names with markup, quotes, control characters and turned text give the same elements as harmless names."""
    assert_only_text_differs(fleet_page(read_fleet(harmless_names.path)), hostile)
    assert any("alert(1)" in text for text in Parts(hostile).texts)


def test_hostile_names_are_kept_as_they_are_in_the_data(hostile: str):
    """The embedded JSON holds names verbatim."""
    columns, rows = Parts(hostile).answer("fleet_runs")
    assert HOSTILE + "jaxlib-0.4.13" == rows[0][columns.index("run_name")]


def test_the_page_is_small(example_page: str):
    """The page of the example fleet, Vega included, stays below 3 MB."""
    assert len(example_page.encode()) < 3_000_000


def test_charts_can_be_drawn(example_fleet: Fleet):
    """Every table with movers has a chart that Vega draws from the page's rows, each mover with its line and label."""
    charts = [(space, chart) for space in example_fleet.spaces if (chart := trend_chart(space, title(space)))]
    assert [space for space in example_fleet.spaces if space.facts["moved_count"]] == [space for space, _ in charts]
    for space, chart in charts:
        rows = []
        for record in example_fleet.answers[chart.source].records:
            if all(record[name] == value for name, value in chart.where.items()):
                added = {name: texts.get(str(record[column])) for name, (column, texts) in chart.texts.items()}
                kept = {name: value for name, value in record.items() if not isinstance(value, datetime)}
                rows.append({**kept, "program_id": 0, **added})
        svg = vl_convert.vegalite_to_svg({**chart.spec, "width": 600, "datasets": {"rows": rows}})
        movers = [series for series in space.series if series.has_moved][:8]
        solid = re.findall(r'aria-roledescription="line mark"[^>]*stroke-width="1.8"', svg)
        assert len(movers) == len(solid)
        assert [] == [series.label for series in movers if f">{series.label}<" not in svg]
        assert [] == [run["run_name"] for run in space.runs if f">{run['run_name']}<" not in svg]


@pytest.mark.parametrize(
    ("expected", "values"),
    [
        (["16 KiB", "24 KiB", "32 KiB", "40 KiB", "48 KiB"], [25088, 41472, 30000]),
        (["0 B", "1 KiB", "4 KiB", "16 KiB", "64 KiB", "256 KiB", "1 MiB"], [0, 1024, 1048576]),
        (["4 KiB", "8 KiB", "16 KiB", "32 KiB", "64 KiB", "128 KiB"], [7168, 125952]),
        (["0 B", "1 B"], [0, 1]),
        (["512 KiB", "640 KiB", "768 KiB", "896 KiB", "1 MiB", "1.125 MiB", "1.25 MiB"], [1_200_000, 1_290_000]),
    ],
)
def test_ticks_of_bytes_are_round(expected: list[str], values: list[int]):
    """Ticks stand at round numbers of binary units; a wide range is logarithmic, with a zero where a value is zero."""
    assert expected == tick_labels(bytes_axis(values).to_dict())


def tick_labels(axis: dict) -> list[str]:
    """What stands at the ticks of an axis."""
    return re.findall(r'": "([^"]+)"', axis["axis"]["labelExpr"])


@settings(deadline=None)
@given(st.lists(st.integers(0, 2**53), min_size=1).filter(any))
def test_an_axis_holds_all_its_values(values: list[int]):
    """Whatever the values, the axis spans them, has two to twelve ticks within its span, and no label twice."""
    axis = bytes_axis(values).to_dict()
    low, high = axis["scale"]["domain"]
    ticks, labels = axis["axis"]["values"], tick_labels(axis)
    assert low <= min(values)
    assert max(values) <= high
    assert low <= min(ticks)
    assert max(ticks) <= high
    assert 2 <= len(set(labels)) == len(ticks) <= 12


def test_a_small_change_of_a_large_program_looks_small():
    """Eight bytes more or less do not fill the height of a chart."""
    low, high = bytes_axis([6691772, 6691780]).to_dict()["scale"]["domain"]
    assert high - low > 3_000_000


def test_a_page_without_charts_runs_no_script():
    """Where nothing is drawn, nothing is carried along: no Vega, and a policy that runs no script at all."""
    facts = {"run_count": 0, "dump_count": 0, "program_count": 0, "reject_count": 0}
    about = {"warehouse": "w", "asked_at": datetime.now(UTC), "what": "A.", "why": "B.", "facts": facts, "rejects": []}
    written = page("nothing.html", "Title", {"one": Answer(["n"], [(2**53 + 1,)])}, **about)
    parts = Parts(written)
    assert [({"type": "application/json", "id": "answers"}, parts.scripts[0][1])] == parts.scripts
    assert {"one": {"columns": ["n"], "rows": [["9007199254740993"]]}} == parts.embedded("answers")
    assert "script-src 'none'" in written


def test_each_page_names_its_warehouse(page_files):
    """In its last line; every kind of page that stands alone."""
    for name in ("fleet", "program", "run", "compare", "whatif"):
        assert re.search(r"<footer>Made [^<]* from <bdi>[^<]*fleet\.duckdb</bdi>", page_files[name].read_text()), name
