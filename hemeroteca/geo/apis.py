"""JSON of geographic services: OGC APIs, STAC, SensorThings, ArcGIS, 3D Tiles, TileJSON, GeoJSON, OWS Context.

A type is told by the members its standard demands, with values of the right kind; never by a word somewhere inside.
"""

import math
import re
from typing import Any
from urllib.parse import urljoin, urlsplit

from hemeroteca.extract.document import names
from hemeroteca.geo import arcgis, endpoints, places
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
from hemeroteca.geo.json_members import (
    MAX_LINKS,
    Json,
    address_of,
    is_json,
    links_of,
    list_of,
    object_of,
    relation_of,
    strings_of,
    text_of,
    without_tags,
)
from hemeroteca.geo.licences import licence

OGC_TYPES = ("features", "tiles", "records", "processes", "maps", "coverages", "edr")
_CONFORMANCE = re.compile(
    r"https?://(?:www\.|schemas\.)?opengis\.(?:net|org)/spec/ogcapi[-_]?(\w+?)(?:[-_]\d+)?/(\d+\.\d+(?:\.\d+)?)", re.I
)
_OLD_FEATURES = re.compile(r"https?://www\.opengis\.net/spec/wfs-?1?/3\.0")
_STAC_CONFORMANCE = re.compile(r"https?://(?:api\.stacspec\.org|stacspec\.org)/v?(\d[\w.-]*?)/")
_GEOMETRIES = frozenset(
    ("Point", "MultiPoint", "LineString", "MultiLineString", "Polygon", "MultiPolygon", "GeometryCollection")
)
_THINGS = frozenset(("Things", "Locations", "Datastreams", "Sensors", "Observations", "ObservedProperties"))


def read(data: Any, url: str = "") -> Description:
    """What a JSON document is."""
    if not isinstance(data, dict):
        return none("JSON without an object at its top is no service description")
    for look in (_tileset, _tilejson, _stac, _context, _geojson, _sensorthings, _ogc, arcgis.read):
        found = look(data, url)
        if found is not None:
            return found
    return none("JSON that is none of the types in the list")


# OGC APIs


def _ogc(data: Json, url: str) -> Description | None:
    links = links_of(data)
    relations = {relation_of(link) for link in links}
    conforms = [one for one in list_of(data, "conformsTo") if isinstance(one, str)]
    collections = [one for one in list_of(data, "collections") if isinstance(one, dict)]
    processes = [one for one in list_of(data, "processes") if isinstance(one, dict)]
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
                    name=text_of(one, "id")[:500],
                    title=text_of(one, "title")[:1000],
                    abstract=text_of(one, "description")[:MAX_TEXT],
                    keywords=strings_of(one, "keywords")[:MAX_KEYWORDS],
                )
            )
        return found
    tilesets = [one for one in list_of(data, "tilesets") if isinstance(one, dict)]
    if not tilesets and links and text_of(data, "dataType"):
        tilesets = [data]  # one of them, by itself
    if tilesets and all(one.keys() & _OF_TILESET for one in tilesets) and not relations & _LANDING:
        found = _ogc_description(data, url, ["ogcapi-tiles"], "", "tiles")
        for one in tilesets[:MAX_LAYERS]:
            matrices = text_of(one, "tileMatrixSetId") or text_of(one, "tileMatrixSetURI").rpartition("/")[2]
            title = text_of(one, "title")[:1000]
            systems = places.crs_names([text_of(one, "crs")])
            found.layers.append(FoundLayer(name=title[:500] or matrices, title=title, crs=systems))
        return _summed(found)
    is_catalogue = isinstance(data.get("id"), str) and text_of(data, "itemType").lower() in ("record", "records")
    if not links and not is_catalogue:
        return None
    if relations & _LANDING and not {"features", "value", "id"} <= data.keys():
        types, version = _conformance(conforms)
        for rel, kind in _KIND_OF_RELATION:
            if rel in relations and kind not in types and not (conforms and kind == "ogcapi-features"):
                types.append(kind)
        addresses = {urlsplit(text_of(link, "href")).path.rstrip("/") for link in links}
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
    return any("/edr" in urlsplit(text_of(link, "href")).path.lower() for link in links)


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
        relations = {relation_of(link) for link in links_of(one)}
        kind = text_of(one, "itemType").lower()
        if "stac_version" in one:
            found["stac"] = None
        elif kind in ("record", "records"):
            found["ogcapi-records"] = None
        elif isinstance(one.get("data_queries"), dict):
            found["ogcapi-edr"] = None
        elif relations & {"coverage", "coverage-scheme"} or text_of(one, "dataType") == "coverage":
            found["ogcapi-coverages"] = None
        elif "items" in relations or kind == "feature":
            found["ogcapi-features"] = None
        if relations & {"tiles", "tilesets-vector", "tilesets-map"}:
            found["ogcapi-tiles"] = None
        if "map" in relations:
            found["ogcapi-maps"] = None
    return sorted(found, key=_order_of_types)


