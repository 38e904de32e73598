"""The address guard, alone and in front of real connections."""

import ipaddress
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hemeroteca.fetch import Guard, Request
from hemeroteca.fetch.guard import BLOCKED_PORTS
from tests.waiting import PATIENCE

from .conftest import keep, ok

# fmt: off
REFUSED = [
    "0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.127.255.255", "100.100.100.200", "127.0.0.1",
    "127.255.255.254", "168.63.129.16", "169.254.0.1", "169.254.169.254", "172.16.0.1", "172.31.255.255",
    "192.0.0.1", "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1", "198.19.255.255",
    "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255", "::", "::1",
    "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::127.0.0.1", "::8.8.8.8", "64:ff9b::808:808", "64:ff9b:1::1", "100::1",
    "2001::1", "2001:0:1::1", "2001:2::1", "2001:10::1", "2001:20::1", "2001:db8::1", "2002:7f00:1::1",
    "2002:808:808::1", "3fff::1", "4000::1", "5f00::1", "fc00::1", "fd00::1", "fd00:ec2::254", "fd20:ce::254",
    "fe80::1", "fec0::1", "ff02::1", "ff0e::1", "200::1", "1::1",
]
PUBLIC = [
    "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.1", "100.63.255.255", "100.128.0.1", "126.255.255.255",
    "128.0.0.1", "169.253.1.1", "172.15.255.255", "172.32.0.1", "192.0.1.1", "192.167.1.1", "198.17.255.255",
    "198.20.0.1", "223.255.255.255", "2001:4860:4860::8888", "2606:4700::1111", "2a00:1450:4001::1", "2003::1",
]
# fmt: on


@pytest.mark.parametrize("ip", REFUSED)
def test_addresses_that_are_not_public_are_refused_with_a_reason(ip):
    assert Guard().check(ip)
    assert Guard(allow_private=True).check(ip) is None


@pytest.mark.parametrize("ip", PUBLIC)
def test_public_addresses_pass(ip):
    assert Guard().check(ip) is None


@given(st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)))
def test_nothing_passes_that_python_knows_as_special(ip):
    if ip.is_private or ip.is_multicast or ip.is_reserved or ip.is_loopback or ip.is_link_local or ip.is_unspecified:
        assert Guard().check(str(ip))


@given(st.text(max_size=40))
def test_what_is_not_an_address_never_passes(text):
    try:
        ipaddress.ip_address(text)
    except ValueError:
        assert Guard().check(text)
        assert Guard(allow_private=True).check(text)


def test_ports_of_other_services_are_refused():
    assert {22, 25, 6667, 110, 143, 6000} <= BLOCKED_PORTS
    assert not {80, 443, 8080, 8443, 8000, 3000} & BLOCKED_PORTS
    assert Guard().check_port(25)
    assert Guard(allow_private=True).check_port(25) is None


# in front of real connections: the server would answer, so a passing test means that nothing was connected


@pytest.fixture
def server(serve):
    return serve(keep(ok()))


@pytest.mark.parametrize(
    "host",
    [
        *(
            "127.0.0.1",
            "0x7f.1",
            "2130706433",
            "0177.0.0.1",
            "127.1",
            "0",
            "0.0.0.0",
            "１２７.0.0.1",
            "169.254.169.254",
        ),
        *("[::1]", "[::ffff:127.0.0.1]", "[::]", "[64:ff9b::7f00:1]"),
        *("localhost", "localhost.", "LOCALHOST", "a.localhost"),
    ],
)
def test_spellings_of_private_addresses_are_refused(new_loop, server, host):
    loop = new_loop(allow_private=False)
    result = loop.get(f"http://{host}:{server.port}/")
    assert (result.failure, result.transient) == ("refused-address", False)
    assert "allow_private" in result.detail
    assert server.connections == 0


def test_names_that_resolve_to_private_addresses_are_refused(new_loop, server):
    loop = new_loop(allow_private=False, lookup=lambda host: ["127.0.0.1", "::1", "10.1.2.3"])
    result = loop.get(f"http://inside.test:{server.port}/")
    assert result.failure == "refused-address"
    assert "inside.test" in result.detail
    assert "loopback address 127.0.0.1" in result.detail
    assert server.connections == 0


@pytest.fixture
def public_loopback(monkeypatch):
    """127.0.0.2 passes for public: tests must not send anything to the real internet."""
    check = Guard.check
    monkeypatch.setattr(Guard, "check", lambda itself, ip: None if ip == "127.0.0.2" else check(itself, ip))


def test_of_several_addresses_only_the_public_ones_are_used(new_loop, serve, server, public_loopback):
    outside = serve(keep(ok(b"public")), address="127.0.0.2", port=server.port)
    loop = new_loop(allow_private=False, lookup=lambda host: ["127.0.0.1", "127.0.0.2", "::1"])
    result = loop.get(f"http://mixed.test:{server.port}/")
    assert (result.body.bytes(), result.ip) == (b"public", "127.0.0.2")
    outside.close()
    for _ in range(3):
        loop.get(f"http://mixed.test:{server.port}/")
    assert server.connections == 0


