"""The documents as tests read them: their links, and the commands they show with what these print.

In a block of `console` a line after `$ ` is a command, a backslash at its end goes on, and what follows is its output.
There `…` alone stands for any lines that are left out, and at the end of a line for the rest of it.
"""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.command_line import CHECKOUT

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
_LINK = re.compile(r"\]\(([^)\s]+)\)")


@dataclass(frozen=True)
class Shown:
    """A command of a document, and the output that the document shows."""

    words: tuple[str, ...]
    output: str

    def fits(self, actual: str) -> bool:
        """Whether the output shown is the actual one, apart from what `…` leaves out."""
        lines = "".join(line.rstrip() + "\n" for line in actual.splitlines())
        return re.fullmatch("".join(map(_pattern, self.output.splitlines())), lines) is not None


def _pattern(line: str) -> str:
    if line == "…":
        return r"(?:.*\n)*?"
    if line.endswith("…"):
        return re.escape(line.removesuffix("…")) + r".*\n"
    return re.escape(line) + r"\n"


def documents() -> list[Path]:
    """All documents of the checkout."""
    folders = ("docs", "examples", "sql", "dbt_like_models", "tests", "benchmarks", "docker")
    found = [path for folder in folders for path in (CHECKOUT / folder).rglob("*.md")]
    return sorted([*CHECKOUT.glob("*.md"), *found])


def blocks(path: Path, language: str) -> list[str]:
    """The contents of a document's blocks in one language."""
    return [content for kind, content in _BLOCK.findall(path.read_text()) if kind == language]


def commands(path: Path) -> Iterator[Shown]:
    """The commands that a document shows, in order."""
    for block in blocks(path, "console"):
        for part in re.split(r"^\$ ", block.replace("\\\n", " "), flags=re.M)[1:]:
            command, _, output = part.partition("\n")
            yield Shown(tuple(shlex.split(command)), output)


def calls(path: Path) -> Iterator[list[str]]:
    """The words of each call of bufferhouse that a document names, in a block or in a line, without the first."""
    text = path.read_text().replace("\\\n", " ")
    indented = re.findall(r"^    bufferhouse (.+)$", text, re.M)
    shown = re.findall(r"^(?:\$ )?bufferhouse (.+)$", "".join(content for _, content in _BLOCK.findall(text)), re.M)
    for call in (*indented, *shown, *re.findall(r"`bufferhouse ([^`]+)`", _BLOCK.sub("", text))):
        yield re.split(r" [|&>#]|;", f"{call} ")[0].split()


def links(path: Path) -> list[str]:
    """The relative links and pictures of a document, outside of blocks."""
    text = re.sub(r"`[^`\n]*`", "", _BLOCK.sub("", path.read_text()))
    return [link for link in _LINK.findall(text) if not re.match(r"[a-z]+:", link)]


def anchors(path: Path) -> set[str]:
    """What a link may name behind `#`: the headings, written as GitHub does."""
    found: set[str] = set()
    for heading in re.findall(r"^#+ (.+)$", _BLOCK.sub("", path.read_text()), re.M):
        words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
        found.add(re.sub(r"[^\w\- ]", "", words).replace(" ", "-"))
    return found
