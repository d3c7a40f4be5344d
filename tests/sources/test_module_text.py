"""Module texts beside dumps: when their heads are read, what is resolved by them, and what a damaged one does."""

import gzip
import io
import os
import random
import shutil
import tarfile
import zipfile
from pathlib import Path

import duckdb
import pytest

from bufferhouse.ingest.arrivals import Rules
from bufferhouse.sources.discover import discover
from bufferhouse.sources.module_text import _head_by_lines, _small_head
from tests.command_line import call
from tests.ingest.test_arrivals import age, one_pass
from tests.ingests import SUFFIX, ingest
from tests.sources.module_texts import DATA, ENDING, call_stacks, copied, mentioned, text_of
from tests.warehouses import contents, counts, rows, unproved

STACKS = """
    SELECT t.stack_frame_id, c.depth, c.function_name, c.source_file, c.source_line
    FROM marts.call_stacks AS c JOIN staging.instruction_texts AS t USING (dump_id, instruction_text_id)
    JOIN staging.observations AS o USING (dump_id) JOIN raw.runs AS r USING (run_id)
    WHERE r.run_name = ? AND o.module_name = ? GROUP BY ALL ORDER BY ALL
"""
LINES = """
    SELECT DISTINCT function_name, source_file, source_line FROM staging.instruction_texts
    WHERE op_name = 'jit(scalar_add)/add'
"""
RESOLVED = [("scalar_add", "/srv/train/programs.py", 26)]
NONE = [(None, None, None)]


def moved(text: Path, line: int, *, later: int = 1) -> None:
    """Let the source line of the last frame be another, as when the source was edited and compiled again."""
    stat = text.stat()
    text.write_text(text.read_text().replace("line=26 end_line=26", f"line={line} end_line={line}"))
    os.utime(text, ns=(stat.st_mtime_ns + later * 10**9,) * 2)


def has_frames(warehouse: Path) -> list[tuple]:
    """The programs of a warehouse and whether there were stack frames for them."""
    return rows(
        warehouse,
        "SELECT o.module_name, BOOL_OR(d.has_stack_frames) FROM staging.dumps AS d"
        " JOIN raw.observations AS o USING (dump_id) GROUP BY ALL ORDER BY ALL",
    )


def test_every_call_stack_of_real_dumps_is_resolved(warehouse):
    """Of combined and of split dumps, of CPU and of TPU: each frame that an instruction names, out to the module."""
    code, summary = ingest(warehouse, DATA)
    assert (0, 6, 0, {}) == (code, summary["new"], summary["ignored"], summary["warnings"])
    resolved = 0
    for path in sorted(DATA.glob(f"*/*{ENDING}")):
        stacks = call_stacks(path.read_text())
        dumps = path.parent.glob(f"{path.name.removesuffix('.txt')}*-buffer-assignment*.txt")
        named = set().union(*(mentioned(dump.read_text()) for dump in dumps))
        expected = [(frame, depth, *place) for frame in sorted(named) for depth, place in enumerate(stacks[frame])]
        assert expected == rows(warehouse, STACKS, [path.parent.name, path.name.split(".")[1]])
        resolved += len(expected)
    assert 35 == resolved
    assert [("jit_ew_tiny", True), ("jit_identity", False), ("jit_reductions", True), ("jit_scalar_add", True),
            ("jit_while_simple", True)] == has_frames(warehouse)  # fmt: skip
    assert [(True,)] == rows(
        warehouse,
        "SELECT DISTINCT (stack_frame_id IS NULL) = (source_file IS NULL) FROM staging.instruction_texts",
    )
    shown = rows(warehouse, "SELECT DISTINCT source_file FROM marts.peak_buffers WHERE source_file IS NOT NULL")
    assert [("/srv/train/programs.py",), ("/srv/train/programs_tpu.py",)] == sorted(shown)
    assert [] == unproved(warehouse)


def test_module_texts_are_no_part_of_their_dumps(warehouse, blank_warehouse, tmp_path):
    """The same dumps, rows and exports with them and without; beside them lie the frames, equal ones once."""
    other = Path(shutil.copy(blank_warehouse, tmp_path / "other.duckdb"))
    ingest(warehouse, copied(tmp_path / "with"))
    ingest(other, copied(tmp_path / "without", with_texts=False))
    mine, own = contents(warehouse), contents(other)
    beside = {"observations", "stack_frames", "runs"}
    assert {t: r for t, r in own.items() if t not in beside} == {t: r for t, r in mine.items() if t not in beside}
    assert (14, 0) == (len(mine["stack_frames"]), len(own["stack_frames"]))
    ingest(warehouse, copied(tmp_path / "again", "jaxlib-0.9.0"))
    assert 14 == counts(warehouse)["stack_frames"]  # the same source, compiled by two compilers


