"""The verbs that maintain a warehouse."""

import json
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from bufferhouse.commands.config import ConfigOption, SetOption
from bufferhouse.commands.options import (
    KEPT,
    FormatOption,
    PlanOption,
    WaitOption,
    WarehouseOption,
    YesOption,
    check_can_ask,
    check_format,
    days_of,
    folder_option,
    guarded,
    reader,
    reading,
    say,
    warehouse_path,
)
from bufferhouse.commands.progress import back_filling, progress_of, proved, verdict, writing
from bufferhouse.commands.runs import removed, shall_go
from bufferhouse.errors import UsageError, counted, whole_number
from bufferhouse.redaction import printable


@guarded
def publish(warehouse: WarehouseOption = None, wait: WaitOption = 0.0) -> None:
    """Copy the warehouse to its published name, so that readers need not wait for writers.

    Example: bufferhouse publish
    """
    path = warehouse_path(warehouse, must_exist=True)
    if path.published is None:
        print(f"{path} needs no published copy: readers of a lake read its snapshots")
        return
    with writing(path, wait=wait) as writer:
        print(writer.publish())


@partial(guarded, kept=KEPT)
def build(
    warehouse: WarehouseOption = None,
    force: Annotated[bool, typer.Option("--force", help="Build all models, also the unchanged ones.")] = False,
    plan: Annotated[
        bool, typer.Option("--plan", help="Print what would be built and back-filled, and write nothing.")
    ] = False,
    wait: WaitOption = 0.0,
    output_format: Annotated[str, typer.Option("--format", help="The form of --plan: table or json.")] = "table",
) -> None:
    """Build the models that changed, compute changed stored models again for all dumps, and print their names.

    Example: bufferhouse build --plan
    """
    from bufferhouse.models import build as building
    from bufferhouse.query.format import formatted
    from bufferhouse.warehouse.open import writing

    check_format(output_format, "table", "json")
    if output_format != "table" and not plan:
        raise UsageError("--format: expected --plan beside it; without it the names of models are printed")
    path = warehouse_path(warehouse, must_exist=True)
    if plan:
        with reading(path, wait) as con:
            steps = building.plan(con, force=force)
        rows = [(s.name, s.kind, s.reason, s.dump_count) for s in steps]
        print(formatted(("model", "kind", "reason", "dumps_to_back_fill"), rows, output_format))
        return

    def line(model: str, done: int, total: int) -> None:
        say(f"{model}: {done}/{counted(total, 'dump')} back-filled")

    with writing(path, wait=wait, build_models=False) as writer, back_filling(line) as step:
        for name in writer.build(force=force, progress=step):
            print(name)


@guarded
def check(warehouse: WarehouseOption = None, wait: WaitOption = 0.0, output_format: FormatOption = "table") -> None:
    """Run all checks over the whole warehouse. Exit 1 if a check of severity error finds offenders.

    Example: bufferhouse check --format json
    """
    from bufferhouse.models.build import is_current
    from bufferhouse.models.checks import run_checks
    from bufferhouse.paths import MODELS
    from bufferhouse.query.format import formatted

    check_format(output_format, "table", "json")
    with reading(warehouse_path(warehouse, must_exist=True), wait) as con:
        results = run_checks(con)
        if not is_current(con, MODELS):
            say("bufferhouse: these are the checks of another version; renew them with: bufferhouse build")
    columns = ("check", "severity", "offenders", "first")
    rows = [(r.name, r.severity, r.offender_count, r.first or "") for r in results]
    print(formatted(columns, rows, output_format))
    raise typer.Exit(int(any(r.severity == "error" and r.offender_count for r in results)))


