"""What it costs to prove a warehouse (`bufferhouse verify`), beside the cold ingest that made it, turn by turn."""

from benchmarks.places import Places
from benchmarks.rates import Fresh
from benchmarks.targets import Row, factor, times
from benchmarks.turns import in_turns, middle, ratio
from bufferhouse.commands.ingest_run import run_ingest
from bufferhouse.warehouse.open import open_reader
from bufferhouse.warehouse.verify import chosen_dumps, verify
from bufferhouse.warehouse.verify_models import model_faults


def row(places: Places, turns: int) -> Row:
    """Return the row of the table."""
    fresh = Fresh(places.scratch)
    path = fresh()

    def ingest() -> None:
        nonlocal path
        path = fresh()
        run_ingest([str(places.fleet)], path)

    def prove() -> None:
        warehouse = open_reader(path)
        with warehouse.con as con:
            ids = chosen_dumps(con)
            if faults := verify(con, ids) + model_faults(warehouse, ids):
                raise AssertionError(faults[0])

    works = {"ingest": ingest, "verify": prove}
    in_turns(works, 1)
    found = in_turns(works, turns)
    slower = ratio(found["verify"], found["ingest"])
    cells = times(middle(found["verify"])), f"cold ingest: {times(middle(found['ingest']))}"
    return Row(f"`verify` of {places.name}", *cells, factor(slower), "≤ 1.5× cold ingest", slower.seconds <= 1.5)
