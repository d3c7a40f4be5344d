"""`bufferhouse.explain` and the fixture `memory_lock`: light to load, and right about what was compiled."""

import html
import os
import re
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import ModuleType

import pytest

import bufferhouse
from bufferhouse.bisect.environments import Environments
from bufferhouse.compiled.explain import Explained
from bufferhouse.compiled.pytest_plugin import MemoryLock
from bufferhouse.errors import UsageError
from bufferhouse.paths import CHECKOUT
from tests.oom.specimens import log

LOCKED = CHECKOUT / "tests" / "data" / "locked"
TEST = """
import jax, jax.numpy as jnp
def step(w, x):
    return w - 0.1 * jax.grad(lambda w: jnp.sum(jnp.tanh(x @ w) ** 2))(w)
def test_step(memory_lock):
    donated = (0,) if {donated} else ()
    args = jnp.ones((256, 256)), jnp.ones((64, 256))
    found = memory_lock(jax.jit(step, donate_argnums=donated), *args)
    stats = found.compiled.memory_analysis()
    assert stats.temp_size_in_bytes == found.spaces[0].temp_bytes
    assert found.compiled(*args).shape == (256, 256)
    assert "donate" in str(found.report()) or {donated}
    assert "What if" in str(found.whatif("remove:" + found.values[-1]["value_name"].split("{{")[0]))
"""


class Lowered:
    """What XLA left for a real training step, where compile() is told to dump: JAX itself is in the soak."""

    def __init__(self, run: str) -> None:
        self._run = run

    def compile(self, compiler_options: dict) -> "Lowered":
        for path in (LOCKED / self._run).glob("*.gz"):
            shutil.copy(path, compiler_options["xla_dump_to"])
        return self


@pytest.fixture(scope="module")
def programs() -> dict[str, Explained]:
    """What was compiled, by run, explained once: how it is held against a file does not change it."""
    return {run: bufferhouse.explain(Lowered(run), chip="cpu") for run in ("kept", "undonated")}


