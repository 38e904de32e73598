"""Plain fetching: what is sent, what comes back, and how the loop behaves."""

import gzip
import logging
import pickle
import re
import threading

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from hemeroteca.config import Config
from hemeroteca.fetch import FetchSettings, Request, Result
from tests.waiting import PATIENCE

from .conftest import keep, ok, say


def test_a_page_comes_back_with_both_heads_to_the_byte(serve, loop):
    server = serve(keep(b"HTTP/1.1 200 Fine  \r\nX-Odd:   spaced \r\ncontent-length: 5\r\n\r\nhello"))
    result = loop.get(f"http://site.test:{server.port}/a?b=c", tag=("any", "thing"))
    assert (result.status, result.failure, result.protocol, result.ip) == (200, "", "http/1.1", "127.0.0.1")
    assert result.response_head == b"HTTP/1.1 200 Fine  \r\nX-Odd:   spaced \r\ncontent-length: 5\r\n\r\n"
    assert result.request_head == server.heads[0]
    assert result.body.bytes() == b"hello"
    assert result.ok
    assert not result.truncated
    assert result.request.tag == ("any", "thing")
    assert result.started_ms > 1_600_000_000_000
    assert 0 < result.elapsed < PATIENCE


@pytest.mark.parametrize(
    "target",
    ["/", "/?", "/a?", "/?a=b?c", "//double//", "/a/../b/./c", "/%7e~%zz", "/a|b{c}[d]^`\"'<>\\", "/;p=1,2:@&=+$!*()"],
)
def test_the_target_is_sent_to_the_letter(serve, loop, target):
    server = serve(keep(ok()))
    loop.get(f"http://site.test:{server.port}/")  # the origin is known from now on: no more parsing
    result = loop.get(f"http://site.test:{server.port}{target}")
    assert server.heads[1].startswith(b"GET %s HTTP/1.1\r\n" % target.encode())
    assert result.request_head == server.heads[1]


def test_a_url_that_is_not_canonical_is_repaired_before_it_is_sent(serve, loop):
    server = serve(keep(ok()))
    loop.get(f"HTTP://SITE.test:{server.port}/ñ a\r\nX-Bad: 1#part")
    assert server.heads[0].startswith(b"GET /%C3%B1%20aX-Bad:%201 HTTP/1.1\r\nHost: site.test:")


def test_the_request_carries_our_headers_and_no_others(serve, loop):
    server = serve(keep(ok()))
    result = loop.get(f"http://site.test:{server.port}/", headers=(("Accept", "*/*"), ("X-Empty", ""), ("X-B", "é")))
    assert server.heads[0] == (
        b"GET / HTTP/1.1\r\nHost: site.test:%d\r\nUser-Agent: Hemeroteca/test\r\nAccept: */*\r\n"
        b"Accept-Encoding: gzip, br, deflate\r\nX-Empty:\r\nX-B: \xe9\r\n\r\n" % server.port
    )
    assert result.request_head == server.heads[0]


def test_headers_of_one_request_are_not_sent_with_the_next(serve, loop):
    server = serve(keep(ok()))
    url = f"http://site.test:{server.port}/"
    loop.get(url, headers=(("X-Secret", "1"),), etag='"v1"')
    loop.get(url)
    assert b"X-Secret" in server.heads[0]
    assert b"X-Secret" not in server.heads[1]
    assert b"If-None-Match" not in server.heads[1]


@pytest.mark.parametrize(
    "header",
    [("X", "a\r\nInjected: 1"), ("X: y", "1"), ("", "1"), ("Host", "other"), ("Content-Length", "3"), ("X", "\0")],
)
def test_a_header_that_would_change_the_request_is_refused(loop, header):
    result = loop.get("http://site.test/", headers=(header,))
    assert result.failure == "request"
    assert not result.transient


def test_conditional_requests_send_the_validators_and_get_304(serve, loop):
    server = serve(keep(b'HTTP/1.1 304 Not Modified\r\nETag: "v1"\r\n\r\n'))
    result = loop.get(f"http://site.test:{server.port}/", etag='W/"v1"', last_modified="Mon, 02 Jun 2025 10:00:00 GMT")
    assert (result.status, len(result.body), result.ok) == (304, 0, True)
    assert b'\r\nIf-None-Match: W/"v1"\r\nIf-Modified-Since: Mon, 02 Jun 2025 10:00:00 GMT\r\n' in server.heads[0]


def test_an_etag_with_line_ends_is_left_out(serve, loop):
    server = serve(keep(ok()))
    assert loop.get(f"http://site.test:{server.port}/", etag='"a"\r\nX-Injected: 1').status == 200
    assert b"Injected" not in server.heads[0]
    assert b"If-None-Match" not in server.heads[0]


