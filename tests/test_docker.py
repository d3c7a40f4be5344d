"""docker/ without a Docker engine: every path and command in it exists, and what the demo does in a container works."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pytest
import yaml

pytest_plugins = ["tests.prefect_server"]

ROOT = Path(__file__).parents[1]
DOCKER = ROOT / "docker"
PROGRAMS = Path(sys.executable).parent
COMPOSE = yaml.safe_load((DOCKER / "compose.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
README = (DOCKER / "README.md").read_text()


class Instruction(NamedTuple):
    """One instruction of a Dockerfile: its name and all that follows, continued lines joined."""

    name: str
    text: str


def dockerfile() -> list[Instruction]:
    text = re.sub(r"^#.*\n", "", (DOCKER / "Dockerfile").read_text(), flags=re.M).replace("\\\n", " ")
    return [Instruction(*line.split(None, 1)) for line in text.splitlines() if line.strip()]


def instructions(name: str) -> list[str]:
    return [one.text for one in dockerfile() if one.name == name]


def environment() -> dict[str, str]:
    return dict(word.split("=", 1) for text in instructions("ENV") for word in shlex.split(text))


def copied() -> list[str]:
    """Return the sources of all COPY instructions."""
    return [source for text in instructions("COPY") for source in text.split()[:-1]]


def is_ignored(path: str) -> bool:
    """Say whether .dockerignore keeps a path out: the last pattern decides that matches it or a directory above."""
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
    for entry in sorted(ROOT.iterdir()):
        if not is_ignored(entry.name):
            found = [entry] if entry.is_file() else entry.rglob("*")
            files += [path.relative_to(ROOT).as_posix() for path in found if path.is_file()]
    return [file for file in files if not is_ignored(file)]


def commands(service: str) -> list[list[str]]:
    """Return the commands that a service runs, each as words."""
    entrypoint = SERVICES[service].get("entrypoint") or json.loads(instructions("ENTRYPOINT")[0])
    command = SERVICES[service]["command"]
    if entrypoint[0] == "sh":
        assert (["sh", "-euc"], 1) == (entrypoint, len(command))
        return [shlex.split(line) for line in command[0].splitlines()]
    return [[*entrypoint, *command]]


def all_commands() -> list[list[str]]:
    """Return all commands of the Dockerfile, compose.yaml and README.md that run bufferhouse."""
    entrypoint, default = (json.loads(instructions(name)[0]) for name in ("ENTRYPOINT", "CMD"))
    documented = re.findall(r"run --rm ingest (.+)", README)
    return [
        [*entrypoint, *default],
        *(command for service in SERVICES for command in commands(service)),
        *([*entrypoint, *shlex.split(words)] for words in documented),
    ]


@cache
def help_of(*program: str) -> str:
    """Return what a program says to --help."""
    done = subprocess.run([PROGRAMS / program[0], *program[1:], "--help"], cwd=ROOT, capture_output=True, text=True)
    assert 0 == done.returncode, done.stderr
    return done.stdout


def mounts(service: str) -> dict[str, bool]:
    """Return the directories mounted into a service, and whether it may write there."""
    found = {}
    for volume in SERVICES[service]["volumes"]:
        if isinstance(volume, str):
            found[volume.split(":")[1]] = True
        else:
            found[volume["target"]] = not volume.get("read_only", False)
    return found


def test_docker_holds_no_python():
    """A module in docker/ would shadow the docker package wherever the checkout is on the path."""
    assert [] == list(DOCKER.rglob("*.py"))


def test_the_base_is_a_slim_python_pinned_by_tag():
    """The base names Python's minor version and Debian's release, and is one the project supports."""
    (base,) = instructions("FROM")
    minor = re.fullmatch(r"python:3\.(\d+)-slim-bookworm", base)
    assert minor is not None
    needed = re.search(r'requires-python = ">=3\.(\d+)"', (ROOT / "pyproject.toml").read_text())
    assert int(minor[1]) >= int(needed[1])


def test_it_runs_as_a_user_of_its_own():
    """The last USER is one that the Dockerfile makes, not root."""
    user = instructions("USER")[-1]
    assert "root" != user
    assert any(re.search(rf"useradd .*\b{user}\b", text) for text in instructions("RUN"))


def test_what_is_copied_exists_and_is_not_ignored():
    """Every source of a COPY lies in the checkout, and .dockerignore lets it through."""
    assert ["requirements.lock", "."] == copied()
    assert [] == [source for source in copied() if not (ROOT / source).exists() or is_ignored(source)]


@pytest.mark.parametrize(
    "path",
    [
        ".git/config", ".venv/bin/python", "build/demo.duckdb", "dumps/run/a-buffer-assignment.txt", "tests/oracle.py",
        "warehouse.duckdb", "examples/fleet.published.duckdb", "bufferhouse/dump/__pycache__/parse.cpython-311.pyc",
    ],
)  # fmt: skip
def test_what_is_not_run_stays_out(path):
    """Private and large things that lie in a checkout never reach the image."""
    assert is_ignored(path)


def test_only_names_that_exist_are_let_through():
    """A line of .dockerignore that lets something through names something in the checkout."""
    names = re.findall(r"^!(.+)$", (ROOT / ".dockerignore").read_text(), re.M)
    assert [] == [name for name in names if not (ROOT / name).exists()]


def test_the_lock_file_is_installed_with_hashes_and_the_checkout_in_place():
    """The image installs what the lock pins, checked by hash, and the checkout itself in editable form."""
    packages, checkout = [shlex.split(text) for text in instructions("RUN") if text.startswith("pip ")]
    assert ["--require-hashes", "-r", "requirements.lock"] == packages[-3:]
    assert {"--no-deps", "--no-build-isolation", "--editable", "."} <= set(checkout)
    known = help_of("pip", "install")
    assert [] == [word for word in [*packages, *checkout] if word.startswith("--") and word not in known]


@pytest.mark.parametrize("command", all_commands(), ids=shlex.join)
def test_every_command_is_one_that_exists(command):
    """Programs are installed, modules resolve, and --help knows the sub-command and every option that is given."""
    if command[:2] == ["python", "-m"]:
        assert find_spec(command[2]) is not None  # its options are tried where the demo is run
        return
    program, *words = command
    known = help_of(program)
    while "Commands:" in known and words != ["--help"]:
        assert re.search(rf"^ +{re.escape(words[0])} ", known.split("Commands:")[1], re.M)
        program += f" {words.pop(0)}"
        known = help_of(*program.split())
    options = [word for word in words if word.startswith("-")]
    assert [] == [option for option in options if not re.search(rf"{option}\b", known)]


def test_every_variable_of_the_image_is_read_by_the_code():
    """An ENV that nothing reads would only look like a setting."""
    code = "".join(path.read_text() for part in ("bufferhouse", "flows") for path in (ROOT / part).rglob("*.py"))
    assert [] == [name for name in environment() if name not in code]
    assert {"BUFFERHOUSE_WAREHOUSE", "DO_NOT_TRACK"} <= environment().keys()


def test_every_variable_of_compose_is_documented_and_has_a_default():
    """What may be set from outside is said in the README, and may be left unset."""
    used = re.findall(r"\$\{(\w+)(:-[^}]+)?\}", (DOCKER / "compose.yaml").read_text())
    assert {"BUFFERHOUSE_UID", "BUFFERHOUSE_DUMPS"} == {name for name, _ in used}
    assert [] == [name for name, default in used if not default or name not in README]
    arguments = {name for service in SERVICES.values() for name in service["build"]["args"]}
    assert arguments == {text.split("=")[0] for text in instructions("ARG")}


@pytest.mark.parametrize("service", SERVICES)
def test_builds_and_binds_are_paths_of_the_checkout(service):
    """Compose's paths are relative to docker/: context and Dockerfile exist, and what is bound must exist already."""
    build = SERVICES[service]["build"]
    assert ROOT.resolve() == (DOCKER / build["context"]).resolve()
    assert (DOCKER / build["context"] / build["dockerfile"]).is_file()
    for volume in SERVICES[service]["volumes"]:
        if isinstance(volume, str):
            assert volume.split(":")[0] in COMPOSE["volumes"]
        else:
            source = re.sub(r"\$\{\w+:-([^}]+)\}", r"\1", volume["source"])
            assert ROOT.resolve() == (DOCKER / source).resolve().parent
            assert is_ignored(Path(source).name)
            assert volume["bind"]["create_host_path"] is False


