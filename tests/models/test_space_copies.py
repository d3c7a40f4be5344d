"""Copies between memory spaces against module protos, what round trips save against brute force, and scoped memory."""

import re
from collections import Counter
from pathlib import Path

import pytest

from bufferhouse.dump.identity import content_of
from bufferhouse.ingest.in_memory import in_memory
from bufferhouse.proto import hlo_pb2
from bufferhouse.proto.assignment import opened_proto
from tests import oracle
from tests.command_line import CHECKOUT
from tests.models.brute_force import figures
from tests.models.readings import by_dump
from tests.models.test_module_graph import DATA, texts
from tests.samples import unpack

COPIES = """
    SELECT dump_id, instruction_name, opcode, source_memory_space, memory_space, value_id, source_value_id,
        copied_bytes, copy_position, done_position, is_asynchronous, source_end_position, return_position,
        away_position_count, saved_bytes
    FROM marts.space_copies_v1
"""
SCOPED = "SELECT instruction_name, is_used, memory_space, offset_bytes, size_bytes FROM marts.scoped_memory_v1"
MOVERS = {b"copy": 0, b"copy-start": 0, b"slice": 0, b"dynamic-slice": 0, b"dynamic-update-slice": 1}
TUPLE = 13


def copies_of_proto(data: bytes) -> Counter:
    """Instructions that move bytes, where the layouts of operand and result name two memory spaces."""
    module = hlo_pb2.HloModule.FromString(opened_proto(data).hlo_module)
    inside = [
        hlo_pb2.Instruction.FromString(each)
        for one in module.computations
        for each in hlo_pb2.Computation.FromString(one).instructions
    ]
    shapes = {one.id: one.shape for one in inside}
    found = Counter()
    for one in inside:
        if one.opcode in MOVERS:
            source = shapes[one.operand_ids[MOVERS[one.opcode]]]
            result = one.shape.tuple_shapes[0] if one.shape.element_type == TUPLE else one.shape
            spaces = source.layout.memory_space, result.layout.memory_space
            if TUPLE not in (source.element_type, result.element_type) and spaces[0] != spaces[1]:
                found[one.name.decode(), one.opcode.decode(), *spaces] += 1
    return found


def read(files: dict[str, bytes]) -> dict:
    text = {role: data.decode() for role, data in files.items()}
    if "combined" in text:
        return oracle.read_dump(text["combined"])
    return oracle.read_split(text["allocations"], text["values"], text["live_range"])


def check(root: Path) -> Counter:
    """Compare all copies below a directory with the protos there, and what they save with brute force."""
    with in_memory([str(root)]) as con:
        found = by_dump(con, COPIES)
    count = Counter()
    for files, stem in texts(root):
        rows, dump = found.get(content_of(files).dump_id, []), read(files)
        defined = {value["name"] for value in dump["values"].values()}
        proto = Path(f"{stem}.hlo.pb")
        if proto.exists():
            expected = Counter({key: n for key, n in copies_of_proto(proto.read_bytes()).items() if key[0] in defined})
            assert expected == Counter(row[:4] for row in rows)
            count["programs"] += 1
        lines = {name: line for line, name in enumerate(dump["schedule"] or [])}
        occupied, _ = figures(dump)
        for row in rows:
            check_times(row, dump["values"], lines)
            count["copies"] += 1
            count["asynchronous"] += row[9]
            if row[-1] is not None:
                check_saved(row, dump["values"], occupied)
                count.update(returned=1, saving=row[-1] > 0)
    return count


def check_times(row: tuple, values: dict, lines: dict[str, int]) -> None:
    """An asynchronous copy begins before it is done, at a start; any other is done where it begins, at its own line."""
    name, opcode, _, _, value_id, _, copied, begin, done, is_asynchronous, *_ = row
    at = [user for user, _, _ in values[value_id]["uses"]]
    if is_asynchronous:
        assert begin < done
        [done_name] = [user for user, line in lines.items() if line == done]
        assert done_name in at
        assert "-done" in done_name
    else:
        assert begin == done == lines.get(name)
        assert opcode != "copy-start"
    assert 0 < copied <= values[value_id]["size"] or opcode == "dynamic-update-slice"


