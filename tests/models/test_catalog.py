"""The catalog of all tables and models, and the verb that writes the generated pages."""

import shutil

import pytest

from bufferhouse.models.project import read
from bufferhouse.query.catalog import catalog_markdown
from schemas import TABLES
from tests.command_line import CHECKOUT, call, run, run_each


def test_every_column_of_every_table_and_model_is_on_the_page():
    """Purpose, grain or key, and each column with its description, types for tables."""
    sections = dict(section.split("\n", 1) for section in catalog_markdown().split("\n### ")[1:])
    models = {model.name: model for model in read()}
    assert sections.keys() == models.keys() | {f"raw.{table}" for table in TABLES}
    for name, model in models.items():
        assert model.purpose in sections[name]
        assert all(f"| `{column}` | {comment} |" in sections[name] for column, comment in model.columns.items())
        assert not model.grain or f"Grain: {', '.join(f'`{column}`' for column in model.grain)}." in sections[name]
    for table, contract in TABLES.items():
        assert f"Key: {', '.join(f'`{name}`' for name in contract.key)}." in sections[f"raw.{table}"]
        assert contract.columns.keys() == {
            line.split("`")[1] for line in sections[f"raw.{table}"].split("\n") if line.startswith("| `")
        }
    assert "| `text_bytes` | BIGINT |  | Bytes of all its files. |" in sections["raw.dumps"]


def test_the_catalog_is_written_where_it_is_asked_for(tmp_path):
    """`--markdown` writes the page; a folder in its place, or a check of it, is a wrong call."""
    page = tmp_path / "catalog.md"
    outcome = call("catalog", "--markdown", page)
    assert (0, f"{page}\n") == (outcome.code, outcome.out)
    assert catalog_markdown() == page.read_text()
    for words in ((tmp_path,), (page, "--check")):
        outcome = call("catalog", "--markdown", *words)
        assert (2, "") == (outcome.code, outcome.out)


@pytest.mark.slow
def test_check_tells_whether_the_page_is_up_to_date(tmp_path):
    """`catalog --check` writes nothing: exit 0 and silence when the page is as it should be, else 1 and the way out."""
    for part in ("bufferhouse", "schemas", "dbt_like_models", "sql"):
        shutil.copytree(CHECKOUT / part, tmp_path / part)
    cookbook = tmp_path / "sql" / "queries" / "README.md"
    cookbook.write_text("by hand\n")
    outcome = run("catalog", "--check", cwd=tmp_path)
    assert (1, "") == (outcome.code, outcome.out)
    assert f"{cookbook} does not match sql/queries/; write it again with: bufferhouse catalog" in outcome.err
    assert "by hand\n" == cookbook.read_text()
    written, checked = run_each(["catalog"], ["catalog", "--check"], cwd=tmp_path)
    assert (0, f"{cookbook}\n") == (written.code, written.out)
    assert (0, "", "") == (checked.code, checked.out, checked.err)
