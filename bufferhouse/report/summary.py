"""The result of an ingest in a few lines."""

from collections.abc import Collection, Iterator, Mapping

from bufferhouse.dump.identity import SUFFIXES
from bufferhouse.errors import counted, did_you_mean
from bufferhouse.ingest.summary import NAMED_KNOWN_REJECTS, Summary
from bufferhouse.redaction import shell_word
from bufferhouse.report.text.figures import human_bytes, printable
from bufferhouse.sources.run import KEYS
from bufferhouse.warehouse.observations import INCOMPLETE, UNREADABLE

_SHOWN_REJECTS = 20
_SHOWN_ENDINGS = 6
_SHOWN_KEYS = 4
_NOT_LOADED = ("observations", "rejects", "further_positions")  # the last are among the positions


def lines(summary: Summary, *, plan: bool = False) -> list[str]:
    """Return the lines that `ingest` prints: counts, then the rejects with their reasons.

    Names of files and runs may hold line feeds; each line is one line all the same.
    """
    return [printable(line) for line in _lines(summary, plan)]


def _lines(summary: Summary, plan: bool) -> list[str]:
    unreadable = [f"unreadable: {line}" for line in summary.unreadable]
    orphans = [f"warning: {line}" for line in summary.orphan_lines()]
    if summary.endings is not None:
        return [_nothing(summary), *orphans, *unreadable]
    again = [] if summary.reparsed is None else [f"{counted(summary.reparsed, 'dump')} parsed again"]
    if again and not summary.seen:
        return [*again, *unreadable]
    rejected = [f"rejected: {line}" for line in summary.reject_lines[:_SHOWN_REJECTS]]
    if len(summary.reject_lines) > _SHOWN_REJECTS:
        others = counted(len(summary.reject_lines) - _SHOWN_REJECTS, "more reject")
        rejected.append(f"… and {others}; see: bufferhouse rejects")
    if summary.known_rejected:
        rejected.append(_known_rejects(summary))
    unplaced = [f"log of no known run: {line}" for line in summary.unplaced]
    return [*again, *_done(summary, plan), *rejected, *unreadable, *unplaced, *orphans, *_warnings(summary)]


def _done(summary: Summary, plan: bool) -> Iterator[str]:
    """Yield what was seen and loaded, in numbers."""
    yield _seen(summary, plan)
    runs = summary.runs if len(summary.runs) <= 12 else [*summary.runs[:11], f"… {len(summary.runs) - 11} more"]
    if runs:
        yield f"runs: {', '.join(map(printable, runs))}"
    if not plan:
        rows = sum(count for table, count in summary.rows.items() if table not in _NOT_LOADED)
        yield f"loaded {counted(rows, 'row')} from {human_bytes(summary.bytes)} of text in {summary.seconds:.1f} s"
    if summary.logs:
        yield (
            f"{counted(summary.logs, 'log')} read: {counted(summary.messages, 'new message')} about memory"
            + (f", {summary.refused_messages:,} refused" if summary.refused_messages else "")
            + ("; see: bufferhouse oom RUN" if summary.messages else "")
        )
    if summary.conflicts or summary.retries:
        yield f"other writers: {counted(summary.conflicts, 'commit')} and {counted(summary.retries, 'load')} repeated"
    if summary.pruned:
        yield (
            f"left out: {counted(sum(summary.pruned.values()), 'dump')} of {counted(len(summary.pruned), 'run')} that "
            f"retention removed, {_first_of(summary.pruned)}; to load one again, name its files: "
            "bufferhouse ingest SOURCE"
        )


def _seen(summary: Summary, plan: bool) -> str:
    # Listed below as unreadable, and none of the dumps that were seen: links, folders, names.
    others = len(summary.unreadable) - summary.left_out
    return (
        f"{counted(summary.seen, 'dump')} of {counted(len(summary.runs), 'run')} seen: "
        f"{summary.new:,} {'to load' if plan else 'new'}, {summary.known:,} known, {summary.rejected:,} rejected"
        + (f", {summary.known_rejected:,} rejected before" if summary.known_rejected else "")
        + (f", {summary.left_out:,} unreadable" if summary.left_out else "")
        + (f", {summary.waiting_dumps:,} waiting" if summary.waiting_dumps else "")
        + (f"; {counted(others, 'other path')} unreadable" if others else "")
        + (f"; {counted(len(summary.unplaced), 'log')} of no known run" if summary.unplaced else "")
        + (f"; {counted(summary.ignored, 'other file')} ignored" if summary.ignored else "")
    )


def _known_rejects(summary: Summary) -> str:
    files = summary.known_reject_files[:NAMED_KNOWN_REJECTS]  # each source names as many
    others = summary.known_rejected - len(files)
    more = f" and {others:,} more" if others else ""
    return f"rejected before: {', '.join(map(printable, files))}{more}; for the reasons: bufferhouse rejects"


