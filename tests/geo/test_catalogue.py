"""The catalogue: what is found is merged, searched, hidden where secret, and read by OWSLib through CSW and Records."""

import json
import sqlite3

import pytest

from hemeroteca import urls, warc
from hemeroteca.accounts import SYSTEM
from hemeroteca.engine.sinks import Arrival
from hemeroteca.errors import Denied, Invalid
from hemeroteca.geo import catalogue_files, queries, records, services
from hemeroteca.geo.models import Layer, Service
from hemeroteca.geo.sink import Services
from hemeroteca.ingest.ingestion import ingest
from hemeroteca.ingest.rules import Rules
from tests.geo.test_detection import WMS

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]


def take(url: str, text: str = WMS, status: int = 200, kind: str = "text/xml", at: int = 1_700_000_000_000) -> None:
    """A capture goes through ingest into the sink, as an import's would."""
    head = f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nServer: Apache\r\n\r\n".encode()
    capture = warc.Capture(url=url, captured_ms=at, status=status, response_head=head, body=text.encode())
    rules = Rules(key=urls.key(url), host=urls.host(url))
    sink = Services()
    sink.take(Arrival(capture, rules, ingest(capture, rules)))
    sink.write()


CAPABILITIES = "https://maps.example.org/wms?service=WMS&request=GetCapabilities"


def test_a_capture_of_capabilities_becomes_an_entry_with_layers():
    take(CAPABILITIES)
    service = Service.objects.get()
    assert (service.type, service.version, service.title) == ("wms", "1.3.0", "Ríos")
    assert service.endpoint == "https://maps.example.org/wms"
    assert service.bbox == (-9, 36, 4, 44)
    assert service.licence == "CC-BY-4.0"
    assert list(Layer.objects.order_by("position").values_list("name", flat=True)) == ["rivers", "lakes"]


def test_the_same_endpoint_in_other_words_is_the_same_service():
    take(CAPABILITIES)
    take(
        "http://www.maps.example.org/wms?REQUEST=GetCapabilities&SERVICE=WMS&VERSION=1.1.1",
        WMS.replace("1.3.0", "1.1.1"),
    )
    take(CAPABILITIES, WMS.replace("Rivers", "Rivers and brooks"), at=1_700_000_100_000)
    service = Service.objects.get()
    assert service.version == "1.3.0"
    assert service.changed_ms == 1_700_000_100_000
    assert Layer.objects.filter(title="Rivers and brooks").count() == 1


def test_mirrors_are_found_and_hidden():
    take(CAPABILITIES)
    take("https://mirror.example.net/wms?service=WMS&request=GetCapabilities")
    assert Service.objects.count() == 2
    found, total = queries.search(SYSTEM, queries.ServiceQuery())
    assert (total, found[0].host) == (1, "maps.example.org")
    assert queries.search(SYSTEM, queries.ServiceQuery(mirrors=True))[1] == 2


def test_dead_and_restricted_services_are_kept_with_the_reason():
    take(CAPABILITIES)
    take(CAPABILITIES, "gone", 404, "text/html")
    service = Service.objects.get()
    assert (service.state, service.reason) == ("gone", "http-404")
    take(CAPABILITIES)
    assert Service.objects.get().state == "alive"
    secret = "https://private.example.org/wfs?service=WFS&request=GetCapabilities"
    take(secret, "who are you", 401, "text/html")
    assert Service.objects.get(host="private.example.org").state == "restricted"


def test_tokens_are_never_shown():
    take("https://maps.example.org/wms?map=a.map&token=SECRET123&service=WMS&request=GetCapabilities")
    service = Service.objects.get()
    assert "SECRET123" in service.endpoint
    shown = json.dumps(records.feature(service, "")) + records.iso19139(service, []) + records.dublin_core(service)
    shown += json.dumps(records.geodcat(service, [], "x")) + json.dumps(records.schema_org(service, "x"))
    shown += records.qlr(service, queries.layers(service))
    assert "SECRET123" not in shown
    assert "map=a.map" in shown


