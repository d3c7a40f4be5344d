"""`bufferhouse site` and `bufferhouse open`."""

import hashlib
import time
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bufferhouse.commands.config import ConfigOption, SetOption
from bufferhouse.commands.options import WaitOption, WarehouseOption, guarded, say, warehouse_path
from bufferhouse.commands.progress import progress_of
from bufferhouse.errors import UsageError, counted

if TYPE_CHECKING:
    from bufferhouse.warehouse import Address

ForceOption = Annotated[bool, typer.Option("--force", help="Make every page again, also unchanged ones.")]


@guarded
def site(
    target: Annotated[
        str | None,
        typer.Argument(metavar="[DIR|s3://…]", help="The folder or the prefix of a bucket; else report.target."),
    ] = None,
    warehouse: WarehouseOption = None,
    config_file: ConfigOption = None,
    settings: SetOption = None,
    force: ForceOption = False,
    wait: WaitOption = 0.0,
) -> None:
    """Write the site, or the pages of it that changed: all reports, linked, with their figures as JSON beside them.

    The files need no server: they work from the disk, a bucket or any web server. A killed build leaves a site whose
    links work, and the next build continues it. The site uses report.source_url and regressions.accept of the
    configuration, and says which of its sources are stale.

    Example: bufferhouse site public
    """
    from bufferhouse.config.load import find, load

    conf = load(find(config_file), flags=settings or ())
    path = warehouse_path(warehouse or conf.warehouse, must_exist=True)
    place = target or (conf["report"]["target"] and conf.place(conf["report"]["target"]))
    if not place:
        raise UsageError("expected a folder or s3://BUCKET/PREFIX for the site, or report.target in the configuration")
    print(_built(path, place, conf, wait, force))


@guarded
def open_site(
    warehouse: WarehouseOption = None,
    config_file: ConfigOption = None,
    settings: SetOption = None,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="The port on 127.0.0.1; 0 takes a free one.")
    ] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the browser.")] = True,
    force: ForceOption = False,
    wait: WaitOption = 0.0,
) -> None:
    """Open the site of a warehouse in the browser: build what is missing into the cache, and serve it on 127.0.0.1.

    The command serves until Ctrl-C.

    Example: bufferhouse open --port 8000
    """
    from bufferhouse.config.load import find, load
    from bufferhouse.report.site.server import site_server

    conf = load(find(config_file), flags=settings or ())
    path = warehouse_path(warehouse or conf.warehouse, must_exist=True)
    folder = site_folder(path)
    with site_server(folder, port) as server:
        say(f"bufferhouse: {_built(path, str(folder), conf, wait, force)}")
        address = f"http://127.0.0.1:{server.server_address[1]}/index.html"
        print(address, flush=True)
        if browser:
            webbrowser.open(address)
        server.serve_forever()


def site_folder(warehouse: "Address") -> Path:
    """Return the folder of the cache in which `open` keeps the site of a warehouse."""
    from bufferhouse.paths import cache_folder

    return cache_folder() / "sites" / hashlib.sha256(warehouse.key.encode()).hexdigest()[:16]


def _built(path: "Address", place: str, conf, wait: float, is_forced: bool) -> str:
    """Build, and return the sentence about it."""
    from bufferhouse.report.site.site import build_site
    from bufferhouse.report.site.target import target_of
    from bufferhouse.report.text.figures import human_bytes

    started, target = time.monotonic(), target_of(place)
    with progress_of("pages") as step:
        built = build_site(path, target, conf, wait=wait, is_forced=is_forced, progress=step)
    where = f"{target}/index.html"
    if not built.is_new:
        return f"site: {where}: nothing new"
    pages = f"{counted(built.page_count, 'page')}, {built.written_count:,} written"
    return f"site: {where}: {pages}, {human_bytes(built.written_bytes)} in {time.monotonic() - started:.1f} s"
