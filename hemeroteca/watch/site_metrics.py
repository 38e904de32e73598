"""What watching brought and what it cost, per site, group, collection or subscription.

From the observations alone. What nobody saw is estimated from what was seen: each page's rate λ is the maximum
likelihood of its visits (`Σ_changed τ/(e^{λτ}−1) = Σ_unchanged τ`), bounded where it has none.

    changes        important changes seen;  versions: visits that brought other bytes
    lost           λ·T − changes, not less than 0: changes that came and went between two visits
    unnecessary    visits that found no important change
    generated      bytes received;  stored: bytes written to the archive
    fixed_*        what one visit every `fixed_hours` would have used: visits, a whole copy each, and changes seen
    freshness      share of the time since the first visit in which the last copy was the page's present state
    delay_hours    from the first change of an interval to the visit that found it, on average
"""

from collections.abc import Iterable
from typing import Any

import msgspec
import numpy as np
from django.db.models.functions import Coalesce
from numpy.typing import NDArray

from hemeroteca import spreadsheet, urls
from hemeroteca.clock import now_ms
from hemeroteca.watch import queries
from hemeroteca.watch.answered_visit import DAY_MS, HOUR_MS
from hemeroteca.watch.models import Observation, WatchedPage

BY = ("site", "group", "behaviour", "collection", "category", "subscription", "all")
STEPS = 60
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Metrics(msgspec.Struct):
    """Figures of one group of pages over a period."""

    name: str
    pages: int = 0
    days: float = 0.0
    visits: int = 0
    changes: int = 0
    versions: int = 0
    lost: float = 0.0
    unnecessary: int = 0
    conditional: int = 0
    generated: int = 0
    stored: int = 0
    cost_seconds: float = 0.0
    fixed_visits: float = 0.0
    fixed_changes: float = 0.0
    fixed_bytes: float = 0.0
    freshness: float | None = None
    delay_hours: float | None = None

    @property
    def says_of_days(self) -> bool:
        """Whether its pages were watched for a day each: before, a rate of changes per day is nothing but a guess."""
        return self.days >= self.pages


COLUMNS = Metrics.__struct_fields__


def measure(
    by: str = "site",
    *,
    since_ms: int = 0,
    until_ms: int = 0,
    fixed_hours: float = 24.0,
    site: str = "",
    subscription: int | None = None,
) -> list[Metrics]:
    """One row per group, most visits first."""
    if by not in BY:
        raise ValueError(f"metrics cannot be told by {by!r}; choose one of {', '.join(BY)}")
    if not fixed_hours > 0:
        raise ValueError(f"fixed_hours must be greater than 0, not {fixed_hours}")
    names = _names(by, site, subscription)
    rows = Observation.objects.order_by("key", "seen_ms")
    if subscription is not None:
        rows = rows.filter(key__in=WatchedPage.objects.filter(subscription=subscription).values("key"))
    if since_ms:
        rows = rows.filter(seen_ms__gte=since_ms)
    if until_ms:
        rows = rows.filter(seen_ms__lt=until_ms)
    fields = ("key", "interval_ms", "changed", "important", "conditional", "bytes", "stored", "cost_ms", "seen_ms")
    data = np.array(
        [row for row in rows.values_list(*fields).iterator(chunk_size=5000) if row[0] in names], dtype=np.int64
    ).reshape(-1, len(fields))
    return _summarise(data, names, fixed_hours, until_ms or now_ms())


def _names(by: str, site: str, subscription: int | None) -> dict[int, str]:
    """Which group each page is in."""
    topic = Coalesce("subscription__category__name", "subscription__collection__category__name")
    columns = {"collection": "subscription__collection__name", "category": topic, "all": "listing"}
    column: Any = columns.get(by, by)
    empty = "all" if by == "all" else "unknown" if by in ("behaviour", "group") else "none"
    found = queries.watched(site=site, subscription=subscription).values_list("key", column)
    return {key: str(name) if name not in (None, "") else empty for key, name in found}


