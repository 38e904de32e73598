"""Where captures lead: redirects, refreshes, links; of links only those the crawl wants and was not sent before."""

import re

from hemeroteca import extract, urls
from hemeroteca.engine.edges import edges_known, edges_of
from hemeroteca.engine.messages import Ingested, Job, Rules
from hemeroteca.urls.candidate import REQUISITE_DEPTH, Candidate, Role

LINKS_REMEMBERED = 100_000  # addresses of a crawl a reader knows to have sent already
REQUISITE_STEPS = 3
_REFRESH = re.compile(r"\s*\d*\.?\d*\s*[;,]\s*(?:url\s*=\s*)?['\"]?([^'\"\s]+)", re.IGNORECASE)


class Links:
    """The scopes of the crawls under way, and which links were sent already."""

    def __init__(self) -> None:
        self._rules: dict[int, Rules] = {}
        self._scopes: dict[int, urls.ScopeMatcher] = {}
        self._sent: dict[int, set[int]] = {}
        self._outside: dict[int, set[int]] = {}  # links that lead out of the crawl, wherever they stand
        self._texts: set[int] = set()  # of links sent already, by the hash of target and text

    def learn(self, rules: Rules) -> None:
        self._rules[rules.crawl] = rules
        self._scopes[rules.crawl] = urls.ScopeMatcher(rules.options.scope)
        self._sent[rules.crawl] = set()
        self._outside[rules.crawl] = set()

    def forget(self, crawl: int) -> None:
        for table in (self._rules, self._scopes, self._sent, self._outside):
            table.pop(crawl, None)

    def redirect(self, job: Job, location: str, result: Ingested) -> None:
        target = urls.resolve_links(job.url, [location])[0] if location else None
        if target is None:
            if location or job.status not in (300, 304):
                where = f"leads to {location[:200]!r}" if location else "names no target"
                result.notes.append(f"bad-redirect: {where}")
            return
        found = Candidate(
            urls.key(target),
            target,
            urls.host(target),
            job.crawl,
            job.depth,
            redirects=job.redirects + 1,
            role=job.role,
            parent=job.key,
        )
        # Where a seed leads is where the person wanted to go; the engine widens the scope for it.
        if job.depth and job.role == Role.PAGE and (reason := self._refusal(job.crawl, target, job.depth)):
            result.outside = f"{target[:300]} ({reason})"
        else:
            result.redirect = found

    def refresh(self, job: Job, document: extract.Document, refresh_header: str, result: Ingested) -> None:
        target = document.refresh
        if not target and refresh_header:
            found = _REFRESH.match(refresh_header)
            target = found[1] if found else None
        if target:
            self.redirect(job, target, result)

    def find(self, job: Job, document: extract.Document, nofollow: bool, result: Ingested) -> None:
        options = self._rules[job.crawl].options
        sent, outside = self._sent[job.crawl], self._outside[job.crawl]
        address = job.dom_url or job.url
        base = urls.resolve_links(address, [document.base])[0] if document.base else None
        links = document.links
        leads = document.leads
        if leads is not None:  # only what is new need be looked at more closely
            keys = memoryview(leads.keys).cast("q").tolist()
            new = [
                number
                for number, key in enumerate(keys)
                if key not in sent and (key not in outside or links[number].kind != "page")
            ]
            every, links = links, [links[number] for number in new]
        resolved = urls.resolve_targets(base or address, [link.href for link in links]) if links else []
        if job.role == Role.PAGE and job.status == 200 and not nofollow:
            if leads is not None:
                result.edges = edges_known(job.host, every, keys, leads, self._texts)
            else:
                result.edges = edges_of(job.key, job.host, links, resolved, self._texts)
        requisites_too = options.requisites and job.role != Role.SITEMAP
        for link, found in zip(links, resolved, strict=True):
            if found is None or found[1] in sent:
                continue
            target, key = found
            if key in outside and link.kind == "page":
                continue
            role, depth = _role(link.kind, job.role, job.depth)
            if role is None or (role == Role.REQUISITE and not requisites_too):
                continue
            if role == Role.PAGE and (nofollow or link.nofollow or job.role == Role.REQUISITE):
                continue
            if role == Role.SITEMAP and not options.sitemaps:
                continue
            if role == Role.PAGE or link.kind == "frame":
                refused = self._refusal(job.crawl, target, depth)
                if refused and link.kind == "frame" and requisites_too:
                    role, depth = _requisite(job.role, job.depth)
                    if role is None:
                        continue
                elif refused:
                    if refused.startswith("trap"):
                        result.notes.append(f"{refused}: {target[:200]}")
                    elif refused == self._scopes[job.crawl].outside:
                        if len(outside) >= LINKS_REMEMBERED:
                            outside.clear()
                        outside.add(key)
                    continue
            elif trap := urls.trap(target):
                result.notes.append(f"trap: {trap}: {target[:200]}")
                continue
            if len(sent) >= LINKS_REMEMBERED:
                sent.clear()
            sent.add(key)
            if key != job.key:
                result.found.append(
                    Candidate(key, target, urls.host(target), job.crawl, depth, role=role, parent=job.key)
                )
        del result.notes[20:]

    def _refusal(self, crawl: int, url: str, depth: int) -> str | None:
        """Why an address is not visited; begins with `trap` when that is worth a note."""
        if depth > self._rules[crawl].most_depth:
            return f"trap: more than {self._rules[crawl].most_depth} links from a seed"
        refused = self._scopes[crawl].refusal(url, depth)
        if refused:
            return refused
        trap = urls.trap(url)
        return f"trap: {trap}" if trap else None


def _role(kind: str, role: int, depth: int) -> tuple[Role | None, int]:
    """What a link of this kind on a page of this role leads to, and at which depth."""
    if kind in ("page", "frame", "feed", "alternate", "canonical"):
        return Role.PAGE, depth + 1
    if kind == "sitemap":
        return Role.SITEMAP, depth
    return _requisite(role, depth)


def _requisite(role: int, depth: int) -> tuple[Role | None, int]:
    """Requisites of requisites (a style's fonts, a frame's images) are followed for a few steps."""
    steps = depth // REQUISITE_DEPTH + 1 if role == Role.REQUISITE else 1
    return (
        (Role.REQUISITE, steps * REQUISITE_DEPTH + depth % REQUISITE_DEPTH) if steps <= REQUISITE_STEPS else (None, 0)
    )
