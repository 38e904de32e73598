"""The fields of a subscription, a collection and a channel, each declared once. No Django here.

Commands (`cli.watch.options`), the API (`api.watch_shapes`), CSV files (`watch.subscription_files`) and the reference
page take their fields from these declarations. To add one: declare it here and add its column to `models` with a
migration; `services` stores it under its own name unless it has a place of its own (scope, comparison, windows).
"""

import math
import types
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Union, get_args, get_origin, get_type_hints

from hemeroteca.errors import Invalid

MAX_ENTRIES = 100  # of a list
MAX_HOURS = 24.0 * 3650
MAX_VISITS = 10**9
MAX_BYTES = 10**15
_FLAGS = dict.fromkeys(("1", "true", "yes", "sí", "si", ""), True) | dict.fromkeys(("0", "false", "no"), False)


@dataclass(frozen=True)
class Field:
    """One field: `kind` is str, int, float, bool, or tuple for a list of texts."""

    name: str
    kind: type
    default: Any
    help: str
    optional: bool = False  # None: no limit
    minimum: float | None = None
    maximum: float | None = None
    max_length: int = 0  # of a text, or of each text of a list
    max_entries: int = MAX_ENTRIES
    lines: bool = False  # a text of several lines
    choices: tuple[str, ...] = ()
    option: str = ""  # of the commands, when it is not called as the field
    fixed: bool = False  # cannot be changed later

    def check(self, value: Any) -> Any:
        """The value as it is kept. Raises Invalid."""
        if value is None and self.optional:
            return None
        if self.kind is bool:
            return bool(value)
        if self.kind is tuple:
            found = tuple(text for text in value if text.strip())
            if len(found) > self.max_entries:
                raise Invalid(f"{len(found)} entries in {self.name} are too many; {self.max_entries} are allowed")
            return found
        if self.kind is str:
            text = plain(value).strip() if self.lines else " ".join(plain(value).split())
            if len(text) > self.max_length:
                raise Invalid(f"{self.name} must have 1 to {self.max_length} characters, not {len(text)}")
            if self.choices and text not in self.choices:
                raise Invalid(
                    f"the {self.name} {text!r} does not exist; choose {' or '.join(filter(None, self.choices))}"
                )
            return text
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise Invalid(f"{self.name} must be a number, not {value!r}")
        low, high = self.minimum or 0.0, math.inf if self.maximum is None else self.maximum
        if not low <= value <= high:
            raise Invalid(f"{self.name} is {value:g}; it must lie between {low:g} and {high:g}")
        return self.kind(value)

    def read(self, text: str) -> Any:
        """The value from a cell of CSV or from NAME=VALUE; a list has `|` between its entries. Raises Invalid."""
        try:
            if self.kind is tuple:
                return [part.strip() for part in text.split("|") if part.strip()]
            if self.kind is bool:
                return _FLAGS[text.strip().lower()]
            if self.kind in (int, float) and not text.strip():
                return None if self.optional else self.kind(0)
            return float(text.replace(",", ".")) if self.kind is float else self.kind(text)
        except (ValueError, KeyError):
            like = {int: "a whole number, like 5000000", float: "a number, like 12.5"}.get(self.kind, "yes or no")
            raise Invalid(f"{self.name} is {text!r}; write {like}")

    def write(self, value: Any) -> str:
        """The cell of CSV that `read` takes back."""
        if self.kind is tuple:
            return "|".join(value)
        if self.kind is bool:
            return "yes" if value else "no"
        return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def declared(default: Any, help: str, **bounds: Any) -> Any:  # noqa: A002
    return field(default=default, metadata={"help": help, **bounds})


