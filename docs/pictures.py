"""Write the pictures of the documents anew (`make docs`): what the reports and the site say of examples/fleet.

In headless Chromium, by day, 1280 pixels wide, cut to what matters. Fonts differ from machine to machine, so a picture
is looked at before it is committed, and no test compares it.
"""

import os
import sys
import tempfile
from pathlib import Path

from bufferhouse.commands.ingest_run import run_ingest
from bufferhouse.report.fleet.data import read_fleet
from bufferhouse.report.fleet.page import fleet_page
from bufferhouse.report.program.data import read_program
from bufferhouse.report.program.page import program_page
from bufferhouse.report.site.addresses import function_address, step_address
from bufferhouse.report.site.site import build_from
from bufferhouse.report.site.target import target_of
from bufferhouse.warehouse.open import reading
from tests.report.browser import NAMES, Browser, browsing, installed

IMAGES = Path(__file__).parent / "images"
PROGRAM, RUN, VMEM = "jit_transformer2_fwd", "tpu-v5e-jaxlib-0.8.3-libtpu-0.0.33", 1
MOST_BYTES = 200_000  # of a picture: every clone carries it for ever
# From the top of the page to the second memory space; from the heading of the map to its help.
FLEET = "[0, document.querySelectorAll('h3')[1].getBoundingClientRect().top + scrollY - 16]"
MAP = """
[document.querySelector(".map"), document.querySelector(".map .help")]
  .map((element) => element.getBoundingClientRect().top + scrollY - 8)
"""
CHOOSE = f"""
(() => {{
  const {{ map }} = document.querySelector(".map");
  map.controls.space.value = "{VMEM}";
  map.chooseSpace();
}})()
"""


# The site: each page from its top to a place on it, after a piece of JavaScript.
MOMENT = 45  # a position of the schedule
INDEX_CUT = "[0, 1080]"
MOMENT_CUT = """
[document.querySelectorAll(".timeline")[1].previousElementSibling, document.querySelectorAll(".moment")[1]]
  .map((element, i) => element.getBoundingClientRect()[i ? "bottom" : "top"] + scrollY)
"""
TO_THE_END = "[0, Math.min(document.documentElement.scrollHeight, 1100)]"
FOLD = f"document.querySelectorAll('.timeline')[1].timeline.choose({MOMENT}), scrollTo(0, 0), 0"
BEFORE, AFTER = "jaxlib-0.4.38", "jaxlib-0.6.0"


def main() -> int:
    """Write docs/images; return 1 without a browser, or when a picture is too large to be committed."""
    if installed() is None:
        print(f"expected a browser to take pictures with: install one of {', '.join(NAMES)}", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        warehouse = folder / "fleet.duckdb"
        os.chdir(Path(__file__).parents[1])
        if code := run_ingest(["examples/fleet"], warehouse).exit_code:
            return code
        pages = {
            "fleet": fleet_page(read_fleet(warehouse)),
            "allocation-map": program_page(read_program(warehouse, PROGRAM, run=RUN)),
        }
        for page_name, page in pages.items():
            (folder / f"{page_name}.html").write_text(page, encoding="utf-8")
        with reading(warehouse) as opened:
            build_from(opened.con, target_of(str(folder / "site")))
        with browsing(folder / "profile") as browser:
            sizes = [
                *of_the_site(browser, folder / "site"),
                taken(browser, folder / "fleet.html", FLEET),
                taken(browser, folder / "allocation-map.html", MAP, CHOOSE),
            ]
    return int(max(sizes) > MOST_BYTES)


def of_the_site(browser: Browser, folder: Path) -> list[int]:
    """Take the pictures of five pages of a site, and return their bytes."""
    function, step = function_address(PROGRAM), step_address(BEFORE, AFTER)
    program = next(folder.glob(f"programs/*/{RUN}.html"))  # of the program that has several memory spaces
    for path in folder.glob(f"programs/*/{RUN}.html"):
        if f"<bdi>{PROGRAM}</bdi></h1>" in path.read_text(encoding="utf-8"):
            program = path
    return [
        taken(browser, folder / "index.html", INDEX_CUT, name="site-index"),
        taken(browser, folder / function, TO_THE_END, name="site-function"),
        taken(browser, folder / step, TO_THE_END, name="site-comparison"),
        taken(browser, program, MOMENT_CUT, FOLD, name="site-program"),
        taken(browser, folder / "lineage" / "index.html", TO_THE_END, name="site-lineage"),
    ]


def taken(browser: Browser, file: Path, cut: str, before: str = "0", name: str = "") -> int:
    """Take the picture of a page between two heights, after a piece of JavaScript; return its bytes."""
    picture = IMAGES / f"{name or file.stem}.png"
    with browser.opened(file) as page:
        page.ask(before)
        page.frame()
        top, bottom = page.ask(cut)
        size = len(page.picture(picture, top=top, bottom=bottom))
    said = "" if size <= MOST_BYTES else f", more than {MOST_BYTES:,}: cut or scale it"
    print(f"docs/images/{picture.name}: {size:,} bytes{said}")
    return size


if __name__ == "__main__":
    sys.exit(main())
