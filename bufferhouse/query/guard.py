"""Which statements a reader may run, judged on DuckDB's own syntax tree of them.

Everything is refused but what is known: one SELECT in any of its forms, EXPLAIN of what would be allowed without it,
functions of `functions.txt`, tables of the warehouse and DuckDB's own views of its catalog.
"""

import json
import re
from collections.abc import Iterator
from functools import cache
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import duckdb

from bufferhouse.engine.sql import quoted, words
from bufferhouse.errors import UsageError

_FUNCTIONS = Path(__file__).with_name("functions.txt")
# DuckDB's own views begin with one of these. Behind those that are missing are paths, settings and logs.
VIEW_FAMILIES = ("duckdb_", "pg_", "pragma_", "sqlite_")
VIEWS = frozenset(
    (
        *("duckdb_columns", "duckdb_constraints", "duckdb_indexes", "duckdb_schemas", "duckdb_tables"),
        *("duckdb_types", "duckdb_views", "sqlite_master", "sqlite_schema"),
        *("pg_attribute", "pg_class", "pg_constraint", "pg_database", "pg_description", "pg_enum", "pg_index"),
        *("pg_indexes", "pg_namespace", "pg_proc", "pg_tables", "pg_type", "pg_views"),
    )
)
_EXPLAIN = re.compile(
    r"explain(?:\s+analyze)?(?:\s*\(\s*(?:analyze|format)?[\s,]*(?:format\s+)?(?:json|text|html|graphviz|yaml)?\s*\))?"
    r"(?=\W)\s*",
    re.IGNORECASE | re.ASCII,
)
_COMMENTS = re.compile(r"(?:\s+|--[^\n]*(?:\n|$)|/\*(?:[^*]|\*(?!/))*\*/)*", re.ASCII)
# What may stand before a parenthesis and is no function.
_CLAUSES = frozenset(
    (
        *("all", "and", "any", "as", "between", "by", "case", "distinct", "else", "except", "exists", "filter", "from"),
        *("group", "having", "in", "intersect", "is", "join", "lateral", "like", "limit", "not", "offset", "on", "or"),
        *("over", "pivot", "qualify", "select", "then", "union", "using", "values", "when", "where", "with"),
    )
)
_PLACE = re.compile(r"[./\\:*?]")  # a file or a URL, which DuckDB would read in the place of a table
_CALLED = re.compile(r'"?(\w+)"?\s*', re.ASCII)
_OPERATOR = re.compile(r"[-+*/%<>=!|&^~,;.:()\[\]{}?@#]+\s*", re.ASCII)
_MOST_LEVELS = 950  # of a tree; Python 3.11 reads hardly more of JSON, and 3.13 tens of thousands
_ONE_KIND = "expected SELECT, EXPLAIN, DESCRIBE, SUMMARIZE or PIVOT"


@cache
def known_functions() -> tuple[frozenset[str], frozenset[str]]:
    """Return the names of functions that may be called in an expression, and those that may stand for a table."""
    expressions, tables = _FUNCTIONS.read_text(encoding="utf-8").partition("expressions:\n")[2].split("tables:\n")
    return frozenset(expressions.split()), frozenset(tables.split())


def other_databases(con: duckdb.DuckDBPyConnection) -> frozenset[str]:
    """Return the names of what a connection has attached beside its warehouse: of a lake that is the catalog, too."""
    [(own, names)] = con.execute(
        "SELECT current_database(), list(database_name) FROM duckdb_databases()"
        " WHERE database_name NOT IN (current_database(), 'system', 'temp')"
    ).fetchall()
    return frozenset([f"__ducklake_metadata_{own}".lower(), *(name.lower() for name in names or ())])


def judged(con: duckdb.DuckDBPyConnection, sql: str, others: frozenset[str]) -> str:
    """Return the one statement of `sql`, to be run as it is, if it only reads, and none of the `other_databases`.

    Raises:
        UsageError: the text is no SQL, holds several statements, or one that does or asks more than a reader may.
    """
    try:
        sql.encode()
    except UnicodeEncodeError:
        raise UsageError("expected a statement in UTF-8, found bytes that are none") from None
    if "\0" in sql:
        raise UsageError("expected a statement, found a character NUL in it")
    statements = _statements(con, sql)
    kinds = [statement.type for statement in statements]
    if kinds == [duckdb.StatementType.CREATE, duckdb.StatementType.SELECT] and not statements[0].query:
        # A PIVOT over whatever values there are: DuckDB itself puts a temporary type of these values in front of it.
        _check_pivot(sql, others)
        return sql
    if len(statements) != 1:
        raise UsageError(f"expected one statement, found {len(statements)}")
    if kinds == [duckdb.StatementType.EXPLAIN]:
        return _judged_explain(con, statements[0].query, others)
    if kinds != [duckdb.StatementType.SELECT]:
        raise UsageError(f"query only reads: {_ONE_KIND}, found {kinds[0].name}")
    _check_tree(con, statements[0].query, others)
    return statements[0].query