def test_search_by_words_place_type_and_time():
    take(CAPABILITIES)
    take("https://a.example/wfs?service=WFS&request=GetCapabilities",
         '<WFS_Capabilities version="2.0.0"><ServiceIdentification><Title>Caminos</Title></ServiceIdentification>'
         "<FeatureTypeList><FeatureType><Name>c</Name><WGS84BoundingBox><LowerCorner>100 0</LowerCorner><UpperCorner>"
         "110 10</UpperCorner></WGS84BoundingBox></FeatureType></FeatureTypeList></WFS_Capabilities>")  # fmt: skip

    def titles(**wish):
        return [one.title for one in queries.search(SYSTEM, queries.ServiceQuery(**wish))[0]]

    assert titles(words="rios") == ["Ríos"]
    assert titles(words="RÍOS lakes") == ["Ríos"]
    assert titles(words="camino") == ["Caminos"]
    assert titles(words="desierto") == []
    assert titles(bbox=(-1, 40, 1, 42)) == ["Ríos"]
    assert titles(bbox=(99, 5, 101, 6)) == ["Caminos"]
    assert titles(bbox=(170, -10, -170, 10)) == []
    assert titles(types=("wfs",)) == ["Caminos"]
    with pytest.raises(Invalid, match="bounding box"):
        queries.parse_bbox("1,2,3")
    with pytest.raises(Invalid, match="is not a type"):
        queries.parse_types(["wmx"])


def test_a_withdrawn_service_stays_out():
    take(CAPABILITIES)
    services.withdraw(SYSTEM, Service.objects.get().pk, "ours")
    take(CAPABILITIES, WMS + " ")
    assert queries.search(SYSTEM, queries.ServiceQuery())[1] == 0
    assert Service.objects.get().state == "withdrawn"


def test_only_owners_and_administrators_withdraw(django_user_model):
    from hemeroteca.accounts import Actor

    take(CAPABILITIES)
    number = Service.objects.get().pk
    director = Actor.of(django_user_model.objects.create(name="ed", role="director"))
    with pytest.raises(Denied):
        services.withdraw(director, number)
    services.claim(director, number)
    assert services.withdraw(director, number).state == "withdrawn"


def test_files_of_the_catalogue(tmp_path):
    take(CAPABILITIES, WMS.replace("<Title>Ríos", "<Title>=HYPERLINK(1)"))
    rows = list(queries.every(SYSTEM, queries.ServiceQuery()))
    with (tmp_path / "a.csv").open("w") as file:
        assert catalogue_files.write_csv(rows, file) == 1
    assert ",'=HYPERLINK(1)," in (tmp_path / "a.csv").read_text()
    with (tmp_path / "a.geojson").open("w") as file:
        catalogue_files.write_geojson(rows, file, "")
    assert json.loads((tmp_path / "a.geojson").read_text())["features"][0]["bbox"] == [-9, 36, 4, 44]
    catalogue_files.write_geopackage(rows, tmp_path / "a.gpkg")
    from hemeroteca.geo.detection import describe

    again = describe((tmp_path / "a.gpkg").read_bytes())
    assert (again.type, again.bbox) == ("gpkg", (-9, 36, 4, 44))
    with sqlite3.connect(tmp_path / "a.gpkg") as database:
        assert database.execute("SELECT type FROM services").fetchone() == ("wms",)


def test_statistics_tell_now_and_ever():
    take(CAPABILITIES)
    take("https://b.example.es/wms?service=WMS&request=GetCapabilities", WMS.replace("lakes", "seas"))
    take("https://b.example.es/wms?service=WMS&request=GetCapabilities", "gone", 410, "text/html")
    facts = queries.statistics(SYSTEM)
    assert facts["services"] == {"now": 1, "ever": 2}
    assert facts["states"] == {"alive": 1, "gone": 1}


# As other programs read it.


@pytest.fixture
def open_catalogue(settings):
    import dataclasses

    settings.CONFIG = dataclasses.replace(settings.CONFIG, open_search=True)
    take(CAPABILITIES)
    for number in range(12):
        take(f"https://s{number}.example/wms?service=WMS&request=GetCapabilities",
             WMS.replace("Ríos", f"Mapa {number}").replace("lakes", f"lakes{number}"))  # fmt: skip


