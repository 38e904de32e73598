"""Wikis that ask for patience, old wikis, temporary accounts; the budget that all workers share."""

import dataclasses
import hashlib

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from hemeroteca.accounts import SYSTEM
from hemeroteca.errors import Denied, Invalid, Refused
from hemeroteca.jobs.models import Job
from hemeroteca.jobs.workers import machine
from hemeroteca.wiki import all_revisions, answers, commits, free_queries, queries, services, wiki_address
from hemeroteca.wiki.budget import MAX_PAID, PAID_MS, RequestBudget, now_ms
from hemeroteca.wiki.extraction import Extraction, ExtractionOptions
from hemeroteca.wiki.job_kinds import Extract
from hemeroteca.wiki.models import Article, FarmBudget, FarmSlot, Wiki
from tests.waiting import held_port
from tests.wiki.recorded import SITE, Recorded, history, revision, usual

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def serve(request):
    def started(answer):
        server = Recorded(answer)
        request.addfinalizer(server.close)
        return server

    return started


@pytest.fixture
def no_waiting(monkeypatch):
    """Holds are noted instead of waited for."""
    held = []
    monkeypatch.setattr(RequestBudget, "hold", lambda self, seconds, reason: held.append((seconds, reason)))
    return held


def extract(run, server, **more):
    return run("wiki.extract", Extract(wiki=f"{server.url}/w/api.php", titles=["T"], **more))


LAGGED = (
    200,
    {"Retry-After": "7", "X-Database-Lag": "9"},
    {"error": {"code": "maxlag", "info": "Waiting for 10.64.48.35: 9 seconds lagged.", "lag": 9}},
)
LIMITED = (429, {"Retry-After": "11", "Content-Type": "text/html"}, b"<html>Too many requests")
BROKEN = (503, {"Content-Type": "text/html"}, b"upstream")


@pytest.mark.parametrize(
    ("first", "held"), [(LAGGED, (7.0, "maxlag")), (LIMITED, (11.0, "HTTP 429")), (BROKEN, (5.0, "HTTP 503"))]
)
def test_a_wiki_that_asks_for_patience_gets_it_and_nothing_is_lost(run, serve, no_waiting, first, held):
    waiting = [first]

    def answer(parameters):
        if "pageids" in parameters:
            return waiting.pop() if waiting else history(revision(1), revision(2))
        return usual(parameters)

    server = serve(answer)
    assert extract(run, server)["revisions"] == 2
    assert no_waiting == [held]
    assert all(parameters["maxlag"] == "5" for parameters, _ in server.asked)


def test_requests_say_who_asks_and_take_gzip(run, serve):
    server = serve(lambda p: usual(p) or history(revision(1)))
    extract(run, server)
    for _, headers in server.asked:
        assert "tests@example.org" in headers["user-agent"]
        assert "gzip" in headers["accept-encoding"]


def test_a_token_is_sent_where_one_is_set(run, house, serve):
    house.CONFIG = dataclasses.replace(house.CONFIG, wiki_token="oauth-2-token")
    server = serve(lambda p: usual(p) or history(revision(1)))
    extract(run, server)
    assert {headers["authorization"] for _, headers in server.asked} == {"Bearer oauth-2-token"}


def test_a_wiki_of_2012_is_understood(run, serve):
    """MediaWiki 1.19: pages by number, empty texts for flags, `*` for content, query-continue, no slots, no sha1."""

    def answer(parameters):
        if parameters.get("meta") == "siteinfo":
            return 200, {}, SITE
        if parameters.get("list") and "pageids" not in parameters:
            return 200, {}, {"query": {parameters["list"]: []}}
        if "titles" in parameters:
            return 200, {}, {"query": {"pages": {"7": {"pageid": 7, "ns": 0, "title": "T", "lastrevid": 2}}}}
        old = {"parentid": 0, "timestamp": "2010-01-01T00:00:00Z", "size": 3, "comment": ""}
        if "rvstartid" not in parameters:
            page = {"pageid": 7, "ns": 0, "title": "T", "revisions": [
                {**old, "revid": 1, "user": "10.0.0.1", "anon": "", "minor": "", "*": "uno"}]}  # fmt: skip
            return 200, {}, {"query": {"pages": {"7": page}}, "query-continue": {"revisions": {"rvstartid": 2}}}
        page = {"pageid": 7, "ns": 0, "title": "T", "revisions": [
            {**old, "revid": 2, "userhidden": "", "commenthidden": "", "*": "dos"}]}  # fmt: skip
        return 200, {}, {"query": {"pages": {"7": page}}}

    extract(run, serve(answer), text=True)
    first, second = queries.every_revision(SYSTEM, {}, text=True)
    assert (first["user"], first["anon"], first["minor"], first["text"]) == ("10.0.0.1", True, True, "uno")
    assert first["sha1"] == hashlib.sha1(b"uno").hexdigest(), "computed where the wiki does not tell it"
    assert (second["user"], second["userhidden"], second["minor"], second["text"]) == (None, True, False, "dos")