def test_the_plugin_loads_nothing_but_pytest():
    """Who has bufferhouse installed and does not use the fixture waits for none of it."""
    code = (
        "import sys, pytest\nbefore = set(sys.modules)\nimport bufferhouse.compiled.pytest_plugin\n"
        "print(sorted({name.split('.')[0] for name in set(sys.modules) - before}))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=CHECKOUT)
    assert ("['bufferhouse']\n", "") == (said.stdout, said.stderr)


def test_what_was_compiled_is_explained(programs):
    """Bytes, the values at the peak, and answers that show themselves."""
    found = programs["kept"]
    assert (22 << 20) > found.reserved >= found.peak == sum(value["owned_bytes"] for value in found.values)
    assert "<jit_train_step on cpu: 21.8 MiB reserved, 21.8 MiB at the peak; .report() says why>" == repr(found)
    report = found.report()
    assert "jit_train_step" in str(report)
    assert report._repr_html_().startswith('<iframe srcdoc="&lt;!')
    assert "occupied at the peak" in str(found.whatif("remove:*"))
    [shown] = re.findall(r'explained\.whatif\("(.*?)"\)', (CHECKOUT / "docs" / "lock.md").read_text())
    assert "occupied at the peak" in str(found.whatif(shown))
    with pytest.raises(UsageError, match="expected KIND:VALUE"):
        found.whatif("shrunk:x")
    with pytest.raises(UsageError, match='expected edits, such as "donate:parameter=0"'):
        found.whatif()


def test_a_notebook_shows_a_text_without_what_a_terminal_obeys(programs, monkeypatch):
    """Its kernel asks for colors, which the page of a browser would show as letters; a program's < is text."""
    for name, value in {"NO_COLOR": "", "FORCE_COLOR": "1", "TERM": "xterm-256color"}.items():
        monkeypatch.setenv(name, value)
    colored = programs["kept"].whatif("reschedule")
    assert "\x1b[1m" in str(colored)
    monkeypatch.setenv("NO_COLOR", "1")
    plain = str(programs["kept"].whatif("reschedule"))
    assert f"<pre>{html.escape(plain)}</pre>" == colored._repr_html_()


class TooLarge:
    """A program that does not fit: its compiler writes the dump and says why."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def compile(self, compiler_options: dict) -> None:
        for path in log("libtpu-0.0.33/xent").parent.glob("*-buffer-assignment.txt"):
            shutil.copy(path, compiler_options["xla_dump_to"])
        raise self._error


def test_what_does_not_fit_is_explained_in_a_note_of_its_exception():
    """The finding of `bufferhouse oom`, with the values at the peak; another failure is raised as it is."""
    text = log("libtpu-0.0.33/xent").read_text()
    said = text[text.rindex("RESOURCE_EXHAUSTED: ") :]
    with pytest.raises(RuntimeError) as raised:
        bufferhouse.explain(TooLarge(RuntimeError(said)))
    [note] = raised.value.__notes__
    flat = " ".join(note.split())
    assert "jit_lm_head_loss: 22.0 GiB do not fit into HBM of 15.75G, 6.2 GiB too much." in flat
    assert "dump: module_0001.jit_lm_head_loss.cl_853872983.after_optimizations-buffer-assignment.txt" in flat
    assert "Values at the peak" in note
    with pytest.raises(RuntimeError) as raised:
        bufferhouse.explain(TooLarge(RuntimeError("INTERNAL: something else")))
    assert not hasattr(raised.value, "__notes__")


class Unmarked(RuntimeError):
    """An exception that takes no note."""

    def __setattr__(self, name: str, value: object) -> None:
        if name == "__notes__":
            raise AttributeError(name)
        super().__setattr__(name, value)


class Unsaid(RuntimeError):
    """An exception that has no text."""

    def __str__(self) -> str:
        raise ValueError


@pytest.mark.parametrize("kind", [Unmarked, Unsaid])
def test_nothing_hides_the_exception_of_the_compiler(kind: type[Exception]):
    """What cannot be noted is left out."""
    text = log("libtpu-0.0.33/xent").read_text()
    error = kind(text[text.rindex("RESOURCE_EXHAUSTED: ") :])
    with pytest.raises(kind) as raised:
        bufferhouse.explain(TooLarge(error))
    assert error is raised.value


class EarlyTooLarge(TooLarge):
    """A program whose compiler fails before it has written its dump, or while it writes it."""

    def __init__(self, error: Exception, written: str) -> None:
        super().__init__(error)
        self._written = written

    def compile(self, compiler_options: dict) -> None:
        if self._written:
            name = "module_0001.jit_f.after_optimizations-buffer-assignment.txt"
            Path(compiler_options["xla_dump_to"], name).write_text(self._written)
        raise self._error


@pytest.mark.parametrize(
    ("written", "reason"),
    [("", "the compiler failed before it wrote one"), ("BufferAss", "none of the dumps there could be read")],
)
def test_a_note_without_a_dump_says_why(capsys, written: str, reason: str):
    """No flag of a user would bring one: the compiler was asked for it."""
    error = RuntimeError("Out of memory while trying to allocate 5 bytes.")
    with pytest.raises(RuntimeError) as raised:
        bufferhouse.explain(EarlyTooLarge(error, written))
    assert f"no dump: {reason}\n" in raised.value.__notes__[0]
    assert bool(written) == bool(capsys.readouterr().err)


class Configuration:
    """What `jax.config` is here: one for all threads."""

    jax_enable_compilation_cache = True

    def update(self, name: str, value: bool) -> None:
        setattr(self, name, value)


def test_threads_leave_the_cache_of_compilations_as_it_was(monkeypatch):
    """Of two that compile at once each is compiled without the cache, which the caller has again behind both."""
    jax = ModuleType("jax")
    jax.config = Configuration()
    monkeypatch.setitem(sys.modules, "jax", jax)
    met, found = threading.Barrier(2), []

    class Slow(Lowered):
        def compile(self, compiler_options: dict) -> Lowered:
            with suppress(threading.BrokenBarrierError):  # the other one waits for its turn
                met.wait(0.5)
            found.append(jax.config.jax_enable_compilation_cache)
            return super().compile(compiler_options)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda run: bufferhouse.explain(Slow(run), chip="cpu"), ("kept", "undonated")))
    assert ([False, False], True) == (found, jax.config.jax_enable_compilation_cache)


def test_what_is_no_program_is_refused(tmp_path: Path):
    """A function that is not jitted, and a compilation that leaves no dump."""
    with pytest.raises(UsageError, match="expected a jitted function, or what its lower"):
        bufferhouse.explain(len)
    with pytest.raises(UsageError, match=r"expected a jitted function, or what its lower.*, found str"):
        bufferhouse.explain("module_0001.jit_f.cpu_after_optimizations-buffer-assignment.txt")
    with pytest.raises(UsageError, match="expected a dump of the program, found none that can be read"):
        bufferhouse.explain(Lowered("nowhere"))


def test_arguments_beside_what_is_lowered_already_are_refused(tmp_path: Path):
    """The shapes are in it: by what is given beside it, nothing would be compiled."""
    lock = MemoryLock(tmp_path / "memory.lock", is_updating=True, fail_over="")
    said = []
    for ask in (bufferhouse.explain, lock):
        for args, kwargs in (((1, 2), {}), ((), {"batch": 1})):
            with pytest.raises(UsageError) as refused:
                ask(Lowered("kept"), *args, chip="cpu", **kwargs)
            said.append(str(refused.value))
    expected = (
        "Lowered is lowered for its arguments already: expected no arguments beside it, found {}; for others, give the "
        "jitted function and them"
    )
    assert [expected.format(2), expected.format(1)] * 2 == said
    assert [] == list(tmp_path.iterdir())


class Jitted:
    """A function of JAX that notes what it was lowered for."""

    def lower(self, *args: object, **kwargs: object) -> Lowered:
        self.given = args, kwargs
        return Lowered("kept")


def test_a_function_is_lowered_for_all_arguments_that_the_call_gives(tmp_path: Path):
    """One of the function's may be called as the code here calls its own, such as root."""
    lock = MemoryLock(tmp_path / "memory.lock", is_updating=True, fail_over="")
    for ask in (bufferhouse.explain, lock):
        jitted = Jitted()
        ask(jitted, 1, chip="cpu", root=2, args=3)
        assert ((1,), {"root": 2, "args": 3}) == jitted.given


def test_the_fixture_holds_a_program_against_the_file(programs, tmp_path: Path):
    """Unknown, taken in, unchanged, grown: it fails, writes, passes, fails with the line."""
    path = tmp_path / "memory.lock"
    lock, update = (MemoryLock(path, is_updating=is_updating, fail_over="") for is_updating in (False, True))
    with pytest.raises(pytest.fail.Exception, match=r"there is no such file(.|\n)*pytest --memory-lock-update"):
        lock.hold(programs["kept"])
    update(Lowered("kept"))
    lock.hold(programs["kept"])
    with pytest.raises(pytest.fail.Exception, match=r"donation lost(.|\n)*train\.py:16"):
        lock(Lowered("undonated"))
    MemoryLock(path, is_updating=False, fail_over="50%").hold(programs["undonated"])


@pytest.mark.parametrize("order", [("kept", "undonated"), ("undonated", "kept")])
def test_of_several_tests_of_one_signature_the_largest_program_is_written(
    programs, tmp_path: Path, order: tuple[str, str]
):
    """What an update wrote passes, whichever test came last; the next update may write less."""
    path = tmp_path / "memory.lock"
    written = {}
    for run in order:
        MemoryLock(path, is_updating=True, fail_over="", written=written).hold(programs[run])
    for run in order:
        MemoryLock(path, is_updating=False, fail_over="").hold(programs[run])
    MemoryLock(path, is_updating=True, fail_over="").hold(programs["kept"])
    with pytest.raises(pytest.fail.Exception, match="donation lost"):
        MemoryLock(path, is_updating=False, fail_over="").hold(programs["undonated"])


def test_a_file_that_one_program_does_not_mend_names_the_way_out_of_tests(programs, tmp_path: Path):
    """A merge conflict in other programs; then a newer file, a place that is none, and a limit that is none."""
    path = tmp_path / "memory.lock"

    def use(run: str, *, is_updating: bool) -> None:
        MemoryLock(path, is_updating=is_updating, fail_over="").hold(programs[run])

    use("kept", is_updating=True)
    committed = path.read_text()
    others = committed.replace('"jit_train_step"', '"jit_other"')
    program = others[others.index("[[program]]") :]
    ours, theirs = program, re.sub("values = [0-9]+", "values = 99", program, count=1)
    path.write_text(f"{committed}\n<<<<<<< HEAD\n{ours}=======\n{theirs}>>>>>>> theirs\n")
    conflict = path.read_text()
    for is_updating in (False, True):
        with pytest.raises(pytest.fail.Exception) as failed:
            use("kept", is_updating=is_updating)
        way_out = f"git checkout HEAD -- {path}, then take in what moved with all tests: pytest --memory-lock-update"
        assert (True, True) == ("merge" in str(failed.value), way_out in str(failed.value))
    assert conflict == path.read_text()
    path.write_text(committed)
    use("undonated", is_updating=True)
    use("undonated", is_updating=False)
    path.write_text(committed.replace("version = 1", "version = 2"))
    for is_updating in (False, True):
        with pytest.raises(pytest.fail.Exception, match=r"of a newer bufferhouse; use that one$"):
            use("kept", is_updating=is_updating)
    elsewhere = tmp_path / "locks" / "memory.lock"
    with pytest.raises(pytest.fail.Exception, match=r"locks: No such file or directory; make this folder$"):
        MemoryLock(elsewhere, is_updating=True, fail_over="").hold(programs["kept"])
    path.write_text(committed)
    with pytest.raises(pytest.fail.Exception, match=r"^memory_lock_fail_over: expected a limit such as"):
        MemoryLock(path, is_updating=False, fail_over="much").hold(programs["kept"])


@pytest.mark.soak
@pytest.mark.parametrize("release", ["0.4.38", "0.8.3", "0.10.2"])
def test_with_real_jax(tmp_path: Path, release: str):
    """A test that compiles with JAX: taken in, unchanged, and failing without its donation.

    There is a cache of compilations, of which JAX knows before, and flags that ask for the dumps of others.
    """
    programs = Environments(tmp_path / "environments", "jaxlib", ["pytest"]).make(release)
    uv = Path(sys.executable).with_name("uv")
    cache = {
        "JAX_COMPILATION_CACHE_DIR": str(tmp_path / "cache"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        "XLA_FLAGS": "--xla_dump_hlo_module_re=others",
    }
    env = {**os.environ, "UV_SYSTEM_CERTS": "1", "JAX_PLATFORMS": "cpu", **cache}
    for words in (
        ["--require-hashes", "-r", CHECKOUT / "requirements.lock"],
        ["--no-deps", "--no-build-isolation", "--editable", CHECKOUT],
    ):
        subprocess.run([uv, "pip", "install", "-q", "--python", programs / "python", *words], env=env, check=True)
    place = tmp_path / "project"
    place.mkdir()
    outcomes = []
    for donated, words in ((True, ["--memory-lock-update"]), (True, []), (False, [])):
        (place / "test_step.py").write_text(TEST.format(donated=donated))
        said = subprocess.run([programs / "python", "-m", "pytest", "-q", *words], cwd=place, env=env, text=True,
                              stdout=subprocess.PIPE)  # fmt: skip
        outcomes.append((said.returncode, "donation lost" in said.stdout))
    assert [(0, False), (0, False), (1, True)] == outcomes
