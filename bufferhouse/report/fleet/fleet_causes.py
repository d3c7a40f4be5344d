"""The main causes of the net changes that the fleet report shows."""

import duckdb

from bufferhouse.compare.causes import former
from bufferhouse.compare.compare import compare_pairs
from bufferhouse.compare.pairing import Dump, Pair
from bufferhouse.compare.sizes import SizesOfDumps
from bufferhouse.query.statements import Answer, Record, ask
from bufferhouse.report.compare.records import main_cause


def fleet_movers(con: duckdb.DuckDBPyConnection, shown: int) -> Answer:
    """Return the answer of `fleet_movers`, with the main cause of each series and the bytes of that cause.

    All three columns are None without a net change. `main_cause` is in the words of earlier releases.

    As for the net change, the first run of a series is compared with its newest, whatever lies between them.
    """
    movers = ask(con, "fleet_movers", shown=shown)
    pairs = {place: _pair(mover) for place, mover in enumerate(movers.records) if mover["net_change_bytes"]}
    sizes = SizesOfDumps(con, {dump.dump_id for pair in pairs.values() for dump in (pair.before, pair.after)})
    # A program that moved in several memory spaces is compared once.
    compared = compare_pairs(con, dict.fromkeys(pairs.values()), sizes, metric="reserved") if pairs else []
    causes = {(row.pair, row.memory_space): main_cause(row) for row in compared}
    return Answer(
        [*movers.columns, "main_cause", "main_cause_bytes", "main_cause_label"],
        [
            (*row, *_columns(causes.get((pairs.get(place), mover["memory_space"]))))
            for place, (row, mover) in enumerate(zip(movers.rows, movers.records, strict=True))
        ],
    )


def _columns(found: tuple[str, int] | None) -> tuple[str | None, int | None, str | None]:
    return (former(found[0]), found[1], found[0]) if found else (None, None, None)


def _pair(mover: Record) -> Pair:
    about = (mover["program_id"], mover["program_name"], mover["platform"], mover["compile_target"], 1)
    return Pair(Dump(mover["before_dump_id"], *about), Dump(mover["after_dump_id"], *about), False)
