"""Runs by names, beginnings of names, and their place among the newest."""

from pathlib import Path

import pytest

from bufferhouse.errors import UsageError
from bufferhouse.warehouse.address import address_of
from bufferhouse.warehouse.open import writing
from bufferhouse.warehouse.run_names import find
from tests.command_line import call


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("jaxlib-0.4.38", "jaxlib-0.4.38"),
        ("jaxlib-0.9", "jaxlib-0.9.0"),
        ("latest:track=release,platform=cpu", "jaxlib-0.10.0"),
        ("previous:track=release,platform=cpu", "jaxlib-0.9.0"),
        ("latest:track=seeds", "seeds"),
    ],
)
def test_words_that_mean_one_run(example, word, expected):
    """A whole name, a beginning that fits one run only, the newest of those with some facts, and the one before it."""
    assert expected == find(example, word).run_name


def test_a_run_called_latest_is_not_it(own_warehouse):
    """A folder or a run.json can give that name: neither chooses what is compared or removed. `late` is the run."""
    with writing(address_of(str(own_warehouse))) as opened:
        newest = find(opened.con, "latest").run_name
        opened.con.execute("UPDATE raw.runs SET run_name = 'latest' WHERE run_name = 'seeds'")
        assert newest == find(opened.con, "latest").run_name
        assert "latest" == find(opened.con, "late").run_name


@pytest.mark.parametrize(
    "verb", [["runs", "pin"], ["runs", "rm", "--yes"], ["export", "-o", "out", "--run"], ["lock"], ["oom"]]
)
def test_a_warehouse_without_runs_says_how_to_load_some(warehouse: Path, verb: list[str]):
    """There is no name to choose among: the way out is an ingest."""
    said = call(*verb, "monday", "--warehouse", warehouse)
    assert 2 == said.code
    assert (
        "there is no run 'monday': the warehouse has no runs yet; load dumps with: bufferhouse ingest SOURCE\n"
        in said.err
    )


def test_latest_is_the_newest_run(example):
    """Of all runs, as `runs ls` orders them; a run that is really called so comes first."""
    names = [name for (name,) in example.execute("SELECT run_name FROM marts.runs_v1 ORDER BY run_order").fetchall()]
    assert names[-2:] == [find(example, "previous").run_name, find(example, "latest").run_name]


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("jaxlib-0.4", "fits 3 runs; give one of them:"),
        ("jaxlib-0.44", "did you mean 'jaxlib-0.4"),
        ("/dumps/jaxlib-0.6.0/", "there is no run '/dumps/jaxlib-0.6.0/'; did you mean 'jaxlib-0.6.0'?"),
        ("latest:track=nihgtly", "there are no runs with track=nihgtly; known: release, seeds"),
        ("previous:track=seeds", "there is 1 run with track=seeds"),
        ("latest:nightly", "expected latest:NAME=VALUE, such as latest:track=nightly"),
    ],
)
def test_an_ambiguous_or_unknown_word_names_candidates(example, word, said):
    """An error says what the word could have meant."""
    with pytest.raises(UsageError) as refused:
        find(example, word)
    assert said in str(refused.value)


EVERYWHERE = [
    ["compare", "previous:track=release", "latest:track=release"],
    ["report", "run", "latest:track=release"],
    ["report", "program", "jit_cnn_train_step", "--run", "latest:platform=cpu"],
    ["verify", "--run", "latest:track=seeds"],
    ["export", "--run", "latest:track=seeds", "-o", "out"],
    ["runs", "rm", "latest:track=seeds", "--plan"],
    ["runs", "set", "latest:track=seeds", "host=h"],
    ["runs", "rename", "latest:track=seeds", "sown"],
    # They find a run and change it as `set` does.
    *(pytest.param(["runs", verb, "latest:track=seeds"], marks=pytest.mark.soak) for verb in ("pin", "complete")),
]


@pytest.mark.parametrize("words", EVERYWHERE, ids=lambda words: "-".join(words[:2]))
def test_latest_is_a_run_wherever_a_run_is_named(own_warehouse, tmp_path, monkeypatch, words):
    """Verbs that read and verbs that write take the same words, and refuse one that fits several runs."""
    monkeypatch.chdir(tmp_path)
    several = ["jaxlib-0" if "track" in word or "platform" in word else word for word in words]
    refused = call(*several, "--warehouse", own_warehouse)
    assert (2, True) == (refused.code, "fits 8 runs; give one of them:" in refused.err)
    assert 0 == call(*words, "--warehouse", own_warehouse).code
