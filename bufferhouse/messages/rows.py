"""Messages as rows of the tables of raw, and back; and the proof that the rows are what the text of a message says."""

import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from itertools import groupby
from typing import Any

import duckdb

from bufferhouse.dump.identity import key_of
from bufferhouse.engine.sql import execute
from bufferhouse.errors import LARGEST_NUMBER
from bufferhouse.messages.figures import Figure, bytes_shown, nominal
from bufferhouse.messages.message import Allocation, Message, Refused, count_of, read_messages
from bufferhouse.messages.rules import capacity_bytes, reproduce

# Tables with rows of messages, besides that of their logs.
TABLES = ("oom_messages", "oom_figures", "oom_allocations", "oom_ranks")
ROLE = "log"  # of the rejects of lines that are refused, and of messages that are damaged

Place = tuple[int, str, int]
"""Run, path of the log, load that stored the message."""
Row = tuple[Any, ...]


class Unstorable(ValueError):
    """A message has a number that no table can hold: what was expected, and what was found."""


def rows(message: Message, place: Place, number: int) -> dict[str, list[Row]]:
    """Return the rows of a message by table, cells in the order of the contracts; `number` is its own in the log.

    Raises:
        Unstorable: a size is 2^63 bytes or more.
    """
    key = (*place, number)
    found = {
        "oom_messages": [(*key, *_facts(message))],
        "oom_figures": [
            (*key, i, *_of_figure(one.figure), one.size_bytes, one.rule, one.is_reproduced)
            for i, one in enumerate(reproduce(message, None))
        ],
        "oom_allocations": [(*key, i, *_of_allocation(one)) for i, one in enumerate(message.allocations)],
        "oom_ranks": [(*key, i, rank) for i, rank in enumerate(message.ranks)],
    }  # fmt: skip
    cells = (cell for of_table in found.values() for row in of_table for cell in row if isinstance(cell, int))
    if (largest := max(map(abs, cells))) > LARGEST_NUMBER:
        raise Unstorable("sizes below 2^63 bytes", str(largest))
    return found


def message_id(message: Message) -> int:
    """Return the key of what a message says: equal wherever it stands and whoever says it."""
    said = [message.dialect, message.memory_space, message.module, message.instruction, message.shape, message.tag]
    figures = [[one.name, one.printed, one.size_bytes] for one in message.own_figures]
    return key_of(json.dumps([said, figures, [list(asdict(one).values()) for one in message.allocations],
                              message.faults]))  # fmt: skip


def _facts(message: Message) -> Row:
    return (
        message_id(message), message.dialect, message.line_number, message.memory_space, message.module,
        message.instruction, message.shape, message.tag, message.is_failure, capacity_bytes(message),
        "\n".join(message.faults) or None, "\n".join(message.lines),
    )  # fmt: skip


def _of_figure(figure: Figure) -> Row:
    least, most = bytes_shown(figure.printed) or (None, None)
    return figure.name, figure.printed, figure.size_bytes, nominal(figure.printed), least, most


def _of_allocation(one: Allocation) -> Row:
    return (
        one.number, one.size, nominal(one.size) if one.size else None, one.instruction, one.op_name, one.source_file,
        one.source_line, one.shape, one.unpadded, one.padding, one.tag, one.label, one.kind,
    )  # fmt: skip


def stored(con: duckdb.DuckDBPyConnection, run_id: int | None = None) -> list[Message]:
    """Return the messages of the newest reading of each log, of one run or of all, in the order of their logs."""
    of_run = "WHERE m.run_id = $run_id OR $run_id IS NULL"
    found: dict[tuple, Message] = {}
    for row in execute(
        con,
        "SELECT m.run_id, m.relative_path, m.message_number, l.source_uri, m.line_number, m.message_text, m.dialect,"
        " m.memory_space_name, m.module_name, m.instruction_name, m.shape_text, m.tag, m.fault_text"
        " FROM staging.oom_messages AS m INNER JOIN staging.oom_logs AS l USING (run_id, relative_path)"
        f" {of_run} ORDER BY ALL",
        run_id=run_id,
    ).fetchall():
        run, path, number, log, line, text, dialect, space, module, instruction, shape, tag, faults = row
        found[run, path, number] = Message(
            dialect, line, space, module, instruction, shape, tag, log=log, lines=text.split("\n"),
            faults=faults.split("\n") if faults else [],
        )  # fmt: skip
    for *key, name, printed, size in _listed(con, "figures", "figure_name, printed_text, size_bytes", run_id):
        found[tuple(key)].figures.append(Figure(name, printed, size))
    columns = (
        "listed_number, printed_text, allocation_type, op_name, source_file, source_line, shape_text, unpadded_text,"
        " padding_text, tag, label"
    )
    for row in _listed(con, "allocations", columns, run_id):
        found[row[:3]].allocations.append(Allocation(*row[3:]))
    for *key, rank in _listed(con, "ranks", "rank_name", run_id):
        found[tuple(key)].ranks.append(rank)
    return list(found.values())


