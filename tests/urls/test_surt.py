"""Our urlkey is the one other archive tools write."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hemeroteca import urls
from hemeroteca.urls import whatwg
from tests.urls.conformance import documented, suite, text_of_bytes
from tests.urls.strategies import hrefs, web_urls

# A host of bytes that are no text in UTF-8; ours are always text.
KNOWN = {"http://\x01\x80.com/"}


def test_iipc_cases_pass_but_the_known_ones() -> None:
    sections = json.loads(suite("url/iipc_surt.json").read_text())
    differing = set()
    for section, cases in sections.items():
        for raw, wanted in cases.items():
            got, key = _PROOFS[section](text_of_bytes(raw), text_of_bytes(wanted))
            if got != key:
                differing.add(raw)
    cases = sum(len(cases) for cases in sections.values())
    assert differing == KNOWN
    assert documented("iipc_surt.json") == (cases, cases - len(KNOWN))


def _same_key(url: str, other: str) -> tuple[str, str]:
    return urls.surt(url), urls.surt(other)


# Each section proves one step of the way to the key; all are seen through the key itself.
_PROOFS = {
    "defaultIASurt": lambda url, wanted: (urls.surt(url), wanted),
    "Canonicalizer.DefaultIA": _same_key,
    "Canonicalizer.IA": _same_key,
    "google": _same_key,
    "googleSupplementalFromSurt": _same_key,
    "unescapeRepeatedly": lambda text, wanted: _same_key(
        f"http://h/?{text}", f"http://h/?{wanted.replace('%', '%25')}"
    ),
    "alphaRorderQuery": lambda query, wanted: (urls.surt(f"http://h/?{query}"), f"h)/?{wanted}" if wanted else "h)/"),
    "massageHost": lambda host, wanted: (urls.surt(f"http://{host}/"), f"{','.join(reversed(wanted.split('.')))})/"),
    "stripPathSessionId": lambda path, wanted: _same_key(f"http://h{path}", f"http://h{wanted}"),
}


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("https://www.Example.org:443/A/B/?b=2&a=1#x", "org,example)/a/b?a=1&b=2"),
        ("http://example.org:8080/", "org,example:8080)/"),
        ("http://192.0.2.1/x", "1,2,0,192)/x"),
        ("https://españa.es/ñ", "es,xn--espaa-rta)/%c3%b1"),
    ],
)
def test_keys(url: str, key: str) -> None:
    assert urls.surt(url) == key


@settings(deadline=None)
@given(web_urls)
def test_a_url_and_its_canonical_form_have_one_key(url: str) -> None:
    rules = urls.CanonRules(drop_session_ids=False, drop_tracking=False)
    try:
        canonical = urls.canonical(url, rules)
    except urls.UrlError:
        return
    assert urls.surt(canonical) == urls.surt(whatwg.parse(url))
    assert urls.surt(canonical).isascii()


@settings(deadline=None)
@given(st.text() | hrefs)
def test_any_text_has_a_key(text: str) -> None:
    assert urls.surt(text)


def test_endless_escapes_take_bounded_time() -> None:
    assert urls.surt("http://example.org/" + "%25" * 2000) == "org,example)/" + "%25" * 2000
    assert urls.surt("http://example.org/%" + "25" * 4000) == "org,example)/%25"
    with pytest.raises(urls.UrlError, match="longer than"):
        urls.surt("http://example.org/" + "a" * 9000)
