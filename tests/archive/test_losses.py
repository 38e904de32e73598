"""What an archive must neither lose nor invent: long bodies, answers to other methods, revisits without an original,
records about others; and what it will hold if it goes on so."""

import base64
import gzip
import hashlib
import os
from types import SimpleNamespace

import pytest

from hemeroteca import warc
from hemeroteca.accounts import SYSTEM
from hemeroteca.archive import erasure, export, queries, revisits
from hemeroteca.archive.erasure import ErasureScope
from hemeroteca.archive.importing import Importer
from hemeroteca.archive.models import IndexedCapture
from hemeroteca.archive.selection import Selection
from hemeroteca.archive.stats import Growth, stats
from hemeroteca.archive.verify import verify
from hemeroteca.errors import Refused
from hemeroteca.instance import Instance
from hemeroteca.warc import WarcReadError, exchanges, scan, stored_record
from hemeroteca.warc.timestamps import start_ms
from hemeroteca.warc.writer import WarcWriter
from tests.archive.making import Archive

pytestmark = [pytest.mark.database, pytest.mark.django_db]

_ID = "<urn:uuid:00000000-0000-4000-8000-{:012}>"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"


@pytest.fixture
def take(tmp_path):
    (tmp_path / "spool").mkdir()

    def take(*files, **options):
        return Importer(WarcWriter(tmp_path / "warc"), **options).read(files, tmp_path / "spool")

    return take


def records(*several: tuple[dict[str, str], bytes], version: str = "WARC/1.0") -> bytes:
    data = b""
    for number, (fields, block) in enumerate(several):
        usual = {
            "WARC-Type": "response",
            "WARC-Record-ID": _ID.format(number),
            "WARC-Date": "2024-01-01T00:00:00Z",
            "WARC-Target-URI": "http://a.example/",
            "Content-Type": "application/http; msgtype=response",
        }
        lines = "".join(f"{name}: {value}\r\n" for name, value in {**usual, **fields}.items() if value)
        data += f"{version}\r\n{lines}Content-Length: {len(block)}\r\n\r\n".encode() + block + b"\r\n\r\n"
    return data


def test_a_request_without_an_answer_is_lost_unless_it_was_made_again(take, tmp_path):
    """wget asks again over a new connection when the one it kept was closed, and writes both requests."""
    asked = {"WARC-Type": "request", "Content-Type": "application/http; msgtype=request"}
    again = {**asked, "WARC-Date": "2024-01-01T00:00:01Z", "WARC-Concurrent-To": _ID.format(2)}
    other = {**asked, "WARC-Target-URI": "http://a.example/never"}
    get = b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n"
    (tmp_path / "wget.warc").write_bytes(
        records((asked, get), (again, get), ({"WARC-Date": "2024-01-01T00:00:01Z"}, HEAD + b"<p>x"), (other, get))
    )
    done = take(tmp_path / "wget.warc")
    assert (done.taken, done.lost) == (1, 1)
    assert [(problem.reason, problem.lost) for problem in done.problems] == [
        ("the request for http://a.example/ was answered when made again", False),
        ("the request for http://a.example/never has no answer here", True),
    ]


def test_a_request_that_stands_after_its_answer_is_not_lost(take, tmp_path):
    """Whether or not it says to which answer it belongs, and however far behind it stands."""
    asked = {"WARC-Type": "request", "Content-Type": "application/http; msgtype=request"}
    get = b"GET / HTTP/1.1\r\nHost: a.example\r\nUser-Agent: other\r\n\r\n"
    others = [
        ({"WARC-Target-URI": f"http://a.example/{number}", "WARC-Record-ID": _ID.format(100 + number)}, HEAD + b"<p>x")
        for number in range(12)
    ]
    (tmp_path / "near.warc").write_bytes(
        records(({}, HEAD + b"<p>x"), ({**asked, "WARC-Date": "2024-01-01T00:00:02Z"}, get))
    )
    far = [(fields | {"WARC-Date": "2024-02-01T00:00:00Z"}, block) for fields, block in others]
    late = {**asked, "WARC-Target-URI": "http://a.example/0", "WARC-Concurrent-To": _ID.format(100)}
    (tmp_path / "far.warc").write_bytes(records(*far, (late | {"WARC-Record-ID": _ID.format(200)}, get)))
    near = take(tmp_path / "near.warc")
    assert (near.taken, near.lost, near.problems) == (1, 0, [])
    kept = [found.record for file in (tmp_path / "warc").iterdir() for found in scan.scan(file)]
    assert [record.head for record in kept if record.kind == "request"] == [get]
    done = take(tmp_path / "far.warc")
    assert (done.taken, done.lost) == (12, 0)
    assert [problem.reason for problem in done.problems] == [
        "the request for http://a.example/0 stands after its answer"
    ]


