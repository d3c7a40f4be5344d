"""Batches that are parsed while the next ones are read: the same warehouse as one at a time."""

from contextlib import nullcontext
from functools import partial

import pytest

from bufferhouse.dump.identity import content_of
from bufferhouse.ingest.pipeline import ingest
from bufferhouse.ingest.read import Limits
from bufferhouse.ingest.source import Source
from bufferhouse.ingest.summary import Summary
from bufferhouse.ingest.workers import Here, Workers
from bufferhouse.warehouse.open import writing
from tests.ingests import name_of
from tests.synthetic import small_dump
from tests.warehouses import contents, differences

DAMAGED = small_dump(99)[:-200]


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """Contents that come again while they are on their way, among them one that is refused."""
    texts = [small_dump(n) for n in (0, 1, 2, 3, 0, 4, 1, 5, 6, 6)] + [DAMAGED] + [small_dump(n) for n in (7, 3, 8, 9)]
    run = tmp_path_factory.mktemp("sources") / "run"
    run.mkdir()
    for number, text in enumerate([*texts, DAMAGED]):
        (run / name_of(number)).write_bytes(text)
    return run


class Late:
    """A pool that begins as many batches as it may before the first is waited for, and parses it only then."""

    def __init__(self, ahead: int, heard: list[str]) -> None:
        self.ahead = ahead
        self.heard = heard

    def begin(self, number, work):
        self.heard.append(f"begin {number}")
        return LatePending(number, work, self.heard)


class LatePending(Here):
    def __init__(self, number, work, heard) -> None:
        super().__init__(work)
        self.number = number
        self.heard = heard

    def result(self):
        self.heard.append(f"wait {self.number}")
        return super().result()


def ingested(path, sources, workers) -> Summary:
    """Ingest in batches of three, so that a few dumps are many, without models, which no worker builds."""
    source = Source.named([str(sources)])
    opened = writing(path, build_models=False)
    (summary,) = ingest([source], opened, workers=workers, limits=Limits(dumps=3)).values()
    return summary


@pytest.fixture(scope="module")
def one_by_one(sources, tmp_path_factory):
    """The warehouse of an ingest that parses one batch at a time, and its summary."""
    path = tmp_path_factory.mktemp("one") / "one.duckdb"
    return path, ingested(path, sources, Workers())


def test_batches_parsed_ahead_leave_the_same_warehouse(sources, one_by_one, tmp_path):
    """With three batches on their way: each content once, each file seen, the refusal of two files told for both."""
    (one, by_one), two = one_by_one, tmp_path / "two.duckdb"
    heard: list[str] = []
    by_two = ingested(two, sources, Workers(partial(nullcontext, Late(2, heard))))
    assert (10, 4, 2) == (by_one.new, by_one.known, by_one.rejected)
    assert (10, 4, 2) == (by_two.new, by_two.known, by_two.rejected)
    different = differences(one, two)
    assert dict.fromkeys(different, 0) == different
    assert ["begin 1", "begin 2", "begin 3", "wait 1", "begin 4", "wait 2"] == heard[:6]


def work_of(*numbers: int):
    texts = [{"combined": small_dump(number)} for number in numbers]
    return [(content_of(files), files) for files in texts]


def test_a_pool_is_opened_for_the_batch_that_makes_it_worth_it():
    """Before it this process parses, one batch at a time; the largest dump does not count, as it is one's work."""
    three = sum(len(small_dump(number)) for number in range(3))
    seen = []
    with Workers(partial(nullcontext, Late(1, [])), worth_bytes=three) as workers:
        for number, work in enumerate([work_of(0), work_of(1, 2), work_of(3, 4), work_of(5, 6)], 1):
            [result] = workers.begin(number, work).result()
            seen.append((len(result.tables.frames["dumps"]), workers.ahead, workers.pool is not None))
    assert [(1, 0, False), (2, 0, False), (2, 1, True), (2, 1, True)] == seen


@pytest.mark.parametrize(("count", "opened"), [(1, []), (2, [2])])
def test_who_says_how_many_workers_has_them_at_once(count, opened):
    """One is this process."""
    found = []

    def open_pool(number: int) -> nullcontext:
        found.append(number)
        return nullcontext(Late(1, []))

    with Workers.counted(count, open_pool) as workers:
        assert 1 == len(workers.begin(1, work_of(0, 1)).result())
    assert opened == found


@pytest.mark.parametrize(("share", "is_opened"), [(1, False), (0.25, True)])
def test_new_text_alone_asks_for_a_pool(sources, one_by_one, tmp_path, share, is_opened):
    """Files that repeat a content do not; from whenever others parse, the warehouse is the same."""
    text_bytes = sum(path.stat().st_size for path in sources.iterdir())
    (one, by_one), two = one_by_one, tmp_path / "two.duckdb"
    workers = Workers(partial(nullcontext, Late(1, [])), worth_bytes=int(text_bytes * share))
    by_itself = ingested(two, sources, workers)
    assert is_opened == (workers.pool is not None)
    assert (by_one.new, by_one.known, by_one.rejected) == (by_itself.new, by_itself.known, by_itself.rejected)
    assert contents(one) == contents(two)
