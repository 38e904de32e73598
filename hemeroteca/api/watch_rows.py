"""Rows of watching as /watch shows them."""

from typing import Any

from django.utils.translation import get_language

from hemeroteca.api.moments import moment
from hemeroteca.api.watch_fields import ChangeOut, CollectionOut, SubscriptionOut, WatchedPageOut
from hemeroteca.watch import feeds, queries, reasons, services
from hemeroteca.watch.models import Change, Channel, Subscription, WatchedPage


def subscription_out(row: Subscription, figures: dict[str, int] | None = None) -> SubscriptionOut:
    counts = queries.figures([row.pk]).get(row.pk, {}) if figures is None else figures
    order = services.order_of(row)
    values = {name: getattr(order, name) for name in services.EDITABLE}
    lists = {name: list(value) for name, value in values.items() if isinstance(value, tuple | list)}
    return SubscriptionOut(
        **{**values, **lists},
        id=row.pk,
        owner=row.owner.name if row.owner else None,
        crawl=row.crawl_id,
        pages=counts.get("pages") or 0,
        visits=counts.get("visits") or 0,
        changes=counts.get("changes") or 0,
        failures=row.failures,
        failing_since=moment(row.failing_since_ms),
        last_error=row.last_error,
        fault=row.fault,
        created_at=moment(row.created_ms),
        feed=feeds.address(subscription=row.pk),
    )


def page_out(row: WatchedPage) -> WatchedPageOut:
    return WatchedPageOut(
        url=row.url,
        site=row.site,
        subscription=row.subscription_id,
        listing=row.listing,
        group=row.group,
        behaviour=row.behaviour,
        visits=row.visits,
        changes=row.changes,
        change_days=row.change_days,
        observed_days=round(row.observed_days, 3),
        chance=round(row.chance, 4),
        last_visit=moment(row.last_ms),
        last_change=moment(row.changed_ms),
        next_visit=moment(row.next_ms),
        failures=row.failures,
        why=reasons.sentence(row.reason, (get_language() or "en")[:2]),
        then=reasons.sentence(row.next_reason, (get_language() or "en")[:2]),
        reason=row.reason,
    )


def change_out(row: Change) -> ChangeOut:
    return ChangeOut(
        id=row.pk,
        url=row.url,
        title=row.title,
        subscription=row.subscription_id,
        seen_at=moment(row.seen_ms),
        since=moment(row.since_ms),
        capture=row.record_id,
        view=row.view,
        form=row.form,
        content=row.content,
        total=row.total,
        words_added=row.words_added,
        words_removed=row.words_removed,
        diff=row.diff,
    )


def channel_facts(row: Channel) -> dict[str, Any]:
    return {
        "id": row.pk,
        "name": row.name,
        "kind": row.kind,
        "subscription": row.subscription_id,
        "collection": row.collection.name if row.collection else "",
        "digest_hours": row.digest_hours,
        "changes": row.changes,
        "errors": row.errors,
        "language": row.language,
        "active": row.active,
        "failures": row.failures,
        "last_error": row.last_error,
        "last_delivery": moment(row.sent_ms),
    }


def collection_out(row: Any) -> CollectionOut:
    names = ("name", "category", "description", "visits_per_day", "bytes_per_day", "subscriptions")
    return CollectionOut(
        id=row.pk, feed=feeds.address(collection=row.pk), **{name: getattr(row, name) for name in names}
    )
