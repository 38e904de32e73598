"""Closed files can rest in an object store: one contract, kept by a folder and by an S3 server."""

import hashlib
import random

import pytest

from hemeroteca.archive import export, queries, wacz
from hemeroteca.archive.models import WarcFile
from hemeroteca.archive.prune import Retention, prune
from hemeroteca.archive.selection import Selection
from hemeroteca.archive.verify import verify
from hemeroteca.warc import store, stored_record
from hemeroteca.warc.timestamps import start_ms
from tests.archive.making import Archive, small_archive
from tests.warc.reading import by_warcio

pytest.importorskip("obstore")
moto = pytest.importorskip("moto.server")
pytestmark = [pytest.mark.database, pytest.mark.django_db]


@pytest.fixture(params=["file", "s3"])
def address(request, tmp_path, monkeypatch):
    if request.param == "file":
        (tmp_path / "store").mkdir()
        yield f"file://{tmp_path}/store"
    else:
        import boto3

        endpoint = request.getfixturevalue("s3")
        for name, value in {
            "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x", "AWS_REGION": "us-east-1",
            "AWS_DEFAULT_REGION": "us-east-1", "AWS_ENDPOINT_URL": endpoint,
        }.items():  # fmt: skip
            monkeypatch.setenv(name, value)
        bucket = f"b{hashlib.sha256(str(tmp_path).encode()).hexdigest()[:20]}"
        boto3.client("s3", endpoint_url=endpoint).create_bucket(Bucket=bucket)
        yield f"s3://{bucket}/some/prefix"
    store.open_store.cache_clear()


@pytest.fixture
def archive(tmp_path, address, monkeypatch):
    monkeypatch.setenv("HEMEROTECA_ARCHIVE_STORE", address)
    return small_archive(tmp_path / "warc", max_bytes=1500)


def offload(archive, **options):
    names = list(WarcFile.objects.filter(closed=True).values_list("name", flat=True))
    return store.offload(archive.folder, names, **options)


def payloads(archive):
    return [stored_record.read(archive.folder, c.warc_name, c.offset, c.length).payload() for c in archive.captures]


def test_the_contract(address, tmp_path):
    place = store.open_store(address)
    path = tmp_path / "a.warc.gz"
    path.write_bytes(bytes(range(256)) * 100)
    assert place.files() == {}
    assert place.size("a.warc.gz") is None
    place.upload(path)
    assert place.files() == {"a.warc.gz": 25600}
    assert place.size("a.warc.gz") == 25600
    assert place.read("a.warc.gz", 250, 10) == bytes([250, 251, 252, 253, 254, 255, 0, 1, 2, 3])
    place.download("a.warc.gz", tmp_path / "b")
    assert (tmp_path / "b").read_bytes() == path.read_bytes()
    place.delete("a.warc.gz")
    place.delete("a.warc.gz")
    assert place.files() == {}
    with pytest.raises(store.StoreError, match=r"a\.warc\.gz") as told:
        place.read("a.warc.gz", 0, 10)
    assert "\n" not in str(told.value)


def test_an_archive_reads_the_same_from_the_store(archive, tmp_path):
    before = [
        (c.record_id, stored_record.read(archive.folder, c.warc_name, c.offset, c.length).payload())
        for c in archive.captures
    ]
    count, total = offload(archive)
    assert count > 1
    assert total == sum(WarcFile.objects.values_list("size", flat=True))
    assert list(archive.folder.glob("*.warc.gz")) == []
    after = [
        (c.record_id, stored_record.read(archive.folder, c.warc_name, c.offset, c.length).payload())
        for c in archive.captures
    ]
    assert after == before
    assert verify(archive.folder).troubles == []
    assert export.export_warc(archive.folder, Selection(), tmp_path / "out.warc.gz", 1).captures == 7
    assert offload(archive) == (0, 0), "nothing is left to bring"


