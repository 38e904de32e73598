"""OGC API - Records 1.0 over the catalogue of geographic services, under /geo/records; and its sitemap."""

from typing import Any
from urllib.parse import urlencode
from xml.sax.saxutils import escape

import msgspec
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from hemeroteca.api import access
from hemeroteca.clock import now_ms
from hemeroteca.errors import Invalid, NotFound
from hemeroteca.geo import queries, records, services
from hemeroteca.geo.description import DATASETS, SERVICES
from hemeroteca.geo.models import Service

CONFORMS = [
    "http://www.opengis.net/spec/ogcapi-common-1/1.0/conf/core",
    "http://www.opengis.net/spec/ogcapi-common-2/1.0/conf/collections",
    "http://www.opengis.net/spec/ogcapi-features-1/1.0/conf/core",
    "http://www.opengis.net/spec/ogcapi-features-1/1.0/conf/geojson",
    "http://www.opengis.net/spec/ogcapi-records-1/1.0/conf/record-core",
    "http://www.opengis.net/spec/ogcapi-records-1/1.0/conf/record-collection",
    "http://www.opengis.net/spec/ogcapi-records-1/1.0/conf/record-core-query-parameters",
    "http://www.opengis.net/spec/ogcapi-records-1/1.0/conf/record-api",
    "http://www.opengis.net/spec/ogcapi-records-1/1.0/conf/json",
]
MAX_LIMIT = 1000
MAX_SITEMAP = 50_000
PARAMETERS = frozenset(("q", "bbox", "datetime", "type", "ids", "externalIds", "limit", "offset", "f", "keyword"))


@require_safe
def landing(request: HttpRequest) -> HttpResponse:
    base = _base(request)
    return _json(
        {
            "title": "Hemeroteca: geographic services",
            "description": "Geographic services and datasets found on the web, with what they say of themselves.",
            "links": [
                _link("self", base, "application/json"),
                _link("conformance", f"{base}/conformance", "application/json"),
                _link("http://www.opengis.net/def/rel/ogc/1.0/conformance", f"{base}/conformance", "application/json"),
                _link("data", f"{base}/collections", "application/json"),
                _link("http://www.opengis.net/def/rel/ogc/1.0/data", f"{base}/collections", "application/json"),
                _link("service-desc", f"{base}/api", "application/vnd.oai.openapi+json;version=3.0"),
                _link(
                    "http://www.opengis.net/def/rel/ogc/1.0/ogc-catalog",
                    f"{base}/collections/services",
                    "application/json",
                ),
            ],
        }
    )  # fmt: skip


@require_safe
def conformance(request: HttpRequest) -> HttpResponse:
    return _json({"conformsTo": CONFORMS})


@require_safe
def collections(request: HttpRequest) -> HttpResponse:
    base = _base(request)
    links = [_link("self", f"{base}/collections", "application/json")]
    return _json({"collections": [_collection(base)], "links": links})


@require_safe
def collection(request: HttpRequest) -> HttpResponse:
    return _json(_collection(_base(request)))


@require_safe
def items(request: HttpRequest) -> HttpResponse:
    """Records, by q, bbox, datetime, type, ids, externalIds and keyword; with `offset` for what follows."""
    base, given = _base(request), request.GET
    unknown = set(given) - PARAMETERS
    if unknown:
        raise Invalid(f"{sorted(unknown)[0]!r} is not a parameter; these are: {', '.join(sorted(PARAMETERS))}")
    limit, offset = _number(given.get("limit"), 10, MAX_LIMIT, 1), _number(given.get("offset"), 0, 1 << 40, 0)
    begin, end = queries.parse_span(given["datetime"]) if given.get("datetime") else ("", "")
    wish = queries.ServiceQuery(
        words=given.get("q", "").replace(",", " ")[:400],
        bbox=queries.parse_bbox(given["bbox"]) if given.get("bbox") else None,
        types=_types(given.get("type", "")),
        keyword=given.get("keyword", "")[:200],
        begin=begin,
        end=end,
        ids=tuple(filter(None, given.get("ids", "").split(","))) if "ids" in given else (),
        endpoints=tuple(filter(None, given.get("externalIds", "").split(","))) if "externalIds" in given else (),
    )
    found, total = queries.search(access.actor_of(request), wish, limit, offset)
    place = f"{base}/collections/services/items"
    links = [_link("self", _page(place, given.dict(), limit, offset), "application/geo+json")]
    if offset + limit < total:
        links.append(_link("next", _page(place, given.dict(), limit, offset + limit), "application/geo+json"))
    if offset:
        links.append(_link("prev", _page(place, given.dict(), limit, max(0, offset - limit)), "application/geo+json"))
    return _json(
        {
            "type": "FeatureCollection",
            "numberMatched": total,
            "numberReturned": len(found),
            "timeStamp": records.moment(now_ms()),
            "features": [records.feature(service, base) for service in found],
            "links": links,
        },
        "application/geo+json",
    )


