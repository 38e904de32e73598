"""Capabilities documents of OGC services (and TMS), read from their tree. Never raises; one element that makes no sense
is left out with a note, and costs nothing else."""

import re
from collections.abc import Callable, Iterable

from hemeroteca.geo import endpoints, places
from hemeroteca.geo.description import (
    MAX_CRS,
    MAX_KEYWORDS,
    MAX_LAYERS,
    MAX_TEXT,
    BBox,
    Contact,
    Description,
    FoundLayer,
    Inspire,
    Span,
)
from hemeroteca.geo.licences import licence
from hemeroteca.geo.xmltree import Element, Tree, attribute, child, children, local, named, namespace, text, texts

_SOFTWARE = (
    (re.compile(r"\bMapServer version ([\d.]+\S*)"), "MapServer"),
    (re.compile(r"\bpycsw\s+([\d.]+\S*)"), "pycsw"),
    (re.compile(r"PYCSW_VERSION()"), "pycsw"),
    (re.compile(r"\bERDAS APOLLO([^<>\n]{0,40})"), "ERDAS APOLLO"),
    (re.compile(r"\bPyWPS[ /]*([\d.]+\S*)?", re.I), "PyWPS"),
    (re.compile(r"/geoserver/|\bGeoServer\b()"), "GeoServer"),
    (re.compile(r"\bGeoWebCache\b()"), "GeoWebCache"),
    (re.compile(r"www\.qgis\.org/wms|\bQGIS (?:Server|mapserver)\b()", re.I), "QGIS Server"),
    (re.compile(r"\bdeegree[ -]*([\d.]+)?", re.I), "deegree"),
    (re.compile(r"/arcgis/services/|www\.esri\.com/w[mcf]s|/(?:WMS|WFS|WCS)Server\b|com\.esri()"), "ArcGIS Server"),
    (re.compile(r"/thredds/()"), "THREDDS"),
    (re.compile(r"\bncWMS\b()"), "ncWMS"),
    (re.compile(r"\bMapProxy\b()"), "MapProxy"),
    (re.compile(r"52[ °]*North|\b52n\b|n52()", re.I), "52°North"),
    (re.compile(r"\bCubeWerx\b|cubeserv()", re.I), "CubeWerx"),
    (re.compile(r"\bGeoNetwork\b|/srv/\w+/csw\b()", re.I), "GeoNetwork"),
    (re.compile(r"\brasdaman\b()", re.I), "rasdaman"),
    (re.compile(r"\bmapserv(?:\.exe|\.cgi|\.fcgi)?\b()"), "MapServer"),
)


def read(tree: Tree, kind: str, version: str, url: str = "") -> Description:
    """What a capabilities document of that type says."""
    description = Description(type=kind, version=version, notes=list(tree.prolog.notes))
    root = tree.root
    reader = _READERS[kind]
    reader(root, description)
    _finish(tree, description, url)
    return description


# Services that describe themselves in the way of WMS 1.0 to 1.3, WFS 1.0 and WCS 1.0.


def _wms(root: Element, description: Description) -> None:
    capability = child(root, "Capability")
    _old_service(child(root, "Service"), description)
    request = child(capability, "Request")
    get_map = child(request, "GetMap") if child(request, "GetMap") is not None else child(request, "Map")
    description.operations = _operations(request)
    description.formats = _old_formats(get_map)
    first = child(request, "GetCapabilities")
    description.declared = _old_address(first) or _old_address(child(request, "Capabilities")) or _old_address(get_map)
    swapped = description.version.startswith("1.3")
    inherited: dict[Element, FoundLayer] = {}
    boxes: list[BBox | None] = []
    systems: dict[str, None] = {}
    for element in (root if capability is None else capability).iter("{*}Layer"):
        if len(description.layers) >= MAX_LAYERS:
            description.note(f"layers-cut: more than {MAX_LAYERS:,}")
            break
        parent = element.getparent()
        above = inherited.get(parent) if parent is not None else None
        layer = _wms_layer(element, above, swapped)
        inherited[element] = layer
        if above is None or layer.crs is not above.crs:
            for system in layer.crs:
                systems[system] = None
        if above is None:
            boxes.append(layer.bbox)
            if not description.title:
                description.title = layer.title
        if layer.name:
            description.layers.append(layer)
    description.bbox = places.union(boxes) or places.union(layer.bbox for layer in description.layers)
    description.crs = list(systems)[:MAX_CRS]
    description.inspire = _inspire(capability)