def _ogc_description(data: Json, url: str, types: list[str], version: str, part: str) -> Description:
    links = links_of(data)
    contact, provider = _contact_of(data)
    wanted = {"data", "conformance", "processes", "child", "collection", "search", "items", "next", "parent", "root"}
    wanted |= {"service-doc", "tilesets-vector", "tilesets-map", "ogc-catalog"}
    found = Description(
        type=types[0],
        also=types[1:],
        version=version or "1.0",
        title=(text_of(data, "title") or text_of(data, "apiTitle"))[:1000],
        abstract=text_of(data, "description")[:MAX_TEXT],
        keywords=strings_of(data, "keywords")[:MAX_KEYWORDS],
        provider=provider,
        contact=contact,
        endpoint=_api_root(data, url, part),
        links=[
            address
            for link in links
            if relation_of(link) in wanted and (address := address_of(link, url)) and is_json(link)
        ][:MAX_LINKS],
        formats=list(
            dict.fromkeys(kind for link in links if relation_of(link) == "self" and (kind := text_of(link, "type")))
        ),
    )
    terms = [text_of(data, "license"), *(address_of(link, url) for link in links if relation_of(link) == "license")]
    found.constraints = " ".join(one for one in terms if one)[:MAX_TEXT]
    found.licence = licence(found.constraints)
    if "pygeoapi" in str(text_of(data, "description") + text_of(data, "title")).lower():
        found.software = "pygeoapi"
    for name in ("ldproxy", "GeoServer", "pygeoapi", "deegree", "QGIS"):
        if not found.software and any(name.lower() in text_of(link, "href").lower() for link in links):
            found.software = name
    return found


