"""Crawls of pages that scripts write, through the command and a real Chromium."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from hemeroteca.fetch import FetchSettings
from hemeroteca.fetch.browser import BrowserSettings, missing
from hemeroteca.warc import stored_record
from tests.engine.system import System
from tests.fetch.browser_site import STORY, Site

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        bool(missing(BrowserSettings(fetch=FetchSettings(spool_dir=Path("."))))), reason="no browser on this machine"
    ),
]

PAGE = "http://www.site.test"
SHELL = """<!doctype html><title>Shell</title><div id=root></div><script>
fetch('/api?first').then(answer => answer.json()).then(found => {
  document.title = 'Ready';
  root.innerHTML = '<h1>' + found.story + '</h1><a href=/next>next</a><img src=/image-1>';
});
</script>"""
PLAIN = "<!doctype html><title>Next</title><p>" + "A page that is all there. " * 20


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()
    site.pages |= {"/": SHELL, "/next": PLAIN}
    yield site
    site.server.close()


@pytest.fixture
def system(tmp_path, site) -> System:
    return System(tmp_path / "data", resolve=f"*.site.test=127.0.0.1:{site.port}", delay=0)


def records(system: System, where: str, *values: object) -> list[stored_record.Record]:
    rows = system.rows(
        'SELECT warc_file.name, "offset", length FROM capture JOIN warc_file ON warc_file.id = capture.warc_id '
        f"WHERE {where} ORDER BY capture.id",
        *values,
    )
    return [stored_record.read(system.data / "warc", *row) for row in rows]


def found(system: System, words: str) -> list[str]:
    lines = system.run("search", words, "--json").stdout.splitlines()
    return [json.loads(line)["url"] for line in lines]


def test_what_scripts_write_is_found_followed_and_kept(system, site):
    summary = system.crawl(f"{PAGE}/", "--delay", "0", "--no-sitemaps")

    assert summary["state"] == "finished"
    assert {f"{PAGE}/", f"{PAGE}/next"} <= system.pages()
    assert found(system, "programas terminado trabajo") == [f"{PAGE}/"]
    (shell,) = records(system, "url = ?", f"{PAGE}/")
    assert shell.payload() == SHELL.encode()  # as received, once, though it was asked for twice
    (story,) = records(system, "url = ?", f"{PAGE}/api?first")
    assert story.payload() == site.api
    (shot,) = records(system, "url = ?", f"urn:screenshot:{PAGE}/")
    assert (shot.kind, shot.mime, shot.payload()[:4]) == ("resource", "image/png", b"\x89PNG")
    (dom,) = records(system, "url = ?", f"urn:dom:{PAGE}/")
    assert STORY in dom.payload().decode()
    assert not any(record.problems() for record in (shell, story, shot, dom))
    assert site.asked["/image-1"] == 1  # by the browser; the crawl need not ask again
    assert site.asked["/api?first"] == 1
    verified = system.run("archive", "verify")
    assert verified.returncode == 0, verified.stdout


def test_a_limit_of_one_page_is_not_used_up_by_the_look_before_the_browser(system, site):
    summary = system.crawl(f"{PAGE}/", "--limit", "1", "--delay", "0")

    assert summary["pages"] == 1
    assert found(system, "programas terminado trabajo") == [f"{PAGE}/"]


def test_never_leaves_the_page_as_it_came(system, site):
    assert system.run("site", "set", "www.site.test", "render=never").returncode == 0

    system.crawl(f"{PAGE}/", "--delay", "0", "--no-sitemaps")

    assert system.pages() == {f"{PAGE}/"}
    assert not site.asked["/api?first"]
    assert not records(system, "kind = 'resource'")


def test_always_opens_pages_that_could_be_read_without(system, site):
    system.run("site", "set", "www.site.test", "render=always")

    system.crawl(f"{PAGE}/next", "--scope", "page", "--delay", "0")

    assert site.asked["/next"] == 1
    assert len(records(system, "url = ?", f"urn:screenshot:{PAGE}/next")) == 1


def test_a_second_crawl_sees_what_scripts_changed_in_the_same_shell(system, site):
    first = system.crawl(f"{PAGE}/", "--delay", "0", "--scope", "page")
    same = system.crawl(f"{PAGE}/", "--delay", "0", "--scope", "page")
    site.api = json.dumps({"story": "Ahora cuenta una historia distinta y mucho más breve."}).encode()
    site._say = _without_encoding(site._say, site)
    other = system.crawl(f"{PAGE}/", "--delay", "0", "--scope", "page")

    assert len({first["crawl"], same["crawl"], other["crawl"]}) == 3
    assert same["unchanged"] == 1
    assert other["unchanged"] == 0
    kinds = system.rows("SELECT kind, version, importance FROM capture WHERE url = ? ORDER BY id", f"{PAGE}/")
    assert [(kind, version) for kind, version, _ in kinds] == [("response", 1), ("revisit", 0), ("revisit", 1)]
    assert kinds[2][2] > 0.1
    assert found(system, "historia distinta") == [f"{PAGE}/"]
    assert found(system, "programas terminado") == []
    made = [record.kind for record in records(system, "url = ?", f"urn:dom:{PAGE}/")]
    assert made == ["resource", "revisit", "resource"]  # each visit says what the browser made of it
    last = json.loads(system.run("archive", "diff", f"{PAGE}/", "--json").stdout)
    assert last["important"]
    assert "+Ahora cuenta una historia distinta" in last["text_diff"]  # not of the shell, which is the same
    assert last["components"]["view"].keys() == {"picture"}
    assert last["components"]["view"]["picture"] > 0
    moments = [
        str(row[0]) for row in system.rows("SELECT record_id FROM capture WHERE url = ? ORDER BY id", f"{PAGE}/")
    ]
    same = json.loads(system.run("archive", "diff", f"{PAGE}/", *moments[:2], "--json").stdout)
    assert same["same_bytes"]

    exported, other_data = system.data.parent / "all.wacz", system.data.parent / "other"
    assert system.run("archive", "export", str(exported), f"{PAGE}/*").returncode == 0
    copy = System(other_data)
    taken = copy.run("archive", "import", str(exported))
    assert taken.returncode == 0, taken.stderr
    wanted = "SELECT url, captured_ms, kind, version, digest FROM capture ORDER BY captured_ms, url"
    ours = [row for row in system.rows(wanted) if "robots.txt" not in row[0]]
    assert [row for row in copy.rows(wanted) if "robots.txt" not in row[0]] == ours
    assert found(copy, "historia distinta") == [f"{PAGE}/"]

    shutil.rmtree(system.data / "index")
    assert system.run("search", "rebuild").returncode == 0
    assert found(system, "historia distinta") == [f"{PAGE}/"]


def test_a_page_scripts_lead_away_from_is_a_redirect(system, site):
    site.pages["/"] = "<!doctype html><div id=root></div><script>location.replace('/next')</script>"

    system.crawl(f"{PAGE}/", "--delay", "0", "--no-sitemaps")

    assert {f"{PAGE}/", f"{PAGE}/next"} <= system.pages()
    assert found(system, "page that is all there") == [f"{PAGE}/next"]
    assert not records(system, "kind = 'resource' AND url LIKE ?", "%test/")


def test_private_addresses_a_page_asks_for_are_refused(tmp_path, site):
    inside = Site()
    system = System(tmp_path / "data", resolve=f"*.site.test=127.0.0.1:{site.port}", delay=0, allow_private=0)
    system.run("site", "set", "www.site.test", "allow_private=true")
    site.pages["/"] = SHELL.replace(
        "fetch(", f"fetch('http://127.0.0.1:{inside.port}/api', {{mode: 'no-cors'}}); fetch("
    )

    system.crawl(f"{PAGE}/", "--delay", "0", "--scope", "page")

    assert not inside.asked
    assert found(system, "programas terminado trabajo") == [f"{PAGE}/"]
    ((reason,),) = system.rows("SELECT reason FROM visit JOIN page ON page.id = page_id WHERE url = ?", f"{PAGE}/")
    assert "refused-address" in reason
    inside.server.close()


def test_what_a_page_gets_by_post_is_kept_by_what_it_sent(system, site):
    site.pages["/"] = SHELL.replace(
        "fetch('/api?first')",
        "fetch('/api/q', {method: 'POST', body: '{\"page\": 1}', headers: {'Content-Type': 'application/json'}})",
    )

    system.crawl(f"{PAGE}/", "--delay", "0", "--scope", "page")

    ((key,),) = system.rows("SELECT urlkey FROM capture WHERE url = ?", f"{PAGE}/api/q")
    assert key == "test,site)/api/q?__wb_method=post&page=1"
    assert found(system, "programas terminado trabajo") == [f"{PAGE}/"]
    verified = system.run("archive", "verify")
    assert verified.returncode == 0, verified.stdout


def test_robots_txt_is_obeyed_by_what_a_page_loads(system, site):
    site.pages["/robots.txt"] = "User-agent: *\nDisallow: /api\n"

    system.crawl(f"{PAGE}/", "--delay", "0", "--scope", "page")

    assert not site.asked["/api?first"]
    ((reason,),) = system.rows("SELECT reason FROM visit JOIN page ON page.id = page_id WHERE url = ?", f"{PAGE}/")
    assert "robots: 1 requests" in reason


def test_the_rules_of_another_host_are_asked_for_before_a_page_loads_from_it(system, site):
    site.pages["/"] = SHELL.replace(
        "src=/image-1", "src=http://cdn.site.test/image-1><img src=http://cdn.site.test/api/2"
    )
    other = Site()
    other.pages["/robots.txt"] = "User-agent: *\nDisallow: /image\n"
    system.environment["HEMEROTECA_RESOLVE"] = f"cdn.site.test=127.0.0.1:{other.port},*.site.test=127.0.0.1:{site.port}"

    system.crawl(f"{PAGE}/", "--delay", "0", "--scope", "page", "--no-requisites")

    other.server.close()
    assert other.asked == {"/robots.txt": 1, "/api/2": 1}  # the first time already
    assert len(records(system, "url = ?", "http://cdn.site.test/robots.txt")) == 1


def test_a_host_whose_rules_cannot_be_had_is_not_loaded_from(system, site):
    site.pages["/"] = SHELL.replace("src=/image-1", "src=http://cdn.site.test/image-1")
    system.environment["HEMEROTECA_RESOLVE"] = f"cdn.site.test=127.0.0.1:9,*.site.test=127.0.0.1:{site.port}"

    summary = system.crawl(f"{PAGE}/", "--delay", "0", "--scope", "page", "--no-requisites")

    assert summary["state"] == "finished"
    ((reason,),) = system.rows("SELECT reason FROM visit JOIN page ON page.id = page_id WHERE url = ?", f"{PAGE}/")
    assert "robots: 1 requests" in reason


def test_an_unknown_way_to_render_is_refused(system):
    done = system.run("site", "set", "www.site.test", "render=sometimes")
    assert done.returncode == 2
    assert "auto, always, never" in done.stderr


def _without_encoding(say, site):
    def answer(connection, head, path):
        if not path.startswith("/api"):
            return say(connection, head, path)
        connection.sendall(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(site.api)
            + site.api
        )
        return True

    return answer
