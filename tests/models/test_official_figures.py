"""marts.official_figures_v1 against what memory_analysis() said of the same compile, and against sums done by hand."""

import gzip
import json
from collections import Counter
from pathlib import Path

import duckdb
import pytest

from bufferhouse.ingest.in_memory import in_memory
from bufferhouse.paths import CHECKOUT
from bufferhouse.warehouse.open import writing
from tests import oracle
from tests.models import official
from tests.models.brute_force import occupied_peak, values_in
from tests.models.heap_trace import union
from tests.models.official import OfficialCount
from tests.samples import unpack
from tests.synthetic import Slot, dump_text
from tests.warehouses import load_texts

TRUTH = CHECKOUT / "tests" / "data" / "truth"
ARENAS = CHECKOUT / "tests" / "data" / "arenas"
UNCOVERED = CHECKOUT / "tests" / "data" / "uncovered"
ALIVE_AT_ONCE = CHECKOUT / "tests" / "data" / "alive_at_once"
UNKNOWN = ("unknown", "unknown", "unknown", False)
ZERO = ("all_zero", "all_zero", "not_reported", True)
FLAGS = ("flags_of_allocations", "preallocated_temps")
TWICE = ("flags_of_allocations", "twice_arena_less_covered")
WHOLE = ("flags_of_allocations", "arena_in_16_kib")
BETWEEN = ("flags_of_allocations", "unknown")
LIBTPU_33 = ("libtpu", "0.0.33", "tpu", None)
LIBTPU_50 = ("libtpu", "0.0.50", "tpu", None)
LIBTPU_51 = ("libtpu", "0.0.51", "tpu", None)


def truths_of(run: Path) -> dict[str, dict]:
    """The protos of a run of examples/fleet by the paths of its dumps."""
    return {
        path.name.removesuffix(".truth.json.gz"): json.loads(gzip.decompress(path.read_bytes()))
        for path in run.glob("*.truth.json.gz")
    }


def test_figures_of_the_fleet_are_what_memory_analysis_said(example):
    """Every program of ten compilers: argument, output, alias and temp, and the peak where the dump has all of it.

    Where a replay of the heap traces comes on top, the static part of the mart and the replay make what was said.
    """
    count = OfficialCount(example)
    for run_name, programs in official.examples().items():
        truths = truths_of(TRUTH / run_name)
        for module_name, said in programs.items():
            count.add(run_name, module_name, said, truths)
    assert [] == count.problems
    assert (121, 121) == (count.counts["dumps"], count.counts["dumps as said"])
    peaks = ("peak not_reported", "peak static", "peak static_and_replay")
    assert (59, 39, 23) == tuple(count.counts[what] for what in peaks)
    assert count.counts["temp is not 0"] > 40


def test_a_changed_meaning_is_a_warning(example):
    """On the first run by another rule, and on no other; it names the figures and both rules."""
    found = example.execute(
        "SELECT run_name, changed_meaning FROM marts.official_figures_v1 WHERE program_name = 'jit_fft' ORDER BY ALL"
    ).fetchall()
    sizes = "argument, output, alias: was all_zero, is flags_of_allocations; temp: was all_zero, is preallocated_temps"
    assert [
        ("jaxlib-0.10.0", None),
        ("jaxlib-0.4.13", None),
        ("jaxlib-0.4.25", None),
        ("jaxlib-0.4.38", sizes),
        ("jaxlib-0.6.0", None),
        ("jaxlib-0.7.0", "peak: was not_reported, is static_and_replay"),
        ("jaxlib-0.8.0", "peak: was static_and_replay, is static"),
        ("jaxlib-0.9.0", None),
    ] == found


def test_the_seeds_have_no_known_compiler(example):
    """Nothing is guessed of them; what needs no rule is there."""
    found = example.execute(
        "SELECT DISTINCT sizes_rule, temp_rule, peak_rule, is_compared, argument_bytes, output_bytes, alias_bytes,"
        " temp_bytes, peak_bytes, peak_relation, host_bytes FROM marts.official_figures_v1 WHERE run_name = 'seeds'"
    ).fetchall()
    assert [(*UNKNOWN, None, None, None, None, None, "unknown", None)] == found
    sql = "SELECT COUNT(static_peak_bytes) FROM marts.official_figures_v1 WHERE run_name = 'seeds'"
    assert (5,) == example.execute(sql).fetchone()


