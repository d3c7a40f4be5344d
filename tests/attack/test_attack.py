"""The short form of every attack: what `make attack` does for minutes, in seconds."""

import importlib

import pytest

from tests.attack.__main__ import names

# `make attack` makes all of them, and longer. That agents are refused hostile statements, tests/agents/test_session.py
# says of two kinds, and the attack on SQL of all of them, at the doors that agents come to.
LONG = dict.fromkeys(("agents", "outputs", "mutants", "kills"), pytest.mark.soak)


@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param(one, marks=LONG.get(one, ())) for one in names()])
def test_nothing_is_let_through(name):
    """Each class of attack tries something, and nothing of it is let through."""
    counts = list(importlib.import_module(f"tests.attack.{name}").attack(True))
    assert counts
    assert {} == {count.name: count.let_through for count in counts if count.let_through}
    assert all(count.tried for count in counts)
