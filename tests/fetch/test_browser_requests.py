"""Requests with other methods than GET, which only a browser makes."""

import pytest

from tests.fetch.conftest import ok


def _echo(connection, head, _path):
    """Answers with the request as it came."""
    length = next((int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0)
    while len(head.partition(b"\r\n\r\n")[2]) < length:
        head += connection.recv(65536)
    answer = ok(head)
    connection.sendall(answer[: answer.index(b"\r\n\r\n") + 4] if head.startswith(b"HEAD ") else answer)
    return True


@pytest.mark.parametrize(("method", "content"), [("POST", b"hello"), ("POST", b""), ("OPTIONS", b""), ("PUT", b"\0\n")])
def test_method_and_content_are_sent(serve, loop, method, content):
    server = serve(_echo)

    result = loop.get(f"http://127.0.0.1:{server.port}/x", method=method, content=content)

    head, _, sent = result.body.bytes().partition(b"\r\n\r\n")
    assert head.startswith(f"{method} /x HTTP/1.1\r\n".encode())
    assert sent == content
    assert result.request_head == head + b"\r\n\r\n"


def test_a_handle_used_for_another_method_gets_again(serve, loop):
    server = serve(_echo)
    url = f"http://127.0.0.1:{server.port}/x"

    for method, content in (("HEAD", b""), ("POST", b"hello"), ("OPTIONS", b""), ("GET", b"")):
        result = loop.get(url, method=method, content=content)
        assert (result.status, result.failure) == (200, "")
        assert result.request_head.startswith(method.encode())

    assert result.body.bytes().startswith(b"GET /x HTTP/1.1\r\n")
    assert b"content-length" not in result.body.bytes().lower()
    assert server.connections == 1
