"""Visits made by volunteers' devices: offered in blocks, taken back when nobody wants them, judged when they return.

A block is a lease of the frontier, so its hosts are closed to everybody else until it ends. What a device brought is
compared with what another party sees, as `fleet.trust` demands, and then goes the way of any answer
(`Visits.answered`). A visit that somebody must confirm keeps its lease and asks for its host once more.
"""

import random
import time
from collections import Counter, OrderedDict, defaultdict
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from hemeroteca.engine.runs import Run
from hemeroteca.engine.vantage_visits import VantageVisits
from hemeroteca.fetch import Guard, Result
from hemeroteca.fleet import (
    agreement,
    assignment,
    coordinator,
    dispatch,
    geolocation,
    protocol,
    services,
    signatures,
    trust,
    vantage,
)
from hemeroteca.fleet.agreement import Fingerprint
from hemeroteca.fleet.dispatch import Lender, Offer, Resolved, Verdict
from hemeroteca.fleet.models import Answer, Block
from hemeroteca.frontier.hosts import HostQueue
from hemeroteca.frontier.lease import Lease
from hemeroteca.frontier.robots import origin_of
from hemeroteca.frontier.visit import Ending, How, Visit
from hemeroteca.urls.robots_txt import Robots
from hemeroteca.warc import Capture
from hemeroteca.warc.capture import decoded

if TYPE_CHECKING:
    from hemeroteca.engine.loop import Engine
    from hemeroteca.engine.sinks import Arrival

LOOK_SECONDS = 1.0  # between looks at who is connected
OFFER_SECONDS = 0.05  # between looks at what could be offered
AHEAD_SECONDS = 2.0  # of a device's work that waits for it: more would keep hosts from others
MAX_AHEAD_BLOCKS = 8  # … whatever speed it claims
FIRST_BLOCK = 16  # URLs, for a device nobody has measured
HOST_SECONDS = 10.0  # of one host's visits in a block: more would hold the host too long, fewer cost too much
USUAL_HOSTS = 8  # of a block, where so many have work
UNWANTED_SECONDS = 20.0  # a block nobody takes is the engine's again …
PASSIVE_SECONDS = 60.0  # … and who took nothing at all meanwhile gets no share so long
URGENT_SECONDS = 8.0  # … earlier when somebody waits for a single URL, and then the engine makes the visit
USUAL_SECONDS = 5.0  # of a request, for the deadline of a block: few take longer
LEASE_SECONDS = 7200.0  # of the frontier's lease: the block's own deadline is far before
MAX_LOSSES = 3  # blocks with a visit that were lost or lay there, after which the engine makes it itself
TIDY_SECONDS = 3600.0
MAX_BROUGHT = 50_000  # answers on their way through ingest that are remembered
MAX_HOSTS = 50_000  # whose country, speeds, rules and known answers are remembered
PROBE_SECONDS = 1800.0  # that an answer is taken for known
SIGNED_SECONDS = 60.0  # for which the engine's own signature to a site is good
SUSPECTED = 20  # results of a device that gave another answer, all of which the engine checks
BLOCKED = (403, 451)  # a client's URL so answered is asked from no other country


@dataclass(eq=False)
class Voice:
    """What one party says of a URL; the engine has no lender."""

    lender: Lender | None
    result: Result
    fingerprint: Fingerprint
    leased_ms: int = 0  # when a device took the block it is of


@dataclass(eq=False)
class Question:
    """A visit whose answer somebody must confirm."""

    run: Run
    by_peer: bool
    voices: list[Voice] = field(default_factory=list)
    at_home: bool = False  # only the country that answered may be asked


@dataclass(eq=False)
class Out:
    """A block on its way."""

    share: int  # the device it is meant for
    visits: dict[str, Visit]  # by URL, those that have not come back
    robots: dict[str, str] = field(default_factory=dict)  # URL of a robots.txt it was asked for besides → its origin
    probes: dict[str, Fingerprint] = field(default_factory=dict)  # URL whose answer is known


@dataclass(eq=False)
class Brought:
    """Who vouches for an answer on its way through ingest."""

    devices: list[Lender]
    checked: bool


