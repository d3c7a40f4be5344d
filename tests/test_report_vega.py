"""The script that draws charts: put together once, kept, and harmless in a page."""

from pathlib import Path

import pytest

from bufferhouse.report.vega import vega


def test_the_script_is_kept_where_it_can_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """It is written to the user's cache and read from there; where that cannot be written, it is the same script."""
    fresh = vega.__wrapped__  # past what this process remembers
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
