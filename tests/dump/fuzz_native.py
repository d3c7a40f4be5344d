"""Damaged dumps for the native reader, built with sanitizers: `python -m tests.dump.fuzz_native --mutations 20000`.

Whatever the bytes: it reads nothing beyond them, no number overflows, it takes nothing that the reader in Python
refuses, and what it takes becomes the same tables. A batch of damaged dumps is one scanner's, so that what it takes
back stands between what it keeps; in some batches an allocation fails. An input that breaks it is kept for the test.
"""

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bufferhouse.dump.native import Scanner
from bufferhouse.dump.native.library import FLAGS, SOURCE, library, open_library
from bufferhouse.tabulate.contents import Work
from bufferhouse.tabulate.scanned import Scanned
from tests.fuzz import PIECES, damaged
from tests.samples import of_archive, of_fleet
from tests.tabulate.readers import differences, in_python, work_of

BATCH = 100
_SANITIZED = "BUFFERHOUSE_FUZZ_LIBRARY"
SANITIZERS = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer")
LARGE = Path(__file__).parents[2] / ".." / "shared" / "corpus" / "large"

# What stands in instruction texts, which both readers must understand alike, and what nearly does.
TEXT_PIECES = [
    b'"', b"\\", b"\\'", b'\\"', b"\\\\", b"\\n", b"\\303\\251", b"\\9", "é".encode(), "\u2028".encode(), b"\xc3", b"(",
    b")", b"((((", b"))))", b"[", b"]", b"{", b"}", b"{{}}", b", metadata={", b'op_name=""', b'op_name="a\\\'b" ',
    b'op_type="x" ', b'source_file="f.py" ', b"source_line=7", b"source_line=007 ", b"source_line=1234567890123456789 ",
    b"stack_frame_id=3 ", b'scheduling_name="x"', b'deduplicated_name="y" ', b', custom_call_target="t"',
    b', custom_call_target=""', b', custom_call_target="', b", backend_config={}", b'="', b" custom-call(",
    b" add(%a, %b)", b"%", b"%%x", b"  ", b" = ", b", sharding={replicated}", b', async_execution_thread="main"',
    b"/*index=5*/",
]  # fmt: skip


def respelled(dice: random.Random, files: dict[str, bytes]) -> dict[str, bytes]:
    """Return a dump with a damage in one instruction text, wherever the same one stands: most are still dumps."""
    role = next(role for role in ("combined", "values", "allocations") if role in files)
    data = files[role]
    lines = [line for line in data.split(b"\n") if line.startswith(b" from instruction:")]
    if not lines:
        return files
    old = dice.choice(lines)
    at = dice.randrange(len(b" from instruction:"), len(old) + 1)
    end = at if dice.random() < 0.6 else min(len(old), at + dice.choice([1, 1, 2, 5, 20]))
    new = old[:at] + dice.choice(TEXT_PIECES) * dice.choice([0, 1, 1, 1, 1, 2]) + old[end:]
    return {**files, role: data.replace(old + b"\n", new + b"\n")}


def renamed(dice: random.Random, files: dict[str, bytes]) -> dict[str, bytes]:
    """Return a dump with one word or number, wherever it stands, in place of another."""
    whole = b"\n".join(files.values())
    words = whole.replace(b":", b" ").replace(b"{", b" ").split()
    old = dice.choice(words)
    new = dice.choice([*PIECES, dice.choice(words), b"9007199254740992", b"9223372036854775807", b"0", b"a.b-c"])
    return {role: data.replace(old, new) for role, data in files.items()}


def resected(dice: random.Random, files: dict[str, bytes]) -> dict[str, bytes]:
    """Return a dump with the sections of another order, or its files exchanged."""
    if len(files) > 1:
        roles = list(files)
        return dict(zip(roles, dice.sample(list(files.values()), len(roles)), strict=True))
    parts = files["combined"].split(b"\n\n")
    dice.shuffle(parts)
    return {"combined": b"\n\n".join(parts)}


def mutated(dice: random.Random, files: dict[str, bytes]) -> dict[str, bytes]:
    """Return a damaged dump."""
    chance = dice.random()
    if chance < 0.45:
        return damaged(dice, files)
    if chance < 0.75:
        return respelled(dice, files)
    if chance < 0.97:
        return renamed(dice, files)
    return resected(dice, files)


def taken(scanned: Scanned, work: Work) -> Work:
    """Let a scanner read contents; return those that it takes."""
    return [(content, files) for content, files in work if scanned.take(content, files)]


