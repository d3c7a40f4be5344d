"""Which dump belongs to a message: by what it names, and by the bytes that its figures are the sum or the size of."""

import os
from collections.abc import Collection, Sequence
from itertools import takewhile
from typing import NamedTuple

import duckdb

from bufferhouse.engine.sql import execute
from bufferhouse.messages.figures import range_of
from bufferhouse.messages.message import ROUNDED_TO, Message
from bufferhouse.messages.rows import ROLE
from bufferhouse.messages.rules import SUMS, Parts, is_explained, may_be_of, reproduce
from bufferhouse.query.statements import Record, ask
from bufferhouse.sources.logs import stem_of


class Joined(NamedTuple):
    """The dump of a message with its parts; None with a reason where there is none, or `several` fit as well.

    `chosen` says why this one was taken where others fit as well.
    """

    dump: Record | None
    parts: Parts | None
    reason: str | None = None
    several: Sequence[Record] = ()
    chosen: str | None = None


_MOST_NAMED = 3  # dumps that fit as well
_RUNS = "SELECT run_id, run_name, root FROM raw.runs WHERE COALESCE(run_name = $run_name, TRUE)"
_FAILED = """
SELECT r.run_name, o.relative_path
FROM staging.observations AS o
INNER JOIN staging.runs AS r ON o.run_id = r.run_id
WHERE o.did_not_fit AND COALESCE(r.run_name = $run_name, TRUE)
"""


def dumps(con: duckdb.DuckDBPyConnection, run_name: str | None = None) -> list[Record]:
    """Return the records of `oom_dumps` and where each file lies, of one run if it is named.

    `has_failed` is whether files beside it say so, whatever a message says.
    """
    runs = execute(con, _RUNS, run_name=run_name).fetchall()
    roots = {name: root.rstrip("/") for _, name, root in runs}
    failed = set(execute(con, _FAILED, run_name=run_name).fetchall())
    return [
        {
            **one,
            "source_uri": f"{roots[one['run_name']]}/{one['relative_path']}",
            "has_failed": (one["run_name"], one["relative_path"]) in failed,
        }
        for one in ask(con, "oom_dumps", run_ids=[run_id for run_id, *_ in runs]).records
    ]


def unread(con: duckdb.DuckDBPyConnection, run_name: str | None = None) -> list[str]:
    """Return the dumps that were refused and not taken since, of one run if it is named, each with where and why."""
    sql = (
        "SELECT j.source_uri, j.line_number, j.column_number, j.expected, j.found FROM raw.rejects AS j"
        " INNER JOIN raw.runs AS r ON j.run_id = r.run_id WHERE j.role <> $role AND j.state = 'open'"
        " AND ($run_name IS NULL OR r.run_name = $run_name) ORDER BY j.source_uri, j.reject_id"
    )
    return [
        f"{uri}{f':{line}:{column}' if line else ''}: expected {expected}, found {found}"
        for uri, line, column, expected, found in execute(con, sql, role=ROLE, run_name=run_name).fetchall()
    ]


def join(
    con: duckdb.DuckDBPyConnection,
    message: Message,
    candidates: Sequence[Record],
    *,
    has_unread: bool = False,
    has_others: bool = False,
) -> Joined:
    """Return the dump that a message is about; `has_unread` is whether there are others, which could not be read.

    It may be about none of the candidates where it `has_others`: then one alone must explain it, too.

    Of several contents that one is taken whose module the message names; else the one whose bytes its main figure is
    the sum of, or which has an allocation of the size that failed, or the instruction that it names. Where several do,
    the log may tell by where it lies and by its name, as it tells an ingest which run it is of.
    """
    if not candidates and has_unread:
        return Joined(None, None, "none of the dumps there could be read")
    if not candidates:
        return Joined(None, None, "there is none; XLA writes one with XLA_FLAGS='--xla_dump_to=DIR "
                      "--xla_dump_hlo_as_text', also for a program that does not fit")  # fmt: skip
    name = message.module
    named = [one for one in candidates if not name or name in (one["module_name"], one["program_name"])]
    log = message.log if "://" in message.log else os.path.abspath(message.log)
    named.sort(key=lambda one: _in_common(log, one["source_uri"]))  # of files of one content the nearest is taken
    fitting = list({one["dump_id"]: one for one in named}.values())
    if name and not fitting:
        return Joined(None, None, f"none of the dumps there is of the module {name}")
    if len(fitting) > 1 or has_others or message.dialect == "T4":
        fitting, why_none = _explaining(con, message, fitting)
        if not fitting:
            return Joined(None, None, why_none)
    if len(fitting) == 1:
        return Joined(fitting[0], parts_of(fitting[0]))
    ids = {one["dump_id"] for one in fitting}
    near = [_of_log(one, candidates, ids) for one in (message.log, *message.other_logs)]
    told = {one["dump_id"]: (one, why) for one, why in filter(None, near)}
    if len(told) == 1:
        [(dump, why)] = told.values()
        others = "another dump fits" if len(fitting) == 2 else f"{len(fitting) - 1} other dumps fit"
        return Joined(dump, parts_of(dump), chosen=f"{others} as well; {why}")
    if all(near):  # each log that says it has a dump of its own
        fitting = [dump for dump, _ in told.values()]
    names = _apart([one["source_uri"] for one in fitting])
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    said = f"{len(fitting)} dumps fit equally well: {', '.join(names[:_MOST_NAMED])}{more}"
    return Joined(None, None, said, fitting)


