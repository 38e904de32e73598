"""Addresses that are not public, through every entrance that fetches: nothing is ever connected.

Each entrance takes an address and says whether it was refused. `test_every_way_to_connect_is_known` finds a way that
was forgotten, `test_every_room_that_fetches_has_its_entrances_here` a room. Chromium's are in test_browser.py.
"""

import re
import socket
import threading
import time
from contextlib import suppress
from pathlib import Path
from tempfile import mkdtemp
from types import SimpleNamespace
from unittest import mock
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
from django.conf import settings as django_settings

import hemeroteca
from hemeroteca import config, urls
from hemeroteca.accounts import SYSTEM
from hemeroteca.accounts.models import User
from hemeroteca.cli import common
from hemeroteca.cli import geo as cli_geo
from hemeroteca.engine import loop
from hemeroteca.engine.loop import Engine
from hemeroteca.engine.rebuild import repair
from hemeroteca.errors import Refused
from hemeroteca.fetch.client import GuardedClient, guarded_names
from hemeroteca.fetch.guard import Guard
from hemeroteca.fetch.request import FetchSettings
from hemeroteca.fleet import fetches, load_tests, opt_out
from hemeroteca.fleet.curl_worker import CurlFetching
from hemeroteca.fleet.device import http_requests
from hemeroteca.fleet.device.http_requests import RequestOrder
from hemeroteca.fleet.device.load_generator import LoadGenerator
from hemeroteca.fleet.models import Client as FleetClient
from hemeroteca.fleet.models import FetchJob
from hemeroteca.frontier import services as frontier
from hemeroteca.frontier.models import Crawl
from hemeroteca.geo import health
from hemeroteca.geo.harvest import Errands
from hemeroteca.ingest.rules import CrawlOptions
from hemeroteca.lake import sandbox
from hemeroteca.lake.sandbox import QueryRefused
from hemeroteca.watch import notices, observations, signals
from hemeroteca.watch import services as watched
from hemeroteca.watch.fields import Order
from hemeroteca.watch.models import Channel, SignalSource
from hemeroteca.wiki.mediawiki import WikiClient
from tests.fetch.conftest import keep, ok
from tests.fetch.test_guard import REFUSED
from tests.waiting import PATIENCE

HOSTS = [f"[{ip}]" if ":" in ip else ip for ip in REFUSED]
HOSTS += ["localhost", "a.localhost", "0x7f.1", "2130706433", "0177.0.0.1", "127.1", "１２７.0.0.1"]
FEW = ["127.0.0.1", "[::1]", "169.254.169.254", "[::ffff:127.0.0.1]", "localhost", "2130706433"]
CLOSED = config.load(allow_private=False, delay=0.0, public_url="https://archive.example", environ={})


def refused(ask, *arguments, **options):
    """Whether a call raises what people are told when something cannot be had."""
    try:
        ask(*arguments, **options)
    except Refused:
        return True
    return False


# below the line, with every address of the table


def by_fetcher(loop, url):
    """Crawls, robots.txt, saved pages, notices of sitemaps and feeds: all visits of the engine."""
    return not loop.get(url).status


def by_client(loop, url):
    return not GuardedClient(CLOSED).send(url, content=b"{}").status


def by_redirect(loop, url):
    """The client follows none to such an address either."""
    return not GuardedClient(CLOSED).send(url, redirects=5).status


def by_apprise(loop, url):
    apprise = pytest.importorskip("apprise")
    with guarded_names(CLOSED):
        service = apprise.Apprise.instantiate(url.replace("http:", "json:"), suppress_exceptions=True)
        return service is None or not service.notify(body="x")


def by_device(loop, url):
    """A volunteer's device, with the program that needs nothing but Python."""
    order = RequestOrder(url=url, agent="x", timeout=10.0)
    return not http_requests.fetch(order, Guard(), True, socket.getaddrinfo).status


@pytest.mark.parametrize("entrance", [by_fetcher, by_client, by_redirect, by_apprise, by_device])
def test_no_way_leads_to_an_address_that_is_not_public(new_loop, serve, entrance):
    server = serve(keep(ok()))
    loop = new_loop(allow_private=False)
    passed = [host for host in HOSTS if not entrance(loop, f"http://{host}:{server.port}/x")]
    assert passed == []
    assert server.connections == 0


# the rooms, with a few: they stand on the ways above


def by_wiki(url):
    with WikiClient(CLOSED, _Patience()) as client:
        return refused(client.ask, url, {"action": "query"})


def by_event_stream(url):
    with WikiClient(CLOSED, _Patience()) as client:
        return not client.stream(url, 5.0, (), 1000).status


def by_harvest(url):
    return refused(Errands(CLOSED).get, url)


