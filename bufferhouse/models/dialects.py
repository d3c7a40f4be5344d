"""Models for other engines: the portable marts, and what they read, as statements of another dialect of SQL.

A mart's header says whether it is portable, or why not. What is written are views, each with its documentation, in the
order in which they can be made. The tables of `raw` are expected under the same names.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from sqlglot import exp

from bufferhouse.errors import ModelError, UsageError, did_you_mean
from bufferhouse.models.project import LAYERS, Model, newest_marts

_PERCENTILE = "PERCENTILE"  # the exact one
_BACK_REFERENCE = re.compile(r"\\([0-9])")
_CLASS_WITH_BRACKETS = re.compile(r"\[(\^?)\]\[")  # [^][…]: brackets that stand first in a class stand for themselves


def to_spark(select: exp.Expression) -> str:
    """Return a SELECT of DuckDB as one of Spark.

    Raises:
        ModelError: it holds something that cannot be said in Spark; without file and line.
    """
    for found in list(select.find_all(exp.Select)):
        _unnest_side_by_side(found)
    # From the leaves up: `transform` would not look into what it has replaced, such as a replacement in a replacement.
    for node in reversed(list(select.walk(bfs=True))):
        new = _rewritten(node)
        if new is not node:
            node.replace(new)
    return select.sql(dialect="spark", pretty=True, comments=False)


def _rewritten(node: exp.Expression) -> exp.Expression:
    """Return the replacement of a node, whose children are replaced already."""
    if isinstance(node, exp.Cast) and isinstance(node.this, exp.Anonymous) and node.this.name == _PERCENTILE:
        # DuckDB rounds a DOUBLE to an integer, halves to the even one; Spark cuts it off.
        return exp.cast(exp.func("RINT", node.this, dialect="spark"), node.to)
    if isinstance(node, exp.WithinGroup):
        return _percentile(node)
    if isinstance(node, exp.Cast) and node.to.is_type(exp.DataType.Type.ARRAY):
        return exp.Anonymous(this="FROM_JSON", expressions=[node.this, exp.Literal.string(node.to.sql("spark"))])
    if isinstance(node, exp.RegexpReplace):
        return _replaced(node)
    if isinstance(node, exp.Bracket):
        # The place counts from 0 by now. Beyond the end DuckDB has NULL, and Spark's brackets an error.
        place = exp.cast(node.expressions[0], "INT")
        return exp.Anonymous(this="GET", expressions=[node.this, place])
    if isinstance(node, exp.Anonymous) and node.name.lower() == "list_count":
        present = exp.Anonymous(this="ARRAY_COMPACT", expressions=node.expressions)
        return exp.Anonymous(this="SIZE", expressions=[present])
    if isinstance(node, exp.Window) and node.args.get("alias") and isinstance(node.parent, exp.Binary):
        return exp.paren(node)  # Spark reads `OVER a - b` as a name with a hyphen
    return node


def _percentile(node: exp.WithinGroup) -> exp.Expression:
    """Return the interpolated percentile; sqlglot would write the approximate one."""
    if not isinstance(node.this, exp.PercentileCont):
        raise ModelError(f"expected PERCENTILE_CONT before WITHIN GROUP, found {node.this.sql()}")
    ordered = node.expression.expressions[0].this
    return exp.Anonymous(this=_PERCENTILE, expressions=[ordered, node.this.this])


def _replaced(node: exp.RegexpReplace) -> exp.RegexpReplace:
    modifiers = node.args.get("modifiers")
    if modifiers is None or modifiers.name != "g":
        raise ModelError(f"expected regexp_replace of all matches ('g'), as Spark does it, found {node.sql('duckdb')}")
    replacement = _BACK_REFERENCE.sub(r"$\1", node.args["replacement"].name)
    pattern = _CLASS_WITH_BRACKETS.sub(r"[\1\\]\\[", node.expression.name)
    return exp.RegexpReplace(
        this=node.this, expression=exp.Literal.string(pattern), replacement=exp.Literal.string(replacement)
    )


def _unnest_side_by_side(select: exp.Select) -> None:
    """Let one lateral view yield the elements of all lists that a SELECT unnests, one row an element of the longest."""
    unnested = [found for item in select.selects for found in item.find_all(exp.Explode, exp.Unnest)]
    if not unnested:
        return
    names = [f"unnested_{number}" for number in range(len(unnested))]
    lists = [item.this if isinstance(item, exp.Explode) else item.expressions[0] for item in unnested]
    for item, name, of in zip(unnested, names, lists, strict=True):
        place: exp.Expression = exp.column(name)
        # DuckDB counts a RANGE in BIGINT, Spark in the type of its limits.
        item.replace(exp.cast(place, "BIGINT") if isinstance(of, exp.GenerateSeries) else place)
    zipped = exp.Anonymous(this="INLINE", expressions=[exp.Anonymous(this="ARRAYS_ZIP", expressions=lists)])
    alias = exp.TableAlias(this=exp.to_identifier("lists"), columns=[exp.to_identifier(name) for name in names])
    select.append("laterals", exp.Lateral(this=zipped, view=True, alias=alias))


DIALECTS = {"spark": to_spark}


def portable(known: Sequence[Model]) -> list[Model]:
    """Return the portable marts and all models that they read, in the order in which they can be created.

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
    """Return the statements that create all portable marts, in order, by the name each creates: `marts.peak_memory_v1`.

    Those of schemas come first, those of names without a version last. A name whose newest version is not portable is
    left out: under the same name an older version would answer otherwise than in DuckDB.

    Raises:
        UsageError: the dialect is not known; the message names those that are.
        ModelError: a model holds something that cannot be said in it, with its file.
    """
    if dialect not in DIALECTS:
        hint = did_you_mean(dialect, DIALECTS)
        raise UsageError(f"--dialect: expected one of {', '.join(DIALECTS)}, found {dialect!r}{hint}")
    models = portable(known)
    made = {layer: f"CREATE SCHEMA IF NOT EXISTS {layer}" for layer in LAYERS}
    for model in models:
        try:
            select = DIALECTS[dialect](model.expression.copy())
        except ModelError as error:
            raise ModelError(f"{model.path}:1:1: {error}") from None
        made[model.name] = _view(model.name, model, select, dialect)
    for name, model in newest_marts(known).items():
        if model.name in made:
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
