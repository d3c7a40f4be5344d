"""`bufferhouse lock`: exit codes, the forms of its answer, and what is refused."""

import gzip
import json
import shlex
import shutil
from pathlib import Path

import pytest

from bufferhouse.commands.ingest_run import run_ingest
from bufferhouse.lock.file import read_lock
from bufferhouse.paths import CHECKOUT
from tests.command_line import call

LOCKED = CHECKOUT / "tests" / "data" / "locked"
RESHAPED = CHECKOUT / "tests" / "data" / "reshaped" / "layers-4"


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lock of the run `kept`. To be read, never written."""
    path = tmp_path_factory.mktemp("locked") / "memory.lock"
    said = call("lock", LOCKED / "kept", "--file", path)
    assert (0, f"{path}: 1 program (cpu), 1 written\n") == (said.code, said.err)
    return path


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse with the runs that are locked here, which takes a third of what reading their dumps takes."""
    path = tmp_path_factory.mktemp("loaded") / "warehouse.duckdb"
    assert 0 == run_ingest([str(run) for run in (*LOCKED.glob("*/"), RESHAPED)], path).exit_code
    return path


@pytest.fixture
def runs(loaded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The runs `kept`, `stored`, `undonated` and `layers-4` are known by their names."""
    monkeypatch.setenv("BUFFERHOUSE_WAREHOUSE", str(loaded))


@pytest.mark.usefixtures("runs")
def test_what_a_new_file_leaves_out_is_named(locked: Path, tmp_path: Path):
    """Written anew, the file holds the dumps that were given and no others; an update keeps the others."""
    path = tmp_path / "memory.lock"
    call("lock", "layers-4", "--file", path)
    kept = call("lock", "--update", "kept", "--file", path)
    assert (0, False) == (kept.code, "removed" in kept.err)
    said = call("lock", "layers-4", "--file", path)
    [gone] = {f"{key[0]} ({key[2]})" for key in read_lock(locked).entries}
    assert (0, f"removed from {path}, as there is no dump of it: {gone}; --update would keep it") == (
        said.code, said.err.splitlines()[-1]
    )  # fmt: skip
    assert {"jit_count", "jit_train_step"} == {key[0] for key in read_lock(path).entries}


def test_dumps_of_a_compiler_that_nobody_names_are_told(tmp_path: Path):
    """No check could say later that another one made its dumps; with a run.json it can."""
    shutil.copytree(LOCKED / "kept", tmp_path / "kept")
    (tmp_path / "kept" / "run.json").unlink()
    lock = ["lock", tmp_path / "kept", "--file", tmp_path / "memory.lock"]
    assert "nothing says which compiler made the dumps of 1 program, so no check can tell" in call(*lock).err
    (tmp_path / "kept" / "run.json").write_text('{"compiler": "jaxlib", "compiler_version": "0.9.0"}')
    assert "nothing says" not in call(*lock).err


def test_a_program_that_did_not_fit_is_told(locked: Path, tmp_path: Path):
    """Its bytes are those of the file, so it passes: what nothing grew says is not that it fits."""
    dumps = shutil.copytree(LOCKED / "kept", tmp_path / "kept")
    [dump] = dumps.glob("*-buffer-assignment.txt.gz")
    (dumps / f"{dump.name.rpartition('.cpu_after')[0]}.oom_intermediate_module.txt").write_text("HloModule jit_f")
    [name] = {key[0] for key in read_lock(locked).entries}
    said = call("lock", "--check", dumps, "--file", locked)
    told = f"1 program did not fit, as files beside dumps or messages say: {name} (cpu); a check says what grew"
    assert (0, True, False) == (said.code, told in said.out, told in said.err)  # said once
    assert "did not fit" not in call("lock", "--check", LOCKED / "kept", "--file", locked).out


def test_a_check_passes_or_names_the_line(locked: Path, tmp_path: Path):
    """Unchanged programs pass; a removed remat is an error at its line, and a comment that links it."""
    said = call("lock", "--check", LOCKED / "kept", "--file", locked)
    assert (0, "Nothing grew by 1 B, of 1 comparison.") == (said.code, said.out.split("\n")[3])
    comment = tmp_path / "comment.md"
    links = ["--site", "https://fleet.example/site", "--source-url", "https://code.example/{file}#L{line}"]
    said = call(
        "lock", "--check", LOCKED / "stored", "--file", locked, "--format", "github", "--comment", comment, *links
    )
    assert 1 == said.code
    assert said.out.startswith("::error file=/srv/train/train.py,line=7,title=")
    text = comment.read_text()
    assert "[jit\\_train\\_step](https://fleet.example/site/programs/jit_train_step.html)" in text
    assert "[/srv/train/train.py:7](https://code.example/srv/train/train.py#L7)" in text


@pytest.mark.usefixtures("runs")
def test_a_lock_below_the_top_of_a_repository_names_files_as_github_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The file tells them from its own folder on; annotations and GitHub's own links need them from the top on."""
    project = tmp_path / "projects" / "one"
    project.mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    (project / "train.py").touch()
    call("lock", "kept", "--file", project / "memory.lock")
    assert 'source = "train.py:' in (project / "memory.lock").read_text()
    server = {"GITHUB_SERVER_URL": "https://code.example", "GITHUB_REPOSITORY": "us/it", "GITHUB_SHA": "abc"}
    for name, value in server.items():
        monkeypatch.setenv(name, value)
    check = ["lock", "--check", "stored", "--comment", project / "comment.md", "--format", "github"]
    for folder, file in ((tmp_path, "projects/one/memory.lock"), (project, "memory.lock")):
        monkeypatch.chdir(folder)
        assert call(*check, "--file", file).out.startswith("::error file=projects/one/train.py,line=7,title=")
        assert "(https://code.example/us/it/blob/abc/projects/one/train.py#L7)" in (project / "comment.md").read_text()
    (project / "train.py").rename(tmp_path / "train.py")
    (project / "memory.lock").unlink()  # else the entry stays as it was reviewed
    call("lock", "kept", "--file", project / "memory.lock")
    assert 'source = "../../train.py:' in (project / "memory.lock").read_text()
    assert call(*check, "--file", project / "memory.lock").out.startswith("::error file=train.py,line=7,title=")


@pytest.mark.usefixtures("runs")
def test_json_closes(locked: Path):
    """For machines: the verdict, and causes that sum to the change."""
    said = call("lock", "--check", "undonated", "--file", locked, "--format", "json")
    found = json.loads(said.out)
    (program,) = found["programs"]
    assert (1, False, 1) == (said.code, found["is_passed"], len(found["gate"]["offenders"]))
    assert program["delta_bytes"] == sum(cause["bytes"] for cause in program["causes"])


@pytest.mark.usefixtures("runs")
def test_a_limit_lets_growth_pass(locked: Path):
    """--fail-over is that of compare. What passes is told, and nobody says that nothing grew."""
    check = ["lock", "--check", "stored", "--file", locked, "--fail-over", "10%", "--format"]
    for form in ("table", "markdown", "github"):
        said = call(*check, form)
        assert (0, True, False) == (said.code, "+1.0 MiB" in said.out, ": nothing grew\n" in said.out)
    assert "+1,048,576 B, within the limit 10 %25" in call(*check, "github", "--bytes").out
    assert 1 == len(json.loads(call(*check, "json").out)["within_limit"])
    assert 1 == call("lock", "--check", "stored", "--file", locked, "--fail-over", "1%").code


@pytest.mark.usefixtures("runs")
def test_what_was_accepted_passes(locked: Path, tmp_path: Path):
    """--accept keeps the reason in the file, an update without a change keeps it too, one with a change drops it."""
    path = Path(shutil.copy(locked, tmp_path))
    why = 'bigger "blocks"'
    assert 0 == call("lock", "stored", "--file", path, "--accept", "jit_train_step", "--why", why).code
    assert 0 == call("lock", "--check", "stored", "--file", path).code
    accepted = path.read_text()
    assert 'accepted = { growth_bytes = 1048576, why = "bigger \\"blocks\\"" }' in accepted
    assert 0 == call("lock", "--update", "stored", "--file", path).code
    assert accepted == path.read_text()
    assert 0 == call("lock", "--update", "kept", "--file", path).code
    assert locked.read_text() == path.read_text()


@pytest.mark.usefixtures("runs")
def test_a_program_is_accepted_alone_by_its_id(locked: Path, tmp_path: Path):
    """A program_id takes no other signature of its function along; the name takes all. Each accepted one is counted."""
    path = Path(shutil.copy(locked, tmp_path))
    ((function, _, number),) = read_lock(locked).entries
    words = ["lock", "kept", "layers-4", "--file", path, "--why", "so"]
    assert f"{path}: 1 program (cpu), 1 written\n" == call(*words, "--accept", number).err
    assert [number] == [key[2] for key in read_lock(path).entries]
    assert f"{path}: 2 programs (cpu), 2 written\n" == call(*words, "--accept", function).err


def test_the_way_out_accepts_one_of_the_programs_of_a_name(example_warehouse: Path, tmp_path: Path):
    """Where several are called alike, as those without a name are, it has the program_id, and works as printed."""
    path, seeds = tmp_path / "memory.lock", ("seeds", "--warehouse", example_warehouse)
    call("lock", *seeds, "--file", path)
    text = path.read_text()
    before, after = (
        (f"reserved_bytes = {size}\n", f"temp_bytes = {temp}\n") for size, temp in ((9760, 32), (9752, 24))
    )
    path.write_text(text.replace(before[0], after[0], 1).replace(before[1], after[1], 1))
    (number,) = (key[2] for key, entry in read_lock(path).entries.items() if entry.spaces[0].reserved_bytes == 9752)
    said = call("lock", "--check", *seeds, "--file", path).out
    assert f"--accept {number} --why REASON" in " ".join(said.split())
    call("lock", *seeds, "--file", path, "--accept", number, "--why", "so")
    assert (1, 0) == (path.read_text().count('why = "so"'), call("lock", "--check", *seeds, "--file", path).code)


def test_a_refused_dump_does_not_pass(locked: Path, tmp_path: Path):
    """A dump that cannot be read is told with its place, and the check fails."""
    shutil.copytree(LOCKED / "kept", tmp_path / "run")
    (tmp_path / "run" / "module_0002.jit_f.cpu_after_optimizations-buffer-assignment.txt").write_text(
        "BufferAssignment:\nallocation 0: size"
    )
    said = call("lock", "--check", tmp_path / "run", "--file", locked)
    assert (1, True) == (said.code, "1 dump could not be read" in said.out)
    assert (True, False) == ("not passed" in said.out, "is passed" in said.out)  # nothing grew, and yet
    assert ":2:15: expected " in said.err


def test_a_dump_with_allocations_alone_does_not_pass_for_one_that_shrank(locked: Path, tmp_path: Path):
    """Its file may have been cut short among them: the bytes that are left are no figure of the program."""
    dumps = Path(shutil.copytree(LOCKED / "kept", tmp_path / "kept"))
    [dump] = dumps.glob("*-buffer-assignment.txt.gz")
    head, _, _ = gzip.decompress(dump.read_bytes()).partition(b"\n\nTotal bytes used")
    dump.write_bytes(gzip.compress(head[: head.rindex(b"\nallocation") + 1]))
    said = call("lock", "--check", dumps, "--file", locked, "--format", "json")
    found = json.loads(said.out)
    assert (1, False, ["jit_train_step"], []) == (said.code, found["is_passed"], found["unjudged"], found["shrunk"])
    note = "1 program with allocations alone, no values and no live ranges: jit_train_step (cpu); if its file was cut"
    assert [True] == [one.startswith(note) for one in found["notes"] if "allocations alone" in one]
    text = call("lock", "--check", dumps, "--file", locked).out
    assert "the dump has allocations alone: its file may be cut short" in " ".join(text.split())
    assert "not judged, as its dump has allocations alone" in call(
        "lock", "--check", dumps, "--file", locked, "--format", "github"
    ).out  # fmt: skip


def test_a_peak_that_an_update_keeps_or_takes_out_is_named(tmp_path: Path):
    """A file of the dump is missing: the peak stays. One with allocations alone, whole or cut, takes it out."""
    dumps = Path(shutil.copytree(CHECKOUT / "examples" / "fleet" / "jaxlib-0.10.0", tmp_path / "dumps"))
    path = tmp_path / "memory.lock"
    call("lock", dumps, "--file", path)
    before = path.read_text()
    for file in dumps.glob("*.jit_fft.*-live-range.txt*"):
        file.unlink()
    said = call("lock", "--update", dumps, "--file", path)
    assert (0, before) == (said.code, path.read_text())
    assert f"the dumps of 1 program have no live ranges, and the peak stays in {path}: jit_fft\n" in said.err
    for file in dumps.glob("*.jit_fft.*-buffer-assignment-values.txt*"):
        file.unlink()
    said = call("lock", "--update", dumps, "--file", path)
    assert (0, before.count("\npeak = ") - 1) == (said.code, path.read_text().count("\npeak = "))
    assert f"the dumps of 1 program have no live ranges, and the peak was removed from {path}: jit_fft\n" in said.err


def test_a_line_of_a_log_is_no_dump_that_could_not_be_read(locked: Path, tmp_path: Path):
    """What an ingest refused of a log stands among the rejects of a run, and says nothing of its dumps."""
    shutil.copytree(LOCKED / "kept", tmp_path / "night")
    (tmp_path / "night" / "train.log").write_text("RESOURCE_EXHAUSTED: Ran out of memory on HBM, for once.\n")
    warehouse = tmp_path / "warehouse.duckdb"
    assert 1 == call("ingest", tmp_path / "night", "--warehouse", warehouse).code
    said = call("lock", "--check", "night", "--warehouse", warehouse, "--file", locked, "--format", "json")
    assert (0, []) == (said.code, json.loads(said.out)["refused"])


def test_what_cannot_be_opened_does_not_pass(locked: Path, tmp_path: Path):
    """Nobody knows which programs it holds: an archive cut short, a link that leads nowhere."""
    shutil.copytree(LOCKED / "kept", tmp_path / "kept")
    cut, link = tmp_path / "cut.tar.gz", tmp_path / "kept" / "linked-buffer-assignment.txt"
    cut.write_bytes(b"no archive")
    said = call("lock", "--check", tmp_path / "kept", cut, "--file", locked)
    assert (1, True) == (said.code, "1 dump could not be read" in said.out)
    link.symlink_to(tmp_path / "nowhere")
    said = call("lock", "--check", tmp_path / "kept", "--file", locked, "--format", "json")
    [refused] = json.loads(said.out)["refused"]
    assert (1, True) == (said.code, refused.startswith(f"{link}: "))


def test_a_cache_of_compilations_is_told_where_there_is_no_dump(locked: Path, example_warehouse: Path, tmp_path: Path):
    """What comes from a cache leaves other files, and no dump: of all programs, or of some. Nobody says so of a dump
    that is there and cannot be read.
    """
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "module_0002.jit_f.cpu_after_optimizations-buffer-assignment.txt").write_text("allocation")
    said = call("lock", "--check", tmp_path / "bad", "--file", locked)
    expected = f"bufferhouse: {tmp_path / 'bad'}: expected dumps of programs, found 1 dump that cannot be read"
    assert (2, expected) == (said.code, said.err.splitlines()[-1])
    shutil.rmtree(tmp_path / "bad")
    (tmp_path / "module_0002.jit_f.after_optimizations.txt").write_text("HloModule jit_f\n")
    said = call("lock", "--check", tmp_path, "--file", locked)
    assert (2, True) == (said.code, "compile with JAX_ENABLE_COMPILATION_CACHE=false" in said.err)
    seeds = ("seeds", "--warehouse", example_warehouse)
    text = " ".join(call("lock", "--check", *seeds, "--chip", "cpu", "--file", locked).out.split())
    assert "These have no dump: they were not compiled, or came from a cache of compilations." in text