def test_a_file_that_was_packed_empty_is_told_as_one(take, tmp_path):
    (tmp_path / "empty.warc.gz").write_bytes(gzip.compress(b""))
    done = take(tmp_path / "empty.warc.gz")
    assert [(problem.reason, problem.lost) for problem in done.problems] == [("the file holds no record", False)]


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_record_behind_zero_bytes_is_read(take, tmp_path, pack):
    one, other = (records(({"WARC-Target-URI": f"http://a.example/{n}"}, HEAD + b"<p>x")) for n in "12")
    (tmp_path / "a.warc").write_bytes(pack(one) + bytes(100_000) + pack(other))
    done = take(tmp_path / "a.warc")
    assert (done.taken, done.lost) == (2, 1)
    assert "100000 zero bytes instead of a record" in [problem.reason for problem in done.problems]


def test_frames_whose_dictionary_is_elsewhere_are_told_as_such(take, tmp_path):
    zstandard = pytest.importorskip("zstandard")
    samples = [
        records(({"WARC-Target-URI": f"http://a.example/{number}"}, HEAD + b"<p>x" * 50)) for number in range(99)
    ]
    dictionary = zstandard.train_dictionary(4096, samples)
    (tmp_path / "a.warc.zst").write_bytes(zstandard.ZstdCompressor(dict_data=dictionary).compress(samples[0]))
    done = take(tmp_path / "a.warc.zst")
    assert [(problem.reason, problem.lost) for problem in done.problems] == [
        ("it is packed with a dictionary that the file does not bring", True)
    ]


def test_a_body_above_256_mib_is_read_and_checked(tmp_path):
    with (tmp_path / "body").open("wb") as file:
        file.truncate(257 << 20)
    capture = warc.Capture(url="http://a.example/", captured_ms=1, response_head=HEAD, path=str(tmp_path / "body"))
    made = warc.records(capture)
    made.source.rename(tmp_path / "a.warc.gz")
    record = warc.Location(str(tmp_path), "a.warc.gz", 0, made.size).read()
    assert record.size == 257 << 20
    assert record.payload_digest == made.digest
    assert [type(found) for found in scan.scan(tmp_path / "a.warc.gz")] == [scan.ScannedRecord]


def test_a_long_body_is_imported_unless_the_disk_has_no_room_or_it_is_packed_like_a_bomb(tmp_path, take, monkeypatch):
    """Zeros too, which gzip packs best: an export of ours may hold them."""
    monkeypatch.setattr(exchanges, "MAX_PAYLOAD", 1 << 20)
    for number, body in enumerate((b"".join(os.urandom(1024) * 16 for _ in range(128)), bytes(8 << 20))):
        long = {"WARC-Target-URI": f"http://{number}.example/", "WARC-Record-ID": _ID.format(number)}
        (tmp_path / "long.warc.gz").write_bytes(gzip.compress(records((long, HEAD + body))))
        done = take(tmp_path / "long.warc.gz")
        assert (done.taken, done.lost) == (1, 0)
        assert [row.body_size for row in queries.captures_of(f"http://{number}.example/")] == [len(body)]
    bomb = records(({"WARC-Target-URI": "http://b.example/", "WARC-Record-ID": _ID.format(9)}, HEAD + bytes(8 << 20)))
    (tmp_path / "bomb.warc.zst").write_bytes(pytest.importorskip("zstandard").compress(bomb, 19))
    assert take(tmp_path / "bomb.warc.zst").lost == 1
    monkeypatch.setattr(stored_record, "_MUCH", 1 << 20)
    monkeypatch.setattr(stored_record.shutil, "disk_usage", lambda path: SimpleNamespace(free=1 << 20))
    (tmp_path / "full.warc.gz").write_bytes(gzip.compress(bomb))
    done = take(tmp_path / "full.warc.gz")
    assert (done.taken, done.lost) == (0, 1)
    assert "where it is put, has 1048576 free" in done.problems[0].reason


