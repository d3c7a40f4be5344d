"""Whom processes contact: nobody but loopback, and the commands that need no server nobody at all.

The flows, `bufferhouse serve` and its server are held to it in tests/flows/test_serve.py, where they run.
"""

import os
import shutil
import socket
import subprocess
import sys

import duckdb
import pytest

from tests.command_line import CHECKOUT
from tests.system.heard import contacts, heard, strangers

SEEDS = CHECKOUT / "examples" / "fleet" / "seeds"


def test_a_stranger_is_heard(tmp_path):
    """Connecting a datagram socket sends nothing, and is a contact all the same: what is heard can be a stranger."""
    code = "import socket; s = socket.socket(type=socket.SOCK_DGRAM); s.connect(('127.0.0.1', 9));" \
           " s.connect(('192.0.2.1', 9))"  # fmt: skip
    file = tmp_path / "contacts"
    subprocess.run([sys.executable, "-c", code], env={**os.environ, **heard(file)}, check=False)
    found = contacts(file)
    assert ["127.0.0.1", "192.0.2.1"] == [one["host"] for one in found]
    assert found[1:] == strangers(found)


def test_its_own_name_is_no_stranger(tmp_path):
    """A server may look up what its machine is called; any other name is a stranger."""
    code = "import contextlib, socket\nfor name in (socket.gethostname(), 'elsewhere.invalid'):\n" \
           "    with contextlib.suppress(OSError): socket.gethostbyaddr(name)"  # fmt: skip
    file = tmp_path / "contacts"
    subprocess.run([sys.executable, "-c", code], env={**os.environ, **heard(file)}, check=True, timeout=60)
    assert [socket.gethostname(), "elsewhere.invalid"] == [one["host"] for one in contacts(file)]
    assert ["elsewhere.invalid"] == [one["host"] for one in strangers(contacts(file))]


def test_ingest_and_query_contact_nobody(tmp_path):
    """Neither a server nor anything else: no socket is connected and no name looked up."""
    file, warehouse = tmp_path / "contacts", tmp_path / "warehouse.duckdb"
    for words in (["ingest", SEEDS, "--publish"], ["query", "SELECT COUNT(*) FROM marts.peak_memory"]):
        done = subprocess.run(
            [sys.executable, "-m", "bufferhouse.cli", *words, "--warehouse", warehouse],
            env={**os.environ, **heard(file)}, capture_output=True, text=True, timeout=240,
        )  # fmt: skip
        assert (0, True) == (done.returncode, file.exists()), done.stderr
    assert [] == contacts(file)


@pytest.mark.soak
def test_the_ingest_of_the_demo_runs_where_there_is_loopback_alone(tmp_path):
    """With a server of its own, in a network namespace with nothing else; what Python cannot hear is cut off, too."""
    if not all(map(shutil.which, ("unshare", "ip"))) or subprocess.run(["unshare", "-n", "true"]).returncode:
        pytest.skip("network namespaces (unshare -n and ip) are not to be had here")
    own = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "BUFFERHOUSE_"))}
    warehouse = tmp_path / "warehouse.duckdb"
    script = 'ip link set lo up && test "$(ip -o link | wc -l)" = 1 && exec "$@"'
    done = subprocess.run(
        ["unshare", "-n", "sh", "-c", script, "sh", sys.executable, "-m", "flows.ingest", SEEDS, "--warehouse",
         warehouse],
        env={**own, "PREFECT_HOME": str(tmp_path / "prefect"), "PYTHONPATH": str(CHECKOUT)},
        cwd=tmp_path, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert 0 == done.returncode, done.stderr
    with duckdb.connect(str(warehouse), read_only=True) as con:
        assert (5,) == con.execute("SELECT COUNT(*) FROM raw.dumps").fetchone()
