"""The CDX server answers as pywb's and the Wayback Machine's do."""

import json
import time
from datetime import UTC, datetime

import pytest
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from hemeroteca.archive import cdx, services
from hemeroteca.warc.timestamps import end_ms, from_iso, iso, start_ms, timestamp
from tests.archive.test_index import FILE, capture

pytestmark = [pytest.mark.database, pytest.mark.django_db, pytest.mark.urls("hemeroteca.api.routes")]


def ms(stamp):
    return start_ms(stamp)


def add(*captures):
    services.insert_captures(captures, {FILE: 1000})


@pytest.fixture
def client():
    return Client(HTTP_HOST="localhost")


@pytest.fixture
def site():
    """Three years of a front page, and some other pages of the same and other hosts."""
    add(
        *(
            capture("http://example.org/", ms(stamp), digest=digest, status=status)
            for stamp, digest, status in [
                ("20240101000000", "sha256:a", 200),
                ("20240201000000", "sha256:a", 200),
                ("20240201000005", "sha256:b", 200),
                ("20250301000000", "sha256:b", 404),
                ("20260401000000", "sha256:c", 200),
            ]
        ),
        capture("http://example.org/about", ms("20240505"), mime="text/plain"),
        capture("http://example.org/about/us", ms("20240506")),
        capture("http://example.org:8080/port", ms("20240506")),
        capture("http://sub.example.org/", ms("20240507")),
        capture("http://example.organic/", ms("20240508")),
        capture("http://example-org.org/", ms("20240508")),
    )


def ask(client, path="/cdx", status=200, **params):
    response = client.get(path, {name.rstrip("_"): value for name, value in params.items()})
    text = b"".join(response).decode()
    assert response.status_code == status, text
    return text


def stamps(client, **params):
    return [line.split(" ")[1] for line in ask(client, **params).splitlines()]


def originals(client, **params):
    return ask(client, "/cdx/search/cdx", fl="original", **params).split()


def test_an_answer_in_each_format(client, site):
    line = ask(client, url="example.org/", limit=1)
    key, stamp, rest = line.strip().split(" ", 2)
    assert (key, stamp) == ("org,example)/", "20240101000000")
    assert json.loads(rest) == {
        "url": "http://example.org/", "mime": "text/html", "status": "200", "digest": "sha256:a",
        "length": "10", "offset": "0", "filename": FILE,
    }  # fmt: skip
    assert json.loads(ask(client, url="example.org/", limit=1, output="json")) == {
        "urlkey": key, "timestamp": stamp, **json.loads(rest)
    }  # fmt: skip
    wayback = "org,example)/ 20240101000000 http://example.org/ text/html 200 sha256:a 10"
    assert ask(client, "/cdx/search/cdx", url="example.org/", limit=1) == wayback + "\n"
    assert json.loads(ask(client, "/cdx/search/cdx", url="example.org/", limit=1, output="json")) == [
        ["urlkey", "timestamp", "original", "mimetype", "statuscode", "digest", "length"],
        wayback.split(" "),
    ]
    assert ask(client, url="example.org/", output="text", fl="timestamp,statuscode", limit=1) == "20240101000000 200\n"
    link = ask(client, url="example.org/", output="link", limit=2)
    assert 'http://example.org/>; rel="memento"; datetime="Mon, 01 Jan 2024 00:00:00 GMT"' in link
    assert link.startswith('<http://example.org/>; rel="original"')  # whole, however it was asked for


