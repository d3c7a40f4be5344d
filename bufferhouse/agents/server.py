"""The server of the Model Context Protocol: its tools, its resources, over standard input or HTTP on loopback.

Answers are JSON in the text of a result, not structured content: ids have 63 bits, and clients in JavaScript round
numbers beyond 53.
"""

import hmac
import re
import socket
from collections.abc import Awaitable, Callable, Iterable
from typing import Annotated, Any, Literal

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError
from mcp.server.mcpserver.resources import FileResource
from mcp.types import ToolAnnotations
from pydantic import BeforeValidator, Field, ValidationError

from bufferhouse.agents.calls import Calls
from bufferhouse.agents.pages import MOST_ROWS, Page
from bufferhouse.errors import UsageError, did_you_mean
from bufferhouse.paths import DOCS, PACKAGE
from bufferhouse.query.catalog import catalog_sections
from bufferhouse.version import __version__

SKILL = PACKAGE / "agents" / "SKILL.md"
_READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
Offset = Annotated[int, Field(ge=0, description="The first row of each list, from 0; `pages` says where the next is.")]
Limit = Annotated[int, Field(ge=1, le=MOST_ROWS, description="How many rows of each list at most.")]
# list_programs gives ids as numbers, so a client may send one back as a number.
_Word = Annotated[str, BeforeValidator(lambda given: str(given) if type(given) is int else given)]
Program = Annotated[_Word, Field(description="The program: its name or program_id, or the beginning of either.")]
Run = Annotated[str, Field(description="The run: its name, the beginning of it, latest, or previous.")]
RunOrPart = Annotated[
    str, Field(description="The run, or RUN@FLAG=VALUE: its dumps that were compiled with this flag.")
]
MaybeRun = Annotated[str | None, Field(description="The run, as in oom; else the newest run of the program.")]
Space = Annotated[int | None, Field(ge=0, description="Only this memory space; 0 is the default one, HBM on TPU.")]
Parameters = Annotated[dict[str, str | int | float | bool | None] | None, Field(description="Values by name.")]


def instructions() -> str:
    """Return the instructions that an agent gets first: SKILL.md without its head."""
    return SKILL.read_text(encoding="utf-8").split("---\n", 2)[2].strip()


class _Server(MCPServer):
    """A server that refuses arguments with unknown names: ignoring them silently would change the answer."""

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        """Call a tool, as the server of the package does."""
        for tool in await self.list_tools():
            known = tool.input_schema["properties"]
            if tool.name == name and (others := sorted(arguments.keys() - known.keys())):
                raise ToolError(f"{name} has no argument {others[0][:80]!r}; it has {', '.join(known)}")
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            if not isinstance(error.__cause__, ValidationError):
                raise
            raise ToolError("; ".join(f"{name}: {_said(one)}" for one in error.__cause__.errors())) from None


def _said(fault: Any) -> str:
    """Return what is wrong with an argument: where, what was expected, what was found."""
    where = ".".join(map(str, fault["loc"]))
    if fault["type"] == "missing":
        return f"expected the argument {where}"
    return f"{where}: {fault['msg']}, found {str(fault['input'])[:80]!r}"


def server(calls: Calls) -> MCPServer:
    """Return the server of a warehouse."""
    made = _Server("bufferhouse", version=__version__, instructions=instructions(), log_level="WARNING")

    async def answered(tool: str, offset: int, limit: int, **arguments: Any) -> str:
        try:
            return await calls.call(tool, arguments, Page(offset, limit))
        except UsageError as error:
            raise ToolError(str(error)) from None

    tool = made.tool(annotations=_READS, structured_output=False)

    @tool
    async def list_runs(offset: Offset = 0, limit: Limit = 50) -> str:
        """List the runs, oldest first: name, when, compiler, platform, track, dumps. A run is one compile job."""
        return await answered("list_runs", offset, limit)

    @tool
    async def list_programs(offset: Offset = 0, limit: Limit = 20) -> str:
        """List the programs, the largest first: id, name, number of runs, most reserved bytes, entry signature."""
        return await answered("list_programs", offset, limit)

    @tool
    async def describe_mart(
        name: Annotated[str | None, Field(description="Such as marts.peak_memory; without it all are listed.")] = None,
        offset: Offset = 0,
        limit: Limit = 100,
    ) -> str:
        """Describe a mart, or a table of staging or raw: purpose, grain, and the meaning of each column."""
        return await answered("describe_mart", offset, limit, name=name)

    @tool
    async def ask(
        name: Annotated[str | None, Field(description="The question; without it all are listed.")] = None,
        parameters: Parameters = None,
        offset: Offset = 0,
        limit: Limit = 50,
    ) -> str:
        """Ask a question of the cookbook by its name, such as biggest_at_peak; better than SQL of your own."""
        return await answered("ask", offset, limit, name=name, parameters=parameters)

    @tool
    async def query(
        sql: Annotated[str, Field(description="One statement of DuckDB that reads; $NAME is a parameter.")],
        parameters: Parameters = None,
        offset: Offset = 0,
        limit: Limit = 50,
    ) -> str:
        """Run one SELECT, DESCRIBE, SUMMARIZE or EXPLAIN over marts, staging and raw; nothing else is allowed.

        A next page runs the statement again: give it an ORDER BY.
        """
        return await answered("query", offset, limit, sql=sql, parameters=parameters)

    @tool
    async def compare(
        before: RunOrPart,
        after: RunOrPart,
        program: Annotated[_Word | None, Field(description="Only this program, by name or id.")] = None,
        memory_space: Space = None,
        metric: Literal["reserved", "occupied", "temp", "footprint"] = "reserved",
        by: Annotated[
            list[str] | None,
            Field(description="Add up changes by cause, op_name, source, opcode, element_type, tile or parameter."),
        ] = None,
        offset: Offset = 0,
        limit: Limit = 10,
    ) -> str:
        """Say why memory changed between two runs: each program's change and its causes, which sum to it.

        Causes have bytes, op_name and source line. The biggest changes come first.
        """
        wanted = {"before": before, "after": after, "program": program, "memory_space": memory_space}
        return await answered("compare", offset, limit, **wanted, metric=metric, by=by)

    @tool
    async def explain_program(
        program: Program,
        run: MaybeRun = None,
        parts: Annotated[
            list[str] | None,
            Field(description="Answers wanted, such as program_peak, program_timeline; else those without pictures."),
        ] = None,
        offset: Offset = 0,
        limit: Limit = 15,
    ) -> str:
        """Say what a program takes in each memory space, who owns its peak and from which source line."""
        return await answered("explain_program", offset, limit, program=program, run=run, parts=parts)

    @tool
    async def oom(run: Run, offset: Offset = 0, limit: Limit = 10) -> str:
        """Say why programs of a run did not fit, from the messages that were ingested with it to the line of code."""
        return await answered("oom", offset, limit, run=run)

    @tool
    async def whatif(
        program: Program,
        edits: Annotated[
            list[str] | None,
            Field(description="Such as donate:parameter=0, remat:fusion.12, shrink:VALUE:bf16, free:VALUE."),
        ] = None,
        fit: Annotated[str | None, Field(description="A capacity such as 15.75GiB: find the fewest edits.")] = None,
        memory_space: Annotated[int, Field(ge=0, description="The memory space.")] = 0,
        run: MaybeRun = None,
        offset: Offset = 0,
        limit: Limit = 15,
    ) -> str:
        """Say what edits of values would do to peak and arena; without edits and fit, rank what each is worth."""
        wanted = {"program": program, "edits": edits, "fit": fit, "memory_space": memory_space, "run": run}
        return await answered("whatif", offset, limit, **wanted)

    _add_resources(made)
    return made


