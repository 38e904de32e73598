"""The reader of geographic services and datasets, registered in `extract`; pure, for it runs in ingest processes.

What it recognised travels as a find: `service` or `dataset` (a `Description`), and `endpoints` (`Endpoints`): addresses
in pages and scripts that may be services and are not among their links.
"""

from typing import TYPE_CHECKING

import msgspec

from hemeroteca import lazy
from hemeroteca.extract import language, modules
from hemeroteca.extract.document import Document, Link
from hemeroteca.extract.feeds import FeedReader
from hemeroteca.extract.html import HtmlReader
from hemeroteca.extract.readers import Content, register
from hemeroteca.geo import endpoints
from hemeroteca.geo.description import Description

if TYPE_CHECKING:
    from hemeroteca.geo import atom, datasets, detection, directories, xmltree
else:  # most pages need none of them
    atom, datasets, detection, directories, xmltree = (
        lazy.Module(f"hemeroteca.geo.{name}") for name in ("atom", "datasets", "detection", "directories", "xmltree")
    )

SERVICE, DATASET, ENDPOINTS = "service", "dataset", "endpoints"  # names of finds
MAX_LOOK = 8 << 10  # bytes in which the root must begin
_FEED_SIGNS = (b"georss", b"inspire_dls", b"/owc/", b"geo:lat", b"def/crs", b"enclosure", b"wgs84_pos")
_JSON_SIGNS = (
    b'"stac_version"', b'"conformsTo"', b'"collections"', b'"processes"', b'"Feature', b'"coordinates"', b'"links"',
    b'"currentVersion"', b'"serviceDescription"', b'"tilejson"', b'"geometricError"', b'"Datastreams"',
    b'"geometryType"', b'"supportedBindings"',
)  # fmt: skip


class Endpoints(msgspec.Struct, array_like=True):
    """Addresses that may be services."""

    addresses: list[str] = []


class GeoReader:
    def __init__(self) -> None:
        self._html = HtmlReader()
        self._feeds = FeedReader()
        self._scripts = modules.ModuleReader()
        self._last: tuple[bytes, str, Description | None] = (b"", "", None)  # what sniff learned, for read

    def sniff(self, content: Content) -> str:
        start = content.start.lstrip()
        first = start[:1]
        if first == b"<" or content.media_type == "text/html":
            return self._sniff_markup(content, start)
        if first in (b"{", b"["):
            return self._claim(content) if any(sign in content.body for sign in _JSON_SIGNS) else ""
        if content.body.startswith(datasets.STARTS):
            return self._claim(content)
        if content.media_type in modules.TYPES:
            return "script" if endpoints.has_signs(content.body) else ""
        if content.body[:2] in (b"\0<", b"\0{") or content.media_type.endswith("xml"):
            return self._claim(content)
        return ""

    def read(self, content: Content, document: Document) -> None:
        if document.kind in ("html", "xhtml"):
            self._html.read(content, document)
            self._read_page(content, document)
            return
        if document.kind == "script":
            self._scripts.read(content, document)
            if found := endpoints.mine(content.body, content.url):
                document.finds = {**document.finds, ENDPOINTS: Endpoints(found)}
            return
        if document.kind == "feed":
            self._feeds.read(content, document)
        description = self._description(content)
        if description is None or not description.found:
            return
        _add(document, description)
        if document.kind == "feed":
            return
        document.title = description.title[: content.limits.line_chars]
        document.description = description.abstract[: content.limits.description_chars]
        document.text = document.main = _text_of(description)[: content.limits.text_chars]
        document.language = language.detect(document.main, description.language or content.language)
        document.links = [Link(address, "page") for address in description.links[: content.limits.links]]
        document.notes.extend(description.notes[:10])

    def _sniff_markup(self, content: Content, start: bytes) -> str:
        if content.begins_as_html or (start[:9].lower() == b"<!doctype" and b"<html" in content.body[:4096].lower()):
            kind = self._html.sniff(content)
            return kind if kind and endpoints.has_signs(content.body) else ""
        if content.media_type == "application/xhtml+xml" or content.root == "html":
            return ""
        found = xmltree.prolog(xmltree.to_utf8(content.body[:MAX_LOOK]), detection.XML_ROOTS)
        if found is None or found.name not in detection.XML_ROOTS:
            return ""
        if found.name in atom.ROOT_NAMES and found.name != "OWSContext":
            if not any(sign in content.body for sign in _FEED_SIGNS):
                return ""
            return "feed" if self._claim(content) and self._feeds.sniff(content) else ""
        return self._claim(content)

    def _claim(self, content: Content) -> str:
        description = detection.describe(content.body, content.content_type, content.url)
        self._last = (content.body, content.url, description)
        if not description.found:
            return ""
        return "service" if description.is_service else "dataset"

    def _description(self, content: Content) -> Description | None:
        body, url, description = self._last
        self._last = (b"", "", None)
        if body is content.body and url == content.url:
            return description
        return detection.describe(content.body, content.content_type, content.url)

    def _read_page(self, content: Content, document: Document) -> None:
        if directories.is_arcgis(content.body[:4096]):
            _add(document, detection.describe(content.body, content.content_type, content.url))
        if found := endpoints.mine(content.body, content.url):
            document.finds = {**document.finds, ENDPOINTS: Endpoints(found)}


def _add(document: Document, description: Description) -> None:
    if description.found:
        name = SERVICE if description.is_service else DATASET
        document.finds = {**document.finds, name: description}


def _text_of(description: Description) -> str:
    """What full-text search finds a service by."""
    lines = [description.title, description.abstract, ", ".join(description.keywords), description.provider]
    for layer in description.layers[:2000]:
        lines.append(" ".join(part for part in (layer.title or layer.name, layer.abstract[:500]) if part))
    return "\n".join(line for line in lines if line)


register(GeoReader(), priority=60)
