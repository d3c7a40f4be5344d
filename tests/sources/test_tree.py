"""Directories and single files as trees: what is refused by name, what is too large, and what changes meanwhile."""

import gzip
import os
import shutil

import pytest

from bufferhouse.errors import UsageError
from bufferhouse.sources.directory import Directory, split_at_archive
from bufferhouse.sources.discover import discover
from tests.command_line import call, call_without_capabilities
from tests.ingests import SUFFIX, ingest, name_of, write_dumps
from tests.synthetic import small_dump
from tests.warehouses import contents, counts, rows

SPLIT = ("-buffer-assignment.txt", "-buffer-assignment-values.txt", "-live-range.txt")


def test_a_directory_that_cannot_be_listed_is_refused_by_name(tmp_path):
    """A directory that goes while its neighbors are listed stops nothing else."""
    for name in ("a", "b", "c"):
        write_dumps(tmp_path / name, [1])
    tree = Directory(str(tmp_path))
    entries = tree.entries()
    listed = [next(entries).path]
    shutil.rmtree(tmp_path / "b")
    listed += [entry.path for entry in entries]
    assert [str(tmp_path / name / name_of(1)) for name in ("a", "c")] == listed
    assert [(f"{tmp_path}/b", "No such file or directory")] == tree.refused


def test_a_file_that_goes_while_it_is_listed_is_refused_by_name(tmp_path):
    """Between the names and their sizes a file may go."""
    paths = write_dumps(tmp_path, [1, 2, 3])
    tree = Directory(str(tmp_path))
    entries = tree.entries()
    listed = [next(entries).path]
    paths[1].unlink()
    listed += [entry.path for entry in entries]
    assert [str(paths[0]), str(paths[2])] == listed
    assert [(str(paths[1]), "No such file or directory")] == tree.refused


def test_a_pipe_that_is_named_is_a_wrong_call(tmp_path):
    """Reading it would wait for ever."""
    os.mkfifo(tmp_path / "pipe.tar")
    for source in (tmp_path / "pipe.tar", "/dev/null"):
        with pytest.raises(UsageError, match="not a regular file"):
            discover([source])


def test_a_name_that_is_no_text_is_refused_by_name(warehouse, tmp_path):
    """No column can hold it: the message shows its bytes, exit 1, and the other files load."""
    write_dumps(tmp_path / "run", [1])
    odd = os.fsencode(tmp_path / "run") + b"/\xff\xfe" + SUFFIX.encode()
    with open(odd, "wb") as file:
        file.write(small_dump(2))
    outcome = call("ingest", tmp_path / "run", "--warehouse", warehouse)
    assert 1 == outcome.code
    assert f"unreadable: {tmp_path}/run/\\udcff\\udcfe{SUFFIX}: the name is not UTF-8" in outcome.out
    assert 1 == counts(warehouse)["dumps"]


def test_names_of_other_alphabets_are_names(warehouse, tmp_path):
    """What is UTF-8 is kept as it is."""
    path = tmp_path / "größe" / f"実験{SUFFIX}"
    path.parent.mkdir()
    path.write_bytes(small_dump(1))
    assert 0 == ingest(warehouse, path.parent)[0]
    assert [("größe", path.name)] == rows(
        warehouse, "SELECT run_name, relative_path FROM raw.observations JOIN raw.runs USING (run_id)"
    )


def test_an_exclamation_mark_in_a_name_is_one(tmp_path):
    """Only behind the name of an archive it says what is inside."""
    write_dumps(tmp_path / "now!" / "a!b", [1])
    (tmp_path / "now!" / "a!b" / f"c!d{SUFFIX}").write_bytes(small_dump(2))
    (tmp_path / "now!" / "run.json").write_text('{"run_name": "x"}')
    found = discover([tmp_path])
    assert [("x", f"a!b/c!d{SUFFIX}"), ("x", f"a!b/{name_of(1)}")] == [
        (dump.run_name, dump.relative_path) for dump in found.dumps
    ]
    assert ("/x/y.tar.gz!", "z!w") == split_at_archive("/x/y.tar.gz!z!w")
    assert ("/x/y!z", None) == split_at_archive("/x/y!z")
    (tmp_path / "now!" / "run.json").unlink()
    assert ["a!b"] == list(discover([tmp_path]).runs)


def test_all_files_of_a_directory_named_one_by_one(warehouse, tmp_path, fleet):
    """As a shell expands `dir/*`: siblings join their dump, run.json describes the run, and neither is a dump."""
    [main] = (fleet / "jaxlib-0.10.0").glob(f"*scalar_add*{SUFFIX}")
    for suffix in SPLIT:
        shutil.copy(main.with_name(main.name.removesuffix(SUFFIX) + suffix), tmp_path)
    (tmp_path / "run.json").write_text('{"run_name": "named", "platform": "cpu"}')
    code, summary = ingest(warehouse, *sorted(tmp_path.glob("*[tn]")))
    assert (0, 1, 1) == (code, summary["seen"], summary["new"])
    assert [("named", "cpu", "split", "present")] == rows(
        warehouse,
        "SELECT r.run_name, r.platform, d.file_layout, d.live_range_state FROM raw.observations"
        " JOIN raw.runs AS r USING (run_id) JOIN raw.dumps AS d USING (dump_id)",
    )


