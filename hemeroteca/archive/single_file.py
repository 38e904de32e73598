"""An archived page as one document: the styles and pictures it had then are inside, its scripts are gone.

A frame can show it without asking anybody for anything. Whoever hands it out adds `SANDBOX`, or a policy as strict.
"""

import base64
import re
from urllib.parse import urljoin

from lxml import etree, html

from hemeroteca import urls
from hemeroteca.archive import content, queries
from hemeroteca.archive.capture_rows import CaptureRow
from hemeroteca.errors import Busy
from hemeroteca.warc import WarcReadError

MAX_BYTES = 1 << 20  # of the page
MAX_SHEETS, MAX_SHEET = 12, 256 << 10
MAX_PICTURES, MAX_PICTURE = 40, 256 << 10
MAX_INLINED = 4 << 20  # of all of them
PICTURES = frozenset(["image/png", "image/jpeg", "image/gif", "image/webp", "image/svg+xml", "image/avif"])
_GONE = ("script", "noscript", "iframe", "frame", "object", "embed", "base", "template", "applet", "source", "dialog")
_LEFT = frozenset(["srcset", "action", "formaction", "ping", "background", "autofocus", "target", "contenteditable"])
_IMPORT = re.compile(r"@import[^;]{0,2000};", re.I)
_FETCHED = re.compile(r"url\(\s*(?!['\"]?\s*data:)[^)]*\)?", re.IGNORECASE)
_STYLE_END = re.compile(r"</(?=style)", re.I)


def still(capture: CaptureRow) -> html.HtmlElement | None:
    """The document, ready to be written; None when the capture is no page that can be read. Raises WarcReadError."""
    data, charset = content.rendered_html(capture), "utf-8"
    if not data:
        copy = content.decoded(capture)
        if copy.media_type not in content.HTML:
            return None
        data, charset = copy.body, content.text(capture).charset or "utf-8"
    try:
        text = data[:MAX_BYTES].decode(charset, "replace")
        root = html.document_fromstring(text.encode(), parser=html.HTMLParser(encoding="utf-8", huge_tree=False))
    except (LookupError, etree.LxmlError, ValueError, AssertionError):
        return None
    base = root.find(".//base[@href]")
    inside = _Inlined(capture, urljoin(capture.url, base.get("href")[:2000]) if base is not None else capture.url)
    for element in list(root.iter()):
        if not isinstance(element.tag, str) or element.tag in _GONE:
            element.drop_tree() if element.getparent() is not None else None
        elif element.tag == "link":
            inside.sheet(element)
        elif element.tag == "meta" and element.get("http-equiv"):
            element.drop_tree()
        else:
            if element.tag == "img":
                inside.picture(element)
            _disarm(element)
    return root


def _quiet(style: str) -> str:
    """A style that fetches nothing: the policy would refuse it, and the browser complain of each."""
    return _FETCHED.sub('url("data:,")', style)


def _disarm(element: html.HtmlElement) -> None:
    if element.tag == "style" and element.text:
        element.text = _quiet(element.text)
    if element.get("style"):
        element.set("style", _quiet(element.get("style")))
    for name in list(element.attrib):
        if name.startswith("on") or name in _LEFT:
            del element.attrib[name]
    if element.tag in ("a", "area"):
        element.attrib.pop("href", None)


class _Inlined:
    """What the archive has of a page's styles and pictures at its time, up to a limit."""

    def __init__(self, page: CaptureRow, base: str) -> None:
        self._page, self._base = page, base
        self._sheets, self._pictures, self._room = MAX_SHEETS, MAX_PICTURES, MAX_INLINED

    def sheet(self, link: html.HtmlElement) -> None:
        found = None
        if "stylesheet" in link.get("rel", "").lower() and self._sheets > 0:
            self._sheets -= 1
            found = self._bytes(link.get("href", ""), MAX_SHEET)
        if found is None:
            link.drop_tree()
            return
        style = html.Element("style")
        if link.get("media"):
            style.set("media", link.get("media"))
        style.text = _STYLE_END.sub("<\\/", _quiet(_IMPORT.sub("", found[0].decode("utf-8", "replace"))))
        link.getparent().replace(link, style)

    def picture(self, image: html.HtmlElement) -> None:
        address = image.get("src", "")
        if address[:5].lower() == "data:":
            return
        image.attrib.pop("src", None)
        if self._pictures <= 0:
            return
        self._pictures -= 1
        found = self._bytes(address, MAX_PICTURE)
        if found is not None and found[1] in PICTURES:
            image.set("src", f"data:{found[1]};base64,{base64.b64encode(found[0]).decode()}")

    def _bytes(self, address: str, most: int) -> tuple[bytes, str] | None:
        try:
            url = urls.canonical(urljoin(self._base, address.strip()[:2000]))
            row = queries.closest(url, self._page.captured_ms)
            if row is None or row.body_size > most or row.status >= 400:
                return None
            copy = content.decoded(row)
        except (urls.UrlError, ValueError, WarcReadError, Busy):
            return None
        if not copy.body or len(copy.body) > min(most, self._room):
            return None
        self._room -= len(copy.body)
        return copy.body, copy.media_type
