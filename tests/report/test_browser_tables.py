"""Tables and charts of the pages in a real browser: sorted, searched, true when pointed at."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.wide_fleet import write_wide_fleet
from bufferhouse.commands.ingest_run import run_ingest
from bufferhouse.paths import CHECKOUT
from bufferhouse.report.compare.data import read_comparison
from bufferhouse.report.compare.page import compare_page
from bufferhouse.report.fleet.data import read_fleet
from bufferhouse.report.fleet.page import fleet_page
from bufferhouse.report.html.page import FIRST_ROWS
from bufferhouse.report.text.figures import human_bytes, percent, tick_bytes
from tests.report.browser import Browser
from tests.report.page_files import CELLS, OF_THE_PROGRAM, TABLE, TPU
from tests.warehouses import rows

pytestmark = pytest.mark.browser


def test_tables_sort_and_search(opened: Callable, example_warehouse: Path):
    """A table of owners shows what was searched, sorts both ways, and says how much it has."""
    with opened("program") as page:
        table = TABLE.format("peak-0")
        before = page.ask(CELLS.format(table))
        assert FIRST_ROWS == len(before)
        total = page.ask(f'{table}.closest(".wide").previousElementSibling.querySelector("output").textContent')
        page.ask(f'{table}.closest(".wide").previousElementSibling.querySelector("input").focus()')
        page.write("copy-start")
        found = page.ask(CELLS.format(table))
        assert found == [row for row in found if row[1][0] == "copy-start"] != []
        said = page.ask(f'{table}.closest(".wide").previousElementSibling.querySelector("output").textContent')
        assert f"{len(found)} of {total.removesuffix(' rows')}" == said
        page.ask(
            f'(() => {{ const search = {table}.closest(".wide").previousElementSibling.querySelector("input");'
            ' search.value = ""; search.dispatchEvent(new Event("input")); })()'
        )
        # Rows that the script made read like those that came with the page.
        assert before == page.ask(CELLS.format(table))
        page.ask(f'{table}.closest(".wide").nextElementSibling.click()')
        page.ask(f"{table}.tHead.rows[0].cells[3].firstChild.click()")
        assert "descending" == page.ask(f"{table}.tHead.rows[0].cells[3].ariaSort")
        page.ask(f"{table}.tHead.rows[0].cells[3].firstChild.click()")
        ascending = page.ask(CELLS.format(table))
        expected = rows(
            example_warehouse,
            f"SELECT owned_bytes FROM marts.peak_buffers_v1 WHERE {OF_THE_PROGRAM} AND memory_space = 0 ORDER BY 1",
        )
        assert [human_bytes(count) for (count,) in expected] == [row[3][0] for row in ascending]


def test_a_script_writes_figures_as_python_does(opened: Callable):
    """A row that a script draws anew keeps its figure: rounded alike, halves to the even digit; ticks lose nothing."""
    counts = [0, 1, 1023, 1024, 1152, 1_310_720, 19_136_512, 1_048_524, 1_048_525, 2**40 * 25 // 4, 2**53]
    counts += [1024**power * eighths // 8 for power in (1, 2, 3) for eighths in range(8, 8 * 33)]
    shares = [(number - 1000) / 800 for number in range(2001)] + [-0.0004, 0.0004]
    expected = [
        [human_bytes(count) for count in counts],
        [human_bytes(-count, signed=True) for count in counts],
        [tick_bytes(count) for count in counts],
        [percent(share) for share in shares],
    ]
    with opened("program") as page:
        script = (CHECKOUT / "bufferhouse" / "report" / "html" / "assets" / "data.js").read_text()
        found = page.ask(
            f"((counts, shares) => {{ {script}; return [counts.map((count) => humanBytes(count)),"
            " counts.map((count) => humanBytes(-count, true)), counts.map(tickBytes),"
            f" shares.map((share) => `${{rounded(share * 100)}}%`)]; }})({json.dumps(counts)}, {json.dumps(shares)})"
        )
    assert expected == found


def test_tables_of_the_fleet_sort_and_search(opened: Callable, example_warehouse: Path):
    """The runs of the fleet page are searched, and sorted by their figures, not by their letters."""
    with opened("fleet") as page:
        table = '[...document.querySelectorAll("table")].at(-1)'
        page.ask(f"{table}.tHead.rows[0].cells[7].firstChild.click()")
        counts = [int(row[7][0].replace(",", "")) for row in page.ask(CELLS.format(table))]
        expected = rows(example_warehouse, "SELECT dump_count FROM marts.runs_v1 ORDER BY 1 DESC")
        assert [count for (count,) in expected] == counts
        page.ask(f'{table}.closest(".wide").previousElementSibling.querySelector("input").focus()')
        page.write("tpu libtpu")
        assert 2 == len(page.ask(CELLS.format(table)))


def test_programs_of_the_fleet_are_found(opened: Callable, example_warehouse: Path):
    """All programs can be searched, those too that do not stand in the page, and sort by their net change."""
    with opened("fleet") as page:
        table = TABLE.format("fleet_programs")
        count = rows(
            example_warehouse,
            "SELECT COUNT(DISTINCT (platform, track, memory_space, program_id, compile_target))"
            " FROM marts.memory_space_trend_v1",
        )[0][0]
        said = f'{table}.closest(".wide").previousElementSibling.querySelector("output").textContent'
        assert f"{count} rows" == page.ask(said)
        assert FIRST_ROWS == len(page.ask(CELLS.format(table)))
        smallest = rows(
            example_warehouse,
            "SELECT program_name FROM marts.memory_space_trend_v1 WHERE program_name = 'jit_donate1' LIMIT 1",
        )[0][0]
        page.ask(f'{table}.closest(".wide").previousElementSibling.querySelector("input").focus()')
        page.write(f"{smallest} tpu")
        found = {(row[0][0], row[2][0]) for row in page.ask(CELLS.format(table))}
        assert {(smallest, "tpu")} == found


def test_a_chart_shows_figures_when_pointed_at(opened: Callable, example_warehouse: Path):
    """Over the timeline the occupied bytes of that position appear, as the mart has them."""
    with opened("program") as page:
        page.ask('document.querySelector("#chart-1").scrollIntoView({ block: "center" })')
        page.frame()
        box = page.ask('document.querySelector("#chart-1").getBoundingClientRect().toJSON()')
        for step in (0.4, 0.5):
            page.mouse("mouseMoved", box["x"] + box["width"] * step, box["y"] + box["height"] * 0.6)
        page.wait_for('document.querySelector("#vg-tooltip-element.visible")')
        cells = page.ask('[...document.querySelectorAll("#vg-tooltip-element td")].map((cell) => cell.textContent)')
        said = dict(zip(cells[::2], cells[1::2], strict=True))
        expected = rows(
            example_warehouse,
            "SELECT instruction_name, occupied_bytes, listed_bytes FROM marts.memory_timeline_v1"
            f" WHERE {OF_THE_PROGRAM} AND memory_space = 0 AND schedule_position = $1",
            [int(said["position"])],
        )
        figures = [int(said[name].replace(",", "")) for name in ("occupied (bytes)", "listed (bytes)")]
        assert expected == [(said["instruction"], *figures)]


def test_programs_sort_and_search(opened: Callable, example_warehouse: Path):
    """Programs sort by their bytes, not by their letters, and are found by parts of their names."""
    with opened("run") as page:
        table = TABLE.format("programs-tpu-0")
        page.ask(f"{table}.tHead.rows[0].cells[3].firstChild.click()")
        shown = [row[3] for row in page.ask(CELLS.format(table))]
        expected = rows(
            example_warehouse,
            "SELECT occupied_peak_bytes FROM marts.memory_space_trend_v1"
            " WHERE run_name = $1 AND memory_space = 0 ORDER BY 1 DESC",
            [TPU],
        )
        assert [human_bytes(count) for (count,) in expected] == [said for said, _ in shown]
        page.ask(f'{table}.closest(".wide").previousElementSibling.querySelector("input").focus()')
        page.write("train step")
        found = [row[0][0] for row in page.ask(CELLS.format(table))]
        assert {"jit_cnn_train_step", "jit_mlp_train_step"} == set(found)


def test_totals_sort_by_figures(browser: Browser, example_warehouse: Path, tmp_path: Path):
    """The table that stands in the page alone sorts by its numbers, too."""
    file = tmp_path / "page.html"
    file.write_text(compare_page(read_comparison(example_warehouse, "tpu-v5e-jaxlib-0.4", TPU)), encoding="utf-8")
    with browser.opened(file) as page:
        table = TABLE.format("totals")
        page.ask(f"{table}.tHead.rows[0].cells[2].firstChild.click()")
        counts = [int(row[2][0]) for row in page.ask(CELLS.format(table))]
        assert sorted(counts, reverse=True) == counts
        assert len(set(counts)) > 2
        assert [] == page.complaints


def test_few_bytes_sort_as_numbers(opened: Callable):
    """A cell that shows bytes to the byte has nothing else to be sorted by; letters would put 8 B behind 408 B."""
    with opened("alone") as page:
        table = """[...document.querySelectorAll('table[aria-label^="Where the bytes go"]')].at(-1)"""
        page.ask(f"{table}.tHead.rows[0].cells[2].firstChild.click()")
        sizes = [row[2][0] for row in page.ask(CELLS.format(table))]
        assert ["408 B", "192 B", "128 B", "88 B"] == sizes


@pytest.mark.parametrize(
    ("name", "sql", "figure"),
    [
        ("run", f"reserved_bytes FROM marts.memory_space_trend_v1 WHERE run_name = '{TPU}'", "reserved (bytes)"),
        ("compare", "reserved_bytes FROM marts.memory_space_trend_v1 WHERE run_name = 'jaxlib-0.6.0'", "after (bytes)"),
    ],
)
def test_a_bar_shows_figures_when_pointed_at(
    opened: Callable, example_warehouse: Path, name: str, sql: str, figure: str
):
    """Over the longest bar the bytes of its program appear, as the mart has them."""
    with opened(name) as page:
        page.ask('document.querySelector("#chart-1").scrollIntoView({ block: "center" })')
        page.frame()
        bars = '[...document.querySelectorAll("#chart-1 .mark-rect path")].map((bar) => bar.getBoundingClientRect())'
        box = page.ask(f"{bars}.sort((a, b) => b.width - a.width)[0].toJSON()")
        for step in (0.5, 0.6):
            page.mouse("mouseMoved", box["x"] + box["width"] * step, box["y"] + box["height"] / 2)
        page.wait_for('document.querySelector("#vg-tooltip-element.visible")')
        keys = page.ask('[...document.querySelectorAll("#vg-tooltip-element td")].map((cell) => cell.textContent)')
        said = dict(zip(keys[::2], keys[1::2], strict=True))
        sql = f"SELECT {sql} AND program_name = $1 AND memory_space = 0"
        assert rows(example_warehouse, sql, [said["program"]]) == [(int(said[figure].replace(",", "")),)]


@pytest.mark.soak
def test_the_page_of_a_wide_fleet_can_be_used(browser: Browser, tmp_path: Path):
    """Of 150 programs in 30 runs tables show the first rows and say what is left out; every program can be found."""
    write_wide_fleet(tmp_path / "wide", 150, 30)
    path, file = tmp_path / "wide.duckdb", tmp_path / "wide.html"
    assert 0 == run_ingest([str(tmp_path / "wide")], path).exit_code
    file.write_text(fleet_page(read_fleet(path)), encoding="utf-8")
    assert file.stat().st_size < 3_000_000
    with browser.opened(file) as page:
        sizes = page.ask("[...document.querySelectorAll('tbody')].map((body) => body.rows.length)")
        assert max(sizes) <= 30
        assert "135 more programs not shown: " in page.ask("document.body.innerText")
        legends = page.ask(
            "[...document.querySelectorAll('.chart')].map((one) => one.querySelectorAll('.role-legend-label').length)"
        )
        assert legends == [8] * len(legends) != []
        table = TABLE.format("fleet_programs")
        page.ask(f'{table}.closest(".wide").previousElementSibling.querySelector("input").focus()')
        names = rows(path, "SELECT DISTINCT program_name FROM marts.memory_space_trend_v1 ORDER BY 1")
        assert 150 == len(names)
        for (name,) in names[::30]:
            page.ask("document.activeElement.select()")
            page.write(name)
            assert {name} == {row[0][0] for row in page.ask(CELLS.format(table))}
        assert [] == page.complaints
