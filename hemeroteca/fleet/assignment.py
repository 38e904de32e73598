"""Which device gets a block that is ready, and whose share another may take. Pure.

Each device has a share: blocks meant for it and not yet delivered, first in, first out. Only those can be stolen.
"""

from collections.abc import Callable, Iterable, Sequence
from math import asin, cos, radians, sin, sqrt

import msgspec

DEFAULT = "auto"
FIRST_GUESS = 4.0  # URLs per second of a device nobody has measured yet
EARTH_KM = 6371.0


class AssignableDevice(msgspec.Struct, frozen=True):
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


class AssignableBlock(msgspec.Struct, frozen=True):
    """What a strategy knows of a block."""

    urls: int = 1
    place: tuple[float, float] | None = None  # of most of its sites
    speeds: dict[int, float] = {}  # device → URLs per second with these hosts, where that was measured


class AssignmentStrategy(msgspec.Struct, frozen=True):
    """`cost`: the device with the least gets the block. `steal`: from whom an idle device takes, None from nobody;
    the one with the least value is robbed."""

    name: str
    cost: Callable[[AssignableDevice, AssignableBlock], tuple[float, ...]]
    steal: Callable[[AssignableDevice, AssignableDevice], tuple[float, ...]] | None = None

    def place(self, work: AssignableBlock, devices: Sequence[AssignableDevice]) -> int:
        """The device whose share a block joins. There must be one."""
        return min(devices, key=lambda one: (*self.cost(one, work), one.device)).device

    def victim(self, thief: AssignableDevice, devices: Iterable[AssignableDevice]) -> int | None:
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


def _soonest(one: AssignableDevice, work: AssignableBlock) -> tuple[float, ...]:
    """When the block would be done: what the device has before it, and the block at the speed it has with such hosts.
    Rounded, so that among equals the nearest is chosen."""
    speed = work.speeds.get(one.device) or one.speed or FIRST_GUESS
    return (round(one.seconds + work.urls / speed, 1), distance(one.place, work.place))


STRATEGIES = {
    strategy.name: strategy
    for strategy in (
        AssignmentStrategy("democratic", lambda one, work: (one.total,)),
        AssignmentStrategy(
            "less-busy", lambda one, work: (one.pending, one.total), lambda thief, other: (-other.waiting,)
        ),
        AssignmentStrategy(
            "geography",
            lambda one, work: (distance(one.place, work.place), one.pending),
            lambda thief, other: (distance(thief.place, other.place), -other.waiting),
        ),
        AssignmentStrategy(
            "auto", _soonest, lambda thief, other: (-other.seconds,)
        ),  # from whose last block would end last
    )
}
