"""GET /status: what is queued, running, stored, failing, and why."""

from datetime import datetime

from django.http import HttpRequest
from ninja import Schema
from pydantic import Field

from hemeroteca.api.shapes import filled
from hemeroteca.engine import overview
from hemeroteca.warc.timestamps import moment


class PagesOut(Schema):
    queued: int = Field(description="Waiting to be visited, of stopped crawls too.")
    done: int = Field(description="Pages of which the archive has a capture.")
    failed: int = Field(description="Given up.")
    excluded: int = Field(description="Closed by robots.txt or a directive of the page.")
    held: int = Field(description="Held back as a possible trap, until a person decides.")


class TroubleOut(Schema):
    at: datetime | None = Field(description="When it happened.")
    url: str = Field(description="Page it happened to.")
    reason: str = Field(description="What happened, for a person.")


class EngineOut(Schema):
    started_at: datetime | None = Field(description="When the engine started.")
    pages_per_second: float = Field(description="Pages captured per second, over the last seconds.")
    active: int = Field(description="Requests under way.")
    reading: int = Field(description="Captures being read by the ingest processes.")
    queued: int = Field(description="Pages in the queues of running crawls.")
    memory_bytes: int = Field(description="Most memory the engine has used.")
    cpu_seconds: float = Field(description="Processor time the engine has used.")
    troubles: list[TroubleOut] = Field(description="The last things that went wrong.")


class HostOut(Schema):
    name: str = Field(description="Host name.")
    delay_seconds: float = Field(description="Present delay between two requests.")
    next_at: datetime | None = Field(description="Not asked before this time.")
    failures: int = Field(description="Failed requests in a row.")
    pages: int = Field(description="Pages known.")
    note: str = Field(description="Why it waits, for a person.")


class ReasonOut(Schema):
    reason: str = Field(description="Why pages were not captured.")
    state: str = Field(description="failed or excluded.")
    pages: int = Field(description="How many.")
    example: str = Field(description="One of them, with its reason in full.")


class HeldOut(Schema):
    crawl: int = Field(description="Number of the crawl.")
    host: str = Field(description="Host of the addresses.")
    reason: str = Field(description="Why they look like a trap.")
    addresses: int = Field(description="How many they are.")
    example: str = Field(description="One of them.")


class RunningOut(Schema):
    id: int = Field(description="Number of the crawl.")
    state: str = Field(description="running, stopped or finished.")
    seeds: list[str] = Field(description="The first addresses it started from.")
    stop_reason: str = Field(description="Why it stopped.")
    created_at: datetime | None = Field(description="When it was ordered.")
    counts: dict[str, object] = Field(description="Totals of the present or last run.")


class GrowthOut(Schema):
    days: int = Field(description="Days ahead.")
    pages: int = Field(description="Pages captured for the first time.")
    captures: int = Field(description="Captures, repeated ones included.")
    bytes: int = Field(description="Size of their records.")
    observed_days: int = Field(description="Days of captures this is projected from; few days tell little.")


class StatusOut(Schema):
    running: bool = Field(description="An engine is at work.")
    engine: EngineOut | None = Field(description="Its live figures; null when none is at work.")
    pages: PagesOut = Field(description="Pages known, by state.")
    hosts: int = Field(description="Hosts known.")
    captures: int = Field(description="Captures in the archive.")
    versions: int = Field(description="Captures that differ from the one before.")
    documents: int = Field(description="Pages that search can find.")
    warc_bytes: int = Field(description="Size of the WARC files.")
    database_bytes: int = Field(description="Size of the database file; 0 on PostgreSQL.")
    index_bytes: int = Field(description="Size of the search index.")
    lake_bytes: int = Field(description="Size of the histories of wikis.")
    free_bytes: int = Field(description="Free space on the disk of the data folder.")
    growth: list[GrowthOut] = Field(
        description="What the next days bring if it goes on as in the last thirty or fewer; empty when nothing came."
    )
    crawls: list[RunningOut] = Field(description="The newest crawls.")
    waiting: list[HostOut] = Field(description="Hosts that make work wait, longest first.")
    reasons: list[ReasonOut] = Field(description="Why pages were not captured, most frequent first.")
    set_aside: list[TroubleOut] = Field(description="Records and rows that could not be read and were left out.")
    held: list[HeldOut] = Field(description="What is held back as a possible trap, the most first.")


def status(request: HttpRequest) -> StatusOut:
    counts, engine, _ = overview.now()
    troubles = [filled(TroubleOut, one, at=moment(one.at_ms)) for one in engine.troubles] if engine else []
    return filled(
        StatusOut,
        counts,
        running=engine is not None,
        engine=filled(EngineOut, engine, memory_bytes=engine.rss_bytes, troubles=troubles) if engine else None,
        pages=PagesOut(**counts.pages),
        growth=[filled(GrowthOut, one) for one in counts.growth],
        crawls=[filled(RunningOut, crawl, seeds=crawl.seeds[:20]) for crawl in counts.crawls],
        waiting=[filled(HostOut, host) for host in counts.waiting],
        reasons=[filled(ReasonOut, entry) for entry in counts.reasons],
        set_aside=[filled(TroubleOut, one, at=moment(one.at_ms)) for one in counts.set_aside],
        held=[filled(HeldOut, kind) for kind in counts.held],
    )
