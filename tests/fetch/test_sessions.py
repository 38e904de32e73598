"""Logins, cookies and proxies: each stays with the host and the crawl it belongs to."""

import hashlib
import re
import socket
import threading

import pytest

from hemeroteca.fetch import fetcher, proxies
from tests.waiting import PATIENCE

from .conftest import keep, ok, tls


def guarded(scheme: bytes):
    """Answers 401 until a login comes, then says whether it is right."""

    def answer(connection, head, path):
        login = re.search(rb"\r\nAuthorization: (.*?)\r\n", head)
        if login is None:
            challenge = b"WWW-Authenticate: " + scheme
            connection.sendall(b"HTTP/1.1 401 No\r\nContent-Length: 4\r\n" + challenge + b"\r\n\r\nwho?")
        elif right(login[1], path):
            connection.sendall(ok(b"welcome"))
        else:
            connection.sendall(b"HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n")
        return True

    return answer


def right(login: bytes, path: str) -> bool:
    if login.startswith(b"Basic "):
        return login == b"Basic bWU6c2VjcmV0"
    field = dict(re.findall(r'(\w+)="?([^",]*)', login.decode()))
    a1 = hashlib.md5(b"me:here:secret").hexdigest()
    a2 = hashlib.md5(f"GET:{path}".encode()).hexdigest()
    expected = hashlib.md5(
        f"{a1}:{field['nonce']}:{field['nc']}:{field['cnonce']}:{field['qop']}:{a2}".encode()
    ).hexdigest()
    return field["response"] == expected and field["uri"] == path


DIGEST = b'Digest realm="here", nonce="abc", qop="auth", algorithm=MD5'
BASIC = b'Basic realm="here"'


@pytest.mark.parametrize("scheme", [BASIC, DIGEST])
def test_login_as_the_server_asks_for_it(serve, loop, scheme):
    server = serve(guarded(scheme))
    result = loop.get(f"http://a.test:{server.port}/p?q=%7e", username="me", password="secret")
    assert (result.status, result.body.bytes()) == (200, b"welcome")
    assert result.request_head == server.heads[-1]
    assert b"401" not in result.response_head
    assert result.header("www-authenticate") == ""


def test_a_basic_login_is_sent_at_once_the_next_time(serve, loop):
    server = serve(guarded(BASIC))
    for _ in range(3):
        assert loop.get(f"http://a.test:{server.port}/", username="me", password="secret").status == 200
    assert len(server.heads) == 4


@pytest.mark.parametrize("scheme", [BASIC, DIGEST])
def test_a_login_is_not_sent_with_other_requests(serve, loop, scheme):
    server = serve(guarded(scheme))
    assert loop.get(f"http://a.test:{server.port}/", username="me", password="secret").status == 200
    assert loop.get(f"http://a.test:{server.port}/").status == 401
    assert loop.get(f"http://b.test:{server.port}/").status == 401
    assert b"Authorization" not in server.heads[-1] + server.heads[-2]


def test_what_one_login_taught_is_not_used_for_another(serve, loop):
    first, second = serve(guarded(DIGEST)), serve(keep(ok()))
    assert loop.get(f"http://a.test:{first.port}/", username="me", password="secret").status == 200
    loop.get(f"http://b.test:{second.port}/", username="you", password="other")
    assert b"Authorization" not in second.heads[0]


def test_a_wrong_password_is_an_answer_like_others(serve, loop):
    result = loop.get(f"http://a.test:{serve(guarded(BASIC)).port}/", username="me", password="wrong")
    assert (result.status, result.failure) == (403, "")


def cookies_of(head: bytes) -> set[bytes]:
    found = re.search(rb"\r\nCookie: (.*?)\r\n", head)
    return set(found[1].split(b"; ")) if found else set()


def test_cookies_stay_in_their_jar_and_with_their_host(serve, loop):
    server = serve(keep(ok(b"", b"Set-Cookie: a=1; Path=/", b"Set-Cookie: deep=2; Path=/deep")))
    for url, jar in [("a.test", "one"), ("a.test", "one"), ("a.test", "two"), ("b.test", "one"), ("a.test", "")]:
        loop.get(f"http://{url}:{server.port}/", cookie_jar=jar)
    result = loop.get(f"http://a.test:{server.port}/deep/x", cookie_jar="one")
    assert [cookies_of(head) for head in server.heads] == [
        set(), {b"a=1"}, set(), set(), set(), {b"a=1", b"deep=2"},
    ]  # fmt: skip
    assert result.request_head == server.heads[-1]


