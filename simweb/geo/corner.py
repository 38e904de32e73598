"""Hosts, sections, pages, links and services of the geographic corner.

A host has sections; a section has list pages and items; an item of some sections is the record of a data set. A few
records link to services. What is on a page follows from (seed, host, section, number); only services and the records
that link to them are drawn once, at the start.
"""

import hashlib
import random
import re
from dataclasses import dataclass, field
from functools import lru_cache
from html import escape
from typing import NamedTuple

from simweb import media
from simweb.changes import mix
from simweb.geo import documents
from simweb.geo.documents import Description
from simweb.geo.words import WORDS, Words
from simweb.messages import Response
from simweb.text import prose

CORNER_DOMAIN = "geo.sim.test"
PAGES_PER_HOST = 200
SERVICES_PER_HOST = 2
LIST = 12  # items of a list page
DEAD_SHARE = 0.25  # links to services that no longer answer, for each one that does
MIRRORED = 0.3  # of the services are linked from a record of another host too

# kind of host → how many of 200, pages compared with others, sections with their shares; (records) hold data sets
KINDS: dict[str, tuple[int, float, tuple[tuple[str, float], ...]]] = {
    "sdi": (12, 2.0, (("news", 0.45), ("catalogue", 0.12), ("services", 0.02), ("standards", 0.2), ("training", 0.21))),
    "agency": (22, 1.4, (("news", 0.47), ("reports", 0.35), ("standards", 0.13), ("mapping", 0.05))),
    "council": (50, 1.0, (("news", 0.55), ("procedures", 0.25), ("council", 0.15), ("planning", 0.05))),
    "university": (10, 1.5, (("news", 0.4), ("courses", 0.5), ("research", 0.1))),
    "server": (8, 0.3, (("layers", 0.4), ("manual", 0.6))),
    "tourism": (12, 0.8, (("routes", 0.5), ("news", 0.5))),
    "company": (14, 0.7, (("solutions", 0.4), ("services", 0.3), ("news", 0.3))),
    "shop": (12, 1.0, (("products", 0.8), ("help", 0.2))),
    "newspaper": (40, 1.2, (("news", 0.5), ("sport", 0.3), ("culture", 0.2))),
    "blog": (20, 0.5, (("posts", 1.0),)),
}
RECORDS = ("catalogue", "mapping", "planning", "layers", "research")
# where services are linked from: kind of host, section → share of all services
PLACES = (
    ("sdi", "catalogue", 0.31), ("sdi", "services", 0.25), ("agency", "mapping", 0.2), ("council", "planning", 0.08),
    ("university", "research", 0.05), ("server", "layers", 0.07), ("blog", "posts", 0.02), ("tourism", "routes", 0.02),
)  # fmt: skip
SERVICE_SHARES = {
    "wms 1.3.0": 20, "wms 1.1.1": 10, "wfs 2.0.0": 9, "wfs 1.1.0": 5, "wmts 1.0.0": 8, "wcs 2.0.1": 5, "csw 2.0.2": 4,
    "wps 1.0.0": 3, "sos 1.0.0": 3, "tms 1.0.0": 2, "atom": 9, "owc 1.0": 1, "ogcapi-features 1.0": 6,
    "ogcapi-tiles 1.0": 1, "ogcapi-records 1.0": 2, "ogcapi-processes 1.0": 1, "stac 1.0.0": 3, "sensorthings 1.1": 2,
    "arcgis": 4, "3dtiles 1.0": 1, "tilejson 3.0.0": 1,
}  # fmt: skip
# how a link to a service looks → share. plain: anchor and address say it. titled: the anchor is the data set's title.
# endpoint: the address is the service's, without the request. opaque: "here", /r/8f3a. hidden: like any download.
QUALITIES = {"plain": 30, "titled": 25, "endpoint": 20, "opaque": 15, "hidden": 10}


class Link(NamedTuple):
    url: str
    anchor: str
    before: str = ""
    after: str = ""


@dataclass(frozen=True)
class Service:
    """What a focused crawl should find."""

    url: str
    kind: str  # a name of `documents`
    quality: str
    description: Description


