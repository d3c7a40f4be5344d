"""Dumps changed with their structure in mind, through parser, tables, models, checks, marts and back to bytes.

Some are damaged as in `tests.fuzz`, and seldom a dump any more. The others are dumps still, of a program that no
compiler would write: other slots and live ranges, numbers up to the limits of the format, odd names, escapes and
shapes. Whatever is accepted comes back byte for byte, and every mart can be read; the rest are rejects with a rule.
"""

import random
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime

from bufferhouse.dump.identity import content_of, read_file_name
from bufferhouse.ingest.batching import ReadBatch
from bufferhouse.ingest.parsed_batches import parse_batch
from bufferhouse.tabulate.tables import Sighting
from bufferhouse.warehouse.load import load
from bufferhouse.warehouse.restore import rendered, stored_frames
from bufferhouse.warehouse.warehouse import Warehouse
from tests.attack.counts import Count
from tests.fuzz import damaged
from tests.samples import of_fleet
from tests.synthetic import Slot, dump_text
from tests.warehouses import run_called

Files = dict[str, bytes]
MUTANTS, SHORT = 20_000, 300
_AT_ONCE = 250
_LARGEST_VICTIM = 30_000

NUMBERS = [0, 1, 7, 8, 127, 4096, 2**31 - 1, 2**31, 2**32, 2**40, 2**52, 2**53 - 1, 2**53]
BEYOND = ["9007199254740993", "9223372036854775807", "9223372036854775808", "9" * 30, "9" * 5000, "-1", "00", "1e9"]
ESCAPES = ["\\9", "\\8", "\\", "\\\\", "\\0", "\\000", "\\777", "\\400", "\\12", "\\n\\r\\t", "\\x41", "\\u0041", "\\'",
           '\\"', "\\303\\251", "\\377\\376", "\0", "\x1b[2J", "é", "\u202e", "\U0001f600", "%s", "{", "}", "'", "`",
           "<script>", "a" * 5000, "/".join(["jit(f)"] * 400), "\\" * 999, "transpose(" * 99]  # fmt: skip
SHAPES = ["f32[]", "f32[0]", "f32[9223372036854775807]", "f32[9223372036854775807,9223372036854775807]", "token[]",
          "opaque[]", "s4[3]{0:E(4)}", "f32[?]", "f32[<=5]{0}", "()", "(f32[], (s8[2]{0}, ()))", "<unknown shape>",
          "(" * 300 + "f32[]" + ")" * 300, "f32[" + ",".join(["2"] * 300) + "]", "b(f32[2]{0})", "zz9[1]",
          "f32[8,128]{1,0:T(8,128)(2,1)S(1)}", "f32[8]{0:T(0)}", "f32[3]{0:T(9223372036854775807)}",
          "f32[2]{0:T(8)L(9223372036854775807)}", "f32[2]{1}", "f32[2,2]{0,0}", "bf16[5]{0:T(*)E(9223372036854775807)}",
          "f32[16]{0:SC(0:8)S(5)}", "u8[1]{0:P(u8[1]{0})}", "pred[1]{0:M(9223372036854775807)}"]  # fmt: skip

_NUMBER = re.compile(rb"[0-9]+")
_SLOT = re.compile(rb"\(size=([0-9]+),offset=([0-9]+)\): ([^\n]+)")


def _replaced(dice: random.Random, data: bytes, pattern: re.Pattern[bytes], new: Callable[[re.Match], bytes]) -> bytes:
    """Replace one match of a pattern."""
    places = list(pattern.finditer(data))
    if not places:
        return data
    match = dice.choice(places)
    return data[: match.start()] + new(match) + data[match.end() :]


def other_number(dice: random.Random, data: bytes) -> bytes:
    """Change one number anywhere."""
    return _replaced(dice, data, _NUMBER, lambda _: str(dice.choice([*NUMBERS, *BEYOND])).encode())


