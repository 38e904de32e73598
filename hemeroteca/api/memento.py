"""Memento (RFC 7089) over HTTP.

`/timegate/URL` (redirects to the capture nearest to `Accept-Datetime`), `/timemap/link/URL`, `/timemap/json/URL`, and
`/memento/TIMESTAMP/URL`, the archived copy itself, sandboxed so that nothing in it runs. With a replayer configured
(`replay_url`), mementos are its pages instead.
"""

import re
from collections.abc import Callable, Iterator
from itertools import chain

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse

from hemeroteca.api import access
from hemeroteca.archive import content, memento, queries
from hemeroteca.archive.capture_rows import CaptureRow
from hemeroteca.archive.memento import Places, link_safe
from hemeroteca.errors import Busy, Invalid
from hemeroteca.replay.addresses import capture_address, origin_for
from hemeroteca.warc.stored_record import WarcReadError
from hemeroteca.warc.timestamps import from_http_date, http_date, start_ms, timestamp


def timegate(request: HttpRequest, url: str) -> HttpResponseBase:
    url = _whole(request, url)
    asked = request.headers.get("Accept-Datetime", "")
    moment = from_http_date(asked) if asked else None
    wrong = bool(asked) and moment is None
    row = None if wrong else memento.negotiate(url, moment)
    where = places(request, url)
    if wrong:
        response = access.plain(400, "Accept-Datetime is not an HTTP date; write it like Sat, 31 Jan 2026 12:00:00 GMT")
    elif row is None:
        response = access.plain(404, f"there is no capture of {url}")
        response.headers["Link"] = memento.link_header(where, None, _uri_of(request))
    else:
        response = HttpResponse(status=302)
        response.headers["Location"] = link_safe(_uri_of(request)(row))
        response.headers["Link"] = memento.link_header(where, row, _uri_of(request))
    response.headers["Vary"] = "accept-datetime"
    return access.shared(response)


def timemap_link(request: HttpRequest, url: str) -> HttpResponseBase:
    return _timemap(request, url, "application/link-format")


def timemap_json(request: HttpRequest, url: str) -> HttpResponseBase:
    return _timemap(request, url, "application/json")


def copy(request: HttpRequest, stamp: str, url: str) -> HttpResponseBase:
    """The capture of that second, as a document that can neither run scripts nor reach our cookies."""
    url = _whole(request, url)
    try:
        moment = start_ms(stamp)
    except ValueError as error:
        return access.plain(404, str(error))
    row = queries.closest(url, moment)
    if row is None:
        return access.plain(404, f"there is no capture of {url}")
    if timestamp(row.captured_ms) != stamp:
        response = HttpResponse(status=302)
        response.headers["Location"] = link_safe(capture_uri(request, timestamp(row.captured_ms), row.url, here=True))
        return response
    try:
        found = content.decoded(row)
    except WarcReadError as error:
        return access.plain(404, f"the archive cannot give these bytes: {error}")
    except Busy as error:
        return access.plain(503, str(error))
    except Invalid as error:
        return access.plain(422, str(error))
    response = HttpResponse(found.body, status=200)
    kind = _UNPRINTABLE.sub("", found.charset_header) or found.media_type
    harmless = found.media_type in _HARMLESS  # as a script or style sheet it could be loaded by a page of ours
    response.headers["Content-Type"] = kind if harmless else "application/octet-stream"
    response.headers["X-Archive-Orig-Content-Type"] = kind
    response.headers["Content-Security-Policy"] = content.SANDBOX
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Memento-Datetime"] = http_date(row.captured_ms)
    response.headers["Link"] = memento.link_header(places(request, row.url), row, _uri_of(request))
    response.headers["X-Archive-Status"] = str(row.status)
    return response


def places(request: HttpRequest, url: str) -> Places:
    base = access.base_of(request)
    if "://" not in url and not url.startswith("urn:"):
        url = f"http://{url}"  # asked for as people write it; in a link it must be whole
    return Places(url, f"{base}/timegate/{url}", f"{base}/timemap/link/{url}", f"{base}/timemap/json/{url}")


def capture_uri(request: HttpRequest, stamp: str, url: str, here: bool = False) -> str:
    """Where the capture of that second can be seen: at the replayer when there is one, else here."""
    origin = "" if here else origin_for(request.get_host(), settings.CONFIG.replay_url)
    return capture_address(origin, stamp, url) if origin else f"{access.base_of(request)}/memento/{stamp}/{url}"


def _timemap(request: HttpRequest, url: str, media_type: str) -> HttpResponseBase:
    url = _whole(request, url)
    make = memento.json_lines if media_type == "application/json" else memento.link_lines
    lines: Iterator[str] = make(places(request, url), _uri_of(request))
    first = next(lines, None)
    if first is None:
        return access.plain(404, f"there is no capture of {url}")
    response = StreamingHttpResponse((line.encode() for line in chain([first], lines)), content_type=media_type)
    response.headers["X-Content-Type-Options"] = "nosniff"
    return access.shared(response)


_HARMLESS = ("text/html", "text/plain", "image/png", "image/jpeg", "image/gif", "image/webp", "image/avif")
_UNPRINTABLE = re.compile(r"[^\x20-\x7e]")


def _uri_of(request: HttpRequest) -> Callable[[CaptureRow], str]:
    return lambda row: capture_uri(request, timestamp(row.captured_ms), row.url)


def _whole(request: HttpRequest, url: str) -> str:
    """The URL behind the route with its query, which the server took for ours."""
    query = request.META.get("QUERY_STRING", "")
    if url.startswith(("http:/", "https:/")) and "://" not in url:
        url = url.replace(":/", "://", 1)  # some servers and proxies merge slashes
    return f"{url}?{query}" if query else url
