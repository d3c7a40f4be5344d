"""Verbs that read their words without Pydantic, whose import takes longer than many of them.

Typer asks Pydantic what each option means, even those that were not given. But what was not given is nothing, a default
is what it is, and text is text: only numbers, paths and wrong words are left to Typer.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption


class _Meaning:
    """Stands where Typer asks what is meant."""

    def coerce(self, value: Any, param: TyperOption | TyperArgument, ctx: typer.Context) -> Any:
        """Return what is meant by a word, by several, or by a default."""
        wanted, parser = param.type_descriptor.annotation, param.type_descriptor.parameter_info.parser
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        if parser is not None:
            with suppress(ValueError):  # Typer makes a message of it
                return parser(value)
        elif type(value) is wanted:
            return value
        elif wanted == list[str] and isinstance(value, list | tuple):
            return list(value)
        return type(param).get_runtime_param(param).coerce(value, param=param, ctx=ctx)


class _PlainWords:
    def get_params(self, ctx: typer.Context) -> list[TyperOption | TyperArgument]:
        """Return the options and arguments, --help among them."""
        params = super().get_params(ctx)
        for param in params:
            param.get_runtime_param = _Meaning
        return params


class Verb(_PlainWords, TyperCommand):
    """A verb that asks Typer only for words that have to be converted."""


class _Group(_PlainWords, TyperGroup):
    pass


class Verbs(typer.Typer):
    """A part of the command line whose verbs are of the class `Verb`, or of one made of it."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(cls=_Group, **kwargs)

    def command(self, name: str | None = None, *, cls: type[Verb] = Verb, **kwargs: Any) -> Callable:
        """As that of Typer."""
        return super().command(name, cls=cls, **kwargs)
