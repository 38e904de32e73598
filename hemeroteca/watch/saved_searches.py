"""Saved searches: tell me when something new matches.

A saved search remembers every page it has found, those it found when it was saved included; a page that matches and is
not among them is new. So nothing is told twice, and nothing is missed, in whatever order pages are captured, imported
or indexed anew. All that is new at one look goes into one notice per channel.
"""

import logging
from pathlib import Path
from typing import Any
from urllib.parse import quote

from django.conf import settings
from django.db import transaction
from django.db.models import F

from hemeroteca.accounts import STRANGER, Actor, can, require
from hemeroteca.accounts.models import User
from hemeroteca.archive import notes
from hemeroteca.errors import Invalid, NotFound
from hemeroteca.instance.public_url import own_address
from hemeroteca.search.index import SearchError, folder_of
from hemeroteca.search.preferences import load_preferences
from hemeroteca.search.query.parser import parse
from hemeroteca.search.results import SearchOptions
from hemeroteca.search.searcher import Searcher, open_searcher
from hemeroteca.watch import change_feeds, notices, services
from hemeroteca.watch.fields import plain
from hemeroteca.watch.models import Channel, SavedMatch, SavedSearch

log = logging.getLogger("hemeroteca.watch")

MAX_QUERY_CHARS = 2000
MAX_SEARCHES = 1000
SHOWN = 20  # results in one notice; the rest is counted


def save(
    actor: Actor, query: str, name: str = "", channel: int | None = None, owner: User | None = None
) -> SavedSearch:
    """Remember a query and what matches it now. Raises SearchError when there is no index to ask."""
    require(actor, "search.save")
    query = " ".join(plain(query).split())
    if not query or len(query) > MAX_QUERY_CHARS:
        raise Invalid(f"a query to save must have 1 to {MAX_QUERY_CHARS} characters, not {len(query)}")
    if not parse(query).root.clauses:
        why = "; ".join(parse(query).notes) or "it has no word"
        raise Invalid(f"nothing of the query {query[:200]!r} can be looked for: {why}")
    name = " ".join(plain(name).split()) or query[:200]
    if len(name) > 200:
        raise Invalid(f"a name must have 1 to 200 characters, not {len(name)}")
    if SavedSearch.objects.count() >= MAX_SEARCHES:
        raise Invalid(f"there are {MAX_SEARCHES} saved searches already; remove one first")
    try:
        told = services.find_channel(channel) if channel is not None else None
    except NotFound as error:
        raise Invalid(str(error), error.code)
    keys = _searcher().matching(query, _options())
    with transaction.atomic():
        search = SavedSearch.objects.create(
            name=name, query=query, owner=owner or actor.user, channel=told, created_ms=services.now_ms()
        )
        _remember(search, keys, 0)
        transaction.on_commit(services.wake)
    return search


def ignored(query: str) -> list[str]:
    """What of a query is not understood, for a person: it is not looked for later either."""
    return parse(query).notes


def remove(actor: Actor, number: int) -> None:
    search = SavedSearch.objects.select_related("owner").filter(pk=number).first()
    require(actor, "search.forget", search)
    if search is None:
        raise NotFound(f"there is no saved search {number}; `hemeroteca search saved` shows them")
    search.delete()


def saved() -> list[SavedSearch]:
    return list(SavedSearch.objects.select_related("owner", "channel").order_by("pk"))


def feed_path(query: str) -> str:
    """Where the same search is a feed; where strangers may not search, with the key that opens it to feed readers."""
    path = f"/search.rss?q={quote(query, safe='')}"
    return path if can(STRANGER, "search.read") else f"{path}&key={change_feeds.feed_key(feed_scope(query))}"


def feed_scope(query: str) -> str:
    return f"search|{query}"


class SavedSearchRun:
    """Runs the saved searches whenever the index has changed."""

    def __init__(self, index_dir: Path) -> None:
        self._file = folder_of(index_dir) / "meta.json"
        self._seen = 0

    def run(self) -> int:
        """How many new pages were found."""
        try:
            stamp = self._file.stat().st_mtime_ns
        except FileNotFoundError:
            return 0
        if stamp == self._seen:
            return 0
        found = 0
        try:
            searches = saved()
            if searches:
                searcher, options = _searcher(), _options()
                found = sum(_run(search, searcher, options) for search in searches)
        except SearchError as error:
            log.warning("saved searches wait: %s", error)
        self._seen = stamp
        return found


def _run(search: SavedSearch, searcher: Searcher, options: SearchOptions) -> int:
    known = set(SavedMatch.objects.filter(search=search).values_list("key", flat=True))
    new = searcher.matching(search.query, options, known)
    if not new:
        return 0
    now = services.now_ms()
    facts = _facts(search, searcher, options, new)
    with transaction.atomic():
        if not SavedSearch.objects.filter(pk=search.pk).update(found=F("found") + len(new), found_ms=now):
            return 0  # it was removed meanwhile
        _remember(search, new, now)
        for channel in _channels(search):
            notices.write(channel, f"match:{search.pk}:{now}", "match", facts, now)
    return len(new)


def _remember(search: SavedSearch, keys: list[int], now: int) -> None:
    rows = [SavedMatch(search=search, key=key, found_ms=now) for key in keys]
    SavedMatch.objects.bulk_create(rows, ignore_conflicts=True, batch_size=500)


def _channels(search: SavedSearch) -> list[Channel]:
    if search.channel is not None:
        return [search.channel] if search.channel.active else []
    return list(Channel.objects.filter(active=True, changes=True, subscription=None, collection=None))


def _facts(search: SavedSearch, searcher: Searcher, options: SearchOptions, keys: list[int]) -> dict[str, Any]:
    shown = searcher.described(search.query, options, keys[:SHOWN])
    return {
        "search": search.pk,
        "name": search.name,
        "query": search.query,
        "count": len(keys),
        "results": [
            {
                "url": plain(hit.url),
                "title": plain(hit.title),
                "text": plain(hit.snippet),
                "captured": notices.moment(hit.captured_ms) if hit.captured_ms else "",
            }
            for hit in shown
        ],
        "link": own_address(f"/?q={quote(search.query, safe='')}"),
    }


def _options() -> SearchOptions:
    return SearchOptions(every=True, tagged=notes.tagged, preferences=load_preferences(settings.INSTANCE.index_dir))


def _searcher() -> Searcher:
    return open_searcher(settings.CONFIG, settings.INSTANCE.index_dir)