@dataclass
class Section:
    kind: str
    path: str
    title: str
    items: int
    links: dict[int, list[Link]] = field(default_factory=dict)  # item → its links to services, dead ones too

    @property
    def lists(self) -> int:
        return max(1, -(-self.items // LIST))


class CornerHost:
    def __init__(self, corner: "Corner", index: int, kind: str, pages: int) -> None:
        self.index = index
        self.kind = kind
        self.key = int.from_bytes(hashlib.blake2b(f"corner {corner.seed} {index}".encode(), digest_size=8).digest())
        self.language = "es" if mix(self.key, 1) % 10 < 6 else "en"
        self.words: Words = WORDS[self.language]
        self.place = self.words.places[mix(self.key, 2) % len(self.words.places)]
        label = self.words.hosts[kind]
        self.name = f"{label[0]}-{index:03}.{CORNER_DOMAIN}"
        self.origin = f"http://{self.name}"
        self.title = f"{label[1]} {self.place}"
        self.sections: list[Section] = []
        for name, share in KINDS[kind][2]:
            path, title = self.words.sections[name]
            items = max(1, int((pages * share - 1) * LIST / (LIST + 1)))
            self.sections.append(Section(name, path, title, items))
        self.by_path = {section.path: section for section in self.sections}
        self.friends: list[CornerHost] = []

    def section(self, kind: str) -> Section:
        return next(section for section in self.sections if section.kind == kind)

    def item_path(self, section: Section, number: int) -> str:
        return f"/{section.path}/{_slug(self.item_title(section, number))}-{number}"

    def item_title(self, section: Section, number: int) -> str:
        bits = mix(self.key, number * 31 + len(section.path))
        if section.kind in RECORDS or (section.kind == "services" and self.kind == "sdi"):
            return self.dataset(section, number)
        if section.kind in self.words.titles:
            titles = self.words.titles[section.kind]
            subject = self.words.subjects[(bits >> 16) % len(self.words.subjects)]
            return titles[bits % len(titles)].format(place=self.place, subject=subject)
        words = self._prose(section, number)
        return words.heads[bits >> 8 & 255] + words.tails[bits & 255]

    def dataset(self, section: Section, number: int) -> str:
        """The title of the data set of a record."""
        bits = mix(self.key, number * 57 + len(section.path))
        theme = self.words.datasets[bits % len(self.words.datasets)]
        place = (
            self.words.places[(bits >> 20) % len(self.words.places)] if self.kind in ("sdi", "server") else self.place
        )
        detail = self.words.details[(bits >> 30) % len(self.words.details)]
        return f"{theme} {self.words.of} {place}{detail}"

    def _prose(self, section: Section, number: int):  # type: ignore[no-untyped-def]
        topics = {
            "sport": "sport",
            "culture": "culture",
            "routes": "travel",
            "courses": "science",
            "research": "science",
        }
        usual = ("politics", "economy", "culture", "science", "travel", "sport")
        topic = topics.get(section.kind, usual[mix(self.key, number) % 6])
        return prose(self.language, topic, self.key & 3)


class Corner:
    """All of it. `hosts`: how many; there are 200 pages and 2 services for each."""

    def __init__(self, seed: int = 1, hosts: int = 200) -> None:
        if hosts < 10:
            raise ValueError(f"a geographic corner of {hosts} hosts has no room for every kind; it needs at least 10")
        self.seed = seed
        self.hosts = self._make_hosts(hosts)
        self.by_name = {host.name: host for host in self.hosts}
        self.services: dict[str, Service] = {}  # by address
        self._dead: set[str] = set()
        self._random = random.Random(f"corner {seed} {hosts}")
        self._befriend()
        self._place_services(SERVICES_PER_HOST * hosts)

    @property
    def first_url(self) -> str:
        """Where a crawl of the corner begins: the front page of a portal, as in 2016."""
        return self.hosts[0].origin + "/"

    @property
    def pages(self) -> int:
        return sum(1 + section.items + section.lists for host in self.hosts for section in host.sections)

    def _make_hosts(self, hosts: int) -> list[CornerHost]:
        wanted = {kind: share * hosts / 200 for kind, (share, _, _) in KINDS.items()}
        counts = dict.fromkeys(KINDS, 1)
        while sum(counts.values()) < hosts:
            counts[max(KINDS, key=lambda kind: wanted[kind] - counts[kind])] += 1
        kinds = [kind for kind, count in counts.items() for _ in range(count)]
        whole = sum(KINDS[kind][1] for kind in kinds)
        sizes = [PAGES_PER_HOST * hosts * KINDS[kind][1] / whole for kind in kinds]
        return [CornerHost(self, i, kind, int(size)) for i, (kind, size) in enumerate(zip(kinds, sizes, strict=True))]

    def _befriend(self) -> None:
        """Links of interest on the front pages: a ring, so that all are reached, and hosts of kinds that know each
        other."""
        acquaintances = {
            "sdi": ("sdi", "agency", "agency", "server", "council"),
            "agency": ("sdi", "agency", "newspaper"),
            "council": ("council", "newspaper", "sdi", "tourism", "agency"),
            "university": ("university", "agency", "blog"),
            "server": ("sdi", "company"),
        }
        by_kind = {kind: [host for host in self.hosts if host.kind == kind] for kind in KINDS}
        order = self._random.sample(self.hosts, len(self.hosts))
        for place, host in enumerate(order):
            friends = [order[(place + 1) % len(order)]]
            for kind in acquaintances.get(host.kind, ("newspaper", "blog", "shop", "company", "council")):
                if self._random.random() < 0.7:
                    friends.append(self._random.choice(by_kind[kind]))
            if host.kind == "sdi":
                friends += self._random.sample(by_kind["agency"], min(5, len(by_kind["agency"])))
            host.friends = [friend for friend in dict.fromkeys(friends) if friend is not host]

    def _place_services(self, count: int) -> None:
        draw = self._random
        servers = [host for host in self.hosts if host.kind == "server"]
        kinds = draw.choices(list(SERVICE_SHARES), list(SERVICE_SHARES.values()), k=count)
        kinds[: len(SERVICE_SHARES)] = list(SERVICE_SHARES)[:count]  # each type at least once where there is room
        places = draw.choices(PLACES, [share for _, _, share in PLACES], k=count)
        qualities = draw.choices(list(QUALITIES), list(QUALITIES.values()), k=count)
        last: tuple[CornerHost, Section, int] | None = None
        for kind, (host_kind, section_kind, _), quality in zip(kinds, places, qualities, strict=True):
            hosts = [host for host in self.hosts if host.kind == host_kind]
            host = draw.choice(hosts)
            section = host.section(section_kind)
            number = draw.randrange(section.items)
            if last is not None and last[1].kind == section_kind and draw.random() < 0.4:
                host, section, number = last  # a record with several services
            last = host, section, number
            home = host if host.kind in ("sdi", "agency") and draw.random() < 0.5 else draw.choice(servers)
            service = self._service(host, section, number, home, kind, quality)
            self._link(host, section, number, service)
            if draw.random() < MIRRORED:
                other = draw.choice([one for one in self.hosts if one.kind == "sdi"])
                catalogue = other.section("catalogue")
                self._link(other, catalogue, draw.randrange(catalogue.items), service)
            if draw.random() < DEAD_SHARE:
                dead = self._service(host, section, number + 7919, home, kind, quality, dead=True)
                self._link(host, section, draw.randrange(section.items), dead)

    def _service(
        self,
        host: CornerHost,
        section: Section,
        number: int,
        home: CornerHost,
        kind: str,
        quality: str,
        dead: bool = False,
    ) -> Service:
        title = host.dataset(section, number)
        code = hashlib.blake2b(
            f"{host.name}{section.path}{number}{kind}{len(self.services)}{dead}".encode(), digest_size=4
        )
        path = _address(kind, quality, _slug(title), code.hexdigest(), self._random)
        url = home.origin + path
        if dead:
            self._dead.add(url)
        bits = mix(host.key, number)
        west, south = -9.0 + bits % 100 / 10, 36.0 + (bits >> 8) % 70 / 10
        names = host.words
        about = Description(
            title=f"{kind.split()[0].upper()} {title}",
            abstract=names.abstract.format(title=title, provider=host.title),
            provider=host.title,
            email=f"info@{host.name}",
            endpoint=url.partition("?")[0],
            layers=tuple((f"{_slug(title)}-{i}", f"{title} {i}") for i in range(1, 2 + bits % 4)),
            box=(round(west, 2), round(south, 2), round(west + 2.5, 2), round(south + 1.5, 2)),
        )
        service = Service(url, kind, quality, about)
        if not dead:
            self.services[url] = service
        return service

    def _link(self, host: CornerHost, section: Section, number: int, service: Service) -> None:
        words, draw = host.words, self._random
        short = service.kind.split()[0].partition("-")[0].upper()
        title = host.dataset(section, number)
        before, after = "", ""
        match service.quality:
            case "plain":
                anchor = draw.choice(words.plain).format(short=short, title=title)
            case "titled":
                anchor = title
            case "endpoint":
                anchor = draw.choice(words.endpoint).format(short=short, title=title)
            case "opaque":
                anchor = draw.choice(words.opaque)
                if draw.random() < 0.6:
                    before = draw.choice(words.lead_ins)
            case _:
                anchor = draw.choice(words.downloads)
        section.links.setdefault(number, []).append(Link(service.url, anchor, before, after))

    # -- answers

    def host(self, name: str) -> CornerHost | None:
        return self.by_name.get(name)

    def answer(self, host: CornerHost, target: str) -> Response:
        """What is at a path (with query) of a host."""
        url = host.origin + target
        if service := self.services.get(url):
            media_type, body = documents.document(service.kind, service.description)
            return Response(200, media_type, body)
        if "&request=GetMap&" in target:  # what somebody asks to see whether a service works
            return Response(200, "image/png", media.png(len(target)))
        if "&request=GetFeature&" in target:
            return Response(200, *documents.feature())
        if url in self._dead:
            if mix(host.key, len(url)) & 1:
                return Response(200, *documents.exception_report())
            return Response(404, "text/html; charset=utf-8", b"<!DOCTYPE html><title>404</title><h1>404</h1>\n")
        if target == "/robots.txt":
            return Response(200, "text/plain; charset=utf-8", b"User-agent: *\nDisallow: /privado/\n")
        if target == "/":
            return _html(self._front(host))
        if target == "/atom.xml":
            return Response(200, "application/atom+xml", self._feed(host).encode())
        if _DOWNLOAD.match(target):
            kind = "application/pdf" if target.endswith(".pdf") else "application/zip"
            return Response(200, kind, b"%PDF-1.4\n%%EOF\n" if target.endswith(".pdf") else b"PK\x05\x06" + bytes(18))
        if found := _LIST.match(target):
            section = host.by_path.get(found[1])
            page = int(found[2] or 1)
            if section is not None and page <= section.lists:
                return _html(self._list(host, section, page))
        if found := _ITEM.match(target):
            section = host.by_path.get(found[1])
            number = int(found[2])
            if section is not None and number < section.items and host.item_path(section, number) == target:
                return _html(self._item(host, section, number))
        return Response(404, "text/html; charset=utf-8", b"<!DOCTYPE html><title>404</title><h1>404</h1>\n")

    # -- pages

    def _front(self, host: CornerHost) -> str:
        body = [f"<p>{_text(host, host.sections[0], 10_000_019, 6)}</p>"]
        for section in host.sections:
            body.append(f'<h2><a href="/{section.path}/">{section.title}</a></h2><ul>')
            body += [_item_link(host, section, n) for n in range(min(3, section.items))]
            body.append("</ul>")
        body.append(f"<h2>{host.words.friends}</h2><ul>")
        body += [f'<li><a href="{friend.origin}/">{escape(friend.title)}</a></li>' for friend in host.friends]
        body.append("</ul>")
        return _page(host, host.title, "".join(body))

    def _list(self, host: CornerHost, section: Section, page: int) -> str:
        first = (page - 1) * LIST
        body = [
            "<ul>",
            *(_item_link(host, section, n) for n in range(first, min(first + LIST, section.items))),
            "</ul>",
        ]
        near = {1, 2, 3, page - 1, page + 1, page + 2, section.lists}
        pages = [number for number in sorted(near) if 1 <= number <= section.lists and number != page]
        body.append('<p class="pages">')
        body += [f'<a href="/{section.path}/?p={number}">{number}</a> ' for number in pages]
        body.append("</p>")
        return _page(host, f"{section.title} - {page}", "".join(body))

    def _item(self, host: CornerHost, section: Section, number: int) -> str:
        title = host.item_title(section, number)
        bits = mix(host.key, number * 101 + len(section.path))
        body: list[str] = []
        services = section.links.get(number, [])
        if section.kind in RECORDS or (section.kind == "services" and host.kind == "sdi"):
            body.append(f"<p>{host.words.record.format(title=escape(title), provider=escape(host.title))}</p>")
            body.append(f"<p>{_text(host, section, number, 3)}</p><h2>{host.words.resources}</h2><ul>")
            body += [_service_item(link) for link in services]
            for i in range(bits % 3 + (not services)):
                ending = ("zip", "pdf", "zip")[(bits >> 8 + i) % 3]
                anchor = host.words.downloads[(bits >> 12 + i) % len(host.words.downloads)]
                body.append(f'<li><a href="/descargas/{bits >> 20 + i & 0xFFFFF:x}.{ending}">{anchor}</a></li>')
            body.append("</ul>")
        else:
            body.append(f"<p>{_text(host, section, number, 12 + bits % 12)}</p>")
            for link in services:  # in running text
                body.append(
                    f"<p>{_text(host, section, number + 3, 2)} {_service_text(link)}. "
                    f"{_text(host, section, number + 5, 2)}</p>"
                )
        body.append(f"<h2>{host.words.related}</h2><ul>")
        for i in range(4):
            other = (number * 7 + i * 13 + 1 + bits % 29) % section.items
            if other != number:
                body.append(_item_link(host, section, other))
        body.append("</ul>")
        if bits % 6 == 0:
            friend = self.hosts[(bits >> 9) % len(self.hosts)] if bits % 12 or not host.friends else host.friends[0]
            place = friend.sections[(bits >> 5) % len(friend.sections)]
            there = (bits >> 16) % place.items
            body.append(
                f'<p><a href="{friend.origin}{friend.item_path(place, there)}">'
                f"{escape(friend.item_title(place, there))}</a></p>"
            )
        return _page(host, title, "".join(body), crumb=section)

    def _feed(self, host: CornerHost) -> str:
        section = host.sections[0]
        entries = "".join(
            f"<entry><title>{escape(host.item_title(section, n))}</title>"
            f"<id>{host.origin}{host.item_path(section, n)}</id>"
            f'<link href="{host.origin}{host.item_path(section, n)}"/><updated>2024-05-01T00:00:00Z</updated></entry>'
            for n in range(min(10, section.items))
        )
        return (
            f'<?xml version="1.0" encoding="UTF-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom"><title>{escape(host.title)}'
            f"</title><id>{host.origin}/</id><updated>2024-05-01T00:00:00Z</updated>{entries}</feed>\n"
        )


def _address(kind: str, quality: str, slug: str, code: str, draw: random.Random) -> str:
    """The path of a service, in the ways of the servers people run."""
    name = kind.split()[0]
    if quality == "opaque":
        return draw.choice((f"/r/{code}", f"/id/{int(code, 16) % 10**7}", f"/recurso?id={code}"))
    if quality == "hidden":
        return f"/descargas/{code}"
    fixed = {
        "atom": f"/descargas/{slug}/{code}.xml", "owc": f"/contexto/{slug}-{code}.atom",
        "stac": f"/stac/{slug}-{code}/catalog.json",
        "sensorthings": f"/FROST-Server-{code}/v1.1", "3dtiles": f"/3d/{slug}-{code}/tileset.json",
        "tilejson": f"/teselas/{slug}-{code}.json", "tms": f"/tms/{code}/1.0.0/",
        "arcgis": f"/arcgis/rest/services/{slug}_{code}/MapServer?f=json",
    }  # fmt: skip
    if name in fixed:
        return fixed[name]
    if name.startswith("ogcapi"):
        return draw.choice((f"/ogcapi/{slug}-{code}/", f"/api/{slug}-{code}?f=json", f"/{slug}-{code}/v1/"))
    if quality == "endpoint":
        return draw.choice(
            (
                f"/servicios/{slug}-{code}",
                f"/ows/{slug}-{code}",
                f"/cgi-bin/mapserv?map=/srv/{slug}-{code}.map",
                f"/inspire/{slug}-{code}",
            )
        )
    version = kind.split()[1]
    request = f"service={name.upper()}&request=GetCapabilities"
    return draw.choice(
        (
            f"/geoserver/{slug}-{code}/ows?{request}&version={version}",
            f"/cgi-bin/mapserv?map=/srv/{slug}-{code}.map&{request}",
            f"/{name}-inspire/{slug}-{code}?{request}",
            f"/arcgis/services/{slug}_{code}/MapServer/{name.upper()}Server?{request}",
            f"/deegree/services/{slug}-{code}?{request}",
        )
    )


_LIST = re.compile(r"/([a-z-]+)/(?:\?p=(\d{1,5}))?\Z")
_ITEM = re.compile(r"/([a-z-]+)/[a-z0-9-]+-(\d{1,6})\Z")
_DOWNLOAD = re.compile(r"/descargas/[0-9a-f]+\.(?:zip|pdf)\Z")


def _page(host: CornerHost, title: str, body: str, crumb: Section | None = None) -> str:
    words = host.words
    menu = "".join(f'<li><a href="/{section.path}/">{section.title}</a></li>' for section in host.sections)
    where = f' &gt; <a href="/{crumb.path}/">{crumb.title}</a>' if crumb is not None else ""
    feed = (
        '<link rel="alternate" type="application/atom+xml" href="/atom.xml">'
        if host.kind in ("newspaper", "blog", "sdi")
        else ""
    )
    foot = f'<a href="/atom.xml">Atom</a> · {words.footer}' if feed else words.footer
    return (
        f'<!DOCTYPE html>\n<html lang="{host.language}"><head><meta charset="utf-8"><title>{escape(title)} - '
        f'{escape(host.title)}</title>{feed}</head><body><header><a href="/">{escape(host.title)}</a></header>'
        f'<nav><ul>{menu}</ul></nav><main><p><a href="/">{words.home}</a>{where}</p>'
        f"<h1>{escape(title)}</h1>{body}</main>"
        f"<footer>{foot}</footer></body></html>\n"
    )


def _item_link(host: CornerHost, section: Section, number: int) -> str:
    return f'<li><a href="{host.item_path(section, number)}">{escape(host.item_title(section, number))}</a></li>'


def _service_item(link: Link) -> str:
    return f'<li>{escape(link.before)} <a href="{escape(link.url)}">{escape(link.anchor)}</a> {escape(link.after)}</li>'


def _service_text(link: Link) -> str:
    return f'{escape(link.before)} <a href="{escape(link.url)}">{escape(link.anchor)}</a> {escape(link.after)}'


def _text(host: CornerHost, section: Section, number: int, sentences: int) -> str:
    """Running text: of the host's trade where it has one, with ordinary sentences between."""
    choices = hashlib.shake_128(b"%d %s %d" % (host.key, section.path.encode(), number)).digest(2 * sentences + 4)
    trade = host.words.trades.get(host.kind, ())
    ordinary = host._prose(section, number).plain(choices[: 2 * sentences])
    if not trade or section.kind in ("sport", "culture", "courses", "council", "procedures"):
        return ordinary
    own = [
        trade[byte % len(trade)].format(place=host.place, subject=host.words.subjects[byte % len(host.words.subjects)])
        for byte in choices[-4:]
    ]
    return f"{' '.join(own[: 1 + choices[0] % 3])} {ordinary}"


def _html(page: str) -> Response:
    return Response(200, "text/html; charset=utf-8", page.encode())


@lru_cache(20_000)
def _slug(text: str) -> str:
    plain = text.lower().translate(_PLAIN)
    words = [word for word in re.split(r"[^a-z0-9]+", plain) if len(word) > 2]
    return "-".join(words[:4]) or "x"


_PLAIN = str.maketrans("áéíóúüñç", "aeiouunc")
