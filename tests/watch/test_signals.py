"""Signals from outside: webhooks, IndexNow, WebSub; who is believed, and who is not."""

import hashlib
import hmac
import json
from urllib.parse import parse_qs, urlsplit

import pytest
from django.conf import settings
from django.test import Client

from hemeroteca import config
from hemeroteca.accounts import SYSTEM
from hemeroteca.fetch.client import GuardedClient
from hemeroteca.instance.sealed_secrets import digest
from hemeroteca.watch import services, signals
from hemeroteca.watch.fields import Order
from hemeroteca.watch.models import Signal, SignalSource, Subscription
from tests.watch.receiver import Receiver

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]

FEED = b"""<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom"><title>t</title>
<entry><title>A</title><link href="https://news.test/a"/><updated>2026-01-02T00:00:00Z</updated></entry></feed>"""


@pytest.fixture
def receiver():
    with Receiver() as found:
        yield found


@pytest.fixture
def public(monkeypatch):
    import dataclasses

    monkeypatch.setattr(settings, "CONFIG", dataclasses.replace(settings.CONFIG, public_url="https://hem.test/"))


def subscribe(url="https://news.test/") -> Subscription:
    return services.subscribe(SYSTEM, Order(url=url, scope="host"))[0]


def post(path: str, body: object, **headers: str):
    data = body if isinstance(body, bytes) else json.dumps(body)
    return Client(headers={"host": "localhost"}).post(
        path, data, content_type=headers.pop("type", "application/json"), headers=headers
    )


def test_a_webhook_takes_pages_by_json_form_or_nothing():
    _, token = services.add_webhook(SYSTEM, subscribe().pk)
    path = f"/api/v1/signals/{token}"
    assert post(path, {"urls": ["https://news.test/a", "https://news.test/b"]}).json() == {"taken": 2}
    assert post(path, {"url": "https://news.test/c"}).status_code == 202
    form = post(path, b"url=https%3A%2F%2Fnews.test%2Fd", type="application/x-www-form-urlencoded")
    assert form.status_code == 202
    assert post(path, b"").status_code == 202
    assert list(Signal.objects.order_by("pk").values_list("url", flat=True)) == [
        "https://news.test/a",
        "https://news.test/b",
        "https://news.test/c",
        "https://news.test/d",
        "",
    ]


@pytest.mark.parametrize("body", [b"{", b"[1]", b'{"urls": 3}', b'{"urls": [1]}', b"\xff\xfe"])
def test_a_webhook_refuses_nonsense_with_a_reason(body):
    _, token = services.add_webhook(SYSTEM, subscribe().pk)
    answer = post(f"/api/v1/signals/{token}", body)
    assert answer.status_code in (400, 422)
    assert answer.json()["detail"]
    assert not Signal.objects.exists()


def test_any_text_as_an_address_can_be_kept():
    _, token = services.add_webhook(SYSTEM, subscribe().pk)
    answer = post(f"/api/v1/signals/{token}", {"urls": ["\x00", "a\ud800b", "ü" * 5000]})
    assert answer.status_code == 202
    assert Signal.objects.count() == 3


def test_a_wrong_token_is_not_known():
    services.add_webhook(SYSTEM, subscribe().pk)
    assert post("/api/v1/signals/wrong-token-123", {}).status_code == 404
    assert not Signal.objects.exists()


def test_more_signals_than_can_wait_are_dropped_and_counted(monkeypatch):
    monkeypatch.setattr(signals, "MAX_WAITING", 3)
    source, _ = services.add_webhook(SYSTEM, subscribe().pk)
    assert signals.receive(source, [(f"https://news.test/{n}", 0) for n in range(5)]) == 3
    source.refresh_from_db()
    assert (source.received, source.dropped) == (3, 2)


# IndexNow


def test_indexnow_is_heard_once_the_key_is_found_on_the_site(receiver):
    host = f"127.0.0.1:{receiver.port}"
    subscribe(f"http://{host}/")
    key = "abcdef1234567890"
    receiver.pages["/key.txt"] = key.encode()
    given = {
        "host": "127.0.0.1",
        "key": key,
        "keyLocation": f"http://{host}/key.txt",
        "urlList": [f"http://{host}/a", f"http://{host}/b"],
    }
    assert post("/indexnow", given).status_code == 202
    source = SignalSource.objects.get()
    assert source.state == "new"
    assert signals.maintain(GuardedClient(config.load()), services.now_ms()) == 1
    source.refresh_from_db()
    assert source.state == "active"
    assert post("/indexnow", given).status_code == 202
    assert Signal.objects.count() == 4
    assert post("/indexnow", {**given, "key": "another-key-123"}).status_code == 202, "strangers learn nothing"
    assert Signal.objects.count() == 4


