"""Archives of other tools come in, ours go out, and a round trip gives the same captures."""

import csv
import gzip
import hashlib
import io
import json
import zipfile
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from hemeroteca import spreadsheet
from hemeroteca.archive import export, queries, wacz, zipnum
from hemeroteca.archive.importing import Importer, exchanges
from hemeroteca.archive.models import IndexedCapture, WarcFile
from hemeroteca.archive.selection import Selection
from hemeroteca.archive.verify import verify
from hemeroteca.warc.exchanges import Exchange, Problem, dechunk
from hemeroteca.warc.writer import WarcWriter
from tests.archive.making import small_archive
from tests.warc.making import exchange
from tests.warc.reading import by_fastwarc, by_warcio, warcio_check

pytestmark = [pytest.mark.database, pytest.mark.django_db]

SAMPLES = Path(__file__).parents[3] / "shared" / "data" / "warc"
needs_samples = pytest.mark.skipif(not SAMPLES.is_dir(), reason="the samples are not here")
NOW = 1_800_000_000_000


def split(items):
    items = list(items)
    found = [i.capture for i in items if isinstance(i, Exchange) and i.capture.kind != "warcinfo"]
    return found, [i for i in items if isinstance(i, Problem)]


@pytest.fixture
def spool(tmp_path):
    (tmp_path / "spool").mkdir()
    return tmp_path / "spool"


@pytest.fixture
def archive(tmp_path):
    return small_archive(tmp_path / "warc", max_bytes=1500)


def facts():
    names = (
        "record_id",
        "url",
        "urlkey",
        "captured_ms",
        "status",
        "mime",
        "digest",
        "version",
        "body_size",
        "truncated",
    )
    return sorted((tuple(getattr(row, name) for name in names) for row in queries.all_rows()), key=str)


@needs_samples
@pytest.mark.parametrize(
    ("name", "captures", "problems"),
    [
        ("20130729-heritrix-original.warc.gz", [("response", 200, 68639)], []),
        ("20130729-heritrix-revisit-with-http-headers.warc.gz", [("revisit", 200, 0)], []),
        ("20141124-heritrix-server-not-modified.warc.gz", [("revisit", 304, 0)], []),
        ("20141129-heritrix-original.warc.gz", [("response", 200, 75331)], []),
        ("example.warc.gz", [("response", 200, 606), ("revisit", 200, 0)], []),
        ("example.arc.gz", [("response", 200, 1270)], []),
        ("example-iana.org-chunked.warc", [("response", 200, 7223)], []),
        (
            "example-bad-non-chunked.warc.gz",
            [("response", 200, 606), ("revisit", 200, 0)],
            ["several records are packed together", "digest"],
        ),
        ("example-trunc.warc", [("response", 200, 604)], ["digest", "zero bytes instead of a record"]),
        ("example-wrong-chunks.warc.gz", [("response", 200, 1270)], ["do not end where its records do", "digest"]),
        ("post-test.warc.gz", [("response", 200, 545), ("response", 200, 552), ("response", 200, 551)], []),
    ],
)
def test_samples_are_taken_as_far_as_they_go(name, captures, problems, spool):
    found, told = split(exchanges(SAMPLES / name, spool))
    assert [(item.kind, item.status, item.size) for item in found] == captures
    assert len(told) == len(problems)
    assert all(word in problem.reason for word, problem in zip(problems, told, strict=True))


@needs_samples
def test_bodies_are_those_warcio_reads(spool):
    for name in ("example.warc.gz", "example-iana.org-chunked.warc", "20141129-heritrix-original.warc.gz"):
        found, _ = split(exchanges(SAMPLES / name, spool))
        with (SAMPLES / name).open("rb") as file:
            bodies = []
            for record in ArchiveIterator(file):
                if record.rec_type == "response":
                    chunked = "chunked" in (record.http_headers.get_header("transfer-encoding") or "")
                    bodies.append((record.content_stream() if chunked else record.raw_stream).read())
        assert [item.body for item in found if item.kind == "response"] == bodies


