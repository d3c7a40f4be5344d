"""Batches that are parsed while the next ones are read: the same warehouse as one at a time."""

import pickle
import subprocess
import sys
from contextlib import nullcontext
from functools import partial

import pytest

from bufferhouse.dump.identity import content_of
from bufferhouse.ingest.pipeline import ingest
from bufferhouse.ingest.read import Limits
from bufferhouse.ingest.source import Source
from bufferhouse.ingest.summary import Summary
from bufferhouse.ingest.workers import Here, Processes, Workers
from bufferhouse.warehouse.open import writing
from tests.command_line import CHECKOUT
from tests.ingests import name_of
from tests.synthetic import small_dump
from tests.warehouses import contents, differences

DAMAGED = small_dump(99)[:-200]


@pytest.fixture
def sources(tmp_path):
    """Contents that come again while they are on their way, among them one that is refused."""
    texts = [small_dump(n) for n in (0, 1, 2, 3, 0, 4, 1, 5, 6, 6)] + [DAMAGED] + [small_dump(n) for n in (7, 3, 8, 9)]
    (tmp_path / "run").mkdir()
    for number, text in enumerate([*texts, DAMAGED]):
        (tmp_path / "run" / name_of(number)).write_bytes(text)
    return tmp_path / "run"


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
    """Ingest in batches of three, so that a few dumps are many."""
    source = Source.named([str(sources)])
    (summary,) = ingest([source], writing(path), workers=workers, limits=Limits(dumps=3)).values()
    return summary


def test_batches_parsed_ahead_leave_the_same_warehouse(sources, tmp_path):
    """With three batches on their way: each content once, each file seen, the refusal of two files told for both."""
    one, two = tmp_path / "one.duckdb", tmp_path / "two.duckdb"
    heard: list[str] = []
    by_one = ingested(one, sources, Workers())
    by_two = ingested(two, sources, Workers(partial(nullcontext, Late(2, heard))))
    assert (10, 4, 2) == (by_one.new, by_one.known, by_one.rejected)
    assert (10, 4, 2) == (by_two.new, by_two.known, by_two.rejected)
    different = differences(one, two)
    assert dict.fromkeys(different, 0) == different
    assert ["begin 1", "begin 2", "begin 3", "wait 1", "begin 4", "wait 2"] == heard[:6]


def work_of(*numbers: int):
    texts = [{"combined": small_dump(number)} for number in numbers]
    return [(content_of(files), files) for files in texts]


def test_processes_are_started_for_the_batch_that_makes_them_worth_it():
    """Before it this process parses, one batch at a time; the largest dump does not count, as it is one's work."""
    three = sum(len(small_dump(number)) for number in range(3))
    seen = []
    with Workers(partial(Processes, 2), worth_bytes=three) as workers:
        for number, work in enumerate([work_of(0), work_of(1, 2), work_of(3, 4), work_of(5, 6)], 1):
            results = workers.begin(number, work).result()
            found = sum(len(result.tables.frames["dumps"]) for result in results)
            seen.append((found, len(results), workers.ahead, workers.pool is not None))
        processes = workers.pool.processes
        assert [None, None] == [process.poll() for process in processes]
    assert [(1, 1, 0, False), (2, 1, 0, False), (2, 2, 1, True), (2, 2, 1, True)] == seen
    assert [0, 0] == [process.poll() for process in processes]


@pytest.mark.parametrize(("count", "processes"), [(1, 0), (2, 2)])
def test_who_says_how_many_processes_has_them_at_once(count, processes):
    """One is this process."""
    with Workers.counted(count) as workers:
        assert max(count, 1) == len(workers.begin(1, work_of(0, 1)).result())
        assert processes == (len(workers.pool.processes) if workers.pool else 0)


@pytest.mark.parametrize(("share", "is_opened"), [(1, False), (0.25, True)])
def test_new_text_alone_asks_for_processes(sources, tmp_path, share, is_opened):
    """Files that repeat a content do not; from whenever processes parse, the warehouse is the same."""
    text_bytes = sum(path.stat().st_size for path in sources.iterdir())
    one, two = tmp_path / "one.duckdb", tmp_path / "two.duckdb"
    workers = Workers(partial(Processes, 2), worth_bytes=int(text_bytes * share))
    by_itself = ingested(two, sources, workers)
    assert is_opened == (workers.pool is not None)
    by_one = ingested(one, sources, Workers())
    assert (by_one.new, by_one.known, by_one.rejected) == (by_itself.new, by_itself.known, by_itself.rejected)
    assert contents(one) == contents(two)


def test_a_worker_that_is_killed_is_told_with_the_way_out():
    """The system ends one for its memory, say: an error that names it, not an ingest that waits for ever."""
    with Processes(2) as pool:
        for process in pool.processes:
            process.kill()
        with pytest.raises(ChildProcessError, match="exit code -9; was it killed for its memory"):
            pool.begin(1, work_of(0, 1)).result()


def test_a_worker_ends_where_its_order_breaks_off():
    """Who is killed while it tells a worker what to parse leaves half of it; the worker waits for no more."""
    with Processes(1) as pool:
        (worker,) = pool.processes
        order = pickle.dumps(work_of(0, 1), pickle.HIGHEST_PROTOCOL)
        worker.stdin.write(order[: len(order) // 2])
        worker.stdin.close()
        assert 0 == worker.wait(60)


def test_a_fault_in_a_worker_is_raised_here():
    """What is no work, say; the worker goes on."""
    with Processes(1) as pool:
        with pytest.raises(AttributeError):
            pool.parse([(None, None)])
        assert 2 == len(pool.parse(work_of(0, 1)).tables.frames["dumps"])


PROGRAM = """
print("main module imported", flush=True)
from bufferhouse.ingest.workers import Processes

if __name__ == "__main__":
    with Processes(2) as pool:
        print(len(pool.parse([]).refusals))
"""


def test_workers_do_not_import_what_their_parent_was_started_with(tmp_path):
    """The main module of a flow run is Prefect's, which takes seconds to import."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, str(program)], env={"PYTHONPATH": str(CHECKOUT)}, capture_output=True, text=True, timeout=120
    )
    assert ("main module imported\n0\n", 0) == (done.stdout, done.returncode), done.stderr
