"""What others tell us: "this page changed". Received by the web process, believed or not by the scheduler.

Nothing here is trusted: a source has to prove itself (a token, a signature, a key on its own site), is heard only so
often, and how often it was right decides what its next word is worth.
"""

import hashlib
import hmac
import re
import secrets
from collections.abc import Sequence
from urllib.parse import urlencode

from django.conf import settings
from django.db.models import F
from django.utils.crypto import salted_hmac

from hemeroteca import extract, urls
from hemeroteca.fetch.client import GuardedClient, Reply
from hemeroteca.instance.sealed_secrets import digest
from hemeroteca.watch import services
from hemeroteca.watch.answered_visit import DAY_MS, HOUR_MS
from hemeroteca.watch.fields import plain
from hemeroteca.watch.models import Signal, SignalSource, Subscription

MAX_URLS = 10_000  # IndexNow's own limit for one message
MAX_WAITING = 20_000  # signals of one source that wait for the engine
LEASE_SECONDS = 10 * 86_400
FIRST_RETRY_MS = 60_000
MAX_RETRY_MS = DAY_MS
MAX_ATTEMPTS = 12
MAX_GOODBYES = 4  # tries to tell a hub that nobody listens any more
KEYS_WAITING = 100  # IndexNow keys that may wait to be checked
_KEY = re.compile(r"[A-Za-z0-9-]{8,128}")
_SIGNATURE = re.compile(r"(sha1|sha256|sha384|sha512)=([0-9a-fA-F]{40,128})")