def _warnings(summary: Summary) -> Iterator[str]:
    """Yield what was loaded all the same, and what somebody should look at."""
    for line in summary.head_faults[:_SHOWN_REJECTS]:
        yield f"warning: {line}"
    if len(summary.head_faults) > _SHOWN_REJECTS:
        yield f"… and {len(summary.head_faults) - _SHOWN_REJECTS} more, in marts.warnings"
    if summary.allocations_alone:
        yield _allocations_alone(summary.allocations_alone)
    for line in summary.log_notes:
        yield f"warning: {line}"
    for name, other in summary.other_names.items():
        yield (
            f"warning: run {printable(name)}: its run.json or its path now calls it {printable(other)}; it keeps its "
            f"name; to rename it: bufferhouse runs rename {_word(name)} {_word(other)}"
        )
    if summary.other_facts:
        yield _other_facts(summary.other_facts)
    for name, count in summary.other_endings.items():
        yield (
            f"warning: run {printable(name)}: {counted(count, 'file')} under another name than before, compressed in "
            "another way; each counts as two dumps of its program. To count it once, if all files of the run are still "
            f"there: bufferhouse runs rm {_word(name)}, and ingest it again"
        )
    for name, count in summary.twins.items():
        yield (
            f"warning: run {printable(name)}: several files of {counted(count, 'dump')}, plain or compressed in "
            "different ways; each file counts as a dump of its program. To count one, remove the others, then: "
            f"bufferhouse runs rm {_word(name)}, and ingest it again"
        )
    if summary.unread_keys:
        yield _unread_keys(summary.unread_keys)
    if summary.ahead:
        yield _ahead(summary.ahead)
    if summary.undescribed:
        yield _undescribed(summary.undescribed)
        yield from _run_files_below(summary)
    for name, count in summary.warnings.items():
        if name not in (UNREADABLE, INCOMPLETE):  # these are listed file by file above
            yield f"warning: check {name} found {counted(count, 'offender')}"


def _word(name: str) -> str:
    return printable(shell_word(name))


def _nothing(summary: Summary) -> str:
    """Return what was found where no dump was, and how XLA is asked for dumps."""
    endings = list(summary.endings.items())
    said = [f"{count:,} {ending}" for ending, count in endings[:_SHOWN_ENDINGS]]
    said += [f"{counted(len(endings) - _SHOWN_ENDINGS, 'other kind')}"] if len(endings) > _SHOWN_ENDINGS else []
    if not said and summary.ignored:
        left_out = counted(summary.ignored, "file")
        return f"no dump found, and nothing loaded; {left_out} left out by patterns of include or exclude"
    if summary.unreadable:  # dumps may be in it
        seen = f"seen: {', '.join(said)}; what else" if said else "what"
        return f"nothing loaded; {seen} is there cannot be read"
    if summary.named_logs:
        return (
            f"no dump found, and nothing loaded; seen: {', '.join(said)}. Of a log alone name the run: ingest LOG --run"
            " RUN; to explain what it says: bufferhouse oom LOG"
        )
    return (
        f"no dump found, and nothing loaded; seen: {', '.join(said) or 'no file at all'}. XLA writes dumps, files "
        "named …-buffer-assignment.txt, when it compiles a program with XLA_FLAGS='--xla_dump_to=DIR "
        "--xla_dump_hlo_as_text'"
    )


def _allocations_alone(files: list[str]) -> str:
    others = f" and {counted(len(files) - 1, 'other')}" if len(files) > 1 else ""
    values, live_ranges = SUFFIXES["values"], SUFFIXES["live_range"]
    return (
        f"warning: no values and no live ranges, so no peak, in {counted(len(files), 'dump')}: {files[0]}{others}. XLA "
        "writes both unless --xla_dump_buffer_assignment_analysis=false is set. If files were left behind, put "
        f"…{values} and …{live_ranges} beside it; if the file itself was cut short, its sizes are too small, too"
    )


def _other_facts(found: Mapping[str, Mapping[str, str]]) -> str:
    """Return that what is known of runs stays, and how it is changed."""
    name, facts = next(iter(found.items()))
    pairs = " ".join(_word(f"{fact}={value}") for fact, value in facts.items())
    return (
        f"warning: run {_first_of(found)}: known facts and labels stay as they are, though the run.json or this "
        "call says something else; correct what is wrong, or change the facts: "
        f"bufferhouse runs set {_word(name)} {pairs}"
    )


def _unread_keys(found: Mapping[str, list[str]]) -> str:
    keys = list(dict.fromkeys(key for unread in found.values() for key in unread))
    near = next(filter(None, (did_you_mean(key, KEYS) for key in keys)), "")
    shown = ", ".join(printable(key) for key in keys[:_SHOWN_KEYS]) + (", …" if len(keys) > _SHOWN_KEYS else "")
    return (
        f"warning: run {_first_of(found)}: keys of run.json that are not read: {shown}{near or '.'} "
        f"The keys are {', '.join(KEYS)}; keep other facts in labels"
    )


def _ahead(found: Mapping[str, str]) -> str:
    name, start = next(iter(found.items()))
    return (
        f"warning: run {_first_of(found)}: it starts in the future, {start}, and counts as the newest until then; if "
        f"that is wrong: bufferhouse runs set {_word(name)} started_at=…"
    )


def _undescribed(runs: Mapping[str, Collection[str]]) -> str:
    facts = sorted({fact for lacking in runs.values() for fact in lacking})
    keys = [key for fact in facts for key in (("compiler", "compiler_version") if fact == "compiler" else (fact,))]
    return (
        f"warning: run {_first_of(runs)}: {' or '.join(facts)} not known; set {'them' if len(keys) > 1 else 'it'} in a "
        f"run.json beside the dumps, or with: bufferhouse runs set {_word(next(iter(runs)))} "
        f"{' '.join(f'{key}=…' for key in keys)}"
    )


def _run_files_below(summary: Summary) -> list[str]:
    """Return where the run.json of a run belongs, if one lies beside its dumps, which are further below."""
    runs = [name for name in summary.undescribed if name in summary.run_files_below]
    if not runs:
        return []
    path, root = summary.run_files_below[runs[0]]
    return [
        f"warning: run {_first_of(runs)}: {printable(path)} is not read, as the directory of the run is "
        f"{printable(root)}; put the run.json there"
    ]


def _first_of(runs: Collection[str]) -> str:
    others = f" and {counted(len(runs) - 1, 'other run')}" if len(runs) > 1 else ""
    return printable(next(iter(runs))) + others