@dataclass
class Order:
    """A subscription as somebody wants it."""

    url: str = declared("", "Page to watch, or page a site is entered by.", max_length=4096, fixed=True)
    name: str = declared("", "What to call it; its address when empty.", max_length=200)
    scope: str = declared(
        "",
        "What belongs to it; empty: the host for a front page, else the page alone.",
        max_length=6,
        choices=("", "page", "prefix", "host", "domain"),
    )
    include: Sequence[str] = declared((), "Regular expressions; a URL must match one of them.", max_length=1000)
    exclude: Sequence[str] = declared((), "Regular expressions; a URL may match none of them.", max_length=1000)
    depth: int | None = declared(None, "Most links away from the address.", maximum=10_000)
    collection: str = declared("", "Name of its collection; made when it is new.", max_length=100)
    category: str = declared("", "Its topic, by name or code; empty: that of its collection.", max_length=100)
    purpose: str = declared("", "Why it is watched.", max_length=5000, lines=True)
    threshold: float = declared(0.05, "F(μ): a change is important above it.", maximum=1.0)
    ignore: Sequence[str] = declared((), "CSS selectors or XPath of parts that do not count.", max_length=1000)
    keep: Sequence[str] = declared((), "CSS selectors or XPath; when given, only these parts count.", max_length=1000)
    ignore_text: Sequence[str] = declared((), "Expressions (RE2) for text that does not count.", max_length=1000)
    weights: Sequence[str] = declared(
        (), "Weights of what differs, such as `colours=0.5`; 0 silences it.", max_length=40
    )
    mode: str = declared("auto", "`auto`, `fixed HOURS`, another policy, or rules joined by +.", max_length=80)
    min_hours: float = declared(0.0, "A page is never visited more often; 0: no limit of its own.", maximum=MAX_HOURS)
    max_hours: float = declared(0.0, "A page is never left alone longer; 0: 720.", maximum=MAX_HOURS)
    weight: float = declared(1.0, "What its changes are worth against those of others.", minimum=0.001, maximum=1000.0)
    visits_per_day: int = declared(0, "Most visits a day; 0: no limit of its own.", maximum=MAX_VISITS)
    bytes_per_day: int = declared(0, "Most bytes received a day; 0: no limit of its own.", maximum=MAX_BYTES)
    windows: Sequence[str] = declared(
        (),
        "When it may be visited, like `mon-fri 08:00-18:00 Europe/Madrid`; empty: always.",
        max_length=200,
        max_entries=20,
        option="window",
    )
    notify: Sequence[str] = declared(
        (),
        "Tell only when one holds: `appears WORDS`, `vanishes WORDS`, `above N`, `below N`, `importance N`.",
        max_length=200,
        max_entries=20,
    )
    country: str = declared("", "Country whose holidays count, such as ES; or empty.", max_length=10)
    requisites: bool = declared(True, "Fetch images, styles and scripts of its pages too.")
    active: bool = declared(True, "False: paused.")


@dataclass
class CollectionOrder:
    """A collection as somebody wants it."""

    category: str = declared("", "Topic of its sites, by name or code.", max_length=100)
    description: str = declared("", "What it is for.", max_length=5000, lines=True)
    visits_per_day: int = declared(0, "Most visits a day of all its pages; 0: no limit.", maximum=MAX_VISITS)
    bytes_per_day: int = declared(0, "Most bytes received a day; 0: no limit.", maximum=MAX_BYTES)


@dataclass
class ChannelOrder:
    """A channel as somebody wants it: an Apprise URL, or an http(s) address that gets JSON."""

    target: str = declared("", "An https address that gets JSON, or an Apprise URL.", max_length=4000, fixed=True)
    name: str = declared("", "What to call it.", max_length=100)
    kind: str = declared(
        "", "Empty: webhook for http(s), else apprise.", max_length=8, choices=("", "webhook", "apprise")
    )
    subscription: int | None = declared(None, "Tell only of this subscription.", minimum=1, maximum=(1 << 63) - 1)
    collection: str = declared("", "Tell only of this collection.", max_length=100)
    digest_hours: float = declared(0.0, "Gather changes for so many hours; 0: at once.", maximum=744.0)
    changes: bool = declared(True, "Tell of important changes.")
    errors: bool = declared(True, "Tell when a subscription fails repeatedly, and recovers.")
    language: str = declared("en", "Of the messages.", max_length=2, choices=("es", "en"))


def fields_of(order: type) -> dict[str, Field]:
    """The declarations of an order, by name."""
    hints = get_type_hints(order)
    found = {}
    for entry in fields(order):
        hint = hints[entry.name]
        optional = get_origin(hint) in (Union, types.UnionType)
        kind = get_args(hint)[0] if optional else hint
        kind = kind if isinstance(kind, type) and not get_origin(kind) else tuple
        found[entry.name] = Field(entry.name, kind, entry.default, optional=optional, **entry.metadata)
    return found


def plain(text: str) -> str:
    """Text of strangers as every database and message takes it: no zero characters, no halves of pairs."""
    if "\x00" in text:
        text = text.replace("\x00", "")
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


SUBSCRIPTION = fields_of(Order)
COLLECTION = fields_of(CollectionOrder)
CHANNEL = fields_of(ChannelOrder)
