"""Write `run.json` beside the dumps of a training job, so that its runs can be told apart and put in order.

Copy this file into the job: it needs Python 3.9 or later and nothing else. Call it where the program starts:

    from write_run_json import write_run_json
    write_run_json("/data/dumps/2026-03-01", track="nightly", labels={"team": "vision"})

or from a shell, before or after the job:

    python write_run_json.py /data/dumps/2026-03-01 --track nightly --label team=vision --no-jax

In a job of TensorFlow or PyTorch/XLA call it after the framework's import, by which it is known; jax is not asked
there. TensorFlow imports jax where that is installed, too: say `compiler="tensorflow"` then.

With several processes call it in one of them, after `jax.distributed.initialize()`: asking jax about its
devices starts its backend. As a command beside a running job use `--no-jax`, because a TPU belongs to one
process at a time, and `--compiler tensorflow` or `--compiler torch_xla` if the job is of one of these and jaxlib
is installed, too.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import socket
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path
from typing import Any

TEXT_KEYS = (
    "run_name",
    "compiler",
    "compiler_version",
    "compiler_revision",
    "xla_flags",
    "platform",
    "device_kind",
    "git_revision",
    "host",
    "started_at",
    "track",
)
INTEGER_KEYS = ("device_memory_bytes", "device_count")
KEYS = (*TEXT_KEYS, *INTEGER_KEYS, "labels")

# The packages of each framework, its name first; several packages of TensorFlow hold one module.
_TENSORFLOW = ("tensorflow", "tensorflow-cpu", "tf-nightly", "tf-nightly-cpu", "tensorflow-macos")
_PACKAGES = {
    "torch_xla": ("torch_xla", "torch"),
    "jaxlib": ("jaxlib", "jax"),
    "tensorflow": ("tensorflow", "keras"),
}

# Many jobs name their directory like this, so only the parent distinguishes two runs.
GENERIC_NAMES = frozenset({"xla_dump", "xla_dumps", "dump", "dumps", "hlo", "tmp", "temp", "out", "output"})


def write_run_json(directory: str | os.PathLike[str], *, ask_jax: bool = True, **overrides: Any) -> Path:
    """Write `directory/run.json` and return its path; the directory is made if it is missing.

    `overrides` replace keys of `KEYS`, and None leaves one out; any other key is a `TypeError`.
    `labels` are added to those that are found: the versions of libtpu and of the framework's packages.
    Facts that cannot be found are left out: a missing library, device or git repository is never an error.
    An existing `run.json` is replaced in one step, so a reader never sees half of one.
    """
    unknown = sorted(set(overrides) - set(KEYS))
    if unknown:
        raise TypeError(f"run.json has no key {', '.join(unknown)}; it has {', '.join(KEYS)}")
    directory = Path(directory)
    framework = overrides.get("compiler") if overrides.get("compiler") in _PACKAGES else _framework()
    found: dict[str, Any] = {
        "run_name": _run_name(directory),
        "xla_flags": os.environ.get("XLA_FLAGS"),  # in a shell beside the job it says nothing of the job's own
        "git_revision": _git_revision(),
        "host": socket.gethostname(),
        "started_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "labels": _package_versions(*sorted(_PACKAGES[framework]), "libtpu"),
    }
    if framework == "torch_xla":
        # Only the variable: to ask the runtime would start it, and a job may still choose SPMD.
        found["platform"] = _platform_of_pjrt(os.environ.get("PJRT_DEVICE"))
    elif framework == "jaxlib" and ask_jax:
        found.update(_jax_facts())
    if overrides.get("labels") is not None:
        overrides["labels"] = {**found["labels"], **overrides["labels"]}
    found.update(overrides)
    if "compiler" not in overrides:
        found["compiler"] = _compiler(framework, found.get("platform"))
    if "compiler_version" not in overrides and found["compiler"]:
        found["compiler_version"] = _package_versions(found["compiler"]).get(found["compiler"])
    run = {key: found[key] for key in KEYS if found.get(key) is not None}
    return _replace(directory / "run.json", json.dumps(run, indent=2) + "\n")


def _run_name(directory: Path) -> str:
    path = directory.resolve()
    return f"{path.parent.name}/{path.name}" if path.name.lower() in GENERIC_NAMES else path.name


def _framework() -> str:
    """What embeds XLA in this job: the framework that it imported, else one that is installed, jaxlib first.

    A job of PyTorch/XLA may import jax for its kernels, and one of JAX tensorflow for its data.
    """
    imported = (name for name in _PACKAGES if name in sys.modules)
    installed = (name for name in ("jaxlib", "torch_xla", "tensorflow") if _package_versions(name))
    return next(imported, None) or next(installed, None) or "jaxlib"


def _compiler(framework: str, platform: str | None) -> str | None:
    """The package that holds XLA; TensorFlow on TPU says no platform here, and the names of its dumps tell libtpu."""
    return next(iter(_package_versions("libtpu" if platform == "tpu" else framework)), None)


def _platform_of_pjrt(device: str | None) -> str | None:
    """The platform of PJRT_DEVICE, such as CPU, TPU or CUDA."""
    platform = (device or "").lower()
    return {"cuda": "gpu", "rocm": "gpu"}.get(platform, platform) or None


def _package_versions(*packages: str) -> dict[str, str]:
    versions = {}
    for package in packages:
        for name in _TENSORFLOW if package == "tensorflow" else (package,):
            try:
                versions[package] = metadata.version(name)
                break
            except metadata.PackageNotFoundError:
                continue
    return versions


def _git_revision() -> str | None:
    """The commit checked out in the working directory of the job."""
    try:
        done = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None


def _jax_facts() -> dict[str, Any]:
    """Platform, devices and revision of the compiler as jax reports them; empty when jax cannot be asked."""
    try:
        import jax

        device = jax.local_devices()[0]
        facts = {
            "platform": jax.default_backend(),
            "device_kind": device.device_kind,
            "device_count": jax.device_count(),
        }
    except Exception:  # A job must not die of its book-keeping, whatever a broken installation raises.
        return {}
    try:
        # CPU devices have no memory statistics (None), and some backends refuse the question.
        facts["device_memory_bytes"] = (device.memory_stats() or {}).get("bytes_limit")
    except Exception:
        facts["device_memory_bytes"] = None
    # libtpu ends its version text in "cl/853872983", the number its dump names carry as ".cl_853872983."
    revision = re.search(r"\bcl/(\d+)", str(getattr(device.client, "platform_version", "")))
    facts["compiler_revision"] = revision.group(1) if revision else None
    return facts


def _replace(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_text(text, encoding="utf-8")
    os.replace(partial, path)
    return path


def _label(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not (key and equals):
        raise argparse.ArgumentTypeError(f"expected KEY=VALUE, found {text!r}")
    return key, value


def main(arguments: list[str] | None = None) -> None:
    """The command: one option per key of `run.json`; prints the path written."""
    parser = argparse.ArgumentParser(description="Write run.json beside the dumps of a training job.")
    parser.add_argument("directory", help="the directory given to --xla_dump_to")
    parser.add_argument("--no-jax", action="store_true", help="do not start jax to ask it about devices")
    for key in TEXT_KEYS:
        parser.add_argument(f"--{key.replace('_', '-')}", default=argparse.SUPPRESS)
    for key in INTEGER_KEYS:
        parser.add_argument(f"--{key.replace('_', '-')}", type=int, default=argparse.SUPPRESS)
    parser.add_argument("--label", type=_label, action="append", metavar="KEY=VALUE", help="may be given several times")
    options = vars(parser.parse_args(arguments))
    directory, no_jax, labels = (options.pop(name) for name in ("directory", "no_jax", "label"))
    print(write_run_json(directory, ask_jax=not no_jax, labels=dict(labels or ()), **options))


if __name__ == "__main__":
    main()
