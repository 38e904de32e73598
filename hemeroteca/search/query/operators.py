"""The operators of the query language: their names, and what a value of each means; dates as people write them."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from hemeroteca.search.analysis import code_of
from hemeroteca.search.query.clauses import Clause, ClauseGroup, Node, Only, Phrase, Within

# what a name before a colon means, by what people write
_NAMES = {
    "site": "site sitio domain dominio",
    "host": "host",
    "url": "url inurl enurl",
    "title": "intitle title titulo título entitulo",
    "body": "inbody body intext texto entexto",
    "anchor": "inanchor anchor enlace",
    "type": "filetype type tipo ext",
    "language": "lang language idioma lengua",
    "collection": "collection coleccion colección",
    "tag": "tag etiqueta",
    "before": "before antes",
    "after": "after since desde despues después",
    "until": "hasta until",
    "at": "at",
    "date": "date fecha year anno año",
    "captured": "captured captura",
    "near": "near cerca",
}
FIELDS = {name: field for field, names in _NAMES.items() for name in names.split()}
TEXT_PARTS = frozenset(("title", "body", "anchor", "url"))
PROPERTIES = frozenset(("site", "host", "type", "language", "collection", "tag"))
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
    return found[0] if len(found) == 1 else ClauseGroup(tuple(map(Clause, found))) if found else None


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
    elif name == "tag":
        value = " ".join(value.lower().split())
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
    return ClauseGroup((Clause(here, "must"), Clause(address, "must")))


def host_in(word: str) -> str:
    """The host a word names (`example.org`); empty when it cannot be one."""
    node = _place("site", word) if re.fullmatch(r"[\w-]+(?:\.[\w-]+)*\.[^\W\d_]{2,}\.?", word) else None
    return node.value if isinstance(node, Only) else ""


def address(text: str) -> Node:
    """A pasted address: the page itself, what lies below it, and pages whose text names it."""
    bare = _SCHEME.sub("", text).partition("#")[0]
    return ClauseGroup((Clause(Within("url", bare, phrase=True)), Clause(Phrase(bare))))


_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january enero jan ene",
            "february febrero feb",
            "march marzo mar",
            "april abril apr abr",
            "may mayo",
            "june junio jun",
            "july julio jul",
            "august agosto aug ago",
            "september septiembre setiembre sep sept set",
            "october octubre oct",
            "november noviembre nov",
            "december diciembre dec dic",
        ),
        1,
    )
    for name in names.split()
}
_DAYS_AGO = {"today": 0, "hoy": 0, "yesterday": 1, "ayer": 1}
_AGO = re.compile(r"(\d{1,4})([dwmysa])")
_UNITS = {"d": 1, "w": 7, "s": 7, "m": 30, "y": 365, "a": 365}


def moment(text: str, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> tuple[int, int] | None:
    """First and last millisecond of a date.

    2024, 2024-03, 2024-03-31, 31/3/2024; 7d, 2w, 3m, 1y ago; today, yesterday; march (the last one), march-2024.
    """
    text = text.strip().strip("/").lower()
    ago = _AGO.fullmatch(text)
    if ago or text in _DAYS_AGO:
        days = _UNITS[ago.group(2)] * int(ago.group(1)) if ago else _DAYS_AGO[text]
        try:
            day = (now() - timedelta(days=days)).replace(hour=0, minute=0, second=0, microsecond=0)
        except OverflowError:
            return None
        return _milliseconds(day), _milliseconds(day + timedelta(days=1)) - 1
    parts = _parts(text, now)
    if parts is None:
        return None
    year, month, day_of = parts
    try:
        start = datetime(year, month or 1, day_of or 1, tzinfo=UTC)
        if day_of:
            end = start + timedelta(days=1)
        elif month:
            end = datetime(year + month // 12, month % 12 + 1, 1, tzinfo=UTC)
        else:
            end = datetime(year + 1, 1, 1, tzinfo=UTC)
    except (ValueError, OverflowError):
        return None
    return _milliseconds(start), _milliseconds(end) - 1


def is_ago(text: str) -> bool:
    """Whether a date is a time ago: `captured:7d` means since then, not that day."""
    return _AGO.fullmatch(text.strip().lower()) is not None


def _parts(text: str, now: Callable[[], datetime]) -> tuple[int, int, int] | None:
    """Year, month and day; 0 for what is not said."""
    if found := re.fullmatch(r"(\d{4})(?:[-/](\d{1,2})(?:[-/](\d{1,2})(?:t.*)?)?)?", text):
        year, month, day = (int(part) if part else 0 for part in found.groups())
        return year, month, day
    if found := re.fullmatch(r"(\d{1,2})[-/.](\d{1,2})[-/.](\d{4})", text):
        return int(found[3]), int(found[2]), int(found[1])
    if found := re.fullmatch(r"(\d{4})(\d\d)(\d\d)", text):
        return int(found[1]), int(found[2]), int(found[3])
    if (found := re.fullmatch(r"([a-z]+)(?:[-/. ](\d{4}))?", text)) and (named := _MONTHS.get(found[1], 0)):
        today = now()
        return int(found[2] or today.year - (named > today.month)), named, 0
    return None


def _milliseconds(when: datetime) -> int:
    return int(when.timestamp() * 1000)
