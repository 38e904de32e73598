"""Orders of crawls that are kept: given again by hand or by the clock.

The engine of `hemeroteca serve` gives those that are due. A run that is still under way is not begun twice: the clock
goes on, and the order says why. So it does when whoever keeps it may not order it any more.
"""

import math
from collections.abc import Iterable

import msgspec
from django.conf import settings

from hemeroteca.accounts import STRANGER, SYSTEM, Actor, require
from hemeroteca.clock import now_ms
from hemeroteca.errors import Conflict, Denied, Invalid, NotFound, Refused
from hemeroteca.frontier import services
from hemeroteca.frontier.models import Crawl, CrawlOrder
from hemeroteca.ingest.rules import CrawlOptions
from hemeroteca.plain import storable

MIN_HOURS, MAX_HOURS = 1.0, 24.0 * 366
MAX_ORDERS = 500
HOUR_MS = 3_600_000


def save(
    actor: Actor, name: str, seeds: Iterable[str], options: CrawlOptions, every_hours: float = 0.0, first_ms: int = 0
) -> CrawlOrder:
    """Keep an order under a name, or change the one of that name. `every_hours`: 0 is by hand only. `first_ms`: when
    the clock gives it the first time; else now."""
    require(actor, "crawl.submit")
    name = " ".join(storable(name).split())
    if not 1 <= len(name) <= 100:
        raise Invalid("an order needs a name of at most 100 characters")
    if every_hours and not (math.isfinite(every_hours) and MIN_HOURS <= every_hours <= MAX_HOURS):
        raise Invalid(f"hours from one run to the next are {MIN_HOURS:g} to {MAX_HOURS:g}, or 0 for by hand only")
    checked, options = services.checked_order(actor, seeds, options)
    row = CrawlOrder.objects.filter(name=name).first()
    if row is None:
        if CrawlOrder.objects.count() >= MAX_ORDERS:
            raise Conflict(f"{MAX_ORDERS} orders are kept already; remove one first")
        row = CrawlOrder(name=name, created_ms=now_ms())
    row.seeds, row.options = checked, msgspec.to_builtins(options)
    row.actor, row.owner = actor.name, actor.user
    row.every_hours, row.active, row.note = every_hours, True, ""
    row.next_ms = max(first_ms, now_ms()) if every_hours else 0
    row.save()
    settings.INSTANCE.wake("engine")
    return row


def listed() -> list[CrawlOrder]:
    return list(CrawlOrder.objects.select_related("last_crawl").order_by("name"))


def find(name: str) -> CrawlOrder:
    name = storable(name)
    found = CrawlOrder.objects.select_related("last_crawl").filter(name=name).first()
    if found is None and name.isdecimal() and len(name) < 19:
        found = CrawlOrder.objects.select_related("last_crawl").filter(pk=int(name)).first()
    if found is None:
        raise NotFound(f"there is no order {name[:100]!r}; `hemeroteca order list` shows those that are kept")
    return found


def run(actor: Actor, name: str) -> Crawl:
    """Give an order now, whatever the clock says."""
    row = find(name)
    options = msgspec.convert(row.options, CrawlOptions)
    crawl, _ = services.submit_crawl(actor, row.seeds, options)
    CrawlOrder.objects.filter(pk=row.pk).update(last_crawl=crawl, note="")
    settings.INSTANCE.wake("engine")
    return crawl


def pause(actor: Actor, name: str, active: bool) -> CrawlOrder:
    """Let the clock not count for an order, or count again from now."""
    require(actor, "crawl.submit")
    row = find(name)
    row.active = active
    if active and row.every_hours:
        row.next_ms = max(row.next_ms, now_ms())
    row.save(update_fields=["active", "next_ms"])
    return row


def remove(actor: Actor, name: str) -> None:
    """What it captured stays, and so do its crawls."""
    require(actor, "crawl.submit")
    find(name).delete()


def give_due(now_ms: int) -> list[Crawl]:
    """Give what is due, once, however many engines ask; the crawls."""
    given = []
    due = CrawlOrder.objects.filter(active=True, next_ms__gt=0, next_ms__lte=now_ms)
    for row in due.select_related("owner", "last_crawl").order_by("next_ms")[:20]:
        step = int(min(max(row.every_hours, MIN_HOURS), MAX_HOURS) * HOUR_MS)
        later = row.next_ms + step * ((now_ms - row.next_ms) // step + 1)  # what was missed is not made up for
        if not CrawlOrder.objects.filter(pk=row.pk, next_ms=row.next_ms).update(next_ms=later):
            continue  # another engine was quicker
        try:
            given.append(_give(row))
        except (Refused, ValueError, TypeError, AttributeError, msgspec.MsgspecError) as error:
            CrawlOrder.objects.filter(pk=row.pk).update(note=str(error)[:2000])
    return given


def _give(row: CrawlOrder) -> Crawl:
    last = row.last_crawl
    if last is not None and last.state == Crawl.State.RUNNING:
        raise Conflict(f"crawl {last.pk}, its last run, is still under way")
    try:
        crawl, _ = services.submit_crawl(_keeper(row), row.seeds, msgspec.convert(row.options, CrawlOptions))
    except Denied:
        why = f"{row.actor}, who keeps it, may not order it any more"
        raise Conflict(f"{why}; somebody who may can save it again under its name, or run it by hand")
    CrawlOrder.objects.filter(pk=row.pk).update(last_crawl=crawl, note="")
    return crawl


def _keeper(row: CrawlOrder) -> Actor:
    """Whoever keeps an order, with the role they have now; a stranger for somebody who was removed."""
    if row.owner is not None:
        return Actor.of(row.owner)
    return SYSTEM if row.actor == SYSTEM.name else STRANGER
