"""SVG documents: the pictures, styles, fonts and other drawings they are made of, and where their anchors lead."""

import re

from hemeroteca.extract import css, text, xml
from hemeroteca.extract.document import Document
from hemeroteca.extract.readers import Content, register

_NOT_LOADED = ("a", "metadata", "license")
_DATA = re.compile(r"\s*data:", re.I)


class SvgReader:
    def sniff(self, content: Content) -> str:
        if content.media_type == "image/svg+xml":
            return "svg"
        return "svg" if content.media_type != "text/html" and content.root == "svg" else ""

    def read(self, content: Content, document: Document) -> None:
        handler = _Handler()
        xml.parse(content.body, content.content_type, document, content.limits, handler)
        text.add_links(document, handler.needed, "requisite", content.limits)
        text.add_links(document, handler.pages, "page", content.limits)


class _Handler(xml.Handler):
    def __init__(self) -> None:
        self.needed: list[str] = []
        self.pages: list[str] = []

    def begin(self, name: str, attributes: dict[str, str]) -> None:
        for attribute, value in attributes.items():
            plain = attribute.rpartition("}")[2].rpartition(":")[2]
            if plain in ("href", "src"):
                if name == "a":
                    self.pages.append(value.strip())
                elif name not in _NOT_LOADED and not _DATA.match(value):
                    self.needed.append(value.strip())
            elif "url(" in value:
                self.needed.extend(css.addresses(value))

    def end(self, name: str, text: str) -> None:
        if name == "style":
            self.needed.extend(css.addresses(text))


register(SvgReader(), priority=32)
