"""Which device gets a block that is ready, and whose share another may take. Pure.

Each device has a share: blocks meant for it and not yet delivered, first in, first out. Only those can be stolen.
"""

from collections.abc import Callable, Iterable, Sequence
from math import asin, cos, radians, sin, sqrt

import msgspec

DEFAULT = "auto"
FIRST_GUESS = 4.0  # URLs per second of a device nobody has measured yet
EARTH_KM = 6371.0


class Candidate(msgspec.Struct, frozen=True):
    """What a strategy knows of a device."""

    device: int
    total: int = 0  # URLs it was ever given
    pending: int = 0  # URLs of its share and in its hands
    waiting: int = 0  # those of its share alone: what may be stolen
    speed: float = 0.0  # URLs per second, measured; 0: unknown
    place: tuple[float, float] | None = None  # latitude and longitude of its country's centre

    @property
    def seconds(self) -> float:
        """Until it has done what it has."""
        return self.pending / (self.speed or FIRST_GUESS)


class Work(msgspec.Struct, frozen=True):
    """What a strategy knows of a block."""

    urls: int = 1
    place: tuple[float, float] | None = None  # of most of its sites
    speeds: dict[int, float] = {}  # device → URLs per second with these hosts, where that was measured


class Strategy(msgspec.Struct, frozen=True):
    """`cost`: the device with the least gets the block. `steal`: from whom an idle device takes, None from nobody;
    the one with the least value is robbed."""

    name: str
    cost: Callable[[Candidate, Work], tuple[float, ...]]
    steal: Callable[[Candidate, Candidate], tuple[float, ...]] | None = None

    def place(self, work: Work, devices: Sequence[Candidate]) -> int:
        """The device whose share a block joins. There must be one."""
        return min(devices, key=lambda one: (*self.cost(one, work), one.device)).device

    def victim(self, thief: Candidate, devices: Iterable[Candidate]) -> int | None:
        """From whose share a device without one takes."""
        others = [one for one in devices if one.device != thief.device and one.waiting]
        if self.steal is None or not others:
            return None
        steal = self.steal
        return min(others, key=lambda one: (*steal(thief, one), one.device)).device


def distance(one: tuple[float, float] | None, other: tuple[float, float] | None) -> float:
    """Kilometres between two places; as far as can be where one is unknown."""
    if one is None or other is None:
        return EARTH_KM * 3.15
    (lat1, lon1), (lat2, lon2) = ((radians(a), radians(b)) for a, b in (one, other))
    half = sin((lat2 - lat1) / 2) ** 2 + cos(lat1) * cos(lat2) * sin((lon2 - lon1) / 2) ** 2
    return 2 * EARTH_KM * asin(min(1.0, sqrt(half)))


def _fewest_total(one: Candidate, work: Work) -> tuple[float, ...]:
    return (one.total,)


def _fewest_pending(one: Candidate, work: Work) -> tuple[float, ...]:
    return (one.pending, one.total)


def _nearest(one: Candidate, work: Work) -> tuple[float, ...]:
    return (distance(one.place, work.place), one.pending)


def _soonest(one: Candidate, work: Work) -> tuple[float, ...]:
    """When the block would be done: what the device has before it, and the block at the speed it has with such hosts.
    Rounded, so that among equals the nearest is chosen."""
    speed = work.speeds.get(one.device) or one.speed or FIRST_GUESS
    return (round(one.seconds + work.urls / speed, 1), distance(one.place, work.place))


def _longest(thief: Candidate, other: Candidate) -> tuple[float, ...]:
    return (-other.waiting,)


def _nearest_share(thief: Candidate, other: Candidate) -> tuple[float, ...]:
    return (distance(thief.place, other.place), -other.waiting)


def _latest(thief: Candidate, other: Candidate) -> tuple[float, ...]:
    """Whose last block would be done last."""
    return (-other.seconds,)


STRATEGIES = {
    strategy.name: strategy
    for strategy in (
        Strategy("democratic", _fewest_total),
        Strategy("less-busy", _fewest_pending, _longest),
        Strategy("geography", _nearest, _nearest_share),
        Strategy("auto", _soonest, _latest),
    )
}
