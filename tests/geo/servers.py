"""Real servers of geographic services on loopback: MapServer, MapProxy, pycsw, PyWPS, pygeoapi.

`tests/install` brings them: MapServer as a Debian package, the others each in an environment of its own under
`tests/.geo-servers`. Each server is started once per run, on a free port, and ended by its own id.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.waiting import wait_for

ENVIRONMENTS = Path(__file__).parents[1] / ".geo-servers"
MAPSERV = shutil.which("mapserv") or next((p for p in ("/usr/lib/cgi-bin/mapserv",) if os.path.exists(p)), "")

POINTS = """{"type":"FeatureCollection","features":[
{"type":"Feature","id":1,"properties":{"id":1,"name":"Zaragoza"},"geometry":{"type":"Point","coordinates":[-0.88,41.65]}},
{"type":"Feature","id":2,"properties":{"id":2,"name":"Huesca"},"geometry":{"type":"Point","coordinates":[-0.41,42.14]}}]}
"""

MAPFILE = """MAP
  NAME "aragon"
  STATUS ON
  SIZE 400 300
  EXTENT -2 40 1 43
  PROJECTION "init=epsg:4326" END
  SYMBOL NAME "dot" TYPE ELLIPSE POINTS 1 1 END FILLED TRUE END
  WEB METADATA
    "ows_title" "Rivers of Aragon"
    "ows_abstract" "Served by MapServer for a test"
    "ows_onlineresource" "{base}/cgi-bin/mapserv?"
    "ows_srs" "EPSG:4326 EPSG:3857 EPSG:25830"
    "ows_enable_request" "*"
    "ows_keywordlist" "rivers,water"
    "ows_fees" "none"
    "ows_accessconstraints" "CC BY 4.0"
    "wcs_label" "Heights of Aragon"
  END END
  LAYER
    NAME "towns" TYPE POINT STATUS ON
    EXTENT -1 41 0 43
    CONNECTIONTYPE OGR CONNECTION "{folder}/points.json"
    METADATA "ows_title" "Towns" "gml_include_items" "all" "wfs_getfeature_formatlist" "gml" END
    PROJECTION "init=epsg:4326" END
    CLASS STYLE SYMBOL "dot" COLOR 200 0 0 SIZE 10 END END
  END
  LAYER
    NAME "heights" TYPE RASTER STATUS ON
    DATA "{folder}/heights.asc"
    EXTENT -1 41 0 42
    METADATA "ows_title" "Heights" "wcs_label" "Heights" "ows_extent" "-1 41 0 42"
      "wcs_srs" "EPSG:4326" "wcs_native_srs" "EPSG:4326" "wcs_bandcount" "1" "wcs_size" "4 4" END
    PROJECTION "init=epsg:4326" END
  END
END
"""

GRID = "ncols 4\nnrows 4\nxllcorner -1\nyllcorner 41\ncellsize 0.25\n" + "1 2 3 4\n" * 4

MAPPROXY = """
services:
  demo:
  wms:
    srs: ['EPSG:4326', 'EPSG:3857']
    md: {{title: Proxy of Aragon, abstract: served by MapProxy for a test}}
  wmts:
  tms:
layers:
  - name: aragon
    title: Tiles of Aragon
    sources: [cache]
caches:
  cache:
    grids: [GLOBAL_MERCATOR]
    sources: [paper]
    cache: {{type: file, directory: {folder}/cache}}
sources:
  paper:
    type: debug
    coverage: {{bbox: [-2, 40, 1, 43], srs: 'EPSG:4326'}}
"""

WSGI = """import sys
from wsgiref.simple_server import WSGIRequestHandler, make_server
class Quiet(WSGIRequestHandler):
    def log_message(self, *args): pass
{app}
make_server("127.0.0.1", int(sys.argv[1]), application, handler_class=Quiet).serve_forever()
"""

PYCSW = """
import os
os.environ["PYCSW_CONFIG"] = sys.argv[2]
os.environ["PYCSW_ROOT"] = os.path.dirname(sys.argv[2])
from pycsw.wsgi import application as inner
def application(environ, start_response):
    environ["HTTP_HOST"] = environ.get("HTTP_HOST", "127.0.0.1")
    return inner(environ, start_response)
