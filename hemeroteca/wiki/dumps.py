"""XML dumps (`pages-meta-history`, also bz2, gz, 7z) and Wikimedia's history dumps (TSV), read as revisions.

A dump is read as a stream: memory does not grow with it. Its sha1s are base 36; here they are hexadecimal.
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import shutil
import subprocess
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import msgspec

from hemeroteca.clock import now_ms
from hemeroteca.errors import Invalid, Unavailable
from hemeroteca.lake.revisions import Revision, Text
from hemeroteca.plain import whole_number
from hemeroteca.warc import timestamps
from hemeroteca.wiki import answers, commits
from hemeroteca.wiki.answers import WikiPage
from hemeroteca.wiki.commits import ArticleChange, Buffer, Overtaken
from hemeroteca.wiki.kept_history import Known, load_known
from hemeroteca.wiki.models import Article, Wiki

CHUNK = 1 << 20
MAX_TEXT_BYTES = 64 << 20  # of one element
MAX_NAMESPACE = 100_000
UNPACKERS = ("7z", "7zz", "7zr", "7za")


class ImportedDump(msgspec.Struct):
    wiki: str = ""
    articles: int = 0
    revisions: int = 0  # new ones
    known: int = 0
    texts: int = 0
    unreadable: int = 0  # lines or revisions without a number or a time


def read(path: Path, wiki: str, locale: str, text: bool, progress: Callable[[int, str], None]) -> ImportedDump:
    """Import a dump, whichever of both it is."""
    now = now_ms()
    result = ImportedDump()
    with _broken_file_errors(path), opened(path) as file:
        head = file.peek(4096)[:4096]  # type: ignore[attr-defined]
        if b"<mediawiki" in head:
            site = Site()
            rows = revisions(iter(lambda: file.read(CHUNK), b""), wiki, locale, now, text, site)
        elif head.count(b"\t") >= 20:
            site = Site(name=wiki, locale=locale)
            rows = history(file, wiki, locale, now, result)
        else:
            raise Invalid(f"{path.name} is neither an XML dump of MediaWiki nor one of Wikimedia's history dumps (TSV)")
        _Import(wiki, locale, site, result, progress).take(rows)
    return result


@contextmanager
def _broken_file_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (EOFError, zlib.error) as error:
        raise Invalid(f"{path.name} is cut or damaged ({error}); what was read until there is kept")


class Site(msgspec.Struct):
    """What the head of a dump says of its wiki."""

    name: str = ""
    locale: str = ""
    sitename: str = ""
    generator: str = ""


class _Import:
    """Rows of a dump, article by article, into the lake."""

    def __init__(
        self, name: str, locale: str, site: Site, result: ImportedDump, progress: Callable[[int, str], None]
    ) -> None:
        self._name, self._locale, self._site = name, locale, site
        self._result = result
        self._progress = progress
        self._wiki: Wiki | None = None

    def take(self, rows: Iterator[tuple[WikiPage, Revision, list[Text]]]) -> None:
        page: WikiPage | None = None
        held: list[tuple[Revision, list[Text]]] = []
        for found, row, texts in rows:
            if page is not None and (found.pageid != page.pageid or len(held) >= 5_000):
                self._keep(page, held, found.pageid != page.pageid)
                held = []
            page = found
            held.append((row, texts))
        if page is not None:
            self._keep(page, held, True)

    def _keep(self, page: WikiPage, held: list[tuple[Revision, list[Text]]], last: bool) -> None:
        wiki = self._wiki or self._find_wiki(held[0][0])
        while True:
            article, _ = Article.objects.get_or_create(
                wiki=wiki,
                pageid=page.pageid,
                defaults={"title": page.title, "ns": page.ns, "source": "dump" if not wiki.api_url else "api"},
            )
            known = load_known(wiki, article, commits.lake_files())
            new = [row for row, _ in held if row.revid not in known.fingerprints]
            texts = {text.sha1: text for _, brought in held for text in brought if text.sha1 not in known.texts}
            try:
                self._write(wiki, article, held, new, list(texts.values()))
                break
            except Overtaken:
                continue
        self._result.articles += last
        self._result.revisions += len(new)
        self._result.known += len(held) - len(new)
        self._result.texts += len(texts)
        self._progress(self._result.revisions + self._result.known, page.title)

    def _write(self, wiki: Wiki, article: Article, held: list[Any], new: list[Revision], texts: list[Text]) -> None:
        if not new and not texts:
            return
        newest = max((row.timestamp, row.revid) for row, _ in held)
        newest = max(newest, (article.last_revision_ms, article.last_revision))
        now = now_ms()
        buffer = Buffer(wiki)
        buffer.add(
            ArticleChange(
                article,
                article.version,
                new,
                texts=texts,
                fields={
                    "last_revision_ms": newest[0],
                    "last_revision": newest[1],
                    "last_extraction_ms": now,
                    "first_extraction_ms": article.first_extraction_ms or now,
                },
            )
        )
        buffer.write()

    def _find_wiki(self, row: Revision) -> Wiki:
        name = self._name or self._site.name or row.wiki
        if not name:
            raise Invalid("the dump does not say which wiki it is of; name it with --wiki, like es.wikipedia.org")
        self._wiki, _ = Wiki.objects.get_or_create(
            name=name,
            defaults={
                "api_url": "",
                "farm": name,
                "locale": self._locale or self._site.locale or row.locale,
                "sitename": self._site.sitename,
                "generator": self._site.generator[:100],
            },
        )
        return self._wiki


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """The bytes of a dump, unpacked by the end of its name."""
    import io

    if path.suffix == ".bz2":
        with bz2.open(path, "rb") as file:
            yield io.BufferedReader(file, CHUNK)
    elif path.suffix == ".gz":
        with gzip.open(path, "rb") as file:
            yield io.BufferedReader(file, CHUNK)
    elif path.suffix == ".7z":
        program = next((found for name in UNPACKERS if (found := shutil.which(name))), None)
        if program is None:
            raise Unavailable(f"{path.name} needs a program that unpacks 7z (Debian: apt install 7zip)")
        child = subprocess.Popen(
            [program, "e", "-so", "--", str(path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert child.stdout is not None
        try:
            unpacked = io.BufferedReader(child.stdout, CHUNK)  # type: ignore[type-var]
            yield unpacked
            if not unpacked.read(1) and child.wait():
                raise EOFError("the unpacker says that it is damaged")
        finally:
            child.stdout.close()
            child.kill()
            child.wait()
    else:
        with path.open("rb", CHUNK) as file:
            yield file


def revisions(
    chunks: Iterator[bytes], wiki: str, locale: str, now: int, text: bool, site: Site | None = None
) -> Iterator[tuple[WikiPage, Revision, list[Text]]]:
    """Revisions of an XML dump or of Special:Export, in the order of the file."""
    from lxml import etree

    parser = etree.XMLPullParser(
        ("start", "end"), resolve_entities=False, no_network=True, huge_tree=True, load_dtd=False
    )
    site = site if site is not None else Site()
    page: dict[str, Any] = {}
    for chunk in chunks:
        try:
            parser.feed(chunk)
        except etree.XMLSyntaxError as error:
            raise Invalid(f"the dump is not whole or not XML: {error}")
        for event, element in parser.read_events():
            name = etree.QName(element).localname
            if event == "start":
                if name == "page":
                    page = {}
                elif name == "mediawiki":
                    site.locale = element.get("{http://www.w3.org/XML/1998/namespace}lang") or site.locale
                continue
            parent = element.getparent()
            above = etree.QName(parent).localname if parent is not None else ""
            if above == "siteinfo":
                _read_site(site, name, element.text or "")
            elif above == "page" and name in ("title", "ns", "id"):
                page[name] = element.text or ""
            elif name == "revision":
                found = _revision(element, page, wiki or site.name, locale or site.locale, now, text)
                element.clear()
                if parent is not None:
                    while element.getprevious() is not None:
                        del parent[0]
                if found is not None:
                    yield found
            elif name == "page":
                element.clear()
                while parent is not None and element.getprevious() is not None:
                    del parent[0]
    try:
        parser.close()
    except etree.XMLSyntaxError as error:
        raise Invalid(f"the dump is cut or not XML: {error}; what was read until there is kept")


def _read_site(site: Site, name: str, text: str) -> None:
    from urllib.parse import urlsplit

    if name == "base" and not site.name:
        site.name = urlsplit(text).netloc
    elif name == "sitename":
        site.sitename = text
    elif name == "generator":
        site.generator = text


def _revision(
    element: Any, page: dict[str, Any], wiki: str, locale: str, now: int, text: bool
) -> tuple[WikiPage, Revision, list[Text]] | None:
    from lxml import etree

    parts = {etree.QName(part).localname: part for part in element}
    number, stamp = _text(parts, "id"), timestamps.from_iso(_text(parts, "timestamp") or "")
    revid, pageid = _number(number), _number(page.get("id"))
    if revid is None or stamp is None or pageid is None:
        return None
    of = WikiPage(title=page.get("title", ""), pageid=pageid, ns=_namespace(page.get("ns") or ""))
    person = {etree.QName(part).localname: part for part in parts.get("contributor", ())}
    hidden = {name for name in ("contributor", "comment", "text") if name in parts and parts[name].get("deleted")}
    ip, user, userid = _text(person, "ip"), _text(person, "username"), _text(person, "id")
    body = parts.get("text")
    content = body.text or "" if body is not None and "text" not in hidden and body.get("location") is None else None
    size = body.get("bytes") if body is not None else None
    if content is not None and size is not None and size != "0" and not content:
        content = None  # a stub dump: the text is elsewhere
    data = content.encode("utf-8", "surrogatepass") if content is not None else b""
    sha1 = answers.hexadecimal(_text(parts, "sha1") or (body.get("sha1") if body is not None else None))
    if sha1 is None and content is not None:
        sha1 = hashlib.sha1(data, usedforsecurity=False).hexdigest()
    name = user if user is not None else ip
    parent = _text(parts, "parentid")
    row = Revision(
        wiki=wiki,
        locale=locale,
        ns=of.ns,
        pageid=of.pageid,
        title=of.title,
        revid=revid,
        parentid=_number(parent) or 0,
        timestamp=stamp,
        user=None if "contributor" in hidden else name,
        userid=None if "contributor" in hidden else _number(userid) or 0,
        anon=ip is not None and user is None and answers.is_address(ip),
        temp=name is not None and answers.is_temporary(name),
        minor="minor" in parts,
        size=len(data) if size is None and content is not None else _number(size),
        sha1=sha1,
        text_sha1=sha1,
        contentmodel=_text(parts, "model"),
        contentformat=_text(parts, "format"),
        comment=None if "comment" in hidden else _text(parts, "comment") or "",
        userhidden="contributor" in hidden,
        commenthidden="comment" in hidden,
        texthidden="text" in hidden,
        sha1hidden="text" in hidden and not sha1,
        extraction_date=now,
    )
    texts = (
        [Text(wiki=wiki, pageid=of.pageid, sha1=sha1, text=content)] if text and sha1 and content is not None else []
    )
    return of, row, texts


def _namespace(text: str) -> int:
    number = whole_number(text.removeprefix("-")) or 0
    return 0 if number > MAX_NAMESPACE else -number if text.startswith("-") else number


def _number(text: str | None) -> int | None:
    return whole_number(text) if text else None


def _text(parts: dict[str, Any], name: str) -> str | None:
    found = parts.get(name)
    return None if found is None else found.text or ""


# https://wikitech.wikimedia.org/wiki/Data_Platform/Data_Lake/Edits/Mediawiki_history_dumps: places of what is read
COLUMNS = (
    *("wiki_db", "event_entity", "event_type", "event_timestamp", "event_comment", "event_user_id"),
    *("event_user_text_historical", "event_user_text", "event_user_blocks_historical", "event_user_blocks"),
    *("event_user_groups_historical", "event_user_groups", "event_user_is_bot_by_historical", "event_user_is_bot_by"),
    *("event_user_is_created_by_self", "event_user_is_created_by_system", "event_user_is_created_by_peer"),
    *("event_user_is_anonymous", "event_user_registration_timestamp", "event_user_creation_timestamp"),
    *("event_user_first_edit_timestamp", "event_user_revision_count", "event_user_seconds_since_previous_revision"),
    *("page_id", "page_title_historical", "page_title", "page_namespace_historical"),
    *("page_namespace_is_content_historical", "page_namespace", "page_namespace_is_content", "page_is_redirect"),
    *("page_is_deleted", "page_creation_timestamp", "page_first_edit_timestamp", "page_revision_count"),
    *("page_seconds_since_previous_revision", "user_id", "user_text_historical", "user_text"),
    *("user_blocks_historical", "user_blocks", "user_groups_historical", "user_groups", "user_is_bot_by_historical"),
    *("user_is_bot_by", "user_is_created_by_self", "user_is_created_by_system", "user_is_created_by_peer"),
    *("user_is_anonymous", "user_registration_timestamp", "user_creation_timestamp", "user_first_edit_timestamp"),
    *("revision_id", "revision_parent_id", "revision_minor_edit", "revision_deleted_parts"),
    *("revision_deleted_parts_are_suppressed", "revision_text_bytes", "revision_text_bytes_diff"),
    *(
        "revision_text_sha1",
        "revision_content_model",
        "revision_content_format",
        "revision_is_deleted_by_page_deletion",
    ),
    *("revision_deleted_by_page_deletion_timestamp", "revision_is_identity_reverted"),
    *("revision_first_identity_reverting_revision_id", "revision_seconds_to_identity_revert"),
    *("revision_is_identity_revert", "revision_is_from_before_page_creation", "revision_tags"),
)
_PLACE = {name: place for place, name in enumerate(COLUMNS)}
MAX_LINE = 1 << 20


def history(
    file: IO[bytes], wiki: str, locale: str, now: int, result: ImportedDump
) -> Iterator[tuple[WikiPage, Revision, list[Text]]]:
    """Revisions of one of Wikimedia's history dumps; what else happened (users, pages) is passed over."""
    while line := file.readline(MAX_LINE):
        cells = line.decode("utf-8", "replace").rstrip("\n").split("\t")
        if len(cells) < 60:
            result.unreadable += 1
            continue
        if cells[_PLACE["event_entity"]] != "revision" or cells[_PLACE["event_type"]] != "create":
            continue
        found = _history_row(cells, wiki, locale, now)
        if found is None:
            result.unreadable += 1
        else:
            yield *found, []


