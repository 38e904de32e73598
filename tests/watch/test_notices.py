"""Notices: told once, signed, retried, gathered; and only what is important."""

import hashlib
import hmac
import json
import uuid

import pytest
from django.conf import settings
from django.db.models.expressions import RawSQL

from hemeroteca import config, urls
from hemeroteca.accounts import SYSTEM
from hemeroteca.errors import Refused
from hemeroteca.fetch.client import GuardedClient, guarded_names
from hemeroteca.watch import change_feeds, notices, services
from hemeroteca.watch.fields import ChannelOrder, Order
from hemeroteca.watch.models import Change, Channel, Notice, Subscription
from tests.watch.receiver import Receiver

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def receiver():
    with Receiver() as found:
        yield found


def subscribe(url="https://news.test/", **options) -> Subscription:
    return services.subscribe(SYSTEM, Order(url=url, **options))[0]


def change(subscription: Subscription, url="https://news.test/a", total=0.5, **values) -> Change:
    given = {
        "title": "Una página",
        "seen_ms": 1_767_225_600_000,
        "since_ms": 1_767_139_200_000,
        "diff": "--- old\n+++ new\n@@ -1 +1 @@\n-10 euros\n+12 euros\n",
        **values,
    }
    return Change.objects.create(
        key=urls.key(url),
        subscription=subscription,
        site=urls.host(url),
        url=url,
        record_id=uuid.uuid4(),
        view=0.0,
        form=0.1,
        content=total - 0.1,
        total=total,
        **given,
    )


def deliver(now_ms: int | None = None) -> int:
    return notices.deliver(config.load(), GuardedClient(config.load()), now_ms or services.now_ms())


def test_an_important_change_is_told_once_signed_and_with_its_difference(receiver, monkeypatch):
    monkeypatch.setattr(type(settings.INSTANCE), "served_at", lambda self: "http://127.0.0.1:8791/")
    subscription = subscribe()
    channel, secret = services.add_channel(SYSTEM, ChannelOrder(target=f"{receiver.url}/hook"))
    row = change(subscription)
    assert notices.write_notices() == 1
    assert deliver() == 1
    Change.objects.update(told=False)  # as if the worker had been killed after writing
    notices.write_notices()
    assert deliver() == 0
    ((method, path, headers, body),) = receiver.requests
    assert (method, path) == ("POST", "/hook")
    stamp = headers["x-hemeroteca-timestamp"]
    expected = hmac.new(secret.encode(), f"{stamp}.".encode() + body, hashlib.sha256).hexdigest()
    assert headers["x-hemeroteca-signature"] == f"sha256={expected}"
    (event,) = json.loads(body)["events"]
    assert event["event"] == f"change:{row.record_id}"
    assert "+12 euros" in event["diff"]
    assert event["compare"] == "http://127.0.0.1:8791/page?url=https%3A%2F%2Fnews.test%2Fa"  # where `serve` answers
    channel.refresh_from_db()
    assert channel.sent_ms


def test_a_test_of_a_channel_says_that_nothing_changed(receiver):
    channel, _ = services.add_channel(SYSTEM, ChannelOrder(target=f"{receiver.url}/hook", name="Ana"))
    notices.test_channel(channel, config.load(), GuardedClient(config.load()))
    ((_, _, _, body),) = receiver.requests
    (event,) = json.loads(body)["events"]
    assert (event["event"], event["kind"], event["name"]) == ("test", "test", "Ana")
    title, text = notices.message([Notice(channel=channel, kind="test", facts=event)], "es")
    assert title == "Prueba del canal Ana"
    assert "No ha cambiado nada" in text


def test_a_failed_delivery_is_tried_again_later_and_then_given_up(receiver):
    subscription = subscribe()
    services.add_channel(SYSTEM, ChannelOrder(target=f"{receiver.url}/hook"))
    change(subscription)
    notices.write_notices()
    receiver.answers = [(503, b""), (200, b"")]
    now = services.now_ms()
    assert deliver(now) == 0
    notice = Notice.objects.get()
    assert (notice.state, notice.attempts, notice.error) == ("waiting", 1, "http-503")
    assert notice.due_ms > now
    assert deliver(now) == 0
    assert deliver(notice.due_ms) == 1
    ids = {headers["x-hemeroteca-delivery"] for _, _, headers, _ in receiver.requests}
    assert len(ids) == 1
    change(subscription, "https://news.test/b")
    notices.write_notices()
    receiver.answers = [(410, b"")]
    assert deliver() == 0
    assert Notice.objects.order_by("pk").last().state == "failed"


