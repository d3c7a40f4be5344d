"""`bufferhouse bisect`, with commands that leave the real dumps of six releases where XLA is told to dump."""

import json
import os
import re
import shutil
import signal
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from bufferhouse.bisect.points import Asked, Point, signature
from bufferhouse.bisect.search import BAD, GOOD, SKIPPED, Step
from bufferhouse.paths import CHECKOUT
from bufferhouse.report.bisect.text import Bisected, verdict
from tests.command_line import call, kill_group, start

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
OUT_OF_MEMORY = """
import os, pathlib, shutil, sys
folder = next(f.split('=')[1] for f in os.environ['XLA_FLAGS'].split() if f.startswith('--xla_dump_to='))
for path in pathlib.Path({specimen!r}).glob('module_*'):
    shutil.copy(path, folder)
if sys.argv[1] == 'fails':
    sys.exit(pathlib.Path({specimen!r}, 'stderr.txt').read_text())
"""
RESHAPED = """
import gzip, os, pathlib, sys
folder = next(f.split('=')[1] for f in os.environ['XLA_FLAGS'].split() if f.startswith('--xla_dump_to='))
for path in pathlib.Path({reshaped!r}).glob(f'layers-{{sys.argv[1]}}/module_*'):
    target = pathlib.Path(folder, path.parent.name, path.stem)
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(gzip.decompress(path.read_bytes()))
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
    assert found["verdict"].endswith("at 0.8.0 or at one of 2 points between them that say nothing")


def test_a_failure_may_be_what_is_looked_for(bisect):
    """--fail-is-bad: the first release that fails."""
    releases = RELEASES[:3]
    found = bisect("--fail-is-bad", "--metric", "temp", program="donate1", releases=releases, fails=(releases[2],))
    assert ("0.6.0", "0.7.0") == (found["last_good"], found["first_bad"])
    assert "0.7.0 is the first that fails" in found["verdict"]


@pytest.mark.parametrize(
    ("last", "told"),
    [
        (Point("3", BAD, None, fault="exit 1: no memory"), "jit_f fails after 1"),  # no byte moved
        (Point("3", BAD, 7, "b", 2), "reserved bytes of jit_f moved after 1"),
    ],
)
def test_a_step_behind_a_point_that_says_nothing_is_told(last: Point, told: str):
    """It is at that point, or at the one behind it."""
    releases = [Point("1", GOOD, 5, "a", 1), Point("2", SKIPPED, None, fault="cannot be installed: no wheel"), last]
    bisected = Bisected(Asked("jit_f", "jaxlib", ["1", "2", "3"], ["true"]), Step(0, 2, [1]), dict(enumerate(releases)))
    assert f"jaxlib: {told}, at 3 or at 1 point between them that says nothing" == verdict(bisected)


def test_what_did_not_fit_is_explained(tmp_path: Path):
    """A compilation that fails leaves its dump: the message in its log is explained by it, the next time, too.

    The dump is of no program that ran: a run of others that has it, where such runs are taken, is no point of it.
    """
    specimen = CHECKOUT / "examples" / "oom" / "libtpu-0.0.33" / "args"
    script = tmp_path / "compile_it.py"
    script.write_text(OUT_OF_MEMORY.format(specimen=str(specimen)))
    others = tmp_path / "others"
    shutil.copytree(specimen, others)
    (others / "run.json").write_text(json.dumps({"compiler": "jaxlib", "compiler_version": "fits"}))
    assert 0 == call("ingest", others, "--warehouse", tmp_path / "w.duckdb").code
    words = ["--release", "fits", "--release", "fails", "--fail-is-bad", "--warehouse", tmp_path / "w.duckdb"]
    for compiled in (2, 1):  # the run of the failed compilation is there the second time only
        said = call("bisect", "jit_residual_add", *words, "--format", "json", "--", sys.executable, script, "{release}")
        found = json.loads(said.out)
        assert ("fails", compiled) == (found["first_bad"], found["compile_count"])
        finding = next(one for one in found["findings"] if one["is_failure"])
        assert (16_909_336_576, 24 << 30) == (finding["capacity_bytes"], finding["parts"]["arguments"])
        # Not the end of its listing.
        assert "exit 1: XLA:TPU compile permanent error. Ran out of memory " in found["points"][-1]["fault"]
        run = found["points"][-1]["run_name"]
        assert finding["dump"].endswith(f"-buffer-assignment.txt of run {run}")  # its folder is gone


def test_a_line_of_a_failed_compilation_that_is_not_understood_is_told(tmp_path: Path):
    """Something had no memory: of what, no message says."""
    specimen = CHECKOUT / "examples" / "oom" / "libtpu-0.0.33" / "args"
    script = tmp_path / "compile_it.py"
    script.write_text(
        OUT_OF_MEMORY.format(specimen=str(specimen)).replace(".read_text()", ".name + ': std::bad_alloc'")
    )
    words = ["--release", "fits", "--release", "fails", "--fail-is-bad", "--warehouse", tmp_path / "w.duckdb"]
    said = call("bisect", "jit_residual_add", *words, "--format", "json", "--", sys.executable, script, "{release}")
    found = json.loads(said.out)
    assert ("fails", []) == (found["first_bad"], found["findings"])
    expected = "not understood: the log of fails:1:13: expected a message that is known, whole in its line, found"
    assert [True] == [note.startswith(expected) for note in found["notes"]]


def test_runs_of_others_are_taken_where_they_agree(bisect, example_warehouse: Path, tmp_path: Path):
    """The warehouse has all releases: one compilation proves that they are the same program, and nothing else is."""
    (tmp_path / "fleet.duckdb").write_bytes(example_warehouse.read_bytes())
    found = bisect(warehouse="fleet.duckdb")
    assert ("0.6.0", 1) == (found["first_bad"], found["compile_count"])
    assert 1 < sum(point["run_name"] in {f"jaxlib-{one}" for one in RELEASES} for point in found["points"])


def test_nothing_moves(tmp_path: Path):
    """Exit 1 where the last point takes what the first takes; not 0 B of a memory space that the program has not."""
    words, command = _words(tmp_path, "jit_donate1"), _command(tmp_path)
    said = call(*words, "--format", "json", *command)
    found = json.loads(said.out)
    assert (1, None, 2) == (said.code, found["first_bad"], found["compile_count"])
    said = call(*words, "--memory-space", 7, *command)
    assert (2, "jit_donate1 has nothing in memory space 7; its memory spaces: 0\n") == (
        said.code, said.err.split("bufferhouse: ")[-1]
    )  # fmt: skip


def test_a_program_that_the_command_does_not_leave_is_told_before_it_is_compiled_again(tmp_path: Path):
    """Where a run knows what the command leaves, the next call needs no compilation, unless it is asked for."""
    told = (
        "--good 0.4.38: expected a compilation to compare with, found: no dump of jit_donate2; there are: jit_donate1"
    )
    told += "; did you mean 'jit_donate1'?\n"
    for options, is_compiled in (([], True), ([], False), (["--anew"], True)):
        said = call(*_words(tmp_path, "jit_donate2"), *options, *_command(tmp_path))
        assert (2, told, is_compiled) == (
            said.code, said.err.split("bufferhouse: ")[-1], "jaxlib 0.4.38: compiling" in said.err
        )  # fmt: skip
    said = call(*_words(tmp_path, "jit_donate1"), *_command(tmp_path))
    assert (1, False, True) == (said.code, "0.4.38: compiling" in said.err, "0.6.0: compiling" in said.err)


def _words(folder: Path, program: str) -> list[object]:
    points = [word for release in RELEASES[:2] for word in ("--release", release)]
    return ["bisect", program, *points, "--warehouse", folder / "w.duckdb"]


def _command(folder: Path) -> list[object]:
    script = folder / "compile_it.py"
    script.write_text(COMPILE.format(fleet=str(FLEET), program="donate1"))
    return ["--", sys.executable, script, "{release}"]


def test_the_other_programs_of_a_function_are_told(tmp_path: Path):
    """That the largest does not move says nothing of them; who asks for one by its program_id is told of no other."""

    def notes(program: str) -> list[str]:
        return _of_reshaped(tmp_path, program, "*", "[46]")["notes"]

    [note] = notes("jit_train_step")
    largest, other = re.findall(r"[0-9]{6,}", note)
    assert (
        f"2 programs are called jit_train_step at the good end: the largest, {largest}, was followed, and not {other}"
    ) == note
    assert [] == notes(other)


def test_a_program_that_goes_is_not_another_one_of_its_function(tmp_path: Path):
    """What was beside it at the good end took what it takes before, and did not move."""
    found = _of_reshaped(tmp_path, "jit_train_step", "*", "4")
    largest = re.search(r"[0-9]{6,}", found["notes"][0])[0]
    last = found["points"][-1]
    assert (None, "skipped") == (found["first_bad"], last["verdict"])
    assert f"no dump of jit_train_step ({largest}); there are: jit_count, jit_train_step" == last["fault"]


def _of_reshaped(tmp_path: Path, program: str, *releases: str) -> dict:
    """Bisect programs of four and of six layers; a release is a pattern of how many there are."""
    script = tmp_path / "compile_it.py"
    script.write_text(RESHAPED.format(reshaped=str(CHECKOUT / "tests" / "data" / "reshaped")))
    words = [word for release in releases for word in ("--release", release)]
    words += ["--warehouse", tmp_path / "w.duckdb", "--format", "json"]
    return json.loads(call("bisect", program, *words, "--", sys.executable, script, "{release}").out)


def test_flags_are_bisected(tmp_path: Path):
    """Each flag stands on top of those before it: here the third makes the command leave another release's dump.

    Other flags are another bisection, as they sign its runs: the test below.
    """
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
    assert "3 compilations" in said.out


def test_what_a_call_gives_signs_its_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Words, files that they name, flags, variables, packages: each makes it another bisection."""
    monkeypatch.setenv("LIBTPU_INIT_ARGS", "--a")
    script = tmp_path / "compile_it.py"
    script.write_text("pass")
    asked = Asked("jit_f", "flags", ["none", "--x"], ["python", str(script)], flags=["--x"], installed=["3.11"])
    signed = [signature(asked)]
    assert signed[0] == signature(replace(asked, metric="temp", timeout=5.0))
    for change in (
        {"words": ["python", str(script), "2"]},
        {"flags": ["--y"]},
        {"flags_variable": "LIBTPU_INIT_ARGS"},
        {"installed": ["3.12"]},
        {"installed": ["3.11", "numpy<2"]},
    ):
        signed.append(signature(replace(asked, **change)))
    for variable in ("XLA_FLAGS", "LIBTPU_INIT_ARGS"):
        monkeypatch.setenv(variable, "--b")
        signed.append(signature(replace(asked, flags_variable="LIBTPU_INIT_ARGS")))
    signed.append(signature(asked))
    monkeypatch.setenv("JAX_ENABLE_X64", "1")  # JAX is configured by variables, too
    signed.append(signature(asked))
    script.write_text("pass  # changed")
    signed.append(signature(asked))
    assert len(signed) == len(set(signed))


