"""memory.lock: what is written is read again, and what is wrong is told with its place."""

import random
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from bufferhouse.errors import UsageError
from bufferhouse.lock.check import hold, judge_held
from bufferhouse.lock.entry import Entry, Lock
from bufferhouse.lock.file import LockFault, Mendable, lock_text, read_lock, read_mendable, updated, write_lock
from tests.lock.specimens import TPU, lock_of


def written(path: Path, lock: Lock) -> Path:
    write_lock(path, lock)
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file of a TPU run, with several memory spaces and padding."""
    return written(tmp_path / "memory.lock", lock_of(TPU))


@pytest.mark.parametrize("run", [TPU, "jaxlib-0.10.0", "jaxlib-0.4.13", "kept"])
def test_what_is_written_is_read_again(tmp_path: Path, run: str):
    """A file says all that an update looks at, and its text depends on nothing else."""
    lock = lock_of(run)
    found = read_lock(written(tmp_path / "memory.lock", lock))
    assert {key: entry.told for key, entry in lock.entries.items()} == {
        key: entry.told for key, entry in found.entries.items()
    }
    assert lock_text(lock) == lock_text(found)
    shuffled = Lock.of(reversed(list(lock.entries.values())))
    assert lock_text(lock) == lock_text(shuffled)


def test_any_name_can_be_written(tmp_path: Path):
    """Quotes, control characters, what is no text at all: the file is TOML, and says the name again."""
    (entry, *_) = lock_of("kept").entries.values()
    names = ['a"b\\c', "\x7f\x00\x1b[31m", "[[program]]\nversion = 2", "λ 名前", "<<<<<<< HEAD"]
    lock = Lock.of(replace(entry, function=name) for name in names)
    assert set(names) == {key[0] for key in read_lock(written(tmp_path / "memory.lock", lock)).entries}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("version = 1", "version = 2", "3:1: expected version 1, found version 2, of a newer bufferhouse"),
        ("version = 1", 'version = "1"', "3:1: expected version = 1 at the top, found '1'"),
        ("version = 1\n", "", "1:1: expected version = 1 at the top, found none"),
        ("reserved_bytes = ", "reserved_bytes = 9", "expected the sum of its parts, "),
        ("reserved_bytes = ", "reserved_bytes = -", "expected reserved_bytes to be a whole number from 0 on, found -"),
        ("memory_space = 1", 'memory_space = "1"', "expected memory_space to be a whole number from 0 on, found '1'"),
        ("temp_bytes", "tmp_bytes", "expected one of memory_space, reserved_bytes"),
        ('kind = "temp"', 'kind = "tmp"', "expected one of parameter, output, constant, temp, found tmp"),
        ('chip = "TPU v5e"', 'chip = "TPU v6e"', "expected a chip of the file, 'TPU v5e', found TPU v6e"),
        ('chip = "TPU v5e"\n', "", "expected chip, found none"),
        ("memory_space = 1", "memory_space = 0", "expected each memory space once, found memory space 0 again"),
        ('parameters = ["', 'parameters = ["0 × ', "expected a shape such as f32[8] or 4 × f32[8], found 0 × "),
        ("peak = [\n", "peak = [\n    7,\n", "expected a table, found 7"),
        ("[[chip]]", "[chip", "expected TOML, found: "),
    ],
)
def test_a_mistake_is_told_with_its_place(path: Path, old: str, new: str, expected: str):
    """The first fault stands at the line and column of what was changed; the way out is told, once for all."""
    text = path.read_text()
    at = text.index(old)
    path.write_text(text[:at] + new + text[at + len(old) :])
    line = text.count("\n", 0, at) + 1
    with pytest.raises(LockFault) as caught:
        read_lock(path)
    lines = str(caught.value).split("\n")
    first, last = lines[0], lines[-1]
    assert (True, 1) == (expected in first, str(caught.value).count(" DUMPS") or last.count("; use that one"))
    number = int(first.removeprefix(f"{path}:").split(":")[0])
    # Inside an inline table the fault has the line, of an array the element; TOML itself says where it gave up.
    assert new == "" or abs(number - line) <= 1


def test_what_windows_adds_is_no_fault(path: Path):
    """A mark of the byte order, and line ends of two characters."""
    lock = read_lock(path)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    assert lock == read_lock(path)
    assert lock_text(lock) == lock_text(updated(read_mendable(path), lock))


def test_a_program_twice_is_refused(path: Path):
    """A merge that took both sides makes no lock."""
    text = path.read_text()
    block = text[text.index("[[program]]") : text.index("[[program]]", text.index("[[program]]") + 1)]
    path.write_text(text + "\n" + block)
    with pytest.raises(LockFault, match="expected each program of a chip once"):
        read_lock(path)


def test_damage_is_a_fault_with_a_place_or_no_damage(path: Path):
    """Lines deleted, doubled, cut, with other values: nothing but a fault with its place comes of it."""
    text, choose, faults = path.read_text(), random.Random(26), []
    for _ in range(80):
        lines = text.split("\n")
        for _ in range(choose.randint(1, 3)):
            at = choose.randrange(len(lines))
            lines[at : at + 1] = choose.choice(
                [[], [lines[at]] * 2, [lines[at][: len(lines[at]) // 2]], [re.sub("= .*", "= [[-1]]", lines[at])],
                 ["<<<<<<< HEAD", lines[at]], [lines[at], "[[program]]"]]
            )  # fmt: skip
        path.write_text("\n".join(lines))
        try:
            read_lock(path)
        except LockFault as fault:
            faults.append(str(fault))
    assert len(faults) > 40
    placed = re.compile(re.escape(str(path)) + r":\d+:\d+: expected ")
    assert [] == [fault for fault in faults if not placed.match(fault)]


@pytest.mark.parametrize("share", [0.1, 0.35, 0.5, 0.77, 0.99])
def test_a_cut_file_never_passes_for_less(path: Path, share: float):
    """A cut in the middle is refused, or leaves out whole programs or memory spaces at the end, and nothing else."""
    text = path.read_text()
    path.write_text(text[: int(len(text) * share)])
    whole = {space for entry in lock_of(TPU).entries.values() for space in map(str, entry.told)}
    try:
        found = read_lock(path)
    except LockFault:
        return
    assert whole >= {space for entry in found.entries.values() for space in map(str, entry.told)}


def test_what_is_no_text_is_refused(tmp_path: Path):
    """Bytes that are no UTF-8 have a place; a folder and nothing at all are told."""
    path = tmp_path / "memory.lock"
    with pytest.raises(UsageError, match=f"there is no such file; write it with: bufferhouse lock --file {path} DUMPS"):
        read_lock(path)
    path.write_bytes(b'version = 1\nx = "\xff"\n')
    with pytest.raises(LockFault, match=r"memory.lock:2:6: expected UTF-8, found byte 0xff"):
        read_lock(path)
    with pytest.raises(UsageError, match="directory"):
        read_lock(tmp_path)


def test_brackets_beyond_all_measure_are_refused(path: Path):
    """By a check and by an update: the standard library's reader recurses."""
    path.write_text("version = 1  # [[chip]]\nx = " + "[" * 20_000)
    with pytest.raises(LockFault, match=r"memory.lock:2:20005: expected TOML"):
        read_lock(path)
    assert [(None, True)] == [(fault.key, "expected TOML" in fault.said) for fault in read_mendable(path).faults]


