"""Protos against the texts of the same compilations, figures of the compiler, and damage of all kinds."""

import json
import random
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from bufferhouse.dump import parse
from bufferhouse.dump.instruction_text import read
from bufferhouse.proto import ProtoError
from bufferhouse.proto.alias_sets import alias_sets
from bufferhouse.proto.assignment import opened_proto, read_assignment
from bufferhouse.proto.dump import read_proto_dump
from bufferhouse.proto.errors import MOST_ASSIGNMENT_BYTES
from bufferhouse.proto.heap import heap_events
from tests.command_line import CHECKOUT

DATA = CHECKOUT / "tests" / "data" / "protos"
ROLES = {
    "-buffer-assignment.txt": "allocations",
    "-buffer-assignment-values.txt": "values",
    "-live-range.txt": "live_range",
}
NO_TEXT = ("uses_state", "instruction_text")  # of a value: only a text has the first, and the second whole
WRITTEN = ("instruction_name", "opcode", "op_name", "source_file", "source_line", "custom_call_target", "result_shape",
           "operands")  # fmt: skip


def pairs(files: dict[str, bytes]) -> list[tuple[str, bytes, dict[str, bytes]]]:
    """Name, proto and text of each program among files."""
    found = []
    for name in sorted(files):
        if name.endswith("after_optimizations.hlo.pb"):
            stem = name.removesuffix(".hlo.pb")
            text = {role: files[stem + end] for end, role in ROLES.items() if stem + end in files}
            found.append((name, files[name], text if len(text) > 1 else {"combined": text["allocations"]}))
    return found


def committed() -> list[tuple[str, bytes, dict[str, bytes]]]:
    return pairs({str(path.relative_to(DATA)): path.read_bytes() for path in DATA.rglob("*") if path.is_file()})


def columns(table: object, without: tuple[str, ...] = ()) -> dict[str, list]:
    return {name: getattr(table, name) for name in table.__slots__ if name not in without}


def check_equal(data: bytes, text: dict[str, bytes]) -> None:
    printed, found = parse(text), read_proto_dump(data).dump
    assert columns(printed.allocations) == columns(found.allocations)
    assert columns(printed.values, NO_TEXT) == columns(found.values, NO_TEXT)
    assert printed.total_bytes == found.total_bytes or printed.total_bytes is None
    one, other = (read(list(dict.fromkeys(dump.values.instruction_text))) for dump in (printed, found))
    assert [getattr(one, name) for name in WRITTEN] == [getattr(other, name) for name in WRITTEN]


@pytest.mark.parametrize("number", range(3))
def test_a_proto_is_the_dump_that_its_text_is(number):
    """Of three compilers: all columns of allocations and values, and what can be read in the instructions."""
    _, data, text = committed()[number]
    check_equal(data, text)


@pytest.mark.corpus
def test_every_proto_of_the_corpus_is_what_its_text_is(corpus):
    """99 programs of three compilers; of 64 memory_analysis() told the peak, which the proto gives to the byte."""
    with tarfile.open(corpus / "proto.tar.gz") as archive:
        files = {m.name: archive.extractfile(m).read() for m in archive if m.isfile()}
    found = pairs(files)
    told = same = 0
    for name, data, text in found:
        check_equal(data, text)
        build, program = name.split("/")[-3:-1]
        said = json.loads(files[f"proto/{build}/memory_analysis.json"]).get(program, {}).get("memory_analysis", {})
        if "peak_memory_in_bytes" in said:
            told += 1
            same += said["peak_memory_in_bytes"] == peak(data, is_static=build.startswith("cpu"))
    assert (99, 64, 64) == (len(found), told, same)


def peak(data: bytes, *, is_static: bool) -> int:
    """What `ComputePeakMemory` gives: the largest buffer of each allocation that is no temporary, and the replay."""
    assignment = read_assignment(opened_proto(data).buffer_assignment)
    a, largest = assignment.allocations, {}
    for value, place in zip(assignment.slots.value_id, assignment.slots.allocation_index, strict=True):
        largest[place] = max(largest.get(place, 0), assignment.buffers[value][0])
    stays = [
        not local and (constant or live or number is not None)
        for local, constant, live, number in zip(
            a.is_thread_local, a.is_constant, a.is_maybe_live_out, a.parameter_number, strict=True
        )
    ]
    static = sum(size for place, size in largest.items() if stays[place])
    return static + (0 if is_static else max((heap_events(assignment) or [[0]] * 9)[8]))


