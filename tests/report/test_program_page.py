"""The page of one program: alone in the world, true to the marts, unmoved by hostile names."""

import json
import re
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from bufferhouse.commands.ingest_run import run_ingest
from bufferhouse.query.statements import Answer, ask, ask_each
from bufferhouse.report.html.page import FIRST_ROWS
from bufferhouse.report.program.data import (
    COPIES,
    KEPT_OWNERS,
    MAP_VALUES,
    PEAK_OWNERS,
    STRETCHES,
    Program,
    read_program,
)
from bufferhouse.report.program.page import history_chart, program_page, shares
from bufferhouse.report.program.savings import MAPPED, SAVINGS, savings_of
from bufferhouse.report.text.figures import exact_bytes, human_bytes, printable
from bufferhouse.whatif.outcome import compute
from bufferhouse.whatif.ranking import rank
from bufferhouse.whatif.space import read_space
from tests.command_line import call
from tests.report.pages import (
    ATTRIBUTES,
    ELEMENTS,
    HOSTILE,
    Parts,
    as_embedded,
    assert_alone,
    assert_only_text_differs,
)
from tests.synthetic import Slot, dump_text

TPU = "tpu-v5e-jaxlib-0.8.3-libtpu-0.0.33"
MORE_ELEMENTS = {"rect", "select", "option", "input", "label", "output", "button", "canvas"}
MORE_ATTRIBUTES = {"x", "width", "height", "value", "hidden", "aria-describedby"}


@pytest.fixture(scope="module")
def written(transformer: Program) -> str:
    """Its page."""
    return program_page(transformer)


@pytest.fixture(scope="module")
def parts(written: str) -> Parts:
    """The parts of that page."""
    return Parts(written)


def test_nothing_is_asked_of_anybody(written: str):
    """No element loads anything, the policy lets the page ask for nothing, and only its own scripts run."""
    assert_alone(written, ELEMENTS | MORE_ELEMENTS, ATTRIBUTES | MORE_ATTRIBUTES)


def test_embedded_figures_are_those_of_the_statements(example_warehouse: Path, transformer: Program, parts: Parts):
    """The page's JSON holds what its statements answer, columns and rows, times in ISO form, long ids as text."""
    more = {"program_map": {"values": MAP_VALUES}, "program_map_spaces": {"values": MAP_VALUES}}
    more |= {"program_timeline": {"stretches": STRETCHES}, "program_peak": {"owners": PEAK_OWNERS}}
    more |= {"program_kept": {"owners": KEPT_OWNERS}, "program_copies": {"copies": COPIES}}
    with duckdb.connect(str(example_warehouse), read_only=True) as con:
        con.execute("SET TimeZone = 'UTC'")
        (program_id,) = con.execute(
            "SELECT DISTINCT program_id FROM raw.observations WHERE dump_id = $1", [transformer.dump["dump_id"]]
        ).fetchone()
        assert transformer.answers.keys() == parts.embedded("answers").keys()
        computed = {"program_savings", "program_edits", "program_edited_allocations", "program_edited_map"}
        for name in transformer.answers.keys() - computed:  # no statement answers these
            if name == "program_dumps":
                answer = ask(con, name, program_id=program_id)
            elif name == "program_trend":
                answer = ask_each(con, name, [program_id])[program_id]
            elif name == "program_capacity":
                answer = ask(con, name, run_id=transformer.dump["run_id"])
            elif name == "program_donations":
                dump = transformer.dump
                answer = ask(con, name, run_id=dump["run_id"], dump_ids=[dump["dump_id"]])
            elif name in ("program_kept", "program_copies"):
                answer = ask(con, name, dump_id=transformer.dump["dump_id"], **more[name])
            else:
                dump_id = transformer.dump["dump_id"]
                answer = ask_each(con, name, [dump_id], **more.get(name, {}))[dump_id]
            assert as_embedded(answer) == parts.answer(name)


def test_the_ranking_is_that_of_savings(example_warehouse: Path, transformer: Program):
    """What the page says a change is worth is what the verb says, the first of it."""
    with duckdb.connect(str(example_warehouse), read_only=True) as con:
        space = read_space(con, transformer.dump["dump_id"])
    expected = [(one.worth_bytes, one.applied.edit.kind, space.name(one.applied.row)) for one in rank(space).worths]
    shown = [(row["worth_bytes"], row["edit"], row["value_name"]) for row in transformer.spaces[0].savings]
    assert expected[:SAVINGS] == shown
    assert shown


