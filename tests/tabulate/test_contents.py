"""Contents to frames: a bad one is refused alone, whoever reads."""

import pytest

from bufferhouse.dump.identity import content_of
from bufferhouse.tabulate.contents import parse_contents
from tests.synthetic import small_dump
from tests.tabulate.readers import switched


@pytest.mark.parametrize("native", ["1", "0"])
def test_a_damaged_dump_is_refused_alone(native):
    """Its neighbors are taken, in their order."""
    texts = [small_dump(number) for number in range(4)]
    texts[2] = texts[2][:-30]
    work = [(content_of({"combined": text}), {"combined": text}) for text in texts]
    with switched(native):
        found = parse_contents(work)
    kept = [content.dump_id for number, (content, _) in enumerate(work) if number != 2]
    assert [work[2][0].dump_id] == list(found.refusals)
    assert kept == found.tables.frames["dumps"]["dump_id"].to_list()
    assert set(kept) == found.signature_ids.keys()


def test_no_contents_are_no_rows():
    """All tables are there, and empty."""
    assert {0} == {len(frame) for frame in parse_contents([]).tables.frames.values()}
