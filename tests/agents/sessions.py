"""Sessions with the server of agents, held by the client of its own package over standard input and output."""

import json
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import anyio
from mcp import Client, StdioServerParameters

from bufferhouse.paths import CHECKOUT

T = TypeVar("T")


def session(warehouse: Path, script: Callable[[Client], Awaitable[T]], *options: object) -> T:
    """Start `bufferhouse mcp` on a warehouse, and return what the script makes of its client."""
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "bufferhouse.cli", "mcp", "--warehouse", str(warehouse), *map(str, options)],
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
    )

    async def held() -> T:
        async with Client(server) as client:
            return await script(client)

    return anyio.run(held)


async def told(client: Client, tool: str, **arguments: object) -> dict:
    """Call a tool and return the object of its answer."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content[0].text
    return json.loads(result.content[0].text)


async def whole(client: Client, tool: str, **arguments: object) -> dict:
    """Call a tool page by page and return the object with all rows of its lists."""
    page = found = await told(client, tool, limit=200, **arguments)
    while offsets := [one["next_offset"] for one in page["pages"].values() if one["next_offset"]]:
        page = await told(client, tool, limit=200, offset=min(offsets), **arguments)
        _add(found, page)
    return found


def _add(found: dict, page: dict) -> None:
    for name, value in page.items():
        if isinstance(value, dict) and name != "pages":
            _add(found[name], value)
        elif isinstance(value, list) and name != "reads":
            found[name] += value


async def refused(client: Client, tool: str, **arguments: object) -> str:
    """Call a tool and return why it refuses."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error, result.content[0].text
    return result.content[0].text