def test_temporary_accounts_are_neither_registered_nor_addresses(run, serve):
    names = {"enabled": True, "matchPattern": "*Guest $1", "matchPatterns": ["*Guest $1", "~2$1"]}
    site = {"query": {**SITE["query"], "autocreatetempuser": names}}

    def answer(parameters):
        if parameters.get("meta") == "siteinfo":
            return 200, {}, site
        if "pageids" in parameters:
            users = ("*Guest 7", "~2026-123", "Ana", "2001:DB8::1")
            return history(*[revision(n, user=user, userid=n % 4) for n, user in enumerate(users, 1)])
        return usual(parameters)

    extract(run, serve(answer))
    kinds = queries.metrics_of(SYSTEM, {}, ("kinds",))["kinds"]
    assert {row["kind"]: row["edits"] for row in kinds} == {"temporary": 2, "registered": 1, "ip": 1}


def test_slots_and_hidden_sha1_are_kept(run, serve):
    main = {"contentmodel": "wikitext", "contentformat": "text/x-wiki", "content": "hola", "sha1": "aa" * 20}
    extra = {"contentmodel": "wikibase-mediainfo", "size": 9, "sha1": "bb" * 20, "content": "{}"}
    found = revision(1, slots={"main": main, "mediainfo": extra})
    hidden = revision(2, sha1hidden=True, suppressed=True, texthidden=True)
    del hidden["sha1"]
    extract(run, serve(lambda p: usual(p) or history(found, hidden)), text=True)
    first, second = queries.every_revision(SYSTEM, {}, text=True)
    assert (first["text"], first["text_sha1"], first["contentmodel"]) == ("hola", "aa" * 20, "wikitext")
    assert '"mediainfo"' in first["slots"]
    assert (second["sha1"], second["sha1hidden"], second["suppressed"], second["text"]) == (None, True, True, None)


def test_a_wiki_that_is_not_there_is_named_by_its_address_alone(house, no_waiting):
    with held_port() as port:  # nobody listens
        job = failed(Extract(wiki=f"http://127.0.0.1:{port}/w/api.php", titles=["T"]))
    assert job.message.startswith(f"http://127.0.0.1:{port}/w/api.php cannot be reached (")


@pytest.mark.parametrize(
    "body", [b"<html>no", b"{", b"[]", b"", b'{"query": {"pages": 7}}', b"\xff\xfe", b'{"\xff": 1}']
)
def test_an_answer_that_is_none_ends_the_job_with_a_reason(house, serve, body, no_waiting):
    from hemeroteca.jobs import services
    from hemeroteca.jobs.runner import Runner

    server = serve(lambda p: (200, {}, body) if p["path"].endswith("api.php") else (404, {}, b""))
    order = Extract(wiki=f"{server.url}/w/api.php", titles=["T"])
    job = Runner().run(services.submit(SYSTEM, "wiki.extract", order, here=True))
    assert job.state == "failed"
    assert job.code != "internal", job.message
    assert server.url in job.message


def test_wikimedia_needs_a_contact_and_is_one_farm(house):
    anonymous = dataclasses.replace(house.CONFIG, contact="")
    farm = wiki_address.farm_of("https://es.wikipedia.org/w/api.php")
    assert farm == wiki_address.farm_of("https://commons.wikimedia.org/w/api.php") == wiki_address.WIKIMEDIA
    assert farm == wiki_address.farm_of("https://es.wikipedia.org./w/api.php")
    with pytest.raises(Denied, match="set `contact`"):
        RequestBudget(anonymous, farm)
    usual_rate = dataclasses.replace(house.CONFIG, wiki_requests_per_minute=0.0)
    assert RequestBudget(usual_rate, farm).interval_ms == 300.0, "200 a minute"
    assert RequestBudget(dataclasses.replace(usual_rate, wiki_requests_per_minute=9000.0), farm).interval_ms == 300.0
    assert RequestBudget(usual_rate, "example.org").interval_ms == 1000 * usual_rate.delay


