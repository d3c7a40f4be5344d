"""The script that draws charts: put together once, kept, and harmless in a page."""

import sys
from functools import cache
from pathlib import Path

import pytest

from bufferhouse.report.html import vega as module
from bufferhouse.report.html.vega import install, vega
from tests.command_line import CHECKOUT

fresh = vega.__wrapped__  # past what this process remembers


def test_the_script_is_kept_where_it_can_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """It is written to the user's cache and read from there; where that cannot be written, it is the same script."""
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "nothing installed"))
    monkeypatch.setattr(module, "_bundled", cache(module._bundled))  # takes seconds
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    script = fresh()
    (kept,) = (tmp_path / "bufferhouse").iterdir()
    assert script == kept.read_text()
    assert "</script" not in script.lower()
    assert "<!--" not in script
    kept.write_text("kept")
    assert "kept" == fresh()
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert script == fresh()


def test_an_installation_brings_the_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """What `make install` and the image keep beside the packages is read first, and by whoever has no cache."""
    script = vega()
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "installed"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    kept = install()
    assert script == kept.read_text()
    kept.write_text("installed")
    assert kept == install()
    assert "installed" == fresh()
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("path", ["Makefile", "docker/Dockerfile"])
def test_an_installation_is_told_to_keep_it(path: str):
    """`make install` and the image end by keeping the script: nobody waits for it at a first report."""
    assert "python -m bufferhouse.report.html.vega" in (CHECKOUT / path).read_text()
