"""What /watch takes and gives, field by field, and rows as it shows them.

What people order (`watch.fields`) is not repeated here: its models are made of the declarations.
"""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal
from uuid import UUID

from django.utils.translation import get_language
from ninja import Schema
from pydantic import Field, create_model

from hemeroteca.api.shapes import RequestBody, filled
from hemeroteca.warc.timestamps import moment
from hemeroteca.watch import change_feeds, next_visit, queries, services
from hemeroteca.watch import fields as declared
from hemeroteca.watch.models import Change, Channel, Collection, Subscription, WatchedPage


def model_of(name: str, fields: dict[str, declared.Field], base: type[Schema] = RequestBody, edit: bool = False) -> Any:
    """A model with every declared field; `edit`: without those that cannot be changed later."""
    made = {entry.name: _typed(entry) for entry in fields.values() if not (edit and entry.fixed)}
    return create_model(name, __base__=base, **made)  # type: ignore[call-overload]


def _typed(field: declared.Field) -> tuple[Any, Any]:
    default = ... if field.fixed else list(field.default) if field.kind is tuple else field.default
    if field.kind is tuple:
        entry = Annotated[str, Field(min_length=1, max_length=field.max_length)]
        return list[entry], Field(default, max_length=field.max_entries, description=field.help)
    if field.kind is str:
        kind: Any = Literal[field.choices] if field.choices else str
        length: dict[str, Any] = (
            {} if field.choices else {"max_length": field.max_length, "min_length": 1 if field.fixed else 0}
        )
        return kind, Field(default, description=field.help, **length)
    if field.kind is bool:
        return bool, Field(default, description=field.help)
    kind = field.kind | None if field.optional else field.kind
    return kind, Field(default, ge=field.minimum or 0, le=field.maximum, description=field.help)


class CategoryIn(RequestBody):
    name: str = Field(description="Its name.", min_length=1, max_length=100)
    description: str = Field("", description="What belongs to it.", max_length=5000)


class CategoryOut(Schema):
    code: int = Field(description="Its code.")
    name: str = Field(description="Its name.")
    description: str = Field(description="What belongs to it.")
    subscriptions: int = Field(description="How many subscriptions are of it.")


class CollectionFacts(Schema):
    feed: str = Field(description="Address of the Atom feed of its changes; it needs no sign-in.")
    id: int = Field(description="Number of the collection.")
    name: str = Field(description="Its name.")
    subscriptions: int = Field(description="How many subscriptions it has.")


class SubscriptionFacts(Schema):
    id: int = Field(description="Number of the subscription.")
    owner: str | None = Field(description="Who wants it.")
    proposed_at: datetime | None = Field(description="When it was proposed; null once a director decided.")
    refusal: str = Field(description="Why a director refused it; empty: approved or not decided.")
    crawl: int = Field(description="Number of the standing crawl that visits its pages.")
    pages: int = Field(description="Pages under watch.")
    visits: int = Field(description="Answered visits of them.")
    changes: int = Field(description="Important changes seen.")
    group: Literal["", "high", "medium", "low"] = Field(description="Of the site, by its daily_chance; empty: unknown.")
    daily_chance: float | None = Field(
        description="P: share of days on which one of its pages changes; null before a second visit."
    )
    behaviour: str = Field(description="steady, periodic, bursty or silent; empty while unknown.")
    in_burst: bool = Field(description="Its pages change far more than usual these days.")
    failures: int = Field(description="Visits without a useful answer in a row.")
    failing_since: datetime | None = Field(description="First of those visits; null when the last one was good.")
    last_error: str = Field(description="Why the last of them failed.")
    fault: str = Field(description="Why the engine cannot work with it at all; empty: it can.")
    created_at: datetime | None = Field(description="When it was made.")
    feed: str = Field(description="Address of the Atom feed of its changes; it needs no sign-in.")
    version: str = Field(description="Names all that is ordered; another as soon as anything of it changes.")


class ApprovalIn(RequestBody):
    version: str = Field(max_length=64, description="`version` of the proposal you looked at.")


class RefusalIn(RequestBody):
    reason: str = Field(min_length=1, max_length=1000, description="Why; whoever proposed it reads it.")


