"""Capabilities of real servers (`../shared/data/ogc`), classified, and read as OWSLib reads them."""

from pathlib import Path

import pytest

from hemeroteca.geo.detection import describe

OGC = Path(__file__).parents[3] / "shared" / "data" / "ogc"
pytestmark = pytest.mark.skipif(not OGC.is_dir(), reason=f"no real documents: {OGC} does not exist")

EXPECTED = {
    "atom_owc_wms_meris": ("owc", "1.0"),
    "csw_202_inspire_cap": ("csw", "2.0.2"),
    "csw_30_cap": ("csw", "3.0.0"),
    "cuahsi_example_get_values": ("", ""),
    "eosdis-wmts-cap": ("wmts", "1.0.0"),
    "erdas-iws-wmts-cap": ("wmts", "1.0.0"),
    "geoserver21-wmts-cap": ("wmts", "1.0.0"),
    "inspire_atom": ("atom", "1.0"),
    "iso19139_srv": ("", ""),
    "mapserver-wfs-cap": ("wfs", "1.0.0"),
    "sos_52n_getcapabilities": ("sos", "1.0.0"),
    "sos_ndbc_getcapabilities": ("sos", "1.0.0"),
    "wcs_nsidc": ("wcs", "1.1.0"),
    "wfs_CUZK_GetCapabilities_2_0_0": ("wfs", "2.0.0"),
    "wfs_HSRS_GetCapabilities_1_1_0": ("wfs", "1.1.0"),
    "wfs_koeln_arcgis_getcapabilities_110": ("wfs", "1.1.0"),
    "wfs_koeln_arcgis_getcapabilities_200": ("wfs", "2.0.0"),
    "wfs_mapserver_demo_getcapabilities_100": ("wfs", "1.0.0"),
    "wfs_schema_dov_hhz": ("", ""),
    "wms_JPLCapabilities": ("wms", "1.1.1"),
    "wms_datageo_caps_130": ("wms", "1.3.0"),
    "wms_dov_getcapabilities_130": ("wms", "1.3.0"),
    "wms_geoserver-cap": ("wms", "1.1.1"),
    "wms_geoserver-cap_no_title": ("wms", "1.1.1"),
    "wms_mesonet-caps-130_bom": ("wms", "1.3.0"),
    "wms_mesonet-caps": ("wms", "1.1.1"),
    "wms_nationalatlas_getcapabilities_111": ("wms", "1.1.1"),
    "wps_52nCapabilities": ("wps", "1.0.0"),
    "wps_CEDADescribeProcess": ("", ""),
    "wps_USGSCapabilities": ("wps", "1.0.0"),
}


def body(name: str) -> bytes:
    return (OGC / f"{name}.xml").read_bytes()


def test_every_real_document_is_known_to_these_tests():
    assert {path.stem for path in OGC.glob("*.xml")} == EXPECTED.keys()


@pytest.mark.parametrize("name", EXPECTED)
def test_type_and_version_of_real_documents(name):
    found = describe(body(name))
    assert (found.type, found.version) == EXPECTED[name]
    if not found.type:
        assert found.reason


@pytest.mark.parametrize("name", [name for name, (kind, _) in EXPECTED.items() if kind])
def test_the_content_type_and_the_charset_make_no_difference(name):
    """The same text as UTF-16 with a lying header is the same service."""
    plain = describe(body(name))
    from hemeroteca.geo.xmltree import to_utf8

    text = to_utf8(body(name)).decode().removeprefix("\ufeff")
    again = describe(text.encode("utf-16"), "text/html; charset=iso-8859-1")
    assert (again.type, again.version, len(again.layers), again.bbox) == (
        plain.type,
        plain.version,
        len(plain.layers),
        plain.bbox,
    )


