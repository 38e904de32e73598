"""Which OGC service (or TMS) a capabilities document is of, and in which version; or the reason why it is none."""

import re
from typing import NamedTuple

from hemeroteca.geo.description import Description, none
from hemeroteca.geo.xmltree import Element, Tree, attribute, child, children, local, namespace, text


class Root(NamedTuple):
    """A root element that tells a type by its name alone, with the version when its attribute is missing."""

    type: str
    version: str


ROOTS = {
    "WMS_Capabilities": Root("wms", "1.3.0"),
    "WMT_MS_Capabilities": Root("wms", "1.1.1"),
    "WFS_Capabilities": Root("wfs", "1.1.0"),
    "WCS_Capabilities": Root("wcs", "1.0.0"),
    "WPS_Capabilities": Root("wps", "1.0.0"),
    "WCTS_Capabilities": Root("wcts", ""),
    "CSW_Capabilities": Root("csw", "2.0.0"),
    "TileMapService": Root("tms", "1.0.0"),
    "TileMap": Root("tms", "1.0.0"),
}
# Namespaces of documents whose root is `Capabilities`: type, and the version that the namespace says.
NAMESPACES = (
    (re.compile(r"https?://www\.opengis\.net/wmts(?:/(\d[\d.]*))?/?"), "wmts", "1.0.0"),
    (re.compile(r"https?://www\.opengis\.net/wps(?:/(\d[\d.]*))?/?"), "wps", "1.0.0"),
    (re.compile(r"https?://www\.opengeospatial\.net/wps/?()"), "wps", "0.4.0"),
    (re.compile(r"https?://www\.opengis\.net/wcs(?:/(\d[\d.]*))?(?:/gml|/ows)?/?"), "wcs", "1.1.0"),
    (re.compile(r"https?://www\.opengis\.net/(?:cat/)?csw(?:/(\d[\d.]*))?/?"), "csw", "2.0.2"),
    (re.compile(r"https?://www\.opengis\.net/sos(?:/(\d[\d.]*))?/?"), "sos", "1.0.0"),
    (re.compile(r"https?://www\.opengis\.net/wcts(?:/(\d[\d.]*))?/?"), "wcts", ""),
    (re.compile(r"https?://www\.opengis\.net/wms(?:/(\d[\d.]*))?/?"), "wms", "1.3.0"),
    (re.compile(r"https?://www\.opengis\.net/wfs(?:/(\d[\d.]*))?/?"), "wfs", "1.1.0"),
)
OGC = re.compile(r"https?://(?:www|schemas)\.(?:opengis\.net|opengeospatial\.(?:net|org|com))(?:/|$)")
# An operation that only one kind of service has, for documents without a namespace.
OPERATIONS = {
    "GetTile": "wmts",
    "Execute": "wps",
    "DescribeProcess": "wps",
    "GetCoverage": "wcs",
    "DescribeCoverage": "wcs",
    "GetRecords": "csw",
    "GetRecordById": "csw",
    "GetObservation": "sos",
    "DescribeSensor": "sos",
    "Transform": "wcts",
    "GetFeature": "wfs",
    "DescribeFeatureType": "wfs",
    "GetMap": "wms",
}
EXCEPTIONS = frozenset(
    ("ServiceExceptionReport", "ExceptionReport", "WMTException", "ServiceException", "OGCException")
)
ROOT_NAMES = frozenset((*ROOTS, *EXCEPTIONS, "Capabilities", "Services"))
_VERSION = re.compile(r"\d{1,2}(?:\.\d{1,3}){0,3}")
_TYPES = frozenset((*OPERATIONS.values(), *(root.type for root in ROOTS.values())))


def identify(tree: Tree) -> tuple[str, str, str]:
    """(type, version, reason): the type by local name, namespace and version of the root, never by what it contains;
    without a namespace, by the operations it declares."""
    root = tree.root
    name, space = local(root), namespace(root)
    if name in EXCEPTIONS:
        return "", "", exception(root)
    given = _version(attribute(root, "version"))
    if name in ROOTS:
        kind = ROOTS[name]
        if space and not OGC.match(space) and kind.type != "tms" and not _looks_like(root, kind.type):
            return "", "", f"root {name} is in the namespace {space[:100]}, which is not of an OGC service"
        said = given
        if not said and kind.type == "wfs" and space.rstrip("/").endswith("/2.0"):
            said = "2.0.0"
        return kind.type, said or kind.version, ""
    if name == "Capabilities":
        for pattern, kind_name, version in NAMESPACES:
            if match := pattern.fullmatch(space):
                return kind_name, given or _full(match[1]) or version, ""
        if space:
            return (
                "",
                "",
                f"capabilities in the namespace {space[:100]}, which is not of a service in the list of types",
            )
        found = _by_operations(root)
        if found:
            return found, given or _service_version(root), ""
        return "", "", "capabilities without a namespace, and without an operation that tells the service"
    if name == "Services" and child(root, "TileMapService") is not None:
        return "", "", "a list of tile map services, not a service"
    return "", "", f"root {name}{' in ' + space[:100] if space else ''} is no service description"


def no_service(tree: Tree, reason: str) -> Description:
    """Not one of ours; addresses of what a list of services leads to are kept."""
    leads = [attribute(one, "href") for one in children(tree.root, "TileMapService")]
    return none(reason, *tree.prolog.notes, links=[one for one in leads if one])


def exception(root: Element) -> str:
    """The reason for an exception report: its code and its words."""
    for element in root.iter("{*}ServiceException", "{*}Exception", "{*}ExceptionText"):
        code = attribute(element, "exceptionCode") or attribute(element, "code")
        words = text(element)
        if code or words:
            return f"exception report: {': '.join(part for part in (code, words[:300]) if part)}"
    return f"exception report: {text(root)[:300]}".strip(" :")


def _looks_like(root: Element, kind: str) -> bool:
    """A root of the right name in a wrong namespace, with the parts of a real one."""
    parts = {"wms": ("Service", "Capability"), "wfs": ("FeatureTypeList",), "wcs": ("ContentMetadata",)}
    return kind in parts and all(child(root, name) is not None for name in parts[kind])


def _by_operations(root: Element) -> str:
    service = attribute(root, "service").upper() or text(root, "ServiceIdentification", "ServiceType").upper()
    name = re.sub(r".*[:\s/]", "", service).lower()
    if name in _TYPES:
        return name
    votes: dict[str, int] = {}
    for operation in children(child(root, "OperationsMetadata"), "Operation"):
        if kind := OPERATIONS.get(attribute(operation, "name")):
            votes[kind] = votes.get(kind, 0) + 1
    if votes:
        return max(votes, key=lambda one: votes[one])
    if child(root, "ProcessOfferings") is not None:
        return "wps"
    if child(root, "Contents", "TileMatrixSet") is not None:
        return "wmts"
    if child(root, "Contents", "ObservationOfferingList") is not None:
        return "sos"
    return "wcs" if child(root, "Contents", "CoverageSummary") is not None else ""


def _service_version(root: Element) -> str:
    return _version(text(root, "ServiceIdentification", "ServiceTypeVersion"))


def _version(value: str) -> str:
    match = _VERSION.search(value)
    return match[0] if match else ""


def _full(version: str | None) -> str:
    """`2.0` of a namespace, as three numbers."""
    if not version:
        return ""
    return version if version.count(".") >= 2 else ".".join(([*version.rstrip(".").split("."), "0", "0"])[:3])
