"""For how long a source has brought nothing, whatever the clocks of those who write its files say."""

import os
from datetime import UTC, datetime, timedelta

from bufferhouse.config.load import load
from bufferhouse.ingest.freshness import freshness
from bufferhouse.warehouse.address import address_of
from bufferhouse.warehouse.open import reading, writing
from tests.ingests import ingest, write_dumps

_CENTURY = timedelta(days=36525)


def quiet_seconds(warehouse, folder) -> float:
    """How long the source in a folder is quiet a day after now."""
    config = folder / "bufferhouse.toml"
    config.write_text(f'[[sources]]\nname = "drop"\npaths = ["{folder}/drop"]\n')
    with reading(address_of(str(warehouse))) as opened:
        found = freshness(opened.con, load(config))["drop"]
    return found.quiet_seconds(datetime.now(UTC) + timedelta(days=1))


def test_a_file_of_a_time_to_come_does_not_keep_its_source_fresh(warehouse, tmp_path):
    """A source is quiet since its last load: one file with a wrong time hid for years that nothing came."""
    (file,) = write_dumps(tmp_path / "drop", [1])
    later = (datetime.now(UTC) + _CENTURY).timestamp()
    os.utime(file, (later, later))
    ingest(warehouse, tmp_path / "drop")
    assert 24 == quiet_seconds(warehouse, tmp_path) // 3600


def test_a_clock_that_was_ahead_for_one_load_is_forgotten_by_the_next(warehouse, tmp_path):
    """The last load is the one with the largest number."""
    write_dumps(tmp_path / "drop", [1])
    ingest(warehouse, tmp_path / "drop")
    with writing(address_of(str(warehouse))) as opened:
        opened.con.execute("UPDATE raw.loads SET finished_at = finished_at + INTERVAL 100 YEAR")
    assert 0 == quiet_seconds(warehouse, tmp_path)
    write_dumps(tmp_path / "drop", [2])
    ingest(warehouse, tmp_path / "drop")
    assert 24 == quiet_seconds(warehouse, tmp_path) // 3600
