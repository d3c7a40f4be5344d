"""`whatif` and `savings`: what their answers hold, what they refuse, the same from a warehouse and a folder."""

import json
from pathlib import Path

import pytest

from tests.command_line import CHECKOUT, call
from tests.synthetic import Slot, colored, dump_text

RUN = "tpu-v5e-jaxlib-0.8.3-libtpu-0.0.33"
PROGRAM = "jit_mlp_train_step"
KEYS = ["program", "run", "memory_space", "before", "after", "edits"]


def asked(*words: object, warehouse: Path) -> dict:
    outcome = call(*words, "--run", RUN, "--warehouse", warehouse, "--format", "json")
    assert (0, "") == (outcome.code, outcome.err)
    return json.loads(outcome.out)


@pytest.fixture(scope="module")
def ranking(example_warehouse: Path) -> dict:
    """The savings of one program."""
    return asked("savings", PROGRAM, warehouse=example_warehouse)


def test_the_answer_has_the_bytes_before_and_after_and_a_label_for_each_edit(example_warehouse: Path):
    """Donating an argument takes the bytes of one output off: what is occupied, and what is reserved."""
    found = asked("whatif", PROGRAM, "--edit", "donate:parameter=0", warehouse=example_warehouse)
    assert KEYS == list(found)
    assert (PROGRAM, RUN, 0) == (found["program"], found["run"], found["memory_space"])
    [edit] = found["edits"]
    assert ("donate", "bound") == (edit["kind"], edit["label"])
    assert edit["why"].startswith("an output of its shape takes its place")
    before, after = found["before"], found["after"]
    assert edit["size_bytes"] == before["occupied_bytes"] - after["occupied_bytes"]
    assert after["arena_low_bytes"] <= before["arena_bytes"] <= after["arena_high_bytes"]
    assert edit["size_bytes"] <= before["reserved_bytes"] - after["reserved_low_bytes"]


def test_savings_are_what_whatif_says_of_each_edit(example_warehouse: Path, ranking: dict):
    """The ranking takes short cuts; every tenth edit alone, and the groups, computed in full, are worth the same."""
    assert [*KEYS, "groups", "after_edit"] == list(ranking)
    worths = [one["worth_bytes"] for one in ranking["edits"]]
    assert worths == sorted(worths, reverse=True)
    assert all(worths)
    for one in ranking["edits"][::10]:
        edit = ":".join(filter(None, (one["kind"], f"#{one['value_id']}", one["argument"])))
        found = asked("whatif", PROGRAM, "--edit", edit, warehouse=example_warehouse)
        worth = ranking["before"]["occupied_bytes"] - found["after"]["occupied_bytes"]
        assert (one["worth_bytes"], one["label"], one["why"]) == (worth, *map(found["edits"][0].get, ("label", "why")))
    first = ranking["edits"][0]["worth_bytes"]
    assert first == ranking["before"]["occupied_bytes"] - ranking["after"]["occupied_bytes"]


@pytest.mark.parametrize("program", ["jit_dt_bf16", "jit_cholesky_solve", "jit_transformer2_fwd"])
def test_savings_say_what_whatif_says_after_the_best_edit(example_warehouse: Path, program: str):
    """`after` is of the edit that `after_edit` names, its arena packed in full: to the byte what `whatif` gives."""
    words = ("--run", "jaxlib-0.10.0", "--warehouse", example_warehouse, "--format", "json")
    ranking = json.loads(call("savings", program, *words).out)
    best = ranking["edits"][0]
    assert f"{best['kind']}:#{best['value_id']}" == ranking["after_edit"].removesuffix(f":{best['argument']}")
    expected = json.loads(call("whatif", program, "--edit", ranking["after_edit"], *words).out)
    assert (expected["before"], expected["after"]) == (ranking["before"], ranking["after"])


def test_savings_without_an_edit_have_what_the_compiler_has(example_warehouse: Path):
    """Where no edit helps, none is named, and the bytes after are those before."""
    words = ("--run", "jaxlib-0.10.0", "--warehouse", example_warehouse, "--format", "json", "--kind", "unpad")
    ranking = json.loads(call("savings", "jit_fft", *words).out)
    assert ([], None) == (ranking["edits"], ranking["after_edit"])
    assert ranking["before"]["reserved_bytes"] == ranking["after"]["reserved_high_bytes"]


def test_the_occupied_peak_is_that_of_the_marts(example_warehouse: Path, ranking: dict):
    """What is ranked is the peak that every other report shows."""
    sql = (
        "SELECT occupied_peak_bytes FROM marts.peak_memory_v1 JOIN marts.observations_v1 USING (dump_id)"
        f" WHERE program_name = '{PROGRAM}' AND run_name = '{RUN}' AND memory_space = 0"
    )
    outcome = call("query", sql, "--warehouse", example_warehouse, "--format", "csv")
    assert outcome.out.split() == ["occupied_peak_bytes", str(ranking["before"]["occupied_bytes"])]


