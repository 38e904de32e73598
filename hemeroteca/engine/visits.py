"""Visits: leased from the frontier, admitted, fetched by libcurl or a browser, then handed to a reader or ended."""

import time
from typing import TYPE_CHECKING

from hemeroteca import urls
from hemeroteca.archive import queries as archive
from hemeroteca.engine import reason_codes
from hemeroteca.engine.robots_visits import why_unreachable
from hemeroteca.engine.runs import Run
from hemeroteca.fetch import Request, Result, heads
from hemeroteca.fetch.body import Body
from hemeroteca.fetch.browser import Rendered
from hemeroteca.frontier import politeness
from hemeroteca.frontier.robots import MAX_BYTES, origin_of
from hemeroteca.frontier.visit import State, Visit
from hemeroteca.instance.status import Trouble
from hemeroteca.urls.candidate import Candidate, UrlRole
from hemeroteca.warc import WarcReadError

if TYPE_CHECKING:
    from hemeroteca.engine.loop import Engine

LEASES_AT_ONCE = 256
MAX_PARKED = 1000  # requests that wait because their address has enough to do
BROWSER_PAUSE = 1.0  # s a host waits when the browser has enough to do
CLOSED_SECONDS = 3600.0  # s after which pages outside their window are looked at again: a person may change it
TROUBLES_REMEMBERED = 200
FRESH_SECONDS = 600.0  # a visit another crawl made so short a time ago, and since this one was ordered, serves it too
MAX_SERVED = 8 << 20  # bytes of a body that is read from the archive for another crawl


