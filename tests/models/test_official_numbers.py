"""marts.official_numbers_v1 against what the compiler's own files say, and what is not known against nothing."""

import json
from collections import Counter
from pathlib import Path

import pytest

from bufferhouse.ingest.in_memory import in_memory
from bufferhouse.paths import CHECKOUT
from bufferhouse.warehouse.open import writing
from tests.models import official
from tests.models.official_numbers import ASSIGNMENT, REPORT, NumberCount, numbers, texts_of
from tests.oom.specimens import FOLDER
from tests.samples import of_fleet, unpack
from tests.synthetic import Slot, dump_text
from tests.warehouses import load_texts

PROTOS = CHECKOUT / "tests" / "data" / "protos"
HOST_TEMPORARIES = CHECKOUT / "tests" / "data" / "host_temporaries"  # libtpu 0.0.23.1
CORPUS = CHECKOUT.parent / "shared" / "corpus"
COMPILERS = {"cpu-jaxlib-0.10.0": ("jaxlib", "0.10.0", "cpu"), "cpu-jaxlib-0.6.0": ("jaxlib", "0.6.0", "cpu"),
             "tpu-v5e-libtpu-0.0.33": ("libtpu", "0.0.33", "tpu")}  # fmt: skip
TELL = "UPDATE raw.runs SET compiler = ?, compiler_version = ?, platform = ? WHERE {}"


def of_number(con, name: str, said_by: str = "memory_analysis()", run: str = "%") -> list[tuple]:
    """Bytes, verdict, rule, since when, until when, and why, of a number of all dumps."""
    return con.execute(
        "SELECT computed_bytes, verdict, rule, holds_since, holds_below, why_text FROM marts.official_numbers_v1"
        " WHERE number_name = ? AND said_by = ? AND run_name LIKE ? ORDER BY ALL", [name, said_by, run]
    ).fetchall()  # fmt: skip


def test_what_dumps_of_the_fleet_print_is_what_their_bytes_give(example):
    """Printed total and printed peak of 121 dumps of ten compilers, in all dialects: they agree, none differs."""
    found, count = numbers(example), NumberCount()
    for sample in of_fleet():
        run, path = sample.name.split("/")
        count.add_dump(sample.name, found[run, path], "\n".join(map(bytes.decode, sample.files.values())))
    assert [] == count.problems
    assert {"printed total": 126, "printed peak": 126} == dict(count.counts)


def test_what_memory_analysis_said_of_the_fleet(example):
    """Each figure of 121 programs where the mart has it; without a proto a peak with a replay is not in the dump."""
    found, count = numbers(example), NumberCount()
    modules = "SELECT run_name, COALESCE(module_name, ''), relative_path FROM marts.observations_v1"
    paths = {(run, module): path for run, module, path in example.execute(modules).fetchall()}
    names = {figure: key for key, figure in official.KEYS.items()}
    for run, programs in official.examples().items():
        for module, said in programs.items():
            own = found[run, paths[run, module]]
            count.add_analysis((run, module), own, {names[figure]: size for figure, size in said.items()})
    assert [] == count.problems
    counts = count.counts
    assert 121 == counts["argument_size_in_bytes"] == counts["output_size_in_bytes"] == counts["alias_size_in_bytes"]
    assert 121 == counts["temp_size_in_bytes"] + counts["temp_size_in_bytes, guessed"]
    peaks = ("peak_memory_in_bytes", "peak_memory_in_bytes is not reported", "peak_memory_in_bytes is not in the dump")
    assert 121 == sum(counts[name] for name in peaks)
    assert 121 == counts["generated_code_size_in_bytes is unknown"]


