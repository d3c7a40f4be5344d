"""The patterns of the reader hold on every Python it supports."""

import re

from bufferhouse.paths import CHECKOUT

# A group that repeats possessively, or an atomic one, in the text of a pattern.
_POSSESSIVE_GROUP = re.compile(r"(?<!\\)\)(?:[*+?]|\{[0-9,]+\})\+|\(\?>")


def test_no_group_repeats_possessively():
    """Python before 3.11.5 (Debian 12 has 3.11.2) matches possessive groups wrongly, so no pattern has one."""
    found = [
        f"{path.name}:{number}"
        for path in sorted((CHECKOUT / "bufferhouse").rglob("*.py"))
        for number, line in enumerate(path.read_text().split("\n"), 1)
        if _POSSESSIVE_GROUP.search(line)
    ]
    assert [] == found
