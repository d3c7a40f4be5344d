"""Programs that differ in one number: which they are, what is measured, and what is only interpolated."""

import json
import re
import shutil
from pathlib import Path

import duckdb
import pytest

from bufferhouse.messages.figures import printed
from bufferhouse.paths import CHECKOUT
from bufferhouse.whatif.chips import CHIPS, chip_of
from bufferhouse.whatif.series import Point, Series, fitting, numbered
from tests.command_line import call
from tests.samples import unpack
from tests.synthetic import Slot, dump_text
from tests.whatif.truth import ARCHIVE

MODEL = CHECKOUT / "dbt_like_models" / "intermediate" / "device_memories.sql"


def points(*sizes: tuple[int, int], schedule: str = "s") -> Series:
    return Series("jit_f", "tpu", "N", [Point(number, size, 0, 0, "run", schedule) for number, size in sizes])


def signature(blocks: int, outputs: int, last: str = "") -> str:
    """Of a program whose layers have a matrix and a vector."""
    layer = "f32[4,4], f32[4]"
    return f"(f32[9], {', '.join([layer] * blocks)}{last})->({', '.join(['f32[]'] + [layer] * outputs)})"


@pytest.mark.parametrize(
    ("signatures", "expected"),
    [
        # One number, as it is and multiplied by 128.
        (
            ["(f32[8,128], s32[1024])->(f32[])", "(f32[16,128], s32[2048])->(f32[])"],
            [("N in f32[N,128], and in 1 other place", {0: 8, 1: 16})],
        ),
        # Two numbers at once are none.
        (["(f32[8,128])->(f32[])", "(f32[16,192])->(f32[])"], []),
        # A batch and a sequence are two series with one program in common.
        (
            ["(f32[8,128])->(f32[])", "(f32[16,128])->(f32[])", "(f32[8,256])->(f32[])"],
            [("N in f32[8,N]", {0: 128, 2: 256}), ("N in f32[N,128]", {0: 8, 1: 16})],
        ),
        # Unrolled layers: two parameters for each.
        (
            [f"(f32[9], {', '.join(['f32[4,4], f32[4]'] * layers)})->(f32[9])" for layers in (2, 3, 5)],
            [("N blocks of 2 parameters", {0: 2, 1: 3, 2: 5})],
        ),
        # Two signatures of one name that have as many layers: a step of a training, and an evaluation.
        (
            [signature(layers, outputs) for layers in (2, 3) for outputs in (0, layers)],
            [("N blocks of 2 parameters", {0: 2, 2: 3}), ("N blocks of 2 parameters", {1: 2, 3: 3})],
        ),
        # The first step of an optimizer, and the next ones, which take its state and a counter.
        (
            [
                signature(blocks, 3 * layers, counter)
                for layers in (2, 3)
                for blocks, counter in ((layers, ""), (3 * layers, ", s32[]"))
            ],
            [("N blocks of 2 parameters", {0: 2, 2: 3}), ("N blocks of 2 parameters", {1: 6, 3: 9})],
        ),
        # A parameter that only one has is no repeated one.
        (["(f32[8])->(f32[8])", "(f32[8], s32[])->(f32[8])"], []),
        # Another element type is another program.
        (["(f32[8])->(f32[8])", "(bf16[16])->(bf16[16])"], []),
    ],
)
def test_a_series_differs_in_one_number(signatures: list[str], expected: list):
    """Dimensions that are one number or multiples of it, or a block of parameters; all else is equal."""
    assert expected == numbered(signatures)


def test_only_what_lies_between_measured_points_is_interpolated():
    """The largest that fits, what the next lacks, and a guess between them; beyond the last point nothing is said."""
    found = fitting(points((1, 100), (8, 800), (24, 2400)), 1600)
    assert (8, 16, 24, 800) == (found.largest.number, found.interpolated, found.next.number, found.short_bytes)
    assert found.is_monotonic
    found = fitting(points((1, 100), (8, 800)), 1600)
    assert (8, None, None, None) == (found.largest.number, found.interpolated, found.next, found.short_bytes)
    found = fitting(points((1, 100), (8, 800)), 50)
    assert (None, None, 1, 50) == (found.largest, found.interpolated, found.next.number, found.short_bytes)


