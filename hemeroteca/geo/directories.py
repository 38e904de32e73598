"""HTML pages that are service directories: ArcGIS REST Services Directory, which many servers give instead of JSON."""

import re
from urllib.parse import urljoin

from resiliparse.parse.html import HTMLTree

from hemeroteca.geo import endpoints
from hemeroteca.geo.description import MAX_LAYERS, Description, FoundLayer, none

MAX_BYTES = 2 << 20
_ARCGIS = re.compile(rb"<link[^>]{0,200}/rest/static/[\w.-]+\.css", re.I)
_TITLE = re.compile(r"(?:Folder|Services):?\s*/?", re.I)
_SERVER = re.compile(r"/rest/services/(?:.+/)?(\w+)Server/?(?:[?#]|$)", re.I)
_VERSION = re.compile(r"(?:Current Version|ArcGIS Server)\D{0,40}(\d+(?:\.\d+)+)", re.I)


def is_arcgis(start: bytes) -> bool:
    """By the style sheet that all these pages have in their head."""
    return _ARCGIS.search(start) is not None


def read(data: bytes, url: str) -> Description:
    if not is_arcgis(data[:4096]):
        return none("an HTML page")
    tree = HTMLTree.parse(data[:MAX_BYTES].decode("utf-8", "replace"))
    body = tree.body
    if body is None:
        return none("an HTML page without a body")
    heading = body.query_selector("h2")
    title = " ".join((heading.text if heading is not None else tree.title or "").split())
    words = " ".join(body.text.split())
    version = _VERSION.search(words)
    found = Description(
        type="arcgis",
        version=version[1] if version else "",
        title=_TITLE.sub("", title, count=1).strip() or "ArcGIS REST services",
        endpoint=endpoints.endpoint_or_empty(url).partition("?")[0].rstrip("/"),
        software=f"ArcGIS Server {version[1] if version else ''}".strip(),
    )
    here = found.endpoint.lower()
    for anchor in body.query_selector_all("a[href]"):
        href = anchor.getattr("href") or ""
        address = urljoin(url, href) if url else href
        plain = address.partition("?")[0].rstrip("/")
        text = " ".join(anchor.text.split())
        if len(found.layers) >= MAX_LAYERS:
            break
        if _SERVER.search(address) and plain.lower() != here:
            found.layers.append(FoundLayer(name=text or plain, url=plain if url else ""))
        elif re.search(r"Server/\d+/?$", plain, re.I):
            found.layers.append(FoundLayer(name=plain.rpartition("/")[2], title=text, url=plain if url else ""))
        else:
            continue
        if url:
            found.links.append(plain + "?f=json")
    if url:
        found.links.insert(0, found.endpoint + "?f=json")
    found.layers = list({layer.name: layer for layer in found.layers}.values())
    del found.links[1000:]
    return found
