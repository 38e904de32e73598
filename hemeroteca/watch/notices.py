"""Telling people: an outbox of notices, each delivered once per channel, at once or gathered into a digest.

A notice is written in the same transaction that marks its change as told, under a name (`event`) that is unique per
channel: however often the worker is killed, nobody is told twice of the same thing, and nobody is left out (but for a
message a messenger was just taking when the worker was killed: see `settle_interrupted`).
"""

import hashlib
import hmac
import logging
import re
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import msgspec
from django.db import transaction
from django.db.models import F
from django.utils import translation

from hemeroteca.config import Config
from hemeroteca.fetch.client import GuardedClient, guarded_names
from hemeroteca.frontier.reasons import explained_at
from hemeroteca.instance.public_url import own_address
from hemeroteca.watch import notice_conditions, services
from hemeroteca.watch.answered_visit import DAY_MS, HOUR_MS
from hemeroteca.watch.fields import plain
from hemeroteca.watch.models import Burst, Change, Channel, Notice, Subscription

log = logging.getLogger("hemeroteca.watch")

ALERT_AFTER = 3  # visits in a row without a useful answer
FIRST_RETRY_MS = 30_000
MAX_RETRY_MS = 6 * HOUR_MS
MAX_ATTEMPTS = 10  # about a day and a half
GIVE_UP_AFTER = 30  # failed deliveries in a row after which a channel is paused
IN_A_DIGEST = 50  # changes shown in one message; the rest is counted
DIFF_LINES = 40
BATCH = 200
GATHERED = {"change", "match"}  # what a digest gathers; failures are told at once
# Ways of Apprise that send by HTTP or SMTP, whose names go through `guarded_names`. Others act on this machine, or open
# sockets of their own that nobody guards.
SCHEMES = frozenset(
    [
        "bark", "barks", "discord", "flock", "form", "forms", "gchat", "gotify", "gotifys", "ifttt", "json", "jsons",
        "lark", "line", "mailgun", "mailto", "mailtos", "mastodon", "mastodons", "matrix", "matrixs", "mmost", "mmosts",
        "ncloud", "nclouds", "ntfy", "ntfys", "opsgenie", "pagerduty", "pbul", "pover", "pushed", "rocket", "rockets",
        "sendgrid", "signal", "signals", "slack", "synology", "synologys", "tgram", "twilio", "victorops", "vonage",
        "wecombot", "workflow", "workflows", "wxteams", "xml", "xmls", "zulip",
    ]
)  # fmt: skip

WORDS: dict[str, dict[str, str]] = {
    "en": {
        "change": "Changed: {title}",
        "changes": "{count} changes in {name}",
        "error": "No answer: {name}",
        "recovered": "Answers again: {name}",
        "burst": "Exceptional days: {name}",
        "burst-text": "{url} has changed {changes} times since {since}; {usual:g} would be usual.",
        "importance": "importance {total:.2f} (view {view:.2f}, form {form:.2f}, content {content:.2f})",
        "error-text": "{url} has failed {failures} times in a row since {since}. Last reason: {error}",
        "recovered-text": "{url} answers again. It had failed since {since}.",
        "more": "… and {count} more",
        "service": "{title}: {after}",
        "service-text": "{url} was {before} and is {after}. {reason}",
        "certificate": "Certificate of {host} ends",
        "certificate-text": "The certificate of {title} ({host}) is valid until {expires}.",
        "match": "New result: {title}",
        "matches": "{count} new results for {name}",
        "test": "Test of the channel {name}",
        "test-text": "Messages of {url} arrive here. Nothing has changed: this is a test.",
    },
    "es": {
        "change": "Cambió: {title}",
        "changes": "{count} cambios en {name}",
        "error": "No responde: {name}",
        "recovered": "Vuelve a responder: {name}",
        "burst": "Días excepcionales: {name}",
        "burst-text": "{url} ha cambiado {changes} veces desde {since}; lo habitual serían {usual:g}.",
        "importance": "importancia {total:.2f} (vista {view:.2f}, forma {form:.2f}, contenido {content:.2f})",
        "error-text": "{url} ha fallado {failures} veces seguidas desde {since}. Último motivo: {error}",
        "recovered-text": "{url} vuelve a responder. Fallaba desde {since}.",
        "more": "… y {count} más",
        "service": "{title}: {after}",
        "service-text": "{url} estaba {before} y está {after}. {reason}",
        "certificate": "Caduca el certificado de {host}",
        "certificate-text": "El certificado de {title} ({host}) vale hasta {expires}.",
        "match": "Nuevo resultado: {title}",
        "matches": "{count} resultados nuevos de {name}",
        "test": "Prueba del canal {name}",
        "test-text": "Los mensajes de {url} llegan aquí. No ha cambiado nada: es una prueba.",
    },
}


