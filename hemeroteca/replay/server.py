"""The replay process: pywb's rewriting around our capture index and our WARC files, and nothing else of pywb.

    <python with pywb> -I server.py FD [FD …]        listening sockets, opened by the supervisor

    /TIMESTAMP/URL        the archived page in a frame under a banner
    /TIMESTAMPmp_/URL     the page itself, rewritten; other modifiers for its parts
    /_/NAME               the few scripts and styles of replay itself
    /_/enter              where members of a closed archive come in with a ticket (hemeroteca.replay.addresses)
    /~TICKET/TIMESTAMPmp_/URL   the same page in an archive for members: see `Ticket`

It runs strangers' scripts in the reader's browser. Therefore: only names that are replay's are answered, only GET and
HEAD (and POST, which asks for an archived answer and changes nothing), no service workers, only headers we know, a
policy that lets pages load nothing but the archive. There is no route to pywb's recording, live or proxy modes, its
index or its collections, and no loader that would go to the web.
"""

import hashlib
import hmac
import ipaddress
import json
import os
import re
import sys
import time

from gevent import monkey

monkey.patch_all()

import logging
import signal
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, quote, urljoin, urlsplit

import brotli
import gevent
import pywb
import requests
import tldextract
from gevent.local import local
from gevent.pool import Pool
from gevent.pywsgi import WSGIHandler, WSGIServer
from gevent.socket import socket
from pywb.apps.rewriterapp import RewriterApp
from pywb.apps.wbrequestresponse import WbResponse
from pywb.rewrite.templateview import JinjaEnv
from pywb.utils.loaders import BlockLoader, HttpLoader, load_yaml_config
from pywb.utils.wbexception import WbException
from pywb.warcserver.handlers import ResourceHandler
from pywb.warcserver.index.aggregator import SimpleAggregator
from pywb.warcserver.index.cdxobject import CDXObject
from pywb.warcserver.index.indexsource import RemoteIndexSource
from pywb.warcserver.inputrequest import DirectWSGIInputRequest
from pywb.warcserver.resource.responseloader import WARCPathLoader
from warcio.bufferedreaders import BufferedReader

log = logging.getLogger("replay")

HERE = Path(__file__).parent
ORIGIN = os.environ["REPLAY_ORIGIN"]
CONSOLE = os.environ["REPLAY_CONSOLE"]
INDEX = os.environ["REPLAY_INDEX"]
FILES = Path(os.environ["REPLAY_FILES"])
KEY = os.environ["REPLAY_KEY"]
OPEN = bool(os.environ["REPLAY_OPEN"])

NAME = urlsplit(ORIGIN).netloc
COOKIE = "hemeroteca_replay"
PASS_SECONDS = 12 * 3600
PAGE_SECONDS = 3600  # of the ticket in a page's own addresses; a reload gives a new one
CONNECTIONS = 200
CONNECTIONS_EACH = 40  # of one address; a proxy on this machine speaks for all
READ_SECONDS = 30.0  # for a whole request, however it drips
MAX_ADDRESS = 65_536
MAX_SENT = 16 << 10
MAX_MOMENTS = 5000  # versions on the timeline

# Whatever an archived page tries, it can load only from here. Top-level navigation is the one thing a policy cannot
# stop; the console answers a navigation from elsewhere without its cookies, or with pages that change nothing.
PAGE_POLICY = (
    "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; form-action 'self'; base-uri 'self'; "
    "frame-ancestors 'self'"
)
# In an archive for members a hostile page must not read other captures and carry them off. Each page gets an origin of
# its own that nothing shares: it reads what its site may read (`Ticket.may_read`), can lead neither the window nor a
# new one anywhere, and the frame around it keeps it here.
MEMBERS_POLICY = (
    f"sandbox allow-scripts allow-forms allow-modals; default-src {ORIGIN} 'unsafe-inline' 'unsafe-eval' data: blob:; "
    f"form-action {ORIGIN}; base-uri {ORIGIN}; webrtc 'block'"
)
# For whoever does not say what a request is for (programs; browsers by http from elsewhere): without scripts.
STILL_POLICY = f"{PAGE_POLICY}; sandbox allow-same-origin"
FRAME_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; frame-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; "
    "frame-ancestors 'none'"
)
PROTECTION = [
    ("X-Robots-Tag", "noindex, nofollow, noarchive"),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Origin-Agent-Cluster", "?1"),
    *([("Strict-Transport-Security", "max-age=31536000")] if ORIGIN.startswith("https:") else []),
    (
        "Permissions-Policy",
        "camera=(), microphone=(), geolocation=(), usb=(), serial=(), hid=(), payment=(), midi=(), "
        "clipboard-read=(), display-capture=(), publickey-credentials-get=(), local-fonts=(), storage-access=()",
    ),
]
# Of an archived answer only these pass; anything else could set cookies, send reports to the live web, ask for a
# password or take powers. pywb keeps the others readable under X-Archive-Orig-.
KEPT_HEADERS = frozenset(
    [
        "content-type", "content-length", "content-encoding", "content-range", "accept-ranges", "content-disposition",
        "content-language", "content-location", "location", "memento-datetime", "vary",
    ]
)  # fmt: skip
GIVEN = "x-archive-orig-access-control-allow-origin"
SHARED = ("Cross-Origin-Resource-Policy", "cross-origin")  # instead of the usual: `answer` leaves that out
ONLY_AT_THE_CONSOLE = (
    f"In an archive for members the bytes as they were received come from the console: open {CONSOLE}, find the "
    "capture and download it."
)
OWN_FILES = {"frame.js": "text/javascript", "message.js": "text/javascript", "frame.css": "text/css"}
PYWB_FILES = ("wombat.js", "wombatWorkers.js", "wb_frame.js", "autoFetchWorker.js")
TICKET = re.compile(r"/~(\d{1,12})\.([a-z0-9.:_\[\]-]{1,260})\.([0-9a-f]{64})(?:~([a-z0-9-]{1,60}))?(/.*)", re.S)
CAPTURE = re.compile(r"/(?:(\d{0,14})([a-z]{2,4}_)?/)?(?=https?:)", re.I)