def by_geo_inspect(url):
    return cli_geo._describe(url) is None


def by_health(url):
    service = SimpleNamespace(url=url, endpoint=url, type="wms", version="1.3.0", pk=1, crs=[])
    layer = SimpleNamespace(name="x", bbox=None)
    client = GuardedClient(CLOSED)
    replies = []
    watched = SimpleNamespace(
        send=lambda *given, **options: replies.append(client.send(*given, **options)) or replies[-1]
    )
    for look in (
        lambda: health._capabilities(service, watched, CLOSED),
        lambda: health._map(service, layer, watched),
        lambda: health._feature(service, layer, watched),
    ):
        with suppress(ValueError):  # a row cannot be made of these
            look()
    return len(replies) == 3 and not any(reply.status for reply in replies)


def by_metadata_of_a_layer(url):
    service = SimpleNamespace(url="", endpoint="", type="wms", version="1.3.0", pk=1, inspire={"metadata_url": url})
    client = Recording(CLOSED)
    with suppress(ValueError):
        health._links(service, [SimpleNamespace(name="x", metadata=[url + "2"])], client)
    return client.refused(1)


def by_certificate(url):
    return health.certificate_expiry(url.replace("http:", "https:"), CLOSED) == 0


def by_learned_cdx(url):
    return refused(lambda: list(observations.read_cdx(url)))


def by_fleet_worker(url):
    answers, done = [], threading.Event()
    worker = CurlFetching(FetchSettings.from_config(CLOSED, Path(mkdtemp())), any_port=True)
    worker.submit(RequestOrder(url=url, agent="x", timeout=10.0), lambda answer: (answers.append(answer), done.set()))
    done.wait(PATIENCE)
    worker.close()
    return not answers[0].status


def by_load_test(url):
    """A device asks the target itself for the proof that its owner wants the test."""
    parts = urlsplit(url)
    load = LoadGenerator(None, Guard(), True, "x", lambda: False)
    plan = {"url": url, "address": (parts.hostname or "").strip("[]"), "proof": "hemeroteca-load-" + "0" * 32}
    return bool(load._refusal(plan))


def by_proof_of_a_load_test(url):
    """The coordinator looks for the proof as well."""
    parts = urlsplit(url)
    test = SimpleNamespace(url=url, host=parts.hostname, pk=1, token="x", secret="x")
    return bool(load_tests._read_proof(test, (parts.hostname or "").strip("[]"), Guard(), CLOSED))


def by_opt_out(url):
    """Whoever says that a host is theirs makes us look for the proof there."""
    place = urlsplit(url)
    with mock.patch.object(opt_out, "PATH", f":{place.port}{opt_out.PATH}"):  # no other port is ever asked
        return "was not found" in opt_out.close(place.netloc.removesuffix(f":{place.port}"), CLOSED)


def by_webhook_of_a_client(url):
    owner, _ = User.objects.get_or_create(name="x")
    client = FleetClient.objects.first() or FleetClient.objects.create(**filled_in(FleetClient, owner=owner))
    job = FetchJob.objects.create(**filled_in(FetchJob, client=client, webhook=url))
    fetches.tell(job, CLOSED)
    job.refresh_from_db()
    return job.webhook_state not in ("", "told")


def by_webhook_of_a_channel(url):
    return undelivered(Channel(kind=Channel.Kind.WEBHOOK, name="x", target=url, secret="s"))


def by_apprise_channel(url):
    return undelivered(Channel(kind=Channel.Kind.APPRISE, name="x", target=url.replace("http:", "json:")))


def by_mail(url):
    place = urlsplit(url)
    target = f"mailto://a:b@example.org:{place.port}/?smtp={place.hostname}&from=a@example.org&to=b@example.org"
    return undelivered(Channel(kind=Channel.Kind.APPRISE, name="x", target=target))


def by_key_of_indexnow(url):
    client = Recording(CLOSED)
    signals.check_key(source(SignalSource.Kind.INDEXNOW, url=url), client)
    return client.refused(1)


def by_hub(url):
    client, found = Recording(CLOSED), source(SignalSource.Kind.WEBSUB, url="https://example.org/feed", hub=url)
    signals.subscribe(found, client)
    found.refresh_from_db()
    found.note = ""
    signals.unsubscribe(found, client)
    return client.refused(2)


class Recording(GuardedClient):
    """What it was answered."""

    def __init__(self, config):
        super().__init__(config)
        self.replies = []

    def send(self, *given, **options):
        self.replies.append(super().send(*given, **options))
        return self.replies[-1]

    def refused(self, at_least):
        return len(self.replies) >= at_least and not any(reply.status for reply in self.replies)


