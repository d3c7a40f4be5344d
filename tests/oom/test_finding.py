"""From a message to its dump: each figure is the sum that the compiler made, or unknown; never a wrong sum."""

import bz2
import gzip
import io
import json
import lzma
import random
import shutil
import tarfile
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
import zstandard

from bufferhouse.ingest.in_memory import in_memory
from bufferhouse.messages.figures import nominal, printed
from bufferhouse.messages.join import dumps
from bufferhouse.messages.message import REPORTED, Refused, read_messages
from bufferhouse.messages.rules import RULES, Parts, capacity_bytes, reproduce
from bufferhouse.oom.finding import Finding, explain, record, without_message
from bufferhouse.paths import CHECKOUT
from bufferhouse.query.statements import Record
from bufferhouse.report.oom.page import oom_page
from bufferhouse.report.oom.text import _PARTS, Explanation, _bar, oom_text
from bufferhouse.whatif.chips import CHIPS
from bufferhouse.whatif.moments import Moments
from bufferhouse.whatif.space import read_space
from tests.command_line import call
from tests.ingests import write_dumps
from tests.oom.specimens import CORPUS, DONATED, FITS, FOLDER, SAID, TWINS, failures, log, unpacked, with_global
from tests.synthetic import Slot, colored, dump_text
from tests.warehouses import rows


@pytest.fixture(scope="module")
def con():
    """The committed failures with their logs, in memory."""
    with in_memory([str(FOLDER)]) as con:
        yield con


@pytest.fixture(scope="module")
def everything(con) -> list[Record]:
    """The dumps of all committed failures."""
    return dumps(con)


@pytest.fixture(scope="module")
def held(everything) -> Callable[..., list[Record]]:
    """A function that returns the dumps in the directories of some logs."""

    def held_by(*names: str) -> list[Record]:
        folders = [f"{log(name).parent}/" for name in names]
        return [{**one} for one in everything if any(folder in one["source_uri"] for folder in folders)]

    return held_by


@pytest.fixture(scope="module")
def found(con, held):
    """A function that returns the finding of a log with the dumps of its directory."""

    @cache
    def finding_of(name: str) -> Finding:
        [finding] = explain(con, failures(log(name)), held(name))
        return finding

    return finding_of


@pytest.mark.parametrize("name", sorted(name for name in SAID if FITS not in name))
def test_the_dump_of_a_message_is_not_doubted(found, name: str):
    """Whatever the compiler, where its own dump lies beside it."""
    assert found(name).doubt is None


@pytest.mark.parametrize(
    ("name", "other", "doubt"),
    [
        ("libtpu-0.0.33/xent", "libtpu-0.0.33/kv", "its bytes are not the sum of what was used"),
        ("libtpu-0.0.33/pal", "libtpu-0.0.33/kv", "it has none of the allocations that the message lists"),
        ("libtpu-0.0.33/attn_huge", "libtpu-0.0.33/kv", "it does not have a value f32[4,16,16384,16384] of fusion.5"),
        ("libtpu-0.0.33/internal_attn_v6e", "libtpu-0.0.33/kv", "it does not have a value f32[8,16,16384,16384]"),
        # The names of these are there, of other values.
        ("libtpu-0.0.37/scoped", "libtpu-0.0.33/xent", "it does not have a value bf16[8192,8192] of fusion"),
    ],
)
def test_the_dump_of_another_program_explains_nothing(con, held, name: str, other: str, doubt: str):
    """Where it is the only one there, the finding says what speaks against it, and names neither program nor values."""
    [finding] = explain(con, failures(log(name)), held(other))
    assert (doubt, {}, [], []) == (finding.doubt, finding.parts, finding.values, finding.advice)
    # Nobody says that no message is about the program: this one may be.
    silent = without_message([finding], [{**one, "has_failed": True} for one in held(other)])
    assert "no message is known to be about it" in oom_text(Explanation([finding], silent=silent), "table")
    said = record(finding)
    assert (None, doubt) == (said["module"], said["doubt"])
    assert oom_text(Explanation([finding]), "table").splitlines()[2].startswith("a program: ")


@pytest.mark.parametrize("lines", [1, 3, 8, 13, 20])
def test_a_message_that_is_cut_is_about_no_other_program(con, held, lines: int):
    """Its main figure stands in its first line, and is no sum of the only dump there, or is one of its own."""
    said = log("libtpu-0.0.33/xent").read_text().splitlines(keepends=True)
    start = next(number for number, line in enumerate(said) if "Ran out of memory" in line)
    messages = [one for one in read_messages(io.BytesIO("".join(said[: start + lines]).encode())) if one.is_failure]
    assert [True] == [bool(one.faults) for one in messages]
    for other, doubt in (("kv", "its bytes are not the sum of what was used"), ("xent", None)):
        [finding] = explain(con, messages, held(f"libtpu-0.0.33/{other}"))
        assert (doubt, doubt is None) == (finding.doubt, bool(finding.values))


def test_of_several_dumps_that_is_taken_whose_sum_a_message_that_is_cut_says(con, held):
    """Its main figure tells the dump, although nothing else of it can be relied on."""
    said = log("libtpu-0.0.33/xent").read_text()
    cut = io.BytesIO(said[: said.index("\n", said.index("Ran out of memory"))].encode())
    messages = [one for one in read_messages(cut) if one.is_failure]
    [finding] = explain(con, messages, held("libtpu-0.0.33/xent", "libtpu-0.0.33/kv", "libtpu-0.0.33/args"))
    assert ("jit_lm_head_loss", None) == (finding.dump["program_name"], finding.doubt)
    [finding] = explain(con, messages, held("libtpu-0.0.33/kv", "libtpu-0.0.33/args"))
    assert (None, "none of the dumps there has bytes that sum to its figures") == (finding.dump, finding.reason)


def test_processes_whose_lines_are_mixed_are_not_counted_as_programs(con, held):
    """Eight say the same, with lines of others between: one finding, which tells how many are left out."""
    said = log("libtpu-0.0.33/xent").read_text()
    lines = said[said.rindex("\n", 0, said.index("Ran out of memory")) + 1 :].splitlines()
    left, mixed, chosen = [lines[:] for _ in range(8)], [], random.Random(7)
    while any(left):
        one = chosen.choice([one for one in left if one])
        mixed += [one.pop(0) for _ in range(min(chosen.randint(1, 3), len(one)))]
    messages = [one for one in read_messages(io.BytesIO("\n".join(mixed).encode())) if one.is_failure]
    assert len(messages) > 1
    [finding] = explain(con, messages, held("libtpu-0.0.33/xent"))
    assert ("jit_lm_head_loss", len(messages) - 1) == (finding.dump["program_name"], record(finding)["alike_count"])
    text = oom_text(Explanation([finding]), "table")
    assert ("1 program did not fit", True) == (text.splitlines()[0], "with the same beginning" in text)
    whole = failures(log("libtpu-0.0.33/xent"))
    assert [[]] == [one.message.faults for one in explain(con, [*messages, *whole], held("libtpu-0.0.33/xent"))]


def test_a_message_of_a_kernel_that_is_cut_is_about_no_program(con, held):
    """Without its listing it names nothing that a dump has."""
    said = log("libtpu-0.0.33/pal").read_text()
    cut = io.BytesIO(said[: said.index("\n", said.index("Ran out of memory"))].encode())
    [finding] = explain(con, [one for one in read_messages(cut) if one.is_failure], held("libtpu-0.0.33/kv"))
    assert "the message names nothing that could be compared with it" == finding.doubt


# The rule of each first figure; a figure of one value stands in the message to the byte.
RULE_OF = {
    "libtpu-0.0.33/xent": "temporaries",
    "libtpu-0.0.33/args": "parameters",
    "libtpu-0.0.33/kv": "temporaries and parameters",
    "libtpu-0.0.33/i8": "temporaries",
    "libtpu-0.0.37/args": "parameters",
    "libtpu-0.0.42.1/outputs_wide": "all allocations",
    "libtpu-0.0.52/temps": "all allocations",
    "libtpu-0.0.52/code": "temporaries and parameters",
    "libtpu-0.0.33/attn_huge": "as printed",
    "libtpu-0.0.52/window": "as printed",
    "libtpu-0.0.33/smem": "as printed",
    "libtpu-0.0.33/pal": "allocations of the listing",
    "libtpu-0.0.33/internal_attn_v6e": "words of 64 bytes",
}


