"""What moved, as the index of a site says it: the same as the histories, the comparisons and the gate say."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from bufferhouse.compare.gate import Accepted
from bufferhouse.paths import CHECKOUT
from bufferhouse.query.statements import ask
from bufferhouse.report.site.addresses import step_address
from bufferhouse.report.site.site import Wishes, build_from
from bufferhouse.report.site.target import target_of
from bufferhouse.warehouse.retention import runs_to_prune
from bufferhouse.warehouse.run_names import find
from tests.command_line import call
from tests.synthetic import Slot, dump_text
from tests.warehouses import asked

FLEET = CHECKOUT / "examples" / "fleet"
TPU = "tpu-v5e-jaxlib-0.8.3-libtpu-0.0.33"


class Dump(NamedTuple):
    """A dump: what its name says behind the number of the module, and its text."""

    name: str
    data: bytes

    @property
    def program(self) -> str:
        return self.name.partition(".")[0]


def dump_in(folder: Path, program: str) -> Dump:
    """The dump of a program in a folder."""
    [path] = folder.glob(f"*.{program}.*-buffer-assignment.txt*")
    return Dump(path.name.partition(".")[2], path.read_bytes())


def of_size(size: int, stage: str = "cpu") -> Dump:
    """A dump of a program that takes so many bytes."""
    return Dump(f"jit_f.{stage}_after_optimizations-buffer-assignment.txt", dump_text([Slot(0, 2, 0, size)]))


def of_layer(program: str, size: int) -> Dump:
    """A dump whose second value is so large, and of a layer."""
    text = dump_text([Slot(0, 2, 0, 16), Slot(1, 2, 16, size)])
    text = text.replace(b"custom-call()", b'custom-call(), metadata={op_name="layer/dot"}')
    return Dump(f"{program}.cpu_after_optimizations-buffer-assignment.txt", text)


CNN, LATER_CNN = (dump_in(FLEET / run, "jit_cnn_train_step") for run in ("jaxlib-0.4.38", "jaxlib-0.6.0"))
FFT, OLD_FFT = (dump_in(FLEET / run, "jit_fft") for run in ("jaxlib-0.4.38", "jaxlib-0.4.13"))
OF_CPU, OF_TPU, OLD = (dump_in(FLEET / run, "jit_transformer2_fwd") for run in ("jaxlib-0.8.0", TPU, "jaxlib-0.4.38"))
LESS, MORE = (dump_in(CHECKOUT / "tests/data/reshaped" / model, "jit_train_step") for model in ("layers-4", "layers-6"))
TRACKS = {
    "refused": [[CNN, FFT], [LATER_CNN, FFT._replace(data=b"nonsense\n")]],
    "lines": [[dump._replace(data=re.sub(rb" source_line=\d+", b"", dump.data))] for dump in (CNN, LATER_CNN)],
    "again": [[CNN], [CNN, LATER_CNN]],
    "further": [[LATER_CNN], [CNN, LATER_CNN], [LATER_CNN]],
    "back": [[CNN, FFT], [FFT], [LATER_CNN, FFT]],
    "away-regression": [[CNN, OLD_FFT], [CNN, OLD], [LATER_CNN, OLD], [LATER_CNN, FFT]],
    "away-reshaped": [[LESS, OLD_FFT], [LESS, OLD], [MORE, OLD], [MORE, FFT]],
    "other": [[LESS, FFT], [FFT], [MORE, FFT]],
    "platforms": [[OF_TPU], [OF_CPU]],
    "targets": [[OF_TPU, FFT], [OF_TPU, FFT, OF_CPU]],
    "gone": [[of_size(64), of_size(128, "sm_8.0_gpu"), of_size(256, "sm_8.0_gpu")],
             [of_size(96), of_size(512, "sm_8.0_gpu")]],
    "renamed": [[of_layer("jit_old", 64)], [of_layer("jit_new", 96)]],
}  # fmt: skip
SAID_BY_DUMPS = ("platforms-1", "platforms-2", "targets-1", "targets-2", "gone-1")  # nothing else says the platform
WISHES = Wishes("https://code.example/{file}", (Accepted("jit_old", 0, 1 << 10, "wanted"),))


def write_run(folder: Path, dumps: list[Dump], **facts: str) -> Path:
    """Write the dumps of a run, and what is known of it."""
    folder.mkdir()
    for number, dump in enumerate(dumps):
        (folder / f"module_{number:04}.{dump.name}").write_bytes(dump.data)
    (folder / "run.json").write_text(json.dumps(facts))
    return folder


@pytest.fixture(scope="module")
def tracks(blank_warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse of all tracks, which have nothing to do with each other; a run a day. To be read, never written."""
    folder = tmp_path_factory.mktemp("tracks")
    runs = [
        write_run(
            folder / f"{track}-{day}",
            dumps,
            track=track,
            started_at=f"2026-01-0{day}T00:00:00Z",
            **({} if f"{track}-{day}" in SAID_BY_DUMPS else {"platform": "cpu"}),
        )
        for track, days in TRACKS.items()
        for day, dumps in enumerate(days, 1)
    ]
    warehouse = Path(shutil.copy(blank_warehouse, folder / "tracks.duckdb"))
    assert 1 == call("ingest", *runs, "--warehouse", warehouse).code  # a dump is refused
    return warehouse


