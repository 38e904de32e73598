"""Bodies in memory and on disk."""

import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hemeroteca.fetch import Request
from hemeroteca.fetch.body import Body, BodyWriter, Spool

from .conftest import keep, ok


@given(
    chunks=st.lists(st.binary(min_size=1, max_size=50), max_size=20),
    limit=st.integers(1, 400),
    spool_bytes=st.integers(0, 200),
    memory=st.integers(0, 300),
)
def test_a_body_is_the_beginning_of_what_was_written(tmp_path_factory, chunks, limit, spool_bytes, memory):
    spool = Spool(tmp_path_factory.getbasetemp() / "bodies", spool_bytes, memory)
    writer = BodyWriter(spool)
    writer.begin(limit)
    fitted = all(writer.write(chunk) for chunk in chunks)
    whole = b"".join(chunks)
    assert fitted == (len(whole) <= limit)
    body = writer.end()
    assert spool.held == 0
    assert body.bytes() == b"".join(body.chunks()) == whole[:limit]
    assert len(body) == len(whole[:limit])
    assert body.bytes(7) == whole[:limit][:7]
    if len(body) > spool_bytes:
        assert body.path is not None
    path = body.path
    body.discard()
    body.discard()
    assert len(body) == 0
    assert path is None or not Path(path).exists()


def test_a_spooled_body_can_be_read_by_its_owner_only(tmp_path):
    writer = BodyWriter(Spool(tmp_path / "spool", 5, 1000))
    writer.begin(100)
    writer.write(b"longer than five")
    body = writer.end()
    assert body.path is not None
    assert stat.S_IMODE(Path(body.path).stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "spool").stat().st_mode) == 0o700
    body.discard()


def test_bodies_of_all_requests_together_stay_within_the_memory_allowed(serve, new_loop):
    server = serve(keep(ok(b"x" * 60_000)))
    loop = new_loop(memory_bytes=100_000, spool_bytes=1 << 20)
    most = 0
    results = []
    for number in range(20):
        loop.fetcher.submit(Request(url=f"http://h{number}.test:{server.port}/"), results.append)

    def finished():
        nonlocal most
        most = max(most, loop.fetcher.held)
        return len(results) == 20

    loop.until(finished)
    assert most <= 100_000 + (1 << 17)  # one read of libcurl may go beyond
    assert loop.fetcher.held == 0
    assert all(result.body.bytes() == b"x" * 60_000 for result in results)
    for result in results:
        result.body.discard()


def test_beyond_the_memory_allowed_a_small_body_goes_to_disk(tmp_path):
    spool = Spool(tmp_path, 1000, 50)
    first, second = BodyWriter(spool), BodyWriter(spool)
    first.begin(1000)
    second.begin(1000)
    assert first.write(b"x" * 60)
    assert second.write(b"y" * 10)
    assert first.end().path is None
    body = second.end()
    assert body.path is not None
    assert body.bytes() == b"y" * 10


def test_an_empty_body():
    body = Body()
    assert (len(body), body.bytes(), list(body.chunks()), body.path) == (0, b"", [], None)


@pytest.mark.parametrize("size", [0, 1, 1000, 1001, 500_000])
def test_whatever_the_size_the_bytes_are_the_same(serve, new_loop, size):
    data = bytes(n % 251 for n in range(size))
    result = new_loop(spool_bytes=1000).get(f"http://a.test:{serve(keep(ok(data))).port}/")
    assert result.body.bytes() == data
    assert (result.body.path is not None) == (size > 1000)
    result.body.discard()
