"""Articles read from a wiki into the lake: oldest first at the first time, from the newest afterwards.

How far an article is stands in its row and moves on with the same transaction that keeps its revisions, so an
extraction may be killed at any moment and goes on from there. A revision that is met again and tells something else now
(a tag came, a name was hidden) is replaced, and what it was is kept in `earlier`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from operator import attrgetter
from typing import Any

import msgspec

from hemeroteca.clock import now_ms
from hemeroteca.errors import NotFound
from hemeroteca.lake.revisions import Event, Revision, Text
from hemeroteca.warc import timestamps
from hemeroteca.wiki import answers, commits, schedule, scraping
from hemeroteca.wiki.answers import WikiPage
from hemeroteca.wiki.commits import ArticleChange, Buffer, Overtaken
from hemeroteca.wiki.kept_history import Known, load_known, stored
from hemeroteca.wiki.mediawiki import ApiError, WikiClient
from hemeroteca.wiki.models import Article, Wiki
from hemeroteca.wiki.titles import resolve

PROPERTIES = "ids|flags|timestamp|user|userid|size|sha1|slotsha1|contentmodel|comment|parsedcomment|tags"
WITH_TEXT = PROPERTIES + "|content"
TITLES_AT_ONCE = 50  # MediaWiki's own limit
AT_ONCE = "max"  # revisions in one answer: as many as the wiki gives
MIN_AGAIN = 15  # stored revisions a refresh reads again: tags such as mw-reverted come later
REFRESH_LIMIT = 50
# Events after which older revisions may have come, gone or changed: all numbers are then walked.
UPSETTING = {"import", "merge", "delete", "suppress"}
LOG_TYPES = ("move", "delete", "merge", "import", "protect")
LOG_PROPERTIES = "ids|title|type|user|userid|timestamp|comment|details"
NOTE_MS = 10_000  # between what the log says of a move and the note that it leaves in the history
MAX_NOTES = 50  # that are asked for, of an article

Progress = Callable[[int, str], None]


class Vanished(NotFound):
    """An article was deleted while it was read."""


class Extracted(msgspec.Struct):
    """What an extraction brought."""

    wiki: str = ""
    articles: int = 0
    revisions: int = 0  # new ones
    changed: int = 0  # known ones that the wiki tells differently now
    texts: int = 0
    events: int = 0
    requests: int = 0
    missing: list[str] = []  # titles the wiki does not have
    redirects: list[list[str]] = []  # [from, to]
    deleted: list[str] = []  # articles that are kept and are no longer on the wiki
    limited: list[str] = []  # articles of which only the first revisions were read
    max_revisions: int = 0  # that limit; 0: none
    source: str = "api"


class ExtractionOptions(msgspec.Struct, frozen=True):
    text: bool = False
    max_revisions: int = 0  # of each article, beginning with the oldest; 0: all
    verify: bool = False  # walk all numbers, also those that are kept
    policy: str = ""  # auto or exponential; empty: as it is


_walked = attrgetter("revid", "parentid", "sha1", "user", "timestamp")


class Extraction:
    """Reads articles of one wiki, with one client."""

    def __init__(
        self,
        wiki: Wiki,
        client: WikiClient,
        options: ExtractionOptions,
        progress: Progress,
        result: Extracted | None = None,
    ) -> None:
        self.wiki = wiki
        self.client = client
        self.options = options
        self.result = result or Extracted(wiki=wiki.name, max_revisions=options.max_revisions)
        self.gathers = False  # whoever reads many articles at once says when they are written
        self._progress = progress
        self._buffer = Buffer(wiki)
        self._lost: set[int] = set()  # pages whose part another worker kept first, to be read again
        self.files = commits.lake_files()

    def read_titles(self, titles: Sequence[str]) -> None:
        """At most 50 titles; what is read of them is kept when this returns."""
        found, missing, redirects = resolve(self.client, self.wiki, titles)
        self.result.redirects += [pair for pair in redirects if pair not in self.result.redirects]
        for title in missing:
            article = Article.objects.filter(wiki=self.wiki, title=title).first()
            if article is None:
                self.result.missing.append(title)
            else:
                self._note_deleted(article)
        waiting = list(found)
        while waiting or not self._buffer.empty:
            for page, categories in waiting:
                self.read(page, categories)
            try:
                self._buffer.write()
            except Overtaken as overtaken:
                self._note_lost(overtaken)
            if not self._lost:
                return
            waiting, self._lost = [pair for pair in found if pair[0].pageid in self._lost], set()

    def read_page(self, page: WikiPage) -> None:
        """One article that the wiki is known to have; what is read of it is kept when this returns."""
        while True:
            self.read(page)
            try:
                self._buffer.write()
                return
            except Overtaken as overtaken:
                self._note_lost(overtaken)
                self._lost.clear()

    def read(self, page: WikiPage, categories: list[str] | None = None) -> Article:
        """One article: what is missing of it, or what is new."""
        while True:
            article = self.article(page, categories)
            try:
                self._read(article, page)
            except Overtaken as overtaken:  # this one, or others whose rows were still held: it goes on in any case
                self._note_lost(overtaken, page.pageid)
                continue
            except Vanished:  # the others are read nevertheless
                self._note_deleted(self._row(page) or article)
                return article
            self.result.articles += 1
            return article

    def forget(self, overtaken: Overtaken) -> None:
        """What another worker kept first is not what we brought."""
        for change in overtaken.changes:
            self.result.revisions -= len(change.revisions)
            self.result.changed -= len(change.changed)
            self.result.texts -= change.brought + len(change.texts)
            self.result.events -= len(change.events)

    def _note_lost(self, overtaken: Overtaken, reading: int = 0) -> None:
        """Articles that were read must be read again, but for the one that is being read."""
        self.forget(overtaken)
        others = set(overtaken.pages) - {reading}
        self.result.articles -= len(others)
        self._lost |= others

    # one article

    def _read(self, article: Article, page: WikiPage) -> None:
        work = ArticleWork(self, article, page)
        done = article.complete and (article.text_complete or not self.options.text)
        if self.options.verify or (done and article.source != "api"):
            work.walk_all()
        elif done:
            work.refresh()
            if work.read_log() & UPSETTING:
                work.walk_all()
            work.finish()
            return
        else:
            work.walk()
        work.read_log()
        work.finish()

    def article(self, page: WikiPage, categories: list[str] | None = None) -> Article:
        return self.as_told(self._row(page), page, categories)

    def _row(self, page: WikiPage) -> Article | None:
        try:
            article = Article.objects.get(wiki=self.wiki, pageid=page.pageid)
        except Article.DoesNotExist:
            return None
        article.wiki = self.wiki
        return article

    def as_told(self, article: Article | None, page: WikiPage, categories: list[str] | None = None) -> Article:
        """The row of an article, as the wiki tells it now. A new one is written with its first revisions."""
        if article is None:
            return self._new(page, categories)
        changes: dict[str, Any] = {}
        if article.title != page.title:
            former = [title for title in (*article.former_titles, article.title) if title != page.title]
            changes |= {"title": page.title, "ns": page.ns, "former_titles": list(dict.fromkeys(former))}
        if article.deleted:
            changes["deleted"] = False
        if categories is not None and categories != article.categories:
            changes["categories"] = categories
        if self.options.policy and self.options.policy != article.policy:
            changes["policy"] = self.options.policy
        if changes:
            Article.objects.filter(pk=article.pk).update(**changes)
            for name, value in changes.items():
                setattr(article, name, value)
        return article

    def _new(self, page: WikiPage, categories: list[str] | None) -> Article:
        article = Article(
            wiki=self.wiki,
            pageid=page.pageid,
            ns=page.ns,
            title=page.title,
            categories=categories or [],
            policy=self.options.policy or schedule.AUTO,
        )
        if not self.wiki.api_url:
            article.source = scraping.source_of(self.client, self.wiki, page.title)
        return article

    def _note_deleted(self, article: Article) -> None:
        """An article we keep that the wiki has no more: its history stays, its log tells who deleted it."""
        work = ArticleWork(self, article, WikiPage(title=article.title, pageid=article.pageid, ns=article.ns))
        work.read_log()
        work.add(ArticleChange(article, article.version, fields={"deleted": True, "due_ms": 0}))
        self.result.deleted.append(article.title)

    def keep(self, change: ArticleChange) -> None:
        self._buffer.add(change, mixed=self.gathers)

    def write(self) -> None:
        self._buffer.write()

    @property
    def full(self) -> bool:
        return self._buffer.full

    def tell(self, title: str) -> None:
        self._progress(self.result.revisions, title)


class ArticleWork:
    """One article while it is read: what is known of it, and what was found."""

    def __init__(self, extraction: Extraction, article: Article, page: WikiPage, known: Known | None = None) -> None:
        """`known`: what the lake holds of it, where that need not be read."""
        self._all = extraction
        self._article = article
        self._page = page
        self._wiki = extraction.wiki
        self._version = article.version
        self.known = load_known(self._wiki, article, extraction.files) if known is None else known
        self._newest = (article.last_revision_ms, article.last_revision)
        self._fields: dict[str, Any] = {}
        self._logs: dict[str, list[dict[str, Any]]] = {}  # all entries of a title, which came with the revisions

    def walk(self) -> None:
        """Oldest first, from where an earlier extraction ended."""
        text = self._all.options.text
        position = self._article.position_ms
        if text:
            position = (
                min(position, self._article.text_position_ms)
                if not self._article.complete
                else (self._article.text_position_ms)
            )
        limit = self._all.options.max_revisions
        room = limit - len(self.known.fingerprints) if limit else 0
        limited = False
        for revisions, texts in self._revisions("newer", text, position):
            if limit:
                fresh = [row for row in revisions if row.revid not in self.known.fingerprints]
                if len(fresh) > room:
                    last = fresh[room].revid if room >= 0 else 0
                    place = next(i for i, row in enumerate(revisions) if row.revid == last)
                    revisions, limited = revisions[:place], True
                    kept = {row.text_sha1 for row in revisions}
                    texts = [found for found in texts if found.sha1 in kept]
                room -= len(revisions) - len([row for row in revisions if row.revid in self.known.fingerprints])
            fields: dict[str, Any] = {}
            if revisions:
                reached = max(row.timestamp for row in revisions)
                if not self._article.complete:
                    fields["position_ms"] = reached
                if text:
                    fields["text_position_ms"] = reached
            self.take(revisions, texts, fields)
            if limited:
                break
        if limited:
            self._fields |= {"limited": True}
            self._all.result.limited.append(self._page.title)
        else:
            self._fields |= {"complete": True, "limited": False}
            if text:
                self._fields["text_complete"] = True

    def refresh(self) -> None:
        """From the newest back, until enough stored ones were read again."""
        again = 0
        for revisions, texts in self._revisions("older", self._all.options.text, 0, REFRESH_LIMIT):
            again += sum(row.revid in self.known.fingerprints for row in revisions)
            self.take(revisions, texts, {})
            if again >= MIN_AGAIN:
                return

    def walk_all(self) -> None:
        """Every number: what is new is kept, what changed is replaced, what is gone is marked. A limit stays one."""
        seen: set[int] = set()
        last = self._newest
        for revisions, texts in self._revisions("newer", self._all.options.text, 0):
            if self._article.limited:
                revisions = [row for row in revisions if (row.timestamp, row.revid) <= last]
                kept = {row.text_sha1 for row in revisions}
                texts = [found for found in texts if found.sha1 in kept]
                if not revisions:
                    break
            seen.update(row.revid for row in revisions)
            self.take(revisions, texts, {})
        lost = [row for row in self._stored(set(self.known.fingerprints) - seen) if not row.gone]
        if lost:
            now = now_ms()
            gone = [msgspec.structs.replace(row, gone=True, extraction_date=now) for row in lost]
            self._all.result.changed += len(gone)
            self.add(ArticleChange(self._article, self._version, changed=gone, earlier=lost))
        if self._article.limited:
            self._fields["limited"] = True
            self._all.result.limited.append(self._page.title)
            return
        self._fields |= {"complete": True, "limited": False}
        if self._all.options.text:
            self._fields["text_complete"] = True

    def read_log(self) -> set[str]:
        """New entries of the log about this article, under each title it had; their types."""
        if not self._wiki.api_url or self._article.source != "api":
            return set()
        found: dict[int, Event] = {}
        titles = dict.fromkeys((self._page.title, *self._article.former_titles))
        for title in titles:
            self._gather(found, self._entries(title))
        for title in self._earlier_titles(found):
            if title not in titles:
                titles[title] = None
                self._gather(found, map(self._about_this, self._entries(title)))
        events = list(found.values())
        self.known.events.update(entry.logid for entry in events)
        if events:
            self._fields["last_log"] = max(self.known.events)
            self._all.result.events += len(events)
            self.add(ArticleChange(self._article, self._version, events=events))
        return {entry.type for entry in events}

    def _gather(self, found: dict[int, Event], parts: Iterable[list[dict[str, Any]]]) -> None:
        """Entries that are new, newest first."""
        now = now_ms()
        for entries in parts:
            told = [
                answers.event(entry, self._wiki.name, self._wiki.locale, self._page, now)
                for entry in entries
                if entry.get("type") in LOG_TYPES and "logid" in entry
            ]
            found |= {event.logid: event for event in told if event.logid not in self.known.events}
            if any(event.logid in self.known.events for event in told):
                break

    def _earlier_titles(self, found: dict[int, Event]) -> Iterator[str]:
        """Titles it had before we met it: the log knows a move by the title that was left."""
        times = [event.timestamp for event in found.values() if event.action != "move_prot"]  # that one leaves no note
        notes = [note for note in self.known.notes if all(abs(note[1] - at) > NOTE_MS for at in times)]
        self.known.notes = []
        for user, at in list(dict.fromkeys(notes))[:MAX_NOTES]:
            when = {"lestart": _moment(at - NOTE_MS), "leend": _moment(at + NOTE_MS), "ledir": "newer"}
            parameters = {"action": "query", "list": "logevents", "letype": "move", "leuser": user, **when}
            parameters |= {"leprop": LOG_PROPERTIES, "lelimit": AT_ONCE}
            try:
                answer = self._all.client.ask(self._wiki.api_url, parameters)
            except ApiError:  # an imported revision may name whom this wiki does not know
                continue
            for entry in self._about_this(answer.get("query", {}).get("logevents", [])):
                yield str(entry["title"])

    def _about_this(self, entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [entry for entry in entries if entry.get("logpage") == self._page.pageid and entry.get("title")]

    def _entries(self, title: str) -> Iterator[list[dict[str, Any]]]:
        """Entries of the log about a title, newest first, in parts."""
        if title in self._logs:
            yield self._logs[title]
            return
        parameters = {"action": "query", "list": "logevents", **_log_of(title, AT_ONCE)}
        for answer, _ in self._all.client.walk(self._wiki.api_url, parameters):
            yield answer.get("query", {}).get("logevents", [])

    def finish(self) -> None:
        now = now_ms()
        fields = {**self._fields, "last_extraction_ms": now, "announced_ms": 0}
        if not self._article.first_extraction_ms:
            fields["first_extraction_ms"] = now
        if self._newest[1]:
            fields |= {"last_revision_ms": self._newest[0], "last_revision": self._newest[1]}
        fields |= schedule.plan(self._article, fields, list(self.known.times.values()), now)
        self.add(ArticleChange(self._article, self._version, fields=fields))

    def add(self, change: ArticleChange) -> None:
        self._all.keep(change)
        if self._all.full and not self._all.gathers:
            self._all.write()
            self._version += 1

    def take(self, revisions: list[Revision], texts: list[Text], fields: dict[str, Any]) -> None:
        """Keep what is new or different."""
        known = self.known.fingerprints
        new = [row for row in revisions if row.revid not in known]
        changed = [row for row in revisions if known.get(row.revid, row.fingerprint) != row.fingerprint]
        self._newest = max([self._newest, *((row.timestamp, row.revid) for row in revisions)])
        earlier = self._stored({row.revid for row in changed}) if changed else []
        different = new + changed
        known.update({row.revid: row.fingerprint for row in different})
        self.known.times.update({row.revid: row.timestamp for row in different})
        fresh: dict[str, Text] = {}
        for text in texts:
            if text.sha1 not in self.known.texts:
                fresh.setdefault(text.sha1, text)
        self.known.texts.update(fresh)
        result = self._all.result
        result.revisions += len(new)
        result.changed += len(changed)
        result.texts += len(fresh)
        if new or changed or fresh or fields:
            self.add(
                ArticleChange(
                    article=self._article,
                    version=self._version,
                    revisions=new,
                    changed=changed,
                    earlier=earlier,
                    texts=list(fresh.values()),
                    events=[],
                    fields=fields,
                )
            )
        self._all.tell(self._page.title)

    def _revisions(
        self, direction: str, text: bool, after_ms: int, limit: int | None = None
    ) -> Iterator[tuple[list[Revision], list[Text]]]:
        """Parts of the history, as the wiki gives them."""
        if self._article.source != "api":
            yield from scraping.revisions(self._all.client, self._wiki, self._article.source, self._page, text)
            return
        parameters: dict[str, Any] = {
            "action": "query",
            "prop": "revisions",
            "pageids": self._page.pageid,
            "rvprop": WITH_TEXT if text else PROPERTIES,
            "rvslots": "*",
            "rvdir": direction,
            "rvlimit": limit or AT_ONCE,
        }
        title, entries = self._page.title, list[dict[str, Any]]()
        together = title not in self._logs
        if together:  # a short history, or a refresh, is one request
            parameters |= {"list": "logevents", **_log_of(title, limit or AT_ONCE)}
        if after_ms and direction == "newer":
            parameters["rvstart"] = _moment(after_ms)
        temporary = tuple(self._wiki.temporary)
        decode = partial(answers.histories, apart=not self._all.gathers)  # what is gathered is held for long
        for answer, further in self._all.client.walk(self._wiki.api_url, parameters, decode=decode):
            now = now_ms()
            if together:
                entries += answer.get("query", {}).get("logevents", [])
                if not any(name.startswith("le") for name in further or ()):
                    self._logs[title], together = entries, False
            for found in answers.pages(answer.get("query", {})):
                if answers.flag(found, "missing"):
                    raise Vanished(f"{self._page.title!r} was deleted from {self._wiki.name} while it was read")
                page = answers.page(found)
                if page.title != self._page.title:
                    self._note_move(page)
                rows, texts = [], list[Text]()
                for entry in found.get("revisions", ()):
                    row, brought = answers.revision(entry, self._wiki.name, self._wiki.locale, page, now, temporary)
                    rows.append(row)
                    texts += brought
                if direction == "newer":
                    self.known.look(map(_walked, rows))
                yield rows, texts

    def _note_move(self, page: WikiPage) -> None:
        """The article got another title while it was read; what was read of it is the same article's."""
        former = (*self._article.former_titles, self._article.title)
        self._article.title, self._article.ns, self._page = page.title, page.ns, page
        self._article.former_titles = list(dict.fromkeys(title for title in former if title != page.title))
        self._fields |= {"title": page.title, "ns": page.ns, "former_titles": self._article.former_titles}

    def _stored(self, revids: set[int]) -> list[Revision]:
        return stored(self._wiki, self._article, self._all.files, revids)


def _log_of(title: str, limit: int | str) -> dict[str, Any]:
    return {"letitle": title, "leprop": LOG_PROPERTIES, "lelimit": limit}


def _moment(at: int) -> str:
    return timestamps.iso(at)[:19] + "Z"
