"""The configuration: `bufferhouse.toml`, overridden by the environment, overridden by flags.

`BUFFERHOUSE_<SECTION>__<KEY>` and `--set section.key=value` give a value as TOML writes it; a text needs no quotes.
Keys of a source are named `sources.<name>.<key>`, in the environment in capitals with `_` for `-`.
"""

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bufferhouse.config.keys import SECTIONS, SOURCE, Key
from bufferhouse.config.toml import NoToml, TomlFile, parsed, read_toml
from bufferhouse.errors import UsageError, did_you_mean
from bufferhouse.redaction import HIDDEN
from bufferhouse.warehouse import Address, address_of

FILE_NAME = "bufferhouse.toml"
VARIABLE = "BUFFERHOUSE_CONFIG"
_PREFIX = re.compile(r"BUFFERHOUSE_([A-Z0-9_]+?)__([A-Z0-9_]+)")


class ConfigError(UsageError):
    """The faults of a configuration, one line each: place, expected value, found value."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


@dataclass(slots=True)
class Config:
    """A valid configuration: `sections` and `sources` map keys to values, `origins` holds the origin of each value."""

    path: Path | None = None
    sections: dict[str, dict[str, Any]] = field(default_factory=dict)
    sources: list[dict[str, Any]] = field(default_factory=list)
    origins: dict[str, str] = field(default_factory=dict)

    def __getitem__(self, section: str) -> dict[str, Any]:
        return self.sections[section]

    def place(self, path: str) -> str:
        """Return a path of the configuration: relative paths start at the folder of the file, URLs stay."""
        if "://" in path or self.path is None:
            return path
        try:
            return str(self.path.absolute().parent / Path(path).expanduser())
        except RuntimeError:
            raise UsageError(f"{path}: there is no such user here") from None

    @property
    def warehouse(self) -> Address:
        """The warehouse: as configured, else $BUFFERHOUSE_WAREHOUSE, else warehouse.duckdb beside the file."""
        given = self.sections["warehouse"]
        return address_of(given["path"], meant=self.place, data_path=given["data_path"])

    def source(self, name: str) -> dict[str, Any] | None:
        """Return the source of a name, None if there is none."""
        return next((source for source in self.sources if source["name"] == name), None)


def find(given: str | Path | None = None) -> Path | None:
    """Return the file to read: the given one, else $BUFFERHOUSE_CONFIG, else bufferhouse.toml here, else None.

    Raises:
        UsageError: the file that was given or named by the variable does not exist, or is none.
    """
    named = given or os.environ.get(VARIABLE)
    if named:
        path = Path(named)
        if not path.is_file():
            said = "there is no such configuration" if not path.is_dir() else "expected a file, found a folder"
            raise UsageError(f"{path}: {said}" + ("" if given else f" (${VARIABLE})"))
        return path
    path = Path(FILE_NAME)
    return path if path.is_file() else None


def is_secret(flag: str) -> bool:
    """Return whether a flag `section.key=value` gives a value that nobody may see."""
    _section, keys, key = _named(flag.partition("=")[0])
    return key in keys and keys[key].is_secret


def load(path: Path | None, *, environment: Mapping[str, str] | None = None, flags: Iterable[str] = ()) -> Config:
    """Read a configuration; without a file it is the defaults, the environment and the flags.

    Raises:
        ConfigError: something is wrong; it names every problem, with file, line and column.
    """
    reading = _Reading(path)
    document = reading.document()
    reading.sections(document)
    reading.sources(document.get("sources", []))
    environment = os.environ if environment is None else environment
    for name in sorted(environment):
        if (match := _PREFIX.fullmatch(name)) and environment[name]:
            reading.override(f"{match[1]}.{match[2].replace('__', '.')}", environment[name], f"${name}")
    for given in flags:
        name, sign, value = given.partition("=")
        if not sign:
            reading.problems.append(f"--set {given}: expected section.key=value")
        else:
            reading.override(name, value, f"--set {name}")
    reading.finish()
    if reading.problems:
        raise ConfigError(reading.problems)
    _take_former(reading.config)
    return reading.config


def _take_former(conf: Config) -> None:
    """Give schedule.site what schedule.fleet_report, its former name, says, where nothing else sets it."""
    site, former = "schedule.site", "schedule.fleet_report"
    if conf.origins[site] == "default" != conf.origins[former]:
        conf["schedule"]["site"], conf.origins[site] = conf["schedule"]["fleet_report"], conf.origins[former]


class _Reading:
    """A configuration while it is read, with the faults found so far."""

    def __init__(self, path: Path | None) -> None:
        self.config = Config(path)
        self.problems: list[str] = []
        self.file: TomlFile | None = None

    def document(self) -> dict[str, Any]:
        """Return the TOML of the file as a dict."""
        if self.config.path is None:
            return {}
        try:
            self.file = read_toml(self.config.path)
        except UsageError as error:
            raise ConfigError([str(error)]) from None
        return self.file.document

    def at(self, *path: str | int) -> str:
        """Return the place of a key of the file, as `file:line:column`."""
        return self.file.at(*path)

    def sections(self, document: Mapping[str, Any]) -> None:
        """Read every section but the sources, with defaults for missing keys."""
        for name, given in document.items():
            if name not in (*SECTIONS, "sources"):
                self._note_unknown(self.at(name), "section", name, [*SECTIONS, "sources"])
            elif name != "sources" and not isinstance(given, dict):
                self.problems.append(f"{self.at(name)}: expected keys under a [{name}] heading")
        for name, keys in SECTIONS.items():
            given = document.get(name, {})
            given = given if isinstance(given, dict) else {}
            self.config.sections[name] = self.table(given, keys, name, (name,))

    def sources(self, given: Any) -> None:
        """Read the sources."""
        if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
            self.problems.append(f"{self.at('sources')}: expected sources under [[sources]] headings")
            return
        names: set[str] = set()
        for number, one in enumerate(given):
            name = one.get("name") if isinstance(one.get("name"), str) else str(number + 1)
            self.config.sources.append(self.table(one, SOURCE, f"sources.{name}", ("sources", number)))
            for key in ("name", "paths"):
                if key not in one:
                    self.problems.append(f"{self.at('sources', number)}: expected {key} in this source, found none")
            if _spelled(name) in names:
                self.problems.append(
                    f"{self.at('sources', number, 'name')}: expected a name of its own, found {name!r} again"
                )
            names.add(_spelled(name))

    def table(self, given: Mapping[str, Any], keys: Mapping[str, Key], name: str, path: tuple) -> dict[str, Any]:
        """Return the values of one section or source."""
        values = {}
        for key in given:
            if key not in keys:
                self._note_unknown(self.at(*path, key), f"key of {name}", key, keys)
        for key, meant in keys.items():
            values[key], origin = meant.default, "default"
            if key in given:
                origin = self.at(*path, key)
                try:
                    values[key] = meant.kind(given[key])
                except ValueError as error:
                    self.problems.append(f"{origin}: expected {error}; found {_shown(meant, given[key])}")
            self.config.origins[f"{name}.{key}"] = origin
        return values

    def _note_unknown(self, where: str, what: str, found: str, known: Iterable[str]) -> None:
        hint = did_you_mean(found, known)
        self.problems.append(f"{where}: expected a {what}, one of {', '.join(known)}; found {found!r}{hint}")

    def override(self, name: str, text: str, where: str) -> None:
        """Set one value from outside the file; `name` is section.key or sources.name.key, in any case of letters."""
        section, keys, key = _named(name)
        values = self.config.sections.get(section)
        if keys is SOURCE:
            wanted = _spelled(section.partition(".")[2])
            values = next((one for one in self.config.sources if one["name"] and _spelled(one["name"]) == wanted), None)
            keys = {key: meant for key, meant in SOURCE.items() if key != "name"}  # by which the source is found
            section = f"sources.{values['name']}" if values else section
        if values is None:
            known = [*SECTIONS, *(f"sources.{source['name']}" for source in self.config.sources)]
            self.problems.append(f"{where}: expected a section, one of {', '.join(known)}; found {section!r}")
        elif key not in keys:
            self._note_unknown(where, f"key of {section}", key, keys)
        else:
            try:
                values[key] = _from_text(keys[key], text)
                self.config.origins[f"{section}.{key}"] = where
            except ValueError as error:
                self.problems.append(f"{where}: expected {error}; found {_shown(keys[key], text)}")

    def finish(self) -> None:
        """Check rules that concern several values."""
        retention = self.config.sections["retention"]
        if retention["keep_runs"] is not None and retention["older_than"] is not None:
            origin = self.config.origins["retention.older_than"]
            self.problems.append(f"{origin}: expected keep_runs or older_than, found both")
        for source in self.config.sources:
            if source["runs"] and source["runs_regex"]:
                origin = self.config.origins.get(f"sources.{source['name']}.runs_regex", self.at("sources"))
                self.problems.append(f"{origin}: expected runs or runs_regex, found both")


def _named(name: str) -> tuple[str, Mapping[str, Key], str]:
    """Return the section of a name such as section.key or sources.name.key, the keys that one has, and the key."""
    section, _, key = name.lower().rpartition(".")
    return section, SOURCE if section.startswith("sources.") else SECTIONS.get(section, {}), key


def _from_text(key: Key, text: str) -> Any:
    """Return a value from outside the file, where a text needs no quotes."""
    try:
        value = parsed(f"value = {text}")["value"]
    except NoToml:
        return key.kind(text)
    try:
        return key.kind(value)
    except ValueError:
        return key.kind(text)  # a text that looks like a number


def _spelled(name: str) -> str:
    """Return the name of a source as an environment variable spells it, in which __ parts section, name and key."""
    return name.lower().replace("-", "_").replace("__", ".")


def _shown(key: Key, value: Any) -> str:
    if key.is_secret:
        return HIDDEN
    shown = repr(value)
    return shown if len(shown) <= 80 else f"{shown[:79]}…"
