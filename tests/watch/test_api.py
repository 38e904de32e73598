"""Watching through the API: roles, orders, lists, feeds."""

import json
from xml.etree import ElementTree

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from hemeroteca import urls
from hemeroteca.accounts import SYSTEM, Role
from hemeroteca.accounts import services as accounts
from hemeroteca.watch import change_feeds, observations
from hemeroteca.watch.models import Channel, Subscription, WatchedPage
from tests.watch.driving import World, subscribe

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]


class Caller:
    def __init__(self, role: Role) -> None:
        user = accounts.add_user(SYSTEM, f"{role.value}-1", role, "correct horse battery")
        token = accounts.create_token(SYSTEM, user, "test").secret
        self.client = Client(headers={"host": "localhost", "authorization": f"Bearer {token}"})

    def __call__(self, method: str, path: str, body: object = None, **options):
        send = getattr(self.client, method)
        if body is not None:
            options |= {"data": json.dumps(body), "content_type": "application/json"}
        return send(f"/api/v1/watch{path}", **options)


@pytest.fixture
def director():
    return Caller(Role.DIRECTOR)


@pytest.fixture
def reader():
    return Caller(Role.READER)


def test_a_subscription_is_made_read_changed_paused_and_ended(director):
    made = director("post", "/subscriptions", {"url": "https://news.test/", "collection": "press", "max_hours": 48})
    assert made.status_code == 201
    number = made.json()["id"]
    assert made.json()["owner"] == "director-1"
    assert director("post", "/subscriptions", {"url": "https://news.test/"}).status_code == 200
    changed = director("patch", f"/subscriptions/{number}", {"mode": "fixed 12", "windows": ["mon-fri"]})
    assert changed.status_code == 200
    assert (changed.json()["mode"], changed.json()["max_hours"]) == ("fixed 12", 48)
    assert changed.json()["windows"] == ["mon,tue,wed,thu,fri"]
    assert director("post", f"/subscriptions/{number}/pause").json()["active"] is False
    assert director("post", f"/subscriptions/{number}/resume").json()["active"] is True
    assert [row["id"] for row in director("get", "/subscriptions").json()["items"]] == [number]
    assert director("get", "/collections").json()[0]["subscriptions"] == 1
    assert director("delete", f"/subscriptions/{number}").status_code == 204
    assert director("get", f"/subscriptions/{number}").status_code == 404


def test_a_reader_may_look_and_not_order(reader):
    assert reader("get", "/subscriptions").status_code == 200
    assert reader("post", "/subscriptions", {"url": "https://news.test/"}).status_code == 403
    assert reader("get", "/channels").status_code == 403
    assert not Subscription.objects.exists()


def test_strangers_get_no_subscriptions():
    assert Client(headers={"host": "localhost"}).get("/api/v1/watch/subscriptions").status_code == 401


@pytest.mark.parametrize(
    "order",
    [{"url": "nonsense://x"}, {"url": "https://a.test/", "mode": "x"}, {"url": "https://a.test/", "threshold": 2}, {}],
)
def test_what_cannot_be_done_is_a_problem_with_a_reason(director, order):
    answer = director("post", "/subscriptions", order)
    assert answer.status_code == 422
    assert answer.json()["detail"]


def test_a_list_is_imported_with_a_report(director):
    file = SimpleUploadedFile("list.csv", b"url,name\nhttps://a.test/,A\nbad address,B\n")
    answer = director.client.post("/api/v1/watch/subscriptions/import", {"file": file})
    assert answer.status_code == 200
    assert (answer.json()["new"], answer.json()["refused"]) == (1, 1)
    assert answer.json()["lines"][1]["number"] == 3


def test_pages_say_why_they_are_visited_in_the_readers_language(director, tmp_path):
    director("post", "/subscriptions", {"url": "https://news.test/", "mode": "fixed 12", "scope": "host"})
    world = World(tmp_path)
    subscription = Subscription.objects.get()
    world.add(subscription, "https://news.test/a", [5.0])
    world.run(30, step=1)
    (page,) = director("get", "/pages").json()["items"]
    assert page["visits"] >= 2
    assert "the policy fixed" in page["why"]
    spanish = director("get", "/page?url=https://news.test/a", headers={"accept-language": "es"}).json()
    assert "la política fixed" in spanish["why"]
    assert director("get", "/groups").json()["group"]
    assert director("get", "/pages?group=high").json()["items"] or WatchedPage.objects.get().group != "high"
    (change,) = director("get", "/changes").json()["items"]
    assert change["url"] == "https://news.test/a"
    assert director("get", "/metrics?by=collection").json()[0]["visits"] >= 2
    sheet = director("get", "/metrics?by=site&format=csv")
    assert sheet.headers["Content-Type"].startswith("text/csv")
    assert b"news.test" in sheet.content