def test_a_proto_tells_the_peak_and_what_xprof_shows():
    """Of three builds, with what XProf's own steps give of the proto; before jaxlib 0.7.0 there is no peak."""
    with in_memory([str(PROTOS)]) as con:
        for run, compiler in COMPILERS.items():
            con.execute(TELL.format("run_name = ?"), [*compiler, run])
        found, count = numbers(con), NumberCount()
        for (run, path), own in found.items():
            file = PROTOS / run / path
            count.add_dump(file, own, texts_of(file))
            count.add_xprof(file, own, proto_of(file).read_bytes())
        peaks = of_number(con, "peak_memory_in_bytes")
    assert [] == count.problems
    assert 3 == count.counts["printed peak"]
    assert 6 == count.counts["XProf's peak, not stored"]
    assert [(135680, "not stored", "static_and_replay"), (None, "not reported", "not_reported")] == [
        row[:3] for row in peaks if row[2] != "static"
    ]


def test_temporaries_on_the_host_are_those_of_memory_analysis():
    """Of a program that libtpu 0.0.23 compiled, with its peak; only generated code is not in the dump."""
    said = json.loads((HOST_TEMPORARIES / official.FILE).read_text())
    with in_memory([str(HOST_TEMPORARIES)]) as con:
        found = dict(con.execute(
            "SELECT number_name, computed_bytes FROM marts.official_numbers_v1 WHERE said_by = 'memory_analysis()'"
            " AND number_name NOT LIKE '%generated_code%'"
        ).fetchall())  # fmt: skip
    assert (786432, 1573376) == (said["host_temp_size_in_bytes"], said["peak_memory_in_bytes"])
    assert {name: size for name, size in said.items() if "generated_code" not in name} == found


def test_a_message_stands_beside_the_bytes_of_its_dump():
    """Of each committed failure: what is reproduced agrees, what the message alone tells stands alone."""
    sql = (
        "SELECT run_name, number_name, rule, computed_bytes, printed_text, verdict FROM marts.official_numbers_v1"
        " WHERE said_by = 'OOM message'"
    )
    with in_memory([str(FOLDER)]) as con:
        rows = {row[:2]: row[2:] for row in con.execute(sql).fetchall()}
        figures = con.execute(
            "SELECT f.run_name, figure_name, figure_bytes, f.is_reproduced FROM marts.oom_figures_v1 AS f"
            " INNER JOIN marts.oom_v1 AS o USING (run_id, message_id) WHERE o.dump_id IS NOT NULL"
        ).fetchall()
    assert {(run, name) for run, name, _, _ in figures} == rows.keys()
    for run, name, size, is_reproduced in figures:
        _, computed, _, verdict = rows[run, name]
        assert is_reproduced == (verdict in ("agrees", "printed alone"))
        assert verdict != "agrees" or computed == size
    assert ("temporaries", "21.97G", "agrees") == (rows["xent", "used"][0], *rows["xent", "used"][2:])
    assert ("message_alone", None, "15.75G", "printed alone") == rows["xent", "capacity"]
    assert ("message_alone", "printed alone") == (rows["pal", "exceeded"][0], rows["pal", "exceeded"][-1])
    assert [] == [key for key, row in rows.items() if row[-1] == "differs"]
    assert {"agrees": 37, "printed alone": 66, "unknown": 16} == Counter(row[-1] for row in rows.values())


# Compiler, version and platform of a run, the target and the compiler of its dump; and why a number is not known.
NO_RULE = {
    ((None, None, "cpu"), ("cpu", None)): "nothing says which compiler made the dump",
    (("jaxlib", "0.7.0.dev1", "cpu"), ("cpu", None)): "no release of jaxlib is said that has a number",
    (("tensorflow", "2.21.0", "cpu"), ("cpu", None)): "no rule is known of tensorflow 2.21.0 on cpu",
}
NO_RULE_OF_LIBTPU = {
    ((None, "0.10.2", None), ("tpu", None)): "nothing says which compiler made the dump",
    ((None, None, None), ("tpu", "719471581")): "no rule is known of libtpu 0.0.7.1 on tpu",
    (("libtpu", "0.0.7.2", None), ("tpu", "1030000000")): "no rule is known of libtpu 0.0.7.2 on tpu",
    ((None, None, None), ("tpu", "1000000000")): "no rule is known of libtpu CL 1000000000 on tpu",
}


