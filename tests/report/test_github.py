"""Annotations of GitHub's checks: what they say is data, and ends no property."""

import pytest

from bufferhouse.report.text.github import annotation, place_of


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (None, (None, None)),
        ("/srv/train.py:7", ("/srv/train.py", 7)),
        ("/srv/train.py", ("/srv/train.py", None)),
        ("C:\\train.py", ("C:\\train.py", None)),
        ("<stdin>:1", ("<stdin>", 1)),
    ],
)
def test_a_source_is_a_file_with_a_line_or_without(source, expected):
    """As a dump names it."""
    assert expected == place_of(source)


def test_what_is_said_ends_no_property():
    """Neither the title nor the file does, nor the message the command."""
    said = annotation("error", "50 % more\nin a::b", title="a,b::c.lock", source="x,y:z%.py:7")
    assert "::error file=x%2Cy%3Az%25.py,line=7,title=a%2Cb%3A%3Ac.lock::50 %25 more\\nin a::b" == said
    assert "::notice file=train.py,title=t::m" == annotation("notice", "m", title="t", source="train.py")
    assert "::notice title=bufferhouse::m" == annotation("notice", "m")