@partial(guarded, kept=KEPT)
def pack(warehouse: WarehouseOption = None, wait: WaitOption = 0.0, output_format: FormatOption = "table") -> None:
    """Compute how tightly each arena could be packed, and store it: `marts.fragmentation` shows what that would save.

    Only arenas that have no packing yet are looked at. Each search is bounded; the mart says which were cut short.

    Example: bufferhouse pack
    """
    from bufferhouse.report.text.figures import human_bytes
    from bufferhouse.whatif.arenas import pack_arenas

    check_format(output_format, "table", "json")
    with writing(warehouse_path(warehouse, must_exist=True), wait=wait) as writer, progress_of("arenas") as step:
        done = pack_arenas(writer, progress=step)
    if output_format == "json":
        print(json.dumps(done._asdict()))
        return
    print(f"{counted(done.arena_count, 'arena')} packed")
    largest = f", at most by {human_bytes(done.most_savable_bytes)}" if done.smaller_count else ""
    print(f"a perfect packer makes {counted(done.smaller_count, 'arena')} smaller{largest} (marts.fragmentation)")
    print(
        f"{done.proved_count:,} proved the smallest, {done.open_count:,} searched without a proof, "
        f"{done.cut_count:,} cut short"
    )
    if done.unknown_count:
        print(f"{counted(done.unknown_count, 'arena')} cannot be packed: no live ranges")


@partial(guarded, kept=KEPT)
def compact(
    warehouse: WarehouseOption = None,
    keep: Annotated[
        str | None,
        typer.Option("--keep-snapshots", help="For a lake: keep snapshots this long, such as 1h or 7d; else 1d."),
    ] = None,
    wait: WaitOption = 0.0,
) -> None:
    """Write the warehouse again without free space, and print its size before and after.

    In a lake, small files are merged into large ones, and old snapshots are removed with the files that only they need.
    A content that the lake stores twice, which `check` reports, keeps one copy.

    Example: bufferhouse compact
    """
    from bufferhouse.report.text.figures import human_bytes

    seconds = None if keep is None else _seconds(keep)
    with writing(warehouse_path(warehouse, must_exist=True), wait=wait) as writer:
        done = writer.compact(keep_seconds=seconds)
    if done.mended_count:
        print(f"{counted(done.mended_count, 'second copy')} of contents removed")
    for reason in done.not_mended:
        say(f"a content stored twice cannot be repaired: {printable(reason)}")
    print(f"{human_bytes(done.before)} before, {human_bytes(done.after)} after")
    if done.not_mended:
        raise typer.Exit(1)


def _seconds(text: str) -> float:
    from bufferhouse.config.keys import duration

    try:
        return duration(0 if text == "0" else text)
    except ValueError:  # a number without a unit may be meant as days
        raise UsageError(f"--keep-snapshots: expected 0, or a duration like 90s, 1h or 7d, found {text!r}") from None


@partial(guarded, kept=KEPT)
def prune(
    warehouse: WarehouseOption = None,
    keep_runs: Annotated[
        int | None, typer.Option(help="Keep the newest N runs of each platform, track and device.")
    ] = None,
    older_than: Annotated[str | None, typer.Option(help="Remove the runs older than D days: 90 or 90d.")] = None,
    plan: PlanOption = False,
    yes: YesOption = False,
    wait: WaitOption = 0.0,
) -> None:
    """Remove old runs, and the contents that no other run holds, after asking.

    Runs with the label baseline stay, and those that `bufferhouse runs pin` names. --keep-runs counts runs without a
    loaded dump separately: they push no other run out. As long as its files are unchanged, `ingest --config` does not
    load a removed run again; `ingest SOURCE` does.

    Example: bufferhouse prune --keep-runs 30 --plan
    """
    from bufferhouse.warehouse import retention

    days = days_of(older_than)
    retention.check_limits(keep_runs, days)
    path = warehouse_path(warehouse, must_exist=True)
    check_can_ask(plan or yes)
    only = None
    if plan or not yes:
        with reading(path, wait) as con:
            only = retention.runs_to_prune(con, keep_runs=keep_runs, older_than_days=days)
            what, stay = retention.planned(con, only), retention.kept(con)
        for name, label in stay.values():
            print(f"keeping run {printable(name)}: label {label}")
        if not shall_go(what, is_plan=plan):
            return
    with writing(path, wait=wait) as writer:
        # What came after the question was not asked about.
        pruned = retention.prune(writer, keep_runs=keep_runs, older_than_days=days, only=only)
    for name in pruned.runs:
        print(f"removed run {printable(name)}")
    print(f"{removed(pruned)}; bufferhouse compact frees the space" if pruned.runs else "0 runs removed")