@pytest.mark.parametrize("service", SERVICES)
def test_paths_in_commands_are_mounted_or_copied(service):
    """A command reads what the image or a mount has, and writes to mounts that it may write to."""
    paths = [(before, word) for words in commands(service) for before, word in pairwise(words)]
    paths = [(option, Path(word)) for option, word in paths if word.startswith("/")]
    paths.append(("--warehouse", Path(environment()["BUFFERHOUSE_WAREHOUSE"])))
    (workdir,) = instructions("WORKDIR")
    for option, path in paths:
        if option in ("--warehouse", "--html"):
            assert mounts(service).get(str(path.parent)) is True
        elif path.is_relative_to(workdir):
            assert (ROOT / path.relative_to(workdir)).exists()
        else:
            assert str(path) in mounts(service)


def test_volumes_are_made_mounted_and_documented():
    """The volumes of the image are made for its user and mounted by a service; the README lists every mount."""
    volumes = json.loads(instructions("VOLUME")[0])
    assert ["/dumps", "/warehouse"] == volumes
    assert any(f"--owner bufferhouse {' '.join(volumes)}" in text for text in instructions("RUN"))
    mounted = set().union(*(mounts(service) for service in SERVICES))
    assert mounted >= set(volumes)
    assert mounted == set(re.findall(r"^\| `(/\w+)` \|", README, re.M))


