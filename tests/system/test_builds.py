"""Programs of the newest compilers and of PyTorch/XLA: each number is the compiler's own, or that of brute force."""

from pathlib import Path

import pytest

from bufferhouse.ingest.in_memory import in_memory
from tests.corpus import BUILDS, compare
from tests.samples import of_archive

ARCHIVES = sorted(BUILDS.glob("*.tar.gz"))


@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda path: path.name.removesuffix(".tar.gz"))
def test_a_build_agrees_with_its_compiler(archive: Path):
    """Byte for byte; slots as in its protos; peaks and balances as counted; figures as memory_analysis() said."""
    assert [] == compare(archive.name.removesuffix(".tar.gz"), archive)
    assert [] == [sample.name for sample in of_archive(archive) if sample.truth is None]


def test_operations_of_pytorch():
    """Its dumps name operations and source lines where it was run with XLA_IR_DEBUG and XLA_HLO_DEBUG."""
    query = """
        SELECT DISTINCT op_name, source_file FROM staging.instruction_texts
        WHERE op_name = 'aten__addmm' AND source_file IS NOT NULL
    """
    with in_memory([str(BUILDS / "torch_xla-2.9.0.tar.gz")]) as con:
        [(_, source_file)] = con.execute(query).fetchall()
        programs = con.execute("SELECT DISTINCT program_name FROM marts.observations_v1").fetchall()
    assert "linear.py" == Path(source_file).name
    assert [("SyncTensorsGraph",)] == programs
