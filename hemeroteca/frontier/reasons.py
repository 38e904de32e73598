"""Why a page was not captured, or not whole: the codes of visits as sentences, in the language of the moment.

The engine writes `code: detail` (`timeout: no byte for 30 s`) and counts by the code. A code that is not known here is
shown as it is; the detail stays English, as servers and libraries write it.
"""

import re

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy


def sentence(reason: str) -> str:
    """The sentence of a reason's code; a reason without one that is known stays what it is."""
    found = _CODE.match(reason)
    if found is None:
        return reason
    if found[1]:
        return str(STATUSES[found[1]]) if found[1] in STATUSES else _("the server answered %s") % found[1]
    if found[0] not in SENTENCES:
        if found[0].endswith(("-cut", "-limit", "-too-long")):
            return _("it is so long that only a part was read")
        if found[0].startswith(_UNREADABLE) or found[0].endswith("-unreadable"):
            return _("its contents could not be read, or not whole")
    return str(SENTENCES.get(found[0], reason))


def detail(reason: str) -> str:
    """What a reason says that its sentence does not: `no byte for 30 s`, a rule of robots.txt. Often nothing."""
    found = _CODE.match(reason)
    more = _DETAIL.fullmatch(reason, found.end()) if found else None
    return (more[1] or more[2]) if more else ""


def explained(reason: str) -> str:
    """The sentence, with the detail where there is one: `no connection to its host (port 9 is closed)`."""
    told, more = sentence(reason), detail(reason)
    return f"{told} ({more})" if told != reason and more else told


def explained_at(host_and_reason: str) -> str:
    """The same of `host: reason`."""
    host, colon, reason = host_and_reason.partition(": ")
    return f"{host}: {explained(reason)}" if colon else host_and_reason


_UNREADABLE = ("pdf-", "office-", "bad-", "cut-", "unknown-", "parse-")
_DETAIL = re.compile(r": (.+)| of .* forbids [^(]*\((.+)\)", re.S)  # the second of robots.txt: its rule
_CODE = re.compile(r"http-(\d{3})\b|[a-z][a-z.-]*[a-z]")
SENTENCES = {
    "robots": gettext_lazy("robots.txt forbids it"),
    "robots.txt": gettext_lazy("robots.txt forbids it"),
    "robots-unreachable": gettext_lazy("robots.txt could not be read"),
    "noarchive": gettext_lazy("the page asks not to be archived"),
    "taken-down": gettext_lazy("it was taken down and is not captured any more"),
    "trap": gettext_lazy("its address looks like one of a series without end"),
    "host-page-cap": gettext_lazy("its host has as many pages as one host may have"),
    "host-unreachable": gettext_lazy("its host does not answer"),
    "lease-expired": gettext_lazy("nobody brought it in time"),
    "requisites-cut": gettext_lazy("it needs styles, modules or images that lead further than is followed"),
    "post-not-kept": gettext_lazy("answers to its scripts that are too long to keep"),
    "render-timeout": gettext_lazy("the browser did not finish it in time"),
    "page-crashed": gettext_lazy("the browser crashed on it"),
    "browser-died": gettext_lazy("the browser crashed on it"),
    "browser-memory": gettext_lazy("the browser needed too much memory for it"),
    "request": gettext_lazy("it cannot be asked for"),
    "links-cut": gettext_lazy("it has more links than are followed"),
    "charset-errors": gettext_lazy("some of its characters could not be read"),
    "charset-lie": gettext_lazy("its characters are not those it declares"),
    "dom-too-deep": gettext_lazy("its elements lie so deep inside one another that only a part was read"),
    "formatting-dropped": gettext_lazy("its formatting would have grown without end and was left out"),
    "entities-refused": gettext_lazy("the entities it declares were left out"),
    "too-many-encodings": gettext_lazy("it is packed too many times to be read"),
    "not-gzip": gettext_lazy("it says that it is packed and is not"),
    "include-fits-nothing": gettext_lazy("no element fits the rules of its site"),
    "leading-junk": gettext_lazy("something stands before its beginning"),
    "never-quiet": gettext_lazy("it never stopped loading"),
    "scrolling-stopped": gettext_lazy("it is so long that it was not scrolled to its end"),
    "scripts-stopped": gettext_lazy("its scripts were stopped"),
    "no-screenshot": gettext_lazy("no picture of it could be taken"),
    "download-refused": gettext_lazy("a download it began was refused"),
    "popup-closed": gettext_lazy("a window it opened was closed"),
    "dialog-dismissed": gettext_lazy("a dialog it opened was dismissed"),
    "websocket-refused": gettext_lazy("a connection its scripts wanted was refused"),
    "duplicate": gettext_lazy("the same bytes as another page"),
    "out-of-scope": gettext_lazy("it leads out of the crawl"),
    "redirect-loop": gettext_lazy("its redirects lead in a circle"),
    "too-many-redirects": gettext_lazy("too many redirects in a row"),
    "bad-redirect": gettext_lazy("it redirects to no address"),
    "dns": gettext_lazy("its host has no address in the DNS"),
    "connect": gettext_lazy("no connection to its host"),
    "tls": gettext_lazy("no secure connection to its host"),
    "timeout": gettext_lazy("no answer in time"),
    "too-slow": gettext_lazy("the answer came too slowly"),
    "reset": gettext_lazy("the connection broke off"),
    "empty": gettext_lazy("the server answered nothing"),
    "protocol": gettext_lazy("the answer was no HTTP"),
    "proxy": gettext_lazy("the proxy does not work"),
    "refused-address": gettext_lazy("its host has a private address, which is not visited"),
    "refused-port": gettext_lazy("its port is not visited"),
    "header-too-large": gettext_lazy("the head of the answer was too long"),
    "url": gettext_lazy("its address cannot be used"),
    "storage": gettext_lazy("it could not be stored"),
    "internal": gettext_lazy("a fault of our own"),
    "browser": gettext_lazy("the browser could not open it"),
    "browser-missing": gettext_lazy("it needs a browser and there is none"),
    "needs-browser": gettext_lazy("it seems to need a browser"),
    "truncated-length": gettext_lazy("longer than allowed; its beginning was kept"),
    "truncated-time": gettext_lazy("it took longer than allowed; what had come was kept"),
    "truncated-disconnect": gettext_lazy("the connection broke off; what had come was kept"),
}
STATUSES = {
    "401": gettext_lazy("the server asks for a login (401)"),
    "403": gettext_lazy("the server refuses it (403)"),
    "404": gettext_lazy("the server does not have it (404)"),
    "410": gettext_lazy("it is gone for good, says the server (410)"),
    "429": gettext_lazy("the server asks for fewer visits (429)"),
    "500": gettext_lazy("the server failed (500)"),
    "502": gettext_lazy("the server behind the server failed (502)"),
    "503": gettext_lazy("the server is not available (503)"),
    "504": gettext_lazy("the server behind the server did not answer (504)"),
}
