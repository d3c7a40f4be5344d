"""The server of agents over HTTP: on loopback, to whoever sends the token, and to no web page."""

import json
import os
import urllib.error
import urllib.request

import anyio
import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed")

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from bufferhouse.commands.mcp import TOKEN
from tests.command_line import call, kill_group, start
from tests.flows.clock import free_port, until

pytestmark = pytest.mark.slow
SECRET = "a-token-of-the-test"


@pytest.fixture(scope="module")
def url(example_warehouse):
    """The address of a server."""
    port = free_port()
    words = ("mcp", "--warehouse", example_warehouse, "--http", port)
    environment = os.environ
    before = environment.get(TOKEN)
    environment[TOKEN] = SECRET
    try:
        process = start(*words)
    finally:
        environment.pop(TOKEN) if before is None else environment.update({TOKEN: before})
    try:
        until(lambda: status(f"http://127.0.0.1:{port}/mcp") == 401, "the server")
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        kill_group(process)


def status(url, **headers):
    told = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **headers}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data=b"{}", headers=told)) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        with error:
            return error.code
    except OSError:
        return 0


def test_only_who_has_the_token_is_answered(url):
    """Not without it, not with another one, and not a page that a browser shows."""
    own = f"Bearer {SECRET}"
    others = ("Bearer x", f"Basic {SECRET}", SECRET, f"Bearer {SECRET}x", "Bearer ")
    assert [401] * 6 == [status(url), *(status(url, Authorization=one) for one in others)]
    assert status(url, Authorization=own) == status(url, Authorization=f"bearer {SECRET}") != 401
    assert 421 == status(url, Authorization=own, Host="evil.example")
    assert 403 == status(url, Authorization=own, Origin="http://evil.example")


def test_the_same_tools_answer(url):
    """A statement that reads is answered, one that writes is refused."""

    async def script():
        http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {SECRET}"})
        async with http, Client(streamable_http_client(url, http_client=http)) as client:
            read = await client.call_tool("query", {"sql": "SELECT COUNT(*) AS dumps FROM raw.dumps"})
            return read, await client.call_tool("query", {"sql": "DELETE FROM raw.dumps"})

    read, write = anyio.run(script)
    assert [{"dumps": 126}] == json.loads(read.content[0].text)["rows"]
    assert (False, True) == (read.is_error, write.is_error)


def test_a_port_that_somebody_has_is_a_wrong_call(url, example_warehouse):
    """Told before a token is made."""
    port = url.split(":")[2].split("/")[0]
    said = call("mcp", "--warehouse", example_warehouse, "--http", port)
    assert (2, "") == (said.code, said.out)
    assert f"bufferhouse: --http {port}: expected a free port of 127.0.0.1, found: Address already in use\n" == said.err
