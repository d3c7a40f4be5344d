"""The user's own modules that a Python command imports: the compiled program may depend on any of them."""

import ast
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

_INSTALLED = ("site-packages", "dist-packages")  # folders of thousands of modules
_LONGEST_LINE = 1 << 10


def own_modules(words: Sequence[str], search_path: Sequence[str] = ()) -> list[Path]:
    """Return the files that scripts, `-m` and `-c` of a command import, those that these import, and so on.

    They are looked for beside the scripts, for `-m` and `-c` in the working directory, and in the folders of
    `search_path`, but not among installed packages. Imports whose name is computed are not found.
    """
    scripts = [Path(word) for word in words if _is_script(word)]
    roots = [script.parent for script in scripts]
    searched = [folder for folder in map(Path, search_path) if folder.name not in _INSTALLED]
    found: dict[Path, None] = {}
    code = [(script, _content(script)) for script in scripts]
    for option, word in pairwise(words):
        if option == "-m":
            names = [*word.split("."), "__main__"]
            found |= dict.fromkeys(file for root in (Path(), *searched) for file in _files(root, names))
        elif option == "-c":
            code.append((Path(word), os.fsencode(word)))
        else:
            continue
        roots.append(Path())
    roots += searched
    code += [(file, _content(file)) for file in found]
    while code:
        path, content = code.pop()
        for folder, names in _imports(path, content):
            for root in roots if folder is None else [folder]:
                new = [file for file in _files(root, names) if file not in found]
                found |= dict.fromkeys(new)
                code += [(file, _content(file)) for file in new]
    return list(found)


def _is_script(word: str) -> bool:
    """Return whether a word names a Python file: by its suffix or by a first line such as `#!/usr/bin/env python3`."""
    if not os.path.isfile(word):
        return False
    if word.endswith(".py"):
        return True
    with suppress(OSError), open(word, "rb") as file:
        first = file.readline(_LONGEST_LINE)
        return first.startswith(b"#!") and b"python" in first
    return False


def _content(path: Path) -> bytes:
    with suppress(OSError):
        return path.read_bytes()
    return b""


def _imports(path: Path, content: bytes) -> Iterator[tuple[Path | None, list[str]]]:
    """Yield the parts of each name that a module imports, with the folder in which a relative name is looked for."""
    try:
        with warnings.catch_warnings(action="ignore"):
            tree = ast.parse(content)
    except (SyntaxError, ValueError, RecursionError):  # for another Python, or not Python: the command will report it
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((None, one.name.split(".")) for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            folder = path.absolute() if node.level else None
            for _ in range(node.level):
                folder = folder.parent
            module = node.module.split(".") if node.module else []
            yield from ((folder, [*module, one.name]) for one in node.names)


def _files(root: Path, names: Sequence[str]) -> Iterator[Path]:
    """Yield the files that an import of a dotted name reads below a folder: each package on the way, and the module."""
    folder = root
    for name in names:
        for file in (folder / f"{name}.py", folder / name / "__init__.py"):
            if os.path.isfile(file):  # also False if the user may not read a folder, or a name is too long
                yield file
        folder /= name
