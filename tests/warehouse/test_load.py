"""What a load puts into the tables: the compiler's own numbers, whole dumps or none, one transaction."""

import gzip
import json
import tarfile
from datetime import UTC, datetime

import polars as pl
import pytest

from bufferhouse.commands.ingest_run import run_ingest
from bufferhouse.dump.identity import content_of
from bufferhouse.paths import CHECKOUT
from bufferhouse.tabulate.batch import Batch
from bufferhouse.warehouse.load import load, packed
from bufferhouse.warehouse.open import writing
from bufferhouse.warehouse.retention import MESSAGES
from bufferhouse.warehouse.stored_sets import SETS
from schemas import TABLES
from tests.synthetic import Slot, dump_text, small_dump
from tests.warehouses import asked, counts, load_parsed, parsed, rows, run_called

CORPUS = CHECKOUT / ".." / "shared" / "corpus"
TRUTH = CHECKOUT / "tests" / "data" / "truth"
ALLOCATIONS = """
    SELECT allocation_index, size_bytes, memory_space, is_constant, is_thread_local, is_maybe_live_out,
        parameter_number, parameter_shape_index
    FROM raw.allocations WHERE dump_id = ? ORDER BY allocation_index
"""
VALUES = """
    SELECT value_id, allocation_index, offset_bytes, size_bytes, memory_space
    FROM raw.hlo_values WHERE dump_id = ? ORDER BY value_id
"""
# Builds the reader refuses, and those that have no dumps but only the HLO beside them.
TOO_OLD = "tensorflow-1.15.0"
BUILDS = sorted(path.name.removesuffix(".tar.gz") for path in (CORPUS / "builds").glob("*.tar.gz"))


def allocations_of(truth: dict) -> list[tuple]:
    """The rows of raw.allocations by the proto; what is no parameter has neither number nor index."""
    expected = []
    for row in truth["allocations"]:
        flags = (row["is_constant"], row["is_thread_local"], row["maybe_live_out"])
        place = "{" + ",".join(map(str, row["parameter_shape_index"])) + "}"
        parameter = (row["parameter_number"], place) if row["is_entry_computation_parameter"] else (None, None)
        expected.append((row["index"], row["size"], row["color"], *flags, *parameter))
    return expected


def values_of(truth: dict) -> list[tuple]:
    """The rows of raw.hlo_values by the proto."""
    colors = {row["id"]: row["color"] for row in truth["logical_buffers"]}
    return sorted(
        (slot["logical_buffer_id"], row["index"], slot["offset"], slot["size"], colors[slot["logical_buffer_id"]])
        for row in truth["allocations"]
        for slot in row["assigned"]
    )


def assert_as_the_compiler(con, dump_id: int, truth: dict) -> None:
    assert allocations_of(truth) == con.execute(ALLOCATIONS, [dump_id]).fetchall()
    assert values_of(truth) == con.execute(VALUES, [dump_id]).fetchall()


def test_the_fleet_is_what_its_compilers_decided(example):
    """Allocations with sizes, spaces, flags and parameters, and every slot, equal BufferAssignmentProto."""
    sightings = example.execute(
        "SELECT run_name, relative_path, dump_id FROM raw.observations JOIN raw.runs USING (run_id)"
        " WHERE run_name <> 'seeds'"
    ).fetchall()
    assert {f"{run}/{path}" for run, path, _ in sightings} == {
        str(path.relative_to(TRUTH)).removesuffix(".truth.json.gz") for path in TRUTH.glob("*/*.gz")
    }
    for run, path, dump_id in sightings:
        truth = json.loads(gzip.decompress((TRUTH / run / f"{path}.truth.json.gz").read_bytes()))
        assert_as_the_compiler(example, dump_id, truth)


READ = [name for name in BUILDS if name != TOO_OLD and not name.endswith("-hlo")]
# Of compilers and devices that are not in the fleet; `make corpus` reads all of them, too.
DAILY = ("tensorflow-2.1.4", "gpu-sm90-jaxlib-0.10.2-userbuffers")


@pytest.mark.corpus
@pytest.mark.slow
@pytest.mark.skipif(not BUILDS, reason="there is no corpus of real dumps beside the checkout")
@pytest.mark.parametrize("build", [pytest.param(one, marks=[] if one in DAILY else [pytest.mark.soak]) for one in READ])
def test_a_build_is_what_its_compiler_decided(warehouse, build):
    """The same for every dump of every build of the corpus."""
    archive = CORPUS / "builds" / f"{build}.tar.gz"
    with tarfile.open(archive) as members:
        truths = {
            member.name.removesuffix(".truth.json"): json.load(members.extractfile(member))
            for member in members
            if member.name.endswith(".truth.json")
        }
    assert 0 == run_ingest([str(archive)], warehouse).exit_code
    with asked(warehouse) as con:
        sightings = dict(con.execute("SELECT split_part(source_uri, '!', 2), dump_id FROM raw.observations").fetchall())
        assert truths.keys() == sightings.keys()
        for name, dump_id in sightings.items():
            assert_as_the_compiler(con, dump_id, truths[name])


