"""The index can be checked against the files, repaired from them, and made again from them alone."""

import random
from operator import itemgetter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hemeroteca import warc
from hemeroteca.archive import queries
from hemeroteca.archive.models import IndexedCapture, WarcFile
from hemeroteca.archive.verify import verify
from hemeroteca.warc import scan
from tests.archive.making import Archive, small_archive
from tests.warc.making import exchange

pytestmark = [pytest.mark.database, pytest.mark.django_db]


def rows():
    names = [name for name in queries.CaptureRow.__struct_fields__ if name not in ("id", "importance")]
    return [{name: getattr(row, name) for name in names} for row in queries.all_rows()]


@pytest.fixture
def archive(tmp_path):
    return small_archive(tmp_path / "warc", max_bytes=1500)


def test_a_good_archive_is_sound(archive):
    report = verify(archive.folder)
    assert report.troubles == []
    assert report.sound
    assert report.captures == 7
    assert report.files > 1


def test_an_archive_still_being_written_is_sound(tmp_path):
    archive = Archive(tmp_path)
    archive.add("http://example.org/", "2024", b"hello")
    archive.writer.append(b"not acknowledged yet")
    assert verify(tmp_path).troubles == []


def test_captures_that_arrive_during_the_check_are_no_trouble(tmp_path, monkeypatch):
    archive = Archive(tmp_path)
    archive.add("http://example.org/", "2024", b"hello")
    real = scan.scan

    def busy(*arguments, **options):
        archive.add("http://example.org/", "2025", b"meanwhile")
        return real(*arguments, **options)

    monkeypatch.setattr(scan, "scan", busy)
    assert verify(tmp_path).troubles == []
    assert IndexedCapture.objects.count() == 2


def test_a_lost_index_is_made_again_from_the_files_alone(archive):
    before = rows()
    files = list(WarcFile.objects.order_by("name").values_list("name", "size", "closed", "digest"))
    IndexedCapture.objects.all().delete()
    WarcFile.objects.all().delete()

    assert not verify(archive.folder).sound
    report = verify(archive.folder, repair=True)
    assert report.added == 7
    assert report.sound
    assert sorted(map(str, rows())) == sorted(map(str, before))
    assert list(WarcFile.objects.order_by("name").values_list("name", "size", "closed", "digest")) == files
    assert verify(archive.folder).troubles == []
    stale = {page.urlkey for page in queries.stale_pages(100)}
    assert stale == {row.urlkey for row in IndexedCapture.objects.all()}, "whoever indexes measures them again"


@given(st.integers(0, 6000), st.integers(0, 4000), st.integers(0, 40))
@settings(max_examples=60, deadline=None)
def test_records_of_any_shape_are_found_by_their_heads_alone(tmp_path_factory, head, body, more):
    path = tmp_path_factory.mktemp("x") / "x.warc.gz"
    text = random.Random(head).randbytes(head).hex()[:head]
    first = b"HTTP/1.1 200 OK\r\nX: " + text.encode() + b"\r\n" + b"Y: z\r\n" * more + b"\r\n"
    content = random.Random(body).randbytes(body) + b"\x1f\x8b\x08" * more
    data = [exchange("http://a/", 1, "", "", b"", first, content).data for _ in range(3)]
    path.write_bytes(b"".join(data))
    places = [(found.offset, found.length, found.record.head, found.record.size) for found in scan.scan(path)]
    assert len(places) == 3
    quick = scan.scan(path, payloads=False)
    assert [(found.offset, found.length, found.record.head, found.record.size) for found in quick] == places


def test_a_check_ends_within_a_file_when_it_shall(tmp_path):
    archive = small_archive(tmp_path / "warc")  # one file
    told = []

    def cancelled(name, records):
        told.append(records)
        if records == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        verify(archive.folder, progress=cancelled)
    assert told == [0, 1, 2, 3]