def test_edits_of_a_file_are_those_of_the_command_line(example_warehouse: Path, tmp_path: Path):
    """Tables of TOML, one for each edit, do what the options do."""
    file = tmp_path / "edits.toml"
    file.write_text(
        '[[edit]]\nkind = "donate"\nvalue = "parameter=0"\n\n'
        '[[edit]]\nkind = "shrink"\nvalue = "type=f32"\ndtype = "bf16"\n'
    )
    options = ("--edit", "donate:parameter=0", "--edit", "shrink:type=f32:bf16")
    by_file = asked("whatif", PROGRAM, "--edits", file, warehouse=example_warehouse)
    assert asked("whatif", PROGRAM, *options, warehouse=example_warehouse) == by_file
    assert {"donate", "shrink"} == {one["kind"] for one in by_file["edits"]}


def test_a_capacity_is_met_with_the_fewest_values_or_said_to_be_out_of_reach(example_warehouse: Path, ranking: dict):
    """One value fewer is one edit; next to nothing cannot be had, with the bound that proves it and exit 1."""
    capacity = ranking["before"]["reserved_bytes"] - 1
    found = asked("whatif", PROGRAM, "--fit", f"{capacity}B", warehouse=example_warehouse)
    assert [1, True, True] == [len(found["edits"]), found["fit"]["fits"], found["fit"]["is_minimal"]]
    told = call("whatif", PROGRAM, "--run", RUN, "--fit", f"{capacity}B", "--warehouse", example_warehouse).out
    assert (True, False) == (" with 1 edit. " in (said := " ".join(told.split())), "fewer values" in said)
    assert found["after"]["reserved_high_bytes"] <= capacity
    outcome = call("whatif", PROGRAM, "--run", RUN, "--warehouse", example_warehouse, "--fit", "1KiB")
    assert 1 == outcome.code
    assert "\nIt cannot fit into 1.0 KiB with these kinds of edit: even with all of them together" in outcome.out
    assert "\nKinds of edit that were tried: donate, free, remove; --means allows others.\n" in outcome.out


OF_ONE_KIND = [pytest.param(means, marks=pytest.mark.soak) for means in ("remat", "offload")]


@pytest.mark.parametrize("means", ["shrink", *OF_ONE_KIND, "donate"])
def test_estimates_prove_of_no_program_that_it_cannot_fit(example_warehouse: Path, means: str):
    """The compiler took transformers in half of the bytes that `shrink` or `remat` leaves at least (docs/whatif.md)."""
    words = ("whatif", PROGRAM, "--fit", "1KiB", "--means", means, "--run", RUN, "--warehouse", example_warehouse)
    is_estimate = means != "donate"
    assert is_estimate == json.loads(call(*words, "--format", "json").out)["fit"]["is_estimate"]
    said = call(*words).out.replace("\n", " ")
    told = [one in said for one in ("By estimate it cannot fit into 1.0 KiB with", "anew, and may do better.")]
    assert [is_estimate, is_estimate] == told


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--edit", "remove:no_such_value"], "no value with a live range in memory space 0 is named 'no_such_value'"),
        (["--edit", "donate:0"], "is named '0'; did you mean 'parameter=0' or '#0'?"),
        (["--edit", "offload:no_such"], "offload:no_such: no value with a live range"),
        (["--edit", "free:parameter=0"], "is a parameter, which its caller keeps: donate it first"),
        (["--edit", "fre:parameter=0"], "found 'fre'; did you mean 'free'?"),
        (["--edit", "shrink:parameter=0:"], "expected an element type such as bf16 at the end"),
        (["--edit", "shard:*:x"], "expected PARTS@DIMENSION or PARTS@size=N, found 'x'"),
        (["--edit", "reschedule:x"], "expected reschedule alone"),
        (["--fit", "much"], "expected a size such as 15.75GiB, found 'much'"),
        (["--means", "remat"], "--means: expected --fit beside it"),
        (["--fit", "1G", "--means", "shard"], "--means: expected free, remove, donate"),
        (["--edit", "reschedule", "--memory-space", "9"], "has nothing in memory space 9; its memory spaces: 0"),
        (
            [],
            "either edits (--edit, --edits) or a capacity to find edits for (--fit), found neither",
        ),
        (["--edit", "reschedule", "--fit", "1MiB"], "(--fit), found both"),
    ],
)
def test_what_cannot_be_answered_says_why(example_warehouse: Path, words: list[str], message: str):
    """A wrong call, an edit that names nothing, or a value that is no candidate: exit 2, and the way out."""
    outcome = call("whatif", PROGRAM, "--run", RUN, "--warehouse", example_warehouse, *words)
    assert (2, "") == (outcome.code, outcome.out)
    assert message in outcome.err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1", ": expected tables [[edit]] and nothing else, found ['x']"),
        ("[[edit]", ":1:7: expected TOML, found: "),
        ('[[edit]]\nkind = "fly"', ":1:1: edit 1: kind: expected one of free, remove"),
        ('\n[[edit]]\nkind = "free"', ":2:1: edit 1: value: expected the name of one"),
        ('[[edit]]\nkind = "shard"\nvalue = "*"\nparts = 0', ":1:1: edit 1: parts: expected a number from 1, found 0"),
        ('[[edit]]\nkind = "shrink"\nvalue = "*"', ":1:1: edit 1: dtype: expected an element type such as bf16"),
        ('[[edit]]\nkind = "free"\nvalue = "*"\nhow = 1', ":1:1: edit 1: expected the keys dimension, dtype"),
        ('[[edit]]\nkind = "donate"\nvalue = "*"\nparts = 2', ":1:1: edit 1: parts: expected none for donate, found 2"),
        (
            '[[edit]]\nkind = "shrink"\nvalue = "*"\ndtype = "bf16"\nwindow = 3',
            ":1:1: edit 1: window: expected none for shrink, found 3",
        ),
        ('[[edit]]\nkind = "shard"\nvalue = "*"', ":1:1: edit 1: parts: expected a number from 1, found none"),
        (
            '[[edit]]\nkind = "shard"\nvalue = "*"\nparts = 2\nsize = 64\ndimension = 0',
            ":1:1: edit 1: expected either dimension or size, found both",
        ),
    ],
)
def test_a_file_of_edits_is_read_strictly(tmp_path: Path, text: str, message: str):
    """The message names the file, the place in it, and the table."""
    file = tmp_path / "edits.toml"
    file.write_text(text)
    outcome = call("whatif", PROGRAM, "--edits", file, "--from", CHECKOUT / "examples" / "fleet" / RUN)
    assert (2, f"bufferhouse: {file}{message}") == (outcome.code, outcome.err[: len(f"{file}{message}") + 13])


