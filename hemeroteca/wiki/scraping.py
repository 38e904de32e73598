"""Where a wiki's API is closed: `Special:Export`, then the pages of histories. Both obey robots.txt.

A page of a history tells minutes, not seconds, and neither user numbers nor sha1; the text of each revision is one
request (`action=raw`). Articles read this way say so in `source`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode, urljoin

from hemeroteca import urls
from hemeroteca.clock import now_ms
from hemeroteca.errors import NotFound, Refused
from hemeroteca.lake.revisions import Revision, Text
from hemeroteca.wiki import answers, wiki_address
from hemeroteca.wiki.answers import WikiPage
from hemeroteca.wiki.models import Wiki

if TYPE_CHECKING:
    from hemeroteca.wiki.mediawiki import WikiClient

EXPORT, HISTORY = "export", "history"
AT_ONCE = 500
MAX_PAGES = 100_000  # of one history


def find(client: WikiClient, place: wiki_address.ApiPlace) -> Wiki | None:
    """A wiki without an API, by the address of one of its pages; None when there is none."""
    for candidate in place.candidates:
        index = candidate.removesuffix("api.php") + "index.php"
        try:
            reply = client.page(f"{index}?title=Special:Version&uselang=en")
        except Refused:
            continue
        if reply.status != 200 or b"MediaWiki" not in reply.body:
            continue
        language = re.search(rb'<html[^>]* lang="([\w-]+)"', reply.body)
        generator = re.search(rb'<meta name="generator" content="([^"]+)"', reply.body)
        wiki, _ = Wiki.objects.update_or_create(
            name=wiki_address.name_of(candidate),
            defaults={
                "api_url": "",
                "index_url": index,
                "article_path": f"{index}?title=$1",
                "farm": wiki_address.farm_of(candidate),
                "locale": language[1].decode() if language else "",
                "generator": generator[1].decode("utf-8", "replace")[:100] if generator else "",
                "known_ms": now_ms(),
            },
        )
        return wiki
    return None


def pages(client: WikiClient, wiki: Wiki, titles: Sequence[str]) -> Iterator[WikiPage]:
    """Pages by title; each knows how it can be read (`source_of`)."""
    for title in titles:
        reply = client.page(f"{wiki.index_url}?{urlencode({'title': title, 'action': 'info', 'uselang': 'en'})}")
        number = re.search(rb'"wgArticleId":(\d+)', reply.body)
        if reply.status != 200 or number is None or number[1] == b"0":
            continue
        space = re.search(rb'"wgNamespaceNumber":(-?\d+)', reply.body)
        yield WikiPage(title=title.replace("_", " "), pageid=int(number[1]), ns=int(space[1]) if space else 0)


def source_of(client: WikiClient, wiki: Wiki, title: str) -> str:
    """How an article can be read: by Special:Export where that is open, else by its history."""
    try:
        reply = client.page(f"{wiki.index_url}?{urlencode({'title': f'Special:Export/{title}', 'limit': 1})}")
    except Refused:
        return HISTORY
    return EXPORT if reply.status == 200 and reply.body.lstrip().startswith(b"<mediawiki") else HISTORY


def revisions(
    client: WikiClient, wiki: Wiki, source: str, page: WikiPage, text: bool
) -> Iterator[tuple[list[Revision], list[Text]]]:
    """Parts of a history, oldest first."""
    if source == EXPORT:
        yield from _exported(client, wiki, page, text)
    else:
        yield from _scraped(client, wiki, page, text)


def _exported(
    client: WikiClient, wiki: Wiki, page: WikiPage, text: bool
) -> Iterator[tuple[list[Revision], list[Text]]]:
    from hemeroteca.wiki import dumps

    offset, seen = "1", set[int]()
    for _ in range(MAX_PAGES):
        form = {
            "title": "Special:Export",
            "pages": page.title,
            "offset": offset,
            "limit": AT_ONCE,
            "dir": "asc",
            "action": "submit",
        }
        reply = client.page(wiki.index_url, urlencode(form).encode())
        if reply.status != 200:
            raise NotFound(f"Special:Export of {wiki.name} answered HTTP {reply.status} for {page.title!r}")
        rows: list[Revision] = []
        texts: list[Text] = []
        for _, row, brought in dumps.revisions(iter([reply.body]), wiki.name, wiki.locale, now_ms(), text):
            if row.revid not in seen:
                seen.add(row.revid)
                rows.append(row)
                texts += brought
        if not rows:
            return
        yield rows, texts
        if len(rows) < AT_ONCE // 2 and len(rows) < 100:
            return
        offset = datetime.fromtimestamp(max(row.timestamp for row in rows) / 1000, UTC).strftime("%Y%m%d%H%M%S")


_ITEM = re.compile(r'<li[^>]*data-mw-revid="(\d+)"[^>]*>(.*?)</li>', re.DOTALL)
_DATE = re.compile(r'class="mw-changeslist-date[^"]*"[^>]*>([^<]+)<')
_USER = re.compile(r'<a [^>]*class="[^"]*\bmw-userlink\b[^"]*"[^>]*>\s*<bdi>(.*?)</bdi>', re.DOTALL)
_ANON = re.compile(r'class="[^"]*\bmw-anonuserlink\b')
_COMMENT = re.compile(r'<span class="comment[^"]*">\s*\(?(.*?)\)?\s*</span>\s*(?:<span|$|\(|</)', re.DOTALL)
_SIZE = re.compile(r'class="[^"]*history-size[^"]*"[^>]*data-mw-bytes="(\d+)"')
_TAG = re.compile(r"mw-tag-marker-([\w.\-]+)")
_NEXT = re.compile(r'<a [^>]*class="mw-nextlink"[^>]*>|<a [^>]*rel="next"[^>]*>')
_HREF = re.compile(r'href="([^"]+)"')


def _scraped(client: WikiClient, wiki: Wiki, page: WikiPage, text: bool) -> Iterator[tuple[list[Revision], list[Text]]]:
    address_ = f"{wiki.index_url}?" + urlencode(
        {"title": page.title, "action": "history", "limit": AT_ONCE, "uselang": "en"}
    )
    parts: list[list[Revision]] = []
    for _ in range(MAX_PAGES):  # newest first, as pages of histories are
        reply = client.page(address_)
        if reply.status != 200:
            raise NotFound(f"the history of {page.title!r} on {wiki.name} answered HTTP {reply.status}")
        html = reply.body.decode("utf-8", "replace")
        parts.append([row for found in _ITEM.finditer(html) if (row := _row(found[1], found[2], wiki, page))])
        link = _NEXT.search(html)
        target = _HREF.search(link[0]) if link else None
        if target is None or not parts[-1]:
            break
        address_ = urljoin(reply.url, _plain(target[1])) + "&uselang=en"
    for rows in reversed(parts):
        rows.reverse()
        texts = [found for row in rows if text and (found := _raw(client, wiki, row))]
        yield rows, texts


def _row(number: str, html: str, wiki: Wiki, page: WikiPage) -> Revision | None:
    date = _DATE.search(html)
    if date is None:
        return None
    user = _USER.search(html)
    comment = None if "mw-comment-none" in html else _COMMENT.search(html)
    name = _plain(re.sub(r"<[^>]+>", "", user[1])) if user else None
    size = _SIZE.search(html)
    return Revision(
        wiki=wiki.name,
        locale=wiki.locale,
        ns=page.ns,
        pageid=page.pageid,
        title=page.title,
        revid=int(number),
        timestamp=_minute(date[1]),
        user=name,
        anon=_ANON.search(html) is not None,
        temp=name is not None and answers.is_temporary(name, tuple(wiki.temporary)),
        minor='class="minoredit"' in html,
        size=int(size[1]) if size else None,
        comment=_plain(re.sub(r"<[^>]+>", "", comment[1])) if comment else "",
        parsedcomment=comment[1] if comment else "",
        tags=sorted(set(_TAG.findall(html))),
        userhidden=user is None and "history-deleted" in html,
        extraction_date=now_ms(),
    )


def _raw(client: WikiClient, wiki: Wiki, row: Revision) -> Text | None:
    import hashlib

    reply = client.page(f"{wiki.index_url}?title={quote(row.title)}&action=raw&oldid={row.revid}")
    if reply.status != 200:
        return None
    row.text_sha1 = row.sha1 = hashlib.sha1(reply.body, usedforsecurity=False).hexdigest()
    return Text(wiki=wiki.name, pageid=row.pageid, sha1=row.sha1, text=reply.body.decode("utf-8", "replace"))


def _minute(text: str) -> int:
    """`21:03, 16 November 2026`, as English pages of histories write it."""
    for format_ in ("%H:%M, %d %B %Y", "%H:%M, %B %d, %Y", "%Y-%m-%dT%H:%M:%S", "%H:%M, %Y %B %d"):
        try:
            return int(datetime.strptime(text.strip(), format_).replace(tzinfo=UTC).timestamp() * 1000)
        except ValueError:
            continue
    return 0


def _plain(html: str) -> str:
    import html as entities

    return entities.unescape(html).strip()


__all__ = ["find", "pages", "revisions", "source_of", "urls"]