def test_a_repair_that_was_ended_early_leaves_versions_right(archive):
    before = rows()
    IndexedCapture.objects.all().delete()
    last = verify(archive.folder).records

    def cancelled(name, records):
        if records == last:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        verify(archive.folder, repair=True, progress=cancelled)
    assert verify(archive.folder, repair=True).added < len(before)
    place = itemgetter("warc_name", "offset")
    assert sorted(rows(), key=place) == sorted(before, key=place)


def test_reading_heads_only_gives_the_same_index(archive):
    for path in archive.folder.glob("*.warc.gz"):
        whole = [
            (found.offset, found.length, found.record.headers, found.record.head, found.record.size)
            for found in scan.scan(path)
        ]
        heads = [
            (found.offset, found.length, found.record.headers, found.record.head, found.record.size)
            for found in scan.scan(path, payloads=False)
        ]
        assert whole == heads
    before = rows()
    IndexedCapture.objects.all().delete()
    WarcFile.objects.all().delete()
    assert verify(archive.folder, repair=True, digests=False).added == 7
    assert sorted(map(str, rows())) == sorted(map(str, before))


def test_rows_that_lie_are_corrected_and_rows_without_records_removed(archive):
    before = rows()
    first, second = IndexedCapture.objects.order_by("id")[:2]
    IndexedCapture.objects.filter(pk=first.pk).update(status=500, digest="sha256:wrong", url="http://evil.example/")
    IndexedCapture.objects.filter(pk=second.pk).update(offset=second.offset + 1)

    report = verify(archive.folder)
    assert [trouble.repaired for trouble in report.troubles] == [False, False, False]
    assert not report.sound
    report = verify(archive.folder, repair=True)
    assert (report.corrected, report.removed, report.added) == (1, 1, 1)
    assert sorted(map(str, rows())) == sorted(map(str, before))


def test_a_changed_byte_is_found(archive):
    capture = archive.captures[0]
    path = archive.folder / capture.warc_name
    data = bytearray(path.read_bytes())
    data[capture.offset + capture.length // 2] ^= 0xFF
    path.write_bytes(data)
    reasons = [trouble.reason for trouble in verify(archive.folder).troubles]
    assert any("digest it had when it was closed" in reason for reason in reasons)
    assert len(reasons) >= 2, "the record too"
    assert IndexedCapture.objects.count() == 7
    verify(archive.folder, repair=True)
    assert IndexedCapture.objects.count() == 7, (
        "a damaged record does not take its row with it: the file may be restored"
    )


def test_a_missing_file_is_told_and_its_captures_stay(archive):
    name = archive.captures[0].warc_name
    (archive.folder / name).unlink()
    report = verify(archive.folder, repair=True)
    assert [trouble.file for trouble in report.troubles] == [name]
    assert "gone" in report.troubles[0].reason
    assert IndexedCapture.objects.count() == 7


def test_a_cut_file_is_told(archive):
    capture = archive.captures[0]
    path = archive.folder / capture.warc_name
    path.write_bytes(path.read_bytes()[: capture.offset + 20])
    report = verify(archive.folder, repair=True)
    assert any("lacks its last" in trouble.reason for trouble in report.troubles)
    assert IndexedCapture.objects.count() == 7


def test_a_repeated_rendering_is_indexed_as_html_again(archive):
    made = warc.record("resource", 1_700_000_000_000, "text/html", b"<p>made", "urn:dom:http://example.org/")
    original = warc.Original(made.main.record_id, "urn:dom:http://example.org/", 1_700_000_000_000, made.digest)
    again = warc.records(
        warc.Capture(url="urn:dom:http://example.org/", captured_ms=1_700_000_001_000, original=original)
    )
    path = archive.folder / "other.warc.gz"
    path.write_bytes(made.data + again.data)
    assert verify(archive.folder, repair=True).sound
    found = list(queries.all_rows("url = %s", ["urn:dom:http://example.org/"]))
    assert [(row.kind, row.mime) for row in found] == [("resource", "text/html"), ("revisit", "text/html")]
