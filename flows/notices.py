"""The receivers of events: notification blocks and automations on Prefect's server, made from `[notify]`.

In: a configuration. Out: what was created, updated or left as it was. docs/automations.yaml has the same two
automations for a block of another kind; a test holds them equal.
"""

import logging
from collections.abc import Iterator
from datetime import timedelta
from typing import NamedTuple
from uuid import UUID

import httpx
from prefect.blocks.abstract import NotificationBlock
from prefect.blocks.notifications import CustomWebhookNotificationBlock, SlackWebhook
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.events.actions import SendNotification
from prefect.events.schemas.automations import AutomationCore, EventTrigger, Posture
from prefect.events.worker import EventsWorker
from prefect.exceptions import ObjectNotFound, PrefectHTTPStatusError

from bufferhouse.config.load import Config
from bufferhouse.errors import SourceUnavailable, UsageError
from bufferhouse.redaction import redacted
from bufferhouse.report.text.figures import human_seconds
from flows.events import MATTER

EVENTS = "bufferhouse has something to tell"
SILENCE = "bufferhouse is silent"
_MESSAGE = "event.payload.message or event.payload.validated_state.message"
# Slack reads <…> as a command, such as one that mentions everybody, and anybody may have chosen a name in a dump.
_HARMLESS = "|replace('&', '&amp;')|replace('<', '&lt;')|replace('>', '&gt;')"


class Change(NamedTuple):
    """What was done to a block or an automation: `created`, `updated`, `unchanged` or `removed`."""

    kind: str
    name: str
    change: str


def arrange(conf: Config) -> list[Change]:
    """Bring the blocks and automations of `[notify]` on Prefect's server in line with the configuration.

    Those with our names are replaced if they differ; a block whose key is no longer configured is removed.

    Raises:
        UsageError: no receiver is configured, or an address is not understood.
        SourceUnavailable: Prefect's server does not answer, or refuses.
    """
    wanted = _blocks(conf)
    try:
        return list(_changes(conf, wanted))
    except (httpx.HTTPError, PrefectHTTPStatusError) as error:
        raise SourceUnavailable(f"Prefect's server refused the request: {redacted(str(error))}") from None
    finally:
        _hand_over()


def _hand_over() -> None:
    """Wait until Prefect's events about loaded blocks are sent: a server of ours ends after this."""
    waiting = logging.getLogger(EventsWorker.__name__)
    before = waiting.level
    waiting.setLevel(logging.ERROR)  # else it warns of events that are not sent yet, for which we wait
    try:
        EventsWorker.drain_all()
    finally:
        waiting.setLevel(before)


def _changes(conf: Config, wanted: dict[str, NotificationBlock]) -> Iterator[Change]:
    numbers = {}
    for key, block in wanted.items():
        numbers[key], change = _save(block, _block_name(key))
        yield Change("block", _block_name(key), change)
    with get_client(sync_client=True) as client:
        for automation in automations(conf, numbers):
            for change in _put(client, automation):
                yield Change("automation", automation.name, change)
        for key in _KINDS.keys() - wanted.keys():  # such a block holds a secret that is no longer needed
            try:
                found = client.read_block_document_by_name(_block_name(key), _KINDS[key].get_block_type_slug())
            except ObjectNotFound:
                continue
            client.delete_block_document(found.id)
            yield Change("block", _block_name(key), "removed")


def send(conf: Config, subject: str, body: str) -> None:
    """Send a message to all receivers of `[notify]` now, from this process.

    Raises:
        UsageError: no receiver is configured, or one refused the message.
        SourceUnavailable: a web hook does not answer.
    """
    for key, block in _blocks(conf).items():
        try:
            with block.raise_on_failure():
                block.notify(subject=subject, body=body)
        except Exception as error:  # of any library that sends: its message may hold the address, which is a secret
            # If mail fails, Apprise writes the reason into its log, at a level that may be off.
            reason = str(getattr(error, "log", error)).strip() or "the receiver does not answer, or refuses"
            kind = SourceUnavailable if isinstance(error, httpx.TransportError) else UsageError
            raise kind(redacted(f"notify.{key}: the message was not taken: {reason}")) from None


