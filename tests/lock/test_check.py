"""Dumps held against a lock: the causes close, and planted regressions are found with their line."""

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from bufferhouse.compare.causes import FREED_BEFORE, LIVES_TO_PEAK, LOGICAL_SIZE, OWN_OTHERS, PACKING
from bufferhouse.compare.compare import GONE, UNCHANGED, compare_runs
from bufferhouse.config.threshold import Threshold
from bufferhouse.lock.check import ANY_GROWTH, DONATION_LOST, hold, judge_held
from bufferhouse.lock.entry import PEAK_SITES, Lock, Site
from bufferhouse.lock.file import read_lock, write_lock
from bufferhouse.report.lock.text import lock_text
from bufferhouse.warehouse.open import reading
from tests.lock.specimens import TPU, lock_of, outputs_of

RELEASES = ["0.4.13", "0.4.25", "0.4.38", "0.6.0", "0.7.0", "0.8.0", "0.9.0", "0.10.0"]


def as_file(tmp_path: Path, lock: Lock) -> Lock:
    """The lock as a file has it: the largest sites only."""
    path = tmp_path / "memory.lock"
    write_lock(path, lock)
    return read_lock(path)


@pytest.mark.parametrize("metric", ["reserved", "occupied"])
@pytest.mark.parametrize(("before", "after"), list(pairwise(RELEASES)))
def test_causes_sum_to_the_change(tmp_path: Path, before: str, after: str, metric: str):
    """Of every program between any two releases, to the byte, though the file lists only some of the values."""
    lock = as_file(tmp_path, lock_of(f"jaxlib-{before}"))
    held = hold(lock, lock_of(f"jaxlib-{after}"), metric=metric)
    assert len(held.rows) >= 13
    for row in held.rows:
        assert (row.delta_bytes or 0) == sum(cause.size_bytes for cause in row.causes)


@pytest.mark.parametrize(("before", "after"), list(pairwise(RELEASES)))
def test_a_check_and_a_comparison_name_one_main_cause(tmp_path: Path, example_warehouse: Path, before: str, after: str):
    """Where one of them says fragmentation the other does, with the same bytes, whatever operations are called now.

    A lock does not tell apart the other causes, as it has no values.
    """
    held = hold(as_file(tmp_path, lock_of(f"jaxlib-{before}")), lock_of(f"jaxlib-{after}"))
    with reading(example_warehouse) as warehouse:
        ids = dict(warehouse.con.execute("SELECT run_name, run_id FROM raw.runs").fetchall())
        compared = compare_runs(warehouse.con, ids[f"jaxlib-{before}"], ids[f"jaxlib-{after}"])
    said = [
        {
            (row.pair.any.program_name, row.memory_space, row.delta_bytes): row.main_cause
            for row in rows
            if row.main_cause and row.main_cause[0] == PACKING
        }
        for rows in (compared, held.rows)
    ]
    assert said[0] == said[1]


def lock_with(sites: list[Site]) -> Lock:
    """Return a lock of one program whose peak has just these sites."""
    [entry] = [one for one in lock_of("jaxlib-0.9.0").entries.values() if one.function == "jit_fft"]
    size = sum(site.owned_bytes for site in sites)
    space = replace(*entry.spaces, reserved_bytes=30_000, occupied_peak_bytes=size, sites=sites)
    return Lock.of([replace(entry, spaces=[space])])


