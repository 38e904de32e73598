"""Visits made by volunteers' devices: offered in blocks, taken back when nobody wants them, judged when they return.

A block is a lease of the frontier, so its hosts are closed to everybody else until it ends. What a device brought is
compared with what another party sees, where that is demanded, and then goes the way of any answer (`Visits.answered`).

lenders          who is connected, how fast, and where
fleet_rules      what the fleet must not ask for, though the engine may
block_offers     visits leased for devices;  fleet_blocks: on their way there and back
confirmations    what is asked twice before it counts, and who was right
fleet_answers    what counts, on its way through ingest, and what clients are told
vantage_visits   the same page looked at from many places
"""

import time
from collections import defaultdict
from typing import TYPE_CHECKING

from hemeroteca.engine.block_offers import BlockOffers
from hemeroteca.engine.confirmations import Confirmations
from hemeroteca.engine.fleet_answers import FleetAnswers
from hemeroteca.engine.fleet_blocks import BlockUnderWay, FleetBlocks, ReturnedBlock
from hemeroteca.engine.fleet_rules import FleetRules
from hemeroteca.engine.lenders import Lenders
from hemeroteca.engine.runs import Run
from hemeroteca.engine.vantage_visits import VantageVisits
from hemeroteca.fleet import dispatch, signatures, vantage
from hemeroteca.frontier.hosts import HostQueue
from hemeroteca.frontier.visit import Ending, How, Visit

if TYPE_CHECKING:
    from hemeroteca.engine.loop import Engine
    from hemeroteca.engine.sinks import Arrival

LOOK_SECONDS = 1.0  # between looks at who is connected
OFFER_SECONDS = 0.05  # between looks at what could be offered
TIDY_SECONDS = 3600.0
MAX_LOSSES = 3  # blocks with a visit that were lost or lay there, after which the engine makes it itself


