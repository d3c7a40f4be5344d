"""Fixtures of the tests of models."""

from pathlib import Path

import pytest

from bufferhouse.warehouse.open import writing
from tests.models.readings import oracle_dumps


@pytest.fixture(scope="module")
def laboratory():
    """An in-memory warehouse that takes any number of synthetic dumps."""
    with writing(None) as warehouse:
        yield warehouse


@pytest.fixture(scope="session")
def second_opinion(example, fleet: Path) -> dict[int, dict]:
    """What the oracle reads in every dump of the example fleet, by dump_id."""
    return oracle_dumps(example, fleet)
