"""Under which name replay is, for whom, and when serving refuses or goes without."""

import socket
from dataclasses import replace

import pytest

from hemeroteca import config
from hemeroteca.cli import serve
from hemeroteca.replay import addresses, program

HERE = "http://replay.localhost:8081"


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:8080", "LOCALHOST:80", "127.0.0.1:8080", "127.8.8.8", "[::1]:8080"]
)
def test_readers_on_this_machine_have_replay_without_settings(host):
    assert addresses.origin_for(host, HERE) == HERE


@pytest.mark.parametrize(
    "host", ["192.168.1.5:8080", "archive.example.org", "localhost.example.org", "", "[2001:db8::1]"]
)
def test_readers_elsewhere_need_a_name(host):
    assert addresses.origin_for(host, HERE) == ""
    assert addresses.origin_for(host, "https://replay.example.org/") == "https://replay.example.org"


@pytest.mark.parametrize(
    "url", ["https://archive.example.org:8443", "https://ARCHIVE.example.org", "http://127.0.0.1:8081"]
)
def test_serving_refuses_a_name_that_is_the_consoles(url):
    settings = config.Config(public_url="https://archive.example.org", replay_url=url)
    with pytest.raises(config.ConfigError, match="cookies ignore ports"):
        serve.replay_address(settings, [])


@pytest.mark.parametrize(
    "url", ["replay.example.org", "ftp://replay.example.org", "https://replay.example.org/x", "https://"]
)
def test_an_address_of_replay_is_a_bare_origin(url):
    with pytest.raises(config.ConfigError, match="only scheme, name and port"):
        serve.replay_address(config.Config(replay_url=url), [])


def test_a_port_nobody_asked_for_may_be_taken():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        (other,) = serve.listen_for_replay(config.Config(port=port - 1), port - 1)
        with other:
            assert other.getsockname()[1] != port
        with pytest.raises(serve.ServeError, match="taken"):
            serve.listen_for_replay(config.Config(replay_port=port), 1)


def test_without_pywb_or_when_switched_off_there_is_none():
    settings = config.Config(replay_python="/nowhere/python")
    assert program.python_of(settings) == ""
    assert program.python_of(replace(settings, replay=False)) == ""
    assert serve.replay_address(settings, []) == ""