@needs_samples
def test_all_samples_together_make_an_archive_every_reader_likes(tmp_path, spool):
    done = Importer(WarcWriter(tmp_path / "warc")).read(sorted(SAMPLES.glob("*arc*"), reverse=True), spool)
    assert done.files == 12
    assert done.taken == IndexedCapture.objects.count() > 6
    assert IndexedCapture.objects.filter(urlkey__contains="__wb_method=post").count() == 3, (
        "answers to POST are filed apart"
    )
    lost = [problem.reason for problem in done.problems if problem.lost]
    assert len(lost) == 1
    assert "zero bytes instead of a record" in lost[0]
    waiting = IndexedCapture.objects.get(kind="revisit", refers_to=None)
    assert waiting.url == "http://www.bl.uk/", "nothing tells what the old server-not-modified record refers to"
    assert not waiting.version
    assert verify(tmp_path / "warc").troubles == []
    for path in (tmp_path / "warc").glob("*.warc.gz"):
        assert warcio_check(path) == 0
        assert by_warcio(path.read_bytes()) == by_fastwarc(path.read_bytes())
    revisit = IndexedCapture.objects.get(url="http://bl.uk/subjects/news-media/", kind="revisit")
    assert queries.by_record(revisit.refers_to).body_size == 75331, "it came before its original and found it"
    again = Importer(WarcWriter(tmp_path / "warc")).read(sorted(SAMPLES.glob("*arc*")), spool)
    assert again.taken == 0, "a second import changes nothing"
    assert again.known >= done.taken
    assert list(spool.iterdir()) == []


@pytest.mark.parametrize("form", ["warc", "wacz"])
def test_a_round_trip_gives_the_same_captures(archive, tmp_path, spool, form):
    before = facts()
    target = tmp_path / f"out.{form}"
    write = export.export_warc if form == "warc" else wacz.write
    done = write(archive.folder, Selection(), target, NOW)
    assert (done.captures, done.unreadable) == (7, 0)
    IndexedCapture.objects.all().delete()
    WarcFile.objects.all().delete()

    taken = Importer(WarcWriter(tmp_path / "other")).read([target], spool)
    assert (taken.taken, taken.problems) == (7, [])
    assert facts() == before
    assert verify(tmp_path / "other").troubles == []


def test_an_exported_warc_is_whole_in_itself(archive, tmp_path):
    """Only the mirror and the 304 are asked for; what they repeat lies elsewhere."""
    target = tmp_path / "out.warc.gz"
    selection = Selection(("mirror.example/*",))
    export.export_warc(archive.folder, selection, target, NOW)
    assert warcio_check(target) == 0
    seen = by_warcio(target.read_bytes())
    assert seen == by_fastwarc(target.read_bytes())
    assert [s.kind for s in seen] == ["warcinfo", "response", "request"]
    assert seen[1].payload == b"<p>second" + b" words" * 100
    export.export_warc(archive.folder, Selection(("example.org/",), since="20240103", until="20240103"), target, NOW)
    seen = by_warcio(target.read_bytes())
    assert (seen[1].kind, seen[1].status, seen[1].payload) == ("response", "200", b"<p>first" + b" words" * 100)


def test_selections(archive):
    def urls(**more):
        return [row.url for row in Selection(**more).rows()]

    assert len(urls()) == 7
    assert urls(urls=("example.org/about", "*.example.org")) == urls(urls=("*.example.org",)), "nothing comes twice"
    assert len(urls(urls=("example.org/",))) == 4
    assert len(urls(urls=("example.org/",), versions_only=True)) == 2
    assert len(urls(since="20240104", until="20240104")) == 1


def test_a_wacz_has_what_its_readers_expect(archive, tmp_path):
    target = tmp_path / "out.wacz"
    archive.add("http://example.org/robots.txt", "20240101", b"User-agent: *", mime="text/plain")
    archive.add("http://example.org/titled", "20240101", "<title>El título</title><p>y su texto".encode())
    wacz.write(archive.folder, Selection(), target, NOW, title="Prueba")
    with zipfile.ZipFile(target) as file:
        assert file.getinfo("archive/data.warc.gz").compress_type == zipfile.ZIP_STORED
        package = json.loads(file.read("datapackage.json"))
        assert (package["title"], package["metadata"]["title"], package["wacz_version"]) == (
            "Prueba",
            "Prueba",
            "1.1.1",
        )
        lines = file.read("indexes/index.cdx").decode().splitlines()
        assert lines == sorted(lines)
        assert len(lines) == 9
        pages = [json.loads(line) for line in file.read("pages/pages.jsonl").decode().splitlines()]
        assert pages[0]["hasText"]
        assert [page["title"] for page in pages[1:]] == [
            "http://mirror.example/", "http://example.org/", "http://example.org/", "http://example.org/about",
            "El título",
        ]  # fmt: skip
        assert [page["text"] for page in pages[2:3] + pages[-1:]] == ["first" + " words" * 100, "y su texto"]
        data = file.read("archive/data.warc.gz")
        for line in lines:
            place = json.loads(line.split(" ", 2)[2])
            record = next(iter(ArchiveIterator(io.BytesIO(data[int(place["offset"]) :]))))
            assert record.rec_headers.get_header("WARC-Target-URI") == place["url"]


