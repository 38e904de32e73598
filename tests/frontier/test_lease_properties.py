"""Leases under random orders of work, endings, deadlines, commits and crashes: nothing is lost, nothing counted twice,
nobody asks a host that another lessee holds."""

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from hemeroteca.frontier.models import Crawl, Host, Page, QueuedVisit
from hemeroteca.frontier.queue import Frontier
from hemeroteca.frontier.visit import How, State
from hemeroteca.frontier.visit import Visit as LeasedVisit
from tests.frontier.making import brought, candidates, order

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]

MAX_TRIES = 3
LEASE = 100.0
HOSTS = ("a.test", "b.test", "c.test")
NUMBERS = st.integers(0, 3)


class Leases(RuleBasedStateMachine):
    """Two crawls over the same three hosts; the second is told of its endings."""

    @initialize()
    def begin(self) -> None:
        for model in (QueuedVisit, Page, Host, Crawl):
            model.objects.all().delete()
        self.crawls = [order("http://a.test/"), order("http://b.test/")]
        self.now = 1000.0
        self.wanted: set[tuple[int, str]] = set()  # committed wishes
        self.unwritten: set[tuple[int, str]] = set()
        self.ended: dict[tuple[int, str], int] = {}  # final endings, however told
        self.told = {"made": 0, "heard": 0}
        self.open()

    def open(self) -> None:
        self.frontier = Frontier(1000, MAX_TRIES)
        for crawl in self.crawls:
            self.frontier.open_crawl(crawl.pk, tell=crawl is self.crawls[1])
        self.live: list[LeasedVisit] = []  # handed out, not ended …
        self.waiting: list[LeasedVisit] = []  # … and wait for their host once more
        self.uncommitted: list[tuple[int, str]] = []  # final endings a crash would undo

    @rule(crawl=st.integers(0, 1), host=st.sampled_from(HOSTS), number=NUMBERS)
    def find(self, crawl, host, number):
        url = f"http://{host}/{number}"
        self.frontier.add(candidates(self.crawls[crawl], url))
        if (self.crawls[crawl].pk, url) not in self.wanted:
            self.unwritten.add((self.crawls[crawl].pk, url))

    @rule()
    def commit(self):
        self.frontier.write(int(self.now * 1000))
        self.wanted |= self.unwritten
        self.unwritten.clear()
        self.uncommitted.clear()
        self.hear()
        for crawl in self.crawls:
            queued = QueuedVisit.objects.filter(crawl=crawl, state=State.QUEUED).count()
            assert self.frontier.queued[crawl.pk] == queued

    @rule(seconds=st.sampled_from([0.1, 3.0, 20.0, 2 * LEASE]))
    def wait(self, seconds):
        self.now += seconds

    @rule(visits=st.integers(1, 5), per_host=st.integers(1, 3), lessee=st.sampled_from(["engine", "device 7"]))
    def lease(self, visits, per_host, lessee):
        self.expire()
        lease = self.frontier.lease(self.now, lessee, LEASE, max_visits=visits, per_host=per_host)
        if lease is None:
            return
        if lease.visit in self.waiting:  # it asked for its host again: it comes alone, and stays with its lessee
            self.waiting.remove(lease.visit)
            assert lease.visit.lease is lease
            return
        assert 1 <= len(lease.visits) <= visits
        for visit in lease.visits:
            assert visit not in self.live
            assert (visit.crawl, visit.url) in self.wanted
            assert (visit.crawl, visit.url) not in self.ended
            self.live.append(visit)

    @precondition(lambda self: self.live)
    @rule(which=st.integers(0, 99), wait=st.sampled_from([0.0, 5.0]), failed=st.booleans())
    def answer(self, which, wait, failed):
        visit = self.live[which % len(self.live)]
        if visit.lease is not None:
            visit.lease.answered(visit, self.now + wait, wait, refused=failed)

    @precondition(lambda self: self.live)
    @rule(which=st.integers(0, 99), wait=st.sampled_from([0.0, 5.0]))
    def ask_again(self, which, wait):
        """A browser must open the page, or somebody must confirm it."""
        visit = self.live[which % len(self.live)]
        if visit.lease is not None and visit not in self.waiting:
            visit.lease.answered(visit, self.now + wait, wait)
            visit.lease.again(visit, self.now + wait)
            self.waiting.append(visit)

    @precondition(lambda self: self.live)
    @rule(which=st.integers(0, 99))
    def need_no_request(self, which):
        visit = self.live[which % len(self.live)]
        if visit.lease is not None:
            visit.lease.unasked(visit)

    @precondition(lambda self: self.live)
    @rule(
        which=st.integers(0, 99),
        how=st.sampled_from(["done", "retry", "fail", "exclude", "hold", "give_back", "later"]),
    )
    def end(self, which, how):
        self.expire()
        if not self.live:
            return
        visit = self.live.pop(which % len(self.live))
        self.waiting = [one for one in self.waiting if one is not visit]
        lease = visit.lease
        assert lease is not None
        last = lease.is_last_try(visit)
        if how == "done":
            ended = lease.done(visit, brought(visit))
        elif how == "retry":
            ended = lease.retry(visit, self.now + 10.0, "again")
        elif how == "fail":
            ended = lease.fail(visit, "broken")
        elif how == "exclude":
            ended = lease.exclude(visit, "robots")
        elif how == "hold":
            ended = lease.hold(visit, "trap")
        else:
            ended = lease.give_back(visit, due=self.now + 5.0 if how == "later" else 0.0)
        assert ended
        assert not lease.done(visit, brought(visit))
        self.told["made"] += visit.crawl == self.crawls[1].pk
        if how in ("done", "fail", "exclude", "hold") or (how == "retry" and last):
            self.finish(visit)

    @rule()
    def expire(self):
        """The deadline ends what nobody ended."""
        self.frontier.expire(self.now)
        for visit in [visit for visit in self.live if visit.lease is None]:
            self.live.remove(visit)
            self.waiting = [one for one in self.waiting if one is not visit]
            self.told["made"] += visit.crawl == self.crawls[1].pk
            if visit.attempts + 1 >= MAX_TRIES:
                self.finish(visit)

    @rule()
    def crash(self):
        for whose in self.uncommitted:
            del self.ended[whose]
        self.hear()
        self.unwritten.clear()
        self.open()

    @invariant()
    def one_lessee_asks_a_host(self):
        holders: dict[int, object] = {}
        pages: set[int] = set()
        for visit in getattr(self, "live", []):
            if visit.lease is None:
                continue
            assert visit.page not in pages
            pages.add(visit.page)
            if visit.holds_host:
                assert holders.setdefault(visit.host, visit.lease) is visit.lease

    @invariant()
    def what_is_under_way_is_counted_once(self):
        for crawl in getattr(self, "crawls", []):
            live = sum(visit.crawl == crawl.pk and visit.lease is not None for visit in self.live)
            assert self.frontier.under_way(crawl.pk) == live
            assert self.frontier.taken(crawl.pk) >= live

    def teardown(self) -> None:
        """In the end every visit that was wished for ends, exactly once."""
        if not hasattr(self, "frontier"):
            return
        for visit in self.live:
            if visit.lease is not None:
                visit.lease.give_back(visit)
                self.told["made"] += visit.crawl == self.crawls[1].pk
        self.live.clear()
        self.commit()
        for _ in range(1000):
            self.now += 50.0
            lease = self.frontier.lease(self.now)
            if lease is None:
                self.commit()
                if not any(self.frontier.queued.values()):
                    break
                continue
            visit = lease.visit
            lease.answered(visit, self.now)
            assert lease.done(visit, brought(visit))
            self.told["made"] += visit.crawl == self.crawls[1].pk
            self.finish(visit)
        self.commit()
        assert self.told["heard"] == self.told["made"]
        assert self.ended == dict.fromkeys(self.wanted, 1)
        assert not QueuedVisit.objects.filter(state=State.QUEUED).exists()
        assert QueuedVisit.objects.count() == len(self.wanted)

    def finish(self, visit: LeasedVisit) -> None:
        whose = (visit.crawl, visit.url)
        self.ended[whose] = self.ended.get(whose, 0) + 1
        self.uncommitted.append(whose)

    def hear(self) -> None:
        for ending in self.frontier.take_endings():
            assert ending.crawl == self.crawls[1].pk
            assert ending.how in How
            self.told["heard"] += 1


def test_every_visit_ends_exactly_once_whatever_happens():
    run_state_machine_as_test(
        Leases,
        settings=settings(
            max_examples=40, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
