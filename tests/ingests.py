"""Dumps on the disk, and ingests of them by the command line."""

import json
from collections.abc import Iterable
from pathlib import Path

from tests.command_line import call
from tests.synthetic import small_dump

SUFFIX = "-buffer-assignment.txt"


def name_of(number: int) -> str:
    """The name the CPU backend gives a dump."""
    return f"module_{number:04}.jit_f.cpu_after_optimizations{SUFFIX}"


def write_dumps(directory: Path, numbers: Iterable[int], text=small_dump) -> list[Path]:
    """Write a dump for each number."""
    directory.mkdir(parents=True, exist_ok=True)
    paths = []
    for number in numbers:
        path = directory / name_of(number)
        path.write_bytes(text(number))
        paths.append(path)
    return paths


def ingest(warehouse: Path, *words: object) -> tuple[int, dict]:
    """Ingest and return the exit code and the JSON summary, whose numbers must close."""
    outcome = call("ingest", *words, "--warehouse", warehouse, "--format", "json")
    summary = json.loads(outcome.out)
    parts = summary["new"] + summary["known"] + summary["rejected"] + summary["known_rejected"]
    assert summary["seen"] <= parts + len(summary["unreadable"])
    return outcome.code, summary
