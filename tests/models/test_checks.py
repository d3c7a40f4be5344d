"""The checks: the example fleet passes them all, and each finds the dump that breaks it."""

import json
import re
import shutil
from pathlib import Path

import duckdb
import pytest

from bufferhouse.commands.ingest_run import run_ingest
from bufferhouse.ingest.in_memory import in_memory
from bufferhouse.models import build
from bufferhouse.paths import MODELS
from tests.command_line import CHECKOUT, call
from tests.models.small_models import outdate
from tests.warehouses import taken_back

NAMES = sorted(path.stem for path in MODELS.glob("checks/*.sql"))


@pytest.mark.parametrize("name", NAMES)
def test_the_fleet_passes_every_check(example, name):
    """No offenders, be it an error or a warning."""
    assert [] == example.execute(f"FROM checks.{name}").fetchall()


# The one row of a dump that is changed by one byte, or points elsewhere, so that the check finds it.
BROKEN = {
    "contents_loaded_once": "raw.dumps SET load_id = load_id + 1 WHERE rowid = (SELECT MAX(rowid) FROM raw.dumps)",
    "allocations_sum_to_total": "raw.allocations SET size_bytes = size_bytes + 1 WHERE allocation_index = 0",
    "values_have_an_allocation": "raw.hlo_values SET allocation_index = 999 WHERE instruction_id = 0",
    "balances_close": "intermediate.balances SET element_bytes = element_bytes + 1 WHERE allocation_index = 0",
    "padding_closes": "intermediate.padding_at_peak SET occupied_bytes = occupied_bytes + 1 WHERE kind = 'output'",
    "slots_inside_allocations": "raw.hlo_values SET offset_bytes = offset_bytes + 1 WHERE instruction_id = 0",
    "peak_within_reserved": "raw.allocations SET size_bytes = size_bytes - 1 WHERE allocation_index = 0",
    "listed_lines_match_values": "raw.peak_buffers SET listed_bytes = listed_bytes + 1 WHERE ordinal = 0",
    "cumulative_bytes_add_up": "raw.peak_buffers SET cumulative_bytes = cumulative_bytes + 1 WHERE ordinal = 0",
    "printed_peak_is_reproduced": "raw.dumps SET reported_peak_position = reported_peak_position + 1 WHERE TRUE",
    "uses_point_at_values": "raw.uses SET value_id = 999 WHERE operand_number = 0",
    "slots_share_one_instant": "raw.hlo_values SET allocation_index = 0 WHERE instruction_id = 0",
    "ranges_start_at_definers": "raw.live_ranges SET start_position = start_position + 1 WHERE ordinal = 0",
    "tuple_tables_in_default_space": (
        "raw.hlo_values SET memory_space = 1, shape_id = (SELECT MIN(shape_id) FROM raw.shapes WHERE tuple_arity = 2)"
        " WHERE instruction_id = 0"
    ),
    "thread_local_holds_one_value": (
        "raw.allocations SET is_thread_local = TRUE, allocation_index = 9 WHERE allocation_index = 2"
    ),
    "temps_stand_last": "raw.allocations SET is_maybe_live_out = FALSE WHERE allocation_index = 0",
    "one_output_shape": "raw.allocations SET output_shape_id = NULL WHERE allocation_index = 0",
    "ranges_in_value_order": "raw.live_ranges SET ordinal = 999 WHERE ordinal = 0",
    "values_lie_in_own_space": "raw.hlo_values SET memory_space = memory_space + 1 WHERE instruction_id = 0",
    "layouts_name_own_space": "raw.hlo_values SET memory_space = memory_space + 1 WHERE instruction_id = 0",
    "used_values_have_ranges": "raw.live_ranges SET shape_index = '{9}' WHERE ordinal = 0",
    "instruction_texts_agree": "raw.hlo_values SET instruction_id = 1 WHERE instruction_id = 0",
    "values_are_unique": "raw.hlo_values SET instruction_id = 1 WHERE instruction_id = 0",
    "peak_lines_sorted": "raw.peak_buffers SET listed_bytes = listed_bytes - 1 WHERE ordinal = 0",
    "stack_trace_shows_peak": "raw.dumps SET stack_trace = replace(stack_trace, 'usage: ', 'usage: 1') WHERE TRUE",
    "stack_trace_adds_up": "raw.dumps SET stack_trace = replace(stack_trace, 'total: 12', 'total: 13') WHERE TRUE",
    "stack_trace_sorted": "raw.dumps SET stack_trace = replace(stack_trace, 'x (33.3%, total: 4', 'x (33.3%, total: 5')"
    " WHERE TRUE",
    "stack_trace_shares": "raw.dumps SET stack_trace = replace(stack_trace, '100.0%', '99.9%') WHERE TRUE",
    "split_ranges_name_values": "raw.hlo_values SET instruction_id = 0 WHERE instruction_id = 2",
}
# What has to be so before the one row matters: its allocation is swept, the dump is in several files, or there twice.
BEFORE = {
    "contents_loaded_once": ["INSERT INTO raw.dumps SELECT * FROM raw.dumps"],
    "slots_share_one_instant": ["UPDATE raw.allocations SET has_strict_overlap = TRUE"],
    "split_ranges_name_values": [
        "UPDATE raw.dumps SET file_layout = 'split'",
        "DELETE FROM raw.further_positions",
        "DELETE FROM raw.uses",
    ],
}
# Only where values share bytes can a single number of a dump open a balance: a live range that is longer by one makes
# two values overlap for two positions, where the sum of slots alive says more than all slots ever cover.
OPENED = """
    UPDATE raw.live_ranges AS r SET end_position = r.end_position + 1 FROM staging.hlo_values AS v, (
        SELECT dump_id, ending_value_id FROM intermediate.touching_slots AS t
        INNER JOIN intermediate.allocation_peaks AS p USING (dump_id, allocation_index)
        WHERE t.touching_position = p.occupied_peak_position ORDER BY ALL LIMIT 1
    ) AS t
    WHERE r.dump_id = v.dump_id AND r.instruction_id = v.instruction_id
        AND r.shape_index = COALESCE(v.shape_index, '{}') AND v.dump_id = t.dump_id AND v.value_id = t.ending_value_id
    RETURNING r.dump_id
"""


