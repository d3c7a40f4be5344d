"""The wheel: one package, which is the checkout's but for the lines that import its two packages at the top.

It makes its first warehouse where the locale is not UTF-8: to make all models takes seconds.
"""

import json
import re
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

import hatch_build
from bufferhouse.paths import CHECKOUT
from bufferhouse.warehouse import address_of
from bufferhouse.warehouse.open import reading
from docs.house import MODULES
from tests.command_line import call

OURS = "|".join(hatch_build.PACKAGES)
CLI = "bufferhouse.cli"
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
PARAMETERS = ("--ask", "biggest_at_peak", "--param", "rows=1000", "--format", "json")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """The folder that an installer unpacks, built by the wheel's backend."""
    folder = tmp_path_factory.mktemp("wheel")
    (built,) = WheelBuilder(str(CHECKOUT)).build(directory=str(folder), versions=["standard"])
    with zipfile.ZipFile(built) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def test_every_module_is_that_of_the_checkout(wheel):
    """Line by line, but for `from schemas` and `from flows`, which name the package they are in."""
    for name, path in MODULES.items():
        made = wheel / "bufferhouse" / path.relative_to(CHECKOUT / "bufferhouse" if "bufferhouse" in name else CHECKOUT)
        for before, after in zip(path.read_text().split("\n"), made.read_text().split("\n"), strict=True):
            assert before == after or after.replace("bufferhouse.", "", 1) == before, made
    modules = list(wheel.rglob("*.py"))
    assert len(MODULES) == len(modules)
    for path in modules:
        assert not re.search(rf"^\s*(?:from|import) (?:{OURS})\b", path.read_text(), re.M), path


def test_our_own_packages_are_imported_in_one_way():
    """By `from PACKAGE import`: what the wheel rewrites is all there is."""
    plain = re.compile(rf"^\s*import\b.*\b(?:{OURS})\b", re.M)
    assert [] == [name for name, path in MODULES.items() if plain.search(path.read_text())]
    assert plain.search("    import ast, schemas.tables\n")


# Runs modules of a wheel one after the other, each with words of its own, until one fails; without `site`, which would
# find the checkout.
_EACH = """
import json, runpy, sys
sys.path[:0] = json.loads(sys.argv[1])
sys.path.remove("")
for module, *words in json.loads(sys.argv[2]):
    print("%%", flush=True)
    sys.argv[1:] = words
    try:
        runpy.run_module(module, run_name="__main__")
    except SystemExit as end:
        if end.code:
            raise
"""


def started(site: Path, folder: Path, *calls: list[object], **variables: str) -> tuple[int, list[str]]:
    """Start modules of a wheel, all in one process; return its exit code, and what each of them said."""
    packages = json.dumps([str(site), sysconfig.get_path("purelib")])
    done = subprocess.run(
        [sys.executable, "-S", "-c", _EACH, packages, json.dumps(calls, default=str)],
        cwd=folder, env={"HOME": str(folder), **variables}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    return done.returncode, done.stdout.split("%%\n")[1:]


def test_what_users_are_told_to_start_is_there(wheel, tmp_path):
    """A wheel has its flows below `bufferhouse`, and says so."""
    ingest, health = "bufferhouse.flows.ingest", "bufferhouse.flows.health"
    bad_call = [CLI, "ingest", "a", "--config", "b.toml"]
    code, said = started(wheel, tmp_path, [ingest, "--help"], [health, "--help"], bad_call)
    assert (2, [[ingest], [health], [ingest]]) == (code, [re.findall(r"python -m (\S+)", text) for text in said])


@pytest.fixture(scope="module")
def elsewhere(wheel, tmp_path_factory) -> tuple[Path, list[str]]:
    """A folder where a wheel has made two warehouses, on a machine whose locale is not UTF-8, and what it said."""
    folder = tmp_path_factory.mktemp("elsewhere")
    examples = CHECKOUT / "examples"
    code, said = started(
        wheel, folder, [CLI, "ingest", examples / "fleet" / "seeds"], [CLI, "verify"],
        [CLI, "ingest", examples / "oom" / "libtpu-0.0.52" / "temps", "--warehouse", "temps.duckdb"], **ASCII,
    )  # fmt: skip
    assert 0 == code, said
    return folder, said


@pytest.mark.slow
def test_it_works_outside_the_checkout(wheel, elsewhere, tmp_path):
    """Built by its backend and unpacked elsewhere, it ingests the seeds and answers as the checkout does."""
    assert {"bufferhouse"} == {path.name for path in wheel.iterdir() if path.suffix != ".dist-info"}
    folder, said = elsewhere
    assert "5 new" in said[0]
    assert "5 of 5 dumps proved" in said[1]
    own = tmp_path / "own.duckdb"
    assert 0 == call("ingest", CHECKOUT / "examples" / "fleet" / "seeds", "--warehouse", own).code
    code, (skill, answered) = started(wheel, folder, [CLI, "mcp", "--skill"], [CLI, "query", *PARAMETERS])
    assert (0, call("mcp", "--skill").out) == (code, skill)
    assert json.loads(call("query", *PARAMETERS, "--warehouse", own).out) == json.loads(answered)


@pytest.mark.slow
def test_a_warehouse_and_its_answers_are_the_same_in_every_locale(wheel, elsewhere):
    """Models that look for characters of XLA find them, and answers that are written to a file are in UTF-8."""
    folder, _ = elsewhere
    with reading(address_of(folder / "temps.duckdb")) as opened:
        assert 4 == opened.con.execute("SELECT COUNT(*) FROM intermediate.trace_nodes").fetchall()[0][0]
    words = ["SELECT chr(8594) || chr(252) AS words", "--format", "csv", "-o", "answer.csv"]
    assert 0 == started(wheel, folder, [CLI, "query", *words], **ASCII)[0]
    assert "words\n→ü\n" == (folder / "answer.csv").read_text(encoding="utf-8")
