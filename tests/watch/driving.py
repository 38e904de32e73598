"""Watching with a clock that jumps as the test likes: a scheduler without an engine, and a whole engine."""

import random
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from django.conf import settings
from django.db import transaction

from hemeroteca import config, urls
from hemeroteca.accounts import SYSTEM
from hemeroteca.engine import loop
from hemeroteca.engine.loop import Engine
from hemeroteca.engine.rebuild import repair
from hemeroteca.frontier.models import Host, Page, QueuedVisit
from hemeroteca.frontier.visit import Ending, How
from hemeroteca.ingest.difference import Difference, FeedListing
from hemeroteca.urls.candidate import Candidate
from hemeroteca.watch import services
from hemeroteca.watch.answered_visit import AnsweredVisit
from hemeroteca.watch.fields import Order
from hemeroteca.watch.models import Subscription
from hemeroteca.watch.scheduler import Scheduler
from simweb import SimWeb

START = 1_767_225_600.0  # 2026-01-01, a Thursday
HOUR = 3600.0


class World:
    """`changes`: hours after the start at which each page changes."""

    def __init__(self, data: Path, now: float = START, **settings: object) -> None:
        self.now = now
        self.changes: dict[str, list[float]] = {}
        self.visits: Counter[str] = Counter()
        self.log: list[tuple[float, str]] = []
        self.found: Counter[str] = Counter()
        self.dead: set[str] = set()  # hosts that do not answer
        self.missing: set[str] = set()  # pages that are not there
        self.listings: dict[str, list[tuple[str, float]]] = {}
        self.seen: dict[str, float] = {}
        self.answered: dict[str, int] = {}
        self.scheduler = Scheduler(config.load(**settings), data, lambda: self.now)
        self.scheduler.refresh()

    @property
    def hours(self) -> float:
        return (self.now - START) / HOUR

    def add(self, subscription: Subscription, url: str, changes: list[float], role: int = 0) -> None:
        """A page of a subscription, visited for the first time now."""
        url = urls.canonical(url)
        host, _ = Host.objects.get_or_create(name=urls.host(url))
        page, _ = Page.objects.get_or_create(key=urls.key(url), defaults={"url": url, "host": host})
        QueuedVisit.objects.get_or_create(
            page=page, crawl_id=subscription.crawl_id, defaults={"host": host, "state": 1, "role": role}
        )
        self.changes[url] = sorted(changes)
        self.visit(subscription.crawl_id, url)
        self.write()

    def run(self, hours: float, step: float = 1.0) -> None:
        """Let time pass; every visit that is due is made at once."""
        crawls = self.crawls
        end = self.now + hours * HOUR
        while self.now < end - 1e-6:
            self.now = min(self.now + step * HOUR, end)
            self.look(crawls)

    def look(self, crawls: set[int] | None = None) -> list[str]:
        new, again = self.scheduler.due(self.now, self.crawls if crawls is None else crawls)
        for found in (*new, *again):
            self.visit(found.crawl, found.url)
        self.write()
        return [found.url for found in (*new, *again)]

    def write(self) -> None:
        with transaction.atomic():
            self.scheduler.write()

    @property
    def crawls(self) -> set[int]:
        return set(Subscription.objects.filter(active=True).values_list("crawl_id", flat=True))

    def visit(self, crawl: int, url: str) -> None:
        key = urls.key(url)
        self.visits[url] += 1
        self.log.append((self.hours, url))
        if urls.host(url) in self.dead:
            self.scheduler.ended([no_answer(crawl, key, url)])
            return
        last = self.seen.get(url)
        changed = last is not None and bisect_right(self.changes[url], self.hours) > bisect_right(
            self.changes[url], last
        )
        self.seen[url] = self.hours
        self.found[url] += changed
        listing = None
        if url in self.listings:
            entries = [(urls.key(u), int((START + h * HOUR) * 1000), u) for u, h in self.listings[url]]
            listing = FeedListing("feed", entries) if changed or last is None else None
        self.scheduler.observed(
            AnsweredVisit(
                crawl=crawl,
                key=key,
                page=0,
                host=0,
                url=url,
                role=0,
                at_ms=int(self.now * 1000),
                status=404 if url in self.missing else 200,
                first=last is None,
                before_status=0 if last is None else self.answered.get(url, 200),
                changed=changed or last is None,
                not_modified=not changed and last is not None,
                bytes=10_000 if changed or last is None else 0,
                stored=3_000 if changed or last is None else 500,
                cost_ms=50,
                index_ms=3.0,
                difference=Difference(0.0, 0.1, 0.4, 0.5, True, 3, 1, "+ new") if changed else None,
                listing=listing,
                title=url.rsplit("/", 1)[-1],
            )
        )
        self.answered[url] = 404 if url in self.missing else 200


class Days:
    """Lets an engine work, and virtual time pass whenever it has nothing to do."""

    def __init__(
        self, web: SimWeb, days: float, step_hours: float, meanwhile: Callable[["Days"], None] | None = None
    ) -> None:
        self.web = web
        self.now = self.start = START
        self.end = self.start + days * 86_400
        self.step = step_hours
        self.idle = 0
        self.meanwhile = meanwhile

    def run(self, monkeypatch: pytest.MonkeyPatch, **options: object) -> None:
        monkeypatch.setattr(loop, "IDLE_PAUSE", 0.01)
        settings.INSTANCE.create()
        quick = {"delay": 0, "ingest_processes": 1, "commit_seconds": 0.1}
        given = config.load(resolve=self.web.resolve, **quick | options)
        repair(given, settings.INSTANCE)
        Engine(given, settings.INSTANCE, tick=self.tick, watch_clock=lambda: self.now).run()

    def tick(self, engine: Engine) -> None:
        busy = engine.at_work or any(engine.queued(run) for run in engine.runs)
        self.idle = 0 if busy else self.idle + 1
        if self.idle < 2:
            return
        self.idle = 0
        if self.now >= self.end:
            engine.stop("the days are over")
            return
        self.now += self.step * 3600
        self.web.advance(self.step)
        if self.meanwhile:
            self.meanwhile(self)


def subscribe(url="https://news.test/", **options) -> Subscription:
    return services.subscribe(SYSTEM, Order(url=url, scope="host", **options))[0]


def poisson(rate_per_day: float, days: float, seed: int) -> list[float]:
    generator, at, found = random.Random(seed), 0.0, []
    while (at := at + generator.expovariate(rate_per_day / 24)) < days * 24:
        found.append(at)
    return found


def restarted(world: World, tmp_path: Path, **settings: object) -> World:
    """As after a kill: only what was written is there."""
    again = World(tmp_path, world.now, **settings)
    again.changes, again.visits, again.log = world.changes, world.visits, world.log
    again.seen, again.answered, again.found = world.seen, world.answered, world.found
    return again


def no_answer(crawl: int, key: int, url: str) -> Ending:
    return Ending(crawl=crawl, key=key, url=url, role=0, how=How.FAILED, reason="connect: nobody listens")


def given_up(found: Candidate) -> Ending:
    """A visit that waited for a host nobody can reach."""
    return Ending(
        crawl=found.crawl, key=found.key, url=found.url, role=0, how=How.FAILED, reason="host-unreachable", asked=False
    )