def test_indexnow_makes_us_ask_no_port_that_we_do_not_watch(receiver):
    subscribe("http://127.0.0.1/")
    given = {"key": "abcdef1234567890", "urlList": [f"http://127.0.0.1:{receiver.port}/a"]}
    place = f"http://127.0.0.1:{receiver.port}/abcdef1234567890.txt"
    assert post("/indexnow", {**given, "host": "127.0.0.1", "keyLocation": place}).status_code == 202
    assert not SignalSource.objects.exists()


def test_indexnow_with_a_key_the_site_does_not_have_is_refused(receiver):
    host = f"127.0.0.1:{receiver.port}"
    subscribe(f"http://{host}/")
    receiver.pages["/key.txt"] = b"something else"
    query = f"/indexnow?url=http://{host}/a&key=abcdef123456&keyLocation=http://{host}/key.txt"
    client = Client(headers={"host": "localhost"})
    assert client.get(query).status_code == 202
    signals.maintain(GuardedClient(config.load()), services.now_ms())
    assert SignalSource.objects.get().state == "refused"
    assert not Signal.objects.exists()
    assert client.get(query).status_code == 202
    assert not Signal.objects.exists()


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ({"host": "news.test", "key": "short", "urlList": ["https://news.test/a"]}, 422),
        ({"host": "news.test", "key": "abcdefgh", "urlList": []}, 422),
        ({"host": "news.test", "key": "abcdefgh", "urlList": ["https://other.test/"]}, 422),
        ({"host": "news.test", "key": "abcdefgh", "urlList": ["nonsense"]}, 400),
        ({"host": "unwatched.test", "key": "abcdefgh", "urlList": ["https://unwatched.test/"]}, 202),
        (
            {
                "host": "news.test",
                "key": "abcdefgh",
                "keyLocation": "https://news.test/blog/k.txt",
                "urlList": ["https://news.test/a"],
            },
            422,
        ),
    ],
)
def test_indexnow_answers_as_its_protocol_says(given, status):
    subscribe()
    assert post("/indexnow", given).status_code == status
    assert not Signal.objects.exists()


# WebSub


def hub_source(receiver: Receiver, hub: str = "") -> SignalSource:
    return SignalSource.objects.create(
        kind="websub",
        subscription=subscribe(),
        url="https://news.test/feed.xml",
        hub=hub or f"{receiver.url}/hub",
        created_ms=0,
    )


def asked(receiver: Receiver) -> tuple[dict[str, str], str]:
    fields = {name: values[0] for name, values in parse_qs(receiver.requests[-1][3].decode()).items()}
    return fields, urlsplit(fields["hub.callback"]).path


def test_a_hub_is_asked_asks_back_and_is_renewed(receiver, public):
    source = hub_source(receiver)
    signals.maintain(GuardedClient(config.load()), services.now_ms())
    fields, callback = asked(receiver)
    assert fields["hub.mode"] == "subscribe"
    assert fields["hub.topic"] == source.url
    client = Client(headers={"host": "localhost"})
    wrong = client.get(callback, {"hub.mode": "subscribe", "hub.topic": "https://x.test/", "hub.challenge": "c"})
    assert wrong.status_code == 404
    stolen = client.get(callback[:-3] + "xyz", {"hub.mode": "subscribe", "hub.topic": source.url, "hub.challenge": "c"})
    assert stolen.status_code == 404
    answer = client.get(
        callback,
        {"hub.mode": "subscribe", "hub.topic": source.url, "hub.challenge": "ch<all>", "hub.lease_seconds": "1000"},
    )
    assert (answer.status_code, answer.content) == (200, b"ch<all>")
    assert answer.headers["Content-Type"].startswith("text/plain")
    source.refresh_from_db()
    now = services.now_ms()
    assert source.state == "active"
    assert now + 900_000 < source.lease_ms <= now + 1_000_000
    assert signals.maintain(GuardedClient(config.load()), now) == 0
    assert signals.maintain(GuardedClient(config.load()), source.due_ms) == 1  # before the lease ends
    assert asked(receiver)[1] == callback  # what the hub sends meanwhile is not lost
    assert post(callback, FEED, type="application/atom+xml").status_code == 202
    assert Signal.objects.count() == 1


