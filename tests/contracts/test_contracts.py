"""Contracts for other tools: valid where those tools judge it, and saying what `schemas/` and the models say."""

import json

import pytest
import yaml
from jsonschema import Draft202012Validator
from open_data_contract_standard.model import OpenDataContractStandard

from bufferhouse.contracts.files import files
from bufferhouse.contracts.odcs import data_contract
from bufferhouse.models.project import read
from schemas import TABLES
from tests.command_line import call


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The folder that `bufferhouse contracts` writes."""
    folder = tmp_path_factory.mktemp("contracts") / "out"
    outcome = call("contracts", folder)
    assert (0, f"{len(TABLES) + 2} files written to {folder}\n") == (outcome.code, outcome.out)
    return folder


def test_the_data_contract_is_valid(written):
    """By the standard's own package: its schema, and its model, which loses nothing of it."""
    text = (written / "raw.odcs.yaml").read_text()
    schema = json.loads(OpenDataContractStandard.json_schema())
    assert [] == [error.message for error in Draft202012Validator(schema).iter_errors(yaml.safe_load(text))]
    contract = OpenDataContractStandard.from_file(str(written / "raw.odcs.yaml"))
    assert data_contract() == contract.model_dump(exclude_unset=True, by_alias=True)


def test_it_has_every_column_of_every_table(written):
    """Name, type, key and nullability are those of the contracts."""
    contract = OpenDataContractStandard.from_file(str(written / "raw.odcs.yaml"))
    assert list(TABLES) == [table.name for table in contract.schema_]
    for table in contract.schema_:
        declared = TABLES[table.name]
        expected = [(name, column.sql_type, not column.nullable) for name, column in declared.columns.items()]
        assert expected == [(one.name, one.physicalType, one.required) for one in table.properties]
        keys = sorted((one for one in table.properties if one.primaryKey), key=lambda one: one.primaryKeyPosition)
        assert list(declared.key) == [one.name for one in keys]


def test_a_physical_name_is_that_of_a_table_in_the_schema_of_the_server(written, example):
    """As tools put the two together, each part in quotes."""
    contract = OpenDataContractStandard.from_file(str(written / "raw.odcs.yaml"))
    [server] = contract.servers
    for table in contract.schema_:
        columns = example.sql(f'SELECT * FROM "{server.schema_}"."{table.physicalName}"').columns
        assert columns == [one.name for one in table.properties]


def test_it_tells_tables_from_views(written, example):
    """What other tables say already is a view in a warehouse, too."""
    contract = OpenDataContractStandard.from_file(str(written / "raw.odcs.yaml"))
    expected = example.execute(
        "SELECT table_name, IF(table_type = 'VIEW', 'view', 'table') FROM information_schema.tables"
        " WHERE table_schema = 'raw'"
    ).fetchall()
    assert dict(expected) == {table.name: table.physicalType for table in contract.schema_}


@pytest.mark.parametrize("name", TABLES)
def test_rows_of_a_warehouse_keep_the_json_schema(written, example, name):
    """As `query --format json` writes them; and a row that lacks a column or has a wrong type does not."""
    from bufferhouse.query.format import formatted

    schema = json.loads((written / "json_schema" / f"{name}.schema.json").read_text())
    Draft202012Validator.check_schema(schema)
    judge = Draft202012Validator(schema)
    cursor = example.execute(f"SELECT * FROM raw.{name} LIMIT 20")
    rows = json.loads(formatted([column[0] for column in cursor.description], cursor.fetchall(), "json"))
    assert [] == [error.message for row in rows for error in judge.iter_errors(row)]
    assert not judge.is_valid({})
    for row in rows[:1]:
        assert not judge.is_valid({**row, TABLES[name].key[0]: []})


def test_dbt_knows_every_column_of_every_mart(written):
    """With the descriptions of the models."""
    (source,) = yaml.safe_load((written / "dbt" / "sources.yml").read_text())["sources"]
    marts = {model.name.removeprefix("marts."): model for model in read() if model.layer == "marts"}
    assert sorted(marts) == [table["name"] for table in source["tables"]]
    for table in source["tables"]:
        assert marts[table["name"]].columns == {one["name"]: one["description"] for one in table["columns"]}


def test_the_tests_of_dbt_hold(written, example):
    """Each test, as dbt would ask it of the example fleet, finds nothing; and there is one for each mart with rows."""
    (source,) = yaml.safe_load((written / "dbt" / "sources.yml").read_text())["sources"]
    asked = 0
    for table in source["tables"]:
        of = f"{source['schema']}.{table['name']}"
        tests = [(column["name"], test) for column in table["columns"] for test in column.get("data_tests", [])]
        unique = [test["unique"]["arguments"]["column_name"] for test in table.get("data_tests", [])]
        unique += [name for name, test in tests if test == "unique"]
        # dbt asks for each alone; a mart takes longer to plan than to read here.
        found = [f"COUNT(*) FILTER ({name} IS NULL)" for name, test in tests if test != "unique"]
        found += [f"COUNT({one}) - COUNT(DISTINCT {one})" for one in unique]
        if found:
            faults = example.execute(f"SELECT {', '.join(found)} FROM {of}").fetchone()
            assert dict.fromkeys(found, 0) == dict(zip(found, faults, strict=True)), of
        asked += len(found)
    assert asked > len(source["tables"])


def test_files_are_the_same_every_time():
    """Whoever keeps them under version control sees a change when there is one."""
    assert files() == files()
