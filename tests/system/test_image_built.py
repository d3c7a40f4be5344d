"""The image built for real, by buildah, on a base that debootstrap makes: no registry of images and no engine is asked.

Both are packages of Debian, and need root. The base stands for the one that the Dockerfile names: the same release of
Debian with its own Python, and the pip that the base of the Dockerfile has.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bufferhouse.warehouse.read import reading
from tests.system.image import ROOT, instructions, words

pytestmark = pytest.mark.soak

PIP = "24.0"  # Debian's own is older, and refuses a lock of hashes in which a package has extras
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
BASE = "localhost/bufferhouse-base"
IMAGE = "localhost/bufferhouse"
TOOLS = ("buildah", "debootstrap")

Buildah = Callable[..., str]


def done(*command: object) -> str:
    """Run a command that must not fail; return what it printed."""
    outcome = subprocess.run([str(word) for word in command], cwd=ROOT, capture_output=True, text=True)
    assert 0 == outcome.returncode, f"{command}: {outcome.stdout[-2000:]}{outcome.stderr[-2000:]}"
    return outcome.stdout


@pytest.fixture(scope="module")
def buildah(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Buildah]:
    """Call buildah on a store of its own."""
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing or os.geteuid():
        pytest.skip(f"needs root, and the packages {' and '.join(TOOLS)}: {' '.join(missing) or 'this is no root'}")
    store = tmp_path_factory.mktemp("store")
    options = ("--storage-driver", "vfs", "--root", store / "images", "--runroot", store / "run")
    yield lambda verb, *words: done("buildah", *options, verb, *words).strip()
    shutil.rmtree(store)


@pytest.fixture(scope="module")
def container(buildah: Buildah, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A container of the image, built by docker/Dockerfile."""
    tree = tmp_path_factory.mktemp("base") / "tree"
    (release,) = re.findall(r"BASE=python:3\.11\.\d+-slim-(\w+)$", "\n".join(instructions("ARG")), re.M)
    done("debootstrap", "--variant=minbase", "--include=python3,python3-pip,ca-certificates", release, tree)
    for marker in tree.glob("usr/lib/python3*/EXTERNALLY-MANAGED"):
        marker.unlink()
    (tree / "usr/bin/python").symlink_to("python3")
    # A registry may stand behind a certificate that only the system knows.
    shutil.copy(CERTIFICATES, tree / CERTIFICATES.relative_to("/"))
    (tree / "etc/pip.conf").write_text(f"[global]\ncert = {CERTIFICATES}\n")
    made = buildah("from", "scratch")
    buildah("copy", "--quiet", made, tree, "/")
    shutil.rmtree(tree)
    buildah("run", "--isolation", "chroot", made, "--", "pip", "install", "--quiet", f"pip=={PIP}")
    buildah("commit", "--quiet", "--rm", made, BASE)
    build = ("--isolation", "chroot", "--pull-never", "--build-arg", f"BASE={BASE}", "--file", "docker/Dockerfile")
    buildah("bud", *build, "--tag", IMAGE, ".")
    return buildah("from", "--pull-never", IMAGE)


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    """What is mounted as /warehouse."""
    path = tmp_path / "warehouse"
    path.mkdir()
    path.chmod(0o777)
    return path


@pytest.fixture
def inside(buildah: Buildah, container: str, warehouse: Path) -> Buildah:
    """Run a command in the container, as its user, with /warehouse mounted."""
    mount = f"{warehouse}:/warehouse"
    return lambda *words: buildah("run", "--isolation", "chroot", "--volume", mount, container, "--", *words)


def test_the_entry_commands_run_inside(inside, warehouse, fleet):
    """Help, an ingest of the examples in the image, a query, a report and the proof, by a user who is not root."""
    (entry,) = (word for word in words("ingest") if word == "bufferhouse")
    assert "1000" == inside("id", "-u")
    assert "Usage: bufferhouse" in inside(entry, "--help")
    inside(entry, "ingest", "/app/examples/fleet", "--publish")
    assert "126" in inside(entry, "query", "SELECT COUNT(*) FROM raw.dumps", "--format", "csv")
    inside(entry, "report", "fleet", "--html", "/warehouse/fleet.html")
    assert "126 of 126 dumps proved" == inside(entry, "verify")
    assert "<html" in (warehouse / "fleet.html").read_text()
    with reading(warehouse / "warehouse.duckdb") as (con, _):
        assert (126,) == con.execute("SELECT COUNT(*) FROM raw.dumps").fetchone()


def test_the_demo_runs_inside(inside, warehouse):
    """What the service `demo` does, Prefect and all, with the page beside the warehouse."""
    *shell, script = words("demo")
    inside("env", "PREFECT_HOME=/tmp/prefect", *shell, script.replace("/reports/", "/warehouse/"))
    assert "<html" in (warehouse / "fleet.html").read_text()


def test_its_user_may_not_change_the_application(inside):
    """/app belongs to root."""
    assert "" == inside("sh", "-c", "! touch /app/x 2>&1 >/dev/null | grep -v 'Permission denied'")
