"""A crawl from one page finds the services of MapServer, MapProxy, pycsw, PyWPS and pygeoapi, as they are."""

import json

import pytest

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def catalogue(real_servers, tmp_path_factory):
    """What a crawl of the page that leads to all servers has found."""
    from tests.engine.system import System

    system = System(tmp_path_factory.mktemp("crawl") / "data", delay=0)
    system.crawl(real_servers.portal + "/", "--probe", "--depth", "3")
    lines = system.run("geo", "search", "--all", "--layers", "--limit", "1000", "--json").stdout.splitlines()
    return system, [json.loads(line) for line in lines]


def test_all_services_are_found_with_type_version_layers_and_boxes(catalogue, real_servers):
    _, entries = catalogue
    found = {(entry["type"], entry["endpoint"].rstrip("/")): entry for entry in entries}
    portal, proxy = real_servers.portal, real_servers.mapproxy
    world = (-180, -85.05112878, 180, 85.05112878)
    aragon = (-2, 40, 1, 43)
    expected = {
        ("wms", f"{portal}/cgi-bin/mapserv"): ("1.3.0", {"aragon", "towns", "heights"}, aragon),
        ("wfs", f"{portal}/cgi-bin/mapserv"): ("2.0.0", {"ms:towns"}, (-1, 41, 0, 43)),
        ("wcs", f"{portal}/cgi-bin/mapserv"): ("2.0.1", {"heights"}, (-1, 41, 0, 42)),
        ("wms", f"{proxy}/service"): ("1.3.0", {"aragon"}, world),
        ("wmts", f"{proxy}/wmts/1.0.0/WMTSCapabilities.xml"): ("1.0.0", {"aragon"}, world),
        ("tms", f"{proxy}/tms/1.0.0"): ("1.0.0", {"Tiles of Aragon"}, None),
        ("csw", f"{real_servers.pycsw}/csw"): ("3.0.0", None, None),
        ("wps", f"{real_servers.pywps}/wps"): ("1.0.0", {"hello"}, None),
        ("ogcapi-features", real_servers.pygeoapi): ("1.0", {"towns"}, aragon),
        ("ogcapi-processes", real_servers.pygeoapi): ("1.0", {"hello-world"}, None),
        ("stac", f"{real_servers.pygeoapi}/stac"): (None, None, None),
    }
    missing = expected.keys() - found.keys()
    assert not missing, f"not found: {missing}; found: {sorted(found)}"
    for key, (version, layers, box) in expected.items():
        entry = found[key]
        assert entry["state"] == "alive", key
        if version:
            assert entry["version"] == version, key
        if layers is not None:
            assert {layer["name"] for layer in entry["layers"]} >= layers, key
        if box is not None:
            assert entry["bbox"] == pytest.approx(box, abs=1e-6), key


def test_the_way_to_a_service_is_kept(catalogue, real_servers):
    _, entries = catalogue
    wps = next(entry for entry in entries if entry["type"] == "wps")
    assert wps["found_on"] == real_servers.portal + "/"
    assert wps["way"] == [real_servers.portal + "/"]


def test_capabilities_are_captures_of_the_archive(catalogue, real_servers):
    system, _ = catalogue
    url = f"{real_servers.pywps}/wps?service=WPS&request=GetCapabilities"
    versions = system.run("archive", "versions", url, "--json").stdout
    assert url in versions


def test_health_of_real_services_with_maps_and_features(catalogue, real_servers):
    system, entries = catalogue
    asked = (real_servers.portal, real_servers.mapproxy)  # MapProxy refuses coordinate systems that it does not list
    chosen = [entry["id"] for entry in entries if entry["endpoint"].startswith(asked)]
    done = json.loads(system.run("geo", "check", *map(str, chosen), "--deep", "--json").stdout.splitlines()[-1])
    assert (done["services"], done["failed"]) == (len(chosen), 0), str(done)
    kinds = system.rows("SELECT DISTINCT request FROM geo_check WHERE ok")
    assert {kind for (kind,) in kinds} == {"capabilities", "map", "feature", "link"}


def test_export_as_in_the_founding_work(catalogue, tmp_path):
    system, _ = catalogue
    done = json.loads(system.run("geo", "export", str(tmp_path / "all"), "--json").stdout)
    assert done["documents"] >= 10
    index = (tmp_path / "all" / "index.csv").read_text()
    assert index.count("\n") == done["services"] + 1
    body = next((tmp_path / "all").glob("wps-*.xml")).read_bytes()
    from hemeroteca.geo.detection import describe

    assert describe(body).type == "wps"


