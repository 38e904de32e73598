"""What a crawl says of pages that changed, and of pages it cannot read without a browser."""

from tests.engine.pages import HOST, Answer, Pages
from tests.engine.system import System

PAGE = "http://www.site.test"
TEXT = "<!doctype html><title>Council</title><p>The council met on Tuesday and spoke about the old bridge.</p>" * 3
SHELL = "<!doctype html><title>Shell</title><div id=root></div><script src=/api></script>"


def test_a_changed_page_is_weighed_in_an_ordinary_crawl(system, site):
    weights = []
    for text in (TEXT, TEXT, TEXT + "<p>They decided to close it.", TEXT + "<p>They decided to close it. " * 40):
        site.pages["/"] = text
        system.crawl(f"{PAGE}/", "--scope", "page", "--no-requisites", "--delay", "0")
    weights = [row[0] for row in system.rows("SELECT importance FROM capture WHERE url = ? ORDER BY id", f"{PAGE}/")]
    assert weights[:2] == [None, None]  # the first has nothing before it, the second nothing new
    assert 0 < weights[2] < weights[3] <= 1


def test_without_a_browser_a_page_that_needs_one_is_kept_with_a_note(system, site):
    site.pages["/"] = SHELL
    system.crawl(f"{PAGE}/", "--scope", "page", "--no-requisites", "--delay", "0")
    ((state, reason),) = system.rows("SELECT state, reason FROM visit")
    assert (state, reason) == (1, "needs-browser")
    assert system.rows("SELECT COUNT(*) FROM capture WHERE url = ?", f"{PAGE}/") == [(1,)]


def test_without_a_browser_a_site_that_always_needs_one_fails_and_says_what_to_install(system, site):
    system.run("site", "set", "www.site.test", "render=always")
    site.pages["/"] = SHELL
    summary = system.crawl(f"{PAGE}/", "--scope", "page", "--delay", "0")
    assert summary["reasons"]["browser-missing"] == 1
    ((reason,),) = system.rows("SELECT reason FROM visit")
    assert "install hemeroteca[browser]" in reason
    assert site.asked["/"] == 0


def test_an_empty_answer_is_a_version_only_when_it_says_something_else(tmp_path):
    site = Pages()
    system, page = System(tmp_path / "data", resolve=site.resolve, delay=0), f"http://{HOST}/"
    moved = [Answer(status=301, headers=b"Location: %s\r\n" % place) for place in (b"/a", b"/a", b"/b", b"/b")]
    for answer in (*moved, Answer(status=204), Answer(status=204)):
        site.pages["/"] = answer
        system.crawl(page, "--scope", "page", "--no-requisites", "--delay", "0")
    found = system.rows("SELECT status, version FROM capture WHERE url = ? ORDER BY id", page)
    assert found == [(301, 1), (301, 0), (301, 1), (301, 0), (204, 1), (204, 0)]
    system.run("archive", "verify")


def test_what_an_import_brought_is_no_new_version_when_it_is_crawled(tmp_path, site):
    address = f"{PAGE}/"
    site.pages["/"] = TEXT
    settings = {"resolve": f"*.site.test=127.0.0.1:{site.port}", "delay": 0}
    first, second = (System(tmp_path / name, **settings) for name in ("one", "two"))
    assert first.crawl(address, "--scope", "page")["versions"] == 1
    assert first.run("archive", "export", str(tmp_path / "site.wacz")).returncode == 0
    assert second.run("archive", "import", str(tmp_path / "site.wacz")).returncode == 0
    again = second.crawl(address, "--scope", "page")
    assert (again["versions"], again["unchanged"]) == (0, 1)
    assert second.rows("SELECT count(*), sum(version) FROM capture WHERE url = ?", address) == [(2, 1)]
