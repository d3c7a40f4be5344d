"""A plugin with one fixture: the services of docker/compose.yaml, the server of them started."""

from collections.abc import Iterator

import pytest

from tests.flows.clock import free_port
from tests.servers.postgres import postgres_folder
from tests.system.stack import Stack


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    """PostgreSQL and the server of compose.yaml, with nothing in them."""
    with postgres_folder() as root:
        stack = Stack(root, free_port())
        try:
            stack.make()
            stack.begin_server()
            yield stack
        finally:
            stack.close()
