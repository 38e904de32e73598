"""Which collections a page belongs to, and keeping the search index true to it when people move subscriptions.

A page belongs to the collection of every subscription whose scope holds its address, whoever had it captured. New
documents get their collections when they are indexed; when subscriptions change, the documents they touch are put
again, a few at each look of the engine. What has been done is noted beside the index, so that a change made while no
engine ran, or one cut short, is done at the next start.
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from hemeroteca import urls
from hemeroteca.instance import Instance
from hemeroteca.watch import queries as watch
from hemeroteca.watch.models import Subscription

if TYPE_CHECKING:
    from hemeroteca.engine.ledger import Ledger

APPLIED = "collections.json"  # what the documents of the index were given
LOOK_SECONDS = 2.0
SLICE_SECONDS = 0.01  # of one look at the engine

Member = tuple[urls.Scope, str]


class Membership:
    """The collections of addresses. Free when there are none."""

    def __init__(self, members: list[Member]) -> None:
        self.members = frozenset(members)
        self._by_domain: dict[str, list[tuple[urls.ScopeMatcher, str]]] = {}
        for scope, name in sorted(members, key=lambda member: member[1]):
            for domain in {urls.registrable_domain(urls.host(seed)) for seed in scope.seeds}:
                self._by_domain.setdefault(domain, []).append((urls.ScopeMatcher(scope), name))

    @classmethod
    def load(cls) -> "Membership":
        rows = Subscription.objects.exclude(collection=None).values_list("scope", "collection__name")
        return cls([(msgspec.convert(scope, urls.Scope), name) for scope, name in rows])

    def of(self, url: str, host: str) -> tuple[str, ...]:
        if not self._by_domain:
            return ()
        near = self._by_domain.get(urls.registrable_domain(host), ())
        return tuple(dict.fromkeys(name for matcher, name in near if matcher.refusal(url, 0) is None))


class Collector:
    """Looks now and then whether people changed what belongs where, and has the ledger put it right."""

    def __init__(self, instance: Instance, ledger: "Ledger") -> None:
        self._folder = instance.index_dir
        self._ledger = ledger
        self._revision = -1
        self._due = 0.0
        self._keys: Iterator[int] | None = None
        self._put = False  # a document was changed
        self._done_at: int | None = None  # commits there had been when the last one was

    def look(self) -> bool:
        """True when documents were changed, which then wait for a commit."""
        moment = time.monotonic()
        if moment >= self._due:
            self._due = moment + LOOK_SECONDS
            self._read()
        if self._done_at is not None and self._ledger.index_commits > self._done_at:
            self._done_at = None
            write_applied(self._folder, self._ledger.membership)
        if self._keys is None:
            return False
        until = time.monotonic() + SLICE_SECONDS
        for key in self._keys:
            self._put |= self._ledger.recollect(key)
            if time.monotonic() >= until:
                return True
        self._keys = None
        self._done_at = self._ledger.index_commits if self._put else -1
        return self._put

    def _read(self) -> None:
        revision = watch.revision()
        if revision == self._revision:
            return
        self._revision = revision
        now = Membership.load()
        if now.members != self._ledger.membership.members:
            self._ledger.membership = now
        changed = now.members ^ _applied(self._folder)
        self._done_at, self._put = None, False
        self._keys = self._pages(changed) if changed else None

    def _pages(self, members: frozenset[Member]) -> Iterator[int]:
        """Keys of all documents that one of these scopes may hold."""
        for scope, _ in members:
            if scope.kind == "page":
                yield from map(urls.key, scope.seeds)
                continue
            for domain in {urls.registrable_domain(urls.host(seed)) for seed in scope.seeds}:
                yield from self._ledger.pages_of(domain)


def write_applied(folder: Path, membership: Membership) -> None:
    """Note what the documents of an index were given."""
    draft = folder / f"{APPLIED}.draft"
    draft.write_bytes(msgspec.json.encode(sorted(membership.members, key=repr)))
    os.replace(draft, folder / APPLIED)


def _applied(folder: Path) -> frozenset[Member]:
    try:
        return frozenset(msgspec.json.decode((folder / APPLIED).read_bytes(), type=list[Member]))
    except (OSError, msgspec.MsgspecError):
        return frozenset()
