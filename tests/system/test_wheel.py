"""The wheel: one package, which is the checkout's but for the lines that import its two packages at the top."""

import ast
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
from docs.house import MODULES, imports
from tests.command_line import call

PARAMETERS = ("--ask", "biggest_at_peak", "--format", "json")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """The folder that an installer unpacks."""
    folder = tmp_path_factory.mktemp("wheel")
    staged = folder / "staged" / "bufferhouse"
    hatch_build.stage(CHECKOUT, staged)
    return staged.parent


def imported(path: Path) -> set[str]:
    nodes = list(ast.walk(ast.parse(path.read_text())))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return names | {node.module for node in nodes if isinstance(node, ast.ImportFrom)}


def test_every_module_is_that_of_the_checkout(wheel):
    """Line by line, but for `from schemas` and `from flows`, which name the package they are in."""
    for name, path in MODULES.items():
        made = wheel / "bufferhouse" / path.relative_to(CHECKOUT / "bufferhouse" if "bufferhouse" in name else CHECKOUT)
        for before, after in zip(path.read_text().split("\n"), made.read_text().split("\n"), strict=True):
            assert before == after or after.replace("bufferhouse.", "", 1) == before, made
    modules = list(wheel.rglob("*.py"))
    assert len(MODULES) == len(modules)
    for path in modules:
        assert not {name.split(".")[0] for name in imported(path)} & set(hatch_build.PACKAGES), path


def test_our_own_packages_are_imported_in_one_way():
    """By `from PACKAGE import`: what the wheel rewrites is all there is."""
    for name in MODULES:
        plain = {
            alias.name.split(".")[0]
            for node in ast.walk(ast.parse(MODULES[name].read_text()))
            if isinstance(node, ast.Import)
            for alias in node.names
        }
        assert not plain & set(hatch_build.PACKAGES), name
    assert any(name.startswith("schemas") for module in MODULES for name in imports(module))


@pytest.mark.parametrize(
    ("module", "words"),
    [("flows.ingest", ["--help"]), ("flows.health", ["--help"]), ("cli", ["ingest", "a", "--config", "b.toml"])],
)
def test_what_users_are_told_to_start_is_there(wheel, tmp_path, module: str, words: list[str]):
    """A wheel has its flows below `bufferhouse`, and says so."""
    code = (
        f"import runpy, sys; sys.path[:0] = {[str(wheel), sysconfig.get_path('purelib')]!r}; sys.path.remove('');"
        + (f"sys.argv[1:] = {words!r}; runpy.run_module('bufferhouse.{module}', run_name='__main__')")
    )
    done = subprocess.run([sys.executable, "-S", "-c", code], cwd=tmp_path, capture_output=True, text=True)
    told = re.findall(r"python -m (\S+)", done.stdout + done.stderr)
    assert [f"bufferhouse.{module}" if "flows" in module else "bufferhouse.flows.ingest"] == told


@pytest.mark.slow
def test_it_works_outside_the_checkout(tmp_path, example_warehouse):
    """Built by its backend and unpacked elsewhere, it ingests the seeds and answers as the checkout does."""
    (built,) = WheelBuilder(str(CHECKOUT)).build(directory=str(tmp_path), versions=["standard"])
    with zipfile.ZipFile(built) as archive:
        archive.extractall(tmp_path / "site")
    assert {"bufferhouse"} == {path.name for path in (tmp_path / "site").iterdir() if path.suffix != ".dist-info"}
    packages = [str(tmp_path / "site"), sysconfig.get_path("purelib")]
    # Without `site`, which would find the checkout.
    code = f"import sys; sys.path[:0] = {packages!r}; sys.path.remove(''); from bufferhouse.cli import main; main()"

    def installed(*words: object) -> str:
        program = [sys.executable, "-S", "-c", code, *map(str, words)]
        done = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, env={"HOME": str(tmp_path)})
        assert 0 == done.returncode, done.stderr
        return done.stdout

    seeds = CHECKOUT / "examples" / "fleet" / "seeds"
    assert "5 new" in installed("ingest", seeds)
    assert "5 of 5 dumps proved" in installed("verify")
    own = tmp_path / "own.duckdb"
    assert 0 == call("ingest", seeds, "--warehouse", own).code
    assert json.loads(call("query", *PARAMETERS, "--warehouse", own).out) == json.loads(installed("query", *PARAMETERS))
    assert installed("mcp", "--skill") == call("mcp", "--skill").out
