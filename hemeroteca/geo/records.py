"""Entries of the catalogue as other catalogues read them: OGC API Records (GeoJSON), ISO 19139, Dublin Core,
GeoDCAT-AP, schema.org, and QGIS layer definitions. Secrets in addresses never leave."""

import re
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

from hemeroteca.geo import endpoints
from hemeroteca.geo.models import Layer, Service

PROTOCOLS = {
    "wms": "OGC:WMS",
    "wmts": "OGC:WMTS",
    "wfs": "OGC:WFS",
    "wcs": "OGC:WCS",
    "wps": "OGC:WPS",
    "wcts": "OGC:WCTS",
    "csw": "OGC:CSW",
    "sos": "OGC:SOS",
    "tms": "OSGeo:TMS",
    "atom": "INSPIRE Atom",
    "arcgis": "ESRI:ArcGIS:REST",
    "sensorthings": "OGC:SensorThings",
    "3dtiles": "OGC:3DTiles",
}
LICENCES = {  # addresses of those that have one
    "CC0-1.0": "https://creativecommons.org/publicdomain/zero/1.0/",
    "CC-BY-4.0": "https://creativecommons.org/licenses/by/4.0/",
    "CC-BY-3.0": "https://creativecommons.org/licenses/by/3.0/",
    "CC-BY-SA-4.0": "https://creativecommons.org/licenses/by-sa/4.0/",
    "ODbL-1.0": "https://opendatacommons.org/licenses/odbl/1-0/",
    "DL-DE-BY-2.0": "https://www.govdata.de/dl-de/by-2-0",
    "DL-DE-ZERO-2.0": "https://www.govdata.de/dl-de/zero-2-0",
    "etalab": "https://www.etalab.gouv.fr/licence-ouverte-open-licence/",
    "no-conditions": "http://inspire.ec.europa.eu/metadata-codelist/ConditionsApplyingToAccessAndUse/noConditionsApply",
}
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]|[\ud800-\udfff]")


IN_QGIS = ("wms", "wmts", "wfs", "ogcapi-features")  # types that a layer definition can name


def protocol(kind: str) -> str:
    if kind.startswith("ogcapi-"):
        return f"OGC API - {kind.removeprefix('ogcapi-').capitalize()}"
    return PROTOCOLS.get(kind, kind.upper() if kind == "stac" else kind)


def address(service: Service) -> str:
    """What to open: the request for capabilities where that is how it is asked."""
    place = service.public_endpoint
    if service.type in endpoints.KVP and not place.endswith(".xml"):
        return endpoints.capabilities(place, service.type)
    return place