def test_patterns_keep_the_files_of_a_dump_together(tmp_path, fleet):
    """--include of the dumps takes their values and live ranges along; an --exclude may leave these out."""
    run = fleet / "jaxlib-0.10.0"
    whole = [dump.parts.keys() for dump in discover([run]).dumps]
    taken = discover([run], include=[f"*{SUFFIX}"])
    assert whole == [dump.parts.keys() for dump in taken.dumps]
    without = discover([run], exclude=["*-live-range.txt"])
    assert [["allocations", "values"]] * len(whole) == [list(dump.parts) for dump in without.dumps]
    assert 0 == len(discover([run], exclude=[f"*{SUFFIX}"]).dumps)


# The limit of one dump


@pytest.fixture
def limit(monkeypatch):
    """A limit between the small dumps and the large ones of these tests."""
    monkeypatch.setenv("BUFFERHOUSE_DUMP_LIMIT", "5000")


def large_dump(number: int) -> bytes:
    return small_dump(number) + b"\n" * 5000


def test_a_file_above_the_limit_is_not_read(warehouse, tmp_path, limit):
    """It is named, with what raises the limit; exit 1, and the others load."""
    write_dumps(tmp_path / "run", [1, 2])
    [large] = write_dumps(tmp_path / "run", [3], large_dump)
    outcome = call("ingest", tmp_path / "run", "--warehouse", warehouse)
    assert 1 == outcome.code
    assert (
        f"unreadable: {large}: more than 5000 bytes; $BUFFERHOUSE_DUMP_LIMIT, in bytes, raises the limit" in outcome.out
    )
    assert 2 == counts(warehouse)["dumps"]


def test_a_bomb_is_refused_and_loads_when_the_limit_is_raised(warehouse, tmp_path, limit, monkeypatch):
    """What decompresses to too much is a reject with its small bytes, which a replay with a larger limit takes."""
    name = f"{name_of(1)}.gz"
    write_dumps(tmp_path / "run", [2])
    (tmp_path / "run" / name).write_bytes(gzip.compress(large_dump(1)))
    code, summary = ingest(warehouse, tmp_path / "run")
    assert (1, 1, 1) == (code, summary["new"], summary["rejected"])
    [(path, rule, found)] = rows(warehouse, "SELECT relative_path, rule, found FROM raw.rejects")
    assert (name, "compression") == (path, rule)
    assert found.startswith("more than 5000 bytes")
    again = call("rejects", "replay", "--all", "--warehouse", warehouse)
    assert (1, True) == (again.code, "reject 1: more than 5000 bytes" in again.out)
    monkeypatch.delenv("BUFFERHOUSE_DUMP_LIMIT")
    assert 0 == call("rejects", "replay", "--all", "--warehouse", warehouse).code
    write_dumps(tmp_path / "plain" / "run", [1], large_dump)
    assert 0 == ingest(warehouse, tmp_path / "plain" / "run", "--run", "plain")[0]
    assert (2, 1) == (counts(warehouse)["dumps"], len({row[:2] for row in contents(warehouse)["rejects"]}))


def test_a_name_that_is_like_one_in_an_archive_is_any_other(warehouse, tmp_path):
    """Files and folders may be called as an archive with something in it."""
    paths = write_dumps(tmp_path / "run", range(3))
    paths[0].rename(paths[0].with_name(f"x.tar!{paths[0].name}"))
    for path, folder in ((paths[1], "y.tar!"), (paths[2], "z.tar.gz!b/c")):
        (tmp_path / "run" / folder).mkdir(parents=True)
        path.rename(tmp_path / "run" / folder / path.name)
    code, summary = ingest(warehouse, tmp_path / "run")
    assert (0, 3) == (code, summary["new"])


def test_a_pipe_that_is_called_like_a_dump_is_named(warehouse, tmp_path):
    """It is not read, as nobody may ever write to it, and not passed over in silence."""
    write_dumps(tmp_path / "run", [1])
    os.mkfifo(tmp_path / "run" / name_of(2))
    code, summary = ingest(warehouse, tmp_path / "run")
    assert (1, 1) == (code, summary["new"])
    [line] = summary["unreadable"]
    assert line.endswith(f"{name_of(2)}: expected a file, found a pipe, a socket or a device")


def test_what_may_not_be_read_is_named_whatever_it_is_called(warehouse, tmp_path):
    """A file called like text may be a dump, so it is not passed by; one that is called otherwise is."""
    write_dumps(tmp_path / "run", [1, 2])
    for name in ("notes.txt", "renamed.txt.gz", "program.bin"):
        (tmp_path / "run" / name).write_bytes(small_dump(3))
    for path in (tmp_path / "run").iterdir():
        path.chmod(0 if name_of(2) != path.name and name_of(1) != path.name else 0o644)
    ended = call_without_capabilities("ingest", tmp_path / "run", "--warehouse", warehouse)
    assert 1 == ended.code, ended.err
    assert 2 == counts(warehouse)["dumps"]
    for name in ("notes.txt", "renamed.txt.gz"):
        assert f"unreadable: {tmp_path}/run/{name}: Permission denied" in ended.out
    assert "program.bin" not in ended.out
