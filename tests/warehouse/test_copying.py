"""Copies of a warehouse file that is open: whole or not at all, and nothing left behind."""

import os
import shutil
from pathlib import Path

import pytest

from bufferhouse.engine.faults import lacks_space
from bufferhouse.errors import WarehouseBusy, WarehouseError, WarehouseFull
from bufferhouse.warehouse.file_copy import copy_file
from tests.command_line import call, run

# Copies with a limit on the size of files, so that `cp` fails half-way.
LIMITED = """
import resource, sys
from pathlib import Path
from bufferhouse.warehouse.file_copy import copy_file
from bufferhouse.errors import WarehouseFull
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    copy_file(Path(sys.argv[1]), Path(sys.argv[2]))
except WarehouseFull as error:
    print(error)
"""


@pytest.fixture
def source(tmp_path) -> Path:
    path = tmp_path / "source"
    path.write_bytes(os.urandom(1000) * 1000)
    return path


def test_a_copy_takes_the_place_of_the_old_one_in_one_step(source, tmp_path):
    """Whoever has the old one open keeps it; what a killed copy left behind goes."""
    target = tmp_path / "target"
    target.write_bytes(b"old")
    (tmp_path / ".target.4711-1.new").write_bytes(b"half")
    with target.open("rb") as reader:
        copy_file(source, target)
        assert b"old" == reader.read()
    assert source.read_bytes() == target.read_bytes()
    assert {"source", "target"} == {path.name for path in tmp_path.iterdir()}


def test_a_full_disk_leaves_the_old_copy(source, tmp_path):
    """The message names the copy and the reason; nothing else is left there."""
    target = tmp_path / "target"
    target.write_bytes(b"old")
    outcome = run(source, target, code=LIMITED)
    assert 0 == outcome.code, outcome.err
    assert outcome.out.startswith(f"{target} cannot be written: ")
    assert outcome.out.endswith("make space and try again\n")
    assert b"old" == target.read_bytes()
    assert {"source", "target"} == {path.name for path in tmp_path.iterdir()}


def test_other_reasons_are_given_as_they_are(source, tmp_path):
    """A folder that is not there is no full disk."""
    with pytest.raises(WarehouseError, match="No such file or directory"):
        copy_file(source, tmp_path / "gone" / "target")


def test_a_full_disk_is_one_of_the_things_that_may_pass():
    """Like a warehouse in use: whoever waits for that waits for this."""
    assert issubclass(WarehouseFull, WarehouseBusy)
    assert lacks_space("IO Error: Could not write file: No space left on device")
    assert lacks_space(OSError(27, os.strerror(27)))
    assert not lacks_space("No such file or directory")


# The one of a file that nobody may write shows what the others do, and that a copy may be written all the same.
@pytest.mark.parametrize("mode", [0o400, *(pytest.param(mode, marks=pytest.mark.soak) for mode in (0o600, 0o664))])
def test_a_copy_of_a_warehouse_opens_it_to_nobody_else(mode, warehouse, tmp_path):
    """A file that `copy` makes is as private as the one it copies; one that was there keeps what it has."""
    warehouse.chmod(mode)
    there = Path(shutil.copy(warehouse, tmp_path / "there.duckdb"))
    there.chmod(0o644)
    made = tmp_path / "made.duckdb"
    for target in (made, there):
        assert 0 == call("copy", warehouse, target).code
    assert (oct(mode | 0o600), oct(0o644)) == tuple(oct(path.stat().st_mode & 0o777) for path in (made, there))
