"""What the shell proposes: verbs, runs, programs and questions, from the warehouse or what was kept of it."""

import os
import subprocess
import sys

import pytest

from bufferhouse.paths import CHECKOUT
from bufferhouse.query.cookbook import questions
from bufferhouse.warehouse.open import writing
from tests.command_line import call


@pytest.fixture
def proposed(own_warehouse, tmp_path):
    """A function that returns what bash is told behind some words, the last of which is incomplete."""

    def ask(*words: str, warehouse=own_warehouse, **variables: str) -> list[str]:
        line = " ".join(["bufferhouse", *words])
        asked = {"_BUFFERHOUSE_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words))}
        there = {"BUFFERHOUSE_WAREHOUSE": str(warehouse), "XDG_CACHE_HOME": str(tmp_path), "PYTHONPATH": str(CHECKOUT)}
        code = "import sys; sys.argv[0] = 'bufferhouse'; from bufferhouse.cli import main; main()"
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, **asked, **there, **variables},
            capture_output=True,
            text=True,
        )
        assert "" == done.stderr
        return done.stdout.split()

    return ask


def test_runs_programs_and_questions_are_proposed(proposed, own_warehouse):
    """Those of the warehouse, and the cookbook's; verbs, too."""
    assert ["compare"] == proposed("compar")
    assert {"latest", "previous", "jaxlib-0.9.0"} <= set(proposed("compare", ""))
    assert ["jaxlib-0.10.0"] == proposed("compare", "jaxlib-0.9.0", "jaxlib-0.10")
    assert ["jit_cnn_train_step"] == proposed("blame", "jit_cnn")
    assert ["jit_cnn_train_step"] == proposed("report", "program", "jit_cnn")
    assert ["jit_cnn_train_step"] == proposed("whatif", "jit_cnn")
    assert sorted(questions()) == sorted(proposed("query", "--ask", ""))
    assert ["latest"] == proposed("report", "program", "jit_cnn", "--run", "la")


def test_what_is_kept_is_renewed_when_the_warehouse_changes(proposed, own_warehouse):
    """A new name is proposed at once; where nothing can be read, nothing is."""
    assert [] == proposed("compare", "a-new")
    assert 0 == call("runs", "rename", "seeds", "a-new-name", "--warehouse", own_warehouse).code
    assert ["a-new-name"] == proposed("compare", "a-new")
    assert ["latest", "previous"] == sorted(proposed("compare", "", warehouse="/nowhere.duckdb"))


def test_a_user_without_a_home_is_proposed_the_same(proposed):
    """As in a container whose user has no entry: there is no cache then, and the warehouse is asked each time."""
    assert ["jaxlib-0.10.0"] == proposed("compare", "jaxlib-0.10", XDG_CACHE_HOME="", HOME="~")


def test_names_that_a_shell_would_obey_are_not_proposed(proposed, own_warehouse):
    """A dump's writer chooses names."""
    with writing(own_warehouse) as writer:
        writer.con.execute("UPDATE raw.runs SET run_name = 'x$(touch y)' WHERE run_name = 'seeds'")
    assert [] == proposed("compare", "x")