@pytest.mark.corpus
@pytest.mark.skipif(TOO_OLD not in BUILDS, reason="there is no corpus of real dumps beside the checkout")
def test_dumps_of_tensorflow_1_are_refused_by_name(tmp_path):
    """Every dump of the pre-2019-09 dialect is a reject that says what it is; none is half read."""
    path = tmp_path / "old.duckdb"
    summary = run_ingest([str(CORPUS / "builds" / f"{TOO_OLD}.tar.gz")], path)
    assert (1, 0, 18) == (summary.exit_code, summary.new, summary.rejected)
    assert all("pre-2019-09 dialect" in line for line in summary.reject_lines)
    assert (0, 18) == (counts(path)["dumps"], counts(path)["rejects"])


# One transaction


def test_a_load_that_fails_leaves_nothing(warehouse):
    """An error after the rows were copied takes them all back, and the same connection can load then."""
    with writing(warehouse) as writer:
        batch = parsed([small_dump(1), small_dump(2)])
        ids, batch.signature_ids = batch.signature_ids, {}
        with pytest.raises(KeyError):
            load_parsed(writer, batch)
        assert [(0,)] == writer.con.execute("SELECT COUNT(*) FROM raw.dumps").fetchall()
        assert [(0,)] == writer.con.execute("SELECT COUNT(*) FROM intermediate.peaks").fetchall()
        batch.signature_ids = ids
        assert 2 == load_parsed(writer, batch).new_count
    assert (1, 1, 2) == tuple(counts(warehouse)[table] for table in ("loads", "runs", "observations"))


def test_dumps_are_loaded_where_no_model_and_no_check_was_built():
    """They are rows of raw all the same, not sightings of nothing."""
    with writing(None, build_models=False) as writer:
        assert 1 == load_parsed(writer, parsed([small_dump(1)])).new_count
        assert [(1, 1)] == writer.con.execute(
            "SELECT (SELECT COUNT(*) FROM raw.dumps), (SELECT COUNT(*) FROM raw.observations)"
        ).fetchall()


def test_the_row_of_a_load_counts_what_it_brought(warehouse):
    """Seen, new, known, rejected and bytes stand in raw.loads, with the version of the parser."""
    from bufferhouse.version import __version__

    texts = [small_dump(1), small_dump(1), small_dump(2), b"BufferAssignment:\nnonsense\n"]
    with writing(warehouse) as writer:
        load_parsed(writer, parsed(texts))
    assert [(4, 2, 1, 1, sum(map(len, texts)), __version__)] == rows(
        warehouse,
        "SELECT seen_count, new_count, known_count, rejected_count, text_bytes, parser_version FROM raw.loads",
    )


def test_models_of_a_batch_are_those_over_the_whole_warehouse(own_warehouse):
    """Incremental models, computed load by load, hold what computing them over everything gives."""
    with writing(own_warehouse) as writer:
        load_parsed(writer, parsed([small_dump(1), dump_text([Slot(0, 4, 0, 8), Slot(1, 3, 4, 8)])]))
        models = writer.con.execute("SELECT model_name, model_sql FROM meta.models WHERE is_incremental").fetchall()
        assert 4 <= len(models)
        for name, sql in models:
            stored = writer.con.execute(f"FROM {name} ORDER BY ALL").fetchall()
            assert stored == writer.con.execute(f"FROM (\n{sql}\n) AS model ORDER BY ALL").fetchall(), name


def test_shapes_keep_their_numbers_from_load_to_load(warehouse):
    """A shape that is known has one row and one number, whichever load meets it again."""
    with writing(warehouse) as writer:
        for text in (small_dump(1), small_dump(2), dump_text([Slot(0, 1, 0, 9), Slot(1, 2, 16, 64)])):
            load_parsed(writer, parsed([text]))
        assert [("u8[10]{0}",), ("u8[64]{0}",), ("u8[9]{0}",)] == writer.con.execute(
            "SELECT shape_text FROM raw.shapes ORDER BY shape_text"
        ).fetchall()
        assert [("u8[64]{0}", 3), ("u8[9]{0}", 2), ("u8[10]{0}", 1)] == writer.con.execute(
            "SELECT shape_text, COUNT(*) FROM raw.hlo_values JOIN raw.shapes USING (shape_id)"
            " GROUP BY shape_text ORDER BY COUNT(*) DESC"
        ).fetchall()


# Dumps that break a contract or a check leave their batch


