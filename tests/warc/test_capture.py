"""A capture written as records and read back is the same capture."""

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from hemeroteca import warc
from hemeroteca.warc.exchanges import Exchange

MS = 1_700_000_000_123
NAMES = st.sampled_from(["Content-Type", "ETag", "X-Odd", "Set-Cookie", "Link"])
VALUES = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=20).map(str.strip)
BODIES = st.binary(max_size=200)
DIGEST = "sha256:" + "0" * 64


@st.composite
def heads(draw, first):
    lines = [first, *(f"{name}: {value}" for name, value in draw(st.lists(st.tuples(NAMES, VALUES), max_size=4)))]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


@st.composite
def captures(draw):
    status = draw(st.sampled_from([200, 301, 404, 503]))
    capture = warc.Capture(
        url=draw(st.sampled_from(["https://example.org/a?b=1", "http://b.example/ñ"])),
        captured_ms=MS,
        status=status,
        response_head=draw(heads(f"HTTP/1.1 {status} Reason")),
        body=draw(BODIES),
        ip=draw(st.sampled_from(["", "192.0.2.1", "2001:db8::1"])),
        protocol=draw(st.sampled_from(["", "http/1.1", "h2"])),
        truncated=draw(st.sampled_from(["", "length", "time", "disconnect"])),
        record_id=warc.new_id(MS),
    )
    if draw(st.booleans()):
        capture.request_head = draw(heads(draw(st.sampled_from(["GET / HTTP/1.1", "POST /x HTTP/1.1"]))))
        if capture.request_head.startswith(b"POST"):
            capture.sent = draw(BODIES)
    if draw(st.booleans()):  # a revisit
        capture.original = warc.Original(warc.new_id(MS - 9), "https://example.org/first", MS - 9, DIGEST)
        capture.body, capture.truncated = b"", ""
        if draw(st.booleans()):
            capture.status, capture.not_modified = 304, True
            capture.response_head = b"HTTP/1.1 304 Not Modified\r\n\r\n"
    if draw(st.booleans()):
        capture.attach(draw(st.binary(min_size=1)), draw(BODIES), "https://example.org/shown")
        for beside in capture.attached:
            beside.record_id = warc.new_id(MS)
    return capture


def written(capture: warc.Capture, path: Path) -> None:
    path.write_bytes(b"".join(warc.records(one).data for one in (capture, *capture.attached)))


@settings(deadline=None, max_examples=200)
@given(captures())
def test_a_capture_survives_its_records(capture):
    with TemporaryDirectory() as folder:
        written(capture, Path(folder) / "a.warc.gz")
        found = list(warc.captures(Path(folder) / "a.warc.gz", Path(folder)))
    assert all(isinstance(one, Exchange) for one in found), found
    assert [one.capture for one in found] == [capture]


@settings(deadline=None, max_examples=50)
@given(st.lists(captures(), max_size=4))
def test_captures_beside_each_other_stay_apart(several):
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.warc.gz"
        parts = []
        for capture in several:
            written(capture, path)
            parts.append(path.read_bytes())
        path.write_bytes(warc.warcinfo(MS, path.name, {}).data + b"".join(parts))
        found = list(warc.captures(path, Path(folder)))
    assert [one.capture for one in found if one.capture.kind != "warcinfo"] == several


def test_a_long_body_lies_in_a_file_and_comes_back_in_one(tmp_path):
    (tmp_path / "body").write_bytes(b"0123456789" * 200_000)
    head = b"HTTP/1.1 200 OK\r\n\r\n"
    capture = warc.Capture(
        url="http://a.example/", captured_ms=MS, status=200, response_head=head, path=str(tmp_path / "body")
    )
    made = warc.records(capture)
    made.source.rename(tmp_path / "a.warc.gz")
    (found,) = warc.captures(tmp_path / "a.warc.gz", tmp_path)
    assert found.capture.body == b""
    assert found.capture.size == 2_000_000
    assert found.capture.digest() == capture.digest() == made.digest
    found.capture.discard()
    assert not Path(found.capture.path).exists()


def test_content_is_read_without_its_encoding():
    import gzip

    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n"
    capture = warc.Capture(url="http://a/", captured_ms=MS, response_head=head, body=gzip.compress(b"hola"))
    assert capture.content() == (b"hola", "")
    assert capture.digest() == warc.payload_digest(capture.body)
