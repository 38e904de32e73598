"""What every answer of the web process goes through: is the Host header ours, and which headers protect the reader."""

import ipaddress
import socket
from collections.abc import Callable
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.utils import timezone, translation
from django.utils.deprecation import MiddlewareMixin

from hemeroteca.accounts.display import COOKIE, Display, read, read_cookie
from hemeroteca.errors import Refused
from hemeroteca.ingest.heavy_reads import asker

# Nothing but our own files. A page of the archive that slipped through escaping could still run nothing.
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; frame-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)


class HostCheck(MiddlewareMixin):
    """Refuses names that are not ours, so that a hostile page cannot reach a console on loopback by DNS rebinding.

    IP addresses pass: a browser sends one only when the person (or page) asked for that address itself.
    """

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        asker.set(request.META.get("REMOTE_ADDR", ""))
        name = host_name(request.META.get("HTTP_HOST") or request.META["SERVER_NAME"])
        if name == (urlsplit(settings.CONFIG.replay_url).hostname or ""):
            # Cookies ignore ports: under the name of replay, archived scripts would share ours.
            return _misdirected(f"The name {name} is for archived pages only. Use the console by another of its names.")
        if is_address(name) or name in own_names():
            return None
        return _misdirected(
            f"This server does not answer for the name {name[:80]!r}. If people should reach it by that name, set "
            "public_url in hemeroteca.toml (or HEMEROTECA_PUBLIC_URL) to its whole address."
        )


class WithoutNul(MiddlewareMixin):
    """Takes NULs out of what is asked: they mean nothing, and PostgreSQL fails at them wherever one arrives."""

    def process_request(self, request: HttpRequest) -> None:
        query = request.META.get("QUERY_STRING", "")
        if "%00" in query or "\x00" in query:
            request.META["QUERY_STRING"] = query.replace("%00", "").replace("\x00", "")


class RefusedPages(MiddlewareMixin):
    """What a service refused while a page was made becomes a page; the API answers by itself."""

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponseBase | None:
        from hemeroteca.console import error_pages  # its tables are ready only after the settings are

        return error_pages.refused(request, error) if isinstance(error, Refused) else None


class SecurityHeaders(MiddlewareMixin):
    """Headers on every answer; a view that set one itself (the sandboxed copy) keeps its own."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        response.headers.setdefault("Content-Security-Policy", CONTENT_SECURITY_POLICY)
        response.headers.setdefault("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
        response.headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
        return response


class CompressedPages(GZipMiddleware):
    """Pages travel compressed; files of the archive, parts of them and streams as they are. Django adds a random length
    and masks its tokens, so that the size tells nothing (BREACH)."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if response.streaming or not response.headers.get("Content-Type", "").startswith("text/html"):
            return response
        return super().process_response(request, response)


class ReaderDisplay:
    """Shows pages as whoever asks chose it: by their account, or by a cookie of a stranger's browser.

    A request that brings no cookie of ours is a program's, or somebody's first: nothing is looked up for it.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        signed_in = settings.SESSION_COOKIE_NAME in request.COOKIES and request.user.is_authenticated
        if signed_in:
            display = read(getattr(request.user, "display", None))
        else:
            display = read_cookie(request.COOKIES.get(COOKIE, ""))
        request.display = display  # type: ignore[attr-defined]
        if display.language:
            translation.activate(display.language)
            request.LANGUAGE_CODE = translation.get_language()
        with timezone.override(display.zone):
            return self.get_response(request)


def display_of(request: HttpRequest) -> Display:
    """How whoever asks wants pages shown."""
    return getattr(request, "display", None) or Display()


def _misdirected(text: str) -> HttpResponse:
    return HttpResponse(f"{text}\n", status=421, content_type="text/plain; charset=utf-8")


def own_names() -> set[str]:
    config = settings.CONFIG
    machine = socket.gethostname().lower()
    public = urlsplit(config.public_url).hostname or ""
    names = {"localhost", config.host.lower(), public, machine, f"{machine}.local", *settings.ALLOWED_HOSTS}
    return names - {"*", ""}


def host_name(header: str) -> str:
    """`[::1]:8080` -> `::1`, `Example.org.:80` -> `example.org`; anything malformed stays and matches nothing."""
    header = header.strip().lower()
    if header.startswith("["):
        return header[1:].partition("]")[0]
    return header.partition(":")[0].removesuffix(".")


def is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