def check_saved(row: tuple, values: dict, occupied: dict[int, list[tuple]]) -> None:
    """With the value where it was while it is away, the peak of the space is higher by what is said to be saved."""
    _, _, space, _, value_id, source_id, *_, returned, away, saved = row
    source_end = values[source_id]["live_range"][1]
    now = [moment[0] for moment in occupied[space]]
    kept = [
        taken + values[source_id]["size"] * (source_end < position < returned) for position, taken in enumerate(now)
    ]
    assert (max(0, returned - source_end - 1), max(kept) - max(now)) == (away, saved)
    assert value_id != source_id


def test_copies_are_those_of_the_proto():
    """Three programs by three compilers; that of TPU copies between HBM and VMEM."""
    count = check(DATA)
    assert 3 == count["programs"]
    assert count["copies"]


@pytest.mark.corpus
@pytest.mark.parametrize(
    ("archive", "expected"),
    [
        pytest.param("proto", {"programs": 99}, marks=pytest.mark.soak),  # three of them are looked at above
        ("whatif", {"saving": 10}),
        pytest.param("builds/tpu-v5e-jaxlib-0.4.38-libtpu-0.0.8", {}, marks=pytest.mark.soak),
    ],
)
def test_copies_of_the_corpus(corpus, tmp_path, archive, expected):
    """All copies against protos where there are any, all times and all that is saved against brute force."""
    unpack(corpus / f"{archive}.tar.gz", tmp_path)
    count = check(tmp_path)
    assert expected.items() <= count.items()
    assert count["asynchronous"]
    assert count["returned"]


@pytest.mark.corpus
def test_the_offload_of_the_corpus_saves_nothing(corpus, tmp_path):
    """Four activations of 16 MiB go to the host and are back at once: each is kept, or is away for no position."""
    unpack(corpus / "whatif.tar.gz", tmp_path)
    [variant] = tmp_path.glob("**/tpu-*/mlp_offload/variant")
    with in_memory([str(variant)]) as con:
        rows = con.execute("""
            SELECT copied_bytes, away_position_count, saved_bytes FROM marts.space_copies_v1
            WHERE source_memory_space = 0 AND memory_space = 5
        """).fetchall()
    assert [(16 << 20, 0, 0)] * 4 == rows


@pytest.mark.corpus
def test_scoped_memory_is_what_the_texts_say(corpus, tmp_path):
    """Every list in a backend_config of one TPU build, found here by another pattern in the whole text."""
    unpack(corpus / "builds" / "tpu-v5e-jaxlib-0.8.3-libtpu-0.0.33.tar.gz", tmp_path)
    expected = set()
    for path in tmp_path.rglob("*-buffer-assignment.txt"):
        for line in path.read_text().split("\n"):
            for mark, listed in re.findall(r'"(used_)?scoped_memory_configs":\[(\{[^]]*)\]', line):
                name = line.split("%", 1)[1].split(" ", 1)[0]
                numbers = map(int, re.findall(r':"?(\d+)', listed))
                expected.add((name, bool(mark), *numbers))
    with in_memory([str(tmp_path)]) as con:
        found = con.execute(SCOPED).fetchall()
    assert found
    assert expected == set(found)


def test_a_hostile_backend_config_is_unknown_and_stops_nothing(tmp_path):
    """Numbers too large, a sign, an entry that is none, the words in a name: what cannot be read is null or no row."""
    entries = (
        '{"memory_space":"1","offset":"64","size":"4096"},{"memory_space":"99999999999999999999","size":"-5"},'
        '{"size":"99999999999999999999"},"no entry"'
    )
    words = '", backend_config={\\"scoped_memory_configs\\":[{}]}"'
    config = f'{{"scoped_memory_configs":[],"x":{words},"used_scoped_memory_configs":[{entries}]}}'
    text = (CHECKOUT / "examples" / "fleet" / "seeds" / "000_f7d316536d8a2672.txt").read_text()
    changed, count = re.subn(r"( from instruction: ?%dynamic-slice[^\n]*)\n", rf"\1, backend_config={config}\n", text)
    assert count
    (tmp_path / "000.txt").write_text(changed)
    with in_memory([str(tmp_path)]) as con:
        found = con.execute(f"{SCOPED} ORDER BY ordinal").fetchall()
        assert [] == con.execute("SELECT * FROM raw.rejects").fetchall()
    expected = {(True, 1, 64, 4096), (True, None, None, None), (True, 0, None, None)}
    assert expected == {row[1:] for row in found}
