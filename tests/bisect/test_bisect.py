"""`bufferhouse bisect`, with commands that leave the real dumps of six releases where XLA is told to dump."""

import json
import os
import sys
from pathlib import Path

import pytest

from bufferhouse.paths import CHECKOUT
from tests.command_line import call

FLEET = CHECKOUT / "examples" / "fleet"
RELEASES = ["0.4.38", "0.6.0", "0.7.0", "0.8.0", "0.9.0", "0.10.0"]
# What a compilation leaves, as a release left it; two releases fail, as told.
COMPILE = """
import os, pathlib, shutil, sys
release, fails = sys.argv[1], sys.argv[2:]
if release in fails:
    sys.exit('Aborted: no such release')
folder = next(f.split('=')[1] for f in os.environ['XLA_FLAGS'].split() if f.startswith('--xla_dump_to='))
for path in pathlib.Path({fleet!r}, f'jaxlib-{{release}}').glob('*jit_{program}.*'):
    shutil.copy(path, folder)
"""


@pytest.fixture
def bisect(tmp_path: Path):
    """A function that bisects the example releases by the command line, and returns the answer for machines."""

    def bisected(
        *words: object,
        program: str = "cnn_train_step",
        fails: tuple = (),
        warehouse: str = "w.duckdb",
        releases: list = RELEASES,
    ) -> dict:
        script = tmp_path / "compile_it.py"
        script.write_text(COMPILE.format(fleet=str(FLEET), program=program))
        points = [word for release in releases for word in ("--release", release)]
        said = call(
            "bisect", f"jit_{program}", *points, "--warehouse", tmp_path / warehouse, "--format", "json", *words,
            "--", sys.executable, script, "{release}", *fails,
        )  # fmt: skip
        assert said.code in (0, 1), said.err
        return json.loads(said.out)

    return bisected


def test_a_step_is_found_and_known_the_next_time(bisect, tmp_path: Path):
    """The CNN grows with 0.6.0, the second of six: at most four compilations, with its causes; then none."""
    found = bisect()
    assert ("0.4.38", "0.6.0", 3) == (found["last_good"], found["first_bad"], found["compile_count"])
    (program,) = found["compare"]["programs"]
    assert ("now alive at the peak", 1361380) == (program["main_cause_label"], program["delta_bytes"])
    again = bisect()
    assert ("0.6.0", 0) == (again["first_bad"], again["compile_count"])
    said = call("runs", "ls", "--warehouse", tmp_path / "w.duckdb", "--format", "json")
    assert 3 == len(json.loads(said.out))


def test_what_fails_is_skipped_and_said(bisect):
    """Releases that fail say nothing: the step is at one of them, or behind."""
    found = bisect(fails=("0.6.0", "0.7.0"))
    assert ("0.4.38", "0.8.0", ["0.6.0", "0.7.0"]) == (found["last_good"], found["first_bad"], found["unknown"])
    faults = {point["name"]: point["fault"] for point in found["points"] if point["verdict"] == "skipped"}
    assert {"0.7.0": "exit 1: Aborted: no such release", "0.6.0": "exit 1: Aborted: no such release"} == faults


def test_a_failure_may_be_what_is_looked_for(bisect):
    """--fail-is-bad: the first release that fails."""
    found = bisect("--fail-is-bad", "--metric", "temp", program="donate1", fails=tuple(RELEASES[3:]))
    assert ("0.7.0", "0.8.0") == (found["last_good"], found["first_bad"])
    assert "0.8.0 is the first that fails" in found["verdict"]


def test_runs_of_others_are_taken_where_they_agree(bisect, example_warehouse: Path, tmp_path: Path):
    """The warehouse has all releases: one compilation proves that they are the same program, and nothing else is."""
    (tmp_path / "fleet.duckdb").write_bytes(example_warehouse.read_bytes())
    found = bisect(warehouse="fleet.duckdb")
    assert ("0.6.0", 1) == (found["first_bad"], found["compile_count"])
    assert 1 < sum(point["run_name"] in {f"jaxlib-{one}" for one in RELEASES} for point in found["points"])


def test_nothing_moves(bisect):
    """Exit 1 where the last point takes what the first takes."""
    found = bisect("--memory-space", "7", program="donate1", releases=RELEASES[:2])
    assert (None, 2) == (found["first_bad"], found["compile_count"])


def test_flags_are_bisected(tmp_path: Path):
    """Each flag stands on top of those before it: here the third makes the command leave another release's dump."""
    script = tmp_path / "compile_it.py"
    script.write_text(
        "import os, sys\nrelease = '0.6.0' if '--third' in os.environ['XLA_FLAGS'].split() else '0.4.38'\n"
        "sys.argv.insert(1, release)\n" + COMPILE.format(fleet=str(FLEET), program="cnn_train_step")
    )
    flags = [word for flag in ("--first=1", "--second", "--third", "--fourth") for word in ("--flag", flag)]
    said = call(
        "bisect", "jit_cnn_train_step", *flags, "--warehouse", tmp_path / "w.duckdb", "--", sys.executable, script
    )
    assert (0, "flags --third is the first that moves reserved bytes of jit_cnn_train_step: +1.3 MiB") == (
        said.code, said.out.split("\n")[0]
    )  # fmt: skip


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--good", "0.7.0"], "expected --good and --bad, a --release for each point, or --flag"),
        (["--flag", "--a", "--good", "1"], "--flag: expected no --good, --bad or --release beside it"),
        (["--release", "1", "--release", "2", "--bad", "3"], "among the releases, found '3'"),
        (["--release", "1"], "expected two releases or more, found 1"),
        (["--release", "1", "--release", "2", "--metric", "peak"], "--metric: expected reserved"),
    ],
)
def test_a_wrong_call_is_refused(words: list, expected: str, tmp_path: Path):
    """Exit 2 before anything is compiled."""
    said = call("bisect", "jit_f", *words, "--warehouse", tmp_path / "w.duckdb", "--", "false")
    assert (2, True) == (said.code, expected in said.err), said.err


def test_a_good_end_that_fails_is_told(tmp_path: Path):
    """There is nothing to compare with: exit 2, with the last words of the compilation."""
    words = ["--release", "1", "--release", "2", "--warehouse", tmp_path / "w.duckdb"]
    said = call("bisect", "jit_f", *words, "--", sys.executable, "-c", "raise SystemExit('no {release}')")
    assert (2, True) == (said.code, "--good 1: expected a compilation to compare with, found: exit 1: no 1" in said.err)
    said = call("bisect", "jit_f", *words, "--", os.devnull + "/nothing", "{release}")
    assert (2, True) == (said.code, "found: /dev/null/nothing: Not a directory" in said.err)