def test_a_renamed_operation_is_no_cause():
    """A release that calls an operation otherwise, or indexes with u32 where it took s32, moves no byte at the peak."""
    before = [
        Site(8000, "temp", 2, "copy s32[1000]"),
        Site(8000, "temp", 2, "s32[1000]", "jit(f)/vmap()/while/select_n", "train.py:65"),
        Site(4000, "temp", 1, "f32[1000,1]", "jit(f)/vmap()/while/gather", "train.py:69"),
        Site(4000, "temp", 1, "f32[1000]", "jit(f)/mul"),
    ]
    after = [
        Site(8000, "temp", 2, "copy u32[1000]"),
        Site(8000, "temp", 2, "u32[1000]", "jit(f)/vmap(scan_impl)/while/select_n", "train.py:69"),
        Site(4000, "output", 1, "f32[1000,1]", "jit(f)/vmap(scan_impl)/while/dynamic_slice", "train.py:69"),
        Site(2000, "temp", 1, "bf16[1000]", "jit(f)/scan_impl/mul"),
    ]
    [row] = hold(*map(lock_with, (before, after)), metric="occupied").rows
    assert [(LOGICAL_SIZE, -2000)] == [cause[:2] for cause in row.causes]


def test_a_main_cause_that_is_not_the_largest_is_told(tmp_path: Path):
    """The table of causes begins with values that came in the place of others; the sentence says what they leave."""
    held = hold(as_file(tmp_path, lock_of("jaxlib-0.4.25")), lock_of("jaxlib-0.4.38"))
    text = lock_text(held, judge_held(held), ANY_GROWTH, "markdown", exact=True)
    assert "Main cause: fragmentation and padding between buffers +192 B. What comes to the peak" in text


def test_other_values_under_another_name_are_no_rename():
    """Equal bytes alone prove nothing, nor does one shape of several; then values come and go."""
    before = [Site(4000, "temp", 1, "f32[1000]", "jit(f)/mul"), Site(900, "temp", 2, "f32[150]", "jit(f)/exp")]
    after = [Site(4000, "temp", 1, "f32[10,100]", "jit(f)/dot"), Site(700, "temp", 2, "f32[150]", "jit(f)/log")]
    [row] = hold(*map(lock_with, (before, after)), metric="occupied").rows
    assert {(FREED_BEFORE, -4000), (LIVES_TO_PEAK, 4000), (FREED_BEFORE, -900), (LIVES_TO_PEAK, 700)} == {
        cause[:2] for cause in row.causes
    }
    assert (FREED_BEFORE, -200) == row.main_cause


def test_causes_are_named_by_their_direction(tmp_path: Path):
    """What is now alive adds bytes, what is no longer alive takes bytes off."""
    locks = [lock_of(f"jaxlib-{release}") for release in RELEASES]
    helds = [hold(as_file(tmp_path, before), after) for before, after in pairwise(locks)]
    moved = [cause for held in helds for row in held.rows for cause in row.causes]
    directions = {(cause.cause, cause.size_bytes > 0) for cause in moved}
    assert {(LIVES_TO_PEAK, True), (FREED_BEFORE, False)} == {
        one for one in directions if one[0] in (LIVES_TO_PEAK, FREED_BEFORE)
    }


def test_another_value_of_an_operation_is_no_change_of_its_shape():
    """A peak that moved from one layer to the next: one value is no longer alive, and another one is."""
    [(key, entry)] = [one for one in lock_of("jaxlib-0.9.0").entries.items() if one[1].function == "jit_fft"]
    [space] = entry.spaces
    sides = []
    for shape, size in (("f32[512,256]", 524288), ("f32[784,512]", 1605632), ("bf16[784,512]", 802816)):
        site = Site(size, "temp", 1, shape, "jit(f)/transpose", "train.py:7")
        whole = replace(space, reserved_bytes=size, occupied_peak_bytes=size, sites=[site])
        sides.append(Lock({key: replace(entry, spaces=[whole])}))
    told = [[cause[:2] for cause in hold(*pair).rows[0].causes] for pair in pairwise(sides)]
    assert [[(LIVES_TO_PEAK, 1605632), (FREED_BEFORE, -524288)], [(LOGICAL_SIZE, -802816)]] == told