def test_what_a_script_imports_signs_its_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Modules beside it, those of packages and of $PYTHONPATH, directly or through others; installed ones do not."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", f"more{os.pathsep}site-packages")
    files = {
        "job.py": "import json, numpy\nfrom model import layers\nimport flat\nif flat:\n  from shared.sizes import N",
        "model/__init__.py": "",
        "model/layers.py": "from . import attention\nfrom .. import beyond\nfrom .deep.heads import heads",
        "model/attention.py": "print 'for another Python'",
        "model/deep/heads.py": "import job",  # a package without __init__.py; and a circle
        "flat.py": "",
        "more/shared/sizes.py": "N = 4",
        "more/far.py": f"import flat\nimport {'a' * 300}",  # no file has such a name
        "start": "#!/usr/bin/env python3\nimport flat",
        "tool/__init__.py": "",
        "tool/__main__.py": "import flat",
        "config.toml": "",
        "other.py": "",
        "site-packages/numpy.py": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)

    def signing(*words: str) -> set[str]:
        asked = Asked("jit_f", "jaxlib", ["1", "2"], ["python", *words])
        signed, found = signature(asked), set()
        for name, text in files.items():
            (tmp_path / name).write_text(f"{text}\n# changed")
            found |= {name} if signature(asked) != signed else set()
            (tmp_path / name).write_text(text)
        return found

    others = {"config.toml", "other.py", "site-packages/numpy.py", "more/far.py", "start"}
    of_job = files.keys() - others - {"tool/__init__.py", "tool/__main__.py"}
    assert of_job == signing("job.py")
    assert of_job | {"config.toml"} == signing(str(tmp_path / "job.py"), "--config=config.toml")
    assert of_job == signing("-c", "import job")
    assert {"tool/__init__.py", "tool/__main__.py", "flat.py"} == signing("-m", "tool")
    assert {"more/far.py", "flat.py"} == signing("-m", "far")
    assert {"start", "flat.py"} == signing("./start")
    assert of_job == signing("sh", "-c", "export A=b&&python job.py;true")
    assert {"tool/__init__.py", "tool/__main__.py", "flat.py", "config.toml"} == signing(
        "sh", "-c", "(python -m tool --config=config.toml) >log"
    )
    assert of_job == signing("sh", "-c", "python -c 'import job'")
    assert {"more/far.py", "flat.py"} == signing("sh", "-c", "cd ./more && python far.py")
    assert set() == signing("sh", "-c", "echo it's job.py")
    assert {"flat.py"} == signing("-c", "import flat  # in Latin-1: \udce9")


