"""A dump written by hand that keeps every soft rule, and copies of it that each break one."""

from dataclasses import dataclass

TEXT = """\
BufferAssignment:
allocation 0: size 64, parameter 0, shape |f32[16]| at ShapeIndex {}:
 value: <0 p @0> (size=64,offset=0): f32[16]{0}
allocation 1: size 64, output shape is |f32[16]|, maybe-live-out:
 value: <5 sum @0> (size=64,offset=0): f32[16]{0}
allocation 2: size 4, thread-local:
 value: <7 x @0> (size=4,offset=0): f32[1]{0}
allocation 3: size 128, preallocated-temp:
 value: <1 early @0> (size=4,offset=0): f32[1]{0}
 value: <3 pair{0} @0> (size=64,offset=0): f32[16]{0}
 value: <4 pair{1} @0> (size=64,offset=64): f32[16]{0}
allocation 4: size 16, preallocated-temp:
 value: <2 pair{} @0> (size=16,offset=0): (f32[16]{0}, f32[16]{0})

Total bytes used: 276

Used values:
<0 p @0>
 positions:
  p
 uses:
  pair, operand 0
 from instruction: %p = f32[16]{0} parameter(0)
<1 early @0>
 positions:
  early
 uses:
  pair, operand 1
 from instruction: %early = f32[1]{0} custom-call()
<2 pair{} @0>
 positions:
  pair {}
 uses:
 from instruction: %pair = (f32[16]{0}, f32[16]{0}) custom-call(%p, %early)
<3 pair{0} @0>
 positions:
  pair {0}
 uses:
 from instruction: %pair = (f32[16]{0}, f32[16]{0}) custom-call(%p, %early)
<4 pair{1} @0>
 positions:
  pair {1}
 uses:
 from instruction: %pair = (f32[16]{0}, f32[16]{0}) custom-call(%p, %early)
<5 sum @0>
 positions:
  sum
 uses:
 from instruction: %sum = f32[16]{0} custom-call(%pair)
<7 x @0>
 positions:
  x
 uses:
 from instruction: %x = f32[1]{0} parameter(0)


HloLiveRange (max 4):
  InstructionSequence:
    0:p
    1:early
    2:pair
    3:sum
  BufferLiveRange:
    p{}:0-4
    early{}:1-1
    pair{}:2-3
    pair{0}:2-3
    pair{1}:2-3
    sum{}:3-4
  Live ranges at 3 (peak):
    p{}: 64 bytes (cumulative: 64 bytes)
    pair{0}: 64 bytes (cumulative: 128 bytes)
    pair{1}: 64 bytes (cumulative: 192 bytes)
    sum{}: 64 bytes (cumulative: 256 bytes)
    pair{}: 16 bytes (cumulative: 272 bytes)
"""
# Rail, label, share, total, current, remaining.
TREE = [
    ("    ", "main", "100.0", 272, 0, 272),
    ("      ├── ", "f", "76.5", 208, 80, 192),
    ("      │   └── ", "g", "47.1", 128, 128, 64),
    ("      └── ", "p", "23.5", 64, 64, 0),
]
SMALL_FIRST = [
    TREE[0],
    ("      ├── ", "p", "23.5", 64, 64, 208),
    ("      └── ", "f", "76.5", 208, 80, 128),
    ("          └── ", "g", "47.1", 128, 128, 0),
]
LARGER = [
    ("    ", "main", "100.0", 280, 0, 280),
    ("      ├── ", "f", "74.3", 208, 80, 200),
    ("      │   └── ", "g", "45.7", 128, 128, 72),
    ("      └── ", "p", "25.7", 72, 72, 0),
]


def tree_text(nodes: list[tuple]) -> str:
    """Return a stack trace breakdown as XLA prints it."""
    lines = [
        f"{rail}{label} ({share}%, total: {total} bytes, current: {current} bytes, remaining: {remaining} bytes)\n"
        for rail, label, share, total, current, remaining in nodes
    ]
    return f"  Stack trace breakdown for peak usage: {nodes[0][3]} bytes\n{''.join(lines)}"


def changed(*pairs: tuple[str, str], tree: list[tuple] = TREE) -> str:
    """Return the dump with some texts replaced wherever they stand."""
    text = TEXT + tree_text(tree)
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return text


def exchanged(first: str, second: str) -> str:
    """Return the dump with two of its lines in each other's place."""
    assert TEXT.count(first) == TEXT.count(second) == 1
    return changed((first, "\0"), (second, first), ("\0", second))


def files_of(text: str) -> dict[str, str]:
    """Return the dump in three files, by the end of their names, as XLA writes them since 2026-04."""
    head, values = text.split("\n\nTotal")
    values, ranges = values.split("\n\n\n")
    return {
        "-buffer-assignment.txt": f"{head}\n",
        "-buffer-assignment-values.txt": f"\nTotal{values}\n",
        "-live-range.txt": ranges,
    }


@dataclass(frozen=True)
class Breach:
    """A dump that breaks one rule: how often, and what the first row of `marts.warnings` says of it."""

    text: str
    count: int
    expected: str
    found: str
    is_split: bool = False


def table_in(memory_space: int) -> tuple[tuple[str, str], ...]:
    """Return the replacements that move the tuple table, and its allocation, to a memory space."""
    return ("<2 pair{} @0>", f"<2 pair{{}} @{memory_space}>"), ("size 16, pre", f"size 16, color {memory_space}, pre")


