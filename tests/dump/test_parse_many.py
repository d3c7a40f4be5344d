"""Dumps read together: the same columns as each alone, or an answer that each has to be read alone."""

from itertools import groupby

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bufferhouse.dump import Dump, DumpError, parse, parse_many, render
from tests.dump.strategies import dumps
from tests.fuzz import several, two_together
from tests.samples import Sample, of_fleet

RUNS = {
    run: list(samples)
    for run, samples in groupby(of_fleet(), lambda sample: sample.name.split("/")[0])
    if run != "seeds"
}


def read_together(samples: list[Sample]):
    return parse_many.read([parse_many.sections(sample.files) for sample in samples])


@pytest.mark.parametrize("run", sorted(RUNS))
def test_neighbours_are_what_each_is_alone(run: str):
    """The dumps of a run, cut and read as one, have the facts and rows that each has when it is parsed alone."""
    samples = [sample for sample in RUNS[run] if parse_many.sections(sample.files) is not None]
    assert len(samples) > len(RUNS[run]) / 2
    assert several(*[parse(sample.files) for sample in samples]) == read_together(samples)


@given(st.lists(dumps(), min_size=2, max_size=4))
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_generated_neighbours_are_what_each_is_alone(generated: list[Dump]):
    """Whatever the grammar allows: the same columns, or none."""
    cuts = [parse_many.sections(render(dump)) for dump in generated]
    if None not in cuts and len({cut.form for cut in cuts}) == 1:
        assert parse_many.read(cuts) in (None, several(*generated))


LINES = {
    "an allocation number": (b"allocation 1: ", b"allocation 2: "),
    "a total": (b"Total bytes used: ", b"Total bytes used: 1"),
    "a value that comes twice": (b" value: <1 ", b" value: <0 "),
    "the flag of no flag": (b", preallocated-temp:", b":"),
    "a sequence number": (b"\n    1:", b"\n    7:"),
    "the length of the schedule": (b"HloLiveRange (max ", b"HloLiveRange (max 1"),
    "a range that ends too late": (b"{}:0-", b"{}:99999-"),
    "a peak behind the schedule": (b"  Live ranges at ", b"  Live ranges at 99"),
    "a peak line too few": (b" (peak):\n    ", b" (peak):\n   "),
    "a cut end": (b" bytes)\n", b" byt"),
}


@pytest.mark.parametrize("fault", LINES)
def test_one_fault_sends_all_back_to_be_read_alone(fault: str):
    """No dump that is refused alone is taken in company, and it takes nobody with it that is good."""
    good = [sample for sample in RUNS["jaxlib-0.9.0"] if parse_many.sections(sample.files) is not None]
    old, new = LINES[fault]
    sample = next(sample for sample in good if old in sample.files["combined"])
    bad = sample._replace(files={"combined": sample.files["combined"].replace(old, new)})
    with pytest.raises(DumpError):
        parse(bad.files)
    cuts = [parse_many.sections(one.files) for one in (good[0], bad, good[1])]
    assert None in cuts or parse_many.read(cuts) is None
    assert two_together(bad.files) is None
    assert read_together(good[:2]) == several(*[parse(one.files) for one in good[:2]])
