"""Giving back: the original files, names included."""

import gzip
import hashlib
import shutil
from pathlib import Path

import duckdb
import pytest

from bufferhouse.warehouse.export import choose, export
from tests.command_line import call
from tests.ingests import SUFFIX, ingest, name_of, write_dumps
from tests.synthetic import small_dump
from tests.warehouses import rows


def hashes(directory: Path) -> dict[str, str]:
    """The SHA-256 of every file below a directory by its path."""
    return {
        str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in directory.rglob("*")
        if path.is_file()
    }


def test_the_whole_fleet_comes_back(example_warehouse, fleet, tmp_path):
    """--all writes OUT/<run>/<relative path>: the files of the examples, each with its bytes, and nothing else."""
    outcome = call("export", "--all", "-o", tmp_path / "out", "--warehouse", example_warehouse)
    dumps = {path: digest for path, digest in hashes(fleet).items() if path.endswith(".txt")}
    assert (0, f"{len(dumps)} files written to {tmp_path / 'out'}\n") == (outcome.code, outcome.out)
    assert dumps == hashes(tmp_path / "out")


def test_a_run_and_a_dump(example_warehouse, fleet, tmp_path):
    """--run writes one run, an id every sighting of one content."""
    call("export", "--run", "seeds", "-o", tmp_path / "run", "--warehouse", example_warehouse)
    seeds = {f"seeds/{name}": digest for name, digest in hashes(fleet / "seeds").items() if name != "run.json"}
    assert seeds == hashes(tmp_path / "run")
    [(dump_id, name)] = rows(
        example_warehouse, "SELECT dump_id, relative_path FROM raw.observations WHERE relative_path LIKE '002%'"
    )
    call("export", dump_id, "-o", tmp_path / "one", "--warehouse", example_warehouse)
    assert [f"seeds/{name}"] == list(hashes(tmp_path / "one"))


def test_compressed_sources_come_back_uncompressed(warehouse, tmp_path):
    """Without the suffix of their compression; where that name is taken by another file, with a number behind it."""
    run = tmp_path / "run"
    write_dumps(run, [1])
    (run / f"{name_of(1)}.gz").write_bytes(gzip.compress(small_dump(2)))
    (run / "deep").mkdir()
    (run / "run.json").write_text('{"run_name": "run"}')
    (run / "deep" / f"{name_of(3)}.gz").write_bytes(gzip.compress(small_dump(3)))
    ingest(warehouse, run)
    call("export", "--all", "-o", tmp_path / "out", "--warehouse", warehouse)
    assert {
        path: hashlib.sha256(small_dump(number)).hexdigest()
        for path, number in ((f"run/{name_of(1)}", 1), (f"run/{name_of(1)}.2", 2), (f"run/deep/{name_of(3)}", 3))
    } == hashes(tmp_path / "out")


def test_split_dumps_of_compressed_files(warehouse, tmp_path, fleet):
    """All their files come back under their own names."""
    [main] = (fleet / "jaxlib-0.10.0").glob(f"*scalar_add*{SUFFIX}")
    stem = main.name.removesuffix(SUFFIX)
    run = tmp_path / "run"
    run.mkdir()
    expected = {}
    for path in main.parent.glob(f"{stem}*"):
        (run / f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        expected[f"run/{path.name}"] = hashlib.sha256(path.read_bytes()).hexdigest()
    ingest(warehouse, run)
    call("export", "--all", "-o", tmp_path / "out", "--warehouse", warehouse)
    assert 3 == len(expected)
    assert expected == hashes(tmp_path / "out")


def test_a_content_that_was_replaced_can_still_be_had(warehouse, tmp_path):
    """--all writes the newest content of a file; by its id the older one comes back, too."""
    [path] = write_dumps(tmp_path / "run", [1])
    ingest(warehouse, tmp_path / "run")
    [(old,)] = rows(warehouse, "SELECT dump_id FROM raw.dumps")
    path.write_bytes(small_dump(22))
    ingest(warehouse, tmp_path / "run")
    for words, number in ((["--all"], 22), ([old], 1)):
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
        assert 0 == call("export", *words, "-o", tmp_path / "out", "--warehouse", warehouse).code
        assert small_dump(number) == (tmp_path / "out" / "run" / path.name).read_bytes()


def test_names_as_long_as_names_can_be(warehouse, tmp_path):
    """255 bytes, of which a temporary file beside it has no room to add any."""
    long = "é" * 110 + "x" * (255 - 220 - len(SUFFIX)) + SUFFIX
    assert 255 == len(long.encode())
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / long).write_bytes(small_dump(1))
    assert 0 == ingest(warehouse, tmp_path / "run")[0]
    assert 0 == call("export", "--all", "-o", tmp_path / "out", "--warehouse", warehouse).code
    assert hashes(tmp_path / "run") == hashes(tmp_path / "out" / "run")


def renamed_in(warehouse: Path, path: str, row: int) -> None:
    """Give an observation another path, as an archive or an older version may have had it."""
    with duckdb.connect(str(warehouse)) as con:
        con.execute("UPDATE raw.observations SET relative_path = $path WHERE rowid = $row", {"path": path, "row": row})


