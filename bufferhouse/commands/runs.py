"""`bufferhouse runs`, `bufferhouse programs` and `bufferhouse rejects`."""

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from bufferhouse.commands import completion
from bufferhouse.commands.options import (
    KEPT,
    FormatOption,
    PlanOption,
    Verbs,
    WaitOption,
    WarehouseOption,
    YesOption,
    agreed,
    check_can_ask,
    check_format,
    days_of,
    facts_of,
    file_option,
    guarded,
    reading,
    say,
    warehouse_path,
)
from bufferhouse.commands.progress import progress_of, writing
from bufferhouse.errors import UsageError, counted
from bufferhouse.redaction import printable

_RUN = "The run: its name, the beginning of it, latest, previous or latest:track=nightly."
_RUNS = f"The runs. {_RUN.replace('The run: its', 'Each by its')}"
_SIGNATURE, _NARROWEST_SIGNATURE = 60, 20  # characters on a terminal
runs = typer.Typer(
    cls=Verbs,
    no_args_is_help=True,
    help="List, describe, rename, pin, complete and remove runs.\n\nExample: bufferhouse runs ls",
)
rejects = typer.Typer(cls=Verbs, help="List, show, replay and remove rejects.\n\nExample: bufferhouse rejects --all")


@runs.command("ls")
@guarded
def runs_ls(warehouse: WarehouseOption = None, wait: WaitOption = 0.0, output_format: FormatOption = "table") -> None:
    """List the runs, oldest first.

    Example: bufferhouse runs ls --format json
    """
    from bufferhouse.query.format import formatted
    from bufferhouse.query.listings import RUNS

    check_format(output_format, "table", "json")
    columns, rows = _listed(warehouse, wait, RUNS)
    print(formatted(columns, rows, output_format))


@runs.command("set")
@guarded
def runs_set(
    name: Annotated[str, typer.Argument(help=_RUN, autocompletion=completion.runs)],
    facts: Annotated[
        list[str],
        typer.Argument(help="K=V, such as platform=tpu, started_at=… or label.NAME=…; K= removes the fact."),
    ],
    warehouse: WarehouseOption = None,
    wait: WaitOption = 0.0,
) -> None:
    """Set facts of a run: columns of raw.runs, or labels of your own as label.NAME=VALUE.

    Example: bufferhouse runs set jaxlib-0.9.0 platform=cpu label.team=vision
    """
    from bufferhouse.warehouse.runs import set_facts

    pairs = facts_of(facts)
    with writing(warehouse_path(warehouse, must_exist=True), wait=wait) as writer:
        run = set_facts(writer, name, pairs)
    done = (f"{key}={value}" if value else f"{key} removed" for key, value in pairs.items())
    print(printable(f"run {run}: {', '.join(done)}"))


@runs.command("rename")
@guarded
def runs_rename(
    name: Annotated[str, typer.Argument(help=_RUN, autocompletion=completion.runs)],
    new_name: Annotated[str, typer.Argument(help="The new name.")],
    warehouse: WarehouseOption = None,
    wait: WaitOption = 0.0,
) -> None:
    """Rename a run.

    Example: bufferhouse runs rename seeds first-dumps
    """
    from bufferhouse.warehouse.runs import rename

    with writing(warehouse_path(warehouse, must_exist=True), wait=wait) as writer:
        run = rename(writer, name, new_name)
    print(printable(f"run {run} is now {new_name}"))


@runs.command("rm")
@partial(guarded, kept=KEPT)
def runs_rm(
    names: Annotated[list[str], typer.Argument(help=_RUNS, autocompletion=completion.runs)],
    warehouse: WarehouseOption = None,
    plan: PlanOption = False,
    yes: YesOption = False,
    wait: WaitOption = 0.0,
) -> None:
    """Remove runs, and the contents that no other run holds, after asking. With --yes, names must be whole.

    If their files are still in a source, the next ingest of it loads them again: use this verb to repair a run. Runs
    that `prune` or retention removes stay out.

    Example: bufferhouse runs rm latest:track=release --plan
    """
    from bufferhouse.warehouse.retention import planned, remove_runs
    from bufferhouse.warehouse.run_names import find_all, find_whole

    def chosen(con: Any) -> list[tuple[int, str]]:
        found = (find_all if plan or not yes else find_whole)(con, names)
        return list(dict.fromkeys((run.run_id, run.run_name) for run in found))

    path = warehouse_path(warehouse, must_exist=True)
    only = None
    if plan or not yes:
        with reading(path, wait) as con:
            only = chosen(con)
            check_can_ask(plan)
            what = planned(con, only)
        if not shall_go(what, is_plan=plan):
            return
    with writing(path, wait=wait) as writer:
        if only is None:
            leaving = chosen(writer.con)
        else:
            # One that went or was renamed since the question stays so, and another may have its number.
            there = writer.con.execute("SELECT run_id, run_name FROM raw.runs").fetchall()
            leaving = [run for run in only if run in there]
        pruned = remove_runs(writer, leaving)
    print(removed(pruned))


