"""The run of a file: the nearest directory with a run.json, else the directory of the file."""

import os
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from bufferhouse.dump.identity import read_file_name
from bufferhouse.sources.directory import Entry, Found, Tree, split_at_archive
from bufferhouse.sources.run import MOST_RUN_FILE_BYTES, RUN_FILE, Run, RunFault, make_run, name_of, read_run_file


class Places:
    """The run of each directory, looked up once per directory."""

    def __init__(self, run_name: str | None, labels: Mapping[str, str] | None, only_base: str | None) -> None:
        self.run_name = run_name
        self.labels = labels
        self.only_base = only_base  # with a given name, everything below it is one run
        self.contents: dict[str, dict[str, Any] | str] = {}  # what each run.json says, or why it cannot be read
        self.places: dict[tuple[str, str], tuple[str, str]] = {}

    def of(self, entry: Entry) -> tuple[str, str]:
        """Return the name and the directory of the run a file belongs to.

        Raises:
            RunFault: the run.json of the run cannot be read.
        """
        key = entry.path.rpartition("/")[0], entry.base
        place = self.places.get(key)
        if place is None:
            directory = self.only_base or self._directory(entry.tree, parent_of(entry.path), entry.base)
            name = name_of(root_of(directory), self._content(entry.tree, directory), self.run_name)
            place = self.places[key] = name, directory
        return place

    def _content(self, tree: Tree, directory: str) -> dict[str, Any]:
        if directory not in self.contents:
            path = f"{directory}{'' if split_at_archive(directory)[1] == '' else '/'}{RUN_FILE}"
            try:
                self.contents[directory] = read_run_file(path, tree.text(path, MOST_RUN_FILE_BYTES + 1))
            except OSError as error:
                self.contents[directory] = f"{path}: {error.strerror or error}"
            except RunFault as error:
                self.contents[directory] = str(error)
        content = self.contents[directory]
        if isinstance(content, str):
            raise RunFault(content)
        return content

    def _directory(self, tree: Tree, own: str, base: str) -> str:
        """Return the nearest directory with a run.json, not above the source, else the dump's own."""
        directory = own
        while not self._content(tree, directory):
            if directory.rstrip("/") == base.rstrip("/"):
                return own
            directory = parent_of(directory)
        return directory

    def describe(
        self, dumps: Sequence[Found], directories: Mapping[str, tuple[Tree, str]]
    ) -> dict[str, Run | RunFault]:
        """Return the facts of each run; the oldest dump dates a run without a date.

        A run whose run.json or path holds impossible facts is a RunFault instead.

        Raises:
            UsageError: a fact given on the call is wrong.
        """
        stamps: dict[str, list] = {}
        mtimes: dict[str, int] = {}
        for dump in dumps:
            # A name with a time stamp begins with it; looking at the others would cost more than finding them.
            run_name, path = dump.run_name, dump.relative_path
            if path[path.rfind("/") + 1 :][:1].isdigit() and (stamp := read_file_name(path).dumped_at):
                stamps.setdefault(run_name, []).append(stamp)
            if run_name not in mtimes or dump.mtime_ns < mtimes[run_name]:
                mtimes[run_name] = dump.mtime_ns
        runs: dict[str, Run | RunFault] = {}
        for name, (tree, directory) in directories.items():
            try:
                content = self._content(tree, directory)
            except RunFault as fault:
                runs[name] = fault
                continue
            runs[name] = make_run(
                name,
                root_of(directory),
                content,
                labels=self.labels,
                oldest_dumped_at=min(stamps.get(name, []), default=None),
                oldest_mtime_ns=mtimes[name],
            )
            runs[name].is_named_by_place = not (self.run_name or content.get("run_name"))
        return runs


def parent_of(path: str) -> str:
    """Return the directory of a path; the top directory of an archive is `archive!`."""
    archive, inside = split_at_archive(path)
    if inside is not None:
        return archive + inside.rpartition("/")[0]
    return path.rpartition("/")[0] or ("/" if path.startswith("/") else ".")


@lru_cache(1024)
def root_of(directory: str) -> str:
    """Return a directory as a run remembers it: absolute, links resolved."""
    if "://" in directory:
        return directory
    path, inside = split_at_archive(directory)
    return os.path.realpath(path) if inside is None else f"{os.path.realpath(path[:-1])}!{inside}"


def relative_to(path: str, directory: str) -> str:
    """Return the path of a file below a directory."""
    if directory.endswith("/"):
        directory = directory.rstrip("/")
    if directory and path.startswith(directory):
        return path[len(directory) :].lstrip("/")
    return os.path.relpath(path, directory or "/")
