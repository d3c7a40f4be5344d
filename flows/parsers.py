"""The parsers of a flow run: its own process, or a Dask cluster through Prefect's task runner for Dask.

Only parsing runs elsewhere. The flow run itself loads the batches, in their order.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from typing import Any

from prefect.client.orchestration import get_client
from prefect.settings import PREFECT_API_URL, temporary_settings

from bufferhouse.config.load import Config
from bufferhouse.errors import EXPECTED, ClusterUnavailable, UsageError
from bufferhouse.ingest.workers import Workers
from bufferhouse.tabulate.contents import ParsedContents, Work, parse_contents
from bufferhouse.version import __version__
from flows.steps import Held, step

_LARGEST_GRAPH = "1 GiB"  # a batch is part of its task, and Dask warns of tasks above ten megabytes


@step(name="parse on Dask", task_run_name="parse batch {number} on Dask")
def parse(number: int, work: Held, version: str) -> Held:
    """Parse and tabulate the new contents of one batch, on a worker of a Dask cluster.

    Raises:
        UsageError: the worker has another version of bufferhouse.
    """
    if version != __version__:
        raise UsageError(
            f"expected bufferhouse {version} on a worker of the Dask cluster, as in the flow run, found {__version__}; "
            "install the same version on all"
        )
    return Held([parse_contents(work.value)])


def chosen_workers(conf: Config, count: int | None) -> Workers:
    """Return the configured parsers; `count` overrides the configured number of processes of a local Dask cluster.

    Raises:
        UsageError: Dask is configured and not installed.
    """
    if conf["flows"]["task_runner"] == "processes":
        return Workers()
    try:
        import prefect_dask  # noqa: F401
    except ImportError as error:
        raise UsageError(
            f'flows.task_runner = "dask": expected the packages of the extra dask, found: {error}; install them with '
            "pip install 'prefect-dask>=0.3.7' beside bufferhouse, on every worker too, or remove the key"
        ) from error
    if address := conf["flows"]["dask_address"]:
        return Workers(partial(Cluster, address=address))
    return Workers.counted(count or conf["warehouse"]["workers"], Cluster)


class Cluster(AbstractContextManager):
    """A Dask cluster that parses: the one at an address, else a new one with `count` local processes.

    Raises:
        ClusterUnavailable: none of its workers answers for `wait` seconds.
    """

    def __init__(self, count: int = 0, *, address: str | None = None, wait: float = 30.0) -> None:
        with ExitStack() as stack:
            self._runner = _connected(stack, count, address, wait)
            self._stack = stack.pop_all()
        # One more than there are threads, so that each finds its next batch when it is done.
        self.ahead = sum(self._runner.client.nthreads().values()) + 1

    def __exit__(self, *error: object) -> None:
        self._stack.__exit__(*error)

    def begin(self, number: int, work: Work) -> "_Submitted":
        """Submit the batch with a number as a task of Prefect."""
        parameters = {"number": number, "work": Held(work), "version": __version__}
        return _Submitted(number, self._runner.submit(parse, parameters))


class _Submitted:
    """A batch that is with the cluster."""

    def __init__(self, number: int, future: Any) -> None:
        self.number = number
        self.future = future

    def result(self) -> Sequence[ParsedContents]:
        """Wait for the parsed batch, and return it.

        Raises:
            ClusterUnavailable: the cluster failed to parse it.
        """
        try:
            return self.future.result().value
        except EXPECTED:
            raise
        except Exception as error:
            raise ClusterUnavailable(
                f"batch {self.number}: expected it parsed by the Dask cluster, found: {type(error).__name__}: {error}; "
                "what was committed is kept, the workers' logs have the details, and the next flow run continues"
            ) from error


def _connected(stack: ExitStack, count: int, address: str | None, wait: float) -> Any:
    """Return a task runner of Prefect that is connected to a cluster with at least one worker.

    Raises:
        ClusterUnavailable: no worker answers for `wait` seconds.
    """
    import dask
    from prefect_dask import DaskTaskRunner

    stack.enter_context(temporary_settings({PREFECT_API_URL: _server_url()}))
    stack.enter_context(dask.config.set({"distributed.admin.large-graph-warning-threshold": _LARGEST_GRAPH}))
    where = f"flows.dask_address: expected a Dask scheduler with workers at {address}" if address else "flows"
    here = {"n_workers": count, "threads_per_worker": 1, "dashboard_address": None, "host": "127.0.0.1"}
    client = {"client_kwargs": {"timeout": wait}}
    runner = DaskTaskRunner(address=address, **client) if address else DaskTaskRunner(cluster_kwargs=here, **client)
    stack.enter_context(runner)
    try:
        runner.client.wait_for_workers(1, timeout=wait)
    except (OSError, RuntimeError) as error:  # among them the TimeoutError of Dask
        raise ClusterUnavailable(f"{where}, found: {error}; start one, or remove flows.task_runner") from error
    return runner


def _server_url() -> str:
    """Return the address of Prefect's server, temporary or not; without it each worker would start its own server."""
    with get_client(sync_client=True) as client:
        return str(client.api_url)
