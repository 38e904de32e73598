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


def test_pages_that_need_each_other_are_gone_through_once(tmp_path, monkeypatch):
    archive = Archive(tmp_path / "warc")
    for name, other in ((b"a", b"b"), (b"b", b"a")):
        archive.add(f"http://a.example/{name.decode()}", "2025", b"<iframe src=/%s></iframe>" % other)
    folder = archive.close().folder
    assert requisites.of(folder, ["http://a.example/a"]) == ["http://a.example/a", "http://a.example/b"]
    monkeypatch.setattr(requisites, "_MOST", 1)
    assert requisites.of(folder, ["http://a.example/a"]) == ["http://a.example/a"]
