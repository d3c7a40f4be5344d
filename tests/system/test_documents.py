"""The documents: links lead somewhere, commands run and print what is shown, pictures stay small."""

import json
import re
import runpy
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import click
import pytest
import typer

from bufferhouse.cli import app
from docs import pictures
from tests.command_line import CHECKOUT, call
from tests.system.documents import Shown, anchors, blocks, calls, commands, documents, links

TUTORIAL = CHECKOUT / "docs" / "tutorial.md"
ROOT = typer.main.get_command(app)
QUESTIONS = sorted((CHECKOUT / "docs" / "questions").glob("*.md"))
# Runs until a signal ends it: tests/flows/test_serve.py starts it.
ENDLESS = ("bufferhouse", "serve")


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which somebody follows a document: examples/ is there, nothing is set."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    for name in ("BUFFERHOUSE_WAREHOUSE", "BUFFERHOUSE_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "examples").symlink_to(CHECKOUT / "examples")
    return tmp_path


def options(command: click.Command) -> set[str]:
    """Return the options of a verb, and of all verbs below it."""
    found = {option for one in command.params for option in (*one.opts, *one.secondary_opts)} | {"--help", "--"}
    return found.union(*map(options, getattr(command, "commands", {}).values()))


def follow(shown: Shown) -> None:
    """Run a command and compare what it prints with what is shown."""
    assert "bufferhouse" == shown.words[0], shown.words
    outcome = call(*shown.words[1:])
    expected = 1 if "oom" == shown.words[1] else 0  # the documents show programs that did not fit
    assert expected == outcome.code, (shown.words, outcome.err)
    if not shown.fits(outcome.out):
        assert shown.output == outcome.out, shown.words


@pytest.mark.parametrize("path", documents(), ids=lambda path: str(path.relative_to(CHECKOUT)))
def test_links_lead_somewhere(path):
    """Every relative link names a file that is there, and behind `#` one of its headings."""
    for link in links(path):
        name, _, anchor = link.partition("#")
        target = path.parent / name if name else path
        assert target.exists(), link
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), link


@pytest.mark.parametrize("path", documents(), ids=lambda path: str(path.relative_to(CHECKOUT)))
def test_calls_that_a_document_names_are_taken(path):
    """Each verb is there, and has the options that stand behind it; after `…` all verbs below count."""
    for words in calls(path):
        command, rest = ROOT, list(words)
        while rest and rest[0] in getattr(command, "commands", {}):
            command = command.commands[rest.pop(0)]
        assert command is not ROOT or rest[0].startswith(("-", "…", "VERB")), words
        known = options(command)
        assert [] == [word for word in rest if word.startswith("--") and word.split("=")[0] not in known], words


def test_the_glossary_is_in_alphabetical_order():
    """Who meets a word looks it up where it would stand."""
    terms = re.findall(r"^- \*\*([^*]+)\*\*", (CHECKOUT / "docs" / "glossary.md").read_text(), re.M)
    terms = [re.sub("[_-]", " ", term.lower()) for term in terms]
    assert sorted(terms) == terms


def test_the_tutorial_works(reader, blank_warehouse):
    """Its commands, from the first run to the schedule, with the configuration it shows."""
    shutil.copy(blank_warehouse, reader / "warehouse.duckdb")  # as the first command makes it, but in no time
    [configuration] = blocks(TUTORIAL, "toml")
    (reader / "bufferhouse.toml").write_text(configuration)
    shown = list(commands(TUTORIAL))
    assert ENDLESS == shown[-1].words
    for one in shown[:-1]:
        follow(one)
    assert (reader / "fleet.html").exists()


