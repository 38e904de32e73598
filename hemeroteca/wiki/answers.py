"""What MediaWiki answers, in any of its versions, as pages, revisions and events. Pure; nothing here asks.

Format version 2 is asked for and the older one understood: a flag is there (with an empty text, or true) or it is not,
a text is `content` or `*`, and wikis before 1.32 have no slots.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, TypedDict

import msgspec

from hemeroteca.extract import native
from hemeroteca.lake.revisions import Event, Passage, Revision, Text
from hemeroteca.warc import timestamps

Json = Mapping[str, Any]
_TEMPORARY = re.compile(r"~2\d{3}-")  # how Wikimedia names them: ~2026-12345-6
_ADDRESS = re.compile(r"(?:\d{1,3}\.){3}(?:\d{1,3}|xxx)|[0-9A-Fa-f:]*:[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*")


class WikiPage(msgspec.Struct, frozen=True):
    """An article as the wiki knows it now."""

    title: str
    pageid: int = 0
    ns: int = 0
    missing: bool = False
    invalid: str = ""  # why it is no title
    lastrevid: int = 0
    redirect: bool = False


class _Written:
    """A text as it came; None when it is none."""

    __slots__ = ("text",)

    def __init__(self, text: str | Passage | None) -> None:
        self.text = text


Flag = bool | str


class Slot(msgspec.Struct, gc=False):
    """One of the texts of a revision."""

    sha1: str | None = None
    size: int | None = None
    contentmodel: str | None = None
    contentformat: str | None = None
    content: _Written | None = None
    content_before: _Written | None = msgspec.field(default=None, name="*")
    texthidden: Flag = False


class RevisionEntry(Slot, gc=False):
    """A revision as it is told. Before there were slots its text was its own."""

    revid: int = 0
    parentid: int | None = None
    timestamp: str = ""
    user: str | None = None
    userid: int | None = None
    anon: Flag = False
    temp: Flag = False
    minor: Flag = False
    comment: str | None = None
    parsedcomment: str | None = None
    tags: list[str] | None = None
    slots: dict[str, Slot] | list[Any] | None = None  # a list: PHP's empty object
    userhidden: Flag = False
    commenthidden: Flag = False
    sha1hidden: Flag = False
    suppressed: Flag = False


class _Page(TypedDict, total=False):
    pageid: int
    ns: int
    title: str
    missing: Flag
    revisions: list[RevisionEntry]


class _Query(TypedDict, total=False):
    pages: list[_Page] | dict[str, _Page]
    allrevisions: list[_Page]
    logevents: list[dict[str, Any]]


_Histories = TypedDict(
    "_Histories",
    {
        "query": _Query,
        "continue": dict[str, Any],
        "query-continue": dict[str, dict[str, Any]],
        "error": dict[str, Any],
    },
    total=False,
)


# It looks at these types once: now, not with the first answer.
msgspec.json.Decoder(_Histories, dec_hook=lambda _, found: _Written(found))


def histories(body: bytes, apart: bool = False) -> Any:
    """An answer with revisions. `apart`: texts may stay where they are, as a `Passage`."""
    rest, texts = (native.cut(body) if apart else None) or (body, [])

    def written(_: type, found: Any) -> _Written:
        if isinstance(found, int) and 0 <= found < len(texts):  # a number stands for each that was cut out
            return _Written(texts[found])
        return _Written(found if isinstance(found, str) else None)

    return msgspec.json.decode(rest, type=_Histories, dec_hook=written)


def flag(found: Json, name: str) -> bool:
    return name in found and found[name] is not False


def pages(query: Json) -> Iterator[Json]:
    """Pages of an answer: a list, or (format version 1) an object by number."""
    found = query.get("pages", ())
    yield from found.values() if isinstance(found, dict) else found


def page(found: Json) -> WikiPage:
    return WikiPage(
        title=str(found.get("title", "")),
        pageid=int(found.get("pageid", 0)),
        ns=int(found.get("ns", 0)),
        missing=flag(found, "missing"),
        invalid=str(found.get("invalidreason", "")) if flag(found, "invalid") else "",
        lastrevid=int(found.get("lastrevid", 0)),
        redirect=flag(found, "redirect"),
    )


def revision(
    found: RevisionEntry, wiki: str, locale: str, of: WikiPage, now_ms: int, temporary: tuple[str, ...] = ()
) -> tuple[Revision, list[Text]]:
    """A revision and the texts that came with it."""
    slots = found.slots if isinstance(found.slots, dict) else {}
    main = slots.get("main") or found
    texts: list[Text] = []
    content = _content(main)
    sha1 = found.sha1 or None
    main_sha1 = main.sha1 or (sha1 if len(slots) < 2 else None)
    if content is not None:
        main_sha1 = main_sha1 or _sha1(content)
        texts.append(Text(wiki=wiki, pageid=of.pageid, sha1=main_sha1, text=content))
    others = {}
    if len(slots) > 1:
        for role, slot in slots.items():
            if role == "main":
                continue
            told = {"sha1": slot.sha1, "size": slot.size, "contentmodel": slot.contentmodel}
            others[role] = {name: value for name, value in told.items() if value is not None}
            extra = _content(slot)
            if extra is not None and slot.sha1:
                texts.append(Text(wiki=wiki, pageid=of.pageid, sha1=slot.sha1, text=extra))
    user = found.user
    row = Revision(
        wiki=wiki,
        locale=locale,
        ns=of.ns,
        pageid=of.pageid,
        title=of.title,
        revid=found.revid,
        parentid=found.parentid,
        timestamp=timestamps.from_iso(found.timestamp) or 0,
        user=user,
        userid=found.userid,
        anon=found.anon is not False or (user is not None and not found.userid and is_address(user)),
        temp=found.temp is not False or (user is not None and is_temporary(user, temporary)),
        minor=found.minor is not False,
        size=found.size,
        sha1=sha1 or (main_sha1 if found.sha1hidden is False else None),
        text_sha1=main_sha1,
        contentmodel=main.contentmodel or found.contentmodel,
        contentformat=main.contentformat or found.contentformat,
        comment=found.comment,
        parsedcomment=found.parsedcomment,
        tags=sorted(found.tags) if found.tags else [],
        slots=msgspec.json.encode(others).decode() if others else "",
        userhidden=found.userhidden is not False,
        commenthidden=found.commenthidden is not False,
        texthidden=found.texthidden is not False or main.texthidden is not False,
        sha1hidden=found.sha1hidden is not False,
        suppressed=found.suppressed is not False,
        extraction_date=now_ms,
    )
    return row, texts


def event(found: Json, wiki: str, locale: str, of: WikiPage, now_ms: int) -> Event:
    """An entry of the log."""
    return Event(
        wiki=wiki,
        locale=locale,
        pageid=of.pageid,
        title=str(found.get("title", of.title)),
        logid=int(found["logid"]),
        type=str(found.get("type", "")),
        action=str(found.get("action", "")),
        timestamp=timestamps.from_iso(str(found.get("timestamp", ""))) or 0,
        user=found.get("user"),
        userid=found.get("userid"),
        comment=found.get("comment"),
        params=msgspec.json.encode(found.get("params") or {}).decode(),
        extraction_date=now_ms,
    )


@lru_cache(4096)  # few people make most edits
def is_temporary(user: str, patterns: tuple[str, ...] = ()) -> bool:
    """Whether a name is that of a temporary account, by the wiki's own patterns (`$1` stands for what varies)."""
    return (_named(patterns) if patterns else _TEMPORARY).match(user) is not None


@lru_cache(64)
def _named(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(re.escape(pattern).replace(r"\$1", ".+") + r"\Z" for pattern in patterns))


@lru_cache(4096)
def is_address(user: str) -> bool:
    """Whether a name is an IP address: an edit without an account, before there were temporary ones."""
    return _ADDRESS.fullmatch(user) is not None


def hexadecimal(base36: str | None) -> str | None:
    """A sha1 of a dump (base 36) as the API writes it."""
    try:
        return format(int(base36, 36), "040x") if base36 else None
    except ValueError:
        return None


def base36(hexadecimal: str) -> str:
    """The other way, with 31 digits."""
    number, digits = int(hexadecimal, 16), ""
    while number:
        number, rest = divmod(number, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[rest] + digits
    return digits.rjust(31, "0")


def _content(slot: Slot) -> str | Passage | None:
    found = slot.content or slot.content_before
    return found.text if found else None


def _sha1(content: str | Passage) -> str:
    data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else bytes(content)
    return hashlib.sha1(data, usedforsecurity=False).hexdigest()