"""

PYCSW_CONFIG = """[server]
home={folder}
url={base}/csw
mimetype=application/xml; charset=UTF-8
encoding=UTF-8
language=en-US
maxrecords=10
profiles=apiso
[manager]
transactions=false
allowed_ips=127.0.0.1
[metadata:main]
identification_title=Catalogue of Aragon
identification_abstract=Served by pycsw for a test
identification_keywords=catalogue,aragon
identification_keywords_type=theme
identification_fees=None
identification_accessconstraints=None
provider_name=Aragon
provider_url=http://aragon.example/
contact_name=Goya
contact_position=Painter
contact_address=Fuendetodos
contact_city=Zaragoza
contact_stateorprovince=Aragon
contact_postalcode=50001
contact_country=Spain
contact_phone=1
contact_fax=1
contact_email=goya@aragon.example
contact_url=http://aragon.example/
contact_hours=0
contact_instructions=none
contact_role=pointOfContact
[repository]
database=sqlite:///{folder}/records.db
table=records
"""

PYWPS = """
import logging
logging.disable(logging.CRITICAL)
from pywps import Process, LiteralInput, LiteralOutput, Service
from pywps import configuration
class Hello(Process):
    def __init__(self):
        super().__init__(self.handle, identifier="hello", title="Says hello", abstract="A process of a test",
            inputs=[LiteralInput("name", "name", data_type="string")],
            outputs=[LiteralOutput("out", "out", data_type="string")])
    def handle(self, request, response):
        response.outputs["out"].data = "hello"
        return response
configuration.load_configuration()
configuration.CONFIG.set("server", "url", "http://127.0.0.1:" + sys.argv[1] + "/wps")
configuration.CONFIG.set("metadata:main", "identification_title", "Processes of Aragon")
application = Service([Hello()])
"""

PYGEOAPI = """server:
  bind: {{host: 127.0.0.1, port: {port}}}
  url: {base}
  mimetype: application/json; charset=UTF-8
  encoding: utf-8
  language: en-US
  limits: {{default_items: 10, max_items: 50}}
  map: {{url: "http://tiles.example/{{z}}/{{x}}/{{y}}.png", attribution: none}}
  templates: {{}}
logging: {{level: ERROR}}
metadata:
  identification:
    title: {{en: Features of Aragon}}
    description: {{en: served by pygeoapi for a test}}
    keywords: {{en: [aragon, features]}}
    keywords_type: theme
    terms_of_service: https://creativecommons.org/licenses/by/4.0/
    url: http://aragon.example/
  license: {{name: CC-BY 4.0, url: "https://creativecommons.org/licenses/by/4.0/"}}
  provider: {{name: Aragon, url: "http://aragon.example/"}}
  contact: {{name: Goya, position: Painter, address: x, city: Zaragoza, stateorprovince: Aragon, postalcode: '50001',
    country: Spain, phone: '1', fax: '1', email: goya@aragon.example, url: "http://aragon.example/", hours: x,
    instructions: x, role: pointOfContact}}