@pytest.fixture(scope="module")
def of_a_release(blank_warehouse, fleet, tmp_path_factory) -> Path:
    """A warehouse with the run of one release. To be copied, never written."""
    path = shutil.copy(blank_warehouse, tmp_path_factory.mktemp("release") / "release.duckdb")
    assert 0 == run_ingest([str(fleet / "jaxlib-0.9.0")], path).exit_code
    return path


@pytest.fixture
def own_release(of_a_release, tmp_path) -> Path:
    """A copy of it that the test may change."""
    return Path(shutil.copy(of_a_release, tmp_path / "own.duckdb"))


@pytest.fixture(scope="module")
def connected(of_a_release, tmp_path_factory):
    """A connection to a copy of that warehouse, which no test changes for others."""
    copy = shutil.copy(of_a_release, tmp_path_factory.mktemp("connected") / "release.duckdb")
    with duckdb.connect(copy, config={"threads": 1}) as con:
        yield con


@pytest.fixture
def con(connected):
    """That connection, in a transaction that is taken back."""
    with taken_back(connected):
        yield connected


def break_one_dump(con: duckdb.DuckDBPyConnection, name: str) -> int:
    """Change the one row that a check is about, and return the dump that it is of."""
    [(dump,)] = con.execute("SELECT dump_id FROM raw.observations WHERE module_name = 'jit_scalar_add'").fetchall()
    for statement in BEFORE.get(name, []):
        con.execute(f"{statement} WHERE dump_id = {dump}")
    assert [(dump,)] == con.execute(f"UPDATE {BROKEN[name]} AND dump_id = {dump} RETURNING dump_id").fetchall()
    return dump