def test_the_static_part_is_the_footprint_without_temporaries(example):
    """Of every dump, whoever compiled it: over all memory spaces."""
    different = example.execute(
        """
        SELECT o.dump_id, ANY_VALUE(o.static_peak_bytes), SUM(f.footprint_bytes - f.temp_bytes)
        FROM (SELECT DISTINCT dump_id, static_peak_bytes FROM marts.official_figures_v1) AS o
        JOIN marts.footprint_v1 AS f ON o.dump_id = f.dump_id
        GROUP BY o.dump_id HAVING ANY_VALUE(o.static_peak_bytes) <> SUM(f.footprint_bytes - f.temp_bytes)
        """
    ).fetchall()
    assert [] == different


# Compiler, version, platform and revision of a run; rules of sizes, temp and peak, and whether they were compared.
RULES = {
    ("jaxlib", "0.4.12", "cpu", None): UNKNOWN,
    ("jaxlib", "0.4.13", "cpu", None): ZERO,
    ("jaxlib", "0.4.28", "cpu", None): ZERO,
    ("jaxlib", "0.4.29", "cpu", None): (*FLAGS, "not_reported", True),
    ("jaxlib", "0.6.2", "cpu", None): (*FLAGS, "not_reported", True),
    ("jaxlib", "0.7.0", "cpu", None): (*FLAGS, "static_and_replay", True),
    ("jaxlib", "0.7.1", "cpu", None): (*FLAGS, "static_and_replay", True),
    ("jaxlib", "0.7.2", "cpu", None): (*FLAGS, "static", True),
    ("jaxlib", "0.9.0.1", "cpu", None): (*FLAGS, "static", True),
    ("jaxlib", "0.12.0", "cpu", None): (*FLAGS, "static", False),
    ("jaxlib", "0.13.0", "gpu", None): (*FLAGS, "static_and_replay", False),
    ("jaxlib", "0.10.2", "gpu", None): (*FLAGS, "static_and_replay", True),
    ("jaxlib", "0.10.1", "gpu", None): (*FLAGS, "static_and_replay", True),
    ("jaxlib", "0.10.0", "gpu", None): (*FLAGS, "static", True),
    ("jaxlib", "0.7.0", "gpu", None): (*FLAGS, "static", True),
    ("jaxlib", "0.6.2", "gpu", None): (*FLAGS, "not_reported", False),
    ("jaxlib", "0.4.28", "gpu", None): UNKNOWN,
    ("libtpu", "0.0.8", "tpu", None): (*TWICE, "not_reported", True),
    ("libtpu", "0.0.17", "tpu", None): (*TWICE, "unknown", True),
    LIBTPU_33: (*TWICE, "static_and_replay", True),
    ("libtpu", "0.0.45", "tpu", None): (*TWICE, "static_and_replay", True),
    LIBTPU_50: (*TWICE, "static_and_replay", True),
    LIBTPU_51: (*WHOLE, "static_and_replay", True),
    ("libtpu", "0.0.53", "tpu", None): (*WHOLE, "static_and_replay", False),
    # The number of a release tells it, whatever was said; 0.0.50.1 has a larger one than 0.0.51.
    ("libtpu", None, "tpu", "853872983"): (*TWICE, "static_and_replay", True),
    (None, None, "tpu", "1003875606"): (*WHOLE, "static_and_replay", True),
    ("libtpu", "0.0.33", "tpu", "1003875606"): (*WHOLE, "static_and_replay", True),
    ("jaxlib", "0.10.2", "tpu", "1003875606"): (*WHOLE, "static_and_replay", True),
    ("libtpu", None, "tpu", "1004524046"): (*TWICE, "static_and_replay", True),
    ("libtpu", "0.0.51", "tpu", "1004524046"): (*TWICE, "static_and_replay", True),
    # Of a number that is no release's, what was said decides; without that it is taken for one of the main branch.
    ("libtpu", "0.0.50.2", "tpu", "1030000000"): (*TWICE, "static_and_replay", True),
    (None, None, "tpu", "1030000000"): (*WHOLE, "static_and_replay", False),
    ("jaxlib", "0.10.2", "tpu", "1030000000"): (*WHOLE, "static_and_replay", False),
    (None, None, "tpu", "600000000"): UNKNOWN,
    (None, None, "tpu", "957000000"): (*TWICE, "static_and_replay", True),
    (None, None, "tpu", "980000000"): (*TWICE, "static_and_replay", True),
    (None, None, "tpu", "1000000000"): (*BETWEEN, "static_and_replay", True),
    (None, "0.10.2", "tpu", None): UNKNOWN,
    ("jaxlib", "0.7.0.dev20250701", "cpu", None): UNKNOWN,
    ("jaxlib", "nightly", "cpu", None): UNKNOWN,
    ("jaxlib", None, "cpu", None): UNKNOWN,
    (None, "0.7.0", "cpu", None): UNKNOWN,
    ("jaxlib", "0.7.0", None, None): UNKNOWN,
    ("tensorflow", "2.21.0", "cpu", None): UNKNOWN,
    ("libtpu", "0.0.33", "cpu", None): UNKNOWN,
}
# Bytes of temp by the rules of libtpu 0.0.33 and 0.0.51 for an arena of 512 bytes with one value in it.
STORED = {
    "a scalar that is copied": ("f32[]{:T(128)}", "copy", 0, 0),
    "a scalar that is reduced": ("f32[]{:T(128)}", "reduce", 32256, 16384),
    "an array of one element": ("s32[1]{0:T(128)}", "convert", 0, 16384),
    "an array of two": ("f32[2]{0:T(128)}", "copy", 32256, 16384),
    "an array of none": ("f32[0]{0:T(128)}", "add", 0, 16384),
    "an array of any number": ("f32[?]{0:T(128)}", "add", 32256, 16384),
    "a tuple table": ("(f32[2]{0:T(128)})", "custom-call", 0, 0),
}
# Of a temporary arena of 100 bytes 30 are never taken, and at most 50 at one moment.
BY_HAND = dump_text(
    [
        Slot(0, 9, 0, 64, 0),
        Slot(0, 9, 0, 32, 1),
        Slot(1, 3, 0, 20, 2),
        Slot(4, 6, 50, 50, 2),
        Slot(1, 2, 0, 8, 3),
        Slot(0, 9, 0, 16, 4),
        Slot(1, 9, 0, 4, 5),
        Slot(0, 9, 0, 4096, 6),
    ],
    [
        ", parameter 0, shape |u8[64]| at ShapeIndex {}",
        ", parameter 1, shape |u8[32]| at ShapeIndex {}, maybe-live-out",
        ", preallocated-temp",
        ", color 1, preallocated-temp",
        ", constant",
        ", output shape is |u8[4]|, maybe-live-out",
        ", color 5, parameter 2, shape |u8[4096]| at ShapeIndex {}",
    ],
)
NO_TEMPORARIES = dump_text([Slot(0, 1, 0, 64)], [", parameter 0, shape |u8[64]| at ShapeIndex {}"])
# A dump that stops behind its allocations.
CUT = dump_text([Slot(0, 1, 0, 64, shape="f32[16]{0}")]).split(b"\n\n")[0] + b"\n"


