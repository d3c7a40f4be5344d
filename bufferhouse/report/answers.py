"""What the statements of `sql/reports/` answer."""

from dataclasses import dataclass
from typing import Any

import duckdb

from bufferhouse.errors import WarehouseError
from bufferhouse.layout import REPORTS

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """Columns and rows that a statement returned."""

    columns: list[str]
    rows: list[tuple]

    @property
    def records(self) -> list[Record]:
        """The rows, each as a mapping from column to value."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


def ask(con: duckdb.DuckDBPyConnection, name: str, **parameters: int | str) -> Answer:
    """Return what the statement `sql/reports/<name>.sql` answers.

    Raises:
        WarehouseError: a mart that it reads is not there: an older bufferhouse built the models.
    """
    try:
        cursor = con.execute((REPORTS / f"{name}.sql").read_text(encoding="utf-8"), parameters)
    except duckdb.CatalogException as error:
        first_line = str(error).split("\n", 1)[0]
        raise WarehouseError(f"{first_line} An older bufferhouse built it; renew it with: bufferhouse build") from None
    return Answer([column[0] for column in cursor.description], cursor.fetchall())
