"""Warehouses of the tests of ingesting: most ask no model, and those that are stored take most of a load."""

import shutil
from pathlib import Path

import pytest


@pytest.fixture
def warehouse(light_warehouse: Path, tmp_path: Path) -> Path:
    """A light warehouse without rows that the test may change."""
    return Path(shutil.copy(light_warehouse, tmp_path / "warehouse.duckdb"))


@pytest.fixture
def full_warehouse(blank_warehouse: Path, tmp_path: Path) -> Path:
    """The same with all models."""
    return Path(shutil.copy(blank_warehouse, tmp_path / "warehouse.duckdb"))
