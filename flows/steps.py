"""Code that all flows share: tasks, the errors that are tried again, and artifacts that cannot make a flow run fail."""

import logging
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial, wraps
from typing import Any, TypeVar

import httpx
from prefect import Task, get_run_logger, task
from prefect.artifacts import (
    create_link_artifact,
    create_markdown_artifact,
    create_progress_artifact,
    update_progress_artifact,
)
from prefect.cache_policies import NO_CACHE
from prefect.exceptions import TerminationSignal
from prefect.settings import PREFECT_API_REQUEST_TIMEOUT, PREFECT_CLIENT_MAX_RETRIES, temporary_settings
from prefect.states import Failed, State

from bufferhouse.errors import EXPECTED, SourceUnavailable, WarehouseBusy, or_wait
from bufferhouse.redaction import cleaned, printable, redacted
from bufferhouse.report.text.figures import some_of
from bufferhouse.warehouse.address import Address
from bufferhouse.warehouse.open import writing as opened
from bufferhouse.warehouse.warehouse import Warehouse

_PERMANENT = (FileNotFoundError, FileExistsError, PermissionError, IsADirectoryError, NotADirectoryError)
_PATIENCE_SECONDS = 240.0
_LONGEST_PAUSE_SECONDS = 10.0
_BETWEEN_UPDATES_SECONDS = 2.0
_AFTER_A_FAILURE_SECONDS = 60.0
_SHOWN_RUNS = 3
_LONGEST_TITLE = 90  # characters
T = TypeVar("T")


class Held:
    """A large object on its way between tasks: Prefect looks for futures in arguments, but not inside this."""

    def __init__(self, value: Any) -> None:
        self.value = value


def is_transient(_task: Any, _run: Any, state: State) -> bool:
    """Return whether trying again can help: a lock or an I/O error may pass, a wrong call or a bad dump does not."""
    error = state.result(raise_on_failure=False)
    return isinstance(error, WarehouseBusy | SourceUnavailable | OSError) and not isinstance(error, _PERMANENT)


_task = partial(
    task,
    cache_policy=NO_CACHE,
    persist_result=False,
    retries=3,
    retry_delay_seconds=[1, 5, 20],
    retry_jitter_factor=0.5,
    retry_condition_fn=is_transient,
    log_prints=False,
)


def outcome(error: Exception) -> BaseException:
    """Return what a flow run raises for an error: the signal that caused it, else the error without secrets.

    If a handler of signals raises during a query, DuckDB raises its own error about an interrupted query.
    """
    link: BaseException | None = error
    while link is not None:
        if isinstance(link, TerminationSignal | KeyboardInterrupt):
            return link
        link = link.__cause__ or link.__context__
    return cleaned(error)


def ended_by(error: Exception) -> State:
    """Return the state in which an expected error ends a flow run; raise any other error as `outcome` gives it.

    If an expected error were raised, Prefect would log its traceback and pickle it into the storage of results.
    """
    if isinstance(error, EXPECTED):
        return Failed(message=or_wait(error, "wait_seconds"), data=error)
    raise outcome(error)


def step(**options: Any) -> Callable[[Callable], Task]:
    """Return a decorator that makes a task of a function; errors that the task raises hold no secret."""

    def make(function: Callable) -> Task:
        @wraps(function)
        def call(*words: Any, **facts: Any) -> Any:
            try:
                return function(*words, **facts)
            except Exception as error:
                raise outcome(error)  # noqa: B904  mostly the same error

        return _task(call, **options)

    return make


def _carry_out(title: str, call: Held) -> Held:
    """Run a step of the pipeline."""
    return Held(call.value())


_TASKS = {
    verb: step(name=verb, task_run_name="{title}")(_carry_out) for verb in ("discover", "parse", "load", "publish")
}


def run_step(title: str, function: Callable[..., T], *arguments: Any) -> T:
    """Run a step of the pipeline as a task that is named after the first word of its title; return its outcome."""
    title = printable(redacted(title))[:_LONGEST_TITLE]
    return _TASKS[title.split()[0]](title, Held(partial(function, *arguments))).value


@contextmanager
def writing(address: Address, wait: float) -> Iterator[Warehouse]:
    """Yield the warehouse, open for writing; log its note after it is closed."""
    with opened(address, wait=wait) as writer:
        yield writer
    if writer.note:
        log(writer.note, level=logging.WARNING)


def publish(warehouse: Warehouse) -> str:
    """Publish a copy for readers, as a task; return its name."""
    return str(run_step("publish", warehouse.publish))


def patiently(call: Callable[[], Any]) -> Any:
    """Return what a call to Prefect's server returns; try again while the server is away; None if it stays away."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    pause = 0.5
    while True:
        try:
            return call()
        except httpx.HTTPError as error:
            is_refused = isinstance(error, httpx.HTTPStatusError) and error.response.status_code < 500
            if is_refused or time.monotonic() >= deadline:
                get_run_logger().warning("Prefect's server is away and does not get this: %s", error)
                return None
        time.sleep(pause * random.uniform(0.5, 1.5))
        pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)


def log(
    message: str, *, source: str | None = None, runs: Sequence[str] = (), batch: int | None = None, level: int = 20
) -> None:
    """Write a line of a flow run's log that names source, run and batch: in its text, and as fields of JSON logs."""
    facts = {"source": source and redacted(source), "run": some_of(runs, _SHOWN_RUNS) or None, "batch": batch}
    said = {"runs" if name == "run" and len(runs) > 1 else name: fact for name, fact in facts.items()}
    where = ", ".join(f"{name} {fact}" for name, fact in said.items() if fact is not None)
    line = printable(f"{where}: {message}" if where else message)  # a name may hold line feeds
    get_run_logger().log(level, line, extra={**facts, "runs": list(runs)})


def leave_summary(key: str, markdown: str, description: str) -> None:
    """Leave the summary of a flow run, as soon as the server can take it."""
    patiently(lambda: create_markdown_artifact(redacted(markdown), key=key, description=description))


def leave_link(key: str, link: str, text: str, description: str) -> None:
    """Leave a link, as soon as the server can take it."""
    patiently(lambda: create_link_artifact(redacted(link), link_text=text, key=key, description=description))


class Progress:
    """A progress artifact; while the server is away it is not updated, and the work continues."""

    def __init__(self, key: str, description: str) -> None:
        self._told = 0.0
        self._not_before = time.monotonic() + _BETWEEN_UPDATES_SECONDS
        self._id = self._try(lambda: create_progress_artifact(0.0, key=key, description=description))

    def reach(self, done: int, total: int) -> None:
        """Set the share that is done; it is sent every few seconds, and at the end."""
        percent = round(100 * done / total, 1) if total else 100.0
        if self._id is None or percent == self._told or (done < total and time.monotonic() < self._not_before):
            return
        self._told, self._not_before = percent, time.monotonic() + _BETWEEN_UPDATES_SECONDS
        self._try(lambda: update_progress_artifact(self._id, percent))

    def _try(self, call: Callable[[], Any]) -> Any:
        """Call the server once, with a short timeout, because the work must not wait for it."""
        with temporary_settings({PREFECT_CLIENT_MAX_RETRIES: 0, PREFECT_API_REQUEST_TIMEOUT: 5.0}):
            try:
                return call()
            except httpx.HTTPError as error:
                get_run_logger().warning("Prefect's server is away, so it gets no progress: %s", error)
                self._not_before = time.monotonic() + _AFTER_A_FAILURE_SECONDS
                return None
