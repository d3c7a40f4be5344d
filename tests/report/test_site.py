"""The site: every page linked, made anew only where what it shows changed, and whole however a build ends."""

import json
import logging
import random
import re
import shutil
import socket
import string
import struct
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import boto3
import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from moto.server import ThreadedMotoServer

from bufferhouse.commands.ingest_run import run_ingest
from bufferhouse.commands.site import site_folder
from bufferhouse.compare.gate import Accepted
from bufferhouse.report.site.addresses import LONGEST, run_address, slug, step_address
from bufferhouse.report.site.manifest import Manifest
from bufferhouse.report.site.server import site_server
from bufferhouse.report.site.site import Wishes, build_from
from bufferhouse.report.site.target import target_of
from bufferhouse.report.text.figures import human_bytes, printable
from bufferhouse.warehouse.address import address_of
from bufferhouse.whatif.ranking import rank
from bufferhouse.whatif.space import read_space
from tests.command_line import CHECKOUT, call, kill_group, start
from tests.report.pages import HOSTILE, Parts
from tests.report.sites import REMOTE, arrived, crawl, dead_links, go, led_to, pages_of, reached
from tests.synthetic import Slot, dump_text
from tests.system.documents import blocks
from tests.warehouses import asked

pytestmark = pytest.mark.browser
SOURCE_URL = "https://code.example/blob/main/{file}#L{line}"
TPU = "tpu-v5e-jaxlib-0.8.3-libtpu-0.0.33"
TPU_BEFORE = "tpu-v5e-jaxlib-0.4.38-libtpu-0.0.8"
WISHES = Wishes(SOURCE_URL)
PHONE = {"width": 375, "height": 720, "deviceScaleFactor": 1, "mobile": True}


def built(warehouse: Path, folder: Path, wishes: Wishes = WISHES, *, is_forced: bool = False):
    with asked(warehouse) as con:
        return build_from(con, target_of(str(folder)), wishes, is_forced=is_forced)