def _api_root(data: Json, url: str, part: str) -> str:
    own = next((address_of(link, url) for link in links_of(data) if relation_of(link) == "self"), "")
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
    links = links_of(data)
    return FoundLayer(
        name=str(name)[:500],
        title=text_of(data, "title")[:1000],
        abstract=text_of(data, "description")[:MAX_TEXT],
        keywords=strings_of(data, "keywords")[:MAX_KEYWORDS],
        bbox=bbox,
        temporal=temporal,
        crs=places.crs_names(one.replace(" ", "") for one in strings_of(data, "crs"))[:MAX_CRS],
        formats=list(
            dict.fromkeys(kind for link in links if relation_of(link) == "items" and (kind := text_of(link, "type")))
        ),
        url=next((address_of(link, url) for link in links if relation_of(link) in ("self", "collection")), ""),
        metadata=[address_of(link, url) for link in links if relation_of(link) in ("describedby", "canonical")][:20],
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
    features = [one for one in list_of(data, "features") if isinstance(one, dict)]
    if version is None and kind == "FeatureCollection" and features and "stac_version" in features[0]:
        version = features[0].get("stac_version")
    if not isinstance(version, (str, float)) or not (links_of(data) or features or kind):
        return None
    found = Description(
        type="stac",
        version=str(version)[:20],
        title=(text_of(data, "title") or text_of(data, "id"))[:1000],
        abstract=text_of(data, "description")[:MAX_TEXT],
        keywords=strings_of(data, "keywords")[:MAX_KEYWORDS],
        endpoint=endpoints.endpoint_or_empty(url)
        or endpoints.endpoint_or_empty(
            next((text_of(one, "href") for one in links_of(data) if one.get("rel") == "self"), "")
        ),
        constraints=text_of(data, "license"),
    )
    providers = [one for one in list_of(data, "providers") if isinstance(one, dict)]
    if providers:
        found.provider = text_of(providers[0], "name")[:500]
        found.contact = Contact(organisation=found.provider, url=text_of(providers[0], "url"))
    found.licence = (
        licence(found.constraints) if found.constraints.lower() not in ("proprietary", "various") else "unknown"
    )
    if found.licence == "unknown" and re.fullmatch(r"[A-Za-z0-9.+-]+-\d[\w.+-]*", found.constraints):
        found.licence = found.constraints
    if kind == "Feature":
        properties = data.get("properties") if isinstance(data.get("properties"), dict) else {}
        assert isinstance(properties, dict)
        found.title = text_of(properties, "title") or found.title
        begin = text_of(properties, "start_datetime") or text_of(properties, "datetime")
        end = text_of(properties, "end_datetime") or begin
        found.bbox, found.temporal = _box(data.get("bbox")), (begin, end) if begin or end else None
        found.layers = [
            FoundLayer(
                name=str(key)[:500],
                title=text_of(asset, "title"),
                formats=[text_of(asset, "type")],
                url=address_of(asset, url),
            )
            for key, asset in list(object_of(data, "assets").items())[:1000]
            if isinstance(asset, dict)
        ]
        found.formats = list(dict.fromkeys(one for layer in found.layers for one in layer.formats if one))
    elif features:
        found.bbox = places.union(_box(one.get("bbox")) for one in features)
        found.layers = [
            FoundLayer(name=text_of(one, "id"), bbox=_box(one.get("bbox"))) for one in features if text_of(one, "id")
        ]
    else:
        found.bbox, found.temporal = _extent(data.get("extent"))
        if "extent" in data and (layer := _collection(data, url)):
            found.layers = [layer]
    types, _ = _conformance([one for one in list_of(data, "conformsTo") if isinstance(one, str)])
    found.also = [one for one in types if one != "stac"]
    wanted = ("child", "item", "items", "data", "search", "root", "parent", "collection", "next", "conformance")
    found.links = [
        address
        for link in links_of(data)
        if relation_of(link) in wanted and (address := address_of(link, url)) and is_json(link)
    ][:MAX_LINKS]
    thumbnail = next((object_of(object_of(data, "assets"), name) for name in ("thumbnail", "preview", "overview")), {})
    found.thumbnail = address_of(thumbnail, url) if thumbnail else ""
    return found


# SensorThings


def _sensorthings(data: Json, url: str) -> Description | None:
    entries = [one for one in list_of(data, "value") if isinstance(one, dict)]
    names = {text_of(one, "name"): text_of(one, "url") for one in entries}
    settings = str(object_of(data, "serverSettings").get("conformance", ""))  # of version 1.1
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
        title=text_of(object_of(asset, "extras"), "title") or text_of(asset, "generator"),
        endpoint=endpoints.endpoint_or_empty(url),
        software=text_of(asset, "generator")[:60],
    )
    region = root["boundingVolume"].get("region")
    if isinstance(region, list) and len(region) == 6 and all(isinstance(one, (int, float)) for one in region):
        found.bbox = places.box(*(math.degrees(one) for one in region[:4]))
    content = object_of(root, "content")
    uri = text_of(content, "uri") or text_of(content, "url")
    if uri:
        found.formats = [urlsplit(uri).path.rpartition(".")[2]]
    return found


