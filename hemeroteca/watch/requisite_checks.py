"""Requisites of watched pages (styles, pictures, scripts): looked at again with new versions and from time to time.

A picture or style replaced at the same address changes no byte of the pages that show it. Each requisite is asked for
conditionally, with a new version of a page that needs it but at most every `REST_MS`. Styles, which are few and change
the look of every page, are looked at when somebody asks for a check, and one by one with any visit of the site once
they are `OLD_MS` old; of all others the one seen longest ago with every fiftieth visit (`VISITS`).
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from hemeroteca.frontier.models import QueuedVisit
from hemeroteca.frontier.visit import State
from hemeroteca.ingest.difference import Difference
from hemeroteca.urls.candidate import Candidate, UrlRole
from hemeroteca.watch.answered_visit import DAY_MS, AnsweredVisit

if TYPE_CHECKING:
    from hemeroteca.watch.scheduler_state import ActiveSubscription, SchedulerState

REST_MS = 2 * DAY_MS
OLD_MS = 7 * DAY_MS
VISITS = 50
MAX_KNOWN = 20_000  # requisites of a subscription, the first met
MAX_STYLES = 50
MAX_WAITING = 500
STYLE = "text/css"


class Requisite(msgspec.Struct, gc=False):
    last_ms: int
    page: int = 0  # one that needs it


class Requisites:
    def __init__(self, state: "SchedulerState") -> None:
        self._state = state
        self._known: dict[int, dict[int, Requisite]] = {}  # by subscription
        self._styles: dict[int, dict[int, Requisite]] = {}  # those of them that are styles
        self._waiting: dict[int, dict[int, None]] = {}
        self._visits: dict[int, int] = {}

    def load(self, sub: "ActiveSubscription") -> None:
        rows = QueuedVisit.objects.filter(crawl=sub.crawl, role=UrlRole.REQUISITE, state=State.DONE).order_by("pk")
        known, styles = self._known.setdefault(sub.id, {}), self._styles.setdefault(sub.id, {})
        for key, visited_ms, url in rows.values_list("page__key", "page__visited_ms", "page__url")[:MAX_KNOWN]:
            known[key] = Requisite(visited_ms)
            if url.partition("?")[0].lower().endswith(".css") and len(styles) < MAX_STYLES:
                styles[key] = known[key]

    def forget(self, number: int) -> None:
        for part in (self._known, self._styles, self._waiting, self._visits):
            part.pop(number, None)

    def needed(self, sub: "ActiveSubscription", visit: AnsweredVisit) -> None:
        """A page was visited: its requisites are looked at when it has a new version, old ones of the site at times."""
        known = self._known.setdefault(sub.id, {})
        for key in visit.requisites:
            if (one := known.get(key)) is not None:
                one.page = one.page or visit.key
        if visit.changed and not visit.first:
            self._want(sub.id, [key for key in visit.requisites if self._rested(known.get(key), visit.at_ms, REST_MS)])
        self._visits[sub.id] = self._visits.get(sub.id, 0) + 1
        turn = known if self._visits[sub.id] % VISITS == 0 else self._styles.get(sub.id)
        if turn:
            oldest = min(turn, key=lambda key: turn[key].last_ms)
            self._want(sub.id, [oldest] if self._rested(turn[oldest], visit.at_ms, OLD_MS) else [])

    def seen(self, sub: "ActiveSubscription", site: str, visit: AnsweredVisit) -> None:
        """A requisite was visited. What differs is a change of a page that needs it: a style in its view, else in its
        content."""
        known = self._known.setdefault(sub.id, {})
        if visit.key not in known and len(known) >= MAX_KNOWN:
            return
        one = known.setdefault(visit.key, Requisite(min(visit.before_ms or visit.at_ms, visit.at_ms)))
        before, one.last_ms = one.last_ms, visit.at_ms
        styles = self._styles.setdefault(sub.id, {})
        if visit.mime == STYLE and len(styles) < MAX_STYLES:
            styles[visit.key] = one
        difference = visit.difference
        if not visit.changed or visit.first or (difference is not None and not difference.important):
            return
        difference = difference or Difference(0.0, 0.0, 1.0, 1.0, important=True)
        if visit.mime == STYLE:
            total = difference.total
            difference = msgspec.structs.replace(difference, view=total, form=0.0, content=0.0, total=total)
        page = one.page or (sub.seeds[0] if sub.seeds else 0)
        if page:
            self._state.writes.change(visit, sub.id, difference, site, before, first=True, page=page)

    def check(self, number: int) -> None:
        """Somebody wants a subscription looked at now: its styles too."""
        self._want(number, list(self._styles.get(number, ())))

    def due(self) -> Iterator[Candidate]:
        """Requisites to be visited now."""
        for number, waiting in list(self._waiting.items()):
            sub = self._state.subs.get(number)
            if sub is None or not sub.is_open:
                continue
            del self._waiting[number]
            rows = QueuedVisit.objects.filter(crawl=sub.crawl, role=UrlRole.REQUISITE, page__key__in=waiting)
            columns = ("page__key", "page__url", "host__name", "depth")
            for key, url, host, depth in rows.exclude(state=State.QUEUED).values_list(*columns):
                yield Candidate(key, url, host, sub.crawl, depth, role=UrlRole.REQUISITE)

    def _want(self, number: int, keys: Sequence[int]) -> None:
        waiting = self._waiting.setdefault(number, {}) if keys else {}
        for key in keys[: MAX_WAITING - len(waiting)]:
            waiting[key] = None
            self._known[number][key].last_ms = self._state.now_ms  # asked for; not again by the next page

    @staticmethod
    def _rested(one: Requisite | None, now_ms: int, rest_ms: int) -> bool:
        return one is not None and now_ms - one.last_ms >= rest_ms
