"""How much memory there is: of the machine, or of the container."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from bufferhouse.engine.limits import MIB, half_of_the_memory
from tests.command_line import run

# The same process, by the kernel's two ways to tell it: group, file and what it says.
GROUPS = {
    "version 1": ("4:cpu,cpuacct:/\n3:memory:/pod/one\n0::/\n", "memory/pod/one/memory.limit_in_bytes"),
    "version 1, of a group above": ("3:memory:/pod/one\n", "memory/pod/memory.limit_in_bytes"),
    "version 2": ("0::/pod/one\n", "pod/one/memory.max"),
    "version 2, of a group above": ("0::/pod/one\n", "pod/memory.max"),
    "in a container": ("0::/\n", "memory.max"),
    "in a container that sees the path of the machine": ("3:memory:/docker/abc\n", "memory/memory.limit_in_bytes"),
    "in a container that sees a path outside": ("0::/../one\n", "memory.max"),
}
BOUND = 512 * MIB
MACHINE = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


@pytest.mark.parametrize("name", GROUPS)
def test_a_container_bounds_the_memory(tmp_path: Path, name: str):
    """Whichever version tells it, and wherever above."""
    groups, file = GROUPS[name]
    (tmp_path / "groups").write_text(groups)
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text("12345678\n")
    assert 12345678 // 2 == half_of_the_memory(tmp_path / "groups", tmp_path)


@pytest.mark.parametrize("said", ["max\n", "9223372036854771712\n", ""])
def test_without_a_bound_it_is_that_of_the_machine(tmp_path: Path, said: str):
    """As where there are no control groups at all."""
    (tmp_path / "groups").write_text("0::/\n")
    (tmp_path / "memory.max").write_text(said)
    assert MACHINE // 2 == half_of_the_memory(tmp_path / "groups", tmp_path)
    assert MACHINE // 2 == half_of_the_memory(tmp_path / "not there", tmp_path)


@pytest.fixture
def group(tmp_path: Path) -> Iterator[Path]:
    """A control group with a bound, as the kernel makes it."""
    for top, name in [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")]:
        made = Path(top) / f"bufferhouse-test-{os.getpid()}"
        try:
            made.mkdir()
        except OSError:
            continue
        try:
            (made / name).write_text(str(BOUND))
        except OSError:
            made.rmdir()
        else:
            yield made
            made.rmdir()
            return
    pytest.skip("no control group for memory can be made here")


def test_a_query_in_a_container_takes_half_of_its_memory(group: Path, example_warehouse: Path):
    """And says so where that is too little, before the kernel ends it."""
    code = (
        f"open({str(group / 'cgroup.procs')!r}, 'w').write(str(__import__('os').getpid()))\n"
        "from bufferhouse.cli import main\n"
        "main()"
    )
    sql = "SELECT COUNT(DISTINCT repeat(md5(CAST(range AS VARCHAR)), 100)) FROM range(10000000)"
    outcome = run("query", sql, "--warehouse", example_warehouse, "--timeout", "60", code=code)
    said = f"bufferhouse: stopped: it needs more than {BOUND // 2 // MIB} MiB of memory; --memory MIB gives it more\n"
    assert (2, said) == (outcome.code, outcome.err)
