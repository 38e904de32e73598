"""The simulated web as pure functions: which hosts exist, what is at each address, who links to whom, when it changed.

Nothing is listed or stored: a page is a number inside a host, and everything about it follows from (seed, host, number,
time). The server renders from this model and `simweb.truth` walks the same model, so both always agree.
"""

import hashlib
import re
import struct
from dataclasses import dataclass
from functools import lru_cache
from math import exp
from statistics import NormalDist
from typing import NamedTuple, TypeVar

import numpy as np

from simweb import changes
from simweb.changes import PROCESSES, Process, mix
from simweb.clock import DAY, iso_day, start_instant
from simweb.text import Prose, keyword, prose
from simweb.words import LANGUAGES, TOPICS

T = TypeVar("T")

DOMAIN = "sim.test"
ADMIN_HOST = f"admin.{DOMAIN}"
FANOUT = 10  # children of a page in the tree that makes every page reachable
HOST_TOPICS = 5
HISTORY = 2 * 365 * DAY  # the pages of the start instant were born over this time
SITEMAP_PART = 500
FRIENDLY_HOSTS = 3  # the first hosts never have rough robots, delays or odd charsets, so that small webs are useful


@dataclass(frozen=True)
class Settings:
    """Everything that decides what the web looks like. The same settings give the same web, byte for byte."""

    seed: int = 1
    hosts: int = 50
    pages_per_host: int = 100  # at the start instant
    page_bytes: int = 24_000  # median size of an HTML page; sizes are log-normal
    links_per_page: int = 40  # median number of links in a page's text, apart from its navigation
    growth: float = 0.0  # new pages per host and virtual day
    changes: str = "mixed"  # or a process for all pages (`changes.PROCESSES`), or groups: see `Host.process`
    restyle: float = 0.0  # days after which each host's style gets other colours, again and again; 0: never
    trouble: float = 1.0  # how many links lead to redirects and errors; 0: none, 1: about one page in three has one
    robots: str = "mixed"  # or "open": robots.txt allows everything
    crawl_delay: float = 1.0  # what the hosts with a Crawl-delay ask for; 0: no host asks
    charsets: str = "mixed"  # or "utf-8"
    compression: str = "mixed"  # or "none"
    latency: float = 0.0  # median seconds a host takes to answer
    speed: float = 0.0  # virtual seconds per real second
    zoo: bool = False
    corner: int = 0  # hosts of the geographic corner (`simweb.geo`), with 200 pages and 2 services each; 0: none
    log_urls: int = 200_000  # URLs whose fetches are counted one by one

    def __post_init__(self) -> None:
        for name, least in (("hosts", 1), ("pages_per_host", 1), ("page_bytes", 1), ("links_per_page", 0)):
            if getattr(self, name) < least:
                raise ValueError(f"simweb setting `{name}` is {getattr(self, name)}; it must be at least {least}")
        if self.corner and self.corner < 10:
            raise ValueError(f"simweb setting `corner` is {self.corner}; it must be 0 or at least 10")
        for name in ("growth", "restyle", "trouble", "crawl_delay", "latency", "speed"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise ValueError(f"simweb setting `{name}` is {getattr(self, name)}; it must be 0 or more")
        choices = {
            "changes": ("mixed", *PROCESSES, "groups"),
            "robots": ("mixed", "open"),
            "charsets": ("mixed", "utf-8"),
            "compression": ("mixed", "none"),
        }
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                raise ValueError(f"simweb setting `{name}` is {getattr(self, name)!r}; choose {', '.join(allowed)}")


class Charset(NamedTuple):
    """How a host writes its pages and what it says about it."""

    codec: str
    header: str
    meta: str
    bom: bytes = b""


class Resource(NamedTuple):
    """What is at an address: `kind`, the page's number where there is one, the status and a redirect's target path."""

    kind: str
    number: int = -1
    status: int = 200
    location: str = ""


MISSING = Resource("missing", status=404)

KINDS = ("noticias", "blog", "tienda", "wiki", "foro", "museo", "docs", "radio")
KIND_CHANGES: dict[str, tuple[str, ...]] = {
    "noticias": ("hourly", "daily", "daily", "poisson", "poisson", "bursts", "never", "never", "never"),
    "blog": ("weekly", "poisson", "bursts", "never", "never", "never"),
    "tienda": ("daily", "seasons", "seasons", "poisson", "never"),
    "wiki": ("poisson", "bursts", "weekly", "never"),
    "foro": ("hourly", "bursts", "poisson", "poisson", "never"),
    "museo": ("seasons", "weekly", "never", "never", "never"),
    "docs": ("weekly", "bursts", "never", "never", "never", "never"),
    "radio": ("hourly", "daily", "weekly", "never"),
}
LANGUAGE_SHARES = (("es", 35), ("en", 20), ("pt", 10), ("fr", 10), ("it", 8), ("de", 8), ("ca", 9))
CHARSET_SHARES: tuple[tuple[Charset, int], ...] = (
    (Charset("utf-8", "utf-8", "utf-8"), 50),
    (Charset("utf-8", "", "utf-8"), 14),
    (Charset("utf-8", "", ""), 6),
    (Charset("iso-8859-1", "ISO-8859-1", ""), 8),
    (Charset("cp1252", "", "windows-1252"), 8),
    (Charset("cp1252", "iso-8859-1", ""), 4),  # what most pages that say Latin-1 really are
    (Charset("iso-8859-15", "ISO-8859-15", "iso-8859-15"), 2),
    (Charset("utf-16-le", "", "", b"\xff\xfe"), 3),
    (Charset("utf-16-be", "utf-16be", ""), 2),
    (Charset("shift_jis", "Shift_JIS", ""), 2),
    (Charset("shift_jis", "", "shift_jis"), 1),
)
ROBOTS_SHARES = (
    ("rules", 55),
    ("delay", 10),
    ("missing", 10),
    ("error", 4),
    ("empty", 6),
    ("groups", 10),
    ("moved", 5),
)
ROBOTS_WITH_RULES = ("rules", "delay", "groups", "moved")
SITEMAP_SHARES = (("xml", 40), ("index", 30), ("text", 15), ("none", 15))
ENCODING_SHARES = (("", 55), ("gzip", 18), ("br", 27))
VALIDATOR_SHARES = (("both", 40), ("etag", 15), ("weak", 10), ("modified", 20), ("none", 15))

# Paths of a host that lead to trouble; each is followed by a page's number.
TROUBLE: dict[str, tuple[str, int]] = {
    "viejo": ("redirect", 301),
    "ir": ("redirect", 302),
    "temporal": ("redirect", 307),
    "permanente": ("redirect", 308),
    "corto": ("redirect", 302),  # a chain: corto → viejo → the page
    "refresco": ("refresh", 200),
    "roto": ("error", 404),
    "retirado": ("error", 410),
    "averia": ("error", 500),
    "ocupado": ("busy", 503),  # the first time; then a page
    "limite": ("busy", 429),
}
TROUBLE_SHARES = (  # how often each is linked
    *("viejo", "viejo", "viejo", "ir", "ir", "temporal", "permanente", "corto", "refresco"),
    *("roto", "roto", "roto", "retirado", "averia", "ocupado", "limite"),
)
STATIC_PAGES = {"/contacto.html": "contact", "/aviso-legal.html": "privacy", "/quienes-somos.html": "about"}
ASSETS = {
    "/static/estilo.css": "css",
    "/static/extra.css": "css",
    "/static/app.js": "js",
    "/favicon.ico": "icon",
}
IMAGES = 40  # numbered images of a host
SEARCH_PATH = "/buscar?orden=fecha"  # robots.txt forbids it where there is one
LOGIN_PATH = "/entrar"  # only ever linked with rel=nofollow

_NUMBER = re.compile(r"[-_=](\d{1,9})(?:\.html|/)?\Z")
_TROUBLE = re.compile(r"/([a-z]+)/(\d{1,9})\Z")
_ASSET = re.compile(r"/img/(logo|fondo|\d{1,2})\.(png|gif|svg)\Z")
_PDF = re.compile(r"/docs/informe-(\d{1,9})\.pdf\Z")
_SITEMAP = re.compile(r"/sitemap-(\d{1,6})\.(xml|xml\.gz)\Z")
_PRINT = re.compile(r"[?&]imprimir=1\Z")
_NAME = re.compile(rf"([a-z]+)-(\d{{4,7}})\.{re.escape(DOMAIN)}\Z")


class Web:
    """All hosts of one simulated web."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.start = start_instant(settings.seed)
        pages = settings.pages_per_host
        # A uniform 16-bit draw picks a page (or host) with a power law: low numbers are popular.
        draws = np.arange(65_536) / 65_536
        self.popular_pages: list[int] = (draws**2.5 * pages).astype(int).tolist()
        self.popular_hosts: list[int] = (draws**3 * settings.hosts).astype(int).tolist()
        normal = NormalDist()
        quantiles = [normal.inv_cdf((i + 0.5) / 256) for i in range(256)]
        self.page_sizes = [int(settings.page_bytes * exp(0.7 * q)) for q in quantiles]
        self.link_counts = [int(settings.links_per_page * exp(0.6 * q)) for q in quantiles]
        self.cross_counts = [int(1.5 * exp(0.9 * q)) for q in quantiles]
        self.delays = [settings.latency * exp(0.5 * q) for q in quantiles]
        # A bounded cache: hosts are cheap to make again.
        self.host_at = lru_cache(maxsize=4096)(self._make_host)

    def _make_host(self, index: int) -> "Host":
        return Host(self, index)

    def host(self, name: str) -> "Host | None":
        """The host of this (lower-case) name; None when the web has no such host."""
        match = _NAME.match(name)
        if not match or int(match[2]) >= self.settings.hosts:
            return None
        host = self.host_at(int(match[2]))
        return host if host.name == name else None


class Host:
    """One virtual host: its habits, its pages, its links."""

    def __init__(self, web: Web, index: int) -> None:
        settings = web.settings
        self.web = web
        self.index = index
        self.key = key = int.from_bytes(
            hashlib.blake2b(f"simweb {settings.seed} {index}".encode(), digest_size=8).digest()
        )
        friendly = index < FRIENDLY_HOSTS
        self.kind = KINDS[0] if index == 0 else KINDS[mix(key, 1) % len(KINDS)]
        self.name = f"{self.kind}-{index:04}.{DOMAIN}"
        self.origin = f"http://{self.name}"
        self.charset = CHARSET_SHARES[0][0]
        if settings.charsets == "mixed" and not friendly:
            self.charset = _share(CHARSET_SHARES, mix(key, 2))
        self.language = _share(LANGUAGE_SHARES, mix(key, 3)) if index else "es"
        if self.charset.codec == "shift_jis":
            self.language = "ja"
        self.words = LANGUAGES[self.language]
        self.robots = "rules" if friendly else _share(ROBOTS_SHARES, mix(key, 4))
        if settings.robots == "open":
            self.robots = "empty"
        elif self.robots == "delay" and not settings.crawl_delay:
            self.robots = "rules"
        self.sitemap = _share(SITEMAP_SHARES, mix(key, 5)) if index else "xml"
        most = {"text": 5000, "xml": SITEMAP_PART}.get(self.sitemap, 0)
        if self.robots not in ROBOTS_WITH_RULES:
            self.sitemap = "none"  # it could not be announced
        elif most and settings.pages_per_host > most:
            self.sitemap = "index"
        self.encoding = _share(ENCODING_SHARES, mix(key, 6)) if settings.compression == "mixed" else ""
        self.chunked = mix(key, 7) % 10 < 3
        self.noisy = mix(key, 8) % 10 == 0 and not friendly  # a clock and a counter on every page, no validators
        self.validators = "none" if self.noisy else _share(VALIDATOR_SHARES, mix(key, 9))
        if index == 0:
            self.validators = "both"
        self.feed = "/atom.xml" if mix(key, 10) % 3 == 0 else "/feed.xml"
        self.markup = mix(key, 11) % 3
        self.link_style = mix(key, 12) % 4
        offset = mix(key, 13)
        self.topics = tuple(TOPICS[(offset + i) % len(TOPICS)] for i in range(HOST_TOPICS))
        self.proses: tuple[Prose, ...] = tuple(prose(self.language, topic, key & 3) for topic in self.topics)
        self.title = f"{self.kind.capitalize()} {self.words.places[offset % len(self.words.places)]} {index}"
        self._pages = settings.pages_per_host
        self._gap = HISTORY / self._pages

    # -- pages in time

    def count(self, now: float) -> int:
        """Pages born by now."""
        grown = int((now - self.web.start) * self.web.settings.growth / DAY)
        return self._pages + max(0, grown)

    def birth(self, number: int) -> int:
        if number < self._pages:
            return int(self.web.start - (self._pages - number) * self._gap)
        return -int(-(number - self._pages + 1) * DAY // self.web.settings.growth) + self.web.start

    def process(self, number: int) -> Process:
        """How this page changes. `groups`: hosts are of the three groups of 2015 in turn; the last one has surges."""
        chosen = self.web.settings.changes
        if chosen == "groups":
            last = self.index == self.web.settings.hosts - 1
            chosen = "surges" if last else changes.GROUPS[self.index % 3]
        if chosen == "mixed":
            kinds = KIND_CHANGES[self.kind]
            chosen = kinds[mix(self.key, number) // 7 % len(kinds)]
        return PROCESSES[chosen]

    def changed(self, number: int, now: float) -> int:
        """When the page got the content it has now: its own process, or a page newly linked from it."""
        moment = self._newest_child_birth(number, now)
        return changes.last(self.process(number), mix(self.key, number), now, moment)

    def change_times(self, number: int, since: float, until: float) -> list[int]:
        """All changes of a page in (since, until]."""
        births = []
        count = self.count(until)
        children = range(1, count) if number == 0 else range(FANOUT * number + 1, min(FANOUT * (number + 1) + 1, count))
        for child in reversed(children):
            if self.birth(child) <= since:
                break
            births.append(self.birth(child))
        own_since = max(since, self.birth(number))
        own = changes.between(self.process(number), mix(self.key, number), own_since, until)
        return sorted({*own, *births})

    def _newest_child_birth(self, number: int, now: float) -> int:
        newest = self.count(now) - 1 if number == 0 else min(FANOUT * (number + 1), self.count(now) - 1)
        first = FANOUT * number + 1
        return self.birth(newest if newest >= first else number)

    def restyled(self, now: float) -> int:
        """How often its style got other colours."""
        days = self.web.settings.restyle
        return int((now - self.web.start) / DAY // days) if days else 0

    # -- addresses

    def path(self, number: int) -> str:
        if number == 0:
            return "/"
        bits = mix(self.key, number)
        words = self.proses[number % HOST_TOPICS]
        slug = words.slugs[bits & 255]
        match self.kind:
            case "noticias":
                date = iso_day(self.birth(number) // DAY).replace("-", "/")
                path = f"/{words.section}/{date}/{slug}-{number}.html"
            case "blog":
                path = f"/{iso_day(self.birth(number) // DAY)[:4]}/{slug}-{number}/"
            case "tienda":
                path = f"/producto/{slug}-{number}"
            case "wiki":
                path = f"/wiki/{words.wiki_slugs[bits & 255]}_{number}"
            case "foro":
                path = f"/tema.php?foro={words.section}&id={number}"
            case "radio":
                path = f"/programa/{slug}-{number}/"
            case _:
                path = f"/{words.section}/{slug}-{number}.html"
        match self.trait(number):
            case "private":
                return "/privado" + path
            case "open":
                return "/privado/abierto" + path
        return path

    def url(self, number: int) -> str:
        return self.origin + self.path(number)

    def trait(self, number: int) -> str:
        """What is special about a page: private, open (inside the private part), orphan, print, noindex, pdf or ''."""
        draw = (mix(self.key, number) >> 20) % 40
        if number <= FANOUT or draw > 7:
            return ""
        if draw == 2:
            leaf = FANOUT * number + 1 >= self._pages
            return "orphan" if leaf and number < self._pages and self.sitemap != "none" else ""
        return ("private", "open", "", "print", "noindex", "pdf", "pdf", "pdf")[draw]

    def print_path(self, number: int) -> str:
        path = self.path(number)
        return f"{path}&imprimir=1" if "?" in path else f"{path}?imprimir=1"

    def resource(self, target: str, now: float) -> Resource:
        """What is at a path (with query) of this host now."""
        match = _NUMBER.search(target)
        if match:
            number = int(match[1])
            if number < self.count(now) and self.path(number) == target:
                return Resource("page", number)
        if target == "/":
            return Resource("page", 0)
        if target in STATIC_PAGES or target in (SEARCH_PATH, LOGIN_PATH):
            return Resource("static")
        if target in ASSETS:
            return Resource(ASSETS[target])
        if _ASSET.match(target):
            return Resource("image")
        if target == "/robots.txt":
            return self._robots_resource()
        if target == "/robots-nuevo.txt" and self.robots == "moved":
            return Resource("robots")
        if target == self.feed:
            return Resource("feed")
        if match := _PDF.match(target):
            number = int(match[1])
            return Resource("pdf", number) if number < self._pages and self.trait(number) == "pdf" else MISSING
        if _PRINT.search(target):
            plain = self.resource(target[: -len("?imprimir=1")], now)
            if plain.kind == "page" and self.trait(plain.number) == "print":
                return Resource("print", plain.number)
            return MISSING
        if match := _TROUBLE.match(target):
            return self._trouble_resource(match[1], int(match[2]), now)
        return self._sitemap_resource(target, now)

    def _robots_resource(self) -> Resource:
        match self.robots:
            case "missing":
                return MISSING
            case "error":
                return Resource("error", status=500)
            case "moved":
                return Resource("redirect", status=301, location="/robots-nuevo.txt")
        return Resource("robots")

    def _trouble_resource(self, word: str, number: int, now: float) -> Resource:
        if word not in TROUBLE or number >= self.count(now):
            return MISSING
        kind, status = TROUBLE[word]
        if kind == "redirect":
            # `corto` begins a chain: corto → viejo → the page.
            location = f"/viejo/{number}" if word == "corto" else self.path(number)
            return Resource(kind, number, status, location)
        return Resource(kind, number, status)

    def _sitemap_resource(self, target: str, now: float) -> Resource:
        if self.sitemap == "text":
            return Resource("sitemap", 0) if target == "/sitemap.txt" else MISSING
        if self.sitemap == "none":
            return MISSING
        if target == "/sitemap.xml":
            return Resource("sitemap", 0)
        match = _SITEMAP.match(target)
        if self.sitemap == "index" and match and target == self.sitemap_part(int(match[1])):
            part = int(match[1])
            return Resource("sitemap", part) if 1 <= part <= self.sitemap_parts(now) else MISSING
        return MISSING

    def sitemap_parts(self, now: float) -> int:
        return -(-self.count(now) // SITEMAP_PART)

    def sitemap_part(self, part: int) -> str:
        return f"/sitemap-{part}.xml.gz" if part % 2 == 0 else f"/sitemap-{part}.xml"

    def sitemap_pages(self, part: int, now: float) -> list[int]:
        """The pages a sitemap file lists; part 0 is the one file of a small host."""
        first, end = (0, self.count(now)) if part == 0 else ((part - 1) * SITEMAP_PART, part * SITEMAP_PART)
        return [n for n in range(first, min(end, self.count(now))) if self.trait(n) != "private"]

    # -- robots

    def forbids(self, target: str) -> bool:
        """Whether this host's robots.txt forbids a path to every robot."""
        if target == "/robots.txt":
            return False
        if self.robots == "error":
            return True
        if self.robots not in ROBOTS_WITH_RULES:
            return False
        private = target.startswith("/privado/") and not target.startswith("/privado/abierto/")
        return private or "orden=" in target

    # -- words of a page

    def prose(self, number: int) -> Prose:
        return self.proses[number % HOST_TOPICS]

    def headline(self, number: int) -> str:
        bits = mix(self.key, number)
        words = self.proses[number % HOST_TOPICS]
        return words.heads[bits >> 8 & 255] + words.tails[bits & 255]

    def keyword(self, number: int) -> str:
        """The word that only this page carries."""
        return keyword(self.index << 22 | number)

    # -- links

    def children(self, number: int, now: float) -> list[int]:
        first = FANOUT * number + 1
        return list(range(first, min(first + FANOUT, self.count(now))))

    def latest(self, now: float) -> list[int]:
        """The newest pages, newest first: what the front page and the feed show."""
        count = self.count(now)
        return [n for n in range(count - 1, max(0, count - 21), -1) if self.trait(n) != "orphan"]

    def ancestors(self, number: int) -> list[int]:
        """From the front page down to the page's parent."""
        chain = []
        while number > 0:
            number = (number - 1) // FANOUT
            chain.append(number)
        return chain[::-1]

    def neighbours(self, number: int) -> list[int]:
        """Previous and next; a page born later is never next, or its birth would change the page before it."""
        return [n for n in (number - 1, number + 1) if 0 <= n < self._pages]

    def related(self, number: int) -> list[int]:
        """Pages linked from the text: popular ones by a power law, most of them on the same topic."""
        bits = mix(self.key, number)
        count = self.web.link_counts[bits >> 48 & 255]
        draws = struct.unpack(f"<{count}H", hashlib.shake_128(b"%d links %d" % (self.key, number)).digest(2 * count))
        popular, pages, topic = self.web.popular_pages, self._pages, number % HOST_TOPICS
        # Three of four draws move to the nearest page of the same topic (pages of a topic are HOST_TOPICS apart).
        targets = [popular[draw] // HOST_TOPICS * HOST_TOPICS + topic if draw & 3 else popular[draw] for draw in draws]
        return [target for target in dict.fromkeys(targets) if target < pages and target != number]

    def cross(self, number: int) -> list[tuple["Host", int]]:
        """Pages of other hosts linked from the text."""
        bits = mix(self.key, number ^ 0x5EED)
        found: dict[tuple[int, int], None] = {}
        for i in range(self.web.cross_counts[bits & 255]):
            draw = mix(bits, i)
            host = self.web.popular_hosts[draw & 65_535]
            if host != self.index:
                found[host, self.web.popular_pages[draw >> 16 & 65_535] // 4] = None
        hosts = [(self.web.host_at(host), page) for host, page in found]
        return [(host, page) for host, page in hosts if host.trait(page) != "orphan"]

    def trouble(self, number: int) -> str:
        """The path of the troublesome link of a page; '' when it has none."""
        bits = mix(self.key, number ^ 0xBAD)
        if bits % 1000 >= 300 * self.web.settings.trouble:
            return ""
        word = TROUBLE_SHARES[(bits >> 10) % len(TROUBLE_SHARES)]
        return f"/{word}/{(bits >> 20) % self._pages}"

    def menu(self) -> list[int]:
        """Pages in the navigation of every page."""
        return list(range(1, min(31, self._pages)))

    def most_read(self) -> list[int]:
        return list(dict.fromkeys(self.web.popular_pages[mix(self.key, i) & 65_535] for i in range(12)))

    def friends(self) -> list["Host"]:
        """Hosts linked from every footer: a tree over all hosts and a ring, so that one host leads to all."""
        i, hosts = self.index, self.web.settings.hosts
        numbers = dict.fromkeys(((i - 1) // 2, 2 * i + 1, 2 * i + 2, (i + 1) % hosts, 0))
        return [self.web.host_at(n) for n in numbers if 0 <= n < hosts and n != i]


def _share(shares: tuple[tuple[T, int], ...], draw: int) -> T:
    """Draw one of (thing, weight)."""
    draw %= sum(weight for _, weight in shares)
    for thing, weight in shares:
        if draw < weight:
            return thing
        draw -= weight
    raise AssertionError("a draw is below the sum of the weights")
