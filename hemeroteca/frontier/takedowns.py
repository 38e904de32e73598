"""Addresses that were taken down: nothing captures them again until a person lifts that.

The engine asks before each visit and before a browser loads something, imports before they take a capture. What an
address covers is what it covers in the archive's index: exactly it, what begins like it, its host or its domain.
"""

import logging
import re
from bisect import bisect_right
from collections.abc import Iterable

from hemeroteca import urls
from hemeroteca.accounts import Actor, audit, require
from hemeroteca.clock import now_ms
from hemeroteca.errors import Conflict, Invalid, NotFound
from hemeroteca.frontier.models import Takedown
from hemeroteca.plain import storable
from hemeroteca.warc.keys import index_key, ranges

log = logging.getLogger("hemeroteca.engine")

MATCHES = ("exact", "prefix", "host", "domain")
MIN_REASON = 3
_BESIDE = re.compile(r"^urn:[a-z]+:")


class Takedowns:
    """Those in force, as one look-up. `refresh` reads the table again when somebody changed it."""

    def __init__(self) -> None:
        self._revision = (-1, -1)
        self._starts: list[str] = []
        self._spans: list[tuple[str, str, int]] = []  # keys from, to (excluded), number; sorted, may nest
        self._reach: list[str] = []  # the furthest end of the spans so far
        self.refresh()

    def __bool__(self) -> bool:
        return bool(self._spans)

    def refresh(self) -> None:
        newest = Takedown.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
        lifted = Takedown.objects.filter(lifted_ms__gt=0).count()
        if (newest, lifted) == self._revision:
            return
        self._revision = (newest, lifted)
        spans = []
        for number, url, match in Takedown.objects.filter(lifted_ms=0).values_list("pk", "url", "match"):
            try:
                spans += [(low, high or low + "\x00", number) for low, high in ranges(url, match)]
            except urls.UrlError:  # a damaged row
                log.warning("takedown %d cannot be read; lift it and make it anew", number)
        self._spans = sorted(spans)
        self._starts = [low for low, _, _ in self._spans]
        self._reach = []
        for _, high, _ in self._spans:
            self._reach.append(max(high, self._reach[-1]) if self._reach else high)

    def refusal(self, url: str) -> str:
        """Why an address must not be captured; empty when it may."""
        if not self._spans:
            return ""
        key = _BESIDE.sub("", index_key(url))  # what a browser made of a page is filed beside it
        position = bisect_right(self._starts, key) - 1
        while position >= 0 and self._reach[position] > key:
            if self._spans[position][1] > key:
                return f"taken-down: takedown {self._spans[position][2]} covers it"
            position -= 1
        return ""


def take_down(actor: Actor, url: str, match: str, reason: str, erasure: int = 0) -> Takedown:
    """Let an address, a beginning, a host or a domain not be captured any more."""
    require(actor, "archive.erase")
    if len(reason.strip()) < MIN_REASON:
        raise Invalid("a takedown needs a reason: who asked for it, and why")
    if match not in MATCHES:
        raise Invalid(f"match is {match[:20]!r}; it can be {', '.join(MATCHES)}")
    plain, reason = storable(url).strip(), storable(reason)
    if plain.startswith("*."):
        plain, match = plain[2:], "domain"
    elif plain.endswith("*"):
        plain, match = plain[:-1], "prefix"
    try:
        urls.canonical(plain if "://" in plain else f"http://{plain}")
        ranges(plain, match)
    except urls.UrlError as error:
        raise Invalid(f"{url[:200]!r} is not an address ({error}); write it like example.org/page")
    known = Takedown.objects.filter(url=plain, match=match, lifted_ms=0).first()
    if known is not None:
        return known
    audit.note(actor, "taken down", plain, f"{match}: {reason.strip()}")
    return Takedown.objects.create(
        url=plain,
        match=match,
        reason=reason.strip()[:2000],
        actor=actor.name,
        made_ms=now_ms(),
        erasure=erasure,
    )


def lift(actor: Actor, number: int) -> Takedown:
    """Let an address be captured again."""
    require(actor, "archive.erase")
    row = Takedown.objects.filter(pk=number).first()
    if row is None:
        raise NotFound(f"there is no takedown {number}; `hemeroteca archive takedown list` shows them")
    if row.lifted_ms:
        raise Conflict(f"takedown {number} was lifted already, by {row.lifted_by}")
    row.lifted_ms, row.lifted_by = now_ms(), actor.name
    row.save(update_fields=["lifted_ms", "lifted_by"])
    audit.note(actor, "takedown lifted", row.url, row.match)
    return row


def listed(actor: Actor, lifted: bool = False, limit: int = 500) -> list[Takedown]:
    """Those in force, or all; newest first."""
    require(actor, "archive.erase")
    found = Takedown.objects.order_by("-pk")
    return list((found if lifted else found.filter(lifted_ms=0))[:limit])


def refuse(addresses: Iterable[str]) -> None:
    """Raise Conflict when one of these was taken down: for orders that name single pages."""
    known = Takedowns()
    for url in addresses if known else ():
        if known.refusal(url):
            raise Conflict(
                f"{url[:200]} was taken down and is not captured any more; an administrator can lift that "
                "(`hemeroteca archive takedown lift NUMBER`, or the page “Erase” of the archive)",
                code="taken-down",
            )
