"""Answers on a connection that a proxy keeps: nothing of one reader's may be left over for the next.

A body after the answer to HEAD, 204 or 304 would be read as the answer to whoever comes next on that connection.
"""

import re
import socket
import urllib.request

import pytest

from hemeroteca.api.protocols import PROTOCOLS
from hemeroteca.console.routes import PAGES
from tests.accounts.test_every_route import filled
from tests.console.world import BREAD
from tests.fetch.conftest import nginx  # noqa: F401
from tests.replay.test_server import STAMP
from tests.waiting import PATIENCE

pytestmark = pytest.mark.slow

SMUGGLED = "https://evil.example/answer"  # its body is an HTTP response (tests.replay.making)


def after_head(port, path, host="", method="HEAD"):
    """What comes after the head of an answer on a connection that ends with it."""
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as wire:
        name = host or f"127.0.0.1:{port}"
        wire.sendall(f"{method} {path} HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n".encode())
        data = b"".join(iter(lambda: wire.recv(65536), b""))
    head, _, rest = data.partition(b"\r\n\r\n")
    return head, rest


def test_no_page_of_the_console_answers_head_with_a_body(served):
    paths = [f"/{filled(address)}" for address in (*(page.address for page in PAGES), *(row[0] for row in PROTOCOLS))]
    paths += [f"/page?url={BREAD}", f"/compare?url={BREAD}", f"/cdx?url={BREAD}", f"/memento/{STAMP}/{SMUGGLED}"]
    paths += ["/api/v1/search?q=pan", "/api/v1/docs", "/static/console/logo.svg", "/none", f"/timemap/link/{BREAD}"]
    for path in paths:
        head, rest = after_head(served.port, path)
        assert (head[:9], rest) == (b"HTTP/1.1 ", b""), path
    assert after_head(served.port, "/", method="GET")[1], "a GET does have a body"


def test_no_page_of_replay_answers_head_with_a_body(served):
    paths = [f"/{STAMP}{kind}/{SMUGGLED}" for kind in ("", "mp_", "id_", "js_")]
    paths += ["/", "/none", "/robots.txt", "/_/frame.js", f"/{STAMP}mp_/https://nobody.example/", "/_/enter"]
    paths += [f"/{STAMP}mp_/https://evil.example/{status}" for status in (101, 204, 304)]
    for path in paths:
        host = f"replay.localhost:{served.replay_port}"
        head, rest = after_head(served.replay_port, path, host)
        assert (head[:9], rest) == (b"HTTP/1.1 ", b""), path
        assert not re.match(rb"HTTP/1.1 (1|500)", head), path


@pytest.mark.parametrize("status", [101, 204, 304])
def test_archived_statuses_do_not_confuse_a_proxy(served, status):
    host = f"replay.localhost:{served.replay_port}"
    head, rest = after_head(served.replay_port, f"/{STAMP}mp_/https://evil.example/{status}", host, "GET")
    assert not head.startswith((b"HTTP/1.1 1", b"HTTP/1.1 500"))
    assert status == 101 or rest == b""


@pytest.mark.parametrize("behind", ["console", "replay"])
def test_nothing_is_smuggled_through_nginx_with_keepalive(nginx, served, behind):  # noqa: F811
    """The attack as it was: HEAD of a page whose body is an answer, then somebody else's request."""
    port, host = (served.port, f"127.0.0.1:{served.port}")
    path, other = f"/memento/{STAMP}/{SMUGGLED}", "/robots.txt"
    if behind == "replay":
        port, host = served.replay_port, f"replay.localhost:{served.replay_port}"
        path = f"/{STAMP}id_/{SMUGGLED}"
    front = nginx(
        "listen 127.0.0.1:{port}; location / { proxy_pass http://behind; proxy_http_version 1.1; "
        f'proxy_set_header Connection ""; proxy_set_header Host {host}; proxy_cache_convert_head off; }}',
        before=f"upstream behind {{ server 127.0.0.1:{port}; keepalive 1; }}",
    ).port
    for _ in range(20):
        urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{front}{path}", method="HEAD"), timeout=60)
        with urllib.request.urlopen(f"http://127.0.0.1:{front}{other}", timeout=60) as answer:
            assert b"Disallow" in answer.read()
