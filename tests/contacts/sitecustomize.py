"""Writes down every address that this process, or a fork of it, is about to contact: a line of JSON each.

Python imports a module of this name by itself when it starts; this folder is on the path of processes of tests only.
"""

import json
import os
import sys

_FILE = os.open(os.environ["CONTACTS_FILE"], os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
_HOST = {"socket.connect": 1, "socket.sendto": 1, "socket.sendmsg": 1, "socket.getaddrinfo": 0,
         "socket.gethostbyname": 0, "socket.gethostbyaddr": 0, "socket.getnameinfo": 0}  # fmt: skip


def _hear(event: str, arguments: tuple) -> None:
    if event in _HOST:
        address = arguments[_HOST[event]]
        host = address[0] if isinstance(address, tuple) else address
        line = {"pid": os.getpid(), "command": sys.orig_argv, "event": event, "host": os.fsdecode(host or "")}
        os.write(_FILE, json.dumps(line).encode() + b"\n")


sys.addaudithook(_hear)
