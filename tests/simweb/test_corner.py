"""The geographic corner: the same for the same seed, everything reachable, real-looking services, misleading links."""

import json
import re
from collections import Counter
from html import unescape
from urllib.parse import urljoin

import pytest
from lxml import etree

from simweb import SimWeb
from simweb.geo import Corner
from simweb.geo.corner import SERVICE_SHARES


@pytest.fixture(scope="module")
def corner():
    return Corner(seed=5, hosts=20)


def walk(corner) -> dict[str, int]:
    """Every address that is reached from the first, and its status."""
    found, queue = {}, [corner.first_url]
    while queue:
        url = queue.pop()
        if url in found:
            continue
        host = corner.host(url.split("/")[2])
        answer = corner.answer(host, url[len(host.origin) :])
        found[url] = answer.status
        if answer.media_type.startswith("text/html"):
            queue += [urljoin(url, unescape(link)) for link in re.findall(r'href="([^"]+)"', answer.body.decode())]
    return found


def test_the_corner_of_the_measurements_has_40_000_pages_and_400_services_of_every_type():
    corner = Corner(seed=1, hosts=200)
    assert len(corner.hosts) == 200
    assert 38_000 < corner.pages < 42_000
    assert len(corner.services) == 400
    assert {service.kind for service in corner.services.values()} == set(SERVICE_SHARES)
    assert min(Counter(service.quality for service in corner.services.values()).values()) >= 25


def test_the_same_seed_gives_the_same_corner_and_another_another(corner):
    assert Corner(5, 20).services == corner.services
    assert Corner(6, 20).services.keys() != corner.services.keys()


def test_every_service_is_reached_by_links(corner):
    found = walk(corner)
    assert corner.services.keys() <= found.keys()
    assert 404 in found.values()  # and some links are broken


def test_services_answer_with_well_formed_documents_of_their_type(corner):
    for service in Corner(seed=1, hosts=200).services.values():
        host = service.url.split("/")[2]
        assert host.endswith(".geo.sim.test")
    for service in corner.services.values():
        home = corner.host(service.url.split("/")[2])
        answer = corner.answer(home, service.url[len(home.origin) :])
        assert answer.status == 200
        if "json" in answer.media_type:
            assert json.loads(answer.body)
        else:
            assert etree.QName(etree.fromstring(answer.body)).localname


def test_a_running_web_serves_it():
    import http.client

    with SimWeb(hosts=1, pages_per_host=5, corner=10) as web:
        connection = http.client.HTTPConnection("127.0.0.1", web.port)
        connection.request("GET", "/", headers={"Host": Corner(1, 10).first_url.split("/")[2]})
        assert "Infraestructura" in connection.getresponse().read().decode()
        connection.close()


def test_a_corner_too_small_for_every_kind_is_refused():
    with pytest.raises(ValueError, match="at least 10"):
        Corner(1, 4)
