"""From a link to the service: the endpoint an address belongs to, and the same without secrets."""

import re
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit, urlunsplit

from hemeroteca import urls

if TYPE_CHECKING:
    from hemeroteca.extract.native import Signs


def names(text: str) -> frozenset[str]:
    """The words of a text. Not `extract`'s: models import this module, and every command would load the readers."""
    return frozenset(text.split())


# Parameters that ask something of a service; what is left (`map=…`) belongs to its endpoint.
_ASKED = names(
    "service request version acceptversions acceptformats sections updatesequence layers layer styles style format "
    "outputformat transparent srs crs srsname bbox width height typename typenames maxfeatures count startindex "
    "resulttype outputschema elementsetname constraint constraintlanguage constraint_language_version query_layers "
    "info_format feature_count i j x y exceptions bgcolor time elevation tilematrix tilematrixset tilerow tilecol "
    "coverage coverageid identifier identifiers f featureid resourceid propertyname filter sld language "
    "datainputs responsedocument procedure offering observedproperty namespaces namespace _dc wmtver lang "
    "capabilities dpi map_resolution format_options tiled"
)
_SECRET = re.compile(
    r"(?:.*[_-])?(?:token|access_?token|auth_?token|api_?-?key|auth_?key|key|keyid|subscription-key|ticket|sig|signature|"
    r"secret|password|passwd|pwd|pass|user|username|login|auth|authorization|credential|session(?:id)?|sid|jwt|"
    r"x-amz-[\w-]+|sv|se|sp|sr|client_?id)",
    re.I,
)
HIDDEN = "…"


def endpoint(url: str) -> str:
    """Where a service is asked: without the parameters of one request, without fragment and trailing `?`.

    Raises UrlError.
    """
    url = urls.canonical(url.strip())
    parts = urlsplit(url)
    kept = [pair for pair in parts.query.split("&") if pair and unquote(pair.partition("=")[0]).lower() not in _ASKED]
    return urlunsplit((parts.scheme, parts.netloc, parts.path, "&".join(kept), ""))


def endpoint_or_empty(url: str) -> str:
    try:
        return endpoint(url) if url else ""
    except (urls.UrlError, ValueError):
        return ""


def without_secrets(url: str) -> str:
    """The address with the values of keys, tokens and passwords left out; safe to show and to hand on."""
    parts = urlsplit(url)
    netloc = parts.netloc.rpartition("@")[2]
    if not parts.query:
        return urlunsplit((parts.scheme, netloc, parts.path, "", parts.fragment)) if netloc != parts.netloc else url
    pairs = []
    for pair in parts.query.split("&"):
        name, equals, value = pair.partition("=")
        pairs.append(f"{name}={HIDDEN}" if equals and value and is_secret(name) else pair)
    return urlunsplit((parts.scheme, netloc, parts.path, "&".join(pairs), parts.fragment))


def is_secret(name: str) -> bool:
    return _SECRET.fullmatch(unquote(name)) is not None


def has_secrets(url: str) -> bool:
    return without_secrets(url) != url


def asks_capabilities(url: str) -> bool:
    """Whether an address is a request for capabilities."""
    return re.search(r"[?&]request=(?:get)?capabilities\b", url, re.I) is not None


def is_public(url: str) -> bool:
    """Whether a host name could be one of the public internet: `localhost`, `k00364` and private numbers are not."""
    try:
        host = urls.host(url)
    except urls.UrlError:
        return False
    if "." not in host.rstrip(".") or host.endswith((".local", ".localhost", ".internal", ".lan", ".intranet")):
        return False
    return not re.match(r"(?:127|10|0)\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|169\.254\.", host)


# What to ask: a found address is rarely that of the capabilities.

