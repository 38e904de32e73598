"""Pruning lets go of visits that brought nothing new, and never of a version."""

import errno
import os

import pytest

from hemeroteca.archive import memento, queries, services
from hemeroteca.archive.models import IndexedCapture, WarcFile
from hemeroteca.archive.prune import Retention, finish, prune
from hemeroteca.archive.selection import Selection
from hemeroteca.archive.verify import verify
from hemeroteca.warc import stored_record
from hemeroteca.warc.timestamps import start_ms
from hemeroteca.warc.writer import WarcWriteError
from tests.archive.making import Archive

pytestmark = [pytest.mark.database, pytest.mark.django_db]

ALL = Selection()


@pytest.fixture
def archive(tmp_path):
    """A page visited every day of a month; it changed on the 11th and the 21st."""
    archive = Archive(tmp_path, max_bytes=4000)
    for day in range(1, 31):
        body = b"page %d " % ((day - 1) // 10) * 50
        archive.add("http://example.org/", f"202401{day:02d}", body)
        if day == 15:
            archive.add("http://mirror.example/", "20240115", body)
    return archive.close()


def days():
    return [
        row.captured_ms // 86_400_000 - start_ms("2024") // 86_400_000 + 1
        for row in queries.captures_of("http://example.org/")
    ]


def payloads(archive):
    found = {}
    for row in queries.all_rows():
        holder = queries.by_record(row.refers_to) if row.refers_to else row
        found[row.url, row.captured_ms] = stored_record.read(
            archive.folder, holder.warc_name, holder.offset, holder.length
        ).payload()
    return found


def test_a_dry_run_changes_nothing(archive):
    names = sorted(path.name for path in archive.folder.iterdir())
    report = prune(archive.folder, ALL, Retention(older_than_ms=start_ms("20240201")))
    assert report.captures == 30 - 6
    assert report.looked_at == 31
    assert len(days()) == 30
    assert sorted(path.name for path in archive.folder.iterdir()) == names


def test_every_version_and_everything_referred_to_stays_readable(archive):
    before = payloads(archive)
    size = sum(path.stat().st_size for path in archive.folder.iterdir())
    report = prune(archive.folder, ALL, Retention(older_than_ms=start_ms("20240201")), dry_run=False)
    assert days() == [1, 10, 11, 20, 21, 30]
    assert report.captures == 24
    after = payloads(archive)
    assert after == {key: before[key] for key in after}
    assert verify(archive.folder).troubles == []
    assert sum(path.stat().st_size for path in archive.folder.iterdir()) < size
    assert prune(archive.folder, ALL, Retention(older_than_ms=start_ms("20240201")), dry_run=False).captures == 0


def test_one_per_week(archive):
    prune(archive.folder, ALL, Retention(one_per="week"), dry_run=False)
    assert days() == [1, 8, 10, 11, 15, 20, 21, 22, 29, 30]
    assert verify(archive.folder).troubles == []


@pytest.mark.parametrize("rules", [Retention(older_than_ms=start_ms("20240201")), Retention(one_per="week")])
def test_every_moment_shows_the_version_it_showed_before(archive, rules):
    hours = range(start_ms("2023"), start_ms("20240301"), 3_600_000)

    def shown():
        return [memento.negotiate("http://example.org/", ms).digest for ms in hours]

    before = shown()
    prune(archive.folder, ALL, rules, dry_run=False)
    assert shown() == before


def test_rules_that_say_nothing_are_refused(archive):
    with pytest.raises(ValueError, match="say what may go"):
        prune(archive.folder, ALL, Retention())
    with pytest.raises(ValueError, match="fortnight"):
        prune(archive.folder, ALL, Retention(one_per="fortnight"))


def test_a_kill_after_the_commit_is_finished_later(archive, monkeypatch):
    from pathlib import Path

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", lambda *a, **k: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            prune(archive.folder, ALL, Retention(older_than_ms=start_ms("20240201")), dry_run=False)
    left = WarcFile.objects.filter(size=0, closed=True).count()
    assert left == 1
    assert finish(archive.folder) != []
    assert verify(archive.folder).troubles == []


@pytest.mark.parametrize("pieces", [0, 2, 5])
def test_a_disk_that_is_full_costs_nothing(archive, monkeypatch, pieces):
    """At the first bytes of a new file, and in the middle of one."""
    before = payloads(archive)
    left, write = iter(range(pieces)), os.pwrite

    def nearly_full(*arguments):
        if next(left, None) is None:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", nearly_full)
        with pytest.raises(WarcWriteError, match="No space left"):
            prune(archive.folder, ALL, Retention(older_than_ms=start_ms("20240201")), dry_run=False)
    assert not list(archive.folder.glob("*.open"))
    assert payloads(archive).items() <= before.items()
    assert verify(archive.folder).troubles == []


def test_a_kill_before_the_commit_changes_nothing(archive, monkeypatch):
    before = payloads(archive)
    monkeypatch.setattr(services, "acknowledge", lambda sizes: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        prune(archive.folder, ALL, Retention(older_than_ms=start_ms("20240201")), dry_run=False)
    assert payloads(archive) == before
    monkeypatch.undo()
    archive.writer.recover(queries.open_files)
    assert verify(archive.folder).troubles == []
    assert IndexedCapture.objects.count() == 31
