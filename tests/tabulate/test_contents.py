"""Contents to frames: neighbours are read together, and a fault in that stops nothing."""

import pytest

from bufferhouse.dump import parse_many
from bufferhouse.dump.identity import content_of
from bufferhouse.tabulate.contents import parse_contents
from tests.synthetic import small_dump


@pytest.mark.parametrize("part", ["sections", "read"])
def test_a_fault_of_reading_together_leaves_each_to_be_read_alone(monkeypatch, part):
    """The same frames, and the same refusal of the dump that is damaged."""
    texts = [small_dump(number) for number in range(4)]
    texts[2] = texts[2][:-30]
    work = [(content_of({"combined": text}), {"combined": text}) for text in texts]
    expected = parse_contents(work)

    def faulty(_what: object) -> None:
        raise TypeError("a fault of the reader")

    monkeypatch.setattr(parse_many, part, faulty)
    found = parse_contents(work)
    assert expected.refusals == found.refusals
    assert [work[2][0].dump_id] == list(found.refusals)
    assert expected.signature_ids == found.signature_ids
    assert {} == {
        table: frame for table, frame in found.tables.frames.items() if not expected.tables.frames[table].equals(frame)
    }