@pytest.fixture(scope="module")
def figures():
    """Rows of the mart by compiler and name, as mappings: the dumps above, had each of these compilers made them."""
    stored = {
        name: dump_text([Slot(0, 2, 0, 512, shape=shape)]).replace(b"custom-call(", opcode.encode() + b"(")
        for name, (shape, opcode, _, _) in STORED.items()
    }
    texts = {"by hand": BY_HAND, "cut": CUT, "no temporaries": NO_TEMPORARIES, **stored}
    with writing(None) as warehouse:
        names = dict(zip(load_texts(warehouse, list(texts.values())), texts, strict=True))
        [(run_id,)] = warehouse.con.execute("SELECT run_id FROM raw.runs").fetchall()
        for number, compiler in enumerate(RULES, 1000):
            warehouse.con.execute(
                "INSERT INTO raw.runs SELECT * REPLACE (? AS run_id, ? AS run_name, ? AS compiler,"
                " ? AS compiler_version, ? AS platform, ? AS compiler_revision) FROM raw.runs WHERE run_id = ?",
                [number, str(number), *compiler, run_id],
            )
            warehouse.con.execute(
                "INSERT INTO raw.observations SELECT * REPLACE (? AS run_id) FROM raw.observations WHERE run_id = ?",
                [number, run_id],
            )
        cursor = warehouse.con.execute("SELECT * FROM marts.official_figures_v1 WHERE run_id >= 1000")
        columns = [column[0] for column in cursor.description]
        rows = [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]
    compilers = dict(enumerate(RULES, 1000))
    return {(compilers[row["run_id"]], names[row["dump_id"]]): row for row in rows}