@pytest.mark.parametrize("name", RULE_OF)
def test_a_figure_is_the_sum_that_the_compiler_made(found, name: str):
    """The rule of its dialect, and the bytes of the dump print as the figure does."""
    figure = SAID[name][2]
    [one] = [one for one in found(name).figures if one.figure.name == figure]
    assert (RULE_OF[name], True) == (one.rule, one.is_reproduced)
    if one.rule not in ("as printed", "words of 64 bytes"):
        assert one.figure.printed == printed(one.size_bytes)


def test_the_report_in_the_log_proves_the_rule_to_the_byte(found):
    """libtpu 0.0.42.1 prints the bytes of all allocations in the log, constants and thread-local ones among them."""
    finding = found("libtpu-0.0.42.1/outputs_wide")
    [all_of_them] = [one for one in finding.figures if one.figure.name == REPORTED]
    assert (34_376_567_296, True) == (all_of_them.size_bytes, all_of_them.is_reproduced)
    assert finding.needed_bytes == all_of_them.size_bytes - finding.dump["thread_local"]


def test_two_programs_of_one_name_whose_figures_are_printed_alike_have_each_its_dump():
    """libtpu 0.0.52 names the module in its report, too, and the exact bytes there tell the two apart."""
    with in_memory([str(TWINS)]) as con:
        findings = explain(con, failures(TWINS / "stderr.txt"), dumps(con))
    sizes = {"module_0000": 18_897_438_208, "module_0002": 18_899_535_360}
    assert sizes == {one.dump["source_uri"].rpartition("/")[2][:11]: one.needed_bytes for one in findings}


def test_dumps_that_fit_as_well_have_a_message():
    """Without the report in the log the two are one message; neither is a program of which no message says anything."""
    with in_memory([str(TWINS)]) as con:
        twins = [{**one, "has_failed": True} for one in dumps(con)]
        said = (
            "RESOURCE_EXHAUSTED: E1000: CompileTimeHbmOom: Ran out of memory on HBM, the total memory required for HLO"
            " temporaries (17.60G) exceeds available HBM (15.75G). HLO module: jit_two_tables.\n"
        )
        [message] = read_messages(io.BytesIO(said.encode()))
        [finding] = explain(con, [message], twins)
        assert (None, 2, 2) == (finding.dump, len(twins), len(finding.several))
        assert [] == without_message([finding], twins)


def test_of_dumps_that_fit_as_well_the_one_of_the_log_is_taken(tmp_path: Path):
    """The one in whose run the log lies, or in the folder that it is named after; else all are named with theirs."""
    said = (
        "RESOURCE_EXHAUSTED: E1000: CompileTimeHbmOom: Ran out of memory on HBM, the total memory required for HLO"
        " temporaries (17.60G) exceeds available HBM (15.75G). HLO module: jit_two_tables.\n"
    )
    files = sorted(TWINS.glob("*-buffer-assignment.txt*"))
    assert 2 == len(files)
    jobs = tmp_path / "jobs"
    for folder, file in zip(("small", "small.big"), files, strict=True):
        (jobs / f"{folder}.dump").mkdir(parents=True)
        shutil.copy(file, jobs / f"{folder}.dump" / files[0].name)
    logs = {
        jobs / "small.stderr.txt": "small.dump, which the log is named after",
        jobs / "small.big.log": "small.big.dump, which the log is named after",
        jobs / "small.big.dump" / "train.log": "small.big.dump, in whose folder",
        jobs / "all.log": None,
        tmp_path / "small.log": None,
    }
    with in_memory([str(jobs)], with_logs=False) as con:
        for log, why in logs.items():
            messages = [*read_messages(io.BytesIO(said.encode()), str(log))]
            [finding] = explain(con, messages, dumps(con))
            if why is None:
                several = f"small.big.dump/{files[0].name}, small.dump/{files[0].name}"
                assert (None, f"2 dumps fit equally well: {several}") == (finding.dump, finding.reason)
                continue
            assert f"/{why.partition(',')[0]}/" in finding.dump["source_uri"]
            assert (True, None, finding.chosen) == (why in finding.chosen, finding.reason, record(finding)["chosen"])
            assert "Another dump fits as well; this one is " in oom_text(Explanation([finding]), "table")
        both = [one for log in list(logs)[:2] for one in read_messages(io.BytesIO(said.encode()), str(log))]
        [finding] = explain(con, both, dumps(con))
        assert (None, 2) == (finding.dump, len(finding.several))
        assert "\ndump not known: 2 dumps fit equally well:" in oom_text(Explanation([finding]), "table")
    # A third that fits as well is of no log that says so.
    (jobs / "third").mkdir()
    (jobs / "third" / files[0].name).write_bytes(files[0].read_bytes().replace(b"fusion", b"fused"))
    with in_memory([str(jobs)], with_logs=False) as con:
        [finding] = explain(con, both, dumps(con))
        assert (3, 2) == (len(dumps(con)), len(finding.several))


def test_of_several_dumps_the_one_is_taken_that_explains_the_message(con, held):
    """By its bytes, or by the instruction that is named."""
    names = [name for name in SAID if name not in ("libtpu-0.0.8/abort_rnn_t1", "libtpu-0.0.37/args")]
    several = held(*names)
    for name in names:
        [finding] = explain(con, failures(log(name)), several)
        assert finding.dump is not None, (name, finding.reason)
        assert str(log(name).parent) in finding.dump["source_uri"]


def test_a_dump_that_does_not_explain_a_message_is_not_taken(con, held):
    """Of two others none has such bytes; one other is shown with both numbers, and the figure is unknown."""
    [message], others = failures(log("libtpu-0.0.33/xent")), ("libtpu-0.0.33/kv", "libtpu-0.0.33/i8")
    [finding] = explain(con, [message], held(*others))
    assert (None, "none of the dumps there has bytes that sum to its figures") == (finding.dump, finding.reason)
    [finding] = explain(con, [message], held(others[0]))
    [used] = [one for one in finding.figures if one.figure.name == "used"]
    assert (None, None, False, 8_589_967_360) == (used.size_bytes, used.rule, used.is_reproduced, used.found_bytes)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("Out of memory allocating 30028825088 bytes.", "jit_similarities"),
        ("INTERNAL: Buffer Definition Event: Error preparing computation: Out of memory allocating 30028825088 bytes.",
         "jit_similarities"),
        ("Out of memory while trying to allocate 27.97GiB.", "jit_similarities"),
        ("Allocator (bfc) ran out of memory trying to allocate 128.00GiB (rounded to 137438953728)requested by op",
         "jit_attention"),
        ("Out of memory allocating 30028825089 bytes.",
         "none of the dumps there has an allocation of just 30028825089 bytes"),
        ("Out of memory while trying to allocate 27.96GiB.",
         "none of the dumps there has an allocation of just 27.96GiB"),
        ("Out of memory allocating 4294967296 bytes.", "2 dumps fit equally well: "),
        ("Attempting to reserve 13.48G at the bottom of memory. That was not possible. There are 12.84G free.",
         "none of the dumps there has an allocation of just 13.48G"),
    ],
)  # fmt: skip
def test_of_several_dumps_a_failure_at_run_time_is_of_the_one_with_its_allocation(
    con, everything, said: str, expected: str
):
    """It names neither program nor instruction: of none, or of several with that size, it is said."""
    messages = list(read_messages(io.BytesIO(f"RESOURCE_EXHAUSTED: {said}".encode())))
    [finding] = explain(con, messages, [{**one} for one in everything])
    told = finding.dump["program_name"] if finding.dump else finding.reason[: len(expected)]
    assert (expected, None) == (told, finding.doubt)


