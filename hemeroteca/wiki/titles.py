"""Which articles an order is about: titles looked up, categories, searches, contributions, all pages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from hemeroteca.wiki import answers, scraping
from hemeroteca.wiki.answers import WikiPage
from hemeroteca.wiki.mediawiki import WikiClient
from hemeroteca.wiki.models import Wiki


def resolve(
    client: WikiClient, wiki: Wiki, titles: Sequence[str]
) -> tuple[list[tuple[WikiPage, list[str] | None]], list[str], list[list[str]]]:
    """Pages that titles lead to (redirects followed), titles the wiki does not have, redirects as [from, to]."""
    if not wiki.api_url:
        return [(page, None) for page in scraping.pages(client, wiki, titles)], [], []
    parameters = {
        "action": "query",
        "titles": "|".join(titles),
        "redirects": "1",
        "prop": "info|categories",
        "cllimit": "max",
        "clshow": "!hidden",
    }
    pages: dict[int, WikiPage] = {}
    categories: dict[int, set[str]] = {}
    missing: dict[str, None] = {}
    redirects: list[list[str]] = []
    for answer, _ in client.walk(wiki.api_url, parameters):
        query = answer.get("query", {})
        redirects += [[entry["from"], entry["to"]] for entry in query.get("redirects", ())]
        for entry in query.get("interwiki", ()):  # a title of another wiki
            missing[entry["title"]] = None
        for found in answers.pages(query):
            page = answers.page(found)
            if page.missing or page.invalid or not page.pageid:
                missing[page.title] = None
                continue
            pages[page.pageid] = page
            names = (entry["title"].partition(":")[2] for entry in found.get("categories", ()))
            categories.setdefault(page.pageid, set()).update(names)
    unique = [list(pair) for pair in dict.fromkeys(tuple(pair) for pair in redirects)]
    return [(page, sorted(categories.get(number, ()))) for number, page in pages.items()], list(missing), unique


def members(client: WikiClient, wiki: Wiki, category: str, depth: int) -> Iterator[str]:
    """Articles of a category and, down to a depth, of those below it. Each once, also where categories form a ring."""
    waiting, seen, given = [(category, 0)], set(), set()
    while waiting:
        name, level = waiting.pop(0)
        title = name if ":" in name else f"Category:{name}"
        if title in seen:
            continue
        seen.add(title)
        parameters = {
            "action": "query",
            "list": "categorymembers",
            "cmtitle": title,
            "cmtype": "page|subcat" if level < depth else "page",
            "cmprop": "title|type",
            "cmlimit": "max",
        }
        for answer, _ in client.walk(wiki.api_url, parameters):
            for entry in answer.get("query", {}).get("categorymembers", ()):
                if entry.get("type") == "subcat" or entry.get("ns") == 14:
                    waiting.append((entry["title"], level + 1))
                elif entry["title"] not in given:
                    given.add(entry["title"])
                    yield entry["title"]


def listed(client: WikiClient, wiki: Wiki, name: str, prefix: str, parameters: dict[str, Any]) -> Iterator[str]:
    """Titles of one of the API's lists, each once."""
    given: set[str] = set()
    asked = {"action": "query", "list": name, f"{prefix}limit": "max", **parameters}
    for answer, _ in client.walk(wiki.api_url, asked):
        for entry in answer.get("query", {}).get(name, ()):
            if entry["title"] not in given:
                given.add(entry["title"])
                yield entry["title"]


def chosen(client: WikiClient, wiki: Wiki, order: Any) -> Iterator[str]:
    """The titles an order is about."""
    yield from order.titles
    if order.category:
        yield from members(client, wiki, order.category, order.depth)
    if order.search:
        yield from listed(client, wiki, "search", "sr", {"srsearch": order.search, "srprop": ""})
    if order.user:
        yield from listed(client, wiki, "usercontribs", "uc", {"ucuser": order.user, "ucprop": "title"})
    if order.whole:
        yield from listed(client, wiki, "allpages", "ap", {"apfilterredir": "nonredirects"})
