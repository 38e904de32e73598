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