def moment(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def polygon(box: tuple[float, float, float, float]) -> dict[str, Any]:
    """GeoJSON; a box over the date line is two polygons (RFC 7946)."""
    west, south, east, north = box

    def ring(left: float, right: float) -> list[list[list[float]]]:
        return [[[left, south], [right, south], [right, north], [left, north], [left, south]]]

    if west > east:
        return {"type": "MultiPolygon", "coordinates": [ring(west, 180.0), ring(-180.0, east)]}
    return {"type": "Polygon", "coordinates": ring(west, east)}


def feature(service: Service, base: str, layers: list[Layer] | None = None) -> dict[str, Any]:
    """A record of OGC API Records; `base` is the address of the collection's API."""
    contact = service.contact or {}
    properties: dict[str, Any] = {
        "type": "dataset" if service.type in _DATASETS else "service",
        "title": service.title or service.public_endpoint,
        "description": service.abstract,
        "keywords": service.keywords,
        "created": moment(service.found_ms),
        "updated": moment(service.changed_ms or service.found_ms),
        "language": {"code": service.language[:2].lower()} if service.language else None,
        "formats": [{"name": name} for name in service.formats[:100]],
        "license": LICENCES.get(service.licence, service.licence) if service.licence != "unknown" else "other",
        "rights": service.constraints or None,
        "externalIds": [{"value": service.public_endpoint}],
        "contacts": [
            {
                key: value
                for key, value in {
                    "name": contact.get("person", ""),
                    "organization": service.provider or contact.get("organisation", ""),
                    "emails": [{"value": contact["email"]}] if contact.get("email") else None,
                    "roles": ["pointOfContact"],
                }.items()
                if value
            }
        ]
        if contact or service.provider
        else [],
        "serviceType": service.type,
        "serviceVersion": service.version,
        "software": service.software or None,
        "state": service.state,
        "layers": service.layers_count,
    }
    if layers is not None:
        properties["resources"] = [
            {"name": layer.name, "title": layer.title, "bbox": list(layer.bbox) if layer.bbox else None}
            for layer in layers
        ]
    links = [
        {
            "rel": "self",
            "type": "application/geo+json",
            "href": f"{base}/collections/services/items/{service.identifier}",
        },
        {"rel": "collection", "type": "application/json", "href": f"{base}/collections/services"},
        {"rel": "service", "title": protocol(service.type), "href": address(service)},
        {
            "rel": "alternate",
            "type": "application/xml",
            "title": "ISO 19139",
            "href": f"{base}/collections/services/items/{service.identifier}?f=iso19139",
        },
    ]
    time: dict[str, Any] | None = None
    if service.begin or service.end:
        time = {"interval": [service.begin or "..", service.end or ".."]}
    found: dict[str, Any] = {
        "id": service.identifier,
        "type": "Feature",
        "conformsTo": ["http://www.opengis.net/spec/ogcapi-records-1/1.0/req/record-core"],
        "time": time,
        "geometry": polygon(service.bbox) if service.bbox else None,
        "properties": {key: value for key, value in properties.items() if value is not None},
        "links": links,
    }
    if service.bbox:
        found["bbox"] = list(service.bbox)
    return found


_DATASETS = frozenset(
    ("geojson", "kml", "gpkg", "geotiff", "cog", "shapefile", "pmtiles", "flatgeobuf", "geoparquet", "georss")
)


# ISO 19139


def iso19139(service: Service, layers: list[Layer]) -> str:
    """ISO 19115 metadata of the service in XML (gmd, srv)."""
    contact = service.contact or {}
    dataset = service.type in _DATASETS
    kind = "gmd:MD_DataIdentification" if dataset else "srv:SV_ServiceIdentification"
    organisation = service.provider or contact.get("organisation", "") or service.host
    party = _party(organisation, contact.get("person", ""), contact.get("email", ""))
    keywords = "".join(f"<gmd:keyword>{_chars(word)}</gmd:keyword>" for word in service.keywords[:200])
    parts = [
        f"<gmd:citation><gmd:CI_Citation><gmd:title>{_chars(service.title or service.public_endpoint)}</gmd:title>"
        f"<gmd:date><gmd:CI_Date><gmd:date><gco:DateTime>{moment(service.changed_ms or service.found_ms)}</gco:DateTime>"  # noqa: E501
        "</gmd:date><gmd:dateType>" + _code("CI_DateTypeCode", "revision") + "</gmd:dateType></gmd:CI_Date></gmd:date>"
        f"<gmd:identifier><gmd:MD_Identifier><gmd:code>{_chars(service.identifier)}</gmd:code></gmd:MD_Identifier>"
        "</gmd:identifier></gmd:CI_Citation></gmd:citation>",
        f"<gmd:abstract>{_chars(service.abstract or service.title)}</gmd:abstract>",
        f"<gmd:pointOfContact>{party}</gmd:pointOfContact>",
        f"<gmd:descriptiveKeywords><gmd:MD_Keywords>{keywords}</gmd:MD_Keywords></gmd:descriptiveKeywords>"
        if keywords
        else "",
        "<gmd:resourceConstraints><gmd:MD_LegalConstraints><gmd:useConstraints>"
        + _code("MD_RestrictionCode", "otherRestrictions")
        + f"</gmd:useConstraints><gmd:otherConstraints>{_chars(service.constraints or service.licence)}"
        "</gmd:otherConstraints></gmd:MD_LegalConstraints></gmd:resourceConstraints>",
    ]
    extent = _extent(service)
    if dataset:
        parts.append("<gmd:language>" + _code("LanguageCode", service.language[:3] or "und") + "</gmd:language>")
        parts.append(f"<gmd:extent>{extent}</gmd:extent>" if extent else "")
    else:
        parts.append(f"<srv:serviceType><gco:LocalName>{_inspire_type(service.type)}</gco:LocalName></srv:serviceType>")
        parts.append(
            f"<srv:serviceTypeVersion>{_chars(f'{protocol(service.type)} {service.version}')}</srv:serviceTypeVersion>"
        )
        parts.append(f"<srv:extent>{extent}</srv:extent>" if extent else "")
        parts.append("<srv:couplingType>" + _code("SV_CouplingType", "tight", "srv") + "</srv:couplingType>")
        parts.append(
            "<srv:containsOperations><srv:SV_OperationMetadata><srv:operationName><gco:CharacterString>GetCapabilities"
            "</gco:CharacterString></srv:operationName><srv:DCP>"
            + _code("DCPList", "WebServices", "srv")
            + "</srv:DCP>"
            f"<srv:connectPoint>{_online(address(service), protocol(service.type))}</srv:connectPoint>"
            "</srv:SV_OperationMetadata></srv:containsOperations>"
        )
        for layer in layers[:500]:
            for metadata in layer.metadata[:1]:
                parts.append(f"<srv:operatesOn xlink:href={quoteattr(endpoints.without_secrets(metadata))}/>")
    body = "".join(part for part in parts if part)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<gmd:MD_Metadata xmlns:gmd="http://www.isotc211.org/2005/gmd" xmlns:gco="http://www.isotc211.org/2005/gco" '
        'xmlns:srv="http://www.isotc211.org/2005/srv" xmlns:gml="http://www.opengis.net/gml" '
        'xmlns:xlink="http://www.w3.org/1999/xlink">'
        f"<gmd:fileIdentifier>{_chars(service.identifier)}</gmd:fileIdentifier>"
        "<gmd:language>" + _code("LanguageCode", "eng") + "</gmd:language>"
        "<gmd:hierarchyLevel>" + _code("MD_ScopeCode", "dataset" if dataset else "service") + "</gmd:hierarchyLevel>"
        f"<gmd:contact>{party}</gmd:contact>"
        f"<gmd:dateStamp><gco:DateTime>{moment(service.changed_ms or service.found_ms)}</gco:DateTime></gmd:dateStamp>"
        "<gmd:metadataStandardName><gco:CharacterString>ISO 19115:2003/19139</gco:CharacterString>"
        "</gmd:metadataStandardName>"
        f"<gmd:identificationInfo><{kind}>{body}</{kind}></gmd:identificationInfo>"
        "<gmd:distributionInfo><gmd:MD_Distribution><gmd:transferOptions><gmd:MD_DigitalTransferOptions><gmd:onLine>"
        f"{_online(address(service), protocol(service.type))}</gmd:onLine></gmd:MD_DigitalTransferOptions>"
        "</gmd:transferOptions></gmd:MD_Distribution></gmd:distributionInfo></gmd:MD_Metadata>"
    )