@pytest.mark.parametrize("compiler", RULES, ids=lambda compiler: " ".join(map(str, compiler)))
def test_the_rules_of_a_compiler(figures, compiler):
    """By its version, a libtpu by its CL number first; a pre-release and what was never looked at are unknown."""
    row = figures[compiler, "by hand"]
    assert RULES[compiler] == (row["sizes_rule"], row["temp_rule"], row["peak_rule"], row["is_compared"])


@pytest.mark.parametrize(
    ("compiler", "expected"),
    [
        (("jaxlib", "0.4.28", "cpu", None), (0, 0, 0, 0, None, None)),
        (("jaxlib", "0.7.2", "cpu", None), (96, 36, 32, 108, 64 + 32 + 16 + 4 + 4096, 4096)),
        (("jaxlib", "0.7.0", "cpu", None), (96, 36, 32, 108, None, 4096)),
        (LIBTPU_33, (96, 36, 32, 2 * 16384 - 50, None, 4096)),
        (LIBTPU_50, (96, 36, 32, 2 * 16384 - 50, None, 4096)),
        (LIBTPU_51, (96, 36, 32, 16384, None, 4096)),
        (("tensorflow", "2.21.0", "cpu", None), (None, None, None, None, None, None)),
    ],
)
def test_figures_done_by_hand(figures, compiler, expected):
    """Parameters of 64 and 32, the second live out beside an output of 4; an arena of 100, 50 of it taken at once, and
    one of 8 in memory space 1; a constant of 16; a parameter of 4,096 in the host's memory, which only the peak has."""
    columns = ("argument_bytes", "output_bytes", "alias_bytes", "temp_bytes", "peak_bytes", "host_bytes")
    assert expected == tuple(figures[compiler, "by hand"][column] for column in columns)


def test_temporaries_that_end_anywhere():
    """A TPU gives memory out in granules of 16 KiB: temp is that of whole ones, wherever in one an arena ends."""
    columns = ", ".join(f"{figure}_bytes" for figure in official.FIGURES)
    with in_memory([str(ARENAS)]) as con:
        rows = con.execute(f"SELECT run_name, program_name, {columns} FROM marts.official_figures_v1").fetchall()
        ends = con.execute(
            "SELECT DISTINCT run_name, arena_bytes % 16384 FROM intermediate.official_parts"
            " INNER JOIN marts.observations_v1 USING (dump_id)"
        ).fetchall()
    said = {path.parent.name: json.loads(path.read_text()) for path in ARENAS.glob(f"*/{official.FILE}")}
    found: dict[str, dict] = {release: {} for release in said}
    for release, name, *figures in rows:
        found[release][name] = dict(zip(official.FIGURES, figures, strict=True))
    assert said == found
    assert 4 == len(said)
    assert {(release, end) for release in said for end in (0, 512)} == set(ends)


def test_temporaries_that_code_generation_takes_out_are_a_guess():
    """The compiler says more than the dump shows, and the figure, the least that it may be, does not pass for known."""
    with in_memory([str(UNCOVERED)]) as con:
        rows = con.execute(
            "SELECT run_name, argument_bytes, output_bytes, alias_bytes, temp_bytes, is_temp_guessed"
            " FROM marts.official_figures_v2"
        ).fetchall()
    assert ["libtpu-0.0.15-v5p", "libtpu-0.0.49-7x"] == sorted(row[0] for row in rows)
    for build, *figures, temp, is_guessed in rows:
        [said] = json.loads((UNCOVERED / build / official.FILE).read_text()).values()
        assert [said["argument"], said["output"], said["alias"]] == figures
        assert temp < said["temp"]
        assert is_guessed


