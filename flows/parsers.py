"""The parsers of a flow run: its own processes, or a Dask cluster through Prefect's task runner for it.

Parsing is all that runs elsewhere. A warehouse in one file has one writer, this flow run, which loads the batches in
their order; where many may write, a task that parses may load as well, and this is the place where it would begin.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

from prefect.client.orchestration import get_client
from prefect.settings import PREFECT_API_URL, temporary_settings

from bufferhouse.config.load import Config
from bufferhouse.errors import ClusterUnavailable, UsageError
from bufferhouse.ingest.processes import worker_count
from bufferhouse.ingest.spawning import main_module_hidden
from bufferhouse.ingest.workers import OpenParsers, Parsers, Work, once_worth_it, own_parsers, parse_work
from bufferhouse.tabulate.worker import ParsedContents
from bufferhouse.version import __version__
from flows.steps import EXPECTED, Held, step

_CONNECT_SECONDS = 30
_LARGEST_GRAPH = "1 GiB"  # a batch travels with its task, and Dask warns of ten megabytes


@step(name="parse", task_run_name="parse batch {number}")
def parse(number: int, work: Held, pool: Held, version: str) -> Held:
    """Parse and tabulate the new contents of one batch."""
    if version != __version__:
        raise UsageError(
            f"expected bufferhouse {version} on a worker of the Dask cluster, as in the flow run, found {__version__}; "
            "install the same version on all"
        )
    workers: Executor | None
    workers, count = pool.value
    return Held(parse_work(work.value, workers, count))


def open_parsers(conf: Config, workers: int | None) -> OpenParsers:
    """Return a function that opens the configured parsers; `workers` overrides the configured number.

    Raises:
        UsageError: Dask is configured and not installed.
    """
    workers = workers or conf["warehouse"]["workers"]
    if conf["flows"]["task_runner"] == "processes":
        return partial(own_parsers, workers, parse=_parse_as_task)
    try:
        import prefect_dask  # noqa: F401
    except ImportError as error:
        raise UsageError(
            f'flows.task_runner = "dask": expected the packages of the extra dask, found: {error}; install them with '
            "pip install 'prefect-dask>=0.3.7' beside bufferhouse, on every worker too, or remove the key"
        ) from error
    return partial(_dask, conf["flows"]["dask_address"], workers)


def _parse_as_task(number: int, work: Work, pool: Executor | None, workers: int) -> Sequence[ParsedContents]:
    return parse(number, Held(work), Held((pool, workers)), __version__).value


@contextmanager
def _dask(address: str | None, workers: int | None) -> Iterator[Parsers]:
    """Yield a Dask cluster: that at an address, else one of local processes, for None `workers` once it is worth it."""
    count = worker_count(workers)
    with own_parsers(1, parse=_parse_as_task) as here, ExitStack() as stack:

        def cluster() -> Parsers:
            runner, processes = _connected(stack, address, count)
            # One more than there are processes, so that each finds its next batch when it is done.
            return Parsers(partial(_submit, runner), processes + 1)

        if address is None and count < 2:
            yield here
        elif address is None and workers is None:
            yield once_worth_it(here, cluster)
        else:
            yield cluster()


def _connected(stack: ExitStack, address: str | None, count: int) -> tuple[Any, int]:
    """Return a task runner that is connected, and how many tasks its cluster runs at a time."""
    import dask
    from prefect_dask import DaskTaskRunner

    stack.enter_context(temporary_settings({PREFECT_API_URL: _server_url()}))
    stack.enter_context(dask.config.set({"distributed.admin.large-graph-warning-threshold": _LARGEST_GRAPH}))
    where = f"flows.dask_address: expected a Dask scheduler with workers at {address}" if address else "flows"
    here = {"n_workers": count, "threads_per_worker": 1, "dashboard_address": None, "host": "127.0.0.1"}
    client = {"client_kwargs": {"timeout": _CONNECT_SECONDS}}
    runner = DaskTaskRunner(address=address, **client) if address else DaskTaskRunner(cluster_kwargs=here, **client)
    stack.enter_context(runner)
    try:
        with main_module_hidden():
            runner.client.wait_for_workers(1, timeout=_CONNECT_SECONDS)
    except (OSError, RuntimeError) as error:  # among them the TimeoutError of Dask
        raise ClusterUnavailable(f"{where}, found: {error}; start one, or remove flows.task_runner") from error
    return runner, sum(runner.client.nthreads().values())


def _server_url() -> str:
    """Return where Prefect's server answers; workers would start one of their own for a temporary one."""
    with get_client(sync_client=True) as client:
        return str(client.api_url)


def _submit(runner: Any, number: int, work: Work) -> Callable[[], Sequence[ParsedContents]]:
    parameters = {"number": number, "work": Held(work), "pool": Held((None, 1)), "version": __version__}
    future = runner.submit(parse, parameters)

    def outcome() -> Sequence[ParsedContents]:
        try:
            return future.result().value
        except EXPECTED:
            raise
        except Exception as error:
            raise ClusterUnavailable(
                f"batch {number}: expected it parsed by the Dask cluster, found: {type(error).__name__}: {error}; what "
                "was committed is kept, the workers' logs have the details, and the next flow run continues"
            ) from error

    return outcome
