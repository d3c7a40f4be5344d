"""The floors of the house, derived from its folders: who may import whom, and what `--help` must not load."""

import ast
import re
import shlex
import sys

import pytest
import sqlglot

from bufferhouse.models.project import LAYERS, Model, read
from bufferhouse.paths import REPORTS
from docs.house import MODULES, PICTURE, below, floors, imports, module_graph, picture, room, room_graph
from tests.command_line import CHECKOUT, run

MOST_FLOORS = 12
MOST_FILES = {"bufferhouse": 6, "tests": 10}  # modules directly in a folder; whatever has a room lies there
# Packages of others, and the only rooms that may import them.
HOMES = {
    "prefect": {"flows"},
    "typer": {"bufferhouse.cli", "commands"},
    "sqlglot": {"models", "query"},
    "altair": {"report"},
    "jinja2": {"report"},
    "markupsafe": {"report"},
    "obstore": {"sources", "warehouse"},
    "psycopg": {"warehouse"},
    "google": {"proto"},
    "mcp": {"agents"},
    "yaml": {"contracts"},
}
# Rooms that know nothing of the database, and those that need the standard library only.
WITHOUT_DUCKDB = {"dump", "proto", "schemas", "sources", "tabulate", "config"}
WITH_NOTHING = {"dump", "bufferhouse.paths", "bufferhouse.redaction", "bufferhouse.version"}
HEAVY = (
    *("duckdb", "polars", "pandera", "prefect", "sqlglot", "pyarrow", "altair", "vl_convert", "jinja2", "obstore"),
    *("zstandard", "mcp", "pydantic", "anyio", "google.protobuf"),
)


@pytest.fixture(scope="module")
def known() -> list[Model]:
    """All models, read once."""
    return read()


def package(name: str) -> str:
    return name.split(".")[0]


@pytest.mark.parametrize("graph_of", [room_graph, module_graph], ids=["rooms", "modules"])
def test_nothing_is_imported_in_a_circle(graph_of):
    """No room, and no module, reaches itself by what it imports, at the top or inside a function."""
    graph = graph_of()
    circles = {name for name in list(graph) if name in below(graph, name)}
    assert set() == circles


def test_the_house_has_few_floors():
    """From the ground to the command line there are at most twelve floors."""
    assert max(floors(room_graph()).values()) <= MOST_FLOORS


def test_the_picture_of_the_house_is_drawn_from_the_code():
    """docs/images/house.svg is what the imports of today draw; `make docs` draws it anew."""
    assert picture() == PICTURE.read_text()


@pytest.mark.parametrize("folder", MOST_FILES)
def test_modules_lie_in_rooms(folder):
    """Few modules lie directly in a folder."""
    assert len(list((CHECKOUT / folder).glob("*.py"))) <= MOST_FILES[folder]


@pytest.mark.parametrize("folder", sorted({path.parent for path in MODULES.values()}))
def test_a_room_says_what_it_is(folder):
    """Each package says in the docstring of its `__init__.py` what lives here."""
    assert ast.get_docstring(ast.parse((folder / "__init__.py").read_text()))


@pytest.mark.parametrize("name", HOMES)
def test_a_package_of_others_has_its_rooms(name):
    """Prefect lives in flows, Typer in the command line, sqlglot in the models and the query door, and so on."""
    users = {room(module) for module in MODULES if name in map(package, imports(module))}
    assert users <= HOMES[name]


def test_one_module_writes_text_that_is_not_escaped():
    """Pages are made by templates that escape: one module imports Markup, and no template calls a text safe."""
    writers = {name for name in MODULES if "markupsafe" in map(package, imports(name))}
    escapers = {name for name in MODULES if "html" in imports(name) and room(name) == "report"}
    assert ({"bufferhouse.report.html.page"}, set()) == (writers, escapers)
    for path in (CHECKOUT / "bufferhouse" / "report" / "html" / "templates").iterdir():
        assert not re.search(r"\bsafe\b|autoescape|Markup", path.read_text()), path.name


def test_one_module_talks_to_the_collector():
    """How Python's memory is managed is decided in one place (decision 0021)."""
    assert {"bufferhouse.tabulate.memory"} == {name for name in MODULES if "gc" in imports(name)}


def test_the_lower_rooms_know_no_database():
    """What reads, tabulates and declares needs no DuckDB."""
    users = {room(module) for module in MODULES if "duckdb" in map(package, imports(module))}
    assert set() == users & WITHOUT_DUCKDB


