"""robots.txt: fetched before the first page of an origin, kept a day, obeyed for all pages (RFC 9309)."""

import re
from collections import OrderedDict

from hemeroteca.fetch import Result
from hemeroteca.frontier.models import RobotsFile
from hemeroteca.urls.robots_txt import Robots
from hemeroteca.warc.capture import decoded

FRESH_SECONDS = 86_400.0
UNREACHABLE_SECONDS = 600.0  # an origin that gave no answer is asked again after this
MAX_REDIRECTS = 5
MAX_BYTES = 512 << 10
HOST_FAILURES = (
    "dns",
    "refused-address",
    "refused-port",
    "connect",
    "tls",
    "proxy",
)  # nothing else of it answers either
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
            if row is None or not row.status or _PACKED(row.body):
                return None
            entry = self._remember(origin, row.fetched_ms / 1000, Robots.read(row.status, bytes(row.body)), row.status)
        else:
            self._known.move_to_end(origin)
        # rules that last longer than any were fetched by a clock that was ahead and has been set back
        return entry[1] if now < entry[0] <= now + FRESH_SECONDS else None

    def learn(self, origin: str, status: int, body: bytes, now: float, failure: str = "") -> Robots:
        """What an origin answered; status 0 when it gave no answer, for the reason `failure`, which the disk need not
        know: who starts anew asks anew."""
        body = body[:MAX_BYTES] if 200 <= status < 300 else b""
        robots = Robots.read(status, body, failure)
        self._remember(origin, now, robots, status)
        if status:
            self._unsaved.append(RobotsFile(origin=origin, fetched_ms=int(now * 1000), status=status, body=body))
        return robots

    def learn_from(self, origin: str, result: Result, now: float) -> Robots:
        """The same, from the answer to the last request for its rules."""
        status, body, failure = result.status, b"", ""
        if not status:
            failure = f"{result.failure}: {result.detail}"
            if result.failure not in HOST_FAILURES:
                failure = f"robots-unreachable: {origin}/robots.txt gives {failure}"
        elif 300 <= status < 400:
            status = 404  # redirects without end: there are no rules
        elif status < 300:
            body, note = decoded(result.body.bytes(MAX_BYTES), result.response_head, MAX_BYTES)
            if note.startswith(("unknown", "too-many")) or (note and not body):
                status, body, failure = 0, b"", f"robots-unreachable: {origin}/robots.txt cannot be unpacked ({note})"
        return self.learn(origin, status, body, now, failure)

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


# Kept by older versions as it came, packed: plain text has none of these bytes, packed text nearly always.
_PACKED = re.compile(rb"[\x00-\x08\x0e-\x1f]").search


def unreachable(status: int) -> bool:
    """Whether this answer says nothing about the rules: then nothing may be fetched for now."""
    return status == 0 or status >= 500 or status == 429


def origin_of(url: str) -> str:
    """Of a canonical URL, without parsing it."""
    return url[: url.index("/", 8)]