_SIDES = {"westBoundLongitude": 0, "southBoundLatitude": 1, "eastBoundLongitude": 2, "northBoundLatitude": 3}


def _wms_layer(element: Element, above: FoundLayer | None, swapped: bool) -> FoundLayer:
    layer = FoundLayer(name="")
    own: list[str] = []
    boxes: list[Element] = []
    styles: list[str] = []
    for name, part in named(element):
        if name == "Layer":
            continue
        if name == "Name":
            layer.name = text(part)[:500]
        elif name == "Title":
            layer.title = text(part)[:1000]
        elif name == "Abstract":
            layer.abstract = text(part)[:MAX_TEXT]
        elif name in ("CRS", "SRS"):
            own.append(part.text or "")
        elif name == "EX_GeographicBoundingBox":
            layer.bbox = places.box(*texts(part, _SIDES))
        elif name == "LatLonBoundingBox" and layer.bbox is None:
            layer.bbox = _edges(part)
        elif name == "BoundingBox":
            boxes.append(part)
        elif name in ("KeywordList", "Keywords"):
            layer.keywords = _keywords(part)
        elif name == "Style":
            styles.append(text(part, "Name"))
        elif name in ("Dimension", "Extent") and attribute(part, "name").lower() == "time":
            layer.temporal = _span(text(part)) or layer.temporal
        elif name == "MetadataURL" and (address := _href(child(part, "OnlineResource"))):
            layer.metadata.append(address)
    layer.queryable = attribute(element, "queryable").lower() in ("1", "true")
    layer.styles = [style[:200] for style in styles if style][:200]
    if layer.bbox is None:
        layer.bbox = _plain_box(boxes, swapped)
    if above is not None:
        layer.bbox = layer.bbox or above.bbox
        layer.temporal = layer.temporal or above.temporal
    names = places.crs_names(own)
    if above is not None and above.crs:
        names = list(dict.fromkeys((*names, *above.crs))) if names else above.crs
    layer.crs = names if len(names) <= MAX_CRS else names[:MAX_CRS]
    return layer


def _plain_box(boxes: list[Element], swapped: bool) -> BBox | None:
    """Of `BoundingBox` in degrees; WMS 1.3 turns EPSG:4326 round."""
    for element in boxes:
        crs = places.crs_name(attribute(element, "CRS") or attribute(element, "SRS"))
        if crs == "CRS:84" or (crs in ("EPSG:4326", "EPSG:4258") and not swapped):
            return _edges(element)
        if crs in ("EPSG:4326", "EPSG:4258"):
            sides = [attribute(element, name) for name in ("miny", "minx", "maxy", "maxx")]
            return places.box(*sides)
    for element in boxes:
        if places.crs_name(attribute(element, "CRS") or attribute(element, "SRS")) in ("EPSG:3857", "EPSG:900913"):
            sides_m = [places.number(attribute(element, name)) for name in ("minx", "miny", "maxx", "maxy")]
            west, south, east, north = sides_m
            if west is not None and south is not None and east is not None and north is not None:
                return places.from_mercator(west, south, east, north)
    return None


