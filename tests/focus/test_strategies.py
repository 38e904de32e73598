"""The rules of focused crawling, with values worked out by hand (docs/explanation/focused-crawling.md)."""

import pytest

from hemeroteca import urls
from hemeroteca.focus.definition import Tuning
from hemeroteca.focus.strategies import (
    LAST,
    BestFirst,
    FishSearch,
    Focused,
    Keywords,
    Learned,
    SharkSearch,
    VisitedPage,
    shark,
)
from hemeroteca.urls.candidate import Candidate, Cues


def link(url="http://b.test/x", *, parent=1, anchor="", **cues) -> Candidate:
    found = Cues(**{"parent_url": "http://a.test/", **cues})
    return Candidate(urls.key(url), url, urls.host(url), 1, parent=parent, anchor=anchor, cues=found)


def visited(strategy, key=1, relevance=0.0, **fields) -> None:
    strategy.visited(VisitedPage(key=key, host="a.test", relevance=relevance, **fields))


def test_a_link_of_a_relevant_page_inherits_half_of_its_relevance():
    inherited, neighbourhood, potential = shark(Cues(anchor=0.0, context=0.4), 0.8, 0.9, Tuning())
    assert (inherited, neighbourhood, potential) == pytest.approx((0.4, 0.2, 0.3))


def test_a_link_of_an_irrelevant_page_inherits_half_of_what_the_page_inherited():
    inherited, _, potential = shark(Cues(), 0.0, 0.4, Tuning())
    assert (inherited, potential) == pytest.approx((0.2, 0.1))


def test_a_relevant_anchor_makes_its_context_count_as_one():
    _, neighbourhood, potential = shark(Cues(anchor=0.6, context=0.0), 0.5, 0.0, Tuning())
    assert (neighbourhood, potential) == pytest.approx((0.8, 0.525))


def test_relevance_below_the_threshold_counts_as_none():
    _, neighbourhood, _ = shark(Cues(anchor=0.04, context=0.04), 0.0, 0.0, Tuning())
    assert neighbourhood == 0.0


def test_delta_beta_and_gamma_are_settings():
    tuning = Tuning(delta=0.8, beta=0.25, gamma=0.75)
    assert shark(Cues(anchor=0.4), 0.5, 0.0, tuning) == pytest.approx((0.4, 0.85, 0.5125))


def test_shark_search_follows_a_trail_of_irrelevant_pages_only_to_its_depth():
    strategy = SharkSearch(Tuning(depth=2))
    visited(strategy, relevance=0.9)
    first = strategy.potential(link("http://b.test/1"))
    assert (first.bound, first.score) == (2, pytest.approx(0.225))
    visited(strategy, key=2, link=link(), potential=first)
    second = strategy.potential(link("http://b.test/2", parent=2))
    assert (second.bound, second.score) == (1, pytest.approx(0.1125))
    visited(strategy, key=3, link=link(), potential=second)
    third = strategy.potential(link("http://b.test/3", parent=3))
    assert third.bound == 0
    assert third.score < LAST / 2 < strategy.potential(link("http://b.test/4", parent=2)).score


def test_a_redirect_costs_no_depth_and_keeps_the_score_of_its_link():
    strategy = SharkSearch(Tuning(depth=2))
    visited(strategy, relevance=0.9)
    found = strategy.potential(link("http://b.test/1"))
    visited(strategy, key=2, link=link(), potential=found, moved=True)
    onward = Candidate(9, "http://b.test/9", "b.test", 1, parent=2, redirects=1)
    assert strategy.potential(onward).score == found.score
    assert strategy.potential(onward).bound == found.bound


def test_fish_search_takes_half_as_many_links_more_of_a_relevant_page():
    strategy = FishSearch(Tuning(width=4))
    visited(strategy, key=1, relevance=0.5)
    visited(strategy, key=2, relevance=0.01, potential=strategy.potential(link()))
    scores = [strategy.score(link(place=place)) for place in (0, 5, 6)]
    others = [strategy.score(link(parent=2, place=place)) for place in (0, 3, 4)]
    assert scores == [1.0, 1.0, 0.0]
    assert others == [0.5, 0.5, 0.0]


def test_keywords_scores_as_in_2016():
    strategy = Keywords()
    assert strategy.adds_up
    assert strategy.score(link("http://b.test/wms?request=GetCapabilities", anchor="Servicios web OGC")) == (
        10_000 + 1_100_000 + 3 * 1_000  # servicios, servicios web, ogc
    )
    assert strategy.score(link("http://b.test/wmts", anchor="mapas")) == 10_000
    assert strategy.score(link("http://b.test/", anchor="inicio")) == 0


def test_best_first_takes_the_links_of_the_most_relevant_page():
    strategy = BestFirst()
    visited(strategy, key=1, relevance=0.3)
    visited(strategy, key=2, relevance=0.7)
    assert strategy.score(link(parent=2)) > strategy.score(link(parent=1))


@pytest.mark.parametrize("make", [Learned, Focused])
def test_what_led_to_targets_goes_first_and_what_led_nowhere_last(make):
    strategy = make(Tuning(spread=0))
    visited(strategy, relevance=0.5)
    for number in range(20):
        for kind, target in (("registro", "service"), ("noticia", "")):
            found = link(f"http://a.test/{kind}/{number}", anchor=kind)
            visited(
                strategy, key=100 + found.key % 10**6, link=found, potential=strategy.potential(found), target=target
            )
    good = strategy.score(link("http://c.test/registro/77", anchor="registro"))
    poor = strategy.score(link("http://c.test/noticia/77", anchor="noticia"))
    assert good > 2 * poor


