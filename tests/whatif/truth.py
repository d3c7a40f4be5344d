"""Programs compiled before and after one change: what the engine predicts, and what the compiler did.

The edits are those that a person would write who knows the change, not more: the dump of the variant is never read for
them, but for its parameters, which a person would know.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from bufferhouse.compare.dimensions import changed_dimensions
from bufferhouse.compare.signature import Step
from bufferhouse.compare.tiers import phase_and_primitive
from bufferhouse.errors import UsageError
from bufferhouse.tabulate.shape import parse_shape
from bufferhouse.whatif.edits import Edit, read_edit
from bufferhouse.whatif.outcome import Bytes, Outcome, before, compute
from bufferhouse.whatif.plan import NoCandidate, Plan
from bufferhouse.whatif.space import Space, array_shape, read_spaces
from tests.command_line import CHECKOUT
from tests.samples import unpack

ARCHIVE = CHECKOUT.parent / "shared" / "corpus" / "whatif.tar.gz"
BUILDS = ("cpu-jaxlib-0.10.0", "tpu-v5e-libtpu-0.0.33")
MOE_CAPACITY = 64
NO_EDIT = {"tf_adam": "more parameters than before: no edit adds values"}


@dataclass(frozen=True)
class Pair:
    """One program of one build before and after a change; `outcome` is None where no edit says it."""

    build: str
    name: str
    changed: str
    edits: list[Edit]
    outcome: Outcome | None
    truth: Bytes
    refusal: str | None = None

    @property
    def labels(self) -> set[str]:
        return {one.label for one in self.outcome.applied} if self.outcome else set()

    @property
    def is_hit(self) -> bool:
        """Whether the reserved bytes of the variant lie in the predicted interval."""
        after, found = self.outcome.after, self.truth.reserved_high_bytes
        return after.reserved_low_bytes <= found <= after.reserved_high_bytes


def unpacked(folder: Path) -> Path:
    """The pairs of the corpus, unpacked."""
    unpack(ARCHIVE, folder)
    return folder / "whatif"


def pairs(con: duckdb.DuckDBPyConnection, folder: Path) -> list[Pair]:
    """All pairs, each with the edits of its change applied to the program before it."""
    found, dumps = [], _main_dumps(con)
    read = read_spaces(con, [dump_id for dump_id, _ in dumps.values()])
    for build in BUILDS:
        for about in sorted((folder / build).glob("*/pair.json")):
            facts = json.loads(about.read_text())
            sides = [dumps[str(about.parent / side)] for side in ("base", "variant")]
            space, truth = (read[dump_id] for dump_id, _ in sides)
            edits = edits_of(about.parent.name, facts, space, *(signature for _, signature in sides))
            try:
                outcome, refusal = (compute(space, edits), None) if edits else (None, "no edit says it")
            except UsageError as error:
                outcome, refusal = None, str(error)
            found.append(Pair(build, about.parent.name, facts["changed"], edits, outcome, before(truth), refusal))
    return found


def _main_dumps(con: duckdb.DuckDBPyConnection) -> dict[str, tuple[int, str]]:
    """The main program of each folder, with its signature: the largest text of those that were compiled there."""
    rows = con.execute(
        "SELECT parse_dirpath(r.root || '/' || o.relative_path), d.dump_id, d.entry_signature"
        " FROM staging.observations AS o INNER JOIN staging.dumps AS d ON o.dump_id = d.dump_id"
        " INNER JOIN raw.runs AS r ON o.run_id = r.run_id ORDER BY d.text_bytes"
    ).fetchall()
    return {folder: about for folder, *about in rows}


def edits_of(name: str, facts: dict, space: Space, before_signature: str, after_signature: str) -> list[Edit]:
    """The edits that say what was changed; none where no edit can."""
    if name in NO_EDIT:
        return []
    if "donate" in name:
        flags = [[one[2] for one in facts[side]["donated"]] for side in ("base", "variant")]
        donated = [at for at, (old, new) in enumerate(zip(*flags, strict=True)) if new and not old]
        return [read_edit(f"donate:parameter={number}") for number in donated]
    if "drop" in name:
        return [read_edit(f"free:#{space.columns['value_id'][row]}") for row in _dropped(space, after_signature)]
    if "bf16" in name:
        return _narrower(name, space)
    if "capacity" in name:
        return [read_edit(f"shard:*:2@size={MOE_CAPACITY}")]
    if "remat" in name or "offload" in name:
        kind = "remat" if "remat" in name else "offload"
        return [Edit(kind, f"#{space.columns['value_id'][row]}") for row in _kept_for_the_backward_pass(space, kind)]
    steps = changed_dimensions(before_signature, after_signature)
    named = [read_edit(f"shard:*:{step.before // step.after}@size={step.before}") for step in steps]
    return [*named, *_of_products(space, steps)]


def _of_products(space: Space, steps: Sequence[Step]) -> list[Edit]:
    """Edits of temporaries in which the dimension that changed is multiplied by another, such as batch × sequence."""
    c, found = space.columns, []
    for row, shape in enumerate(c["shape"]):
        sizes = parse_shape(shape).dims or ()
        for step in steps:
            places = [at for at, size in enumerate(sizes) if size and size > step.before and size % step.before == 0]
            if c["role"][row] == "temp" and places and step.before not in sizes:
                edit = read_edit(f"shard:#{c['value_id'][row]}:{step.before // step.after}@{places[0]}")
                found += [edit] if _can(space, edit) else []
                break
    return found


def _dropped(space: Space, after_signature: str) -> list[int]:
    """The outputs whose shape the output of the variant has not."""
    kept = after_signature.partition(")->(")[2]
    gone = {one.allocation for one in space.outputs if one.array_shape not in kept}
    c = space.columns
    return [max(rows, key=lambda row: c["end"][row]) for allocation in sorted(gone)
            if (rows := [row for row in range(len(space)) if c["allocation"][row] == allocation])]  # fmt: skip


def _narrower(name: str, space: Space) -> list[Edit]:
    if name == "mlp_x_bf16":
        c = space.columns
        return [read_edit(f"shrink:#{c['value_id'][row]}:bf16") for row in range(len(space))
                if c["kind"][row] == "parameter" and array_shape(c["shape"][row]) == "f32[256,512]"]  # fmt: skip
    return [read_edit("shrink:type=f32:bf16")]


def _kept_for_the_backward_pass(space: Space, kind: str) -> list[int]:
    """Temporaries of the forward pass that an instruction of the backward pass reads, and that the edit can take."""
    c, found = space.columns, []
    phases = [phase_and_primitive(name)[0] if name else None for name in c["op_name"]]
    readers: dict[int, list[int]] = {}
    for row, operands in enumerate(space.operands):
        for operand in operands:
            readers.setdefault(operand, []).append(row)
    for row, phase in enumerate(phases):
        is_kept = any(phases[reader] in ("backward", "remat") for reader in readers.get(row, ()))
        if c["role"][row] == "temp" and phase == "forward" and is_kept:
            edit = Edit(kind, f"#{c['value_id'][row]}")
            found += [row] if _can(space, edit) else []
    return found


def _can(space: Space, edit: Edit) -> bool:
    try:
        Plan(space).apply([edit])
    except NoCandidate:
        return False
    return True


# Why the compiler did something else, where the interval misses it; a pair without a row here must be a hit.
SMALLER = "the compiler fuses and schedules the smaller program anew"
COLLECTIVES = "gathered weights and collectives take room that no value of the one-device program has"
WIDE = "the CPU backend computes bf16 in f32: converted copies stay as wide as before, and more of them are alive"
MERGED = "the CPU compiler computes at once what was to be computed again, and keeps it"
CHECKPOINT = "the change took the checkpoint of the base away, too, which no edit says"
LOOP = "what a loop keeps for the backward pass is an element of its tuple, which no edit of one value takes apart"
PACKED = "XLA's own placement is 708 bytes above the one that the packer reaches"
NARROW = "the compiler chose other fusions, layouts and prefetches for narrow values"
ALIGNED = "occupied to the byte or nearly; the arena differs by tuple tables and prefetched copies"
INSIDE = "the dispatched values lie in VMEM: memory space 0 has nothing of that size, and stayed the same"
VMEM = "what is kept for the backward pass lies in VMEM: memory space 0 has nothing of it"
CPU, TPU = BUILDS
REASONS = {
    (CPU, "attn_shard4"): SMALLER,
    (CPU, "conv_batch_half"): SMALLER,
    (CPU, "mlp_offload"): CHECKPOINT,
    (CPU, "mlp_remat"): MERGED,
    (CPU, "mlp_shard2"): COLLECTIVES,
    (CPU, "mlp_shard4"): COLLECTIVES,
    (CPU, "mlp_x_bf16"): WIDE,
    (CPU, "moe_capacity_half"): SMALLER,
    (CPU, "rnn_remat"): LOOP,
    (CPU, "tf_adam"): NO_EDIT["tf_adam"],
    (CPU, "tf_batch_half"): SMALLER,
    (CPU, "tf_bf16"): WIDE,
    (CPU, "tf_drop_logits"): PACKED,
    (CPU, "tf_remat"): LOOP,
    (CPU, "xent_bf16"): WIDE,
    (TPU, "attn_shard4"): SMALLER,
    (TPU, "conv_batch_half"): SMALLER,
    (TPU, "mlp_offload"): VMEM,
    (TPU, "mlp_remat"): VMEM,
    (TPU, "mlp_shard2"): ALIGNED,
    (TPU, "mlp_shard4"): ALIGNED,
    (TPU, "mlp_x_bf16"): ALIGNED,
    (TPU, "moe_capacity_half"): INSIDE,
    (TPU, "rnn_remat"): VMEM,
    (TPU, "tf_adam"): NO_EDIT["tf_adam"],
    (TPU, "tf_batch_half"): SMALLER,
    (TPU, "tf_bf16"): NARROW,
    (TPU, "tf_remat"): LOOP,
}


def line(pair: Pair) -> str:
    """The row of a pair in the table of docs/whatif.md."""
    reason = REASONS.get((pair.build, pair.name), "")
    name = f"{pair.build.partition('-')[0]} {pair.name}"
    if pair.outcome is None:
        return f"| {name} | none | – | – | – | – | no edit: {reason} |"
    old, new, truth = pair.outcome.before, pair.outcome.after, pair.truth
    kinds = ", ".join(sorted({one.edit.kind for one in pair.outcome.applied}))
    low, high = new.reserved_low_bytes, new.reserved_high_bytes
    reserved = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    result = "inside" if pair.is_hit else f"miss: {reason}"
    return (
        f"| {name} | {kinds}: {'/'.join(sorted(pair.labels))} | {old.occupied_bytes:,} → {new.occupied_bytes:,}"
        f" | {truth.occupied_bytes:,} | {reserved} | {truth.reserved_high_bytes:,} | {result} |"
    )
