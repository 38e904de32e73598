"""What `hemeroteca status`, the API and the status page show: what is queued, running, stored, failing, and why."""

import threading
import time
from collections import Counter, deque
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from hemeroteca.frontier.visit import State
from hemeroteca.instance import Instance
from hemeroteca.instance.status import EngineStatus, Trouble, read_engine_status, read_set_aside

if TYPE_CHECKING:
    from hemeroteca.archive.stats import Growth
    from hemeroteca.frontier.models import Crawl
    from hemeroteca.frontier.queries import Held


MIN_AGE = 2.0  # seconds that counts are good for
MAX_LOAD = 0.1  # of a core, for counting
SAMPLES = 120
SAMPLE_SECONDS = 2.0


class CrawlStatus(msgspec.Struct):
    """A crawl, as a list shows it."""

    id: int
    state: str
    seeds: list[str]
    stop_reason: str
    created_ms: int
    started_ms: int
    ended_ms: int
    counts: dict[str, object]


class HostStatus(msgspec.Struct):
    """A host that makes work wait."""

    name: str
    delay_seconds: float
    next_ms: int
    failures: int
    pages: int
    note: str


class ReasonStatus(msgspec.Struct):
    """Pages that failed or were excluded for one reason."""

    reason: str
    state: str
    pages: int
    example: str


class Status(msgspec.Struct):
    """The state of the instance."""

    running: bool  # an engine is at work
    engine: EngineStatus | None
    pages: dict[str, int]  # queued (of stopped crawls too), done (captured), failed, excluded, held back
    hosts: int
    captures: int
    versions: int
    documents: int  # that search can find
    warc_bytes: int
    database_bytes: int
    index_bytes: int
    lake_bytes: int  # histories of wikis
    free_bytes: int
    growth: "list[Growth]"  # expected in 30 and 365 days
    crawls: list[CrawlStatus]
    waiting: list[HostStatus]
    reasons: list[ReasonStatus]
    set_aside: list[Trouble]  # records and rows that could not be read
    held: "list[Held]"  # back as a possible trap


def status(crawls: int = 20, hosts: int = 20) -> Status:
    """Everything `hemeroteca status`, the API and the status page show."""
    import shutil

    from django.conf import settings
    from django.db.models import Count, Min, Q, Sum

    from hemeroteca.archive.models import IndexedCapture, WarcFile
    from hemeroteca.archive.stats import growth
    from hemeroteca.frontier import queries
    from hemeroteca.frontier.models import FETCH, Crawl, Host, Page, QueuedVisit
    from hemeroteca.frontier.reasons import detail
    from hemeroteca.search.index import count_documents
    from hemeroteca.urls import UrlRole

    instance: Instance = settings.INSTANCE
    live = read_engine_status(instance)
    names = {state.value: state.name.lower() for state in State}
    by_state, by_crawl = Counter[int](), Counter[tuple[int, int]]()
    for crawl, state, count in QueuedVisit.objects.values_list("crawl_id", "state").annotate(Count("id")):
        by_state[state] += count
        by_crawl[crawl, state] += count
    by_state[State.DONE] = Page.objects.filter(versions__gt=0).count()  # whoever wants to visit them again
    if live is not None:  # it knows better what its own crawls have; those that were stopped wait too
        running = Crawl.objects.filter(state=Crawl.State.RUNNING).values_list("pk", flat=True)
        by_state[State.QUEUED] += live.queued - sum(by_crawl[crawl, State.QUEUED] for crawl in running)
    reasons: dict[tuple[str, str], ReasonStatus] = {}
    # answered with an error, which was captured; a sitemap is no page
    answered = QueuedVisit.objects.filter(state=State.DONE, reason__startswith="http-").exclude(role=UrlRole.SITEMAP)
    by_state[State.FAILED] += answered.count()
    clients = Q(crawl__fingerprint__startswith=FETCH)  # of the fleet: counted, but their addresses are not shown
    grouped = (
        QueuedVisit.objects.filter(Q(state__in=(State.FAILED, State.EXCLUDED)) | Q(pk__in=answered))
        .values("state", "reason")
        .annotate(pages=Count("id"), example=Min("page__url", filter=~clients))
        .order_by("-pages")[:500]
    )
    for row in grouped:
        code = str(row["reason"]).partition(";")[0].partition(":")[0].partition(" of ")[0]
        name = names[max(row["state"], State.FAILED)]
        entry = reasons.setdefault((name, code), ReasonStatus(code, name, 0, ""))
        entry.pages += row["pages"]
        if row["example"] and not entry.example:
            more = detail(row["reason"])
            entry.example = f"{row['example']}: {more}" if more else row["example"]
    return Status(
        running=live is not None,
        engine=live,
        pages={name: by_state.get(state, 0) for state, name in names.items()},
        hosts=Host.objects.count(),
        captures=IndexedCapture.objects.count(),
        versions=IndexedCapture.objects.filter(version=True).count(),
        documents=count_documents(instance.index_dir),
        warc_bytes=WarcFile.objects.aggregate(total=Sum("size"))["total"] or 0,
        database_bytes=sum(map(_size, instance.database_path.parent.glob(f"{instance.database_path.name}*"))),
        index_bytes=sum(_size(path) for path in instance.index_dir.glob("**/*")),
        lake_bytes=sum(_size(path) for path in instance.lake_dir.glob("**/*")),
        free_bytes=shutil.disk_usage(instance.data).free,
        growth=growth(),
        crawls=[
            _crawl(crawl, {state: by_crawl[crawl.pk, state] for state in State}) for crawl in queries.crawls(crawls)
        ],
        waiting=[
            HostStatus(
                name=host.name,
                delay_seconds=host.delay_ms / 1000,
                next_ms=host.next_ms,
                failures=host.failures,
                pages=host.pages,
                note=host.note,
            )
            for host in Host.objects.filter(next_ms__gt=int(time.time() * 1000)).order_by("-next_ms")[:hosts]
        ],
        held=queries.held(limit=20),
        reasons=sorted(reasons.values(), key=lambda entry: -entry.pages),
        set_aside=read_set_aside(instance),
    )


