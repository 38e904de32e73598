"""What is a service and what is not: documents as servers really send them, and documents meant to mislead."""

import gzip
import json
import random
import struct
import zipfile
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hemeroteca.geo.description import TYPES
from hemeroteca.geo.detection import describe

WMS = """<?xml version="1.0" encoding="UTF-8"?>
<WMS_Capabilities xmlns="http://www.opengis.net/wms" xmlns:xlink="http://www.w3.org/1999/xlink" version="1.3.0">
<Service><Name>WMS</Name><Title>Ríos</Title><Fees>none</Fees>
<AccessConstraints>CC BY 4.0</AccessConstraints></Service>
<Capability><Request><GetCapabilities><Format>text/xml</Format><DCPType><HTTP><Get>
<OnlineResource xlink:href="https://maps.example.org/wms?"/></Get></HTTP></DCPType></GetCapabilities>
<GetMap><Format>image/png</Format></GetMap></Request>
<Layer><Title>root</Title><CRS>EPSG:4326</CRS>
<EX_GeographicBoundingBox><westBoundLongitude>-9</westBoundLongitude><eastBoundLongitude>4</eastBoundLongitude>
<southBoundLatitude>36</southBoundLatitude><northBoundLatitude>44</northBoundLatitude></EX_GeographicBoundingBox>
<Layer queryable="1"><Name>rivers</Name><Title>Rivers</Title></Layer>
<Layer><Name>lakes</Name><Title>Lakes</Title><CRS>EPSG:25830</CRS></Layer>
</Layer></Capability></WMS_Capabilities>"""


def layers(text: str) -> list[str]:
    return [layer.name for layer in describe(text.encode()).layers]


def test_a_plain_wms_is_read():
    found = describe(WMS.encode())
    assert (found.type, found.version, found.title) == ("wms", "1.3.0", "Ríos")
    assert found.endpoint == "https://maps.example.org/wms"
    assert found.licence == "CC-BY-4.0"
    assert found.bbox == (-9, 36, 4, 44)
    rivers, lakes = found.layers
    assert (rivers.name, rivers.bbox, rivers.crs, rivers.queryable) == ("rivers", (-9, 36, 4, 44), ["EPSG:4326"], True)
    assert lakes.crs == ["EPSG:25830", "EPSG:4326"]


@pytest.mark.parametrize(
    ("address", "leads"),
    [
        ("https://maps.example.org/", True),  # who provides it
        ("https://maps.example.org/wms/other", True),
        ("https://maps.example.org/wms?map=/srv/other.map", True),
        ("https://maps.example.org/wms", False),
        ("https://maps.example.org/wms?SERVICE=WMS&amp;request=GetCapabilities", False),
    ],
)
def test_what_leads_back_to_the_service_is_no_lead(address, leads):
    text = WMS.replace("</Service>", f'<OnlineResource xlink:href="{address}"/></Service>')
    assert bool(describe(text.encode()).links) is leads


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace(' xmlns="http://www.opengis.net/wms"', ""),
        lambda text: "\ufeff" + text,
        lambda text: "\n\n  " + text,
        lambda text: "Warning: mysql_connect() in /var/www/wms.php on line 3\n" + text,
        lambda text: "<br />\n<b>Notice</b>: Undefined index: map in <b>/wms.php</b><br />\n" + text,
        lambda text: "<br />\n<b>Notice</b>\n" + text.partition("?>")[2],
        lambda text: "<!-- generated -->" + text.partition("?>")[2],
        lambda text: text.replace(
            "?>", '?><!DOCTYPE WMS_Capabilities SYSTEM "x.dtd" [<!ELEMENT VendorSpecific EMPTY>]>', 1
        ),
        lambda text: text.replace("<WMS_Cap", "<wms:WMS_Cap").replace("</WMS_Cap", "</wms:WMS_Cap"),
        lambda text: text.replace("<Title>Rivers</Title>", "<Title>Rivers & lakes &nbsp; r&eacute;</Title>"),
        lambda text: text.replace("<Title>Rivers</Title>", "<Title>Rivers\x00\x0b</Title>"),
        lambda text: "\x00" + text,
        lambda text: text.replace("wms?", "wms?map=a.map&amp;x=1&y=2&"),
        lambda text: text + "<br/>Warning: something after the end",
        lambda text: text.replace("</Capability></WMS_Capabilities>", ""),
    ],
)
def test_what_servers_do_to_a_wms_does_not_hide_it(change):
    found = describe(change(WMS).encode(), "text/html")
    assert (found.type, found.version) == ("wms", "1.3.0")
    assert [layer.name for layer in found.layers] == ["rivers", "lakes"]
    assert found.bbox == (-9, 36, 4, 44)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig", "iso-8859-1"])
