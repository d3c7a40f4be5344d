"""The module's graph and what keeps values alive, against module protos and module texts, read here once more."""

import itertools
import re
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from bufferhouse.dump import parse
from bufferhouse.dump.identity import content_of
from bufferhouse.ingest.in_memory import in_memory
from bufferhouse.proto import hlo_pb2
from bufferhouse.proto.assignment import opened_proto
from tests.command_line import CHECKOUT
from tests.models.readings import by_dump, oracle_dumps
from tests.samples import unpack

DATA = CHECKOUT / "tests" / "data" / "protos"
ROLES = {
    "-buffer-assignment.txt": "allocations",
    "-buffer-assignment-values.txt": "values",
    "-live-range.txt": "live_range",
}
EDGES = "SELECT dump_id, instruction_name, operand_number, operand_name, opcode FROM marts.operands_v1"
KEPT = """
    SELECT dump_id, value_id, start_position, end_position, first_use_position, last_use_position, last_user_name,
        idle_from_position, idle_to_position, longest_idle_position_count, kept_by
    FROM marts.buffer_lifetimes_v2 ORDER BY dump_id, value_id
"""


class Graph:
    """A module by its proto: operands by name, roots of called computations, and the states of loop conditions."""

    def __init__(self, data: bytes) -> None:
        module = hlo_pb2.HloModule.FromString(opened_proto(data).hlo_module)
        read = [hlo_pb2.Computation.FromString(one) for one in module.computations]
        inside = {one.id: [hlo_pb2.Instruction.FromString(each) for each in one.instructions] for one in read}
        everything = [instruction for each in inside.values() for instruction in each]
        names = {one.id: one.name.decode() for one in everything}
        self.operands = {names[one.id]: [names[operand] for operand in one.operand_ids] for one in everything}
        self.roots = {names[one.root_id] for one in read if one.id != module.entry_computation_id}
        [self.entry_root] = [names[one.root_id] for one in read if one.id == module.entry_computation_id]
        conditions = {one.called_computation_ids[1] for one in everything if one.opcode == b"while"}
        self.states = {names[one.id] for each in conditions for one in inside[each] if one.opcode == b"parameter"}


def texts(root: Path) -> list[tuple[dict[str, bytes], Path]]:
    """The files of every dump below a directory, by role, and where what lies beside it begins."""
    found = []
    for path in sorted(root.rglob("*-buffer-assignment.txt")):
        stem = str(path).removesuffix("-buffer-assignment.txt")
        files = {role: Path(stem + end).read_bytes() for end, role in ROLES.items() if Path(stem + end).exists()}
        found.append((files if len(files) > 1 else {"combined": files["allocations"]}, Path(stem)))
    return found


def edges_by_dump(con) -> dict[int, dict[str, dict[int, str | None]]]:
    found = defaultdict(lambda: defaultdict(dict))
    for dump_id, name, number, operand, _ in con.sql(EDGES).fetchall():
        assert number not in found[dump_id][name]
        found[dump_id][name][number] = operand
    return found


def check_edges(operands: dict[str, list[str]], schedule: list[str], edges: dict) -> Counter:
    """Compare the graph of one dump with the operands that a module says; count edges, and those that are not told."""
    count = Counter()
    for name in {*edges, *schedule}:
        expected = dict(enumerate(operands[name]))
        found = edges.get(name, {})
        assert list(expected) == sorted(found), name
        untold = {number for number in found if found[number] is None}
        assert {n: o for n, o in expected.items() if n not in untold} == {
            n: o for n, o in found.items() if n not in untold
        }
        count.update(edges=len(expected), untold=len(untold))
    return count


def check_protos(root: Path) -> Counter:
    count = Counter()
    with in_memory([str(root)]) as con:
        edges, kept = edges_by_dump(con), by_dump(con, KEPT)
    for files, stem in texts(root):
        graph, dump = Graph(Path(f"{stem}.hlo.pb").read_bytes()), parse(files)
        dump_id = content_of(files).dump_id
        count += check_edges(graph.operands, dump.schedule, edges[dump_id])
        count += check_kept(graph, dump, {row[0]: row[-1] for row in kept[dump_id]})
        count["programs"] += 1
    return count


