"""Models for other engines: the portable marts, and what they read, as statements of another dialect of SQL.

A mart's header says whether it is portable, or why not. What is written are views, each with its documentation, in the
order in which they can be made. The tables of `raw` are expected under the same names.
"""

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from sqlglot import exp

from bufferhouse.errors import ModelError, UsageError
from bufferhouse.models.project import LAYERS, Model, newest_marts
from bufferhouse.models.spark import to_spark

DIALECTS = {"spark": to_spark}


def check_dialect(name: str) -> None:
    """Refuse a dialect that nobody writes here.

    Raises:
        UsageError: it names those that are known.
    """
    if name not in DIALECTS:
        near = get_close_matches(name, DIALECTS, 1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise UsageError(f"--dialect: expected one of {', '.join(DIALECTS)}, found {name!r}{hint}")


def portable(known: Sequence[Model]) -> list[Model]:
    """Return the portable marts and all models beneath them, in the order in which they can be made.

    Raises:
        ModelError: a portable mart reads one that is not.
    """
    by_name = {model.name: model for model in known}
    needed: set[str] = set()
    for model in reversed(known):
        if model.portable == "yes" or model.name in needed:
            if model.portable not in ("yes", None):
                raise ModelError(f"{model.path}:1:1: a portable mart reads {model.name}, which is not portable")
            needed.update([model.name, *(table for table in model.reads if table in by_name)])
    return [model for model in known if model.name in needed]


def statements(known: Sequence[Model], dialect: str) -> dict[str, str]:
    """Return the statements that make all portable marts, in order, each by what it makes: `marts.peak_memory_v1`.

    Those of schemas come first, those of names without a version last.

    Raises:
        UsageError: the dialect is not known.
        ModelError: a model holds something that cannot be said in it, with its file.
    """
    check_dialect(dialect)
    models = portable(known)
    made = {layer: f"CREATE SCHEMA IF NOT EXISTS {layer}" for layer in LAYERS}
    for model in models:
        try:
            select = DIALECTS[dialect](model.expression.copy())
        except ModelError as error:
            raise ModelError(f"{model.path}:1:1: {error}") from None
        made[model.name] = _view(model.name, model, select, dialect)
    for name, model in newest_marts(models).items():
        made[name] = _view(name, model, f"SELECT * FROM {model.name}", dialect)
    return made


def _view(name: str, model: Model, select: str, dialect: str) -> str:
    columns = ",\n".join(f"  {column} COMMENT {_literal(text, dialect)}" for column, text in model.columns.items())
    return f"CREATE OR REPLACE VIEW {name} (\n{columns}\n)\nCOMMENT {_literal(model.purpose, dialect)}\nAS\n{select}"


def _literal(text: str, dialect: str) -> str:
    return exp.Literal.string(text).sql(dialect=dialect)


def write(made: dict[str, str], directory: Path) -> list[Path]:
    """Write each statement to a file of its own, numbered in order; return the files.

    Files of an earlier call, which may be of models that are gone, are removed.

    Raises:
        UsageError: the directory cannot be written, or holds other files.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        others = [path for path in directory.iterdir() if not _is_ours(path)]
        if others:
            raise UsageError(f"{directory}: expected a new or empty folder, found {others[0].name}")
        for path in directory.iterdir():
            path.unlink()
        paths = [directory / f"{number:03}_{name}.sql" for number, name in enumerate(made)]
        for path, statement in zip(paths, made.values(), strict=True):
            path.write_text(f"{statement};\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{directory}: expected a folder to write to, found: {error.strerror}") from None
    return paths


def _is_ours(path: Path) -> bool:
    number, _, name = path.name.partition("_")
    return number.isdigit() and len(number) == 3 and name.endswith(".sql") and name.split(".")[0] in LAYERS
