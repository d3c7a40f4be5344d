"""Fixtures of the whole suite: the example fleet, a warehouse of it, the corpus, expected outputs."""

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import duckdb
import pytest

from bufferhouse import redaction
from bufferhouse.commands.ingest_run import run_ingest
from bufferhouse.paths import CHECKOUT
from bufferhouse.warehouse import migrate
from bufferhouse.warehouse.open import writing
from tests.models.small_models import write_models
from tests.report.browser import Browser, browsing

pytest_plugins = ["tests.shares"]

GOLDEN = CHECKOUT / "tests" / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--golden-update", action="store_true", help="write the expected outputs in tests/golden anew")


@pytest.fixture(scope="session")
def fleet() -> Path:
    """The directory of the example fleet."""
    return CHECKOUT / "examples" / "fleet"


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The directory of real dumps beside the checkout."""
    path = CHECKOUT / ".." / "shared" / "corpus"
    if not path.is_dir():
        pytest.skip("there is no corpus of real dumps beside the checkout")
    return path


@pytest.fixture(scope="session")
def example_warehouse(fleet: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse with the example fleet, loaded as the command line does it. To be read, never written."""
    path = tmp_path_factory.mktemp("example") / "fleet.duckdb"
    summary = run_ingest([str(fleet)], path)
    assert summary.exit_code == 0
    return path


@pytest.fixture(scope="session")
def blank_warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse with all tables and models and no rows. To be copied, never written."""
    path = tmp_path_factory.mktemp("blank") / "blank.duckdb"
    with writing(path):
        return path


@pytest.fixture(scope="session")
def blank_lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a lake with all tables and models and no rows. To be copied (`lakes.moved`), never written."""
    from tests.warehouse.lake.lakes import lake_in

    folder = tmp_path_factory.mktemp("blank-lake")
    with writing(lake_in(folder)):
        return folder


@pytest.fixture(scope="session")
def bare_lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As `blank_lake`, without the models, which take seconds to create."""
    from tests.warehouse.lake.lakes import lake_in

    folder = tmp_path_factory.mktemp("bare-lake")
    with writing(lake_in(folder), build_models=False):
        return folder


@pytest.fixture
def warehouse(blank_warehouse: Path, tmp_path: Path) -> Path:
    """A warehouse without rows that the test may change."""
    return Path(shutil.copy(blank_warehouse, tmp_path / "warehouse.duckdb"))


@pytest.fixture
def own_warehouse(example_warehouse: Path, tmp_path: Path) -> Path:
    """A copy of the example warehouse that the test may change."""
    return Path(shutil.copy(example_warehouse, tmp_path / "own.duckdb"))


@pytest.fixture(scope="session")
def example(example_warehouse: Path, tmp_path_factory: pytest.TempPathFactory):
    """A connection to a copy of the example warehouse, so that the original stays free for other processes."""
    copy = shutil.copy(example_warehouse, tmp_path_factory.mktemp("connected") / "example.duckdb")
    with duckdb.connect(copy, read_only=True, config={"threads": 1}) as con:
        con.execute("SET TimeZone = 'UTC'")
        yield con


@pytest.fixture(scope="session")
def browser(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Browser:
    """One browser for all tests of this process: it takes a second to start."""
    from tests.shares import until_last_test  # a plugin: pytest imports it first

    return until_last_test(request).enter_context(browsing(tmp_path_factory.mktemp("profile")))


@pytest.fixture(scope="session")
def page_files(example_warehouse: Path, blank_warehouse: Path, tmp_path_factory: pytest.TempPathFactory):
    """The files of all pages in tests/report/page_files.py, made once in this process."""
    from tests.report.page_files import PageFiles  # Altair takes half a second to import

    return PageFiles(tmp_path_factory.mktemp("pages"), example_warehouse, blank_warehouse)


@pytest.fixture
def opened(browser: Browser, page_files) -> Callable:
    """A function that opens one of the pages in tests/report/page_files.py."""
    return lambda name, **options: browser.opened(page_files[name], **options)


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Text is made for 120 characters, whatever the terminal of whoever runs the tests, or a test before, says."""
    monkeypatch.setenv("COLUMNS", "120")


@pytest.fixture(autouse=True)
def secrets_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is hidden in messages is what this test made a secret, not a test before it in the same process."""
    monkeypatch.setattr(redaction, "_remembered", set())


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """A function that compares a text with a file of tests/golden, or writes it there with --golden-update."""

    def compare(name: str, actual: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--golden-update"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(actual)
        assert path.read_text() == actual

    return compare


@pytest.fixture
def directory(tmp_path: Path):
    """A function that writes models and returns their directory; None removes one."""
    return partial(write_models, tmp_path / "models")


@pytest.fixture
def con():
    """An empty warehouse in memory, without any model."""
    with duckdb.connect(config={"threads": 1}) as con:
        migrate.migrate(con)
        yield con
