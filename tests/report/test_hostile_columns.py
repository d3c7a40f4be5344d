"""Every column that a file can set, hostile, on every page: the elements of harmless names, and quiet in a browser."""

from pathlib import Path

import duckdb
import pytest

from bufferhouse.redaction import printable
from tests.attack.outputs import CONTROLS, DRIVEN, hostile_warehouse, obeyed, pages, skeleton
from tests.report.browser import Browser
from tests.report.pages import HOSTILE

WORD = HOSTILE + CONTROLS


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse of files whose texts are all hostile."""
    return hostile_warehouse(tmp_path_factory.mktemp("hostile"), WORD)


@pytest.fixture(scope="module")
def made(hostile: Path) -> dict[str, str]:
    """All pages of it."""
    return {name: make() for name, make in pages(hostile).items()}


def test_every_column_that_a_file_sets_is_driven(hostile: Path):
    """The hostile files put markup into each column of raw tables that takes text as it stands in a file."""
    with duckdb.connect(str(hostile), read_only=True) as con:
        columns = con.execute(
            "SELECT table_name, column_name FROM duckdb_columns() WHERE schema_name = 'raw' AND data_type = 'VARCHAR'"
        ).fetchall()
        driven: dict[str, set[str]] = {}
        for table, column in columns:
            if con.execute(f"SELECT COUNT(*) FROM raw.{table} WHERE contains({column}, '<script>alert(1)')").fetchone()[
                0
            ]:
                driven.setdefault(table, set()).add(column)
    assert DRIVEN == driven


def test_hostile_columns_change_nothing_but_text(made: dict[str, str], tmp_path: Path):
    """Each page has the elements, attributes and scripts that it has with harmless texts, and obeys no character."""
    harmless = hostile_warehouse(tmp_path, "x" * len(printable(WORD)))
    for name, make in pages(harmless).items():
        assert skeleton(make()) == skeleton(made[name]), name
        assert "" == obeyed(made[name].split("<script")[0]), name


@pytest.mark.browser
@pytest.mark.parametrize("name", ["fleet", "program", "run", "compare"])
def test_hostile_columns_are_quiet_in_a_browser(browser: Browser, made: dict[str, str], tmp_path: Path, name: str):
    """No dialog, no error, no element that names have made, no request; tables find their rows."""
    file = tmp_path / f"{name}.html"
    file.write_text(made[name], encoding="utf-8")
    with browser.opened(file) as page:
        assert 0 == page.ask('document.querySelectorAll("img, iframe, object, embed, link, a").length')
        assert 0 == page.ask(
            '[...document.querySelectorAll("table")].filter((one) => !one.tBodies[0].rows.length).length'
        )
        assert "" == obeyed(page.ask("document.body.innerText"))
        assert [] == page.complaints
        assert 1 == len(page.requests)
