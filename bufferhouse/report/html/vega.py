"""Vega-Embed, Vega-Lite and Vega as one script, for charts in a page that asks nobody for anything.

Putting it together takes seconds, so it is kept: `python -m bufferhouse.report.html.vega`, which `make install` runs,
keeps it beside the packages for all users, and who finds none there keeps it in a cache of their own.
"""

import os
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path

import altair as alt
import vl_convert

from bufferhouse.paths import cache_folder

_NAME = f"vega-{alt.SCHEMA_VERSION}-{vl_convert.__version__}.js"


@cache
def vega() -> str:
    """Return the script, in the version that the specifications are written for, fit to stand in a script element."""
    for folder in (_installed, cache_folder):
        with suppress(OSError, RuntimeError):  # RuntimeError: the user has no home directory
            return (folder() / _NAME).read_text(encoding="utf-8")
    script = _bundled()
    with suppress(OSError, RuntimeError):
        _keep(cache_folder() / _NAME, script)
    return script


def install() -> Path:
    """Keep the script beside the packages and return where.

    Raises:
        OSError: they cannot be written to.
    """
    kept = _installed() / _NAME
    if not kept.exists():
        _keep(kept, vega())
    return kept


def _bundled() -> str:
    major_minor = ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])
    script = vl_convert.javascript_bundle(vl_version=major_minor)
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _keep(kept: Path, script: str) -> None:
    kept.parent.mkdir(parents=True, exist_ok=True)
    temporary = kept.with_suffix(f".{os.getpid()}.new")
    temporary.write_text(script, encoding="utf-8")
    os.replace(temporary, kept)


def _installed() -> Path:
    return Path(sys.prefix) / "share" / "bufferhouse"


if __name__ == "__main__":
    print(install())
