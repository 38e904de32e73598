"""Answers to POST: the key they are filed under is pywb's, and the files alone tell it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hemeroteca.archive import queries, verify, wacz
from hemeroteca.archive.cdx import CdxAnswer, CdxQuery
from hemeroteca.archive.importing import Importer
from hemeroteca.archive.models import IndexedCapture, WarcFile
from hemeroteca.archive.selection import Selection
from hemeroteca.warc import keys
from hemeroteca.warc.writer import WarcWriter
from tests.warc.making import exchange

URL = "http://example.org/graphql"
JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data; boundary=xx"
SENT = [
    (JSON, b'{"q": {"page": 1, "half": 1.5, "whole": 2.0}, "list": [1, "a", null, true, false], "page": 3}'),
    (JSON, "{\"ñ\": \"á b&c=d\"}".encode()),
    (JSON, b"{broken"),
    (JSON + "; charset=utf-8", b"[]"),
    (FORM, b"a=1&b=%C3%B1+x%26&c"),
    (FORM, b"a=\xff"),
    ("text/plain;charset=UTF-8", b'{"a": [{"b": 1}, {"b": 2}, {"b": 3}]}'),
    ("text/plain", b"hello"),
    ("application/octet-stream", bytes(range(256))),
    ("", b"x"),
    (MULTIPART, b'--xx\r\nContent-Disposition: form-data; name="a"\r\n\r\n1 \xc3\xb1\r\n--xx\r\n'
     b'Content-Disposition: form-data; name="f"; filename="x"\r\nContent-Type: image/png\r\n\r\n\x89P\r\n--xx--\r\n'),
    ("multipart/form-data", b"no boundary"),
    (JSON, json.dumps({"long": "x" * 6000}).encode()),
]  # fmt: skip

PEER = """
import io, json, sys
from pywb.warcserver.inputrequest import MethodQueryCanonicalizer as M
for kind, data in json.load(sys.stdin):
    data = bytes.fromhex(data)
    print(json.dumps(M("POST", kind, len(data), io.BytesIO(data)).append_query(sys.argv[1])))
"""


@pytest.mark.skipif(not Path(sys.prefix + "-replay").exists(), reason="pywb is not installed")
@pytest.mark.parametrize("url", [URL, URL + "?a=1"])
def test_the_address_is_the_one_pywb_makes(url):
    python = Path(sys.prefix + "-replay") / "bin" / "python"
    asked = json.dumps([(kind, data.hex()) for kind, data in SENT])
    done = subprocess.run([python, "-c", PEER, url], input=asked, capture_output=True, text=True, check=True)
    theirs = [json.loads(line) for line in done.stdout.splitlines()]
    assert [keys.address(url, "POST", kind, data) for kind, data in SENT] == theirs


def test_plain_requests_keep_their_address():
    assert keys.address(URL, "GET", "", b"") == URL
    assert keys.is_kept("POST", b"x" * keys.MAX_SENT)
    assert not keys.is_kept("POST", b"x" * (keys.MAX_SENT + 1))
    assert keys.address(URL, "HEAD", "", b"") != URL
    assert not keys.is_kept("PUT", b"x" * (keys.MAX_SENT + 1))


def write_foreign(path: Path) -> None:
    """As another tool wrote it: two answers of one address, told apart by what was sent."""
    data = b""
    for number, sent in ((1, b'{"page": 1}'), (2, b'{"page": 2}'), (3, b"x" * 20_000)):
        body = b'{"news": %d}' % number
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
        asked = b"POST /graphql HTTP/1.1\r\nHost: example.org\r\nContent-Type: application/json\r\n"
        asked += b"Content-Length: %d\r\n\r\n" % len(sent)
        records = exchange(URL, 1_700_000_000_000, "192.0.2.1", "http/1.1", asked, head, body, sent=sent)
        data += records.data
    path.write_bytes(data)


def lines(url: str) -> list[str]:
    return [line["digest"] for line in CdxAnswer(CdxQuery.read({"url": [url], "matchType": ["exact"]}))]


@pytest.mark.django_db
def test_they_are_taken_filed_exported_and_the_index_is_rebuilt(tmp_path):
    folder = tmp_path / "warc"
    folder.mkdir()
    write_foreign(tmp_path / "foreign.warc.gz")
    done = Importer(WarcWriter(folder)).read([tmp_path / "foreign.warc.gz"], tmp_path)
    assert (done.taken, done.lost) == (2, 1)
    assert "a POST of more than" in done.problems[0].reason
    filed = {page: keys.address(URL, "POST", JSON, b'{"page": %d}' % page) for page in (1, 2)}
    assert lines(filed[1]) != lines(filed[2])
    assert [len(lines(url)) for url in (*filed.values(), URL)] == [1, 1, 0]
    assert verify.verify(folder).sound

    before = set(IndexedCapture.objects.values_list("record_id", "urlkey", "url", "version"))
    assert {url for _, _, url, _ in before} == {URL}
    wacz.write(folder, Selection(("example.org/*",)), tmp_path / "out.wacz", 0)
    IndexedCapture.objects.all().delete()
    WarcFile.objects.all().delete()
    for digests in (True, False):
        report = verify.verify(folder, repair=True, digests=digests)
        assert report.sound
        assert set(IndexedCapture.objects.values_list("record_id", "urlkey", "url", "version")) == before
        IndexedCapture.objects.all().delete()
        WarcFile.objects.all().delete()
    again = tmp_path / "again"
    assert Importer(WarcWriter(again)).read([tmp_path / "out.wacz"], tmp_path).taken == 2
    assert set(IndexedCapture.objects.values_list("record_id", "urlkey", "url", "version")) == before


@pytest.mark.django_db
def test_a_wrong_key_is_found_and_corrected(tmp_path):
    folder = tmp_path / "warc"
    write_foreign(tmp_path / "foreign.warc.gz")
    Importer(WarcWriter(folder)).read([tmp_path / "foreign.warc.gz"], tmp_path)
    row = queries.rows("1 = 1", [], "capture.id", 1)[0]
    IndexedCapture.objects.filter(pk=row.id).update(urlkey="org,example)/graphql")
    assert not verify.verify(folder).sound
    assert verify.verify(folder, repair=True).corrected == 1
    assert queries.by_record(row.record_id).urlkey == row.urlkey
