"""Tags and notes that people give pages, shared by all who use the instance.

A page is what the index files under one key, so a tag of `http://www.example.org/a/` is one of `https://example.org/a`.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from django.db import transaction
from django.db.models import Count, Max, Q

from hemeroteca import urls
from hemeroteca.accounts import Actor, require
from hemeroteca.archive.models import IndexedCapture, PageNote, PageTag
from hemeroteca.clock import now_ms
from hemeroteca.errors import Conflict, Invalid, NotFound
from hemeroteca.plain import storable
from hemeroteca.warc.keys import index_key

MAX_TAG = 60
MAX_TAGS = 50  # of one page
MAX_NOTE = 10_000
MAX_NOTES = 200  # of one page


class Noted(NamedTuple):
    """A page that somebody tagged or wrote about."""

    url: str
    tags: tuple[str, ...]
    notes: int
    last_ms: int


def tags_of(url: str) -> list[str]:
    return list(PageTag.objects.filter(urlkey=_key(url)).order_by("tag").values_list("tag", flat=True))


def tags_of_all(addresses: Iterable[str]) -> dict[str, list[str]]:
    """The tags of several pages, by their addresses; those without any are left out."""
    keys = {url: storable(index_key(url)) for url in addresses}
    tagged: dict[str, list[str]] = {}
    rows = PageTag.objects.filter(urlkey__in=set(keys.values())).order_by("tag")
    for key, tag in rows.values_list("urlkey", "tag"):
        tagged.setdefault(key, []).append(tag)
    return {url: tagged[key] for url, key in keys.items() if key in tagged}


def notes_of(url: str) -> list[PageNote]:
    """Newest first."""
    return list(PageNote.objects.filter(urlkey=_key(url)).order_by("-pk")[:MAX_NOTES])


def set_tags(actor: Actor, url: str, tags: Iterable[str]) -> list[str]:
    """The tags of a page from now on."""
    require(actor, "archive.note")
    wanted = sorted({_tag(tag) for tag in tags if tag.strip()})
    if len(wanted) > MAX_TAGS:
        raise Invalid(f"a page has at most {MAX_TAGS} tags, not {len(wanted)}")
    key, now = _key(url), now_ms()
    with transaction.atomic():
        PageTag.objects.filter(urlkey=key).exclude(tag__in=wanted).delete()
        known = set(PageTag.objects.filter(urlkey=key).values_list("tag", flat=True))
        new = [tag for tag in wanted if tag not in known]
        rows = [PageTag(urlkey=key, url=storable(url), tag=tag, actor=actor.name, made_ms=now) for tag in new]
        PageTag.objects.bulk_create(rows, ignore_conflicts=True)
    return wanted


def add_note(actor: Actor, url: str, text: str) -> PageNote:
    require(actor, "archive.note")
    plain = storable(text).replace("\r\n", "\n").strip()
    if not 1 <= len(plain) <= MAX_NOTE:
        raise Invalid(f"a note has 1 to {MAX_NOTE:,} characters, not {len(plain):,}")
    key = _key(url)
    if PageNote.objects.filter(urlkey=key).count() >= MAX_NOTES:
        raise Conflict(f"{url[:200]} has {MAX_NOTES} notes already; remove one first")
    return PageNote.objects.create(
        urlkey=key, url=storable(url), text=plain, owner=actor.user, actor=actor.name, made_ms=now_ms()
    )


def remove_note(actor: Actor, number: int) -> str:
    """Of who wrote it, or an administrator; the address it was about."""
    note = PageNote.objects.filter(pk=number).first()
    if note is None:
        raise NotFound(f"there is no note {number}")
    require(actor, "archive.unnote", note)
    note.delete()
    return note.url


def forget(urlkeys: Iterable[str]) -> None:
    """What was said of pages that are erased; they are named by their keys in the index."""
    keys = sorted(urlkeys)
    for start in range(0, len(keys), 400):
        for table in (PageNote, PageTag):
            table.objects.filter(urlkey__in=keys[start : start + 400]).delete()


def tags(limit: int = 200) -> list[tuple[str, int]]:
    """Every tag with how many pages have it, the most used first."""
    found = PageTag.objects.values_list("tag").annotate(pages=Count("pk")).order_by("-pages", "tag")
    return [(tag, pages) for tag, pages in found[:limit]]


def tagged(tag: str, most: int) -> list[int]:
    """Keys (`page.key`) of the pages with a tag, those that got it last first; several spellings of an address that
    are filed as one are all meant."""
    rows = PageTag.objects.filter(tag=storable(tag)).order_by("-made_ms", "urlkey")
    found = dict(rows.values_list("urlkey", "url")[:most])
    names, filed = list(found), defaultdict(list)
    for start in range(0, len(names), 400):
        captures = IndexedCapture.objects.filter(urlkey__in=names[start : start + 400], page__isnull=False)
        for urlkey, key in captures.values_list("urlkey", "page__key").distinct():
            filed[urlkey].append(key)
    every = (key for urlkey, url in found.items() for key in filed.get(urlkey) or [urls.key(url)])
    return list(dict.fromkeys(every))[:most]


def find(words: str = "", tag: str = "", limit: int = 50, offset: int = 0) -> list[Noted]:
    """Pages with a tag, or with words in a note, a tag or the address; the last noted first."""
    keys: dict[str, int] = {}
    words, tag = storable(words), storable(tag)
    if tag:
        found = PageTag.objects.filter(tag=tag.strip().lower()).order_by("-made_ms", "urlkey")
        keys = dict(found.values_list("urlkey", "made_ms")[offset : offset + limit])
    else:
        for table in (PageNote, PageTag):
            text = "text" if table is PageNote else "tag"
            every = table.objects.all()
            for word in words.split()[:10]:
                every = every.filter(Q(**{f"{text}__icontains": word}) | Q(url__icontains=word))
            last = every.values_list("urlkey").annotate(last=Max("made_ms")).order_by("-last")
            for key, moment in last[: offset + limit]:
                keys[key] = max(keys.get(key, 0), moment)
        keys = dict(sorted(keys.items(), key=lambda item: -item[1])[offset : offset + limit])
    return _noted(list(keys), keys)


def _noted(order: Sequence[str], last: dict[str, int]) -> list[Noted]:
    tags: dict[str, list[str]] = {}
    address: dict[str, str] = {}
    for key, url, tag in PageTag.objects.filter(urlkey__in=order).order_by("tag").values_list("urlkey", "url", "tag"):
        tags.setdefault(key, []).append(tag)
        address[key] = url
    counts: dict[str, int] = {}
    for key, url in PageNote.objects.filter(urlkey__in=order).values_list("urlkey", "url"):
        counts[key] = counts.get(key, 0) + 1
        address.setdefault(key, url)
    return [Noted(address[key], tuple(tags.get(key, ())), counts.get(key, 0), last[key]) for key in order]


def _key(url: str) -> str:
    try:
        urls.canonical(url)
    except urls.UrlError as error:
        raise Invalid(f"{url[:200]!r} is not an address ({error})")
    return storable(index_key(url))


def _tag(text: str) -> str:
    tag = " ".join(storable(text).lower().split())
    if len(tag) > MAX_TAG or re.search(r"[,\x00-\x1f]", tag):
        raise Invalid(f"{text[:80]!r} is not a tag: at most {MAX_TAG} characters, without commas")
    return tag
