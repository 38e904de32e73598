"""Channels: where people are told about changes. What is told, and when, is the affair of `notices`."""

import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field

from hemeroteca import urls
from hemeroteca.accounts.models import User
from hemeroteca.watch import services
from hemeroteca.watch.models import Channel
from hemeroteca.watch.services import WatchError
from hemeroteca.watch.values import plain


@dataclass
class ChannelOrder:
    """Where to tell about changes: an Apprise URL or an http(s) address that gets JSON."""

    target: str
    name: str = ""
    kind: str = ""  # apprise, webhook; empty: webhook for http(s) addresses
    subscription: int | None = None
    collection: str = ""
    digest_hours: float = 0.0
    changes: bool = True
    errors: bool = True
    language: str = "en"
    check: Callable[[str], str] | None = field(default=None, repr=False)  # why an Apprise URL cannot be used


def add(order: ChannelOrder, owner: User | None = None) -> tuple[Channel, str]:
    """A channel, and the key its webhook messages are signed with (shown once)."""
    target = plain(order.target.strip())
    kind = order.kind or ("webhook" if re.match(r"https?://", target, re.I) else "apprise")
    if kind not in Channel.Kind.values:
        raise WatchError(f"{kind!r} is no kind of channel; these are: {', '.join(Channel.Kind.values)}")
    if not target or len(target) > 4000:
        raise WatchError("the target is empty or too long; give an Apprise URL or an https address")
    if kind == "webhook":
        try:
            urls.canonical(target)
        except urls.UrlError as error:
            raise WatchError(f"{target!r} is not an address a webhook can have ({error})")
    elif order.check is not None and (problem := order.check(target)):
        raise WatchError(problem)
    if order.language not in ("es", "en"):
        raise WatchError(f"{order.language!r} is not a language messages are written in; choose es or en")
    secret = secrets.token_urlsafe(32) if kind == "webhook" else ""
    channel = Channel.objects.create(
        name=services.checked_line(order.name, 100, "a channel's name", empty=True) or f"{kind} of {_place(target)}",
        owner=owner,
        kind=kind,
        target=target,
        secret=secret,
        subscription=services.find(order.subscription) if order.subscription is not None else None,
        collection=services.find_collection(order.collection) if order.collection else None,
        digest_hours=services.checked_number(order.digest_hours, "digest_hours", 0, 24 * 31),
        changes=order.changes,
        errors=order.errors,
        language=order.language,
        created_ms=services.now_ms(),
    )
    return channel, secret


def set_active(number: int, active: bool) -> Channel:
    channel = find(number)
    channel.active = active
    channel.failures = 0
    channel.save(update_fields=["active", "failures"])
    return channel


def remove(number: int) -> None:
    find(number).delete()


def find(number: int) -> Channel:
    found = Channel.objects.select_related("subscription", "collection").filter(pk=number).first()
    if found is None:
        raise WatchError(f"there is no channel {number}; `hemeroteca watch channel list` shows them")
    return found


def _place(target: str) -> str:
    """Where a target leads, without the passwords in it."""
    scheme, _, rest = target.partition("://")
    return rest.partition("/")[0].rpartition("@")[2][:60] if scheme in ("http", "https") else f"{scheme}://…"
