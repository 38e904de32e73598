"""The link graph: who recommends whom, and with which words."""

import time
from array import array

from hemeroteca.engine.sinks import Arrival
from hemeroteca.ingest.search_document import document_key
from hemeroteca.instance import Instance
from hemeroteca.search.graph import LinkGraph

EDGES_AT_ONCE = 250_000  # links kept in memory, at most; a crash loses them, which costs only quality of ranking
EDGES_SECONDS = 60.0
LINK_TEXTS = 50_000  # pages whose link texts are remembered until they are fetched: about 10 MB


class LinksSink:
    pending = False  # it is written in its own time, beside the commits

    def __init__(self, instance: Instance) -> None:
        self.graph = LinkGraph(instance.index_dir / "links")
        self._links = self.graph.writer()
        self._due = time.monotonic() + EDGES_SECONDS
        self._texts: dict[int, str] = {}  # page → texts of links to it, seen lately

    def take(self, arrival: Arrival) -> None:
        if not arrival.is_page or not arrival.newest:
            return
        key, done = arrival.rules.key, arrival.done
        if done.edges is not None:
            edges = done.edges
            self._links.add(key, edges.host, edges.targets, edges.hosts, edges.texts)
            self._remember(edges.texts)
        elif done.redirect is not None:  # what recommends it, or begins with it, means the other
            target = array("q", [done.redirect.key]).tobytes()
            host = array("q", [document_key(done.redirect.host)]).tobytes()
            self._links.add(key, document_key(arrival.rules.host), target, host, [])
        elif arrival.capture.status in (404, 410) and arrival.versions:
            self._links.forget(key)  # it recommends nothing any more
        if len(self._links) >= EDGES_AT_ONCE:
            self._links.commit()

    def write(self) -> None:
        """Nothing that belongs to the transaction."""

    def texts_of(self, page: int) -> str:
        """Texts of links to a page that were met before it."""
        return self._texts.get(page, "")

    def commit(self, now: bool = False) -> None:
        """Make the links durable, when it is time."""
        moment = time.monotonic()
        if now or moment >= self._due:
            self._links.commit()
            self._due = moment + EDGES_SECONDS

    def commit_all(self) -> None:
        """After everything was read again: what was known before goes."""
        self._links.commit()
        self.graph.forget_before(self._links.first)

    def _remember(self, texts: list[tuple[int, str]]) -> None:
        known = self._texts
        if len(known) > LINK_TEXTS:
            known.clear()
        for target, text in texts:
            before = known.setdefault(target, text)
            if len(before) < 200 and text not in before:
                known[target] = f"{before}\n{text}"
