"""CSW 2.0.2 over the catalogue of geographic services, at /geo/csw: GetCapabilities, DescribeRecord, GetRecords,
GetRecordById, by GET and POST, as QGIS, GeoNetwork and CKAN ask it."""

import re
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import msgspec
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from hemeroteca.api import access
from hemeroteca.errors import Refused
from hemeroteca.geo import places, queries, records, services, xmltree
from hemeroteca.geo.description import DATASETS, SERVICES, TYPES
from hemeroteca.geo.models import Service

MAX_BODY = 256 << 10
MAX_RECORDS = 500
GMD = "http://www.isotc211.org/2005/gmd"
CSW = "http://www.opengis.net/cat/csw/2.0.2"
ELEMENTS = {"brief": "BriefRecord", "summary": "SummaryRecord", "full": "Record"}
SPACES = (
    f'xmlns:csw="{CSW}" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dct="http://purl.org/dc/terms/" '
    'xmlns:ows="http://www.opengis.net/ows" xmlns:ogc="http://www.opengis.net/ogc" '
    f'xmlns:gmd="{GMD}" xmlns:gml="http://www.opengis.net/gml" xmlns:xlink="http://www.w3.org/1999/xlink"'
)


class CswError(Exception):
    def __init__(self, code: str, text: str, locator: str = "") -> None:
        super().__init__(text)
        self.code, self.locator = code, locator


class RecordsRequest(msgspec.Struct):
    """What a GetRecords asks for."""

    wish: queries.Wish = queries.Wish()
    start: int = 1
    most: int = 10
    element_set: str = "summary"
    schema: str = CSW
    hits: bool = False
    nothing: bool = False  # the filter fits nothing


@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
def csw(request: HttpRequest) -> HttpResponse:
    try:
        given, tree = _given(request)
        asked = given.get("request", "").lower()
        if asked == "getcapabilities":
            return _xml(_capabilities(f"{access.base_of(request)}/geo/csw"))
        if asked == "describerecord":
            return _xml(f"<csw:DescribeRecordResponse {SPACES}/>")
        if asked == "getrecords":
            return _xml(_get_records(request, _order(given, tree)))
        if asked == "getrecordbyid":
            return _xml(_by_id(given))
        if not asked:
            raise CswError("MissingParameterValue", "request is missing; begin with request=GetCapabilities", "request")
        raise CswError("OperationNotSupported", f"{given['request'][:60]} is not one of our operations", "request")
    except CswError as error:
        return _exception(error.code, str(error), error.locator)
    except Refused as error:
        return _exception("InvalidParameterValue", str(error))


def _given(request: HttpRequest) -> tuple[dict[str, str], xmltree.Tree | None]:
    """Parameters, small names; and of a POST its document."""
    given: dict[str, str]
    if request.method != "POST":
        given = {name.lower(): str(value) for name, value in request.GET.items()}
        if given.get("service", "CSW").upper() != "CSW":
            raise CswError("InvalidParameterValue", "service must be CSW", "service")
        return given, None
    body = request.body[: MAX_BODY + 1]
    if len(body) > MAX_BODY:
        raise CswError("NoApplicableCode", f"a request may have {MAX_BODY >> 10} KiB")
    data = xmltree.to_utf8(body, request.headers.get("Content-Type", ""))
    start = xmltree.prolog(data)
    tree = xmltree.parse(data, start) if start else None
    if tree is None:
        raise CswError("NoApplicableCode", "the request is not XML")
    root = tree.root
    given = {name.rpartition("}")[2].lower(): value for name, value in root.items()}
    given["request"] = xmltree.local(root)
    query = xmltree.child(root, "Query")
    given["elementsetname"] = xmltree.text(query, "ElementSetName") or xmltree.text(root, "ElementSetName")
    given["id"] = ",".join(xmltree.text(one) for one in xmltree.children(root, "Id"))
    return given, tree


def _order(given: dict[str, str], tree: xmltree.Tree | None) -> RecordsRequest:
    order = RecordsRequest(
        start=_number(given, "startposition", 1, 1, 1 << 40),
        most=_number(given, "maxrecords", 10, 0, MAX_RECORDS),
        schema=given.get("outputschema") or CSW,
        hits=given.get("resulttype", "hits").lower() != "results",
    )
    order.element_set = (given.get("elementsetname") or "summary").lower()
    if order.element_set not in ELEMENTS:
        raise CswError("InvalidParameterValue", "ElementSetName is brief, summary or full", "ElementSetName")
    if order.schema not in (CSW, GMD):
        raise CswError("InvalidParameterValue", f"outputSchema is {CSW} or {GMD}", "outputSchema")
    condition = None
    if tree is not None:
        condition = xmltree.child(tree.root, "Query", "Constraint")
        cql = xmltree.text(condition, "CqlText")
    else:
        text = given.get("constraint", "")
        cql = text
        if text.lstrip().startswith("<"):
            data = text.encode()[:MAX_BODY]
            start = xmltree.prolog(data)
            inner = xmltree.parse(data, start) if start else None
            if inner is None:
                raise CswError("InvalidParameterValue", "the constraint is not XML", "constraint")
            _apply(order, inner.root)
            return order
    if cql:
        _apply_cql(order, cql)
    filter_ = xmltree.child(condition, "Filter")
    if filter_ is not None:
        for part in filter_:
            _apply(order, part)
    return order