def _crawl(crawl: "Crawl", visits: "dict[State, int]") -> CrawlStatus:
    """What its present or last run counted, and what waits now, also when it was stopped; unless another crawl of the
    same order has its visits."""
    facts = {name: getattr(crawl, name) for name in CrawlStatus.__struct_fields__}
    if any(visits.values()):
        facts["counts"] |= {"queued": visits[State.QUEUED]}
    return CrawlStatus(**facts)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size if path.is_file() else 0
    except OSError:
        return 0


class Overview(NamedTuple):
    """The counts, which may be some seconds old, and the engine's live figures."""

    status: Status
    engine: EngineStatus | None
    pace: list[float]  # pages per second of the last minutes, oldest first


def now() -> Overview:
    """Cheap enough for many pages that ask every two seconds: counting a frontier of millions takes a while."""
    engine = _pace.sample()
    return Overview(_counts.read(), engine, _pace.values())


def watch_pace() -> None:
    """Remember the pace from now on, whether or not somebody looks. For the web process; ends with it."""
    threading.Thread(target=_watch, name="pace", daemon=True).start()


class _Counts:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: Status | None = None
        self._known_of: Path | None = None  # the data folder whose counts these are
        self._good_until = 0.0

    def read(self) -> Status:
        from django.conf import settings

        if self._known_of != settings.INSTANCE.data:
            self._known, self._known_of = None, settings.INSTANCE.data
        known = self._known
        if known is not None and time.monotonic() < self._good_until:
            return known
        # One thread counts; the others do not wait for it when they have an older answer.
        if not self._lock.acquire(blocking=known is None):
            assert known is not None
            return known
        try:
            if self._known is not None and time.monotonic() < self._good_until:
                return self._known
            began = time.monotonic()
            self._known = status()
            took = time.monotonic() - began
            self._good_until = time.monotonic() + max(MIN_AGE, took / MAX_LOAD)
            return self._known
        finally:
            self._lock.release()


class _Pace:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._samples: deque[float] = deque(maxlen=SAMPLES)
        self._last = 0.0

    def sample(self) -> EngineStatus | None:
        from django.conf import settings

        engine = read_engine_status(settings.INSTANCE)
        with self._lock:
            if time.monotonic() - self._last >= SAMPLE_SECONDS * 0.9:
                self._last = time.monotonic()
                self._samples.append(engine.pages_per_second if engine else 0.0)
        return engine

    def values(self) -> list[float]:
        with self._lock:
            return list(self._samples)


_counts = _Counts()
_pace = _Pace()


def _watch() -> None:
    while True:
        _pace.sample()
        time.sleep(SAMPLE_SECONDS)
