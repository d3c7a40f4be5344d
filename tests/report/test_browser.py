"""All pages of reports in a real browser: drawn, quiet, readable by day and by night, and as they used to look.

Pictures of pages that look different are kept in build/screenshots; of all of them where CI=true, or they are new.
"""

import os
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

import pytest

from bufferhouse.paths import CHECKOUT
from tests.conftest import GOLDEN
from tests.report.browser import Page, browsing
from tests.report.page_files import PAGES, UNREADABLE, WITHOUT_CHARTS
from tests.report.pictures import MOST_DIFFERENT, cells, decoded, difference, look

PICTURES = CHECKOUT / "build" / "screenshots"
SMALL = 0.05  # of the size of a page: enough to see what is there

pytestmark = pytest.mark.browser


# Of hostile names that of a program stays, and of hostile columns all pages: tests/report/test_hostile_columns.py.
HOSTILE = ("hostile-fleet", "hostile-run", "hostile-compare")
LOOKED_AT = [pytest.param(name, marks=pytest.mark.soak if name in HOSTILE else ()) for name in PAGES]


@pytest.mark.parametrize("name", LOOKED_AT)
def test_a_page_is_quiet_asks_for_nothing_and_can_be_read(
    opened: Callable, page_files, request: pytest.FixtureRequest, name: str
):
    """No error, no dialog, no request but for the file; charts drawn; readable by day and by night; a picture."""
    with opened(name) as page:
        for scheme in ("light", "dark"):
            page.darken(scheme == "dark")
            contrast = page.ask(UNREADABLE)
            assert [] == contrast["found"], scheme
            assert contrast["seen"] > 3
            assert bool(contrast["labels"]) == page.ask('Boolean(document.querySelector(".map"))')
            expected, is_new = GOLDEN / "pages" / f"{name}-{scheme}.png", request.config.getoption("--golden-update")
            looked = look(expected, decoded(page.picture(scale=SMALL)), update=is_new)
            if is_new or looked > MOST_DIFFERENT or os.environ.get("CI") == "true":
                page.picture(PICTURES / expected.name)  # of its whole size it takes as long as all else here
            assert looked <= MOST_DIFFERENT
        assert 0 == page.ask('document.querySelectorAll("img, iframe, object, embed, link, a").length')
        charts = page.ask('[...document.querySelectorAll(".chart")].map((c) => c.querySelectorAll("path[d]").length)')
        assert bool(charts) == (name not in WITHOUT_CHARTS)
        assert all(count > 2 for count in charts)
        # As wide as the window, whatever the names.
        assert page.ask("document.documentElement.scrollWidth <= innerWidth")
        assert "" == "".join(char for char in page.ask("document.body.innerText") if char in "\x1b\x07\u202e\u2028")
        assert [] == page.complaints
        assert [str(page_files[name])] == [unquote(address.removeprefix("file://")) for address in page.requests]


def test_a_page_that_lost_a_part_looks_different(opened: Callable):
    """The comparison is loose, not blind: letters of another width pass; missing charts, style or darkness do not."""
    expected = decoded((GOLDEN / "pages" / "program-light.png").read_bytes())

    def now(page: Page) -> float:
        page.frame()
        return difference(expected, cells(decoded(page.picture(scale=SMALL))))

    with opened("program") as page:
        assert now(page) <= MOST_DIFFERENT
        page.ask("document.body.style.fontFamily = 'monospace'")
        assert 0 < now(page) <= MOST_DIFFERENT
        page.ask("document.body.style.fontFamily = ''")
        page.ask('for (const one of document.querySelectorAll("style")) one.disabled = true')
        assert now(page) > MOST_DIFFERENT
        page.ask('for (const one of document.querySelectorAll("style")) one.disabled = false')
        page.ask('for (const one of document.querySelectorAll(".chart")) one.replaceChildren()')
        assert now(page) > MOST_DIFFERENT
        page.darken()
        assert now(page) > MOST_DIFFERENT


PAPER = 718  # pixels between the margins of a sheet of A4
BROKEN = """[...document.querySelectorAll(".wide td.text bdi")]
    .filter((one) => /^[a-z]{2,11}$/.test(one.textContent))
    .filter((one) => new Set(Array.from(one.getClientRects(), ({ top }) => top)).size > 1)
    .map((one) => one.textContent)"""


@pytest.mark.parametrize("name", ["fleet", "program", "run", "compare", "hostile-program"])
def test_whoever_cannot_see_the_page_is_told_what_is_there(opened: Callable, name: str):
    """Whatever can be operated or looked at has a name; one main heading; paper wants no click and breaks no word."""
    with opened(name) as page:
        tree = page.call("Accessibility.getFullAXTree")["nodes"]
        named = {"button", "searchbox", "textbox", "combobox", "application", "image", "table", "region"}
        nodes = [node for node in tree if node.get("role", {}).get("value") in named and not node["ignored"]]
        names = [(node["role"]["value"], node.get("name", {}).get("value", "").strip()) for node in nodes]
        assert [] == [role for role, said in names if not said]
        kinds = {"table", "region"} | ({"application"} if "program" in name else set())
        assert kinds <= {role for role, _ in names}
        for role in ("table", "searchbox"):  # told apart by their names
            same = [said for found, said in names if found == role]
            assert sorted(set(same)) == sorted(same), role
        assert ["en", 1] == page.ask('[document.documentElement.lang, document.querySelectorAll("h1").length]')
        page.call("Emulation.setEmulatedMedia", media="print")
        assert not page.ask('[...document.querySelectorAll(".tools")].some((one) => one.checkVisibility())')
        assert not page.ask('[...document.querySelectorAll("button")].some((one) => /show/.test(one.innerText))')
        assert page.ask('[...document.querySelectorAll(".map canvas")].every((one) => one.checkVisibility())')
        page.call("Emulation.setDeviceMetricsOverride", width=PAPER, height=1000, deviceScaleFactor=1, mobile=False)
        page.wait_for(f"document.documentElement.scrollWidth <= {PAPER}")  # charts are drawn anew
        assert [] == page.ask(BROKEN)
        # A button in a heading would be on the first sheet of its table alone.
        assert not page.ask('[...document.querySelectorAll("thead button")].some((one) => one.getClientRects().length)')
        assert page.call("Page.printToPDF", printBackground=True)["data"].startswith("JVBERi")  # %PDF-


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


def test_a_telephone_is_wide_enough(opened: Callable):
    """Of pages whose names have no place to break: nothing but tables is wider than the window."""
    for name in ("hostile-fleet", "hostile-program", "hostile-run", "hostile-compare"):
        with opened(name) as page:
            page.call("Emulation.setDeviceMetricsOverride", width=400, height=900, deviceScaleFactor=1, mobile=False)
            page.frame()
            assert 400 == page.ask("document.documentElement.scrollWidth"), name
