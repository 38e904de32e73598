"""QGIS itself searches the catalogue with MetaSearch, and opens a service as layers; headless, in its own process."""

import dataclasses
import json
import os
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from hemeroteca.geo import queries, records
from hemeroteca.geo.models import Service
from tests.geo.test_catalogue import take
from tests.geo.test_detection import WMS

PYTHON = "/usr/bin/python3"  # Debian's: QGIS is not in an environment of pip
PLUGINS = "/usr/share/qgis/python/plugins"
BEGIN = """
import json, sys
from qgis.core import *
from qgis.PyQt.QtWidgets import QApplication
QgsApplication.setPrefixPath("/usr", True)
app = QgsApplication([], True)
app.initQgis()
"""
SEARCH = """
sys.path.insert(0, PLUGINS)
from qgis.core import QgsSettings
from qgis.gui import QgsMapCanvas
from MetaSearch.dialogs.maindialog import MetaSearchDialog
class Interface:
    canvas = QgsMapCanvas()
    def mapCanvas(self): return self.canvas
    def __getattr__(self, name): return lambda *args, **kwargs: None
QgsSettings().setValue("/MetaSearch/ours/url", URL)
dialog = MetaSearchDialog(Interface())
dialog.cmbConnectionsSearch.clear()
dialog.cmbConnectionsSearch.addItem("ours")
def found(words, west="-180", south="-90", east="180", north="90"):
    dialog.leKeywords.setText(words)
    for field, value in zip((dialog.leWest, dialog.leSouth, dialog.leEast, dialog.leNorth), (west, south, east, north)):
        field.setText(value)
    dialog.search()
    tree = dialog.treeRecords
    return [tree.topLevelItem(n).text(1) for n in range(tree.topLevelItemCount())]
answers = {"all": found(""), "words": found("rios"), "here": found("rios", "-1", "40", "1", "42"),
           "elsewhere": found("", "100", "0", "110", "10")}
found("rios")
dialog.treeRecords.setCurrentItem(dialog.treeRecords.topLevelItem(0))
answers["addable"] = dialog.mActionAddWms.isEnabled()
print(json.dumps(answers), flush=True)
"""
OPEN = """
project = QgsProject.instance()
done, problem = QgsLayerDefinition.loadLayerDefinition(PATH, project, project.layerTreeRoot())
layers = project.mapLayers().values()
print(json.dumps([[one.name(), one.isValid(), one.providerType()] for one in layers]), flush=True)
"""

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]


@pytest.fixture(scope="module")
def qgis(tmp_path_factory):
    """Runs a script in QGIS, and gives the JSON it prints last."""
    if not os.path.isdir(PLUGINS) or subprocess.run([PYTHON, "-c", "import qgis.core"], capture_output=True).returncode:
        pytest.skip("QGIS is not installed (on Debian: apt install python3-qgis qgis-providers)")
    home = tmp_path_factory.mktemp("qgis")

    def run(script: str, **names: str):
        given = "".join(f"{name} = {value!r}\n" for name, value in {"PLUGINS": PLUGINS, **names}.items())
        environment = {
            **os.environ, "QT_QPA_PLATFORM": "offscreen", "HOME": str(home), "XDG_RUNTIME_DIR": str(home),
            "QGIS_CUSTOM_CONFIG_PATH": str(home / "profile"),
        }  # fmt: skip
        environment.pop("PYTHONPATH", None)
        # QGIS may crash when Python ends before Qt; what it has printed until then counts.
        program = BEGIN + given + script + "\nimport os\nos._exit(0)\n"
        done = subprocess.run([PYTHON, "-c", program], env=environment, capture_output=True, text=True, timeout=300)
        lines = done.stdout.splitlines()
        assert lines, done.stderr[-3000:]
        return json.loads(lines[-1])

    return run


def test_metasearch_finds_services_by_words_and_by_place(qgis, live_server, settings):
    settings.CONFIG = dataclasses.replace(settings.CONFIG, open_search=True)
    take("https://maps.example.org/wms?service=WMS&request=GetCapabilities")
    take("https://other.example/wms?service=WMS&request=GetCapabilities", WMS.replace("Ríos", "Caminos"))
    found = qgis(SEARCH, URL=f"{live_server.url}/geo/csw")
    assert sorted(found["all"]) == ["Caminos", "Ríos"]
    assert found["words"] == found["here"] == ["Ríos"]
    assert found["elsewhere"] == []
    assert found["addable"] is True


def test_a_layer_definition_opens_as_layers_that_work(qgis, tmp_path):
    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = WMS.replace("https://maps.example.org", f"http://127.0.0.1:{server.server_port}").encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/xml")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        take(f"http://127.0.0.1:{server.server_port}/wms?service=WMS&request=GetCapabilities")
        service = Service.objects.get()
        path = tmp_path / "service.qlr"
        path.write_text(records.qlr(service, queries.layers(service)), "utf-8")
        opened = qgis(OPEN, PATH=str(path))
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert sorted(opened) == [["Lakes", True, "wms"], ["Rivers", True, "wms"]]