def test_running_twice_changes_nothing(warehouse, tmp_path):
    """Nor does --rehash, nor a module text that is gone."""
    directory = copied(tmp_path)
    ingest(warehouse, directory)
    before = contents(warehouse)
    for words in ([], ["--rehash"], ["--plan"]):
        code, summary = ingest(warehouse, directory, *words)
        assert (0, 0, 3) == (code, summary["new"], summary["known"])
        assert before == contents(warehouse)
    text_of(directory).unlink()
    for words in ([], ["--rehash"]):
        assert 3 == ingest(warehouse, directory, *words)[1]["known"]
        assert before == contents(warehouse)
    assert RESOLVED == rows(warehouse, LINES)


# Compressed ones are read in tests/sources/test_archive.py and test_bucket.py.
@pytest.mark.parametrize("name", ["plain", pytest.param("compressed", marks=pytest.mark.soak)])
def test_a_module_text_that_comes_later_is_read_and_its_dump_is_not(warehouse, tmp_path, name):
    """Known dumps get their lines by the next ingest, without a look at them: these have been wiped meanwhile."""
    directory = copied(tmp_path, "jaxlib-0.9.0", with_texts=False)
    assert (0, 1) == (ingest(warehouse, directory)[0], counts(warehouse)["observations"])
    assert (NONE, [("jit_scalar_add", False)]) == (rows(warehouse, LINES), has_frames(warehouse))
    [dump] = directory.glob(f"*{SUFFIX}")
    stat = dump.stat()
    dump.write_bytes(b"\0" * stat.st_size)
    os.utime(dump, ns=(stat.st_mtime_ns,) * 2)
    text = (DATA / "jaxlib-0.9.0" / text_of(directory).name).read_bytes()
    target = text_of(directory)
    if name == "compressed":
        target.with_name(f"{target.name}.gz").write_bytes(gzip.compress(text))
    else:
        target.write_bytes(text)
    code, summary = ingest(warehouse, directory, "--plan")
    assert (0, 0, 1) == (code, summary["new"], summary["known"])
    assert NONE == rows(warehouse, LINES)
    for observations, frames in ((2, 3), (2, 0)):
        code, summary = ingest(warehouse, directory)
        assert (0, 0, 1, 0) == (code, summary["new"], summary["known"], summary["rejected"])
        assert (observations, frames) == (counts(warehouse)["observations"], summary["rows"].get("stack_frames", 0))
        assert (RESOLVED, [("jit_scalar_add", True)]) == (rows(warehouse, LINES), has_frames(warehouse))
    assert [(1,)] == rows(warehouse, "SELECT COUNT(*) FROM staging.observations")
    assert [] == unproved(warehouse)


def test_the_newest_module_text_counts(warehouse, tmp_path):
    """The same dump from source that has moved: in a changed file, and in another run, whichever was written last."""
    directory = copied(tmp_path)
    ingest(warehouse, directory)
    moved(text_of(directory), 40)
    code, summary = ingest(warehouse, directory)
    assert (0, 3, 1) == (code, summary["known"], summary["rows"]["observations"])
    assert [("scalar_add", "/srv/train/programs.py", 40)] == rows(warehouse, LINES)
    for run, later in (("old", 1), ("new", 9), ("older", -5)):
        moved(text_of(copied(tmp_path / "runs" / run)), {"old": 51, "new": 52, "older": 53}[run], later=later)
    ingest(warehouse, *(tmp_path / "runs").iterdir(), "--run", "several")
    assert [("scalar_add", "/srv/train/programs.py", 52)] == rows(warehouse, LINES)