class Wait(Exception):  # noqa: N818 - a state, not an error
    """Instead of sleeping."""


def asked_to_wait(seconds):
    raise Wait(seconds)


def wait_of(budget):
    """Seconds after which a worker looks again whether it may ask; 0: it may."""
    try:
        budget.spend()
    except Wait as wait:
        return wait.args[0]
    return 0.0


def test_all_workers_share_one_budget_and_three_slots(house):
    config = dataclasses.replace(house.CONFIG, wiki_requests_per_minute=60.0)
    workers = [RequestBudget(config, "example.org", asked_to_wait, f"machine:{number}:0:0") for number in range(4)]
    assert [wait_of(worker) for worker in workers[:2]] == [0, 0], "a second's worth may be spent at once"
    assert 0 < wait_of(workers[2]) <= 1, "then each waits for its turn"
    FarmBudget.objects.update(next_ms=0)
    assert wait_of(workers[2]) == 0
    FarmBudget.objects.update(next_ms=0)
    assert wait_of(workers[3]) > 0, "three at once is all"
    workers[0].release()
    assert wait_of(workers[3]) == 0
    FarmSlot.objects.filter(worker="machine:1:0:0").update(worker=f"{machine()}:999999999:1:0")
    FarmBudget.objects.update(next_ms=0)
    assert wait_of(workers[0]) == 0, "the slot of a worker that was killed is free at once"
    FarmSlot.objects.all().delete()
    workers[1].hold(60, "HTTP 429")
    assert wait_of(workers[0]) == 5, "what one is told holds for all, and each looks again now and then"
    held = FarmBudget.objects.get()
    assert held.reason == "HTTP 429"
    assert now_ms() + 55_000 < held.next_ms <= now_ms() + 60_000


def test_requests_paid_for_together_never_exceed_the_limit(house, monkeypatch):
    """Three workers ask as often as they may for ten seconds of a clock that is turned by hand."""
    clock = [1_000_000]
    monkeypatch.setattr("hemeroteca.wiki.budget.now_ms", lambda: clock[0])
    config = dataclasses.replace(house.CONFIG, wiki_requests_per_minute=6000.0)  # 100 a second
    workers = [RequestBudget(config, "example.org", asked_to_wait, f"machine:{number}:0:0") for number in range(3)]
    made = []
    while clock[0] < 1_010_000:
        for worker in workers:
            if not wait_of(worker):
                made.append(clock[0])
        clock[0] += 3
    assert len(made) <= 10 * 100 + 101, "ten seconds, and the second that may be saved"
    assert len(made) >= 10 * 100 * 0.9, "and nearly all of it is used"
    for worker in workers:
        worker.release()
    assert FarmBudget.objects.get().requests == len(made), "what was paid for and not made is not counted"


def test_paid_requests_lapse_and_end_when_the_wiki_asks_for_patience(house, monkeypatch):
    clock = [1_000_000]
    monkeypatch.setattr("hemeroteca.wiki.budget.now_ms", lambda: clock[0])
    config = dataclasses.replace(house.CONFIG, wiki_requests_per_minute=60_000.0)
    quick = RequestBudget(config, "example.org", asked_to_wait)
    other = RequestBudget(config, "example.org", asked_to_wait, "machine:1:0:0")
    quick.spend()
    with CaptureQueriesContext(connection) as asked:
        for _ in range(MAX_PAID - 2):
            quick.spend()
    assert not asked.captured_queries, "they were paid for together"
    clock[0] += PAID_MS
    with CaptureQueriesContext(connection) as asked:
        quick.spend()
    assert any("wiki_budget" in query["sql"] for query in asked), "the last one was paid for too long ago"
    quick.hold(60, "HTTP 429")
    assert wait_of(quick) == 5, "whoever was told makes none of those that are left"
    assert wait_of(other) == 5
    assert FarmBudget.objects.get().next_ms > clock[0] + 59_000


def test_wikimedia_is_paid_one_by_one(house):
    usual_rate = dataclasses.replace(house.CONFIG, wiki_requests_per_minute=0.0)
    budget = RequestBudget(usual_rate, wiki_address.WIKIMEDIA)
    for _ in range(2):
        with CaptureQueriesContext(connection) as asked:
            budget.spend()
        assert any("wiki_budget" in query["sql"] for query in asked)


