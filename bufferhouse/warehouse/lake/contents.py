"""The table of contents of a lake, in the PostgreSQL of its catalog: which contents there are, found by their key.

A scan of `raw.dumps` finds the same, in a time that grows with the lake. At each commit triggers either keep the table
in step with the snapshot or put it in doubt (`sql/lake/claims.sql`). A table in doubt is not used until it is filled
again.
"""

from collections.abc import Sequence, Set
from typing import TYPE_CHECKING

import duckdb

from bufferhouse.engine import interrupts
from bufferhouse.engine.sql import transaction
from bufferhouse.warehouse.lake.claims import Claims
from bufferhouse.warehouse.lake.postgres import answering

if TYPE_CHECKING:
    import psycopg

_PIECE = 10_000


class Contents:
    """The table for one worker, which fills it at most once: an older version may put it in doubt again and again."""

    def __init__(self, con: duckdb.DuckDBPyConnection, claims: Claims) -> None:
        self.con = con
        self.claims = claims
        self.may_fill = True

    def known(self, dump_ids: Sequence[int]) -> dict[int, tuple[str, int]] | None:
        """Return SHA-256 and signature id of those that the lake has; None while the table is in doubt.

        Raises:
            WarehouseBusy: PostgreSQL does not answer.
        """
        with answering():
            session = self.claims.session()
            if not _is_whole(session):
                if not self.may_fill:
                    return None
                _fill(session, self.con)
                self.may_fill = False
                if not _is_whole(session):
                    return None
            rows = session.execute(
                "SELECT dump_id, encode(sha256, 'hex'), signature_id FROM bufferhouse.contents WHERE dump_id = ANY(%s)",
                [list(dump_ids)],
            ).fetchall()
        return {dump_id: (sha256, signature_id) for dump_id, sha256, signature_id in rows}


def named(con: duckdb.DuckDBPyConnection, catalog: str, bad: Set[int]) -> list[str]:
    """Return how a commit names the contents of a batch that it adds, all but the bad ones."""
    rows = con.execute(f"SELECT dump_id, sha256, signature_id FROM {catalog}.raw.dumps").fetchall()
    return [f"{dump_id} {sha256} {signature_id}" for dump_id, sha256, signature_id in rows if dump_id not in bad]


def _is_whole(session: "psycopg.Connection") -> bool:
    found = "SELECT 1 FROM bufferhouse.contents_state WHERE row_count = bufferhouse.dumps_given()"
    return session.execute(found).fetchone() is not None


def _fill(session: "psycopg.Connection", con: duckdb.DuckDBPyConnection) -> None:
    """Make the table equal to raw.dumps, unless another worker just did so; commits that add dumps wait meanwhile."""
    with session.transaction():
        session.execute("SELECT row_count FROM bufferhouse.contents_state FOR UPDATE")
        if _is_whole(session):
            return
        (given,) = session.execute("SELECT bufferhouse.dumps_given()").fetchone()
        session.execute("CREATE TEMPORARY TABLE found (LIKE bufferhouse.contents) ON COMMIT DROP")
        # The snapshot begins only now: a commit that it does not include waits for our lock.
        with transaction(con), session.cursor().copy("COPY found FROM STDIN") as copy:
            rows = con.execute(
                "SELECT concat(dump_id, chr(9), '\\\\x', sha256, chr(9), signature_id, chr(10)) FROM raw.dumps"
            )
            while piece := rows.fetchmany(_PIECE):
                interrupts.check()
                copy.write("".join(line for (line,) in piece))
        # After a removal most rows are right already: only the others are written.
        session.execute("ANALYZE found")
        session.execute(
            "DELETE FROM bufferhouse.contents AS c WHERE NOT EXISTS (SELECT FROM found AS f"
            " WHERE (f.dump_id, f.sha256, f.signature_id) = (c.dump_id, c.sha256, c.signature_id))"
        )
        session.execute(
            "INSERT INTO bufferhouse.contents SELECT * FROM found AS f WHERE NOT EXISTS"
            " (SELECT FROM bufferhouse.contents AS c WHERE c.dump_id = f.dump_id) ON CONFLICT DO NOTHING"
        )
        session.execute("UPDATE bufferhouse.contents_state SET row_count = %s", [given])
