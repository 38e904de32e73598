"""JSON of geographic services: OGC APIs, STAC, SensorThings, ArcGIS, 3D Tiles, TileJSON, GeoJSON, OWS Context.

A type is told by the members its standard demands, with values of the right kind; never by a word somewhere inside.
"""

import math
import re
from typing import Any
from urllib.parse import urljoin, urlsplit

from hemeroteca.extract.document import names
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
    Span,
    none,
)
from hemeroteca.geo.licences import licence

Json = dict[str, Any]
MAX_LINKS = 1000
OGC_TYPES = ("features", "tiles", "records", "processes", "maps", "coverages", "edr")
_CONFORMANCE = re.compile(
    r"https?://(?:www\.|schemas\.)?opengis\.(?:net|org)/spec/ogcapi[-_]?(\w+?)(?:[-_]\d+)?/(\d+\.\d+(?:\.\d+)?)", re.I
)
_OLD_FEATURES = re.compile(r"https?://www\.opengis\.net/spec/wfs-?1?/3\.0")
_STAC_CONFORMANCE = re.compile(r"https?://(?:api\.stacspec\.org|stacspec\.org)/v?(\d[\w.-]*?)/")
_REL = re.compile(r"(?:https?://www\.opengis\.net/def/rel/ogc/1\.0/|\[?ogc-rel:)?([\w-]+)\]?")
_GEOMETRIES = frozenset(
    ("Point", "MultiPoint", "LineString", "MultiLineString", "Polygon", "MultiPolygon", "GeometryCollection")
)
_THINGS = frozenset(("Things", "Locations", "Datastreams", "Sensors", "Observations", "ObservedProperties"))
_ARCGIS_PATH = re.compile(
    r"^(.*?/rest/services(?:/.*?/(Map|Feature|Image|Geocode|GP|Geometry|VectorTile|Scene|Globe|NA|GeoData|Mobile|Stream|"
    r"Video|Version|Parcel|UtilityNetwork)Server)?)(/.*)?$",
    re.I,
)


def read(data: Any, url: str = "") -> Description:
    """What a JSON document is."""
    if not isinstance(data, dict):
        return none("JSON without an object at its top is no service description")
    for look in (_tileset, _tilejson, _stac, _context, _geojson, _sensorthings, _ogc, _arcgis):
        found = look(data, url)
        if found is not None:
            return found
    return none("JSON that is none of the types in the list")


# OGC APIs


