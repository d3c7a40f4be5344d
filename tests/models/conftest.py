"""Fixtures of the tests of models."""

import pytest

from bufferhouse.warehouse.open import writing


@pytest.fixture(scope="module")
def laboratory():
    """An in-memory warehouse that takes any number of synthetic dumps."""
    with writing(None) as warehouse:
        yield warehouse