def test_what_else_lies_in_the_memory_of_a_gpu_is_no_part_of_space_0(tmp_path: Path):
    """The allocation that failed may lie in another memory space of the device: the bytes of the parts have it."""
    targets = {"sm_9.0_gpu_after": 500, "cpu_after": 1500, "cl_853872983.after": None}
    for target in targets:
        dump = f"module_0001.jit_f.{target}_optimizations-buffer-assignment.txt"
        (tmp_path / dump).write_bytes(colored([600, 300, 200, 1000], [0, 2, 7, 5]))
    said = b"RESOURCE_EXHAUSTED: Out of memory while trying to allocate 200 bytes.\n"
    with in_memory([str(tmp_path)]) as con:
        for dump in dumps(con):
            [finding] = explain(con, list(read_messages(io.BytesIO(said))), [dump])
            expected = targets.pop(dump["source_uri"].partition(".jit_f.")[2].partition("_optimizations")[0])
            assert (600, expected) == (finding.parts["temporaries"], finding.parts.get("other memory spaces"))
            shown = oom_text(Explanation([finding]), "table")
            assert (expected is not None) == ("Those of memory space 0 alone." in shown)
    assert {} == targets


def test_pinned_memory_of_the_host_takes_nothing_of_the_device(tmp_path: Path):
    """What lies in the memory of the device, and what would have to go there, has nothing to do with it."""
    slots = [Slot(0, 2, 0, size, number) for number, size in enumerate((600, 1000))]
    dump = tmp_path / "module_0001.jit_f.sm_9.0_gpu_after_optimizations-buffer-assignment.txt"
    dump.write_bytes(dump_text(slots, [", preallocated-temp", ", color 5, preallocated-temp"]))
    line = "Allocator (xla_gpu_host_bfc) ran out of memory trying to allocate 1000B (rounded to 1024)requested by op \n"
    (tmp_path / "train.log").write_text(f"2026-11-23 20:28:59.832181: W xla/bfc_allocator.cc:501] {line}")
    with in_memory([str(tmp_path)]) as con:
        [finding] = explain(con, failures(tmp_path / "train.log"), dumps(con))
    text, found = oom_text(Explanation([finding]), "table"), record(finding)
    assert "jit_f: 1.0 KiB do not fit into the memory that a GPU pins on its host.\n" in text
    assert (False, False) == ("device" in text, "Where the bytes go" in text)
    assert (str(dump), None, "host") == (found["dump"], found["doubt"], found["memory_space"])
    assert ({}, [], []) == (found["parts"], found["values"], found["advice"])


def allocator_said(in_use: int, block: int, limit: int = 3000) -> str:
    """What the allocator of a GPU says of its 1 KiB that does not fit."""
    return (
        "Allocator (GPU_0_bfc) ran out of memory trying to allocate 1.0KiB (rounded to 1024)requested by op \n"
        f"Limit:            {limit:>20}\nInUse:            {in_use:>20}\nMaxInUse:         {2900:>20}\n"
        f"NumAllocs:        {9:>20}\nLargestFreeBlock: {block:>20}\n\nRESOURCE_EXHAUSTED: Out of memory while trying "
        "to allocate 1.0KiB with allocator GPU_0_bfc on device 0. [executable_name='jit_f']\n"
    )


ALLOCATOR_OF_2000 = "Of 2.9 KiB that its allocator may take, 2.0 KiB were in use."
ALLOCATOR_OF_1900 = (
    "Of 2.9 KiB that its allocator may take, 1.9 KiB were in use; the largest free block was 700 B. "
    "The rest would be enough: it was in pieces, or other processes had it."
)


def test_what_the_allocator_of_a_gpu_had_is_told(tmp_path: Path):
    """From a log with its dump or a run of the warehouse, where `verify` proves it; the dump is the one it was."""
    run = tmp_path / "night"
    run.mkdir()
    dump = run / "module_0001.jit_f.sm_9.0_gpu_after_optimizations-buffer-assignment.txt"
    dump.write_bytes(dump_text([Slot(0, 2, 0, 1024, 0)], [", preallocated-temp"]))
    (run / "train.log").write_text(allocator_said(1900, 700))
    text = call("oom", run).out
    flat = " ".join(text.split())
    told = ("jit_f: 1.0KiB do not fit into device memory." in flat, f"{ALLOCATOR_OF_1900} dump: " in flat)
    assert (True, True) == told
    warehouse = tmp_path / "warehouse.duckdb"
    call("ingest", run, "--warehouse", warehouse)
    assert text == call("oom", "night", "--warehouse", warehouse).out
    assert 0 == call("verify", "--warehouse", warehouse).code
    [row] = rows(warehouse, "SELECT dialect, module_name, rank_count, capacity_bytes, over_bytes FROM marts.oom_v1")
    assert ("G2", "jit_f", 0, None, None) == row


def test_the_limit_of_the_allocator_of_a_gpu_says_whether_the_rest_was_enough(tmp_path: Path):
    """Without a free block of its own, of an allocation that is larger than all of it, and without any limit."""
    path = tmp_path / "train.log"

    def told(said: str) -> str:
        path.write_text(said)
        return " ".join(call("oom", path).out.split())

    said = allocator_said(2000, 0)
    assert ALLOCATOR_OF_2000 in told(said)
    assert "The allocation alone is larger." in told(said.replace("1024", "4194304").replace("1.0KiB", "4.00MiB"))
    unlimited = told(allocator_said(2000, 0, limit=0))
    assert "In its allocator, " in unlimited
    assert [False, False] == [words in unlimited for words in ("The allocation alone", "allocator_limit")]


def test_a_notebook_is_a_log(tmp_path: Path):
    """Its file has the traceback of a cell as texts of JSON, with colors."""
    error = "Out of memory while trying to allocate 1.95GiB. [executable_name='jit_f']"
    traceback = [
        "Traceback (most recent call last)",
        f"\x1b[31mJaxRuntimeError\x1b[39m: RESOURCE_EXHAUSTED: {error}",
    ]
    failed = {"output_type": "error", "ename": "JaxRuntimeError", "evalue": error, "traceback": traceback}
    notebook = {"cells": [{"cell_type": "code", "outputs": [failed], "source": ["f(x)"]}], "nbformat": 4}
    path = tmp_path / "train.ipynb"
    for indent in (None, 1):
        path.write_text(json.dumps(notebook, indent=indent))
        said = call("oom", path).out
        assert (True, True) == (
            "1 program did not fit" in said,
            "jit_f: 1.95GiB do not fit into device memory." in said,
        )


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("libtpu-0.0.33/attn_huge", "none of the dumps there has a value f32[4,16,16384,16384] of fusion.5"),
        ("libtpu-0.0.33/internal_attn_v6e", "none of the dumps there has a value f32[8,16,16384,16384]"),
        ("libtpu-0.0.8/abort_rnn_t1", "it names nothing that identifies one of the dumps there"),
    ],
)
def test_why_no_dump_is_taken_is_what_was_looked_for(con, held, name: str, reason: str):
    """Of two others none has the value; what was given up early says nothing to look for."""
    [finding] = explain(con, failures(log(name)), held("libtpu-0.0.33/kv", "libtpu-0.0.33/i8"))
    assert (None, reason) == (finding.dump, finding.reason)


def test_what_was_given_up_early_has_no_dump_and_an_unknown_figure():
    """The compiler estimated it before it assigned buffers."""
    [message] = failures(log("libtpu-0.0.8/abort_rnn_t1"))
    [finding] = explain(None, [message], [])
    assert (None, False) == (finding.dump, finding.figures[0].is_reproduced)
    assert "xla_dump_to" in finding.reason


@pytest.mark.corpus
@pytest.mark.soak
def test_every_failure_of_the_corpus_is_joined_and_reproduced(tmp_path):
    """89 of 91 have a dump, all of these their main figure; all figures that are reproduced print as they do."""
    if not CORPUS.exists():
        pytest.skip(f"{CORPUS.name} is not beside the checkout")
    counts: Counter[str] = Counter()
    with in_memory([str(unpacked(tmp_path))]) as con:
        everything = dumps(con)
        for path in sorted((tmp_path / "oom").glob("*/*.stderr.txt")):
            folder = str(path).replace(".stderr.txt", ".dump/")
            own = [one for one in everything if folder in one["source_uri"]]
            for finding in explain(con, failures(path), own):
                names = ("used", "allocation", "words", "exceeded")
                main = next(one for name in names for one in finding.figures if one.figure.name == name)
                counts += Counter(joined=finding.dump is not None, reproduced=main.is_reproduced, all=True)
    assert {"joined": 89, "reproduced": 89, "all": 91} == counts


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.dialects[0]} {rule.figure} {rule.name}")
def test_a_rule_never_gives_other_bytes_than_are_printed(rule):
    """With other bytes in the dump the figure is unknown, with what the rule gives."""
    message = next(
        message
        for path in (*map(log, RULE_OF), DONATED / "stderr.txt")
        for message in failures(path)
        if message.dialect in rule.dialects and rule.holds(message) and message.figure(rule.figure)
    )
    rng = random.Random(rule.name)
    for _ in range(50):
        parts = Parts(*(rng.randrange(1 << rng.randrange(1, 45)) for _ in Parts._fields))
        for one in reproduce(message, parts):
            if one.figure.name == rule.figure and one.rule == rule.name:
                assert one.figure.printed == printed(one.size_bytes)
                assert one.size_bytes == sum(getattr(parts, part) for part in rule.parts)


