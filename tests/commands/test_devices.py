"""Runs of two kinds of device share no history, and a comparison of them says what it is."""

import json
import shutil
from functools import cache
from pathlib import Path

import duckdb
import pytest

from bufferhouse.commands.ingest_run import run_ingest
from tests.command_line import CHECKOUT, Outcome, call

RUNS = CHECKOUT / "tests" / "data" / "reshaped"
TPU = ("tpu-v5e-jaxlib-0.4.38-libtpu-0.0.8", "tpu-v5e-jaxlib-0.8.3-libtpu-0.0.33")


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory):
    """A function that asks a command of the step before and after, each as compiled for a device."""

    root = tmp_path_factory.mktemp("devices")
    for run, device in (("layers-4", "TPU v5e"), ("layers-6", "TPU v5p")):
        shutil.copytree(RUNS / run, root / run)
        facts = json.loads((root / run / "run.json").read_text())
        (root / run / "run.json").write_text(json.dumps({**facts, "device_kind": device}))
    assert 0 == run_ingest([str(root / "layers-4"), str(root / "layers-6")], root / "TPU v5e-TPU v5p").exit_code

    @cache
    def warehouse(*devices: str | None) -> Path:
        """Return a warehouse of both, which is only read."""
        path = root / "-".join(map(str, devices))
        if not path.exists():
            shutil.copy(root / "TPU v5e-TPU v5p", path)
            for run, device in zip(("layers-4", "layers-6"), devices, strict=True):
                assert 0 == call("runs", "set", run, f"device_kind={device or ''}", "--warehouse", path).code
        return path

    def asked(*words: str, devices: tuple[str | None, str | None]) -> Outcome:
        return call(*words, "--warehouse", warehouse(*devices))

    return asked


def test_a_step_from_one_device_to_another_is_no_change_of_a_program(two):
    """A trend that jumps because the next run was for a v5p would be an alarm about nothing."""
    for devices, steps in ((("TPU v5e", "TPU v5e"), 1), (("TPU v5e", "TPU v5p"), 0), ((None, "TPU v5p"), 0)):
        found = json.loads(two("report", "fleet", "--format", "json", devices=devices).out)["answers"]
        assert steps == len(found["fleet_reshaped"])
        series = [row for row in found["fleet_programs"] if row["program_label"] == "jit_count"]
        assert ([2] if steps else [1, 1]) == [row["run_count"] for row in series]


@pytest.mark.parametrize(("devices", "steps"), [(("TPU v5e", "TPU v5e"), 1), (("TPU v5e", "TPU v5p"), 0)])
def test_questions_take_no_other_device_for_a_step(two, devices: tuple[str, str], steps: int):
    """The first run of a device has nothing before it: no step of a program, and no program that is new."""

    def asked(*words: str) -> list[dict]:
        return json.loads(two("query", "--format", "json", "--ask", *words, devices=devices).out)

    assert steps == sum(row["same_count"] for row in asked("changes_by_run"))
    assert ["jit_train_step"] * steps == [row["program_name"] for row in asked("new_programs")]
    path = asked("program_over_time", "--param", "program=jit_count")
    assert [1, 1 + steps] == [row["run_number"] for row in path]


def test_blame_keeps_devices_apart(two):
    """The same program on two devices has two histories, each named after its device."""
    found = json.loads(two("blame", "jit_count", "--format", "json", devices=("TPU v5e", "TPU v5p")).out)["series"]
    assert [("TPU v5e", 1), ("TPU v5p", 1)] == sorted((one["device_kind"], len(one["runs"])) for one in found)


def test_a_comparison_of_two_devices_says_so(two):
    """What differs may be the device; equal devices need no words."""
    words = ("compare", "layers-4", "layers-6", "--format", "markdown")
    assert "two kinds of device, TPU v5e → TPU v5p" in two(*words, devices=("TPU v5e", "TPU v5p")).out
    assert "kinds of device" not in two(*words, devices=("TPU v5e", "TPU v5e")).out
    notes = json.loads(two(*words, "--format", "json", devices=("TPU v5e", "TPU v5p")).out)["notes"]
    assert [note for note in notes if "TPU v5e → TPU v5p" in note] == notes != []


def test_unknown_devices_that_contradict_each_other_are_named(own_warehouse: Path):
    """A CPU run and a TPU run without a device differ in memory spaces and tiles; two runs of one chip do not.

    Where the names of the dumps say for which target they are, that is enough.
    """
    words = ("compare", "jaxlib-0.10.0", TPU[1], "--format", "markdown", "--warehouse", str(own_warehouse))
    assert "contradict" not in call("compare", *TPU, *words[3:]).out
    assert 0 == call("runs", "set", TPU[1], "device_kind=", "--warehouse", own_warehouse).code
    assert "The dumps are for different targets, cpu → tpu: the device may make the difference" in call(*words).out
    with duckdb.connect(str(own_warehouse)) as con:
        con.execute("UPDATE raw.observations SET compile_target = NULL")
        con.execute("UPDATE raw.runs SET platform = NULL")
    said = call(*words).out
    assert "does not say" in said or "Neither run says" in said
    assert "tiles" in said
