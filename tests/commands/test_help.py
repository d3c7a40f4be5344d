"""The help of every verb has an example, and the example is a call that the verb takes."""

import shlex

import click
import pytest
import typer

from bufferhouse.cli import app

ROOT = typer.main.get_command(app)


def verbs(command: click.Command, name: str = "bufferhouse"):
    yield name, command
    for word, below in getattr(command, "commands", {}).items():
        yield from verbs(below, f"{name} {word}")


VERBS = dict(verbs(ROOT))


@pytest.mark.parametrize("name", VERBS)
def test_each_help_has_an_example_that_its_verb_takes(name):
    """Options and arguments are read as of a real call; nothing is carried out."""
    (example,) = [
        line.removeprefix("Example: ") for line in (VERBS[name].help or "").splitlines() if line.startswith("Example: ")
    ]
    assert example.startswith(name.replace("report compare", "compare"))  # which it is an alias of
    for call in example.split(" && "):
        command, (verb, *words) = ROOT, shlex.split(call)
        assert "bufferhouse" == verb
        while words and words[0] in getattr(command, "commands", {}):
            command = command.commands[words.pop(0)]
        command.make_context(verb, words)