def segments(*blocks: bytes, number: int = 1, total: int = 0) -> list[tuple[dict[str, str], bytes]]:
    """Parts of one record; the last says how long the whole is, when that is given."""
    found = []
    for at, block in enumerate(blocks, number):
        fields = {"WARC-Segment-Number": str(at), "WARC-Record-ID": f"<urn:uuid:00000000-0000-4000-9000-{at:012}>"}
        if at > 1:
            fields |= {"WARC-Type": "continuation", "Content-Type": ""}
            fields |= {"WARC-Segment-Origin-ID": "<urn:uuid:00000000-0000-4000-9000-000000000001>"}
        found.append((fields, block))
    if total:
        found[-1][0]["WARC-Segment-Total-Length"] = str(total)
    return found


def test_a_record_in_parts_is_put_together(tmp_path, take):
    body = os.urandom(3 << 20)
    parts = segments(HEAD + body[: 1 << 20], body[1 << 20 : 2 << 20], body[2 << 20 :], total=len(HEAD) + len(body))
    digest = "sha1:" + base64.b32encode(hashlib.sha1(body).digest()).decode()
    parts[0][0]["WARC-Payload-Digest"] = digest  # of the whole
    other = ({"WARC-Target-URI": "http://b.example/"}, HEAD + b"between")
    (tmp_path / "parts.warc").write_bytes(records(parts[0], other, *parts[1:]))
    done = take(tmp_path / "parts.warc")
    assert (done.taken, done.lost, done.problems) == (2, 0, [])
    row = next(row for row in queries.all_rows() if row.url == "http://a.example/")
    assert row.truncated == ""
    assert row.location(tmp_path / "warc").read().payload() == body
    again = take(tmp_path / "parts.warc")
    assert (again.taken, again.known, again.lost) == (0, 2, 0)


def test_parts_of_a_record_in_two_files_are_put_together(tmp_path, take):
    parts = segments(HEAD + b"one ", b"two ", b"three", total=len(HEAD) + 13)
    (tmp_path / "1.warc").write_bytes(records(*parts[:2]))
    (tmp_path / "2.warc").write_bytes(records(parts[2]))
    done = take(tmp_path / "1.warc", tmp_path / "2.warc")
    assert (done.taken, done.lost, done.problems) == (1, 0, [])
    assert next(iter(queries.all_rows())).location(tmp_path / "warc").read().payload() == b"one two three"


@pytest.mark.parametrize(
    ("parts", "taken", "reason"),
    [
        (segments(HEAD + b"one ", b"two "), 1, "last parts"),
        (segments(b"two ", number=2, total=99), 0, "without its first"),
        ([segments(HEAD + b"one ", b"")[0], *segments(b"four", number=4, total=99)], 1, "does not follow"),
        (segments(HEAD + b"one ", b"two ", total=9), 1, "its last part says 9"),
    ],
    ids=["no end", "no beginning", "a gap", "another length"],
)
def test_parts_that_do_not_fit_are_told(tmp_path, take, parts, taken, reason):
    (tmp_path / "parts.warc").write_bytes(records(*parts))
    done = take(tmp_path / "parts.warc")
    assert done.taken == taken
    assert any(reason in problem.reason for problem in done.problems), done.problems
    assert (done.lost > 0) == (reason != "its last part says 9")
    assert list((tmp_path / "spool").iterdir()) == []


