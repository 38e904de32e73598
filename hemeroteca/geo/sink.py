"""The sink of geographic services: what ingest recognised goes into the catalogue, and in crawls that look for services
the addresses that may be some are asked for their capabilities.

Probes go the way of every visit: robots.txt, one request at a time per host, kept in the archive. They may leave the
scope of the crawl by one step, as requisites do; a host is asked a bounded number of them.
"""

from collections import Counter, OrderedDict
from typing import Any

from hemeroteca import urls
from hemeroteca.clock import now_ms
from hemeroteca.geo import endpoints, services
from hemeroteca.geo.description import Description
from hemeroteca.geo.reader import DATASET, ENDPOINTS, SERVICE, Endpoints
from hemeroteca.urls import Candidate, UrlRole

MAX_PROBES = 60  # of one host and run, besides ordinary links
MAX_SIBLINGS = 24  # of those, guesses from services that were found
MAX_HOSTS = 50_000  # counted
MAX_FOUND_FROM = 100_000  # links remembered, to tell the way to a service
MAX_STEPS = 30  # of a way
MAX_PENDING = 20_000  # probes whose answer is awaited
MIN_TRIES = 20  # before a rule that guesses is judged
MIN_SUCCESS = 0.05


class Services:
    def __init__(self) -> None:
        self._sightings: list[services.Sighting] = []
        self._failures: list[services.FailedAddress] = []
        self._closed: list[tuple[str, int, str]] = []  # address, crawl, rule
        self._touched: dict[int, int] = {}
        self._asked: OrderedDict[tuple[int, str], list[int]] = OrderedDict()  # crawl and host → probes, siblings
        self._found_from: OrderedDict[int, tuple[int, str, str]] = OrderedDict()  # page → parent, its address, anchor
        self._guesses: OrderedDict[int, str] = OrderedDict()  # probe → the rule that made it
        self._tried: Counter[str] = Counter()
        self._found: Counter[str] = Counter()
        self._rules: dict[str, tuple[int, int]] | None = None  # how often each was tried and right

    @property
    def pending(self) -> bool:
        return bool(self._sightings or self._failures or self._closed or self._touched or self._tried)

    def take(self, arrival: Any) -> None:
        done, capture, trip = arrival.done, arrival.capture, arrival.trip
        probing = trip is not None and _probes(trip.run.options)
        if probing:
            self._found_from.setdefault(arrival.rules.key, (0, "", ""))  # a seed: nothing leads to it
            self._remember(capture.url, done.candidates)
        failed = capture.status >= 400 and endpoints.asks_capabilities(capture.url)
        if not done.finds and not probing and not failed:
            if trip is not None and arrival.unchanged and arrival.is_page and endpoints.may_be_service(capture.url):
                self._touched[arrival.rules.key] = capture.captured_ms
            return
        description = done.find(SERVICE, Description) or done.find(DATASET, Description)
        rule = self._guesses.pop(arrival.rules.key, "")
        if description is not None and capture.status == 200 and arrival.newest:
            if rule:
                self._found[rule] += 1
            self._sight(arrival, description)
            if probing and description.is_service:
                self._guess(arrival, description)
                if description.type == "wcs" and description.bbox is None:  # version 1.0.0 tells extents
                    self._ask(arrival, endpoints.capabilities(description.endpoint, "wcs", "1.0.0"), "")
        elif failed:
            crawl = trip.visit.crawl if trip is not None else None
            reason = f"http-{capture.status}"
            self._failures.append(
                services.FailedAddress(capture.url, capture.captured_ms, capture.status, reason, crawl)
            )
        if probing and (found := done.find(ENDPOINTS, Endpoints)) is not None:
            self._probe(arrival, found.addresses)
        if probing and endpoints.may_be_service(capture.url) and description is None:
            self._probe(arrival, [capture.url])

    def refuse(self, url: str, crawl: int, reason: str) -> None:
        """robots.txt forbids to ask for capabilities: the service is known to be there, and closed."""
        if endpoints.asks_capabilities(url):
            self._closed.append((url, crawl, reason))

    def write(self) -> None:
        services.record(self._sightings)
        services.fail(self._failures)
        for url, crawl, reason in self._closed:
            services.close(url, reason, now_ms(), crawl)
        self._closed = []
        for key, at_ms in self._touched.items():
            services.touch([key], at_ms)
        if self._tried or self._found:
            services.count_rules(dict(self._tried), dict(self._found))
            self._rules = None
        self._sightings, self._failures = [], []
        self._touched.clear()
        self._tried.clear()
        self._found.clear()

    # what was found

    def _sight(self, arrival: Any, description: Description) -> None:
        capture, trip = arrival.capture, arrival.trip
        way = self._way(arrival.rules.key)
        _, found_on, anchor = self._found_from.get(arrival.rules.key, (0, "", ""))
        self._sightings.append(
            services.Sighting(
                description=description,
                url=capture.url,
                at_ms=capture.captured_ms,
                digest=arrival.done.digest,
                crawl=trip.visit.crawl if trip is not None else None,
                server=capture.header("server")[:100],
                found_on=found_on,
                anchor=anchor,
                way=way,
            )
        )

    def _remember(self, url: str, candidates: list[Candidate]) -> None:
        for candidate in candidates:
            if candidate.role == UrlRole.PAGE and candidate.key not in self._found_from:
                self._found_from[candidate.key] = (candidate.parent, url, candidate.anchor)
        while len(self._found_from) > MAX_FOUND_FROM:
            self._found_from.popitem(last=False)

    def _way(self, page: int) -> list[str]:
        """Pages from the seed to this one, as far as they are remembered."""
        steps: list[str] = []
        while page in self._found_from and len(steps) < MAX_STEPS:
            page, url, _ = self._found_from[page]
            if url:
                steps.append(url)
        return steps[::-1]

    # what to ask

    def _probe(self, arrival: Any, addresses: list[str]) -> None:
        for address in addresses:
            for probe in endpoints.probes(address):
                self._ask(arrival, probe, "")

    def _guess(self, arrival: Any, description: Description) -> None:
        if description.type.startswith("ogcapi-") and not description.layers:  # many answer browsers with pages
            for part in ("collections", "conformance", "processes"):
                if part != "processes" or "ogcapi-processes" in description.also:
                    self._ask(arrival, f"{description.endpoint.rstrip('/')}/{part}?f=json", "")
        spaces = (layer.name.partition(":")[0] for layer in description.layers[:500] if ":" in layer.name)
        workspaces = tuple(dict.fromkeys(spaces))
        for rule, probe in endpoints.siblings(description.type, description.endpoint, description.software, workspaces):
            if self._is_worthwhile(rule):
                self._ask(arrival, probe, rule)

    def _ask(self, arrival: Any, url: str, rule: str) -> None:
        try:
            url = urls.canonical(url)
            host = urls.host(url)
        except urls.UrlError:
            return
        crawl, key = arrival.rules.crawl, urls.key(url)
        if key == arrival.rules.key or key in self._guesses or (rule and key in self._found_from):
            return  # a guess that is known already says nothing of its rule
        counts = self._asked.setdefault((crawl, host), [0, 0])
        if counts[0] >= MAX_PROBES or (rule and counts[1] >= MAX_SIBLINGS):
            return
        counts[0] += 1
        if rule:
            counts[1] += 1
            self._tried[rule] += 1
            self._guesses[key] = rule
            if len(self._guesses) > MAX_PENDING:
                self._guesses.popitem(last=False)
        if len(self._asked) > MAX_HOSTS:
            self._asked.popitem(last=False)
        depth = min(arrival.rules.depth + 1, 1000)
        candidate = Candidate(key, url, host, crawl, depth=depth, parent=arrival.rules.key, anchor="")
        self._found_from.setdefault(key, (arrival.rules.key, arrival.capture.url, ""))
        arrival.leads.append(candidate)

    def _is_worthwhile(self, rule: str) -> bool:
        """Rules that were hardly ever right are given up."""
        if self._rules is None:
            from hemeroteca.geo.models import SiblingRule

            self._rules = {one.name: (one.tried, one.found) for one in SiblingRule.objects.all()}
        tried, found = self._rules.get(rule, (0, 0))
        return tried < MIN_TRIES or found / tried >= MIN_SUCCESS


def _probes(options: Any) -> bool:
    """Whether a crawl looks for geographic services."""
    return bool(options.probe) or getattr(getattr(options, "focus", None), "name", "") == "geo"
