"""Programs compiled before and after one change: what was predicted, and what the compiler did."""

import pytest

from bufferhouse.ingest.in_memory import in_memory
from tests.command_line import CHECKOUT
from tests.whatif.truth import BUILDS, REASONS, line, pairs, unpacked

pytestmark = pytest.mark.corpus
PAGE = CHECKOUT / "docs" / "whatif.md"


@pytest.fixture(scope="module")
def found(corpus, tmp_path_factory):
    """All pairs of the corpus, with the edits that say their change."""
    folder = unpacked(tmp_path_factory.mktemp("whatif"))
    with in_memory([str(folder / build) for build in BUILDS]) as con:
        return pairs(con, folder)


def test_each_miss_has_its_reason(found):
    """None of these is called exact (test_dropped.py has one that is); all are inside the bounds, or are listed."""
    assert 40 == len(found)
    assert not [pair.name for pair in found if "exact" in pair.labels]
    missed = {(pair.build, pair.name) for pair in found if pair.outcome is None or not pair.is_hit}
    assert REASONS.keys() == missed


def test_donations_are_bounded(found):
    """The occupied peak of a donation lies between the prediction and that before, in every pair."""
    donations = [pair for pair in found if "donate" in pair.name]
    assert 8 == len(donations)
    for pair in donations:
        outcome = pair.outcome
        assert outcome.after.occupied_bytes <= pair.truth.occupied_bytes <= outcome.before.occupied_bytes


def test_the_page_shows_what_is_predicted(found):
    """The table of docs/whatif.md is made of these pairs: a number that moved is seen there."""
    rows = [row for row in PAGE.read_text().splitlines() if row.startswith(("| cpu ", "| tpu "))]
    assert [line(pair) for pair in found] == rows