def test_a_peak_that_no_live_range_tells_is_not_zero(tmp_path: Path):
    """The point is skipped, with the reason; at the good end there is nothing to compare with."""
    script = tmp_path / "compile_it.py"
    script.write_text(
        COMPILE.format(fleet=str(FLEET), program="donate1")
        + "for path in pathlib.Path(folder).glob('*-live-range.txt'):\n    path.unlink()\n"
    )
    words = ["--release", RELEASES[-1], "--release", RELEASES[0], "--warehouse", tmp_path / "w.duckdb"]
    program = ["--", sys.executable, script, "{release}"]
    said = call("bisect", "jit_donate1", *words, "--metric", "occupied", *program)
    expected = f"--good {RELEASES[-1]}: expected a compilation to compare with, found: occupied bytes are not known"
    assert (2, True) == (said.code, expected in said.err), said.err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--good", "0.7.0"], "expected --good and --bad, a --release for each point, or --flag"),
        (["--flag", "--a", "--good", "1"], "--flag: expected no --good, --bad or --release beside it"),
        (["--release", "1", "--release", "2", "--bad", "3"], "among the releases, found '3'"),
        (["--release", "1"], "expected two releases or more, found 1"),
        (["--release", "1", "--release", "2", "--metric", "peak"], "--metric: expected reserved"),
        (["--flag", "--a", "--flags-in", "FLAGS"], "--flags-in: expected XLA_FLAGS, LIBTPU_INIT_ARGS or TF_XLA_FLAGS"),
    ],
)
def test_a_wrong_call_is_refused(words: list, expected: str, tmp_path: Path):
    """Exit 2 before anything is compiled."""
    said = call("bisect", "jit_f", *words, "--warehouse", tmp_path / "w.duckdb", "--", "false")
    assert (2, True) == (said.code, expected in said.err), said.err


