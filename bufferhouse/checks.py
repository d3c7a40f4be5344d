"""Checks over a whole warehouse; each load runs the same ones on its batch."""

from dataclasses import dataclass

import duckdb


@dataclass(frozen=True, slots=True)
class CheckResult:
    """How many offenders a check found, and the first of them."""

    name: str
    severity: str
    offender_count: int
    first: str | None


def run_checks(con: duckdb.DuckDBPyConnection) -> list[CheckResult]:
    """Run every check, those of severity error first."""
    checks = con.execute(
        "SELECT model_name, severity FROM meta.models WHERE layer = 'checks' ORDER BY severity, model_name"
    ).fetchall()
    results = []
    for name, severity in checks:
        count, dump_id, expected, found = con.execute(
            f"SELECT COUNT(*), MIN(dump_id), arg_min(expected, dump_id), arg_min(found, dump_id) FROM {name}"
        ).fetchone()
        first = f"dump {dump_id}: expected {expected}, found {found}" if count else None
        results.append(CheckResult(name.split(".")[1], severity, count, first))
    return results
