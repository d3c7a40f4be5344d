"""The short form of every attack: what `make attack` does for minutes, in seconds."""

import importlib

import pytest

from tests.attack.__main__ import names

LONG = dict.fromkeys(("outputs", "mutants", "kills"), pytest.mark.soak)  # `make attack` makes all of them, and longer


@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param(one, marks=LONG.get(one, ())) for one in names()])
def test_nothing_is_let_through(name):
    """Each class of attack tries something, and nothing of it is let through."""
    counts = list(importlib.import_module(f"tests.attack.{name}").attack(True))
    assert counts
    assert {} == {count.name: count.let_through for count in counts if count.let_through}
    assert all(count.tried for count in counts)