SUFFIXES = tldextract.TLDExtract(cache_dir=None, suffix_list_urls=(), include_psl_private_domains=True)

# Of the request under way: the published collection its reader may see; empty: a member, who may see everything.
ASKED = local()

Start = Callable[[str, list[tuple[str, str]]], Any]
Environ = dict[str, Any]

TEXTS = {
    "en": {
        "captured": "Archived", "not_captured": "Not archived", "go": "Show", "address": "Address",
        "timeline": "Versions over time",
        "earlier": "Earlier version", "later": "Later version", "versions": "All versions",
        "about": "About this capture", "bar": "About this archived page", "page": "Archived page",
        "missing": "This address is not in the archive",
        "missing_more": "No capture of it was ever made, or it was cut away.",
        "failed": "This capture cannot be shown", "back": "Captures of this address", "closed": "Members only",
        "closed_more": "This archive is for members. Sign in at the console and follow a link from there.",
        "sign_in": "To the console",
    },
    "es": {
        "captured": "Archivada", "not_captured": "No archivada", "go": "Mostrar", "address": "Dirección",
        "timeline": "Versiones en el tiempo", "earlier": "Versión anterior", "later": "Versión siguiente",
        "versions": "Todas las versiones", "about": "Sobre esta captura", "bar": "Sobre esta página archivada",
        "page": "Página archivada", "missing": "Esta dirección no está en el archivo",
        "missing_more": "Nunca se capturó, o la captura se retiró.", "failed": "Esta captura no se puede mostrar",
        "back": "Capturas de esta dirección", "closed": "Solo para miembros",
        "closed_more": "Este archivo es para miembros. Inicia sesión en la consola y sigue un enlace desde allí.",
        "sign_in": "A la consola",
    },
}  # fmt: skip


