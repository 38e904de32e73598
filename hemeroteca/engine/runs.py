"""A crawl under way: what it has done so far, and why it must stop."""

import time
from dataclasses import dataclass, field

from hemeroteca.engine import reason_codes
from hemeroteca.focus.definition import CompiledFocus
from hemeroteca.frontier.crawl_counts import Counts
from hemeroteca.frontier.visit import State
from hemeroteca.ingest.rules import CrawlOptions

GRACE_SECONDS = 2.0  # for requests under way when a crawl must end


@dataclass
class Run:
    id: int
    options: CrawlOptions
    counts: Counts
    ordered_ms: int = 0  # when a person asked for it
    since: float = field(default_factory=time.monotonic)
    cpu_before: float = 0.0
    received: int = 0  # bytes of bodies, also of those not read yet
    stopping: str = ""  # why no more visits are leased
    cut_at: float = 0.0  # monotonic; when requests still under way then are cut; 0: they end by themselves
    asked_sitemaps: set[str] = field(default_factory=set)
    touched: bool = True  # its counts are not on disk
    focus: CompiledFocus | None = None  # what it looks for
    closed_until: float = 0.0  # outside the windows of its subscription: until then

    @property
    def standing(self) -> bool:
        """A subscription's: it waits for the scheduler when its queue is empty."""
        return self.options.watch is not None

    @property
    def activity(self) -> str:
        """What owners of devices agree to, or not."""
        return "clients" if self.options.job else "vantage" if self.options.vantage else "crawls"

    @property
    def is_over(self) -> bool:
        """Nothing is asked any more, not even for what a visit under way still needs. A limit counts pages, not
        requests: what was begun below it is brought to its end."""
        return bool(self.cut_at) or (bool(self.stopping) and not self.stopping.startswith("limit"))

    def go_on(self, counts: Counts) -> None:
        """With what it had counted until its process was killed."""
        self.counts = counts
        self.since -= counts.seconds
        self.cpu_before -= counts.cpu_seconds

    def trusts(self, host: str, reason: str) -> bool:
        """Whether a person took what was held back there for that reason."""
        return f"{host} {reason}" in self.options.trusted

    def stop(self, reason: str, moment: float) -> None:
        """It must end now, not after as many pages: requests under way get a moment. `moment` is monotonic."""
        self.stopping = self.stopping or reason
        self.cut_at = self.cut_at or moment + GRACE_SECONDS

    def is_at_limit(self, taken: int) -> bool:
        """Whether it may make no more than the `taken` visits; notes why."""
        options = self.options
        if options.limit is not None and taken >= options.limit:
            self.stopping = f"limit of {options.limit} pages reached"
        elif options.max_bytes is not None and self.received >= options.max_bytes:
            self.stopping = f"limit of {options.max_bytes} bytes reached"
        return bool(self.stopping)

    def has_room_again(self, taken: int) -> bool:
        """Whether its limit of pages stopped it, and some of those visits were not made after all: they wait for
        another try."""
        limit = self.options.limit
        return limit is not None and taken < limit and self.stopping == f"limit of {limit} pages reached"

    def count_ending(self, state: State, reason: str) -> None:
        """A visit has ended without its page."""
        self.touched = True
        if state is State.FAILED:
            self.counts.failed += 1
        elif state is State.EXCLUDED:
            self.counts.excluded += 1
        elif state is State.HELD:
            self.counts.held += 1
        if state is not State.QUEUED:
            self.count_reason(reason_codes.code(reason))

    def count_note(self, note: str) -> None:
        """A remark on a page that was captured."""
        code = reason_codes.code(note)
        self.counts.notes[code] = self.counts.notes.get(code, 0) + 1

    def count_reason(self, code: str, times: int = 1) -> None:
        self.counts.reasons[code] = self.counts.reasons.get(code, 0) + times

    def measure(self, cpu_seconds: float, peak_bytes: int, queued: int) -> None:
        """Bring its counts up to date; all arguments as they are now."""
        counts = self.counts
        counts.seconds = round(time.monotonic() - self.since, 3)
        counts.cpu_seconds = round(cpu_seconds - self.cpu_before, 3)
        counts.pages_per_second = round(counts.pages / counts.seconds, 2) if counts.seconds else 0.0
        counts.max_rss_bytes = peak_bytes
        counts.queued = queued
