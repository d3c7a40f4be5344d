"""The allocation map in a real browser: true when pointed at, moved by mouse and keyboard, smooth when it is large."""

import re
import statistics
from collections.abc import Callable
from pathlib import Path

import pytest

from bufferhouse.commands.ingest_run import run_ingest
from bufferhouse.report.program.data import read_program
from bufferhouse.report.program.page import program_page
from bufferhouse.report.text.figures import exact_bytes, human_bytes, printable
from tests.report.browser import Browser, Page
from tests.report.page_files import MAP, OF_THE_PROGRAM, UNREADABLE
from tests.report.pages import HOSTILE
from tests.synthetic import Slot, dump_text
from tests.warehouses import rows

pytestmark = pytest.mark.browser

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
# The middle of the largest allocation: no rounding makes it that of a neighbor.
LARGEST = f"""
(() => {{
  const {{ view, allocations }} = {MAP};
  const one = allocations.reduce((large, other) => (other.size_bytes > large.size_bytes ? other : large));
  const position = Math.floor((view.x0 + view.x1) / 2);
  return {{ position, allocation: one.allocation_index, offset: Math.floor(one.size_bytes / 2) }};
}})()
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


@pytest.fixture(scope="module")
def open_program(browser: Browser, page_files):
    """The page of the program, opened once: `program` puts it back."""
    with browser.opened(page_files["program"]) as page:
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


def edited(page: Page, name: str) -> list[dict]:
    """The records of an answer about the first edit, as they stand in the page."""
    answer = page.ask(f'JSON.parse(document.getElementById("answers").textContent)["{name}"]')
    found = [dict(zip(answer["columns"], row, strict=True)) for row in answer["rows"]]
    return [one for one in found if one["edit_number"] == 1]


def test_the_map_after_an_edit_shows_where_values_stand_then(program: Page):
    """The edits of a memory space can be chosen; pointing shows the value of the byte at its new place; then back."""
    choice = f"{MAP}.controls.edit"
    before = program.ask(f"{MAP}.values.map((one) => [one.value_id, one.y0])")
    names = program.ask(f"[...{choice}.options].map((one) => one.textContent)")
    assert "none: as XLA placed it" == names[0]
    assert 3 == len(names[1:])
    program.ask(f"{choice}.selectedIndex = 1; {choice}.dispatchEvent(new Event('change'))")
    slots, edits = (edited(program, name) for name in ("program_edited_map", "program_edits"))
    assert len(slots) == len(program.ask(f"{MAP}.values.map((one) => one.value_id)"))
    assert before != program.ask(f"{MAP}.values.map((one) => [one.value_id, one.y0])")
    assert edits[0]["occupied_peak_position"] == program.ask(f"{MAP}.peak()")
    for slot in slots[:: max(len(slots) // 8, 1)]:
        place = program.ask(f"{MAP}.placeOf({slot['value_id']})")
        program.mouse("mouseMoved", **place)
        at, allocation, offset = program.ask(UNDER.format(**place))
        inside = [
            one for one in slots
            if one["allocation_index"] == allocation and one["start_position"] <= at <= one["end_position"]
            and one["offset_bytes"] <= offset < one["offset_bytes"] + one["size_bytes"]
        ]  # fmt: skip
        owner_ = min(inside, key=lambda one: (-one["start_position"], one["value_id"]))
        said = program.ask(f"{MAP}.tip.textContent")
        assert f"allocation {allocation} (" in said
        assert f"offset {owner_['offset_bytes']:,}" in said
    program.ask(f"{MAP}.controls.space.value = '1'; {MAP}.chooseSpace()")
    assert program.ask(f"{choice}.closest('label').hidden")
    program.ask(f"{MAP}.controls.space.value = '0'; {MAP}.chooseSpace()")
    assert before == program.ask(f"{MAP}.values.map((one) => [one.value_id, one.y0])")


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


def middle(page: Page) -> dict:
    """Return a point of the window, in the middle of the largest allocation."""
    return page.ask(POINT.format(**page.ask(LARGEST)))


def test_the_mouse_moves_and_zooms_the_map(program: Page):
    """The wheel scrolls the page until the map is clicked; then it zooms at the pointer. Dragging moves."""
    view, before = program.ask(f"{MAP}.view"), program.ask("scrollY")
    program.mouse("mouseWheel", **middle(program), deltaX=0, deltaY=-100)
    program.wait_for(f"scrollY < {before}")
    program.at_rest()
    assert view == program.ask(f"{MAP}.view")
    program.ask('document.querySelector(".map").scrollIntoView({ block: "center", behavior: "instant" })')
    place = middle(program)
    program.click(**place)
    under = program.ask(UNDER.format(**place))
    program.mouse("mouseWheel", **place, deltaX=0, deltaY=-100)
    program.wait_for(f"{MAP}.view.x1 - {MAP}.view.x0 < {view['x1'] - view['x0']} - 1")
    assert under[:2] == program.ask(UNDER.format(**place))[:2]
    closer = program.ask(f"{MAP}.view")
    x, y = place["x"], place["y"]
    program.mouse("mousePressed", x, y, button="left", clickCount=1)
    program.mouse("mouseMoved", x + 100, y, button="left", buttons=1)
    program.mouse("mouseReleased", x + 100, y, button="left", clickCount=1)
    assert program.ask(f"{MAP}.view.x0") < closer["x0"]
    assert closer["x1"] - closer["x0"] == pytest.approx(program.ask(f"{MAP}.view.x1 - {MAP}.view.x0"))


@pytest.mark.parametrize(
    ("button", "end"), [(2, "contextmenu"), (0, "pointercancel")], ids=["a menu opens", "a finger scrolls"]
)
def test_nothing_is_dragged_when_the_button_is_never_let_go(program: Page, button: int, end: str):
    """What moves over the map then moves nothing."""
    program.press("0")
    program.ask(f"{MAP}.zoom(0.5, 0.5)")
    view, place = program.ask(f"{MAP}.view"), middle(program)
    send = (
        f"((kind, dx, button) => {MAP}.canvas.dispatchEvent(new PointerEvent(kind,"
        f" {{{{ pointerId: 1, button, clientX: {place['x']} + dx, clientY: {place['y']} }}}})))({{}})"
    )
    program.ask(f"{MAP}.canvas.setPointerCapture = () => {{}}")  # of a pointer that there is not
    for words in (f"'pointerdown', 0, {button}", f"'{end}', 0, {button}", "'pointermove', 60, -1"):
        program.ask(send.format(words))
    assert view == program.ask(f"{MAP}.view")
    program.ask(f"delete {MAP}.canvas.setPointerCapture; {MAP}.drag = null")


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


def test_finding_and_coloring_values(program: Page):
    """Find counts what it finds and dims the rest; every way to color draws its colors; the legend tells them."""
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


def test_what_is_said_of_a_value_can_be_read(program: Page):
    """The tip at the pointer and the details below the map have contrast by day and by night."""
    program.ask(f"{MAP}.canvas.focus()")
    program.press("n")
    for dark in (False, True):
        program.darken(dark)
        program.mouse("mouseMoved", **program.ask(f"{MAP}.placeOf({MAP}.pinned.value_id)"))
        assert program.ask(f"!{MAP}.tip.hidden && {MAP}.details.textContent.length > 20")
        assert [] == program.ask(UNREADABLE)["found"]
    program.darken(False)


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