@pytest.mark.parametrize(
    ("given", "api", "title"),
    [
        ("es", "https://es.wikipedia.org/w/api.php", ""),
        (
            "https://es.wikipedia.org/wiki/Sim%C3%B3n_Bol%C3%ADvar",
            "https://es.wikipedia.org/w/api.php",
            "Simón Bolívar",
        ),
        ("https://wiki.example.org/w/api.php", "https://wiki.example.org/w/api.php", ""),
        ("https://wiki.example.org/mine/index.php?title=A_B", "https://wiki.example.org/mine/api.php", "A B"),
        ("https://example.fandom.com/wiki/Page", "https://example.fandom.com/w/api.php", "Page"),
        ("zh-min-nan", "https://zh-min-nan.wikipedia.org/w/api.php", ""),
    ],
)
def test_a_wiki_is_named_by_language_article_or_api(given, api, title):
    place = wiki_address.read(given)
    assert (place.candidates[0], place.title) == (api, title)


@pytest.mark.parametrize("given", ["", "not a wiki", "ftp://x.org/w/api.php", "file:///etc/passwd"])
def test_what_names_no_wiki_is_refused(given):
    with pytest.raises(Invalid):
        wiki_address.read(given)


def test_base_36_and_hexadecimal_are_the_same_number():
    sha1 = "0a4d55a8d778e5022fab701977c5d840bbc486d0"
    assert answers.hexadecimal(answers.base36(sha1)) == sha1
    assert len(answers.base36(sha1)) == 31
    assert answers.hexadecimal("not-base-36!") is None


def test_a_private_address_is_refused_by_the_guard(house, run):
    house.CONFIG = dataclasses.replace(house.CONFIG, allow_private=False)
    from hemeroteca.wiki import services

    with pytest.raises(Refused), services.opened("http://127.0.0.1:9/w/api.php"):
        pass
    assert not Wiki.objects.exists()
    assert not Article.objects.exists()


def failed(order):
    """The message of an extraction that fails for a reason the wiki gave."""
    from hemeroteca.jobs import services
    from hemeroteca.jobs.runner import Runner

    job = Runner().run(services.submit(SYSTEM, "wiki.extract", order, here=True))
    assert (job.state, job.code != "internal") == ("failed", True), job.message
    return job


def in_parts(*parts):
    """Answers that continue each other, each a page with its revisions."""

    def answer(parameters):
        if "pageids" not in parameters:
            return usual(parameters)
        place = int(parameters.get("rvcontinue", "20260101000001|0").partition("|")[2])
        body = {"query": {"pages": [{"pageid": 7, "ns": 0, **parts[place]}]}}
        if place + 1 < len(parts):
            body["continue"] = {"rvcontinue": f"20260101000001|{place + 1}", "continue": "||"}
        return 200, {}, body

    return answer


def test_an_article_moved_while_it_is_read_has_one_title(run, serve):
    server = serve(
        in_parts({"title": "T", "revisions": [revision(1)]}, {"title": "U", "revisions": [revision(2), revision(3)]})
    )
    assert extract(run, server)["revisions"] == 3
    article = Article.objects.get()
    assert (article.title, article.former_titles, article.complete) == ("U", ["T"], True)
    assert [(row["revid"], row["title"]) for row in queries.every_revision(SYSTEM, {"title": "T"})] == [
        (1, "U"),
        (2, "U"),
        (3, "U"),
    ]


def test_an_article_deleted_while_it_is_read_does_not_stop_the_others(run, serve):
    gone = in_parts({"title": "T", "revisions": [revision(1)]}, {"title": "T", "missing": True})

    def answer(parameters):
        if parameters.get("titles") == "T|Otro":
            pages = [{"pageid": number, "ns": 0, "title": title} for number, title in ((7, "T"), (8, "Otro"))]
            return 200, {}, {"query": {"pages": pages}}
        if parameters.get("pageids") == "8":
            page = {"pageid": 8, "ns": 0, "title": "Otro", "revisions": [revision(20)]}
            return 200, {}, {"query": {"pages": [page]}}
        return gone(parameters)

    result = run("wiki.extract", Extract(wiki=f"{serve(answer).url}/w/api.php", titles=["T", "Otro"]))
    assert (result["deleted"], result["articles"]) == (["T"], 1)
    assert [row["revid"] for row in queries.every_revision(SYSTEM, {})] == [1, 20], "what was read of it is kept"
    assert Article.objects.get(title="T").deleted


