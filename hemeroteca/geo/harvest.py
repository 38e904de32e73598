"""Catalogues of others, read to their end: CSW, OGC API Records, STAC, CKAN, DCAT, GeoNetwork, ArcGIS, OAI-PMH, folders
of files (WAF), THREDDS. Each gives records with the addresses of services they name; nothing is written here.

One request at a time, with the pauses and the robots.txt of the host; every list has an end.
"""

import re
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit

import msgspec

from hemeroteca import urls
from hemeroteca.config import Config
from hemeroteca.errors import Invalid, Unavailable
from hemeroteca.fetch.client import GuardedClient, Reply
from hemeroteca.geo import endpoints, xmltree
from hemeroteca.geo.detection import describe
from hemeroteca.plain import whole_number

AGENT = "Hemeroteca"
MAX_BYTES = 32 << 20
MAX_RECORDS = 200_000
MAX_REQUESTS = 20_000
PAGE = 100
MAX_PAUSE = 120.0
# Servers of OGC APIs give people HTML and programs JSON at one address.
ACCEPT = "application/geo+json, application/json, application/xml;q=0.9, text/xml;q=0.9, text/html;q=0.5, */*;q=0.4"
OAI_ARGUMENTS = {"verb", "metadataPrefix", "resumptionToken", "set", "from", "until", "identifier"}


class Found(msgspec.Struct):
    """A record of another catalogue."""

    identifier: str
    title: str
    addresses: list[str]
    text: str  # what it said, to see whether it changed


