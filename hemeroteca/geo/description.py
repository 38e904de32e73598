"""`Description`: what one document says of a geographic service or dataset; and the closed list of types."""

import msgspec

SERVICES = {
    "wms": "Web Map Service (OGC), 1.0.0 to 1.3.0",
    "wmts": "Web Map Tile Service (OGC), 1.0.0",
    "wfs": "Web Feature Service (OGC), 1.0.0 to 2.0.2",
    "wcs": "Web Coverage Service (OGC), 1.0.0 to 2.1.0",
    "wps": "Web Processing Service (OGC), 0.4.0 to 2.0",
    "wcts": "Web Coordinate Transformation Service (OGC, INSPIRE)",
    "csw": "Catalogue Service for the Web (OGC), 2.0.0 to 3.0.0",
    "sos": "Sensor Observation Service (OGC), 1.0.0 and 2.0.0",
    "tms": "Tile Map Service (OSGeo), 1.0.0",
    "atom": "INSPIRE download service: an Atom feed with inspire_dls or with geodata to download",
    "owc": "OWS Context document (OGC), as Atom, XML or GeoJSON",
    "ogcapi-features": "OGC API - Features",
    "ogcapi-tiles": "OGC API - Tiles",
    "ogcapi-records": "OGC API - Records",
    "ogcapi-processes": "OGC API - Processes",
    "ogcapi-maps": "OGC API - Maps",
    "ogcapi-coverages": "OGC API - Coverages",
    "ogcapi-edr": "OGC API - Environmental Data Retrieval",
    "stac": "SpatioTemporal Asset Catalog: catalogue, collection, item or API",
    "sensorthings": "SensorThings API (OGC)",
    "arcgis": "ArcGIS REST: folder, map, feature, image or other server, layer",
    "3dtiles": "3D Tiles tileset (OGC)",
    "tilejson": "TileJSON: description of map tiles",
}
DATASETS = {
    "geojson": "GeoJSON (RFC 7946)",
    "kml": "KML, or KMZ",
    "gpkg": "GeoPackage",
    "geotiff": "GeoTIFF",
    "cog": "Cloud Optimized GeoTIFF",
    "shapefile": "shapefile: .shp, or a ZIP that holds one",
    "pmtiles": "PMTiles archive of tiles",
    "flatgeobuf": "FlatGeobuf",
    "geoparquet": "GeoParquet",
    "georss": "feed whose entries have places (GeoRSS, W3C geo)",
}
TYPES = {**SERVICES, **DATASETS}

MAX_LAYERS = 20_000
MAX_KEYWORDS = 200
MAX_CRS = 500  # some servers list the whole EPSG register at every layer
MAX_TEXT = 4_000

BBox = tuple[float, float, float, float]  # west, south, east, north; degrees, WGS 84
Span = tuple[str, str]  # begin and end as ISO 8601; an empty one is open


class Contact(msgspec.Struct, omit_defaults=True):
    """Who answers for a service."""

    person: str = ""
    organisation: str = ""
    position: str = ""
    email: str = ""
    phone: str = ""
    address: str = ""
    country: str = ""
    url: str = ""


class FoundLayer(msgspec.Struct, omit_defaults=True):
    """A layer, feature type, coverage, process, offering or collection of a service."""

    name: str
    title: str = ""
    abstract: str = ""
    keywords: list[str] = []
    bbox: BBox | None = None
    temporal: Span | None = None
    crs: list[str] = []
    formats: list[str] = []
    styles: list[str] = []
    metadata: list[str] = []  # addresses of its metadata
    url: str = ""  # of its own, where it has one
    queryable: bool = False


class Inspire(msgspec.Struct, omit_defaults=True):
    """INSPIRE's extended capabilities."""

    metadata_url: str = ""
    resource_type: str = ""
    service_type: str = ""
    metadata_date: str = ""
    conformity: str = ""
    default_language: str = ""
    languages: list[str] = []
    datasets: list[str] = []  # identifiers of spatial data sets
    keywords: list[str] = []


class Description(msgspec.Struct, omit_defaults=True):
    """What one document says of a service. `type` is one of `TYPES`; empty: it is none, and `reason` says why."""

    type: str = ""
    version: str = ""
    reason: str = ""
    also: list[str] = []  # further types offered at the same endpoint (OGC APIs)
    title: str = ""
    abstract: str = ""
    keywords: list[str] = []
    endpoint: str = ""  # where it is asked
    declared: str = ""  # where it says it is, when that is another place
    layers: list[FoundLayer] = []
    bbox: BBox | None = None
    temporal: Span | None = None
    crs: list[str] = []
    formats: list[str] = []
    operations: list[str] = []
    provider: str = ""
    contact: Contact | None = None
    fees: str = ""
    constraints: str = ""
    licence: str = "unknown"  # what fees and constraints mean, as SPDX or a similar name
    inspire: Inspire | None = None
    language: str = ""
    software: str = ""
    thumbnail: str = ""
    links: list[str] = []  # addresses worth a visit: metadata, further documents of the same service
    notes: list[str] = []  # what was wrong with the document, and what was left out

    @property
    def is_service(self) -> bool:
        return self.type in SERVICES

    @property
    def found(self) -> bool:
        return bool(self.type)

    def note(self, text: str) -> None:
        if text not in self.notes and len(self.notes) < 50:
            self.notes.append(text)


def none(reason: str, *notes: str, links: list[str] | None = None) -> Description:
    """No service, and why."""
    return Description(reason=reason, notes=list(notes), links=links or [])