def test_a_run_of_the_warehouse_is_locked(example_warehouse: Path, tmp_path: Path):
    """A run is named like everywhere; another release differs, and what compiled both is told."""
    path = tmp_path / "memory.lock"
    wanted = ["--warehouse", example_warehouse, "--file", path]
    assert 0 == call("lock", "jaxlib-0.4.38", *wanted).code
    assert 0 == call("lock", "--check", "jaxlib-0.4.38", *wanted).code
    said = call("lock", "--check", "jaxlib-0.6.0", *wanted)
    assert 1 == said.code
    assert "jaxlib 0.4.38" in said.out
    assert "jaxlib 0.6.0" in said.out
    assert "Why jit_cnn_train_step grew in memory space 0 (default)" in said.out


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], "expected dumps: directories, files, or runs of the warehouse"),
        (["nowhere"], "nowhere: no such file or directory, and no run of a warehouse"),
        ([LOCKED / "kept", "--check", "--update"], "expected one of --check, --update and --accept"),
        ([LOCKED / "kept", "--accept", "jit_f"], '--accept: expected --why "…" beside it'),
        ([LOCKED / "kept", "--why", "so"], "--why: expected --accept PROGRAM beside it"),
        (
            [LOCKED / "kept", "--accept", "jit_train", "--why", "so"],
            "there is no dump of a program 'jit_train'; did",
        ),
        ([LOCKED / "kept", "--comment", "c.md"], "--comment: expected --check beside it"),
        ([LOCKED / "kept", "--metric", "nonsense"], "--metric: expected --check beside it"),
        ([LOCKED / "kept", "--reshaped", "warn"], "--reshaped: expected --check beside it"),
        ([LOCKED / "kept", "--source-url", "https://x"], "--source-url: expected --check beside it"),
        ([LOCKED / "kept", "--format", "github"], "--format: expected --check beside it"),
        ([LOCKED / "kept", "--bytes"], "--bytes: expected --check beside it"),
        ([LOCKED / "kept", "--check", "--metric", "temp"], "--metric: expected reserved or occupied, found 'temp'"),
        ([LOCKED / "kept", "--check", "--fail-over", "much"], "--fail-over: expected a limit such as 5%"),
        ([LOCKED / "kept", "--check", "--reshaped", "so"], "--reshaped: expected fail, warn or ignore, found 'so'"),
        ([LOCKED / "kept", "--check"], "memory.lock: there is no such file; write it with: bufferhouse lock DUMPS"),
    ],
)
def test_a_wrong_call_is_refused(words: list, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Exit 2, with what was expected, and no file is written."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BUFFERHOUSE_WAREHOUSE", raising=False)
    said = call("lock", *words)
    assert (2, True) == (said.code, expected in said.err), said.err
    assert [] == list(tmp_path.iterdir())


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize("text", ['print("hello")\n', '[project]\nversion = "0.1.0"\n'])
def test_a_file_that_is_no_lock_is_left_as_it_is(tmp_path: Path, text: str):
    """A name that was mistyped ends no program of somebody."""
    path = tmp_path / "train.py"
    path.write_text(text)
    for words in ([], ["--update"]):
        said = call("lock", "kept", "--file", path, *words)
        assert (2, f"bufferhouse: {path}: expected a lock or no file, found another file; ") == (
            said.code,
            said.err[: said.err.index("remove it")],
        )
    assert text == path.read_text()


