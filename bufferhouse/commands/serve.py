"""`bufferhouse serve`."""

from functools import partial
from typing import Annotated

import typer

from bufferhouse.commands.config import ConfigOption, SetOption
from bufferhouse.commands.options import KEPT, WarehouseOption, say, told


@partial(told, kept=KEPT)
def serve(
    config_file: ConfigOption = None,
    settings: SetOption = None,
    warehouse: WarehouseOption = None,
    port: Annotated[
        int,
        typer.Option(
            min=1, max=65535, help="The port of the Prefect server that is started if $PREFECT_API_URL names none."
        ),
    ] = 4200,
    ui: Annotated[
        bool,
        typer.Option("--ui/--no-ui", help="Serve Prefect's dashboard at the address of the server that is started."),
    ] = True,
    metrics_port: Annotated[
        int | None,
        typer.Option("--metrics-port", min=0, help="Serve metrics at http://127.0.0.1:PORT/metrics, for Prometheus."),
    ] = None,
    poll: Annotated[float, typer.Option(min=0.5, help="Seconds between two checks for flow runs that are due.")] = 10.0,
) -> None:
    """Run all flows on their schedules, until Ctrl-C or SIGTERM.

    Without $PREFECT_API_URL the command starts a Prefect server on 127.0.0.1, and stops it at the end.

    Example: bufferhouse serve --config bufferhouse.toml --poll 300
    """
    from bufferhouse.config.load import find, load
    from bufferhouse.errors import UsageError, counted

    given = [*(settings or ()), *([f"warehouse.path={warehouse.key}"] if warehouse else ())]
    conf = load(find(config_file), flags=given)
    if not conf.sources:
        raise UsageError(
            f"expected [[sources]] in {conf.path or 'a bufferhouse.toml'}, found none; see docs/schedule.md"
        )
    say(f"bufferhouse: about to serve {conf.path}, {counted(len(conf.sources), 'source')}, warehouse {conf.warehouse}")
    if metrics_port is not None:
        from bufferhouse.ingest.metrics_page import metrics_server, words_of

        page = metrics_server(words_of(conf, given), metrics_port)
        say(f"bufferhouse: metrics are at http://127.0.0.1:{page.server_port}/metrics")
    from flows.server import alone, dashboard, kept_authentication, server

    kept = kept_authentication()
    with alone(port), server(port, has_dashboard=ui) as url:
        from flows.serving import serve as serve_flows  # takes seconds, which who is refused need not wait

        if shown_at := dashboard(url):
            asked = f"the text of {kept}" if kept else "$PREFECT_API_AUTH_STRING"
            say(f"bufferhouse: Prefect's dashboard is at {shown_at} and asks for {asked}")
        serve_flows(conf, given, poll_seconds=poll)
