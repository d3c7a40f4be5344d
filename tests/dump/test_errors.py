"""Refusals: what they say, where they point, and that nothing is ever half read.

`tests/data/invalid` holds an input for every production of the grammar and every hard assertion, named by what is
wrong with it; `messages.tsv` there holds, for each, the file of the dump, the rule and the exact message.
"""

import csv
import pickle
import random

import pytest

from bufferhouse.dump import DumpError, parse, render
from bufferhouse.dump.errors import QUOTE_LIMIT
from bufferhouse.paths import CHECKOUT
from tests.fuzz import damaged, outcome
from tests.samples import SIBLINGS, SUFFIX, of_fleet, samples

INVALID = CHECKOUT / "tests" / "data" / "invalid"
with (INVALID / "messages.tsv").open(encoding="utf-8", newline="") as lines:
    MESSAGES = {row[0]: tuple(row[1:]) for row in csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)}


def files_of(reason: str) -> dict[str, bytes]:
    """Return the files of an invalid dump: one, or those of a split dump."""
    path = INVALID / f"{reason}.txt"
    if path.exists():
        return {"combined": path.read_bytes()}
    return next(samples({file.name: file.read_bytes() for file in INVALID.glob(f"{reason}-*")})).files


def refusal(files: dict[str, bytes]) -> DumpError:
    with pytest.raises(DumpError) as caught:
        parse(files)
    return caught.value


@pytest.mark.parametrize("reason", MESSAGES)
def test_every_refusal_says_what_was_expected_and_found_where(reason: str):
    """The message of an invalid input, the file of the dump it is about, and its rule are exactly those on record."""
    error = refusal(files_of(reason))
    assert MESSAGES[reason] == (error.role, error.rule, str(error))


def test_every_invalid_input_is_on_record():
    """No file of the directory is left out, and no line of the record is without its file."""
    endings = (SUFFIX, *SIBLINGS.values(), ".txt")
    found = set()
    for path in INVALID.glob("*.txt"):
        ending = next(ending for ending in sorted(endings, key=len, reverse=True) if path.name.endswith(ending))
        found.add(path.name.removesuffix(ending))
    assert set(MESSAGES) == found


def test_every_rule_is_broken_by_some_invalid_input():
    """Each hard assertion has a name of its own, and an input that breaks it alone."""
    rules = {
        "grammar", "allocation_index", "flags", "value_id", "value_order", "cross_color_value", "size", "total_bytes",
        "used_values", "none_form", "dialect", "max_position", "sequence", "live_range", "peak_position", "peak_set",
        "peak_form", "cumulative_bytes", "stack_trace",
    }  # fmt: skip
    assert rules == {rule for _, rule, _ in MESSAGES.values()}


def test_an_error_survives_the_way_out_of_a_worker_process():
    """Pickled and unpickled it has the same place, parts and message."""
    error = refusal(files_of("split-values-cut"))
    again = pickle.loads(pickle.dumps(error))
    parts = ("line", "column", "expected", "found", "role", "rule")
    assert [getattr(error, part) for part in parts] == [getattr(again, part) for part in parts]
    assert str(error) == str(again)


def test_input_is_quoted_on_one_line_and_cut():
    """However long the line is, and whatever stands in it, a message shows 80 characters of it at most."""
    error = refusal({"combined": b"BufferAssignment:\n" + b"x\t\x1b\xe9" * 1000})
    assert QUOTE_LIMIT + 3 * QUOTE_LIMIT >= len(error.found)  # an escape takes up to four characters
    assert error.found.startswith("'x\\t\\x1bé")
    assert error.found.endswith("…'")
    assert "\n" not in str(error)