def test_the_code_of_the_tutorial_writes_the_run_json_that_it_shows(tmp_path):
    """All keys in their order, but those that only JAX and a git checkout can tell; and what the code itself says."""
    [code] = blocks(TUTORIAL, "python")
    [shown] = map(json.loads, blocks(TUTORIAL, "json"))
    shutil.copy(CHECKOUT / "examples" / "write_run_json.py", tmp_path)
    (tmp_path / "train.py").write_text(code.replace("/tmp/dumps", str(tmp_path / "dumps")))
    subprocess.run([sys.executable, "train.py"], cwd=tmp_path, check=True)
    [path] = (tmp_path / "dumps").glob("*/run.json")
    written = json.loads(path.read_text())
    of_others = {"compiler", "compiler_version", "platform", "device_kind", "git_revision", "device_count"}
    assert [key for key in shown if key not in of_others] == [key for key in written if key not in of_others]
    assert written["xla_flags"] == f"--xla_dump_to={path.parent} --xla_dump_hlo_as_text"
    assert (shown["track"], shown["labels"]["team"]) == (written["track"], written["labels"]["team"])
    assert path.parent.name == written["run_name"]


def test_the_example_of_a_workflow_locks_no_dump_of_an_earlier_call(tmp_path):
    """A program that comes before others shifts the numbers in their names: old dumps would stay beside the new."""
    for name in ("module_0001.jit_f.cl_1.after_optimizations-buffer-assignment.txt", "run.json"):
        (tmp_path / name).touch()
    runpy.run_path(str(CHECKOUT / "examples" / "ci" / "compile_ahead.py"))["make_empty"](tmp_path)
    assert ["run.json"] == [path.name for path in tmp_path.iterdir()]


@pytest.mark.parametrize("flags", [None, "", "--xla_a=1"])
def test_a_run_json_from_a_shell_has_the_flags_of_the_environment(tmp_path, flags):
    """Where there are none at all they are unknown: the job beside it may have some."""
    command = [sys.executable, CHECKOUT / "examples" / "write_run_json.py", tmp_path / "run", "--no-jax"]
    environment = {} if flags is None else {"XLA_FLAGS": flags}
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True)
    assert flags == json.loads((tmp_path / "run" / "run.json").read_text()).get("xla_flags")


@pytest.mark.parametrize(
    ("imported", "given", "expected"),
    [
        ("tensorflow", {}, {"compiler": "tensorflow", "compiler_version": "2.21.0"}),
        ("torch_xla", {}, {"compiler": "torch_xla", "compiler_version": "2.9.0", "platform": "gpu"}),
        ("torch_xla, jaxlib", {}, {"compiler": "torch_xla", "compiler_version": "2.9.0", "platform": "gpu"}),
        ("jaxlib, tensorflow", {}, {"compiler": "jaxlib", "compiler_version": "0.10.2"}),
        (
            "jaxlib, tensorflow",
            {"compiler": "tensorflow"},
            {"compiler": "tensorflow", "compiler_version": "2.21.0"},
        ),
    ],
)
def test_a_run_json_names_the_framework_that_the_job_imported(tmp_path, imported, given, expected):
    """Several packages hold TensorFlow; jax, which would take the device, is not asked in a job that is not of JAX."""
    for package, version in {"jaxlib": "0.10.2", "tensorflow_cpu": "2.21.0", "torch_xla": "2.9.0"}.items():
        (tmp_path / f"{package.removesuffix('_cpu')}.py").touch()
        (tmp_path / f"{package}-{version}.dist-info").mkdir()
        metadata = f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n"
        (tmp_path / f"{package}-{version}.dist-info" / "METADATA").write_text(metadata)
    (tmp_path / "jax.py").write_text("raise SystemExit('jax was asked')" if expected["compiler"] != "jaxlib" else "")
    shutil.copy(CHECKOUT / "examples" / "write_run_json.py", tmp_path)
    code = f"import {imported}\nfrom write_run_json import write_run_json\nwrite_run_json('run', **{given})"
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env={"PJRT_DEVICE": "CUDA"}, check=True)
    written = json.loads((tmp_path / "run" / "run.json").read_text())
    assert expected == {key: written[key] for key in ("compiler", "compiler_version", "platform") if key in written}


