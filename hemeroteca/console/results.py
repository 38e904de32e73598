"""A page of results: what was found, how it can be narrowed or widened, and the address of each such step."""

import re
import time
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote, urlencode

from django.conf import settings
from django.urls import reverse
from django.utils.translation import get_language_info, gettext_lazy
from django.utils.translation import gettext as _
from msgspec import structs

from hemeroteca.accounts import Actor
from hemeroteca.archive import queries as archive
from hemeroteca.frontier import queries as frontier
from hemeroteca.frontier.models import Page
from hemeroteca.search import portal, semantic
from hemeroteca.search.index.version_index import has_versions
from hemeroteca.search.query.clauses import Note
from hemeroteca.search.query.query_filters import filters, loosened, narrowed, without
from hemeroteca.search.ranking import Preferences
from hemeroteca.search.results import Hit, Results, SearchOptions
from hemeroteca.search.score_explanation import Explanation
from hemeroteca.watch.saved_searches import feed_path

FACET_VALUES = 6
MAX_OFFERS, OFFER_SECONDS = 6, 1.0  # queries tried when one finds nothing, and for how long
FACETS = {
    "host": (gettext_lazy("Host"), "host:{}"),
    "language": (gettext_lazy("Language"), "lang:{}"),
    "type": (gettext_lazy("Type"), "filetype:{}"),
    "year": (gettext_lazy("Year"), "date:{}"),
    "collection": (gettext_lazy("Collection"), 'collection:"{}"'),
}
TAGGED = 'tag:"{}"'
SORTS = {
    "relevance": gettext_lazy("Best first"),
    "newest": gettext_lazy("Newest first"),
    "oldest": gettext_lazy("Oldest first"),
    "meaning": gettext_lazy("By meaning"),  # where the extra `semantic` is installed
}

LANGUAGES = {"la": gettext_lazy("Latin"), "zh": gettext_lazy("Chinese")}  # that Django has no name for
PARTS = {
    "words": gettext_lazy("the words"),
    "phrase": gettext_lazy("words side by side or close to each other"),
    "title": gettext_lazy("all words are in the title"),
    "url": gettext_lazy("words in the address"),
}
FACTORS = {
    "link rank": gettext_lazy("links that point at the page"),
    "host rank": gettext_lazy("links that point at its host"),
    "depth": gettext_lazy("near the first page of its host"),
    "thin": gettext_lazy("hardly any text"),
    "freshness": gettext_lazy("captured lately"),
    "language": gettext_lazy("in the language of the query or the reader"),
    "your boost": gettext_lazy("the preference for its host"),
}


@dataclass(frozen=True)
class Asked:
    """What a reader asked for, as the address of the page says it."""

    query: str
    sort: str = "relevance"
    past: bool = False  # all versions
    each: bool = False  # near-duplicates one by one

    def link(self, **changes: Any) -> str:
        """The address of the same with something changed."""
        new = replace(self, **changes)
        parts: dict[str, str] = {"q": new.query}
        if new.sort != "relevance":
            parts["sort"] = new.sort
        parts |= {name: "1" for name, wanted in (("versions", new.past), ("each", new.each)) if wanted}
        return "?" + urlencode(parts, quote_via=quote, safe="")

    @property
    def sorts(self) -> list[dict[str, Any]]:
        return [
            {"label": label, "link": self.link(sort=name), "chosen": name == self.sort}
            for name, label in SORTS.items()
            if name != "meaning" or name == self.sort or semantic.installed()
        ]

    @property
    def days(self) -> list[str]:
        """The first and the last day it is narrowed to, as fields for dates have them."""
        found = re.search(r"(?<!\S)(?:date|fecha):(\d{4}-\d\d-\d\d)?\.\.(\d{4}-\d\d-\d\d)?(?!\S)", self.query)
        return [day or "" for day in found.groups()] if found else ["", ""]

    @property
    def feed(self) -> str:
        return feed_path(self.query)

    @property
    def only_last(self) -> str:
        return self.link(past=False)

    @property
    def all_versions(self) -> str:
        return self.link(past=True)

    @property
    def together(self) -> str:
        return self.link(each=False)

    @property
    def one_by_one(self) -> str:
        return self.link(each=True)


@dataclass(frozen=True)
class ResultsPart:
    """Which of the results."""

    number: int = 1
    cursor: str = ""  # of the page before: it knows what was shown, so that nothing comes twice while pages come in
    size: int = 10

    @property
    def offset(self) -> int:
        return (self.number - 1) * self.size