@pytest.mark.usefixtures("runs")
def test_a_comment_is_written_over_no_lock_and_no_warehouse(locked: Path, example_warehouse: Path, tmp_path: Path):
    """Both stay as they were, and so does what is no file; the check is not made."""
    lock, warehouse = tmp_path / "memory.lock", tmp_path / "w.duckdb"
    shutil.copy(locked, lock)
    shutil.copy(example_warehouse, warehouse)
    for comment, expected in (
        (lock, "that is the lock; name another file"),
        (warehouse, "that is a database, a warehouse or the catalog of a lake; name another file"),
        (tmp_path, "expected a file, found a folder"),
        (tmp_path / "none" / "c.md", "the folder of the comment does not exist"),
    ):
        before = [path.read_bytes() for path in (lock, warehouse)]
        said = call("lock", "--check", "kept", "--file", lock, "--comment", comment)
        assert (2, "", True) == (said.code, said.out, expected in said.err), said.err
        assert before == [path.read_bytes() for path in (lock, warehouse)]


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["nowhere"], "nowhere"),
        (["kept", "--chip", "TPU v6e"], "expected a chip of the dumps"),
        (["kept", "--metric", "temp"], "found 'temp'"),
        (["kept", "--file", "none.lock"], "there is no such file"),
    ],
)
def test_a_comment_says_that_no_check_could_be_made(words: list[str], why: str, locked: Path, tmp_path: Path):
    """With the reason, in the place of a comment about an older state of the branch."""
    (tmp_path / "c.md").write_text("passed")
    said = call("lock", "--check", "--file", locked, "--comment", tmp_path / "c.md", *words)
    text = (tmp_path / "c.md").read_text()
    assert (2, True, True) == (said.code, why in text, ": not checked\n" in text.splitlines(keepends=True)[0]), text


