"""Load logs beside dumps into the warehouse: their messages about programs that did not fit.

A log is streamed once, when its size or time is new, after the dumps of its source are loaded. Most logs have no
message: they leave one row, so that they are not read again.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256

import polars as pl

from bufferhouse.engine import interrupts
from bufferhouse.engine.sql import execute, literal, literals
from bufferhouse.errors import SourceUnavailable, UsageError, counted, told
from bufferhouse.messages.join import dumps, join
from bufferhouse.messages.message import DONATION, Message, Refused, read_messages
from bufferhouse.messages.rows import ROLE, TABLES, Row, Unstorable, rows
from bufferhouse.query.statements import Record
from bufferhouse.redaction import printable
from bufferhouse.sources.logs import WHOLE, Log, UntilDamage, opened
from bufferhouse.tabulate.batch import Batch, ParsedBatch, Refusal
from bufferhouse.version import __version__
from bufferhouse.warehouse.lake.claims import file_key
from bufferhouse.warehouse.load import add_rejects
from bufferhouse.warehouse.observations import insert
from bufferhouse.warehouse.runs import run_ids
from bufferhouse.warehouse.warehouse import Warehouse
from schemas import TABLES as CONTRACTS

_MOST_LOGS, _MOST_MESSAGES = 500, 2000  # of one load
_RULE = "message"  # of the rejects of ROLE


@dataclass(slots=True)
class Read:
    """A log that was read: its messages by run, and what of it is refused, with the text that is kept of it."""

    log: Log
    messages: dict[str, list[Message]] = field(default_factory=dict)
    refused: list[tuple[Refusal, bytes]] = field(default_factory=list)
    text_bytes: int = 0


@dataclass(slots=True)
class LoadedLogs:
    """What loads of logs did: logs read, new messages about memory, rejects as lines, what could not be read, what
    waits for its run, rows by table; `unplaced` are logs whose run no dump tells, with what to do, and `notes` are
    about warnings that were left out."""

    log_count: int = 0
    message_count: int = 0
    rejects: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    unplaced: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    rows: Counter[str] = field(default_factory=Counter)
    text_bytes: int = 0


class _OfAnother(Exception):
    """What a log says is of no run that is in the warehouse, and may be of one that is not: `waiting`, or left out."""

    def __init__(self, waiting: Sequence[str]) -> None:
        others = f" or {counted(len(waiting) - 1, 'other run')}" if len(waiting) > 1 else ""
        super().__init__(f"it may be about run {', '.join(waiting[:1])}{others}, of which no dump is loaded yet")
        self.waiting = waiting


def load_logs(warehouse: Warehouse, logs: Sequence[Log], runs: Collection[str] = ()) -> LoadedLogs:
    """Read logs and store their messages, some hundred logs in one transaction.

    Call it when the dumps that the logs are about are loaded, except those of `runs` that wait. A log that cannot be
    read, or whose run is unknown, does not stop the others. A log that may be of a run that waits, or that was left
    out, is read again by the next pass, when that run may be there.

    Raises:
        SourceUnavailable: a bucket does not answer.
        WarehouseBusy: a lake does not answer, even after several tries.
    """
    done = LoadedLogs()
    batch: list[Read] = []
    candidates: list[Record] = []
    for log, found in _read_all(logs):
        interrupts.check()
        if isinstance(found, Exception):
            done.unreadable.append(f"{log.entry.path}: {told(found)}")
            continue
        if found.messages and not candidates:
            candidates = dumps(warehouse.con)
        try:
            done.notes += _place(warehouse, found, candidates, runs)
        except _OfAnother as error:
            if error.waiting:
                done.waiting.append(f"{log.entry.path}: {error}")
            continue
        except UsageError as error:
            done.unplaced.append(f"{log.entry.path}: {error}")
            continue
        batch.append(found)
        message_count = sum(len(messages) for one in batch for messages in one.messages.values())
        if len(batch) == _MOST_LOGS or message_count >= _MOST_MESSAGES:
            _load(warehouse, batch, done)
            batch = []
    if batch:
        _load(warehouse, batch, done)
    return done


def unknown_logs(warehouse: Warehouse, logs: Sequence[Log]) -> list[Log]:
    """Return the logs whose size or time differs from their newest row, or in which an older version refused a line.

    A log that may belong to several runs is known if one of them has it.
    """
    names = {name for log in logs for name in log.places}
    known = {
        (run, path, size, mtime)
        for run, path, size, mtime in execute(
            warehouse.con,
            "SELECT r.run_name, l.relative_path, l.source_size_bytes, l.source_mtime_ns FROM staging.oom_logs AS l"
            " INNER JOIN raw.runs AS r USING (run_id) WHERE list_contains(CAST($names AS VARCHAR[]), r.run_name)"
            " AND NOT EXISTS (SELECT 1 FROM raw.rejects AS j WHERE j.run_id = l.run_id AND j.role = $role"
            " AND j.relative_path = l.relative_path AND j.state = 'open' AND j.parser_version <> $version)",
            names=list(names),
            role=ROLE,
            version=__version__,
        ).fetchall()
    }
    return [
        log
        for log in logs
        if not any((*place, log.entry.size_bytes, log.entry.mtime_ns) in known for place in log.places.items())
    ]


def _read_all(logs: Sequence[Log]) -> Iterator[tuple[Log, Read | Exception]]:
    by_path = {log.entry.path: log for log in logs}
    for entry, stream in opened([log.entry for log in logs]):
        log = by_path[entry.path]
        if isinstance(stream, Exception):
            yield log, stream
            continue
        found, text = Read(log), UntilDamage(stream)
        try:
            for one in read_messages(text, entry.path):
                if isinstance(one, Refused):
                    refusal = Refusal(_RULE, one.expected, one.found, one.line_number, one.column_number, ROLE)
                    found.refused.append((refusal, (one.text or one.found).encode()))
                else:
                    found.messages.setdefault("", []).append(one)
            if text.damage is not None:
                if not (found.messages or found.refused):
                    raise OSError(f"expected {WHOLE}, found {text.damage}")
                # A process that was killed leaves its log cut: what it said before counts.
                cut = str(text.damage)
                found.refused.append((Refusal(_RULE, WHOLE, cut, text.line_number, 1, ROLE), cut.encode()))
        except (UsageError, SourceUnavailable, KeyboardInterrupt):
            raise
        except Exception as error:
            yield log, error
            continue
        found.text_bytes = text.byte_count
        yield log, found


def _place(warehouse: Warehouse, found: Read, candidates: Sequence[Record], runs: Collection[str]) -> list[str]:
    """Find the run of each message of a log that may be of several runs: the run of the dump that the message joins.

    If only one of these runs is there, all messages are of that run, unless another one was left out or, as one of
    `runs`, waits.

    A warning about a donation names no program, so it gets the run of the other messages. If there are none it is left
    out, and a sentence about it is returned.

    Raises:
        UsageError: the log has a message or a refused line, and its run cannot be determined.
        _OfAnother: the same, but a run that the log may be of is not there.
    """
    there = run_ids(warehouse, found.log.places)
    names = [name for name in found.log.places if name in there]
    waiting = [name for name in found.log.places if name not in there and name in runs]
    is_of_others = bool(waiting) or found.log.may_be_of_others
    messages = found.messages.pop("", [])
    if (len(names) == 1 and not is_of_others) or (names and not messages and not found.refused):
        found.messages[names[0]] = messages
        return []
    unplaced, several = [], 0
    near = [one for one in candidates if one["run_name"] in names]
    for message in messages:
        is_joined = near and message.dialect != DONATION
        joined = join(warehouse.con, message, near, has_others=is_of_others) if is_joined else None
        dump = joined and joined.dump
        several = max(several, len(joined.several) if joined else 0)
        (unplaced if dump is None else found.messages.setdefault(dump["run_name"], [])).append(message)
    if found.messages:  # a log that tells of one run is of that run, with all that it says
        next(iter(found.messages.values())).extend(unplaced)
    elif is_of_others and (unplaced or found.refused):
        raise _OfAnother(waiting)
    elif unplaced and not found.refused and all(one.dialect == DONATION for one in unplaced):
        return [f"{found.log.entry.path}: {counted(len(unplaced), 'warning')} about donations that JAX could not use, "
                f"from one of {counted(len(names), 'run')}; name the run with --run"]  # fmt: skip
    elif unplaced or found.refused:
        said = (
            counted(len(unplaced), "message") if unplaced else f"{counted(len(found.refused), 'line')} not understood"
        )
        if not names and found.log.places:
            run = printable(next(iter(found.log.places)))
            raise UsageError(f"{said}, but there is no run {run} in the warehouse; ingest its dumps first")
        if not names:
            raise UsageError(f"{said}, but there are no dumps near it; put the log beside the dumps of its run")
        of_runs = f"{counted(len(names), 'run')} near it"
        if several:
            raise UsageError(
                f"{said}, and {several:,} dumps of {of_runs} fit equally well; put it into the folder of its run"
            )
        raise UsageError(
            f"{said}, but none of {of_runs} fits; ingest it with the dumps of its program, or put it into the folder "
            "of the run that you know it is of"
        )
    return []


def _load(warehouse: Warehouse, batch: Sequence[Read], done: LoadedLogs) -> None:
    """Store what was read of some logs; in a lake, without the logs that other workers are about to store."""
    started_at = datetime.now(UTC)
    no_dumps = ParsedBatch(Batch({"dumps": pl.DataFrame(schema={"dump_id": pl.Int64})}))

    def attempt(_: object) -> LoadedLogs:
        ours = batch
        if warehouse.claims is not None:
            keys = {file_key(name, one.log.places[name]) for one in batch for name in one.messages}
            held = warehouse.claims.take(keys)
            ours = [one for one in batch if all(file_key(n, one.log.places[n]) in held for n in one.messages)]
            still = {id(log) for log in unknown_logs(warehouse, [one.log for one in ours])}
            ours = [one for one in ours if id(one.log) in still]
        return _store(warehouse, ours, started_at)

    stored = warehouse.load_persistently(no_dumps, attempt)
    done.log_count += stored.log_count
    done.message_count += stored.message_count
    done.rejects += stored.rejects
    done.rows.update(stored.rows)
    done.text_bytes += stored.text_bytes


def _store(warehouse: Warehouse, batch: Sequence[Read], started_at: datetime) -> LoadedLogs:
    done = LoadedLogs()
    ids = dict(warehouse.con.execute("SELECT run_name, run_id FROM raw.runs").fetchall())
    load_id = warehouse.next_number("loads", "load_id")
    newest = _newest(warehouse, {ids[name] for one in batch for name in one.messages})
    found: dict[str, list[Row]] = {table: [] for table in ("oom_logs", *TABLES)}
    rejects: list[tuple] = []
    for one in batch:
        done.text_bytes += one.text_bytes
        for number, (name, messages) in enumerate(one.messages.items()):
            refused = list(one.refused) if number == 0 else []  # lines that are no messages stand with one run
            place = (ids[name], one.log.places[name], load_id)
            kept = _rows_of(messages, place, refused)
            before = newest.get(place[:2])
            said_before = None if before is None else _said_before(warehouse, *place[:2], before[1])
            is_same = _said(kept) == said_before
            if not is_same:
                done.message_count += _new_count(kept, said_before)
                for table, of_table in kept.items():
                    found[table] += of_table
            entry = one.log.entry
            found["oom_logs"].append(
                (
                    *place, entry.path, entry.size_bytes, entry.mtime_ns, len(kept["oom_messages"]), len(refused),
                    before[1] if is_same else load_id, before[0] if before else None,
                )
            )  # fmt: skip
            rejects += [(place, entry, refusal, text) for refusal, text in refused]
    done.log_count = len(batch)
    fresh = _fresh(warehouse, rejects, {number: name for name, number in ids.items()})
    if not found["oom_logs"]:
        return done
    with warehouse.transaction():
        for table, of_table in found.items():
            frame = pl.DataFrame(of_table, schema=CONTRACTS[table].types, orient="row")
            if not CONTRACTS[table].is_kept_by(frame):
                CONTRACTS[table].validate(frame)  # raises, with the row: a fault of this program
            done.rows[table] += insert(warehouse, table, of_table)
        refused = [
            (run_id, entry.path, path, _hash(text), refusal, entry.size_bytes, entry.mtime_ns, {ROLE: text})
            for (run_id, path, _), entry, refusal, text in fresh
        ]
        done.rows["rejects"] += add_rejects(warehouse, refused, load_id)
        _resolve(warehouse, found["oom_logs"], rejects)
        facts = [load_id, started_at, datetime.now(UTC), __version__, 0, 0, 0, 0, done.text_bytes]
        warehouse.con.execute(f"INSERT INTO raw.loads VALUES ({literals(facts)})")
    done.rejects = [f"{entry.path}:{refusal}" for _, entry, refusal, _ in fresh]
    return done


def _rows_of(messages: Iterable[Message], place: tuple, refused: list[tuple[Refusal, bytes]]) -> dict[str, list[Row]]:
    """Return the rows of messages by table; refuse those with an invalid number, store and refuse damaged ones."""
    kept: dict[str, list[Row]] = {table: [] for table in TABLES}
    number = 0
    for message in messages:
        text = "\n".join(message.lines).encode()
        try:
            own = rows(message, place, number)
        except Unstorable as error:
            refused.append((Refusal(_RULE, *error.args, message.line_number, 1, ROLE), text))
            continue
        if message.faults:
            expected = "a message that is whole, with figures that fit together"
            refused.append((Refusal(_RULE, expected, message.faults[0], message.line_number, 1, ROLE), text))
        for table, of_table in own.items():
            kept[table] += of_table
        number += 1
    return kept


def _newest(warehouse: Warehouse, runs: set[int]) -> dict[tuple[int, str], tuple[int, int]]:
    """Return the newest row of each log of some runs: its load, and the load that stored its messages."""
    found = execute(
        warehouse.con,
        "SELECT run_id, relative_path, load_id, messages_load_id FROM staging.oom_logs"
        " WHERE list_contains(CAST($runs AS BIGINT[]), run_id)",
        runs=list(runs),
    ).fetchall()
    return {(run, path): (load, messages) for run, path, load, messages in found}


def _said(kept: Mapping[str, list[Row]]) -> list[list[tuple]]:
    ranks = Counter((row[3], row[-1]) for row in kept["oom_ranks"])
    return [sorted((row[3], row[4], row[6], row[-1]) for row in kept["oom_messages"]), sorted(ranks.items())]


def _said_before(warehouse: Warehouse, run_id: int, path: str, load_id: int) -> list[list[tuple]]:
    con = warehouse.con
    of_log = f"WHERE run_id = {run_id} AND relative_path = {literal(path)} AND load_id = {load_id}"
    messages = con.execute(
        f"SELECT message_number, message_id, line_number, message_text FROM raw.oom_messages {of_log}"
    ).fetchall()
    ranks = Counter(con.execute(f"SELECT message_number, rank_name FROM raw.oom_ranks {of_log}").fetchall())
    return [sorted(messages), sorted(ranks.items())]


def _new_count(kept: Mapping[str, list[Row]], said_before: list[list[tuple]] | None) -> int:
    """Return the number of new messages about memory in a log, as a log that grew is read again from its beginning."""
    dialect = list(CONTRACTS["oom_messages"].columns).index("dialect")
    known = Counter(text for *_, text in said_before[0]) if said_before else Counter()
    now = Counter(row[-1] for row in kept["oom_messages"] if row[dialect] != DONATION)
    return (now - known).total()


def _fresh(warehouse: Warehouse, rejects: Sequence[tuple], names: Mapping[int, str]) -> list[tuple]:
    """Return the rejects that this version has not stored yet; lines that a log repeats make one."""
    by_key = {(place[0], place[1], _hash(text)): one for one in rejects for place, _, _, text in [one]}
    spoken = warehouse.known_refusals(key[2] for key in by_key) if by_key else {}
    return [one for (run, path, digest), one in by_key.items() if (names[run], path, digest) not in spoken]


def _hash(text: bytes) -> str:
    return sha256(text).hexdigest()


def _resolve(warehouse: Warehouse, logs: Sequence[Row], rejects: Sequence[tuple]) -> None:
    """Close the open rejects of logs whose refused lines are gone, or are refused again by a new reject."""
    open_ones = "SELECT 1 FROM raw.rejects WHERE role = $role AND state = 'open' LIMIT 1"
    if not execute(warehouse.con, open_ones, role=ROLE).fetchall():
        return
    again = [f"{place[0]} {place[1]} {_hash(text)}" for place, _, _, text in rejects]
    warehouse.change_rejects(
        "resolved",
        "r.role = $role AND r.state = 'open' AND r.load_id < $load_id"
        " AND list_contains(CAST($logs AS VARCHAR[]), r.run_id || ' ' || r.relative_path)"
        " AND (r.parser_version <> $version"
        " OR NOT list_contains(CAST($again AS VARCHAR[]), r.run_id || ' ' || r.relative_path || ' ' || r.sha256))",
        {"role": ROLE, "load_id": logs[0][2], "logs": [f"{row[0]} {row[1]}" for row in logs], "again": again,
         "version": __version__},
    )  # fmt: skip
