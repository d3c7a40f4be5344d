"""Real module texts beside their dumps, and a reading of their tables that shares no code with the reader."""

import re
import shutil
from pathlib import Path

from bufferhouse.paths import CHECKOUT

DATA = CHECKOUT / "tests" / "data" / "module_texts"
ENDING = "after_optimizations.txt"
Place = tuple[str, str, int]  # function, file, line


def call_stacks(text: str) -> dict[int, list[Place]]:
    """The call stack of every stack frame of a whole module text, innermost first."""

    def table(name: str) -> list[str]:
        found = re.search(rf"^{name}\n((?:[1-9].*\n)*)", text, re.MULTILINE)
        return found[1].splitlines() if found else []

    files, functions = ([line.split('"')[1] for line in table(name)] for name in ("FileNames", "FunctionNames"))
    places = [
        (functions[function - 1], files[file - 1], line)
        for _, file, function, line, *_ in (map(int, re.findall(r"\d+", row)) for row in table("FileLocations"))
    ]
    frames = {
        number: (location, parent - 1)  # printed with 1 added
        for number, location, parent in (map(int, re.findall(r"\d+", row)) for row in table("StackFrames"))
    }

    def stack(number: int) -> list[Place]:
        if number == 0:
            return []
        location, parent = frames[number]
        return [places[location - 1], *stack(parent)]

    return {number: stack(number) for number in frames}


def mentioned(text: str) -> set[int]:
    """The stack frames that the instructions of a text name."""
    return {int(number) for number in re.findall(r"stack_frame_id=(\d+)", text)}


def copied(directory: Path, build: str = "jaxlib-0.10.0", *, with_texts: bool = True) -> Path:
    """Copy the dumps of a build, with or without the module texts beside them."""
    target = directory / build
    ignored = None if with_texts else shutil.ignore_patterns(f"*{ENDING}")
    return Path(shutil.copytree(DATA / build, target, ignore=ignored))


def text_of(directory: Path, name: str = "jit_scalar_add") -> Path:
    """The path of the module text of a program in a directory of dumps, whether it is there or not."""
    [dump] = directory.glob(f"*.{name}.*-buffer-assignment.txt*")
    return dump.with_name(f"{dump.name.split('-buffer-assignment')[0]}.txt")
