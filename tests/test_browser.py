"""The pages of reports in a real browser: drawn, quiet, true when pointed at, readable by day and by night.

Pictures of all pages are kept in build/screenshots.
"""

import re
import shutil
import statistics
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

import pytest

from bufferhouse.ingesting import run_ingest
from bufferhouse.report.figures import exact_bytes, human_bytes, printable
from bufferhouse.report.fleet import read_fleet
from bufferhouse.report.fleet_page import fleet_page
from bufferhouse.report.program import read_program
from bufferhouse.report.program_page import program_page
from bufferhouse.report.tables import FIRST_ROWS
from tests.browser import Browser, Page, browsing, colours
from tests.pages import HOSTILE
from tests.synthetic import Slot, dump_text
from tests.warehouses import rows

pytestmark = pytest.mark.browser

CHECKOUT = Path(__file__).parents[1]
PICTURES = CHECKOUT / "build" / "screenshots"
TPU = "tpu-v5e-jaxlib-0.8.3-libtpu-0.0.33"
OF_THE_PROGRAM = (
    "dump_id = (SELECT dump_id FROM marts.observations_v1"
    f" WHERE program_name = 'jit_transformer2_fwd' AND run_name = '{TPU}')"
)
PAGES = ("fleet", "program", "hostile-fleet", "hostile-program", "empty", "rejects", "alone")
OPERATION = HOSTILE.replace('"', '\\"') + "x" * 4000  # as XLA would write it

