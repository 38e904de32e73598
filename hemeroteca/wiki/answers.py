"""What MediaWiki answers, in any of its versions, as pages, revisions and events. Pure; nothing here asks.

Format version 2 is asked for and the older one understood: a flag is there (with an empty text, or true) or it is not,
a text is `content` or `*`, and wikis before 1.32 have no slots.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from hemeroteca.lake.revisions import Event, Revision, Text
from hemeroteca.warc import timestamps

Json = Mapping[str, Any]
_TEMPORARY = re.compile(r"~2\d{3}-")  # how Wikimedia names them: ~2026-12345-6
_ADDRESS = re.compile(r"(?:\d{1,3}\.){3}(?:\d{1,3}|xxx)|[0-9A-Fa-f:]*:[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*")


class Page(msgspec.Struct, frozen=True):
    """An article as the wiki knows it now."""

    title: str
    pageid: int = 0
    ns: int = 0
    missing: bool = False
    invalid: str = ""  # why it is no title
    lastrevid: int = 0
    redirect: bool = False


class Slots(msgspec.Struct):
    """Texts of a revision by slot: (sha1, text)."""

    main: str | None = None
    others: dict[str, Any] = {}


def flag(found: Json, name: str) -> bool:
    return name in found and found[name] is not False


def pages(query: Json) -> Iterator[Json]:
    """Pages of an answer: a list, or (format version 1) an object by number."""
    found = query.get("pages", ())
    yield from found.values() if isinstance(found, dict) else found


def page(found: Json) -> Page:
    return Page(
        title=str(found.get("title", "")),
        pageid=int(found.get("pageid", 0)),
        ns=int(found.get("ns", 0)),
        missing=flag(found, "missing"),
        invalid=str(found.get("invalidreason", "")) if flag(found, "invalid") else "",
        lastrevid=int(found.get("lastrevid", 0)),
        redirect=flag(found, "redirect"),
    )


def revision(
    found: Json, wiki: str, locale: str, of: Page, now_ms: int, temporary: list[str] | None = None
) -> tuple[Revision, list[Text]]:
    """A revision and the texts that came with it."""
    slots = found.get("slots") or {}
    main = slots.get("main") or {}
    texts: list[Text] = []
    content = _content(main) if main else _content(found)
    sha1 = found.get("sha1") or None
    main_sha1 = main.get("sha1") or (sha1 if len(slots) < 2 else None)
    if content is not None:
        main_sha1 = (
            main_sha1 or hashlib.sha1(content.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()
        )
        texts.append(Text(wiki=wiki, pageid=of.pageid, sha1=main_sha1, text=content))
    others = {}
    for role, slot in slots.items():
        if role == "main":
            continue
        others[role] = {name: slot[name] for name in ("sha1", "size", "contentmodel") if name in slot}
        extra = _content(slot)
        if extra is not None and slot.get("sha1"):
            texts.append(Text(wiki=wiki, pageid=of.pageid, sha1=slot["sha1"], text=extra))
    user = found.get("user")
    anon = flag(found, "anon") or (user is not None and not found.get("userid") and is_address(user))
    size = found.get("size")
    row = Revision(
        wiki=wiki,
        locale=locale,
        ns=of.ns,
        pageid=of.pageid,
        title=of.title,
        revid=int(found["revid"]),
        parentid=found.get("parentid"),
        timestamp=timestamps.from_iso(str(found.get("timestamp", ""))) or 0,
        user=user,
        userid=found.get("userid"),
        anon=anon,
        temp=flag(found, "temp") or (user is not None and is_temporary(user, temporary)),
        minor=flag(found, "minor"),
        size=int(size) if size is not None else None,
        sha1=sha1 or (main_sha1 if not flag(found, "sha1hidden") else None),
        text_sha1=main_sha1,
        contentmodel=main.get("contentmodel") or found.get("contentmodel"),
        contentformat=main.get("contentformat") or found.get("contentformat"),
        comment=found.get("comment"),
        parsedcomment=found.get("parsedcomment"),
        tags=sorted(found.get("tags") or ()),
        slots=msgspec.json.encode(others).decode() if others else "",
        userhidden=flag(found, "userhidden"),
        commenthidden=flag(found, "commenthidden"),
        texthidden=flag(found, "texthidden") or flag(main, "texthidden"),
        sha1hidden=flag(found, "sha1hidden"),
        suppressed=flag(found, "suppressed"),
        extraction_date=now_ms,
    )
    return row, texts


def event(found: Json, wiki: str, locale: str, of: Page, now_ms: int) -> Event:
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


def is_temporary(user: str, patterns: list[str] | None) -> bool:
    """Whether a name is that of a temporary account, by the wiki's own patterns (`$1` stands for what varies)."""
    if not patterns:
        return _TEMPORARY.match(user) is not None
    return any(re.fullmatch(re.escape(pattern).replace(r"\$1", ".+"), user) for pattern in patterns)


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


def _content(slot: Json) -> str | None:
    found = slot.get("content", slot.get("*"))
    return found if isinstance(found, str) else None
