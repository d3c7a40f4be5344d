"""The services of docker/compose.yaml without a Docker engine: the same commands, by hand, in a directory of their own.

What the image installs lies in a clean virtual environment, what it copies in a copy of the build context. Paths of the
container are directories beside it, names of other containers are loopback. The services run as a user who may write to
the mounts and to /tmp alone, and inherit no variable.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import urllib.request
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.flows.clock import Clock, until
from tests.servers.postgres import Postgres, can, give, unprivileged
from tests.system.image import put_context, service_environment, words

SECRETS = {
    "postgres_password": "it's a secret",
    "prefect_auth": "us er:it's another\n",
    "aws_credentials": "",
    "store_keys": "{}",
}
_PLACES = re.compile(r"(?<![\w/.:])/(app|dumps|warehouse|reports|config|run/secrets|tmp)(?![\w-])")


def reachable_python(root: Path) -> Path:
    """Return our Python, or a copy of it below `root` where the other user may not enter the directory it is in."""
    base = Path(sys._base_executable)
    if can(f"exec '{base}' -I -c ''"):
        return base
    home, library = Path(sys.base_prefix), f"python{sys.version_info[0]}.{sys.version_info[1]}"
    left = shutil.ignore_patterns("site-packages", "test", "idlelib", "config-*", "*.a")
    shutil.copytree(home / "lib" / library, root / "python/lib" / library, ignore=left)
    for shared in home.glob("lib/libpython*.so*"):
        shutil.copy2(shared, root / "python/lib")
    (root / "python/bin").mkdir()
    return Path(shutil.copy2(base, root / "python/bin"))


def reachable_packages(root: Path) -> Path:
    """Return the folder of our packages, or of links to them below `root` where the other user may not enter it."""
    packages = Path(sysconfig.get_path("purelib"))
    if can(f"test -r '{packages}'"):
        return packages
    return shutil.copytree(packages, root / "packages", symlinks=True, copy_function=_link)


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # on another device
        shutil.copy2(source, target)


@dataclass
class Stack(Clock):
    """The services, each started and ended alone. `root` holds what the containers would."""

    auth: str | None = SECRETS["prefect_auth"].strip()
    postgres: Postgres = None
    processes: dict[str, subprocess.Popen] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def warehouse(self) -> Path:
        return self.root / "warehouse" / "warehouse.duckdb"

    def make(self) -> None:
        """Copy the build context, install as the image does, make the mounts and the secrets, start PostgreSQL."""
        app = self.root / "app"
        put_context(app)
        venv = self.root / "venv"
        python = reachable_python(self.root)
        subprocess.run([python, "-m", "venv", "--without-pip", venv], check=True)
        site = next(venv.glob("lib/python*/site-packages"))
        # The packages of the lock file, as these tests have them; without bufferhouse, which is installed.
        (site / "packages.pth").write_text(f"{reachable_packages(self.root)}\n")
        subprocess.run(
            [Path(sys.executable).parent / "uv", "pip", "install", "--quiet", "--offline", "--python",
             venv / "bin" / "python", "--no-deps", "--no-build-isolation", "--editable", app],
            check=True, env={**os.environ, "PYTHONPATH": ""},
        )  # fmt: skip
        for name in ("dumps", "config", "run/secrets"):
            (self.root / name).mkdir(parents=True)
        for name in ("warehouse", "reports", "tmp"):
            give(self.root / name)
        for name, text in SECRETS.items():
            (self.root / "run/secrets" / name).write_text(text)
        self.postgres = Postgres(self.root / "postgres", SECRETS["postgres_password"])
        self.postgres.make()

    def placed(self, text: str) -> str:
        """Return a text of docker/ with the paths, names and ports that these processes have."""
        text = _PLACES.sub(rf"{self.root}/\1", text)
        text = re.sub(r"\b(server|127\.0\.0\.1):4200\b", f"127.0.0.1:{self.port}", text)
        return text.replace("--port 4200", f"--port {self.port}").replace("0.0.0.0", "127.0.0.1")

    def environment_of(self, service: str) -> dict[str, str]:
        """Return all variables that a service has."""
        theirs = {name: self.placed(value) for name, value in service_environment(service).items()}
        for name, value in {"HOST": "127.0.0.1", "PORT": str(self.postgres.port)}.items():
            if f"PREFECT_SERVER_DATABASE_{name}" in theirs:
                theirs[f"PREFECT_SERVER_DATABASE_{name}"] = value
        if (shared := self.root / "python/lib").exists():
            theirs["LD_LIBRARY_PATH"] = str(shared)  # a shared Python looks for itself where it was built
        tmp = str(self.root / "tmp")
        path = f"{self.root}/venv/bin:/usr/local/bin:/usr/bin:/bin"
        return {"PATH": path, "HOME": tmp, "TMPDIR": tmp, "LANG": "C.UTF-8", **theirs, **self.variables}

    def begin(self, service: str, *more: str) -> subprocess.Popen:
        """Start a service, with more words behind its command if need be, in a process group of its own."""
        *command, script = map(self.placed, words(service))
        with (self.root / f"{service}.log").open("a") as log:
            self.processes[service] = subprocess.Popen(
                [*unprivileged(), *command, " ".join([script.rstrip(), *more])], env=self.environment_of(service),
                cwd=self.root / "app", stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        return self.processes[service]

    def run(self, service: str, *command: str) -> str:
        """Run a service, or another command in its place, to its end; return what it said."""
        own = {"PREFECT_API_AUTH_STRING": self.authentication} if command else {}
        done = subprocess.run(
            [*unprivileged(), *(command or map(self.placed, words(service)))], cwd=self.root / "app",
            env={**self.environment_of(service), **own}, capture_output=True, text=True, timeout=240,
        )  # fmt: skip
        assert 0 == done.returncode, done.stdout + done.stderr
        return done.stdout + done.stderr

    def answers(self) -> bool:
        """Return whether the server answers."""
        with suppress(OSError), urllib.request.urlopen(f"{self.url}/health", timeout=5) as answer:
            return answer.status == 200
        assert self.processes["server"].poll() is None, self.log("server")
        return False

    def begin_server(self) -> None:
        """Start the server, and wait until it answers."""
        self.begin("server")
        until(self.answers, "an answer of the server")

    def kill(self, service: str) -> None:
        """Kill a service with everything that it has started, as the end of its container does."""
        process = self.processes.pop(service)
        killed: set[int] = set()
        # All stand still before any is killed: one that goes on may start others that nobody sees, or lose its parent.
        while found := {process.pid, *descendants(process.pid)} - killed:
            send(signal.SIGSTOP, found)
            killed |= found
        send(signal.SIGKILL, killed)
        process.wait(60)
        until(lambda: not any(map(is_alive, killed)), f"the end of all processes of {service}", 60)

    def log(self, service: str) -> str:
        """Return the end of what a service has said."""
        return (self.root / f"{service}.log").read_text()[-4000:]

    def order(self, deployment: str, **parameters: object) -> str:
        """Ask for a flow run of a deployment, at once; return its id."""
        found = self.ask(f"deployments/name/{deployment}")
        asked = {"state": {"type": "SCHEDULED"}, "parameters": {**found["parameters"], **parameters}}
        return self.ask(f"deployments/{found['id']}/create_flow_run", asked)["id"]

    def flow_run(self, number: str) -> dict:
        """Return a flow run."""
        return self.ask(f"flow_runs/{number}")

    def ended(self, number: str) -> dict:
        """Return a flow run as soon as it has ended."""
        final = ("COMPLETED", "FAILED", "CRASHED", "CANCELLED")
        return until(
            lambda: (run := self.flow_run(number))["state_type"] in final and run, f"the end of flow run {number}"
        )

    def close(self) -> None:
        """End everything."""
        for service in list(self.processes):
            self.kill(service)
        if self.postgres and self.postgres.process:
            self.postgres.kill()


def is_alive(pid: int) -> bool:
    """Return whether a process has not ended yet: until then it keeps its locks, killed or not.

    Its first thread may be a zombie while others still end, and hold what the process has open.
    """
    states = []
    with suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                states.append((thread / "stat").read_text().rpartition(")")[2].split()[0])
    return any(state not in "ZX" for state in states)


def send(number: signal.Signals, processes: Iterable[int]) -> None:
    """Send a signal to all that are still there."""
    for pid in processes:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def descendants(pid: int) -> list[int]:
    """Return the processes that a process has started, and that those have, the youngest first."""
    found = []
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in map(int, (task / "children").read_text().split()):
                found += [*descendants(child), child]
    return found


def told(text: str) -> list[dict]:
    """Return the lines of a log that are JSON."""
    lines = [line for line in text.splitlines() if line.startswith("{")]
    return [json.loads(line) for line in lines]
