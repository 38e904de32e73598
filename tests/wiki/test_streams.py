"""What wikis announce: recent changes and streams of events make articles due, at a fraction of the requests."""

import dataclasses
import json

import pytest

from hemeroteca.wiki.job_kinds import Extract, Follow, Refresh
from hemeroteca.wiki.models import Article, Wiki
from hemeroteca.wiki.streams import events
from tests.wiki.recorded import Recorded, history, revision, usual

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]


@pytest.mark.slow
def test_recent_changes_make_an_article_due_and_the_rest_costs_nothing(run, mediawiki):
    run("wiki.extract", Extract(wiki=mediawiki.api_url, titles=["Plaza", "Mérida", "Valencia"]))
    run("wiki.follow", Follow(wiki=mediawiki.api_url))
    Article.objects.update(due_ms=1 << 50)
    mediawiki.edit("Mérida", "Mérida, otra vez [[Categoría:Ciudades]]", "Beto")
    heard = run("wiki.follow", Follow(wiki=mediawiki.api_url))
    assert heard["articles"] >= 1
    Article.objects.exclude(title="Mérida").update(due_ms=1 << 50)  # the same second may be heard twice
    done = run("wiki.refresh", Refresh())
    assert (done["articles"], done["revisions"], done["unchanged"]) == (1, 1, 0)
    article = Article.objects.get(title="Mérida")
    assert article.announced_ms == 0
    assert article.due_ms > 0


@pytest.mark.slow
def test_the_upkeep_of_serve_brings_a_change_the_wiki_announces(run, mediawiki):
    """Nobody orders anything: one look finds the change, and the article is read. `never` is left alone."""
    from hemeroteca.wiki.upkeep import Upkeep

    for title in ("Vigilado", "Quieto", "Dejado"):
        mediawiki.edit(title, "uno", "Ana")
    run("wiki.extract", Extract(wiki=mediawiki.api_url, titles=["Vigilado", "Quieto"]))
    run("wiki.extract", Extract(wiki=mediawiki.api_url, titles=["Dejado"], policy="never"))
    upkeep = Upkeep()
    upkeep.round()  # the first look: the last hour
    before = dict(Article.objects.values_list("title", "last_revision"))
    new = {title: mediawiki.edit(title, f"{title} cambia", "Beto") for title in ("Vigilado", "Dejado")}
    upkeep.round()
    assert Article.objects.get(title="Vigilado").last_revision == before["Vigilado"], (
        "it looks every two minutes, not always"
    )
    Upkeep().round()
    after = dict(Article.objects.values_list("title", "last_revision"))
    assert after == {**before, "Vigilado": new["Vigilado"]}


@pytest.mark.slow
def test_a_watched_page_of_an_article_hears_of_its_change(run, mediawiki):
    from hemeroteca.accounts import SYSTEM
    from hemeroteca.watch import services as watch
    from hemeroteca.watch.fields import Order
    from hemeroteca.watch.models import Signal, SignalSource

    mediawiki.edit("Visto", "uno", "Ana")
    run("wiki.extract", Extract(wiki=mediawiki.api_url, titles=["Visto"]))
    run("wiki.follow", Follow(wiki=mediawiki.api_url))
    assert not SignalSource.objects.exists(), "nobody watches pages of this wiki"
    watch.subscribe(SYSTEM, Order(url=f"{mediawiki.url}/index.php/Visto"))
    mediawiki.edit("Visto", "dos", "Ana")
    run("wiki.follow", Follow(wiki=mediawiki.api_url))
    source = SignalSource.objects.get()
    assert source.note == "recent changes of the wiki"
    assert [signal.url for signal in Signal.objects.filter(source=source)] == [f"{mediawiki.url}/index.php/Visto"]


def test_after_a_long_gap_the_articles_themselves_are_looked_at(run, house, request):
    server = Recorded(lambda p: usual(p) or (200, {}, {"query": {"recentchanges": []}}))
    request.addfinalizer(server.close)
    api = f"{server.url}/w/api.php"
    wiki = Wiki.objects.create(
        name=f"127.0.0.1:{server.port}", api_url=api, farm="x", known_ms=1 << 50, changes_until="2020-01-01T00:00:00Z"
    )
    Article.objects.create(wiki=wiki, pageid=1, title="T", complete=True, due_ms=1 << 50)
    Article.objects.create(wiki=wiki, pageid=2, title="U", complete=True, due_ms=0, policy="never")
    run("wiki.follow", Follow(wiki=api))
    asked = next(parameters for parameters, _ in server.asked if parameters.get("list") == "recentchanges")
    assert asked["rcstart"] > "2026"
    assert Article.objects.get(pageid=1).due_ms < 1 << 50
    assert Article.objects.get(pageid=2).due_ms == 0


def stream(*found, start=1):
    blocks = [":ok\n"]
    for number, event in enumerate(found, start):
        identity = json.dumps([{"topic": "eqiad.mediawiki.recentchange", "partition": 0, "offset": number}])
        blocks.append(f"event: message\nid: {identity}\ndata: {json.dumps(event)}\n")
    return ("\n".join(blocks) + "\nevent: message\nid: half").encode()