@pytest.mark.parametrize("start", range(0, 600, 100))
def test_a_damaged_dump_is_refused_or_written_back(start: int):
    """A few hundred of the mutations of `python -m tests.fuzz`: one of two outcomes, whatever was done to the bytes."""
    dice = random.Random(start)
    victims = [sample.files for sample in of_fleet() if sum(map(len, sample.files.values())) < 20_000]
    counts = {"accepted": 0, "refused": 0}
    for _ in range(100):
        counts[outcome(damaged(dice, dice.choice(victims)))] += 1
    assert counts["accepted"] > 0
    assert counts["refused"] > 50


def ends_of_lines(data: bytes) -> set[int]:
    return {at + 1 for at in range(len(data)) if data[at] == ord("\n")}


def whole_prefixes(data: bytes) -> set[int]:
    """Return the lengths at which a dump in one file, of a dialect with instruction texts, is cut unnoticed.

    A cut at the end of a line of the allocations looks like the first file of a split dump whose siblings are missing;
    one behind the peak lines like a dump of before the stack trace. The empty line that ends the allocations counts as
    a line feed behind the end. Pointers were printed before there were split dumps, so a cut behind one is noticed.
    """
    end = data.find(b"\n\nTotal bytes used")
    pointer = data.find(b"0x")
    lengths = {at for at in ends_of_lines(data) if at <= end + 2 and (pointer < 0 or at <= pointer)}
    trace = data.find(b"  Stack trace breakdown")
    return lengths | {len(data)} | ({trace} if trace >= 0 else set())


def accepted_prefixes(files: dict[str, bytes], role: str) -> set[int]:
    """Cut one file of a dump at every byte; return the lengths that are read, each back to its very bytes."""
    lengths = set()
    for length in range(len(files[role]) + 1):
        cut = {**files, role: files[role][:length]}
        if outcome(cut) == "accepted":
            lengths.add(length)
    return lengths


def example(start: str, program: str) -> dict[str, bytes]:
    return next(sample.files for sample in of_fleet() if sample.name.startswith(start) and program in sample.name)


@pytest.mark.parametrize(
    ("run", "program"),
    [("seeds", "000_"), ("seeds", "004_"), ("jaxlib-0.4.25", "donate_swap"), ("jaxlib-0.9.0", "donate1")],
)
def test_a_dump_that_is_cut_is_refused(run: str, program: str):
    """At every byte: TPU, pointers, glued lines, and a stack trace, with the few exceptions that cannot be told."""
    files = example(run, program)
    assert whole_prefixes(files["combined"]) == accepted_prefixes(files, "combined")


def test_the_allocations_of_a_split_dump_may_be_cut_only_without_their_values():
    """Alone they are whole at the end of any line; beside the values file they are whole or refused."""
    files = example("jaxlib-0.10.0", "donate_swap")
    data = files["allocations"]
    assert {len(data)} == accepted_prefixes(files, "allocations")
    assert ends_of_lines(data) == accepted_prefixes({"allocations": data}, "allocations")


def test_the_values_of_a_split_dump_that_are_cut_are_refused():
    """At every byte, with and without the live range beside them."""
    files = example("jaxlib-0.10.0", "donate_swap")
    assert {len(files["values"])} == accepted_prefixes(files, "values")
    del files["live_range"]
    assert {len(files["values"])} == accepted_prefixes(files, "values")


def test_the_live_range_of_a_split_dump_that_is_cut_is_refused():
    """At every byte but that where the stack trace begins, which not every version prints."""
    files = example("jaxlib-0.10.0", "donate_swap")
    data = files["live_range"]
    assert {data.index(b"  Stack trace"), len(data)} == accepted_prefixes(files, "live_range")


@pytest.mark.parametrize("place", ["allocations", "values", "live_range"])
def test_line_feeds_that_are_cut_are_only_counted(place: str):
    """A file with line feeds behind its end is whole with fewer of them."""
    files = example("jaxlib-0.10.0", "donate_swap")
    longer = {**files, place: files[place] + b"\n\n"}
    assert 2 == parse(longer).trailing_newlines[place]
    assert longer == render(parse(longer))
    shorter = {**files, place: files[place] + b"\n"}
    assert 1 == parse(shorter).trailing_newlines[place]