def _ogc(data: Json, url: str) -> Description | None:
    links = _links(data)
    relations = {_relation(link) for link in links}
    conforms = [one for one in _list(data, "conformsTo") if isinstance(one, str)]
    collections = [one for one in _list(data, "collections") if isinstance(one, dict)]
    processes = [one for one in _list(data, "processes") if isinstance(one, dict)]
    if (
        conforms
        and len(data.keys() - {"conformsTo", "links", "title", "description"}) == 0
        and not relations & _LANDING
    ):
        types, version = _conformance(conforms)
        if not types:
            return none("a declaration of conformance to none of the types in the list")
        return _ogc_description(data, url, types, version, "conformance")
    if "collections" in data and isinstance(data["collections"], list) and "stac_version" not in data:
        if not collections and not links:
            return None
        types = _types_of_collections(collections) or ["ogcapi-features"]
        found = _ogc_description(data, url, types, "", "collections")
        found.layers = [layer for one in collections[:MAX_LAYERS] if (layer := _collection(one, url))]
        return _summed(found)
    if processes and all(isinstance(one.get("id"), str) for one in processes) and (links or "links" in processes[0]):
        found = _ogc_description(data, url, ["ogcapi-processes"], "", "processes")
        for one in processes[:MAX_LAYERS]:
            found.layers.append(
                FoundLayer(
                    name=_text(one, "id")[:500],
                    title=_text(one, "title")[:1000],
                    abstract=_text(one, "description")[:MAX_TEXT],
                    keywords=_strings(one, "keywords")[:MAX_KEYWORDS],
                )
            )
        return found
    tilesets = [one for one in _list(data, "tilesets") if isinstance(one, dict)]
    if not tilesets and links and _text(data, "dataType"):
        tilesets = [data]  # one of them, by itself
    if tilesets and all(one.keys() & _OF_TILESET for one in tilesets) and not relations & _LANDING:
        found = _ogc_description(data, url, ["ogcapi-tiles"], "", "tiles")
        for one in tilesets[:MAX_LAYERS]:
            matrices = _text(one, "tileMatrixSetId") or _text(one, "tileMatrixSetURI").rpartition("/")[2]
            title = _text(one, "title")[:1000]
            systems = places.crs_names([_text(one, "crs")])
            found.layers.append(FoundLayer(name=title[:500] or matrices, title=title, crs=systems))
        return _summed(found)
    is_catalogue = isinstance(data.get("id"), str) and _text(data, "itemType").lower() in ("record", "records")
    if not links and not is_catalogue:
        return None
    if relations & _LANDING and not {"features", "value", "id"} <= data.keys():
        types, version = _conformance(conforms)
        for rel, kind in _KIND_OF_RELATION:
            if rel in relations and kind not in types and not (conforms and kind == "ogcapi-features"):
                types.append(kind)
        addresses = {urlsplit(_text(link, "href")).path.rstrip("/") for link in links}
        here = bool(relations & {"conformance", "service-desc", "service-doc"})
        if not types and here and any(path.endswith(("/collections", "/conformance")) for path in addresses):
            types = ["ogcapi-features"]
        if types and here:
            types.sort(key=_order_of_types)
            if "ogcapi-features" in types and not conforms and _edr_only(links):
                types[types.index("ogcapi-features")] = "ogcapi-edr"
            return _ogc_description(data, url, types, version, "")
        if types and ("tilesets" in data or relations & {"tiles", "tilesets-vector", "tilesets-map"}):
            return _ogc_description(data, url, types, version, "tiles")
    is_collection = isinstance(data.get("id"), str) and isinstance(data.get("extent"), dict)
    if is_catalogue or (is_collection and relations & _OF_COLLECTION):
        types = _types_of_collections([data]) or ["ogcapi-features"]
        found = _ogc_description(data, url, types, "", f"collections/{data['id']}")
        layer = _collection(data, url)
        found.layers = [layer] if layer else []
        return _summed(found)
    return None


_LANDING = names(
    "conformance service-desc service-doc data processes tilesets-vector tilesets-map tilesets-coverage map"
)
_OF_TILESET = names("tileMatrixSetURI tileMatrixSetId tileMatrixSet tileMatrixSetDefinition")
_OF_COLLECTION = names("items item data coverage tiles tilesets-vector tilesets-map map edr schema queryables")
_KIND_OF_RELATION = (
    ("data", "ogcapi-features"),
    ("tiles", "ogcapi-tiles"),
    ("tilesets-vector", "ogcapi-tiles"),
    ("tilesets-map", "ogcapi-tiles"),
    ("tilesets-coverage", "ogcapi-tiles"),
    ("processes", "ogcapi-processes"),
    ("map", "ogcapi-maps"),
    ("coverage", "ogcapi-coverages"),
    ("ogc-catalog", "ogcapi-records"),
)


def _order_of_types(kind: str) -> int:
    """The main type first: what makes a server more than one of features goes behind."""
    order = ("ogcapi-features", "ogcapi-edr", "ogcapi-coverages", "ogcapi-records", "ogcapi-maps", "ogcapi-tiles")
    return order.index(kind) if kind in order else len(order)


def _edr_only(links: list[Json]) -> bool:
    return any("/edr" in urlsplit(_text(link, "href")).path.lower() for link in links)


def _conformance(classes: list[str]) -> tuple[list[str], str]:
    found: dict[str, str] = {}
    for one in classes:
        if match := _CONFORMANCE.match(one):
            name, version = match[1].lower(), match[2]
            if name in OGC_TYPES:
                found.setdefault(f"ogcapi-{name}", version)
        elif _OLD_FEATURES.match(one):
            found.setdefault("ogcapi-features", "1.0")
        elif match := _STAC_CONFORMANCE.match(one):
            found.setdefault("stac", match[1])
    types = sorted(found, key=_order_of_types)
    return types, found[types[0]] if types else ""


