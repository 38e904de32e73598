"""Which wiki is meant: an article's URL, the URL of an API, or a language. And which farm it belongs to."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, unquote, urlsplit

import msgspec

from hemeroteca import urls
from hemeroteca.errors import Invalid

WIKIMEDIA = "wikimedia"
_WIKIMEDIA_DOMAINS = frozenset(
    {
        *("wikipedia.org", "wikimedia.org", "wiktionary.org", "wikibooks.org", "wikinews.org", "wikiquote.org"),
        *("wikisource.org", "wikiversity.org", "wikivoyage.org", "wikidata.org", "mediawiki.org", "wikifunctions.org"),
        "wikimediafoundation.org",
    }
)
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[a-z0-9]{2,12}){0,2}|simple")


class ApiPlace(msgspec.Struct, frozen=True):
    """Where a wiki's API is, as far as the address tells; and the article that it names, if it does."""

    candidates: tuple[str, ...]  # addresses of api.php to try, likeliest first
    title: str = ""
    page_url: str = ""  # the address given, when it is an article's: it links to its API


def read(text: str) -> ApiPlace:
    """From whatever a person gives for a wiki. Raises Invalid."""
    text = text.strip()
    if _LANGUAGE.fullmatch(text):
        return ApiPlace((f"https://{text}.wikipedia.org/w/api.php",))
    if "://" not in text and "." in text:
        text = f"https://{text}"
    try:
        parts = urlsplit(text)
        host = urls.host(text)
    except (ValueError, urls.UrlError):
        host = ""
    if not host or parts.scheme not in ("http", "https"):
        raise Invalid(f"{text!r} names no wiki; give a language (es), the address of an article, or that of an api.php")
    origin = f"{parts.scheme}://{parts.netloc}"
    if parts.path.endswith("api.php"):
        return ApiPlace((origin + parts.path,))
    title = ""
    base = ""
    query = parse_qs(parts.query)
    if "title" in query:
        title = query["title"][0]
        base = parts.path.rpartition("/")[0]
    elif found := re.match(r"(.*?/index\.php)/(.+)", parts.path):
        base, title = found[1].rpartition("/")[0], found[2]
    elif found := re.match(r"(.*?)/(?:wiki|w)/(.+)", parts.path):
        base, title = found[1], found[2]
    elif len(parts.path) > 1:
        title = parts.path[1:]
    title = unquote(title).replace("_", " ").strip()
    paths = dict.fromkeys((f"{base}/w/api.php", f"{base}/api.php", "/w/api.php", "/api.php", "/wiki/api.php"))
    if (base and "title" in query) or ".php/" in parts.path:
        paths = dict.fromkeys((f"{base}/api.php", *paths))
    if is_wikimedia(host):
        paths = {"/w/api.php": None}
    return ApiPlace(tuple(origin + path for path in paths), title, text if title else "")


def name_of(api_url: str) -> str:
    """A short name for a wiki: es.wikipedia.org, wiki.example.org/mine."""
    parts = urlsplit(api_url)
    path = parts.path.removesuffix("api.php").rstrip("/").removesuffix("/w")
    return parts.netloc.lower() + path


def is_wikimedia(host: str) -> bool:
    return ".".join(host.lower().rstrip(".").split(".")[-2:]) in _WIKIMEDIA_DOMAINS


def farm_of(api_url: str) -> str:
    """Whose budget pays for requests to it. Wikimedia counts over all its wikis; others by registrable domain."""
    host = urls.host(api_url)
    if is_wikimedia(host):
        return WIKIMEDIA
    return urls.registrable_domain(host) or urlsplit(api_url).netloc