def test_outputs_placed_on_parameters_are_outputs():
    """What libtpu says that they share, too: 4 GiB of their own and 8 GiB in the place of a donated argument."""
    with in_memory([str(DONATED)]) as con:
        [finding] = explain(con, failures(DONATED / "stderr.txt"), dumps(con))
    found = {one.figure.name: (one.figure.printed, one.size_bytes, one.is_reproduced) for one in finding.figures}
    own, placed = (4 << 30) + 512, 8 << 30
    assert ("12.00G", own + placed, True) == found["output"]
    assert ("8.00G", placed, True) == found["shared_output"]


def test_the_values_are_those_of_the_peak(con, found):
    """The largest owners first, each with its source line; their bytes are those of the mart."""
    finding = found("libtpu-0.0.33/xent")
    assert ["fusion.2.remat", "fusion.25", "w.1"] == [one["instruction"] for one in finding.values[:3]]
    assert "/srv/train/train.py:183" == finding.values[0]["source"]
    assert all(one["worth_bytes"] <= one["size_bytes"] for one in finding.values)
    moments = Moments(read_space(con, finding.dump["dump_id"]))
    for one in finding.values[:3]:
        gone = moments.space.rows[one["value_id"]]
        assert one["worth_bytes"] == moments.line.peak - moments.without(gone)


def test_values_of_one_instruction_are_told_apart(found):
    """Two elements of one result stand under the names that `whatif --edit` takes, in text, JSON and advice."""
    finding = found("libtpu-0.0.42.1/outputs_wide")
    assert ["fusion.5{1}", "fusion.5{0}"] == [
        one["value_name"] for one in finding.values if one["instruction"] == "fusion.5"
    ]
    lines = oom_text(Explanation([finding]), "table").splitlines()
    assert ["fusion.5{1}", "fusion.5{0}"] == [line.split()[0] for line in lines if line.startswith("fusion.5")]
    assert [["fusion.2.remat", "fusion.25{1}"]] == [
        one["of"] for one in found("libtpu-0.0.33/xent").advice if one["kind"] == "rematerialization"
    ]


def test_one_command_answers(tmp_path):
    """Exit 1 where something did not fit; JSON with the keys that are promised, text with the verdict."""
    name = "libtpu-0.0.33/xent"
    said = call("oom", log(name), log(name).parent, "--format", "json")
    [finding] = [one for one in json.loads(said.out)["findings"] if one["is_failure"]]
    assert (1, "T1", "hbm", "jit_lm_head_loss") == (
        said.code, finding["dialect"], finding["memory_space"], finding["module"]
    )  # fmt: skip
    assert (16 << 30) - (258 << 20) == finding["capacity_bytes"]
    used = finding["figures"][0]
    assert ("used", "21.97G", 23_593_254_912, "temporaries", True) == (
        used["name"], used["printed"], used["bytes"], used["rule"], used["is_reproduced"]
    )  # fmt: skip
    text = call("oom", log(name).parent)
    assert (1, "jit_lm_head_loss: 22.0 GiB do not fit into HBM of 15.75G, 6.2 GiB too much.") == (
        text.code, text.out.splitlines()[2]
    )  # fmt: skip
    github = call("oom", log(name).parent, "--format", "github")
    assert github.out.startswith("::error file=/srv/train/train.py,line=183,title=bufferhouse oom::jit_lm_head_loss")


def test_what_fits_narrowly_is_no_failure():
    """Exit 0; its warning is shown, and named as what it is."""
    said = call("oom", log(FITS).parent)
    assert (0, "No failure for lack of memory was found") == (said.code, said.out.splitlines()[0])
    assert "it may fit all the same" in said.out


def test_arguments_over_the_limit_of_the_scheduler_are_told(tmp_path: Path):
    """Exit 0, as the compilation goes on; how much they take, and that the program may not fit while it runs."""
    (tmp_path / "log.txt").write_text(
        "E1122 18:08:24.828224   13881 gpu_hlo_schedule.cc:874] The byte size of input/output arguments (38654705664) "
        "exceeds the base limit (17179869184). This indicates an error in the calculation!\n"
    )
    said = call("oom", tmp_path / "log.txt")
    told = "its arguments and outputs alone take 36.0 GiB, over the compiler's 16.0 GiB; it may not fit when it runs."
    assert (0, f"a program: {told}") == (said.code, said.out.splitlines()[2])


def test_a_log_alone_says_what_it_can():
    """Without a dump: the message, and how to have one next time."""
    said = call("oom", log("libtpu-0.0.33/kv"))
    assert 1 == said.code
    assert "--xla_dump_to=DIR" in said.err
    assert "a program: 16.00G do not fit into HBM of 15.75G, 259.5 MiB too much." in said.out


def test_a_log_that_is_named_is_alone_explained(tmp_path):
    """The logs of other programs that lie beside the dumps are not read; each of these has its own, and is not silent.

    That they are there is told.
    """
    for name in ("xent", "kv"):
        shutil.copytree(log(f"libtpu-0.0.33/{name}").parent, tmp_path / name)
        [dump] = (tmp_path / name).glob("*-buffer-assignment.txt")
        stem = dump.name.partition(".after_optimizations")[0]
        (tmp_path / name / f"{stem}.oom_intermediate_module.txt").write_text("HloModule f\n")
    shutil.copy(tmp_path / "kv" / "stderr.txt", tmp_path / "kv.log")
    for named in (tmp_path / "kv" / "stderr.txt", tmp_path / "kv.log"):
        said = call("oom", named, tmp_path, "--format", "json")
        found = json.loads(said.out)
        failures = [one for one in found["findings"] if one["is_failure"]]
        assert (1, [str(named)], []) == (said.code, [one["log"] for one in failures], found["without_message"])
        assert [f"{tmp_path}/kv"] == [one["dump"].rpartition("/")[0] for one in failures]
        assert "bufferhouse: 2 other logs there not read, as a log is named\n" == said.err
    (tmp_path / "xent" / "stderr.txt").unlink()
    [silent] = json.loads(call("oom", named, tmp_path, "--format", "json").out)["without_message"]
    assert f"{tmp_path}/xent" == silent["dump"].rpartition("/")[0]


def test_standard_input_and_several_logs(tmp_path):
    """Two logs that say the same are one finding; - is standard input."""
    text = log("libtpu-0.0.33/kv").read_text()
    for rank in range(2):
        (tmp_path / f"{rank}.log").write_text("".join(f"[rank{rank}]: {line}\n" for line in text.splitlines()))
    said = call("oom", tmp_path / "0.log", tmp_path / "1.log", "--format", "json")
    [finding] = [one for one in json.loads(said.out)["findings"] if one["is_failure"]]
    assert ["[rank0]:", "[rank1]:"] == finding["ranks"]
    assert 1 == call("oom", "-", stdin=text).code
    assert (2, "") == (lambda one: (one.code, one.out))(call("oom", tmp_path / "none.log"))


def test_of_several_hosts_that_say_the_same_each_is_told(tmp_path):
    """One finding with the logs of all, and the dump beside the first of them."""
    for host in ("host-0", "host-1", "host-2"):
        shutil.copytree(log("libtpu-0.0.52/temps").parent, tmp_path / host)
    [finding] = json.loads(call("oom", tmp_path, "--format", "json").out)["findings"]
    logs = [str(tmp_path / host / "stderr.txt") for host in ("host-0", "host-1", "host-2")]
    assert logs == [finding["log"], *finding["other_logs"]]
    assert finding["dump"].startswith(f"{tmp_path}/host-0/")
    said = " ".join(call("oom", tmp_path).out.split())
    assert f"said in 2 other logs, too: {logs[1]}, {logs[2]}" in said


