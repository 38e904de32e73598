"""Rows of watching as /watch shows them."""

from django.utils.translation import get_language

from hemeroteca.api.shapes import filled
from hemeroteca.api.watch_fields import ChangeOut, ChannelOut, CollectionOut, SubscriptionOut, WatchedPageOut
from hemeroteca.warc.timestamps import moment
from hemeroteca.watch import feeds, queries, reasons, services
from hemeroteca.watch.models import Change, Channel, Collection, Subscription, WatchedPage


def subscription_out(row: Subscription, figures: dict[str, int] | None = None) -> SubscriptionOut:
    counts = queries.figures([row.pk]).get(row.pk, {}) if figures is None else figures
    order = services.order_of(row)
    values = {name: getattr(order, name) for name in services.EDITABLE}
    lists = {name: list(value) for name, value in values.items() if isinstance(value, tuple | list)}
    return filled(
        SubscriptionOut,
        row,
        **{**values, **lists},
        id=row.pk,
        owner=row.owner.name if row.owner else None,
        crawl=row.crawl_id,
        pages=counts.get("pages") or 0,
        visits=counts.get("visits") or 0,
        changes=counts.get("changes") or 0,
        failing_since=moment(row.failing_since_ms),
        created_at=moment(row.created_ms),
        feed=feeds.address(subscription=row.pk),
    )


def page_out(row: WatchedPage) -> WatchedPageOut:
    language = (get_language() or "en")[:2]
    return filled(
        WatchedPageOut,
        row,
        subscription=row.subscription_id,
        observed_days=round(row.observed_days, 3),
        chance=round(row.chance, 4),
        last_visit=moment(row.last_ms),
        last_change=moment(row.changed_ms),
        next_visit=moment(row.next_ms),
        why=reasons.sentence(row.reason, language),
        then=reasons.sentence(row.next_reason, language),
    )


def change_out(row: Change) -> ChangeOut:
    return filled(
        ChangeOut,
        row,
        id=row.pk,
        subscription=row.subscription_id,
        seen_at=moment(row.seen_ms),
        since=moment(row.since_ms),
        capture=row.record_id,
    )


def channel_out(row: Channel) -> ChannelOut:
    return filled(
        ChannelOut,
        row,
        id=row.pk,
        subscription=row.subscription_id,
        collection=row.collection.name if row.collection else "",
        last_delivery=moment(row.sent_ms),
    )


def collection_out(row: Collection) -> CollectionOut:
    return filled(CollectionOut, row, id=row.pk, feed=feeds.address(collection=row.pk))
