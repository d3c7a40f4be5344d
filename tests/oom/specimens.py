"""The committed failures of compilations, and those of the corpus beside the checkout."""

from pathlib import Path

from bufferhouse.messages.message import Message, Refused, read_messages
from tests.command_line import CHECKOUT
from tests.samples import unpack

FOLDER = CHECKOUT / "examples" / "oom"
CORPUS = CHECKOUT.parent / "shared" / "corpus" / "oom.tar.gz"
# What each says first: dialect, memory space, and its main figure as printed.
SAID = {
    "libtpu-0.0.33/xent": ("T1", "hbm", "used", "21.97G"),
    "libtpu-0.0.33/args": ("T1", "hbm", "used", "24.00G"),
    "libtpu-0.0.33/kv": ("T1", "hbm", "used", "16.00G"),
    "libtpu-0.0.33/i8": ("T1", "hbm", "used", "16.00G"),
    "libtpu-0.0.37/args": ("T2", "hbm", "used", "24.00G"),
    "libtpu-0.0.52/code": ("T2", "hbm", "used", "15.75G"),
    "libtpu-0.0.42.1/outputs_wide": ("T3", "hbm", "used", "32.02G"),
    "libtpu-0.0.52/temps": ("T3b", "hbm", "used", "28.15G"),
    "libtpu-0.0.8/abort_rnn_t1": ("T4", "hbm", "used", "20.01G"),
    "libtpu-0.0.33/attn_huge": ("T5", "hbm", "allocation", "68719476736"),
    "libtpu-0.0.33/smem": ("T5", "smem", "allocation", "4001792"),
    "libtpu-0.0.52/window": ("T5", "vmem", "allocation", "268435456"),
    "libtpu-0.0.33/pal": ("T6", "vmem", "used", "256.00M"),
    "libtpu-0.0.37/scoped": ("T6", "vmem", "scoped_size", "64.0K"),
    "libtpu-0.0.33/internal_attn_v6e": ("T7", "hbm", "words", "2147483648"),
}
DONATED = CHECKOUT / "tests" / "data" / "donated_outputs"  # libtpu 0.0.23.1; paths of sources were rewritten
# A language model's loss over 151,936 words, of v5p, by libtpu 0.0.52; paths of sources were rewritten.
OFFLOADED = CHECKOUT / "tests" / "data" / "gather_offload.tar.gz"
TWINS = CHECKOUT / "tests" / "data" / "twin_reports"
FITS = "libtpu-0.0.33/fit_int8"


def log(name: str) -> Path:
    return FOLDER / name / "stderr.txt"


def failures(path: Path) -> list[Message]:
    """The messages of a log that speak of a failure; no line of it is refused."""
    with path.open("rb") as file:
        found = list(read_messages(file))
    assert [] == [one for one in found if isinstance(one, Refused)]
    return [one for one in found if one.is_failure]


def unpacked(folder: Path) -> Path:
    """The failures of the corpus, unpacked."""
    unpack(CORPUS, folder)
    return folder / "oom"


def with_global(text: str) -> str:
    """The log of `libtpu-0.0.33/xent` as if its program took 260 MiB itself, which is in no dump."""
    for old, new in (
        ("Used 21.97G", "Used 22.22G"), ("capacity by 6.22G", "capacity by 6.47G"),
        ("usage >= 22.22G", "usage >= 22.48G"), ("program          21.97G", "program          22.22G"),
        ("requirement 21.97G:\n", "requirement 22.22G:\n    global          260.02M\n"),
    ):  # fmt: skip
        assert old in text
        text = text.replace(old, new)
    return text