def test_nothing_found_is_an_empty_answer(client, site):
    assert ask(client, url="nothing.example/") == ""
    assert json.loads(ask(client, "/cdx/search/cdx", url="nothing.example/", output="json")) == []


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"matchType": "exact", "url": "example.org/about"}, ["http://example.org/about"]),
        ({"url": "example.org/about*"}, ["http://example.org/about", "http://example.org/about/us"]),
        ({"url": "http://example.org/about/*"}, ["http://example.org/about/us"]),
        (
            {"url": "example.org", "matchType": "host", "collapse": "urlkey"},
            ["http://example.org/", "http://example.org/about", "http://example.org/about/us"],
        ),
        (
            {"url": "*.example.org", "collapse": "urlkey"},
            [
                "http://example.org/",
                "http://example.org/about",
                "http://example.org/about/us",
                "http://sub.example.org/",
                "http://example.org:8080/port",
            ],
        ),
        (
            {"url": "example.org/about", "matchType": "range", "end": "sub.example.org/"},
            ["http://example.org/about", "http://example.org/about/us"],
        ),
    ],
)
def test_match_types(client, site, params, expected):
    assert originals(client, **params) == expected


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({}, ["20240101", "20240201", "20240201", "20250301", "20260401"]),
        ({"from_": "2025"}, ["20250301", "20260401"]),
        ({"to": "2024"}, ["20240101", "20240201", "20240201"]),
        ({"from_": "20240201", "to": "202402"}, ["20240201", "20240201"]),
        ({"from_": "20240201000001", "to": "20240201000005"}, ["20240201"]),
        ({"limit": "2"}, ["20240101", "20240201"]),
        ({"limit": "-2"}, ["20250301", "20260401"]),
        ({"limit": "2", "offset": "1"}, ["20240201", "20240201"]),
        ({"sort": "reverse", "limit": "2"}, ["20260401", "20250301"]),
        ({"closest": "20250101", "sort": "closest"}, ["20250301", "20240201", "20240201", "20240101", "20260401"]),
        ({"closest": "20250101", "limit": "1"}, ["20250301"]),
        ({"filter": "statuscode:404"}, ["20250301"]),
        ({"filter": "!statuscode:404", "limit": "-1"}, ["20260401"]),
        ({"filter": ["!status:404", "=digest:sha256:b"]}, ["20240201"]),
        ({"filter": "digest:c"}, ["20260401"]),
        ({"filter": "~digest:c"}, []),
        ({"filter": r"~timestamp:20\d4"}, ["20240101", "20240201", "20240201"]),
        ({"filter": r"!~timestamp:20\d4"}, ["20250301", "20260401"]),
        ({"collapse": "timestamp:4"}, ["20240101", "20250301", "20260401"]),
        ({"collapse": "digest"}, ["20240101", "20240201", "20260401"]),
        ({"collapseTime": "6"}, ["20240101", "20240201", "20250301", "20260401"]),
        ({"filter": "mimetype:image"}, []),
    ],
)
def test_parameters(client, site, params, expected):
    assert [stamp[:8] for stamp in stamps(client, url="example.org/", **params)] == expected


@pytest.mark.parametrize(
    ("filters", "years"),
    [
        ("statuscode:404", ["2025"]),
        ("statuscode:4", []),
        ("statuscode:4..", ["2025"]),
        ("!statuscode:2.*", ["2025"]),
        ("~digest:c", ["2026"]),
        ("~!digest:6:a", ["2024", "2025", "2026"]),
        ("!~digest:6:a", ["2024", "2025", "2026"]),
        (["mimetype:text/.*", r"timestamp:2024\d+"], ["2024", "2024", "2024"]),
    ],
)
def test_filters_of_the_wayback_machine_mean_what_they_mean_there(client, site, filters, years):
    """Its own server takes an expression for the whole field, and ~ for a part of it."""
    text = ask(client, "/cdx/search/cdx", url="example.org/", fl="timestamp", filter=filters)
    assert [stamp[:4] for stamp in text.split()] == years


def test_time_is_collapsed_as_pywb_does_with_the_status(client, site):
    assert len(stamps(client, url="example.org/", collapseTime="2")) == 3


def test_dupes_are_counted(client, site):
    text = ask(client, url="example.org/", output="text", fl="digest,dupecount", showDupeCount="true")
    assert text.split() == ["sha256:a", "0", "sha256:a", "1", "sha256:b", "0", "sha256:b", "1", "sha256:c", "0"]


def test_a_listing_is_resumed_where_it_stopped(client, site):
    collected, key = [], ""
    while True:
        more = {"resumeKey": key} if key else {}
        text = ask(
            client, "/cdx/search/cdx", url="*.example.org", fl="timestamp", limit=2, showResumeKey="true", **more
        )
        lines, _, key = text.partition("\n\n")
        collected += lines.split()
        key = key.strip()
        if not key:
            break
    assert collected == ask(client, "/cdx/search/cdx", url="*.example.org", fl="timestamp").split()
    assert len(collected) == 9


def walked(client, **params):
    """Every line of an answer that is asked for in parts, and the number of parts."""
    lines, key, parts = [], "", 0
    while key or not parts:
        more = {"resumeKey": key} if key else {}
        found, _, key = ask(client, output="text", showResumeKey="true", **params, **more).partition("\n\n")
        lines += found.splitlines()
        key = key.strip()
        parts += 1
        assert parts < 500, "it does not end"
    return lines, parts