def test_a_dump_without_live_ranges_says_what_cannot_be_told(warehouse: Path, tmp_path: Path):
    """The allocations of a dump of three files whose siblings are missing: sizes, but no moments."""
    text = dump_text([Slot(0, 2, 0, 64), Slot(1, 2, 64, 8)])
    place = tmp_path / "module_0001.jit_f.cpu_after_optimizations-buffer-assignment.txt"
    place.write_bytes(text[: text.index(b"\nTotal bytes used")])
    assert 0 == call("ingest", tmp_path, "--warehouse", warehouse).code
    for words in (["savings"], ["whatif", "--edit", "remove:v0"], ["whatif", "--fit", "1B"]):
        outcome = call(words[0], "jit_f", *words[1:], "--warehouse", warehouse)
        assert (2, "") == (outcome.code, outcome.out)
        assert "the dump has no live ranges: it says how large each value is, not when it is alive" in outcome.err


def test_a_ranking_of_one_kind_speaks_of_that_kind_alone(example_warehouse: Path):
    """Where no edit of it helps, another kind may: what is said must hold beside the ranking of all kinds."""
    words = ("savings", PROGRAM, "--run", "jaxlib-0.10.0", "--warehouse", example_warehouse)
    assert json.loads(call(*words, "--format", "json").out)["edits"]
    outcome = call(*words, "--kind", "remat", "--kind", "unpad")
    assert "No remat or unpad of one value lowers the peak; other kinds of edit may." in outcome.out
    assert "reached more than once" not in outcome.out


def test_a_folder_of_dumps_is_answered_like_a_warehouse(example_warehouse: Path):
    """--from reads the dumps themselves, and the text is the same."""
    words = ("whatif", PROGRAM, "--edit", "donate:parameter=0", "--edit", "reschedule")
    by_folder = call(*words, "--from", CHECKOUT / "examples" / "fleet" / RUN)
    assert call(*words, "--run", RUN, "--warehouse", example_warehouse).out == by_folder.out
    assert "occupied at the peak, at least" in by_folder.out  # no schedule takes less; that of the dump takes more
    assert "arena, at least" in by_folder.out
    assert "the whole schedule" in by_folder.out


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            ["--chip", "v5e", "--memory-space", "1"],
            "--chip says the memory of space 0; give the size of memory space 1",
        ),
        (["nosuch", "--chip", "v5e"], "there is no program 'nosuch'; there are: (unnamed), jit_cholesky_solve, "),
        (["--chip", "v5e", "--run", "nosuch"], "there is no run 'nosuch'"),
    ],
)
def test_what_cannot_be_fitted_is_named(example_warehouse: Path, words: list[str], expected: str):
    """The memory space, the program or the run, and not the shapes of programs that nobody asked for."""
    said = call("fits", *words, "--warehouse", example_warehouse)
    assert (2, "") == (said.code, said.out)
    assert expected in said.err