class FleetVisits:
    def __init__(self, engine: "Engine") -> None:
        config = engine.config
        self._engine = engine
        self._config = config
        self._guard = Guard(config.allow_private, config.allow_networks)
        self._settings = protocol.FleetSettings()
        self._lenders: dict[int, Lender] = {}
        self._reputations: dict[tuple[int, str], trust.Reputation] = {}
        self._closed: frozenset[str] = frozenset()
        self._own_hosts: set[int] = set()  # their robots.txt lets the engine in, not the fleet
        self._blocks: dict[int, Out] = {}
        self._questions: dict[Visit, Question] = {}
        self._to_peers: list[Visit] = []  # handed out again, to be confirmed by a device
        self._losses: dict[tuple[int, int], int] = defaultdict(int)
        self._passive: dict[int, float] = {}  # devices that live and take nothing, and until when they get no share
        self._caught_ms: dict[int, int] = {}  # device → when it was: what it took before earns it nothing
        self._suspects: Counter[int] = Counter()  # device → how many of its results are still checked for that
        self._countries: OrderedDict[int, str] = OrderedDict()  # of hosts
        self._seconds: OrderedDict[tuple[int, int], float] = OrderedDict()  # (device, host) → of a request there …
        self._usual: dict[int, float] = {}  # … and device → of its requests anywhere
        self._rules: OrderedDict[str, dict[int, Robots]] = OrderedDict()  # origin → owner → what devices were shown
        self._answers: OrderedDict[int, tuple[str, Fingerprint, float]] = OrderedDict()  # host → known, until when
        self.vantage = VantageVisits(engine, self)
        self._brought: dict[tuple[int, int], Brought] = {}
        self._verdicts: list[Verdict] = []
        self._arrived: dict[tuple[int, int], Resolved] = {}  # of jobs: read, and on its way to the commit
        self._signer = signatures.Signer.of(engine.instance) if config.public_url else None
        self._look_due = self._offer_due = self._tidy_due = 0.0
        if engine.frontier is not None:
            for host, until_ms in dispatch.recover().items():
                engine.frontier.rest(host, until_ms / 1000)

    @property
    def active(self) -> bool:
        """Devices are connected, or something is on its way to or from them."""
        return bool(self._lenders or self._blocks)

    # who makes a visit

    def leaves(self, host: HostQueue, visit: Visit) -> bool:
        """Whether the engine may make a visit itself now."""
        if visit in self._questions or visit.lease is not None or not visit.page or not self._lenders:
            return True
        run = self._engine.runs.get(visit.crawl)
        if run is None or run.options.vantage or not self._is_for_fleet(host, visit, run):
            return True
        activity, category = _activity(run), run.options.category
        if self._losses.get((visit.crawl, visit.key), 0) >= MAX_LOSSES:
            return True
        able = any(one.takes(activity, category) and not one.slowed for one in self._lenders.values())
        return not able or (activity == "crawls" and self._settings.local)

    def lenders(self) -> list[Lender]:
        return list(self._lenders.values())

    def lender(self, number: int) -> Lender | None:
        return self._lenders.get(number)

    def send_vantage(self, visit: Visit, lender: Lender) -> None:
        """Have one device look at one page."""
        self._send([visit], "vantage", time.time(), lender)

    def asks(self, visit: Visit) -> bool:
        """Whether a visit handed out again is a question of ours."""
        return visit in self._questions or self.vantage.holds(visit)

    def begin(self, visit: Visit) -> None:
        """A visit to be confirmed may ask its host: by another device, or by the engine."""
        if self.vantage.holds(visit):
            self.vantage.begin(visit)
            return
        question = self._questions[visit]
        run = question.run
        if run.options.for_fleet and (closed := self.refused(visit, run, origin_of(visit.url))):
            self._drop(visit)  # its owner closed it meanwhile: nobody asks again to confirm anything
            self._engine.visits.exclude(visit, closed)
            return
        if run.is_over:
            self._drop(visit)
            if visit.lease is not None:
                visit.lease.give_back(visit)
            return
        if question.by_peer and self._peer(visit, question) is not None:
            self._to_peers.append(visit)
            return
        question.by_peer = False
        if question.at_home:
            self._leave_it(visit)
            return
        request = self._engine.visits.request(visit, question.run)
        request.headers = (*request.headers, *self._as_a_device(visit))
        if visit.followed and not question.run.options.for_fleet:
            request.etag, request.last_modified = visit.etag, visit.last_modified
        self._engine.fetcher.submit(request, self._engine_answered)

    def _as_a_device(self, visit: Visit) -> list[tuple[str, str]]:
        """The headers by which a site knows the fleet: a page may depend on who asks."""
        named = [("User-Agent", coordinator.agent())]
        if self._signer is not None:
            named += self._signer.sign(origin_of(visit.url).partition("://")[2], time.time(), SIGNED_SECONDS)
        return named

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
        if not self._blocks and not self._lenders:
            return
        if self._blocks:
            self._take_returned()
        if moment >= self._offer_due:
            self._offer_due = moment + OFFER_SECONDS
            self._offer_checks()
            self._offer(now)

    def take(self, arrival: "Arrival") -> None:
        """A capture of a job's URL passed ingest."""
        trip = arrival.trip
        self.vantage.take(arrival)
        if trip is None or not trip.run.options.job or not trip.visit.page:
            return
        self._arrived[trip.visit.crawl, trip.visit.key] = Resolved(
            job=trip.run.options.job,
            key=trip.visit.key,
            status=arrival.capture.status,
            location=arrival.capture.header("location"),
            capture=arrival.row.record_id if arrival.row is not None else trip.visit.served,
            cached=trip.visit.served is not None,
        )

    @property
    def pending(self) -> bool:
        return bool(self._verdicts or self._arrived or self.vantage.pending)

    def write(self, endings: list[Ending]) -> None:
        """Inside the commit: verdicts, and what clients are told of the visits that ended."""
        verdicts, self._verdicts = self._verdicts, []
        self.vantage.write()
        resolved = []
        for ending in endings:
            run = self._engine.runs.get(ending.crawl)
            if run is None or ending.how not in (How.DONE, How.FAILED, How.EXCLUDED):
                continue
            place = ending.crawl, ending.key
            self._losses.pop(place, None)
            if not run.options.job:
                continue
            told = self._arrived.pop(place, None) or Resolved(job=run.options.job, key=ending.key)
            told.reason = told.reason or ending.reason
            brought = self._brought.pop(place, None)
            if brought is not None:
                told.devices, told.checked = brought.devices, brought.checked
            resolved.append(told)
        if verdicts or resolved:
            dispatch.keep(verdicts, self._reputations, resolved, self._settings.device_percent)

    def answered_head(self, visit: Visit, result: Result) -> None:
        """The answer to HEAD, which is kept nowhere."""
        run = self._engine.runs[visit.crawl]
        self._arrived[visit.crawl, visit.key] = Resolved(
            job=run.options.job, key=visit.key, status=result.status, location=result.header("location")
        )
        if visit.lease is not None:
            visit.lease.done(visit)

    def stop(self, crawl: int) -> None:
        """A crawl is being stopped: what nobody has taken comes back, and devices return what they have."""
        mine = [number for number, out in self._blocks.items() if any(v.crawl == crawl for v in out.visits.values())]
        for number in dispatch.withdraw(mine):
            self._give_back(self._blocks.pop(number))
        dispatch.recall(mine)

    def close(self) -> None:
        """The engine ends: nothing more is handed out. The next one leaves hosts alone that devices still hold."""
        dispatch.withdraw(list(self._blocks))

    # offering

    def _refresh(self, now: float) -> None:
        lenders = dispatch.lenders()
        if lenders or self._blocks:
            self._settings = services.fleet_settings()
            passive = dispatch.passive(int((now - UNWANTED_SECONDS) * 1000))
            self._passive |= dict.fromkeys(passive, now + PASSIVE_SECONDS)
            self._passive = {device: until for device, until in self._passive.items() if until > now}
        self._lenders = {lender.id: lender for lender in lenders if lender.id not in self._passive}
        self._closed = dispatch.closed_hosts()
        vantage.start_due()
        unknown = [one for one in self._lenders.values() if (one.id, one.version) not in self._reputations]
        if unknown:
            found = dispatch.reputations(unknown)
            for one in unknown:
                self._reputations[one.id, one.version] = found.get((one.id, one.version), trust.Reputation())
        if self._blocks:
            for number in dispatch.expired():
                if number in self._blocks:
                    self._lose(self._blocks.pop(number))
            before = int((now - UNWANTED_SECONDS) * 1000)
            for number in dispatch.withdraw(n for n in dispatch.unwanted(before) if n in self._blocks):
                out = self._blocks.pop(number)
                for visit in out.visits.values() if out.share in self._passive else ():
                    self._losses[visit.crawl, visit.key] += 1  # not with another idle one again and again
                self._give_back(out)
            before = int((now - URGENT_SECONDS) * 1000)
            for number in dispatch.withdraw(n for n in dispatch.unwanted(before) if self._is_urgent(n)):
                out = self._blocks.pop(number)
                for visit in out.visits.values():
                    self._losses[visit.crawl, visit.key] = MAX_LOSSES
                self._give_back(out)

    def _is_urgent(self, number: int) -> bool:
        """Whether a block holds the only URL of a job."""
        out = self._blocks.get(number)
        runs = [self._engine.runs.get(visit.crawl) for visit in out.visits.values()] if out is not None else []
        return any(run is not None and run.options.job and len(run.options.scope.seeds) == 1 for run in runs)

    def _offer(self, now: float) -> None:
        """Keep so much waiting for each device that it never waits for us."""
        if self._engine.frontier.next_time() is None or not self._engine.runs:
            return
        waiting = dispatch.waiting()
        for one in self._lenders.values():
            one.waiting = waiting.get(one.id, 0)
        hungry = [one for one in self._lenders.values() if not one.slowed or not one.pending]
        for lender in sorted(hungry, key=lambda one: one.waiting):
            size = self._block_size(lender)
            for _ in range(4):
                if lender.waiting >= min(max(size, lender.speed * AHEAD_SECONDS), MAX_AHEAD_BLOCKS * size):
                    break
                if not self._offer_block(lender, size, now):
                    break

    def _offer_block(self, lender: Lender, size: int, now: float) -> bool:
        for activity in ("clients", "crawls"):
            if activity not in lender.activities:
                continue
            kinds: list[str] = []  # a block has pages of one category

            def choose(host: HostQueue, visit: Visit, activity: str = activity, kinds: list[str] = kinds) -> bool:
                if visit.lease is not None or visit in self._questions:
                    return True
                run = self._engine.runs.get(visit.crawl)
                if run is None or _activity(run) != activity or not self._is_for_fleet(host, visit, run):
                    return False
                category = run.options.category
                if not lender.takes(activity, category) or category not in (kinds or [category]):
                    return False
                kinds[:] = [category]
                return True

            run = _run_length(size, random.random())  # noqa: S311 - hides nothing
            whole = size // run * run
            lease = self._engine.frontier.lease(
                now, "fleet", LEASE_SECONDS, max_visits=whole, per_host=partial(self._per_host, run), choose=choose
            )
            if lease is None:
                continue
            if lease.lessee != "fleet" or lease.visit.asked:  # a visit that asked for its host again
                self._engine.visits.begin(lease.visit, now)
                return True
            hosts = len({visit.host for visit in lease.visits})
            if hosts < USUAL_HOSTS:  # each handing over costs a host a moment: the few there are get longer runs
                self._engine.frontier.extend(lease, now, partial(self._per_host, size // hosts), choose)
            visits = self._admitted(lease, now)
            if visits:
                self._send(visits, activity, now)
                return True
        return False

    def _per_host(self, run: int, host: HostQueue) -> int:
        return max(1, min(run, int(HOST_SECONDS / max(host.delay, self._config.delay, 0.1))))

    def _block_size(self, lender: Lender) -> int:
        """Visits for a device: by its speed, and so few that there is room for the errands of the block too."""
        most = max(1, min(self._settings.max_block, lender.room // 3))
        return min(most, max(4, int(lender.speed * AHEAD_SECONDS)) if lender.speed else FIRST_BLOCK)

    def _is_for_fleet(self, host: HostQueue, visit: Visit, run: Run) -> bool:
        """Nothing that needs secrets, a browser, our own network or an exception goes to a device."""
        site, options = host.settings, run.options
        if options.job:
            own = False
        else:
            own = (
                options.own
                or bool(options.vantage)
                or not self._config.fleet
                or options.ignore_robots
                or options.insecure
            )
        secret = site.allow_private or site.proxy or site.username or site.insecure or site.ignore_robots
        if own or secret or not visit.page or visit.robots_for or site.render == "always":
            return False
        if self._losses.get((visit.crawl, visit.key), 0) >= MAX_LOSSES or run.stopping:
            return False
        return host.id not in self._own_hosts

    def _admitted(self, lease: Lease, now: float) -> list[Visit]:
        """The visits of a lease that may go to a device; the others are ended, served or given back."""
        admitted: list[Visit] = []
        waiting: set[int] = set()  # hosts whose robots.txt is on its way
        for visit in list(lease.visits):
            run = self._engine.runs.get(visit.crawl)
            if visit.host in waiting or run is None or run.stopping:
                lease.give_back(visit)
            elif run.is_at_limit(self._engine.frontier.taken(visit.crawl) - 1):
                self._engine.frontier.hold_crawl(visit.crawl)
                lease.give_back(visit)
            elif not self._engine.visits.admit(visit, run, now, fleet=True):
                if visit.lease is not None:  # the rules are being fetched in its stead
                    waiting.add(visit.host)
            elif served := self._engine.visits.served(visit, run, now):
                lease.unasked(visit)
                self._engine.intake.submit(visit, served, run)
            else:
                admitted.append(visit)
        for visit in [visit for visit in admitted if visit.host in waiting]:
            admitted.remove(visit)
            lease.give_back(visit)
        return admitted

    def refused(self, visit: Visit, run: Run, origin: str) -> str:
        """Why the fleet must not make a visit that robots.txt allows the engine; jobs are told, crawls go on without.
        Empty: it may."""
        engine = self._engine
        host = engine.frontier.host(visit.host)
        labels = host.name.split(".")
        closed = any(".".join(labels[place:]) in self._closed for place in range(len(labels)))
        rules = engine.robots.rules(origin, time.time())
        own = self._config.robots_token
        token = rules.token_for(protocol.AGENT, own) if rules is not None else own
        forbids = rules if rules is not None and not rules.allows(visit.url, token) else None
        shown = list(self._rules.get(origin, {}).values())
        if len(shown) > 1 and all(not one.allows(visit.url, one.token_for(protocol.AGENT, own)) for one in shown):
            forbids = shown[0]  # two owners' devices were shown other rules than the engine: the stricter ones count
        if not closed and forbids is None:
            return ""
        if not run.options.for_fleet:
            self._own_hosts.add(visit.host)
        if closed or forbids is None:
            return f"{host.name} is closed to the fleet"
        rule = forbids.rule(visit.url, forbids.token_for(protocol.AGENT, own))
        return f"robots.txt of {host.name} forbids the fleet this page ({rule})"

    def _send(self, visits: list[Visit], activity: str, now: float, peer: Lender | None = None) -> None:
        """Make a block of visits, for the device the strategy chooses or for the one that must confirm them."""
        by_host: dict[int, list[Visit]] = {}
        for visit in visits:
            by_host.setdefault(visit.host, []).append(visit)
        work = protocol.LeasedWork(
            hosts=[self._host_work(number, mine, now) for number, mine in by_host.items()],
            timeout=self._settings.task_seconds,
            max_delay=self._config.max_delay,
        )
        out = Out(0, {visit.url: visit for visit in visits})
        if peer is None:
            self._add_errands(out, work, by_host)
        each = min(USUAL_SECONDS, self._settings.task_seconds)
        longest = max(len(one.tasks) * (one.delay + each) for one in work.hosts)
        urls = sum(len(one.tasks) for one in work.hosts)
        seconds = longest + 0.5 * urls + 2 * self._settings.task_seconds
        for part in work.hosts:
            authorities = {origin_of(task.url).partition("://")[2] for task in part.tasks}
            if self._signer is not None and len(authorities) == 1:  # one signature is good for one port
                part.signature = self._signer.sign(authorities.pop(), now, UNWANTED_SECONDS + seconds)
        run = self._engine.runs.get(visits[0].crawl)
        category = run.options.category if run is not None else ""
        able = [
            one
            for one in self._lenders.values()
            if one.takes(activity, category) and not one.slowed and one.room >= urls
        ]
        if peer is not None:
            out.share = peer.id
        elif able:
            strategy = assignment.STRATEGIES[self._settings.strategy]
            out.share = strategy.place(self._described(by_host, able), [one.candidate() for one in able])
        else:
            out.share = next(iter(self._lenders))
        asked = [
            voice.lender for visit in visits if visit in self._questions for voice in self._questions[visit].voices
        ]
        offer = Offer(
            share=out.share,
            activity=activity,
            category=category,
            kind="vantage" if activity == "vantage" else "check" if peer is not None else "visit",
            owners=sorted({one.owner for one in asked if one is not None}),
            networks=sorted({one.network for one in asked if one is not None}),
            urls=urls,
            work=work,
            seconds=seconds,
        )
        (number,) = dispatch.offer([offer])
        self._blocks[number] = out
        one = self._lenders[out.share]
        one.waiting += urls
        one.pending += urls
        one.total += urls

    def _add_errands(self, out: Out, work: protocol.LeasedWork, by_host: dict[int, list[Visit]]) -> None:
        """What a block is asked for besides its visits: the rules of an origin that fewer than two parties have seen,
        and now and then a page whose answer is known."""
        now = time.time()
        for part, (host, visits) in zip(work.hosts, by_host.items(), strict=True):
            origin = origin_of(visits[0].url)
            owners = {one.owner for one in self._lenders.values()}
            doubted = len(self._rules.get(origin, ())) == 1 and len(owners) > 1  # another owner's device must look
            if (origin not in self._rules or doubted) and part.tasks[0].method == "GET":
                self._rules.setdefault(origin, {})
                _shorten(self._rules)
                part.tasks.insert(0, protocol.UrlTask(url=f"{origin}/robots.txt"))
                out.robots[f"{origin}/robots.txt"] = origin
            known = self._answers.get(host)
            if known is None or known[2] < now or known[0] in out.visits or part.tasks[-1].headers:
                continue
            if random.random() < self._settings.probe_percent / 100 * len(visits):  # noqa: S311 - the seed is not the device's
                part.tasks.insert(random.randint(0, len(part.tasks)), protocol.UrlTask(url=known[0]))  # noqa: S311
                out.probes[known[0]] = known[1]

    def _described(self, by_host: dict[int, list[Visit]], able: list[Lender]) -> assignment.AssignableBlock:
        """What a strategy knows of a block: where its sites are, and how fast each device is with them."""
        countries = Counter(self._countries[host] for host in by_host if self._countries.get(host))
        speeds = {}
        for one in able:
            known = [self._seconds[one.id, host] for host in by_host if (one.id, host) in self._seconds]
            if known and one.speed and one.id in self._usual:
                speeds[one.id] = one.speed * self._usual[one.id] * len(known) / max(sum(known), 0.001)
        place = geolocation.centre(countries.most_common(1)[0][0]) if countries else None
        return assignment.AssignableBlock(urls=sum(map(len, by_host.values())), place=place, speeds=speeds)

    def met(self, host: int, ip: str) -> None:
        """A host answered from this address."""
        if ip and host and host not in self._countries:
            self._countries[host] = geolocation.country(ip)
            _shorten(self._countries)

    def _measured(self, lender: Lender, host: int, seconds: float) -> None:
        """How long a request of a device took, there and anywhere: an average that forgets."""
        place = lender.id, host
        self._seconds[place] = 0.7 * self._seconds[place] + 0.3 * seconds if place in self._seconds else seconds
        _shorten(self._seconds)
        usual = self._usual.get(lender.id)
        self._usual[lender.id] = seconds if usual is None else 0.95 * usual + 0.05 * seconds

    def _host_work(self, number: int, visits: list[Visit], now: float) -> protocol.HostWork:
        engine = self._engine
        host = engine.frontier.host(number)
        origin = origin_of(visits[0].url)
        rules = engine.robots.rules(origin, now)
        token = rules.token_for(protocol.AGENT, self._config.robots_token) if rules else ""
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
            factor=0.0 if fixed else self._config.delay_factor,
            tasks=tasks,
        )

    def _offer_checks(self) -> None:
        """Visits to be confirmed by another device, together."""
        if not self._to_peers:
            return
        waiting, self._to_peers = self._to_peers, []
        by_peer: dict[tuple[int, str, str], list[Visit]] = {}
        for visit in waiting:
            question = self._questions.get(visit)
            if question is None:
                continue
            peer = self._peer(visit, question)
            if peer is None:
                question.by_peer = False
                self.begin(visit)
            else:
                kind = peer.id, _activity(question.run), question.run.options.category
                by_peer.setdefault(kind, []).append(visit)
        for (peer_id, activity, _), visits in by_peer.items():
            most = max(1, min(self._settings.max_block, self._lenders[peer_id].room))
            for start in range(0, len(visits), most):
                self._send(visits[start : start + most], activity, time.time(), self._lenders[peer_id])

    def _peer(self, visit: Visit, question: Question) -> Lender | None:
        """Another owner's device on another network; in the same country where there is one."""
        first = question.voices[0].lender
        assert first is not None
        able = [
            one
            for one in self._lenders.values()
            if one.owner != first.owner
            and (one.network != first.network or not first.network)
            and one.takes(_activity(question.run), question.run.options.category)
            and not one.slowed
        ]
        near = [one for one in able if one.country == first.country and (one.country or not question.at_home)]
        near = near if question.at_home else near or able
        return min(near, key=lambda one: (one.pending, one.id)) if near else None

    # what comes back

    def _take_returned(self) -> None:
        for block in dispatch.returned():
            out = self._blocks.pop(block.pk, None)
            if out is not None:
                self._judge(block, out)
            dispatch.close(block.pk)

    def _judge(self, block: Block, out: Out) -> None:
        device = block.device
        assert device is not None
        lender = self._lenders.get(device.pk) or Lender.of(device)
        spool = self._engine.instance.spool_dir
        brought = dispatch.results(block, [*out.visits, *out.robots, *out.probes], self._guard, spool)
        self._judge_errands(out, brought, lender)
        for url, visit in out.visits.items():
            result = brought.get(url)
            run = self._engine.runs.get(visit.crawl)
            if result is not None:
                result.request.tag = visit
                self.met(visit.host, result.ip)
                self._measured(lender, visit.host, result.elapsed)
            if visit.lease is None or run is None:
                if result is not None:
                    result.body.discard()
            elif self.vantage.holds(visit):
                self.vantage.seen(visit, lender, result)
            elif result is None:
                self._not_made(visit)
            elif not result.status:
                self._failed(visit, run, result)
            elif visit in self._questions:
                self._second(visit, lender, result, block.leased_ms)
            else:
                self._first(visit, run, lender, result, block.leased_ms)

    def _judge_errands(self, out: Out, brought: dict[str, Result], lender: Lender) -> None:
        for url, origin in out.robots.items():
            result = brought.get(url)
            if result is None or not 200 <= result.status < 500 or 300 <= result.status < 400:
                self._rules.pop(origin, None)  # the next block asks
                continue
            body, _ = decoded(result.body.bytes(1 << 19), result.response_head, 1 << 19)
            told = Robots.read(result.status, body if result.status < 300 else b"")
            own = self._engine.robots.rules(origin, time.time())
            if own is not None and not self._allow_the_same(own, told, out, origin):
                self._rules.setdefault(origin, {})[lender.owner] = told
                services.audit("system", "robots differ", f"{origin}/robots.txt, as device {lender.pseudonym} saw it")
            result.body.discard()
        for url, known in out.probes.items():
            result = brought.get(url)
            if result is not None and result.status:
                found = agreement.fingerprint(Capture.fetched(url, result))
                if not agreement.agree(found, known):
                    self._suspects[lender.id] = SUSPECTED
                result.body.discard()

    def _allow_the_same(self, own: Robots, told: Robots, out: Out, origin: str) -> bool:
        """Whether the rules a device was shown say of its block what the engine's say."""
        names = protocol.AGENT, self._config.robots_token
        mine, theirs = own.token_for(*names), told.token_for(*names)
        addresses = [url for url in out.visits if url.startswith(f"{origin}/")]
        return all(own.allows(url, mine) == told.allows(url, theirs) for url in addresses)

    def _first(self, visit: Visit, run: Run, lender: Lender, result: Result, leased_ms: int) -> None:
        reputation = self._reputations.setdefault((lender.id, lender.version), trust.Reputation())
        check = trust.check_for(reputation, random.random())  # noqa: S311 - not the device's seed
        if lender.trusted and check is trust.Check.PEER:
            check = trust.Check.NONE
        if self._suspects[lender.id] > 0:
            self._suspects[lender.id] -= 1
            check = trust.Check.AUDIT
        at_home = bool(run.options.job) and result.status in BLOCKED
        if check is not trust.Check.NONE and run.is_over:
            result.body.discard()
            self._not_made(visit)
            return
        if check is trust.Check.NONE:
            self._verdict(lender, visit, result, Answer.Verdict.UNCHECKED)
            self._accept(visit, result, [lender], checked=False)
            return
        voice = Voice(lender, result, agreement.fingerprint(Capture.fetched(visit.url, result)), leased_ms)
        self._questions[visit] = question = Question(run, check is trust.Check.PEER or at_home, [voice], at_home)
        if at_home and self._peer(visit, question) is None:
            self._leave_it(visit)
            return
        self._ask_again(visit, result, run)

    def _leave_it(self, visit: Visit) -> None:
        """Nobody else may be asked: the first answer counts, unchecked where there is no other."""
        question = self._questions.pop(visit)
        first, *others = question.voices
        for voice in question.voices:
            if voice.lender is not None:
                verdict = Answer.Verdict.OPEN if others else Answer.Verdict.UNCHECKED
                self._verdict(voice.lender, visit, voice.result, verdict)
        for voice in others:
            voice.result.body.discard()
        self._accept(visit, first.result, [first.lender] if first.lender is not None else [], checked=False)

    def _second(self, visit: Visit, lender: Lender, result: Result, leased_ms: int) -> None:
        question = self._questions[visit]
        found = agreement.fingerprint(Capture.fetched(visit.url, result))
        question.voices.append(Voice(lender, result, found, leased_ms))
        first, second = question.voices[0], question.voices[1]
        if agreement.agree(first.fingerprint, second.fingerprint):
            self._settle(visit, {id(first): Answer.Verdict.VALID, id(second): Answer.Verdict.VALID}, first)
        elif question.at_home:
            self._leave_it(visit)
        else:
            question.by_peer = False
            self._ask_again(visit, result, question.run)

    def _engine_answered(self, result: Result) -> None:
        """The engine asked itself. Where it disagrees it asks twice: the page may differ by itself. Where each of three
        was shown something else, the page depends on where one asks from, and nobody is blamed either."""
        visit: Visit = result.request.tag
        question = self._questions.get(visit)
        if question is None or visit.lease is None or question.run.id not in self._engine.runs:
            self._questions.pop(visit, None)
            result.body.discard()
            return
        if not result.status:
            self._drop(visit)
            self._engine.visits.answered(visit, result)
            return
        voice = Voice(None, result, agreement.fingerprint(Capture.fetched(visit.url, result)))
        question.voices.append(voice)
        own = [one for one in question.voices if one.lender is None]
        theirs = [one for one in question.voices if one.lender is not None]
        right = {id(one): any(agreement.agree(one.fingerprint, mine.fingerprint) for mine in own) for one in theirs}
        if all(right.values()) and theirs:
            self._answers[visit.host] = visit.url, voice.fingerprint, time.time() + PROBE_SECONDS
            _shorten(self._answers)
            self._settle(visit, dict.fromkeys(right, Answer.Verdict.VALID), theirs[0])
        elif len(own) < 2:
            self._ask_again(visit, result, question.run)
        else:
            stable = agreement.agree(own[0].fingerprint, own[1].fingerprint)
            alone = len(theirs) < 2 or any(right.values())  # two that said the same were believed before
            wrong = Answer.Verdict.INVALID if stable and alone else Answer.Verdict.OPEN
            verdicts = {one: Answer.Verdict.VALID if good else wrong for one, good in right.items()}
            best = next((one for one in theirs if right[id(one)]), own[-1])
            self._settle(visit, verdicts, best)

    def _settle(self, visit: Visit, verdicts: dict[int, Answer.Verdict], best: Voice) -> None:
        """All is said of a visit: devices are judged, and the best answer goes on."""
        question = self._questions.pop(visit)
        good = []
        for voice in question.voices:
            if voice.lender is None:
                continue
            verdict = verdicts[id(voice)]
            others = [one.lender for one in question.voices if one is not voice]
            audited = any(one is None or one.trusted for one in others)
            old = voice.leased_ms <= self._caught_ms.get(voice.lender.id, -1)
            self._verdict(voice.lender, visit, voice.result, verdict, audited, old)
            if verdict == Answer.Verdict.VALID:
                good.append(voice.lender)
        for voice in question.voices:
            if voice is not best:
                voice.result.body.discard()
        self._accept(visit, best.result, good, checked=True)

    def _verdict(
        self,
        lender: Lender,
        visit: Visit,
        result: Result,
        verdict: Answer.Verdict,
        audited: bool = False,
        old: bool = False,
    ) -> None:
        place = lender.id, lender.version
        reputation = self._reputations.setdefault(place, trust.Reputation())
        if verdict == Answer.Verdict.VALID:
            self._reputations[place] = reputation.confirmed(old)
        elif verdict == Answer.Verdict.INVALID:
            self._caught_ms[lender.id] = services.now_ms()
            self._reputations[place] = reputation.refuted()
            lender.slowed = True
        self._verdicts.append(
            Verdict(
                device=lender.id,
                version=lender.version,
                crawl=visit.crawl,
                key=visit.key,
                status=result.status,
                size=result.body.size,
                verdict=verdict,
                audited=audited,
                checks=self._reputations[place].valid,
            )
        )

    def _accept(self, visit: Visit, result: Result, devices: list[Lender], checked: bool) -> None:
        """An answer that counts goes the way of any other."""
        if len(self._brought) > MAX_BROUGHT:
            self._brought.pop(next(iter(self._brought)))
        self._brought[visit.crawl, visit.key] = Brought(devices, checked)
        self._engine.visits.answered(visit, result)

    def vouchers(self, visit: Visit) -> str:
        """Pseudonyms of the devices behind an answer, for its capture."""
        if told := self.vantage.witness(visit):
            return told
        brought = self._brought.get((visit.crawl, visit.key))
        return ",".join(device.pseudonym for device in brought.devices) if brought is not None else ""

    def _ask_again(self, visit: Visit, result: Result, run: Run) -> None:
        """The visit keeps its lease and asks for its host once more, when that may be asked."""
        lease = visit.lease
        assert lease is not None
        now = time.time()
        wait = self._engine.visits.wait_after(visit, result, run, now)
        lease.answered(visit, now + wait, wait)
        lease.again(visit, now + wait)

    def _failed(self, visit: Visit, run: Run, result: Result) -> None:
        """A device got no answer. That may be its own network: the engine looks for itself."""
        self._drop(visit)
        self._losses[visit.crawl, visit.key] = MAX_LOSSES
        lease = visit.lease
        assert lease is not None
        lease.give_back(visit, rest=time.time() + self._engine.visits.plain_wait(visit.host, visit.crawl, 0.0))

    def _not_made(self, visit: Visit) -> None:
        """Given back, or something nobody can read: no device vouches for it."""
        rest = time.time() + self._engine.visits.plain_wait(visit.host, visit.crawl, 0.0)
        if self._confirms_itself(visit, rest):
            return
        self._losses[visit.crawl, visit.key] += 1
        lease = visit.lease
        assert lease is not None
        lease.give_back(visit, rest=rest)

    def _confirms_itself(self, visit: Visit, at: float = 0.0) -> bool:
        """A check that no device made is the engine's: a device that lives and takes nothing must not have the answers
        of others thrown away."""
        question = self._questions.get(visit)
        if question is None or visit.lease is None or question.run.stopping:
            self._drop(visit)
            return False
        question.by_peer = False
        visit.lease.again(visit, at)
        return True

    def _lose(self, out: Out) -> None:
        """The deadline passed: no request of the device can be under way any more."""
        for visit in out.visits.values():
            if self.vantage.holds(visit):
                self.vantage.seen(visit, None, None)
            elif visit.lease is not None:
                self._not_made(visit)
        for origin in out.robots.values():
            self._rules.pop(origin, None)

    def _give_back(self, out: Out) -> None:
        """Nobody took it: nothing was asked."""
        for visit in out.visits.values():
            if self.vantage.holds(visit):
                self.vantage.seen(visit, None, None)
            elif visit.lease is not None and not self._confirms_itself(visit):
                visit.lease.give_back(visit)
        for origin in out.robots.values():
            self._rules.pop(origin, None)

    def _drop(self, visit: Visit) -> None:
        """Forget the question a visit waits for."""
        question = self._questions.pop(visit, None)
        for voice in question.voices if question is not None else ():
            voice.result.body.discard()


def _activity(run: Run) -> str:
    return "clients" if run.options.job else "vantage" if run.options.vantage else "crawls"


def _run_length(size: int, draw: float) -> int:
    """Visits of each host in a block of so many: a small block has several hosts too, so that a device that has just
    come need not wait for the delay of a single one. Blocks differ, so that hosts of a device do not all end at once;
    within a block they do not, so that none waits for the others to be returned."""
    usual = size // USUAL_HOSTS
    return max(1, usual - usual // 4 + int(draw * (2 * (usual // 4) + 1)))


def _shorten(table: "OrderedDict[Any, Any]") -> None:
    while len(table) > MAX_HOSTS:
        table.popitem(last=False)
