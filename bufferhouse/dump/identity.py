"""The identity of a dump, a program and a file: hashes, and the facts in XLA's file names.

A module id or a jit name identifies nothing by itself: most names stand several times in their own directory.
"""

import hashlib
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple

# Suffixes of the files of one dump (DumpHloModuleImpl, xla/service/dump.cc), in the fixed order of the split hash.
SUFFIXES = {
    "allocations": "-buffer-assignment.txt",
    "values": "-buffer-assignment-values.txt",
    "live_range": "-live-range.txt",
}


def file_of(uri: str, role: str) -> str:
    """Return how a file of a dump is told: by the path that the dump is known by, and by its own ending if it has one.

    Its siblings may be compressed otherwise than that one.
    """
    return f"{uri}, in its …{SUFFIXES[role]}" if role in ("values", "live_range") else uri


# The module text that a dump was made of lies beside it, under the same stage (DumpHloModuleIfEnabled).
STAGE = "after_optimizations"
_MODULE_TEXT = f"{STAGE}.txt"
# What else it writes there: modules in other forms, what LLVM and ptxas made of them, flags, reports.
_OTHERS = (
    ".pb", ".pbtxt", ".mlir", ".dot", ".html", ".ll", ".bc", ".o", ".s", ".S", ".ptx", ".cubin", ".hsaco", ".flagfile",
    ".debug_options", "-memory-usage-report.txt", ".thunk_sequence.txt", ".execution_options.txt", ".riegeli",
)  # fmt: skip
_DUMP = f"{STAGE}{SUFFIXES['allocations']}"

# [<time stamp µs>.]module_<id>[.<module name>][.cl_<CL>].<stage>: FilenameFor, xla/service/dump.cc. The name is left
# out where the whole would be longer than a file name may be: the CL stands in its place then. Some dumps for GPUs do
# not say the architecture.
_FILE_NAME = re.compile(
    r"(?:(?P<stamp>[0-9]{10,18})\.)?module_(?P<id>[0-9]{1,18})"
    r"(?:\.(?!cl_[0-9]+\.after_optimizations)(?P<name>.+?))?(?:\.cl_(?P<revision>[0-9]+))?"
    r"\.(?P<stage>(?:(?P<target>cpu|gpu|sm_[0-9a-z.]+?|gfx[0-9a-z:+\-]*?)_(?:gpu_)?)?after_optimizations)"
)
# The proto of the module and its buffer assignment: of DumpHloModuleImpl, and as profilers keep it.
_STAGE_PROTO = f"{STAGE}.hlo.pb"
_PROTOS = (_STAGE_PROTO, ".hlo_proto", ".hlo_proto.pb")
_PROTO_STEM = re.compile(r"(.+)\.hlo(?:_proto)?(?:\.pb)?(?i:\.(?:gz|zst|xz))?")
_PROFILED = re.compile(r"(.+?)(?:\([0-9]+\))?")  # a profiler writes a number of the program behind the module's name
_MUST_COMPILE = "__XlaMustCompile"
_RECOMPILES_BACKWARDS = re.compile(r"(?:\n?(?:_|[0-9]++[._]))*")


class FileName(NamedTuple):
    """The facts in a file name; None for a missing fact."""

    module_id: int | None = None
    module_name: str | None = None
    stage: str | None = None
    compile_target: str | None = None
    compiler_revision: str | None = None
    dumped_at: datetime | None = None


def read_file_name(path: str) -> FileName:
    """Read the name of a `…-buffer-assignment.txt` file, or of a proto (FilenameFor).

    A foreign name gives an empty result; that of a foreign proto is the module's.
    """
    name = path.rsplit("/", 1)[-1]
    stem = name.split(SUFFIXES["allocations"], 1)[0]
    if stem == name and ".hlo" in name and (match := _PROTO_STEM.fullmatch(name)):
        found = _read_stem(match[1])
        return found if found.stage else FileName(module_name=_PROFILED.fullmatch(match[1])[1])
    return _read_stem(stem)


@lru_cache(4096)  # the runs of a fleet have the same names
def _read_stem(stem: str) -> FileName:
    match = _FILE_NAME.fullmatch(stem)
    if match is None:
        return FileName()
    target = match["target"]
    if target is None and match["revision"]:
        target = "tpu"  # only libtpu writes .cl_N, and its stage has no target of its own
    stamp = match["stamp"]
    return FileName(
        module_id=int(match["id"]),
        module_name=match["name"],
        stage=match["stage"],
        compile_target=target,
        compiler_revision=match["revision"],
        dumped_at=_moment(stamp) if stamp and len(stamp) >= 15 else None,
    )


def _moment(stamp: str) -> datetime | None:
    """Return the time of microseconds since 1970; None beyond the calendar, for a number that is no time stamp."""
    try:
        return datetime.fromtimestamp(int(stamp) / 1_000_000, UTC)
    except (ValueError, OverflowError):
        return None


def is_module_text(path: str) -> bool:
    """Return whether a file is called like a module text."""
    return path.endswith(_MODULE_TEXT)


