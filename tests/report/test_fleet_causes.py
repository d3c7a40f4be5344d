"""What the fleet report says made most of the change of its movers."""

import json
from collections import defaultdict

import pytest

from bufferhouse.compare.causes import former, short
from bufferhouse.compare.compare import compare_runs
from bufferhouse.query.statements import ask
from bufferhouse.report.fleet.data import Fleet
from bufferhouse.report.fleet.text import fleet_text
from bufferhouse.report.text.figures import exact_bytes, human_bytes
from tests.report.pages import Parts


def test_a_mover_has_the_biggest_cause_of_its_net_change(example_fleet: Fleet, example):
    """It is what comparing the first run of the series with its newest finds, and goes the way of the net change."""
    runs = {row["run_name"]: row["run_id"] for row in ask(example, "fleet_runs").records}
    movers = [row for row in example_fleet.answers["fleet_movers"].records if row["net_change_bytes"]]
    assert len(movers) > 10
    for mover in movers:
        (row,) = compare_runs(
            example,
            runs[mover["first_run_name"]],
            runs[mover["last_run_name"]],
            program_ids=[mover["program_id"]],
            memory_space=mover["memory_space"],
        )
        assert mover["net_change_bytes"] == row.delta_bytes
        label, size = row.main_cause
        assert (label, size) == (mover["main_cause_label"], mover["main_cause_bytes"])
        sums: dict[str, int] = defaultdict(int)
        for cause in row.causes:
            sums[cause.cause] += cause.size_bytes
        way = 1 if row.delta_bytes > 0 else -1
        assert 0 < way * size <= way * sums[label]
        assert former(mover["main_cause_label"]) == mover["main_cause"]


def test_what_came_back_has_no_cause(example_fleet: Fleet):
    """A series without a net change has none, and neither has one of one run."""
    for space in example_fleet.spaces:
        for series in space.series:
            assert bool(series.main_cause) == bool(series.has_moved and series.net_change_bytes)


def test_every_form_names_the_causes(example_fleet: Fleet, example_page: str, monkeypatch: pytest.MonkeyPatch):
    """Terminal, Markdown, page and JSON say the same; to the byte where that is asked for."""
    monkeypatch.setenv("COLUMNS", "200")
    shown = {form: fleet_text(example_fleet, form) for form in ("table", "markdown")}
    exact = {form: fleet_text(example_fleet, form, exact=True) for form in ("table", "markdown")}
    cells = [cell for row in Parts(example_page).rows for cell in row]
    movers = json.loads(fleet_text(example_fleet, "json"))["answers"]["fleet_movers"]
    assert example_fleet.answers["fleet_movers"].records == movers
    causes = {(row["main_cause_label"], row["main_cause_bytes"]) for row in movers if row["main_cause"]}
    assert causes == {
        series.main_cause for space in example_fleet.spaces for series in space.series if series.main_cause
    }
    for cause, size in causes:
        rounded, whole = human_bytes(size, signed=True), exact_bytes(size, signed=True)
        assert (f"{short(cause)} {rounded}", whole) in cells
        assert all(f"{short(cause)} {rounded}" in text for text in shown.values())
        assert all(f"{short(cause)} {whole}" in text for text in exact.values())
