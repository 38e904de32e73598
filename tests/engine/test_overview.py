"""What `hemeroteca status` tells of crawls."""

import pytest

from hemeroteca import urls
from hemeroteca.accounts import SYSTEM
from hemeroteca.engine.overview import status
from hemeroteca.frontier import queries, services
from hemeroteca.frontier.models import FETCH, Crawl, Host, Page, QueuedVisit
from hemeroteca.frontier.visit import State
from hemeroteca.ingest.rules import CrawlOptions

pytestmark = [pytest.mark.database, pytest.mark.django_db]


def test_a_stopped_crawl_tells_what_still_waits_beside_what_its_last_run_counted(settings):
    settings.INSTANCE.create()
    crawl, _ = services.submit_crawl(SYSTEM, ["https://example.org/"], CrawlOptions(scope=urls.Scope()))
    host, _ = Host.objects.get_or_create(name="example.org")
    for number, state in enumerate([State.QUEUED] * 7 + [State.FAILED] * 3 + [State.DONE] * 2):
        page = Page.objects.create(key=number + 1, url=f"https://example.org/{number}", host=host)
        QueuedVisit.objects.create(crawl=crawl, page=page, host=host, state=state)
    last_run = {"pages": 1, "failed": 1, "queued": 0}  # the run before had one page and two failures
    Crawl.objects.filter(pk=crawl.pk).update(
        state=Crawl.State.STOPPED, stop_reason="a person stopped it", counts=last_run
    )
    told = next(found for found in status().crawls if found.id == crawl.pk)
    waiting = QueuedVisit.objects.filter(crawl=crawl, state=State.QUEUED).count()
    assert told.counts == last_run | {"queued": waiting}
    assert waiting >= 7


def test_what_stopped_crawls_left_is_queued_in_the_totals_as_in_the_list(settings):
    settings.INSTANCE.create()
    host, _ = Host.objects.get_or_create(name="example.org")
    for state, most in ((Crawl.State.STOPPED, 4), (Crawl.State.RUNNING, 2)):
        crawl, _ = services.submit_crawl(SYSTEM, [f"https://example.org/{state}/"], CrawlOptions(scope=urls.Scope()))
        for number in range(most):
            page = Page.objects.create(key=most * 10 + number, url=f"https://example.org/{state}/{number}", host=host)
            QueuedVisit.objects.create(crawl=crawl, page=page, host=host, state=State.QUEUED)
        Crawl.objects.filter(pk=crawl.pk).update(state=state)
    told = status()
    assert told.pages["queued"] == sum(int(str(crawl.counts["queued"])) for crawl in told.crawls)
    assert told.pages["queued"] >= 6


def test_a_crawl_whose_visits_another_run_of_the_order_took_over_keeps_what_it_counted(settings):
    settings.INSTANCE.create()
    crawl, _ = services.submit_crawl(SYSTEM, ["https://example.org/"], CrawlOptions(scope=urls.Scope()))
    QueuedVisit.objects.filter(crawl=crawl).delete()
    counts = {"pages": 12, "queued": 0, "failed": 3}
    Crawl.objects.filter(pk=crawl.pk).update(state=Crawl.State.FINISHED, counts=counts)
    told = next(found for found in status().crawls if found.id == crawl.pk)
    assert told.counts == counts


def test_addresses_that_clients_of_the_fleet_asked_for_are_counted_but_not_shown(settings):
    settings.INSTANCE.create()
    host, _ = Host.objects.get_or_create(name="example.org")
    theirs = Crawl.objects.create(fingerprint=f"{FETCH}1", seeds=[], options={}, created_ms=1)
    ours, _ = services.submit_crawl(SYSTEM, ["https://example.org/"], CrawlOptions(scope=urls.Scope()))
    for number, (crawl, reason) in enumerate([(theirs, "timeout: a"), (theirs, "dns: b"), (ours, "timeout: c")]):
        page = Page.objects.create(key=number + 900, url=f"https://example.org/{number}", host=host)
        QueuedVisit.objects.create(crawl=crawl, page=page, host=host, state=State.FAILED, reason=reason)
    told = {one.reason: (one.pages, one.example) for one in status().reasons}
    assert told["timeout"] == (2, "https://example.org/2: c")
    assert told["dns"] == (1, "")
    assert {visit.crawl_id for visit in queries.visits(100)} == {ours.pk}
