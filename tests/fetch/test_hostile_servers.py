"""Servers that misbehave: every one ends with its reason, within its limits, and the next request works."""

import socket
import threading

import pytest

from hemeroteca.fetch import Request
from tests.waiting import PATIENCE

from .conftest import keep, ok, reset, say


def drip(step: float, data: bytes = b"x", stop: threading.Event | None = None):
    """Sends the head at once and then one piece after another, for ever."""
    stop = stop or threading.Event()

    def answer(connection, _head, _path):
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
        while not stop.wait(step):
            connection.sendall(data)
        return False

    return answer


def test_an_endless_body_is_cut_at_its_limit(serve, loop):
    server = serve(drip(0, b"x" * 8192))
    result = loop.get(f"http://a.test:{server.port}/", max_body_bytes=100_000)
    assert (result.status, result.failure, result.truncated) == (200, "", "length")
    assert result.body.bytes() == b"x" * 100_000
    assert result.ok


def test_a_body_of_exactly_the_limit_is_whole(serve, loop):
    server = serve(keep(ok(b"x" * 1000)))
    url = f"http://a.test:{server.port}/"
    assert loop.get(url, max_body_bytes=1000).truncated == ""
    cut = loop.get(url, max_body_bytes=999)
    assert (cut.truncated, len(cut.body)) == ("length", 999)


def test_a_cut_body_beyond_the_spool_size_is_on_disk_and_exact(serve, new_loop):
    server = serve(drip(0, bytes(range(256)) * 64))
    loop = new_loop(spool_bytes=10_000)
    result = loop.get(f"http://a.test:{server.port}/", max_body_bytes=50_001)
    assert result.body.path is not None
    assert result.body.bytes() == (bytes(range(256)) * 200)[:50_001]
    result.body.discard()


def test_a_slow_drip_ends_with_the_total_time(serve, loop):
    server = serve(drip(0.02, b"x" * 20))
    result = loop.get(f"http://a.test:{server.port}/", timeout=3)  # long enough for the head, whatever else runs
    assert (result.status, result.failure, result.truncated, result.transient) == (200, "timeout", "time", True)
    assert len(result.body) > 0
    assert result.body.bytes().strip(b"x") == b""


def test_a_trickle_is_too_slow(serve, new_loop):
    server = serve(drip(0.3))
    loop = new_loop(low_speed_seconds=3, low_speed_bytes=1000)
    result = loop.get(f"http://a.test:{server.port}/")
    assert (result.failure, result.truncated, result.transient) == ("too-slow", "time", True)


def test_silence_is_a_timeout(serve, loop):
    released = threading.Event()
    server = serve(lambda *_: released.wait(PATIENCE) and False)
    result = loop.get(f"http://a.test:{server.port}/", timeout=0.3)
    released.set()
    assert (result.status, result.failure, result.transient, result.response_head) == (0, "timeout", True, b"")


@pytest.mark.parametrize(
    ("data", "failure", "transient"),
    [
        (b"", "empty", True),
        (b"garbage\r\n\r\n", "protocol", False),
        (b"<html>HTTP/0.9 is refused</html>", "protocol", False),
        (b"HTTP/1.1 banana\r\n\r\n", "protocol", False),
        (b"HTTP/7.5 200 OK\r\n\r\n", "protocol", False),
        (b"HTTP/1.1 200 OK\r\nno colon here\r\n\r\n", "protocol", False),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n", "protocol", False),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello", "protocol", False),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "protocol", False),
    ],
)
def test_answers_that_are_not_http(serve, loop, data, failure, transient):
    server = serve(say(data))
    result = loop.get(f"http://a.test:{server.port}/")
    assert (result.failure, result.transient) == (failure, transient), result.detail
    assert result.detail
    assert len(result.body) == 0


@pytest.mark.parametrize(
    "data",
    [
        ok(b"x" * 100)[:-40],
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3c\r\n" + b"x" * 60 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3c\r\n" + b"x" * 60 + b"\r\nZZZ\r\n",
    ],
)
def test_a_body_that_breaks_off_is_kept_with_its_reason(serve, loop, data):
    server = serve(say(data))
    result = loop.get(f"http://a.test:{server.port}/")
    assert (result.status, result.failure, result.truncated, result.transient) == (200, "reset", "disconnect", True)
    assert result.body.bytes() == b"x" * 60
    assert result.response_head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert result.request_head == server.heads[0]


