"""/healthz for whoever keeps the server up, and /metrics for Prometheus."""

import shutil
from collections.abc import Iterator, Sequence

from django.conf import settings
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from hemeroteca import __version__
from hemeroteca.accounts import SYSTEM
from hemeroteca.api import access
from hemeroteca.engine import overview
from hemeroteca.jobs import queries as jobs

MIN_FREE_BYTES = 100_000_000  # with less, the next commits will fail
TEXT = "text/plain; version=0.0.4; charset=utf-8"


@require_safe
@never_cache
def healthz(request: HttpRequest) -> HttpResponse:
    """200 when it can work, 503 when not, with what is wrong. Says nothing about what it holds."""
    checks = {"database": _database(), "disk": _disk()}
    healthy = all(found == "ok" for found in checks.values())
    return JsonResponse({"status": "ok" if healthy else "failing", **checks}, status=200 if healthy else 503)


@require_safe
@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    return access.shared(HttpResponse("".join(_lines()), content_type=TEXT))


def _database() -> str:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return "the database does not answer"
    return "ok"


def _disk() -> str:
    try:
        free = shutil.disk_usage(settings.INSTANCE.data).free
    except OSError:
        return "the data folder cannot be read"
    return "ok" if free >= MIN_FREE_BYTES else "the disk is full"


def _lines() -> Iterator[str]:
    counts, engine, _ = overview.now()
    yield from _gauge("info", "Its version.", [(f'{{version="{__version__}"}}', 1)])
    pages = [(f'{{state="{state}"}}', number) for state, number in counts.pages.items()]
    yield from _gauge("pages", "Pages by what became of the last order to visit them.", pages)
    yield from _gauge("hosts", "Hosts known.", [("", counts.hosts)])
    yield from _gauge("captures", "Captures in the archive.", [("", counts.captures)])
    yield from _gauge("versions", "Captures that differ from the one before.", [("", counts.versions)])
    yield from _gauge("documents", "Pages in the search index.", [("", counts.documents)])
    held = (
        ("warc", counts.warc_bytes),
        ("index", counts.index_bytes),
        ("lake", counts.lake_bytes),
        ("database", counts.database_bytes),
    )
    yield from _gauge("stored_bytes", "Bytes on disk.", [(f'{{of="{name}"}}', size) for name, size in held])
    yield from _gauge("free_bytes", "Bytes left on the disk.", [("", counts.free_bytes)])
    yield from _gauge("set_aside", "Records and rows that could not be read.", [("", len(counts.set_aside))])
    states = [(f'{{state="{state}"}}', number) for state, number in jobs.counted(SYSTEM).items()]
    yield from _gauge("jobs", "Jobs by state.", states)
    yield from _gauge("engine_up", "1 while an engine is at work.", [("", int(engine is not None))])
    if engine is not None:
        yield from _gauge("engine_pages_per_second", "Pages per second lately.", [("", engine.pages_per_second)])
        yield from _gauge("engine_requests", "Requests under way.", [("", engine.active)])
        yield from _gauge("engine_queued", "Pages in the queue.", [("", engine.queued)])
        yield from _gauge("engine_resident_bytes", "Memory of its processes.", [("", engine.rss_bytes)])
        yield from _gauge("engine_cpu_seconds", "Processor time since its start.", [("", engine.cpu_seconds)])


def _gauge(name: str, text: str, samples: Sequence[tuple[str, float]]) -> Iterator[str]:
    yield f"# HELP hemeroteca_{name} {text}\n# TYPE hemeroteca_{name} gauge\n"
    for labels, value in samples:
        yield f"hemeroteca_{name}{labels} {value}\n"
