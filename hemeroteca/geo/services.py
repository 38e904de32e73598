"""The catalogue: what is found, fails, is claimed or withdrawn. The only writer of its tables."""

import hashlib
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec
from django.db import transaction
from django.db.models import F

from hemeroteca import urls
from hemeroteca.accounts import Actor, require
from hemeroteca.clock import now_ms
from hemeroteca.errors import Conflict, NotFound
from hemeroteca.geo import endpoints, models
from hemeroteca.geo.description import BBox, Description, FoundLayer
from hemeroteca.geo.models import Harvest, HarvestRecord, HealthCheck, Layer, Service, SiblingRule
from hemeroteca.plain import whole_number

GONE_MS = 30 * 86_400_000  # a service that has not answered for so long is gone
MAX_WORDS = 200_000  # characters searched of one service
MAX_KEPT_LAYERS = 20_000
MIN_MIRROR_LAYERS = 2
# Parts of these may be described by several documents; only the one at the endpoint speaks for the whole.
IN_PARTS = frozenset(("stac", "arcgis", "sensorthings", "tms"))


class Sighting(msgspec.Struct):
    """A document that described a service, and how it was found."""

    description: Description
    url: str
    at_ms: int
    digest: str = ""
    crawl: int | None = None
    server: str = ""  # the header Server
    found_on: str = ""
    anchor: str = ""
    way: list[str] = []
    source: str = ""


class FailedAddress(msgspec.Struct):
    """An address that should have described a service, and did not."""

    url: str
    at_ms: int
    status: int
    reason: str
    crawl: int | None = None


