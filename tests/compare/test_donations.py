"""Donations: what a program offers, what the dump shows as taken, and those that are lost from one run to the next."""

import json
import re
import shutil
from collections import Counter

import pytest

from tests.command_line import CHECKOUT, call
from tests.ingests import ingest
from tests.warehouses import rows

SGD = CHECKOUT / "tests" / "data" / "sgd"
STEM = "module_0010.jit_step.cpu_after_optimizations"
LOST = """
    SELECT run_name, parameter_number, parameter_shape_index, size_bytes, reason
    FROM marts.donations_v1 JOIN marts.runs USING (run_id) WHERE is_requested AND NOT is_taken ORDER BY ALL
"""


def taken_of(run: str) -> dict[int, int]:
    """The parameters on which outputs are placed, with their bytes, by the lines of the dump alone."""
    text = (SGD / run / f"{STEM}-buffer-assignment.txt").read_text()
    lines = re.findall(r"^allocation \d+: .*size (\d+).*parameter (\d+), .*maybe-live-out", text, re.M)
    return {int(number): int(size) for size, number in lines}


def test_donations_that_are_lost_are_a_finding_of_compare(tmp_path, warehouse):
    """All 18 of an SGD step, the largest first, as the lines of both dumps say; in text and on the page, too."""
    page = tmp_path / "page.html"
    assert 0 == ingest(warehouse, SGD)[0]
    before, after = taken_of("donated"), taken_of("plain")
    expected = sorted((number, size) for number, size in before.items() if number not in after)
    told = json.loads(call("compare", "donated", "plain", "--warehouse", warehouse, "--format", "json").out)
    lost = told["lost_donations"]
    assert (18, expected) == (len(lost), sorted((int(one["parameter"]), one["bytes"]) for one in lost))
    assert sorted((one["bytes"] for one in lost), reverse=True) == [one["bytes"] for one in lost]
    assert {(None, "jit_step", 0)} == {(one["reason"], one["program"], one["memory_space"]) for one in lost}
    outcome = call("compare", "donated", "plain", "--warehouse", warehouse, "--html", page)
    assert (0, True) == (outcome.code, "Donations taken before and not now" in page.read_text())
    other = json.loads(call("compare", "plain", "donated", "--warehouse", warehouse, "--format", "json").out)
    assert [] == other["lost_donations"]


def test_only_donations_of_the_memory_space_that_is_asked_for_are_lost(tmp_path, warehouse):
    """The arguments that lie elsewhere are no part of what is compared."""
    dumps = shutil.copytree(SGD, tmp_path / "dumps")
    for run in ("donated", "plain"):
        file = dumps / run / f"{STEM}-buffer-assignment.txt"
        file.write_text(
            re.sub("(?m)^(allocation .*)(, constant|, preallocated-temp):$", r"\1, color 1\2:", file.read_text())
        )
    assert 0 == ingest(warehouse, dumps)[0]
    for space, count in ((0, 18), (1, 0)):
        words = ("--warehouse", warehouse, "--memory-space", space, "--format", "json")
        told = json.loads(call("compare", "donated", "plain", *words).out)
        spaces = {one["memory_space"] for one in told["programs"]}
        assert ({space}, count) == (spaces, len(told["lost_donations"]))


def test_programs_of_equal_dumps_lose_their_own_donations(tmp_path, warehouse):
    """A step that lies beside itself under another name loses as many donations as it does under its own."""
    folder = shutil.copytree(SGD, tmp_path / "dumps")
    for file in folder.glob("*/*.jit_step.*"):
        shutil.copy(file, file.with_name(file.name.replace("jit_step", "jit_other")))
    assert 0 == ingest(warehouse, folder)[0]
    told = json.loads(call("compare", "donated", "plain", "--warehouse", warehouse, "--format", "json").out)
    assert {"jit_other": 18, "jit_step": 18} == Counter(one["program"] for one in told["lost_donations"])


@pytest.fixture
def variants(tmp_path):
    """The step beside another dump of it, which is the same in both runs; the runs have different flags."""
    found = shutil.copytree(SGD, tmp_path / "dumps")
    for file in (SGD / "plain").iterdir():
        text = file.read_bytes().replace(b"source_line=1", b"source_line=2")
        for run in ("donated", "plain"):
            (found / run / file.name.replace("_0010", "_0011")).write_bytes(text)
    for run, level in (("donated", 1), ("plain", 2)):
        for number in (10, 11):
            options = found / run / f"module_00{number}.jit_step.debug_options"
            options.write_text(f"xla_backend_optimization_level: {level}\n")
    return found