def undelivered(channel):
    try:
        notices.test_channel(channel, CLOSED, GuardedClient(CLOSED))
    except notices.DeliveryError:
        return True
    return False


def source(kind, **fields):
    return SignalSource.objects.create(kind=kind, site="example.org", secret="key", created_ms=1, **fields)


def filled_in(model, **fields):
    """A row with something in every field that must have it."""
    for field in model._meta.fields:
        if field.name in fields or field.has_default() or field.primary_key or field.null:
            continue
        kind = field.get_internal_type()
        fields[field.name] = uuid4() if kind == "UUIDField" else 1 if "Integer" in kind or kind == "FloatField" else "x"
    return fields


class _Patience:
    """A budget that makes nobody wait."""

    def spend(self):
        pass

    def hold(self, seconds, reason):
        pass

    def release(self):
        pass


ROOMS = {
    "cli/geo.py": [by_geo_inspect],
    "fleet/curl_worker.py": [by_fleet_worker],
    "fleet/device/load_generator.py": [by_load_test],
    "fleet/fetches.py": [by_webhook_of_a_client],
    "fleet/load_tests.py": [by_proof_of_a_load_test],
    "fleet/opt_out.py": [by_opt_out],
    "geo/harvest.py": [by_harvest],
    "geo/health.py": [by_health, by_metadata_of_a_layer, by_certificate],
    "watch/notices.py": [by_webhook_of_a_channel, by_apprise_channel, by_mail],
    "watch/observations.py": [by_learned_cdx],
    "watch/signals.py": [by_key_of_indexnow, by_hub],
    "wiki/mediawiki.py": [by_wiki, by_event_stream],
}
ELSEWHERE = {
    "cli/watch/channel.py": "hands its client to watch/notices.py",
    "console/watch.py": "hands its client to watch/notices.py",
    "engine/loop.py": "test_no_page_leads_an_engine_to_an_address_that_is_not_public, below",
    "engine/rendering.py": "Chromium: test_browser.py",
    "fleet/device/http_requests.py": "by_device, above",
    "geo/job_kinds.py": "hands its client to geo/health.py",
    "watch/chores.py": "hands its client to watch/notices.py and watch/signals.py",
}


@pytest.mark.django_db
@pytest.mark.parametrize("entrance", [entrance for room in ROOMS.values() for entrance in room])
def test_no_room_leads_to_an_address_that_is_not_public(serve, settings, monkeypatch, entrance):
    settings.CONFIG = CLOSED
    monkeypatch.setattr(common, "settings", lambda: CLOSED)
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    server = serve(keep(ok()))
    passed = [host for host in FEW if not entrance(f"http://{host}:{server.port}/x")]
    assert passed == []
    assert server.connections == 0


@pytest.mark.django_db(transaction=True)
def test_no_page_leads_an_engine_to_an_address_that_is_not_public(serve, monkeypatch):
    """Crawls, watched and saved pages; and what a site names that is open: sitemaps, feeds, redirects, requisites."""
    inner = serve(keep(ok()))
    away = [f"http://{host}:{inner.port}" for host in FEW]

    def answer(connection, _head, path):
        asked.add(path)
        if path == "/away":
            moved = f"HTTP/1.1 302 Found\r\nLocation: {away[0]}/x\r\nContent-Length: 0\r\n\r\n"
            connection.sendall(moved.encode())
        elif path == "/robots.txt":
            connection.sendall(ok("".join(f"Sitemap: {place}/map.xml\n" for place in away).encode()))
        elif path == "/sitemap.xml":
            places = "".join(f"<url><loc>{place}/listed</loc></url>" for place in away)
            connection.sendall(ok(f"<urlset>{places}</urlset>".encode(), b"Content-Type: application/xml"))
        else:
            parts = "".join(PARTS.replace("AWAY", place) for place in away)
            connection.sendall(ok(f"<a href=/away>x</a>{parts}".encode(), b"Content-Type: text/html"))
        return True

    asked = set()
    outer = serve(answer, address="127.0.0.2")
    opened = f"http://127.0.0.2:{outer.port}"
    frontier.set_site(SYSTEM, "127.0.0.2", {"origins": [opened], "allow_private": True})
    options = CrawlOptions(scope=urls.Scope(kind="web", depth=1))
    seeds = [f"{opened}/", f"{opened}/away", *(f"{place}/seed" for place in away)]
    crawls = [frontier.submit_crawl(SYSTEM, seeds, options)[0]]
    for place in (opened, *away):
        with suppress(Refused):
            crawls.append(frontier.save_page(SYSTEM, f"{place}/saved"))
        with suppress(Refused):
            watched.subscribe(SYSTEM, Order(url=f"{place}/watched"))

    def look(engine):
        running = Crawl.objects.filter(state=Crawl.State.RUNNING, pk__in=[crawl.pk for crawl in crawls])
        if not running.exists() and "/watched" in asked:
            engine.stop("all is done")

    monkeypatch.setattr(loop, "MAX_PAUSE", 0.02)
    given = config.load(delay=0, ingest_processes=1, commit_seconds=0.05, environ={})
    django_settings.INSTANCE.create()
    repair(given, django_settings.INSTANCE)
    Engine(given, django_settings.INSTANCE, tick=look).run()
    assert asked >= {"/", "/away", "/saved", "/watched", "/robots.txt"}
    assert inner.connections == 0


