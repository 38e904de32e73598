"""The operators of the query language: their names, and what a value of each means."""

import re

from hemeroteca.search.analysis import code_of
from hemeroteca.search.query.clauses import Clause, Group, Node, Only, Phrase, Within

FIELDS = {
    "site": "site",
    "sitio": "site",
    "domain": "site",
    "dominio": "site",
    "host": "host",
    "url": "url",
    "inurl": "url",
    "enurl": "url",
    "intitle": "title",
    "title": "title",
    "titulo": "title",
    "título": "title",
    "entitulo": "title",
    "inbody": "body",
    "body": "body",
    "intext": "body",
    "texto": "body",
    "entexto": "body",
    "inanchor": "anchor",
    "anchor": "anchor",
    "enlace": "anchor",
    "filetype": "type",
    "type": "type",
    "tipo": "type",
    "ext": "type",
    "lang": "language",
    "language": "language",
    "idioma": "language",
    "lengua": "language",
    "collection": "collection",
    "coleccion": "collection",
    "colección": "collection",
    "before": "before",
    "antes": "before",
    "after": "after",
    "since": "after",
    "desde": "after",
    "despues": "after",
    "después": "after",
    "hasta": "until",
    "until": "until",
    "at": "at",
    "date": "date",
    "fecha": "date",
    "year": "date",
    "anno": "date",
    "año": "date",
    "captured": "captured",
    "captura": "captured",
    "near": "near",
    "cerca": "near",
}
TEXT_PARTS = frozenset(("title", "body", "anchor", "url"))
PROPERTIES = frozenset(("site", "host", "type", "language", "collection"))
TIMES = frozenset(("before", "after", "until", "at", "date", "captured"))
# Operators of other search engines: people try them, and should know that they are words here.
_FOREIGN = """
    allinanchor allintext allintitle allinurl author autor cache daterange define feed info link linkdomain location map
    numrange related source stocks weather
"""
FOREIGN = frozenset(_FOREIGN.split())


def field_of(name: str) -> str:
    """What a name before a colon means: `sitio` is `site`; empty when it means nothing."""
    return FIELDS.get(name.lower(), "")


_SCHEME = re.compile(r"^[a-z][a-z+.-]*://", re.IGNORECASE)
_PORT = re.compile(r":\d+$")


def only(name: str, value: str) -> Node | None:
    """Pages with a property, or with one of several (`lang:es,en`); None when no page can have it."""
    values = value.split(",") if name != "collection" else [value]
    found = [node for one in values[:_MAX_VALUES] if (node := _one(name, one)) is not None]
    return found[0] if len(found) == 1 else Group(tuple(map(Clause, found))) if found else None


_MAX_VALUES = 50


def _one(name: str, value: str) -> Node | None:
    value = value.strip()
    if name in ("site", "host"):
        return _place(name, value)
    if name == "type":
        value = value.lower().lstrip(".")
        value = {"htm": "html", "xhtml": "html", "txt": "text", "rss": "feed", "atom": "feed"}.get(value, value)
    elif name == "language":
        value = code_of(value)
    return Only(name, value) if value else None


def _place(name: str, value: str) -> Node | None:
    """A host; with a path, its pages whose address begins so."""
    host, _, path = _SCHEME.sub("", value).partition("/")
    host = host.lower().rpartition("@")[2]
    port = _PORT.search(host)
    bare = _PORT.sub("", host).strip(".").removeprefix("*.")
    if not bare.isascii():
        try:
            bare = bare.encode("idna").decode("ascii")
        except UnicodeError:
            pass
    if not bare:
        return None
    here = Only(name, bare)
    if not re.search(r"\w", path):
        return here
    address = Within("url", f"{bare}{port.group() if port else ''}/{path}", phrase=True)
    return Group((Clause(here, "must"), Clause(address, "must")))


def host_in(word: str) -> str:
    """The host a word names (`example.org`); empty when it cannot be one."""
    node = _place("site", word) if re.fullmatch(r"[\w-]+(?:\.[\w-]+)*\.[^\W\d_]{2,}\.?", word) else None
    return node.value if isinstance(node, Only) else ""


def address(text: str) -> Node:
    """A pasted address: the page itself, what lies below it, and pages whose text names it."""
    bare = _SCHEME.sub("", text).partition("#")[0]
    return Group((Clause(Within("url", bare, phrase=True)), Clause(Phrase(bare))))
