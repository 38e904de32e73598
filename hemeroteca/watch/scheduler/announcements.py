"""What others say of pages: signals, feeds and sitemaps; who announced what, and whether it was true."""

import logging

from django.db import DatabaseError

from hemeroteca import urls
from hemeroteca.frontier.models import Page
from hemeroteca.urls.candidate import Candidate, Role
from hemeroteca.watch import learning, memory
from hemeroteca.watch.models import Signal, SignalSource
from hemeroteca.watch.scheduler.budgets import Budgets
from hemeroteca.watch.scheduler.named_pages import NamedPages
from hemeroteca.watch.scheduler.planning import Planning
from hemeroteca.watch.scheduler.state import State, Sub, Watched
from hemeroteca.watch.values import HOUR_MS, Seen

GONE = {404, 410}
POLLS = {"feed": (0.5, 1.0, 24.0), "sitemap": (2.0, 6.0, 48.0)}  # hours: least, first, most
SIGNALS = 500  # taken at a time
NEWCOMERS = 500  # unknown pages that signals may bring to a subscription in an hour
ANNOUNCED = 1000  # pages one reading of a feed or sitemap may announce

log = logging.getLogger("hemeroteca.watch")


class Announcements:
    def __init__(self, state: State, budgets: Budgets, planning: Planning) -> None:
        self._state = state
        self._budgets = budgets
        self._planning = planning
        self.told: dict[int, set[int]] = {}  # page → sources that announced it since its last visit
        self.sources: dict[int, tuple[str, int | None, str]] = {}  # number → kind, subscription, site
        self.hasty: dict[int, None] = {}  # announced pages, the longest waiting first
        self.named_pages = NamedPages(state)
        self._speakers: dict[int | str, list[int]] = {}  # sources by the subscription or site they speak about

    def read_sources(self) -> None:
        self.sources = {
            s.pk: (s.kind, s.subscription_id, s.site)
            for s in SignalSource.objects.filter(state=SignalSource.State.ACTIVE)
        }
        self._speakers = {}
        for number, (_, subscription, site) in self.sources.items():
            self._speakers.setdefault(site if subscription is None else subscription, []).append(number)

    def take(self, now: float) -> list[Candidate]:
        """Signals the web process wrote down: known pages are told to the planner, new ones of a scope are visited."""
        new: list[Candidate] = []
        if self._state.records.signals:
            return []  # the last ones are still to be taken out
        active = SignalSource.State.ACTIVE
        rows = list(Signal.objects.filter(source__state=active).order_by("pk")[:SIGNALS])
        if any(row.source_id not in self.sources for row in rows):
            self.read_sources()
        for row in rows:
            try:
                new += self._hear(row, now)
            except DatabaseError:
                raise
            except Exception:  # nobody outside may stop watching by what he says
                log.exception("signal of source %d about %r", row.source_id, row.url)
        self._state.records.taken(row.pk for row in rows)
        return new

    def gone_before(self, found: list[Candidate], now: float) -> list[Candidate]:
        """Pages named now that were not there when they were looked for: they may have come since."""
        if not found:
            return []
        gone = Page.objects.filter(key__in=[f.key for f in found], status__in=GONE)
        keys = set(gone.filter(visited_ms__lt=int(now * 1000) - HOUR_MS).values_list("key", flat=True))
        return [f for f in found if f.key in keys]

    def read_listing(self, sub: Sub, site: str, seen: Seen, page: Watched | None) -> None:
        """A feed or sitemap: a page that tells about others. One that says the same as before is not read again."""
        listing = seen.listing
        least, first, most = POLLS[listing.kind if listing else "sitemap" if seen.role == Role.SITEMAP else "feed"]
        if page is None or not page.poll:
            if page is not None:
                self._planning.planner.remove([seen.key])
                if sub.policy is not None:
                    sub.policy.discard(seen.key)
            page = self._state.pages[seen.key] = Watched(sub.id, site, 0, first)
            self._state.polled.add(seen.key)
        elif seen.changed:
            page.poll = max(page.poll / 2, least)
        else:
            page.poll = min(page.poll * 1.5, most)
        since, page.last_ms, page.retry_at, page.failures = page.last_ms, seen.at_ms, 0.0, 0
        next_ms = seen.at_ms + int(page.poll * HOUR_MS)
        if listing is None:
            self._state.records.page_seen(seen.key, seen.at_ms, seen.at_ms - since, next_ms, {}, False, 0.0)
            return
        self._state.records.new_page(seen, sub.id, site, next_ms, {"code": "listing", "hours": page.poll})
        source = learning.listing_source(sub.id, site, seen.url, listing, seen.at_ms)
        if source not in self.sources:
            self.sources[source] = (listing.kind, sub.id, "")
            self._speakers.setdefault(sub.id, []).append(source)
        dated = sorted(((ms, key) for key, ms, _ in listing.entries if ms), reverse=True)
        announced = 0
        for ms, key in dated:
            if ms > seen.at_ms + 86_400_000 or announced >= ANNOUNCED:
                continue  # a date in the future says nothing
            known = self._state.pages.get(key)
            if known is None or (known.sub != sub.id and known.site != site):
                continue  # a feed speaks for its own site and subscription, not for pages of others
            if key != seen.key and ms > known.last_ms:
                self._announce(key, source, seen.at_ms / 1000, ms)
                announced += 1
        if announced:
            self._state.records.heard(source, seen.at_ms, announced)

    def verify(self, key: int, page: Watched, important: bool) -> bool:
        """Were the sources right? And which said nothing of a change? Gives whether somebody had announced it."""
        told = self.told.pop(key, set())
        for source in told:
            self._state.records.verdict(source, "right" if important else "wrong")
        if important:
            for source in self._speakers.get(page.sub, []) + self._speakers.get(page.site, []):
                if source not in told:
                    self._state.records.verdict(source, "missed")
        return bool(told)

    def forget(self, key: int) -> None:
        self.told.pop(key, None)
        self.hasty.pop(key, None)

    def _hear(self, row: Signal, now: float) -> list[Candidate]:
        source = self.sources.get(row.source_id)
        if source is None:
            return []
        subs = self._spoken_about(source)
        if not row.url:
            for key in (k for sub in subs if sub.id == source[1] for k in sub.seeds):
                self._announce(key, row.source_id, now)
            return []
        try:
            url = urls.canonical(row.url)
        except urls.UrlError:
            return []
        if source[1] is None and urls.host(url) != source[2]:
            return []
        if urls.key(url) not in self._state.pages:
            return self._newcomer(url, row.source_id, subs, now)
        if any(sub.matcher.refusal(url, 0) is None for sub in subs):
            self._announce(urls.key(url), row.source_id, now, row.said_ms)
        return []

    def _spoken_about(self, source: tuple[str, int | None, str]) -> list[Sub]:
        """Subscriptions a source may speak about: its own, or, of one that speaks for a site, all. Paused ones rest."""
        if source[1] is None:
            return list(self._state.subs.values())
        return [self._state.subs[source[1]]] if source[1] in self._state.subs else []

    def _newcomer(self, url: str, source: int, subs: list[Sub], now: float) -> list[Candidate]:
        key = urls.key(url)
        if key in self.named_pages:
            return []  # it is on its way
        for sub in subs:
            if sub.is_open and sub.matcher.refusal(url, 1) is None and not urls.trap(url):
                if not 0 <= now - sub.newcomers_at < 3600:
                    sub.newcomers, sub.newcomers_at = 0, now
                if sub.newcomers >= NEWCOMERS or not self.named_pages.take(key, source, now):
                    return []
                sub.newcomers += 1
                found = Candidate(key, url, urls.host(url), sub.crawl, depth=1)
                return self._budgets.pace([found], now)
        return []

    def _announce(self, key: int, source: int, now: float, said_ms: int = 0) -> None:
        page = self._state.pages.get(key)
        if page is None or (said_ms and said_ms <= page.last_ms):
            return  # what was said is about a version we have
        sub = self._state.subs.get(page.sub)
        if sub is None or source in self.told.get(key, ()):
            return
        self.told.setdefault(key, set()).add(source)
        kind = self.sources[source][0]
        if sub.policy is not None:
            sub.policy.notify(key, memory.hour(now * 1000))
        elif key in self._planning.planner:
            self._planning.signal(key, now, kind)
            if len(self.hasty) < ANNOUNCED:
                self.hasty[key] = None
