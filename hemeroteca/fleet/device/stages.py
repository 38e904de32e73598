"""The worker: three stages that never wait for each other. *Ask* leases blocks, before politeness leaves it with less
than it could do; *fetch* asks the hosts, one request at a time each; *return* uploads what is complete.

Deadlines count by the monotonic clock from before the lease was asked for, so that they end here before they end at the
coordinator; no request begins later than deadline − time-out: a host that somebody else has now is never asked here.
"""

from __future__ import annotations

import ipaddress
import platform
import queue
import random
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from hemeroteca import __version__
from hemeroteca.fetch.guard import Guard
from hemeroteca.fleet.device import consent, working_conditions
from hemeroteca.fleet.device.caps import Caps, Meter
from hemeroteca.fleet.device.coordinator_link import CoordinatorLink, LinkError, RefusedByCoordinator
from hemeroteca.fleet.device.http_requests import RequestOrder
from hemeroteca.fleet.device.load_generator import LoadGenerator
from hemeroteca.fleet.device.result_file import FetchedUrl, ResultFile
from hemeroteca.fleet.device.throughput import Throughput
from hemeroteca.fleet.device.work_in_hand import DeviceHost, HeldBlock, UrlInHand

SWEEP_SECONDS = 0.5  # between looks for what cannot be begun any more
LOG_LINES = 200
MAX_NETWORKS = 10_000  # of hosts that are remembered
MARGIN = 2.0  # s of a lease that are not used
LEAVE_SECONDS = 20.0  # for what is under way and what is to be returned when it stops


@dataclass
class Lending:
    """What the owner of a device agreed to, and what its requests may reach."""

    activities: list[str]
    categories: list[str] = field(default_factory=lambda: list(consent.USUAL))
    parallel: int = 8  # requests at once
    check_network: bool = True  # works only where the network does not lie
    guard: Guard = field(default_factory=Guard)
    any_port: bool = False


