"""The command line as the tests call it: inside this process, which is quick, or in one of its own."""

import ctypes
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cache

from typer.main import get_command
from typer.testing import CliRunner

from bufferhouse import cli
from bufferhouse.paths import CHECKOUT

_command = cache(lambda: get_command(cli.app))


@dataclass(frozen=True)
class Outcome:
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str


def call(*words: object, stdin: str = "") -> Outcome:
    """Run a command in this process."""
    runner, code = CliRunner(), 0
    with runner.isolation(input=stdin) as (out, err, _):
        # The runner's `invoke` makes all commands anew for each call, which takes longer than what many of them do.
        try:
            _command().main([str(word) for word in words], prog_name=_command().name)
        except SystemExit as end:
            code = end.code
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
        said = [stream.getvalue().decode().replace("\r\n", "\n") for stream in (out, err)]
    return Outcome(code or 0, *said)


def call_without_capabilities(*words: object) -> Outcome:
    """Run a command in this process, in a thread that is as good as no root: the permissions of files hold for it."""
    with ThreadPoolExecutor(1, initializer=without_capabilities) as pool:
        return pool.submit(call, *words).result()


def without_capabilities() -> None:
    """Let the permissions of files hold for root, too, in this thread and whatever it starts, for good."""
    CAPABILITIES = {"CAP_DAC_OVERRIDE": 1, "CAP_DAC_READ_SEARCH": 2}
    VERSION, PR_CAPBSET_DROP = 0x20080522, 24
    libc, header, sets = ctypes.CDLL(None), (ctypes.c_uint32 * 2)(VERSION), (ctypes.c_uint32 * 6)()
    libc.capget(header, sets)
    for number in CAPABILITIES.values():
        libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0)
        for place in range(3):  # what is effective, permitted, and inherited
            sets[place] &= ~(1 << number)
    assert 0 == libc.capset(header, sets)


def start(*words: object, code: str | None = None, **options) -> subprocess.Popen:
    """Start a command, or a piece of Python with `code`, in a process group of its own."""
    program = ["-c", code] if code is not None else ["-m", "bufferhouse.cli"]
    return subprocess.Popen(
        [sys.executable, *program, *(str(word) for word in words)],
        env={**os.environ, "PYTHONPATH": str(CHECKOUT), "PYTHONFAULTHANDLER": "1"},  # a crash says where
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        **{"stderr": subprocess.PIPE, **options},
    )


def run(*words: object, timeout: float = 120, **options) -> Outcome:
    """Run a command in a process of its own; one that takes longer than `timeout` seconds hangs."""
    process = start(*words, **options)
    out, err = process.communicate(timeout=timeout)
    return Outcome(process.returncode, out, err)


# Carries out commands given as JSON: to start Python takes longer than most of them.
_EACH = """
import json, sys
from dataclasses import astuple
from tests.command_line import call
print(json.dumps([astuple(call(*words)) for words in json.loads(sys.argv[1])]))
"""


def run_each(*commands: Sequence[object], **options) -> list[Outcome]:
    """Run commands one after the other, all in one process of their own."""
    ended = run(json.dumps(commands, default=str), code=_EACH, **options)
    assert 0 == ended.code, ended.err
    return [Outcome(*one) for one in json.loads(ended.out)]


def kill_group(process: subprocess.Popen) -> None:
    """End a process that `start` started, with everything in its group, and close its pipes.

    Their end is not waited for: what has a group of its own may still hold them.
    """
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for pipe in filter(None, (process.stdin, process.stdout, process.stderr)):
        with suppress(BrokenPipeError):
            pipe.close()
