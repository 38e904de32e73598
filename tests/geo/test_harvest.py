"""Catalogues of others: each kind is read to its end; the second time what is new, changed or vanished is told."""

import json

import pytest

from hemeroteca import config
from hemeroteca.accounts import SYSTEM
from hemeroteca.errors import Unavailable
from hemeroteca.geo import harvest

WMS_A, WMS_B = "https://a.example/wms?service=WMS&request=GetCapabilities", "https://b.example/geoserver/ows"


def iso(name: str, title: str, address: str) -> str:
    return (
        '<?xml version="1.0"?><gmd:MD_Metadata xmlns:gmd="http://www.isotc211.org/2005/gmd" '
        'xmlns:gco="http://www.isotc211.org/2005/gco"><gmd:fileIdentifier><gco:CharacterString>'
        f"{name}</gco:CharacterString></gmd:fileIdentifier><gmd:title><gco:CharacterString>{title}"
        "</gco:CharacterString></gmd:title><gmd:linkage><gmd:URL>"
        f"{address.replace('&', '&amp;')}</gmd:URL></gmd:linkage></gmd:MD_Metadata>"
    )


def catalogues() -> dict[str, tuple[str, dict[str, str], dict[str, list[str]]]]:
    """Kind → where to begin, files, and what is expected: identifier → addresses."""
    return {
        "csw": (
            "/csw",
            {
                "/csw?service=CSW&version=2.0.2&request=GetRecords&typeNames=csw%3ARecord&resultType=results"
                f"&elementSetName=full&startPosition={start}&maxRecords={harvest.PAGE}": (
                    '<?xml version="1.0"?><csw:GetRecordsResponse xmlns:csw="http://www.opengis.net/cat/csw/2.0.2" '
                    'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dct="http://purl.org/dc/terms/">'
                    f'<csw:SearchResults numberOfRecordsMatched="2" nextRecord="{after}"><csw:Record>'
                    f"<dc:identifier>{name}</dc:identifier><dc:title>T</dc:title>"
                    f"<dct:references>{address.replace('&', '&amp;')}</dct:references>"
                    "</csw:Record></csw:SearchResults></csw:GetRecordsResponse>"
                )
                for start, after, name, address in ((1, 2, "one", WMS_A), (2, 0, "two", WMS_B))
            },
            {"one": [WMS_A], "two": [WMS_B]},
        ),
        "records": (
            "/api",
            {
                "/api/collections": json.dumps(
                    {"collections": [{"id": "m", "itemType": "record"}, {"id": "roads", "itemType": "feature"}]}
                ),
                f"/api/collections/m/items?f=json&limit={harvest.PAGE}": json.dumps(
                    {"type": "FeatureCollection",
                     "features": [{"id": "one", "properties": {"title": "A"}, "links": [{"href": WMS_A, "rel": "x"}]}],
                     "links": [{"rel": "next", "href": "{base}/api/collections/m/items?page=2"}]}
                ),
                "/api/collections/m/items?page=2": json.dumps(
                    {"features": [{"id": "two", "properties": {"title": "B", "associations": [{"href": WMS_B}]}}]}
                ),
            },
            {"one": [WMS_A], "two": [WMS_B]},
        ),
        "stac": (
            "/stac/catalog.json",
            {
                "/stac/catalog.json": json.dumps(
                    {"stac_version": "1.0.0", "type": "Catalog", "id": "root",
                     "links": [{"rel": "child", "href": "./a/collection.json"}, {"rel": "root", "href": "."}]}
                ),
                "/stac/a/collection.json": json.dumps(
                    {"stac_version": "1.0.0", "type": "Collection", "id": "a", "title": "A", "links": [
                        {"rel": "parent", "href": "../catalog.json"}]}
                ),
            },
            {"root": ["{base}/stac/catalog.json"], "a": ["{base}/stac/a/collection.json"]},
        ),
        "ckan": (
            "/ckan/api/3/action/package_search",
            {
                f"/ckan/api/3/action/package_search?rows={harvest.PAGE}&start=0": json.dumps(
                    {"success": True, "result": {"count": 2, "results": [
                        {"id": "one", "title": "A", "resources": [{"url": WMS_A}, {"url": "https://a.example/a.csv"}]},
                        {"id": "two", "title": "B", "resources": [{"url": WMS_B}]}]}}
                ),
                f"/ckan/api/3/action/package_search?rows={harvest.PAGE}&start=2": json.dumps(
                    {"success": True, "result": {"count": 2, "results": []}}
                ),
            },
            {"one": [WMS_A], "two": [WMS_B]},
        ),
        "dcat": (
            "/catalog.rdf",
            {
                "/catalog.rdf": '<?xml version="1.0"?><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" '
                'xmlns:dcat="http://www.w3.org/ns/dcat#" xmlns:dct="http://purl.org/dc/terms/"><dcat:Dataset '
                'rdf:about="https://d.example/one"><dct:title>A</dct:title><dcat:distribution><dcat:Distribution>'
                f'<dcat:accessURL rdf:resource="{WMS_A.replace("&", "&amp;")}"/></dcat:Distribution>'
                '</dcat:distribution></dcat:Dataset>'
                '<dcat:DataService rdf:about="https://d.example/two"><dcat:endpointURL '
                f'rdf:resource="{WMS_B}"/></dcat:DataService></rdf:RDF>'
            },
            {"https://d.example/one": [WMS_A], "https://d.example/two": [WMS_B]},
        ),
        "arcgis": (
            "/arcgis/rest/services",
            {
                "/arcgis/rest/services": json.dumps(
                    {"currentVersion": 10.91, "folders": ["in"], "services": [{"name": "roads", "type": "MapServer"}]}
                ),
                "/arcgis/rest/services/in": json.dumps(
                    {"currentVersion": 10.91, "services": [{"name": "in/wells", "type": "FeatureServer"}]}
                ),
            },
            {
                "{base}/arcgis/rest/services/roads/MapServer": ["{base}/arcgis/rest/services/roads/MapServer"],
                "{base}/arcgis/rest/services/in/wells/FeatureServer": [
                    "{base}/arcgis/rest/services/in/wells/FeatureServer"
                ],
            },
        ),
        "oai": (
            "/oai",
            {
                "/oai?verb=ListRecords&metadataPrefix=oai_dc": _oai("one", WMS_A, "n"),
                "/oai?verb=ListRecords&resumptionToken=n": _oai("two", WMS_B, ""),
            },
            {"one": [WMS_A], "two": [WMS_B]},
        ),
        "waf": (
            "/waf/",
            {
                "/waf/": '<html><title>Index of /waf</title><a href="../">Parent Directory</a><a href="one.xml">one</a>'
                '<a href="deep/">deep</a><a href="https://other.example/three.xml">x</a></html>',
                "/waf/deep/": '<html><a href="two.xml">two</a></html>',
                "/waf/one.xml": iso("one", "A", WMS_A),
                "/waf/deep/two.xml": iso("two", "B", WMS_B),
            },
            {"one": [WMS_A], "two": [WMS_B]},
        ),
        "thredds": (
            "/thredds/catalog.xml",
            {
                "/thredds/catalog.xml": _thredds('<catalogRef xlink:href="deep/catalog.xml" xlink:title="d"/>', "one"),
                "/thredds/deep/catalog.xml": _thredds("", "two"),
            },
            {
                name: [
                    f"{{base}}/thredds/wms/{name}.nc?service=WMS&request=GetCapabilities",
                    f"{{base}}/thredds/wcs/{name}.nc?service=WCS&request=GetCapabilities",
                ]
                for name in ("one", "two")
            },
        ),
    }  # fmt: skip


