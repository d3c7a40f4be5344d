"""The report of two runs: what changed, what is new, what is gone, and what could not be compared."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest
from rich.cells import cell_len

from bufferhouse.report.compare.data import Comparison, read_comparison
from bufferhouse.report.compare.text import compare_text
from tests.command_line import call
from tests.ingests import SUFFIX
from tests.report.pages import HOSTILE
from tests.synthetic import Slot, dump_text, small_dump
from tests.warehouses import rows

BEFORE, AFTER = "jaxlib-0.4.38", "jaxlib-0.6.0"
TPU = ("tpu-v5e-jaxlib-0.4.38-libtpu-0.0.8", "tpu-v5e-jaxlib-0.8.3-libtpu-0.0.33")
FIGURES = ("reserved", "occupied_peak", "layout_padding")


@pytest.fixture(scope="module")
def releases(example_warehouse: Path) -> Comparison:
    """Two releases of jaxlib on CPU, between which programs grew and shrank."""
    return read_comparison(example_warehouse, BEFORE, AFTER)


@pytest.fixture(scope="module")
def upgrade(example_warehouse: Path) -> Comparison:
    """Two releases of libtpu, with programs that one of them alone has, in four memory spaces."""
    return read_comparison(example_warehouse, *TPU)


@pytest.fixture
def changed(example_warehouse: Path, tmp_path: Path) -> Path:
    """A copy of the example fleet that a test may change."""
    return Path(shutil.copy(example_warehouse, tmp_path / "changed.duckdb"))


def execute(path: Path, *statements: str) -> None:
    """Change a warehouse."""
    with duckdb.connect(str(path)) as con:
        for sql in statements:
            con.execute(sql)


def largest(path: Path, run_name: str) -> dict[tuple, tuple]:
    """By program and memory space the figures of the largest dump of a run, found by going through all of them."""
    found: dict[tuple, tuple] = {}
    for program, space, reserved, occupied, padding, dump_id in rows(
        path,
        "SELECT o.program_name, p.memory_space, p.reserved_bytes, p.occupied_peak_bytes,"
        " CAST(SUM(w.layout_padding_bytes) AS BIGINT), o.dump_id FROM marts.observations_v1 AS o"
        " JOIN marts.peak_memory_v1 AS p USING (dump_id) JOIN marts.padding_waste_v1 AS w USING (dump_id, memory_space)"
        " WHERE o.run_name = $1 GROUP BY ALL",
        [run_name],
    ):
        figures = (reserved, occupied, padding, dump_id)
        if (program, space) not in found or figures > found[program, space]:
            found[program, space] = figures
    return found


def statuses(comparison: Comparison) -> dict[tuple[str, int], tuple[str, str | None]]:
    """By program and memory space, the status and the reason."""
    return {(row["program_label"], row["memory_space"]): (row["status"], row["reason"]) for row in comparison.programs}


@pytest.mark.parametrize("runs", [(AFTER, BEFORE), TPU, pytest.param((BEFORE, AFTER), marks=pytest.mark.soak)])
def test_figures_are_those_of_the_largest_dumps(example_warehouse: Path, runs: tuple[str, str]):
    """Before, after and change are those of each run's largest dump; a space on one side only is empty on the other."""
    before, after = (largest(example_warehouse, name) for name in runs)
    programs = [{program for program, _ in side} for side in (before, after)]
    found = read_comparison(example_warehouse, *runs).programs
    assert before.keys() | after.keys() == {(row["program_label"], row["memory_space"]) for row in found}
    assert len(found) == len(before.keys() | after.keys())
    for row in found:
        key = (row["program_label"], row["memory_space"])
        sides = [
            side.get(key, (0, 0, 0, None) if key[0] in names else (None,) * 4)
            for side, names in zip((before, after), programs, strict=True)
        ]
        for place, name in enumerate(FIGURES):
            old, new = (side[place] for side in sides)
            assert (old, new) == (row[f"before_{name}_bytes"], row[f"after_{name}_bytes"])
            change = None if None in (old, new) else new - old
            assert change == row[f"{name.removesuffix('_peak')}_change_bytes"]
        if None in (sides[0][0], sides[1][0]):
            expected = "gone" if sides[1][0] is None else "new"
        else:
            expected = "unchanged" if sides[0][:3] == sides[1][:3] else "changed"
        assert (expected, None) == (row["status"], row["reason"])
        assert row["has_same_content"] == (sides[0][3] is not None and sides[0][3] == sides[1][3])