STRAY = ("(max 4)", "(max 5)"), ("    3:sum\n", "    3:sum\n    4:stray\n"), ("3-4\n", "3-4\n    stray{}:4-4\n")
BREACHES = {
    "slots_share_one_instant": Breach(
        changed(("offset=64", "offset=0")), 1,
        "bytes of allocation 3 free from 2", "value 4 in bytes taken until 3",
    ),
    "ranges_start_at_definers": Breach(
        changed(("p{}:0-4", "p{}:1-4"), ("pair{1}:2-3", "pair{1}:3-3")), 2, "a start at 0", "p{}:1-4"
    ),
    "tuple_tables_in_default_space": Breach(
        changed(*table_in(5)), 1, "a tuple table in memory space 0", "value 2 in 5"
    ),
    "thread_local_holds_one_value": Breach(
        changed(("128, preallocated-temp", "128, thread-local")), 1, "1 value in allocation 3", "3 values"
    ),
    "temps_stand_last": Breach(
        changed(("16, preallocated-temp", "16, maybe-live-out")), 1,
        "temporary allocations behind 4", "allocation 3",
    ),
    "one_output_shape": Breach(
        changed((", output shape is |f32[16]|", "")), 1, "one output shape", "0 output shapes"
    ),
    "ranges_in_value_order": Breach(
        exchanged("    pair{0}:2-3\n", "    pair{1}:2-3\n"), 1, "the live range of a value behind 4", "value 3"
    ),
    "values_lie_in_own_space": Breach(
        changed(("<5 sum @0>", "<5 sum @1>"), ("f32[16]{0}\nallocation 2", "f32[16]{0:S(1)}\nallocation 2")), 1,
        "memory space 0, that of allocation 1", "value 5 in 1",
    ),
    "layouts_name_own_space": Breach(
        changed(("offset=64): f32[16]{0}", "offset=64): f32[16]{0:S(1)}")), 1,
        "memory space 1, as in f32[16]{0:S(1)}", "value 4 in 0",
    ),
    "used_values_have_ranges": Breach(
        changed(("    early{}:1-1\n", "")), 1, "a live range of value 1", "none of early{}"
    ),
    "instruction_texts_agree": Breach(
        changed(("%early)\n<5", '%early), metadata={op_name="f"}\n<5')), 1, "one text of pair", "2 texts"
    ),
    "values_are_unique": Breach(
        changed(
            ("<7 x @0>", "<7 early @0>"), ("\n  x\n", "\n  early\n"),
            ("%x = f32[1]{0} parameter(0)", "%early = f32[1]{0} custom-call()"),
        ), 1, "one value early{}", "2 values",
    ),
    "peak_lines_sorted": Breach(
        changed(("    p{}: 64", "\0"), ("    pair{0}: 64", "    p{}: 64"), ("\0", "    pair{0}: 64")), 1,
        "a peak line that belongs behind pair{0}: 64", "p{}: 64",
    ),
    "stack_trace_shows_peak": Breach(changed(tree=LARGER), 1, "272 bytes", "280 bytes"),
    # The node is not what its parts are, and the root is not what its children are.
    "stack_trace_adds_up": Breach(
        changed(("76.5%, total: 208", "76.8%, total: 209")), 2,
        "208 bytes in all", "209 in node 1 of the stack trace",
    ),
    "stack_trace_sorted": Breach(
        changed(tree=SMALL_FIRST), 1,
        "at most 64 bytes, as in the node before", "208 in node 2 of the stack trace",
    ),
    "stack_trace_shares": Breach(changed(("76.5%", "76.7%")), 1, "76.5%", "76.7% in node 1 of the stack trace"),
    "split_ranges_name_values": Breach(
        changed(*STRAY), 1, "a live range of a used value", "stray{}", is_split=True
    ),
}  # fmt: skip
# What looks like a breach and is legal.
LEGAL = {
    "nothing": changed(),
    "a result that dies at once, in the bytes of another": changed(
        ("offset=64", "offset=0"), ("pair{1}:2-3", "pair{1}:2-2"),
        ("    pair{1}: 64 bytes (cumulative: 192 bytes)\n", ""),
        ("cumulative: 256 bytes", "cumulative: 192 bytes"), ("cumulative: 272 bytes", "cumulative: 208 bytes"),
        tree=[("    ", "main", "100.0", 208, 208, 0)],
    ),
    "a label of two lines": changed(("── g (", "── g\n    h (")),
    "a separate temporary memory space of a GPU": changed(("128, pre", "128, color 2, pre")),
    "a tuple table of a SparseCore": changed(*table_in(7)),
    "a parameter of a loop that is alive before its line": changed(
        ("<1 early @0>", "<1 early (phi) @0>"), ("f32[1]{0} custom-call()", "f32[1]{0} parameter(0)"), (":1-1", ":0-1")
    ),
    "a computation without a schedule": changed(("    1:early\n", "    1:other\n"), ("    early{}:1-1\n", "")),
    "an empty temporary allocation that stands first": changed(
        ("allocation 4:", "allocation 5:"), ("allocation 3:", "allocation 4:"),
        ("allocation 2:", "allocation 2: size 0, preallocated-temp:\nallocation 3:"),
    ),
    "temporaries of another memory space that stand first": changed(
        ("allocation 4:", "allocation 5:"), ("allocation 3:", "allocation 4:"),
        ("allocation 2:", "allocation 2: size 8, color 2, preallocated-temp:\nallocation 3:"),
        ("used: 276", "used: 284"),
    ),
    "headers of before 2019-12": changed(
        (", shape |f32[16]|", ""), (", output shape is |f32[16]|", "")
    ).split("\n\nTotal")[0] + "\n",
    "a range of an operand that has no value": changed(*STRAY, ("custom-call(%pair)", "custom-call(%pair, %stray)")),
}  # fmt: skip
