"""Long work of the catalogue: harvests of other catalogues, looks at the health of services."""

import hashlib

import msgspec
from django.conf import settings

from hemeroteca import urls
from hemeroteca.accounts import SYSTEM
from hemeroteca.clock import now_ms
from hemeroteca.errors import Invalid, Unavailable
from hemeroteca.fetch.client import GuardedClient
from hemeroteca.geo import harvest as catalogues
from hemeroteca.geo import health, services, visit_orders
from hemeroteca.geo.models import Service
from hemeroteca.jobs import ActiveJob, kind


class HarvestOrder(msgspec.Struct):
    url: str
    kind: str = ""  # one of `harvest.KINDS`; empty: found out


class Harvested(msgspec.Struct):
    kind: str
    records: int
    added: int
    changed: int
    vanished: int
    failed: int
    addresses: int  # services that new and changed records name
    crawl: int | None = None  # that visits them
    reason: str = ""  # why it ended early


class CheckOrder(msgspec.Struct):
    services: list[int] = []  # none: those that are due
    deep: bool = False  # maps and features too
    limit: int = 1000
    every_hours: float = 24.0


class CheckReport(msgspec.Struct):
    services: int
    failed: int
    changes: list[health.StateChange]


@kind("geo.harvest", remote=True)
def harvest(job: ActiveJob, order: HarvestOrder) -> Harvested:
    """Read a catalogue to its end, compare it with the last time, and have new and changed services visited."""
    try:
        url = urls.canonical(order.url)
    except urls.UrlError as error:
        raise Invalid(f"{order.url[:200]!r} is not the address of a catalogue ({error})")
    if order.kind and order.kind not in catalogues.KINDS:
        raise Invalid(f"{order.kind[:40]!r} is not a kind of catalogue; these are: {', '.join(catalogues.KINDS)}")
    errands = catalogues.Errands(settings.CONFIG)
    name = order.kind or catalogues.guess_kind(url, errands)
    source, begun = services.begin_harvest(name, url), now_ms()
    done = Harvested(kind=name, records=0, added=0, changed=0, vanished=0, failed=0, addresses=0)
    addresses: dict[str, None] = {}
    try:
        for found in catalogues.harvest(name, url, errands):
            done.records += 1
            state = services.keep_record(
                source, found.identifier, found.title, found.addresses, _digest(found.text), begun
            )
            done.added += state == "added"
            done.changed += state == "changed"
            if state != "same":
                addresses.update(dict.fromkeys(found.addresses))
            job.progress(done.records, None, found.title[:80])
    except Unavailable as error:
        done.failed, done.reason = 1, str(error)
        job.log(str(error))
    if not done.failed:  # only a whole harvest tells what is no longer there
        done.vanished = services.end_harvest(source, begun, msgspec.to_builtins(done))
    else:
        services.fail_harvest(source, msgspec.to_builtins(done))
    done.addresses = len(addresses)
    if addresses:
        done.crawl = visit_orders.visit(SYSTEM, addresses).pk
        job.log(f"{len(addresses)} addresses are visited by crawl {done.crawl}")
    return done


@kind("geo.check", remote=True)
def check(job: ActiveJob, order: CheckOrder) -> CheckReport:
    """Look at services that are due; a change of state goes into the log."""
    client, now = GuardedClient(settings.CONFIG), now_ms()
    if order.services:
        found = [services.find(number) for number in dict.fromkeys(order.services)]
    else:
        found = health.due(order.limit, int(order.every_hours * 3_600_000), now)
    done = CheckReport(0, 0, [])
    for service in found:
        change = health.check(service, client, settings.CONFIG, order.deep)
        done.services += 1
        done.failed += service.state != Service.State.ALIVE
        if change is not None:
            done.changes.append(change)
            job.log(f"{change.title}: {change.before} → {change.after} {change.reason}")
        job.progress(done.services, len(found), service.title[:80])
    return done


def _digest(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little", signed=True)
