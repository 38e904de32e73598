"""Important changes as a feed: Atom or RSS of a page, a site, a subscription, a collection or everything."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from email.utils import format_datetime
from html import escape
from urllib.parse import quote, urlencode
from xml.etree.ElementTree import Element, SubElement, tostring

from django.utils.crypto import constant_time_compare, salted_hmac

from hemeroteca.instance.public_url import own_address
from hemeroteca.watch.models import Change

ATOM = "http://www.w3.org/2005/Atom"
_SALT = "hemeroteca.watch.change_feeds"
_KEY = re.compile(r"(?<=[?&])key=[^&]*&?")


def address(subscription: int | None = None, collection: int | None = None) -> str:
    """Of the Atom feed, with the key that opens it to readers that cannot sign in."""
    return own_address(path(subscription, collection))


def path(subscription: int | None = None, collection: int | None = None) -> str:
    """The same for a page of the console, which is where the feed is."""
    about = {"subscription": subscription} if subscription is not None else {"collection": collection}
    key = feed_key(scope_of("", "", subscription, collection))
    return "/api/v1/watch/feed?" + urlencode({**about, "key": key})


def scope_of(url: str, site: str, subscription: int | None, collection: int | None) -> str:
    """What a feed is about, as its key knows it."""
    return f"{url}|{site.lower()}|{subscription or ''}|{collection or ''}"


def atom(title: str, self_url: str, changes: Iterable[Change], base: str) -> bytes:
    rows = list(changes)
    feed = Element("feed", xmlns=ATOM)
    add(feed, "id", _KEY.sub("", self_url).rstrip("?&"))  # the same for everybody who may read it
    add(feed, "title", title)
    add(feed, "updated", _iso(rows[0].seen_ms if rows else 0))
    SubElement(feed, "link", rel="self", href=self_url)
    author = SubElement(feed, "author")
    add(author, "name", "Hemeroteca")
    for change in rows:
        entry = SubElement(feed, "entry")
        add(entry, "id", f"urn:uuid:{change.record_id}" if change.record_id else f"{base}/changes/{change.pk}")
        add(entry, "title", clean(change.title or change.url))
        add(entry, "updated", _iso(change.seen_ms))
        SubElement(entry, "link", rel="alternate", href=clean(change.url))
        SubElement(entry, "link", rel="related", href=f"{base}/page?url={quote(change.url, safe='')}")
        content = add(entry, "content", clean(summary(change)))
        content.set("type", "text")
    return b'<?xml version="1.0" encoding="utf-8"?>\n' + tostring(feed, encoding="utf-8")


def rss(title: str, self_url: str, changes: Iterable[Change], base: str) -> bytes:
    root = Element("rss", version="2.0")
    channel = SubElement(root, "channel")
    add(channel, "title", title)
    add(channel, "link", base or self_url)
    add(channel, "description", title)
    for change in changes:
        item = SubElement(channel, "item")
        add(item, "title", change.title or change.url)
        add(item, "link", change.url)
        guid = add(item, "guid", str(change.record_id or change.pk))
        guid.set("isPermaLink", "false")
        add(item, "pubDate", format_datetime(_moment(change.seen_ms)))
        add(item, "description", escape(summary(change)))  # feed readers take it for HTML
    return b'<?xml version="1.0" encoding="utf-8"?>\n' + tostring(root, encoding="utf-8")


def summary(change: Change) -> str:
    return f"importance {change.total:.2f}, +{change.words_added} −{change.words_removed}\n{change.diff}"


def clean(text: str) -> str:
    """Without the characters XML cannot hold: a page may bring any."""
    return "".join(
        c for c in text if c in "\t\n\r" or (c >= " " and not "\ud800" <= c <= "\udfff" and c not in "\ufffe\uffff")
    )


def feed_key(scope: str) -> str:
    """A key that opens one feed to readers that cannot sign in."""
    return salted_hmac(_SALT, scope, algorithm="sha256").hexdigest()[:32]


def opens(scope: str, key: str) -> bool:
    return constant_time_compare(feed_key(scope), key)


def add(parent: Element, name: str, text: str) -> Element:
    """An element of text, which may be any."""
    element = SubElement(parent, name)
    element.text = clean(text)
    return element


def _moment(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)


def _iso(ms: int) -> str:
    return _moment(ms).strftime("%Y-%m-%dT%H:%M:%SZ")
