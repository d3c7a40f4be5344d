"""The options of a compilation: what each kind of file says, and that what is damaged is refused, with its place."""

import random
import tarfile

import pytest

from bufferhouse.dump import DumpError
from bufferhouse.dump.compile_flags import MOST_BYTES, ORIGINS, read_compile_flags

COMP_ENV = b"""\
xla_tpu_scoped_vmem_limit_sweep_profile_path: ""
# xla_tpu_max_hbm_size_mib in the current tpu_comp_env has a non-default value. Default flag value: 0
xla_tpu_max_hbm_size_mib: 3500
xla_tpu_trim_compiled_module {
  spec: "false"
}
xla_memory_scheduler: DEFAULT
"""
CONFIG = b"""\
entry_computation_layout {
  parameters {
    element_type: F32
    dimensions: 256
    layout {
      minor_to_major: 1
    }
  }
}
replica_count: 1
debug_options {
  xla_disable_hlo_passes: "fusion"
  xla_disable_hlo_passes: "cse"
  xla_backend_extra_options {
    key: "xla_cpu_opt"
    value: "a \\"b\\""
  }
}
sharding_config {
}
schedule_config {
  depth: 2
}
459: 32
"""
FLAGFILE = b"""\
--xla_all_gather_combiner_threshold_count=256
--xla_enable_async_all_reduce='false'
--noxla_flag
--xla_all_gather_combiner_threshold_count=512
"""
# As jaxlib 0.10.2 prints --xla_backend_extra_options.
EXTRA = b"""\
xla_dump_hlo_as_text: true
xla_backend_extra_options: {
  key: "xla_cpu_prefer_vector_width"
  value: "512"
}
"""
FOUND = {
    ("debug_options", EXTRA): {
        "xla_backend_extra_options.xla_cpu_prefer_vector_width": "512",
        "xla_dump_hlo_as_text": "true",
    },
    ("debug_options", b"xla_cpu_enable_fast_math: true\n"): {"xla_cpu_enable_fast_math": "true"},
    ("debug_options", b""): {},
    ("tpu_comp_env", COMP_ENV): {
        "xla_memory_scheduler": "DEFAULT",
        "xla_tpu_max_hbm_size_mib": "3500",
        "xla_tpu_scoped_vmem_limit_sweep_profile_path": "",
        "xla_tpu_trim_compiled_module": "false",
    },
    ("module_config", CONFIG): {
        "459": "32",
        "replica_count": "1",
        "schedule_config.depth": "2",
        "xla_backend_extra_options.xla_cpu_opt": 'a \\"b\\"',
        "xla_disable_hlo_passes": "fusion,cse",
    },
    ("flagfile", FLAGFILE): {
        "noxla_flag": "true",
        "xla_all_gather_combiner_threshold_count": "512",
        "xla_enable_async_all_reduce": "false",
    },
}


@pytest.mark.parametrize(("origin", "data"), FOUND)
def test_options_are_read_as_they_are_printed(origin, data):
    """Nested ones by dotted names, repeated ones together, of a flag given twice the last; no layouts, no comments."""
    assert FOUND[origin, data] == dict(read_compile_flags(origin, data))


@pytest.mark.parametrize(
    ("origin", "data", "message"),
    [
        (
            "debug_options",
            b"xla_a: 1\n  xla_b\n",
            r"2:3: expected a line such as: name: value, name \{ or \}, found 'x",
        ),
        ("debug_options", b"xla_a {\n  b: 1\n", r"3:1: expected \}, found the end of the file"),
        ("debug_options", b"}\n", r"1:1: expected a line such as: name: value, .*, found '\}'"),
        ("debug_options", b'xla_a: "open\n', "1:1: expected a line such as"),
        ("debug_options", b"xla_a: 1\nxla_b: \xff\n", "2:1: expected UTF-8, found byte 0xff"),
        ("module_config", b"a {\n" * 100, "65:1: expected at most 64 levels, found more"),
        ("flagfile", b"--a=1\nnothing\n", "2:1: expected a line such as: --xla_flag=value, found 'nothing'"),
        ("flagfile", b"--a=" + b"x" * (1 << 16), "1:1: expected at most 65536 characters, found 65540"),
        ("flagfile", b"\n" * (MOST_BYTES + 1), f"1:1: expected at most {MOST_BYTES} bytes, found {MOST_BYTES + 1}"),
    ],
)
def test_what_is_damaged_is_refused_with_its_place(origin, data, message):
    """A cut file, an open quote, bytes that are no text, a bomb of levels: the place, what was expected and found."""
    with pytest.raises(DumpError, match=message):
        read_compile_flags(origin, data)


def damaged(data: bytes, rng: random.Random) -> bytes:
    """Return a text with one to three faults in it."""
    for _ in range(rng.randint(1, 3)):
        lines = data.split(b"\n")
        place = rng.randrange(len(lines))
        kind = rng.randrange(5)
        if kind == 0:
            data = data[: rng.randrange(len(data) + 1)]
        elif kind == 1:
            lines[place] = bytes(rng.randrange(256) for _ in range(rng.randint(1, 12)))
            data = b"\n".join(lines)
        elif kind == 2:
            data = b"\n".join([*lines[:place], *lines[place + 1 :]])
        elif kind == 3:
            other = rng.randrange(len(lines))
            lines[place], lines[other] = lines[other], lines[place]
            data = b"\n".join(lines)
        else:
            offset = rng.randrange(len(data) + 1)
            data = data[:offset] + rng.choice([b"{", b"}", b'"', b":", b" ", b"9" * 40]) + data[offset:]
    return data


def test_nothing_is_said_that_a_damaged_file_does_not_say():
    """5,000 damaged files: refused with a place, or every name and value stands in the text as it is."""
    rng = random.Random(24)
    taken, refused = 0, []
    for number in range(5000):
        origin, whole = list(FOUND)[number % len(FOUND)]
        data = damaged(whole, rng)
        try:
            found = read_compile_flags(origin, data)
        except DumpError as error:
            refused.append((error.line, error.column))
            continue
        taken += 1
        text = data.decode()
        for name, value in found:
            assert all(part in text for part in name.split("."))
            assert all(part in text for part in value.split(",")) or value == "true"
    assert (1, 1) <= min(refused)
    assert 500 < taken < 4500


@pytest.mark.corpus
def test_the_files_of_real_compilations_are_read(corpus):
    """All of three builds, of CPU and TPU: each is read, and says no layout of parameters."""
    count = dict.fromkeys(ORIGINS.values(), 0)
    with tarfile.open(corpus / "context.tar.gz") as archive:
        for member in archive:
            for ending, origin in ORIGINS.items():
                if member.name.endswith(ending):
                    found = dict(read_compile_flags(origin, archive.extractfile(member).read()))
                    assert (True, False) == (bool(found), "entry_computation_layout" in "".join(found))
                    count[origin] += 1
    assert {"debug_options": 40, "tpu_comp_env": 24, "module_config": 24, "flagfile": 24} == count
