"""What the scheduler has to write: batched SQL inside the engine's transaction, the same on SQLite and PostgreSQL."""

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

from django.db import connection
from django.db.models import F

from hemeroteca.archive.services import db_uuid
from hemeroteca.watch.models import Signal, SignalSource, Subscription, WatchedPage
from hemeroteca.watch.values import DAY_MS, Seen, plain

DIFF_CHARS = 6000


class Records:
    """Gathered by `Scheduler`, written by `write`."""

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self._new: dict[int, tuple[Any, ...]] = {}
        self._observations: list[tuple[Any, ...]] = []
        self._seen: list[tuple[Any, ...]] = []
        self._chosen: dict[int, tuple[Any, ...]] = {}
        self._failed: dict[int, tuple[int, str, int]] = {}
        self._changes: list[tuple[Any, ...]] = []
        self._verdicts: Counter[tuple[int, str]] = Counter()
        self._heard: dict[int, tuple[int, int]] = {}
        self.signals: list[int] = []  # taken, to be deleted
        self._troubles: dict[int, dict[str, Any]] = {}
        self._waits: list[tuple[dict[str, Any], int, str]] = []
        self._turned_ms = 0

    def __bool__(self) -> bool:
        return any(vars(self).values())

    def new_page(
        self,
        seen: Seen,
        subscription: int,
        site: str,
        next_ms: int,
        reason: dict[str, Any],
        next_reason: dict[str, Any] | None = None,
    ) -> None:
        kind = seen.listing.kind if seen.listing else ""
        self._new[seen.key] = (
            *(seen.key, subscription, site, seen.url, kind, seen.at_ms, seen.at_ms, next_ms, 1, 0, 0, 0.0, 0, 0.0, 0),
            *("low", "", json.dumps(reason), json.dumps(next_reason or {})),
        )

    def observation(
        self, seen: Seen, subscription: int, interval_ms: int, important: bool, chance: float | None
    ) -> None:
        d = seen.difference
        self._observations.append(
            (
                *(
                    seen.key,
                    subscription,
                    seen.at_ms,
                    interval_ms,
                    seen.status,
                    seen.not_modified,
                    seen.changed,
                    important,
                ),
                *((d.view, d.form, d.content) if d else (None, None, None)),
                *(seen.bytes, seen.stored, seen.cost_ms, chance, False),
            )
        )

    def page_seen(
        self,
        key: int,
        at_ms: int,
        interval_ms: int,
        next_ms: int,
        next_reason: dict[str, Any],
        important: bool,
        chance: float,
    ) -> None:
        hit = int(important)
        day = at_ms // DAY_MS
        then = json.dumps(next_reason)
        self._seen.append(
            (at_ms, next_ms, then, hit, interval_ms / DAY_MS, hit, day, hit, at_ms, chance, key),
        )

    def page_chosen(self, key: int, next_ms: int, reason: dict[str, Any]) -> None:
        self._chosen[key] = (next_ms, json.dumps(reason), key)

    def page_failed(self, key: int, next_ms: int, hours: float) -> None:
        self._failed[key] = (next_ms, json.dumps({"code": "then-retry", "hours": round(hours, 2)}), key)

    def change(self, seen: Seen, subscription: int, site: str, since_ms: int) -> None:
        d = seen.difference
        view, form, content, total = (d.view, d.form, d.content, d.total) if d else (0.0, 0.0, 1.0, 1.0)
        words = (d.words_added, d.words_removed, plain(d.diff[:DIFF_CHARS])) if d else (0, 0, "")
        self._changes.append(
            (
                *(seen.key, subscription, site, seen.url, plain(seen.title[:500]), seen.at_ms, since_ms),
                *(db_uuid(seen.record_id), view, form, content, total, *words, False),
            )
        )

    def verdict(self, source: int, what: str) -> None:
        """`right`, `wrong` or `missed`."""
        self._verdicts[source, what] += 1

    def heard(self, source: int, at_ms: int, count: int = 1) -> None:
        self._heard[source] = (at_ms, self._heard.get(source, (0, 0))[1] + count)

    def taken(self, signals: Iterable[int]) -> None:
        self.signals += signals

    def trouble(self, subscription: int, failures: int, since_ms: int, error: str) -> None:
        self._troubles.setdefault(subscription, {}).update(
            failures=failures, failing_since_ms=since_ms, last_error=plain(error[:500])
        )

    def wait(self, whose: dict[str, Any], until_ms: int, code: str) -> None:
        """Pages (a filter of theirs) that would be visited earlier have to wait until then."""
        self._waits.append((whose, until_ms, code))

    def turn_back(self, now_ms: int) -> None:
        """The clock was set back: no page was visited later than now, or waits for a time that comes again."""
        self._turned_ms = now_ms

    def fault(self, subscription: int, reason: str) -> None:
        """Why the scheduler cannot work with a subscription; empty: it can."""
        self._troubles.setdefault(subscription, {})["fault"] = reason

    def write(self) -> None:
        with connection.cursor() as cursor:
            if self._turned_ms:
                cursor.execute(_TURNED_BACK, (self._turned_ms, self._turned_ms, self._turned_ms))
            for statement, rows in (
                (_CHOSEN, list(self._chosen.values())),
                (_NEW, list(self._new.values())),
                (_OBSERVED, self._observations),
                (_SEEN, self._seen),
                (_GROUP, [(row[-1],) for row in self._seen]),
                (_FAILED, list(self._failed.values())),
                (_CHANGED, self._changes),
            ):
                if rows:
                    cursor.executemany(statement, rows)
        for whose, until_ms, code in self._waits:
            # Pages without a reason are on their way; those without a time wait for nothing in particular.
            early = WatchedPage.objects.filter(**whose, next_ms__gt=0, next_ms__lt=until_ms).exclude(next_reason={})
            early.update(next_ms=until_ms, next_reason={"code": code})
        for (source, what), count in self._verdicts.items():
            SignalSource.objects.filter(pk=source).update(**{what: F(what) + count})
        for source, (at_ms, count) in self._heard.items():
            SignalSource.objects.filter(pk=source).update(heard_ms=at_ms, received=F("received") + count)
        if self.signals:
            Signal.objects.filter(pk__in=self.signals).delete()
        for subscription, values in self._troubles.items():
            Subscription.objects.filter(pk=subscription).update(**values)
        self._clear()


