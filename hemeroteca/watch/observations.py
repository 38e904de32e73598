"""What observations teach: those made of the archive, the planner learned from all, how good its predictions are.

The observations in the database are the truth; the planner's file saves replaying them. It says up to which observation
it has learned, so that the few made since are replayed at a start.
"""

import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import msgspec
import numpy as np
from django.db import transaction
from django.db.models import Max, Min

from hemeroteca import urls
from hemeroteca.archive import queries
from hemeroteca.archive.values import CaptureRow
from hemeroteca.frontier.models import Page
from hemeroteca.ingest.difference import Listing
from hemeroteca.predict import Calibration, Observed, Planner, behaviour, calibrate, group
from hemeroteca.warc.keys import index_key
from hemeroteca.watch import services
from hemeroteca.watch.answered_visit import DAY_MS, HOUR_MS, MAX_INTERVAL_HOURS, planner_hour
from hemeroteca.watch.models import Observation, SignalSource, Subscription, WatchedPage
from hemeroteca.watch.policy_pages import History, calendar_of

MAX_CAPTURES = 2_000_000  # learned of one subscription
MAX_CALIBRATED = 200_000  # visits a calibration replays, the newest
MAX_MOMENTS = 48
MAX_CHANGES = 100  # of a page, to tell its behaviour
PLANNER_FILE = "planner.state"
FRESH_FILE = "planner.fresh"  # learned anew, on its way to the engine


# from the archive


def learn_from_archive(subscription: Subscription, progress: Callable[[int], None] | None = None) -> int:
    """Make observations of the captures the archive holds of a subscription's pages; returns how many were new."""
    learned = 0
    threshold = float(subscription.comparison.get("threshold", 0.05))
    for captures in _histories(subscription):
        learned += _learn_page(subscription, captures, threshold)
        if progress is not None:
            progress(learned)
    return learned


def _learn_page(subscription: Subscription, captures: list[CaptureRow], threshold: float) -> int:
    url = captures[0].url
    key = urls.key(url)
    known = set(Observation.objects.filter(key=key).values_list("seen_ms", flat=True))
    rows: list[Observation] = []
    last = 0
    for capture in captures:
        interval = capture.captured_ms - last if last else 0
        if last and interval <= 0:
            continue
        important = bool(last) and capture.version and (capture.importance is None or capture.importance > threshold)
        if capture.captured_ms not in known and not _near(capture.captured_ms, known):
            rows.append(
                Observation(
                    key=key,
                    subscription_id=subscription.pk,
                    seen_ms=capture.captured_ms,
                    interval_ms=interval,
                    status=capture.status,
                    conditional=capture.status == 304,
                    changed=bool(last) and capture.version,
                    important=important,
                    bytes=capture.body_size,
                    stored=capture.length,
                    imported=True,
                )
            )
        last = capture.captured_ms
    page = Page.objects.filter(key=key).select_related("host").first()
    with transaction.atomic():
        Observation.objects.bulk_create(rows)
        if page is not None and rows:
            _summarise(subscription, page, key)
    return len(rows)


