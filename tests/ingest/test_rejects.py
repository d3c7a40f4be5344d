"""What was refused: kept, listed, shown, tried again."""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest
import zstandard

from bufferhouse.dump import diagnose_lines, grammar
from tests.command_line import call, start
from tests.dump.damage import DAMAGES, damaged, renamed, sources
from tests.ingests import SUFFIX, ingest, name_of, write_dumps
from tests.synthetic import small_dump
from tests.warehouses import contents, counts, rows, unproved


@contextmanager
def without_color(*, explains: bool = False) -> Iterator[None]:
    """One rule of the grammar is switched off, that of the reader in Python: no header names a memory space.

    With `explains` what says what is wrong with a dump still knows the rule: a reader with a fault.
    """
    assert ", color (" in grammar.HEADER.pattern
    whole = list(diagnose_lines.HEADER)
    [part] = [part for part in whole if isinstance(part, list) and part[0] == diagnose_lines.literal(", color ")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BUFFERHOUSE_NATIVE", "0")
        pattern = grammar.HEADER.pattern.replace(", color (", ", no such thing (")
        patch.setattr(grammar, "HEADER", re.compile(pattern))
        if not explains:
            diagnose_lines.HEADER.remove(part)
        try:
            yield
        finally:
            diagnose_lines.HEADER[:] = whole


def ingest_without_color(warehouse: Path, directory: Path) -> tuple[int, dict]:
    with without_color():
        return ingest(warehouse, directory)


def broken(number: int) -> bytes:
    return small_dump(number).replace(b"Used values:", b"Used valves:")


def states(warehouse: Path) -> list[tuple]:
    return rows(warehouse, "SELECT reject_id, relative_path, state FROM raw.rejects ORDER BY reject_id")


def split_dump(fleet: Path, directory: Path) -> dict[str, Path]:
    """Copy the three files of a dump; the live range is broken."""
    [main] = (fleet / "jaxlib-0.10.0").glob(f"*scalar_add*{SUFFIX}")
    directory.mkdir(parents=True)
    stem = main.name.removesuffix(SUFFIX)
    parts = {}
    for role, suffix in (
        ("allocations", SUFFIX),
        ("values", f"{SUFFIX[:-4]}-values.txt"),
        ("live_range", "-live-range.txt"),
    ):
        parts[role] = Path(shutil.copy(main.with_name(stem + suffix), directory))
    whole = parts["live_range"].read_bytes()
    parts["live_range"].write_bytes(whole.replace(b"BufferLiveRange", b"BufferLifeRange"))
    return parts


COUNT, BAD = 135, 27  # each kind of damage once


@pytest.fixture(scope="module")
def many(fleet, tmp_path_factory) -> tuple[Path, dict[str, tuple[int, int]], int]:
    """Real dumps that all differ, each fifth broken: where, the broken ones' places, how many have a color."""
    directory = tmp_path_factory.mktemp("many") / "run"
    directory.mkdir()
    texts = sorted(sources(fleet), key=len)[:40]
    assert any(b", color " in text for text in texts)
    kinds, places, colored = list(DAMAGES), {}, 0
    for number in range(COUNT):
        text = renamed(texts[number % len(texts)], number)
        if number % 5 == 2:
            text, places[name_of(number)] = damaged(text, kinds[len(places)])
        else:
            colored += b", color " in text
        (directory / name_of(number)).write_bytes(text)
    assert (BAD, BAD) == (len(places), len(kinds))
    return directory, places, colored


@pytest.fixture(scope="module")
def whole(many, blank_warehouse, tmp_path_factory) -> tuple[Path, tuple[int, dict]]:
    """A warehouse of them, and what their ingest said."""
    path = Path(shutil.copy(blank_warehouse, tmp_path_factory.mktemp("whole") / "w.duckdb"))
    return path, ingest(path, many[0])


def test_each_kind_of_damage_is_refused_at_the_right_place(many, whole):
    """Broken in 27 ways: all others load, 27 are rejects that name file, line and column and keep the bytes, exit 1."""
    directory, places, _ = many
    path, (code, summary) = whole
    assert (1, COUNT, COUNT - BAD, BAD) == (code, summary["seen"], summary["new"], summary["rejected"])
    found = rows(path, "SELECT relative_path, line_number, column_number FROM raw.rejects")
    assert places == {name: (line, column) for name, line, column in found}
    kept = rows(path, "SELECT relative_path, content FROM raw.rejects")
    assert {name: (directory / name).read_bytes() for name in places} == {
        name: zstandard.decompress(content) for name, content in kept
    }


def test_replay_brings_in_what_only_a_missing_rule_refused(many, whole, warehouse):
    """With a rule of the grammar switched off more is refused; a replay by the whole grammar loads just that, and then
    every table has the rows of an ingest that never missed the rule. The rejects keep their history."""
    directory, places, colored = many
    path = warehouse
    code, summary = ingest_without_color(path, directory)
    assert (1, COUNT - BAD - colored, BAD + colored) == (code, summary["new"], summary["rejected"])
    assert colored > 10
    code, summary = ingest(path, directory)
    assert (0, 0, BAD + colored) == (code, summary["rejected"], summary["known_rejected"])
    outcome = call("rejects", "replay", "--all", "--warehouse", path)
    assert (1, f"{colored} loaded, {BAD} still refused") == (outcome.code, outcome.out.splitlines()[-1])
    assert BAD == len(re.findall(r": still refused by bufferhouse \S+: \d+:\d+: expected ", outcome.out))
    assert {("open", BAD), ("replayed", colored)} == set(
        rows(path, "SELECT state, COUNT(*) FROM raw.rejects GROUP BY state")
    )
    assert set(places) == {name for (name,) in rows(path, "SELECT relative_path FROM raw.rejects WHERE state = 'open'")}
    expected, found = contents(whole[0]), contents(path)
    for table in expected.keys() - {"rejects", "loads"}:
        assert expected[table] == found[table], table
    assert 0 == call("verify", "--warehouse", path).code


def test_ls_shows_the_open_ones(warehouse, tmp_path):
    """Run, path, place and reason of each; with --all also those that are dealt with."""
    _, bad = write_dumps(tmp_path / "run", [1]) + write_dumps(tmp_path / "run", [2], broken)
    ingest(warehouse, tmp_path / "run")
    [row] = json.loads(call("rejects", "ls", "--format", "json", "--warehouse", warehouse).out)
    line = small_dump(2).split(b"\n").index(b"Used values:") + 1
    assert {
        "reject_id": 1,
        "run_name": "run",
        "relative_path": bad.name,
        "line_number": line,
        "state": "open",
    }.items() <= row.items()
    bad.write_bytes(small_dump(2))
    ingest(warehouse, tmp_path / "run")
    assert "[]" == call("rejects", "ls", "--format", "json", "--warehouse", warehouse).out.strip()
    [row] = json.loads(call("rejects", "ls", "--all", "--format", "json", "--warehouse", warehouse).out)
    assert "resolved" == row["state"]


def test_a_reject_that_came_after_the_question_stays(warehouse, tmp_path):
    """Somebody else removed the reject that was asked about, and the next one has its number."""
    write_dumps(tmp_path / "run", [1]), write_dumps(tmp_path / "run", [2], broken)
    ingest(warehouse, tmp_path / "run")
    ours, theirs = os.openpty()
    process = start("rejects", "rm", "1", "--warehouse", warehouse, stdin=theirs, stderr=theirs)
    assert b"Remove them?" in os.read(ours, 4096)
    assert 0 == call("rejects", "rm", "1", "--yes", "--warehouse", warehouse).code
    write_dumps(tmp_path / "run", [3], broken)
    ingest(warehouse, tmp_path / "run" / name_of(3))
    os.write(ours, b"y\n")
    out, _ = process.communicate(timeout=60)
    os.close(ours)
    os.close(theirs)
    assert "0 rejects removed" == out.splitlines()[-1]
    assert [(1, name_of(3), "open")] == states(warehouse)


def test_without_a_question_no_reject_is_removed_by_the_beginning_of_a_run(warehouse, tmp_path):
    """What is removed for run_1 is not of run_10."""
    write_dumps(tmp_path / "run_10", [1], broken)
    ingest(warehouse, tmp_path / "run_10")
    refused = call("rejects", "rm", "--run", "run_1", "--yes", "--warehouse", warehouse)
    assert (2, True) == (refused.code, "'run_1', the beginning of 'run_10'" in refused.err)
    plan = call("rejects", "rm", "--run", "run_1", "--plan", "--warehouse", warehouse)
    assert "1 reject would be removed" in plan.out
    assert 0 == call("rejects", "rm", "--run", "run_10", "--yes", "--warehouse", warehouse).code
    assert [] == states(warehouse)


def test_show_marks_the_line(warehouse, tmp_path):
    """Place, reason, parser, and the lines around, without what a terminal would obey; -o writes the bytes."""
    text = small_dump(1).replace(b"Used values:", b"Used \x1b[31mvalues:")
    [path] = write_dumps(tmp_path / "run", [1], lambda _: text)
    ingest(warehouse, tmp_path / "run")
    outcome = call("rejects", "show", 1, "-o", tmp_path / "copy.txt", "--warehouse", warehouse)
    assert 0 == outcome.code
    line = text.split(b"\n").index(b"Used \x1b[31mvalues:") + 1
    assert outcome.out.startswith(f"{path}:{line}:1: expected ")
    assert f"> {line:>6}  Used \N{REPLACEMENT CHARACTER}[31mvalues:\n" in outcome.out
    assert "\x1b" not in outcome.out
    assert "rule grammar, file combined, open, refused by bufferhouse " in outcome.out
    assert text == (tmp_path / "copy.txt").read_bytes()
    assert 2 == call("rejects", "show", 2, "--warehouse", warehouse).code


def test_a_split_dump_keeps_its_files(warehouse, tmp_path, fleet):
    """All three are kept; the line is one of the file at fault, and -o writes each under its role."""
    parts = split_dump(fleet, tmp_path / "run")
    ingest(warehouse, tmp_path / "run")
    outcome = call("rejects", "show", 1, "-o", tmp_path / "copy", "--warehouse", warehouse)
    line = parts["live_range"].read_bytes().split(b"\n").index(b"  BufferLifeRange:") + 1
    assert f"> {line:>6}    BufferLifeRange:" in outcome.out
    assert "file live_range" in outcome.out
    for role, path in parts.items():
        assert path.read_bytes() == (tmp_path / f"copy.{role}").read_bytes()


def test_bytes_of_a_reject_that_changed_are_told(warehouse, tmp_path, fleet):
    """No statement about dumps is one about rejects: verify names them, show ends with it, a replay goes on."""
    split_dump(fleet, tmp_path / "split")
    for number, path in enumerate(write_dumps(tmp_path / "run", [1, 2])):
        path.write_text(f"damaged {number}")
    ingest(warehouse, tmp_path / "split")
    ingest(warehouse, tmp_path / "run")
    assert 0 == call("verify", "--warehouse", warehouse).code
    with duckdb.connect(str(warehouse)) as con:
        con.execute(
            "UPDATE raw.rejects SET content = CASE reject_id WHEN 1 THEN content[:99] ELSE"
            " (SELECT content FROM raw.rejects WHERE reject_id = 3) END WHERE reject_id < 3"
        )
    changed = (
        "the bytes that are kept of it are not those that were refused; remove it with bufferhouse rejects rm, and "
        "ingest its file again"
    )
    outcome = call("verify", "--warehouse", warehouse)
    named = [line.partition(" of ")[0] for line in outcome.err.splitlines() if line.endswith(changed)]
    assert (1, ["reject 1", "reject 2"]) == (outcome.code, named)
    outcome = call("rejects", "show", 1, "--warehouse", warehouse)
    assert (2, f"bufferhouse: {changed}\n") == (outcome.code, outcome.err)
    outcome = call("rejects", "replay", "--all", "--warehouse", warehouse)
    assert [f"reject {number}: {changed}" for number in (1, 2)] == outcome.out.splitlines()[:2]
    assert outcome.out.endswith("0 loaded, 3 still refused\n")
    assert 0 == call("rejects", "rm", 1, 2, "--yes", "--warehouse", warehouse).code
    ingest(warehouse, tmp_path / "split")
    ingest(warehouse, tmp_path / "run")
    assert (3, 0) == (len(rows(warehouse, "SELECT 1 FROM raw.rejects")), call("verify", "--warehouse", warehouse).code)


def test_a_split_dump_is_replayed(warehouse, tmp_path, fleet):
    """From the three files that were kept, whatever is at its place now."""
    parts = split_dump(fleet, tmp_path / "run")
    parts["live_range"].write_bytes(parts["live_range"].read_bytes().replace(b"Life", b"Live"))
    for path in parts.values():
        path.write_bytes(path.read_bytes().replace(b"allocation 0: size 4,", b"allocation 0: size 4, color 1,"))
    assert 1 == ingest_without_color(warehouse, tmp_path / "run")[0]
    shutil.rmtree(tmp_path / "run")
    outcome = call("rejects", "replay", 1, "--warehouse", warehouse)
    assert (0, "1 loaded, 0 still refused\n") == (outcome.code, outcome.out)
    assert [("split", "present")] == rows(warehouse, "SELECT file_layout, live_range_state FROM raw.dumps")
    assert [(1, parts["allocations"].name, "replayed")] == states(warehouse)
    assert [] == unproved(warehouse)


def test_a_damaged_file_of_a_split_dump_cannot_be_replayed_alone(warehouse, tmp_path, fleet):
    """Of a compressed file that is damaged only itself is kept, with its role; a repaired one resolves the reject."""
    parts = split_dump(fleet, tmp_path / "run")
    whole = parts["live_range"].read_bytes().replace(b"Life", b"Live")
    parts["live_range"].unlink()
    packed = parts["live_range"].with_name(parts["live_range"].name + ".zst")
    packed.write_bytes(zstandard.compress(whole)[:-20])
    assert 1 == ingest(warehouse, tmp_path / "run")[0]
    assert [("compression", "live_range")] == rows(warehouse, "SELECT rule, role FROM raw.rejects")
    outcome = call("rejects", "replay", "--all", "--warehouse", warehouse)
    assert (1, True) == (outcome.code, "only its live_range file was kept" in outcome.out)
    packed.write_bytes(zstandard.compress(whole))
    assert 0 == ingest(warehouse, tmp_path / "run")[0]
    assert ["resolved"] == [state for _, _, state in states(warehouse)]


def test_a_newer_parser_that_refuses_says_so_in_a_row_of_its_own(warehouse, tmp_path):
    """The old row is resolved and stays; the new one is open."""
    write_dumps(tmp_path / "run", [1], broken)
    ingest(warehouse, tmp_path / "run")
    with duckdb.connect(str(warehouse)) as con:
        con.execute("UPDATE raw.rejects SET parser_version = '0.0.1', found = 'something else'")
    outcome = call("rejects", "replay", "--all", "--warehouse", warehouse)
    assert (1, True) == (outcome.code, "0 loaded, 1 still refused" in outcome.out)
    assert ["resolved", "open"] == [state for _, _, state in states(warehouse)]
    before = contents(warehouse)
    assert 1 == call("rejects", "replay", "--all", "--warehouse", warehouse).code
    assert before == contents(warehouse)


def test_a_collision_is_not_mixed_by_a_replay(warehouse, tmp_path):
    """What was refused because another content has its dump_id stays refused."""
    write_dumps(tmp_path / "run", [1])
    ingest(warehouse, tmp_path / "run")
    with duckdb.connect(str(warehouse)) as con:
        con.execute("UPDATE raw.dumps SET sha256 = ?", ["0" * 64])
    assert 1 == ingest(warehouse, tmp_path / "run", "--rehash")[0]
    before = counts(warehouse)
    assert 1 == call("rejects", "replay", "--all", "--warehouse", warehouse).code
    assert before == counts(warehouse)
    assert ["open"] == [state for _, _, state in states(warehouse)]


def test_a_fault_of_the_reader_stops_one_dump(warehouse, tmp_path):
    """Not the batch, and not the next ingest: it is a reject like others, which a better reader takes."""
    paths = write_dumps(tmp_path / "run", range(3))
    paths[1].write_bytes(small_dump(1).replace(b"preallocated-temp", b"color 1, preallocated-temp"))
    with without_color(explains=True):
        code, summary = ingest(warehouse, tmp_path / "run")
    assert (1, 2, 0, 1) == (code, *(summary[name] for name in ("new", "known", "rejected")))
    [(rule, found)] = rows(warehouse, "SELECT rule, found FROM raw.rejects")
    assert ("reader", True) == (rule, found.startswith("TypeError: "))
    assert 0 == call("rejects", "replay", "--all", "--warehouse", warehouse).code
    assert 3 == counts(warehouse)["dumps"]


def test_one_content_under_two_names_is_replayed_under_both(warehouse, tmp_path):
    """Stored once, seen twice; ids choose what is tried."""
    for number in (1, 2):
        (tmp_path / "run").mkdir(exist_ok=True)
        text = small_dump(7).replace(b"preallocated-temp", b"color 1, preallocated-temp")
        (tmp_path / "run" / name_of(number)).write_bytes(text)
    assert 1 == ingest_without_color(warehouse, tmp_path / "run")[0]
    assert "1 loaded, 0 still refused\n" == call("rejects", "replay", 2, "--warehouse", warehouse).out
    assert [(1, name_of(1), "open"), (2, name_of(2), "replayed")] == states(warehouse)
    assert "1 loaded, 0 still refused\n" == call("rejects", "replay", "--all", "--warehouse", warehouse).out
    assert (1, 2) == (counts(warehouse)["dumps"], counts(warehouse)["observations"])
    code, summary = ingest(warehouse, tmp_path / "run")
    assert (0, 2) == (code, summary["known"])


def test_wrong_calls(warehouse, tmp_path):
    """Ids of open rejects, or --all: not nothing, both, one that is closed or unknown."""
    [path] = write_dumps(tmp_path / "run", [1], broken)
    ingest(warehouse, tmp_path / "run")
    path.write_bytes(small_dump(1))
    ingest(warehouse, tmp_path / "run")
    for words in ([], ["--all", "1"], ["1"], ["7"]):
        outcome = call("rejects", "replay", *words, "--warehouse", warehouse)
        assert (2, "") == (outcome.code, outcome.out), words


# One file that is refused more than once


def write(path: Path, data: bytes, seconds: int) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    os.utime(path, ns=(0, seconds * 10**9))


def seen(warehouse: Path) -> list[bytes]:
    """The content that staging.observations shows, as its hash."""
    return rows(warehouse, "SELECT sha256 FROM staging.observations JOIN raw.dumps USING (dump_id)")


def colored(number: int) -> bytes:
    """A dump that the reader without colors refuses."""
    return small_dump(number).replace(b"preallocated-temp", b"color 1, preallocated-temp")


def hash_of(data: bytes) -> list[tuple[str]]:
    return [(hashlib.sha256(data).hexdigest(),)]


def test_a_file_that_is_put_back_as_it_was_resolves_its_reject(warehouse, tmp_path):
    """Also with its old time, as `cp -p` does it: it is seen again, once, and is then what the file holds."""
    path = tmp_path / "run" / name_of(1)
    write(path, small_dump(1), 1)
    ingest(warehouse, path.parent)
    write(path, broken(1), 2)
    assert 1 == ingest(warehouse, path.parent)[0]
    write(path, small_dump(1), 1)
    for _ in range(2):
        code, summary = ingest(warehouse, path.parent)
        assert (0, 0, 1) == (code, summary["new"], summary["known"])
    assert [(1, path.name, "resolved")] == states(warehouse)
    assert (1, 2, 3) == tuple(counts(warehouse)[table] for table in ("dumps", "observations", "loads"))


def test_both_refused_contents_of_a_file_are_replayed_in_order(warehouse, tmp_path):
    """Each is seen by a load of its own, so that the later one is what the file holds."""
    path = tmp_path / "run" / name_of(1)
    for number in (1, 2):
        write(path, colored(number), number)
        assert 1 == ingest_without_color(warehouse, path.parent)[0]
    assert [(1, path.name, "open"), (2, path.name, "open")] == states(warehouse)
    assert "2 loaded, 0 still refused\n" == call("rejects", "replay", "--all", "--warehouse", warehouse).out
    assert [(1, path.name, "replayed"), (2, path.name, "replayed")] == states(warehouse)
    assert hash_of(colored(2)) == seen(warehouse)
    code, summary = ingest(warehouse, path.parent)
    assert (0, 0, 1) == (code, summary["new"], summary["known"])


def test_a_replay_leaves_what_the_file_held_later(warehouse, tmp_path):
    """A later refusal of the file stays open when an earlier one loads; an earlier one is resolved by a later one."""
    path = tmp_path / "run" / name_of(1)
    for number, data in enumerate([colored(1), broken(2), colored(3)], 1):
        write(path, data, number)
        assert 1 == ingest_without_color(warehouse, path.parent)[0]
    assert 0 == call("rejects", "replay", 1, "--warehouse", warehouse).code
    assert ["replayed", "open", "open"] == [state for _, _, state in states(warehouse)]
    assert hash_of(colored(1)) == seen(warehouse)
    assert 0 == call("rejects", "replay", 3, "--warehouse", warehouse).code
    assert ["replayed", "resolved", "replayed"] == [state for _, _, state in states(warehouse)]
    assert hash_of(colored(3)) == seen(warehouse)


def test_an_ingest_by_a_newer_parser_leaves_one_open_reject(warehouse, tmp_path):
    """What the older one refused for its own reason stays as history."""
    [path] = write_dumps(tmp_path / "run", [1], broken)
    ingest(warehouse, tmp_path / "run")
    with duckdb.connect(str(warehouse)) as con:
        con.execute("UPDATE raw.rejects SET parser_version = '0.0.1', found = 'something else'")
    assert 1 == ingest(warehouse, tmp_path / "run")[0]
    assert [(1, path.name, "resolved"), (2, path.name, "open")] == states(warehouse)