class Errands:
    """Requests of a harvest: polite, bounded, behind the guard."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._client = GuardedClient(config)
        self._robots: dict[str, urls.robots_txt.Robots] = {}
        self._next: dict[str, float] = {}
        self.requests = 0

    def get(self, url: str, content: bytes | None = None, kind: str = "") -> Reply:
        """Raises Unavailable when it cannot be had, with the reason."""
        self._check(url)
        if self.requests >= MAX_REQUESTS:
            raise Unavailable(f"the harvest made {MAX_REQUESTS:,} requests and ends here")
        for _ in range(3):
            reply = self._send(url, content, kind)
            if reply.ok:
                return reply
            if not reply.passing:
                break
            pause = float(reply.retry_after) if reply.retry_after.isdecimal() else 2.0
            self._next[urls.host(url)] = time.monotonic() + min(pause, MAX_PAUSE)
        raise Unavailable(f"{endpoints.without_secrets(url)} did not answer: {reply.reason}")

    def _send(self, url: str, content: bytes | None, kind: str) -> Reply:
        host = urls.host(url)
        wait = self._next.get(host, 0.0) - time.monotonic()
        if wait > 0:
            time.sleep(wait)
        self.requests += 1
        headers = {"Accept": ACCEPT} | ({"Content-Type": kind} if kind else {})
        reply = self._client.send(url, content=content, headers=headers, max_bytes=MAX_BYTES, redirects=5)
        pause = max(self._config.delay, min(reply.seconds * self._config.delay_factor, self._config.max_delay))
        self._next[host] = time.monotonic() + (pause if self._config.delay else 0.0)
        return reply

    def _check(self, url: str) -> None:
        origin = urls.origin(url)
        if origin not in self._robots:
            reply = self._client.send(f"{origin}/robots.txt", max_bytes=512 << 10, redirects=5)
            self._robots[origin] = urls.robots_txt.Robots.read(reply.status, reply.body)
        if not self._robots[origin].allows(url, AGENT):
            rule = self._robots[origin].rule(url, AGENT)
            raise Unavailable(f"robots.txt of {urls.host(url)} forbids {urlsplit(url).path} (rule {rule!r})")


def guess_kind(url: str, errands: Errands) -> str:
    """What a catalogue speaks, by its address and, where that does not tell, by what it answers. Raises Invalid."""
    lowered = url.lower()
    for pattern, kind in (
        (r"/rest/services", "arcgis"),
        (r"/api/3/action|/api/action", "ckan"),
        (r"verb=|mode=oaipmh|/oai(?:-pmh)?/?(?:$|\?)", "oai"),
        (r"/srv/\w+/csw|[/=]csw\b|service=csw", "csw"),
        (r"/thredds/.*catalog|catalog\.xml", "thredds"),
        (r"/geonetwork/?$", "geonetwork"),
        (r"\.(?:rdf|ttl|jsonld)(?:$|\?)|/data\.json", "dcat"),
    ):
        if re.search(pattern, lowered):
            return kind
    reply = errands.get(url)
    found = describe(reply.body, reply.content_type, reply.url)
    if found.type == "csw":
        return "csw"
    if found.type == "stac":
        return "stac"
    if "ogcapi-records" in (found.type, *found.also):
        return "records"
    if found.type == "arcgis":
        return "arcgis"
    if found.type.startswith("ogcapi"):
        return "records"
    if re.search(rb"<title>\s*Index of|<h1>\s*Index of|Parent Directory", reply.body[:20_000], re.I):
        return "waf"
    raise Invalid(f"{endpoints.without_secrets(url)} is no catalogue that is known; name its kind: {', '.join(KINDS)}")


def harvest(kind: str, url: str, errands: Errands) -> Iterator[Found]:
    """Every record of a catalogue. Raises Unavailable where it cannot go on."""
    for count, found in enumerate(KINDS[kind](url, errands)):
        if count >= MAX_RECORDS:
            return
        yield found


def _csw(url: str, errands: Errands) -> Iterator[Found]:
    base = endpoints.endpoint(url)
    position = 1
    while position:
        asked = {
            "service": "CSW", "version": "2.0.2", "request": "GetRecords", "typeNames": "csw:Record",
            "resultType": "results", "elementSetName": "full", "startPosition": position, "maxRecords": PAGE,
        }  # fmt: skip
        tree = _tree(errands.get(f"{base}{'&' if '?' in base else '?'}{urlencode(asked)}"), url)
        results = next(tree.root.iter("{*}SearchResults"), None)
        if results is None:
            raise Unavailable(f"{url} did not answer GetRecords: {xmltree.text(tree.root)[:200]}")
        records = list(results.iterchildren("{*}Record", "{*}SummaryRecord", "{*}BriefRecord", "{*}MD_Metadata"))
        for record in records:
            yield _xml_record(record)
        after = xmltree.attribute(results, "nextRecord")
        total = xmltree.attribute(results, "numberOfRecordsMatched")
        step = whole_number(after) or 0
        position = step if records and step > position and step <= (whole_number(total) or 0) else 0


def _xml_record(record: Any) -> Found:
    """Dublin Core or ISO 19139: the identifier, the title, and every address in it."""
    identifier = title = ""
    for element in record.iter("{*}identifier", "{*}fileIdentifier"):
        identifier = identifier or xmltree.text(element)
    for element in record.iter("{*}title"):
        title = title or xmltree.text(element)
    texts = [xmltree.text(one) for one in record.iter("{*}references", "{*}URI", "{*}URL", "{*}source", "{*}relation")]
    texts += [xmltree.attribute(one, "href") for one in record.iter() if xmltree.attribute(one, "href")]
    return Found(identifier or title, title, _addresses(texts), " ".join("".join(record.itertext()).split()))


def _records(url: str, errands: Errands) -> Iterator[Found]:
    """OGC API Records: the items of each collection of records, page by page."""
    root = url.rstrip("/").partition("/collections")[0]
    collections = _json(errands.get(f"{root}/collections?f=json"), url).get("collections", [])
    for collection in collections if isinstance(collections, list) else []:
        if not isinstance(collection, dict) or collection.get("itemType") not in ("record", "records"):
            continue
        yield from _items(f"{root}/collections/{collection.get('id')}/items?f=json&limit={PAGE}", errands)


def _items(address: str, errands: Errands) -> Iterator[Found]:
    seen: set[str] = set()
    while address and address not in seen:
        seen.add(address)
        data = _json(errands.get(address), address)
        features = data.get("features")
        for feature in features if isinstance(features, list) else []:
            if isinstance(feature, dict):
                yield _feature(feature, address)
        address = _next(data, address)


def _feature(feature: dict[str, Any], base: str) -> Found:
    properties = feature.get("properties") if isinstance(feature.get("properties"), dict) else {}
    assert isinstance(properties, dict)
    links = [urljoin(base, link["href"]) for link in _links(feature)]
    assets = feature.get("assets")
    if isinstance(assets, dict):
        links += [str(one["href"]) for one in assets.values() if isinstance(one, dict) and "href" in one]
    associations = properties.get("associations")
    for one in associations if isinstance(associations, list) else []:
        if isinstance(one, dict) and isinstance(one.get("href"), str):
            links.append(one["href"])
    title = str(properties.get("title") or feature.get("title") or "")
    text = msgspec.json.encode({k: v for k, v in feature.items() if k != "links"}).decode()
    return Found(str(feature.get("id") or title), title, _addresses(links), text)


def _stac(url: str, errands: Errands) -> Iterator[Found]:
    """An API by its collections, a static catalogue by its children; each is a record of its own."""
    waiting = [url]
    seen: set[str] = set()
    while waiting:
        address = waiting.pop()
        if address in seen or len(seen) > MAX_REQUESTS:
            continue
        seen.add(address)
        data = _json(errands.get(address), address)
        collections = data.get("collections")
        for one in collections if isinstance(collections, list) else []:
            if isinstance(one, dict):
                yield _feature(one, address)
        if "stac_version" in data:
            found = _feature(data, address)
            found.addresses = [address]
            yield found
        links = _links(data)
        if any(link.get("rel") == "data" for link in links):
            waiting += [urljoin(address, link["href"]) for link in links if link.get("rel") == "data"]
        else:
            below = [link for link in links if link.get("rel") in ("child", "next") and link.get("type") != "text/html"]
            waiting += [urljoin(address, link["href"]) for link in below]


def _ckan(url: str, errands: Errands) -> Iterator[Found]:
    root = url.partition("/api/")[0].rstrip("/")
    start = 0
    while True:
        data = _json(errands.get(f"{root}/api/3/action/package_search?rows={PAGE}&start={start}"), url)
        result = data.get("result")
        packages = result.get("results") if isinstance(result, dict) else None
        if not isinstance(packages, list) or not packages:
            return
        for package in packages:
            if isinstance(package, dict):
                resources = package.get("resources")
                found = [
                    str(one.get("url") or "")
                    for one in (resources if isinstance(resources, list) else [])
                    if isinstance(one, dict)
                ]
                title = str(package.get("title") or "")
                text = msgspec.json.encode(package).decode()
                yield Found(str(package.get("id") or title), title, _addresses(found), text)
        start += len(packages)


def _dcat(url: str, errands: Errands) -> Iterator[Found]:
    """DCAT as JSON-LD, `data.json` or RDF/XML: every dataset and data service."""
    reply = errands.get(url)
    start = reply.body.lstrip(b"\xef\xbb\xbf \r\n\t")[:1]
    if start == b"<":
        tree = _tree(reply, url)
        for one in tree.root.iter("{*}Dataset", "{*}DataService"):
            found = _xml_record(one)
            about = xmltree.attribute(one, "about")
            resources = [xmltree.attribute(part, "resource") for part in one.iter()]
            found.addresses = _addresses([*found.addresses, *resources])
            found.identifier = about or found.identifier
            yield found
        return
    data = _json(reply, url)
    entries = data.get("dataset") or data.get("@graph") or data.get("dcat:dataset") or []
    for entry in entries if isinstance(entries, list) else []:
        if isinstance(entry, dict):
            text = msgspec.json.encode(entry).decode()
            title = entry.get("title") or entry.get("dct:title") or ""
            identifier = entry.get("identifier") or entry.get("@id") or title
            yield Found(str(identifier), str(title), _addresses(re.findall(r'https?://[^"\s\\]+', text)), text)


def _geonetwork(url: str, errands: Errands) -> Iterator[Found]:
    return _csw(url.rstrip("/").removesuffix("/srv") + "/srv/eng/csw", errands)


def _arcgis(url: str, errands: Errands) -> Iterator[Found]:
    """All folders of a directory; each service is a record."""
    root = url.partition("?")[0].rstrip("/")
    waiting = [root]
    seen: set[str] = set()
    while waiting:
        address = waiting.pop()
        if address in seen:
            continue
        seen.add(address)
        found = describe(errands.get(f"{address}?f=json").body, "", f"{address}?f=json")
        for layer in found.layers:
            if layer.url:
                yield Found(layer.url, layer.title, [layer.url], f"{layer.name} {layer.formats}")
        waiting += [link.partition("?")[0] for link in found.links if not re.search(r"Server\?", link)]


def _oai(url: str, errands: Errands) -> Iterator[Found]:
    base, _, query = url.partition("?")
    kept = [pair for pair in parse_qsl(query) if pair[0] not in OAI_ARGUMENTS]  # pycsw is asked by ?mode=oaipmh

    def asked(**arguments: str) -> str:
        return f"{base}?{urlencode([*kept, ('verb', 'ListRecords'), *arguments.items()])}"

    prefix = {"metadataPrefix": "oai_dc"}
    seen: set[str] = set()
    count = 0
    token, also = "", False  # whether the prefix goes with the token too: against the protocol, and pycsw insists on it
    while True:
        again = {"resumptionToken": token} if token else {}
        tree = _tree(errands.get(asked(**(prefix if also or not token else {}), **again)), url)
        error = next(tree.root.iterchildren("{*}error"), None)
        if error is not None:
            if token and not also:
                also = True
                continue
            if xmltree.attribute(error, "code") == "noRecordsMatch":
                return
            raise Unavailable(f"{endpoints.without_secrets(url)} refused: {xmltree.text(error)[:200]}")
        records = list(tree.root.iter("{*}record"))
        for record in records:
            header = xmltree.child(record, "header")
            if xmltree.attribute(header, "status") == "deleted":
                continue
            found = _xml_record(record)
            found.identifier = xmltree.text(header, "identifier") or found.identifier
            texts = [xmltree.text(one) for one in record.iter("{*}identifier")]
            found.addresses = _addresses([*found.addresses, *texts])
            yield found
        seen.add(token)
        count += len(records)
        more = next(tree.root.iter("{*}resumptionToken"), None)
        token, size = xmltree.text(more), xmltree.attribute(more, "completeListSize")
        if not token or not records or token in seen or count >= (whole_number(size) or 1 << 62):
            return  # the last two: pycsw begins anew after the end


def _waf(url: str, errands: Errands) -> Iterator[Found]:
    """A web-accessible folder: XML files of metadata, and folders below it."""
    waiting = [url]
    seen: set[str] = set()
    while waiting:
        address = waiting.pop()
        if address in seen:
            continue
        seen.add(address)
        page = errands.get(address).body.decode("utf-8", "replace")
        for href in re.findall(r"""href\s*=\s*["']([^"'#?]+)["']""", page, re.I):
            target = urljoin(address, href)
            if not target.startswith(url.rpartition("/")[0]):
                continue
            if target.endswith("/"):
                waiting.append(target)
            elif target.lower().endswith(".xml"):
                tree = _tree(errands.get(target), target)
                found = _xml_record(tree.root)
                found.identifier = found.identifier or target
                yield found


def _thredds(url: str, errands: Errands) -> Iterator[Found]:
    """catalog.xml and those it refers to; a record per dataset, with its WMS and WCS."""
    address = url.replace("catalog.html", "catalog.xml")
    waiting = [address]
    seen: set[str] = set()
    while waiting:
        address = waiting.pop()
        if address in seen:
            continue
        seen.add(address)
        tree = _tree(errands.get(address), address)
        bases = {
            xmltree.attribute(one, "serviceType").upper(): xmltree.attribute(one, "base")
            for one in tree.root.iter("{*}service")
        }
        for one in tree.root.iter("{*}dataset"):
            path = xmltree.attribute(one, "urlPath")
            if path:
                places = [
                    endpoints.capabilities(urljoin(address, bases[kind] + path), kind.lower())
                    for kind in ("WMS", "WCS")
                    if bases.get(kind)
                ]
                name = xmltree.attribute(one, "name")
                yield Found(xmltree.attribute(one, "ID") or path, name, places, f"{name} {path}")
        for one in tree.root.iter("{*}catalogRef"):
            if href := xmltree.attribute(one, "href"):
                waiting.append(urljoin(address, href))


KINDS: dict[str, Callable[[str, Errands], Iterator[Found]]] = {
    "csw": _csw,
    "records": _records,
    "stac": _stac,
    "ckan": _ckan,
    "dcat": _dcat,
    "geonetwork": _geonetwork,
    "arcgis": _arcgis,
    "oai": _oai,
    "waf": _waf,
    "thredds": _thredds,
}


def _addresses(texts: list[str]) -> list[str]:
    """Those that may be services, each once."""
    found: dict[str, None] = {}
    for text in texts:
        text = text.strip()
        if text.startswith(("http://", "https://")) and len(text) < 4000 and endpoints.may_be_service(text):
            try:
                found[urls.canonical(text)] = None
            except urls.UrlError:
                continue
    return list(found)[:200]


def _tree(reply: Reply, url: str) -> xmltree.Tree:
    data = xmltree.to_utf8(reply.body, reply.content_type)
    start = xmltree.prolog(data)
    tree = xmltree.parse(data, start) if start is not None else None
    if tree is None:
        raise Unavailable(f"{endpoints.without_secrets(url)} answered with something that is not XML")
    return tree


def _json(reply: Reply, url: str) -> dict[str, Any]:
    try:
        data = msgspec.json.decode(xmltree.to_utf8(reply.body))
    except (msgspec.DecodeError, RecursionError):
        raise Unavailable(f"{endpoints.without_secrets(url)} answered with something that is not JSON")
    return data if isinstance(data, dict) else {}


def _links(data: dict[str, Any]) -> list[dict[str, Any]]:
    links = data.get("links")
    found = links if isinstance(links, list) else []
    return [link for link in found if isinstance(link, dict) and isinstance(link.get("href"), str)]


def _next(data: dict[str, Any], base: str) -> str:
    return next((urljoin(base, link["href"]) for link in _links(data) if link.get("rel") == "next"), "")