class Visits:
    def __init__(self, engine: "Engine") -> None:
        config = engine.config
        self.troubles: list[Trouble] = []  # the last ones, for people
        self._engine = engine
        self._retry_seconds = config.retry_seconds
        self._token = config.robots_token
        self._polite = politeness.DelayLimits(
            config.delay, config.delay_factor, config.max_delay, config.max_crawl_delay
        )
        self._max_active = config.concurrency

    @property
    def has_room(self) -> bool:
        fetcher = self._engine.fetcher
        room = fetcher.active - fetcher.parked < self._max_active and fetcher.parked < MAX_PARKED
        return room and self._engine.intake.has_room

    def share(self) -> None:
        """How many requests may be under way at once; asked when a crawl with a wish of its own begins or ends."""
        asked = [run.options.concurrency for run in self._engine.runs.values() if run.options.concurrency]
        self._max_active = max(asked) if asked else self._engine.config.concurrency

    def lease(self, now: float) -> None:
        """Begin as many visits as there is room for and politeness allows."""
        for _ in range(LEASES_AT_ONCE):  # pages that are excluded unasked must not hold up those under way
            if not self.has_room:
                return
            fleet = self._engine.fleet
            lease = self._engine.frontier.lease(now, choose=fleet.leaves if fleet.active else None)
            if lease is None:
                return
            self.begin(lease.visit, now)

    def fetch(self, visit: Visit, max_body_bytes: int = 0) -> None:
        run = self._engine.runs.get(visit.crawl)
        request = self.request(visit, run)
        # else its links are needed even if unchanged, or what changed since it was last watched
        if visit.followed and not (run is not None and (run.options.for_fleet or self._engine.intake.overtaken(visit))):
            request.etag, request.last_modified = visit.etag, visit.last_modified
        request.cookie_jar = f"crawl-{visit.crawl}"
        request.max_body_bytes = max_body_bytes
        self._engine.fetcher.submit(request, self._fetched)

    def request(self, visit: Visit, run: Run | None) -> Request:
        site = self._engine.frontier.host(visit.host).settings.at(visit.url)
        return Request(
            url=visit.url,
            tag=visit,
            method=run.options.method if run is not None and visit.page else "GET",
            headers=run.options.headers if run is not None and visit.page else (),
            insecure=site.insecure or (run is not None and run.options.insecure),
            allow_private=site.allow_private,
            proxy=site.proxy,
            username=site.username,
            password=site.password,
        )

    def answered(self, visit: Visit, result: Result, rendered: Rendered | None = None) -> None:
        """A request has ended: its host is free again; the page goes to a reader, is tried later or has failed."""
        lease, run = visit.lease, self._engine.runs.get(visit.crawl)
        if lease is None or run is None:  # its lease has expired, or its crawl has ended
            result.body.discard()
            return
        run.received += result.body.size
        if run.options.vantage and self._engine.fleet.vantage.goes_on(visit, result, run):
            return
        now = time.time()
        unanswered = bool(result.failure) and not result.status
        busy = result.status in reason_codes.BUSY
        wait = self.wait_after(visit, result, run, now)
        failure = result.failure if unanswered else ""
        lease.answered(
            visit, now + wait, wait, refused=busy, failure=failure, note=f"http-{result.status}" if busy else ""
        )
        cut_short = bool(result.failure) and bool(result.status)
        passing = (
            (unanswered and result.transient)
            or result.status in reason_codes.PASSING
            or (cut_short and result.transient and result.truncated != "time")
            or _only_set_a_cookie(visit, result)
        )
        if passing and not lease.is_last_try(visit, busy=busy):
            later = now + max(wait, self._retry_seconds * 2.0**visit.attempts)
            lease.retry(visit, later, reason_codes.failure_text(result), busy=busy)
            self.note(visit, State.QUEUED, reason_codes.failure_text(result))
        elif unanswered:
            self.fail(visit, reason_codes.failure_text(result))
        elif run.options.method == "HEAD":
            self._engine.fleet.answers.take_head(visit, result)
        else:
            self._engine.intake.submit(visit, result, run, rendered)
            return
        result.body.discard()

    def wait_after(self, visit: Visit, result: Result, run: Run, now: float) -> float:
        """Seconds its host is left alone after an answer, which may ask for more itself."""
        host = self._engine.frontier.host(visit.host)
        crawl_delay = None
        if not (run.options.ignore_robots or host.settings.ignore_robots):
            rules = self._engine.robots.rules(origin_of(visit.url), now)
            crawl_delay = rules.crawl_delay(self._token) if rules else None
        wait = self.plain_wait(visit.host, visit.crawl, result.elapsed, crawl_delay)
        if result.status in reason_codes.BUSY:
            asked = politeness.retry_after(result.header("retry-after"), now)
            return max(wait, politeness.backoff(host.failures + 1) if asked is None else asked)
        if result.failure and result.transient and not result.status:
            return max(wait, self._retry_seconds)
        return wait

    def plain_wait(self, host_id: int, crawl: int, elapsed: float, crawl_delay: float | None = None) -> float:
        """Seconds after an answer that says nothing about waiting."""
        run = self._engine.runs.get(crawl)
        site = self._engine.frontier.host(host_id).settings
        fixed = site.delay if site.delay is not None else run.options.delay if run else None
        return politeness.delay_after(elapsed, self._polite, fixed=fixed, crawl_delay=crawl_delay)

    def cut(self, run: Run) -> None:
        """End the requests of a crawl that must end; their visits are given back."""

        def is_its(request: Request) -> bool:
            return isinstance(request.tag, Visit) and request.tag.crawl == run.id

        for request in self._engine.fetcher.drop(is_its):
            visit: Visit = request.tag
            if visit.robots_for:
                if visit.lease is not None:
                    visit.lease.done(visit)
                visit = self._engine.robots_files.forget(visit)
            if visit.lease is not None:
                visit.lease.give_back(visit, rest=time.time() + self.plain_wait(visit.host, run.id, 0.0))

    # endings of visits that brought nothing to keep

    def fail(self, visit: Visit, reason: str) -> None:
        if visit.lease is not None and visit.lease.fail(visit, reason):
            self.note(visit, State.FAILED, reason)

    def exclude(self, visit: Visit, reason: str) -> None:
        if visit.lease is not None and visit.lease.exclude(visit, reason):
            self.note(visit, State.EXCLUDED, reason)

    def hold(self, visit: Visit, reason: str) -> None:
        if visit.lease is not None and visit.lease.hold(visit, reason):
            self.note(visit, State.HELD, reason)

    def note(self, visit: Visit, state: State, reason: str) -> None:
        """Count an ending, and remember it for people."""
        run = self._engine.runs.get(visit.crawl)
        if run is not None:
            run.count_ending(state, reason)
        if reason and not (run is not None and run.options.for_fleet):  # what a client asks for is its own
            self.troubles.append(Trouble(int(time.time() * 1000), visit.url, reason[:300]))
            del self.troubles[:-TROUBLES_REMEMBERED]

    # inside

    def begin(self, visit: Visit, now: float) -> None:
        """Make a visit just leased, or end it at once."""
        engine, lease = self._engine, visit.lease
        assert lease is not None
        if engine.fleet.asks(visit):
            engine.fleet.begin(visit)
            return
        if visit.robots_for:
            self.fetch(visit, MAX_BYTES)
            return
        run = engine.runs.get(visit.crawl)
        was_read = visit.asked  # and needs the browser: its lease goes on
        by_browser = was_read or engine.browser_visits.is_for_browser(visit)
        if run is None or (run.stopping and not was_read):
            engine.frontier.hold_crawl(visit.crawl)
            lease.give_back(visit)
        elif by_browser and not engine.rendering.room:
            if was_read:
                lease.again(visit, now + BROWSER_PAUSE)
            else:
                lease.give_back(visit, rest=now + BROWSER_PAUSE)
        elif was_read:
            engine.browser_visits.render_read(visit, run)
        elif run.is_at_limit(engine.frontier.taken(visit.crawl) - 1):
            engine.frontier.hold_crawl(visit.crawl)
            lease.give_back(visit)
        elif not self.admit(visit, run, now):
            pass
        elif served := self.served(visit, run, now):
            lease.unasked(visit)
            engine.intake.submit(visit, served, run)
        elif by_browser:
            engine.browser_visits.render(visit, run)
        else:
            self.fetch(visit)

    def admit(self, visit: Visit, run: Run, now: float, fleet: bool = False) -> bool:
        """Whether it is worth a visit and robots.txt lets us; when its rules are unknown, they are fetched first.
        `fleet`: a device is to make it, which sites may forbid apart."""
        engine, lease = self._engine, visit.lease
        assert lease is not None
        host = engine.frontier.host(visit.host)
        if visit.url.find("/", 8) < 0:  # its row is damaged
            self.fail(visit, f"unreadable: the table of pages has {visit.url[:100]!r} for an address")
            return False
        if taken_down := engine.takedowns.refusal(visit.url):
            self.exclude(visit, taken_down)
            return False
        if run.closed_until > now:
            lease.give_back(visit, due=min(run.closed_until, now + CLOSED_SECONDS))
            return False
        may_hold = visit.role == UrlRole.PAGE and visit.depth and not visit.followed  # not what it knows already
        trap = engine.traps.closed(visit.host, visit.url) if may_hold else ""
        if trap and not run.trusts(host.name, trap):
            self.hold(visit, trap)
            return False
        if run.options.ignore_robots or host.settings.ignore_robots:
            self._ask_sitemaps(visit, run, ())
            return True
        origin = origin_of(visit.url)
        rules = engine.robots.rules(origin, now)
        if rules is None:
            engine.robots_files.ask(origin, visit)
            return False
        self._ask_sitemaps(visit, run, rules.sitemaps)
        if rules.allows(visit.url, self._token):
            forbidden = engine.fleet.rules.refused(visit, run, origin) if fleet or run.options.for_fleet else ""
            if forbidden and run.options.for_fleet:
                self.exclude(visit, forbidden)
            elif forbidden:
                lease.give_back(visit)
            return not forbidden
        if rules.unreachable:
            self.fail(visit, why_unreachable(origin, rules))
        else:
            rule = rules.rule(visit.url, self._token)
            reason = f"robots.txt of {host.name} forbids {_path(visit.url)} ({rule})"
            engine.ledger.refuse(visit.url, visit.crawl, reason)
            self.exclude(visit, reason)
        return False

    def _ask_sitemaps(self, visit: Visit, run: Run, listed: tuple[str, ...] | list[str]) -> None:
        """The sitemaps of a site just met."""
        if not run.options.sitemaps or visit.role != UrlRole.PAGE or run.options.scope.kind == "page":
            return
        origin = origin_of(visit.url)
        if origin in run.asked_sitemaps:
            return
        run.asked_sitemaps.add(origin)
        found = []
        for address in listed or [origin + "/sitemap.xml"]:
            try:
                url = urls.canonical(urls.join(origin + "/", address) or "")
            except urls.UrlError:
                continue
            found.append(Candidate(urls.key(url), url, urls.host(url), run.id, role=UrlRole.SITEMAP))
        self._engine.frontier.add(found)

    def served(self, visit: Visit, run: Run, now: float) -> Result | None:
        """The capture another crawl made of the page since this one was ordered: it serves both, without a request.
        A subscription's visits are observations of their own; a client of the fleet says how old an answer may be."""
        options = run.options
        if options.job:
            since = int((now - options.max_age) * 1000)
            if options.method != "GET" or options.headers or not options.max_age:
                return None
        else:
            since = max(run.ordered_ms, int((now - FRESH_SECONDS) * 1000))
        if options.vantage or run.standing or visit.visited_ms < since or visit.status in reason_codes.PASSING:
            return None
        row = archive.latest(visit.url)
        if (
            row is None
            or row.captured_ms != visit.visited_ms
            or row.kind not in ("response", "revisit")
            or row.digest != visit.digest
            or row.truncated
            or row.status in (206, 304)  # a part, as a client of the fleet may have asked for; nothing of the page
            or row.body_size > MAX_SERVED
        ):
            return None
        try:
            record, holder = row.location(self._engine.instance.warc_dir).read(), archive.holder(row)
            whole = record if holder is row else holder.location(self._engine.instance.warc_dir).read()
        except WarcReadError:
            return None
        if _depends_on_client(record.head) or (options.job and not _may_be_shared(record.head)):
            return None
        visit.served = row.record_id
        body = whole.payload()
        return Result(
            request=Request(url=visit.url, tag=visit),
            status=row.status,
            response_head=record.head,
            body=Body(body, None, len(body)),
            started_ms=row.captured_ms,
        )

    def _fetched(self, result: Result) -> None:
        visit: Visit = result.request.tag
        self._engine.fleet.lenders.met(visit.host, result.ip)
        if visit.robots_for:
            self._engine.robots_files.fetched(visit, result)
        else:
            self.answered(visit, result)


def _path(url: str) -> str:
    return "/" + url.split("/", 3)[3] if url.count("/") >= 3 else "/"


def _may_be_shared(head: bytes) -> bool:
    """Whether a shared cache may keep an answer (RFC 9111)."""
    control = ",".join(heads.header_all(head, "cache-control")).lower()
    return not any(word in control for word in ("no-store", "private", "no-cache"))


def _depends_on_client(head: bytes) -> bool:
    """Whether another would have got another answer: it names headers that clients of the fleet may send."""
    named = {name.strip().lower() for name in ",".join(heads.header_all(head, "vary")).split(",")}
    return not named.isdisjoint(("*", "accept", "accept-language"))


def _only_set_a_cookie(visit: Visit, result: Result) -> bool:
    """A redirect to the page itself that gives a cookie: the page is there for whoever brings it."""
    if not 300 <= result.status < 400 or visit.attempts or not result.header("set-cookie"):
        return False
    location = result.address("location")
    return bool(location) and urls.resolve_links(visit.url, [location])[0] == visit.url