def test_names_that_lead_out_or_meet_become_safe_ones(warehouse, tmp_path):
    """Every file is written below the folder, under a name that no other file has; others than its own are said."""
    names = ["../../x.txt", "x/../good", "good", "Good", "a\0b", "/etc/x", "deep", "deep/er", "n" * 300, "n" * 301]
    write_dumps(tmp_path / "run", range(len(names)))
    ingest(warehouse, tmp_path / "run")
    for row, name in enumerate(names):
        renamed_in(warehouse, name, row)
    outcome = call("export", "--all", "-o", tmp_path / "out", "--warehouse", warehouse)
    assert 0 == outcome.code
    found = hashes(tmp_path / "out")
    assert {hashlib.sha256(small_dump(n)).hexdigest() for n in range(len(names))} == set(found.values())
    assert len(names) == len({name.casefold() for name in found})
    assert {
        "run/Good",
        "run/good.2",
        "run/deep",
        "run/deep.2/er",
        "run/x/__/good",
        "run/__/__/x.txt",
        "run/a_b",
        "run/_/etc/x",
    } <= set(found)
    assert f"{len(names)} files written to {tmp_path / 'out'}, 8 under another name\n" == outcome.out
    assert "renamed: 'run/x/../good' is written as 'run/x/__/good'\n" in outcome.err
    assert 8 == outcome.err.count("renamed: ")
    assert {"run", "out", warehouse.name} >= {
        path.name for path in tmp_path.iterdir() if not path.name.startswith(warehouse.name)
    }


def test_nothing_is_overwritten(example_warehouse, fleet, tmp_path):
    """Not even one file with other bytes, and then none is written; with --force all are."""
    words = ["export", "--run", "seeds", "-o", tmp_path, "--warehouse", example_warehouse]
    assert 0 == call(*words).code
    whole = hashes(tmp_path)
    victim = next(path for path in sorted(tmp_path.rglob("*.txt")))
    for path in tmp_path.rglob("*.txt"):
        path.unlink()
    victim.write_text("mine")
    outcome = call(*words)
    assert (2, "") == (outcome.code, outcome.out)
    assert f"1 of {len(whole)} files are in {tmp_path} already with other bytes" in outcome.err
    assert "--force" in outcome.err
    assert ("mine", 1) == (victim.read_text(), len(hashes(tmp_path)))
    assert 0 == call(*words, "--force").code
    assert whole == hashes(tmp_path)


def test_a_link_in_the_folder_leads_nobody_astray(example_warehouse, tmp_path):
    """Also where the folder itself points out of itself."""
    (tmp_path / "out").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out" / "seeds").symlink_to(tmp_path / "elsewhere")
    assert 2 == call("export", "--run", "seeds", "-o", tmp_path / "out", "--warehouse", example_warehouse).code
    assert [] == list((tmp_path / "elsewhere").iterdir())


def test_what_does_not_prove_itself_is_not_written(own_warehouse, tmp_path):
    """Exit 2, the dump, and the way to see more."""
    with duckdb.connect(str(own_warehouse)) as con:
        [dump_id] = con.execute("SELECT dump_id FROM raw.hlo_values WHERE rowid = 5").fetchone()
        con.execute("UPDATE raw.hlo_values SET offset_bytes = offset_bytes + 1 WHERE rowid = 5")
        chosen = choose(con, dump_id=dump_id)
    outcome = call("export", dump_id, "-o", tmp_path / "out", "--warehouse", own_warehouse)
    assert (2, "") == (outcome.code, outcome.out)
    assert f"dump {dump_id} renders to " in outcome.err
    assert "see: bufferhouse verify" in outcome.err
    assert 1 == len(chosen)
    assert {} == hashes(tmp_path / "out")


def test_refused_dumps_are_told_where_they_are_left_out(warehouse, tmp_path):
    """Who takes the folder for all that was ingested would remove the only file of a dump that a later parser reads."""
    for name, damaged in {"whole": [], "cut": [1]}.items():
        for number, path in enumerate(write_dumps(tmp_path / name, [1, 2]), 1):
            if number in damaged:
                path.write_text("damaged")
    ingest(warehouse, tmp_path / "whole", tmp_path / "cut")
    told = "1 refused dump not written; to write one: bufferhouse rejects show ID -o FILE"
    for words, expected in ((["--all"], True), (["--run", "cut"], True), (["--run", "whole"], False)):
        outcome = call("export", *words, "-o", tmp_path / "out", "--warehouse", warehouse)
        assert (0, expected) == (outcome.code, told in outcome.err)


def test_progress_counts_contents(example, tmp_path):
    """Steps done and steps to do, one for each dump."""
    steps = []
    chosen = choose(example, run="seeds")
    done = export(example, chosen, tmp_path, progress=lambda done, total: steps.append((done, total)))
    assert (5, []) == (done.file_count, done.renamed)
    assert [(done, 5) for done in range(1, 6)] == steps


def test_a_folder_in_the_place_of_a_dump_is_told(example_warehouse, tmp_path):
    """`export out` names what is expected there, and how a folder is given."""
    outcome = call("export", tmp_path / "out", "--warehouse", example_warehouse)
    assert (2, "") == (outcome.code, outcome.out)
    assert outcome.err.startswith("bufferhouse: DUMP_ID: expected a whole number from 0 to 2^63 - 1, found '")
    assert outcome.err.endswith("; the folder to write into is given with -o DIR\n")


@pytest.mark.parametrize(
    "words",
    [[], ["1", "--all"], ["--run", "seeds", "--all"], ["--run", "none"], ["1"], ["--all", "no folder"]],
    ids=["nothing", "two", "other two", "no run", "no dump", "no folder"],
)
def test_wrong_calls(example_warehouse, tmp_path, words):
    """One of a dump, a run and all, which must be there, and a folder."""
    folder = [] if words[-1:] == ["no folder"] else ["-o", tmp_path / "out"]
    words = [word for word in words if word != "no folder"]
    outcome = call("export", *words, *folder, "--warehouse", example_warehouse)
    assert (2, "") == (outcome.code, outcome.out)
    assert not (tmp_path / "out").exists()