def test_every_program_is_counted_once(releases: Comparison, upgrade: Comparison):
    """The totals of a memory space sum to its programs; of the changed, those that rose and fell are counted."""
    for comparison in (releases, upgrade):
        for total in comparison.totals:
            parts = ("changed", "new", "gone", "not_compared", "unchanged")
            assert total["program_count"] == sum(total[f"{part}_count"] for part in parts)
    (total,) = releases.totals
    assert (13, 8, 5, 1, 5) == tuple(
        total[f"{name}_count"] for name in ("program", "changed", "risen", "fallen", "unchanged")
    )
    spaces = {total["memory_space"]: total["new_count"] for total in upgrade.totals}
    assert {0: 3, 1: 3, 2: 3, 6: 3} == spaces


def test_the_biggest_changes_come_first(releases: Comparison):
    """Changed programs stand by the size of the change, whichever way it went, and their places are numbered."""
    changed = releases.of("cpu", 0, "changed")
    sizes = [abs(row["reserved_change_bytes"]) for row in changed]
    assert sorted(sizes, reverse=True) == sizes
    assert list(range(1, 9)) == [row["status_rank"] for row in changed]


def test_a_run_and_itself_are_the_same(example_warehouse: Path):
    """Nothing changes between a run and itself, every dump is the same one, and the report says that they are one."""
    comparison = read_comparison(example_warehouse, AFTER, AFTER)
    assert {("unchanged", None)} == set(statuses(comparison).values())
    assert all(row["has_same_content"] for row in comparison.programs)
    text = compare_text(comparison, "table")
    assert "Both sides are the same run.\nNothing changed." in text


def test_a_memory_space_of_neither_run_is_answered_with_those_there_are(example_warehouse: Path, upgrade: Comparison):
    comparison = read_comparison(example_warehouse, *TPU, memory_space=9)
    spaces = sorted({row["memory_space"] for row in upgrade.programs})

    line = "Neither run has an allocation in the requested memory space; there are: "
    assert f"{line}{', '.join(map(str, spaces))}." in compare_text(comparison, "table")


def test_what_is_not_known_is_not_compared(warehouse: Path, tmp_path: Path):
    """Without live ranges reserved bytes are compared; where those are equal, the rest is not called so."""
    whole, larger = small_dump(1), small_dump(9)
    part, equal, larger_part = (
        text.split(b"\n\n")[0] + b"\n" for text in (whole, dump_text([Slot(0, 2, 0, 73)]), larger)
    )
    runs = {
        "before": {"f": whole, "g": part, "h": part, "i": whole},
        "after": {"f": larger_part, "g": larger_part, "h": equal, "i": equal},
    }
    for run, programs in runs.items():
        (tmp_path / run).mkdir()
        for name, text in programs.items():
            (tmp_path / run / f"module_0001.jit_{name}.cpu_after_optimizations{SUFFIX}").write_bytes(text)
    assert 0 == call("ingest", *(tmp_path / run for run in runs), "--warehouse", warehouse).code
    comparison = read_comparison(warehouse, *runs)
    assert {
        ("jit_f", 0): ("changed", "no live ranges after"),
        ("jit_g", 0): ("changed", "no live ranges before and after"),
        ("jit_h", 0): ("not compared", "no live ranges before and after"),
        ("jit_i", 0): ("not compared", "no live ranges after"),
    } == statuses(comparison)
    assert "no live ranges after" in compare_text(comparison, "table")


