"""Ingest: what a capture is, what it says and where it leads. Every byte passes here once.

A pure function of a capture and the rules of its crawl, run in worker processes that know no database. It returns the
WARC records to append, the document to index and the links to follow; the engine writes them.
"""

import hashlib
import re
from array import array
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from uuid import UUID

import msgspec

from hemeroteca import extract, urls
from hemeroteca.archive import warc
from hemeroteca.archive.values import DOM, SCREENSHOT, index_key
from hemeroteca.engine import watching
from hemeroteca.extract import elements
from hemeroteca.extract.office import KINDS as OFFICE
from hemeroteca.extract.scripted import needs_browser
from hemeroteca.frontier.values import Comparison, CrawlOptions, Found, Role
from hemeroteca.search.document import SearchDocument, document_key, simhash, without_digits
from hemeroteca.watch.values import Difference, Listing

READ_BYTES = 16 << 20  # of a decoded body; the archive keeps all of it
LINKS_REMEMBERED = 100_000  # addresses of a crawl a worker knows to have sent already
EDGES = 150  # links of one page that the link graph learns
TEXTS_REMEMBERED = 100_000  # link texts a worker knows to have sent already
REQUISITE_STEPS = 3
AGENT = "Hemeroteca"  # our name in robots directives
COMPARED = {"html", "xhtml", "text"}
SEARCHABLE = {"html", "xhtml", "pdf", "text", "feed", *OFFICE}


class Rules(msgspec.Struct, array_like=True):
    """What a worker must know about a crawl; sent to it once."""

    crawl: int
    options: CrawlOptions
    agent: str  # our token in robots directives
    most_depth: int


class Job(msgspec.Struct, array_like=True):
    """A capture on its way to a worker."""

    id: int
    crawl: int
    url: str
    key: int
    host: str
    depth: int
    redirects: int
    role: int
    previous: str  # digest of the last version, "" when there is none
    started_ms: int
    ip: str
    protocol: str
    status: int
    truncated: str
    request_head: bytes
    response_head: bytes
    body: bytes
    path: str = ""  # where the body lies when it is too long for memory
    unread: bool = False  # keep it without reading it: a reader died of it before …
    note: str = ""  # … and how
    earlier: tuple[str, str, int, int] | None = None  # folder, file, offset, length of the version to compare with
    notes: list[str] = []
    render: str = ""  # what to do when scripts have yet to write the page: `ask` for a browser, `note` it, or nothing
    dom: bytes = b""  # HTML the browser made of the body: it is what is read
    dom_url: str = ""  # the address that HTML is relative to
    leads: str = ""  # the page scripts went on to
    screenshot: bytes = b""  # PNG
    include: tuple[str, ...] = ()  # rules of its site for the elements that hold text …
    exclude: tuple[str, ...] = ()  # … and for those that do not
    compare: Comparison | None = None  # how the site's versions are compared …
    noise: list[str] = []  # … and the blocks of its pages that are noise
    earlier_picture: tuple[str, str, int, int] | None = None  # screenshot of the version to compare with
    filed: str = ""  # the address it is filed under, when it answers a POST …
    sent: bytes = b""  # … of this


class Attached(msgspec.Struct, array_like=True):
    """A record that accompanies a capture: the page as a browser shows it."""

    url: str
    mime: str
    digest: str
    body_size: int
    record_id: UUID
    data: bytes


class Edges(msgspec.Struct, array_like=True):
    """The links of a page as the link graph takes them: keys of the targets and of their hosts, packed."""

    host: int  # key of the page's own host
    targets: bytes
    hosts: bytes
    texts: list[tuple[int, str]]  # target, text of a link to it; only what was not sent before


class Ingested(msgspec.Struct, array_like=True):
    """What a worker returns."""

    id: int
    digest: str
    body_size: int
    same: bool = False  # the body is the last version's; no records were built
    data: bytes = b""  # records to append …
    path: str = ""  # … or the file that holds them
    size: int = 0
    record_id: UUID | None = None
    record_length: int = 0
    urlkey: str = ""
    mime: str = ""
    etag: str = ""
    last_modified: str = ""
    notes: list[str] = []
    found: list[Found] = []
    redirect: Found | None = None
    outside: str = ""  # where a redirect leads when that is not part of the crawl
    document: SearchDocument | None = None
    edges: Edges | None = None
    fingerprint: int = 0  # of the text without its digits; equal for the pages of a trap
    noarchive: bool = False
    noindex: bool = False
    difference: Difference | None = None  # from the version before
    listing: Listing | None = None  # what a feed or sitemap says, in a standing crawl
    render: bool = False  # scripts have yet to write the page; nothing else was done
    dom_digest: str = ""  # of what the browser made of the body: it tells whether the page has changed
    attached: list[Attached] = []
    sightings: list[tuple[str, bool, bool, int]] | None = None  # blocks that differ, as `change.Sighting`