def test_a_wacz_of_a_time_without_news_still_lists_the_page(archive, tmp_path):
    target = tmp_path / "out.wacz"
    for since, captures in (("20240102", 2), ("20240103", 1)):
        done = wacz.write(archive.folder, Selection(("example.org/",), since=since, until="20240103"), target, NOW)
        assert done.captures == captures
        with zipfile.ZipFile(target) as file:
            pages = [json.loads(line) for line in file.read("pages/pages.jsonl").decode().splitlines()]
        assert [page["url"] for page in pages[1:]] == ["http://example.org/"]
        assert pages[1]["ts"].startswith(f"{since[:4]}-{since[4:6]}-{since[6:]}")


def test_what_was_not_modified_says_in_a_wacz_what_its_payload_is(archive, tmp_path):
    """ReplayWeb.page shows a payload with the status of the index and the head of the revisit."""
    target = tmp_path / "out.wacz"
    wacz.write(archive.folder, Selection(), target, NOW)
    with zipfile.ZipFile(target) as file:
        lines = file.read("indexes/index.cdx").decode().splitlines()
        data = file.read("archive/data.warc.gz")
    (line,) = [json.loads(line.split(" ", 2)[2]) for line in lines if line.startswith("org,example)/ 20240103")]
    assert (line["mime"], line["status"]) == ("warc/revisit", "200")
    record = next(iter(ArchiveIterator(io.BytesIO(data[int(line["offset"]) :]))))
    assert record.rec_headers.get_header("WARC-Profile").endswith("server-not-modified")
    assert record.http_headers.get_statuscode() == "304"
    assert record.http_headers.get_header("Content-Type") == "text/html"
    assert record.http_headers.get_header("Content-Length") is None
    (tmp_path / "out.warc.gz").write_bytes(data)
    assert warcio_check(tmp_path / "out.warc.gz") == 0


def test_metadata_as_csv_and_json(archive):
    text = io.StringIO()
    assert export.export_list(Selection(), text, "csv") == 7
    table = list(csv.DictReader(io.StringIO(text.getvalue())))
    lines = io.StringIO()
    export.export_list(Selection(), lines, "json")
    objects = [json.loads(line) for line in lines.getvalue().splitlines()]
    assert [row["url"] for row in table] == [row["url"] for row in objects]
    assert objects[0].keys() == dict.fromkeys(export.COLUMNS).keys()
    assert spreadsheet.cell("=1+1") == "'=1+1"


