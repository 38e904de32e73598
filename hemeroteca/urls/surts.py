"""SURT: the URL turned round so that sorting groups a domain, its subdomains and its paths (`org,example)/path?query`).

The urlkey of CDX files. It must equal what other archive tools write (the rules of the Internet Archive's `surt`, which
pywb uses), so it forgives more than our canonical form: letter case, `www.`, trailing slash, order of parameters.
"""

import re
from urllib.parse import quote_from_bytes, unquote_to_bytes

from hemeroteca.urls import whatwg


def surt(url: str) -> str:
    """The CDX urlkey of any URL; `-` of an empty text."""
    if url.startswith(("filedesc", "warcinfo")):
        return url
    if len(url) > whatwg.MAX_LENGTH:
        raise whatwg.UrlError(f"{url[:100]!r}… is longer than {whatwg.MAX_LENGTH:,} characters")
    text = _CONTROL.sub("", url.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").strip())
    if not text:
        return "-"
    if not _SCHEME(text):
        text = "http://" + text
    scheme, authority, path, query = _split(_SCHEMES_TWICE.sub(r"\1", text))
    if scheme.startswith("http") and not authority:
        authority, _, path = path.lstrip("/").partition("/")
        path = "/" + path
    host, port = _host_and_port(authority)
    place = _path(_unescape(path), bool(host))
    key = (f"{','.join(reversed(host.split('.')))}{_shown_port(scheme, port)})" if host else f"{scheme}:") + place
    parameters = _query(query)
    return f"{key}?{parameters}" if parameters else key


_CONTROL = re.compile(r"[\n\r\t]")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:").match
_SCHEMES_TWICE = re.compile(r"^(https?://)+")
_PARTS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?", re.DOTALL).match
_WWW = re.compile(r"www\d*\.").match
_DEFAULT_PORTS = {"http": 80, "https": 443}

_ASP_SESSION = re.compile(r"^(.*/)(?:\((?:[a-z]\([0-9a-z]{24}\))+\)/|\([0-9a-z]{24}\)/)([^?]+\.aspx.*)$", re.DOTALL)
_QUERY_SESSIONS = [
    re.compile(rf"^(.*)(?:{session})(?:&(.*))?$", re.IGNORECASE | re.DOTALL)
    for session in (
        "jsessionid=[0-9a-z]{32}",
        "phpsessid=[0-9a-z]{32}",
        "sid=[0-9a-z]{32}",
        "aspsessionid[a-z]{8}=[a-z]{24}",
        "cfid=[^&]+&cftoken=[^&]+",
    )
]
_KEPT = "!\"$&'()*+,-./:;<=>?@[\\]^_`{|}~"


def _split(url: str) -> tuple[str, str, str, str]:
    parts = _PARTS(url)
    assert parts is not None  # a scheme was found or put before
    return parts[1].lower(), parts[2] or "", parts[3], parts[4] or ""


def _host_and_port(authority: str) -> tuple[str, int | None]:
    name, colon, port = authority.rpartition("@")[2].rpartition(":")
    if not colon or port.endswith("]"):
        name, port = authority.rpartition("@")[2], ""
    host = _unescape(name)
    number = int(port) if port.isascii() and port.isdigit() and len(port) < 6 else None
    return _host(host), number


def _host(raw: bytes) -> str:
    name = raw.decode("utf-8", "ignore")
    if name.startswith("["):
        return name.strip("[]").lower()
    if not name.isascii() or _LOOKS_NUMERIC(name):
        try:
            name = whatwg.host(f"http://{name}/")  # IDNA and IPv4 in its many spellings
        except whatwg.UrlError:
            pass
    name = _escape(name.encode() if name.isascii() else raw).lower().replace("..", ".").strip(".")
    www = _WWW(name)
    return name[www.end() :] if www else name


_LOOKS_NUMERIC = re.compile(r"[0-9.]+").fullmatch


def _shown_port(scheme: str, port: int | None) -> str:
    return "" if not port or port == _DEFAULT_PORTS.get(scheme) else f":{port}"


def _path(raw: bytes, has_host: bool) -> str:
    path = _escape(_without_dots(raw) if has_host else raw).lower()
    if "(" in path:
        path = _ASP_SESSION.sub(r"\1\2", path)
    return path[:-1] if path.endswith("/") and len(path) > 1 else path


def _without_dots(raw: bytes) -> bytes:
    """Without dot segments and double slashes; `..` above the root stays, as other tools leave it."""
    kept: list[bytes] = []
    for name in raw.split(b"/")[1:]:
        if name == b".." and kept:
            kept.pop()
        elif name != b".":
            kept.append(name)
    return b"/" + b"".join(name + b"/" for name in kept[:-1] if name) + (kept[-1] if kept else b"")


def _query(query: str) -> str:
    if not query:
        return ""
    text = _escape(_unescape(query))
    for session in _QUERY_SESSIONS:
        text = session.sub(lambda found: found[1] + (found[2] or ""), text)
    return "&".join("=".join(pair) for pair in sorted(part.split("=", 1) for part in text.lower().split("&")))


def _unescape(text: str) -> bytes:
    """Unquoted again until nothing changes: `%2525` is `%`."""
    old, new = b"", text.encode()
    while new != old:
        old, new = new, unquote_to_bytes(new)
    return new


def _escape(raw: bytes) -> str:
    return quote_from_bytes(raw, safe=_KEPT)