def test_bytes_that_the_largest_shape_does_not_explain_are_not_called_shared(tmp_path: Path):
    """Of two values of an operation the smaller one grew; elements of four bits are packed from one release on."""
    [(key, entry)] = [one for one in lock_of("jaxlib-0.9.0").entries.items() if one[1].function == "jit_fft"]
    [space] = entry.spaces
    sides = []
    for small in (40_000, 80_000):
        site = Site(400_000 + small, "temp", 2, "f32[100000]", "jit(f)/split", "train.py:7")
        whole = replace(space, reserved_bytes=site.owned_bytes, occupied_peak_bytes=site.owned_bytes, sites=[site])
        sides.append(Lock({key: replace(entry, spaces=[whole])}))
    [row] = hold(*sides).rows
    assert [(OWN_OTHERS, 40_000)] == [cause[:2] for cause in row.causes]
    held = hold(as_file(tmp_path, lock_of("jaxlib-0.4.13")), lock_of("jaxlib-0.4.25"))
    [row] = [row for row in held.rows if row.pair.any.program_name == "jit_dt_int4"]
    assert [(OWN_OTHERS, -50)] * 3 == [cause[:2] for cause in row.causes]


def test_a_value_without_an_operation_is_recognized_in_a_reshaped_program():
    """A copy that the compiler added is told by rank and type: of a larger batch it is the same one, and larger."""
    [entry] = [one for one in lock_of("jaxlib-0.9.0").entries.values() if one.function == "jit_fft"]
    [space] = entry.spaces
    sides = []
    for number, (batch, size) in enumerate(((1000, 4_000_000), (1200, 4_800_000))):
        sites = [Site(size, "temp", 1, f"copy f32[{batch},1000]"), Site(400, "temp", 1, "copy f32[100]")]
        whole = replace(space, reserved_bytes=size + 400, occupied_peak_bytes=size + 400, sites=sites)
        sides.append(
            Lock.of([replace(entry, spaces=[whole], program_id=number, parameters=[(1, f"f32[{batch},1000]")])])
        )
    [row] = hold(*sides).rows
    assert ("reshaped", [(LOGICAL_SIZE, 800_000)]) == (row.status, [cause[:2] for cause in row.causes])


def test_the_file_lists_less_than_a_dump():
    """The test above looks at programs with more sites than a file has."""
    sites = [len(space.sites) for entry in lock_of("jaxlib-0.8.0").entries.values() for space in entry.spaces]
    assert max(sites) > PEAK_SITES


@pytest.mark.parametrize("run", [TPU, "jaxlib-0.9.0", "kept"])
def test_equal_dumps_raise_nothing(tmp_path: Path, run: str):
    """Unchanged programs pass, with nothing to say of them."""
    judged = judge_held(hold(as_file(tmp_path, lock_of(run)), lock_of(run)))
    assert (True, [], [], [], []) == (
        judged.is_passed, judged.verdict.offenders, judged.unknown, judged.shrunk, judged.gone
    )  # fmt: skip


def found(tmp_path: Path, before: str, after: str):
    """The dumps of one run held against the lock of another, and the verdict."""
    held = hold(as_file(tmp_path, lock_of(before)), lock_of(after), outputs=outputs_of(after))
    return held, judge_held(held)


def test_a_lost_donation_names_the_line_of_the_output(tmp_path: Path):
    """Without donate_argnums parameters and momentum, 4 MiB, have outputs of their own: the lines that make them."""
    held, judged = found(tmp_path, "kept", "undonated")
    assert not judged.is_passed
    (row,) = judged.verdict.offenders
    first = row.causes[0]
    assert (DONATION_LOST, 4 << 20, "/srv/train/train.py:16") == (first.cause, first.size_bytes, first.site.source)
    assert {row.key: 4 << 20} == held.donations
    assert row.delta_bytes == sum(cause.size_bytes for cause in row.causes)


