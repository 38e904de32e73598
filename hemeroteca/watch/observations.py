"""What observations teach: those made of the archive, the planner learned from all, how good its predictions are.

The observations in the database are the truth; the planner's file saves replaying them. It says up to which observation
it has learned, so that the few made since are replayed at a start.
"""

import gzip
import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import groupby, islice
from operator import attrgetter
from pathlib import Path

import msgspec
import numpy as np
from django.conf import settings
from django.db import transaction
from django.db.models import Max, Min

from hemeroteca import urls
from hemeroteca.archive import queries
from hemeroteca.archive.capture_rows import CaptureRow
from hemeroteca.errors import Invalid
from hemeroteca.fetch.client import GuardedClient
from hemeroteca.frontier.models import Page, QueuedVisit
from hemeroteca.ingest.difference import FeedListing
from hemeroteca.predict import (
    Calibration,
    Observed,
    Planner,
    Reason,
    behaviour,
    bursts,
    calibrate,
    daily_chance,
    group,
    site_chance,
)
from hemeroteca.predict.estimators import maximum_likelihood
from hemeroteca.predict.traces import Trace
from hemeroteca.urls.candidate import UrlRole
from hemeroteca.warc.keys import after_prefix, index_key
from hemeroteca.warc.timestamps import read_moment
from hemeroteca.watch import services
from hemeroteca.watch.answered_visit import (
    DAY_MS,
    HOUR_MS,
    MAX_INTERVAL_HOURS,
    planner_hour,
    planner_ms,
    tells_of_page,
)
from hemeroteca.watch.models import Burst, Observation, SignalSource, Subscription, WatchedPage
from hemeroteca.watch.policy_pages import History, calendar_of

MAX_CAPTURES = 2_000_000  # learned of one subscription
MAX_CALIBRATED = 200_000  # visits a calibration replays, the newest
MAX_MOMENTS = 48
MAX_CDX_BYTES = 64 << 20  # of an index that is read from the web
MAX_CHANGES = 100  # of a page, to tell its behaviour
MAX_DESCRIBED = 400  # newest observations of a page, to tell how often it changes
DESCRIBED_DAYS = 90  # of a subscription, the last ones, and …
MAX_OBSERVATIONS = 200_000  # … the newest observations
MIN_BURST = 5  # changes
END_SHARE = 0.5  # of the changes of a usual day of a burst, for a day at its ends to belong to it
GOLDEN = 0.618034  # whose multiples lie evenly between whole numbers, however many there are
PLANNER_FILE = "planner.state"
FRESH_FILE = "planner.fresh"  # learned anew, on its way to the engine


# from the archive


def learn_from_archive(subscription: Subscription, progress: Callable[[int], None] | None = None) -> int:
    """Make observations of the captures the archive holds of a subscription's pages; returns how many were new."""
    learned = 0
    threshold = float(subscription.comparison.get("threshold", 0.05))
    for captures in _histories(subscription):
        learned += _learn_rows(subscription, captures[0].url, captures, threshold)
        if progress is not None:
            progress(learned)
    return learned


def learn_from_cdx(subscription: Subscription, lines: Iterable[str]) -> int:
    """The same of another archive's index, as Wayback's CDX server writes it (key, time, URL, type, status, digest): a
    subscription begins with years of dates. What lies outside its scope is left out."""
    matcher = urls.ScopeMatcher(services.scope_of(subscription))
    pages: dict[str, list[tuple[int, int, str]]] = {}
    for number, line in enumerate(islice(lines, MAX_CAPTURES)):
        parts = line.split()
        at_ms = read_moment(parts[1]) if len(parts) >= 6 else None
        if at_ms is None or not (parts[4].isdigit() or parts[4] == "-"):
            if number and line.strip():
                raise Invalid(f"line {number + 1} is not one of a CDX file (key, time, URL, type, status, digest …)")
            continue  # the header
        try:
            url = urls.canonical(parts[2])
        except urls.UrlError:
            continue
        if matcher.refusal(url, 0) is None and parts[4] in ("200", "-"):
            pages.setdefault(url, []).append((at_ms, 200, parts[5]))
    learned = 0
    for url, captures in pages.items():
        digest = ""
        rows = []
        for at_ms, status, found in sorted(captures):
            rows.append(
                _Seen(captured_ms=at_ms, status=status, version=found != digest, importance=None, body_size=0, length=0)
            )
            digest = found
        learned += _learn_rows(subscription, url, rows, 0.0)
    if learned:
        _describe_subscription(subscription.pk, services.now_ms())
    return learned