class Ingest:
    """The rules of the crawls under way, and which links were sent already."""

    def __init__(self) -> None:
        self._rules: dict[int, Rules] = {}
        self._scopes: dict[int, urls.ScopeMatcher] = {}
        self._sent: dict[int, set[int]] = {}
        self._outside: dict[int, set[int]] = {}  # links that lead out of the crawl, wherever they stand
        self._texts: set[int] = set()  # of links sent already, by the hash of target and text

    def learn(self, rules: Rules) -> None:
        self._rules[rules.crawl] = rules
        self._scopes[rules.crawl] = urls.ScopeMatcher(rules.options.scope)
        self._sent[rules.crawl] = set()
        self._outside[rules.crawl] = set()

    def forget(self, crawl: int) -> None:
        for table in (self._rules, self._scopes, self._sent, self._outside):
            table.pop(crawl, None)

    def __call__(self, job: Job) -> Ingested:
        rules = self._rules[job.crawl]
        head = job.response_head
        body: bytes | SpooledBody = SpooledBody(Path(job.path)) if job.path else job.body
        digest = body.digest() if isinstance(body, SpooledBody) else warc.payload_digest(body)
        result = Ingested(
            job.id,
            digest,
            len(body),
            urlkey=index_key(job.filed or job.url),
            mime=header(head, b"content-type").partition(";")[0].strip().lower()[:120],
            etag=header(head, b"etag")[:500],
            last_modified=header(head, b"last-modified")[:100],
        )
        if job.truncated:
            result.notes.append(f"truncated-{job.truncated}")
        if job.note:
            result.notes.append(job.note)
        result.notes.extend(job.notes)
        if job.dom:  # the shell of such a page may stay the same for years
            result.dom_digest = warc.payload_digest(job.dom)
        result.same = (result.dom_digest or digest) == job.previous
        if result.same and not job.dom and rules.options.knows_its_pages:
            return result

        directives = urls.robots.directives(header_all(head, b"x-robots-tag"), rules.agent)
        document = None
        if not job.unread and not 300 <= job.status < 400 and len(body):
            document = self._read(job, body, result)
            if result.render:
                return result
        obey = not rules.options.ignore_robots
        noindex = directives.noindex or (document is not None and document.noindex)
        nofollow = directives.nofollow or (document is not None and document.nofollow)
        noarchive = directives.noarchive or (document is not None and document.noarchive)
        result.noarchive = obey and noarchive
        result.noindex = obey and noindex
        if not result.noarchive and (not result.same or job.dom):
            self._archive(job, body, result)
        if not result.noarchive and not result.same:
            result.attached = _attached(job)
        if 300 <= job.status < 400:
            self._redirect(job, header(head, b"location"), result)
        if job.leads:
            self._redirect(job, job.leads, result)
        if document is not None:
            self._refresh(job, document, header(head, b"refresh"), result)
            self._links(job, document, obey and nofollow, result)
            if not result.same:
                self._document(job, document, result)
        if rules.options.watch is not None:
            watching.look(job, body, document, rules.options.watch, result)
        elif document is not None and document.kind in COMPARED and not result.same:
            watching.weigh(job, body, result)
        return result

    def _archive(self, job: Job, body: "bytes | SpooledBody", result: Ingested) -> None:
        records = warc.exchange_records(
            job.url,
            job.started_ms,
            job.ip,
            job.protocol,
            job.request_head,
            job.response_head,
            body,
            job.truncated,
            digest=result.digest,
            sent=job.sent,
        )
        if isinstance(records.data, bytes):
            result.data = records.data
        else:
            result.path = str(records.data)
        result.size = records.size
        result.record_id = records.main.record_id
        result.record_length = records.main.length

    def _read(self, job: Job, body: "bytes | SpooledBody", result: Ingested) -> extract.Document | None:
        if job.dom:
            document = extract.read(job.dom, watching.DOM_TYPE, job.dom_url)
            if job.include or job.exclude:
                elements.narrow(document, job.dom, watching.DOM_TYPE, job.include, job.exclude)
            result.notes.extend(document.notes)
            return document
        raw = body if isinstance(body, bytes) else body.beginning(READ_BYTES)
        encoding = header(job.response_head, b"content-encoding")
        note = ""
        if encoding:
            raw, note = extract.decode_body(raw, encoding, READ_BYTES)
        if note:
            result.notes.append(note)
        document = extract.read(
            raw,
            header(job.response_head, b"content-type"),
            job.url,
            content_language=header(job.response_head, b"content-language"),
            place=_place(job),
        )
        if job.include or job.exclude:
            elements.narrow(document, raw, header(job.response_head, b"content-type"), job.include, job.exclude)
        result.notes.extend(document.notes)
        if job.render and job.status == 200 and needs_browser(document, raw):
            if job.render == "ask":
                result.render = True
            else:
                result.notes.append("needs-browser")
        return document

    def _redirect(self, job: Job, location: str, result: Ingested) -> None:
        target = urls.resolve_links(job.url, [location])[0] if location else None
        if target is None:
            if location or job.status not in (300, 304):
                where = f"leads to {location[:200]!r}" if location else "names no target"
                result.notes.append(f"bad-redirect: {where}")
            return
        found = Found(
            urls.key(target),
            target,
            urls.host(target),
            job.crawl,
            job.depth,
            job.redirects + 1,
            job.role,
            1 - job.depth,
        )
        # Where a seed leads is where the person wanted to go; the engine widens the scope for it.
        if job.depth and job.role == Role.PAGE and (reason := self._refusal(job.crawl, target, job.depth)):
            result.outside = f"{target[:300]} ({reason})"
        else:
            result.redirect = found

    def _refresh(self, job: Job, document: extract.Document, refresh_header: str, result: Ingested) -> None:
        target = document.refresh
        if not target and refresh_header:
            found = _REFRESH.match(refresh_header)
            target = found[1] if found else None
        if target:
            self._redirect(job, target, result)

    def _links(self, job: Job, document: extract.Document, nofollow: bool, result: Ingested) -> None:
        options = self._rules[job.crawl].options
        sent, outside = self._sent[job.crawl], self._outside[job.crawl]
        address = job.dom_url or job.url
        base = urls.resolve_links(address, [document.base])[0] if document.base else None
        links = document.links
        leads = document.leads
        if leads is not None:  # only what is new need be looked at more closely
            keys = memoryview(leads.keys).cast("q").tolist()
            new = [
                number
                for number, key in enumerate(keys)
                if key not in sent and (key not in outside or links[number].kind != "page")
            ]
            every, links = links, [links[number] for number in new]
        resolved = urls.resolve_targets(base or address, [link.href for link in links]) if links else []
        if job.role == Role.PAGE and job.status == 200 and not nofollow:
            if leads is not None:
                result.edges = _edges_known(job.host, every, keys, leads, self._texts)
            else:
                result.edges = edges_of(job.key, job.host, links, resolved, self._texts)
        requisites_too = options.requisites and job.role != Role.SITEMAP
        for link, found in zip(links, resolved, strict=True):
            if found is None or found[1] in sent:
                continue
            target, key = found
            if key in outside and link.kind == "page":
                continue
            role, depth = _role(link.kind, job.role, job.depth)
            if role is None or (role == Role.REQUISITE and not requisites_too):
                continue
            if role == Role.PAGE and (nofollow or link.nofollow or job.role == Role.REQUISITE):
                continue
            if role == Role.SITEMAP and not options.sitemaps:
                continue
            if role == Role.PAGE or link.kind == "frame":
                refused = self._refusal(job.crawl, target, depth)
                if refused and link.kind == "frame" and requisites_too:
                    role, depth = _requisite(job.role, job.depth)
                    if role is None:
                        continue
                elif refused:
                    if refused.startswith("trap"):
                        result.notes.append(f"{refused}: {target[:200]}")
                    elif refused == self._scopes[job.crawl].outside:
                        if len(outside) >= LINKS_REMEMBERED:
                            outside.clear()
                        outside.add(key)
                    continue
            elif trap := urls.trap(target):
                result.notes.append(f"trap: {trap}: {target[:200]}")
                continue
            if len(sent) >= LINKS_REMEMBERED:
                sent.clear()
            sent.add(key)
            if key != job.key:
                priority = _PRIORITY_SITEMAP if role == Role.SITEMAP else -min(job.depth + (role == Role.PAGE), 1000)
                result.found.append(Found(key, target, urls.host(target), job.crawl, depth, 0, role, priority))
        del result.notes[20:]

    def _refusal(self, crawl: int, url: str, depth: int) -> str | None:
        """Why an address is not visited; begins with `trap` when that is worth a note."""
        if depth > self._rules[crawl].most_depth:
            return f"trap: more than {self._rules[crawl].most_depth} links from a seed"
        refused = self._scopes[crawl].refusal(url, depth)
        if refused:
            return refused
        trap = urls.trap(url)
        return f"trap: {trap}" if trap else None

    def _document(self, job: Job, document: extract.Document, result: Ingested) -> None:
        likeness = _likeness(document)
        result.fingerprint = likeness or _exact(document)
        if job.role != Role.SITEMAP and not result.noindex:
            result.document = search_document(
                job.key,
                job.url,
                job.status,
                document,
                job.host,
                job.started_ms,
                result.dom_digest or result.digest,
                likeness,
            )


