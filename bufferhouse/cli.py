"""The command line: one function per verb, in `commands/`; its docstring is its help.

Data goes to standard output, progress and messages to standard error. Exit 0 good, 1 something was refused or a check
found offenders, 2 a wrong call, 3 the warehouse or a source is busy or away, 130 Ctrl-C.
"""

import atexit
import gc
import os
import sys
from collections.abc import Sequence
from copy import copy
from typing import Annotated

import typer
from typer.models import CommandInfo, TyperInfo

from bufferhouse import __version__, outgoing
from bufferhouse.commands import (
    asking,
    cataloging,
    comparing,
    configuring,
    copying,
    ingesting,
    keeping,
    managing,
    modelling,
    reporting,
    serving,
)
from bufferhouse.commands.verbs import Verbs

app = Verbs(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="A data warehouse for the memory decisions of XLA.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(ingesting.ingest)
app.command(cls=asking.SqlFirst)(asking.query)
app.add_typer(reporting.report, name="report")
app.add_typer(managing.runs, name="runs")
app.command()(managing.programs)
for verb in (comparing.compare, comparing.blame, comparing.determinism):
    app.command()(verb)
app.command()(keeping.export)
app.command()(keeping.verify)
app.add_typer(managing.rejects, name="rejects")
app.command()(copying.copy)
for verb in (keeping.build, keeping.check, keeping.publish, keeping.compact, keeping.prune, keeping.stats):
    app.command()(verb)
app.command()(modelling.models)
app.command()(modelling.lineage)
app.command()(cataloging.catalog)
app.add_typer(configuring.config, name="config")
managing.runs.command("complete")(configuring.runs_complete)
app.command()(serving.serve)


@app.callback(invoke_without_command=True)
def _main(version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False) -> None:
    if version:
        print(f"bufferhouse {__version__}")
        raise typer.Exit


def needed(words: Sequence[str]) -> typer.Typer:
    """Return the part of the command line that some words call: what Typer makes of every option of a verb takes time.

    Of a call for the list of verbs that is their names and descriptions, of a verb it is the verb.
    """
    lean = copy(app)
    if words in ([], ["--help"], ["-h"]):
        lean.registered_commands = [_without_options(verb) for verb in app.registered_commands]
        lean.registered_groups = [_without_verbs(group) for group in app.registered_groups]
        return lean
    for kind in ("registered_commands", "registered_groups"):
        verbs = getattr(app, kind)
        setattr(lean, kind, [verb for verb in verbs if (verb.name or verb.callback.__name__) == words[0]])
    return lean if lean.registered_commands or lean.registered_groups else app


def _without_options(verb: CommandInfo) -> CommandInfo:
    def nothing() -> None:
        pass

    nothing.__name__, nothing.__doc__ = verb.callback.__name__, verb.callback.__doc__
    bare = copy(verb)
    bare.callback = nothing
    return bare


def _without_verbs(group: TyperInfo) -> TyperInfo:
    bare = copy(group)
    bare.typer_instance = copy(group.typer_instance)
    bare.typer_instance.registered_commands = []
    return bare


def main() -> None:
    """Run the command line."""
    atexit.register(gc.freeze)  # the search for garbage in all that was imported, when the process ends anyway
    outgoing.guard()
    try:
        needed(sys.argv[1:])()
    except BrokenPipeError:
        # Whoever read standard output went away: nothing more can be said there, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


if __name__ == "__main__":
    main()