def _types_of_collections(collections: list[Json]) -> list[str]:
    found: dict[str, None] = {}
    for one in collections:
        relations = {_relation(link) for link in _links(one)}
        kind = _text(one, "itemType").lower()
        if "stac_version" in one:
            found["stac"] = None
        elif kind in ("record", "records"):
            found["ogcapi-records"] = None
        elif isinstance(one.get("data_queries"), dict):
            found["ogcapi-edr"] = None
        elif relations & {"coverage", "coverage-scheme"} or _text(one, "dataType") == "coverage":
            found["ogcapi-coverages"] = None
        elif "items" in relations or kind == "feature":
            found["ogcapi-features"] = None
        if relations & {"tiles", "tilesets-vector", "tilesets-map"}:
            found["ogcapi-tiles"] = None
        if "map" in relations:
            found["ogcapi-maps"] = None
    return sorted(found, key=_order_of_types)


def _ogc_description(data: Json, url: str, types: list[str], version: str, part: str) -> Description:
    links = _links(data)
    contact, provider = _contact_of(data)
    wanted = {"data", "conformance", "processes", "child", "collection", "search", "items", "next", "parent", "root"}
    wanted |= {"service-doc", "tilesets-vector", "tilesets-map", "ogc-catalog"}
    found = Description(
        type=types[0],
        also=types[1:],
        version=version or "1.0",
        title=(_text(data, "title") or _text(data, "apiTitle"))[:1000],
        abstract=_text(data, "description")[:MAX_TEXT],
        keywords=_strings(data, "keywords")[:MAX_KEYWORDS],
        provider=provider,
        contact=contact,
        endpoint=_api_root(data, url, part),
        links=[
            address
            for link in links
            if _relation(link) in wanted and (address := _address(link, url)) and _is_json(link)
        ][:MAX_LINKS],
        formats=list(
            dict.fromkeys(kind for link in links if _relation(link) == "self" and (kind := _text(link, "type")))
        ),
    )
    terms = [_text(data, "license"), *(_address(link, url) for link in links if _relation(link) == "license")]
    found.constraints = " ".join(one for one in terms if one)[:MAX_TEXT]
    found.licence = licence(found.constraints)
    if "pygeoapi" in str(_text(data, "description") + _text(data, "title")).lower():
        found.software = "pygeoapi"
    for name in ("ldproxy", "GeoServer", "pygeoapi", "deegree", "QGIS"):
        if not found.software and any(name.lower() in _text(link, "href").lower() for link in links):
            found.software = name
    return found


def _api_root(data: Json, url: str, part: str) -> str:
    own = next((_address(link, url) for link in _links(data) if _relation(link) == "self"), "")
    address = endpoints.endpoint_or_empty(url) or endpoints.endpoint_or_empty(own)
    if not part:
        return address
    head, found, _ = address.rstrip("/").rpartition("/" + part)
    return (head + "/" if not urlsplit(head).path else head) if found else address


def _collection(data: Json, url: str) -> FoundLayer | None:
    name = data.get("id") or data.get("name")
    if not isinstance(name, (str, int)):
        return None
    bbox, temporal = _extent(data.get("extent"))
    links = _links(data)
    return FoundLayer(
        name=str(name)[:500],
        title=_text(data, "title")[:1000],
        abstract=_text(data, "description")[:MAX_TEXT],
        keywords=_strings(data, "keywords")[:MAX_KEYWORDS],
        bbox=bbox,
        temporal=temporal,
        crs=places.crs_names(one.replace(" ", "") for one in _strings(data, "crs"))[:MAX_CRS],
        formats=list(
            dict.fromkeys(kind for link in links if _relation(link) == "items" and (kind := _text(link, "type")))
        ),
        url=next((_address(link, url) for link in links if _relation(link) in ("self", "collection")), ""),
        metadata=[_address(link, url) for link in links if _relation(link) in ("describedby", "canonical")][:20],
    )