@guarded
def stats(
    warehouse: WarehouseOption = None,
    wait: WaitOption = 0.0,
    config_file: ConfigOption = None,
    checks: Annotated[bool, typer.Option("--checks", help="Run all checks, too, and list those that fail.")] = False,
    output_format: FormatOption = "table",
) -> None:
    """Print what the warehouse holds: rows and bytes per table, dumps per run, repeats, rejects.

    With a configuration, its warehouse is the default, and the freshness of each source is printed. JSON has more for a
    collector of metrics: the last load, open rejects, the current writer. Exit 3 if the warehouse is being written and
    has no published copy.

    Example: bufferhouse stats --format json
    """
    from bufferhouse.config.load import find, load
    from bufferhouse.ingest.metrics import metrics
    from bufferhouse.query.format import formatted
    from bufferhouse.report.text.figures import human_bytes

    check_format(output_format, "table", "json")
    conf = load(find(config_file))
    found = metrics(warehouse_path(warehouse or conf.warehouse, must_exist=True), conf, wait=wait, checks=checks)
    if found["note"]:
        say(f"bufferhouse: {found['note']}")
    if output_format == "json":
        print(json.dumps(found))
        return
    print(
        f"{counted(found['observations'], 'dump')} seen, {counted(found['dumps'], 'content')}, "
        f"{found['repeat_share']:.1%} repeats; "
        f"{human_bytes(found['text_bytes'])} of text in contents, stored in {human_bytes(found['file_bytes'])}\n"
    )
    sizes = [human_bytes(row["bytes"]) for row in found["tables"].values()]
    width = max(map(len, sizes), default=0)
    tables = [
        (name, row["rows"], size.rjust(width)) for (name, row), size in zip(found["tables"].items(), sizes, strict=True)
    ]
    print(formatted(("table", "rows", "size".rjust(width)), tables, "table") + "\n")
    print(formatted(("run", "dumps"), list(found["runs"].items()), "table"))
    if found["rejects"]:
        rows = [(row["rule"], row["state"], row["count"]) for row in found["rejects"]]
        print("\n" + formatted(("rejects by rule", "state", "count"), rows, "table"))
    if found["sources"]:
        print("\n" + formatted(*_by_name("source", found["sources"]), "table"))
    if found["failing_checks"]:
        print("\n" + formatted(*_by_name("failing check", found["failing_checks"]), "table"))


@guarded
def metrics(
    warehouse: WarehouseOption = None,
    wait: WaitOption = 0.0,
    config_file: ConfigOption = None,
    settings: SetOption = None,
    checks: Annotated[bool, typer.Option("--checks", help="Run all checks, too.")] = False,
) -> None:
    """Print the figures of stats in the OpenMetrics format, for Prometheus.

    With a configuration, its warehouse is the default, and the figures include the freshness of each source.
    `bufferhouse serve --metrics-port` serves the same figures, with its own --set.

    Example: bufferhouse metrics --config bufferhouse.toml
    """
    from bufferhouse.config.load import find, load
    from bufferhouse.ingest.metrics import metrics as read
    from bufferhouse.ingest.open_metrics import open_metrics

    conf = load(find(config_file), flags=settings or ())
    path = warehouse_path(warehouse or conf.warehouse, must_exist=True)
    print(open_metrics(read(path, conf, wait=wait, checks=checks)), end="")


def _by_name(what: str, found: dict[str, dict]) -> tuple[tuple[str, ...], list[tuple]]:
    """Return the columns and rows of a table, from dicts with the same keys."""
    first = next(iter(found.values()))
    return (what, *first), [
        (name, *("" if cell is None else cell for cell in row.values())) for name, row in found.items()
    ]