def test_a_dump_that_is_refused_is_not_passed_over(tmp_path):
    """Exit 1: what it holds is not known, so nobody says that all is well."""
    dump = sorted((CHECKOUT / "examples" / "fleet" / "jaxlib-0.9.0").glob("*-buffer-assignment.txt"))[0]
    (tmp_path / dump.name).write_bytes(dump.read_bytes()[:-100])
    said = call("oom", tmp_path)
    assert (1, True) == (said.code, dump.name in said.err)


def test_dumps_that_cannot_be_read_leave_it_open_whether_one_fitted(tmp_path):
    """Exit 1, and no sentence that all is well: of a refused dump, and of an archive that cannot be opened."""
    dump = sorted((CHECKOUT / "examples" / "fleet" / "jaxlib-0.9.0").glob("*-buffer-assignment.txt"))[0]
    (tmp_path / dump.name).write_bytes(dump.read_bytes()[:-100])
    (tmp_path / "cut.tar.gz").write_bytes(b"no archive")
    expected = "Whether a program did not fit is not known: dumps could not be read"
    for place in (tmp_path / dump.name, tmp_path / "cut.tar.gz"):
        said = call("oom", place)
        assert (1, expected, "1 path of dumps could not be read") == (said.code, *said.out.splitlines()[0:3:2])
        [told] = json.loads(call("oom", place, "--format", "json").out)["unread_dumps"]
        assert f"{place}:" == told[: len(str(place)) + 1]
        assert f"{place}:" in "".join(said.out.splitlines()[3:])
    said = call("oom", place, "--format", "github")
    assert (1, f"::error title=bufferhouse oom::{expected}") == (said.code, said.out.strip())


def test_a_run_tells_what_of_it_was_refused(tmp_path):
    """`oom RUN` ends with 1 as its directory does: of a refused dump, and of a line that nobody understands."""
    dump = sorted((CHECKOUT / "examples" / "fleet" / "jaxlib-0.9.0").glob("*-buffer-assignment.txt"))[0]
    warehouse = tmp_path / "warehouse.duckdb"
    for run, size, line in (
        ("cut", -100, ""),
        ("unknown", None, "RESOURCE_EXHAUSTED: Ran out of memory on HBM, for once."),
    ):
        (tmp_path / run).mkdir()
        (tmp_path / run / dump.name).write_bytes(dump.read_bytes()[:size])
        (tmp_path / run / "train.log").write_text(f"step 1\n{line}\n")
    call("ingest", tmp_path / "cut", tmp_path / "unknown", "--warehouse", warehouse)
    for run in ("cut", "unknown"):
        of_run = call("oom", "--run", run, "--warehouse", warehouse, "--format", "json")
        of_folder = call("oom", tmp_path / run, "--format", "json")
        assert (1, json.loads(of_folder.out)) == (of_run.code, json.loads(of_run.out))
        said = call("oom", "--run", run, "--warehouse", warehouse).out
        assert "Whether a program did not fit is not known: " == said[:44]


def test_a_dump_that_was_refused_is_there(tmp_path):
    """Nobody says that there is none, and a failure does not hide it."""
    name = "libtpu-0.0.33/kv"
    shutil.copytree(log(name).parent, tmp_path / "kv")
    [dump] = (tmp_path / "kv").glob("*-buffer-assignment.txt")
    dump.write_bytes(dump.read_bytes()[:-100])
    found = json.loads(call("oom", tmp_path / "kv", "--format", "json").out)
    reasons = [one["reason"] for one in found["findings"] if one["is_failure"]]
    assert ["none of the dumps there could be read"] == reasons
    assert [True] == [one.startswith(f"{dump}:") for one in found["unread_dumps"]]
    told = call("oom", tmp_path / "kv", "--format", "github").out.splitlines()
    assert "::error title=bufferhouse oom::1 path of dumps could not be read" == told[-1]


