"""A run that gets another name while a worker of the same lake loads into it, in a real PostgreSQL."""

import pytest

from bufferhouse.errors import WarehouseBusy
from bufferhouse.warehouse.open import writing
from bufferhouse.warehouse.runs import rename
from tests.synthetic import small_dump
from tests.warehouse.lake.lakes import answer, needs_lake
from tests.warehouses import load_parsed, parsed

pytest.importorskip("psycopg", reason="the extra `lake` is not installed")

pytest_plugins = ["tests.servers.lake_servers"]
pytestmark = [needs_lake, pytest.mark.slow]

_DUMPS = "SELECT run_name, COUNT(*) FROM raw.observations JOIN raw.runs USING (run_id) GROUP BY 1"


def test_a_run_is_not_renamed_under_a_worker_that_loads_it(whole_lake):
    """The next batch would make a second run of the old name; as with a file, whoever renames is told to wait."""
    with writing(whole_lake) as worker, writing(whole_lake) as other:
        load_parsed(worker, parsed([small_dump(1)]))
        with pytest.raises(WarehouseBusy, match="other workers were busy with the lake"):
            rename(other, "run", "nightly")
        load_parsed(worker, parsed([small_dump(2)]))
    assert [("run", 2)] == answer(whole_lake, _DUMPS)
    with writing(whole_lake) as alone:
        rename(alone, "run", "nightly")
    assert [("nightly", 2)] == answer(whole_lake, _DUMPS)