@pytest.mark.parametrize("name", [name for name in MODULES if room(name) in WITH_NOTHING])
def test_the_reader_needs_the_standard_library_only(name):
    """The reader of dumps imports nothing else, and knows nothing of the rooms around it."""
    foreign = {other for other in imports(name) if package(other) not in sys.stdlib_module_names}
    assert set() == {other for other in foreign if room(other) != room(name)}


@pytest.mark.parametrize("name", [name for name in MODULES if package(name) == "schemas"])
def test_the_contracts_need_pandera_and_polars_only(name):
    """schemas/ knows neither the reader nor the database."""
    foreign = {package(other) for other in imports(name)} - set(sys.stdlib_module_names)
    assert foreign <= {"schemas", "pandera", "polars"}


def test_prefect_lives_in_flows_and_nowhere_else():
    """The core imports neither Prefect nor flows, but for `serve` and `notify`, inside their functions."""
    users = {name for name in MODULES if {"prefect", "flows"} & set(map(package, imports(name)))}
    outside = {name for name in users if package(name) != "flows"}
    assert outside <= {"bufferhouse.commands.serve", "bufferhouse.commands.notify"}
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
    last = {name.rsplit(".", 1)[-1] for name in MODULES} | {path.stem for path in (CHECKOUT / "tests").rglob("*.py")}
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


def test_statements_have_no_parameters():
    """Values stand in them as literals (`engine.sql.execute`), but for those that a user gives, and for PostgreSQL."""
    of_postgres = {f"bufferhouse.warehouse.lake.{name}" for name in ("claims", "contents", "postgres")}
    found = {
        name
        for name, path in MODULES.items()
        if ".execute(" in (text := path.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if node.func.attr == "execute" and len(node.args) > 1
    }
    assert {"bufferhouse.query.door"} | of_postgres == found


def test_pandas_is_not_imported(fleet, tmp_path):
    """It takes a second, and many have it: DuckDB imports it for a parameter, PyArrow to make an array of a list."""
    (tmp_path / "pandas.py").write_text("raise SystemExit('pandas was imported')\n")
    runs = [fleet / name for name in ("jaxlib-0.8.0", "jaxlib-0.9.0", "seeds")]
    verbs = [
        shlex.join(["ingest", *map(str, runs)]), "query 'SELECT 1'",
        "query 'FROM marts.peak_memory'", "report fleet", "report run jaxlib-0.9.0",
        "report program jit_scan_rnn", "compare jaxlib-0.8.0 jaxlib-0.9.0", "blame jit_scan_rnn", "programs",
        "savings jit_scan_rnn", "determinism", "runs ls", "rejects", "stats", "check",
        f"ingest {runs[0]}", f"ingest {runs[1]} --run another", "verify", "pack", "compact",
    ]  # fmt: skip
    code = (
        "import shlex, sys\n"
        f"sys.path.insert(0, {str(tmp_path)!r})\n"
        "from tests.command_line import call\n"
        "for verb in sys.argv[2:]:\n"
        "    print(verb, call(*shlex.split(verb), '--warehouse', sys.argv[1]).code)\n"
    )
    outcome = run(tmp_path / "own.duckdb", *verbs, code=code)
    assert (0, "".join(f"{verb} 0\n" for verb in verbs)) == (outcome.code, outcome.out), outcome.err


def test_models_read_from_their_own_layer_and_below(known):
    """SQL has the same stairs: raw ← staging ← intermediate ← marts; raw is read by staging alone, and by checks.

    The mart that keeps the offenders of checks stands above them: marts.warnings, and no other.
    """
    beside_the_stairs = {(model.name, "checks") for model in known if model.name.startswith("marts.warnings_v")}
    for model in known:
        for table in model.reads:
            layer = table.split(".")[0]
            is_allowed = LAYERS.index(layer) <= LAYERS.index(model.layer) or (model.name, layer) in beside_the_stairs
            assert is_allowed, (model.name, table)
            assert layer != "raw" or model.layer in ("staging", "checks"), (model.name, table)


@pytest.mark.parametrize("path", sorted(REPORTS.glob("*.sql")), ids=lambda path: path.stem)
def test_reports_read_versions_of_marts_and_nothing_else(known, path):
    """What a report shows has a version in its name, whose meaning never changes.

    A statement may also read what another one answered, kept under its name.
    """
    found = sqlglot.parse_one(path.read_text(), dialect="duckdb")
    common = {cte.alias for cte in found.find_all(sqlglot.exp.CTE)}
    tables = {f"{t.db}.{t.name}" for t in found.find_all(sqlglot.exp.Table) if t.db or t.name not in common}
    assert tables
    marts = {model.name for model in known if model.layer == "marts"}
    assert tables <= marts | {f".{other.stem}" for other in REPORTS.glob("*.sql") if other != path}
