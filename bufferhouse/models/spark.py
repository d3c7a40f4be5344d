"""What sqlglot leaves undone on the way from DuckDB's SQL to Spark's: each rewrite keeps the rows as DuckDB has them.

Written for Spark 4 (ANSI mode, its default), and for what the models use; `tests/models/test_spark.py` holds every
portable mart to equal rows.
"""

import re

from sqlglot import exp

from bufferhouse.errors import ModelError

_BACK_REFERENCE = re.compile(r"\\([0-9])")
_CLASS_WITH_BRACKETS = re.compile(r"\[(\^?)\]\[")  # [^][…]: brackets that stand first in a class stand for themselves


def to_spark(select: exp.Expression) -> str:
    """Return a SELECT of DuckDB as one of Spark.

    Raises:
        ModelError: it holds something that cannot be said in Spark; without file and line.
    """
    for found in list(select.find_all(exp.Select)):
        _unnest_side_by_side(found)
    return select.transform(_rewritten).sql(dialect="spark", pretty=True, comments=False)


def _rewritten(node: exp.Expression) -> exp.Expression:
    """Return what stands in a node's place."""
    if isinstance(node, exp.Cast) and isinstance(node.this, exp.WithinGroup):
        # DuckDB rounds a DOUBLE to an integer, halves to the even one; Spark cuts it off.
        return exp.cast(exp.func("RINT", _percentile(node.this), dialect="spark"), node.to)
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
    return exp.Anonymous(this="PERCENTILE", expressions=[ordered, node.this.this])


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
    """Let one lateral view give the elements of all lists that a SELECT unnests, as many rows as the longest has."""
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