def read_cdx(place: str) -> Iterator[str]:
    """Lines of a file, which may be packed with gzip, or of an address."""
    if place.startswith(("http://", "https://")):
        reply = GuardedClient(settings.CONFIG).send(place, max_bytes=MAX_CDX_BYTES)
        if not reply.ok or len(reply.body) >= MAX_CDX_BYTES:
            reason = reply.reason or f"status {reply.status}" if not reply.ok else "it is too large"
            raise Invalid(f"{place} cannot be read ({reason}); save it to a file and give that")
        yield from reply.body.decode("utf-8", "replace").splitlines()
        return
    try:
        with open(place, "rb") as probe:
            packed = probe.read(2) == b"\x1f\x8b"
        with (
            gzip.open(place, "rt", encoding="utf-8", errors="replace")
            if packed
            else open(place, encoding="utf-8", errors="replace") as file
        ):
            yield from file
    except (OSError, EOFError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise Invalid(f"{place} cannot be read ({reason}); give a CDX file, plain or gzip")


class _Seen(msgspec.Struct, frozen=True):
    """What is learned of a capture."""

    captured_ms: int
    status: int
    version: bool
    importance: float | None
    body_size: int
    length: int


def _learn_rows(subscription: Subscription, url: str, captures: Sequence[CaptureRow | _Seen], threshold: float) -> int:
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
        counted = WatchedPage.objects.filter(key=key).values_list("visits", flat=True).first()
        again = counted is not None and counted < len(known)  # what earlier subscriptions saw counts for a later one
        if page is not None and (rows or again) and _is_page(page):
            _summarise(subscription, page, key)
    return len(rows)


def _is_page(page: Page) -> bool:
    """Whether a crawl met it as a page, not only as something pages need or as a sitemap that may be there; or none
    met it at all, and it was imported."""
    roles = set(QueuedVisit.objects.filter(page=page).values_list("role", flat=True))
    return not roles or UrlRole.PAGE in roles


def _summarise(subscription: Subscription, page: Page, key: int) -> None:
    """Make the page watched when it was not, and let its figures say what its observations do."""
    seen = list(
        Observation.objects.filter(key=key).order_by("seen_ms").values_list("seen_ms", "interval_ms", "important")
    )
    hits = [at for at, _, important in seen if important]
    days = sum(interval for _, interval, _ in seen) / DAY_MS
    change_days = len({at // DAY_MS for at in hits})
    chance = _chance(seen)
    values = {
        "first_ms": seen[0][0],
        "last_ms": seen[-1][0],
        "visits": len(seen),
        "changes": len(hits),
        "changed_ms": hits[-1] if hits else 0,
        "observed_days": days,
        "change_days": change_days,
        "daily_chance": chance,
        "group": _group(chance),
    }
    WatchedPage.objects.update_or_create(
        key=key,
        defaults=values,
        create_defaults={
            **values,
            "subscription": subscription,
            "site": page.host.name,
            "url": page.url,
            "reason": Reason("archive").kept(),
        },
    )


def rate_of(seen: Iterable[tuple[int, int, bool]]) -> float:
    """Changes per hour of a page, the likeliest for its visits: (ms, ms since the one before, important).

    Visits of one day count as one, so that daily data give days with a change / days observed. A page that was found
    changed every time has no likeliest rate; half an unseen quiet visit is added.
    """
    days: dict[int, tuple[float, bool]] = {}
    for at, interval, hit in seen:
        if interval > 0:
            gap, changed = days.get(at // DAY_MS, (0.0, False))
            days[at // DAY_MS] = gap + interval / HOUR_MS, changed or hit
    visits = list(days.values())
    if visits and all(hit for _, hit in visits):
        visits.append((max(gap for gap, _ in visits) / 2, False))
    return maximum_likelihood(visits)


def _histories(subscription: Subscription) -> Iterator[list[CaptureRow]]:
    """The useful captures of each page in scope, oldest first."""
    for _, captures in groupby(captures_in_scope(subscription), key=attrgetter("urlkey")):
        if useful := [one for one in captures if tells_of_page(one.status)]:
            yield useful


def captures_in_scope(subscription: Subscription) -> Iterator[CaptureRow]:
    """What the archive holds of a subscription's pages, page by page, oldest first."""
    scope = services.scope_of(subscription)
    matcher = urls.ScopeMatcher(scope)
    if scope.kind == "page":
        yield from queries.captures_of(subscription.url, limit=MAX_CAPTURES)
    else:
        yield from (row for row in _captures(subscription.url, scope.kind) if matcher.refusal(row.url, 0) is None)


def _captures(url: str, kind: str) -> Iterator[CaptureRow]:
    """Captures of a prefix, host or domain in the order of the index."""
    if kind == "prefix":
        start = index_key(url[: url.rindex("/") + 1])
    else:
        host = urls.host(url)
        if kind == "domain":
            host = urls.registrable_domain(host) or host
        start = index_key(f"http://{host}/").partition(")")[0] + ("" if kind == "domain" else ")")
    end = after_prefix(start)
    yield from islice(queries.between(start, end), MAX_CAPTURES)


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


def trace_of(subscription: Subscription) -> tuple[Trace, str]:
    """The changes seen of a subscription's pages as a history to simulate on, and the date it begins. Pages of another
    archive that nobody here has visited yet have a number for a name."""
    rows = Observation.objects.filter(subscription=subscription).order_by("seen_ms")
    mine = WatchedPage.objects.filter(subscription=subscription)
    listings = set(mine.exclude(listing="").values_list("key", flat=True))
    seen = [row for row in rows.values_list("key", "seen_ms", "important", "bytes") if row[0] not in listings]
    pages = {key: f"{subscription.url}#{key}" for key, *_ in seen} | dict(mine.values_list("key", "url"))
    if not seen:
        raise Invalid(
            f"no page of subscription {subscription.pk} has been visited yet; there is no history to simulate"
        )
    start_ms = seen[0][1] // DAY_MS * DAY_MS
    hits: dict[int, list[tuple[float, int]]] = {key: [] for key, *_ in seen}
    for key, at_ms, important, size in seen:
        if important:
            hits[key].append(((at_ms - start_ms) / HOUR_MS, size))
    trace = Trace(
        tuple(urls.host(pages[key]) for key in hits),
        tuple(pages[key] for key in hits),
        tuple(np.array([hour for hour, _ in times], np.float64) for times in hits.values()),
        math.ceil((seen[-1][1] + 1 - start_ms) / DAY_MS) * 24.0,
        tuple(np.array([size for _, size in times], np.float64) for times in hits.values())
        if any(size for times in hits.values() for _, size in times)
        else (),
    )
    return trace, datetime.fromtimestamp(start_ms / 1000, UTC).date().isoformat()


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


def recent(clock: Callable[[], float]) -> History:
    """The last observations of pages, for a policy that begins again; none from days a wrong clock was ahead by."""

    def history(keys: Sequence[int], most: int) -> list[tuple[int, float, float, bool]]:
        rows: list[tuple[int, int, int, bool]] = []
        now_ms = int(clock() * 1000)
        for key in keys:
            newest = Observation.objects.filter(key=key, interval_ms__gt=0, seen_ms__lte=now_ms).order_by("-seen_ms")
            rows += newest.values_list("key", "seen_ms", "interval_ms", "important")[:most]
        ordered = sorted(rows, key=lambda row: row[1])
        return [(key, planner_hour(at_ms), gap_ms / HOUR_MS, hit) for key, at_ms, gap_ms, hit in ordered]

    return history


# pages


def describe(keys: Iterable[int], now_ms: int) -> None:
    """Say of pages how often they change (P and group) and how (steady, periodic, bursty, silent), then of their
    subscriptions."""
    described: set[int] = set()
    for key in keys:
        page = WatchedPage.objects.filter(key=key).first()
        if page is None:
            continue
        newest = Observation.objects.filter(key=key).order_by("-seen_ms")
        seen = list(newest.values_list("seen_ms", "interval_ms", "important")[:MAX_DESCRIBED])
        chance = _chance(seen)
        times = sorted(planner_hour(at) for at, _, hit in seen if hit)[-MAX_CHANGES:]
        found = behaviour(times, planner_hour(page.first_ms), planner_hour(now_ms)) if page.visits >= 3 else None
        values = {"daily_chance": chance, "group": _group(chance), "behaviour": str(found or page.behaviour)}
        WatchedPage.objects.filter(key=key).update(**values)
        described.add(page.subscription_id)
    for number in described:
        _describe_subscription(number, now_ms)


def _describe_subscription(number: int, now_ms: int) -> None:
    """By the last days that were seen; pages of another archive count, though nobody here has visited them yet."""
    own = Observation.objects.filter(subscription=number, interval_ms__gt=0, seen_ms__lte=now_ms)
    end_ms = own.aggregate(last=Max("seen_ms"))["last"] or now_ms
    since_ms = end_ms - DESCRIBED_DAYS * DAY_MS
    mine = WatchedPage.objects.filter(subscription=number, listing="", daily_chance__isnull=False)
    chances = dict(mine.values_list("key", "daily_chance"))
    rows = own.filter(seen_ms__gte=since_ms).order_by("-pk")
    seen = list(rows.values_list("key", "seen_ms", "interval_ms", "important")[:MAX_OBSERVATIONS])
    listings = set(WatchedPage.objects.filter(subscription=number).exclude(listing="").values_list("key", flat=True))
    seen = sorted((row for row in seen if row[0] not in listings), key=lambda row: row[1])
    unmet: dict[int, list[tuple[int, int, bool]]] = {}
    for key, at, gap, hit in seen:
        if key not in chances:
            unmet.setdefault(key, []).append((at, gap, hit))
    chances |= {key: daily_chance(rate_of(visits)) for key, visits in unmet.items()}
    spans = (((at - gap) // DAY_MS, at // DAY_MS, hit, chances[key]) for key, at, gap, hit in seen)
    chance = site_chance(spans) if seen else None
    hits = [(at - gap, at) for _, at, gap, hit in seen if hit]
    start = planner_hour(seen[0][1] - seen[0][2]) if seen else planner_hour(end_ms)
    found = behaviour(_spread(hits)[-MAX_CHANGES:], start, planner_hour(end_ms)) if seen else None
    Subscription.objects.filter(pk=number).update(daily_chance=chance, group=_group(chance), behaviour=str(found or ""))
    _note_bursts(number, hits, now_ms)


def _chance(seen: Sequence[tuple[int, int, bool]]) -> float | None:
    """P of a page; None before its second visit."""
    return daily_chance(rate_of(seen)) if any(gap for _, gap, _ in seen) else None


def _group(chance: float | None) -> str:
    """Empty while nothing was seen twice: nobody can say."""
    return "" if chance is None else group(chance).value


def _spread(hits: Sequence[tuple[int, int]]) -> list[float]:
    """Hours of changes, in order, each seen between two visits (ms)."""
    return [hour for hour, _, _ in _placed(hits)]


def _placed(hits: Sequence[tuple[int, int]]) -> list[tuple[float, int, int]]:
    """Changes in order, each seen between two visits (ms): an hour, and the first and last day it may have been. Those
    between the same days lie evenly over them.

    When exactly a page changed, nobody saw. All at the visit that found them, the changes of weeks would look like one
    exceptional day wherever many pages are visited together.
    """
    spans: Counter[tuple[int, int]] = Counter()
    for before, at in hits:
        last = at // DAY_MS
        spans[min(before // DAY_MS + 1, last), last] += 1
    found: list[tuple[float, int, int]] = []
    for number, ((first, last), count) in enumerate(sorted(spans.items())):
        # the middle of one day; of longer spans, which overlap, each another place, or all middles would meet
        place = 0.5 if first == last else (0.5 + number * GOLDEN) % 1
        step = (last + 1 - first) / count
        found += [(planner_hour((first + (turn + place) * step) * DAY_MS), first, last) for turn in range(count)]
    return sorted(found)


def exceptional_days(hits: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """First and last day (since 1970) of each time in which changes, each seen between two visits (ms), came far
    faster than usual.

    It is dated by when pages changed, not by when that was found: a day at its ends counts only when changes, a share
    of what its days have, must have happened by the first, or not before the last.
    """
    placed = _placed(hits)
    times = [hour for hour, _, _ in placed]
    usual = len(times) / max(times[-1] - times[0], 24.0) if times else 0.0
    found = []
    for one in bursts(times) if len(times) >= MIN_BURST else ():
        start, end = (int(planner_ms(hour)) // DAY_MS for hour in (one.start, one.end))
        if one.changes < max(MIN_BURST, 2 * usual * (end + 1 - start) * 24):
            continue
        inside = [span for hour, *span in placed if one.start <= hour <= one.end]
        needed = END_SHARE * len(inside) / (end + 1 - start)
        while start < end and sum(last <= start for _, last in inside) < needed:
            start += 1
        while start < end and sum(first >= end for first, _ in inside) < needed:
            end -= 1
        found.append((start, end))
    return found


def _note_bursts(number: int, hits: Sequence[tuple[int, int]], now_ms: int) -> None:
    """Keep the exceptional days of a subscription; the engine hears when one begins and when it is over."""
    times = _spread(hits)
    usual = len(times) / max(times[-1] - times[0], 24.0) if times else 0.0
    last_ms = 0
    for start, end in exceptional_days(hits):
        start_ms, end_ms = start * DAY_MS, (end + 1) * DAY_MS
        last_ms = max(last_ms, end_ms)
        _keep_burst(number, start_ms, end_ms, times, usual)
    in_burst = last_ms > now_ms - DAY_MS
    if Subscription.objects.filter(pk=number).exclude(in_burst=in_burst).update(in_burst=in_burst):
        services.changed()


def _keep_burst(number: int, start_ms: int, end_ms: int, times: Sequence[float], usual: float) -> None:
    """A burst that goes on, or closes the gap between two, is one, of which people were told once."""
    near = Burst.objects.filter(subscription=number, start_ms__lte=end_ms, end_ms__gte=start_ms)
    known = list(near.order_by("start_ms"))
    start_ms = min([start_ms, *(row.start_ms for row in known)])
    end_ms = max([end_ms, *(row.end_ms for row in known)])
    changes = sum(start_ms <= planner_ms(hour) < end_ms for hour in times)
    expected = round(usual * (end_ms - start_ms) / HOUR_MS, 2)
    row = known[0] if known else Burst(subscription_id=number)
    row.start_ms, row.end_ms, row.changes, row.usual = start_ms, end_ms, changes, expected
    row.told = any(other.told for other in known)
    with transaction.atomic():
        Burst.objects.filter(pk__in=[other.pk for other in known[1:]]).delete()
        row.save()


# sources


def listing_source(subscription: int, site: str, url: str, listing: FeedListing, at_ms: int) -> int:
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
