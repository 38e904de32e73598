"""One spelling for one page, and never a spelling that leads elsewhere."""

import csv
import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hemeroteca import urls
from tests.urls.conformance import documented, suite, text_of_bytes
from tests.urls.strategies import hrefs, web_urls

SORTED = urls.CanonRules(sort_parameters=True)
PLAIN = urls.CanonRules(drop_session_ids=False, drop_tracking=False)
rules = st.builds(urls.CanonRules, st.booleans(), st.booleans(), st.booleans(), st.booleans())


@pytest.mark.parametrize(
    ("url", "wanted"),
    [
        ("HTTP://Example.ORG:80/a/../b/./c#top", "http://example.org/b/c"),
        ("https://example.org", "https://example.org/"),
        ("https://user:secret@example.org/", "https://example.org/"),
        ("https://example.org./a", "https://example.org/a"),
        ("https://españa.es/", "https://xn--espaa-rta.es/"),
        ("https://example.org/%7euser/%c3%b1?q=%2f", "https://example.org/~user/%C3%B1?q=%2F"),
        ("https://example.org/a b|c?x[]=1", "https://example.org/a%20b%7Cc?x%5B%5D=1"),
        ("https://example.org/100%?x=%u00e9", "https://example.org/100%25?x=%u00e9"),
        ("https://example.org/?", "https://example.org/"),
        # What could be another page stays: case, slashes, empty values, order.
        ("https://example.org/A//b/?b=&a", "https://example.org/A//b/?b=&a"),
    ],
)
def test_spelling(url: str, wanted: str) -> None:
    assert urls.canonical(url) == wanted


@pytest.mark.parametrize(
    ("url", "wanted"),
    [
        ("https://example.org/a;jsessionid=AB12.node1?x=1", "https://example.org/a?x=1"),
        ("https://example.org/a/..;jsessionid=1/b", "https://example.org/b"),
        ("https://example.org/?PHPSESSID=x&a=1&CFID=3&CFTOKEN=4", "https://example.org/?a=1"),
        ("https://example.org/?sid=0123456789abcdef", "https://example.org/"),
        ("https://example.org/?session=12&sid=7", "https://example.org/?session=12&sid=7"),
        ("https://example.org/?utm_source=a&id=7&fbclid=x&%75tm_term=b", "https://example.org/?id=7"),
        ("https://example.org/?utm=1&gclidx=2", "https://example.org/?utm=1&gclidx=2"),
    ],
)
def test_session_ids_and_tracking_go_and_lookalikes_stay(url: str, wanted: str) -> None:
    assert urls.canonical(url) == wanted
    assert urls.canonical(url, PLAIN).count("=") == url.count("=")


def test_optional_rules() -> None:
    url = "https://www.example.org/?b=2&a=1&b=1&&c"
    assert urls.canonical(url, SORTED) == "https://www.example.org/?a=1&b=2&b=1&c"
    assert urls.canonical(url, urls.CanonRules(drop_www=True)) == "https://example.org/?b=2&a=1&b=1&&c"
    assert urls.canonical("https://www.com/", urls.CanonRules(drop_www=True)) == "https://www.com/"


# crawler-commons' list, with sorted parameters. Why we differ, by reason of docs/reference/urls.md.
CRAWLER_COMMONS_KNOWN = {
    "double slashes are kept": {
        "http://foo.com//aa/bb/foo.html",
        "http://foo.com/aa//bb/foo.html",
        "http://foo.com/aa/bb//foo.html",
        "http://foo.com//aa//bb//foo.html",
        "http://foo.com////aa////bb//foo.html",
        "http://foo.com////aa////bb////foo.html",
    },
    "not a web address": {
        "file:///foo/bar.txt",
        "ftp:/",
        "http:////",
        "http:///////",
        "foo.com/index.html",
        "ftp://foo.com/index.html",
        "file:/path/index.html",
        "file:/var/www/html/////./bar/index.html",
        "file:/var/www/html/foo/../bar/index.html",
    },
    "empty values and names are kept": {
        "http://foo.com/index?a=1&b=",
        "http://foo.com/index?b=&a=1",
        "http://foo.com/index?&=1&a=1",
        "http://foo.com/index?=1&b=1&a=1",
    },
}


def test_crawler_commons_cases_pass_but_the_known_ones() -> None:
    cases = 0
    differing = set()
    for line in suite("url/weird_to_normalized.csv").read_text().split("\n"):
        if line.strip() and not line.startswith("#"):
            weird, wanted = next(csv.reader([line], skipinitialspace=True))
            cases += 1
            if _canonical_or_none(weird) != wanted.strip():
                differing.add(weird)
    known = set().union(*CRAWLER_COMMONS_KNOWN.values())
    assert differing == known
    assert documented("weird_to_normalized.csv") == (cases, cases - len(known))


