"""/fetch: URLs fetched by the fleet for its clients, and /fleet: how it stands.

A wait takes a thread of the web process, so only a few may wait at once; the others are answered at once and come back.
"""

import tempfile
import threading
import time
import uuid
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from django.conf import settings
from django.db import connection
from django.http import FileResponse, HttpRequest, HttpResponse, StreamingHttpResponse
from ninja import Path, Query, Schema
from pydantic import Field

from hemeroteca.api import access
from hemeroteca.api.shapes import Cursor, Limit, RequestBody, filled, read_cursor, write_cursor
from hemeroteca.archive import content as archived
from hemeroteca.archive import export
from hemeroteca.archive import queries as archive
from hemeroteca.archive.capture_rows import CaptureRow
from hemeroteca.errors import NotFound
from hemeroteca.fleet import fetches, queries, services
from hemeroteca.fleet.models import Client, FetchJob, FetchResult
from hemeroteca.plain import whole_number
from hemeroteca.warc.store import reading_ahead
from hemeroteca.warc.timestamps import moment

MAX_WAITS = 3  # of the eight threads of a web process
MAX_WAIT_SECONDS = 30.0
EVENTS_SECONDS = 60.0  # after which a reader of events connects again
LOOK_SECONDS = 0.1
START = (0, 0)  # before the first result
_waits = threading.BoundedSemaphore(MAX_WAITS)

Id = Annotated[uuid.UUID, Path(description="Name of the job.")]
Number = Annotated[int, Path(ge=1, lt=1 << 63, description="Number of the result.")]
Address = Annotated[str, Field(min_length=1, max_length=8000)]
State = Literal["running", "finished", "cancelled"]


class FetchOrder(RequestBody):
    urls: list[Address] = Field(min_length=1, max_length=fetches.MAX_URLS, description="Addresses to fetch.")
    category: str = Field(
        "general", max_length=13, description="Kind of the pages: devices whose owners left it out are not asked."
    )
    method: Literal["GET", "HEAD"] = Field("GET", description="What HEAD brings is not kept in the archive.")
    headers: dict[str, str] = Field(
        {}, max_length=10, description="Accept, Accept-Language, If-None-Match, If-Modified-Since, Range; no others."
    )
    max_age: int | None = Field(
        None, ge=0, le=30 * 86_400, description="Seconds: an answer this old does too; null: as the instance decides."
    )
    webhook: str = Field("", max_length=2000, description="Address that is told when the job has ended.")


class FetchResultOut(Schema):
    id: int = Field(description="Number of the result.")
    url: str = Field(description="As it was ordered.")
    status: int = Field(description="HTTP status; 0: there was no answer, `reason` says why.")
    reason: str = Field(description="Why there is no answer, or what is to be known of it.")
    location: str = Field(description="Where it redirects to; order that address to follow.")
    capture: uuid.UUID | None = Field(description="In the archive: GET /api/v1/captures/{id}.")
    devices: list[str] = Field(description="Pseudonyms of the devices that vouch for it; empty: the server itself.")
    checked: bool = Field(description="Two parties gave the same answer.")
    cached: bool = Field(description="Answered from the archive, without a request.")
    withdrawn: bool = Field(description="Its device was caught later; it was refunded and should not be used.")
    complaint: str = Field(description="State of a complaint about it: empty, open, upheld, denied.")
    resolved_at: datetime | None = Field(description="When it was resolved.")


class FetchOut(Schema):
    id: uuid.UUID = Field(description="Name of the job.")
    state: State = Field(description="Running, finished or cancelled.")
    urls: int = Field(description="How many different URLs it has.")
    resolved: int = Field(description="URLs with a result.")
    answered: int = Field(description="Those with an HTTP status.")
    refused: int = Field(description="Those without: robots.txt, the block list, failures.")
    webhook: str = Field(description="What became of its webhook: empty, told, or why not.")
    created_at: datetime | None = Field(description="When it was ordered.")
    result: FetchResultOut | None = Field(None, description="With `Prefer: wait` and one URL, what came of it.")


class FetchResults(Schema):
    results: list[FetchResultOut] = Field(description="Resolved URLs, in the order they were resolved.")
    next_cursor: str | None = Field(description="Give it as `cursor` to get what follows; null when nothing will.")


class Complaint(RequestBody):
    words: str = Field(min_length=3, max_length=2000, description="What is wrong with the result.")


class ClientOrder(RequestBody):
    purpose: str = Field(min_length=10, max_length=2000, description="What the fleet would fetch for you, and why.")


