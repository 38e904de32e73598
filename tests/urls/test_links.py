"""The quick way to resolve links gives what the parser gives."""

import tracemalloc

from hypothesis import example, given, settings
from hypothesis import strategies as st

from hemeroteca import urls
from tests.urls.strategies import hrefs, web_urls

rules = st.builds(urls.CanonRules, st.booleans(), st.booleans(), st.booleans(), st.booleans())


def by_parser(base: str, href: str, rules: urls.CanonRules) -> str | None:
    joined = urls.join(base if urls.join(base, "") else "about:blank", href)
    try:
        return urls.canonical(joined, rules) if joined else None
    except urls.UrlError:
        return None


@settings(max_examples=400, deadline=None)
@given(web_urls, st.lists(hrefs, max_size=6), rules)
@example(
    "https://example.org/a/b.html",
    ["a #b", "https:?x", "https:#x", "?y", "", "../../../z", "..;jsessionid=1/x"],
    urls.CanonRules(),
)
@example(
    "https://example.org/a/b",
    ["c/../d", "c/./d", "c/..", "/c/../d", "c//d", "//d", ".e", "./f", ".././g"],
    urls.CanonRules(),
)
@example("https://example.org/a;jsessionid=1/b", ["../c", "d", "?e"], urls.CanonRules())
@example(
    "https://u:p@www.example.org./a/b",
    ["../c", "/d", "//example.com", "https://www.example.com/x"],
    urls.CanonRules(drop_www=True),
)
def test_every_link_resolves_as_by_the_parser(base: str, found: list[str], rules: urls.CanonRules) -> None:
    wanted = [by_parser(base, href, rules) for href in found]
    assert urls.resolve_links(base, found, rules) == wanted
    assert urls.resolve_links(base, found, rules) == wanted, "the second time, from memory"


def test_links_of_a_page() -> None:
    found = [
        "../z.html#part",
        "#here",
        "?page=2",
        "",
        "mailto:a@b",
        "//example.com/x?utm_source=1",
        "javascript:void(0)",
        "\n w.html ",
    ]
    assert urls.resolve_links("https://example.org/x/y.html?q=1", found) == [
        "https://example.org/z.html",
        "https://example.org/x/y.html?q=1",
        "https://example.org/x/y.html?page=2",
        "https://example.org/x/y.html?q=1",
        None,
        "https://example.com/x",
        None,
        "https://example.org/x/w.html",
    ]


def test_pages_of_one_directory_do_not_share_what_is_their_own() -> None:
    for name in ("a", "b"):
        page = f"https://example.org/{name}"
        assert urls.resolve_links(page, ["#x", "?p=1", " #x", "https:?p=2"]) == [
            page,
            page + "?p=1",
            page,
            page + "?p=2",
        ]


def test_without_a_base_only_absolute_links_mean_something() -> None:
    assert urls.resolve_links("nonsense", ["https://example.org/a", "b", "#c", "?d"]) == [
        "https://example.org/a",
        None,
        None,
        None,
    ]


def test_targets_carry_the_key() -> None:
    target = urls.resolve_targets("https://example.org/", ["a"])[0]
    assert target is not None
    assert target.key == urls.key(target.url)


def test_memory_stays_bounded() -> None:
    """Without a bound these would be 27 MB, and another 18 MB."""
    tracemalloc.start()
    try:
        for page in range(4000):
            urls.resolve_links(f"https://example.org/{page}/", [f"{page}-{number}.html" for number in range(20)])
        assert tracemalloc.get_traced_memory()[1] < 15 << 20
        urls.resolve_links("https://example.org/", [f"{number}.html" for number in range(50_000)])
        assert tracemalloc.get_traced_memory()[0] < 15 << 20
    finally:
        tracemalloc.stop()