def _attached(job: Job) -> list[Attached]:
    attached = []
    for prefix, mime, block in ((DOM, "text/html", job.dom), (SCREENSHOT, "image/png", job.screenshot)):
        if block:
            records = warc.record("resource", job.started_ms, mime, block, prefix + job.url)
            assert isinstance(records.data, bytes)
            attached.append(
                Attached(prefix + job.url, mime, records.digest, len(block), records.main.record_id, records.data)
            )
    return attached


def read_document(
    key: int,
    url: str,
    status: int,
    head: bytes,
    body: bytes,
    captured_ms: int,
    digest: str,
    dom: bytes = b"",
    *,
    obey: bool = True,
    include: tuple[str, ...] = (),
    exclude: tuple[str, ...] = (),
) -> tuple[SearchDocument | None, Edges | None]:
    """The search document of an archived capture and its links, as ingest would have made them.

    `dom`: what a browser made of it. `obey`: what it says to robots counts. `include`, `exclude`: rules of its site.
    """
    content_type = header(head, b"content-type")
    if dom:
        body, content_type = dom, watching.DOM_TYPE
        digest = warc.payload_digest(dom)
    elif encoding := header(head, b"content-encoding"):
        body, _ = extract.decode_body(body, encoding, READ_BYTES)
    content_language = "" if dom else header(head, b"content-language")
    document = extract.read(body, content_type, url, content_language=content_language)
    if include or exclude:
        elements.narrow(document, body, content_type, include, exclude)
    directives = urls.robots.directives(header_all(head, b"x-robots-tag"), AGENT)
    host = urls.host(url)
    edges = None
    if status == 200 and not (obey and (document.nofollow or directives.nofollow)):
        base = urls.resolve_links(url, [document.base])[0] if document.base else None
        resolved = urls.resolve_targets(base or url, [link.href for link in document.links])
        edges = edges_of(key, host, document.links, resolved, set())
    if obey and (document.noindex or directives.noindex):
        return None, edges
    return search_document(key, url, status, document, host, captured_ms, digest, _likeness(document)), edges


