"""The founding experiments of the fleet repeated: parallelism, size of blocks, devices, strategies × sites.

Scaled down: real devices (threads of this process, each asking and returning over HTTP) and a real coordinator, sites
on loopback that answer the later the further away the asker is. Half a second between two requests to a
host, everywhere and for everybody; every machine has at most 8 requests under way where nothing else is said.
"""

import http.client
import os
import socket
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from bench.fleet import Coordinator, Sites
from bench.report import Row
from hemeroteca.fetch import Guard
from hemeroteca.fleet.assignment import STRATEGIES, distance
from hemeroteca.fleet.device import http_requests
from hemeroteca.fleet.device.caps import Caps, Meter
from hemeroteca.fleet.device.coordinator_link import CoordinatorLink
from hemeroteca.fleet.device.http_requests import ThreadFetching
from hemeroteca.fleet.device.stages import Lending, Worker
from hemeroteca.fleet.geolocation import CENTRES

PORT = 8978
DELAY = 0.5
SECONDS_PER_KM = 3e-5  # there and back, three times
COUNTRIES = (
    "ES", "FR", "DE", "GB", "IT", "PL", "SE", "US", "CA", "MX", "BR", "AR", "CL", "JP", "KR", "IN", "AU", "ZA", "NG",
    "EG",
)  # fmt: skip
HOMES = ("ES", "US", "BR", "JP", "DE", "AU", "ZA")  # of the devices
JOIN_SECONDS = 6.0  # at most, until every device has brought a page; a single host keeps all but one waiting
SETTLE_SECONDS = 3.0
COUNT_SECONDS = 6.0
PARTS = os.environ.get("BENCH_FOUNDING", "parallelism,blocks,devices,strategies").split(",")


class Placed(ThreadFetching):
    """Requests from an address of a country: the site knows by it how far away the device is."""

    def __init__(self, source: str, parallel: int) -> None:
        self._source = source
        super().__init__(Guard(allow_private=True), parallel, any_port=True)

    def _run(self) -> None:
        _thread.source = self._source
        super()._run()


class _Socket(socket.socket):
    def connect(self, address: Any) -> None:
        self.bind((_thread.source, 0))
        super().connect(address)


_thread = threading.local()
http_requests.socket = SimpleNamespace(**{**vars(socket), "socket": _Socket})  # type: ignore[attr-defined]


class Device:
    def __init__(self, coordinator: Coordinator, token: str, home: str, parallel: int) -> None:
        caps = Caps(min_delay=0.1, on_battery=True, on_metered=True)
        link = PlacedLink(coordinator.server, token)
        link.source = f"127.{20 + COUNTRIES.index(home)}.255.1"
        self.worker = Worker(
            link,
            Placed(link.source, parallel),
            caps,
            Meter(caps, None),
            Lending(["crawls"], parallel=parallel, check_network=False, guard=Guard(allow_private=True), any_port=True),
            say=lambda line: None,
        )
        self._thread = threading.Thread(target=self.worker.run, daemon=True)
        self._thread.start()

    def join(self) -> None:
        self._thread.join(60)


class PlacedLink(CoordinatorLink):
    """Speaks to the coordinator from an address of its country."""

    source = ""

    def _connection(self, fresh: bool) -> http.client.HTTPConnection:
        connection = super()._connection(fresh)
        connection.source_address = (self.source, 0)  # it connects with the next request
        return connection


def way(source: str, site: str) -> float:
    """Seconds a request takes. Mixed sites have each a pace of their own; the engine is at the first of the homes."""
    _, group, _, last = map(int, site.split("."))
    if group == 1:
        return (0.05, 0.1, 0.2, 0.4, 0.8)[last % 5]
    if group == 2:
        return 0.2
    place = int(source.split(".")[1])
    home = COUNTRIES[place - 20] if place >= 20 else HOMES[0]
    return 0.05 + SECONDS_PER_KM * distance(CENTRES[home], CENTRES[COUNTRIES[group - 20]])


SITES = {
    "one delayed host": ["127.2.0.1"],
    "mixed": [f"127.1.0.{n + 1}" for n in range(120)],
    "20 countries": [f"127.{20 + n % 20}.0.{n // 20 + 1}" for n in range(120)],
}


class Rates(NamedTuple):
    """Per second."""

    pages: float  # asked for the first time
    requests: float  # all of them: checks, probes and robots.txt ask the same hosts


