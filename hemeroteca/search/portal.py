"""Search for people: the index of this instance, with the owner's judgement of hosts and the reader's languages."""

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils.translation.trans_real import parse_accept_lang_header

from hemeroteca.accounts import Actor, can, require
from hemeroteca.archive import notes
from hemeroteca.errors import Invalid, NotFound
from hemeroteca.search.analysis import code_of
from hemeroteca.search.index import SearchError
from hemeroteca.search.index.version_index import choose
from hemeroteca.search.preferences import load_preferences
from hemeroteca.search.preferences import prefer as judge
from hemeroteca.search.ranking import Preferences
from hemeroteca.search.results import Hit, SearchOptions
from hemeroteca.search.score_explanation import Explanation, explained
from hemeroteca.search.searcher import Searcher, open_searcher
from hemeroteca.search.suggest.query_log import forget_queries, log_query, queries_of
from hemeroteca.search.suggest.suggester import Suggester

COMPLETIONS = 8


def searcher() -> Searcher:
    """Asks the index of this instance."""
    return searcher_at(settings.INSTANCE.index_dir)


def searcher_for(query: str, versions: bool | None = None) -> Searcher:
    """Asks the index that a query is about: of last versions, or of all of them. Raises SearchError."""
    return searcher_at(choose(settings.INSTANCE.index_dir, query, versions))


@cache
def searcher_at(path: Path) -> Searcher:
    """Opened once a process; it sees later commits by itself."""
    settings.INSTANCE.create()
    return open_searcher(settings.CONFIG, path)


def reader_options(actor: Actor, **wanted: Any) -> SearchOptions:
    """Options of somebody's search, with the owner's judgement of hosts."""
    tagged = notes.tagged if can(actor, "archive.notes") else None
    return SearchOptions(preferences=load_preferences(settings.INSTANCE.index_dir), tagged=tagged, **wanted)


def tags(actor: Actor, hits: Iterable[Hit]) -> dict[str, list[str]]:
    """Tags of what was found, by address, for whoever may read them."""
    return notes.tags_of_all(hit.url for hit in hits if hit.url) if can(actor, "archive.notes") else {}


def reader_languages(accept_language: str, chosen: str | None = None) -> tuple[str, ...]:
    """The language chosen, then those the browser asks for in its `Accept-Language`."""
    asked = [code for code, _ in parse_accept_lang_header(accept_language.lower()[:500])]
    found = (code_of(code.partition("-")[0]) for code in (chosen or "", *asked))
    return tuple(dict.fromkeys(code for code in found if code))[:5]


def explain(actor: Actor, query: str, address: str, languages: tuple[str, ...]) -> Explanation:
    """Why a page stands where it does among the results."""
    try:
        return explained(searcher(), query, address, reader_options(actor, languages=languages))
    except SearchError as error:
        raise NotFound(str(error))


def completions(actor: Actor, typed: str, limit: int = COMPLETIONS) -> list[str]:
    """How a query of somebody may go on; nothing before words were learned."""
    suggester = Suggester.load(settings.INSTANCE.index_dir / "suggest")
    asker = actor.user.pk if actor.user else None
    return [found.text for found in suggester.complete(typed, limit, asker)] if suggester else []


def correction(typed: str) -> str:
    """What was probably meant; empty when the words are fine."""
    suggester = Suggester.load(settings.INSTANCE.index_dir / "suggest")
    return suggester.correct(typed, typing=True, is_known=searcher().is_known) if suggester else ""


def note(actor: Actor, query: str) -> None:
    """Remember a query that found something, for completions; strangers teach nothing."""
    if actor.user:
        log_query(settings.INSTANCE.index_dir, query, actor.user.pk)


def history(actor: Actor) -> list[str]:
    """What somebody asked lately; nobody else sees it."""
    require(actor, "search.history")
    return queries_of(settings.INSTANCE.index_dir, actor.user.pk) if actor.user else []


def forget_history(actor: Actor) -> None:
    require(actor, "search.history")
    if actor.user:
        forget_queries(settings.INSTANCE.index_dir, actor.user.pk)


def preferences(actor: Actor) -> Preferences:
    """Hosts whose results are raised, lowered or never shown."""
    require(actor, "search.preferences")
    return load_preferences(settings.INSTANCE.index_dir)


def prefer(actor: Actor, host: str, factor: float | None) -> Preferences:
    """Raise (above 1), lower (below 1), block (0) or forget (None) a host."""
    require(actor, "search.prefer")
    try:
        return judge(settings.INSTANCE.index_dir, host, factor)
    except SearchError as error:
        raise Invalid(str(error))