def packed(path: Path, directory: Path, names: list[str]) -> Path:
    """Pack files of a directory into an archive, in this order."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            for name in names:
                archive.write(directory / name, f"run/{name}")
    else:
        with tarfile.open(path, "w:gz") as archive:
            for name in names:
                archive.add(directory / name, f"run/{name}")
    return path


# Members of a zip file need not stand in an order: they are read as files of a directory.
@pytest.mark.parametrize("suffix", [".tar.gz", pytest.param(".zip", marks=pytest.mark.soak)])
def test_archives_may_hold_them(warehouse, tmp_path, suffix):
    """In whatever order their members stand, and in an archive that is packed anew when they are there."""
    directory = copied(tmp_path, "jaxlib-0.10.0")
    names = sorted(path.name for path in directory.iterdir())
    without = [name for name in names if not name.endswith(ENDING)]
    archive = tmp_path / f"dumps{suffix}"
    assert 0 == ingest(warehouse, packed(archive, directory, without))[0]
    assert NONE == rows(warehouse, LINES)
    code, summary = ingest(warehouse, packed(archive, directory, names[::-1]))
    assert (0, 3, 14, 0) == (code, summary["known"], summary["rows"]["stack_frames"], summary["ignored"])
    assert RESOLVED == rows(warehouse, LINES)
    code, summary = ingest(warehouse, packed(archive, directory, names))
    assert (3, {}) == (summary["known"], summary["rows"])


def test_a_dump_that_is_named_finds_the_file_beside_it(warehouse, tmp_path):
    """Also where patterns choose dumps, and where all files are named; a module text without its dump is ignored."""
    directory = copied(tmp_path)
    [dump] = directory.glob(f"*scalar_add*{SUFFIX}")
    found = discover([dump])
    assert [str(text_of(directory))] == [one.module_text.path for one in found.dumps]
    for include in (["*scalar_add*-buffer-assignment.txt"], ["*scalar_add*"]):
        [one] = discover([directory], include=include).dumps
        assert (str(text_of(directory)), 3) == (one.module_text.path, len(one.parts))
    assert [None] * 3 == [one.module_text for one in discover([directory], exclude=[f"*{ENDING}"]).dumps]
    every = discover(sorted(directory.iterdir()))
    assert (3, 3) == (len(every.dumps), sum(one.module_text is not None for one in every.dumps))
    gz = dump.with_name(f"{dump.name}.gz")
    gz.write_bytes(gzip.compress(dump.read_bytes()))
    assert (0, 2) == (ingest(warehouse, dump, gz)[0], counts(warehouse)["observations"])
    dump.unlink()
    gz.unlink()
    assert (2, 1) == (len(discover([directory]).dumps), discover([directory]).ignored_count - 2)


def test_the_body_of_a_module_text_is_never_read(warehouse, tmp_path):
    """One beyond the limit on the size of files, which no memory could hold."""
    directory = copied(tmp_path, "jaxlib-0.9.0")
    with text_of(directory).open("r+b") as file:
        file.truncate(1 << 40)
    assert (0, {}) == (ingest(warehouse, directory)[0], ingest(warehouse, directory)[1]["warnings"])
    assert RESOLVED == rows(warehouse, LINES)


def test_a_damaged_head_leaves_a_dump_without_lines_and_a_warning(warehouse, tmp_path):
    """The batch goes on; the summary names the file, the mart the dump; repaired, the warning is gone."""
    directory = copied(tmp_path)
    text = text_of(directory)
    whole = text.read_bytes()
    text.write_bytes(whole[: whole.index(b'"mk"') + 2])
    outcome = call("ingest", directory, "--warehouse", warehouse)
    fault = """8:1: expected a line such as: 1 "step", found '2 "m'"""
    assert 0 == outcome.code
    assert f"warning: {text}:{fault}; the dump is loaded without its source lines" in outcome.out
    expected = [("stack_frames_readable", 1, "a module text whose head can be read", fault)]
    found = "SELECT rule, occurrence_count, expected, found FROM marts.warnings"
    assert expected == rows(warehouse, found)
    frames = [("jit_identity", False), ("jit_reductions", True), ("jit_scalar_add", False)]
    assert (NONE, frames) == (rows(warehouse, LINES), has_frames(warehouse))
    assert ({}, expected) == (ingest(warehouse, directory)[1]["warnings"], rows(warehouse, found))  # told once
    assert {"stack_frames_readable": 1} == ingest(warehouse, directory, "--rehash")[1]["warnings"]
    assert 3 == counts(warehouse)["observations"]
    text.write_bytes(whole)
    assert (0, {}) == (ingest(warehouse, directory)[0], ingest(warehouse, directory)[1]["warnings"])
    assert (RESOLVED, []) == (rows(warehouse, LINES), rows(warehouse, found))


def test_a_module_text_that_cannot_be_read_is_tried_again(warehouse, tmp_path):
    """A link that leads nowhere: a warning each time, one observation, and lines as soon as it leads somewhere."""
    directory = copied(tmp_path, "jaxlib-0.9.0")
    text, hidden = text_of(directory), directory / "hidden"
    text.rename(hidden)
    text.symlink_to(directory / "nothing")
    for _ in range(2):
        code, summary = ingest(warehouse, directory)
        assert (0, {"stack_frames_readable": 1}) == (code, summary["warnings"])
        assert 1 == counts(warehouse)["observations"]
    hidden.rename(directory / "nothing")
    assert (0, {}) == (ingest(warehouse, directory)[0], ingest(warehouse, directory)[1]["warnings"])
    assert (RESOLVED, 2) == (rows(warehouse, LINES), counts(warehouse)["observations"])


def test_a_rejected_dump_gets_its_lines_when_it_is_repaired(warehouse, tmp_path):
    """A refusal keeps no frames."""
    directory = copied(tmp_path, "jaxlib-0.9.0")
    [dump] = directory.glob(f"*{SUFFIX}")
    whole = dump.read_bytes()
    dump.write_bytes(whole[:-30])
    assert (1, 0) == (ingest(warehouse, directory)[0], counts(warehouse)["stack_frames"])
    dump.write_bytes(whole)
    assert (0, RESOLVED) == (ingest(warehouse, directory)[0], rows(warehouse, LINES))


def test_frames_go_with_the_last_run_that_was_seen_with_them(warehouse, tmp_path):
    """And stay, packed anew, as long as another run has them."""
    for build in ("jaxlib-0.10.0", "jaxlib-0.9.0"):
        ingest(warehouse, copied(tmp_path, build))
    for run, count in (("jaxlib-0.10.0", 3), ("jaxlib-0.9.0", 0)):
        assert 0 == call("runs", "rm", "--yes", run, "--warehouse", warehouse).code
        assert 0 == call("compact", "--warehouse", warehouse).code
        assert count == counts(warehouse)["stack_frames"]
        assert (RESOLVED if count else []) == rows(warehouse, LINES)


def test_a_module_text_settles_before_it_is_read(warehouse, tmp_path):
    """One that somebody may still be writing waits; a late one is no late dump."""
    directory = copied(tmp_path / "dumps", "jaxlib-0.9.0")
    text, rules = text_of(directory), Rules(settle=60)
    age(*directory.iterdir())
    age(text, seconds=1)
    [dump] = directory.glob(f"*{SUFFIX}")
    first = one_pass(warehouse, tmp_path / "dumps", rules)
    assert (0, [f"{dump}: its module text changed less than 60 s ago"]) == (first.new, first.waiting)
    age(text, seconds=100)
    second = one_pass(warehouse, tmp_path / "dumps", rules)
    assert (1, [], 0) == (second.new, second.waiting, second.late)
    assert RESOLVED == rows(warehouse, LINES)


def test_nothing_that_is_stored_with_a_dump_hangs_on_what_lies_beside_it(warehouse, tmp_path):
    """A load computes on the batch alone, without what lies beside a dump; over the warehouse it comes out the same."""
    ingest(warehouse, copied(tmp_path))
    with duckdb.connect(str(warehouse), read_only=True) as con:
        for name, sql in con.execute("SELECT model_name, model_sql FROM meta.models WHERE is_incremental").fetchall():
            stored = con.execute(f"FROM {name} ORDER BY ALL").fetchall()
            assert stored == con.execute(f"FROM (\n{sql}\n) AS model ORDER BY ALL").fetchall(), name


def test_a_small_head_is_that_of_its_lines():
    """Cut, damaged or with more before it: what is taken at once is what reading line by line gives."""
    rng, taken = random.Random(24), 0
    texts = [path.read_bytes()[:20_000] for path in sorted(DATA.glob(f"*/*{ENDING}"))]
    marks = [
        b"\n",
        b"\n\n",
        b" {\n",
        b"\nFileNames\n",
        b"\nStackFrames\n",
        b"HloModule ",
        b"\n%f (p: f32[]) -> f32[] {\n",
    ]
    for number in range(4000):
        text = texts[number % len(texts)]
        for _ in range(rng.randrange(3)):
            place = rng.randrange(min(len(text), 3000))
            kind = rng.randrange(3)
            text = text[:place] if kind == 0 and place else text[:place] + rng.choice(marks) + text[place + kind :]
        head = _small_head(text)
        taken += head is not None
        assert head in (None, _head_by_lines(io.BytesIO(text)))
    assert taken > 1000
