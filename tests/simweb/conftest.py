from collections.abc import Iterator

import pytest

from simweb import SimWeb
from tests.simweb.client import Client


@pytest.fixture(scope="module")
def web() -> Iterator[SimWeb]:
    with SimWeb(seed=10, hosts=40, pages_per_host=40, page_bytes=9_000, links_per_page=10) as running:
        yield running


@pytest.fixture
def client(web: SimWeb) -> Iterator[Client]:
    client = Client(web.port)
    yield client
    client.close()
