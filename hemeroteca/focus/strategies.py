"""Strategies: in which order a focused crawl follows links. Each is a Prioritiser of the frontier.

A strategy scores a candidate by its cues and by what the crawl knows of the page it stands on; it is told what every
visited page was worth. It remembers the pages visited last (`PAGES_REMEMBERED`); what a link inherited is kept with the
link by the frontier and handed back when its page has been visited.

The rules of Shark-Search, Fish-Search and the keywords of 2016: docs/explanation/focused-crawling.md.
"""

from collections import OrderedDict
from collections.abc import Callable

import msgspec

from hemeroteca.focus.definition import Tuning
from hemeroteca.focus.learned_scores import Features, LinkModel, features
from hemeroteca.urls.candidate import Candidate, Cues, UrlRole

FIRST = 3.0  # seeds, and sitemaps where they are wanted: before all links
LAST = -1.0  # links beyond the depth bound
PAGES_REMEMBERED = 50_000
HOSTS_REMEMBERED = 100_000
RESCORE_EVERY = 25  # visits after which what is queued is scored anew, at first …
RESCORE_SHARE = 60  # … and later one in so many of all visits
PATIENCE = 25.0  # visits of a host without a target after which, with spread 1, its links count half
SURE_AFTER = 4.0  # targets after which what was learned counts as much as what was known before

KEYWORD_ANCHORS = ("services", "servicios", "servicios web", "web services", "ogc", "capabilities")
KEYWORD_ADDRESSES = ("wms", "wmts", "wms-c", "csw", "wfs", "atom", "wps-transformacion", "wcts", "wcs", "wps", "ogc")


class Potential(msgspec.Struct, gc=False, array_like=True):
    """How much a link promises, in parts; `score` orders the links of a crawl."""

    score: float
    inherited: float = 0.0  # from the page it stands on
    neighbourhood: float = 0.0  # of its anchor and context
    learned: float = 0.0  # what following it is worth, by what was learned so far
    host: float = 1.0  # what is left of it after fruitless visits of its host
    bound: int = 0  # links that may still follow without a relevant page


class VisitedPage(msgspec.Struct, gc=False, kw_only=True):
    """A page that was visited, and the link that led there."""

    key: int
    host: str
    relevance: float = 0.0
    target: str = ""  # what it is of what the crawl looks for; empty: nothing
    moved: bool = False  # it only leads on to another address
    link: Candidate | None = None  # None: a seed
    potential: Potential | None = None  # of that link


class _PageValue(msgspec.Struct, gc=False):
    """What the links of a visited page start from."""

    relevance: float
    inherited: float
    bound: int
    score: float


