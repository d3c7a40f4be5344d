"""Source files as a lock names them: with the same names on every machine that compiles one checkout."""

import os
from functools import lru_cache
from pathlib import Path, PurePosixPath

_INSTALLED = ("site-packages", "dist-packages")


def top_of_repository(root: Path) -> Path:
    """Return the folder of the git repository that a folder is in; the folder itself outside of any."""
    root = Path(os.path.abspath(root))
    return next((one for one in (root, *root.parents) if (one / ".git").exists()), root)


class Checkout:
    """The folder to which paths of the user's own files are relative: that of the lock, in its git repository."""

    def __init__(self, root: Path) -> None:
        self._root = Path(os.path.abspath(root))
        self._folders = tuple(dict.fromkeys((self._root, top_of_repository(root))))
        self.told = lru_cache(maxsize=None)(self._told)

    def _told(self, source: str) -> str:
        """Return a `file:line` with the file relative to the root; for installed packages it begins with the package.

        The dumps may come from another machine: the file is the longest end of the path that exists below the root, or
        below the top of its repository.
        """
        path, colon, line = source.rpartition(":")
        if not colon or not line.isdigit():
            path, colon, line = source, "", ""
        parts = PurePosixPath(path).parts
        for at, part in enumerate(parts):
            if part in _INSTALLED:
                return "/".join(parts[at + 1 :]) + colon + line
        own = parts[1:] if path.startswith("/") else parts
        for at in range(len(own)):
            for folder in self._folders if ".." not in own[at:] else ():
                if (file := folder.joinpath(*own[at:])).is_file():
                    return Path(os.path.relpath(file, self._root)).as_posix() + colon + line
        return path + colon + line
