"""Blame over real compilers: the examples always, builds of the corpus where they are.

Pairs of compilers are compared by every metric, forwards and backwards: of the examples those that differ in kind, of
the builds those of which there are no examples. `make soak` compares all neighbors, by all that the builds hold.
"""

import shutil
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import duckdb
import pytest

from bufferhouse.compare import causes as C
from bufferhouse.compare.compare import Compared, compare_pairs, compare_runs, pairs_of_runs
from bufferhouse.compare.pairing import CHANGES, Dump, pair_up
from bufferhouse.compare.sizes import SizesOfDumps
from bufferhouse.config.threshold import METRICS
from bufferhouse.query.statements import ask
from bufferhouse.warehouse.open import reading
from tests.command_line import CHECKOUT, call
from tests.system.documents import commands
from tests.system.test_documents import follow

CPU = [f"jaxlib-{version}" for version in ("0.4.13", "0.4.25", "0.4.38", "0.6.0", "0.7.0", "0.8.0", "0.9.0", "0.10.0")]
TPU = ["tpu-v5e-jaxlib-0.4.38-libtpu-0.0.8", "tpu-v5e-jaxlib-0.8.3-libtpu-0.0.33"]
TENSORFLOW = [f"tensorflow-{version}" for version in ("2.1.4", "2.5.3", "2.10.1", "2.21.0")]
GPU = "gpu-sm90-jaxlib-0.10.2-userbuffers"
EXAMPLES = [*pairwise(CPU), tuple(TPU), (CPU[-1], TPU[1]), (TPU[1], "seeds"), (CPU[0], CPU[0])]
# Between the oldest, with pointers, and the newest, in several files, are more pairs of builds for one platform.
BETWEEN = {*pairwise(CPU[1:-1])}
PAIRS_OF_EXAMPLES = [pytest.param(pair, marks=pytest.mark.soak if pair in BETWEEN else ()) for pair in EXAMPLES]
BUILDS = [*pairwise(CPU), *pairwise(TENSORFLOW), tuple(TPU), (CPU[-1], TPU[1]), (CPU[-1], GPU), (GPU, GPU)]
# The builds of JAX for CPU and TPU are those of the examples, with more programs.
NO_EXAMPLES = {(TENSORFLOW[0], TENSORFLOW[1]), *BUILDS[-2:]}
PAIRS_OF_BUILDS = [pytest.param(pair, marks=() if pair in NO_EXAMPLES else pytest.mark.soak) for pair in BUILDS]
PAIRS_OF_CPU = [pytest.param(pair, marks=pytest.mark.soak if place else ()) for place, pair in enumerate(pairwise(CPU))]

OTHER_WAY = {
    C.LIVES_TO_PEAK: C.FREED_BEFORE, C.FREED_BEFORE: C.LIVES_TO_PEAK, C.MOVED_IN: C.MOVED_OUT,
    C.MOVED_OUT: C.MOVED_IN, C.ONLY_AFTER: C.ONLY_BEFORE, C.ONLY_BEFORE: C.ONLY_AFTER,
}  # fmt: skip


class Runs:
    """Runs of a warehouse, the figures of its marts, and comparisons of runs, each made once."""

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self.con = con
        self.ids = dict(con.execute("SELECT run_name, run_id FROM raw.runs").fetchall())
        self.pairs = cache(lambda *runs: pairs_of_runs(con, *map(self.ids.get, runs)))
        self.compare = cache(lambda *runs, metric: compare_pairs(con, *self.pairs(*runs), metric=metric))
        self.marts = {
            (dump_id, space): figures
            for dump_id, space, *figures in con.execute(
                "SELECT p.dump_id, p.memory_space, p.reserved_bytes, p.occupied_peak_bytes, f.temp_bytes,"
                " p.reserved_bytes FROM marts.peak_memory_v1 AS p JOIN marts.footprint_v1 AS f"
                " USING (dump_id, memory_space)"
            ).fetchall()
        }


@pytest.fixture(scope="session")
def examples(example: duckdb.DuckDBPyConnection) -> Runs:
    """The runs of the example fleet."""
    return Runs(example)


