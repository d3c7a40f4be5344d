"""`bufferhouse config`."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bufferhouse.commands.options import FormatOption, Verbs, check_format, guarded, say
from bufferhouse.errors import UsageError
from bufferhouse.redaction import HIDDEN, redacted

if TYPE_CHECKING:
    from bufferhouse.config.keys import Key
    from bufferhouse.config.load import Config

config = typer.Typer(
    cls=Verbs, no_args_is_help=True, help="Check the configuration.\n\nExample: bufferhouse config check"
)
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
    """Check the configuration, and print every value in force with its origin. Exit 1 if something is wrong.

    Values that another key, a variable or the machine gives are shown, too. A key with no value is not set.

    Example: bufferhouse config check --config bufferhouse.toml
    """
    from bufferhouse.compare.gate import accepted_by
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
    try:
        rows = [(name, redacted(value), origin) for name, (value, origin) in in_force(found).items()]
    except UsageError as error:
        origin = found.origins["warehouse.path"]
        origin = "$BUFFERHOUSE_WAREHOUSE" if origin == "default" else origin
        say(f"{origin}: {str(error).removeprefix('--warehouse: ')}")
        raise typer.Exit(1) from None
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
            try:
                there = found.place(place)
            except UsageError as error:
                say(f"{origin}: {error}")
                is_good = False
                continue
            if "://" in there or Path(there).exists():
                continue
            is_pattern = any(mark in place for mark in "*?[")
            if not is_pattern or not Path(folder_of(there)).exists():
                say(f"bufferhouse: {origin}: nothing is at {folder_of(place) if is_pattern else place} yet")
    raise typer.Exit(int(not is_good))


def in_force(conf: "Config") -> dict[str, tuple[str, str]]:
    """Return the text of each value that is in force, as the file would say it, and its origin.

    What is derived has the origin of what it is derived from.

    Raises:
        UsageError: there can be no such warehouse.
    """
    from bufferhouse.config.keys import SECTIONS, SOURCE

    tables = [(section, SECTIONS[section], values) for section, values in conf.sections.items()]
    tables += [(f"sources.{source['name']}", SOURCE, source) for source in conf.sources]
    found = {
        name: (shown(value, keys[key]), conf.origins[name])
        for table, keys, values in tables
        for key, value in values.items()
        if (name := f"{table}.{key}") in conf.origins and not (keys is SOURCE and key == "name")
    }
    found |= {name: said for name, said in _derived(conf, found).items() if not found[name][0]}
    if conf.origins["schedule.fleet_report"] == "default":  # schedule.site is in force, whatever it says
        found["schedule.fleet_report"] = "", "default"
    return found


def _derived(conf: "Config", found: dict[str, tuple[str, str]]) -> dict[str, tuple[str, str]]:
    """Return what holds for keys that nothing sets."""
    warehouse, variables = conf.warehouse, ("BUFFERHOUSE_WAREHOUSE", "BUFFERHOUSE_DATA_PATH")
    of_path, of_files = (f"${name}" if os.environ.get(name) else "default" for name in variables)
    derived = {
        "warehouse.path": (str(warehouse), of_path),
        "warehouse.data_path": (getattr(warehouse, "data_path", None) or "", of_files),
        "warehouse.workers": (str(os.cpu_count() or 1), "default"),
        "report.target": (str(warehouse.folder / "reports"), "default"),
    }
    for source in conf.sources:
        derived[f"sources.{source['name']}.schedule"] = found["schedule.ingest"]
        derived[f"sources.{source['name']}.stale"] = found["thresholds.stale"]
    return derived


def shown(value: object, key: "Key") -> str:
    """Return the text of a value as the file would say it; a secret is hidden, and what is not set is empty."""
    from bufferhouse.config.keys import duration_text, share

    if value is None:  # by `off`, where it is not simply missing
        return "" if key.default is None else "off"
    if key.is_secret:
        return HIDDEN
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.15g}" if key.kind is share else duration_text(value)
    if isinstance(value, list):
        return ", ".join(value)
    if isinstance(value, dict):
        return ", ".join(f"{key}={item}" for key, item in value.items())
    return str(value)
