"""Where captures lead: candidates (redirects, refreshes, links the crawl wants), and edges for the link graph."""

import re
from array import array
from functools import lru_cache

import msgspec

from hemeroteca import extract, urls
from hemeroteca.extract.link_elements import in_headers
from hemeroteca.extract.native import KeySet, key_set, mark
from hemeroteca.ingest.ingested import Edges, Ingested
from hemeroteca.ingest.rules import CrawlRules, Rules
from hemeroteca.ingest.search_document import document_key
from hemeroteca.urls.candidate import REQUISITE_DEPTH, Candidate, UrlRole
from hemeroteca.warc import Capture

LINKS_REMEMBERED = 100_000  # addresses of a crawl a process knows to have sent already
EDGES = 150  # links of one page that the link graph learns
TEXTS_REMEMBERED = 100_000  # link texts a process knows to have sent already
MAX_STEPS = 4  # from a page to a requisite of a requisite (what a frame shows) …
MAX_IMPORT_STEPS = 16  # … and along style sheets and modules, which import one another
IMPORTING = ("css", "script")
NEEDED = "requisite"
MAX_NEEDED = 200  # requisites of a page that are named
_REFRESH = re.compile(r"\s*\d*\.?\d*\s*[;,]\s*(?:url\s*=\s*)?['\"]?([^'\"\s]+)", re.IGNORECASE)


class Links:
    """Knows the scopes of the crawls under way, and which links were sent already."""

    def __init__(self) -> None:
        self._crawls: dict[int, CrawlRules] = {}
        self._scopes: dict[int, urls.ScopeMatcher] = {}
        self._sent: dict[int, KeySet] = {}
        self._outside: dict[int, KeySet] = {}  # links that lead out of the crawl, wherever they stand
        self._texts: KeySet = key_set()  # of links sent already, by the hash of target and text

    def learn(self, crawl: CrawlRules) -> None:
        self._crawls[crawl.crawl] = crawl
        self._scopes[crawl.crawl] = urls.ScopeMatcher(crawl.options.scope)
        self._sent[crawl.crawl] = key_set()
        self._outside[crawl.crawl] = key_set()

    def forget(self, crawl: int) -> None:
        for table in (self._crawls, self._scopes, self._sent, self._outside):
            table.pop(crawl, None)

    def redirect(self, capture: Capture, rules: Rules, location: str, result: Ingested) -> None:
        target = urls.resolve_links(capture.url, [location])[0] if location else None
        if target is None:
            if location or capture.status not in (300, 304):
                where = f"leads to {location[:200]!r}" if location else "names no target"
                result.notes.append(f"bad-redirect: {where}")
            return
        # Where a seed leads is where the person wanted to go; the engine widens the scope for it.
        inside = not rules.depth or rules.role != UrlRole.PAGE or not rules.crawl
        reason = None if inside else self._refusal(rules.crawl, target, rules.depth)
        held = reason if reason and reason.startswith("trap") else ""
        if reason and not held:
            result.outside = f"{target[:300]} ({reason})"
            return
        result.redirect = Candidate(
            urls.key(target),
            target,
            urls.host(target),
            rules.crawl,
            depth=rules.depth,
            redirects=rules.redirects + 1,
            role=rules.role,
            parent=rules.key,
            held=held,
        )

    def refresh(self, capture: Capture, rules: Rules, document: extract.Document, result: Ingested) -> None:
        target = document.refresh
        if not target and (header := capture.address("refresh")):
            found = _REFRESH.match(header)
            target = found[1] if found else None
        if target:
            self.redirect(capture, rules, target, result)

    def find(
        self,
        capture: Capture,
        rules: Rules,
        document: extract.Document,
        nofollow: bool,
        result: Ingested,
        *,
        again: bool = False,
    ) -> None:
        """Fill `candidates` and `edges`. `again`: also with links that were sent before (another page that leads to an
        address may promise more)."""
        known = self._sent.get(rules.crawl)
        outside = self._outside.get(rules.crawl)
        address = capture.dom_url
        base = urls.resolve_links(address, [document.base])[0] if document.base else None
        beside = linked(capture)
        leads, packed = (None, None) if beside else (document.leads, document.packed)
        if leads is not None and packed is not None:  # only what is new need be looked at more closely
            keys, pages = memoryview(leads.keys).cast("q"), leads.pages
            links = []
            if known is not None and outside is not None:
                links = [packed[at] for at in known.missing(leads.keys) if not pages[at] or keys[at] not in outside]
        else:
            links = [*document.links, *beside]
        resolved = urls.resolve_targets(base or address, [link.href for link in links]) if links else []
        if (
            rules.crawl
            and rules.role == UrlRole.PAGE
            and (options := self._crawls[rules.crawl].options).watch is not None
        ):
            named = keys if leads is not None else [found[1] if found is not None else 0 for found in resolved]
            pairs = zip(links if leads is None else document.links, named, strict=True)
            needed = dict.fromkeys(key for link, key in pairs if key and link.kind == NEEDED)
            result.requisites = list(needed)[:MAX_NEEDED] if options.requisites else []
        texts = self._texts if rules.crawl else key_set()  # what is read again is sent whole
        if capture.status == 200 and not nofollow and document.kind != "sitemap":
            if leads is not None and packed is not None:
                result.edges = edges_known(rules.host, packed, leads, texts)
            else:
                result.edges = edges_of(rules.key, rules.host, links, resolved, texts)
        if known is not None:
            if again:
                known.clear()
            self._choose(rules, links, resolved, nofollow, document.kind in IMPORTING, result)
        del result.notes[20:]

    def _choose(
        self,
        rules: Rules,
        links: list[extract.Link],
        resolved: list[urls.Target | None],
        nofollow: bool,
        importing: bool,
        result: Ingested,
    ) -> None:
        """Of the links, those the crawl wants and was not sent before."""
        options = self._crawls[rules.crawl].options
        sent, outside = self._sent[rules.crawl], self._outside[rules.crawl]
        requisites_too = options.requisites and rules.role != UrlRole.SITEMAP
        steps = MAX_IMPORT_STEPS if importing else MAX_STEPS
        cut: list[str] = []
        for link, found in zip(links, resolved, strict=True):
            if found is None or found[1] in sent:
                continue
            target, key = found
            if key in outside and link.kind == "page":
                continue
            role, depth = _role(link.kind, rules.role, rules.depth)
            if role == UrlRole.REQUISITE and not requisites_too:
                continue
            if role == UrlRole.PAGE and (nofollow or link.nofollow or rules.role == UrlRole.REQUISITE):
                continue
            if role == UrlRole.SITEMAP and not options.sitemaps:
                continue
            held = ""
            if role == UrlRole.PAGE or link.kind == "frame":
                refused = self._refusal(rules.crawl, target, depth)
                if refused and link.kind == "frame" and requisites_too:
                    role, depth = _requisite(rules.role, rules.depth)
                elif refused and refused.startswith("trap"):
                    held = refused
                elif refused:
                    if refused == self._scopes[rules.crawl].outside:
                        if len(outside) >= LINKS_REMEMBERED:
                            outside.clear()
                        outside.add(key)
                    continue
            else:
                held = self._trap(rules.crawl, target, 0) or ""
            if role == UrlRole.REQUISITE and depth >= (steps + 1) * REQUISITE_DEPTH:
                cut.append(target)
                continue
            if len(sent) >= LINKS_REMEMBERED:
                sent.clear()
            sent.add(key)
            if key != rules.key:
                result.candidates.append(
                    Candidate(
                        key,
                        target,
                        urls.host(target),
                        rules.crawl,
                        depth=depth,
                        role=role,
                        parent=rules.key,
                        anchor=link.text,
                        context=link.context,
                        held=held,
                    )
                )

        if cut:
            result.notes.append(
                f"requisites-cut: {len(cut)} are more than {steps} steps from a page, as {cut[0][:200]}"
            )

    def _refusal(self, crawl: int, url: str, depth: int) -> str | None:
        """Why an address is not visited; begins with `trap` when it is held back for that."""
        return self._scopes[crawl].refusal(url, depth) or self._trap(crawl, url, depth)

    def _trap(self, crawl: int, url: str, depth: int) -> str | None:
        rules = self._crawls[crawl]
        reason = f"more than {rules.max_depth} links from a seed" if depth > rules.max_depth else urls.trap(url)
        if reason is None or f"{urls.host(url)} trap: {reason}" in rules.options.trusted:
            return None
        return f"trap: {reason}"