def _wfs(root: Element, description: Description) -> None:
    if child(root, "Service") is not None and child(root, "ServiceIdentification") is None:
        _old_service(child(root, "Service"), description)
        request = child(root, "Capability", "Request")
        feature = child(request, "GetFeature")
        description.operations = (
            [local(one) for one in request if isinstance(one.tag, str)] if request is not None else []
        )
        description.formats = _old_formats(feature)
        description.declared = _old_address(child(request, "GetCapabilities")) or _old_address(feature)
    else:
        _ows(root, description)
        description.formats = _parameter(root, "GetFeature", "outputFormat")
    for element in _repeated(root, description, "FeatureType"):
        layer = FoundLayer(name=text(element, "Name")[:500] or attribute(element, "name"))
        crs: list[str] = []
        for part in element:
            name = local(part)
            if name == "Title":
                layer.title = text(part)[:1000]
            elif name == "Abstract":
                layer.abstract = text(part)[:MAX_TEXT]
            elif name == "Keywords":
                layer.keywords += _keywords(part)
            elif name in ("SRS", "DefaultSRS", "DefaultCRS", "OtherSRS", "OtherCRS"):
                crs.append(text(part))
            elif name == "WGS84BoundingBox":
                layer.bbox = layer.bbox or _corners(part)
            elif name == "LatLongBoundingBox":
                layer.bbox = layer.bbox or _edges(part)
            elif name == "OutputFormats":
                layer.formats = [text(one) for one in children(part, "Format")]
            elif name == "MetadataURL":
                layer.metadata += [address for address in (_href(part) or text(part),) if address]
        layer.crs = places.crs_names(crs)[:MAX_CRS]
        _keep(layer, description)
    if not description.formats:
        description.formats = _distinct(one for layer in description.layers for one in layer.formats)


def _wcs(root: Element, description: Description) -> None:
    service = child(root, "Service")
    if service is not None and child(root, "ServiceIdentification") is None:
        description.title = text(service, "label") or text(service, "name")
        description.abstract = text(service, "description")[:MAX_TEXT]
        description.keywords = _keywords(child(service, "keywords"))
        description.fees, description.constraints = text(service, "fees"), text(service, "accessConstraints")
        party = child(service, "responsibleParty")
        description.contact = _iso_contact(party)
        description.provider = text(party, "organisationName")
        request = child(root, "Capability", "Request")
        description.operations = (
            [local(one) for one in request if isinstance(one.tag, str)] if request is not None else []
        )
        description.declared = _old_address(child(request, "GetCapabilities"))
        for element in _repeated(root, description, "CoverageOfferingBrief"):
            envelope = child(element, "lonLatEnvelope")
            corners = [text(one) for one in children(envelope, "pos")]
            times = [text(one) for one in children(envelope, "timePosition")]
            layer = FoundLayer(
                name=text(element, "name")[:500],
                title=text(element, "label")[:1000],
                abstract=text(element, "description")[:MAX_TEXT],
                keywords=_keywords(child(element, "keywords")),
                bbox=places.of_corners(corners[0], corners[1]) if len(corners) > 1 else None,
                temporal=(times[0], times[-1]) if times else None,
            )
            _keep(layer, description)
        return
    _ows(root, description)
    contents = child(root, "Contents")
    description.formats = [text(one) for one in root.iter("{*}formatSupported")]
    description.formats = description.formats or [text(one) for one in children(contents, "SupportedFormat")]
    description.crs = places.crs_names(text(one) for one in root.iter("{*}crsSupported"))[:MAX_CRS]
    for element in _repeated(contents, description, "CoverageSummary"):
        name = text(element, "CoverageId") or text(element, "Identifier")
        if not name:
            continue  # only a heading for those inside it
        layer = _ows_item(element, name)
        layer.crs = places.crs_names(text(one) for one in children(element, "SupportedCRS"))[:MAX_CRS]
        layer.formats = [text(one) for one in children(element, "SupportedFormat")]
        _keep(layer, description)
    if not description.formats:
        description.formats = _parameter(root, "GetCoverage", "format")
    if not description.formats:
        description.formats = _distinct(one for layer in description.layers for one in layer.formats)