def test_programs_are_compared_across_compile_targets(changed: Path):
    """A program that each run compiled for another target is compared, both named; one for a further target is new."""
    execute(
        changed,
        "UPDATE raw.observations SET compile_target = 'sm_9.0' WHERE program_name = 'jit_fft'"
        f" AND run_id = (SELECT run_id FROM raw.runs WHERE run_name = '{AFTER}')",
        "INSERT INTO raw.observations SELECT o.* REPLACE ('sm_9.0' AS compile_target, b.run_id AS run_id, 'x.txt' AS"
        " relative_path) FROM raw.observations AS o JOIN raw.runs AS a USING (run_id), raw.runs AS b"
        f" WHERE a.run_name = 'jaxlib-0.4.13' AND b.run_name = '{AFTER}' AND program_name = 'jit_dt_bf16'",
    )
    comparison = read_comparison(changed, BEFORE, AFTER)
    found = statuses(comparison)
    assert ("changed", None) == found["jit_fft cpu → sm_9.0", 0]
    assert ("changed", None) == found["jit_dt_bf16 cpu", 0]
    assert ("new", None) == found["jit_dt_bf16 sm_9.0", 0]
    [row] = [row for row in comparison.programs if row["program_label"] == "jit_fft cpu → sm_9.0"]
    assert ("cpu", "sm_9.0", False) == (row["before_compile_target"], row["after_compile_target"], row["is_ambiguous"])


def test_a_run_of_rejects_is_compared_with_nothing(changed: Path, tmp_path: Path):
    """Where no dump of a run could be read, nothing is called gone, and the report and its page say why."""
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "module_1-buffer-assignment.txt").write_text("BufferAssignment:\nnonsense\n")
    assert 1 == call("ingest", tmp_path / "broken", "--warehouse", changed).code
    page = tmp_path / "page.html"
    assert 0 == call("report", "compare", "seeds", "broken", "--warehouse", changed, "--html", page).code
    said = call("report", "compare", "seeds", "broken", "--warehouse", changed)
    assert "No dump of the run after could be read; list its rejects with: bufferhouse rejects ls" in said.out
    assert "No dump of the run after could be read" in page.read_text()
    for runs in (("seeds", "broken"), ("broken", "seeds")):
        side = "after" if runs[1] == "broken" else "before"
        found = statuses(read_comparison(changed, *runs))
        assert {("not compared", f"the run {side} has no dump that could be read")} == set(found.values())
    comparison = read_comparison(changed, "broken", "broken")
    assert [] == comparison.programs
    assert "there is nothing to compare" in compare_text(comparison, "table")


def test_refused_dumps_and_variants_are_said(changed: Path, tmp_path: Path):
    """Where dumps of a run were refused a missing program may be among them; what was paired by size is said."""
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "module_1-buffer-assignment.txt").write_text("BufferAssignment:\nnonsense\n")
    assert 1 == call("ingest", tmp_path / "broken", "--warehouse", changed).code
    execute(
        changed,
        "INSERT INTO raw.observations SELECT o.* REPLACE (b.run_id AS run_id, 'again/' || relative_path AS"
        " relative_path) FROM raw.observations AS o JOIN raw.runs AS a USING (run_id), raw.runs AS b"
        f" WHERE a.run_name = 'jaxlib-0.4.13' AND b.run_name = '{AFTER}'",
        f"UPDATE raw.rejects SET run_id = (SELECT run_id FROM raw.runs WHERE run_name = '{AFTER}')",
    )
    comparison = read_comparison(changed, BEFORE, AFTER)
    text = compare_text(comparison, "markdown")
    assert "Dumps of the run after were refused: a program that is missing there may be in one of them." in text
    ambiguous = [row for row in comparison.programs if row["is_ambiguous"]]
    assert {"changed", "new"} <= {row["status"] for row in ambiguous}
    pairs = [row for row in ambiguous if row["status"] != "new"]
    assert f"{len(pairs)} pairs of dumps may be wrong: the program has several" in text
    assert len(statuses(comparison)) == len(comparison.programs)
    once = "A program with several different dumps in a run counts once for each pair of dumps."
    assert once in text
    execute(changed, "UPDATE raw.rejects SET role = 'log'")
    assert "were refused" not in compare_text(read_comparison(changed, BEFORE, AFTER), "markdown"), "a message was"
    assert once not in compare_text(read_comparison(changed, "jaxlib-0.4.25", BEFORE), "markdown")


