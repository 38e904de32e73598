"""What a page needs is handed out with it."""

import pytest

from hemeroteca.archive import requisites
from tests.archive.making import Archive

pytestmark = [pytest.mark.database, pytest.mark.django_db]


def test_what_pages_and_their_styles_and_frames_name(tmp_path):
    archive = Archive(tmp_path / "warc")
    page = b"<link rel=stylesheet href=/a.css><img src=pic.png><iframe src=/frame></iframe><a href=/next>next</a>"
    archive.add("http://a.example/dir/", "2024", b"<img src=/old.png>")
    archive.add("http://a.example/dir/", "2025", page)
    archive.add("http://a.example/a.css", "2025", b"@import 'b.css'; p { background: url(/c.png) }", mime="text/css")
    archive.add("http://a.example/b.css", "2025", b"p { background: url(//cdn.example/d.png) }", mime="text/css")
    archive.add("http://a.example/frame", "2025", b"<img src=/framed.png><img src=/dir/pic.png>")
    archive.add("http://a.example/next", "2025", b"<img src=/not-needed.png>")
    found = requisites.of(archive.close().folder, ["http://a.example/dir/"])
    assert found[0] == "http://a.example/dir/"
    names = {url.rpartition("/")[2] for url in found[1:]}
    assert names == {"old.png", "a.css", "pic.png", "frame", "b.css", "c.png", "d.png", "framed.png"}
    assert len(found) == 9, "each once"


def test_what_drawings_modules_headers_and_long_chains_of_styles_name(tmp_path):
    archive = Archive(tmp_path / "warc")
    page = b"<img src=d.svg><script type=module src=m.js></script><link rel=stylesheet href=0.css>"
    archive.add("http://a.example/", "2025", page, headers=b"Link: </beside.js>; rel=preload\r\n")
    archive.add("http://a.example/d.svg", "2025", b"<svg><image href='photo.jpg'/></svg>", mime="image/svg+xml")
    archive.add("http://a.example/m.js", "2025", b"import './n.js'", mime="text/javascript")
    for step in range(6):
        archive.add(f"http://a.example/{step}.css", "2025", b"@import '%d.css';" % (step + 1), mime="text/css")
    found = requisites.of(archive.close().folder, ["http://a.example/"])
    names = {url.rpartition("/")[2] for url in found[1:]}
    assert names == {"d.svg", "photo.jpg", "m.js", "n.js", "beside.js", *(f"{step}.css" for step in range(7))}


def test_pages_that_need_each_other_are_gone_through_once(tmp_path, monkeypatch):
    archive = Archive(tmp_path / "warc")
    for name, other in ((b"a", b"b"), (b"b", b"a")):
        archive.add(f"http://a.example/{name.decode()}", "2025", b"<iframe src=/%s></iframe>" % other)
    folder = archive.close().folder
    assert requisites.of(folder, ["http://a.example/a"]) == ["http://a.example/a", "http://a.example/b"]
    monkeypatch.setattr(requisites, "_MOST", 1)
    assert requisites.of(folder, ["http://a.example/a"]) == ["http://a.example/a"]


def test_patterns_bring_what_their_pages_need(tmp_path):
    archive = Archive(tmp_path)
    archive.add("http://a.example/news/1", "2025", b"<link rel=stylesheet href=/s.css><p>one")
    archive.add("http://a.example/news/2", "2025", b"<img src=http://cdn.example/2.png><p>two")
    archive.add("http://a.example/alone", "2025", b"<img src=/alone.png><p>alone")
    archive.add("http://b.example/page", "2025", b"<img src=/b.png><p>of a host that comes whole")
    archive.close()
    found = requisites.with_patterns(
        tmp_path, ["http://a.example/news*", "http://a.example/alone", "http://b.example/*"]
    )
    assert found[:3] == ["http://a.example/news*", "http://a.example/alone", "http://b.example/*"]
    assert {"http://a.example/s.css", "http://cdn.example/2.png", "http://a.example/alone.png"} <= set(found)
    assert "http://b.example/b.png" not in found