@pytest.mark.usefixtures("runs")
def test_the_way_out_of_a_file_that_cannot_be_used_names_the_chip(locked: Path, tmp_path: Path):
    """Without it a copied command would write entries of the chip that the names of the dumps say."""
    missing, merged = tmp_path / "none.lock", tmp_path / "merged.lock"
    merged.write_text(f"<<<<<<< ours\n{locked.read_text()}")
    for path, command in ((missing, "lock"), (merged, "lock --update")):
        said = call("lock", "--check", "kept", "--chip", "TPU v6e", "--file", path)
        assert f"with: bufferhouse {command} --file {path} --chip 'TPU v6e' DUMPS" in said.err


def test_the_way_to_name_the_compiler_fits_what_is_checked(locked: Path, tmp_path: Path):
    """A folder of dumps has no run in a warehouse: a run.json beside them says it, and what it says is taken."""
    dumps = Path(shutil.copytree(LOCKED / "kept", tmp_path / "kept"))
    (dumps / "run.json").unlink(missing_ok=True)
    warehouse = tmp_path / "warehouse.duckdb"
    assert 0 == call("ingest", dumps, "--warehouse", warehouse).code
    unnamed = (
        "nothing says which compiler made the dumps of 1 program, so no check can tell that another one did; say it "
    )
    of_folder = call("lock", "--check", dumps, "--file", locked).out
    of_run = call("lock", "--check", "kept", "--warehouse", warehouse, "--file", locked).out
    for said, way in ((of_folder, 'in a run.json beside them, as in {"compiler": "…"}'),
                      (of_run, "with: bufferhouse runs set RUN compiler=…")):  # fmt: skip
        assert f"{unnamed}{way}" in " ".join(said.split())
    (dumps / "run.json").write_text('{"compiler": "jaxlib"}')
    assert unnamed not in " ".join(call("lock", "--check", dumps, "--file", locked).out.split())