resources:
  towns:
    type: collection
    title: Towns
    description: Towns of Aragon
    keywords: [towns]
    links: []
    extents:
      spatial: {{bbox: [-2, 40, 1, 43], crs: "http://www.opengis.net/def/crs/OGC/1.3/CRS84"}}
      temporal: {{begin: 2001-01-01T00:00:00Z, end: 2011-01-01T00:00:00Z}}
    providers:
      - {{type: feature, name: GeoJSON, data: {folder}/points.json, id_field: id}}
  files:
    type: stac-collection
    title: Files of Aragon
    description: a static catalogue
    keywords: [stac]
    links: []
    extents:
      spatial: {{bbox: [-2, 40, 1, 43], crs: "http://www.opengis.net/def/crs/OGC/1.3/CRS84"}}
    providers:
      - {{type: stac, name: FileSystem, data: {folder}/stac, file_types: [.json]}}
  metadata:
    type: collection
    title: Records of Aragon
    description: what there is
    keywords: [records]
    links: []
    extents:
      spatial: {{bbox: [-2, 40, 1, 43], crs: "http://www.opengis.net/def/crs/OGC/1.3/CRS84"}}
    providers:
      - {{type: record, name: TinyDBCatalogue, data: {folder}/records.tinydb, id_field: externalId, time_field: created,
         title_field: title}}
  hello-world:
    type: process
    processor: {{name: HelloWorld}}
"""


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def python_of(name: str) -> Path:
    python = ENVIRONMENTS / name / "bin" / "python"
    if not python.exists():
        pytest.skip(f"{name} is not installed (tests/install brings it into {ENVIRONMENTS})")
    return python


@contextmanager
def running(command: list[str], port: int, log: Path, **environment: str) -> Iterator[None]:
    with log.open("w") as file:
        process = subprocess.Popen(
            command, stdout=file, stderr=subprocess.STDOUT, env={**os.environ, **environment}, cwd=log.parent
        )

    def answers() -> bool:
        if process.poll() is not None:
            pytest.skip(f"{command[0]} ended at once: {log.read_text()[-500:]}")
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            return False
        return True

    try:
        wait_for(answers)
        yield
    finally:
        process.terminate()
        process.wait()


@contextmanager
def wsgi(name: str, app: str, folder: Path, *arguments: str, **environment: str) -> Iterator[str]:
    port = free_port()
    python = python_of(name)
    program = folder / f"run_{name}.py"
    program.write_text(WSGI.format(app=app))
    with running([str(python), str(program), str(port), *arguments], port, folder / f"{name}.log", **environment):
        yield f"http://127.0.0.1:{port}"


class _Cgi(BaseHTTPRequestHandler):
    mapfile = ""
    pages: dict[str, bytes] = {}

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        if path != "/cgi-bin/mapserv":
            body = self.pages.get(path)
            self.send_response(200 if body is not None else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(body or b"nothing here")
            return
        environment = {
            "REQUEST_METHOD": "GET",
            "QUERY_STRING": query,
            "MS_MAPFILE": self.mapfile,
            "SERVER_NAME": "127.0.0.1",
            "SERVER_PORT": str(self.server.server_port),  # type: ignore[attr-defined]
            "SCRIPT_NAME": "/cgi-bin/mapserv",
            "PATH": os.environ["PATH"],
            "MAPSERVER_CONFIG_FILE": self.mapfile + ".conf",
        }
        answer = subprocess.run([MAPSERV], env=environment, capture_output=True, check=False).stdout
        head, _, body = answer.partition(b"\r\n\r\n")
        self.send_response(200)
        for line in head.decode("latin-1").splitlines():
            key, _, value = line.partition(":")
            if value:
                self.send_header(key, value.strip())
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


@contextmanager
def mapserver(folder: Path, pages: dict[str, bytes]) -> Iterator[str]:
    """MapServer behind a small CGI server, which also has the pages that lead to the others."""
    if not MAPSERV:
        pytest.skip("MapServer is not installed (on Debian: apt install cgi-mapserver)")
    (folder / "points.json").write_text(POINTS)
    (folder / "heights.asc").write_text(GRID)
    mapfile = folder / "aragon.map"
    handler = type("Handler", (_Cgi,), {"mapfile": str(mapfile), "pages": pages})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    base = f"http://127.0.0.1:{server.server_port}"
    (folder / "aragon.map.conf").write_text('CONFIG\n  ENV\n    MS_MAP_PATTERN "."\n  END\nEND\n')
    mapfile.write_text(MAPFILE.format(base=base, folder=folder))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield base
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def mapproxy(folder: Path) -> Iterator[str]:
    (folder / "mapproxy.yaml").write_text(MAPPROXY.format(folder=folder))
    app = f"from mapproxy.wsgiapp import make_wsgi_app\napplication = make_wsgi_app({str(folder / 'mapproxy.yaml')!r})"
    with wsgi("mapproxy", app, folder) as base:
        yield base


@contextmanager
def pycsw(folder: Path, records: Path | None = None) -> Iterator[str]:
    """With the records of a folder (ISO 19139 or Dublin Core, one file each)."""
    python = python_of("pycsw")
    config = folder / "pycsw.cfg"
    port = free_port()
    config.write_text(PYCSW_CONFIG.format(folder=folder, base=f"http://127.0.0.1:{port}"))
    admin = python.with_name("pycsw-admin.py")
    subprocess.run([python, admin, "-c", "setup_db", "-f", config], check=True, capture_output=True)
    if records is not None:
        subprocess.run(
            [python, admin, "-c", "load_records", "-f", config, "-p", records], check=True, capture_output=True
        )
    program = folder / "run_pycsw.py"
    program.write_text(WSGI.format(app=PYCSW))
    with running([str(python), str(program), str(port), str(config)], port, folder / "pycsw.log"):
        yield f"http://127.0.0.1:{port}"


@contextmanager
def pywps(folder: Path) -> Iterator[str]:
    program = "run_pywps"
    python = python_of("pywps")
    port = free_port()
    path = folder / f"{program}.py"
    path.write_text(WSGI.format(app=PYWPS))
    with running([str(python), str(path), str(port)], port, folder / "pywps.log"):
        yield f"http://127.0.0.1:{port}"


RECORDED = {f"record-{number:02}": f"https://maps-{number}.example/geoserver/ows" for number in range(25)}


def records_of(addresses: dict[str, str]) -> str:
    """The records of pygeoapi's catalogue, each naming a service, as its own database holds them."""
    made = {
        str(place): {
            "id": name, "type": "Feature", "time": {"interval": ["2001-10-30", "2007-10-30"]},
            "geometry": {"type": "Point", "coordinates": [0, 41]},
            "properties": {"externalId": name, "title": f"Record {name}", "type": "service", "created": "2010-01-01"},
            "links": [{"rel": "item", "type": "application/xml", "href": f"{url}?service=WMS&request=GetCapabilities"}],
        }
        for place, (name, url) in enumerate(addresses.items(), 1)
    }  # fmt: skip
    return json.dumps({"_default": made})


