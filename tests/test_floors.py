"""The floors of the house: who may import whom, and what `--help` must not load."""

import ast
import sys
from pathlib import Path

import pytest
import sqlglot

from bufferhouse.layout import REPORTS
from bufferhouse.models import LAYERS, read
from tests.commands import CHECKOUT, run

# Modules know only their own floor and those below. What is not named here stands on the floor of the warehouse.
WAREHOUSE, REPORT, DOOR = 2, 3, 4
FLOORS = {
    **dict.fromkeys(("bufferhouse.dump", "bufferhouse.shape", "bufferhouse.shape_text", "schemas"), 0),
    **dict.fromkeys(("bufferhouse.errors", "bufferhouse.layout", "bufferhouse.compression", "bufferhouse.identity"), 0),
    **dict.fromkeys(("bufferhouse.tabulate", "bufferhouse.signature", "bufferhouse.overlap", "bufferhouse.batch"), 1),
    **dict.fromkeys(("bufferhouse.frames", "bufferhouse.interning", "bufferhouse.heap"), 1),
    **dict.fromkeys(("bufferhouse.sources", "bufferhouse.trees", "bufferhouse.bucket", "bufferhouse.store"), 1),
    **dict.fromkeys(("bufferhouse.archives", "bufferhouse.places", "bufferhouse.waiting", "bufferhouse.collecting"), 1),
    **dict.fromkeys(("bufferhouse.listings", "bufferhouse.siblings", "bufferhouse.module_texts"), 1),
    **dict.fromkeys(("bufferhouse.contents", "bufferhouse.validate", "bufferhouse.tables", "bufferhouse.runs"), 1),
    **dict.fromkeys(("bufferhouse.lake.address", "bufferhouse.outgoing"), 0),
    "bufferhouse.report": REPORT,
    **dict.fromkeys(("bufferhouse.cli", "bufferhouse.commands", "flows"), DOOR),
}
# Packages of others that have one room each.
ROOMS = {
    "duckdb": WAREHOUSE,
    "prefect": DOOR,
    "typer": DOOR,
}
HEAVY = ("duckdb", "polars", "pandera", "prefect", "sqlglot", "pyarrow", "altair", "vl_convert", "obstore", "zstandard")


def module_name(path: Path) -> str:
    name = ".".join(path.relative_to(CHECKOUT).with_suffix("").parts)
    return name.removesuffix(".__init__")


MODULES = {
    module_name(path): path
    for folder in ("bufferhouse", "schemas", "flows")
    for path in sorted((CHECKOUT / folder).rglob("*.py"))
}