def test_arrays_count_when_they_take_most_and_tables_always():
    """As three libtpus say of programs whose temporaries take other bytes at another moment."""
    columns = ", ".join(f"{figure}_bytes" for figure in official.FIGURES)
    with in_memory([str(ALIVE_AT_ONCE)]) as con:
        rows = con.execute(f"SELECT run_name, program_name, {columns} FROM marts.official_figures_v2").fetchall()
    said = {path.parent.name: json.loads(path.read_text()) for path in ALIVE_AT_ONCE.glob(f"*/{official.FILE}")}
    found: dict[str, dict] = {release: {} for release in said}
    for release, name, *figures in rows:
        found[release][name] = dict(zip(official.FIGURES, figures, strict=True))
    assert said == found
    assert {"libtpu-0.0.32.1-v5p", "libtpu-0.0.43.2-v6e", "libtpu-0.0.49-v5p"} == set(said)


TABLE = "(f32[2]{0:T(128)})"
# The slots of an arena, and the bytes of arrays at their peak and of all tables.
HELD = {
    "tables take most when arrays take least": (
        [Slot(0, 1, 0, 64), Slot(3, 4, 64, 48, shape=TABLE), Slot(3, 4, 128, 48, shape=TABLE)], 64 + 96,
    ),
    "a table of two values counts once": (
        [Slot(0, 2, 0, 32, shape=TABLE), Slot(2, 4, 0, 32, shape=TABLE), Slot(1, 1, 64, 8)], 8 + 32,
    ),
    "an array begins where a table ends": (
        [Slot(0, 2, 0, 32, shape=TABLE), Slot(2, 4, 0, 64), Slot(5, 6, 64, 48)], 64 + 32,
    ),
    "an array lies where a table was": ([Slot(0, 1, 0, 32, shape=TABLE), Slot(2, 4, 0, 64), Slot(5, 6, 64, 16)], 80),
    "an array begins where one ends": ([Slot(0, 2, 0, 64), Slot(2, 4, 0, 64), Slot(5, 6, 64, 16)], 64),
    "a table begins where an array ends": (
        [Slot(0, 2, 0, 64), Slot(2, 4, 32, 32, shape=TABLE), Slot(5, 6, 64, 48)], 64 + 32,
    ),
    "all at one moment": ([Slot(0, 4, 0, 64), Slot(1, 2, 64, 32, shape=TABLE)], 64 + 32),
    "nothing but a table": ([Slot(0, 4, 0, 64, shape=TABLE)], 64),
}  # fmt: skip


def test_what_an_arena_holds():
    """Tables and arrays are told apart, and bytes that two values share at one instant count once."""
    asked = "SELECT dump_id, arena_held_bytes FROM intermediate.official_parts"
    with writing(None) as warehouse:
        ids = load_texts(warehouse, [dump_text(slots) for slots, _ in HELD.values()])
        found = dict(warehouse.con.execute(asked).fetchall())
    assert {name: size for name, (_, size) in HELD.items()} == dict(zip(HELD, map(found.pop, ids), strict=True))
    assert {} == found


def test_what_real_arenas_hold_is_counted():
    """By a plain count of every byte at every position, over all temporaries of TPUs at hand."""
    with in_memory([str(folder) for folder in (ARENAS, UNCOVERED, ALIVE_AT_ONCE)]) as con:
        found = con.execute(
            "SELECT relative_path, arena_held_bytes FROM intermediate.official_parts"
            " INNER JOIN marts.observations_v1 USING (dump_id)"
        ).fetchall()
    files = [path for root in (ARENAS, UNCOVERED, ALIVE_AT_ONCE) for path in root.glob("*/*-buffer-assignment.txt.gz")]
    expected = {path.name: held(path) for path in files}
    assert expected == {path.rpartition("/")[2]: size for path, size in found}
    assert 18 == len(expected)


