"""What the page of two runs says beside its tables of causes: waterfalls, and the values at both peaks."""

import json
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import pytest

from bufferhouse.compare import causes as C
from bufferhouse.config.threshold import Threshold
from bufferhouse.query.statements import Record
from bufferhouse.report.compare import page as making
from bufferhouse.report.compare.data import Comparison, read_comparison
from bufferhouse.report.compare.page import compare_page
from tests.command_line import call
from tests.report.pages import Parts

CPU = ("jaxlib-0.4.38", "jaxlib-0.6.0")
TPU = ("tpu-v5e-jaxlib-0.4.38-libtpu-0.0.8", "tpu-v5e-jaxlib-0.8.3-libtpu-0.0.33")
PAIR = ("before_dump_id", "after_dump_id", "memory_space")


@pytest.fixture(scope="module", params=[CPU, TPU], ids=["cpu", "tpu"])
def comparison(request: pytest.FixtureRequest, example_warehouse: Path) -> Comparison:
    """Two runs of a platform; every change counts as relevant, so that five are explained."""
    return read_comparison(example_warehouse, *request.param, relevant=Threshold(0, 1))


@pytest.fixture(scope="module")
def parts(comparison: Comparison) -> Parts:
    """The parts of their page."""
    return Parts(compare_page(comparison))


def embedded(parts: Parts, name: str) -> dict[tuple, list[Record]]:
    """The records of an answer of a page, by pair of dumps and memory space; long ids are numbers again."""
    columns, found = parts.answer(name)
    records: dict[tuple, list[Record]] = defaultdict(list)
    for row in found:
        record = dict(zip(columns, row, strict=True))
        records[tuple(int(record[key]) for key in PAIR)].append(record)
    return records


def queried(path: Path, columns: str, mart: str, tmp_path: Path) -> dict[tuple, list]:
    """What `bufferhouse query` says of a mart, by the first two columns."""
    answer = tmp_path / "answer.json"
    asked = ("query", f"SELECT {columns} FROM {mart}", "--warehouse", path, "--format", "json", "-o", answer)
    assert 0 == call(*asked).code
    return {tuple(row.values())[:2]: list(row.values())[2:] for row in json.loads(answer.read_text())}


def test_a_waterfall_goes_from_before_to_after(
    comparison: Comparison, parts: Parts, example_warehouse: Path, tmp_path: Path
):
    """Each step begins where the one before ended; both ends are the mart's; all causes of the program are in it."""
    marts = queried(example_warehouse, "dump_id, memory_space, reserved_bytes", "marts.memory_space_trend_v1", tmp_path)
    waterfalls = embedded(parts, "compare_waterfall")
    assert 3 <= len(waterfalls) <= 5
    for (before_id, after_id, space), steps in waterfalls.items():
        causes = [one for one in comparison.causes if tuple(one[key] for key in PAIR) == (before_id, after_id, space)]
        first, *changes, last = steps
        nothing = [0]  # a memory space that the other side does not have
        assert marts.get((before_id, space), nothing) == [first["end_bytes"]]
        assert marts.get((after_id, space), nothing) == [last["end_bytes"]]
        assert all(one["end_bytes"] == other["start_bytes"] for one, other in pairwise([first, *changes]))
        assert changes[-1]["end_bytes"] == last["end_bytes"]
        assert min(one["end_bytes"] for one in steps) >= 0
        assert len(changes) <= 10
        assert len(causes) == sum(one["cause_count"] for one in changes)
        for way in (1, -1):
            sizes = [[one[name] for one in rows if one[name] * way > 0]
                     for name, rows in (("cause_bytes", causes), ("size_bytes", changes))]  # fmt: skip
            assert sum(sizes[0]) == sum(sizes[1])
            assert all(one in sizes[0] for one in sizes[1][: len(sizes[1]) - 1])


