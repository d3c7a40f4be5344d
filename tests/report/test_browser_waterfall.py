"""The waterfall of causes and the values at both peaks in a real browser."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bufferhouse.report.compare.data import read_comparison
from bufferhouse.report.compare.page import compare_page
from bufferhouse.report.text.figures import human_bytes
from tests.report.browser import browsing
from tests.report.page_files import CELLS, TABLE

pytestmark = pytest.mark.browser
TOOLS = '{}.closest(".wide").previousElementSibling.querySelector("{}")'


@pytest.mark.parametrize("is_dark", [False, True])
def test_a_step_shows_its_bytes_when_pointed_at(opened: Callable, example_warehouse: Path, is_dark: bool):
    """Over each of the longest bars stands the cause with the bytes that it has in the comparison."""
    causes = read_comparison(example_warehouse, "jaxlib-0.4.38", "jaxlib-0.6.0").causes
    biggest = [one for one in causes if one["program_label"] == "jit_cnn_train_step"][:2]
    with opened("compare") as page:
        page.darken(is_dark)
        for cause in biggest:
            words = f"{cause['cause_label']} {cause['shape']}"
            page.ask('document.querySelector("#chart-2").scrollIntoView({ block: "center" })')
            page.frame()
            marks = '[...document.querySelectorAll("#chart-2 .mark-rect path")]'
            found = f'{marks}.find((one) => one.getAttribute("aria-label")?.includes("{words}"))'
            box = page.ask(f"{found}.getBoundingClientRect().toJSON()")
            page.mouse("mouseMoved", 1, 1)
            page.wait_for('!document.querySelector("#vg-tooltip-element.visible")')
            for step in (0.4, 0.5):
                page.mouse("mouseMoved", box["x"] + box["width"] * step, box["y"] + box["height"] / 2)
            page.wait_for('document.querySelector("#vg-tooltip-element.visible")')
            cells = page.ask('[...document.querySelectorAll("#vg-tooltip-element td")].map((one) => one.textContent)')
            said = dict(zip(cells[::2], cells[1::2], strict=True))
            assert words == said["cause"]
            assert f"{cause['cause_bytes']:+,}" == said["change (bytes)"].replace("\N{MINUS SIGN}", "-")
        assert [] == page.complaints


def test_bars_of_a_small_change_stand_where_their_bytes_are(example_warehouse: Path, tmp_path: Path):
    """8 B of 6,691,780: the cause begins where the total before ends, and ends with the total after."""
    file = tmp_path / "compare.html"
    file.write_text(compare_page(read_comparison(example_warehouse, "jaxlib-0.7.0", "jaxlib-0.8.0")))
    bars = '[...document.querySelectorAll("#chart-1 .mark-rect.role-mark path[aria-label]")]'
    with browsing(tmp_path / "browser") as browser, browser.opened(file) as page:
        boxes = page.ask(
            f"{bars}.map((one) => one.getBoundingClientRect()).map((box) => [box.left, box.right].map(Math.round))"
        )
    before, after, cause = boxes
    assert (before[0], before[1], after[1]) == (after[0], cause[0], cause[1])
    assert before[0] < before[1] < after[1]


def test_values_side_by_side_sort_and_search(opened: Callable, example_warehouse: Path):
    """Both tables are searched by instruction or shape, and sort by their figures."""
    comparison = read_comparison(example_warehouse, "jaxlib-0.4.38", "jaxlib-0.6.0")
    row = next(row for row in comparison.rows if row.pair.any.program_name == "jit_cnn_train_step")
    owned = sorted(row.at_peaks.after.owned[pair.after.value_id] for pair in row.at_peaks.found.matches)
    with opened("compare") as page:
        matched, unmatched = TABLE.format("matched-cpu-0-1"), TABLE.format("unmatched-cpu-0-1")
        page.ask(f'{matched}.closest(".wide").nextElementSibling.click()')
        for figures in (owned[::-1], owned):  # the largest first, then the smallest
            page.ask(f"{matched}.tHead.rows[0].cells[4].firstChild.click()")
            assert [human_bytes(size) for size in figures] == [cells[4][0] for cells in page.ask(CELLS.format(matched))]
        page.ask(f"{TOOLS.format(matched, 'input')}.focus()")
        page.write("reduce-window")
        found = page.ask(CELLS.format(matched))
        assert 0 < len(found) < len(owned)
        assert all("reduce-window" in cells[0][0] + cells[1][0] for cells in found)
        page.ask(f"{TOOLS.format(unmatched, 'input')}.focus()")
        page.write("s32[8,16,16,32]")
        shapes = {cells[4][0].split("{")[0] for cells in page.ask(CELLS.format(unmatched))}
        assert {"s32[8,16,16,32]"} == shapes
        assert [] == page.complaints