def test_a_capacity_holds_all_memory_spaces_of_a_gpu(warehouse: Path, tmp_path: Path):
    """They lie in one memory: memory space 0 has what the others leave; of a TPU it has a memory of its own."""
    devices = {"gpu": ("sm_9.0a_gpu_after", 50), "tpu": ("cl_853872983.after", 0)}
    for run, (target, _) in devices.items():
        (tmp_path / run).mkdir()
        dump = f"module_0001.jit_f.{target}_optimizations-buffer-assignment.txt"
        (tmp_path / run / dump).write_bytes(colored([60, 30, 20, 100], [0, 2, 7, 5]))
    assert 0 == call("ingest", tmp_path / "gpu", tmp_path / "tpu", "--warehouse", warehouse).code
    for run, (_, others) in devices.items():
        words = ("whatif", "jit_f", "--means", "donate", "--run", run, "--warehouse", warehouse, "--fit")
        for capacity, spaces in ((109, 0), (110, 0), (49, 2), (30, 2)):
            said = call(*words, f"{capacity}B", "--memory-space", spaces, "--format", "json")
            fits = capacity >= (60 + others if spaces == 0 else 30)
            found = json.loads(said.out)["fit"]
            keys = ("capacity_bytes", "other_spaces_bytes", "fits")
            assert (capacity, 0 if spaces else others, fits) == tuple(found[key] for key in keys)
            assert said.code == (not fits)
        assert (others > 0) == ("lie in the same memory and take 50 B of 110 B" in call(*words, "110B").out)


@pytest.mark.parametrize(
    ("name", "capacity", "is_refused"),
    [
        ("libtpu-0.0.52/code", "15.75GiB", True),  # its code does not fit beside its arguments
        ("libtpu-0.0.52/code", "31GiB", False),
        ("libtpu-0.0.33/pal", "15.75GiB", True),  # a kernel takes too much VMEM, which is in no dump
    ],
)
def test_what_was_refused_is_not_said_to_fit(name: str, capacity: str, is_refused: bool):
    """Its allocations do; a message of its run says that more was needed, of that much memory or of another."""
    words = ("whatif", "jit_", "--from", CHECKOUT / "examples" / "oom" / name, "--fit", capacity)
    said = call(*words, "--format", "json")
    found = json.loads(said.out)["fit"]
    assert (is_refused, is_refused, not is_refused) == (said.code, found["is_refused"], found["fits"])
    text = " ".join(call(*words).out.split())
    assert (is_refused, not is_refused) == ("Yet it did not fit where it was compiled" in text, " as it is." in text)


def test_what_one_memory_space_refused_may_fit_into_another():
    """HBM had too little, as the message says with its bytes, which are no capacity of VMEM."""
    words = ("--from", CHECKOUT / "examples" / "oom" / "libtpu-0.0.33" / "xent", "--fit", "128MiB")
    said = call("whatif", "jit_", *words, "--memory-space", 1)
    assert (0, True) == (said.code, "It fits into 128.0 MiB as it is." in said.out)


@pytest.mark.parametrize(("space", "is_said"), [(0, False), (1, True)])
def test_what_fits_into_the_memory_of_kernels_may_not_fit_beside_them(
    example_warehouse: Path, space: int, is_said: bool
):
    """What they take while they run is in no dump, and nobody says that it does."""
    words = ("--run", RUN, "--warehouse", example_warehouse, "--memory-space", space, "--fit", "1GiB")
    said = call("whatif", PROGRAM, *words)
    assert (0, is_said) == (said.code, "What kernels take of this memory space" in said.out)


def test_what_a_small_chip_refused_may_fit_a_large_one(tmp_path: Path):
    """The device of the run says how much there was, where files alone say that it did not fit."""
    (tmp_path / "run.json").write_text('{"device_kind": "TPU v5e"}')
    (tmp_path / "module_0001.jit_f.cl_853872983.after_optimizations-buffer-assignment.txt").write_bytes(
        colored([64], [0])
    )
    (tmp_path / "module_0001.jit_f.cl_853872983.oom_intermediate_module.txt").write_text("HloModule jit_f")
    for capacity, code in (("31GiB", 0), ("15.75GiB", 1)):
        assert code == call("whatif", "jit_f", "--from", tmp_path, "--fit", capacity).code
