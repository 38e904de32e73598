"""Spider traps that no single URL betrays: calendars, session ids, endless parameters, soft 404s.

They have one thing in common: pages that say nothing but their own address, and lead to ever new ones. Ingest gives
each page a fingerprint of what it says: text, numbers (but those of its own address), images. A page with a fingerprint
that its host has shown before brings nothing new, unless it leads to kinds of pages that do. What such pages lead to is
held back, for a person to decide, in two cases: a shape of addresses (`/calendar/{n}/{n}`) has brought nothing new and
led on many times in a row; or a host has shown one fingerprint very often, always leading to new shapes. So a trap
runs dry by itself, nothing is lost, and pages that no link of such a page leads on from are never held back.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import TypeVar

from hemeroteca import urls

Key = TypeVar("Key")
Value = TypeVar("Value")
MAX_REMEMBERED = 100_000  # fingerprints, and shapes, of all hosts; the oldest are forgotten
RUN_SHARE = 4  # a shape is closed after this part of the cap, for its pages come in a row
NEAR_FACTOR = 10  # texts that differ in numbers only: a clock may do that, or a register; so many more are borne


class Repeats:
    """`cap`: pages of a host with one fingerprint that may lead to new shapes."""

    def __init__(self, cap: int) -> None:
        self._cap = cap
        self._run = max(2, cap // RUN_SHARE)
        self._met: OrderedDict[tuple[int, int], int] = OrderedDict()  # host and fingerprint → pages
        self._shapes: OrderedDict[tuple[int, str], tuple[int, int]] = OrderedDict()  # → pages in a row that brought
        # nothing new, and those of them that led on
        self._new_shapes: dict[int, set[str]] = {}  # host → shapes that pages met too often may lead to

    def count(self, host: int, shape: str, fingerprint: int) -> int:
        """How often a host has shown a fingerprint, this time included."""
        times = self._met.pop((host, fingerprint), 0) + 1
        _remember(self._met, (host, fingerprint), times)
        if times == 1:
            _remember(self._shapes, (host, shape), (0, 0))
        return times

    def judge(self, host: int, shape: str, times: int, shapes: dict[str, str]) -> dict[str, str]:
        """Of a page whose fingerprint was met so many times: which of the addresses it leads to, given with their
        shapes, should be held back, with the reason."""
        fruitful = any(self._is_fruitful(host, other) for other in set(shapes.values()) - {shape})
        stale, led_on = self._shapes.pop((host, shape), (0, 0))
        led_on = led_on + 1 if shapes and not fruitful else 0 if fruitful else led_on
        _remember(self._shapes, (host, shape), (stale + 1, led_on))
        held = {}
        for lead, its_shape in shapes.items():
            if reason := self.closed(host, its_shape):
                held[lead] = reason
            elif times > self._cap and not self._may_lead_to(host, its_shape):
                held[lead] = "trap: the pages that lead there all say the same"
        return held

    def closed(self, host: int, shape: str) -> str:
        """The reason why addresses of this host and shape should be held back; empty for nearly all."""
        if self._shapes.get((host, shape), (0, 0))[1] < self._run:
            return ""
        return f"trap: pages like {shape[:200]} bring nothing new"

    def _is_fruitful(self, host: int, shape: str) -> bool:
        """Whether pages of a shape brought something new lately, or nobody knows yet."""
        return self._shapes.get((host, shape), (0, 0))[0] < self._run

    def _may_lead_to(self, host: int, shape: str) -> bool:
        if (host, shape) in self._shapes:
            return self._is_fruitful(host, shape)
        allowed = self._new_shapes.setdefault(host, set())
        if len(allowed) < self._cap:
            allowed.add(shape)
        return shape in allowed


class Traps:
    """Pages that say the same, to the number and but for numbers."""

    def __init__(self, cap: int) -> None:
        self._same, self._near = Repeats(cap), Repeats(NEAR_FACTOR * cap)

    def met(self, host: int, url: str, said: int, worded: int, leads: Callable[[], list[str]]) -> dict[str, str]:
        """Count a page by the fingerprints of what it says, with numbers and without. `leads` gives the addresses of
        its host that it leads to and the crawl has not met; those that should be held back come back, with the
        reason."""
        shape = urls.shape(url)
        times, near = self._same.count(host, shape, said), self._near.count(host, shape, worded)
        if times == near == 1:
            return {}
        shapes = {lead: urls.shape(lead) for lead in leads()}
        held = self._near.judge(host, shape, near, shapes) if near > 1 else {}
        return held | self._same.judge(host, shape, times, shapes) if times > 1 else held

    def closed(self, host: int, url: str) -> str:
        """The reason why an address of this host should be held back; empty for nearly all."""
        shape = urls.shape(url)
        return self._same.closed(host, shape) or self._near.closed(host, shape)


def _remember(table: "OrderedDict[Key, Value]", key: Key, value: Value) -> None:
    table[key] = value
    if len(table) > MAX_REMEMBERED:
        table.popitem(last=False)
