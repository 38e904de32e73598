from collections.abc import Iterator
from contextlib import ExitStack
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