def _oai(name: str, address: str, after: str) -> str:
    return (
        '<?xml version="1.0"?><OAI-PMH xmlns="http://www.openarchives.org/OAI/2.0/"><ListRecords><record><header>'
        f"<identifier>{name}</identifier></header><metadata><dc><title>T</title><identifier>"
        f"{address.replace('&', '&amp;')}</identifier></dc></metadata></record><record><header status='deleted'>"
        f"<identifier>gone</identifier></header></record><resumptionToken>{after}</resumptionToken></ListRecords></OAI-PMH>"
    )


def _thredds(reference: str, name: str) -> str:
    return (
        '<?xml version="1.0"?><catalog xmlns="http://www.unidata.ucar.edu/namespaces/thredds/InvCatalog/v1.0" '
        'xmlns:xlink="http://www.w3.org/1999/xlink"><service name="all" serviceType="Compound" base="">'
        '<service name="wms" serviceType="WMS" base="/thredds/wms/"/>'
        '<service name="wcs" serviceType="WCS" base="/thredds/wcs/"/>'
        '<service name="dap" serviceType="OPENDAP" base="/thredds/dodsC/"/></service>'
        f'<dataset name="{name}" ID="{name}" urlPath="{name}.nc"/>{reference}</catalog>'
    )


@pytest.mark.parametrize("kind", sorted(catalogues()))
def test_each_kind_is_recognised_and_read_to_its_end(kind, http_files, tmp_path):
    path, files, expected = catalogues()[kind]
    base, _ = http_files({**files, **({"/api": _landing()} if kind == "records" else {})})
    errands = harvest.Errands(config.load(data=tmp_path, allow_private=True, delay=0.0))
    assert harvest.guess_kind(base + path, errands) == kind
    found = {one.identifier: one.addresses for one in harvest.harvest(kind, base + path, errands)}
    assert found == {
        name.replace("{base}", base): [one.replace("{base}", base) for one in addresses]
        for name, addresses in expected.items()
    }


def _landing() -> str:
    links = [
        {"rel": "conformance", "href": "{base}/api/conformance"},
        {"rel": "data", "href": "{base}/api/collections"},
    ]
    conforms = ["http://www.opengis.net/spec/ogcapi-records-1/1.0/conf/core"]
    return json.dumps({"title": "records", "links": links, "conformsTo": conforms})