def _party(organisation: str, person: str, email: str) -> str:
    mail = (
        "<gmd:contactInfo><gmd:CI_Contact><gmd:address><gmd:CI_Address><gmd:electronicMailAddress>"
        f"{_chars(email)}</gmd:electronicMailAddress></gmd:CI_Address></gmd:address></gmd:CI_Contact></gmd:contactInfo>"
        if email
        else ""
    )
    name = f"<gmd:individualName>{_chars(person)}</gmd:individualName>" if person else ""
    return (
        f"<gmd:CI_ResponsibleParty>{name}<gmd:organisationName>{_chars(organisation)}</gmd:organisationName>{mail}"
        "<gmd:role>" + _code("CI_RoleCode", "pointOfContact") + "</gmd:role></gmd:CI_ResponsibleParty>"
    )


def _extent(service: Service) -> str:
    parts = ""
    if service.bbox:
        west, south, east, north = service.bbox
        sides = (
            ("westBoundLongitude", west),
            ("eastBoundLongitude", east),
            ("southBoundLatitude", south),
            ("northBoundLatitude", north),
        )
        inner = "".join(f"<gmd:{name}><gco:Decimal>{side:.8g}</gco:Decimal></gmd:{name}>" for name, side in sides)
        parts += (
            f"<gmd:geographicElement><gmd:EX_GeographicBoundingBox>{inner}</gmd:EX_GeographicBoundingBox>"
            "</gmd:geographicElement>"
        )
    if service.begin or service.end:
        parts += (
            '<gmd:temporalElement><gmd:EX_TemporalExtent><gmd:extent><gml:TimePeriod gml:id="t1"><gml:beginPosition>'
            f"{_text(service.begin)}</gml:beginPosition><gml:endPosition>{_text(service.end)}</gml:endPosition>"
            "</gml:TimePeriod></gmd:extent></gmd:EX_TemporalExtent></gmd:temporalElement>"
        )
    return f"<gmd:EX_Extent>{parts}</gmd:EX_Extent>" if parts else ""