def edges_of(
    key: int, host: str, links: list[extract.Link], resolved: list[urls.Target | None], sent: set[int]
) -> Edges | None:
    """The links to other pages, those of the text first; `sent` remembers which of their texts are known."""
    main: dict[int, int] = {}
    rest: dict[int, int] = {}
    texts: list[tuple[int, str]] = []
    if len(sent) > TEXTS_REMEMBERED:
        sent.clear()
    host_keys = _host_keys
    for link, address in zip(links, resolved, strict=True):
        if address is None or link.kind != "page" or link.nofollow:
            continue
        target = address[1]
        kept = main if link.region == "main" else rest
        kept[target] = host_keys.get(target) or _host_key(target, address[0])
        text = link.text
        if (mark := target ^ hash(text)) not in sent and 1 < len(text) <= 80 and len(texts) < EDGES and target != key:
            sent.add(mark)
            texts.append((target, text))
    found = {**main, **rest}
    found.pop(key, None)
    if not found:
        return None
    targets, hosts = array("q", found)[:EDGES], array("q", found.values())[:EDGES]
    return Edges(_own_host_key(host), targets.tobytes(), hosts.tobytes(), texts)


def _edges_known(
    host: str, links: list[extract.Link], keys: list[int], leads: extract.Leads, sent: set[int]
) -> Edges | None:
    """As `edges_of`, where the fast path has gathered them already."""
    if len(sent) > TEXTS_REMEMBERED:
        sent.clear()
    texts: list[tuple[int, str]] = []
    for place in memoryview(leads.places).cast("I"):
        target, text = keys[place], links[place].text
        if (mark := target ^ hash(text)) not in sent and len(texts) < EDGES:
            sent.add(mark)
            texts.append((target, text))
    return Edges(_own_host_key(host), leads.edges, leads.hosts, texts) if leads.edges else None


