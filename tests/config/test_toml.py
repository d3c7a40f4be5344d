"""Where the values of a TOML text stand."""

import tomllib

import pytest

from bufferhouse.config.toml import place_of, places

TEXT = '''# a comment with [brackets] and "quotes
top = 1
[one]
a = "x # no comment"   # a comment
  b.c = 3
"d e" = [
    1, # [one, more]
    "]",
]
f = """
g = 4
"""
[one.deep]
h = { i = 1, "j" = { k = [1, 2] }, l = 'x}' }
[[many]]
m = 1
[[many]]
m = 2
[many.inner]
n = 3
'''


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (("top",), (2, 1)),
        (("one",), (3, 1)),
        (("one", "a"), (4, 1)),
        (("one", "b", "c"), (5, 3)),
        (("one", "d e"), (6, 1)),
        (("one", "d e", 0), (7, 5)),
        (("one", "d e", 1), (8, 5)),
        (("one", "f"), (10, 1)),
        (("one", "deep", "h"), (14, 1)),
        (("one", "deep", "h", "i"), (14, 7)),
        (("one", "deep", "h", "j", "k"), (14, 22)),
        (("one", "deep", "h", "j", "k", 1), (14, 30)),
        (("one", "deep", "h", "l"), (14, 36)),
        (("many", 0, "m"), (16, 1)),
        (("many", 1), (17, 1)),
        (("many", 1, "m"), (18, 1)),
        (("many", 1, "inner", "n"), (20, 1)),
    ],
    ids=str,
)
def test_a_key_is_found_where_it_stands(path, expected):
    """Line and column from 1, past comments, strings of any kind, brackets and inline tables."""
    tomllib.loads(TEXT)
    assert expected == place_of(places(TEXT), path)


def test_nothing_is_found_that_is_not_there():
    """Text inside a string is no key; an unknown key is looked for where its table stands."""
    found = places(TEXT)
    assert ("one", "g") not in found
    assert (3, 1) == place_of(found, ("one", "unknown"))
    assert (1, 1) == place_of(found, ("unknown",))