def test_a_name_that_changes_to_a_private_address_is_refused(new_loop, serve, server, public_loopback):
    serve(keep(ok(b"public")), address="127.0.0.2", port=server.port)
    answers = iter([["127.0.0.2"], ["127.0.0.1"], ["127.0.0.2"]])
    loop = new_loop(allow_private=False, lookup=lambda host: next(answers), dns_seconds=0)
    url = f"http://rebind.test:{server.port}/"
    assert loop.get(url).body.bytes() == b"public"
    assert loop.get(url).failure == "refused-address"  # although a connection to the good address is still open
    assert loop.get(url).body.bytes() == b"public"
    assert server.connections == 0


def test_libcurl_does_not_ask_again_after_the_check(new_loop, server):
    asked = []

    def lookup(host):
        asked.append(host)
        return ["127.0.0.1"]

    loop = new_loop(lookup=lookup)
    for number in range(5):
        assert loop.get(f"http://once.test:{server.port}/{number}").status == 200
    assert asked == ["once.test"]


def test_the_address_connected_to_is_checked_again(new_loop, server, fooled_once):
    """If the first check were fooled, the second stands."""
    loop = new_loop(allow_private=False, lookup=lambda host: ["127.0.0.1"])
    result = loop.get(f"http://fooled.test:{server.port}/")
    assert (result.failure, result.transient) == ("refused-address", False)
    assert "loopback" in result.detail
    assert server.connections == 0


def test_an_address_that_was_not_checked_is_not_connected_to(new_loop, server):
    loop = new_loop()
    assert loop.get(f"http://a.test:{server.port}/").status == 200
    transfer = loop.fetcher._pool[next(iter(loop.fetcher._pool))][0]
    transfer.allowed, transfer.guard = ("10.0.0.1",), Guard(allow_private=True)

    class Address:
        family, socktype, protocol, addr = 2, 1, 6, ("10.0.0.2", 80)

    assert transfer._open_socket(0, Address) == -1
    assert transfer.trouble is not None
    assert transfer.trouble.code == "refused-address"


def test_libcurl_never_resolves_a_name_by_itself(new_loop, server, monkeypatch):
    """If a pin were lost, the transfer fails instead of resolving."""
    from hemeroteca.fetch import fetcher

    loop = new_loop()
    monkeypatch.setattr(fetcher, "pins", lambda host, port, addresses: [])
    result = loop.get(f"http://unpinned.test:{server.port}/")
    assert (result.failure, result.transient) == ("dns", True)
    assert "may not look it up itself" in result.detail
    assert server.connections == 0


@pytest.mark.parametrize("port", [22, 25, 6667])
def test_dangerous_ports_are_refused(new_loop, port):
    loop = new_loop(allow_private=False, lookup=lambda host: ["127.0.0.1"])
    result = loop.get(f"http://site.test:{port}/")
    assert (result.failure, result.transient) == ("refused-port", False)


def test_overrides_are_guarded_too(new_loop, server):
    loop = new_loop(allow_private=False, resolve=(f"*.sim.test=127.0.0.1:{server.port}", "*.mail.test=1.1.1.1:25"))
    assert loop.get("http://a.sim.test/").failure == "refused-address"
    assert loop.get("http://a.mail.test/").failure == "refused-port"
    assert server.connections == 0


def test_one_request_may_be_allowed_private_addresses_without_opening_the_others(new_loop, server):
    loop = new_loop(allow_private=False, lookup=lambda host: ["127.0.0.1"])
    url = f"http://intranet.test:{server.port}/"
    assert loop.get(url, allow_private=True).status == 200
    assert loop.get(url).failure == "refused-address"
    assert loop.get(f"http://127.0.0.1:{server.port}/", allow_private=True).status == 200


def test_redirects_to_private_addresses_meet_the_guard_as_new_requests(new_loop, serve):
    inner = serve(keep(ok(b"secret")))
    outer = serve(
        keep(b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:%d/\r\nContent-Length: 0\r\n\r\n" % inner.port)
    )
    loop = new_loop(allow_private=False, lookup=lambda host: ["127.0.0.1"])
    first = loop.get(f"http://outside.test:{outer.port}/", allow_private=True)
    assert loop.get(first.header("location")).failure == "refused-address"
    assert inner.connections == 0


def test_lookups_that_hang_end_with_the_connect_timeout(new_loop):
    released = threading.Event()
    loop = new_loop(lookup=lambda host: released.wait(PATIENCE) and [], connect_timeout=0.2, dns_threads=1)
    result = loop.get_all([Request(url="http://a.test/"), Request(url="http://b.test/")])
    released.set()
    assert {r.failure for r in result} == {"dns"}
    assert all(r.transient for r in result)


def test_a_network_that_was_named_is_open_and_nothing_else():
    guard = Guard(networks=["192.0.2.0/24", "2001:db8:1::/48"])
    assert guard.check("192.0.2.7") is None
    assert guard.check("2001:db8:1::5") is None
    for closed in ("192.0.3.1", "198.51.100.1", "127.0.0.1", "::ffff:192.0.2.7", "2001:db8:2::1", "not-an-address"):
        assert closed == "192.0.3.1" or guard.check(closed), closed
    assert guard.check_port(25)
    with pytest.raises(ValueError, match=r"192\.0\.2\.1/24"):
        Guard(networks=["192.0.2.1/24"])