def test_a_peak_that_falls_is_told():
    """A larger number that fits while a smaller one does not makes the answer doubtful, and it says so."""
    series = points((1, 100), (2, 900), (4, 200), (8, 1200))
    found = fitting(series, 500)
    assert (4, False, 8) == (found.largest.number, found.is_monotonic, found.next.number)
    assert [800, -350, 250] == [piece.step_bytes for piece in series.pieces]


@pytest.mark.parametrize(
    ("chip", "capacity"),
    [
        ("v2", "7.48G"), ("v3", "15.48G"), ("v4", "30.75G"), ("v5e", "15.75G"), ("v5p", "95.73G"), ("v6e", "31.24G"),
        ("v7x", "94.74G"),
    ],
)  # fmt: skip
def test_a_chip_has_less_than_its_memory(chip, capacity):
    """As libtpu 0.0.52 prints what is available; of a v4 as it does on devices."""
    assert capacity == printed(CHIPS[chip].capacity_bytes)


def written(folder, sizes: list[int]) -> None:
    for size in sizes:
        (folder / f"b{size}").mkdir(parents=True)
        shape = f"f32[{size},4]"
        headers = [f", parameter 0, shape |{shape}| at ShapeIndex {{}}", f", output shape is |{shape}|, maybe-live-out"]
        slots = [Slot(0, 2, 0, 16 * size, n, f"{shape}{{1,0}}") for n in (0, 1)]
        name = f"b{size}/module_0001.jit_f.cpu_after_optimizations-buffer-assignment.txt"
        (folder / name).write_bytes(dump_text(slots, headers))


def loaded(warehouse: Path, folder: Path) -> Path:
    """Ingest the dumps of a folder into a warehouse without rows; return the warehouse."""
    assert 0 == call("ingest", folder, "--warehouse", warehouse).code
    return warehouse


@pytest.fixture(scope="module")
def measured(blank_warehouse, tmp_path_factory) -> Path:
    """A warehouse with dumps of three sizes, each in a run of its own. To be read, never written."""
    folder = tmp_path_factory.mktemp("measured")
    written(folder / "dumps", [2, 4, 8])
    return loaded(Path(shutil.copy(blank_warehouse, folder / "w.duckdb")), folder / "dumps")


def test_the_verb_says_what_is_measured_and_what_not(measured):
    """From dumps of three sizes: points, pieces, the largest that fits; a number outside is not guessed."""
    words = ("fits", "jit_f", "--capacity", "200B", "--warehouse", measured, "--at", 6, "--at", 16)
    found = json.loads(call(*words, "--format", "json").out)
    [series] = found["series"]
    assert [2, 4, 6, 8, 16] == [point["number"] for point in series["points"]]
    assert [64, 128, 192, 256, None] == [point["reserved_bytes"] for point in series["points"]]
    assert ["measured", "measured", "interpolated", "measured", "not between measured points"] == [
        point["how"] for point in series["points"]
    ]
    keys = ("largest_measured", "largest_interpolated", "next_measured", "short_bytes")
    assert (4, 6, 8, 56) == tuple(series[key] for key in keys)
    assert [False, False] == [piece["has_other_schedule"] for piece in series["pieces"]]
    text = call(*words).out
    assert "jit_f, cpu: N in f32[N,4], and in 1 other place" in text
    assert "Interpolated, 6 may fit: a guess on the line to 8." in text
    assert "The next measured, 8, takes 56 B too much." in text


def test_where_nothing_fits_what_is_short_is_told_once(measured):
    """The smallest point says by how much."""
    said = call("fits", "jit_f", "--capacity", "60B", "--warehouse", measured).out
    assert "No measured point fits.\nThe smallest measured, 2, takes 4 B too much.\n" in said
    assert 1 == said.count("too much")


