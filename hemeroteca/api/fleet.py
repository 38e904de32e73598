"""/fleet: vantage checks, load tests, statements and the data of charts."""

import uuid
from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from django.conf import settings
from django.http import HttpRequest
from ninja import Path, Query, Schema
from pydantic import Field

from hemeroteca.api import access
from hemeroteca.api.shapes import RequestBody, filled
from hemeroteca.errors import Invalid
from hemeroteca.fleet import load_tests, queries, services, vantage
from hemeroteca.fleet.credit_ledger import Kind
from hemeroteca.fleet.models import Client, LoadTest, VantageCheck
from hemeroteca.warc.timestamps import moment

Id = Annotated[uuid.UUID, Path(description="Its name.")]
Number = Annotated[int, Path(ge=1, lt=1 << 63, description="Number of the device.")]
Address = Annotated[str, Field(min_length=1, max_length=8000)]


class VantageBody(RequestBody):
    urls: list[Address] = Field(min_length=1, max_length=vantage.MAX_URLS, description="Addresses to compare.")
    title: str = Field("", max_length=120, description="What you call it.")
    category: str = Field("general", max_length=13, description="Kind of the pages: only devices that agreed look.")
    countries: list[str] = Field([], max_length=250, description="Only from these, two letters each; empty: all.")
    every_hours: int = Field(0, ge=0, le=vantage.MAX_HOURS, description="Hours between runs; 0: once.")


class VantageOut(Schema):
    id: uuid.UUID = Field(description="Its name.")
    title: str = Field(description="What its owner calls it.")
    urls: list[str] = Field(description="Addresses that are compared.")
    category: str = Field(description="Kind of the pages.")
    countries: list[str] = Field(description="Only from these; empty: from all.")
    every_hours: int = Field(description="Hours between runs; 0: once.")
    state: Literal["active", "ended"] = Field(description="Active: further runs may begin.")
    created_at: datetime | None = Field(description="When it was ordered.")
    next_at: datetime | None = Field(description="When the next run begins.")


class VantageReportOut(VantageOut):
    runs: list[int] = Field(description="Numbers of its runs, newest first; ask for one with `run`.")
    report: dict[str, Any] | None = Field(description="What a run found: each URL, and who saw something else.")


class LoadBody(RequestBody):
    url: Address = Field(description="What is asked, on a host of yours.")
    rate: int = Field(ge=1, le=load_tests.MAX_RATE, description="Requests per second at the top.")
    ramp_seconds: int = Field(30, ge=1, le=load_tests.MAX_SECONDS, description="Until the top is reached.")
    hold_seconds: int = Field(60, ge=1, le=load_tests.MAX_SECONDS, description="At the top.")


class LoadOut(Schema):
    id: uuid.UUID = Field(description="Its name.")
    url: str = Field(description="What is asked.")
    state: Literal["proposed", "proven", "running", "finished", "stopped"] = Field(description="How it stands.")
    reason: str = Field(description="Why it is not proven, or was stopped.")
    addresses: list[str] = Field(description="Addresses that are asked: those that had the proof.")
    proof_path: str = Field(description="Where the proof must lie on your host, at every address of it.")
    proof: str = Field(description="The line that file must hold.")
    rate: int = Field(description="Requests per second at the top.")
    ramp_seconds: int = Field(description="Until the top is reached.")
    hold_seconds: int = Field(description="At the top.")
    started_at: datetime | None = Field(description="When it began.")
    ended_at: datetime | None = Field(description="When it ended.")


class LoadReportOut(LoadOut):
    report: dict[str, Any] = Field(description="Requests, errors, percentiles of answer times (ms), second by second.")


class StatementLineOut(Schema):
    at: datetime | None = Field(description="When.")
    reason: str = Field(description="What for.")
    amount: float = Field(description="Credits; negative: taken.")


def order_vantage(request: HttpRequest, wanted: VantageBody) -> VantageOut:
    return _vantage(VantageOut, vantage.order(access.caller(request), vantage.VantageOrder(**wanted.dict())))


def vantages(request: HttpRequest) -> list[VantageOut]:
    """Yours; all of them for the operator."""
    return [_vantage(VantageOut, row) for row in vantage.checks(access.caller(request))]


def vantage_report(
    request: HttpRequest,
    id: Id,  # noqa: A002
    run: Annotated[int, Query(ge=0, lt=1 << 63, description="Number of a run; 0: the last one.")] = 0,
) -> VantageReportOut:
    check = vantage.find(access.caller(request), id)
    found = vantage.runs(check)
    shown = next((one for one in found if not run or one.pk == run), None)
    report = msgspec.to_builtins(vantage.report(shown)) if shown is not None else None
    return _vantage(VantageReportOut, check, runs=[one.pk for one in found], report=report)


def end_vantage(request: HttpRequest, id: Id) -> VantageOut:  # noqa: A002
    """No further run begins; what was seen stays."""
    actor = access.caller(request)
    check = vantage.find(actor, id)
    vantage.end(actor, check)
    return _vantage(VantageOut, check)


def propose_load(request: HttpRequest, wanted: LoadBody) -> LoadOut:
    """Put the line `proof` into the file `proof_path` of your host, then start it."""
    return _load(LoadOut, load_tests.propose(access.caller(request), load_tests.LoadTestOrder(**wanted.dict())))


def loads_listing(request: HttpRequest) -> list[LoadOut]:
    """Yours; all of them for the operator."""
    return [_load(LoadOut, row) for row in load_tests.tests(access.caller(request))]


def load_report(request: HttpRequest, id: Id) -> LoadReportOut:  # noqa: A002
    test = load_tests.find(access.caller(request), id)
    return _load(LoadReportOut, test, report=msgspec.to_builtins(load_tests.report(test)))


def start_load(request: HttpRequest, id: Id) -> LoadOut:  # noqa: A002
    """The proof is read at every address once more; it begins at once."""
    actor = access.caller(request)
    return _load(LoadOut, load_tests.start(actor, load_tests.find(actor, id), settings.CONFIG))


def stop_load(request: HttpRequest, id: Id) -> LoadOut:  # noqa: A002
    """Nothing more is handed out from this moment."""
    actor = access.caller(request)
    test = load_tests.find(actor, id)
    load_tests.stop(actor, test)
    return _load(LoadOut, test)


def days(request: HttpRequest, number: Number) -> list[dict[str, Any]]:
    """Of the last thirty days, oldest first."""
    actor = access.caller(request)
    return msgspec.to_builtins(queries.days(actor, services.device(number)))


def countries(request: HttpRequest) -> list[dict[str, Any]]:
    """For a map."""
    return queries.countries()


def statement(
    request: HttpRequest,
    device: Annotated[int, Query(ge=0, lt=1 << 63, description="Number of a device; 0: your account as a client.")] = 0,
) -> list[StatementLineOut]:
    """Newest first."""
    actor = access.caller(request)
    if device:
        row = services.device(device)
        lines = queries.statement(actor, Kind.DEVICE, row.pk, row.owner)
    else:
        client = Client.objects.filter(owner=actor.user).first()
        if client is None:
            raise Invalid("you are no client of the fleet; say which device with `device`")
        lines = queries.statement(actor, Kind.CLIENT, client.pk, actor.user)
    return [filled(StatementLineOut, line, at=moment(line.at_ms)) for line in lines]


def _vantage(shape: Any, row: VantageCheck, **more: Any) -> Any:
    return filled(shape, row, id=row.public_id, **more)


def _load(shape: Any, row: LoadTest, **more: Any) -> Any:
    return filled(shape, row, id=row.public_id, proof=load_tests.proof(row), proof_path=load_tests.PATH, **more)
