"""Wikis whose API is closed: Special:Export, then pages of histories; robots.txt is obeyed."""

import pytest

from hemeroteca.accounts import SYSTEM
from hemeroteca.jobs import services
from hemeroteca.jobs.runner import Runner
from hemeroteca.wiki import queries
from hemeroteca.wiki.job_kinds import Extract
from hemeroteca.wiki.models import Article
from tests.wiki.mediawiki import Refuser
from tests.wiki.test_extraction import told
from tests.wiki.world import CARACAS

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True), pytest.mark.slow]


@pytest.fixture
def behind(mediawiki, request):
    def made(*closed, robots=""):
        proxy = Refuser(mediawiki.url, closed, robots)
        request.addfinalizer(proxy.close)
        return proxy

    return made


def kept(*names):
    return [tuple(row[name] for name in names) for row in queries.every_revision(SYSTEM, {}, text=True)]


def test_special_export_stands_in_for_a_closed_api(run, mediawiki, behind):
    proxy = behind("api.php")
    done = run("wiki.extract", Extract(wiki=f"{proxy.url}/api.php", titles=["Caracas"], text=True))
    assert Article.objects.get().source == "export"
    assert done["revisions"] == CARACAS
    expected = [(r["revid"], r["user"], r["sha1"], r["slots"]["main"]["content"]) for r in told(mediawiki, "Caracas")]
    assert kept("revid", "user", "sha1", "text") == expected
    again = run("wiki.extract", Extract(wiki=f"{proxy.url}/api.php", titles=["Caracas"], text=True))
    assert (again["revisions"], again["changed"]) == (0, 0)


def test_pages_of_histories_stand_in_for_both(run, mediawiki, behind):
    proxy = behind("api.php", "Special:Export", "Special%3AExport")
    run("wiki.extract", Extract(wiki=f"{proxy.url}/api.php", titles=["Valencia"], text=True))
    assert Article.objects.get().source == "history"
    expected = told(mediawiki, "Valencia")
    assert kept("revid", "user", "comment", "minor", "size", "tags", "text") == [
        (*(r[n] for n in ("revid", "user", "comment", "minor", "size", "tags")), r["slots"]["main"]["content"])
        for r in expected
    ]
    assert [at[0][:16] for at in kept("timestamp")] == [r["timestamp"][:16] for r in expected], "minutes, not seconds"


def test_robots_forbid_pages_but_mean_not_the_api(run, behind):
    forbidding = "User-agent: *\nDisallow: /\n"
    open_api = behind(robots=forbidding)
    assert run("wiki.extract", Extract(wiki=f"{open_api.url}/api.php", titles=["Plaza"]))["revisions"] == 5
    closed = behind("api.php", robots=forbidding)
    order = Extract(wiki=f"{closed.url}/api.php", titles=["Plaza"])
    job = Runner().run(services.submit(SYSTEM, "wiki.extract", order, here=True))
    assert job.state == "failed"
    assert not any("Special:Export" in asked or "action=history" in asked for asked in closed.seen)