def test_a_redirect_that_leads_elsewhere_is_a_new_version(tmp_path, take):
    """It has no body that could differ, and its status is the same."""

    def redirect(day: int, to: str) -> tuple[dict[str, str], bytes]:
        return {"WARC-Date": f"2024-01-0{day}T00:00:00Z"}, f"HTTP/1.1 302 Found\r\nLocation: {to}\r\n\r\n".encode()

    led = [redirect(day, to) for day, to in enumerate(("/a", "/a", "/b", "/b", "/a"), 1)]
    (tmp_path / "one.warc").write_bytes(records(*led))
    take(tmp_path / "one.warc")
    flags = [row.version for row in sorted(queries.all_rows(), key=lambda row: row.captured_ms)]
    assert flags == [True, False, True, False, True]


def test_an_id_used_twice_does_not_make_two_captures_one(tmp_path, take):
    again = {"WARC-Record-ID": "<urn:uuid:00000000-0000-4000-8000-000000000000>"}
    other = {**again, "WARC-Target-URI": "http://b.example/"}
    (tmp_path / "a.warc").write_bytes(records(({}, HEAD + b"one"), (other, HEAD + b"two"), (again, HEAD + b"one")))
    done = take(tmp_path / "a.warc")
    assert (done.taken, done.known, done.lost) == (2, 1, 0)
    assert "another capture has the record id of http://b.example/" in done.problems[0].reason
    assert take(tmp_path / "a.warc").taken == 0


def test_a_small_warc_and_a_request_without_a_method_cost_nothing(tmp_path, take):
    asked = {"WARC-Type": "request", "WARC-Concurrent-To": "<urn:uuid:00000000-0000-4000-8000-000000000001>"}
    asked["Content-Type"] = "application/http; msgtype=request"
    data = records((asked, b"Host: a.example\r\n\r\n"), ({}, HEAD + b"one"), version="warc/1.0")
    (tmp_path / "a.warc").write_bytes(data)
    done = take(tmp_path / "a.warc")
    assert (done.taken, done.lost) == (1, 0)


def test_an_answer_to_head_is_no_version_of_the_page(tmp_path, take):
    asked = {"WARC-Type": "request", "WARC-Concurrent-To": "<urn:uuid:00000000-0000-4000-8000-000000000000>"}
    asked["Content-Type"] = "application/http; msgtype=request"
    (tmp_path / "a.warc").write_bytes(records(({}, HEAD), (asked, b"HEAD / HTTP/1.1\r\nHost: a.example\r\n\r\n")))
    done = take(tmp_path / "a.warc")
    assert (done.taken, done.lost) == (1, 0)
    assert queries.captures_of("http://a.example/") == []
    assert verify(tmp_path / "warc").sound


def test_records_about_others_are_kept_as_what_they_are(tmp_path, take):
    about = {"WARC-Refers-To": "<urn:uuid:00000000-0000-4000-8000-000000000000>", "Content-Type": "text/plain"}
    several = [(dict(about, **{"WARC-Type": kind}), kind.encode()) for kind in ("metadata", "conversion")]
    (tmp_path / "a.warc").write_bytes(records(({}, HEAD + b"one"), *several))
    done = take(tmp_path / "a.warc")
    assert (done.taken, done.lost) == (3, 0)
    kept = IndexedCapture.objects.get(kind="metadata")
    record = queries.by_record(kept.record_id).location(tmp_path / "warc").read()
    assert (record.kind, record.url, record.payload()) == ("metadata", "http://a.example/", b"metadata")
    assert str(record.refers_to) == "00000000-0000-4000-8000-000000000000"
    assert len(queries.versions_of("http://a.example/")) == 1
    assert verify(tmp_path / "warc").sound