class ClientOut(Schema):
    state: Literal["asked", "approved", "refused"] = Field(description="What the operator decided.")
    reason: str = Field(description="What the operator said.")
    per_day: int = Field(description="Most URLs in a day.")
    price: int = Field(description="Thousandths of a credit per resolved request.")
    secret: str = Field(description="Key your webhooks are signed with (HMAC-SHA256).")
    used: int = Field(description="URLs ordered within a day.")
    credits: float = Field(description="Credits left.")


def order(request: HttpRequest, wanted: FetchOrder) -> FetchOut:
    """`Prefer: wait=30` with a single URL answers with its result, when it comes in time."""
    actor = access.caller(request)
    job = fetches.order(actor, fetches.FetchJobOrder(**wanted.dict()))
    seconds = _preferred(request)
    if seconds and job.urls == 1:
        _wait(job, 0, seconds)
    found = _job_out(fetches.find(actor, job.public_id))
    rows = fetches.results(job, START, 1) if seconds and job.urls == 1 else []
    found.result = _result_out(rows[0]) if rows else None
    return found


def one(request: HttpRequest, id: Id) -> FetchOut:  # noqa: A002
    return _job_out(fetches.find(access.caller(request), id))


def cancel(request: HttpRequest, id: Id) -> FetchOut:  # noqa: A002
    """What is under way may still be resolved; what was reserved for the rest goes back."""
    return _job_out(fetches.cancel(access.caller(request), id))


def results(
    request: HttpRequest,
    id: Id,  # noqa: A002
    limit: Limit = 100,
    cursor: Cursor = "",
    wait: Annotated[float, Query(ge=0, le=MAX_WAIT_SECONDS, description="Seconds to wait for more of them.")] = 0.0,
) -> FetchResults:
    """What is resolved so far. `next_cursor` is null once the job has ended and everything was read."""
    job = fetches.find(access.caller(request), id)
    position = read_cursor(cursor, 2)
    after = (position[0], position[1]) if position else START
    rows = fetches.results(job, after, limit + 1)
    if not rows and wait:
        _wait(job, fetches.progress(job).resolved, wait)
        rows = fetches.results(job, after, limit + 1)
    more = len(rows) > limit
    running = fetches.progress(fetches.find(access.caller(request), id)).state == "running"
    shown = rows[:limit]
    last = (shown[-1].resolved_ms, shown[-1].pk) if shown else after
    return FetchResults(
        results=[_result_out(row) for row in shown],
        next_cursor=write_cursor(*last) if more or running else None,
    )


def events(request: HttpRequest, id: Id) -> HttpResponse:  # noqa: A002
    """Server-sent events: one `result` for each URL, then `end`. `Last-Event-ID` goes on after a cut."""
    job = fetches.find(access.caller(request), id)
    last = request.headers.get("Last-Event-ID", "").split("-")
    known = len(last) == 2 and all(part.isascii() and part.isdigit() and len(part) < 19 for part in last)
    seen = (int(last[0]), int(last[1])) if known else START
    response = StreamingHttpResponse(_Events(job, seen), content_type="text/event-stream")
    response.headers["Cache-Control"] = "no-store"
    response.headers["X-Accel-Buffering"] = "no"  # nginx passes each event on as it comes
    return response  # type: ignore[return-value]


def content(request: HttpRequest, id: Id, number: Number) -> HttpResponse:  # noqa: A002
    """The body of a result as it came."""
    row = fetches.result(fetches.find(access.caller(request), id), number)
    capture = archive.by_record(row.capture) if row.capture else None
    if capture is None:
        raise NotFound(f"result {number} has no body in the archive: {row.reason or f'status {row.status}'}")
    found = archived.download(capture)
    return FileResponse(  # type: ignore[return-value]
        found.file, as_attachment=True, filename=found.name, content_type="application/octet-stream",
        headers=found.headers,
    )  # fmt: skip


def warc(request: HttpRequest, id: Id) -> HttpResponse:  # noqa: A002
    """All results of a job as one compressed WARC file."""
    job = fetches.find(access.caller(request), id)
    name = f"{job.public_id}.warc.gz"
    folder = settings.INSTANCE.warc_dir
    file = tempfile.TemporaryFile(dir=settings.INSTANCE.spool_dir)  # noqa: SIM115 - the response closes it
    with reading_ahead(folder) as ahead:
        for _ in export.write_warc(file, folder, _Captures(job), name, services.now_ms(), export.Exported(), ahead):
            pass
    file.seek(0)
    return FileResponse(file, as_attachment=True, filename=name, content_type="application/warc")  # type: ignore[return-value]


def complain(request: HttpRequest, id: Id, number: Number, complaint: Complaint) -> FetchResultOut:  # noqa: A002
    """Say that a result is wrong. The operator decides; one that is upheld is refunded."""
    actor = access.caller(request)
    return _result_out(fetches.complain(actor, fetches.find(actor, id), number, complaint.words))


