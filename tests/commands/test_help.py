"""The help of every verb has an example, and the example is a call that the verb takes."""

import shlex
from pathlib import Path

import click
import pytest
import typer

from bufferhouse.cli import app
from tests.command_line import call

ROOT = typer.main.get_command(app)


def verbs(command: click.Command, name: str = "bufferhouse"):
    yield name, command
    for word, below in getattr(command, "commands", {}).items():
        yield from verbs(below, f"{name} {word}")


VERBS = dict(verbs(ROOT))
# Their examples name programs and runs of examples/fleet.
SHOWN = (
    "query", "programs", "compare", "blame", "determinism", "whatif", "savings", "export", "check", "stats", "lineage",
    "report fleet", "report program", "report run", "runs ls", "runs set", "runs rm", "runs pin", "runs rename",
    "runs complete", "rejects ls", "build", "prune", "publish", "compact", "contracts", "catalog",
)  # fmt: skip


def example_of(name: str) -> str:
    """Return the example in the help of a verb, which stands on one line: two would be copied as two calls."""
    lines = [line.strip() for line in call(*name.split()[1:], "--help").out.splitlines()]
    (place,) = [number for number, line in enumerate(lines) if line.startswith("Example: ")]
    assert "" == lines[place + 1]
    return lines[place].removeprefix("Example: ")


@pytest.mark.parametrize("name", VERBS)
def test_each_help_has_an_example_that_its_verb_takes(name):
    """Options and arguments are read as of a real call; nothing is carried out."""
    example = example_of(name)
    assert example.startswith(name.replace("report compare", "compare"))  # which it is an alias of
    for one in example.split(" && "):
        command, (verb, *words) = ROOT, shlex.split(one)
        assert "bufferhouse" == verb
        while words and words[0] in getattr(command, "commands", {}):
            command = command.commands[words.pop(0)]
        command.make_context(verb, words)


@pytest.mark.parametrize("name", [name for name, verb in VERBS.items() if hasattr(verb, "commands")])
def test_a_list_of_verbs_says_what_each_does_to_the_end(name):
    """Cut to a line, as Typer does it, half of them did not say it."""
    listed = " ".join(call(*name.split()[1:], "--help").out.partition("Commands:")[2].split())
    assert "..." not in listed
    for word, verb in VERBS[name].commands.items():
        first = " ".join(verb.help.split("\n\n")[0].split()).partition(". ")[0].rstrip(".")
        assert f" {word} {first}." in f" {listed}"


# `models` counts the rows of all models: seconds. Of four models tests/models/test_build.py asks for it.
@pytest.mark.parametrize("verb", [*SHOWN, pytest.param("models", marks=pytest.mark.soak)])
def test_examples_run_on_the_example_fleet(own_warehouse: Path, monkeypatch: pytest.MonkeyPatch, verb: str):
    """Who copies an example after `make demo` gets an answer."""
    monkeypatch.chdir(own_warehouse.parent)
    monkeypatch.setenv("BUFFERHOUSE_WAREHOUSE", str(own_warehouse))
    outcome = call(*shlex.split(example_of(f"bufferhouse {verb}"))[1:])
    assert 0 == outcome.code, outcome.err
