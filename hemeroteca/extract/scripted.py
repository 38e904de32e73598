"""Whether a page must be opened in a browser to be read: its HTML has no text until scripts run.

Pure and cheap: nearly all pages are settled by the length of their text; only short ones are looked at. A mistake is
not grave in either direction: a page opened in vain costs seconds, one not opened has the setting `render = always`.
"""

from collections.abc import Iterator

import re2

from hemeroteca.extract.document import Document

_PLENTY = 1500  # characters of text nobody would call an empty page
_HARDLY_ANY = 60
_LITTLE = 400
_FEW_LINKS = 5  # a shell has its links in its scripts
_LOOKED_AT = 512 << 10  # bytes
_BIG_SCRIPT = 2000  # bytes of inline script that may well write a page


def _pattern(text: str) -> "re2._Regexp":
    """Hostile pages are looked at too: RE2 takes time in proportion to the page, whatever is in it."""
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    return re2.compile(text.encode("latin-1"), options)


_TAG = _pattern(r"<[^>]*>")
_SOURCE = _pattern(r"\bsrc\s*=")
_DATA = _pattern(r"\btype\s*=\s*[\"']?(?:application/(?:ld\+)?json|text/template|text/x-)")
# An element made to be filled: by its usual name, or a custom element with nothing in it but a word of patience.
_ROOT = _pattern(
    r"<(?:div|main|section|body)\b[^>]*\bid\s*=\s*[\"']?"
    r"(?:root|app|__next|__nuxt|___gatsby|q-app|svelte|main-app|react-root|react-app|app-root|app-container|"
    r"application|mount|ember\d*|vue-app|spa|page-root|site-root|outlet)[\"'\s>]"
    r"|<[a-z][a-z0-9]*-[a-z0-9-]+(?:\s[^>]*)?>\s*(?:loading[^<]{0,10})?</[a-z]+[0-9]*-"
)
_EMPTY_ROOT = _pattern(r"<(?:div|main|section)\b[^>]*\bid\s*=[^>]*>\s*</(?:div|main|section)\s*>")
_FRAMEWORK = _pattern(
    r"data-reactroot|__next_data__|__nuxt__|__remixcontext|__sveltekit|__apollo_state__|__initial_state__|"
    r"webpackjsonp|webpackchunk|\bng-(?:app|version|controller)\b|data-ng-app|data-ember|v-cloak|x-cloak|"
    r"/static/js/(?:main|bundle|runtime)|/assets/index[-.][\w-]{6,}\.js|chunk-vendors|runtime[.~-][\w.~-]*\.js|"
    r"polyfills[.-][\w.-]*\.js|main[.-][\w-]{6,40}\.js|/_next/static|/_nuxt/|"
    r"flutter(?:_bootstrap)?\.js|main\.dart\.js"
)
_SHOWS_SOMETHING = _pattern(r"<(?:img|picture|video|audio|object|embed|iframe|frame|canvas|svg|form)\b")


def needs_browser(document: Document, body: bytes) -> bool:
    """Whether scripts have yet to write this page. `body` is the HTML without its content encoding."""
    if document.kind not in ("html", "xhtml") or len(document.text) > _PLENTY or document.refresh:
        return False
    if sum(link.kind == "page" for link in document.links) > _FEW_LINKS:
        return False
    html = b"".join(_outside(body[:_LOOKED_AT].lower(), b"<!--", b"-->"))
    external, inline = _scripts(html)
    if not external and not inline:
        return False
    notices = b" ".join(_inside(html, b"<noscript", b"</noscript"))
    length = len(document.text) - len(_TAG.sub(b"", notices).strip())
    if length > _LITTLE:
        return False
    if _ROOT.search(html) or _FRAMEWORK.search(html):
        return True
    if b"javascript" in notices:
        return length <= _LITTLE // 2
    if length > _HARDLY_ANY:
        return False
    return bool(_EMPTY_ROOT.search(html)) or not _SHOWS_SOMETHING.search(html) or inline >= _BIG_SCRIPT


def _scripts(html: bytes) -> tuple[int, int]:
    """How many scripts are loaded, and how many bytes of script stand in the page."""
    external = inline = 0
    for script in _inside(html, b"<script", b"</script"):
        attributes, _, text = script.partition(b">")
        if _DATA.search(attributes):
            continue
        if _SOURCE.search(attributes):
            external += 1
        else:
            inline += len(text.strip())
    return external, inline


def _inside(html: bytes, begin: bytes, end: bytes) -> Iterator[bytes]:
    """What stands between each `begin` and the next `end`."""
    at = html.find(begin)
    while at >= 0:
        start = at + len(begin)
        stop = html.find(end, start)
        if stop < 0:
            return
        yield html[start:stop]
        at = html.find(begin, stop)


def _outside(html: bytes, begin: bytes, end: bytes) -> Iterator[bytes]:
    """What stands elsewhere; a `begin` without `end` hides nothing."""
    at = 0
    while (start := html.find(begin, at)) >= 0 and (stop := html.find(end, start)) >= 0:
        yield html[at:start]
        at = stop + len(end)
    yield html[at:]
