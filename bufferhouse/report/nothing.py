"""A report that has nothing to show, as nothing was loaded or every dump was refused: its error and its page."""

from dataclasses import dataclass

import duckdb

from bufferhouse.errors import UsageError
from bufferhouse.query.hints import none_loaded, none_read
from bufferhouse.query.statements import Record, ask
from bufferhouse.report.text.figures import sentence

_SHOWN_REJECTS = 10


@dataclass(frozen=True, slots=True)
class Held:
    """What the warehouse holds: the record of `fleet_overview`, and the records of `fleet_rejects`."""

    overview: Record
    rejects: list[Record]


class NothingToShow(UsageError):
    """The warehouse has no dump for the report: exit 2, and a page with --html.

    `what` is missing, and `why`; `held` is what the warehouse holds.
    """

    def __init__(self, what: str, why: str, held: Held) -> None:
        super().__init__(f"{what}: {why}")
        self.what, self.why, self.held = what, why, held


def nothing_of(con: duckdb.DuckDBPyConnection, what: str) -> NothingToShow:
    """Return the error for a warehouse, or sources, without any dump: why it has none, and the way out."""
    held = held_by(con)
    if not held.overview["run_count"]:
        return NothingToShow(what, none_loaded(con), held)
    return NothingToShow(what, none_read(con, held.overview["reject_count"]), held)


def held_by(con: duckdb.DuckDBPyConnection) -> Held:
    """Return what the warehouse of a connection holds."""
    rejects = ask(con, "fleet_rejects", rejects=_SHOWN_REJECTS).records
    return Held(ask(con, "fleet_overview").records[0], rejects)


def nothing_page(nothing: NothingToShow) -> str:
    """Return the page: what is missing, why, and the way on."""
    from bufferhouse.report.html.page import page  # Altair takes half a second to import

    facts = nothing.held.overview
    return page(
        "nothing.html",
        "Nothing to show",
        {},
        warehouse="the warehouse",
        loaded_at=facts["loaded_at"],
        what=sentence(nothing.what),
        why=sentence(nothing.why),
        facts=facts,
        rejects=nothing.held.rejects,
    )