def test_the_maps_are_what_whatif_says_of_the_first_edits(example_warehouse: Path, transformer: Program):
    """Each allocation and each slot after the edit, and the bytes that the arena takes then."""
    with duckdb.connect(str(example_warehouse), read_only=True) as con:
        space = read_space(con, transformer.dump["dump_id"])
    answers, first = transformer.answers, [one.applied.edit for one in rank(space).worths[:MAPPED]]
    edits = answers["program_edits"].records
    assert list(range(1, MAPPED + 1)) == [row["edit_number"] for row in edits]
    for row, edit in zip(edits, first, strict=True):
        outcome = compute(space, [edit])
        slots = [one for one in answers["program_edited_map"].records if one["edit_number"] == row["edit_number"]]
        assert outcome.placement.size_bytes == [one["size_bytes"] for one in slots]
        assert [space.columns["value_id"][at] for at in outcome.placement.value] == [one["value_id"] for one in slots]
        assert (outcome.after.occupied_bytes, outcome.after.arena_high_bytes) == (
            row["occupied_peak_bytes"], row["arena_high_bytes"])  # fmt: skip
        alive = {
            (one["allocation_index"], byte)
            for one in slots
            if one["start_position"] <= row["occupied_peak_position"] <= one["end_position"]
            for byte in range(one["offset_bytes"], one["offset_bytes"] + one["size_bytes"], 4)
        }
        assert row["occupied_peak_bytes"] == 4 * len(alive)


def test_of_an_arena_of_many_bodies_there_is_one_map(example_warehouse: Path, transformer: Program):
    """Packing such an arena takes seconds, so a page waits once; the map is the first that other pages have."""
    with duckdb.connect(str(example_warehouse), read_only=True) as con:
        space = read_space(con, transformer.dump["dump_id"])
    first, *others = transformer.answers["program_edits"].rows
    assert [first] == savings_of(space, mapped=MAPPED, many=0)["program_edits"].rows
    assert others


def test_of_the_maps_after_edits_a_page_has_what_it_draws(transformer: Program):
    """The slots of values that are left out of the map are left out of those after edits, too."""
    drawn, edited = transformer.answers["program_map"], transformer.answers["program_edited_map"]
    few = Answer(drawn.columns, drawn.rows[:5])
    parts = Parts(program_page(replace(transformer, answers=transformer.answers | {"program_map": few})))
    ids = {row[0] for row in few.rows}
    columns, rows = parts.answer("program_edited_map")
    assert (edited.columns, [list(row) for row in edited.rows if row[1] in ids]) == (columns, rows)
    assert 0 < len(rows) < len(edited.rows)


@pytest.mark.parametrize(
    ("name", "sql"),
    [
        ("program_timeline", "SELECT {} FROM marts.memory_timeline_v1 WHERE dump_id = {} ORDER BY 1, 2"),
        ("program_map", "SELECT {} FROM marts.allocation_map_v1 WHERE dump_id = {} ORDER BY 1"),
        ("program_allocations", "SELECT {} FROM marts.allocation_balance_v1 WHERE dump_id = {}"
         " AND kind <> 'thread-local' ORDER BY 1, 2"),
        ("program_spaces", "SELECT {} FROM marts.peak_memory_v1 JOIN marts.footprint_v1"
         " USING (dump_id, memory_space, thread_local_bytes) WHERE dump_id = {} ORDER BY 1"),
    ],
)  # fmt: skip
def test_embedded_figures_are_those_of_the_marts(
    example_warehouse: Path, transformer: Program, parts: Parts, tmp_path: Path, name: str, sql: str
):
    """What `bufferhouse query` says of a mart stands in the page, every row and every figure."""
    columns, rows = parts.answer(name)
    answer = tmp_path / "answer.json"
    asked = sql.format(", ".join(columns), transformer.dump["dump_id"])
    said = call("query", asked, "--warehouse", example_warehouse, "--format", "json", "-o", answer)
    assert 0 == said.code
    found = Parts(f'<script id="found">{answer.read_text()}</script>').embedded("found")
    assert len(found) > 3
    ordered = sorted(rows, key=lambda row: row[0]) if name == "program_map" else rows
    assert [[row[column] for column in columns] for row in found] == ordered