def other_slot(dice: random.Random, data: bytes) -> bytes:
    """Put one value elsewhere: the format allows any slot."""
    size, offset = dice.choice(NUMBERS), dice.choice(NUMBERS)
    return _replaced(dice, data, _SLOT, lambda match: b"(size=%d,offset=%d): %s" % (size, offset, match[3]))


def other_shape(dice: random.Random, data: bytes) -> bytes:
    """Give one value another shape."""
    shape = dice.choice(SHAPES).encode()
    return _replaced(dice, data, _SLOT, lambda match: b"(size=%s,offset=%s): %s" % (match[1], match[2], shape))


def other_name(dice: random.Random, data: bytes) -> bytes:
    """Rename one instruction wherever it stands."""
    names = re.findall(rb"<[0-9]+ ([A-Za-z_][\w.\-]*)", data)
    if not names:
        return data
    new = dice.choice([b"_" * 60_000, b"a.b-c.1", b"positions", b"x" * 300, b"__XlaMustCompile", b"uses"])
    return re.sub(rb"(?<![\w.\-])" + re.escape(dice.choice(names)) + rb"(?![\w.\-])", new, data)


def other_id(dice: random.Random, data: bytes) -> bytes:
    """Give one value another id wherever it stands."""
    ids = re.findall(rb"<([0-9]+) ", data)
    if not ids:
        return data
    new = str(dice.choice([*NUMBERS, 2**63 - 1])).encode()
    return data.replace(b"<" + dice.choice(ids) + b" ", b"<" + new + b" ")


def other_metadata(dice: random.Random, data: bytes) -> bytes:
    """Give one instruction other metadata, with escapes and odd bytes."""
    cells = ["".join(dice.choices(ESCAPES, k=dice.randint(1, 3))) for _ in range(3)]
    line = dice.choice(["1", "0", "-1", "9" * 18, "9" * 19, "x"])
    metadata = f', metadata={{op_type="{cells[0]}" op_name="{cells[1]}" source_file="{cells[2]}" source_line={line}}}'
    new = metadata.encode() if dice.random() < 0.9 else metadata.encode("latin-1", "replace")
    return _replaced(dice, data, re.compile(rb"(?<=\))(?:, metadata=\{[^\n]*)?(?=\n)"), lambda _: new)


def other_flags(dice: random.Random, data: bytes) -> bytes:
    """Give one allocation another memory space, page, parameter or kind."""
    space = b"" if dice.random() < 0.5 else b", color %d" % dice.choice(NUMBERS[1:])
    flag = dice.choice(
        [b", constant", b", thread-local", b", maybe-live-out", b", preallocated-temp",
         b", parameter %d, shape |f32[4]| at ShapeIndex {%d}" % (dice.choice(NUMBERS), dice.choice(NUMBERS)),
         b", output shape is |(f32[], s32[2])|, maybe-live-out", b", constant, thread-local, maybe-live-out"]
    )  # fmt: skip
    header = re.compile(rb"(?<=\n)(allocation [0-9]+: (?:0x[0-9a-f]+, )?size [0-9]+)[^\n]*:(?=\n)")
    return _replaced(dice, data, header, lambda match: match[1] + space + flag + b":")


def other_line(dice: random.Random, data: bytes) -> bytes:
    """Double a line, swap two, or move one."""
    lines = data.split(b"\n")
    one, other = dice.randrange(len(lines)), dice.randrange(len(lines))
    if dice.random() < 0.5:
        lines[one], lines[other] = lines[other], lines[one]
    else:
        lines.insert(other, lines[one])
    return b"\n".join(lines)


STRUCTURED = (other_slot, other_slot, other_shape, other_shape, other_metadata, other_metadata, other_flags, other_name,
              other_id, other_number, other_line)  # fmt: skip


