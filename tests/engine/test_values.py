"""Values in statements: each means what it meant in Python."""

from datetime import UTC, datetime, timedelta, timezone

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bufferhouse.engine.sql import execute, literal, quoted

MOMENTS = [
    datetime(2026, 4, 16, 23, 59, 59, 999999, tzinfo=UTC),
    datetime(2026, 4, 16, 1, 2, 3, tzinfo=timezone(timedelta(hours=5, minutes=45))),
]


@pytest.fixture(scope="module")
def con():
    with duckdb.connect() as con:
        yield con


@given(text=st.text(st.characters(exclude_categories=["Cs"])))
def test_a_text_is_itself(con, text):
    assert con.execute(f"SELECT {quoted(text)}").fetchone() == (text,)


@given(value=st.none() | st.booleans() | st.integers(-(2**62), 2**62) | st.sampled_from(MOMENTS))
def test_a_value_is_itself(con, value):
    assert con.execute(f"SELECT {literal(value)}").fetchone() == (value,)


@settings(deadline=None)  # the first list that DuckDB gives back takes its time
@given(items=st.lists(st.integers(-(2**62), 2**62)) | st.lists(st.text(st.sampled_from("a'\"\0\\$[],")), min_size=1))
def test_a_list_is_itself(con, items):
    assert con.execute(f"SELECT {literal(items)}").fetchone() == (items,)


def test_a_number_below_zero_may_stand_behind_a_minus(con):
    assert execute(con, "SELECT 5 -$number", number=-3).fetchone() == (8,)


def test_a_moment_without_a_zone_is_refused():
    with pytest.raises(ValueError, match="expected a moment with its zone, found: 2026-04-16 00:00:00"):
        literal(datetime(2026, 4, 16))


@given(name=st.text(st.sampled_from("ab'$\"-\0")))
def test_a_value_stands_where_its_name_stood(con, name):
    sql = """
        -- not here: $name, it's a comment
        SELECT $name, '$name', 'it''s $name', "$name" FROM (SELECT 1 AS "$name") WHERE $name = $name
    """
    assert execute(con, sql, name=name).fetchall() == [(name, "$name", "it's $name", 1)]


def test_what_has_no_value_is_an_error(con):
    with pytest.raises(KeyError, match="other"):
        execute(con, "SELECT $name + $other", name=1)
