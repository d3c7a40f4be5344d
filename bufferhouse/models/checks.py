"""Checks over a whole warehouse; each load runs the same ones on its batch."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import duckdb

from bufferhouse.tabulate.tables import Refusal


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The number of offenders that a check found, and the first one."""

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


def found_by_checks(refusals: Iterable[Refusal], warnings: Mapping[str, int]) -> list[CheckResult]:
    """Return the findings of the checks of a load: dumps refused by severity error, warnings by the others."""
    refused: dict[str, list[Refusal]] = {}
    for refusal in refusals:
        kind, _, name = refusal.rule.partition(":")
        if kind == "check":
            refused.setdefault(name, []).append(refusal)
    errors = [CheckResult(name, "error", len(found), str(found[0])) for name, found in sorted(refused.items())]
    return errors + [CheckResult(name, "warn", count, None) for name, count in sorted(warnings.items())]