def test_an_update_writes_what_moved_and_nothing_else(path: Path):
    """Programs that moved are written anew, others stay with their lines and reasons, also those without a dump."""
    lock = lock_of(TPU)
    first, second, *_ = lock.entries.values()
    kept = [replace(entry, why="reviewed", growth_bytes=7) for entry in lock.entries.values()]
    write_lock(path, Lock.of(kept))
    grown = with_more(first, 8)
    new = updated(read_mendable(path), Lock.of([grown, second]))
    assert {first.key: ""} == {key: one.why for key, one in new.entries.items() if one.why != "reviewed"}
    assert lock.entries.keys() == new.entries.keys()
    assert grown.told == new.entries[first.key].told


@pytest.mark.parametrize(
    ("lost", "is_moved"),
    [
        ("live ranges", False),
        ("values", False),
        ("bytes", True),
        ("all but allocations", True),
    ],
)
def test_what_a_dump_does_not_say_stays_as_it_was_reviewed(path: Path, lost: str, is_moved: bool):
    """A peak that is not known is no peak that moved; but it is not kept beside other bytes, nor where one may be cut.

    Where the values are missing, the same sites have no operations.
    """
    lock = lock_of(TPU)
    first, *_ = lock.entries.values()
    write_lock(path, lock)
    if lost == "values":
        spaces = [
            replace(space, sites=[site._replace(op_name="") for site in space.sites], padding=[])
            for space in first.spaces
        ]
    else:
        spaces = [
            replace(space, occupied_peak_bytes=None, layout_padding_bytes=None, sites=[], padding=[])
            for space in first.spaces
        ]
    fresh = replace(first, spaces=spaces, compiler="another", has_allocations_alone=lost == "all but allocations")
    fresh = with_more(fresh, 8) if lost == "bytes" else fresh
    new = updated(read_mendable(path), Lock.of([fresh])).entries[first.key]
    assert ("another", fresh.told if is_moved else first.told) == (new.compiler, new.told)


