"""Donation candidates against a search for the most pairs over what the oracle reads, sharing no code with the mart."""

import random
import re

import pytest

from bufferhouse.ingest.in_memory import in_memory
from bufferhouse.paths import CHECKOUT
from bufferhouse.warehouse.open import writing
from tests import oracle
from tests.models.readings import by_dump, oracle_dumps
from tests.samples import of_archive
from tests.synthetic import Slot, dump_text
from tests.warehouses import load_texts

CANDIDATES = """
    SELECT dump_id, parameter_allocation_index, output_allocation_index, memory_space, size_bytes, last_use_position,
        birth_position, is_meeting, has_same_shape
    FROM marts.donation_candidates_v1 ORDER BY dump_id, parameter_allocation_index
"""
TPU = ("tpu-v5e-jaxlib-0.4.38-libtpu-0.0.8", "tpu-v5e-jaxlib-0.8.3-libtpu-0.0.33")


def sides(dump: dict) -> tuple[dict[int, tuple], dict[int, tuple]]:
    """Parameters without an output, and outputs without a parameter, by allocation: space, size, moment, shapes.

    The moment of a parameter is its last use, -1 without one; that of an output is its birth.
    """
    places = {name: position for position, name in reversed(list(enumerate(dump["schedule"] or [])))}
    parameters, outputs = {}, {}
    for allocation in dump["allocations"]:
        values = [value for value in dump["values"].values() if value["allocation"] == allocation["index"]]
        is_parameter, is_output = allocation["parameter_number"] is not None, allocation["is_maybe_live_out"]
        if is_parameter == is_output or not allocation["size"] or not values:
            continue
        arrays = [value for value in values if not value["shape"].startswith("(")]
        key = allocation["memory_space"], allocation["size"]
        shapes = {re.sub(r"\{.*", "", value["shape"]) for value in arrays}
        if is_parameter and len(arrays) == len(values) and all(value.get("uses") is not None for value in values):
            uses = [name for value in values for name, _, _ in value["uses"]]
            if all(name in places for name in uses):
                parameters[allocation["index"]] = (*key, max((places[name] for name in uses), default=-1), shapes)
        if is_output and arrays and all(value["live_range"] for value in values):
            outputs[allocation["index"]] = (*key, min(value["live_range"][0] for value in values), shapes)
    return parameters, outputs


def most_pairs(edges: dict[int, list[int]]) -> int:
    """The size of a largest matching, by augmenting paths; `edges` gives the outputs a parameter may stand beside."""
    taken: dict[int, int] = {}

    def is_placed(parameter: int, seen: set[int]) -> bool:
        for output in edges[parameter]:
            if output not in seen:
                seen.add(output)
                if output not in taken or is_placed(taken[output], seen):
                    taken[output] = parameter
                    return True
        return False

    return sum(is_placed(parameter, set()) for parameter in edges)


def assert_right(dump: dict, rows: list[tuple]) -> None:
    """Every row is a pair that may be, no allocation stands in two, and there are as many rows as there can be."""
    parameters, outputs = sides(dump)
    edges = {
        index: [
            other
            for other, (*own_key, birth, _) in outputs.items()
            if tuple(own_key) == tuple(key) and last_use <= birth
        ]
        for index, (*key, last_use, _) in parameters.items()
    }
    for parameter, output, space, size, last_use, birth, is_meeting, has_same_shape in rows:
        assert output in edges[parameter]
        moment = -1 if last_use is None else last_use
        assert (*parameters[parameter][:3], birth) == (space, size, moment, outputs[output][2])
        assert (moment == birth) == is_meeting
        assert not has_same_shape or parameters[parameter][3] & outputs[output][3]
    assert len(rows) == len({row[0] for row in rows}) == len({row[1] for row in rows})
    assert most_pairs(edges) == len(rows)


def test_candidates_of_the_fleet(example, fleet):
    """Each dump of the example fleet has as many pairs as there can be, and none that may not be."""
    found, dumps = by_dump(example, CANDIDATES), oracle_dumps(example, fleet)
    assert found.keys() <= dumps.keys()
    assert len(found) > 50
    for dump_id, dump in dumps.items():
        assert_right(dump, found.get(dump_id, []))