@guarded
def export(
    dump_id: Annotated[str | None, typer.Argument(help="The id of the dump to write.")] = None,
    output: Annotated[Path | None, folder_option("-o", "--output", help="The folder to write into.")] = None,
    run: Annotated[str | None, typer.Option(help="Write all dumps of this run.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Write all dumps of all runs.")] = False,
    parquet: Annotated[
        Path | None,
        folder_option(
            "--parquet",
            help="Write tables and marts as Parquet files into this folder instead, over those of an earlier export.",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there already.")] = False,
    warehouse: WarehouseOption = None,
    wait: WaitOption = 0.0,
) -> None:
    """Write the original files again, byte for byte, as OUTPUT/<run>/<relative path>.

    File names that a file system refuses, that lead out of OUTPUT or that collide are replaced by safe ones and listed.
    With --parquet the command writes the tables of raw and the marts instead, as DIR/raw/<table>.parquet and
    DIR/marts/<mart>.parquet.

    Example: bufferhouse export --run jaxlib-0.9.0 -o originals
    """
    from bufferhouse.warehouse.export import choose, export, left_out

    wanted = None if dump_id is None else _id_of(dump_id)
    if parquet is not None:
        if dump_id is not None or run is not None or every or output is not None:
            raise UsageError("expected --parquet DIR alone: it writes whole tables")
        from bufferhouse.query.notebooks import export_parquet

        with reading(warehouse_path(warehouse, must_exist=True), wait) as con, progress_of("tables") as step:
            files = export_parquet(con, parquet, progress=step)
        print(f"{counted(len(files), 'file')} written to {parquet}")
        return
    if sum((dump_id is not None, run is not None, every)) != 1:
        raise UsageError("expected one of DUMP_ID, --run NAME and --all")
    if output is None:
        raise UsageError("expected a folder to write into, with -o DIR")
    with reading(warehouse_path(warehouse, must_exist=True), wait) as con, progress_of("dumps") as step:
        done = export(con, choose(con, dump_id=wanted, run=run), output, force=force, progress=step)
        refused = left_out(con, run) if dump_id is None else 0
    for name, given in done.renamed:
        say(f"renamed: {name!r} is written as {given!r}")
    if refused:
        say(f"{counted(refused, 'refused dump')} not written; to write one: bufferhouse rejects show ID -o FILE")
    renamed = f", {len(done.renamed):,} under another name" if done.renamed else ""
    print(f"{counted(done.file_count, 'file')} written to {output}{renamed}")


def _id_of(text: str) -> int:
    try:
        return whole_number(text, "DUMP_ID")
    except UsageError as error:
        raise UsageError(f"{error}; the folder to write into is given with -o DIR") from None


@guarded
def verify(
    warehouse: WarehouseOption = None,
    sample: Annotated[
        int | None, typer.Option(min=1, help="Verify only N dumps, chosen at random, beside all rejects.")
    ] = None,
    run: Annotated[str | None, typer.Option(help="Verify only the dumps and rejects of this run.")] = None,
    wait: WaitOption = 0.0,
) -> None:
    """Prove that nothing was lost: render every dump from its rows, compare the hashes, and derive every row again.

    The rows of stored models are computed again, views are compared with those that were built, messages about
    programs that did not fit are derived again from their texts, and the bytes of rejects are hashed again. Exit 1 if
    something cannot be proved, 2 if the run of --run has no dumps.

    Example: bufferhouse verify --sample 1000
    """
    from bufferhouse.messages.rows import faults as message_faults
    from bufferhouse.query.hints import why_empty
    from bufferhouse.warehouse.verify import chosen_dumps
    from bufferhouse.warehouse.verify_models import view_faults
    from bufferhouse.warehouse.verify_rejects import faults as reject_faults

    with reader(warehouse_path(warehouse, must_exist=True), wait) as opened:
        ids = chosen_dumps(opened.con, sample=sample, run=run)
        faults = proved(opened, ids)
        others = [*reject_faults(opened.con, run), *message_faults(opened.con), *view_faults(opened.con)]
        why = "" if ids else why_empty(opened.con)
    for fault in faults:
        say(f"dump {fault.dump_id}: {printable(fault.what)}")
    for line in others:
        say(printable(line))
    if why:
        say(f"bufferhouse: {why}")
    print(verdict(ids, faults))
    raise typer.Exit(int(bool(faults or others)))
