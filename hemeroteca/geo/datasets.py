"""Files of geographic data, told by their magic numbers and by what their formats demand: GeoPackage, GeoTIFF,
shapefile, KML, PMTiles, FlatGeobuf, GeoParquet. Bounded: only headers, directories and footers are looked at."""

import io
import re
import sqlite3
import struct
import zipfile
from typing import Any
from urllib.parse import urlsplit

import msgspec

from hemeroteca.geo import endpoints, places
from hemeroteca.geo.description import MAX_TEXT, BBox, Description, FoundLayer, none
from hemeroteca.geo.xmltree import Tree, local, namespace, text

KML = re.compile(r"https?://(?:www\.opengis\.net/kml|earth\.google\.com/kml|www\.google\.com/kml)(?:/(\d[\d.]*))?/?")
MAX_MEMBERS = 5_000  # of a ZIP
MAX_KML = 16 << 20  # unpacked
MAX_DIRECTORIES = 64  # of a TIFF
MAX_STEPS = 200_000  # of the little SQL that reads a GeoPackage
ZIP, SQLITE, PARQUET = b"PK\x03\x04", b"SQLite format 3\0", b"PAR1"
TIFFS = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
STARTS = (ZIP, SQLITE, PARQUET, *TIFFS, b"\0\0\x27\x0a", b"PMTiles", b"fgb")


def read(body: bytes, url: str = "") -> Description | None:
    """What a binary file is; None when nothing is known of its beginning."""
    found: Description | None = None
    if body.startswith(TIFFS):
        found = _tiff(body)
    elif body.startswith(SQLITE):
        found = _geopackage(body, url)
    elif body.startswith(ZIP):
        found = _zip(body, url)
    elif body.startswith(b"\0\0\x27\x0a") and body[28:32] == b"\xe8\x03\0\0":
        found = _shapefile(body[:100], "")
    elif body.startswith((b"PMTiles\x03", b"PMTiles\x02", b"PMTiles\x01")):
        found = _pmtiles(body)
    elif body.startswith(b"fgb") and body[4:7] == b"fgb":
        found = _flatgeobuf(body)
    elif body.startswith(PARQUET):
        found = _parquet(body)
    if found is not None and found.found:
        found.endpoint = endpoints.endpoint_or_empty(url)
        name = urlsplit(url).path.rpartition("/")[2]
        found.title = found.title or name
        if not found.layers:
            found.layers = [FoundLayer(name=name or found.type, title=found.title, bbox=found.bbox, crs=found.crs)]
    return found


def is_kml(tree: Tree) -> bool:
    space = namespace(tree.root)
    return local(tree.root) == "kml" and (not space or KML.fullmatch(space) is not None)


def kml(tree: Tree, url: str = "") -> Description:
    root = tree.root
    match = KML.fullmatch(namespace(root))
    boxes: list[BBox | None] = []
    count = 0
    for element in root.iter("{*}coordinates", "{*}LatLonBox", "{*}LatLonAltBox", "{*}Placemark"):
        name = local(element)
        if name == "Placemark":
            count += 1
        elif name == "coordinates":
            boxes.append(_coordinates(element.text or ""))
        else:
            boxes.append(places.box(*(text(element, side) for side in ("west", "south", "east", "north"))))
    top = next(root.iter("{*}Document", "{*}Folder", "{*}Placemark", "{*}NetworkLink", "{*}GroundOverlay"), None)
    bbox = places.union(boxes)
    title = text(top, "name")[:1000]
    name = title or urlsplit(url).path.rpartition("/")[2] or "kml"
    links = [text(one) for one in root.iter("{*}href") if text(one).startswith(("http://", "https://"))]
    return Description(
        type="kml",
        version=(match[1] or "") if match else "",
        title=title,
        abstract=text(top, "description")[:MAX_TEXT],
        endpoint=endpoints.endpoint_or_empty(url),
        bbox=bbox,
        crs=["CRS:84"],
        formats=["application/vnd.google-earth.kml+xml"],
        layers=[FoundLayer(name=name, title=title, bbox=bbox, abstract=f"{count} placemarks")],
        links=list(dict.fromkeys(links))[:100],
        notes=list(tree.prolog.notes),
    )


def _coordinates(value: str) -> BBox | None:
    points = [part.split(",") for part in value[: 4 << 20].split()]
    pairs = [
        (x, y)
        for part in points
        if len(part) > 1 and (x := places.number(part[0])) is not None and (y := places.number(part[1])) is not None
    ]
    if not pairs:
        return None
    return places.box(
        min(x for x, _ in pairs), min(y for _, y in pairs), max(x for x, _ in pairs), max(y for _, y in pairs)
    )


