"""The canonical form of a URL: one spelling for one page, still safe to fetch, and its 64-bit key.

Always: WHATWG parsing (lower-case scheme and host, IDNA, default port, dot segments); no fragment, no user name or
password, no dot after the host, no empty query; percent-encoding as RFC 3986 wants it (hexadecimal in upper case,
unreserved characters plain, what may not stand in a URI encoded). By `CanonRules`: session ids, tracking, order of
parameters, `www.`.

What could name another page is left alone: letter case of paths, double slashes, trailing slashes, `index.html`,
empty parameters. docs/decisions/0003-canonical-urls.md gives the reasons.
"""

import re
from hashlib import blake2b

import msgspec

from hemeroteca.urls.whatwg import MAX_LENGTH, UrlError, not_typed, not_web, parse, with_login


class CanonRules(msgspec.Struct, frozen=True):
    """What the canonical form leaves out besides spelling."""

    drop_session_ids: bool = True
    drop_tracking: bool = True
    sort_parameters: bool = False
    drop_www: bool = False


DEFAULT_RULES = CanonRules()


def canonical(url: str, rules: CanonRules = DEFAULT_RULES) -> str:
    """The canonical http(s) URL, without fragment; `UrlError` tells why a text has none."""
    return of_href(parse(url), rules)


def typed(text: str) -> str:
    """The canonical URL of what a person wrote: `https://` may be left out before a name with a dot, and `http://`
    before localhost, an IP address or a name with a port, which hardly ever have a certificate. A login is refused,
    for it would be left out."""
    text = text.strip()
    if not _WITH_SCHEME(text):
        bare = text.removeprefix("//")
        if not _BARE(bare):
            raise UrlError(not_typed(text))
        text = ("https://" if _PUBLIC(bare) else "http://") + bare
    if _WITH_LOGIN(text):
        raise UrlError(with_login(text))
    return canonical(text)