_NEW = """
INSERT INTO watched_page (key, subscription_id, site, url, listing, first_ms, last_ms, next_ms, visits, changes,
    changed_ms, observed_days, change_days, chance, failures, "group", behaviour, reason, next_reason)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
ON CONFLICT (key) DO UPDATE SET subscription_id = excluded.subscription_id, listing = excluded.listing,
    last_ms = excluded.last_ms, next_ms = excluded.next_ms, visits = watched_page.visits + 1, failures = 0,
    next_reason = excluded.next_reason
"""
_OBSERVED = """
INSERT INTO observation (key, subscription_id, seen_ms, interval_ms, status, conditional, changed, important,
    "view", form, content, bytes, stored, cost_ms, chance, imported)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
"""
_SEEN = """
UPDATE watched_page SET last_ms = %s, next_ms = %s, next_reason = %s, visits = visits + 1, changes = changes + %s,
    observed_days = observed_days + %s, failures = 0,
    change_days = change_days + CASE WHEN %s = 1 AND changed_ms / 86400000 <> %s THEN 1 ELSE 0 END,
    changed_ms = CASE WHEN %s = 1 THEN %s ELSE changed_ms END, chance = %s
WHERE key = %s
"""
# P = days with change / days observed, as the founding work groups them; less than a day counts as one.
_GROUP = """
UPDATE watched_page SET "group" = CASE
    WHEN change_days > 0.7 * CASE WHEN observed_days > 1 THEN observed_days ELSE 1 END THEN 'high'
    WHEN change_days >= 0.4 * CASE WHEN observed_days > 1 THEN observed_days ELSE 1 END THEN 'medium'
    ELSE 'low' END
WHERE key = %s
"""
_TURNED_BACK = """
UPDATE watched_page SET next_ms = CASE WHEN next_ms > last_ms THEN next_ms - last_ms + %s ELSE next_ms END, last_ms = %s
WHERE last_ms > %s
"""
_CHOSEN = "UPDATE watched_page SET next_ms = %s, next_reason = '{}', reason = %s WHERE key = %s"
_FAILED = "UPDATE watched_page SET next_ms = %s, next_reason = %s, failures = failures + 1 WHERE key = %s"
_CHANGED = """
INSERT INTO change (key, subscription_id, site, url, title, seen_ms, since_ms, record_id, "view", form, content, total,
    words_added, words_removed, diff, told)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
ON CONFLICT DO NOTHING
"""
