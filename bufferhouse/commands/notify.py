"""`bufferhouse notify`."""

from typing import Annotated

import typer

from bufferhouse.commands.config import ConfigOption, SetOption
from bufferhouse.commands.options import FormatOption, check_format, say, told


@told
def notify(
    config_file: ConfigOption = None,
    settings: SetOption = None,
    port: Annotated[int, typer.Option(help="The port of the Prefect server if $PREFECT_API_URL names none.")] = 4200,
    test: Annotated[bool, typer.Option("--test", help="Send one message now, too, from this machine.")] = False,
    output_format: FormatOption = "table",
) -> None:
    """Set up messages about events by Slack and mail, as [notify] of the configuration says; Prefect sends them.

    Makes notification blocks and automations on the server of `bufferhouse serve`. A second call changes nothing.

    Example: bufferhouse notify --config bufferhouse.toml --test
    """
    from bufferhouse.config.load import find, load
    from bufferhouse.query.format import formatted

    check_format(output_format, "table", "json")
    conf = load(find(config_file), flags=settings or ())
    from flows.notices import arrange, send
    from flows.server import server

    with server(port, is_brief=True):
        print(formatted(("kind", "name", "change"), arrange(conf), output_format))
    if test:
        send(conf, "bufferhouse notify --test", "Events of bufferhouse will be told here.")
        say("bufferhouse: a message was sent")
