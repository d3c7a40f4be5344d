"""The entry signature of a program, as the column `entry_signature` has it: the leaves of parameters and output."""

import re
from functools import lru_cache
from typing import NamedTuple

LEAF = re.compile(r"(?P<type>[a-z][a-z0-9]*)\[(?P<dims>[^\]]*)\]")


class Signature(NamedTuple):
    """The leaves of the parameters and of the output of a program, such as `f32[32,512]`, in their order."""

    parameters: tuple[str, ...]
    output: tuple[str, ...]


@lru_cache(1 << 12)
def read_signature(text: str) -> Signature:
    """Read a signature in the form of `entry_signature`: `(f32[8], s32[])->(f32[8])`."""
    inside, _, output = text.partition(")->(")
    return Signature(*(tuple(found[0] for found in LEAF.finditer(side)) for side in (inside, output)))
