"""A plugin with what a lake stands on: a real PostgreSQL, and a real S3 server that can be told to fail."""

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import pytest

from bufferhouse.warehouse.address import LakeAddress, address_of
from bufferhouse.warehouse.lake.build import build_lake
from bufferhouse.warehouse.open import writing
from tests.command_line import CHECKOUT
from tests.flows.clock import free_port, until
from tests.models.small_models import OBSERVATIONS, write_models
from tests.servers.postgres import Postgres, postgres_folder
from tests.warehouse.lake.lakes import copied

KEYS = {"AWS_ACCESS_KEY_ID": "who", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"}
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # no proxy knows the servers of this machine


@dataclass
class Bucket:
    """An S3 server in a process of its own, with a bucket `lake`."""

    port: int = field(default_factory=free_port)
    process: subprocess.Popen | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def environment(self) -> dict[str, str]:
        """The variables by which AWS tools find it."""
        return {**KEYS, "AWS_ENDPOINT_URL": self.url}

    def start(self) -> None:
        """Start it, and make the bucket."""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.servers.failing_bucket", str(self.port)], cwd=CHECKOUT
        )
        until(self._answers, "an answer of the S3 server", 60)
        self._ask("PUT", "lake")

    def stop(self) -> None:
        """End it; all that was in it is gone."""
        self.process.kill()
        self.process.wait()

    def fail_every(self, count: int) -> dict[str, int]:
        """Let it refuse every so-manieth request, none for 0; return how many requests there were, and were refused."""
        return json.loads(self._ask("PUT", f"-/fail-every/{count}"))

    @contextmanager
    def refusing_writes(self, code: str) -> Iterator[None]:
        """Let it answer AccessDenied, ExpiredToken, NoSuchBucket, … to whatever would change an object, meanwhile."""
        self._ask("PUT", f"-/refuse-writes/{code}")
        try:
            yield
        finally:
            self._ask("PUT", "-/refuse-writes/NONE")

    def names(self, prefix: str) -> set[str]:
        """Return the last parts of the keys in the bucket that begin so."""
        pages = self._client.get_paginator("list_objects_v2").paginate(Bucket="lake", Prefix=prefix)
        return {one["Key"].rpartition("/")[2] for page in pages for one in page.get("Contents", ())}

    def put(self, key: str, data: bytes = b"") -> None:
        """Put an object into the bucket."""
        self._client.put_object(Bucket="lake", Key=key, Body=data)

    def take(self, key: str) -> bytes:
        """Remove an object, and return what was in it."""
        data = self._client.get_object(Bucket="lake", Key=key)["Body"].read()
        self._client.delete_object(Bucket="lake", Key=key)
        return data

    @cached_property
    def _client(self):
        import boto3

        words = {name.lower(): value for name, value in KEYS.items() if name != "AWS_REGION"}
        return boto3.client("s3", endpoint_url=self.url, region_name=KEYS["AWS_REGION"], **words)

    def _answers(self) -> bool:
        assert self.process.poll() is None
        with suppress(OSError):
            return bool(self._ask("GET", "-/requests"))
        return False

    def _ask(self, method: str, path: str) -> bytes:
        with _DIRECT.open(urllib.request.Request(f"{self.url}/{path}", method=method), timeout=30) as answer:
            return answer.read()


@contextmanager
def catalog_server() -> Iterator[Postgres]:
    """Yield a PostgreSQL with an empty database `prefect`; skip where there can be none."""
    with postgres_folder() as root:
        server = Postgres(root / "postgres", "secret")
        server.make()
        try:
            yield server
        finally:
            server.kill()


@pytest.fixture(scope="session")
def cluster() -> Iterator[Postgres]:
    """A PostgreSQL for all tests of the process, which takes seconds to make. A test that kills it starts it again."""
    with catalog_server() as server:
        yield server


@pytest.fixture(scope="module")
def postgres(cluster, monkeypatch_module) -> Postgres:
    """A PostgreSQL for the tests of a module, with its password in $PGPASSWORD."""
    monkeypatch_module.setenv("PGPASSWORD", cluster.password)
    return cluster


@pytest.fixture(scope="session")
def bucket_server() -> Iterator[Bucket]:
    """An S3 server for all tests of the process, which takes seconds to start."""
    server = Bucket()
    server.start()
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="module")
def bucket(bucket_server, monkeypatch_module) -> Bucket:
    """An S3 server for the tests of a module, which the environment names."""
    for name in list(os.environ):
        if name.startswith("AWS_") or name.lower() in ("http_proxy", "https_proxy", "all_proxy"):
            monkeypatch_module.delenv(name)
    for name, value in bucket_server.environment.items():
        monkeypatch_module.setenv(name, value)
    return bucket_server


@pytest.fixture(scope="module")
def monkeypatch_module() -> Iterator[pytest.MonkeyPatch]:
    """As `monkeypatch`, for a whole module."""
    with pytest.MonkeyPatch.context() as patch:
        yield patch


@pytest.fixture(scope="session")
def bare_lake_to_copy(cluster, tmp_path_factory) -> LakeAddress:
    """A lake without rows and models. To be copied, never opened."""
    return _made(cluster, tmp_path_factory.mktemp("bare"), build_models=False)


@pytest.fixture(scope="session")
def lake_to_copy(cluster, tmp_path_factory) -> LakeAddress:
    """A lake with all models and no rows. To be copied, never opened."""
    return _made(cluster, tmp_path_factory.mktemp("blank"))


@pytest.fixture(scope="session")
def small_lake_to_copy(cluster, bare_lake_to_copy, tmp_path_factory) -> LakeAddress:
    """A lake with small models and no rows. To be copied, never opened.

    With all models every opening, load and removal takes several times as long.
    """
    folder = tmp_path_factory.mktemp("small")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PGPASSWORD", cluster.password)
        address = copied(cluster, bare_lake_to_copy, folder / "files")
        with writing(address, build_models=False) as warehouse:
            build_lake(warehouse, write_models(folder / "models", staging__observations=OBSERVATIONS))
    return address


def _made(server: Postgres, folder: Path, **more: bool) -> LakeAddress:
    address = address_of(f"ducklake:postgres:{server.make_database()}").with_data_path(str(folder / "files"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PGPASSWORD", server.password)
        with writing(address, **more):
            return address


@pytest.fixture(scope="module")
def empty_lake(postgres, bare_lake_to_copy, tmp_path_factory) -> LakeAddress:
    """A lake without rows and models, to be copied; the files of all copies lie in one folder."""
    return copied(postgres, bare_lake_to_copy, tmp_path_factory.mktemp("lake") / "files")


@pytest.fixture(scope="module")
def whole_lake(postgres, lake_to_copy, tmp_path_factory) -> LakeAddress:
    """A lake with all models and no rows, for the tests of a module that ask them: `pack`, `prune`, names of runs."""
    return copied(postgres, lake_to_copy, tmp_path_factory.mktemp("lake") / "files")


@pytest.fixture(scope="module")
def shared_lake(postgres, small_lake_to_copy, tmp_path_factory) -> LakeAddress:
    """A lake with small models and no rows, for the tests of a module: to be opened with `build_models=False`."""
    return copied(postgres, small_lake_to_copy, tmp_path_factory.mktemp("lake") / "files")