class WatchedPageOut(Schema):
    url: str = Field(description="Canonical URL.")
    site: str = Field(description="Its host.")
    subscription: int = Field(description="Subscription that has it visited.")
    listing: str = Field(description="`feed` or `sitemap` when it lists other pages.")
    group: Literal["", "high", "medium", "low"] = Field(
        description="By daily_chance: above .7, .4 to .7, below; empty: unknown."
    )
    daily_chance: float | None = Field(
        description="P: chance of an important change on a day; null before a second visit."
    )
    behaviour: str = Field(description="steady, periodic, bursty or silent; empty while unknown.")
    visits: int = Field(description="Answered visits.")
    changes: int = Field(description="Important changes seen.")
    change_days: int = Field(description="Days on which one was seen.")
    observed_days: float = Field(description="Days that the visits cover.")
    chance: float = Field(description="Chance of a change at the last visit, as predicted before it.")
    last_visit: datetime | None = Field(description="Last answered visit.")
    last_change: datetime | None = Field(description="Last important change seen.")
    next_visit: datetime | None = Field(description="About when the next visit is expected.")
    failures: int = Field(description="Visits without a useful answer in a row.")
    why: str = Field(description="Why it was or is being visited, in the language asked for (Accept-Language es, en).")
    then: str = Field(description="Why the next visit is expected then, in the same language; empty: it is due now.")
    reason: dict[str, Any] = Field(description="The same as a code and values.")


class GroupsOut(Schema):
    group: dict[str, int] = Field(description="Pages that are high, medium, low.")
    behaviour: dict[str, int] = Field(description="Pages that are steady, periodic, bursty, silent, unknown.")


class ChangeOut(Schema):
    id: int = Field(description="Number of the change.")
    url: str = Field(description="Page that changed.")
    title: str = Field(description="Title of the new version.")
    subscription: int | None = Field(description="Subscription that had it visited.")
    seen_at: datetime | None = Field(description="When the new version was captured.")
    since: datetime | None = Field(description="The visit before; it changed after it.")
    capture: UUID | None = Field(description="The new version, as in /captures.")
    view: float = Field(description="How much it looks different, 0 to 1.")
    form: float = Field(description="How much it is built differently, 0 to 1.")
    content: float = Field(description="How much other text and resources it has, 0 to 1.")
    total: float = Field(description="Sum of the three.")
    words_added: int = Field(description="Words only the new version has.")
    words_removed: int = Field(description="Words only the old version has.")
    diff: str = Field(description="Beginning of a unified diff of the text.")


class ChannelFacts(Schema):
    id: int = Field(description="Number of the channel.")
    active: bool = Field(description="False: paused, or given up after many failures.")
    failures: int = Field(description="Deliveries that failed in a row.")
    last_error: str = Field(description="Why the last of them failed.")
    last_delivery: datetime | None = Field(description="When something was delivered last.")


class NewChannelFacts(ChannelFacts):
    secret: str = Field(description="Key the webhook's messages are signed with; shown only now.")


class MetricsOut(Schema):
    name: str = Field(description="Site, group, behaviour, collection or subscription.")
    pages: int = Field(description="Pages with visits in the period.")
    days: float = Field(description="Days the visits cover, over all pages.")
    visits: int = Field(description="Answered visits.")
    changes: int = Field(description="Important changes seen.")
    versions: int = Field(description="Visits that brought other bytes.")
    lost: float = Field(description="Estimate of the changes that came and went between two visits.")
    unnecessary: int = Field(description="Visits that found no important change.")
    conditional: int = Field(description="Visits answered by `not modified`.")
    generated: int = Field(description="Bytes received.")
    stored: int = Field(description="Bytes written to the archive.")
    cost_seconds: float = Field(description="Time the answers took.")
    fixed_visits: float = Field(description="Visits a fixed frequency would have made.")
    fixed_changes: float = Field(description="Changes it would have seen, estimated.")
    fixed_bytes: float = Field(description="Bytes it would have stored, a whole copy at each visit.")
    freshness: float | None = Field(description="Share of the time in which the last copy was up to date, estimated.")
    delay_hours: float | None = Field(description="Mean hours from a change to its detection, estimated.")