def test_a_check_is_written_to_the_byte(tmp_path: Path):
    """Where exact bytes are asked for, sentences have them as tables do: growth, a lost donation, what shrank."""
    for before, after, said in (
        ("kept", "undonated", f"{4 << 20:,} B of parameters are not donated any more"),
        ("undonated", "kept", "Shrunk"),
    ):
        held, judged = found(tmp_path, before, after)
        text = lock_text(held, judged, ANY_GROWTH, "markdown", exact=True)
        assert (True, []) == (said in text, [unit for unit in ("KiB", "MiB", "GiB") if unit in text])


def test_a_removed_remat_names_the_line_of_what_is_stored(tmp_path: Path):
    """Without jax.checkpoint the blocks keep what they compute: lines 6 and 7 of the block."""
    _, judged = found(tmp_path, "kept", "stored")
    (row,) = judged.verdict.offenders
    grown = {cause.site.source for cause in row.causes if cause.size_bytes > 1 << 20 and cause.site}
    assert {"/srv/train/train.py:6", "/srv/train/train.py:7"} == grown


def test_two_more_layers_are_a_reshaped_program(tmp_path: Path):
    """From four layers to six the signature is another: the program is found again, and has grown."""
    held, judged = found(tmp_path, "layers-4", "layers-6")
    (row,) = judged.verdict.offenders
    assert ("reshaped", "jit_train_step") == (row.status, row.pair.after.program_name)
    assert not judge_held(held, reshaped="warn").verdict.offenders


def test_a_check_that_leaves_all_out_says_so_in_each_form():
    """Reshaped programs alone, and those ignored: the check fails, and GitHub has an error that says why."""
    steps = (
        Lock.of(one for one in lock_of(run).entries.values() if one.function == "jit_train_step")
        for run in ("layers-4", "layers-6")
    )
    held = hold(*steps)
    judged = judge_held(held, reshaped="ignore")
    assert not judged.is_passed
    for form in ("table", "markdown", "github"):
        assert "othing was compared: every program" in lock_text(held, judged, ANY_GROWTH, form)
    assert "::error title=memory.lock::nothing was compared: " in lock_text(held, judged, ANY_GROWTH, "github")


def test_a_donation_lost_without_growth_does_not_pass(tmp_path: Path):
    """What a program returns stays beside its arguments, though it took no more while it ran."""
    lock = lock_of("kept")
    ((key, entry),) = lock.entries.items()
    space = entry.spaces[0]
    lost = space.donated_bytes
    same = replace(space, donated_bytes=0, output_bytes=space.output_bytes + lost, temp_bytes=space.temp_bytes - lost)
    judged = judge_held(hold(lock, Lock({key: replace(entry, spaces=[same])})))
    assert ([], 1, False) == (judged.verdict.offenders, len(judged.undonated), judged.is_passed)
    renamed = Lock.of([replace(entry, spaces=[same], function="jit_other", program_id=1)])
    judged = judge_held(hold(lock, renamed))
    assert ([], 1, False) == (judged.verdict.offenders, len(judged.undonated), judged.is_passed)
    lenient = judge_held(hold(lock, Lock({key: replace(entry, spaces=[same])})), Threshold(0.0, lost + 1))
    assert lenient.is_passed


def test_bytes_that_are_not_known_do_not_pass():
    """An occupied peak that a dump or the lock does not tell is not judged, and nobody says that nothing grew."""
    lock = lock_of("jaxlib-0.9.0")
    first, *rest = lock.entries.values()
    blind = [replace(space, occupied_peak_bytes=None, layout_padding_bytes=None, sites=[]) for space in first.spaces]
    without = Lock.of([replace(first, spaces=blind), *rest])
    for sides in ((lock, without), (without, lock), (without, without)):
        held = hold(*sides, metric="occupied")
        judged = judge_held(held)
        assert ([first.program_id], False) == ([row.pair.after.program_id for row in judged.unjudged], judged.is_passed)
        for form in ("table", "markdown", "github"):
            assert first.function in lock_text(held, judged, ANY_GROWTH, form).replace("\\", "")
        assert [first.function] == json.loads(lock_text(held, judged, ANY_GROWTH, "json"))["unjudged"]
    assert judge_held(hold(lock, without)).is_passed  # reserved bytes are known


