"""Orders that are kept: given by hand or by the clock, once, and what happened to their crawls is told."""

import pytest

from hemeroteca import urls
from hemeroteca.accounts import SYSTEM, Actor, Role
from hemeroteca.accounts import services as accounts
from hemeroteca.errors import Conflict, Denied, Invalid, NotFound
from hemeroteca.frontier import crawl_orders, queries, services
from hemeroteca.frontier.crawl_counts import Counts
from hemeroteca.frontier.models import Crawl, CrawlOrder
from hemeroteca.ingest.rules import CrawlOptions

pytestmark = [pytest.mark.database, pytest.mark.django_db]
HOUR = 3_600_000
PASSWORD = "una frase bien larga"
OPTIONS = CrawlOptions(scope=urls.Scope(kind="host"), limit=10)


def keep(every=0.0, name="diario", actor=SYSTEM, **options):
    return crawl_orders.save(actor, name, ["https://diario.example"], OPTIONS, every, **options)


def finish(crawl):
    services.mark_ended(crawl.pk, Crawl.State.FINISHED, "", Counts(pages=3, failed=1))


def test_the_clock_gives_an_order_once_and_again_when_its_time_comes():
    row = keep(every=24)
    now = row.next_ms
    (first,) = crawl_orders.give_due(now)
    assert crawl_orders.give_due(now) == [], "once, whoever asks"
    assert (first.seeds, first.options["limit"]) == (["https://diario.example/"], 10)
    finish(first)
    assert crawl_orders.give_due(now + 23 * HOUR) == []
    (second,) = crawl_orders.give_due(now + 24 * HOUR)
    assert second.pk != first.pk
    assert second.options["again"], "its pages are visited again"
    row.refresh_from_db()
    assert (row.last_crawl_id, row.next_ms) == (second.pk, now + 48 * HOUR)


def test_what_was_missed_is_not_made_up_for_and_a_run_under_way_is_left_alone():
    row = keep(every=1)
    (crawl,) = crawl_orders.give_due(row.next_ms + 10 * HOUR + 5)
    row.refresh_from_db()
    later = row.next_ms
    assert crawl_orders.give_due(later) == []
    row.refresh_from_db()
    assert f"crawl {crawl.pk}, its last run, is still under way" in row.note
    assert row.next_ms == later + HOUR
    finish(crawl)
    assert len(crawl_orders.give_due(row.next_ms)) == 1
    row.refresh_from_db()
    assert row.note == ""


def test_by_hand_only_and_paused_orders_wait_for_a_person():
    row = keep()
    assert crawl_orders.give_due(row.created_ms + 10**12) == []
    keep(every=24, name="pausada")
    crawl_orders.pause(SYSTEM, "pausada", False)
    assert crawl_orders.give_due(row.created_ms + 10**12) == []
    assert crawl_orders.run(SYSTEM, "diario").pk == CrawlOrder.objects.get(name="diario").last_crawl_id
    crawl_orders.pause(SYSTEM, "pausada", True)
    assert CrawlOrder.objects.get(name="pausada").next_ms >= row.created_ms
    crawl_orders.remove(SYSTEM, "pausada")
    with pytest.raises(NotFound):
        crawl_orders.run(SYSTEM, "pausada")


def test_an_order_is_checked_when_it_is_kept():
    with pytest.raises(Invalid):
        keep(every=0.01)
    with pytest.raises(Invalid):
        crawl_orders.save(SYSTEM, "x", ["ftp://no.example"], OPTIONS)
    with pytest.raises(Invalid):
        keep(name="  ")
    with pytest.raises(Denied):
        keep(actor=Actor("leo", roles=(Role.READER,)))
    rude = CrawlOptions(scope=urls.Scope(kind="host"), ignore_robots=True)
    with pytest.raises(Denied):
        crawl_orders.save(Actor("eva", roles=(Role.DIRECTOR,)), "x", ["https://a.example"], rude)
    assert keep(every=1).pk == keep(every=2).pk, "the same name changes the order"


def test_what_happened_to_a_crawl_is_in_its_log():
    crawl = crawl_orders.run(SYSTEM, keep().name)
    services.mark_started(crawl.pk)
    services.exclude(SYSTEM, crawl.pk, "/calendar/")
    services.stop_crawl(Actor("eva", roles=(Role.DIRECTOR,)), crawl.pk)
    services.mark_ended(crawl.pk, Crawl.State.STOPPED, "stopped by a person", Counts(pages=7, failed=2))
    services.resume_crawl(SYSTEM, crawl.pk)
    told = [(event.what, event.actor) for event in reversed(queries.events(crawl.pk))]
    assert told == [
        ("ordered", "system"), ("began", ""), ("excluded", "system"), ("stopping", "eva"), ("stopped", ""),
        ("resumed", "system"),
    ]  # fmt: skip
    assert "7 pages, 2 failed; stopped by a person" in [event.detail for event in queries.events(crawl.pk)]
    with pytest.raises(Conflict):
        services.exclude(SYSTEM, crawl.pk, "/calendar/")


@pytest.mark.parametrize("loss", ["role", "locked out", "removed"])
def test_the_clock_gives_nothing_for_who_may_not_order_it_any_more(loss):
    accounts.add_user(SYSTEM, "root", Role.ADMINISTRATOR, PASSWORD)
    eva = accounts.add_user(SYSTEM, "eva", Role.DIRECTOR, PASSWORD)
    row = keep(every=24, actor=Actor.of(eva))
    (crawl,) = crawl_orders.give_due(row.next_ms)
    assert queries.events(crawl.pk)[0].actor == "eva", "in the name of who keeps it"
    finish(crawl)
    if loss == "role":
        accounts.change_user(SYSTEM, "eva", role=Role.READER)
    elif loss == "locked out":
        accounts.change_user(SYSTEM, "eva", active=False)
    else:
        accounts.remove_user(SYSTEM, "eva")
    row.refresh_from_db()
    assert crawl_orders.give_due(row.next_ms) == []
    row.refresh_from_db()
    assert row.note.startswith("eva, who keeps it, may not order it any more; somebody who may can")
    keep(every=24, actor=SYSTEM)
    assert len(crawl_orders.give_due(CrawlOrder.objects.get().next_ms)) == 1, "another one keeps it now"


def test_what_only_administrators_may_order_is_not_given_for_who_is_none_any_more():
    accounts.add_user(SYSTEM, "root", Role.ADMINISTRATOR, PASSWORD)
    ada = accounts.add_user(SYSTEM, "ada", Role.ADMINISTRATOR, PASSWORD)
    hard = CrawlOptions(scope=urls.Scope(kind="host"), limit=10, ignore_robots=True)
    row = crawl_orders.save(Actor.of(ada), "sin robots", ["https://diario.example"], hard, 24)
    accounts.change_user(SYSTEM, "ada", role=Role.DIRECTOR)
    assert crawl_orders.give_due(row.next_ms) == []
    row.refresh_from_db()
    assert "may not order it any more" in row.note