def _history_row(cells: list[str], wiki: str, locale: str, now: int) -> tuple[WikiPage, Revision] | None:
    def cell(name: str) -> str:
        return cells[_PLACE[name]] if _PLACE[name] < len(cells) else ""

    stamp = timestamps.from_iso(cell("event_timestamp").partition(".")[0])
    revid, pageid = _number(cell("revision_id")), _number(cell("page_id"))
    if revid is None or pageid is None or stamp is None:
        return None
    title = (cell("page_title") or cell("page_title_historical")).replace("_", " ")
    space = cell("page_namespace") or cell("page_namespace_historical")
    of = WikiPage(title=title, pageid=pageid, ns=_namespace(space))
    hidden = set(cell("revision_deleted_parts").split(","))
    sha1 = answers.hexadecimal(cell("revision_text_sha1"))
    user = cell("event_user_text") or cell("event_user_text_historical")
    database = cell("wiki_db")
    row = Revision(
        wiki=wiki or _site_of(database),
        locale=locale or database.removesuffix("wiki"),
        ns=of.ns,
        pageid=of.pageid,
        title=title,
        revid=revid,
        parentid=_number(cell("revision_parent_id")),
        timestamp=stamp,
        user=None if "user" in hidden else user or None,
        userid=None if "user" in hidden else _number(cell("event_user_id")) or 0,
        anon=cell("event_user_is_anonymous") == "true" and answers.is_address(user),
        temp=answers.is_temporary(user),
        minor=cell("revision_minor_edit") == "true",
        size=_number(cell("revision_text_bytes")),
        sha1=sha1,
        text_sha1=sha1,
        contentmodel=cell("revision_content_model") or None,
        contentformat=cell("revision_content_format") or None,
        comment=None if "comment" in hidden else cell("event_comment"),
        tags=sorted(tag for tag in cell("revision_tags").split(",") if tag),
        userhidden="user" in hidden,
        commenthidden="comment" in hidden,
        texthidden="text" in hidden,
        suppressed=cell("revision_deleted_parts_are_suppressed") == "true",
        gone=cell("revision_is_deleted_by_page_deletion") == "true",
        extraction_date=now,
    )
    return of, row


def _site_of(database: str) -> str:
    """eswiki → es.wikipedia.org; other names stay as they are."""
    families = {"wiki": "wikipedia", "wiktionary": "wiktionary", "wikibooks": "wikibooks", "wikiquote": "wikiquote"}
    for end, family in families.items():
        if database.endswith(end) and len(database) > len(end):
            return f"{database.removesuffix(end).replace('_', '-')}.{family}.org"
    return database


__all__ = ["ImportedDump", "Known", "history", "opened", "read", "revisions"]
