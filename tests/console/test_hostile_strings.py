"""Hostile strings through every page of the console and every protocol: they come back as text or not at all."""

import re
from urllib.parse import quote

import pytest
from django.test import Client

from hemeroteca.api.protocols import PROTOCOLS
from hemeroteca.console.routes import PAGES
from tests.accounts.test_every_route import filled
from tests.console.world import BREAD, HOSTILE

pytestmark = [pytest.mark.slow, pytest.mark.django_db]

STRINGS = [
    '"><script>hacked(1)</script>',
    "'><img src=x onerror=hacked(1)>",
    "javascript:hacked(1)",
    "\r\nSet-Cookie: hacked=1\r\n\r\n</title><svg onload=hacked(1)>",
]
FIELDS = (
    "q",
    "url",
    "match",
    "collection",
    "since",
    "until",
    "after",
    "a",
    "b",
    "at",
    "go",
    "view",
    "year",
    "day",
    "page",
    "next",
    "lang",
    "sort",
    "output",
    "fl",
    "from",
    "to",
    "filter",
    "key",
    "host",
    "name",
    "language",
)
LIVE = re.compile(rb"<script>hacked|<img src=x|<svg onload|onerror=hacked[^&]*>", re.I)
SCRIPTED = re.compile(rb"(?:href|src|action|data)=\s*[\"']?\s*javascript:[^>\"]*", re.I)
# ours, word for word and on this page only: for the bar of a browser
BOOKMARKLETS = "/save"
BOOKMARKLET = b'href="javascript:void(open(&#x27;http://testserver/save?url=&#x27;+encodeURIComponent(location.href)))'


@pytest.mark.parametrize("signed_in", [False, True])
def test_no_page_gives_a_string_back_as_markup(world, administrator, signed_in):
    client = Client(raise_request_exception=False)
    if signed_in:
        client.force_login(administrator)
    paths = [f"/{filled(address)}" for address in (*(page.address for page in PAGES), *(row[0] for row in PROTOCOLS))]
    paths += [f"/v/{row.record_id}" for rows in world.captures.values() for row in rows]
    asked = 0
    for path in paths:
        for number, string in enumerate(STRINGS):
            query = "&".join(f"{name}={quote(string)}" for name in FIELDS)
            aimed = f"url={quote((BREAD, HOSTILE)[number // 2])}&{query}"
            for address in (f"{path}?{query}" if number % 2 else f"{path}?{aimed}",):
                answer = client.get(address, headers={"referer": string.replace("\r\n", " "), "accept-language": "es"})
                assert answer.status_code < 500, address[:200]
                assert "hacked" not in str(answer.cookies), address[:200]
                kind = answer.headers.get("Content-Type", "")
                if not kind.startswith(("text/html", "image/svg", "application/xml", "text/xml")):
                    assert not kind or "nosniff" in answer.headers.get("X-Content-Type-Options", ""), (path, kind)
                elif "sandbox" not in answer.headers["Content-Security-Policy"]:
                    body = b"".join(answer)
                    assert not LIVE.search(body), address[:200]
                    own = [BOOKMARKLET] if path == BOOKMARKLETS and answer.status_code == 200 else []
                    assert SCRIPTED.findall(body) == own, address[:200]
                    assert "script-src 'self'" in answer.headers["Content-Security-Policy"]
                asked += 1
    assert asked > 100