def test_geonetwork_is_asked_by_its_csw(http_files, tmp_path):
    _, files, expected = catalogues()["csw"]
    moved = {address.replace("/csw?", "/geonetwork/srv/eng/csw?"): text for address, text in files.items()}
    base, _ = http_files(moved)
    errands = harvest.Errands(config.load(data=tmp_path, allow_private=True, delay=0.0))
    assert harvest.guess_kind(base + "/geonetwork", errands) == "geonetwork"
    found = harvest.harvest("geonetwork", base + "/geonetwork", errands)
    assert {one.identifier: one.addresses for one in found} == expected


def test_robots_txt_closes_catalogues_too(http_files, tmp_path):
    base, asked = http_files({"/robots.txt": "User-agent: *\nDisallow: /waf/\n", "/waf/": "<html></html>"})
    errands = harvest.Errands(config.load(data=tmp_path, allow_private=True, delay=0.0))
    with pytest.raises(Unavailable, match="Disallow: /waf/"):
        list(harvest.harvest("waf", base + "/waf/", errands))
    assert asked == ["/robots.txt"]


@pytest.mark.slow
def test_a_second_harvest_tells_what_is_new_changed_and_vanished(http_files, tmp_path):
    """Also that a catalogue that breaks off makes nothing vanish."""
    from tests.engine.system import System

    files = {
        "/waf/": '<html><title>Index of /waf</title><a href="one.xml">1</a><a href="two.xml">2</a></html>',
        "/waf/one.xml": iso("one", "A", "{base}/none/wms"),
        "/waf/two.xml": iso("two", "B", "{base}/none/wms"),
    }
    base, _ = http_files(files)
    system = System(tmp_path / "data", delay=0)

    def done() -> tuple[int, ...]:
        ended = system.run("geo", "harvest", base + "/waf/", "--kind", "waf", "--json")
        report = json.loads(ended.stdout.splitlines()[-1])
        return tuple(report[name] for name in ("added", "changed", "vanished", "failed"))

    assert done() == (2, 0, 0, 0)
    assert done() == (0, 0, 0, 0)
    files["/waf/one.xml"] = iso("one", "A, revised", "{base}/none/wms")
    files["/waf/three.xml"] = iso("three", "C", "{base}/none/wms")
    files["/waf/"] = files["/waf/"].replace("two.xml", "three.xml")
    assert done() == (1, 1, 1, 0)
    del files["/waf/"]
    assert done()[2:] == (0, 1)
    assert [name for (name,) in system.rows("SELECT identifier FROM geo_harvest_record ORDER BY identifier")] == [
        "one",
        "three",
    ]


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_serve_harvests_a_catalogue_again_and_keeps_the_report(settings, tmp_path, http_files):
    """Once when it is due; one that cannot be had is tried again as rarely as the others, and nothing vanishes."""
    from hemeroteca.geo.models import Harvest, HarvestRecord
    from hemeroteca.geo.visit_orders import order_harvests
    from hemeroteca.instance import Instance
    from hemeroteca.jobs import services as jobs
    from hemeroteca.jobs.models import Job
    from hemeroteca.jobs.runner import Runner

    files = {
        "/waf/": '<html><title>Index of /waf</title><a href="one.xml">1</a></html>',
        "/waf/one.xml": iso("one", "A", "{base}/none/wms"),
    }
    base, _ = http_files(files)
    settings.INSTANCE = Instance(tmp_path / "data")
    settings.INSTANCE.create()
    settings.CONFIG = config.load(data=tmp_path / "data", allow_private=True, delay=0.0, geo_harvest_hours=1.0)
    Runner().run(jobs.submit(SYSTEM, "geo.harvest", {"url": f"{base}/waf/", "kind": "waf"}, here=True))
    assert order_harvests(settings.CONFIG) == 0, "it was harvested just now"

    Harvest.objects.update(last_ms=1)
    assert order_harvests(settings.CONFIG) == 1
    assert order_harvests(settings.CONFIG) == 0, "it is ordered already"
    files["/waf/two.xml"] = iso("two", "B", "{base}/none/wms")
    files["/waf/"] += '<a href="two.xml">2</a>'
    assert Runner().drain(exclusive=False) == 1
    report = Harvest.objects.get().report
    assert (report["added"], report["changed"], report["vanished"], report["failed"]) == (1, 0, 0, 0)

    Harvest.objects.update(last_ms=1)
    del files["/waf/"]
    assert order_harvests(settings.CONFIG) == 1
    Runner().drain(exclusive=False)
    assert Job.objects.filter(state="queued").count() == 0
    report = Harvest.objects.get().report
    assert (report["failed"], bool(report["reason"])) == (1, True)
    assert order_harvests(settings.CONFIG) == 0, "it was tried just now"
    assert HarvestRecord.objects.count() == 2
