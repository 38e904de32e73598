"""Blocks on their way to and from devices: what is in each, what it is asked for besides, and when it is over."""

import random
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hemeroteca.engine.lenders import UNWANTED_SECONDS
from hemeroteca.fetch import Guard, Result
from hemeroteca.fleet import dispatch, protocol, signatures
from hemeroteca.fleet.agreement import Fingerprint
from hemeroteca.fleet.dispatch import Lender, Offer
from hemeroteca.fleet.models import Block
from hemeroteca.frontier.robots import origin_of
from hemeroteca.frontier.visit import Visit

if TYPE_CHECKING:
    from hemeroteca.engine.fleet_visits import FleetVisits
    from hemeroteca.engine.loop import Engine

URGENT_SECONDS = 8.0  # that a block waits when somebody waits for a single URL; then the engine makes the visit
USUAL_SECONDS = 5.0  # of a request, for the deadline of a block: few take longer


@dataclass(eq=False)
class BlockUnderWay:
    share: int  # the device it is meant for
    visits: dict[str, Visit]  # by URL, those that have not come back
    robots: dict[str, str] = field(default_factory=dict)  # URL of a robots.txt it was asked for besides → its origin
    probes: dict[str, Fingerprint] = field(default_factory=dict)  # URL whose answer is known


@dataclass(eq=False)
class ReturnedBlock:
    block: BlockUnderWay
    lender: Lender  # who brought it
    leased_ms: int
    results: dict[str, Result]  # by URL