def _summarise(subscription: Subscription, page: Page, key: int) -> None:
    """Make the page watched when it was not, and let its figures say what its observations do."""
    seen = list(
        Observation.objects.filter(key=key).order_by("seen_ms").values_list("seen_ms", "interval_ms", "important")
    )
    hits = [at for at, _, important in seen if important]
    days = sum(interval for _, interval, _ in seen) / DAY_MS
    change_days = len({at // DAY_MS for at in hits})
    values = {
        "first_ms": seen[0][0],
        "last_ms": seen[-1][0],
        "visits": len(seen),
        "changes": len(hits),
        "changed_ms": hits[-1] if hits else 0,
        "observed_days": days,
        "change_days": change_days,
        "group": group_of(change_days, days),
    }
    WatchedPage.objects.update_or_create(
        key=key,
        defaults=values,
        create_defaults={
            **values,
            "subscription": subscription,
            "site": page.host.name,
            "url": page.url,
            "reason": {"code": "archive"},
        },
    )


def group_of(change_days: int, observed_days: float) -> str:
    """High, medium or low; less than a day observed counts as one."""
    days = max(round(observed_days), 1)
    return group(min(change_days, days), days).value


def _histories(subscription: Subscription) -> Iterator[list[CaptureRow]]:
    """The useful captures of each page in scope, oldest first."""
    scope = services.scope_of(subscription)
    matcher = urls.ScopeMatcher(scope)
    if scope.kind == "page":
        found = queries.captures_of(subscription.url, limit=MAX_CAPTURES)
        if useful := _useful(found):
            yield useful
        return
    page: list[CaptureRow] = []
    for row in _captures(subscription.url, scope.kind):
        if page and row.urlkey != page[0].urlkey:
            if useful := _useful(page):
                yield useful
            page = []
        if matcher.refusal(row.url, 0) is None:
            page.append(row)
    if useful := _useful(page):
        yield useful


def _captures(url: str, kind: str) -> Iterator[CaptureRow]:
    """Captures of a prefix, host or domain in the order of the index."""
    if kind == "prefix":
        start = index_key(url[: url.rindex("/") + 1])
    else:
        host = urls.host(url)
        if kind == "domain":
            host = urls.registrable_domain(host) or host
        start = index_key(f"http://{host}/").partition(")")[0] + ("" if kind == "domain" else ")")
    end = queries.after_prefix(start)
    yield from islice(queries.between(start, end), MAX_CAPTURES)


def _useful(captures: list[CaptureRow]) -> list[CaptureRow]:
    return [c for c in captures if c.status < 500 and c.status not in (401, 403, 408, 429)]


def _near(at_ms: int, known: set[int]) -> bool:
    """A capture of a visit that was observed itself: the two clocks of a visit lie within seconds."""
    return any(abs(at_ms - other) < 120_000 for other in known) if len(known) < 5000 else False


# the planner


def replay(planner: Planner, rows: Iterable[tuple[int, int, bool]]) -> int:
    """Show observations (key, ms, important), in the order of time, to a planner that knows their pages."""
    batch: dict[int, bool] = {}
    end = 0
    count = 0

    def learn() -> None:
        if batch:
            keys = np.fromiter(batch, np.int64, len(batch))
            planner.observe(keys, planner_hour(end), np.fromiter(batch.values(), bool, len(batch)))

    for key, at_ms, important in rows:
        if key not in planner:
            continue
        if key in batch or at_ms - end > HOUR_MS // 4:
            learn()
            batch.clear()
        end = max(end, at_ms) if batch else at_ms
        batch[key] = important
        count += 1
    learn()
    return count


def rebuild() -> tuple[Planner, int]:
    """A planner that has learned from all observations of the pages that are planned, and the last of them."""
    planner, last = _empty_planner()
    rows = Observation.objects.filter(pk__lte=last, interval_ms__gt=0).order_by("seen_ms", "pk")
    replay(planner, rows.values_list("key", "seen_ms", "important").iterator(chunk_size=5000))
    return planner, last


def calibrated(progress: Callable[[int], None] | None = None, bins: int = 10) -> tuple[Planner, int, Calibration]:
    """The same, with a record of what it would have predicted before each visit."""
    planner, last = _empty_planner()
    rows = Observation.objects.filter(pk__lte=last).order_by("-seen_ms", "-pk")
    newest = rows.values_list("key", "seen_ms", "important")[:MAX_CALIBRATED]
    history = [Observed(key, planner_hour(at_ms), hit) for key, at_ms, hit in newest if key in planner]
    return planner, last, calibrate(planner, history, on_progress=progress, bins=bins)


def keep(data: Path, planner: Planner, last: int) -> None:
    """Hand a planner learned anew to the engine."""
    save_planner(data / FRESH_FILE, planner, last)
    services.changed()


def _empty_planner() -> tuple[Planner, int]:
    last = Observation.objects.aggregate(last=Max("pk"))["last"] or 0
    first = dict(Observation.objects.values_list("key").annotate(Min("seen_ms")))
    planner = Planner()
    for sub in Subscription.objects.all():  # paused ones and those of other policies may come back
        known = WatchedPage.objects.filter(subscription=sub, listing="").values_list("key", "site", "url", "first_ms")
        pages = [(key, site, url, first.get(key, at_ms)) for key, site, url, at_ms in known]
        longest = sub.max_hours or MAX_INTERVAL_HOURS
        add_pages(planner, pages, math.inf, weight=sub.weight, min_hours=sub.min_hours, max_hours=longest)
        for site in {page[1] for page in pages} if sub.country else ():
            planner.set_calendar(site, calendar_of(sub.country))
    return planner, last


def add_pages(planner: Planner, pages: Sequence[tuple[int, str, str, int]], latest: float, **limits: float) -> None:
    """Give pages (key, site, URL, ms) to a planner by the hour of their time, or by its day when there are too many
    hours: each call costs a pass over all it knows."""
    step = HOUR_MS if len({page[3] // HOUR_MS for page in pages}) <= MAX_MOMENTS else DAY_MS
    alike: dict[float, list[tuple[int, str, str, int]]] = {}
    for page in pages:
        alike.setdefault(planner_hour(page[3] // step * step), []).append(page)
    for hour, part in alike.items():
        keys, sites, addresses, _ = map(list, zip(*part, strict=True))
        planner.add(keys, sites, addresses, min(hour, latest), **limits)


# its file


class _Kept(msgspec.Struct):
    observation: int
    planner: bytes


def load_planner(path: Path) -> tuple[Planner, int] | None:
    """The planner and the number of the last observation it knows; None when there is no usable file."""
    try:
        kept = msgspec.msgpack.decode(path.read_bytes(), type=_Kept)
        return Planner.loads(kept.planner), kept.observation
    except FileNotFoundError:
        return None
    except Exception:  # a cut, foreign or older file: the observations are all there to learn from again
        return None


def save_planner(path: Path, planner: Planner, observation: int) -> None:
    """Replace the file at once, readable by its owner only."""
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(msgspec.msgpack.encode(_Kept(observation, planner.dumps())))
    os.replace(draft, path)


# policies


def recent(most: int, clock: Callable[[], float]) -> History:
    """The last observations of pages, for a policy that begins again; none from days a wrong clock was ahead by."""

    def history(keys: Sequence[int]) -> list[tuple[int, float, bool]]:
        rows: list[tuple[int, int, bool]] = []
        now_ms = int(clock() * 1000)
        for key in keys:
            newest = Observation.objects.filter(key=key, interval_ms__gt=0, seen_ms__lte=now_ms).order_by("-seen_ms")
            rows += newest.values_list("key", "seen_ms", "important")[:most]
        return [(key, planner_hour(at_ms), hit) for key, at_ms, hit in sorted(rows, key=lambda row: row[1])]

    return history


# pages


def describe_behaviour(keys: Iterable[int], now_ms: int) -> None:
    """Say of pages what their changes look like: steady, periodic, bursty, silent."""
    for key in keys:
        page = WatchedPage.objects.filter(key=key).first()
        if page is None:
            continue
        hits = Observation.objects.filter(key=key, important=True).order_by("-seen_ms")
        times = [planner_hour(at) for at in hits.values_list("seen_ms", flat=True)[:MAX_CHANGES]]
        if page.visits < 3:
            continue
        found = behaviour(sorted(times), planner_hour(page.first_ms), planner_hour(now_ms)) or ""
        if found != page.behaviour:
            WatchedPage.objects.filter(key=key).update(behaviour=str(found))


# sources


def listing_source(subscription: int, site: str, url: str, listing: Listing, at_ms: int) -> int:
    """The source of signals that a feed or sitemap is, known from now on; with its hub, when it has one."""
    source, _ = SignalSource.objects.get_or_create(
        kind=listing.kind,
        subscription_id=subscription,
        site="",
        url=url,
        defaults={"state": SignalSource.State.ACTIVE, "created_ms": at_ms},
    )
    if listing.hub:
        told, _ = SignalSource.objects.get_or_create(
            kind=SignalSource.Kind.WEBSUB,
            subscription_id=subscription,
            site="",
            url=listing.topic or url,
            defaults={"hub": listing.hub, "created_ms": at_ms},
        )
        if told.hub != listing.hub:  # the site moved to another one
            SignalSource.objects.filter(pk=told.pk).update(
                hub=listing.hub, state=SignalSource.State.NEW, due_ms=0, attempts=0, secret="", lease_ms=0
            )
    return source.pk