def times(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class House(NamedTuple):
    """A warehouse and its site."""

    warehouse: Path
    site: Path

    def copied(self, folder: Path) -> "House":
        """Return copies of both that a test may change."""
        warehouse = Path(shutil.copy(self.warehouse, folder / "own.duckdb"))
        return House(warehouse, Path(shutil.copytree(self.site, folder / "site")))


@pytest.fixture(scope="module")
def site(example_warehouse: Path, catalog_site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of the example fleet. To be looked at, never written."""
    folder = Path(shutil.copytree(catalog_site, tmp_path_factory.mktemp("site") / "fleet"))
    built(example_warehouse, folder)
    return folder


@pytest.fixture(scope="module")
def small_site(page_files, catalog_site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of two runs whose names and programs would do harm."""
    folder = Path(shutil.copytree(catalog_site, tmp_path_factory.mktemp("site") / "small"))
    built(page_files.hostile_runs, folder)
    return folder


@pytest.fixture(scope="module")
def one_run(catalog_site: Path, tmp_path_factory: pytest.TempPathFactory) -> House:
    """A run of one program, and its site. To be copied, never written."""
    folder = tmp_path_factory.mktemp("one")
    house = House(folder / "own.duckdb", Path(shutil.copytree(catalog_site, folder / "site")))
    load_sizes(folder, house.warehouse, {"before": 64})
    built(*house)
    return house


@pytest.fixture(scope="module")
def two_runs(one_run: House, tmp_path_factory: pytest.TempPathFactory) -> House:
    """The same with a later run, in which the program takes more. To be copied, never written."""
    folder = tmp_path_factory.mktemp("two")
    house = one_run.copied(folder)
    load_sizes(folder, house.warehouse, {"after": 96})
    built(*house)
    return house


def test_all_pages_are_linked_with_each_other_and_with_nothing_else(site: Path):
    """From the index links lead to each page, without any script; no link is dead, and no other host is named."""
    assert set() == dead_links(site)
    assert pages_of(site) == reached(site)
    named = {
        url for page in pages_of(site) for url in REMOTE.findall((site / page).read_text()) if "code.example" not in url
    }
    assert set() == named
    for page in pages_of(site):
        policy = re.search(r'Content-Security-Policy" content="([^"]*)"', (site / page).read_text())[1]
        assert "script-src 'self';" in policy, page


def test_the_padding_of_the_fleet_leads_to_programs_and_runs(site: Path):
    """As all tables of the trends do: each row to the function and to the run."""
    _, _, padding = (site / "fleet.html").read_text().partition("<h2>Padding</h2>")
    rows = padding.partition("<h2>")[0].split('<th scope="row"')[1:]
    assert rows
    for row in rows:
        assert ["programs", "runs"] == re.findall(r'<a href="(\w+)/', row)


def test_a_program_page_says_what_a_change_is_worth(browser, site: Path, example: duckdb.DuckDBPyConnection):
    """The ranking of the verb `savings`, and the map after the first edit."""
    program_id, dump_id = example.sql(
        "SELECT program_id, dump_id FROM marts.observations_v1"
        f" WHERE program_name = 'jit_transformer2_fwd' AND run_name = '{TPU}'"
    ).fetchone()
    found = rank(read_space(example, dump_id)).worths
    address = run_address(TPU).replace("runs/", f"programs/{program_id}/")
    with browser.opened(site / address) as page:
        cells = page.ask("[...document.querySelectorAll('#savings ~ * tbody')][0].rows.length")
        assert min(len(found), 8) == cells
        page.ask("(() => { const { controls } = document.querySelector('.map').map; controls.edit.selectedIndex = 1;"
                 " controls.edit.dispatchEvent(new Event('change')); })()")  # fmt: skip
        assert found[0].position == page.ask("document.querySelector('.map').map.peak()")
        assert [] == page.complaints


def test_each_run_program_and_step_has_its_page(site: Path, example: duckdb.DuckDBPyConnection):
    """A run, a function, a program in each run in which its dump is another than before, a step that moved bytes."""
    pages = pages_of(site)
    names = [row[0] for row in example.sql("SELECT run_name FROM marts.runs_v2").fetchall()]
    assert {run_address(name) for name in names} <= pages
    changed = example.sql(
        "SELECT program_id, run_name FROM marts.program_history_v2 WHERE is_changed OR is_changed IS NULL"
    ).fetchall()
    assert {f"programs/{program_id}/{slug(name)}.html" for program_id, name in changed} <= pages
    steps = example.sql(
        "SELECT DISTINCT previous_run_name, run_name FROM marts.memory_space_trend_v2 WHERE reserved_change_bytes <> 0"
    ).fetchall()
    assert steps
    assert {step_address(*step) for step in steps} <= pages
    assert {f"catalog/marts.{row[0]}.html" for row in example.sql(
        "SELECT view_name FROM duckdb_views() WHERE schema_name = 'marts' AND view_name SIMILAR TO '.*_v[0-9]+'"
    ).fetchall()} <= pages  # fmt: skip


def test_the_figures_lie_beside_each_page(site: Path, example: duckdb.DuckDBPyConnection):
    """As JSON: those of a program are what its marts say."""
    for page in pages_of(site):
        beside = json.loads((site / page.replace(".html", ".json")).read_text()) if page != "compare/any.html" else {}
        assert beside.get("page", page) == page
    program_id, dump_id = example.sql(
        "SELECT program_id, dump_id FROM marts.observations_v1"
        f" WHERE program_name = 'jit_transformer2_fwd' AND run_name = '{TPU}'"
    ).fetchone()
    found = json.loads((site / f"programs/{program_id}/{TPU}.json").read_text())["answers"]["program_spaces"]
    told = {row[0]: row[found["columns"].index("reserved_bytes")] for row in found["rows"]}
    assert dict(
        example.execute(
            "SELECT memory_space, reserved_bytes FROM marts.peak_memory_v1 WHERE dump_id = ?", [dump_id]
        ).fetchall()
    ) == told  # fmt: skip


def test_a_page_embeds_what_its_tables_show_of_the_figures_beside_it(site: Path):
    """Comparisons and runs: no more, since the fleet's comparisons hold each program's figures in 66 columns."""
    embedded = 0
    for page in chain((site / "compare").glob("*..*.html"), (site / "runs").glob("*~*.html")):
        blocks_of_data = re.findall(r'<script type="application/json".*?</script>', page.read_text(), re.DOTALL)
        parts, beside = Parts("".join(blocks_of_data)), json.loads(page.with_suffix(".json").read_text())["answers"]
        for name, spec in parts.embedded("tables").items():
            columns, rows = parts.answer(spec["source"])
            found = beside.get(spec["source"])  # none where it is made for the page alone
            assert {column["column"] for column in spec["columns"]} <= set(columns), (page, name)
            if found:
                places = [found["columns"].index(column) for column in columns]
                told = [[row[place] for place in places] for row in found["rows"]]
                assert all(row in told for row in rows)  # a comparison shows no program that is unchanged
                assert spec["source"] != "compare_programs" or len(columns) < len(found["columns"]) / 2
                embedded += 1
    assert embedded > 0


def test_the_document_shows_the_figures_of_a_page(site: Path):
    """The JSON in docs/site.md is a part of what lies beside that page, to the byte."""
    [shown] = map(json.loads, blocks(CHECKOUT / "docs" / "site.md", "json"))
    found = json.loads((site / shown["page"].replace(".html", ".json")).read_text())
    assert shown["bufferhouse"] == found["bufferhouse"]
    assert shown["dump"] == {key: found["dump"][key] for key in shown["dump"]} | {"dump_id": "…"}
    for name, answer in shown["answers"].items():
        places = [found["answers"][name]["columns"].index(column) for column in answer["columns"]]
        assert answer["rows"] == [[row[place] for place in places] for row in found["answers"][name]["rows"]]


def test_official_numbers_are_on_the_page_of_each_program(site: Path, example: duckdb.DuckDBPyConnection):
    """With their rules, and as records in the JSON beside the page."""
    program_id, count = example.sql(
        "SELECT program_id, COUNT(*) FROM marts.official_numbers_v1"
        f" WHERE program_name = 'jit_transformer2_fwd' AND run_name = '{TPU}' GROUP BY program_id"
    ).fetchone()
    page = site / f"programs/{program_id}/{TPU}.html"
    text = page.read_text()
    assert '<a href="#truth">Official numbers</a>' in text
    assert f"{count} official numbers: agrees 2" in text
    assert count == len(json.loads(page.with_suffix(".json").read_text())["answers"]["program_truth"]["rows"]) > 0


def test_a_second_build_writes_nothing_and_a_new_run_only_what_it_changes(
    two_runs: House, tmp_path: Path, begun: Callable
):
    """Not one file; then old pages of programs stay as they are. A removed run is said, and its address stays."""
    warehouse, folder = two_runs.copied(tmp_path)
    first = times(folder)
    again = built(warehouse, folder)
    assert (False, 0, first) == (again.is_new, again.file_count, times(folder))
    load_sizes(tmp_path, warehouse, {"newest": 128})
    assert built(warehouse, folder).is_new
    second = times(folder)
    touched = {name for name in first if first[name] != second[name]}
    assert {"index.html", "programs/jit_f.html"} <= touched
    assert not [name for name in touched if name.startswith(("catalog/", "lineage/", "assets/", "compare/before"))]
    assert not [name for name in touched if re.match(r"programs/\d+/|runs/(before|after)", name)]
    assert (set(), pages_of(folder)) == (dead_links(folder), reached(folder))
    anew = begun("anew")
    built(warehouse, anew)
    assert {**contents(anew), "manifest.json": b""} == {**contents(folder), "manifest.json": b""}
    old = contents(folder)
    assert 0 == call("runs", "rm", "before", "--yes", "--warehouse", warehouse).code
    built(warehouse, folder)
    gone = run_address("before")
    assert "no longer in the warehouse" in (folder / gone).read_text()
    assert old[gone.replace(".html", ".json")] == (folder / gone.replace(".html", ".json")).read_bytes()
    assert pages_of(folder) >= {name for name in old if name.endswith(".html")}
    assert set() == dead_links(folder)
    assert not [page for page in reached(folder) if page == gone]


def load_sizes(folder: Path, warehouse: Path, sizes: Mapping[str, int], *others: str) -> None:
    """Load runs called as their folders, each with a dump of one program that takes so many bytes; and others there."""
    for name, size in sizes.items():
        (folder / name).mkdir()
        dump = folder / name / "module_0001.jit_f.cpu_after_optimizations-buffer-assignment.txt"
        dump.write_bytes(dump_text([Slot(0, 2, 0, size)]))
    run_ingest([str(folder / name) for name in (*sizes, *others)], warehouse)


def renewed(warehouse: Path, folder: Path, anew: Path) -> set[str]:
    """Build a site again, and anew in another folder; return the pages that the first build changed.

    Raises:
        AssertionError: the two differ.
    """
    before = contents(folder)
    built(warehouse, folder)
    built(warehouse, anew)
    found = contents(folder)
    assert {**contents(anew), "manifest.json": b""} == {**found, "manifest.json": b""}
    return {name for name in found if name.endswith(".html") and before.get(name) != found[name]}


def test_a_script_goes_with_the_last_page_that_needs_it(one_run: House, two_runs: House, tmp_path: Path):
    """The index of one run needs another script than that of two; scripts of pages that stay as they are stay, too."""
    before, after = ({path.name for path in (house.site / "assets").iterdir()} for house in (one_run, two_runs))
    assert before - after
    folder = two_runs.site
    needed = {place for page in pages_of(folder) for place in led_to(folder, page) if place.startswith("assets/")}
    assert {Path(place).name for place in needed} == after
    house = two_runs.copied(tmp_path)
    built(*house, Wishes())
    assert set() == dead_links(house.site)


@pytest.fixture(scope="module")
def made_anew(catalog_site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site that a forced build made anew. To be looked at, never written.

    Its run had a dump for one target first; two targets came later, whose names sort before it. One page of the site is
    of an earlier release.
    """
    folder = tmp_path_factory.mktemp("anew")
    site, run = Path(shutil.copytree(catalog_site, folder / "site")), folder / "run"
    run.mkdir()
    for sizes in ({"sm_8.0_gpu": 64}, {"cpu": 96, "sm_7.0_gpu": 128}):
        if is_later := any(run.iterdir()):
            retire(site)
        for stage, size in sizes.items():
            dump = run / f"module_0001.jit_f.{stage}_after_optimizations-buffer-assignment.txt"
            dump.write_bytes(dump_text([Slot(0, 2, 0, size)]))
        run_ingest([str(run)], folder / "own.duckdb")
        built(folder / "own.duckdb", site, is_forced=is_later)
    return site


def retire(site: Path) -> None:
    """Put a page into a site that no release makes any more; its manifest does not say what a page needs."""
    text, old = (site / "catalog/index.html").read_text(), "assets/site-0123456789.css"
    [style] = re.findall(r"assets/site-\w+\.css", text)
    (site / old).write_bytes((site / style).read_bytes())
    (site / "catalog/retired.html").write_text(text.replace(style, old))
    manifest = json.loads((site / "manifest.json").read_text())
    manifest["assets"].append(old)
    manifest["pages"]["catalog/retired.html"] = ["shown", "files"]
    del manifest["used"]
    (site / "manifest.json").write_text(json.dumps(manifest))


def test_a_target_that_comes_later_to_a_run_takes_no_address_over(made_anew: Path):
    """The address of a program that was sent to somebody shows the same program, whichever target sorts first."""
    assert {"run": "sm_8.0", "run@cpu": "cpu", "run@gpu-sm_7.0": "sm_7.0"} == {
        path.stem: json.loads(path.read_text())["dump"]["compile_target"]
        for path in made_anew.glob("programs/*/*.json")
    }
    listed = re.findall(
        r'<li><a href="[^"]*/(run[^"]*)\.html">(?:<bdi>)?([^<]*)', (made_anew / "programs/jit_f.html").read_text()
    )
    assert {"run": "run · sm_8.0", "run@cpu": "run · cpu", "run@gpu-sm_7.0": "run · sm_7.0"} == dict(listed)


def test_a_page_of_an_earlier_release_that_is_not_made_anew_keeps_its_scripts(made_anew: Path):
    """The catalog has a question no more, and its page stays; the manifest did not say then what a page needs."""
    assert (made_anew / "catalog/retired.html").exists()
    assert set() == dead_links(made_anew)


@pytest.mark.parametrize(
    ("key", "place"),
    [("assets", "../mine.css"), ("assets", "/mine.css"), ("assets", "assets/../../mine.css"), ("assets", "index.html"),
     ("pages", "runs/../../mine.html"), ("pages", "/mine.html")],
)  # fmt: skip
def test_a_manifest_leads_nowhere_out_of_its_site(key: str, place: str):
    """Who may write to a site has no other file written over or removed: such a manifest counts as none."""
    manifest = Manifest(pages={"runs/a.html": ("shown", "files")}, assets=["assets/site-0123456789.css"])
    assert manifest == Manifest.read(manifest.written())
    if key == "assets":
        manifest.assets.append(place)
    else:
        manifest.pages[place] = "shown", "files"
    assert Manifest() == Manifest.read(manifest.written())


@pytest.mark.soak
def test_a_run_that_comes_late_renews_the_order_of_those_behind_it(tmp_path: Path, begun: Callable):
    """Pages of programs have the place of each run among all, also of those that share no program with it.

    Pages of runs and comparisons have it not, and stay.
    """
    warehouse, folder = tmp_path / "own.duckdb", begun("site")
    load_sizes(tmp_path, warehouse, {"before": 32, "new": 64})
    built(warehouse, folder)
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "run.json").write_text(json.dumps({"started_at": "2020-01-01T00:00:00Z"}))
    (tmp_path / "old" / "module_0001.jit_g.cpu_after_optimizations-buffer-assignment.txt").write_bytes(
        dump_text([Slot(0, 2, 0, 96)])
    )
    run_ingest([str(tmp_path / "old")], warehouse, run_name="old")
    pages = renewed(warehouse, folder, begun("anew"))
    assert "programs/jit_f.html" in pages
    assert {"runs/new.html", step_address("before", "new")} <= pages_of(folder) - pages


@pytest.mark.soak
def test_flags_that_are_set_later_renew_the_comparison(tmp_path: Path, begun: Callable):
    """It says that the runs were compiled with other flags."""
    warehouse, folder = tmp_path / "own.duckdb", begun("site")
    load_sizes(tmp_path, warehouse, {"before": 64, "after": 96})
    built(warehouse, folder)
    for number, name in enumerate(("before", "after")):
        flag = f"xla_flags=--xla_test_level={number}"
        assert 0 == call("runs", "set", name, flag, "--warehouse", warehouse).code
    step = step_address("before", "after")
    assert {step} == renewed(warehouse, folder, begun("anew"))
    assert "compiled with different flags, before: --xla_test_level=0; after: --xla_test_level=1" in (
        (folder / step).read_text()
    )


def test_a_page_of_triage_whose_steps_moved_does_not_say_that_their_runs_are_gone(two_runs: House, tmp_path: Path):
    """With other compilers the step of two runs is an upgrade, which has a page of its own."""
    warehouse, folder = house = two_runs.copied(tmp_path)
    [day] = [page for page in pages_of(folder) if page.startswith("triage/") and page != "triage/index.html"]
    for number, name in enumerate(("before", "after")):
        facts = ("compiler=jaxlib", f"compiler_version=0.{number}")
        assert 0 == call("runs", "set", name, *facts, "--warehouse", warehouse).code
    built(*house)
    assert (folder / "triage/before..after.html").exists()
    assert "Another page of triage has these steps now, or their runs" in (folder / day).read_text()


def test_what_comes_later_renews_the_pages_that_show_it(tmp_path: Path, begun: Callable):
    """A message renews the page of its program, though it brings no dump and no capacity of the default memory space.

    A file that says that a program did not fit renews its page and the comparison with the run before. A module text
    beside the same dump of another run renews the page of the first run, which has its lines as long as either run is
    there.
    """
    warehouse, folder = house = House(tmp_path / "own.duckdb", begun("site"))
    scoped, xent = (CHECKOUT / "examples/oom" / name for name in ("libtpu-0.0.37/scoped", "libtpu-0.0.33/xent"))
    module = "*optimizations.txt"
    for name, example, *left_out in (("scoped", scoped), ("first", xent, module), ("second", xent)):
        shutil.copytree(example, tmp_path / name, ignore=shutil.ignore_patterns("stderr.txt", *left_out))
        facts = {"track": example.name, "started_at": "2100-01-01T00:00:00Z"}  # behind those that are written now
        (tmp_path / name / "run.json").write_text(json.dumps(facts))

    def renewed_by(*names: str) -> set[str]:
        """Load runs, and return the pages that change; the index says when that was."""
        before = contents(folder)
        run_ingest([str(tmp_path / name) for name in names], warehouse)
        built(*house)
        after = contents(folder)
        return {page for page in pages_of(folder) - {"index.html"} if before.get(page) != after[page]}

    def page_of(name: str) -> str:
        [page] = folder.glob(f"programs/*/{name}.html")
        return str(page.relative_to(folder))

    load_sizes(tmp_path, warehouse, {"before": 64, "after": 96}, "scoped", "first")
    built(*house)
    message = "Message about a program that did not fit"
    assert not [page for page in pages_of(folder) if message in (folder / page).read_text()]
    shutil.copy(scoped / "stderr.txt", tmp_path / "scoped")
    assert {page_of("scoped")} == renewed_by("scoped")
    assert message in (folder / page_of("scoped")).read_text()

    assert "train.py" not in (folder / page_of("first")).read_text()
    (tmp_path / "after" / "module_0001.jit_f.oom_intermediate_module.txt").write_text("HloModule jit_f\n")
    pages = renewed_by("after", "second")
    said = {page for page in pages if "did not fit, as files beside" in (folder / page).read_text()}
    assert {page_of("after"), step_address("before", "after")} == said
    assert page_of("first") in pages
    assert "train.py" in (folder / page_of("first")).read_text()

    anew = House(warehouse, begun("anew"))
    built(*anew)
    assert {**contents(anew.site), "manifest.json": b""} == {**contents(folder), "manifest.json": b""}
    assert 0 == call("runs", "rm", "second", "--yes", "--warehouse", warehouse).code
    built(*house)
    assert "train.py" not in (folder / page_of("first")).read_text()


def kills(warehouse: Path, whole: dict[str, bytes], folder: Path, count: int) -> None:
    """Kill builds of one site when so many files lie there; after each all links work, and the last one ends it."""
    for number in range(count):
        target = random.Random(number).randrange(len(whole) * 2)
        process = start("site", folder, "--warehouse", warehouse, "--set", f"report.source_url={SOURCE_URL}")
        while process.poll() is None and sum(1 for _ in folder.rglob("*.*")) + number * 150 < target:
            time.sleep(0.005)
        kill_group(process)
        assert set() == dead_links(folder), number
    assert 0 == call("site", folder, "--warehouse", warehouse, "--set", f"report.source_url={SOURCE_URL}").code
    assert {**whole, "manifest.json": b""} == {**contents(folder), "manifest.json": b""}


@pytest.mark.soak
def test_a_killed_build_leaves_only_links_that_work(example_warehouse: Path, site: Path, tmp_path: Path):
    """Killed three times, each time later; the next build ends what the last one began."""
    kills(example_warehouse, contents(site), tmp_path / "site", 3)


def test_a_second_build_at_the_same_time_says_so(example_warehouse: Path, tmp_path: Path):
    """It writes nothing, and names the folder; when the first has ended it has nothing to do but that."""
    folder = tmp_path / "site"
    with target_of(str(folder)).alone():
        outcome = call("site", folder, "--warehouse", example_warehouse)
        assert (2, []) == (outcome.code, list(folder.iterdir()))
        assert f"{folder}: another build is writing this site; try again when it has ended" in outcome.err


@pytest.mark.soak
def test_builds_killed_at_twenty_moments_leave_only_links_that_work(
    example_warehouse: Path, site: Path, tmp_path: Path
):
    """Each into a folder of its own."""
    for number in range(20):
        folder = tmp_path / str(number)
        folder.mkdir()
        process = start("site", folder, "--warehouse", example_warehouse)
        time.sleep(random.Random(number).uniform(0.8, 8))
        kill_group(process)
        assert set() == dead_links(folder), number


@pytest.mark.soak
def test_a_site_in_a_bucket_is_the_same(page_files, small_site: Path, monkeypatch: pytest.MonkeyPatch):
    """Each object has its content type, and a second build writes none."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    url = "http://{}:{}".format(*server.get_host_and_port())
    for name, value in {
        "AWS_ENDPOINT_URL": url, "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "who",
        "AWS_SECRET_ACCESS_KEY": "secret", "AWS_MAX_ATTEMPTS": "1",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    client = boto3.client("s3", endpoint_url=url)
    try:
        client.create_bucket(Bucket="reports")
        with asked(page_files.hostile_runs) as con:
            build_from(con, target_of("s3://reports/fleet/"), WISHES)
            again = build_from(con, target_of("s3://reports/fleet"), WISHES)
        pages = [
            one
            for found in client.get_paginator("list_objects_v2").paginate(Bucket="reports")
            for one in found["Contents"]
        ]
        found = {
            one["Key"]: client.get_object(Bucket="reports", Key=one["Key"])
            for one in pages
        }  # fmt: skip
        bodies = {key.removeprefix("fleet/"): one["Body"].read() for key, one in found.items()}
        kinds = {key.rpartition(".")[2]: one["ContentType"] for key, one in found.items()}
    finally:
        server.stop()
    assert 0 == again.file_count
    assert contents(small_site) == bodies
    assert "text/html; charset=utf-8" == kinds["html"]


def test_a_folder_with_another_index_is_left_alone(blank_warehouse: Path, tmp_path: Path):
    """Nothing is written over what no build wrote; nor into a warehouse, or where a file is."""
    (tmp_path / "index.html").write_text("mine")
    outcome = call("site", tmp_path, "--warehouse", blank_warehouse)
    assert (2, ["index.html"]) == (outcome.code, [path.name for path in tmp_path.iterdir()])
    assert "there is an index.html that is not of a site of bufferhouse; name another folder" in outcome.err
    assert (
        "expected a folder, found a file at"
        in call("site", tmp_path / "index.html", "--warehouse", blank_warehouse).err
    )
    assert "expected a folder or s3://" in call("site", "gs://bucket", "--warehouse", blank_warehouse).err
    refused = call(
        "site", tmp_path / "x", "--warehouse", blank_warehouse, "--set", "report.source_url=https://host/{file} x"
    )
    assert (2, True) == (refused.code, "expected an address with {file}, and {line} and {git_revision}" in refused.err)


NAMES = st.one_of(
    st.text(max_size=80),
    st.text(alphabet=string.ascii_letters + "._-~/\\ %", max_size=12),
    st.sampled_from(
        [HOSTILE, "..", ".", "", "a/../b", "x" * 10_000, "CON", "nul.txt", "index", "a..b", "ünï", "a\ud800"]
    ),
)


@given(st.lists(NAMES, unique=True, min_size=2, max_size=12))
@settings(max_examples=150, deadline=None)
def test_hostile_names_become_safe_distinct_addresses(names: list[str]):
    """Whatever a name is: short, of harmless characters, and apart where a file system knows no capitals."""
    found = [slug(name) for name in names]
    for one in found:
        assert re.fullmatch(r"[a-z0-9_~-]+(\.[a-z0-9_~-]+)*", one), one
        assert len(one) <= LONGEST + 13
    assert len(names) == len({one.lower() for one in found})
    assert found == [slug(name) for name in names]
    assert len({step_address(a, b) for a in names[:6] for b in names[:6]}) == len(names[:6]) ** 2


def test_an_accept_file_and_later_runs_decide_the_state_of_growth(example_warehouse: Path, site: Path, tmp_path: Path):
    """New, accepted with its reason, or fixed since a run; the states are those of the last build."""
    folder = Path(shutil.copytree(site, tmp_path / "site"))
    entry = Accepted("jit_scan_rnn", 1, 1 << 30, "the new schedule is worth it")
    built(example_warehouse, folder, Wishes(SOURCE_URL, (entry,)))
    [page] = [page for page in pages_of(folder) if page.startswith("triage/") and TPU in page]
    found = json.loads((folder / page.replace(".html", ".json")).read_text())["answers"]["triage_movers"]
    rows = [dict(zip(found["columns"], row, strict=True)) for row in found["rows"]]
    [mover] = [row for row in rows if row["delta_bytes"] > 0]
    assert ("jit_scan_rnn", "accepted", entry.why) == (mover["program_name"], mover["state"], mover["why"])
    states = {}
    for path in (site / "triage").glob("*.json"):
        found = json.loads(path.read_text())["answers"].get("triage_movers", {"rows": [], "columns": []})
        for row in found["rows"]:
            one = dict(zip(found["columns"], row, strict=True))
            states.setdefault(one["state"], []).append(one)
    assert all(row["newest_bytes"] <= row["before_bytes"] for row in states.get("fixed", []))
    assert all(row["newest_bytes"] > row["before_bytes"] for row in states["new"])


def test_the_index_says_what_was_not_compared(warehouse: Path, tmp_path: Path):
    """Neither one run alone, nor a night of which all dumps were refused, is a night in which nothing moved."""

    def said() -> str:
        built(warehouse, tmp_path / "site")
        text = (tmp_path / "site" / "index.html").read_text()
        return " ".join(re.sub(r"<[^>]*>", " ", text.partition("<h2>What moved")[2]).split())

    alone = "Nothing was compared: no platform, track and device has two runs with dumps."
    load_sizes(tmp_path, warehouse, {"n1": 64})
    assert (True, False) == (alone in said(), "refused" in said())
    load_sizes(tmp_path, warehouse, {"n2": 64})
    assert "Nothing moved from run to run." in said()
    (tmp_path / "n3").mkdir()
    (tmp_path / "n3" / "module_0001.jit_f.cpu_after_optimizations-buffer-assignment.txt").write_text("damaged")
    run_ingest([str(tmp_path / "n3")], warehouse)
    assert "Not compared, as they were refused: 1 dump of n3." in said()


def test_the_index_counts_new_growth_as_the_page_it_leads_to(site: Path):
    """Each upgrade with relevant growth, with the programs that are new on its own page."""
    found = re.findall(r'<a href="(triage/[^"]+)"><bdi>.*: (\d+) new, at most', (site / "index.html").read_text())
    assert found
    for address, count in found:
        assert f"<dt>new</dt><dd>{count}</dd>" in (site / address).read_text(), address


def test_a_table_says_what_it_does_not_show_without_javascript(site: Path):
    """The movers of the index: what stands in the page, and the number of the others, are all of them."""
    text = (site / "index.html").read_text()
    table = text[text.index('<table id="movers"') :]
    [said] = re.findall(r"^<noscript>.*?Not shown: (\d+) more rows", table[: table.index("<h2")], re.S | re.M)
    movers = json.loads((site / "index.json").read_text())["answers"]["movers"]["rows"]
    assert len(movers) == int(said) + table[: table.index("</table>")].count("<tr>") - 1


def test_open_serves_the_site_to_this_machine_only(blank_warehouse: Path, site: Path, tmp_path: Path, monkeypatch):
    """On 127.0.0.1, from a cache, where only what has changed is made anew; who asks by another name is refused."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = Path(shutil.copytree(site, site_folder(address_of(blank_warehouse))))
    before = times(folder)
    process = start("open", "--no-browser", "--warehouse", blank_warehouse)
    try:
        address = process.stdout.readline().strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/index\.html", address)
        with urllib.request.urlopen(address) as answer:
            assert "The warehouse holds no runs yet." in answer.read().decode()
        assert before["lineage/index.html"] == times(folder)["lineage/index.html"]
        for asked in (
            urllib.request.Request(address, headers={"Host": "evil.example"}),
            urllib.request.Request(address.replace("index.html", "assets/")),
            urllib.request.Request(address.replace("index.html", "..%2f..%2fetc/passwd")),
        ):
            with pytest.raises(urllib.error.HTTPError):
                urllib.request.urlopen(asked)
    finally:
        kill_group(process)


def test_warehouses_of_one_name_in_two_folders_have_two_sites(tmp_path: Path, monkeypatch):
    """A name is relative to the working directory; another name of the same warehouse leads to the same site."""
    folders = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        folders += [site_folder(address_of("warehouse.duckdb")), site_folder(address_of("ducklake:lake"))]
    assert 4 == len(set(folders))
    assert folders[2] == site_folder(address_of(tmp_path / "two" / "warehouse.duckdb"))


def test_a_crawl_finds_no_fault(browser, small_site: Path):
    """From the index every page is opened, scripts run: none complains or asks for what is no file of the site."""
    some = re.compile(r"^(?!catalog/)|catalog/(index|marts\.runs_v2|raw\.runs)\.html")
    complaints = crawl(browser, small_site, only=some)
    assert {page for page in pages_of(small_site) if some.search(page)} == set(complaints)
    assert {} == {page: found for page, found in complaints.items() if found}


@pytest.mark.soak
@pytest.mark.corpus
@pytest.mark.parametrize("kind", ["builds", "fleet"])
def test_a_crawl_of_real_dumps_finds_no_fault(browser, corpus: Path, tmp_path: Path, kind: str):
    """Of sixteen builds of XLA, and of 14,603 dumps of one: each page with all that its scripts draw."""
    warehouse, folder = tmp_path / "dumps.duckdb", tmp_path / "site"
    archives = [str(path) for path in sorted((corpus / kind).glob("*.tar.gz")) if not path.name.endswith("-hlo.tar.gz")]
    run_ingest(archives, warehouse)
    built(warehouse, folder)
    complaints = crawl(browser, folder)
    assert pages_of(folder) == set(complaints)
    assert {} == {page: found for page, found in complaints.items() if found}


def test_clicks_lead_from_the_fleet_to_the_line_of_code(browser, site: Path):
    """Index, the change of a mover, its comparison, the program, a moment of its timeline, a source line."""
    with browser.opened(site / "index.html") as page:
        go(page, "[...document.querySelectorAll('#movers tbody tr')]"
           ".find((row) => row.cells[0].textContent === 'jit_cnn_train_step').cells[2].querySelector('a')")  # fmt: skip
        assert "/compare/" in page.ask("location.pathname")
        page.wait_for("document.querySelector('.chart svg')")
        go(
            page,
            "[...document.querySelectorAll('main table a')].find((link) => link.textContent === 'jit_cnn_train_step')",
        )
        assert re.search(r"/programs/\d+/jaxlib", page.ask("location.pathname"))
        box = page.ask("(() => { const b = document.querySelector('.timeline').getBoundingClientRect();"
                       " return [b.x + b.width * 0.4, b.y + 120]; })()")  # fmt: skip
        page.click(*box)
        page.wait_for("location.hash.startsWith('#at-0-')")
        link = "document.querySelector('.moment tbody td a')"
        assert re.fullmatch(r"https://code\.example/blob/main/[^#]+#L\d+", page.ask(f"{link}.href"))
        assert page.ask(f"{link}.textContent").rpartition(":")[2] == page.ask(f"{link}.href").rpartition("#L")[2]
        moment = page.ask("location.href")
    with browser.opened(moment) as page:
        at = moment.rpartition("-")[2]
        assert f"Alive at position {int(at):,}" == page.ask("document.querySelector('.moment h4').textContent")
        assert [] == page.complaints


def test_who_is_alive_at_a_moment_owns_the_bytes_of_the_timeline(browser, site: Path, example):
    """At every position of the schedule, in each memory space, what is listed sums to what the mart says."""
    program_id, dump_id = example.sql(
        "SELECT program_id, dump_id FROM marts.observations_v1"
        f" WHERE program_name = 'jit_transformer2_fwd' AND run_name = '{TPU}'"
    ).fetchone()
    expected = example.execute(
        "SELECT memory_space, LIST(occupied_bytes ORDER BY schedule_position) FROM marts.memory_timeline_v1"
        " WHERE dump_id = ? AND memory_space IN (0, 1) GROUP BY memory_space ORDER BY memory_space",
        [dump_id],
    ).fetchall()
    sums = """[...document.querySelectorAll('.timeline')].map(({ timeline }) => timeline).filter(Boolean)
      .map((one) => [one.space, Array.from({ length: one.end + 1 }, (_, at) => { one.show(at);
        return [...one.owned.values()].reduce((sum, bytes) => sum + bytes, 0); })]).sort((a, b) => a[0] - b[0])"""
    with browser.opened(site / f"programs/{program_id}/{TPU}.html") as page:
        found = page.ask(sums)
        page.ask("document.querySelector('.timeline').timeline.choose(3)")
        page.ask("document.querySelector('.timeline').focus()")
        page.press("ArrowRight")
        assert "Alive at position 4" == page.ask("document.querySelector('.moment h4').textContent")
        rows = "document.querySelectorAll('#alive-0 tbody tr').length"
        everything = page.ask(rows)
        page.ask("(() => { const one = document.querySelector('.moment [name=kind]'); one.value = 'temp';"
                 " one.dispatchEvent(new Event('change')); })()")  # fmt: skip
        assert page.ask(rows) < everything
    assert [[space, positions] for space, positions in expected] == found


def test_a_browser_that_leaves_early_is_no_fault(tmp_path, capfd):
    """It goes to another page before it has all of a file; the server says nothing of it and serves on."""
    (tmp_path / "large.js").write_bytes(b" " * (8 << 20))
    with site_server(tmp_path, 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            host = f"127.0.0.1:{server.server_address[1]}"
            with socket.create_connection(server.server_address) as client:
                client.sendall(f"GET /large.js HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
                assert b"HTTP/1.0" == client.recv(8)
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            assert 8 << 20 == len(urllib.request.urlopen(f"http://{host}/large.js").read())
        finally:
            server.shutdown()
            thread.join()
    assert ("", "") == tuple(capfd.readouterr())


@pytest.fixture(scope="module")
def transformer(site: Path, example) -> Path:
    """The page of a program with several memory spaces, small ones too."""
    (program_id,) = example.execute(
        "SELECT MAX(program_id) FROM marts.observations_v1"
        " WHERE program_name = 'jit_transformer2_fwd' AND run_name = ?",
        [TPU],
    ).fetchone()
    return (site / f"programs/{program_id}/{TPU}.html").resolve()


def test_a_link_to_a_moment_opens_what_is_folded(browser, transformer: Path):
    """A small memory space is folded; the address of one of its moments shows it, also one that is typed later."""
    with browser.opened(transformer) as page:
        folded = page.ask("document.querySelector('details:not([open]) .timeline').dataset.space")
        said = f"document.querySelector('.moment[data-space=\"{folded}\"] h4')"
        assert page.ask(f"{said} === null")
        page.ask(f"location.hash = '#at-{folded}-2'")
        page.wait_for(f"{said}?.textContent === 'Alive at position 2'")
    with browser.opened(f"{transformer.as_uri()}#at-{folded}-1") as page:
        assert "Alive at position 1" == page.ask(f"{said}.textContent")
        assert page.ask(f"{said}.closest('details').open")
        assert [] == page.complaints


def test_what_is_pointed_at_is_a_position_that_the_page_has(browser, transformer: Path):
    """Of a long schedule the page has some positions: none is given the bytes of another."""
    with browser.opened(transformer) as page:
        page.ask("(() => { const one = document.querySelector('.timeline').timeline;"
                 " one.rows = one.rows.filter(({ schedule_position: at }) => at % 5 === 0);"
                 " one.point(13); })()")  # fmt: skip
        said = page.ask("document.querySelector('.timeline').timeline.said.textContent")
        name = page.ask("document.querySelector('.timeline').timeline.rows[2].instruction_name")
        bytes_then = page.ask("document.querySelector('.timeline').timeline.rows[2].occupied_bytes")
    assert f"10 {printable(name, 40)}: {human_bytes(bytes_then)} occupied" == said


def test_an_area_of_the_moment_lists_what_is_in_it(browser, transformer: Path):
    """Its values own the bytes that it says, though other op_names begin alike."""
    areas = "document.querySelector('.tree').querySelectorAll('rect')"
    with browser.opened(transformer) as page:
        page.ask("(() => { const { timeline } = document.querySelector('.timeline'), [one, other] = timeline.alive;"
                 " Object.assign(one, { op_name: 'jit(f)/add' }); other.op_name = other.words = 'jit(f)/add_any';"
                 " one.words = one.op_name; timeline.list(); })()")  # fmt: skip
        for number in range(page.ask(f"{areas}.length")):
            title = page.ask(f"{areas}[{number}].querySelector('title').textContent")
            page.ask(f"{areas}[{number}].dispatchEvent(new MouseEvent('click'))")
            assert title.rpartition(": ")[2] in page.ask("document.querySelector('.moment p').textContent"), title
            page.ask("(() => { const find = document.querySelector('.moment [name=alive]'); find.value = '';"
                     " find.dispatchEvent(new Event('input')); })()")  # fmt: skip


def test_the_keyboard_and_a_phone_are_enough(browser, site: Path):
    """The first key leads past the navigation, links of a chart have the focus; on a phone no page is wider than it."""
    function = "programs/jit_transformer2_fwd.html"
    with browser.opened(site / function) as page:
        page.press("Tab")
        assert "Skip to the page" == page.ask("document.activeElement.textContent")
        page.ask("document.querySelector('.history a').focus()")
        page.ask("document.activeElement.dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true }))")
        arrived(page, "/programs\\/\\d+\\//.test(location.pathname)")
    with browser.opened(site / "index.html") as page:
        page.call("Emulation.setDeviceMetricsOverride", **PHONE)
        pages = [
            "index.html",
            function,
            "triage/index.html",
            "lineage/index.html",
            "compare/any.html",
            run_address(TPU),
        ]
        pages += [next(page for page in sorted(led_to(site, function)) if re.match(r"programs/\d+/jaxlib", page))]
        pages += [next(page for page in sorted(pages_of(site)) if re.match(r"compare/.*\.\.", page))]
        wide = {}
        for one in pages:
            page.call("Page.navigate", url=(site / one).as_uri())
            arrived(page, f"location.pathname.endsWith({one!r})")
            wide[one] = page.ask("document.documentElement.scrollWidth")
        assert dict.fromkeys(pages, PHONE["width"]) == wide


def test_a_phone_shows_the_first_column_whole(browser, site: Path):
    """A long name is broken into lines, not cut and not a letter a line; SQL that is wider can have the focus."""
    cells = "[...document.querySelectorAll('th:first-child, td:first-child')].filter((one) => one.offsetWidth)"
    with browser.opened(site / "index.html") as page:
        page.call("Emulation.setDeviceMetricsOverride", **{**PHONE, "width": 360})
        for one in ("index.html", "runs/index.html", run_address(TPU), "catalog/marts.runs_v2.html"):
            page.call("Page.navigate", url=(site / one).as_uri())
            arrived(page, f"location.pathname.endsWith({one!r})")
            assert page.ask(f"{cells}.length"), one
            cut = f"{cells}.filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.textContent)"
            assert [] == page.ask(cut), one
            assert page.ask(f"Math.max(...{cells}.map((one) => one.offsetWidth))") <= 0.6 * 360 + 1, one
        assert page.ask("document.querySelector('pre').scrollWidth > document.querySelector('pre').clientWidth")
        page.ask("document.querySelector('pre').focus()")
        assert "PRE" == page.ask("document.activeElement.tagName")
    with browser.opened(site / "runs/index.html") as page:
        page.call("Emulation.setDeviceMetricsOverride", **{**PHONE, "width": 360})
        page.frame()
        width = f"{cells}.find((one) => one.textContent.includes('tpu-v5e-jaxlib-0.8.3')).offsetWidth"
        assert page.ask(width) > 100


def test_names_of_runs_leave_each_other_room_in_the_trends_of_a_phone(browser, site: Path):
    """Vega hides names that overlap, but never the first and the last: two long ones are cut."""
    labels = """[...document.querySelectorAll('.chart')].map((chart) =>
      [...chart.querySelectorAll('.role-axis-label text')]
      .filter((one) => /jaxlib/.test(one.textContent) && getComputedStyle(one).opacity !== '0')
      .map((one) => one.getBoundingClientRect()).map((box) => [box.left, box.right]))"""
    with browser.opened(site / "fleet.html") as page:
        page.call("Emulation.setDeviceMetricsOverride", **PHONE)
        page.wait_for("[...document.querySelectorAll('.chart svg')].every((one) => one.clientWidth <= innerWidth)")
        page.frame()
        charts = page.ask(labels)
    assert any(len(chart) == 2 for chart in charts)
    for chart in charts:
        assert chart == sorted(chart)
        ends = [end for box in chart for end in box]
        assert ends == sorted(ends)
        assert ends == [] or 0 <= ends[0] < ends[-1] <= PHONE["width"]


def test_the_areas_of_a_moment_are_drawn_anew_where_the_page_becomes_narrow(browser, transformer: Path):
    """As the timeline is: one pixel of the drawing is one of the page, and its texts can be read."""
    tree = "document.querySelector('.tree')"
    with browser.opened(transformer) as page:
        page.call("Emulation.setDeviceMetricsOverride", **PHONE)
        page.wait_for(f"document.querySelector('.timeline').timeline.drawnWidth < {PHONE['width']}")
        assert page.ask(f"{tree}.clientWidth") == page.ask(f"{tree}.firstChild.viewBox.baseVal.width")


def test_on_paper_a_change_is_not_larger_than_what_changed(browser, site: Path):
    """It stands below the bytes of the run, in smaller letters."""
    size = "parseFloat(getComputedStyle({}).fontSize)"
    change = "document.querySelector('td .change')"
    with browser.opened(site / "fleet.html") as page:
        page.call("Emulation.setEmulatedMedia", media="print")
        assert page.ask(size.format(change)) < page.ask(size.format(f"{change}.closest('td')"))


def test_on_paper_stands_what_the_verdicts_mean(browser, transformer: Path):
    """There it could not be unfolded."""
    with browser.opened(transformer) as page:
        seen = "getComputedStyle(document.querySelector('.verdicts'), '::details-content').contentVisibility"
        assert "hidden" == page.ask(seen)
        page.call("Emulation.setEmulatedMedia", media="print")
        assert "visible" == page.ask(seen)


def test_any_two_runs_are_compared_as_they_were_chosen_last(browser, site: Path):
    """A choice whose figures come late draws nothing over a later one."""
    slow, quick = (slug(name) for name in ("jaxlib-0.6.0", "jaxlib-0.7.0"))
    with browser.opened(site / "compare/any.html") as page:
        arrived(page, "document.querySelector('#any-table tbody tr')")
        page.ask(
            "(() => { const put = document.head.append.bind(document.head);"
            f" document.head.append = (one) => setTimeout(() => put(one), one.src?.includes('{slow}') ? 300 : 0);"
            " const choose = (name, value) => { const one = document.querySelector(`#any [name=${name}]`);"
            " one.value = value; one.dispatchEvent(new Event('change')); };"
            f" choose('after', '{slow}'); choose('after', '{quick}'); }})()"
        )
        arrived(page, f"globalThis.siteData['{slow}']")
        page.frame()
        table = "[...document.querySelectorAll('#any-table tbody tr')].map((row) => row.textContent)"
        found, links = page.ask(table), page.ask("document.getElementById('any-links').textContent")
        page.call("Page.reload")
        arrived(page, "document.querySelector('#any-table tbody tr')")
        assert (found, links) == (page.ask(table), page.ask("document.getElementById('any-links').textContent"))
        assert quick in page.ask("location.hash")


@pytest.fixture(scope="module")
def runs_to_choose(fleet: Path, catalog_site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page that compares any two of four runs: `functions` and `runs`, as other data of the site is called, and
    `one` and `two` with the same dump, which has no live ranges in `one`, on a device of 1 MB.
    """
    folder = tmp_path_factory.mktemp("any")
    warehouse, site = folder / "own.duckdb", Path(shutil.copytree(catalog_site, folder / "site"))
    load_sizes(folder, warehouse, {"functions": 64, "runs": 96})
    for name, ending in (("one", "-assignment*.txt"), ("two", ".txt")):
        (folder / name).mkdir()
        for file in (fleet / "jaxlib-0.10.0").glob(f"*.jit_fft.*{ending}"):
            shutil.copy(file, folder / name)
    (folder / "one" / "run.json").write_text('{"device_memory_bytes": 1000000}')
    run_ingest([str(folder / name) for name in ("one", "two")], warehouse)
    built(warehouse, site)
    return site / "compare/any.html"


def test_a_run_may_be_called_as_other_data_of_the_site_is(browser, runs_to_choose: Path):
    """Its figures are those of the run."""
    with browser.opened(f"{runs_to_choose.as_uri()}#functions..runs") as page:
        page.wait_for("document.querySelector('#any output').textContent.includes('differ')")
        cells = "[...document.querySelectorAll('#any-table tbody td')].map((cell) => cell.textContent).slice(3)"
        assert ["64 B", "96 B", "+32 B"] == page.ask(cells)
        assert [] == page.complaints


def test_what_is_not_known_of_two_runs_is_no_difference(browser, runs_to_choose: Path):
    """A dump without live ranges has no occupied peak: it is counted apart."""
    said = "document.querySelector('#any output').textContent"
    with browser.opened(f"{runs_to_choose.as_uri()}#one..two") as page:
        page.wait_for(f"{said}.endsWith('differ')")
        page.ask("(() => { const one = document.querySelector('#any [name=metric]');"
                 " one.value = 'occupied_peak_bytes'; one.dispatchEvent(new Event('change')); })()")  # fmt: skip
        page.wait_for("document.querySelector('#any-table tbody').textContent.includes('not compared')")
        assert "0 of 1 differ, 1 not compared: a dump lacks the figure" == page.ask(said)


def test_a_dump_without_live_ranges_has_a_capacity(runs_to_choose: Path):
    """How much of it is reserved is known all the same."""
    [page] = runs_to_choose.parent.parent.glob("programs/*/one.html")
    assert re.search(r"Capacity: 1,000,000 B \(the run\); [\d.]+% of it is reserved", page.read_text())


@pytest.mark.parametrize(
    "runs",
    [
        ("jaxlib-0.10.0", TPU_BEFORE),
        (TPU_BEFORE, TPU),
        pytest.param(("jaxlib-0.6.0", "jaxlib-0.8.0"), marks=pytest.mark.soak),
    ],
)
def test_any_two_runs_differ_as_compare_says(browser, site: Path, example_warehouse: Path, runs: tuple[str, str]):
    """Across compile targets, too; a program that has nothing in a memory space takes 0 bytes of it."""
    told = json.loads(call("compare", *runs, "--warehouse", example_warehouse, "--format", "json").out)["programs"]
    expected = sorted(
        [one["program_name"], one["status"], one["memory_space"], one["before_bytes"], one["after_bytes"]]
        for one in told
        if one["before_bytes"] != one["after_bytes"]
    )
    with browser.opened(f"{(site / 'compare/any.html').resolve().as_uri()}#{'..'.join(map(slug, runs))}") as page:
        page.wait_for("document.querySelector('#any-table tbody tr')")
        page.ask("document.querySelectorAll('#any-table button').forEach((one) => !one.hidden"
                 " && /more: show/.test(one.textContent) && one.click())")  # fmt: skip
        rows = page.ask(
            "[...document.querySelectorAll('#any-table tbody tr')]"
            ".map((row) => [...row.cells].map((cell) => cell.title || cell.textContent))"
        )
    found = [
        [row[0], row[1], int(row[3]), *(None if cell == "–" else int(re.sub(r"\D", "", cell)) for cell in row[4:6])]
        for row in rows
    ]
    assert expected == sorted(found)


def test_the_index_searches_all_programs_and_filters_what_moved(browser, site: Path):
    """Words in any order find functions; a choice of kind leaves only rows of that kind."""
    with browser.opened(site / "index.html") as page:
        page.ask("document.getElementById('search').focus()")
        page.write("fwd transf")
        assert ["jit_transformer2_fwd"] == page.ask(
            "[...document.querySelectorAll('#found a')].map((link) => link.textContent)"
        )
        page.ask("(() => { const one = document.querySelector('#filters [name=kind]'); one.value = 'improvement';"
                 " one.dispatchEvent(new Event('input')); })()")  # fmt: skip
        assert ["improvement"] == page.ask(
            "[...new Set([...document.querySelectorAll('#movers tbody tr')].map((row) => row.cells[1].textContent))]"
        )
        go(page, "document.querySelector('#found a')")
        assert "jit_transformer2_fwd" == page.ask("document.querySelector('h1').textContent")


def test_a_filter_keeps_what_was_searched_and_sorted(browser, site: Path):
    """The rows that are left are those with the words, in the order that was chosen."""
    change = (
        "(() => {{ const one = document.querySelector('{}'); one.value = '{}';"
        " one.dispatchEvent(new Event('input')); }})()"
    )
    shown = (
        "[...document.querySelectorAll('#movers tbody tr')]"
        ".map((row) => [...row.cells].map((cell) => cell.textContent))"
    )
    head = "document.querySelector('#movers thead').rows[0].cells[3]"
    with browser.opened(site / "index.html") as page:
        page.ask(change.format("#movers-place input[type=search]", "train"))
        page.ask(f"{head}.firstChild.click(), {head}.firstChild.click()")
        before = page.ask(shown)
        page.ask(change.format("#filters [name=platform]", "cpu"))
        assert [row for row in before if row[7] == "cpu"] == page.ask(shown) != before
        assert "ascending" == page.ask(f"{head}.ariaSort")
