"""A report that has nothing to show, as nothing was loaded or every dump was refused: its error and its page."""

import duckdb

from bufferhouse.errors import UsageError
from bufferhouse.query.hints import none_loaded, none_read
from bufferhouse.query.statements import ask
from bufferhouse.report.text.figures import sentence

_SHOWN_REJECTS = 10


class NothingToShow(UsageError):
    """The warehouse has no dump for the report: exit 2, and a page with --html.

    `what` is missing, and `why`. `overview` and `rejects` are what the warehouse of the connection holds: the record of
    `fleet_overview`, and those of `fleet_rejects`.
    """

    def __init__(self, con: duckdb.DuckDBPyConnection, what: str, why: str) -> None:
        super().__init__(f"{what}: {why}")
        self.what, self.why = what, why
        [self.overview] = ask(con, "fleet_overview").records
        self.rejects = ask(con, "fleet_rejects", rejects=_SHOWN_REJECTS).records


def nothing_of(con: duckdb.DuckDBPyConnection, what: str) -> NothingToShow:
    """Return the error for a warehouse, or sources, without any dump: why it has none, and the way out."""
    [facts] = ask(con, "fleet_overview").records
    return NothingToShow(con, what, none_read(con, facts["reject_count"]) if facts["run_count"] else none_loaded(con))


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