def test_any_encoding(encoding):
    text = WMS.replace("UTF-8", "ISO-8859-1") if encoding == "iso-8859-1" else WMS
    found = describe(text.encode(encoding))
    assert (found.type, found.title) == ("wms", "Ríos")


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (gzip.compress(WMS.encode(), mtime=0), "wms"),
        (b'<soap:Envelope xmlns:soap="http://www.w3.org/2003/05/soap-envelope"><soap:Header/><soap:Body>'
         + WMS.partition("?>")[2].encode() + b"</soap:Body></soap:Envelope>", "wms"),
        (b'cb({"currentVersion": 10.3, "folders": [], "services": [{"name": "x", "type": "MapServer"}]});', "arcgis"),
        (b'/**/dojo.io.f({"currentVersion": 10.3, "folders": [], "services": []});', "arcgis"),
        (b'{"type":"Feature","geometry":{"type":"Point","coordinates":[1,2]},"properties":{}}\n'
         b'{"type":"Feature","geometry":null,"properties":{}}\n', "geojson"),
        (b'\x1e{"type":"Feature","geometry":null,"properties":{}}\n\x1e{"type":"Feature"}\n', "geojson"),
        (b'{"value":[{"name":"Things","url":"http://x.example/v1.1/Things"}],"serverSettings":{"conformance":'
         b'["http://www.opengis.net/spec/iot_sensing/1.1/req/datamodel"]}}', "sensorthings"),
        (b'{"serviceName":"b","serviceVersion":"1.8","layers":[{"id":0,"layerType":"3DObject"}]}', "arcgis"),
    ],
)  # fmt: skip
def test_what_is_packed_or_wrapped_is_found(body, kind):
    assert describe(body).type == kind


@pytest.mark.parametrize(
    "body",
    [
        gzip.compress(b"hello", mtime=0),
        gzip.compress(WMS.encode(), mtime=0)[:60],
        b"\x1f\x8b" + b"\xff" * 100,
        b"<Envelope><Body>" + WMS.partition("?>")[2].encode() + b"</Body></Envelope>",  # a letter, not SOAP
        b'alert({"a": 1})',
        b'{"type":"Feature"}\n{"type":"Feature"}',
    ],
)
def test_what_is_packed_or_wrapped_and_no_service_stays_none(body):
    assert describe(body).type == ""


def test_a_false_byte_order_mark_is_passed_over():
    assert describe(b"\xff\xfe" + WMS.encode()).type == "wms"


@pytest.mark.parametrize(
    "broken",
    [
        "<Layer><Name>bad</Name><EX_GeographicBoundingBox><westBoundLongitude>nonsense</westBoundLongitude>"
        "</EX_GeographicBoundingBox></Layer>",
        "<Layer><Name>bad</Name><BoundingBox CRS='EPSG:4326' minx='' maxx='NaN'/></Layer>",
        "<Layer><Name>bad</Name><Title>not closed</Layer>",
        "<Layer><Name>bad</Name><Dimension name='time'>,,,</Dimension><Style/></Layer>",
        "<Layer queryable='maybe'><Name>bad</Name><MetadataURL/></Layer>",
        '<Layer cascaded="0" queryable="1><Name>bad</Name></Layer>',
        "<Layer queryable='1\"><Name>bad</Name></Layer>",
        '<Layer><Name>bad</Name><MetadataURL type="x/></Layer>',
        "<Layer><Name>bad</Name><Abstract><![CDATA[no end</Abstract></Layer>",
        "<Layer><Name>bad</Name><!-- no end </Layer>",
    ],
)
def test_one_malformed_layer_costs_no_other(broken):
    text = WMS.replace('<Layer queryable="1">', broken + '<Layer queryable="1">')
    assert layers(text) == ["bad", "rivers", "lakes"]