def _apply(order: RecordsRequest, element: Any) -> None:
    """Conditions that must all hold; `Or` of the same words is the wish for any text, as MetaSearch writes it."""
    name = xmltree.local(element)
    if name in ("Filter", "And"):
        for part in element:
            _apply(order, part)
    elif name == "Or" and len(element) == 1:
        _apply(order, element[0])
    elif name in ("PropertyIsLike", "PropertyIsEqualTo"):
        wild = xmltree.attribute(element, "wildCard") or "%"
        literal = xmltree.text(element, "Literal")
        _where(order, xmltree.text(element, "PropertyName"), literal.replace(wild, " ").replace("*", " "))
    elif name == "BBOX":
        box = next(element.iter("{*}Envelope", "{*}Box"), None)
        system = xmltree.attribute(box, "srsName")
        corners = [xmltree.text(box, "lowerCorner"), xmltree.text(box, "upperCorner")]
        if box is not None and not corners[0]:
            corners = (xmltree.text(box, "coordinates") + " ").split(" ")[:2]
        turned = places.latitude_first(system) or not system
        found = places.of_corners(corners[0], corners[1], turned)
        if found is None:
            raise CswError("InvalidParameterValue", "the BBOX has no envelope in degrees", "constraint")
        order.wish = msgspec.structs.replace(order.wish, bbox=found)
    else:
        raise CswError("InvalidParameterValue", f"the filter {name[:40]} is not supported", "constraint")


def _apply_cql(order: RecordsRequest, cql: str) -> None:
    for part in re.split(r"\s+and\s+(?![^(]*\))", cql.strip(), flags=re.I):
        match = re.fullmatch(r"\s*\(?\s*([\w:]+)\s+(?:like|=)\s+'((?:[^']|'')*)'\s*\)?\s*", part, re.I) or re.fullmatch(
            r"\s*([\w:]+)\s*=\s*'((?:[^']|'')*)'\s*", part
        )
        box = re.fullmatch(r"\s*bbox\s*\(\s*[\w:]+\s*,([^)]*)\)\s*", part, re.I)
        if box:
            sides = ",".join(one.strip() for one in box[1].split(",")[:4])
            order.wish = msgspec.structs.replace(order.wish, bbox=queries.parse_bbox(sides))
        elif match:
            _where(order, match[1], match[2].replace("''", "'").replace("%", " ").replace("*", " "))
        else:
            raise CswError("InvalidParameterValue", f"the constraint {part[:60]!r} is not supported", "constraint")


def _where(order: RecordsRequest, name: str, value: str) -> None:
    field = name.rpartition(":")[2].lower()
    wish, value = order.wish, " ".join(value.split())
    if field in ("anytext", "title", "abstract", "subject", "keyword"):
        wish = msgspec.structs.replace(wish, words=f"{wish.words} {value}".strip())
    elif field == "type":
        kinds = tuple(SERVICES) if value == "service" else tuple(DATASETS) if value == "dataset" else (value.lower(),)
        order.nothing |= any(kind not in TYPES for kind in kinds)
        wish = msgspec.structs.replace(wish, types=kinds)
    elif field in ("servicetype", "format"):
        kind = value.lower().removeprefix("ogc:")
        order.nothing |= kind not in TYPES
        wish = msgspec.structs.replace(wish, types=(kind,))
    elif field == "identifier":
        wish = msgspec.structs.replace(wish, ids=(value,))
    elif field in ("modified", "boundingbox"):
        raise CswError("InvalidParameterValue", f"{name} cannot be compared in this way", "constraint")
    else:
        raise CswError("InvalidParameterValue", f"{name[:40]} is not a queryable", "constraint")
    order.wish = wish


def _get_records(request: HttpRequest, order: RecordsRequest) -> str:
    actor = access.actor_of(request)
    found: list[Service] = []
    total = 0
    if not order.nothing:
        found, total = queries.search(actor, order.wish, max(1, order.most), order.start - 1)
    if order.hits or not order.most:
        found = []
    after = order.start + len(found)
    after = after if found and after <= total else 0
    body = "".join(_record(service, order.schema, ELEMENTS[order.element_set]) for service in found)
    return (
        f'<csw:GetRecordsResponse {SPACES} version="2.0.2">'
        f'<csw:SearchStatus timestamp="{records.moment(services.now_ms())}"/>'
        f'<csw:SearchResults numberOfRecordsMatched="{total}" numberOfRecordsReturned="{len(found)}" '
        f'nextRecord="{after}" recordSchema={quoteattr(order.schema)} elementSet="{order.element_set}">{body}'
        "</csw:SearchResults></csw:GetRecordsResponse>"
    )