class FleetBlocks:
    def __init__(self, engine: "Engine", fleet: "FleetVisits", signer: signatures.Signer | None) -> None:
        self._engine = engine
        self._fleet = fleet
        self._signer = signer
        self._guard = Guard(engine.config.allow_private, engine.config.allow_networks)
        self._under_way: dict[int, BlockUnderWay] = {}

    def __bool__(self) -> bool:
        return bool(self._under_way)

    # there

    def send(self, visits: list[Visit], activity: str, now: float, peer: Lender | None = None) -> None:
        """Make a block of visits, for the device the strategy chooses or for the one that must confirm them."""
        lenders = self._fleet.lenders
        by_host: dict[int, list[Visit]] = defaultdict(list)
        for visit in visits:
            by_host[visit.host].append(visit)
        work = protocol.LeasedWork(
            hosts=[self._host_work(number, mine, now) for number, mine in by_host.items()],
            timeout=lenders.settings.task_seconds,
            max_delay=self._engine.config.max_delay,
        )
        block = BlockUnderWay(0, {visit.url: visit for visit in visits})
        if peer is None:
            self._add_errands(block, work, by_host)
        each = min(USUAL_SECONDS, lenders.settings.task_seconds)
        longest = max(len(one.tasks) * (one.delay + each) for one in work.hosts)
        urls = sum(len(one.tasks) for one in work.hosts)
        seconds = longest + 0.5 * urls + 2 * lenders.settings.task_seconds
        self._sign(work, now, seconds)
        run = self._engine.runs.get(visits[0].crawl)
        category = run.options.category if run is not None else ""
        if peer is not None:
            block.share = peer.id
        else:
            able = [one for one in lenders.willing(activity, category) if one.room >= urls]
            block.share = lenders.place(by_host, len(visits), able)
        asked = self._fleet.confirmations.asked(visits)
        offer = Offer(
            share=block.share,
            activity=activity,
            category=category,
            kind="vantage" if activity == "vantage" else "check" if peer is not None else "visit",
            owners=sorted({one.owner for one in asked}),
            networks=sorted({one.network for one in asked}),
            urls=urls,
            work=work,
            seconds=seconds,
        )
        (number,) = dispatch.offer([offer])
        self._under_way[number] = block
        lender = lenders.get(block.share)
        assert lender is not None
        lender.waiting += urls
        lender.pending += urls
        lender.total += urls

    def _host_work(self, number: int, visits: list[Visit], now: float) -> protocol.HostWork:
        engine, config = self._engine, self._engine.config
        host = engine.frontier.host(number)
        rules = engine.robots.rules(origin_of(visits[0].url), now)
        token = rules.token_for(protocol.AGENT, config.robots_token) if rules else ""
        asked = rules.crawl_delay(token) if rules else None
        delay = engine.visits.plain_wait(number, visits[0].crawl, 0.0, asked)
        run = engine.runs.get(visits[0].crawl)
        fixed = host.settings.delay is not None or (run is not None and run.options.delay is not None)
        tasks = []
        for visit in visits:
            options = engine.runs[visit.crawl].options
            conditional = visit.followed and not options.for_fleet
            tasks.append(
                protocol.UrlTask(
                    url=visit.url,
                    etag=visit.etag if conditional else "",
                    last_modified=visit.last_modified if conditional else "",
                    method=options.method,
                    headers=list(options.headers),
                    certificate=bool(options.vantage),
                )
            )
        return protocol.HostWork(
            host=host.name,
            delay=delay,
            factor=0.0 if fixed else config.delay_factor,
            tasks=tasks,
        )

    def _add_errands(self, block: BlockUnderWay, work: protocol.LeasedWork, by_host: dict[int, list[Visit]]) -> None:
        """What a block is asked for besides its visits: the rules of an origin that fewer than two parties have seen,
        and now and then a page whose answer is known."""
        now = time.time()
        owners = len({one.owner for one in self._fleet.lenders})
        percent = self._fleet.lenders.settings.probe_percent
        for part, (host, visits) in zip(work.hosts, by_host.items(), strict=True):
            origin = origin_of(visits[0].url)
            if part.tasks[0].method == "GET" and self._fleet.rules.wants(origin, owners):
                part.tasks.insert(0, protocol.UrlTask(url=f"{origin}/robots.txt"))
                block.robots[f"{origin}/robots.txt"] = origin
            known = self._fleet.confirmations.known(host, now)
            if known is None or known[0] in block.visits or part.tasks[-1].headers:
                continue
            if random.random() < percent / 100 * len(visits):  # noqa: S311 - the seed is not the device's
                part.tasks.insert(random.randint(0, len(part.tasks)), protocol.UrlTask(url=known[0]))  # noqa: S311
                block.probes[known[0]] = known[1]

    def _sign(self, work: protocol.LeasedWork, now: float, seconds: float) -> None:
        for part in work.hosts:
            authorities = {origin_of(task.url).partition("://")[2] for task in part.tasks}
            if self._signer is not None and len(authorities) == 1:  # one signature is good for one port
                part.signature = self._signer.sign(authorities.pop(), now, UNWANTED_SECONDS + seconds)

    # and back

    def returned(self) -> Iterator[ReturnedBlock]:
        """Blocks that have come back; each is closed when the next one is asked for."""
        if not self._under_way:
            return
        for row in dispatch.returned():
            block = self._under_way.pop(row.pk, None)
            if block is not None:
                yield self._read(row, block)
            dispatch.close(row.pk)

    def _read(self, row: Block, block: BlockUnderWay) -> ReturnedBlock:
        device = row.device
        assert device is not None
        lender = self._fleet.lenders.get(device.pk) or Lender.of(device)
        wanted = [*block.visits, *block.robots, *block.probes]
        results = dispatch.results(row, wanted, self._guard, self._engine.instance.spool_dir)
        return ReturnedBlock(block, lender, row.leased_ms, results)

    def lost(self) -> list[BlockUnderWay]:
        """Their deadline has passed: no request of their device can be under way any more."""
        return self._popped(dispatch.expired()) if self._under_way else []

    def unwanted(self, now: float) -> list[BlockUnderWay]:
        """Nobody took them."""
        return self._withdrawn(self._waiting_since(now - UNWANTED_SECONDS))

    def too_slow(self, now: float) -> list[BlockUnderWay]:
        """Nobody has taken them, and each holds the only URL of a job, for which somebody waits."""
        return self._withdrawn(
            number for number in self._waiting_since(now - URGENT_SECONDS) if self._is_urgent(number)
        )

    def withdraw(self, crawl: int) -> list[BlockUnderWay]:
        """A crawl is being stopped: what nobody has taken of it; devices return the rest as it is."""
        mine = [
            number
            for number, block in self._under_way.items()
            if any(visit.crawl == crawl for visit in block.visits.values())
        ]
        found = self._withdrawn(mine)
        dispatch.recall(mine)
        return found

    def close(self) -> None:
        """Nothing more is handed out. The next engine leaves hosts alone that devices still hold."""
        dispatch.withdraw(list(self._under_way))

    def _waiting_since(self, before: float) -> list[int]:
        if not self._under_way:
            return []
        return [number for number in dispatch.unwanted(int(before * 1000)) if number in self._under_way]

    def _is_urgent(self, number: int) -> bool:
        runs = [self._engine.runs.get(visit.crawl) for visit in self._under_way[number].visits.values()]
        return any(run is not None and run.options.job and len(run.options.scope.seeds) == 1 for run in runs)

    def _withdrawn(self, numbers: Iterable[int]) -> list[BlockUnderWay]:
        return self._popped(dispatch.withdraw(numbers))

    def _popped(self, numbers: Iterable[int]) -> list[BlockUnderWay]:
        return [self._under_way.pop(number) for number in numbers if number in self._under_way]