def test_what_was_compiled_for_another_chip_says_so(warehouse, tmp_path):
    """One function for several targets, one of which no file name tells; GPUs are told by their architecture."""
    dumps = tmp_path / "dumps"
    for target in ("", "cpu_", "sm_9.0_gpu_", "sm_9.0a_gpu_", "sm_8.0_gpu_"):
        written(dumps / f"of_{target}", [2, 4])
        for dump in list((dumps / f"of_{target}").rglob("*.cpu_after_optimizations-*")):
            dump.rename(dump.with_name(dump.name.replace("cpu_", target)))
    loaded(warehouse, dumps)
    said = call("fits", "jit_f", "--chip", "H100", "--warehouse", warehouse).out.splitlines()
    headings = [number for number, line in enumerate(said) if line.startswith("jit_f")]
    beside = {said[number].partition(": ")[0]: said[number + 1].partition(": ")[0] for number in headings}
    assert {
        "jit_f": "No file name says what it was compiled for",
        "jit_f, cpu": "Compiled for cpu",
        "jit_f, sm_8.0": "Compiled for sm_8.0",
    } == {name: line for name, line in beside.items() if "compiled for" in line.lower()}
    assert {"jit_f, sm_9.0", "jit_f, sm_9.0a"} == {name for name in beside if "sm_9" in name}
    found = json.loads(call("fits", "jit_f", "--chip", "v5e", "--warehouse", warehouse, "--format", "json").out)
    assert {None, "cpu", "sm_8.0", "sm_9.0", "sm_9.0a"} == {one["compile_target"] for one in found["series"]}


def test_a_gpu_holds_several_memory_spaces_in_one_memory(warehouse, tmp_path):
    """What lies in spaces of its own beside space 0 must fit into it, too: not what lies on the host."""
    for target in (".sm_9.0_gpu_", ".cpu_", ".cl_853872983."):
        written(tmp_path / "dumps" / target[1:3], [2, 4])
        for folder in (tmp_path / "dumps" / target[1:3]).iterdir():
            size = 16 * int(folder.name[1:])
            slots = [Slot(0, 2, 0, size, n, f"f32[{size // 16},4]{{1,0}}") for n in range(4)]
            shape = f"f32[{size // 16},4]"
            headers = [
                f", parameter 0, shape |{shape}| at ShapeIndex {{}}",
                f", output shape is |{shape}|, maybe-live-out",
                *(f", color {color}, preallocated-temp" for color in (1, 5)),
            ]
            [dump] = folder.iterdir()
            dump.write_bytes(dump_text(slots, headers))
            dump.rename(dump.with_name(dump.name.replace(".cpu_", target)))
    loaded(warehouse, tmp_path / "dumps")
    words = ("fits", "jit_f", "--capacity", "128B", "--warehouse", warehouse)
    found = {one["compile_target"]: one for one in json.loads(call(*words, "--format", "json").out)["series"]}
    text = {part.partition(":")[0]: part for part in re.split("(?m)^jit_f, ", call(*words).out)[1:]}
    expected = {"sm_9.0": (48, 2, True), "cpu": (64, 2, True), "tpu": (32, 4, False)}
    assert found.keys() == text.keys() == expected.keys()
    for target, (each, largest, has_other_spaces) in expected.items():
        assert [2 * each, 4 * each] == [point["reserved_bytes"] for point in found[target]["points"]]
        assert (largest, has_other_spaces) == tuple(
            found[target][key] for key in ("largest_measured", "has_other_spaces")
        )
        assert has_other_spaces == ("of all memory spaces in the memory of the device" in text[target])


def test_what_a_runtime_keeps_of_a_gpu_is_not_known(measured):
    """A chip without a known reserve is named with the whole of its memory, which no program has."""
    for chip, is_told in (("h100", True), ("v5e", False)):
        words = ("fits", "jit_f", "--chip", chip, "--warehouse", measured)
        assert is_told == ("Give the size that programs have with --capacity." in call(*words).out.replace("\n", " "))
        assert is_told == bool(json.loads(call(*words, "--format", "json").out)["capacity_note"])