def test_a_wiki_that_forgot_where_it_was_says_so_and_the_order_goes_on(run, serve):
    forgets = {"error": {"code": "badcontinue", "info": "Invalid continue param."}}
    told = in_parts({"title": "T", "revisions": [revision(1)]}, {"title": "T", "revisions": [revision(2)]})
    bad = [True]

    def answer(parameters):
        return (200, {}, forgets) if bad and "rvcontinue" in parameters else told(parameters)

    server = serve(answer)
    assert "badcontinue" in failed(Extract(wiki=f"{server.url}/w/api.php", titles=["T"])).message
    bad.clear()
    extract(run, server)
    assert [row["revid"] for row in queries.every_revision(SYSTEM, {})] == [1, 2]


def test_a_walk_over_a_whole_wiki_begins_again_where_its_place_is_no_more(run, serve):
    """The checkpoint of a walk that was interrupted names a place that the wiki, updated meanwhile, does not know."""
    from hemeroteca.jobs import services
    from hemeroteca.jobs.runner import Runner

    def answer(parameters):
        if parameters.get("list") != "allrevisions":
            return usual(parameters)
        if "arvcontinue" in parameters:
            return 200, {}, {"error": {"code": "badcontinue", "info": "Invalid continue param."}}
        return 200, {}, {"query": {"allrevisions": [{"pageid": 7, "ns": 0, "title": "T", "revisions": [revision(1)]}]}}

    order = Extract(wiki=f"{serve(answer).url}/w/api.php", whole=True)
    job = services.submit(SYSTEM, "wiki.extract", order, here=True)
    job.checkpoint = {"titles": 0, "walk": {"further": {"arvcontinue": "old", "continue": "-||"}, "began_ms": 1}}
    job.save()
    done = Runner().run(job)
    assert (done.state, done.result["revisions"]) == ("done", 1), done.message


def test_titles_of_another_wiki_and_titles_that_are_none_are_told(run, serve):
    def answer(parameters):
        if "titles" not in parameters:
            return usual(parameters) or history(revision(1))
        pages = [
            {"pageid": 7, "ns": 0, "title": "T"},
            {"title": "%41", "invalid": True, "invalidreason": "percent"},
            {"ns": 0, "title": "No", "missing": True},
            {"ns": -1, "title": "Special:Version", "special": True},
        ]
        other = [{"title": "fr:Paris", "iw": "fr"}]
        return 200, {}, {"query": {"normalized": [{"from": "t", "to": "T"}], "interwiki": other, "pages": pages}}

    titles = ["t", "fr:Paris", "%41", "No", "Special:Version"]
    result = run("wiki.extract", Extract(wiki=f"{serve(answer).url}/w/api.php", titles=titles))
    assert result["articles"] == 1
    assert sorted(result["missing"]) == ["%41", "No", "Special:Version", "fr:Paris"]


def test_nothing_is_made_of_what_a_wiki_does_not_say(run, serve):
    """A suppressed parent, size 0, an empty comment; everything hidden; the older format's flags."""
    bare = {"revid": 1, "parentid": 0, "timestamp": "2026-01-01T00:00:01Z", "size": 0, "comment": "", "user": "Ana",
            "userid": 1, "sha1": hashlib.sha1(b"").hexdigest(), "minor": "", "tags": [],
            "slots": {"main": {"contentmodel": "wikitext", "contentformat": "text/x-wiki", "*": ""}}}  # fmt: skip
    hidden = {"revid": 3, "parentid": 2, "timestamp": "2026-01-01T00:00:03Z", "userhidden": "", "commenthidden": "",
              "sha1hidden": "", "suppressed": "", "size": 5, "tags": [],
              "slots": {"main": {"texthidden": ""}}}  # fmt: skip
    pages = {"7": {"pageid": 7, "ns": 0, "title": "T", "revisions": [bare, hidden]}}
    extract(run, serve(lambda p: usual(p) or (200, {}, {"query": {"pages": pages}})), text=True)
    first, second = queries.every_revision(SYSTEM, {}, text=True)
    assert (first["size"], first["comment"], first["text"], first["minor"], first["parentid"]) == (0, "", "", True, 0)
    assert {name: second[name] for name in ("user", "userid", "comment", "sha1", "text", "text_sha1")} == dict.fromkeys(
        ("user", "userid", "comment", "sha1", "text", "text_sha1")
    )
    assert all(second[name] for name in ("userhidden", "commenthidden", "texthidden", "sha1hidden", "suppressed"))
    assert second["parentid"] == 2, "though the wiki does not tell that one"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [({"Retry-After": "Wed, 21 Oct 2099 07:28:00 GMT"}, None), ({"Retry-After": "soon"}, 5.0), ({}, 5.0)],
)
def test_how_long_to_wait_may_be_a_date_nonsense_or_missing(run, serve, no_waiting, headers, seconds):
    waiting = [(429, headers, b"slow down")]

    def answer(parameters):
        if "pageids" in parameters:
            return waiting.pop() if waiting else history(revision(1))
        return usual(parameters)

    assert extract(run, serve(answer))["revisions"] == 1
    ((held, reason),) = no_waiting
    assert reason == "HTTP 429"
    assert held == seconds if seconds else held > 1e6