def test_a_donation_is_lost_by_the_pair_of_dumps_that_lost_it(variants):
    """Not by another dump of the program, which did not change; the program is called as it is."""
    told = json.loads(call("compare", "donated", "plain", "--from", variants, "--format", "json").out)
    statuses = {one["program_label"]: one["status"] for one in told["programs"]}
    assert {"jit_step": "changed", "jit_step (2)": "unchanged"} == statuses
    assert {"jit_step": 18} == Counter(one["program"] for one in told["lost_donations"])
    assert [["jit_step"]] == [one["programs"] for one in told["flags"]]


@pytest.fixture
def folder(tmp_path):
    """The step compiled with donation and without, each beside a module text that offers parameters 0 and 1."""
    found = shutil.copytree(SGD, tmp_path / "dumps")
    for run, offer in (("donated", "input_output_alias={ {0}: (0, {}, may-alias), {1}: (1, {}, may-alias) }"),
                       ("plain", "buffer_donor={ (0, {}), (1, {}) }")):  # fmt: skip
        head = f"HloModule jit_step, is_scheduled=true, {offer}, entry_computation_layout={{()->()}}\n\nENTRY m {{\n"
        (found / run / f"{STEM}.txt").write_text(head)
    return found


def test_why_a_donation_was_lost_is_said(warehouse, folder):
    """What the module text offers is requested; the other parameters are not, and `compare` knows the reason."""
    assert (0, {}) == ((one := ingest(warehouse, folder))[0], one[1]["warnings"])
    counts = rows(
        warehouse,
        "SELECT run_name, COUNT(*) FILTER (WHERE is_requested), COUNT(*) FILTER (WHERE is_taken),"
        " COUNT(*) FILTER (WHERE is_possible) FROM marts.donations_v1 JOIN marts.runs USING (run_id) GROUP BY ALL"
        " ORDER BY ALL",
    )
    assert [("donated", 2, 18, 18), ("plain", 2, 0, 18)] == counts
    reasons = {"not placed, though it could be", "it is used after the output is born"}
    lost = rows(warehouse, LOST)
    assert [("plain", 0), ("plain", 1)] == [row[:2] for row in lost]
    assert reasons >= {row[-1] for row in lost}
    told = json.loads(call("compare", "donated", "plain", "--warehouse", warehouse, "--format", "json").out)
    by_parameter = {one["parameter"]: one["reason"] for one in told["lost_donations"]}
    assert {"0": lost[0][-1], "1": lost[1][-1]} == {number: by_parameter[number] for number in ("0", "1")}
    assert {"the program does not offer it any more"} == {
        by_parameter[number] for number in by_parameter.keys() - {"0", "1"}
    }
    assert 0 == call("verify", "--warehouse", warehouse).code


def test_a_damaged_offer_is_named_and_stops_no_dump(warehouse, folder):
    """The dump loads without it; the fault stands with the observation."""
    text = folder / "plain" / f"{STEM}.txt"
    text.write_text(text.read_text().replace("(1, {})", "(1, {"))
    _, summary = ingest(warehouse, folder)
    assert (2, {"stack_frames_readable": 1}) == (summary["new"], summary["warnings"])
    [(fault,)] = rows(warehouse, "SELECT stack_frames_fault FROM raw.observations WHERE stack_frames_fault IS NOT NULL")
    assert fault.startswith("1:64: expected an entry of buffer_donor such as (1, {}), found")
    assert [] == rows(warehouse, LOST)


@pytest.mark.corpus
def test_real_donations_are_as_their_module_texts_say(corpus, warehouse):
    """Of twenty pairs: what JAX offered and XLA could not place is named with its reason."""
    ingest(warehouse, corpus / "context.tar.gz")
    assert [("tpu_lost_dtype/b", 0, "{}", 512 * 256 * 4, "the element type differs")] == rows(warehouse, LOST)
    taken = rows(
        warehouse,
        "SELECT run_name FROM marts.donations_v1 JOIN marts.runs USING (run_id) WHERE is_taken ORDER BY ALL",
    )
    expected = ["cpu_lost_two/a", "cpu_lost_two/b", "cpu_region_analysis/a", "cpu_region_analysis/b",
                "tpu_lost_layout/b", "tpu_taken_later/b"]  # fmt: skip
    assert expected == [name for (name,) in taken]