@pytest.fixture(scope="session")
def builds_warehouse(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All builds of the corpus but the one that is too old to be read."""
    archives = sorted((corpus / "builds").glob("*.tar.gz"))
    kept = [path for path in archives if not path.name.startswith("tensorflow-1.") and "-hlo" not in path.name]
    path = tmp_path_factory.mktemp("builds") / "warehouse.duckdb"
    outcome = call("ingest", *kept, "--warehouse", path)
    assert 0 == outcome.code, outcome.err
    return path


@pytest.fixture(scope="session")
def builds(builds_warehouse: Path) -> Iterator[Runs]:
    """The runs of the builds."""
    with reading(builds_warehouse) as opened:
        con = opened.con
        yield Runs(con)


def assert_all_closes(runs: Runs, pair: tuple[str, str]) -> None:
    """Sizes are those of the marts, causes sum to the change, and turned round everything has the other sign."""
    for place, metric in enumerate(METRICS):
        rows, back = runs.compare(*pair, metric=metric), runs.compare(*pair[::-1], metric=metric)
        turned = {(_id(row.pair.after), _id(row.pair.before), row.memory_space): row for row in back}
        assert rows
        assert len(rows) == len(turned) == len(back)
        for row in rows:
            other = turned[_id(row.pair.before), _id(row.pair.after), row.memory_space]
            for dump, size in ((row.pair.before, row.before_bytes), (row.pair.after, row.after_bytes)):
                if dump is not None:
                    nothing = [0] * 4 if size is not None else [None] * 4
                    assert runs.marts.get((dump.dump_id, row.memory_space), nothing)[place] == size
            if row.delta_bytes is not None:
                assert row.after_bytes - row.before_bytes == sum(cause.size_bytes for cause in row.causes)
                assert row.delta_bytes == -other.delta_bytes
            assert not row.causes or row.status in ("changed", *CHANGES)
            assert sums(row) == {OTHER_WAY.get(cause, cause): -size for cause, size in sums(other).items()}


def _id(dump: object) -> int | None:
    return dump.dump_id if dump else None


def sums(row: Compared) -> Counter[str]:
    """The bytes of each cause."""
    found: Counter[str] = Counter()
    for cause in row.causes:
        found[cause.cause] += cause.size_bytes
    return Counter({cause: size for cause, size in found.items() if size})


@pytest.mark.parametrize("pair", PAIRS_OF_EXAMPLES, ids=" ".join)
def test_the_examples_close(examples: Runs, pair: tuple[str, str]):
    """Every program, memory space and metric."""
    assert_all_closes(examples, pair)


def test_a_run_differs_in_nothing_from_itself(examples: Runs):
    """Whatever is compared."""
    for metric in METRICS:
        rows = examples.compare(CPU[0], CPU[0], metric=metric)
        assert {("unchanged", 0, ())} == {(row.status, row.delta_bytes, tuple(row.causes)) for row in rows}


def test_runs_are_compared_as_their_pairs(examples: Runs):
    """Of the programs and the memory space that are asked for."""
    before, after = map(examples.ids.get, TPU)
    rows = examples.compare(*TPU, metric="occupied")
    assert rows == compare_runs(examples.con, before, after, metric="occupied")
    program_id = rows[0].pair.any.program_id
    some = compare_runs(examples.con, before, after, metric="occupied", program_ids=[program_id], memory_space=1)
    assert [row for row in rows if row.pair.any.program_id == program_id and row.memory_space == 1] == some != []


@pytest.mark.corpus
@pytest.mark.slow
@pytest.mark.parametrize("pair", PAIRS_OF_BUILDS, ids=" ".join)
def test_the_builds_close(builds: Runs, pair: tuple[str, str]):
    """Every program, space and metric of neighbors, also where platforms differ or live ranges are missing."""
    assert_all_closes(builds, pair)


@pytest.mark.corpus
@pytest.mark.slow
@pytest.mark.parametrize("pair", PAIRS_OF_BUILDS, ids=" ".join)
def test_pairs_of_two_programs_change_nothing_of_the_others(builds: Runs, pair: tuple[str, str]):
    """Programs of one signature have the rows that they have where nobody looks for reshaped ones, in their order."""
    before, after = map(builds.ids.get, pair)
    dumps: dict[int, list[Dump]] = {before: [], after: []}
    answer = ask(builds.con, "compare_dumps", before_run_id=before, after_run_id=after)
    for run_id, program_id, dump_id, *about in answer.rows:
        dumps[run_id].append(Dump(dump_id, program_id, *about))
    both = {dump.program_id for dump in dumps[before]} & {dump.program_id for dump in dumps[after]}
    sides = [[dump for dump in dumps[run_id] if dump.program_id in both] for run_id in (before, after)]
    sizes = SizesOfDumps(builds.con, {dump.dump_id for side in sides for dump in side})
    plain = compare_pairs(builds.con, pair_up(*sides, sizes.reserved()), sizes, metric="reserved")
    found = builds.compare(*pair, metric="reserved")
    assert plain == [row for row in found if row.pair.any.program_id in both]
    assert all(row.pair.change is None for row in plain)


@pytest.mark.corpus
@pytest.mark.slow
@pytest.mark.parametrize("pair", PAIRS_OF_CPU, ids=" ".join)
def test_most_bytes_are_matched(builds: Runs, pair: tuple[str, str]):
    """Of what is occupied on both sides nine tenths are matched, also without the programs that were made too large.

    Of the causes less than one twentieth is not known.
    """
    rows = [row for row in builds.compare(*pair, metric="reserved") if row.before and row.after]
    for are_left_out in (False, True):
        kept = [row for row in rows if not (are_left_out and "huge" in row.pair.any.program_name)]
        both = [min(row.before.occupied, row.after.occupied) for row in kept]
        matched = [row.peaks.matched_bytes if row.peaks else size for row, size in zip(kept, both, strict=True)]
        assert all(found <= size for found, size in zip(matched, both, strict=True))
        assert sum(matched) >= 0.9 * sum(both) > 0
    sizes = [(cause.cause, abs(cause.size_bytes)) for row in rows for cause in row.causes]
    assert sum(size for cause, size in sizes if cause == C.NO_LIVE_RANGES) <= 0.05 * sum(size for _, size in sizes)


@pytest.mark.corpus
@pytest.mark.slow
@pytest.mark.parametrize("are_all", [False, pytest.param(True, marks=pytest.mark.soak)])
def test_the_case_studies_hold(builds_warehouse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, are_all: bool):
    """Every command of docs/case-studies.md prints what is shown there; one for each set of options stands for all."""
    shutil.copy(builds_warehouse, tmp_path / "warehouse.duckdb")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("BUFFERHOUSE_WAREHOUSE", raising=False)
    shown = list(commands(CHECKOUT / "docs" / "case-studies.md"))
    assert len(shown) > 15
    kinds = {(one.words[1], *(word for word in one.words if word.startswith("--"))): one for one in shown}
    for one in shown if are_all else kinds.values():
        follow(one)