@pytest.fixture(scope="module")
def two_failures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse with the runs `kv` and `xent` of libtpu 0.0.33. To be read, never written."""
    warehouse = tmp_path_factory.mktemp("failures") / "warehouse.duckdb"
    call("ingest", *(log(f"libtpu-0.0.33/{name}").parent for name in ("kv", "xent")), "--warehouse", warehouse)
    return warehouse


def test_dumps_are_taken_from_a_run_of_the_warehouse(two_failures: Path):
    """--run instead of a directory; both together are refused."""
    name = "libtpu-0.0.33/kv"
    said = call("oom", log(name), "--run", "kv", "--warehouse", two_failures, "--format", "json")
    assert [True] == [one["dump"] is not None for one in json.loads(said.out)["findings"] if one["is_failure"]]
    assert 2 == call("oom", log(name), log(name).parent, "--run", "kv", "--warehouse", two_failures).code


def test_an_archive_of_dumps(tmp_path):
    """As for every other verb."""
    name = "libtpu-0.0.33/kv"
    with tarfile.open(tmp_path / "dumps.tar.gz", "w:gz") as archive:
        archive.add(log(name).parent, "dumps")
    said = call("oom", log(name), tmp_path / "dumps.tar.gz", "--format", "json")
    assert [True] == [one["dump"] is not None for one in json.loads(said.out)["findings"] if one["is_failure"]]


@pytest.mark.parametrize("ending", ["tar.gz", "zip"])
def test_an_archive_holds_logs_as_well(tmp_path, ending: str):
    """The dump and the log that lie in one archive are enough."""
    made = shutil.make_archive(
        str(tmp_path / "all"), {"tar.gz": "gztar", "zip": "zip"}[ending], FOLDER, "libtpu-0.0.33/kv"
    )
    [finding] = [one for one in json.loads(call("oom", made, "--format", "json").out)["findings"] if one["is_failure"]]
    assert made.endswith(ending)
    assert f"{made}!libtpu-0.0.33/kv/stderr.txt" == finding["log"]
    assert finding["dump"].startswith(f"{made}!libtpu-0.0.33/kv/module_0001.")


def test_that_no_dump_is_named_is_told_once(tmp_path: Path):
    """The way to dumps stands before the findings, once for all of them."""
    for number, name in enumerate(("libtpu-0.0.33/xent", "libtpu-0.0.33/kv")):
        shutil.copy(log(name), tmp_path / f"{number}.log")
    told = call("oom", *sorted(tmp_path.iterdir()))
    assert (1, 1, 0) == (told.code, told.err.count("XLA_FLAGS"), told.out.count("XLA_FLAGS"))
    assert 2 == told.out.count("no dump: none is named")


def test_a_run_of_the_warehouse_is_enough(two_failures: Path):
    """`oom RUN`: the messages that were ingested with it say what its log says; a word that is neither is refused."""
    name, warehouse = "libtpu-0.0.33/xent", two_failures
    of_log = json.loads(call("oom", log(name).parent, "--format", "json").out)
    of_run = call("oom", "xent", "--warehouse", warehouse, "--format", "json")
    assert (1, of_log["findings"]) == (of_run.code, json.loads(of_run.out)["findings"])
    assert of_run.out == call("oom", "--run", "xent", "--warehouse", warehouse, "--format", "json").out
    wrong = call("oom", "zent", "--warehouse", warehouse)
    assert (2, "") == (wrong.code, wrong.out)
    assert "'zent': no such file or directory, and as a run: there is no run 'zent'" in wrong.err
    mistyped = call("oom", "tarin.log", "--warehouse", warehouse)
    said = "bufferhouse: 'tarin.log': no such file or directory, and no run of the warehouse is called so; "
    assert (2, "", f"{said}bufferhouse runs ls lists the runs\n") == (mistyped.code, mistyped.out, mistyped.err)
    beside = call("oom", "tarin.log", log(name).parent, "--warehouse", warehouse)
    assert (2, "") == (beside.code, beside.out)
    assert "tarin.log: no such file or directory" in beside.err
    assert "no such file" not in call("oom", log(name), "--run", "zent", "--warehouse", warehouse).err
    nothing = call("oom")
    assert (2, True) == (nothing.code, "expected logs, directories of dumps, or a run" in nothing.err)


def test_a_run_without_a_warehouse_says_that_there_is_none(tmp_path: Path):
    """A word may be a run of a warehouse that is not there; a word that looks like a path is a path."""
    missing = tmp_path / "none.duckdb"
    said = "bufferhouse: monday: no such file or directory, and no run of a warehouse: there is no warehouse at"
    run, path = (call("oom", word, "--warehouse", missing) for word in ("monday", "monday.log"))
    assert (2, True) == (run.code, run.err.startswith(f"{said} {missing}"))
    assert (2, "bufferhouse: monday.log: no such file or directory\n") == (path.code, path.err)


def test_the_page_holds_the_findings(tmp_path):
    """Verdict, figures, bars and values; with --html standard output has one line. What is hostile stays text."""
    page = tmp_path / "oom.html"
    said = call("oom", log("libtpu-0.0.33/xent").parent, "--html", page)
    assert (1, f"report: {page}\n") == (said.code, said.out)
    text = page.read_text()
    assert "jit_lm_head_loss: 22.0 GiB do not fit into HBM of 15.75G, 6.2 GiB too much." in text
    assert text.count("<table") == 4
    hostile = log("libtpu-0.0.33/xent").read_text().replace("fusion.2.remat", "<script>alert(1)</script>")
    (tmp_path / "hostile.log").write_text(hostile)
    call("oom", tmp_path / "hostile.log", "--html", page)
    assert "<script>alert" not in page.read_text()


def test_the_page_says_in_the_order_of_the_text_what_is_about_no_finding():
    """Lines that nobody understands, programs without a message, dumps that could not be read."""
    silent = {"program_name": "jit_step", "module_name": "jit_step", "source_uri": "/dumps/step"}
    refused = Refused(1, 1, "a message", "none", "train.log")
    found = Explanation([], [refused], [silent], ["/dumps/unread: expected text, found none"])
    for said in (oom_text(found, "table"), oom_page(found, warehouse="no dumps")):
        places = [said.rindex(words) for words in ("not understood", "did not fit, as files", "of dumps could not be")]
        assert sorted(places) == places


@pytest.mark.parametrize("suffix", ["gz", "xz", "zst"])
def test_a_compressed_log_that_is_damaged_is_named(tmp_path, suffix: str):
    """A wrong call, with the file and what is wrong with it; no traceback."""
    path = tmp_path / f"train.log.{suffix}"
    path.write_bytes(gzip.compress(log("libtpu-0.0.33/kv").read_bytes())[:2000] if suffix == "gz" else b"\x00" * 3000)
    said = call("oom", path)
    assert (2, "") == (said.code, said.out)
    assert f"{path}: expected compressed data that is whole, found: " in said.err


@pytest.mark.parametrize("is_in_folder", [False, True])
def test_what_a_cut_log_says_before_its_end_counts(tmp_path, is_in_folder: bool):
    """A process that was killed leaves compressed data without its end: the message is told, and so is the cut."""
    path = tmp_path / "train.log.gz"
    path.write_bytes(gzip.compress(log("libtpu-0.0.33/kv").read_bytes())[:-60])
    said = call("oom", tmp_path if is_in_folder else path, "--format", "json")
    found = json.loads(said.out)
    [failure] = [one for one in found["findings"] if one["is_failure"]]
    assert (1, "T1", 133) == (said.code, failure["dialect"], failure["line"])
    assert ["compressed data that is whole"] == [one["expected"] for one in found["refused"]]


def test_a_log_in_a_folder_may_begin_with_zeros(tmp_path):
    """One that was cut while its writer held it open does."""
    (tmp_path / "train.log").write_bytes(bytes(5000) + log("libtpu-0.0.33/kv").read_bytes())
    assert 1 == call("oom", tmp_path).code


def test_a_log_in_a_folder_may_have_zeros_further_on(tmp_path):
    """Its beginning alone says whether it is text."""
    (tmp_path / "train.log").write_bytes(b"step\n" * 2000 + b"\0\n" + log("libtpu-0.0.33/kv").read_bytes())
    assert 1 == call("oom", tmp_path).code


def test_a_log_in_a_folder_may_be_of_utf_16(tmp_path):
    """As PowerShell redirects it; half of its bytes are zeros, as if it were no text."""
    (tmp_path / "train.log").write_text(log("libtpu-0.0.33/kv").read_text(), "utf-16")
    assert [1, 1] == [call("oom", place).code for place in (tmp_path, tmp_path / "train.log")]


@pytest.mark.parametrize(
    ("compress", "expected"),
    [
        (gzip.compress, "gzip data; name it ….gz"), (zstandard.compress, "zstd data; name it ….zst"),
        (lzma.compress, "xz data; name it ….xz"), (bz2.compress, "bzip2 data; decompress it first"),
    ],
)  # fmt: skip
def test_a_log_whose_name_hides_that_it_is_compressed_is_refused(tmp_path, compress, expected: str):
    """Without its text no message is found, which is no sign that there is none."""
    (tmp_path / "train.log").write_bytes(compress(log("libtpu-0.0.33/kv").read_bytes()))
    said, among_others = call("oom", tmp_path / "train.log"), call("oom", tmp_path)
    assert [2, 1] == [said.code, among_others.code]
    for text in (said.err, among_others.out):
        assert " ".join(text.split()).endswith(f"train.log: expected a log as text, found: {expected}")


@pytest.mark.parametrize("ending", ["gz", "zst", "XZ"])
def test_a_plain_log_that_is_called_compressed_is_told(tmp_path, ending: str):
    """As a browser saves one; it was told in the words of the library that decompresses it."""
    path = tmp_path / f"train.log.{ending}"
    path.write_bytes(log("libtpu-0.0.33/kv").read_bytes())
    expected = f"text that is not compressed; name it without .{ending.lower()}"
    said, among_others = call("oom", path), call("oom", tmp_path)
    assert [2, 1] == [said.code, among_others.code]
    for text in (said.err, among_others.out):
        assert " ".join(text.split()).endswith(f"{path}: expected a log that can be read, found: {expected}")


def test_a_log_that_cannot_be_read_hides_no_other(tmp_path):
    """In a folder, or named beside others: the failures of all the others are told, and it is named."""
    (tmp_path / "train.log").write_bytes(log("libtpu-0.0.33/kv").read_bytes())
    for damaged, content in (("a.log.gz", b"\x1f\x8b\x08 and no more"), ("b.log.zst", bytes(3000))):
        path = tmp_path / damaged
        path.write_bytes(content)
        for places in ([tmp_path], [path, tmp_path / "train.log"]):
            said = call("oom", *places)
            assert (1, "1 program did not fit") == (said.code, said.out.splitlines()[0])
            expected = f"1 log could not be read {path}: expected compressed data that is whole, found: "
            assert expected in " ".join(said.out.split())
            found = json.loads(call("oom", *places, "--format", "json").out)
            assert ["T1"] == [one["dialect"] for one in found["findings"] if one["is_failure"]]
            assert [(str(path), None)] == [(one["log"], one["line"]) for one in found["refused"]]
        path.unlink()


def test_a_log_that_is_no_text_is_refused_where_nothing_is_found_in_it(tmp_path):
    """Then nobody says that there is nothing; one that names a failure is read, whatever it begins with."""
    path = tmp_path / "train.log"
    path.write_bytes(b"\x7fELF" + bytes(range(256)))
    said = call("oom", path)
    assert (2, f"{path}: expected a log as text, found: bytes that no text has\n") == (said.code, said.err[13:])
    path.write_bytes(b"step\0\n" + log("libtpu-0.0.33/kv").read_bytes())
    assert 1 == call("oom", path).code


def test_where_there_is_no_log_it_is_said(tmp_path):
    """Nothing was found in nothing."""
    (tmp_path / "train").write_bytes(log("libtpu-0.0.33/kv").read_bytes())
    said = call("oom", tmp_path)
    assert (0, True) == (said.code, "no log was named, and no file there has the name of a log" in said.err)
    warehouse = tmp_path / "warehouse.duckdb"
    call("ingest", log(FITS).parent, "--exclude", "*stderr.txt", "--warehouse", warehouse, "--run", "my run")
    said = call("oom", "my run", "--warehouse", warehouse)
    assert (0, True) == (said.code, "no log was ingested with the run my run; to name one: " in said.err)
    assert said.err.rstrip().endswith("bufferhouse oom LOG --run 'my run'")


@pytest.mark.parametrize(("is_told", "code"), [(False, 1), (True, 0)])
def test_a_log_that_says_nothing_does_not_hide_what_did_not_fit_in_the_run(tmp_path, is_told: bool, code: int):
    """Files beside its dump say so; where its own logs tell of it, the log that is named is about something else."""
    name, warehouse = "libtpu-0.0.33/xent", tmp_path / "warehouse.duckdb"
    beside = tmp_path / "run"
    shutil.copytree(log(name).parent, beside)
    [dump] = beside.glob("*-buffer-assignment.txt")
    stem = dump.name.partition(".after_optimizations")[0]
    (beside / f"{stem}.oom_intermediate_module.txt").write_text("HloModule f\n")
    if not is_told:
        (beside / "stderr.txt").unlink()
    call("ingest", beside, "--warehouse", warehouse)
    (tmp_path / "other.log").write_text("step 1\n")
    words = ("--warehouse", warehouse, "--format", "json")
    said = call("oom", tmp_path / "other.log", "--run", "run", *words)
    assert (code, not is_told) == (said.code, bool(json.loads(said.out)["without_message"]))
    assert 2 == call("oom", tmp_path / "other.log", "--run", "none", *words).code


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("libtpu-0.0.33/xent", (16 << 30) - (258 << 20)),
        ("libtpu-0.0.42.1/outputs_wide", (16 << 30) - (258 << 20)),
        ("libtpu-0.0.52/temps", (16 << 30) - (258 << 20)),
    ],
)
def test_a_capacity_is_known_to_the_byte(found, name: str, expected: int):
    """By what is printed as reserved; without that, by the one chip of which the compiler prints so."""
    [capacity] = [one for one in found(name).figures if one.figure.name == "capacity"]
    assert (expected, True) == (capacity.size_bytes, capacity.is_reproduced)


@pytest.mark.parametrize("chip", ["v2", "v3", "v4", "v5e", "v5p", "v6e", "v7x"])
def test_a_message_gives_a_chip_what_fits_gives_it(chip: str):
    """Two tables say it: by what a message of the newest compiler prints, and by the names of chips."""
    capacity = CHIPS[chip].capacity_bytes
    text = log("libtpu-0.0.52/temps").read_text().replace("(15.75G)", f"({printed(capacity)})")
    [message] = [one for one in read_messages(io.BytesIO(text.encode())) if one.is_failure]
    assert capacity == capacity_bytes(message)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("31.25G", (63 << 29) - (260 << 20)), ("31.24G", (63 << 29) - (264 << 20)),
        ("95.74G", (96 << 30) - (263 << 20)), ("95.73G", (96 << 30) - (279 << 20)),
        ("94.75G", (95 << 30) - (260 << 20)), ("94.74G", (95 << 30) - (268 << 20)),
    ],
)  # fmt: skip
def test_a_capacity_is_known_whatever_the_form_of_the_sentence(text: str, expected: int):
    """libtpu 0.0.45 keeps as much of a chip as 0.0.52 does, and writes its sentences as 0.0.42.1 does."""
    said = log("libtpu-0.0.42.1/outputs_wide").read_text().replace("15.75G", text)
    [message] = [one for one in read_messages(io.BytesIO(said.encode())) if one.is_failure]
    assert ("T3", expected) == (message.dialect, capacity_bytes(message))


def test_a_v4_keeps_more_than_is_printed():
    """Its 16.75G are known to 5 MiB; by how much 16,374,530,048 bytes of arguments are too much tells what they are."""
    said = """RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space hbm. Used 15.25G \
