"""robots.txt: fetched before the first page of an origin, kept a day, obeyed for all pages (RFC 9309)."""

from collections import OrderedDict

from hemeroteca.frontier.models import RobotsFile
from hemeroteca.urls.robots import Robots

FRESH_SECONDS = 86_400.0
UNREACHABLE_SECONDS = 600.0  # an origin that gave no answer is asked again after this
MAX_REDIRECTS = 5
MAX_BYTES = 512 << 10
REMEMBERED_BYTES = 16 << 20  # of rules in memory; the others are read again from the database


class RobotsCache:
    """The rules of each origin, in memory for the origins at work, on disk for all."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, tuple[float, Robots]] = OrderedDict()
        self._size = 0
        self._unsaved: list[RobotsFile] = []

    def rules(self, origin: str, now: float) -> Robots | None:
        """The origin's rules; None when they must be fetched (again)."""
        entry = self._known.get(origin)
        if entry is None:
            row = RobotsFile.objects.filter(pk=origin).first()
            if row is None:
                return None
            entry = self._remember(origin, row.fetched_ms / 1000, Robots.read(row.status, bytes(row.body)), row.status)
        else:
            self._known.move_to_end(origin)
        # rules that last longer than any were fetched by a clock that was ahead and has been set back
        return entry[1] if now < entry[0] <= now + FRESH_SECONDS else None

    def learn(self, origin: str, status: int, body: bytes, now: float) -> Robots:
        """What an origin answered; status 0 when it gave no answer."""
        body = body[:MAX_BYTES] if 200 <= status < 300 else b""
        robots = Robots.read(status, body)
        self._remember(origin, now, robots, status)
        self._unsaved.append(RobotsFile(origin=origin, fetched_ms=int(now * 1000), status=status, body=body))
        return robots

    @property
    def pending(self) -> bool:
        """Whether `write` has something to write."""
        return bool(self._unsaved)

    def write(self) -> None:
        """Put new rules on disk; called inside the engine's transaction."""
        rows, self._unsaved = self._unsaved, []
        if rows:
            RobotsFile.objects.bulk_create(
                {row.origin: row for row in rows}.values(),
                update_conflicts=True,
                unique_fields=["origin"],
                update_fields=["fetched_ms", "status", "body"],
            )

    def _remember(self, origin: str, fetched: float, robots: Robots, status: int) -> tuple[float, Robots]:
        fresh = UNREACHABLE_SECONDS if unreachable(status) else FRESH_SECONDS
        if known := self._known.pop(origin, None):
            self._size -= known[1].size
        self._known[origin] = entry = (fetched + fresh, robots)
        self._size += robots.size
        while self._size > REMEMBERED_BYTES and len(self._known) > 1:
            _, (_, forgotten) = self._known.popitem(last=False)
            self._size -= forgotten.size
        return entry


def unreachable(status: int) -> bool:
    """Whether this answer says nothing about the rules: then nothing may be fetched for now."""
    return status == 0 or status >= 500 or status == 429


def origin_of(url: str) -> str:
    """Of a canonical URL, without parsing it."""
    return url[: url.index("/", 8)]
