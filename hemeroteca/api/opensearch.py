"""Search as browsers and feed readers speak it: OpenSearch 1.1, suggestions while typing, a query as RSS."""

import json
from datetime import UTC, datetime
from email.utils import format_datetime
from hashlib import blake2b
from urllib.parse import quote
from xml.etree.ElementTree import Element, SubElement, tostring

from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import conditional_page, require_safe

from hemeroteca.accounts import SYSTEM, Actor, require
from hemeroteca.api import access
from hemeroteca.search import portal
from hemeroteca.search.index import SearchError
from hemeroteca.search.results import Hit
from hemeroteca.watch.change_feeds import ATOM, add, opens
from hemeroteca.watch.saved_searches import feed_path, feed_scope

_OPENSEARCH = "http://a9.com/-/spec/opensearch/1.1/"
_NEWEST = 30  # entries of a feed
_HEADER = b'<?xml version="1.0" encoding="utf-8"?>\n'


@require_safe
def description(request: HttpRequest) -> HttpResponse:
    """What a browser needs to add this archive to its search engines."""
    base = access.base_of(request)
    root = Element("OpenSearchDescription", xmlns=_OPENSEARCH)
    for name, text in (
        ("ShortName", "Hemeroteca"),
        ("Description", "Hemeroteca: what was said on the web, and when"),
        ("InputEncoding", "UTF-8"),
    ):
        SubElement(root, name).text = text
    # Firefox takes no image without a size
    image = SubElement(root, "Image", type="image/svg+xml", width="16", height="16")
    image.text = f"{base}/static/console/logo.svg"
    for kind, template in (
        ("text/html", "/?q={searchTerms}"),
        ("application/rss+xml", "/search.rss?q={searchTerms}"),
        ("application/x-suggestions+json", "/suggest?q={searchTerms}"),
    ):
        SubElement(root, "Url", type=kind, method="get", template=base + template)
    return HttpResponse(
        _HEADER + tostring(root, encoding="utf-8"), content_type="application/opensearchdescription+xml"
    )


@require_safe
@never_cache
def suggest(request: HttpRequest) -> HttpResponse:
    """`["typed", ["completion", …]]`, as browsers ask for it at every letter."""
    typed = request.GET.get("q", "")[:200]
    answer = json.dumps([typed, portal.completions(Actor.of(request.user), typed)], ensure_ascii=False)
    return HttpResponse(answer, content_type="application/x-suggestions+json; charset=utf-8")


@require_safe
@conditional_page
def feed(request: HttpRequest) -> HttpResponse:
    """The pages captured last that match every word of a query, as RSS. A page that changed comes again."""
    query = request.GET.get("q", "").strip()[:2000]
    # a key was made for somebody who may search, and opens what this query finds
    actor = SYSTEM if opens(feed_scope(query), request.GET.get("key", "")) else access.actor_of(request)
    require(actor, "search.read")
    try:
        hits = _newest(actor, query)
    except SearchError as error:
        return HttpResponse(f"{error}\n", status=503, content_type="text/plain; charset=utf-8")
    root = Element("rss", {"version": "2.0", "xmlns:atom": ATOM})
    channel = SubElement(root, "channel")
    base = access.base_of(request)
    add(channel, "title", f"{query} – Hemeroteca" if query else "Hemeroteca")
    add(channel, "link", f"{base}/?q={quote(query, safe='')}")
    add(channel, "description", query)
    SubElement(channel, "atom:link", rel="self", type="application/rss+xml", href=base + feed_path(query))
    for hit in sorted(hits, key=lambda hit: -hit.captured_ms):
        _entry(channel, hit)
    return HttpResponse(_HEADER + tostring(root, encoding="utf-8"), content_type="application/rss+xml; charset=utf-8")


def _entry(channel: Element, hit: Hit) -> None:
    item = SubElement(channel, "item")
    add(item, "title", hit.title or hit.url)
    add(item, "link", hit.url)
    version = blake2b(f"{hit.url}\n{hit.digest}".encode("utf-8", "replace"), digest_size=12).hexdigest()
    add(item, "guid", version).set("isPermaLink", "false")
    if hit.captured_ms:
        add(item, "pubDate", format_datetime(datetime.fromtimestamp(hit.captured_ms / 1000, UTC)))
    # feed readers take it for HTML, so it stays escaped: what a page says must not become markup
    add(item, "description", hit.snippet.replace("<b>", "").replace("</b>", ""))


def _newest(actor: Actor, query: str) -> list[Hit]:
    options = portal.reader_options(actor, sort="captured", every=True)
    return portal.searcher().search(query, limit=_NEWEST, options=options).hits if query else []