class Replay:
    """The WSGI application."""

    def __init__(self) -> None:
        self.pages = Pages()
        static = Path(pywb.__file__).parent / "static"
        self.files = {name: (kind, (HERE / "static" / name).read_bytes()) for name, kind in OWN_FILES.items()}
        self.files |= {name: ("text/javascript", (static / name).read_bytes()) for name in PYWB_FILES}
        kind, wombat = self.files["wombat.js"]
        self.files["wombat.js"] = kind, (HERE / "static" / "sandboxed.js").read_bytes() + wombat

    def __call__(self, environ: Environ, start: Start) -> Iterable[bytes]:
        body = self.answer(environ, start)
        if environ["REQUEST_METHOD"] != "HEAD":
            return body
        # Behind a proxy that keeps connections, the body would be taken for the answer to the next reader.
        getattr(body, "close", lambda: None)()
        return []

    def answer(self, environ: Environ, start: Start) -> Iterable[bytes]:
        ASKED.publication = ""
        refusal = refused(environ)
        if refusal:
            return plain(start, *refusal)
        path = environ["REQUEST_URI"].partition("?")[0]
        if path == "/robots.txt":
            return plain(start, "200 OK", "User-agent: *\nDisallow: /")
        if path == "/":
            return moved(start, CONSOLE + "/")
        if path.startswith("/timemap/"):
            return moved(start, CONSOLE + environ["REQUEST_URI"])
        if path.startswith("/_/"):
            return self.own(path[3:], environ, start)
        if not OPEN:
            ticket = Ticket.of(environ)
            if ticket is not None:
                ASKED.publication = ticket.publication
                return self.for_members(ticket, environ, start)
            passed = pass_of(environ)
            if passed is None:
                return self.closed(environ, start)
            ASKED.publication = passed
            if raw(environ["REQUEST_URI"]):
                return plain(start, "403 Forbidden", ONLY_AT_THE_CONSOLE)
            if place := framed(environ):
                return moved(start, place)
        every = re.match(r"/\d*\*/(https?:.+)", environ["REQUEST_URI"], re.I)
        if every:
            return moved(start, versions_of(every[1]))
        asked = CAPTURE.match(environ["REQUEST_URI"])
        if not asked:
            place = escaped(environ)
            return moved(start, place) if place else plain(start, "404 Not Found", "Write /TIMESTAMP/URL.")
        if asked[2] is None and environ["REQUEST_METHOD"] != "POST":  # the frame: only around what there is
            url = environ["REQUEST_URI"][asked.end() :]
            moment = self.pages.moment_of(url, asked[1] or "", environ)
            if not moment:
                return self.pages.missing(environ, start, url)
            if moment != asked[1]:
                return moved(start, f"{ORIGIN}/{moment}/{url}")
        return self.pages.show(environ, start)

    def for_members(self, ticket: "Ticket", environ: Environ, start: Start) -> Iterable[bytes]:
        """A page, or a part of one, in an archive for members: every address in it carries its ticket."""
        if environ["REQUEST_METHOD"] == "OPTIONS":
            return answer(start, "204 No Content", ticket.preflight(environ), b"", FRAME_POLICY)
        if not CAPTURE.match(ticket.path):
            place = escaped(environ)
            shared = ticket.headers(allowed=True)
            return moved(start, place, shared) if place else plain(start, "404 Not Found", "Write /TIMESTAMP/URL.")
        if raw(ticket.path):
            return plain(start, "403 Forbidden", ONLY_AT_THE_CONSOLE)
        if environ.get("HTTP_SEC_FETCH_DEST") == "document":  # by itself in a window, nothing would keep it here
            return moved(start, ORIGIN + re.sub(r"^/(\d*)[a-z]+_/", r"/\1/", ticket.path))
        if environ.get("HTTP_SEC_FETCH_MODE") == "navigate" and ticket.site != site_of(ticket.path):
            return moved(start, Ticket.new(ticket.path, environ).address)
        environ["REQUEST_URI"] = ticket.path
        return self.pages.show(environ, start, ticket)

    def closed(self, environ: Environ, start: Start) -> Iterable[bytes]:
        texts = texts_for(environ)
        text = self.pages.message(texts["closed"], texts["closed_more"], CONSOLE + "/", texts["sign_in"])
        return answer(start, "401 Unauthorized", [("Content-Type", "text/html; charset=utf-8")], text, FRAME_POLICY)

    def own(self, name: str, environ: Environ, start: Start) -> Iterable[bytes]:
        if name == "enter":
            return enter(environ, start)
        if name == "captures":
            passed = "" if OPEN else pass_of(environ)
            if passed is None:
                return plain(start, "401 Unauthorized", "This archive is for members.")
            ASKED.publication = passed
            url = parse_qs(environ.get("QUERY_STRING", "")).get("url", [""])[0]
            headers = [("Content-Type", "application/json"), ("Cache-Control", "no-cache")]
            return answer(start, "200 OK", headers, json.dumps(self.pages.moments_of(url)).encode(), FRAME_POLICY)
        if name not in self.files:
            return plain(start, "404 Not Found", "There is no such file.")
        kind, data = self.files[name]
        headers = [("Content-Type", f"{kind}; charset=utf-8"), ("Cache-Control", "max-age=3600")]
        return answer(start, "200 OK", [*headers, SHARED], data, PAGE_POLICY)


