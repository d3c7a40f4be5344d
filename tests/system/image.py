"""What stands in docker/, read: the instructions of the Dockerfile, the services of compose.yaml, the build context."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from bufferhouse.paths import CHECKOUT

ROOT = CHECKOUT
DOCKER = ROOT / "docker"
COMPOSE = yaml.safe_load((DOCKER / "compose.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = {name: service for name, service in SERVICES.items() if "build" in service}
README = (DOCKER / "README.md").read_text()


class Instruction(NamedTuple):
    """One instruction of a Dockerfile: its name and all that follows, continued lines joined."""

    name: str
    text: str


def dockerfile() -> list[Instruction]:
    """Return the instructions of the Dockerfile."""
    text = re.sub(r"^#.*\n", "", (DOCKER / "Dockerfile").read_text(), flags=re.M).replace("\\\n", " ")
    return [Instruction(*line.split(None, 1)) for line in text.splitlines() if line.strip()]


def instructions(name: str) -> list[str]:
    """Return the texts of all instructions of a name."""
    return [one.text for one in dockerfile() if one.name == name]


def image_environment() -> dict[str, str]:
    """Return the variables that the image sets."""
    return dict(word.split("=", 1) for text in instructions("ENV") for word in shlex.split(text))


def copied() -> list[str]:
    """Return the sources of all COPY instructions."""
    return [source for text in instructions("COPY") for source in text.split()[:-1]]


def is_ignored(path: str) -> bool:
    """Return whether .dockerignore keeps a path out: the last pattern decides that matches it or a directory above."""
    parts = Path(path).parts
    above = ["/".join(parts[: i + 1]) for i in range(len(parts))]
    ignored = False
    for line in (ROOT / ".dockerignore").read_text().splitlines():
        if line and not line.startswith("#"):
            pattern = re.escape(line.removeprefix("!")).replace(r"\*\*/", "(.*/)?").replace(r"\*", "[^/]*")
            if any(re.fullmatch(pattern, one) for one in above):
                ignored = not line.startswith("!")
    return ignored


def context() -> list[str]:
    """Return the files of the checkout that Docker would get."""
    files = []
    for name in let_through():
        entry = ROOT / name
        found = [entry] if entry.is_file() else entry.rglob("*")
        files += [path.relative_to(ROOT).as_posix() for path in found if path.is_file()]
    return sorted(file for file in files if not is_ignored(file))


def put_context(app: Path) -> None:
    """Copy the build context to `app`, and compile it as the image does when it is built."""
    for file in context():
        (app / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / file, app / file)
        if file.endswith(".py") and (code := Path(cache_from_source(str(ROOT / file)))).exists():
            compiled = Path(cache_from_source(str(app / file)))
            compiled.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(code, compiled)  # is taken where it is of this text: to compile all takes seconds
    subprocess.run([sys.executable, "-m", "compileall", "-q", "bufferhouse", "flows", "schemas"], cwd=app, check=True)


def let_through() -> list[str]:
    """Return the paths that .dockerignore lets through."""
    return re.findall(r"^!(.+)$", (ROOT / ".dockerignore").read_text(), re.M)


def defaulted(text: str) -> str:
    """Return a text of compose.yaml as compose reads it where no variable is set."""
    return re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", text).replace("$$", "$")


def words(service: str) -> list[str]:
    """Return the whole command of a service."""
    entrypoint = SERVICES[service].get("entrypoint") or json.loads(instructions("ENTRYPOINT")[0])
    return [*entrypoint, *map(defaulted, SERVICES[service]["command"])]


def commands(service: str) -> list[list[str]]:
    """Return the commands that a service runs, each as words, without what the shell does by itself."""
    whole = words(service)
    if whole[0] != "sh":
        return [whole]
    assert (["sh", "-euc"], 3) == (whole[:2], len(whole))
    lines = [shlex.split(line.removeprefix("exec ")) for line in whole[2].splitlines()]
    return [line for line in lines if line[0] != "export"]


def service_environment(service: str) -> dict[str, str]:
    """Return the variables of a service, those of the image included."""
    own = {name: defaulted(str(value)) for name, value in SERVICES[service].get("environment", {}).items()}
    return {**image_environment(), **own}


def mounts(service: str) -> dict[str, bool]:
    """Return the paths mounted into a service, and whether it may write there."""
    found = {}
    for volume in SERVICES[service].get("volumes", []):
        if isinstance(volume, str):
            found[volume.split(":")[1]] = True
        else:
            found[volume["target"]] = not volume.get("read_only", False)
    return found