of 15.25G hbm. Exceeded hbm capacity by 1.47M.

Total hbm usage >= 32.00G:
    reserved         16.75G
    program         unknown size
    arguments        15.25G

Output size 4.0K; shares 0B with arguments.

Program hbm requirement 0B:

"""
    [message] = read_messages(io.BytesIO(said.encode()))
    figures = reproduce(message, Parts(16_374_530_048, 0, 4096, 0, 512, 1024))
    assert {
        "used": (16_374_530_048, "parameters"),
        "capacity": ((61 << 28) - (3 << 19), "of the device"),
        "exceeded": (1_540_096, "used without the capacity"),
        "reserved": ((67 << 28) + (3 << 19), "of the device"),
    } == {
        one.figure.name: (one.size_bytes, one.rule)
        for one in figures
        if one.figure.name in ("used", "capacity", "exceeded", "reserved")
    }


def test_a_capacity_of_no_known_chip_has_no_bytes():
    """A flag may set any: what is printed may stand for several."""
    text = log("libtpu-0.0.42.1/outputs_wide").read_text().replace("15.75G", "15.74G")
    [message] = [one for one in read_messages(io.BytesIO(text.encode())) if one.is_failure]
    [capacity] = [one for one in explain(None, [message], [])[0].figures if one.figure.name == "capacity"]
    assert (None, False) == (capacity.size_bytes, capacity.is_reproduced)


def test_what_is_too_much_is_what_is_printed_where_only_the_code_does_not_fit(found):
    """What the dump needs would fit: by how much its code, which is not in the dump, is too much, the message says."""
    finding = found("libtpu-0.0.52/code")
    assert finding.needed_bytes < finding.capacity_bytes
    assert 12_800 == finding.over_bytes
    finding = found("libtpu-0.0.33/kv")
    assert finding.needed_bytes - finding.capacity_bytes == finding.over_bytes


def test_what_is_too_much_is_as_printed_where_the_capacity_is_rounded(con, held):
    """A limit of somebody's own is known to 5 MiB: where the message says what is too much, that counts."""
    text = log("libtpu-0.0.33/xent").read_text().replace("15.75G", "15.73G").replace("by 6.22G", "by 6.24G")
    [message] = [one for one in read_messages(io.BytesIO(text.encode())) if one.is_failure]
    [finding] = explain(con, [message], held("libtpu-0.0.33/xent"))
    assert (23_593_254_912, nominal("6.24G")) == (finding.needed_bytes, finding.over_bytes)


@pytest.mark.parametrize(("capacity", "is_estimate"), [("15.75G", False), ("15.73G", True)])
def test_what_is_too_much_is_an_estimate_where_nothing_says_it(con, held, capacity: str, is_estimate: bool):
    """A sentence of a later release does not print it, and a limit of somebody's own is known to 5 MiB."""
    text = log("libtpu-0.0.42.1/outputs_wide").read_text().replace("15.75G", capacity)
    text = text.replace("by 16.27G", "by 16.29G") if is_estimate else text  # what the report in the log says
    [message] = [one for one in read_messages(io.BytesIO(text.encode())) if one.is_failure]
    [finding] = explain(con, [message], held("libtpu-0.0.42.1/outputs_wide"))
    assert (is_estimate, is_estimate) == (finding.is_over_estimate, record(finding)["is_over_estimate"])
    said = oom_text(Explanation([finding]), "table").splitlines()[2]
    assert said.endswith(f"HBM of {capacity}, {'about ' if is_estimate else ''}16.3 GiB too much.")


def test_what_the_program_takes_itself_speaks_against_no_dump(con, held):
    """Its global memory is in the main figure and in no dump: the temporaries tell the dump, of several, too."""
    text = with_global(log("libtpu-0.0.33/xent").read_text())
    [message] = [one for one in read_messages(io.BytesIO(text.encode())) if one.is_failure]
    for names in (["libtpu-0.0.33/xent"], ["libtpu-0.0.33/xent", "libtpu-0.0.33/kv"]):
        [finding] = explain(con, [message], held(*names))
        assert ("jit_lm_head_loss", None) == (finding.dump["program_name"], finding.doubt)
        assert (None, 23_593_239_040) == (finding.needed_bytes, finding.parts["temporaries"])
    assert "which is in no dump: global 260.02M." in oom_text(Explanation([finding]), "table")
    [finding] = explain(con, [message], held("libtpu-0.0.33/kv"))
    assert "its bytes are not the sum of what was used" == finding.doubt


