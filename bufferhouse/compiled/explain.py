"""A jitted function, compiled with a dump into a folder of its own, and explained."""

import html
import io
import json
import shutil
import sys
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from rich.text import Text

from bufferhouse.errors import UsageError
from bufferhouse.ingest.in_memory import in_memory
from bufferhouse.lock.entry import Entry, Lock, Site, Space
from bufferhouse.lock.measured import measured, output_sites
from bufferhouse.lock.places import Checkout
from bufferhouse.messages import join
from bufferhouse.messages.message import Message, read_messages
from bufferhouse.oom import finding
from bufferhouse.query.statements import Record, ask
from bufferhouse.report.oom.text import Explanation, oom_text
from bufferhouse.report.program.data import read_program
from bufferhouse.report.program.text import program_text
from bufferhouse.report.text.figures import human_bytes
from bufferhouse.report.whatif.data import read_change
from bufferhouse.report.whatif.text import change_text
from bufferhouse.sources.run import PLATFORMS, RUN_FILE
from bufferhouse.whatif.edits import read_edit

_SHOWN_HEIGHT = 900  # pixels of a page in a notebook
_MOST_VALUES = 1_000_000  # of a memory space
_turn = threading.Lock()


class _Folder:
    """A temporary folder that goes with the last object that holds it."""

    def __init__(self) -> None:
        self.name = tempfile.mkdtemp(prefix="bufferhouse-explain-")
        self.remove = weakref.finalize(self, shutil.rmtree, self.name, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class Report:
    """An answer that shows itself: as text where it is printed, as a page in a notebook."""

    text: str
    page: Callable[[], str] | None = field(default=None, repr=False)

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__

    def _repr_html_(self) -> str:
        if self.page is None:
            # A kernel asks for colors ($FORCE_COLOR), which HTML has not as a terminal has them.
            return f"<pre>{html.escape(Text.from_ansi(self.text).plain)}</pre>"
        # A frame keeps the styles and scripts of the page away from the notebook.
        inside = html.escape(self.page(), quote=True)
        return f'<iframe srcdoc="{inside}" style="width:100%;height:{_SHOWN_HEIGHT}px;border:0"></iframe>'


@dataclass(frozen=True, repr=False)
class Explained:
    """What a compiled program takes, in bytes; its dump is kept until this is forgotten.

    `reserved` and `peak` are of the default memory space, `spaces` has all of them by number. `values` are those alive
    at the occupied peak of each memory space, the largest owners first: records with memory_space, value_name, kind,
    shape_text, owned_bytes, op_name, source_place and more. `compiled` is what JAX made, ready to be called.
    """

    entry: Entry
    values: list[Record]
    compiled: Any
    output_sites: Mapping[int, list[Site]]
    _folder: _Folder

    def __repr__(self) -> str:
        peak = "" if self.peak is None else f", {human_bytes(self.peak)} at the peak"
        return f"<{self.name} on {self.entry.chip}: {human_bytes(self.reserved)} reserved{peak}; .report() says why>"

    def _repr_html_(self) -> str:
        return self.report()._repr_html_()

    @property
    def name(self) -> str:
        """The function, as the compiler calls it."""
        return self.entry.function

    @property
    def spaces(self) -> dict[int, Space]:
        """The memory spaces by their numbers."""
        return {space.memory_space: space for space in self.entry.spaces}

    @property
    def reserved(self) -> int:
        """The reserved bytes of the default memory space."""
        return self.spaces[0].reserved_bytes if 0 in self.spaces else 0

    @property
    def peak(self) -> int | None:
        """The occupied peak of the default memory space; None where the dump has no live ranges."""
        return self.spaces[0].occupied_peak_bytes if 0 in self.spaces else 0

    @property
    def lock(self) -> Lock:
        """The program as `memory.lock` would hold it."""
        return Lock.of([self.entry])

    def report(self) -> Report:
        """Return the report of `bufferhouse report program`."""
        program = read_program([self._folder.name], str(self.entry.program_id))

        def page() -> str:
            from bufferhouse.report.program.page import program_page  # Altair takes half a second to import

            return program_page(program)

        return Report(program_text(program, "table"), page)

    def whatif(self, *edits: str, memory_space: int = 0) -> Report:
        """Return what edits would do, as `bufferhouse whatif` takes them: `donate:parameter=0`, `remat:fusion.12`.

        Raises:
            UsageError: there is no edit, one is none, or names no value.
        """
        if not edits:
            raise UsageError('expected edits, such as "donate:parameter=0" or "reschedule"')
        program = str(self.entry.program_id)
        read = [read_edit(text) for text in edits]
        change = read_change([self._folder.name], program, read, memory_space=memory_space)
        return Report(change_text(change, "table"))


def explain(
    jitted: Any, args: Sequence[Any], kwargs: Mapping[str, Any], *, chip: str | None = None, root: Path | None = None
) -> Explained:
    """Return the explanation of `bufferhouse.explain`; source files are told from the folder `root` on.

    Where the program does not fit, the exception of its compiler gets the findings of `bufferhouse oom` as a note.
    """
    lower = None if isinstance(jitted, str | bytes) else getattr(jitted, "lower", None)  # a text is made lower case
    if lower is None and not hasattr(jitted, "compile"):
        raise UsageError(f"expected a jitted function, or what its lower() returns, found {type(jitted).__name__}")
    if lower is None and (args or kwargs):
        raise UsageError(
            f"{type(jitted).__name__} is lowered for its arguments already: expected no arguments beside it, found "
            f"{len(args) + len(kwargs)}; for others, give the jitted function and them"
        )
    lowered = lower(*args, **kwargs) if lower is not None else jitted
    folder = _Folder()
    try:
        with _compiling():
            # $XLA_FLAGS may ask for the dumps of other programs.
            options = {"xla_dump_to": folder.name, "xla_dump_hlo_as_text": True, "xla_dump_hlo_module_re": ".*"}
            try:
                compiled = lowered.compile(compiler_options=options)
            except Exception as error:
                with suppress(Exception):  # whatever there is to say besides, nothing hides what the compiler says
                    _note(error, folder)
                raise
        _describe(Path(folder.name), compiled)
        return _read(folder, compiled, chip, Checkout(root or Path.cwd()))
    except BaseException:
        folder.remove()
        raise


def _read(folder: _Folder, compiled: Any, chip: str | None, checkout: Checkout) -> Explained:
    with in_memory([folder.name], with_logs=False) as con:
        found = measured(con, checkout, chip=chip)
        if not found.entries:
            raise UsageError(
                "expected a dump of the program, found none that can be read: a program from a cache of compilations "
                "leaves none, nor does one that $XLA_FLAGS exclude; compile in a new process, without a cache, with "
                "JAX_ENABLE_COMPILATION_CACHE=false, and with no --xla_dump_… in XLA_FLAGS"
                + "".join(f"\nrefused: {uri}" for uri in found.refused)
            )
        entry = min(found.entries.values(), key=Entry.size_order)
        values = ask(con, "program_peak", dump_ids=[entry.dump_id], owners=_MOST_VALUES).records
        return Explained(entry, values, compiled, output_sites(con, [entry], checkout), folder)


def _note(error: Exception, folder: _Folder) -> None:
    """Add to what a compiler says of a program that does not fit why: it wrote the dump all the same."""
    said = read_messages(io.BytesIO(str(error).encode("utf-8", "backslashreplace")), "the exception")
    messages = [one for one in said if isinstance(one, Message) and one.is_failure]
    if not messages:
        return
    if any(Path(folder.name).rglob("*buffer-assignment*")):
        with in_memory([folder.name], with_logs=False) as con:
            # The folder goes with the exception: only the name of the dump says something.
            candidates = [{**one, "source_uri": one["relative_path"]} for one in join.dumps(con)]
            findings = finding.explain(con, messages, candidates, has_unread=bool(join.unread(con)))
    else:
        findings = finding.explain(None, messages, [])
        for one in findings:
            one.reason = "the compiler failed before it wrote one"
    error.add_note(oom_text(Explanation(findings), "table"))


@contextmanager
def _compiling() -> Iterator[None]:
    """Let nothing come from a cache of compilations: what is not compiled leaves no dump.

    All threads have one configuration of JAX. They take turns, else the last one would leave it as another had it.
    """
    jax = sys.modules.get("jax")  # the caller's; whoever compiles otherwise has no such cache
    if jax is None:
        yield
        return
    with _turn:
        before = jax.config.jax_enable_compilation_cache
        jax.config.update("jax_enable_compilation_cache", False)
        _ask_again()
        try:
            yield
        finally:
            jax.config.update("jax_enable_compilation_cache", before)
            _ask_again()


def _ask_again() -> None:
    """Let JAX ask whether there is a cache: it asks once in a process, at the first compilation."""
    with suppress(ImportError, AttributeError):
        from jax.experimental.compilation_cache import compilation_cache

        compilation_cache.reset_cache()


def _describe(folder: Path, compiled: Any) -> None:
    """Write the run.json of the folder: the compiler, and the device that the program is compiled for."""
    facts = {"compiler": "jaxlib", "compiler_version": _version("jaxlib")}
    device = _device(compiled)
    if device is not None:
        platform = str(device.platform)
        facts |= {"device_kind": device.device_kind, "platform": platform if platform in PLATFORMS else None}
        if platform == "tpu":
            facts |= {"compiler": "libtpu", "compiler_version": _version("libtpu")}
    known = {name: value for name, value in facts.items() if value}
    (folder / RUN_FILE).write_text(json.dumps(known), encoding="utf-8")


def _device(compiled: Any) -> Any:
    """Return a device that the program is compiled for; None where JAX does not tell."""
    jax = sys.modules.get("jax")
    if jax is None:
        return None
    for name in ("input_shardings", "output_shardings"):
        with suppress(Exception):  # not every executable tells its shardings
            for sharding in jax.tree_util.tree_leaves(getattr(compiled, name)):
                return min(sharding.device_set, key=lambda device: device.id)
    return None


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
