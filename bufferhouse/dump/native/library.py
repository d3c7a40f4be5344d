"""The library of the scanner: built by the C compiler of this machine, once for each version of its source."""

import ctypes
import hashlib
import os
import shlex
import subprocess
import sysconfig
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

SWITCH = "BUFFERHOUSE_NATIVE"
SOURCE = Path(__file__).with_name("scan.c")
FLAGS = ("-std=c11", "-O3", "-shared", "-fPIC", "-fvisibility=hidden")


class Cells(ctypes.Structure):
    """Where the cells of a column are: numbers of 8 bytes, words of 4 or flags of one.

    `bits` mark the cells that hold a value; they are None, and `absent` is 0, if all `rows` hold one.
    """

    _fields_ = (
        ("address", ctypes.c_void_p),
        ("rows", ctypes.c_int64),
        ("bits", ctypes.c_void_p),
        ("absent", ctypes.c_int64),
    )


_ADDRESS, _NUMBER, _NUMBERS = ctypes.c_void_p, ctypes.c_int64, ctypes.POINTER(ctypes.c_int64)
_SIGNATURES = {
    "scanner_begin": (_ADDRESS, [ctypes.c_uint64, _NUMBER]),
    "scanner_end": (None, [_ADDRESS]),
    "scanner_read": (ctypes.c_int32, [_ADDRESS, _NUMBER, *[ctypes.c_char_p, _NUMBER] * 3]),
    "scanner_take_back": (None, [_ADDRESS]),
    "scanner_column_name": (ctypes.c_char_p, [_NUMBER, _NUMBERS]),
    "scanner_words_name": (ctypes.c_char_p, [_NUMBER]),
    "scanner_words": (_ADDRESS, [_ADDRESS, _NUMBER, _NUMBERS, ctypes.POINTER(_ADDRESS)]),
    "scanner_finish": (ctypes.c_int32, [_ADDRESS, ctypes.POINTER(Cells)]),
}


def built() -> Path:
    """Return where the library of this source is, or would be if it were built, for this kind of machine."""
    state = hashlib.sha256(SOURCE.read_bytes() + " ".join(FLAGS).encode()).hexdigest()[:16]
    return SOURCE.with_name(f"scan-{sysconfig.get_platform()}-{state}.so")


def build() -> str | None:
    """Build the library with $CC or `cc`, unless it is built; return why that was not possible, or None."""
    target = built()
    if target.exists():
        return None
    command = shlex.split(os.environ.get("CC") or "cc")
    try:
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".build-") as folder:
            made = Path(folder) / target.name
            outcome = subprocess.run(
                [*command, *FLAGS, "-o", made, SOURCE], capture_output=True, text=True, errors="replace"
            )
            if outcome.returncode:
                return f"{shlex.join(command)} ended with {outcome.returncode}: {outcome.stderr.strip()[:2000]}"
            os.replace(made, target)
    except OSError as error:
        return f"{shlex.join(command)}: {error.strerror}"
    for other in target.parent.glob(f"scan-{sysconfig.get_platform()}-*.so"):
        if other != target:
            with suppress(OSError):
                other.unlink()
    return None


def open_library(path: Path) -> ctypes.CDLL:
    """Open a library, and declare the types of its functions.

    Raises:
        OSError: the file is not a library for this machine.
        AttributeError: it lacks one of these functions.
    """
    library = ctypes.CDLL(str(path))
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


@cache
def _loaded() -> ctypes.CDLL | None:
    try:
        return open_library(built())
    except (OSError, AttributeError):
        return None


def library() -> ctypes.CDLL | None:
    """Return the library; None if there is none for this machine, or it is switched off."""
    return None if os.environ.get(SWITCH) == "0" else _loaded()


def reader() -> str:
    """Return which reader reads dumps: `native`, or `Python` with the reason."""
    if os.environ.get(SWITCH) == "0":
        return f"Python ({SWITCH}=0)"
    return (
        "Python (the native one is not built: where there is a C compiler, python -m bufferhouse.dump.native builds it)"
        if library() is None
        else "native"
    )