@pytest.mark.parametrize("cookie", [b"x=1; Domain=co.uk", b"x=1; Domain=other.test", b"x=1; Domain=uk", b"__Host-x=1"])
def test_cookies_for_somebody_else_are_not_kept(serve, loop, cookie):
    server = serve(keep(ok(b"", b"Set-Cookie: " + cookie)))
    for host in ("shop.co.uk", "bank.co.uk", "other.test", "shop.co.uk"):
        loop.get(f"http://{host}:{server.port}/", cookie_jar="one")
    assert not any(cookies_of(head) for head in server.heads)


def test_cookies_of_a_domain_are_shared_within_it(serve, loop):
    server = serve(keep(ok(b"", b"Set-Cookie: x=1; Domain=site.co.uk")))
    for host in ("www.site.co.uk", "shop.site.co.uk", "evilsite.co.uk"):
        loop.get(f"http://{host}:{server.port}/", cookie_jar="one")
    assert [cookies_of(head) for head in server.heads] == [set(), {b"x=1"}, set()]


def test_cookies_of_a_jar_can_be_forgotten(serve, loop):
    server = serve(keep(ok(b"", b"Set-Cookie: a=1")))
    url = f"http://a.test:{server.port}/"
    loop.get(url, cookie_jar="one")
    loop.get(url, cookie_jar="one")
    assert cookies_of(server.heads[-1]) == {b"a=1"}
    loop.fetcher.forget_cookies("one")
    loop.get(url, cookie_jar="one")
    assert cookies_of(server.heads[-1]) == set()


def test_a_jar_is_bounded(serve, loop, monkeypatch):
    monkeypatch.setattr(fetcher, "_MOST_COOKIES", 100)
    monkeypatch.setattr(fetcher, "_COOKIES_PER_DOMAIN", 5)
    given = [b"Set-Cookie: n%d=1" % number for number in range(20)]

    def answer(connection, _head, path):
        connection.sendall(ok(b"", *(given if path == "/gives" else ())))
        return True

    server = serve(answer)
    for path in ("gives", "asks"):
        for number in range(30):
            loop.get(f"http://h{number}.test:{server.port}/{path}", cookie_jar="one")
    sent = sum(len(cookies_of(head)) for head in server.heads if head.startswith(b"GET /asks"))
    assert 0 < sent <= 120  # of 600


class Proxy:
    """A small HTTP proxy: forwards plain requests, tunnels CONNECT; every name leads to 127.0.0.1."""

    def __init__(self, serve, refuse: bool = False) -> None:
        self.refuse = refuse
        self.server = serve(self.answer)
        self.port, self.heads = self.server.port, self.server.heads

    def answer(self, connection, head, target):
        if self.refuse:
            connection.sendall(b"HTTP/1.1 403 Forbidden by proxy\r\nContent-Length: 6\r\n\r\nproxy!")
            return False
        if head.startswith(b"CONNECT"):
            with socket.create_connection(("127.0.0.1", int(target.rpartition(":")[2]))) as onward:
                connection.sendall(b"HTTP/1.1 200 Connection established\r\nX-Proxy: yes\r\n\r\n")
                tunnel(connection, onward)
            return False
        port = int(re.match(r"http://[^/:]+:(\d+)", target)[1])
        with socket.create_connection(("127.0.0.1", port)) as onward:
            onward.sendall(head)
            connection.sendall(onward.recv(65536))
        return True


def tunnel(one: socket.socket, other: socket.socket) -> None:
    def copy(source, target):
        try:
            while data := source.recv(65536):
                target.sendall(data)
        except OSError:
            pass
        finally:
            for end in (source, target):
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    thread = threading.Thread(target=copy, args=(other, one), daemon=True)
    thread.start()
    copy(one, other)
    thread.join(PATIENCE)


def no_dns(host):
    raise AssertionError(f"{host} must be resolved by the proxy")


def test_a_plain_request_through_a_proxy(serve, new_loop):
    server, proxy = serve(keep(ok(b"page"))), Proxy(serve)
    loop = new_loop(lookup=no_dns, allow_private=False, proxy=f"http://me:word@127.0.0.1:{proxy.port}")
    result = loop.get(f"http://far.example:{server.port}/a?%7e")
    assert (result.status, result.body.bytes(), result.ip) == (200, b"page", "")
    assert b"Proxy-Authorization: Basic" in proxy.heads[0]
    assert proxy.heads[0].startswith(b"GET http://far.example:%d/a?%%7e HTTP/1.1\r\n" % server.port)
    assert b"Proxy-Authorization" not in result.request_head
    assert result.request_head == re.sub(rb"Proxy-Authorization:.*?\r\n", b"", proxy.heads[0])