# Services that describe themselves in the way of OWS Common.


def _wmts(root: Element, description: Description) -> None:
    _ows(root, description)
    contents = child(root, "Contents")
    matrices: dict[str, str] = {}
    for one in children(contents, "TileMatrixSet"):
        matrices[text(one, "Identifier")] = places.crs_name(text(one, "SupportedCRS"))
    for element in _repeated(contents, description, "Layer"):
        layer = _ows_item(element, text(element, "Identifier"))
        for part in element:
            name = local(part)
            if name == "Format":
                layer.formats.append(text(part))
            elif name == "Style":
                layer.styles.append(text(part, "Identifier"))
            elif name == "TileMatrixSetLink":
                layer.crs.append(matrices.get(text(part, "TileMatrixSet"), ""))
            elif name == "Dimension" and text(part, "Identifier").lower() == "time":
                spans = [span for one in children(part, "Value") if (span := _span(text(one)))]
                layer.temporal = (spans[0][0], spans[-1][1]) if spans else None
            elif name == "ResourceURL" and not layer.url:
                layer.url = attribute(part, "template")
        layer.styles = [style for style in layer.styles if style]
        layer.crs = _distinct(one for one in layer.crs if one)
        _keep(layer, description)
    description.formats = _distinct(one for layer in description.layers for one in layer.formats)
    description.crs = _distinct(one for one in matrices.values() if one)[:MAX_CRS]
    if not description.declared:  # without KVP: the document itself is the address
        description.declared = _href(child(root, "ServiceMetadataURL"))


def _wps(root: Element, description: Description) -> None:
    _ows(root, description)
    for element in _repeated(root, description, "Process", "ProcessSummary"):
        layer = _ows_item(element, text(element, "Identifier"))
        _keep(layer, description)
    description.language = description.language or text(child(root, "Languages", "Default", "Language"))


def _csw(root: Element, description: Description) -> None:
    _ows(root, description)
    description.formats = _parameter(root, "GetRecords", "outputFormat")
    for name in _parameter(root, "GetRecords", "typeNames") or _parameter(root, "GetRecords", "typeName"):
        description.layers.append(FoundLayer(name=name))


def _sos(root: Element, description: Description) -> None:
    _ows(root, description)
    description.formats = _parameter(root, "GetObservation", "responseFormat")
    for element in _repeated(root, description, "ObservationOffering"):
        _keep(_offering(element), description)
    if not description.formats:
        description.formats = _distinct(one for layer in description.layers for one in layer.formats)


_CORNERS = {"lowerCorner": 0, "upperCorner": 1}
_SPAN = {"beginPosition": 0, "endPosition": 1}
_PASSED_OVER = ("procedure", "featureOfInterest", "srsName", "resultModel", "responseMode")  # most of a long offering


def _offering(element: Element) -> FoundLayer:
    layer = FoundLayer(name="")
    name = identifier = ""
    for tag, part in named(element):
        if tag in _PASSED_OVER:
            continue
        if tag == "responseFormat":
            layer.formats.append(text(part))
        elif tag == "observedProperty":
            if address := _href(part) or text(part):
                layer.keywords.append(address)
        elif tag == "observableProperty":
            layer.keywords.append(text(part))
        elif tag == "identifier":
            identifier = text(part)
        elif tag == "name" and not name:
            name = text(part)
        elif tag == "description":
            layer.abstract = text(part)[:MAX_TEXT]
        elif tag in ("boundedBy", "observedArea"):
            envelope = next(iter(part), None)
            if envelope is not None:
                system = attribute(envelope, "srsName")
                layer.crs = [places.crs_name(system)] if system else []
                turned = places.latitude_first(system) if system else True
                lower, upper = texts(envelope, _CORNERS)
                layer.bbox = places.of_corners(lower, upper, turned)
        elif tag in ("time", "eventTime", "phenomenonTime") and layer.temporal is None:
            period = next(part.iter("{*}TimePeriod"), None)
            begin, end = texts(period, _SPAN) if period is not None else ("", "")
            layer.temporal = (begin[:40], end[:40]) if begin or end else None
    if not identifier:
        identifier = attribute(element, "id") or name
    layer.name, layer.title = identifier[:500], name[:1000]
    del layer.formats[50:], layer.keywords[MAX_KEYWORDS:]
    return layer


