"""The links of a crawl with a focus: what each promised, and what its page was worth.

The strategy (pure, in `hemeroteca.focus`) scores; here its links are kept in a table, so that a crawl can be explained
and goes on after a restart with what it had learned. A page met again keeps the greatest score (or, where the strategy
adds them up, the sum). When the strategy has learned enough, everything queued is scored anew.
"""

import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from django.db import connection

from hemeroteca.focus.definition import PageFocus
from hemeroteca.frontier.models import FocusLink
from hemeroteca.frontier.prioritisers import Prioritiser
from hemeroteca.frontier.visit import Visit
from hemeroteca.urls import host as host_of
from hemeroteca.urls import key
from hemeroteca.urls.candidate import Candidate, Cues

if TYPE_CHECKING:  # loaded when a crawl has a focus: most have none
    from hemeroteca.focus.strategies import Potential, Strategy

MAX_QUEUED = 500_000  # queued pages whose score is remembered; others are not raised when they are met again
MAX_RESCORED = 10_000  # queued links scored anew at once, the best first
MAX_REPLAYED = 20_000  # visited pages from which a strategy learns again after a restart
MAX_TEXT = 300  # characters of an anchor or a context
MIN_DIFFERENCE = 1e-4  # between scores that are written

_CUES = (
    "parent, parent_url, anchor, context, place, "
    "page_relevance, anchor_relevance, context_relevance, address_relevance, away"
)
_PARTS = "inherited, neighbourhood, learned, host_factor, bound, score"

_NEW = f"""
INSERT INTO focus_link (crawl_id, key, {_CUES}, {_PARTS}, found_ms, number, visited_ms, relevance, target, status,
                        response_ms, digest)
VALUES ({", ".join(["%s"] * 19)}, 0, 0, 0, '', 0, 0, '')
ON CONFLICT (crawl_id, key) DO UPDATE SET
    {", ".join(f"{name} = excluded.{name}" for name in (_CUES + ", " + _PARTS).split(", "))}
"""  # noqa: S608 only names

_VISITED = """
UPDATE focus_link SET number = %s, visited_ms = %s, relevance = %s, target = %s, status = %s, response_ms = %s,
    digest = %s
WHERE crawl_id = %s AND key = %s
"""

_RAISE = (
    "UPDATE visit SET score = %s WHERE crawl_id = %s AND state = 0 AND page_id = (SELECT id FROM page WHERE key = %s)"
)

_RESCORE = "UPDATE visit SET score = %s WHERE id = %s AND state = 0"

_LINK = f"SELECT key, {_CUES}, {_PARTS} FROM focus_link WHERE crawl_id = %s AND key = %s"  # noqa: S608 only names

_FOLLOWED = f"""
SELECT focus_link.key, {_CUES}, {_PARTS}, page.url, host.name, relevance, target, focus_link.status
FROM focus_link JOIN page ON page.key = focus_link.key JOIN host ON host.id = page.host_id
WHERE crawl_id = %s AND number > %s ORDER BY number
"""  # noqa: S608 only names

_QUEUED = f"""
SELECT focus_link.key, {_CUES}, {", ".join("focus_link." + name for name in _PARTS.split(", "))},
       page.url, host.name, visit.id, visit.host_id, visit.score, visit.depth
FROM visit JOIN page ON page.id = visit.page_id JOIN host ON host.id = visit.host_id
JOIN focus_link ON focus_link.crawl_id = visit.crawl_id AND focus_link.key = page.key
WHERE visit.crawl_id = %s AND visit.state = 0 ORDER BY visit.score DESC LIMIT %s
"""  # noqa: S608 only names


def open_focused(crawl: int, prioritiser: Prioritiser) -> "FocusedCrawl | None":
    """The links of a crawl whose prioritiser is a strategy of a focus; None of any other."""
    if not hasattr(prioritiser, "potential"):
        return None
    from hemeroteca.focus.strategies import Strategy  # only here: most crawls have none

    assert isinstance(prioritiser, Strategy)
    return FocusedCrawl(crawl, prioritiser)


