"""What goes wrong around a warehouse: expired credentials, clocks that jump, sources that go. All is said clearly."""

import os
import shutil
import time

from bufferhouse.warehouse import file
from bufferhouse.warehouse.file import writer_lock
from tests.command_line import call
from tests.ingests import ingest, name_of, write_dumps
from tests.warehouses import contents, counts, published_path, rows

pytest_plugins = ["tests.system.surroundings"]

DAY_SECONDS = 86400


def test_expired_credentials_are_said(warehouse, expired):
    """The message has the server's own words and the way out, no XML; nothing is loaded."""
    before = contents(warehouse)
    outcome = call("ingest", "s3://dumps/fleet", "--warehouse", warehouse)
    assert (2, "") == (outcome.code, outcome.out)
    expected = (
        "bufferhouse: s3://dumps/fleet: ExpiredToken: The provided token has expired.; renew the credentials and try"
        " again\n"
    )
    assert expected == outcome.err
    assert before == contents(warehouse)


def test_files_of_the_future_are_loaded_once(warehouse, tmp_path):
    """A writer whose clock is a day ahead: its dumps are loaded, and known from then on."""
    for path in write_dumps(tmp_path / "run", range(3)):
        os.utime(path, (time.time() + DAY_SECONDS,) * 2)
    config = tmp_path / "bufferhouse.toml"
    config.write_text(f'[[sources]]\nname = "drop"\npaths = ["{tmp_path}/run"]\nsettle = "1h"\n')
    found = [call("ingest", "--config", config, "--warehouse", warehouse) for _ in range(2)]
    assert [0, 0] == [outcome.code for outcome in found]
    assert [(3, 1)] == rows(warehouse, "SELECT COUNT(*), COUNT(DISTINCT load_id) FROM raw.observations")


def test_a_clock_that_was_set_back_hides_nothing_from_readers(warehouse, tmp_path):
    """A copy that was published tomorrow is not taken for newer than what is loaded today."""
    write_dumps(tmp_path / "run", [1])
    assert 0 == ingest(warehouse, tmp_path / "run", "--publish")[0]
    for path in (warehouse, published_path(warehouse)):
        tomorrow = path.stat().st_mtime + DAY_SECONDS
        os.utime(path, (tomorrow, tomorrow))
    write_dumps(tmp_path / "run", [2])
    assert 0 == ingest(warehouse, tmp_path / "run")[0]
    asked = call("query", "SELECT COUNT(*) AS n FROM raw.dumps", "--warehouse", warehouse, "--format", "csv")
    assert "n\n2\n" == asked.out
    assert [(1, 1), (2, 1)] == rows(warehouse, "SELECT load_id, new_count FROM raw.loads ORDER BY load_id")


def test_a_source_that_goes_away_stops_itself_alone(warehouse, tmp_path):
    """A folder that was unmounted: exit 2 with its name, the other source is loaded, what it brought before stays."""
    for name in ("one", "two"):
        write_dumps(tmp_path / name / "run", [1])
    config = tmp_path / "bufferhouse.toml"
    config.write_text(
        "".join(
            f'[[sources]]\nname = "{name}"\npaths = ["{tmp_path}/{name}"]\nsettle = "0s"\n' for name in ("one", "two")
        )
    )
    words = ("ingest", "--config", config, "--warehouse", warehouse)
    assert 0 == call(*words).code
    shutil.rmtree(tmp_path / "one")
    write_dumps(tmp_path / "two" / "run", [2])
    outcome = call(*words)
    assert 2 == outcome.code
    assert f"bufferhouse: source one: {tmp_path}/one: no such file or directory\n" in outcome.err
    assert 2 == counts(warehouse)["dumps"]
    assert [(name_of(1),), (name_of(2),)] == rows(
        warehouse, "SELECT DISTINCT relative_path FROM raw.observations ORDER BY ALL"
    )


def test_who_writes_is_said_while_it_is_held_and_not_after_a_kill(warehouse):
    """The name of a holder that was killed stands in the file, and is not believed."""
    assert None is file.writer(warehouse)
    with writer_lock(warehouse) as held:
        assert f"process {os.getpid()} on " in file.writer(warehouse)
    assert None is file.writer(warehouse)
    held.write_text("process 1 on a machine that burnt down\n")
    assert None is file.writer(warehouse)