def _wcts(root: Element, description: Description) -> None:
    _ows(root, description)
    systems = [text(one) for one in root.iter("{*}SourceCRS", "{*}TargetCRS")]
    description.crs = places.crs_names(systems)[:MAX_CRS]


def _tms(root: Element, description: Description) -> None:
    description.title = text(root, "Title") or attribute(root, "title")
    description.abstract = text(root, "Abstract")[:MAX_TEXT]
    description.keywords = _keywords(child(root, "KeywordList"))
    description.contact = _old_contact(child(root, "ContactInformation"))
    if local(root) == "TileMap":
        layer = FoundLayer(
            name=description.title or attribute(root, "tilemapservice"),
            title=description.title,
            crs=places.crs_names([text(root, "SRS")]),
            formats=[attribute(child(root, "TileFormat"), "mime-type")],
        )
        edges = child(root, "BoundingBox")
        if edges is not None:
            sides = [places.number(attribute(edges, name)) for name in ("minx", "miny", "maxx", "maxy")]
            west, south, east, north = sides
            mercator = layer.crs[:1] in (["EPSG:3857"], ["EPSG:900913"], ["EPSG:41001"])
            if mercator and west is not None and south is not None and east is not None and north is not None:
                layer.bbox = places.from_mercator(west, south, east, north)
            elif layer.crs and places.is_geographic(layer.crs[0]):
                layer.bbox = places.box(*sides)
        description.declared = attribute(root, "tilemapservice")
        _keep(layer, description)
        description.formats = [one for one in layer.formats if one]
        return
    for element in _repeated(root, description, "TileMap"):
        address = attribute(element, "href")
        name = attribute(element, "title") or address
        srs = attribute(element, "srs")
        layer = FoundLayer(name=name[:500], title=attribute(element, "title"), crs=places.crs_names([srs]), url=address)
        _keep(layer, description)


_READERS: dict[str, Callable[[Element, Description], None]] = {
    "wms": _wms,
    "wfs": _wfs,
    "wcs": _wcs,
    "wmts": _wmts,
    "wps": _wps,
    "csw": _csw,
    "sos": _sos,
    "wcts": _wcts,
    "tms": _tms,
}


def _ows(root: Element, description: Description) -> None:
    """What OWS Common has for all: identification, provider, operations."""
    identification = child(root, "ServiceIdentification")
    description.title = text(identification, "Title")[:1000]
    description.abstract = text(identification, "Abstract")[:MAX_TEXT]
    description.keywords = _all_keywords(identification)
    description.fees = text(identification, "Fees")[:MAX_TEXT]
    constraints = [text(one) for one in children(identification, "AccessConstraints")]
    description.constraints = "; ".join(one for one in constraints if one)[:MAX_TEXT]
    provider = child(root, "ServiceProvider")
    description.provider = text(provider, "ProviderName")[:500]
    description.contact = _ows_contact(provider)
    description.inspire = _inspire(child(root, "OperationsMetadata"))
    for operation in children(child(root, "OperationsMetadata"), "Operation"):
        name = attribute(operation, "name")
        description.operations.append(name)
        address = next((_href(one) for one in operation.iter("{*}Get")), "") or next(
            (_href(one) for one in operation.iter("{*}Post")), ""
        )
        if address and (name == "GetCapabilities" or not description.declared):
            description.declared = address


