"""Metrics: the figures of `stats`, read by Prometheus' own parser, from the command and from the port of `serve`."""

import json
import subprocess
import time
import urllib.error
import urllib.request

import duckdb
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parsed

from bufferhouse.config.load import load
from bufferhouse.ingest.metrics_page import metrics_server, words_of
from bufferhouse.ingest.open_metrics import CONTENT_TYPE, open_metrics
from tests.command_line import call, kill_group, start
from tests.ingests import write_dumps

WRITER = """
import sys
from pathlib import Path
from bufferhouse.warehouse.open import writing
with writing(Path(sys.argv[1])):
    print("writing", flush=True)
    sys.stdin.readline()
"""


def samples(text: str) -> dict[tuple, float]:
    """The samples of a text, by name and labels."""
    return {
        (sample.name.removeprefix("bufferhouse_"), *sorted(sample.labels.values())): sample.value
        for family in parsed(text)
        for sample in family.samples
    }


def test_the_figures_are_those_of_stats(example_warehouse):
    """Each equals what `stats --format json` prints."""
    stats = json.loads(call("stats", "--format", "json", "--warehouse", example_warehouse).out)
    outcome = call("metrics", "--warehouse", example_warehouse)
    assert 0 == outcome.code
    found = samples(outcome.out)
    for name in ("dumps", "observations", "text_bytes", "file_bytes", "open_rejects"):
        assert stats[name] == found[(name,)]
    assert len(stats["runs"]) == found[("runs",)]
    tables = {name: row["rows"] for name, row in stats["tables"].items()}
    assert tables == {key[1]: value for key, value in found.items() if key[0] == "table_rows"}
    assert stats["last_load"]["new"] == found[("last_load_dumps", "new")]
    assert ("published_bytes",) not in found


def test_names_of_others_are_labels():
    """Whatever stands in the name of a source or a rule, the text says so and goes on."""
    name = 'a "source"\\\nbufferhouse_dumps 7'
    found = {
        **dict.fromkeys(("dumps", "observations", "text_bytes", "file_bytes", "open_rejects", "repeat_share"), 0),
        **dict.fromkeys(("published_bytes", "published_at", "last_load", "writer", "failing_checks", "note")),
        "runs": {},
        "tables": {},
        "rejects": [{"rule": name, "state": "open", "count": 3}],
        "sources": {name: {"observations": 1, "quiet_seconds": None, "is_stale": True}},
    }
    read = samples(open_metrics(found))
    assert 3 == read[("rejects", *sorted((name, "open")))]
    assert 1 == read[("source_is_stale", name)]
    assert 0 == read[("dumps",)]


def test_checks_that_hold_have_no_sample_and_the_text_says_so(own_warehouse):
    """As have those that nobody ran: an alert on their absence would never end."""
    assert (
        {}
        == json.loads(call("stats", "--checks", "--format", "json", "--warehouse", own_warehouse).out)["failing_checks"]
    )
    names = {key[0] for key in samples(call("metrics", "--checks", "--warehouse", own_warehouse).out)}
    assert "check_offenders" not in names
    with duckdb.connect(str(own_warehouse)) as con:
        con.execute("UPDATE raw.dumps SET total_bytes = total_bytes + 1")
    text = call("metrics", "--checks", "--warehouse", own_warehouse).out
    [about] = [family.documentation for family in parsed(text) if family.name == "bufferhouse_check_offenders"]
    assert "Offenders of a check that fails; no sample where all hold, or none were run." == about
    assert samples(text)[("check_offenders", "allocations_sum_to_total", "error")] > 0


def test_figures_of_the_published_copy_say_so(own_warehouse, tmp_path):
    """While somebody writes they are as old as the copy: no load that came since is not that no load came."""
    assert 0 == samples(call("metrics", "--warehouse", own_warehouse).out)[("may_be_old",)]
    assert 0 == call("publish", "--warehouse", own_warehouse).code
    write_dumps(tmp_path / "later", [1])
    assert 0 == call("ingest", tmp_path / "later", "--warehouse", own_warehouse).code
    dumps = samples(call("metrics", "--warehouse", own_warehouse).out)[("dumps",)]
    process = start(own_warehouse, code=WRITER, stdin=subprocess.PIPE)
    try:
        assert process.stdout.readline(), process.stderr.read()
        found = samples(call("metrics", "--warehouse", own_warehouse).out)
    finally:
        kill_group(process)
    assert (dumps - 1, 1, 1) == (found[("dumps",)], found[("is_being_written",)], found[("may_be_old",)])