def test_a_failed_export_leaves_nothing(archive, tmp_path, monkeypatch):
    target = tmp_path / "out" / "a.wacz"
    target.parent.mkdir()
    monkeypatch.setattr(export, "_write_capture", lambda *arguments: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        wacz.write(archive.folder, Selection(), target, NOW)
    assert list(target.parent.iterdir()) == []


def test_a_wacz_that_lies_about_its_content_is_told(archive, tmp_path, spool):
    good, bad = tmp_path / "good.wacz", tmp_path / "bad.wacz"
    wacz.write(archive.folder, Selection(), good, NOW)
    other = exchange("http://other.example/", NOW, "", "", b"", b"HTTP/1.1 200 OK\r\n\r\n", b"x")
    with zipfile.ZipFile(good) as source, zipfile.ZipFile(bad, "w") as target:
        for entry in source.infolist():
            data = other.data if entry.filename.startswith("archive/") else source.read(entry)
            target.writestr(entry.filename, data)
        target.writestr("archive/../../../etc/evil.warc.gz", other.data)
    found, problems = split(exchanges(bad, spool))
    assert [item.url for item in found] == ["http://other.example/"] * 2, "names inside are never used as paths"
    assert "digest" in problems[0].reason


def test_a_wacz_of_several_is_taken_whole(archive, tmp_path, spool):
    one, two, both = (tmp_path / f"{name}.wacz" for name in ("one", "two", "both"))
    wacz.write(archive.folder, Selection(("example.org/*",)), one, NOW)
    wacz.write(archive.folder, Selection(("mirror.example/*",)), two, NOW)
    files = [{"name": path.name, "path": path.name, "hash": _sha256(path), "bytes": 1} for path in (one, two)]
    with zipfile.ZipFile(both, "w", zipfile.ZIP_DEFLATED) as target:
        target.writestr("datapackage.json", json.dumps({"profile": "multi-wacz-package", "resources": files}))
        for path in (one, two):
            target.write(path, path.name)
        target.writestr("deeper.wacz", both_of(one))
    items = list(exchanges(both, spool))
    found, problems = split(items)
    assert len(found) == 7
    files = {item.file for item in items if isinstance(item, Exchange)}
    assert files == {
        "both.wacz/one.wacz/data.warc.gz",
        "both.wacz/two.wacz/data.warc.gz",
    }
    told = ["inner.wacz lies in a WACZ in a WACZ and is not read"]
    assert [problem.reason for problem in problems] == told, "one step only"
    assert list(spool.iterdir()) == []


def both_of(inner):
    outer = io.BytesIO()
    with zipfile.ZipFile(outer, "w") as target:
        target.write(inner, "inner.wacz")
    return outer.getvalue()


def _sha256(path):
    return f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"


def test_an_entry_that_would_fill_the_disk_is_not_unpacked(tmp_path, spool, monkeypatch):
    monkeypatch.setattr(wacz, "_UNSUSPECTED", 1 << 20)
    path = tmp_path / "bomb.wacz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target:
        target.writestr("archive/data.warc", bytes(64 << 20))
    most = 0
    for item in exchanges(path, spool):
        assert isinstance(item, Problem)
        most = max(most, *(file.stat().st_size for file in spool.iterdir()))
        assert "200 times its size" in item.reason or "record" in item.reason, item
    assert 0 < most < 32 << 20


def test_hostile_records_are_refused_or_tamed(tmp_path, spool):
    """What is taken of them makes an archive that verifies, and nothing in it adds a line to anything."""
    path = tmp_path / "hostile.warc.gz"

    def put(writer, url, *headers):
        head = StatusAndHeaders("200 OK", [("Content-Type", "text/html"), *headers], protocol="HTTP/1.1")
        body = io.BytesIO(b"<p>x")
        record = writer.create_warc_record(
            url, "response", payload=body, http_headers=head, warc_headers_dict={"WARC-Date": "2024-01-01T00:00:00Z"}
        )
        writer.write_record(record)

    with path.open("wb") as file:
        writer = WARCWriter(file)
        put(writer, "javascript:alert(1)")
        put(writer, "file:///etc/passwd")
        put(writer, "http://a.example/long", ("X-Long", "a" * (2 << 20)))
        put(writer, "http://a.example/" + "a" * 100_000)
        put(writer, "http://a.example/lines", ("X-A", "a\r\nSet-Cookie: sessionid=stolen"))
        put(writer, "http://a.example/bad\r\nWARC-Type: warcinfo")
        put(writer, 'http://a.example/"><script>alert(1)</script>')
    done = Importer(WarcWriter(tmp_path / "warc")).read([path], spool)
    assert (done.taken, done.lost) == (4, 3)
    assert [problem.reason[:40] for problem in done.problems] == [
        "javascript:alert(1) is not a web address",
        "file:///etc/passwd is not a web address",
        "the record of http://a.example/long has ",
    ]
    assert verify(tmp_path / "warc").troubles == []
    (made,) = (tmp_path / "warc").glob("*.warc.gz")
    assert warcio_check(made) == 0
    assert [seen.kind for seen in by_warcio(made.read_bytes())] == ["warcinfo", "response", *["revisit"] * 3]
    assert not any(set(row.url) & set("\r\n ") for row in queries.all_rows())


def test_what_is_no_archive_is_told(tmp_path, spool):
    for data in (b"", b"hello", b"PK\x03\x04garbage", b"\x1f\x8bgarbage", b"\x28\xb5\x2f\xfdzstd"):
        path = tmp_path / "x"
        path.write_bytes(data)
        found, problems = split(exchanges(path, spool))
        assert not found
        assert len(problems) == 1, data


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_a_file_damaged_anywhere_is_read_as_far_as_it_goes(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("damage")
    records = [
        exchange(
            f"http://a.example/{i}", NOW + i, "", "", b"", b"HTTP/1.1 200 OK\r\n\r\n", b"body", record_id=UUID(int=i)
        )
        for i in range(4)
    ]
    whole = bytearray(b"".join(item.data for item in records))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(whole) - 1))
        whole[place] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(1, len(whole)))
    (folder / "x.warc.gz").write_bytes(whole[:cut])
    for item in exchanges(folder / "x.warc.gz", folder):
        assert isinstance(item, Exchange | Problem)