def _extent(extent: Any) -> tuple[BBox | None, Span | None]:
    if not isinstance(extent, dict):
        return None, None
    spatial, temporal = extent.get("spatial"), extent.get("temporal")
    boxes = spatial.get("bbox") if isinstance(spatial, dict) else spatial
    if isinstance(boxes, list) and boxes and not isinstance(boxes[0], list):
        boxes = [boxes]  # STAC 0.x
    first = boxes[0] if isinstance(boxes, list) and boxes and isinstance(boxes[0], list) else []
    intervals = temporal.get("interval") if isinstance(temporal, dict) else temporal
    if isinstance(intervals, list) and intervals and not isinstance(intervals[0], list):
        intervals = [intervals]
    span = intervals[0] if isinstance(intervals, list) and intervals and isinstance(intervals[0], list) else []
    found = (str(span[0] or ""), str(span[1] or "")) if len(span) == 2 else None
    return _box(first), found if found and any(found) else None


def _box(values: Any) -> BBox | None:
    if isinstance(values, list) and len(values) in (4, 6):
        half = len(values) // 2
        return places.box(values[0], values[1], values[half], values[half + 1])
    return None


# STAC


def _stac(data: Json, url: str) -> Description | None:
    version = data.get("stac_version")
    kind = data.get("type")
    features = [one for one in _list(data, "features") if isinstance(one, dict)]
    if version is None and kind == "FeatureCollection" and features and "stac_version" in features[0]:
        version = features[0].get("stac_version")
    if not isinstance(version, (str, float)) or not (_links(data) or features or kind):
        return None
    found = Description(
        type="stac",
        version=str(version)[:20],
        title=(_text(data, "title") or _text(data, "id"))[:1000],
        abstract=_text(data, "description")[:MAX_TEXT],
        keywords=_strings(data, "keywords")[:MAX_KEYWORDS],
        endpoint=endpoints.endpoint_or_empty(url)
        or endpoints.endpoint_or_empty(
            next((_text(one, "href") for one in _links(data) if one.get("rel") == "self"), "")
        ),
        constraints=_text(data, "license"),
    )
    providers = [one for one in _list(data, "providers") if isinstance(one, dict)]
    if providers:
        found.provider = _text(providers[0], "name")[:500]
        found.contact = Contact(organisation=found.provider, url=_text(providers[0], "url"))
    found.licence = (
        licence(found.constraints) if found.constraints.lower() not in ("proprietary", "various") else "unknown"
    )
    if found.licence == "unknown" and re.fullmatch(r"[A-Za-z0-9.+-]+-\d[\w.+-]*", found.constraints):
        found.licence = found.constraints
    if kind == "Feature":
        properties = data.get("properties") if isinstance(data.get("properties"), dict) else {}
        assert isinstance(properties, dict)
        found.title = _text(properties, "title") or found.title
        begin = _text(properties, "start_datetime") or _text(properties, "datetime")
        end = _text(properties, "end_datetime") or begin
        found.bbox, found.temporal = _box(data.get("bbox")), (begin, end) if begin or end else None
        found.layers = [
            FoundLayer(
                name=str(key)[:500],
                title=_text(asset, "title"),
                formats=[_text(asset, "type")],
                url=_address(asset, url),
            )
            for key, asset in list(_object(data, "assets").items())[:1000]
            if isinstance(asset, dict)
        ]
        found.formats = list(dict.fromkeys(one for layer in found.layers for one in layer.formats if one))
    elif features:
        found.bbox = places.union(_box(one.get("bbox")) for one in features)
        found.layers = [
            FoundLayer(name=_text(one, "id"), bbox=_box(one.get("bbox"))) for one in features if _text(one, "id")
        ]
    else:
        found.bbox, found.temporal = _extent(data.get("extent"))
        if "extent" in data and (layer := _collection(data, url)):
            found.layers = [layer]
    types, _ = _conformance([one for one in _list(data, "conformsTo") if isinstance(one, str)])
    found.also = [one for one in types if one != "stac"]
    wanted = ("child", "item", "items", "data", "search", "root", "parent", "collection", "next", "conformance")
    found.links = [
        address
        for link in _links(data)
        if _relation(link) in wanted and (address := _address(link, url)) and _is_json(link)
    ][:MAX_LINKS]
    thumbnail = next((_object(_object(data, "assets"), name) for name in ("thumbnail", "preview", "overview")), {})
    found.thumbnail = _address(thumbnail, url) if thumbnail else ""
    return found


# SensorThings


