"""What wikis announce, and looks at many articles at once: keeping articles fresh with few requests.

`prop=info` tells the last revision of 50 articles in one request. `recentchanges` tells what changed on a whole wiki
since the last look. Wikimedia's EventStreams tell it as it happens; the connection is cut after a while and taken up
again with `Last-Event-ID`, so nothing is missed between two looks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
from django.db.models import QuerySet

from hemeroteca.clock import now_ms
from hemeroteca.errors import Unavailable
from hemeroteca.warc import timestamps
from hemeroteca.wiki import answers, schedule, services
from hemeroteca.wiki.extraction import TITLES_AT_ONCE, Extraction, ExtractionOptions
from hemeroteca.wiki.mediawiki import WikiClient
from hemeroteca.wiki.models import Article, Wiki

FIRST_LOOK_MS = 3_600_000  # of a wiki that was never followed
MAX_GAP_MS = 24 * 3_600_000  # since the last look, after which the articles themselves are looked at
MAX_CHANGES = 100_000
STREAM_SECONDS = 30.0  # of one connection; what it brought is then worked off
MAX_STREAM_BYTES = 32 << 20


class Followed(msgspec.Struct):
    changes: int = 0  # announced by the wiki
    articles: int = 0  # of ours, now due
    dropped: int = 0  # canaries, other wikis, what could not be read
    requests: int = 0
    until: str = ""


def refresh(
    wiki: Wiki, client: WikiClient, articles: Sequence[Article], total: Any, progress: Callable[[int, str], None]
) -> None:
    """Read what is new of articles; those that have nothing new cost a fiftieth of a request."""
    for start in range(0, len(articles), TITLES_AT_ONCE):
        some = articles[start : start + TITLES_AT_ONCE]
        latest = probe(client, wiki, some)
        for article in some:
            progress(total.articles + total.unchanged, article.title)
            page = latest.get(article.pageid)
            if page is not None and article.complete and page.lastrevid == article.last_revision:
                _unchanged(article)
                total.unchanged += 1
                continue
            text = article.text_complete or bool(article.text_position_ms)
            work = Extraction(wiki, client, ExtractionOptions(text=text), lambda done, title: None)
            work.read_page(page) if page else work.read_titles([article.title])
            total.articles += 1
            total.revisions += work.result.revisions
            total.changed += work.result.changed
            total.deleted += work.result.deleted


def due(wiki: Wiki) -> QuerySet[Article]:
    """Articles to look at now: those announced first, then those that wait longest."""
    found = Article.objects.filter(wiki=wiki, deleted=False, due_ms__gt=0, due_ms__lte=now_ms())
    return found.select_related("wiki").order_by("-announced_ms", "due_ms", "pk")


def probe(client: WikiClient, wiki: Wiki, articles: Sequence[Article]) -> dict[int, answers.WikiPage]:
    """What the wiki says of at most 50 articles, by page id; those it has no more are left out."""
    numbers = "|".join(str(article.pageid) for article in articles)
    found: dict[int, answers.WikiPage] = {}
    parameters = {"action": "query", "prop": "info", "pageids": numbers}
    for answer, _ in client.walk(wiki.api_url, parameters):
        for entry in answers.pages(answer.get("query", {})):
            page = answers.page(entry)
            if not page.missing:
                found[page.pageid] = page
    return found


def follow_changes(wiki: Wiki, client: WikiClient, progress: Callable[[int], None]) -> Followed:
    """Read the recent changes since the last look; articles of ours among them are due."""
    now = now_ms()
    since = wiki.changes_until or timestamps.iso(now - FIRST_LOOK_MS)[:19] + "Z"
    kept = Article.objects.filter(wiki=wiki, deleted=False)
    if (timestamps.from_iso(since) or 0) < now - MAX_GAP_MS:  # cheaper to look at our articles, 50 in a request
        kept.filter(due_ms__gt=now).update(due_ms=now)
        since = timestamps.iso(now - FIRST_LOOK_MS)[:19] + "Z"
    spaces = sorted(set(kept.values_list("ns", flat=True)))[:TITLES_AT_ONCE]
    parameters = {
        "action": "query",
        "list": "recentchanges",
        "rcdir": "newer",
        "rcstart": since,
        "rcprop": "title|ids|timestamp",
        "rctype": "edit|new|log",
        "rclimit": "max",
        "rcnamespace": "|".join(map(str, spaces)) or "0",
    }
    result = Followed(until=since)
    titles: set[str] = set()
    numbers: set[int] = set()
    for answer, _ in client.walk(wiki.api_url, parameters):
        for change in answer.get("query", {}).get("recentchanges", ()):
            result.changes += 1
            result.until = max(result.until, str(change.get("timestamp", "")))
            if change.get("pageid"):
                numbers.add(int(change["pageid"]))
            titles.add(str(change.get("title", "")))
        progress(result.changes)
        if result.changes >= MAX_CHANGES:
            break
    result.articles = services.note_signals(wiki, titles, numbers, now)
    # The second at the border is read twice rather than missed.
    Wiki.objects.filter(pk=wiki.pk).update(changes_until=result.until)
    result.requests = client.requests
    return result


def follow_events(
    wikis: Sequence[Wiki], client: WikiClient, url: str, seconds: float, progress: Callable[[int], None]
) -> Followed:
    """Listen to the stream of events (server-sent) of a farm, for so long or for one connection.

    All its wikis hear one connection, which goes on after the last event that they heard.
    """
    result = Followed()
    end = now_ms() + int(seconds * 1000)
    by_host = {wiki.name.partition("/")[0].partition(":")[0]: wiki for wiki in wikis}
    position = next((wiki.event_id for wiki in wikis if wiki.event_id), "")
    while True:
        left = (end - now_ms()) / 1000 if seconds else STREAM_SECONDS
        headers: tuple[tuple[str, str], ...] = (("Accept", "text/event-stream"),)
        if position:
            headers += (("Last-Event-ID", position),)
        reply = client.stream(url, min(max(left, 1.0), STREAM_SECONDS), headers, MAX_STREAM_BYTES)
        if reply.status != 200:
            raise Unavailable(f"the stream {url} answered {reply.failure or f'HTTP {reply.status}'}; try again later")
        heard: dict[str, tuple[set[str], set[int]]] = {host: (set(), set()) for host in by_host}
        for identity, event in events(reply.body):
            position = identity or position
            change = _change(event)
            if change is None or change[0] not in heard:
                result.dropped += 1
                continue
            result.changes += 1
            titles, numbers = heard[change[0]]
            titles.add(change[1])
            if change[2]:
                numbers.add(change[2])
        for host, (titles, numbers) in heard.items():
            result.articles += services.note_signals(by_host[host], titles, numbers, now_ms())
        Wiki.objects.filter(pk__in=[wiki.pk for wiki in wikis]).update(event_id=position)
        progress(result.changes)
        if not seconds or now_ms() >= end:
            result.requests, result.until = client.requests, position
            return result


def events(body: bytes) -> Iterator[tuple[str, str]]:
    """(id, data) of each whole event; the last one, which the cut may have gone through, is left to the next look."""
    whole, _, _ = body.replace(b"\r\n", b"\n").rpartition(b"\n\n")
    for block in whole.decode("utf-8", "replace").split("\n\n"):
        identity, data = "", []
        for line in block.split("\n"):
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if name == "id":
                identity = value
            elif name == "data":
                data.append(value)
        if data:
            yield identity, "\n".join(data)


def _change(data: str) -> tuple[str, str, int] | None:
    """Host, title and page id of an event; None for canaries and what cannot be read."""
    try:
        event = msgspec.json.decode(data)
        meta = event.get("meta", {})
        if meta.get("domain") == "canary":
            return None
        title = str(event.get("title") or event.get("page_title", "").replace("_", " "))
        return str(event.get("server_name") or meta.get("domain") or ""), title, int(event.get("page_id") or 0)
    except (msgspec.DecodeError, AttributeError, ValueError, TypeError):
        return None


def _unchanged(article: Article) -> None:
    now = now_ms()
    fields: dict[str, Any] = {"last_extraction_ms": now, "announced_ms": 0}
    if article.policy == schedule.NEVER:
        fields["due_ms"] = 0
    elif article.policy == "exponential":
        fields["due_ms"] = schedule.next_midnight(now)
    else:
        wait = max(now - article.last_extraction_ms, schedule.MIN_AUTO_MS) * 1.5
        if article.wiki.changes_until or article.wiki.event_id:
            wait = schedule.FOLLOWED_MS
        fields["due_ms"] = int(now + min(wait, schedule.MAX_AUTO_MS))
    Article.objects.filter(pk=article.pk).update(**fields)