def held(path: Path) -> int:
    """The bytes of arrays in the arena of a dump when these take most, and of all its tables."""
    stem = path.name.removesuffix("-buffer-assignment.txt.gz")
    files = [path.with_name(f"{stem}-{part}.txt.gz") for part in ("buffer-assignment-values", "live-range")]
    first, *others = [gzip.decompress(one.read_bytes()).decode() for one in (path, *files) if one.exists()]
    dump = oracle.read_split(first, *others) if others else oracle.read_dump(first)
    total = 0
    for allocation in dump["allocations"]:
        if allocation["is_preallocated_temp"] and allocation["memory_space"] == 0:
            values = values_in(dump, allocation)
            tables = [value for value in values if value["shape"].startswith("(")]
            arrays = [value for value in values if not value["shape"].startswith("(")]
            slots = [(value["offset"], value["offset"] + value["size"]) for value in tables]
            total += union(slots) + occupied_peak(arrays)
    return total


def test_the_newest_libtpu_says_less_of_the_same_program(own_warehouse):
    """Of one program libtpu 0.0.33 says 96,768 bytes of temp and libtpu 0.0.51 says 49,152, and nothing changed.

    No build of 0.0.51 is in the corpus: its rule is applied to the dump of 0.0.8, whose file name has no CL number.
    """
    sql = (
        "SELECT run_name, temp_bytes, is_temp_by_opcode, changed_meaning FROM marts.official_figures_v1"
        " WHERE platform = 'tpu' AND program_name = 'jit_while_simple' ORDER BY run_name"
    )
    with duckdb.connect(str(own_warehouse)) as con:
        run_name = "tpu-v5e-jaxlib-0.4.38-libtpu-0.0.8"
        newest = "tpu-v5e-jaxlib-0.8.3-libtpu-0.0.33"
        assert [
            (run_name, 96768, True, None),
            (newest, 96768, True, "peak: was not_reported, is static_and_replay"),
        ] == (con.execute(sql).fetchall())
        con.execute(
            "UPDATE raw.runs SET compiler_version = '0.0.51', started_at = '2026-09-01' WHERE run_name = ?", [run_name]
        )
        warning = "temp: was twice_arena_less_covered, is arena_in_16_kib"
        assert [(run_name, 49152, True, warning), (newest, 96768, True, None)] == con.execute(sql).fetchall()


def test_the_run_before_is_one_of_the_same_device(own_warehouse):
    """In version 2; a run for another device is of another series, whatever rule its compiler follows."""
    old, new = "tpu-v5e-jaxlib-0.4.38-libtpu-0.0.8", "tpu-v5e-jaxlib-0.8.3-libtpu-0.0.33"
    sql = (
        "SELECT run_name, previous_run_name, changed_meaning FROM marts.official_figures_v2"
        " WHERE platform = 'tpu' AND program_name = 'jit_while_simple' ORDER BY run_name"
    )
    with duckdb.connect(str(own_warehouse)) as con:
        [_, (*_, before, changed)] = con.execute(sql).fetchall()
        assert (old, "peak: was not_reported, is static_and_replay") == (before, changed)
        con.execute("UPDATE raw.runs SET device_kind = 'v4' WHERE run_name = ?", [old])
        assert [(old, None, None), (new, None, None)] == con.execute(sql).fetchall()


@pytest.mark.parametrize("name", STORED)
def test_what_is_really_stored(figures, name):
    """A tuple table is not, a single element that the scalar unit computes is not; all else is."""
    *_, old, new = STORED[name]
    assert (old, new) == (figures[LIBTPU_33, name]["temp_bytes"], figures[LIBTPU_51, name]["temp_bytes"])


def test_a_guess_by_opcodes_is_marked(figures):
    """On a TPU, where there are none but single elements."""
    names = ("a scalar that is copied", "an array of two", "a tuple table")
    assert [True, False, False] == [figures[LIBTPU_33, name]["is_temp_by_opcode"] for name in names]
    assert figures[("jaxlib", "0.7.2", "cpu", None), names[0]]["is_temp_by_opcode"] is None