def test_a_reset_in_the_middle_of_the_body(serve, loop):
    def answer(connection, _head, path):
        connection.sendall(ok(b"x" * 1000)[:-500])
        gone.wait(PATIENCE)
        reset(connection)
        return False

    gone = threading.Event()
    server = serve(answer)
    results = []
    loop.fetcher.submit(Request(url=f"http://a.test:{server.port}/"), results.append)
    loop.until(lambda: loop.fetcher.held == 500)
    gone.set()
    loop.until(lambda: results)
    assert (results[0].failure, results[0].truncated, len(results[0].body)) == ("reset", "disconnect", 500)
    assert loop.fetcher.held == 0


def test_a_reset_before_any_answer(serve, loop):
    def answer(connection, _head, _path):
        reset(connection)

    result = loop.get(f"http://a.test:{serve(answer).port}/")
    assert (result.failure, result.status, result.transient) == ("reset", 0, True)


def test_more_body_than_promised_is_ignored(serve, loop):
    server = serve(say(ok(b"hello") + b"and more that nobody asked for"))
    result = loop.get(f"http://a.test:{server.port}/")
    assert (result.status, result.failure, result.body.bytes()) == (200, "", b"hello")
    assert loop.get(f"http://a.test:{server.port}/").body.bytes() == b"hello"


@pytest.mark.parametrize(
    "headers",
    [
        b"X-Long: " + b"a" * 20_000 + b"\r\n",
        b"".join(b"X-%d: 1\r\n" % n for n in range(2000)),
        b"X-Long: " + b"a" * 150_000 + b"\r\n",  # beyond what libcurl takes as one line
        b"X-More: " + b"a" * 90_000 + b"\r\n" + (b"X-More: " + b"a" * 90_000 + b"\r\n") * 4,  # and as all of them
        b"".join(b"X-%d: 1\r\n" % n for n in range(6000)),
    ],
    ids=["bytes", "count", "line", "block", "many"],
)
@pytest.mark.parametrize("body", [b"", b"body"])
def test_giant_headers(serve, new_loop, headers, body):
    loop = new_loop(max_header_bytes=10_000, max_headers=500)
    server = serve(say(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n" % len(body) + headers + b"\r\n" + body))
    result = loop.get(f"http://a.test:{server.port}/")
    assert (result.failure, result.transient, result.status) == ("header-too-large", False, 0), result.detail
    assert len(result.response_head) == len(result.body) == 0


def test_endless_headers_end(serve, new_loop):
    def answer(connection, _head, _path):
        connection.sendall(b"HTTP/1.1 200 OK\r\n")
        while True:
            connection.sendall(b"X-Again: and again\r\n" * 100)

    result = new_loop(max_header_bytes=10_000).get(f"http://a.test:{serve(answer).port}/")
    assert result.failure == "header-too-large"


def test_endless_interim_responses_end(serve, loop):
    def answer(connection, _head, _path):
        while True:
            connection.sendall(b"HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n" * 100)

    result = loop.get(f"http://a.test:{serve(answer).port}/", timeout=PATIENCE)
    assert result.failure == "header-too-large", result.detail


def test_an_unasked_protocol_switch_is_no_page(serve, loop):
    server = serve(say(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nbytes"))
    result = loop.get(f"http://a.test:{server.port}/", timeout=5)
    assert result.failure
    assert result.status == 0


def test_nobody_listens(loop):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        result = loop.get(f"http://a.test:{closed.getsockname()[1]}/")
    assert (result.failure, result.transient, result.status) == ("connect", True, 0)


def test_the_spool_folder_cannot_be_written(serve, new_loop, tmp_path):
    (tmp_path / "file").write_text("in the way")
    loop = new_loop(spool_dir=tmp_path / "file" / "spool", spool_bytes=10)
    result = loop.get(f"http://a.test:{serve(keep(ok(b'x' * 100))).port}/")
    assert (result.failure, result.transient, len(result.body)) == ("storage", True, 0)
    assert loop.fetcher.held == 0


def test_after_all_kinds_of_trouble_the_same_fetcher_works(serve, loop):
    for data in (b"", b"garbage", ok(b"x" * 100)[:-50], b"HTTP/1.1 200 OK\r\nX: " + b"a" * 200_000 + b"\r\n\r\n"):
        loop.get(f"http://a.test:{serve(say(data)).port}/")
    result = loop.get(f"http://a.test:{serve(keep(ok())).port}/")
    assert (result.status, result.body.bytes(), result.failure) == (200, b"ok", "")
