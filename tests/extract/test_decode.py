"""Content-Encoding is undone as far as allowed and no further."""

import gzip
import tracemalloc
import zlib

import brotli
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hemeroteca.extract import decode_body

TEXT = b"<p>hemeroteca</p>" * 5000


def raw_deflate(data: bytes) -> bytes:
    stream = zlib.compressobj(wbits=-15)
    return stream.compress(data) + stream.flush()


ENCODERS = {"gzip": gzip.compress, "x-gzip": gzip.compress, "deflate": zlib.compress, "br": brotli.compress}


@pytest.mark.parametrize("name", ENCODERS)
def test_each_encoding(name: str) -> None:
    assert decode_body(ENCODERS[name](TEXT), name, 1 << 20) == (TEXT, "")


def test_layers_are_undone_from_the_last() -> None:
    body = brotli.compress(gzip.compress(zlib.compress(TEXT)))
    assert decode_body(body, "deflate, GZIP ,br", 1 << 20) == (TEXT, "")


def test_deflate_without_its_header() -> None:
    assert decode_body(raw_deflate(TEXT), "deflate", 1 << 20) == (TEXT, "")


def test_several_gzip_members_and_padding() -> None:
    body = gzip.compress(b"uno ") + gzip.compress(b"dos") + b"\0" * 100
    assert decode_body(body, "gzip", 100) == (b"uno dos", "")


@pytest.mark.parametrize("encoding", ["", "identity", " , "])
def test_no_encoding(encoding: str) -> None:
    assert decode_body(TEXT, encoding, len(TEXT)) == (TEXT, "")
    assert decode_body(TEXT, encoding, 10) == (TEXT[:10], "body-limit")


def test_gzip_that_is_none_is_passed_on() -> None:
    assert decode_body(b"<html>", "gzip", 100) == (b"<html>", "not-gzip")


def test_unknown_encodings_are_named() -> None:
    assert decode_body(b"abc", "zstd", 100) == (b"abc", "unknown-encoding:zstd")
    assert decode_body(b"abc", ",".join(["gzip"] * 9), 100) == (b"abc", "too-many-encodings")


@pytest.mark.parametrize("name", ENCODERS)
def test_a_cut_body_gives_what_arrived(name: str) -> None:
    body = ENCODERS[name](bytes(range(256)) * 3000)
    data, note = decode_body(body[: len(body) // 2], name, 1 << 24)
    assert note.startswith(("cut-", "bad-"))
    assert (bytes(range(256)) * 3000).startswith(data)


@pytest.mark.parametrize("name", ENCODERS)
def test_a_bomb_stops_at_the_limit(name: str) -> None:
    bomb = ENCODERS[name](bytes(64 << 20))
    tracemalloc.start()
    data, note = decode_body(bomb, name, 4 << 20)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (len(data), note) == (4 << 20, "decompression-limit")
    assert peak < 6 << 20


def test_a_long_body_is_undone_whatever_its_end_says() -> None:
    body = gzip.compress(TEXT * 30)
    assert decode_body(body, "gzip", 1 << 24) == (TEXT * 30, "")
    assert decode_body(body, "gzip", 1 << 20) == ((TEXT * 30)[: 1 << 20], "decompression-limit")
    two = gzip.compress(TEXT * 30) + gzip.compress(TEXT * 20)
    assert decode_body(two, "gzip", 1 << 24) == (TEXT * 50, "")
    lie = body[:-4] + (4 << 20).to_bytes(4, "little")
    data, note = decode_body(lie, "gzip", 1 << 24)
    assert note == "bad-gzip"
    assert (TEXT * 30).startswith(data)


def test_a_bomb_in_a_bomb_stops_at_the_limit() -> None:
    bomb = gzip.compress(gzip.compress(bytes(64 << 20)))
    data, note = decode_body(bomb, "gzip, gzip", 1 << 20)
    assert (len(data), note) == (1 << 20, "decompression-limit")


@given(st.binary(max_size=2000), st.sampled_from(["gzip", "deflate", "br", "gzip, br", "x", ""]), st.integers(0, 5000))
def test_any_bytes(body: bytes, encoding: str, limit: int) -> None:
    data, _ = decode_body(body, encoding, limit)
    assert len(data) <= limit


@given(st.binary(max_size=5000), st.sampled_from(sorted(ENCODERS)))
def test_round_trip(body: bytes, name: str) -> None:
    assert decode_body(ENCODERS[name](body), name, 5000) == (body, "")