def test_a_cdata_section_without_an_end_costs_none_before_the_next():
    bad = "<Layer><Name>bad</Name><Abstract><![CDATA[no end</Abstract></Layer>"
    text = WMS.replace('<Layer queryable="1">', bad + '<Layer queryable="1"><Abstract><![CDATA[a < b]]></Abstract>')
    found = describe(text.encode())
    assert [(layer.name, layer.abstract) for layer in found.layers][:2] == [("bad", "no end"), ("rivers", "a < b")]
    assert any("CDATA" in note for note in found.notes)


def test_a_layer_not_closed_costs_no_feature_type():
    types = "".join(f"<FeatureType><Name>t{n}</Name><Title>T</Title></FeatureType>" for n in range(5))
    types = types.replace("<Title>T</Title></FeatureType>", "<Title>T</FeatureType>", 1)
    text = f'<WFS_Capabilities version="2.0.0"><FeatureTypeList>{types}</FeatureTypeList></WFS_Capabilities>'
    found = describe(text.encode())
    assert (found.type, [layer.name for layer in found.layers]) == ("wfs", ["t0", "t1", "t2", "t3", "t4"])


# Not services.


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("hello", "neither"),
        ("<html><body><pre>&lt;WMS_Capabilities version='1.3.0'></pre></body></html>", "HTML"),
        ("<!DOCTYPE html><html><body><WMS_Capabilities version='1.3.0'/></body></html>", "HTML"),
        ("<article>The root of a WMS is <WMS_Capabilities version='1.3.0'/></article>", "article"),
        ("<x:WMS_Capabilities xmlns:x='urn:example:menu' version='1.3.0'/>", "urn:example:menu"),
        ("<Capabilities xmlns='http://www.opengis.net/sps/1.0' version='1.0.0'/>", "sps"),
        ("<Capabilities><Swimming/></Capabilities>", "without a namespace"),
        ("<gmd:MD_Metadata xmlns:gmd='http://www.isotc211.org/2005/gmd'/>", "metadata"),
        ("<wfs:FeatureCollection xmlns:wfs='http://www.opengis.net/wfs'/>", "GML"),
        ("<rss version='2.0'><channel><title>News</title></channel></rss>", "feed"),
        ("<feed xmlns='http://www.w3.org/2005/Atom'><entry><link rel='enclosure' type='audio/mpeg' href='a.mp3'/>"
         "</entry></feed>", "feed"),
        ("<feed xmlns='http://www.w3.org/2005/Atom' xmlns:georss='http://www.georss.org/georss'><entry/></feed>", "feed"),  # noqa: E501
        ("<kml xmlns='urn:other'/>", "KML"),
        ('{"type": "FeatureCollection", "features": [{"a": 1}]}', "geometry"),
        ('{"error": {"code": 499, "message": "Token Required"}}', "499"),
        ('{"links": [{"href": "/", "rel": "self"}], "title": "menu"}', "none of the types"),
        ('{"version": 8, "sources": {}, "layers": []}', "none of the types"),
        ('{"type": "Feature"}', "none of the types"),
        ('{"type": "Topology", "objects": {}, "arcs": []}', "none of the types"),
        ('{"type": "Point", "x": 1}', "none of the types"),
        ('{"asset": {"version": "2.0"}, "scenes": [], "nodes": []}', "none of the types"),  # glTF, not 3D Tiles
        ('{"@odata.context": "x", "value": [{"name": "Customers", "url": "Customers"}]}', "none of the types"),
        ('{"openapi": "3.0.0", "info": {"title": "WMS"}, "paths": {}}', "none of the types"),
        ('{"tilesets": ["dinner", "kitchen"], "links": []}', "none of the types"),
        ('{"geometryType": "esriGeometryPoint", "spatialReference": {}, "features": []}', "none of the types"),
        ("<TileMapServer><TileMapService href='http://x.example/tms/1.0.0/'/></TileMapServer>", "TileMapServer"),
        ("<catalog xmlns='http://www.unidata.ucar.edu/namespaces/thredds/InvCatalog/v1.0'/>", "catalog"),
        ("<mdb:MD_Metadata xmlns:mdb='http://standards.iso.org/iso/19115/-3/mdb/2.0'/>", "metadata"),
        ('["wms"]', "object"),
        ("{not json", "cannot be read"),
    ],
)  # fmt: skip
def test_what_is_no_service_says_why(text, reason):
    found = describe(text.encode())
    assert found.type == ""
    assert reason in found.reason


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<ServiceExceptionReport version='1.1.1'><ServiceException code='LayerNotDefined'>no layer x</ServiceException>"  # noqa: E501
         "</ServiceExceptionReport>", "LayerNotDefined: no layer x"),
        ("<ows:ExceptionReport xmlns:ows='http://www.opengis.net/ows/1.1'><ows:Exception "
         "exceptionCode='MissingParameterValue'><ows:ExceptionText>service?</ows:ExceptionText></ows:Exception>"
         "</ows:ExceptionReport>", "MissingParameterValue: service?"),
        ("<WMTException version='1.0.0'>nothing here</WMTException>", "nothing here"),
    ],
)  # fmt: skip
def test_exception_reports_are_told_apart(text, words):
    found = describe(text.encode())
    assert found.type == ""
    assert found.reason == f"exception report: {words}"