def _summarise(data: NDArray[np.int64], names: dict[int, str], fixed_hours: float, until_ms: int) -> list[Metrics]:
    if not len(data):
        return []
    keys = np.unique(data[:, 0])
    page = np.searchsorted(keys, data[:, 0])
    gap = data[:, 1] / HOUR_MS
    hit = data[:, 3].astype(bool)
    known = gap > 0
    rate = rates(page[known], gap[known], hit[known], keys.size)
    total = _sum(page, np.where(known, gap, 0.0), keys.size)
    changes = _sum(page, (hit & known).astype(float), keys.size)
    lost = np.maximum(rate * total - changes, 0.0)
    hazard = rate[page] * gap
    last = np.zeros(keys.size, np.int64)
    np.maximum.at(last, page, data[:, 8])
    since = np.maximum(until_ms - last, 0) / HOUR_MS  # the interval that no visit has ended yet
    fresh = _sum(page, np.where(known, gap * _fresh(hazard), 0.0), keys.size) + since * _fresh(rate * since)
    late = np.where(known & hit, _delay(rate[page], gap), 0.0)
    full = np.where(data[:, 2].astype(bool), data[:, 5], 0)
    copies = _sum(page, (full > 0).astype(float), keys.size)
    size = _sum(page, full.astype(float), keys.size) / np.maximum(copies, 1)
    fixed_visits = total / fixed_hours
    groups = np.array([names[int(key)] for key in keys])
    result = []
    for name in dict.fromkeys(groups.tolist()):
        mine = groups == name
        rows = mine[page]
        hours = float(total[mine].sum())
        life = hours + float(since[mine].sum())
        seen = int((hit & known)[rows].sum())
        result.append(
            Metrics(
                name=name,
                pages=int(mine.sum()),
                days=round(hours / 24, 3),
                visits=int(rows.sum()),
                changes=seen,
                versions=int(data[rows, 2].sum()),
                lost=round(float(lost[mine].sum()), 2),
                unnecessary=int((rows & known & ~hit).sum()),
                conditional=int(data[rows, 4].sum()),
                generated=int(data[rows, 5].sum()),
                stored=int(data[rows, 6].sum()),
                cost_seconds=round(float(data[rows, 7].sum()) / 1000, 3),
                fixed_visits=round(float(fixed_visits[mine].sum()), 1),
                fixed_changes=round(float((fixed_visits * -np.expm1(-rate * fixed_hours))[mine].sum()), 2),
                fixed_bytes=round(float((fixed_visits * size)[mine].sum())),
                freshness=round(float(fresh[mine].sum()) / life, 4) if hours else None,
                delay_hours=round(float(late[rows].sum()) / seen, 2) if seen else None,
            )
        )
    return sorted(result, key=lambda row: (-row.visits, row.name))


def rates(page: Ints, gap: Floats, hit: NDArray[np.bool_], count: int) -> Floats:
    """Changes per hour of each page, by bisection of the likelihood, for all pages at once.

    A page that was found changed at every visit has no maximum; half an unseen quiet visit is added to it.
    """
    quiet = _sum(page, np.where(hit, 0.0, gap), count)
    hits = _sum(page, hit.astype(float), count)
    longest = np.zeros(count)
    np.maximum.at(longest, page, gap)
    quiet = np.where((quiet == 0) & (hits > 0), longest / 2, quiet)
    low = np.zeros(count)
    high = np.where(quiet > 0, hits / np.maximum(quiet, 1e-12), 0.0)
    changed = np.flatnonzero(hit)
    p, g = page[changed], gap[changed]
    for _ in range(STEPS):
        middle = (low + high) / 2
        x = middle[p] * g
        first = np.where(x < 1e-8, 1 / np.maximum(middle[p], 1e-12), g / np.expm1(np.clip(x, 1e-8, 700)))
        excess = _sum(p, first, count) - quiet
        low = np.where(excess > 0, middle, low)
        high = np.where(excess > 0, high, middle)
    return (low + high) / 2


def series(
    *,
    since_ms: int,
    until_ms: int,
    url: str = "",
    site: str = "",
    subscription: int | None = None,
    collection: str = "",
    learned_by: int | None = None,
) -> list[dict[str, Any]]:
    """Visits, changes and bytes of each day, for charts. Of one page, or of the subscription `learned_by`, what was
    learned from archives counts too."""
    pages = queries.watched(subscription=subscription, site=site, collection=collection)
    days: dict[int, dict[str, Any]] = {}
    rows = Observation.objects.filter(seen_ms__gte=since_ms, seen_ms__lt=until_ms)
    if url:
        rows = rows.filter(key=urls.key(urls.canonical(url)))
    elif learned_by is not None:
        rows = rows.filter(subscription=learned_by)
    else:
        rows = rows.filter(imported=False, key__in=pages.values("key"))
    fields = rows.values_list("seen_ms", "important", "bytes", "stored")
    for at_ms, important, received, stored in fields.iterator(chunk_size=5000):
        day = days.setdefault(
            at_ms // DAY_MS,
            {"day_ms": at_ms // DAY_MS * DAY_MS, "visits": 0, "changes": 0, "generated": 0, "stored": 0},
        )
        day["visits"] += 1
        day["changes"] += important
        day["generated"] += received
        day["stored"] += stored
    return [days[day] for day in sorted(days)]


def as_csv(rows: Iterable[Metrics]) -> str:
    return spreadsheet.text([COLUMNS, *map(msgspec.structs.astuple, rows)])


def _sum(page: Ints, values: Floats, count: int) -> Floats:
    return np.bincount(page, weights=values, minlength=count).astype(np.float64)


def _fresh(hazard: Floats) -> Floats:
    """Mean share of an interval before its first change."""
    return np.where(hazard < 1e-6, 1 - hazard / 2, -np.expm1(-hazard) / np.maximum(hazard, 1e-12))


def _delay(rate: Floats, gap: Floats) -> Floats:
    """Expected hours from the first change of an interval with a change to its end."""
    x = rate * gap
    wait = np.where(x < 1e-4, gap / 2, 1 / np.maximum(rate, 1e-12) - gap / np.expm1(np.clip(x, 1e-4, 700)))
    return gap - wait
