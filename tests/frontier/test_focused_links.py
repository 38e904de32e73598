"""The frontier of a crawl with a focus: order across hosts, pages met again, what is kept, what a restart knows."""

import pytest

from hemeroteca import urls
from hemeroteca.accounts import SYSTEM
from hemeroteca.errors import Invalid, NotFound
from hemeroteca.focus.definition import Definition, PageFocus
from hemeroteca.frontier import queries, services
from hemeroteca.frontier.models import FocusLink, QueuedVisit
from hemeroteca.frontier.prioritisers import prioritiser
from hemeroteca.frontier.queue import Frontier
from hemeroteca.ingest.rules import CrawlOptions
from hemeroteca.urls.candidate import Candidate, Cues
from tests.frontier.making import candidates, finish, leased

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]

FOCUS = Definition(name="test", terms={"wms": 1.0})
SEED = "http://a.test/"


def opened(order: str = "shark-search", crawl: int | None = None) -> tuple[Frontier, int]:
    if crawl is None:
        options = CrawlOptions(scope=urls.Scope(kind="web"), order=order, focus=FOCUS)
        crawl = services.submit_crawl(SYSTEM, [SEED], options)[0].pk
    frontier = Frontier(1000)
    frontier.open_crawl(crawl, prioritiser(order, FOCUS))
    return frontier, crawl


def link(crawl: int, url: str, parent: str = SEED, anchor: str = "", **cues) -> Candidate:
    found = Cues(parent_url=parent, **cues)
    return Candidate(
        urls.key(url), url, urls.host(url), crawl, depth=1, parent=urls.key(parent), anchor=anchor, cues=found
    )


def visit_seed(frontier: Frontier, crawl: int, relevance: float = 0.8) -> None:
    frontier.add([Candidate(urls.key(SEED), SEED, "a.test", crawl)])
    frontier.write(1)
    visit = leased(frontier, 1.0)
    frontier.judge(visit, PageFocus(relevance), "sha256:x", 12, 200)
    finish(visit)


def test_the_most_promising_link_of_all_hosts_goes_first():
    frontier, crawl = opened()
    visit_seed(frontier, crawl)
    frontier.add(
        [
            link(crawl, "http://b.test/1", context=0.2),
            link(crawl, "http://c.test/1"),
            link(crawl, "http://d.test/1", context=0.9),
            link(crawl, "http://b.test/2", context=0.8),
        ]
    )
    frontier.write(2)
    order = []
    for moment in range(4):
        visit = leased(frontier, 10.0 + moment)
        order.append(visit.url)
        finish(visit, at=10.0)
    assert order == ["http://d.test/1", "http://b.test/2", "http://b.test/1", "http://c.test/1"]


def test_a_page_met_again_keeps_its_greatest_score():
    frontier, crawl = opened()
    visit_seed(frontier, crawl)
    frontier.add([link(crawl, "http://b.test/1", context=0.4), link(crawl, "http://c.test/1", context=0.5)])
    frontier.write(2)
    frontier.add([link(crawl, "http://b.test/1", anchor="better", context=0.9)])
    frontier.write(3)
    frontier.add([link(crawl, "http://b.test/1", anchor="worse", context=0.1)])
    frontier.write(4)
    kept = FocusLink.objects.get(key=urls.key("http://b.test/1"))
    assert kept.anchor == "better"
    assert kept.score == QueuedVisit.objects.get(page__url="http://b.test/1").score
    assert leased(frontier, 5.0).url == "http://b.test/1"


def test_keywords_adds_the_scores_of_all_links_to_a_page():
    frontier, crawl = opened("keywords")
    visit_seed(frontier, crawl)
    frontier.add([link(crawl, "http://b.test/1", anchor="servicios")])
    frontier.write(2)
    frontier.add([link(crawl, "http://b.test/1", anchor="ogc services")])
    frontier.write(3)
    assert QueuedVisit.objects.get(page__url="http://b.test/1").score == 3000