def test_both_kinds_of_guess_are_one_column_in_version_2(example):
    """The temporaries that it calls guessed are those of the truth page; null where no rule is known that guesses."""
    rows = example.execute(
        "SELECT f.temp_rule, f.is_temp_by_opcode, f.is_temp_guessed, n.verdict"
        " FROM marts.official_figures_v2 AS f INNER JOIN marts.official_numbers_v1 AS n USING (run_id, relative_path)"
        " WHERE n.said_by = 'memory_analysis()' AND n.number_name = 'temp_size_in_bytes'"
    ).fetchall()
    assert [] == [row for row in rows if (row[2] is True) != (row[3] == "guessed")]
    assert {("twice_arena_less_covered", True, True), ("twice_arena_less_covered", False, False)} <= {
        row[:3] for row in rows
    }
    assert {None} == {row[2] for row in rows if row[0] == "preallocated_temps"}


def test_without_live_ranges_the_older_rule_of_libtpu_has_no_answer(figures):
    """It needs the bytes that are taken at one moment; the others take the allocations."""
    compilers = (LIBTPU_33, LIBTPU_51, ("jaxlib", "0.7.2", "cpu", None))
    assert [None, 16384, 64] == [figures[compiler, "cut"]["temp_bytes"] for compiler in compilers]


@pytest.mark.parametrize(
    ("version", "name", "peak_bytes", "relation"),
    [
        ("0.6.2", "by hand", None, "not reported"),
        ("0.7.1", "by hand", None, "at least static_peak_bytes: a replay of temporaries comes on top"),
        ("0.7.1", "no temporaries", 64, "footprint of all memory spaces: there are no temporaries"),
        ("0.7.2", "by hand", 4212, "footprint of all memory spaces without temporaries"),
    ],
)
def test_the_peak_says_what_it_is(figures, version, name, peak_bytes, relation):
    """How it relates to the footprint, or why there is none."""
    row = figures[("jaxlib", version, "cpu", None), name]
    assert (peak_bytes, relation) == (row["peak_bytes"], row["peak_relation"])


@pytest.mark.corpus
def test_a_gpu_had_no_temporaries_in_its_peak(corpus, tmp_path):
    """As jaxlib 0.9.2 says of six programs, the largest with 31 GiB of temporaries."""
    unpack(corpus / "gpu-remat.tar.gz", tmp_path)
    with in_memory([str(tmp_path / "gpu-remat")]) as con:
        con.execute("UPDATE raw.runs SET compiler = 'jaxlib', compiler_version = '0.9.2', platform = 'gpu'")
        found = con.execute("SELECT run_name, temp_bytes, peak_bytes FROM marts.official_figures_v2").fetchall()
    said = {one.stem: json.loads(one.read_text())["memory_analysis"] for one in (tmp_path / "gpu-remat").glob("*.json")}
    assert {
        (f"{name}.dump", figures["temp_size_in_bytes"], figures["peak_memory_in_bytes"])
        for name, figures in said.items()
    } == set(found)


@pytest.mark.corpus
@pytest.mark.soak
def test_every_memory_analysis_of_the_corpus(corpus):
    """Eleven builds: every program of which there is a dump. Of a name compiled twice one dump was asked about."""
    total = Counter()
    for archive in sorted((corpus / "builds").glob("*.tar.gz")):
        if said := official.said_in(archive):
            build, protos = archive.name.removesuffix(".tar.gz"), official.protos_in(archive)
            with in_memory([str(archive)]) as con:
                official.tell_compiler(con, build)
                count = OfficialCount(con)
            for module_name, figures in said.items():
                count.add(build, module_name, figures, protos)
            assert [] == count.problems
            total += Counter({f"{build[:3]} {what}": number for what, number in count.counts.items()})
    names = ("programs", "dumps", "dumps as said", "temp is not 0", "peak static", "peak static_and_replay")
    found = {platform: tuple(total[f"{platform} {name}"] for name in names) for platform in ("jax", "gpu", "tpu")}
    assert {"jax": (717, 720, 717, 312, 273, 91), "gpu": (4, 4, 4, 4, 0, 4), "tpu": (67, 67, 67, 7, 0, 43)} == found