def random_dump(chance: random.Random) -> bytes:
    """Parameters and outputs of few sizes; parameters are used at random, some never."""
    slots, headers, uses = [], [], {}
    for index in range(chance.randrange(2, 12)):
        size, is_parameter = chance.choice((32, 64)), chance.random() < 0.5
        birth = 0 if is_parameter else chance.randrange(12)
        slots.append(Slot(birth, 12, 0, size, index))
        header = f", parameter {index}, shape |u8[{size}]| at ShapeIndex {{}}" if is_parameter else ""
        headers.append(header + (", maybe-live-out" if not is_parameter or chance.random() < 0.1 else ""))
        if is_parameter:
            uses[index] = [chance.randrange(12) for _ in range(chance.randrange(3))]
    text = dump_text(slots, headers).decode()
    for index, positions in uses.items():
        lines = "".join(f"  v{position}, operand 0\n" for position in positions)
        text = text.replace(f"  v{index}\n uses:\n", f"  v{index}\n uses:\n{lines}")
    schedule = "".join(f"    {position}:v{position}\n" for position in range(12))
    return re.sub(r"(Sequence:\n)(?:    \d+:v\d+\n)+", rf"\g<1>{schedule}", text).encode()


def test_any_parameters_and_outputs_make_the_most_pairs():
    """Also where an early output finds nothing, or a parameter is never used: 60 dumps made at random."""
    chance = random.Random(7)
    texts = [random_dump(chance) for _ in range(60)]
    with writing(None) as warehouse:
        ids = load_texts(warehouse, texts)
        found = by_dump(warehouse.con, CANDIDATES)
    counts = set()
    for dump_id, text in zip(ids, texts, strict=True):
        assert_right(oracle.read_dump(text.decode()), found.get(dump_id, []))
        counts.add(len(found.get(dump_id, [])))
    assert {0, 1, 2, 3} <= counts


SECOND = """
    SELECT dump_id, parameter_allocation_index, output_allocation_index, memory_space, size_bytes, last_use_position,
        birth_position, is_meeting, TRUE
    FROM marts.donation_candidates_v2 {} ORDER BY dump_id, parameter_allocation_index
"""


def test_every_parameter_that_xla_aliases_when_donated_is_a_candidate():
    """A step of SGD over nine layers: 18 weights and biases, compiled without donation and with it."""
    counts = {}
    for name in ("plain", "donated"):
        with in_memory([str(CHECKOUT / "tests" / "data" / "sgd" / name)]) as con:
            counts[name] = con.execute(
                "SELECT COUNT(*), COUNT(*) FILTER (WHERE is_in_this_schedule),"
                " (SELECT COUNT(*) FROM staging.allocations WHERE kind = 'parameter' AND is_maybe_live_out)"
                " FROM marts.donation_candidates_v2"
            ).fetchone()
    assert {"plain": (18, 9, 0), "donated": (0, 0, 18)} == counts


def test_the_second_version_says_which_pairs_this_schedule_permits(example, fleet):
    """Those are pairs that may be, of one shape; of the others no output is placed twice and no parameter."""
    dumps = oracle_dumps(example, fleet)
    every, timed = (by_dump(example, SECOND.format(where)) for where in ("", "WHERE is_in_this_schedule"))
    assert timed.keys() < every.keys() <= dumps.keys()
    for dump_id, found in every.items():
        assert len(found) == len({row[0] for row in found}) == len({row[1] for row in found})
        parameters, outputs = sides(dumps[dump_id])
        for parameter, output, space, size, last_use, birth, is_meeting, _ in timed.get(dump_id, []):
            *own, moment, shapes = parameters[parameter]
            assert [space, size] == own == list(outputs[output][:2])
            assert (moment, birth) == (-1 if last_use is None else last_use, outputs[output][2])
            assert moment <= birth
            assert (moment == birth) == is_meeting
            assert shapes & outputs[output][3]


@pytest.mark.corpus
@pytest.mark.soak
def test_candidates_of_the_tpu_builds(corpus):
    """58 of 71 programs have candidates, 218 pairs in all; the two huge programs aside 56 have, 6.5 MB of them."""
    pairs, programs, huge = [], 0, 0
    for build in TPU:
        archive = corpus / "builds" / f"{build}.tar.gz"
        with in_memory([str(archive)]) as con:
            found = by_dump(con, CANDIDATES)
            names = dict(con.execute("SELECT dump_id, module_name FROM marts.observations_v1").fetchall())
            paths = dict(con.execute("SELECT relative_path, dump_id FROM marts.observations_v1").fetchall())
        dumps = {paths[sample.name.rpartition("/")[2]]: sample.files["combined"] for sample in of_archive(archive)}
        for dump_id, text in dumps.items():
            assert_right(oracle.read_dump(text.decode()), found.get(dump_id, []))
        programs += len(found)
        pairs += [row[3] for rows in found.values() for row in rows]
        huge += sum(row[3] for dump_id, rows in found.items() if "huge" in names[dump_id] for row in rows)
    assert (58, 218, 300_654_232_320) == (programs, len(pairs), sum(pairs))
    assert 6_521_600 == sum(pairs) - huge
