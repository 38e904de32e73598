"""What /watch takes and gives, field by field."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from ninja import Schema
from pydantic import ConfigDict, Field

from hemeroteca.api.shapes import Body

Pattern = Annotated[str, Field(min_length=1, max_length=1000)]
Patterns = Annotated[list[Pattern], Field(max_length=100)]


class CollectionIn(Body):
    category: str | None = Field(None, max_length=100, description="Topic it belongs to.")
    description: str | None = Field(None, max_length=5000, description="What it is for.")
    visits_per_day: int | None = Field(None, ge=0, le=1_000_000_000, description="Most visits a day; 0: no limit.")
    bytes_per_day: int | None = Field(None, ge=0, le=1 << 50, description="Most bytes received a day; 0: no limit.")


class CollectionOut(Schema):
    feed: str = Field(description="Address of the Atom feed of its changes; it needs no sign-in.")
    id: int = Field(description="Number of the collection.")
    name: str = Field(description="Its name.")
    category: str = Field(description="Topic it belongs to.")
    description: str = Field(description="What it is for.")
    visits_per_day: int = Field(description="Most visits a day; 0: no limit.")
    bytes_per_day: int = Field(description="Most bytes received a day; 0: no limit.")
    subscriptions: int = Field(description="How many subscriptions it has.")


class SubscriptionEdit(Body):
    name: str = Field("", max_length=200, description="What to call it; its address when empty.")
    scope: Literal["", "page", "prefix", "host", "domain"] = Field(
        "", description="What belongs to it; empty: the host for a front page, else the page alone."
    )
    include: Patterns = Field([], description="Regular expressions; a URL must match one of them.")
    exclude: Patterns = Field([], description="Regular expressions; a URL may match none of them.")
    depth: int | None = Field(None, ge=0, le=10_000, description="Most links away from the address.")
    collection: str = Field("", max_length=100, description="Name of its collection; made when it is new.")
    purpose: str = Field("", max_length=5000, description="Why it is watched.")
    threshold: float = Field(0.05, gt=0, lt=1, description="F(μ): a change is important above it.")
    ignore: Patterns = Field([], description="CSS selectors or XPath of parts that do not count.")
    keep: Patterns = Field([], description="CSS selectors or XPath; when given, only these parts count.")
    ignore_text: Patterns = Field([], description="Expressions (RE2) for text that does not count.")
    mode: str = Field("auto", max_length=40, description="`auto`, `fixed HOURS`, or the name of another policy.")
    min_hours: float = Field(0, ge=0, le=87_600, description="A page is never visited more often; 0: no own limit.")
    max_hours: float = Field(0, ge=0, le=87_600, description="A page is never left alone longer; 0: 720.")
    weight: float = Field(1, ge=0.001, le=1000, description="What its changes are worth against those of others.")
    visits_per_day: int = Field(0, ge=0, le=1_000_000_000, description="Most visits a day; 0: no limit of its own.")
    bytes_per_day: int = Field(0, ge=0, le=1 << 50, description="Most bytes received a day; 0: no limit of its own.")
    windows: list[str] = Field(
        [],
        max_length=20,
        description="When it may be visited, like `mon-fri 08:00-18:00 Europe/Madrid`; empty: always.",
    )
    country: str = Field("", max_length=10, description="Country whose holidays count, such as ES; or empty.")
    requisites: bool = Field(True, description="Fetch images, styles and scripts of its pages too.")
    active: bool = Field(True, description="False: paused.")


class SubscriptionIn(SubscriptionEdit):
    url: str = Field(min_length=1, max_length=4096, description="Page to watch, or page a site is entered by.")


class SubscriptionOut(SubscriptionIn):
    model_config = ConfigDict(extra="ignore")

    id: int = Field(description="Number of the subscription.")
    owner: str | None = Field(description="Who wants it.")
    crawl: int = Field(description="Number of the standing crawl that visits its pages.")
    pages: int = Field(description="Pages under watch.")
    visits: int = Field(description="Answered visits of them.")
    changes: int = Field(description="Important changes seen.")
    failures: int = Field(description="Visits without a useful answer in a row.")
    failing_since: datetime | None = Field(description="First of those visits; null when the last one was good.")
    last_error: str = Field(description="Why the last of them failed.")
    fault: str = Field(description="Why the engine cannot work with it at all; empty: it can.")
    created_at: datetime | None = Field(description="When it was made.")
    feed: str = Field(description="Address of the Atom feed of its changes; it needs no sign-in.")


class WatchedPageOut(Schema):
    url: str = Field(description="Canonical URL.")
    site: str = Field(description="Its host.")
    subscription: int = Field(description="Subscription that has it visited.")
    listing: str = Field(description="`feed` or `sitemap` when it lists other pages.")
    group: Literal["high", "medium", "low"] = Field(description="By days with change / days observed.")
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


class ChannelIn(Body):
    target: str = Field(
        min_length=1, max_length=4000, description="An https address that gets JSON, or an Apprise URL."
    )
    name: str = Field("", max_length=100, description="What to call it.")
    kind: Literal["", "webhook", "apprise"] = Field("", description="Empty: webhook for http(s), else apprise.")
    subscription: int | None = Field(None, ge=1, description="Tell only of this subscription.")
    collection: str = Field("", max_length=100, description="Tell only of this collection.")
    digest_hours: float = Field(0, ge=0, le=744, description="Gather changes for so many hours; 0: at once.")
    changes: bool = Field(True, description="Tell of important changes.")
    errors: bool = Field(True, description="Tell when a subscription fails repeatedly, and recovers.")
    language: Literal["es", "en"] = Field("en", description="Of the messages.")


class ChannelOut(Schema):
    id: int = Field(description="Number of the channel.")
    name: str = Field(description="What it is called.")
    kind: str = Field(description="webhook or apprise.")
    subscription: int | None = Field(description="Only this subscription is told of.")
    collection: str = Field(description="Only this collection is told of.")
    digest_hours: float = Field(description="Hours changes are gathered for; 0: at once.")
    changes: bool = Field(description="Tells of important changes.")
    errors: bool = Field(description="Tells of failures and recoveries.")
    language: str = Field(description="Of the messages.")
    active: bool = Field(description="False: paused, or given up after many failures.")
    failures: int = Field(description="Deliveries that failed in a row.")
    last_error: str = Field(description="Why the last of them failed.")
    last_delivery: datetime | None = Field(description="When something was delivered last.")


class NewChannelOut(ChannelOut):
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