def add_compilers(con, compilers: list[tuple[tuple, tuple]]) -> dict[int, tuple]:
    """Add the only run again for each compiler, as if that had made its dumps; return the compilers by run_id."""
    [(run_id,)] = con.execute("SELECT run_id FROM raw.runs").fetchall()
    added = dict(enumerate(compilers, 1000))
    for number, (run, dump) in added.items():
        con.execute(
            "INSERT INTO raw.runs SELECT * REPLACE (? AS run_id, ? AS run_name, ? AS compiler,"
            " ? AS compiler_version, ? AS platform) FROM raw.runs WHERE run_id = ?",
            [number, str(number), *run, run_id],
        )
        con.execute(
            "INSERT INTO raw.observations SELECT * REPLACE (? AS run_id, ? AS compile_target,"
            " ? AS compiler_revision) FROM raw.observations WHERE run_id = ?",
            [number, *dump, run_id],
        )
    return added


@pytest.fixture(scope="module")
def numbers_without_a_rule() -> dict[tuple, list[tuple]]:
    """The numbers of one program, had each of these compilers made it."""
    with writing(None) as warehouse:
        load_texts(warehouse, [dump_text([Slot(0, 1, 0, 64)])])
        added = add_compilers(warehouse.con, [*NO_RULE, *NO_RULE_OF_LIBTPU])
        rows = warehouse.con.execute(
            "SELECT run_id, number_name, said_by, verdict, computed_bytes, rule, rule_text, why_text"
            " FROM marts.official_numbers_v1 WHERE run_id >= 1000"
        ).fetchall()
    return {compiler: [row[1:] for row in rows if row[0] == number] for number, compiler in added.items()}


@pytest.mark.parametrize("compiler", NO_RULE)
def test_what_no_rule_is_known_of_has_no_bytes(numbers_without_a_rule, compiler):
    """Neither memory_analysis() nor the report, and why; the dump itself and XProf need no compiler."""
    found = [row[1:] for row in numbers_without_a_rule[compiler] if row[0] != "generated_code_size_in_bytes"]
    rows = [row for row in found if row[3] == "unknown"]
    assert ["memory-usage report"] + ["memory_analysis()"] * 5 == sorted(row[0] for row in rows)
    assert {("unknown", None, "unknown", "not known", NO_RULE[compiler])} == {row[1:] for row in rows}
    assert {"XProf", "the dump"} == {row[0] for row in found if row[2] is not None}


@pytest.mark.parametrize("compiler", NO_RULE_OF_LIBTPU)
def test_a_libtpu_is_named_by_what_decides(numbers_without_a_rule, compiler):
    """By the release of its CL number; where that is of none by its version, and without one by the number."""
    [found] = [
        row for row in numbers_without_a_rule[compiler] if row[:2] == ("temp_size_in_bytes", "memory_analysis()")
    ]
    assert (None, "unknown", NO_RULE_OF_LIBTPU[compiler]) == (found[3], found[2], found[-1])


def with_opcodes(slots: list[Slot], *opcodes: bytes) -> bytes:
    """A dump of two values that instructions with these opcodes define."""
    text = dump_text(slots)
    for opcode in opcodes:
        text = text.replace(b"custom-call(", opcode + b"(", 1)
    return text