def _ows_item(element: Element, name: str) -> FoundLayer:
    layer = FoundLayer(name=name[:500])
    for part in element:
        tag = local(part)
        if tag == "Title" and not layer.title:
            layer.title = text(part)[:1000]
        elif tag == "Abstract" and not layer.abstract:
            layer.abstract = text(part)[:MAX_TEXT]
        elif tag == "Keywords":
            layer.keywords += _keywords(part)
        elif tag == "WGS84BoundingBox" and layer.bbox is None:
            layer.bbox = _corners(part)
        elif tag == "BoundingBox" and layer.bbox is None:
            layer.bbox = _ows_box(part)
        elif tag == "Metadata" and (address := _href(part)):
            layer.metadata.append(address)
    return layer


def _ows_box(element: Element) -> BBox | None:
    system = attribute(element, "crs")
    name = places.crs_name(system)
    if name in ("EPSG:3857", "EPSG:900913"):
        low, high = places.numbers(text(element, "LowerCorner")), places.numbers(text(element, "UpperCorner"))
        return places.from_mercator(low[0], low[1], high[0], high[1]) if len(low) > 1 and len(high) > 1 else None
    if not places.is_geographic(system):
        return None
    return places.of_corners(text(element, "LowerCorner"), text(element, "UpperCorner"), places.latitude_first(system))


# Parts.


def _repeated(parent: Element | None, description: Description, *names: str) -> Iterable[Element]:
    """All elements of a name wherever they stand: one that is not closed swallows those after it."""
    if parent is None:
        return
    for count, element in enumerate(parent.iter(*("{*}" + name for name in names))):
        if count >= MAX_LAYERS:
            description.note(f"layers-cut: more than {MAX_LAYERS:,}")
            return
        yield element


def _keep(layer: FoundLayer, description: Description) -> None:
    if layer.name:
        description.layers.append(layer)
    else:
        description.note("an entry without a name was left out")


def _old_service(service: Element | None, description: Description) -> None:
    description.title = text(service, "Title")[:1000]
    description.abstract = text(service, "Abstract")[:MAX_TEXT]
    description.keywords = _keywords(child(service, "KeywordList")) or _keywords(child(service, "Keywords"))
    description.fees = text(service, "Fees")[:MAX_TEXT]
    description.constraints = text(service, "AccessConstraints")[:MAX_TEXT]
    description.contact = _old_contact(child(service, "ContactInformation"))
    if description.contact is not None:
        description.provider = description.contact.organisation
    resource = child(service, "OnlineResource")
    if resource is not None and (address := _href(resource) or text(resource)):
        description.links.append(address)


def _operations(request: Element | None) -> list[str]:
    return [local(one) for one in request if isinstance(one.tag, str)] if request is not None else []


def _old_contact(element: Element | None) -> Contact | None:
    if element is None:
        return None
    primary, address = child(element, "ContactPersonPrimary"), child(element, "ContactAddress")
    return _contact(
        person=text(primary, "ContactPerson"),
        organisation=text(primary, "ContactOrganization"),
        position=text(element, "ContactPosition"),
        email=text(element, "ContactElectronicMailAddress"),
        phone=text(element, "ContactVoiceTelephone"),
        address=_address(address, "Address", "PostCode", "City", "StateOrProvince"),
        country=text(address, "Country"),
    )


def _ows_contact(provider: Element | None) -> Contact | None:
    if provider is None:
        return None
    service = child(provider, "ServiceContact")
    info = child(service, "ContactInfo")
    address = child(info, "Address")
    site = child(provider, "ProviderSite")
    return _contact(
        person=text(service, "IndividualName"),
        organisation=text(provider, "ProviderName"),
        position=text(service, "PositionName"),
        email=text(address, "ElectronicMailAddress"),
        phone=text(info, "Phone", "Voice"),
        address=_address(address, "DeliveryPoint", "PostalCode", "City", "AdministrativeArea"),
        country=text(address, "Country"),
        url=_href(site) or _href(child(info, "OnlineResource")),
    )