def shall_go(what: Any, *, is_plan: bool) -> bool:
    """Show the runs that would be removed; return whether they shall be: on a terminal somebody is asked."""
    for name in what.runs:
        print(f"would remove run {printable(name)}")
    if is_plan or not what.runs:
        print(removed(what, "would be removed"))
        return False
    if agreed(f"{removed(what, 'are to be removed')}. Remove them?"):
        return True
    print("nothing was removed")
    return False


def removed(pruned: Any, ending: str = "removed") -> str:
    """Return the sentence about removed runs, or those that would be."""
    parts = [
        counted(len(pruned.runs), "run"),
        counted(pruned.observation_count, "observation"),
        counted(pruned.dump_count, "dump"),
    ]
    if pruned.reject_count:
        parts.append(counted(pruned.reject_count, "reject"))
    if pruned.message_count:
        parts.append(f"{counted(pruned.message_count, 'message')} of logs")
    return f"{', '.join(parts[:-1])} and {parts[-1]} {ending}"


@runs.command("pin")
@guarded
def runs_pin(
    names: Annotated[list[str], typer.Argument(help=_RUNS, autocompletion=completion.runs)],
    warehouse: WarehouseOption = None,
    off: Annotated[bool, typer.Option("--off", help="Unpin them.")] = False,
    wait: WaitOption = 0.0,
) -> None:
    """Pin runs: prune never removes them, as it never removes runs with the label baseline.

    Example: bufferhouse runs pin jaxlib-0.4.38
    """
    from bufferhouse.warehouse.runs import pin

    with writing(warehouse_path(warehouse, must_exist=True), wait=wait) as writer:
        for name in pin(writer, names, is_pinned=not off):
            print(f"{printable(name)} {'is pinned no more' if off else 'is pinned'}")


@runs.command("complete")
@guarded
def runs_complete(
    names: Annotated[list[str], typer.Argument(help=_RUNS, autocompletion=completion.runs)],
    warehouse: WarehouseOption = None,
    wait: WaitOption = 0.0,
) -> None:
    """Declare runs complete: their dumps wait for no further files, and later dumps are marked as late.

    Example: bufferhouse runs complete latest
    """
    from bufferhouse.warehouse.runs import complete

    with writing(warehouse_path(warehouse, must_exist=True), wait=wait) as writer:
        for name in complete(writer, names):
            print(f"{printable(name)} is complete")


@guarded
def programs(warehouse: WarehouseOption = None, wait: WaitOption = 0.0, output_format: FormatOption = "table") -> None:
    """List the programs: id, name, number of runs, most reserved bytes, entry signature.

    Example: bufferhouse programs --format json
    """
    from bufferhouse.query.format import formatted
    from bufferhouse.query.listings import PROGRAMS

    check_format(output_format, "table", "json")
    columns, rows = _listed(warehouse, wait, PROGRAMS)
    if output_format == "table":
        from bufferhouse.report.text.screen import console, is_fitted, shortened

        if is_fitted():
            _, rule, *_ = formatted(columns[:-1], [row[:-1] for row in rows], "table").split("\n")
            room = max(console().width - len(f"{rule}  "), _NARROWEST_SIGNATURE)
            signatures = shortened([row[-1] or "" for row in rows], min(room, _SIGNATURE))
            rows = [(*row[:-1], signature) for row, signature in zip(rows, signatures, strict=True)]
    print(formatted(columns, rows, output_format))


def _listed(warehouse: Any, wait: float, sql: str) -> tuple[list[str], list[tuple]]:
    """Return the columns and the rows of a listing; where there are none, say why."""
    from bufferhouse.query.hints import why_empty

    with reading(warehouse_path(warehouse, must_exist=True), wait) as con:
        cursor = con.execute(sql)
        columns, rows = [column[0] for column in cursor.description], cursor.fetchall()
        if not rows:
            say(": ".join(filter(None, ("bufferhouse: no rows", why_empty(con)))))
    return columns, rows


@rejects.callback(invoke_without_command=True)
def rejects_bare(
    context: typer.Context,
    warehouse: WarehouseOption = None,
    every: Annotated[bool, typer.Option("--all", help="List the replayed and the resolved ones, too.")] = False,
    wait: WaitOption = 0.0,
    output_format: FormatOption = "table",
) -> None:
    """List, show and replay rejects. Without a verb the open rejects are listed.

    Example: bufferhouse rejects
    """
    if context.invoked_subcommand is None:
        rejects_ls(warehouse=warehouse, every=every, wait=wait, output_format=output_format)
    elif warehouse is not None or every or wait or output_format != "table":
        say(f"bufferhouse: expected options behind the verb: bufferhouse rejects {context.invoked_subcommand} …")
        raise typer.Exit(2)


