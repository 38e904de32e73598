"""Which geographic service or dataset a document is, or the reason why it is none. The content type is not believed."""

import json
import re
import zlib

import msgspec

from hemeroteca.geo import apis, atom, datasets, directories, ows, ows_types, xmltree
from hemeroteca.geo.description import Description, none

MAX_JSON = 64 << 20
MAX_JSON_BYTES_WHOLE = 32 << 20
XML_ROOTS = ows_types.ROOT_NAMES | atom.ROOT_NAMES | {"kml"}
_OTHERS = {  # roots that people take for services; the reason says what they are
    "MD_Metadata": "ISO 19115 metadata (ISO 19139), not the service it describes",
    "MI_Metadata": "ISO 19115-2 metadata, not the service it describes",
    "ProcessDescriptions": "descriptions of processes of a WPS, not its capabilities",
    "ProcessOfferings": "descriptions of processes of a WPS, not its capabilities",
    "schema": "an XML schema",
    "FeatureCollection": "features in GML, not the service they come from",
    "GetRecordsResponse": "records of a catalogue, not its capabilities",
    "GetRecordByIdResponse": "records of a catalogue, not its capabilities",
    "CoverageDescription": "descriptions of coverages of a WCS, not its capabilities",
    "CoverageDescriptions": "descriptions of coverages of a WCS, not its capabilities",
    "WMS_DescribeLayerResponse": "descriptions of layers of a WMS, not its capabilities",
    "timeSeriesResponse": "observations in WaterML, not the service they come from",
    "ViewContext": "a Web Map Context, which is not in the list of types",
    "OpenSearchDescription": "an OpenSearch description, which is not in the list of types",
    "StyledLayerDescriptor": "styles of a WMS, not its capabilities",
    "gpx": "GPX is not in the list of types",
    "html": "an HTML page",
}
_CALLBACK = re.compile(rb"\s*(?:/\*\*/\s*)?(?:typeof [\w.]+ === 'function' && )?[A-Za-z_$][\w.$]{0,80}\(\s*(?=\{)")
_SOAP_BODY = re.compile(rb"<(?:[\w.-]+:)?Body(?:\s[^>]*)?>")
_CUT_GEOJSON = re.compile(
    rb'\s*\{(?:\s*"[\w:.$-]+"\s*:\s*(?:"[^"\\]*"|[-\d.]+|\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}|\[[^\[\]]*\])\s*,)*?\s*"type"\s*:\s*"FeatureCollection"'
)


def describe(body: bytes, content_type: str = "", url: str = "") -> Description:
    """What a body is. Never raises; bounded by the size of the body."""
    if not body[:4096].strip() and not body.strip():
        return none("an empty document")
    if body.startswith(datasets.STARTS) and (found := datasets.read(body, url)) is not None:
        return found
    if body.startswith(b"\x1f\x8b"):
        body = _unpacked(body)
    data = xmltree.to_utf8(body, content_type)
    start = data[:512].lstrip(b"\xef\xbb\xbf\x1e \t\r\n")[:1]
    if start in (b"{", b"["):
        return _json(data, url)
    if (padded := _CALLBACK.match(data[:200])) is not None:  # JSONP, as old ArcGIS clients ask for
        return _json(data[padded.end() : data.rfind(b")")], url)
    return _xml(data, url)


def _unpacked(body: bytes) -> bytes:
    """A document that was packed and sent as it is, as far as it goes and within the bounds of what is read."""
    try:
        return zlib.decompressobj(31).decompress(body, xmltree.MAX_BYTES)
    except zlib.error:
        return body


def _xml(data: bytes, url: str) -> Description:
    start = xmltree.prolog(data, XML_ROOTS)
    if start is None:
        return none("neither XML nor JSON nor a known format of geographic data")
    name = start.name
    if name == "html":
        return directories.read(data, url)
    if name == "Envelope" and (inner := _in_envelope(data, start)) is not None:
        start, name = inner, inner.name
    if name not in XML_ROOTS:
        return none(_OTHERS.get(name, f"root {name} is no service description"), *start.notes)
    tree = xmltree.parse(data, start)
    if tree is None:
        return none(f"XML that cannot be read (root {name})", *start.notes)
    try:
        if name == "kml":
            return (
                datasets.kml(tree, url) if datasets.is_kml(tree) else none("root kml in a namespace that is not of KML")
            )
        if name in atom.ROOT_NAMES:
            return atom.read(tree, url)
        kind, version, reason = ows_types.identify(tree)
        return ows.read(tree, kind, version, url) if kind else ows_types.no_service(tree, reason)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError) as error:
        return none(f"a document that cannot be made sense of ({type(error).__name__})", *start.notes)


def _in_envelope(data: bytes, envelope: xmltree.Prolog) -> xmltree.Prolog | None:
    """The document in the body of a SOAP message, where that is one of ours."""
    found = _SOAP_BODY.search(data, envelope.begin, envelope.begin + xmltree.MAX_PROLOG)
    if found is None or not any(mark in data[: found.end()] for mark in (b"schemas.xmlsoap.org", b"soap-envelope")):
        return None
    inner = xmltree.prolog(data[found.end() :], XML_ROOTS)
    return inner._replace(begin=inner.begin + found.end()) if inner is not None and inner.name in XML_ROOTS else None


def _json(data: bytes, url: str) -> Description:
    data = data.lstrip(b"\xef\xbb\xbf")
    try:
        value = msgspec.json.decode(data[:MAX_JSON])
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        try:
            value = json.loads(data[:MAX_JSON_BYTES_WHOLE])  # NaN, Infinity
        except (ValueError, RecursionError):
            if _CUT_GEOJSON.match(data[:20_000]):
                return Description(type="geojson", formats=["application/geo+json"], notes=["cut: not read to its end"])
            value = _first_line(data)
            if value is None:
                return none("JSON that cannot be read")
    try:
        return apis.read(value, url)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError, AssertionError) as error:
        return none(f"JSON that cannot be made sense of ({type(error).__name__})")


def _first_line(data: bytes) -> object:
    """Of features one in each line (RFC 8142, GeoJSONSeq): the first; None when that is not what it is."""
    line = data.lstrip(b"\x1e \r\n").partition(b"\n")[0].rstrip(b"\x1e\r")
    try:
        value = msgspec.json.decode(line[:MAX_JSON_BYTES_WHOLE])
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None
    return value if isinstance(value, dict) and value.get("type") == "Feature" and "geometry" in value else None