class FocusedCrawl:
    """Of one crawl, by its strategy."""

    def __init__(self, crawl: int, strategy: "Strategy") -> None:
        self._crawl = crawl
        self._strategy = strategy
        self._scores: dict[int, float] = {}  # of queued pages, by key
        self._met: list[tuple[Candidate, Potential]] = []  # new, or better than before; with their potentials
        self._again: list[Candidate] = []
        self._visited: list[tuple[Any, ...]] = []
        self._number = 0
        self._recall()

    # what comes in

    def meet(self, candidate: Candidate) -> float:
        """The score of a page that is about to be queued."""
        potential = self._strategy.potential(candidate)
        self._keep(candidate, potential)
        return potential.score

    def meet_again(self, candidates: Iterable[Candidate]) -> None:
        """Links to pages that the crawl has met before."""
        self._again.extend(c for c in candidates if c.cues is not None)

    def visited(self, visit: Visit, found: PageFocus, digest: str, response_ms: int, status: int) -> None:
        from hemeroteca.focus.strategies import VisitedPage

        self._scores.pop(visit.key, None)
        self._number += 1
        moved = 300 <= status < 400
        link, potential = self._link(visit)
        self._strategy.visited(
            VisitedPage(
                key=visit.key,
                host=host_of(visit.url),
                relevance=found.relevance,
                target=found.target,
                moved=moved,
                link=link,
                potential=potential,
            )
        )
        self._visited.append(
            (
                self._number,
                time.time_ns() // 1_000_000,
                found.relevance,
                found.target,
                status,
                response_ms,
                digest,
                self._crawl,
                visit.key,
            )
        )

    # what is written

    @property
    def pending(self) -> bool:
        return bool(self._met or self._again or self._visited)

    def write(self, now_ms: int) -> dict[int, float]:
        """Put links and visits on disk; gives the new best score of hosts with visits that promise more than before."""
        raised: list[tuple[float, int, int]] = []
        hosts: dict[str, float] = {}
        again, self._again = self._again, []
        for candidate in again:
            before = self._scores.get(candidate.key)
            if before is None:
                continue
            potential = self._strategy.potential(candidate)
            if self._strategy.adds_up:
                potential.score += before
            if potential.score > before:
                self._keep(candidate, potential)
                raised.append((potential.score, self._crawl, candidate.key))
                hosts[candidate.host] = max(potential.score, hosts.get(candidate.host, potential.score))
        met, self._met = self._met, []
        visited, self._visited = self._visited, []
        rows = {candidate.key: _row(candidate, potential, now_ms) for candidate, potential in met}
        with connection.cursor() as cursor:
            if rows:
                cursor.executemany(_NEW, list(rows.values()))
            if raised:
                cursor.executemany(_RAISE, raised)
            if visited:
                cursor.executemany(_VISITED, visited)
            return _host_ids(cursor, hosts)

    def rescore(self) -> dict[int, float]:
        """When enough was learned, score what is queued anew; gives the best score of each host then."""
        if not self._strategy.stale:
            return {}
        self._strategy.rescored()
        best: dict[int, float] = {}
        changed: list[tuple[float, int]] = []
        with connection.cursor() as cursor:
            cursor.execute(_QUEUED, (self._crawl, MAX_RESCORED))
            for row in cursor.fetchall():
                url, host, visit, host_id, before, depth = row[-6:]
                score = before
                link = _candidate(self._crawl, row, url, host, depth)
                if link.cues is not None and link.cues.parent_url:
                    score = self._strategy.potential(link).score
                    if abs(score - before) > MIN_DIFFERENCE:
                        changed.append((score, visit))
                        self._scores[link.key] = score
                best[host_id] = max(score, best.get(host_id, score))
            cursor.executemany(_RESCORE, changed)
        return best

    # inside

    def _keep(self, candidate: Candidate, potential: "Potential") -> None:
        self._met.append((candidate, potential))
        if len(self._scores) < MAX_QUEUED or candidate.key in self._scores:
            self._scores[candidate.key] = potential.score

    def _link(self, visit: Visit) -> "tuple[Candidate | None, Potential | None]":
        """The link that led to a page, and what it promised; None of a seed."""
        for candidate, potential in self._met:
            if candidate.key == visit.key:
                return candidate if candidate.parent else None, potential
        with connection.cursor() as cursor:
            cursor.execute(_LINK, (self._crawl, visit.key))
            row = cursor.fetchone()
        if row is None:
            return None, None
        link = _candidate(self._crawl, row, visit.url, host_of(visit.url), visit.depth)
        return link if link.parent else None, _potential(row)

    def _recall(self) -> None:
        """Take up what the crawl knew before a restart."""
        from hemeroteca.focus.strategies import VisitedPage

        with connection.cursor() as cursor:
            cursor.execute("SELECT MAX(number) FROM focus_link WHERE crawl_id = %s", (self._crawl,))
            self._number = cursor.fetchone()[0] or 0
            if self._number:
                cursor.execute(_FOLLOWED, (self._crawl, max(0, self._number - MAX_REPLAYED)))
                for row in cursor.fetchall():
                    url, host, relevance, target, status = row[-5:]
                    link = _candidate(self._crawl, row, url, host, 0)
                    self._strategy.visited(
                        VisitedPage(
                            key=row[0],
                            host=host,
                            relevance=relevance,
                            target=target,
                            moved=300 <= status < 400,
                            link=link if link.parent else None,
                            potential=_potential(row),
                        )
                    )
            cursor.execute(
                "SELECT key, score FROM visit JOIN page ON page.id = page_id "
                "WHERE crawl_id = %s AND state = 0 LIMIT %s",
                (self._crawl, MAX_QUEUED),
            )
            self._scores.update(cursor.fetchall())