# Hostile documents.


def test_entities_are_neither_expanded_nor_fetched(tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret")
    declared = f'<!DOCTYPE x [<!ENTITY file SYSTEM "file://{secret}"><!ENTITY a "aaaaaaaaaa">'
    for one, other in zip("bcdefghij", "abcdefghi", strict=True):
        declared += f'<!ENTITY {one} "{f"&{other};" * 10}">'
    text = WMS.replace("?>", "?>" + declared + "]>", 1)
    text = text.replace("<Title>Rivers", "<Title>&file;&j;Rivers").replace('queryable="1"', 'queryable="1" x="&j;"')
    found = describe(text.encode())
    assert (found.type, [layer.name for layer in found.layers]) == ("wms", ["rivers", "lakes"])
    assert "the secret" not in str(found)
    assert "aaaaaaaaaa" not in str(found)
    assert any(note.startswith("entities-refused") for note in found.notes)


@pytest.mark.parametrize(
    "body",
    [
        b"<WMS_Capabilities>" + b"<Layer>" * 100_000,
        b"<WMS_Capabilities version='1.3.0'><Service><Title>" + b"x" * 12_000_000,
        b"<!DOCTYPE " + b"[" * 100_000,
        b"<!--" * 50_000,
        b"[" * 200_000,
        b'{"type":"FeatureCollection","features":' + b"[" * 100_000,
        b"<?" * 50_000,
        b"PK\x03\x04" + b"\xff" * 1000,
        b"SQLite format 3\0" + b"\0" * 52 + b"GPKG" + b"\xff" * 4000,
        b"II*\0" + struct.pack("<I", 8) + struct.pack("<H", 65535) + b"\xff" * 500,
        b"fgb\x03fgb\x00" + b"\xff" * 100,
        b"PMTiles\x03" + b"\xff" * 200,
        b"PAR1" + b"\x03geo\x18{" + b"\xff\xff\xff\x7fPAR1",
    ],
)
def test_monsters_end_with_an_answer(body):
    describe(body)


@given(st.binary(max_size=400))
def test_no_bytes_raise(body):
    describe(body)


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(max_size=5),
                    lambda inner: st.lists(inner, max_size=3)
                    | st.dictionaries(st.sampled_from(
                        ["type", "features", "geometry", "links", "rel", "href", "extent", "spatial", "bbox", "temporal", "interval", "collections", "id", "stac_version", "asset", "root", "boundingVolume", "geometricError", "tilejson", "tiles", "value", "name", "url", "services", "currentVersion", "layers", "error", "code", "message", "coordinates", "conformsTo", "processes", "fullExtent"]  # noqa: E501
                    ), inner, max_size=6), max_leaves=30))  # fmt: skip
def test_no_json_raises(value):
    found = describe(json.dumps(value).encode())
    assert found.type in TYPES or found.reason


