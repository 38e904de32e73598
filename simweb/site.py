"""Answers: from a request to the bytes of an ordinary host, a monster or the admin pages, by the virtual clock."""

import time
import zlib
from collections import OrderedDict
from functools import lru_cache

import brotli

from simweb import admin, render, zoo
from simweb.changes import mix
from simweb.clock import DAY, Clock, http_date
from simweb.geo import Corner
from simweb.messages import OpenConnection, Request, Response, Stream
from simweb.model import ADMIN_HOST, DOMAIN, Host, Resource, Settings, Web
from simweb.politeness import PolitenessLog

MAX_BUSY = 20_000  # busy pages remembered; an old one is forgotten and busy again
SMALLEST_COMPRESSED = 500
ADMIN_NAMES = frozenset({ADMIN_HOST, "127.0.0.1", "localhost"})


class Site:
    """The state of a running web: the model, the clock, the politeness log."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.web = Web(settings)
        self.corner = Corner(settings.seed, settings.corner) if settings.corner else None
        self.clock = Clock(self.web.start, settings.speed)
        self.log = PolitenessLog(time.monotonic, settings.log_urls)
        self.connections: set[OpenConnection] = set()
        self.port = 0
        self.tls_port: int | None = None
        self._busy: OrderedDict[str, None] = OrderedDict()

    def is_admin(self, name: str) -> bool:
        return name in ADMIN_NAMES

    def log_name(self, name: str) -> str:
        """The name a visitor is logged under; names that do not exist share one entry."""
        known = self.web.host(name) is not None or (self.settings.zoo and zoo.is_zoo(name))
        known = known or (self.corner is not None and self.corner.host(name) is not None)
        return name if known else "(unknown)"

    def forbids(self, name: str, target: str) -> bool:
        host = self.web.host(name)
        if host:
            return host.forbids(target)
        return self.settings.zoo and zoo.forbids(name, target)

    def delay(self, request: Request) -> float:
        """Seconds this answer takes; the same for the same address."""
        if not self.settings.latency:
            return 0.0
        return self.web.delays[zlib.crc32(f"{request.host}{request.target}".encode()) & 255]

    def answer(self, request: Request) -> Response | Stream:
        if self.is_admin(request.host):
            return admin.answer(self, request)
        if request.method not in ("GET", "HEAD"):
            return Response(405, "text/plain", b"only GET and HEAD\n", "Allow: GET, HEAD\r\n")
        host = self.web.host(request.host)
        if host:
            return self._ordinary(host, request)
        if self.corner is not None and (there := self.corner.host(request.host)) is not None:
            return self.corner.answer(there, request.target)
        if self.settings.zoo and zoo.is_zoo(request.host):
            return zoo.answer(self, request)
        plain = request.host.removeprefix("www.")
        if plain != request.host and self.web.host(plain):
            return Response(301, "text/plain", b"moved\n", f"Location: http://{plain}{request.target}\r\n")
        return Response(404, "text/plain", f"no host {request.host!r} in {DOMAIN}\n".encode())

    def _ordinary(self, host: Host, request: Request) -> Response:
        now = self.clock.now()
        resource = host.resource(request.target, now)
        match resource.kind:
            case "page":
                changed = host.changed(resource.number, now)
                extra, unchanged = _validators(host, f"{resource.number:x}", changed, request)
                if unchanged:
                    return Response(304, extra=extra)
                return _html(host, render.page(host, resource.number, changed, now), request, extra)
            case "print":
                return _html(host, render.print_page(host, resource.number), request)
            case "static":
                return _html(host, render.static_page(host, request.target), request)
            case "pdf":
                extra, unchanged = _validators(host, f"p{resource.number:x}", host.birth(resource.number), request)
                if unchanged:
                    return Response(304, extra=extra)
                return Response(200, "application/pdf", render.report(host, resource.number), extra)
            case "css" | "js" | "icon" | "image":
                often = host.restyled(now) if resource.kind == "css" else 0
                changed = int(self.web.start + often * self.settings.restyle * DAY)
                extra, unchanged = _validators(host, "f", changed, request)
                if unchanged:
                    return Response(304, extra=extra)
                media_type, body = render.asset(resource, request.target, often)
                return Response(200, media_type, body, f"Cache-Control: max-age=86400\r\n{extra}")
            case "robots":
                return Response(200, "text/plain; charset=utf-8", render.robots(host).encode())
            case "sitemap":
                return _sitemap(host, resource, now)
            case "feed":
                changed = host.birth(host.count(now) - 1)
                extra, unchanged = _validators(host, "feed", changed, request)
                if unchanged:
                    return Response(304, extra=extra)
                kind = "atom" if host.feed == "/atom.xml" else "rss"
                body = render.feed(host, now).encode()
                return _compressed(host, Response(200, f"application/{kind}+xml", body, extra), request)
        return self._trouble(host, resource, request)

    def _trouble(self, host: Host, resource: Resource, request: Request) -> Response:
        match resource.kind:
            case "redirect":
                # Both forms of Location are common: a path, and a whole URL.
                origin = host.origin if mix(host.key, resource.number) & 1 else ""
                body = render.notice(host, "Moved", resource.location)
                return _html(host, body, request, f"Location: {origin}{resource.location}\r\n", resource.status)
            case "refresh":
                extra = f"Refresh: 0; url={host.url(resource.number)}\r\n"
                return _html(host, render.refresh_page(host, resource.number), request, extra)
            case "busy":
                if self._is_busy(f"{host.name}{request.target}"):
                    body = render.notice(host, "Later")
                    return _html(host, body, request, "Retry-After: 1\r\n", resource.status)
                return _html(host, render.notice(host, host.title, host.path(resource.number)), request)
        return _html(host, render.notice(host, f"Error {resource.status}"), request, status=resource.status)

    def _is_busy(self, key: str) -> bool:
        """Busy the first time somebody asks, well from then on."""
        if key in self._busy:
            return False
        self._busy[key] = None
        if len(self._busy) > MAX_BUSY:
            self._busy.popitem(last=False)
        return True


def _validators(host: Host, name: str, changed: int, request: Request) -> tuple[str, bool]:
    """The ETag and Last-Modified lines of a representation, and whether the request already has it."""
    kind = host.validators
    if kind == "none":
        return "", False
    tag = f'"{name}-{changed:x}"'
    lines = ""
    if kind != "modified":
        weak = kind == "weak" or host.encoding  # compressed and plain bytes differ, so the tag is weak, as nginx does
        lines = f"ETag: {'W/' if weak else ''}{tag}\r\n"
    if kind in ("both", "modified"):
        lines += f"Last-Modified: {http_date(changed)}\r\n"
    sent_tags = request.headers.get("if-none-match")
    if sent_tags is not None:  # RFC 9110: If-Modified-Since is then ignored; tags are compared weakly
        tags = (part.strip().removeprefix("W/") for part in sent_tags.split(","))
        return lines, kind != "modified" and (sent_tags.strip() == "*" or tag in tags)
    since = request.headers.get("if-modified-since")
    if since is not None and kind in ("both", "modified"):
        moment = _read_date(since)
        return lines, moment is not None and changed <= moment
    return lines, False


@lru_cache(maxsize=4096)
def _read_date(text: str) -> float | None:
    from email.utils import parsedate_to_datetime

    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError):
        return None


def _html(host: Host, page: str, request: Request, extra: str = "", status: int = 200) -> Response:
    charset = host.charset
    body = charset.bom + page.encode(charset.codec, "xmlcharrefreplace")
    media_type = f"text/html; charset={charset.header}" if charset.header else "text/html"
    return _compressed(host, Response(status, media_type, body, extra, host.chunked), request)


def _compressed(host: Host, response: Response, request: Request) -> Response:
    """Compress when the host does that and the client can read it."""
    encoding = host.encoding
    if not encoding or len(response.body) < SMALLEST_COMPRESSED:
        return response
    response.extra += "Vary: Accept-Encoding\r\n"
    if not _accepts(request.headers.get("accept-encoding", ""), encoding):
        return response
    if encoding == "gzip":
        packer = zlib.compressobj(1, zlib.DEFLATED, 31)
        response.body = packer.compress(response.body) + packer.flush()
    else:
        response.body = brotli.compress(response.body, quality=0)
    response.extra += f"Content-Encoding: {encoding}\r\n"
    return response


@lru_cache(maxsize=256)
def _accepts(header: str, encoding: str) -> bool:
    for part in header.lower().split(","):
        name, _, quality = part.strip().partition(";")
        if name.strip() == encoding:
            return quality.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False


def _sitemap(host: Host, resource: Resource, now: float) -> Response:
    body = render.sitemap(host, resource.number, now)
    if host.sitemap == "text":
        return Response(200, "text/plain; charset=utf-8", body)
    if resource.number and resource.number % 2 == 0:
        return Response(200, "application/gzip", body)
    return Response(200, "application/xml", body)
