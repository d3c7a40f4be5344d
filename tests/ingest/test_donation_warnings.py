"""JAX's warning of donations in logs beside dumps: kept, proved, joined without a guess, and never in the way."""

import json
import re
import shutil

import pytest

from tests.command_line import CHECKOUT, call
from tests.ingests import ingest
from tests.samples import unpack
from tests.warehouses import rows, unproved

SGD = CHECKOUT / "tests" / "data" / "sgd" / "plain"
STEM = "module_0010.jit_step.cpu_after_optimizations"
SAYS = "/opt/mlir.py:1326: UserWarning: Some donated buffers were not usable: {}.\nSee an explanation\n"
WARNINGS = """
    SELECT array_shape, join_state, parameter_count, is_certain FROM marts.donation_warnings_v1 ORDER BY argument_number
"""
UNUSABLE = "SELECT parameter_number, reason FROM marts.donations_v2 WHERE is_unusable ORDER BY ALL"
HEAD = "HloModule jit_step, is_scheduled=true, entry_computation_layout={()->()}\n\nENTRY m {\n"


@pytest.fixture
def run(tmp_path):
    """The dump of an SGD step that donates nothing, beside its module text."""
    folder = shutil.copytree(SGD, tmp_path / "plain")
    (folder / f"{STEM}.txt").write_text(HEAD)
    return folder


def shapes(run) -> list[str]:
    """The shapes of the parameters of the dump in the order of their numbers, as its lines print them."""
    text = (run / f"{STEM}-buffer-assignment.txt").read_text()
    found = {int(number): shape for number, shape in re.findall(r", parameter (\d+), shape \|(\S+)\|", text)}
    return [found[number] for number in sorted(found)]


def in_jax(shape: str) -> str:
    return shape.replace("f32[", "float32[").replace("s32[", "int32[")


def warn(run, *arguments: str) -> None:
    (run / "stderr.txt").write_text(SAYS.format(", ".join(arguments)))


def test_all_parameters_of_a_shape_are_known(run, warehouse):
    """Where the warning has as many arguments of a shape as the program parameters, each is unusable, and why."""
    wanted = max(shapes(run), key=shapes(run).count)
    count = shapes(run).count(wanted)
    warn(run, *[in_jax(wanted)] * count)
    assert 0 == ingest(warehouse, run)[0]
    assert [(wanted, "joined", count, True)] * count == rows(warehouse, WARNINGS)
    numbers = [number for number, shape in enumerate(shapes(run)) if shape == wanted]
    assert [(number, "JAX found no output for it") for number in numbers] == rows(warehouse, UNUSABLE)
    text = call("report", "program", "jit_step", "--warehouse", warehouse).out
    assert "Donations offered and not taken" in text
    assert "line 1 of stderr.txt" in text
    assert [] == unproved(warehouse)
    code, summary = ingest(warehouse, run)
    assert (0, 1, {}) == (code, summary["known"], {name: n for name, n in summary["rows"].items() if n})


def test_of_several_parameters_of_a_shape_none_is_guessed(run, warehouse):
    """The program is known, the parameter is not: it may be unusable, and the report says so."""
    wanted = max(shapes(run), key=shapes(run).count)
    count = shapes(run).count(wanted)
    assert count > 1
    warn(run, in_jax(wanted))
    ingest(warehouse, run)
    assert [(wanted, "joined", count, False)] == rows(warehouse, WARNINGS)
    assert [] == rows(warehouse, UNUSABLE)
    said = f"JAX could not use 1 of {count} of this shape: line 1 of stderr.txt"
    found = rows(
        warehouse, "SELECT COUNT(*) FROM marts.donations_v2 WHERE warning_text = $1 AND is_unusable IS NULL", [said]
    )
    assert [(count,)] == found


