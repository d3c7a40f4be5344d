"""Schedules, as the configuration takes them and as Prefect keeps them: fields of cron, `off`."""

import asyncio
import sys
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from prefect.server.schemas.schedules import CronSchedule

from bufferhouse.config.cron import is_cron
from bufferhouse.config.load import load
from flows.serving import deployments

RANGES = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))


@st.composite
def lists(draw: st.DrawFn, least: int, greatest: int) -> tuple[str, set[int]]:
    """A field of cron without steps, and the numbers it stands for."""
    said, numbers = [], set()
    for first, last in draw(st.lists(st.tuples(*[st.integers(least, greatest)] * 2), max_size=3)):
        said.append(f"{first}-{last}" if first < last else f"{first}")
        numbers.update(range(first, max(first, last) + 1))
    return (",".join(said), numbers) if said else ("*", set(range(least, greatest + 1)))


@given(st.tuples(*(lists(*one) for one in RANGES)))
@settings(max_examples=60, deadline=None)
def test_prefect_takes_a_schedule_for_what_it_says(fields):
    """Each schedule has a next moment, which its fields hold; of the two days one is enough where both are given."""
    text = " ".join(said for said, _ in fields)
    assume(is_cron(text))  # a day that no month has is none
    start = datetime(2026, 1, 1, tzinfo=UTC)
    [moment] = asyncio.run(CronSchedule(cron=text).get_dates(1, start=start, end=start + timedelta(days=3000)))
    minutes, hours, days, months, weekdays = (numbers for _, numbers in fields)
    assert moment.minute in minutes
    assert moment.hour in hours
    assert moment.month in months
    is_day, is_weekday = moment.day in days, moment.isoweekday() % 7 in {number % 7 for number in weekdays}
    both = fields[2][0] != "*" and fields[4][0] != "*"
    assert is_day or is_weekday if both else is_day and is_weekday


def _in_berlin(fields: str, start: datetime, count: int) -> list[str]:
    """Return the next moments of a schedule in UTC, where clocks are set as in Berlin."""
    found = asyncio.run(CronSchedule(cron=fields, timezone="Europe/Berlin").get_dates(count, start=start))
    return [f"{moment.astimezone(UTC):%d %H:%M}" for moment in found]


def test_clocks_that_are_set():
    """As docs/schedule.md says: an hour that comes twice counts once, a moment left out comes earlier or later."""
    back = datetime(2027, 10, 31, 0, 10, tzinfo=UTC)  # 2:10 of summer time; 3:00 becomes 2:00 at 1:00 UTC
    assert ["31 00:30", "31 02:00", "31 02:30"] == _in_berlin("*/30 * * * *", back, 3)
    assert ["31 00:30", "01 01:30"] == _in_berlin("30 2 * * *", back, 2)
    forth = datetime(2027, 3, 27, 23, 30, tzinfo=UTC)  # 2:00 becomes 3:00 at 1:00 UTC
    has_other_library = sys.version_info >= (3, 13) or not version("prefect").startswith("3.8.")
    moved = "28 01:30" if has_other_library else "28 00:30"
    assert [moved, "29 00:30"] == _in_berlin("30 2 * * *", forth, 2)
    assert ["28 00:00", "28 01:00", "28 02:00"] == _in_berlin("0 * * * *", forth, 3)


def test_a_source_whose_schedule_is_off_has_none(tmp_path: Path):
    """It is not looked into on the schedule of the others, and its deployment can be run by hand."""
    config = tmp_path / "bufferhouse.toml"
    config.write_text(
        "[[sources]]\nname = 'now_and_then'\npaths = 'a'\nschedule = 'off'\n[[sources]]\nname = 'b'\npaths = 'b'\n"
    )
    made = {one["name"]: one for one in deployments(load(config)) if one["flow"].name == "ingest"}
    assert (None, ["now_and_then"]) == (made["now_and_then"]["schedule"], made["now_and_then"]["parameters"]["sources"])
    assert ["b"] == made["bufferhouse"]["parameters"]["sources"]
    assert made["bufferhouse"]["schedule"] is not None


def test_a_duration_counts_from_a_fixed_moment(tmp_path: Path):
    """Not from the start of `serve`: who restarts it each night would never come to a run of once a week."""
    path = tmp_path / "bufferhouse.toml"
    path.write_text('[[sources]]\nname = "drop"\npaths = ["drop"]\n[schedule]\ningest = "1h"\nmaintain = "7d"\n')
    found = {one["flow"].name: one["schedule"] for one in deployments(load(path))}
    monday = datetime(2020, 1, 6, tzinfo=UTC)
    assert (timedelta(hours=1), monday) == (found["ingest"].interval, found["ingest"].anchor_date)
    assert (timedelta(days=7), monday) == (found["maintain"].interval, found["maintain"].anchor_date)