def test_a_dump_with_allocations_alone_is_told(warehouse: Path, tmp_path: Path):
    """Its file may have been cut short among them: it reads as a program that shrank."""
    for name in ("whole", "cut", "cut2"):
        (tmp_path / name).mkdir()
        for number in (1, 2):
            head, _, _ = small_dump(number).partition(b"\n\nTotal bytes used")
            text = small_dump(number) if name == "whole" or number == 2 else head + b"\n"
            (tmp_path / name / f"module_000{number}.jit_f{number}.cpu_after_optimizations{SUFFIX}").write_bytes(text)
    assert 0 == call("ingest", tmp_path, "--warehouse", warehouse).code
    found = compare_text(read_comparison(warehouse, "whole", "cut"), "table")
    said = "1 dump of the run after with allocations alone: "
    assert (1, False) == (found.count(said), "the run before with allocations alone" in found)
    assert said in compare_text(read_comparison(warehouse, "whole", "cut"), "github")
    words = ("compare", "whole", "cut", "--fail-over", "5%", "--warehouse", warehouse)
    why = (
        "1 program with allocations alone in the run after, whose peak the run before knows: its file may be cut short"
    )
    for form in ("table", "github"):
        told = call(*words, "--format", form)
        assert (1, True) == (told.code, why in " ".join(told.out.split()))
    gate = json.loads(call(*words, "--format", "json").out)["gate"]
    assert (False, ["jit_f1"], 1) == (
        gate["is_passed"], [row["program_name"] for row in gate["maybe_cut"]], gate["compared_count"]
    )  # fmt: skip
    assert 0 == call("compare", "cut", "cut2", *words[3:]).code


def test_a_run_of_two_compilers_is_told(warehouse: Path, tmp_path: Path):
    """Two jobs left their dumps in one folder: what changed since is not what one compiler did.

    What a run.json says stands for dumps that name no revision, and makes no second compiler of them.
    """
    revisions = {"one": ("1", "1"), "two": ("1", "2"), "told": ("1", None)}
    for name, found in revisions.items():
        (tmp_path / name).mkdir()
        for number, revision in enumerate(found):
            target = f".cl_{revision}.after_optimizations" if revision else ".cpu_after_optimizations"
            (tmp_path / name / f"module_000{number}.jit_f{number}{target}{SUFFIX}").write_bytes(small_dump(number))
    (tmp_path / "told" / "run.json").write_text('{"compiler_revision": "abc"}')
    assert 0 == call("ingest", tmp_path, "--warehouse", warehouse).code
    said = "of 2 compilers, revisions 1, 2: it may be two runs in one folder."
    found = compare_text(read_comparison(warehouse, "one", "two"), "table")
    assert (1, True) == (found.count("compilers, revisions"), f"The dumps of the run after are {said}" in found)
    assert "compilers, revisions" not in compare_text(read_comparison(warehouse, "one", "told"), "table")
    for words in (["--format", "json"], ["--fail-over", "5%", "--format", "github"]):
        assert said in call("compare", "two", "one", *words, "--warehouse", warehouse).out


@pytest.mark.parametrize("words", [("nope", AFTER), (AFTER, "nope")])
def test_an_unknown_run_is_answered_with_candidates(example_warehouse: Path, words: tuple[str, str]):
    """Whichever side it is on, the message names it, and the exit code is 2."""
    said = call("report", "compare", *words, "--warehouse", example_warehouse)
    assert (2, "") == (said.code, said.out)
    assert said.err.startswith("bufferhouse: there is no run 'nope'; there are:\n  jaxlib-0.10.0  (")