def test_a_real_document_cut_or_damaged_anywhere_never_raises():
    chance = random.Random(5)
    data = WMS.encode()
    for _ in range(300):
        damaged = bytearray(data[: chance.randrange(len(data))])
        for _ in range(chance.randrange(5)):
            if damaged:
                damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        describe(bytes(damaged))


# Old, new and rare services.


@pytest.mark.parametrize(
    ("text", "kind", "version"),
    [
        ("<WMT_MS_Capabilities version='1.0.0'><Service><Name>x</Name></Service><Capability><Request><Map><Format><PNG/>"  # noqa: E501
         "<JPEG/></Format></Map></Request><Layer><Name>a</Name><SRS>EPSG:4326 EPSG:4269</SRS></Layer></Capability>"
         "</WMT_MS_Capabilities>", "wms", "1.0.0"),
        ("<WMT_MS_Capabilities version='1.1.0'/>", "wms", "1.1.0"),
        ("<!DOCTYPE WMT_MS_Capabilities SYSTEM 'http://x.example/1.1.1.dtd' [ <!ELEMENT Vendor EMPTY> <!ATTLIST Vendor "
         "a CDATA ']>'> <!-- ]> --> ]>\n<WMT_MS_Capabilities version='1.1.1'/>", "wms", "1.1.1"),
        ("<csw30:Capabilities xmlns:csw30='http://www.opengis.net/cat/csw/3.0' version='3.0.0'/>", "csw", "3.0.0"),
        ("<wcs:Capabilities xmlns:wcs='http://www.opengis.net/wcs/2.1/gml' version='2.1.0'/>", "wcs", "2.1.0"),
        ("<TileMap version='1.0.0' tilemapservice='http://x.example/tms/1.0.0'><SRS>EPSG:3857</SRS></TileMap>",
         "tms", "1.0.0"),
        ("<Capabilities xmlns='http://www.opengeospatial.net/wps' version='0.4.0'/>", "wps", "0.4.0"),
        ("<wps:Capabilities xmlns:wps='http://www.opengis.net/wps/2.0' service='WPS' version='2.0.0'/>", "wps", "2.0.0"),  # noqa: E501
        ("<wps:Capabilities xmlns:wps='http://www.opengis.net/wps/2.0.0' service='WPS'/>", "wps", "2.0.0"),
        ("<wcs:Capabilities xmlns:wcs='http://www.opengis.net/wcs/2.0' version='2.0.1'/>", "wcs", "2.0.1"),
        ("<wcs:Capabilities xmlns:wcs='http://www.opengis.net/wcs/1.1.1' version='1.1.2'/>", "wcs", "1.1.2"),
        ("<WCS_Capabilities xmlns='http://www.opengis.net/wcs' version='1.0.0'/>", "wcs", "1.0.0"),
        ("<sos:Capabilities xmlns:sos='http://www.opengis.net/sos/2.0' version='2.0.0'/>", "sos", "2.0.0"),
        ("<Capabilities xmlns='http://www.opengis.net/cat/csw' version='2.0.1'/>", "csw", "2.0.1"),
        ("<Capabilities xmlns='http://www.opengis.net/wcts/0.0' version='0.4.0'/>", "wcts", "0.4.0"),
        ("<Capabilities version='1.0.0'><OperationsMetadata><Operation name='GetTile'/></OperationsMetadata>"
         "</Capabilities>", "wmts", "1.0.0"),
        ("<Capabilities service='WPS' version='1.0.0'/>", "wps", "1.0.0"),
        ("<TileMapService version='1.0.0'><TileMaps><TileMap title='a' srs='EPSG:3857' href='http://x.example/a'/>"
         "</TileMaps></TileMapService>", "tms", "1.0.0"),
        ("<OWSContext xmlns='http://www.opengis.net/ows-context' version='0.3.1'/>", "owc", "0.3.1"),
        ("<kml xmlns='http://earth.google.com/kml/2.1'><Document><name>d</name><Placemark><Point><coordinates>2,41"
         "</coordinates></Point></Placemark></Document></kml>", "kml", "2.1"),
        ("<kml><Document/></kml>", "kml", ""),
        ("<rss version='2.0' xmlns:georss='http://www.georss.org/georss'><channel><item><georss:point>41 2"
         "</georss:point></item></channel></rss>", "georss", "2.0"),
        ("<feed xmlns='http://www.w3.org/2005/Atom'><entry><id>1</id><link rel='enclosure' type='application/gml+xml' "
         "href='a'/></entry></feed>", "atom", "1.0"),
        ("<feed xmlns='http://www.w3.org/2005/Atom'><entry><id>1</id><category term='http://www.opengis.net/def/crs/EPSG"
         "/0/25830'/><link rel='alternate' type='application/x-zip' href='a.zip'/></entry></feed>", "atom", "1.0"),
    ],
)  # fmt: skip
def test_services_of_all_ages(text, kind, version):
    found = describe(text.encode())
    assert (found.type, found.version) == (kind, version)


