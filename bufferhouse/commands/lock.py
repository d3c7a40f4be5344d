"""`bufferhouse lock`: what programs take, in a file that is reviewed with the code."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

import typer

from bufferhouse.commands.options import (
    WaitOption,
    WarehouseOption,
    check_format,
    file_option,
    guarded,
    reading,
    say,
    warehouse_path,
)
from bufferhouse.commands.query import FromOption
from bufferhouse.commands.report import BytesOption
from bufferhouse.errors import EXPECTED, UsageError, check_known, counted, did_you_mean
from bufferhouse.redaction import give, printable

if TYPE_CHECKING:
    from bufferhouse.lock.entry import Key, Lock
    from bufferhouse.report.lock.text import Links

_MOST_NAMED = 5  # programs in a message


@guarded
def lock(
    sources: Annotated[
        list[str] | None,
        typer.Argument(help="Dumps: directories, files, archives, s3:// URLs; or runs of the warehouse."),
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Compare with the file; exit 1 if a program grew.")] = False,
    update: Annotated[
        bool,
        typer.Option("--update", help="Write what moved, keep the rest; also resolves a merge conflict in the file."),
    ] = False,
    accept: Annotated[
        list[str] | None,
        typer.Option(
            "--accept", help="Write only this function, or program_id, with the reason of --why; repeat for more."
        ),
    ] = None,
    why: Annotated[str | None, typer.Option("--why", help="With --accept: why the program may take more.")] = None,
    file: Annotated[Path, file_option("--file", help="The lock file.")] = Path("memory.lock"),
    chip: Annotated[
        str | None,
        typer.Option(
            "--chip", help="What the dumps are compiled for; else device_kind of run.json, else what their names say."
        ),
    ] = None,
    metric: Annotated[str, typer.Option("--metric", help="With --check: reserved or occupied.")] = "reserved",
    fail_over: Annotated[
        str | None,
        typer.Option(
            "--fail-over", help="With --check: the growth that fails: 5%, 16MiB, or both as in 5%,16MiB; else any."
        ),
    ] = None,
    reshaped: Annotated[
        str,
        typer.Option(
            "--reshaped", help="With --check: fail, warn or ignore, where a program with another signature grew."
        ),
    ] = "fail",
    comment: Annotated[
        Path | None,
        file_option("--comment", help="With --check: write a comment for the pull request to this file, too."),
    ] = None,
    site: Annotated[
        str | None, typer.Option("--site", help="The address of the site, for links; else report.url as configured.")
    ] = None,
    source_url: Annotated[
        str | None,
        typer.Option(
            "--source-url",
            help="The address of a source line: https://host/blob/{git_revision}/{file}#L{line}; else "
            "report.source_url of the configuration, else what GitHub's runner says.",
        ),
    ] = None,
    warehouse: WarehouseOption = None,
    source: FromOption = None,
    output_format: Annotated[
        str, typer.Option("--format", help="With --check: table, markdown, json or github.")
    ] = "table",
    exact: BytesOption = False,
    wait: WaitOption = 0.0,
) -> None:
    """Write memory.lock, the bytes that the programs of some dumps take on each chip; or check dumps against it.

    A check needs no accelerator: XLA compiles ahead of time. Exit 1 if a program grew, is not in the file, or has
    a dump that cannot be read.

    Example: bufferhouse lock --check /tmp/dumps --comment comment.md
    """
    _check_call(check, update, accept, why)
    dumps = partial(_dumps, [*(sources or []), *(source or [])], file, chip, warehouse, wait)
    if check:
        with _told_in(comment, file):
            _check(
                file, dumps, chip=chip, metric=metric, fail_over=fail_over, reshaped=reshaped, comment=comment,
                links=_links(site, source_url, file.parent), output_format=output_format, exact=exact,
            )  # fmt: skip
        return
    of_a_check = {
        "--metric": metric != "reserved", "--fail-over": fail_over, "--reshaped": reshaped != "fail",
        "--comment": comment, "--site": site, "--source-url": source_url, "--format": output_format != "table",
        "--bytes": exact,
    }  # fmt: skip
    if given := [option for option, is_given in of_a_check.items() if is_given]:
        raise UsageError(f"{given[0]}: expected --check beside it")
    with dumps() as (_, fresh):
        pass
    _note(fresh)
    accepted = _accepted(accept, fresh) if accept else None
    _write(file, fresh, accepted, why or "", chip, is_anew=not update and not accept)
    if fresh.refused:
        raise typer.Exit(1)


def _check_call(check: bool, update: bool, accept: list[str] | None, why: str | None) -> None:
    if check + update + bool(accept) > 1:
        raise UsageError("expected one of --check, --update and --accept")
    if accept and not (why and why.strip()):
        raise UsageError('--accept: expected --why "…" beside it: the reason stands in the file')
    if why is not None and not accept:
        raise UsageError("--why: expected --accept PROGRAM beside it")


def _write(
    file: Path,
    fresh: "Lock",
    accepted: "set[Key] | None",
    why: str,
    chip: str | None,
    *,
    is_anew: bool,
) -> None:
    """Write what the dumps take into the file, and print what has moved there.

    Written `is_anew`, the file loses what has no dump, unless a dump could not be read.
    """
    from bufferhouse.lock.file import Mendable, held, read_mendable, updated, write_lock
    from bufferhouse.report.text.figures import some_of

    with held(file):
        kept = read_mendable(file, chip) if not is_anew or file.exists() else Mendable([{}])
        removed: set[str] = set()
        if is_anew and fresh.refused:
            # What has no dump may be a program whose dump cannot be read: its entry and its reason are not lost.
            kept = replace(kept, faults=[])
        elif is_anew:  # of what was there only reasons stay
            removed = {f"{key[0]} ({key[2]})" for side in kept.sides for key in side if key not in fresh.entries}
            there = [{key: one for key, one in side.items() if key in fresh.entries} for side in kept.sides]
            kept = replace(kept, sides=there, faults=[])
        new = updated(kept, fresh, accepted, why)
        write_lock(file, new)
    before = kept.sides[0]
    moved = [
        key
        for key, entry in new.entries.items()
        if key not in before or before[key].told != entry.told or key in (accepted or ())
    ]
    say(f"{file}: {counted(len(new.entries), 'program')} ({', '.join(new.chips)}), {len(moved):,} written")
    peaks = {
        key for key, entry in fresh.entries.items() if not entry.has_peak and key in before and before[key].has_peak
    }
    for is_kept, said in ((True, "the peak stays in"), (False, "the peak was removed from")):
        if keys := sorted(key for key in peaks if new.entries[key].has_peak == is_kept):
            count, named = counted(len(keys), "program"), some_of([key[0] for key in keys], _MOST_NAMED, 120)
            say(f"the dumps of {count} have no live ranges, and {said} {file}: {named}")
    if removed:
        named = some_of(sorted(removed), _MOST_NAMED, 120)
        say(f"removed from {file}, as there is no dump of it: {named}; --update would keep it")
    if fresh.refused and is_anew and (left := {key for key in new.entries if key not in fresh.entries}):
        stay, them = ("stays", "it") if len(left) == 1 else ("stay", "one of them")
        count = counted(len(left), "program")
        say(f"{count} without a dump {stay} in {file}: a dump that cannot be read may be of {them}")


@contextmanager
def _told_in(comment: Path | None, file: Path) -> Iterator[None]:
    """Write into the comment, too, why a check cannot be made: else a pull request would keep showing an older one."""
    from bufferhouse.report.lock.text import unmade_text
    from bufferhouse.report.writing import check_page_path, write_page

    if comment is not None:
        check_page_path(comment, "--comment", "comment")
        if comment.resolve() == file.resolve():
            raise UsageError(f"--comment {comment}: that is the lock; name another file")
    try:
        yield
    except EXPECTED as error:
        if comment is not None:
            write_page(comment, unmade_text(str(file), str(error)) + "\n", "comment")
        raise


def _check(
    file: Path,
    dumps: "Callable[[], AbstractContextManager[tuple[Any, Lock]]]",
    *,
    chip: str | None,
    metric: str,
    fail_over: str | None,
    reshaped: str,
    comment: Path | None,
    links: "Links",
    output_format: str,
    exact: bool,
) -> None:
    """Hold the dumps against the file, print what was found, and write it as a comment, too, where one is wanted."""
    from bufferhouse.config.threshold import RESHAPED_MODES, parse_threshold
    from bufferhouse.lock.check import ANY_GROWTH, METRICS, hold, judge_held, less_donated
    from bufferhouse.lock.file import other_chip, read_lock
    from bufferhouse.lock.measured import output_sites
    from bufferhouse.lock.places import Checkout
    from bufferhouse.report.lock.text import lock_text
    from bufferhouse.report.writing import write_page

    check_format(output_format, "table", "markdown", "json", "github")
    check_known("--metric", metric, METRICS)
    check_known("--reshaped", reshaped, RESHAPED_MODES)
    limit = parse_threshold(fail_over, "--fail-over") if fail_over is not None else ANY_GROWTH
    kept = read_lock(file, chip)
    with dumps() as (con, fresh):
        if not set(fresh.chips) & set(kept.chips):
            raise other_chip(file, kept, fresh, chip)
        outputs = output_sites(con, less_donated(kept, fresh), Checkout(file.parent))
        found = hold(kept, fresh, metric=metric, outputs=outputs)
    if output_format == "github":  # other formats have the notes
        _note(fresh)
    judged = judge_held(found, limit, reshaped)
    about = {"name": str(file), "links": links, "exact": exact, "chip": chip}
    if comment is not None:
        write_page(comment, lock_text(found, judged, limit, "comment", **about) + "\n", "comment")
    give(lock_text(found, judged, limit, output_format, **about))
    if not judged.is_passed:
        raise typer.Exit(1)


@contextmanager
def _dumps(
    sources: Sequence[str], file: Path, chip: str | None, warehouse: Any, wait: float
) -> Iterator[tuple[Any, "Lock"]]:
    """Yield a connection to the dumps that were named, and their entries."""
    from bufferhouse.ingest.in_memory import in_memory
    from bufferhouse.lock.measured import measured
    from bufferhouse.lock.places import Checkout
    from bufferhouse.warehouse.run_names import find_where_no_file

    if not sources:
        raise UsageError("expected dumps: directories, files, or runs of the warehouse")
    paths = [one for one in sources if os.path.exists(one) or "://" in one or any(sign in one for sign in "*?[")]
    runs = [one for one in sources if one not in paths]
    if paths and runs:
        raise UsageError(f"{runs[0]}: no such file or directory")
    checkout = Checkout(file.parent)
    if paths:
        unread: list[str] = []
        with in_memory(paths, with_logs=False, unread=unread) as con:
            fresh = measured(con, checkout, chip=chip)
            fresh.refused += unread
            yield con, _found(fresh, paths)
        return
    try:
        place = warehouse_path(warehouse, must_exist=True)
    except UsageError as error:
        raise UsageError(f"{runs[0]}: no such file or directory, and no run of a warehouse: {error}") from None
    with reading(place, wait, is_long=True) as con:
        run_ids = [find_where_no_file(con, one).run_id for one in runs]
        yield con, _found(measured(con, checkout, run_ids=run_ids, chip=chip), runs)


def _found(found: "Lock", sources: Sequence[str]) -> "Lock":
    if not found.entries:
        if found.refused:
            raise UsageError(
                f"{', '.join(sources)}: expected dumps of programs, found {counted(len(found.refused), 'dump')} that "
                "cannot be read"
            )
        raise UsageError(
            f"{', '.join(sources)}: expected dumps of programs, found none; XLA writes them with "
            "XLA_FLAGS='--xla_dump_to=DIR --xla_dump_hlo_as_text', but not of what comes from a cache of compilations: "
            "compile with JAX_ENABLE_COMPILATION_CACHE=false"
        )
    return found


def _note(found: "Lock") -> None:
    for note in found.notes:
        say(f"bufferhouse: {printable(note)}")


def _accepted(accept: Sequence[str], fresh: "Lock") -> "set[Key]":
    """Return the entries that words mean: all of a function, or those with a program_id."""
    keys: set[Key] = set()
    known = {entry.function for entry in fresh.entries.values()}
    for word in accept:
        meant = {key for key in fresh.entries if word in (key[0], str(key[2]))}
        if not meant:
            raise UsageError(f"--accept: there is no dump of a program {word!r}{did_you_mean(word, sorted(known), 3)}")
        keys |= meant
    return keys


def _links(site: str | None, source_url: str | None, root: Path) -> "Links":
    from bufferhouse.config.load import find, load
    from bufferhouse.lock.places import top_of_repository
    from bufferhouse.report.lock.text import Links

    env = os.environ
    configured = load(path)["report"] if (path := find()) else {}
    server, repository = env.get("GITHUB_SERVER_URL"), env.get("GITHUB_REPOSITORY")
    folder = Path(os.path.relpath(root, top_of_repository(root))).as_posix()
    place = "{file}" if folder == "." else f"{quote(folder)}/{{file}}"  # the file is told from the folder of the lock
    hosted = f"{server}/{repository}/blob/{{git_revision}}/{place}#L{{line}}" if server and repository else None
    return Links(
        site or configured.get("url"),
        source_url or configured.get("source_url") or hosted,
        env.get("GITHUB_SHA"),
        root,
        folder,
    )