# ZIP: shapefile, KMZ


def _zip(body: bytes, url: str) -> Description | None:
    archive: zipfile.ZipFile | None
    try:
        archive = zipfile.ZipFile(io.BytesIO(body))
        names = [one.filename for one in archive.infolist()[:MAX_MEMBERS]]
    except (zipfile.BadZipFile, ValueError, NotImplementedError, struct.error, UnicodeDecodeError):
        # cut: the directory at its end is missing; the first name tells what it can
        length = int.from_bytes(body[26:28], "little")
        names, archive = [body[30 : 30 + length].decode("utf-8", "replace")], None
    lowered = {name.lower(): name for name in names}
    shapes = [name for name in lowered if name.endswith(".shp")]
    if shapes and (archive is None or any(name.endswith((".dbf", ".shx")) for name in lowered)):
        system = ""
        head = b""
        if archive is not None:
            head = _member(archive, lowered[shapes[0]], 100)
            projection = shapes[0].removesuffix(".shp") + ".prj"
            if projection in lowered:
                system = _member(archive, lowered[projection], 20_000).decode("utf-8", "replace")
        found = _shapefile(head, system)
        found.layers = [
            FoundLayer(name=name.rpartition("/")[2].removesuffix(".shp"), bbox=found.bbox if len(shapes) == 1 else None)
            for name in shapes
        ]
        return found
    if documents := [name for name in lowered if name.endswith(".kml")]:
        if archive is None:
            return Description(type="kml", version="", formats=["application/vnd.google-earth.kmz"])
        from hemeroteca.geo import xmltree

        data = xmltree.to_utf8(_member(archive, lowered[documents[0]], MAX_KML))
        start = xmltree.prolog(data)
        tree = xmltree.parse(data, start) if start else None
        if tree is not None and is_kml(tree):
            found = kml(tree, url)
            found.formats = ["application/vnd.google-earth.kmz"]
            return found
    return none("a ZIP that holds neither a shapefile nor KML")


def _member(archive: zipfile.ZipFile, name: str, limit: int) -> bytes:
    try:
        with archive.open(name) as file:
            return file.read(limit)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError, EOFError, ValueError, KeyError):
        return b""
    except Exception:  # zlib.error, lzma errors: whatever a damaged member raises
        return b""


def _shapefile(head: bytes, system: str) -> Description:
    found = Description(type="shapefile", version="", formats=["application/x-shapefile"])
    code = re.findall(r'AUTHORITY\s*\[\s*"EPSG"\s*,\s*"(\d+)"', system)
    if code:
        found.crs = [f"EPSG:{code[-1]}"]
    elif re.match(r"\s*GEOGCS", system) and "WGS_1984" in system:
        found.crs = ["EPSG:4326"]
    if len(head) >= 68:
        west, south, east, north = struct.unpack_from("<4d", head, 36)
        if not system or system.lstrip().startswith("GEOGCS"):
            found.bbox = places.box(west, south, east, north)
    return found


# single files


def _geopackage(body: bytes, url: str) -> Description:
    mark = body[68:72]
    named = urlsplit(url).path.lower().endswith((".gpkg", ".gpkx"))
    if mark not in (b"GPKG", b"GP10", b"GP11") and not (named and b"gpkg_contents" in body[: 1 << 20]):
        if b"CREATE TABLE metadata" in body[:65536] and b"tile_data" in body[:65536]:
            return none("MBTiles is not in the list of types")
        return none("an SQLite database that is no GeoPackage")
    number = int.from_bytes(body[60:64], "big")
    version = {b"GP10": "1.0", b"GP11": "1.1"}.get(mark, f"{number // 10000}.{number // 100 % 100}" if number else "")
    found = Description(type="gpkg", version=version, formats=["application/geopackage+sqlite3"])
    try:
        _read_contents(body, found)
    except (sqlite3.Error, MemoryError, ValueError, TypeError) as error:
        found.note(f"contents-unreadable: {str(error)[:100]}")
    found.bbox = places.union(layer.bbox for layer in found.layers)
    found.crs = list(dict.fromkeys(one for layer in found.layers for one in layer.crs))
    return found


