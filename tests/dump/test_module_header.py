"""What a module text offers XLA to place outputs on, by its first line."""

import random
import re

import pytest

from bufferhouse.dump import DumpError
from bufferhouse.dump.module_header import Donation, read_donations

LAYOUT = ", entry_computation_layout={(f32[4]{0})->f32[4]{0}}"
HEADS = {
    "": [],
    ", input_output_alias={ {}: (0, {}, may-alias) }": [(0, "{}", "{}", "may-alias")],
    ", input_output_alias={ {0}: (1, {}), {1, 2}: (0, {3}, must-alias) }": [
        (0, "{3}", "{1,2}", "must-alias"),
        (1, "{}", "{0}", "may-alias"),
    ],
    ", buffer_donor={ (0, {}), (2, {1}) }": [(0, "{}", None, "buffer-donor"), (2, "{1}", None, "buffer-donor")],
    ", input_output_alias={ {0}: (0, {}, may-alias) }, buffer_donor={ (0, {}), (1, {}) }": [
        (0, "{}", "{0}", "may-alias"),
        (1, "{}", None, "buffer-donor"),
    ],
}


def head(attributes: str) -> bytes:
    return f"HloModule jit_f, is_scheduled=true{attributes}{LAYOUT}\n\nENTRY main {{\n".encode()


@pytest.mark.parametrize("attributes", HEADS)
def test_donations_are_read_as_printed(attributes):
    """Aliases and donors, by parameter and leaf; a donor that is placed is an alias."""
    assert [Donation(*one) for one in HEADS[attributes]] == read_donations(head(attributes))


def test_only_the_head_of_a_module_tells():
    """Another text is none, and what the framework writes behind the layout says nothing."""
    assert read_donations(b"ENTRY main {\n") is None
    quoted = f'{LAYOUT}, frontend_attributes={{x=", buffer_donor={{ (0, {{}}) }}"}}\n'
    assert [] == read_donations(b"HloModule jit_f" + quoted.encode())


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        (", input_output_alias={ {}: (0, {}, no-alias) }", "an entry of input_output_alias such as"),
        (", buffer_donor={ (0, {}) (1, {}) }", "the next entry of buffer_donor, or its end"),
        (", buffer_donor={ (0, {", "an entry of buffer_donor such as"),
        (", input_output_alias={ {0}: (0, {}), {1}: (0, {}) }", "each leaf of a parameter once"),
        (", buffer_donor={ (12345678901234567890, {}) }", "an entry of buffer_donor such as"),
    ],
)
def test_a_damaged_line_is_refused_with_its_place(attributes, message):
    """Another word, a lost comma, a cut, a leaf that is placed twice, a number beyond all."""
    with pytest.raises(DumpError, match=rf"^1:\d+: expected {re.escape(message)}"):
        read_donations(head(attributes))


def test_a_damaged_line_says_nothing_else():
    """2,000 lines with a character changed or a piece cut out: refused, or each number stands in the line."""
    rng = random.Random(7)
    for number in range(2000):
        line = bytearray(head(list(HEADS)[number % len(HEADS)]))
        place = rng.randrange(10, len(line))
        if number % 2:
            line[place] = rng.randrange(32, 127)
        else:
            del line[place : place + rng.randint(1, 9)]
        try:
            found = read_donations(bytes(line))
        except DumpError:
            continue
        text = bytes(line).decode()
        for one in found or ():
            assert f"({one.parameter_number}, {one.parameter_shape_index}" in text.replace(", 2}", ",2}")