# Text that is hard to read: its contrast with what lies behind it is below 4.5 (WCAG 2.2, 1.4.3).
UNREADABLE = """
(() => {
  const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((c) => c / 255)
    .map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = numbers(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const found = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let seen = 0;
  for (let node; (node = walker.nextNode());) {
    const element = node.parentElement, style = getComputedStyle(element);
    if (!node.data.trim() || element.closest("script, noscript, title") || !element.checkVisibility()) continue;
    seen += 1;
    const ink = light(numbers(element.closest("svg") ? style.fill : style.color)), paper = light(behind(element));
    const contrast = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
    if (contrast < 4.5) found.push([node.data.slice(0, 40), contrast]);
  }
  return { seen, found };
})()
"""
# What lies under a point of the map, by its own arithmetic: position, allocation, offset.
UNDER = """
(() => {{
  const map = document.querySelector(".map").map, at = map.toData({{ clientX: {x}, clientY: {y} }});
  const one = map.allocations.find(({{ base, size_bytes: size }}) => base <= at.y && at.y < base + size);
  return [Math.floor(at.x), one.allocation_index, at.y - one.base];
}})()
"""
# A number that changes with what the map shows.
PIXELS = """
(() => {
  const { canvas } = document.querySelector(".map").map;
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  return data.reduce((sum, part) => (sum * 31 + part) % 1e9, 0);
})()
"""
# The point of the window in the middle of a position, at an address of an allocation.
POINT = """
(() => {{
  const {{ map }} = document.querySelector(".map"), {{ x, y }} = map.scales();
  const frame = map.canvas.getBoundingClientRect();
  const {{ base }} = map.allocations.find((one) => one.allocation_index === {allocation});
  const {{ clientLeft, clientTop }} = map.canvas;
  return {{ x: frame.left + clientLeft + x({position} + 0.5), y: frame.top + clientTop + y(base + {offset}) }};
}})()
"""
MAP = 'document.querySelector(".map").map'
TABLE = 'document.querySelector("table#{0}")'
CELLS = "[...{0}.tBodies[0].rows].map((row) => [...row.cells].map((cell) => [cell.textContent, cell.title]))"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory):
    """One browser for all tests of this file."""
    with browsing(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture(scope="module")
def files(example_warehouse: Path, blank_warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """All pages, by their names in PAGES."""
    folder = tmp_path_factory.mktemp("pages")
    hostile, rejects = (Path(shutil.copy(blank_warehouse, folder / name)) for name in ("hostile.duckdb", "no.duckdb"))
    (folder / "hostile").mkdir()
    metadata = f'custom-call(), metadata={{op_name="{OPERATION}" source_file="{OPERATION}.py" source_line=3}}'
    text = dump_text([Slot(0, 3, 0, 640), Slot(1, 3, 640, 128), Slot(3, 5, 0, 320)]).decode()
    name = "module_0001.jit_<img src=x onerror=alert(1)>\"'&\x1b\u202e.cpu_after_optimizations-buffer-assignment.txt"
    (folder / "hostile" / name).write_text(text.replace("custom-call()", metadata).replace("v2", "v" * 4000))
    assert 0 == run_ingest([str(folder / "hostile")], hostile, run_name=HOSTILE).exit_code
    (folder / "broken").mkdir()
    (folder / "broken" / "module_1-buffer-assignment.txt").write_text(f"BufferAssignment:\n{HOSTILE}\n")
    run_ingest([str(folder / "broken")], rejects)
    pages = {
        "fleet": fleet_page(read_fleet(example_warehouse)),
        "program": program_page(read_program(example_warehouse, "jit_transformer2_fwd", run=TPU)),
        "hostile-fleet": fleet_page(read_fleet(hostile)),
        "hostile-program": program_page(read_program(hostile, "")),
        "empty": fleet_page(read_fleet(blank_warehouse)),
        "rejects": fleet_page(read_fleet(rejects)),
        "alone": program_page(read_program(example_warehouse, "jit_donate_swap", run="jaxlib-0.8.0")),
    }
    assert set(PAGES) == pages.keys()
    for name, page in pages.items():
        (folder / f"{name}.html").write_text(page, encoding="utf-8")
    return {name: folder / f"{name}.html" for name in pages}


@pytest.fixture
def opened(browser: Browser, files: dict[str, Path]) -> Callable:
    """A function that opens one of PAGES."""
    return lambda name, **options: browser.opened(files[name], **options)


@pytest.fixture(scope="module")
def open_program(browser: Browser, files: dict[str, Path]):
    """The page of the program, opened once: `program` puts it back."""
    with browser.opened(files["program"]) as page:
        yield page


@pytest.fixture
def program(open_program: Page) -> Page:
    """The page of the program as it was opened, its map in the middle of the window."""
    open_program.call("Page.bringToFront")
    open_program.ask(f"{MAP}.controls.space.value = '0'; {MAP}.controls.mode.value = 'opcode';")
    open_program.ask(f"{MAP}.controls.find.value = ''; {MAP}.chooseSpace(); document.activeElement.blur()")
    open_program.ask('document.querySelector(".map").scrollIntoView({ block: "center" })')
    open_program.frame()
    return open_program


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
            seen = colours(page.picture(scale=0.06))
            # Not blank: paper, ink and more, and no single colour everywhere.
            assert (4 if name in ("empty", "rejects") else 30) < len(seen)
            assert max(seen.values()) < 0.99 * seen.total()
        assert 0 == page.ask('document.querySelectorAll("img, iframe, object, embed, link, a").length')
        charts = page.ask('[...document.querySelectorAll(".chart")].map((c) => c.querySelectorAll("path[d]").length)')
        assert ("fleet" == name, "program" == name) <= (bool(charts), bool(charts))
        assert all(count > 2 for count in charts)
        assert [] == page.complaints
        assert [str(files[name])] == [unquote(address.removeprefix("file://")) for address in page.requests]


def owner(values: list[tuple], position: int, allocation: int, offset: float) -> tuple | None:
    """The value that a byte belongs to at a position: the one that starts last, then the lowest id."""
    inside = [
        value
        for value in values
        if value[1] == allocation and value[2] <= offset < value[2] + value[3] and value[4] <= position <= value[5]
    ]
    return min(inside, key=lambda value: (-value[4], value[0]), default=None)


def mapped(warehouse: Path, memory_space: int) -> list[tuple]:
    """The values of the program in a memory space, as the mart has them."""
    return rows(
        warehouse,
        "SELECT value_id, allocation_index, offset_bytes, size_bytes, start_position, end_position, instruction_name,"
        f" element_bytes FROM marts.allocation_map_v1 WHERE {OF_THE_PROGRAM} AND memory_space = $1 ORDER BY 1",
        [memory_space],
    )


def pointed_at(page: Page, place: dict[str, float], values: list[tuple]) -> tuple:
    """The owner of the byte at a place, after the map has said of it what the mart does."""
    page.mouse("mouseMoved", **place)
    position, allocation, offset = page.ask(UNDER.format(**place))
    found = owner(values, position, allocation, offset)
    said = page.ask(f"{MAP}.tip.textContent")
    assert f"slot{exact_bytes(found[3])} ({human_bytes(found[3])})" in said
    assert f"value{found[6]}" in said
    assert f"allocation {allocation} (" in said
    assert f"positions {found[4]:,} to {found[5]:,}" in said
    assert not found[7] or f"elements{exact_bytes(found[7])}" in said
    return found


def test_pointing_at_a_value_shows_its_bytes(program: Page, example_warehouse: Path):
    """In every memory space the map shows, under the pointer, the owner of the byte with what the mart says of it."""
    seen = set()
    for space in (0, 1, 2, 6):
        values = mapped(example_warehouse, space)
        program.ask(f'{MAP}.controls.space.value = "{space}"; {MAP}.chooseSpace()')
        for value_id, *_ in values[:: max(len(values) // 8, 1)]:
            seen.add(pointed_at(program, program.ask(f"{MAP}.placeOf({value_id})"), values))
    assert len(seen) > 15


def test_a_shared_byte_belongs_to_the_value_that_starts_last(opened: Callable):
    """Where one value ends and the next one starts in its bytes, pointing at them shows the next one."""
    with opened("hostile-program") as page:
        page.ask('document.querySelector(".map").scrollIntoView({ block: "center" })')
        page.frame()
        shown = []
        for position, offset in ((2, 100), (3, 100), (3, 400), (4, 100)):
            page.mouse("mouseMoved", **page.ask(POINT.format(position=position, allocation=0, offset=offset)))
            shown.append(re.search(r"slot(\d+) B", page.ask(f"{MAP}.tip.textContent"))[1])
        assert ["640", "320", "640", "320"] == shown


def test_the_mouse_moves_and_zooms_the_map(program: Page):
    """The wheel scrolls the page until the map is clicked; then it zooms at the pointer. Dragging moves."""
    box = program.ask(f"{MAP}.canvas.getBoundingClientRect().toJSON()")
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    view = program.ask(f"{MAP}.view")
    program.mouse("mouseWheel", x, y, deltaX=0, deltaY=-100)
    assert view == program.ask(f"{MAP}.view")
    program.ask('document.querySelector(".map").scrollIntoView({ block: "center" })')
    program.click(x, y)
    under = program.ask(UNDER.format(x=x, y=y))
    program.mouse("mouseWheel", x, y, deltaX=0, deltaY=-100)
    program.wait_for(f"{MAP}.view.x1 - {MAP}.view.x0 < {view['x1'] - view['x0']} - 1")
    assert under[:2] == program.ask(UNDER.format(x=x, y=y))[:2]
    closer = program.ask(f"{MAP}.view")
    program.mouse("mousePressed", x, y, button="left", clickCount=1)
    program.mouse("mouseMoved", x + 100, y, button="left", buttons=1)
    program.mouse("mouseReleased", x + 100, y, button="left", clickCount=1)
    assert program.ask(f"{MAP}.view.x0") < closer["x0"]
    assert closer["x1"] - closer["x0"] == pytest.approx(program.ask(f"{MAP}.view.x1 - {MAP}.view.x0"))


def test_the_keyboard_does_what_the_mouse_does(program: Page):
    """Keys zoom, move, go from value to value and back to everything; what is pinned stands as text below."""
    program.ask(f"{MAP}.canvas.focus()")
    home = program.ask(f"{MAP}.view")
    program.press("+")
    closer = program.ask(f"{MAP}.view")
    assert closer["x1"] - closer["x0"] < home["x1"] - home["x0"]
    program.press("ArrowRight")
    assert closer["x0"] < program.ask(f"{MAP}.view.x0")
    program.press("0")
    assert home == program.ask(f"{MAP}.view")
    program.press("n")
    first = program.ask(f"{MAP}.details.textContent")
    program.press("n")
    second = program.ask(f"{MAP}.details.textContent")
    assert "slot" in first
    assert "slot" in second
    assert first != second
    program.press("p")
    assert first == program.ask(f"{MAP}.details.textContent")
    program.press("Escape")
    assert "" == program.ask(f"{MAP}.details.textContent")


def test_finding_and_colouring_values(program: Page):
    """Find counts what it finds and dims the rest; every way to colour draws its colours; the legend tells them."""
    program.ask(f"{MAP}.controls.find.focus()")
    program.write("copy-start")
    program.frame()
    count = program.ask(f'{MAP}.values.filter((one) => one.opcode === "copy-start").length')
    assert program.ask(f"{MAP}.found.textContent").startswith(f"{count} of ")
    dimmed = program.ask(PIXELS)
    program.ask(f'{MAP}.controls.find.value = ""; {MAP}.find()')
    program.frame()
    assert dimmed != program.ask(PIXELS)
    drawn = set()
    for mode in ("opcode", "element_type", "kind", "layout_padding", "slack"):
        program.ask(f'{MAP}.controls.mode.value = "{mode}"; {MAP}.chooseMode()')
        program.frame()
        legend = program.ask(f"[...{MAP}.legend.children].map((one) => one.textContent)")
        assert len(legend) == len(set(legend)) >= 1
        pixels = program.ask(PIXELS)
        drawn.add((tuple(legend), pixels))
    assert 5 == len(drawn)


def test_tables_sort_and_search(program: Page, example_warehouse: Path):
    """A table of owners shows what was searched, sorts both ways, and says how much it has."""
    table = TABLE.format("peak-0")
    before = program.ask(CELLS.format(table))
    assert FIRST_ROWS == len(before)
    total = program.ask(f'{table}.closest(".wide").previousElementSibling.querySelector("output").textContent')
    program.ask(f'{table}.closest(".wide").previousElementSibling.querySelector("input").focus()')
    program.write("copy-start")
    found = program.ask(CELLS.format(table))
    assert found == [row for row in found if row[1][0] == "copy-start"] != []
    said = program.ask(f'{table}.closest(".wide").previousElementSibling.querySelector("output").textContent')
    assert f"{len(found)} of {total.removesuffix(' rows')}" == said
    program.ask(
        f'(() => {{ const search = {table}.closest(".wide").previousElementSibling.querySelector("input");'
        ' search.value = ""; search.dispatchEvent(new Event("input")); })()'
    )
    # Rows that the script made read like those that came with the page.
    assert before == program.ask(CELLS.format(table))
    program.ask(f'{table}.closest(".wide").nextElementSibling.click()')
    program.ask(f"{table}.tHead.rows[0].cells[3].firstChild.click()")
    assert "descending" == program.ask(f"{table}.tHead.rows[0].cells[3].ariaSort")
    program.ask(f"{table}.tHead.rows[0].cells[3].firstChild.click()")
    ascending = program.ask(CELLS.format(table))
    expected = rows(
        example_warehouse,
        f"SELECT owned_bytes FROM marts.peak_buffers_v1 WHERE {OF_THE_PROGRAM} AND memory_space = 0 ORDER BY 1",
    )
    assert [human_bytes(count) for (count,) in expected] == [row[3][0] for row in ascending]


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


def test_a_chart_shows_figures_when_pointed_at(program: Page, example_warehouse: Path):
    """Over the timeline the occupied bytes of that position appear, as the mart has them."""
    program.ask('document.querySelector("#chart-1").scrollIntoView({ block: "center" })')
    program.frame()
    box = program.ask('document.querySelector("#chart-1").getBoundingClientRect().toJSON()')
    for step in (0.4, 0.5):
        program.mouse("mouseMoved", box["x"] + box["width"] * step, box["y"] + box["height"] * 0.6)
    program.wait_for('document.querySelector("#vg-tooltip-element.visible")')
    cells = program.ask('[...document.querySelectorAll("#vg-tooltip-element td")].map((cell) => cell.textContent)')
    said = dict(zip(cells[::2], cells[1::2], strict=True))
    expected = rows(
        example_warehouse,
        "SELECT instruction_name, occupied_bytes, listed_bytes FROM marts.memory_timeline_v1"
        f" WHERE {OF_THE_PROGRAM} AND memory_space = 0 AND schedule_position = $1",
        [int(said["position"])],
    )
    figures = [int(said[name].replace(",", "")) for name in ("occupied (bytes)", "listed (bytes)")]
    assert expected == [(said["instruction"], *figures)]


def test_hostile_names_are_shown_and_do_nothing(opened: Callable):
    """A name with markup, marks that turn text and control characters stands there as text, whole when pinned."""
    with opened("hostile-program") as page:
        assert "<img src=x onerror=alert(1)>" in page.ask("document.querySelector('h1').textContent")
        page.ask(f"{MAP}.canvas.focus()")
        page.press("n")
        shown = page.ask(f"{MAP}.details.textContent")
        assert printable(HOSTILE) in shown
        assert "x" * 4000 in shown
        assert "" == "".join(char for char in page.ask("document.body.innerText") if char in "\x1b\x07\u202e\u2028")
        # As wide as the window: a long name makes no page of four thousand letters.
        assert page.ask("document.documentElement.scrollWidth <= innerWidth")
        assert [] == page.complaints


@pytest.mark.parametrize("name", ["fleet", "program", "hostile-program"])
def test_whoever_cannot_see_the_page_is_told_what_is_there(opened: Callable, name: str):
    """Everything that can be operated has a name; there is one main heading; the language is said."""
    with opened(name) as page:
        tree = page.call("Accessibility.getFullAXTree")["nodes"]
        operated = {"button", "searchbox", "textbox", "combobox", "application", "image"}
        nodes = [node for node in tree if node.get("role", {}).get("value") in operated and not node["ignored"]]
        assert len(nodes) > 5
        assert [] == [node["role"] for node in nodes if not node.get("name", {}).get("value", "").strip()]
        assert ["en", 1] == page.ask('[document.documentElement.lang, document.querySelectorAll("h1").length]')


def test_a_page_can_be_printed(opened: Callable):
    """On paper there is nothing to click, tables are not cut at the side, and pages come out."""
    with opened("program") as page:
        page.call("Emulation.setEmulatedMedia", media="print")
        assert not page.ask('[...document.querySelectorAll(".tools")].some((one) => one.checkVisibility())')
        assert page.ask('document.querySelector(".map canvas").checkVisibility()')
        assert page.call("Page.printToPDF", printBackground=True)["data"].startswith("JVBERi")  # %PDF-


PANNED = f"""
new Promise((done) => {{
  const map = {MAP}, times = [];
  map.frames.length = 0;
  map.zoom(0.5, 0.5);
  const step = (now) => {{
    times.push(now);
    const gaps = times.slice(1).map((time, i) => time - times[i]);
    if (gaps.length === 60) return done({{ frames: map.frames, gaps }});
    const {{ x0, x1, y0, y1 }} = map.view, way = times.length % 20 < 10 ? 1 : -1;
    map.move(way * (x1 - x0) * 0.02, way * (y1 - y0) * 0.02);
    requestAnimationFrame(step);
  }};
  requestAnimationFrame(step);
}})
"""


def panned(browser: Browser, file: Path, written: str) -> float:
    """Open a page, pan its map over 60 frames, and return the median time between them in milliseconds."""
    file.write_text(written, encoding="utf-8")
    with browser.opened(file) as page:
        found = page.ask(PANNED)
        assert [] == page.complaints
    drawing, gaps = statistics.median(found["frames"]), statistics.median(found["gaps"])
    print(f"{file.name}: {len(written.encode()):,} B, drawing {drawing:.1f} ms, a frame every {gaps:.1f} ms")
    return gaps


@pytest.mark.soak
@pytest.mark.corpus
def test_the_largest_dump_pans_smoothly(browser: Browser, corpus: Path, tmp_path: Path):
    """The page of a dump of 11 MB is below 5 MB, and its map moves at ten frames a second or more without a GPU."""
    path = tmp_path / "large.duckdb"
    run_ingest([str(corpus / "large" / "large-jaxlib-0.4.30.tar.gz")], path)
    written = program_page(read_program(path, "jit_transformer160"))
    assert len(written.encode()) < 5_000_000
    assert panned(browser, tmp_path / "large.html", written) < 100


@pytest.mark.soak
def test_more_values_than_are_drawn_pan_smoothly(browser: Browser, tmp_path: Path):
    """Of 25,000 values 20,000 are drawn, the page says which are not, and its map still moves."""
    slots = [Slot(i, i + 40, i % 500 * 1000, 100 + i % 900) for i in range(25_000)]
    (tmp_path / "many").mkdir()
    (tmp_path / "many" / "module_1.jit_many.cpu_after_optimizations-buffer-assignment.txt").write_bytes(
        dump_text(slots)
    )
    path = tmp_path / "many.duckdb"
    assert 0 == run_ingest([str(tmp_path / "many")], path).exit_code
    written = program_page(read_program(path, "jit_many"))
    assert "5,000 of 25,000 values are not drawn" in written
    assert panned(browser, tmp_path / "many.html", written) < 100


@pytest.mark.parametrize(
    ("ci", "outcome"), [("true", pytest.fail.Exception), ("", pytest.skip.Exception), ("false", pytest.skip.Exception)]
)
def test_a_missing_browser_fails_in_ci_and_skips_elsewhere(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ci: str, outcome: type[BaseException]
):
    """Where CI=true nothing passes unseen; elsewhere the tests say which programs they looked for."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CI", ci)
    with pytest.raises(outcome, match="there is no browser: none of chromium, "), browsing(tmp_path):
        pass
