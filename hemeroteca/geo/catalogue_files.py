"""The catalogue as files: CSV, GeoJSON, GeoPackage, and every document as it was received with an `index.csv`, as in
the founding work. Values that a spreadsheet would take for a formula are made harmless."""

import sqlite3
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import TextIO

import msgspec

from hemeroteca import spreadsheet
from hemeroteca.accounts import Actor, require
from hemeroteca.archive import content
from hemeroteca.archive import queries as archive
from hemeroteca.geo import queries, records
from hemeroteca.geo.models import Service
from hemeroteca.warc import WarcReadError

MAX_DOCUMENT = 64 << 20
COLUMNS = (
    "identifier", "type", "version", "title", "endpoint", "state", "reason", "provider", "licence", "country",
    "software", "language", "layers", "west", "south", "east", "north", "begin", "end", "keywords", "found_on",
    "found", "seen",
)  # fmt: skip


class ExportedCatalogue(msgspec.Struct):
    target: str
    services: int
    documents: int = 0
    unreadable: int = 0


def write_csv(rows: Iterable[Service], file: TextIO) -> int:
    file.write(spreadsheet.text([COLUMNS]))
    count = 0
    for service in rows:
        file.write(spreadsheet.text([_values(service)]))
        count += 1
    return count


def write_geojson(rows: Iterable[Service], file: TextIO, base: str) -> int:
    """One feature at a time: memory does not grow with the catalogue."""
    file.write('{"type":"FeatureCollection","features":[\n')
    count = 0
    for service in rows:
        file.write(",\n" if count else "")
        file.write(msgspec.json.encode(records.feature(service, base)).decode())
        count += 1
    file.write("\n]}\n")
    return count


def write_geopackage(rows: Iterable[Service], target: Path) -> int:
    """A GeoPackage 1.3 with one table of boxes, in WGS 84."""
    draft = target.with_name(target.name + ".part")
    draft.unlink(missing_ok=True)
    database = sqlite3.connect(draft)
    try:
        database.executescript(_GPKG)
        count = 0
        places = ", ".join("?" * (len(COLUMNS) + 1))
        for service in rows:
            box = service.bbox
            shape = _geometry(box) if box else None
            database.execute(f"INSERT INTO services VALUES (NULL, {places})", [shape, *_values(service)])  # noqa: S608
            count += 1
        database.execute(
            "UPDATE gpkg_contents SET (min_x, min_y, max_x, max_y) = "
            "(SELECT min(west), min(south), max(east), max(north) FROM services)"
        )
        database.commit()
    finally:
        database.close()
    draft.replace(target)
    return count


def write_documents(actor: Actor, wish: queries.ServiceQuery, folder: Path) -> ExportedCatalogue:
    """Every description as it was received, a file each, and `index.csv` with type, address and time."""
    require(actor, "geo.export")
    folder.mkdir(parents=True, exist_ok=True)
    done = ExportedCatalogue(str(folder), 0)
    with (folder / "index.csv").open("w", encoding="utf-8", newline="") as file:
        file.write(spreadsheet.text([("file", *COLUMNS)]))
        for service in queries.every(actor, wish):
            done.services += 1
            name = ""
            body = _document(service)
            if body is None:
                done.unreadable += bool(service.digest)
            else:
                suffix = "json" if body.lstrip()[:1] in (b"{", b"[") else "xml" if body.lstrip()[:1] == b"<" else "bin"
                name = f"{service.type}-{service.identifier}.{suffix}"
                (folder / name).write_bytes(body)
                done.documents += 1
            file.write(spreadsheet.text([[name, *_values(service)]]))
    return done


def _document(service: Service) -> bytes | None:
    """From the archive; None when it is not there."""
    row = archive.whole(service.digest) if service.digest else None
    if row is None:
        return None
    try:
        body, _ = content.original(row).content(MAX_DOCUMENT)
    except WarcReadError:
        return None
    return bytes(body) or None


def _values(service: Service) -> list[str | int | float | None]:
    found = records.moment(service.found_ms)
    seen = records.moment(service.seen_ms) if service.seen_ms else ""
    words = "; ".join(service.keywords)
    return [
        service.identifier, service.type, service.version, service.title, service.public_endpoint, service.state,
        service.reason, service.provider, service.licence, service.country, service.software, service.language,
        service.layers_count, service.west, service.south, service.east, service.north, service.begin, service.end,
        words, service.found_on, found, seen,
    ]  # fmt: skip


def _geometry(box: tuple[float, float, float, float]) -> bytes:
    """A polygon, or two over the date line, in the binary of GeoPackage."""
    west, south, east, north = box

    def polygon(left: float, right: float) -> bytes:
        corners = ((left, south), (right, south), (right, north), (left, north), (left, south))
        return struct.pack("<BIII", 1, 3, 1, 5) + b"".join(struct.pack("<2d", *corner) for corner in corners)

    head = b"GP\0\x01" + struct.pack("<i", 4326)
    if west > east:
        return head + struct.pack("<BII", 1, 6, 2) + polygon(west, 180.0) + polygon(-180.0, east)
    return head + polygon(west, east)


_GPKG = """
PRAGMA application_id=1196444487;
PRAGMA user_version=10300;
CREATE TABLE gpkg_spatial_ref_sys (srs_name TEXT NOT NULL, srs_id INTEGER PRIMARY KEY, organization TEXT NOT NULL,
  organization_coordsys_id INTEGER NOT NULL, definition TEXT NOT NULL, description TEXT);
INSERT INTO gpkg_spatial_ref_sys VALUES ('WGS 84', 4326, 'EPSG', 4326,
  'GEOGCS["WGS 84",DATUM["WGS_1984",SPHEROID["WGS 84",6378137,298.257223563]],PRIMEM["Greenwich",0],'
  || 'UNIT["degree",0.0174532925199433],AUTHORITY["EPSG","4326"]]', NULL),
  ('Undefined cartesian', -1, 'NONE', -1, 'undefined', NULL), ('Undefined geographic', 0, 'NONE', 0, 'undefined', NULL);
CREATE TABLE gpkg_contents (table_name TEXT NOT NULL PRIMARY KEY, data_type TEXT NOT NULL, identifier TEXT UNIQUE,
  description TEXT DEFAULT '', last_change DATETIME NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ','now')),
  min_x DOUBLE, min_y DOUBLE, max_x DOUBLE, max_y DOUBLE, srs_id INTEGER);
CREATE TABLE gpkg_geometry_columns (table_name TEXT NOT NULL, column_name TEXT NOT NULL,

  geometry_type_name TEXT NOT NULL,
  srs_id INTEGER NOT NULL, z TINYINT NOT NULL, m TINYINT NOT NULL, PRIMARY KEY (table_name, column_name));
CREATE TABLE services (fid INTEGER PRIMARY KEY AUTOINCREMENT, geom BLOB, identifier TEXT, type TEXT, version TEXT,
  title TEXT, endpoint TEXT, state TEXT, reason TEXT, provider TEXT, licence TEXT, country TEXT, software TEXT,
  language TEXT, layers INTEGER, west DOUBLE, south DOUBLE, east DOUBLE, north DOUBLE, begin TEXT, "end" TEXT,
  keywords TEXT, found_on TEXT, found TEXT, seen TEXT);
INSERT INTO gpkg_contents (table_name, data_type, identifier, srs_id) VALUES ('services', 'features', 'services', 4326);
INSERT INTO gpkg_geometry_columns VALUES ('services', 'geom', 'GEOMETRY', 4326, 0, 0);
"""
