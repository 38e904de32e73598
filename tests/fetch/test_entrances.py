"""Addresses that are not public, through every entrance that fetches: nothing is ever connected.

A room that fetches in a way of its own belongs into `ENTRANCES`.
"""

import pytest

from hemeroteca import config
from hemeroteca.fetch.client import GuardedClient, guarded_names
from tests.fetch.conftest import keep, ok
from tests.fetch.test_guard import REFUSED

HOSTS = [f"[{ip}]" if ":" in ip else ip for ip in REFUSED]
HOSTS += ["localhost", "a.localhost", "0x7f.1", "2130706433", "0177.0.0.1", "127.1", "１２７.0.0.1"]
CLOSED = config.load(allow_private=False, environ={})


def by_fetcher(loop, url):
    return not loop.get(url).status


def by_client(loop, url):
    """Webhooks, hubs, keys of IndexNow."""
    return not GuardedClient(CLOSED).send(url, content=b"{}").status


def by_apprise(loop, url):
    apprise = pytest.importorskip("apprise")
    with guarded_names(CLOSED):
        service = apprise.Apprise.instantiate(url.replace("http:", "json:"), suppress_exceptions=True)
        return service is None or not service.notify(body="x")


ENTRANCES = [by_fetcher, by_client, by_apprise]


@pytest.mark.parametrize("entrance", ENTRANCES)
def test_no_entrance_leads_to_an_address_that_is_not_public(new_loop, serve, entrance):
    server = serve(keep(ok()))
    loop = new_loop(allow_private=False)
    passed = [host for host in HOSTS if not entrance(loop, f"http://{host}:{server.port}/x")]
    assert passed == []
    assert server.connections == 0