def test_copies_can_stay(archive):
    assert offload(archive, keep_local=True)[0] > 1
    assert len(list(archive.folder.glob("*.warc.gz"))) > 1
    assert verify(archive.folder).troubles == []


def test_pruning_reaches_files_in_the_store(archive, address):
    offload(archive)
    assert prune(archive.folder, Selection(), Retention(older_than_ms=start_ms("2025")), dry_run=False).captures == 1
    assert verify(archive.folder).troubles == []
    names = set(store.open_store(address).files()) | {path.name for path in archive.folder.glob("*.warc.gz")}
    assert names == set(WarcFile.objects.values_list("name", flat=True))
    assert len(list(queries.all_rows())) == 6


def test_a_file_that_is_nowhere_is_told(archive, address):
    offload(archive)
    name = archive.captures[0].warc_name
    store.open_store(address).delete(name)
    with pytest.raises(stored_record.WarcReadError, match=name):
        stored_record.read(archive.folder, name, 0, 10)
    assert [trouble.file for trouble in verify(archive.folder).troubles] == [name]


def test_a_store_that_does_not_answer_is_told(archive, monkeypatch):
    offload(archive)
    monkeypatch.setenv("HEMEROTECA_ARCHIVE_STORE", "nonsense://x")
    with pytest.raises(stored_record.WarcReadError, match="cannot be used"):
        stored_record.read(archive.folder, archive.captures[0].warc_name, 0, 10)


@pytest.mark.parametrize("form", ["warc", "wacz"])
def test_an_export_ends_when_the_store_goes_away_in_the_midst(archive, form, tmp_path, monkeypatch):
    """It does not wait for each record again, and leaves no file that lacks most of them."""
    offload(archive)
    asked = []

    def gone(self, name, *places):
        asked.append(name)
        raise store.StoreError("the store does not answer")

    monkeypatch.setattr(store.RemoteStore, "read", gone)
    monkeypatch.setattr(store.RemoteStore, "read_many", gone)
    write = wacz.write if form == "wacz" else export.export_warc
    with pytest.raises(store.StoreUnreachableError, match="does not answer"):
        write(archive.folder, Selection(), tmp_path / f"out.{form}", 1)
    files = WarcFile.objects.count()
    assert len(asked) <= files + 1
    assert sorted(path.name for path in tmp_path.iterdir() if "out" in path.name) == []


@pytest.mark.parametrize("address", ["s3"], indirect=True)
@pytest.mark.parametrize("form", ["warc", "wacz"])
def test_an_export_asks_the_store_for_batches_not_for_records(address, form, tmp_path, monkeypatch):
    """Every visit of a hundred pages, half of them revisits: a few requests per file, counted in the server."""
    monkeypatch.setenv("HEMEROTECA_ARCHIVE_STORE", address)
    archive = Archive(tmp_path / "warc", max_bytes=60_000)
    for day in ("20240101", "20240102"):
        for number in range(100):
            archive.add(
                f"http://example.org/{number}", day, b"<p>page %d</p>" % number + random.Random(number).randbytes(900)
            )
    archive.close()
    files, _ = offload(archive)
    assert files >= 3
    asked = []
    monkeypatch.setattr(moto.MotoRequestHandler, "run_wsgi", _counted(asked))
    write = wacz.write if form == "wacz" else export.export_warc
    target = tmp_path / f"out.{form}"
    done = write(archive.folder, Selection(), target, 1)
    assert (done.captures, done.unreadable) == (200, 0)
    assert 0 < len(asked) <= 2 * files + 1, asked
    if form == "warc":
        requests = [record for record in by_warcio(target.read_bytes()) if record.kind == "request"]
        assert len(requests) == 200, "the request behind each capture comes with it"


def _counted(asked):
    original = moto.MotoRequestHandler.run_wsgi

    def run_wsgi(handler):
        asked.append(f"{handler.command} {handler.path} {handler.headers.get('Range', '')}")
        return original(handler)

    return run_wsgi
