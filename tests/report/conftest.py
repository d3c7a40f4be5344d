"""Fixtures of the tests of reports."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import duckdb
import pytest

from bufferhouse.redaction import printable
from bufferhouse.report.fleet.data import Fleet, read_fleet
from bufferhouse.report.program.data import Program, read_program
from tests.report.pages import HOSTILE


@pytest.fixture(scope="session")
def example_fleet(example_warehouse: Path) -> Fleet:
    """What the report has to say of the example fleet. To be read, never changed."""
    return read_fleet(example_warehouse)


@pytest.fixture(scope="session")
def example_page(example_fleet: Fleet) -> str:
    """Its page."""
    from bufferhouse.report.fleet.page import fleet_page  # Altair takes half a second to import

    return fleet_page(example_fleet)


@pytest.fixture(scope="session")
def transformer(example_warehouse: Path) -> Program:
    """A program with four memory spaces, padding, and a printed peak elsewhere. To be read, never changed."""
    return read_program(example_warehouse, "jit_transformer2_fwd", run="tpu-v5e-jaxlib-0.8.3-libtpu-0.0.33")


class Renamed(NamedTuple):
    """A copy of the example warehouse, and what stands before every name in it."""

    path: Path
    prefix: str


def renamed(example_warehouse: Path, folder: Path, prefix: str) -> Renamed:
    path = Path(shutil.copy(example_warehouse, folder / "renamed.duckdb"))
    with duckdb.connect(str(path)) as con:
        con.execute("UPDATE raw.runs SET run_name = $1 || run_name, track = $1 || track, compiler = $1", [prefix])
        con.execute(
            "UPDATE raw.observations SET program_name = $1 || program_name, relative_path = $1 || relative_path",
            [prefix],
        )
        con.execute("UPDATE raw.instructions SET instruction_name = $1 || instruction_name", [prefix])
        con.execute(
            "UPDATE raw.instruction_texts SET op_name = $1 || repeat('模', 200) || repeat('x', 3800),"
            " opcode = $1 || opcode, source_file = $1 || 'f.py'",
            [prefix],
        )
    return Renamed(path, prefix)


@pytest.fixture(scope="session")
def hostile_names(example_warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Renamed:
    """Names with markup, quotes, control characters and turned text. To be read, never written."""
    return renamed(example_warehouse, tmp_path_factory.mktemp("hostile"), HOSTILE)


@pytest.fixture(scope="session")
def harmless_names(example_warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Renamed:
    """Names that are as long when they are shown. To be read, never written."""
    return renamed(example_warehouse, tmp_path_factory.mktemp("harmless"), "x" * len(printable(HOSTILE)))


@pytest.fixture(scope="session")
def catalog_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site whose build ended behind its catalog, which is the same in all sites. To be copied, never written."""
    from bufferhouse.report.html.frame import Shared
    from bufferhouse.report.site.build import Builder
    from bufferhouse.report.site.catalog import Catalog
    from bufferhouse.report.site.manifest import Manifest
    from bufferhouse.report.site.target import target_of

    folder = tmp_path_factory.mktemp("catalog")
    shared, manifest = Shared(), Manifest()
    Builder(target_of(str(folder)), manifest, shared, None).build([Catalog(shared, manifest)], "")
    return folder


@pytest.fixture
def begun(catalog_site: Path, tmp_path: Path) -> Callable[[str], Path]:
    """A function that puts a site of its catalog alone into a new folder: the next build makes the other pages."""
    return lambda name: Path(shutil.copytree(catalog_site, tmp_path / name))