def test_each_device_has_series_of_its_own(warehouse, tmp_path):
    """Another chip places and pads otherwise: no point of it is measured for the one that is asked for."""
    dumps = tmp_path / "dumps"
    written(dumps, [2, 4, 8])
    for folder in dumps.iterdir():
        device = "TPU v6 lite" if folder.name == "b4" else "TPU v5e"
        (folder / "run.json").write_text(json.dumps({"device_kind": device}))
        for dump in folder.glob("*.txt"):
            dump.rename(dump.with_name(dump.name.replace(".cpu_", ".cl_853872983.")))
    loaded(warehouse, dumps)
    words = ("fits", "jit_f", "--capacity", "200B", "--warehouse", warehouse, "--format", "json")
    [series] = json.loads(call(*words).out)["series"]
    assert ("TPU v5e", [2, 8]) == (series["device_kind"], [one["number"] for one in series["points"]])
    for chip, is_told in (("v6e", True), ("v5e", False)):
        said = call("fits", "jit_f", "--chip", chip, "--warehouse", warehouse).out
        assert "jit_f, tpu, TPU v5e: N in f32[N,4]" in said
        assert is_told == (f"Compiled for TPU v5e: a compiler for {chip} places and pads differently." in said)


def test_points_with_and_without_donation_are_told(measured, warehouse, tmp_path):
    """A donated argument saves its bytes at one point alone: that is no property of the number."""
    words = ("fits", "jit_f", "--capacity", "200B")
    assert "donated" not in call(*words, "--warehouse", measured).out
    written(tmp_path / "dumps", [2, 4, 8])
    [dump] = (tmp_path / "dumps" / "b8").iterdir()
    dump.write_text(dump.read_text().replace("at ShapeIndex {}:", "at ShapeIndex {}, maybe-live-out:", 1))
    words = (*words, "--warehouse", loaded(warehouse, tmp_path / "dumps"))
    assert (
        "Arguments are donated at 8 alone: with donation the other points would take other bytes." in call(*words).out
    )
    [series] = json.loads(call(*words, "--format", "json").out)["series"]
    assert [8] == series["donated"]


def test_points_of_several_compilers_are_told(measured, tmp_path):
    """What differs between them may be the compiler, and not the number."""
    words = ("fits", "jit_f", "--capacity", "200B")
    told = json.loads(call(*words, "--warehouse", measured, "--format", "json").out)
    assert [[""]] == [one["compilers"] for one in told["series"]]
    written(tmp_path, [2, 4, 8])
    for size, version in ((2, "0.9.0"), (4, "0.10.0")):
        about = {"compiler": "jaxlib", "compiler_version": version}
        (tmp_path / f"b{size}" / "run.json").write_text(json.dumps(about))
    told = "The points are of several compilers: one that is not known, jaxlib 0.10.0, jaxlib 0.9.0. "
    assert told in call(*words, "--from", tmp_path).out.replace("\n", " ")


def test_no_measured_point_fits_that_its_compiler_refused(warehouse, tmp_path):
    """Ahead of time a program of a v4 gets less than the chip has: files beside the dump say that it did not fit."""
    dumps = tmp_path / "dumps"
    written(dumps, [2, 4, 8])
    for folder in dumps.iterdir():
        (folder / "run.json").write_text('{"device_kind": "TPU v4"}')
        [dump] = folder.glob("*.txt")
        dump.rename(dump.with_name(dump.name.replace(".cpu_", ".cl_853872983.")))
        if folder.name == "b8":
            (folder / "module_0001.jit_f.cl_853872983.oom_intermediate_module.txt").write_text("HloModule jit_f")
    loaded(warehouse, dumps)
    words = ("fits", "jit_f", "--chip", "v4", "--warehouse", warehouse)
    text, less = call(*words).out, "Refused by the compiler, although less than this is reserved: 8.\n"
    assert f"{less}The largest measured that fits is 4.\n" in text
    assert "may fit" not in text
    [series] = json.loads(call(*words, "--format", "json").out)["series"]
    keys = ("largest_measured", "largest_interpolated", "next_measured", "short_bytes", "refused")
    assert (4, None, 8, None, [8]) == tuple(series[key] for key in keys)
    assert ["measured", "measured", "measured, but refused"] == [point["how"] for point in series["points"]]
    # Of another memory it is not known.
    text = call("fits", "jit_f", "--capacity", "30GiB", "--warehouse", warehouse).out
    assert f"{less}Whether 8 fits, as its bytes do, is not known.\n" in text
    # Nor is it where nobody says what it was compiled for.
    for size in (2, 4, 8):
        (dumps / f"b{size}" / "run.json").unlink()
    said = call("fits", "jit_f", "--chip", "v4", "--from", dumps, "--format", "json")
    assert 4 == json.loads(said.out)["series"][0]["largest_measured"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["jit_f"], "expected one of --chip and --capacity"),
        (["jit_f", "--chip", "v9"], "--chip: expected one of v2, v3"),
        (["jit_f", "--capacity", "lots"], "--capacity: expected a size such as"),
        (["jit_g", "--chip", "v5e"], "there is no program 'jit_g'"),
        (["jit_f", "--chip", "v5e", "--run", "b2"], "no two programs named 'jit_f' have signatures"),
    ],
)
def test_a_wrong_call_says_the_way_out(measured, words: list[str], message: str):
    """Exit 2, and what is expected."""
    outcome = call("fits", *words, "--warehouse", measured)
    assert (2, "") == (outcome.code, outcome.out)
    assert message in outcome.err


