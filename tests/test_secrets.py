"""What a thief of the database, a reader of the log or another port of a site must not get."""

import logging

import pytest
from django.db import connection
from django.test import Client

from hemeroteca.accounts import SYSTEM
from hemeroteca.console.web import _without_secrets
from hemeroteca.fetch import guard
from hemeroteca.fleet import queries as fleet
from hemeroteca.frontier import services as sites
from hemeroteca.frontier.models import Host
from hemeroteca.instance import Instance
from hemeroteca.watch import services as watch
from hemeroteca.watch import subscription_files
from hemeroteca.watch.fields import ChannelOrder
from hemeroteca.watch.models import Channel
from tests.console.conftest import instance, world  # noqa: F401

pytestmark = [pytest.mark.database, pytest.mark.django_db]


def rows(table):
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM {table}")
        return str(cursor.fetchall())


def test_passwords_and_channels_are_sealed_in_the_database():
    sites.set_site(SYSTEM, "a.test", {"username": "ana", "password": "geheim-1", "proxy": "http://u:geheim-2@p.test:1"})
    sites.set_site(SYSTEM, "a.test", {"delay": 3})
    channel, secret = watch.add_channel(SYSTEM, ChannelOrder(target="https://hook.test/geheim-3"))
    assert not [word for word in ("geheim-1", "geheim-2") if word in rows("host")]
    assert not [word for word in ("geheim-3", secret) if word in rows("channel")]
    found = sites.settings_of("a.test")
    assert (found.password, found.proxy, found.delay) == ("geheim-1", "http://u:geheim-2@p.test:1", 3)
    assert (Channel.objects.get().target, Channel.objects.get().secret) == (channel.target, secret)


def test_another_key_opens_nothing(settings):
    sites.set_site(SYSTEM, "a.test", {"password": "geheim-1", "username": "ana"})
    settings.SECRET_KEY = "another"
    assert sites.settings_of("a.test").password == ""


@pytest.mark.parametrize(
    ("origins", "url", "trusted"),
    [
        ("", "https://a.test/x", True),
        ("", "http://a.test/x", False),
        ("", "https://a.test:8443/", False),
        ("", "http://a.test:6379/", False),
        ("https://a.test:8443", "https://a.test:8443/", True),
        ("https://a.test:8443", "https://a.test/", False),
        ("https://a.test:8443", "http://a.test:8443/", False),
    ],
)
def test_a_login_and_leave_for_private_addresses_belong_to_an_origin(origins, url, trusted):
    given = {"username": "ana", "password": "geheim", "allow_private": True, "insecure": True}
    sites.set_site(SYSTEM, "a.test", given | ({"origins": origins} if origins else {}))
    found = sites.settings_of("a.test").at(url)
    assert (found.username, found.password) == (("ana", "geheim") if trusted else ("", ""))
    assert found.allow_private is found.insecure is trusted


def test_settings_without_a_login_hold_for_http_at_its_usual_port_too():
    sites.set_site(SYSTEM, "a.test", {"allow_private": True})
    found = [sites.settings_of("a.test").at(f"http://a.test{port}/").allow_private for port in ("", ":6379")]
    assert found == [True, False]
    assert Host.objects.get().settings == {"allow_private": True}
    assert guard.Guard().check("127.0.0.1")


def test_the_log_does_not_tell_the_address_of_a_webhook():
    for path in ("/api/v1/signals/geheim123", "/api/v1/signals/websub/7/geheim123"):
        record = logging.LogRecord("django.request", 30, "", 0, "Not Found: %s", (path,), None)
        assert _without_secrets(record)
        assert "geheim" not in record.getMessage()


def test_a_name_is_no_formula_in_what_the_fleet_hands_out():
    told = fleet.as_csv([{"account": "=1+1", "amount": -5}])
    assert told.splitlines() == ["account,amount", "'=1+1,-5"]


def test_a_name_is_no_formula_in_an_export_and_comes_back_as_it_was():
    watch.subscribe(SYSTEM, watch.Order(url="https://a.test/", name='=HYPERLINK("https://evil.test")'))
    table = subscription_files.as_csv(watch.Subscription.objects.all())
    assert "'=HYPERLINK" in table
    assert subscription_files.read_csv(table.encode())[0][1]["name"].startswith("=HYPERLINK")


def test_a_data_folder_that_everybody_may_write_is_refused(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data").chmod(0o777)
    with pytest.raises(PermissionError, match="chmod"):
        Instance(tmp_path / "data").create()


@pytest.mark.parametrize(
    "kind", ["text/javascript", "text/css", "image/svg+xml", "application/xhtml+xml", "application/wasm"]
)
def test_a_memento_is_no_script_of_the_console(world, kind):  # noqa: F811
    page = world.page("https://evil.example/lib")
    world.capture(page, b"alert(1)", 1_763_200_000_000, kind)
    answer = Client().get("/memento/20251115094640/https://evil.example/lib")
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/octet-stream")
    assert answer.headers["X-Archive-Orig-Content-Type"] == kind


def test_archived_cookies_are_not_shown(world):  # noqa: F811
    from tests.replay.making import HOSTILE_HEADERS, put

    page = put(world, "https://evil.example/cookies", b"<p>x", more=HOSTILE_HEADERS)
    from hemeroteca.archive.models import IndexedCapture

    answer = Client().get(f"/v/{IndexedCapture.objects.get(url=page.url).record_id}?view=facts").content.decode()
    assert "Set-Cookie: (not shown)" in answer
    assert "hemeroteca_replay=1.x" not in answer
