"""How rows of raw are kept: in a file they are numbered one after the other and changed in place, in a lake only added.

See docs/decisions/0010.
"""

from collections.abc import Mapping, Sequence

import duckdb

from bufferhouse.engine.connection import is_lake
from bufferhouse.tabulate.batch import SHAPE_COLUMNS
from bufferhouse.warehouse.lake import history
from bufferhouse.warehouse.lake.claims import Claims
from bufferhouse.warehouse.lake.schema import tables_beside


def stored(con: duckdb.DuckDBPyConnection, table: str) -> str:
    """Return the table that rows of `raw.<table>` are added to, and removed from."""
    return history.stored(table) if is_lake(con) else f"raw.{table}"


def model_tables(con: duckdb.DuckDBPyConnection) -> list[str]:
    """Return the tables that keep rows of models: whoever removes a dump removes its rows in all of them."""
    rows = con.execute("SELECT model_name FROM meta.models WHERE is_incremental ORDER BY ordinal").fetchall()
    return [name for (name,) in rows] + (tables_beside(con) if is_lake(con) else [])


def next_number(
    con: duckdb.DuckDBPyConnection, table: str, column: str, *, claims: Claims | None = None, count: int = 1
) -> int:
    """Return the number that the next load or reject gets, and so many more behind it."""
    if is_lake(con):
        return history.next_number(con, claims, count)
    return con.execute(f"SELECT COALESCE(MAX({column}), 0) + 1 FROM raw.{table}").fetchone()[0]


def shape_numbers(con: duckdb.DuckDBPyConnection, texts: Sequence[str], known: Mapping[int, int]) -> list[int]:
    """Return the number of each shape of a batch; `known` gives those that the warehouse has, by place in `texts`."""
    if is_lake(con):
        return [known.get(row) or history.shape_id_of(text) for row, text in enumerate(texts)]
    free = next_number(con, "shapes", "shape_id")
    numbers = []
    for row in range(len(texts)):
        numbers.append(known.get(row, free))
        free += row not in known
    return numbers


def run_numbers(con: duckdb.DuckDBPyConnection, names: Sequence[str]) -> list[int]:
    """Return the numbers of new runs."""
    if not is_lake(con):
        first = next_number(con, "runs", "run_id")
        return list(range(first, first + len(names)))
    taken = {number for (number,) in con.execute("SELECT DISTINCT run_id FROM appended.runs").fetchall()}
    return [history.run_id_of(name, taken) for name in names]


def run_rows(
    con: duckdb.DuckDBPyConnection, schema: Mapping[str, object], rows: Sequence[tuple]
) -> tuple[Mapping[str, object], Sequence[tuple]]:
    """Return columns and rows of new runs as they are stored: in a lake they are the first that is said of a run."""
    return history.first_said(schema, rows) if is_lake(con) else (schema, rows)


def change_run(
    con: duckdb.DuckDBPyConnection, name: str, changes: Mapping[str, object], *, is_whole: bool = True
) -> None:
    """Change columns of a run. What only adds to what is known of it is not `is_whole`: another may add, too."""
    if is_lake(con):
        history.change_run(con, name, changes, is_whole=is_whole)
        return
    assignments = ", ".join(f"{column} = ?" for column in changes)
    con.execute(f"UPDATE raw.runs SET {assignments} WHERE run_name = ?", [*changes.values(), name])


def change_rejects(con: duckdb.DuckDBPyConnection, state: str, which: str, parameters: Mapping[str, object]) -> None:
    """Give another state to the rejects that a condition over `raw.rejects AS r`, with named parameters, chooses."""
    if is_lake(con):
        history.change_rejects(con, state, which, parameters)
        return
    con.execute(f"UPDATE raw.rejects AS r SET state = $state WHERE {which}", {**parameters, "state": state})


def remove_unused_shapes(con: duckdb.DuckDBPyConnection) -> None:
    """Remove the shapes that no dump mentions."""
    used = " UNION ".join(
        f"SELECT {column} FROM raw.{table} WHERE {column} IS NOT NULL"
        for table, columns in SHAPE_COLUMNS.items()
        for column in columns
        if table != "shapes"
    )
    con.execute(f"DELETE FROM {stored(con, 'shapes')} WHERE shape_id NOT IN ({used})")