def forget_texts(addresses: Iterable[str]) -> None:
    """Pages were erased: what their links said, and what stood around them, goes."""
    keys = [key(url) for url in addresses]
    for start in range(0, len(keys), 400):
        FocusLink.objects.filter(parent__in=keys[start : start + 400]).update(anchor="", context="")


def _row(candidate: Candidate, potential: "Potential", now_ms: int) -> tuple[Any, ...]:
    cues = candidate.cues or Cues()
    return (
        candidate.crawl, candidate.key,
        candidate.parent, cues.parent_url, candidate.anchor[:MAX_TEXT], candidate.context[:MAX_TEXT], cues.place,
        cues.page, cues.anchor, cues.context, cues.address, cues.away,
        potential.inherited, potential.neighbourhood, potential.learned, potential.host, potential.bound,
        potential.score, now_ms,
    )  # fmt: skip


def _candidate(crawl: int, row: Sequence[Any], url: str, host: str, depth: int) -> Candidate:
    """The link of a row that begins with `key` and the columns of `_CUES`."""
    key, parent, parent_url, anchor, context, place, page, of_anchor, of_context, address, away = row[:11]
    cues = (
        Cues(
            page=page,
            anchor=of_anchor,
            context=of_context,
            address=address,
            place=place,
            parent_url=parent_url,
            away=away,
        )
        if parent_url
        else None
    )
    return Candidate(key, url, host, crawl, depth=depth, parent=parent, anchor=anchor, context=context, cues=cues)


def _potential(row: Sequence[Any]) -> "Potential":
    from hemeroteca.focus.strategies import Potential

    inherited, neighbourhood, learned, host, bound, score = row[11:17]
    return Potential(
        score=score, inherited=inherited, neighbourhood=neighbourhood, learned=learned, host=host, bound=bound
    )


def _host_ids(cursor: Any, hosts: dict[str, float]) -> dict[int, float]:
    best: dict[int, float] = {}
    names = list(hosts)
    for start in range(0, len(names), 500):
        part = names[start : start + 500]
        marks = ", ".join(["%s"] * len(part))
        cursor.execute(f"SELECT id, name FROM host WHERE name IN ({marks})", part)  # noqa: S608 only marks
        best.update({number: hosts[name] for number, name in cursor.fetchall()})
    return best