def offended(make: Callable[[], Scanned], work: Work) -> str | None:
    """Return in what the native reader offends with a batch, None where it does not."""
    scanned = make()
    kept = taken(scanned, work)
    try:
        tables, signature_ids = scanned.finish()
    except MemoryError:
        return None
    del scanned  # the frames alone hold its memory now
    expected = in_python(kept)
    if expected.refusals:
        return f"taken, but refused: {expected.refusals}"
    if list(expected.signature_ids.values()) != signature_ids:
        return "other signatures"
    found = differences(expected.tables.frames, tables.frames)
    return ", ".join(found) or None


def scanner_of(dice: random.Random) -> Callable[[], Scanned]:
    """Return what makes a scanner, one in twenty of which has an allocation that fails."""
    path = os.environ.get(_SANITIZED)
    functions = open_library(Path(path)) if path else library()
    if functions is None:
        raise SystemExit("the native reader is not built: make install says why")
    until_failure = -1 if dice.random() < 0.95 else dice.randint(10, 400)
    return lambda: Scanned(Scanner(functions, until_failure))


def fuzz(mutations: int, seed: int, keep: Path) -> int:
    """Damage dumps until one breaks the reader, or until all mutations are done; return 1 or 0."""
    dice = random.Random(seed)
    victims = [sample.files for sample in of_fleet()]
    large = [sample.files for path in sorted(LARGE.glob("*.tar.gz")) for sample in of_archive(path)]
    weights = [1 / (2_000 + sum(map(len, files.values()))) for files in victims]
    accepted = done = 0
    started = time.monotonic()
    while done < mutations:
        batch = [mutated(dice, files) for files in dice.choices(victims, weights, k=min(BATCH, mutations - done))]
        if large and done // BATCH % 500 == 250:  # they take seconds
            batch.append(mutated(dice, dice.choice(large)))
        batch += dice.choices(victims, weights, k=2)
        make, work = scanner_of(dice), work_of(batch)
        offense = offended(make, work)
        if offense is not None:
            one = next(([one] for one in work if offended(make, [one])), work)
            keep.mkdir(parents=True, exist_ok=True)
            for number, (_, files) in enumerate(one):
                for role, data in files.items():
                    (keep / f"native-{seed}-{done}-{number}.{role}").write_bytes(data)
            print(f"a batch behind mutation {done} of seed {seed} broke it; it is in {keep}: {offense}")
            return 1
        accepted += len(taken(make(), work))
        done += min(BATCH, mutations - done)
    seconds = time.monotonic() - started
    kind = "with sanitizers" if _SANITIZED in os.environ else "WITHOUT sanitizers"
    print(f"{done} mutations for the native reader, {kind}: {accepted} taken, {seconds:.0f} s")
    return 0


def sanitized(arguments: list[str], optimization: str = "-O1") -> int | None:
    """Run this program again with a library that was built with sanitizers; None where that is not possible."""
    compiler = shutil.which(os.environ.get("CC") or "cc")
    if compiler is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scan.so"
        flags = [flag for flag in FLAGS if flag != "-O3"]
        command = [compiler, *flags, optimization, *SANITIZERS, "-o", path, SOURCE]
        if subprocess.run(command, capture_output=True).returncode:
            return None
        runtime = subprocess.run(
            [compiler, "-print-file-name=libasan.so"], capture_output=True, text=True
        ).stdout.strip()
        environment = {
            **os.environ,
            _SANITIZED: str(path),
            "LD_PRELOAD": runtime,
            # Every byte behind a text is then behind a block of its own.
            "PYTHONMALLOC": "malloc",
            # Python keeps what it has until its end, and its libraries have allocators of their own.
            "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
        }
        return subprocess.run([sys.executable, "-m", "tests.dump.fuzz_native", *arguments], env=environment).returncode


def main() -> int:
    """Fuzz with sanitizers where the compiler has them, else without."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mutations", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, default=Path("build/fuzz"), help="where an input that breaks it is kept")
    parser.add_argument("--plain", action="store_true", help="without sanitizers, which is faster")
    options = parser.parse_args()
    if _SANITIZED not in os.environ and not options.plain:
        outcome = sanitized(sys.argv[1:])
        if outcome is not None:
            return outcome
    return fuzz(options.mutations, options.seed, options.keep)


if __name__ == "__main__":
    sys.exit(main())