def test_wms_1_0_writes_formats_and_systems_in_its_own_way():
    text = """<WMT_MS_Capabilities version="1.0.0"><Service><Name>x</Name><Title>Old</Title><Keywords>a, b</Keywords>
    <OnlineResource>http://old.example.org/wms?</OnlineResource></Service><Capability><Request><Map><Format><PNG/><GIF/>
    </Format><DCPType><HTTP><Get onlineResource="http://old.example.org/wms.cgi?"/></HTTP></DCPType></Map></Request>
    <Layer><Name>a</Name><Title>A</Title><SRS>EPSG:4326 EPSG:4269</SRS>
    <LatLonBoundingBox minx="-10" miny="35" maxx="5" maxy="44"/></Layer></Capability></WMT_MS_Capabilities>"""
    found = describe(text.encode())
    assert (found.formats, found.crs) == (["PNG", "GIF"], ["EPSG:4326", "EPSG:4269"])
    assert (found.endpoint, found.bbox) == ("http://old.example.org/wms.cgi", (-10, 35, 5, 44))


@pytest.mark.parametrize(
    ("value", "kind", "also"),
    [
        ({"title": "API", "links": [{"rel": "conformance", "href": "/conformance"}, {"rel": "data", "href": "/c"}]},
         "ogcapi-features", []),
        ({"conformsTo": ["http://www.opengis.net/spec/ogcapi-features-1/1.0/conf/core",
                         "http://www.opengis.net/spec/ogcapi-tiles-1/1.0/conf/core"]},
         "ogcapi-features", ["ogcapi-tiles"]),
        ({"conformsTo": ["http://www.opengis.net/spec/ogcapi-records-1/1.0/conf/core"]}, "ogcapi-records", []),
        ({"conformsTo": ["http://www.opengis.net/spec/ogcapi-edr-1/1.1/conf/core"]}, "ogcapi-edr", []),
        ({"conformsTo": ["http://www.opengis.net/spec/ogcapi-maps-1/1.0/conf/core"]}, "ogcapi-maps", []),
        ({"conformsTo": ["http://www.opengis.net/spec/ogcapi-coverages-1/0.0/conf/core"]}, "ogcapi-coverages", []),
        ({"processes": [{"id": "echo", "version": "1"}], "links": [{"rel": "self", "href": "/processes"}]},
         "ogcapi-processes", []),
        ({"collections": [{"id": "a", "itemType": "record", "links": []}], "links": []}, "ogcapi-records", []),
        ({"collections": [{"id": "a", "data_queries": {}, "links": []}], "links": []}, "ogcapi-edr", []),
        ({"id": "a", "extent": {"spatial": {"bbox": [[0, 1, 2, 3]]}}, "links": [{"rel": "items", "href": "i"}]},
         "ogcapi-features", []),
        ({"stac_version": "1.0.0", "type": "Catalog", "id": "c", "description": "d", "links": []}, "stac", []),
        ({"stac_version": "0.8.1", "id": "c", "description": "d", "links": [{"rel": "child", "href": "a"}]}, "stac", []),  # noqa: E501
        ({"stac_version": "1.0.0", "type": "Feature", "id": "i", "geometry": None, "properties": {}, "links": []},
         "stac", []),
        ({"stac_version": "1.0.0", "type": "Catalog", "id": "c", "links": [], "conformsTo": [
            "https://api.stacspec.org/v1.0.0/core", "http://www.opengis.net/spec/ogcapi-features-1/1.0/conf/core"]},
         "stac", ["ogcapi-features"]),
        ({"value": [{"name": n, "url": f"http://x.example/v1.1/{n}"} for n in ("Things", "Sensors", "Datastreams")]},
         "sensorthings", []),
        ({"currentVersion": 10.91, "folders": ["a"], "services": [{"name": "b", "type": "MapServer"}]}, "arcgis", []),
        ({"currentVersion": 10.91, "serviceDescription": "", "mapName": "Layers", "layers": [{"id": 0, "name": "x"}]},
         "arcgis", []),
        ({"currentVersion": 11, "id": 3, "name": "x", "type": "Feature Layer", "geometryType": "esriGeometryPoint"},
         "arcgis", []),
        ({"currentVersion": 11.1, "hasVersionedData": False, "maxRecordCount": 1000, "supportedQueryFormats": "JSON",
          "layers": [{"id": 0, "name": "a"}], "spatialReference": {"wkid": 4326}, "capabilities": "Query"},
         "arcgis", []),
        ({"currentVersion": 10.81, "name": "dem", "pixelSizeX": 1, "pixelSizeY": 1, "bandCount": 1, "pixelType": "F32",
          "extent": {"xmin": 0, "ymin": 0, "xmax": 1, "ymax": 1, "spatialReference": {"wkid": 4326}}}, "arcgis", []),
        ({"currentVersion": 10.81, "tasks": ["a"], "executionType": "esriExecutionTypeAsynchronous"}, "arcgis", []),
        ({"currentVersion": 10.81, "type": "indexedVector", "tiles": ["tile/{z}/{y}/{x}.pbf"], "tileInfo": {}},
         "arcgis", []),
        ({"serviceName": "x", "serviceVersion": "1.6", "supportedBindings": ["REST"],
          "layers": [{"id": 0, "layerType": "3DObject"}]}, "arcgis", []),
        ({"tilesets": [{"title": "t", "dataType": "vector", "crs": "http://www.opengis.net/def/crs/EPSG/0/3857",
                        "tileMatrixSetURI": "http://www.opengis.net/def/tilematrixset/OGC/1.0/WebMercatorQuad"}]},
         "ogcapi-tiles", []),
        ({"dataType": "map", "crs": "http://www.opengis.net/def/crs/EPSG/0/3857", "tileMatrixSetId": "WebMercatorQuad",
          "links": [{"rel": "item", "href": "{tileMatrix}/{tileRow}/{tileCol}"}]}, "ogcapi-tiles", []),
        ({"id": "c", "type": "Catalog", "itemType": "record", "title": "t", "links": [{"rel": "items", "href": "i"}]},
         "ogcapi-records", []),
        ({"type": "FeatureCollection", "features": [
            {"type": "Feature", "stac_version": "1.0.0", "id": "a", "geometry": None, "properties": {}, "links": []}]},
         "stac", []),
        ({"asset": {"version": "1.0"}, "geometricError": 1, "root": {"boundingVolume": {"region": [0, 0, 1, 1, 0, 9]}}},
         "3dtiles", []),
        ({"tilejson": "2.2.0", "tiles": ["http://x.example/{z}/{x}/{y}.png"], "bounds": [-9, 36, 4, 44]}, "tilejson", []),  # noqa: E501
        ({"type": "FeatureCollection", "features": []}, "geojson", []),
        ({"type": "Point", "coordinates": [2, 41]}, "geojson", []),
        ({"type": "FeatureCollection", "features": [], "properties": {"links": [
            {"rel": "profile", "href": "http://www.opengis.net/spec/owc-geojson/1.0/req/core"}]}}, "owc", []),
    ],
)  # fmt: skip
def test_json_services(value, kind, also):
    found = describe(json.dumps(value).encode(), "text/plain")
    assert (found.type, found.also) == (kind, also)


