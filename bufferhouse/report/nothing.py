"""A report that has nothing to show, as nothing was loaded or every dump was refused: its error and its page."""

import duckdb

from bufferhouse.errors import UsageError
from bufferhouse.query.hints import none_loaded, none_read
from bufferhouse.query.statements import Record, ask
from bufferhouse.report.text.figures import sentence

_SHOWN_REJECTS = 10


class NothingToShow(UsageError):
    """The warehouse has no dump for the report: exit 2, and a page with --html.

    `what` is missing, and `why`. `overview` and `rejects` are what the warehouse holds: the record of `fleet_overview`,
    and those of `fleet_rejects`.
    """

    def __init__(self, what: str, why: str, overview: Record, rejects: list[Record]) -> None:
        super().__init__(f"{what}: {why}")
        self.what, self.why, self.overview, self.rejects = what, why, overview, rejects


def nothing_of(con: duckdb.DuckDBPyConnection, what: str, why: str | None = None) -> NothingToShow:
    """Return the error for a warehouse, or sources: what is missing and `why`, else why there is no dump at all."""
    [overview] = ask(con, "fleet_overview").records
    rejects = ask(con, "fleet_rejects", rejects=_SHOWN_REJECTS).records
    if why is None:
        why = none_read(con, overview["reject_count"]) if overview["run_count"] else none_loaded(con)
    return NothingToShow(what, why, overview, rejects)


def nothing_page(nothing: NothingToShow) -> str:
    """Return the page: what is missing, why, and the way on."""
    from bufferhouse.report.html.page import page  # Altair takes half a second to import

    return page(
        "nothing.html",
        "Nothing to show",
        {},
        warehouse="the warehouse",
        loaded_at=nothing.overview["loaded_at"],
        what=sentence(nothing.what),
        why=sentence(nothing.why),
        facts=nothing.overview,
        rejects=nothing.rejects,
    )
