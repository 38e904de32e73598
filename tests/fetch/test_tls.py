"""TLS and HTTP/2: good certificates pass, bad ones are named, `insecure` is for one request only."""

import gzip
import ssl

import pytest

from hemeroteca.fetch import Request
from tests.waiting import PATIENCE

from .conftest import keep, ok, tls


@pytest.fixture
def secure_loop(new_loop, certificates):
    return new_loop(ca_file=str(certificates / "ca.pem"))


def test_a_trusted_certificate(serve, secure_loop, certificates):
    server = serve(keep(ok()), context=tls(certificates / "good.pem"))
    result = secure_loop.get(f"https://good.test:{server.port}/")
    assert (result.status, result.failure, result.protocol) == (200, "", "http/1.1")
    assert result.request_head == server.heads[0]


@pytest.mark.parametrize(
    ("file", "host", "words"),
    [
        ("expired.pem", "good.test", "has expired"),
        ("good.pem", "bad.test", "is for another host"),
        ("alone.pem", "good.test", "is self-signed"),
    ],
)
def test_a_bad_certificate_is_named_and_insecure_gets_past_it(serve, secure_loop, certificates, file, host, words):
    server = serve(keep(ok()), context=tls(certificates / file))
    url = f"https://{host}:{server.port}/"
    refused = secure_loop.get(url)
    assert (refused.failure, refused.transient, refused.status) == ("tls", False, 0)
    assert words in refused.detail
    assert not server.heads
    assert secure_loop.get(url, insecure=True).status == 200
    assert secure_loop.get(url).failure == "tls"  # not over the connection that insecure opened


def test_an_issuer_nobody_knows(serve, new_loop, certificates, tmp_path):
    server = serve(keep(ok()), context=tls(certificates / "good.pem"))
    result = new_loop(ca_file=str(certificates / "a.crt")).get(f"https://good.test:{server.port}/")
    assert result.failure == "tls"
    assert "issuer" in result.detail


def test_a_missing_file_of_certificates_is_named(serve, new_loop, certificates, tmp_path):
    server = serve(keep(ok()), context=tls(certificates / "good.pem"))
    result = new_loop(ca_file=str(tmp_path / "absent.pem")).get(f"https://good.test:{server.port}/")
    assert result.failure == "tls"
    assert "ca-certificates" in result.detail


def test_a_server_that_speaks_no_tls(serve, secure_loop):
    class Greet:
        def wrap_socket(self, connection, server_side):
            connection.sendall(b"220 mail.test ready\r\n")
            return connection

    server = serve(keep(ok()), context=Greet())
    result = secure_loop.get(f"https://good.test:{server.port}/", timeout=PATIENCE)
    assert (result.failure, result.transient) == ("tls", False)
    assert result.detail


def test_a_handshake_that_breaks_off_may_be_tried_again(serve, secure_loop):
    class Slam:
        def wrap_socket(self, connection, server_side):
            connection.close()
            raise OSError("closed")

    server = serve(keep(ok()), context=Slam())
    result = secure_loop.get(f"https://good.test:{server.port}/")
    assert (result.failure, result.transient) in (("tls", True), ("reset", True)), result.detail


def test_tls_1_2_is_enough(serve, secure_loop, certificates):
    context = tls(certificates / "good.pem")
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    server = serve(keep(ok()), context=context)
    assert secure_loop.get(f"https://good.test:{server.port}/").status == 200


@pytest.fixture
def h2_server(nginx, certificates, tmp_path):
    (tmp_path / "www").mkdir()
    (tmp_path / "www" / "page.html").write_bytes(b"<p>" + b"hello " * 5000)
    (tmp_path / "www" / "page.html.gz").write_bytes(gzip.compress(b"<p>" + b"hello " * 5000))
    (tmp_path / "www" / "long").write_bytes(b"x" * 3_000_000)
    return nginx(
        f"listen 127.0.0.1:{{port}} ssl http2; root {tmp_path}/www; gzip_static on; "
        f"ssl_certificate {certificates}/good.pem; ssl_certificate_key {certificates}/good.pem;"
        "location /headers { add_header X-Long "
        + "a" * 3000
        + "; return 200 'ok'; } location /away { return 301 /page.html; }"
    )


def test_http_2_over_tls(h2_server, secure_loop):
    result = secure_loop.get(f"https://good.test:{h2_server.port}/page.html?%7e")
    assert (result.status, result.protocol, result.ip) == (200, "h2", "127.0.0.1")
    assert result.header("content-encoding") == "gzip"
    assert gzip.decompress(result.body.bytes()) == b"<p>" + b"hello " * 5000
    assert result.request_head.startswith(b"GET /page.html?%7e HTTP/2\r\nHost: good.test:")
    assert result.request_head.endswith(b"\r\n\r\n")
    assert result.response_head.startswith(b"HTTP/2 200")
    assert result.response_head.endswith(b"\r\n\r\n")


def test_http_2_validators_redirects_and_limits(h2_server, new_loop, certificates):
    loop = new_loop(ca_file=str(certificates / "ca.pem"), max_header_bytes=2000, spool_bytes=1000)
    root = f"https://good.test:{h2_server.port}"
    first = loop.get(f"{root}/page.html")
    assert loop.get(f"{root}/page.html", etag=first.header("etag")).status == 304
    assert loop.get(f"{root}/away").header("location").endswith("/page.html")
    cut = loop.get(f"{root}/long", max_body_bytes=1_000_000)
    assert (cut.truncated, len(cut.body), cut.failure) == ("length", 1_000_000, "")
    assert loop.get(f"{root}/headers").failure == "header-too-large"
    assert loop.get(f"{root}/page.html").status == 200


def test_http_2_many_at_once(h2_server, secure_loop):
    url = f"https://good.test:{h2_server.port}/page.html"
    results = secure_loop.get_all([Request(url=f"{url}?{number}", tag=number) for number in range(100)])
    assert {(result.status, result.protocol) for result in results} == {(200, "h2")}
    assert all(result.request_head.startswith(b"GET /page.html?%d HTTP/2" % result.request.tag) for result in results)
