"""Sixty days of two hundred sites with the whole system: engine, HTTP, ingest, archive, scheduler."""

import pytest

from hemeroteca.accounts import SYSTEM
from hemeroteca.watch import budgets, observations, services
from hemeroteca.watch.fields import Order
from hemeroteca.watch.models import Subscription, WatchedPage
from simweb import SimWeb
from simweb.changes import GROUPS
from tests.watch.driving import Days

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow, pytest.mark.simulation]
DAYS, STEP = 60, 6.0
SITES = 200
VISITS = 65  # a day for the hundred sites of `auto`: about what `simple` makes of the other hundred


@pytest.mark.timeout(1800)
def test_groups_are_found_with_visits_of_a_rule_and_of_a_budget(monkeypatch):
    # A budget is saved up for minutes only: for one whose clock jumps six hours it would buy a visit a jump, and pages
    # seen five times in 60 days all look alike. It may hold what one jump fills.
    monkeypatch.setattr(budgets, "HELD_SECONDS", STEP * 3600)
    with SimWeb(
        seed=11, hosts=SITES + 1, pages_per_host=12, page_bytes=1500, links_per_page=0, changes="groups",
        trouble=0, robots="open", charsets="utf-8", compression="none",
    ) as web:  # fmt: skip
        groups = {f"{web.web.host_at(number).origin}/": GROUPS[number % 3] for number in range(SITES)}
        services.set_collection(SYSTEM, "auto", {"visits_per_day": VISITS})
        for number, url in enumerate(groups):
            mode = ("simple", "auto")[number // 3 % 2]
            services.subscribe(SYSTEM, Order(url=url, scope="page", mode=mode, collection=mode, requisites=False))
        days = Days(web, days=DAYS, step_hours=STEP)
        days.run(monkeypatch)
    observations.describe(WatchedPage.objects.values_list("key", flat=True), int(days.now * 1000))
    for rows in (WatchedPage.objects, Subscription.objects):
        found = dict(rows.values_list("url", "group"))
        right = sum(found[url] == group for url, group in groups.items())
        assert right >= 0.9 * SITES, f"{rows.model.__name__}: {right} of {SITES}"