def changed(batch: Batch, table: str, dump_id: int, **cells) -> None:
    """Put other values into all rows of one dump in one table."""
    mine = pl.col("dump_id") == dump_id
    frame = batch.frames[table]
    batch.frames[table] = frame.with_columns(
        pl.when(mine).then(pl.lit(value, dtype=frame.schema[column])).otherwise(pl.col(column)).alias(column)
        for column, value in cells.items()
    )


RULES = {
    "check:allocations_sum_to_total": ("dumps", {"total_bytes": 7}),
    "check:values_have_an_allocation": ("hlo_values", {"allocation_index": 99}),
    "contract:dumps.file_layout": ("dumps", {"file_layout": None}),
    "contract:allocations.size_bytes": ("allocations", {"size_bytes": -1}),
    "contract:live_ranges.shape_index": ("live_ranges", {"shape_index": "0"}),
}


def test_a_dump_that_breaks_a_rule_is_rejected_alone(warehouse):
    """Each dump that fails an error check or a contract becomes a reject with its bytes, the others load."""
    texts = [small_dump(number) for number in range(len(RULES) + 2)]
    batch, ids = parsed(texts), [content_of({"combined": text}).dump_id for text in texts]
    expected = dict(zip(RULES, texts[1:], strict=False))  # the first and the last are in order
    for bad, (table, cells) in zip(ids[1:], RULES.values(), strict=False):
        changed(batch.tables, table, bad, **cells)
    with writing(warehouse) as writer:
        loaded = load_parsed(writer, batch)
        assert len(RULES) == len(loaded.rejects)
        assert expected == {refusal.rule: sighting.files["combined"] for sighting, refusal in loaded.rejects}
    assert 2 == loaded.new_count
    kept = rows(warehouse, "SELECT rule, content FROM raw.rejects")
    assert {rule: packed({"combined": text}) for rule, text in expected.items()} == dict(kept)
    of_no_dump = ("runs", "loads", "shapes", "rejects", "pruned_runs", *SETS, *MESSAGES)
    owners = [f"raw.{table}" for table in TABLES if table not in of_no_dump]
    models = [f"intermediate.{model}" for model in ("peaks", "padding_at_peak", "padding_all_values")]
    with asked(warehouse) as con:
        for owner in (*owners, *models):
            found = con.execute(f"SELECT DISTINCT dump_id FROM {owner}").fetchall()
            assert {dump_id for (dump_id,) in found} <= {ids[0], ids[-1]}, owner
    assert [(2,)] == rows(warehouse, "SELECT COUNT(*) FROM raw.observations")


def test_a_check_that_warns_counts_and_lets_the_dump_in(warehouse):
    """Offenders of a warning are counted by check in what the load says; the dump is loaded."""
    texts = [small_dump(number) for number in range(2)]
    batch = parsed(texts)
    # Both values move to one place, which an allocation whose values share bytes for longer has to say.
    changed(batch.tables, "hlo_values", content_of({"combined": texts[0]}).dump_id, offset_bytes=1 << 20)
    changed(batch.tables, "allocations", content_of({"combined": texts[0]}).dump_id, has_strict_overlap=True)
    with writing(warehouse) as writer:
        loaded = load_parsed(writer, batch)
    warnings = {"slots_inside_allocations": 1, "slots_share_one_instant": 1, "one_output_shape": 2}
    assert (warnings, 2) == (loaded.warnings, loaded.new_count)


def test_a_shape_that_breaks_its_contract_stops_the_dumps_that_mention_it(warehouse):
    """A row of no dump's own: the others are loaded, and the shape is not."""
    batch = parsed([small_dump(1), small_dump(2)])
    shapes = batch.tables.frames["shapes"]
    is_odd = pl.col("shape_text") == "u8[9]{0}"
    batch.tables.frames["shapes"] = shapes.with_columns(
        logical_bytes=pl.when(is_odd).then(-5).otherwise(pl.col("logical_bytes"))
    )
    with writing(warehouse) as writer:
        loaded = load_parsed(writer, batch)
    assert (1, ["contract:shapes.logical_bytes"]) == (loaded.new_count, [r.rule for _, r in loaded.rejects])
    assert [] == rows(warehouse, "SELECT 1 FROM raw.shapes WHERE shape_text = 'u8[9]{0}'")


def test_a_breach_no_dump_can_be_blamed_for_stops_the_load(warehouse):
    """A column of the wrong type is a fault of the program: nothing is loaded, and it says so."""
    import pandera.errors

    batch = parsed([small_dump(1)])
    batch.tables.frames["uses"] = batch.tables.frames["uses"].with_columns(pl.col("ordinal").cast(pl.Int32))
    with writing(warehouse) as writer, pytest.raises(pandera.errors.SchemaErrors):
        load(writer, batch, {"run": run_called("run")}, datetime.now(UTC))
    assert 0 == counts(warehouse)["loads"]