def _tilejson(data: Json, url: str) -> Description | None:
    tiles = strings_of(data, "tiles")
    if not isinstance(data.get("tilejson"), str) or not tiles:
        return None
    layers = [one for one in list_of(data, "vector_layers") if isinstance(one, dict)]
    bbox = _box(data.get("bounds"))
    attribution = without_tags(text_of(data, "attribution"))
    return Description(
        type="tilejson",
        version=data["tilejson"][:20],
        title=text_of(data, "name")[:1000],
        abstract=text_of(data, "description")[:MAX_TEXT],
        endpoint=endpoints.endpoint_or_empty(url) or endpoints.without_secrets(tiles[0]),
        bbox=bbox,
        crs=["EPSG:3857"],
        formats=[text_of(data, "format")] if text_of(data, "format") else [],
        constraints=attribution,
        licence=licence(attribution),
        layers=[
            FoundLayer(name=text_of(one, "id"), title=text_of(one, "description"), bbox=bbox)
            for one in layers
            if text_of(one, "id")
        ],
    )


# GeoJSON and OWS Context


def _context(data: Json, url: str) -> Description | None:
    properties = object_of(data, "properties")
    profiles = [link for link in list_of(properties, "links") if isinstance(link, dict)]
    profiles += [link for link in list_of(object_of(properties, "links"), "profiles") if isinstance(link, dict)]
    hrefs = [text_of(link, "href") for link in profiles] + strings_of(object_of(properties, "links"), "profiles")
    if data.get("type") != "FeatureCollection" or not any("/spec/owc-geojson/" in one for one in hrefs):
        return None
    found = Description(
        type="owc",
        version="1.0",
        title=text_of(properties, "title"),
        abstract=text_of(properties, "subtitle") or text_of(properties, "abstract"),
        endpoint=endpoints.endpoint_or_empty(url),
        bbox=_box(data.get("bbox")),
    )
    for feature in list_of(data, "features")[:MAX_LAYERS]:
        if not isinstance(feature, dict):
            continue
        own = object_of(feature, "properties")
        found.layers.append(
            FoundLayer(name=str(feature.get("id", "")) or text_of(own, "title"), title=text_of(own, "title"))
        )
        for offering in list_of(own, "offerings"):
            for operation in list_of(offering, "operations") if isinstance(offering, dict) else ():
                if isinstance(operation, dict) and text_of(operation, "href").startswith("http"):
                    found.links.append(text_of(operation, "href"))
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
    title = text_of(data, "name") or text_of(data, "title") or text_of(object_of(data, "metadata"), "title")
    crs = text_of(object_of(object_of(data, "crs"), "properties"), "name")
    bbox = _box(data.get("bbox")) or _bounds([one.get("geometry") for one in features])
    geometries = dict.fromkeys(
        str(one["geometry"].get("type")) for one in features[:1000] if isinstance(one.get("geometry"), dict)
    )
    name = title or urlsplit(url).path.rpartition("/")[2] or "features"
    return Description(
        type="geojson",
        version="",
        title=title[:1000],
        abstract=text_of(data, "description")[:MAX_TEXT],
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


def _contact_of(data: Json) -> tuple[Contact | None, str]:
    provider = object_of(data, "provider")
    contacts = list_of(data, "contacts") or ([data["contact"]] if isinstance(data.get("contact"), dict) else [])
    first = next((one for one in contacts if isinstance(one, dict)), {})
    emails = first.get("emails")
    email = text_of(first, "email")
    if isinstance(emails, list) and emails and isinstance(emails[0], dict):
        email = email or text_of(emails[0], "value")
    organisation = text_of(provider, "name") or text_of(first, "organization")
    person = text_of(first, "name")
    found = Contact(
        person=person, organisation=organisation, email=email, url=text_of(provider, "url") or text_of(first, "url")
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
