"""kill -9 at any moment: the warehouse opens, every load is whole or absent, and the same command finishes the work."""

import random
import shutil
import time
from collections.abc import Callable
from dataclasses import astuple, dataclass
from pathlib import Path

import duckdb
import pytest

from bufferhouse.warehouse.file import undo_left
from tests.command_line import CHECKOUT, Outcome, call, start
from tests.dump.damage import DAMAGES, damaged, renamed, sources
from tests.ingests import name_of
from tests.warehouses import derived, published_path

pytestmark = pytest.mark.slow

DUMPS = 64
BROKEN = RUNS = 8  # one in each
BATCH_DUMPS = 4


@pytest.fixture(scope="module")
def dumps(tmp_path_factory) -> Path:
    """Real dumps that all differ, and a broken one in each run."""
    directory = tmp_path_factory.mktemp("crash")
    texts = sorted(sources(CHECKOUT / "examples" / "fleet"), key=len)[:30]
    kinds = list(DAMAGES)
    for number in range(DUMPS):
        text = renamed(texts[number % len(texts)], number)
        if number % (DUMPS // BROKEN) == 3:
            text, _ = damaged(text, kinds[number // (DUMPS // BROKEN)])
        run = directory / f"run_{number // (DUMPS // RUNS)}"
        run.mkdir(exist_ok=True)
        (run / name_of(number)).write_bytes(text)
    return directory


@pytest.fixture(autouse=True)
def small_batches(monkeypatch) -> None:
    """So that there are many commits to be killed in."""
    monkeypatch.setenv("BUFFERHOUSE_BATCH_DUMPS", str(BATCH_DUMPS))


def finished(*words: object) -> Outcome:
    """Run a command to its end, in this process and with batches as they usually are: nobody kills it in a commit."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("BUFFERHOUSE_BATCH_DUMPS", raising=False)
        return call(*words)


def tables(path: Path) -> dict:
    """All rows but those of raw.loads, and the tables of the incremental models, as a reader of ours finds them."""
    undo_left(path)
    return derived(path)


@pytest.fixture(scope="module")
def full(dumps, tmp_path_factory) -> Path:
    """What an ingest makes that nobody disturbs."""
    path = tmp_path_factory.mktemp("full") / "w.duckdb"
    assert 1 == finished("ingest", dumps, "--warehouse", path).code
    return path


@pytest.fixture(scope="module")
def undisturbed(full) -> dict:
    return tables(full)


# Moments to kill at, each a function that says when it has come.


def after(seconds: float) -> Callable[[], bool]:
    begin = time.monotonic()
    return lambda: time.monotonic() - begin > seconds


def at_change(path: Path, times: int) -> Callable[[], bool]:
    """The moment a file changes for the n-th time: in a commit, or in the checkpoint behind it."""
    seen: list[object] = [None]

    def moment() -> bool:
        try:
            stat = path.stat()
            now = (stat.st_size, stat.st_mtime_ns)
        except FileNotFoundError:
            now = None
        if now != seen[-1]:
            seen.append(now)
        return len(seen) > times + 1

    return moment


def at_file(directory: Path, pattern: str) -> Callable[[], bool]:
    return lambda: any(directory.glob(pattern))


def killed(moment: Callable[[], bool], *words: object) -> bool:
    """Run a command and kill it, and only it, when the moment has come; False where it came to its end before."""
    process = start(*words)
    while process.poll() is None and not moment():
        time.sleep(0.0005)
    process.kill()
    process.wait()
    ended_by_itself = process.returncode >= 0
    process.stdout.close()
    process.stderr.close()
    assert not ended_by_itself or process.returncode in (0, 1)
    return not ended_by_itself


def assert_whole(path: Path) -> tuple[int, int]:
    """Every load is there with all its rows, or not at all; return how many dumps and rejects there are."""
    if not path.exists():
        return 0, 0
    undo_left(path)
    with duckdb.connect(str(path), read_only=True) as con:
        if not con.execute("SELECT 1 FROM duckdb_tables() WHERE table_name = 'loads'").fetchone():
            return 0, 0
        by_load = con.execute(
            "SELECT l.new_count, l.new_count + l.known_count, l.rejected_count,"
            " (SELECT COUNT(*) FROM raw.dumps AS d WHERE d.load_id = l.load_id),"
            " (SELECT COUNT(*) FROM raw.observations AS o WHERE o.load_id = l.load_id),"
            " (SELECT COUNT(*) FROM raw.rejects AS r WHERE r.load_id = l.load_id) FROM raw.loads AS l"
        ).fetchall()
        assert [row[:3] for row in by_load] == [row[3:] for row in by_load]
        dumps, rejects = sum(row[0] for row in by_load), sum(row[2] for row in by_load)
        for table in ("allocations", "hlo_values", "dump_files"):
            assert (dumps,) == con.execute(f"SELECT COUNT(DISTINCT dump_id) FROM raw.{table}").fetchone()
    return dumps, rejects


def kill_until(count: int, path: Path, moments: Callable[[], Callable[[], bool]], *words: object) -> int:
    """Run a command and kill it, so many times; the warehouse must be whole each time. Return the kills."""
    kills, before = 0, 0
    for _ in range(count):
        kills += killed(moments(), *words, "--warehouse", path)
        now = assert_whole(path)[0]
        assert before <= now
        before = now
        if published_path(path).exists():
            assert_whole(published_path(path))
    return kills


@dataclass(frozen=True)
class Kills:
    """How often an ingest is killed, by where it is when it happens."""

    anywhere: int
    in_a_commit: int
    in_a_checkpoint: int
    publishing: int


@pytest.mark.parametrize(
    "wanted",
    [
        pytest.param(Kills(1, 1, 1, 1), id="a few"),
        pytest.param(Kills(13, 12, 4, 6), id="thirty", marks=pytest.mark.soak),
    ],
)
def test_killed_again_and_again_it_has_the_rows_of_an_undisturbed_run(
    dumps, undisturbed, tmp_path, monkeypatch, wanted
):
    """At random moments, in commits, in the checkpoint at the end, while it publishes: each time the warehouse opens
    and is whole, and in the end all tables, the incremental ones too, have the rows of a run that nobody disturbed."""
    if wanted.in_a_commit > DUMPS // BATCH_DUMPS // 2:
        monkeypatch.setenv("BUFFERHOUSE_BATCH_DUMPS", "1")  # else there are fewer commits than kills
    chance = random.Random(20261120)
    path = tmp_path / "w.duckdb"
    log, copy = Path(f"{path}.wal"), published_path(path)
    others = [dumps / f"run_{number}" for number in range(RUNS - wanted.in_a_checkpoint, RUNS)]
    first = [dumps / f"run_{number}" for number in range(RUNS - wanted.in_a_checkpoint)]
    kills = {
        "anywhere": kill_until(wanted.anywhere, path, lambda: after(chance.uniform(0.1, 0.8)), "ingest", *first),
        "in a commit": kill_until(
            wanted.in_a_commit, path, lambda: at_change(log, chance.randint(1, 4)), "ingest", *first
        ),
    }
    finished("ingest", *first, "--warehouse", path)
    kills["in a checkpoint"] = sum(kill_until(1, path, lambda: at_change(path, 1), "ingest", other) for other in others)
    temporary = f".{copy.name}.*.new"
    kills["publishing"] = kill_until(
        wanted.publishing, path, lambda: at_file(tmp_path, temporary), "ingest", dumps, "--publish"
    )
    assert sum(kills.values()) >= 0.8 * sum(astuple(wanted)), kills
    outcome = finished("ingest", dumps, "--warehouse", path, "--publish")
    assert outcome.code in (0, 1), outcome.err
    assert undisturbed == tables(path) == tables(copy)
    proved = DUMPS - BROKEN
    assert f"{proved:,} of {proved:,} dumps proved\n" == call("verify", "--warehouse", path).out
    assert 0 == call("check", "--warehouse", path).code
    assert {path.name, f"{path.name}.lock", copy.name} == {file.name for file in tmp_path.iterdir()}


def test_a_commit_that_broke_off_at_any_byte(dumps, undisturbed, tmp_path):
    """A kill inside a commit leaves the log up to some byte. Up to whichever: the loads before are whole, that one is
    absent, and the same command finishes the work."""
    chance = random.Random(20261121)
    path = tmp_path / "w.duckdb"
    log = Path(f"{path}.wal")
    finished("ingest", dumps / "run_0", "--warehouse", path)
    assert killed(lambda: log.exists() and log.stat().st_size > 200_000, "ingest", dumps, "--warehouse", path)
    whole, written = path.read_bytes(), log.read_bytes()
    found = []
    for number, length in enumerate(sorted(chance.sample(range(len(written)), 8))):
        path.write_bytes(whole)
        log.write_bytes(written[:length])
        found.append(assert_whole(path)[0])
        if number == 5:
            assert 1 == finished("ingest", dumps, "--warehouse", path).code
            assert undisturbed == tables(path)
    assert sorted(found) == found
    assert len(set(found)) > 3, found


def test_killed_while_it_is_made_a_warehouse_can_be_made(dumps, tmp_path):
    """From the first byte of a new file on, through all migrations and models."""
    for number, made in enumerate([".w0.duckdb.*.new", "w1.duckdb"]):
        path = tmp_path / f"w{number}.duckdb"
        # On a busy machine the command may be done before anybody has looked: then it is made once more.
        assert any(
            killed(at_file(tmp_path, made), "ingest", dumps / f"run_{RUNS - 1}", "--warehouse", path) or path.unlink()
            for _ in range(10)
        )
        assert_whole(path)
        outcome = finished("ingest", dumps / f"run_{RUNS - 1}", "--warehouse", path)
        assert outcome.code in (0, 1), outcome.err
        assert (DUMPS // RUNS - 1, 1) == assert_whole(path)


@pytest.mark.parametrize(
    "words",
    [
        ["compact"],
        ["ingest", "--reparse", "--rehash"],
        # Above, an ingest is killed while it publishes; to prune changes rows as to parse again does.
        pytest.param(["publish"], marks=pytest.mark.soak),
        pytest.param(["prune", "--keep-runs", 0, "--yes"], marks=pytest.mark.soak),
    ],
    ids=lambda words: words[0],
)
def test_other_commands_that_are_killed_leave_the_old_or_the_new(full, undisturbed, tmp_path, words):
    """Killed in the middle, and again: all rows are there, or just those that the command leaves."""
    chance = random.Random(words[0])
    path = Path(shutil.copy(full, tmp_path / "w.duckdb"))
    whole = {name: cells for name, cells in undisturbed.items() if name not in ("rejects", "pruned_runs")}
    for number in range(2):
        moments = [
            at_change(path, 2 + number % 2),
            at_file(tmp_path, ".w.*"),
            at_change(Path(f"{path}.wal"), 1 + number),
            after(chance.uniform(0.3, 1.2)),
        ]
        killed(chance.choice(moments), *words, "--warehouse", path)
        found = tables(path)
        found.pop("rejects")
        pruned = found.pop("pruned_runs")  # what prune leaves of the runs that it removes
        assert (found, len(pruned)) in ((whole, 0), ({name: [] for name in whole}, len(undisturbed["runs"]))), words
        if not found["dumps"]:
            shutil.copy(full, path)
    outcome = finished(*words, "--warehouse", path)
    assert 0 == outcome.code, outcome.err
    assert [] == [file.name for file in tmp_path.iterdir() if file.name.startswith(".")]