KVP = ("wms", "wfs", "wcs", "wmts", "csw", "wps", "sos", "wcts")
MAX_MINED = 200  # addresses of one page or script
MAX_MINED_BYTES = 4 << 20
_QUOTED = re.compile(r"""["'`(=>]\s*((?:(?:https?:)?//|\.{0,2}/)[^\s"'`<>()\\^|]{3,600})""")
_HINT = re.compile(
    r"[?&]service=(?:wms|wfs|wcs|wmts|csw|wps|sos|wcts)\b|[?&]request=get(?:capabilities|map|feature|tile|coverage|records)\b"
    r"|/(?:wms|wfs|wcs|wmts|csw|ows|wps|sos|wmsc)(?:\.(?:php|cgi|asp|aspx|ashx|map|exe|dll))?/?(?:[?;]|$)"
    r"|/(?:geoserver|deegree[\w-]*|thredds/(?:wms|wcs)|ncwms\w*|erddap/wms|gwc/service)/"
    r"|mapserv(?:\.exe|\.cgi|\.fcgi)?\?|qgis_mapserv|/ogc/[\w-]+/?(?:\?|$)|[?&]map=[^&]+\.(?:map|qgs|qgz)\b"
    r"|/rest/services(?:/|$|\?)|/(?:Map|Feature|Image|VectorTile|Scene)Server(?:/|$|\?)|/(?:WMS|WFS|WCS)Server\b"
    r"|/wmts/1\.0\.0/|WMTSCapabilities\.xml|/tms/1\.0\.0|/service\?(?=.*getcap)"
    r"|/stac(?:/|$|\?)|/(?:ogcapi|oapi[fpt]?|collections)(?:/|$|\?)|/srv/\w{2,3}/csw|/tileset\.json|\.tilejson"
    r"|/(?:FROST-Server|sensorthings)/|/pygeoapi(?:/|$)",
    re.I,
)
# Signs that are worth looking for in a body.
_SIGNS = (
    b"GetCapabilities", b"getcapabilities", b"GETCAPABILITIES", b"/wms", b"/WMS", b"/wfs", b"/WFS", b"/wmts", b"/WMTS",
    b"/ows", b"/csw", b"geoserver", b"mapserv", b"/rest/services", b"MapServer", b"=WMS", b"=wms", b"tileset.json",
    b"/ogcapi", b"/stac", b"/collections", b"/tms/",
)  # fmt: skip
_SERVICE = re.compile(r"[?&]service=(\w+)", re.I)
_LAST = re.compile(r"/(wms|wfs|wcs|wmts|csw|wps|sos|wcts)(?:\.\w{2,4}|server)?/?$", re.I)


def has_signs(data: bytes) -> bool:
    """Whether a page or script names anything that services have in their addresses."""
    return _signs().are_in(data)


@cache
def _signs() -> "Signs":
    from hemeroteca.extract.native import Signs  # only here: models import this module

    return Signs(_SIGNS)


def may_be_service(url: str) -> bool:
    """Whether an address looks like one of a service: worth asking, no more."""
    return _HINT.search(url) is not None


def mine(data: bytes, base: str) -> list[str]:
    """Addresses of possible services in scripts, attributes and settings of a page, absolute and without repetition."""
    if not has_signs(data):
        return []
    text = data[:MAX_MINED_BYTES].decode("utf-8", "replace").replace("\\/", "/").replace("\\u002F", "/")
    text = text.replace("&amp;", "&").replace("\\u0026", "&")
    found: dict[str, None] = {}
    for match in _QUOTED.finditer(text):
        if not _HINT.search(match[1]):
            continue
        for address in urls.resolve_links(base, [match[1]]):
            if address is not None and "{" not in address and "%7B" not in address:
                found[address] = None
        if len(found) >= MAX_MINED:
            break
    return list(found)


def probes(url: str) -> list[str]:
    """What to ask at an address to learn which service it is: a few requests, the likeliest first."""
    try:
        base = endpoint(url)
    except (urls.UrlError, ValueError):
        return []
    parts = urlsplit(base)
    path = parts.path
    lowered = path.lower()
    if match := _SERVICE.search(url):
        kind = match[1].lower()
        return [capabilities(base, kind)] if kind in KVP else []
    if "/rest/services" in lowered:
        return [_arcgis(parts.scheme, parts.netloc, path)]
    if lowered.endswith("wmtscapabilities.xml"):
        return [base]
    if match := re.search(r"^(.*/wmts)/1\.0\.0(?:/|$)", path, re.I):
        return [urlunsplit((parts.scheme, parts.netloc, f"{match[1]}/1.0.0/WMTSCapabilities.xml", "", ""))]
    if match := re.search(r"^(.*/tms/1\.0\.0)(?:/|$)", path, re.I):
        return [urlunsplit((parts.scheme, parts.netloc, match[1] + "/", "", ""))]
    if match := re.search(r"^(.*?)/(?:collections|conformance|processes)(?:/|$)", path, re.I):
        return [urlunsplit((parts.scheme, parts.netloc, match[1] + "/", "f=json", ""))]
    if re.search(r"/(?:ogcapi|pygeoapi|stac)/?$", path, re.I):  # many answer browsers with a page
        return [base, urlunsplit((parts.scheme, parts.netloc, path, "f=json", ""))]
    if re.search(r"/(?:sensorthings|v1\.[01])/?$", path, re.I):
        return [base]
    if lowered.endswith(("tileset.json", ".tilejson")):
        return [base]
    if match := _LAST.search(path):
        kind = match[1].lower()
        return [capabilities(base, kind)]
    if match := re.search(r"^(.*/geoserver)(?:/(?:web|index\.html)?.*)?$", path, re.I):
        inside = re.search(r"/geoserver/((?!web|www|rest|gwc|styles|openlayers)[\w.-]+)/ows/?$", path, re.I)
        root = path.rstrip("/") if inside or lowered.endswith("/ows") else match[1] + "/ows"
        plain = urlunsplit((parts.scheme, parts.netloc, root, "", ""))
        return [capabilities(plain, kind) for kind in ("wms", "wfs", "wcs")]
    if "csw" in lowered:
        return [capabilities(base, "csw")]
    if asks_capabilities(url) or lowered.endswith(("/ows", "/service", "/ows/")) or "mapserv" in lowered:
        return [capabilities(base, kind) for kind in ("wms", "wfs", "wcs")]
    if re.search(r"[?&]map=", base, re.I):
        return [capabilities(base, kind) for kind in ("wms", "wfs", "wcs")]
    return []