def test_what_a_link_promised_and_brought_is_kept_and_can_be_explained():
    frontier, crawl = opened()
    visit_seed(frontier, crawl)
    found = link(crawl, "http://b.test/wms", anchor="Servicio WMS", address=0.5)
    found.context = "nuestro Servicio WMS de mapas"
    found.cues.anchor = 0.6
    frontier.add([found])
    frontier.write(2)
    visit = leased(frontier, 3.0)
    frontier.judge(visit, PageFocus(0.3, "service"), "sha256:abc", 140, 200)
    finish(visit)
    frontier.write(4)
    (kept, url), (seed, first) = queries.way_to("http://b.test/wms")
    assert (url, first) == ("http://b.test/wms", SEED)
    assert (kept.anchor, kept.context, kept.parent_url) == ("Servicio WMS", "nuestro Servicio WMS de mapas", SEED)
    assert (kept.number, kept.target, kept.status, kept.response_ms, kept.digest) == (
        2,
        "service",
        200,
        140,
        "sha256:abc",
    )
    assert (kept.inherited, kept.neighbourhood, kept.score) == pytest.approx((0.4, 0.8, 0.6))
    assert (seed.number, seed.relevance) == (1, 0.8)
    assert [address for _, address in queries.focus_links(10)] == ["http://b.test/wms"]
    assert len(queries.focus_links(10, targets=False)) == 2


def test_after_a_restart_links_inherit_from_pages_visited_before():
    frontier, crawl = opened()
    visit_seed(frontier, crawl, relevance=0.8)
    frontier.write(2)
    again, _ = opened(crawl=crawl)
    again.add([link(crawl, "http://b.test/1", page=0.8)])
    again.write(3)
    assert FocusLink.objects.get(key=urls.key("http://b.test/1")).inherited == pytest.approx(0.4)


def test_what_was_learned_moves_links_that_are_queued_already_and_survives_a_restart():
    frontier, crawl = opened("learned")
    visit_seed(frontier, crawl)
    for number in range(40):
        kind = "ficha" if number % 2 else "foto"
        frontier.add([link(crawl, f"http://h{number}.test/{kind}/{number}", anchor=kind)])
    frontier.add(
        [link(crawl, "http://x.test/foto/99", anchor="foto"), link(crawl, "http://y.test/ficha/99", anchor="ficha")]
    )
    frontier.write(2)
    before = dict(QueuedVisit.objects.filter(page__url__contains="/99").values_list("page__url", "score"))
    for _ in range(36):
        visit = leased(frontier, 10.0)
        frontier.judge(visit, PageFocus(0.1, "service" if "ficha" in visit.url else ""), "", 1, 200)
        finish(visit, at=10.0)
        frontier.write(3)
    after = dict(QueuedVisit.objects.filter(page__url__contains="/99").values_list("page__url", "score"))
    assert after["http://y.test/ficha/99"] > before["http://y.test/ficha/99"]
    assert after["http://x.test/foto/99"] < before["http://x.test/foto/99"]
    again, _ = opened("learned", crawl)
    again.add(
        [link(crawl, "http://p.test/foto/3", anchor="foto"), link(crawl, "http://q.test/ficha/3", anchor="ficha")]
    )
    again.write(4)
    scores = dict(
        QueuedVisit.objects.filter(page__url__endswith="/3", page__url__contains=".test/").values_list(
            "page__url", "score"
        )
    )
    assert scores["http://q.test/ficha/3"] > 2 * scores["http://p.test/foto/3"]


def test_an_order_for_focused_crawls_needs_a_focus_and_a_thesaurus_must_be_there():
    scope = urls.Scope(kind="web")
    with pytest.raises(Invalid, match="with a focus"):
        services.submit_crawl(SYSTEM, [SEED], CrawlOptions(scope=scope, order="shark-search"))
    with pytest.raises(Invalid, match="freshness"):
        services.submit_crawl(SYSTEM, [SEED], CrawlOptions(scope=scope, order="best"))
    with pytest.raises(NotFound, match="thesaurus import nowhere"):
        services.submit_crawl(
            SYSTEM, [SEED], CrawlOptions(scope=scope, order="focused", focus=Definition(thesauri=("nowhere",)))
        )


def test_a_crawl_without_a_focus_keeps_no_links():
    crawl = services.submit_crawl(SYSTEM, [SEED], CrawlOptions(scope=urls.Scope(kind="host")))[0]
    frontier = Frontier(1000)
    frontier.open_crawl(crawl.pk)
    frontier.add(candidates(crawl, SEED, "http://a.test/1"))
    frontier.write(1)
    assert not FocusLink.objects.exists()
