"""The dashboard for Grafana: each query runs against the published copy, as the DuckDB data source would send it."""

import json
import re
import shutil

import duckdb
import pytest
import sqlglot
from sqlglot import exp

from bufferhouse.models.project import read
from bufferhouse.paths import CHECKOUT
from tests.command_line import call
from tests.warehouses import published_path

DASHBOARD = json.loads((CHECKOUT / "docker" / "grafana" / "bufferhouse.json").read_text())
PANELS = {panel["title"] + f" {panel['id']}": panel["targets"][0] for panel in DASHBOARD["panels"]}
VARIABLES = {one["name"]: one["query"] for one in DASHBOARD["templating"]["list"]}
RANGE = ("2020-01-01T00:00:00Z", "2030-01-01T00:00:00Z")


def sent(sql: str, chosen: dict[str, object]) -> str:
    """The statement that the data source sends: `$__timeFilter`, `${name}` and `${name:sqlstring}` put in."""
    sql = re.sub(r"\$__timeFilter\(([\w.]+)\)", rf"\1 >= '{RANGE[0]}' AND \1 <= '{RANGE[1]}'", sql)
    sql = re.sub(r"\$\{(\w+):sqlstring\}", lambda name: "'" + str(chosen[name[1]]).replace("'", "''") + "'", sql)
    return re.sub(r"\$\{(\w+)\}", lambda name: str(chosen[name[1]]), sql)


@pytest.fixture(scope="module")
def published(example_warehouse, tmp_path_factory):
    """The published copy of the example fleet, opened to read as the data source opens it."""
    path = shutil.copy(example_warehouse, tmp_path_factory.mktemp("published") / "fleet.duckdb")
    assert 0 == call("publish", "--warehouse", path).code
    with duckdb.connect(published_path(path), read_only=True) as con:
        yield con


@pytest.fixture(scope="module")
def chosen(published):
    """The first choice of each variable, in their order: later ones read earlier ones."""
    found: dict[str, object] = {}
    for name, sql in VARIABLES.items():
        found[name] = published.execute(sent(sql, found)).fetchone()[0]
    return found


@pytest.mark.parametrize("name", PANELS)
def test_a_query_runs(published, chosen, name):
    """It has rows, but for what the example fleet has none of; a series has a time, and figures behind it."""
    target = PANELS[name]
    cursor = published.execute(sent(target["rawSql"], chosen))
    columns, rows = [column[0] for column in cursor.description], cursor.fetchall()
    assert rows or "FROM marts.oom_v1" in target["rawSql"] or "FROM marts.rejects_v1" in target["rawSql"]
    if target["format"] == "time_series":
        assert "time" == columns[0]
        assert {int} == {type(row[-1]) for row in rows}
        assert rows == sorted(rows, key=lambda row: row[0])


def test_a_single_figure_is_what_its_title_says(published, chosen):
    """The newest load is often of an old run, so that it is not called the newest run."""
    figures = [panel for panel in DASHBOARD["panels"] if panel["type"] == "stat"]
    for panel in figures:
        [(column, *_)] = published.execute(sent(panel["targets"][0]["rawSql"], chosen)).description
        assert column in panel["title"].lower()
    assert 4 == len(figures)


@pytest.fixture(scope="module")
def marts() -> set[str]:
    """The versions of marts."""
    return {model.name for model in read() if model.layer == "marts"}


@pytest.mark.parametrize("sql", [*VARIABLES.values(), *(target["rawSql"] for target in PANELS.values())])
def test_only_versions_of_marts_are_read(marts, sql):
    """And nothing is added up over memory spaces or programs."""
    found = sqlglot.parse_one(sent(sql, dict.fromkeys(VARIABLES, 0)), dialect="duckdb")
    assert {f"{table.db}.{table.name}" for table in found.find_all(exp.Table)} <= marts
    assert not list(found.find_all(exp.Sum))
    if "fleet_summary" in sql or "trend" in sql:
        assert "memory_space" in sql


def test_a_hostile_name_is_text(published, chosen):
    """A program's name, which any job can choose, stays a text in every query."""
    hostile = {**chosen, "program": "x'; DROP VIEW marts.runs_v2; --"}
    (series,) = [target for target in PANELS.values() if "${program" in target["rawSql"]]
    assert [] == published.execute(sent(series["rawSql"], hostile)).fetchall()


def test_panels_fill_the_grid():
    """No panel lies over another, and each says which mart it shows."""
    taken = set()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken
        taken |= cells
        assert all(x < 24 for x, _ in cells)
        (mart,) = {f"marts.{name}" for name in re.findall(r"FROM marts\.(\w+)", panel["targets"][0]["rawSql"])}
        assert mart in panel["description"]
