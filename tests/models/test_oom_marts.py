"""The marts about programs that did not fit: what they say is what `bufferhouse oom` says of the same message."""

import json
import shutil
from pathlib import Path

import pytest

from bufferhouse.ingest.in_memory import in_memory
from bufferhouse.messages.join import dumps
from bufferhouse.messages.rows import message_id, stored
from bufferhouse.messages.rules import RULES
from bufferhouse.oom.finding import VALUES, Finding, explain
from tests.oom.specimens import CORPUS, FOLDER, OFFLOADED, log, unpacked, with_global

FACTS = """
    SELECT run_name, message_id, dialect, line_number, is_failure, memory_space_name, module_name, dump_id,
        needed_bytes, capacity_bytes, over_bytes, is_reproduced
    FROM marts.oom_v1
"""
FIGURES = """
    SELECT run_name, message_id, figure_name, printed_text, figure_bytes, rule, is_reproduced, found_bytes
    FROM marts.oom_figures_v1
"""
VALUES_AT_PEAK = """
    SELECT run_name, message_id, instruction_name, shape_text, owned_bytes, op_name, source_file || ':' || source_line
    FROM marts.oom_values_v1 WHERE part <> 'not taken at the peak' AND ordinal < $most ORDER BY ordinal
"""
# Of messages with listings the temporaries count in whole 16 KiB.
OPEN_SUMS = """
    WITH summed AS (
        SELECT o.run_name, o.module_name, o.dialect, o.needed_bytes,
            COALESCE(SUM(v.owned_bytes) FILTER (v.kind = 'temp'), 0) AS temporaries,
            COALESCE(SUM(v.owned_bytes) FILTER (v.kind <> 'temp'), 0) AS others
        FROM marts.oom_v1 AS o INNER JOIN marts.oom_values_v1 AS v USING (run_id, message_id)
        WHERE o.needed_figure = 'used' AND o.is_reproduced AND o.memory_space_name = 'hbm' AND v.is_in_figure
        GROUP BY ALL
    )
    SELECT * FROM summed WHERE needed_bytes <> others
        + CASE WHEN dialect IN ('T1', 'T2') THEN (temporaries + 16383) // 16384 * 16384 ELSE temporaries END
"""


def by_message(con, sql: str, **given: object) -> dict[tuple, list[tuple]]:
    """The rows of a statement by run and message."""
    rows: dict[tuple, list[tuple]] = {}
    for row in con.execute(sql, given).fetchall():
        rows.setdefault(row[:2], []).append(row[2:])
    return rows


def assert_as_the_command_says(con) -> tuple[int, int]:
    """Compare the marts with the findings of all messages; return how many there are, and how many are of a dump."""
    facts, figures = by_message(con, FACTS), by_message(con, FIGURES)
    values = by_message(con, VALUES_AT_PEAK, most=VALUES)
    failures = []
    for run_id, run in con.execute("SELECT run_id, run_name FROM raw.runs ORDER BY run_name").fetchall():
        for finding in explain(con, stored(con, run_id), dumps(con, run)):
            key = run, message_id(finding.message)
            assert [facts_of(finding)] == facts.pop(key)
            expected = {one.figure.name: (one.figure.printed, *one[1:]) for one in finding.figures}
            assert expected == {row[0]: row[1:] for row in figures[key]}
            names = ("instruction", "shape", "bytes", "op_name", "source")
            assert [tuple(one[name] for name in names) for one in finding.values] == values.get(key, [])
            failures += [finding] * finding.message.is_failure
    assert ({}, []) == (facts, con.execute(OPEN_SUMS).fetchall())
    return len(failures), sum(finding.dump is not None for finding in failures)


def facts_of(finding: Finding) -> tuple:
    message, dump = finding.message, finding.dump
    reproduced = any(one.is_reproduced for one in finding.figures if one.figure == message.needed)
    return (
        message.dialect, message.line_number, message.is_failure, message.memory_space,
        message.module or (dump["module_name"] if dump else None), dump["dump_id"] if dump else None,
        finding.needed_bytes, finding.capacity_bytes, finding.over_bytes, reproduced,
    )  # fmt: skip


@pytest.fixture(scope="module")
def committed():
    """The committed failures with their logs, in memory."""
    with in_memory([str(FOLDER)]) as con:
        yield con


def test_the_marts_say_what_the_command_says(committed):
    """Of all committed messages: facts, each figure with its rule, the values at the peak, and sums that close."""
    assert (14, 14) == assert_as_the_command_says(committed)