@pytest.mark.parametrize("is_beside", [False, True])
def test_a_dump_of_the_module_with_other_sizes_is_doubted(con, held, is_beside: bool):
    """A step that fitted yesterday has the name of the one that fails; a file beside it would say that it failed."""
    text = log("libtpu-0.0.52/temps").read_text().replace("28.15G", "36.15G")
    [message] = [one for one in read_messages(io.BytesIO(text.encode())) if one.is_failure]
    [dump] = held("libtpu-0.0.52/temps")
    assert dump["module_name"] == message.module
    dump = {**dump, "has_failed": is_beside}
    [finding] = explain(con, [message], [dump])
    said = "its bytes are not the sum of what was used, and no file beside it says that it failed"
    assert (None if is_beside else said, is_beside) == (finding.doubt, bool(finding.values))
    assert [] == [one for one in without_message([finding], [dump]) if not is_beside]


def test_of_two_failures_of_one_module_each_has_its_own_dump_or_none(con, held):
    """The step failed, was made smaller and failed again: the dump of one of them explains nothing of the other."""
    text = log("libtpu-0.0.52/temps").read_text()
    both = io.BytesIO(f"{text}\n{text.replace('28.15G', '36.15G')}".encode())
    [dump] = held("libtpu-0.0.52/temps")
    messages = [one for one in read_messages(both) if one.is_failure]
    found = explain(con, messages, [{**dump, "has_failed": True}])
    said = "its bytes are not the sum of what was used, but the sum of what another message says"
    assert [None, said] == [one.doubt for one in found]
    assert [True, False] == [bool(one.values) for one in found]
    # A kernel that failed before says what it takes itself, and nothing of the sums of the dump.
    found = explain(con, [*failures(log("libtpu-0.0.33/pal")), messages[1]], [{**dump, "has_failed": True}])
    assert (["T6", "T3b"], None) == ([one.message.dialect for one in found], found[1].doubt)


def test_without_live_ranges_it_is_said_that_no_peak_is_known(tmp_path):
    """Its sums are those of the message all the same; values and what could change them are missing for a reason."""
    shutil.copytree(log("libtpu-0.0.52/temps").parent, tmp_path / "temps")
    [ranges] = (tmp_path / "temps").glob("*-live-range.txt")
    ranges.unlink()
    for place, is_known in ((log("libtpu-0.0.52/temps").parent, True), (tmp_path / "temps", False)):
        said = " ".join(call("oom", place).out.split())
        assert (is_known, is_known) == ("Values at the peak" in said, "Padding and fragmentation are included" in said)
        assert (not is_known) == ("The dump has no live ranges: which values are alive at the peak" in said)


def test_another_figure_of_fragmentation_is_told_beside_ours(found):
    """The message counts it otherwise, and both are called so: who compares them finds both."""
    finding = found("libtpu-0.0.33/xent")
    said = " ".join(oom_text(Explanation([finding]), "table").split())
    assert (146_432, True) == (finding.parts["fragmentation"], "by a rule of its own: 155.0K." in said)


@pytest.mark.parametrize(
    ("said", "doubt"),
    [
        ("allocate 5 bytes.", "it has no allocation of 5 bytes"),
        ("allocate 1.25GiB.", "it has no allocation of 1.25GiB"),
        ("allocate 8589934592 bytes.", None),
        ("allocate 8.00GiB.", None),
        ("allocate 5.00GiB. [executable_name='jit_decode_step']", None),
    ],
)
def test_a_dump_without_an_allocation_of_the_size_is_doubted(con, held, said: str, doubt: str | None):
    """What fails while it runs may be of any program, or of none: the only dump there is not taken for its own."""
    data = io.BytesIO(f"RESOURCE_EXHAUSTED: Out of memory while trying to {said}".encode())
    [finding] = explain(con, list(read_messages(data)), held("libtpu-0.0.33/kv"))
    assert (doubt, doubt is None) == (finding.doubt, bool(finding.values))
    # A dump of the module is taken, at whatever sizes, and that is said.
    is_lacking = "5.00GiB" in said
    assert is_lacking == ("The dump has no allocation of 5.00GiB" in oom_text(Explanation([finding]), "table"))
    assert ("5.00GiB" if is_lacking else None) == record(finding)["lacks"]


@pytest.mark.parametrize(("size", "doubt"), [("8.00G", None), ("2.00G", "it has no allocation of 2.00G")])
def test_a_failure_of_a_tpu_while_it_runs_is_about_an_allocation(con, held, size: str, doubt: str | None):
    """So of several dumps about the one that has it; and it is said what was free."""
    data = f"RESOURCE_EXHAUSTED: Attempting to allocate {size}. That was not possible. There are 3.12G free."
    messages = list(read_messages(io.BytesIO(data.encode())))
    [finding] = explain(con, messages, held("libtpu-0.0.33/kv"))
    assert (doubt, True) == (finding.doubt, "Free was 3.12G." in oom_text(Explanation([finding]), "table"))
    [among] = explain(con, messages, held("libtpu-0.0.33/kv", "libtpu-0.0.33/xent"))
    assert (finding.dump if doubt is None else None) == among.dump


def test_how_many_there_are_is_told_where_the_first_are_shown(con, held, found):
    """Of values at the peak, of the values that a change is about, of what a kernel lists, and of ranks."""
    told = record(found("libtpu-0.0.33/xent"))
    assert (12, 10) == (told["value_count"], len(told["values"]))
    assert {"rematerialization": 2, "dtype": 1, "sharding": 0, "donation": 2} == {
        one["kind"]: one["of_count"] for one in told["advice"]
    }
    [kernel] = failures(log("libtpu-0.0.33/pal"))
    kernel.allocations *= 6
    kernel.ranks = [f"[rank{number}]:" for number in range(9)]
    [finding] = explain(con, [kernel], held("libtpu-0.0.33/pal"))
    said = " ".join(oom_text(Explanation([finding]), "table").split())
    assert (12, 10) == (record(finding)["value_count"], len(finding.values))
    assert "Of its 12 allocations the first 10 are shown." in said
    assert "said by 9 ranks: [rank0]:, " in said
    assert "[rank7]: and 1 more" in said


def test_without_a_dump_the_message_is_told(tmp_path):
    """All figures as they are printed, and the allocations that it lists, each with its bytes."""
    path = log("libtpu-0.0.33/xent")
    [finding] = explain(None, failures(path), [])
    said = oom_text(Explanation([finding]), "table")
    assert ["as printed"] == [line.split("  ")[-1].strip() for line in said.splitlines() if line.startswith("used ")]
    assert [nominal(one.size) for one in finding.message.allocations][:10] == [one["bytes"] for one in finding.values]
    assert "Allocations that the message lists\n" in said


def test_all_lines_that_are_not_understood_are_counted(tmp_path):
    """Those behind the first hundred come as one, and yet their number is told: of the log, and of its run."""
    lines = [f"RESOURCE_EXHAUSTED: Ran out of memory on HBM, for {number}.\n" for number in range(300)]
    (tmp_path / "night").mkdir()
    (tmp_path / "night" / "train.log").write_text("".join(lines))
    write_dumps(tmp_path / "night" / "dumps", [1])
    warehouse = tmp_path / "warehouse.duckdb"
    call("ingest", tmp_path / "night", "--run", "night", "--warehouse", warehouse)
    of_run = ["--run", "night", "--warehouse", warehouse]
    for place in ([tmp_path / "night" / "train.log"], of_run):
        assert "300 lines not understood" in call("oom", *place).out
        refused = json.loads(call("oom", *place, "--format", "json").out)["refused"]
        assert (101, 200) == (len(refused), max(one["count"] for one in refused))


def test_a_line_that_is_not_understood_is_an_annotation(tmp_path):
    """It ends the command with 1, and a workflow shows why."""
    path = tmp_path / "train.log"
    path.write_text("RESOURCE_EXHAUSTED: Ran out of memory on HBM, for once.\n")
    said = call("oom", path, "--format", "github")
    expected = (
        f"::error title=bufferhouse oom::{path}:1:21: expected a message that is known, whole in its line, found "
    )
    assert (1, True) == (said.code, said.out.startswith(expected))


def test_the_longest_bar_keeps_its_line():
    """A part of twice the capacity and more, on a page and in a terminal of 80, behind the longest cells there are."""
    bar = _bar(5, 1)
    before = f"{'fragmentation'}  {'1023.9 MiB'}  "
    assert len(bar) <= min(_PARTS[-1].limit, 80 - len(before))