@pytest.fixture(scope="module")
def site(tracks: Path, catalog_site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of all tracks. To be looked at, never written."""
    folder = Path(shutil.copytree(catalog_site, tmp_path_factory.mktemp("site") / "tracks"))
    build(tracks, folder)
    return folder


def build(warehouse: Path, folder: Path, *, is_forced: bool = False) -> None:
    with asked(warehouse) as con:
        build_from(con, target_of(str(folder)), WISHES, is_forced=is_forced)


def answered(figures: Path, name: str, *columns: str) -> list[tuple]:
    """Some columns of an answer beside a page."""
    answer = json.loads(figures.read_text())["answers"][name]
    places = [answer["columns"].index(column) for column in columns]
    return [tuple(row[place] for place in places) for row in answer["rows"]]


def test_the_figures_of_a_step_warn_as_its_page_does(site: Path):
    """Where a dump was refused, a program that is gone may be in it: who reads the figures alone is told, too."""
    page = site / step_address("refused-1", "refused-2")
    [note] = json.loads(page.with_suffix(".json").read_text())["notes"]
    assert note.startswith("Dumps of the run after were refused: ")
    assert note in page.read_text()


def test_a_cause_with_a_file_and_no_line_leads_to_the_file(site: Path):
    """Where the address needs no line, as the pages of programs have it."""
    figures = (site / step_address("lines-1", "lines-2")).with_suffix(".json")
    causes = answered(figures, "compare_causes", "source", "source_link")
    links = {source: link for source, link in causes if source}
    assert links
    assert {file: f"https://code.example/{file.lstrip('/')}" for file in links} == links


def movers_of(site: Path, track: str) -> list[tuple]:
    """The rows of the index about a track: program, kind, bytes and run."""
    columns = ("track", "program_name", "kind", "delta_bytes", "run_name")
    return [row[1:] for row in answered(site / "index.json", "movers", *columns) if row[0] == track]


def history_of(warehouse: Path, track: str, program: str) -> list[int | None]:
    """The changes of a program from run to run of a track."""
    with asked(warehouse) as con:
        rows = con.execute(
            "SELECT reserved_change_bytes FROM marts.program_history_v2 WHERE program_name = ? AND track = ?"
            " ORDER BY run_number",
            [program, track],
        ).fetchall()
    return [change for (change,) in rows]


def test_a_program_that_is_compiled_once_more_and_larger_has_grown(tracks: Path, site: Path):
    """In its history, the comparison, the gate and the index, though the dump of before is still there."""
    [_, change] = history_of(tracks, "again", "jit_cnn_train_step")
    assert change > 1 << 20
    assert [("jit_cnn_train_step", "regression", change, "again-2")] == movers_of(site, "again")
    words = ("compare", "again-1", "again-2", "--warehouse", tracks)
    rows = json.loads(call(*words, "--format", "json").out)["programs"]
    assert [0, change] == sorted(row["delta_bytes"] for row in rows)
    assert 1 == call(*words, "--fail-over", "1%").code
    assert 0 == call("compare", "again-2", "again-1", "--warehouse", tracks, "--fail-over", "1%").code


def test_a_further_dump_is_no_new_program(tracks: Path, site: Path):
    """Nor is one that is missing a program that is gone: the comparison says so, the index says nothing."""
    assert [None, 0, 0] == history_of(tracks, "further", "jit_cnn_train_step")
    assert [] == movers_of(site, "further")
    for runs, heading in ((("further-1", "further-2"), "New in"), (("further-2", "further-3"), "Gone from")):
        told = call("compare", *runs, "--warehouse", tracks).out
        assert f"{heading} cpu, memory space 0 (default)\n1 further dump of programs that both runs have." in told
        rows = json.loads(call("compare", *runs, "--warehouse", tracks, "--format", "json").out)["programs"]
        assert {("unchanged", False), (heading.split()[0].lower(), True)} == {
            (row["status"], row["is_further_dump"]) for row in rows
        }


def test_a_program_that_comes_back_is_not_new(tracks: Path, site: Path):
    """It was gone in the run that lacks it, and what it takes since is compared with what it took before."""
    [_, change] = history_of(tracks, "back", "jit_cnn_train_step")
    expected = {("jit_cnn_train_step", "regression", change, "back-3"), ("jit_cnn_train_step", "gone", None, "back-2")}
    assert expected == set(movers_of(site, "back"))


@pytest.mark.parametrize(("kind", "program"), [("regression", CNN.program), ("reshaped", LESS.program)])
def test_what_moved_while_a_program_was_away_is_told_once(site: Path, kind: str, program: str):
    """The step from the run that had it to the one where it is back says nothing of programs of the runs between."""
    moved = [(name, kind, run) for name, kind, change, run in movers_of(site, f"away-{kind}") if change]
    expected = {(program, kind, f"away-{kind}-3"), ("jit_fft", "improvement", f"away-{kind}-4")}
    assert (expected, 2) == (set(moved), len(moved))


def test_a_function_that_comes_back_with_another_program_is_reshaped(site: Path):
    """It is compared with the newest run that has the function, as the flow `regressions` does."""
    told = {(name, kind, run) for name, kind, _, run in movers_of(site, "other")}
    assert {("jit_train_step", "gone", "other-2"), ("jit_train_step", "reshaped", "other-3")} == told
    assert (site / step_address("other-1", "other-3")).exists()


def test_runs_of_two_platforms_are_no_step_where_only_their_dumps_say_so(tracks: Path, site: Path):
    """Each platform is a track of its own; who compares the two all the same is told."""
    names = ["platforms-1", "platforms-2"]
    assert [] == movers_of(site, "platforms")
    with asked(tracks) as con:
        assert [] == [row for row in ask(con, "newest_runs").records if row["track"] == "platforms"]
        found = [find(con, f"latest:track=platforms,platform={platform}") for platform in ("tpu", "cpu")]
        assert names == [run.run_name for run in found]
        assert [] == ask(con, "run_before", run_id=found[1].run_id).rows
        assert not {name for _, name in runs_to_prune(con, keep_runs=1)} & set(names)
    listed = json.loads(call("runs", "ls", "--format", "json", "--warehouse", tracks).out)
    assert ["tpu", "cpu"] == [run["platform"] for run in listed if run["run_name"] in names]
    told = call("compare", *names, "--warehouse", tracks).out
    assert (
        "The dumps are for different targets, tpu → cpu: the device may make the difference, not the program." in told
    )


def test_a_program_for_another_target_is_new(tracks: Path, site: Path):
    """It is no further dump of the program for the CPU, and a run of both is one of the accelerator."""
    assert [("jit_transformer2_fwd", "new", None, "targets-2")] == movers_of(site, "targets")
    told = call("compare", "targets-1", "targets-2", "--warehouse", tracks).out
    assert "New in cpu" in told
    assert "further dump" not in told


def test_a_program_that_is_gone_leads_to_its_page_in_the_run_that_has_it(site: Path):
    """The run after has the program for the same target, as one of another platform."""
    figures = (site / step_address("gone-1", "gone-2")).with_suffix(".json")
    rows = answered(figures, "compare_programs", "before_bytes", "program_link")
    assert {64: "gone-2.html", 256: "gone-2@cpu-sm_8.0.html", 128: "gone-1@gpu-sm_8.0.html"} == {
        size: link.rpartition("/")[2] for size, link in rows
    }


def test_an_accept_file_knows_a_renamed_program_by_its_former_name(site: Path):
    """As the gate does: who accepted its growth before it was renamed has accepted it."""
    figures = site / "triage/2026-01-02-cpu-renamed.json"
    found = answered(figures, "triage_movers", "status", "delta_bytes", "state", "why")
    assert [("renamed", 32, "accepted", "wanted")] == found


def test_a_run_that_comes_late_leaves_no_step_behind(warehouse: Path, tmp_path: Path, begun: Callable):
    """The page of the step that it stands in stays, and nothing counts that step any more; forced or not."""
    runs = {"r1": (64, "2026-01-01"), "r2": (96, "2026-01-02"), "late": (80, "2026-01-01T12:00:00Z")}
    first, second, late = (
        write_run(tmp_path / name, [of_size(size)], track="a", started_at=when) for name, (size, when) in runs.items()
    )
    assert 0 == call("ingest", first, second, "--warehouse", warehouse).code
    site = begun("site")
    build(warehouse, site)
    assert [("jit_f", "regression", 32, "r2")] == movers_of(site, "a")
    assert 0 == call("ingest", late, "--warehouse", warehouse).code
    for is_forced in (False, True):
        build(warehouse, site, is_forced=is_forced)
        assert {("jit_f", "regression", 16, "late"), ("jit_f", "regression", 16, "r2")} == set(movers_of(site, "a"))
        assert [("r2", "late", 16), ("late", "r1", 16)] == answered(
            site / "compare/index.json", "steps", "after_name", "before_name", "biggest_bytes"
        )
        assert [(1, 16), (1, 16)] == answered(site / "triage/index.json", "upgrades", "new_count", "new_bytes")
    assert "jit_f" in (site / "compare" / "r1..r2.html").read_text()