@given(st.lists(st.binary(max_size=50).filter(bool)), st.booleans())
def test_chunks_are_taken_away(parts, crlf):
    end = b"\r\n" if crlf else b"\n"
    body = b"".join(b"%x" % len(part) + end + part + end for part in parts) + b"0" + end + end
    plain, note = dechunk(io.BytesIO(body))
    assert plain.read() == b"".join(parts)
    assert note == ""


@given(st.binary(max_size=200))
def test_any_bytes_can_be_dechunked(body):
    plain, _ = dechunk(io.BytesIO(body))
    assert len(plain.read()) <= len(body)


def test_an_import_stopped_in_the_middle_is_whole_and_goes_on(tmp_path, spool):
    file = tmp_path / "other.warc.gz"
    write_pages(file, 20)
    importer = Importer(WarcWriter(tmp_path / "warc"), progress=lambda name, seen: seen == 7 and importer.stop())
    done = importer.read([file, tmp_path / "never-opened.warc.gz"], spool)
    assert (done.files, done.taken, done.stopped, done.problems) == (1, 7, True, [])
    assert verify(tmp_path / "warc").sound
    again = Importer(WarcWriter(tmp_path / "warc")).read([file], spool)
    assert (again.known, again.taken, again.stopped) == (7, 13, False)
    assert verify(tmp_path / "warc").sound


def write_pages(path, count):
    with path.open("wb") as file:
        writer = WARCWriter(file, gzip=True)
        for number in range(count):
            head = StatusAndHeaders("200 OK", [("Content-Type", "text/html")], protocol="HTTP/1.1")
            body = io.BytesIO(b"<p>page %d" % number)
            writer.write_record(
                writer.create_warc_record(f"http://a.example/{number}", "response", body, http_headers=head)
            )


def test_an_index_of_many_lines_comes_in_blocks_that_are_found_by_their_keys(archive, tmp_path, monkeypatch, spool):
    monkeypatch.setattr(wacz.zipnum, "PLAIN_BYTES", 0)
    monkeypatch.setattr(wacz.zipnum, "LINES", 2)
    monkeypatch.setattr(wacz, "_LINES", 3)
    wacz.write(archive.folder, Selection(), tmp_path / "many.wacz", NOW)
    with zipfile.ZipFile(tmp_path / "many.wacz") as file:
        packed = file.read("indexes/index.cdx.gz")
        head, *blocks = file.read("indexes/index.idx").decode().splitlines()
        stated = {item["path"]: item["hash"] for item in json.loads(file.read("datapackage.json"))["resources"]}
        assert file.getinfo("indexes/index.cdx.gz").compress_type == zipfile.ZIP_STORED
        assert "indexes/index.cdx" not in file.namelist()
    assert head == '!meta 0 {"format": "cdxj-gzip-1.0", "filename": "index.cdx.gz"}'
    assert stated["indexes/index.cdx.gz"] == f"sha256:{hashlib.sha256(packed).hexdigest()}"
    lines = []
    for block in blocks:
        key, _, rest = block.partition(" {")
        place = json.loads("{" + rest)
        part = packed[place["offset"] : place["offset"] + place["length"]]
        assert place["digest"] == f"sha256:{hashlib.sha256(part).hexdigest()}"
        lines.append(gzip.decompress(part).decode().splitlines())
        assert lines[-1][0].startswith(key + " {")
    assert [len(part) for part in lines] == [2, 2, 2, 1]
    together = [line for part in lines for line in part]
    assert together == sorted(together)

    before = facts()
    IndexedCapture.objects.all().delete()
    WarcFile.objects.all().delete()
    done = Importer(WarcWriter(tmp_path / "again")).read([tmp_path / "many.wacz"], spool)
    assert (done.taken, done.problems) == (7, [])
    assert facts() == before