def test_values_at_the_peaks_are_those_of_the_marts(parts: Parts, example_warehouse: Path, tmp_path: Path):
    """Slots and positions are those of `query`, each value stands once, and owned bytes sum to the occupied peaks."""
    columns = "dump_id, value_id, size_bytes, start_position, end_position"
    values = queried(example_warehouse, columns, "marts.allocation_map_v1", tmp_path)
    columns = "dump_id, memory_space, occupied_peak_bytes"
    peaks = queried(example_warehouse, columns, "marts.peak_memory_v1", tmp_path)
    matches, unmatched = embedded(parts, "compare_matches"), embedded(parts, "compare_unmatched")
    assert matches
    assert unmatched
    for key in matches.keys() | unmatched.keys():
        for place, side in enumerate(("before", "after")):
            alone = [one for one in unmatched[key] if one["side"] == side]
            shown = [
                *([one[f"{side}_{name}"] for name in ("value_id", "slot_bytes", "start_position", "end_position")]
                  for one in matches[key]),
                *([one[name] for name in ("value_id", "slot_bytes", "start_position", "end_position")]
                  for one in alone),
            ]  # fmt: skip
            assert shown == [[value_id, *values[key[place], value_id]] for value_id, *_ in shown]
            assert len(shown) == len({value_id for value_id, *_ in shown})
            owned = [one[f"{side}_owned_bytes"] for one in matches[key]] + [
                abs(one["difference_bytes"]) for one in alone
            ]
            assert peaks.get((key[place], key[2]), [0]) == [sum(owned)]


def test_what_is_unmatched_bears_its_cause(comparison: Comparison, parts: Parts):
    """Of each cause that is a value at one peak, the table of unmatched values has the bytes that the causes have."""
    named = {C.ONLY_BEFORE, C.ONLY_AFTER, C.LIVES_TO_PEAK, C.FREED_BEFORE, C.MOVED_OUT, C.MOVED_IN}
    for key, records in embedded(parts, "compare_unmatched").items():
        expected, actual = defaultdict(int), defaultdict(int)
        for one in comparison.causes:
            if tuple(one[name] for name in PAIR) == key and one["cause_label"] in named:
                expected[one["cause_label"]] += one["cause_bytes"]
        for one in records:
            actual[one["cause_label"]] += one["difference_bytes"]
        assert expected == {cause: size for cause, size in actual.items() if size}


def test_a_page_lists_the_first_and_says_what_is_left_out(example_warehouse: Path, monkeypatch: pytest.MonkeyPatch):
    """Of many values the biggest differences and then the largest are in the page, the rest is counted."""
    comparison = read_comparison(example_warehouse, *CPU)
    everything = embedded(Parts(compare_page(comparison)), "compare_matches")
    monkeypatch.setattr(making, "LISTED", 3)
    written = compare_page(comparison)
    for key, records in embedded(Parts(written), "compare_matches").items():
        assert everything[key][:3] == records
        left = everything[key][3:]
        differing = sum(bool(one["difference_bytes"]) for one in left)
        if left:
            assert f"The page lists the first 3 and leaves out {len(left)} with " in written
            assert f"; {differing} of these differ." in written


@pytest.mark.parametrize("metric", ["occupied", pytest.param("temp", marks=pytest.mark.soak), "footprint"])
def test_other_metrics_have_their_waterfalls(example_warehouse: Path, metric: str):
    """Whatever is compared goes from before to after; the footprint knows no peaks, so nothing is matched there."""
    comparison = read_comparison(example_warehouse, *CPU, metric=metric)
    parts = Parts(compare_page(comparison))
    programs = {tuple(row[key] for key in PAIR): row for row in comparison.programs}
    for key, (first, *_, last) in embedded(parts, "compare_waterfall").items():
        row = programs[key]
        assert (row["before_bytes"], row["after_bytes"]) == (first["end_bytes"], last["end_bytes"])
    assert ("compare_matches" in parts.embedded("answers")) == (metric != "footprint")