class Strategy:
    """What all strategies share: the memory of visited pages, and the order of what is no link."""

    adds_up = False  # scores of several links to one address are added; else the greatest counts
    learns = False  # scores of queued links should be made anew from time to time

    def __init__(self, tuning: Tuning | None = None) -> None:
        self.tuning = tuning or Tuning()
        self._pages: OrderedDict[int, _PageValue] = OrderedDict()
        self._visits = 0
        self._rescore_at = 30

    def score(self, candidate: Candidate) -> float:
        return self.potential(candidate).score

    def potential(self, candidate: Candidate) -> Potential:
        if not candidate.parent or candidate.role == _SITEMAP:
            return Potential(FIRST, bound=self.tuning.depth)
        parent = self._pages.get(candidate.parent)
        if candidate.cues is None:  # a redirect, or a page another room asked for: as good as what led here
            if parent is None:
                return Potential(0.0, bound=self.tuning.depth)
            return Potential(parent.score, parent.inherited, bound=parent.bound)
        return self.promise(candidate, candidate.cues, parent or self._unknown(candidate.cues))

    def promise(self, candidate: Candidate, cues: Cues, parent: _PageValue) -> Potential:
        """The potential of a link on a visited page."""
        raise NotImplementedError

    def visited(self, page: VisitedPage) -> None:
        """Told of every page, before its links are scored."""
        self._visits += 1
        own = page.potential or Potential(FIRST, bound=self.tuning.depth)
        relevant = page.relevance >= self.tuning.threshold
        bound = self.tuning.depth if relevant or page.target else max(own.bound - (not page.moved), 0)
        self._pages[page.key] = _PageValue(page.relevance if relevant else 0.0, own.inherited, bound, own.score)
        if len(self._pages) > PAGES_REMEMBERED:
            self._pages.popitem(last=False)

    @property
    def stale(self) -> bool:
        """So much was learned since the queued links were scored that they should be scored again."""
        return self.learns and self._visits >= self._rescore_at

    def rescored(self) -> None:
        self._rescore_at = self._visits + max(RESCORE_EVERY, self._visits // RESCORE_SHARE)

    def _unknown(self, cues: Cues) -> _PageValue:
        """Of a page that was forgotten."""
        relevant = cues.page >= self.tuning.threshold
        return _PageValue(cues.page if relevant else 0.0, 0.0, self.tuning.depth if relevant else 1, 0.0)


class BreadthFirstBaseline(Strategy):
    """By the number of links from a seed: what every other strategy is measured against."""

    def promise(self, candidate: Candidate, cues: Cues, parent: _PageValue) -> Potential:
        return Potential(1.0 / (1 + candidate.depth))


class BestFirst(Strategy):
    """The links of the most relevant page first."""

    def promise(self, candidate: Candidate, cues: Cues, parent: _PageValue) -> Potential:
        return Potential(parent.relevance, inherited=parent.relevance)


class Keywords(Strategy):
    """The rule that found 2,040 services in 2016: words of anchors and addresses; scores of several links add up."""

    adds_up = True

    def promise(self, candidate: Candidate, cues: Cues, parent: _PageValue) -> Potential:
        anchor, url = candidate.anchor.lower(), candidate.url.lower()
        score = 1_000.0 * sum(word in anchor for word in KEYWORD_ANCHORS)
        score += 10_000.0 * sum(word in url for word in KEYWORD_ADDRESSES)
        return Potential(score + 1_100_000.0 * ("capabilities" in url))


class FishSearch(Strategy):
    """Relevance is yes or no: of a relevant page the first 1.5 × width links, then width links of others."""

    def promise(self, candidate: Candidate, cues: Cues, parent: _PageValue) -> Potential:
        width = self.tuning.width
        if parent.bound <= 0:
            score = LAST
        elif parent.relevance > 0:
            score = 1.0 if cues.place < 1.5 * width else 0.0
        else:
            score = 0.5 if cues.place < width else 0.0
        return Potential(score, bound=parent.bound)


class SharkSearch(Strategy):
    """Relevance is a number that links inherit and that fades; anchor and context of a link count as much."""

    def promise(self, candidate: Candidate, cues: Cues, parent: _PageValue) -> Potential:
        inherited, neighbourhood, potential = shark(cues, parent.relevance, parent.inherited, self.tuning)
        return Potential(
            potential if parent.bound > 0 else LAST + potential / 100,
            inherited=inherited,
            neighbourhood=neighbourhood,
            bound=parent.bound,
        )


class Learned(Strategy):
    """By what was learned in this crawl alone."""

    learns = True

    def __init__(self, tuning: Tuning | None = None) -> None:
        super().__init__(tuning)
        self.model = LinkModel()
        self._fruitless: OrderedDict[str, int] = OrderedDict()  # visits of a host since its last target

    def promise(self, candidate: Candidate, cues: Cues, parent: _PageValue) -> Potential:
        seen = _features(candidate, cues)
        worth = self.model.worth(seen, self.before(seen, cues, parent), 1.0 - cues.away)
        self.model.promise(candidate.parent, worth)
        host = self._patience(candidate.host)
        return Potential(worth * host, learned=worth, host=host, bound=parent.bound)

    def before(self, seen: Features, cues: Cues, parent: _PageValue) -> float:
        """What is thought of a link without what became of others in its groups."""
        return self.model.chance(seen)

    def visited(self, page: VisitedPage) -> None:
        super().visited(page)
        link = page.link
        if link is not None:
            cues, before = link.cues, -1.0
            seen = _features(link, cues) if cues is not None else self.model.features_of(link.parent)
            if seen is not None and cues is not None:
                before = self.before(seen, cues, self._pages.get(link.parent) or self._unknown(cues))
            if seen is None:
                pass
            elif page.moved:
                self.model.remember(page.key, link.parent, seen)
            else:
                left = 1.0 - cues.away if cues is not None else 1.0
                self.model.observe(page.key, link.parent, seen, before, bool(page.target), left)
        self._fruitless[page.host] = 0 if page.target else self._fruitless.pop(page.host, 0) + 1
        if len(self._fruitless) > HOSTS_REMEMBERED:
            self._fruitless.popitem(last=False)

    def rescored(self) -> None:
        super().rescored()
        self.model.hope()
        self.model.weigh()

    def _patience(self, host: str) -> float:
        """The spread over hosts: one that brings nothing for long steps back behind the others."""
        return 1.0 / (1.0 + self.tuning.spread * self._fruitless.get(host, 0) / PATIENCE)


class Focused(Learned):
    """The default: Shark-Search and hints of the address to begin with, and ever more what this crawl has learned."""

    def promise(self, candidate: Candidate, cues: Cues, parent: _PageValue) -> Potential:
        inherited, neighbourhood, potential = shark(cues, parent.relevance, parent.inherited, self.tuning)
        seen = _features(candidate, cues)
        worth = self.model.worth(seen, self._mixed(seen, cues, potential), 1.0 - cues.away)
        self.model.promise(candidate.parent, worth)
        host = self._patience(candidate.host)
        return Potential(
            score=worth * host,
            inherited=inherited,
            neighbourhood=neighbourhood,
            learned=worth,
            host=host,
            bound=parent.bound,
        )

    def before(self, seen: Features, cues: Cues, parent: _PageValue) -> float:
        return self._mixed(seen, cues, shark(cues, parent.relevance, parent.inherited, self.tuning)[2])

    def _mixed(self, seen: Features, cues: Cues, shark_potential: float) -> float:
        """What was known before the crawl, and ever more what its words have taught."""
        known = 1.0 - (1.0 - shark_potential) * (1.0 - cues.address)
        trust = self.tuning.learn * self.model.targets / (self.model.targets + SURE_AFTER)
        return (1.0 - trust) * known + trust * self.model.chance(seen)


def shark(cues: Cues, relevance: float, inherited: float, tuning: Tuning) -> tuple[float, float, float]:
    """What a link inherits, its neighbourhood, and its potential, by the four rules of Shark-Search.

    `relevance`: of the page it stands on, 0 when below the threshold; `inherited`: what that page had inherited.
    """
    handed_on = tuning.delta * (relevance if relevance > 0 else inherited)
    anchor = cues.anchor if cues.anchor >= tuning.threshold else 0.0
    context = cues.context if cues.context >= tuning.threshold else 0.0
    neighbourhood = tuning.beta * anchor + (1.0 - tuning.beta) * (1.0 if anchor > 0 else context)
    return handed_on, neighbourhood, tuning.gamma * handed_on + (1.0 - tuning.gamma) * neighbourhood


STRATEGIES: dict[str, Callable[[Tuning], Strategy]] = {
    "best-first": BestFirst,
    "breadth-first": BreadthFirstBaseline,
    "fish-search": FishSearch,
    "focused": Focused,
    "keywords": Keywords,
    "learned": Learned,
    "shark-search": SharkSearch,
}


_SITEMAP = int(UrlRole.SITEMAP)  # compared with for every link


def _features(candidate: Candidate, cues: Cues) -> Features:
    return features(candidate.url, candidate.host, candidate.anchor, candidate.context, cues.parent_url, cues.page)