def _online(url: str, kind: str) -> str:
    return (
        f"<gmd:CI_OnlineResource><gmd:linkage><gmd:URL>{_text(url)}</gmd:URL></gmd:linkage>"
        f"<gmd:protocol>{_chars(kind)}</gmd:protocol></gmd:CI_OnlineResource>"
    )


def _code(name: str, value: str, prefix: str = "gmd") -> str:
    lists = "http://standards.iso.org/iso/19139/resources/gmxCodelists.xml"
    text = _text(value)
    return f'<{prefix}:{name} codeList="{lists}#{name}" codeListValue="{text}">{text}</{prefix}:{name}>'


def _inspire_type(kind: str) -> str:
    return {
        "csw": "discovery",
        "wms": "view",
        "wmts": "view",
        "tms": "view",
        "wcts": "transformation",
        "wps": "invoke",
    }.get(kind, "download")


# Dublin Core, for CSW


def dublin_core(service: Service, element: str = "Record") -> str:
    """A csw:Record, SummaryRecord or BriefRecord."""
    brief, summary = element == "BriefRecord", element == "SummaryRecord"
    parts = [
        f"<dc:identifier>{_text(service.identifier)}</dc:identifier>",
        f"<dc:title>{_text(service.title or service.public_endpoint)}</dc:title>",
        f"<dc:type>{'dataset' if service.type in _DATASETS else 'service'}</dc:type>",
    ]
    if not brief:
        parts += [f"<dc:subject>{_text(word)}</dc:subject>" for word in service.keywords[:50]]
        parts.append(f"<dc:format>{_text(protocol(service.type))}</dc:format>")
        parts.append(f"<dct:modified>{moment(service.changed_ms or service.found_ms)}</dct:modified>")
        parts.append(f"<dct:abstract>{_text(service.abstract)}</dct:abstract>")
    if not brief and not summary:
        if service.provider:
            parts.append(f"<dc:creator>{_text(service.provider)}</dc:creator>")
        if service.language:
            parts.append(f"<dc:language>{_text(service.language)}</dc:language>")
        if service.constraints:
            parts.append(f"<dc:rights>{_text(service.constraints)}</dc:rights>")
        parts.append(f"<dc:source>{_text(service.public_endpoint)}</dc:source>")
        parts.append(
            f"<dct:references scheme={quoteattr(_scheme(service.type))}>{_text(address(service))}</dct:references>"
        )
    if service.bbox:
        west, south, east, north = service.bbox
        parts.append(
            '<ows:BoundingBox crs="urn:ogc:def:crs:EPSG::4326">'
            f"<ows:LowerCorner>{south:.8g} {west:.8g}</ows:LowerCorner>"
            f"<ows:UpperCorner>{north:.8g} {east:.8g}</ows:UpperCorner></ows:BoundingBox>"
        )
    return f"<csw:{element}>{''.join(parts)}</csw:{element}>"


