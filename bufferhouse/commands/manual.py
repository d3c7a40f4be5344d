"""`bufferhouse manual`: the help of all verbs as a page of the manual."""

from collections.abc import Iterator
from typing import Any

import typer

from bufferhouse.commands.options import told
from bufferhouse.version import __version__


@told
def manual(ctx: typer.Context) -> None:
    """Print the manual page, made from the help of every verb.

    Write it to ~/.local/share/man/man1/bufferhouse.1, and `man bufferhouse` shows it.

    Example: bufferhouse manual
    """
    print("\n".join(_page(ctx.find_root().command)))


def _page(root: Any) -> Iterator[str]:
    yield f'.TH BUFFERHOUSE 1 "" "bufferhouse {__version__}" "User Commands"'
    yield ".SH NAME\nbufferhouse \\- a data warehouse for the memory decisions of XLA"
    yield ".SH SYNOPSIS\n.B bufferhouse\n.I VERB\n[\\fIARGUMENT\\fR ...] [\\fIOPTION\\fR ...]"
    yield ".SH VERBS"
    for name, command in _verbs(root, ""):
        yield f".SS {_escaped(name)}"
        for paragraph in (command.help or "").split("\n\n"):
            yield f"{_escaped(_line(paragraph))}\n"
        for parameter in command.params:
            if not getattr(parameter, "hidden", False):
                words = ", ".join(parameter.opts) if parameter.param_type_name == "option" else parameter.name.upper()
                yield f".TP\n.B {_escaped(words)}\n{_escaped(_line(getattr(parameter, 'help', None)))}"
    yield ".SH EXIT STATUS\n0 good, 1 a dump was refused or a check found offenders, 2 a wrong call,"
    yield "3 the warehouse is in use or a source is unreachable, 130 Ctrl\\-C."


def _line(text: str | None) -> str:
    return " ".join((text or "").split())


def _verbs(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    for word, below in sorted(getattr(command, "commands", {}).items()):
        if getattr(below, "commands", None):
            yield from _verbs(below, f"{name}{word} ")
        elif not below.hidden:
            yield f"{name}{word}", below


def _escaped(text: str) -> str:
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{text}" if text.startswith((".", "'")) else text