def test_a_channel_that_is_down_is_asked_once_however_many_messages_wait(receiver):
    subscription = subscribe()
    channel, _ = services.add_channel(SYSTEM, ChannelOrder(target=f"{receiver.url}/hook"))
    for number in range(notices.GIVE_UP_AFTER + 5):
        change(subscription, f"https://news.test/{number}")
    notices.write_notices()
    receiver.answers = [(503, b"")]
    now = services.now_ms()
    for second in range(5):
        assert deliver(now + 1000 * second) == 0
    assert len(receiver.requests) == 1
    channel.refresh_from_db()
    assert (channel.active, channel.failures) == (True, 1)
    receiver.answers = []
    assert deliver(now + notices.FIRST_RETRY_MS) == notices.GIVE_UP_AFTER + 5


def test_a_channel_whose_address_another_key_sealed_says_so_and_its_messages_wait(receiver):
    """As in an instance restored from a backup without its key."""
    subscription = subscribe()
    channel, _ = services.add_channel(SYSTEM, ChannelOrder(target=f"{receiver.url}/hook"))
    Channel.objects.update(target=RawSQL("%s", ["sealed:of-another-key"]))
    change(subscription)
    notices.write_notices()
    assert deliver() == 0
    channel.refresh_from_db()
    assert "sealed with another secret.key" in channel.last_error
    assert Notice.objects.get().state == "waiting"


def test_a_channel_hears_only_what_it_is_about_and_above_each_threshold():
    first = subscribe("https://news.test/", collection="press", threshold=0.3)
    second = subscribe("https://other.test/")
    overlapping = subscribe("https://news.test/section/", scope="prefix", threshold=0.05)
    for order in (
        ChannelOrder(target="https://hooks.test/1", subscription=first.pk, name="first"),
        ChannelOrder(target="https://hooks.test/2", collection="press", name="press"),
        ChannelOrder(target="https://hooks.test/3", subscription=second.pk, name="second"),
        ChannelOrder(target="https://hooks.test/4", subscription=overlapping.pk, name="overlapping"),
        ChannelOrder(target="https://hooks.test/5", changes=False, name="errors only"),
    ):
        services.add_channel(SYSTEM, order)
    change(first, "https://news.test/section/a", total=0.5)  # a row of each that judges it important
    change(overlapping, "https://news.test/section/a", total=0.5)
    change(overlapping, "https://news.test/section/b", total=0.2)
    notices.write_notices()
    told = sorted(Notice.objects.values_list("channel__name", "facts__url"))
    assert told == [
        ("first", "https://news.test/section/a"),
        ("overlapping", "https://news.test/section/a"),
        ("overlapping", "https://news.test/section/b"),
        ("press", "https://news.test/section/a"),
    ]


def test_a_digest_gathers_changes_into_one_message(receiver):
    subscription = subscribe()
    services.add_channel(SYSTEM, ChannelOrder(target=f"{receiver.url}/hook", digest_hours=24, language="es"))
    for number in range(3):
        change(subscription, f"https://news.test/{number}")
    notices.write_notices()
    now = services.now_ms()
    assert deliver(now) == 0
    assert deliver(now + 86_400_000) == 3
    assert len(receiver.requests) == 1
    title, text = notices.message(list(Notice.objects.order_by("pk")), "es")
    assert title == "3 cambios en https://news.test/"
    assert text.count("+12 euros") == 3
    assert "importancia 0.50" in text


def test_repeated_failures_are_told_once_and_so_is_the_recovery(receiver):
    subscription = subscribe()
    services.add_channel(SYSTEM, ChannelOrder(target=f"{receiver.url}/hook"))

    def fail(failures: int, since: int) -> None:
        Subscription.objects.update(failures=failures, failing_since_ms=since, last_error="news.test: timeout")
        notices.write_notices()

    fail(2, 1000)
    assert not Notice.objects.exists()
    fail(3, 1000)
    fail(9, 1000)
    assert Notice.objects.count() == 1
    fail(0, 0)
    fail(0, 0)
    assert list(Notice.objects.order_by("pk").values_list("kind", flat=True)) == ["error", "recovered"]
    fail(4, 2000)
    assert Notice.objects.filter(kind="error").count() == 2
    (told,) = [notice for notice in Notice.objects.filter(kind="error") if notice.facts["failures"] == 4]
    assert "news.test: no answer in time" in notices.message([told], "en")[1]
    told.facts["error"] = "news.test: http-503"
    assert "Último motivo: news.test: el servidor no está disponible (503)" in notices.message([told], "es")[1]
    told.facts["error"] = "news.test: tls: certificate has expired"
    assert "news.test: no secure connection to its host (certificate has expired)" in notices.message([told], "en")[1]
    assert deliver() == 3
    assert subscription.pk == json.loads(receiver.requests[0][3])["events"][0]["subscription"]


