"""Writers at once, and readers throughout: nobody fails, nobody sees half a load."""

import json
import threading
from pathlib import Path

import pytest

from bufferhouse.warehouse.open import writing
from tests.command_line import Outcome, call, kill_group, run, start
from tests.ingests import write_dumps
from tests.warehouses import contents, counts

# Asks again and again until a file appears, and once more then; every answer must close, and nothing that was there may
# be gone.
READER = """
import sys, time
from pathlib import Path
from bufferhouse.warehouse.open import reading

path, end = Path(sys.argv[1]), Path(sys.argv[2])
polls, noted, most = 0, 0, 0
is_over = False
while not is_over:
    is_over = end.exists()
    with reading(path, wait=60) as opened:
        con, note = opened.con, opened.note
        [(dumps, brought)] = con.execute(
            "SELECT (SELECT COUNT(*) FROM raw.dumps), (SELECT COALESCE(SUM(new_count), 0) FROM raw.loads)"
        ).fetchall()
        torn = con.execute(
            "SELECT d.dump_id FROM raw.dumps AS d LEFT JOIN raw.allocations AS a USING (dump_id)"
            " GROUP BY d.dump_id, d.total_bytes HAVING SUM(a.size_bytes) <> d.total_bytes"
            " UNION ALL SELECT dump_id FROM raw.dumps ANTI JOIN intermediate.peaks USING (dump_id)"
            " UNION ALL SELECT dump_id FROM raw.dumps ANTI JOIN raw.observations USING (dump_id)"
        ).fetchall()
    assert not torn and dumps == brought and dumps >= most, (torn, dumps, brought, most)
    most = dumps
    polls += 1
    noted += note is not None
    time.sleep(0.05)
print(polls, noted, most)
"""


@pytest.mark.soak
@pytest.mark.slow
def test_two_writers_and_three_readers(blank_warehouse, tmp_path):
    """Each writer waits for the other and both finish; readers poll throughout, sums are right in every answer, and
    in the end the rows are those of one writer alone."""
    path, end = tmp_path / "w.duckdb", tmp_path / "end"
    path.write_bytes(blank_warehouse.read_bytes())
    assert 0 == run("publish", "--warehouse", path).code
    parts = [[], []]
    for number in range(4):
        run_ = tmp_path / f"run_{number}"
        write_dumps(run_, range(number * 60, number * 60 + 100))  # some contents are in two runs
        parts[number % 2].append(run_)
    outcomes: list[Outcome] = []

    def write(sources: list[Path]) -> None:
        for source in sources:
            outcomes.append(run("ingest", source, "--warehouse", path, "--publish", "--wait", 60))

    readers = [start(path, end, code=READER) for _ in range(3)]
    try:
        writers = [threading.Thread(target=write, args=(sources,)) for sources in parts]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        end.touch()
        answers = [reader.communicate(timeout=60) for reader in readers]
    finally:
        for reader in readers:
            kill_group(reader)
    assert [0] * 4 == [outcome.code for outcome in outcomes], [outcome.err for outcome in outcomes]
    assert [(0, "")] * 3 == [(reader.returncode, err) for reader, (_, err) in zip(readers, answers, strict=True)]
    polls = [[int(word) for word in out.split()] for out, _ in answers]
    assert all(count > 10 for count, _, _ in polls), polls
    assert any(noted for _, noted, _ in polls), "no reader ever met a writer"
    assert {280} == {most for _, _, most in polls}
    alone = tmp_path / "alone.duckdb"
    for source in sorted(tmp_path.glob("run_*")):
        assert 0 == call("ingest", source, "--warehouse", alone).code
    expected, found = contents(alone), contents(path)
    for table in expected.keys() - {"loads"}:
        assert expected[table] == found[table], table


@pytest.mark.slow
def test_the_same_directory_twice_at_once(tmp_path):
    """Both commands end well: what one loads is known to the other, and nothing is there twice."""
    path = tmp_path / "w.duckdb"
    write_dumps(tmp_path / "run", range(30))
    words = ["ingest", tmp_path / "run", "--warehouse", path, "--wait", 60, "--format", "json"]
    other = start(*words)
    try:
        own = call(*words)
        out, err = other.communicate(timeout=60)
    finally:
        kill_group(other)
    assert (0, 0) == (own.code, other.returncode), own.err + err
    summaries = [json.loads(said) for said in (own.out, out)]
    assert [(0, 30), (30, 0)] == sorted((summary["new"], summary["known"]) for summary in summaries)
    tables = counts(path)
    assert (1, 30, 30) == tuple(tables[table] for table in ("runs", "dumps", "observations"))


def test_a_reader_of_a_current_copy_is_in_no_writers_way(warehouse, tmp_path):
    """Where the published copy has everything, it is read, and a writer need not wait for the reader."""
    with writing(warehouse) as writer:
        writer.publish()
    end = tmp_path / "end"
    reader = start(warehouse, end, code=READER)
    try:
        write_dumps(tmp_path / "run", [1])
        outcomes = [call("ingest", tmp_path / "run", "--warehouse", warehouse, "--publish")]
        write_dumps(tmp_path / "run", [2])
        outcomes += [call("ingest", tmp_path / "run", "--warehouse", warehouse, "--publish", "--wait", 60)]
        end.touch()
        _, err = reader.communicate(timeout=60)
    finally:
        kill_group(reader)
    assert [0, 0] == [outcome.code for outcome in outcomes], outcomes
    assert (0, "") == (reader.returncode, err)