def _sensorthings(data: Json, url: str) -> Description | None:
    entries = [one for one in _list(data, "value") if isinstance(one, dict)]
    names = {_text(one, "name"): _text(one, "url") for one in entries}
    settings = str(_object(data, "serverSettings").get("conformance", ""))  # of version 1.1
    enough = 1 if "iot_sensing" in settings else 3
    if len(_THINGS & names.keys()) < enough or "url" not in entries[0]:
        if entries and any("@iot.selfLink" in one or "@iot.id" in one for one in entries):
            return none("entities of a SensorThings service, not its root")
        return None
    first = names.get("Things", "")
    version = re.search(r"/v(\d+(?:\.\d+)?)(?:/|$)", first or url)
    endpoint = endpoints.endpoint_or_empty(url) or endpoints.endpoint_or_empty(first.rpartition("/")[0])
    software = "FROST" if "frost" in (first + url).lower() else ""
    return Description(
        type="sensorthings",
        version=version[1] if version else "1.0",
        endpoint=endpoint,
        layers=[
            FoundLayer(name=name, url=urljoin(url, address) if url else address)
            for name, address in names.items()
            if name
        ],
        software=software,
        links=[],
    )


# ArcGIS


def _arcgis(data: Json, url: str) -> Description | None:
    error = data.get("error")
    if isinstance(error, dict) and isinstance(error.get("code"), int) and "message" in error:
        return none(f"exception report: {error['code']}: {str(error['message'])[:300]}")
    version = data.get("currentVersion")
    given = str(version) if isinstance(version, (int, float, str)) else ""
    services = data.get("services")
    if given and isinstance(services, list) and ("folders" in data or all(isinstance(one, dict) for one in services)):
        return _arcgis_folder(data, url, given)
    layers = data.get("layers")
    is_service = bool(given) and (
        "serviceDescription" in data
        or "mapName" in data
        or "tileInfo" in data
        or "bandCount" in data
        or "pixelSizeX" in data
        or "serviceDataType" in data
        or "addressFields" in data
        or "executionType" in data
        or ("tasks" in data and isinstance(data["tasks"], list))
        or ("capabilities" in data and isinstance(layers, list))
    )
    is_service = is_service or (
        "serviceDescription" in data and isinstance(layers, list) and "spatialReference" in data
    )
    scene = (
        "serviceVersion" in data
        and isinstance(layers, list)
        and any(isinstance(one, dict) and "layerType" in one for one in layers)
    )
    if is_service or ("serviceName" in data and ("supportedBindings" in data or scene)):
        return _arcgis_service(data, url, given)
    if (
        isinstance(data.get("id"), int)
        and "Layer" in _text(data, "type")
        and ("geometryType" in data or "extent" in data)
    ):
        return _arcgis_service(data, url, given)
    return None


def _arcgis_folder(data: Json, url: str, version: str) -> Description:
    base = _arcgis_base(url)
    found = Description(
        type="arcgis", version=version, title="ArcGIS REST services", endpoint=base, software=f"ArcGIS Server {version}"
    )
    path = urlsplit(base).path.lower()
    root = base[: base.lower().rindex("/rest/services") + len("/rest/services")] if "/rest/services" in path else base
    for one in _list(data, "services")[:MAX_LAYERS]:
        if isinstance(one, dict) and (name := _text(one, "name")) and (kind := _text(one, "type")):
            address = _text(one, "url") or (f"{root}/{name}/{kind}" if root else "")
            found.layers.append(FoundLayer(name=name, title=f"{name} ({kind})", url=address, formats=[kind]))
            if address:
                found.links.append(address + "?f=json")
    for folder in _list(data, "folders")[:MAX_LINKS]:
        if isinstance(folder, str) and root:
            found.links.append(f"{root}/{folder}?f=json")
    del found.links[MAX_LINKS:]
    return found


