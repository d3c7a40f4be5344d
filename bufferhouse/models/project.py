"""dbt_like_models: read, order, qualify. The models are plain SQL, one SELECT per file.

sqlglot reads which tables a model names and orders them, and qualifies every column against the contracts before
anything is built.
"""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from graphlib import CycleError, TopologicalSorter
from itertools import takewhile
from pathlib import Path

from bufferhouse.errors import ModelError
from bufferhouse.paths import MODELS

LAYERS = ("raw", "staging", "intermediate", "marts", "checks")
WARNINGS = "marts.warnings"  # keeps the offenders of checks as rows: its versions alone read from the layer above
_VERSIONED = re.compile(r"(.+)_v([0-9]+)$")
_HEADER_FIELD = re.compile(r"(grain|materialized|severity|portable): *(.+)$")


@dataclass(slots=True)
class Model:
    """One file: `name` is `<layer>.<file name>`; header fields are None where the header has none.

    `portable` is "yes" for a mart with equal rows on other engines, else "no, because …"; None without such a header.
    """

    name: str
    layer: str
    path: Path
    sql: str
    purpose: str
    grain: tuple[str, ...]
    is_incremental: bool
    severity: str | None
    portable: str | None
    reads: tuple[str, ...]
    columns: dict[str, str]
    expression: object

    @property
    def fingerprint(self) -> str:
        """Hash of the text; changes when the file does."""
        return hashlib.sha256(self.sql.encode()).hexdigest()

    @property
    def version(self) -> int | None:
        """The N of a mart's `_vN`; None for other models."""
        found = _VERSIONED.match(self.name) if self.layer == "marts" else None
        return int(found[2]) if found else None


def read(directory: Path = MODELS) -> list[Model]:
    """Read all models in the order in which they can be built.

    Raises:
        ModelError: a file is no single SELECT, lacks a part of its header or a column comment, reads a layer above
            its own, or models read each other in a circle.
    """
    models = {model.name: model for path in sorted(directory.glob("*/*.sql")) for model in [_read_one(path)]}
    for model in models.values():
        for table in model.reads:
            _check_stairs(model, table, models)
    try:
        order = TopologicalSorter(
            {name: [table for table in model.reads if table in models] for name, model in models.items()}
        ).static_order()
        return [models[name] for name in order]
    except CycleError as error:
        raise ModelError(f"models read each other in a circle: {' -> '.join(error.args[1])}") from None


def _read_one(path: Path) -> Model:
    from sqlglot import exp  # takes 0.1 s, which only building and explaining models should cost

    sql = path.read_text(encoding="utf-8")
    layer = path.parent.name
    if layer not in LAYERS[1:]:
        raise ModelError(f"{path}:1:1: expected a folder of {', '.join(LAYERS[1:])}, found {layer!r}")
    header = [line[2:].strip() for line in sql.split("\n") if line.startswith("--")]
    fields = {match[1]: match[2].strip() for line in header if (match := _HEADER_FIELD.match(line))}
    expression = _parsed(path, sql)
    common = {cte.alias for cte in expression.find_all(exp.CTE)}
    tables = [t for t in expression.find_all(exp.Table) if t.db or t.name not in common]
    model = Model(
        name=f"{layer}.{path.stem}",
        layer=layer,
        path=path,
        sql=sql,
        purpose=" ".join(takewhile(lambda line: not _HEADER_FIELD.match(line), header)),
        grain=tuple(part.strip() for part in fields.get("grain", "").split(",") if part.strip()),
        is_incremental=fields.get("materialized") == "incremental by dump_id",
        severity=fields.get("severity"),
        portable=fields.get("portable"),
        reads=tuple(dict.fromkeys(f"{table.db}.{table.name}" for table in tables)),
        columns={item.alias_or_name: (item.comments or [""])[-1].strip() for item in expression.selects},
        expression=expression,
    )
    _check_header(model, fields)
    return model


@lru_cache(maxsize=1024)  # a process may read the models again: to build them, for a catalog, for a lineage
def _parsed(path: Path, sql: str) -> object:
    """Return the SELECT of a file, which is the same for all who read it: to be copied, never changed."""
    import sqlglot
    from sqlglot import exp

    try:
        statements = sqlglot.parse(sql, dialect="duckdb")
    except sqlglot.errors.ParseError as error:
        place = error.errors[0]
        raise ModelError(f"{path}:{place['line']}:{place['col']}: {place['description']}") from None
    if len(statements) != 1 or not isinstance(statements[0], exp.Query):
        raise ModelError(f"{path}:1:1: expected one SELECT, found {len(statements)} statements")
    return statements[0]


