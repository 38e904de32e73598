"""PageRank agrees with the definition, seeds pull it their way, and the graph on disk keeps a page's last links."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hemeroteca.ingest.search_document import document_key
from hemeroteca.search.graph import LinkGraph, LinkRanks, pagerank, rank_pages_and_hosts
from tests.search.links import add_links


def by_definition(edges: set[tuple[int, int]], seeds: set[int], damping: float = 0.85) -> dict[int, float]:
    """The textbook: the stationary distribution of a random reader, with dense matrices."""
    nodes = sorted({node for edge in edges for node in edge})
    begin = np.array([float(node in seeds) for node in nodes])
    begin = begin / begin.sum() if begin.any() else np.full(len(nodes), 1 / len(nodes))
    place = {node: i for i, node in enumerate(nodes)}
    matrix = np.zeros((len(nodes), len(nodes)))
    for source, target in edges:
        if source != target:
            matrix[place[target], place[source]] = 1
    out = matrix.sum(axis=0)
    matrix = np.where(out > 0, matrix / np.maximum(out, 1), begin[:, None])
    rank = np.full(len(nodes), 1 / len(nodes))
    for _ in range(300):
        rank = (1 - damping) * begin + damping * matrix @ rank
    return dict(zip(nodes, rank, strict=True))


@settings(deadline=None)
@given(
    st.sets(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=1, max_size=60),
    st.sets(st.integers(-12, 12), max_size=3),
)
def test_pagerank_is_what_the_definition_says(edges, seeds):
    source, target = np.array(sorted(edges), dtype=np.int64).T
    keys, ranks = pagerank(source, target, seeds, tolerance=1e-9)
    expected = by_definition(edges, seeds)
    assert keys.tolist() == sorted(expected)
    assert ranks == pytest.approx([expected[key] for key in keys.tolist()], abs=1e-5)


def test_pages_near_the_seeds_count_more():
    good, spam = [1, 2, 3], [11, 12, 13]
    edges = [(a, b) for group in (good, spam) for a in group for b in group if a != b]
    source, target = np.array(edges, dtype=np.int64).T
    keys, ranks = pagerank(source, target, seeds=[1])
    rank = dict(zip(keys.tolist(), ranks.tolist(), strict=True))
    assert min(rank[page] for page in good) > 2 * max(rank[page] for page in spam)


@pytest.mark.parametrize("ways_in", [0, 1, 5])
def test_ten_thousand_pages_that_praise_one_do_not_make_it_the_best(tmp_path, ways_in):
    good, farm, praised = 500, 10_000, 1_000_000
    dice = np.random.default_rng(1)
    graph = LinkGraph(tmp_path)
    writer = graph.writer()
    for page in range(good):
        targets = (good * dice.random(10) ** 2).astype(int).tolist()
        if page in range(400, 400 + ways_in):  # a few who were taken in, none of them a seed
            targets.append(praised)
        add_links(writer, page, f"h{page % 20}.test", targets, [f"h{target % 20}.test" for target in targets])
    for number in range(1, farm + 1):
        add_links(writer, praised + number, "farm.test", [praised], ["farm.test"])
    add_links(writer, praised, "farm.test", list(range(praised + 1, praised + 151)), ["farm.test"] * 150)
    writer.commit()
    ranks = rank_pages_and_hosts(graph, seeds=[0, 1, 2])
    best = ranks.pages(np.arange(good))
    assert ranks.pages(np.array([praised]))[0] < np.quantile(best, 0.9)
    assert ranks.pages(np.arange(praised + 1, praised + farm)).max() < np.median(best)
    others = ranks.pages(np.append(np.arange(praised, praised + farm + 1), praised + 151))
    assert others.max() < np.sort(best)[-20]


def test_pages_no_seed_leads_to_are_ranked_among_themselves(tmp_path):
    graph = LinkGraph(tmp_path)
    writer = graph.writer()
    add_links(writer, 1, "a.test", [2, 3], ["a.test"] * 2)
    add_links(writer, 2, "a.test", [3], ["a.test"])
    for page in range(11, 20):  # imported: nobody crawled there
        add_links(writer, page, "b.test", [10], ["b.test"])
    writer.commit()
    ranks = rank_pages_and_hosts(graph, seeds=[1])
    led, unled = ranks.pages(np.array([1, 2, 3])), ranks.pages(np.array([10, 11]))
    assert unled[0] > unled[1] == 0
    assert led.max() == 1.0 > unled[0]


def test_ranking_ends_between_two_rounds_when_it_shall(tmp_path):
    graph = LinkGraph(tmp_path)
    writer = graph.writer()
    add_links(writer, 1, "a.test", [2, 3], ["a.test"] * 2)
    writer.commit()
    rounds = []

    def cancelled():
        rounds.append(None)
        if len(rounds) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rank_pages_and_hosts(graph, step=cancelled)
    assert len(rounds) == 2


def test_no_links_no_ranks(tmp_path):
    assert len(rank_pages_and_hosts(LinkGraph(tmp_path))) == 0


def test_a_page_captured_again_replaces_its_links(tmp_path):
    graph = LinkGraph(tmp_path)
    writer = graph.writer()
    add_links(writer, 1, "a.test", [2, 3], ["a.test", "b.test"], ["dos", "tres"])
    add_links(writer, 2, "a.test", [3], ["b.test"], ["el tres"])
    writer.commit()
    writer = graph.writer()
    add_links(writer, 1, "a.test", [4], ["c.test"], ["cuatro"])
    writer.commit()
    assert sorted(zip(*(part.tolist() for part in graph.edges()), strict=True)) == [(1, 4), (2, 3)]
    assert dict(graph.anchor_texts())[3] in ("tres\nel tres", "el tres\ntres")
    graph.compact()
    assert sorted(zip(*(part.tolist() for part in graph.edges()), strict=True)) == [(1, 4), (2, 3)]
    assert len(list(tmp_path.glob("*.edges.npy"))) == 1


def test_hosts_are_ranked_by_links_between_them(tmp_path):
    graph = LinkGraph(tmp_path / "links")
    writer = graph.writer()
    for number in range(10, 20):
        add_links(writer, number, f"h{number}.test", [1, number + 100], ["popular.test", f"h{number}.test"])
    writer.commit()
    ranks = rank_pages_and_hosts(graph)
    ranks.save(tmp_path / "rank")
    loaded = LinkRanks.load(tmp_path / "rank")
    assert loaded.pages(np.array([1, 11, 999])).tolist() == pytest.approx([1.0, 0.0, 0.0], abs=0.2)
    hosts = np.array([document_key("popular.test"), document_key("h10.test")])
    assert loaded.hosts(hosts).tolist() == [1.0, 0.0]


def test_ranks_are_replaced_under_a_reader(tmp_path):
    def ranks(value: float) -> LinkRanks:
        return LinkRanks(np.array([7]), np.array([value], np.float32), np.empty(0, np.int64), np.empty(0, np.float32))

    ranks(0.25).save(tmp_path)
    old = LinkRanks.load(tmp_path)
    ranks(0.75).save(tmp_path)
    assert old.pages(np.array([7]))[0] == 0.25
    assert LinkRanks.load(tmp_path).pages(np.array([7]))[0] == 0.75


def test_links_wait_for_the_commit(tmp_path):
    graph = LinkGraph(tmp_path)
    writer = graph.writer()
    add_links(writer, 1, "a.example", [2, 3], ["a.example", "b.example"], ["two", "three"])
    assert len(writer) == 2
    assert graph.segments() == []
    writer.commit()
    assert [part.tolist() for part in graph.edges()] == [[1, 1], [2, 3]]
    hosts = dict(zip(*(part.tolist() for part in graph.hosts()), strict=True))
    assert hosts == {1: document_key("a.example"), 2: document_key("a.example"), 3: document_key("b.example")}
    assert dict(graph.anchor_texts()) == {2: "two", 3: "three"}


def test_compacting_keeps_the_last_links_and_all_texts_and_lets_a_writer_go_on(tmp_path):
    graph = LinkGraph(tmp_path)
    writer = graph.writer()
    for number in range(5):
        add_links(writer, 1, "a.example", [2 + number], ["a.example"], [f"text {number}"])
        add_links(writer, 100 + number, "b.example", [1], ["a.example"])
        writer.commit()
    before = sorted(zip(*(part.tolist() for part in graph.edges()), strict=True))
    graph.compact()
    assert graph.segments() == ["00000005"]
    assert len(list(tmp_path.glob("*.anchors"))) == 1
    assert sorted(zip(*(part.tolist() for part in graph.edges()), strict=True)) == before
    assert dict(graph.anchor_texts()) == {2 + number: f"text {number}" for number in range(5)}
    add_links(writer, 1, "a.example", [50], ["a.example"])
    writer.commit()
    assert (1, 50) in set(zip(*(part.tolist() for part in graph.edges()), strict=True))
    assert (1, 6) not in set(zip(*(part.tolist() for part in graph.edges()), strict=True))
    assert len(rank_pages_and_hosts(graph)) == 7


def test_only_the_newest_links_count_when_there_are_too_many(tmp_path):
    graph = LinkGraph(tmp_path)
    writer = graph.writer()
    for page in (1, 2, 3):
        add_links(writer, page, "a.example", [page + 10, page + 20], ["a.example"] * 2)
        writer.commit()
    assert sorted(set(graph.edges(most=4)[0].tolist())) == [2, 3]


def edges_in(graph: LinkGraph) -> list[tuple[int, int]]:
    return sorted(zip(*(part.tolist() for part in graph.edges()), strict=True))


def test_a_page_that_is_gone_recommends_nothing_until_it_comes_back(tmp_path):
    graph = LinkGraph(tmp_path)
    writer = graph.writer()
    add_links(writer, 1, "a.example", [2, 3], ["a.example"] * 2)
    add_links(writer, 4, "a.example", [2], ["a.example"])
    writer.commit()
    writer.forget(1)
    writer.commit()
    assert [edge for edge in edges_in(graph) if edge[0] != edge[1]] == [(4, 2)]
    graph.compact()
    assert edges_in(graph) == [(4, 2)]
    add_links(writer, 1, "a.example", [5], ["a.example"])
    writer.forget(1)  # gone and back between two commits
    add_links(writer, 1, "a.example", [6], ["a.example"])
    writer.commit()
    graph.compact()
    assert edges_in(graph) == [(1, 6), (4, 2)]
    assert set(rank_pages_and_hosts(graph)._pages.tolist()) == {1, 2, 4, 6}


@pytest.mark.parametrize("damage", [b"", b"garbage", b"\x93NUMPY\x01\x00v\x00{'descr'"])
def test_files_that_cannot_be_read_are_left_out_and_said(tmp_path, caplog, damage):
    graph = LinkGraph(tmp_path)
    writer = graph.writer()
    for page in (1, 2):
        add_links(writer, page, "a.example", [page + 10], ["a.example"], [f"text {page}"])
        writer.commit()
    for kind in ("edges.npy", "hosts.npy", "anchors"):
        (tmp_path / f"00000002.{kind}").write_bytes(damage)
    assert edges_in(graph) == [(1, 11)]
    assert dict(graph.anchor_texts()) == {11: "text 1"}
    assert "search rebuild" in caplog.text
    graph.compact()
    caplog.clear()
    assert edges_in(graph) == [(1, 11)]
    assert len(rank_pages_and_hosts(graph)) == 2
    assert not caplog.text  # what could be read was written anew


def test_segments_written_again_replace_all_before_them(tmp_path):
    graph = LinkGraph(tmp_path)
    first = graph.writer()
    add_links(first, 1, "a.example", [2], ["a.example"], ["old"])
    first.commit()
    again = graph.writer()
    add_links(again, 3, "a.example", [4], ["a.example"], ["new"])
    again.commit()
    graph.forget_before(again.first)
    assert edges_in(graph) == [(3, 4)]
    assert dict(graph.anchor_texts()) == {4: "new"}


def test_drafts_of_somebody_who_was_killed_go(tmp_path):
    graph = LinkGraph(tmp_path / "links")
    writer = graph.writer()
    for page in (1, 2):
        add_links(writer, page, "a.example", [page + 10], ["a.example"])
        writer.commit()
    for place in ("links/00000001.edges.draft", "rank/00000007.hosts.draft"):
        (tmp_path / place).parent.mkdir(exist_ok=True)
        (tmp_path / place).write_bytes(b"half")
    graph.compact()
    rank_pages_and_hosts(graph).save(tmp_path / "rank")
    assert not list(tmp_path.rglob("*.draft"))


def test_ranks_that_do_not_fit_together_are_not_used(tmp_path):
    ranks = LinkRanks(np.arange(5), np.ones(5, np.float32), np.empty(0, np.int64), np.empty(0, np.float32))
    ranks.save(tmp_path)
    np.save(tmp_path / "00000001.page_ranks.npy", np.ones(2, np.float32))
    assert LinkRanks.load(tmp_path) is None
    (tmp_path / "00000001.page_ranks.npy").write_bytes(b"")
    assert LinkRanks.load(tmp_path) is None
