"""Sites as tests look at them: the links of all pages, as they stand in the text, and a crawl with a browser."""

import os
import re
import time
from collections import deque
from functools import lru_cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tests.report.browser import PATIENCE, Browser, Page

LINKS = (
    "[...document.querySelectorAll('a[href]')].map((link) => new URL(link.getAttribute('href'), location.href).href)"
)
MORE = "[...document.querySelectorAll('button')].filter((one) => !one.hidden && /more: show/.test(one.textContent))"
REMOTE = re.compile(r"https?://(?!www\.w3\.org/)[^\s\"'<>]*")


class _Links(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.pages: list[str] = []
        self.files: list[str] = []
        self.inline = 0
        self._is_code = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        if tag == "a":
            self.pages.append(given["href"] or "")
        elif tag == "link" or (tag == "script" and "src" in given):
            self.files.append(given.get("href") or given.get("src") or "")
        elif tag == "script" and given.get("type") != "application/json":
            self.inline += 1


_links = lru_cache(maxsize=2000)(_Links)  # most pages are looked at more than once, and are the same in several sites


def pages_of(folder: Path) -> set[str]:
    """Return the addresses of all pages that lie in a site, below its root."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*.html") if "history" not in path.parts}


def led_to(folder: Path, address: str) -> set[str]:
    """Return what a page leads to and what it needs, below the root of the site.

    Raises:
        AssertionError: it has a script in its text.
    """
    found = _links((folder / address).read_text(encoding="utf-8"))
    assert 0 == found.inline, address
    places = set()
    for link in (*found.pages, *found.files):
        parts = urlsplit(link)
        if not parts.scheme and parts.path:
            places.add(os.path.normpath(Path(address).parent / unquote(parts.path)))
    return places


def dead_links(folder: Path) -> set[tuple[str, str]]:
    """Return the links of all pages that lead to nothing, or out of the site."""
    there = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    return {(page, place) for page in pages_of(folder) for place in led_to(folder, page) - there}


def reached(folder: Path) -> set[str]:
    """Return the pages that links lead to from the index, without any script."""
    seen, to_do = {"index.html"}, deque(["index.html"])
    while to_do:
        for place in led_to(folder, to_do.popleft()):
            if place.endswith(".html") and place not in seen:
                seen.add(place)
                to_do.append(place)
    return seen


def go(page: Page, where: str) -> None:
    """Click with the mouse on the element that a piece of JavaScript finds, and wait for the page it leads to."""
    before = page.ask("location.href")
    page.ask(f"({where}).scrollIntoView({{block: 'center'}})")
    page.frame()
    x, y = page.ask(
        f"(() => {{ const b = ({where}).getClientRects()[0]; return [b.x + b.width / 2, b.y + b.height / 2]; }})()"
    )
    page.click(x, y)
    arrived(page, f"location.href !== {before!r}")


def arrived(page: Page, condition: str) -> None:
    """Wait until a page is another one, for which a piece of JavaScript is true; until then it may answer nothing."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            if page.ask(f"document.readyState === 'complete' && Boolean({condition})"):
                break
        except AssertionError as error:  # asked while the old page goes
            if "code" not in str(error):
                raise
        assert time.monotonic() < until, f"it never came true: {condition}"
        time.sleep(0.02)
    page.frame()


def crawl(
    browser: Browser, folder: Path, start: str = "index.html", only: re.Pattern | None = None
) -> dict[str, list[str]]:
    """Open every page that links lead to from `start`, scripts run; return what each complains of.

    With `only` pages whose address it does not match are seen and not opened.

    Raises:
        AssertionError: a page asks for anything that is not a file of the site, or a link leads to none.
    """
    seen, to_do, complaints = {start}, deque([start]), {}
    root = folder.resolve().as_uri() + "/"
    while to_do:
        address = to_do.popleft()
        with browser.opened(folder / address) as page:
            page.ask(f"{MORE}.forEach((one) => one.click())")
            links = page.ask(LINKS)
            complaints[address] = page.complaints
            assert [] == [url for url in page.requests if not url.startswith((root, "data:", "blob:"))], address
        for link in links:
            if not link.startswith(root):
                assert link.startswith("https://"), (address, link)  # a source line
                continue
            place = unquote(link.removeprefix(root).partition("#")[0])
            assert (folder / place).is_file(), (address, link)
            if place.endswith(".html") and place not in seen:
                seen.add(place)
                if only is None or only.search(place):
                    to_do.append(place)
    return complaints
