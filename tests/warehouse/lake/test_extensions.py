"""Extensions are code that runs in the process: only what DuckDB's own signature vouches for is loaded."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from bufferhouse.warehouse.lake import extensions
from bufferhouse.warehouse.open import reading, writing
from tests.warehouse.lake.lakes import EXTENSIONS, moved, needs_lake

pytestmark = needs_lake

LOADS = """
from bufferhouse.warehouse.lake import extensions
with extensions.connect() as con:
    extensions.load(con, "httpfs")
"""


def damaged(folder: Path) -> Path:
    """A copy of an installed extension with one bit changed, where a wheel would have it below a folder."""
    wheel = Path(importlib.util.find_spec("duckdb_extension_httpfs").origin).parent
    [file] = wheel.glob(f"extensions/v{duckdb.__version__}/*.duckdb_extension")
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    copy = folder / wheel.name / file.relative_to(wheel)
    copy.parent.mkdir(parents=True)
    (folder / wheel.name / "__init__.py").touch()
    copy.write_bytes(data)
    return copy


def test_a_lake_takes_no_extension_without_a_signature(blank_lake, tmp_path):
    """Neither who writes nor who reads can load one, or allow it."""
    lake, file = moved(blank_lake, tmp_path / "lake"), damaged(tmp_path)
    for opened in (writing(lake), reading(lake)):
        with opened as warehouse:
            for statement in (f"LOAD '{file}'", "SET allow_unsigned_extensions = true"):
                with pytest.raises(duckdb.Error, match=r"signature|Cannot change|disabled|locked"):
                    warehouse.con.execute(statement)


def test_a_damaged_wheel_is_refused(tmp_path):
    """It is verified before it is loaded for the first time."""
    damaged(tmp_path)
    whole = [sys.executable, "-c", LOADS]
    broken = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r}){LOADS}"]
    assert 0 == subprocess.run(whole, capture_output=True, check=False).returncode
    refused = subprocess.run(broken, capture_output=True, text=True, check=False)
    assert 1 == refused.returncode
    assert "signature is either missing or invalid" in refused.stderr


def test_what_was_verified_is_loaded_again():
    """Into as many databases as there are."""
    for _ in range(2):
        with extensions.connect() as con:
            extensions.load(con, *EXTENSIONS)
            extensions.end_loading(con)
            loaded = con.execute("SELECT extension_name FROM duckdb_extensions() WHERE loaded").fetchall()
        assert set(EXTENSIONS) <= {name for (name,) in loaded}
