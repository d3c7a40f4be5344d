"""Lifetimes, constants and repeated compilations against what the oracle reads in the dumps, counted in Python."""

import re
from collections import Counter

import pytest

from bufferhouse.warehouse.open import open_reader
from tests import oracle
from tests.models.readings import by_dump

LIFETIMES = """
    SELECT dump_id, value_id, memory_space, allocation_index, kind, size_bytes, start_position, end_position, use_count,
        first_use_position, last_use_position, live_position_count, byte_steps, idle_position_count
    FROM marts.buffer_lifetimes_v1 ORDER BY dump_id, value_id
"""
CONSTANTS = """
    SELECT dump_id, value_id, allocation_index, memory_space, is_thread_local, size_bytes, allocation_bytes
    FROM marts.constants_v1 ORDER BY dump_id, value_id
"""
RETRACED = """
    SELECT run_id, program_name, compile_target, dump_count, signature_count, content_count, identical_count,
        most_identical_count, has_other_arity, has_other_element_types, has_other_rank, has_other_dims,
        largest_reserved_bytes
    FROM marts.retraced_programs_v1
"""
SIGHTINGS = """
    SELECT o.run_id, o.program_name, o.compile_target, o.dump_id, d.entry_signature,
        (SELECT SUM(a.size_bytes) FROM raw.allocations AS a
            WHERE a.dump_id = o.dump_id AND a.memory_space = 0 AND NOT a.is_thread_local)
    FROM staging.observations AS o JOIN raw.dumps AS d USING (dump_id)
"""


def lifetimes_of(dump: dict) -> list[tuple]:
    places: dict[str, int] = {}
    for position, name in enumerate(dump["schedule"] or []):
        places.setdefault(name, position)
    allocations = {allocation["index"]: allocation for allocation in dump["allocations"]}
    expected = []
    for value_id, value in sorted(dump["values"].items()):
        allocation = allocations[value["allocation"]]
        if value["live_range"] is None or allocation["is_thread_local"]:
            continue
        uses = value.get("uses") or []
        at = [places[name] for name, _, _ in uses if name in places]
        first, last = value["live_range"]
        expected.append(
            (
                value_id, allocation["memory_space"], allocation["index"], oracle.kind_of(allocation), value["size"],
                first, last, len(uses), min(at, default=None), max(at, default=None), last - first + 1,
                float(value["size"] * (last - first + 1)), last - max(at) if at else None,
            )
        )  # fmt: skip
    return expected


def test_lifetimes(example, second_opinion):
    """Birth, death, uses, byte-steps and idle positions of every value with a live range, in all dumps."""
    found = by_dump(example, LIFETIMES)
    assert {dump_id: rows for dump_id, dump in second_opinion.items() if (rows := lifetimes_of(dump))} == found
    assert sum(map(len, found.values())) > 1000


def test_constants(example, second_opinion):
    """Every value in an allocation of a constant, and nothing else."""
    expected = {}
    for dump_id, dump in second_opinion.items():
        held = {one["index"]: one for one in dump["allocations"] if one["is_constant"]}
        rows = [
            (
                value["id"], value["allocation"], held[value["allocation"]]["memory_space"],
                held[value["allocation"]]["is_thread_local"], value["size"], held[value["allocation"]]["size"],
            )
            for _, value in sorted(dump["values"].items())
            if value["allocation"] in held
        ]  # fmt: skip
        if rows:
            expected[dump_id] = rows
    assert expected
    assert expected == by_dump(example, CONSTANTS)


def retraced(con) -> dict[tuple, tuple]:
    """Repeated compilations, counted one by one; signatures are taken apart leaf by leaf and compared in pairs."""
    groups: dict[tuple, list[tuple]] = {}
    for *key, dump_id, signature, reserved in con.execute(SIGHTINGS).fetchall():
        groups.setdefault(tuple(key), []).append((dump_id, signature, reserved))
    expected = {}
    for key, rows in groups.items():
        if len(rows) == 1:
            continue
        contents = Counter(row[0] for row in rows)
        signatures = {row[1] for row in rows}
        taken = {taken_apart(signature) for signature in signatures}
        pairs = [(one, other) for one in taken for other in taken if one[0] == other[0]]
        expected[key] = (
            len(rows), len(signatures), len(contents), len(rows) - len(contents), max(contents.values()),
            len({arity for arity, _, _ in taken}) > 1,
            any(one[1] != other[1] for one, other in pairs),
            any(ranks(one) != ranks(other) for one, other in pairs),
            any(ranks(one) == ranks(other) and one[2] != other[2] for one, other in pairs),
            max((row[2] for row in rows if row[2] is not None), default=None),
        )  # fmt: skip
    return expected


def taken_apart(signature: str) -> tuple:
    """Arity, element types and dimensions of a signature: of its parameters, then of its output."""
    sides = [re.findall(r"([a-z]\w*)\[([^\]]*)\]", side) for side in signature.split("->")]
    assert signature == "->".join(f"({', '.join(f'{kind}[{dims}]' for kind, dims in side)})" for side in sides)
    return (
        tuple(map(len, sides)),
        tuple(kind for side in sides for kind, _ in side),
        tuple(tuple(dims.split(",")) if dims else () for side in sides for _, dims in side),
    )


def ranks(signature: tuple) -> tuple:
    return tuple(map(len, signature[2]))


def test_repeated_compilations(example):
    """The seeds have no names: five programs under one, whose signatures differ in every way."""
    found = {tuple(row[:3]): row[3:] for row in example.execute(RETRACED).fetchall()}
    assert found
    assert retraced(example) == found


@pytest.mark.soak
@pytest.mark.corpus
def test_repeated_compilations_of_a_real_fleet(corpus, tmp_path):
    """The GPU fleet: jit_multiply with 87 signatures in one run, and one content 12 times."""
    from bufferhouse.commands.ingest_run import run_ingest

    path = tmp_path / "fleet.duckdb"
    assert 0 == run_ingest([str(archive) for archive in sorted((corpus / "fleet").glob("*.tar.gz"))], path).exit_code
    con = open_reader(path).con
    with con:
        most = "SELECT MAX({}) FROM marts.retraced_programs_v1 WHERE program_name = '{}'"
        assert (87,) == con.execute(most.format("signature_count", "jit_multiply")).fetchone()
        assert (12,) == con.execute(most.format("most_identical_count", "jit__unnamed_wrapped_function")).fetchone()
        found = {tuple(row[:3]): row[3:] for row in con.execute(RETRACED).fetchall()}
        assert retraced(con) == found
