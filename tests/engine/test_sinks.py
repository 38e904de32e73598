"""Sinks: one commit writes all of them, in their order; rooms add their own."""

import pytest
from django.apps import apps

from hemeroteca import config, urls, warc
from hemeroteca.engine.ledger import Ledger
from hemeroteca.engine.sinks import Arrival
from hemeroteca.ingest.ingestion import ingest
from hemeroteca.ingest.rules import Rules
from hemeroteca.instance import Instance
from hemeroteca.search.graph import LinkGraph
from hemeroteca.search.index import open_index
from hemeroteca.search.index.version_index import open_past, open_versions

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]

URL = "http://a.example/x"
START = 1_700_000_000_000
PAGE = b"<title>Un faro</title><main><p>El faro de la costa alumbra a los barcos.</p><a href=/b>la torre</a></main>"


class Counting:
    """A sink of some room: how many pages arrived, written with the commit."""

    written: list[int] = []

    def __init__(self) -> None:
        self._seen = 0

    @property
    def pending(self) -> bool:
        return self._seen > 0

    def take(self, arrival: Arrival) -> None:
        self._seen += arrival.done.document is not None

    def write(self) -> None:
        if self._seen:
            self.written.append(self._seen)
            self._seen = 0


@pytest.fixture
def ledger(tmp_path, monkeypatch):
    monkeypatch.setattr(Counting, "written", [])
    monkeypatch.setattr(apps.get_app_config("archive"), "sinks", (f"{__name__}.Counting",), raising=False)
    instance = Instance(tmp_path)
    instance.create()
    return Ledger(config.load(data=tmp_path, index_commit_seconds=0), instance)


def arrival(body: bytes = PAGE, status: int = 200, versions: int = 0) -> Arrival:
    head = b"HTTP/1.1 %d X\r\nContent-Type: text/html\r\n\r\n" % status
    capture = warc.Capture(url=URL, captured_ms=START + versions, status=status, response_head=head, body=body)
    rules = Rules(key=urls.key(URL), host="a.example")
    return Arrival(capture, rules, ingest(capture, rules), versions=versions)


def test_what_a_room_registers_takes_part_in_the_commit(ledger, tmp_path):
    assert not ledger.pending
    assert ledger.take([arrival()]) == []
    assert ledger.pending
    ledger.commit()
    assert Counting.written == [1]
    assert not ledger.pending
    ledger.close()
    assert open_index(None, tmp_path / "index").get(urls.key(URL)).title == "Un faro"
    pages, targets = LinkGraph(tmp_path / "index" / "links").edges()
    assert (pages.tolist(), targets.tolist()) == ([urls.key(URL)], [urls.key("http://a.example/b")])


def test_a_page_that_is_gone_leaves_search_and_links(ledger, tmp_path):
    ledger.take([arrival()])
    ledger.commit()
    ledger.take([arrival(b"<p>gone", 404, versions=1)])
    ledger.commit()
    ledger.close()
    assert open_index(None, tmp_path / "index").get(urls.key(URL)) is None
    pages, targets = LinkGraph(tmp_path / "index" / "links").edges()
    assert all(page == target for page, target in zip(pages.tolist(), targets.tolist(), strict=True))


def test_many_versions_of_a_page_need_no_commit_each(ledger, tmp_path):
    ledger.take([arrival(b"<p>El faro cuesta %d monedas." % n, versions=n) for n in range(20)])
    ledger.commit()
    assert ledger.search.commits == 1
    ledger.close()
    times = [(START + n, START + n + 1) for n in range(19)]
    page, index = urls.key(URL), tmp_path / "index"
    assert [(v.captured_ms, v.until_ms) for v in open_versions(index).versions(page)] == times
    assert [(v.captured_ms, v.until_ms) for v in open_past(None, index).versions(page)] == [*times, (START + 19, 0)]
    assert "cuesta 19 monedas" in open_index(None, index).get(page).text