def test_a_revisit_waits_for_its_original_over_several_imports(tmp_path, take):
    original = {"WARC-Date": "2023-01-01T00:00:00Z"}
    repeat = {
        "WARC-Type": "revisit",
        "WARC-Record-ID": "<urn:uuid:00000000-0000-4000-8000-00000000000a>",
        "WARC-Refers-To-Target-URI": "http://a.example/",
        "WARC-Refers-To-Date": "2023-01-01T00:00:00Z",
    }
    (tmp_path / "later.warc").write_bytes(records((repeat, HEAD)))
    (tmp_path / "first.warc").write_bytes(records((original, HEAD + b"one")))
    done = take(tmp_path / "later.warc")
    assert (done.taken, done.waiting, done.lost) == (1, 1, 0)
    with pytest.raises(WarcReadError, match="not in the archive"):
        queries.holder(queries.latest("http://a.example/"))
    assert verify(tmp_path / "warc").sound
    assert take(tmp_path / "first.warc").joined == 1
    held = queries.holder(queries.latest("http://a.example/"))
    assert held.location(tmp_path / "warc").read().payload() == b"one"
    assert [row.version for row in queries.captures_of("http://a.example/")] == [True, False]
    assert verify(tmp_path / "warc").sound
    assert revisits.join(tmp_path / "warc") == 0


def test_an_import_leaves_the_disk_the_room_it_must(tmp_path, take):
    (tmp_path / "a.warc").write_bytes(records(({}, HEAD + b"one")))
    (tmp_path / "warc").mkdir()
    with pytest.raises(Refused, match="make room"):
        take(tmp_path / "a.warc", min_free_bytes=1 << 60)
    assert IndexedCapture.objects.count() == 0


