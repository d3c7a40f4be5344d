"""Real dumps with protos, options of the compilation and module texts beside them, and what is told of these."""

import gzip
from pathlib import Path

from bufferhouse.paths import CHECKOUT
from tests.sources.module_texts import DATA as TEXTS
from tests.warehouses import contents, rows

TPU = "tpu-v5e-libtpu-0.0.33"


def files_beside() -> dict[str, bytes]:
    """Files by path: protos and options whole and compressed, and the proto of a dump that has no text."""
    data = CHECKOUT / "tests" / "data"
    found = {
        f"{path.parent.name}/{path.name}": path.read_bytes()
        for folder in (*(data / "protos").iterdir(), *(data / "flags").iterdir(), TEXTS / "jaxlib-0.9.0")
        for path in sorted(folder.iterdir())
    }
    for name in [name for name in found if name.startswith(("cpu-jaxlib-0.10.0/", "b/")) and _is_beside(name)]:
        found[f"{name}.gz"] = gzip.compress(found.pop(name), mtime=0)
    [proto] = [name for name in found if name.startswith(TPU) and name.endswith(".pb")]
    found[f"alone/{proto.rpartition('/')[2]}"] = found[proto]
    return found


def _is_beside(name: str) -> bool:
    return name.endswith((".pb", ".debug_options"))


def written(folder: Path) -> Path:
    """Write them into a folder."""
    for name, data in files_beside().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


def told_beside(warehouse: Path) -> tuple[list[tuple], dict[str, list[tuple]]]:
    """What is told beside each dump, without the times of files, and all rows that this was stored as."""
    observed = rows(
        warehouse,
        "SELECT run_name, relative_path, dump_id, source_size_bytes, module_text_size_bytes, stack_frames_id,"
        " compile_flags_ids, compile_flags_size_bytes, compile_flags_fault, donations_id, proto_size_bytes,"
        " heap_events_id, alias_sets_id, proto_fault, proto_difference"
        " FROM staging.observations JOIN raw.runs USING (run_id) ORDER BY ALL",
    )
    stored = contents(warehouse)
    tables = "stack_frames", "donations", "compile_flags", "heap_events", "alias_sets", "protos", "dumps", "hlo_values"
    return observed, {table: stored[table] for table in tables}
