"""Orders that lead to visits: addresses that people or harvests name go the way of every crawl."""

from collections.abc import Iterable

from django.db.models import QuerySet

from hemeroteca import urls
from hemeroteca.accounts import SYSTEM, Actor, require
from hemeroteca.clock import now_ms
from hemeroteca.config import Config
from hemeroteca.frontier import services as frontier
from hemeroteca.frontier.models import Crawl
from hemeroteca.geo import endpoints
from hemeroteca.geo.models import Harvest, Service
from hemeroteca.ingest.rules import CrawlOptions
from hemeroteca.urls import Scope

MAX_SEEDS = 20_000


def add(actor: Actor, url: str) -> Crawl:
    """Order a visit of an address and of the services it may be."""
    require(actor, "geo.add")
    return visit(actor, [urls.typed(url)])


def visit(actor: Actor, addresses: Iterable[str]) -> Crawl:
    """One crawl over addresses that may be services: each is asked in the likeliest ways, nothing else is followed."""
    seeds: dict[str, None] = {}
    for address in addresses:
        probes = endpoints.probes(address)
        seeds.update(dict.fromkeys(probes or [address]))
        if len(seeds) >= MAX_SEEDS:
            break
    options = CrawlOptions(Scope(kind="page"), probe=True, requisites=False, sitemaps=False)
    crawl, _ = frontier.submit_crawl(actor, seeds, options)
    return crawl


def order_harvests(config: Config) -> int:
    """Have catalogues harvested again that were not for `geo_harvest_hours`, each in a job; how many were ordered.
    Asked now and then by the engine."""
    from hemeroteca.jobs import queries as jobs
    from hemeroteca.jobs import services as job_services

    before = now_ms() - int(config.geo_harvest_hours * 3_600_000)
    if not config.geo_harvest_hours:
        return 0
    due = [one for one in Harvest.objects.filter(last_ms__lte=before) if one.report.get("tried_ms", 0) <= before]
    if not due:
        return 0
    under_way = {
        job.arguments.get("url")
        for job in jobs.recent(SYSTEM, 100, kind="geo.harvest")
        if job.state in ("queued", "running")
    }
    wanted = [one for one in due if one.url not in under_way]
    for one in wanted:
        job_services.submit(SYSTEM, "geo.harvest", {"url": one.url, "kind": one.kind}, by_itself=True)
    return len(wanted)


def known_at(url: str) -> QuerySet[Service]:
    """Services at the endpoint of an address."""
    place = endpoints.endpoint_or_empty(url)
    return Service.objects.filter(endpoint__in=[place, place.rstrip("/"), place.rstrip("/") + "/"] if place else [])