def test_redirects_are_results_not_followed(serve, loop):
    server = serve(keep(b"HTTP/1.1 302 Found\r\nLocation: http://other.test/\r\nContent-Length: 0\r\n\r\n"))
    result = loop.get(f"http://site.test:{server.port}/")
    assert (result.status, result.header("location")) == (302, "http://other.test/")
    assert len(server.heads) == 1


def test_content_encoding_is_kept_and_transfer_encoding_removed(serve, loop):
    packed = gzip.compress(b"text " * 100)
    server = serve(
        keep(
            b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"5\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n" % (packed[:5], len(packed) - 5, packed[5:])
        )
    )
    result = loop.get(f"http://site.test:{server.port}/")
    assert result.body.bytes() == packed
    assert result.header("Content-Encoding") == "gzip"


def test_trailers_are_kept_apart_from_the_head(serve, loop):
    server = serve(
        keep(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n"
            b"3\r\nabc\r\n0\r\nX-Sum: 9\r\nHTTP/1.1: 200\r\n\r\n"
        )
    )
    result = loop.get(f"http://site.test:{server.port}/")
    assert result.body.bytes() == b"abc"
    assert result.response_head == b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n"
    assert b"X-Sum: 9\r\n" in result.trailers
    assert result.header("x-sum") == ""