def test_a_target_credits_the_links_on_the_way_to_it():
    strategy = Learned(Tuning(spread=0))
    for number in range(15):  # list → record → target, and lists that lead nowhere
        visited(strategy, key=1, relevance=0.1)
        for kind, worth in (("catalogo", "service"), ("archivo", "")):
            page = 1000 * number + (500 if worth else 0)
            first = link(f"http://a.test/{kind}/{number}", anchor=kind)
            visited(strategy, key=page + 2, link=first, potential=strategy.potential(first))
            second = link(f"http://a.test/{kind}/ficha/{number}", parent=page + 2, anchor="ficha")
            visited(strategy, key=page + 3, link=second, potential=strategy.potential(second), target=worth)
    leads = strategy.score(link("http://c.test/catalogo/9", anchor="catalogo"))
    leads_nowhere = strategy.score(link("http://c.test/archivo/9", anchor="archivo"))
    assert leads > 2 * leads_nowhere


def test_a_host_that_brings_nothing_steps_back_and_a_target_brings_it_forward():
    strategy = Focused()
    promising = Cues(page=0.5, anchor=0.5, address=0.5, parent_url="http://z.test/")
    there = Candidate(7, "http://a.test/x", "a.test", 1, parent=4, anchor="wms", cues=promising)
    fresh = strategy.score(there)
    for key in range(50):
        visited(strategy, key=key + 10)
    tired = strategy.score(there)
    visited(strategy, key=99, target="service")
    assert tired < fresh / 2 < strategy.score(there)


def test_seeds_go_before_all_links():
    strategy = Focused()
    visited(strategy, relevance=1.0)
    seed = Candidate(5, "http://s.test/", "s.test", 1)
    assert strategy.score(seed) > strategy.score(link(page=1.0, address=1.0, context=1.0))


def test_a_list_whose_records_wait_has_not_failed():
    """Lists of two kinds were read, and nothing they lead to was followed yet; only one has records of a good kind."""
    strategy = Learned(Tuning(spread=0))
    visited(strategy, key=1)
    for number in range(20):  # records lead to targets, pages to nothing
        for kind, target in (("registro", "service"), ("noticia", "")):
            found = link(f"http://a.test/{kind}/{number}", anchor=kind)
            visited(strategy, key=100 + 2 * number + bool(target), link=found, target=target)
    queued = []
    for number in range(8):
        for key, kind, item in ((1000 + number, "catalogo", "registro"), (2000 + number, "archivo", "noticia")):
            visited(strategy, key=key, link=link(f"http://a.test/{kind}/{number}", anchor="lista"))
            queued += [link(f"http://b.test/{item}/{key}", parent=key, anchor=item)]
    for _ in range(2):
        for one in queued:
            strategy.score(one)
        strategy.rescored()
    leads = strategy.score(link("http://a.test/catalogo/99", anchor="lista"))
    leads_nowhere = strategy.score(link("http://a.test/archivo/99", anchor="lista"))
    assert leads > 3 * leads_nowhere


@pytest.mark.parametrize("alike", [True, False])
def test_a_crawl_learns_whether_sites_of_one_kind_are_alike(alike):
    """Every third record leads to a target: on every site, or all those of every third site."""
    strategy = Learned(Tuning(spread=0))
    key = 10
    for host in range(60):
        for number in range(6):
            key += 1
            target = (host + number) % 3 == 0 if alike else host % 3 == 0
            found = link(f"http://ide-{host}.test/registro/{number}", anchor="registro", parent_url="http://z.test/")
            strategy.visited(VisitedPage(key=key, host=found.host, link=found, target="service" if target else ""))
        strategy.rescored()
    for number in range(3):  # a new site, where nothing was found so far
        key += 1
        found = link(f"http://ide-98.test/registro/{number}", anchor="registro", parent_url="http://z.test/")
        strategy.visited(VisitedPage(key=key, host=found.host, link=found))
    strategy.rescored()
    there, elsewhere = (
        strategy.score(link(f"http://ide-{host}.test/registro/9", anchor="registro", parent_url="http://z.test/"))
        for host in (98, 99)
    )
    assert (there > elsewhere / 2) is alike, (there, elsewhere)


@pytest.mark.parametrize("make", [Learned, Focused])
def test_a_link_whose_words_lead_away_goes_behind_its_like(make):
    strategy = make(Tuning(spread=0))
    visited(strategy, relevance=0.5)
    for number in range(20):  # what its words and its shape have taught holds for it too
        found = link(f"http://a.test/servicios/{number}", anchor="servicios")
        visited(strategy, key=100 + number, link=found, potential=strategy.potential(found), target="service")
    there = "http://soluciones.test/servicios/77"
    plain = strategy.score(link(there, anchor="servicios"))
    assert strategy.score(link(there, anchor="servicios", away=0.9)) == pytest.approx(plain / 10)


def test_what_a_site_brings_counts_more_than_words_that_lead_away():
    strategy = Focused(Tuning(spread=0))
    visited(strategy, relevance=0.5)
    before = strategy.score(link("http://b.test/noticias/77", anchor="mapa", away=0.9))
    for number in range(10):
        found = link(f"http://b.test/noticias/{number}", anchor="mapa", away=0.9)
        visited(strategy, key=100 + number, link=found, potential=strategy.potential(found), target="service")
    after = strategy.score(link("http://b.test/noticias/77", anchor="mapa", away=0.9))
    assert before < 0.1 < 0.6 < after