def test_the_terminal_shows_the_figures(releases: Comparison):
    """Before, after and change of each program stand in its line, to the byte with --bytes."""
    text = compare_text(releases, "table", exact=True)
    for row in releases.of("cpu", 0, "changed"):
        figures = [f"{row['before_reserved_bytes']:,} B", f"{row['after_reserved_bytes']:,} B"]
        change = row["reserved_change_bytes"]
        figures.append(f"{change:+,} B" if change else "0 B")
        assert re.search(rf"^{row['program_label']} +{' +'.join(map(re.escape, figures))}(  |$)", text, re.MULTILINE)
    assert "+1.3 MiB" in compare_text(releases, "table")
    assert "| jit\\_cnn\\_train\\_step | 5.1 MiB | 6.4 MiB | +1.3 MiB |" in compare_text(releases, "markdown")


@pytest.mark.parametrize("width", [50, 80, 120, 200])
def test_the_report_fits_the_terminal(releases: Comparison, width: int, monkeypatch: pytest.MonkeyPatch):
    """No line is wider than the terminal, and the change of reserved bytes is there however narrow it is."""
    monkeypatch.setenv("COLUMNS", str(width))
    text = compare_text(releases, "table")
    assert [] == [line for line in text.splitlines() if cell_len(line) > width]
    assert "+1.3 MiB" in text
    assert "-34.8 KiB" in text


def test_json_has_programs_with_causes_and_totals(example_warehouse: Path, releases: Comparison):
    """The command writes one object with both runs, the totals, and every program, whose causes sum to its change."""
    said = call("report", "compare", BEFORE, AFTER, "--warehouse", example_warehouse, "--format", "json")
    found = json.loads(said.out)
    assert releases.totals == found["totals"]
    assert (BEFORE, AFTER) == (found["before"]["run_name"], found["after"]["run_name"])
    assert "reserved" == found["metric"]
    assert len(releases.programs) == len(found["programs"])
    for row, program in zip(releases.programs, found["programs"], strict=True):
        assert row.items() <= program.items()
        assert row["program_name"] == program["module_name"]
        if row["delta_bytes"] is not None:
            assert row["delta_bytes"] == sum(cause["bytes"] for cause in program["causes"])
    causes = [cause for program in found["programs"] for cause in program["causes"]]
    assert len(releases.causes) == len(causes) > 20
    assert all(cause["cause_label"] and cause["bytes"] for cause in causes)


def test_json_keeps_the_former_words_of_causes(releases: Comparison):
    """For one release `cause`, `main_cause` and `most_of_it` hold the words that scripts know."""
    found = json.loads(compare_text(releases, "json"))
    causes = {cause["cause_label"]: cause["cause"] for one in found["programs"] for cause in one["causes"]}
    assert "lives to the peak only after" == causes["now alive at the peak"]
    assert "packing" == causes["fragmentation and padding between buffers"]
    [program] = [one for one in found["programs"] if one["program_name"] == "jit_cnn_train_step"]
    assert ("lives to the peak only after", "now alive at the peak") == (
        program["main_cause"],
        program["main_cause_label"],
    )
    assert program["most_of_it"].startswith("lives to the peak only after +")
    assert program["main_cause_said"].startswith("now alive at the peak +")


def test_totals_are_of_programs_in_both_runs(example_warehouse: Path, upgrade: Comparison):
    """What is new or gone adds nothing: before and after are sums over the same programs, from the marts."""
    before, after = (largest(example_warehouse, name) for name in TPU)
    programs = {program for program, _ in before} & {program for program, _ in after}
    for total in upgrade.totals:
        space = total["memory_space"]
        expected = [sum(side.get((name, space), (0,))[0] for name in programs) for side in (before, after)]
        assert expected == [total["before_bytes"], total["after_bytes"]]
        assert expected[1] - expected[0] == total["delta_bytes"]


