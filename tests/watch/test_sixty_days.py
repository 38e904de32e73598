"""Sixty days of two hundred sites with the whole system: engine, HTTP, ingest, archive, scheduler, notices."""

from bisect import bisect_right

import pytest

from hemeroteca.accounts import SYSTEM
from hemeroteca.archive.models import Capture
from hemeroteca.watch import budgets, notices, observations, services
from hemeroteca.watch.answered_visit import DAY_MS
from hemeroteca.watch.fields import ChannelOrder, Order
from hemeroteca.watch.models import Burst, Change, Notice, Observation, Subscription, WatchedPage
from simweb import SimWeb
from simweb.changes import GROUPS
from tests.watch.driving import START, Days

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow, pytest.mark.simulation]
DAYS, STEP = 60, 6.0
SITES, STYLED = 200, 6  # of 2015's groups in turn; of the first ones style and pictures are fetched too


def visits_of_simple(changes: list[float]) -> int:
    """How often the rule of 2015 visits a page that changes at these hours, looked at every STEP hours."""
    at, wait, count = 0.0, 24.0, 0
    while at + wait <= DAYS * 24:
        changed = bisect_right(changes, at + wait) > bisect_right(changes, at)
        at, count = at + wait, count + 1
        wait = 24.0 if changed else min(wait + 24, 720)
    return count


@pytest.mark.timeout(1800)
def test_groups_losses_styles_bursts_and_budgets(monkeypatch):
    monkeypatch.setattr(budgets, "HELD_SECONDS", STEP * 3600)  # of time that jumps: what one jump fills
    with SimWeb(
        seed=11, hosts=SITES + 1, pages_per_host=12, page_bytes=1500, links_per_page=0, changes="groups",
        restyle=20, trouble=0, robots="open", charsets="utf-8", compression="none",
    ) as web:  # fmt: skip
        hosts = [web.web.host_at(number) for number in range(SITES + 1)]
        since = web.web.start
        truth = {
            f"{host.origin}/": [(at - since) / 3600 for at in host.change_times(0, since, since + DAYS * 86_400)]
            for host in hosts[:SITES]
        }
        modes = {url: ("simple", "auto")[number // 3 % 2] for number, url in enumerate(truth)}
        groups = {url: GROUPS[number % 3] for number, url in enumerate(truth)}
        budget = round(sum(visits_of_simple(truth[url]) for url in truth if modes[url] == "simple") / DAYS)
        services.set_collection(SYSTEM, "auto", {"visits_per_day": budget})
        for number, (url, mode) in enumerate(modes.items()):
            services.subscribe(
                SYSTEM, Order(url=url, scope="page", mode=mode, collection=mode, requisites=number < STYLED)
            )
        busy, _ = services.subscribe(SYSTEM, Order(url=f"{hosts[SITES].origin}/", scope="host", requisites=False))
        services.add_channel(SYSTEM, ChannelOrder(target="https://hooks.test/x", kind="webhook"))

        def chores(days: Days) -> None:
            if (days.now - days.start) % 86_400 == 0:
                mine = WatchedPage.objects.filter(subscription=busy, listing="").values_list("key", flat=True)
                observations.describe(list(mine), int(days.now * 1000))
                notices.write_notices()

        days = Days(web, days=DAYS, step_hours=STEP, meanwhile=chores)
        days.run(monkeypatch)
        surges = [
            day
            for day in range(DAYS)
            if len(hosts[SITES].change_times(1, since + day * 86_400, since + (day + 1) * 86_400)) > 2
        ]

    # Groups, of pages and of sites.
    observations.describe(WatchedPage.objects.filter(url__in=truth).values_list("key", flat=True), int(days.now * 1000))
    for rows in (WatchedPage.objects, Subscription.objects):
        found = dict(rows.filter(url__in=truth).values_list("url", "group"))
        right = sum(found[url] == group for url, group in groups.items())
        assert right >= 0.9 * SITES, f"{rows.model.__name__}: {right} of {SITES}"

    # Losses at equal visits: what a visit says changed has really changed, and `auto` misses less.
    pages = dict(WatchedPage.objects.values_list("key", "url"))
    visits = dict.fromkeys(("simple", "auto"), 0)
    hits = dict.fromkeys(visits, 0)
    per_day = dict.fromkeys(range(DAYS + 1), 0)
    for key, at_ms, gap_ms, important in Observation.objects.filter(interval_ms__gt=0).values_list(
        "key", "seen_ms", "interval_ms", "important"
    ):
        url = pages.get(key, "")
        if url not in truth:
            continue
        at, gap = (at_ms / 1000 - START) / 3600, gap_ms / 3_600_000
        if important:
            assert bisect_right(truth[url], at + STEP) > bisect_right(truth[url], at - gap - STEP), url
        visits[modes[url]] += 1
        hits[modes[url]] += important
        per_day[int(at // 24)] += modes[url] == "auto"
    changes = {mode: sum(len(truth[url]) for url in truth if modes[url] == mode) for mode in visits}
    lost = {mode: 1 - hits[mode] / changes[mode] for mode in visits}
    assert 0.9 * visits["simple"] <= visits["auto"] <= 1.02 * visits["simple"], visits
    assert lost["auto"] < lost["simple"], (lost, visits)
    assert max(per_day.values()) <= budget * (1 + STEP / 24) + 1, per_day  # and what one jump may have saved up

    # Styles replaced on days 20 and 40 are seen; most questions for them are answered with 304.
    for url in list(truth)[:STYLED]:
        seen = Change.objects.filter(url=f"{url}static/estilo.css")
        assert seen.filter(view__gt=0.05).exists(), url
    asked = Capture.objects.filter(url__endswith=".css")
    assert asked.filter(status=304).count() > 2 * asked.filter(status=200).count()

    # The days on which everything changed at once are known, and somebody was told.
    found = [
        ((row.start_ms / 1000 - START) / 86_400, (row.end_ms / 1000 - START) / 86_400)
        for row in Burst.objects.filter(subscription=busy)
    ]
    assert surges
    assert any(start <= surges[0] + 1.5 and end >= surges[0] for start, end in found), (found, surges)
    assert Notice.objects.filter(kind="burst").exists()
    assert DAY_MS