def test_csw_is_read_by_owslib(open_catalogue, live_server):
    csw = pytest.importorskip("owslib.csw")
    from owslib import fes

    catalogue = csw.CatalogueServiceWeb(f"{live_server.url}/geo/csw")
    assert catalogue.identification.type == "CSW"
    assert {one.name for one in catalogue.operations} >= {"GetRecords", "GetRecordById"}
    catalogue.getrecords2(constraints=[fes.PropertyIsLike("csw:AnyText", "%rios%")], esn="full")
    (record,) = catalogue.records.values()
    assert record.title == "Ríos"
    assert record.references[0]["url"] == CAPABILITIES
    assert float(record.bbox.minx) == -9
    catalogue.getrecords2(
        constraints=[fes.BBox(["36", "-9", "44", "4"], crs="urn:ogc:def:crs:EPSG::4326")], maxrecords=5
    )
    assert catalogue.results == {"matches": 13, "returned": 5, "nextrecord": 6}
    catalogue.getrecords2(startposition=11, maxrecords=5)
    assert (catalogue.results["returned"], catalogue.results["nextrecord"]) == (3, 0)
    catalogue.getrecordbyid([record.identifier], outputschema="http://www.isotc211.org/2005/gmd")
    (metadata,) = catalogue.records.values()
    assert metadata.identification[0].title == "Ríos"
    assert metadata.identification[0].type == "view"


@pytest.mark.parametrize(
    ("constraint", "titles"),
    [
        (lambda fes: [fes.Or([_like(fes, "%Mapa 3%"), _like(fes, "%Ríos%")])], {"Mapa 3", "Ríos"}),
        (lambda fes: [fes.And([_like(fes, "%Mapa%"), fes.Not([fes.Or([_like(fes, "Mapa 1%"), _like(fes, "%2")])])])],
         {"Mapa 0", *(f"Mapa {n}" for n in range(3, 10))}),
        (lambda fes: [fes.PropertyIsEqualTo("dc:title", "Mapa 5")], {"Mapa 5"}),
        (lambda fes: [_like(fes, "Mapa 1_")], {"Mapa 10", "Mapa 11"}),
        (lambda fes: [fes.PropertyIsEqualTo("dc:type", "dataset")], set()),
        (lambda fes: [fes.And([fes.PropertyIsEqualTo("apiso:ServiceType", "view"), _like(fes, "% 7")])], {"Mapa 7"}),
        (lambda fes: [fes.PropertyIsGreaterThan("dct:modified", "2030-01-01")], set()),
        (lambda fes: [fes.And([fes.PropertyIsBetween("dct:modified", "2023-11-14", "2023-11-14"), _like(fes, "R%")])],
         {"Ríos"}),
        (lambda fes: [fes.And([fes.PropertyIsNull("dc:creator"), _like(fes, "%Mapa 9")])], {"Mapa 9"}),
        (lambda fes: [fes.BBox(["50", "100", "60", "110"])], set()),
        (lambda fes: [fes.And([fes.BBox(["40", "-1", "41", "0"]), _like(fes, "%Mapa 4")])], {"Mapa 4"}),
    ],
)  # fmt: skip
def test_filters_mean_what_they_say(open_catalogue, live_server, constraint, titles):
    csw = pytest.importorskip("owslib.csw")
    from owslib import fes

    catalogue = csw.CatalogueServiceWeb(f"{live_server.url}/geo/csw")
    catalogue.getrecords2(constraints=constraint(fes), maxrecords=50)
    assert catalogue.exceptionreport is None
    assert {record.title for record in catalogue.records.values()} == titles


def _like(fes, pattern: str):
    return fes.PropertyIsLike("dc:title", pattern)


