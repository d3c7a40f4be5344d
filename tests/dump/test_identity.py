"""What identifies a dump, a program and a file."""

import hashlib
from datetime import UTC, datetime

import pytest

from bufferhouse.dump.identity import FileName, content_of, key_of, program_name, read_file_name

CPU, GPU, TPU = "cpu_after_optimizations", "gpu_after_optimizations", "after_optimizations"


@pytest.mark.parametrize(
    ("stem", "expected"),
    [
        ("module_0045.jit_dt_int4.cpu_after_optimizations", FileName(45, "jit_dt_int4", CPU, "cpu")),
        ("module_12345.jit_f.cpu_after_optimizations", FileName(12345, "jit_f", CPU, "cpu")),
        (f"module_0001.jit_f.sm_8.0_{GPU}", FileName(1, "jit_f", f"sm_8.0_{GPU}", "sm_8.0")),
        (f"module_0001.jit_f.sm_9.0a_{GPU}", FileName(1, "jit_f", f"sm_9.0a_{GPU}", "sm_9.0a")),
        (f"module_0001.jit_f.{GPU}", FileName(1, "jit_f", GPU, "gpu")),
        (f"module_0001.jit_f.gfx90a_{GPU}", FileName(1, "jit_f", f"gfx90a_{GPU}", "gfx90a")),
        ("module_0277.jit_f.cl_853872983.after_optimizations", FileName(277, "jit_f", TPU, "tpu", "853872983")),
        # Before 2025 libtpu wrote no CL, and before 2021 every backend this stage: the name alone does not say.
        ("module_0281.jit_f.after_optimizations", FileName(281, "jit_f", TPU)),
        # A name that would be too long is left out, and was not there at all before 2021-06.
        ("module_0007.cpu_after_optimizations", FileName(7, None, CPU, "cpu")),
        ("module_0007.after_optimizations", FileName(7, None, TPU)),
        ("module_1345.cl_985445144.after_optimizations", FileName(1345, None, TPU, "tpu", "985445144")),
        ("module_1345.cl_5.cl_985445144.after_optimizations", FileName(1345, "cl_5", TPU, "tpu", "985445144")),
        (
            "1700000000123456.module_0001.jit_f.cpu_after_optimizations",
            FileName(1, "jit_f", CPU, "cpu", None, datetime(2023, 11, 14, 22, 13, 20, 123456, UTC)),
        ),
        # Beyond the calendar it is no time, but still no part of the name.
        ("253402300800000000.module_0001.jit_f.cpu_after_optimizations", FileName(1, "jit_f", CPU, "cpu")),
        ("module_0001.a.b-c.1__Xla=true_x.cpu_after_optimizations", FileName(1, "a.b-c.1__Xla=true_x", CPU, "cpu")),
        ("000_f7d316536d8a2672", FileName()),
        ("module_0001", FileName()),
    ],
)  # fmt: skip
def test_file_names_are_read_as_xla_writes_them(stem, expected):
    """Module id and name, stage, target, CL and time stamp, as FilenameFor puts them together; None where silent."""
    for directory in ("", "deep/run.1/"):
        for suffix in ("", ".gz"):
            assert expected == read_file_name(f"{directory}{stem}-buffer-assignment.txt{suffix}")


@pytest.mark.parametrize(
    ("module_name", "expected"),
    [
        ("jit_step", "jit_step"),
        ("jit_step_", "jit_step"),
        ("jit_step_2", "jit_step"),
        ("jit_step.17", "jit_step"),
        ("jit_step_2.1__", "jit_step"),
        ("jit_step_1\n", "jit_step"),
        ("cluster_3__XlaMustCompile_true_config_proto_6001324581131673121", "cluster"),
        ("jit_f32", "jit_f32"),
        ("jit_a.b_c", "jit_a.b_c"),
        ("", "(unnamed)"),
        ("_7", "(unnamed)"),
        ("_", "(unnamed)"),
        (None, "(unnamed)"),
    ],
)
def test_program_names_lose_what_counts_recompiles(module_name, expected):
    """Trailing `_`, `_N`, `.N` and `__XlaMustCompile…` go, as often as they come; nothing left is `(unnamed)`."""
    assert expected == program_name(module_name)


def test_a_dump_in_one_file_is_hashed_as_it_is():
    """The identity of a combined dump is what `sha256sum` prints; dump_id is its first 63 bits."""
    digest = hashlib.sha256(b"BufferAssignment:\n")
    content = content_of({"combined": b"BufferAssignment:\n"})
    assert (digest.hexdigest(), int(digest.hexdigest()[:16], 16) // 2) == (content.sha256, content.dump_id)
    assert 0 <= content.dump_id < 2**63


def test_a_split_dump_is_hashed_over_its_files_in_fixed_order():
    """`suffix LF hex LF` of the files present, whatever the order they were found in; each file has its own hash."""
    files = {"allocations": b"a", "values": b"v", "live_range": b"l"}
    hexes = {role: hashlib.sha256(data).hexdigest() for role, data in files.items()}
    listing = (
        f"-buffer-assignment.txt\n{hexes['allocations']}\n-buffer-assignment-values.txt\n{hexes['values']}\n"
        f"-live-range.txt\n{hexes['live_range']}\n"
    )
    content = content_of(files)
    assert (hashlib.sha256(listing.encode()).hexdigest(), hexes) == (content.sha256, content.file_sha256)
    assert content == content_of(dict(reversed(files.items())))


def test_a_late_sibling_makes_another_dump():
    """Files that join or change a dump change its identity; the allocations alone are hashed as a file."""
    files = {"allocations": b"a", "values": b"v", "live_range": b"l"}
    some = [dict(list(files.items())[:count]) for count in (1, 2, 3)]
    ids = {content_of(part).dump_id for part in [*some, {"allocations": b"a", "live_range": b"l"}]}
    assert 4 == len(ids)
    assert content_of({"combined": b"a"}).dump_id == content_of({"allocations": b"a"}).dump_id


def test_keys_of_texts():
    """The first 63 bits of the SHA-256 of the parts, joined by line feeds; bytes that are no UTF-8 have a key too."""
    assert int(hashlib.sha256(b"a\nb").hexdigest()[:16], 16) // 2 == key_of("a", "b")
    assert key_of("ab") != key_of("a", "b")
    assert 0 <= key_of("\udcff") < 2**63
