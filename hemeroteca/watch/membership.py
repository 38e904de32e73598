"""Which collections an address belongs to: those of every subscription whose scope holds it, whoever captured it."""

import msgspec

from hemeroteca import urls
from hemeroteca.watch.models import Subscription

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