def _read_contents(body: bytes, found: Description) -> None:
    """The table of contents, in memory, with nothing of the file's own schema trusted and few steps allowed."""
    database = sqlite3.connect(":memory:")
    try:
        database.deserialize(body)
        database.execute("PRAGMA trusted_schema=OFF")
        database.execute("PRAGMA cell_size_check=ON")
        steps = iter(range(MAX_STEPS // 1000))
        database.set_progress_handler(lambda: 0 if next(steps, None) is not None else 1, 1000)
        database.execute("PRAGMA query_only=ON")
        rows = database.execute(
            "SELECT table_name, identifier, description, min_x, min_y, max_x, max_y, srs_id "
            "FROM gpkg_contents LIMIT 1000"
        ).fetchall()
    finally:
        database.close()
    for name, identifier, description, west, south, east, north, system in rows:
        geographic = system in (4326, 4258, 4269)
        bbox = places.box(west, south, east, north) if geographic else None
        if system == 3857 and None not in (west, south, east, north):
            bbox = places.from_mercator(west, south, east, north)
        found.layers.append(
            FoundLayer(
                name=str(name)[:500],
                title=str(identifier or "")[:1000],
                abstract=str(description or "")[:MAX_TEXT],
                bbox=bbox,
                crs=[f"EPSG:{system}"] if isinstance(system, int) and system > 0 else [],
            )
        )


def _tiff(body: bytes) -> Description:
    """The directories of a TIFF; one without GeoKeys is only a picture."""
    order = "<" if body[:1] == b"I" else ">"
    big = body[2:4] in (b"+\0", b"\0+")
    try:
        tags, tiled, directories, first = _directories(body, order, big)
    except struct.error:
        return none("a TIFF that is cut before its directory")
    if 34735 not in tags:
        return none("a TIFF without GeoKeys is a picture, not a GeoTIFF")
    # COG: tiled, its directories before its pixels, and overviews unless it is small
    ghost = b"LAYOUT=IFDS_BEFORE_DATA" in body[:1024]
    small = max(tags.get(256, (0,))[0], tags.get(257, (0,))[0]) <= 1024
    optimised = tiled and (ghost or (first <= 65536 and (directories > 1 or small)))
    found = Description(type="cog" if optimised else "geotiff", version="", formats=["image/tiff; application=geotiff"])
    keys = tags[34735]
    codes = {keys[at]: keys[at + 3] for at in range(4, len(keys) - 3, 4) if keys[at + 1] == 0}
    code = codes.get(3072) or codes.get(2048) or 0
    if 1023 < code < 32767:
        found.crs = [f"EPSG:{code}"]
    scale, tie = tags.get(33550, ()), tags.get(33922, ())
    width, height = tags.get(256, (0,))[0], tags.get(257, (0,))[0]
    if len(scale) >= 2 and len(tie) >= 6:
        west, north = tie[3] - tie[0] * scale[0], tie[4] + tie[1] * scale[1]
        sides = (west, north - height * scale[1], west + width * scale[0], north)
        if codes.get(1024) == 2 or (found.crs and places.is_geographic(found.crs[0])):
            found.bbox = places.box(*sides)
        elif found.crs == ["EPSG:3857"]:
            found.bbox = places.from_mercator(*sides)
    return found


def _directories(body: bytes, order: str, big: bool) -> tuple[dict[int, tuple[Any, ...]], bool, int, int]:
    """(tags of the first directory, whether it is tiled, number of directories, where the first lies)."""
    at = first = struct.unpack_from(order + ("Q" if big else "I"), body, 8 if big else 4)[0]
    tags: dict[int, tuple[Any, ...]] = {}
    seen: set[int] = set()
    sizes = {1: "B", 2: "s", 3: "H", 4: "I", 12: "d", 16: "Q"}
    while at and at not in seen and len(seen) < MAX_DIRECTORIES:
        seen.add(at)
        try:
            count = struct.unpack_from(order + ("Q" if big else "H"), body, at)[0]
        except struct.error:
            if len(seen) == 1:
                raise
            break
        place, step, inline = at + (8 if big else 2), 20 if big else 12, 8 if big else 4
        for entry in range(min(count, 500)):
            spot = place + entry * step
            tag, kind = struct.unpack_from(order + "HH", body, spot)
            amount = struct.unpack_from(order + ("Q" if big else "I"), body, spot + 4)[0]
            if len(seen) > 1 or kind not in sizes or amount > 10_000:
                continue
            if tag not in (256, 257, 322, 33550, 33922, 34264, 34735):
                continue
            size = struct.calcsize(order + sizes[kind]) * amount
            value_at = spot + (12 if big else 8)
            if size > inline:
                value_at = struct.unpack_from(order + ("Q" if big else "I"), body, value_at)[0]
            try:
                tags[tag] = struct.unpack_from(f"{order}{amount}{sizes[kind]}", body, value_at)
            except struct.error:
                tags[tag] = ()
        try:
            at = struct.unpack_from(order + ("Q" if big else "I"), body, place + count * step)[0]
        except struct.error:
            break
    return tags, 322 in tags, len(seen), first


def _pmtiles(body: bytes) -> Description:
    found = Description(type="pmtiles", version=str(body[7]), formats=["application/vnd.pmtiles"], crs=["EPSG:3857"])
    if body[7] == 3 and len(body) >= 127:
        sides = struct.unpack_from("<4i", body, 102)
        found.bbox = places.box(*(side / 1e7 for side in sides))
        kind = {1: "mvt", 2: "png", 3: "jpeg", 4: "webp", 5: "avif"}.get(body[99])
        if kind:
            found.formats.append(kind)
        at, length = struct.unpack_from("<QQ", body, 24)
        if length < (4 << 20) and len(body) >= at + length:
            _pmtiles_metadata(body[at : at + length], body[97], found)
    return found


def _pmtiles_metadata(data: bytes, packed: int, found: Description) -> None:
    from hemeroteca.extract import decode_body

    if packed == 2:
        data, _ = decode_body(data, "gzip", 4 << 20)
    try:
        facts = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return
    if isinstance(facts, dict):
        found.title = str(facts.get("name") or "")[:1000]
        found.abstract = str(facts.get("description") or "")[:MAX_TEXT]
        layers = facts.get("vector_layers")
        for one in layers[:1000] if isinstance(layers, list) else ():
            if isinstance(one, dict) and isinstance(one.get("id"), str):
                found.layers.append(FoundLayer(name=one["id"], bbox=found.bbox))


def _flatgeobuf(body: bytes) -> Description:
    """Its header is a FlatBuffer; the first vector table entries are name and envelope."""
    found = Description(type="flatgeobuf", version=str(body[3]), formats=["application/flatgeobuf"])
    try:
        table = 12 + struct.unpack_from("<I", body, 12)[0]
        virtual = table - struct.unpack_from("<i", body, table)[0]
        size = struct.unpack_from("<H", body, virtual)[0]

        def slot(number: int) -> int:
            where = 4 + 2 * number
            return struct.unpack_from("<H", body, virtual + where)[0] if where < size else 0

        if offset := slot(0):
            at = table + offset + struct.unpack_from("<I", body, table + offset)[0]
            length = struct.unpack_from("<I", body, at)[0]
            found.title = body[at + 4 : at + 4 + min(length, 500)].decode("utf-8", "replace")
        if offset := slot(1):
            at = table + offset + struct.unpack_from("<I", body, table + offset)[0]
            if struct.unpack_from("<I", body, at)[0] >= 4:
                found.bbox = places.box(*struct.unpack_from("<4d", body, at + 4))
    except struct.error:
        found.note("header-unreadable")
    return found


def _parquet(body: bytes) -> Description:
    """The metadata `geo` in its footer (GeoParquet); any other Parquet file is a table."""
    if not body.endswith(PARQUET) or len(body) < 12:
        return none("a Parquet file without its footer")
    length = int.from_bytes(body[-8:-4], "little")
    footer = body[max(4, len(body) - 8 - length) : -8]
    at = footer.find(b"\x03geo")
    begin = footer.find(b"{", at) if at >= 0 else -1
    if begin < 0 or begin - at > 16:
        return none("a Parquet file without the metadata `geo` of GeoParquet")
    import json

    try:
        facts, _ = json.JSONDecoder().raw_decode(footer[begin : begin + (4 << 20)].decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        facts = {}
    found = Description(type="geoparquet", formats=["application/vnd.apache.parquet"])
    found.version = str(facts.get("version", "")) if isinstance(facts, dict) else ""
    columns = facts.get("columns") if isinstance(facts, dict) else None
    main = columns.get(facts.get("primary_column", "geometry")) if isinstance(columns, dict) else None
    if isinstance(main, dict):
        bbox = main.get("bbox")
        if isinstance(bbox, list) and len(bbox) in (4, 6):
            half = len(bbox) // 2
            found.bbox = places.box(bbox[0], bbox[1], bbox[half], bbox[half + 1])
        crs = main.get("crs")
        identity = crs.get("id") if isinstance(crs, dict) else None
        if isinstance(identity, dict):
            found.crs = [f"{identity.get('authority')}:{identity.get('code')}"]
        elif crs is None:
            found.crs = ["CRS:84"]
    return found