A_COUNTER = [Slot(0, 2, 0, 512, shape="s32[]{:T(128)}"), Slot(0, 2, 512, 512, shape="f32[128]{0:T(128)}")]
COPIED = {
    name: [Slot(0, 2, 0, 512, shape="f32[128]{0:T(128)}"), Slot(0, 2, 512, 512, shape=shape)]
    for name, shape in (("array", "f32[128]{0:T(128)}"), ("tuple", "(f32[128]{0:T(128)S(1)}, f32[128]{0:T(128)})"))
}
TEMPORARIES = {
    "add": with_opcodes(A_COUNTER, b"add", b"fusion"),
    "fusion": with_opcodes(A_COUNTER, b"fusion", b"fusion"),
    **{name: with_opcodes(slots, b"fusion", b"copy-start") for name, slots in COPIED.items()},
}


@pytest.fixture(scope="module")
def temporaries() -> dict[tuple[str, str], tuple[int, str]]:
    """Bytes and verdict of the temporaries of these dumps by name and version, had libtpus made them."""
    versions = ("0.0.33", "0.0.50.1", "0.0.52")
    with writing(None) as warehouse:
        names = dict(zip(load_texts(warehouse, list(TEMPORARIES.values())), TEMPORARIES, strict=True))
        libtpus = [(("libtpu", version, "tpu"), ("tpu", None)) for version in versions]
        added = add_compilers(warehouse.con, libtpus)
        rows = warehouse.con.execute(
            "SELECT dump_id, run_id, computed_bytes, verdict FROM marts.official_numbers_v1 WHERE run_id >= 1000"
            " AND number_name = 'temp_size_in_bytes' AND said_by = 'memory_analysis()'"
        ).fetchall()
    assert len(names) * len(versions) == len(rows)
    return {(names[dump_id], added[run_id][0][1]): tuple(found) for dump_id, run_id, *found in rows}


@pytest.mark.parametrize(
    ("version", "opcode", "verdict"),
    [
        ("0.0.33", "add", "guessed"),
        ("0.0.33", "fusion", "guessed"),
        ("0.0.50.1", "add", "guessed"),
        ("0.0.52", "add", "not stored"),
    ],
)
def test_temporaries_beside_a_counter_are_a_guess(temporaries, version, opcode, verdict):
    """Up to libtpu 0.0.50 temp hangs on the bytes that are covered, and those of some single elements are not."""
    assert (16384 if version == "0.0.52" else 2 * 16384 - 1024, verdict) == temporaries[opcode, version]


@pytest.mark.parametrize(
    ("version", "copied", "verdict"),
    [("0.0.33", "array", "guessed"), ("0.0.33", "tuple", "not stored"), ("0.0.52", "array", "not stored")],
)
def test_temporaries_copied_out_of_another_space_are_a_guess(temporaries, version, copied, verdict):
    """Up to libtpu 0.0.50 such an array may not be covered; the tuple of a copy into another space says nothing."""
    assert verdict == temporaries[copied, version][1]


@pytest.mark.corpus
def test_temporaries_of_larger_programs_are_known_or_a_guess(corpus, tmp_path):
    """Pairs of one change, transformers for the most part: what is less than memory_analysis() said is a guess."""
    root = unpacked(corpus / "whatif.tar.gz", tmp_path) / "whatif" / "tpu-v5e-libtpu-0.0.33"
    count: Counter[str] = Counter()
    with in_memory([str(root)]) as con:
        found = con.execute(
            "SELECT r.root || '/' || f.relative_path, f.temp_bytes, f.is_temp_guessed"
            " FROM marts.official_figures_v2 AS f INNER JOIN staging.runs AS r ON f.run_id = r.run_id"
        ).fetchall()
    by_folder = {str(Path(path).parent): figures for path, *figures in found}
    for place in sorted(root.glob("*/pair.json")):
        for side in ("base", "variant"):
            analysis = json.loads(place.read_text())[side].get("memory_analysis")
            if analysis and (figures := by_folder.get(str(place.parent / side))):
                temp, is_guessed = figures
                known = "guessed" if is_guessed else "known"
                count[f"{known} {'as said' if temp == analysis['temp_size_in_bytes'] else 'less'}"] += 1
                assert temp <= analysis["temp_size_in_bytes"]
    assert {"known as said": 29, "guessed as said": 3, "guessed less": 8} == count