def service_key(kind: str, endpoint: str) -> int:
    """The same for http and https, with or without `www.` and a slash at the end."""
    place = endpoint.partition("://")[2].removeprefix("www.")
    digest = hashlib.blake2b(f"{kind} {place.rstrip('/?&')}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


def record(sightings: Iterable[Sighting]) -> list[Service]:
    """Put what was found into the catalogue; what is known there is brought up to date."""
    kept = []
    for sighting in sightings:
        found = sighting.description
        place = found.endpoint or endpoints.endpoint_or_empty(sighting.url)
        if not place:
            continue
        for kind in (found.type, *found.also):
            kept.append(_record(sighting, kind, place))
    return kept


def _record(sighting: Sighting, kind: str, place: str) -> Service:
    found = sighting.description
    key = service_key(kind, place)
    service = Service.objects.filter(key=key).first()
    in_parts = kind.startswith("ogcapi") or kind in IN_PARTS
    part = in_parts and endpoints.endpoint_or_empty(sighting.url).rstrip("/") != place.rstrip("/")
    if service is None:
        service = Service(
            key=key,
            type=kind,
            endpoint=place,
            found_ms=sighting.at_ms,
            changed_ms=sighting.at_ms,
            found_on=endpoints.without_secrets(sighting.found_on) if sighting.found_on else "",
            anchor=sighting.anchor[:500],
            way=[endpoints.without_secrets(one) for one in sighting.way][:50],
            crawl_id=sighting.crawl,
            source=sighting.source,
        )
        new = True
    else:
        new = service.url == ""  # met before only as closed or restricted
        if not part and service.digest and service.digest != sighting.digest:
            service.changed_ms = sighting.at_ms
    same = not new and service.digest == sighting.digest and bool(sighting.digest)
    withdrawn = service.state == Service.State.WITHDRAWN
    service.state = Service.State.WITHDRAWN if withdrawn else Service.State.ALIVE
    service.reason = service.reason if withdrawn else ""
    service.failed_ms, service.seen_ms = 0, sighting.at_ms
    older = not new and not in_parts and _version(found.version) < _version(service.version)
    if older:  # it may still say more of where things lie
        _fill_boxes(service, found)
    elif not same:
        _describe(service, sighting, whole=not part or new)
    service.save()
    if not same and not older:
        _keep_layers(service, found.layers, part or in_parts)
        service.words = fold(_words(service))[:MAX_WORDS]
        service.fingerprint = _fingerprint(service)
        service.mirror_of = _original(service)
        service.save(
            update_fields=["words", "fingerprint", "mirror_of", "layers_count", "west", "south", "east", "north"]
        )
    return service


def _describe(service: Service, sighting: Sighting, whole: bool) -> None:
    found = sighting.description
    service.host = urls.host(service.endpoint)
    if not whole:
        return
    newer = _version(found.version) >= _version(service.version)
    if newer or not service.url:
        service.version = found.version[:20]
        service.url, service.url_key = sighting.url, urls.key(sighting.url)
        service.digest = sighting.digest
    for name in ("title", "abstract", "provider", "fees", "constraints", "thumbnail", "language", "software"):
        value = getattr(found, name)
        if value:
            limit = {"language": 20, "software": 60}.get(name, 20_000)
            setattr(service, name, value[:limit])
    if not service.software and sighting.server:
        service.software = _server(sighting.server)
    for name in ("keywords", "crs", "formats", "operations"):
        if value := getattr(found, name):
            setattr(service, name, value)
    service.contact = msgspec.to_builtins(found.contact) if found.contact else service.contact
    service.inspire = msgspec.to_builtins(found.inspire) if found.inspire else service.inspire
    if found.licence != "unknown" or not service.licence:
        service.licence = found.licence
    country = (found.contact.country if found.contact else "") or _country(service.host)
    service.country = country[:60]
    if found.temporal:
        service.begin, service.end = found.temporal[0][:40], found.temporal[1][:40]
    _set_box(service, found.bbox)


def _keep_layers(service: Service, found: Sequence[FoundLayer], add: bool) -> None:
    """Of a service in parts they are added, by name; else they are all."""
    known: dict[str, int] = {}
    if add:
        known = dict(Layer.objects.filter(service=service).values_list("name", "pk"))
        start = len(known)
    else:
        Layer.objects.filter(service=service).delete()
        start = 0
    rows: list[Layer] = []
    seen = set(known)
    for layer in found:
        if layer.name in seen or start + len(rows) >= MAX_KEPT_LAYERS:
            continue
        seen.add(layer.name)
        row = Layer(
            service=service,
            position=start + len(rows),
            name=layer.name,
            title=layer.title,
            abstract=layer.abstract,
            keywords=layer.keywords,
            begin=layer.temporal[0][:40] if layer.temporal else "",
            end=layer.temporal[1][:40] if layer.temporal else "",
            crs=layer.crs[:50],
            formats=layer.formats[:50],
            styles=layer.styles[:50],
            metadata=layer.metadata[:20],
            url=endpoints.without_secrets(layer.url) if layer.url else "",
        )
        _set_box(row, layer.bbox)
        rows.append(row)
    Layer.objects.bulk_create(rows, batch_size=500)
    service.layers_count = start + len(rows)
    if add and service.west is None:
        from hemeroteca.geo import places

        _set_box(service, places.union(layer.bbox for layer in found))


def _fill_boxes(service: Service, found: Description) -> None:
    """WCS 2.0 tells no extents in its capabilities; WCS 1.0 of the same endpoint does."""
    for layer in found.layers:
        if layer.bbox is not None:
            west, south, east, north = layer.bbox
            same = Layer.objects.filter(service=service, name=layer.name, west=None)
            same.update(west=west, south=south, east=east, north=north)
    if service.bbox is None:
        _set_box(service, found.bbox)


def _set_box(row: Service | Layer, box: BBox | None) -> None:
    if box is not None:
        row.west, row.south, row.east, row.north = box


def fail(failures: Iterable[FailedAddress]) -> None:
    """Note what no longer answers as a service, or wants to know who asks."""
    for failure in failures:
        known = list(Service.objects.filter(url_key=urls.key(failure.url)).exclude(state=Service.State.WITHDRAWN))
        if not known and failure.status in (401, 403) and (kind := endpoints.asked_kind(failure.url)):
            place = endpoints.endpoint(failure.url)
            known = [_stub(kind, place, failure)]
        for service in known:
            service.failed_ms = service.failed_ms or failure.at_ms
            if failure.status in (401, 403):
                state = Service.State.RESTRICTED
            elif failure.status == 410 or failure.at_ms - service.failed_ms >= GONE_MS or failure.status == 404:
                state = Service.State.GONE
            else:
                state = Service.State.FAILING
            service.state, service.reason = state, failure.reason[:500]
            service.save(update_fields=["state", "reason", "failed_ms"])


def close(url: str, rule: str, at_ms: int, crawl: int | None = None) -> Service | None:
    """Note a service that robots.txt forbids to ask."""
    kind = endpoints.asked_kind(url)
    place = endpoints.endpoint_or_empty(url)
    if not kind or not place:
        return None
    service = Service.objects.filter(key=service_key(kind, place)).first()
    if service is None:
        service = _stub(kind, place, FailedAddress(url, at_ms, 0, rule, crawl))
    elif service.state == Service.State.WITHDRAWN:
        return service
    service.state, service.reason = Service.State.CLOSED, rule[:500]
    service.save(update_fields=["state", "reason"])
    return service


def forget(addresses: Iterable[str]) -> None:
    """Pages were erased: services that they described go, and what they called others. What was withdrawn keeps its
    row, so that it stays out, and says nothing more."""
    pages = list(addresses)
    for start in range(0, len(pages), 400):
        part = pages[start : start + 400]
        Service.objects.filter(found_on__in=[endpoints.without_secrets(url) for url in part]).update(anchor="")
        described = Service.objects.filter(url_key__in=[urls.key(url) for url in part])
        described.exclude(state=Service.State.WITHDRAWN).delete()
        Layer.objects.filter(service__in=described).delete()
        described.update(
            title="", abstract="", provider="", fees="", constraints="", thumbnail="", words="", keywords=[],
            contact=None, inspire=None,
        )  # fmt: skip


def touch(keys: Sequence[int], at_ms: int) -> None:
    """These pages were asked again and had not changed."""
    Service.objects.filter(url_key__in=keys).exclude(state=Service.State.WITHDRAWN).update(
        seen_ms=at_ms, failed_ms=0, state=Service.State.ALIVE, reason=""
    )


def count_rules(tried: dict[str, int], found: dict[str, int]) -> None:
    """How often rules that guess services were right."""
    for name in {*tried, *found}:
        SiblingRule.objects.get_or_create(name=name[:200])
        SiblingRule.objects.filter(name=name[:200]).update(
            tried=F("tried") + tried.get(name, 0), found=F("found") + found.get(name, 0)
        )


# people


def find(number: int | str) -> Service:
    """A service by its number or its identifier. Raises NotFound."""
    text = str(number)
    rows = Service.objects.all()
    if text.startswith("service-"):
        try:
            value = int(text.removeprefix("service-"), 16)
        except ValueError:
            value = 1 << 65
        service = (
            rows.filter(key=value - (1 << 64) if value >= 1 << 63 else value).first() if 0 <= value < 1 << 64 else None
        )
    else:
        service = rows.filter(pk=int(text)).first() if text.isdecimal() and len(text) < 18 else None
    if service is None:
        raise NotFound(f"there is no geographic service {text[:60]!r}; `hemeroteca geo search` finds them")
    return service


def claim(actor: Actor, number: int | str) -> Service:
    """Say that a service is one's own; its owner may withdraw it."""
    require(actor, "geo.claim")
    service = find(number)
    if service.owner is not None and service.owner != actor.user:
        raise Conflict(f"service {service.pk} is claimed by somebody else; ask an administrator")
    service.owner = actor.user
    service.save(update_fields=["owner"])
    return service


def withdraw(actor: Actor, number: int | str, reason: str = "") -> Service:
    """Take a service out of the catalogue; it stays out when it is found again."""
    service = find(number)
    require(actor, "geo.withdraw", service if service.owner is not None else None)
    service.state, service.reason = Service.State.WITHDRAWN, reason or "withdrawn by its owner"
    service.save(update_fields=["state", "reason"])
    return service


def restore(actor: Actor, number: int | str) -> Service:
    """Put a withdrawn service back."""
    service = find(number)
    require(actor, "geo.withdraw", service if service.owner is not None else None)
    if service.state != Service.State.WITHDRAWN:
        raise Conflict(f"service {service.pk} is not withdrawn: it is {service.state}")
    service.state, service.reason = Service.State.FAILING, "not looked at since it was put back"
    service.save(update_fields=["state", "reason"])
    return service


def keep_check(check: HealthCheck) -> bool:
    """Keep a look at a service, and what it means for its state; whether that changed."""
    with transaction.atomic():
        service = Service.objects.select_for_update().get(pk=check.service.pk)
        check.save()
        before = service.state
        if service.state == Service.State.WITHDRAWN or check.request == "link":
            return False
        if check.ok:
            if check.request == "capabilities":
                service.state, service.reason, service.failed_ms = Service.State.ALIVE, "", 0
                service.seen_ms = check.at_ms
        else:
            service.failed_ms = service.failed_ms or check.at_ms
            service.reason = check.reason[:500]
            if check.status in (401, 403):
                service.state = Service.State.RESTRICTED
            elif check.status in (404, 410) or check.at_ms - service.failed_ms >= GONE_MS:
                service.state = Service.State.GONE
            else:
                service.state = Service.State.FAILING
        service.save(update_fields=["state", "reason", "failed_ms", "seen_ms"])
        return service.state != before


# harvests of other catalogues


def begin_harvest(kind: str, url: str) -> Harvest:
    digest = hashlib.blake2b(f"{kind} {url}".encode(), digest_size=8).digest()
    key = int.from_bytes(digest, "little", signed=True)
    source, _ = Harvest.objects.get_or_create(key=key, defaults={"kind": kind, "url": url})
    return source


def keep_record(
    source: Harvest, identifier: str, title: str, addresses: list[str], digest: int, at_ms: int
) -> Literal["added", "changed", "same"]:
    known = HarvestRecord.objects.filter(harvest=source, identifier=identifier).first()
    values = {"title": title, "addresses": addresses, "digest": digest, "seen_ms": at_ms}
    if known is None:
        HarvestRecord.objects.create(harvest=source, identifier=identifier, **values)
        return "added"
    HarvestRecord.objects.filter(pk=known.pk).update(**values)
    return "same" if known.digest == digest else "changed"


def end_harvest(source: Harvest, begun_ms: int, report: dict[str, object]) -> int:
    """After a whole harvest: what it did not show has vanished; how many that are."""
    vanished, _ = HarvestRecord.objects.filter(harvest=source, seen_ms__lt=begun_ms).delete()
    Harvest.objects.filter(pk=source.pk).update(last_ms=now_ms(), report={**report, "vanished": vanished})
    return vanished


def fail_harvest(source: Harvest, report: dict[str, object]) -> None:
    """After one that ended early: what is known stays; the report tells why, and when it was tried."""
    Harvest.objects.filter(pk=source.pk).update(report={**report, "tried_ms": now_ms()})


def fold(text: str) -> str:
    """Small letters without accents: `Ríos` and `rios` are the same word."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    return "".join(letter for letter in plain if not unicodedata.combining(letter))


# parts


def _stub(kind: str, place: str, failure: FailedAddress) -> Service:
    """A service of which nothing is known but where it should be."""
    service, _ = Service.objects.get_or_create(
        key=service_key(kind, place),
        defaults={
            "type": kind,
            "endpoint": place,
            "host": urls.host(place),
            "url_key": urls.key(failure.url),
            "found_ms": failure.at_ms,
            "crawl_id": failure.crawl,
            "country": _country(urls.host(place)),
            "words": fold(place),
        },
    )
    return service


def _words(service: Service) -> str:
    parts = [service.title, service.abstract, " ".join(service.keywords), service.provider, service.public_endpoint]
    for title, name, abstract, keywords in Layer.objects.filter(service=service).values_list(
        "title", "name", "abstract", "keywords"
    )[:5000]:
        parts += [title, name, abstract[:300], " ".join(keywords[:20])]
    return "\n".join(part for part in parts if part)


def _fingerprint(service: Service) -> int:
    """Of type, layers and extent; 0 when there are too few to tell."""
    names = sorted(Layer.objects.filter(service=service).values_list("name", "title"))
    if len(names) < MIN_MIRROR_LAYERS:
        return 0
    box = tuple(round(side, 3) for side in service.bbox or ())
    text = repr((service.type, names, box, service.title))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little", signed=True)


def _original(service: Service) -> models.Service | None:
    if not service.fingerprint:
        return None
    first = Service.objects.filter(fingerprint=service.fingerprint, mirror_of=None).exclude(pk=service.pk)
    return first.order_by("found_ms", "pk").first()


def _version(text: str) -> tuple[int, ...]:
    return tuple(whole_number(part) or 0 for part in text.split(".") if part.isdecimal())


def _server(header: str) -> str:
    return header.partition("(")[0].strip()[:60]


def _country(host: str) -> str:
    last = host.rpartition(".")[2]
    return last.upper() if len(last) == 2 and last.isalpha() and last != "eu" else ""
