"""The cookbook: real questions in `sql/queries/`, one SELECT a file, asked by name.

A file begins with its question, in one sentence, then `-- topic: …`, then `-- needs: live ranges` if dumps without them
are in no row of its answer, then a line for each parameter:

    -- param: rows = 20  how many rows at most

The default says what a parameter is: a number, 'text', or null, which is text that may be left out.
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import duckdb

from bufferhouse.engine.sql import literal
from bufferhouse.errors import UsageError, did_you_mean
from bufferhouse.paths import QUERIES
from bufferhouse.query.format import formatted
from bufferhouse.warehouse.run_names import find, is_place

PAGE = QUERIES / "README.md"
Value = int | float | str | None
_PARAMETER = re.compile(r"(\w+) = (null|-?\d+(?:\.\d+)?|'(?:[^']|'')*')  (.+)$")
_SIZE = re.compile(r"(\d+(?:\.\d+)?) *([KMGT])(?:i?B)?$")
_LIVE_RANGES = "live ranges"
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_INTRODUCTION = """\
# Cookbook

Questions that people ask of buffer assignments, each a statement that runs as it is written:

    bufferhouse query --list
    bufferhouse query --ask biggest_at_peak --param program=jit_cnn% --param rows=5

Each reads marts, and staging where no mart has the answer. Parameters ending in `_bytes` also take what XLA
prints, such as `1.17G` or `68.00MiB`. To make a question your own, copy its file and ask it with `query -f`.

This page is made from the files by `bufferhouse catalog`; edit those.
"""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a question: its default and its meaning."""

    name: str
    default: Value
    meaning: str

    def value(self, text: str) -> Value:
        """Return the value of `--param name=text`; null where that is the default is null, as it is shown.

        Raises:
            UsageError: a number is wanted, and this is none.
        """
        if isinstance(self.default, str | None):
            return None if self.default is None and text == "null" else text
        if self.name.endswith("_bytes") and (size := _SIZE.match(text.strip())):
            return round(float(size[1]) * _UNITS[size[2]])
        with suppress(ValueError):
            if (number := type(self.default)(text)) >= 0:
                return number
        wanted = "a whole number" if isinstance(self.default, int) else "a number"
        raise UsageError(f"--param {self.name}: expected {wanted} of at least 0, found {text!r}")


@dataclass(frozen=True, slots=True)
class Question:
    """One file of the cookbook: its name, its sentence, its parameters, its statement, and what it needs of a dump."""

    name: str
    sentence: str
    topic: str
    parameters: Mapping[str, Parameter]
    sql: str
    needs_live_ranges: bool

    def values(self, given: Mapping[str, str]) -> dict[str, Value]:
        """Return the values of all parameters: the given one, else the default.

        Raises:
            UsageError: there is no such parameter, or it cannot be what is given.
        """
        for name in given:
            if name not in self.parameters:
                has = ", ".join(self.parameters) or "none"
                raise UsageError(f"{self.name} has no parameter {name!r}; it has {has}")
        return {
            name: parameter.value(given[name]) if name in given else parameter.default
            for name, parameter in self.parameters.items()
        }

    def most_rows(self, given: Mapping[str, str]) -> int | None:
        """Return how many rows the answer has at most where the call does not say it; None without such a limit."""
        limit = self.parameters.get("rows")
        return None if limit is None or "rows" in given else limit.default


def questions(directory: Path = QUERIES) -> dict[str, Question]:
    """Return the questions of a directory by name, in the order of their names.

    Raises:
        UsageError: a file is not written as questions are.
    """
    return {path.stem: _read(path) for path in sorted(directory.glob("*.sql"))}


def question(name: str, directory: Path = QUERIES) -> Question:
    """Return one question.

    Raises:
        UsageError: there is none of that name.
    """
    path = directory / f"{name}.sql"
    known = [other.stem for other in directory.glob("*.sql")]
    if name not in known:
        hint = did_you_mean(name, known) or "; bufferhouse query --list shows them"
        raise UsageError(f"there is no question {name!r} in the cookbook{hint}")
    return _read(path)


def with_run(con: duckdb.DuckDBPyConnection, parameters: Mapping[str, Value]) -> dict[str, Value]:
    """Return the values of a question's parameters; for latest and previous the name of the run that is meant.

    Raises:
        UsageError: there is no such run.
    """
    run = parameters.get("run")
    if isinstance(run, str) and is_place(run):
        return {**parameters, "run": find(con, run).run_name}
    return dict(parameters)


def _read(path: Path) -> Question:
    text = path.read_text(encoding="utf-8")
    sentence, topic, parameters, needs_live_ranges = [], "", {}, False
    for number, line in enumerate(text.split("\n"), 1):
        if not line.startswith("-- "):
            break
        key, sign, rest = line[3:].partition(": ")
        if key == "topic" and sign:
            topic = rest
        elif key == "needs" and sign:
            if rest != _LIVE_RANGES:
                raise UsageError(f"{path}:{number}:1: expected '-- needs: {_LIVE_RANGES}', found {line!r}")
            needs_live_ranges = True
        elif key == "param" and sign:
            found = _PARAMETER.match(rest)
            if not found:
                raise UsageError(f"{path}:{number}:1: expected '-- param: name = default  meaning', found {line!r}")
            parameters[found[1]] = Parameter(found[1], _literal(found[2]), found[3])
        else:
            sentence.append(line[3:])
    if not sentence or not topic:
        raise UsageError(f"{path}:1:1: expected the question as a comment, then '-- topic: …'")
    return Question(path.stem, " ".join(sentence), topic, parameters, text, needs_live_ranges)


def _literal(text: str) -> Value:
    if text == "null":
        return None
    if text.startswith("'"):
        return text[1:-1].replace("''", "'")
    return float(text) if "." in text else int(text)


def shown(value: Value) -> str:
    """Return a default as its file shows it."""
    return "null" if value is None else literal(value)


def page(directory: Path = QUERIES) -> str:
    """Return the README of the cookbook: every question with its sentence and its parameters, by topic."""
    known = questions(directory).values()
    sections = [_INTRODUCTION]
    for topic in sorted({question.topic for question in known}):
        sections.append(f"## {topic}\n")
        for question in known:
            if question.topic == topic:
                needs = " Dumps without live ranges are left out, and counted." if question.needs_live_ranges else ""
                sections.append(f"### [{question.name}]({question.name}.sql)\n\n{question.sentence}{needs}\n")
                if question.parameters:
                    rows = [
                        (f"`{parameter.name}`", f"`{shown(parameter.default)}`", parameter.meaning)
                        for parameter in question.parameters.values()
                    ]
                    sections.append(formatted(("parameter", "default", "meaning"), rows, "markdown") + "\n")
    return "\n".join(sections)
