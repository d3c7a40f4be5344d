"""Batches that are parsed while the next ones are read: the same warehouse as one at a time."""

from contextlib import contextmanager
from functools import partial
from multiprocessing import active_children

import pytest

from bufferhouse.dump.identity import content_of
from bufferhouse.ingest.all_sources import load_ready
from bufferhouse.ingest.processes import executor
from bufferhouse.ingest.source import Pass, Source, look
from bufferhouse.ingest.workers import Parsers, own_parsers, parse_work
from bufferhouse.warehouse.load import load
from bufferhouse.warehouse.open import writing
from tests.ingests import name_of
from tests.synthetic import small_dump
from tests.warehouses import contents, differences

DAMAGED = small_dump(99)[:-200]


@pytest.fixture(autouse=True)
def three_dumps_a_batch(monkeypatch):
    """Small batches, so that a few dumps are many."""
    monkeypatch.setattr("bufferhouse.ingest.batching.BATCH_DUMPS", 3)
    monkeypatch.setattr("bufferhouse.ingest.batching._CHUNK_DUMPS", 3)


@pytest.fixture
def sources(tmp_path):
    """Contents that come again while they are on their way, among them one that is refused."""
    texts = [small_dump(n) for n in (0, 1, 2, 3, 0, 4, 1, 5, 6, 6)] + [DAMAGED] + [small_dump(n) for n in (7, 3, 8, 9)]
    (tmp_path / "run").mkdir()
    for number, text in enumerate([*texts, DAMAGED]):
        (tmp_path / "run" / name_of(number)).write_bytes(text)
    return tmp_path / "run"


@contextmanager
def late_parsers(ahead: int, heard: list[str]):
    """Parsers that begin as many batches as they may before the first is waited for, and parse it only then."""

    def begin(number, work):
        heard.append(f"begin {number}")
        return lambda: heard.append(f"wait {number}") or parse_work(work)

    yield Parsers(begin, ahead)


def ingested(path, sources, open_parsers) -> Pass:
    source, result = Source("all", [str(sources)]), Pass()
    with writing(path) as writer:

        def load_one(_number, parsed, found, result, started_at):
            result.add(load(writer, parsed, found.discovery.runs, started_at))

        load_ready(
            writer, [source], {"all": look(source)}, {"all": result}, open_parsers, load_one, lambda done, of: None
        )
    return result


def test_batches_parsed_ahead_leave_the_same_warehouse(sources, tmp_path):
    """With three batches on their way: each content once, each file seen, the refusal of two files told for both."""
    one, two = tmp_path / "one.duckdb", tmp_path / "two.duckdb"
    heard: list[str] = []
    by_one = ingested(one, sources, partial(own_parsers, 1))
    by_two = ingested(two, sources, partial(late_parsers, 2, heard))
    assert (10, 4, 2) == (by_one.new, by_one.known, by_one.rejected)
    assert (10, 4, 2) == (by_two.new, by_two.known, by_two.rejected)
    different = differences(one, two)
    assert dict.fromkeys(different, 0) == different
    assert ["begin 1", "begin 2", "begin 3", "wait 1", "begin 4", "wait 2"] == heard[:6]


@pytest.fixture
def two_cores(monkeypatch):
    """A machine with two cores, where processes are worth starting."""
    monkeypatch.setattr("os.cpu_count", lambda: 2)


def work_of(*numbers: int):
    texts = [{"combined": small_dump(number)} for number in numbers]
    return [(content_of(files), files) for files in texts]


def test_processes_are_started_for_the_batch_that_makes_them_worth_it(two_cores, monkeypatch):
    """Before it this process parses, one batch at a time; the largest dump does not count, as it is one's work."""
    three = sum(len(small_dump(number)) for number in range(3))
    monkeypatch.setattr("bufferhouse.ingest.workers.SMALLEST_INPUT_BYTES", three)
    seen = []
    with own_parsers(None) as parsers:
        for number, work in enumerate([work_of(0), work_of(1, 2), work_of(3, 4), work_of(5, 6)], 1):
            results = parsers.begin(number, work)()
            found = sum(len(result.tables.frames["dumps"]) for result in results)
            seen.append((found, len(results), parsers.ahead, len(active_children())))
    assert [(1, 1, 0, 0), (2, 1, 0, 0), (2, 2, 1, 2), (2, 2, 1, 2)] == seen
    assert [] == active_children()


@pytest.mark.parametrize(("workers", "processes"), [(1, 0), (2, 2)])
def test_who_says_how_many_processes_has_them_at_once(workers, processes):
    with own_parsers(workers) as parsers:
        assert (min(processes, 1), processes or 1) == (parsers.ahead, len(parsers.begin(1, work_of(0, 1))()))
        assert processes == len(active_children())


@pytest.mark.parametrize(("share", "pools"), [(1, 0), (0.25, 1)])
def test_new_text_alone_asks_for_processes(sources, tmp_path, two_cores, monkeypatch, share, pools):
    """Files that repeat a content do not; from whenever processes parse, the warehouse is the same."""
    text_bytes = sum(path.stat().st_size for path in sources.iterdir())
    monkeypatch.setattr("bufferhouse.ingest.workers.SMALLEST_INPUT_BYTES", int(text_bytes * share))
    opened = []
    monkeypatch.setattr("bufferhouse.ingest.workers.executor", lambda count: opened.append(count) or executor(count))
    one, two = tmp_path / "one.duckdb", tmp_path / "two.duckdb"
    by_itself = ingested(two, sources, partial(own_parsers, None))
    assert [2] * pools == opened
    by_one = ingested(one, sources, partial(own_parsers, 1))
    assert (by_one.new, by_one.known, by_one.rejected) == (by_itself.new, by_itself.known, by_itself.rejected)
    assert contents(one) == contents(two)