def test_events_are_heard_once_and_canaries_dropped(run, house, request):
    def change(title, page=0, domain="127.0.0.1"):
        return {"meta": {"domain": domain}, "server_name": domain, "title": title, "page_id": page}

    said = [
        stream(change("T"), {"meta": {"domain": "canary"}, "title": "T"}, change("T", domain="de.wikipedia.org")),
        stream(change("Otro"), start=4),
    ]

    def answer(parameters):
        if parameters["path"] == "/v2/stream/recentchange":
            return 200, {"Content-Type": "text/event-stream"}, said.pop(0)
        return usual(parameters) or history(revision(1), revision(2))

    server = Recorded(answer)
    request.addfinalizer(server.close)
    api, url = f"{server.url}/w/api.php", f"{server.url}/v2/stream/recentchange"
    run("wiki.extract", Extract(wiki=api, titles=["T"]))
    Article.objects.update(due_ms=1 << 50)
    heard = run("wiki.follow", Follow(wiki=api, stream=url))
    assert (heard["changes"], heard["articles"], heard["dropped"]) == (1, 1, 2)
    assert Article.objects.get().due_ms < 1 << 50
    again = run("wiki.follow", Follow(wiki=api, stream=url))
    assert (again["changes"], again["articles"]) == (1, 0)
    asked = [headers for parameters, headers in server.asked if parameters["path"].endswith("recentchange")]
    assert "last-event-id" not in asked[0]
    assert '"offset": 3' in asked[1]["last-event-id"], "it goes on after the last whole event"
    assert '"offset": 4' in Wiki.objects.get().event_id


def test_serve_hears_the_stream_instead_of_asking_and_goes_on_after_the_last_event(run, house, request):
    """`wiki_stream`: no recent changes are asked for; when the stream fails they are."""
    from hemeroteca.wiki.upkeep import Upkeep

    def change(title):
        return {"meta": {"domain": "127.0.0.1"}, "server_name": "127.0.0.1", "title": title}

    said = [stream(change("T"), {"meta": {"domain": "canary"}, "title": "U"}), stream(change("U"), start=3)]

    def answer(parameters):
        if parameters["path"] == "/v2/stream/recentchange":
            return (200, {"Content-Type": "text/event-stream"}, said.pop(0)) if said else (404, {}, b"gone")
        if parameters.get("list") == "recentchanges":
            return 200, {}, {"query": {"recentchanges": []}}
        return usual(parameters) or history(revision(1), revision(2))

    server = Recorded(answer)
    request.addfinalizer(server.close)
    api = f"{server.url}/w/api.php"
    house.CONFIG = dataclasses.replace(house.CONFIG, wiki_stream=f"{server.url}/v2/stream/recentchange")
    run("wiki.extract", Extract(wiki=api, titles=["T"]))
    wiki = Wiki.objects.get()
    other = Article.objects.create(wiki=wiki, pageid=99, title="U", due_ms=1 << 50, complete=True)
    Article.objects.update(due_ms=1 << 50)
    server.asked.clear()
    upkeep = Upkeep()
    upkeep.round()
    article = Article.objects.get(title="T")
    assert article.due_ms < 1 << 50
    assert article.announced_ms == 0, "it was read at once"
    assert Article.objects.get(pk=other.pk).due_ms == 1 << 50, "a canary announces nothing"
    upkeep.round()
    assert Article.objects.get(pk=other.pk).due_ms < 1 << 50
    heard = [headers for parameters, headers in server.asked if parameters["path"].endswith("recentchange")]
    assert "last-event-id" not in heard[0]
    assert '"offset": 2' in heard[1]["last-event-id"]
    assert not [parameters for parameters, _ in server.asked if parameters.get("list") == "recentchanges"]
    again = Upkeep()  # the stream is gone now
    again.round()
    assert [parameters for parameters, _ in server.asked if parameters.get("list") == "recentchanges"]


def test_a_cut_event_is_left_to_the_next_look():
    body = b"id: 1\ndata: {}\n\nid: 2\r\ndata: a\r\ndata: b\r\n\r\n: comment\n\nid: 3\ndata: cut"
    assert list(events(body)) == [("1", "{}"), ("2", "a\nb")]


def test_fifty_articles_are_probed_in_one_request(run, house, request):
    count = 120

    def answer(parameters):
        if parameters.get("prop") == "info" and "pageids" in parameters:
            pages = [
                {"pageid": int(n), "ns": 0, "title": f"T{n}", "lastrevid": 5} for n in parameters["pageids"].split("|")
            ]
            return 200, {}, {"query": {"pages": pages}}
        return usual(parameters) or history(revision(1))

    server = Recorded(answer)
    request.addfinalizer(server.close)
    wiki = Wiki.objects.create(
        name=f"127.0.0.1:{server.port}", api_url=f"{server.url}/w/api.php", farm="x", known_ms=1 << 50
    )
    Article.objects.bulk_create(
        Article(wiki=wiki, pageid=n, title=f"T{n}", complete=True, last_revision=5, due_ms=1)
        for n in range(1, count + 1)
    )
    done = run("wiki.refresh", Refresh())
    assert (done["unchanged"], done["articles"], done["requests"]) == (count, 0, 3)
