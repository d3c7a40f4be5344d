"""What a flow run of a deployment may choose: figures and names, but no place that is not configured.

A caller in Python or on the command line may choose everything, because it is the user of the machine. Parameters that
come through Prefect's server come from anybody who may use that server.
"""

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from prefect.context import FlowRunContext

from bufferhouse.config import load as configuration
from bufferhouse.config.load import VARIABLE, Config
from bufferhouse.errors import UsageError
from bufferhouse.warehouse.address import Address, address_of

SERVED = "BUFFERHOUSE_SERVED"  # a variable: the configuration that is served, and what was set over it
# Values that are neither a place nor an address, and cost no more than a configured pass.
_FREE = {
    *("warehouse.wait", "warehouse.publish", "report.history", "regressions.limit", "regressions.metric"),
    *(f"thresholds.{key}" for key in ("failing_share", "rejects", "stale", "failed_check")),
    *(f"retention.{key}" for key in ("keep_runs", "older_than", "compact", "snapshots", "verify_sample")),
}
# A deployment has one configuration, that of the machine which made it last.
_OTHER_MACHINE = (
    "; where two machines serve on one Prefect server, both need the same configuration, at the same path and with the "
    "same --set (docs/schedule.md)"
)


class Chosen(NamedTuple):
    """The configuration and the warehouse of a flow run, and for how many seconds it waits for others who use it."""

    conf: Config
    warehouse: Address
    wait: float


def served(conf: Config, settings: Sequence[str]) -> str:
    """Return the value of the variable SERVED, to which flow runs of a configuration are held."""
    return json.dumps({"config": conf.path and str(Path(conf.path).absolute()), "settings": list(settings)})


def chosen(
    config: str | None,
    settings: Sequence[str] | None,
    warehouse: str | None,
    wait_seconds: float | None,
    *,
    sources: Iterable[str] = (),
    workers: int | None = None,
    **places: str | None,
) -> Chosen:
    """Return what a flow run may choose, else what is configured; `places` are other parameters that name a place.

    Raises:
        UsageError: a parameter is wrong, or the caller may not choose it.
    """
    conf = _configured(config, list(settings or ()))
    path = address_of(warehouse) if warehouse else conf.warehouse
    if _is_deployed():
        if path != conf.warehouse and not path.is_beside(conf.warehouse):
            raise _refused("warehouse", f"{conf.warehouse}, or a file beside it", warehouse)
        for one in sources:
            if conf.source(one) is None and not any(_is_below(one, root) for root in _roots(conf)):
                raise _refused("sources", "a configured source, or what lies in one", one)
        if workers is not None and workers > (most := conf["warehouse"]["workers"] or os.cpu_count() or 1):
            raise _refused("workers", f"at most {most}", workers)
        for name, given in places.items():
            section = "regressions" if name == "accept" else "report"
            if given is not None and given != conf[section][name]:
                raise _refused(name, f"{section}.{name} of the configuration", given)
    return Chosen(conf, path, conf["warehouse"]["wait"] if wait_seconds is None else wait_seconds)


def _configured(config: str | None, settings: list[str]) -> Config:
    """Return the configuration of a flow run: in a deployment the one that is served, with values that are free."""
    if not _is_deployed():
        return configuration.load(configuration.find(config), flags=settings)
    held = json.loads(os.environ.get(SERVED) or "{}") or {"config": os.environ.get(VARIABLE) or config, "settings": []}
    if config and Path(config).absolute() != Path(held["config"] or "").absolute():
        raise _refused("config", held["config"], config, _OTHER_MACHINE)
    more = [one for one in settings if one not in held["settings"]]
    for one in more:
        if (key := one.partition("=")[0]).lower() not in _FREE:  # the value may be a secret, so only the key is shown
            raise _refused("settings", f"one of {', '.join(sorted(_FREE))}", key, _OTHER_MACHINE)
    return configuration.load(configuration.find(held["config"]), flags=[*held["settings"], *more])


def place(conf: Config, given: str) -> str:
    """Return a place that a call names; in a deployment it is a configured one, relative to the configuration."""
    return conf.place(given) if _is_deployed() else given


def _is_deployed() -> bool:
    context = FlowRunContext.get()
    return bool(context and context.flow_run and context.flow_run.deployment_id)


def _refused(name: str, expected: object, found: object, way_out: str = "") -> UsageError:
    decides = "what is served decides that (docs/security.md)"
    return UsageError(f"{name}: expected {expected}, found {found}; {decides}{way_out}")


def _roots(conf: Config) -> Iterable[str]:
    """Yield the folders, buckets and archives of the configured sources; for a glob, the path before it."""
    for source in conf.sources:
        for path in map(conf.place, source["paths"]):
            parts = path.split("/")
            globs = [i for i, part in enumerate(parts) if set("*?[") & set(part)]
            yield "/".join(parts[: globs[0]] if globs else parts)


def _is_below(path: str, root: str) -> bool:
    given, allowed = PurePosixPath(path), PurePosixPath(root)
    return ".." not in given.parts and bool(allowed.parts) and given.is_relative_to(allowed)
