"""Records have exactly the bytes of ISO 28500:2017, and every reader sees the same exchange in them."""

import gzip
import hashlib
import io
import os
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hemeroteca import warc
from hemeroteca.warc import builder, scan
from tests.warc.making import exchange as exchange_of
from tests.warc.making import revisit as revisit_of
from tests.warc.reading import by_fastwarc, by_warcio, warcio_check

ID = UUID("018bcfe5-687b-7000-8000-000000000001")
MS = 1_700_000_000_123
URL = "https://example.org/a?b=1"
REQUEST = b"GET /a?b=1 HTTP/1.1\r\nHost: example.org\r\nUser-Agent: Hemeroteca\r\n\r\n"
RESPONSE = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\n"


def exchange(head=RESPONSE, body=b"hello", url=URL, request=REQUEST, **more):
    return exchange_of(url, MS, "93.184.216.34", "http/1.1", request, head, body, record_id=ID, **more)


def sha256(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def members(records):
    return [gzip.decompress(records.data[m.offset : m.offset + m.length]) for m in records.members]


def test_a_response_and_its_request_have_exactly_these_bytes():
    records = exchange()
    response, request = members(records)
    assert response.decode() == (
        "WARC/1.1\r\n"
        "WARC-Type: response\r\n"
        f"WARC-Record-ID: <urn:uuid:{ID}>\r\n"
        "WARC-Date: 2023-11-14T22:13:20.123Z\r\n"
        "WARC-Target-URI: https://example.org/a?b=1\r\n"
        "WARC-IP-Address: 93.184.216.34\r\n"
        "WARC-Protocol: http/1.1\r\n"
        "Content-Type: application/http; msgtype=response\r\n"
        f"WARC-Payload-Digest: {sha256(b'hello')}\r\n"
        f"WARC-Block-Digest: {sha256(RESPONSE + b'hello')}\r\n"
        f"Content-Length: {len(RESPONSE) + 5}\r\n"
        "\r\n" + RESPONSE.decode() + "hello\r\n\r\n"
    )
    assert request.decode() == (
        "WARC/1.1\r\n"
        "WARC-Type: request\r\n"
        f"WARC-Record-ID: <urn:uuid:{records.members[1].record_id}>\r\n"
        "WARC-Date: 2023-11-14T22:13:20.123Z\r\n"
        "WARC-Target-URI: https://example.org/a?b=1\r\n"
        "WARC-IP-Address: 93.184.216.34\r\n"
        "WARC-Protocol: http/1.1\r\n"
        f"WARC-Concurrent-To: <urn:uuid:{ID}>\r\n"
        "Content-Type: application/http; msgtype=request\r\n"
        f"WARC-Block-Digest: {sha256(REQUEST)}\r\n"
        f"Content-Length: {len(REQUEST)}\r\n"
        "\r\n" + REQUEST.decode() + "\r\n\r\n"
    )
    assert records.digest == sha256(b"hello")
    assert records.size == len(records.data)


def test_a_revisit_names_the_capture_that_holds_its_payload():
    original = warc.Original(ID, "https://example.org/first", MS - 5000, sha256(b"hello"))
    records = revisit_of(URL, MS, "", "h2", REQUEST, RESPONSE, original, body_size=5)
    text = members(records)[0].decode()
    assert "WARC-Type: revisit\r\n" in text
    assert "WARC-Profile: http://netpreserve.org/warc/1.1/revisit/identical-payload-digest\r\n" in text
    assert f"WARC-Refers-To: <urn:uuid:{ID}>\r\n" in text
    assert "WARC-Refers-To-Target-URI: https://example.org/first\r\n" in text
    assert "WARC-Refers-To-Date: 2023-11-14T22:13:15.123Z\r\n" in text
    assert "WARC-Truncated: length\r\n" in text
    assert f"WARC-Payload-Digest: {sha256(b'hello')}\r\n" in text
    assert text.endswith(RESPONSE.decode() + "\r\n\r\n")
    assert [seen.status for seen in by_warcio(records.data)] == ["200", ""]
    assert by_warcio(records.data) == by_fastwarc(records.data)


def test_not_modified_is_a_revisit_of_its_own_profile():
    original = warc.Original(ID, URL, MS - 5000, sha256(b"hello"))
    head = b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"
    records = revisit_of(URL, MS, "", "http/1.1", REQUEST, head, original, not_modified=True)
    text = members(records)[0].decode()
    assert "WARC-Profile: http://netpreserve.org/warc/1.1/revisit/server-not-modified\r\n" in text
    assert "WARC-Truncated" not in text
    assert text.endswith(head.decode() + "\r\n\r\n")


def test_other_kinds_of_records():
    records = [
        warc.warcinfo(MS, "a.warc.gz", {"software": "Hemeroteca\r\nevil: yes"}),
        warc.record("resource", MS, "image/png", b"\x89PNG", "urn:screenshot:" + URL),
    ]
    data = b"".join(r.data for r in records)
    seen = by_warcio(data)
    assert [s.kind for s in seen] == ["warcinfo", "resource"]
    assert seen == by_fastwarc(data)
    assert seen[0].payload == b"software: Hemeroteca evil: yes\r\n"


def test_a_body_without_its_chunks_is_not_called_chunked():
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: text/plain\r\n\r\n"
    records = exchange(head, b"5\r\nhello\r\n0\r\n\r\n")
    assert b"\r\nX-Archive-Orig-Transfer-Encoding: chunked\r\n" in members(records)[0]
    assert by_warcio(records.data) == by_fastwarc(records.data)
    assert by_warcio(records.data)[0].payload == b"5\r\nhello\r\n0\r\n\r\n", "the body itself looked chunked and stays"


def test_a_cut_body_has_its_true_length_and_a_reason():
    head = b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\nX: y\r\n\r\n"
    records = exchange(head, b"only this", truncated="length")
    text = members(records)[0]
    assert b"WARC-Truncated: length\r\n" in text
    assert b"\r\nContent-Length: 9\r\nX-Archive-Orig-content-length: 1000\r\nX: y\r\n\r\nonly this\r\n\r\n" in text
    assert by_warcio(records.data) == by_fastwarc(records.data)


def test_http2_is_told_by_the_record_not_by_the_status_line():
    head = b"HTTP/2 404 \r\ncontent-type: text/html\r\n\r\n"
    request = b"GET / HTTP/2\r\nHost: example.org\r\n\r\n"
    records = exchange_of(URL, MS, "", "h2", request, head, b"")
    response, sent = members(records)
    assert b"WARC-Protocol: h2\r\n" in response
    assert b"\r\n\r\nHTTP/1.1 404 Not Found\r\n" in response
    assert b"\r\n\r\nGET / HTTP/1.1\r\n" in sent
    assert by_warcio(records.data) == by_fastwarc(records.data)


def test_what_we_sent_to_sign_in_is_not_stored():
    request = b"GET / HTTP/1.1\r\nHost: a\r\nauthorization: Basic c2VjcmV0\r\nCookie: id=secret\r\nX: y\r\n\r\n"
    stored = members(exchange(request=request))[1]
    assert b"c2VjcmV0" not in stored
    assert b"secret" not in stored
    assert b"authorization: (not stored)\r\n" in stored
    assert b"X: y\r\n" in stored


def test_a_server_that_speaks_no_http_does_not_spoil_the_file():
    records = exchange(b"ICY 200 OK\r\nicy-name: radio\r\n\r\n", b"mp3")
    assert b"X-Archive-Orig-Status-Line: ICY 200 OK\r\n" in members(records)[0]
    assert by_warcio(records.data)[0].status == "200"


def test_a_spooled_body_gives_the_same_record_through_a_file(tmp_path):
    data = b"0123456789" * 5000
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 50000\r\n\r\n"
    (tmp_path / "body").write_bytes(data)
    streamed = exchange(head, tmp_path / "body")
    whole = exchange(head, data)
    assert isinstance(streamed.source, Path)
    content = streamed.source.read_bytes()
    assert len(content) == streamed.size
    main = streamed.main
    assert gzip.decompress(content[: main.length]) == members(whole)[0]
    assert [s.payload for s in by_warcio(content)] == [s.payload for s in by_warcio(whole.data)]
    streamed.discard()
    assert not streamed.source.exists()


WORDS = [
    b"Transfer-Encoding: chunked", b"Content-Length: 3", b"HTTP/1.1 200 OK", b"\r", b"\n", b"\r\n",
    b"\t", b" ", b"\x0c", b"\x85", b"\xc2\xa0", b":", b": v", b"a", b"A : b", b"\x00", b"\xff", b"1\r\nx\r\n0\r\n\r\n",
]  # fmt: skip
WILD = st.binary(max_size=100) | st.lists(st.sampled_from(WORDS) | st.binary(max_size=3), max_size=12).map(b"".join)


@given(WILD, WILD, st.sampled_from([200, 301, 404, 999]))
@settings(max_examples=300, deadline=None)
def test_no_head_or_body_can_make_readers_disagree(lines, body, status):
    head = b"HTTP/1.1 %d Reason\r\n" % status + lines + b"\r\n\r\n"
    records = exchange(head, body)
    ours = by_fastwarc(records.data)
    assert [s.kind for s in ours] == ["response", "request"]
    assert ours[0].payload == body
    assert ours == _raw_warcio(records.data)


@given(WILD)
def test_any_head_at_all_is_stored_as_http(head):
    stored = builder.stored_head(head, 3)
    assert stored.startswith((b"HTTP/1.1 ", b"HTTP/1.0 "))
    assert stored.find(b"\r\n\r\n") == len(stored) - 4
    assert stored.count(b"\n") == stored.count(b"\r") == stored.count(b"\r\n")


@given(st.text(max_size=80), st.text(max_size=20), st.text(max_size=20), st.text(max_size=10))
def test_nothing_hostile_adds_a_line_to_a_record(url, ip, protocol, truncated):
    records = exchange_of("http://a/" + url, MS, ip, protocol, b"", RESPONSE, b"hello", truncated)
    text = gzip.decompress(records.data).split(b"\r\n\r\n")[0]
    names = [line.split(b":")[0] for line in text.splitlines()[1:]]
    allowed = [
        b"WARC-Type", b"WARC-Record-ID", b"WARC-Date", b"WARC-Target-URI", b"WARC-IP-Address", b"WARC-Protocol",
        b"WARC-Truncated", b"Content-Type", b"WARC-Payload-Digest", b"WARC-Block-Digest", b"Content-Length",
    ]  # fmt: skip
    assert names == [name for name in allowed if name in names]
    assert text.count(b"\n") == text.count(b"\r\n")


def test_ids_are_version_7_and_sort_by_time():
    ids = [warc.new_id(MS + i) for i in range(100)]
    assert all(i.version == 7 and i.variant == "specified in RFC 4122" for i in ids)
    assert ids == sorted(ids)
    assert len({warc.new_id(MS) for _ in range(1000)}) == 1000


def test_warcio_check_passes(tmp_path):
    path = tmp_path / "a.warc.gz"
    path.write_bytes(warc.warcinfo(MS, path.name, {"software": "x"}).data + exchange().data)
    assert warcio_check(path) == 0


def _raw_warcio(data):
    """warcio without content decoding: a random Content-Encoding header must not matter here."""
    from warcio.archiveiterator import ArchiveIterator

    from tests.warc.reading import Seen

    return [
        Seen(
            record.rec_type,
            record.rec_headers.get_header("WARC-Record-ID"),
            record.rec_headers.get_header("WARC-Target-URI"),
            record.http_headers.get_statuscode() if record.rec_type == "response" else "",
            record.raw_stream.read(),
        )
        for record in ArchiveIterator(io.BytesIO(data), check_digests="raise")
    ]


@pytest.mark.parametrize("status", [b"HTTP/1.1 200", b"HTTP/1.0 200 OK", b"HTTP/3 200", b"HTTP/2.0 200 fine"])
def test_status_lines_of_every_version_are_read(status):
    records = exchange(status + b"\r\n\r\n")
    assert [s.status for s in by_warcio(records.data)] == ["200", ""]
    assert by_warcio(records.data) == by_fastwarc(records.data)


def test_a_pipe_is_told_apart_from_a_file(tmp_path):
    pipe = tmp_path / "pipe.warc.gz"
    os.mkfifo(pipe)
    held = os.open(pipe, os.O_RDWR)  # else whoever opens it waits for somebody who writes
    try:
        (damage,) = scan.scan(pipe)
    finally:
        os.close(held)
    assert "a pipe is not read here" in damage.reason
