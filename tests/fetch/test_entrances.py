"""Addresses that are not public, through every entrance that fetches: nothing is ever connected.

A room that fetches in a way of its own belongs into the tables. Each takes an address and says whether it was refused;
`test_every_way_to_connect_is_in_the_table` finds one that was forgotten. Chromium's are in test_browser.py.
"""

import re
import socket
import threading
import time
from contextlib import suppress
from pathlib import Path
from tempfile import mkdtemp
from types import SimpleNamespace

import pytest

import hemeroteca
from hemeroteca import config
from hemeroteca.cli import common
from hemeroteca.cli import geo as cli_geo
from hemeroteca.errors import Refused
from hemeroteca.fetch.client import GuardedClient, guarded_names
from hemeroteca.fetch.guard import Guard
from hemeroteca.fetch.request import FetchSettings
from hemeroteca.fleet.curl_worker import CurlFetching
from hemeroteca.fleet.device import fetching
from hemeroteca.fleet.device.fetching import RequestOrder
from hemeroteca.geo import health
from hemeroteca.geo.harvest import Errands
from hemeroteca.watch import observations
from hemeroteca.wiki.client import WikiClient
from tests.fetch.conftest import keep, ok
from tests.fetch.test_guard import REFUSED
from tests.waiting import PATIENCE

HOSTS = [f"[{ip}]" if ":" in ip else ip for ip in REFUSED]
HOSTS += ["localhost", "a.localhost", "0x7f.1", "2130706433", "0177.0.0.1", "127.1", "１２７.0.0.1"]
FEW = ["127.0.0.1", "[::1]", "169.254.169.254", "[::ffff:127.0.0.1]", "localhost", "2130706433"]
CLOSED = config.load(allow_private=False, delay=0.0, environ={})


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
    return not fetching.fetch(order, Guard(), True, socket.getaddrinfo).status


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
    return cli_geo._describe(url, None) is None


def by_health(url):
    service = SimpleNamespace(url=url, endpoint=url, type="wms", version="1.3.0", pk=1)
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


class _Patience:
    """A budget that makes nobody wait."""

    def spend(self):
        pass

    def hold(self, seconds, reason):
        pass

    def release(self):
        pass


ROOMS = [
    by_certificate,
    by_wiki,
    by_event_stream,
    by_harvest,
    by_geo_inspect,
    by_health,
    by_learned_cdx,
    by_fleet_worker,
]


@pytest.mark.parametrize("entrance", ROOMS)
def test_no_room_leads_to_an_address_that_is_not_public(serve, settings, monkeypatch, entrance):
    settings.CONFIG = CLOSED
    monkeypatch.setattr(common, "settings", lambda data: CLOSED)
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    server = serve(keep(ok()))
    passed = [host for host in FEW if not entrance(f"http://{host}:{server.port}/x")]
    assert passed == []
    assert server.connections == 0


CONNECTING = re.compile(
    r"\burllib\.request|\bhttp\.client\.HTTPS?Conn|^import (requests|httpx|aiohttp|smtplib|ftplib|urllib3)|"
    r"^from (requests|httpx|aiohttp|smtplib|urllib3)|create_connection\(|\.connect\(\(|pycurl\.Curl\(",
    re.M,
)
# Who connects without the fetchers, and why that is right.
BY_THEMSELVES = {
    "fetch": "the fetchers, and the client around one",
    "fleet/device/fetching.py": "the device's own fetcher: in the table above",
    "fleet/device/link.py": "to the coordinator that its owner named",
    "geo/health.py": "certificates, under `guarded_names`: in the table above",
    "replay/server.py": "to our own index on this machine",
}


def test_every_way_to_connect_is_in_the_table():
    """What opens a connection by itself is listed; all else goes through the fetchers, which the table tests."""
    root = Path(hemeroteca.__file__).parent
    found = {str(path.relative_to(root)) for path in root.rglob("*.py") if CONNECTING.search(path.read_text("utf-8"))}
    unknown = {path for path in found if not path.startswith("fetch/") and path not in BY_THEMSELVES}
    assert unknown == set()
    assert {"fleet/device/fetching.py", "geo/health.py"} <= found, "the search finds what it should"