@rejects.command("ls")
@guarded
def rejects_ls(
    warehouse: WarehouseOption = None,
    every: Annotated[bool, typer.Option("--all", help="List the replayed and the resolved ones, too.")] = False,
    wait: WaitOption = 0.0,
    output_format: FormatOption = "table",
) -> None:
    """List the open rejects.

    Example: bufferhouse rejects ls --all --format json
    """
    from bufferhouse.ingest.rejects import COLUMNS, listed
    from bufferhouse.query.format import formatted

    check_format(output_format, "table", "json")
    with reading(warehouse_path(warehouse, must_exist=True), wait) as con:
        rows = listed(con, every=every)
        if not rows:
            others = 0 if every else len(listed(con, every=True))
            say(
                f"bufferhouse: no {'' if every else 'open '}rejects"
                + (f"; {others:,} replayed or resolved, listed with --all" if others else "")
            )
    print(formatted(COLUMNS, rows, output_format))


@rejects.command("show")
@guarded
def rejects_show(
    reject_id: Annotated[int, typer.Argument(help="The id of the reject.")],
    warehouse: WarehouseOption = None,
    output: Annotated[Path | None, file_option("-o", "--output", help="Write the refused bytes to this file.")] = None,
    wait: WaitOption = 0.0,
) -> None:
    """Show why a dump was refused, with the lines around the fault.

    Example: bufferhouse rejects show 3
    """
    from bufferhouse.ingest.rejects import content, explained
    from bufferhouse.paths import replacing
    from bufferhouse.warehouse.target import check_target

    if output is not None:
        check_target("-o", output)
    with reading(warehouse_path(warehouse, must_exist=True), wait) as con:
        files = content(con, reject_id)
        text = explained(con, reject_id, files)
    print(text)
    if output is not None:
        for role, data in files.items():
            target = output if len(files) == 1 else output.with_name(f"{output.name}.{role}")
            check_target("-o", target)
            with replacing(target, is_output=True) as temporary:
                temporary.write_bytes(data)
            print(f"written: {target}")


@rejects.command("replay")
@partial(guarded, kept=KEPT)
def rejects_replay(
    reject_ids: Annotated[list[int] | None, typer.Argument(help="The ids of the rejects.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Replay all open rejects.")] = False,
    warehouse: WarehouseOption = None,
    wait: WaitOption = 0.0,
) -> None:
    """Parse and load rejects again with the current parser. Exit 1 if one is still refused.

    Example: bufferhouse rejects replay --all
    """
    from bufferhouse.ingest.rejects import replay

    if bool(reject_ids) == every:
        raise UsageError("expected ids of rejects, or --all")
    path = warehouse_path(warehouse, must_exist=True)
    with writing(path, wait=wait) as writer, progress_of("rejects") as step:
        result = replay(writer, None if every else reject_ids, progress=step)
    for reject_id, reason in result.refused:
        print(f"reject {reject_id}: {printable(reason)}")
    lines = f"; {counted(result.lines, 'line')} of logs left, which an ingest by a newer bufferhouse reads again"
    print(f"{len(result.accepted)} loaded, {len(result.refused)} still refused{lines if result.lines else ''}")
    raise typer.Exit(int(bool(result.refused)))


@rejects.command("rm")
@guarded
def rejects_rm(
    reject_ids: Annotated[list[int] | None, typer.Argument(help="The ids of the rejects.")] = None,
    rule: Annotated[str | None, typer.Option("--rule", help="Those of this rule; a glob such as 'contract:*'.")] = None,
    run: Annotated[str | None, typer.Option("--run", help=f"Those of this run. {_RUN}")] = None,
    older_than: Annotated[str | None, typer.Option("--older-than", help="Those older than D days: 30 or 30d.")] = None,
    every: Annotated[bool, typer.Option("--all", help="All of them.")] = False,
    plan: PlanOption = False,
    yes: YesOption = False,
    warehouse: WarehouseOption = None,
    wait: WaitOption = 0.0,
) -> None:
    """Remove the rejects that match all given options, with their bytes, after asking. With --yes, names must be whole.

    The next ingest reads their files again, if they are still there.

    Example: bufferhouse rejects rm --rule compression --older-than 30 --plan
    """
    from bufferhouse.ingest.rejects import COLUMNS, chosen, listed, remove
    from bufferhouse.query.format import formatted
    from bufferhouse.warehouse.run_names import find_whole

    if every and reject_ids:
        raise UsageError("expected ids of rejects, or --all, not both")
    path = warehouse_path(warehouse, must_exist=True)
    facts = {"rule": rule, "run": run, "older_than_days": days_of(older_than), "every": every}
    with reading(path, wait) as con:
        if run is not None and yes and not plan:
            find_whole(con, [run])
        rows = chosen(con, reject_ids or (), **facts)
    check_can_ask(plan or yes)
    if not yes:
        print(formatted(COLUMNS, rows, "table"))
    if not rows:
        say("bufferhouse: no reject matches; see: bufferhouse rejects ls --all")
    if plan:
        print(f"{counted(len(rows), 'reject')} would be removed")
        return
    if not (yes or (rows and agreed(f"{counted(len(rows), 'reject')}. Remove them?"))):
        return
    with writing(path, wait=wait) as writer:
        # Of one that went since the question another may have the number, which is refused at another moment.
        there = {(row[0], row[-1]) for row in listed(writer.con, every=True)}
        count = remove(writer, [row[0] for row in rows if (row[0], row[-1]) in there])
    print(f"{counted(count, 'reject')} removed")
