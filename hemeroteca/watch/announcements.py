"""Signals, feeds and sitemaps in the engine: which page each announced, and how often each source was right.

`signals` receives them in the web process; here they reach the planner. A source may also name pages nobody knows: how
many is learned from how many of them were there.
"""

import logging
from dataclasses import dataclass

from django.db import DatabaseError

from hemeroteca import urls
from hemeroteca.frontier.models import Page
from hemeroteca.predict import Reason
from hemeroteca.urls.candidate import Candidate, UrlRole
from hemeroteca.watch import observations
from hemeroteca.watch.answered_visit import GONE, HOUR_MS, AnsweredVisit, planner_hour
from hemeroteca.watch.models import Signal, SignalSource
from hemeroteca.watch.scheduler_state import ActivePage, ActiveSubscription, SchedulerState, VisitUnderWay

POLL_HOURS = {"feed": (0.5, 1.0, 24.0), "sitemap": (2.0, 6.0, 48.0)}  # least, first, most
MAX_SIGNALS = 500  # taken at a time
MAX_NEWCOMERS = 500  # unknown pages that signals may bring to a subscription in an hour
MAX_ANNOUNCED = 1000  # pages one reading of a feed or sitemap may announce
MAX_NAMED = 10_000  # unknown pages that signals named, on their way at a time
NAMED_PER_HOUR = 500  # visits of unknown pages that a source may bring about, when all it named were there …
UNPROVEN_PER_HOUR = 100  # … and as long as nothing is known of it
MIN_PER_HOUR = 5  # one that lied may show that it does no longer
PROVEN = 20  # named pages that were looked for, from which on their share counts

log = logging.getLogger("hemeroteca.watch")


@dataclass
class AnnouncementSource:
    """Somebody who tells of changes: about a subscription, or (None) about a site."""

    kind: str
    subscription: int | None
    site: str


@dataclass
class NamedPages:
    """How many of the unknown pages a source named were there, and how many visits it brought about this hour."""

    there: int = 0
    missing: int = 0
    brought: int = 0
    since: float = 0.0

    @property
    def per_hour(self) -> float:
        looked = self.there + self.missing
        return UNPROVEN_PER_HOUR if looked < PROVEN else max(NAMED_PER_HOUR * self.there / looked, MIN_PER_HOUR)


