"""An ingest that finds no dump says so; what XLA writes beside dumps is no reject."""

import json
from pathlib import Path

from tests.command_line import call
from tests.ingests import ingest, name_of, write_dumps
from tests.warehouses import rows

OTHERS = (
    "module_0001.jit_f.before_optimizations.hlo.pb",
    "module_0001.jit_f.ir-with-opt.ll",
    "module_0001.jit_f.ir-no-opt.ll",
    "module_0001.jit_f.o",
    "module_0001.jit_f.cpu_after_optimizations.txt",
    "module_0001.jit_f.cpu_after_optimizations-memory-usage-report.txt",
    "module_0001.jit_f.debug_options",
    "flags.flagfile",
)


def write_others(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    for name in OTHERS:
        (folder / name).write_bytes(b"\x00\xffnot a dump\n")
    return folder


def test_a_folder_without_dumps_is_no_success(tmp_path):
    """It says what was there and which flags XLA wants; no warehouse is made, nor by a plan."""
    folder, none = write_others(tmp_path / "run"), tmp_path / "none.duckdb"
    for words in ([], ["--plan"]):
        outcome = call("ingest", folder, "--warehouse", none, *words)
        assert 1 == outcome.code
        assert "no dump found" in outcome.out
        assert "2 .ll, " in outcome.out
        assert "1 .hlo.pb" in outcome.out
        assert "--xla_dump_hlo_as_text" in outcome.out
        assert not none.exists()
    code, summary = ingest(none, folder)
    assert (1, 0, len(OTHERS), 2) == (code, summary["seen"], summary["ignored"], summary["endings"][".ll"])


def test_a_log_without_dumps_is_a_file_that_was_seen(tmp_path):
    """As of a job with `--xla_dump_to=-`, whose dumps all lie in its log."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "train.log").write_bytes(b"*** Begin module_0001.cpu_after_optimizations.txt ***\n")
    outcome = call("ingest", tmp_path / "run", "--warehouse", tmp_path / "none.duckdb")
    assert (1, True) == (outcome.code, "nothing loaded; seen: 1 .log" in outcome.out)
    assert "no file at all" not in outcome.out


def test_a_log_that_is_named_alone_needs_its_run(warehouse, tmp_path):
    """`ingest LOG` says so, and what explains the log; of a run that is not there it says that its dumps come first."""
    (tmp_path / "train.log").write_text("RESOURCE_EXHAUSTED: Out of memory allocating 4294967296 bytes.\n")
    outcome = call("ingest", tmp_path / "train.log", "--warehouse", warehouse)
    said = "Of a log alone name the run: ingest LOG --run RUN; to explain what it says: bufferhouse oom LOG\n"
    assert (1, f"no dump found, and nothing loaded; seen: 1 .log. {said}") == (outcome.code, outcome.out)
    outcome = call("ingest", tmp_path / "train.log", "--warehouse", warehouse, "--run", "new")
    assert (1, True) == (outcome.code, "there is no run new in the warehouse; ingest its dumps first" in outcome.out)
    write_dumps(tmp_path / "dumps", [1])
    ingest(warehouse, tmp_path / "dumps", "--run", "new")
    outcome = call("ingest", tmp_path / "train.log", "--warehouse", warehouse, "--run", "new")
    assert (0, True) == (outcome.code, "1 log read: 1 new message about memory" in outcome.out)


def test_a_log_that_is_not_called_one_is_known_by_what_it_says(warehouse, tmp_path):
    """What is named is taken for a dump, and refused with the way out."""
    (tmp_path / "train.txt").write_text("step 1\nRESOURCE_EXHAUSTED: Out of memory allocating 4294967296 bytes.\n")
    outcome = call("ingest", tmp_path / "train.txt", "--warehouse", warehouse)
    expected = "train.txt:1:1: expected 'BufferAssignment:', found a log; name it …log, as train.log, to have it read"
    assert (1, True) == (outcome.code, expected in outcome.out)


def test_who_means_an_empty_source_says_so(tmp_path):
    """With --allow-empty it is an ingest like any other."""
    (tmp_path / "empty").mkdir()
    none = tmp_path / "none.duckdb"
    assert "no file at all" in call("ingest", tmp_path / "empty", "--warehouse", none).out
    outcome = call("ingest", tmp_path / "empty", "--allow-empty", "--warehouse", none)
    assert (0, True) == (outcome.code, none.exists())


def test_what_lies_beside_dumps_is_ignored_when_it_is_named(warehouse, tmp_path):
    """As `ingest DIR/*` names it: no reject. A dump is one whatever it is called, and a module text belongs to it."""
    folder = write_others(tmp_path / "run")
    [dump] = write_dumps(folder, [1])
    odd = folder / "odd.pb"
    odd.write_bytes(dump.read_bytes().replace(b"u8[9]", b"u8[10]"))
    outcome = call("ingest", *sorted(folder.iterdir()), "--warehouse", warehouse, "--format", "json")
    summary = json.loads(outcome.out)
    assert (0, 0, len(OTHERS) - 1) == (outcome.code, summary["rejected"], summary["ignored"])
    assert {(name_of(1),), ("odd.pb",)} == set(rows(warehouse, "SELECT relative_path FROM raw.observations"))


def test_a_run_that_nobody_describes_is_warned_about_once(warehouse, tmp_path):
    """With the command that describes it; the platform may stand in the names of files."""
    write_dumps(tmp_path / "run", [1])
    outcome = call("ingest", tmp_path / "run", "--warehouse", warehouse)
    assert "run run: compiler not known; set them in a run.json" in outcome.out
    assert "bufferhouse runs set run compiler=…" in outcome.out
    write_dumps(tmp_path / "run", [2])
    assert "not known" not in call("ingest", tmp_path / "run", "--warehouse", warehouse).out
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "run.json").write_text('{"compiler": "jaxlib"}')
    write_dumps(tmp_path / "other", [3])
    assert "not known" not in call("ingest", tmp_path / "other", "--warehouse", warehouse).out


def test_of_a_run_only_what_is_not_known_is_asked_for(warehouse, tmp_path):
    """A run.json says the compiler, and the names of files may say the platform: each may lack alone, or both."""
    for run in ("bare", "told"):
        write_dumps(tmp_path / run, [1])[0].rename(tmp_path / run / "module_0001.jit_step-buffer-assignment.txt")
    (tmp_path / "told" / "run.json").write_text('{"compiler": "jaxlib"}')
    said = [call("ingest", tmp_path / run, "--warehouse", warehouse).out for run in ("bare", "told")]
    beside = "in a run.json beside the dumps, or with: bufferhouse runs set"
    keys = "compiler=… compiler_version=… platform=…"
    assert f"run bare: compiler or platform not known; set them {beside} bare {keys}\n" in said[0]
    assert f"run told: platform not known; set it {beside} told platform=…\n" in said[1]


def test_unwanted_rejects_can_be_removed(warehouse, tmp_path):
    """By rule, run, age or id, after a look at the plan; others stay."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / name_of(1)).write_bytes(b"BufferAssignment:\nnonsense\n")
    (tmp_path / "run" / f"{name_of(2)}.gz").write_bytes(b"\x1f\x8bnonsense")
    ingest(warehouse, tmp_path / "run")
    kept, removed = [("compression",)], "1 reject removed\n"
    [(rule,)] = rows(warehouse, "SELECT rule FROM raw.rejects WHERE rule <> 'compression'")
    assert rule in call("rejects", "rm", "--rule", rule, "--plan", "--warehouse", warehouse).out
    assert [(2,)] == rows(warehouse, "SELECT COUNT(*) FROM raw.rejects")
    assert removed == call("rejects", "rm", "--rule", rule, "--run", "run", "--yes", "--warehouse", warehouse).out
    assert kept == rows(warehouse, "SELECT rule FROM raw.rejects")
    for days in ("1", "1d", "0.02"):  # seconds old is not half an hour old
        old = call("rejects", "rm", "--older-than", days, "--yes", "--warehouse", warehouse)
        assert "0 rejects removed\n" == old.out
        assert "bufferhouse: no reject matches; see: bufferhouse rejects ls --all\n" in old.err
    would = call("rejects", "rm", "--run", "latest", "--plan", "--warehouse", warehouse).out
    assert "1 reject would be removed" == would.splitlines()[-1]
    for words, expected in (
        ([], "expected ids of rejects"),
        (["99"], "there is no reject 99"),
        (["1", "--all"], "expected ids of rejects, or --all, not both"),
        (["--run", "other"], "there is no run 'other'"),
        (["--older-than", "inf"], "--older-than: expected a number of days since the year 1, found inf"),
        (["--older-than", "nan"], "--older-than: expected a number of days, found 'nan'"),
    ):
        outcome = call("rejects", "rm", *words, "--yes", "--warehouse", warehouse)
        assert (2, True) == (outcome.code, expected in outcome.err)
    assert removed == call("rejects", "rm", "--all", "--yes", "--warehouse", warehouse).out


def test_a_run_whose_facts_cannot_be_read_is_not_called_empty(warehouse, tmp_path):
    """Its dumps are there: nobody is told to allow that there are none."""
    write_dumps(tmp_path / "run", [1, 2])
    (tmp_path / "run" / "run.json").write_text("}")
    for what in ("what", "seen: 2 .ll, 1 .hlo.pb, 1 .txt, 1 .o, 1 .flagfile, 1 .debug_options; what else"):
        outcome = call("ingest", tmp_path / "run", "--warehouse", warehouse)
        assert (1, f"nothing loaded; {what} is there cannot be read") == (outcome.code, outcome.out.splitlines()[0])
        assert (True, False) == ("2 dumps left out" in outcome.out, "--allow-empty" in outcome.out)
        write_others(tmp_path / "run")
