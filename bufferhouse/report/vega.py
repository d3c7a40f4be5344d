"""Vega-Embed, Vega-Lite and Vega as one script, for charts in a page that asks nobody for anything."""

import os
from contextlib import suppress
from functools import cache
from pathlib import Path

import altair as alt
import vl_convert


@cache
def vega() -> str:
    """Return the script, in the version that the specifications are written for, fit to stand in a script element.

    Putting it together takes seconds, so it is kept in the user's cache where that can be written.
    """
    name = f"vega-{alt.SCHEMA_VERSION}-{vl_convert.__version__}.js"
    with suppress(OSError, RuntimeError):  # the latter where nobody is at home
        return (_cache() / name).read_text(encoding="utf-8")
    major_minor = ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])
    script = vl_convert.javascript_bundle(vl_version=major_minor)
    script = script.replace("</script", "<\\/script").replace("<!--", "<\\!--")
    with suppress(OSError, RuntimeError):
        kept = _cache() / name
        kept.parent.mkdir(parents=True, exist_ok=True)
        temporary = kept.with_suffix(f".{os.getpid()}.new")
        temporary.write_text(script, encoding="utf-8")
        os.replace(temporary, kept)
    return script


def _cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "bufferhouse"