@require_safe
def item(request: HttpRequest, identifier: str) -> HttpResponse:
    service = services.find(identifier)
    if service.state == Service.State.WITHDRAWN:
        raise NotFound(f"{identifier} was withdrawn by its owner")
    layers = queries.layers(service)
    if request.GET.get("f") == "iso19139":
        return HttpResponse(records.iso19139(service, layers), content_type="application/xml; charset=utf-8")
    return _json(records.feature(service, _base(request), layers), "application/geo+json")


@require_safe
def description(request: HttpRequest) -> HttpResponse:
    """OpenAPI 3.0 of these addresses, as short as the standard allows."""
    base = _base(request)
    names = {"limit": "integer", "offset": "integer"}
    parameters = [
        {"name": name, "in": "query", "required": False, "schema": {"type": names.get(name, "string")}}
        for name in sorted(PARAMETERS)
    ]
    answer = {"200": {"description": "OK"}}
    paths: dict[str, Any] = {
        place: {"get": {"responses": answer, "operationId": place.strip("/").replace("/", "-") or "landing"}}
        for place in ("/", "/conformance", "/collections", "/collections/services")
    }
    paths["/collections/services/items"] = {
        "get": {"parameters": parameters, "responses": answer, "operationId": "items"}
    }
    identifier = {"name": "recordId", "in": "path", "required": True, "schema": {"type": "string"}}
    paths["/collections/services/items/{recordId}"] = {
        "get": {"parameters": [identifier], "responses": answer, "operationId": "item"}
    }
    facts = {
        "openapi": "3.0.3",
        "info": {"title": "Hemeroteca: geographic services", "version": "1.0"},
        "servers": [{"url": base}],
        "paths": paths,
    }
    return _json(facts, "application/vnd.oai.openapi+json;version=3.0")


@require_safe
def sitemap(request: HttpRequest) -> HttpResponse:
    """Every entry, for search engines and harvesters that read schema.org."""
    base = access.base_of(request)
    lines = ['<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">']
    for count, service in enumerate(queries.every(access.actor_of(request), queries.ServiceQuery())):
        if count >= MAX_SITEMAP:
            break
        address = escape(f"{base}/api/v1/geo/services/{service.identifier}/schema-org")
        changed = records.moment(service.changed_ms or service.found_ms)
        lines.append(f"<url><loc>{address}</loc><lastmod>{changed}</lastmod></url>")
    lines.append("</urlset>")
    return HttpResponse("\n".join(lines), content_type="application/xml; charset=utf-8")


def _collection(base: str) -> dict[str, Any]:
    place = f"{base}/collections/services"
    return {
        "id": "services",
        "type": "Catalog",
        "itemType": "record",
        "title": "Geographic services",
        "description": "Services and datasets found by crawls and harvests",
        "extent": {"spatial": {"bbox": [[-180, -90, 180, 90]], "crs": "http://www.opengis.net/def/crs/OGC/1.3/CRS84"}},
        "crs": ["http://www.opengis.net/def/crs/OGC/1.3/CRS84"],
        "conformsTo": ["http://www.opengis.net/spec/ogcapi-records-1/1.0/req/record-collection"],
        "links": [_link("self", place, "application/json"), _link("items", f"{place}/items", "application/geo+json")],
    }


def _types(text: str) -> tuple[str, ...]:
    """`service` and `dataset` of the standard, or our own types."""
    names: list[str] = []
    for name in filter(None, (part.strip().lower() for part in text.split(","))):
        names += SERVICES if name == "service" else DATASETS if name == "dataset" else [name]
    return queries.parse_types(names)


def _number(text: str | None, default: int, most: int, least: int) -> int:
    if text is None:
        return default
    if not text.isdecimal() or len(text) > 15 or int(text) < least:
        raise Invalid(f"{text[:20]!r} is not a number from {least} on")
    return min(int(text), most)


def _page(place: str, given: dict[str, Any], limit: int, offset: int) -> str:
    wanted = {name: value for name, value in given.items() if name not in ("limit", "offset")}
    return f"{place}?{urlencode(wanted | {'limit': limit, 'offset': offset})}"


def _base(request: HttpRequest) -> str:
    return f"{access.base_of(request)}/geo/records"


def _link(rel: str, href: str, kind: str) -> dict[str, str]:
    return {"rel": rel, "href": href, "type": kind}


def _json(value: Any, kind: str = "application/json") -> HttpResponse:
    response = HttpResponse(msgspec.json.encode(value), content_type=kind)
    response.headers["Access-Control-Allow-Origin"] = "*"
    return response