def test_a_webhook_to_a_private_address_is_refused_without_permission(receiver):
    closed = config.load(allow_private=False, environ={})
    answer = GuardedClient(closed).send(f"{receiver.url}/hook", content=b"{}")
    assert answer.status == 0
    assert "public internet" in answer.reason or "address" in answer.reason
    assert not receiver.requests


def test_apprise_can_send_and_cannot_reach_private_addresses(receiver):
    pytest.importorskip("apprise")
    subscription = subscribe()
    target = f"json://127.0.0.1:{receiver.port}/hook"
    channel, secret = services.add_channel(SYSTEM, ChannelOrder(target=target))
    assert channel.kind == "apprise"
    assert secret == ""
    change(subscription)
    notices.write_notices()
    assert deliver() == 1
    sent = json.loads(receiver.requests[0][3])
    assert sent["title"] == "Changed: Una página"
    assert "+12 euros" in sent["message"]
    with guarded_names(config.load(allow_private=False, environ={})):
        import apprise

        sender = apprise.Apprise()
        sender.add(target)
        assert not sender.notify(body="x")
    assert len(receiver.requests) == 1


def test_a_message_that_was_under_way_when_the_worker_was_killed_is_not_read_twice(receiver, monkeypatch):
    pytest.importorskip("apprise")
    subscription = subscribe()
    services.add_channel(SYSTEM, ChannelOrder(target=f"json://127.0.0.1:{receiver.port}/box"))
    services.add_channel(SYSTEM, ChannelOrder(target=f"{receiver.url}/hook"))
    change(subscription)
    notices.write_notices()
    send = notices._send

    def killed(*given):
        send(*given)
        raise SystemExit  # as a kill does: nothing after it happens

    monkeypatch.setattr(notices, "_send", killed)
    for _ in range(2):
        with pytest.raises(SystemExit):
            deliver()
    monkeypatch.undo()
    assert notices.settle_interrupted() == 1
    deliver()
    assert deliver() == 0
    paths = [request[1] for request in receiver.requests]
    assert paths.count("/box") == 1
    told = {request[2]["x-hemeroteca-delivery"] for request in receiver.requests if request[1] == "/hook"}
    assert len(told) == 1  # repeated, under the same name
    assert "may not have arrived" in Notice.objects.get(channel__kind="apprise").error


def test_a_subscription_whose_scope_cannot_be_read_does_not_silence_the_others(receiver):
    broken, good = subscribe("https://broken.test/"), subscribe()
    Subscription.objects.filter(pk=broken.pk).update(scope={"kind": "moon"})
    services.add_channel(SYSTEM, ChannelOrder(target=f"{receiver.url}/hook"))
    change(good)
    notices.write_notices()
    assert deliver() == 1


@pytest.mark.parametrize(
    "target",
    [
        "dbus://",
        "syslog://",
        "nonsense",
        "foo://bar",
        "rsyslog://127.0.0.1",
        "json://x/a, syslog://",
        "json://x/a,rsyslog://127.0.0.1:514",
        "json://x/a json://y",
        "mqtt://127.0.0.1",
        "snmp://127.0.0.1",
        "file:///x",
    ],
)
def test_a_target_apprise_cannot_use_is_refused_with_a_reason(target):
    pytest.importorskip("apprise")
    with pytest.raises(Refused):
        services.add_channel(SYSTEM, ChannelOrder(target=target))
    assert not Channel.objects.exists()


def test_feeds_hold_any_title_and_name_each_change_once():
    from xml.etree import ElementTree

    subscription = subscribe()
    change(subscription, title="a <b> & \x0b\ufffe")
    change(subscription, "https://news.test/b?x=1&y=2")
    rows = list(Change.objects.order_by("-pk"))
    rows[1].title += "\x00\ud800"
    rows[0].diff += "\n+<script>alert(1)</script>"
    atom = ElementTree.fromstring(change_feeds.atom("x", "https://h.test/feed", rows, "https://h.test"))
    space = {"a": change_feeds.ATOM}
    assert len({entry.findtext("a:id", "", space) for entry in atom.findall("a:entry", space)}) == 2
    assert "+12 euros" in atom.findtext("a:entry/a:content", "", space)
    rss = ElementTree.fromstring(change_feeds.rss("x", "https://h.test/feed", rows, "https://h.test"))
    assert [item.findtext("link") for item in rss.iter("item")][0] == "https://news.test/b?x=1&y=2"
    assert not [item for item in rss.iter("item") if "<" in item.findtext("description")], (
        "which is HTML to feed readers"
    )
    assert change_feeds.opens("scope", change_feeds.feed_key("scope"))
    assert not change_feeds.opens("other", change_feeds.feed_key("scope"))
    assert settings.SECRET_KEY