def test_a_tunnel_through_a_proxy(serve, new_loop, certificates):
    server, proxy = serve(keep(ok(b"page")), context=tls(certificates / "good.pem")), Proxy(serve)
    loop = new_loop(
        lookup=no_dns, allow_private=False, proxy=f"http://127.0.0.1:{proxy.port}", ca_file=str(certificates / "ca.pem")
    )
    result = loop.get(f"https://www.good.test:{server.port}/a")
    assert (result.status, result.body.bytes()) == (200, b"page"), result.detail
    assert result.response_head == b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"
    assert result.request_head == server.heads[0]


def test_a_proxy_that_refuses_is_not_taken_for_the_site(serve, new_loop, certificates):
    proxy = Proxy(serve, refuse=True)
    result = new_loop(proxy=f"http://127.0.0.1:{proxy.port}").get("https://site.test/")
    assert (result.status, result.failure, result.response_head) == (0, "proxy", b"")
    assert "403" in result.detail


def test_a_proxy_that_is_not_there(new_loop):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        result = new_loop(proxy=f"socks5h://127.0.0.1:{closed.getsockname()[1]}").get("http://site.test/")
    assert (result.failure, result.transient) in (("proxy", True), ("connect", True))


def test_socks_lets_the_proxy_resolve(serve, new_loop):
    server = serve(keep(ok(b"page")))
    asked = []

    def socks(listener):
        connection, _ = listener.accept()
        with connection:
            connection.recv(262)
            connection.sendall(b"\x05\x00")
            request = connection.recv(262)
            asked.append(request)
            with socket.create_connection(("127.0.0.1", server.port)) as onward:
                connection.sendall(b"\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x50")
                tunnel(connection, onward)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=socks, args=(listener,), daemon=True).start()
        loop = new_loop(lookup=no_dns, allow_private=False, proxy=f"socks5h://127.0.0.1:{listener.getsockname()[1]}")
        result = loop.get("http://hidden.onion/x")
        assert (result.status, result.body.bytes()) == (200, b"page"), result.detail
        loop.close()
    assert asked[0][3] == 3  # a name, not an address
    assert b"hidden.onion" in asked[0]
    assert result.request_head == server.heads[0]


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://2130706433/",
        "http://[::1]/",
        "http://router/",
        "http://nas.local/",
        "http://a.b:25/",
    ],
)
def test_through_a_proxy_private_targets_are_refused_as_far_as_they_can_be_seen(serve, new_loop, url):
    proxy = Proxy(serve)
    result = new_loop(allow_private=False, proxy=f"http://127.0.0.1:{proxy.port}").get(url)
    assert result.failure in ("refused-address", "refused-port")
    assert proxy.server.connections == 0


def test_a_proxy_named_by_a_request_must_be_public(serve, new_loop):
    proxy = Proxy(serve)
    loop = new_loop(allow_private=False, lookup=lambda host: ["127.0.0.1"])
    for host in ("127.0.0.1", "proxy.test"):
        result = loop.get("http://site.test/", proxy=f"http://{host}:{proxy.port}")
        assert result.failure == "refused-address"
        assert "proxy" in result.detail
    assert proxy.server.connections == 0


def test_a_proxy_by_name_is_pinned(serve, new_loop):
    server, proxy = serve(keep(ok(b"page"))), Proxy(serve)
    loop = new_loop(lookup=lambda host: {"proxy.test": ["127.0.0.1"]}[host])
    result = loop.get(f"http://site.test:{server.port}/", proxy=f"http://proxy.test:{proxy.port}")
    assert result.status == 200, result.detail
    assert len(proxy.heads) == 1


@pytest.mark.parametrize(
    "url", ["socks4://a", "socks5://a", "ftp://a", "nonsense", "http://", "http://a:99999", "http://ñ"]
)
def test_proxies_that_cannot_be_used_are_named(new_loop, url):
    with pytest.raises(ValueError, match="proxy"):
        proxies.read(url)
    result = new_loop().get("http://site.test/", proxy=url)
    assert result.failure == "proxy"
    assert not result.transient


def test_the_guard_of_a_proxy_is_asked_again_on_connecting(serve, new_loop, fooled_once):
    proxy = Proxy(serve)
    loop = new_loop(allow_private=False, lookup=lambda host: ["127.0.0.1"])
    result = loop.get("http://site.example/", proxy=f"http://proxy.test:{proxy.port}")
    assert result.failure == "refused-address", result.detail
    assert proxy.server.connections == 0
