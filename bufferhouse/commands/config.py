"""`bufferhouse config`."""

from pathlib import Path
from typing import Annotated

import typer

from bufferhouse.commands.options import FormatOption, check_format, guarded, say
from bufferhouse.errors import UsageError
from bufferhouse.redaction import HIDDEN, redacted

config = typer.Typer(no_args_is_help=True, help="Check the configuration.\n\nExample: bufferhouse config check")
ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config",
        help="The configuration file; else $BUFFERHOUSE_CONFIG, else bufferhouse.toml in the working directory.",
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", help="section.key=value: replaces a configured value; repeat for more."),
]


@config.command("check")
@guarded
def config_check(
    config_file: ConfigOption = None, settings: SetOption = None, output_format: FormatOption = "table"
) -> None:
    """Check the configuration, and print every value with its origin. Exit 1 if something is wrong.

    Example: bufferhouse config check --config bufferhouse.toml
    """
    from bufferhouse.compare.gate import accepted_by
    from bufferhouse.config.keys import SECTIONS
    from bufferhouse.config.load import ConfigError, find, load
    from bufferhouse.query.format import formatted
    from bufferhouse.sources.discover import folder_of

    check_format(output_format, "table", "json")
    path = find(config_file)
    try:
        found = load(path, flags=settings or ())
    except ConfigError as error:
        for problem in error.problems:
            say(problem)
        raise typer.Exit(1) from None
    values = {
        f"{section}.{key}": HIDDEN if value and SECTIONS[section][key].is_secret else value
        for section, keys in found.sections.items()
        for key, value in keys.items()
    }
    for source in found.sources:
        values.update({f"sources.{source['name']}.{key}": value for key, value in source.items() if key != "name"})
    rows = [(name, redacted(shown(value)), found.origins[name]) for name, value in values.items()]
    print(formatted(("key", "value", "from"), rows, output_format))
    is_good = True
    try:
        accepted_by(found)
    except UsageError as error:
        say(str(error))
        is_good = False
    if (origin := found.origins["schedule.fleet_report"]) != "default":
        say(f"bufferhouse: {origin}: schedule.fleet_report is now schedule.site; the next release does not know it")
    if path is None:
        say("bufferhouse: there is no bufferhouse.toml in the working directory; these are the defaults")
    elif not found.sources:
        say(f"bufferhouse: {path}: no [[sources]]; ingest --config and serve need at least one (docs/schedule.md)")
    for source in found.sources:
        origin = found.origins[f"sources.{source['name']}.paths"]
        for place in source["paths"]:
            if "://" in place or (there := Path(found.place(place))).exists():
                continue
            is_pattern = any(mark in place for mark in "*?[")
            if not is_pattern or not Path(folder_of(str(there))).exists():
                say(f"bufferhouse: {origin}: nothing is at {folder_of(place) if is_pattern else place} yet")
    raise typer.Exit(int(not is_good))


def shown(value: object) -> str:
    """Return the text of a value."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return "off" if value == float("inf") else f"{value:.15g}"
    if isinstance(value, list):
        return ", ".join(value)
    if isinstance(value, dict):
        return ", ".join(f"{key}={item}" for key, item in value.items())
    return getattr(value, "pattern", None) or str(value)