@pytest.mark.parametrize("name", NAMES)
def test_one_byte_in_one_row_is_found(con, name):
    """The check that is about it names the one dump it is in."""
    dump = break_one_dump(con, name)
    assert {dump} == {row[0] for row in con.execute(f"SELECT dump_id, expected, found FROM checks.{name}").fetchall()}


@pytest.mark.parametrize(("name", "severity"), [("balances_close", "error"), ("temps_stand_last", "warn")])
def test_the_command_names_the_dump_and_exits_with_1_for_an_error(own_release, name, severity):
    """A check that warns is told, and does not fail."""
    with duckdb.connect(str(own_release)) as con:
        dump = break_one_dump(con, name)
    outcome = call("check", "--warehouse", own_release, "--format", "json")
    found = {row["check"]: row for row in json.loads(outcome.out)}
    assert found[name]["first"].startswith(f"dump {dump}: expected ")
    assert severity == found[name]["severity"]
    failed = {check for check, row in found.items() if row["offenders"] and row["severity"] == "error"}
    assert ({name} if severity == "error" else set()) == failed
    assert outcome.code == int(severity == "error")


def test_a_live_range_that_is_too_long_opens_a_balance(own_release):
    """One position in one row, computed anew, is found by what can no longer be true of the bytes."""
    with duckdb.connect(str(own_release)) as con:
        [(dump,)] = con.execute(OPENED).fetchall()
        outdate(con)
        build.build(con)
        assert [(dump,)] == con.execute("SELECT DISTINCT dump_id FROM checks.balances_close").fetchall()


def test_the_printed_peak_of_every_dump_with_texts_has_an_answer(example):
    """No dump is passed over: the formula gives a position wherever one is printed, and it is that one."""
    weighed = example.execute(
        """
        SELECT COUNT(*) FROM staging.dumps AS d WHERE d.reported_peak_position IS NOT NULL AND NOT EXISTS (
            SELECT 1 FROM staging.live_ranges AS r LEFT JOIN staging.instruction_texts AS t
                ON r.dump_id = t.dump_id AND r.instruction_id = t.instruction_id
            WHERE r.dump_id = d.dump_id AND t.result_bytes IS NULL
        )
        """
    ).fetchone()
    assert weighed == example.execute("SELECT COUNT(reported_peak_position) FROM staging.dumps").fetchone()
    assert [] == example.execute("FROM checks.printed_peak_is_reproduced").fetchall()


@pytest.mark.parametrize(("shift", "count"), [(0, 0), (1, 4)])
def test_a_result_of_an_asynchronous_computation_starts_with_what_starts_it(tmp_path, shift: int, count: int):
    """Not with its definer, one line before, where libtpu 0.0.50.1 and later put it; and nowhere else."""
    source = shutil.copytree(CHECKOUT / "tests" / "data" / "async_results", tmp_path / "dump")
    [ranges] = source.glob("*live-range.txt")
    text = re.sub(
        r"(slice\.[0-9]+\{\}:)([0-9]+)", lambda found: f"{found[1]}{int(found[2]) + shift}", ranges.read_text()
    )
    ranges.write_text(text)
    with in_memory([str(source)]) as con:
        assert count == len(con.execute("FROM checks.ranges_start_at_definers").fetchall())


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("uses_point_at_values", "UPDATE raw.hlo_values SET value_id = value_id + 999 WHERE dump_id = {}"),
        ("cumulative_bytes_add_up", "UPDATE raw.peak_buffers SET listed_bytes = 0 WHERE dump_id = {} AND ordinal = 0"),
    ],
)
def test_a_check_looks_at_both_sides(own_release, name, change):
    """Positions as well as uses, a line as well as the sum behind it."""
    with duckdb.connect(str(own_release)) as con:
        dump = con.execute(
            "SELECT dump_id FROM raw.peak_buffers WHERE cumulative_bytes IS NOT NULL AND listed_bytes > 0"
            " AND ordinal = 0 ORDER BY dump_id LIMIT 1"
        ).fetchone()[0]
        con.execute(change.format(dump))
        assert [(dump,)] == con.execute(f"SELECT DISTINCT dump_id FROM checks.{name}").fetchall()
