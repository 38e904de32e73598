"""What is erased is gone from files, index and store; what only looked like it stays readable; who and why is kept."""

from uuid import uuid4

import pytest

from hemeroteca.accounts import SYSTEM, Actor, Role
from hemeroteca.archive import erasure, queries
from hemeroteca.archive.erasure import ErasureScope
from hemeroteca.archive.models import Erasure, IndexedCapture
from hemeroteca.archive.stats import stats
from hemeroteca.archive.verify import verify
from hemeroteca.errors import Denied, Invalid, NotFound
from tests.archive.making import small_archive
from tests.warc.reading import by_warcio

pytestmark = [pytest.mark.database, pytest.mark.django_db]
SECRET = b"<p>second" + b" words" * 100


@pytest.fixture
def archive(tmp_path):
    return small_archive(tmp_path / "warc", max_bytes=1500)


def erase(archive, wanted, reason="asked for by the author, letter of 3 May"):
    row = erasure.ask(SYSTEM, wanted, reason)
    found = list({one.id: one for one in erasure.selected(wanted)}.values())
    return erasure.erase(archive.folder, row, found, lambda *_: None)


def records(archive):
    return [seen for path in sorted(archive.folder.glob("*.warc.gz")) for seen in by_warcio(path.read_bytes())]


def test_a_page_is_gone_from_files_and_index_and_its_mirror_stays_readable(archive):
    done = erase(archive, ErasureScope(("http://example.org/",)))
    assert (done.captures, done.addresses, done.kept) == (4, 1, 1)
    assert not IndexedCapture.objects.filter(url="http://example.org/").exists()
    left = records(archive)
    assert all(seen.url != "http://example.org/" for seen in left)
    assert b"".join(path.read_bytes() for path in archive.folder.glob("*")).count(b"example.org/\r\n") == 0
    (mirror,) = queries.captures_of("http://mirror.example/")
    assert mirror.kind == "response"
    assert mirror.location(archive.folder).read().payload() == SECRET
    assert verify(archive.folder).troubles == []
    assert stats().captures == IndexedCapture.objects.count() == 3


def test_one_capture_goes_with_those_that_repeat_it_at_its_address(archive):
    first = archive.captures[0]
    done = erase(archive, ErasureScope(capture=first.record_id))
    assert done.captures == 3, "the visit that brought the same, and the 304"
    assert [row.captured_ms for row in queries.captures_of("http://example.org/")] == [archive.captures[3].captured_ms]
    assert all(seen.payload != b"<p>first" + b" words" * 100 for seen in records(archive))
    assert verify(archive.folder).troubles == []


def test_a_prefix_in_a_span_of_time(archive):
    done = erase(archive, ErasureScope(("http://example.org/*",), since="20240104", until="20240105"))
    assert done.captures == 2, "the last version of the front page, and the redirect"
    assert queries.captures_of("http://mirror.example/")[0].location(archive.folder).read().payload() == SECRET
    assert len(queries.captures_of("http://example.org/")) == 3


def test_who_asked_and_why_is_kept_without_what_was_said(archive):
    with pytest.raises(Invalid, match="reason"):
        erasure.ask(SYSTEM, ErasureScope(("http://example.org/",)), " ")
    with pytest.raises(NotFound):
        erasure.ask(SYSTEM, ErasureScope(capture=uuid4()), "because")
    with pytest.raises(Denied):
        erasure.ask(Actor("eva", roles=(Role.DIRECTOR,)), ErasureScope(("http://example.org/",)), "because")
    assert not Erasure.objects.exists()
    erase(archive, ErasureScope(("http://example.org/about",)), "court order 12/24")
    (row,) = erasure.recent(SYSTEM)
    assert (row.reason, row.captures, row.urls) == ("court order 12/24", 1, ["http://example.org/about"])
    assert row.records == [str(archive.captures[4].record_id)]
    assert row.done_ms >= row.asked_ms
