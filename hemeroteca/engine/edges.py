"""The links of a page as the link graph takes them: packed keys of their targets, and texts not sent before."""

from array import array
from functools import lru_cache

from hemeroteca import extract, urls
from hemeroteca.engine.messages import Edges
from hemeroteca.search.document import document_key

EDGES = 150  # links of one page that the link graph learns
TEXTS_REMEMBERED = 100_000  # link texts a reader knows to have sent already


def edges_of(
    key: int, host: str, links: list[extract.Link], resolved: list[urls.Target | None], sent: set[int]
) -> Edges | None:
    """The links to other pages, those of the text first; `sent` remembers which of their texts are known."""
    main: dict[int, int] = {}
    rest: dict[int, int] = {}
    texts: list[tuple[int, str]] = []
    if len(sent) > TEXTS_REMEMBERED:
        sent.clear()
    host_keys = _host_keys
    for link, address in zip(links, resolved, strict=True):
        if address is None or link.kind != "page" or link.nofollow:
            continue
        target = address[1]
        kept = main if link.region == "main" else rest
        kept[target] = host_keys.get(target) or _host_key(target, address[0])
        text = link.text
        if (mark := target ^ hash(text)) not in sent and 1 < len(text) <= 80 and len(texts) < EDGES and target != key:
            sent.add(mark)
            texts.append((target, text))
    found = {**main, **rest}
    found.pop(key, None)
    if not found:
        return None
    targets, hosts = array("q", found)[:EDGES], array("q", found.values())[:EDGES]
    return Edges(_own_host_key(host), targets.tobytes(), hosts.tobytes(), texts)


def edges_known(
    host: str, links: list[extract.Link], keys: list[int], leads: extract.Leads, sent: set[int]
) -> Edges | None:
    """As `edges_of`, where the fast path has gathered them already."""
    if len(sent) > TEXTS_REMEMBERED:
        sent.clear()
    texts: list[tuple[int, str]] = []
    for place in memoryview(leads.places).cast("I"):
        target, text = keys[place], links[place].text
        if (mark := target ^ hash(text)) not in sent and len(texts) < EDGES:
            sent.add(mark)
            texts.append((target, text))
    return Edges(_own_host_key(host), leads.edges, leads.hosts, texts) if leads.edges else None


@lru_cache(1000)
def folder_host_key(directory: str) -> int:
    """The key of the host of an address that ends with a slash."""
    return document_key(urls.host(directory))


_own_host_key = lru_cache(1000)(document_key)
_host_keys: dict[int, int] = {}  # of pages met lately: most links of a page stood on the last one too


def _host_key(page: int, url: str) -> int:
    if len(_host_keys) > 20_000:
        _host_keys.clear()
    key = _host_keys[page] = document_key(urls.host(url))
    return key