def test_a_program_under_another_name_is_told():
    """It is compared with the one that it was, and passes, but the lock does not hold it as it is."""
    lock = lock_of("jaxlib-0.9.0")
    first, *rest = (entry for entry in lock.entries.values() if entry.function == "jit_fft")
    renamed = Lock.of([replace(first, function="jit_fourier", program_id=1), *rest])
    held = hold(Lock.of([first, *rest]), renamed)
    judged = judge_held(held)
    assert ([1], [], [], True) == (
        [row.pair.after.program_id for row in judged.joined], judged.unknown, judged.gone, judged.is_passed
    )  # fmt: skip
    for form in ("table", "markdown", "github"):
        assert "jit_fft → jit_fourier" in lock_text(held, judged, ANY_GROWTH, form).replace("\\", "")
    assert ["jit_fourier"] == json.loads(lock_text(held, judged, ANY_GROWTH, "json"))["joined"]


def test_a_chip_without_dumps_is_told():
    """A job that compiles for one of two chips passes, and says what it did not compare."""
    lock = lock_of("jaxlib-0.9.0")
    first, *_ = lock.entries.values()
    both = Lock.of([*lock.entries.values(), replace(first, chip="TPU v6e")])
    held = hold(both, lock)
    judged = judge_held(held)
    assert judged.is_passed
    for form in ("table", "markdown", "github"):
        told = "there are no dumps for TPU v6e: 1 program of memory.lock not compared"
        assert told in lock_text(held, judged, ANY_GROWTH, form).replace("\\", "")
    assert {"TPU v6e": 1} == json.loads(lock_text(held, judged, ANY_GROWTH, "json"))["absent_chips"]
    assert {} == hold(lock, lock).absent_chips


def test_what_shrank_is_told_with_its_memory_space():
    """A program that shrinks in one memory space may grow in another; the way in is the whole command."""
    ((key, entry),) = (one for one in lock_of(TPU).entries.items() if one[1].function == "jit_scan_rnn")
    more = [
        replace(space, reserved_bytes=space.reserved_bytes + 1, temp_bytes=space.temp_bytes + 1)
        for space in entry.spaces
    ]
    held = hold(Lock({key: replace(entry, spaces=more)}), Lock({key: entry}))
    _, *told = lock_text(held, judge_held(held), ANY_GROWTH, "github", name="other.lock").splitlines()
    assert len(more) == len(told) > 1
    for space, line in zip(more, sorted(told), strict=True):
        assert f"memory space {space.memory_space} " in line
        assert "less than other.lock says. Lower it with: bufferhouse lock --update --file other.lock DUMPS" in line


def test_a_program_of_several_memory_spaces_is_one_that_is_not_in_the_lock():
    """GitHub counts programs, as for those that grew; each memory space has a line of its own."""
    (entry,) = (one for one in lock_of(TPU).entries.values() if one.function == "jit_scan_rnn")
    others = Lock.of(one for one in lock_of(TPU).entries.values() if one is not entry)
    held = hold(others, lock_of(TPU))
    *told, total = lock_text(held, judge_held(held), ANY_GROWTH, "github").splitlines()
    assert len(entry.spaces) == len([line for line in told if "jit_scan_rnn, memory space" in line]) > 1
    assert "1 not in it" == total.rpartition(", ")[2]


def test_another_compiler_and_other_flags_are_told_in_each_form():
    """They explain most growth; a check passes or not whatever compiled."""
    lock = lock_of("jaxlib-0.9.0")
    other = Lock.of(replace(one, compiler="jaxlib 9.9.9", flags="--xla_f=1") for one in lock.entries.values())
    held = hold(lock, other)
    for form in ("table", "markdown", "json", "github"):
        told = lock_text(held, judge_held(held), ANY_GROWTH, form)
        assert (True, True) == ("jaxlib 9.9.9" in told, "f=1" in told)
    assert f"{len(lock.entries)} programs of another build: jaxlib 0.9.0 in memory.lock, jaxlib 9.9.9 now" in told


