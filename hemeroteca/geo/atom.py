"""Feeds with places: INSPIRE download services, OWS Context, GeoRSS. A feed without any of them is none of ours."""

import re

from hemeroteca.geo import endpoints, places
from hemeroteca.geo.description import MAX_LAYERS, MAX_TEXT, BBox, Contact, Description, FoundLayer, none
from hemeroteca.geo.licences import licence
from hemeroteca.geo.xmltree import Element, Tree, attribute, child, children, local, namespace, text

ROOT_NAMES = frozenset(("feed", "rss", "RDF", "OWSContext"))
INSPIRE = re.compile(r"https?://inspire\.ec\.europa\.eu/schemas/inspire_dls/")
OWC = re.compile(r"https?://www\.opengis\.net/(?:owc/|ows-context)")
GEORSS = re.compile(r"https?://www\.georss\.org/georss(?:/\d+)?/?|https?://www\.w3\.org/2003/01/geo/wgs84_pos#")
_PLACES = frozenset(("point", "line", "polygon", "box", "where", "circle", "lat", "Point"))
_GEODATA_TYPE = re.compile(
    r"gml|shapefile|x-shp|geopackage|gpkg|vnd\.google-earth|geo\+json|x-filegdb|image/(?:geo)?tiff|jp2|jpeg2000|x-ecw|"
    r"x-ascii-grid|x-las|x-laz|netcdf|x-mapinfo|x-tab|dxf|dwg|dgn|gpx|flatgeobuf|parquet|x-worldfile",
    re.I,
)
_GEODATA_FILE = re.compile(
    r"\.(?:gml|shp|gpkg|kmz?|geojson|gdb|tiff?|jp2|ecw|asc|las|laz|nc|fgb|parquet|dxf|gpx|xyz|mbtiles|pmtiles)"
    r"(?:\.zip|\.gz)?(?:[?#]|$)",
    re.I,
)
_CRS_TERM = re.compile(r"https?://www\.opengis\.net/def/crs/|urn:ogc:def:crs:|EPSG:\d", re.I)


def read(tree: Tree, url: str = "") -> Description:
    """What a feed is."""
    root = tree.root
    if local(root) == "OWSContext":
        if OWC.match(namespace(root)) or not namespace(root):
            return _context(tree, url)
        return none(f"root OWSContext in {namespace(root)[:100]} is no OWS Context")
    spaces = {namespace(element) for element in root.iter() if isinstance(element.tag, str)}
    if any(OWC.match(space) for space in spaces) or _has_profile(root):
        return _context(tree, url)
    if local(root) == "feed" and (any(INSPIRE.match(space) for space in spaces) or _offers_geodata(root)):
        return _download(tree, url)
    if any(GEORSS.fullmatch(space) for space in spaces):
        return _georss(tree, url)
    return none("a feed without places, downloads of geodata or an OWS Context", *tree.prolog.notes)


def _begin(tree: Tree, kind: str, version: str, url: str) -> Description:
    root = tree.root
    channel = child(root, "channel") if local(root) in ("rss", "RDF") else root
    author = child(channel, "author")
    rights = text(channel, "rights") or text(channel, "copyright")
    name, email = text(author, "name"), text(author, "email")
    self_link = next(
        (attribute(one, "href") for one in children(channel, "link") if attribute(one, "rel") == "self"), ""
    )
    return Description(
        type=kind,
        version=version,
        title=text(channel, "title")[:1000],
        abstract=(text(channel, "subtitle") or text(channel, "description"))[:MAX_TEXT],
        provider=name[:500],
        contact=Contact(organisation=name[:500], email=email[:200]) if name or email else None,
        constraints=rights[:MAX_TEXT],
        licence=licence(rights),
        language=root.get("{http://www.w3.org/XML/1998/namespace}lang", "") or text(channel, "language"),
        notes=list(tree.prolog.notes),
        endpoint=endpoints.endpoint_or_empty(url) or endpoints.endpoint_or_empty(self_link),
    )


def _download(tree: Tree, url: str) -> Description:
    found = _begin(tree, "atom", "1.0", url)
    crs: dict[str, None] = {}
    formats: dict[str, None] = {}
    for entry in tree.root.iter("{*}entry"):
        if len(found.layers) >= MAX_LAYERS:
            found.note(f"layers-cut: more than {MAX_LAYERS:,}")
            break
        links = list(children(entry, "link"))
        systems = [
            places.crs_name(term)
            for one in children(entry, "category")
            if _CRS_TERM.search(term := attribute(one, "term"))
        ]
        code = text(entry, "spatial_dataset_identifier_code")
        kinds = [attribute(one, "type") for one in links if _GEODATA_TYPE.search(attribute(one, "type"))]
        layer = FoundLayer(
            name=(code or text(entry, "id") or text(entry, "title"))[:500],
            title=text(entry, "title")[:1000],
            abstract=(text(entry, "summary") or text(entry, "content"))[:MAX_TEXT],
            bbox=_box_of(entry),
            crs=list(dict.fromkeys(systems)),
            formats=list(dict.fromkeys(kinds)),
            metadata=[attribute(one, "href") for one in links if attribute(one, "rel") == "describedby"],
            url=next(
                (attribute(one, "href") for one in links if attribute(one, "rel") in ("alternate", "enclosure")), ""
            ),
        )
        crs.update(dict.fromkeys(layer.crs))
        formats.update(dict.fromkeys(layer.formats))
        if layer.name:
            found.layers.append(layer)
    found.crs, found.formats = list(crs), list(formats)
    found.bbox = _box_of(tree.root) or places.union(layer.bbox for layer in found.layers)
    wanted = ("alternate", "describedby", "search", "self", "related")
    found.links = [
        address
        for one in tree.root.iter("{*}link")
        if (attribute(one, "rel") or "alternate") in wanted
        and (address := attribute(one, "href")).startswith(("http://", "https://"))
        and not _GEODATA_FILE.search(address)
    ][:1000]
    return found