def _arcgis_service(data: Json, url: str, version: str) -> Description:
    information = _object(data, "documentInfo")
    title = _text(information, "Title") or _text(data, "mapName") or _text(data, "name") or _text(data, "serviceName")
    if title in ("", "Layers") and (match := re.search(r"/services/(.+?)/\w+Server", url)):
        title = match[1].replace("_", " ")
    author = _text(information, "Author")
    words = re.split(r"[,;]", _text(information, "Keywords"))
    extent = data.get("fullExtent") or data.get("initialExtent") or data.get("extent")
    system = _spatial_reference(data.get("spatialReference") or _object(data, "extent").get("spatialReference"))
    found = Description(
        type="arcgis",
        version=version,
        title=title[:1000],
        abstract=_plain(_text(data, "serviceDescription") or _text(data, "description"))[:MAX_TEXT],
        keywords=[" ".join(word.split()) for word in words if word.strip()][:MAX_KEYWORDS],
        endpoint=_arcgis_base(url),
        bbox=_esri_box(extent, system),
        crs=[system] if system else [],
        provider=author[:500],
        contact=Contact(organisation=author[:500]) if author else None,
        constraints=_plain(_text(data, "copyrightText"))[:MAX_TEXT],
        software=f"ArcGIS Server {version}".strip(),
        formats=[
            one.strip()
            for name in ("supportedImageFormatTypes", "supportedQueryFormats")
            for one in _text(data, name).split(",")
            if one.strip()
        ],
        operations=[one.strip() for one in _text(data, "capabilities").split(",") if one.strip()],
    )
    found.licence = licence(found.constraints)
    time = _object(data, "timeInfo").get("timeExtent")
    if isinstance(time, list) and len(time) == 2:
        found.temporal = (_moment(time[0]), _moment(time[1]))
    for one in [*_list(data, "layers"), *_list(data, "tables")][:MAX_LAYERS]:
        if isinstance(one, dict) and "id" in one:
            name = str(one.get("id"))
            found.layers.append(
                FoundLayer(
                    name=name, title=_text(one, "name")[:1000], url=f"{found.endpoint}/{name}" if found.endpoint else ""
                )
            )
    if "Layer" in _text(data, "type") and isinstance(data.get("id"), int):
        found.layers = [FoundLayer(name=str(data["id"]), title=_text(data, "name"), bbox=found.bbox, crs=found.crs)]
    for one in _list(data, "tasks")[:1000]:
        if isinstance(one, str):
            found.layers.append(FoundLayer(name=one))
    extensions = _text(data, "supportedExtensions").lower()
    for name, kind in (("wmsserver", "WMS"), ("wfsserver", "WFS"), ("wcsserver", "WCS")):
        if name in extensions and "/rest/services/" in found.endpoint:
            base = found.endpoint.replace("/rest/services/", "/services/", 1)
            found.links.append(f"{base}/{kind}Server?request=GetCapabilities&service={kind}")
    return found


def _arcgis_base(url: str) -> str:
    address = endpoints.endpoint_or_empty(url)
    match = _ARCGIS_PATH.match(address.partition("?")[0])
    if match is None:
        return address
    return (match[1] if match[2] else address.partition("?")[0]).rstrip("/")


def _spatial_reference(value: Any) -> str:
    if not isinstance(value, dict):
        return ""
    code = value.get("latestWkid") or value.get("wkid")
    return {102100: "EPSG:3857", 102113: "EPSG:3857"}.get(code, f"EPSG:{code}") if isinstance(code, int) else ""


def _esri_box(extent: Any, system: str) -> BBox | None:
    if not isinstance(extent, dict):
        return None
    system = _spatial_reference(extent.get("spatialReference")) or system
    sides = [places.number(extent.get(name)) for name in ("xmin", "ymin", "xmax", "ymax")]
    west, south, east, north = sides
    if west is None or south is None or east is None or north is None:
        return None
    if system in ("EPSG:3857", "EPSG:900913"):
        return places.from_mercator(west, south, east, north)
    return places.box(west, south, east, north) if places.is_geographic(system) else None


# tiles