class Pages(RewriterApp):  # type: ignore[misc]
    """pywb's rewriter, asking our index directly instead of a second server on a port of this machine."""

    def __init__(self) -> None:
        templates = JinjaEnv(paths=[str(HERE / "templates")], extensions=["jinja2.ext.i18n"])
        templates.jinja_env.install_null_translations()
        config = load_yaml_config("pkg://pywb/default_config.yaml")
        config |= {"frame_insert_html": "frame.html", "static_prefix": "_", "csp-header": ""}
        super().__init__(framed_replay=True, jinja_env=templates, config=config)
        self.frame_insert_view.banner_view = self.head_insert_view.banner_view = None  # the frame has its own
        self.index = CdxIndex()
        source = SimpleAggregator({"hemeroteca": self.index})
        self.archive = ResourceHandler(source, [WARCPathLoader([place_of], source)], rules_file="")

    def show(self, environ: Environ, start: Start, ticket: "Ticket | None" = None) -> Iterable[bytes]:
        environ["HTTP_HOST"] = NAME
        environ["wsgi.url_scheme"] = urlsplit(ORIGIN).scheme
        environ["SCRIPT_NAME"] = f"/~{ticket.text}" if ticket else ""
        kind = {"type": "replay", "coll": "", "texts": texts_for(environ), "pages": contents_of(environ)}
        for name in [name for name in environ if name.startswith("HTTP_X_") and not name.endswith("_REQUESTED_WITH")]:
            del environ[name]
        environ.pop("HTTP_COOKIE", None)
        environ.pop("HTTP_AUTHORIZATION", None)
        asked = environ["REQUEST_URI"][1:]
        self.prepare_env(environ)
        environ["pywb.static_prefix"] = f"{ORIGIN}/_"
        policy = PAGE_POLICY
        try:
            response = self.render_content(asked, kind, environ)
        except WbException as error:
            response = self.handle_error(environ, error)
        except Exception:
            log.exception("%s cannot be shown", asked[:500])
            response = self._error_response(environ, WbException("internal error"))
        if not re.match(r"/\d*[a-z]+_/", "/" + asked):
            policy = FRAME_POLICY
        elif not OPEN:
            policy = MEMBERS_POLICY if ticket and says_what_for(environ) else STILL_POLICY
        status, headers = response.status_headers.statusline, list(kept(response.status_headers.headers))
        if ticket:
            headers += ticket.headers(allowed=ticket.may_read(asked, headers))
        return answer(start, status, headers, response.body, policy)

    def moment_of(self, url: str, asked: str, environ: Environ) -> str:
        """The timestamp of the capture that answers for a moment; empty when nothing is archived."""
        moment = asked or time.strftime("%Y%m%d%H%M%S", time.gmtime())
        try:
            found = self.index.ask(url, f"closest={moment}&limit=1")
        except requests.RequestException:
            return asked  # the page itself will say what is wrong
        if found:
            return found[0]
        # pywb's rules know addresses that differ and mean the same
        params = {"url": url, "closest": moment, "matchType": "exact", "mode": "resource"}
        headers, parts, _ = self.archive({**params, "_input_req": DirectWSGIInputRequest(environ)})
        if parts is None:
            return ""
        getattr(parts, "close", lambda: None)()
        return CDXObject(headers["Warcserver-Cdx"].encode()).get("timestamp", "")

    def moments_of(self, url: str) -> list[str]:
        """When the versions of an address were captured: captures that differ from the one before, oldest first."""
        if not re.match(r"https?://", url, re.I) or len(url) > MAX_ADDRESS:
            return []
        try:
            return self.index.ask(url, f"collapse=digest&limit=-{MAX_MOMENTS}")
        except requests.RequestException:
            return []

    def missing(self, environ: Environ, start: Start, url: str) -> Iterable[bytes]:
        text = self._message(environ, url, "missing", "404 Not Found")
        return answer(start, "404 Not Found", list(kept(text.status_headers.headers)), text.body, FRAME_POLICY)

    def message(self, heading: str, text: str, link: str, label: str, url: str = "") -> bytes:
        template = self.jinja_env.jinja_env.get_template("message.html")
        return template.render(heading=heading, text=text, link=link, label=label, url=url).encode()

    # What pywb asks of itself

    def _do_req(self, inputreq: Any, wb_url: Any, kwargs: Any, skip_record: bool) -> "FoundRecord":
        moment = time.strftime("%Y%m%d%H%M%S", time.gmtime()) if wb_url.is_latest_replay() else wb_url.timestamp
        params = {"url": wb_url.url, "closest": moment, "matchType": "exact", "mode": "resource"}
        headers, parts, errors = self.archive({**params, "_input_req": DirectWSGIInputRequest(inputreq.env)})
        if parts is None:
            reason = errors.get("last_exc") if errors else None
            if reason is not None and not str(reason.status()).startswith("404"):
                log.warning("%s cannot be read: %s", wb_url.url[:500], str(reason)[:500])
            return FoundRecord(404, {}, iter(()))
        return FoundRecord(200, headers, iter(parts))

    def get_top_frame_params(self, wb_url: Any, kwargs: Any) -> dict[str, Any]:
        return {
            "texts": kwargs["texts"],
            "language": "es" if kwargs["texts"] is TEXTS["es"] else "en",
            "console": CONSOLE,
            "versions": versions_of(wb_url.get_url()),
            "publication": f"/c/{ASKED.publication}" if ASKED.publication else "",
            "origin": ORIGIN,
            "pages": kwargs["pages"],
        }

    def get_top_url(self, full_prefix: str, wb_url: Any, cdx: Any, kwargs: Any) -> str:
        return str(super().get_top_url(f"{ORIGIN}/", wb_url, cdx, kwargs))  # the frame is asked for with the pass

    def _not_found_response(self, environ: Environ, url: str) -> WbResponse:
        return self._message(environ, url, "missing", "404 Not Found")

    def _error_response(self, environ: Environ, wbe: WbException) -> WbResponse:
        return self._message(environ, wbe.url or "", "failed", wbe.status())

    def _message(self, environ: Environ, url: str, what: str, status: str) -> WbResponse:
        texts = texts_for(environ)
        text = self.message(texts[what], texts.get(f"{what}_more", ""), versions_of(url), texts["back"], url)
        return WbResponse.text_response(text.decode(), status=status, content_type="text/html; charset=utf-8")