def _scheme(kind: str) -> str:
    """As MetaSearch of QGIS knows services by."""
    return f"OGC:{kind.upper()}" if kind in endpoints.KVP else protocol(kind)


# linked data


def geodcat(service: Service, layers: list[Layer], page: str) -> dict[str, Any]:
    """GeoDCAT-AP 3 as JSON-LD: a data service, or a dataset with its distribution."""
    contact = service.contact or {}
    dataset = service.type in _DATASETS
    found: dict[str, Any] = {
        "@context": {
            "dcat": "http://www.w3.org/ns/dcat#",
            "dct": "http://purl.org/dc/terms/",
            "foaf": "http://xmlns.com/foaf/0.1/",
            "vcard": "http://www.w3.org/2006/vcard/ns#",
            "locn": "http://www.w3.org/ns/locn#",
            "geosparql": "http://www.opengis.net/ont/geosparql#",
            "xsd": "http://www.w3.org/2001/XMLSchema#",
        },
        "@id": page,
        "@type": "dcat:Dataset" if dataset else "dcat:DataService",
        "dct:identifier": service.identifier,
        "dct:title": service.title or service.public_endpoint,
        "dct:description": service.abstract or service.title or service.public_endpoint,
        "dcat:keyword": service.keywords,
        "dct:issued": {"@value": moment(service.found_ms), "@type": "xsd:dateTime"},
        "dct:modified": {"@value": moment(service.changed_ms or service.found_ms), "@type": "xsd:dateTime"},
        "dct:publisher": {"@type": "foaf:Agent", "foaf:name": service.provider or service.host},
    }
    if contact.get("email") or service.provider:
        card: dict[str, Any] = {"@type": "vcard:Organization", "vcard:fn": service.provider or service.host}
        if contact.get("email"):
            card["vcard:hasEmail"] = {"@id": f"mailto:{quote(contact['email'], safe='@.+-_')}"}
        found["dcat:contactPoint"] = card
    if service.licence in LICENCES:
        found["dct:license"] = {"@id": LICENCES[service.licence]}
    if service.bbox:
        west, south, east, north = service.bbox
        ring = f"{west} {south}, {east} {south}, {east} {north}, {west} {north}, {west} {south}"
        found["dct:spatial"] = {
            "@type": "dct:Location",
            "dcat:bbox": {"@value": f"POLYGON(({ring}))", "@type": "geosparql:wktLiteral"},
        }
    if dataset:
        found["dcat:distribution"] = {
            "@type": "dcat:Distribution",
            "dcat:accessURL": {"@id": service.public_endpoint},
            "dct:format": service.type,
        }
        if service.begin or service.end:
            found["dct:temporal"] = {
                "@type": "dct:PeriodOfTime",
                "dcat:startDate": service.begin,
                "dcat:endDate": service.end,
            }
    else:
        found["dcat:endpointURL"] = {"@id": service.public_endpoint}
        found["dcat:endpointDescription"] = {"@id": address(service)}
        found["dct:conformsTo"] = protocol(service.type)
        if layers:
            found["dcat:servesDataset"] = [
                {"@type": "dcat:Dataset", "dct:identifier": layer.name, "dct:title": layer.title or layer.name}
                for layer in layers[:500]
            ]
    return found


def schema_org(service: Service, page: str) -> dict[str, Any]:
    """For search engines: schema.org Dataset or WebAPI."""
    dataset = service.type in _DATASETS
    found: dict[str, Any] = {
        "@context": "https://schema.org/",
        "@type": "Dataset" if dataset else "WebAPI",
        "@id": page,
        "url": page,
        "identifier": service.identifier,
        "name": service.title or service.public_endpoint,
        "description": (service.abstract or service.title or service.public_endpoint)[:5000],
        "keywords": service.keywords,
        "dateModified": moment(service.changed_ms or service.found_ms),
        "provider": {"@type": "Organization", "name": service.provider or service.host},
    }
    if service.licence in LICENCES:
        found["license"] = LICENCES[service.licence]
    if dataset:
        found["distribution"] = {
            "@type": "DataDownload",
            "contentUrl": service.public_endpoint,
            "encodingFormat": (service.formats or [service.type])[0],
        }
        if service.bbox:
            west, south, east, north = service.bbox
            found["spatialCoverage"] = {
                "@type": "Place",
                "geo": {"@type": "GeoShape", "box": f"{south} {west} {north} {east}"},
            }
        if service.begin or service.end:
            found["temporalCoverage"] = f"{service.begin or '..'}/{service.end or '..'}"
    else:
        found["documentation"] = address(service)
        found["serviceType"] = protocol(service.type)
    return found


