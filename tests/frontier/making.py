"""Crawls, candidates and outcomes for tests of the frontier."""

from hemeroteca import urls
from hemeroteca.accounts import SYSTEM
from hemeroteca.frontier import services
from hemeroteca.frontier.models import Crawl
from hemeroteca.frontier.queue import Frontier
from hemeroteca.frontier.visit import Outcome, State, Visit
from hemeroteca.ingest.rules import CrawlOptions
from hemeroteca.urls.candidate import Candidate


def order(*seeds: str) -> Crawl:
    return services.submit_crawl(SYSTEM, seeds or ("http://a.test/",), CrawlOptions(scope=urls.Scope(kind="host")))[0]


def candidates(crawl: Crawl, *addresses: str, **fields) -> list[Candidate]:
    return [Candidate(urls.key(a), a, urls.host(a), crawl.pk, **fields) for a in addresses]


def brought(visit: Visit, state: State = State.DONE) -> Outcome:
    return Outcome(visited_ms=1, status=200, digest=f"sha256:{visit.key}", versions=visit.versions + 1, state=state)


def opened(crawl: Crawl, *addresses: str, cap: int = 1000, **options) -> Frontier:
    frontier = Frontier(cap, **options)
    frontier.open_crawl(crawl.pk)
    frontier.add(candidates(crawl, *addresses))
    frontier.write(1)
    return frontier


def leased(frontier: Frontier, now: float) -> Visit | None:
    """The visit of the next lease."""
    lease = frontier.lease(now)
    return lease.visit if lease is not None else None


def finish(visit: Visit, at: float = 1.0, delay: float = 0.0) -> None:
    """Answered, and done."""
    visit.lease.answered(visit, at, delay)
    assert visit.lease.done(visit, brought(visit))


def hold_back(crawl: Crawl, *addresses: str) -> None:
    """As if a trap had been met on the way to them."""
    frontier = Frontier(1000)
    frontier.open_crawl(crawl.pk)
    frontier.add(candidates(crawl, *addresses, held="trap: pages like /{n} bring nothing new"))
    frontier.write(1)
