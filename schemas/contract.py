"""How a table is declared: one place for name, type, nullability, range, description and key.

A contract is strict: no other column, this order, no coercion. It is made into a pandera schema of the polars backend
by whoever needs to hear what breaks it and where; that nothing does is seen by one pass of expressions.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    import pandera.polars as pa

INTEGER = pl.Int64
TEXT = pl.String
BOOLEAN = pl.Boolean
MOMENT = pl.Datetime("us", "UTC")
BYTES = pl.Binary
NUMBERS = pl.List(pl.Int64)
LABELS = TEXT  # a JSON object
_SQL_TYPES = {
    pl.Int64: "BIGINT",
    pl.String: "VARCHAR",
    pl.Boolean: "BOOLEAN",
    pl.Binary: "BLOB",
    pl.List: "BIGINT[]",
    pl.Datetime: "TIMESTAMP WITH TIME ZONE",
}


@dataclass(frozen=True, slots=True)
class Column:
    """A column as declared: its type of polars, and the rules that its cells keep.

    `minimum` is inclusive, `one_of` lists the only values there are, `matches` begins with `^`.
    """

    dtype: Any
    description: str
    nullable: bool = False
    minimum: int | None = None
    one_of: Sequence[str] | None = None
    matches: str | None = None

    @property
    def sql_type(self) -> str:
        """The type of DuckDB."""
        return _SQL_TYPES[self.dtype.base_type()]

    def rules(self, name: str) -> Iterator[pl.Expr]:
        """Yield an expression for each rule: whether all cells of the column of that name keep it."""
        cells = pl.col(name)
        if not self.nullable:
            yield cells.null_count() == 0
        if self.minimum is not None:
            yield (cells.min() >= self.minimum).fill_null(True)  # there is no least one of no cells
        if self.one_of is not None:
            yield cells.is_in(self.one_of).all()
        if self.matches is not None:
            yield cells.str.contains(self.matches).all()

    def checks(self) -> "list[pa.Check]":
        """Return the same rules, but that for nulls, for pandera."""
        import pandera.polars as pa

        checks = []
        if self.minimum is not None:
            checks.append(pa.Check.ge(self.minimum))
        if self.one_of is not None:
            checks.append(pa.Check.isin(list(self.one_of)))
        if self.matches is not None:
            checks.append(pa.Check.str_matches(self.matches))
        return checks


@dataclass(frozen=True)
class Contract:
    """The table `raw.<name>`: `grain` says what a row is, `key` which columns tell rows apart.

    What other tables say already is not stored again: then `query` derives it from them, and `raw.<name>` is a view.
    """

    name: str
    description: str
    grain: str
    key: Sequence[str]
    columns: Mapping[str, Column]
    query: str | None = None

    @cached_property
    def types(self) -> dict[str, Any]:
        """The type of each column, by its name, in order."""
        return {name: column.dtype for name, column in self.columns.items()}

    @cached_property
    def schema(self) -> "pa.DataFrameSchema":
        """The contract for pandera."""
        import pandera.polars as pa  # half a second, which only an odd batch costs

        return pa.DataFrameSchema(
            {
                name: pa.Column(column.dtype, column.checks(), nullable=column.nullable)
                for name, column in self.columns.items()
            },
            name=self.name,
            unique=list(self.key),
            strict=True,
            ordered=True,
            coerce=False,
        )

    def validate(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the frame that keeps the contract.

        Raises:
            pandera.errors.SchemaErrors: every breach, with column, rule and row.
        """
        return self.schema.validate(frame, lazy=True)

    def is_kept_by(self, frame: pl.DataFrame) -> bool:
        """Return whether `validate` would take the frame, a hundred times faster."""
        if list(frame.schema.items()) != list(self.types.items()):
            return False
        is_kept, is_in_order = frame.select(self._rules, self._is_in_order).row(0)
        return is_kept and (is_in_order or frame.select(self.key).is_unique().all())

    @cached_property
    def _rules(self) -> pl.Expr:
        rules = (rule for name, column in self.columns.items() for rule in column.rules(name))
        return pl.all_horizontal(*rules).alias("is_kept")

    @cached_property
    def _is_in_order(self) -> pl.Expr:
        """Whether rows of a dump stand together, each with a greater key than the one before it: then keys are unique.

        Readers give nearly all tables so. To compare neighbors takes a twentieth of the processor that it takes to
        look for every key among all others, and no memory.
        """
        first, *others = map(pl.col, self.key)
        is_greater = pl.lit(False)
        for cells in reversed(others):
            before = cells.shift(1)
            is_greater = (cells > before) | ((cells == before) & is_greater)
        begins = first.ne_missing(first.shift(1))
        beginnings = first.filter(begins)
        return ((begins | is_greater).all() & (beginnings.n_unique() == beginnings.len())).alias("is_in_order")


def natural(description: str, *, nullable: bool = False) -> Column:
    """Declare a column of whole numbers from 0 on."""
    return Column(INTEGER, description, nullable=nullable, minimum=0)


def shape_index(description: str, *, nullable: bool = False) -> Column:
    """Declare a column of shape indices as they are printed."""
    return Column(TEXT, description, nullable=nullable, matches=r"^\{[0-9,]*\}$")


DUMP_ID = natural("The dump: the first 63 bits of its SHA-256.")
ALLOCATION_INDEX = natural("Index of the allocation in its dump, from 0.")
VALUE_ID = natural("Id of the HLO value in its dump (HloValue::id).")
INSTRUCTION_ID = natural("The instruction, interned per dump in raw.instructions.")
MEMORY_SPACE = natural("Memory space (XLA prints it as color); 0, the default, is not printed.")