class DeliveryError(Exception):
    """A message was not delivered; the message says why."""

    def __init__(self, reason: str, passing: bool = True) -> None:
        super().__init__(reason)
        self.passing = passing


# what to tell


def write_notices(limit: int = BATCH) -> int:
    """Notices for changes and failures nobody has been told of; returns how many changes were looked at."""
    unread = Change.objects.filter(told=False).select_related("subscription").order_by("pk")
    changes = list(unread[:limit])
    if changes:
        channels = list(Channel.objects.filter(active=True, changes=True))
        with transaction.atomic():
            for change in changes:
                _tell_change(change, channels)
            Change.objects.filter(pk__in=[change.pk for change in changes]).update(told=True)
    _tell_bursts()
    _tell_failures()
    return len(changes)


def _tell_change(change: Change, channels: list[Channel]) -> None:
    """Tell of a change that is important to its subscription; a channel of several is told of a capture once."""
    subscription = change.subscription
    if subscription is None or not subscription.active or not is_told(change, subscription):
        return
    for channel in channels:
        if concerns(channel, subscription):
            event = f"change:{change.record_id or change.pk}"
            write(channel, event, "change", _change_facts(change, subscription), change.seen_ms)


def is_told(change: Change, subscription: Subscription) -> bool:
    """Whether people want to hear of it: one of the subscription's conditions holds, or there are none."""
    wanted = [notice_conditions.read(text) for text in subscription.notify]
    return not wanted or any(one.holds(change.diff, change.total) for one in wanted)


def _tell_bursts() -> None:
    for burst in Burst.objects.filter(told=False).select_related("subscription"):
        with transaction.atomic():
            subscription = burst.subscription
            facts = {"subscription": subscription.pk, "name": subscription.name, "url": subscription.url}
            facts |= {"changes": burst.changes, "usual": burst.usual, "since": moment(burst.start_ms)}
            for channel in Channel.objects.filter(active=True, changes=True):
                if concerns(channel, subscription):
                    write(channel, f"burst:{burst.pk}", "burst", facts, burst.end_ms)
            Burst.objects.filter(pk=burst.pk).update(told=True)


def _tell_failures() -> None:
    for subscription in Subscription.objects.filter(active=True, failures__gte=ALERT_AFTER).exclude(
        alerted_ms=F("failing_since_ms")
    ):
        with transaction.atomic():
            event = f"error:{subscription.pk}:{subscription.failing_since_ms}"
            _tell_subscription(subscription, event, "error", subscription.failing_since_ms)
            Subscription.objects.filter(pk=subscription.pk).update(alerted_ms=subscription.failing_since_ms)
    for subscription in Subscription.objects.filter(active=True, failures=0).exclude(alerted_ms=0):
        with transaction.atomic():
            event = f"recovered:{subscription.pk}:{subscription.alerted_ms}"
            _tell_subscription(subscription, event, "recovered", subscription.alerted_ms)
            Subscription.objects.filter(pk=subscription.pk).update(alerted_ms=0)


