"""Sixty days of two hundred sites with the whole system: engine, HTTP, ingest, archive, scheduler, notices."""

import json
from bisect import bisect_right
from collections import Counter

import pytest
from django.conf import settings

from hemeroteca.accounts import SYSTEM
from hemeroteca.archive.models import IndexedCapture
from hemeroteca.fetch.client import GuardedClient
from hemeroteca.watch import notices, observations, services
from hemeroteca.watch.fields import ChannelOrder, Order
from hemeroteca.watch.models import Burst, Change, Observation, Subscription, WatchedPage
from simweb import SimWeb
from simweb.changes import GROUPS
from tests.watch.driving import START, Days
from tests.watch.receiver import Receiver

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow, pytest.mark.simulation]
DAYS, STEP = 60, 12.0
SITES = 200
MIX = ("high", "medium", "low", "low", "low")  # in turn: a change on 85, 55 and 15 % of the days
HOSTS = 3 * SITES * 3 // 5  # of which as many are of each group as the largest one needs
WATCHED = 12  # visits a day of the site with exceptional days, which has as many pages
STYLED = 6  # of the first ones style and pictures are fetched too; the styles are replaced on days 20 and 40


def visits_of_simple(changes: list[float]) -> int:
    """How often the rule of 2015 visits a page that changes at these hours: T = 24, and 24 more after each visit in
    vain."""
    at, wait, count = 0.0, 24.0, 0
    while at + wait <= DAYS * 24:
        changed = bisect_right(changes, at + wait) > bisect_right(changes, at)
        at, count = at + wait, count + 1
        wait = 24.0 if changed else min(wait + 24, 720)
    return count


