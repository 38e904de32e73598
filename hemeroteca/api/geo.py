"""/geo: the catalogue of geographic services, searched, added to, claimed, withdrawn; how services stand."""

from datetime import datetime
from typing import Annotated, Any

import msgspec
from django.http import HttpRequest, HttpResponse
from ninja import Path, Query, Schema
from ninja.errors import HttpError
from pydantic import Field

from hemeroteca.api import access
from hemeroteca.api.shapes import Cursor, Limit, Listing, RequestBody, filled, read_cursor, write_cursor
from hemeroteca.geo import concepts, queries, records, services, visit_orders
from hemeroteca.geo.models import Service
from hemeroteca.warc.timestamps import moment

Identity = Annotated[str, Path(max_length=40, description="Number or identifier of the service.")]
Text = Annotated[str, Query(max_length=400)]


class LayerOut(Schema):
    name: str = Field(description="How it is asked for.")
    title: str = Field(description="Its title.")
    abstract: str = Field(description="What it shows.")
    keywords: list[str] = Field(description="Its keywords.")
    bbox: list[float] | None = Field(description="West, south, east, north in degrees.")
    begin: str = Field(description="Begin of its temporal extent.")
    end: str = Field(description="End of its temporal extent.")
    crs: list[str] = Field(description="Coordinate systems.")
    formats: list[str] = Field(description="Formats of its own.")
    styles: list[str] = Field(description="Styles it can be drawn in.")
    metadata: list[str] = Field(description="Addresses of its metadata.")
    url: str = Field(description="Its own address, where it has one.")


class ServiceOut(Schema):
    id: int = Field(description="Number of the service.")
    identifier: str = Field(description="Its name for other catalogues; it does not change.")
    type: str = Field(description="One of the closed list of types.")
    version: str = Field(description="Version of its interface.")
    title: str = Field(description="Its title.")
    abstract: str = Field(description="What it says it is.")
    endpoint: str = Field(description="Where it is asked, without secrets.")
    keywords: list[str] = Field(description="Its keywords.")
    provider: str = Field(description="Who provides it.")
    contact: dict[str, Any] | None = Field(description="Who answers for it.")
    licence: str = Field(description="What fees and constraints mean; `unknown` when nothing is known.")
    constraints: str = Field(description="What it says of access and use.")
    fees: str = Field(description="What it says of fees.")
    inspire: dict[str, Any] | None = Field(description="INSPIRE extended capabilities.")
    language: str = Field(description="Language it describes itself in.")
    software: str = Field(description="What serves it.")
    country: str = Field(description="Of its contact, or of its host's domain.")
    thumbnail: str = Field(description="Address of a small picture.")
    crs: list[str] = Field(description="Coordinate systems.")
    formats: list[str] = Field(description="Formats it answers in.")
    bbox: list[float] | None = Field(description="West, south, east, north in degrees.")
    begin: str = Field(description="Begin of its temporal extent.")
    end: str = Field(description="End of its temporal extent.")
    layers_count: int = Field(description="Layers, feature types, coverages, processes, datasets.")
    state: str = Field(description="alive, failing, gone, restricted, closed or withdrawn.")
    reason: str = Field(description="Why it is not alive.")
    found_on: str = Field(description="The page that led to it.")
    way: list[str] = Field(description="Pages on the way to it, from the seed.")
    found_at: datetime | None = Field(description="When it was first met.")
    seen_at: datetime | None = Field(description="When it last answered as what it is.")
    changed_at: datetime | None = Field(description="When its description last changed.")


class ConceptOut(Schema):
    keyword: str = Field(description="The keyword as the service writes it.")
    thesaurus: str = Field(description="Name of the thesaurus that has it.")
    uri: str = Field(description="The concept.")
    label: str = Field(description="Its preferred label in the language of the keyword.")


class ServiceWhole(ServiceOut):
    concepts: list[ConceptOut] = Field(description="Keywords that are concepts of thesauri.")
    layers: list[LayerOut] = Field(description="What it offers.")
    mirrors: list[str] = Field(description="Other endpoints with the same layers.")


class CheckOut(Schema):
    at: datetime = Field(description="When.")
    ok: bool = Field(description="It answered as it should.")
    request: str = Field(description="What was asked: capabilities, map or feature.")
    layer: str = Field(description="Layer it was asked for.")
    status: int = Field(description="HTTP status; 0: no answer.")
    milliseconds: int = Field(description="Until the whole answer was there.")
    reason: str = Field(description="What was wrong.")


class HealthOut(Schema):
    state: str = Field(description="How it stands.")
    reason: str = Field(description="Why it is not alive.")
    reliability: float | None = Field(description="Looks that went well, in per cent; null: nobody looked.")
    milliseconds: int = Field(description="Mean time of an answer.")
    failing_layers: list[str] = Field(description="Layers that could not be drawn or read lately.")
    inspire: dict[str, Any] = Field(description="Own checks of what INSPIRE demands.")
    checks: list[CheckOut] = Field(description="The latest looks, newest first.")


class AddIn(RequestBody):
    url: str = Field(
        min_length=1, max_length=4096, description="An address of a service, or of a page that leads to some."
    )


