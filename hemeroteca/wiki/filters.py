"""What revisions a question is about: the founding work's filters, the same for API, commands and Python.

Days are UTC and both ends count. A missing start is the first revision, a missing end is now. Every unknown name is
refused, with those that exist.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import msgspec

from hemeroteca.errors import Invalid

if TYPE_CHECKING:
    import ibis.expr.types as ir


class Filters(msgspec.Struct, frozen=True, omit_defaults=True):
    title: str = ""
    pageid: int | None = None
    user: str = ""
    userid: int | None = None
    tag: str = ""
    size: int | None = None
    sizematch: int | None = None  # > 0: larger than `size`, < 0: smaller, 0: equal
    date: str = ""  # one day
    datestart: str = ""
    dateend: str = ""
    locale: str = ""
    wiki: str = ""  # several wikis may have one language


NAMES = Filters.__struct_fields__
WHOLE = ("pageid", "userid", "size", "sizematch")


def read(given: Mapping[str, Any], also: tuple[str, ...] = ()) -> Filters:
    """Filters from names and values. Raises Invalid for a name that does not exist or a value that cannot be."""
    allowed = (*NAMES, *also)
    values: dict[str, Any] = {}
    for name, value in given.items():
        if name not in allowed:
            raise Invalid(f"there is no parameter {name!r}; allowed are {', '.join(allowed)}")
        if name in also or value in (None, ""):
            continue
        if name in WHOLE:
            try:
                value = int(str(value))
            except ValueError:
                raise Invalid(f"{name} is a whole number, not {value!r}")
            if not -(1 << 63) <= value < 1 << 63:
                raise Invalid(f"{name} is out of range: {value}")
        values[name] = value if name in WHOLE else str(value).replace("_", " ") if name == "title" else str(value)
    found = Filters(**values)
    if found.sizematch is not None and found.size is None:
        raise Invalid("sizematch says how `size` is compared; give size too")
    for name in ("date", "datestart", "dateend"):
        if text := getattr(found, name):
            day(text, name)
    if found.date and (found.datestart or found.dateend):
        raise Invalid("date is one day; give either date, or datestart and dateend")
    if found.datestart and found.dateend and day(found.datestart, "datestart") > day(found.dateend, "dateend"):
        raise Invalid(f"datestart {found.datestart} is after dateend {found.dateend}")
    return found


def apply(revisions: ir.Table, filters: Filters) -> ir.Table:
    """Those of the revisions that are meant."""
    conditions: list[Any] = []
    for name in ("title", "pageid", "user", "userid", "locale", "wiki"):
        if (value := getattr(filters, name)) not in (None, ""):
            conditions.append(revisions[name] == value)
    if filters.tag:
        conditions.append(revisions.tags.contains(filters.tag))
    if filters.size is not None:
        match = filters.sizematch or 0
        size = revisions["size"]
        conditions.append(
            size > filters.size if match > 0 else size < filters.size if match < 0 else size == filters.size
        )
    start, end = period(filters)
    if start is not None:
        conditions.append(revisions.timestamp >= start)
    if end is not None:
        conditions.append(revisions.timestamp < end)
    return revisions.filter(*conditions) if conditions else revisions


def period(filters: Filters) -> tuple[datetime | None, datetime | None]:
    """First moment that counts, and the first that counts no more."""
    first, last = filters.date or filters.datestart, filters.date or filters.dateend
    return (
        day(first, "datestart") if first else None,
        day(last, "dateend") + timedelta(days=1) if last else None,
    )


def day(text: str, name: str) -> datetime:
    """A day (2026-11-16, 20261116, or a time whose day counts), as its first moment, UTC without a zone."""
    try:
        moment = datetime.fromisoformat(text.strip())
        if moment.tzinfo is not None:
            moment = moment.astimezone(UTC).replace(tzinfo=None)
        _ = moment + timedelta(days=1)  # the last day there is has no end
    except (ValueError, OverflowError):
        raise Invalid(f"{name} is a day like 2026-11-16, not {text!r}")
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)