def test_new_gone_and_refused_programs(tmp_path: Path):
    """A program that nobody reviewed does not pass, nor a dump that nobody can read; one without a dump does."""
    lock = lock_of("jaxlib-0.9.0")
    first, *rest = lock.entries.values()
    without = Lock.of(rest)
    assert ([first.program_id], False) == (
        [row.pair.after.program_id for row in judge_held(hold(without, lock)).unknown],
        judge_held(hold(without, lock)).is_passed,
    )
    judged = judge_held(hold(lock, without))
    assert ([first.program_id], True) == ([row.pair.before.program_id for row in judged.gone], judged.is_passed)
    assert {UNCHANGED, GONE} == {row.status for row in hold(lock, without).rows}
    told = lock_text(hold(lock, without), judged, ANY_GROWTH, "github").splitlines()
    one = f"1 program without a dump was not compared, and its entry stays in memory.lock: {first.function}"
    assert [True, True] == [f"{len(rest)} comparisons with memory.lock" in told[0], one in told[-1]]
    without.refused = ["broken-buffer-assignment.txt"]
    assert not judge_held(hold(lock, without)).is_passed


def test_a_program_may_be_in_a_dump_that_could_not_be_read():
    """Nobody says that a program was not compiled where the dump of it may be the one that is broken."""
    lock = lock_of("jaxlib-0.9.0")
    _, *rest = lock.entries.values()
    without = Lock.of(rest)
    without.refused = ["broken-buffer-assignment.txt"]
    held = hold(lock, without)
    judged = judge_held(held)
    for form in ("table", "markdown"):
        told = " ".join(lock_text(held, judged, ANY_GROWTH, form).split())
        assert (True, False) == ("or are in a dump that could not be read." in told, "These have no dump:" in told)
    notice = "1 program without a dump that could be read was not compared, and its entry stays in memory.lock"
    assert notice in lock_text(held, judged, ANY_GROWTH, "github")
    several = hold(lock, Lock.of(rest[:1]))
    told = lock_text(several, judge_held(several), ANY_GROWTH, "github")
    assert f"{len(rest)} programs without a dump were not compared, and their entries stay in memory.lock: " in told


def test_a_comment_is_as_long_as_github_takes():
    """A pull request that moves a whole fleet has a comment: its largest rows, and how many more there are."""
    (entry,) = (one for one in lock_of(TPU).entries.values() if one.function == "jit_scan_rnn")
    more = [
        replace(space, reserved_bytes=space.reserved_bytes + 1, temp_bytes=space.temp_bytes + 1)
        for space in entry.spaces
    ]
    flags = " ".join(f"--xla_flag_number_{number}=true" for number in range(3000))
    fleet = [replace(entry, function=f"jit_{'deep_' * 20}{number}", program_id=number) for number in range(300)]
    held = hold(Lock.of(fleet), Lock.of(replace(one, spaces=more, flags=flags) for one in fleet))
    judged = judge_held(held)
    text = lock_text(held, judged, ANY_GROWTH, "comment")
    assert 65_536 < len(lock_text(held, judged, ANY_GROWTH, "markdown"))
    assert 30_000 < len(text) < 65_536
    assert f"300 programs grew by at least 1 B, in {300 * len(more):,} of {300 * len(more):,} comparisons." in text
    rows = sum(line.startswith("| jit\\_deep") for line in text.splitlines())
    assert f"{300 * len(more) - rows:,} more rows: --format json has them" in text
    assert text.endswith("Commit the file with the change.")
    few = hold(Lock.of(fleet[:2]), Lock.of(replace(one, spaces=more) for one in fleet[:2]))
    judged = judge_held(few)
    assert lock_text(few, judged, ANY_GROWTH, "markdown") == lock_text(few, judged, ANY_GROWTH, "comment")