class AddOut(Schema):
    crawl: int = Field(description="Number of the crawl that visits it.")


class WithdrawIn(RequestBody):
    reason: str = Field("", max_length=500, description="Why, for people.")


def search(
    request: HttpRequest,
    q: Annotated[str, Query(max_length=400, description="Words that must occur.")] = "",
    bbox: Annotated[str, Query(max_length=200, description="west,south,east,north in degrees.")] = "",
    type: Annotated[str, Query(max_length=200, description="Types, with commas.")] = "",  # noqa: A002
    provider: Annotated[str, Query(max_length=200, description="A part of the provider's name.")] = "",
    keyword: Annotated[
        str,
        Query(
            max_length=200,
            description="A keyword, or the address of a concept; its labels in other languages count too.",
        ),
    ] = "",
    datetime: Annotated[str, Query(max_length=100, description="A time or a span that the data touch.")] = "",
    state: Annotated[str, Query(max_length=100, description="States, with commas; `all` for all.")] = "",
    limit: Limit = 20,
    cursor: Cursor = "",
) -> Listing[ServiceOut]:
    begin, end = queries.parse_span(datetime) if datetime else ("", "")
    states = queries.SHOWN if not state else () if state == "all" else tuple(state.split(","))
    wish = queries.ServiceQuery(
        words=q,
        bbox=queries.parse_bbox(bbox) if bbox else None,
        types=queries.parse_types([type]),
        provider=provider,
        keyword=keyword,
        begin=begin,
        end=end,
        states=states,
        mirrors=state == "all",
    )
    position = read_cursor(cursor, 1)
    offset = max(0, position[0]) if position else 0
    found, total = queries.search(access.caller(request), wish, limit, offset)
    after = write_cursor(offset + limit) if offset + limit < total else None
    return Listing[ServiceOut](items=[_out(one) for one in found], next_cursor=after)


def one(request: HttpRequest, number: Identity) -> ServiceWhole:
    service = services.find(number)
    mirrors = [other.public_endpoint for other in Service.objects.filter(mirror_of=service)[:100]]
    layers = [filled(LayerOut, one, bbox=list(one.bbox) if one.bbox else None) for one in queries.layers(service)]
    known = [filled(ConceptOut, found) for found in concepts.of_keywords(service.keywords)]
    return filled(ServiceWhole, service, **_same(service), layers=layers, mirrors=mirrors, concepts=known)


def form(
    request: HttpRequest,
    number: Identity,
    form: Annotated[str, Path(max_length=20, description="iso19139, dublin-core, geodcat, schema-org, geojson, qlr")],
) -> HttpResponse:
    """The entry as other catalogues and QGIS read it."""
    service = services.find(number)
    layers = queries.layers(service)
    base = access.base_of(request)
    page = f"{base}/api/v1/geo/services/{service.identifier}"
    if form == "iso19139":
        return HttpResponse(records.iso19139(service, layers), content_type="application/xml; charset=utf-8")
    if form == "geodcat":
        return _json(records.geodcat(service, layers, page), "application/ld+json")
    if form == "schema-org":
        return _json(records.schema_org(service, page), "application/ld+json")
    if form == "geojson":
        return _json(records.feature(service, f"{base}/geo/records", layers), "application/geo+json")
    if form == "qlr":
        try:
            response = HttpResponse(records.qlr(service, layers), content_type="application/x-qgis-layer-definition")
        except ValueError as error:
            raise HttpError(404, str(error))
        response.headers["Content-Disposition"] = f'attachment; filename="{service.identifier}.qlr"'
        return response
    raise HttpError(404, f"there is no form {form[:20]!r}; these are: iso19139, geodcat, schema-org, geojson, qlr")


def health(request: HttpRequest, number: Identity) -> HealthOut:
    from hemeroteca.geo import health as looks

    service = services.find(number)
    facts = queries.health(service)
    return HealthOut(
        **{name: facts[name] for name in ("state", "reason", "reliability", "milliseconds", "failing_layers")},
        inspire=msgspec.to_builtins(looks.inspire_report(service)),
        checks=[filled(CheckOut, check, at=moment(check.at_ms)) for check in queries.checks(service)],
    )


def add(request: HttpRequest, given: AddIn) -> AddOut:
    return AddOut(crawl=visit_orders.add(access.caller(request), given.url).pk)


def claim(request: HttpRequest, number: Identity) -> ServiceOut:
    return _out(services.claim(access.caller(request), number))


def withdraw(request: HttpRequest, number: Identity, given: WithdrawIn) -> ServiceOut:
    return _out(services.withdraw(access.caller(request), number, given.reason))


def statistics(request: HttpRequest) -> dict[str, Any]:
    """How many services there are now and were ever, by type, software, country, licence and state."""
    return queries.statistics(access.caller(request))


def _same(service: Service) -> dict[str, Any]:
    bbox = list(service.bbox) if service.bbox else None
    return {"id": service.pk, "endpoint": service.public_endpoint, "bbox": bbox}


def _out(service: Service) -> ServiceOut:
    return filled(ServiceOut, service, **_same(service))


def _json(value: Any, kind: str) -> HttpResponse:
    return HttpResponse(msgspec.json.encode(value), content_type=kind)
