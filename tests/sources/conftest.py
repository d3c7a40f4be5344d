"""What lies beside dumps, as it is read from the disk: archives and buckets bring the same."""

from pathlib import Path

import pytest

from tests.ingests import ingest
from tests.sources.beside import told_beside, written


@pytest.fixture(scope="session")
def from_the_disk(tmp_path_factory: pytest.TempPathFactory) -> tuple[tuple, dict[str, int]]:
    """What is told of dumps and what lies beside them, and the rows of each table."""
    folder: Path = tmp_path_factory.mktemp("beside")
    code, summary = ingest(folder / "w.duckdb", written(folder / "night"))
    assert 0 == code
    return told_beside(folder / "w.duckdb"), summary["rows"]