@contextmanager
def pygeoapi(folder: Path) -> Iterator[str]:
    python = python_of("pygeoapi")
    port = free_port()
    base = f"http://127.0.0.1:{port}"
    (folder / "stac").mkdir(exist_ok=True)
    (folder / "points.json").write_text(POINTS)
    (folder / "stac" / "towns.json").write_text(POINTS)
    (folder / "records.tinydb").write_text(records_of(RECORDED))
    config, openapi = folder / "pygeoapi.yml", folder / "openapi.yml"
    config.write_text(PYGEOAPI.format(port=port, base=base, folder=folder))
    environment = {"PYGEOAPI_CONFIG": str(config), "PYGEOAPI_OPENAPI": str(openapi)}
    tool = python.with_name("pygeoapi")
    made = subprocess.run(
        [tool, "openapi", "generate", str(config), "--output-file", str(openapi)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode:
        pytest.skip(f"pygeoapi does not start: {made.stderr[-500:]}")
    app = "from pygeoapi.flask_app import APP as application"
    path = folder / "run_pygeoapi.py"
    path.write_text(WSGI.format(app=app))
    with running([str(python), str(path), str(port)], port, folder / "pygeoapi.log", **environment):
        yield base


def get(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=60) as answer:
        return answer.read()


if __name__ == "__main__":  # pragma: no cover - a look at what a server says
    sys.exit("run the tests of tests/geo")