def test_an_accepted_program_keeps_its_reason(path: Path):
    """--accept takes one program, with the bytes by which it grew; all others stay as they were."""
    lock = lock_of(TPU)
    first, second, *_ = lock.entries.values()
    grown = with_more(first, 8)
    other = replace(second, spaces=[])
    new = updated(read_mendable(path), Lock.of([grown, other]), {first.key}, "two more layers")
    write_lock(path, new)
    found = read_lock(path).entries
    assert ("two more layers", 8) == (found[first.key].why, found[first.key].growth_bytes)
    assert second.told == found[second.key].told


def test_the_growth_that_was_accepted_is_that_of_the_check(tmp_path: Path):
    """Of a reshaped program against its former signature, and of one memory space: they are never added up."""
    path = tmp_path / "memory.lock"
    write_lock(path, lock_of("layers-4"))
    fresh = lock_of("layers-6")
    [row] = judge_held(hold(read_lock(path), fresh)).verdict.offenders
    [reshaped] = (one for one in fresh.entries.values() if one.function == "jit_train_step")
    found = updated(read_mendable(path), fresh, {reshaped.key}, "six layers").entries[reshaped.key]
    assert row.delta_bytes == found.growth_bytes
    [entry] = (one for one in lock_of(TPU).entries.values() if one.function == "jit_scan_rnn")
    first, second, *others = entry.spaces
    spaces = [replace(first, reserved_bytes=first.reserved_bytes + 7), replace(second, reserved_bytes=0), *others]
    moved = replace(entry, spaces=spaces)
    new = updated(Mendable([{entry.key: entry}]), Lock.of([moved]), {entry.key}, "more of one, less of another")
    assert 7 == new.entries[entry.key].growth_bytes


def with_more(entry: Entry, size: int) -> Entry:
    """The entry with more temporaries in its first memory space."""
    first, *others = entry.spaces
    more = replace(first, reserved_bytes=first.reserved_bytes + size, temp_bytes=first.temp_bytes + size)
    return replace(entry, spaces=[more, *others])


def git(folder: Path, *words: str) -> subprocess.CompletedProcess:
    names = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]
    return subprocess.run(["git", *names, *words], cwd=folder, capture_output=True, text=True)


