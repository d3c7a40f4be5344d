"""`python -m flows.health` misses the server that should be there."""

import os

from tests.command_line import Outcome, run
from tests.flows.clock import free_port

pytest_plugins = ["tests.flows.prefect_server"]
HEALTH = "import runpy, sys; sys.argv[0] = 'flows.health'; runpy.run_module('flows.health', run_name='__main__')"


def health(*words: object) -> Outcome:
    return run(*words, code=HEALTH)


def test_health_asks_the_server_of_serve_where_none_is_named(prefect_server, monkeypatch):
    """Well on its port; where nobody listens there, 1 and a line. `--if-named` misses a named server only."""
    for name in [name for name in os.environ if name.startswith("PREFECT_API")]:
        monkeypatch.delenv(name)
    port = free_port()
    assert (0, "") == ((found := health("--port", prefect_server.port)).code, found.err)
    found = health("--port", port)
    assert (1, True) == (found.code, f"http://127.0.0.1:{port}/api/health does not answer: " in found.err)
    assert 0 == health("--port", port, "--if-named").code
    monkeypatch.setenv("PREFECT_API_URL", f"http://127.0.0.1:{port}/api")
    assert [1, 0] == [health(*words).code for words in (("--if-named",), (prefect_server.url,))]