def _iso_contact(party: Element | None) -> Contact | None:
    if party is None:
        return None
    info = child(party, "contactInfo")
    address = child(info, "address")
    return _contact(
        person=text(party, "individualName"),
        organisation=text(party, "organisationName"),
        position=text(party, "positionName"),
        email=text(address, "electronicMailAddress"),
        phone=text(info, "phone", "voice"),
        address=_address(address, "deliveryPoint", "postalCode", "city", "administrativeArea"),
        country=text(address, "country"),
        url=_href(child(info, "onlineResource")),
    )


def _contact(**given: str) -> Contact | None:
    kept = {name: value[:500] for name, value in given.items() if value}
    return Contact(**kept) if kept else None


def _address(element: Element | None, *names: str) -> str:
    return ", ".join(part for name in names if (part := text(element, name)))


def _keywords(element: Element | None) -> list[str]:
    """`Keyword` elements, or one text with commas (WMS 1.0, WFS 1.0)."""
    if element is None:
        return []
    if len(element):
        found = [text(part)[:200] for name, part in named(element) if name in ("Keyword", "keyword")]
    else:
        found = (element.text or "").replace(";", ",").split(",")
        if len(found) == 1 and len(found[0]) > 60:
            found = found[0].split()
        found = [" ".join(one.split())[:200] for one in found]
    return [one for one in dict.fromkeys(found) if one][:MAX_KEYWORDS]


def _all_keywords(element: Element | None) -> list[str]:
    return _distinct(word for one in children(element, "Keywords") for word in _keywords(one))[:MAX_KEYWORDS]


def _old_formats(operation: Element | None) -> list[str]:
    """`<Format>image/png</Format>`, or the empty elements of WMS 1.0 and WFS 1.0: `<Format><PNG/></Format>`."""
    found = []
    for name in ("Format", "ResultFormat"):
        for element in children(operation, name):
            found += [text(element)] if not len(element) else [local(one) for one in element]
    return _distinct(one for one in found if one)


def _old_address(operation: Element | None) -> str:
    if operation is None:
        return ""
    for get in operation.iter("{*}Get", "{*}Post"):
        if address := _href(child(get, "OnlineResource")) or attribute(get, "onlineResource"):
            return address
    return ""


def _parameter(root: Element, operation: str, name: str) -> list[str]:
    """The values an operation takes for a parameter."""
    found: list[str] = []
    metadata = child(root, "OperationsMetadata")
    for one in children(metadata, "Operation"):
        if attribute(one, "name") == operation:
            for parameter in children(one, "Parameter"):
                if attribute(parameter, "name").lower() == name.lower():
                    found += [text(value) for value in parameter.iter("{*}Value")]
    return _distinct(one for one in found if one)[:200]


def _href(element: Element | None) -> str:
    return attribute(element, "href")


def _edges(element: Element) -> BBox | None:
    return places.box(*(attribute(element, name) for name in ("minx", "miny", "maxx", "maxy")))


def _corners(element: Element) -> BBox | None:
    return places.of_corners(text(element, "LowerCorner"), text(element, "UpperCorner"))


def _span(value: str) -> Span | None:
    """`2000-01-01/2020-01-01/P1D`, `2001,2002,2003` or one moment."""
    parts = [part.strip() for part in value.split(",") if part.strip()]
    if not parts:
        return None
    first, last = parts[0].split("/"), parts[-1].split("/")
    return first[0].strip()[:40], (last[1] if len(last) > 1 else last[0]).strip()[:40]