def _by_id(given: dict[str, str]) -> str:
    names = [name for name in given.get("id", "").split(",") if name][:MAX_RECORDS]
    if not names:
        raise CswError("MissingParameterValue", "id is missing", "id")
    schema = given.get("outputschema") or CSW
    element = ELEMENTS.get((given.get("elementsetname") or "summary").lower(), "SummaryRecord")
    found = []
    for name in names:
        try:
            service = services.find(name)
        except Refused:
            continue
        if service.state != Service.State.WITHDRAWN:
            found.append(_record(service, schema, element))
    return f"<csw:GetRecordByIdResponse {SPACES}>{''.join(found)}</csw:GetRecordByIdResponse>"


def _record(service: Service, schema: str, element: str) -> str:
    if schema == GMD:
        return records.iso19139(service, queries.layers(service)).partition("?>\n")[2]
    return records.dublin_core(service, element)


def _capabilities(url: str) -> str:
    def operation(name: str, *parameters: tuple[str, tuple[str, ...]]) -> str:
        listed = "".join(
            f'<ows:Parameter name="{parameter}">'
            + "".join(f"<ows:Value>{value}</ows:Value>" for value in values)
            + "</ows:Parameter>"
            for parameter, values in parameters
        )
        return (
            f'<ows:Operation name="{name}"><ows:DCP><ows:HTTP><ows:Get xlink:href={quoteattr(url)}/>'
            f"<ows:Post xlink:href={quoteattr(url)}/></ows:HTTP></ows:DCP>{listed}</ows:Operation>"
        )

    sets = ("ElementSetName", ("brief", "summary", "full"))
    schemas = ("outputSchema", (CSW, GMD))
    formats = ("outputFormat", ("application/xml",))
    operations = (
        operation("GetCapabilities", ("sections", ("ServiceIdentification", "ServiceProvider", "OperationsMetadata")))
        + operation("DescribeRecord", ("typeName", ("csw:Record",)), formats)
        + operation(
            "GetRecords",
            ("typeNames", ("csw:Record", "gmd:MD_Metadata")),
            formats,
            schemas,
            ("resultType", ("hits", "results")),
            sets,
            ("CONSTRAINTLANGUAGE", ("CQL_TEXT", "FILTER")),
        )
        + operation("GetRecordById", schemas, sets)
    )
    return (
        f'<csw:Capabilities {SPACES} version="2.0.2"><ows:ServiceIdentification>'
        "<ows:Title>Hemeroteca: geographic services</ows:Title>"
        "<ows:Abstract>Geographic services and datasets found on the web</ows:Abstract>"
        "<ows:ServiceType>CSW</ows:ServiceType><ows:ServiceTypeVersion>2.0.2</ows:ServiceTypeVersion>"
        "<ows:Fees>none</ows:Fees><ows:AccessConstraints>none</ows:AccessConstraints></ows:ServiceIdentification>"
        "<ows:ServiceProvider><ows:ProviderName>Hemeroteca</ows:ProviderName><ows:ServiceContact/></ows:ServiceProvider>"
        f"<ows:OperationsMetadata>{operations}"
        '<ows:Parameter name="service"><ows:Value>CSW</ows:Value></ows:Parameter>'
        '<ows:Parameter name="version"><ows:Value>2.0.2</ows:Value></ows:Parameter></ows:OperationsMetadata>'
        "<ogc:Filter_Capabilities><ogc:Spatial_Capabilities><ogc:GeometryOperands><ogc:GeometryOperand>gml:Envelope"
        '</ogc:GeometryOperand></ogc:GeometryOperands><ogc:SpatialOperators><ogc:SpatialOperator name="BBOX"/>'
        "</ogc:SpatialOperators></ogc:Spatial_Capabilities><ogc:Scalar_Capabilities><ogc:LogicalOperators/>"
        "<ogc:ComparisonOperators><ogc:ComparisonOperator>EqualTo</ogc:ComparisonOperator>"
        "<ogc:ComparisonOperator>Like</ogc:ComparisonOperator></ogc:ComparisonOperators></ogc:Scalar_Capabilities>"
        "<ogc:Id_Capabilities><ogc:EID/></ogc:Id_Capabilities></ogc:Filter_Capabilities></csw:Capabilities>"
    )


def _number(given: dict[str, str], name: str, default: int, least: int, most: int) -> int:
    text = given.get(name, "")
    if not text:
        return default
    if not text.isdecimal() or len(text) > 12 or int(text) < least:
        raise CswError("InvalidParameterValue", f"{text[:20]!r} is not a number from {least} on", name)
    return min(int(text), most)


def _exception(code: str, text: str, locator: str = "") -> HttpResponse:
    place = f" locator={quoteattr(locator)}" if locator else ""
    return _xml(
        '<ows:ExceptionReport xmlns:ows="http://www.opengis.net/ows" version="1.2.0">'
        f'<ows:Exception exceptionCode="{code}"{place}><ows:ExceptionText>{escape(text)}</ows:ExceptionText>'
        "</ows:Exception></ows:ExceptionReport>",
        400,
    )


def _xml(text: str, status: int = 200) -> HttpResponse:
    header = '<?xml version="1.0" encoding="UTF-8"?>\n'
    response = HttpResponse(header + text, status=status, content_type="application/xml; charset=utf-8")
    response.headers["Access-Control-Allow-Origin"] = "*"
    return response
