"""Ranks, link texts and suggestions are refreshed beside the engine, in turns."""

import subprocess

import pytest

from hemeroteca.engine import search_upkeep
from hemeroteca.ingest.search_document import SearchDocument
from hemeroteca.instance import Instance
from hemeroteca.search import document_queue
from hemeroteca.search.graph import LinkGraph, LinkRanks
from hemeroteca.search.index import open_index
from hemeroteca.search.searcher import open_searcher
from hemeroteca.search.suggest.suggester import Suggester
from tests.search.links import add_links
from tests.waiting import wait_for

POPEN = subprocess.Popen


class Books:
    """What it needs of the search sink."""

    def __init__(self):
        self.indexed = 0
        self.given = {}
        self.taken = []
        self.commits = 0

    @property
    def waiting(self):
        return len(self.taken) > self.commits

    def put(self, document):
        self.taken.append(document.text)

    def enrich(self, key, texts):
        self.given[key] = texts


@pytest.fixture
def instance(tmp_path, monkeypatch):
    monkeypatch.setattr(search_upkeep.queries, "seed_keys", lambda: [1])
    monkeypatch.setattr(search_upkeep.Collections, "look", lambda self: False)  # it asks the database
    instance = Instance(tmp_path)
    instance.create()
    with open_index(None, instance.index_dir).writer(15 << 20) as writer:
        for key in (1, 2):
            url = f"https://a.example/{key}"
            writer.put(SearchDocument(key=key, url=url, host="a.example", title="Un faro", text="El faro viejo"))
        writer.commit()
    links = LinkGraph(instance.index_dir / "links").writer()
    add_links(links, 1, "a.example", [2, 3], ["a.example", "b.example"], ["la torre", "otro sitio"])
    links.commit()
    return instance


def looked(refresher, until):
    def condition():
        refresher.look(idle=True)
        return until()

    wait_for(condition)


@pytest.fixture
def turns(monkeypatch):
    """Processes that were started for a turn."""
    begun = []
    monkeypatch.setattr(
        subprocess, "Popen", lambda *given, **options: begun.append(POPEN(*given, **options)) or begun[-1]
    )
    return begun


def test_a_turn_ranks_learns_and_hands_link_texts_to_the_writer(instance, turns):
    books = Books()
    refresher = search_upkeep.SearchUpkeep(instance, books)
    refresher.look(idle=True)
    assert not turns  # nothing is new
    books.indexed = 2
    looked(refresher, lambda: books.given)
    assert books.given == {2: "la torre"}  # page 3 was never captured
    assert len(LinkRanks.load(instance.index_dir / "rank")) == 3
    assert Suggester.load(instance.index_dir / "suggest") is not None
    books.indexed = 3
    refresher.look(idle=True)
    assert len(turns) == 1  # not so soon again


def test_a_turn_is_given_up_when_the_engine_ends(instance, turns):
    books = Books()
    refresher = search_upkeep.SearchUpkeep(instance, books)
    books.indexed = 1
    refresher.look(idle=True)
    refresher.close()
    assert turns[0].returncode is not None


def test_a_whole_turn_writes_the_texts_itself(instance):
    search_upkeep.refresh(instance, 15 << 20)
    searcher = open_searcher(None, instance.index_dir)
    assert searcher.index.get(2).anchors == "la torre"
    assert [hit.key for hit in searcher.search("inanchor:torre").hits] == [2]
    assert not (instance.index_dir / "texts.todo").exists()


def test_documents_left_for_the_engine_are_put_and_their_file_goes_with_the_commit(instance):
    books = Books()
    refresher = search_upkeep.SearchUpkeep(instance, books)
    texts = [f"documento {i}" for i in range(30)]
    left = document_queue.push(
        instance.index_dir, (SearchDocument(key=i, url="", text=text) for i, text in enumerate(texts))
    )
    looked(refresher, lambda: len(books.taken) == 30)
    assert books.taken == texts
    refresher.look(idle=True)
    assert left.exists()  # they cannot be found yet: after a crash they are put again
    books.commits = 40
    looked(refresher, lambda: not left.exists())
    damaged = document_queue.push(instance.index_dir, [])
    damaged.write_bytes(b"\x04\x00\x00\x00what")
    looked(refresher, lambda: not damaged.exists())
    refresher.close()