def key(canonical_url: str) -> int:
    """The page's key everywhere on the spine: signed, 64 bits."""
    digest = blake2b(canonical_url.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


def of_href(href: str, rules: CanonRules) -> str:
    """`canonical` of something the WHATWG parser wrote."""
    href = href.partition("#")[0]
    if not href.startswith(("http://", "https://")):
        raise UrlError(not_web(href))
    start = href.index("/", 8)
    head, tail = href[:start], href[start:]
    if _UNUSUAL_HEAD(head) or rules.drop_www:
        head = _head(head, href, rules)
    path, _, query = tail.partition("?")
    if _UNUSUAL(tail):
        path = _spell(path)
        query = _spell(query)
        if rules.drop_session_ids and ";" in path:
            path = _path_without_session(head, path, rules)
    if query:
        query = clean_query(query, rules)
    result = f"{head}{path}?{query}" if query else head + path
    if len(result) > MAX_LENGTH:
        raise UrlError(f"{result[:100] + '…'!r} is longer than {MAX_LENGTH:,} characters once encoded")
    return result


def clean_query(query: str, rules: CanonRules) -> str:
    """The query (well spelled, without `?`) as `rules` want it."""
    drop = _DROPPED[rules.drop_session_ids, rules.drop_tracking]
    # Nearly always there is nothing to drop, and looking for it in one letter case takes a fifth of the time.
    if drop and drop.search("&" + query.lower()):
        query = re.sub(drop.pattern, "", "&" + query, flags=re.IGNORECASE)[1:]
    if rules.sort_parameters:
        # By name and stable: values of a repeated parameter keep their order, which may mean something.
        query = "&".join(sorted(filter(None, query.split("&")), key=lambda pair: pair.partition("=")[0]))
    return query


_WITH_SCHEME = re.compile(r"https?:|[a-z][a-z0-9+.-]*://", re.IGNORECASE).match
_BARE = re.compile(
    r"(?!(?:tel|sms|callto):)"
    r"(?:localhost|[^\s/?#@:]+\.[^\s/?#@:]+|(?:\[[0-9a-f:.]+\]|[^\s/?#@:]+)(?=:\d))(?::\d{1,5})?(?=[/?#]|$)",
    re.IGNORECASE,
).match
# a name with a dot that ends neither in `.localhost` nor, as IPv4 addresses do, in a number
_PUBLIC = re.compile(r"[^\s/?#@:]+\.(?!(?:localhost|\d+)(?:[:/?#]|$))[^\s/?#@:.]+\.?(?:[:/?#]|$)", re.IGNORECASE).match
_WITH_LOGIN = re.compile(r"https?:[/\\]*[^/\\?#]*@", re.IGNORECASE).match
_UNUSUAL_HEAD = re.compile(r"@|\.(?::\d+)?$").search
# Anything outside this needs a second look. `;` may begin a session id, `%` is spelled in many ways.
_UNUSUAL = re.compile(r"[^A-Za-z0-9_.~!$&'()*+,=:@/?-]").search
_MISSPELT = re.compile(r"%(?:([0-9A-Fa-f]{2})|(?!u[0-9A-Fa-f]{4}))|[^A-Za-z0-9_.~!$&'()*+,;=:@/?%-]")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_PATH_SESSION = re.compile(r";(?:jsessionid|phpsessid)=[^/;]*", re.IGNORECASE)

# Names that only ever hold a session id are dropped whatever the value. Names that also mean other things (a talk at
# a conference is a "session") are dropped only when the value looks like a token.
_SESSION = (
    r"(?:jsessionid|phpsessid|aspsessionid[a-z]{8}|oscsid|zenid|cfid|cftoken)(?:=[^&]*)?",
    r"(?:s?sid|sess|sessid|session|session_?id|session-id|phpsess|jsid)=(?=[^&]*[0-9])[0-9a-z_-]{16,128}",
)
_TRACKING = (
    r"(?:utm|hsa|mtm|matomo|piwik|pk|itm|ga)_[a-z_]+(?:=[^&]*)?",
    r"(?:gclid|gclsrc|dclid|gbraid|wbraid|srsltid|fbclid|msclkid|yclid|ysclid|twclid|ttclid|igshid|igsh|li_fat_id|epik|"
    r"mc_cid|mc_eid|mkt_tok|_ga|_gl|_hsenc|_hsmi|__hstc|__hssc|__hsfp|hsctatracking|vero_id|vero_conv|oly_anon_id|"
    r"oly_enc_id|rb_clickid|s_cid|wickedid|_openstat|_kx|ml_subscriber|ml_subscriber_hash|at_campaign|at_medium)"
    r"(?:=[^&]*)?",
)


def _parameters(*names: str) -> re.Pattern[str]:
    return re.compile(f"&(?:{'|'.join(names)})(?=&|$)")


_DROPPED = {  # by (drop_session_ids, drop_tracking)
    (True, True): _parameters(*_SESSION, *_TRACKING),
    (True, False): _parameters(*_SESSION),
    (False, True): _parameters(*_TRACKING),
    (False, False): None,
}


def _head(head: str, href: str, rules: CanonRules) -> str:
    """Scheme and authority without login, dots at the end and, if asked, `www.`."""
    scheme, _, authority = head.partition("//")
    authority = authority.rpartition("@")[2]
    name, colon, port = authority.partition(":") if not authority.startswith("[") else (authority, "", "")
    if name.endswith("."):
        name = name.rstrip(".")
        try:
            # "foo.09.." is a name, "foo.09" a wrong IPv4 address: the shorter name must be parsed again.
            parse(f"{scheme}//{name}/")
        except UrlError:
            raise UrlError(
                f"{href[:100]!r} is not a web address: its host name has dots at the end and is not valid without"
            )
    while rules.drop_www and name.startswith("www.") and "." in name[4:]:
        name = name[4:]
    return f"{scheme}//{name}{colon}{port}"


def _spell(text: str) -> str:
    """Percent-encoding by RFC 3986, 6.2.2. A stray `%` becomes `%25`; `%uXXXX` of old scripts stays as it is."""
    return _MISSPELT.sub(_spelled, text)


def _spelled(match: re.Match[str]) -> str:
    hexadecimal = match[1]
    if hexadecimal:
        character = chr(int(hexadecimal, 16))
        return character if character in _UNRESERVED else "%" + hexadecimal.upper()
    return "".join(f"%{byte:02X}" for byte in match[0].encode())


def _path_without_session(head: str, path: str, rules: CanonRules) -> str:
    shorter = _PATH_SESSION.sub("", path)
    if shorter == path:
        return path
    # "/a/..;jsessionid=1" leaves "/a/..": dot segments must go, which is the parser's work.
    return of_href(parse(head + shorter), rules)[len(head) :]
