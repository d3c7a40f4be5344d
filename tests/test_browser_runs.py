"""The pages of a run and of a comparison in a real browser: drawn, quiet, true when pointed at, readable.

Pictures of them are kept in build/screenshots.
"""

from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

import pytest

from bufferhouse.ingesting import run_ingest
from bufferhouse.report.compare import read_comparison
from bufferhouse.report.compare_page import compare_page
from bufferhouse.report.figures import human_bytes
from bufferhouse.report.run import read_run
from bufferhouse.report.run_page import run_page
from tests.browser import Browser, browsing, colours
from tests.pages import HOSTILE
from tests.synthetic import Slot, dump_text
from tests.test_browser import CELLS, PICTURES, TABLE, UNREADABLE
from tests.warehouses import rows

pytestmark = pytest.mark.browser

TPU = "tpu-v5e-jaxlib-0.8.3-libtpu-0.0.33"
PAGES = ("run", "compare", "hostile-run", "hostile-compare", "rejected-run")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory):
    """One browser for all tests of this file."""
    with browsing(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture(scope="module")
def files(example_warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """All pages, by their names in PAGES."""
    folder = tmp_path_factory.mktemp("pages")
    hostile = folder / "hostile.duckdb"
    for run in ("a", "b"):
        (folder / run).mkdir()
        for number in range(3):
            size = 640 + number if run == "a" else 700
            name = f"module_{number}.jit_{number}<img src=x onerror=alert(1)>\"'&\x1b\u202e.cpu_after_optimizations"
            text = dump_text([Slot(0, 5, 0, size), Slot(1, 3, size, 128)])
            (folder / run / f"{name}-buffer-assignment.txt").write_bytes(text)
        assert 0 == run_ingest([str(folder / run)], hostile, run_name=run + HOSTILE).exit_code
    (folder / "broken").mkdir()
    (folder / "broken" / "module_1-buffer-assignment.txt").write_text(f"BufferAssignment:\n{HOSTILE}\n")
    run_ingest([str(folder / "broken")], hostile)
    pages = {
        "run": run_page(read_run(example_warehouse, TPU)),
        "compare": compare_page(read_comparison(example_warehouse, "jaxlib-0.4.38", "jaxlib-0.6.0")),
        "hostile-run": run_page(read_run(hostile, "a")),
        "hostile-compare": compare_page(read_comparison(hostile, "a", "b</")),
        "rejected-run": run_page(read_run(hostile, "broken")),
    }
    assert set(PAGES) == pages.keys()
    for name, page in pages.items():
        (folder / f"{name}.html").write_text(page, encoding="utf-8")
    return {name: folder / f"{name}.html" for name in pages}


@pytest.fixture
def opened(browser: Browser, files: dict[str, Path]) -> Callable:
    """A function that opens one of PAGES."""
    return lambda name, **options: browser.opened(files[name], **options)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_quiet_asks_for_nothing_and_can_be_read(opened: Callable, files: dict[str, Path], name: str):
    """No error, no dialog, no request but for the file; charts drawn; text readable by day and by night; a picture."""
    with opened(name) as page:
        for scheme in ("light", "dark"):
            page.darken(scheme == "dark")
            page.frame()
            contrast = page.ask(UNREADABLE)
            assert [] == contrast["found"], scheme
            assert contrast["seen"] > 3
            page.picture(PICTURES / f"{name}-{scheme}.png")
            assert len(colours(page.picture(scale=0.06))) > 4
        assert 0 == page.ask('document.querySelectorAll("img, iframe, object, embed, link, a").length')
        charts = page.ask('[...document.querySelectorAll(".chart")].map((c) => c.querySelectorAll("path[d]").length)')
        assert bool(charts) == (name != "rejected-run")
        assert all(count > 2 for count in charts)
        # As wide as the window, whatever the names.
        assert page.ask("document.documentElement.scrollWidth <= innerWidth")
        assert "" == "".join(char for char in page.ask("document.body.innerText") if char in "\x1b\x07\u202e\u2028")
        assert [] == page.complaints
        assert [str(files[name])] == [unquote(address.removeprefix("file://")) for address in page.requests]


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


@pytest.mark.parametrize("name", ["run", "compare"])
def test_whoever_cannot_see_the_page_is_told_what_is_there(opened: Callable, name: str):
    """Everything that can be operated has a name; there is one main heading; on paper there is nothing to click."""
    with opened(name) as page:
        tree = page.call("Accessibility.getFullAXTree")["nodes"]
        operated = {"button", "searchbox", "textbox", "combobox", "image"}
        nodes = [node for node in tree if node.get("role", {}).get("value") in operated and not node["ignored"]]
        assert len(nodes) > 5
        assert [] == [node["role"] for node in nodes if not node.get("name", {}).get("value", "").strip()]
        assert ["en", 1] == page.ask('[document.documentElement.lang, document.querySelectorAll("h1").length]')
        page.call("Emulation.setEmulatedMedia", media="print")
        assert not page.ask('[...document.querySelectorAll(".tools")].some((one) => one.checkVisibility())')
        assert page.call("Page.printToPDF", printBackground=True)["data"].startswith("JVBERi")  # %PDF-
