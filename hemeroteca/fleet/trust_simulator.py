"""The rules of trust tried on invented devices: honest, slow, flaky, lying, patient, colluding and hoarding ones.

Pure: everything follows from the settings and the seed. It plays `trust` itself, not a copy of it, and tells how many
wrong results stayed undetected and what the checks cost.
"""

import heapq
import random
from collections import Counter

import msgspec

from hemeroteca.fleet import trust

KINDS = ("honest", "slow", "flaky", "lying", "patient", "colluding", "hoarding")
LIARS = ("lying", "patient", "colluding")
BLOCK = 16  # URLs a device takes at once
FETCH_SECONDS = 0.5
DEADLINE_SECONDS = 120.0
HOARDED_BLOCKS = 3  # not returned in time, after which a device is slowed as well


class Mix(msgspec.Struct, frozen=True):
    """How many devices of each kind, and how often liars lie."""

    honest: int = 60
    slow: int = 10
    flaky: int = 5
    lying: int = 7
    patient: int = 7
    colluding: int = 6
    hoarding: int = 5
    lie_rate: float = 0.2  # of the answers of a liar that are wrong, while it lies
    patience: int = 40  # checked results in a row after which a patient liar begins

    @property
    def devices(self) -> int:
        return sum(getattr(self, kind) for kind in KINDS)

    @property
    def liars(self) -> float:
        return sum(getattr(self, kind) for kind in LIARS) / self.devices


class SimulatedTrust(msgspec.Struct, frozen=True):
    devices: int
    liars: float  # share of the devices
    results: int  # that counted at the end
    wrong: int  # of those: nobody noticed
    undetected: float  # wrong / results
    withdrawn: int  # believed at first, taken back when their device was caught
    fetches: int
    overhead: float  # further fetches per result, in the second half: once trust is built
    overhead_start: float  # in the first tenth
    caught: dict[str, int]  # liars and hoarders that were slowed at the end, by kind
    honest_slowed: int  # of those that never lied
    expired: int  # URLs that were handed out again after a deadline


class _Device(msgspec.Struct, eq=False):
    kind: str
    number: int
    reputation: trust.Reputation = trust.Reputation()
    late: int = 0
    caught: bool = False  # with the block it has in hand
    single: dict[int, int] = {}  # its results that nobody checked → how many checks it had passed then
    paired: dict[int, int] = {}  # those that only another device confirmed, likewise