def linked(capture: Capture) -> list[extract.Link]:
    """What the headers `Link` of an answer lead to, absolute."""
    values = capture.addresses("link")
    if not values:
        return []
    links = [link for entry in in_headers(values) for link in entry.links]
    resolved = urls.resolve_links(capture.url, [link.href for link in links])
    return [msgspec.structs.replace(link, href=url) for link, url in zip(links, resolved, strict=True) if url]


def edges_of(
    key: int, host: str, links: list[extract.Link], resolved: list[urls.Target | None], sent: KeySet
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
        if 1 < len(text) <= 80 and len(texts) < EDGES and target != key and (marked := mark(target, text)) not in sent:
            sent.add(marked)
            texts.append((target, text))
    found = {**main, **rest}
    found.pop(key, None)
    if not found:
        return None
    targets, hosts = array("q", found)[:EDGES], array("q", found.values())[:EDGES]
    return Edges(_own_host_key(host), targets.tobytes(), hosts.tobytes(), texts)


def edges_known(host: str, links: extract.PackedLinks, leads: extract.Leads, sent: KeySet) -> Edges | None:
    """As `edges_of`, where the fast path has gathered them already."""
    if len(sent) > TEXTS_REMEMBERED:
        sent.clear()
    keys, places = memoryview(leads.keys).cast("q"), memoryview(leads.places).cast("I")
    new = [places[number] for number in sent.add_missing(leads.marks, EDGES)]
    texts = [(keys[place], links[place].text) for place in new]
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


def _role(kind: str, role: int, depth: int) -> tuple[UrlRole, int]:
    """What a link of this kind on a page of this role leads to, and at which depth."""
    if kind in ("page", "frame", "feed", "alternate", "canonical"):
        return UrlRole.PAGE, depth + 1
    if kind == "sitemap":
        return UrlRole.SITEMAP, depth
    return _requisite(role, depth)


def _requisite(role: int, depth: int) -> tuple[UrlRole, int]:
    """Requisites of requisites (a style's fonts, a frame's images) are followed for some steps."""
    steps = depth // REQUISITE_DEPTH + 1 if role == UrlRole.REQUISITE else 1
    return UrlRole.REQUISITE, steps * REQUISITE_DEPTH + depth % REQUISITE_DEPTH
