"""Subscriptions in files: CSV (one a line, columns named as in `fields.Order`) and OPML (as feed readers write it).

A line that cannot be used is named with its reason and the others are taken; nothing in a file can order more than a
person could by hand.
"""

import csv
import io
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring
from xml.parsers import expat

from hemeroteca import spreadsheet
from hemeroteca.accounts import Actor
from hemeroteca.accounts.models import User
from hemeroteca.errors import Denied, Invalid, Refused
from hemeroteca.watch.fields import SUBSCRIPTION, Order
from hemeroteca.watch.models import Subscription
from hemeroteca.watch.services import order_of, subscribe

MAX_FILE_BYTES = 16 << 20
MAX_ROWS = 100_000
MAX_OUTLINE_DEPTH = 50
TOLD = ("daily_chance", "group", "behaviour")  # columns of facts: written, and left aside when they come back


@dataclass
class LineReport:
    """What became of one line."""

    number: int
    url: str
    outcome: str  # new, known, refused
    detail: str = ""


@dataclass
class SubscriptionsReport:
    new: int = 0
    known: int = 0
    refused: int = 0
    lines: list[LineReport] = field(default_factory=list)
    """New subscriptions with their numbers, and refused lines with their reasons; known ones are only counted."""


def read_file(
    actor: Actor, data: bytes, name: str, owner: User | None = None, defaults: Mapping[str, Any] | None = None
) -> SubscriptionsReport:
    """Subscribe to everything in a file; `name` tells by its ending (or the text by its beginning) which kind it is."""
    if len(data) > MAX_FILE_BYTES:
        raise Invalid(f"{name} has {len(data)} bytes, more than the {MAX_FILE_BYTES} allowed; cut it into parts")
    start = data[:1000].removeprefix(b"\xef\xbb\xbf").lstrip()
    opml = name.lower().endswith((".opml", ".xml")) or start.startswith(b"<")
    orders = read_opml(data) if opml else read_csv(data)
    report = SubscriptionsReport()
    for number, values in orders:
        url = values.get("url", "")
        try:
            order = Order(**{**(defaults or {}), **_convert(values)})
            subscription, new = subscribe(actor, order, owner)
        except Denied:
            raise
        except (Refused, ValueError) as error:
            report.refused += 1
            report.lines.append(LineReport(number, url[:300], "refused", str(error)))
            continue
        if new:
            report.new += 1
            report.lines.append(LineReport(number, subscription.url, "new", str(subscription.pk)))
        else:
            report.known += 1
    return report


def as_csv(subscriptions: Iterable[Subscription]) -> str:
    """What `read_csv` takes: everything people ordered; and what was found out of each, which it leaves aside."""
    rows: list[list[Any]] = [[*SUBSCRIPTION, *TOLD]]
    for subscription in subscriptions:
        order, chance = order_of(subscription), subscription.daily_chance
        cells = [field.write(getattr(order, name)) for name, field in SUBSCRIPTION.items()]
        known = "" if chance is None else round(chance, 4)
        rows.append([*cells, known, subscription.group, subscription.behaviour])
    return spreadsheet.text(rows, "\n")


def as_opml(subscriptions: Iterable[Subscription]) -> str:
    """An outline of addresses and names, a folder per collection, as feed readers take it."""
    root = Element("opml", version="2.0")
    SubElement(SubElement(root, "head"), "title").text = "Hemeroteca"
    body = SubElement(root, "body")
    folders: dict[str, Element] = {}
    for subscription in subscriptions:
        name = subscription.collection.name if subscription.collection else ""
        if name and name not in folders:
            folders[name] = SubElement(body, "outline", text=name)
        SubElement(folders.get(name, body), "outline", type="link", text=subscription.name, htmlUrl=subscription.url)
    indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def read_csv(data: bytes) -> list[tuple[int, dict[str, str]]]:
    """Lines as (number, values). Without a header line, the first column is the address and the second the name."""
    text = _text(data)
    try:
        dialect: Any = csv.Sniffer().sniff(text[:10_000], delimiters=",;\t")
    except csv.Error:
        dialect = csv.excel
    csv.field_size_limit(1 << 20)
    try:
        rows = [
            (n, row) for n, row in enumerate(csv.reader(io.StringIO(text), dialect), 1) if any(c.strip() for c in row)
        ]
    except csv.Error as error:
        raise Invalid(f"this is not CSV that can be read ({error}); save it as UTF-8 CSV")
    if len(rows) > MAX_ROWS:
        raise Invalid(f"the file has {len(rows)} lines, more than the {MAX_ROWS} allowed; cut it into parts")
    if not rows:
        return []
    header = [cell.strip().lower() for cell in rows[0][1]]
    if "url" not in header:
        header = ["url", "name"]
    else:
        header = ["" if name in TOLD else name for name in header]
        unknown = [name for name in header if name and name not in SUBSCRIPTION]
        if unknown:
            raise Invalid(f"the column {unknown[0]!r} is not known; these are: {', '.join(SUBSCRIPTION)}")
        rows = rows[1:]
    found = []
    for number, row in rows:
        cells = [re.sub(r"^'(?=[=+\-@\t\r])", "", cell).strip() for cell in row]  # as `as_csv` writes them
        values = {name: cell for name, cell in zip(header, cells, strict=False) if name and cell}
        found.append((number, values))
    return found


def read_opml(data: bytes) -> list[tuple[int, dict[str, str]]]:
    """Outlines with an address: its page (`htmlUrl`), else the feed. The outline around it is the collection."""
    outlines = _Outlines()
    parser = expat.ParserCreate()
    parser.StartElementHandler = outlines.start
    parser.EndElementHandler = outlines.end
    # Entities and doctypes are the way to make a small file large; OPML needs neither.
    parser.StartDoctypeDeclHandler = _no_doctype
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise Invalid(f"this is not OPML that can be read ({error}); export it again from your feed reader")
    return outlines.found


class _Outlines:
    """Gathers outlines while the parser runs."""

    def __init__(self) -> None:
        self.found: list[tuple[int, dict[str, str]]] = []
        self._folders: list[str] = []

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if tag.lower() != "outline":
            return
        if len(self._folders) >= MAX_OUTLINE_DEPTH or len(self.found) >= MAX_ROWS:
            raise Invalid(f"the file is deeper than {MAX_OUTLINE_DEPTH} levels or longer than {MAX_ROWS} entries")
        given = {name.lower(): value.strip() for name, value in attributes.items()}
        name = given.get("title") or given.get("text") or ""
        address = given.get("htmlurl") or given.get("xmlurl") or given.get("url") or ""
        if address:
            values = {"url": address, "name": name[:200]}
            folder = next((f for f in reversed(self._folders) if f), "")
            if folder:
                values["collection"] = folder[:100]
            self.found.append((len(self.found) + 1, {key: value for key, value in values.items() if value}))
            self._folders.append("")
        else:
            self._folders.append(name)

    def end(self, tag: str) -> None:
        if tag.lower() == "outline" and self._folders:
            self._folders.pop()


def _no_doctype(*_: Any) -> None:
    raise Invalid("the file declares a doctype or entities, which OPML does not need; remove them")


def _convert(values: dict[str, str]) -> dict[str, Any]:
    converted = {name: SUBSCRIPTION[name].read(text) for name, text in values.items()}
    if not converted.get("url"):
        raise Invalid("the line has no address; its column is `url`")
    return converted


def _text(data: bytes) -> str:
    for charset in ("utf-8-sig", "cp1252"):
        try:
            return data.decode(charset)
        except UnicodeDecodeError:
            continue
    return data.decode("latin-1")