class Simulation:
    def __init__(self, mix: Mix, seed: int = 1) -> None:
        self._random = random.Random(seed)  # noqa: S311 - a game, no secret
        self._mix = mix
        self._devices = [
            _Device(kind, number, single={}, paired={})
            for number, kind in enumerate(kind for kind in KINDS for _ in range(getattr(mix, kind)))
        ]
        self._wrong: dict[int, bool] = {}  # result → whether it is wrong, while it counts
        self._voices: dict[int, int] = {}  # result that only devices vouch for → how many of them are not caught
        self._fetches = self._extra = self._withdrawn = self._expired = self._done = 0
        self._marks: list[tuple[int, int]] = []  # results and further fetches, as time goes on
        self._salt = self._random.random()

    def run(self, urls: int) -> SimulatedTrust:
        queue = list(range(urls - 1, -1, -1))  # the last is next
        turns = [(self._random.random(), device.number) for device in self._devices]
        heapq.heapify(turns)
        while queue and turns:
            now, number = heapq.heappop(turns)
            device = self._devices[number]
            took = self._turn(device, queue, now)
            if device.reputation.slowed:
                took = max(took, trust.SLOWED_SECONDS)
            heapq.heappush(turns, (now + took, number))
            self._marks.append((self._done, self._extra))
        return self._outcome()

    def _turn(self, device: _Device, queue: list[int], now: float) -> float:
        """A device takes a block; gives the seconds until it asks again."""
        block = [queue.pop() for _ in range(min(BLOCK, len(queue)))]
        device.caught = False
        if device.kind == "hoarding" and self._random.random() < 0.8:
            queue.extend(block)
            self._expired += len(block)
            device.late += 1
            if device.late >= HOARDED_BLOCKS:
                device.reputation = msgspec.structs.replace(device.reputation, slowed=True)
            return DEADLINE_SECONDS
        for url in block:
            self._fetches += 1
            if device.kind == "flaky" and self._random.random() < 0.3:
                queue.append(url)  # no answer: somebody else's turn
                continue
            if not self._result(device, url):
                queue.append(url)
        return BLOCK * FETCH_SECONDS * (10 if device.kind == "slow" else 1) * self._random.uniform(0.8, 1.2)

    def _result(self, device: _Device, url: int) -> bool:
        """Judge one result; False when it is thrown away and the URL must be asked again."""
        wrong = self._lies(device, url)
        check = trust.check_for(device.reputation, self._random.random())
        if check is trust.Check.NONE:
            device.single[url] = device.reputation.valid
        elif check is trust.Check.AUDIT:
            self._extra += 1
            if not self._verdict(device, url, wrong):
                return False
        elif not self._peer(device, url, wrong):
            return False
        self._wrong.setdefault(url, wrong)
        self._done += 1
        return True

    def _peer(self, device: _Device, url: int, wrong: bool) -> bool:
        others = [one for one in self._devices if one is not device and not one.reputation.slowed]
        partner = self._random.choice(others) if others else None
        self._extra += 1
        if partner is None or partner.kind in ("hoarding", "flaky"):
            return self._verdict(device, url, wrong)  # the engine is the second party
        other_wrong = self._lies(partner, url)
        same = wrong == other_wrong and not (wrong and {device.kind, partner.kind} != {"colluding"})
        if not same:  # the engine asks, twice, and knows
            self._extra += 2
            if wrong and other_wrong:  # three answers: nobody is blamed, the engine's counts
                self._wrong[url] = False
                return True
            self._verdict(partner, url, other_wrong)
            return self._verdict(device, url, wrong)
        device.reputation = device.reputation.confirmed(device.caught)
        partner.reputation = partner.reputation.confirmed()
        device.paired[url] = device.reputation.valid
        partner.paired[url] = partner.reputation.valid
        self._voices[url] = 2
        return True

    def _verdict(self, device: _Device, url: int, wrong: bool) -> bool:
        """The engine has asked itself."""
        if not wrong:
            device.reputation = device.reputation.confirmed(device.caught)
            return True
        device.caught = True
        device.reputation = device.reputation.refuted()
        self._withdraw(device)
        return False

    def _withdraw(self, device: _Device) -> None:
        """What nobody but devices that lied vouches for counts no more; it is fetched again, by the engine."""
        since = device.reputation.valid - trust.SEALED_AFTER
        suspect = {url for url, checks in device.single.items() if checks > since}
        for url, checks in device.paired.items():
            if checks <= since:
                continue
            self._voices[url] -= 1
            if not self._voices[url]:
                suspect.add(url)
        device.single.clear()
        device.paired.clear()
        for url in suspect:
            if self._wrong.pop(url, None) is not None:
                self._withdrawn += 1
                self._extra += 1
                self._wrong[url] = False

    def _lies(self, device: _Device, url: int) -> bool:
        if device.kind == "colluding":  # they know each other's lies: by the URL
            return random.Random(f"{self._salt}{url}").random() < self._mix.lie_rate  # noqa: S311
        if device.kind == "lying" or (device.kind == "patient" and device.reputation.in_a_row >= self._mix.patience):
            return self._random.random() < self._mix.lie_rate
        return False

    def _outcome(self) -> SimulatedTrust:
        results = len(self._wrong)
        wrong = sum(self._wrong.values())
        slowed = Counter(device.kind for device in self._devices if device.reputation.slowed)
        return SimulatedTrust(
            devices=len(self._devices),
            liars=round(self._mix.liars, 3),
            results=results,
            wrong=wrong,
            undetected=wrong / max(1, results),
            withdrawn=self._withdrawn,
            fetches=self._fetches + self._extra,
            overhead=self._overhead(0.5, 1.0),
            overhead_start=self._overhead(0.0, 0.1),
            caught={kind: slowed[kind] for kind in (*LIARS, "hoarding")},
            honest_slowed=sum(slowed[kind] for kind in ("honest", "slow", "flaky")),
            expired=self._expired,
        )

    def _overhead(self, since: float, until: float) -> float:
        """Further fetches per result between two shares of all results."""
        total = self._done
        inside = [mark for mark in self._marks if since * total <= mark[0] <= until * total]
        if len(inside) < 2:
            return 0.0
        (done, extra), (done_later, extra_later) = inside[0], inside[-1]
        return (extra_later - extra) / max(1, done_later - done)


def simulate(mix: Mix, urls: int = 200_000, seed: int = 1) -> SimulatedTrust:
    return Simulation(mix, seed).run(urls)
