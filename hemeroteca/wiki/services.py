"""What can be done with wikis and articles. The only writer of their tables (the lake's are written by `commits`)."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from django.conf import settings

from hemeroteca.accounts import Actor, require
from hemeroteca.clock import now_ms
from hemeroteca.errors import Invalid, NotFound, Refused
from hemeroteca.jobs import services as jobs
from hemeroteca.jobs.models import Job
from hemeroteca.wiki import answers, wiki_address
from hemeroteca.wiki.budget import RequestBudget
from hemeroteca.wiki.mediawiki import ApiClosed, ApiError, WikiClient
from hemeroteca.wiki.models import Article, Wiki
from hemeroteca.wiki.schedule import NEVER

if TYPE_CHECKING:
    from hemeroteca.wiki.job_kinds import Extract

KNOWN_MS = 24 * 3_600_000  # facts about a wiki are asked for again after a day
_EDIT_URI = re.compile(rb"""<link[^>]+rel=["']EditURI["'][^>]*>""", re.IGNORECASE)
_HREF = re.compile(rb"""href=["']([^"']+)["']""", re.IGNORECASE)

MAX_TITLES = 100_000
MAX_WORKERS = 100
MAX_BOTS = 20_000


def extract(
    actor: Actor,
    *,
    url: str = "",
    titles: tuple[str, ...] = (),
    locale: str = "",
    wiki: str = "",
    text: bool = False,
    max_revisions: int = 0,
    here: bool = False,
    **choice: Any,
) -> Job:
    """Order the extraction of articles: by the address of one, or by titles and a wiki (a language: its Wikipedia)."""
    require(actor, "wiki.extract")
    named = titles or ((url,) if url else ())
    order = extraction_order(wiki or url or locale, named, text=text, max_revisions=max_revisions, **choice)
    return jobs.submit(actor, "wiki.extract", order, here=here)


def extraction_order(wiki: str, titles: Sequence[str], **choice: Any) -> Extract:
    """The order of an extraction, checked. A title may be the address of an article; it then says which wiki."""
    from hemeroteca.wiki.job_kinds import Extract
    from hemeroteca.wiki.schedule import POLICIES

    named: list[str] = []
    for title in (found.strip() for found in titles):
        if title.startswith(("http://", "https://")):
            place = wiki_address.read(title)
            if not place.title:
                raise Invalid(f"{title} names a wiki, not an article; give the article's address or its title")
            wiki = wiki or title
            if wiki_address.read(wiki).candidates[0].split("/")[:3] != place.candidates[0].split("/")[:3]:
                raise Invalid(f"{title} is not an article of {wiki}; order the articles of each wiki separately")
            title = place.title
        if title:
            named.append(title)
    where = wiki or "en"
    place = wiki_address.read(where)
    chosen = any(choice.get(name) for name in ("category", "search", "user", "whole"))
    if not named and not chosen and place.title:
        named = [place.title]
    if not named and not chosen:
        raise Invalid(
            "`url` or `title` is required: the address of an article, or its title and a `locale`; "
            "or choose articles by category, search, user, or the whole wiki"
        )
    if len(named) > MAX_TITLES:
        raise Invalid(f"one order takes at most {MAX_TITLES:,} titles, not {len(named):,}")
    for title in named:
        check_title(title)
    order = Extract(wiki=where, titles=named, **choice)
    if order.max_revisions < 0:
        raise Invalid(f"max_revisions is a whole number of 0 (all) or more, not {order.max_revisions}")
    if not 1 <= order.workers <= MAX_WORKERS:
        raise Invalid(f"workers is 1 to {MAX_WORKERS}, not {order.workers}")
    if order.policy and order.policy not in POLICIES:
        raise Invalid(f"there is no policy {order.policy!r} for articles; there are {', '.join(POLICIES)}")
    refuse_strangers_to_wikimedia(place)
    return order


def check_title(title: str) -> None:
    if len(title.encode()) > 255 + 100 or re.search(r"[\x00-\x1f#<>\[\]|{}\x7f]", title):
        raise Invalid(f"{title[:80]!r} cannot be the title of an article (MediaWiki allows no # < > [ ] | {{ }})")


def refuse_strangers_to_wikimedia(place: wiki_address.ApiPlace) -> None:
    """At once, not when the job has begun."""
    farm = wiki_address.farm_of(place.candidates[0])
    if farm == wiki_address.WIKIMEDIA:
        RequestBudget(settings.CONFIG, farm)


@contextmanager
def opened(where: str, pause: Callable[[float], None] = time.sleep) -> Iterator[tuple[Wiki, WikiClient, str]]:
    """A wiki by what a person calls it, a client for it, and the title that its address named.

    Raises ApiClosed when there is no API; `scraping.find` is the next thing to try then.
    """
    place = wiki_address.read(where)
    farm = wiki_address.farm_of(place.candidates[0])
    budget = RequestBudget(settings.CONFIG, farm, pause)
    with WikiClient(settings.CONFIG, budget) as client:
        yield find_wiki(client, place), client, place.title


def find_wiki(client: WikiClient, place: wiki_address.ApiPlace) -> Wiki:
    """The row of a wiki, with what it says of itself."""
    known = {wiki.api_url: wiki for wiki in Wiki.objects.filter(api_url__in=place.candidates)}
    for candidate in place.candidates:
        if candidate in known and known[candidate].known_ms > now_ms() - KNOWN_MS:
            return known[candidate]
    closed: Refused | None = None
    tried = set()
    for candidate in (*place.candidates, *_linked(client, place)):
        if candidate in tried:
            continue
        tried.add(candidate)
        try:
            return refresh_facts(client, candidate)
        except (ApiClosed, ApiError) as error:
            closed = closed or error
    from hemeroteca.wiki import scraping

    found = scraping.find(client, place)
    if found is not None:
        return found
    raise closed or NotFound(f"{place.page_url or place.candidates[0]} is not a wiki")


def refresh_facts(client: WikiClient, api_url: str) -> Wiki:
    """Ask a wiki what it is: language, licence, names of temporary accounts, bots."""
    asked = {"action": "query", "meta": "siteinfo", "siprop": "general|rightsinfo|autocreatetempuser"}
    try:
        query, bots = _with_bots(client, api_url, asked)
    except ApiError:  # some wikis do not show their accounts
        query, bots = client.ask(api_url, asked).get("query", {}), []
    general = query.get("general")
    if not isinstance(general, dict):
        raise ApiClosed(f"{api_url} does not say what wiki it is")
    rights = query.get("rightsinfo", {})
    temporary = query.get("autocreatetempuser", {})
    patterns = temporary.get("matchPatterns") or [temporary["matchPattern"]] if temporary.get("matchPattern") else []
    base = urljoin(api_url, str(general.get("server", "")) or "/")
    values: dict[str, Any] = {
        "api_url": api_url,
        "index_url": urljoin(base, str(general.get("script", ""))) if general.get("script") else "",
        "article_path": urljoin(base, str(general.get("articlepath", ""))) if general.get("articlepath") else "",
        "farm": wiki_address.farm_of(api_url),
        "locale": str(general.get("lang", ""))[:40],
        "sitename": str(general.get("sitename", ""))[:300],
        "generator": str(general.get("generator", ""))[:100],
        "rights": str(rights.get("text", "")),
        "rights_url": str(rights.get("url", "")),
        "temporary": [str(pattern) for pattern in patterns],
        "bots": bots,
        "known_ms": now_ms(),
    }
    name = wiki_address.name_of(api_url)
    told = [Wiki(name=name, **values)]
    Wiki.objects.bulk_create(told, update_conflicts=True, unique_fields=["name"], update_fields=[*values])
    return Wiki.objects.get(name=name)


def note_signals(wiki: Wiki, titles: set[str], pageids: set[int], at: int) -> int:
    """Articles that the wiki announced as changed are due now; how many we keep of them."""
    found = Article.objects.filter(wiki=wiki, deleted=False, limited=False).exclude(policy=NEVER)
    named = [*found.filter(pageid__in=pageids)] if pageids else []
    named += found.filter(title__in=titles).exclude(pk__in=[article.pk for article in named]) if titles else []
    Article.objects.filter(pk__in=[article.pk for article in named]).update(announced_ms=at, due_ms=at)
    if named:
        _tell_watch(wiki, named, at)
    return len(named)


def set_policy(actor: Actor, number: int, policy: str) -> Article:
    from hemeroteca.wiki.schedule import POLICIES

    require(actor, "wiki.extract")
    if policy not in POLICIES:
        raise Invalid(f"there is no policy {policy!r} for articles; there are {', '.join(POLICIES)}")
    if not Article.objects.filter(pk=number).update(policy=policy):
        raise NotFound(f"there is no article {number}; `hemeroteca wiki articles` shows them")
    return Article.objects.get(pk=number)


def _linked(client: WikiClient, place: wiki_address.ApiPlace) -> Iterator[str]:
    """The API that an article's page links to (Really Simple Discovery)."""
    if not place.page_url:
        return
    try:
        reply = client.page(place.page_url)
    except Refused:
        return
    for tag in _EDIT_URI.findall(reply.body[:200_000]):
        if href := _HREF.search(tag):
            yield urljoin(reply.url, href[1].decode("utf-8", "replace").replace("&amp;", "&")).partition("?")[0]


def _with_bots(client: WikiClient, api_url: str, asked: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """What is asked, and the names of the accounts that are bots now: revisions do not say it."""
    query: dict[str, Any] = {}
    names: list[str] = []
    for answer, _ in client.walk(api_url, {**asked, "list": "allusers", "augroup": "bot", "aulimit": "max"}):
        found = answer.get("query", {})
        query = query or found
        names += [str(entry["name"]) for entry in found.get("allusers", ())]
        if len(names) >= MAX_BOTS:
            break
    return query, names


def _tell_watch(wiki: Wiki, articles: list[Article], at: int) -> None:
    """Pages of watched sites: the scheduler hears it as it hears a webhook of the site."""
    from urllib.parse import quote

    from hemeroteca import urls
    from hemeroteca.watch import signals

    if not wiki.article_path:
        return
    pages = [
        wiki.article_path.replace("$1", quote(article.title.replace(" ", "_"), safe="/:()!,;@")) for article in articles
    ]
    host = urls.host(wiki.article_path.replace("$1", "x"))
    signals.wiki_changes(host, wiki.api_url, [(page, at) for page in pages])


__all__ = ["answers", "extract", "find_wiki", "note_signals", "opened", "refresh_facts", "set_policy"]
