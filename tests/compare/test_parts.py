"""Parts of one run side by side: its dumps by the flags they were compiled with, or by folder."""

import json
import shlex
import shutil
from functools import cache

import pytest

from tests.command_line import CHECKOUT, call
from tests.compare.test_flags import PAIRS
from tests.ingests import SUFFIX, ingest
from tests.samples import unpack

DATA = CHECKOUT / "tests" / "data" / "flags"
# What is told of a side as a run, and not of its dumps.
OF_THE_RUN = ("run_id", "run_name", "run_order", "started_at", "started_at_source", "loaded_at", "part")


@cache
def told(warehouse, *words):
    """The JSON of a comparison, which is made once: nobody writes the warehouse."""
    outcome = call("compare", *words, "--warehouse", warehouse, "--format", "json")
    assert 0 == outcome.code, outcome.err
    return json.loads(outcome.out)


def compared(warehouse, *words):
    """The same without what names the runs and the time of asking."""
    # Notes name the parts as they were asked for.
    found = {name: fact for name, fact in told(warehouse, *words).items() if name not in ("asked_at", "notes")}
    for side in ("before", "after"):
        found[side] = {name: fact for name, fact in found[side].items() if name not in OF_THE_RUN}
    return found


@pytest.fixture(scope="module")
def sweep(tmp_path_factory):
    """A run of three flag sets in folders, with a dump that no file tells of, and one program in one set only."""
    path = tmp_path_factory.mktemp("sweep")
    for name, options in {
        "10": 'xla_disable_hlo_passes: "fusion"\nxla_disable_hlo_passes: "dce"\n',
        "2": 'xla_disable_hlo_passes: "fusion"\n',
        "1": 'xla_dump_to: "/a"\n',
    }.items():
        shutil.copytree(DATA / ("a" if name == "1" else "b"), path / "sweep" / name)
        for file in (path / "sweep" / name).glob("*.debug_options"):
            file.write_text(options)
    for file in (DATA / "b").glob(f"*{SUFFIX.removesuffix('.txt')}*"):
        shutil.copy(file, path / "sweep" / file.name)
        shutil.copy(file, path / "sweep" / "2" / file.name.replace("jit_conv_step", "jit_alone"))
    (path / "sweep" / "2" / "module_0001.jit_alone.debug_options").write_text('xla_disable_hlo_passes: "fusion"\n')
    warehouse = path / "w.duckdb"
    assert 0 == ingest(warehouse, path / "sweep", "--run", "sweep")[0]
    assert 0 == ingest(warehouse, DATA, "--run", "two")[0]
    assert 0 == ingest(warehouse, DATA / "a", "--run", "two@folder=a")[0]
    assert 0 == ingest(warehouse, DATA / "b", "--run", "b")[0]
    return warehouse


def test_a_run_of_two_flag_sets_is_compared_with_itself(sweep):
    """The flag that differs is named, and all figures are those of the folders as two runs."""
    found = compared(sweep, "two", "--flags")
    assert compared(sweep, "two@folder=a", "b") == found
    assert [("xla_disable_hlo_passes", None, "fusion")] == [
        (one["name"], one["before"], one["after"]) for one in found["flags"]
    ]
    assert found == compared(sweep, "two@xla_disable_hlo_passes=default", "two@xla_disable_hlo_passes=fusion")


def test_sides_say_which_part_they_are(sweep, tmp_path):
    """In JSON, in the title, on the page; a whole run is none."""
    found = told(sweep, "two", "--flags")
    parts = ["xla_disable_hlo_passes=default", "xla_disable_hlo_passes=fusion"]
    assert parts == [found[side]["part"] for side in ("before", "after")]
    assert [1, 1] == [found[side]["dump_count"] for side in ("before", "after")]
    text = call("compare", "two", "--flags", "--warehouse", sweep).out
    assert " → ".join(f"two@{part}" for part in parts) == text.splitlines()[0]
    page = tmp_path / "page.html"
    assert 0 == call("compare", "two", "--flags", "--warehouse", sweep, "--html", page).code
    assert f"two@{parts[0]} → two@{parts[1]}" in page.read_text()
    found = told(sweep, "two", "b")
    assert [None, None] == [found[side]["part"] for side in ("before", "after")]


def test_dumps_on_both_sides_are_told(sweep):
    """Two conditions may hold for one dump: that it did not change says nothing of the conditions."""
    said = "on both sides, and may be compared with"
    for sides, expected in (
        (("two", "two@folder=b"), f"1 dump is {said} itself: name further conditions."),
        (("sweep", "sweep@folder=2"), f"2 dumps are {said} themselves: name further conditions."),
        (("sweep@folder=2", "sweep@folder=10"), None),
        (("two", "two"), None),
        (("two", "b"), None),
    ):
        assert expected == next((note for note in told(sweep, *sides)["notes"] if said in note), None)


def test_a_run_whose_name_reads_as_conditions_is_meant(sweep):
    """An exact name comes before its reading as a part; both have one dump here, and one has a part."""
    found = told(sweep, "two@folder=a", "two@folder=b")
    assert [("two@folder=a", None), ("two", "folder=b")] == [
        (found[side]["run_name"], found[side]["part"]) for side in ("before", "after")
    ]


