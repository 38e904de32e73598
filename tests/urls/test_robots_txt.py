"""robots.txt by RFC 9309, and what single pages say."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hemeroteca import urls
from hemeroteca.urls.robots_txt import MAX_BYTES, Robots
from tests.urls import textproto
from tests.urls.conformance import documented, suite

# Google's cases against RFC 9309, 2.2.2, which wants both sides in one spelling before they are compared.
KNOWN = {
    (b"/foo/bar/\xe3\x83\x84", "http://foo.bar/foo/bar/ツ"),
    (b"/foo/bar/%E3%83%84", "http://foo.bar/foo/bar/ツ"),
    (b"/foo/bar/%62%61%7A", "http://foo.bar/foo/bar/baz"),
}


def test_google_cases_pass_but_the_known_ones() -> None:
    cases = [case for file in sorted(suite("robots").glob("*.textproto")) for case in textproto.read(file)]
    differing = {
        (case.robots.rpartition(b": ")[2].strip(), case.url)
        for case in cases
        if Robots.read(200, case.robots).allows(case.url, case.agent) != case.allowed
    }
    assert differing == KNOWN
    assert documented("robots/*.textproto") == (len(cases), len(cases) - len(KNOWN))


def rules(text: str) -> Robots:
    return Robots.read(200, text.encode())


@pytest.mark.parametrize(
    ("status", "allowed", "reason"),
    [
        (200, False, "Disallow: /"),
        (404, True, ""),
        (401, True, ""),
        (403, True, ""),
        (301, True, ""),  # redirects without end
        (429, False, "robots.txt could not be read (http-429)"),
        (500, False, "robots.txt could not be read (http-500)"),
        (503, False, "robots.txt could not be read (http-503)"),
        (0, False, "robots.txt could not be read (no answer)"),
    ],
)
def test_what_the_status_means(status: int, allowed: bool, reason: str) -> None:
    robots = Robots.read(status, b"User-agent: *\nDisallow: /\n")
    assert robots.allows("https://example.org/a", "hemeroteca") is allowed
    assert robots.rule("https://example.org/a", "hemeroteca") == reason


def test_the_rule_that_forbids_is_quoted_as_the_site_wrote_it() -> None:
    robots = rules("User-agent: *\ndisallow: /p\nDisallow: /private/*.pdf$ # secret\nAllow: /private/x\nDisallow: /ñ")
    assert robots.rule("https://example.org/page", "hemeroteca") == "Disallow: /p"
    assert robots.rule("https://example.org/private/a.pdf", "hemeroteca") == "Disallow: /private/*.pdf$"
    assert robots.rule("https://example.org/private/x", "hemeroteca") == ""
    assert robots.rule("https://example.org/%C3%B1", "hemeroteca") == "Disallow: /%C3%B1"


def test_only_the_group_of_this_robot_counts() -> None:
    robots = rules(
        "User-agent: hemero\nDisallow: /a\n"  # another robot whose name only begins alike
        "User-agent: Hemeroteca/2.1 (x)\nUser-agent: other\nDisallow: /b\nCrawl-delay: 7.5\n"
        "User-agent: *\nDisallow: /c\n"
        "User-agent: HEMEROTECA\nDisallow: /d\n"
    )
    allowed = [path for path in "abcd" if robots.allows(f"https://example.org/{path}", "hemeroteca")]
    assert allowed == ["a", "c"]
    assert robots.crawl_delay("hemeroteca") == 7.5
    assert robots.crawl_delay("stranger") is None
    assert not robots.allows("https://example.org/c", "stranger")


def test_unknown_lines_do_not_part_names_from_rules() -> None:
    robots = rules("User-agent: a\nNoindex: /x\nSitemap: https://example.org/s.xml\nUser-agent: b\nDisallow: /\n")
    assert not robots.allows("https://example.org/", "a")
    assert robots.sitemaps == ["https://example.org/s.xml"]


@pytest.mark.parametrize("wrong", ["soon", "-1", "nan", "inf", ""])
def test_a_crawl_delay_that_is_no_number_is_ignored(wrong: str) -> None:
    assert rules(f"User-agent: *\nCrawl-delay: {wrong}").crawl_delay("hemeroteca") is None


def test_only_whole_lines_of_the_first_500_kib_are_read() -> None:
    begin = b"User-agent: *\nDisallow: /a\n"
    cut = b"Disallow: /"
    body = begin + b"#" * (MAX_BYTES - len(begin) - len(cut) - 1) + b"\n" + cut + b"private\nDisallow: /late\n"
    robots = Robots.read(200, body)
    assert not robots.allows("https://example.org/a", "hemeroteca")
    assert robots.allows("https://example.org/b", "hemeroteca"), "half of the last line is not a rule"
    assert robots.allows("https://example.org/late", "hemeroteca")


def test_hostile_files_take_bounded_time() -> None:
    names = b"".join(b"User-agent: a%x\n" % number for number in range(15_000))
    lines = b"".join(b"Disallow: /%x\n" % number for number in range(15_000))
    start = time.process_time()
    robots = Robots.read(200, names + lines)
    assert not robots.allows("https://example.org/ff", "a1")
    assert robots.rule("https://example.org/ffzz", "a1") == "Disallow: /ff"
    assert time.process_time() - start < 60  # protego alone makes 225 million rules of it
    assert robots.size < 20_000_000


@settings(deadline=None)
@given(
    st.binary()
    | st.text().map(lambda text: f"User-agent: *\nDisallow: {text}\nAllow: {text}".encode("utf-8", "replace")),
    st.text(),
    st.text(),
)
def test_no_file_and_no_url_raises(body: bytes, url: str, token: str) -> None:
    robots = Robots.read(200, body)
    for address in (url, f"https://example.org/{url}"):
        assert robots.allows(address, token) or robots.rule(address, token) is not None
    robots.crawl_delay(token)


@pytest.mark.parametrize(
    ("headers", "wanted"),
    [
        ([], urls.robots_txt.Directives()),
        (["noindex, nofollow"], urls.robots_txt.Directives(noindex=True, nofollow=True)),
        (["NOARCHIVE", "noindex"], urls.robots_txt.Directives(noindex=True, noarchive=True)),
        (["none"], urls.robots_txt.Directives(noindex=True, nofollow=True)),
        (["googlebot: noindex, nofollow"], urls.robots_txt.Directives()),
        (["Hemeroteca: noindex, nofollow"], urls.robots_txt.Directives(noindex=True, nofollow=True)),
        (["noarchive, otherbot: noindex, nofollow"], urls.robots_txt.Directives(noarchive=True)),
        (["otherbot: noindex, hemeroteca: nofollow"], urls.robots_txt.Directives(nofollow=True)),
        (["max-snippet: 20, noindex"], urls.robots_txt.Directives(noindex=True)),
        (["max-image-preview:large, nocache"], urls.robots_txt.Directives(noarchive=True)),
        (["unavailable_after: 25 Jun 2010 15:00:00 GMT"], urls.robots_txt.Directives(unavailable_after=1277478000000)),
        (
            ["unavailable_after: Friday, 25-Jun-10 15:00:00 UTC, noindex"],
            urls.robots_txt.Directives(noindex=True, unavailable_after=1277478000000),
        ),
        (["unavailable_after: 2010-06-25T15:00:00Z"], urls.robots_txt.Directives(unavailable_after=1277478000000)),
        (["otherbot: unavailable_after: 2010-06-25"], urls.robots_txt.Directives()),
        (["unavailable_after: never"], urls.robots_txt.Directives()),
    ],
)
def test_x_robots_tag(headers: list[str], wanted: urls.robots_txt.Directives) -> None:
    assert urls.robots_txt.directives(headers, "hemeroteca") == wanted


def test_a_page_hides_after_its_time() -> None:
    said = urls.robots_txt.directives(["unavailable_after: 2010-06-25T15:00:00Z"], "hemeroteca")
    assert not said.hidden(1277478000000)
    assert said.hidden(1277478000001)


@settings(deadline=None)
@given(
    st.lists(st.text(alphabet="noindexarchive:, unavailable_after2010-T:Zgbot*", max_size=60) | st.text()), st.text()
)
def test_no_header_raises(headers: list[str], token: str) -> None:
    urls.robots_txt.directives(headers, token)


@pytest.mark.parametrize("space", [b"\xa0", b"\xc2\xa0"])
def test_a_no_break_space_after_the_asterisk_does_not_open_the_site(space):
    rules = Robots.read(200, b"User-agent: *" + space + b"\nDisallow: /closed")
    assert not rules.allows("https://site.test/closed", "hemeroteca")
