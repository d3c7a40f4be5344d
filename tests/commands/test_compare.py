"""`bufferhouse compare`: exit codes, the gate, the forms of its answer, and what is refused."""

import json
import re
import shutil
from functools import cache
from pathlib import Path

import pytest

from tests.command_line import CHECKOUT, Outcome, call
from tests.ingests import SUFFIX
from tests.synthetic import Slot, colored, dump_text, small_dump
from tests.warehouses import rows

BEFORE, AFTER = "jaxlib-0.4.38", "jaxlib-0.6.0"
GROWN = ("jit_cnn_train_step", 0)


@pytest.fixture(scope="module")
def compare(example_warehouse: Path):
    """A function that compares both releases by the command line, with the same words once: it only reads."""

    @cache
    def compared(*words: object, runs: tuple[str, str] = (BEFORE, AFTER)) -> Outcome:
        return call("compare", *runs, "--warehouse", example_warehouse, *words)

    return compared


def shaped(size: int) -> bytes:
    """A dump of one parameter."""
    header = f", parameter 0, shape |u8[{size}]| at ShapeIndex {{}}"
    return dump_text([Slot(0, 2, 0, size)], [header])


def without_live_ranges(number: int) -> bytes:
    return small_dump(number).split(b"\n\n")[0] + b"\n"


NONSENSE = b"nonsense\n"
IN_FOUR_SPACES = colored([60, 30, 20, 100], [0, 2, 7, 5])
GPU, TPU = "sm_9.0a_gpu_after_optimizations", "cl_853872983.after_optimizations"
# The dumps of small runs, with their programs; those of a run "on-…" or "fit-…" are for a device of 100 bytes.
RUNS = {
    "spaced-small": [("jit_f", colored([64, 64], [0, 1]))],
    "spaced-large": [("jit_f", colored([128, 128], [0, 1]))],
    "judged-before": [("jit_f", small_dump(0)), ("jit_g", without_live_ranges(0))],
    "judged-after": [("jit_f", small_dump(0)), ("jit_g", without_live_ranges(1)), ("jit_h", NONSENSE)],
    "on-shaped-small": [("jit_f", shaped(64))],
    "on-shaped-large": [("jit_f", shaped(128))],
    "whole": [("jit_f", small_dump(0)), ("jit_g", small_dump(1))],
    "broken": [("jit_f", small_dump(0)), ("jit_g", NONSENSE)],
    "renamed": [("jit_g", small_dump(0))],
    "renamed-and-refused": [("jit_g", small_dump(0)), ("jit_f", NONSENSE)],
    "several": [("jit_f", small_dump(0)), ("jit_g", small_dump(1)), ("jit_g", small_dump(2))],
    "one": [("jit_f", small_dump(0))],
    "one-and-refused": [("jit_f", small_dump(0)), ("jit_h", NONSENSE)],
    **{f"on-gpu-{side}": [("jit_f", IN_FOUR_SPACES, GPU)] for side in "ab"},
    **{f"on-tpu-{side}": [("jit_f", IN_FOUR_SPACES, TPU)] for side in "ab"},
    **{f"on-cpu-{side}": [("jit_f", IN_FOUR_SPACES)] for side in "ab"},
    **{f"on-labels-{side}": [("jit_f", colored([60, 50], [1, 2]), GPU)] for side in "ab"},
    **{f"fit-{number}": [("jit_f", dump_text([Slot(0, 2, 0, 50)]))] for number in (1, 2, 3)},
    "once": [("jit_f", small_dump(1))],
    "twice": [("jit_f", small_dump(2)), ("jit_f", small_dump(3))],
}