def test_an_update_ends_a_merge_conflict(tmp_path: Path):
    """Two branches changed one program: git makes a conflict, a check refuses it, an update ends it."""
    path = tmp_path / "memory.lock"
    base, left, right = (lock_of(name) for name in ("kept", "undonated", "stored"))
    others = lock_of("jaxlib-0.10.0").entries.values()
    git(tmp_path, "init", "-q")
    for branch, lock in (("main", base), ("left", left), ("right", right)):
        git(
            tmp_path,
            "checkout",
            "-q",
            *(["-b", branch] if branch != "main" else []),
            *(["main"] if branch != "main" else []),
        )
        write_lock(path, Lock.of([*lock.entries.values(), *others]))
        git(tmp_path, "add", "memory.lock")
        git(tmp_path, "commit", "-qm", branch)
    assert git(tmp_path, "merge", "left").returncode
    with pytest.raises(LockFault, match="expected no merge conflict, found '<<<<<<< HEAD'"):
        read_lock(path)
    write_lock(path, updated(read_mendable(path), right))
    assert lock_text(Lock.of([*right.entries.values(), *others])) == path.read_text()


def test_a_conflict_without_a_dump_is_not_guessed(tmp_path: Path):
    """Where the sides differ in a program of which there is no dump, nothing is written, and the fault says what to do.

    An update from the dumps, which ends other conflicts, is what was just done; so it is named only where a program has
    a dump and was not to be written.
    """
    path = tmp_path / "memory.lock"
    sides = [lock_text(lock_of(name)) for name in ("kept", "stored")]
    path.write_text(f"<<<<<<< HEAD\n{sides[0]}=======\n{sides[1]}>>>>>>> other\n")
    differ = "jit_train_step on cpu: the sides of the merge differ in it; "
    gone = f"{differ}there is no dump of jit_train_step on cpu; if it is gone, write the file anew with: "
    with pytest.raises(LockFault, match=re.escape(gone)):
        updated(read_mendable(path), lock_of("layers-4"))
    path.write_text(path.read_text().replace("parameter_bytes = ", "parameter_bytes = 1"))
    of_it = r"found \d+; there is no dump of jit_train_step on cpu; if it is gone, "
    with pytest.raises(LockFault, match=f"sum of its parts, [0-9]+, {of_it}"):
        updated(read_mendable(path), lock_of("layers-4"))
    with pytest.raises(LockFault, match=r"found \d+; take what the dumps say with: bufferhouse lock --update"):
        updated(read_mendable(path), lock_of("kept"), programs=[], why="other")


def test_a_fault_names_the_file_in_its_way_out(tmp_path: Path):
    """A copied command mends the file that has the fault, not another memory.lock; its name is one word of a shell."""
    path = tmp_path / "of v5e.lock"
    write_lock(path, lock_of("kept"))
    whole = path.read_text()
    words = f"take what the dumps say with: bufferhouse lock --update --file '{path}' DUMPS"
    for faulty in (whole.replace("reserved_bytes = ", "reserved_bytes = 1", 1), f"<<<<<<< a\n{whole}", f"{whole}[[\n"):
        path.write_text(faulty)
        with pytest.raises(LockFault) as told:
            read_lock(path)
        assert words == str(told.value).rpartition("; ")[2]


@pytest.mark.parametrize(
    "text",
    ["", "[[chip]]\ngarbage [[\n", "version = 1\n[[program]]\nfunction =\n", "version = 1 # [[chip]]\nprogram = 1\n"],
)
def test_a_file_that_no_update_mends_is_written_anew(tmp_path: Path, text: str):
    """Where nothing tells of which program a fault is, the way out is no update, which found the fault."""
    path = tmp_path / "memory.lock"
    path.write_text(text)
    with pytest.raises(LockFault) as told:
        updated(read_mendable(path), lock_of("kept"))
    assert (True, False) == (
        f"write the file anew with: bufferhouse lock --file {path} DUMPS" in str(told.value),
        "--update" in str(told.value),
    )