BY_HAND = dump_text(
    [Slot(0, 9, 0, 64, 0), Slot(0, 9, 0, 32, 1), Slot(1, 3, 0, 20, 2), Slot(0, 9, 0, 4096, 3), Slot(1, 9, 0, 8, 4)],
    [
        ", parameter 0, shape |u8[64]| at ShapeIndex {}",
        ", parameter 1, shape |u8[32]| at ShapeIndex {}, maybe-live-out",
        ", preallocated-temp",
        ", color 5, parameter 2, shape |u8[4096]| at ShapeIndex {}",
        ", thread-local",
    ],
)


def test_numbers_done_by_hand():
    """Parameters of 64 and 32, the second live out; a temporary of 20, thread-local 8, 4,096 of the host."""
    with writing(None) as warehouse:
        load_texts(warehouse, [BY_HAND])
        con = warehouse.con
        con.execute(TELL.format("TRUE"), ("jaxlib", "0.10.0", "cpu"))
        con.execute("UPDATE raw.observations SET compile_target = 'cpu'")
        rows = con.execute(
            "SELECT said_by, number_name, memory_space, computed_bytes, is_compared FROM marts.official_numbers_v1"
            " ORDER BY number_order, memory_space"
        ).fetchall()
    found = {who: [row[1:4] for row in rows if row[0] == who] for who, *_ in rows}
    compared = {name: is_compared for _, name, _, _, is_compared in rows}
    assert [96, 32, 32, 20, 64 + 32 + 4096, None, 4096, 0, 0, 0] == [size for *_, size in found["memory_analysis()"]]
    assert [("Total bytes", 0, 124), ("Total bytes", 5, 4096)] == found["memory-usage report"]
    # Without a proto nothing tells the trace of the temporaries, and whether a trace has values of the host.
    assert [(None, None), (124, 4096), (96, 4096), (32, 0)] == [
        tuple(size for name, _, size in found["XProf"] if name == wanted)
        for wanted in dict.fromkeys(name for name, *_ in found["XProf"])
    ]
    # The host's memory was never compared while a program had anything there, and XProf not at all.
    assert (True, False, False) == tuple(
        compared[name] for name in ("argument_size_in_bytes", "host_argument_size_in_bytes", "peak_heap_mib")
    )


def proto_of(assignment: Path) -> Path:
    """The proto beside a dump."""
    return Path(str(assignment).replace(ASSIGNMENT, ".hlo.pb"))


def compare_all(folder: Path, compiler: tuple, said: dict[str, dict], key: str, count: NumberCount) -> None:
    """Compare all numbers of the dumps in a folder with the files beside them and with what memory_analysis() said.

    `said` is by the column `key` of the rows of a file: its module name, or the folder that it lies in. Of a name that
    was compiled twice it is about one of both.
    """
    with in_memory([str(folder)]) as con:
        con.execute(TELL.format("TRUE"), compiler)
        found = numbers(con)
        roots = dict(con.execute("SELECT run_name, root FROM raw.runs").fetchall())
        modules = "SELECT run_name, relative_path, COALESCE(module_name, '') FROM marts.observations_v1"
        module_of = {row[:2]: row[2] for row in con.execute(modules).fetchall()}
    named: dict[str, list] = {}
    for (run, path), own in found.items():
        file = Path(roots[run]) / path
        report = Path(str(file).replace(ASSIGNMENT, REPORT))
        count.add_dump(file, own, texts_of(file))
        count.add_report(file, own, report.read_text(errors="replace") if report.exists() else None)
        if proto_of(file).exists():
            count.add_xprof(file, own, proto_of(file).read_bytes())
        named.setdefault(module_of[run, path] if key == "module" else file.parent.name, []).append(own)
    for name, figures in said.items():
        tries = [NumberCount() for _ in named.get(name, [])]
        for one, own in zip(tries, named.get(name, []), strict=True):
            one.add_analysis((folder.name, name), own, figures)
        best = min(tries, key=lambda one: len(one.problems), default=NumberCount())
        count.counts += best.counts
        count.problems += best.problems


