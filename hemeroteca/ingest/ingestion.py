"""`ingest`: what a capture is, what it says and where it leads. Every capture passes here.

A pure function of a capture and its rules; the processes that run it (`worker`) know no database. Crawl, browser,
import and rebuild call it alike; what it returns is written by the sinks of the engine.
"""

from typing import TYPE_CHECKING

from hemeroteca import extract, urls, warc
from hemeroteca.extract import elements
from hemeroteca.extract.scripted import needs_browser
from hemeroteca.fetch import heads
from hemeroteca.ingest.candidates import Links, folder_host_key, linked
from hemeroteca.ingest.difference import difference, listing
from hemeroteca.ingest.fingerprints import fingerprints
from hemeroteca.ingest.ingested import Ingested
from hemeroteca.ingest.rules import AGENT, CrawlRules, Rules
from hemeroteca.ingest.search_document import SearchDocument, simhash
from hemeroteca.urls import UrlRole
from hemeroteca.warc import DOM_TYPE, Capture, keys

if TYPE_CHECKING:
    from hemeroteca.ingest.cues import FocusReader

ANNOUNCING = ("feed", "sitemap")
ALIKE = {"service", "dataset"}  # finds whose documents say nearly the same on a host, and are no trap for that
MAX_NOTES = 20


def ingest(capture: Capture, rules: Rules, crawl: CrawlRules | None = None) -> Ingested:
    """What is in a capture."""
    alone = Ingest()
    if crawl is not None:
        alone.learn(crawl)
    return alone(capture, rules)


class Ingest:
    """`ingest` for many captures: it knows the crawls under way, and sends no link of a crawl twice."""

    def __init__(self) -> None:
        self._crawls: dict[int, CrawlRules] = {}
        self._focuses: dict[int, FocusReader] = {}  # of the crawls that have one
        self._links = Links()

    def learn(self, crawl: CrawlRules) -> None:
        self._crawls[crawl.crawl] = crawl
        self._links.learn(crawl)
        if crawl.focus is not None:
            from hemeroteca.ingest.cues import FocusReader  # only here: most crawls have none

            self._focuses[crawl.crawl] = FocusReader(crawl.focus)

    def forget(self, crawl: int) -> None:
        self._crawls.pop(crawl, None)
        self._focuses.pop(crawl, None)
        self._links.forget(crawl)

    def __call__(self, capture: Capture, rules: Rules) -> Ingested:
        crawl = self._crawls[rules.crawl] if rules.crawl else None
        options = crawl.options if crawl is not None else None
        result = _begun(capture, rules)
        if result.same and not capture.attached and rules.followed and not rules.compare:
            return result
        focus = self._focuses.get(rules.crawl)
        document = None
        redirects = 300 <= capture.status < 400
        if rules.read and result.size and not redirects:
            document = _read(capture, rules, result, focus)
            if result.needs_browser:
                return result
        nofollow = (
            _directives(capture, document, crawl.agent if crawl else AGENT, result) if rules.obey_robots else False
        )
        if rules.keep and not result.noarchive:
            if not result.same or capture.attached:
                result.records = warc.records(capture, result.digest, result.size)
            if not result.same:
                result.attached = [warc.records(beside) for beside in capture.attached]
        if rules.read:
            if redirects:
                self._links.redirect(capture, rules, capture.address("location"), result)
            if rules.leads:
                self._links.redirect(capture, rules, rules.leads, result)
        if document is not None:
            self._links.refresh(capture, rules, document, result)
            self._links.find(capture, rules, document, nofollow, result, again=focus is not None)
            if focus is not None:
                focus.add_cues(capture, result)
            is_read = crawl is not None and rules.role == UrlRole.PAGE and capture.status == 200
            if is_read and not document.finds.keys() & ALIKE:
                result.said, result.worded = fingerprints(capture.url, document, result.shown_digest)
            if rules.compare or not result.same:
                _add_document(capture, rules, document, result)
            if options is not None and options.watch is not None and document.kind in ANNOUNCING:
                result.add_find("listing", listing(capture, document))
        to_compare = rules.earlier is not None and (rules.compare or not result.same)
        if to_compare and (document is None or document.kind not in ANNOUNCING):
            diff = options is not None and options.watch is not None
            if (found := difference(capture, rules, diff)) is not None:
                result.difference, result.sightings = found
        return result


