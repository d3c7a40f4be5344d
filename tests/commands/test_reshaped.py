"""A training step with more layers or a larger batch: every part of bufferhouse says so first, and the gate fails."""

import json
import re
import shutil
from functools import cache, partial
from pathlib import Path

import duckdb
import pytest

from bufferhouse.commands.ingest_run import run_ingest
from tests.command_line import CHECKOUT, Outcome, call

RUNS = CHECKOUT / "tests" / "data" / "reshaped"
STEP, FORMER = "jit_train_step", "layers-4"
SAID = {
    "layers-6": "parameters 53 → 77; outputs 52 → 76",
    "batch-64": "s32[32,65] → s32[64,65]; leading dimension ×2",
}
GROWN = {"layers-6": (152_093_236, 217_113_332), "batch-64": (152_093_236, 283_230_912)}


@pytest.fixture(scope="module")
def warehouses(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A warehouse for each of the changes: the run before, and the run after."""
    folder = tmp_path_factory.mktemp("reshaped")
    for run in SAID:
        assert 0 == run_ingest([str(RUNS / FORMER), str(RUNS / run)], folder / f"{run}.duckdb").exit_code
    return {run: folder / f"{run}.duckdb" for run in SAID}


# What a larger batch changes otherwise than more layers do is compared in the suite; all else is said alike of both.
@pytest.fixture(params=["layers-6", pytest.param("batch-64", marks=pytest.mark.soak)])
def changed(request: pytest.FixtureRequest) -> str:
    """The run after: more layers, or a larger batch."""
    return request.param


either = pytest.mark.parametrize("changed", SAID)


@pytest.fixture(scope="module")
def outcomes(warehouses: dict[str, Path]):
    """A function that calls a command on the warehouse of a change, each command once: it only reads."""
    return cache(lambda run, *words: call(*words, "--warehouse", warehouses[run]))


@pytest.fixture
def ask(outcomes, changed: str):
    """A function that calls a command on the warehouse of the change."""
    return partial(outcomes, changed)


def compare(ask, changed: str, *words: str) -> Outcome:
    return ask("compare", FORMER, changed, *words)


@either
def test_compare_does_not_say_that_nothing_moved(ask, changed: str):
    """The step is first, with its bytes and causes that sum to the change; it is neither gone nor new."""
    found = json.loads(compare(ask, changed, "--format", "json").out)
    first, *others = found["programs"]
    assert (STEP, "reshaped", SAID[changed], False) == (
        first["program_name"], first["status"], first["signature_change"], first["is_ambiguous"]
    )  # fmt: skip
    assert GROWN[changed] == (first["before_bytes"], first["after_bytes"])
    assert first["delta_bytes"] == sum(cause["bytes"] for cause in first["causes"]) > 0
    assert first["before_program_id"] != first["after_program_id"] == first["program_id"]
    assert ["unchanged"] == [one["status"] for one in others]


@either
def test_a_reshaped_program_is_not_mixed_with_the_others(ask, changed: str):
    """Totals are over programs of one signature, as they were; reshaped ones are counted beside them."""
    [total] = json.loads(compare(ask, changed, "--format", "json").out)["totals"]
    assert (1, 0, 0, 0) == tuple(total[name] for name in ("matched_count", "delta_bytes", "new_count", "gone_count"))
    before, after = GROWN[changed]
    assert (1, 0, after - before) == tuple(
        total[name] for name in ("reshaped_count", "renamed_count", "joined_delta_bytes")
    )


@pytest.mark.parametrize("form", ["table", "markdown"])
def test_a_reader_sees_what_changed_in_the_model(ask, changed: str, form: str):
    """The table of reshaped programs stands before all others, the words stand with the causes."""
    said = compare(ask, changed, "--format", form).out.replace("\\", "")
    assert f"Reshaped: {SAID[changed]}." in said
    assert "Nothing changed" not in said
    assert said.index("Reshaped in cpu") < said.index("Why jit_train_step changed")


@either
def test_the_dimension_that_changed_takes_its_bytes(ask, changed: str):
    """A batch twice as large explains nine tenths of the growth; more layers show as parameters and as new buffers."""
    found = json.loads(compare(ask, changed, "--by", "parameter", "--format", "json").out)
    groups = {one["group_label"]: one["delta_bytes"] for one in found["by_parameter"]}
    before, after = GROWN[changed]
    assert after - before == sum(groups.values())
    if changed == "batch-64":
        assert groups["leading dimension 32 → 64"] > 0.9 * (after - before)
    else:
        assert {"parameters 53 → 77", "(new and removed buffers)"} < groups.keys()
        parameters = [cause for cause in found["programs"][0]["causes"] if cause["opcode"] == "parameter"]
        assert groups["parameters 53 → 77"] == sum(cause["bytes"] for cause in parameters)


def test_the_gate_does_not_let_a_larger_model_pass(ask, changed: str):
    """Growth is growth; only who asks for it is warned instead, or sees nothing."""
    for words, code in (
        [(), 1],
        [("--reshaped", "fail"), 1],
        [("--reshaped", "warn"), 0],
        [("--reshaped", "ignore"), 0],
    ):
        outcome = compare(ask, changed, "--fail-over", "5%,16MiB", "--format", "json", *words)
        gate = json.loads(outcome.out)["gate"]
        assert (code, code == 0) == (outcome.code, gate["is_passed"])
        found = [[one["program_name"] for one in gate[part]] for part in ("offenders", "warned")]
        assert [[STEP] * (code == 1), [STEP] * ("warn" in words)] == found


def test_the_gate_says_on_github_what_changed(ask, changed: str):
    """An error with the words, or a warning."""
    words = ("--fail-over", "5%,16MiB", "--format", "github")
    assert compare(ask, changed, *words).out.startswith("::error title=bufferhouse::jit_train_step")
    assert f"reshaped: {SAID[changed]}" in compare(ask, changed, *words).out
    assert compare(ask, changed, *words, "--reshaped", "warn").out.startswith("::warning title=bufferhouse::jit_train")


def test_what_passes_over_the_limit_is_not_denied(ask, changed: str, tmp_path: Path):
    """Growth that is a warning, or accepted, is growth: the verdict above it does not say that nothing grew."""
    accept = tmp_path / "accepted.toml"
    up_to = f"up_to_bytes = {GROWN[changed][1]}"
    accept.write_text(f'[[accept]]\nprogram = "{STEP}"\nmemory_space = 0\n{up_to}\nwhy = "agreed"\n')
    limit = ("--fail-over", "5%,16MiB")
    for words in (("--reshaped", "warn"), ("--accept", str(accept))):
        said = compare(ask, changed, *limit, *words)
        beside = "Nothing grew by 5 % and 16 MiB beside what is told below, of 2 comparisons."
        assert (0, True) == (said.code, beside in said.out.splitlines())
    said = compare(ask, changed, *limit, "--reshaped", "warn", "--format", "github").out
    assert "0 programs over 5 %25 and 16 MiB, 1 more reshaped with a warning, 0 accepted" in said


def test_growth_of_a_model_can_be_accepted(ask, changed: str, tmp_path: Path):
    """By the name of the program, as any other growth; the bytes are those after."""
    entry = '[[accept]]\nprogram = "{}"\nmemory_space = 0\nup_to_bytes = {}\nwhy = "agreed"\n'
    for up_to, code in ((GROWN[changed][1], 0), (GROWN[changed][1] - 1, 1)):
        accept = tmp_path / f"{code}.toml"
        accept.write_text(entry.format(STEP, up_to))
        assert code == compare(ask, changed, "--fail-over", "5%,16MiB", "--accept", str(accept)).code


def test_the_gate_says_what_it_ignored(ask, changed: str, tmp_path: Path):
    """A reshaped program that was not looked at is counted in every form, and no reason to remove its entry."""
    accept = tmp_path / "accepted.toml"
    accept.write_text(f'[[accept]]\nprogram = "{STEP}"\nmemory_space = 0\nup_to_bytes = 1\nwhy = "agreed"\n')
    words = ("--fail-over", "5%,16MiB", "--reshaped", "ignore", "--accept", str(accept))
    assert "Nothing grew by 5 % and 16 MiB, of 1 comparison; 1 more reshaped and ignored." in compare(
        ask, changed, *words
    ).out  # fmt: skip
    github = compare(ask, changed, *words, "--format", "github").out
    assert "1 comparison of reserved bytes, 1 more reshaped and ignored, 0 programs over" in github
    gate = json.loads(compare(ask, changed, *words, "--format", "json").out)["gate"]
    assert (1, 1, 0, []) == tuple(gate[key] for key in ("compared_count", "ignored_count", "unknown_count", "stale"))
    assert "remove the entry" not in github


def test_an_unknown_way_to_treat_reshaped_programs_is_refused(ask, changed: str):
    """As is the option without a gate."""
    assert "expected fail, warn or ignore" in compare(ask, changed, "--fail-over", "5%", "--reshaped", "maybe").err
    assert "expected --fail-over beside it" in compare(ask, changed, "--reshaped", "warn").err


def test_the_fleet_report_does_not_say_that_nothing_moved(ask, changed: str):
    """The step is the first table, and the first row of its answer; the line of the memory space counts it."""
    said = ask("report", "fleet").out
    assert said.index(f"Reshaped and renamed: {FORMER} → {changed}") < said.index("cpu · memory space 0")
    assert "1 reshaped in the newest run of cpu" in said
    [row] = json.loads(ask("report", "fleet", "--format", "json").out)["answers"]["fleet_reshaped"]
    assert (STEP, SAID[changed], *GROWN[changed]) == (
        row["program_name"], row["change_said"], row["before_bytes"], row["after_bytes"]
    )  # fmt: skip


def test_the_report_of_a_run_names_what_became_of_its_programs(ask, changed: str):
    """Against the run before it; the first run has none."""
    said = ask("report", "run", changed, "--format", "markdown").out
    assert f"Reshaped and renamed: {FORMER} → {changed}" in said.replace("\\", "")
    assert "Reshaped and renamed" not in ask("report", "run", FORMER).out


def test_blame_goes_on_where_the_signature_changed(ask, changed: str):
    """The history of a function does not end with a change of the model: the step is there, with its causes."""
    found = json.loads(ask("blame", STEP, "--format", "json").out)
    [step] = found["reshaped"]
    assert (FORMER, changed, SAID[changed]) == (step["previous_run_name"], step["run_name"], step["change_said"])
    assert step["delta_bytes"] == sum(cause["bytes"] for cause in step["causes"])
    assert f"Reshaped: {SAID[changed]}." in ask("blame", STEP).out
    assert [] == json.loads(ask("blame", "jit_count", "--format", "json").out)["reshaped"]


def test_blame_keeps_compile_targets_apart(warehouses: dict[str, Path], tmp_path: Path):
    """A program that is there for a CPU before and for a GPU after became nothing else."""
    other = tmp_path / "other.duckdb"
    shutil.copy(warehouses["layers-6"], other)
    with duckdb.connect(str(other)) as con:
        con.execute("UPDATE raw.runs SET platform = NULL")
        con.execute(
            "UPDATE raw.observations SET compile_target = 'sm_9.0'"
            " WHERE run_id = (SELECT run_id FROM raw.runs WHERE run_name = 'layers-6')"
        )
    found = json.loads(call("blame", STEP, "--warehouse", other, "--format", "json").out)
    assert {("cpu", FORMER), ("sm_9.0", "layers-6")} == {
        (one["compile_target"], run["run_name"]) for one in found["series"] for run in one["runs"]
    }
    assert [] == found["reshaped"]


def test_the_pages_hold_what_the_terminal_shows(ask, changed: str, tmp_path: Path):
    """Of a comparison, the fleet and a run."""
    for words in (("fleet",), ("run", changed), ("compare", FORMER, changed)):
        page = tmp_path / f"{words[0]}.html"
        assert 0 == ask("report", *words, "--html", page).code
        assert SAID[changed].split(";")[0] in page.read_text()


def test_one_program_can_be_asked_for_by_what_it_was(ask, changed: str):
    """The id before leads to the pair as the id after does."""
    whole = json.loads(compare(ask, changed, "--format", "json").out)["programs"][0]
    for side in ("before", "after"):
        word = str(whole[f"{side}_program_id"])
        [found] = json.loads(compare(ask, changed, "--format", "json", "--program", word).out)["programs"]
        assert whole == found


def test_main_causes_of_reshaped_programs_are_exact_on_demand(ask, changed: str):
    """With --bytes no figure of memory is rounded, in the report of the fleet, of a run and of two runs."""
    for words in (["fleet"], ["run", changed], ["compare", FORMER, changed]):
        shown, exact = (re.sub(".* of text", "", ask("report", *words, *form).out) for form in ([], ["--bytes"]))
        assert re.search(r"[\d.]+ [KMG]iB", shown)
        assert [] == re.findall(r"[\d.]+ [KMG]iB", exact)
