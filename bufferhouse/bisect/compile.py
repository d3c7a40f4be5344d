"""One compilation of a bisection: a command that dumps into a folder, and how it ended."""

import io
import json
import os
import shlex
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from bufferhouse.errors import signal_name
from bufferhouse.messages.message import Message, read_messages
from bufferhouse.sources.run import RUN_FILE

LOG = "stderr.txt"
_LAST_BYTES = 1 << 18  # of a log, in which its last words are looked for: a listing has some ten thousand


def compile_into(
    folder: Path,
    words: Sequence[str],
    facts: Mapping[str, object],
    *,
    programs: Path | None,
    flags: Sequence[str],
    flags_variable: str,
    timeout: float | None,
) -> str | None:
    """Run a command that compiles, so that XLA dumps into a folder; return what went wrong, or None.

    `facts` become the run.json beside the dumps; the log is written there, too. `programs` is the first folder on the
    search path of the command. `flags` are added behind those that are set already.
    """
    folder.mkdir(parents=True)
    (folder / RUN_FILE).write_text(json.dumps(facts), encoding="utf-8")
    env = dict(os.environ)
    if programs is not None:
        for name in ("PYTHONHOME", "PYTHONPATH"):
            env.pop(name, None)
        env["PATH"] = os.pathsep.join([str(programs), env.get("PATH", "")])
        env["VIRTUAL_ENV"] = str(programs.parent)
    dumping = [f"--xla_dump_to={folder}", "--xla_dump_hlo_as_text"]
    for variable, own in ((flags_variable, list(flags)), ("XLA_FLAGS", dumping)):
        env[variable] = " ".join(filter(None, [env.get(variable, ""), *map(_quoted, own)]))
    # A program that JAX takes from its cache is not compiled, and leaves no dump.
    env["JAX_ENABLE_COMPILATION_CACHE"] = "false"
    return _run(words, env, folder / LOG, timeout)


def _quoted(flag: str) -> str:
    return flag if " " not in flag else shlex.quote(flag)


def _run(words: Sequence[str], env: Mapping[str, str], log: Path, timeout: float | None) -> str | None:
    with log.open("wb") as out:
        try:
            # A process group of its own, so that processes that it starts end with it.
            process = subprocess.Popen(
                words, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
            )
        except OSError as error:
            return f"{words[0]}: {error.strerror}"
    try:
        # Without a limit the kernel would continue to wait after Ctrl-C, because Polars sets SA_RESTART.
        code = process.wait(threading.TIMEOUT_MAX if timeout is None else timeout)
    except subprocess.TimeoutExpired:
        return f"took longer than {timeout:g} second{'' if timeout == 1 else 's'}"
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if code < 0:
        return f"ended by {signal_name(-code)}: {last_words(log)}"
    return f"exit {code}: {last_words(log)}" if code else None


def last_words(log: Path) -> str:
    """Return the last line of a log that says something; where a message about memory ends there, its first line."""
    with log.open("rb") as file:
        file.seek(max(log.stat().st_size - _LAST_BYTES, 0))
        data = file.read()
    said = data.decode("utf-8", "backslashreplace").strip().split("\n")[-1].strip()
    for one in read_messages(io.BytesIO(data)):
        if isinstance(one, Message) and one.is_failure and one.lines[-1] == said:
            said = one.lines[0]
    return said[:200] or "without a word"
