import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

import pytest

from tests.engine.system import System
from tests.geo import servers


class Servers(NamedTuple):
    portal: str  # MapServer, and the page that leads to all of them
    mapproxy: str
    pycsw: str
    pywps: str
    pygeoapi: str


@pytest.fixture(scope="session")
def real_servers(tmp_path_factory) -> Iterator[Servers]:
    """All of them, started once; a page of the first leads to them in the ways of real pages."""
    folder = tmp_path_factory.mktemp("geo-servers")
    pages: dict[str, bytes] = {}
    with ExitStack() as stack:
        portal = stack.enter_context(servers.mapserver(folder, pages))
        found = {}
        for name in ("mapproxy", "pycsw", "pywps", "pygeoapi"):
            place = folder / name
            place.mkdir()
            found[name] = stack.enter_context(getattr(servers, name)(place))
        pages["/"] = f"""<!doctype html><html><head><title>Geoportal</title></head><body>
            <p>Geoportal of Aragon: maps, data and services of rivers and towns.</p>
            <a href="{portal}/cgi-bin/mapserv?SERVICE=WMS&amp;REQUEST=GetMap&amp;LAYERS=towns">a map</a>
            <div data-url="{found["mapproxy"]}/service?SERVICE=WMS&amp;REQUEST=GetMap&amp;LAYERS=aragon"></div>
            <a href="{found["mapproxy"]}/wmts/1.0.0/WMTSCapabilities.xml">tiles</a>
            <a href="{found["mapproxy"]}/tms/1.0.0/aragon/EPSG900913/0/0/0.png">a tile</a>
            <a href="{found["pycsw"]}/csw">the catalogue</a>
            <script>var wps = "{found["pywps"]}/wps"; var files = "{found["pygeoapi"]}/stac";</script>
            <a href="{found["pygeoapi"]}/collections/towns">towns</a></body></html>""".encode()
        yield Servers(portal, **found)


@pytest.fixture
def system(tmp_path) -> System:
    return System(tmp_path / "data", delay=0)


@pytest.fixture
def http_files() -> Iterator[Callable[[dict[str, str]], tuple[str, list[str]]]]:
    """Serves texts by their paths (with query where one is given); the address, and the list of what was asked."""
    started: list[tuple[ThreadingHTTPServer, threading.Thread]] = []

    def serve(files: dict[str, str]) -> tuple[str, list[str]]:
        asked: list[str] = []

        class Answer(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append(self.path)
                text = files.get(self.path, files.get(self.path.partition("?")[0]))
                start = (text or "").lstrip()[:1]
                kind = {"{": "application/json", "[": "application/json"}.get(start, "text/html")
                body = (text or "nothing here").replace("{base}", base).encode()
                self.send_response(200 if text is not None else 404)
                self.send_header("Content-Type", "application/xml" if (text or "").startswith("<?xml") else kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        base = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        started.append((server, thread))
        return base, asked

    yield serve
    for server, thread in started:
        server.shutdown()
        thread.join()
        server.server_close()
