"""Fixtures of the tests of reports."""

from pathlib import Path

import pytest

from bufferhouse.report.fleet.data import Fleet, read_fleet


@pytest.fixture(scope="session")
def example_fleet(example_warehouse: Path) -> Fleet:
    """What the report has to say of the example fleet. To be read, never changed."""
    return read_fleet(example_warehouse)
