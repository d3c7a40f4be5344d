"""Calls of tools from the server: each in a process of its own (`worker`), few at once, each with a time limit."""

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from typing import Any

import anyio

from bufferhouse.agents.pages import Page
from bufferhouse.agents.worker import Request
from bufferhouse.engine.limits import GRACE_SECONDS, MIB
from bufferhouse.errors import UsageError, signal_name
from bufferhouse.redaction import said

MOST_CHARACTERS = 100_000  # of all arguments of a call
_ASK_FOR_LESS = "; ask for less: the server was started with this limit"
# Words of the command line in messages, and the words for agents. An option at the head of a message becomes the name
# of the argument, which has `_` in place of `-`.
_SPELLINGS = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (r"^--param (\w+)(?=:)", lambda found: f"parameters.{found[1]}"),
        (r"^--([a-z-]+)(?=[: ])", lambda found: found[1].replace("-", "_")),
        (r"give it with --param (\w+)=VALUE", lambda found: f"give it in parameters, as {found[1]}"),
        (r"in single quotes it is text: --param .*", lambda _: "in double quotes it is text"),
        (r"bufferhouse query --list shows them", lambda _: "ask without a name lists them"),
        (r"bufferhouse runs ls", lambda _: "list_runs"),
        (r"bufferhouse programs", lambda _: "list_programs"),
        (r", or allow more with --max-rows", lambda _: ""),
        (r"; --(timeout SECONDS|memory MIB) gives it more", lambda _: _ASK_FOR_LESS),
    )
)
_START_SECONDS = 10.0  # that a process may need before it begins, on a busy machine


@dataclass
class Calls:
    """Calls of tools over one warehouse, each within limits; `seconds` and `memory_mib` are those of a statement.

    Each call is a process, and at most `at_once` run at once. Others wait, at most as long as a statement may take.
    """

    warehouse: str
    seconds: float = 60.0
    memory_mib: int = 1024
    rows: int = 10_000
    at_once: int = 2
    _turns: anyio.Semaphore = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._turns = anyio.Semaphore(self.at_once)

    async def call(self, tool: str, arguments: dict[str, Any], page: Page) -> str:
        """Return the answer of a tool.

        Raises:
            UsageError: the call is wrong, or exceeds the limits.
        """
        given = {name: value for name, value in arguments.items() if value is not None}
        request = Request(
            tool, given, self.warehouse, self.seconds, self.memory_mib * MIB, self.rows, *page, os.getpid()
        )
        text = json.dumps(request._asdict())
        if len(text) > MOST_CHARACTERS:
            raise UsageError(f"expected at most {MOST_CHARACTERS:,} characters of arguments, found {len(text):,}")
        with anyio.move_on_after(self.seconds) as waiting:
            await self._turns.acquire()
        if waiting.cancelled_caught:
            raise UsageError(
                f"{self.at_once} other calls are running, and none ended in {self.seconds:g} s; ask again later"
            )
        try:
            ended = await self._run(text)
        finally:
            self._turns.release()
        if ended.stderr:
            print(said(ended.stderr.decode(errors="replace")), file=sys.stderr, end="")
        if ended.returncode < 0:
            raise UsageError(
                f"the call crashed its process ({signal_name(-ended.returncode)}); the warehouse was not changed; "
                "ask in another way, or for less at once"
            )
        if ended.returncode:
            raise UsageError(f"{tool} failed; the messages of the server say why")
        found = json.loads(ended.stdout)
        if "refused" in found:
            raise UsageError(_spelled(found["refused"]))
        return found["answer"]

    async def _run(self, text: str) -> subprocess.CompletedProcess[bytes]:
        program = [sys.executable, "-m", "bufferhouse.agents.worker"]
        try:
            with anyio.fail_after(self.seconds + GRACE_SECONDS + _START_SECONDS):
                return await anyio.run_process(program, input=text.encode(), check=False)
        except TimeoutError:
            raise UsageError(f"stopped after {self.seconds:g} s{_ASK_FOR_LESS}") from None


def _spelled(message: str) -> str:
    """Return a message with the words of tools in place of those of the command line."""
    for pattern, words in _SPELLINGS:
        message = pattern.sub(words, message)
    return message