def test_articles_that_another_worker_kept_first_are_read_again_and_counted_once(run, serve, monkeypatch):
    """The rows of A are still held when it is overtaken, and come to be written in the middle of B."""
    pages = {"A": 7, "B": 8}

    def answer(parameters):
        if "titles" in parameters:
            asked = parameters["titles"].split("|")
            return 200, {}, {"query": {"pages": [{"pageid": pages[t], "ns": 0, "title": t} for t in asked]}}
        if "pageids" in parameters:
            number = int(parameters["pageids"])
            found = [revision(number * 3 + place, content=f"texto {number} {place}") for place in range(2)]
            title = "AB"[number - 7]
            return 200, {}, {"query": {"pages": [{"pageid": number, "ns": 0, "title": title, "revisions": found}]}}
        return usual(parameters)

    api = f"{serve(answer).url}/w/api.php"
    monkeypatch.setattr(commits, "MAX_ROWS", 6)
    other = []

    def overtaking(revisions, title):
        if title == "A" and not other:
            other.append({})
            other[0] = run("wiki.extract", Extract(wiki=api, titles=["A"], text=True))

    with services.opened(api) as (wiki, client, _):
        work = Extraction(wiki, client, ExtractionOptions(text=True), overtaking)
        work.read_titles(["A", "B"])
    assert (other[0]["articles"], other[0]["revisions"], other[0]["texts"]) == (1, 2, 2)
    assert (work.result.articles, work.result.revisions, work.result.texts) == (2, 2, 2)
    assert [row["revid"] for row in queries.every_revision(SYSTEM, {})] == [21, 22, 24, 25]
    assert free_queries.sql(SYSTEM, "SELECT count(*), count(DISTINCT sha1) FROM texts").rows == ((4, 4),)
    assert all(article.complete and article.text_complete for article in Article.objects.all())


def test_an_article_overtaken_in_a_walk_over_a_whole_wiki_is_read_by_itself(run, serve):
    """Another worker keeps its first revision meanwhile; the second, with its text, is kept by ours."""
    found = [revision(number, content=f"texto\n{number}") for number in (1, 2)]

    def answer(parameters):
        if parameters.get("list") == "allrevisions":
            return 200, {}, {"query": {"allrevisions": [{"pageid": 7, "ns": 0, "title": "T", "revisions": found}]}}
        if parameters.get("rvdir") == "newer":
            return history(found[0])
        return usual(parameters) or history(*reversed(found))

    api = f"{serve(answer).url}/w/api.php"
    other = []

    def overtaking(revisions, title):
        if not other:
            other.append({})
            other[0] = run("wiki.extract", Extract(wiki=api, titles=["T"], text=True))

    with services.opened(api) as (wiki, client, _):
        work = Extraction(wiki, client, ExtractionOptions(text=True), overtaking)
        work.gathers = True
        all_revisions.read(work, all_revisions.Position(), lambda _: None)
    assert (other[0]["revisions"], work.result.revisions, work.result.texts) == (1, 1, 1)
    rows = queries.every_revision(SYSTEM, {}, text=True)
    assert [(row["revid"], row["text"]) for row in rows] == [(1, "texto\n1"), (2, "texto\n2")]


def test_the_status_of_a_limited_extraction_says_so(run, serve):
    result = extract(run, serve(lambda p: usual(p) or history(revision(1), revision(2))), max_revisions=1)
    assert result["limited"] == ["T"]
    assert queries.status(SYSTEM, Job.objects.get().pk)["status"] == "the first revision was extracted of T"