class Worker:
    """`fetching` has `submit(order, done)` and `close()`. `say` gets lines for people."""

    def __init__(
        self,
        link: CoordinatorLink,
        fetching: Any,
        caps: Caps,
        meter: Meter,
        lending: Lending,
        say: Callable[[str], None] = print,
    ) -> None:
        self._lending = lending
        self._parallel = lending.parallel
        self._networks: dict[str, str] = {}  # host → where it answered from
        self._loading = threading.Lock()
        self._link = link
        self._fetching = fetching
        self._caps = caps
        self._meter = meter
        self._say_line = say
        self._lock = threading.Condition()
        self._hosts: dict[str, DeviceHost] = {}
        self._blocks: dict[int, HeldBlock] = {}
        self._closed: set[str] = set()
        self._done: queue.Queue[HeldBlock | None] = queue.Queue()
        self._stop = threading.Event()
        self._asking = threading.Event()
        self._called = threading.Event()  # what it waits for is there
        self._machine = working_conditions.Machine(caps)
        self._refusals = working_conditions.Refusals()
        self._tampering = working_conditions.Tampering()
        self._under_way: dict[str, float] = {}  # URL → since when
        self._sweep_due = 0.0
        self._throughput = Throughput(lending.parallel, time.monotonic())
        self._welcome: dict[str, Any] = {}
        self._waiting_bytes = 0
        self._resting = False  # it takes no work now
        self._paused = ""  # why, when its owner wants it to wait: here, or at the coordinator
        self._rest = ""
        self._sent_away = ""  # why the coordinator wants no more of it
        self.counts: Counter[str] = Counter()
        self.state = "begins"
        self.log: deque[str] = deque(maxlen=LOG_LINES)

    # from outside

    def run(self) -> str:
        """Until it is stopped; gives the reason when the coordinator wants no more of it."""
        stages = [threading.Thread(target=stage, daemon=True) for stage in (self._fetch, self._return, self._beats)]
        for stage in stages:
            stage.start()
        reason = self._ask()
        self._leave()
        return reason or self._sent_away

    def stop(self) -> None:
        """Take nothing more, return what is done, give back the rest. May be called from a signal handler."""
        self._stop.set()
        self._asking.set()
        self._called.set()

    def pause(self) -> None:
        """Ask nothing more until `go_on`; what is in hand is given back."""
        self._paused = "its owner paused it here"
        self._called.set()

    def go_on(self) -> None:
        self._paused = ""
        self._called.set()

    def facts(self) -> list[tuple[str, list[str]]]:
        """For the page: what happens now."""
        now = time.monotonic()
        with self._lock:
            live = [f"{now - since:5.1f} s  {url}" for url, since in sorted(self._under_way.items())]
            self._note_use(now)
            used = self._throughput.used
            held = sum(len(host.jobs) for host in self._hosts.values())
            blocks = len(self._blocks)
        numbers = [f"{name}: {count}" for name, count in sorted(self.counts.items())]
        summary = [
            self.state,
            f"{held} URLs of {blocks} blocks in hand",
            f"{used:.1f} of {self._parallel} requests under way on average while it had work",
            f"{self._meter.used} bytes this month",
            *numbers,
        ]
        return [("Now", summary), ("Requests under way", live or ["none"]), ("Log", list(self.log)[::-1])]

    # ask

    def _ask(self) -> str:
        connected = False
        pause = 1.0
        while not self._stop.is_set():
            reason = self._unwilling()
            if not reason and self._lending.check_network and not self._blocks:
                reason = working_conditions.network()
            self._resting = bool(reason)
            if reason:
                self._tell(f"takes no work: {reason}")
            try:
                if not connected:
                    self._connect()
                    connected = True
                if reason:
                    self._wait(15.0)
                    continue
                with self._lock:
                    room = self._room()
                if not room:
                    self._asking.wait(0.2)
                    self._asking.clear()
                    continue
                self._lease(room)
                pause = 1.0
            except LinkError as error:
                connected = False
                if not reason:
                    self._tell(f"no connection: {error}")
                self._wait(pause * random.uniform(0.5, 1.5))  # noqa: S311 - spreads devices
                pause = min(pause * 2, 30.0)
            except RefusedByCoordinator as error:
                if error.code == "come-back":
                    self._tell(f"waits {error.seconds:.0f} s: {error}" if error.seconds > 3 else "works")
                    self._wait(error.seconds)
                elif error.code == "paused":  # by its owner, at the coordinator: it may go on at any moment
                    self._tell(f"takes no work: {error}")
                    self._wait(15.0)
                elif error.status in (401, 403):
                    return str(error)
                else:
                    self._tell(f"refused: {error}")
                    self._wait(error.seconds)
        return ""

    def _connect(self) -> None:
        self._welcome = self._link.post(
            "connect",
            {
                "version": __version__,
                "system": _system(),
                "activities": self._lending.activities,
                "categories": self._lending.categories,
                "caps": self._lent(),
                "blocks": list(self._blocks),
                "resting": self._resting,
            },
        )
        if not self._resting:
            self._tell(f"connected as {self._welcome.get('device', '')}")

    def _lent(self) -> dict[str, Any]:
        """The bounds of the owner, for the pages that show the device."""
        caps = self._caps
        return {
            "parallel": self._parallel,
            "bytes_per_second": caps.bytes_per_second,
            "bytes_per_month": caps.bytes_per_month,
            "disk_bytes": caps.disk_bytes,
            "hours": caps.hours[:10],
            "cpu_percent": caps.cpu_percent,
            "min_delay": caps.min_delay,
        }

    def _unwilling(self) -> str:
        found = self._paused or self._rest or self._refusals.reason or self._tampering.reason
        return found or self._meter.reason(self._waiting_bytes) or self._machine.reason

    def _lease(self, room: int) -> None:
        begun = time.monotonic()
        found = self._link.post("lease", {"urls": room, "speed": self._throughput.speed})
        work = found["work"]
        block = HeldBlock(
            number=int(found["block"]),
            nonce=str(found["nonce"]),
            deadline=begun + float(found["seconds"]),
            seconds=float(found["seconds"]),
            signed=begun + float(found["seconds"]),
            timeout=min(float(work.get("timeout", 30.0)), 120.0),
            left=sum(len(host["tasks"]) for host in work["hosts"]),
            results=ResultFile(f"hemeroteca-worker/{__version__}"),
        )
        self._tell("works")
        with self._lock:
            self._note_use(time.monotonic())
            self._blocks[block.number] = block
            for given in work["hosts"]:
                self._take(given, block, float(work.get("max_delay", 30.0)))
            if not block.left:
                self._done.put(block)
            self._lock.notify_all()

    def _take(self, given: dict[str, Any], block: HeldBlock, max_delay: float) -> None:
        signature = [(str(name), str(value)) for name, value in given.get("signature", [])]
        for task in given["tasks"]:
            url = str(task["url"])
            name = (urlsplit(url).hostname or "").lower()  # by the URL: the block may call it what it likes
            host = self._hosts.setdefault(name, DeviceHost(name))
            host.delay = max(self._caps.min_delay, float(given.get("delay", 1.0)))
            host.factor, host.max_delay = float(given.get("factor", 0.0)), max_delay
            headers = [(str(key), str(value)) for key, value in task.get("headers", [])]
            if task.get("etag"):
                headers.append(("If-None-Match", str(task["etag"])))
            if task.get("last_modified"):
                headers.append(("If-Modified-Since", str(task["last_modified"])))
            looks = bool(task.get("certificate"))
            host.network = self._networks.get(name, "")
            host.jobs.append(
                UrlInHand(
                    url=url,
                    block=block,
                    method=str(task.get("method", "GET")),
                    headers=headers,
                    signature=signature,
                    certificate=looks,
                )
            )

    # fetch

    def _fetch(self) -> None:
        while True:
            with self._lock:
                wait = self._begin()
                self._lock.wait(wait)

    def _begin(self) -> float:
        """Begin what may begin; gives the seconds until more may."""
        now = time.monotonic()
        if self._paused or self._rest:
            self._give_back()
        pause = self._meter.pause()
        if pause or self._stop.is_set():
            return min(pause or 0.5, 1.0)
        sweeps = now >= self._sweep_due
        if sweeps:
            self._sweep_due = now + SWEEP_SECONDS
        soonest = SWEEP_SECONDS
        most = self._caps.per_network
        busy = Counter(host.network for host in self._hosts.values() if host.busy)
        for host in list(self._hosts.values()):
            if sweeps:
                self._give_up_late(host, now)
            if not host.jobs:
                if not host.busy and host.at <= now:
                    del self._hosts[host.name]
                continue
            if len(self._under_way) >= self._parallel and not sweeps:
                break
            if host.busy or (host.network and 0 < most <= busy[host.network]):
                continue
            if host.at > now:
                soonest = min(soonest, host.at - now)
            elif len(self._under_way) < self._parallel:
                self._give_up_late(host, now)
                if host.jobs:
                    busy[host.network] += 1
                    self._send(host, host.jobs.popleft(), now)
        if self._room():
            self._asking.set()
        return max(0.001, soonest)

    def _room(self) -> int:
        return self._throughput.room(self._hosts.values(), len(self._under_way), time.monotonic())

    def _note_use(self, now: float) -> None:
        self._throughput.note(now, len(self._under_way), bool(self._blocks))

    def _send(self, host: DeviceHost, job: UrlInHand, now: float) -> None:
        self._note_use(now)
        host.busy = True
        self._under_way[job.url] = now
        order = RequestOrder(
            url=job.url,
            agent=str(self._welcome.get("agent", f"HemerotecaFleet/{__version__}")),
            method=job.method if job.method in ("GET", "HEAD") else "GET",
            headers=job.headers + (job.signature if now < job.block.signed else []),
            timeout=min(job.block.timeout, job.block.deadline - MARGIN - now),
            max_bytes=int(self._welcome.get("max_bytes") or (8 << 20)),
            certificate=job.certificate,
        )
        self._fetching.submit(order, lambda answer: self._answered(host, job, answer))

    def _answered(self, host: DeviceHost, job: UrlInHand, answer: FetchedUrl) -> None:
        with self._lock:
            now = time.monotonic()
            self._note_use(now)
            host.busy = False
            wait = max(host.delay, min(host.max_delay, host.factor * answer.seconds))
            asked = _retry_after(answer) if answer.status in (429, 503) else 0.0
            host.at = now + max(wait, asked)
            self._place(host, answer.ip)
            self._under_way.pop(job.url, None)
            self._throughput.measure(job.url, answer)
            self._meter.count(len(answer.body) + len(answer.response_head) + len(answer.request_head))
            self.counts[f"{answer.status // 100}xx" if answer.status else "no answer"] += 1
            self._refusals.note(host.name, answer)
            self.log.append(f"{time.strftime('%H:%M:%S')} {answer.status or answer.failure} {job.url}")
            if asked:  # the host wants to be left alone: what is left of it is given back
                for other in list(host.jobs):
                    self._end(other.block)
                host.jobs.clear()
            if not job.block.dropped and (job.certificate or not working_conditions.intercepted(answer)):
                job.block.results.add(answer)  # intercepted TLS: only a vantage check wants to know
            if not job.certificate and self._tampering.note(host.name, answer):
                self._forget_answers()
            self._end(job.block)
            self._lock.notify_all()

    def _forget_answers(self) -> None:
        """This network lies: nothing that is still in hand is handed in, and nobody is blamed for it."""
        self._tell(f"takes no work: {self._tampering.reason}")
        for block in self._blocks.values():
            if block.left:
                block.results.close()
                block.results = ResultFile(f"hemeroteca-worker/{__version__}")

    def _place(self, host: DeviceHost, ip: str) -> None:
        host.network = _network(ip)
        self._networks[host.name] = host.network
        if len(self._networks) > MAX_NETWORKS:
            self._networks.pop(next(iter(self._networks)))

    def _give_up_late(self, host: DeviceHost, now: float) -> None:
        """What cannot be begun any more before the deadline, or must not, is given back."""
        gone = [
            job
            for job in host.jobs
            if job.block.dropped or now > job.block.deadline - job.block.timeout - MARGIN or self._is_closed(host.name)
        ]
        for job in gone:
            host.jobs.remove(job)
            self._end(job.block)

    def _is_closed(self, name: str) -> bool:
        labels = name.split(".")
        return any(".".join(labels[place:]) in self._closed for place in range(len(labels)))

    def _end(self, block: HeldBlock) -> None:
        block.left -= 1
        if block.left == 0 and not block.dropped:
            self._waiting_bytes += block.results.size
            self._done.put(block)
        elif block.left == 0:
            self._forget(block)

    def _forget(self, block: HeldBlock) -> None:
        self._note_use(time.monotonic())
        self._blocks.pop(block.number, None)
        block.results.close()

    # return

    def _return(self) -> None:
        while True:
            block = self._done.get()
            if block is None:
                return
            self._upload(block)

    def _upload(self, block: HeldBlock) -> None:
        try:
            self._link.upload(
                block.number,
                block.nonce,
                block.results.finish(),
                int(self._welcome.get("part_bytes") or (1 << 20)),
                lambda: time.monotonic() < block.deadline,
                self._stop.wait,
            )
            self.counts["blocks returned"] += 1
        except RefusedByCoordinator as error:
            self._tell(f"block {block.number} was not taken: {error}")
        except (OSError, ValueError) as error:
            self._tell(f"block {block.number} is lost: {error}")
        with self._lock:
            self._waiting_bytes = max(0, self._waiting_bytes - block.results.size)
            self._forget(block)

    # beats

    def _beats(self) -> None:
        while not self._stop.wait(min(5.0, float(self._welcome.get("heartbeat_seconds") or 0.5))):
            if not self._welcome:
                continue
            if reason := self._unwilling():
                self._resting = True
                self._tell(f"takes no work: {reason}")
            try:
                self._renew()
                with self._lock:
                    numbers = list(self._blocks)
                orders = self._link.post(
                    "beat", {"blocks": numbers, "says": self.state[:200], "resting": self._resting}
                )
                self._apply_orders(orders, set(numbers))
            except RefusedByCoordinator as error:
                if error.status == 401:  # its token was taken away
                    self._sent_away = str(error)
                    self.stop()
            except LinkError:
                continue

    def _renew(self) -> None:
        """More time for blocks that would not be done."""
        now = time.monotonic()
        with self._lock:
            due = [block for block in self._blocks.values() if block.left and now > block.deadline - block.seconds / 2]
        for block in due:
            begun = time.monotonic()
            try:
                found = self._link.post(f"blocks/{block.number}/renew", {}, {"X-Nonce": block.nonce})
            except RefusedByCoordinator:
                continue
            with self._lock:
                block.deadline = begun + float(found["seconds"])

    def _apply_orders(self, orders: dict[str, Any], told: set[int]) -> None:
        with self._lock:
            self._closed.update(str(name) for name in orders.get("closed", []))
            for number in orders.get("drop", []):
                block = self._blocks.get(number)
                if block is not None and number in told and block.left:
                    block.dropped = True
            self._give_back(set(orders.get("back", [])))
            self._lock.notify_all()
        if orders.get("work"):
            self._called.set()
        if orders.get("load") and "load" in self._lending.activities and not self._unwilling():
            threading.Thread(target=self._load, daemon=True).start()
        rest, self._rest = self._rest, str(orders.get("rest", ""))
        if rest != self._rest:
            self._called.set()
        if orders.get("stop"):
            self._tell(f"the coordinator says stop: {orders['stop']}")
            self.stop()

    def _load(self) -> None:
        """Take part in a load test, beside everything else."""
        if not self._loading.acquire(blocking=False):
            return
        try:
            agent = str(self._welcome.get("agent", f"HemerotecaFleet/{__version__}"))
            load = LoadGenerator(self._link, self._lending.guard, self._lending.any_port, agent, self._declines_load)
            self._tell("takes part in a load test")
            self._tell(load.run(self._loaded) or "the load test stops here")
        finally:
            self._loading.release()

    def _declines_load(self) -> bool:
        """Its owner's bounds hold in a load test too, and while it runs."""
        return self._stop.is_set() or bool(self._unwilling()) or self._meter.pause() > 0

    def _loaded(self, answer: FetchedUrl) -> None:
        with self._lock:
            self._meter.count(len(answer.body) + len(answer.response_head) + len(answer.request_head))
            self.counts[f"load test {answer.status // 100}xx" if answer.status else "load test, no answer"] += 1

    # the end

    def _leave(self) -> None:
        """Return what is done, give back the rest, say goodbye."""
        self.state = "leaves"
        with self._lock:
            self._give_back()
        until = time.monotonic() + LEAVE_SECONDS
        while time.monotonic() < until:
            with self._lock:
                if not self._blocks:
                    break
            time.sleep(0.05)
        self._fetching.close()
        self._done.put(None)
        try:
            if self._welcome and not self._under_way:
                self._link.post("disconnect", {})
        except (LinkError, RefusedByCoordinator):
            pass
        self._meter.close()

    def _give_back(self, numbers: set[int] | None = None) -> None:
        """What was not begun, of these blocks or of all: they are returned without it."""
        for host in self._hosts.values():
            gone = [job for job in host.jobs if numbers is None or job.block.number in numbers]
            for job in gone:
                host.jobs.remove(job)
                self._end(job.block)

    def _wait(self, seconds: float) -> None:
        """Until then, or until there is work."""
        self._called.wait(seconds)
        if not self._stop.is_set():
            self._called.clear()

    def _tell(self, line: str) -> None:
        if line != self.state:
            self.state = line
            self.log.append(f"{time.strftime('%H:%M:%S')} {line}")
            self._say_line(line)


def _system() -> str:
    return f"{platform.system()} {platform.machine()} Python {platform.python_version()}"


def _network(ip: str) -> str:
    """The public network of an address; none in a laboratory."""
    try:
        address = ipaddress.ip_address(ip)
    except ValueError:
        return ""
    if not address.is_global:
        return ""
    return str(ipaddress.ip_network(f"{address}/{24 if address.version == 4 else 48}", strict=False))


def _retry_after(answer: FetchedUrl) -> float:
    value = answer.header("retry-after")
    return min(float(value), 3600.0) if value.isdigit() else 30.0
