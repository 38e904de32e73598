"""Sorting the header lines of a transfer."""

import re

from hypothesis import given
from hypothesis import strategies as st

from hemeroteca.fetch.body import Body
from hemeroteca.fetch.heads import HeaderBook, protocol_of, sort_response, without_proxy_login
from hemeroteca.fetch.request import Request, Result

names = st.from_regex(r"[A-Za-z-]{1,10}", fullmatch=True)
values = st.from_regex(r"[!-~]{0,20}", fullmatch=True)
fields = st.lists(st.tuples(names, values), max_size=6)


def lines_of(status: int, headers, end: bytes = b"\r\n") -> list[bytes]:
    lines = [b"HTTP/1.1 %d X\r\n" % status]
    return [*lines, *(f"{name}: {value}\r\n".encode() for name, value in headers), end]


@given(
    before=st.lists(st.tuples(st.sampled_from([100, 102, 103]), fields), max_size=3),
    status=st.integers(200, 599),
    headers=fields,
    trailers=fields,
    end=st.sampled_from([b"\r\n", b"\n"]),
    earlier=st.integers(0, 3),
)
def test_the_final_head_is_found_between_interim_heads_and_trailers(before, status, headers, trailers, end, earlier):
    lines = lines_of(401, [("X", "1")]) * earlier  # answers to earlier requests of the same transfer
    begin = len(lines)
    for code, interim in before:
        lines += lines_of(code, interim)
    final = lines_of(status, headers, end)
    after = [f"{name}: {value}\r\n".encode() for name, value in trailers]
    heads = sort_response([*lines, *final, *after], begin)
    assert heads.final == b"".join(final)
    assert heads.trailers == b"".join(after)
    assert heads.complete


@given(fields, st.integers(0, 3))
def test_a_head_that_never_ended_is_not_complete(headers, interim):
    lines = lines_of(103, []) * interim + lines_of(200, headers)[:-1]
    assert not sort_response(lines).complete


@given(st.lists(st.binary(max_size=20), max_size=20), st.integers(0, 5))
def test_any_lines_are_sorted_without_an_error(lines, begin):
    heads = sort_response(lines, min(begin, len(lines)))
    assert len(heads.final) + len(heads.trailers) <= len(b"".join(lines))


@given(st.binary(max_size=300))
def test_any_head_can_be_asked_for_headers(head):
    result = Result(request=Request(url=""), body=Body(), response_head=b"HTTP/1.1 200 OK\r\n" + head)
    for name, value in result.fields():
        assert name == name.lower()
        assert "\n" not in value
        assert value in result.header_all(name)


@given(
    st.text(max_size=30),
    st.text(max_size=30),
    st.lists(st.tuples(st.text(max_size=10), st.text(max_size=10)), max_size=3),
)
def test_no_input_adds_a_line_of_its_own(etag, modified, extra):
    try:
        lines = HeaderBook("agent").build(etag, modified, extra)
    except ValueError:
        return
    assert all(re.fullmatch(rb"[^\r\n\0]*", line) for line in lines)
    assert len(lines) <= 5 + len(extra)


def test_protocols():
    assert protocol_of(b"HTTP/1.1 200 OK\r\n") == "http/1.1"
    assert protocol_of(b"HTTP/1.0 200 OK\r\n") == "http/1.0"
    assert protocol_of(b"HTTP/2 200 \r\n") == "h2"


def test_the_login_of_a_proxy_is_not_kept():
    head = b"GET http://a/ HTTP/1.1\r\nHost: a\r\nProxy-Authorization: Basic x\r\nproxy-connection: close\r\n\r\n"
    assert without_proxy_login(head) == b"GET http://a/ HTTP/1.1\r\nHost: a\r\nproxy-connection: close\r\n\r\n"