def test_arcgis_html_directory():
    text = """<!DOCTYPE html><html><head><title>Folder: /</title>
    <link href="/arcgis/rest/static/main.css" rel="stylesheet" type="text/css"/></head><body><h2>Folder: /</h2>
    <b>Current Version: </b>10.81<ul><li><a href="/arcgis/rest/services/roads/MapServer">roads</a> (MapServer)</li></ul>
    </body></html>"""
    found = describe(text.encode(), "text/html", "https://gis.example.org/arcgis/rest/services")
    assert (found.type, found.version) == ("arcgis", "10.81")
    assert [layer.name for layer in found.layers] == ["roads"]
    assert "https://gis.example.org/arcgis/rest/services/roads/MapServer?f=json" in found.links


def geotiff(geo: bool = True, tiled: bool = False) -> bytes:
    entries = [(256, 4, 1, 100), (257, 4, 1, 50)]
    if tiled:
        entries.append((322, 4, 1, 256))
    end = 8 + 2 + 12 * (len(entries) + 3) + 4
    scale = struct.pack("<3d", 0.1, 0.1, 0)
    tie = struct.pack("<6d", 0, 0, 0, -5, 45, 0)
    keys = struct.pack("<12H", 1, 1, 0, 2, 1024, 0, 1, 2, 2048, 0, 1, 4326)
    if geo:
        entries += [(33550, 12, 3, end), (33922, 12, 6, end + 24), (34735, 3, 12, end + 72)]
    body = b"II*\0" + struct.pack("<I", 8) + struct.pack("<H", len(entries))
    body += b"".join(struct.pack("<HHII", *entry) for entry in entries) + struct.pack("<I", 0)
    return body.ljust(end, b"\0") + scale + tie + keys