@pytest.mark.parametrize("name", [n for n, (kind, _) in EXPECTED.items() if kind == "wms" and "bom" not in n])
def test_wms_layers_titles_and_boxes_are_those_of_owslib(name):
    wms = pytest.importorskip("owslib.wms")
    found = describe(body(name))
    oracle = wms.WebMapService("http://oracle.example/", version=found.version, xml=body(name))
    assert [layer.name for layer in found.layers] == list(oracle.contents)
    assert found.title == (oracle.identification.title or "").strip()
    assert found.formats == oracle.getOperationByName("GetMap").formatOptions
    for layer in found.layers:
        other = oracle.contents[layer.name]
        assert layer.title == (" ".join(other.title.split()) if other.title else "")
        assert layer.styles == [style for style in other.styles if style]
        if other.boundingBoxWGS84:
            assert layer.bbox == pytest.approx(other.boundingBoxWGS84, abs=1e-3)


@pytest.mark.parametrize("name", [n for n, (kind, _) in EXPECTED.items() if kind == "wfs"])
def test_wfs_feature_types_are_those_of_owslib(name):
    wfs = pytest.importorskip("owslib.wfs")
    found = describe(body(name))
    oracle = wfs.WebFeatureService("http://oracle.example/", version=found.version, xml=body(name))
    assert sorted(layer.name for layer in found.layers) == sorted(oracle.contents)
    for layer in found.layers:
        other = oracle.contents[layer.name]
        assert layer.title == " ".join((other.title or "").split())
        box = other.boundingBoxWGS84
        if box and all(abs(side) <= 180 for side in box):
            assert layer.bbox == pytest.approx(box, abs=1e-3)


@pytest.mark.parametrize("name", [n for n, (kind, _) in EXPECTED.items() if kind == "wmts"])
def test_wmts_layers_are_those_of_owslib(name):
    wmts = pytest.importorskip("owslib.wmts")
    found = describe(body(name))
    oracle = wmts.WebMapTileService("http://oracle.example/", xml=body(name))
    assert {layer.name for layer in found.layers} == set(oracle.contents)
    for layer in found.layers:
        other = oracle.contents[layer.name]
        assert layer.formats == other.formats
        if other.boundingBoxWGS84:
            assert layer.bbox == pytest.approx(other.boundingBoxWGS84, abs=1e-3)


@pytest.mark.parametrize("name", [n for n, (kind, _) in EXPECTED.items() if kind == "sos"])
def test_sos_offerings_are_those_of_owslib(name):
    sos = pytest.importorskip("owslib.sos")
    found = describe(body(name))
    oracle = sos.SensorObservationService(None, version="1.0.0", xml=body(name))
    assert {layer.name for layer in found.layers} == set(oracle.contents)


@pytest.mark.parametrize("name", [n for n, (kind, _) in EXPECTED.items() if kind == "wps"])
def test_wps_processes_are_those_of_owslib(name):
    wps = pytest.importorskip("owslib.wps")
    found = describe(body(name))
    oracle = wps.WebProcessingService("http://oracle.example/", skip_caps=True)
    oracle.getcapabilities(xml=body(name))
    assert [layer.name for layer in found.layers] == [process.identifier for process in oracle.processes]
    assert found.title == oracle.identification.title


@pytest.mark.parametrize("name", ["csw_202_inspire_cap", "csw_30_cap"])
def test_csw_operations_are_those_of_owslib(name):
    from owslib.etree import etree
    from owslib.namespaces import Namespaces
    from owslib.ows import OperationsMetadata

    found = describe(body(name))
    root = etree.fromstring(body(name))
    namespace = Namespaces().get_namespace("ows" if found.version.startswith("2") else "ows200")
    operations = root.find(f"{{{namespace}}}OperationsMetadata")
    expected = [OperationsMetadata(one, namespace).name for one in operations.findall(f"{{{namespace}}}Operation")]
    assert found.operations == expected


def test_wcs_coverages_and_boxes():
    found = describe(body("wcs_nsidc"))
    assert len(found.layers) == 42
    assert all(layer.name and layer.bbox for layer in found.layers)


def test_inspire_parts_are_read():
    found = describe(body("wms_dov_getcapabilities_130"))
    assert found.inspire is not None
    assert found.inspire.metadata_url.startswith("https://")
    assert found.inspire.languages
