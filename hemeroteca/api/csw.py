"""CSW 2.0.2 over the catalogue of geographic services, at /geo/csw: GetCapabilities, DescribeRecord, GetRecords,
GetRecordById, by GET and POST, as QGIS, GeoNetwork and CKAN ask it."""

from xml.sax.saxutils import escape, quoteattr

import msgspec
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from hemeroteca.api import access
from hemeroteca.clock import now_ms
from hemeroteca.errors import Refused
from hemeroteca.geo import catalogue_filters, queries, records, services, xmltree
from hemeroteca.geo.models import Service

MAX_BODY = 256 << 10
MAX_RECORDS = 500
GMD = "http://www.isotc211.org/2005/gmd"
CSW = "http://www.opengis.net/cat/csw/2.0.2"
ELEMENTS = {"brief": "BriefRecord", "summary": "SummaryRecord", "full": "Record"}
COMPARISONS = (
    "EqualTo", "NotEqualTo", "LessThan", "GreaterThan", "LessThanEqualTo", "GreaterThanEqualTo", "Like", "Between",
    "NullCheck",
)  # fmt: skip
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

    wish: queries.ServiceQuery = queries.ServiceQuery()
    start: int = 1
    most: int = 10
    element_set: str = "summary"
    schema: str = CSW
    hits: bool = False


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
    where: Q | None = None
    words = ""
    if tree is not None:
        query = xmltree.child(tree.root, "Query")
        condition = xmltree.child(query, "Constraint")
        if (filter_ := xmltree.child(condition, "Filter")) is not None:
            where, words = catalogue_filters.from_xml(filter_), catalogue_filters.words_of(filter_)
        elif cql := xmltree.text(condition, "CqlText"):
            where = catalogue_filters.from_cql(cql)
        sort = catalogue_filters.sort_of(xmltree.child(query, "SortBy"))
    else:
        if constraint := given.get("constraint", "").strip():
            where = (
                catalogue_filters.from_xml(_constraint(constraint))
                if constraint[0] == "<"
                else catalogue_filters.from_cql(constraint)
            )
        parts = [one.rpartition(":") for one in given.get("sortby", "").split(",") if one]
        sort = [(name, way.upper() == "D") if way.upper() in ("A", "D") else (way, False) for name, _, way in parts]
    order.wish = queries.ServiceQuery(words=words, where=where, order=catalogue_filters.order(sort))
    return order


def _constraint(given: str) -> xmltree.Element:
    data = given.encode()[:MAX_BODY]
    start = xmltree.prolog(data)
    tree = xmltree.parse(data, start) if start else None
    if tree is None:
        raise CswError("InvalidParameterValue", "the constraint is not XML", "constraint")
    return tree.root


def _get_records(request: HttpRequest, order: RecordsRequest) -> str:
    actor = access.actor_of(request)
    found, total = queries.search(actor, order.wish, max(1, order.most), order.start - 1)
    if order.hits or not order.most:
        found = []
    after = order.start + len(found)
    after = after if found and after <= total else 0
    body = "".join(_record(service, order.schema, ELEMENTS[order.element_set]) for service in found)
    return (
        f'<csw:GetRecordsResponse {SPACES} version="2.0.2">'
        f'<csw:SearchStatus timestamp="{records.moment(now_ms())}"/>'
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
        "<ogc:Filter_Capabilities><ogc:Spatial_Capabilities><ogc:GeometryOperands>"
        + "".join(f"<ogc:GeometryOperand>gml:{one}</ogc:GeometryOperand>" for one in ("Envelope", "Polygon", "Point"))
        + "</ogc:GeometryOperands><ogc:SpatialOperators>"
        + "".join(f'<ogc:SpatialOperator name="{one}"/>' for one in catalogue_filters.SPATIAL)
        + "</ogc:SpatialOperators></ogc:Spatial_Capabilities><ogc:Scalar_Capabilities><ogc:LogicalOperators/>"
        "<ogc:ComparisonOperators>"
        + "".join(f"<ogc:ComparisonOperator>{one}</ogc:ComparisonOperator>" for one in COMPARISONS)
        + "</ogc:ComparisonOperators></ogc:Scalar_Capabilities>"
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