def has_logs(con: duckdb.DuckDBPyConnection, run_id: int) -> bool:
    """Return whether a log of a run was read, whatever it says."""
    sql = "SELECT 1 FROM staging.oom_logs WHERE run_id = $run_id LIMIT 1"
    return execute(con, sql, run_id=run_id).fetchone() is not None


def refused(con: duckdb.DuckDBPyConnection, run_id: int) -> list[Refused]:
    """Return what was refused of the logs of a run and not taken since; a message that is kept says its own faults."""
    found = execute(
        con,
        "SELECT j.line_number, j.column_number, j.expected, j.found, j.source_uri FROM raw.rejects AS j"
        " WHERE j.role = $role AND j.state = 'open' AND j.run_id = $run_id AND NOT EXISTS (SELECT 1"
        " FROM staging.oom_messages AS m WHERE m.run_id = j.run_id AND m.relative_path = j.relative_path"
        " AND m.line_number = j.line_number AND m.fault_text IS NOT NULL)"
        " ORDER BY j.source_uri, j.line_number, j.reject_id",
        role=ROLE,
        run_id=run_id,
    ).fetchall()
    return [Refused(*row, count=count_of(row[3])) for row in found]


def _listed(con: duckdb.DuckDBPyConnection, table: str, columns: str, run_id: int | None) -> list[Row]:
    return execute(
        con,
        f"SELECT run_id, relative_path, message_number, {columns} FROM staging.oom_{table}"
        " WHERE run_id = $run_id OR $run_id IS NULL ORDER BY run_id, relative_path, message_number, ordinal",
        run_id=run_id,
    ).fetchall()


def faults(con: duckdb.DuckDBPyConnection) -> list[str]:
    """Prove all stored messages: read again, the text of each gives its rows; and each belongs to a log and a run.

    Line and ranks come from outside of the text, and are proved by nothing.
    """
    kept = {table: _by_message(con, table) for table in TABLES}
    found = _strays(con, [table for table in TABLES if kept[table]])
    for key, [row] in kept["oom_messages"].items():
        again = again_read(row[-1])
        place = f"raw.oom_messages: message {key[3]} of {key[1]}, load {key[2]}"
        if again is None:
            found.append(f"{place}: its text is not one message")
            continue
        again.line_number = row[6]
        derived = rows(again, key[:3], key[3])
        for table in TABLES[:3]:
            mine, own = kept[table].get(key, []), derived[table]
            if mine != own:
                other = next((row[4:] for row in mine if row not in own), f"{len(mine)} rows")
                found.append(f"{place}: {table} has {other}, where its text says otherwise")
                break
    return found


def again_read(text: str) -> Message | None:
    """Return the one message that a stored text is, None where it is none, or several."""
    read = list(read_messages(io.BytesIO(text.encode("utf-8"))))
    return read[0] if len(read) == 1 and isinstance(read[0], Message) else None


def _by_message(con: duckdb.DuckDBPyConnection, table: str) -> Mapping[Place, list[Row]]:
    order = "message_number" if table == "oom_messages" else "message_number, ordinal"
    found = con.execute(f"SELECT * FROM raw.{table} ORDER BY run_id, relative_path, load_id, {order}").fetchall()
    return {key: list(of_message) for key, of_message in groupby(found, key=lambda row: row[:4])}


def _strays(con: duckdb.DuckDBPyConnection, filled: Iterable[str]) -> list[str]:
    """Find rows of messages that no log has, logs of no run or load, and logs whose messages are not all there.

    Only tables that are `filled` have rows that could belong to nothing; most warehouses have no message at all.
    """
    told = []
    for table in filled:
        parent, key = ("oom_logs", "messages_load_id") if table == "oom_messages" else ("oom_messages", "load_id")
        number = "" if table == "oom_messages" else " AND c.message_number = p.message_number"
        rows_left = con.execute(
            f"SELECT c.relative_path, COUNT(*) FROM raw.{table} AS c ANTI JOIN raw.{parent} AS p ON c.run_id = p.run_id"
            f" AND c.relative_path = p.relative_path AND c.load_id = p.{key}{number} GROUP BY ALL ORDER BY ALL"
        ).fetchall()
        told += [f"raw.{table}: {count} rows of {path} that belong to nothing" for path, count in rows_left]
    wrong = con.execute(
        "SELECT l.relative_path, l.load_id FROM raw.oom_logs AS l LEFT JOIN raw.oom_messages AS m"
        " ON l.run_id = m.run_id AND l.relative_path = m.relative_path AND l.messages_load_id = m.load_id"
        " LEFT JOIN raw.runs AS r ON l.run_id = r.run_id LEFT JOIN raw.loads AS a ON l.load_id = a.load_id"
        " GROUP BY l.run_id, l.relative_path, l.load_id"
        " HAVING COUNT(m.message_id) <> ANY_VALUE(l.message_count) OR ANY_VALUE(r.run_id) IS NULL"
        " OR ANY_VALUE(a.load_id) IS NULL ORDER BY ALL"
    ).fetchall()
    return told + [f"raw.oom_logs: load {load} of {path} has other messages, or no run or load" for path, load in wrong]
