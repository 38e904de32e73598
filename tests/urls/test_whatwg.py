"""Parsing and joining are those of browsers; errors tell a person what is wrong."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hemeroteca import urls
from hemeroteca.urls import whatwg
from tests.urls.conformance import documented, suite

# Names that begin with xn-- and are not Punycode: ada-url 4.0 lets them pass. Nothing resolves them.
KNOWN = {
    "http://a.b.c.xn--pokxncvks",
    "http://10.0.0.xn--pokxncvks",
    "http://a.b.c.XN--pokxncvks",
    "http://a.b.c.Xn--pokxncvks",
    "http://10.0.0.XN--pokxncvks",
    "http://10.0.0.xN--pokxncvks",
    "file://xn--/p",
    "https://xn--/",
}


def test_web_platform_cases_pass_but_the_known_ones() -> None:
    cases = [case for case in json.loads(suite("url/urltestdata.json").read_text()) if isinstance(case, dict)]
    differing = set()
    for case in cases:
        wanted = None if case.get("failure") else case["href"]
        if _joined(case["base"], case["input"]) != wanted:
            differing.add(case["input"])
    assert differing == KNOWN
    assert documented("urltestdata.json") == (len(cases), len(cases) - len(KNOWN))


def _joined(base: str | None, text: str) -> str | None:
    if base is not None:
        return urls.join(base, text)
    try:
        return whatwg.parse(text)
    except urls.UrlError:
        return None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it is empty"),
        ("example.org/page", "it has no scheme; write it in full"),
        ("http://", "it has no host name"),
        ("http://user:password@/", "it has no host name"),
        ("http://example.org:99999/", "'99999' is not a port number"),
        ("http://exa mple.org/", "'exa mple.org' is not a valid host name"),
        ("http://[::1/", "'[::1' is not a valid host name"),
        ("ftp://example.org/", "only http and https can be fetched, not 'ftp'"),
        ("mailto:somebody@example.org", "only http and https can be fetched, not 'mailto'"),
        ("http://example.org/" + "a" * 9000, "longer than 8,192 characters"),
    ],
)
def test_an_error_names_the_text_and_the_reason(text: str, reason: str) -> None:
    with pytest.raises(urls.UrlError) as error:
        urls.canonical(text)
    assert repr(text[:30])[:-1] in str(error.value)
    assert reason in str(error.value)


@pytest.mark.parametrize(
    ("url", "host", "origin"),
    [
        ("https://example.org/a", "example.org", "https://example.org"),
        ("https://example.org:8443/a", "example.org", "https://example.org:8443"),
        ("HTTP://Example.ORG:80", "example.org", "http://example.org"),
        ("http://user:secret@example.org/a@b", "example.org", "http://example.org"),
        ("http://[2001:DB8::1]:8080/", "[2001:db8::1]", "http://[2001:db8::1]:8080"),
        ("http://0x7f.1/", "127.0.0.1", "http://127.0.0.1"),
        ("https://españa.es/", "xn--espaa-rta.es", "https://xn--espaa-rta.es"),
    ],
)
def test_host_and_origin(url: str, host: str, origin: str) -> None:
    assert (urls.host(url), urls.origin(url)) == (host, origin)


def test_lone_surrogates_become_replacement_characters() -> None:
    assert urls.join("https://example.org/", "\ud800x") == "https://example.org/%EF%BF%BDx"
    assert urls.canonical("https://example.org/\udc00") == "https://example.org/%EF%BF%BD"


@settings(deadline=None)
@given(st.text(), st.text())
def test_no_text_raises_anything_but_url_error(base: str, href: str) -> None:
    urls.join(base, href)
    for function in (urls.host, urls.origin, whatwg.parse):
        try:
            function(href)
        except urls.UrlError:
            pass