def _inspire(parent: Element | None) -> Inspire | None:
    """Of `ExtendedCapabilities` in one of INSPIRE's namespaces, wherever servers put it."""
    if parent is None:
        return None
    for element in parent.iter("{*}ExtendedCapabilities"):
        if "inspire" not in namespace(element) and not any("inspire" in namespace(part) for part in element.iter()):
            continue
        languages = child(element, "SupportedLanguages")
        return Inspire(
            metadata_url=text(element, "MetadataUrl", "URL") or text(element, "MetadataURL", "URL"),
            resource_type=text(element, "ResourceType"),
            service_type=text(element, "SpatialDataServiceType"),
            metadata_date=text(element, "MetadataDate"),
            conformity=text(element, "Conformity", "Degree"),
            default_language=text(languages, "DefaultLanguage"),
            languages=_distinct(
                language
                for one in (element.iter("{*}Language") if languages is not None else ())
                if (language := text(one))
            ),
            datasets=_distinct(
                found
                for one in element.iter("{*}SpatialDataSetIdentifier")
                if (found := " ".join(part for part in (text(one, "Namespace"), text(one, "Code")) if part))
            )[:1000],
            keywords=_distinct(word for one in element.iter("{*}KeywordValue") if (word := text(one)))[:MAX_KEYWORDS],
        )
    return None


def _finish(tree: Tree, description: Description, url: str) -> None:
    """What is worked out of the rest."""
    root, d = tree.root, description
    d.title = d.title or d.provider
    if d.bbox is None:
        d.bbox = places.union(layer.bbox for layer in d.layers)
    if not d.crs:
        d.crs = _distinct(one for layer in d.layers for one in layer.crs)[:MAX_CRS]
    spans = [layer.temporal for layer in d.layers if layer.temporal]
    if spans and d.temporal is None:
        begins, ends = [span[0] for span in spans if span[0]], [span[1] for span in spans if span[1]]
        d.temporal = (min(begins, default=""), max(ends, default=""))
    d.licence = licence(d.fees, d.constraints)
    d.language = d.language or (d.inspire.default_language if d.inspire else "")
    d.language = d.language or root.get("{http://www.w3.org/XML/1998/namespace}lang", "")
    d.software = software(tree, description, url)
    d.links += [address for layer in d.layers[:1000] for address in layer.metadata]
    if d.inspire and d.inspire.metadata_url:
        d.links.append(d.inspire.metadata_url)
    place(d, url)
    own = d.endpoint.partition("?")[0]
    d.links = [
        address
        for address in _distinct(d.links)
        if address.startswith(("http://", "https://"))
        and not (address.startswith(own) and endpoints.endpoint_or_empty(address) in (own, d.endpoint))
    ][:1000]  # what only leads back to the service brings nothing


def place(description: Description, url: str) -> None:
    """Decide the endpoint: where it was asked for its capabilities; of a copy lying elsewhere, what it declares."""
    declared, asked = endpoints.endpoint_or_empty(description.declared), endpoints.endpoint_or_empty(url)
    here = asked and (endpoints.asks_capabilities(url) or _path(asked) == _path(declared))
    here = here or (description.type == "wmts" and asked.lower().endswith("capabilities.xml"))  # its REST way
    trusted = endpoints.is_public(declared) or _host(declared) == _host(asked)
    if asked and (here or not declared or not trusted):
        description.endpoint = asked
    else:
        description.endpoint = declared
    description.declared = declared if declared != description.endpoint else ""


def software(tree: Tree, description: Description, url: str) -> str:
    """What serves it, by comments, namespaces and addresses."""
    locations = " ".join(value for key, value in tree.root.attrib.items() if key.endswith("schemaLocation"))
    spaces = " ".join(space for space in tree.root.nsmap.values() if space)
    hints = f"{tree.prolog.comments}\n{locations}\n{spaces}\n{description.declared}\n{url}\n{description.title}"
    hints += "\n" + " ".join(description.keywords[:20])
    for pattern, name in _SOFTWARE:
        if match := pattern.search(hints):
            version = (match[1] or "").strip(" ,;-") if match.groups() else ""
            return f"{name} {version}".strip()[:60]
    return ""


def _host(address: str) -> str:
    return address.partition("://")[2].partition("/")[0]


def _path(address: str) -> str:
    return address.partition("://")[2].partition("/")[2].rstrip("/")


def _distinct(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(values))