def automations(conf: Config, blocks: dict[str, UUID]) -> list[AutomationCore]:
    """Return the automations that report events, and silence, through the blocks with these numbers."""
    given = conf["notify"]
    is_told = given["silence"] != float("inf")
    return [
        AutomationCore(
            name=EVENTS,
            description="An event of bufferhouse, or a flow run of it that failed. Made by `bufferhouse notify`.",
            trigger=EventTrigger(
                posture=Posture.Reactive,
                expect={"bufferhouse.*", "prefect.flow-run.Crashed"},
                match_related=_tagged("bufferhouse"),
                for_each={"related:deployment:prefect.resource.id", MATTER},
                threshold=1,
                within=timedelta(seconds=given["quiet"]),
            ),
            actions=[
                SendNotification(block_document_id=number, subject="{{ event.event }}", body=_body(key))
                for key, number in blocks.items()
            ],
        ),
        AutomationCore(
            name=SILENCE,
            description="No ingest has ended well for long. Made by `bufferhouse notify`.",
            enabled=is_told,
            trigger=EventTrigger(
                posture=Posture.Proactive,
                expect={"prefect.flow-run.Completed*"},
                match_related=_tagged("ingest"),
                threshold=1,
                within=timedelta(seconds=given["silence"] if is_told else 3 * 3600),
            ),
            actions=[
                SendNotification(
                    block_document_id=number,
                    subject=SILENCE,
                    body=f"No ingest has ended well for {human_seconds(given['silence'])}."
                    " Look whether the scheduler or the worker runs.",
                )
                for number in blocks.values()
            ],
        ),
    ]


def _slack(url: str) -> NotificationBlock:
    # Prefect's block for Slack accepts only Slack's own host. Other hosts take the same message, also those of tests.
    return CustomWebhookNotificationBlock(
        name="bufferhouse",
        url="{{address}}",
        json_data={"text": "{{subject}}\n{{body}}"},
        secrets={"address": url},
    )


def _mail(url: str) -> NotificationBlock:
    # Prefect needs further packages for mail; this block of it hands any address to Apprise.
    block = SlackWebhook(url=url)
    if not len(block._apprise_client):
        raise UsageError("notify.mail: expected an address of mail that Apprise understands (docs/operations.md)")
    return block


_KINDS = {"slack": CustomWebhookNotificationBlock, "mail": SlackWebhook}
_MAKERS = {"slack": _slack, "mail": _mail}


def _blocks(conf: Config) -> dict[str, NotificationBlock]:
    found = {key: make(conf["notify"][key]) for key, make in _MAKERS.items() if conf["notify"][key]}
    if not found:
        raise UsageError(
            f"expected notify.slack or notify.mail in {conf.path or 'a bufferhouse.toml'}, found neither; "
            "they may come from $BUFFERHOUSE_NOTIFY__SLACK and $BUFFERHOUSE_NOTIFY__MAIL, too"
        )
    return found


def _block_name(key: str) -> str:
    return f"bufferhouse-{key}"


def _body(key: str) -> str:
    harmless = _HARMLESS if key == "slack" else ""
    return f"{{{{ ({_MESSAGE}){harmless} }}}} ({{{{ event.resource.id{harmless} }}}})"


def _tagged(tag: str) -> dict[str, str]:
    return {"prefect.resource.role": "tag", "prefect.resource.id": f"prefect.tag.{tag}"}


def _save(wanted: NotificationBlock, name: str) -> tuple[UUID, str]:
    """Store a block if it differs from the one of that name; return its number and what was done."""
    try:
        found = type(wanted).load(name)
    except ValueError:  # there is none
        return wanted.save(name), "created"
    if all(getattr(found, field) == getattr(wanted, field) for field in type(wanted).model_fields):
        return found._block_document_id, "unchanged"
    return wanted.save(name, overwrite=True), "updated"


def _put(client: SyncPrefectClient, wanted: AutomationCore) -> Iterator[str]:
    """Store an automation if it differs from the one of that name, remove duplicates, and yield what was done."""
    found = client.read_automations_by_name(wanted.name)
    for more in found[1:]:  # made by two commands at once
        client.delete_automation(more.id)
        yield "removed"
    if not found:
        client.create_automation(wanted)
        yield "created"
    elif all(getattr(found[0], field) == getattr(wanted, field) for field in type(wanted).model_fields):
        yield "unchanged"
    else:
        client.update_automation(found[0].id, wanted)
        yield "updated"