def test_interim_responses_are_left_out(serve, loop):
    server = serve(
        keep(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n" + ok(b"body"))
    )
    result = loop.get(f"http://site.test:{server.port}/")
    assert (result.status, result.body.bytes()) == (200, b"body")
    assert result.response_head == b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"
    assert result.header("link") == ""


def test_headers_are_found_whatever_their_case_and_repetition(serve, loop):
    server = serve(keep(ok(b"", b"Set-Cookie: a=1", b"SET-COOKIE:b=2", b"X-Latin: \xe9", b"X-Fold: a\r\n\t b")))
    result = loop.get(f"http://site.test:{server.port}/")
    assert result.status == 200
    assert result.header_all("set-cookie") == ["a=1", "b=2"]
    assert result.header("x-latin") == "é"
    assert result.header("x-fold") == "a b"
    assert result.header("absent") == ""


def test_connections_are_kept_per_host(serve, loop):
    server = serve(keep(ok()))
    for number in range(20):
        assert loop.get(f"http://a.test:{server.port}/{number}").status == 200
    assert server.connections == 1
    loop.get(f"http://b.test:{server.port}/")
    assert server.connections == 2


def test_a_connection_the_server_closed_meanwhile_is_replaced(serve, loop):
    server = serve(say(ok()))  # promises to keep the connection, closes it
    for _ in range(5):
        assert loop.get(f"http://a.test:{server.port}/").status == 200


def test_an_idle_connection_that_is_closed_does_not_keep_the_loop_awake(serve, loop):
    server = serve(keep(ok()))
    assert loop.get(f"http://a.test:{server.port}/").status == 200
    server.close()
    loop.until(lambda: loop.selector.select(0))  # the loop hears of it
    loop.turn(0)
    assert not loop.selector.select(0)


def test_http_1_0_with_keep_alive_is_recorded_as_sent(serve, loop):
    server = serve(keep(b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok"))
    results = [loop.get(f"http://a.test:{server.port}/{number}") for number in range(3)]
    assert [result.request_head for result in results] == server.heads  # libcurl steps down to HTTP/1.0
    assert {result.protocol for result in results} == {"http/1.0"}


def test_many_hosts_at_once(serve, loop):
    server = serve(keep(ok()))
    results = loop.get_all([Request(url=f"http://h{n % 40}.test:{server.port}/{n}", tag=n) for n in range(400)])
    assert {result.status for result in results} == {200}
    assert sorted(result.request.tag for result in results) == list(range(400))
    assert loop.fetcher.active == 0


def test_ipv6(serve, new_loop):
    try:
        server = serve(keep(ok()), address="::1")
    except OSError:
        pytest.skip("no IPv6 on this machine")
    loop = new_loop(lookup=lambda host: ["::1"])
    assert loop.get(f"http://[::1]:{server.port}/").ip == "::1"
    assert loop.get(f"http://six.test:{server.port}/").ip == "::1"
    assert server.heads[0].startswith(b"GET / HTTP/1.1\r\nHost: [::1]:")


def test_an_address_that_does_not_answer_is_followed_by_the_next(serve, new_loop):
    server = serve(keep(ok()))
    loop = new_loop(lookup=lambda host: ["::1", "127.0.0.2", "127.0.0.1"])
    assert loop.get(f"http://site.test:{server.port}/").ip == "127.0.0.1"


def test_overrides_lead_names_to_a_fixed_place(serve, new_loop):
    server = serve(keep(ok()))

    def lookup(host):
        raise AssertionError("DNS must not be asked")

    loop = new_loop(lookup=lookup, resolve=(f"*.sim.test=127.0.0.1:{server.port}", "other.test=127.0.0.1"))
    assert loop.get("http://a.sim.test/").status == 200
    assert loop.get("http://b.sim.test:8080/x").status == 200
    assert loop.get(f"http://other.test:{server.port}/").status == 200
    assert b"Host: a.sim.test\r\n" in server.heads[0]
    assert b"Host: b.sim.test:8080\r\n" in server.heads[1]


@pytest.mark.parametrize("text", ["nothing", "=127.0.0.1", "a=b", "a=127.0.0.1:x", "a=127.0.0.1:80:90"])
def test_an_override_that_cannot_be_read_is_named(new_loop, text):
    with pytest.raises(ValueError, match="resolve"):
        new_loop(resolve=(text,))


@pytest.mark.parametrize(
    "url",
    [
        "ftp://a.test/",
        "file:///etc/passwd",
        "nonsense",
        "",
        "http://",
        "http://u:p@a.test/",
        "gopher://a/",
        "http://a b/",
    ],
)
def test_urls_that_are_not_fetched(loop, url):
    result = loop.get(url)
    assert (result.failure, result.transient, result.status) == ("url", False, 0)
    assert result.detail


@pytest.fixture
def without_names(new_loop):
    def lookup(host):
        raise OSError("no network in this test")

    return new_loop(lookup=lookup)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    url=st.one_of(st.text(max_size=30), st.text(max_size=20).map("http://a.test/".__add__)),
    fields=st.fixed_dictionaries(
        {},
        optional={
            "etag": st.text(max_size=9),
            "headers": st.lists(st.tuples(st.text(max_size=5), st.text(max_size=5)), max_size=2).map(tuple),
            "username": st.text(max_size=9),
            "password": st.text(max_size=9),
            "cookie_jar": st.text(max_size=9),
            "proxy": st.one_of(st.text(max_size=9), st.text(max_size=9).map("http://".__add__)),
            "timeout": st.floats(),
            "max_body_bytes": st.integers(),
        },
    ),
)
def test_any_request_gets_an_answer(without_names, url, fields):
    loop = without_names
    assume(not re.search(r"\d", url + fields.get("proxy", "")))  # no addresses: nothing is to be connected to
    result = loop.get(url, **fields)
    assert result.failure in ("url", "request", "dns", "proxy")
    assert loop.fetcher.active == 0


@pytest.mark.parametrize(
    "fields", [{"username": "a\0b"}, {"password": "\ud800", "username": "a"}, {"timeout": float("inf")}]
)
def test_values_libcurl_cannot_take_are_refused_and_the_next_request_works(serve, loop, fields):
    server = serve(keep(ok()))
    assert loop.get(f"http://a.test:{server.port}/", **fields).failure == "request"
    assert loop.get(f"http://a.test:{server.port}/").status == 200


def test_nothing_is_called_back_from_submit(loop):
    results = []
    loop.fetcher.submit(Request(url="nonsense"), results.append)
    assert not results
    assert loop.fetcher.active == 1
    assert loop.fetcher.timeout() == 0
    loop.turn()
    assert len(results) == 1
    assert loop.fetcher.active == 0


def test_a_callback_that_raises_is_reported_and_the_others_go_on(serve, loop, caplog):
    server = serve(keep(ok()))
    results = []

    def done(result):
        results.append(result)
        if result.request.tag == 1:
            raise RuntimeError("a mistake")

    with caplog.at_level(logging.ERROR):
        for number in range(4):
            loop.fetcher.submit(Request(url=f"http://h{number}.test:{server.port}/", tag=number), done)
        loop.until(lambda: len(results) == 4)
    assert "a mistake" in caplog.text
    assert "http://h1.test" in caplog.text
    assert loop.fetcher.active == 0


def test_a_callback_may_submit_the_next_request(serve, loop):
    server = serve(keep(ok()))
    results = []

    def done(result):
        results.append(result)
        if len(results) < 50:
            loop.fetcher.submit(Request(url=f"http://a.test:{server.port}/{len(results)}"), done)

    loop.fetcher.submit(Request(url=f"http://a.test:{server.port}/"), done)
    loop.until(lambda: len(results) == 50)
    assert {result.status for result in results} == {200}


def test_refused_requests_that_submit_more_leave_the_loop_free(loop):
    count = 0

    def done(_result):
        nonlocal count
        count += 1
        loop.fetcher.submit(Request(url="nonsense"), done)

    loop.fetcher.submit(Request(url="nonsense"), done)
    loop.fetcher.tick()
    assert count == 1


def test_proxies_and_logins_of_the_environment_are_not_used(serve, loop, monkeypatch, tmp_path):
    server = serve(keep(ok()))
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    (tmp_path / ".netrc").write_text("machine site.test login me password secret\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert loop.get(f"http://site.test:{server.port}/").status == 200
    assert b"Authorization" not in server.heads[0]


def test_closing_drops_what_is_under_way(serve, new_loop, tmp_path):
    server = serve(lambda connection, head, path: connection.sendall(ok(b"x" * 5000)[:3000]) or True)
    loop = new_loop(spool_bytes=100)
    results = []
    loop.fetcher.submit(Request(url=f"http://site.test:{server.port}/"), results.append)
    loop.until(lambda: list((tmp_path / "spool").glob("*")))
    loop.fetcher.close()
    loop.fetcher.close()
    assert not results
    assert loop.fetcher.active == 0
    assert not list((tmp_path / "spool").glob("*"))


def test_a_callback_may_close_the_fetcher(serve, loop):
    server = serve(keep(ok()))
    results = []

    def done(result):
        results.append(result)
        loop.fetcher.close()

    loop.fetcher.submit(Request(url="nonsense"), done)
    for number in range(5):
        loop.fetcher.submit(Request(url=f"http://h{number}.test:{server.port}/"), done)
    for _ in range(3):
        loop.turn(0.01)
    assert len(results) == 1


def test_all_finished_at_once_and_the_first_closes(serve, loop):
    server = serve(keep(ok()))
    results = []

    def done(result):
        results.append(result)
        loop.fetcher.close()

    for number in range(5):
        loop.fetcher.submit(Request(url=f"http://h{number}.test:{server.port}/"), done)
    loop.until(lambda: results)
    assert len(results) == 1
    assert loop.fetcher.active == 0


def test_a_result_travels_to_another_process(serve, new_loop):
    server = serve(keep(ok(b"x" * 50)))
    loop = new_loop(spool_bytes=10)
    result = loop.get(f"http://site.test:{server.port}/", tag=7)
    copy = pickle.loads(pickle.dumps(result))
    assert copy.body.bytes() == b"x" * 50
    assert copy.header("content-length") == "50"
    copy.body.discard()


def test_settings_come_from_the_configuration(tmp_path):
    config = Config(contact="https://me.test", allow_private=True, timeout=7.0, spool_bytes=5, resolve=("a=127.0.0.1",))
    made = FetchSettings.from_config(config, tmp_path)
    assert (made.allow_private, made.timeout, made.spool_bytes, made.resolve) == (
        True, 7.0, 5, ("a=127.0.0.1",),
    )  # fmt: skip
    assert "https://me.test" in made.user_agent


def test_what_is_dropped_ends_without_a_word_wherever_it_is_and_the_rest_goes_on(serve, new_loop):
    asked = threading.Event()

    def answer(connection, head, path):
        if path.startswith("/hang"):
            asked.set()
            return True
        connection.sendall(ok())
        return True

    server = serve(answer)
    looked_up = threading.Event()

    def lookup(host: str) -> list[str]:
        if host == "unknown.test":
            looked_up.wait(PATIENCE)
        return ["127.0.0.1"]

    loop = new_loop(lookup=lookup, per_address=1)
    results: list[Result] = []
    hanging = [f"http://site.test:{server.port}/hang{n}" for n in range(3)]  # the first is sent, the others wait for it
    nowhere = [f"http://unknown.test:{server.port}/hang", "ftp://site.test/hang"]
    good = f"http://site.test:{server.port}/good"
    for url in (*hanging, *nowhere, good):
        loop.fetcher.submit(Request(url=url, tag=url), results.append)
    loop.until(lambda: asked.is_set() and loop.fetcher.parked == 3)
    results.clear()  # of the address that needs no network
    dropped = loop.fetcher.drop(lambda request: "/hang" in request.tag)
    assert {request.url for request in dropped} == {*hanging, nowhere[0]}
    loop.until(lambda: results)
    looked_up.set()
    assert [result.request.url for result in results] == [good]
    assert results[0].status == 200
    assert (loop.fetcher.active, loop.fetcher.parked) == (0, 0)
    assert loop.get(good).status == 200
