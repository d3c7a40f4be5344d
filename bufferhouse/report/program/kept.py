"""What keeps the largest values at a peak alive, and what is copied between memory spaces, as records in words."""

from bufferhouse.errors import counted
from bufferhouse.query.statements import Record
from bufferhouse.report.program.data import Program, Space
from bufferhouse.report.text.figures import exact_bytes, space_word

_BEYOND = {
    "argument": "the caller, an argument",
    "result": "the caller, a result",
    "computation": "the end of its loop, branch or call",
    "alias set": "values that share its slot",
    "nothing": "nothing",
}


def kept_records(space: Space) -> list[Record]:
    """Return for each value what keeps it, until where, and its longest stretch without a use.

    `idle` reads `N of M`, of the positions at which it is alive; it is empty where the schedule has no use.
    """
    return [
        {
            **row,
            "kept": _kept(row),
            "idle": f"{idle:,} of {row['live_position_count']:,}" if idle is not None else "",
            "between": _between(row),
            "last_user": row["last_user_op_name"] or row["last_user_source_place"],
        }
        for row in space.kept
        for idle in [row["longest_idle_position_count"]]
    ]


def _kept(row: Record) -> str:
    # An argument is there from the start; what is born later in its allocation is what the caller gets back.
    if row["kept_by"] == "argument" and row["start_position"]:
        return "the caller, a result in the place of an argument"
    if row["kept_by"] in _BEYOND:
        return _BEYOND[row["kept_by"]]
    through = f" by way of {row['read_through_name']}" if row["read_through_name"] else ""
    goes_on = ", which goes on with its bytes" if row["kept_by"] == "handed on" else ""
    return f"{row['last_user_name']}{through}{goes_on}"


def _between(row: Record) -> str:
    if not row["longest_idle_position_count"]:
        return ""
    return f"{row['idle_from_instruction_name']} and {row['idle_to_instruction_name']}"


def copy_records(program: Program) -> list[Record]:
    """Return the copies between memory spaces, with the names of the spaces."""
    platform = program.dump["platform"]
    return [
        {
            **row,
            "from_space": space_word(platform, row["source_memory_space"]),
            "to_space": space_word(platform, row["memory_space"]),
        }
        for row in program.answers["program_copies"].records
    ]


def copies_note(program: Program, shown: int) -> str:
    """Return the sentences about all copies, and about those that a table of `shown` rows has."""
    first = program.answers["program_copies"].records[0]
    count, moved = first["copy_count"], first["all_copied_bytes"]
    line = f"{counted(count, 'copy')} of {exact_bytes(moved)}."
    if count > shown:
        line += f" {shown} are shown: those that are copied back, then the largest."
    return f"{line} Off the peak: the bytes by which the peak of the space would be higher, had the value stayed there."
