"""The demo of docker/, carried out on a real Prefect server from what the image holds."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.system.image import DOCKER, ROOT, SERVICES, image_environment, put_context
from tests.warehouses import rows

pytest_plugins = ["tests.flows.prefect_server"]

PROGRAMS = Path(sys.executable).parent
RUNS = ("jaxlib-0.10.0", "jaxlib-0.9.0", "seeds")  # of the fleet: enough to see that each gets there


def test_the_demo_runs_from_what_docker_gets(prefect_server, tmp_path):
    """From a copy of the build context alone the demo ingests the fleet, writes the page, and leaves /app as it is."""
    app = tmp_path / "app"
    put_context(app)
    for run in (app / "examples" / "fleet").iterdir():
        if run.is_dir() and run.name not in RUNS:
            shutil.rmtree(run)
    (tmp_path / "warehouse").mkdir()
    (tmp_path / "reports").mkdir()

    def files() -> list[Path]:
        return sorted(path for path in app.rglob("*") if "__pycache__" not in path.parts)

    before = files()

    def placed(text: str) -> str:
        return re.sub(r"(?<![\w/])/(app|warehouse|reports|tmp)/", rf"{tmp_path}/\1/", text)

    service = SERVICES["demo"]
    done = subprocess.run(
        [*service["entrypoint"], *map(placed, service["command"])],
        cwd=app,
        env={
            **prefect_server.environment,
            **{name: placed(value) for name, value in image_environment().items()},
            "PATH": f"{PROGRAMS}:{os.environ['PATH']}",
            "PYTHONPATH": str(app),
        },
        capture_output=True,
        text=True,
    )
    assert 0 == done.returncode, done.stderr
    page = (tmp_path / "reports" / "fleet.html").read_text()
    roots = rows(tmp_path / "warehouse" / "demo.duckdb", "SELECT run_name, root FROM raw.runs ORDER BY run_name")
    assert [(run, str(app / "examples" / "fleet" / run)) for run in RUNS] == roots
    assert [] == [run for run in RUNS if run not in page]
    assert before == files()


@pytest.mark.soak
def test_the_lock_of_the_image_is_enough(prefect_server, tmp_path):
    """In a virtual environment with the image's packages alone, the demo's ingest and its page work."""
    uv, python = PROGRAMS / "uv", tmp_path / "venv" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    install = [uv, "pip", "install", "--quiet", "--python", python]
    subprocess.run([*install, "--require-hashes", "-r", DOCKER / "requirements.lock"], check=True)
    subprocess.run([*install, "--no-deps", "--no-build-isolation", "--offline", "--editable", ROOT], check=True)
    own = {name: value for name, value in prefect_server.environment.items() if name != "PYTHONPATH"}
    warehouse = tmp_path / "w.duckdb"
    for words in (
        [python, "-m", "flows.ingest", ROOT / "examples/fleet/seeds", "--warehouse", warehouse],
        [python.with_name("bufferhouse"), "report", "fleet", "--warehouse", warehouse, "--html", tmp_path / "f.html"],
    ):
        done = subprocess.run(words, cwd=tmp_path, env=own, capture_output=True, text=True)
        assert 0 == done.returncode, done.stderr
    assert (tmp_path / "f.html").is_file()