def _add_resources(made: MCPServer) -> None:
    for name, path, description in (
        ("glossary", DOCS / "glossary.md", "Every word that columns and answers use."),
        ("measures", DOCS / "measures.md", "What reserved, occupied, listed, padding and slack are, with examples."),
        ("skill", SKILL, "How to use this server: the words and the traps."),
    ):
        uri = f"bufferhouse://{name}"
        made.add_resource(
            FileResource(uri=uri, name=name, path=path, description=description, mime_type="text/markdown")
        )

    @made.resource("bufferhouse://catalog", name="catalog", mime_type="text/markdown")
    def catalog() -> str:
        """List every table and view with its purpose; bufferhouse://catalog/NAME has the columns of one."""
        return "\n".join(f"* {name}: {text.split(chr(10) * 2, 2)[1]}" for name, text in catalog_sections().items())

    @made.resource("bufferhouse://catalog/{name}", name="catalog of one", mime_type="text/markdown")
    def catalog_of(name: str) -> str:
        """Describe a table or a view, such as marts.peak_memory: with its version or without, as describe_mart."""
        sections = catalog_sections()
        found = _full_name(name, sections)
        if found is None:
            hint = did_you_mean(name, sections) or "; bufferhouse://catalog lists them"
            raise ResourceNotFoundError(f"there is no table {name[:80]!r}{hint}")
        return sections[found]


def _full_name(name: str, known: Iterable[str]) -> str | None:
    """Return the table or view that a name means, with a schema or without; of a mart the newest version."""
    for schema in [""] if "." in name else ["marts.", "staging.", "raw."]:
        is_meant = re.compile(rf"{re.escape(schema + name.lower())}(_v\d+)?").fullmatch
        if versions := [one for one in known if is_meant(one)]:
            return max(versions, key=lambda one: (len(one), one))
    return None


def listening(port: int) -> socket.socket:
    """Return a socket of 127.0.0.1 for `run_http`.

    Raises:
        UsageError: another program has the port.
    """
    found = socket.socket()
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind(("127.0.0.1", port))
        found.listen()
    except OSError as error:
        found.close()
        raise UsageError(f"--http {port}: expected a free port of 127.0.0.1, found: {error.strerror}") from None
    return found


def run_http(made: MCPServer, opened: socket.socket, token: str) -> None:
    """Serve HTTP at /mcp of a socket until SIGTERM or Ctrl-C, to clients that send the token as a bearer token.

    Requests that a browser sends for a web page are refused: by the names of host and origin, and without the token.
    """
    import uvicorn

    config = uvicorn.Config(guarded(made.streamable_http_app(), token), log_level="warning")
    uvicorn.Server(config).run(sockets=[opened])


def guarded(app: Callable[..., Awaitable[None]], token: str) -> Callable[..., Awaitable[None]]:
    """Return an ASGI application that answers 401 to requests without the token."""
    expected = token.encode()

    async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
        scheme, _, given = dict(scope.get("headers") or ()).get(b"authorization", b"").partition(b" ")
        is_known = scheme.lower() == b"bearer" and hmac.compare_digest(given, expected)  # no case: RFC 9110, 11.1
        if scope["type"] == "lifespan" or is_known:
            await app(scope, receive, send)
            return
        await send({"type": "http.response.start", "status": 401, "headers": [(b"www-authenticate", b"Bearer")]})
        await send({"type": "http.response.body", "body": b"expected the token of bufferhouse mcp\n"})

    return application