# QGIS


def qlr(service: Service, layers: list[Layer]) -> str:
    """A QGIS layer definition: drag it into QGIS. For WMS, WMTS, WFS and OGC API Features; raises ValueError else."""
    makers = {"wms": _wms_source, "wmts": _wmts_source, "wfs": _wfs_source, "ogcapi-features": _oapif_source}
    if service.type not in makers:
        raise ValueError(f"QGIS has no layers of the type {service.type}")
    provider, shape = {
        "wms": ("wms", "raster"),
        "wmts": ("wms", "raster"),
        "wfs": ("WFS", "vector"),
        "ogcapi-features": ("OAPIF", "vector"),
    }[service.type]
    nodes, entries = [], []
    for number, layer in enumerate(layers[:200]):
        name = re.sub(r"\W", "_", layer.name)[:50]
        identity = f"{name}_{service.pk}_{number}"
        title = _text(layer.title or layer.name)
        source = _text(makers[service.type](service, layer))
        nodes.append(
            f'<layer-tree-layer id="{identity}" name={quoteattr(_clean(layer.title or layer.name))} '
            f'providerKey="{provider}" source={quoteattr(_clean(makers[service.type](service, layer)))} '
            'checked="Qt::Checked" expanded="0"/>'
        )
        entries.append(
            f'<maplayer type="{shape}"><id>{identity}</id><datasource>{source}</datasource><layername>{title}</layername>'  # noqa: E501
            f"<provider>{provider}</provider></maplayer>"
        )
    title = quoteattr(_clean(service.title or service.host))
    return (
        '<!DOCTYPE qgis-layer-definition>\n<qlr><layer-tree-group name="" checked="Qt::Checked" expanded="1">'
        f'<layer-tree-group name={title} checked="Qt::Checked" expanded="1">{"".join(nodes)}</layer-tree-group>'
        f"</layer-tree-group><maplayers>{''.join(entries)}</maplayers></qlr>"
    )


def _wms_source(service: Service, layer: Layer) -> str:
    crs = "EPSG:4326" if not layer.crs or "EPSG:4326" in layer.crs else layer.crs[0]
    form = next((one for one in service.formats if one.startswith("image/png")), (service.formats or ["image/png"])[0])
    style = layer.styles[0] if layer.styles else ""
    url = quote(service.public_endpoint, safe="")
    return f"crs={crs}&format={form}&layers={quote(layer.name, safe=':')}&styles={quote(style, safe=':')}&url={url}"


def _wmts_source(service: Service, layer: Layer) -> str:
    form = (layer.formats or ["image/png"])[0]
    crs = (layer.crs or ["EPSG:3857"])[0]
    style = (layer.styles or ["default"])[0]
    url = quote(address(service), safe="")
    return f"crs={crs}&format={form}&layers={quote(layer.name)}&styles={quote(style)}&tileMatrixSet={crs}&url={url}"


def _wfs_source(service: Service, layer: Layer) -> str:
    crs = (layer.crs or ["EPSG:4326"])[0]
    return f"typename='{layer.name}' url='{service.public_endpoint}' version='auto' srsname='{crs}'"


def _oapif_source(service: Service, layer: Layer) -> str:
    return f"typename='{layer.name}' url='{service.public_endpoint}'"


def _clean(value: str) -> str:
    return _CONTROL.sub("", value)


def _text(value: str) -> str:
    return escape(_clean(value), {'"': "&quot;"})


def _chars(value: str) -> str:
    return f"<gco:CharacterString>{_text(value)}</gco:CharacterString>"