class Ticket(NamedTuple):
    """What a page in an archive for members carries in all its addresses, since an origin of its own has no cookies.

    It names the page's site, is good for an hour and for one address of the network: carried off, it opens nothing.
    """

    until: int
    site: str
    signature: str
    path: str  # what is asked for
    publication: str = ""  # the published collection it is for; empty: for members

    @classmethod
    def new(cls, path: str, environ: Environ) -> "Ticket":
        until, site, publication = int(time.time()) + PAGE_SECONDS, site_of(path), ASKED.publication
        return cls(until, site, cls._signed(until, site, environ, publication), path, publication)

    @classmethod
    def of(cls, environ: Environ) -> "Ticket | None":
        """The valid one in an address, or in that of the page that asks by an address without."""
        uri, origin = environ["REQUEST_URI"], f"{ORIGIN}/~"
        if uri[:2] != "/~" and environ.get("HTTP_REFERER", "").startswith(origin):
            uri = f"/~{environ['HTTP_REFERER'][len(origin) :].partition('/')[0]}{uri}"
        found = TICKET.fullmatch(uri)
        if not found or int(found[1]) < time.time():
            return None
        ticket = cls(int(found[1]), found[2], found[3], found[5], found[4] or "")
        expected = cls._signed(ticket.until, ticket.site, environ, ticket.publication)
        right = hmac.compare_digest(ticket.signature, expected)
        return ticket if right else None

    @property
    def text(self) -> str:
        return f"{self.until}.{self.site}.{self.signature}" + (f"~{self.publication}" if self.publication else "")

    @property
    def address(self) -> str:
        return f"{ORIGIN}/~{self.text}{self.path}"

    def may_read(self, asked: str, headers: list[tuple[str, str]]) -> bool:
        """What a page may read is what it could on the web: its own site, and what others gave to all or to it."""
        if self.site == site_of("/" + asked):
            return True
        given = [value.strip() for name, value in headers if name.lower() == GIVEN]
        return any(value == "*" or site_of(f"/{value}") == self.site for value in given)

    def headers(self, allowed: bool) -> list[tuple[str, str]]:
        """`null` is how an origin of its own calls itself."""
        shared = [SHARED, ("Referrer-Policy", "unsafe-url")]
        if not allowed:
            return shared
        return [*shared, ("Access-Control-Allow-Origin", "null"), ("Access-Control-Allow-Credentials", "true")]

    def preflight(self, environ: Environ) -> list[tuple[str, str]]:
        """Whether the answer may be read is said with it; what is asked for changes nothing."""
        names = re.sub(r"[^\w, -]", "", environ.get("HTTP_ACCESS_CONTROL_REQUEST_HEADERS", ""))[:1000]
        leave = [("Access-Control-Allow-Methods", "GET, HEAD, POST"), ("Access-Control-Allow-Headers", names)]
        return [*self.headers(allowed=True), *leave]

    @staticmethod
    def _signed(until: int, site: str, environ: Environ, publication: str) -> str:
        told = json.dumps(["page", until, site, asker(environ), publication])  # no value can be read as two
        return hmac.new(KEY.encode(), told.encode(), hashlib.sha256).hexdigest()