def _statements(con: duckdb.DuckDBPyConnection, sql: str) -> list[duckdb.Statement]:
    try:
        return con.extract_statements(sql)
    except (duckdb.Error, RuntimeError) as error:
        raise UsageError(str(error)) from None


def _judged_explain(con: duckdb.DuckDBPyConnection, sql: str, others: frozenset[str]) -> str:
    """Judge what stands behind the word EXPLAIN and its options as if it stood alone."""
    text = sql[_COMMENTS.match(sql).end() :]
    words = _EXPLAIN.match(text)
    inner = text[words.end() :] if words else ""
    kinds = [statement.type for statement in _statements(con, inner)] if inner else []
    if kinds != [duckdb.StatementType.SELECT]:
        found = kinds[0].name if kinds else "something else"
        raise UsageError(f"query only reads: expected EXPLAIN or EXPLAIN ANALYZE of one SELECT, found {found}")
    _check_tree(con, inner, others)
    return words[0] + inner


def _check_tree(con: duckdb.DuckDBPyConnection, sql: str, others: frozenset[str]) -> None:
    tree = _tree(con, sql)
    expressions, tables = known_functions()
    for node in _nodes(tree):
        if node.get("type") == "TABLE_FUNCTION":
            # Its arguments are judged as expressions, beneath it.
            _check_function(node["function"].get("function_name", "of no name"), tables)
        elif "function_name" in node:
            _check_function(node["function_name"], expressions | tables)
        elif node.get("type") in ("BASE_TABLE", "SHOW_REF"):
            qualifiers = (node.get("catalog_name", ""), node.get("schema_name", ""))
            _check_table(node.get("table_name", "").strip('"'), [word for word in qualifiers if word], others)


def _tree(con: duckdb.DuckDBPyConnection, sql: str) -> dict[str, Any]:
    try:
        [(text,)] = con.execute(
            f"SELECT json_serialize_sql({quoted(sql)}, skip_null := true, skip_empty := true, skip_default := true)"
        ).fetchall()
        tree = json.loads(text)
    except RecursionError:
        raise UsageError("the statement is nested too deep") from None
    except duckdb.InterruptException:
        raise
    except duckdb.Error as error:
        raise UsageError(str(error)) from None
    if tree["error"] or len(tree["statements"]) != 1:
        raise UsageError(f"query only reads: {_ONE_KIND}; {tree.get('error_message', 'found several')}")
    return tree


def tables_of(con: duckdb.DuckDBPyConnection, sql: str) -> set[str]:
    """Return the tables and views that a SELECT names, as it names them; nothing for EXPLAIN, and PIVOT without IN.

    The statement must be one that `judged` took.
    """
    try:
        nodes = list(_nodes(_tree(con, sql)))
    except UsageError:
        return set()
    common = {entry["key"].lower() for node in nodes for entry in node.get("cte_map", {}).get("map", ())}
    named = [
        [node.get(part, "") for part in ("schema_name", "table_name")]
        for node in nodes
        if node.get("type") in ("BASE_TABLE", "SHOW_REF")
    ]
    return {".".join(filter(None, one)) for one in named if one[0] or one[1].lower() not in common}


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    level = [tree]
    for _ in range(_MOST_LEVELS):
        yield from (node for node in level if isinstance(node, dict))
        parts = (node.values() if isinstance(node, dict) else node for node in level if isinstance(node, dict | list))
        level = list(chain.from_iterable(parts))
    if level:
        raise UsageError("the statement is nested too deep")


def _check_function(name: str, known: frozenset[str]) -> None:
    if name.lower() not in known:
        raise UsageError(f"query only reads: the function {name} is not one of those a reader may call")


def _check_table(name: str, qualifiers: list[str], others: frozenset[str]) -> None:
    for word in qualifiers:
        if word.lower() in others:
            raise UsageError(f"query only reads the warehouse: expected a schema of it, found {word}")
    if _PLACE.search(name):
        raise UsageError(
            f"query reads only the warehouse, not {name}; to query dumps without a warehouse: --from SOURCE"
        )
    if name.lower().startswith(VIEW_FAMILIES) and name.lower() not in VIEWS:
        raise UsageError(f"query only reads the warehouse: {name} is not one of the views that a reader may query")


def _check_pivot(sql: str, others: frozenset[str]) -> None:
    """Judge a PIVOT of which DuckDB gives no tree, by its words: what stands before a parenthesis is known."""
    said = [word.decode(errors="replace") for word in words(sql)[1:]]
    known = known_functions()[0] | _CLAUSES
    for word, following in pairwise([*said, ""]):
        if not word.isascii() and not re.fullmatch(r"""('|").*\1[ \t\r\n]*""", word, re.DOTALL):
            raise UsageError("a PIVOT without IN takes ASCII characters only, outside of quotes")
        if following.startswith("(") and not _OPERATOR.fullmatch(word):
            called = _CALLED.fullmatch(word)
            _check_function(called[1] if called else word.strip(), known)
        name = word.strip().strip('"')
        if _CALLED.fullmatch(word):
            _check_table(name, [name], others)
