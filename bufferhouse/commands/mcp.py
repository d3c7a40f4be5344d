"""`bufferhouse mcp`."""

import os
import secrets
from typing import Annotated

import typer

from bufferhouse.commands.options import WarehouseOption, say, told, warehouse_path
from bufferhouse.errors import UsageError
from bufferhouse.paths import PACKAGE

TOKEN = "BUFFERHOUSE_MCP_TOKEN"


@told
def mcp(
    warehouse: WarehouseOption = None,
    http: Annotated[
        int | None, typer.Option("--http", min=1, max=65535, help="Serve HTTP on this port of 127.0.0.1 instead.")
    ] = None,
    timeout: Annotated[float, typer.Option("--timeout", min=0.1, help="The seconds that a call may take.")] = 60.0,
    memory: Annotated[int, typer.Option("--memory", min=64, help="The MiB that a statement may take.")] = 1024,
    max_rows: Annotated[int, typer.Option("--max-rows", min=1, help="The rows that an answer may have.")] = 10_000,
    skill: Annotated[
        bool, typer.Option("--skill", help="Print SKILL.md, the instructions for an agent, and exit.")
    ] = False,
) -> None:
    """Serve the warehouse to agents: a server of the Model Context Protocol on standard input and output.

    Its tools only read. With --http, clients send `Authorization: Bearer TOKEN`: the token of $BUFFERHOUSE_MCP_TOKEN,
    or one that is made and printed where it is not set. It needs the extra mcp.

    Example: bufferhouse mcp --warehouse nightly.duckdb
    """
    if skill:
        print((PACKAGE / "agents" / "SKILL.md").read_text(encoding="utf-8"), end="")
        return
    try:
        from bufferhouse.agents.calls import Calls
        from bufferhouse.agents.server import listening, run_http, server
    except ModuleNotFoundError as error:
        if error.name not in ("mcp", "anyio", "pydantic"):
            raise
        raise UsageError("bufferhouse mcp needs the extra mcp; install it with: pip install '.[mcp]'") from None
    place = warehouse_path(warehouse, must_exist=True)
    made = server(Calls(place.key, timeout, memory, max_rows))
    if http is None:
        made.run("stdio")
        return
    opened = listening(http)
    token = os.environ.pop(TOKEN, None)
    if not token:
        token = secrets.token_urlsafe(32)
        print(f"bufferhouse: clients send the header Authorization: Bearer {token}", flush=True)
    say(f"bufferhouse: serving {place} at http://127.0.0.1:{http}/mcp until Ctrl-C")
    run_http(made, opened, token)
