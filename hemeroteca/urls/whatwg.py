"""Parsing and joining as browsers do it (WHATWG URL Standard), by ada-url; and errors a person understands."""

import re
from functools import lru_cache

import ada_url

from hemeroteca.errors import Invalid

MAX_LENGTH = 8192  # characters; longer ones (data: images, mostly) are refused before any work is done on them


class UrlError(Invalid, ValueError):
    """A text is not the address of a web page; the message says why."""


def parse(url: str) -> str:
    """The WHATWG serialisation of an absolute URL of any scheme."""
    if len(url) > MAX_LENGTH:
        raise UrlError(f"{_shown(url)} is longer than {MAX_LENGTH:,} characters")
    plain = _PLAIN(url)
    if plain and "/." not in url and _is_canonical(plain[1]):
        return url  # as most are that come from ourselves; the parser takes twenty times as long
    try:
        return ada_url.normalize_url(url)
    except ValueError:
        clean = _scalar_values(url)
        if clean != url:
            return parse(clean)
        raise UrlError(f"{_shown(url)} is not a web address: {_why(url)}")


def join(base: str, href: str) -> str | None:
    """The absolute URL that `href` means on the page `base`, fragment included; None where it means nothing."""
    if len(href) > MAX_LENGTH or len(base) > MAX_LENGTH:
        return None
    try:
        return ada_url.join_url(base, href)
    except ValueError:
        clean_base, clean_href = _scalar_values(base), _scalar_values(href)
        return None if (clean_base, clean_href) == (base, href) else join(clean_base, clean_href)


def host(url: str) -> str:
    """Host name in lower-case ASCII, without the port: `example.org`, `192.0.2.1`, `[2001:db8::1]`."""
    simple = _SIMPLE_ORIGIN(url)
    if simple:
        return simple[2]
    return _web_origin(url)[1]


def origin(url: str) -> str:
    """`scheme://host[:port]`, the unit robots.txt speaks for."""
    simple = _SIMPLE_ORIGIN(url)
    if simple:
        return simple[1]
    return _web_origin(url)[0]


# An address whose path no parser would change, if only its origin is spelled right and no segment begins with a dot.
_PLAIN = re.compile(r"(https?://[a-z0-9._:-]+/)[A-Za-z0-9_~.+,@!*'()=&$:;/-]*").fullmatch


@lru_cache(4096)
def _is_canonical(origin: str) -> bool:
    try:
        return bool(ada_url.normalize_url(origin) == origin)
    except ValueError:
        return False


# An origin that needs no parsing: lower case, a top-level label of letters (so no IPv4 spelling), no port.
_SIMPLE_ORIGIN = re.compile(r"(https?://((?:[a-z0-9_-]+\.)+(?!xn--)[a-z]{2,}))/").match
_WEB_ORIGIN = re.compile(r"(https?://)(?:[^/@]*@)?((\[[0-9a-f:.]*\]|[^/:]*)(?::\d+)?)/").match
_CLEAR_ORIGIN = re.compile(r"https?://[a-z0-9._:\[\]-]+/").match  # where it ends needs no parsing


def _web_origin(url: str) -> tuple[str, str]:
    clear = _CLEAR_ORIGIN(url)
    parts = _WEB_ORIGIN(url if clear and _is_canonical(clear[0]) else parse(url))
    if parts is None:
        raise UrlError(not_web(url))
    return parts[1] + parts[2], parts[3]


def not_web(url: str) -> str:
    """The message for a valid URL that no web server answers (`mailto:`, `ftp:`)."""
    return f"{_shown(url)} is not a web address: {_why(url)}"


def not_typed(text: str) -> str:
    """The message for what a person wrote and no browser would open: a mail address, words, a name without a dot."""
    if "@" in text:
        why = "it looks like a mail address"
    elif len(text.split()) > 1:
        why = "it has spaces; write one address a line"
    elif _SCHEME(text) or not text:
        why = _why(text)
    elif name := _NAME(text):
        why = f"it has no dot; write http://{name[0][:60]}/ if a host of your own network is meant"
    else:
        why = _why(text)
    return f"{_shown(text)} is not a web address: {why}"


def with_login(url: str) -> str:
    """The message for an address with a user name or a password in it; which it does not repeat."""
    found = _AUTHORITY(url)
    host = found[1].rpartition("@")[2] if found else ""
    login = f"hemeroteca site set {host.partition(':')[0][:100]} username=… password=…"
    return f"the address at {host[:100]} has a login in it, which addresses are kept without; `{login}` sets it"


def _scalar_values(text: str) -> str:
    """Lone surrogates become U+FFFD, as the standard's conversion to scalar values demands."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _shown(url: str) -> str:
    return repr(url if len(url) <= 100 else url[:100] + "…")


_SCHEME = re.compile(r"\s*([a-z][a-z0-9+.-]*):", re.IGNORECASE).match
_NAME = re.compile(r"(?!https?/)[a-z0-9][a-z0-9_-]*(?=[/?#]|$)", re.IGNORECASE).match
_AUTHORITY = re.compile(r"\s*https?:[/\\]*([^/\\?#]*)", re.IGNORECASE).match


def _why(url: str) -> str:
    """Ada says only "invalid"; look for what a person most likely did."""
    if not url.strip():
        return "it is empty"
    authority = _AUTHORITY(url)
    if authority is None:
        scheme = _SCHEME(url)
        if scheme:
            return f"only http and https can be fetched, not {scheme[1][:20].lower()!r}"
        return "it has no scheme; write it in full, as in https://example.org/"
    name, _, port = authority[1].rpartition("@")[2].partition(":")
    if name.startswith("["):
        name, port = authority[1].rpartition("@")[2], ""
    if not name:
        return "it has no host name"
    if port and not (port.isascii() and port.isdigit() and int(port[:6]) < 65536):
        return f"{port[:20]!r} is not a port number (0 to 65535)"
    return f"{name[:100]!r} is not a valid host name"
