"""Environments of Python with one release of a compiler each, made with uv; and the list of its releases, from pip."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from bufferhouse.bisect.search import between
from bufferhouse.errors import UsageError, did_you_mean

_VERSIONS = re.compile(r"^Available versions: (.+)$", re.MULTILINE)
_NUMBERS = re.compile(r"\d+")
_INSTALL_SECONDS = 1800
# Packages that belong together: a release of jaxlib works with its own jax.
_PACKAGES = {"jaxlib": ["jax=={release}", "jaxlib=={release}"]}


class CannotInstall(Exception):
    """A release cannot be installed here; the message gives the reason."""


class Environments:
    """Environments below a folder, one for each release; `extra` are requirements beside it."""

    def __init__(self, folder: Path, package: str, extra: Sequence[str] = (), python: str | None = None) -> None:
        found = Path(sys.executable).with_name("uv")
        self._uv = str(found) if found.exists() else shutil.which("uv")
        if self._uv is None:
            raise UsageError(
                "expected uv, which makes an environment for each release; install it with: pip install uv, or write "
                "{release} into the command, which then chooses its environment itself"
            )
        self._folder, self._extra = folder, list(extra)
        self._wanted = _PACKAGES.get(package, [package + "=={release}"])
        self._python = python or f"{sys.version_info.major}.{sys.version_info.minor}"

    def make(self, release: str) -> Path:
        """Return the folder of programs of an environment that holds a release, made if there is none.

        Raises:
            CannotInstall: there is no such release for this Python and machine, or its requirements conflict.
        """
        place = self._folder / release
        if (place / ".made").exists():
            return place / "bin"
        self._uv_does(["venv", "--quiet", "--clear", "--python", self._python, str(place)])
        wanted = [one.replace("{release}", release) for one in self._wanted]
        self._uv_does(["pip", "install", "--quiet", "--python", str(place / "bin" / "python"), *wanted, *self._extra])
        (place / ".made").touch()
        return place / "bin"

    def remove(self, release: str) -> None:
        """Remove the environment of a release; the packages stay in uv's cache."""
        shutil.rmtree(self._folder / release, ignore_errors=True)

    def _uv_does(self, words: Sequence[str]) -> None:
        # The certificate of a registry may be known only to the system.
        env = {"UV_SYSTEM_CERTS": "1", **os.environ}
        env.pop("VIRTUAL_ENV", None)
        try:
            done = subprocess.run(
                [self._uv, *words], env=env, capture_output=True, text=True, errors="replace", timeout=_INSTALL_SECONDS
            )
        except subprocess.TimeoutExpired:
            raise CannotInstall(f"uv took longer than {_INSTALL_SECONDS} seconds") from None
        if done.returncode:
            raise CannotInstall(_reason(done.stderr))


def _reason(said: str) -> str:
    """Return the line of uv's message that gives the reason, without the drawing around it."""
    lines = [told for line in said.strip().split("\n") if (told := line.strip(" ×╰─▶│├\t"))]
    return " ".join(lines[:4])[:300] or "uv says nothing"


def releases_between(package: str, good: str, bad: str) -> list[str]:
    """Return the releases of a package from one to another that pip finds for this Python, the good one first.

    Raises:
        UsageError: pip lists none, or not these two.
    """
    words = [sys.executable, "-m", "pip", "index", "versions", package]
    done = subprocess.run(words, capture_output=True, text=True, errors="replace")
    match = _VERSIONS.search(done.stdout)
    if done.returncode or match is None:
        why = done.stderr.strip().split("\n")[-1][:200]
        raise UsageError(f"pip lists no releases of {package} ({why}); name them with --release, oldest first")
    found = sorted({one.strip() for one in match[1].split(",")}, key=in_order)
    for option, release in (("--good", good), ("--bad", bad)):
        if release not in found:
            raise UsageError(f"{option}: there is no release {release!r} of {package}{did_you_mean(release, found, 3)}")
    return between(found, good, bad)


def in_order(release: str) -> tuple:
    """Return the key that orders releases: by their numbers."""
    return tuple(map(int, _NUMBERS.findall(release))), release