class CdxIndex(RemoteIndexSource):  # type: ignore[misc]
    """Our CDX server. pywb's rules for addresses that nearly match ask for all that begin alike, without a moment."""

    def __init__(self) -> None:
        super().__init__(f"{INDEX}/cdx?url={{url}}", "")
        self.sesh.headers["Authorization"] = f"Bearer {KEY}"
        self.sesh.trust_env = False  # a proxy of the person's is not for us

    def _get_api_url(self, params: dict[str, Any]) -> str:
        """`alt_url` is the address with what was sent to it, under which answers to POST are filed."""
        url = f"{INDEX}/cdx?url={quote(params.get('alt_url') or params['url'], safe='')}{only_published()}"
        if params.get("matchType", "exact") != "exact":
            return f"{url}&matchType={params['matchType']}&limit=100"
        url += "&matchType=exact"
        return f"{url}&closest={quote(params['closest'])}&limit=100" if params.get("closest") else f"{url}&limit=1000"

    def ask(self, url: str, more: str) -> list[str]:
        """Timestamps of captures of an address."""
        place = (
            f"{INDEX}/cdx?url={quote(url, safe='')}&matchType=exact&output=json&fl=timestamp&{more}{only_published()}"
        )
        answered = self.sesh.get(place, timeout=READ_SECONDS)
        answered.raise_for_status()
        return [str(json.loads(line)["timestamp"]) for line in answered.text.splitlines() if line]

    def _set_load_url(self, cdx: Any, params: Any) -> None:
        pass  # the web is never asked


class FoundRecord:
    """What pywb expects of an answer by HTTP."""

    def __init__(self, status: int, headers: dict[str, str], parts: Iterator[bytes]) -> None:
        self.status_code = status
        self.headers = headers
        self.raw = PartsFile(parts)


class PartsFile:
    """An iterator of bytes, read as a file."""

    def __init__(self, parts: Iterator[bytes]) -> None:
        self._parts = parts
        self._rest = b""

    def read(self, size: int = -1) -> bytes:
        while size < 0 or not self._rest:
            part = next(self._parts, None)
            if part is None:
                break
            self._rest += part
        data, self._rest = (self._rest, b"") if size < 0 else (self._rest[:size], self._rest[size:])
        return data

    def close(self) -> None:
        close = getattr(self._parts, "close", None)
        if close:
            close()


class Members(HttpLoader):  # type: ignore[misc]
    """Files that are not in the folder, from our own server, which knows where they are."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.session: Any = requests.Session()
        self.session.headers["Authorization"] = f"Bearer {KEY}"
        self.session.trust_env = False


class Brotli:
    """Google's decoder with the face that warcio knows from another package."""

    def __init__(self) -> None:
        self._stream = brotli.Decompressor()
        self.unused_data = None

    def decompress(self, data: bytes) -> bytes:
        return bytes(self._stream.process(data))

    def flush(self) -> bytes:
        return b""


class ReplayHandler(WSGIHandler):  # type: ignore[misc]
    """Addresses as they were sent, since archived ones must not be decoded and encoded again; no line per request."""

    MAX_REQUEST_LINE = MAX_ADDRESS

    def handle(self) -> None:
        with suppress(gevent.Timeout):  # the connection is closed already
            super().handle()

    _limit: Any = None

    def read_requestline(self) -> str:
        if self._limit is not None:
            self._limit.cancel()
        self._limit = gevent.Timeout.start_new(READ_SECONDS)
        return super().read_requestline()

    def handle_one_response(self) -> None:
        self._limit.cancel()
        super().handle_one_response()

    def get_environ(self) -> Environ:
        environ: Environ = super().get_environ()
        environ["REQUEST_URI"] = self.path
        return environ

    def log_request(self) -> None:
        pass


class Server(WSGIServer):  # type: ignore[misc]
    """Nobody takes all connections: a few for each address, or /64 of IPv6."""

    held: Counter[str] = Counter()

    def handle(self, sock: Any, address: Any) -> None:
        who = network(address[0])
        if self.held[who] >= CONNECTIONS_EACH and not who.startswith("127."):
            sock.close()
            return
        self.held[who] += 1
        try:
            super().handle(sock, address)
        finally:
            self.held[who] -= 1
            self.held += Counter()  # without those that hold none


def refused(environ: Environ) -> tuple[str, str] | None:
    """Why a request is not for us, if so."""
    host = environ.get("HTTP_HOST", "").lower().removesuffix(".")
    if host != NAME and f"{host}:{urlsplit(ORIGIN).port or ''}" != NAME:
        # Under the console's name a replayed page would share its cookies.
        return "421 Misdirected Request", f"Archived pages are shown at {ORIGIN} and under no other name."
    if environ["REQUEST_METHOD"] == "POST":  # a page asks for what it once got in this way
        length = environ.get("CONTENT_LENGTH") or "0"
        if not re.fullmatch(r"[0-9]{1,18}", length) or int(length) > MAX_SENT:
            return "413 Content Too Large", f"No answer to more than {MAX_SENT} bytes is kept."
    elif environ["REQUEST_METHOD"] not in ("GET", "HEAD") and not asks_leave(environ):
        return "405 Method Not Allowed", "An archive can be read; nothing can be changed in it."
    if "HTTP_SERVICE_WORKER" in environ or environ.get("HTTP_SEC_FETCH_DEST") == "serviceworker":
        return "403 Forbidden", "Archived pages get no service workers: they would stay and answer for other pages."
    if not environ["REQUEST_URI"].startswith("/"):
        return "400 Bad Request", "This is not a proxy."
    return None