def _of_log(log: str, candidates: Sequence[Record], fitting: Collection[int]) -> tuple[Record, str] | None:
    """Return the dump among those that fit whose run or folder is the log's, and why; None where none or several are.

    The log is of the run in whose folder it lies; else of the folder beside it whose name its own begins with.
    """
    if log == "-":
        return None
    *folders, name = _segments(log if "://" in log else os.path.abspath(log))
    inside: dict[tuple[int, str], list[Record]] = {}
    alike: dict[tuple[int, str], list[Record]] = {}
    for one in candidates:
        parts = _segments(one["source_uri"])
        depth = len(parts) - len(_segments(one["relative_path"]))  # of the folder of its run
        if depth > 0 and parts[:depth] == folders[:depth] and one["source_uri"].endswith(one["relative_path"]):
            inside.setdefault((depth, one["run_name"]), []).append(one)
        if len(parts) > len(folders) + 1 and parts[: len(folders)] == folders:
            folder = parts[len(folders)]
            if stem := stem_of(name, folder):
                alike.setdefault((len(stem), folder), []).append(one)
    for found, why in (
        (inside, "this one is of the run {}, in whose folder the log lies"),
        (alike, "this one is in the folder {}, which the log is named after"),
    ):
        if not found:
            continue
        nearest = max(found)
        own = {one["dump_id"]: one for one in found[nearest] if one["dump_id"] in fitting}
        if len(own) == 1 and sum(size == nearest[0] for size, _ in found) == 1:
            return next(iter(own.values())), why.format(nearest[1])
    return None


def _segments(path: str) -> list[str]:
    """Return the folders of a path and its file; an archive is the folder of its members."""
    return path.replace("!", "!/").split("/")


def _apart(uris: Sequence[str]) -> list[str]:
    """Return files by their names, with as many of their folders as tell them all apart, in order."""
    split = [uri.split("/") for uri in uris]
    folders = zip(*(parts[:-1] for parts in split), strict=False)
    common = sum(1 for _ in takewhile(lambda names: len(set(names)) == 1, folders))
    return sorted("/".join(parts[common:]) for parts in split)


