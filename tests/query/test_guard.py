"""What a reader's statement may be: the lists it is judged by, against the DuckDB that is installed."""

import duckdb
import pytest

from bufferhouse.errors import UsageError
from bufferhouse.query.guard import VIEW_FAMILIES, VIEWS, judged, known_functions, other_databases
from tests.attack import sql as attack_of_sql

# Functions that answer differently every time, and do nothing else.
_MERELY_VOLATILE = {"error", "gen_random_uuid", "random", "uuid", "uuidv4", "uuidv7"}
# The parser has these names; the catalog has them elsewhere or not at all.
_OF_THE_PARSER = {"unnest", "unlist"}


@pytest.fixture(scope="module")
def clean():
    """A connection to nothing, as DuckDB makes it."""
    with duckdb.connect() as con:
        yield con


def functions(con: duckdb.DuckDBPyConnection, where: str) -> set[str]:
    """Names of functions."""
    return {name for (name,) in con.execute(f"SELECT function_name FROM duckdb_functions() WHERE {where}").fetchall()}


def test_functions_that_may_be_called_are_there_and_change_nothing(clean):
    """Each is one of DuckDB's, of the kind it is listed as; none that is known to have effects is among them."""
    expressions, tables = known_functions()
    assert set() == expressions - functions(clean, "function_type IN ('scalar', 'aggregate', 'macro')") - _OF_THE_PARSER
    assert set() == tables - functions(clean, "function_type IN ('table', 'table_macro')") - _OF_THE_PARSER
    assert _MERELY_VOLATILE == expressions & functions(clean, "has_side_effects")


def test_all_views_of_duckdb_itself_are_of_the_families_that_are_judged(clean):
    """A view that a new DuckDB brings is refused until somebody lists it."""
    views = clean.execute("SELECT schema_name, view_name FROM duckdb_views() WHERE internal").fetchall()
    names = {name for schema, name in views if schema != "information_schema"}
    assert set() == {name for name in names if not name.startswith(VIEW_FAMILIES)}
    assert set() == VIEWS - names


def test_every_kind_of_statement_is_attacked():
    """All that DuckDB knows, in at least 300 statements, and 12,000 code points as white space."""
    assert set(duckdb.StatementType.__members__) == set(attack_of_sql.KINDS)
    assert 300 <= len(set(attack_of_sql.hostile()))
    assert 12_000 <= len(attack_of_sql.code_points())


@pytest.mark.parametrize("kind", [kind for kind, texts in attack_of_sql.KINDS.items() if texts])
def test_statements_stand_below_their_kind(clean, kind):
    """What is filed below a kind is one, or does not parse, or is the first of several."""
    sorts = set()
    for text in attack_of_sql.KINDS[kind]:
        try:
            kinds = [one.type.name for one in clean.extract_statements(text.format(file="f", data="d", new="n"))]
        except (duckdb.Error, RuntimeError, ValueError):
            continue
        sorts.update(kinds)
    likes = {
        **{"INVALID": {"SELECT", "DELETE"}, "PRAGMA": {"SELECT", "SET"}, "MULTI": {"CREATE", "SELECT", "DELETE"}},
        **{"ANALYZE": {"VACUUM"}, "CREATE_FUNC": {"CREATE"}},  # as DuckDB has it in 1.5
    }
    assert not sorts or kind in sorts or sorts & likes.get(kind, set())


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 'é\u200b' AS \"ü\"",
        "SELECT\u00a01",
        "-- é\nSELECT 1",
        "/* x */ EXPLAIN -- y\nSELECT 1",
        "EXPLAIN (FORMAT json) SELECT 1",
        "EXPLAIN (ANALYZE, FORMAT json) SELECT 1",
        "EXPLAIN ANALYZE WITH x AS (SELECT 1) FROM x",
        "EXPLAIN (SELECT 1)",
        "PIVOT (SELECT 'é' AS a, 1 AS b) ON a USING sum(b)",
        "PIVOT (SELECT 'é' AS a, 1 AS b WHERE b IN (1, 2) AND (a LIKE ('x') OR (b) = (1))) ON a USING sum(b)",
        "SELECT list_transform([1], lambda x: x + 1), [x * 2 for x in [1]], {'a': 1}, MAP {'a': 1}['a'], [1, 2][1:2]",
        "SELECT position('a' IN 'b'), extract(year FROM DATE '2026-01-01'), trim(BOTH 'x' FROM 'y'), try(1 / 0)",
        "SELECT row_number() OVER (ORDER BY 1), sum(1) FILTER (true), count(*), 'a' SIMILAR TO 'b', current_date, user",
        "SELECT '{\"a\": 1}'::JSON ->> 'a', 'a' || 'b', 1 // 2, 2 ** 3, 5!, ~1, 'a' ^@ 'b', CAST(1 AS VARCHAR)",
        "SELECT * FROM range(3), generate_series(1, 2), unnest([1]), json_each('[1]')",
        "FROM duckdb_columns() SELECT count(*)",
        "FROM information_schema.tables SELECT count(*)",
        "SHOW DATABASES",
        "DESCRIBE SELECT 1",
    ],
)
def test_what_only_reads_is_let_through(clean, sql):
    """Whatever the letters and the words around it; and DuckDB runs what was judged."""
    clean.execute(judged(clean, sql, other_databases(clean)))


def test_deep_nesting_is_refused(clean):
    """With a message, where the tree is deeper than anything that people write."""
    for sql in (
        "SELECT " + "- " * 900 + "a FROM range(1) t(a)",
        "SELECT " + "[" * 900 + "]" * 900,
        "SELECT 1" + " + 1" * 5000,
    ):
        with pytest.raises(UsageError):
            judged(clean, sql, frozenset())
    assert judged(clean, "SELECT 1" + " + 1" * 300, frozenset())
