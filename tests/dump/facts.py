"""What a parsed dump says, in the forms of the slow reader of `tests.oracle` and of the compiler's own proto."""

from collections.abc import Mapping

from bufferhouse.dump import Dump, parse, render
from bufferhouse.dump.columns import decode
from tests import oracle


def assert_read_back(dump: Dump) -> None:
    """Write a dump as text; reading it gives the same columns, and writing these the same bytes."""
    files = render(dump)
    actual = parse(files)
    assert dump == actual
    assert files == render(actual)


def facts(dump: Dump) -> dict:
    """Return what a parsed dump says in the form of `oracle.read_dump`."""
    a, cross = dump.allocations, dump.cross_color_values
    allocations = [
        {
            "index": i,
            "pointer": a.pointer[i],
            "size": a.size_bytes[i],
            "memory_space": a.memory_space[i],
            "page": a.page[i],
            "parameter_number": a.parameter_number[i],
            "parameter_shape_index": index_of(a.parameter_shape_index[i]),
            "parameter_shape": a.parameter_shape[i],
            "output_shape": a.output_shape[i],
            "is_constant": a.is_constant[i],
            "is_thread_local": a.is_thread_local[i],
            "is_maybe_live_out": a.is_maybe_live_out[i],
            "is_preallocated_temp": is_preallocated_temp(dump, i),
            "values": [],
            "cross_color_values": [],
        }
        for i in range(len(a.size_bytes))
    ]
    values = values_of(dump)
    for value in values.values():
        allocations[value["allocation"]]["values"].append(value["id"])
    for owner, row, space in zip(cross.allocation_index, cross.value_row, cross.memory_space, strict=True):
        allocations[owner]["cross_color_values"].append((dump.values.value_id[row], space))
    has_live_range = dump.live_range_state in ("present", "unbounded")
    return {
        "allocations": allocations,
        "values": values,
        "schedule": dump.schedule if has_live_range else None,
        "live_ranges": ranges_of(dump) if has_live_range else None,
        "max_position": dump.max_position,
        "peak_position": dump.reported_peak_position,
        "peak_lines": peak_lines_of(dump) if dump.live_range_state == "present" else None,
        "total_bytes": dump.total_bytes,
    }


def is_preallocated_temp(dump: Dump, row: int) -> bool:
    a = dump.allocations
    return a.parameter_number[row] is None and not (
        a.is_constant[row] or a.is_thread_local[row] or a.is_maybe_live_out[row]
    )


def values_of(dump: Dump) -> dict[int, dict]:
    v, p, u = dump.values, dump.positions, dump.uses
    positions = iter([(name, index_of(at)) for name, at in zip(p.instruction, p.shape_index, strict=True)])
    use_rows = zip(u.instruction, u.operand_number, u.operand_shape_index, strict=True)
    uses = iter([(name, operand, index_of(at)) for name, operand, at in use_rows])
    ranges = {(name, index): (start, end) for name, index, start, end in ranges_of(dump)}
    found = {}
    for row, value_id in enumerate(v.value_id):
        index = index_of(v.shape_index[row])
        listed = [next(uses) for _ in range(u.count[row])] if dump.has_used_values else []
        is_known = dump.has_used_values and v.uses_state[row] != "uninitialized"
        found[value_id] = {
            "id": value_id,
            "name": v.instruction[row],
            "index": index,
            "is_phi": v.is_phi[row],
            "memory_space": v.memory_space[row],
            "allocation": v.allocation_index[row],
            "offset": v.offset_bytes[row],
            "size": v.size_bytes[row],
            "shape": v.shape[row],
            "positions": [next(positions) for _ in range(p.count[row])] if dump.has_used_values else [],
            "uses": listed if is_known else None,
            "instruction_text": v.instruction_text[row] if dump.has_instruction_texts else None,
            "live_range": ranges.get((v.instruction[row], index or ())),
        }
    return found


def ranges_of(dump: Dump) -> list[tuple]:
    r = dump.live_ranges
    columns = zip(r.instruction, r.shape_index, r.start_position, r.end_position, strict=True)
    return [(name, index_of(index), start, end) for name, index, start, end in columns]


def peak_lines_of(dump: Dump) -> list[tuple]:
    """Return the peak lines as printed: without an index where the dialect prints none."""
    b, is_name_alone = dump.peak_buffers, dump.peak_form == "name"
    columns = zip(b.instruction, b.shape_index, b.listed_bytes, b.cumulative_bytes, strict=True)
    return [(name, None if is_name_alone else index_of(index), size, total) for name, index, size, total in columns]


def index_of(text: str | None) -> tuple[int, ...] | None:
    return None if text is None else tuple(int(number) for number in text[1:-1].split(",") if number)


def oracle_facts(files: Mapping[str, bytes]) -> dict:
    """Return what the slow reader says of the same files; facts of it alone are left out."""
    texts, _ = decode(files)
    if "combined" in texts:
        return oracle.read_dump(texts["combined"])
    return oracle.read_split(texts["allocations"], texts.get("values"), texts.get("live_range"))


def facts_of_proto(truth: dict) -> dict:
    """Return allocations with flags and slots, and values, as the compiler's own proto says."""
    return {
        "allocations": [
            {
                "size": row["size"],
                "memory_space": row["color"],
                "flags": (row["is_constant"], row["is_thread_local"], row["maybe_live_out"]),
                "parameter": (row["parameter_number"], tuple(row["parameter_shape_index"]))
                if row["is_entry_computation_parameter"]
                else None,
                "slots": sorted((slot["logical_buffer_id"], slot["offset"], slot["size"]) for slot in row["assigned"]),
            }
            for row in truth["allocations"]
        ],
        "values": {
            row["id"]: (row["instruction"], tuple(row["shape_index"]), row["color"]) for row in truth["logical_buffers"]
        },
    }


def facts_for_proto(dump: Dump) -> dict:
    """Return what a parsed dump says in the form of `facts_of_proto`."""
    found = facts(dump)
    return {
        "allocations": [
            {
                "size": row["size"],
                "memory_space": row["memory_space"],
                "flags": (row["is_constant"], row["is_thread_local"], row["is_maybe_live_out"]),
                "parameter": None
                if row["parameter_number"] is None
                else (row["parameter_number"], row["parameter_shape_index"]),
                "slots": [(v, found["values"][v]["offset"], found["values"][v]["size"]) for v in row["values"]],
            }
            for row in found["allocations"]
        ],
        "values": {
            value["id"]: (value["name"], value["index"] or (), value["memory_space"])
            for value in found["values"].values()
        },
    }