def test_a_warehouse_without_dumps_says_how_to_load_some(blank_warehouse):
    """Sizes of a program that is not there are not what is missing."""
    outcome = call("fits", "--chip", "v5e", "--warehouse", blank_warehouse)
    expected = "bufferhouse: there is no program: no runs yet; load dumps with: bufferhouse ingest SOURCE\n"
    assert (2, expected) == (outcome.code, outcome.err)


@pytest.mark.corpus
def test_what_the_compiler_refused_does_not_fit(corpus, tmp_path):
    """Eight programs at ten batch sizes: measured points fit where it compiled, and the guess lies in between."""
    unpack(ARCHIVE, tmp_path)
    folder = tmp_path / "whatif" / "series"
    for program, name in (("attention", "jit_attention_loss"), ("rnn_long", "jit_rnn_step")):
        place = folder / "tpu-v5e-libtpu-0.0.33" / program
        tried = {one["batch"]: one["outcome"] == "compiled" for one in json.loads((place / "series.json").read_text())}
        outcome = call("fits", name, "--chip", "v5e", "--from", place, "--format", "json")
        [series] = json.loads(outcome.out)["series"]
        for point in series["points"]:
            assert tried[point["number"]] == (point["room_bytes"] >= 0), (program, point)
        largest = max(batch for batch, compiled in tried.items() if compiled)
        assert series["largest_measured"] <= largest <= series["largest_interpolated"] < series["next_measured"]


def test_a_chip_is_found_by_what_runs_call_it():
    """JAX calls some TPUs by other names than most people do."""
    words = ("v5e", "V5E", "TPU v5 lite", "tpu v5e", "tpu7x", "TPU v5")
    assert ["v5e", "v5e", "v5e", "v5e", "v7x", "v5p"] == [chip_of(word).name for word in words]


def test_a_chip_has_the_memory_that_the_models_know():
    """Two tables say it: by the names of chips, and by what JAX calls a device."""
    kinds = {name: f"NVIDIA {name.upper()}" for name in ("a10g", "l4", "l40s", "h200", "b200", "gb200", "gb300")} | {
        "t4": "Tesla T4",
        "a100-40": "NVIDIA A100-SXM4-40GB",
        "a100-80": "NVIDIA A100-SXM4-80GB",
        "h100": "NVIDIA H100 80GB HBM3",
        "h100-nvl": "NVIDIA H100 NVL",
        "gh200": "NVIDIA GH200 480GB",
        "b300": "NVIDIA B300 SXM6 AC",
    }
    known = dict(duckdb.sql(MODEL.read_text()).project("device_kind, memory_bytes").fetchall())
    said = {name: known[kinds.get(name, f"TPU {name}")] for name in CHIPS}
    assert said == {name: chip.memory_bytes for name, chip in CHIPS.items()}