@pytest.mark.timeout(1800)
def test_groups_losses_styles_bursts_and_budgets(monkeypatch):
    with Receiver() as receiver, SimWeb(
        seed=11, hosts=HOSTS + 1, pages_per_host=12, page_bytes=1500, links_per_page=0, changes="groups",
        restyle=20, trouble=0, robots="open", charsets="utf-8", compression="none",
    ) as web:  # fmt: skip
        waiting = {name: iter(range(place, HOSTS, 3)) for place, name in enumerate(GROUPS)}
        mixed = [MIX[place % 5] for place in range(SITES)]
        hosts = [web.web.host_at(next(waiting[name])) for name in mixed]
        surging, since = web.web.host_at(HOSTS), web.web.start
        truth = {
            f"{host.origin}/": [(at - since) / 3600 for at in host.change_times(0, since, since + DAYS * 86_400)]
            for host in hosts
        }
        modes = {url: ("simple", "auto")[number // 5 % 2] for number, url in enumerate(truth)}
        groups = dict(zip(truth, mixed, strict=True))
        # `auto` gets the visits that the rule of 2015 makes of the other hundred sites, and its shortest interval:
        # in the first half day nothing is visited again.
        budget = round(sum(visits_of_simple(truth[url]) for url in truth if modes[url] == "simple") / (DAYS - 0.5))
        services.set_collection(SYSTEM, "auto", {"visits_per_day": budget})
        for number, (url, mode) in enumerate(modes.items()):
            order = Order(url=url, scope="page", mode=mode, collection=mode, min_hours=24, requisites=number < STYLED)
            services.subscribe(SYSTEM, order)
        # A whole site that hardly ever changes, watched by `auto` too: a visit a day of each of its pages.
        busy, _ = services.subscribe(SYSTEM, Order(url=f"{surging.origin}/", scope="host", requisites=False))
        hook = ChannelOrder(target=f"{receiver.url}/", kind="webhook", subscription=busy.pk, digest_hours=0)
        services.add_channel(SYSTEM, hook)
        client = GuardedClient(settings.CONFIG)

        def chores(days: Days) -> None:
            if days.now - days.start == STEP * 3600:  # its pages are known now; they would come at half this pace
                services.edit(SYSTEM, busy.pk, {"visits_per_day": WATCHED})
            if (days.now - days.start) % 86_400 == 0:
                mine = WatchedPage.objects.filter(subscription=busy, listing="").values_list("key", flat=True)
                observations.describe(list(mine), int(days.now * 1000))
                notices.write_notices()
                notices.deliver(settings.CONFIG, client, services.now_ms())

        days = Days(web, days=DAYS, step_hours=STEP, meanwhile=chores)
        # What is saved up lasts for one jump of the clock and one visit; past versions need not be searched.
        saved = STEP * 60 + 24 * 60 / budget
        days.run(monkeypatch, watch_saved_minutes=saved, index_versions=False, commit_seconds=0.25)

    # Groups, of pages and of sites.
    observations.describe(WatchedPage.objects.filter(url__in=truth).values_list("key", flat=True), int(days.now * 1000))
    for rows in (WatchedPage.objects, Subscription.objects):
        found = dict(rows.filter(url__in=truth).values_list("url", "group"))
        right = Counter(group for url, group in groups.items() if found[url] == group)
        for name, count in Counter(mixed).items():
            assert right[name] >= 0.9 * count, f"{rows.model.__name__}: {right} of {Counter(mixed)}"

    # Losses at equal visits: what a visit says changed has really changed, and `auto` misses less.
    pages = dict(WatchedPage.objects.filter(url__in=truth).values_list("key", "url"))
    visits, hits, per_day = Counter[str](), Counter[str](), Counter[int]()
    seen = Observation.objects.filter(key__in=pages, interval_ms__gt=0)
    for key, at_ms, gap_ms, important in seen.values_list("key", "seen_ms", "interval_ms", "important"):
        url = pages[key]
        at, gap = (at_ms / 1000 - START) / 3600, gap_ms / 3_600_000
        if important:
            assert bisect_right(truth[url], at + STEP) > bisect_right(truth[url], at - gap - STEP), url
        visits[modes[url]] += 1
        hits[modes[url]] += important
        per_day[int(at // 24)] += modes[url] == "auto"
    changes = {mode: sum(len(truth[url]) for url in truth if modes[url] == mode) for mode in visits}
    lost = {mode: 1 - hits[mode] / changes[mode] for mode in visits}
    assert 0.98 <= visits["auto"] / visits["simple"] <= 1.02, visits
    assert lost["auto"] < lost["simple"], (lost, visits)

    # The budgets are kept on every day: the visits of the day, and one that was saved up. Those of the whole site too.
    assert max(per_day.values()) <= budget + 1, per_day
    pages = set(WatchedPage.objects.filter(subscription=busy).values_list("key", flat=True))
    per_day = Counter(
        int((at_ms / 1000 - START) // 86_400)
        for at_ms in Observation.objects.filter(key__in=pages, interval_ms__gt=0).values_list("seen_ms", flat=True)
    )
    assert sum(per_day.values()) > 0.8 * WATCHED * DAYS
    assert max(per_day.values()) <= WATCHED + 1, per_day

    # Styles replaced on days 20 and 40 are seen as two changes of the view. A server that knows ETag or Last-Modified
    # sends each of the three once and answers every other question with 304.
    for number, url in enumerate(list(truth)[:STYLED]):
        style = f"{url}static/estilo.css"
        when = [(row.seen_ms / 1000 - START) / 86_400 for row in Change.objects.filter(url=style, view__gt=0.05)]
        assert [20 <= min(when) <= 40, max(when) >= 40, len(when)] == [True, True, 2], (url, when)
        if hosts[number].validators != "none":
            assert IndexedCapture.objects.filter(url=style, status=200).count() == 3, url
            assert IndexedCapture.objects.filter(url=style, status=304).count() > 3, url

    # The days on which everything changed at once are kept, and somebody was told of them, once. Before and after, none
    # are. (Where a page was not visited the day before, its change may count a day earlier or be found a day later.)
    days_in = {int(one - since) // 86_400 for one in surging.change_times(1, since, since + DAYS * 86_400)}
    surge = [day for day in days_in if day + 1 in days_in or day - 1 in days_in]
    burst = Burst.objects.get(subscription=busy)
    first, last = (burst.start_ms / 1000 - START) / 86_400, (burst.end_ms / 1000 - START) / 86_400 - 1
    assert (first, last) == (pytest.approx(min(surge), abs=1), pytest.approx(max(surge), abs=1))
    told = [event for *_, body in receiver.requests for event in json.loads(body)["events"] if event["kind"] == "burst"]
    assert [(event["event"], event["subscription"]) for event in told] == [(f"burst:{burst.pk}", busy.pk)]
    assert told[0]["changes"] > 2 * told[0]["usual"]
