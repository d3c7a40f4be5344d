"""Verbs that read words without Pydantic mean what Typer means by them."""

from pathlib import Path
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from bufferhouse.commands.typer_fast import Verbs
from tests.command_line import run


def place(text: str) -> Path:
    """Return a path, or refuse a text as parsers of Typer do."""
    if text == "wrong":
        raise ValueError("expected a place")
    if text == "end":
        raise typer.Exit(7)
    return Path("at", text)


def verb(
    first: Annotated[str, typer.Argument()],
    rest: Annotated[list[str] | None, typer.Argument()] = None,
    where: Annotated[Path | None, typer.Option("--where", parser=place)] = None,
    text: Annotated[str, typer.Option("--text")] = "text",
    every: Annotated[list[str] | None, typer.Option("--every")] = None,
    counts: Annotated[list[int] | None, typer.Option("--count")] = None,
    whole: Annotated[int | None, typer.Option("--whole", min=1)] = None,
    seconds: Annotated[float, typer.Option("--seconds", min=0)] = 0.0,
    file: Annotated[Path | None, typer.Option("--file")] = None,
    flag: Annotated[bool, typer.Option("--flag")] = False,
) -> None:
    """Say what was meant."""
    print(repr((first, rest, where, text, every, counts, whole, seconds, file, flag)))


CALLS = [
    "--help",
    "",
    "a",
    "a b c",
    "a --where b --text 1 --every x --every 2 --flag",
    "a --where wrong",
    "a --where end",
    "a --count 1 --count 2 --whole 3 --seconds 4 --file b",
    "a --count x",
    "a --whole 0",
    "a --whole x",
    "a --seconds -1",
    "a --seconds nan",
    "a --flag=no",
    "a --text",
    "a --no-such-option",
]


@pytest.mark.parametrize("words", CALLS)
def test_words_mean_what_typer_means(words):
    """Values, messages and exit codes are those of a verb that Typer reads alone."""
    found = []
    for made in (Verbs, typer.Typer):
        app = made(rich_markup_mode=None, add_completion=False)
        app.command()(verb)
        app.callback()(lambda: None)
        found.append(CliRunner().invoke(app, ["verb", *words.split()]))
    ours, typers = found
    assert (typers.exit_code, typers.output) == (ours.exit_code, ours.output)


def test_a_question_loads_no_pydantic():
    """It would take a third of the time of a short statement."""
    code = (
        "import sys\n"
        "from bufferhouse.cli import app\n"
        "try:\n"
        "    app(['query', '--list', '--format', 'json'])\n"
        "except SystemExit as end:\n"
        "    print('\\nloaded', 'pydantic' in sys.modules, end.code)\n"
    )
    assert "loaded False 0" == run(code=code).out.splitlines()[-1]