def _check_header(model: Model, fields: dict[str, str]) -> None:
    wanted = "severity" if model.layer == "checks" else "grain"
    if not model.purpose or wanted not in fields:
        raise ModelError(f"{model.path}:1:1: expected a header with a purpose and a line '-- {wanted}: …'")
    if model.layer == "checks" and model.severity not in ("error", "warn"):
        raise ModelError(f"{model.path}:1:1: expected severity error or warn, found {model.severity!r}")
    if fields.get("materialized", "incremental by dump_id") != "incremental by dump_id":
        raise ModelError(f"{model.path}:1:1: expected materialized: incremental by dump_id")
    if model.portable not in (None, "yes") and not model.portable.startswith("no, because "):
        raise ModelError(f"{model.path}:1:1: expected portable: yes, or no, because …; found {model.portable!r}")
    if model.portable and model.layer != "marts":
        raise ModelError(f"{model.path}:1:1: expected no line '-- portable: …': only marts have one")
    if model.layer == "marts" and model.version is None:
        raise ModelError(f"{model.path}:1:1: expected a mart's name to end in _vN")
    for column, comment in model.columns.items():
        if not comment:
            raise ModelError(f"{model.path}:1:1: expected a comment behind the output column {column}")
    for column in model.grain:
        if column not in model.columns:
            raise ModelError(f"{model.path}:1:1: the grain names {column}, which is no output column")


def _check_stairs(model: Model, table: str, models: dict[str, Model]) -> None:
    layer = table.split(".")[0]
    if layer not in LAYERS or (layer != "raw" and table not in models):
        raise ModelError(f"{_place_of(model, table)}: reads {table}, which is neither a table of raw nor a model")
    may_be_above = layer == "checks" and model.name == f"{WARNINGS}_v{model.version}"
    is_above = LAYERS.index(layer) > LAYERS.index(model.layer) and not may_be_above
    if is_above or (model.layer in LAYERS[2:4] and layer == "raw"):
        raise ModelError(f"{_place_of(model, table)}: a model of {model.layer} cannot read {table}")


def newest_marts(models: Iterable[Model]) -> dict[str, Model]:
    """Return the newest version of each mart, by the name without a version: `marts.x`."""
    marts = {model.name: model for model in models if model.version}
    return {stem: marts[name] for stem, name in newest_names(marts).items()}


def newest_names(names: Iterable[str]) -> dict[str, str]:
    """Return which of the names of marts is that of the newest version, by the name without one: `marts.x`."""
    versions = [found for name in names if (found := _VERSIONED.match(name))]
    return {found[1]: found[0] for found in sorted(versions, key=lambda found: int(found[2]))}


def _place_of(model: Model, table: str) -> str:
    """Return file, line and column of the first mention of a table in a model."""
    from sqlglot import exp

    found = next(t for t in model.expression.find_all(exp.Table) if f"{t.db}.{t.name}" == table)
    first = found.args.get("db") or found.this
    return f"{model.path}:{first.meta['line']}:{first.meta['col'] - len(first.name) + 1}"


def qualify(models: Iterable[Model], tables: dict[str, dict[str, str]]) -> None:
    """Check that every column a model names exists; `tables` gives columns and types of `raw` by table.

    Raises:
        ModelError: an unknown table or column, with file, line and column.
    """
    from sqlglot.errors import OptimizeError
    from sqlglot.optimizer.qualify import qualify as qualified
    from sqlglot.schema import MappingSchema

    known = {f"raw.{table}" for table in tables}
    schema = MappingSchema({"raw": tables}, dialect="duckdb")  # made once: names are normalized as they come in
    for model in models:
        for table in model.reads:
            if table not in known:
                raise ModelError(f"{_place_of(model, table)}: unknown table {table}")
        expression = model.expression.copy()
        try:
            expression = qualified(expression, schema=schema, dialect="duckdb", quote_identifiers=False)
        except OptimizeError as error:
            line, column = _place(model, str(error))
            raise ModelError(f"{model.path}:{line}:{column}: {error}") from None
        known.add(model.name)
        schema.add_table(model.name, {item.alias_or_name: "UNKNOWN" for item in expression.selects}, dialect="duckdb")


def _place(model: Model, message: str) -> tuple[int, int]:
    """Return the line and column of an error message, else those of the name that it quotes, else 1:1."""
    from sqlglot import exp

    if stated := re.search(r"'(\w+)'.*Line: (\d+), Col: (\d+)", message):
        return int(stated[2]), int(stated[3]) - len(stated[1]) + 1
    quoted = set(re.findall(r"['\"]([A-Za-z_][\w.]*)['\"]", message)) | set(re.findall(r"\b([a-z_][\w]*)\b", message))
    for column in model.expression.find_all(exp.Column):
        meta = column.this.meta
        if column.name in quoted and "line" in meta:
            return meta["line"], meta["col"] - len(column.name) + 1
    return 1, 1