def test_datasets_are_told_by_their_own_marks():
    assert describe(geotiff()).type == "geotiff"
    assert describe(geotiff()).bbox == pytest.approx((-5, 40, 5, 45))
    assert describe(geotiff(tiled=True)).type == "cog"
    assert "picture" in describe(geotiff(geo=False)).reason
    shape = struct.pack(">7i", 9994, 0, 0, 0, 0, 0, 50) + struct.pack("<2i4d", 1000, 1, -9, 36, 4, 44)
    shape = shape.ljust(100, b"\0")
    assert describe(shape).bbox == (-9, 36, 4, 44)
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("data/roads.shp", shape)
        archive.writestr("data/roads.dbf", b"")
        archive.writestr("data/roads.prj", 'GEOGCS["GCS_WGS_1984"]')
    found = describe(packed.getvalue())
    assert (found.type, [layer.name for layer in found.layers], found.bbox) == ("shapefile", ["roads"], (-9, 36, 4, 44))
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("doc.kml", "<kml xmlns='http://www.opengis.net/kml/2.2'><Document/></kml>")
    assert describe(packed.getvalue()).type == "kml"
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("readme.txt", "x")
    assert describe(packed.getvalue()).type == ""
    header = b"PMTiles\x03" + bytes(94) + struct.pack("<4i", -90000000, 360000000, 40000000, 440000000) + bytes(9)
    assert describe(header).bbox == (-9, 36, 4, 44)
    assert describe(b"fgb\x03fgb\x00" + bytes(100)).type == "flatgeobuf"
    footer = (
        b"\x18\x03geo\x18"
        + b'\x20{"version":"1.1.0","primary_column":"geometry","columns":{"geometry":{"bbox":[1,2,3,4]}}}'
    )
    parquet = b"PAR1" + footer + struct.pack("<I", len(footer)) + b"PAR1"
    assert (describe(parquet).type, describe(parquet).version) == ("geoparquet", "1.1.0")
    assert describe(b"PAR1" + b"abcd" + struct.pack("<I", 4) + b"PAR1").type == ""


def test_a_geopackage_tells_its_layers(tmp_path):
    import sqlite3

    path = tmp_path / "a.gpkg"
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA application_id=1196444487")
        database.execute("PRAGMA user_version=10300")
        database.execute(
            "CREATE TABLE gpkg_contents (table_name, data_type, identifier, description, last_change, min_x, min_y, "
            "max_x, max_y, srs_id)"
        )
        database.execute("INSERT INTO gpkg_contents VALUES ('roads','features','Roads','','',-9,36,4,44,4326)")
    database.close()
    found = describe(path.read_bytes())
    assert (found.type, found.version, found.bbox) == ("gpkg", "1.3", (-9, 36, 4, 44))
    assert [layer.title for layer in found.layers] == ["Roads"]
