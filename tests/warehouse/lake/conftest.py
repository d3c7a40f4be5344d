"""A lake with small models, which several modules copy: with all models every opening and load takes far longer."""

from pathlib import Path

import pytest

from bufferhouse.warehouse.open import writing
from tests.models.small_models import OBSERVATIONS, write_models
from tests.warehouse.lake.lakes import moved


@pytest.fixture(scope="session")
def small_models(tmp_path_factory) -> Path:
    """The directory of small models, one of which is stored."""
    return write_models(tmp_path_factory.mktemp("small") / "models", staging__observations=OBSERVATIONS)


@pytest.fixture(scope="session")
def small_lake(bare_lake, small_models, tmp_path_factory) -> Path:
    """The folder of a lake without rows, with those models. To be copied, never written."""
    from bufferhouse.warehouse.lake.build import build_lake

    folder = tmp_path_factory.mktemp("lake") / "small"
    with writing(moved(bare_lake, folder), build_models=False) as warehouse:
        build_lake(warehouse, small_models)
    return folder