def test_feeds_are_open_with_their_key_even_when_search_is_closed(director, monkeypatch):
    import dataclasses

    from django.conf import settings

    made = director("post", "/subscriptions", {"url": "https://news.test/"}).json()
    monkeypatch.setattr(settings, "CONFIG", dataclasses.replace(settings.CONFIG, open_search=False))
    stranger = Client(headers={"host": "localhost"})
    assert stranger.get(made["feed"]).status_code == 200
    assert stranger.get(made["feed"]).headers["Content-Type"].startswith("application/atom+xml")
    assert stranger.get(made["feed"] + "x").status_code == 401
    assert stranger.get("/api/v1/watch/feed").status_code == 401
    assert stranger.get(f"{made['feed']}&format=rss").content.startswith(b"<?xml")


def test_a_channel_never_shows_its_target_and_its_secret_only_once(director):
    made = director("post", "/channels", {"target": "https://hooks.test/secret-path"})
    assert made.status_code == 201
    assert made.json()["secret"]
    listed = director("get", "/channels")
    assert "secret" not in listed.content.decode()
    number = made.json()["id"]
    assert director("post", f"/channels/{number}/pause").json()["active"] is False
    assert director("delete", f"/channels/{number}").status_code == 204
    assert not Channel.objects.exists()


def test_every_field_of_the_description_is_described():
    schema = Client(headers={"host": "localhost"}).get("/api/v1/openapi.json").json()
    for path, operations in schema["paths"].items():
        if "/watch" not in path and "/signals" not in path:
            continue
        for operation in operations.values():
            assert operation.get("summary"), path
            for parameter in operation.get("parameters", []):
                assert parameter.get("description") or parameter["schema"].get("description"), (path, parameter)


def test_subscriptions_can_be_taken_along(director, reader):
    director("post", "/subscriptions", {"url": "https://news.test/", "collection": "press"})
    table = reader("get", "/subscriptions/export")
    assert table.headers["Content-Type"].startswith("text/csv")
    assert "https://news.test/,https://news.test/,host," in table.content.decode()
    outline = reader("get", "/subscriptions/export?format=opml").content.decode()
    assert 'htmlUrl="https://news.test/"' in outline


def test_a_feed_keeps_its_id_and_is_sent_only_when_it_changed(director):
    director("post", "/subscriptions", {"url": "https://news.test/", "collection": "press"})
    (collection,) = director("get", "/collections").json()
    address = collection["feed"]
    client = Client(headers={"host": "localhost"})
    first = client.get(address)
    assert first.status_code == 200
    feed = ElementTree.fromstring(first.content)
    assert "key=" not in (feed.findtext(f"{{{change_feeds.ATOM}}}id") or "key=")
    again = client.get(address, headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    head = client.head(address)
    assert (head.status_code, head.headers["ETag"]) == (200, first.headers["ETag"])


def test_reports_come_as_rows_csv_and_a_chart(reader, tmp_path):
    # Visits on three days an hour apart from nothing else: three rounds of one page.
    sub = subscribe(mode="fixed 24")
    world = World(tmp_path)
    world.add(sub, "https://news.test/a", [30.0])
    world.run(60)
    found = reader("get", f"/reports/rounds?subscription={sub.pk}").json()
    assert found["columns"][:4] == ["start", "end", "subscription", "pages"]
    assert [row[3] for row in found["rows"]] == [1] * world.visits["https://news.test/a"]
    assert reader("get", "/reports/admission?format=csv").content.startswith(b"subscription,name,admitted,lost")
    assert reader("get", "/reports/intervals?format=chart").json()["mark"] == "bar"
    assert reader("get", "/reports/nothing").status_code in (404, 422)
    shown = reader("get", f"/subscriptions/{sub.pk}").json()
    assert (shown["group"], shown["daily_chance"], shown["in_burst"]) == ("", None, False)  # nobody described it yet
    observations.describe([urls.key("https://news.test/a")], int(world.now * 1000))
    shown = reader("get", f"/subscriptions/{sub.pk}").json()
    assert shown["group"] in ("high", "medium", "low")
    assert 0 < shown["daily_chance"] < 1
    assert "daily_chance" in reader("get", "/pages").json()["items"][0]