def imports(name: str) -> set[str]:
    """All modules that a module imports anywhere in it; of our own the module, not the name in it."""
    found = set()
    for node in ast.walk(ast.parse(MODULES[name].read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name} imports relatively"
            inside = {f"{node.module}.{alias.name}" for alias in node.names}
            found.update((inside & MODULES.keys()) or {node.module})
    return found


def package(name: str) -> str:
    return name.split(".")[0]


def floor(name: str) -> int:
    parts = name.split(".")
    prefixes = [".".join(parts[:count]) for count in range(len(parts), 0, -1)]
    return next((FLOORS[prefix] for prefix in prefixes if prefix in FLOORS), WAREHOUSE)


@pytest.mark.parametrize("name", MODULES)
def test_a_module_imports_from_its_own_floor_and_below(name):
    """Of our own modules none from a floor above; of others' packages none that has its room above."""
    above = {other for other in imports(name) if package(other) in ("bufferhouse", "schemas", "flows")}
    assert set() == {other for other in above - {"bufferhouse"} if floor(other) > floor(name)}
    assert set() == {other for other in imports(name) if ROOMS.get(package(other), 0) > floor(name)}


@pytest.mark.parametrize(
    "name", [name for name in MODULES if name.startswith(("bufferhouse.dump", "bufferhouse.shape"))]
)
def test_the_reader_needs_the_standard_library_only(name):
    """bufferhouse.dump and bufferhouse.shape import nothing else, and know nothing of each other."""
    (own,) = (one for one in ("bufferhouse.dump", "bufferhouse.shape") if name.startswith(one))
    foreign = {other for other in imports(name) if package(other) not in sys.stdlib_module_names}
    assert set() == {other for other in foreign if not other.startswith(own)}


@pytest.mark.parametrize("name", [name for name in MODULES if package(name) == "schemas"])
def test_the_contracts_need_pandera_and_polars_only(name):
    """schemas/ knows neither the reader nor the database."""
    foreign = {package(other) for other in imports(name)} - set(sys.stdlib_module_names)
    assert foreign <= {"schemas", "pandera", "polars"}


def test_sql_is_parsed_in_one_place():
    """Only the models, their lineage, their other dialects and the query door may use sqlglot."""
    users = {name for name in MODULES if "sqlglot" in map(package, imports(name))}
    portable = {"bufferhouse.portable", "bufferhouse.spark"}
    assert users <= {"bufferhouse.models", "bufferhouse.lineage", "bufferhouse.query", *portable}


def test_prefect_lives_in_flows_and_nowhere_else():
    """The core imports neither Prefect nor flows, but for `bufferhouse serve`, inside its function."""
    users = {name for name in MODULES if {"prefect", "flows"} & set(map(package, imports(name)))}
    outside = {name for name in users if package(name) != "flows"}
    assert outside <= {"bufferhouse.cli", "bufferhouse.commands.serving"}
    for name in outside:
        assert {"prefect", "flows"}.isdisjoint(map(package, imports_at_the_top(name)))


def imports_at_the_top(name: str) -> set[str]:
    body = ast.parse(MODULES[name].read_text()).body
    plain = {alias.name for node in body if isinstance(node, ast.Import) for alias in node.names}
    return plain | {node.module for node in body if isinstance(node, ast.ImportFrom)}


def test_there_is_no_python_in_docker():
    """A docker/ with Python in it would shadow the docker SDK."""
    assert [] == list((CHECKOUT / "docker").rglob("*.py"))


def test_modules_are_named_after_what_they_do():
    """There is no module for whatever has no place."""
    last = {name.rsplit(".", 1)[-1] for name in MODULES} | {path.stem for path in Path(__file__).parent.glob("*.py")}
    assert set() == last & {"utils", "util", "manager", "common", "misc"}


def test_help_loads_nothing_heavy():
    """`bufferhouse --help` answers at once: no database, no frames, no parser of SQL, no server."""
    code = (
        "import sys\n"
        "from bufferhouse.cli import app\n"
        "try:\n"
        "    app(['--help'])\n"
        "except SystemExit as end:\n"
        f"    loaded = sorted(set(sys.modules) & {set(HEAVY)!r})\n"
        "    print('loaded', loaded, end.code)\n"
    )
    outcome = run(code=code)
    assert "Load dumps into the warehouse." in outcome.out
    assert "loaded [] 0" == outcome.out.splitlines()[-1]


def test_models_read_from_their_own_layer_and_below():
    """SQL has the same stairs: raw ← staging ← intermediate ← marts; raw is read by staging alone, and by checks.

    The mart that keeps the offenders of checks stands above them: marts.warnings, and no other.
    """
    beside_the_stairs = {(model.name, "checks") for model in read() if model.name.startswith("marts.warnings_v")}
    for model in read():
        for table in model.reads:
            layer = table.split(".")[0]
            is_allowed = LAYERS.index(layer) <= LAYERS.index(model.layer) or (model.name, layer) in beside_the_stairs
            assert is_allowed, (model.name, table)
            assert layer != "raw" or model.layer in ("staging", "checks"), (model.name, table)


@pytest.mark.parametrize("path", sorted(REPORTS.glob("*.sql")), ids=lambda path: path.stem)
def test_reports_read_versions_of_marts_and_nothing_else(path):
    """What a report shows has a version in its name, whose meaning never changes.

    A statement may also read what another one answered, kept under its name.
    """
    found = sqlglot.parse_one(path.read_text(), dialect="duckdb")
    common = {cte.alias for cte in found.find_all(sqlglot.exp.CTE)}
    tables = {f"{t.db}.{t.name}" for t in found.find_all(sqlglot.exp.Table) if t.db or t.name not in common}
    assert tables
    marts = {model.name for model in read() if model.layer == "marts"}
    assert tables <= marts | {f".{other.stem}" for other in REPORTS.glob("*.sql") if other != path}
