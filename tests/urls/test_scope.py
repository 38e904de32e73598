"""Which URLs belong to a crawl, and the reason when one does not."""

import time

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hemeroteca import urls

SEED = "https://www.example.co.uk/docs/intro.html"


@pytest.mark.parametrize(
    ("kind", "inside", "outside"),
    [
        ("page", [SEED], ["https://www.example.co.uk/docs/", "https://www.example.co.uk/docs/intro.html?x=1"]),
        (
            "prefix",
            ["https://www.example.co.uk/docs/a/b", "http://example.co.uk/docs/", "https://example.co.uk/docs/?x"],
            ["https://www.example.co.uk/doc", "https://www.example.co.uk/", "https://blog.example.co.uk/docs/a"],
        ),
        (
            "host",
            ["https://www.example.co.uk/", "http://example.co.uk/x"],
            ["https://blog.example.co.uk/", "https://example.co.uk.evil.com/", "https://example.co.uk:8443/"],
        ),
        (
            "domain",
            ["https://blog.example.co.uk/", "https://example.co.uk:8443/"],
            ["https://other.co.uk/", "https://notexample.co.uk/", "mailto:a@example.co.uk"],
        ),
    ],
)
def test_kinds(kind: str, inside: list[str], outside: list[str]) -> None:
    scope = urls.Scope(kind=kind, seeds=(SEED,))
    assert [url for url in inside if scope.refusal(url, 1) is not None] == []
    assert [url for url in outside if scope.refusal(url, 1) is None] == []


def test_a_port_is_part_of_a_host_as_on_loopback() -> None:
    scope = urls.Scope(seeds=("http://127.0.0.1:8001/",))
    assert scope.refusal("http://127.0.0.1:8001/a", 1) is None
    assert scope.refusal("http://127.0.0.1:8002/a", 1) == "on another host"


def test_depth_counts_links_from_a_seed() -> None:
    scope = urls.Scope(seeds=(SEED,), depth=2)
    assert scope.refusal("https://www.example.co.uk/a", 2) is None
    assert scope.refusal("https://www.example.co.uk/a", 3) == "more than 2 links from a seed"
    assert scope.refusal(SEED, 9) is None


def test_expressions_narrow_the_scope_but_never_the_seeds() -> None:
    scope = urls.Scope(seeds=(SEED,), include=("/news/", r"\.html$"), exclude=(r"[?&]print=", "/private/"))
    assert scope.refusal(SEED, 0) is None
    assert scope.refusal("https://www.example.co.uk/news/1", 1) is None
    assert scope.refusal("https://www.example.co.uk/shop/1", 1) == "matches no include expression"
    assert scope.refusal("https://www.example.co.uk/news/1?print=1", 1) == "excluded by '[?&]print='"


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("(a", "missing )"),
        (r"(?!x)y", "look-around is not available"),
        (r"(?<=x)y", "look-around is not available"),
        (r"(a)\1", "invalid escape sequence"),
        ("a" * 2000, "too long: 2,000 characters, at most 1,000"),
        ("\ud800", "cannot be used"),
    ],
)
def test_an_expression_that_cannot_be_used_is_named(expression: str, reason: str) -> None:
    with pytest.raises(urls.UrlError) as error:
        urls.ScopeMatcher(urls.Scope(seeds=(SEED,), exclude=(expression,)))
    assert repr(expression[:20])[:-1] in str(error.value)
    assert reason in str(error.value)


def test_an_expression_cannot_burn_time() -> None:
    matcher = urls.ScopeMatcher(urls.Scope(seeds=(SEED,), exclude=(r"(a+)+$", r"(.*a){20}b", r"(a|a)*~")))
    url = "https://www.example.co.uk/" + "a" * 1900 + "!"
    start = time.process_time()
    assert matcher.refusal(url, 1) is None
    assert time.process_time() - start < 20  # `re` needs longer than the universe has lasted


def test_a_scope_travels_as_json() -> None:
    scope = urls.Scope(kind="domain", seeds=(SEED,), include=("a",), depth=3)
    assert msgspec.json.decode(msgspec.json.encode(scope), type=urls.Scope) == scope


def test_registrable_domains() -> None:
    assert urls.registrable_domain("a.b.example.co.uk") == "example.co.uk"
    assert urls.registrable_domain("alice.github.io") == "alice.github.io"
    assert urls.registrable_domain("www.xn--espaa-rta.es") == "xn--espaa-rta.es"
    for itself in ("co.uk", "localhost", "192.0.2.1", "[2001:db8::1]", ""):
        assert urls.registrable_domain(itself) == itself


@settings(deadline=None)
@given(st.text(), st.text())
def test_no_text_raises_anything_but_url_error(text: str, other: str) -> None:
    urls.registrable_domain(text)
    urls.Scope(kind="domain", seeds=(SEED,), exclude=("x",), include=("y",)).refusal(text, 1)
    try:
        urls.ScopeMatcher(urls.Scope(seeds=(text,), include=(other,)))
    except urls.UrlError:
        pass
