"""The command line: one function per verb, in `commands/`; its docstring is its help.

Data goes to standard output, progress and messages to standard error. Exit codes: 0 good, 1 a dump was refused or a
check found offenders, 2 a wrong call, 3 the warehouse is in use or a source is unreachable, 130 Ctrl-C, 141 nobody
reads standard output any more.
"""

import os
import sys
from typing import Annotated

import typer

from bufferhouse import redaction
from bufferhouse.commands import (
    bisect,
    compare,
    config,
    contracts,
    ingest,
    lock,
    maintain,
    manual,
    mcp,
    models,
    notify,
    oom,
    query,
    report,
    runs,
    serve,
    site,
    whatif,
)
from bufferhouse.commands import (
    copy as copying,
)
from bufferhouse.commands.options import Verbs
from bufferhouse.errors import is_full, unwritable
from bufferhouse.version import __version__

app = typer.Typer(
    cls=Verbs,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="A data warehouse for the memory decisions of XLA.\n\n"
    "Example: bufferhouse ingest /tmp/dumps && bufferhouse report fleet",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(ingest.ingest)
app.command(cls=query.SqlFirst)(query.query)
app.add_typer(report.report, name="report")
app.add_typer(runs.runs, name="runs")
app.command()(runs.programs)
for verb in (compare.compare, compare.blame, compare.determinism):
    app.command()(verb)
report.report.command("compare")(compare.compare)  # an alias
app.command()(oom.oom)
app.command()(lock.lock)
app.command()(bisect.bisect)
app.command()(site.site)
app.command("open")(site.open_site)
for verb in (whatif.whatif, whatif.savings, whatif.fits):
    app.command()(verb)
app.command()(maintain.export)
app.command()(maintain.verify)
app.add_typer(runs.rejects, name="rejects")
app.command()(copying.copy)
for verb in (
    maintain.build,
    maintain.check,
    maintain.publish,
    maintain.pack,
    maintain.compact,
    maintain.prune,
    maintain.stats,
    maintain.metrics,
):
    app.command()(verb)
app.command()(models.models)
app.command()(models.lineage)
app.command()(models.catalog)
app.command()(contracts.contracts)
app.add_typer(config.config, name="config")
app.command()(serve.serve)
app.command()(notify.notify)
app.command()(mcp.mcp)
app.command()(manual.manual)


@app.callback(invoke_without_command=True)
def _main(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and which reader reads dumps, and exit.")
    ] = False,
) -> None:
    if version:
        from bufferhouse.dump.native import reader

        print(f"bufferhouse {__version__}\nreader: {reader()}")
        raise typer.Exit


def main() -> None:
    """Run the command line."""
    _open_streams()
    redaction.guard()
    if sys.argv[1:2] == ["query"]:
        from bufferhouse.query.supervisor import supervised

        supervised()
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except OSError as error:
        # Nothing can be written to standard output any more, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):  # its reader has gone
            sys.exit(141)
        print(f"bufferhouse: {unwritable('where the output goes', error)}", file=sys.stderr)
        sys.exit(3 if is_full(error) else 2)


def _open_streams() -> None:
    """Let nothing that is opened later take the number of a stream that the caller closed; standard input is empty."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
    sys.stdin = sys.stdin or open(os.devnull, encoding="utf-8")  # noqa: SIM115 - open to the end


if __name__ == "__main__":
    main()