def _tileset(data: Json, url: str) -> Description | None:
    asset, root = data.get("asset"), data.get("root")
    if not (isinstance(asset, dict) and isinstance(root, dict) and "geometricError" in data):
        return None
    if not isinstance(root.get("boundingVolume"), dict):
        return None
    found = Description(
        type="3dtiles",
        version=str(asset.get("version", ""))[:20],
        title=_text(_object(asset, "extras"), "title") or _text(asset, "generator"),
        endpoint=endpoints.endpoint_or_empty(url),
        software=_text(asset, "generator")[:60],
    )
    region = root["boundingVolume"].get("region")
    if isinstance(region, list) and len(region) == 6 and all(isinstance(one, (int, float)) for one in region):
        found.bbox = places.box(*(math.degrees(one) for one in region[:4]))
    content = _object(root, "content")
    uri = _text(content, "uri") or _text(content, "url")
    if uri:
        found.formats = [urlsplit(uri).path.rpartition(".")[2]]
    return found


def _tilejson(data: Json, url: str) -> Description | None:
    tiles = _strings(data, "tiles")
    if not isinstance(data.get("tilejson"), str) or not tiles:
        return None
    layers = [one for one in _list(data, "vector_layers") if isinstance(one, dict)]
    bbox = _box(data.get("bounds"))
    attribution = _plain(_text(data, "attribution"))
    return Description(
        type="tilejson",
        version=data["tilejson"][:20],
        title=_text(data, "name")[:1000],
        abstract=_text(data, "description")[:MAX_TEXT],
        endpoint=endpoints.endpoint_or_empty(url) or endpoints.without_secrets(tiles[0]),
        bbox=bbox,
        crs=["EPSG:3857"],
        formats=[_text(data, "format")] if _text(data, "format") else [],
        constraints=attribution,
        licence=licence(attribution),
        layers=[
            FoundLayer(name=_text(one, "id"), title=_text(one, "description"), bbox=bbox)
            for one in layers
            if _text(one, "id")
        ],
    )


# GeoJSON and OWS Context


def _context(data: Json, url: str) -> Description | None:
    properties = _object(data, "properties")
    profiles = [link for link in _list(properties, "links") if isinstance(link, dict)]
    profiles += [link for link in _list(_object(properties, "links"), "profiles") if isinstance(link, dict)]
    hrefs = [_text(link, "href") for link in profiles] + _strings(_object(properties, "links"), "profiles")
    if data.get("type") != "FeatureCollection" or not any("/spec/owc-geojson/" in one for one in hrefs):
        return None
    found = Description(
        type="owc",
        version="1.0",
        title=_text(properties, "title"),
        abstract=_text(properties, "subtitle") or _text(properties, "abstract"),
        endpoint=endpoints.endpoint_or_empty(url),
        bbox=_box(data.get("bbox")),
    )
    for feature in _list(data, "features")[:MAX_LAYERS]:
        if not isinstance(feature, dict):
            continue
        own = _object(feature, "properties")
        found.layers.append(
            FoundLayer(name=str(feature.get("id", "")) or _text(own, "title"), title=_text(own, "title"))
        )
        for offering in _list(own, "offerings"):
            for operation in _list(offering, "operations") if isinstance(offering, dict) else ():
                if isinstance(operation, dict) and _text(operation, "href").startswith("http"):
                    found.links.append(_text(operation, "href"))
    del found.links[MAX_LINKS:]
    return found


def _geojson(data: Json, url: str) -> Description | None:
    kind = data.get("type")
    if kind == "FeatureCollection" and isinstance(data.get("features"), list):
        features = [one for one in data["features"] if isinstance(one, dict)]
        if data["features"] and not any("geometry" in one for one in features[:100]):
            return none("a FeatureCollection whose features have no geometry")
    elif kind == "Feature" and "geometry" in data and "properties" in data:
        features = [data]
    elif kind in _GEOMETRIES and isinstance(
        data.get("geometries" if kind == "GeometryCollection" else "coordinates"), list
    ):
        features = [{"geometry": data}]
    else:
        return None
    title = _text(data, "name") or _text(data, "title") or _text(_object(data, "metadata"), "title")
    crs = _text(_object(_object(data, "crs"), "properties"), "name")
    bbox = _box(data.get("bbox")) or _bounds([one.get("geometry") for one in features])
    geometries = dict.fromkeys(
        str(one["geometry"].get("type")) for one in features[:1000] if isinstance(one.get("geometry"), dict)
    )
    name = title or urlsplit(url).path.rpartition("/")[2] or "features"
    return Description(
        type="geojson",
        version="",
        title=title[:1000],
        abstract=_text(data, "description")[:MAX_TEXT],
        endpoint=endpoints.endpoint_or_empty(url),
        bbox=bbox,
        crs=[places.crs_name(crs)] if crs else ["CRS:84"],
        formats=["application/geo+json"],
        layers=[FoundLayer(name=name[:500], title=title, bbox=bbox, keywords=list(geometries))],
    )