@pytest.mark.parametrize(
    ("url", "key"),
    [  # as warcio.js, the library of ReplayWeb.page and Browsertrix, makes them
        ("http://www.Example.org/Dir/?b=2&a=1", "org,example)/dir/?a=1&b=2"),
        ("https://www2.example.org:8443/a;jsessionid=1", "org,example:8443)/a;jsessionid=1"),
        ("http://example.org:80", "org,example)/"),
        ("http://example.org/%C3%B1", "org,example)/%c3%b1"),
        ("urn:text:https://example.org/", "urn:text:https://example.org/"),
    ],
)
def test_blocks_have_the_keys_by_which_replayweb_page_looks(url, key):
    assert zipnum.key(url) == key
    line = b"ours 2024 " + json.dumps({"url": url}).encode()
    assert list(zipnum.keyed([line])) == [key.encode() + line[4:]]


def test_the_key_of_an_answer_to_post_holds_what_was_sent():
    facts = {"url": "http://a.example/api?v=1", "method": "POST", "requestBody": "__wb_post_data=eA=="}
    (line,) = zipnum.keyed([b"ours 2024 " + json.dumps(facts).encode()])
    assert line.startswith(b"example,a)/api?__wb_method=post&__wb_post_data=ea==&v=1 2024 ")


@needs_samples
def test_a_revisit_finds_an_original_that_was_imported_before_by_the_digest_of_its_tool(tmp_path, spool):
    first = SAMPLES / "20130729-heritrix-original.warc.gz"
    again = SAMPLES / "20130729-heritrix-revisit-with-http-headers.warc.gz"
    Importer(WarcWriter(tmp_path / "warc")).read([first], spool)
    done = Importer(WarcWriter(tmp_path / "warc")).read([again], spool)
    assert (done.taken, done.repeated, done.lost) == (1, 1, 0)
    original, revisit = queries.all_rows()
    assert revisit.refers_to == original.record_id
    assert verify(tmp_path / "warc").sound


def _stating(path, records):
    """Records whose payload digests are what somebody wrote, right or wrong."""
    with gzip.open(path, "wb") as file:
        for number, (url, kind, body, stated, more) in enumerate(records):
            block = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + body
            fields = {
                "WARC-Type": kind,
                "WARC-Target-URI": url,
                "WARC-Date": "2024-01-01T00:00:00Z",
                "WARC-Record-ID": f"<urn:uuid:{UUID(int=len(body) + number)}>",
                "WARC-Payload-Digest": stated,
                "Content-Type": "application/http; msgtype=response",
                "Content-Length": len(block),
                **more,
            }
            lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
            file.write(f"WARC/1.1\r\n{lines}\r\n".encode() + block + b"\r\n\r\n")
    return path


@pytest.mark.parametrize("more", [{}, {"WARC-Refers-To": "<urn:uuid:11111111-1111-4111-8111-111111111111>"}, {
    "WARC-Refers-To-Target-URI": "https://evil.example/", "WARC-Refers-To-Date": "2024-01-01T00:00:00Z"}])  # fmt: skip
def test_a_false_digest_cannot_forge_what_another_site_said(tmp_path, spool, more):
    """The honest revisit of the bank must not get the payload of a page that only claims to have its digest."""
    honest = hashlib.sha1(b"<p>your money is safe").hexdigest()
    identity = {"WARC-Record-ID": "<urn:uuid:11111111-1111-4111-8111-111111111111>"}
    evil = _stating(
        tmp_path / "evil.warc.gz",
        [("https://evil.example/", "response", b"<p>send it here", f"sha1:{honest}", identity)],
    )
    bank = _stating(tmp_path / "bank.warc.gz", [("https://bank.example/", "revisit", b"", f"sha1:{honest}", more)])
    done = Importer(WarcWriter(tmp_path / "warc")).read([evil, bank], spool)
    assert (done.waiting, done.lost) == (1, 0)
    assert IndexedCapture.objects.get(url="https://bank.example/").refers_to is None, "it waits for its true original"
    assert verify(tmp_path / "warc").sound
    done = Importer(WarcWriter(tmp_path / "warc")).read([bank], spool)
    assert (done.taken, done.known) == (0, 1), "nor when the other file was imported before"
    true = [("https://other.example/", "response", b"<p>your money is safe", f"sha1:{honest}", {})]
    Importer(WarcWriter(tmp_path / "warc")).read([_stating(tmp_path / "true.warc.gz", true), bank], spool)
    found = IndexedCapture.objects.filter(url="https://bank.example/").first()
    if not more:
        assert queries.by_record(found.refers_to).url == "https://other.example/", "the true payload is joined"
