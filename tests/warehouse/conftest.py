"""A warehouse of many dialects, which several modules copy or read."""

import shutil
from pathlib import Path

import pytest

from tests.command_line import CHECKOUT
from tests.ingests import SUFFIX, ingest
from tests.synthetic import Slot, dump_text

# Every table has rows here, and every nullable column both a value and a null: these are the dialects for that.
PROTO = next((CHECKOUT / "tests" / "data" / "protos" / "cpu-jaxlib-0.10.0").glob("*.hlo.pb"))
RUNS = {
    "jaxlib-0.10.0": 2,
    "jaxlib-0.4.25": 1,
    "jaxlib-0.9.0": 1,
    "seeds": 2,
    "tpu-v5e-jaxlib-0.8.3-libtpu-0.0.33": 1,
}


def page_and_pointer() -> bytes:
    """A dump with what no example has: a page, a pointer, a custom call, and a value of another memory space."""
    text = dump_text([Slot(0, 2, 0, 64), Slot(1, 2, 64, 8), Slot(0, 1, 0, 4, 1)], [", page 0, preallocated-temp"] * 2)
    cross = b" reused by buffers of a different color:\n  value: <0 v0 @0> (color=0)\n"
    before, after = text.split(b"allocation 1:", 1)
    text = before.replace(b"0: size", b"0: 0x1f, size") + cross + b"allocation 1: 0x2f," + after
    return text.replace(b"custom-call()", b'custom-call(), custom_call_target="Sharding"', 1)


@pytest.fixture(scope="session")
def dialects(blank_warehouse, fleet, tmp_path_factory) -> Path:
    """A warehouse of a few dumps of many dialects, nine in all. To be copied, or opened and rolled back."""
    source = tmp_path_factory.mktemp("dialects")
    for run, count in RUNS.items():
        (source / run).mkdir()
        mains = sorted((fleet / run).glob(f"*{SUFFIX}")) or sorted((fleet / run).glob("*.txt"))
        for main in mains[:: max(1, len(mains) // count)][:count]:
            for path in (fleet / run).glob(main.name.removesuffix(SUFFIX) + "*"):
                shutil.copy(path, source / run)
    name = f"1700000000123456.module_0007.jit_f.7.cl_12345.after_optimizations{SUFFIX}"
    (source / "odd").mkdir()
    (source / "odd" / name).write_bytes(page_and_pointer())
    shutil.copy(PROTO, source / "odd")
    path = Path(shutil.copy(blank_warehouse, source / "w.duckdb"))
    code, summary = ingest(path, source)
    assert (0, 9) == (code, summary["new"])
    return path
