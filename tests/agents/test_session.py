"""An agent's session: from "why did memory grow this week" to the source line, with the figures of the command line."""

import json

import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from tests.agents.sessions import refused, session, told, whole
from tests.command_line import call

HOSTILE = ("DELETE FROM raw.dumps", "FROM read_csv('/etc/passwd')")  # many more in tests/attack/agents.py

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def growth(example_warehouse):
    """What an agent finds that asks why the newest release of its platform takes more memory than the one before."""

    async def script(client):
        found = {"tools": [tool.name for tool in (await client.list_tools()).tools]}
        found["runs"] = await told(client, "list_runs")
        found["moved"] = await told(client, "ask", name="biggest_movers")
        most = max(found["moved"]["rows"], key=lambda row: row["reserved_change_bytes"])
        found["program"], before, after = most["program_name"], most["previous_run_name"], most["run_name"]
        found["pair"], found["change"] = (before, after), most["reserved_change_bytes"]
        found["compare"] = await whole(client, "compare", before=before, after=after)
        (number,) = {
            one["program_id"] for one in found["compare"]["programs"] if one["program_name"] == found["program"]
        }
        found["explained"] = await whole(client, "explain_program", program=number, run=after)
        found["worth"] = await whole(client, "whatif", program=str(number), run=after)
        found["hostile"] = [await refused(client, "query", sql=sql) for sql in HOSTILE]
        found["counted"] = await told(client, "query", sql="SELECT COUNT(*) AS dumps FROM raw.dumps")
        found["catalog"] = [
            (await client.read_resource(f"bufferhouse://catalog/{name}")).contents[0].text
            for name in ("marts.peak_memory_v1", "marts.peak_memory", "peak_memory", "raw.runs")
        ]
        found["other"] = [
            await refused(client, "ask", question="biggest_at_peak"),
            await refused(client, "compare", before="previous", after="latest", progam="jit_x"),
        ]
        found["wrong"] = [await refused(client, "query"), await refused(client, "list_runs", limit=0)]
        found["wrong"].append(await refused(client, "whatif", program="jit_fft", fit="much"))
        return found

    return session(example_warehouse, script)


def printed(*words: object) -> dict:
    """What the command line prints as JSON, without what differs from call to call."""
    outcome = call(*words, "--format", "json")
    assert 0 == outcome.code, outcome.err
    return plain(json.loads(outcome.out))


def plain(found: dict) -> dict:
    return {name: value for name, value in found.items() if name not in ("asked_at", "reads", "note", "pages")}


def test_growth_is_followed_to_the_source_line(growth, example_warehouse):
    """Every figure on the way is the command line's, and the line is one of the program's.

    An agent asks for a program by its number, as list_programs gives it, or as a text; the command line by its name.
    """
    before, after = growth["pair"]
    at = ("--warehouse", example_warehouse)
    assert printed("compare", before, after, *at) == plain(growth["compare"])
    expected = printed("report", "program", growth["program"], "--run", after, *at)["answers"]
    assert {name: expected[name] for name in growth["explained"]["answers"]} == growth["explained"]["answers"]
    assert printed("savings", growth["program"], "--run", after, *at) == plain(growth["worth"])
    assert json.loads(call("runs", "ls", *at, "--format", "json").out) == growth["runs"]["rows"]
    movers = json.loads(call("query", "--ask", "biggest_movers", *at, "--format", "json").out)
    assert movers == growth["moved"]["rows"]
    (changed,) = [row for row in growth["compare"]["programs"] if row["program_name"] == growth["program"]]
    assert growth["change"] == changed["delta_bytes"] == sum(cause["bytes"] for cause in changed["causes"])
    line = next(cause["source"] for cause in changed["causes"] if cause["source"])
    assert "/srv/train/programs.py:274" == line
    assert line in {row["source_place"] for row in growth["explained"]["answers"]["program_peak"]}


def test_every_answer_names_the_marts_it_comes_from(growth):
    """Marts are named with their versions."""
    assert "marts.peak_memory_v1" in growth["compare"]["reads"]
    assert "marts.peak_buffers_v1" in growth["explained"]["reads"]
    assert ["raw.dumps"] == growth["counted"]["reads"]
    assert "staging.hlo_values" in growth["worth"]["reads"]


def test_statements_that_write_are_refused_and_change_nothing(growth, example):
    """The guard stands behind this door, too; afterwards all is there."""
    assert all("query only reads" in text for text in growth["hostile"])
    assert example.execute("SELECT COUNT(*) FROM raw.dumps").fetchone()[0] == growth["counted"]["rows"][0]["dumps"]


def test_the_catalog_is_a_resource(growth):
    """One table or view a time, as the catalog shows it; a mart also by the names that describe_mart takes."""
    assert growth["catalog"][0].startswith("### marts.peak_memory_v1\n")
    assert [growth["catalog"][0]] * 2 == growth["catalog"][1:3]
    assert growth["catalog"][3].startswith("### raw.runs\n")
    assert ["list_runs", "list_programs", "describe_mart", "ask", "query", "compare", "explain_program", "oom",
            "whatif"] == growth["tools"]  # fmt: skip


def test_arguments_of_other_names_are_refused(growth):
    """The message names those there are: left out, they would change what is answered."""
    assert "ask has no argument 'question'; it has name, parameters, offset, limit" == growth["other"][0]
    assert growth["other"][1].startswith("compare has no argument 'progam'; it has before, after, program, ")


def test_an_argument_that_is_wrong_is_told_in_a_line(growth):
    """Which, what was expected and what was found, and no address of a library's documents."""
    assert [
        "query: expected the argument sql",
        "list_runs: limit: Input should be greater than or equal to 1, found '0'",
        "Error executing tool whatif: fit: expected a size such as 15.75GiB, found 'much'",
    ] == growth["wrong"]


def test_a_call_ends_in_its_time_and_the_server_lives_on(own_warehouse):
    """A statement that never ends is stopped; one that ends its process, too; the next is answered."""
    endless = "SELECT COUNT(*) FROM range(10000000000) AS a, range(10000000000) AS b"

    async def script(client):
        return await refused(client, "query", sql=endless), await told(client, "query", sql="SELECT 1 AS one")

    stopped, found = session(own_warehouse, script, "--timeout", 0.5)
    assert "stopped after 0.5 s" in stopped
    assert [{"one": 1}] == found["rows"]


def test_what_the_server_needs_is_said(example_warehouse):
    """A warehouse that is not there ends the server at once; --skill prints what teaches an agent."""
    assert 2 == call("mcp", "--warehouse", "/nowhere.duckdb").code
    assert call("mcp", "--skill").out.startswith("---\nname: bufferhouse\n")