# tests/compare/test_corpus.py holds that those of a pair of dumps do, by every metric.
@pytest.mark.parametrize(
    "metric", ["occupied", *(pytest.param(one, marks=pytest.mark.soak) for one in ("reserved", "temp", "footprint"))]
)
def test_causes_sum_to_the_change(example_warehouse: Path, metric: str):
    """The records of the causes of each program, equal ones together, sum to its change by every metric."""
    comparison = read_comparison(example_warehouse, *TPU, metric=metric)
    for row in comparison.programs:
        pair = (row["before_dump_id"], row["after_dump_id"], row["memory_space"])
        causes = [one for one in comparison.causes
                  if pair == (one["before_dump_id"], one["after_dump_id"], one["memory_space"])]  # fmt: skip
        assert (row["delta_bytes"] or 0) == sum(one["cause_bytes"] for one in causes)
        assert (row["status"] == "changed") >= bool(causes)


def test_names_do_nothing_on_a_terminal(changed: Path):
    """Control characters and turned text in names are written as escapes."""
    with duckdb.connect(str(changed)) as con:
        con.execute("UPDATE raw.runs SET run_name = run_name || $1, track = $1, compiler = $1", [HOSTILE])
        con.execute("UPDATE raw.observations SET program_name = $1 || program_name, compile_target = $1", [HOSTILE])
    comparison = read_comparison(changed, BEFORE, AFTER)
    for form in ("table", "markdown"):
        text = compare_text(comparison, form)
        assert "" == "".join(char for char in text if not char.isprintable() and char != "\n")
        assert form == "markdown" or 120 >= max(map(cell_len, text.splitlines()))


def test_other_dumps_of_equal_sizes_are_not_called_the_same(warehouse: Path, tmp_path: Path):
    """That nothing changed is said of equal dumps alone: thread-local bytes, say, are in no metric."""
    slots = [Slot(0, 2, 0, 64), Slot(0, 2, 0, 8, allocation=1)]
    for run, large in (("before", 8), ("again", 8), ("after", 16)):
        (tmp_path / run).mkdir()
        text = dump_text([slots[0], replace(slots[1], size=large)], [", preallocated-temp", ", thread-local"])
        (tmp_path / run / f"module_0001.jit_f.cpu_after_optimizations{SUFFIX}").write_bytes(text)
    assert 0 == call("ingest", *(tmp_path / run for run in ("before", "again", "after")), "--warehouse", warehouse).code
    for run, is_same in (("again", True), ("after", False)):
        said = call("compare", "before", run, "--warehouse", warehouse).out
        assert is_same == ("Nothing changed." in said)
        assert is_same != ("No size changed, but not all of the dumps are the same." in said)


def test_programs_of_equal_dumps_have_causes_of_their_own(warehouse: Path, tmp_path: Path):
    """Two programs whose dumps are the same bytes on both sides are each told once, and each sums to its change."""
    for number, run in enumerate(("before", "after")):
        (tmp_path / run).mkdir()
        for name in ("jit_f", "jit_g"):
            file = tmp_path / run / f"module_0001.{name}.cpu_after_optimizations{SUFFIX}"
            file.write_bytes(small_dump(8 * number))
    assert 0 == call("ingest", tmp_path / "before", tmp_path / "after", "--warehouse", warehouse).code
    words = ("compare", "before", "after", "--warehouse", warehouse, "--fail-over", "1B", "--format")
    found = json.loads(call(*words, "json").out)
    for programs in (found["programs"], found["gate"]["offenders"]):
        assert ["jit_f", "jit_g"] == sorted(program["program_label"] for program in programs)
    assert [[8], [8]] == [[cause["bytes"] for cause in program["causes"]] for program in found["programs"]]
    said = call(*words, "table").out
    for name in ("jit_f", "jit_g"):
        part = said.partition(f"Why {name} changed")[2].partition("\n\n")[0]
        assert (1, 1) == (said.count(f"Why {name} changed"), part.count("+8 B  changed shape"))
    page = tmp_path / "page.html"
    call(*words, "table", "--html", page)
    told = [page.read_text().count(f"Matched at the peaks of {name}") for name in ("jit_f", "jit_g")]
    assert told[0] == told[1] > 0