class ReportOut(Schema):
    name: str = Field(description="Which report.")
    columns: list[str] = Field(description="Names of what stands in a row.")
    rows: list[list[Any]] = Field(description="One list per row, in the order of the columns.")
    summary: dict[str, Any] = Field(description="Figures over all rows.")
    definitions: dict[str, str] = Field(description="What columns mean.")


class WatchedDayOut(Schema):
    day: datetime | None = Field(description="Beginning of the day, UTC.")
    visits: int = Field(description="Answered visits.")
    changes: int = Field(description="Important changes seen.")
    generated: int = Field(description="Bytes received.")
    stored: int = Field(description="Bytes written to the archive.")


class ImportLine(Schema):
    number: int = Field(description="Line of the file, or entry of the OPML.")
    url: str = Field(description="Address it names.")
    outcome: Literal["new", "known", "refused"] = Field(description="What became of it.")
    detail: str = Field(description="Number of the new subscription, or why it was refused.")


class ImportOut(Schema):
    new: int = Field(description="Subscriptions made.")
    known: int = Field(description="Lines whose address was watched already.")
    refused: int = Field(description="Lines that could not be used.")
    lines: list[ImportLine] = Field(description="New and refused lines.")


if TYPE_CHECKING:
    CollectionIn = Schema
    SubscriptionIn = Schema
    SubscriptionEdit = Schema
    ChannelIn = Schema
    CollectionOut = CollectionFacts
    SubscriptionOut = SubscriptionFacts
    ChannelOut = ChannelFacts
    NewChannelOut = NewChannelFacts
else:
    SHOWN = {name: field for name, field in declared.CHANNEL.items() if name != "target"}  # it holds passwords
    CollectionIn = model_of("CollectionIn", declared.COLLECTION)
    CollectionOut = model_of("CollectionOut", declared.COLLECTION, CollectionFacts)
    SubscriptionEdit = model_of("SubscriptionEdit", declared.SUBSCRIPTION, edit=True)
    SubscriptionIn = model_of("SubscriptionIn", declared.SUBSCRIPTION)
    SubscriptionOut = model_of("SubscriptionOut", declared.SUBSCRIPTION, SubscriptionFacts)
    ChannelIn = model_of("ChannelIn", declared.CHANNEL)
    ChannelOut = model_of("ChannelOut", SHOWN, ChannelFacts)
    NewChannelOut = model_of("NewChannelOut", SHOWN, NewChannelFacts)


def subscription_out(row: Subscription, figures: dict[str, int] | None = None) -> SubscriptionOut:
    counts = queries.figures([row.pk]).get(row.pk, {}) if figures is None else figures
    order = services.order_of(row)
    values = {name: getattr(order, name) for name in declared.SUBSCRIPTION}
    lists = {name: list(value) for name, value in values.items() if isinstance(value, tuple | list)}
    return filled(
        SubscriptionOut,
        row,
        **{**values, **lists},
        owner=row.owner.name if row.owner else None,
        crawl=row.crawl_id,
        pages=counts.get("pages") or 0,
        visits=counts.get("visits") or 0,
        changes=counts.get("changes") or 0,
        proposed_at=moment(row.proposed_ms),
        failing_since=moment(row.failing_since_ms),
        feed=change_feeds.address(subscription=row.pk),
        version=services.version_of(row),
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
        why=next_visit.sentence(row.reason, language),
        then=next_visit.sentence(row.next_reason, language),
    )


def change_out(row: Change) -> ChangeOut:
    since = moment(row.since_ms)
    return filled(ChangeOut, row, subscription=row.subscription_id, since=since, capture=row.record_id)


def channel_out(row: Channel) -> ChannelOut:
    return filled(
        ChannelOut,
        row,
        subscription=row.subscription_id,
        collection=row.collection.name if row.collection else "",
        last_delivery=moment(row.sent_ms),
    )


def collection_out(row: Collection) -> CollectionOut:
    category = row.category.name if row.category else ""
    return filled(CollectionOut, row, category=category, feed=change_feeds.address(collection=row.pk))
