"""Ingest: what a capture is, what it says and where it leads. Every byte passes here once.

A pure function of a capture and the rules of its crawl, run in worker processes that know no database. It returns the
WARC records to append, the document to index and the links to follow; the engine writes them.
"""

from pathlib import Path

from hemeroteca import extract, urls, warc
from hemeroteca.engine import documents, version_changes
from hemeroteca.engine.edges import folder_host_key
from hemeroteca.engine.headers import header, header_all
from hemeroteca.engine.links import Links
from hemeroteca.engine.messages import Attached, Ingested, Job, Rules
from hemeroteca.engine.spooled_body import SpooledBody
from hemeroteca.extract import elements
from hemeroteca.extract.scripted import needs_browser
from hemeroteca.urls.candidate import Role
from hemeroteca.warc.keys import DOM, SCREENSHOT, index_key

COMPARED = {"html", "xhtml", "text"}


class Ingest:
    """Knows the rules of the crawls under way."""

    def __init__(self) -> None:
        self._rules: dict[int, Rules] = {}
        self._links = Links()

    def learn(self, rules: Rules) -> None:
        self._rules[rules.crawl] = rules
        self._links.learn(rules)

    def forget(self, crawl: int) -> None:
        self._rules.pop(crawl, None)
        self._links.forget(crawl)

    def __call__(self, job: Job) -> Ingested:
        rules = self._rules[job.crawl]
        body: bytes | SpooledBody = SpooledBody(Path(job.path)) if job.path else job.body
        result = _begun(job, body)
        if result.same and not job.dom and rules.options.knows_its_pages:
            return result
        document = None
        if not job.unread and not _is_redirect(job) and len(body):
            document = self._read(job, body, result)
            if result.render:
                return result
        nofollow = _obey(job, rules, document, result)
        if not result.noarchive and (not result.same or job.dom):
            self._archive(job, body, result)
        if not result.noarchive and not result.same:
            result.attached = _attached(job)
        self._follow(job, document, nofollow, result)
        if document is not None and not result.same:
            self._document(job, document, result)
        if rules.options.watch is not None:
            version_changes.look(job, body, document, result)
        elif document is not None and document.kind in COMPARED and not result.same:
            version_changes.weigh(job, body, result)
        return result

    def _follow(self, job: Job, document: extract.Document | None, nofollow: bool, result: Ingested) -> None:
        """Where the capture leads."""
        if _is_redirect(job):
            self._links.redirect(job, header(job.response_head, b"location"), result)
        if job.leads:
            self._links.redirect(job, job.leads, result)
        if document is not None:
            self._links.refresh(job, document, header(job.response_head, b"refresh"), result)
            self._links.find(job, document, nofollow, result)

    def _archive(self, job: Job, body: bytes | SpooledBody, result: Ingested) -> None:
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

    def _read(self, job: Job, body: bytes | SpooledBody, result: Ingested) -> extract.Document | None:
        if job.dom:
            document = extract.read(job.dom, version_changes.DOM_TYPE, job.dom_url)
            if job.include or job.exclude:
                elements.narrow(document, job.dom, version_changes.DOM_TYPE, job.include, job.exclude)
            result.notes.extend(document.notes)
            return document
        raw = body if isinstance(body, bytes) else body.beginning(documents.READ_BYTES)
        encoding = header(job.response_head, b"content-encoding")
        note = ""
        if encoding:
            raw, note = extract.decode_body(raw, encoding, documents.READ_BYTES)
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

    def _document(self, job: Job, document: extract.Document, result: Ingested) -> None:
        likeness = documents.likeness_of(document)
        result.fingerprint = likeness or documents.exact(document)
        if job.role != Role.SITEMAP and not result.noindex:
            result.document = documents.search_document(
                job.key,
                job.url,
                job.status,
                document,
                job.host,
                job.started_ms,
                result.dom_digest or result.digest,
                likeness,
            )


def _begun(job: Job, body: bytes | SpooledBody) -> Ingested:
    """What is known of a capture before it is read."""
    head = job.response_head
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
    return result


def _is_redirect(job: Job) -> bool:
    return 300 <= job.status < 400


def _obey(job: Job, rules: Rules, document: extract.Document | None, result: Ingested) -> bool:
    """What the header and the page say to robots, noted; gives whether its links are not to be followed."""
    if rules.options.ignore_robots:
        return False
    said = urls.robots.directives(header_all(job.response_head, b"x-robots-tag"), rules.agent)
    result.noarchive = said.noarchive or (document is not None and document.noarchive)
    result.noindex = said.noindex or (document is not None and document.noindex)
    return said.nofollow or (document is not None and document.nofollow)


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


def _place(job: Job) -> extract.Place | None:
    directory = urls.directory(job.url)
    return extract.Place(directory.encode(), folder_host_key(directory), job.key) if directory else None