def asks_leave(environ: Environ) -> bool:
    """A page with an origin of its own asks before it sends; only with its ticket."""
    return environ["REQUEST_METHOD"] == "OPTIONS" and not OPEN and environ["REQUEST_URI"].startswith("/~")


def enter(environ: Environ, start: Start) -> Iterable[bytes]:
    """A ticket becomes a pass: a cookie of this name, which no script can read."""
    asked = parse_qs(environ.get("QUERY_STRING", ""))
    to = asked.get("to", ["/"])[0]
    if not CAPTURE.match(to) or "\r" in to or "\n" in to:
        to = "/"
    place = ORIGIN + quote(to, safe="/:?#[]@!$&'()*+,;=%~")
    name = asked.get("publication", [""])[0]
    if not re.fullmatch(r"[a-z0-9-]{0,60}", name):
        name = ""
    if OPEN or pass_of(environ) in ("", name):
        return moved(start, place)
    kind = f" {name}" if name else ""
    if not valid(f"ticket{kind}", asked.get("ticket", [""])[0]):
        return plain(start, "403 Forbidden", f"This link is too old. Go back to {CONSOLE} and follow it again.")
    value = signed(f"pass{kind}", int(time.time()) + PASS_SECONDS) + (f"~{name}" if name else "")
    cookie = f"{COOKIE}={value}; Path=/; HttpOnly; SameSite=Lax"
    return moved(start, place, [("Set-Cookie", cookie + ("; Secure" if ORIGIN.startswith("https:") else ""))])


def pass_of(environ: Environ) -> str | None:
    """What a reader may see by the pass in their cookie: a published collection, everything (empty), nothing (None)."""
    pairs = (pair.strip().partition("=") for pair in environ.get("HTTP_COOKIE", "").split(";"))
    for name, _, value in pairs:
        text, _, publication = value.partition("~")
        if name == COOKIE and valid(f"pass {publication}" if publication else "pass", text):
            return str(publication)
    return None


def only_published() -> str:
    """For questions to our index: only what belongs to the collection of the reader's pass."""
    return f"&publication={ASKED.publication}" if ASKED.publication else ""


def signed(kind: str, until: int) -> str:
    return f"{until}.{hmac.new(KEY.encode(), f'{kind} {until}'.encode(), hashlib.sha256).hexdigest()}"


def valid(kind: str, text: str) -> bool:
    until = text.partition(".")[0]
    if not re.fullmatch(r"\d{1,12}", until) or int(until) < time.time():
        return False
    return hmac.compare_digest(text.encode(), signed(kind, int(until)).encode())


def escaped(environ: Environ) -> str:
    """Where an address leads that a script made without our prefix: judged by the page that asked."""
    referer = environ.get("HTTP_REFERER", "")
    if not referer.startswith(ORIGIN + "/"):
        return ""
    found = re.match(r"(/~[^/]+)?/(\d*)([a-z]{2,4}_)?/(https?:/.*)", referer[len(ORIGIN) :], re.I)
    if not found:
        return ""
    return f"{ORIGIN}{found[1] or ''}/{found[2]}{found[3] or ''}/{urljoin(found[4], environ['REQUEST_URI'])}"


def contents_of(environ: Environ) -> str:
    """What the addresses of pages begin with that the frame shows."""
    return (
        Ticket.new(environ["REQUEST_URI"], environ).address.removesuffix(environ["REQUEST_URI"]) + "/"
        if not OPEN and says_what_for(environ)
        else f"{ORIGIN}/"
    )


def framed(environ: Environ) -> str:
    """Where a browser of a member must go that opens a page without its frame; empty for all else."""
    uri = environ["REQUEST_URI"]
    if environ.get("HTTP_SEC_FETCH_MODE") != "navigate" or not re.match(r"/\d*[a-z]{2,4}_/https?:", uri, re.I):
        return ""
    if environ.get("HTTP_SEC_FETCH_DEST") == "document":
        return ORIGIN + re.sub(r"^/(\d*)[a-z]+_/", r"/\1/", uri)
    return Ticket.new(uri, environ).address


def raw(path: str) -> bool:
    """Bytes as they were received, not rewritten."""
    return bool(re.match(r"/\d*id_/", path, re.I))


def says_what_for(environ: Environ) -> bool:
    return "HTTP_SEC_FETCH_MODE" in environ and "HTTP_SEC_FETCH_DEST" in environ


