"""Warehouses of the tests of sources, and what lies beside dumps as it is read from the disk."""

import shutil
from pathlib import Path

import pytest

from tests.ingests import ingest
from tests.sources.beside import told_beside, written


@pytest.fixture
def warehouse(light_warehouse: Path, tmp_path: Path) -> Path:
    """A light warehouse without rows that the test may change."""
    return Path(shutil.copy(light_warehouse, tmp_path / "warehouse.duckdb"))


@pytest.fixture
def full_warehouse(blank_warehouse: Path, tmp_path: Path) -> Path:
    """The same with all models."""
    return Path(shutil.copy(blank_warehouse, tmp_path / "warehouse.duckdb"))


@pytest.fixture(scope="session")
def from_the_disk(
    light_warehouse: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[tuple[list, dict], dict[str, int]]:
    """What is told of dumps and what lies beside them, as archives and buckets bring it, and the rows of each table."""
    folder = tmp_path_factory.mktemp("beside")
    path = Path(shutil.copy(light_warehouse, folder / "w.duckdb"))
    code, summary = ingest(path, written(folder / "night"))
    assert 0 == code
    return told_beside(path), summary["rows"]