_own_host_key = lru_cache(1000)(document_key)


def _place(job: Job) -> extract.Place | None:
    directory = urls.directory(job.url)
    return extract.Place(directory.encode(), _folder_host_key(directory), job.key) if directory else None


@lru_cache(1000)
def _folder_host_key(directory: str) -> int:
    return document_key(urls.host(directory))


_host_keys: dict[int, int] = {}  # of pages met lately: most links of a page stood on the last one too


def _host_key(page: int, url: str) -> int:
    if len(_host_keys) > 20_000:
        _host_keys.clear()
    key = _host_keys[page] = document_key(urls.host(url))
    return key


def search_document(
    key: int,
    url: str,
    status: int,
    document: extract.Document,
    host: str,
    captured_ms: int,
    digest: str,
    likeness: int,
) -> SearchDocument | None:
    """What search should know about a page; None when it should not find it."""
    text = document.main or document.text
    if status != 200 or document.kind not in SEARCHABLE or not (text or document.title):
        return None
    return SearchDocument(
        key=key,
        url=url,
        title=document.title,
        headings=document.headings,
        description=document.description,
        text=text,
        host=host,
        language=document.language,
        type="html" if document.kind == "xhtml" else document.kind,
        captured_ms=captured_ms,
        published_ms=document.published,
        author=document.author,
        digest=digest,
        simhash=likeness,
    )


def _likeness(document: extract.Document) -> int:
    """A fingerprint near-equal for near-equal texts; numbers do not count. 0 when there is too little text."""
    return simhash(document.main or document.text, digits=False)


def _exact(document: extract.Document) -> int:
    """The fingerprint of a short text; 0 when there is none."""
    text = document.main or document.text
    if not text:
        return 0
    data = without_digits(f"{document.title}\n{text}").encode("utf-8", "replace")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little", signed=True)


class SpooledBody:
    """A body on disk, read in pieces."""

    def __init__(self, file: Path) -> None:
        self.path: Path | None = file
        self._file = file
        self._size = file.stat().st_size

    def __len__(self) -> int:
        return self._size

    def chunks(self) -> Iterator[bytes]:
        with self._file.open("rb") as file:
            while chunk := file.read(1 << 18):
                yield chunk

    def beginning(self, limit: int) -> bytes:
        with self._file.open("rb") as file:
            return file.read(limit)

    def digest(self) -> str:
        hasher = hashlib.sha256()
        for chunk in self.chunks():
            hasher.update(chunk)
        return f"sha256:{hasher.hexdigest()}"


def header(head: bytes, name: bytes) -> str:
    """The first value of a header in a raw head."""
    found = _pattern(name).search(head)
    return found[1].decode("latin-1").strip() if found else ""


def header_all(head: bytes, name: bytes) -> list[str]:
    return [value.decode("latin-1").strip() for value in _pattern(name).findall(head)]


_REFRESH = re.compile(r"\s*\d*\.?\d*\s*[;,]\s*(?:url\s*=\s*)?['\"]?([^'\"\s]+)", re.IGNORECASE)
_patterns: dict[bytes, re.Pattern[bytes]] = {}


def _pattern(name: bytes) -> re.Pattern[bytes]:
    pattern = _patterns.get(name)
    if pattern is None:
        pattern = _patterns[name] = re.compile(rb"\n" + re.escape(name) + rb"[ \t]*:([^\r\n]*)", re.IGNORECASE)
    return pattern


def _role(kind: str, role: int, depth: int) -> tuple[Role | None, int]:
    """What a link of this kind on a page of this role leads to, and at which depth."""
    if kind in ("page", "frame", "feed", "alternate", "canonical"):
        return Role.PAGE, depth + 1
    if kind == "sitemap":
        return Role.SITEMAP, depth
    return _requisite(role, depth)


def _requisite(role: int, depth: int) -> tuple[Role | None, int]:
    """Requisites of requisites (a style's fonts, a frame's images) are followed for a few steps."""
    steps = depth - REQUISITE_BASE + 1 if role == Role.REQUISITE else 1
    return (Role.REQUISITE, REQUISITE_BASE + steps) if steps <= REQUISITE_STEPS else (None, 0)


_PRIORITY_SITEMAP = 100
REQUISITE_BASE = 1000  # depth of a requisite: this plus its steps from the page that needs it
