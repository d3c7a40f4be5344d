"""Real dumps, damaged at random: `python -m tests.fuzz --mutations 20000`; and inputs written to keep a reader busy.

Whatever the bytes, the reader has two answers: a dump that is written back to exactly these bytes, or a `DumpError`
with a place inside the input. Any other exception, and any byte lost, is a bug; the input is kept for the test.
`--hostile 100` times the reader on inputs of 100 MB each: it has to stay linear, whatever they hold.
"""

import argparse
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from bufferhouse.dump import DumpError, parse, render
from bufferhouse.dump.columns import decode
from tests.samples import of_fleet

# What stands in dumps, what nearly does, and what breaks readers.
PIECES = [
    b"\n", b"\n\n", b"\r", b"\r\n", b" ", b"  ", b"\t", b"\0", b"\xff", b"\xe2\x94", b"\xef\xbb\xbf", b"<", b">", b"{}",
    b"{0}", b"{", b"}", b'"', b"\\", b"(", b")", b"|", b":", b": ", b",", b"%", b" @0", b" @1", b" (phi)", b"0", b"00",
    b"-0", b"-1", b"9" * 19, b"9" * 20, b"9" * 5000, b"9223372036854775807", b"9223372036854775808",
    b"9007199254740992", b"9007199254740993", b"allocation 0: size 0, constant:\n", b", color 0", b", color 1",
    b", page 0", b", page -0", b", page -1", b", parameter 0 at ShapeIndex {}", b", shape ||", b", constant",
    b", thread-local", b", maybe-live-out", b", preallocated-temp", b" value: ", b" (size=0,offset=0): f32[]\n",
    b" reused by buffers of a different color:\n", b"  value: <1 a @0> (color=0)\n", b" positions:\n", b" uses:\n",
    b"  (none)\n", b" uses are not initialized yet.\n", b" from instruction: %a = ", b" from instruction:%a = ",
    b", operand 0", b"\nTotal bytes used: 0\n", b"\nUsed values:\n", b"\n\nHloLiveRange (max 0):\n",
    b"HloLiveRange (max ", b"  InstructionSequence:\n", b"  BufferLiveRange:\n", b"  Live ranges at 0 (peak):\n",
    b" (cumulative: 0 bytes)", b"  Peak memory could not be determined due to unbounded dynamic shape.\n",
    b"HloLiveRange not available (finalized or constructed from proto)",
    b"  Stack trace breakdown for peak usage: 0 bytes\n", "    └── ".encode(), "  │   ├── ".encode(),
    b" (100.0%, total: 0 bytes, current: 0 bytes, remaining: 0 bytes)\n", b"backend_config={", b", metadata={op_name=",
]  # fmt: skip


def span(dice: random.Random, data: bytes) -> tuple[int, int]:
    """Return the ends of a piece of the data: some bytes, or some lines."""
    if dice.random() < 0.5:
        start = dice.randint(0, len(data))
        return start, min(len(data), start + dice.choice([1, 1, 1, 2, 3, 5, 8, 13, 40, 200]))
    start = data.rfind(b"\n", 0, dice.randint(0, len(data))) + 1
    end = start
    for _ in range(dice.choice([1, 1, 1, 2, 3, 6])):
        end = data.find(b"\n", end) + 1 or len(data)
    return start, end


def deleted(dice: random.Random, data: bytes) -> bytes:
    start, end = span(dice, data)
    return data[:start] + data[end:]


def doubled(dice: random.Random, data: bytes) -> bytes:
    start, end = span(dice, data)
    return data[:end] + data[start:]


def swapped(dice: random.Random, data: bytes) -> bytes:
    (a, b), (c, d) = sorted([span(dice, data), span(dice, data)])
    c = max(b, c)
    d = max(c, d)
    return data[:a] + data[c:d] + data[b:c] + data[a:b] + data[d:]


def moved(dice: random.Random, data: bytes) -> bytes:
    start, end = span(dice, data)
    rest = data[:start] + data[end:]
    at, _ = span(dice, rest)
    return rest[:at] + data[start:end] + rest[at:]


def inserted(dice: random.Random, data: bytes) -> bytes:
    at, _ = span(dice, data)
    piece = dice.choice(PIECES) if dice.random() < 0.8 else dice.randbytes(dice.randint(1, 4))
    return data[:at] + piece + data[at:]


def replaced(dice: random.Random, data: bytes) -> bytes:
    start, end = span(dice, data)
    return data[:start] + dice.choice(PIECES) + data[end:]