@pytest.mark.parametrize(
    ("place", "expected"), [("none/w.duckdb", "the folder of the warehouse does not exist"), (".", "found a folder")]
)
def test_a_warehouse_that_cannot_be_written_is_told_before_anything_is_compiled(place, expected, tmp_path: Path):
    """What a compilation of minutes left could not be kept."""
    trace = tmp_path / "compiled"
    words = ["--release", "1", "--release", "2", "--warehouse", tmp_path / place]
    said = call("bisect", "jit_f", *words, "--", "touch", trace, "{release}")
    assert (2, True, False) == (said.code, expected in said.err, trace.exists()), said.err


def test_a_good_end_that_fails_is_told(tmp_path: Path):
    """There is nothing to compare with: exit 2, with the last words of the compilation."""
    words = ["--release", "1", "--release", "2", "--warehouse", tmp_path / "w.duckdb"]
    said = call("bisect", "jit_f", *words, "--", sys.executable, "-c", "raise SystemExit('no {release}')")
    assert (2, True) == (said.code, "--good 1: expected a compilation to compare with, found: exit 1: no 1" in said.err)
    said = call("bisect", "jit_f", *words, "--", os.devnull + "/nothing", "{release}")
    assert (2, True) == (said.code, "found: /dev/null/nothing: Not a directory" in said.err)
    for number, name in (("SEGV", "SIGSEGV"), ("40", "signal 40")):  # one without a name, too
        said = call("bisect", "jit_f", *words, "--", "sh", "-c", f"kill -{number} $$; : {{release}}")
        assert (2, True) == (said.code, f"found: ended by {name}: without a word" in said.err), said.err


def test_a_command_that_takes_too_long_without_a_flag_is_told(tmp_path: Path):
    """No option names the good end of flags."""
    words = ["--flag", "--a", "--timeout", 1, "--warehouse", tmp_path / "w.duckdb"]
    said = call("bisect", "jit_f", *words, "--", "sleep", "60")
    expected = "(no flag): expected a compilation to compare with, found: took longer than 1 second"
    assert (2, f"bufferhouse: {expected}") == (said.code, said.err.splitlines()[-1])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_compilation_too(tmp_path: Path, monkeypatch, number: int):
    """Whatever it does; and nothing stays behind where environments and dumps were."""
    pipe, folder = tmp_path / "pipe", tmp_path / "tmp"
    os.mkfifo(pipe)
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    script = """
import sys, time
with open(sys.argv[1], "w", buffering=1) as file:
    print("begun", file=file)
    time.sleep(30)
    print("went on", file=file)
"""
    points = ("--release", "1", "--release", "2", "--warehouse", tmp_path / "w.duckdb")
    process = start(
        "bisect", "jit_f", *points, "--", sys.executable, "-c", script, pipe, "{release}",
    )  # fmt: skip
    try:
        with pipe.open() as file:
            assert file.readline()
            process.send_signal(number)
            assert "" == file.read()  # the compilation held it open
        process.communicate(timeout=60)
    finally:
        kill_group(process)
    assert (128 + number, []) == (process.returncode, list(folder.iterdir()))


def test_a_word_that_is_no_file_is_not_read(tmp_path: Path):
    """A pipe would wait for somebody who writes, and a device may have no end."""
    os.mkfifo(tmp_path / "pipe")
    words = [sys.executable, str(tmp_path / "pipe"), "/dev/zero", "no\0name"]
    assert signature(Asked("f", "jaxlib", ["1", "2"], words)) == signature(Asked("f", "jaxlib", ["1", "2"], words))
