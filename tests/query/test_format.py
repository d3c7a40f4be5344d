"""Rows as text."""

import csv
import io
import json
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from bufferhouse.query.format import FORMATS, answer_text, formatted, unique

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


def test_csv_tells_an_empty_text_from_null():
    """As DuckDB writes it, and PostgreSQL reads it; no row is an empty line, which readers pass by."""
    assert 'a,b\n"",\n,""' == formatted(["a", "b"], [("", None), (None, "")], "csv")
    assert 'a\n""\n""' == formatted(["a"], [("",), (None,)], "csv")
    assert 'a,b\n"",' == formatted(["a", "b"], [(b"", None)], "csv")


@pytest.mark.parametrize("text", ["a\rb", "a\r\nb", "\r", "a\nb\n", '"', ",", " a ", "", "×"])
def test_csv_is_read_again_as_it_was(text):
    """A carriage return ends no row."""
    written = formatted(["a", "b"], [(text, 1), ("next", 2)], "csv")
    assert [["a", "b"], [text, "1"], ["next", "2"]] == list(csv.reader(io.StringIO(written, newline="")))


def test_markdown_keeps_a_row_on_its_line():
    """A bar in a cell is escaped, a line feed becomes a space."""
    assert "| a |\n| --- |\n| x\\|y z |" == formatted(["a"], [("x|y\nz",)], "markdown")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("jit(f)/g.<locals>.h_1", "jit(f)/g.\\<locals>.h_1"),
        ("__init__", "\\_\\_init\\_\\_"),
        ("a*b*c `d` ~e~ \\", "a\\*b\\*c \\`d\\` \\~e\\~ \\\\"),
        ("&lt; a & b", "\\&lt; a & b"),
        ("f32[8,16]{1,0}", "f32[8,16]{1,0}"),
        ("![x](javascript:alert(1))", "![x\\](javascript:alert(1))"),
        (["<x>"], "['\\<x>']"),
    ],
)
def test_a_text_in_markdown_is_shown_as_it_is(text, expected):
    """A page that shows Markdown takes no name for a tag or a link, and no star or underscore for emphasis."""
    assert f"| a\\_ |\n| --- |\n| {expected} |" == answer_text(["a_"], [(text,)], "markdown")


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


@pytest.mark.parametrize(
    ("value", "text", "json_value"),
    [
        (datetime(2026, 1, 31, 12, 0, 0, 250000), "2026-01-31 12:00:00.250000", "2026-01-31T12:00:00.250000"),
        (datetime(9, 1, 1), "0009-01-01 00:00:00", "0009-01-01T00:00:00"),
        (b"\x00\xff", "00ff", "00ff"),
        (float("nan"), "nan", "NaN"),
        (float("-inf"), "-inf", "-Infinity"),
        ([Decimal("1.5"), None, True], "[1.5, NULL, true]", ["1.5", None, True]),
        ({"a": date(2026, 1, 31), "b": [b"\x01"]}, "{'a': 2026-01-31, 'b': [01]}", {"a": "2026-01-31", "b": ["01"]}),
        ({Decimal("1.5"): "x"}, "{1.5: 'x'}", {"1.5": "x"}),
        ({1: float("inf")}, "{1: inf}", {"1": "Infinity"}),
    ],
)
def test_a_value_of_any_type_is_told_whole(value, text, json_value):
    """Parts of a second, bytes and what is nested: nothing is cut, and JSON is JSON."""

    def refused(word: str) -> None:
        raise ValueError(f"JSON has no {word}")

    assert text == formatted(["a"], [(value,)], "table").split("\n")[2].strip()
    assert text == formatted(["a"], [(value,)], "markdown").split("\n")[2].strip("| ")
    assert [{"a": json_value}] == json.loads(formatted(["a"], [(value,)], "json"), parse_constant=refused)


def test_columns_of_one_name_are_all_in_json():
    """The second has a number behind its name, as in a subquery of DuckDB, and takes the name of no other column."""
    assert ["a", "a_2", "a_1", "b"] == unique(["a", "a", "a_1", "b"])
    assert [{"a": 1, "a_1": 2}] == json.loads(formatted(["a", "a"], [(1, 2)], "json"))


def test_decimals_are_numbers():
    """A table aligns them to the right."""
    assert "   a\n----\n 1.5\n10.5" == formatted(["a"], [(Decimal("1.5"),), (Decimal("10.5"),)], "table")