class Laboratory:
    def __init__(self) -> None:
        self.sites = Sites(way)
        places = Path(os.environ.get("TMPDIR", "/tmp")) / f"bench-countries-{os.getpid()}.csv"
        lines = [f"127.{20 + n}.0.0,127.{20 + n}.255.255,{name}" for n, name in enumerate(COUNTRIES)]
        places.write_text("\n".join(lines))
        self._places = places
        self.coordinator = Coordinator(PORT, HEMEROTECA_ADDRESS_DATABASE=str(places), HEMEROTECA_DELAY=str(DELAY))
        self.tokens = [self.coordinator.device(f"d{n}") for n in range(len(HOMES))]
        self._runs = 0

    def run(self, kind: str, devices: int, parallel: int = 8, **settings: object) -> Rates:
        """What the sites see once every device is at work."""
        given = {"strategy": "auto", "max_block": 64, **settings}
        self.coordinator.run("fleet", "set", *(f"{name}={value}" for name, value in given.items()))
        lent = [Device(self.coordinator, self.tokens[n], HOMES[n], parallel) for n in range(devices)]
        try:
            self.coordinator.wait_for(devices)
            return self._measured(kind, lent, parallel)
        finally:
            for one in lent:
                one.worker.stop()
            for one in lent:
                one.join()

    def _measured(self, kind: str, lent: list[Device], parallel: int) -> Rates:
        self._runs += 1
        hosts = SITES[kind]
        most = min(len(hosts) / DELAY, max(1, len(lent)) * parallel * 6)
        each = 2 + round(most * (JOIN_SECONDS + SETTLE_SECONDS + COUNT_SECONDS) / len(hosts))
        urls = [f"http://{host}:{self.sites.port}/{self._runs}-{n}" for n in range(each) for host in hosts]
        self.sites.pages.clear()
        crawl = self.coordinator.crawl(urls)
        until = time.monotonic() + JOIN_SECONDS
        while time.monotonic() < until and not (self.sites.pages and all(one.worker.counts["2xx"] for one in lent)):
            time.sleep(0.05)
        time.sleep(SETTLE_SECONDS)
        since = time.monotonic()
        time.sleep(COUNT_SECONDS)
        until = time.monotonic()
        asked = sum(since <= at < until for at in list(self.sites.requests)) / (until - since)
        self.coordinator.stop(crawl)  # its rest must not disturb the next one
        return Rates(self.sites.rate(since, until), asked)

    def close(self) -> None:
        self.coordinator.close()
        self._places.unlink()


def main() -> list[Row]:
    laboratory = Laboratory()
    try:
        direct = {kind: laboratory.run(kind, 0) for kind in SITES for _ in range(2)}  # the first one reads robots.txt
        return list(_rows(laboratory, direct))
    finally:
        laboratory.close()


def _rows(laboratory: Laboratory, direct: dict[str, Rates]) -> "list[Row]":
    def shown(kind: str, rates: Rates) -> str:
        return f"{rates.pages:.1f} ({rates.pages / direct[kind].pages:.2f} ×)"

    def shown_both(kind: str, rates: Rates) -> str:
        return f"{shown(kind, rates)} pages/s, {rates.requests / direct[kind].requests:.2f} × in requests"

    rows = [Row(f"one machine, direct, {kind}", f"{rates.pages:.1f} pages/s") for kind, rates in direct.items()]
    run = laboratory.run
    if "parallelism" in PARTS:
        found = [f"{p}: {shown('mixed', run('mixed', 1, p))}" for p in (1, 2, 4, 8, 16, 32, 64, 128)]
        rows.append(Row("requests under way, one device, mixed", ", ".join(found)))
    if "blocks" in PARTS:
        found = [f"{b}: {shown('mixed', run('mixed', 2, max_block=b))}" for b in (1, 2, 4, 8, 16, 32, 64)]
        rows.append(Row("largest block, two devices, mixed", ", ".join(found)))
    if "devices" in PARTS:
        found = [f"{d}: {shown('mixed', run('mixed', d))}" for d in range(1, 8)]
        rows.append(Row("devices, mixed", ", ".join(found)))
    if "strategies" in PARTS:
        for kind in SITES:
            alone = kind == "one delayed host"  # its delay is all there is: checks and probes take the place of pages
            told = shown_both if alone else shown
            found = [f"{name}: {told(kind, run(kind, 4, strategy=name))}" for name in STRATEGIES]
            goal = "1 × is right" if alone else ""
            rows.append(Row(f"strategies, four devices, {kind}", "; ".join(found), goal))
    return rows