def test_growth_is_projected_from_the_last_thirty_days(tmp_path):
    archive = Archive(tmp_path / "warc")
    for day in range(1, 11):
        archive.add(f"http://a.example/{day}", f"202401{day:02}", b"words %d" % day)
    archive.close()
    size = sum(capture.length for capture in archive.captures)
    assert stats(start_ms("20240110")).growth == [
        Growth(30, 0, 30, size * 3, 10),  # captures of no page that a crawl met
        Growth(365, 0, 365, size * 365 // 10, 10),
    ]
    assert stats(start_ms("20250101")).growth == []


def test_what_repeats_a_body_above_256_mib_leaves_the_archive_whole(tmp_path, settings):
    """A repeated payload goes with an export without its original, and stays when the original is erased."""
    settings.INSTANCE = Instance(tmp_path / "data")
    settings.INSTANCE.create()
    archive = Archive(settings.INSTANCE.warc_dir)
    first = archive.add("http://a.example/", "20240101", bytes(257 << 20))
    mirror = archive.add("http://b.example/", "20240102", bytes(257 << 20))
    archive.close()
    assert mirror.kind == "revisit"
    target = tmp_path / "out.warc.gz"
    assert export.export_warc(archive.folder, Selection(("b.example/*",)), target, mirror.captured_ms).captures == 1
    exported = [found.record for found in scan.scan(target)]
    assert [record.kind for record in exported] == ["warcinfo", "response", "request"]
    assert (exported[1].size, exported[1].payload_digest) == (257 << 20, first.digest)
    wanted = ErasureScope(("http://a.example/",))
    row = erasure.ask(SYSTEM, wanted, "asked for by the author")
    erasure.erase(archive.folder, row, list(erasure.selected(wanted)), lambda *_: None)
    (left,) = queries.all_rows()
    assert left.location(archive.folder).read().payload_digest == first.digest
    assert verify(archive.folder).troubles == []
    assert not list(settings.INSTANCE.spool_dir.iterdir())


def test_what_repeats_a_repetition_keeps_its_length_when_the_original_is_erased(tmp_path):
    archive = Archive(tmp_path / "warc")
    body = b"<p>the same everywhere"
    for host in "abc":
        archive.add(f"http://{host}.example/", "20240101", body)
    archive.close()
    wanted = ErasureScope(("http://a.example/",))
    row = erasure.ask(SYSTEM, wanted, "asked for by the author")
    erasure.erase(archive.folder, row, list(erasure.selected(wanted)), lambda *_: None)
    kept = [(one.kind, one.location(archive.folder).read().header("content-length")) for one in queries.all_rows()]
    assert kept == [("response", str(len(body))), ("revisit", str(len(body)))]


def test_folded_fields_and_dates_in_small_letters_are_read(tmp_path, take):
    folded = {"WARC-Type": "\r\n\tresponse", "WARC-Date": "\r\n 2024-01-01T00:00:00Z", "Content-Type": ""}
    small = {"WARC-Date": "2024-01-02t00:00:00.5z"}
    (tmp_path / "a.warc").write_bytes(records((folded, HEAD + b"one"), (small, HEAD + b"two")))
    done = take(tmp_path / "a.warc")
    assert (done.taken, done.lost, done.problems) == (2, 0, [])
    assert [row.captured_ms for row in queries.captures_of("http://a.example/")] == [
        start_ms("20240101"),
        start_ms("20240102") + 500,
    ]


def test_a_type_that_nobody_stated_is_not_invented(tmp_path, take):
    bare = {"WARC-Type": "resource", "Content-Type": "", "WARC-Target-URI": "http://a.example/data"}
    (tmp_path / "a.warc").write_bytes(records((bare, b"one")))
    assert take(tmp_path / "a.warc").taken == 1
    (row,) = queries.all_rows()
    assert (row.mime, row.location(tmp_path / "warc").read().mime) == ("", "")


def test_what_a_revisit_holds_of_its_own_is_told(tmp_path, take):
    revisit = {"WARC-Type": "revisit", "WARC-Payload-Digest": "sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}
    (tmp_path / "a.warc").write_bytes(records((revisit, HEAD + b"its payload")))
    done = take(tmp_path / "a.warc")
    assert (done.taken, done.waiting, done.lost) == (1, 1, 1)
    assert "has 11 bytes of its own" in done.problems[0].reason
    assert IndexedCapture.objects.get().body_size == 0


def test_a_revisit_that_holds_the_payload_it_repeats_is_kept_with_it(tmp_path, take):
    digest = f"sha1:{base64.b32encode(hashlib.sha1(b'its payload').digest()).decode()}"
    revisit = {"WARC-Type": "revisit", "WARC-Payload-Digest": digest}
    (tmp_path / "a.warc").write_bytes(records((revisit, HEAD + b"its payload")))
    done = take(tmp_path / "a.warc")
    assert (done.taken, done.waiting, done.lost) == (1, 0, 0)
    (row,) = queries.all_rows()
    assert (row.kind, row.location(tmp_path / "warc").read().payload()) == ("response", b"its payload")


def test_a_response_without_an_http_head_is_kept_as_a_resource_with_all_its_bytes(tmp_path, take):
    """HTTP/0.9 has none; the record may say so by its content type or not."""
    block = b"<title>Old</title>\r\n\r\n<p>a page alone"
    alone = {"Content-Type": "text/html", "WARC-Target-URI": "http://a.example/b", "WARC-Record-ID": _ID.format(1)}
    asked = {"WARC-Type": "request", "WARC-Record-ID": _ID.format(2), "WARC-Concurrent-To": _ID.format(0)}
    (tmp_path / "a.warc").write_bytes(records(({}, block), (alone, block), (asked, b"GET / HTTP/1.0\r\n\r\n")))
    done = take(tmp_path / "a.warc")
    assert (done.taken, done.lost) == (2, 0)
    assert "is kept as a resource" in done.problems[0].reason
    one, two = sorted(queries.all_rows(), key=lambda row: row.url)
    assert (one.kind, one.mime, one.digest) == ("resource", "", two.digest)
    assert one.location(tmp_path / "warc").read().payload() == block
    assert (two.kind, two.body_size) == ("resource", len(block))


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize("line", ["http/1.1 200 OK", "ICY 200 OK", "\r\nHTTP/1.1 200 OK", "HTTP/1.1 20 Odd"])
def test_odd_status_lines_are_taken_and_the_archive_is_sound(tmp_path, take, line, pack):
    (tmp_path / "a.warc").write_bytes(pack(records(({}, line.encode() + b"\r\nContent-Type: text/css\r\n\r\nx"))))
    assert (take(tmp_path / "a.warc").taken, verify(tmp_path / "warc").troubles) == (1, [])
    (row,) = queries.all_rows()
    assert (row.status, row.mime, row.body_size) == (200, "text/css", 1)


@pytest.mark.parametrize(
    ("date", "ms"),
    [
        ("2020", start_ms("2020")),
        ("2020-05", start_ms("202005")),
        ("20200102030405", start_ms("20200102030405")),
        ("2016-12-31T23:59:60Z", start_ms("20161231235959")),
        ("20201341030405", None),
        ("0000", None),
    ],
)
def test_dates_are_read_as_any_version_of_the_format_writes_them(tmp_path, take, date, ms):
    (tmp_path / "a.warc").write_bytes(records(({"WARC-Date": date}, HEAD + b"x")))
    done = take(tmp_path / "a.warc")
    assert (done.taken, done.lost) == ((0, 1) if ms is None else (1, 0))
    assert [row.captured_ms for row in queries.all_rows()] == ([] if ms is None else [ms])


def test_an_arc_record_whose_type_has_parameters_is_taken(tmp_path, take):
    block = HEAD + b"<p>arc"
    top = f"http://a.example/ 1.2.3.4 20010203040506 text/html; charset=utf-8 {len(block)}\n".encode()
    (tmp_path / "a.arc").write_bytes(top + block + b"\n")
    assert (take(tmp_path / "a.arc").taken, [row.mime for row in queries.all_rows()]) == (1, ["text/html"])


def test_after_a_damaged_record_of_a_file_packed_as_a_whole_the_next_is_read(tmp_path, take):
    one, two = (records(({"WARC-Target-URI": f"http://a.example/{n}"}, HEAD + b"<p>x")) for n in "12")
    (tmp_path / "a.warc.gz").write_bytes(gzip.compress(one + b"WARC/1.0\r\nno: length\r\n\r\nrubbish\r\n\r\n" + two))
    done = take(tmp_path / "a.warc.gz")
    assert (done.taken, done.lost) == (2, 1)


def test_what_was_sent_stays_with_an_answer_that_repeats_another(tmp_path, take):
    asked = {"WARC-Type": "request", "Content-Type": "application/http; msgtype=request"}
    post = b"POST / HTTP/1.1\r\nHost: a.example\r\nContent-Type: text/plain\r\n\r\nday=2"
    revisit = {"WARC-Type": "revisit", "WARC-Date": "2024-01-02T00:00:00Z", "WARC-Refers-To": _ID.format(0)}
    (tmp_path / "a.warc").write_bytes(
        records(
            ({}, HEAD + b"the same"),
            (revisit, HEAD),
            (asked | {"WARC-Date": revisit["WARC-Date"], "WARC-Concurrent-To": _ID.format(1)}, post),
        )
    )
    done = take(tmp_path / "a.warc")
    assert (done.taken, done.repeated, done.lost) == (2, 1, 0)
    (again,) = queries.all_rows("kind = %s", ["revisit"])
    assert export.request_of(tmp_path / "warc", again)[0].payload() == b"day=2"


def test_a_request_that_names_no_record_goes_with_the_answer_of_its_address_and_moment(tmp_path, take):
    """WARCreate writes such requests. One that names an answer further behind stays with that."""
    asked = {"WARC-Type": "request", "Content-Type": "application/http; msgtype=request"}
    lost = {**asked, "WARC-Concurrent-To": _ID.format(999)}
    second = {**asked, "WARC-Concurrent-To": _ID.format(4), "WARC-Target-URI": "http://a.example/b"}
    get = b"GET /%d HTTP/1.1\r\nHost: a.example\r\n\r\n"
    page = {"WARC-Target-URI": "http://a.example/b"}
    (tmp_path / "a.warc").write_bytes(
        records(
            (lost, get % 0), ({}, HEAD + b"<p>x"), (second, get % 2), (page, HEAD + b"<p>y"), (page, HEAD + b"<p>z")
        )
    )
    done = take(tmp_path / "a.warc")
    assert (done.taken, done.lost, done.problems) == (3, 0, [])
    kept = [found.record for file in (tmp_path / "warc").iterdir() for found in scan.scan(file)]
    heads = {record.headers["warc-concurrent-to"]: record.head for record in kept if record.kind == "request"}
    assert heads == {_ID.format(1): get % 0, _ID.format(4): get % 2}


def infos(folder):
    kept = (found.record for file in sorted(folder.iterdir()) for found in scan.scan(file))
    return [record.payload() for record in kept if record.kind == "warcinfo" and b"software: ours" in record.payload()]


INFO = {"WARC-Type": "warcinfo", "WARC-Target-URI": "", "Content-Type": "application/warc-fields"}
OURS = b"software: ours\r\n"


def test_a_warcinfo_is_kept_unless_its_file_holds_nothing_else(tmp_path, take):
    """Some tools end a file with one; nothing finds one alone again, so it is told."""
    (tmp_path / "alone.warc").write_bytes(records((INFO, OURS)))
    (tmp_path / "last.warc").write_bytes(records(({}, HEAD + b"<p>x"), (INFO, OURS)))
    alone, last, again = (take(tmp_path / f"{name}.warc") for name in ("alone", "last", "last"))
    assert (alone.taken, alone.lost, last.taken, last.lost) == (0, 1, 1, 0)
    assert "a warcinfo record of a file of which nothing else is taken" in alone.problems[0].reason
    assert (again.taken, again.known, again.problems) == (0, 1, [])
    assert infos(tmp_path / "warc") == [OURS]
    assert verify(tmp_path / "warc").sound


def test_a_warcinfo_is_kept_whatever_its_length_and_with_revisits_that_waited(tmp_path, take):
    revisit = {
        "WARC-Type": "revisit",
        "WARC-Payload-Digest": "sha1:B2LTWWPUOYAH7UIPQ7ZUPQ4VMBSVC36A",
        "WARC-Profile": "http://netpreserve.org/warc/1.0/revisit/identical-payload-digest",
    }
    (tmp_path / "revisit.warc").write_bytes(records((INFO, OURS), (revisit, HEAD)))
    assert take(tmp_path / "revisit.warc").waiting == 1
    assert infos(tmp_path / "warc") == [OURS]
    long = OURS + b"description: " + b"x" * (2 << 20)
    (tmp_path / "long.warc").write_bytes(
        records((INFO, long), ({"WARC-Target-URI": "http://a.example/b", "WARC-Record-ID": _ID.format(7)}, HEAD + b"x"))
    )
    assert take(tmp_path / "long.warc").taken == 1
    assert infos(tmp_path / "warc") == [OURS, long]
    assert list((tmp_path / "spool").iterdir()) == []


@pytest.mark.parametrize("form", ["sha-256:{hex}", "SHA256:{HEX}", "sha1:{b64}", "sha1:{b32}", "sha1:{hex1}", "{b32}"])
def test_digests_in_any_base_are_understood(tmp_path, take, form):
    """A revisit finds its original in the same file, and nothing is called damaged that is not."""
    body = b"<p>digest"
    sha1, sha256 = hashlib.sha1(body).digest(), hashlib.sha256(body).hexdigest()
    b32, b64 = (encode(sha1).decode() for encode in (base64.b32encode, base64.b64encode))
    digest = form.format(hex=sha256, HEX=sha256.upper(), b64=b64, b32=b32.lower(), hex1=sha1.hex())
    revisit = {
        "WARC-Type": "revisit",
        "WARC-Date": "2024-01-02T00:00:00Z",
        "WARC-Payload-Digest": digest,
        "WARC-Refers-To-Target-URI": "http://a.example/",
        "WARC-Refers-To-Date": "2024-01-01T00:00:00Z",
    }
    stated = {"WARC-Payload-Digest": f"sha256:{sha256}" if "256" in form.lower() else digest}
    (tmp_path / "a.warc").write_bytes(records((stated, HEAD + body), (revisit, HEAD)))
    done = take(tmp_path / "a.warc")
    assert (done.taken, done.repeated, done.waiting, done.problems) == (2, 1, 0, [])
