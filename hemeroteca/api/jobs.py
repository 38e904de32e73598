"""/jobs: long work, wherever it runs."""

from datetime import datetime
from typing import Annotated, Any, Literal

from django.http import HttpRequest
from ninja import Path, Query, Schema
from pydantic import Field

from hemeroteca.accounts import Actor
from hemeroteca.api import access
from hemeroteca.api.shapes import Cursor, Limit, Listing, RequestBody, before, filled
from hemeroteca.api.shapes import listing as part_of
from hemeroteca.errors import Denied
from hemeroteca.jobs import kinds, queries, services
from hemeroteca.jobs.models import Job
from hemeroteca.warc.timestamps import moment

Number = Annotated[int, Path(ge=1, lt=1 << 63, description="Number of the job.")]
State = Literal["queued", "running", "done", "failed", "cancelled"]


class JobIn(RequestBody):
    kind: str = Field(max_length=40, description="What to do: search.rebuild, archive.verify, watch.learn, …")
    arguments: dict[str, Any] = Field({}, description="Of its kind.")


class JobOut(Schema):
    id: int = Field(description="Number of the job.")
    kind: str = Field(description="What is done.")
    state: State = Field(description="Failed and cancelled ones can be resumed.")
    actor: str = Field(description="Who ordered it.")
    arguments: dict[str, Any] = Field(description="Of its kind.")
    done: int = Field(description="Steps done.")
    total: int | None = Field(description="Steps in all, where that is known.")
    message: str = Field(description="What it does now, or why it ended.")
    result: Any = Field(description="What came of it, once it is done.")
    code: str = Field(description="Of the error it failed with.")
    cancel_requested: bool = Field(description="It ends at its next step.")
    created_at: datetime | None = Field(description="When it was ordered.")
    started_at: datetime | None = Field(description="When it was begun the last time.")
    ended_at: datetime | None = Field(description="When it ended; null before.")


class LineOut(Schema):
    id: int = Field(description="Give it as `after` to get what follows.")
    at: datetime | None = Field(description="When it was written.")
    text: str = Field(description="For people.")


def submit(request: HttpRequest, order: JobIn) -> JobOut:
    """`hemeroteca serve` begins with it at once. Kinds that name files of the server are ordered by command only."""
    if not kinds.find(order.kind).remote:
        raise Denied(f"{order.kind} names files of the server; order it there, by command")
    caller = access.caller(request)
    return job_out(caller, services.submit(caller, order.kind, order.arguments))


def listing(
    request: HttpRequest,
    state: Annotated[State | None, Query(description="Only these.")] = None,
    kind: Annotated[str, Query(max_length=40, description="Only of this kind.")] = "",
    limit: Limit = 50,
    cursor: Cursor = "",
) -> Listing[JobOut]:
    """Those of others only for directors and administrators."""
    caller = access.caller(request)
    found = queries.recent(caller, limit + 1, before(cursor), state or "", kind)
    return part_of(found, limit, lambda job: job_out(caller, job))


def one(request: HttpRequest, number: Number) -> JobOut:
    caller = access.caller(request)
    return job_out(caller, queries.find(caller, number))


def log(
    request: HttpRequest,
    number: Number,
    after: Annotated[int, Query(ge=0, lt=1 << 63, description="Only lines after this one.")] = 0,
) -> list[LineOut]:
    lines = queries.log(access.caller(request), number, after)
    return [LineOut(id=line.pk, at=moment(line.at_ms), text=line.text) for line in lines]


def cancel(request: HttpRequest, number: Number) -> JobOut:
    """It ends at its next step and keeps what it has; `resume` goes on with it."""
    caller = access.caller(request)
    return job_out(caller, services.cancel(caller, number))


def resume(request: HttpRequest, number: Number) -> JobOut:
    caller = access.caller(request)
    return job_out(caller, services.resume(caller, number))


def job_out(caller: Actor, job: Job) -> JobOut:
    return filled(JobOut, queries.facts(caller, job))