def program(dice: random.Random) -> bytes:
    """Return a dump of some values anywhere, alive at any time."""
    count = dice.choice([1, 2, 5, 20, 60])
    largest = dice.choice([2, 8, 64, 2**20, 2**44])
    slots = []
    for _ in range(count):
        start = dice.randrange(count + 1)
        slots.append(
            Slot(
                start, dice.randint(start, count), dice.randrange(largest), dice.randint(0, largest),
                dice.randrange(3), dice.choice([None, None, *SHAPES[:12]]),
            )
        )  # fmt: skip
    flags = [", preallocated-temp", ", maybe-live-out", ", constant", ", thread-local", ", color 1, preallocated-temp"]
    return dump_text(slots, [dice.choice(flags) for _ in range(3)])


def mutant(dice: random.Random, victims: list[Files]) -> Files:
    """Return one more input."""
    kind = dice.random()
    files = dict(dice.choice(victims)) if kind < 0.8 else {"combined": program(dice)}
    if kind < 0.4:
        return damaged(dice, files)
    for _ in range(dice.choice([0, 1, 1, 2, 3]) if kind >= 0.8 else dice.choice([1, 1, 2, 4])):
        role = dice.choice(sorted(files))
        files[role] = dice.choice(STRUCTURED)(dice, files[role])
    return files


def attack(is_short: bool) -> Iterator[Count]:
    """Load mutants by the hundreds, each batch into a warehouse of its own, and read all that came of them."""
    dice = random.Random(18)
    victims = [sample.files for sample in of_fleet() if sum(map(len, sample.files.values())) < _LARGEST_VICTIM]
    count, accepted = Count("mutants of dumps, from bytes to marts and back"), 0
    for start in range(0, SHORT if is_short else MUTANTS, _AT_ONCE):
        size = min(_AT_ONCE, (SHORT if is_short else MUTANTS) - start)
        accepted += _tried([mutant(dice, victims) for _ in range(size)], count)
    yield count
    reached = Count("a third of them reached the models")
    reached.attempt(f"{accepted} of {count.tried}", accepted * 3 > count.tried)
    yield reached


def _tried(mutants: list[Files], count: Count) -> int:
    """Load mutants; count each, and return how many were accepted."""
    batch = ReadBatch()
    for number, files in enumerate(mutants):
        content, size = content_of(files), sum(map(len, files.values()))
        path = f"module_{number}.jit_f.cpu_after_optimizations-buffer-assignment.txt"
        sighting = Sighting("run", path, f"/run/{path}", size, 0, content, read_file_name(path), size, files)
        batch.sightings.append(sighting)
        batch.new.setdefault(content.dump_id, sighting)
    expected: Mapping[int, Files] = {content_of(files).dump_id: files for files in mutants}
    try:
        with Warehouse(None) as warehouse:
            loaded = load(warehouse, parse_batch(batch), {"run": run_called("run")}, datetime.now(UTC))
            refused = {sighting.content.dump_id: refusal for sighting, refusal in loaded.rejects}
            back = {one.dump_id: one for one in rendered(stored_frames(warehouse.con, [*expected - refused.keys()]))}
            _read_marts(warehouse)
    except Exception as error:
        count.attempt(f"a batch from number {count.tried} on: {type(error).__name__}: {error}", False)
        return 0
    for line in loaded.unreadable:
        count.attempt(line, False)
    for dump_id, files in expected.items():
        refusal, one = refused.get(dump_id), back.get(dump_id)
        is_refused = refusal is not None and not refusal.rule.startswith("internal") and refusal.rule != "reader"
        is_same = one is not None and one.files == files
        what = f"{refusal.rule}: {refusal}" if refusal else f"{one.fault if one else 'lost'}"
        count.attempt(f"{what} {_beginning(files)}", is_refused or is_same)
    return len(back)


def _beginning(files: Files) -> str:
    return repr({role: data[:100] for role, data in files.items()})


def _read_marts(warehouse: Warehouse) -> None:
    """Read every cell of every mart."""
    marts = warehouse.con.execute(
        "SELECT schema_name || '.' || view_name FROM duckdb_views() WHERE schema_name = 'marts' AND NOT internal"
    ).fetchall()
    for (mart,) in marts:
        warehouse.con.execute(f"SELECT COUNT(*), BIT_XOR(HASH(t)) FROM {mart} AS t").fetchall()