def _context(tree: Tree, url: str) -> Description:
    found = _begin(tree, "owc", _context_version(tree), url)
    root = tree.root
    if local(root) == "OWSContext":
        found.version = attribute(root, "version") or found.version
        found.title = text(root, "General", "Title") or found.title
        for element in root.iter("{*}Layer", "{*}FeatureType"):
            name = text(element, "Name") or attribute(element, "name") or attribute(element, "id")
            if name and len(found.layers) < MAX_LAYERS:
                found.layers.append(FoundLayer(name=name[:500], title=text(element, "Title")[:1000]))
    for entry in root.iter("{*}entry"):
        if len(found.layers) >= MAX_LAYERS:
            break
        offerings = [attribute(one, "href") for part in entry.iter("{*}offering") for one in part.iter("{*}operation")]
        found.links += [one for one in offerings if one.startswith(("http://", "https://"))][:20]
        layer = FoundLayer(
            name=(text(entry, "id") or text(entry, "title"))[:500],
            title=text(entry, "title")[:1000],
            abstract=text(entry, "content")[:MAX_TEXT],
            bbox=_box_of(entry),
        )
        if layer.name:
            found.layers.append(layer)
    found.bbox = _box_of(root) or places.union(layer.bbox for layer in found.layers)
    found.links = list(dict.fromkeys(found.links))[:1000]
    return found


def _georss(tree: Tree, url: str) -> Description:
    """Its entries must have places: a namespace that is only declared says nothing."""
    root = tree.root
    boxes: list[BBox] = []
    count = 0
    for entry in root.iter("{*}entry", "{*}item"):
        if (one := _box_of(entry)) is not None:
            boxes.append(one)
        count += 1
    if not boxes and _box_of(root) is None:
        return none("a feed whose entries have no places", *tree.prolog.notes)
    found = _begin(tree, "georss", attribute(root, "version") if local(root) == "rss" else "", url)
    found.bbox = places.union(boxes) or _box_of(root)
    found.crs = ["CRS:84"]
    found.layers = [
        FoundLayer(name=found.title or "feed", title=found.title, bbox=found.bbox, abstract=f"{count} entries")
    ]
    return found


def _box_of(element: Element) -> BBox | None:
    """GeoRSS of an entry or feed, its own and not that of entries inside it. Latitude comes first."""
    if local(element) in ("feed", "OWSContext"):
        parts = [part for part in element if local(part) in _PLACES]
    else:
        parts = [part for part in element.iter() if local(part) in _PLACES]
    latitude = longitude = None
    for part in parts:
        name = local(part)
        if not isinstance(part.tag, str) or not (GEORSS.fullmatch(namespace(part)) or not namespace(part)):
            continue
        if name == "lat":
            latitude = places.number(text(part))
            continue
        values = [value for one in _texts(part) for value in places.numbers(one)]
        if name in ("box", "line", "polygon", "where", "point", "circle") and len(values) >= 2:
            if name == "circle":
                values = values[:2]
            pairs = list(zip(values[1::2], values[0::2], strict=False))
            return places.box(
                min(x for x, _ in pairs), min(y for _, y in pairs), max(x for x, _ in pairs), max(y for _, y in pairs)
            )
    if latitude is not None:
        longitude = next(
            (places.number(text(part)) for part in element.iter("{*}long", "{*}lon") if isinstance(part.tag, str)), None
        )
        if longitude is not None:
            return places.box(longitude, latitude, longitude, latitude)
    return None


def _texts(element: Element) -> list[str]:
    return [one for part in element.iter() if isinstance(part.tag, str) and (one := (part.text or "").strip())][:50]


def _has_profile(root: Element) -> bool:
    return any(
        attribute(one, "rel") == "profile" and "/owc-atom/" in attribute(one, "href") for one in children(root, "link")
    )


def _context_version(tree: Tree) -> str:
    return "0.3" if local(tree.root) == "OWSContext" else "1.0"


def _offers_geodata(root: Element) -> bool:
    """Entries with files of geodata to download, by media type, by name, or packed and with a coordinate system."""
    for entry in root.iter("{*}entry"):
        systems = any(_CRS_TERM.search(attribute(one, "term")) for one in children(entry, "category"))
        for link in children(entry, "link"):
            relation = attribute(link, "rel") or "alternate"
            if relation not in ("enclosure", "alternate", "section"):
                continue
            kind, address = attribute(link, "type"), attribute(link, "href")
            if _GEODATA_TYPE.search(kind) or _GEODATA_FILE.search(address):
                return True
            if systems and (relation == "enclosure" or "zip" in kind or address.lower().endswith(".zip")):
                return True
    return False