def test_no_port_is_opened():
    """No service listens: there is nothing to expose or publish."""
    assert [] == instructions("EXPOSE")
    assert [] == [name for name, service in SERVICES.items() if "ports" in service]


def test_the_readme_names_services_and_files_that_exist():
    """Each `docker compose` line of the README names the file that is there and a service in it."""
    lines = re.findall(r"docker compose (.+?)(?:`|$)", README, re.M)
    assert {"docker/compose.yaml"} == {shlex.split(line)[1] for line in lines}
    assert set(SERVICES) == set(re.findall(r"run --rm (\w+)", README))


def test_the_demo_service_does_what_make_demo_does():
    """The same commands in the same order, but for the places of warehouse and page."""
    recipe = re.search(r"^demo:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.M)[1]
    for ours, theirs in {
        "$(BIN)/": "",
        "$(DEMO_WAREHOUSE)": "/warehouse/demo.duckdb",
        "$(DEMO_PAGE)": "/reports/fleet.html",
        " examples/": " /app/examples/",
    }.items():
        recipe = recipe.replace(ours, theirs)
    expected = [line.strip() for line in recipe.splitlines() if not line.startswith("\t@")]
    assert expected == SERVICES["demo"]["command"][0].splitlines()


def test_the_demo_runs_from_what_docker_gets(prefect_server, tmp_path):
    """From a copy of the build context alone the demo ingests the fleet, writes the page, and leaves /app as it is."""
    app = tmp_path / "app"
    for file in context():
        (app / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / file, app / file)
    (tmp_path / "warehouse").mkdir()
    (tmp_path / "reports").mkdir()
    before = sorted(app.rglob("*"))

    def placed(text: str) -> str:
        return re.sub(r"(?<![\w/])/(app|warehouse|reports)/", rf"{tmp_path}/\1/", text)

    service = SERVICES["demo"]
    done = subprocess.run(
        [*service["entrypoint"], *map(placed, service["command"])],
        cwd=app,
        env={
            **prefect_server.environment,
            **{name: placed(value) for name, value in environment().items()},
            "PATH": f"{PROGRAMS}:{os.environ['PATH']}",
            "PYTHONPATH": str(app),
            "PYTHONDONTWRITEBYTECODE": "1",
        },
        capture_output=True,
        text=True,
    )
    assert 0 == done.returncode, done.stderr
    page = (tmp_path / "reports" / "fleet.html").read_text()
    with duckdb.connect(str(tmp_path / "warehouse" / "demo.duckdb"), read_only=True) as con:
        roots = con.execute("SELECT run_name, root FROM raw.runs ORDER BY run_name").fetchall()
    runs = sorted(path.parent for path in (app / "examples" / "fleet").glob("*/run.json"))
    assert [(run.name, str(run)) for run in runs] == roots
    assert [] == [run.name for run in runs if run.name not in page]
    assert before == sorted(app.rglob("*"))
