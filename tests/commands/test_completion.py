"""What the shell proposes: verbs, runs, programs and questions, from the warehouse or what was kept of it."""

import os
import subprocess
import sys

import pytest

from bufferhouse.paths import CHECKOUT
from bufferhouse.query.cookbook import questions
from bufferhouse.warehouse.open import writing
from tests.command_line import call

# Proposes for one line after the other: to start Python takes longer than to propose.
EACH = """
import os, sys
lines, sys.argv = sys.argv[1:], ["bufferhouse"]
from bufferhouse.cli import main
for line in lines:
    os.environ.update(COMP_WORDS=f"bufferhouse {line}", COMP_CWORD=str(line.count(" ") + 1))
    try:
        main()
    except SystemExit:
        print("that is all")
"""


@pytest.fixture
def proposed_each(own_warehouse, tmp_path):
    """A function that returns what bash is told behind each of some lines, the last word of which is incomplete."""

    def ask(*lines: str, warehouse=own_warehouse, **variables: str) -> list[list[str]]:
        there = {"BUFFERHOUSE_WAREHOUSE": str(warehouse), "XDG_CACHE_HOME": str(tmp_path), "PYTHONPATH": str(CHECKOUT)}
        done = subprocess.run(
            [sys.executable, "-c", EACH, *lines],
            env={**os.environ, "_BUFFERHOUSE_COMPLETE": "complete_bash", **there, **variables},
            capture_output=True,
            text=True,
        )
        assert "" == done.stderr
        return [told.split() for told in done.stdout.split("that is all\n")[:-1]]

    return ask


@pytest.fixture
def proposed(proposed_each):
    """As `proposed_each`, of one line."""

    def ask(line: str, **options) -> list[str]:
        [found] = proposed_each(line, **options)
        return found

    return ask


def test_runs_programs_and_questions_are_proposed(proposed_each):
    """Those of the warehouse, and the cookbook's; verbs, too."""
    found = proposed_each(
        "compar", "compare ", "compare jaxlib-0.9.0 jaxlib-0.10", "blame jit_cnn", "report program jit_cnn",
        "whatif jit_cnn", "query --ask ", "report program jit_cnn --run la",
    )  # fmt: skip
    verbs, runs, *others, asked, latest = found
    assert ["compare"] == verbs
    assert {"latest", "previous", "jaxlib-0.9.0"} <= set(runs)
    assert [["jaxlib-0.10.0"], *[["jit_cnn_train_step"]] * 3] == others
    assert (sorted(questions()), ["latest"]) == (sorted(asked), latest)


def test_what_is_kept_is_renewed_when_the_warehouse_changes(proposed, own_warehouse):
    """A new name is proposed at once; where nothing can be read, nothing is."""
    assert [] == proposed("compare a-new")
    assert 0 == call("runs", "rename", "seeds", "a-new-name", "--warehouse", own_warehouse).code
    assert ["a-new-name"] == proposed("compare a-new")
    assert ["latest", "previous"] == sorted(proposed("compare ", warehouse="/nowhere.duckdb"))


def test_a_user_without_a_home_is_proposed_the_same(proposed):
    """As in a container whose user has no entry: there is no cache then, and the warehouse is asked each time."""
    assert ["jaxlib-0.10.0"] == proposed("compare jaxlib-0.10", XDG_CACHE_HOME="", HOME="~")


def test_names_that_a_shell_would_obey_are_not_proposed(proposed, own_warehouse):
    """A dump's writer chooses names."""
    with writing(own_warehouse) as writer:
        writer.con.execute("UPDATE raw.runs SET run_name = 'x$(touch y)' WHERE run_name = 'seeds'")
    assert [] == proposed("compare x")