def _bounds(geometries: list[Any]) -> BBox | None:
    """Around all coordinates; without recursion, for they may be nested as deep as somebody likes."""
    west = south = math.inf
    east = north = -math.inf
    stack = [one for one in geometries if isinstance(one, dict)]
    steps = 0
    while stack and steps < 2_000_000:
        steps += 1
        one: Any = stack.pop()
        if isinstance(one, dict):
            stack.extend(part for part in (one.get("coordinates"), one.get("geometries")) if part)
        elif isinstance(one, list) and one:
            x, y = one[0], one[1] if len(one) > 1 else None
            if isinstance(x, (int, float)) and isinstance(y, (int, float)):
                west, east, south, north = min(west, x), max(east, x), min(south, y), max(north, y)
            elif isinstance(x, (list, dict)):
                stack.extend(one)
    return places.box(west, south, east, north) if west <= east else None


# members


def _links(data: Json) -> list[Json]:
    return [one for one in _list(data, "links")[:5000] if isinstance(one, dict) and isinstance(one.get("href"), str)]


def _relation(link: Json) -> str:
    rel = link.get("rel")
    match = _REL.fullmatch(rel) if isinstance(rel, str) else None
    return match[1] if match else str(rel or "")


def _address(link: Json, base: str) -> str:
    href = _text(link, "href")
    try:
        return urljoin(base, href) if base and href else href
    except ValueError:
        return ""


def _is_json(link: Json) -> bool:
    kind = _text(link, "type")
    return not kind or "json" in kind


def _contact_of(data: Json) -> tuple[Contact | None, str]:
    provider = _object(data, "provider")
    contacts = _list(data, "contacts") or ([data["contact"]] if isinstance(data.get("contact"), dict) else [])
    first = next((one for one in contacts if isinstance(one, dict)), {})
    emails = first.get("emails")
    email = _text(first, "email")
    if isinstance(emails, list) and emails and isinstance(emails[0], dict):
        email = email or _text(emails[0], "value")
    organisation = _text(provider, "name") or _text(first, "organization")
    person = _text(first, "name")
    found = Contact(
        person=person, organisation=organisation, email=email, url=_text(provider, "url") or _text(first, "url")
    )
    return (found if found != Contact() else None), organisation or person


def _summed(found: Description) -> Description:
    """What the collections have together."""
    found.bbox = found.bbox or places.union(layer.bbox for layer in found.layers)
    found.crs = list(dict.fromkeys(one for layer in found.layers for one in layer.crs))[:MAX_CRS]
    begins = [layer.temporal[0] for layer in found.layers if layer.temporal and layer.temporal[0]]
    ends = [layer.temporal[1] for layer in found.layers if layer.temporal and layer.temporal[1]]
    if begins or ends:
        found.temporal = (min(begins, default=""), max(ends, default=""))
    if not found.title and len(found.layers) == 1:
        found.title = found.layers[0].title
    return found


def _text(data: Json, name: str) -> str:
    value = data.get(name)
    return value.strip() if isinstance(value, str) else ""


def _list(data: Json, name: str) -> list[Any]:
    value = data.get(name)
    return value if isinstance(value, list) else []


def _object(data: Json, name: str) -> Json:
    value = data.get(name)
    return value if isinstance(value, dict) else {}


def _strings(data: Json, name: str) -> list[str]:
    return [one for one in _list(data, name) if isinstance(one, str)]


def _plain(text: str) -> str:
    """Without the HTML that ArcGIS and TileJSON put into texts."""
    return " ".join(re.sub(r"<[^<>]{0,500}>", " ", text).split())


def _moment(value: Any) -> str:
    from datetime import UTC, datetime

    if not isinstance(value, (int, float)):
        return ""
    try:
        return datetime.fromtimestamp(value / 1000, UTC).date().isoformat()
    except (ValueError, OverflowError, OSError):
        return ""