@pytest.mark.parametrize("ways", [{}, {"sort": "reverse"}], ids=["forward", "reverse"])
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"collapse": "timestamp:6"},
        {"collapse": "digest"},
        {"collapse": ["urlkey", "timestamp:4"], "filter": "!status:404"},
        {"filter": "=status:404"},
        {"showDupeCount": "true", "fl": "urlkey,timestamp,digest,dupecount"},
        {"offset": "100"},
    ],
    ids=str,
)
def test_thousands_of_rows_in_parts_are_those_of_one_answer(client, params, ways):
    add(
        *(
            capture(
                f"http://{'sub.' * (i % 2)}example.org/{i % 7}",
                ms("2024") + i * 40_000_000,
                digest=f"sha256:{i // 50}",
                status=404 if i % 11 == 0 else 200,
            )
            for i in range(2000)
        )
    )
    params = {"url": "*.example.org", "fl": "urlkey,timestamp,digest,status", **params, **ways}
    whole = ask(client, output="text", **params).splitlines()
    lines, parts = walked(client, limit=97, **params)
    assert lines == whole
    assert parts == -(-len(whole) // 97)


def test_an_answer_that_took_too_long_is_resumed_without_a_loss(client, site, monkeypatch):
    whole = ask(client, output="text", url="*.example.org").splitlines()
    monkeypatch.setattr(cdx, "_SECONDS", -1)  # a row at a time
    lines, parts = walked(client, url="*.example.org")
    assert (lines, parts) == (whole, len(whole))


def test_where_one_cannot_go_on_there_is_no_key(client, site):
    assert "%20" not in ask(client, url="example.org/", output="text", closest="2024", limit=1, showResumeKey="true")
    assert "%20" not in ask(client, url="example.org/", output="text", page=0, limit=1, showResumeKey="true")


def test_pages_cover_everything_once(client, site, monkeypatch):
    monkeypatch.setattr(cdx, "BLOCK", 2)
    assert json.loads(ask(client, url="*.example.org", showNumPages="true")) == {"pages": 5, "pageSize": 1, "blocks": 5}
    assert ask(client, "/cdx/search/cdx", url="*.example.org", showNumPages="true") == "5\n"
    pages = [originals(client, url="*.example.org", page=number) for number in range(6)]
    assert [len(page) for page in pages] == [2, 2, 2, 2, 1, 0]
    assert [url for page in pages for url in page] == originals(client, url="*.example.org")


def test_more_rows_than_one_page_of_the_database(client):
    add(*(capture("http://example.org/", 1_700_000_000_000 + i // 3) for i in range(2500)))
    assert len(stamps(client, url="example.org/")) == 2500
    assert len(stamps(client, url="example.org/", sort="closest", closest="2023")) == 2500
    assert len(set(ask(client, url="example.org/", output="text", fl="id").split())) == 2500


def test_a_revisit_is_called_so_and_can_be_resolved(client):
    first = capture("http://example.org/a", ms("2024"), offset=11, length=22)
    again = capture("http://example.org/a", ms("2025"), kind="revisit", refers_to=first.record_id, digest=first.digest)
    add(first, again)
    line = json.loads(ask(client, url="example.org/a", limit=-1, output="json", resolveRevisits="true"))
    assert (line["mime"], line["orig.offset"], line["orig.length"], line["orig.filename"]) == (
        "warc/revisit", "11", "22", FILE,
    )  # fmt: skip


def test_not_modified_leads_to_the_capture_it_did_not_modify(client):
    first = capture("http://example.org/a", ms("2024"), offset=11, length=22)
    add(first, capture("http://example.org/a", ms("2025"), kind="revisit", status=304, refers_to=first.record_id))
    line = json.loads(ask(client, url="example.org/a", limit=-1, output="json"))
    assert (line["timestamp"], line["status"], line["mime"], line["offset"]) == (
        "20250101000000",
        "200",
        "text/html",
        "11",
    )


@pytest.mark.parametrize(
    ("params", "word"),
    [
        ({}, "url"),
        ({"url": "a.example", "matchType": "fuzzy"}, "matchType"),
        ({"url": "a.example", "from": "yesterday"}, "from"),
        ({"url": "a.example", "limit": "many"}, "limit"),
        ({"url": "a.example", "filter": "nofield"}, "filter"),
        ({"url": "a.example", "filter": "secret:1"}, "filter"),
        ({"url": "a.example", "filter": "=~url:1"}, "filter"),
        ({"url": "a.example", "filter": r"~url:(.)\1"}, "not valid"),
        ({"url": "a.example", "filter": "~url:a{1000}{1000}"}, "not valid"),
        ({"url": "a.example", "filter": "~url:("}, "not valid"),
        ({"url": "a.example", "collapse": "x"}, "collapse"),
        ({"url": "a.example", "sort": "up"}, "sort"),
        ({"url": "a.example", "output": "xml"}, "output"),
        ({"url": "a.example", "fl": "password"}, "fl"),
        ({"url": "a.example", "resumeKey": "x"}, "resumeKey"),
        ({"url": "a.example*", "closest": "2024"}, "closest"),
        ({"url": "a.example", "page": "-1"}, "`page` is -1; it must be 0 or more"),
        ({"url": "a.example", "pageSize": "0"}, "`pageSize` is 0; it must be 1 or more"),
        ({"url": "a.example", "offset": "-1"}, "`offset` is -1; it must be 0 or more"),
        ({"url": "a.example", "showNumPages": "maybe"}, "`showNumPages` is 'maybe'; it can be true or false"),
        ({"url": "a.example", "showSkipCount": "2"}, "showSkipCount"),
    ],
)
def test_wrong_parameters_are_told(client, params, word):
    assert word in ask(client, status=400, **params)


def test_a_hostile_expression_costs_nothing(client):
    add(capture("http://example.org/" + "a" * 2000))
    start = time.process_time()
    assert ask(client, url="example.org/*", filter="~original:http://example.org/(a+)+(a|aa)+(.*)*$b") == ""
    assert time.process_time() - start < 20  # 0.2 here, centuries where it is tried step by step


def test_hostile_urls_stay_on_their_line_and_in_their_quotes(client):
    add(capture('http://example.org/"><script>alert(1)</script> \n2024', digest="sha256:x"))
    text = ask(client, url="example.org/*", output="text")
    assert text.count("\n") == 1
    response = client.get("/cdx", {"url": "example.org/*", "output": "text"})
    assert response.headers["Content-Type"].startswith("text/plain")
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert "<script>" not in ask(client, url="example.org/*", output="link")


def test_a_closed_archive_asks_for_a_token(client, settings):
    from dataclasses import replace

    settings.CONFIG = replace(settings.CONFIG, open_search=False)
    assert "sign in" in ask(client, url="example.org/", status=401)


@given(st.datetimes(min_value=datetime(1, 1, 1), max_value=datetime(9998, 12, 31), timezones=st.just(UTC)))
def test_timestamps_round_trip(moment):
    value = int(moment.timestamp()) * 1000
    assert start_ms(timestamp(value)) == value
    assert end_ms(timestamp(value)) == value + 999
    for size in range(4, 14):
        cut = timestamp(value)[:size]
        assert start_ms(cut) <= value <= end_ms(cut)
    assert from_iso(iso(value + 7)) == value + 7


def test_what_was_collapsed_is_counted_and_dated(client, site):
    told = ask(
        client, "/cdx/search/cdx", url="example.org/", collapse="digest", fl="timestamp,skipcount,endtimestamp",
        showSkipCount="true", lastSkipTimestamp="true",
    )  # fmt: skip
    assert told.splitlines() == [
        "20240101000000 1 20240201000000",
        "20240201000005 1 20250301000000",
        "20260401000000 0 20260401000000",
    ]
    assert ask(client, "/cdx/search/cdx", url="example.org/", showSkipCount="true").splitlines()[0].endswith(" 0")
    one = ask(client, url="example.org/", collapse="digest", showSkipCount="true", limit="1", fl="skipcount")
    assert '"skipcount": "1"' in one


def test_the_latest_capture_of_an_address(client, site):
    assert stamps(client, url="example.org/", fastLatest="true") == ["20260401000000"]
    assert stamps(client, url="example.org/", fastLatest="true", limit="-2") == ["20250301000000", "20260401000000"]


@pytest.mark.parametrize("name", ["showPagedIndex", "allowFuzzy", "showGroupCount", "limt"])
@pytest.mark.parametrize("path", ["/cdx", "/cdx/search/cdx"])
def test_what_is_not_answered_is_refused_by_its_name(client, site, path, name):
    assert f"`{name}`" in ask(client, path, status=400, url="example.org/", **{name: "true"})
