"""Why a page is visited now, and when and why it will be next: facts that `watch.reasons` makes sentences of."""

import numpy as np

from hemeroteca.watch import memory, reasons
from hemeroteca.watch.models import SignalSource, WatchedPage
from hemeroteca.watch.scheduler.announcements import Announcements
from hemeroteca.watch.scheduler.new_pages import YOUNG
from hemeroteca.watch.scheduler.planning import Planning
from hemeroteca.watch.scheduler.state import WORTH, State, Sub, Watched
from hemeroteca.watch.values import HOUR_MS, Seen


class Explaining:
    def __init__(self, state: State, planning: Planning, announcements: Announcements) -> None:
        self._state = state
        self._planning = planning
        self._announcements = announcements

    def why(self, key: int, now: float, chance: float) -> None:
        page = self._state.pages[key]
        if page.failures:
            kept: dict[str, object] = {"code": "retry", "failures": page.failures}
        else:
            kept = dict(reasons.facts(self._planning.planner.explain(key, memory.hour(now * 1000))))
            if kept.get("code") == "companion":
                other = WatchedPage.objects.filter(key=kept["page"]).values_list("url", flat=True).first()
                kept["page"] = other or "another page"
            elif kept.get("code") == "signal":
                kept = self._why_told(key, kept)
        self._state.records.page_chosen(key, int(now * 1000), {**kept, "chance": round(chance, 3)})

    def why_by_policy(self, sub: Sub, key: int, now: float) -> None:
        page = self._state.pages[key]
        hours = (now * 1000 - page.last_ms) / HOUR_MS
        assert sub.policy is not None
        code = "share" if sub.policy.shares_budget else "interval"
        if page.failures:
            kept: dict[str, object] = {"code": "retry", "failures": page.failures}
        elif key in self._announcements.told and sub.mode == "simple-notify":
            first = next(iter(self._announcements.told[key]))
            source = self._announcements.sources.get(first, ("somebody", None, ""))[0]
            kept = {"code": "told", "source": source, "policy": sub.mode}
        elif hours * HOUR_MS >= sub.max_ms and not self._wanted(sub, key, now):
            kept = {"code": "overdue", "ago": round(hours / 24, 1)}
        else:
            kept = {"code": code, "policy": sub.mode, "hours": round(hours, 2)}
        self._state.records.page_chosen(key, int(now * 1000), kept)

    def _wanted(self, sub: Sub, key: int, now: float) -> bool:
        """Whether the policy itself asks for a visit now."""
        assert sub.policy is not None
        at = sub.policy.next_at(key)
        return at is not None and at <= memory.hour(now * 1000)

    def then(self, sub: Sub, page: Watched, seen: Seen) -> tuple[int, dict[str, object]]:
        """About when the next visit will be and why, for people: as if the page went on as it did before this one."""
        if sub.policy is not None:
            hour = sub.policy.next_at(seen.key)
            if hour is None or not np.isfinite(hour):
                return 0, {"code": "then-share"}
            code, wait = "then-policy", max((hour - memory.hour(seen.at_ms)) * HOUR_MS, sub.min_ms)
            if wait > sub.max_ms:
                code, wait = "then-latest", sub.max_ms
            return seen.at_ms + int(wait), {"code": code, "policy": sub.mode, "hours": round(wait / HOUR_MS, 2)}
        if sub.purse.visits.per_day:
            return seen.at_ms + int(page.wait) if page.wait else 0, {"code": "then-share"}
        code, wait = "then-chance", page.wait or sub.max_ms
        if wait >= sub.max_ms:
            code, wait = "then-latest", sub.max_ms
        if page.visits <= len(YOUNG) and (young := YOUNG[page.visits - 1] * HOUR_MS) < wait:
            code, wait = "then-young", max(young, sub.min_ms)
        return seen.at_ms + int(wait), {"code": code, "hours": round(wait / HOUR_MS, 2)}

    def until_likely(self, sub: Sub, chance: float, interval_ms: int) -> float:
        """Milliseconds until a visit is worth it."""
        rate = -np.log1p(-min(max(chance, 1e-6), 0.999)) / max(interval_ms, 1)
        return float(max(min(-np.log1p(-WORTH) / rate, sub.max_ms), sub.min_ms, HOUR_MS))

    def _why_told(self, key: int, kept: dict[str, object]) -> dict[str, object]:
        """Who announced it, and how often he was right so far: not what is believed of somebody never heard before."""
        rows = SignalSource.objects.filter(pk__in=self._announcements.told.get(key, ())).order_by("-right", "pk")
        row = rows.values_list("kind", "right", "wrong").first()
        if row is None:
            return kept
        kind, right, wrong = row
        if not right + wrong:
            return {"code": "news", "source": kind}
        return {"code": "signal", "source": kind, "precision": round(right / (right + wrong), 3)}
