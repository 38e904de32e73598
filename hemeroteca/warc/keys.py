"""The key a capture is filed under: the SURT of its address, and for answers to anything but GET what was sent, too.

The index has one key per address, so what was sent becomes part of it, as pywb and the tools around it do:
`?__wb_method=POST&` and the fields of the form or of the JSON, else the content in base64. Only the key is made so; the
capture keeps the address that was asked.
"""

import base64
import hashlib
import json
import math
import re
from functools import lru_cache
from typing import Any
from urllib.parse import unquote_plus, urlencode
from uuid import UUID

from hemeroteca import urls

MAX_KEY = 900  # characters of a key kept whole: PostgreSQL cannot index longer ones
SCREENSHOT, DOM = "urn:screenshot:", "urn:dom:"  # before a page's address: what a browser made of it
VANTAGE = "urn:vantage:"  # … what a device saw of it from where it is: evidence, never a version of the page
ABOUT = (
    "metadata",
    "conversion",
)  # about other records, filed as `urn:metadata:` and their address
MAX_SENT = 16 << 10  # of what is sent; an answer to more is not kept
MARK = "__wb_method="
_MAX_QUERY = 4096  # pywb cuts there
_MAX_FIELDS = 1000
_BESIDE = re.compile(r"urn:(?:dom|screenshot|metadata|conversion|vantage):").match
_METHOD = re.compile(rb"([A-Za-z]{1,20}) +[^ ]").match
_PLAIN_ORIGIN = re.compile(r"https?://[a-z0-9-]+(?:\.[a-z0-9-]+)*+(?::[0-9]{1,5})?+").fullmatch
# Paths that a SURT only writes in small letters and without the last slash; most are of this kind.
_PLAIN_PATH = re.compile(r"(?:/[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*+)*+/?+").fullmatch


def index_key(url: str) -> str:
    """The key a URL is filed under: its SURT, shortened with a hash when it is too long for an index."""
    start = url.find("/", 8)
    if start > 0 and len(url) < MAX_KEY and _PLAIN_PATH(url, start) and (place := _place(url[:start])):
        return place + (url[start:].lower().rstrip("/") or "/")
    if (beside := _BESIDE(url)) is not None:  # filed like the pages they belong to
        return beside[0] + index_key(url[beside.end() :])
    try:
        key = urls.surt(url)
        if len(key) <= MAX_KEY:
            return key
    except urls.UrlError:  # longer than any web address: a data: URI in somebody's archive
        key = url
    return key[:MAX_KEY] + "#" + hashlib.blake2b(key.encode("utf-8", "replace"), digest_size=8).hexdigest()


def ranges(url: str, match: str) -> tuple[tuple[str, str], ...]:
    """The keys that belong to an address, as half-open ranges in order: `exact` (one key, the end is empty), `prefix`,
    `host` or `domain`. Raises UrlError."""
    key = index_key(url)
    if match == "exact":
        return ((key, ""),)
    if match == "prefix":
        if url.endswith("/") and not key.endswith("/"):
            key += "/"
        elif url.endswith("?") and not key.endswith("?"):
            key += "?"
        return ((key, after_prefix(key)),)
    host = key.split(")")[0]
    if match == "host":
        return ((f"{host})/", f"{host}*"),)
    start = f"{host})" if "," in host else f"{host},"
    # `)` and `,` sort before `-`; other ports follow after it, behind names that only begin alike
    return (start, f"{host}-"), (f"{host}:", f"{host};")


def after_prefix(prefix: str) -> str:
    """The least text greater than every text that begins with `prefix`."""
    return prefix + "\U0010ffff"


def address(url: str, method: str, content_type: str, content: bytes) -> str:
    """The address an answer is filed under."""
    if method.upper() in ("", "GET"):
        return url
    sent = query(content_type, content)
    return f"{url}{'&' if '?' in url else '?'}{MARK}{method.upper()}" + (f"&{sent}" if sent else "")


def query(content_type: str, content: bytes) -> str:
    """What was sent, as the query of an address."""
    return _query(content_type, content)[:_MAX_QUERY] if content else ""


def _query(content_type: str, content: bytes) -> str:
    if content_type.startswith("application/x-www-form-urlencoded"):
        try:
            return unquote_plus(content.decode("utf-8"))
        except UnicodeDecodeError:
            return _binary(content)
    if content_type.startswith("multipart/"):
        fields = _multipart(content_type, content)
        return _binary(content) if fields is None else urlencode(fields, True)
    if content_type.startswith(("application/json", "text/plain")):
        try:
            return urlencode(_json(json.loads(content)))
        except (ValueError, RecursionError):
            return "" if content_type.startswith("application/json") else _binary(content)
    return _binary(content)


def is_kept(method: str, content: bytes) -> bool:
    """Whether an answer can be filed: to a plain request, or to one that sent little."""
    return method in ("", "GET") or len(content) <= MAX_SENT


def method(request_head: bytes) -> str:
    """Of a request; empty when its head does not tell."""
    found = _METHOD(request_head)
    return found[1].decode("ascii").upper() if found else ""


def address_about(kind: str, url: str, record_id: UUID | None) -> str:
    """The address of a record about others."""
    return f"urn:{kind}:{url or record_id}"


def _binary(content: bytes) -> str:
    return "__wb_post_data=" + base64.b64encode(content).decode("ascii")


def _multipart(content_type: str, content: bytes) -> list[tuple[str, str | bytes]] | None:
    """Names and values of a form; None when the content has no boundary."""
    from email.parser import BytesHeaderParser  # only here: it takes long to load
    from email.policy import HTTP

    head = BytesHeaderParser(policy=HTTP).parsebytes(f"Content-Type: {content_type}\r\n\r\n".encode())
    boundary = head.get_boundary()
    if not boundary:
        return None
    fields: list[tuple[str, str | bytes]] = []
    for part in (b"\r\n" + content).split(b"\r\n--" + boundary.encode())[1 : _MAX_FIELDS + 1]:
        if part.startswith(b"--"):
            break
        top, _, value = part.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        about = BytesHeaderParser(policy=HTTP).parsebytes(top + b"\r\n\r\n")
        name = about.get_param("name", header="content-disposition")
        is_file = about.get_param("filename", header="content-disposition") is not None
        fields.append((str(name), value if is_file else value.decode("utf-8", "replace")))
    return fields


def _json(value: Any) -> dict[str, str]:
    """The leaves of a JSON value by the last name on the way to each."""
    found: dict[str, str] = {}
    again: dict[str, int] = {}

    def walk(value: Any, name: str) -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                walk(inner, key)
        elif isinstance(value, list):
            for inner in value:
                walk(inner, name)
        elif name:
            key = name
            if name in found:
                again[name] = again.get(name, 1) + 1
                key = f"{name}.{again[name]}_"
            found[key] = _leaf(value)

    walk(value, "")
    return found


def _leaf(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and math.isfinite(value) and value == int(value):
        return str(int(value))
    return str(value)


@lru_cache(maxsize=10_000)
def _place(origin: str) -> str:
    """What the keys of an origin begin with: `org,example)`; empty when it is not plainly one."""
    return urls.surt(origin + "/")[:-1] if _PLAIN_ORIGIN(origin) else ""