def unpacked(archive: Path, folder: Path) -> Path:
    unpack(archive, folder)
    return folder


@pytest.mark.corpus
def test_every_program_with_a_proto(corpus, tmp_path):
    """96 programs of three builds: each official number that a file or memory_analysis() has, and XProf's own steps."""
    count = NumberCount()
    root = unpacked(corpus / "proto.tar.gz", tmp_path) / "proto"
    for build, compiler in COMPILERS.items():
        said = json.loads((root / build / "memory_analysis.json").read_text())
        figures = {name: one["memory_analysis"] for name, one in said.items()}
        compare_all(root / build, compiler, figures, "folder", count)
    assert [] == count.problems
    assert {
        "printed total": 99, "printed peak": 99, "report, first form": 66, "report, second form": 33,
        "argument_size_in_bytes": 96, "output_size_in_bytes": 96, "alias_size_in_bytes": 96,
        "temp_size_in_bytes": 87, "temp_size_in_bytes, guessed": 9, "generated_code_size_in_bytes is unknown": 96,
        "peak_memory_in_bytes": 64, "peak_memory_in_bytes is not reported": 32, "XProf's peak, not stored": 170,
        "XProf's total_buffer_allocation_mib": 170, "XProf's maybe_live_out_mib": 170,
        "XProf's entry_computation_parameters_mib": 170,
    } == dict(count.counts)  # fmt: skip


@pytest.mark.corpus
@pytest.mark.soak
def test_every_build(corpus, tmp_path):
    """Eleven builds with what memory_analysis() said of them: each number is what the compiler's files say."""
    total: Counter[str] = Counter()
    for archive in sorted((corpus / "builds").glob("*.tar.gz")):
        said = official.said_of(archive)
        if not said:
            continue
        build, count = archive.name.removesuffix(".tar.gz"), NumberCount()
        compare_all(unpacked(archive, tmp_path / build), official.compiler_of(build), said, "module", count)
        assert [] == count.problems
        total += count.counts
    assert {
        "printed total": 798, "printed peak": 798, "no report": 176, "report, first form": 526,
        "report, second form": 96, "argument_size_in_bytes": 788, "output_size_in_bytes": 788,
        "alias_size_in_bytes": 788, "temp_size_in_bytes": 776, "temp_size_in_bytes, guessed": 12,
        "peak_memory_in_bytes": 316, "peak_memory_in_bytes is not in the dump": 95,
        "peak_memory_in_bytes is not reported": 377, "generated_code_size_in_bytes is unknown": 788,
    } == dict(total)  # fmt: skip


@pytest.mark.corpus
@pytest.mark.soak
def test_reports_of_pairs_and_of_failures(corpus, tmp_path):
    """40 compilations of corpus/context and all of corpus/oom: what dumps and reports print."""
    count = NumberCount()
    root = unpacked(corpus / "context.tar.gz", tmp_path) / "context"
    for build, compiler in (*COMPILERS.items(),):
        compare_all(root / build, compiler, {}, "folder", count)
    oom = unpacked(corpus / "oom.tar.gz", tmp_path) / "oom"
    for folder in sorted(oom.glob("libtpu-*")):
        compare_all(folder, ("libtpu", folder.name.removeprefix("libtpu-"), "tpu"), {}, "folder", count)
    assert [] == count.problems
    assert {
        "printed total": 148, "printed peak": 148, "report, first form": 105, "report, second form": 43,
        "XProf's peak, not stored": 322, "XProf's total_buffer_allocation_mib": 322,
        "XProf's maybe_live_out_mib": 322, "XProf's entry_computation_parameters_mib": 322,
    } == dict(count.counts)  # fmt: skip