def test_tables_begin_with_the_first_rows_of_their_answers(transformer: Program, parts: Parts):
    """Owners stand in the page in their order, bytes readable and exact; the script knows where the others are."""
    tables = parts.embedded("tables")
    for space in transformer.spaces:
        start = next(i for i, row in enumerate(parts.rows) if row[0][0] == printable(space.peak[0]["value_name"], 60))
        for record, row in zip(space.peak[:FIRST_ROWS], parts.rows[start:], strict=False):
            owned = record["owned_bytes"]
            exact = exact_bytes(owned) if exact_bytes(owned) != human_bytes(owned) else None
            assert (human_bytes(owned), exact) == row[3]
            assert f"{record['peak_share']:.1%}" == row[4][0]
        assert {"memory_space": space.memory_space} == tables[f"peak-{space.memory_space}"]["where"]


def test_bars_close(transformer: Program, written: str):
    """The parts of a bar sum to the reserved bytes, and its rectangles to its width."""
    bars = re.findall(r'<svg class="bar".*?aria-label="([\d,]+) B: ([^"]+)">(.*?)</svg>', written, re.DOTALL)
    assert [f"{space.facts['reserved_bytes']:,}" for space in transformer.spaces] == [total for total, *_ in bars]
    for total, said, rects in bars:
        whole = int(total.replace(",", ""))
        assert whole == sum(int(count.replace(",", "")) for count in re.findall(r"([\d,]+) B", said))
        assert whole == sum(
            int(count.replace(",", "")) for count in re.findall(r": ([\d,]+) B, [\d.]+%</title>", rects)
        )
        assert sum(map(float, re.findall(r' width="([\d.]+)"', rects))) == pytest.approx(10_000, abs=1)


@pytest.mark.parametrize("parts", [[("a", 3), ("b", 4)], [("a", 9), ("b", -1)]])
def test_a_bar_that_does_not_close_is_not_drawn(parts: list[tuple[str, int]]):
    """Parts that do not sum to the total, or are below nothing, are a fault of the program, not of the reader."""
    with pytest.raises(ValueError, match="a bar of 8 bytes does not close"):
        shares(parts, 8)


def test_a_history_draws_the_runs_of_one_device(tmp_path: Path):
    """As many as its description says, though runs of another device have the program, too."""
    warehouse = tmp_path / "own.duckdb"
    for number, device in enumerate(("TPU v4", "TPU v5e", "TPU v4", "TPU v5e", "TPU v5e"), 1):
        run = tmp_path / str(number)
        run.mkdir()
        facts = {"device_kind": device, "platform": "tpu", "started_at": f"2026-01-0{number}T00:00:00Z"}
        (run / "run.json").write_text(json.dumps(facts))
        dump = run / "module_0001.jit_f.cl_1.after_optimizations-buffer-assignment.txt"
        dump.write_bytes(dump_text([Slot(0, 2, 0, 64 * number)]))
    run_ingest([str(tmp_path)], warehouse)
    program = read_program(warehouse, "jit_f")
    chart = history_chart(program, program.spaces[0], "memory space 0")
    drawn = [row["run_name"] for row in program.trend if all(row[name] == chart.where[name] for name in chart.where)]
    assert ["2", "4", "5"] == drawn
    assert "over 3 runs" in chart.description


def test_hostile_names_change_nothing_but_text(harmless_names, hostile_names):
    """Names with markup, quotes, control characters and turned text give the same elements as harmless names."""
    harmless, hostile = (
        program_page(read_program(path, prefix + "jit_transformer2_fwd", run=prefix + TPU))
        for path, prefix in (harmless_names, hostile_names)
    )
    assert_only_text_differs(harmless, hostile)
    columns, rows = Parts(hostile).answer("program_map")
    assert {HOSTILE + "模" * 200 + "x" * 3800} == {row[columns.index("op_name")] for row in rows} - {None}
