"""Which captures are what a focused crawl looks for, by rules that its focus names.

Every given field of a target must fit. What a reader of another room recognised is asked for by `find`: the readers of
geographic services leave a find named `service`.
"""

from collections.abc import Collection
from functools import lru_cache

import msgspec

from hemeroteca.urls import patterns

MAX_TEXT = 100_000  # characters of a page that an expression is tried on
MAX_ADDRESS = 2_000


class TargetRule(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A kind of document that is looked for."""

    name: str = ""  # how it is called in lists; empty: by the find, the root or the kind
    find: str = ""  # a reader left a find of this name
    kind: str = ""  # the kind of document, as the readers name it: html, pdf, feed, …
    root: tuple[str, ...] = ()  # local names of the root element, one of which must fit; letters' case does not matter
    media_type: str = ""  # the beginning of the media type
    url: str = ""  # regular expression (RE2) that occurs in the address
    text: str = ""  # the same in the text
    relevance: float = 0.0  # at least this relevant


class ReadDocument(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a document that was read."""

    url: str
    kind: str = ""
    media_type: str = ""
    root: str = ""  # local name of the root element, small letters
    finds: Collection[str] = ()
    text: str = ""
    relevance: float = 0.0


def target_of(targets: tuple[TargetRule, ...], read: ReadDocument) -> str:
    """What a document is called by the first target that it is; empty when it is none."""
    for target in targets:
        if _is(target, read):
            return target.name or target.find or (read.root if target.root else read.kind) or "page"
    return ""


def check(target: TargetRule) -> None:
    """Raises `urls.UrlError` for expressions that cannot be used."""
    for expression in (target.url, target.text):
        patterns.check(expression)


def _is(target: TargetRule, read: ReadDocument) -> bool:
    if target == _NOTHING or (target.find and target.find not in read.finds):
        return False
    if target.kind and target.kind != read.kind:
        return False
    if target.root and read.root not in (root.lower() for root in target.root):
        return False
    if target.media_type and not read.media_type.startswith(target.media_type.lower()):
        return False
    if read.relevance < target.relevance:
        return False
    if target.url and not _expression(target.url).first(read.url[:MAX_ADDRESS]):
        return False
    return not target.text or _expression(target.text).first(read.text[:MAX_TEXT]) is not None


@lru_cache(64)
def _expression(text: str) -> patterns.Patterns:
    return patterns.Patterns((text,))


_NOTHING = TargetRule()