@pytest.mark.parametrize(
    ("cql", "count"),
    [
        ("dc:title = 'Mapa 3' or title like 'R%'", 2),
        ("AnyText like '%mapa%' and not (title like '%1%' or title = 'Mapa 2')", 8),
        ("title not like 'Mapa%'", 1),
        ("INTERSECTS(ows:BoundingBox, POLYGON((-1 40, 0 40, 0 41, -1 41, -1 40)))", 13),
        ("WITHIN(ows:BoundingBox, ENVELOPE(-1, 0, 40, 41))", 0),
        ("CONTAINS(ows:BoundingBox, POINT(-1 40)) and type = 'service'", 13),
        ("DISJOINT(ows:BoundingBox, POINT(100 40))", 13),
        ("BBOX(ows:BoundingBox, 100, 0, 110, 10)", 0),
        ("modified >= 2023-11-14 and creator is null", 13),
    ],
)
def test_constraints_as_text(open_catalogue, client, cql, count):
    answer = client.get(
        "/geo/csw",
        {"service": "CSW", "request": "GetRecords", "version": "2.0.2", "constraint": cql, "resultType": "hits"},
    )
    assert answer.status_code == 200, answer.content
    assert f'numberOfRecordsMatched="{count}"' in answer.content.decode()


@pytest.mark.parametrize(
    ("cql", "words"),
    [
        ("colour = 'red'", "colour is not a queryable"),
        ("title like", "its end"),
        ("title = 'a' 'b'", "goes on"),
        ("modified like '%2020%'", "is a time"),
        ("BBOX(x, 1, 2)", "four numbers"),
        ("(" * 100 + "title = 'a'" + ")" * 100, "deep"),
        (" or ".join(["title = 'a'"] * 500), "200 conditions"),
        ("title = 'a' ; drop table", "cannot be read"),
    ],
)
def test_a_constraint_that_cannot_be_met_says_why(open_catalogue, client, cql, words):
    answer = client.get("/geo/csw", {"service": "CSW", "request": "GetRecords", "constraint": cql})
    assert answer.status_code == 400
    assert words in answer.content.decode()


def test_entries_are_sorted_as_asked(open_catalogue, live_server):
    csw = pytest.importorskip("owslib.csw")
    from owslib import fes

    catalogue = csw.CatalogueServiceWeb(f"{live_server.url}/geo/csw")
    by_title = fes.SortBy([fes.SortProperty("dc:title", "DESC")])
    catalogue.getrecords2(sortby=by_title, maxrecords=2)
    assert [record.title for record in catalogue.records.values()] == ["Ríos", "Mapa 9"]


def test_records_are_read_by_owslib(open_catalogue, live_server):
    module = pytest.importorskip("owslib.ogcapi.records")
    api = module.Records(f"{live_server.url}/geo/records/")
    assert "http://www.opengis.net/spec/ogcapi-records-1/1.0/conf/record-core" in api.conformance()["conformsTo"]
    assert api.records() == ["services"]
    found = api.collection_items("services", q="rios")
    assert [one["properties"]["title"] for one in found["features"]] == ["Ríos"]
    page = api.collection_items("services", limit=5)
    assert (page["numberMatched"], page["numberReturned"]) == (13, 5)
    assert any(link["rel"] == "next" for link in page["links"])
    one = api.collection_item("services", found["features"][0]["id"])
    assert [layer["name"] for layer in one["properties"]["resources"]] == ["rivers", "lakes"]


def test_records_parameters(open_catalogue, client):
    def titles(**given):
        answer = client.get("/geo/records/collections/services/items", given)
        assert answer.status_code == 200, answer.content
        return sorted(one["properties"]["title"] for one in answer.json()["features"])

    assert len(titles(bbox="-1,40,1,42", limit=50)) == 13
    assert titles(bbox="100,0,110,10") == []
    assert titles(type="dataset") == []
    assert titles(externalIds="https://maps.example.org/wms") == ["Ríos"]
    name = Service.objects.get(title="Ríos").identifier
    assert titles(ids=name) == ["Ríos"]
    assert titles(ids="nothing") == []
    for wrong in ({"bbox": "1,2"}, {"limit": "x"}, {"datetime": "yesterday"}, {"colour": "red"}):
        assert client.get("/geo/records/collections/services/items", wrong).status_code in (400, 422)
    assert client.get("/geo/records/collections/services/items/service-zz").status_code == 404
    for place in ("", "/", "/conformance", "/collections", "/collections/services", "/api"):
        assert client.get(f"/geo/records{place}").status_code == 200
    assert b"schema-org" in client.get("/geo/sitemap.xml").content