def test_many_flag_sets_are_listed_with_the_words_that_mean_them(sweep):
    """In natural order of their folders; each word works, a value with a comma too."""
    outcome = call("compare", "sweep", "--flags", "--warehouse", sweep)
    words = [line.split()[0] for line in outcome.err.splitlines()[1:]]
    assert (2, True) == (outcome.code, "has 3 flag sets" in outcome.err)
    assert [f"sweep@xla_disable_hlo_passes={value}" for value in ("default", "fusion", "fusion,dce")] == words
    folders = [f"sweep@folder={name}" for name in ("1", "2", "10")]
    for one, other in ((0, 1), (2, 1)):
        of_folders = compared(sweep, folders[one], folders[other])
        assert of_folders == compared(sweep, words[one], words[other])
    assert of_folders["flags"], "the last pair differs in a flag"


def test_listed_words_mean_their_sets_however_many_flags_differ(tmp_path):
    """Sixty flags differ, and a word of a set names as few as tell it from the others; pasted, it means the set."""
    sets = {"1": {}, "2": {0, 1, 2}, "3": {0, 1}, "4": {1, 2}, "5": set(range(60))}
    for name, given in sets.items():
        folder = tmp_path / "my sweep" / name
        shutil.copytree(DATA / "b", folder)
        flags = 'xla_in_all: "1"\n' + "".join(
            f'xla_with_a_name_that_takes_some_room_{flag:02}: "{flag}"\n' for flag in sorted(given)
        )
        for file in folder.glob("*.debug_options"):
            file.write_text(flags)
    warehouse = tmp_path / "w.duckdb"
    assert 0 == ingest(warehouse, tmp_path / "my sweep", "--run", "my sweep")[0]
    said = call("compare", "my sweep", "--flags", "--warehouse", warehouse).err
    words = [shlex.split(line)[0] for line in said.splitlines() if line.endswith("dump)")]
    assert len(sets) == len(words)
    assert max(map(len, words)) < 200
    found = compared(warehouse, words[0], words[-1])
    assert compared(warehouse, "my sweep@folder=1", "my sweep@folder=5") == found


def test_a_program_without_partner_is_named(sweep):
    """It is new, and a sentence says on which side; the dump that no file tells of is on neither."""
    words = "sweep@xla_disable_hlo_passes=default", "sweep@xla_disable_hlo_passes=fusion"
    assert ["changed", "new"] == [row["status"] for row in compared(sweep, *words)["programs"]]
    out = call("compare", *words, "--warehouse", sweep).out
    assert f"Without a partner on the other side: 1 program of {words[1]}." in out


def test_conditions_hold_together(sweep):
    """A flag and a folder choose what both choose."""
    both = "sweep@folder=2,xla_disable_hlo_passes=fusion"
    assert compared(sweep, "two", both) == compared(sweep, "two", "sweep@xla_disable_hlo_passes=fusion")
    outcome = call("compare", "two", "sweep@folder=1,xla_disable_hlo_passes=fusion", "--warehouse", sweep)
    assert (2, True) == (outcome.code, "there is no dump with 'xla_disable_hlo_passes=fusion'" in outcome.err)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["sweep@xla_disable_hlo_pass=x", "b"],
            "did you mean 'xla_disable_hlo_passes'?\nflag sets of the run:\n  sweep@",
        ),
        (
            ["sweep@xla_disable_hlo_passes=x", "b"],
            "flag sets of the run:\n  sweep@xla_disable_hlo_passes=default  (1 dump)",
        ),
        (["sweep@folder=3", "b"], "folders of the run:\n  sweep@folder=1  (1 dump)\n  sweep@folder=2  (2 dumps)"),
        (["b", "--flags"], "no flag differs between the dumps of one program; 1 of its 1 dump have files"),
        (["sweep"], "bufferhouse compare RUN --flags"),
        (["sweep", "b", "--flags"], "--flags: expected one run"),
        (["nobody@folder=1", "b"], "there is no run 'nobody'"),
        (["two@xla_dump_to=/a", "b"], "tells of a flag 'xla_dump_to'"),
        (["b", "two@\x1b[31m=1"], "there is no run"),
        (["b", "two@folder=\x1b[31m"], "folder=\\\\x1b[31m"),
    ],
)
def test_what_fits_no_dump_tells_the_way_out(sweep, words, said):
    """Exit 2, with the flag sets or the folders of the run; nothing that a terminal would obey."""
    outcome = call("compare", *words, "--warehouse", sweep)
    assert (2, True, False) == (outcome.code, said in outcome.err, "\x1b" in outcome.err), outcome.err


@pytest.mark.soak
@pytest.mark.corpus
def test_every_real_pair_in_one_run_is_its_two_runs(corpus, tmp_path):
    """Twenty pairs: by folder as by run, to the last figure; by flags, too, wherever a file tells one that differs."""
    warehouse = tmp_path / "w.duckdb"
    unpack(corpus / "context.tar.gz", tmp_path)
    folders = {folder.name: folder for folder in tmp_path.glob("context/*/*/")}
    assert PAIRS.keys() == folders.keys()
    ingest(warehouse, corpus / "context.tar.gz")
    for pair, folder in folders.items():
        ingest(warehouse, folder, "--run", f"one-{pair}")
        runs = compared(warehouse, f"{pair}/a", f"{pair}/b")
        assert runs == compared(warehouse, f"one-{pair}@folder=a", f"one-{pair}@folder=b"), pair
        if PAIRS[pair]:
            assert runs == compared(warehouse, f"one-{pair}", "--flags"), pair
            assert PAIRS[pair] == [flag["name"] for flag in runs["flags"]]
        else:
            outcome = call("compare", f"one-{pair}", "--flags", "--warehouse", warehouse)
            assert (2, True) == (outcome.code, f"one-{pair}@folder=b" in outcome.err), pair