def test_what_cannot_be_joined_says_so(run, warehouse):
    """No program with such parameters, several, an argument in a form that is not known: no dump, and why."""
    warn(run, "float32[7,7,7]")
    ingest(warehouse, run, "--run", "other")
    assert [("f32[7,7,7]", "no program has such parameters", None, False)] == rows(warehouse, WARNINGS)
    first, second = run.parent / "two" / "first", run.parent / "two" / "second"
    shutil.copytree(run, first)
    shutil.copytree(run, second)
    text = second / f"{STEM}-buffer-assignment.txt"
    text.write_text(text.read_text() + "\n")  # another content
    (second / "stderr.txt").unlink()
    warn(first, in_jax(shapes(run)[0]))
    ingest(warehouse, first.parent, "--run", "two")
    of_two = WARNINGS.replace("ORDER", "WHERE run_name = 'two' ORDER")
    assert ["several programs fit as well"] == [row[1] for row in rows(warehouse, of_two)]
    warn(run, "float32[8@x,4]")
    ingest(warehouse, run, "--run", "sharded")
    sharded = WARNINGS.replace("ORDER", "WHERE run_name = 'sharded' ORDER")
    assert [(None, "an argument cannot be read", None, False)] == rows(warehouse, sharded)


def test_a_damaged_warning_is_a_reject_and_stops_nothing(run, warehouse):
    """The dump is loaded, the warning is kept and joined to nothing, the reject says where and what was expected."""
    (run / "stderr.txt").write_text("Some donated buffers were not usable: float32[25")
    code, summary = ingest(warehouse, run)
    assert (1, 1) == (code, summary["new"])
    [(expected, found, line)] = rows(warehouse, "SELECT expected, found, line_number FROM raw.rejects")
    assert ("a message that is whole, with figures that fit together", 1) == (expected, line)
    assert "found 'float32[25'" in found
    assert [] == rows(warehouse, "SELECT * FROM marts.donation_warnings_v1 WHERE dump_id IS NOT NULL")
    assert [] == unproved(warehouse)


def test_a_warning_is_no_failure(run, warehouse):
    """Neither `oom` nor its marts know it, and no program is called one that did not fit."""
    warn(run, in_jax(shapes(run)[0]))
    _, summary = ingest(warehouse, run)
    assert (1, 0) == (summary["logs"], summary["messages"])
    assert [] == rows(warehouse, "SELECT * FROM marts.oom_v1")
    assert [(None,)] == rows(warehouse, "SELECT did_not_fit FROM marts.observations_v2")
    assert "No failure for lack of memory was found" in call("oom", "plain", "--warehouse", warehouse).out


def test_a_log_of_no_run_in_particular_is_told(run, warehouse):
    """A warning names no program: of several runs near its log none is chosen, and the ingest ends well."""
    folder = run.parent / "fleet"
    for name in ("a", "b"):
        shutil.copytree(run, folder / name)
    (folder / "train.log").write_text(SAYS.format(in_jax(shapes(run)[0])))
    outcome = call("ingest", folder, "--warehouse", warehouse)
    assert 0 == outcome.code
    assert (
        "1 warning about donations that JAX could not use, from one of 2 runs; name the run with --run"
        in outcome.out + outcome.err
    )


@pytest.mark.corpus
def test_the_warnings_of_the_corpus(corpus, warehouse, tmp_path):
    """Of the pairs that ask for donations JAX warns of three: the parameter that was donated is among those meant."""
    unpack(corpus / "context.tar.gz", tmp_path)
    certain, pairs = {}, sorted((tmp_path / "context").glob("*/*_lost_*"))
    for pair in pairs:
        (pair / "b").rename(tmp_path / "context" / pair.name)
    ingest(warehouse, *(tmp_path / "context" / pair.name for pair in pairs))
    for pair in pairs:
        said = json.loads((pair / "pair.json").read_text())["b"]["donated"]
        found = rows(
            warehouse,
            "SELECT parameter_number, is_unusable FROM marts.donations_v2 JOIN marts.runs USING (run_id)"
            " WHERE run_name = $1 AND warning_text IS NOT NULL ORDER BY 1",
            [pair.name],
        )
        donated = {number for number, (_, _, is_donated) in enumerate(said) if is_donated}
        assert not found or donated & {number for number, _ in found}
        if found:
            certain[pair.name] = found
    assert {
        "cpu_lost_shape": [(0, None), (1, None)],
        "cpu_lost_two": [(1, True)],
        "tpu_lost_scalar": [(0, None), (1, None)],
    } == certain  # fmt: skip
