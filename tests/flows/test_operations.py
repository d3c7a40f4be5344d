"""docs/operations.md and docs/security.md: what they show works, and what they name is there."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from bufferhouse.config.keys import SECTIONS
from tests.command_line import CHECKOUT, call
from tests.ingests import ingest, write_dumps
from tests.system.documents import blocks
from tests.warehouses import contents

OPERATIONS = CHECKOUT / "docs" / "operations.md"
SECURITY = CHECKOUT / "docs" / "security.md"


@pytest.fixture
def kept(warehouse, tmp_path) -> Path:
    """A folder with a warehouse of five dumps."""
    write_dumps(tmp_path / "run", range(5))
    assert 0 == ingest(warehouse, tmp_path / "run")[0]
    return tmp_path


def shell(script: str, folder: Path) -> str:
    """Run a script as somebody does who follows the document, and return what it prints."""
    command = f'bufferhouse() {{ "{sys.executable}" -m bufferhouse.cli "$@"; }}\n{script}'
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(CHECKOUT)}
    done = subprocess.run(["sh", "-euc", command], cwd=folder, env=environment, capture_output=True, text=True)
    assert 0 == done.returncode, done.stderr
    return done.stdout


def test_a_backup_restores_what_there_was(kept):
    """Both blocks of the document: after a damaged file and later dumps, all rows of the backup are there, proved."""
    back_up, restore = blocks(OPERATIONS, "sh")
    warehouse = kept / "warehouse.duckdb"
    shell(back_up, kept)
    before = contents(warehouse)
    warehouse.write_bytes(b"not a warehouse any more")
    (kept / "warehouse.duckdb.wal").write_bytes(b"nor its log")
    assert "5 of 5 dumps proved\n" in shell(restore, kept)
    assert before == contents(warehouse)
    write_dumps(kept / "run", [5])
    assert (0, 1) == ((found := ingest(warehouse, kept / "run"))[0], found[1]["new"])


def test_stats_have_what_the_document_says(kept):
    """Every key of the table is a key of the JSON; a source is fresh, and nobody writes."""
    config = kept / "bufferhouse.toml"
    sources = {"drop": "run", "old": "ru"}
    config.write_text(
        "".join(f'[[sources]]\nname = "{name}"\npaths = ["{kept}/{path}"]\n' for name, path in sources.items())
    )
    words = ("stats", "--format", "json", "--config", config, "--warehouse", kept / "warehouse.duckdb")
    found = json.loads(call(*words, "--checks").out)
    table = OPERATIONS.read_text().split("| key | what to watch |")[1].split("\n\n")[0]
    rows = re.findall(r"^\| (.+?) \| (.+) \|$", table, re.M)
    keys = {key for row, _ in rows[1:] for key in re.findall(r"`(\w+)", row)}
    assert set() == keys - found.keys()
    assert (5, True, None, None) == (
        found["last_load"]["new"], found["last_load"]["finished_at"].endswith("Z"), found["writer"], found["note"],
    )  # fmt: skip
    fresh, old = found["sources"]["drop"], found["sources"]["old"]
    assert (5, False) == (fresh["observations"], fresh["is_stale"])
    assert (0, None, True) == (old["observations"], old["quiet_seconds"], old["is_stale"])
    assert {"one_output_shape": "warn"} == {name: one["severity"] for name, one in found["failing_checks"].items()}
    assert None is json.loads(call(*words).out)["failing_checks"]
    assert "drop" in call(*words[:1], *words[3:]).out


def test_thresholds_and_events_are_those_of_the_code():
    """Each event of the table is emitted, and each threshold is a key of the configuration with that default."""
    text = OPERATIONS.read_text()
    code = (CHECKOUT / "flows" / "events.py").read_text()
    events = set(re.findall(r'"(bufferhouse\.[a-z-]+)"', code))
    assert events == set(re.findall(r"^\| `(bufferhouse\.[a-z-]+)` \|", text, re.M))
    assert events == set(re.findall(r"^\* \*\*`(bufferhouse\.[a-z-]+)`\*\*", text, re.M))
    thresholds = SECTIONS["thresholds"]
    assert (10, 7 * 86400.0, "error") == tuple(thresholds[key].default for key in ("rejects", "stale", "failed_check"))
    assert {"rejects", "stale", "failed_check"} == set(re.findall(r"`thresholds\.(\w+)`", text))


def test_there_are_two_automations_to_copy():
    """The file is what `prefect automation create` reads; both tell somebody."""
    found = yaml.safe_load((CHECKOUT / "docs" / "automations.yaml").read_text())["automations"]
    assert ["Reactive", "Proactive"] == [one["trigger"]["posture"] for one in found]
    assert {"send-notification"} == {action["type"] for one in found for action in one["actions"]}


def test_every_claim_about_security_names_a_test_that_is_there():
    """Each `tests/…::test_…` of the document is a function of that file."""
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", SECURITY.read_text())
    assert len(named) > 20
    for file, function in named:
        text = (CHECKOUT / file).read_text()
        assert f"def {function}(" in text or not function, (file, function)


def test_a_copy_of_the_published_copy_is_whole_while_it_is_replaced(kept):
    """Who has begun to read the old copy reads it to its end: it is replaced, never written over."""
    warehouse = kept / "warehouse.duckdb"
    assert 0 == call("publish", "--warehouse", warehouse).code
    before = (kept / "warehouse.published.duckdb").read_bytes()
    with (kept / "warehouse.published.duckdb").open("rb") as file:
        head = file.read(4096)
        write_dumps(kept / "run", range(5, 9))
        assert 0 == ingest(warehouse, kept / "run", "--publish")[0]
        assert before == head + file.read()
    shutil.rmtree(kept / "run")