def module_text_beside(path: str) -> str | None:
    """Return the path at which the module text of a dump lies; None for a dump that is not called as XLA calls it."""
    return path.removesuffix(_DUMP) + _MODULE_TEXT if path.endswith(_DUMP) else None


def is_proto(path: str) -> bool:
    """Return whether a file is called like the proto of a module with its buffer assignment."""
    return path.endswith(_PROTOS)


def protos_beside(path: str) -> list[str]:
    """Return the paths at which the proto of a dump may lie; none for a dump that is not called as XLA calls it."""
    stem = path.removesuffix(SUFFIXES["allocations"])
    return [f"{stem}{ending}" for ending in (".hlo.pb", *_PROTOS[1:])] if path.endswith(_DUMP) else []


def dump_of_proto(path: str) -> str:
    """Return the path of the dump that a proto lies beside."""
    return f"{path[: path.rindex('.hlo')]}{SUFFIXES['allocations']}"


def dump_beside(path: str) -> str:
    """Return the path of the dump that a module text belongs to."""
    return path.removesuffix(_MODULE_TEXT) + _DUMP


def module_prefix(path: str) -> str | None:
    """Return what the paths of all files about the module of a dump begin with; None where its name is not XLA's."""
    folder, slash, name = path.rpartition("/")
    proto = _PROTO_STEM.fullmatch(name) if is_proto(name) else None
    match = _FILE_NAME.fullmatch(proto[1] if proto else name.split(SUFFIXES["allocations"], 1)[0])
    return None if match is None else f"{folder}{slash}{name[: match.start('stage') - 1]}"


def is_written_beside(path: str) -> bool:
    """Return whether a file is called like what XLA writes beside a dump, and like no dump."""
    return is_module_text(path) or path.endswith(_OTHERS)


# By name alone: to look into every text beside dumps would cost more than the dumps do.
_LOG = re.compile(
    r"\.(?:log|err|out|stderr|stdout)(?:\.[0-9]{1,9})?|(?:^|[./!_-])(?:stderr|stdout|log|message|output|console)\.txt"
)
_LOG_ENDING = 24  # characters at the end of a name, that the pattern looks at


def is_log(path: str) -> bool:
    """Return whether a file is called like a log: `*.log`, `*.err`, `*.out`, `stderr.txt` and so on."""
    found = _LOG.search(path, max(len(path) - _LOG_ENDING, 0))
    while found and found.end() < len(path):
        found = _LOG.search(path, found.start() + 1)
    return found is not None


def ending_of(path: str) -> str:
    """Return how a file's name ends, as people call its kind: `.hlo.pb`, `.ll`, `.txt`; `(no ending)` for none."""
    stem, dot, ending = path.rsplit("/", 1)[-1].rpartition(".")
    if not stem or not dot:
        return "(no ending)"
    return f".hlo.{ending}" if stem.endswith(".hlo") else f".{ending}"


def program_name(module_name: str | None) -> str:
    """Return a module name without the suffixes that count recompiles; `(unnamed)` without a name."""
    name = (module_name or "").split(_MUST_COMPILE, 1)[0]
    # One match from behind; from the front each place would be matched up to the end.
    return name[: len(name) - _RECOMPILES_BACKWARDS.match(name[::-1]).end()] or "(unnamed)"


# The columns of raw.observations that follow from the name of a file and the signature of its dump.
FACTS_OF_NAME = (
    "program_id", "module_id", "module_name", "program_name", "stage", "compile_target", "compiler_revision",
    "dumped_at",
)  # fmt: skip


@lru_cache(1 << 14)
def facts_of_name(f: FileName, signature_id: int) -> tuple:
    """Return the cells of FACTS_OF_NAME for a file of that name whose dump has this entry signature."""
    program = program_name(f.module_name)
    return (
        key_of(program, str(signature_id)), f.module_id, f.module_name, program, f.stage, f.compile_target,
        f.compiler_revision, f.dumped_at,
    )  # fmt: skip


def key_of(*parts: str) -> int:
    """Return a 63-bit key of texts: the first bits of the SHA-256 of the parts, joined by line feeds."""
    return _key(hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest())


def _key(sha256: str) -> int:
    return int(sha256[:16], 16) >> 1


class Content(NamedTuple):
    """Identity of a dump: `sha256` of the whole and of each file by role; `dump_id` is its first 63 bits."""

    dump_id: int
    sha256: str
    file_sha256: Mapping[str, str]


def content_of(files: Mapping[str, bytes]) -> Content:
    """Hash the files of one dump, given by role.

    A dump in one file is hashed as it is; a split one over `suffix LF hex LF` of the files present, so that a late
    sibling makes another dump.
    """
    if len(files) == 1:
        ((role, data),) = files.items()
        sha256 = hashlib.sha256(data).hexdigest()
        return Content(_key(sha256), sha256, {role: sha256})
    hashes = {role: hashlib.sha256(data).hexdigest() for role, data in files.items()}
    listing = "".join(f"{suffix}\n{hashes[role]}\n" for role, suffix in SUFFIXES.items() if role in hashes)
    sha256 = hashlib.sha256(listing.encode()).hexdigest()
    return Content(_key(sha256), sha256, hashes)