def replayed(events: list[tuple[int, int, int]]) -> list[tuple]:
    """The rows of heap events of values 1 to 3, of 100, 60 and 5 bytes: kind, value and whose bytes it shares."""
    from bufferhouse.proto import hlo_pb2 as hlo

    message = hlo.BufferAssignment(
        logical_buffers=[hlo.LogicalBuffer(id=n, size=size) for n, size in ((1, 100), (2, 60), (3, 5))],
        buffer_allocations=[
            hlo.BufferAllocation(size=105, assigned=[hlo.Assigned(logical_buffer_id=n) for n in (1, 2, 3)])
        ],
        heap_simulator_traces=[
            hlo.HeapTrace(
                events=[hlo.HeapEvent(kind=k, buffer_id=n, share_with_canonical_id=owner) for k, n, owner in events]
            )
        ],
    )
    return list(zip(*heap_events(read_assignment(message.SerializeToString())), strict=True))


def test_a_replay_counts_shared_bytes_once():
    """One value is allocated, another shares its bytes and keeps them alive when the first is freed."""
    rows = replayed([(0, 1, 0), (2, 2, 1), (1, 1, 0), (0, 3, 0), (1, 2, 0), (1, 3, 0)])
    assert [100, 100, 100, 105, 5, 0] == [row[8] for row in rows]
    assert ["alloc", "share", "free", "alloc", "free", "free"] == [row[3] for row in rows]
    assert [100, 0, 0, 5, 100, 5] == [row[6] for row in rows]


def test_a_value_that_is_freed_twice_comes_again_when_it_is_allocated_twice():
    """As libtpu 0.0.52 fetches a value for two branches of a conditional; what never came to be is not freed."""
    rows = replayed([(0, 1, 0), (1, 1, 0), (1, 1, 0), (0, 1, 0), (0, 1, 0), (0, 3, 0), (1, 1, 0)])
    assert [100, 0, 0, 0, 100, 105, 5] == [row[8] for row in rows]
    with pytest.raises(ProtoError, match="expected a heap event that frees what was alive, found one that frees 2"):
        replayed([(0, 1, 0), (1, 2, 0)])


def test_values_of_an_alias_set_have_the_same_bytes():
    """In every set: the same allocation and offset, as the text says."""
    sets = 0
    for _, data, _ in committed():
        assignment = read_assignment(opened_proto(data).buffer_assignment)
        s = assignment.slots
        place = dict(zip(s.value_id, zip(s.allocation_index, s.offset_bytes, strict=True), strict=True))
        for first, value in zip(*alias_sets(assignment), strict=True):
            assert place[first] == place[value]
            sets += 1
    assert sets > 20


def everything(data: bytes) -> tuple:
    """What is stored of a proto that lies beside a text, and of one that is a dump."""
    assignment = read_assignment(opened_proto(data).buffer_assignment)
    return columns(assignment.allocations), columns(assignment.slots), heap_events(assignment), alias_sets(assignment)


def damaged(data: bytes, rng: random.Random) -> bytes:
    kind = rng.randrange(4)
    if kind == 0:
        return data[: rng.randrange(len(data))]
    found = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        place = rng.randrange(len(found))
        if kind == 1:
            found[place] = rng.randrange(256)
        elif kind == 2:
            del found[place : place + rng.randint(1, 9)]
        else:
            found[place:place] = rng.choice(
                [b"\xff" * 9 + b"\x01", b"\x1a\xff\xff\xff\xff\x07", b"\x22" * 200, b"\x00"]
            )
    return bytes(found)