def check_kept(graph: Graph, dump, kept: dict[int, str]) -> Counter:
    """What is said to keep a value beyond its uses must be so in the module; and the other way round."""
    v, places = dump.values, iter(dump.positions.instruction)
    at = [{next(places) for _ in range(count)} for count in dump.positions.count]
    count = Counter()
    for value_id, definer, held in zip(v.value_id, v.instruction, at, strict=True):
        if value_id not in kept:
            continue
        if kept[value_id] == "computation":
            assert held & graph.roots or definer in graph.states
        elif kept[value_id] == "result":
            assert graph.entry_root in held
        else:
            assert graph.entry_root not in held or kept[value_id] == "argument"
        count[kept[value_id]] += 1
    return count


def test_the_graph_is_that_of_the_proto():
    """Each edge of the schedules of three programs, by three compilers."""
    count = check_protos(DATA)
    assert (3, 0) == (count["programs"], count["alias set"])
    assert (96, 0) == (count["edges"], count["untold"])


@pytest.mark.corpus
@pytest.mark.soak
def test_the_graph_is_that_of_every_proto_of_the_corpus(corpus, tmp_path):
    """99 programs of three compilers. Not told are some operands of calls, branches and bitcasts."""
    unpack(corpus / "proto.tar.gz", tmp_path)
    count = check_protos(tmp_path)
    print(count)
    assert (99, 0) == (count["programs"], count["alias set"])
    assert count["edges"] > 150 * count["untold"]


# %name = shape opcode(%operand, …): in shapes only `T(`, `S(` and the like stand before a bracket, in capitals.
_LINE = re.compile(r"^ +(?:ROOT )?%([^ ]+) = .*?[ )]([a-z][a-z0-9-]+)\((.*)$")


def operands_of_text(text: str) -> dict[str, list[str]]:
    """Operands of all instructions of a module text, read line by line."""
    found = {}
    for line in text.split("\n"):
        if match := _LINE.match(line):
            depth, end = 1, 0
            while depth:
                depth += {"(": 1, ")": -1}.get(match[3][end], 0)
                end += 1
            assert match[1] not in found
            found[match[1]] = re.findall(r"%([A-Za-z0-9_.-]+)", match[3][: end - 1])
    return found


@pytest.mark.corpus
# A build for CPU and one for TPU stay in the suite.
@pytest.mark.parametrize(
    "build",
    [
        pytest.param("jaxlib-0.9.0", marks=pytest.mark.soak),
        "jaxlib-0.10.0",
        "tpu-v5e-jaxlib-0.8.3-libtpu-0.0.33",
    ],
)
def test_the_graph_is_that_of_the_module_text(corpus, tmp_path, build):
    """Each edge of every program of three builds, CPU and TPU, against the module text beside the dump."""
    for part in (build, f"{build}-hlo"):
        unpack(corpus / "builds" / f"{part}.tar.gz", tmp_path)
    with in_memory([str(tmp_path)]) as con:
        edges = edges_by_dump(con)
    count = Counter()
    for files, stem in texts(tmp_path):
        module = Path(f"{stem}.txt")
        if module.exists():
            operands = operands_of_text(module.read_bytes().decode())
            count += check_edges(operands, parse(files).schedule, edges[content_of(files).dump_id])
            count["programs"] += 1
    print(build, count)
    assert count["programs"] >= 46
    assert count["edges"] > 100 * count["untold"]


def test_lifetimes_are_those_of_brute_force(example, fleet):
    """Of each value of the example fleet: its moments of need, the longest stretch between two, its last user."""
    found = by_dump(example, KEPT)
    checked = 0
    for dump_id, dump in oracle_dumps(example, fleet).items():
        expected = moments_of(dump)
        assert expected == [row[:-1] for row in found.get(dump_id, [])]
        checked += len(expected)
    assert checked > 4000


def moments_of(dump: dict) -> list[tuple]:
    lines = {name: line for line, name in enumerate(dump["schedule"] or [])}
    local = {one["index"] for one in dump["allocations"] if one["is_thread_local"]}
    rows = []
    for value_id, value in sorted(dump["values"].items()):
        if value["live_range"] is None or value["allocation"] in local:
            continue
        start, end = value["live_range"]
        users = sorted((min(lines[n], end), lines[n], n) for n, _, _ in value.get("uses") or [] if n in lines)
        at = [start, *sorted({place for place, _, _ in users})]
        gaps = [(later - sooner, -sooner) for sooner, later in itertools.pairwise(at)]
        longest, begin = max(gaps, default=(None, None))
        last = at[-1] if users else None
        rows.append(
            (
                value_id, start, end, at[1] if users else None, last,
                min((line, n) for place, line, n in users if place == last)[1] if users else None,
                -begin if users else None, longest - begin if users else None,
                max(longest - 1, 0) if users else None,
            )
        )  # fmt: skip
    return rows