@pytest.mark.parametrize("end", ["subscription", "source"])
def test_a_hub_is_told_when_nobody_listens_any_more(receiver, public, end):
    source = hub_source(receiver)
    signals.maintain(GuardedClient(config.load()), services.now_ms())
    _, callback = asked(receiver)
    client = Client(headers={"host": "localhost"})
    question = {"hub.mode": "unsubscribe", "hub.topic": source.url, "hub.challenge": "bye"}
    assert client.get(callback, question).status_code == 404  # a stranger cannot end it
    SignalSource.objects.update(state="active")
    if end == "subscription":
        services.remove(SYSTEM, source.subscription_id)
    else:
        services.remove_source(SYSTEM, source.pk)
    assert post(callback, FEED, type="application/atom+xml").status_code == 410
    receiver.answers = [(500, b"")]
    signals.maintain(GuardedClient(config.load()), services.now_ms())
    signals.maintain(GuardedClient(config.load()), services.now_ms() + 3_600_000)
    fields, again = asked(receiver)
    assert (fields["hub.mode"], again) == ("unsubscribe", callback)
    answer = client.get(callback, question)
    assert (answer.status_code, answer.content) == (200, b"bye")
    assert not SignalSource.objects.exists()


def test_a_hub_that_does_not_care_is_forgotten(receiver, public):
    source = hub_source(receiver)
    signals.maintain(GuardedClient(config.load()), services.now_ms())
    services.remove_source(SYSTEM, source.pk)
    receiver.answers = [(500, b"")] * 10
    for hour in range(6):
        signals.maintain(GuardedClient(config.load()), services.now_ms() + hour * 3_600_000)
    assert not SignalSource.objects.exists()


def test_what_a_hub_sends_is_believed_only_with_its_signature(receiver, public, monkeypatch):
    source = hub_source(receiver)
    secret = "s3cret"
    SignalSource.objects.update(state="active", secret=secret, token=digest("tok-12345"))
    path = f"/api/v1/signals/websub/{source.pk}/tok-12345"
    signed = "sha256=" + hmac.new(secret.encode(), FEED, hashlib.sha256).hexdigest()
    headers = {"type": "application/atom+xml"}
    assert post(path, FEED, **headers).status_code == 202
    assert post(path, FEED, **headers, **{"X-Hub-Signature": "sha256=" + "0" * 64}).status_code == 202
    assert not Signal.objects.exists()
    assert post(path, FEED, **headers, **{"X-Hub-Signature": signed}).status_code == 202
    signal = Signal.objects.get()
    assert (signal.url, signal.said_ms) == ("https://news.test/a", 1_767_312_000_000)
    source.refresh_from_db()
    assert source.dropped == 2


def test_a_secret_is_only_given_to_a_hub_over_tls(receiver, public):
    source = hub_source(receiver)
    signals.subscribe(source, GuardedClient(config.load()))
    fields, _ = asked(receiver)
    assert "hub.secret" not in fields


def test_a_hub_that_refuses_or_fails_is_noted(receiver, public):
    source = hub_source(receiver)
    receiver.answers = [(500, b"")]
    signals.maintain(GuardedClient(config.load()), services.now_ms())
    source.refresh_from_db()
    assert source.attempts == 1
    assert source.due_ms > services.now_ms()
    assert "http-500" in source.note
    signals.maintain(GuardedClient(config.load()), source.due_ms)
    _, callback = asked(receiver)
    Client(headers={"host": "localhost"}).get(
        callback, {"hub.mode": "denied", "hub.topic": source.url, "hub.reason": "not you"}
    )
    source.refresh_from_db()
    assert (source.state, "not you" in source.note) == ("refused", True)


def test_without_a_public_address_no_hub_is_asked(receiver):
    source = hub_source(receiver)
    signals.maintain(GuardedClient(config.load()), services.now_ms())
    source.refresh_from_db()
    assert not receiver.requests
    assert "public_url" in source.note