@pytest.mark.parametrize("path", QUESTIONS, ids=lambda path: path.stem)
def test_a_question_is_answered(reader, example_warehouse, path):
    """Its commands over the example fleet print what it shows; the index names it by its question."""
    shown = list(commands(path))
    index = (path.parent / "README.md").read_text()
    if path.name == "README.md":
        assert not shown
        return
    shutil.copy(example_warehouse, reader / "warehouse.duckdb")
    assert shown
    title = path.read_text().partition("\n")[0].removeprefix("# ")
    assert title.endswith("?")
    assert f"[{title}]({path.name})" in index
    for one in shown:
        follow(one)


@pytest.mark.parametrize("path", sorted((CHECKOUT / "docs" / "images").glob("*.png")), ids=lambda path: path.stem)
def test_pictures_are_small(path):
    """1280 pixels wide and less than 200 kB, as `make docs` writes them."""
    content = path.read_bytes()
    assert b"\x89PNG\r\n\x1a\n" == content[:8]
    assert (1280,) == struct.unpack(">I", content[16:20])
    assert len(content) < 200_000


def test_pictures_need_a_browser(monkeypatch, capsys):
    """Without one `make docs` says which to install, and leaves the pictures alone."""
    monkeypatch.setenv("PATH", "")
    assert 1 == pictures.main()
    assert "install one of chromium, " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("output", "fits"),
    [("a\nb\n", True), ("a\n", False), ("…\nb\n", True), ("a…\nb\n", True), ("…\n", True), ("b\n…\n", False)],
)
def test_what_is_shown_is_compared(output, fits):
    """Line by line, apart from what `…` leaves out."""
    assert fits == Shown((), output).fits("a \nb\n")


def test_the_figures_of_other_tools_are_ours(example):
    """What docs/other-tools.md calls equal, for every dump: sums over the flags that XLA prints, and those of marts."""
    flagged = (
        "SELECT dump_id, memory_space, SUM(size_bytes) AS total_bytes,"
        " COALESCE(SUM(size_bytes) FILTER (parameter_number IS NOT NULL), 0) AS parameter_bytes,"
        " COALESCE(SUM(size_bytes) FILTER (is_constant), 0) AS constant_bytes,"
        " COALESCE(SUM(size_bytes) FILTER (is_maybe_live_out), 0) AS live_out_bytes,"
        " COALESCE(SUM(size_bytes) FILTER (is_maybe_live_out AND parameter_number IS NOT NULL), 0) AS donated_bytes,"
        " FROM raw.allocations GROUP BY ALL"
    )
    equals = {
        "p.reserved_bytes + p.thread_local_bytes": "x.total_bytes",
        "f.parameter_bytes": "x.parameter_bytes",
        "f.constant_bytes": "x.constant_bytes",
        "f.output_bytes + x.donated_bytes": "x.live_out_bytes",
        "f.temp_bytes": "x.total_bytes - x.parameter_bytes - x.constant_bytes - x.live_out_bytes + x.donated_bytes"
        " - p.thread_local_bytes",
    }
    counts = ", ".join(f"COUNT_IF({ours} = {theirs})" for ours, theirs in equals.items())
    sql = (
        f"SELECT COUNT(*), {counts} FROM ({flagged}) AS x JOIN marts.footprint_v1 AS f USING (dump_id, memory_space)"
        " JOIN marts.peak_memory_v1 AS p USING (dump_id, memory_space)"
    )
    total, *equal = example.execute(sql).fetchone()
    assert total > 126
    assert [total] * len(equals) == equal
    sums = "SELECT dump_id, SUM(size_bytes) AS total_bytes FROM raw.allocations GROUP BY dump_id"
    sql = f"SELECT COUNT(*) FROM raw.dumps AS d JOIN ({sums}) AS s USING (dump_id) WHERE d.total_bytes <> s.total_bytes"
    assert (0,) == example.execute(sql).fetchone()
