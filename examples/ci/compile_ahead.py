"""Compile the training step ahead of time for one chip that is not here: python compile_ahead.py v5e DIR.

Needs jax and libtpu, and no TPU. Each chip is a process of its own: libtpu describes one topology in a process.
"""

import json
import os
import sys
from importlib.metadata import version
from pathlib import Path

TOPOLOGIES = {"v5e": "v5e:2x2", "v6e": "v6e:2x2", "v4": "v4:2x2x1", "v5p": "v5p:2x2x1"}


def make_empty(folder: Path) -> None:
    """Make a folder, or remove its dumps: those of an earlier call may have other names, and would be locked, too."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("module_*.txt"):
        old.unlink()


def main(chip: str, folder: Path) -> None:
    """Write the dumps of all programs for a chip, and a run.json that says what they are."""
    make_empty(folder)
    os.environ["JAX_PLATFORMS"] = "cpu"
    os.environ["XLA_FLAGS"] = f"--xla_dump_to={folder} --xla_dump_hlo_as_text"
    os.environ.setdefault("TPU_SKIP_MDS_QUERY", "1")  # no metadata server describes chips here

    import jax
    from jax.experimental import topologies
    from jax.sharding import SingleDeviceSharding
    from train import forward, shapes, train_step

    topology = topologies.get_topology_desc(TOPOLOGIES[chip], "tpu")
    device = topology.devices[0]
    params, batch = jax.tree.map(
        lambda one: jax.ShapeDtypeStruct(one.shape, one.dtype, sharding=SingleDeviceSharding(device)), shapes()
    )
    jax.jit(train_step, donate_argnums=(0, 1)).lower(params, params, batch).compile()
    jax.jit(forward).lower(params, batch).compile()
    facts = {"compiler": "libtpu", "compiler_version": version("libtpu"), "platform": "tpu"}
    facts["device_kind"] = f"TPU {chip}"  # what memory.lock calls the chip
    (folder / "run.json").write_text(json.dumps(facts))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]).absolute())