def capabilities(base: str, kind: str, version: str = "") -> str:
    """The request for the capabilities of a service."""
    joint = "&" if "?" in base else "?"
    text = f"{base}{joint}service={kind.upper()}&request=GetCapabilities"
    return f"{text}&version={version}" if version else text


def siblings(kind: str, address: str, software: str = "", workspaces: tuple[str, ...] = ()) -> list[tuple[str, str]]:
    """(name of the rule, request): what else may be where a service was found."""
    found: list[tuple[str, str]] = []
    parts = urlsplit(address)
    path = parts.path
    name = software.partition(" ")[0]
    if match := _LAST.search(path):
        own = match[1]
        for other in ("wms", "wfs", "wcs", "wmts") if own.lower() in ("wms", "wfs", "wcs") else ():
            if other == own.lower() or (other == "wmts" and name != "MapProxy"):
                continue
            spelled = other.upper() if own.isupper() else other
            changed = path[: match.start(1)] + spelled + path[match.end(1) :]
            plain = urlunsplit((parts.scheme, parts.netloc, changed, parts.query, ""))
            found.append((f"{own.lower()}→{other} in the path", capabilities(plain, other)))
    elif kind in ("wms", "wfs", "wcs"):
        for other in ("wms", "wfs", "wcs"):
            if other != kind:
                found.append((f"{kind}→{other} at the endpoint", capabilities(address, other)))
    if name == "GeoServer" and (match := re.search(r"^(.*/geoserver)/", path, re.I)):
        root = urlunsplit((parts.scheme, parts.netloc, match[1], "", ""))
        found.append(("GeoServer's own WMTS", f"{root}/gwc/service/wmts?service=WMTS&request=GetCapabilities"))
        found.append(("GeoServer's CSW", capabilities(f"{root}/csw", "csw")))
        for workspace in workspaces[:10]:
            if re.fullmatch(r"[\w.-]{1,60}", workspace):
                found.append(("GeoServer's workspaces", capabilities(f"{root}/{workspace}/ows", "wms")))
    # MapProxy does not name itself in its documents; where it answers tells more.
    if name in ("", "MapProxy") and (match := re.search(r"^(.*?)/(?:service/?$|(?:wmts|tms)/1\.0\.0(?:/|$))", path)):
        root = urlunsplit((parts.scheme, parts.netloc, match[1], "", ""))
        found.append(("MapProxy's WMTS", f"{root}/wmts/1.0.0/WMTSCapabilities.xml"))
        found.append(("MapProxy's TMS", f"{root}/tms/1.0.0/"))
        found.append(("MapProxy's WMS", capabilities(f"{root}/service", "wms")))
    return found


def _arcgis(scheme: str, netloc: str, path: str) -> str:
    """The folder or server an ArcGIS address belongs to, as JSON."""
    match = re.match(r"(.*?/rest/services(?:/.*?/\w+Server)?)(?:/|$)", path, re.I)
    base = match[1] if match and re.search(r"Server$", match[1]) else path.rstrip("/")
    return urlunsplit((scheme, netloc, base, "f=json", ""))


def asked_kind(url: str) -> str:
    """The type of service that a request for capabilities asks for, by its address; empty when it does not say."""
    match = _SERVICE.search(url)
    if match and match[1].lower() in KVP:
        return match[1].lower()
    found = _LAST.search(urlsplit(url).path)
    return found[1].lower() if found else ""