def test_a_csw_is_harvested_and_its_services_are_visited(catalogue, real_servers, tmp_path):
    """Our own ISO 19139 goes into pycsw; another instance harvests it from there."""
    from tests.engine.system import System
    from tests.geo import servers

    system, entries = catalogue
    folder, records = tmp_path / "pycsw", tmp_path / "records"
    folder.mkdir()
    records.mkdir()
    wanted = [entry for entry in entries if entry["type"] in ("wms", "wps")]
    for entry in wanted:
        done = system.run("geo", "show", str(entry["id"]), "--iso19139")
        assert done.returncode == 0, done.stderr
        (records / f"{entry['identifier']}.xml").write_text(done.stdout)
    other = System(tmp_path / "data", delay=0)
    with servers.pycsw(folder, records) as base:
        done = other.run("geo", "harvest", f"{base}/csw", "--json")
        assert done.returncode == 0, done.stderr
        first = json.loads(done.stdout.splitlines()[-1])
        assert (first["kind"], first["added"], first["failed"]) == ("csw", len(wanted), 0)
        again = json.loads(other.run("geo", "harvest", f"{base}/csw", "--json").stdout.splitlines()[-1])
        assert (again["added"], again["changed"], again["vanished"]) == (0, 0, 0)
    lines = other.run("geo", "search", "--json").stdout.splitlines()
    found = {(entry["type"], entry["endpoint"]) for entry in map(json.loads, lines)}
    assert {(entry["type"], entry["endpoint"]) for entry in wanted} <= found


@pytest.mark.parametrize("address", ["wmts/1.0.0/aragon/default/0/0/0.png", "service?SERVICE=WMS&REQUEST=GetMap"])
def test_add_finds_all_services_behind_any_of_their_addresses(address, real_servers, tmp_path):
    """MapProxy never names itself: its other services are known by where it answers."""
    from tests.engine.system import System

    system = System(tmp_path / "data", delay=0)
    done = system.run("geo", "add", f"{real_servers.mapproxy}/{address}", "--json")
    assert done.returncode == 0, done.stderr
    found = {json.loads(line)["type"] for line in done.stdout.splitlines()}
    assert {"wms", "wmts", "tms"} <= found
    tried = system.rows("SELECT name, tried, found FROM geo_sibling_rule")
    assert all(name and tries for name, tries, _ in tried), tried
    assert ("MapProxy's TMS", 1, 1) in tried


def test_inspect_of_an_address(real_servers, tmp_path):
    from tests.engine.system import System

    system = System(tmp_path / "data")
    url = f"{real_servers.pycsw}/csw?service=CSW&request=GetCapabilities&version=2.0.2"
    found = json.loads(system.run("geo", "inspect", url, "--json").stdout)
    assert (found["type"], found["version"], found["title"]) == ("csw", "2.0.2", "Catalogue of Aragon")


def test_records_and_stac_of_pygeoapi_are_harvested_to_their_end(real_servers, tmp_path):
    """At addresses that give people HTML; more records than a page holds."""
    from hemeroteca import config
    from hemeroteca.geo import harvest
    from tests.geo.servers import RECORDED

    errands = harvest.Errands(config.load(data=tmp_path, allow_private=True, delay=0.0))
    base = real_servers.pygeoapi
    assert harvest.guess_kind(base, errands) == "records"
    found = {one.identifier: one.addresses for one in harvest.harvest("records", base, errands)}
    assert found == {name: [f"{url}?service=WMS&request=GetCapabilities"] for name, url in RECORDED.items()}
    assert harvest.guess_kind(f"{base}/stac", errands) == "stac"
    names = [one.identifier for one in harvest.harvest("stac", f"{base}/stac", errands)]
    assert names == ["pygeoapi-stac", "files-stac"], "the HTML of a catalogue is not another one"


def test_oai_pmh_of_pycsw_is_harvested_to_its_end(tmp_path):
    """pycsw wants the prefix beside the token, and begins anew after the end."""
    from hemeroteca import config
    from hemeroteca.geo import harvest
    from tests.geo import servers

    folder, records = tmp_path / "pycsw", tmp_path / "records"
    folder.mkdir()
    records.mkdir()
    spaces = (
        'xmlns:csw="http://www.opengis.net/cat/csw/2.0.2" xmlns:dc="http://purl.org/dc/elements/1.1/" '
        'xmlns:dct="http://purl.org/dc/terms/"'
    )
    wanted = {f"id-{number}": [f"https://maps-{number}.example/geoserver/ows?service=WMS"] for number in range(27)}
    for name, (address,) in wanted.items():
        (records / f"{name}.xml").write_text(
            f"<csw:Record {spaces}><dc:identifier>{name}</dc:identifier><dc:title>{name}</dc:title><dc:type>service"
            f'</dc:type><dct:references scheme="OGC:WMS">{address}</dct:references></csw:Record>'
        )
    errands = harvest.Errands(config.load(data=tmp_path, allow_private=True, delay=0.0))
    with servers.pycsw(folder, records) as base:
        assert harvest.guess_kind(f"{base}/csw?mode=oaipmh", errands) == "oai"
        found = list(harvest.harvest("oai", f"{base}/csw?mode=oaipmh", errands))
    assert [len(found), {one.identifier: one.addresses for one in found}] == [27, wanted]
