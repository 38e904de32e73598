"""Files as other tools write them, with what is peculiar to each: taken as far as they go, and the rest is told.

`samples/browsertrix.wacz` was made by `samples/browsertrix.mjs` with warcio.js, the library Browsertrix writes with.
"""

import json
import shutil
import subprocess
import threading
import zipfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from hemeroteca.archive import queries
from hemeroteca.archive.importing import Importer
from hemeroteca.archive.verify import verify
from hemeroteca.warc.writer import WarcWriter

pytestmark = [pytest.mark.database, pytest.mark.django_db]

BROWSERTRIX = Path(__file__).parent / "samples" / "browsertrix.wacz"
SITE = "https://diario.test"


@pytest.fixture
def take(tmp_path):
    (tmp_path / "spool").mkdir()

    def take(*files):
        done = Importer(WarcWriter(tmp_path / "warc")).read(files, tmp_path / "spool")
        assert verify(tmp_path / "warc").sound
        assert list((tmp_path / "spool").iterdir()) == []
        return done

    return take


def rows():
    return {row.urlkey: row for row in queries.all_rows()}


def test_a_wacz_of_browsertrix_is_taken_with_its_pictures_texts_and_answers_to_post(take):
    done = take(BROWSERTRIX)
    assert (done.taken, done.repeated, done.lost) == (16, 1, 0)
    found = rows()
    assert found["test,diario)/"].captured_ms % 1000 == 123
    assert (found["test,diario)/copia.css"].kind, found["test,diario)/copia.css"].body_size) == ("revisit", 17)
    assert (found["test,diario)/video"].status, found["test,diario)/video"].truncated) == (206, "disconnect")
    assert found["test,diario)/viejo"].status == 301
    posted = [key for key in found if "__wb_method=post" in key]
    assert sorted(posted) == [f"test,diario)/api?__wb_method=post&dia={day}&query=mareas" for day in (1, 2)]
    made = [row.url for row in queries.all_rows("kind = %s", ["resource"])]
    kinds = ["fullPage", "pageinfo", "text", "text", "thumbnail", "view"]
    assert sorted(made) == [f"urn:{kind}:{SITE}/" for kind in kinds]
    reasons = {problem.reason for problem in done.problems}
    assert reasons == {
        f"what {SITE}/otro repeats is neither in the archive nor in these files (it lies in other.wacz); "
        "it is joined to it when that comes",
    }


def test_what_a_crawl_of_browsertrix_made_of_a_page_is_no_version_of_it(take):
    take(BROWSERTRIX)
    assert len(queries.versions_of(f"{SITE}/")) == 1


@pytest.fixture
def beside(tmp_path):
    folder = tmp_path / "given"
    folder.mkdir()
    shutil.copy(BROWSERTRIX, folder / "one.wacz")

    def write(*resources, profile="multi-wacz-package"):
        (folder / "all.json").write_text(json.dumps({"profile": profile, "resources": list(resources)}))
        return folder / "all.json"

    return write


def test_a_list_of_several_wacz_files_is_followed_to_those_beside_it(take, beside):
    place = "https://store.example/crawl/one.wacz?signature=abc"
    done = take(beside({"name": "one", "path": place}, {"name": "two.wacz", "path": "two.wacz", "hash": "sha256:00"}))
    assert done.taken == 16
    assert [problem.reason for problem in done.problems if "two.wacz" in problem.reason] == [
        "two.wacz is named here and does not lie beside this file; put it there"
    ]


def test_a_file_that_is_not_the_one_of_the_list_is_told(take, beside):
    done = take(beside({"name": "one.wacz", "path": "one.wacz", "hash": "sha256:00"}))
    assert done.taken == 16
    assert "the file is not the one that all.json describes (digest)" in {item.reason for item in done.problems}


def test_what_a_wacz_names_and_lacks_is_told_and_what_lies_elsewhere_in_it_is_read(take, tmp_path):
    with zipfile.ZipFile(BROWSERTRIX) as whole, zipfile.ZipFile(tmp_path / "a.wacz", "w") as other:
        (name,) = (name for name in whole.namelist() if name.endswith(".warc.gz"))
        other.writestr(f"crawls/one/{Path(name).name}", whole.read(name))
        resources = [{"path": "archive/gone.warc.gz", "hash": "sha256:00"}, {"path": "pages/pages.jsonl"}]
        other.writestr("datapackage.json", json.dumps({"resources": resources}))
    done = take(tmp_path / "a.wacz")
    assert (done.taken, done.lost) == (16, 1)
    reason = "archive/gone.warc.gz is named in datapackage.json and is not in the file"
    assert reason in {problem.reason for problem in done.problems if problem.lost}


@pytest.mark.parametrize(
    "path", ["../secret.wacz", "/etc/passwd", "file:///etc/passwd", "..", "", "a/../../secret.wacz"]
)
def test_a_list_opens_nothing_outside_its_folder(take, beside, tmp_path, path):
    shutil.copy(BROWSERTRIX, tmp_path / "secret.wacz")
    done = take(beside({"name": "", "path": path}))
    assert (done.taken, done.lost) == (0, 1)


@pytest.mark.parametrize(
    "text", ["{}", '{"profile": "data-package", "resources": []}', "{" * 100_000, '{"profile": 1}']
)
def test_other_json_is_not_an_archive(take, tmp_path, text):
    (tmp_path / "x.json").write_text(text)
    done = take(tmp_path / "x.json")
    assert (done.taken, done.lost) == (0, 1)


@pytest.mark.skipif(shutil.which("wget") is None, reason="wget is not here")
def test_a_warc_of_archivebox_which_has_wget_write_it(take, tmp_path):
    site = tmp_path / "site"
    site.mkdir()
    (site / "index.html").write_text("<title>Caja</title><link rel=stylesheet href=/s.css><p>palabras")
    (site / "s.css").write_text("p { color: red }")

    class Quiet(SimpleHTTPRequestHandler):
        protocol_version = "HTTP/1.1"  # wget asks again over a connection it believes open, and writes that request too

        def log_message(self, *arguments):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=site)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/"
        # as archivebox/extractors/wget.py calls it
        options = "--no-verbose --adjust-extension --convert-links --force-directories --backup-converted --span-hosts"
        more = "--no-parent -e robots=off --restrict-file-names=windows --page-requisites --compression=auto"
        command = [
            "wget",
            "--no-config",
            *options.split(),
            *more.split(),
            f"--warc-file={tmp_path / '1741000000'}",
            address,
        ]
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
        server.shutdown()
    done = take(tmp_path / "1741000000.warc.gz")
    assert (done.taken, done.lost, done.problems) == (5, 0, [])  # two answers, and what wget says of itself
    found = {row.url: row for row in queries.all_rows()}
    assert (found[address].mime, found[address].status) == ("text/html", 200)
    assert found[f"{address}s.css"].body_size == 16