def test_a_word_that_is_neither_path_nor_run_is_said_to_be_neither(example_warehouse: Path):
    """Who mistypes a folder where a warehouse lies reads that the folder is not there."""
    said = call("lock", "dump/of/today", "--warehouse", example_warehouse)
    assert 2 == said.code
    assert "'dump/of/today': no such file or directory, and no run of the warehouse is called so" in said.err
    assert "\n  " not in said.err, "runs are no help to who mistyped a path"


@pytest.mark.usefixtures("runs")
def test_a_lock_of_another_chip_is_refused(locked: Path):
    """It says which chips there are on both sides, and where the file names its own."""
    said = call("lock", "--check", "kept", "--file", locked, "--chip", "TPU v6e")
    assert 2 == said.code
    assert f"{locked}:6:1: expected a chip of the dumps, 'TPU v6e', found 'cpu'; --chip says" in said.err


@pytest.mark.usefixtures("runs")
def test_the_way_in_of_another_chip_works_as_printed(locked: Path, tmp_path: Path):
    """It says the chip that the call said: without it an update would write the chip that is there already."""
    path = tmp_path / "memory.lock"
    shutil.copy(locked, path)
    own = ["--file", path, "--chip", "TPU v6e"]
    said = call("lock", "--check", "kept", *own)
    command = " ".join(said.err.split()).partition(" and bufferhouse ")[2].partition(" adds a chip")[0]
    words = [word if word != "DUMPS" else "kept" for word in shlex.split(command)]
    assert 0 == call(*words).code
    assert (["TPU v6e", "cpu"], 0) == (read_lock(path).chips, call("lock", "--check", "kept", *own).code)