@pytest.fixture(scope="module")
def small_runs(fleet: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of RUNS, of real runs with and without donations, and with two dumps. To be read, never written."""
    folder = tmp_path_factory.mktemp("small-runs")
    for run, dumps in RUNS.items():
        (folder / run).mkdir()
        for number, (program, text, *target) in enumerate(dumps, 1):
            [target] = target or ["cpu_after_optimizations"]
            (folder / run / f"module_{number:04}.{program}.{target}{SUFFIX}").write_bytes(text)
        if run.startswith(("on-", "fit-")):
            (folder / run / "run.json").write_text('{"device_memory_bytes": 100}')
    (folder / "fit-3" / "module_0001.jit_f.oom_intermediate_module.txt").write_text("HloModule jit_f\n")
    for run in ("kept", "undonated"):
        shutil.copytree(CHECKOUT / "tests" / "data" / "locked" / run, folder / run)
    (folder / "undonated" / f"module_0009.jit_more.cpu_after_optimizations{SUFFIX}").write_bytes(small_dump(1))
    (old,), (new,) = ((fleet / release).glob(f"*.jit_fft.*{SUFFIX}") for release in ("jaxlib-0.4.13", "jaxlib-0.9.0"))
    for kind, there, refused in (("smaller", old, new), ("larger", new, old)):
        for side in ("before", "after"):
            (folder / f"{kind}-{side}").mkdir()
            shutil.copy(there, folder / f"{kind}-{side}")
        shutil.copy(refused, folder / f"{kind}-before")
        (folder / f"{kind}-after" / refused.name).write_bytes(NONSENSE)
    return folder


@pytest.fixture(scope="module")
def small(small_runs: Path, tmp_path_factory: pytest.TempPathFactory):
    """A function that compares two of the small runs by the command line; they are loaded once, and only read."""
    warehouse = tmp_path_factory.mktemp("small") / "warehouse.duckdb"
    assert 1 == call("ingest", *sorted(small_runs.iterdir()), "--warehouse", warehouse).code  # some are refused
    return cache(lambda *words: call("compare", *words, "--warehouse", warehouse))


def objects(said: Outcome) -> dict:
    assert (0, "") == (said.code, said.err)
    return json.loads(said.out)


def accept_file(path: Path, up_to_bytes: int, program: str = GROWN[0]) -> Path:
    path.write_text(
        f'[[accept]]\nprogram = "{program}"\nmemory_space = 0\nup_to_bytes = {up_to_bytes}\nwhy = "kept for backward"\n'
    )
    return path


@pytest.mark.parametrize(
    ("metric", "figure"),
    [("reserved", "p.reserved_bytes"), ("occupied", "p.occupied_peak_bytes"), ("temp", "f.temp_bytes"),
     ("footprint", "f.parameter_bytes + f.output_bytes + f.constant_bytes + f.temp_bytes")],
)  # fmt: skip
def test_the_metric_is_that_of_the_marts(compare, example_warehouse: Path, metric: str, figure: str):
    """Before and after are the bytes of the chosen metric."""
    found = objects(compare("--format", "json", "--metric", metric))
    assert metric == found["metric"]
    expected = dict(
        rows(
            example_warehouse,
            f"SELECT p.dump_id, {figure} FROM marts.peak_memory_v1 AS p JOIN marts.footprint_v1 AS f"
            " USING (dump_id, memory_space) WHERE memory_space = 0",
        )
    )
    for program in found["programs"]:
        for side in ("before", "after"):
            assert expected.get(program[f"{side}_dump_id"]) == program[f"{side}_bytes"]


def test_one_program_and_one_memory_space(compare):
    """A beginning of the name is enough; spaces are left out, also of the totals."""
    tpu = ("tpu-v5e-jaxlib-0.4.38", "tpu-v5e-jaxlib-0.8.3")
    found = objects(compare("--format", "json", "--program", "jit_scan", "--memory-space", "1", runs=tpu))
    assert [("jit_scan_rnn", 1)] == [(one["module_name"], one["memory_space"]) for one in found["programs"]]
    assert [1] == [total["memory_space"] for total in found["totals"]]


def test_changes_are_added_up(compare):
    """For every grouping the deltas sum to the change of all programs."""
    groupings = ("cause", "op_name", "source", "opcode", "element_type", "tile")
    words = [word for by in groupings for word in ("--by", by)]
    found, text = objects(compare("--format", "json", *words)), compare(*words).out
    total = sum(total["delta_bytes"] for total in found["totals"])
    assert dict.fromkeys(groupings, total) == {
        by: sum(row["delta_bytes"] for row in found[f"by_{by}"]) for by in groupings
    }
    assert [] == [by for by in groupings if f"All changes by {by.replace('_', ' ')}" not in text]


def test_what_is_relevant_comes_first(compare):
    """The threshold decides what is marked and shown first, never which bytes there are."""
    usual, all_of_it = (objects(compare("--format", "json", *words)) for words in ([], ["--relevant", "0%"]))
    assert {"share": 0.01, "size_bytes": 2**20} == usual["relevance"]
    counts = [sum(one["is_relevant"] for one in found["programs"]) for found in (usual, all_of_it)]
    assert (1, 6) == tuple(counts)
    assert usual["totals"][0]["delta_bytes"] == all_of_it["totals"][0]["delta_bytes"]


def test_the_gate_refuses_growth(compare):
    """Exit 1 names the offenders on a terminal, in Markdown and for machines; a limit that none reaches is passed."""
    for form in ("table", "markdown"):
        said = compare("--fail-over", "5%,1MiB", "--format", form)
        assert 1 == said.code
        assert "The gate is not passed" in said.out
        assert said.out.index("The gate is not passed") < said.out.index("Why jit")
    said = compare("--fail-over", "5%,1MiB", "--format", "json")
    assert 1 == said.code
    gate = json.loads(said.out)["gate"]
    assert (False, [GROWN], {"share": 0.05, "size_bytes": 2**20}) == (
        gate["is_passed"], [(one["program_name"], one["memory_space"]) for one in gate["offenders"]], gate["limit"]
    )  # fmt: skip
    said = compare("--fail-over", "16MiB")
    assert (0, True) == (said.code, "The gate is passed" in said.out)


def test_the_gate_explains_what_failed_it(compare):
    """Not the biggest changes, of which one may have shrunk: the offenders, all of them, in the order of the gate."""
    found = json.loads(compare("--fail-over", "1B", "--relevant", "0%", "--format", "json").out)
    offenders = found["gate"]["offenders"]
    said = compare("--fail-over", "1B", "--relevant", "0%").out
    assert [one["program_label"] for one in offenders] == re.findall(r"^Why (\S+) changed in", said, re.MULTILINE)
    fell = [one["program_name"] for one in found["programs"] if (one["delta_bytes"] or 0) < 0]
    assert fell
    assert not any(f"Why {name} changed" in said for name in fell)
    for one in offenders:
        assert one["change_percent"] == pytest.approx(100 * one["change_ratio"], abs=1e-4)


def test_github_reads_one_command_a_line(compare, tmp_path: Path):
    """An error for each offender with its cause, a warning for each stale entry, and a notice of the whole."""
    accepted = accept_file(tmp_path / "accepted.toml", 5, "jit_nothing")
    said = compare("--fail-over", "5%,1MiB", "--format", "github", "--accept", accepted)
    assert 1 == said.code
    error, warning, notice = said.out.splitlines()
    assert error.startswith("::error title=bufferhouse::jit_cnn_train_step, ")
    assert "5.1 MiB → 6.4 MiB (+1.3 MiB, +25.5%25), limit 5 %25 and 1 MiB; main cause: " in error
    assert warning.startswith(
        "::warning title=bufferhouse::nothing grew over the limit for jit_nothing in memory space 0"
    )
    table = compare("--fail-over", "5%,1MiB", "--accept", accepted).out
    assert "Stale in the accept file\nNothing grew over the limit for jit_nothing" in table
    assert notice.startswith(f"::notice title=bufferhouse::{BEFORE} → {AFTER}: ")
    assert "1 program over 5 %25 and 1 MiB, 0 accepted" in notice


def test_github_is_told_bytes_to_the_byte(compare, small):
    """With --bytes, as the other forms."""
    said = compare("--fail-over", "1KiB", "--format", "github", "--bytes").out
    assert re.search(
        r"jit_cnn_train_step, .*: 5,\d{3},\d{3} B → 6,\d{3},\d{3} B \(\+1,\d{3},\d{3} B, .*limit 1,024 B", said
    )
    assert not re.search(r"[KMG]iB", said)
    lost = small("kept", "undonated", "--fail-over", "500%", "--format", "github", "--bytes").out
    assert "jit_train_step: 4,194,304 B of parameters are not donated any more" in lost


def test_github_is_told_what_passes_the_gate(small):
    """Donations that are lost, programs that are new and those that are gone, as on a terminal."""
    found = []
    for runs in (("kept", "undonated"), ("undonated", "kept")):
        said = small(*runs, "--fail-over", "500%", "--format", "github")
        *told, _ = said.out.splitlines()
        found.append((said.code, told))
    title = "title=bufferhouse::"
    lost = f"::warning {title}jit_train_step: 4.0 MiB of parameters are not donated any more"
    assert (0, [lost, f"::notice {title}1 program new: jit_more"]) == found[0]
    assert (0, [f"::notice {title}1 program gone: jit_more"]) == found[1]


def test_github_counts_programs_as_the_terminal_does(small):
    """A program that grows in two memory spaces is one program over the limit."""
    words = ("spaced-small", "spaced-large", "--fail-over", "5%")
    assert "1 program grew by at least 5 %, in 2 of 2 comparisons." in small(*words).out
    assert small(*words, "--format", "github").out.endswith(
        "2 comparisons of reserved bytes, 1 program over 5 %25, 0 accepted\n"
    )


def test_the_gate_says_what_it_could_not_judge(small):
    """Programs without a known peak and refused dumps are told on a terminal and on GitHub."""
    words = ("judged-before", "judged-after", "--metric", "occupied", "--fail-over", "5%")
    said, github = small(*words), small(*words, "--format", "github")
    assert (0, 0) == (said.code, github.code)
    assert "Nothing grew by 5 %, of 1 comparison; 1 more without known bytes." in said.out
    assert "::warning title=bufferhouse::Dumps of the run after were refused: " in github.out
    assert "1 comparison of the occupied peak, 1 more without known bytes, 0 programs over 5 %25" in github.out


def test_what_was_accepted_passes_until_it_grows(compare, tmp_path: Path):
    """Up to its bytes the program is let through and said so; with a byte less it is refused again."""
    found = objects(compare("--format", "json"))["programs"]
    [size] = [one["after_bytes"] for one in found if one["module_name"] == GROWN[0]]
    said = compare("--fail-over", "5%,1MiB", "--accept", accept_file(tmp_path / "enough.toml", size))
    assert 0 == said.code
    assert "kept for backward" in said.out
    words = ("--fail-over", "5%,1MiB", "--accept", accept_file(tmp_path / "too_little.toml", size - 1))
    exceeded = f"he accept file allows {GROWN[0]} in memory space 0 up to {size - 1:,} B, found {size:,} B"
    for form, first in (("table", "\nT"), ("github", "::t")):
        said = compare(*words, "--format", form)
        assert (1, True) == (said.code, first + exceeded in said.out)
    [found] = json.loads(compare(*words, "--format", "json").out)["gate"]["exceeded"]
    assert (GROWN[0], size - 1, size) == (found["program_name"], found["up_to_bytes"], found["after_bytes"])


def test_a_gate_on_nothing_is_not_passed(compare):
    """Runs without a common program do not pass by having none that grew; a whole sentence says so."""
    said = compare("--fail-over", "5%", runs=("seeds", AFTER))
    assert 1 == said.code
    assert "Nothing was compared: no program has known bytes in both runs." in said.out.splitlines()


def test_a_gate_without_a_comparison_says_what_takes_too_much(small):
    """Where all programs are reshaped, and those are ignored, the reason says so; headroom counts all the same."""
    words = ("--fail-over", "5%", "--headroom", "5%", "--reshaped", "ignore")
    for form in ("table", "github"):
        said = small("on-shaped-small", "on-shaped-large", *words, "--format", form)
        assert (1, True) == (said.code, "oo little headroom" in said.out)
        assert "every program that has known bytes in both runs is reshaped, and those are ignored" in said.out


def test_a_program_that_may_be_in_a_bad_dump_passes_no_gate(small, small_runs: Path, tmp_path: Path):
    """Its dump was refused, or a folder is not readable as an archive: it is not judged, and the way out is told."""
    words = ("whole", "broken", "--fail-over", "5%")
    said = "1 program of the run before is missing in the run after, where dumps were refused (bufferhouse rejects ls"
    assert (1, True) == ((told := small(*words)).code, said in told.out)
    assert f"::error title=bufferhouse::{said}" in small(*words, "--format", "github").out
    gate = json.loads(small(*words, "--format", "json").out)["gate"]
    assert (False, ["jit_g"]) == (gate["is_passed"], [row["program_name"] for row in gate["missing"]])
    own = Path(shutil.copytree(small_runs / "broken", tmp_path / "broken"))
    read = ("compare", *words, "--from", small_runs / "whole", "--from", own)
    said = said.replace("bufferhouse rejects ls", "standard error names them): jit_g")
    assert said in " ".join(call(*read).out.split())
    (own / f"module_0002.jit_g.cpu_after_optimizations{SUFFIX}").unlink()
    assert 0 == call(*read).code
    (cut := tmp_path / "cut.tar.gz").write_bytes(b"no archive")
    told = call(*read, "--from", cut)
    said = "missing in the run after, and paths could not be read (standard error names them): jit_g"
    assert (1, True) == (told.code, said in " ".join(told.out.split()))


def test_another_program_does_not_stand_for_one_that_may_be_in_a_bad_dump(small):
    """It is compared with the one before as that is not there; whether it is refused or renamed nobody knows."""
    words = ("one", "renamed-and-refused", "--fail-over", "5%")
    told = small(*words, "--format", "github")
    said = "1 program of the run before is missing in the run after, where dumps were refused"
    [error] = [line for line in told.out.splitlines() if line.startswith("::error")]
    assert (1, True) == (told.code, error.startswith(f"::error title=bufferhouse::{said} (bufferhouse rejects ls"))
    assert error.endswith(": jit_f")
    gate = json.loads(small(*words, "--format", "json").out)["gate"]
    assert [("jit_f", "renamed")] == [(row["before_program_name"], row["status"]) for row in gate["missing"]]
    assert 0 == small("one", "renamed", "--fail-over", "5%").code


def test_a_missing_dump_of_a_program_that_is_there_is_no_missing_program(small):
    """A further dump is called so, by the gate as by the notice of what is gone."""
    said = "1 further dump of the run before is missing in the run after, where dumps were refused"
    for kind in ("smaller", "larger"):
        told = small(f"{kind}-before", f"{kind}-after", "--fail-over", "5%", "--format", "github")
        [error] = [line for line in told.out.splitlines() if line.startswith("::error")]
        assert error.startswith(f"::error title=bufferhouse::{said} (bufferhouse rejects ls")
        assert error.endswith(": jit_fft")


def test_several_missing_dumps_of_a_program_are_one_program(small):
    """Whether it is gone, or new, or may be in a dump that was refused."""
    words = ("--fail-over", "5%", "--format", "github")
    for runs, status in ((("several", "one"), "gone"), (("one", "several"), "new")):
        told = small(*runs, *words)
        assert (0, True) == (told.code, f"::1 program {status}: jit_g\n" in told.out)
    told = small("several", "one-and-refused", *words)
    said = "1 program of the run before is missing in the run after, where dumps were refused"
    assert (1, True) == (told.code, f"::error title=bufferhouse::{said} " in told.out)


def test_nothing_need_be_stored(fleet: Path, compare):
    """With --from the dumps are read and compared, as those of a warehouse are."""
    sources = [word for run in (BEFORE, AFTER) for word in ("--from", fleet / run)]
    said = call("compare", BEFORE, AFTER, *sources, "--format", "json")
    assert 0 == said.code
    ids = {"run_id", "load_id", "warehouse", "asked_at"}
    found, stored = json.loads(said.out), objects(compare("--format", "json"))
    assert stored["programs"] == found["programs"]
    assert stored["totals"] == found["totals"]
    assert ids & found.keys() == ids & stored.keys()


def test_a_path_in_the_place_of_a_run_is_told_from_a_run(fleet: Path, example_warehouse: Path, tmp_path: Path):
    """Whether it is there, what is expected, and the call that compares the dumps of two folders."""
    folders = [fleet / BEFORE, fleet / AFTER]
    sources = " ".join(f"--from {folder}" for folder in folders)
    way = f"dumps are compared with: bufferhouse compare {BEFORE} {AFTER} {sources}"
    lacking = "dumps are compared with: bufferhouse compare A B --from A --from B, where A and B are folders"
    missing = "'dumps/a': no such file or directory, and"
    for words, warehouse, parts in (
        (folders, example_warehouse, [f"'{folders[0]}' is a path, and no run", "expected two of its runs", way]),
        (folders, tmp_path / "no.duckdb", ["there is no warehouse at ", way]),
        (["dumps/a", "dumps/b"], example_warehouse, [f"{missing} no run of the warehouse", lacking]),
        (["dumps/a", "dumps/b"], tmp_path / "no.duckdb", [f"{missing} as a run: there is no warehouse at", lacking]),
    ):
        said = call("compare", *words, "--warehouse", warehouse)
        assert (2, "", []) == (said.code, said.out, [part for part in parts if part not in said.err])
        assert "\n  " not in said.err
    assert "there are:" in call("compare", "a", "b", "--warehouse", example_warehouse).err


def test_what_could_not_be_read_is_told_beside_the_figures(small_runs: Path, tmp_path: Path):
    """A program that is missing may be in it: the report, its page and the annotations say so."""
    cut, page = tmp_path / "cut.tar.gz", tmp_path / "page.html"
    cut.write_bytes(b"no archive")
    runs = ["spaced-small", "spaced-large"]
    words = ["compare", *runs]
    words += [word for place in (*(small_runs / run for run in runs), cut) for word in ("--from", place)]
    expected = "1 path could not be read: nothing of it is in the figures"
    said = call(*words)
    assert (0, True, True) == (said.code, expected in said.err, expected in said.out)
    assert 0 == call(*words, "--html", page).code
    assert expected in page.read_text()
    told = call(*words, "--fail-over", "500%", "--format", "github").out.splitlines()
    assert f"::warning title=bufferhouse::{expected}" in told


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--metric", "bytes"], "--metric: expected reserved, occupied, temp or footprint, found 'bytes'"),
        (
            ["--by", "shape"],
            "--by: expected cause, op_name, source, opcode, element_type, tile or parameter, found 'shape'",
        ),
        (["--format", "github"], "--format github: expected --fail-over beside it"),
        (["--format", "xml"], "xml"),
        (["--fail-over", "much"], "--fail-over: expected a limit such as 5%"),
        (["--relevant", "5"], "--relevant: expected a limit such as 5%"),
        (["--fail-over", "5%", "--headroom", "5"], "--headroom: expected a share such as 5%, found '5'"),
        (["--accept", "a.toml"], "--accept: expected --fail-over beside it"),
        (["--fail-over", "5%", "--accept", "/no/such.toml"], "/no/such.toml: No such file"),
        (["--program", "jit_cnn_trian_step"], "did you mean 'jit_cnn_train_step'"),
        (["--from", "."], "expected --warehouse or --from, not both"),
    ],
    ids=lambda word: " ".join(map(str, word)) if isinstance(word, list) else "",
)
def test_what_is_not_understood_is_refused(compare, words: list[str], said: str):
    """Exit 2, nothing on standard output, and the way out."""
    found = compare(*words)
    assert (2, "") == (found.code, found.out)
    assert said in found.err


def test_a_run_passes_no_gate_against_itself(compare):
    """So it is where a pull request is the newest run of the track that it is held against: it would always pass."""
    found = compare("--fail-over", "5%", runs=(AFTER, AFTER))
    said = f"--fail-over: expected two runs, found {AFTER} on both sides: nothing could have grown"
    assert (2, "", True) == (found.code, found.out, said in found.err)
    assert 0 == compare(runs=(AFTER, AFTER)).code


def test_the_gate_asks_for_headroom(own_warehouse):
    """A program that takes too much of its device fails it, whether it grew or not; a device must be known."""
    runs = ["jaxlib-0.9.0", "jaxlib-0.10.0"]
    words = ["compare", *runs, "--fail-over", "50%", "--headroom", "5%", "--warehouse", own_warehouse]
    assert "runs set jaxlib-0.10.0 device_memory_bytes=…" in call(*words).err
    for memory, code in ((7 << 20, 0), (6 << 20, 1)):
        call("runs", "set", runs[1], f"device_memory_bytes={memory}", "--warehouse", own_warehouse)
        said, text = call(*words, "--format", "json"), call(*words, "--bytes").out
        tight = json.loads(said.out)["gate"]["tight"]
        assert (code, code, code == 1) == (said.code, len(tight), "Too little headroom" in text)
    assert f"1 program beside the {6 << 20:,} B of the device." in text
    assert "too little headroom" in call(*words, "--format", "github").out
    assert 2 == call("compare", *runs, "--headroom", "5%", "--warehouse", own_warehouse).code


def test_headroom_counts_all_that_lies_on_the_device(small):
    """Memory spaces of a GPU are labels on one memory, but for the host's; those of a TPU are memories of their own."""
    for kind, on_device in (("gpu", 110), ("tpu", 60), ("cpu", 210)):
        words = (f"on-{kind}-a", f"on-{kind}-b", "--fail-over", "5%", "--headroom", "0%")
        for only in ((), ("--memory-space", "0")):
            said = small(*words, *only, "--format", "json")
            tight = [(row["memory_space"], row["after_device_bytes"]) for row in json.loads(said.out)["gate"]["tight"]]
            assert ([(0, on_device)], 1) == (tight, said.code) if on_device > 100 else ([], 0) == (tight, said.code)
            several = " in all memory spaces of the device" if on_device > 60 else ""
            text = small(*words, *only).out
            assert f"jit_f reserves most, {on_device} B{several}, {on_device}.0% of it" in text
            tight = text.partition("Too little headroom")[2].partition("\n\n")[0]
            assert (on_device > 100) == (f" {on_device} B" in tight)


def test_headroom_is_judged_without_an_allocation_in_space_0(small):
    """A GPU that labels all buffers of a program has them on its device all the same: in the first space they stand."""
    said = small("on-labels-a", "on-labels-b", "--fail-over", "5%", "--headroom", "0%", "--format", "json")
    tight = [(row["memory_space"], row["after_device_bytes"]) for row in json.loads(said.out)["gate"]["tight"]]
    assert ([(1, 110)], 1) == (tight, said.code)


def test_a_program_that_did_not_fit_leaves_no_headroom(small):
    """A device offers less than its memory: what its compiler refused may take few enough bytes. All forms say so."""
    gate = ("--fail-over", "5%", "--headroom", "5%")
    assert 0 == small("fit-1", "fit-2", *gate).code
    words = ("fit-1", "fit-3", *gate)
    said = small(*words, "--format", "json")
    [tight] = json.loads(said.out)["gate"]["tight"]
    assert (1, None, True) == (said.code, tight["before_did_not_fit"], tight["after_did_not_fit"])
    warned = "1 program of the run after did not fit, as files beside dumps or messages say: jit_f."
    text = small(*words).out
    assert "Known not to fit, whatever they reserve: jit_f." in text
    assert (
        "::error title=bufferhouse::jit_f: 50 B of 100 B of the device, and it did not fit\n"
        in small(*words, "--format", "github").out
    )
    without = small(*words[:-2])
    assert (0, [True] * 2) == (without.code, [warned in one for one in (text, without.out)])


def test_headroom_is_not_asked_for_where_nobody_looks(own_warehouse):
    """Headroom is that of memory space 0: a gate on another one alone would pass whatever a program takes."""
    runs = ["tpu-v5e-jaxlib-0.4.38-libtpu-0.0.8", "tpu-v5e-jaxlib-0.8.3-libtpu-0.0.33"]
    words = ["compare", *runs, "--fail-over", "5000%,1GiB", "--headroom", "5%", "--warehouse", own_warehouse]
    call("runs", "set", runs[1], "device_memory_bytes=1000", "--warehouse", own_warehouse)
    assert 1 == call(*words).code
    assert 1 == call(*words, "--memory-space", "0").code
    said = call(*words, "--memory-space", "1")
    assert (2, "") == (said.code, said.out)
    assert "--headroom: expected --memory-space 0 or none, as it is judged there; found 1" in said.err


def test_the_program_that_reserves_most_is_one_of_those_asked_for(own_warehouse):
    """Beside the memory of the device a small program alone must not look like the largest of its run."""
    runs = ["jaxlib-0.9.0", "jaxlib-0.10.0"]
    call("runs", "set", runs[1], "device_memory_bytes=1000000", "--warehouse", own_warehouse)
    words = ["compare", *runs, "--warehouse", own_warehouse]
    assert "as the run says; jit_" in call(*words).out
    program = json.loads(call(*words, "--format", "json").out)["programs"][-1]["program_name"]
    said = call(*words, "--program", program).out
    assert f"as the run says; of the programs asked for, {program} reserves most, " in said


def test_a_further_dump_is_no_new_program_and_in_no_pair(small):
    """A program of both runs with one more dump after: one pair is uncertain, as GitHub hears; no program is new."""
    [note] = json.loads(small("once", "twice", "--format", "json").out)["notes"]
    assert note.startswith("1 pair of dumps may be wrong: ")
    for runs, status in ((("once", "twice"), "new"), (("twice", "once"), "gone")):
        said = small(*runs, "--fail-over", "5000%", "--format", "github").out
        assert "::warning title=bufferhouse::1 pair of dumps may be wrong: " in said
        assert f"::notice title=bufferhouse::1 further dump {status}: jit_f (2)" in said
        assert f"program {status}" not in said


def test_a_source_without_a_line_is_its_file(fleet: Path, tmp_path: Path, monkeypatch):
    """A dump may name the file of an instruction and no line: no table, JSON or group says `None`."""
    for name in (BEFORE, AFTER):
        for dump in (fleet / name).glob("*jit_cnn_train_step*-buffer-assignment*.txt"):
            (tmp_path / name).mkdir(exist_ok=True)
            text = re.sub(r" source_line=\d+", "", dump.read_text())
            assert "source_file=" in text
            (tmp_path / name / dump.name).write_text(text)
    warehouse = tmp_path / "w.duckdb"
    monkeypatch.setenv("COLUMNS", "400")
    assert 0 == call("ingest", tmp_path / BEFORE, tmp_path / AFTER, "--warehouse", warehouse).code
    for words in ([], ["--by", "source", "--format", "json"], ["--format", "markdown"]):
        said = call("compare", BEFORE, AFTER, *words, "--warehouse", warehouse).out
        assert ".py" in said
        assert ":None" not in said