class Announcements:
    def __init__(self, state: SchedulerState) -> None:
        self._state = state
        self.announced_by: dict[int, set[int]] = {}  # page → sources that announced it since its last visit
        self.sources: dict[int, AnnouncementSource] = {}
        self.waiting: dict[int, None] = {}  # announced pages, the longest waiting first
        self._speakers: dict[int | str, list[int]] = {}  # sources by the subscription or site they speak about
        self._named: dict[int, NamedPages] = {}  # by source
        self._on_their_way: dict[int, None] = {}  # named pages, the oldest first

    def read_sources(self) -> None:
        self.sources = {
            s.pk: AnnouncementSource(s.kind, s.subscription_id, s.site)
            for s in SignalSource.objects.filter(state=SignalSource.State.ACTIVE)
        }
        self._speakers = {}
        for number, source in self.sources.items():
            about = source.site if source.subscription is None else source.subscription
            self._speakers.setdefault(about, []).append(number)

    def take(self, now: float) -> list[Candidate]:
        """Signals the web process wrote down: known pages are told to the planner, new ones of a scope are visited."""
        new: list[Candidate] = []
        if self._state.writes.signals:
            return []  # the last ones are still to be taken out
        active = SignalSource.State.ACTIVE
        rows = list(Signal.objects.filter(source__state=active).order_by("pk")[:MAX_SIGNALS])
        if any(row.source_id not in self.sources for row in rows):
            self.read_sources()
        for row in rows:
            try:
                new += self._hear(row, now)
            except DatabaseError:
                raise
            except Exception:  # nobody outside may stop watching by what he says
                log.exception("signal of source %d about %r", row.source_id, row.url)
        self._state.writes.taken(row.pk for row in rows)
        return new

    def gone_before(self, found: list[Candidate], now: float) -> list[Candidate]:
        """Pages named now that were not there when they were looked for: they may have come since."""
        if not found:
            return []
        gone = Page.objects.filter(key__in=[f.key for f in found], status__in=GONE)
        keys = set(gone.filter(visited_ms__lt=int(now * 1000) - HOUR_MS).values_list("key", flat=True))
        return [f for f in found if f.key in keys]

    def read_listing(self, sub: ActiveSubscription, site: str, visit: AnsweredVisit, page: ActivePage | None) -> None:
        """A feed or sitemap: a page that tells about others. One that says the same as before is not read again."""
        listing = visit.listing
        least, first, most = POLL_HOURS[
            listing.kind if listing else "sitemap" if visit.role == UrlRole.SITEMAP else "feed"
        ]
        if page is None or not page.poll:
            if page is not None:
                self._state.plan.planner.remove([visit.key])
                if sub.policy is not None:
                    sub.policy.discard(visit.key)
            page = self._state.pages[visit.key] = ActivePage(sub.id, site, 0, first)
            self._state.polled.add(visit.key)
        elif visit.changed:
            page.poll = max(page.poll / 2, least)
        else:
            page.poll = min(page.poll * 1.5, most)
        since, page.last_ms, page.retry_at, page.failures = page.last_ms, visit.at_ms, 0.0, 0
        next_ms = visit.at_ms + int(page.poll * HOUR_MS)
        why, then = (Reason(code, {"hours": page.poll}) for code in ("listing", "then-listing"))
        if listing is None:
            self._state.writes.page_seen(
                visit.key,
                at_ms=visit.at_ms,
                interval_ms=visit.at_ms - since,
                next_ms=next_ms,
                then=then,
                important=False,
                chance=0.0,
            )
            return
        self._state.writes.new_page(visit, sub.id, site, at_ms=visit.at_ms, next_ms=next_ms, why=why, then=then)
        source = observations.listing_source(sub.id, site, visit.url, listing, visit.at_ms)
        if source not in self.sources:
            self.sources[source] = AnnouncementSource(listing.kind, sub.id, "")
            self._speakers.setdefault(sub.id, []).append(source)
        dated = sorted(((ms, key) for key, ms, _ in listing.entries if ms), reverse=True)
        announced = 0
        for ms, key in dated:
            if ms > visit.at_ms + 86_400_000 or announced >= MAX_ANNOUNCED:
                continue  # a date in the future says nothing
            known = self._state.pages.get(key)
            if known is None or (known.sub != sub.id and known.site != site):
                continue  # a feed speaks for its own site and subscription, not for pages of others
            if key != visit.key and ms > known.last_ms:
                self._announce(key, source, visit.at_ms / 1000, ms)
                announced += 1
        if announced:
            self._state.writes.heard(source, visit.at_ms, announced)

    def verify(self, key: int, page: ActivePage, important: bool) -> bool:
        """Were the sources right? And which said nothing of a change? Gives whether somebody had announced it."""
        told = self.announced_by.pop(key, set())
        for source in told:
            self._state.writes.verdict(source, "right" if important else "wrong")
        if important:
            for source in self._speakers.get(page.sub, []) + self._speakers.get(page.site, []):
                if source not in told:
                    self._state.writes.verdict(source, "missed")
        return bool(told)

    def settle_named(self, key: int, source: int, there: bool) -> None:
        """A page that a source named was looked for."""
        self._on_their_way.pop(key, None)
        named = self._named.setdefault(source, NamedPages())
        named.there += there
        named.missing += not there
        self._state.writes.verdict(source, "right" if there else "wrong")

    def forget(self, key: int) -> None:
        self.announced_by.pop(key, None)
        self.waiting.pop(key, None)
        self._on_their_way.pop(key, None)

    def _hear(self, row: Signal, now: float) -> list[Candidate]:
        source = self.sources.get(row.source_id)
        if source is None:
            return []
        subs = self._spoken_about(source)
        if not row.url:
            for key in (k for sub in subs if sub.id == source.subscription for k in sub.seeds):
                self._announce(key, row.source_id, now)
            return []
        try:
            url = urls.canonical(row.url)
        except urls.UrlError:
            return []
        if source.subscription is None and urls.host(url) != source.site:
            return []
        if urls.key(url) not in self._state.pages:
            return self._newcomer(url, row.source_id, subs, now)
        if any(sub.matcher.refusal(url, 0) is None for sub in subs):
            self._announce(urls.key(url), row.source_id, now, row.said_ms)
        return []

    def _spoken_about(self, source: AnnouncementSource) -> list[ActiveSubscription]:
        """Subscriptions a source may speak about: its own, or, of one that speaks for a site, all. Paused ones rest."""
        if source.subscription is None:
            return list(self._state.subs.values())
        sub = self._state.subs.get(source.subscription)
        return [sub] if sub is not None else []

    def _newcomer(self, url: str, source: int, subs: list[ActiveSubscription], now: float) -> list[Candidate]:
        key = urls.key(url)
        if key in self._state.under_way:
            return []
        for sub in subs:
            if sub.is_open and sub.matcher.refusal(url, 1) is None and not urls.trap(url):
                if not 0 <= now - sub.newcomers_at < 3600:
                    sub.newcomers, sub.newcomers_at = 0, now
                if sub.newcomers >= MAX_NEWCOMERS or not self._may_name(source, now):
                    return []
                sub.newcomers += 1
                self._name(key, VisitUnderWay(sub.crawl, urls.host(url), planned=False, source=source))
                found = Candidate(key, url, urls.host(url), sub.crawl, depth=1)
                return self._state.budgets.pace([found], now)
        return []

    def _may_name(self, source: int, now: float) -> bool:
        """Whether an unknown page is looked for because this source named it."""
        named = self._named.setdefault(source, NamedPages())
        if not 0 <= now - named.since < 3600:
            named.brought, named.since = 0, now
        if named.brought >= named.per_hour:
            return False
        named.brought += 1
        return True

    def _name(self, key: int, visit: VisitUnderWay) -> None:
        self._state.under_way.start(key, visit)
        self._on_their_way[key] = None
        if len(self._on_their_way) > MAX_NAMED:  # the frontier may have known one, and never visits it
            oldest = next(iter(self._on_their_way))
            del self._on_their_way[oldest]
            self._state.under_way.end(oldest)

    def _announce(self, key: int, source: int, now: float, said_ms: int = 0) -> None:
        page = self._state.pages.get(key)
        if page is None or (said_ms and said_ms <= page.last_ms):
            return  # what was said is about a version we have
        sub = self._state.subs.get(page.sub)
        if sub is None or source in self.announced_by.get(key, ()):
            return
        self.announced_by.setdefault(key, set()).add(source)
        kind = self.sources[source].kind
        if sub.policy is not None:
            sub.policy.notify(key, planner_hour(now * 1000))
        elif key in self._state.plan.planner:
            self._state.plan.signal(key, now, kind)
            if len(self.waiting) < MAX_ANNOUNCED:
                self.waiting[key] = None