@pytest.mark.usefixtures("runs")
def test_the_way_out_of_a_file_and_a_chip_of_ones_own_works_as_printed(tmp_path: Path):
    """It names the file as a shell reads it, and the chip that the call said: else an update would write another."""
    path = tmp_path / "of v5e" / "memory.lock"
    path.parent.mkdir()
    own = ["--file", path, "--chip", "TPU v5e"]
    assert 0 == call("lock", "kept", *own).code
    said = call("lock", "--check", "stored", *own)
    assert 1 == said.code
    command = " ".join(said.out.split()).partition("; bufferhouse ")[2].partition(" writes all")[0]
    words = [word if word != "DUMPS" else "stored" for word in shlex.split(command)]
    assert ["lock", "--file", str(path), "--chip", "TPU v5e", "--update"] == words[:-1]
    assert 0 == call(*words).code
    assert (0, ["TPU v5e"]) == (call("lock", "--check", "stored", *own).code, read_lock(path).chips)


@pytest.mark.usefixtures("runs")
def test_a_dump_that_cannot_be_read_takes_no_entry_out_of_a_new_file(tmp_path: Path):
    """It may be of any program without a dump: entry and reason of that stay, as in a file that is updated."""
    path, dumps = tmp_path / "memory.lock", tmp_path / "dumps"
    assert 0 == call("lock", "kept", "layers-4", "--file", path).code
    assert 0 == call("lock", "kept", "--file", path, "--accept", "jit_train_step", "--why", "so").code
    before = path.read_text()
    shutil.copytree(RESHAPED, dumps)
    cut = "module_0001.jit_train_step.cpu_after_optimizations-buffer-assignment.txt"
    (dumps / cut).write_text("BufferAssignment:\nallocation 0: size")
    said = call("lock", dumps, "--file", path)
    stays = f"1 program without a dump stays in {path}: a dump that cannot be read may be of it"
    assert (1, stays, before) == (said.code, said.err.splitlines()[-1], path.read_text())
    other = tmp_path / "other.lock"
    assert 0 == call("lock", "stored", "--file", other).code
    path.write_text(f"<<<<<<< ours\n{before}=======\n{other.read_text()}>>>>>>> theirs\n")
    said = call("lock", dumps, "--file", path)
    assert (2, True) == (said.code, f"write the file anew with: bufferhouse lock --file {path} DUMPS" in said.err)


def test_dumps_of_several_compilers_are_told_as_such(fleet: Path, tmp_path: Path):
    """One entry stands for a program on a chip, so a lock of two releases holds the larger one: lock one release."""
    said = call("lock", fleet / "jaxlib-0.6.0", fleet / "jaxlib-0.9.0", "--file", tmp_path / "memory.lock")
    note = (
        "takes other bytes in jaxlib-0.6.0, jaxlib-0.9.0, compiled by jaxlib 0.6.0 and jaxlib 0.9.0; the largest "
        "stands. Lock the dumps of one compiler; if they are of several chips, say that of each in a run.json"
    )
    assert (0, True) == (said.code, note in said.err)


def test_runs_of_one_compiler_may_be_of_several_chips(runs: None, tmp_path: Path):
    """Nothing says which compiler made these, so the way out is another name for the chip."""
    said = call("lock", "kept", "stored", "--file", tmp_path / "memory.lock")
    note = "takes other bytes in kept, stored; the largest stands. If they are of several chips, say that of each with"
    assert (0, True) == (said.code, note in said.err)