def test_our_own_api_is_recognised_as_what_it_is(open_catalogue, client):
    from hemeroteca.geo.detection import describe

    answer = client.get("/geo/records/conformance")
    assert "ogcapi-records" in {describe(answer.content).type, *describe(answer.content).also}
    answer = client.get("/geo/csw", {"service": "CSW", "request": "GetCapabilities"})
    assert (describe(answer.content).type, describe(answer.content).version) == ("csw", "2.0.2")
    answer = client.get("/geo/csw", {"service": "CSW", "request": "Dance"})
    assert describe(answer.content).reason.startswith("exception report: OperationNotSupported")


def test_the_api_pages_and_gives_every_form(open_catalogue, client):
    first = client.get("/api/v1/geo/services", {"limit": 10}).json()
    rest = client.get("/api/v1/geo/services", {"limit": 10, "cursor": first["next_cursor"]}).json()
    assert len({one["id"] for one in first["items"] + rest["items"]}) == 13
    assert rest["next_cursor"] is None
    number = Service.objects.get(title="Ríos").identifier
    whole = client.get(f"/api/v1/geo/services/{number}").json()
    assert [layer["name"] for layer in whole["layers"]] == ["rivers", "lakes"]
    for form in ("iso19139", "geodcat", "schema-org", "geojson", "qlr", "health"):
        assert client.get(f"/api/v1/geo/services/{number}/{form}").status_code == 200, form
    assert client.get(f"/api/v1/geo/services/{number}/poem").status_code == 404
    assert client.get("/api/v1/geo/statistics").json()["services"]["now"] == 13


def test_keywords_are_linked_to_concepts_of_every_thesaurus_in_any_language(open_catalogue, client, tmp_path, settings):
    from hemeroteca.frontier import thesauri
    from hemeroteca.instance import Instance

    settings.INSTANCE = Instance(tmp_path / "data")
    settings.INSTANCE.create()
    words = "<KeywordList><Keyword>ríos</Keyword><Keyword>Rivers</Keyword><Keyword>zzz</Keyword></KeywordList>"
    take("https://words.example/wms?service=WMS&request=GetCapabilities", WMS.replace("<Fees>", words + "<Fees>", 1))
    number = Service.objects.get(host="words.example").pk

    def found() -> list[tuple[str, str]]:
        entry = client.get(f"/api/v1/geo/services/{number}").json()
        return [(one["keyword"], one["uri"]) for one in entry["concepts"] if one["thesaurus"] == "water"]

    assert found() == []
    path = tmp_path / "water.ttl"
    path.write_text(
        "@prefix skos: <http://www.w3.org/2004/02/skos/core#> . <http://x.example/river> a skos:Concept ; "
        'skos:prefLabel "river"@en, "río"@es .',
        "utf-8",
    )
    thesauri.import_thesaurus(SYSTEM, "water", [path])
    assert found() == [("ríos", "http://x.example/river"), ("Rivers", "http://x.example/river")]


def test_a_keyword_finds_its_concept_in_every_language(open_catalogue, client, tmp_path, settings):
    """By any of its labels or by its address; whole words only."""
    from hemeroteca.frontier import thesauri
    from hemeroteca.instance import Instance

    settings.INSTANCE = Instance(tmp_path / "data")
    settings.INSTANCE.create()
    for host, word in (("es.example", "mares"), ("de.example", "Meer"), ("no.example", "marco")):
        words = f"<KeywordList><Keyword>{word}</Keyword></KeywordList>"
        take(f"https://{host}/wms?service=WMS&request=GetCapabilities", WMS.replace("<Fees>", words + "<Fees>", 1))

    def found(keyword: str) -> set[str]:
        entries = client.get("/api/v1/geo/services", {"keyword": keyword, "state": "all"}).json()["items"]
        return {one["endpoint"].split("/")[2] for one in entries}

    assert found("Meer") == {"de.example"}
    path = tmp_path / "sea.ttl"
    path.write_text(
        "@prefix skos: <http://www.w3.org/2004/02/skos/core#> . <http://x.example/sea> a skos:Concept ; "
        'skos:prefLabel "sea"@en, "mar"@es, "Meer"@de .',
        "utf-8",
    )
    thesauri.import_thesaurus(SYSTEM, "sea", [path])
    assert found("sea") == found("Meer") == found("http://x.example/sea") == {"es.example", "de.example"}