# IIPC's urlcanon, "semantic precise", fragments aside and with sorted parameters.
IIPC_KNOWN = {
    "not a host name to a browser": {
        *("http:%/", "http:/%/", "http://%/", "http:// leadingspace.com/", "http://%20leadingspace.com/"),
        *("http:%2e/a/b", "http:/%2e/a/b", "http://%2e/a/b", "http:///%2e/a/b"),
        *("http:%2e%2e/a/b", "http:/%2e%2e/a/b", "http://%2e%2e/a/b", "http:///%2e%2e/a/b"),
        *("http:%2e%2e%2e/a/b", "http:/%2e%2e%2e/a/b", "http://%2e%2e%2e/a/b", "http:///%2e%2e%2e/a/b"),
        *("http://09/", "http://\x01\x80.com/"),
        "http://host%23.com/%257Ea%2521b%2540c%2523d%2524e%25f%255E00%252611%252A22%252833%252944_55%252B",
    },
    "no scheme": {"www.google.com", "www.google.com/", "%20leadingspace.com/"},
    "escapes of reserved characters are kept": {
        "http://example.com/%3A%3a%3C%3c",
        "http://example.com/%7Ffp3%3Eju%3Dduvgw%3Dd",
        "http://example.com/(%28:%3A%29)",
        "http://example.com/@asdf%40",
        "http://facebook.com/?foo=%7B%22abc%22",
    },
    "decoded once, not again and again": {
        *("http://host/%%300", "http://host/%%36%31", "http://host/%25%2536%2531", "http://host/%25%25361"),
        *("http://host/?%%300", "http://host/?%%36%31", "http://host/?%25%2536%2531", "http://host/?%25%25361"),
        *("http://host/%25%32%35", "http://host/%25%32%35%25%32%35", "http://host/%2525252525252525"),
        *("http://host/%2561", "http://host/?%2561", "http://host/asdf%25%32%35asd", "http://host/%%%25%32%35asd%%"),
    },
    "double slashes are kept": {
        "http://example.com////../..",
        "http://example.com\\\\foo\\\\bar",
        "http://host.com//twoslashes?more//slashes",
    },
    "values of one name keep their order": {"http://example.com/?%26=%26&%26", "http://example.com/?%3d=%3d&%3d"},
    "bytes that are no text": {"http://example.com/foo\t\x91%91"},
    "an empty query is dropped": {"http://www.google.com/q?"},
}


def test_iipc_cases_pass_but_the_known_ones() -> None:
    cases = json.loads(suite("url/iipc_semantic_precise.json").read_text())
    web = {weird: wanted for weird, wanted in cases.items() if wanted.startswith(("http:", "https:"))}
    for weird in cases.keys() - web.keys():
        with pytest.raises(urls.UrlError):
            urls.canonical(text_of_bytes(weird))
    differing = {
        weird for weird, wanted in web.items() if _canonical_or_none(text_of_bytes(weird)) != wanted.partition("#")[0]
    }
    known = set().union(*IIPC_KNOWN.values())
    assert differing == known
    assert documented("iipc_semantic_precise.json") == (len(web), len(web) - len(known))


def _canonical_or_none(url: str) -> str | None:
    try:
        return urls.canonical(url, SORTED)
    except urls.UrlError:
        return None


@settings(deadline=None)
@given(web_urls | hrefs, rules)
def test_canonical_is_idempotent(url: str, rules: urls.CanonRules) -> None:
    try:
        once = urls.canonical(url, rules)
    except urls.UrlError:
        return
    assert urls.canonical(once, rules) == once
    assert once.isascii()
    assert "#" not in once


@settings(deadline=None)
@given(web_urls, web_urls)
def test_joining_canonical_urls_keeps_them(base: str, href: str) -> None:
    try:
        one, other = urls.canonical(base), urls.canonical(href)
    except urls.UrlError:
        return
    assert urls.join(one, other) == other
    assert urls.join(one, "") == one


@settings(deadline=None)
@given(st.text())
def test_keys_fit_a_signed_64_bit_column(text: str) -> None:
    assert -(2**63) <= urls.key(text) < 2**63


def test_the_key_never_changes() -> None:
    # Keys are on disk: another value here would orphan every page known.
    assert urls.key("https://example.org/") == -5134289984887863442


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("example.org", "https://example.org/"),
        (" example.org/a b ", "https://example.org/a%20b"),
        ("//example.org/x", "https://example.org/x"),
        ("http://intranet/", "http://intranet/"),
        ("example.org:8443/1.2", "https://example.org:8443/1.2"),
        ("example.org.", "https://example.org/"),
        ("1.example", "https://1.example/"),
        ("intranet:8080/x.y", "http://intranet:8080/x.y"),
        ("localhost", "http://localhost/"),
        ("localhost:8000", "http://localhost:8000/"),
        ("a.localhost:8000/x", "http://a.localhost:8000/x"),
        ("192.0.2.1:81", "http://192.0.2.1:81/"),
        ("192.0.2.1/a.b", "http://192.0.2.1/a.b"),
        ("[2001:db8::1]:8080", "http://[2001:db8::1]:8080/"),
        ("españa.example", "https://xn--espaa-rta.example/"),
        ("HTTP:example.org", "http://example.org/"),
        ("https://example.org/@me?a@b", "https://example.org/@me?a@b"),
    ],
)
def test_what_people_write_for_an_address(text: str, url: str) -> None:
    assert urls.typed(text) == url


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("mailto:a@b.c", "mail address"),
        ("a@b.c", "mail address"),
        ("hello world", "spaces"),
        ("example", "no dot; write http://example/"),
        ("example/page", "no dot; write http://example/"),
        ("/etc/hosts", "no scheme; write it in full"),
        ("https//example.org", "no scheme; write it in full"),
        ("..", "no scheme; write it in full"),
        ("tel:123", "not 'tel'"),
        ("http://me:secret@example.org:81/x", "`hemeroteca site set example.org username=… password=…` sets it"),
        ("http:me@example.org", "has a login in it"),
        ("javascript:void(0)", "not 'javascript'"),
        ("ftp://example.org/", "not 'ftp'"),
        ("", "it is empty"),
    ],
)
def test_what_is_no_address_however_it_is_written(text: str, why: str) -> None:
    with pytest.raises(urls.UrlError, match=re.escape(why)):
        urls.typed(text)