def found_for(actor: Actor, asked: Asked, part: ResultsPart, languages: tuple[str, ...]) -> dict[str, Any]:
    """What the page shows. Raises SearchError."""
    by_meaning = asked.sort == "meaning"
    wanted = portal.reader_options(
        actor,
        sort="relevance" if by_meaning else asked.sort,
        facets=True,
        semantic=by_meaning,
        group=not asked.each,
        languages=languages,
    )
    searched = portal.searcher_for(asked.query, asked.past or None)
    found = searched.search(asked.query, limit=part.size, offset=part.offset, cursor=part.cursor, options=wanted)
    of_all_versions = searched is not portal.searcher()
    if not found.total and not of_all_versions and has_versions(settings.INSTANCE.index_dir):
        past = found_for(actor, replace(asked, past=True), part, languages)
        if past["found"].total:
            return {**past, "only_past": True}  # what stood there before is better than nothing
    known = frontier.pages_by_key(hit.page or hit.key for hit in found.hits)
    tags = portal.tags(actor, found.hits)
    link = asked.link()
    return {
        "found": found,
        "first": part.offset + 1,
        "notes": translated(found.notes),
        "meant": asked.link(query=found.suggestion) if found.suggestion else "",
        "previous": f"{link}&p={part.number - 1}" if part.number > 1 else "",
        "next": f"{link}&p={part.number + 1}&cursor={found.cursor}" if found.cursor else "",
        "results": [
            _result(asked, hit, known.get(hit.page or hit.key), wanted.preferences, tags.get(hit.url, []))
            for hit in found.hits
        ],
        "facets": _facets(asked, found.facets),
        "conditions": [
            {"text": one.text, "link": asked.link(query=without(asked.query, one))} for one in filters(asked.query)
        ],
        "of_all_versions": of_all_versions,
        "offers": [] if found.total else _offers(asked, of_all_versions, wanted),
        "blocked": 0 if found.total else _blocked(asked, wanted),
    }


def explanation(why: Explanation) -> dict[str, Any]:
    """Why a result stands where it does, in the reader's language."""
    return {
        "why": why,
        "parts": [(PARTS.get(name, name), part.score) for name, part in why.parts.items()],
        "factors": [(FACTORS.get(name, name), factor) for name, factor in why.factors.items()],
        "words": list(why.words.items())[:50],
    }


def translated(notes: list[str]) -> list[str]:
    """What was not understood of a query, in the reader's language."""
    return [note.said(_(note.template)) if isinstance(note, Note) else note for note in notes]


def _facets(asked: Asked, found: dict[str, list[tuple[str, int]]]) -> list[dict[str, Any]]:
    """What the results can be narrowed by, where there is a choice, each with the address that does it."""
    return [
        {
            "label": label,
            "values": [
                {
                    "value": _language(value) if name == "language" else value,
                    "count": number,
                    "link": asked.link(query=narrowed(asked.query, term.format(value.replace('"', "")))),
                }
                for value, number in _shown(name, found.get(name, []))
            ],
        }
        for name, (label, term) in FACETS.items()
        if sum(1 for value, _ in found.get(name, ()) if value) > 1
    ]


def _shown(name: str, counts: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """The values with most results; years in their order."""
    most = [(value, number) for value, number in counts if value][:FACET_VALUES]
    return sorted(most, reverse=True) if name == "year" else most


def _language(code: str) -> str:
    """The name of a language in that of the reader, as far as it is known."""
    try:
        return str(LANGUAGES.get(code) or get_language_info(code)["name_translated"])
    except KeyError:
        return code


def _offers(asked: Asked, of_all_versions: bool, wanted: SearchOptions) -> list[dict[str, Any]]:
    """What would find something where this finds nothing: less of the query, or what stood there before."""
    tried = [replace(asked, query=query) for query in loosened(asked.query)[:MAX_OFFERS]]
    if not of_all_versions and has_versions(settings.INSTANCE.index_dir):
        tried.append(replace(asked, past=True))
    offers = []
    until = time.monotonic() + OFFER_SECONDS
    for other in tried:
        if time.monotonic() > until:
            break
        found = _counted(other, wanted)
        if found.total:
            offers.append({"asked": other, "link": other.link(), "found": found, "past": other.past and not asked.past})
    return offers


def _blocked(asked: Asked, wanted: SearchOptions) -> int:
    """How many results are not shown because their hosts are blocked."""
    anybody = structs.replace(wanted, preferences=Preferences())
    return _counted(asked, anybody).total if wanted.preferences.blocks else 0


def _counted(asked: Asked, wanted: SearchOptions) -> Results:
    only = SearchOptions(
        preferences=wanted.preferences, tagged=wanted.tagged, snippets=False, suggest=False, diverse=False
    )
    return portal.searcher_for(asked.query, asked.past or None).search(asked.query, limit=1, options=only)


def _result(asked: Asked, hit: Hit, page: Page | None, judged: Preferences, tags: list[str]) -> dict[str, Any]:
    """What the page says of a result, ready to be written: ten of them are most of what a page of results costs.

    An older version leads to its own copy, anything else to the latest.
    """
    kept = archive.closest(hit.url, hit.captured_ms) if hit.until_ms else archive.latest(hit.url)
    url = quote(hit.url, safe="")
    return {
        "hit": structs.asdict(hit),  # which a template reads twice as fast
        "place": " › ".join(_cut(step, 48) for step in hit.breadcrumbs),
        "name": _cut(hit.title or hit.url, 60),
        "title": _cut(hit.title, 300),
        "capture": kept.record_id if kept else None,
        "history": f"{reverse('page')}?url={url}" if page or kept else "",
        "why": f"{reverse('explain')}?q={quote(asked.query, safe='')}&url={url or quote(hit.id, safe='')}",
        "versions": page.versions if page else 0,
        "language": _language(hit.language),
        "more": asked.link(query=narrowed(asked.query, f"host:{hit.host}")) if hit.more_from_host else "",
        "factor": judged.boosts.get(hit.host),
        "tags": [(tag, Asked(TAGGED.format(tag.replace('"', ""))).link()) for tag in tags],
    }


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
