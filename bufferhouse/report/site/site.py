"""The whole site of a warehouse: its parts, and the order in which they are made."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import duckdb

from bufferhouse.config.load import Config
from bufferhouse.errors import UsageError
from bufferhouse.query.statements import ask
from bufferhouse.report.site.inventory import Inventory
from bufferhouse.report.site.manifest import NAME, Built, Manifest, Progress, code, fingerprint
from bufferhouse.report.site.target import Target
from bufferhouse.warehouse.open import Place, reading

if TYPE_CHECKING:
    from bufferhouse.compare.gate import Accepted


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a site shows beside the warehouse.

    `source_url` is the pattern of the addresses of source lines, `accepted` are the entries of the accept file,
    `stale` the sentences about sources that bring nothing new.
    """

    source_url: str | None = None
    accepted: "Sequence[Accepted]" = ()
    stale: Sequence[str] = ()

    @classmethod
    def of(cls, con: duckdb.DuckDBPyConnection, conf: Config) -> "Wishes":
        """Return what a configuration asks for.

        Raises:
            UsageError: the accept file cannot be read.
        """
        accepted: Sequence[Accepted] = ()
        if conf["regressions"]["accept"]:
            from bufferhouse.compare.gate import accepted_by

            accepted = accepted_by(conf)
        return cls(conf["report"]["source_url"], tuple(accepted), tuple(_stale(con, conf) if conf.sources else ()))


def _stale(con: duckdb.DuckDBPyConnection, conf: Config) -> Iterator[str]:
    """Yield a sentence for each stale source; it says since when, and not for how long, so that it stays the same."""
    from bufferhouse.ingest.freshness import freshness, is_stale, stale_after  # the whole pipeline comes with it

    now = datetime.now(UTC)
    for name, found in freshness(con, conf).items():
        if is_stale(found.quiet_seconds(now), stale_after(conf, name)):
            last = found.last_load_at
            yield f"Source {name} is stale: " + (
                f"nothing new since {last:%Y-%m-%d %H:%M} UTC." if last else "nothing came."
            )


def build_site(
    place: Place,
    target: Target,
    conf: Config,
    *,
    wait: float,
    is_forced: bool = False,
    progress: Progress | None = None,
) -> Built:
    """Bring the site of the warehouse at `place` up to date; `is_forced` makes each page anew.

    Raises:
        UsageError: the site cannot be written there, or the accept file cannot be read.
        WarehouseBusy, WarehouseError: as `bufferhouse.warehouse.open.reading`.
        SourceUnavailable: the bucket does not answer.
    """
    with reading(place, wait=wait, is_long=True) as warehouse:
        wishes = Wishes.of(warehouse.con, conf)
        return build_from(warehouse.con, target, wishes, is_forced=is_forced, progress=progress)


def build_from(
    con: duckdb.DuckDBPyConnection,
    target: Target,
    wishes: Wishes = Wishes(),
    *,
    is_forced: bool = False,
    progress: Progress | None = None,
) -> Built:
    """Bring a site up to date from a connection to a warehouse; one build at a time writes a folder.

    Raises:
        UsageError: another index.html or another build is there, or nothing can be written.
    """
    with target.alone():
        manifest = Manifest.read(kept := target.read(NAME))
        if kept is None and target.read("index.html") is not None:
            raise UsageError(
                f"{target}: there is an index.html that is not of a site of bufferhouse; name another folder"
            )
        if is_forced:
            manifest.pages, manifest.inputs = dict.fromkeys(manifest.pages, ("", "")), ""
        runs = ask(con, "site_runs").records
        inputs = fingerprint(code(), wishes, runs)
        if manifest.inputs == inputs:
            return Built(page_count=len(manifest.pages), is_new=False)
        # Imported only if there is something to make: these modules import the charts.
        from bufferhouse.report.html.frame import Shared
        from bufferhouse.report.site.build import Builder
        from bufferhouse.report.site.catalog import Catalog
        from bufferhouse.report.site.functions import FunctionList, Functions
        from bufferhouse.report.site.index import Index
        from bufferhouse.report.site.programs import Programs
        from bufferhouse.report.site.pruned import Pruned
        from bufferhouse.report.site.runs import RunLists, Runs
        from bufferhouse.report.site.steps import Steps
        from bufferhouse.report.site.triage import Triage

        shared = Shared()
        inventory = Inventory(con, runs, manifest.pages, manifest.targets)
        manifest.targets = inventory.targets
        steps = Steps(con, inventory, shared, target, manifest, wishes.source_url)
        triage = Triage(inventory, steps, wishes.accepted, shared, manifest, inputs)
        shelves = [
            Catalog(shared, manifest),
            Programs(con, inventory, shared, wishes.source_url),
            Runs(con, inventory, shared),
            steps,
            Functions(inventory, ask(con, "site_signatures").records, shared),
            RunLists(inventory, shared),
            FunctionList(inventory, shared),
            triage,
            Index(con, inventory, steps, triage, shared, wishes.stale, inputs),
        ]
        wanted = {address for shelf in shelves for address in shelf.wanted}
        pruned = Pruned(shared, manifest, wanted)
        return Builder(target, manifest, shared, progress).build([*shelves[:-1], pruned, shelves[-1]], inputs)