class SignalError(ValueError):
    """A signal that is not taken; `status` is the HTTP status to answer with."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


# webhooks


def webhook(token: str, addresses: Sequence[str]) -> int:
    """A site tells that pages changed (none named: its entrance); returns how many were taken."""
    source = SignalSource.objects.filter(kind=SignalSource.Kind.WEBHOOK, token=digest(token)).first()
    if source is None or not token:
        raise SignalError(404, "This address is not known; `hemeroteca watch webhook NUMBER` makes another.")
    return receive(source, [(address, 0) for address in addresses] or [("", 0)])


def receive(source: SignalSource, said: Sequence[tuple[str, int]]) -> int:
    """Write signals (URL, ms of the change or 0) down for the engine, as many as there is room for."""
    now = services.now_ms()
    room = MAX_WAITING - Signal.objects.filter(source=source).count()
    taken = said[: max(room, 0)]
    Signal.objects.bulk_create(
        [Signal(source=source, url=plain(url[:4096]), said_ms=at, received_ms=now) for url, at in taken],
        batch_size=1000,
    )
    SignalSource.objects.filter(pk=source.pk).update(
        received=F("received") + len(taken), dropped=F("dropped") + len(said) - len(taken), heard_ms=now
    )
    return len(taken)


# wikis


def wiki_changes(site: str, api_url: str, said: Sequence[tuple[str, int]]) -> None:
    """A wiki that is followed by its own room told that pages changed, while some subscription may have them."""
    source = SignalSource.objects.filter(kind=SignalSource.Kind.WEBHOOK, site=site, url=api_url).first()
    if source is None:
        if not _watched(site):
            return
        source = SignalSource.objects.create(
            kind=SignalSource.Kind.WEBHOOK,
            site=site,
            url=api_url,
            state=SignalSource.State.ACTIVE,
            note="recent changes of the wiki",
            created_ms=services.now_ms(),
        )
    receive(source, said)


# IndexNow


def indexnow(host: str, key: str, key_location: str, addresses: Sequence[str]) -> int:
    """A message of the IndexNow protocol; gives the status to answer with: the same whether or not we
    watch the site and believe the key, which strangers must not learn."""
    if not addresses or len(addresses) > MAX_URLS:
        raise SignalError(422, f"Send 1 to {MAX_URLS} URLs.")
    if not _KEY.fullmatch(key):
        raise SignalError(422, "The key must have 8 to 128 letters, digits or dashes.")
    try:
        found = [urls.canonical(address) for address in addresses]
        site = urls.host(found[0]) if not host else urls.host(urls.canonical(f"https://{host}/"))
        location = urls.canonical(key_location) if key_location else f"https://{site}/{key}.txt"
    except urls.UrlError as error:
        raise SignalError(400, f"An address cannot be read: {error}")
    if any(urls.host(url) != site for url in found) or urls.host(location) != site:
        raise SignalError(422, f"All URLs and the key must be on {site}.")
    folder = location[: location.rindex("/") + 1]
    if key_location and any(not url.startswith(folder) for url in found):
        raise SignalError(422, f"A key at {location} can only speak for URLs below {folder}")
    origins = _watched(site)
    if not origins or urls.origin(location) not in (f"https://{site}", f"http://{site}", *origins):
        return 202  # no port is asked that no page of ours is on
    source = SignalSource.objects.filter(kind=SignalSource.Kind.INDEXNOW, site=site, url=location).first()
    if source is None:
        waiting = SignalSource.objects.filter(kind=SignalSource.Kind.INDEXNOW, state=SignalSource.State.NEW).count()
        if waiting >= KEYS_WAITING:
            return 202
        source = SignalSource.objects.create(
            kind=SignalSource.Kind.INDEXNOW, site=site, url=location, secret=key, created_ms=services.now_ms()
        )
    if hmac.compare_digest(source.secret, key) and source.state != SignalSource.State.REFUSED:
        receive(source, [(url, 0) for url in found])
    return 202


def check_key(source: SignalSource, client: GuardedClient) -> None:
    """Ask the site whether the IndexNow key is its own."""
    answer = client.send(source.url)
    text = answer.body.decode("utf-8", "replace").strip()
    if answer.ok and source.secret in text.split():
        _settle(source, SignalSource.State.ACTIVE, "the key is on the site")
    elif answer.passing and source.attempts < MAX_ATTEMPTS:
        _try_later(source, answer.reason)
    else:
        _settle(source, SignalSource.State.REFUSED, answer.reason or "the file at the key's location has another text")
        Signal.objects.filter(source=source).delete()


# WebSub


def callback_url(source: SignalSource, token: str) -> str:
    return f"{settings.CONFIG.public_url.rstrip('/')}/api/v1/signals/websub/{source.pk}/{token}"


def subscribe(source: SignalSource, client: GuardedClient) -> None:
    """Ask a hub to send us a topic, or to go on; the hub then asks back (`verify_intent`)."""
    if not settings.CONFIG.public_url:
        _settle(source, SignalSource.State.NEW, "set public_url, the address hubs reach us at", later_ms=DAY_MS)
        return
    token = _token(source)
    # The secret signs what the hub sends; a hub may only be given one over TLS (WebSub 5.1). Address and secret stay
    # the same when the lease is renewed: the hub goes on sending meanwhile.
    if source.hub.startswith("https:"):
        source.secret = source.secret or secrets.token_urlsafe(32)
    else:
        source.secret = ""
    source.token = digest(token)
    source.save(update_fields=["token", "secret"])
    signed = {"hub.secret": source.secret} if source.secret else {}
    answer = _ask_hub(source, client, {"hub.mode": "subscribe", "hub.lease_seconds": str(LEASE_SECONDS), **signed})
    if answer.ok:
        _settle(source, source.state, "asked the hub; it has to ask back", later_ms=HOUR_MS)
    elif source.attempts < MAX_ATTEMPTS:
        _try_later(source, f"the hub {source.hub} answered {answer.reason}")
    else:
        _settle(source, SignalSource.State.REFUSED, f"the hub {source.hub} answered {answer.reason}")


def unsubscribe(source: SignalSource, client: GuardedClient) -> None:
    """Tell a hub that nobody listens any more; what it sends until it has understood is refused."""
    if source.attempts >= MAX_GOODBYES or source.note or source.token != digest(_token(source)):
        source.delete()  # it was told, or cannot be: its lease runs out
        return
    answer = _ask_hub(source, client, {"hub.mode": "unsubscribe"})
    if answer.ok:
        _settle(source, source.state, "told the hub; it has to ask back", later_ms=HOUR_MS)
    else:
        wait = FIRST_RETRY_MS * 2**source.attempts
        SignalSource.objects.filter(pk=source.pk).update(attempts=source.attempts + 1, due_ms=services.now_ms() + wait)


def verify_intent(number: int, token: str, mode: str, topic: str, challenge: str, lease: str, reason: str) -> str:
    """A hub asks whether we meant it; gives the text to answer with."""
    source = _websub(number, token)
    if topic != source.url:
        raise SignalError(404, "This is not the topic that was asked for.")
    if mode == "unsubscribe" and source.state == SignalSource.State.ENDING and 0 < len(challenge) <= 2000:
        source.delete()
        return challenge
    if source.state == SignalSource.State.ENDING:
        raise SignalError(404, "Nobody here asked for this.")
    if mode == "denied":
        _settle(source, SignalSource.State.REFUSED, f"the hub refused: {plain(reason[:300])}")
        return ""
    if mode != "subscribe" or not challenge or len(challenge) > 2000:
        raise SignalError(404, "Nobody here asked for this.")
    seconds = int(lease) if lease.isascii() and lease.isdigit() and len(lease) < 10 else LEASE_SECONDS
    seconds = max(300, min(seconds, 90 * 86_400))
    now = services.now_ms()
    SignalSource.objects.filter(pk=source.pk).update(
        state=SignalSource.State.ACTIVE,
        note="",
        attempts=0,
        lease_ms=now + seconds * 1000,
        due_ms=now + int(seconds * 800),  # renewed when four fifths of the lease are over
    )
    services.changed()
    return challenge


def deliver(number: int, token: str, body: bytes, content_type: str, signature: str) -> int:
    """A hub sends a topic; gives how many pages it announced. A wrong signature is answered politely and ignored."""
    source = _websub(number, token)
    if source.state != SignalSource.State.ACTIVE:
        raise SignalError(410, "This subscription has ended.")
    if source.secret and not _signed(source.secret, body, signature):
        SignalSource.objects.filter(pk=source.pk).update(dropped=F("dropped") + 1)
        return 0
    document = extract.read(body, content_type, source.url)
    entries = [link for link in document.links if link.kind == "page"] if document.kind == "feed" else []
    resolved = urls.resolve_links(source.url, [link.href for link in entries])
    said = [(url, link.modified) for url, link in zip(resolved, entries, strict=True) if url]
    return receive(source, said[:1000] or [(source.url, 0)])


def maintain(client: GuardedClient, now_ms: int) -> int:
    """Do what sources wait for: check keys, subscribe, renew. Returns how many there were."""
    due = SignalSource.objects.filter(due_ms__lte=now_ms).exclude(
        state__in=[SignalSource.State.REFUSED, SignalSource.State.ENDED]
    )
    keys = list(due.filter(kind=SignalSource.Kind.INDEXNOW, state=SignalSource.State.NEW)[:20])
    hubs = list(due.filter(kind=SignalSource.Kind.WEBSUB).exclude(state=SignalSource.State.ENDING)[:20])
    ending = list(due.filter(state=SignalSource.State.ENDING)[:20])
    for source in keys:
        check_key(source, client)
    for source in hubs:
        if source.lease_ms and source.lease_ms < now_ms:
            SignalSource.objects.filter(pk=source.pk).update(state=SignalSource.State.NEW, lease_ms=0)
            source.state, source.lease_ms = SignalSource.State.NEW, 0
        subscribe(source, client)
    for source in ending:
        unsubscribe(source, client)
    return len(keys) + len(hubs) + len(ending)


def precision(source: SignalSource) -> float | None:
    """Share of what it announced that was true; None while nothing was looked at."""
    looked = source.right + source.wrong
    return source.right / looked if looked else None


def recall(source: SignalSource) -> float | None:
    """Share of the changes it speaks about that it announced."""
    happened = source.right + source.missed
    return source.right / happened if happened else None


# helpers


def _token(source: SignalSource) -> str:
    """The secret of the address a hub sends to: always the same for a source."""
    return salted_hmac("hemeroteca.watch.websub", f"{source.pk} {source.created_ms}", algorithm="sha256").hexdigest()


def _ask_hub(source: SignalSource, client: GuardedClient, fields: dict[str, str]) -> Reply:
    fields = {"hub.callback": callback_url(source, _token(source)), "hub.topic": source.url, **fields}
    return client.send(
        source.hub, content=urlencode(fields).encode(), headers={"Content-Type": "application/x-www-form-urlencoded"}
    )


def _websub(number: int, token: str) -> SignalSource:
    source = SignalSource.objects.filter(pk=number, kind=SignalSource.Kind.WEBSUB).first()
    if source is None or not source.token or not hmac.compare_digest(source.token, digest(token)):
        raise SignalError(404, "Nobody here asked for this.")
    return source


def _signed(secret: str, body: bytes, signature: str) -> bool:
    found = _SIGNATURE.fullmatch(signature.strip())
    if found is None:
        return False
    expected = hmac.new(secret.encode(), body, getattr(hashlib, found[1])).hexdigest()
    return hmac.compare_digest(expected, found[2].lower())


def _watched(site: str) -> set[str]:
    """The origins of subscriptions that may have pages on this host."""
    domain = urls.registrable_domain(site) or site
    known = Subscription.objects.filter(active=True, url__contains=domain).values_list("url", flat=True)
    return {
        urls.origin(url).replace(urls.host(url), site)
        for url in known
        if urls.host(url) == site or site.endswith("." + urls.host(url).removeprefix("www."))
    }


def _settle(source: SignalSource, state: str, note: str, later_ms: int = 0) -> None:
    due = services.now_ms() + (later_ms or 10 * 365 * DAY_MS)
    SignalSource.objects.filter(pk=source.pk).update(state=state, note=plain(note[:500]), attempts=0, due_ms=due)
    if state == SignalSource.State.ACTIVE:
        services.changed()


def _try_later(source: SignalSource, note: str) -> None:
    wait = min(FIRST_RETRY_MS * 2**source.attempts, MAX_RETRY_MS)
    SignalSource.objects.filter(pk=source.pk).update(
        attempts=source.attempts + 1, note=plain(note[:500]), due_ms=services.now_ms() + wait
    )