def _tell_subscription(subscription: Subscription, event: str, kind: str, since_ms: int) -> None:
    facts = {
        "subscription": subscription.pk,
        "name": subscription.name,
        "url": subscription.url,
        "failures": subscription.failures,
        "since": moment(since_ms),
        "error": subscription.last_error,
    }
    for channel in Channel.objects.filter(active=True, errors=True):
        if concerns(channel, subscription):
            write(channel, event, kind, facts, services.now_ms())


def write(channel: Channel, event: str, kind: str, facts: dict[str, Any], at_ms: int) -> None:
    """Put something into the outbox; the same event a second time is not told."""
    now = services.now_ms()
    due = now
    if channel.digest_hours and kind in GATHERED:
        step = int(channel.digest_hours * HOUR_MS)
        due = (now // step + 1) * step  # everything of a stretch of time is due at its end
    Notice.objects.bulk_create(
        [Notice(channel=channel, event=event, kind=kind, facts=facts, created_ms=at_ms, due_ms=due)],
        ignore_conflicts=True,
    )


# telling


def deliver(config: Config, client: GuardedClient, now_ms: int, limit: int = BATCH) -> int:
    """Deliver what is due; returns how many notices were delivered."""
    waiting = (
        Notice.objects.filter(state=Notice.State.WAITING, due_ms__lte=now_ms, channel__active=True)
        .select_related("channel")
        .order_by("due_ms", "pk")[:limit]
    )
    messages: dict[tuple[int, str], list[Notice]] = {}
    for notice in waiting:
        gathered = bool(notice.channel.digest_hours) and notice.kind in GATHERED
        messages.setdefault((notice.channel_id, notice.kind if gathered else str(notice.pk)), []).append(notice)
    delivered = 0
    silent: set[int] = set()  # channels that just failed; the rest of theirs waits with the first
    for (channel_id, _), notices in messages.items():
        if channel_id in silent:
            continue
        channel = notices[0].channel
        if channel.kind == Channel.Kind.APPRISE:
            Notice.objects.filter(pk__in=[n.pk for n in notices]).update(state=Notice.State.SENDING)
        try:
            _send(channel, notices, config, client)
        except DeliveryError as error:
            silent.add(channel_id)
            _failed(channel, notices, error, now_ms)
            continue
        except Exception as error:  # a plugin of Apprise may raise anything; the outbox goes on
            log.exception("channel %d", channel.pk)
            silent.add(channel_id)
            _failed(channel, notices, DeliveryError(f"{type(error).__name__}: {error}"), now_ms)
            continue
        with transaction.atomic():
            Notice.objects.filter(pk__in=[n.pk for n in notices]).update(
                state=Notice.State.SENT, sent_ms=now_ms, error=""
            )
            Channel.objects.filter(pk=channel.pk).update(failures=0, last_error="", sent_ms=now_ms)
        delivered += len(notices)
    return delivered


def settle_interrupted() -> int:
    """At the start of the only process that delivers: what was being sent when it was killed may have arrived.

    A mail or message would be read twice, so it is not sent again; a webhook is, under the same name as before.
    """
    note = "it was being sent when the worker was killed, and may not have arrived"
    return Notice.objects.filter(state=Notice.State.SENDING).update(state=Notice.State.FAILED, error=note)


def test_channel(channel: Channel, config: Config, client: GuardedClient) -> None:
    """Send a message that is no change, so that a person sees whether the channel works. Raises DeliveryError."""
    facts = {"name": channel.name, "url": own_address("/")}
    _send(channel, [Notice(channel=channel, event="test", kind="test", facts=facts)], config, client)


def check_apprise(target: str) -> str:
    """Why an Apprise URL cannot be used; empty when it can."""
    scheme = target.partition("://")[0].lower()
    if scheme not in SCHEMES:
        ways = ", ".join(sorted(SCHEMES))
        given = f"{scheme[:20]}://" if "://" in target else repr(target[:40])
        return f"{given} cannot be used; write https:// for a webhook, or one of the ways of Apprise: {ways}"
    if re.search(r"[\s,][^/?]*://", target):
        return "a channel has one address; make a channel for each"
    try:
        import apprise
    except ImportError:
        return "Apprise is not installed; `pip install 'hemeroteca[notify]'` brings it, or use a webhook"
    if apprise.Apprise.instantiate(target, suppress_exceptions=True) is None:
        return "Apprise cannot read this address; see its list of services for how each is written"
    return ""


def _send(channel: Channel, notices: list[Notice], config: Config, client: GuardedClient) -> None:
    if not channel.target:  # `sealed_secrets.unseal` could not open it
        raise DeliveryError(
            "its address was sealed with another secret.key; put that file into the data folder, or add it again"
        )
    if channel.kind == Channel.Kind.WEBHOOK:
        _send_webhook(channel, notices, client)
    else:
        _send_apprise(channel, notices, config)


def _send_webhook(channel: Channel, notices: list[Notice], client: GuardedClient) -> None:
    """One message with all events, signed: `sha256=` HMAC of `<time>.<body>` in X-Hemeroteca-Signature."""
    events = [{"event": n.event, "kind": n.kind, **n.facts} for n in notices]
    body = msgspec.json.encode({"channel": channel.pk, "events": events})
    stamp = str(services.now_ms() // 1000)
    signature = hmac.new(channel.secret.encode(), stamp.encode() + b"." + body, hashlib.sha256).hexdigest()
    delivery = hashlib.sha256(" ".join(n.event for n in notices).encode()).hexdigest()[:32]
    answer = client.send(
        channel.target,
        content=body,
        headers={
            "Content-Type": "application/json",
            "X-Hemeroteca-Timestamp": stamp,
            "X-Hemeroteca-Signature": f"sha256={signature}",
            "X-Hemeroteca-Delivery": delivery,  # the same at every try, so that a receiver can see a repetition
        },
    )
    if not answer.ok:
        raise DeliveryError(answer.reason or f"http-{answer.status}", answer.passing)


def _send_apprise(channel: Channel, notices: list[Notice], config: Config) -> None:
    if problem := check_apprise(channel.target):
        raise DeliveryError(problem, passing=False)
    import apprise

    title, body = message(notices, channel.language)
    with guarded_names(config):
        sender = apprise.Apprise()
        if (service := apprise.Apprise.instantiate(channel.target)) is not None:  # one, not a list of them
            sender.add(service)
        if not sender.notify(title=title, body=body, body_format=apprise.NotifyFormat.TEXT):
            raise DeliveryError("the service did not take the message (wrong address or password, or it is down)")


# of geographic services
STATES: dict[str, dict[str, str]] = {
    "en": {"alive": "working", "failing": "failing", "gone": "gone", "restricted": "restricted", "closed": "closed"},
    "es": {
        "alive": "en servicio",
        "failing": "con fallos",
        "gone": "desaparecido",
        "restricted": "restringido",
        "closed": "cerrado",
    },
}


def message(notices: list[Notice], language: str) -> tuple[str, str]:
    """Title and text of a message for people."""
    words = WORDS[language]
    first = notices[0]
    if first.kind == "match":
        return _match_message(notices, words)
    if first.kind != "change":
        facts = first.facts
        if first.kind == "service":
            facts = {**facts, "before": STATES[language][facts["before"]], "after": STATES[language][facts["after"]]}
        elif first.kind == "error":
            with translation.override(language):
                facts = {**facts, "error": explained_at(facts["error"])}
        return words[first.kind].format(**facts), words[f"{first.kind}-text"].format(**facts).strip()
    parts = [_change_text(notice.facts, words) for notice in notices[:IN_A_DIGEST]]
    if len(notices) > IN_A_DIGEST:
        parts.append(words["more"].format(count=len(notices) - IN_A_DIGEST))
    if len(notices) == 1:
        return words["change"].format(title=first.facts["title"] or first.facts["url"]), parts[0]
    names = {notice.facts["name"] for notice in notices}
    name = names.pop() if len(names) == 1 else "Hemeroteca"
    return words["changes"].format(count=len(notices), name=name), "\n\n".join(parts)


def _match_message(notices: list[Notice], words: dict[str, str]) -> tuple[str, str]:
    count = sum(notice.facts["count"] for notice in notices)
    parts = [_match_text(notice.facts, words) for notice in notices]
    results = [result for notice in notices for result in notice.facts["results"]]
    if count == 1 and results:
        return words["match"].format(title=results[0]["title"] or results[0]["url"]), parts[0]
    names = list(dict.fromkeys(notice.facts["name"] for notice in notices))
    return words["matches"].format(count=count, name=", ".join(names[:5])), "\n\n".join(parts[:IN_A_DIGEST])


def _match_text(facts: dict[str, Any], words: dict[str, str]) -> str:
    lines = [facts["name"]]
    for result in facts["results"]:
        lines += ["", *(line for line in (result["title"], result["url"], result["text"]) if line)]
    if facts["count"] > len(facts["results"]):
        lines += ["", words["more"].format(count=facts["count"] - len(facts["results"]))]
    return "\n".join([*lines, "", facts["link"]])


def _change_text(facts: dict[str, Any], words: dict[str, str]) -> str:
    diff = [line for line in facts["diff"].splitlines() if line[:1] in "+-" and not line.startswith(("+++", "---"))]
    shown = diff[:DIFF_LINES] + ([words["more"].format(count=len(diff) - DIFF_LINES)] if len(diff) > DIFF_LINES else [])
    head = [facts["title"], facts["url"], f"{facts['seen']}, {words['importance'].format(**facts)}"]
    return "\n".join([*(line for line in head if line), *shown, facts["compare"]])


def _failed(channel: Channel, notices: list[Notice], error: DeliveryError, now_ms: int) -> None:
    attempts = max(n.attempts for n in notices) + 1
    over = attempts >= MAX_ATTEMPTS or not error.passing
    wait = min(FIRST_RETRY_MS * 2 ** (attempts - 1), MAX_RETRY_MS)
    Notice.objects.filter(pk__in=[n.pk for n in notices]).update(
        attempts=attempts,
        error=plain(str(error)[:500]),
        state=Notice.State.FAILED if over else Notice.State.WAITING,
        due_ms=now_ms + wait,
    )
    if error.passing:  # the others would only count as further failures of a channel that is down
        others = Notice.objects.filter(channel=channel, state=Notice.State.WAITING, due_ms__lt=now_ms + wait)
        others.update(due_ms=now_ms + wait)
    failures = channel.failures + 1
    Channel.objects.filter(pk=channel.pk).update(
        failures=failures, last_error=plain(str(error)[:500]), active=failures < GIVE_UP_AFTER
    )


def forget_old(now_ms: int, days: int = 180) -> None:
    """Delivered notices are kept for half a year, to answer whether somebody was told."""
    Notice.objects.exclude(state=Notice.State.WAITING).filter(created_ms__lt=now_ms - days * DAY_MS).delete()


# helpers


def _change_facts(change: Change, subscription: Subscription) -> dict[str, Any]:
    same = ("url", "title", "view", "form", "content", "total", "words_added", "words_removed", "diff")
    return {name: getattr(change, name) for name in same} | {
        "subscription": subscription.pk,
        "name": subscription.name,
        "seen": moment(change.seen_ms),
        "since": moment(change.since_ms),
        "capture": str(change.record_id or ""),
        "compare": own_address(f"/page?url={quote(change.url, safe='')}"),
    }


def concerns(channel: Channel, subscription: Subscription) -> bool:
    if channel.subscription_id is not None:
        return channel.subscription_id == subscription.pk
    return channel.collection_id is None or channel.collection_id == subscription.collection_id


def moment(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")