def site_of(path: str) -> str:
    """`/2025mp_/https://www.example.org/x` -> `example.org`; an address has no site but itself."""
    host = urlsplit(path[path.lower().find("http") :].replace(":///", "://")).hostname or "-"
    found = re.sub(r"[^a-z0-9.:_\[\]-]", "_", (SUFFIXES(host).top_domain_under_public_suffix or host).lower())
    return found[:260]


def asker(environ: Environ) -> str:
    """Who asks, by address (/64 of IPv6): of a proxy on this machine, whom it speaks for."""
    address = environ.get("REMOTE_ADDR", "")
    if network(address).startswith("127.") or address == "::1":
        address = environ.get("HTTP_X_FORWARDED_FOR", "").rpartition(",")[2].strip() or "here"
    return network(address)


def network(address: str) -> str:
    """One who commands an IPv6 address commands the /64 around it, however it is written."""
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped is None:
        return str(ipaddress.ip_network(f"{ip}/64", strict=False))
    return str(getattr(ip, "ipv4_mapped", ip))


def kept(headers: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    for name, value in headers:
        lower = name.lower()
        value = re.sub(r"[\x00-\x1f\x7f]", " ", value)
        if lower == "location" and not value.startswith((ORIGIN + "/", CONSOLE + "/")):
            value = ORIGIN + value if re.match(r"/(?!/)", value) else ORIGIN + "/"
        if lower in KEPT_HEADERS or (lower.startswith("x-archive-orig-") and "cookie" not in lower):
            yield name, value
        elif lower == "link" and value.startswith("<") and 'rel="original", <' + ORIGIN in value:
            yield name, value  # pywb's own, for Memento clients


def answer(
    start: Start, status: str, headers: list[tuple[str, str]], body: bytes | Iterable[bytes], policy: str
) -> Iterable[bytes]:
    if not re.match(r"[2-5]\d\d ", status):
        status = "502 Bad Gateway"  # archived, as 101: a proxy would hand the connection over
    if status[:3] in ("204", "304"):
        headers = [pair for pair in headers if pair[0].lower() != "content-length"]
        getattr(body, "close", lambda: None)()
        body = b""
    own = {name.lower() for name, _ in headers}
    start(status, [*headers, ("Content-Security-Policy", policy), *(p for p in PROTECTION if p[0].lower() not in own)])
    return [body] if isinstance(body, bytes) else body


def plain(start: Start, status: str, text: str) -> Iterable[bytes]:
    headers = [("Content-Type", "text/plain; charset=utf-8")]
    return answer(start, status, headers, text.encode() + b"\n", FRAME_POLICY)


def moved(start: Start, place: str, more: Iterable[tuple[str, str]] = ()) -> Iterable[bytes]:
    return answer(start, "307 Temporary Redirect", [("Location", place), *more], b"", FRAME_POLICY)


def place_of(name: str, cdx: Any) -> str:
    """Where a file of the archive is: closed, still being written, or known only to our server."""
    if "/" in name or name.startswith("."):
        raise OSError(f"{name!r} is not the name of a WARC file")
    if name.endswith(".zst"):  # pywb reads gzip only; our server unpacks and packs for it
        return f"{INDEX}/warc/{quote(name, safe='')}?as=gzip"
    for candidate in (name, f"{name}.open", name):  # again: it may have been closed between the two looks
        if (FILES / candidate).exists():
            return str(FILES / candidate)
    return f"{INDEX}/warc/{quote(name, safe='')}"


def versions_of(url: str) -> str:
    place = f"/c/{ASKED.publication}" if ASKED.publication else ""
    return f"{CONSOLE}{place}/page?url={quote(url, safe='')}"


def texts_for(environ: Environ) -> dict[str, str]:
    wanted = environ.get("HTTP_ACCEPT_LANGUAGE", "").lower()
    positions = {code: wanted.find(code) for code in TEXTS if code in wanted}
    return TEXTS[min(positions, key=lambda code: positions[code], default="en")]


def main(descriptors: list[int]) -> None:
    warnings.simplefilter("ignore")  # pywb's, about its own libraries
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    BufferedReader.DECOMPRESSORS["br"] = Brotli
    BlockLoader.loaders["http"] = Members
    application = Replay()
    pool = Pool(CONNECTIONS)
    servers = [Server(socket(fileno=fd), application, handler_class=ReplayHandler, spawn=pool) for fd in descriptors]
    for server in servers:
        server.start()
    gevent.signal_handler(signal.SIGTERM, sys.exit, 0)
    gevent.wait()


if __name__ == "__main__":
    main([int(argument) for argument in sys.argv[1:]])
