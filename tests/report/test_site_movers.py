"""What moved, as the index of a site says it: the same as the histories, the comparisons and the gate say."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from bufferhouse.paths import CHECKOUT
from bufferhouse.query.statements import ask
from bufferhouse.report.site.site import Wishes, build_from
from bufferhouse.report.site.target import target_of
from bufferhouse.warehouse.retention import runs_to_prune
from bufferhouse.warehouse.run_names import find
from tests.command_line import call
from tests.warehouses import asked

FLEET = CHECKOUT / "examples" / "fleet"
TPU = "tpu-v5e-jaxlib-0.8.3-libtpu-0.0.33"


def dump_of(run: str, program: str) -> Path:
    """The dump of a program in a run of the example fleet."""
    [path] = (FLEET / run).glob(f"*.{program}.*-buffer-assignment.txt")
    return path


CNN, LATER_CNN = (dump_of(run, "jit_cnn_train_step") for run in ("jaxlib-0.4.38", "jaxlib-0.6.0"))
FFT = dump_of("jaxlib-0.4.38", "jit_fft")


@pytest.fixture
def ingested(warehouse: Path, tmp_path: Path):
    """A function that loads runs, a day each: the dumps of each run, and facts of all."""

    def ingested(runs: list[list[Path]], **facts: str) -> Path:
        folders = [tmp_path / f"r{day}" for day in range(1, len(runs) + 1)]
        for day, (folder, dumps) in enumerate(zip(folders, runs, strict=True), 1):
            folder.mkdir()
            for number, dump in enumerate(dumps):
                (folder / f"module_{number:04}.{dump.name.split('.', 1)[1]}").write_bytes(dump.read_bytes())
            (folder / "run.json").write_text(json.dumps({"started_at": f"2026-01-0{day}T00:00:00Z", **facts}))
        assert 0 == call("ingest", *folders, "--warehouse", warehouse).code
        return warehouse

    return ingested


def test_the_figures_of_a_step_warn_as_its_page_does(warehouse: Path, tmp_path: Path, begun: Callable):
    """Where a dump was refused, a program that is gone may be in it: who reads the figures alone is told, too."""
    for run, cnn, fft in (("r1", CNN.read_text(), FFT.read_text()), ("r2", LATER_CNN.read_text(), "nonsense\n")):
        (tmp_path / run).mkdir()
        (tmp_path / run / CNN.name).write_text(cnn)
        (tmp_path / run / FFT.name).write_text(fft)
    assert 1 == call("ingest", tmp_path / "r1", tmp_path / "r2", "--warehouse", warehouse).code
    folder = begun("site")
    assert 0 == call("site", folder, "--warehouse", warehouse).code
    [page] = (folder / "compare").glob("*..*.html")
    [note] = json.loads(page.with_suffix(".json").read_text())["notes"]
    assert note.startswith("Dumps of the run after were refused: ")
    assert note in page.read_text()


def test_a_cause_with_a_file_and_no_line_leads_to_the_file(warehouse: Path, tmp_path: Path, begun: Callable):
    """Where the address needs no line, as the pages of programs have it."""
    for run, dump in (("r1", CNN), ("r2", LATER_CNN)):
        (tmp_path / run).mkdir()
        (tmp_path / run / dump.name).write_text(re.sub(r" source_line=\d+", "", dump.read_text()))
    assert 0 == call("ingest", tmp_path / "r1", tmp_path / "r2", "--warehouse", warehouse).code
    folder = begun("site")
    with asked(warehouse) as con:
        build_from(con, target_of(str(folder)), Wishes("https://code.example/{file}"))
    [page] = (folder / "compare").glob("*..*.html")
    causes = json.loads(page.with_suffix(".json").read_text())["answers"]["compare_causes"]
    source, link = (causes["columns"].index(name) for name in ("source", "source_link"))
    links = {row[source]: row[link] for row in causes["rows"] if row[source]}
    assert links
    assert {file: f"https://code.example/{file.lstrip('/')}" for file in links} == links


def movers_of(warehouse: Path, folder: Path, *, is_forced: bool = False) -> list[tuple]:
    """The rows of the index: program, kind, bytes and run."""
    with asked(warehouse) as con:
        build_from(con, target_of(str(folder)), Wishes(), is_forced=is_forced)
    answer = json.loads((folder / "index.json").read_text())["answers"]["movers"]
    rows = [dict(zip(answer["columns"], row, strict=True)) for row in answer["rows"]]
    return [(row["program_name"], row["kind"], row["delta_bytes"], row["run_name"]) for row in rows]


def history_of(warehouse: Path, program: str) -> list[int | None]:
    """The changes of a program from run to run."""
    with asked(warehouse) as con:
        rows = con.execute(
            "SELECT reserved_change_bytes FROM marts.program_history_v2 WHERE program_name = ? ORDER BY run_number",
            [program],
        ).fetchall()
    return [change for (change,) in rows]


def test_a_program_that_is_compiled_once_more_and_larger_has_grown(ingested, begun: Callable):
    """In its history, the comparison, the gate and the index, though the dump of before is still there."""
    warehouse = ingested([[CNN], [CNN, LATER_CNN]], platform="cpu")
    [_, change] = history_of(warehouse, "jit_cnn_train_step")
    assert change > 1 << 20
    assert [("jit_cnn_train_step", "regression", change, "r2")] == movers_of(warehouse, begun("site"))
    words = ("compare", "r1", "r2", "--warehouse", warehouse)
    rows = json.loads(call(*words, "--format", "json").out)["programs"]
    assert [0, change] == sorted(row["delta_bytes"] for row in rows)
    assert 1 == call(*words, "--fail-over", "1%").code
    assert 0 == call("compare", "r2", "r1", "--warehouse", warehouse, "--fail-over", "1%").code


def test_a_further_dump_is_no_new_program(ingested, begun: Callable):
    """Nor is one that is missing a program that is gone: the comparison says so, the index says nothing."""
    warehouse = ingested([[LATER_CNN], [CNN, LATER_CNN], [LATER_CNN]], platform="cpu")
    assert [None, 0, 0] == history_of(warehouse, "jit_cnn_train_step")
    assert [] == movers_of(warehouse, begun("site"))
    for runs, heading in ((("r1", "r2"), "New in"), (("r2", "r3"), "Gone from")):
        told = call("compare", *runs, "--warehouse", warehouse).out
        assert f"{heading} cpu, memory space 0 (default)\n1 further dump of programs that both runs have." in told
        rows = json.loads(call("compare", *runs, "--warehouse", warehouse, "--format", "json").out)["programs"]
        assert {("unchanged", False), (heading.split()[0].lower(), True)} == {
            (row["status"], row["is_further_dump"]) for row in rows
        }


def test_a_program_that_comes_back_is_not_new(ingested, begun: Callable):
    """It was gone in the run that lacks it, and what it takes since is compared with what it took before."""
    warehouse = ingested([[CNN, FFT], [FFT], [LATER_CNN, FFT]], platform="cpu")
    [_, change] = history_of(warehouse, "jit_cnn_train_step")
    expected = {("jit_cnn_train_step", "regression", change, "r3"), ("jit_cnn_train_step", "gone", None, "r2")}
    assert expected == set(movers_of(warehouse, begun("site")))


@pytest.mark.parametrize("kind", ["regression", "reshaped"])
def test_what_moved_while_a_program_was_away_is_told_once(ingested, begun: Callable, kind: str):
    """The step from the run that had it to the one where it is back says nothing of programs of the runs between."""
    small, large = CNN, LATER_CNN
    if kind == "reshaped":
        models = [CHECKOUT / "tests" / "data" / "reshaped" / name for name in ("layers-4", "layers-6")]
        small, large = (next(model.glob("*jit_train_step*-buffer-assignment.txt.gz")) for model in models)
    away, other = dump_of("jaxlib-0.4.13", "jit_fft"), dump_of("jaxlib-0.4.38", "jit_transformer2_fwd")
    warehouse = ingested([[small, away], [small, other], [large, other], [large, FFT]], platform="cpu")
    told = movers_of(warehouse, begun("site"))
    moved = [(name, kind, run) for name, kind, change, run in told if change]
    expected = {(small.name.split(".")[1], kind, "r3"), ("jit_fft", "improvement", "r4")}
    assert (expected, 2) == (set(moved), len(moved))


def test_a_function_that_comes_back_with_another_program_is_reshaped(ingested, begun: Callable):
    """It is compared with the newest run that has the function, as the flow `regressions` does."""
    models = [CHECKOUT / "tests" / "data" / "reshaped" / name for name in ("layers-4", "layers-6")]
    less, more = (next(model.glob("*jit_train_step*-buffer-assignment.txt.gz")) for model in models)
    warehouse = ingested([[less, FFT], [FFT], [more, FFT]], platform="cpu")
    site = begun("site")
    told = {(name, kind, run) for name, kind, _, run in movers_of(warehouse, site)}
    assert {("jit_train_step", "gone", "r2"), ("jit_train_step", "reshaped", "r3")} == told
    assert (site / "compare" / "r1..r3.html").exists()


def test_runs_of_two_platforms_are_no_step_where_only_their_dumps_say_so(ingested, begun: Callable):
    """Each platform is a track of its own; who compares the two all the same is told."""
    warehouse = ingested([[dump_of(run, "jit_transformer2_fwd")] for run in (TPU, "jaxlib-0.8.0")])
    assert [] == movers_of(warehouse, begun("site"))
    with asked(warehouse) as con:
        assert [] == ask(con, "newest_runs").rows
        assert [] == ask(con, "run_before", run_id=2).rows
        assert ["r1", "r2"] == [find(con, f"latest:platform={platform}").run_name for platform in ("tpu", "cpu")]
        assert [] == runs_to_prune(con, keep_runs=1)
    listed = json.loads(call("runs", "ls", "--format", "json", "--warehouse", warehouse).out)
    assert ["tpu", "cpu"] == [run["platform"] for run in listed]
    told = call("compare", "r1", "r2", "--warehouse", warehouse).out
    assert "The dumps are for other targets, tpu → cpu: what differs may be the device and not the program." in told


def test_a_program_for_another_target_is_new(ingested, begun: Callable):
    """It is no further dump of the program for the CPU, and a run of both is one of the accelerator."""
    of_cpu, of_tpu = (dump_of(run, "jit_transformer2_fwd") for run in ("jaxlib-0.8.0", TPU))
    warehouse = ingested([[of_tpu, FFT], [of_tpu, FFT, of_cpu]])
    assert [("jit_transformer2_fwd", "new", None, "r2")] == movers_of(warehouse, begun("site"))
    told = call("compare", "r1", "r2", "--warehouse", warehouse).out
    assert "New in cpu" in told
    assert "further dump" not in told


def test_a_run_that_comes_late_leaves_no_step_behind(ingested, tmp_path: Path, begun: Callable):
    """The page of the step that it stands in stays, and nothing counts that step any more; forced or not."""
    warehouse = ingested([[CNN], [LATER_CNN]], platform="cpu")
    site = begun("site")
    grown = movers_of(warehouse, site)
    assert [("jit_cnn_train_step", "regression", "r2")] == [(name, kind, run) for name, kind, _, run in grown]
    late = tmp_path / "late"
    late.mkdir()
    other = dump_of("jaxlib-0.4.25", "jit_cnn_train_step")
    (late / other.name).write_bytes(other.read_bytes())
    words = ("--label", "started_at=2026-01-01T12:00:00Z", "--label", "platform=cpu")
    assert 0 == call("ingest", late, *words, "--warehouse", warehouse).code
    fresh = movers_of(warehouse, begun("fresh"))
    listed = [(tmp_path / "fresh" / folder / "index.json").read_text() for folder in ("compare", "triage")]
    for is_forced in (False, True):
        assert fresh == movers_of(warehouse, site, is_forced=is_forced)
        assert listed == [(site / folder / "index.json").read_text() for folder in ("compare", "triage")]
    assert "jit_cnn_train_step" in (site / "compare" / "r1..r2.html").read_text()
    assert not (tmp_path / "fresh" / "compare" / "r1..r2.html").exists()
