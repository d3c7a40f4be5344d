"""Which addresses the processes of a test contact, as the interpreter's own audit hook hears it.

What a library does without Python's `socket` is not heard: obstore, which reads buckets, has sockets of its own.
"""

import json
import socket
from pathlib import Path
from typing import Any

from tests.command_line import CHECKOUT

_FOLDER = CHECKOUT / "tests" / "contacts"
_LOOPBACK = ("127.", "localhost", "::1")


def heard(file: Path) -> dict[str, str]:
    """Return variables of the environment with which a Python process, and its children, write contacts to a file."""
    return {"CONTACTS_FILE": str(file), "PYTHONPATH": f"{_FOLDER}:{CHECKOUT}"}


def contacts(file: Path) -> list[dict[str, Any]]:
    """Return the contacts written so far: number and command of the process, the kind of call, the host or path."""
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def strangers(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the contacts that leave this machine: no loopback, no look-up of its own name, no file (a Unix socket)."""
    own = socket.gethostname()
    return [
        one
        for one in found
        if one["host"] and one["host"] != own and not one["host"].startswith((*_LOOPBACK, "/", "\0"))
    ]