class FleetVisits:
    def __init__(self, engine: "Engine") -> None:
        signer = signatures.Signer.of(engine.instance) if engine.config.public_url else None
        self._engine = engine
        self.lenders = Lenders()
        self.rules = FleetRules(engine)
        self.blocks = FleetBlocks(engine, self, signer)
        self.confirmations = Confirmations(engine, self, signer)
        self.answers = FleetAnswers(engine, self)
        self.vantage = VantageVisits(engine, self)
        self._offers = BlockOffers(engine, self)
        self._losses: dict[tuple[int, int], int] = defaultdict(int)  # (crawl, key of the page)
        self._look_due = self._offer_due = self._tidy_due = 0.0  # monotonic
        if engine.frontier is not None:
            for host, until_ms in dispatch.recover().items():
                engine.frontier.rest(host, until_ms / 1000)

    # who makes a visit

    @property
    def active(self) -> bool:
        """Devices are connected, or something is on its way to or from them."""
        return bool(self.lenders or self.blocks)

    def leaves(self, host: HostQueue, visit: Visit) -> bool:
        """Whether the engine may make a visit itself now."""
        if visit in self.confirmations or visit.lease is not None or not visit.page or not self.lenders:
            return True
        run = self._engine.runs.get(visit.crawl)
        if run is None or run.options.vantage or not self.may_make(host, visit, run):
            return True
        able = self.lenders.willing(run.activity, run.options.category)
        return not able or (run.activity == "crawls" and self.lenders.settings.local)

    def may_make(self, host: HostQueue, visit: Visit, run: Run) -> bool:
        """Whether a device may: nothing that needs secrets, a browser, our own network or an exception, nor what was
        lost with devices again and again."""
        site, options = host.settings, run.options
        crawl_is_own = not options.job and (
            options.own
            or bool(options.vantage)
            or not self._engine.config.fleet
            or options.ignore_robots
            or options.insecure
        )
        site_is_own = site.allow_private or site.proxy or site.username or site.insecure or site.ignore_robots
        if crawl_is_own or site_is_own or not visit.page or visit.robots_for or site.render == "always":
            return False
        if self._losses.get((visit.crawl, visit.key), 0) >= MAX_LOSSES or run.stopping:
            return False
        return not self.rules.leaves_to_engine(host.id)

    def asks(self, visit: Visit) -> bool:
        """Whether a visit handed out again is a question of ours."""
        return visit in self.confirmations or self.vantage.holds(visit)

    def begin(self, visit: Visit) -> None:
        """A visit that asked for its host again may have it."""
        if self.vantage.holds(visit):
            self.vantage.begin(visit)
        else:
            self.confirmations.begin(visit)

    # the loop

    def look_soon(self) -> None:
        """A crawl begins: devices that have just connected get a share of it from its first visit on."""
        self._look_due = 0.0

    def look(self, moment: float, now: float) -> None:
        """Often; `moment` is monotonic."""
        if moment >= self._look_due:
            self._look_due = moment + LOOK_SECONDS
            self._refresh(now)
        if moment >= self._tidy_due:
            self._tidy_due = moment + TIDY_SECONDS
            dispatch.tidy()
        if not self.active:
            return
        for returned in self.blocks.returned():
            self._take(returned)
        if moment >= self._offer_due:
            self._offer_due = moment + OFFER_SECONDS
            self.confirmations.send()
            self._offers.make(now)

    def _refresh(self, now: float) -> None:
        self.lenders.refresh(now, at_work=bool(self.blocks))
        self.rules.refresh()
        vantage.start_due()
        for block in self.blocks.lost():
            self._lose(block)
        for block in self.blocks.unwanted(now):
            for visit in block.visits.values() if self.lenders.is_passive(block.share) else ():
                self._losses[visit.crawl, visit.key] += 1  # not with another idle one again and again
            self._give_back(block)
        for block in self.blocks.too_slow(now):
            for visit in block.visits.values():
                self._losses[visit.crawl, visit.key] = MAX_LOSSES
            self._give_back(block)

    def stop(self, crawl: int) -> None:
        """A crawl is being stopped: what nobody has taken comes back, and devices return what they have."""
        for block in self.blocks.withdraw(crawl):
            self._give_back(block)

    def close(self) -> None:
        """The engine ends."""
        self.blocks.close()

    # blocks that are over

    def _take(self, returned: ReturnedBlock) -> None:
        block, lender, results = returned.block, returned.lender, returned.results
        for url, origin in block.robots.items():
            pages = [page for page in block.visits if page.startswith(f"{origin}/")]
            self.rules.take(origin, lender, results.get(url), pages)
        for url, known in block.probes.items():
            self.confirmations.probed(lender, known, url, results.get(url))
        for url, visit in block.visits.items():
            result = results.get(url)
            run = self._engine.runs.get(visit.crawl)
            if result is not None:
                result.request.tag = visit
                self.lenders.met(visit.host, result.ip)
                self.lenders.measured(lender, visit.host, result.elapsed)
            if visit.lease is None or run is None:
                if result is not None:
                    result.body.discard()
            elif self.vantage.holds(visit):
                self.vantage.seen(visit, lender, result)
            elif result is None:
                self._not_made(visit)
            elif not result.status:
                self._failed(visit)
            elif not self.confirmations.take(visit, run, lender, result, returned.leased_ms):
                result.body.discard()
                self._not_made(visit)

    def _failed(self, visit: Visit) -> None:
        """A device got no answer. That may be its own network: the engine looks for itself."""
        self.confirmations.drop(visit)
        self._losses[visit.crawl, visit.key] = MAX_LOSSES
        assert visit.lease is not None
        visit.lease.give_back(visit, rest=self._rest(visit))

    def _not_made(self, visit: Visit) -> None:
        """Given back, or something nobody can read: no device vouches for it."""
        rest = self._rest(visit)
        if self.confirmations.ask_engine(visit, rest):
            return
        self._losses[visit.crawl, visit.key] += 1
        assert visit.lease is not None
        visit.lease.give_back(visit, rest=rest)

    def _rest(self, visit: Visit) -> float:
        """Until when its host, which a device may just have asked, is left alone."""
        return time.time() + self._engine.visits.plain_wait(visit.host, visit.crawl, 0.0)

    def _lose(self, block: BlockUnderWay) -> None:
        """Its deadline passed: its device may have asked for some of it."""
        for visit in block.visits.values():
            if self.vantage.holds(visit):
                self.vantage.seen(visit, None, None)
            elif visit.lease is not None:
                self._not_made(visit)
        for origin in block.robots.values():
            self.rules.forget(origin)

    def _give_back(self, block: BlockUnderWay) -> None:
        """Nobody took it: nothing was asked."""
        for visit in block.visits.values():
            if self.vantage.holds(visit):
                self.vantage.seen(visit, None, None)
            elif visit.lease is not None and not self.confirmations.ask_engine(visit):
                visit.lease.give_back(visit)
        for origin in block.robots.values():
            self.rules.forget(origin)

    # the commit

    def take(self, arrival: "Arrival") -> None:
        """A capture passed ingest."""
        self.vantage.take(arrival)
        self.answers.take(arrival)

    @property
    def pending(self) -> bool:
        return bool(self.confirmations.verdicts) or self.answers.pending or self.vantage.pending

    def write(self, endings: list[Ending]) -> None:
        """Inside the commit: verdicts, and what clients are told of the visits that ended."""
        self.vantage.write()
        final = [ending for ending in endings if ending.how in (How.DONE, How.FAILED, How.EXCLUDED)]
        for ending in final if self._losses else ():
            self._losses.pop((ending.crawl, ending.key), None)
        resolved = self.answers.resolved(final)
        verdicts, self.confirmations.verdicts = self.confirmations.verdicts, []
        if verdicts or resolved:
            dispatch.keep(verdicts, self.confirmations.reputations, resolved, self.lenders.settings.device_percent)
