"""The read-only door for ad-hoc SQL."""

import duckdb

from bufferhouse.errors import UsageError

_ALLOWED = {
    duckdb.StatementType.SELECT,
    duckdb.StatementType.EXPLAIN,
    duckdb.StatementType.RELATION,
}


def check_statement(con: duckdb.DuckDBPyConnection, sql: str) -> str:
    """Return the one statement of `sql` if it only reads.

    DuckDB itself says what kind of statement a text is; DESCRIBE, SUMMARIZE, PIVOT and FROM-first count as SELECT.

    Raises:
        UsageError: the text is no SQL, holds several statements, or one that does not only read.
    """
    try:
        statements = con.extract_statements(sql)
    except duckdb.Error as error:
        raise UsageError(str(error)) from None
    kinds = [statement.type for statement in statements]
    if kinds == [duckdb.StatementType.CREATE, duckdb.StatementType.SELECT] and not statements[0].query:
        # A PIVOT over whatever values there are: DuckDB itself puts a temporary type of these values in front of it.
        return sql
    if len(statements) != 1:
        raise UsageError(f"expected one statement, found {len(statements)}")
    if kinds[0] not in _ALLOWED:
        raise UsageError(
            f"query only reads: expected SELECT, EXPLAIN, DESCRIBE, SUMMARIZE or PIVOT, found {kinds[0].name}"
        )
    return statements[0].query


def lock_down(con: duckdb.DuckDBPyConnection) -> None:
    """Close files, network, extensions and settings to whatever runs on this connection."""
    con.execute("SET enable_external_access = false")
    con.execute("SET autoinstall_known_extensions = false")
    con.execute("SET autoload_known_extensions = false")
    con.execute("SET lock_configuration = true")


def ask(con: duckdb.DuckDBPyConnection, sql: str) -> tuple[list[str], list[tuple]]:
    """Return column names and rows of one reading statement, on a connection that is locked down for it.

    Raises:
        UsageError: the statement is refused, or DuckDB cannot run it.
    """
    lock_down(con)
    try:
        cursor = con.execute(check_statement(con, sql))
        return [column[0] for column in cursor.description], cursor.fetchall()
    except duckdb.Error as error:
        raise UsageError(str(error)) from None
