"""What the files beside a dump say about its compilation: its module text, its proto and its options."""

from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache

from bufferhouse.dump import DumpError
from bufferhouse.dump.compile_flags import read_compile_flags
from bufferhouse.dump.module_header import read_donations
from bufferhouse.dump.stack_frames import FIRST_TABLE, StackFrame, read_stack_frames
from bufferhouse.errors import told
from bufferhouse.proto import ProtoError
from bufferhouse.sources.compression import Damaged
from bufferhouse.sources.found import HEAD, PROTO, Found
from bufferhouse.sources.module_text import HeadError
from bufferhouse.tabulate.batch import CompileFlags, ModuleText, Proto
from bufferhouse.warehouse.stored_sets import key_of_columns, key_of_rows

_KEPT, _KEPT_BYTES = 64, 64 << 10  # so much that was just read keeps its rows: most of a fleet repeats


def module_text_of(dump: Found, files: Mapping[str, bytes]) -> ModuleText | None:
    """Read the head of the module text beside a dump, which the source has fetched; None where there is none.

    A head that is damaged or cut is a `fault`; the dump is loaded all the same, without source lines. Of a dump that is
    its proto the same stands there.
    """
    if "proto" in dump.parts:
        return _head_of_proto(dump, files)
    entry, head = dump.module_text, dump.read_beside.pop(HEAD, None)
    if entry is None or head is None:
        return None
    found = ModuleText(entry.path, entry.size_bytes, entry.mtime_ns)
    if isinstance(head, HeadError):
        found.fault = str(head)
    elif isinstance(head, Exception):
        reason = getattr(head, "strerror", None) or str(head)
        return ModuleText(entry.path, fault=f"expected a file that can be read, found: {reason}")
    else:
        try:
            found.donations = read_donations(head)
            found.stack_frames, found.stack_frames_id = _frames_of(head)
        except DumpError as error:
            found.fault = str(error)
        except Exception as error:
            found.fault = f"expected tables of stack frames, found: {told(error)}"
    if found.donations is not None:
        found.donations_id = key_of_rows(found.donations)
    if found.stack_frames:
        found.held_bytes = 4 * len(head) + 8 * sum([len(frame.call_stack) for frame in found.stack_frames])
    return found


def _frames_of(head: bytes) -> tuple[list[StackFrame] | None, int | None]:
    """Return the stack frames at a head with their key; those of tables that were just read are kept.

    A program that is compiled anew, with other flags say, has the same tables.
    """
    tables = head[head.find(b"\n" + FIRST_TABLE) + 1 :]
    # Where a head is no UTF-8, its tables are read otherwise, too.
    if head.startswith(b"HloModule ") and head.isascii() and 0 < len(tables) < min(len(head), _KEPT_BYTES):
        with suppress(DumpError):  # which is about a line of the tables, and is told again about one of the head
            return _frames_of_tables(tables)
    return _with_key(read_stack_frames(head))


@lru_cache(_KEPT)
def _frames_of_tables(tables: bytes) -> tuple[list[StackFrame] | None, int | None]:
    return _with_key(read_stack_frames(b"HloModule \n" + tables))


def _with_key(frames: list[StackFrame] | None) -> tuple[list[StackFrame] | None, int | None]:
    return frames, key_of_rows(frames) if frames else None


def _head_of_proto(dump: Found, files: Mapping[str, bytes]) -> ModuleText | None:
    from bufferhouse.proto.dump import read_proto_dump

    try:
        found = read_proto_dump(files["proto"])
    except Exception:  # the dump is refused, and the reject says why
        return None
    head = ModuleText(dump.uri, donations=found.donations, donations_id=key_of_rows(found.donations))
    if found.stack_frames:
        head.stack_frames, head.stack_frames_id = found.stack_frames, key_of_rows(found.stack_frames)
        head.held_bytes = sum([400 + 8 * len(frame.call_stack) for frame in found.stack_frames])
    return head


def proto_of(dump: Found, files: Mapping[str, bytes]) -> Proto | None:
    """Read the proto beside a dump, which the source has fetched, or the proto that it is; None where there is none.

    One that is damaged is a `fault`; the dump is loaded all the same, without heap events and alias sets.
    """
    if "proto" in dump.parts:
        return _read_proto(Proto(dump.uri), files["proto"])
    entry, data = dump.proto, dump.read_beside.pop(PROTO, None)
    if entry is None or data is None:
        return None
    if isinstance(data, Exception):
        # What is damaged is known by its size and time: no pass reads it again, and tells it again.
        known = (entry.size_bytes, entry.mtime_ns) if isinstance(data, Damaged) else ()
        return Proto(entry.path, *known, fault=f"expected a file that can be read, found: {told(data)}")
    return _read_proto(Proto(entry.path, entry.size_bytes, entry.mtime_ns), data)


def _read_proto(proto: Proto, data: bytes) -> Proto:
    from bufferhouse.proto.assignment import opened_proto

    try:
        assignment = opened_proto(data).buffer_assignment
        read = (_kept_assignment if len(assignment) <= _KEPT_BYTES else _read_assignment)(assignment)
    except ProtoError as error:
        proto.fault = str(error)
    except Exception as error:
        proto.fault = f"expected a buffer assignment, found: {told(error)}"
    else:
        proto.assignment, proto.heap_events, proto.alias_sets, proto.heap_events_id, proto.alias_sets_id = read
    return proto


def _read_assignment(data: bytes) -> tuple:
    """Return the facts of a buffer assignment, and its events and alias sets with their keys."""
    from bufferhouse.proto.alias_sets import alias_sets
    from bufferhouse.proto.assignment import read_assignment
    from bufferhouse.proto.heap import heap_events

    assignment = read_assignment(data)
    events, sets = heap_events(assignment), alias_sets(assignment)
    assignment.message, assignment.buffers = None, {}
    return assignment, events, sets, key_of_columns(events), key_of_columns(sets)


_kept_assignment = lru_cache(_KEPT)(_read_assignment)


def compile_flags_of(dump: Found) -> CompileFlags | None:
    """Read the options of the compilation from the files beside a dump, which the source has fetched; None for none."""
    if not dump.flags:
        return None
    texts = {origin: dump.read_beside.pop(origin) for origin in dump.flags}
    sets, faults = {}, []
    for origin, entry in dump.flags.items():
        text = texts[origin]
        found = f" {told(text)}" if isinstance(text, Exception) else _set_of_file(origin, text)
        if isinstance(found, str):
            faults.append(f"{entry.path}:{found}")
        elif found[1]:
            sets[found[0]] = found[1]
    entries = dump.flags.values()
    size_bytes, mtime_ns = sum(entry.size_bytes for entry in entries), max(entry.mtime_ns for entry in entries)
    is_read = all(isinstance(text, bytes | Damaged) for text in texts.values())
    known = (size_bytes, mtime_ns) if is_read else (None, None)
    return CompileFlags(*known, sets, "; ".join(faults) or None)


@lru_cache(256)  # the files of a run are most often alike
def _set_of_file(origin: str, text: bytes) -> tuple[int, list[tuple[str, str, str]]] | str:
    """Return the options of a file with their key, or what is wrong with it and where."""
    try:
        rows = [(origin, *flag) for flag in read_compile_flags(origin, text)]
    except DumpError as error:
        return str(error)
    except Exception as error:
        return f" expected options, found: {told(error)}"
    return key_of_rows(rows), rows
