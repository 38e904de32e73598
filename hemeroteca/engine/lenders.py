"""Devices that are connected, and what the engine has learned of them: how fast each is with which host, where hosts
are, and who lives but takes nothing. In memory only: a new engine learns it anew.
"""

from collections import Counter, OrderedDict
from collections.abc import Collection, Iterator

from hemeroteca.fleet import assignment, dispatch, geolocation, protocol, services
from hemeroteca.fleet.dispatch import Lender

MAX_HOSTS = 50_000  # whose country and speeds are remembered
UNWANTED_SECONDS = 20.0  # for which a block may wait for its device …
PASSIVE_SECONDS = 60.0  # … and who took nothing at all meanwhile gets no share so long


class Lenders:
    def __init__(self) -> None:
        self.settings = protocol.FleetSettings()
        self._connected: dict[int, Lender] = {}
        self._passive: dict[int, float] = {}  # until when they get no share
        self._countries: OrderedDict[int, str] = OrderedDict()  # of hosts
        self._seconds: OrderedDict[tuple[int, int], float] = OrderedDict()  # (device, host) → of a request there …
        self._usual: dict[int, float] = {}  # … and device → of its requests anywhere

    def __bool__(self) -> bool:
        return bool(self._connected)

    def __iter__(self) -> Iterator[Lender]:
        return iter(self._connected.values())

    def get(self, number: int) -> Lender | None:
        return self._connected.get(number)

    def is_passive(self, number: int) -> bool:
        return number in self._passive

    def willing(self, activity: str, category: str) -> list[Lender]:
        """Whose owners agreed to that, and who are believed."""
        return [one for one in self if one.takes(activity, category) and not one.slowed]

    def refresh(self, now: float, at_work: bool) -> None:
        """Ask the tables who is there. `at_work`: blocks are on their way."""
        found = dispatch.lenders()
        if found or at_work:
            self.settings = services.fleet_settings()
            passive = dispatch.passive(int((now - UNWANTED_SECONDS) * 1000))
            self._passive |= dict.fromkeys(passive, now + PASSIVE_SECONDS)
            self._passive = {device: until for device, until in self._passive.items() if until > now}
        self._connected = {one.id: one for one in found if one.id not in self._passive}

    def place(self, hosts: Collection[int], urls: int, able: list[Lender]) -> int:
        """The device that gets a block of so many URLs; where none is able, some device, from which others steal."""
        if not able:
            return next(iter(self._connected))
        strategy = assignment.STRATEGIES[self.settings.strategy]
        return strategy.place(self._described(hosts, urls, able), [one.candidate() for one in able])

    def met(self, host: int, ip: str) -> None:
        """A host answered from this address."""
        if ip and host and host not in self._countries:
            self._countries[host] = geolocation.country(ip)
            if len(self._countries) > MAX_HOSTS:
                self._countries.popitem(last=False)

    def measured(self, lender: Lender, host: int, seconds: float) -> None:
        """How long a request of a device took, there and anywhere: an average that forgets."""
        place = lender.id, host
        self._seconds[place] = 0.7 * self._seconds[place] + 0.3 * seconds if place in self._seconds else seconds
        if len(self._seconds) > MAX_HOSTS:
            self._seconds.popitem(last=False)
        usual = self._usual.get(lender.id)
        self._usual[lender.id] = seconds if usual is None else 0.95 * usual + 0.05 * seconds

    def _described(self, hosts: Collection[int], urls: int, able: list[Lender]) -> assignment.AssignableBlock:
        """What a strategy knows of a block: where its sites are, and how fast each device is with them."""
        countries = Counter(self._countries[host] for host in hosts if self._countries.get(host))
        speeds = {}
        for one in able:
            known = [self._seconds[one.id, host] for host in hosts if (one.id, host) in self._seconds]
            if known and one.speed and one.id in self._usual:
                speeds[one.id] = one.speed * self._usual[one.id] * len(known) / max(sum(known), 0.001)
        place = geolocation.centre(countries.most_common(1)[0][0]) if countries else None
        return assignment.AssignableBlock(urls=urls, place=place, speeds=speeds)