# the fleet itself


def ask(request: HttpRequest, wanted: ClientOrder) -> ClientOut:
    """Ask to be a client; the operator approves each one and its purpose."""
    actor = access.caller(request)
    assert actor.user is not None
    return _client_out(services.ask(actor, actor.user, wanted.purpose))


def client(request: HttpRequest) -> ClientOut:
    """What the operator decided, what is left, and the key of your webhooks."""
    user = access.caller(request).user
    found = queries.client(user) if user is not None else None
    if found is None:
        raise NotFound("you are not a client of this fleet; ask to be one with POST /api/v1/fleet/client and a purpose")
    return _client_out(found)


def status(request: HttpRequest) -> dict[str, Any]:
    return msgspec.to_builtins(queries.status())


def devices(request: HttpRequest) -> list[dict[str, Any]]:
    """Your devices; all of them for the operator."""
    return msgspec.to_builtins(queries.devices(access.caller(request)))


def balances(request: HttpRequest) -> list[dict[str, Any]]:
    """Your credits; all accounts for the operator."""
    return queries.balances(access.caller(request))


def leaderboard(request: HttpRequest) -> list[dict[str, Any]]:
    """Devices whose owners want to be seen here."""
    return queries.leaderboard()


# inside


def _preferred(request: HttpRequest) -> float:
    """Seconds of `Prefer: wait=N` (RFC 7240)."""
    for part in request.headers.get("Prefer", "").split(","):
        name, _, value = part.strip().partition("=")
        if name.strip().lower() == "wait" and (seconds := whole_number(value.strip())) is not None:
            return min(float(seconds), MAX_WAIT_SECONDS)
    return 0.0


def _wait(job: FetchJob, seen: int, seconds: float) -> None:
    """Until more is resolved; not at all while too many wait already."""
    if not _waits.acquire(blocking=False):
        return
    try:
        until = time.monotonic() + seconds
        while time.monotonic() < until and not fetches.changed(job, seen):
            time.sleep(LOOK_SECONDS)
    finally:
        _waits.release()


class _Events:
    """What a reader of events gets: for a minute while there is a place to wait, else what there is now. Either way the
    reader connects again and goes on where it was."""

    def __init__(self, job: FetchJob, seen: tuple[int, int]) -> None:
        self._seated = _waits.acquire(blocking=False)
        self._parts = self._events(job, seen, EVENTS_SECONDS if self._seated else 0.0)

    def __iter__(self) -> Iterator[bytes]:
        return self._parts

    def close(self) -> None:
        """Also when nobody ever read it."""
        self._parts.close()
        if self._seated:
            self._seated = False
            _waits.release()
        connection.close()

    def _events(self, job: FetchJob, seen: tuple[int, int], seconds: float) -> Generator[bytes, None, None]:
        until = time.monotonic() + seconds
        while True:
            ended = fetches.changed(job, 1 << 62)
            for row in fetches.results(job, seen, 1000):
                seen = row.resolved_ms, row.pk
                data = _result_out(row).model_dump_json()
                yield f"id: {seen[0]}-{seen[1]}\nevent: result\ndata: {data}\n\n".encode()
            if ended and not fetches.results(job, seen, 1):
                yield b"event: end\ndata: {}\n\n"
                return
            if time.monotonic() >= until:
                yield f"retry: {1000 if seconds else 5000}\n\n".encode()
                return
            time.sleep(0.0 if ended else LOOK_SECONDS * 5)


@dataclass(frozen=True)
class _Captures:
    """The captures of a job's results, for export."""

    job: FetchJob

    def rows(self) -> Iterator[CaptureRow]:
        after = START
        while found := fetches.results(self.job, after, 100):
            for row in found:
                after = row.resolved_ms, row.pk
                capture = archive.by_record(row.capture) if row.capture else None
                if capture is not None:
                    yield capture

    def holds(self, row: CaptureRow) -> bool:
        return FetchResult.objects.filter(job=self.job, capture=row.record_id).exists()


def _job_out(job: FetchJob) -> FetchOut:
    of_job = {"id": job.public_id, "webhook": job.webhook_state, "created_at": moment(job.created_ms), "result": None}
    return filled(FetchOut, fetches.progress(job), **of_job)


def _client_out(client: Client) -> ClientOut:
    return filled(ClientOut, client, used=queries.used_today(client.owner), credits=queries.balance_of(client))


def _result_out(row: FetchResult) -> FetchResultOut:
    return filled(FetchResultOut, row, id=row.pk, complaint=row.complaint_state, resolved_at=moment(row.resolved_ms))