def renumbered(dice: random.Random, data: bytes) -> bytes:
    """Change one digit: nearly always still a number, seldom still the right one."""
    places = [at for at in range(len(data)) if data[at] in b"0123456789"]
    at = dice.choice(places) if places else 0
    return data[:at] + str(dice.randint(0, 9)).encode() + data[at + 1 :]


def cut(dice: random.Random, data: bytes) -> bytes:
    return data[: dice.randint(0, len(data))]


DAMAGES = (deleted, doubled, swapped, moved, inserted, replaced, renumbered, cut)


def damaged(dice: random.Random, files: dict[str, bytes]) -> dict[str, bytes]:
    """Return the files of a dump with one to three damages in one of them."""
    role = dice.choice(sorted(files))
    data = files[role]
    for _ in range(dice.choice([1, 1, 1, 2, 3])):
        data = dice.choice(DAMAGES)(dice, data)
    return {**files, role: data}


def outcome(files: dict[str, bytes]) -> str:
    """Read files that may be anything; return `accepted` or `refused`.

    Raises:
        AssertionError: the reader lost a byte, or its error names no place in the input.
    """
    try:
        dump = parse(files)
    except DumpError as refusal:
        error = refusal
    else:
        assert render(dump) == files
        return "accepted"
    texts, _ = decode(files)
    lines = texts[error.role].split("\n")
    assert 1 <= error.line <= len(lines), f"line {error.line} of {len(lines)}"
    assert 1 <= error.column <= len(lines[error.line - 1]) + 1, f"column {error.column} in line {error.line}"
    assert error.expected
    assert error.found
    return "refused"


def used_values(*texts: str, glue: str = "\n", behind: str = "") -> bytes:
    """Return a dump of one allocation with a value v0, v1, … for each of the given instruction texts."""
    heads = [f"<{number} v{number} @0>" for number in range(len(texts))]
    blocks = [
        f"{head}\n positions:\n  v{number}\n uses:\n from instruction: {text}"
        for number, (head, text) in enumerate(zip(heads, texts, strict=True))
    ]
    lines = [f" value: {head} (size=0,offset=0): f32[]\n" for head in heads]
    return (
        f"BufferAssignment:\nallocation 0: size 0, constant:\n{''.join(lines)}\nTotal bytes used: 0\n\nUsed values:\n"
        f"{glue.join(blocks)}{glue}\n\nHloLiveRange (max 0):\n  InstructionSequence:\n  BufferLiveRange:\n"
        f"  Live ranges at 0 (peak):\n{behind}"
    ).encode()


FAKE_HEAD = "\n<1 v1 @0>\n positions:\n  v1\n uses:\n"
FAKE_MARK = "\n\nHloLiveRange (max 0):\n"
FAKE_SUFFIX = " (1.0%, total: 1 bytes, current: 1 bytes, remaining: 1 bytes)"
TRACE = "  Stack trace breakdown for peak usage: 0 bytes\n    "


