"""Fixtures of the tests of reports."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from bufferhouse.report.fleet.data import Fleet, read_fleet


@pytest.fixture(scope="session")
def example_fleet(example_warehouse: Path) -> Fleet:
    """What the report has to say of the example fleet. To be read, never changed."""
    return read_fleet(example_warehouse)


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