def test_the_rules_are_rows(committed):
    """Each rule of each dialect is a row, in the order in which they are tried."""
    parts = ("parameters", "temporaries", "outputs", "shared", "constants", "thread_local")
    expected = [
        (number, dialect, rule.figure, rule.name, rule.without, rule.beside, *(part in counted for part in parts))
        for number, rule in enumerate(RULES)
        for counted in [["temporaries" if part == "granules" else part for part in rule.parts]]
        for dialect in rule.dialects
    ]
    found = committed.execute(
        "SELECT rule_number, dialect, figure_name, rule, without_figure, beside_figure, is_of_parameters,"
        " is_of_temporaries, is_of_outputs, is_of_shared, is_of_constants, is_of_thread_local"
        " FROM intermediate.oom_rules"
    ).fetchall()
    assert sorted(expected, key=str) == sorted(found, key=str)


def test_thread_local_allocations_are_in_no_figure_of_a_failure():
    """Of a gather on SparseCore libtpu 0.0.52 writes 210 GiB of them; it counts them in its report to the log alone."""
    with in_memory([str(OFFLOADED)]) as con:
        assert (1, 1) == assert_as_the_command_says(con)
        found = con.execute(
            "SELECT figure_name, printed_text, figure_bytes FROM marts.oom_figures_v1"
            " WHERE figure_name IN ('used', 'all_allocations') ORDER BY figure_bytes"
        ).fetchall()
    figures = [("used", "107.30G", 115_215_009_312), ("all_allocations", "317.70GiB", 341_127_196_288)]
    assert figures == found


def test_a_program_that_fits_is_no_failure(committed):
    """did_not_fit is true for each failure and null for what fits narrowly, which warns of rematerialization."""
    found = dict(committed.execute("SELECT run_name, did_not_fit FROM marts.observations_v2").fetchall())
    fits = [run for run, said in found.items() if said is None]
    assert (["fit_int8"], 15, {None, True}) == (fits, len(found), set(found.values()))
    said = committed.execute(
        "SELECT dialect, is_failure, join_state FROM marts.oom_v1 WHERE run_name = 'fit_int8'"
    ).fetchall()
    assert [("R", False, "joined")] == said


def test_a_capacity_is_that_of_the_default_memory_space(committed):
    """In bytes where the message tells it exactly; of a kernel in VMEM it says nothing about HBM."""
    rows = committed.execute("SELECT run_name, capacity_bytes FROM marts.observations_v2").fetchall()
    found = dict(rows)
    assert [(16 << 30) - (258 << 20), None, None] == [found[name] for name in ("xent", "pal", "fit_int8")]


def test_a_failure_is_of_the_dump_with_its_bytes(tmp_path: Path):
    """Of two dumps, as the command says; and it is that dump that did not fit."""
    logs = {
        "allocation": "RESOURCE_EXHAUSTED: Out of memory allocating 23593239040 bytes.",
        "rounded": "Out of memory while trying to allocate 21.97GiB.",
        "of a GPU": "Allocator (GPU_0_bfc) ran out of memory trying to allocate 21.97GiB (rounded to 23593239288)"
        "requested by op",
        "what the program takes itself": with_global(log("libtpu-0.0.33/xent").read_text()),
        "a byte more": "RESOURCE_EXHAUSTED: Out of memory allocating 23593239041 bytes.",
    }
    for run, said in logs.items():
        (tmp_path / run).mkdir()
        for name in ("xent", "kv"):
            for path in (FOLDER / "libtpu-0.0.33" / name).glob("*buffer-assignment.txt"):
                shutil.copy(path, tmp_path / run)
        (tmp_path / run / "train.log").write_text(f"{said}\n")
    with in_memory([str(tmp_path)]) as con:
        assert (5, 4) == assert_as_the_command_says(con)
        told = con.execute("SELECT run_name, module_name FROM marts.observations_v2 WHERE did_not_fit").fetchall()
    assert sorted((run, "jit_lm_head_loss") for run in logs if run != "a byte more") == sorted(told)


@pytest.mark.corpus
@pytest.mark.soak
def test_every_failure_of_the_corpus(tmp_path: Path):
    """The marts and the command agree about each of 89 with a dump, and did_not_fit is true for these alone."""
    if not CORPUS.exists():
        pytest.skip(f"{CORPUS.name} is not beside the checkout")
    folder = unpacked(tmp_path)
    truth = {path.with_suffix(""): json.loads(path.read_text()) for path in folder.glob("*/*.json")}
    failed = {str(path) for path, said in truth.items() if said["outcome"] == "failed"}
    with in_memory([str(folder)]) as con:
        assert (89, 89) == assert_as_the_command_says(con)
        sql = "SELECT root, did_not_fit FROM marts.observations_v2 INNER JOIN raw.runs USING (run_id)"
        said = {root.removesuffix(".dump"): did_not_fit for root, did_not_fit in con.execute(sql).fetchall()}
    assert (91, 108) == (len(failed), len(said))
    assert failed & said.keys() == {root for root, did_not_fit in said.items() if did_not_fit}
    assert {None} == {said[root] for root in said.keys() - failed}
