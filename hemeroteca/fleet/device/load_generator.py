"""A device's part in a load test: the requests of one second at a time, to an address whose owner asked for it.

The device does not take the coordinator's word: it reads the proof itself, from the very address, before the first
request and again and again, and keeps a limit of its own. Without a plan for this second nothing is sent.
"""

from __future__ import annotations

import math
import re
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

from hemeroteca.fetch.guard import Guard
from hemeroteca.fleet.device.coordinator_link import CoordinatorLink, LinkError, RefusedByCoordinator
from hemeroteca.fleet.device.http_requests import RequestOrder, fetch
from hemeroteca.fleet.device.result_file import FetchedUrl

PATH = "/.well-known/hemeroteca-load-test.txt"
PROOF = re.compile(r"hemeroteca-load-[0-9a-f]{32}")
MAX_PER_SECOND = 20
PROOF_SECONDS = 15.0
REQUEST_SECONDS = 10.0
LATE_SECONDS = 1.0  # after its moment a request is not made any more
STEP = 1.1  # between two classes of answer times; class 0: a millisecond


class LoadGenerator:
    """Runs while the coordinator has seconds to hand out."""

    def __init__(
        self, link: CoordinatorLink, guard: Guard, any_port: bool, agent: str, stopped: Callable[[], bool]
    ) -> None:
        self._link, self._guard, self._any_port, self._agent, self._stopped = link, guard, any_port, agent, stopped
        self._lock = threading.Lock()
        self._measured: dict[tuple[str, int], tuple[Counter[str], Counter[str]]] = {}
        self._proven: dict[tuple[str, str, str], float] = {}  # when the proof was read: monotonic
        self.asked = 0

    def run(self, note: Callable[[FetchedUrl], None]) -> str:
        """Until there is nothing to do; gives why, for people."""
        pool = ThreadPoolExecutor(MAX_PER_SECOND)
        try:
            while not self._stopped():
                begun = time.monotonic()
                try:
                    plan: dict[str, Any] = self._link.post("load", self._measurements())
                except (LinkError, RefusedByCoordinator) as error:
                    return f"the load test stops here: {error}"
                if plan.get("over"):
                    return "the load test is over"
                if int(plan.get("requests") or 0) > 0:
                    if reason := self._refusal(plan):
                        return f"takes no part in the load test: {reason}"
                    self._second(plan, pool, begun, note)
                time.sleep(max(0.05, begun + min(float(plan.get("seconds") or 1.0), 30.0) - time.monotonic()))
        finally:
            pool.shutdown(wait=False, cancel_futures=True)  # what waits behind a slow site is never sent
        return ""

    def _refusal(self, plan: dict[str, Any]) -> str:
        """Why the device itself does not want this test."""
        url, address, proof = str(plan["url"]), str(plan["address"]), str(plan["proof"])
        if reason := self._guard.check(address):
            return f"{address}: {reason}"
        if not PROOF.fullmatch(proof):
            return "the coordinator names no proof"
        place = url, address, proof
        if time.monotonic() - self._proven.get(place, -1e9) < PROOF_SECONDS:
            return ""
        parts = urlsplit(url)
        order = RequestOrder(f"{parts.scheme}://{parts.netloc}{PATH}", self._agent, timeout=10.0, max_bytes=4096)
        answer = fetch(order, self._guard, self._any_port, pinned(address))
        if answer.status != 200 or proof.encode() not in answer.body:
            return f"{address} does not prove that its owner wants it"
        self._proven[place] = time.monotonic()
        return ""

    def _second(self, plan: dict[str, Any], pool: ThreadPoolExecutor, begun: float, note: Callable[..., None]) -> None:
        count = min(int(plan["requests"]), MAX_PER_SECOND)
        for number in range(count):
            pause = begun + number / count - time.monotonic()
            if pause > 0:
                time.sleep(pause)
            if self._stopped():
                return
            pool.submit(self._request, plan, note, time.monotonic() + LATE_SECONDS)

    def _request(self, plan: dict[str, Any], note: Callable[[FetchedUrl], None], until: float) -> None:
        if time.monotonic() > until:  # all threads wait for a slow site: it is not sent what it missed, all at once
            return
        order = RequestOrder(str(plan["url"]), self._agent, timeout=REQUEST_SECONDS, max_bytes=1 << 20)
        answer = fetch(order, self._guard, self._any_port, pinned(str(plan["address"])))
        note(answer)
        with self._lock:
            self.asked += 1
            place = str(plan["test"]), int(plan["second"])
            statuses, times = self._measured.setdefault(place, (Counter(), Counter()))
            statuses[str(answer.status)] += 1
            if answer.status:
                times[str(max(0, int(math.log(max(answer.seconds * 1000, 1.0), STEP))))] += 1

    def _measurements(self) -> dict[str, Any]:
        """What was measured in the first second that has not been told."""
        with self._lock:
            if not self._measured:
                return {}
            test, second = min(self._measured)
            statuses, times = self._measured.pop((test, second))
        return {"test": test, "second": second, "statuses": dict(statuses), "times": dict(times)}


def pinned(address: str) -> Callable[..., Any]:
    """A look-up of names that knows only this address."""

    def resolve(host: str, port: int, **_: Any) -> list[tuple[Any, ...]]:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        return [(family, socket.SOCK_STREAM, 6, "", (address, port))]

    return resolve
