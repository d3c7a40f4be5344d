"""Five fields of cron: what a configuration takes for a schedule."""

import pytest

from bufferhouse.config.cron import is_cron


@pytest.mark.parametrize(
    "text",
    ["* * * * *", "0 6 * * *", "*/15 22-2 1,15 * *", "0 3 * * sun", "0 6 1 JAN-jun mon-Fri", "0 6 * * fri-mon",
     "5/15 * * * 7", "0 0 29 2 *", "0 0 31 2 mon", "0 0 30,31 2-4 *"],
)  # fmt: skip
def test_what_is_a_schedule(text):
    """Numbers, ranges that may go over midnight, lists, steps, and names of months and days, in any case of letters."""
    assert is_cron(text)


@pytest.mark.parametrize(
    "text",
    ["", "* * * *", "* * * * * *", "@daily", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 8",
     "jan * * * *", "* * * sun *", "* * * * feb", "*/0 * * * *", "1-2-3 * * * *", "1,, * * * *", "H * * * *",
     "١ * * * *", "0 0 30 2 *", "0 0 31 4,6,9,11 *", "* 9-9 * * *", "* 23/2 * * *", "0 0 * * 7-0", "0 0 * * sat/2",
     "0 0 * * 6/3"],
)  # fmt: skip
def test_what_is_none(text):
    """Other fields, a name in another field, a day that never comes, and what Prefect takes for every hour."""
    assert not is_cron(text)