def filled(piece: str, size: int) -> str:
    return piece * (size // len(piece))


def first_text(text: str, glue: str = "\n") -> bytes:
    return used_values(text, "%v = b()", glue=glue)


def thousand_texts(start: str, piece: str, size: int, last: str = "%v = b()") -> bytes:
    return used_values(*[start + filled(piece, size // 1000)] * 1000, last)


def behind_peak(text: str) -> bytes:
    return used_values("%v = b()", behind=text)


def in_allocations(text: str) -> bytes:
    return f"BufferAssignment:\n{text}".encode()


# Inputs of about n bytes, each made to bring some loop of the reader to run over it again and again.
HOSTILE: dict[str, Callable[[int], bytes]] = {
    "a valid dump of many values": lambda n: used_values(*["%v = f32[] add(%a)"] * (n // 120)),
    "angle brackets in a glued line": lambda n: first_text("%v = " + filled("<", n), glue=""),
    "broken heads in a glued line": lambda n: first_text("%v = " + filled("<1 v1 @0", n), glue=""),
    "heads in a glued line": lambda n: first_text("%v = " + filled("<1 v1 @0>", n), glue=""),
    "lines of angle brackets": lambda n: first_text("%v = " + filled("<\n", n)),
    "fake heads in open braces": lambda n: first_text("%v = {" + filled(FAKE_HEAD, n)),
    "fake heads in closed braces": lambda n: first_text("%v = {" + filled(FAKE_HEAD, n) + "}"),
    "fake heads behind an instruction": lambda n: first_text("%v = b()" + filled(FAKE_HEAD, n)),
    "fake ends in open braces": lambda n: used_values("%v = {" + filled(FAKE_MARK, n)),
    "an open quote in every text": lambda n: thousand_texts('%v = "\n', '\\"', n),
    "an open brace in every text": lambda n: thousand_texts("%v = {\n", "()x[", n),
    "braces closed at the end alone": lambda n: thousand_texts("%v = {\n", "x", n, last="%v = " + "}" * 1000),
    "escaped quotes to the end": lambda n: used_values("%v = \n()", '%v = "' + filled('\\"', n)),
    "deep braces": lambda n: used_values(f"%v = b(), backend_config={filled('{', n)}\n}}"),
    "deep and closed braces": lambda n: used_values(f"%v = b(), backend_config={'{' * (n // 2)}\n{'}' * (n // 2)}"),
    "line feeds behind a config": lambda n: first_text("%v = b(), backend_config={}" + filled("\n", n)),
    "line feeds before a config": lambda n: first_text("%v = b(), backend_config=" + filled("\n", n) + "{}"),
    "comments behind a config": lambda n: first_text("%v = b(), backend_config={}" + filled("\n/*", n)),
    "one line of headers": lambda n: in_allocations(filled("allocation 0: size 1, parameter 0, shape |", n)),
    "one line of values": lambda n: in_allocations(filled(" value: <1 a> (size=1,offset=0): ", n)),
    "one line of other colors": lambda n: in_allocations(filled("  value: <1 a", n)),
    "one line of digits": lambda n: in_allocations(f"allocation 0: size {filled('9', n)}"),
    "one line of spaces": lambda n: in_allocations(filled(" ", n)),
    "line feeds": lambda n: in_allocations(filled("\n", n) + "x"),
    "tabs before nothing": lambda n: b"\t" * n,
    "spaces for positions": lambda n: used_values("%v = b()").replace(b"  v\n", b" " * n + b"\n"),
    "positions without uses": lambda n: used_values("%v = b()").replace(b" uses:\n", b"  v\n" * (n // 4)),
    "spaces for a peak line": lambda n: behind_peak(filled(" ", n)),
    "lines of spaces for peak lines": lambda n: behind_peak(filled("    \n", n)),
    "fake suffixes in one label": lambda n: behind_peak(TRACE + filled(FAKE_SUFFIX, n)),
    "fake suffixes in many lines": lambda n: behind_peak(TRACE + filled(FAKE_SUFFIX + "\n", n)),
    "opened suffixes in one label": lambda n: behind_peak(TRACE + filled(" (1", n) + "\n"),
    "digits in groups": lambda n: behind_peak(TRACE.replace("0 bytes", filled(" 000", n))),
}


def time_hostile(megabytes: int) -> None:
    """Print the seconds the reader needs for each hostile input."""
    for name, build in HOSTILE.items():
        data = build(megabytes * 1_000_000)
        started = time.monotonic()
        result = outcome({"combined": data})
        print(f"{name:40} {len(data) / 1e6:6.1f} MB {result:8} {time.monotonic() - started:6.2f} s", flush=True)


def main() -> int:
    """Damage dumps until one breaks the reader, or until all mutations are done; return 1 or 0."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mutations", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, default=Path("build/fuzz"), help="where an input that breaks it is kept")
    parser.add_argument("--hostile", type=int, metavar="MB", help="time inputs of this size instead")
    options = parser.parse_args()
    if options.hostile:
        time_hostile(options.hostile)
        return 0
    dice = random.Random(options.seed)
    victims = [sample.files for sample in of_fleet()]
    weights = [1 / (2_000 + sum(map(len, files.values()))) for files in victims]
    counts: Counter[str] = Counter()
    started = time.monotonic()
    for number in range(options.mutations):
        files = damaged(dice, dice.choices(victims, weights)[0])
        try:
            counts[outcome(files)] += 1
        except Exception:
            traceback.print_exc()
            options.keep.mkdir(parents=True, exist_ok=True)
            for role, data in files.items():
                (options.keep / f"{options.seed}-{number}.{role}").write_bytes(data)
            print(f"mutation {number} of seed {options.seed} broke the reader; its input is in {options.keep}")
            return 1
    seconds = time.monotonic() - started
    print(f"{options.mutations} mutations: {counts['accepted']} accepted, {counts['refused']} refused, {seconds:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