PARTS = """<img src=AWAY/i><script src=AWAY/s></script><link rel=stylesheet href=AWAY/c><iframe src=AWAY/f></iframe>
<a href=AWAY/a>a</a><link rel=alternate type=application/rss+xml href=AWAY/feed><link rel=hub href=AWAY/hub>
<meta http-equiv=refresh content='9;url=AWAY/r'>"""


CONNECTING = re.compile(
    r"\burllib\.request|\bhttp\.client\.HTTPS?Conn|^import (requests|httpx|aiohttp|smtplib|ftplib|urllib3)|"
    r"^from (requests|httpx|aiohttp|smtplib|urllib3)|create_connection\(|\.connect\(\(|pycurl\.Curl\(|"
    # libraries that connect when they are told to
    r"^\s*(import|from) (obstore|transformers|pyspark|pyoxigraph)\b|\bduckdb\.connect\(|\bEmailMessage\(",
    re.M,
)
# Who connects without the fetchers, and why that is right.
BY_THEMSELVES = {
    "accounts/adapter.py": "mail by the server that the setting `mail_server` names",
    "fetch": "the fetchers, and the client around one",
    "fleet/device/http_requests.py": "the device's own fetcher: in the table above",
    "fleet/device/coordinator_link.py": "to the coordinator that its owner named",
    "focus/thesaurus.py": "reads RDF from bytes; asks no query that could name a server",
    "geo/health.py": "certificates, under `guarded_names`: in the table above",
    "lake/sandbox_process.py": "SQL of members: `test_sql_of_members_reaches_no_address`, tests/lake/test_sandbox.py",
    "lake/query_engine.py": "expressions that we make, over files of the lake; no text of strangers becomes SQL there",
    "replay/server.py": "to our own index on this machine",
    "search/semantic.py": "a model in the packages that are installed",
    "warc/store.py": "to the stores that settings name: `test_only_settings_name_stores`",
}


def test_every_way_to_connect_is_known():
    """What opens a connection by itself is listed; all else goes through the fetchers, which the table tests."""
    unknown = {path for path in rooms_with(CONNECTING) if not path.startswith("fetch/") and path not in BY_THEMSELVES}
    assert unknown == set()
    assert {"fleet/device/http_requests.py", "geo/health.py"} <= rooms_with(CONNECTING), (
        "the search finds what it should"
    )


def test_only_settings_name_stores():
    """`archive_store` and `lake_store` are trusted (SECURITY.md): no page, no call and no row names another place."""
    assert rooms_with(re.compile(r"\bopen_store\(|\bRemoteStore\(")) == {
        "warc/store.py",  # with the setting archive_store
        "archive/offload.py",  # the same
        "lake/files.py",  # what its maker gives it: the setting lake_store
    }
    assert rooms_with(re.compile(r"(?<!class )\bLakeFiles\(")) == {"wiki/commits.py"}  # with lake_store
    for room in ("api", "console"):
        assert not {path for path in rooms_with(re.compile(r"_store\b")) if path.startswith(f"{room}/")}


def test_sql_of_members_reaches_no_address(serve):
    server = serve(keep(ok()))
    for text in ("SELECT * FROM '{}'", "SELECT * FROM read_csv('{}')", "COPY (SELECT 1) TO '{}'"):
        with pytest.raises(QueryRefused):
            sandbox.ask(text.format(f"http://127.0.0.1:{server.port}/x.csv"), (), (), ())
    assert server.connections == 0


FETCHING = re.compile(
    r"\bGuardedClient\(|\bguarded_names\(|\bFetcher\(|\bBrowserFetcher\(|\bCurlFetching\(|\bclient\.send\(|"
    r"= fetch\(|\(fetch\("
)


def test_every_room_that_fetches_has_its_entrances_here():
    found = {path for path in rooms_with(FETCHING) if not path.startswith("fetch/")}
    assert found == ROOMS.keys() | ELSEWHERE.keys()


def rooms_with(pattern):
    root = Path(hemeroteca.__file__).parent
    return {str(path.relative_to(root)) for path in root.rglob("*.py") if pattern.search(path.read_text("utf-8"))}
