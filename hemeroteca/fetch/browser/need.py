"""Whether a page must be opened in a browser to be read: its HTML has no text until scripts run.

Pure and cheap: nearly all pages are settled by the length of their text; only short ones are looked at. A mistake is
not grave in either direction: a page opened in vain costs seconds, one not opened has the setting `render = always`.
"""

import re

from hemeroteca.extract import Document

_PLENTY = 1500  # characters of text nobody would call an empty page
_HARDLY_ANY = 60
_LITTLE = 400
_FEW_LINKS = 5  # a shell has its links in its scripts
_LOOKED_AT = 512 << 10  # bytes
_BIG_SCRIPT = 2000  # bytes of inline script that may well write a page

_NOSCRIPT = re.compile(rb"<noscript\b[^>]*>(.{0,20000}?)</noscript", re.I | re.S)
_ASKS_FOR_SCRIPTS = re.compile(rb"java\s?script", re.I)
_TAG = re.compile(rb"<[^>]{0,2000}>")
_SCRIPT = re.compile(rb"<script\b([^>]{0,2000})>(.{0,200000}?)</script", re.I | re.S)
_SOURCE = re.compile(rb"\bsrc\s*=", re.I)
_DATA = re.compile(rb"\btype\s*=\s*[\"']?(?:application/(?:ld\+)?json|text/template|text/x-)", re.I)
# An element made to be filled: by its usual name, or a custom element with nothing but a spinner in it.
_ROOT = re.compile(
    rb"<(?:div|main|section|body)\b[^>]{0,300}\bid\s*=\s*[\"']?"
    rb"(?:root|app|__next|__nuxt|___gatsby|q-app|svelte|main-app|react-root|react-app|app-root|app-container|"
    rb"application|mount|ember\d*|vue-app|spa|page-root|site-root|outlet)[\"'\s>]",
    re.I,
)
_EMPTY_ROOT = re.compile(
    rb"<(div|main|section)\b[^>]{0,300}\bid\s*=\s*[\"']?[\w-]{1,60}[\"']?[^>]{0,300}>"
    rb"(?:\s|<!--.{0,500}?-->)*</\1\s*>",
    re.I | re.S,
)
_CUSTOM_ROOT = re.compile(
    rb"<([a-z][a-z0-9]{0,30}-[a-z0-9-]{1,40})(?:\s[^>]{0,500})?>"
    rb"(?:\s|<!--.{0,500}?-->)*(?:loading[. \xe2\x80\xa6]*)?</\1\s*>",
    re.I | re.S,
)
_FRAMEWORK = re.compile(
    rb"data-reactroot|__NEXT_DATA__|__NUXT__|__remixContext|__sveltekit|__APOLLO_STATE__|__INITIAL_STATE__|"
    rb"webpackJsonp|webpackChunk|\bng-(?:app|version|controller)\b|data-ng-app|data-ember|v-cloak|x-cloak|data-server-rendered|"
    rb"/static/js/(?:main|bundle|runtime)|/assets/index[-.][\w-]{6,}\.js|chunk-vendors|runtime[.~-][\w.~-]{0,40}\.js|"
    rb"polyfills[.-][\w.-]{0,40}\.js|main[.-][\w-]{6,40}\.js|/_next/static|/_nuxt/|flutter(?:_bootstrap)?\.js|main\.dart\.js",
    re.I,
)
_SHOWS_SOMETHING = re.compile(rb"<(?:img|picture|video|audio|object|embed|iframe|frame|canvas|svg|form)\b", re.I)


def needs_browser(document: Document, body: bytes) -> bool:
    """Whether scripts have yet to write this page. `body` is the HTML without its content encoding."""
    if document.kind not in ("html", "xhtml") or len(document.text) > _PLENTY or document.refresh:
        return False
    if sum(link.kind == "page" for link in document.links) > _FEW_LINKS:
        return False
    html = body[:_LOOKED_AT]
    external, inline = _scripts(html)
    if not external and not inline:
        return False
    notices = b" ".join(_NOSCRIPT.findall(html))
    length = len(document.text) - len(_TAG.sub(b"", notices).strip())
    if length > _LITTLE:
        return False
    root = bool(_ROOT.search(html)) or bool(_CUSTOM_ROOT.search(html))
    if root or _FRAMEWORK.search(html):
        return True
    if notices and _ASKS_FOR_SCRIPTS.search(notices):
        return length <= _LITTLE // 2
    if length > _HARDLY_ANY:
        return False
    return bool(_EMPTY_ROOT.search(html)) or not _SHOWS_SOMETHING.search(html) or inline >= _BIG_SCRIPT


def _scripts(html: bytes) -> tuple[int, int]:
    """How many scripts are loaded, and how many bytes of script stand in the page."""
    external = inline = 0
    for attributes, text in _SCRIPT.findall(html):
        if _DATA.search(attributes):
            continue
        if _SOURCE.search(attributes):
            external += 1
        else:
            inline += len(text.strip())
    return external, inline