def test_a_port_of_this_machine_serves_them(own_warehouse):
    """GET /metrics answers what the command prints; another path or name of this machine is refused."""
    server = metrics_server(["--warehouse", str(own_warehouse)], 0)
    try:
        url = f"http://127.0.0.1:{server.server_port}"
        with urllib.request.urlopen(f"{url}/metrics") as answer:
            assert CONTENT_TYPE == answer.headers["Content-Type"]
            assert samples(call("metrics", "--warehouse", own_warehouse).out) == samples(answer.read().decode())
        asked = urllib.request.Request(f"{url}/metrics", headers={"Host": "evil.example"})
        for request, status in ((f"{url}/", 404), (asked, 403)):
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(request)
            with refused.value as answer:
                assert status == answer.code
    finally:
        server.shutdown()
        server.server_close()


def test_where_nothing_can_be_told_the_answer_says_why(tmp_path):
    """503 with the message of the command."""
    server = metrics_server(["--warehouse", str(tmp_path / "none.duckdb")], 0)
    try:
        status, text = server.answer()
        assert 503 == status
        assert "there is no warehouse" in text
    finally:
        server.shutdown()
        server.server_close()


def test_what_is_set_over_the_configuration_counts(tmp_path, warehouse):
    """`serve --set` changes when a source is stale: metrics say what its events say, and tell no secret."""
    write_dumps(tmp_path / "nightly", [1])
    file = tmp_path / "bufferhouse.toml"
    file.write_text('[[sources]]\nname = "nightly"\npaths = ["nightly"]\nsettle = "0s"\n')
    assert 0 == call("ingest", "--config", file).code
    given = ["thresholds.stale=0.001", "notify.slack=https://hooks.example/services/secret"]
    words = words_of(load(file, flags=given), given)
    assert given[1] not in words
    time.sleep(0.002)
    assert 1 == samples(call("metrics", *words).out)[("source_is_stale", "nightly")]
    assert 0 == samples(call("metrics", "--config", file).out)[("source_is_stale", "nightly")]


def test_a_configuration_that_lies_here_says_which_warehouse(tmp_path, monkeypatch, own_warehouse):
    """Its sources are judged by the warehouse that they are loaded into, not by one that happens to lie there, too."""
    write_dumps(tmp_path / "nightly", [1])
    (tmp_path / "bufferhouse.toml").write_text(
        '[warehouse]\npath = "of-nightly.duckdb"\n[[sources]]\nname = "nightly"\npaths = ["nightly"]\nsettle = "0s"\n'
    )
    assert 0 == call("ingest", "--config", tmp_path / "bufferhouse.toml").code
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BUFFERHOUSE_WAREHOUSE", str(own_warehouse))
    found = samples(call("metrics").out)
    assert (1, 0) == (found[("dumps",)], found[("source_is_stale", "nightly")])
    assert {"nightly": 1} == json.loads(call("stats", "--format", "json").out)["runs"]
    assert call("stats").out.startswith("1 dump seen, 1 content")
    assert 1 == samples(call("metrics", "--warehouse", own_warehouse).out)[("source_is_stale", "nightly")]


def test_without_a_path_the_warehouse_lies_beside_the_configuration(tmp_path, monkeypatch):
    """There `ingest --config` makes it, and there it is found from any folder, also by the pages of the site."""
    monkeypatch.delenv("BUFFERHOUSE_WAREHOUSE", raising=False)
    write_dumps(tmp_path / "nightly", [1])
    file = tmp_path / "bufferhouse.toml"
    file.write_text('[[sources]]\nname = "nightly"\npaths = ["nightly"]\nsettle = "0s"\n')
    assert 0 == call("ingest", "--config", file).code
    warehouse = tmp_path / "warehouse.duckdb"
    assert warehouse.exists()
    monkeypatch.setenv("BUFFERHOUSE_CONFIG", str(file))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    for words in (("stats",), ("metrics",)):
        assert 0 == call(*words).code, words
    warehouse.unlink()
    outcome = call("site", "pages")  # which takes seconds where it finds one
    assert (2, True) == (outcome.code, f"there is no warehouse at {warehouse}" in outcome.err)
