"""What geographic services answer when asked what they have: documents of each type, as servers of the field write
them, filled with a title, layers and boxes."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import Any

XML = "text/xml; charset=UTF-8"
JSON = "application/json"
_XLINK = 'xmlns:xlink="http://www.w3.org/1999/xlink"'


@dataclass(frozen=True)
class Description:
    """What a document tells of its service."""

    title: str
    abstract: str
    provider: str
    email: str
    endpoint: str
    layers: tuple[tuple[str, str], ...]  # name and title
    box: tuple[float, float, float, float]  # west, south, east, north
    updated: str = "2024-05-17T09:00:00Z"


def document(kind: str, about: Description) -> tuple[str, bytes]:
    """Media type and body."""
    media_type, write = _WRITERS[kind]
    return media_type, write(about).encode()


def exception_report() -> tuple[str, bytes]:
    """What a server says that knows no such service any more."""
    return XML, (
        b'<?xml version="1.0" encoding="UTF-8"?>\n<ServiceExceptionReport version="1.3.0" '
        b'xmlns="http://www.opengis.net/ogc"><ServiceException code="ServiceNotAvailable">msLoadMap(): Unable to '
        b"access file.</ServiceException></ServiceExceptionReport>\n"
    )


def feature() -> tuple[str, bytes]:
    """One feature, as a WFS hands it out."""
    point = "<gml:Point><gml:pos>40.4 -3.7</gml:pos></gml:Point>"
    body = (
        '<wfs:FeatureCollection xmlns:wfs="http://www.opengis.net/wfs" xmlns:gml="http://www.opengis.net/gml" '
        f"""numberOfFeatures="1"><gml:featureMember><place gml:id="place.1">{point}</place></gml:featureMember>"""
        "</wfs:FeatureCollection>"
    )
    return "text/xml", body.encode()


def kinds() -> tuple[str, ...]:
    return tuple(_WRITERS)


def _wms(version: str) -> Callable[[Description], str]:
    def write(about: Description) -> str:
        west, south, east, north = about.box
        if version == "1.3.0":
            root = f'<WMS_Capabilities version="1.3.0" xmlns="http://www.opengis.net/wms" {_XLINK}>'
            end, doctype, name, crs = "</WMS_Capabilities>", "", "WMS", "CRS"
            box = (
                f"<EX_GeographicBoundingBox><westBoundLongitude>{west}</westBoundLongitude><eastBoundLongitude>{east}"
                f"</eastBoundLongitude><southBoundLatitude>{south}</southBoundLatitude><northBoundLatitude>{north}"
                "</northBoundLatitude></EX_GeographicBoundingBox>"
            )
        else:
            root, end, name, crs = '<WMT_MS_Capabilities version="1.1.1">', "</WMT_MS_Capabilities>", "OGC:WMS", "SRS"
            doctype = (
                '<!DOCTYPE WMT_MS_Capabilities SYSTEM "http://schemas.opengis.net/wms/1.1.1/WMS_MS_Capabilities.dtd">\n'
            )
            box = f'<LatLonBoundingBox minx="{west}" miny="{south}" maxx="{east}" maxy="{north}"/>'
        link = _XLINK if version == "1.1.1" else ""
        online = f'<OnlineResource {link} xlink:type="simple" xlink:href="{escape(about.endpoint)}"/>'
        layers = "".join(
            f'<Layer queryable="1"><Name>{escape(layer)}</Name><Title>{escape(title)}</Title><{crs}>EPSG:4326</{crs}>'
            f"<{crs}>EPSG:25830</{crs}>{box}<Style><Name>default</Name><Title>default</Title></Style></Layer>"
            for layer, title in about.layers
        )
        get = f"<DCPType><HTTP><Get>{online}</Get></HTTP></DCPType>"
        return (
            f'<?xml version="1.0" encoding="UTF-8"?>\n{doctype}{root}<Service><Name>{name}</Name>'
            f"<Title>{escape(about.title)}</Title><Abstract>{escape(about.abstract)}</Abstract>{online}"
            f"<ContactInformation><ContactPersonPrimary><ContactOrganization>{escape(about.provider)}"
            f"</ContactOrganization></ContactPersonPrimary><ContactElectronicMailAddress>{about.email}"
            "</ContactElectronicMailAddress></ContactInformation><Fees>none</Fees>"
            "<AccessConstraints>none</AccessConstraints></Service><Capability><Request><GetCapabilities>"
            f"<Format>text/xml</Format>{get}</GetCapabilities><GetMap><Format>image/png</Format>{get}</GetMap></Request>"
            f"<Exception><Format>XML</Format></Exception><Layer><Title>{escape(about.title)}</Title>{layers}</Layer>"
            f"</Capability>{end}\n"
        )

    return write


def _ows(about: Description, service: str, version: str, prefix: str = "ows") -> str:
    """Identification, provider and operations, as all services built on OWS Common write them."""
    p = f"{prefix}:"
    return (
        f"<{p}ServiceIdentification><{p}Title>{escape(about.title)}</{p}Title><{p}Abstract>{escape(about.abstract)}"
        f"</{p}Abstract><{p}ServiceType>{service}</{p}ServiceType><{p}ServiceTypeVersion>{version}"
        f"</{p}ServiceTypeVersion><{p}Fees>none</{p}Fees><{p}AccessConstraints>none</{p}AccessConstraints>"
        f"</{p}ServiceIdentification><{p}ServiceProvider><{p}ProviderName>{escape(about.provider)}</{p}ProviderName>"
        f"<{p}ServiceContact><{p}ContactInfo><{p}Address><{p}ElectronicMailAddress>{about.email}"
        f"</{p}ElectronicMailAddress></{p}Address></{p}ContactInfo></{p}ServiceContact></{p}ServiceProvider>"
        f'<{p}OperationsMetadata><{p}Operation name="GetCapabilities"><{p}DCP><{p}HTTP><{p}Get '
        f'xlink:href="{escape(about.endpoint)}"/></{p}HTTP></{p}DCP></{p}Operation></{p}OperationsMetadata>'
    )


def _wgs84(about: Description) -> str:
    west, south, east, north = about.box
    return (
        f"<ows:WGS84BoundingBox><ows:LowerCorner>{west} {south}</ows:LowerCorner><ows:UpperCorner>{east} {north}"
        "</ows:UpperCorner></ows:WGS84BoundingBox>"
    )


def _wfs(version: str) -> Callable[[Description], str]:
    def write(about: Description) -> str:
        old = version == "1.1.0"
        space = "http://www.opengis.net/wfs" if old else "http://www.opengis.net/wfs/2.0"
        ows = "http://www.opengis.net/ows" if old else "http://www.opengis.net/ows/1.1"
        crs = (
            "<DefaultSRS>urn:ogc:def:crs:EPSG::4326</DefaultSRS>"
            if old
            else "<DefaultCRS>urn:ogc:def:crs:EPSG::4326</DefaultCRS>"
        )
        types = "".join(
            f"<FeatureType><Name>app:{escape(name)}</Name><Title>{escape(title)}</Title>{crs}{_wgs84(about)}</FeatureType>"
            for name, title in about.layers
        )
        return (
            f'<?xml version="1.0" encoding="UTF-8"?>\n<wfs:WFS_Capabilities version="{version}" xmlns="{space}" '
            f'xmlns:wfs="{space}" xmlns:ows="{ows}" {_XLINK} xmlns:app="http://www.deegree.org/app">'
            f"{_ows(about, 'WFS', version)}<FeatureTypeList>{types}</FeatureTypeList></wfs:WFS_Capabilities>\n"
        )

    return write


def _wmts(about: Description) -> str:
    layers = "".join(
        f"<Layer><ows:Title>{escape(title)}</ows:Title>{_wgs84(about)}<ows:Identifier>{escape(name)}</ows:Identifier>"
        '<Style isDefault="true"><ows:Identifier>default</ows:Identifier></Style><Format>image/jpeg</Format>'
        "<TileMatrixSetLink><TileMatrixSet>GoogleMapsCompatible</TileMatrixSet></TileMatrixSetLink></Layer>"
        for name, title in about.layers
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<Capabilities xmlns="http://www.opengis.net/wmts/1.0" '
        f'xmlns:ows="http://www.opengis.net/ows/1.1" {_XLINK} version="1.0.0">{_ows(about, "OGC WMTS", "1.0.0")}'
        f"<Contents>{layers}<TileMatrixSet><ows:Identifier>GoogleMapsCompatible</ows:Identifier>"
        "<ows:SupportedCRS>urn:ogc:def:crs:EPSG::3857</ows:SupportedCRS></TileMatrixSet></Contents></Capabilities>\n"
    )


def _wcs(about: Description) -> str:
    coverages = "".join(
        f"<wcs:CoverageSummary>{_wgs84(about)}<wcs:CoverageId>{escape(name)}</wcs:CoverageId>"
        "<wcs:CoverageSubtype>RectifiedGridCoverage</wcs:CoverageSubtype></wcs:CoverageSummary>"
        for name, _ in about.layers
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<wcs:Capabilities xmlns:wcs="http://www.opengis.net/wcs/2.0" '
        f'xmlns:ows="http://www.opengis.net/ows/2.0" {_XLINK} version="2.0.1">{_ows(about, "OGC WCS", "2.0.1")}'
        "<wcs:ServiceMetadata><wcs:formatSupported>image/tiff</wcs:formatSupported></wcs:ServiceMetadata>"
        f"<wcs:Contents>{coverages}</wcs:Contents></wcs:Capabilities>\n"
    )


def _wps(about: Description) -> str:
    processes = "".join(
        f'<wps:Process wps:processVersion="1.0"><ows:Identifier>{escape(name)}</ows:Identifier>'
        f"<ows:Title>{escape(title)}</ows:Title></wps:Process>"
        for name, title in about.layers
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<wps:Capabilities service="WPS" version="1.0.0" xml:lang="en" '
        f'xmlns:wps="http://www.opengis.net/wps/1.0.0" xmlns:ows="http://www.opengis.net/ows/1.1" {_XLINK}>'
        f"{_ows(about, 'WPS', '1.0.0')}<wps:ProcessOfferings>{processes}</wps:ProcessOfferings></wps:Capabilities>\n"
    )


def _csw(about: Description) -> str:
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<csw:Capabilities version="2.0.2" '
        f'xmlns:csw="http://www.opengis.net/cat/csw/2.0.2" xmlns:ows="http://www.opengis.net/ows" {_XLINK} '
        f'xmlns:ogc="http://www.opengis.net/ogc">{_ows(about, "CSW", "2.0.2")}<ogc:Filter_Capabilities>'
        "<ogc:Spatial_Capabilities><ogc:GeometryOperands><ogc:GeometryOperand>gml:Envelope</ogc:GeometryOperand>"
        "</ogc:GeometryOperands></ogc:Spatial_Capabilities></ogc:Filter_Capabilities></csw:Capabilities>\n"
    )


def _sos(about: Description) -> str:
    offerings = "".join(
        f'<sos:ObservationOffering gml:id="{escape(name)}"><gml:name>{escape(title)}</gml:name>'
        "</sos:ObservationOffering>"
        for name, title in about.layers
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<sos:Capabilities version="1.0.0" '
        f'xmlns:sos="http://www.opengis.net/sos/1.0" xmlns:ows="http://www.opengis.net/ows/1.1" {_XLINK} '
        f'xmlns:gml="http://www.opengis.net/gml">{_ows(about, "OGC:SOS", "1.0.0")}<sos:Contents>'
        f"<sos:ObservationOfferingList>{offerings}</sos:ObservationOfferingList></sos:Contents></sos:Capabilities>\n"
    )


def _tms(about: Description) -> str:
    maps = "".join(
        f'<TileMap title="{escape(title)}" srs="EPSG:3857" profile="global-mercator" '
        f'href="{escape(about.endpoint)}{escape(name)}"/>'
        for name, title in about.layers
    )
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<TileMapService version="1.0.0" services="{escape(about.endpoint)}">'
        f"<Title>{escape(about.title)}</Title><Abstract>{escape(about.abstract)}</Abstract><TileMaps>{maps}</TileMaps>"
        "</TileMapService>\n"
    )


def _atom(about: Description) -> str:
    west, south, east, north = about.box
    polygon = f"{south} {west} {south} {east} {north} {east} {north} {west} {south} {west}"
    entries = "".join(
        f"<entry><title>{escape(title)}</title><id>{escape(about.endpoint)}#{escape(name)}</id>"
        f"<inspire_dls:spatial_dataset_identifier_code>{escape(name)}</inspire_dls:spatial_dataset_identifier_code>"
        "<inspire_dls:spatial_dataset_identifier_namespace>ES.CORNER</inspire_dls:spatial_dataset_identifier_namespace>"
        f'<link rel="alternate" type="application/gml+xml" href="{escape(about.endpoint)}.gml.zip"/>'
        f"<updated>{about.updated}</updated><georss:polygon>{polygon}</georss:polygon></entry>"
        for name, title in about.layers
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom" '
        'xmlns:georss="http://www.georss.org/georss" '
        'xmlns:inspire_dls="http://inspire.ec.europa.eu/schemas/inspire_dls/1.0" xml:lang="es">'
        f"<title>{escape(about.title)}</title><subtitle>{escape(about.abstract)}</subtitle>"
        f'<link rel="self" type="application/atom+xml" href="{escape(about.endpoint)}"/>'
        f"<id>{escape(about.endpoint)}</id>"
        f"<rights>CC BY 4.0</rights><updated>{about.updated}</updated><author><name>{escape(about.provider)}</name>"
        f"<email>{about.email}</email></author>{entries}</feed>\n"
    )


def _owc(about: Description) -> str:
    entries = "".join(
        f"<entry><title>{escape(title)}</title><id>{escape(about.endpoint)}#{escape(name)}</id><updated>{about.updated}"
        '</updated><owc:offering code="http://www.opengis.net/spec/owc-atom/1.0/req/wms"><owc:operation '
        f'code="GetMap" method="GET" type="image/png" href="{escape(about.endpoint)}"/></owc:offering></entry>'
        for name, title in about.layers
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom" '
        'xmlns:owc="http://www.opengis.net/owc/1.0" xml:lang="es"><link rel="profile" '
        f'href="http://www.opengis.net/spec/owc-atom/1.0/req/core"/><title>{escape(about.title)}</title>'
        f"<id>{escape(about.endpoint)}</id><updated>{about.updated}</updated>{entries}</feed>\n"
    )


def _ogcapi(part: str) -> Callable[[Description], str]:
    paths = {"features": "collections", "tiles": "tiles", "records": "collections", "processes": "processes"}
    classes = {
        "features": "http://www.opengis.net/spec/ogcapi-features-1/1.0/conf/core",
        "tiles": "http://www.opengis.net/spec/ogcapi-tiles-1/1.0/conf/core",
        "records": "http://www.opengis.net/spec/ogcapi-records-1/1.0/conf/core",
        "processes": "http://www.opengis.net/spec/ogcapi-processes-1/1.0/conf/core",
    }
    relations = {
        "features": "data",
        "tiles": "http://www.opengis.net/def/rel/ogc/1.0/tilesets-vector",
        "records": "http://www.opengis.net/def/rel/ogc/1.0/ogc-catalog",
        "processes": "http://www.opengis.net/def/rel/ogc/1.0/processes",
    }

    def write(about: Description) -> str:
        root = about.endpoint.rstrip("/")
        return _json(
            title=about.title,
            description=about.abstract,
            conformsTo=["http://www.opengis.net/spec/ogcapi-common-1/1.0/conf/core", classes[part]],
            links=[
                {"rel": "self", "type": JSON, "href": about.endpoint},
                {
                    "rel": "service-desc",
                    "type": "application/vnd.oai.openapi+json;version=3.0",
                    "href": f"{root}/openapi",
                },
                {"rel": "conformance", "type": JSON, "href": f"{root}/conformance"},
                {"rel": relations[part], "type": JSON, "href": f"{root}/{paths[part]}"},
            ],
        )

    return write


def _stac(about: Description) -> str:
    return _json(
        type="Catalog",
        stac_version="1.0.0",
        id=about.layers[0][0],
        title=about.title,
        description=about.abstract,
        links=[
            {"rel": "self", "href": about.endpoint, "type": JSON},
            {"rel": "root", "href": about.endpoint, "type": JSON},
            *({"rel": "child", "href": f"./{name}/collection.json", "title": title} for name, title in about.layers),
        ],
    )


def _sensorthings(about: Description) -> str:
    names = (
        "Things",
        "Locations",
        "Datastreams",
        "Sensors",
        "Observations",
        "ObservedProperties",
        "FeaturesOfInterest",
    )
    root = about.endpoint.rstrip("/")
    return _json(
        value=[{"name": name, "url": f"{root}/{name}"} for name in names],
        serverSettings={"conformance": ["http://www.opengis.net/spec/iot_sensing/1.1/req/datamodel"]},
    )


def _arcgis(about: Description) -> str:
    west, south, east, north = about.box
    extent = {"xmin": west, "ymin": south, "xmax": east, "ymax": north, "spatialReference": {"wkid": 4326}}
    return _json(
        currentVersion=10.91,
        serviceDescription=about.abstract,
        mapName=about.title,
        copyrightText=about.provider,
        supportsDynamicLayers=True,
        layers=[{"id": i, "name": title, "type": "Feature Layer"} for i, (_, title) in enumerate(about.layers)],
        spatialReference={"wkid": 25830, "latestWkid": 25830},
        fullExtent=extent,
        capabilities="Map,Query,Data",
        supportedImageFormatTypes="PNG32,PNG24,PNG,JPG",
    )


def _tiles3d(about: Description) -> str:
    box = [round(value * 3.14159265 / 180, 6) for value in about.box]
    return _json(
        asset={"version": "1.0", "tilesetVersion": "2024"},
        geometricError=500,
        root={
            "boundingVolume": {"region": [*box, 0, 900]},
            "geometricError": 100,
            "refine": "ADD",
            "content": {"uri": "0.b3dm"},
        },
    )


def _tilejson(about: Description) -> str:
    return _json(
        tilejson="3.0.0",
        name=about.title,
        description=about.abstract,
        attribution=about.provider,
        tiles=[f"{about.endpoint.removesuffix('.json')}/{{z}}/{{x}}/{{y}}.pbf"],
        bounds=list(about.box),
        minzoom=4,
        maxzoom=14,
        vector_layers=[{"id": name, "fields": {"name": "String"}} for name, _ in about.layers],
    )


def _json(**values: Any) -> str:
    return json.dumps(values, ensure_ascii=False)


_WRITERS: dict[str, tuple[str, Callable[[Description], str]]] = {
    "wms 1.3.0": (XML, _wms("1.3.0")),
    "wms 1.1.1": ("application/vnd.ogc.wms_xml", _wms("1.1.1")),
    "wfs 2.0.0": (XML, _wfs("2.0.0")),
    "wfs 1.1.0": (XML, _wfs("1.1.0")),
    "wmts 1.0.0": (XML, _wmts),
    "wcs 2.0.1": (XML, _wcs),
    "csw 2.0.2": ("application/xml", _csw),
    "wps 1.0.0": (XML, _wps),
    "sos 1.0.0": (XML, _sos),
    "tms 1.0.0": (XML, _tms),
    "atom": ("application/atom+xml", _atom),
    "owc 1.0": ("application/atom+xml", _owc),
    "ogcapi-features 1.0": (JSON, _ogcapi("features")),
    "ogcapi-tiles 1.0": (JSON, _ogcapi("tiles")),
    "ogcapi-records 1.0": (JSON, _ogcapi("records")),
    "ogcapi-processes 1.0": (JSON, _ogcapi("processes")),
    "stac 1.0.0": (JSON, _stac),
    "sensorthings 1.1": (JSON, _sensorthings),
    "arcgis": (JSON, _arcgis),
    "3dtiles 1.0": (JSON, _tiles3d),
    "tilejson 3.0.0": (JSON, _tilejson),
}
