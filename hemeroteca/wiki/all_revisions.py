"""A whole wiki at once: `allrevisions` tells 500 revisions of any articles in one request, oldest first.

Reading article by article costs at least one request for each; most articles have few revisions. An article that is
read this way is not complete until the walk has ended. The walk goes on after a kill from the last answer that was
kept; what is read twice is known by its time (`Article.position_ms`), or else by its number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from hemeroteca.clock import now_ms
from hemeroteca.lake.revisions import Revision, Text
from hemeroteca.warc import timestamps
from hemeroteca.wiki import answers, schedule
from hemeroteca.wiki.answers import WikiPage
from hemeroteca.wiki.commits import ArticleChange, Overtaken
from hemeroteca.wiki.extraction import (
    AT_ONCE,
    LOG_PROPERTIES,
    LOG_TYPES,
    PROPERTIES,
    TITLES_AT_ONCE,
    WITH_TEXT,
    ArticleWork,
    Extraction,
)
from hemeroteca.wiki.kept_history import Known, stored_texts
from hemeroteca.wiki.mediawiki import ApiError
from hemeroteca.wiki.models import Article

MAX_SEEN = 200_000  # texts; more are forgotten, and compaction keeps each once


class Position(msgspec.Struct):
    """How far a walk is: what continues it, and when it began."""

    further: dict[str, Any] = {}
    began_ms: int = 0


class Seen:
    """sha1s of texts that are kept, by page; a text that comes back is not kept again."""

    def __init__(self) -> None:
        self._began_ms = now_ms()
        self._texts: dict[int, set[str]] = {}
        self._loaded: set[int] = set()  # pages that were kept before this walk, or before the kill it goes on after

    def of(self, work: Extraction, article: Article) -> set[str]:
        texts = self._texts.setdefault(article.pageid, set())
        earlier = work.options.text and 0 < article.first_extraction_ms < self._began_ms
        if earlier and article.pageid not in self._loaded:
            self._loaded.add(article.pageid)
            texts |= stored_texts(work.wiki, article, work.files)
        return texts

    def forget(self) -> None:
        if sum(map(len, self._texts.values())) > MAX_SEEN:
            self._texts.clear()


class NotOffered(Exception):  # noqa: N818 - a state, not an error
    """The wiki is too old for `allrevisions` (before 1.27)."""


def read(work: Extraction, position: Position, keep: Callable[[Position], None]) -> None:
    """Every revision of every article (namespace 0), then the log. `keep` is told the position after each commit."""
    position.began_ms = position.began_ms or now_ms()
    seen = Seen()
    try:
        _walk(work, position, seen, keep)
    except ApiError as error:
        if error.error != "badcontinue" or not position.further:
            raise
        position.further = {}  # another version of MediaWiki by now: from the beginning, what is kept is known
        _walk(work, position, seen, keep)
    _read_log(work)
    _write(work)
    _finish(work, position.began_ms)


def _walk(work: Extraction, position: Position, seen: Seen, keep: Callable[[Position], None]) -> None:
    for pages, further in _answers(work, position.further):
        _take(work, pages, seen)
        seen.forget()
        if work.full or further is None:
            _write(work)
            position.further = further or {}
            if further is not None:
                keep(position)


def _answers(
    work: Extraction, start: dict[str, Any]
) -> Iterator[tuple[list[tuple[WikiPage, list[Revision], list[Text]]], dict[str, Any] | None]]:
    text = work.options.text
    parameters = {
        "action": "query",
        "list": "allrevisions",
        "arvprop": WITH_TEXT if text else PROPERTIES,
        "arvslots": "*",
        "arvdir": "newer",
        "arvnamespace": "0",
        "arvlimit": AT_ONCE,
    }
    temporary = tuple(work.wiki.temporary)
    for answer, further in work.client.walk(work.wiki.api_url, parameters, start, answers.histories):
        now = now_ms()
        found = answer.get("query", {}).get("allrevisions")
        if found is None and not start and further is None:
            raise NotOffered
        pages: dict[int, tuple[WikiPage, list[Revision], list[Text]]] = {}
        for entry in found or ():
            page = answers.page(entry)
            _, rows, texts = pages.setdefault(page.pageid, (page, [], []))
            for revision in entry.get("revisions", ()):
                row, brought = answers.revision(revision, work.wiki.name, work.wiki.locale, page, now, temporary)
                rows.append(row)
                texts += brought
        yield list(pages.values()), further


def _take(work: Extraction, pages: list[tuple[WikiPage, list[Revision], list[Text]]], seen: Seen) -> None:
    articles = _articles(work, [page for page, _, _ in pages])
    for page, rows, texts in pages:
        article = articles[page.pageid]
        last = max((row.timestamp, row.revid) for row in rows)
        fields: dict[str, Any] = {"last_extraction_ms": now_ms()}
        if not article.first_extraction_ms:
            fields["first_extraction_ms"] = now_ms()
        if last > (article.last_revision_ms, article.last_revision):
            fields |= {"last_revision_ms": last[0], "last_revision": last[1]}
        if not article.complete and last[0] > article.position_ms:
            fields["position_ms"] = last[0]
        if work.options.text and last[0] > article.text_position_ms:
            fields["text_position_ms"] = last[0]
        # Everything up to here is kept already; what is later needs no comparison.
        kept = article.last_revision_ms if article.complete else article.position_ms
        if work.options.text and not article.text_complete:
            kept = max(kept, article.text_position_ms)
        fresh = min(row.timestamp for row in rows) > kept
        known = Known(texts=seen.of(work, article)) if fresh else None
        ArticleWork(work, article, page, known).take(rows, texts, fields)
    work.result.articles += sum(not article.version for article in articles.values())


def _articles(work: Extraction, pages: list[WikiPage]) -> dict[int, Article]:
    """Rows of these pages; a missing one is written with its first revisions."""
    wanted = {page.pageid: page for page in pages}
    found = Article.objects.filter(wiki=work.wiki, pageid__in=wanted).select_related("wiki")
    rows = {article.pageid: article for article in found}
    return {number: work.as_told(rows.get(number), page) for number, page in wanted.items()}


def _write(work: Extraction) -> None:
    """Keep what was gathered; articles that another worker wrote meanwhile are read by themselves."""
    try:
        work.write()
    except Overtaken as overtaken:
        work.forget(overtaken)
        for article in Article.objects.filter(wiki=work.wiki, pageid__in=overtaken.pages):
            work.read_page(WikiPage(title=article.title, pageid=article.pageid, ns=article.ns))


def _read_log(work: Extraction) -> None:
    """Entries of the log about articles that are kept, one walk for each type."""
    for type_ in LOG_TYPES:
        parameters = {
            "action": "query",
            "list": "logevents",
            "letype": type_,
            "ledir": "newer",
            "leprop": LOG_PROPERTIES,
            "lelimit": AT_ONCE,
        }
        for answer, _ in work.client.walk(work.wiki.api_url, parameters):
            entries = answer.get("query", {}).get("logevents", ())
            numbers = {_page_of(entry) for entry in entries}
            found = Article.objects.filter(wiki=work.wiki, pageid__in=numbers)
            articles = {article.pageid: article for article in found}
            now = now_ms()
            for number, article in articles.items():
                page = WikiPage(title=article.title, pageid=number, ns=article.ns)
                known = ArticleWork(work, article, page).known.events if article.last_log else set()
                events = [
                    answers.event(entry, work.wiki.name, work.wiki.locale, page, now)
                    for entry in entries
                    if _page_of(entry) == number and entry.get("logid", 0) not in {0, *known}
                ]
                if events:
                    fields = {"last_log": max(article.last_log, *(event.logid for event in events))}
                    work.keep(ArticleChange(article, article.version, events=events, fields=fields))
                    work.result.events += len(events)
            _write(work)


def _page_of(entry: dict[str, Any]) -> int:
    """The page an entry was written about; `pageid` is what has its title now, after a move often nothing."""
    return int(entry.get("logpage") or entry.get("pageid") or 0)


def _finish(work: Extraction, began_ms: int) -> None:
    """Articles the walk met are complete; those it did not meet are asked for, they may be deleted."""
    now = now_ms()
    ours = Article.objects.filter(wiki=work.wiki, ns=0, deleted=False, source="api")
    met = ours.filter(last_extraction_ms__gte=began_ms)
    fields: dict[str, Any] = {"complete": True, "limited": False, "announced_ms": 0}
    if work.options.text:
        fields["text_complete"] = True
    met.update(**fields)
    met.filter(policy=schedule.AUTO).update(due_ms=now + schedule.FOLLOWED_MS)
    met.filter(policy=schedule.EXPONENTIAL).update(due_ms=schedule.next_midnight(now))
    if not work.wiki.changes_until:  # from the beginning of the walk on, the wiki announces what changes
        work.wiki.changes_until = timestamps.iso(began_ms)[:19] + "Z"
        work.wiki.save(update_fields=["changes_until"])
    others = list(ours.filter(last_extraction_ms__lt=began_ms).values_list("title", flat=True))
    for start in range(0, len(others), TITLES_AT_ONCE):
        work.read_titles(others[start : start + TITLES_AT_ONCE])