def _in_common(log: str, uri: str) -> int:
    """Return how many folders the paths of a log and a dump begin with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(log.split("/"), uri.split("/"), strict=False)))


def parts_of(dump: Record) -> Parts:
    """Return the bytes of a dump by kind, which the figures of a message are sums of."""
    return Parts(*(dump[name] for name in Parts._fields))


SIZES = ("T8", "G1", "G2")  # dialects of which the size of an allocation tells the dump


def _explaining(con: duckdb.DuckDBPyConnection, message: Message, candidates: list[Record]) -> tuple[list[Record], str]:
    """Return the dumps that explain a message, by its figure, else by what it names; and why, where there is none."""
    if message.dialect in SUMS:
        found = [one for one in candidates if _is_sum(message, parts_of(one))]
        return found, "none of the dumps there has bytes that sum to its figures"
    if message.dialect in SIZES and not message.faults:
        sized = _sized(con, message)  # one look at all: a run has thousands of dumps, and its log many messages
        found = [one for one in candidates if one["dump_id"] in sized]
        return found, f"none of the dumps there has an allocation of just {allocated(message)}"
    wanted = named(message)
    if wanted is None:
        return [], "it names nothing that identifies one of the dumps there"
    found = [one for one in candidates if has_named(con, message, one["dump_id"])]
    return found, f"none of the dumps there has {wanted}"


def _is_sum(message: Message, parts: Parts) -> bool:
    return may_be_of(message, parts) if message.faults else is_explained(reproduce(message, parts))


def named(message: Message) -> str | None:
    """Return the value that a message names, as text: `a value f32[8] of fusion.1`; None where it names none."""
    instruction, shape = _named(message)
    wanted = filter(None, (shape, instruction and f"of {instruction}"))
    return f"a value {' '.join(wanted)}" if instruction or shape else None


def _named(message: Message) -> tuple[str | None, str | None]:
    """Return the instruction that a message names, or that of the first allocation it lists, and the shape."""
    listed = message.allocations[0].instruction if message.allocations else None
    # T5 names the shape of a window of a kernel in VMEM and SMEM, which is no value.
    is_window = message.dialect == "T5" and not message.is_of_default_space
    shape = message.shape.partition("{")[0] if message.shape and not is_window else None
    return message.instruction or listed, shape


def has_named(con: duckdb.DuckDBPyConnection, message: Message, dump_id: int) -> bool:
    """Return whether a dump has the instruction that a message names, or else a value of the shape that it names."""
    instruction, shape = _named(message)
    if not (instruction or shape):
        return False
    sql = (
        "SELECT 1 FROM staging.hlo_values WHERE dump_id = $dump_id AND COALESCE(instruction_name = $instruction, TRUE)"
        " AND COALESCE(starts_with(shape_text, $shape), TRUE) LIMIT 1"
    )
    return execute(con, sql, dump_id=dump_id, instruction=instruction, shape=shape).fetchone() is not None


def has_any(con: duckdb.DuckDBPyConnection, message: Message, dump_id: int) -> bool:
    """Return whether a dump has a value of the instruction and shape of an allocation that a message lists.

    True if it lists neither. Every program has a `fusion.1`: the name alone tells the dump only of a kernel, of which
    the shapes that are listed are those of windows.
    """
    listed = [
        (one.instruction, one.shape.partition("{")[0] if one.shape and message.is_of_default_space else None)
        for one in message.allocations
    ]
    listed = [one for one in listed if any(one)]
    if not listed:
        return True
    names, shapes = zip(*listed, strict=True)
    sql = (
        "SELECT 1 FROM staging.hlo_values AS v, (SELECT unnest(CAST($names AS VARCHAR[])) AS instruction_name,"
        " unnest(CAST($shapes AS VARCHAR[])) AS shape) AS n WHERE v.dump_id = $dump_id"
        " AND COALESCE(v.instruction_name = n.instruction_name, TRUE)"
        " AND COALESCE(split_part(v.shape_text, '{', 1) = n.shape, TRUE) LIMIT 1"
    )
    return execute(con, sql, dump_id=dump_id, names=[*names], shapes=[*shapes]).fetchone() is not None


def has_allocation(con: duckdb.DuckDBPyConnection, message: Message, dump_id: int) -> bool:
    """Return whether a dump has an allocation of the bytes that a message says failed, or one that is printed alike."""
    return bool(_sized(con, message, "dump_id = $dump_id AND", dump_id=dump_id))


def _sized(con: duckdb.DuckDBPyConnection, message: Message, where: str = "", **given: int) -> set[int]:
    figure = message.figure("allocation")
    least, most = range_of(figure.printed) if figure.size_bytes is None else (figure.size_bytes, figure.size_bytes)
    least -= (ROUNDED_TO - 1) * message.is_rounded_up
    sql = (
        f"SELECT DISTINCT dump_id FROM staging.allocations WHERE {where} size_bytes BETWEEN CAST($least AS HUGEINT)"
        " AND CAST($most AS HUGEINT)"
    )
    return {dump_id for (dump_id,) in execute(con, sql, least=str(least), most=str(most), **given).fetchall()}


def allocated(message: Message) -> str:
    """Return the size that a message says failed, as text: `16384000256 bytes`, `1.50GiB`."""
    figure = message.figure("allocation")
    return f"{figure.printed}{' bytes' if figure.size_bytes else ''}"
