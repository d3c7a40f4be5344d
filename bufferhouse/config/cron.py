"""Five fields of cron, as Prefect's clock takes them; less of what it misreads (decision 0024)."""

import re

_LONGEST_MONTH = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat", "sun")
# minute, hour, day of the month, month, day of the week: the least and the greatest number, and names from the least on
_FIELDS = ((0, 59, ()), (0, 23, ()), (1, 31, ()), (1, 12, _MONTHS), (0, 7, _DAYS))
_PART = re.compile(r"(?:\*|([0-9]{1,2}|[a-z]{3})(?:-([0-9]{1,2}|[a-z]{3}))?)(?:/([1-9][0-9]?))?")


def is_cron(text: str) -> bool:
    """Return whether a text is a schedule in five fields, and its days come round."""
    fields = text.lower().split()
    if len(fields) != len(_FIELDS):
        return False
    numbers = [_numbers(field, *meant) for field, meant in zip(fields, _FIELDS, strict=True)]
    if not all(numbers):
        return False
    # Where both days are given, one of them is enough, and each week has its own.
    return fields[4] != "*" or min(numbers[2]) <= max(_LONGEST_MONTH[month - 1] for month in numbers[3])


def _numbers(field: str, least: int, greatest: int, names: tuple[str, ...]) -> set[int]:
    """Return the numbers that a field holds, steps aside; none where it is no field."""
    found: set[int] = set()
    for part in field.split(","):
        match = _PART.fullmatch(part)
        if match is None:
            return set()
        first, last, step = match.groups()
        start = _number(first, least, names) if first else least
        stop = _number(last, least, names) if last else greatest if step or not first else start
        if not (least <= start <= greatest and least <= stop <= greatest):
            return set()
        if (last or step) and (start == stop or (start, stop) == (7, 0) == (greatest, least)):
            return set()  # Prefect takes 9-9 for every hour, and 23/2 for every second one
        if step and first and not last and (start, stop) == (6, 7):
            return set()  # sat/2 for every second day: 7 is 0 there
        wrapped = start > stop
        found.update(range(start, greatest + 1 if wrapped else stop + 1), range(least, stop + 1 if wrapped else least))
    return found


def _number(word: str, least: int, names: tuple[str, ...]) -> int:
    if word in names:
        return least + names.index(word)
    return int(word) if word.isdecimal() else -1
