"""Spider traps that no single URL betrays: calendars, session ids, endless parameters, soft 404s.

They have one thing in common: the same page again under ever new addresses. Ingest gives each page a fingerprint of
its text without digits. Once a host has shown the same text often, links on such pages are no longer followed, and
addresses of a shape (`/calendar/{n}/{n}`) that has given nothing but the same text many times in a row are no longer
visited. So a trap runs dry by itself, and honest pages of the host are not touched.
"""

from collections import OrderedDict
from itertools import islice

from hemeroteca import urls

MOST_REMEMBERED = 100_000  # texts and shapes of all hosts; the oldest are forgotten
BANDS = 4  # parts of a fingerprint; near-equal texts agree in most of them
RUN_SHARE = 4  # a shape is closed after this part of the cap, for its pages come in a row


class SameText:
    def __init__(self, cap: int) -> None:
        self._cap = cap
        self._run = max(2, cap // RUN_SHARE)
        self._met: dict[int, int] = {}  # host and part of a fingerprint in one number → pages
        self._shapes: OrderedDict[tuple[int, str], tuple[int, int]] = OrderedDict()  # → (last fingerprint, run)
        self._closed: dict[int, dict[str, None]] = {}  # host → shapes no longer visited

    def met(self, host: int, url: str, fingerprint: int) -> str:
        """Count a page; not empty (the reason) when its links should not be followed."""
        if not fingerprint:
            return ""
        self._count_shape(host, url, fingerprint)
        often = 0
        met = self._met
        for part in _parts(host, fingerprint):
            count = met[part] = met.pop(part, 0) + 1  # put at the end: what was met lately is remembered
            often += count > self._cap
        if len(met) > MOST_REMEMBERED:  # many at once: to find the first of a dict costs what was taken out before it
            for part in list(islice(met, MOST_REMEMBERED // 10)):
                del met[part]
        if often < BANDS - 1:
            return ""
        return f"trap: more than {self._cap} pages of this host have this text; its links are not followed"

    def closed(self, host: int, url: str) -> str:
        """The reason why an address of this host is not worth a visit; empty for nearly all."""
        shapes = self._closed.get(host)
        if not shapes or (shape := urls.shape(url)) not in shapes:
            return ""
        return f"trap: {self._run} pages like {shape[:200]} in a row had the same text"

    def _count_shape(self, host: int, url: str, fingerprint: int) -> None:
        shape = urls.shape(url)
        if "{" not in shape:
            return
        last, run = self._shapes.pop((host, shape), (0, 0))
        run = run + 1 if _alike(last, fingerprint) else 1
        self._shapes[host, shape] = (fingerprint, run)
        if len(self._shapes) > MOST_REMEMBERED:
            self._shapes.popitem(last=False)
        if run >= self._run:
            closed = self._closed.setdefault(host, {})
            closed[shape] = None
            if len(closed) > 1000:
                del closed[next(iter(closed))]


def _parts(host: int, fingerprint: int) -> tuple[int, int, int, int]:
    """The four 16-bit parts, each with its place and the host."""
    first = host << 18
    return (
        first | fingerprint & 0xFFFF,
        first | fingerprint >> 16 & 0xFFFF | 0x10000,
        first | fingerprint >> 32 & 0xFFFF | 0x20000,
        first | fingerprint >> 48 & 0xFFFF | 0x30000,
    )


def _alike(one: int, other: int) -> bool:
    return ((one ^ other) & 0xFFFF_FFFF_FFFF_FFFF).bit_count() <= 3
