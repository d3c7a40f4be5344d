"""Rows as text."""

import json
from datetime import UTC, datetime

import pytest

from bufferhouse.query.format import FORMATS, formatted

COLUMNS = ("run", "bytes", "note")
ROWS = [("run_9", 1024, None), ("run_10", -1, "a|b")]


def test_a_table_aligns_numbers_to_the_right_and_words_to_the_left():
    """Columns of numbers and nothing else are numbers; nothing trails a line."""
    assert "run     bytes  note\n------  -----  ----\nrun_9    1024\nrun_10     -1  a|b" == formatted(
        COLUMNS, ROWS, "table"
    )


def test_a_column_of_booleans_is_words():
    """true and false are no numbers, though Python says so."""
    assert "ok\n-----\ntrue\nfalse" == formatted(["ok"], [(True,), (False,)], "table")


def test_what_a_terminal_would_obey_is_shown_instead():
    """Text of a dump cannot move the cursor or break the table."""
    assert "name\n------------------\na\\nb\\x1b[2J\\u202ec" == formatted(["name"], [("a\nb\x1b[2J\u202ec",)], "table")


def test_letters_of_two_cells_take_two():
    """What stands behind them is in its column on a terminal all the same."""
    assert "name     bytes\n-------  -----\n内存         1\nmémoire     22" == formatted(
        ["name", "bytes"], [("内存", 1), ("mémoire", 22)], "table"
    )


def test_csv_quotes_what_needs_it():
    """Commas, quotes and line feeds stay within their cell; null is empty."""
    assert 'a,b\n"x,""y""\n",\n' == formatted(["a", "b"], [('x,"y"\n', None)], "csv") + "\n"


def test_markdown_keeps_a_row_on_its_line():
    """A bar in a cell is escaped, a line feed becomes a space."""
    assert "| a |\n| --- |\n| x\\|y z |" == formatted(["a"], [("x|y\nz",)], "markdown")


def test_json_has_an_object_for_each_row():
    """Moments are ISO 8601, bytes hexadecimal, other characters as they are."""
    moment = datetime(2026, 1, 31, 12, tzinfo=UTC)
    found = json.loads(formatted(["a", "b", "c"], [(moment, b"\x00\xff", "×")], "json"))
    assert [{"a": "2026-01-31T12:00:00+00:00", "b": "00ff", "c": "×"}] == found


@pytest.mark.parametrize("form", FORMATS)
def test_no_rows_still_show_the_columns(form):
    """An empty answer is an answer."""
    expected = {"table": "run\n---", "csv": "run", "json": "[]", "markdown": "| run |\n| --- |"}
    assert expected[form] == formatted(["run"], [], form)