def _begun(capture: Capture, rules: Rules) -> Ingested:
    """What is known of a capture before it is read."""
    result = Ingested(
        digest=rules.digest or (capture.original.digest if capture.original is not None else capture.digest()),
        size=capture.size,
        urlkey=keys.index_key(capture.filed),
        mime=capture.media_type.partition(";")[0].strip().lower()[:120],
        etag=heads.opaque(capture.response_head, "etag")[:500],
        last_modified=capture.header("last-modified")[:100],
    )
    if capture.truncated:
        result.notes.append(f"truncated-{capture.truncated}")
    result.notes.extend(rules.notes)
    if dom := capture.dom:  # the shell of such a page may stay the same for years
        result.dom_digest = warc.payload_digest(dom)
    elif not result.size and capture.status not in (0, 304):  # the digest of nothing does not tell one from another
        result.dom_digest = warc.payload_digest(f"{capture.status} {capture.header('location')}".encode())
    result.same = result.shown_digest == rules.previous
    return result


def _read(capture: Capture, rules: Rules, result: Ingested, focus: "FocusReader | None") -> extract.Document:
    if dom := capture.dom:
        raw, note, media_type, address, place, language = dom, "", DOM_TYPE, capture.dom_url, None, ""
    else:
        raw, note = capture.content()
        media_type, address, place = capture.media_type, capture.url, _place(capture, rules)
        language = capture.header("content-language")
    if note:
        result.notes.append(note)
    if focus is None:
        document = extract.read(raw, media_type, address, content_language=language, place=place)
    else:
        document = focus.read(raw, media_type, address, language)
    if rules.include or rules.exclude:
        elements.narrow(document, raw, media_type, rules.include, rules.exclude)
    result.notes.extend(document.notes)
    for name, value in document.finds.items():
        result.add_find(name, value)
    if focus is not None:
        focus.judge(document, raw, media_type, address, result)
    if rules.browser and capture.status == 200 and not dom and needs_browser(document, raw):
        if rules.browser == "ask":
            result.needs_browser = True
        else:
            result.notes.append("needs-browser")
    return document


def _directives(capture: Capture, document: extract.Document | None, agent: str, result: Ingested) -> bool:
    """What header and page say to robots, noted; gives whether its links are not to be followed."""
    said = urls.robots_txt.directives(capture.header_all("x-robots-tag"), agent)
    result.noarchive = said.noarchive or (document is not None and document.noarchive)
    result.noindex = said.noindex or (document is not None and document.noindex)
    return said.nofollow or (document is not None and document.nofollow)


def _add_document(capture: Capture, rules: Rules, document: extract.Document, result: Ingested) -> None:
    """What search learns of a page."""
    text = document.main or document.text
    if result.noindex or result.noarchive:  # what is not in the archive could not be indexed again
        return
    if capture.status != 200 or not (text or document.title):
        return
    result.document = SearchDocument(
        key=rules.key,
        url=capture.url,
        title=document.title,
        headings=document.headings,
        description=document.description,
        text=text,
        host=rules.host,
        language=document.language,
        type="html" if document.kind == "xhtml" else document.kind,
        captured_ms=capture.captured_ms,
        published_ms=document.published,
        author=document.author,
        digest=result.shown_digest,
        simhash=simhash(text, digits=False),
        canonical=_canonical(capture, rules, document),
    )


def _canonical(capture: Capture, rules: Rules, document: extract.Document) -> int:
    """The key of the address on its own host that a page names as its proper one; 0: it is this one, or none."""
    canonical = document.canonical or next((link.href for link in linked(capture) if link.kind == "canonical"), "")
    if not canonical:
        return 0
    address = capture.dom_url if capture.dom else capture.url
    base = urls.resolve_links(address, [document.base])[0] if document.base else None
    named = urls.resolve_links(base or address, [canonical])[0]
    if named is None or urls.host(named) != rules.host or urls.key(named) == rules.key:
        return 0
    return urls.key(named)


def _place(capture: Capture, rules: Rules) -> extract.Place | None:
    directory = urls.directory(capture.url)
    return extract.Place(directory.encode(), folder_host_key(directory), rules.key) if directory else None