def check_damage(count: int) -> tuple[int, int]:
    """Damage protos; each is refused, or is a buffer assignment whose numbers are numbers. Return how many of each."""
    rng, found = random.Random(5), committed()
    refused = taken = 0
    for number in range(count):
        data = damaged(found[number % 3][1], rng)
        for reader in (everything, read_proto_dump):
            try:
                result = reader(data)
            except ProtoError as error:
                refused += bool(error.expected and error.found)
                continue
            taken += 1
            sizes = result[1]["size_bytes"] if reader is everything else result.dump.values.size_bytes
            assert all(0 <= size <= 2**53 for size in sizes)
    return refused, taken


def test_damaged_protos_are_refused_or_read():
    """Nothing else happens: no other error, no hang."""
    refused, taken = check_damage(300)
    assert 600 == refused + taken
    assert min(refused, taken) > 50


@pytest.mark.soak
def test_many_damaged_protos_are_refused_or_read():
    """5,000 of them, by both readers."""
    refused, taken = check_damage(5000)
    assert 10_000 == refused + taken


HOSTILE = {
    "a length of gigabytes": b"\x1a\xff\xff\xff\xff\x0f" + b"\x00" * 100,
    "a buffer assignment with a length of gigabytes": b"\x1a\x07\x1a\xff\xff\xff\xff\x0f\x00",
    "a module with a length of gigabytes": b"\x0a\xff\xff\xff\xff\x07\x1a\x02\x1a\x00",
    "nothing": b"",
    "text": b"BufferAssignment:\nallocation 0: size 4, maybe-live-out:\n",
    "zeros": b"\x00" * 1000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_bytes_are_refused(name):
    """By both readers, with what was expected."""
    for reader in (everything, read_proto_dump):
        with pytest.raises(ProtoError, match="expected "):
            reader(HOSTILE[name])


def test_a_shape_nested_too_deep_is_refused():
    """A thousand tuples in one another, in the result of the program."""
    from bufferhouse.proto import hlo_pb2 as hlo

    shape = hlo.Shape(element_type=13).SerializeToString()
    for _ in range(1000):
        length = len(shape)
        prefix = bytes([length]) if length < 128 else bytes([length & 127 | 128, length >> 7])
        shape = b"\x10\x0d\x22" + prefix + shape
    _, data, _ = committed()[0]
    proto = hlo.Hlo.FromString(data)
    length = len(shape)
    inside = b"\x12" + bytes([length & 127 | 128, length >> 7]) + shape
    proto.hlo_module += b"\x22" + bytes([len(inside) & 127 | 128, len(inside) >> 7]) + inside
    with pytest.raises(ProtoError, match="damaged or cut"):
        read_proto_dump(proto.SerializeToString())


def test_too_much_is_refused_before_it_is_opened():
    """A buffer assignment beyond the limit, of the smallest messages there are."""
    with pytest.raises(ProtoError, match=f"at most {MOST_ASSIGNMENT_BYTES} bytes"):
        read_assignment(b"\x1a\x00" * (MOST_ASSIGNMENT_BYTES // 2 + 1))


@pytest.mark.soak
def test_the_worst_message_takes_bounded_memory():
    """The largest buffer assignment that is opened, of the smallest messages: less than 2 GB, and refused."""
    code = (
        "import resource\n"
        "from bufferhouse.proto.errors import MOST_ASSIGNMENT_BYTES, ProtoError\n"
        "from bufferhouse.proto.assignment import read_assignment\n"
        "resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))\n"
        "try:\n    read_assignment(b'\\x1a\\x00' * (MOST_ASSIGNMENT_BYTES // 2))\n"
        "except ProtoError as error:\n    print(error)\n"
    )
    outcome = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=CHECKOUT, check=False)
    assert "expected allocation 1, found allocation 0\n" == outcome.stdout, outcome.stderr


def test_the_reader_is_that_of_its_proto(tmp_path):
    """hlo_pb2.py is what protoc writes today for hlo.proto."""
    pytest.importorskip("grpc_tools")
    command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{CHECKOUT}", f"--python_out={tmp_path}"]
    subprocess.run([*command, "bufferhouse/proto/hlo.proto"], check=True, cwd=CHECKOUT)
    written = Path("bufferhouse", "proto", "hlo_pb2.py")
    assert (CHECKOUT / written).read_text() == (tmp_path / written).read_text()
